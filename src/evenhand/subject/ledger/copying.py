"""The answers of one ledger added to another, of whatever kind the two are."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

from evenhand.subject.ledger.checksum import Checksum
from evenhand.subject.ledger.ledger import Ledger
from evenhand.subject.ledger.upkeep import damage

if TYPE_CHECKING:
    from os import PathLike

    from evenhand.subject.ledger.store import LedgerStore

AT_ONCE = 50_000
"""Rows that are added in one transaction."""


@dataclass(frozen=True, slots=True)
class Copied:
    """What a copy has done: how many answers were there before, and how many were new."""

    place: str
    there: int
    added: int


def copied(store: LedgerStore, to: str | PathLike[str]) -> Copied:
    """Add all answers of a sound ledger to another one of the same software, or to a new one.

    Where both have an answer, that of `to` stays. Claims are not copied.
    """
    found = store.inspected()
    if not found.sound:
        raise damage(found)
    space = str(found.space)
    subject = str(found.subject)
    keys = sorted(found.rows)
    checksum = Checksum(space, subject)
    with Ledger(to, space=space, subject=subject) as ledger:
        before = len(ledger)
        for start in range(0, len(keys), AT_ONCE):
            part = keys[start : start + AT_ONCE]
            ledger.add(checksum.rows(part, [found.rows[key] for key in part]))
        return Copied(ledger.store.name, before, len(ledger) - before)
