"""A comparison drawn: the plane of bias and performance with the line of blind overwriting, and
shares of regions.
"""

from __future__ import annotations

import math
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any

import numpy as np

from evenhand.methods.compare.regions import (
    GOOD,
    INVERTED,
    LOSE_LOSE,
    POOR,
    REGIONS,
    WIN_WIN,
    Line,
    Plane,
)
from evenhand.methods.compare.text import about, sampled
from evenhand.report.canvas import (
    BLUE,
    GREEN,
    ORANGE,
    PURPLE,
    SKY,
    VERMILLION,
    WIDTH,
    Display,
    inches,
    literal,
)
from evenhand.report.finding_text import NO_DATA
from evenhand.report.plot_labels import Labels
from evenhand.report.ranked_bars import flowed
from evenhand.runtime import number_text
from evenhand.runtime.errors import UsageError, clip, nearest
from evenhand.statistics.estimate import Amount, Verdict

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from evenhand.methods.compare.comparison import Comparison
    from evenhand.statistics.estimate import Estimate

MOST_LABELS = 8
"""The most mitigations whose names stand beside their points; more are numbered, and their names
stand in a list.
"""
COLOURS = {LOSE_LOSE: VERMILLION, POOR: ORANGE, INVERTED: PURPLE, GOOD: SKY, WIN_WIN: GREEN}
LOOKS = {
    Verdict.PASS: ("pass: better", GREEN, "o"),
    Verdict.UNDECIDED: ("undecided", ORANGE, "D"),
    Verdict.FAIL: ("fail: no better", VERMILLION, "X"),
}
_HIGH, _LISTED, _COLUMN, _ENTRY = 5.6, 24, 2.4, 1.2
"""Inches that the plane is high, names in a column beside it, and inches of such a column and of
one of the legend.
"""
_CORNERS = {LOSE_LOSE: (1, 0), POOR: (0, 0), INVERTED: (1, 1), GOOD: (0, 0.5), WIN_WIN: (0, 1)}
"""Where in the plane the name of a region would best stand, in parts of its width and height."""
_ROW, _AROUND, _NARROW = 0.36, 1.3, 0.055
"""Inches of a bar and around all of them, and the narrowest share that has room for its number."""


@dataclass(frozen=True, slots=True)
class Mark:
    """A point of the plane: value, low and high of its bias and of its performance; the original
    has no verdict.
    """

    label: str
    bias: tuple[float, float, float]
    performance: tuple[float, float, float]
    verdict: Verdict | None = None

    @property
    def place(self) -> tuple[float, float]:
        """Bias and performance."""
        return self.bias[0], self.performance[0]


