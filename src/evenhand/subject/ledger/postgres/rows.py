"""The tables of a ledger on a server, through one connection."""

from __future__ import annotations

import contextlib
from hashlib import sha256
from itertools import chain
from typing import TYPE_CHECKING, Any

from evenhand.subject.ledger.checksum import packed, unpacked
from evenhand.subject.ledger.head import head_of
from evenhand.subject.ledger.upkeep import foreign

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

    from psycopg import Connection

    from evenhand.subject.ledger.store import Claimant, Row

ELSEWHERE = "name another schema, such as '?schema=loan_2' at the end of the address"
"""What to do where a schema holds something else."""
ASKED_AT_ONCE = 20_000
"""Keys that one statement carries."""
_TABLES = (
    "CREATE TABLE {0}.meta (name text PRIMARY KEY, value bytea NOT NULL)",
    # An answer stands behind a letter for its type, as it enters the checksum.
    "CREATE TABLE {0}.test (key bytea NOT NULL, outcome bytea NOT NULL, checksum bytea NOT NULL)",
    # A key may be a long text, and an index takes short values only.
    "CREATE UNIQUE INDEX ON {0}.test (sha256(key))",
    "CREATE TABLE {0}.claimant (id bigint PRIMARY KEY, host text NOT NULL, pid bigint NOT NULL,"
    " began text NOT NULL, beat bigint NOT NULL)",
    "CREATE TABLE {0}.claim (key bytea NOT NULL, claimant bigint NOT NULL)",
    "CREATE UNIQUE INDEX ON {0}.claim (sha256(key))",
)


