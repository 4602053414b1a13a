"""Ledger: executed tests and their outcomes, each verified when it is read."""

from __future__ import annotations

import contextlib
import os
import threading
import weakref
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np

from evenhand.runtime.errors import LedgerError, clip
from evenhand.subject.ledger.checksum import FORMAT, Checksum
from evenhand.subject.ledger.database import (
    ASKED_AT_ONCE,
    FAILURES,
    connected,
    create,
    damaged,
    damaged_rows,
    marks,
    refusal,
    repairing,
    transaction,
)
from evenhand.subject.ledger.stored_outcome import restored, stored

if TYPE_CHECKING:
    import sqlite3
    from collections.abc import Iterator, Sequence
    from types import TracebackType
    from typing import Self

    from numpy.typing import NDArray

    from evenhand.subject.adapters.base import Reply


class Ledger:
    """Executed tests of one subject on one space, kept in the file `path`.

    Parameters: the file, created if missing; the digest of the space; the identity of the subject;
    and the seconds to wait for another process that is writing. It may be shared by threads and
    processes, pickled, and used again after `close`: each process opens its own connection when it
    first needs one. Every row has a checksum, and one that does not fit is a LedgerError.

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
        self._checksum = Checksum(self.space, self.subject)
        self._connection: sqlite3.Connection | None = None
        self._inode: tuple[int, int] | None = None
        self._read = 0
        self._bad = 0
        _LIVING.add(self)

    def known(self, keys: Sequence[bytes]) -> dict[bytes, Reply]:
        """Return the recorded outcomes of those keys that have one.

        Raises a LedgerError where a row does not fit its checksum.
        """
        with self._using() as connection:
            return self.read(connection, keys)

    def read(
        self, connection: sqlite3.Connection, keys: Sequence[bytes]
    ) -> dict[bytes, Reply]:
        """Return recorded outcomes as one connection sees them, in a transaction for example."""
        asked = sorted(keys)  # neighbours in the tree share pages
        outcomes: dict[bytes, Reply] = {}
        fits = self._checksum.fits
        for start in range(0, len(asked), ASKED_AT_ONCE):
            chunk = asked[start : start + ASKED_AT_ONCE]
            query = f"SELECT key, outcome, checksum FROM test WHERE key IN ({marks(chunk)})"  # noqa: S608
            rows = connection.execute(query, chunk).fetchall()
            self._read += len(rows)
            for key, value, checksum in rows:
                if fits(key, value, checksum):
                    outcomes[key] = restored(value)
                else:
                    self._bad += 1
        if self._bad:
            raise damaged_rows(self.path, self._bad, self._read)
        return outcomes

    def record(
        self, keys: Sequence[bytes], outcomes: Sequence[object] | NDArray[np.generic]
    ) -> None:
        """Write outcomes down, all or none; where a key has an outcome already, that one stays."""
        listed = outcomes.tolist() if isinstance(outcomes, np.ndarray) else outcomes
        rows = self._checksum.rows(keys, map(stored, listed))
        rows.sort(key=lambda row: row[0])
        with self.writing() as connection:
            connection.executemany("INSERT OR IGNORE INTO test VALUES (?, ?, ?)", rows)

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
        for live in ("_lock", "_connection", "_close_file", "_checksum"):
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
                    self._inode = _inode(self._file)
                elif _inode(self._file) != self._inode:
                    raise LedgerError(
                        f"the ledger '{self.path}' was removed or replaced during the run: name"
                        " another file, or run again to go on with the one that is there now"
                    )
                yield self._connection
            except FAILURES as error:
                raise refusal(self.path, error, self._timeout) from error

    @contextlib.contextmanager
    def writing(self) -> Iterator[sqlite3.Connection]:
        """Write all of what follows through one connection, or nothing."""
        with self._using() as connection, transaction(connection):
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
        connection = connected(self._file, self._timeout)
        try:
            with transaction(connection):
                self._admit(connection)
        except BaseException:
            connection.close()
            raise
        return connection

    def _admit(self, connection: sqlite3.Connection) -> None:
        """Write the head of a new ledger, and check that of one that is there."""
        names = connection.execute("SELECT name FROM sqlite_master WHERE type = 'table'")
        tables = {name for (name,) in names}
        if not tables:
            (pages,) = connection.execute("PRAGMA page_count").fetchone()
            if pages > 1:  # a new file has one page at most
                raise damaged(self.path, "it has no tables any more")
            create(connection, self.space, self.subject)
        elif "meta" not in tables:
            raise self._foreign()
        self._compare(dict(connection.execute("SELECT name, value FROM meta")))
        # A write that changes something: a full disk must show before the first test is executed,
        # not after.
        connection.execute(
            "UPDATE meta SET value = CAST(value AS INTEGER) + 1 WHERE name = 'openings'"
        )

    def _compare(self, meta: dict[str, str]) -> None:
        """Refuse the ledger of another program, of another format, or of other software."""
        written = meta.get("format", "")
        if not written.isdecimal() or "space" not in meta or "subject" not in meta:
            raise damaged(self.path, "its head") if "checksum" in meta else self._foreign()
        if int(written) > FORMAT:
            raise LedgerError(
                f"the ledger '{self.path}' has format {written} of evenhand {meta.get('evenhand')},"
                f" and this evenhand reads format {FORMAT}: upgrade evenhand or name another file"
            )
        if int(written) < FORMAT and "checksum" not in meta:
            raise LedgerError(
                f"the ledger '{self.path}' has format {written}, whose rows have no checksums: run"
                f" '{repairing(self.path)} --adopt' to trust them as they are, or name another file"
            )
        sealed = Checksum(meta["space"], meta["subject"]).head
        if int(written) != FORMAT or meta.get("checksum") != sealed:
            raise damaged(self.path, "what it says of its space and subject does not match")
        self._refuse_other(meta)

    def _refuse_other(self, meta: dict[str, str]) -> None:
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

    def _foreign(self) -> LedgerError:
        return LedgerError(
            f"'{self.path}' is a database of another program, not a ledger: name another file"
        )


def _inode(file: Path) -> tuple[int, int] | None:
    """Return what tells a file from another one of the same name; None where there is none."""
    try:
        status = file.stat()
    except OSError:
        return None
    return status.st_dev, status.st_ino


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
