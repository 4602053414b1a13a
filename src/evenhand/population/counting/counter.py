"""RowCounter: one pass over recorded decisions for all sets of columns that are compared."""

from __future__ import annotations

import math
from contextlib import suppress
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

from evenhand.population.counting import messages
from evenhand.population.counting.cube import RowCube
from evenhand.population.counting.engines import (
    collected,
    counts_of_sets,
    engine_errors,
    is_in_memory,
    opened,
    refuse_keys,
)
from evenhand.population.counting.first_rows import FirstRows
from evenhand.population.cuts import cut_columns
from evenhand.population.recorded import (
    MOST_VALUES,
    columns_of_sets,
    in_words,
    number_missing,
    number_of_rows,
    table_of,
    too_varied,
    with_truth,
)
from evenhand.runtime import number_text
from evenhand.runtime.errors import DataError, EvenhandError, UsageError

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping, Sequence

    from evenhand.population.cuts import Cuts

MOST_TOGETHER = 20_000
"""The most cells that the values of all columns may make for them to be counted together."""
MOST_CELLS = 2_000_000
"""The most cells that are read into memory."""


@dataclass(frozen=True, eq=False)
class CountedSets:
    """The cells of each set of columns, with the words of groups where columns are cut."""

    cells: Sequence[Any]
    cubes: Sequence[RowCube]


