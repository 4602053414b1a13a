"""A ledger file repaired or compacted; the damaged one is always kept."""

from __future__ import annotations

import contextlib
import os
import shutil
import sqlite3
from itertools import count
from pathlib import Path

from evenhand.runtime.errors import LedgerError, UsageError
from evenhand.subject.ledger.checksum import FORMAT, Checksum
from evenhand.subject.ledger.claims import free_dead
from evenhand.subject.ledger.sqlite.database import (
    FAILURES,
    connected,
    create,
    refusal,
    transaction,
)
from evenhand.subject.ledger.sqlite.inspection import inspected, salvaged
from evenhand.subject.ledger.sqlite.rows import SqliteRows
from evenhand.subject.ledger.upkeep import FIRST_FORMAT, Inspection, Repaired, damage

_PATIENCE = 30.0
"""Seconds to wait for other processes that use the file."""
_PARTS = ("-wal", "-shm")
"""The files that SQLite keeps beside that of a ledger."""


def repaired(path: Path, output: Path | None = None, *, adopt: bool = False) -> Repaired:
    """Write a sound ledger of all rows that can be verified.

    It takes the place of the file, which is kept beside it as FILE.damaged-1, or is written to
    `output`. With `adopt`, rows of format 1 are trusted as they are and get checksums.
    """
    found = salvaged(path)
    if found.sound and output is None:
        return Repaired(found, path, None)
    _need_verified(found, adopt=adopt)
    if output is not None:
        if output.exists():
            raise UsageError(f"--output {output}: this file exists; name a new one")
        write(found, output)
        return Repaired(found, output, None)
    kept = _kept_beside(path)
    fresh = Path(f"{path}.repairing-{os.getpid()}")
    fresh.unlink(missing_ok=True)
    write(found, fresh)
    for part in _PARTS:
        Path(f"{path}{part}").unlink(missing_ok=True)
    fresh.replace(path)
    return Repaired(found, path, kept)


def _need_verified(found: Inspection, *, adopt: bool) -> None:
    """Refuse a file of which nobody can tell whether its rows are sound."""
    path = found.path
    if found.format == FIRST_FORMAT and not adopt:
        raise damage(found)
    if found.format == FIRST_FORMAT and found.problems:
        raise LedgerError(
            f"the ledger '{path}' is damaged and has format {FIRST_FORMAT}, whose rows have no"
            " checksums to tell the sound ones by: restore a copy, or delete it to start over"
        )
    if found.format is not None and found.format > FORMAT:
        raise damage(found)
    if not found.verifies:
        raise LedgerError(
            f"'{path}' has no head of a ledger, so that no row can be verified: check the path, or"
            " restore a copy"
        )


def write(found: Inspection, file: Path) -> None:
    """Write a new ledger, whole or not at all."""
    space = str(found.space)
    subject = str(found.subject)
    rows = Checksum(space, subject).rows(found.rows.keys(), found.rows.values())
    rows.sort(key=lambda row: row[0])
    try:
        connection = sqlite3.connect(file, isolation_level=None)
        with contextlib.closing(connection), transaction(connection):
            create(connection, space, subject)
            connection.executemany("INSERT INTO test VALUES (?, ?, ?)", rows)
    except FAILURES as error:
        file.unlink(missing_ok=True)
        raise refusal(file, error, _PATIENCE) from error


def _kept_beside(path: Path) -> Path:
    """Copy a file to the first free name beside it, with what SQLite keeps beside it."""
    for number in count(1):
        kept = Path(f"{path}.damaged-{number}")
        # Unlike exists() of a Path, it says of a name that is too long that there is no such file.
        if not os.path.exists(kept):  # noqa: PTH110
            break
    try:
        shutil.copy2(path, kept)
        log = Path(f"{path}-wal")
        if log.exists():
            shutil.copy2(log, f"{kept}-wal")
    except OSError as error:
        reason = error.strerror or str(error)
        raise LedgerError(
            f"the ledger '{path}' cannot be copied to '{kept}' ({reason}): name another file with"
            " --output"
        ) from error
    return kept


def compacted(path: Path) -> tuple[int, int]:
    """Drop dead claims and unused pages of a sound ledger; return its bytes before and after."""
    found = inspected(path)
    if not found.sound:
        raise damage(found)
    before = _size(path)
    try:
        with contextlib.closing(connected(path, _PATIENCE)) as connection:
            with transaction(connection):
                free_dead(SqliteRows(connection, str(path)))
            connection.execute("PRAGMA wal_checkpoint(TRUNCATE)").fetchone()
            connection.execute("VACUUM")
            connection.execute("PRAGMA wal_checkpoint(TRUNCATE)").fetchone()
            after = _size(path)
    except FAILURES as error:
        raise refusal(path, error, _PATIENCE) from error
    return before, after


def _size(path: Path) -> int:
    files = [path, Path(f"{path}-wal")]
    return sum(file.stat().st_size for file in files if file.exists())
