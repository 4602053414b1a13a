"""The ledger: every executed test and its outcome, in one SQLite file.

It survives a kill, and answers a second run.
"""

from __future__ import annotations

import contextlib
import json
import math
import os
import sqlite3
import threading
import time
import weakref
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np

from evenhand.runtime.errors import BadOutcome, LedgerError, clip
from evenhand.space.feature import plain

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Sequence
    from types import TracebackType
    from typing import Self

    from numpy.typing import NDArray

    from evenhand.runtime.values import Scalar
    from evenhand.subject.adapters.base import Reply

FORMAT = 1
_ASKED_AT_ONCE = 900  # SQLite before 3.32 allows 999 variables in one statement
_TRUE, _FALSE = b"true", b"false"
_SCHEMA = (
    "CREATE TABLE meta (name TEXT PRIMARY KEY, value TEXT NOT NULL) WITHOUT ROWID",
    # No type on `outcome`: SQLite then keeps 1, 1.0 and '1' apart.
    "CREATE TABLE test (key BLOB PRIMARY KEY, outcome NOT NULL) WITHOUT ROWID",
)


class Ledger:
    """Executed tests of one subject on one space, kept in the file `path`.

    Parameters: the file, created if missing; the digest of the space; the identity of the subject;
    and the seconds to wait for another process that is writing. It may be shared by threads and
    processes, pickled, and used again after `close`: each process opens its own connection when it
    first needs one.

    >>> import tempfile
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     with Ledger(f"{folder}/a.db", space="s", subject="m") as ledger:
    ...         ledger.record([b"1", b"2"], [True, "approve"])
    ...         ledger.known([b"2", b"3"]), len(ledger)
    ({b'2': 'approve'}, 2)
    """

    def __init__(
        self,
        path: str | os.PathLike[str],
        *,
        space: str,
        subject: str,
        timeout: float = 30.0,
    ) -> None:
        self.path = Path(path)
        self.space = space
        self.subject = subject
        self._timeout = timeout
        # Absolute, so that a worker with another working folder, or a file called ":memory:", finds
        # the same file.
        self._file = Path(os.path.abspath(path))  # noqa: PTH100
        self._start()
        with self._using():
            pass

    def _start(self) -> None:
        self._lock = threading.RLock()
        self._connection: sqlite3.Connection | None = None
        _LIVING.add(self)

    def known(self, keys: Sequence[bytes]) -> dict[bytes, Reply]:
        """Return the recorded outcomes of those keys that have one."""
        kept: dict[bytes, Any] = {}
        asked = sorted(keys)  # neighbours in the tree share pages
        with self._using() as connection:
            for start in range(0, len(asked), _ASKED_AT_ONCE):
                chunk = asked[start : start + _ASKED_AT_ONCE]
                marks = ",".join("?" * len(chunk))
                query = f"SELECT key, outcome FROM test WHERE key IN ({marks})"  # noqa: S608
                rows = connection.execute(query, chunk)
                kept.update(rows)
        outcomes: dict[bytes, Reply] = {}
        for key, value in kept.items():
            outcomes[key] = _read(value) if isinstance(value, bytes) else value
        return outcomes

    def record(
        self, keys: Sequence[bytes], outcomes: Sequence[object] | NDArray[np.generic]
    ) -> None:
        """Write outcomes down, all or none; where a key has an outcome already, that one stays."""
        listed = outcomes.tolist() if isinstance(outcomes, np.ndarray) else outcomes
        values = map(_kept, listed)
        rows = sorted(zip(keys, values, strict=True), key=lambda row: row[0])
        with self._writing() as connection:
            connection.executemany("INSERT OR IGNORE INTO test VALUES (?, ?)", rows)

    def __len__(self) -> int:
        with self._using() as connection:
            (count,) = connection.execute("SELECT count(*) FROM test").fetchone()
            return int(count)

    def __bool__(self) -> bool:
        # An empty ledger is still a ledger: `if ledger:` must not ask how long it is.
        return True

    def close(self) -> None:
        """Close the file; the ledger may be used again afterwards."""
        with self._lock:
            if self._connection is not None:
                self._close_file()
                self._connection = None

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        at: TracebackType | None,
    ) -> None:
        self.close()

    def __getstate__(self) -> dict[str, Any]:
        state = vars(self).copy()
        for live in ("_lock", "_connection", "_close_file"):
            state.pop(live, None)
        return state

    def __setstate__(self, state: dict[str, Any]) -> None:
        vars(self).update(state)
        self._start()

    @contextlib.contextmanager
    def _using(self) -> Iterator[sqlite3.Connection]:
        with self._lock:
            try:
                if self._connection is None:
                    self._connection = self._opened()
                    self._close_file = weakref.finalize(self, self._connection.close)
                yield self._connection
            except sqlite3.Error as error:
                raise self._refusal(error) from error

    @contextlib.contextmanager
    def _writing(self) -> Iterator[sqlite3.Connection]:
        with self._using() as connection, _transaction(connection):
            yield connection

    def _opened(self) -> sqlite3.Connection:
        """Open the file, and refuse one that is not the ledger of this subject and space."""
        with contextlib.suppress(PermissionError):  # SQLite then says the same of the file
            if self._file.is_dir():
                raise LedgerError(
                    f"the ledger '{self.path}' is a folder: name a file in it"
                )
            if not self._file.parent.is_dir():
                raise LedgerError(
                    f"the ledger '{self.path}' is in a folder that does not exist: create it first"
                )
        connection = sqlite3.connect(
            self._file, timeout=self._timeout, isolation_level=None, check_same_thread=False
        )
        try:
            # SQLite does not wait here while another process changes the mode, so we do.
            self._patiently(
                lambda: connection.execute("PRAGMA journal_mode = WAL").fetchone()
            )
            connection.execute("PRAGMA synchronous = NORMAL")
            with _transaction(connection):
                self._admit(connection)
        except BaseException:
            connection.close()
            raise
        return connection

    def _patiently(self, act: Callable[[], object]) -> None:
        """Do something again and again, as long as another process has locked the file."""
        deadline = time.monotonic() + self._timeout
        while True:
            try:
                act()
            except sqlite3.OperationalError as error:
                if _code(error) != sqlite3.SQLITE_BUSY or time.monotonic() > deadline:
                    raise
                time.sleep(0.02)
            else:
                return

    def _admit(self, connection: sqlite3.Connection) -> None:
        """Write the head of a new ledger, and check that of one that is there."""
        names = connection.execute("SELECT name FROM sqlite_master WHERE type = 'table'")
        tables = {name for (name,) in names}
        if not tables:
            for statement in _SCHEMA:
                connection.execute(statement)
            facts = {
                "format": str(FORMAT),
                "space": self.space,
                "subject": self.subject,
                "openings": "0",
                "evenhand": _version(),
            }
            connection.executemany("INSERT INTO meta VALUES (?, ?)", facts.items())
        elif "meta" not in tables:
            raise LedgerError(
                f"'{self.path}' is a database of another program, not a ledger: name another file"
            )
        self._compare(dict(connection.execute("SELECT name, value FROM meta")))
        # A write that changes something: a full disk must show before the first test is executed,
        # not after.
        connection.execute(
            "UPDATE meta SET value = CAST(value AS INTEGER) + 1 WHERE name = 'openings'"
        )

    def _compare(self, meta: dict[str, str]) -> None:
        """Refuse the ledger of another program, of a later format, or of other software."""
        written = meta.get("format", "")
        if not written.isdigit() or "space" not in meta or "subject" not in meta:
            raise LedgerError(
                f"'{self.path}' is a database of another program, not a ledger: name another file"
            )
        if int(written) > FORMAT:
            raise LedgerError(
                f"the ledger '{self.path}' has format {written} of evenhand {meta.get('evenhand')},"
                f" and this evenhand reads format {FORMAT}: upgrade evenhand or name another file"
            )
        differences = []
        for name, own in {"space": self.space, "subject": self.subject}.items():
            if meta[name] != own:
                differences.append(f"{name} ({clip(meta[name], 40)}, not {clip(own, 40)})")
        if differences:
            others = " and another ".join(differences)
            raise LedgerError(
                f"the ledger '{self.path}' belongs to another {others}: name another file, or"
                " delete this one to start over"
            )

    def _refusal(self, error: sqlite3.Error) -> LedgerError:
        """Return the error for what SQLite says."""
        no_permission = (
            "cannot be written: check the permissions of the file and of its folder, or name"
            " another file"
        )
        reasons = {
            sqlite3.SQLITE_NOTADB: "is not an SQLite file, so not a ledger: name another file",
            sqlite3.SQLITE_CORRUPT: "is damaged: restore a copy, or delete it to start over",
            sqlite3.SQLITE_FULL: (
                "cannot be written because the disk is full: make room, then run again to resume"
            ),
            sqlite3.SQLITE_BUSY: (
                f"was locked by another process for {self._timeout:g} s: wait for it to end, or"
                " name another file"
            ),
            sqlite3.SQLITE_READONLY: no_permission,
            sqlite3.SQLITE_CANTOPEN: no_permission,
            sqlite3.SQLITE_PERM: no_permission,
        }
        anything_else = (
            f"cannot be used ({clip(str(error))}): check the disk, or name another file"
        )
        reason = reasons.get(_code(error), anything_else)
        return LedgerError(f"the ledger '{self.path}' {reason}")


