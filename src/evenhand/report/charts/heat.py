"""Heat maps: a value for each cell of two features, or of one."""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import TYPE_CHECKING

from evenhand.report.charts import messages
from evenhand.report.charts.keys import Key
from evenhand.runtime import number_text
from evenhand.runtime.language import say

if TYPE_CHECKING:
    from collections.abc import Sequence

    from evenhand.report.charts.keys import NumbersTable

_SMALLEST_RANGE = 1e-6
"""The least range of shades, so that equal values do not divide by 0."""
_MOST_FLAT = 10
"""The most cells side by side whose labels are written flat."""


@dataclass(frozen=True, slots=True)
class HeatCell:
    """A cell: its value as a number and as text, the inputs in it, and how it is marked.

    A value of None is that of a cell without inputs.
    """

    value: float | None
    text: str = ""
    rows: int | None = None
    few: bool = False
    inside: bool = False


@dataclass(frozen=True, slots=True)
class PlacedCell:
    """A cell as it is drawn."""

    text: str
    rows: str
    shade: str
    looks: str
    full_text: str


@dataclass(frozen=True, slots=True)
class PlacedHeat:
    """A heat map as it is drawn."""

    title: str
    axes: tuple[str, ...]
    across: tuple[str, ...]
    down: tuple[str, ...]
    lines: tuple[tuple[PlacedCell, ...], ...]
    upright: bool


@dataclass(frozen=True, slots=True)
class HeatChart:
    """Cells in lines from top to bottom; their colours stand on both sides of `centre`.

    Without a centre, they rise from nought. `axes` names what goes across, and then what goes down.

    >>> cells = (HeatCell(0.2, "20 %", 90, inside=True), HeatCell(0.4, "40 %", 3, few=True))
    >>> chart = HeatChart((cells,), ("sex",), ("F", "M"), centre=0.3)
    >>> [(cell.shade, cell.looks) for cell in chart.placed().lines[0]]
    [('1.00', 'less top right bottom left'), ('1.00', 'more few')]
    """

    cells: tuple[tuple[HeatCell, ...], ...]
    axes: tuple[str, ...]
    across: tuple[str, ...]
    down: tuple[str, ...] = ("",)
    centre: float | None = None
    title: str = ""
    notes: tuple[str, ...] = ()
    wide: bool = True
    kind: str = "heat"

    def entries(self) -> list[Key]:
        """Return the marks of cells that need a word."""
        keys = []
        every: list[HeatCell] = []
        for line in self.cells:
            every += line
        if any(cell.inside for cell in every):
            keys.append(Key("fill outlined", say(messages.INSIDE_KEY)))
        if any(cell.few for cell in every):
            keys.append(Key("fill few", say(messages.FEW_KEY)))
        return keys

    def numbers(self) -> NumbersTable | None:
        """Return None: the map is a table."""
        return None

    def placed(self) -> PlacedHeat:
        """Return the cells with their shades and outlines."""
        reach = self._reach()
        lines = []
        for y, line in enumerate(self.cells):
            placed = [self._placed_cell(x, y, reach) for x in range(len(line))]
            lines.append(tuple(placed))
        return PlacedHeat(
            title=self.title,
            axes=self.axes,
            across=self.across,
            down=self.down,
            lines=tuple(lines),
            upright=len(self.across) > _MOST_FLAT,
        )

    def _reach(self) -> float:
        """Return the distance from the centre that has the darkest shade."""
        centre = self.centre or 0.0
        distances: list[float] = []
        rare: list[float] = []
        for line in self.cells:
            for cell in line:
                if cell.value is None or not math.isfinite(cell.value):
                    continue
                chosen = rare if cell.few else distances
                chosen.append(abs(cell.value - centre))
        farthest = max(distances or rare, default=0.0)
        return max(farthest, _SMALLEST_RANGE)

    def _placed_cell(self, x: int, y: int, reach: float) -> PlacedCell:
        cell = self.cells[y][x]
        rows = "" if cell.rows is None else number_text.count(cell.rows)
        if cell.value is None or not math.isfinite(cell.value):
            text = self._full_text(x, y, say(messages.EMPTY_CELL))
            return PlacedCell("–", rows, "0", f"empty {self._outline(x, y)}".strip(), text)
        distance = cell.value - (self.centre or 0.0)
        share = min(abs(distance) / reach, 1.0)
        looks = ["less" if distance < 0 else "more"]
        if cell.few:
            looks.append("few")
        if cell.inside:
            looks.append(self._outline(x, y))
        parts = [cell.text]
        if rows:
            parts.append(say(messages.ROWS_OF_CELL, rows=rows))
        if cell.few:
            parts.append(say(messages.CELL_FEW))
        if cell.inside:
            parts.append(say(messages.CELL_INSIDE))
        return PlacedCell(
            text=cell.text,
            rows=rows,
            shade=number_text.decimal(share, 2),
            looks=" ".join(look for look in looks if look),
            full_text=self._full_text(x, y, "; ".join(parts)),
        )

    def _full_text(self, x: int, y: int, text: str) -> str:
        names = [self.across[x], self.down[y]]
        label = ", ".join(name for name in names if name)
        return say(messages.MARK, label=label, numbers=text)

    def _outline(self, x: int, y: int) -> str:
        """Return the sides of a cell on which the subgroup ends."""
        if not self.cells[y][x].inside:
            return ""
        sides = []
        for side, across, down in _SIDES:
            if not self._is_inside(x + across, y + down):
                sides.append(side)
        return " ".join(sides)

    def _is_inside(self, x: int, y: int) -> bool:
        lines: Sequence[Sequence[HeatCell]] = self.cells
        if not 0 <= y < len(lines) or not 0 <= x < len(lines[y]):
            return False
        return lines[y][x].inside


_SIDES = (("top", 0, -1), ("right", 1, 0), ("bottom", 0, 1), ("left", -1, 0))
