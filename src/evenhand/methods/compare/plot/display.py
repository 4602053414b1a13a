"""A comparison drawn: the plane of bias and performance, and shares of regions."""

from __future__ import annotations

import math
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any

import numpy as np

from evenhand.methods.compare import messages
from evenhand.methods.compare.plot.bands import bands
from evenhand.methods.compare.regions import (
    GOOD,
    INVERTED,
    LOSE_LOSE,
    POOR,
    REGIONS,
    WIN_WIN,
    OverwritingLine,
    Plane,
)
from evenhand.methods.compare.text import about, intervals_of, sampled
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
from evenhand.runtime.language import say
from evenhand.statistics.estimate import Amount, Verdict

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from evenhand.methods.compare.comparison import Comparison
    from evenhand.statistics.estimate import Estimate

MOST_LABELS = 8
"""The most mitigations whose names stand beside their points; more are numbered and listed."""
COLOURS = {LOSE_LOSE: VERMILLION, POOR: ORANGE, INVERTED: PURPLE, GOOD: SKY, WIN_WIN: GREEN}
LOOKS = {
    Verdict.PASS: (messages.LEGEND_BETTER, GREEN, "o"),
    Verdict.UNDECIDED: (messages.LEGEND_UNDECIDED, ORANGE, "D"),
    Verdict.FAIL: (messages.LEGEND_NO_BETTER, VERMILLION, "X"),
}
_PLANE_HEIGHT = 5.6
"""Inches that the plane is high."""
_LISTED = 24
"""Names in a column beside the plane, which is `_COLUMN_WIDTH` inches wide."""
_COLUMN_WIDTH = 2.4
_LEGEND_ENTRY = 1.2
"""Inches of a column of the legend."""
_CORNERS = {
    LOSE_LOSE: (1, 0),
    POOR: (0, 0),
    INVERTED: (1, 1),
    GOOD: (0, 0.5),
    WIN_WIN: (0, 1),
}
"""Where in the plane the name of a region would best stand, in parts of its width and height."""
_BAR_HEIGHT = 0.36
"""Inches of a bar."""
_AROUND_BARS = 1.3
"""Inches above and below all bars."""
_NARROWEST = 0.055
"""The narrowest share that has room for its number."""


@dataclass(frozen=True, slots=True)
class Mark:
    """A point of the plane: value, low and high of its bias and of its performance.

    The original has no verdict.
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
    """The plane of bias and performance, with the line, the five regions, and each mitigation.

    `line` holds degree, bias and performance of each point of blind overwriting at which both are
    defined; `percent` says of either axis whether its score is a share.

    >>> from evenhand.methods.compare.compare import compare
    >>> sex, truth = ["f", "f", "f", "m", "m"] * 60, [0, 1, 0, 1, 1] * 60
    >>> outcomes = {"original": [0, 0, 0, 1, 1] * 60, "right": truth}
    >>> display = TradeoffDisplay.from_comparison(compare(outcomes, truth, sex))
    >>> marks = (display.start, *display.marks)
    >>> [(mark.label, round(mark.bias[0], 3), mark.performance[0]) for mark in marks]
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
        baseline = comparison.baseline
        points = zip(baseline.degrees, baseline.bias, baseline.performance, strict=True)
        defined = [point for point in points if not any(map(math.isnan, point[1:]))]
        marks = []
        for standing in comparison.standings:
            mark = Mark(
                standing.name,
                span(standing.bias),
                span(standing.performance),
                standing.verdict,
            )
            marks.append(mark)
        return cls(
            title=about(comparison),
            note=intervals_of(comparison),
            axes=(comparison.bias, comparison.performance),
            percent=(not isinstance(bias, Amount), not isinstance(performance, Amount)),
            start=Mark(comparison.original, span(bias), span(performance)),
            marks=tuple(marks),
            line=tuple(defined),
        )

    def plot(self, ax: Any = None, *, scaled: bool = False) -> TradeoffDisplay:
        """Draw on axes given, or on a new figure, and return the display.

        With `scaled`, both axes are re-scaled to 0 to 1 between the ends of the line, as the paper
        draws them.
        """
        columns = 0
        if len(self.marks) > MOST_LABELS:
            columns = math.ceil(len(self.marks) / _LISTED)
        shown = self._scaled() if scaled else self
        axes = self._open(ax, [(WIDTH + _COLUMN_WIDTH * columns, _PLANE_HEIGHT)])[0]
        _draw_plane(shown, axes, columns=columns)
        return self

    def _scaled(self) -> TradeoffDisplay:
        """Return the display with both axes re-scaled (Fairea, footnote 4)."""
        points = np.array(self.line)[:, 1:]
        low = points.min(axis=0)
        width = np.ptp(points, axis=0)

        def rescaled(values: Any, axis: int) -> tuple[Any, ...]:
            distance = np.array(values) - low[axis]
            scaled = distance / (width[axis] or 1.0)
            return tuple(scaled.tolist())

        def moved(mark: Mark) -> Mark:
            return replace(
                mark,
                bias=rescaled(mark.bias, 0),
                performance=rescaled(mark.performance, 1),
            )

        degrees = [degree for degree, _, _ in self.line]
        line = zip(
            degrees, rescaled(points[:, 0], 0), rescaled(points[:, 1], 1), strict=True
        )
        bias_name, performance_name = self.axes
        return replace(
            self,
            axes=(
                say(messages.RESCALED_AXIS, name=bias_name),
                say(messages.RESCALED_AXIS, name=performance_name),
            ),
            percent=(False, False),
            start=moved(self.start),
            marks=tuple(moved(mark) for mark in self.marks),
            line=tuple(line),
        )


