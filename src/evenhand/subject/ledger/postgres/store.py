"""A ledger in a PostgreSQL database, which many machines share."""

from __future__ import annotations

import time
from typing import TYPE_CHECKING, Any, TypeVar

from evenhand.runtime.errors import LedgerError, MissingExtra
from evenhand.subject.ledger.postgres.address import DatabaseAddress
from evenhand.subject.ledger.postgres.rows import ELSEWHERE, PostgresRows
from evenhand.subject.ledger.postgres.upkeep import compacted, inspected, repaired
from evenhand.subject.ledger.store import LedgerStore, Unreachable

if TYPE_CHECKING:
    from collections.abc import Callable
    from pathlib import Path

    import psycopg

    from evenhand.subject.ledger.admission import Admission
    from evenhand.subject.ledger.store import LedgerRows
    from evenhand.subject.ledger.upkeep import Inspection, Repaired

T = TypeVar("T")

_FIRST_WAIT, _LONGEST_WAIT = 0.05, 1.0
"""Seconds between two attempts to connect again."""
_WORTH_ANOTHER = ("40001", "40P01")
"""What two transactions that were in each other's way end with; nothing of them is written."""
_AWAY = ("08", "57P", "53300")
"""How the codes begin of a server that stops, starts, or has no connection left."""


class PostgresStore(LedgerStore):
    """A ledger in one schema of a database.

    A connection that drops is made again for `timeout` seconds, and what was under way is done once
    more: each change is one transaction, and may be done twice.
    """

    elsewhere = ELSEWHERE

    def __init__(
        self, place: str, timeout: float, admission: Admission | None = None
    ) -> None:
        self.address = DatabaseAddress.of(place)
        super().__init__(self.address.shown, timeout, admission)
        self.failures = (_library().Error,)
        self._was_open = False
        self._gave_up = False

    def opened(self) -> PostgresRows:
        """Return a connection whose waits are bounded."""
        connection = _library().connect(self.address.link, autocommit=True)
        milliseconds = int(self.timeout * 1000)
        connection.execute(f"SET lock_timeout = {milliseconds}".encode())
        return PostgresRows(connection, self.address.schema, self.name)

    def check_place(self) -> None:
        """Leave it to the server to say that its tables are gone."""

    def _done(self, act: Callable[[LedgerRows], T]) -> T:
        deadline: float | None = None
        wait = _FIRST_WAIT
        while True:
            try:
                found = act(self._connected())
            except _library().Error as error:
                self._drop_broken()
                if not self._was_open or not _is_passing(error):
                    raise self.refusal(error) from error
                now = time.monotonic()
                if deadline is None:
                    deadline = now if self._gave_up else now + self.timeout
                if now >= deadline:
                    self._gave_up = True
                    raise self._unreachable(error) from error
            else:
                self._was_open = True
                self._gave_up = False
                return found
            time.sleep(wait)
            wait = min(2 * wait, _LONGEST_WAIT)

    def _drop_broken(self) -> None:
        """Forget a connection that does not work any more."""
        if isinstance(self.rows, PostgresRows) and self.rows.connection.closed:
            self.close()

    def _unreachable(self, error: Exception) -> Unreachable:
        reason = self.address.cleaned(error)
        return Unreachable(
            f"the ledger '{self.name}' has not been reached for {self.timeout:g} s ({reason})"
        )

    def refusal(self, error: Exception) -> LedgerError:
        """Return the error for what the server or the library says."""
        message = self.address.cleaned(error)
        code = getattr(error, "sqlstate", None) or ""
        for beginning, reason in _REASONS.items():
            if code.startswith(beginning):
                full = reason.format(
                    message=message, elsewhere=self.elsewhere, timeout=self.timeout
                )
                return LedgerError(f"the ledger '{self.name}' {full}")
        if code:
            return LedgerError(
                f"the ledger '{self.name}' cannot be used ({message}): look at the database, or"
                f" {self.elsewhere}"
            )
        return LedgerError(
            f"the ledger '{self.name}' cannot be reached ({message}): check the address, the"
            " server, and the password, which is given as PGPASSWORD or in ~/.pgpass"
        )

    def inspected(self) -> Inspection:
        """Return what the tables hold."""
        return self.look(lambda rows: inspected(self.name, _ours(rows)))

    def compacted(self) -> tuple[int, int]:
        """Drop dead claims and unused space."""
        return self.look(lambda rows: compacted(self.name, _ours(rows)))

    def repaired(self, output: Path | None, *, adopt: bool) -> Repaired:
        """Write the rows that are sound into a file."""
        return repaired(self.inspected(), output, adopt=adopt)


_REASONS = {
    "42501": (
        "cannot be written ({message}): let its owner grant this user the schema and its tables"
    ),
    "25006": "cannot be written ({message}): name the server that takes writes",
    "53100": (
        "cannot be written because the disk of the server is full: make room, then run again to"
        " resume"
    ),
    "55P03": (
        "was locked by another process for {timeout:g} s: wait for it to end, or {elsewhere}"
    ),
    "3F000": "was removed during the run: run again to begin a new one",
    "42P01": "was removed during the run: run again to begin a new one",
}
"""What to say of an error, by the beginning of its code (appendix A of the PostgreSQL manual)."""


def _is_passing(error: psycopg.Error) -> bool:
    """Return whether an error is one of the connection or the moment, and not of what was done."""
    code = error.sqlstate
    if code is None:
        return isinstance(error, _library().OperationalError)
    return code in _WORTH_ANOTHER or code.startswith(_AWAY)


def _ours(rows: LedgerRows) -> PostgresRows:
    assert isinstance(rows, PostgresRows)
    return rows


def _library() -> Any:
    try:
        import psycopg
    except ImportError as error:
        raise MissingExtra("a ledger in PostgreSQL", "postgres") from error
    return psycopg
