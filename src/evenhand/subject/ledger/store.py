"""Where the rows of a ledger are kept: one subclass of `LedgerStore` for each kind of database."""

from __future__ import annotations

import os
import threading
import weakref
from abc import ABC, abstractmethod
from pathlib import PurePath
from typing import TYPE_CHECKING, Any, ClassVar, Protocol, TypeVar

from evenhand.runtime.errors import LedgerError, UsageError, nearest
from evenhand.runtime.registry import resolve
from evenhand.subject.ledger.address import scheme_of, without_password
from evenhand.subject.ledger.upkeep import damaged, foreign, repairing

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Mapping, Sequence
    from contextlib import AbstractContextManager
    from pathlib import Path

    from evenhand.subject.ledger.admission import Admission
    from evenhand.subject.ledger.stored_outcome import Stored
    from evenhand.subject.ledger.upkeep import Inspection, Repaired

    Row = tuple[bytes, Stored, bytes]
    Claimant = tuple[int, str, int, str, int]

PATIENCE = 30.0
"""Seconds to wait for other processes that write, and for a server that does not answer."""
T = TypeVar("T")

STORES = {
    "": "evenhand.subject.ledger.sqlite.store:SqliteStore",
    "postgresql": "evenhand.subject.ledger.postgres.store:PostgresStore",
    "postgres": "evenhand.subject.ledger.postgres.store:PostgresStore",
}
"""Where each kind of store lives, by how its addresses begin; a file has no such beginning."""
_NO_PATHS = [(f"{scheme}:",) for scheme in STORES]


class LedgerRows(Protocol):
    """An open connection to the tables of a ledger."""

    connection: Any

    def transaction(self, *, alone: bool) -> AbstractContextManager[object]:
        """Write all of what follows, or nothing; `alone`, no other is in here meanwhile."""
        ...

    def head(self) -> dict[str, str] | None:
        """Return what the tables say of their format, space and subject; None if there are none."""
        ...

    def create(self, space: str, subject: str) -> None:
        """Write the tables and the head of a new ledger."""
        ...

    def count_opening(self) -> None:
        """Write something, so that what cannot be written shows before a test is executed."""
        ...

    def answers(self, keys: Sequence[bytes]) -> Iterable[list[tuple[Any, Any, Any]]]:
        """Yield the rows of some keys in parts, whatever damage has left in them."""
        ...

    def add(self, rows: Sequence[Row]) -> None:
        """Add rows; where a key has one already, that one stays."""
        ...

    def count(self) -> int:
        """Return how many rows there are."""
        ...

    def claimants(self) -> Sequence[tuple[Any, ...]]:
        """Return who claims: a number, the machine, the process, when it began and its beat."""
        ...

    def sign(self, claimant: Claimant) -> None:
        """Add a claimant."""
        ...

    def beat(self, claimant: int, beat: int) -> None:
        """Write down a sign of life."""
        ...

    def free(self, claimant: object) -> None:
        """Remove a claimant and what it claims."""
        ...

    def free_strays(self) -> None:
        """Remove claims of claimants that are gone."""
        ...

    def claimed(self, keys: Sequence[bytes]) -> Mapping[bytes, object]:
        """Return who has claimed each of some keys."""
        ...

    def claim(self, keys: Sequence[bytes], claimant: int) -> None:
        """Claim keys, whoever had claimed them."""
        ...

    def close(self) -> None:
        """Close the connection."""
        ...


class Unreachable(LedgerError):
    """A store that was open and no longer answers: what came meanwhile is kept aside."""


