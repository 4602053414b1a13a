"""The tables of a ledger file, through one connection."""

from __future__ import annotations

import contextlib
from itertools import chain
from typing import TYPE_CHECKING, Any

from evenhand.subject.ledger.sqlite.database import Durability, create, transaction
from evenhand.subject.ledger.upkeep import damaged, foreign

if TYPE_CHECKING:
    import sqlite3
    from collections.abc import Iterator, Sequence

    from evenhand.subject.ledger.store import Claimant, Row

ELSEWHERE = "name another file"
"""What to do where a file holds something else."""
ASKED_AT_ONCE = 900
"""SQLite before 3.32 allows 999 variables in one statement."""


class SqliteRows:
    """An open connection to the file of a ledger."""

    def __init__(self, connection: sqlite3.Connection, name: str) -> None:
        self.connection = connection
        self._name = name
        self._durability = Durability(connection)

    @contextlib.contextmanager
    def transaction(self, *, alone: bool = True) -> Iterator[None]:
        """Write all of what follows, or nothing; SQLite has one writer at a time anyway."""
        self._durability.choose()
        with transaction(self.connection):
            yield

    def head(self) -> dict[str, str] | None:
        """Return the head of the file; None where it is new."""
        names = self.connection.execute(
            "SELECT name FROM sqlite_master WHERE type = 'table'"
        )
        tables = {name for (name,) in names}
        if "meta" in tables:
            return dict(self.connection.execute("SELECT name, value FROM meta"))
        if tables:
            raise foreign(self._name, ELSEWHERE)
        (pages,) = self.connection.execute("PRAGMA page_count").fetchone()
        if pages > 1:  # a new file has one page at most
            raise damaged(self._name, "it has no tables any more")
        return None

    def create(self, space: str, subject: str) -> None:
        """Write the tables and the head of a new ledger."""
        create(self.connection, space, subject)

    def count_opening(self) -> None:
        """Write how often the file was opened."""
        self.connection.execute(
            "UPDATE meta SET value = CAST(value AS INTEGER) + 1 WHERE name = 'openings'"
        )

    def answers(self, keys: Sequence[bytes]) -> Iterator[list[tuple[Any, Any, Any]]]:
        """Yield the rows of some keys, a part at a time."""
        return self._of("SELECT key, outcome, checksum FROM test", keys)

    def add(self, rows: Sequence[Row]) -> None:
        """Add rows; where a key has one already, that one stays."""
        self.connection.executemany("INSERT OR IGNORE INTO test VALUES (?, ?, ?)", rows)

    def count(self) -> int:
        """Return how many rows there are."""
        (count,) = self.connection.execute("SELECT count(*) FROM test").fetchone()
        return int(count)

    def claimants(self) -> list[tuple[Any, ...]]:
        """Return who claims."""
        query = "SELECT id, host, pid, began, beat FROM claimant"
        return self.connection.execute(query).fetchall()

    def sign(self, claimant: Claimant) -> None:
        """Add a claimant."""
        self.connection.execute("INSERT INTO claimant VALUES (?, ?, ?, ?, ?)", claimant)

    def beat(self, claimant: int, beat: int) -> None:
        """Write down a sign of life."""
        self.connection.execute(
            "UPDATE claimant SET beat = ? WHERE id = ?", (beat, claimant)
        )

    def free(self, claimant: object) -> None:
        """Remove a claimant and what it claims."""
        self.connection.execute("DELETE FROM claim WHERE claimant = ?", [claimant])
        self.connection.execute("DELETE FROM claimant WHERE id = ?", [claimant])

    def free_strays(self) -> None:
        """Remove claims of claimants that are gone."""
        self.connection.execute(
            "DELETE FROM claim WHERE claimant NOT IN (SELECT id FROM claimant)"
        )

    def claimed(self, keys: Sequence[bytes]) -> dict[bytes, Any]:
        """Return who has claimed each of some keys."""
        parts = self._of("SELECT key, claimant FROM claim", keys)
        return dict(chain.from_iterable(parts))

    def claim(self, keys: Sequence[bytes], claimant: int) -> None:
        """Claim keys, whoever had claimed them."""
        rows = [(key, claimant) for key in keys]
        self.connection.executemany("INSERT OR REPLACE INTO claim VALUES (?, ?)", rows)

    def close(self) -> None:
        """Close the file."""
        self.connection.close()

    def _of(self, select: str, keys: Sequence[bytes]) -> Iterator[list[Any]]:
        """Yield what a query finds of some keys."""
        asked = sorted(keys)  # neighbours in the tree share pages
        for start in range(0, len(asked), ASKED_AT_ONCE):
            chunk = asked[start : start + ASKED_AT_ONCE]
            marks = ",".join("?" * len(chunk))
            yield self.connection.execute(
                f"{select} WHERE key IN ({marks})", chunk
            ).fetchall()
