"""What reads files: one by pandas, many by an engine, those on a network, and datasets."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from evenhand.population.logs import engines
from evenhand.population.logs.csv_types import with_types
from evenhand.population.logs.readers import frame_of, remote_frame
from evenhand.population.logs.sessions import Sessions
from evenhand.runtime.table_file import read_frame

if TYPE_CHECKING:
    from collections.abc import Sequence

    from evenhand.population.logs.address import LogAddress
    from evenhand.population.logs.files import LogFiles


class SmallFileReader:
    """One file that fits into memory, read by pandas."""

    engine = engines.PANDAS

    def __init__(self, path: str) -> None:
        self._frame: Any = read_frame(path)
        self.columns = tuple(map(str, self._frame.columns))

    def frame(self, names: Sequence[str] | None) -> Any:
        """Return all of it."""
        return self._frame

    def fields(self) -> dict[str, Any]:
        """Return that this is one file."""
        return {"files": 1}

    def close(self) -> None:
        """Nothing is open."""


class FilesReader:
    """The files of a log, read by an engine."""

    def __init__(self, files: LogFiles, engine: str) -> None:
        self.files = files
        self.engine = engine
        self._sessions = Sessions(engine)
        self._columns = files.every_column

    @property
    def columns(self) -> tuple[str, ...]:
        """The columns; JSON lines tell theirs once they are read."""
        if not self._columns:
            self._columns = _columns_of(self._native(None))
        return self._columns

    def frame(self, names: Sequence[str] | None) -> Any:
        """Return the rows, in columns of one order for all engines."""
        import narwhals as nw

        table = nw.from_native(self._native(names))
        wanted = list(self.columns if names is None else names)
        if self.files.form == "csv":
            return with_types(table, wanted).to_native()
        return table.select(wanted).to_native()

    def _native(self, names: Sequence[str] | None) -> Any:
        return frame_of(self.engine, self.files, self._sessions.session(), names)

    def fields(self) -> dict[str, Any]:
        """Return how many files there are."""
        return {"files": len(self.files.paths)}

    def close(self) -> None:
        """Close the connection or session."""
        self._sessions.close()


def _columns_of(frame: Any) -> tuple[str, ...]:
    import narwhals as nw

    return tuple(nw.from_native(frame).collect_schema())


class RemoteReader:
    """Files that an engine reads over a network, by the names that it understands itself."""

    def __init__(self, address: LogAddress, form: str, engine: str) -> None:
        self.address = address
        self.form = form
        self.engine = engine
        self._sessions = Sessions(engine)
        self._native: Any = None
        self._columns: tuple[str, ...] = ()

    @property
    def columns(self) -> tuple[str, ...]:
        """The columns, which the engine is asked for."""
        if not self._columns:
            self._columns = _columns_of(self._read())
        return self._columns

    def _read(self) -> Any:
        if self._native is None:
            session = self._sessions.session()
            self._native = remote_frame(self.engine, self.address.text, self.form, session)
        return self._native

    def frame(self, names: Sequence[str] | None) -> Any:
        """Return the rows."""
        import narwhals as nw

        wanted = list(self.columns if names is None else names)
        table = nw.from_native(self._read())
        if self.form == "csv":
            return with_types(table, wanted).to_native()
        return table.select(wanted).to_native()

    def fields(self) -> dict[str, Any]:
        """Return nothing: how many files there are only the engine knows."""
        return {}

    def close(self) -> None:
        """Close the connection or session."""
        self._native = None
        self._sessions.close()


class DatasetReader:
    """A pyarrow dataset, which a lazy engine reads where one is installed."""

    def __init__(self, dataset: Any, engine: str) -> None:
        self.dataset = dataset
        self.engine = engine
        self.columns = tuple(dataset.schema.names)
        self._sessions = Sessions(engine)

    def frame(self, names: Sequence[str] | None) -> Any:
        """Return the dataset as a frame."""
        if self.engine == engines.DUCKDB:
            return self._sessions.session().from_arrow(self.dataset)
        if self.engine == engines.POLARS:
            import polars as pl

            return pl.scan_pyarrow_dataset(self.dataset)
        return self.dataset.to_table(columns=None if names is None else list(names))

    def fields(self) -> dict[str, Any]:
        """Return how many files the dataset has."""
        files = getattr(self.dataset, "files", None)
        return {} if files is None else {"files": len(files)}

    def close(self) -> None:
        """Close the connection."""
        self._sessions.close()
