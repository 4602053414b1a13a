"""What reads databases: a DuckDB file by itself, others by queries in which they count."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from evenhand.population.logs import engines
from evenhand.population.logs.database import chosen_table
from evenhand.population.logs.kinds import repeated
from evenhand.population.logs.sessions import Sessions, duckdb_connection
from evenhand.runtime.errors import DataError, MissingExtra, one_line, reason_of
from evenhand.runtime.table_file import beside

if TYPE_CHECKING:
    from collections.abc import Sequence

    from evenhand.population.logs.address import LogAddress
    from evenhand.population.logs.database import Database


class DuckdbReader:
    """A table or a query of a DuckDB file."""

    engine = engines.DUCKDB

    def __init__(self, address: LogAddress, table: str | None, query: str | None) -> None:
        need_file(address)
        if not engines.is_installed(engines.DUCKDB):
            raise MissingExtra(f"reading '{address.shown}'", engines.DUCKDB)
        self._connection = duckdb_connection(self, str(address.path))
        self.query = query
        self.table = table
        try:
            if query is None:
                self.table = self._chosen(address, table)
                query = f"FROM {self.table}"
            self._relation = self._connection.sql(query.strip().rstrip(";"))
            if self._relation is None:
                raise DataError(
                    f"'{address.shown}': the query gives no rows; begin it with SELECT"
                )
        except BaseException:
            self._connection.close()
            raise
        self.columns = tuple(self._relation.columns)

    def _chosen(self, address: LogAddress, table: str | None) -> str:
        """Return the table in quotes, the only one where none is named."""
        listed = self._connection.execute(
            "SELECT table_schema, table_name FROM information_schema.tables"
            " WHERE table_catalog = current_database()"
        ).fetchall()
        known: dict[str, str] = {}
        for schema, name in sorted(listed):
            full = f'"{schema}"."{name}"'
            known.setdefault(name, full)
            if schema != "main":
                known[f"{schema}.{name}"] = full
        return chosen_table(address, table, known)

    def frame(self, names: Sequence[str] | None) -> Any:
        """Return the relation."""
        return self._relation

    def fields(self) -> dict[str, Any]:
        """Return the table or the query."""
        if self.query is not None:
            return {"query": one_line(self.query)}
        return {"table": str(self.table).replace('"main".', "").replace('"', "")}

    def close(self) -> None:
        """Close the file."""
        self._relation = None
        self._connection.close()


def need_file(address: LogAddress) -> None:
    """Refuse a database that is not there, which a driver would make or say much about."""
    try:
        address.path.open("rb").close()
    except (OSError, ValueError) as error:
        raise DataError(
            f"'{address.shown}' cannot be read ({reason_of(error)});"
            f" {beside(address.path, (address.path.suffix or '.db',))}"
        ) from None


class QueryReader:
    """A query of a database, which counts rows itself; an engine repeats them as verbs read."""

    def __init__(self, database: Database, engine: str, *, is_own: bool) -> None:
        self.database = database
        self.engine = engine
        self._is_own = is_own
        self._sessions = Sessions(engine)

    @property
    def columns(self) -> tuple[str, ...]:
        """The columns of the query."""
        return self.database.columns

    def frame(self, names: Sequence[str] | None) -> Any:
        """Return the rows that the database has counted by these columns."""
        kinds = self.database.counted(self.columns if names is None else names)
        return repeated(kinds, self.engine, self._sessions.session())

    def fields(self) -> dict[str, Any]:
        """Return the query, and who has counted."""
        counted_by = type(self.database.connection).__module__.partition(".")[0]
        return {"query": one_line(self.database.query), "counted_by": counted_by}

    def close(self) -> None:
        """Close the connection, unless the user has opened it."""
        self._sessions.close()
        if self._is_own:
            self.database.connection.close()
