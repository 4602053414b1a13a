"""The ledger: every executed test and its outcome, in one SQLite file that notices damage.

It survives a kill, answers a second run, and shares work among processes.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from evenhand.subject.ledger.ledger import Ledger as Ledger


def __getattr__(name: str) -> object:
    # Few runs keep a ledger, and those without one need no SQLite.
    if name == "Ledger":
        from evenhand.subject.ledger.ledger import Ledger

        return Ledger
    raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
