"""Files as frames of each engine, which stay where they are as far as the engine is lazy."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Any

from evenhand.population.logs.engines import DUCKDB, PANDAS, POLARS, PYARROW, SPARK
from evenhand.population.logs.files import log_files
from evenhand.runtime.errors import DataError
from evenhand.runtime.table_file import read_csv

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

    from evenhand.population.logs.files import LogFiles

LOOK = 100_000
"""How many rows a look takes."""


def frame_of(
    engine: str, files: LogFiles, session: Any, names: Sequence[str] | None
) -> Any:
    """Return files as a frame of an engine; of eager ones, only the named columns.

    `session` is the connection of DuckDB or the session of Spark.
    """
    readers: dict[str, Callable[[], Any]] = {
        DUCKDB: lambda: _duckdb(files, session),
        POLARS: lambda: _polars(files),
        PYARROW: lambda: _pyarrow(files, names),
        PANDAS: lambda: _pandas(files, names),
        SPARK: lambda: _spark(files, session),
    }
    return readers[engine]()


def _duckdb(files: LogFiles, connection: Any) -> Any:
    paths = list(files.paths)
    if files.form == "parquet":
        kinds = {"whole": "BIGINT", "text": "VARCHAR"}
        types = {name: kinds[kind] for name, kind in files.partitions.items()}
        if types:
            named = ", ".join(f"{_quoted(name)}: {kind}" for name, kind in types.items())
            hive = f"hive_partitioning = true, hive_types = {{{named}}}"
        else:
            hive = "hive_partitioning = false"
        return connection.sql(f"FROM read_parquet($paths, {hive})", params={"paths": paths})
    if files.form == "csv":
        return connection.read_csv(
            paths,
            header=True,
            sep=",",
            quotechar='"',
            escapechar='"',
            auto_detect=False,
            columns=dict.fromkeys(files.columns, "VARCHAR"),
        )
    if files.form == "json":
        return _duckdb_json(paths, connection)
    return connection.from_arrow(_dataset(files))


def _duckdb_json(paths: list[str], connection: Any) -> Any:
    """Return lines of JSON, of which texts that look like days or marks stay texts."""
    options = "format = 'newline_delimited', sample_size = -1"
    query = f"FROM read_json($paths, {options}"
    found = connection.sql(f"{query})", params={"paths": paths})
    plain = ("BIGINT", "DOUBLE", "BOOLEAN", "VARCHAR", "HUGEINT", "UBIGINT")
    types = {}
    for name, kind in zip(found.columns, map(str, found.types), strict=True):
        types[name] = kind if kind in plain else "VARCHAR"
    named = ", ".join(f"{_quoted(name)}: '{kind}'" for name, kind in types.items())
    return connection.sql(f"{query}, columns = {{{named}}})", params={"paths": paths})


def _quoted(name: str) -> str:
    """Return a name as a key of a struct of DuckDB."""
    doubled = name.replace("'", "''")
    return f"'{doubled}'"


def _polars(files: LogFiles) -> Any:
    import polars as pl

    paths = list(files.paths)
    if files.form == "parquet":
        if not files.partitions:
            return pl.scan_parquet(paths, hive_partitioning=False)
        kinds = {"whole": pl.Int64, "text": pl.String}
        types: Any = {name: kinds[kind] for name, kind in files.partitions.items()}
        return pl.scan_parquet(paths, hive_partitioning=True, hive_schema=types)
    if files.form == "csv":
        return pl.scan_csv(paths, infer_schema=False)
    if files.form == "json":
        return pl.scan_ndjson(paths, infer_schema_length=None)
    return pl.scan_ipc(paths)


def _dataset(files: LogFiles) -> Any:
    import pyarrow as pa
    from pyarrow import dataset

    kinds = {"whole": pa.int64(), "text": pa.string()}
    fields = [(name, kinds[kind]) for name, kind in files.partitions.items()]
    partitioning = (
        dataset.partitioning(pa.schema(fields), flavor="hive") if fields else None
    )
    return dataset.dataset(
        list(files.paths),
        format=files.form,
        partitioning=partitioning,
        partition_base_dir=files.base or None,
    )


def _pyarrow(files: LogFiles, names: Sequence[str] | None) -> Any:
    import pyarrow as pa

    columns = None if names is None else list(names)
    if files.form in ("parquet", "feather"):
        return _dataset(files).to_table(columns=columns)
    if files.form == "json":
        return pa.Table.from_pandas(_pandas(files, names), preserve_index=False)
    from pyarrow import csv

    convert = csv.ConvertOptions(
        column_types=dict.fromkeys(files.columns, pa.string()),
        strings_can_be_null=True,
        null_values=[""],
        include_columns=columns,
    )
    tables = [csv.read_csv(path, convert_options=convert) for path in files.paths]
    return pa.concat_tables(tables)


def _pandas(files: LogFiles, names: Sequence[str] | None) -> Any:
    import pandas as pd

    columns = None if names is None else list(names)
    if files.form in ("parquet", "feather"):
        return _dataset(files).to_table(columns=columns).to_pandas(ignore_metadata=True)
    frames = []
    for path in files.paths:
        if files.form == "csv":
            options: Any = {"dtype": str, "keep_default_na": False, "na_values": [""]}
            frames.append(
                pd.read_csv(path, encoding="utf-8-sig", usecols=columns, **options)
            )
        else:
            frames.append(pd.read_json(path, lines=True, dtype=False))
    found = pd.concat(frames, ignore_index=True)
    return found if columns is None else found[columns]


def _spark(files: LogFiles, session: Any) -> Any:
    paths = [f"file://{Path(path).resolve()}" for path in files.paths]
    if files.form == "csv":
        reader = session.read.option("header", "true").option("escape", '"')
        return reader.csv(paths)
    if files.form == "json":
        return session.read.json(paths)
    if files.form == "feather":
        raise DataError(
            f"'{files.paths[0]}' is a Feather file, which Spark does not read; write Parquet, or"
            " choose another engine"
        )
    if not files.partitions:
        return session.read.parquet(*paths)
    base = f"file://{Path(files.base).resolve()}"
    found = session.read.option("basePath", base).parquet(*paths)
    for name, kind in files.partitions.items():
        wanted = "bigint" if kind == "whole" else "string"
        found = found.withColumn(name, found[name].cast(wanted))
    return found


def remote_frame(engine: str, address: str, form: str, session: Any) -> Any:
    """Return files on a network as a frame of an engine, which understands patterns itself."""
    if engine == DUCKDB:
        return _duckdb_remote(address, form, session)
    if engine == POLARS:
        return _polars_remote(address, form)
    if engine == SPARK:
        reader = session.read.option("header", "true").option("escape", '"')
        return reader.format({"feather": "arrow"}.get(form, form)).load(address)
    if engine == PYARROW and form == "parquet":
        from pyarrow import dataset

        return dataset.dataset(address, format="parquet", partitioning="hive").to_table()
    return _pandas_remote(address, form)


def _duckdb_remote(address: str, form: str, connection: Any) -> Any:
    if form == "csv":
        return connection.sql(
            "FROM read_csv($path, all_varchar = true)", params={"path": address}
        )
    if form == "json":
        return _duckdb_json([address], connection)
    place = f"{address}**/*.parquet" if address.endswith("/") else address
    return connection.sql("FROM read_parquet($path)", params={"path": place})


def _polars_remote(address: str, form: str) -> Any:
    import polars as pl

    if form == "csv":
        return pl.scan_csv(address, infer_schema=False)
    if form == "json":
        return pl.scan_ndjson(address, infer_schema_length=None)
    if form == "feather":
        return pl.scan_ipc(address)
    return pl.scan_parquet(address)


def _pandas_remote(address: str, form: str) -> Any:
    import pandas as pd

    if form == "csv":
        return pd.read_csv(address, dtype=str, keep_default_na=False, na_values=[""])
    if form == "json":
        return pd.read_json(address, lines=True, dtype=False)
    if form == "feather":
        return pd.read_feather(address)
    return pd.read_parquet(address)


def first_rows(path: Path) -> Any:
    """Return the first rows of the files that a path names, as a pandas frame: a look at them."""
    import pandas as pd

    files = log_files(str(path))
    if files.form in ("parquet", "feather"):
        rows = _dataset(files).head(LOOK)
        return rows.select(list(files.every_column)).to_pandas(ignore_metadata=True)
    if files.form == "csv":
        return read_csv(files.paths[0], nrows=LOOK)
    return pd.read_json(files.paths[0], lines=True, dtype=False, nrows=LOOK)
