"""What can be read of a ledger file, sound or damaged, without changing it."""

from __future__ import annotations

import contextlib
import sqlite3
from itertools import product
from pathlib import Path
from typing import TYPE_CHECKING, Any

from evenhand.runtime.errors import LedgerError
from evenhand.runtime.table_file import beside
from evenhand.subject.ledger.checksum import FORMAT, Checksum
from evenhand.subject.ledger.claims import has_died
from evenhand.subject.ledger.sqlite.carving import carved
from evenhand.subject.ledger.sqlite.database import FAILURES, prepare
from evenhand.subject.ledger.upkeep import FIRST_FORMAT, Inspection

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable


_SHOWN_PROBLEMS = 3


def inspected(path: Path) -> Inspection:
    """Return what SQLite can read of a ledger file."""
    found = Inspection(path)
    _need_file(path)
    connection = sqlite3.connect(
        f"{path.absolute().as_uri()}?mode=ro", uri=True, isolation_level=None
    )
    with contextlib.closing(connection):
        _attempt(found, lambda: prepare(connection))
        # One look at one moment, whatever other processes write meanwhile.
        _attempt(found, lambda: connection.execute("BEGIN"))
        _attempt(found, lambda: _look_at_pages(found, connection))
        _attempt(found, lambda: _read_head(found, connection))
        _attempt(found, lambda: _read_rows(found, connection))
        if found.format == FORMAT:
            _attempt(found, lambda: _count_claims(found, connection))
    return found


def salvaged(path: Path) -> Inspection:
    """Return all rows that can be verified, also from pages that SQLite does not read."""
    found = inspected(path)
    if found.sound or found.format not in (None, FORMAT):
        return found
    content = path.read_bytes()
    log = Path(f"{path}-wal")
    logged = log.read_bytes() if log.exists() else b""
    if not found.verifies:
        _find_head(found, carved(content, logged))
    if found.verifies:
        checksum = _checksum_of(found)
        for row in carved(content, logged):
            if len(row) == 3 and checksum.fits(*row):
                key, value, _ = row
                found.rows.setdefault(key, value)  # type: ignore[arg-type]
    return found


def _need_file(path: Path) -> None:
    if path.is_dir():
        raise LedgerError(f"the ledger '{path}' is a folder: name a file in it")
    if not path.exists():
        others = beside(path, (path.suffix,)) if path.suffix else "check the path"
        raise LedgerError(f"the ledger '{path}' does not exist; {others}")
    try:
        path.open("rb").close()
    except OSError as error:
        reason = error.strerror or str(error)
        raise LedgerError(
            f"the ledger '{path}' cannot be read ({reason}): check its permissions"
        ) from error


def _attempt(found: Inspection, act: Callable[[], object]) -> None:
    """Do something, and note what SQLite cannot do of it."""
    try:
        act()
    except FAILURES as error:
        problem = (
            str(error) if isinstance(error, sqlite3.Error) else "SQLite cannot read it"
        )
        if problem not in found.problems:
            found.problems.append(problem)


def _look_at_pages(found: Inspection, connection: sqlite3.Connection) -> None:
    query = f"PRAGMA integrity_check({_SHOWN_PROBLEMS})"
    for (problem,) in connection.execute(query).fetchall():
        if problem != "ok":
            line = problem.replace("*** in database main ***", "").replace("\n", " ")
            found.problems.append(line.strip())


def _read_head(found: Inspection, connection: sqlite3.Connection) -> None:
    meta = dict(connection.execute("SELECT name, value FROM meta"))
    written = str(meta.get("format", ""))
    columns = connection.execute("PRAGMA table_info(test)").fetchall()
    if written == str(FIRST_FORMAT) and "checksum" not in meta and len(columns) == 2:
        found.format = FIRST_FORMAT
        found.space = meta.get("space")
        found.subject = meta.get("subject")
        return
    fits = _take_head(found, meta)
    if fits and written == str(FORMAT):
        return
    if not fits and written.isdecimal() and int(written) > FORMAT:
        found.format = int(written)
        found.problems.append(f"its format is {written}")
        return
    found.problems.append("its head does not match its checksum")
    if not fits:
        _take_head(found, dict(connection.execute("SELECT name, value FROM spare")))


def _take_head(found: Inspection, meta: dict[str, Any]) -> bool:
    """Take space and subject from a head, where its checksum fits."""
    space = meta.get("space")
    subject = meta.get("subject")
    if not isinstance(space, str) or not isinstance(subject, str):
        return False
    if Checksum(space, subject).head != meta.get("checksum"):
        return False
    found.format = FORMAT
    found.space = space
    found.subject = subject
    return True


def _find_head(found: Inspection, rows: Iterable[tuple[Any, ...]]) -> None:
    """Put the head together from single rows of it, wherever they stand."""
    pairs = [row for row in rows if len(row) == 2]
    seals = {value for name, value in pairs if name == "checksum"}
    spaces = {value for name, value in pairs if name == "space"}
    subjects = {value for name, value in pairs if name == "subject"}
    for seal, space, subject in product(seals, spaces, subjects):
        if _take_head(found, {"space": space, "subject": subject, "checksum": seal}):
            return


def _checksum_of(found: Inspection) -> Checksum:
    return Checksum(str(found.space), str(found.subject))


def _read_rows(found: Inspection, connection: sqlite3.Connection) -> None:
    if not found.verifies:
        return
    if found.format == FIRST_FORMAT:
        found.rows.update(connection.execute("SELECT key, outcome FROM test"))
        return
    checksum = _checksum_of(found)
    query = "SELECT key, outcome, checksum FROM test"
    for key, value, written in connection.execute(query):
        if checksum.fits(key, value, written):
            found.rows[key] = value
        else:
            found.damaged += 1


def _count_claims(found: Inspection, connection: sqlite3.Connection) -> None:
    living = set()
    claimants = connection.execute("SELECT id, host, pid, began FROM claimant")
    for claimant, *process in claimants:
        if not has_died(*process):
            living.add(claimant)
    for (claimant,) in connection.execute("SELECT claimant FROM claim"):
        if claimant in living:
            found.claims += 1
        else:
            found.dead_claims += 1
