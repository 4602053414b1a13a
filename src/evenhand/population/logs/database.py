"""Databases that answer queries: rows are counted there, and kinds of rows come back.

Any DB-API connection will do, one of ADBC too, whose batches are Arrow tables already.
"""

from __future__ import annotations

import uuid
from dataclasses import dataclass, field
from decimal import Decimal
from importlib import import_module
from importlib.util import find_spec
from typing import TYPE_CHECKING, Any

from evenhand.population.logs.guard import first_line
from evenhand.runtime.errors import DataError, MissingExtra, UsageError, nearest

if TYPE_CHECKING:
    from collections.abc import Sequence

    from evenhand.population.logs.address import LogAddress

BATCH = 50_000
"""How many kinds of rows are fetched at once."""
ROWS = "number of rows"
"""The column of numbers of rows, with which no column of the user's is mixed up."""
ADBC = "adbc"
_LISTS = (
    "SELECT '', name FROM sqlite_master WHERE type IN ('table', 'view')",
    "SELECT table_schema, table_name FROM information_schema.tables"
    " WHERE table_schema NOT IN ('information_schema', 'pg_catalog')",
)


def connected(address: LogAddress) -> Any:
    """Return a connection to a database, which can only read where its driver can promise that."""
    what = f"reading '{address.shown}'"
    try:
        if address.scheme == "sqlite":
            return _sqlite(address, what)
        if address.scheme in ("postgres", "postgresql"):
            return _postgresql(address, what)
        return _adbc(address.scheme, address.text, what)
    except (UsageError, MissingExtra):
        raise
    except Exception as error:  # drivers raise what their databases say
        raise DataError(failure(address, error)) from None


def failure(address: LogAddress, error: Exception) -> str:
    """Return the sentence of an error of a database: where, and the first line that it says."""
    return f"'{address.shown}' cannot be read: {address.scrubbed(first_line(error))}"


def _sqlite(address: LogAddress, what: str) -> Any:
    path = address.path
    path.open("rb").close()  # a driver would make an empty database instead
    uri = f"{path.resolve().as_uri()}?mode=ro"
    if address.driver == ADBC:
        return _adbc("sqlite", uri, what)
    import sqlite3

    return sqlite3.connect(uri, uri=True)


def _postgresql(address: LogAddress, what: str) -> Any:
    has_psycopg = find_spec("psycopg") is not None
    if address.driver == ADBC or (not has_psycopg and find_spec("adbc_driver_postgresql")):
        return _adbc("postgresql", address.text, what)
    if not has_psycopg:
        raise MissingExtra(what, "postgres")
    import psycopg

    connection = psycopg.connect(address.text)
    connection.read_only = True
    return connection


def _adbc(name: str, uri: str, what: str) -> Any:
    if find_spec("adbc_driver_manager") is None:
        raise MissingExtra(what, "sql")
    if find_spec(f"adbc_driver_{name}") is None:
        raise UsageError(
            f"{what} needs the driver of that database; install it with: pip install"
            f" adbc-driver-{name}"
        )
    return import_module(f"adbc_driver_{name}.dbapi").connect(uri, autocommit=True)


