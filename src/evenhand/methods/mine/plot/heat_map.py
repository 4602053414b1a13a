"""Heat maps of a mining: the rate of each cell of two features, or of each pair of terms."""

from __future__ import annotations

import math
import textwrap
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np

from evenhand.report.canvas import BLUE, VERMILLION, WIDTH, inches, literal
from evenhand.report.ranked_bars import flowed
from evenhand.runtime import number_text

if TYPE_CHECKING:
    from collections.abc import Sequence

    from numpy.typing import NDArray

    Floats = NDArray[np.float64]
    Flags = NDArray[np.bool_]
    Grid = tuple[tuple[Any, ...], ...]

_LETTER = 0.056
"""Inches of a letter in or under a cell."""
_CELL = 0.42
"""Inches that a cell with two lines is high."""
_FLAT = 0.19
"""Inches that a cell, or a label, is high at least."""
_OURS = 0.775
"""The part of a new figure that axes take before their labels are known."""
_CELLS = 0.72
"""The part of the axes that cells take."""
_LINES = 0.85
"""The part of the axes that lines of text take."""
_WIDEST = 13.0
"""Inches that a panel is wide at most."""
_HIGHEST = 9.0
"""Inches that all cells together are high at most."""
_LABEL = 22
"""The most letters of a label beside the cells."""
_SLANT = 40
"""The degrees by which labels under the cells are turned."""
_FADED = 0.5
"""The part of their colour that cells with few rows keep."""
_EMPTY = 0.92
"""The grey of cells without rows."""
_DARK = 0.52
"""The brightness below which letters are white."""
_BRIGHTNESS = (0.299, 0.587, 0.114)
"""How much red, green and blue add to the brightness that people see (ITU-R BT.601)."""
_SMALLEST_RANGE = 1e-6
"""The least range of a scale of colours, so that equal rates do not divide by 0."""


