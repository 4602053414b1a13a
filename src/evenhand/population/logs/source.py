"""Recorded decisions where they lie: what is opened, which engine reads it, and what it is."""

from __future__ import annotations

from dataclasses import dataclass, field
from os import PathLike, fspath
from pathlib import Path
from typing import TYPE_CHECKING, Any, Protocol

from evenhand.population.logs import address as addresses
from evenhand.population.logs import engines
from evenhand.population.logs.address import LogAddress
from evenhand.population.logs.database import Database, connected
from evenhand.population.logs.database_readers import DuckdbReader, QueryReader, need_file
from evenhand.population.logs.file_readers import (
    DatasetReader,
    FilesReader,
    RemoteReader,
    SmallFileReader,
)
from evenhand.population.logs.files import log_files
from evenhand.population.logs.guard import engine_errors
from evenhand.runtime.errors import DataError, MissingExtra, UsageError, nearest
from evenhand.runtime.options import checked_keywords
from evenhand.runtime.table_file import OWN_COLUMNS

if TYPE_CHECKING:
    from collections.abc import Sequence
    from contextlib import AbstractContextManager
    from types import TracebackType

SMALL = 100_000_000
"""Up to how many bytes a single CSV or Parquet file is read whole by pandas, unless said otherwise.
"""


class LogReader(Protocol):
    """What reads a log: its columns, and frames of it."""

    @property
    def engine(self) -> str:
        """The engine."""

    @property
    def columns(self) -> tuple[str, ...]:
        """The columns."""

    def frame(self, names: Sequence[str] | None) -> Any:
        """Return a frame with at least these columns; None stands for all."""

    def fields(self) -> dict[str, Any]:
        """Return what else is known of the source, as JSON holds it."""

    def close(self) -> None:
        """Close what was opened."""


@dataclass
class Log:
    """Recorded decisions that are open: a frame for the verbs, and what results say of the source.

    It is a context manager; verbs take it as they take a frame.

    Notes
    -----
    See docs/how-to/recorded-decisions.md
    """

    address: LogAddress
    reader: LogReader
    _frames: dict[tuple[str, ...] | None, Any] = field(default_factory=dict, repr=False)

    @property
    def columns(self) -> tuple[str, ...]:
        """The columns of the log."""
        return self.reader.columns

    @property
    def frame(self) -> Any:
        """All of it, as a frame of its engine, lazy where the engine is."""
        return self.frame_for(None)

    @property
    def fields(self) -> dict[str, Any]:
        """What results say of the source: where it is, and the engine that reads it."""
        table = {"source": self.address.shown, "engine": self.reader.engine}
        return {**table, **self.reader.fields()}

    def frame_for(self, names: Sequence[str] | None) -> Any:
        """Return a frame with at least these columns, made once."""
        if names is not None:
            names = list(dict.fromkeys(names))
            if not names or any(name not in self.columns for name in names):
                names = None  # whoever asked says what is wrong, among all columns
        key = None if names is None else tuple(names)
        if key not in self._frames:
            with self.guarded():
                self._frames[key] = self.reader.frame(key)
        return self._frames[key]

    def guarded(self) -> AbstractContextManager[None]:
        """Turn what the engine says into errors of one sentence, without anything secret."""
        return engine_errors(self.address, self.reader.engine)

    def close(self) -> None:
        """Close connections and sessions that were opened for this log."""
        self._frames.clear()
        self.reader.close()

    def __enter__(self) -> Log:
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        self.close()


@checked_keywords
def open_log(
    source: Any,
    *,
    table: str | None = None,
    query: str | None = None,
    engine: str | None = None,
) -> Log:
    """Open recorded decisions where they lie, for any verb that takes a log.

    Parameters
    ----------
    source
        A file (CSV, Parquet, JSON lines, Feather), a folder of Parquet files, a pattern such as
        ``"logs/2026-*.parquet"``, an address (``s3://``, ``gs://``, ``https://``), a DuckDB file, a
        database (``sqlite:///x.db``, ``postgresql://host/name``), a DB-API or ADBC connection, or a
        pyarrow dataset. The names of folders such as ``year=2026`` are columns.
    table, query
        What of a database is read; by default its only table.
    engine
        ``"duckdb"``, ``"polars"``, ``"pyarrow"``, ``"pandas"`` or ``"spark"``. By default pandas
        for a single CSV or Parquet file of up to 100 MB, and otherwise the first that is installed;
        of addresses polars comes first.

    Returns
    -------
    Log
        The open log, which is a context manager.

    Raises
    ------
    UsageError
        The engine or the kind of address is not known.
    DataError
        There is no such file or table, the columns of files differ, or a query fails.

    Notes
    -----
    See docs/how-to/recorded-decisions.md

    Examples
    --------
    >>> import evenhand as eh
    >>> import sqlite3
    >>> database = sqlite3.connect(":memory:")
    >>> _ = database.execute("CREATE TABLE loans (sex TEXT, granted INTEGER)")
    >>> rows = [("F", 1), ("F", 0), ("M", 1), ("M", 1)] * 100
    >>> _ = database.executemany("INSERT INTO loans VALUES (?, ?)", rows)
    >>> with eh.open_log(database, table="loans") as log:
    ...     found = eh.measure_log(log, outcome="granted", over="sex", limit=0.1)
    >>> database.close()
    >>> print(found.worst.estimate.value, found.log["counted_by"])
    0.5 sqlite3
    """
    if isinstance(source, Log):
        return source
    if hasattr(source, "cursor") and not isinstance(source, str | PathLike):
        return _of_connection(source, table, query, engine)
    if is_dataset(source):
        _refuse_query(table, query, "a pyarrow dataset")
        usual = (engines.DUCKDB, engines.POLARS, engines.PYARROW)
        found = engines.chosen(engine, usual, "reading a pyarrow dataset")
        address = LogAddress("pyarrow dataset", addresses.FILES)
        return Log(address, DatasetReader(source, found))
    if not isinstance(source, str | PathLike):
        raise UsageError(
            f"a {type(source).__name__} is not a log that can be opened; give a path, an address, a"
            " connection or a pyarrow dataset"
        )
    return opened(str(fspath(source)), table=table, query=query, engine=engine)


