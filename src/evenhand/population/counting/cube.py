"""Cubes: how many rows there are of each combination of some columns, and sums over the others."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

import numpy as np

from evenhand.population.counting.engines import group_counts

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from evenhand.population.cuts import Cuts


@dataclass(frozen=True, eq=False)
class RowCube:
    """The number of rows of each combination of some columns, as the engine counted them.

    Columns that are cut hold the numbers of their groups.

    >>> import narwhals as nw
    >>> import pandas as pd
    >>> counted = pd.DataFrame({"sex": ["F", "F"], "ok": [0, 1], "sex ok rows": [2, 3]})
    >>> cube = RowCube(nw.from_native(counted, eager_only=True))
    >>> cube.rows, cube.over(["sex"]).rows_by("sex")
    (5, {'F': 5})
    """

    cells: Any
    """An eager frame, whose last column is the number of rows."""
    cuts: Mapping[str, Cuts] = field(default_factory=dict)

    @property
    def names(self) -> tuple[str, ...]:
        """The columns by which rows are counted."""
        return tuple(self.cells.columns[:-1])

    @property
    def sizes(self) -> Any:
        """The number of rows of each combination."""
        return np.array(self.cells[self.cells.columns[-1]].to_list(), dtype=np.int64)

    @property
    def rows(self) -> int:
        """How many rows there are in all."""
        return int(self.sizes.sum())

    def rows_by(self, name: str) -> dict[Any, int]:
        """Return the number of rows by the values of a column, whose cells must differ in it."""
        values = self.cells[name].to_list()
        return dict(zip(values, self.sizes.tolist(), strict=True))

    def covers(self, names: Sequence[str], cuts: Mapping[str, Cuts]) -> bool:
        """Return whether these columns were counted, and cut alike."""
        return all(
            name in self.names and self.cuts.get(name) == cuts.get(name) for name in names
        )

    def over(self, names: Sequence[str]) -> RowCube:
        """Return the cube of some of the columns: sums over all others."""
        if tuple(names) == self.names:
            return self
        size = self.cells.columns[-1]
        summed = group_counts(self.cells, names, sums=[size])
        kept = summed.select(*names, size)
        cuts = {name: cut for name, cut in self.cuts.items() if name in names}
        return RowCube(kept, cuts)

    def distinct(self, name: str) -> int:
        """Return how many different values a column has; what is missing is one of them."""
        return int(self.cells[name].n_unique())

    def missing(self, name: str) -> int:
        """Return how many rows have no value in a column."""
        column = self.cells[name]
        absent = column.is_null()
        if column.dtype.is_float():
            absent = absent | column.is_nan()
        is_absent = np.array(absent.to_list(), dtype=np.bool_)
        return int(self.sizes[is_absent].sum())