@dataclass
class SharesDisplay(Display):
    """Shares of the regions, one bar for each mitigation from top to bottom.

    `shares` are in the order of `REGIONS`.

    >>> shares = {"reweighing": {"good trade-off": 0.75, "win-win": 0.25}}
    >>> display = SharesDisplay.from_shares(shares)
    >>> display.names, display.shares
    (('reweighing',), ((0.0, 0.0, 0.0, 0.75, 0.25),))
    """

    title: str
    axis: str
    names: tuple[str, ...]
    shares: tuple[tuple[float, ...], ...]

    @classmethod
    def from_comparison(cls, comparison: Comparison) -> SharesDisplay:
        """Compute what is drawn of a comparison: the regions of its runs, or of its resamples."""
        if comparison.resampled:
            axis = say(messages.SHARE_OF_RESAMPLES, sample=sampled(comparison))
        else:
            axis = say(messages.SHARE_OF_RUNS, runs=number_text.count(comparison.runs))
        return cls.from_shares(comparison.share, about(comparison), axis)

    @classmethod
    def from_shares(
        cls,
        shares: Mapping[str, Mapping[str, float]],
        title: str = "",
        axis: str = messages.SHARE_OF_CASES,
    ) -> SharesDisplay:
        """Compute what is drawn of shares by region for each name.

        A region that is left out has no share, and NaN stands for no data.
        """
        if not shares:
            raise UsageError(messages.NO_SHARES)
        checked = [_checked_shares(name, of_name) for name, of_name in shares.items()]
        return cls(title, axis, tuple(map(str, shares)), tuple(checked))

    def plot(self, ax: Any = None) -> SharesDisplay:
        """Draw on axes given, or on a new figure, and return the display."""
        height = _AROUND_BARS + _BAR_HEIGHT * len(self.names)
        _draw_shares(self, self._open(ax, [(WIDTH, height)])[0])
        return self


def span(estimate: Estimate) -> tuple[float, float, float]:
    """Return value, low and high."""
    return estimate.value, estimate.low, estimate.high


def _checked_shares(name: str, shares: Mapping[str, float]) -> tuple[float, ...]:
    """Return the share of each region, in their order."""
    for region in shares:
        if region not in REGIONS:
            choices = nearest(region, REGIONS)
            message = messages.UNKNOWN_REGION.format(
                name=clip(name), region=clip(repr(region)), choices=choices
            )
            raise UsageError(message)
    found = tuple(float(shares.get(region, 0.0)) for region in REGIONS)
    # Published shares are rounded, and so add up to a little less or more than 1.
    if min(found) < 0 or abs(sum(found) - 1) > 0.03:
        raise UsageError(messages.SHARES_NOT_1.format(name=clip(name), shares=found))
    return found