def opened(
    text: str,
    folder: Path | None = None,
    *,
    table: str | None = None,
    query: str | None = None,
    engine: str | None = None,
) -> Log:
    """Open the log that an address names, as seen from a folder."""
    if table is not None and query is not None:
        raise UsageError(
            "table and query cannot be combined; a query names its tables itself"
        )
    address = LogAddress.of(text, folder)
    what = f"reading '{address.shown}'"
    if address.kind == addresses.DUCKDB:
        engines.chosen(engine, (engines.DUCKDB,), what)
        with engine_errors(address, engines.DUCKDB):
            return Log(address, DuckdbReader(address, table, query))
    if address.kind == addresses.DATABASE:
        if address.scheme == "sqlite":
            need_file(address)
        return _of_database(
            connected(address), address, (table, query, engine), is_own=True
        )
    _refuse_query(table, query, f"'{address.shown}'")
    if address.kind == addresses.REMOTE:
        name = address.text
        form = addresses.form_of(name) or ("parquet" if name.endswith("/") else "")
        if not form:
            raise DataError(
                f"'{address.shown}' has no suffix that says what it is; it must be one of"
                f" {', '.join(addresses.FORMS)}, or end in / for a folder of Parquet files"
            )
        chosen = engines.chosen(engine, engines.OF_NETWORK, what)
        return Log(address, RemoteReader(address, form, chosen))
    return _of_files(address, engine, what)


def _of_files(address: LogAddress, engine: str | None, what: str) -> Log:
    path = Path(address.text)
    if engine is None and _is_small(path):
        return Log(address, SmallFileReader(address.text))
    files = log_files(address.text)
    if engine is None and OWN_COLUMNS & set(files.columns) and len(files.paths) == 1:
        return Log(address, SmallFileReader(address.text))
    chosen = engines.chosen(engine, engines.OF_FILES, what)
    return Log(address, FilesReader(files, chosen))


def _is_small(path: Path) -> bool:
    """Return whether a path is one CSV or Parquet file that pandas reads as a matter of course."""
    is_folder = path.is_dir() or (addresses.is_wild(str(path)) and not path.exists())
    other = addresses.form_of(path.name) in ("json", "feather")
    if is_folder or other:
        return False
    try:
        return path.stat().st_size <= SMALL
    except (OSError, ValueError):
        return False  # listing the files says why it cannot be read


def _of_connection(
    connection: Any, table: str | None, query: str | None, engine: str | None
) -> Log:
    """Return the log that a connection of the user's reads; that stays open."""
    if table is not None and query is not None:
        raise UsageError(
            "table and query cannot be combined; a query names its tables itself"
        )
    name = type(connection).__module__.partition(".")[0]
    address = LogAddress(name, addresses.DATABASE)
    return _of_database(connection, address, (table, query, engine), is_own=False)


def _of_database(
    connection: Any,
    address: LogAddress,
    wanted: tuple[str | None, str | None, str | None],
    *,
    is_own: bool,
) -> Log:
    table, query, engine = wanted
    try:
        if not engines.is_installed("pyarrow"):
            raise MissingExtra(f"reading '{address.shown}'", "sql")
        usual = engines.OF_FILES
        chosen = engines.chosen(engine, usual, f"reading '{address.shown}'")
        if chosen == engines.SPARK:
            raise UsageError(
                f"reading '{address.shown}' cannot be done with engine = 'spark';"
                f" {nearest('spark', usual)}"
            )
        database = Database(connection, address, query or "")
        database.choose(table)
    except BaseException:
        if is_own:
            connection.close()
        raise
    return Log(address, QueryReader(database, chosen, is_own=is_own))


def _refuse_query(table: str | None, query: str | None, what: str) -> None:
    for name, value in {"table": table, "query": query}.items():
        if value is not None:
            raise UsageError(f"{what} is no database, and has no {name}; leave it out")


def is_dataset(source: Any) -> bool:
    """Return whether something is a pyarrow dataset, without importing pyarrow."""
    kinds = [kind.__module__ for kind in type(source).__mro__]
    return "pyarrow._dataset" in kinds