class LedgerStore(ABC):
    """A place for one ledger, which opens its own connection in each process that needs one.

    What is done with rows is a function, so that it can be done again on another connection.
    """

    elsewhere: ClassVar[str]
    """What to do where the place is taken."""
    failures: tuple[type[Exception], ...]
    """What the database raises."""

    def __init__(self, name: str, timeout: float, admission: Admission | None) -> None:
        self.name = name
        """The place, as messages show it."""
        self.timeout = timeout
        self._admission = admission
        self._start()

    def _start(self) -> None:
        self._lock = threading.RLock()
        self.rows: LedgerRows | None = None
        _LIVING.add(self)

    @abstractmethod
    def opened(self) -> LedgerRows:
        """Return a new connection."""

    @abstractmethod
    def refusal(self, error: Exception) -> LedgerError:
        """Return the error for what the database says."""

    def damaged(self, what: str) -> LedgerError:
        """Return the error for a ledger that is not as it was written."""
        return damaged(self.name, what)

    def foreign(self) -> LedgerError:
        """Return the error for a database that holds no ledger."""
        return foreign(self.name, self.elsewhere)

    @property
    def repairing(self) -> str:
        """What a person types to repair it."""
        return repairing(self.name)

    @abstractmethod
    def inspected(self) -> Inspection:
        """Return what can be read, without changing it."""

    @abstractmethod
    def compacted(self) -> tuple[int, int]:
        """Drop dead claims and unused space; return the bytes before and after."""

    @abstractmethod
    def repaired(self, output: Path | None, *, adopt: bool) -> Repaired:
        """Write a sound ledger of all rows that can be verified."""

    @abstractmethod
    def check_place(self) -> None:
        """Raise an error where the place is no longer the one that was opened."""

    def look(self, act: Callable[[LedgerRows], T]) -> T:
        """Do something that only reads."""
        with self._lock:
            return self._done(act)

    def change(self, act: Callable[[LedgerRows], T], *, alone: bool = True) -> T:
        """Do something that writes, whole or not at all."""

        def whole(rows: LedgerRows) -> T:
            with rows.transaction(alone=alone):
                return act(rows)

        with self._lock:
            return self._done(whole)

    def _done(self, act: Callable[[LedgerRows], T]) -> T:
        try:
            return act(self._connected())
        except self.failures as error:
            raise self.refusal(error) from error

    def _connected(self) -> LedgerRows:
        if self.rows is not None:
            self.check_place()
            return self.rows
        rows = self.opened()
        try:
            with rows.transaction(alone=True):
                if self._admission is not None:
                    self._admission.check(self, rows)
        except BaseException:
            rows.close()
            raise
        self.rows = rows
        self._close_rows = weakref.finalize(self, rows.connection.close)
        return rows

    def close(self) -> None:
        """Close the connection; the store may be used again afterwards."""
        with self._lock:
            if self.rows is not None:
                self._close_rows()
                self.rows = None

    def __getstate__(self) -> dict[str, Any]:
        state = vars(self).copy()
        for live in ("_lock", "rows", "_close_rows"):
            state.pop(live, None)
        return state

    def __setstate__(self, state: dict[str, Any]) -> None:
        vars(self).update(state)
        self._start()

    def __repr__(self) -> str:
        return f"{type(self).__name__}({self.name!r})"


def store_at(
    place: str | os.PathLike[str],
    timeout: float = PATIENCE,
    admission: Admission | None = None,
) -> LedgerStore:
    """Return the store at a path or an address; without an admission, whatever ledger it holds.

    >>> store_at("loan.ledger")
    SqliteStore('loan.ledger')
    >>> store_at("mysql://me:secret@host/loans")
    Traceback (most recent call last):
    evenhand.runtime.errors.UsageError: the ledger 'mysql://me@host/loans' begins with 'mysql'; ...
    """
    if isinstance(place, PurePath) and place.parts[:1] in _NO_PATHS:
        raise UsageError("the address of a ledger is given as a text, not as a path")
    scheme = scheme_of(place)
    if scheme not in STORES:
        shown = without_password(os.fspath(place))
        kinds = [kind for kind in STORES if kind]
        raise UsageError(
            f"the ledger '{shown}' begins with {scheme!r}; {nearest(scheme, kinds)}, or name a file"
        )
    made: LedgerStore = resolve(STORES[scheme])(place, timeout, admission)
    return made


_LIVING: weakref.WeakSet[LedgerStore] = weakref.WeakSet()
_held: list[LedgerStore] = []


def _before_fork() -> None:
    # SQLite forbids carrying an open file over a fork, and a child could not even close it safely;
    # of a server, parent and child would read each other's answers.
    for store in list(_LIVING):
        store._lock.acquire()
        _held.append(store)
        store.close()


def _after_fork() -> None:
    while _held:
        _held.pop()._lock.release()


if hasattr(os, "register_at_fork"):
    os.register_at_fork(
        before=_before_fork, after_in_parent=_after_fork, after_in_child=_after_fork
    )
