"""What the first rows of a frame say of its columns, before all rows are counted."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from evenhand.population.counting.engines import collected, headed, is_in_parts

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

LOOK = 10_000
"""How many rows are looked at."""


@dataclass(frozen=True, slots=True)
class FirstRows:
    """How many different values some columns have in the first rows, which the engine counts.

    >>> import narwhals as nw
    >>> import pandas as pd
    >>> table = nw.from_native(pd.DataFrame({"sex": ["F", None, "F"], "score": [0.5, 1.0, 2.0]}))
    >>> FirstRows.of(table, ["sex", "score"])
    FirstRows(rows=3, distinct={'sex': 2, 'score': 3}, fractions=frozenset({'score'}), are_all=True)
    """

    rows: int
    distinct: Mapping[str, int]
    """The different values of each column; what is missing is one of them."""
    fractions: frozenset[str]
    """The columns of numbers that are not all whole."""
    are_all: bool = True
    """Whether there are no other rows."""

    @classmethod
    def of(cls, table: Any, names: Sequence[str], most: int = LOOK) -> FirstRows:
        """Look at some columns of the first rows."""
        import narwhals as nw

        schema = table.collect_schema()
        names = list(dict.fromkeys(names))
        floats = [name for name in names if schema[name].is_float()]
        # Under names of their own, since a name of the user's may be that of anything.
        asked: list[Any] = [nw.len().alias("rows")]
        for place, name in enumerate(names):
            asked.append(nw.col(name).n_unique().alias(f"distinct {place}"))
        for place, name in enumerate(floats):
            asked.append(has_fraction(name).alias(f"fraction {place}"))
        first = headed(table.select(*names), most)
        found = collected(first.select(*asked))
        distinct = {}
        for place, name in enumerate(names):
            distinct[name] = int(found[f"distinct {place}"].to_list()[0] or 0)
        fractions = set()
        for place, name in enumerate(floats):
            if found[f"fraction {place}"].to_list()[0]:
                fractions.add(name)
        rows = int(found["rows"].to_list()[0])
        are_all = rows < most and not is_in_parts(table)
        return cls(rows, distinct, frozenset(fractions), are_all)


def has_fraction(name: str) -> Any:
    """Return whether some number of a column is not whole, as an expression."""
    import narwhals as nw

    column = nw.col(name)
    # Engines differ in how NaN compares with a number.
    is_broken = (column != column.round(0)) & ~column.is_null() & ~column.is_nan()
    return is_broken.any()