@dataclass
class Database:
    """An open connection, and what is asked of it: a query, or all rows of a table."""

    connection: Any
    address: LogAddress
    query: str = ""
    columns: tuple[str, ...] = field(init=False, default=())

    def __post_init__(self) -> None:
        self.query = self.query.strip().rstrip(";").strip()

    @property
    def quote(self) -> str:
        """The mark around names: the standard's, or that of MySQL."""
        module = type(self.connection).__module__.lower()
        return "`" if "mysql" in module or "mariadb" in module else '"'

    def named(self, name: str) -> str:
        """Return a name in quotes."""
        doubled = name.replace(self.quote, self.quote * 2)
        return f"{self.quote}{doubled}{self.quote}"

    def choose(self, table: str | None) -> None:
        """Ask for a table where there is no query, and learn the columns."""
        if not self.query:
            self.query = f"SELECT * FROM {self._table(table)}"  # noqa: S608
        no_rows = f"SELECT * FROM ({self.query}\n) AS log WHERE 1 = 0"  # noqa: S608
        cursor = self.executed(no_rows)
        self.columns = tuple(str(column[0]) for column in cursor.description or ())
        cursor.close()
        for name in self.columns:
            if self.columns.count(name) > 1:
                raise DataError(
                    f"the query gives two columns called {name!r}; name one of them otherwise"
                    " with AS"
                )

    def executed(self, query: str) -> Any:
        """Return the cursor of a query; what the database says of it is an error of one line."""
        cursor = self.connection.cursor()
        try:
            cursor.execute(query)
        except Exception as error:  # drivers raise what their databases say
            cursor.close()
            raise DataError(failure(self.address, error)) from None
        return cursor

    def counted(self, names: Sequence[str]) -> Any:
        """Return how many rows there are of each kind, as an Arrow table; the database counts."""
        columns = ", ".join(map(self.named, names))
        number = self.named(ROWS)
        query = (
            f"SELECT {columns}, COUNT(*) AS {number} FROM ({self.query}\n) AS log"  # noqa: S608
            f" GROUP BY {columns}"
        )
        cursor = self.executed(query)
        try:
            if hasattr(cursor, "fetch_arrow_table"):
                return cursor.fetch_arrow_table().rename_columns([*names, ROWS])
            return _fetched(cursor, [*names, ROWS])
        except Exception as error:
            raise DataError(failure(self.address, error)) from None
        finally:
            cursor.close()

    def _table(self, table: str | None) -> str:
        """Return a table in quotes: the one that is named, or the only one that there is."""
        known = self._tables()
        if table is None or known:
            return chosen_table(self.address, table, known)
        return ".".join(map(self.named, table.split(".")))

    def _tables(self) -> dict[str, str]:
        """Return the tables by name, each as a query has it; none where that is not known."""
        for query in _LISTS:
            try:
                cursor = self.executed(query)
            except DataError:
                self._rolled_back()
                continue
            rows = cursor.fetchall()
            cursor.close()
            found: dict[str, str] = {}
            for schema, name in sorted(rows):
                full = f"{self.named(schema)}.{self.named(name)}"
                found.setdefault(name, full if schema else self.named(name))
                if schema:
                    found[f"{schema}.{name}"] = full
            return found
        return {}

    def _rolled_back(self) -> None:
        """End a transaction in which a query failed; nothing else could be asked in it."""
        if hasattr(self.connection, "rollback"):
            self.connection.rollback()


def chosen_table(address: LogAddress, table: str | None, known: dict[str, str]) -> str:
    """Return a table as a query has it, given those that there are: the only one unless named."""
    # A table has two names where it is in a schema.
    tables = set(known.values())
    if table is None and len(tables) == 1:
        return tables.pop()
    if table is None:
        raise UsageError(
            f"'{address.shown}' has {len(tables)} tables; name one with table, or a query with"
            f" query; {nearest('', known)}"
        )
    if table not in known:
        raise DataError(
            f"'{address.shown}' has no table {table!r}; {nearest(table, known)}"
        )
    return known[table]


def _fetched(cursor: Any, names: Sequence[str]) -> Any:
    """Return all rows of a cursor as an Arrow table, batch by batch."""
    import pyarrow as pa

    batches: list[list[Any]] = [[] for _ in names]
    rows = cursor.fetchmany(BATCH)
    while rows:
        for arrays, values in zip(batches, zip(*rows, strict=True), strict=True):
            arrays.append(_array(values))
        rows = cursor.fetchmany(BATCH)
    return pa.table(
        {name: _joined(arrays) for name, arrays in zip(names, batches, strict=True)}
    )


def _joined(arrays: list[Any]) -> Any:
    """Return the batches of a column as one; those of several kinds are texts."""
    import pyarrow as pa

    if not arrays:
        return pa.nulls(0)
    tables = [pa.table({"": array}) for array in arrays]
    try:
        return pa.concat_tables(tables, promote_options="permissive")[""]
    except pa.ArrowTypeError:
        return pa.chunked_array([array.cast(pa.string()) for array in arrays])


def _array(values: Sequence[Any]) -> Any:
    """Return the values of a column as Arrow has them; what is of several kinds are texts."""
    import pyarrow as pa

    plain = [_plain(value) for value in values]
    try:
        return pa.array(plain)
    except (pa.ArrowInvalid, pa.ArrowTypeError):
        return pa.array([None if value is None else str(value) for value in plain])


def _plain(value: Any) -> Any:
    if isinstance(value, Decimal):
        return float(value)
    if isinstance(value, uuid.UUID):
        return str(value)
    return value
