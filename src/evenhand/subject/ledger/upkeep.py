"""What a look at a ledger finds, and what came of a repair."""

from __future__ import annotations

import os
import shlex
from dataclasses import dataclass, field
from typing import TYPE_CHECKING

from evenhand.runtime import number_text
from evenhand.runtime.errors import LedgerError
from evenhand.subject.ledger.checksum import FORMAT
from evenhand.subject.memo import AGAIN

if TYPE_CHECKING:
    from pathlib import Path

    from evenhand.subject.ledger.stored_outcome import Stored

FIRST_FORMAT = 1
"""The format of ledgers without checksums."""


@dataclass(slots=True)
class Inspection:
    """What a look at a ledger found; `sound` says whether a run may use it."""

    path: Path | str
    format: int | None = None
    space: str | None = None
    subject: str | None = None
    rows: dict[bytes, Stored] = field(default_factory=dict)
    """The answers that are as they were written, by input."""
    damaged: int = 0
    """Rows that can be read, and that do not fit their checksum."""
    problems: list[str] = field(default_factory=list)
    """What the database finds wrong with it, and what does not fit in its head."""
    claims: int = 0
    dead_claims: int = 0

    @property
    def again(self) -> int:
        """How many rows are second and later answers to an input."""
        return sum(key.startswith(AGAIN) for key in self.rows)

    @property
    def sound(self) -> bool:
        """Whether every row that was found is as it was written."""
        return self.format == FORMAT and not self.damaged and not self.problems

    @property
    def verifies(self) -> bool:
        """Whether space and subject are known, without which no row can be verified."""
        return self.space is not None and self.subject is not None


@dataclass(frozen=True, slots=True)
class Repaired:
    """What a repair has done: what it found, where the sound ledger is, and where the old file."""

    found: Inspection
    path: Path | str
    kept: Path | None


def damage(found: Inspection) -> LedgerError:
    """Return the error for a file that a run would refuse."""
    if found.format == FIRST_FORMAT:
        return LedgerError(
            f"the ledger '{found.path}' has format {FIRST_FORMAT}, whose rows have no checksums:"
            f" run '{repairing(found.path)} --adopt' to trust them as they are"
        )
    if found.format is not None and found.format > FORMAT:
        return LedgerError(
            f"the ledger '{found.path}' has format {found.format}, and this evenhand reads format"
            f" {FORMAT}: upgrade evenhand"
        )
    reasons = found.problems[:1]
    if found.damaged:
        rows = number_text.count(len(found.rows) + found.damaged)
        bad = number_text.count(found.damaged)
        reasons.insert(0, f"{bad} of {rows} rows do not match their checksum")
    return damaged(found.path, " and ".join(reasons))


def foreign(name: str, elsewhere: str) -> LedgerError:
    """Return the error for a database that holds no ledger."""
    return LedgerError(
        f"'{name}' is a database of another program, not a ledger: {elsewhere}"
    )


def repairing(place: str | os.PathLike[str]) -> str:
    """Return what a person types to repair a ledger.

    >>> repairing("my loan.ledger")
    "evenhand ledger repair 'my loan.ledger'"
    """
    return f"evenhand ledger repair {shlex.quote(os.fspath(place))}"


def damaged(place: str | os.PathLike[str], what: str) -> LedgerError:
    """Return the error for a ledger that is not as it was written."""
    return LedgerError(
        f"the ledger '{place}' is damaged: {what}; run '{repairing(place)}' to keep the rows that"
        " are sound"
    )
