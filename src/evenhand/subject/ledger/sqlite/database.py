"""The SQLite file of a ledger: its tables, how it is opened, and what its errors mean."""

from __future__ import annotations

import contextlib
import math
import sqlite3
import time
from functools import partial
from typing import TYPE_CHECKING

from evenhand.runtime.errors import LedgerError, clip
from evenhand.subject.ledger.head import head_of, sealed_head
from evenhand.subject.ledger.upkeep import damaged, repairing

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator
    from pathlib import Path

PAGES_BEHIND = 8000
"""Pages that the log holds before they are copied into the file; each batch changes many pages."""
PAGES_AT_HAND = 16_000
"""Pages that a connection keeps in memory, 64 MB of the usual size."""
SAFE_EVERY = 1.0
"""Seconds of answers that a power cut may take; a killed process takes none."""
TABLES = (
    "CREATE TABLE meta (name TEXT PRIMARY KEY, value TEXT NOT NULL) WITHOUT ROWID",
    # The head once more, on a page of its own: without it no row could be verified.
    "CREATE TABLE spare (name TEXT PRIMARY KEY, value TEXT NOT NULL) WITHOUT ROWID",
    # No type on `outcome`: SQLite then keeps 1, 1.0 and '1' apart.
    "CREATE TABLE test (key BLOB PRIMARY KEY, outcome NOT NULL, checksum BLOB NOT NULL)"
    " WITHOUT ROWID",
    "CREATE TABLE claimant (id INTEGER PRIMARY KEY, host TEXT NOT NULL, pid INTEGER NOT NULL,"
    " began TEXT NOT NULL, beat INTEGER NOT NULL)",
    "CREATE TABLE claim (key BLOB PRIMARY KEY, claimant INTEGER NOT NULL) WITHOUT ROWID",
)


FAILURES = (sqlite3.Error, UnicodeDecodeError, MemoryError)
"""What SQLite raises; the last two where a damaged file lets it name or fetch nonsense."""


def connected(file: Path, timeout: float) -> sqlite3.Connection:
    """Return a connection to a file in which several processes may write."""
    connection = sqlite3.connect(
        file, timeout=timeout, isolation_level=None, check_same_thread=False
    )
    try:
        # SQLite does not wait here while another process changes the mode, so we do.
        _patiently(
            lambda: connection.execute("PRAGMA journal_mode = WAL").fetchone(), timeout
        )
        connection.execute("PRAGMA synchronous = NORMAL")
        connection.execute(f"PRAGMA wal_autocheckpoint = {PAGES_BEHIND}")
        connection.execute(f"PRAGMA cache_size = {PAGES_AT_HAND}")
        prepare(connection)
    except BaseException:
        connection.close()
        raise
    return connection


def prepare(connection: sqlite3.Connection) -> None:
    """Let a connection find damage rather than follow it."""
    connection.execute("PRAGMA cell_size_check = ON")
    connection.text_factory = readable


readable = partial(str, encoding="utf-8", errors="surrogateescape")
"""Reads a text of the file; bytes that are no text stay to be seen, and fit no checksum."""


def _patiently(act: Callable[[], object], timeout: float) -> None:
    """Do something again and again, as long as another process has locked the file."""
    deadline = time.monotonic() + timeout
    while True:
        try:
            act()
        except sqlite3.OperationalError as error:
            if code_of(error) != sqlite3.SQLITE_BUSY or time.monotonic() > deadline:
                raise
            time.sleep(0.02)
        else:
            return


@contextlib.contextmanager
def transaction(connection: sqlite3.Connection) -> Iterator[None]:
    """Write all of what follows, or nothing."""
    connection.execute("BEGIN IMMEDIATE")
    try:
        yield
        connection.execute("COMMIT")
    except BaseException:
        with contextlib.suppress(sqlite3.Error):
            connection.execute("ROLLBACK")
        raise


class Durability:
    """Has the disk confirm a commit now and then, and with it all that came before.

    Where answers are rare, that is every commit. Where there are thousands a second, waiting for
    the disk each time would take longer than the software.
    """

    def __init__(self, connection: sqlite3.Connection) -> None:
        self._connection = connection
        self._confirmed = -math.inf
        self._waits = False

    def choose(self) -> None:
        """Choose whether the next commit waits for the disk."""
        now = time.monotonic()
        waits = now - self._confirmed >= SAFE_EVERY
        if waits:
            self._confirmed = now
        if waits != self._waits:
            level = "FULL" if waits else "NORMAL"
            self._connection.execute(f"PRAGMA synchronous = {level}")
            self._waits = waits


def create(connection: sqlite3.Connection, space: str, subject: str) -> None:
    """Write the tables and the head of a new ledger."""
    for statement in TABLES:
        connection.execute(statement)
    head = sealed_head(space, subject)
    rest = head_of(space, subject)
    connection.executemany("INSERT INTO meta VALUES (?, ?)", rest.items())
    connection.executemany("INSERT INTO spare VALUES (?, ?)", head.items())


def code_of(error: Exception) -> int:
    """Return the kind of an error of SQLite."""
    # The low byte is the kind of error; the others tell cases of it apart.
    return getattr(error, "sqlite_errorcode", 0) & 0xFF


def refusal(path: Path, error: Exception, timeout: float) -> LedgerError:
    """Return the error for what SQLite says of a file."""
    code = code_of(error)
    if not isinstance(error, sqlite3.Error):
        return damaged(path, "SQLite cannot read it")
    if code in (sqlite3.SQLITE_CORRUPT, sqlite3.SQLITE_ERROR, sqlite3.SQLITE_MISMATCH):
        return damaged(path, f"SQLite says '{clip(str(error))}'")
    no_permission = (
        "cannot be written: check the permissions of the file and of its folder, or name another"
        " file"
    )
    reasons = {
        sqlite3.SQLITE_NOTADB: (
            "is not an SQLite file, so not a ledger: name another file, or run"
            f" '{repairing(path)}' if it was one"
        ),
        sqlite3.SQLITE_FULL: (
            "cannot be written because the disk is full: make room, then run again to resume"
        ),
        sqlite3.SQLITE_BUSY: (
            f"was locked by another process for {timeout:g} s: wait for it to end, or name"
            " another file"
        ),
        sqlite3.SQLITE_READONLY: no_permission,
        sqlite3.SQLITE_CANTOPEN: no_permission,
        sqlite3.SQLITE_PERM: no_permission,
    }
    anything_else = (
        f"cannot be used ({clip(str(error))}): check the disk, or name another file"
    )
    return LedgerError(f"the ledger '{path}' {reasons.get(code, anything_else)}")