@dataclass(frozen=True, slots=True)
class Heat:
    """Rates of cells: those of one feature from left to right, of another from top to bottom.

    `rows` are the inputs in each cell and `least` the fewest that form a rule set; both are left
    out where every cell has as many. Colours stand on both sides of `centre`, or rise from nought
    without one. `inside` tells which cells a rule set covers; a rule set that has conditions on
    other features too covers only some of their inputs.

    >>> rates = ((0.2, 0.4),)
    >>> heat = Heat("rates by sex", ("sex",), (("F", "M"),), rates, ((3, 90),), least=5)
    >>> heat.few.tolist()
    [[True, False]]
    """

    title: str
    axes: tuple[str, ...]
    labels: Grid
    rates: Grid
    rows: Grid = ()
    least: float = 0.0
    centre: float | None = None
    inside: Grid = ()
    whole: bool = True
    notes: tuple[str, ...] = ()
    percent: bool = True

    @property
    def size(self) -> tuple[float, float]:
        """Inches that the panel takes, across and down."""
        down = len(self.rates)
        across = len(self.rates[0])
        wide_enough = 2.6 + 0.55 * across
        wide = min(max(WIDTH + 1, wide_enough), _WIDEST)
        axes_wide = _OURS * wide
        text = self._over(axes_wide) + self._under(axes_wide)
        lines = 2 + text.count("\n")
        names, turned = self._names(axes_wide)
        label_high = 0.15
        if turned:
            longest = max(map(len, names))
            slope = math.sin(math.radians(_SLANT))
            label_high = _LETTER * longest * slope
        cells_high = min(_CELL * max(down, 1.2), _HIGHEST)
        lines_high = 0.4 + 0.17 * lines
        return wide, lines_high + label_high + cells_high

    @property
    def few(self) -> Flags:
        """Cells that are not empty, but too few to form a rule set."""
        if not self.rows:
            shape = floats(self.rates).shape
            return np.zeros(shape, dtype=np.bool_)
        rows: NDArray[Any] = np.array(self.rows)
        some = rows > 0
        return np.asarray(some & (rows < self.least))

    def rate_text(self, rate: float) -> str:
        """Return a rate as cells show it."""
        if self.percent:
            return number_text.percent(rate, 0)
        return mean_text(rate, 2)

    def draw(self, ax: Any) -> None:
        """Draw the cells, their rates and the outline of the rule set."""
        rates = floats(self.rates)
        down, across = rates.shape
        colours = self._colours(rates)
        shades = self._shades(rates, colours)
        extent = (0, across, down, 0)
        ax.imshow(shades, extent=extent, aspect="auto", interpolation="nearest")
        self._hatch(ax)
        self._annotate(ax, rates, shades)
        gaps = {"color": "white", "linewidth": 0.8, "zorder": 1.5}
        ax.vlines(range(1, across), 0, down, **gaps)
        ax.hlines(range(1, down), 0, across, **gaps)
        self._outline(ax)
        self._name(ax)
        if down > 1:  # one line of cells is too low for it
            self._add_scale(ax, colours, down)
        ax.spines[:].set_visible(False)
        ax.tick_params(length=0)

    def _shades(self, rates: Floats, colours: Any) -> Floats:
        """Return the colour of each cell: paler where it has few rows, grey where it has none."""
        empty = np.isnan(rates)
        known_rates = np.where(empty, 0.0, rates)
        shades: Floats = colours.to_rgba(known_rates)[..., :3]
        few = self.few
        darkness = 1 - shades[few]
        shades[few] = 1 - _FADED * darkness
        shades[empty] = _EMPTY
        return shades

    def _colours(self, rates: Floats) -> Any:
        """Return the scale of colours: that of cells with enough rows, where there are some."""
        from matplotlib.cm import ScalarMappable
        from matplotlib.colors import LinearSegmentedColormap, Normalize

        known = ~np.isnan(rates)
        enough = known & ~self.few
        cells = enough if enough.any() else known
        scaled = rates[cells]
        if self.centre is None:
            highest = float(scaled.max(initial=0.0))
            norm = Normalize(0, max(highest, _SMALLEST_RANGE))
            ends = ["white", BLUE]
        else:
            distances = np.abs(scaled - self.centre)
            farthest = float(distances.max(initial=0.0))
            reach = max(farthest, _SMALLEST_RANGE)
            lowest = self.centre - reach
            norm = Normalize(lowest, self.centre + reach)
            ends = [VERMILLION, "white", BLUE]
        colour_map = LinearSegmentedColormap.from_list("rates", ends)
        return ScalarMappable(norm, colour_map)

    def _add_scale(self, ax: Any, colours: Any, lines: int) -> None:
        """Draw the scale of colours beside the cells, where there are so many lines of them."""
        from matplotlib.cm import ScalarMappable
        from matplotlib.ticker import FuncFormatter, MaxNLocator

        _, high = inches(ax)
        scale = ScalarMappable(colours.norm, colours.cmap)
        aspect = high / 0.1
        bar = ax.figure.colorbar(scale, ax=ax, pad=0.015, aspect=aspect)
        known = floats(self.rates)
        if np.nanmin(known) >= 0 and np.nanmax(known) <= 1:
            lowest = max(bar.norm.vmin, 0.0)
            highest = min(bar.norm.vmax, 1.0)
            bar.ax.set_ylim(lowest, highest)
        ticks = min(5, 1 + lines)
        bar.locator = MaxNLocator(ticks, steps=[1, 2, 2.5, 5, 10])
        tick_text = number_text.percent_plain if self.percent else number_text.amount
        bar.formatter = FuncFormatter(lambda rate, _: tick_text(rate))
        bar.update_ticks()
        bar.ax.tick_params(labelsize=8)
        bar.outline.set_visible(False)

    def _hatch(self, ax: Any) -> None:
        """Hatch the cells with few rows."""
        from matplotlib.collections import PolyCollection

        cells = []
        for y, x in np.argwhere(self.few).tolist():
            right = x + 1
            bottom = y + 1
            corners = ((x, y), (right, y), (right, bottom), (x, bottom))
            cells.append(corners)
        hatching = PolyCollection(
            cells,
            facecolors="none",
            edgecolors="0.78",
            hatch="//",
            linewidths=0,
        )
        ax.add_collection(hatching, autolim=False)

    def _annotate(self, ax: Any, rates: Floats, shades: Floats) -> None:
        """Write into each cell its rate, and its rows where there is room."""
        down, across = rates.shape
        axes_wide, axes_high = inches(ax)
        cell_wide = _CELLS * axes_wide / across
        cell_high = min(axes_high / down, 2 * _CELL)
        if cell_wide < 6 * _LETTER or cell_high < 0.8 * _FLAT:
            return
        with_rows = bool(self.rows) and cell_high >= 1.7 * _FLAT
        colours = self._letter_colours(shades)
        for (y, x), rate in np.ndenumerate(rates):
            ax.text(
                x + 0.5,
                y + 0.5,
                self._cell_text(y, x, rate, with_rows=with_rows),
                ha="center",
                va="center",
                fontsize=8,
                color=colours[y, x],
                linespacing=1.1,
            )

    def _letter_colours(self, shades: Floats) -> NDArray[Any]:
        """Return the colour of the letters in each cell, which must be seen on its shade."""
        brightness = shades @ np.array(_BRIGHTNESS)
        dark = brightness < _DARK
        colours = np.full(dark.shape, "black", dtype=object)
        colours[self.few] = "0.25"
        colours[dark] = "white"
        return colours

    def _cell_text(self, y: int, x: int, rate: float, *, with_rows: bool) -> str:
        if math.isnan(rate):
            return "–"
        text = self.rate_text(rate)
        if with_rows:
            rows = number_text.count(self.rows[y][x])
            text += f"\n{rows}"
        return text

    def _outline(self, ax: Any) -> None:
        """Draw a line around the cells of the rule set, dashed where it covers them in part."""
        from matplotlib.collections import LineCollection

        if not self.inside:
            return
        # An edge lies wherever one of two neighbouring cells is inside and the other is not.
        inside = np.array(self.inside, dtype=np.int8)
        nobody = np.int8(0)
        upright = np.diff(inside, axis=1, prepend=nobody, append=nobody)
        level = np.diff(inside, axis=0, prepend=nobody, append=nobody)
        edges = []
        for y, x in np.argwhere(upright).tolist():
            start = (x, y)
            end = (x, y + 1)
            edges.append((start, end))
        for y, x in np.argwhere(level).tolist():
            start = (x, y)
            end = (x + 1, y)
            edges.append((start, end))
        style = "-" if self.whole else (0, (3, 2))
        outline = LineCollection(
            edges,
            clip_on=False,
            zorder=3,
            colors="black",
            linewidths=2.0,
            linestyles=[style],
            capstyle="projecting",
        )
        ax.add_collection(outline)

    def _names(self, wide: float) -> tuple[list[str], bool]:
        """Return the labels under the cells of axes that wide, and whether they are turned.

        Labels are set in two lines where these fit, or cut and turned otherwise.
        """
        labels = self.labels[0]
        cell_wide = _CELLS * wide / len(labels)
        room = int(cell_wide / _LETTER)
        names = []
        for label in labels:
            lines = textwrap.wrap(label, max(room, 1), break_long_words=False)
            lines = lines or [""]
            longest = max(map(len, lines))
            if len(lines) > 2 or longest > room:
                return [literal(every, _LABEL) for every in labels], True
            names.append("\n".join(map(literal, lines)))
        return names, False

    def _over(self, wide: float) -> str:
        return flowed(self.title, _LINES * wide)

    def _under(self, wide: float) -> str:
        room = _LINES * wide
        notes = [flowed(note, room, 0.9) for note in self.notes]
        lines = [literal(self.axes[0]), *notes]
        return "\n".join(lines)

    def _name(self, ax: Any) -> None:
        """Write the labels of the cells, as many as there is room for, the title and the notes."""
        wide, high = inches(ax)
        down = len(self.rates)
        across = len(self.rates[0])
        names, turned = self._names(wide)
        every = _every(_FLAT * across / wide)
        places = np.arange(across) + 0.5
        slanted: dict[str, Any] = {}
        if turned:
            slanted = {"rotation": _SLANT, "ha": "right", "rotation_mode": "anchor"}
        ax.set_xticks(places[every], names[every], fontsize=8, **slanted)
        if len(self.axes) > 1:
            every = _every(0.8 * _FLAT * down / high)
            places = np.arange(down) + 0.5
            beside = [literal(label, _LABEL) for label in self.labels[1]]
            ax.set_yticks(places[every], beside[every], fontsize=8)
            ax.set_ylabel(literal(self.axes[1], 30))
        else:
            ax.set_yticks([])
        ax.set_xlabel(self._under(wide), loc="left", fontsize=9)
        ax.set_title(self._over(wide), loc="left", fontsize="medium")


def _every(crowding: float) -> slice:
    """Return which labels are written where they would take that many times the room there is."""
    step = max(1, math.ceil(crowding))
    return slice(None, None, step)


def floats(rates: Sequence[Sequence[float | None]]) -> Floats:
    """Return rates as an array, NaN where a cell is empty."""
    # Conversion to floating point makes NaN of None.
    return np.array(rates, dtype=np.float64)


def mean_text(mean: float, digits: int = 3) -> str:
    """Return a mean score with its decimals, or a mean of numbers of any size.

    >>> mean_text(0.273), mean_text(41_237.5)
    ('0.273', '41,240')
    """
    if abs(mean) <= 1:
        return number_text.decimal(mean, digits)
    return number_text.amount(mean)