def _draw_plane(display: TradeoffDisplay, ax: Any, *, columns: int) -> None:
    _, biases, performances = np.array(display.line).T
    line = OverwritingLine.through(biases, performances)
    (left, right), (bottom, top) = view_of(display)
    ax.set_xlim(left, right)
    ax.set_ylim(bottom, top)
    _shade(ax, display.start.place, line)
    _draw_line(ax, line, left)
    ax.plot(biases, performances, "o", color=BLUE, markersize=4, zorder=2)
    look = (say(messages.LEGEND_ORIGINAL), "black", "s")
    _draw_marks(ax, [display.start], look, markersize=6, zorder=5)
    for verdict, look in LOOKS.items():
        if marks := [mark for mark in display.marks if mark.verdict is verdict]:
            _draw_marks(ax, marks, look)
    for axis, percent in zip((ax.xaxis, ax.yaxis), display.percent, strict=True):
        ticks(axis, percent=percent)
    bias_name, performance_name = display.axes
    ax.set_ylabel(
        say(messages.PERFORMANCE_AXIS, name=literal(performance_name)), fontsize=9
    )
    bias_label = say(messages.BIAS_AXIS, name=literal(bias_name))
    ax.set_xlabel(f"{bias_label}\n{flowed(display.note, inches(ax)[0], 0.9)}", fontsize=9)
    head(ax, display.title)
    ax.spines[["top", "right"]].set_visible(False)
    if columns:
        ax.add_artist(ax.get_legend())
        _list(ax, display.marks, columns)
    _write(ax, display, line)


def _draw_line(ax: Any, line: OverwritingLine, left: float) -> None:
    """Draw the line, and dotted how it goes on level to the left end of the axes."""
    level = [line.performance[0]] * 2
    ax.plot([left, line.bias[0]], level, color=BLUE, linewidth=1, linestyle=":", zorder=2)
    style = {"color": BLUE, "linewidth": 1.6, "zorder": 2}
    ax.plot(line.bias, line.performance, label=say(messages.LEGEND_LINE), **style)


def head(ax: Any, title: str) -> None:
    """Write the legend over the axes, and the title over that."""
    _, names = ax.get_legend_handles_labels()
    width, _ = inches(ax)
    columns = min(max(1, int(width / _LEGEND_ENTRY)), len(names))
    ax.legend(
        ncols=columns,
        columnspacing=1.2,
        handletextpad=0.4,
        loc="lower left",
        bbox_to_anchor=(0, 1),
        frameon=False,
        fontsize=8,
        borderaxespad=0.1,
    )
    lines = "\n".join(flowed(line, width) for line in title.split("\n"))
    legend_rows = math.ceil(len(names) / columns)
    ax.set_title(lines, loc="left", fontsize="medium", pad=10 + 14 * legend_rows)


def ticks(axis: Any, *, percent: bool) -> None:
    """Write the numbers of an axis, as percentages where its score is a share."""
    from matplotlib.ticker import FuncFormatter, MaxNLocator

    number = number_text.percent_plain if percent else number_text.plain

    def tick_text(value: float, _: int) -> str:
        return number_text.with_minus(number(value))

    axis.set_major_locator(MaxNLocator(7, steps=[1, 2, 2.5, 5, 10]))
    axis.set_major_formatter(FuncFormatter(tick_text))


def view_of(display: TradeoffDisplay) -> list[tuple[float, float]]:
    """Return the ends of both axes.

    They go around all points, and around intervals that are not much longer than that.
    """
    marks = (display.start, *display.marks)
    _, line_biases, line_performances = zip(*display.line, strict=True)
    biases = [mark.bias for mark in marks]
    performances = [mark.performance for mark in marks]
    start_bias, start_performance = display.start.place
    bias_ends = _axis_ends(biases, line_biases, start_bias)
    return [bias_ends, _axis_ends(performances, line_performances, start_performance)]


def _axis_ends(
    spans: Sequence[tuple[float, float, float]], line: Sequence[float], start: float
) -> tuple[float, float]:
    """Return the ends of one axis, from value, low and high of each mark."""
    places = [*(value for value, _, _ in spans), *line]
    low, high = min(places), max(places)
    # Intervals may be as long again as all points are apart; the rest of them is cut off.
    room = (high - low) or 1.0
    near = np.clip(spans, low - room, high + room)
    low = min(low, float(near.min()))
    high = max(high, float(near.max()))
    width = high - low
    # There is room for the names of the regions over the original and right of it.
    return low - 0.04 * width, max(high + 0.04 * width, start + 0.18 * width)