@contextlib.contextmanager
def _transaction(connection: sqlite3.Connection) -> Iterator[None]:
    connection.execute("BEGIN IMMEDIATE")
    try:
        yield
        connection.execute("COMMIT")
    except BaseException:
        with contextlib.suppress(sqlite3.Error):
            connection.execute("ROLLBACK")
        raise


def _code(error: sqlite3.Error) -> int:
    # The low byte is the kind of error; the others tell cases of it apart.
    return getattr(error, "sqlite_errorcode", 0) & 0xFF


def _kept(outcome: object) -> str | int | float | bytes:
    """Return the outcome as SQLite keeps it exactly.

    What SQLite has no type for becomes JSON in a blob.
    """
    if isinstance(outcome, tuple):
        return json.dumps([_checked(value) for value in outcome]).encode()
    value = _checked(outcome)
    if isinstance(value, bool):
        return _TRUE if value else _FALSE
    if isinstance(value, int):
        return value if -(2**63) <= value < 2**63 else json.dumps(value).encode()
    if isinstance(value, float):
        return json.dumps(value).encode() if math.isnan(value) else value
    try:
        value.encode()
    except UnicodeEncodeError:
        return json.dumps(value).encode()
    return value


def _checked(outcome: object) -> Scalar:
    value = plain(outcome)
    if isinstance(value, str | int | float):
        return value
    raise BadOutcome(
        f"{clip(repr(outcome), 40)} is a {type(outcome).__name__}: an outcome is a str, int, float"
        " or bool"
    )


def _read(blob: bytes) -> Reply:
    if blob == _TRUE:
        return True
    if blob == _FALSE:
        return False
    value = json.loads(blob)
    return tuple(value) if isinstance(value, list) else value


def _version() -> str:
    from importlib import metadata

    try:
        return metadata.version("evenhand")
    except metadata.PackageNotFoundError:
        return "unknown"


_LIVING: weakref.WeakSet[Ledger] = weakref.WeakSet()
_held: list[Ledger] = []


def _before_fork() -> None:
    # SQLite forbids carrying an open file over a fork, and a child could not even close it safely.
    for ledger in list(_LIVING):
        ledger._lock.acquire()
        _held.append(ledger)
        ledger.close()


def _after_fork() -> None:
    while _held:
        _held.pop()._lock.release()


if hasattr(os, "register_at_fork"):
    os.register_at_fork(
        before=_before_fork, after_in_parent=_after_fork, after_in_child=_after_fork
    )
