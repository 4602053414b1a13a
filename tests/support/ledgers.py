"""What tests do to a ledger beside the run that uses it."""

from __future__ import annotations

from typing import TYPE_CHECKING

from evenhand.subject.ledger.sqlite.rows import SqliteRows

if TYPE_CHECKING:
    import sqlite3

    from evenhand.subject.ledger.ledger import Ledger


def connection_of(ledger: Ledger) -> sqlite3.Connection:
    """Return the open connection of a ledger to its file."""
    rows = ledger.store.rows
    assert isinstance(rows, SqliteRows)
    return rows.connection