def _shade(ax: Any, start: tuple[float, float], line: OverwritingLine) -> None:
    """Shade the five regions."""
    bias, performance = start
    view = (ax.get_xlim(), ax.get_ylim())
    for code, across, low, high in bands(start, line, view):
        ax.fill_between(
            across, low, high, color=COLOURS[code], alpha=0.14, linewidth=0, zorder=0
        )
    ax.axvline(bias, color="white", linewidth=1.5, zorder=1)
    ax.axhline(performance, color="white", linewidth=1.5, zorder=1)


def _draw_marks(
    ax: Any, marks: Sequence[Mark], look: tuple[str, str, str], **more: Any
) -> None:
    name, colour, marker = look
    biases = np.array([mark.bias for mark in marks]).T
    performances = np.array([mark.performance for mark in marks]).T
    style = {
        "ecolor": colour,
        "elinewidth": 1.2,
        "capsize": 2.5,
        "capthick": 1.2,
        "color": colour,
        "markeredgecolor": "black",
        "markeredgewidth": 0.8,
        "markersize": 8,
        "zorder": 3,
    }
    ax.errorbar(
        biases[0],
        performances[0],
        yerr=_error_bars(performances),
        xerr=_error_bars(biases),
        fmt=marker,
        label=name,
        **(style | more),
    )


def _error_bars(spans: Any) -> list[Any]:
    """Return how far intervals go down and up from their values, as Matplotlib takes them."""
    values, lows, highs = spans
    return [np.maximum(values - lows, 0), np.maximum(highs - values, 0)]


def _list(ax: Any, marks: Sequence[Mark], columns: int) -> None:
    """List the numbered names right of the axes."""
    from matplotlib.lines import Line2D

    names = []
    handles = []
    for number, mark in enumerate(marks, 1):
        names.append(f"{number}  {literal(mark.label, 30)}")
        _, colour, marker = LOOKS[mark.verdict or Verdict.UNDECIDED]
        style: dict[str, Any] = {"markeredgecolor": "black", "markersize": 6}
        handles.append(Line2D([], [], linestyle="", color=colour, marker=marker, **style))
    ax.legend(
        handles,
        names,
        loc="upper left",
        bbox_to_anchor=(1.01, 1),
        ncols=columns,
        frameon=False,
        fontsize=8,
    )


def _write(ax: Any, display: TradeoffDisplay, line: OverwritingLine) -> None:
    """Write names beside points, degrees beside the ends of the line, and the regions' names."""
    # Where the points will stand is known only after the layout.
    ax.figure.figure.draw_without_rendering()
    labels = Labels(ax)
    for mark in (display.start, *display.marks):
        labels.keep(mark)
    # Labels had better not cover the line: it is kept clear at many places, but with less weight.
    steps = np.linspace(line.bias[0], line.bias[-1], 60)
    for bias, performance in zip(steps, line.at(steps), strict=True):
        labels.keep(Mark("", (bias,) * 3, (performance,) * 3), reach=2, weight=4.0)
    numbered = len(display.marks) > MOST_LABELS
    for number, mark in enumerate(display.marks, 1):
        label = str(number) if numbered else literal(mark.label, 30)
        labels.beside(label, mark.place, fontsize=9)
    original = literal(display.start.label, 30)
    labels.beside(original, display.start.place, fontsize=9, fontweight="bold")
    ends = (display.line[0], display.line[-1])
    for degree, *place in (end for end in ends if not math.isnan(end[0])):
        labels.beside(number_text.percent_figures(degree), place, fontsize=8, color=BLUE)
    plane = Plane(display.start.place, line)
    for code, corner in _CORNERS.items():
        labels.inside(REGIONS[code], plane.regions, code, corner)


def _draw_shares(display: SharesDisplay, ax: Any) -> None:
    places = np.arange(len(display.names))
    shares = np.array(display.shares)
    left = np.zeros(len(places))
    style = {"edgecolor": "white", "linewidth": 0.8}
    for code, region in enumerate(REGIONS):
        part = np.nan_to_num(shares[:, code])
        ax.barh(places, part, 0.72, left, color=COLOURS[code], label=region, **style)
        for place, share, start in zip(places, part, left, strict=True):
            if share >= _NARROWEST:
                middle = start + share / 2
                percent = number_text.percent(share, 0)
                ax.text(middle, place, percent, ha="center", va="center", fontsize=8)
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