@dataclass(eq=False)
class RowCounter:
    """A frame of recorded decisions, which is read once, and what was counted of it.

    >>> import pandas as pd
    >>> people = pd.DataFrame({"sex": ["F", "M", "M"], "ok": [0, 1, 1]})
    >>> counter = RowCounter.of(people)
    >>> counter.counted([("sex", "ok"), ("ok",)]).cubes[1].rows_by("ok")
    {0: 1, 1: 2}
    >>> counter.rows
    3
    """

    table: Any
    together: tuple[str, ...] = ()
    """Columns that are wanted later, and counted with the first ones."""
    bins: Mapping[str, Any] = field(default_factory=dict)
    """How the columns that are wanted later are cut."""
    cubes: list[RowCube] = field(default_factory=list)
    looks: dict[tuple[str, ...], FirstRows] = field(default_factory=dict)

    @classmethod
    def of(cls, frame: Any) -> RowCounter:
        """Return the counter of any dataframe, or the counter itself."""
        if isinstance(frame, RowCounter):
            return frame
        return cls(table_of(opened(frame)))

    def first(self, names: Iterable[str]) -> FirstRows:
        """Return what the first rows say of some columns."""
        wanted = tuple(dict.fromkeys(names))
        for known, look in self.looks.items():
            if set(wanted) <= set(known):
                return look
        try:
            look = FirstRows.of(self.table, wanted)
        except engine_errors() as error:
            raise refuse_keys(wanted, error) from None
        self.looks[wanted] = look
        return look

    def counted(
        self,
        sets: Sequence[Sequence[str]],
        cuts: Mapping[str, Cuts] | None = None,
        *,
        table: Any = None,
    ) -> CountedSets:
        """Count the rows by each set of columns, in one pass where that can be.

        Parameters
        ----------
        sets
            The columns of each set, the outcome and the truth among them.
        cuts
            How columns are cut.
        table
            The frame, where it has other columns than the counter's.
        """
        cut_of = cuts or {}
        new = [names for names in sets if self._known(names, cut_of) is None]
        if new:
            self._count(new, cut_of, self.table if table is None else table)
        cubes = []
        cells = []
        for names in sets:
            known = self._known(names, cut_of)
            assert known is not None  # it was just counted
            cubes.append(known.over(names))
            used = [cut_of[name] for name in names if name in cut_of]
            cells.append(in_words(cubes[-1].cells, used))
        return CountedSets(cells, cubes)

    def decisions(
        self,
        sets: Sequence[tuple[str, ...]],
        outcome: str,
        truth: str | None,
        bins: Mapping[str, Any],
        advice: str = "",
    ) -> Sequence[Any]:
        """Return the cells of each set by outcome and truth; refuse columns of many numbers.

        The advice is for outcomes of many numbers.
        """
        names = columns_of_sets(sets)
        table, cuts = cut_columns(self.table, bins, names)
        schema = self.table.collect_schema()
        uncut = [name for name in names if name not in cuts and schema[name].is_numeric()]
        of_outcome = [outcome] if schema[outcome].is_numeric() else []
        self.first([*names, outcome, *([truth] if truth else [])])
        self.check_variety(uncut)
        self.check_variety(of_outcome, advice)
        keys = [(*of_set, outcome) for of_set in with_truth(sets, truth)]
        found = self.counted(keys, cuts, table=table)
        self.check_counted(found.cubes, uncut)
        self.check_counted(found.cubes, of_outcome, advice)
        return found.cells

    def values(self, name: str) -> list[Any]:
        """Return the different values of a column, but for what is missing."""
        import narwhals as nw

        cube = self.cube_with(name)
        if cube is not None:
            return list(cube.over([name]).cells[name].drop_nulls().to_list())
        column = self.table.lazy().select(nw.col(name)).unique()
        return list(collected(column)[name].drop_nulls().to_list())

    def cube_with(self, name: str) -> RowCube | None:
        """Return a cube that was counted by a column, None where there is none."""
        return self._known([name], {})

    def _known(self, names: Sequence[str], cuts: Mapping[str, Cuts]) -> RowCube | None:
        for cube in self.cubes:
            if cube.covers(names, cuts):
                return cube
        return None

    def _count(
        self, sets: Sequence[Sequence[str]], cuts: Mapping[str, Cuts], table: Any
    ) -> None:
        """Count all columns together, or where they make too many cells each set by itself."""
        import narwhals as nw

        names = columns_of_sets(sets)
        later, later_cuts, table = self._later(names, cuts, table)
        every = (*names, *later)
        cut_of = {**cuts, **later_cuts}
        if not self._few(every, cut_of):
            every = names
        is_one = any(set(keys) == set(every) for keys in sets)
        groups = [every] if is_one or self._few(every, cut_of) else list(sets)
        columns = []
        for name in columns_of_sets(groups):
            column = cut_of[name].code().alias(name) if name in cut_of else nw.col(name)
            columns.append(column)
        most = MOST_CELLS + 1
        try:
            found = counts_of_sets(table.select(*columns), groups, most)
        except engine_errors() as error:
            raise refuse_keys(names, error) from None
        for cells in found:
            if not len(cells):
                raise DataError(messages.NO_ROWS)
            if len(cells) >= most:
                columns_text = ", ".join(cells.columns[:-1])
                most_text = number_text.count(MOST_CELLS)
                raise UsageError(
                    messages.TOO_MANY_CELLS.format(columns=columns_text, most=most_text)
                )
            of_cells = {name: cut_of[name] for name in cells.columns if name in cut_of}
            self.cubes.append(RowCube(cells, of_cells))

    def _later(
        self, names: Sequence[str], cuts: Mapping[str, Cuts], table: Any
    ) -> tuple[tuple[str, ...], Mapping[str, Cuts], Any]:
        """Return the columns that are wanted later, how they are cut, and the frame with them."""
        later = tuple(name for name in self.together if name not in names)
        bins = {name: given for name, given in self.bins.items() if name in later}
        try:
            table, cut_of = cut_columns(table, bins, later)
        except EvenhandError:  # which the check that wants them tells
            return (), {}, table
        schema = table.collect_schema()
        uncut = [name for name in later if name not in cut_of and schema[name].is_numeric()]
        look = self.first([*names, *later])
        later = tuple(
            name
            for name in later
            if name not in uncut or look.distinct[name] <= MOST_VALUES
        )
        return later, cut_of, table

    def _few(self, names: Sequence[str], cuts: Mapping[str, Cuts]) -> bool:
        """Return whether columns make few cells, by the values that the first rows have."""
        look = self.first(names)
        sizes = []
        for name in names:
            size = look.distinct[name]
            if name in cuts and not cuts[name].word:
                size = min(size, len(cuts[name].points) + 2)
            sizes.append(size)
        return look.are_all or math.prod(sizes) <= MOST_TOGETHER

    def check_variety(self, names: Sequence[str], advice: str = "") -> None:
        """Refuse columns that hold many different numbers in their first rows.

        The error gives the advice, by default to group the numbers with bins.
        """
        if not names:
            return
        look = self.first(names)
        for name in names:
            distinct = look.distinct[name]
            if distinct <= MOST_VALUES:
                continue
            if look.are_all:
                raise too_varied(name, distinct, advice)
            if is_in_memory(self.table):
                raise too_varied(name, self.table[name].n_unique(), advice)
            first = messages.IN_FIRST_ROWS.format(rows=number_text.count(look.rows))
            raise too_varied(name, distinct, advice, first)

    def check_counted(
        self, cubes: Iterable[RowCube], names: Sequence[str], advice: str = ""
    ) -> None:
        """Refuse columns that were found to hold many different numbers."""
        for cube in cubes:
            for name in cube.names:
                if name in names and cube.distinct(name) > MOST_VALUES:
                    raise too_varied(name, cube.distinct(name), advice)

    @property
    def rows(self) -> int:
        """How many rows there are."""
        self.prepare()
        if self.cubes:
            return self.cubes[0].rows
        return number_of_rows(self.table)

    def prepare(self) -> None:
        """Count the columns that are wanted later, if that was not done and they make few cells."""
        if self.cubes or not self.together:
            return
        with suppress(EvenhandError):
            table, cuts = cut_columns(self.table, self.bins, self.together)
            schema = self.table.collect_schema()
            uncut = [name for name in self.together if name not in cuts]
            self.first(self.together)
            self.check_variety([name for name in uncut if schema[name].is_numeric()])
            if self._few(self.together, cuts):
                self._count([self.together], cuts, table)

    def missing(self, names: Iterable[str]) -> int:
        """Return how many values of some columns are missing."""
        found = 0
        unknown = []
        schema = self.table.collect_schema()
        for name in names:
            # Texts that are cut as dates lack what is empty, too.
            cut_apart = schema[name].is_numeric() or schema[name].is_temporal()
            cube = self._counted_by(name, cut=cut_apart)
            if cube is None:
                unknown.append(name)
            else:
                found += cube.over([name]).missing(name)
        return found + number_missing(self.table, unknown)

    def _counted_by(self, name: str, *, cut: bool) -> RowCube | None:
        """Return a cube by a column, which may be `cut` there."""
        for cube in self.cubes:
            if name in cube.names and (cut or name not in cube.cuts):
                return cube
        return None
