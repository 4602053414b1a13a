"""The engines that read logs: which there are, and which is taken."""

from __future__ import annotations

from importlib.util import find_spec
from typing import TYPE_CHECKING

from evenhand.runtime.errors import MissingExtra, UsageError, clip, nearest

if TYPE_CHECKING:
    from collections.abc import Sequence

DUCKDB = "duckdb"
POLARS = "polars"
PYARROW = "pyarrow"
PANDAS = "pandas"
SPARK = "spark"
ENGINES = (DUCKDB, POLARS, PYARROW, PANDAS, SPARK)
OF_FILES = (DUCKDB, POLARS, PYARROW, PANDAS)
"""What is taken for files, the first that is installed."""
OF_NETWORK = (POLARS, DUCKDB, PYARROW, PANDAS)
"""The same for addresses: DuckDB may have to fetch an extension first."""
_MODULES = {SPARK: "pyspark"}
_EXTRAS = {PYARROW: "arrow"}


def is_installed(engine: str) -> bool:
    """Return whether an engine can be imported.

    >>> is_installed("pandas")
    True
    """
    return find_spec(_MODULES.get(engine, engine)) is not None


def chosen(engine: str | None, usual: Sequence[str], what: str) -> str:
    """Return the engine that is asked for, or the first usual one that is installed.

    >>> chosen("duckbd", OF_FILES, "reading 'x'")  # doctest: +ELLIPSIS
    Traceback (most recent call last):
    evenhand.runtime.errors.UsageError: engine = 'duckbd' is not known; did you mean 'duckdb'? ...
    """
    if engine is None:
        for name in usual:
            if is_installed(name):
                return name
        return usual[-1]
    if engine not in ENGINES:
        raise UsageError(
            f"engine = {clip(repr(engine))} is not known; {nearest(engine, ENGINES)}"
        )
    if engine not in (*usual, SPARK):
        raise UsageError(
            f"{what} cannot be done with engine = {engine!r}; {nearest(engine, usual)}"
        )
    if not is_installed(engine):
        raise MissingExtra(f"{what} with {engine}", _EXTRAS.get(engine, engine))
    return engine