class PostgresRows:
    """An open connection to the schema of a ledger."""

    def __init__(self, connection: Connection[Any], schema: str, name: str) -> None:
        self.connection = connection
        self.schema = schema
        self._name = name

    @contextlib.contextmanager
    def transaction(self, *, alone: bool = True) -> Iterator[None]:
        """Write all of what follows, or nothing; `alone`, no other is in here meanwhile."""
        with self.connection.transaction():
            if alone:
                # Until the end of the transaction, also where the connection breaks.
                self._do(
                    "SELECT pg_advisory_xact_lock(hashtextextended(%s, 0))",
                    f"evenhand ledger {self.schema}",
                )
            yield

    def head(self) -> dict[str, str] | None:
        """Return the head of the ledger; None where the schema is new or empty."""
        found = self._all(
            "SELECT relname FROM pg_class JOIN pg_namespace n ON n.oid = relnamespace"
            " WHERE nspname = %s",
            self.schema,
        )
        tables = {name for (name,) in found}
        if not tables:
            return None
        if not {"meta", "test", "claim", "claimant"} <= tables:
            raise foreign(self._name, ELSEWHERE)
        rows = self._all("SELECT name, value FROM {0}.meta")
        return {name: value.decode(errors="replace") for name, value in rows}

    def create(self, space: str, subject: str) -> None:
        """Write the tables and the head of a new ledger."""
        exists = self._all("SELECT 1 FROM pg_namespace WHERE nspname = %s", self.schema)
        if not exists:
            self._do("CREATE SCHEMA {0}")
        for statement in _TABLES:
            self._do(statement)
        head = head_of(space, subject)
        values = [value.encode() for value in head.values()]
        self._do(
            "INSERT INTO {0}.meta SELECT * FROM unnest(%s::text[], %s::bytea[])",
            list(head),
            values,
        )

    def count_opening(self) -> None:
        """Write how often the ledger was opened."""
        self._do(
            "UPDATE {0}.meta SET value ="
            " convert_to((convert_from(value, 'UTF8')::bigint + 1)::text, 'UTF8')"
            " WHERE name = 'openings'"
        )

    def answers(self, keys: Sequence[bytes]) -> Iterator[list[tuple[Any, Any, Any]]]:
        """Yield the rows of some keys, a part at a time."""
        query = "SELECT key, outcome, checksum FROM {0}.test WHERE sha256(key) = ANY(%b::bytea[])"
        for part in self._of(query, keys):
            yield [(key, unpacked(outcome), written) for key, outcome, written in part]

    def all_answers(self) -> Iterator[tuple[Any, Any, Any]]:
        """Yield all rows, a part at a time."""
        with self.connection.cursor("evenhand", binary=True) as cursor:
            cursor.itersize = ASKED_AT_ONCE
            cursor.execute(self._named("SELECT key, outcome, checksum FROM {0}.test"))
            for key, outcome, checksum in cursor:
                yield key, unpacked(outcome), checksum

    def add(self, rows: Sequence[Row]) -> None:
        """Add rows; where a key has one already, that one stays."""
        for start in range(0, len(rows), ASKED_AT_ONCE):
            keys, values, checksums = zip(*rows[start : start + ASKED_AT_ONCE], strict=True)
            self._do(
                "INSERT INTO {0}.test SELECT * FROM unnest(%b::bytea[], %b::bytea[], %b::bytea[])"
                " ON CONFLICT DO NOTHING",
                list(keys),
                list(map(packed, values)),
                list(checksums),
            )

    def count(self) -> int:
        """Return how many rows there are."""
        ((count,),) = self._all("SELECT count(*) FROM {0}.test")
        return int(count)

    def claims(self) -> list[tuple[Any, ...]]:
        """Return how many inputs each claimant has claimed."""
        return self._all("SELECT claimant, count(*) FROM {0}.claim GROUP BY claimant")

    def claimants(self) -> list[tuple[Any, ...]]:
        """Return who claims."""
        return self._all("SELECT id, host, pid, began, beat FROM {0}.claimant")

    def sign(self, claimant: Claimant) -> None:
        """Add a claimant."""
        self._do("INSERT INTO {0}.claimant VALUES (%s, %s, %s, %s, %s)", *claimant)

    def beat(self, claimant: int, beat: int) -> None:
        """Write down a sign of life."""
        self._do("UPDATE {0}.claimant SET beat = %s WHERE id = %s", beat, claimant)

    def free(self, claimant: object) -> None:
        """Remove a claimant and what it claims."""
        self._do("DELETE FROM {0}.claim WHERE claimant = %s", claimant)
        self._do("DELETE FROM {0}.claimant WHERE id = %s", claimant)

    def free_strays(self) -> None:
        """Remove claims of claimants that are gone."""
        self._do(
            "DELETE FROM {0}.claim WHERE claimant NOT IN (SELECT id FROM {0}.claimant)"
        )

    def claimed(self, keys: Sequence[bytes]) -> dict[bytes, Any]:
        """Return who has claimed each of some keys."""
        query = "SELECT key, claimant FROM {0}.claim WHERE sha256(key) = ANY(%b::bytea[])"
        return dict(chain.from_iterable(self._of(query, keys)))

    def claim(self, keys: Sequence[bytes], claimant: int) -> None:
        """Claim keys, whoever had claimed them."""
        if not keys:
            return
        self._do(
            "INSERT INTO {0}.claim SELECT key, %s FROM unnest(%b::bytea[]) key"
            " ON CONFLICT (sha256(key)) DO UPDATE SET claimant = excluded.claimant",
            claimant,
            list(keys),
        )

    def size(self) -> int:
        """Return the bytes of all tables."""
        ((size,),) = self._all(
            "SELECT coalesce(sum(pg_total_relation_size(c.oid)), 0)::bigint FROM pg_class c"
            " JOIN pg_namespace n ON n.oid = relnamespace WHERE nspname = %s AND relkind = 'r'",
            self.schema,
        )
        return int(size)

    def vacuum(self) -> None:
        """Give unused space back."""
        for table in ("meta", "test", "claimant", "claim"):
            self._do(f"VACUUM FULL {{0}}.{table}")

    def close(self) -> None:
        """Close the connection."""
        self.connection.close()

    def _of(self, query: str, keys: Sequence[bytes]) -> Iterator[list[Any]]:
        """Yield what a query finds of some keys."""
        digests = sorted({sha256(key).digest() for key in keys})
        for start in range(0, len(digests), ASKED_AT_ONCE):
            yield self._all(query, digests[start : start + ASKED_AT_ONCE])

    def _named(self, query: str) -> Any:
        # The name of a schema is letters, digits and '_': the address is refused otherwise.
        return query.format(f'"{self.schema}"').encode()

    def _all(self, query: str, *values: object) -> list[tuple[Any, ...]]:
        with self.connection.cursor(binary=True) as cursor:
            cursor.execute(self._named(query), values)
            found: list[tuple[Any, ...]] = cursor.fetchall()
        return found

    def _do(self, query: str, *values: object) -> None:
        self.connection.execute(self._named(query), values)