@dataclass
class TradeoffDisplay(Display):
    """The plane of bias and performance: the line of blind overwriting, the five regions, and each
    mitigation.

    `line` holds degree, bias and performance of each point of blind overwriting at which both are
    defined; `percent` says of either axis whether its score is a share.

    >>> from evenhand.methods.compare.compare import compare
    >>> sex, truth = ["f", "f", "f", "m", "m"] * 60, [0, 1, 0, 1, 1] * 60
    >>> told = {"original": [0, 0, 0, 1, 1] * 60, "right": truth}
    >>> display = TradeoffDisplay.from_comparison(compare(told, truth, sex))
    >>> [(mark.label, round(mark.bias[0], 3), mark.performance[0]) for mark in (display.start, *display.marks)]
    [('original', 1.0, 0.8), ('right', 0.667, 1.0)]
    """

    title: str
    note: str
    axes: tuple[str, str]
    percent: tuple[bool, bool]
    start: Mark
    marks: tuple[Mark, ...]
    line: tuple[tuple[float, float, float], ...]

    @classmethod
    def from_comparison(cls, comparison: Comparison) -> TradeoffDisplay:
        """Compute what is drawn of a comparison."""
        performance, bias = comparison.start
        rows = zip(
            comparison.baseline.degrees,
            comparison.baseline.bias,
            comparison.baseline.performance,
            strict=True,
        )
        population = performance.population or bias.population
        return cls(
            about(comparison),
            f"intervals: {performance.method}"
            + (f"; population: {population}" if population else ""),
            (comparison.bias, comparison.performance),
            (not isinstance(bias, Amount), not isinstance(performance, Amount)),
            Mark(comparison.original, span(bias), span(performance)),
            tuple(
                Mark(one.name, span(one.bias), span(one.performance), one.verdict)
                for one in comparison.standings
            ),
            tuple(row for row in rows if not any(map(math.isnan, row))),
        )

    def plot(self, ax: Any = None, *, scaled: bool = False) -> TradeoffDisplay:
        """Draw on axes given, or on a new figure, and return the display.

        With `scaled`, both axes are re-scaled to 0 to 1 between the ends of the line, as the paper
        draws them.
        """
        columns = -(-len(self.marks) // _LISTED) if len(self.marks) > MOST_LABELS else 0
        shown = self._scaled() if scaled else self
        axes = self._open(ax, [(WIDTH + _COLUMN * columns, _HIGH)])[0]
        _draw_plane(shown, axes, columns=columns)
        return self

    def _scaled(self) -> TradeoffDisplay:
        """Return the display with both axes re-scaled."""
        points = np.array(self.line)[:, 1:]
        low, wide = points.min(axis=0), np.ptp(points, axis=0)

        def to(values: Any, axis: int) -> tuple[Any, ...]:
            return tuple(((np.array(values) - low[axis]) / (wide[axis] or 1.0)).tolist())

        def moved(mark: Mark) -> Mark:
            return replace(mark, bias=to(mark.bias, 0), performance=to(mark.performance, 1))

        line = tuple(
            zip(
                [row[0] for row in self.line],
                *(to(points[:, axis], axis) for axis in (0, 1)),
                strict=True,
            )
        )
        axes = (f"{self.axes[0]}, re-scaled", f"{self.axes[1]}, re-scaled")
        marks = tuple(map(moved, self.marks))
        return replace(
            self, axes=axes, percent=(False, False), start=moved(self.start), marks=marks, line=line
        )


@dataclass
class SharesDisplay(Display):
    """Shares of the regions, one bar for each mitigation from top to bottom; `shares` are in the
    order of `REGIONS`.

    >>> display = SharesDisplay.from_shares({"reweighing": {"good trade-off": 0.75, "win-win": 0.25}})
    >>> display.names, display.shares
    (('reweighing',), ((0.0, 0.0, 0.0, 0.75, 0.25),))
    """

    title: str
    axis: str
    names: tuple[str, ...]
    shares: tuple[tuple[float, ...], ...]

    @classmethod
    def from_comparison(cls, comparison: Comparison) -> SharesDisplay:
        """Compute what is drawn of a comparison: the regions of its runs, or of the resamples of
        one test set.
        """
        of = (
            f"resamples of {sampled(comparison)}"
            if comparison.resampled
            else f"{comparison.runs:,} runs"
        )
        return cls.from_shares(comparison.share, about(comparison), f"share of {of}")

    @classmethod
    def from_shares(
        cls,
        shares: Mapping[str, Mapping[str, float]],
        title: str = "",
        axis: str = "share of cases",
    ) -> SharesDisplay:
        """Compute what is drawn of shares by region for each name; a region left out has none, and
        NaN is no data.
        """
        if not shares:
            raise UsageError(
                "shares is empty; give it the share of each region by name, for one name at least"
            )
        return cls(
            title,
            axis,
            tuple(map(str, shares)),
            tuple(_shares(name, one) for name, one in shares.items()),
        )

    def plot(self, ax: Any = None) -> SharesDisplay:
        """Draw on axes given, or on a new figure, and return the display."""
        _draw_shares(self, self._open(ax, [(WIDTH, _AROUND + _ROW * len(self.names))])[0])
        return self


def span(estimate: Estimate) -> tuple[float, float, float]:
    """Return value, low and high."""
    return estimate.value, estimate.low, estimate.high


def _shares(name: str, shares: Mapping[str, float]) -> tuple[float, ...]:
    for region in shares:
        if region not in REGIONS:
            raise UsageError(
                f"{clip(name)} has a share of {clip(repr(region))}, no region;"
                f" {nearest(region, REGIONS)}"
            )
    found = tuple(float(shares.get(region, 0.0)) for region in REGIONS)
    # Published shares are rounded, and so add up to a little less or more than 1.
    if min(found) < 0 or abs(sum(found) - 1) > 0.03:
        raise UsageError(
            f"{clip(name)} has shares of {found}; they must be 0 or more and add up to 1"
        )
    return found


def _draw_plane(display: TradeoffDisplay, ax: Any, *, columns: int) -> None:
    line = Line.through(*np.array(display.line).T[1:])
    (left, right), (bottom, top) = _view(display)
    ax.set_xlim(left, right)
    ax.set_ylim(bottom, top)
    _shade(ax, display.start.place, line)
    ax.plot(
        [left, line.bias[0]],
        [line.performance[0]] * 2,
        color=BLUE,
        linewidth=1,
        linestyle=":",
        zorder=2,
    )
    ax.plot(
        line.bias, line.performance, color=BLUE, linewidth=1.6, label="blind overwriting", zorder=2
    )
    ax.plot(*np.array(display.line).T[1:], "o", color=BLUE, markersize=4, zorder=2)
    _draw_marks(ax, [display.start], ("original", "black", "s"), markersize=6, zorder=5)
    for verdict, look in LOOKS.items():
        if marks := [mark for mark in display.marks if mark.verdict is verdict]:
            _draw_marks(ax, marks, look)
    for axis, percent in zip((ax.xaxis, ax.yaxis), display.percent, strict=True):
        ticks(axis, percent=percent)
    ax.set_ylabel(f"performance: {literal(display.axes[1])}", fontsize=9)
    ax.set_xlabel(
        f"bias: {literal(display.axes[0])}\n{flowed(display.note, inches(ax)[0], 0.9)}", fontsize=9
    )
    head(ax, display.title)
    ax.spines[["top", "right"]].set_visible(False)
    if columns:
        ax.add_artist(ax.get_legend())
        _list(ax, display.marks, columns)
    _write(ax, display, line)


def head(ax: Any, title: str) -> None:
    """Write the legend over the axes, in as many columns as there is room for, and the title over
    that.
    """
    names, wide = ax.get_legend_handles_labels()[1], inches(ax)[0]
    columns = min(max(1, int(wide / _ENTRY)), len(names))
    look = {
        "loc": "lower left",
        "bbox_to_anchor": (0, 1),
        "frameon": False,
        "fontsize": 8,
        "borderaxespad": 0.1,
    }
    ax.legend(ncols=columns, columnspacing=1.2, handletextpad=0.4, **look)
    lines = "\n".join(flowed(line, wide) for line in title.split("\n"))
    ax.set_title(lines, loc="left", fontsize="medium", pad=10 + 14 * -(-len(names) // columns))


def ticks(axis: Any, *, percent: bool) -> None:
    """Write the numbers of an axis, as percentages where its score is a share."""
    from matplotlib.ticker import FuncFormatter, MaxNLocator

    tick_text = number_text.percent_plain if percent else number_text.plain
    axis.set_major_locator(MaxNLocator(7, steps=[1, 2, 2.5, 5, 10]))
    axis.set_major_formatter(
        FuncFormatter(lambda value, _: number_text.with_minus(tick_text(value)))
    )


def _view(display: TradeoffDisplay) -> list[tuple[float, float]]:
    """Return the ends of both axes: around all points, and around intervals that are not much
    longer than that.
    """
    every = (display.start, *display.marks)
    ends = []
    for axis, start in enumerate(display.start.place):
        places = [mark.place[axis] for mark in every] + [row[1 + axis] for row in display.line]
        limits = [end for mark in every for end in (mark.bias, mark.performance)[axis]]
        low, high = min(places), max(places)
        span = (high - low) or 1.0
        near = np.clip(limits, low - span, high + span)
        low, high = min(low, float(near.min())), max(high, float(near.max()))
        span = high - low
        # There is room for the names of the regions over the original and right of it.
        ends.append((low - 0.04 * span, max(high + 0.04 * span, start + 0.18 * span)))
    return ends


def _shade(ax: Any, start: tuple[float, float], line: Line) -> None:
    """Shade the five regions as `regions` tells them apart."""
    (left, right), (bottom, top), (bias, performance) = ax.get_xlim(), ax.get_ylim(), start
    x = np.unique(
        np.concatenate(
            [np.linspace(left, bias, 200), line.bias[(line.bias > left) & (line.bias < bias)]]
        )
    )
    y = np.minimum(line.at(x), performance)
    for code, across, low, high in (
        (LOSE_LOSE, [bias, right], bottom, performance),
        (POOR, x, bottom, y),
        (INVERTED, [bias, right], performance, top),
        (GOOD, x, y, performance),
        (WIN_WIN, [left, bias], performance, top),
    ):
        ax.fill_between(across, low, high, color=COLOURS[code], alpha=0.14, linewidth=0, zorder=0)
    ax.axvline(bias, color="white", linewidth=1.5, zorder=1)
    ax.axhline(performance, color="white", linewidth=1.5, zorder=1)


def _draw_marks(ax: Any, marks: Sequence[Mark], look: tuple[str, str, str], **more: Any) -> None:
    name, colour, marker = look
    x, y = (np.array([getattr(mark, axis) for mark in marks]).T for axis in ("bias", "performance"))
    errors = [
        [np.maximum(value - low, 0), np.maximum(high - value, 0)] for value, low, high in (x, y)
    ]
    lines = {"ecolor": colour, "elinewidth": 1.2, "capsize": 2.5, "capthick": 1.2}
    shape = {
        "color": colour,
        "markeredgecolor": "black",
        "markeredgewidth": 0.8,
        "markersize": 8,
        "zorder": 3,
    } | more
    ax.errorbar(
        x[0], y[0], yerr=errors[1], xerr=errors[0], fmt=marker, label=name, **lines, **shape
    )


def _list(ax: Any, marks: Sequence[Mark], columns: int) -> None:
    """List the numbered names right of the axes."""
    from matplotlib.lines import Line2D

    looks = [LOOKS[mark.verdict or Verdict.UNDECIDED] for mark in marks]
    names = [f"{number}  {literal(mark.label, 30)}" for number, mark in enumerate(marks, 1)]
    handles = [
        Line2D(
            [], [], linestyle="", color=colour, marker=marker, markeredgecolor="black", markersize=6
        )
        for _, colour, marker in looks
    ]
    ax.legend(
        handles,
        names,
        loc="upper left",
        bbox_to_anchor=(1.01, 1),
        ncols=columns,
        frameon=False,
        fontsize=8,
    )


def _write(ax: Any, display: TradeoffDisplay, line: Line) -> None:
    """Write names beside points, degrees beside the ends of the line, and the names of the regions
    into them.
    """
    ax.figure.figure.draw_without_rendering()  # where the points will stand is known only after the layout
    labels = Labels(ax)
    for mark in (display.start, *display.marks):
        labels.keep(mark)
    steps = np.linspace(line.bias[0], line.bias[-1], 60)
    for bias, performance in zip(steps, line.at(steps), strict=True):
        labels.keep(Mark("", (bias,) * 3, (performance,) * 3), reach=2, weight=4.0)
    numbered = len(display.marks) > MOST_LABELS
    for number, mark in enumerate(display.marks, 1):
        labels.beside(str(number) if numbered else literal(mark.label, 30), mark.place, fontsize=9)
    labels.beside(
        literal(display.start.label, 30), display.start.place, fontsize=9, fontweight="bold"
    )
    for degree, *place in (display.line[0], display.line[-1]):
        labels.beside(
            number_text.percent_figures(degree), (place[0], place[1]), fontsize=8, color=BLUE
        )
    plane = Plane(display.start.place, line)
    for code, corner in _CORNERS.items():
        labels.inside(REGIONS[code], plane.regions, code, corner)


def _draw_shares(display: SharesDisplay, ax: Any) -> None:
    places = np.arange(len(display.names))
    shares = np.array(display.shares)
    left = np.zeros(len(places))
    for code, region in enumerate(REGIONS):
        part = np.nan_to_num(shares[:, code])
        ax.barh(
            places,
            part,
            0.72,
            left,
            color=COLOURS[code],
            edgecolor="white",
            linewidth=0.8,
            label=region,
        )
        for place, share, start in zip(places, part, left, strict=True):
            if share >= _NARROW:
                ax.text(
                    start + share / 2,
                    place,
                    number_text.percent(share, 0),
                    ha="center",
                    va="center",
                    fontsize=8,
                )
        left += part
    for place in places[np.isnan(shares).any(axis=1)]:
        ax.text(0.01, place, NO_DATA, va="center", style="italic", fontsize=8)
    ax.set_yticks(places, [literal(name, 36) for name in display.names], fontsize=9)
    ax.tick_params(axis="y", length=0)
    ax.set_ylim(len(places) - 0.5, -0.5)
    ax.set_xlim(0, max(1.0, float(left.max())))
    ticks(ax.xaxis, percent=True)
    ax.set_xlabel(display.axis, loc="right", fontsize=9)
    head(ax, display.title)
    ax.spines[["top", "right", "left"]].set_visible(False)


def display_of(comparison: Comparison) -> TradeoffDisplay:
    """Return the display of a comparison."""
    return TradeoffDisplay.from_comparison(comparison)
