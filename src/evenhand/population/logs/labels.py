"""Labels as a command line or a configuration writes them, in the columns of a log."""

from __future__ import annotations

from typing import Any

from evenhand.population.recorded import label_written, table_of
from evenhand.runtime.values import parse_outcome


def label_in(frame: Any, column: str, text: Any) -> Any:
    """Return the label of a column that is written like this, by the type of the column.

    Only columns without a type of their own are read.

    >>> import polars as pl
    >>> frame = pl.LazyFrame({"paid": ["0", "1"], "age": [30, 40]})
    >>> label_in(frame, "paid", "1"), label_in(frame, "age", "40")
    ('1', 40)
    """
    import narwhals as nw
    import pandas as pd

    if isinstance(frame, pd.DataFrame):
        return label_written(frame, column, text)
    table = table_of(frame)
    schema = table.collect_schema()
    if text is None or column not in schema:
        return text
    kind = schema[column]
    if kind.is_numeric() or kind == nw.Boolean:
        return _parsed(text)
    if kind in (nw.String, nw.Categorical, nw.Enum):
        return str(text)
    values = table.select(nw.col(column).unique()).lazy().collect()
    return label_written(values.to_pandas(), column, text)


def _parsed(text: Any) -> Any:
    """Return a number or a truth value; Python writes True where JSON has true."""
    if isinstance(text, str):
        return {"True": True, "False": False}.get(text, parse_outcome(text))
    return text
