"""Kinds of rows with their numbers, as a frame that has all rows again without holding them.

A database has counted how many rows there are of each kind. An engine repeats them as it reads, in
blocks, so that verbs count and sum as they do anywhere else, and memory does not grow with rows.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np

from evenhand.population.logs.database import ROWS
from evenhand.population.logs.engines import DUCKDB, POLARS

if TYPE_CHECKING:
    from numpy.typing import NDArray

BLOCK = 2048
"""The most rows that are repeated at once."""


def repeated(kinds: Any, engine: str, connection: Any = None) -> Any:
    """Return a frame with each row of an Arrow table as often as its last column says.

    >>> import pyarrow as pa
    >>> kinds = pa.table({"sex": ["F", "M"], ROWS: [3, 1]})
    >>> repeated(kinds, "pandas")["sex"].tolist()
    ['F', 'F', 'F', 'M']
    """
    numbers = kinds[ROWS].to_numpy().astype(np.int64)
    names = [name for name in kinds.column_names if name != ROWS]
    if engine not in (DUCKDB, POLARS):
        rows = kinds.select(names).take(np.repeat(np.arange(len(numbers)), numbers))
        return rows.to_pandas() if engine == "pandas" else rows
    places, sizes = _blocks(numbers)
    blocks = kinds.select(names).take(places).append_column(ROWS, [sizes])
    if engine == DUCKDB:
        return _in_duckdb(blocks, names, connection)
    return _in_polars(blocks, names)


def _blocks(numbers: NDArray[np.int64]) -> tuple[NDArray[np.int64], NDArray[np.int64]]:
    """Return which kind each block is of, and how many rows it has.

    >>> [array.tolist() for array in _blocks(np.array([2049, 5]))]
    [[0, 0, 1], [2048, 1, 5]]
    """
    each = -(-numbers // BLOCK)
    places = np.repeat(np.arange(len(numbers)), each)
    sizes = np.full(len(places), BLOCK)
    is_some = each > 0
    last = np.cumsum(each)[is_some] - 1
    sizes[last] = (numbers - (each - 1) * BLOCK)[is_some]
    return places, sizes


def _in_duckdb(blocks: Any, names: list[str], connection: Any) -> Any:
    columns = ", ".join(_quoted(name) for name in names)
    connection.register("kinds", blocks)
    repeated_rows = f"SELECT {columns}, unnest(range({_quoted(ROWS)})) FROM kinds"  # noqa: S608
    return connection.sql(f"SELECT {columns} FROM ({repeated_rows})")  # noqa: S608


def _quoted(name: str) -> str:
    doubled = name.replace('"', '""')
    return f'"{doubled}"'


def _in_polars(blocks: Any, names: list[str]) -> Any:
    import polars as pl

    frame: Any = pl.from_arrow(blocks)
    place = pl.int_ranges(0, pl.col(ROWS)).alias(ROWS)
    return frame.lazy().with_columns(place).explode(ROWS).select(names)
