"""Heat maps of what was mined: the rate of each cell of two features, or of each term with each
other.
"""

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

_LETTER, _CELL, _FLAT = 0.056, 0.42, 0.19
"""Inches of a letter in or under a cell, and how high a cell is with two lines, and at least."""
_OURS, _CELLS, _LINES = 0.775, 0.72, 0.85
"""The part of a new figure that axes take before their labels are known, and of that, of cells and
lines.
"""
_WIDEST, _HIGHEST = 13.0, 9.0
_LABEL, _SLANT = 22, 40
"""The most letters of a label beside the cells, and the degrees by which labels under them are
turned.
"""
_FADED, _EMPTY = 0.5, 0.92


@dataclass(frozen=True, slots=True)
class Heat:
    """Rates of cells, by the cells of one feature from left to right and of another from top to
    bottom.

    `rows` are the inputs in each cell and `least` the fewest that form a rule set; both are left
    out where every cell has as many. Colours stand on both sides of `centre`, or rise from nought
    without one. `inside` tells which cells a rule set covers; a rule set that has conditions on
    other features too covers only some of their inputs.

    >>> Heat("rates by sex", ("sex",), (("F", "M"),), ((0.2, 0.4),), ((3, 90),), least=5).few.tolist()
    [[True, False]]
    """

    title: str
    axes: tuple[str, ...]
    labels: tuple[tuple[str, ...], ...]
    rates: tuple[tuple[float | None, ...], ...]
    rows: tuple[tuple[int, ...], ...] = ()
    least: float = 0.0
    centre: float | None = None
    inside: tuple[tuple[bool, ...], ...] = ()
    whole: bool = True
    notes: tuple[str, ...] = ()
    percent: bool = True

    @property
    def size(self) -> tuple[float, float]:
        """Inches that the panel takes."""
        across, down = len(self.rates[0]), len(self.rates)
        wide = min(max(WIDTH + 1, 2.6 + 0.55 * across), _WIDEST)
        lines = 2 + f"{self._over(_OURS * wide)}{self._under(_OURS * wide)}".count("\n")
        names, turned = self._names(_OURS * wide)
        longest = max(map(len, names))
        under = _LETTER * longest * math.sin(math.radians(_SLANT)) if turned else 0.15
        return wide, 0.4 + 0.17 * lines + under + min(_CELL * max(down, 1.2), _HIGHEST)

    @property
    def few(self) -> Flags:
        """Cells that are not empty, but too few to form a rule set."""
        rows = (
            np.array(self.rows)
            if self.rows
            else np.full((len(self.rates), len(self.rates[0])), math.inf)
        )
        return np.asarray((rows > 0) & (rows < self.least))

    def said(self, rate: float) -> str:
        """Return a rate as cells show it."""
        return number_text.percent(rate, 0) if self.percent else number_text.decimal(rate, 2)

    def draw(self, ax: Any) -> None:
        """Draw the cells, their rates and the outline of the rule set."""
        from matplotlib.cm import ScalarMappable

        rates = floats(self.rates)
        down, across = rates.shape
        colours = self._colours(rates)
        shades = colours.to_rgba(np.where(np.isnan(rates), 0.0, rates))[..., :3]
        shades[self.few] = 1 - _FADED * (1 - shades[self.few])
        shades[np.isnan(rates)] = _EMPTY
        ax.imshow(shades, extent=(0, across, down, 0), aspect="auto", interpolation="nearest")
        self._hatch(ax)
        self._annotate(ax, rates, shades)
        ax.vlines(range(1, across), 0, down, color="white", linewidth=0.8, zorder=1.5)
        ax.hlines(range(1, down), 0, across, color="white", linewidth=0.8, zorder=1.5)
        self._outline(ax)
        self._name(ax)
        if down > 1:  # one line of cells is too low for it
            bar = ax.figure.colorbar(
                ScalarMappable(colours.norm, colours.cmap),
                ax=ax,
                pad=0.015,
                aspect=inches(ax)[1] / 0.1,
            )
            self._scale(bar, rates)
        ax.spines[:].set_visible(False)
        ax.tick_params(length=0)

    def _colours(self, rates: Floats) -> Any:
        from matplotlib.cm import ScalarMappable
        from matplotlib.colors import LinearSegmentedColormap, Normalize

        sure = rates[~np.isnan(rates) & ~self.few]
        known = sure if len(sure) else rates[~np.isnan(rates)]
        if self.centre is None:
            norm, ends = Normalize(0, max(float(known.max(initial=0.0)), 1e-6)), ["white", BLUE]
        else:
            reach = max(float(np.abs(known - self.centre).max(initial=0.0)), 1e-6)
            norm, ends = (
                Normalize(self.centre - reach, self.centre + reach),
                [
                    VERMILLION,
                    "white",
                    BLUE,
                ],
            )
        return ScalarMappable(norm, LinearSegmentedColormap.from_list("rates", ends))

    def _scale(self, bar: Any, rates: Floats) -> None:
        from matplotlib.ticker import FuncFormatter, MaxNLocator

        low, high = bar.norm.vmin, bar.norm.vmax
        bar.ax.set_ylim(max(low, 0.0), min(high, 1.0))
        bar.locator = MaxNLocator(min(5, 1 + len(rates)), steps=[1, 2, 2.5, 5, 10])
        tick_text = number_text.percent_plain if self.percent else number_text.plain
        bar.formatter = FuncFormatter(lambda rate, _: tick_text(rate))
        bar.update_ticks()
        bar.ax.tick_params(labelsize=8)
        bar.outline.set_visible(False)

    def _hatch(self, ax: Any) -> None:
        from matplotlib.collections import PolyCollection

        cells = [
            ((x, y), (x + 1, y), (x + 1, y + 1), (x, y + 1))
            for y, x in np.argwhere(self.few).tolist()
        ]
        ax.add_collection(
            PolyCollection(cells, facecolors="none", edgecolors="0.78", hatch="//", linewidths=0),
            autolim=False,
        )

    def _annotate(self, ax: Any, rates: Floats, shades: Floats) -> None:
        """Write into each cell its rate, and its rows where there is room."""
        wide, high = inches(ax)
        wide, high = _CELLS * wide / rates.shape[1], min(high / rates.shape[0], 2 * _CELL)
        if wide < 6 * _LETTER or high < 0.8 * _FLAT:
            return
        dark = shades @ np.array([0.299, 0.587, 0.114]) < 0.52
        for (down, across), rate in np.ndenumerate(rates):
            text = "–" if math.isnan(rate) else self.said(rate)
            if self.rows and high >= 1.7 * _FLAT and not math.isnan(rate):
                text += f"\n{self.rows[down][across]:,}"
            colour = (
                "white" if dark[down, across] else "0.25" if self.few[down, across] else "black"
            )
            ax.text(
                across + 0.5,
                down + 0.5,
                text,
                ha="center",
                va="center",
                fontsize=8,
                color=colour,
                linespacing=1.1,
            )

    def _outline(self, ax: Any) -> None:
        from matplotlib.collections import LineCollection

        if not self.inside:
            return
        padded = np.pad(np.array(self.inside), 1)
        sides = [
            ((x, y), (x, y + 1))
            for y, x in np.argwhere(padded[1:-1, 1:] != padded[1:-1, :-1]).tolist()
        ]
        sides += [
            ((x, y), (x + 1, y))
            for y, x in np.argwhere(padded[1:, 1:-1] != padded[:-1, 1:-1]).tolist()
        ]
        style = "-" if self.whole else (0, (3, 2))
        look = {
            "colors": "black",
            "linewidths": 2.0,
            "linestyles": [style],
            "capstyle": "projecting",
        }
        ax.add_collection(LineCollection(sides, clip_on=False, zorder=3, **look))

    def _names(self, wide: float) -> tuple[list[str], bool]:
        """Return the labels under the cells of axes that wide, in lines that fit, or cut where they
        must be turned.
        """
        room = int(_CELLS * wide / len(self.labels[0]) / _LETTER)
        lines = [
            textwrap.wrap(label, max(room, 1), break_long_words=False) or [""]
            for label in self.labels[0]
        ]
        if all(len(line) <= room for each in lines for line in each) and max(map(len, lines)) <= 2:
            return ["\n".join(map(literal, each)) for each in lines], False
        return [literal(label, _LABEL) for label in self.labels[0]], True

    def _over(self, wide: float) -> str:
        return flowed(self.title, _LINES * wide)

    def _under(self, wide: float) -> str:
        lines = [literal(self.axes[0]), *(flowed(note, _LINES * wide, 0.9) for note in self.notes)]
        return "\n".join(lines)

    def _name(self, ax: Any) -> None:
        """Write the labels of the cells, as many as there is room for, and what is said of them
        all.
        """
        wide, high = inches(ax)
        across, down = len(self.rates[0]), len(self.rates)
        names, turned = self._names(wide)
        every = slice(None, None, max(1, math.ceil(_FLAT * across / wide)))
        slanted = {"rotation": _SLANT, "ha": "right", "rotation_mode": "anchor"} if turned else {}
        ax.set_xticks(np.arange(across)[every] + 0.5, names[every], fontsize=8, **slanted)
        if len(self.axes) > 1:
            every = slice(None, None, max(1, math.ceil(0.8 * _FLAT * down / high)))
            beside = [literal(label, _LABEL) for label in self.labels[1]]
            ax.set_yticks(np.arange(down)[every] + 0.5, beside[every], fontsize=8)
            ax.set_ylabel(literal(self.axes[1], 30))
        else:
            ax.set_yticks([])
        ax.set_xlabel(self._under(wide), loc="left", fontsize=9)
        ax.set_title(self._over(wide), loc="left", fontsize="medium")


def floats(rates: Sequence[Sequence[float | None]]) -> Floats:
    """Return rates as an array, NaN where a cell is empty."""
    return np.array(
        [[math.nan if rate is None else rate for rate in line] for line in rates], dtype=np.float64
    )
