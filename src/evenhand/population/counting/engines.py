"""What is asked of the engine of a frame, in the form that each engine does fastest.

Every function takes a narwhals frame, eager or lazy, and returns eager ones, which hold cells or
few rows.
"""

from __future__ import annotations

import itertools
import warnings
from contextlib import contextmanager
from typing import TYPE_CHECKING, Any

from evenhand.runtime.errors import DataError, MissingExtra, clip

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Mapping, Sequence


def collected(table: Any) -> Any:
    """Return a frame with its rows in memory; polars computes them in batches."""
    import narwhals as nw

    lazy = table.lazy()
    if lazy.implementation is nw.Implementation.POLARS:
        return lazy.collect(engine="streaming")
    return lazy.collect()


@contextmanager
def wide_frames_allowed() -> Iterator[None]:
    """Keep pandas from complaining of what narwhals does to frames of over a hundred columns."""
    with warnings.catch_warnings():
        warnings.filterwarnings("ignore", "DataFrame is highly fragmented")
        yield


def first_rows(table: Any, names: Iterable[str], most: int) -> Any:
    """Return some columns of the first rows."""
    return collected(headed(table.select(*dict.fromkeys(names)), most))


def headed(table: Any, most: int) -> Any:
    """Return the frame of the first rows; Dask takes them from its first partition alone."""
    import narwhals as nw

    if not is_in_parts(table):
        return table.head(most)
    native = nw.to_native(table)
    return nw.from_native(native.partitions[0]).head(most)


def is_in_parts(table: Any) -> bool:
    """Return whether the first rows are those of one of several partitions of Dask."""
    import narwhals as nw

    if table.implementation is not nw.Implementation.DASK:
        return False
    return bool(nw.to_native(table).npartitions > 1)


def is_in_memory(table: Any) -> bool:
    """Return whether the rows of a frame are in memory already."""
    import narwhals as nw

    return not isinstance(table, nw.LazyFrame)


def group_counts(
    table: Any,
    keys: Sequence[str],
    *,
    sums: Sequence[str] = (),
    most: int | None = None,
) -> Any:
    """Return the number of rows of each combination of some columns, in the last column.

    The sums of other columns come before it; of the combinations, at most so many are returned.
    """
    return collected(_grouped(table, keys, sums, most))


def _grouped(table: Any, keys: Sequence[str], sums: Sequence[str], most: int | None) -> Any:
    import narwhals as nw

    if is_in_memory(table) and table.implementation is nw.Implementation.POLARS:
        table = table.lazy()
    totals = [nw.col(name).sum() for name in sums]
    with wide_frames_allowed():
        groups = table.group_by(*keys).agg(*totals, nw.len().alias(rows_name(keys)))
    return groups if most is None else groups.head(most)


def rows_name(keys: Sequence[str]) -> str:
    """Return a name for the number of rows, which is none of the keys."""
    return " ".join([*keys, "rows"])


def counts_of_sets(
    table: Any, sets: Sequence[Sequence[str]], most: int | None = None
) -> list[Any]:
    """Return the number of rows of each combination of each set of columns, in one scan if it can.

    DuckDB counts them as grouping sets, polars with a scan that they share, and other engines one
    after the other.
    """
    import narwhals as nw

    if len(sets) > 1 and table.implementation is nw.Implementation.DUCKDB:
        return _grouping_sets(table, sets, most)
    queries = [_grouped(table, keys, (), most) for keys in sets]
    if len(sets) > 1 and table.implementation is nw.Implementation.POLARS:
        return together(queries)
    return [collected(query) for query in queries]


def together(queries: Sequence[Any]) -> list[Any]:
    """Return the rows of several queries of polars, which share what they have in common."""
    import narwhals as nw
    import polars as pl

    native = [nw.to_native(query) for query in queries]
    frames = pl.collect_all(native, engine="streaming")
    return [nw.from_native(frame, eager_only=True) for frame in frames]


def _grouping_sets(
    table: Any, sets: Sequence[Sequence[str]], most: int | None
) -> list[Any]:
    """Count the rows of all sets in one scan of DuckDB."""
    import narwhals as nw
    import pyarrow.compute as pc

    names = list(dict.fromkeys(itertools.chain.from_iterable(sets)))
    # Under names of their own, which need no quotes.
    plain = {name: f"k{place}" for place, name in enumerate(names)}
    columns = [nw.col(name).alias(plain[name]) for name in names]
    relation = nw.to_native(table.select(*columns))
    keys = ", ".join(plain.values())
    grouped = []
    for of_set in sets:
        own = ", ".join([plain[name] for name in of_set])
        grouped.append(f"({own})")
    groups = ", ".join(grouped)
    counted = relation.aggregate(
        f"{keys}, grouping({keys}) as which, count(*) as n", f"grouping sets ({groups})"
    ).to_arrow_table()
    found = []
    for of_set in sets:
        # A bit for each column that is not in the set, the first column the highest.
        bits = "".join("0" if name in of_set else "1" for name in names)
        cells = counted.filter(pc.equal(counted["which"], int(bits, 2)))
        cells = cells.select([*(plain[name] for name in of_set), "n"])
        cells = cells.rename_columns([*of_set, rows_name(of_set)])
        if most is not None:
            cells = cells.slice(0, most)
        found.append(nw.from_native(cells, eager_only=True))
    return found


def opened(frame: Any) -> Any:
    """Return a pyarrow dataset as a lazy frame of DuckDB or polars, anything else as it is."""
    if not type(frame).__module__.startswith("pyarrow._dataset"):
        return frame
    try:
        import duckdb

        return duckdb.from_arrow(frame)
    except ImportError:
        pass
    try:
        import polars as pl
    except ImportError:
        raise MissingExtra("counting a pyarrow dataset", "duckdb") from None
    return pl.scan_pyarrow_dataset(frame)


def engine_errors() -> tuple[type[Exception], ...]:
    """Return what is raised where columns cannot be grouped, by the engines that are loaded."""
    import sys

    found: list[type[Exception]] = [TypeError]
    # Of DuckDB's, only what types are to blame for: a damaged file is another matter.
    wanted: Mapping[str, Sequence[str]] = {
        "duckdb": ("BinderException", "ConversionException", "NotSupportedError"),
        "polars.exceptions": ("PolarsError",),
        "pyspark.errors": ("PySparkException",),
        "pyarrow.lib": ("ArrowException",),
    }
    for module, names in wanted.items():
        loaded = sys.modules.get(module)
        if loaded is not None:
            found += [getattr(loaded, name) for name in names]
    return tuple(found)


def refuse_keys(keys: Sequence[str], error: Exception) -> DataError:
    """Return the error of columns that an engine cannot group."""
    return DataError(
        f"the columns {', '.join(keys)} cannot be grouped ({clip(str(error))})"
    )
