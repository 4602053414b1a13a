"""What a search found, drawn.

There are up to four panels: how many inputs were found over the queries, a map of them, the rules
that hold them, and what they rest on.
"""

from __future__ import annotations

import math
import textwrap
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

import numpy as np

from evenhand.methods.search import messages
from evenhand.report.canvas import (
    BLUE,
    GREEN,
    GREY,
    ORANGE,
    PURPLE,
    SKY,
    VERMILLION,
    WIDTH,
    YELLOW,
    Display,
    literal,
)
from evenhand.report.finding_text import searches_of, subject_of
from evenhand.report.rates_display import RatesDisplay
from evenhand.runtime import number_text
from evenhand.runtime.errors import clip
from evenhand.runtime.label_text import shown
from evenhand.runtime.language import say
from evenhand.space.rule import Rule
from evenhand.statistics.estimate import Estimate

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from evenhand.results.evidence import Finding
    from evenhand.results.result import Result
    from evenhand.runtime.label_text import Words

MOST_SEARCHES = 4
"""The most findings that are drawn, those with the best evidence."""
MOST_BARS = 12
"""The most bars of a panel."""
_OUTCOMES = (
    (SKY, "o"),
    (ORANGE, "s"),
    (GREEN, "^"),
    (PURPLE, "v"),
    (YELLOW, "D"),
    (BLUE, "P"),
)
"""Colour and marker of each outcome on a map.

More outcomes than these are numbers on a scale, or one kind.
"""
_LINE = 0.16
_GAP = 0.14
_BAR = 0.18
_AROUND = 1.1
"""Inches of a line of a label, between two labels, of a bar, and of what is around the bars."""
_LEGEND_LETTERS = 76
"""Letters that fit side by side in a legend."""
_LABEL_LETTERS = 34
"""Letters that fit on a line before a bar."""
_TITLE_LETTERS = 90
"""Letters that fit in a title."""
_JOINED = "\N{NO-BREAK SPACE}"


@dataclass(frozen=True, slots=True)
class ProgressCurve:
    """How many inputs were found, and in how many coarse cells, after so many queries."""

    title: str
    queries: tuple[int, ...]
    found: tuple[int, ...]
    cells: tuple[int, ...]

    @property
    def high(self) -> float:
        """Inches that the panel takes."""
        return 3.0

    @property
    def ceiling(self) -> float:
        """The most inputs that there could be: one takes two queries to be found."""
        return self.queries[-1] / 2

    @property
    def top(self) -> float:
        """The upper end of the axis of inputs."""
        # A ceiling far over what was found would press the lines to the ground.
        top = min(self.ceiling, 2 * max(self.found))
        return max(top * 1.05, 1)

    def draw(self, ax: Any) -> None:
        """Draw the lines, and the most inputs there could be."""
        from matplotlib.ticker import FuncFormatter, MaxNLocator

        spent = self.queries[-1]
        ceiling = self.ceiling
        ax.plot(
            (0, spent),
            (0, ceiling),
            color="0.75",
            linestyle="--",
            label=say(messages.CEILING),
            zorder=1,
        )
        ax.plot(
            self.queries,
            self.found,
            color=VERMILLION,
            linewidth=2,
            label="inputs found",
        )
        ax.plot(
            self.queries,
            self.cells,
            color=BLUE,
            linewidth=2,
            linestyle="-.",
            label="cells",
        )
        ax.set_xlim(0, max(spent, 1))
        ax.set_ylim(0, self.top)
        for axis in (ax.xaxis, ax.yaxis):
            axis.set_major_locator(MaxNLocator(6, steps=[1, 2, 5, 10], integer=True))
            axis.set_major_formatter(FuncFormatter(lambda number, _: f"{number:,.0f}"))
        ax.set_xlabel("queries", loc="right")
        _finish(ax, self.title, pad=_legend(ax))


@dataclass(frozen=True, slots=True)
class OutcomeMap:
    """Found inputs over others, whose outcomes show where the boundary lies.

    The map has two directions of the space; `axes` names the features that weigh most in each:
    across the boundary, and along it.
    """

    title: str
    axes: tuple[str, str]
    found: tuple[tuple[float, float], ...]
    others: tuple[tuple[float, float, Any], ...]
    words: Words = field(default_factory=dict)
    """What people call the outcomes."""

    @property
    def high(self) -> float:
        """Inches that the panel takes."""
        return 4.6

    def legend(self, outcome: Any) -> str:
        """Return what the legend calls the inputs of an outcome."""
        return say(messages.OUTCOME_LEGEND, outcome=shown(outcome, self.words))

    def draw(self, ax: Any) -> None:
        """Draw the points, those found on top."""
        self._draw_others(ax)
        ax.scatter(
            *zip(*self.found, strict=True),
            s=24,
            marker="x",
            color=VERMILLION,
            linewidths=1,
            label="found",
            zorder=3,
        )
        across, along = self.axes
        ax.set_xlabel(_x_label(across))
        ax.set_ylabel(_y_label(along))
        # Directions have no unit.
        ax.tick_params(labelbottom=False, labelleft=False, length=0)
        _finish(ax, self.title, pad=_legend(ax))

    def _draw_others(self, ax: Any) -> None:
        """Draw the points that are not hits, by their outcomes."""
        outcomes = [outcome for *_, outcome in self.others]
        kinds = sorted(
            set(outcomes), key=lambda outcome: (isinstance(outcome, str), outcome)
        )
        coordinates = [(x, y) for x, y, _ in self.others]
        places = np.array(coordinates, dtype=np.float64).reshape(-1, 2)
        look = {"s": 18, "linewidths": 0, "alpha": 0.6, "zorder": 2}
        if len(kinds) <= len(_OUTCOMES):
            for kind, (colour, marker) in zip(kinds, _OUTCOMES, strict=False):
                is_kind = [outcome == kind for outcome in outcomes]
                ax.scatter(
                    *places[is_kind].T,
                    color=colour,
                    marker=marker,
                    label=literal(self.legend(kind), 28),
                    **look,
                )
        elif not any(isinstance(kind, str) for kind in kinds):
            numbers = np.array(outcomes, dtype=np.float64)
            scale = ax.scatter(*places.T, c=numbers, cmap="cividis", **look)
            ax.figure.colorbar(scale, ax=ax, label=say(messages.OTHER_OUTCOMES_SCALE))
        else:
            count = number_text.count(len(kinds))
            label = say(messages.OTHER_OUTCOMES_LEGEND, outcomes=count)
            ax.scatter(*places.T, color=GREY, label=label, **look)


@dataclass(frozen=True, slots=True)
class ShareBar:
    """A share with its interval; `value` is None where nothing was observed."""

    label: str
    value: float | None
    low: float
    high: float


@dataclass(frozen=True, slots=True)
class ShareBars:
    """Shares from top to bottom; the last may be what the others are compared with."""

    title: str
    axis: str
    bars: tuple[ShareBar, ...]
    compared: bool = False

    @property
    def _rows(self) -> list[float]:
        """Inches that each bar takes, as its label needs."""
        rows = []
        for bar in self.bars:
            lines = 1 + bar.label.count("\n")
            rows.append(_GAP + _LINE * lines)
        return rows

    @property
    def high(self) -> float:
        """Inches that the panel takes."""
        return _AROUND + sum(self._rows)

    def draw(self, ax: Any) -> None:
        """Draw the bars and their intervals."""
        from matplotlib.ticker import FuncFormatter, MaxNLocator

        places = np.cumsum(self._rows) - np.array(self._rows) / 2
        colours = [BLUE] * len(self.bars)
        if self.compared:
            colours[-1] = "0.7"
        ax.barh(
            places,
            [bar.value or 0.0 for bar in self.bars],
            _BAR,
            color=colours,
            edgecolor="black",
            linewidth=0.6,
        )
        for place, bar in zip(places.tolist(), self.bars, strict=True):
            _draw_interval(ax, place, bar)
        ax.set_yticks(places, [bar.label for bar in self.bars], fontsize=9)
        ax.set_ylim(sum(self._rows), 0)
        known = [bar.high for bar in self.bars if bar.value is not None]
        ax.set_xlim(0, max([*known, 1e-6]) * 1.05)
        ax.xaxis.set_major_locator(MaxNLocator(6, steps=[1, 2, 5, 10]))
        ax.xaxis.set_major_formatter(
            FuncFormatter(lambda share, _: number_text.percent_plain(share))
        )
        ax.set_xlabel(self.axis, loc="right", fontsize="small")
        _finish(ax, self.title)


def _draw_interval(ax: Any, place: float, bar: ShareBar) -> None:
    """Draw the interval of a bar, or that there are no data."""
    if bar.value is None:
        ax.text(0.0, place, " no data", va="center", fontsize="small", style="italic")
        return
    below = max(0.0, bar.value - bar.low)
    above = max(0.0, bar.high - bar.value)
    ax.errorbar(
        bar.value,
        place,
        xerr=[[below], [above]],
        color="black",
        capsize=3,
        linewidth=1.2,
    )


Panel = ProgressCurve | OutcomeMap | ShareBars


@dataclass
class SearchDisplay(Display):
    """What a search found: its curve, map, rules and drivers, as far as there are data for each.

    >>> from evenhand.statistics.estimate import Witnesses
    >>> from evenhand.results.evidence import Finding
    >>> curve = [[0, 0, 0], [40, 9, 3]]
    >>> entry = {"found": 9, "curve": curve, "regions": [], "drivers": [], "map": None}
    >>> found = Finding("found", ("sex",), Witnesses.of(9, 20, "adaptive"))
    >>> SearchDisplay(panels_of(found, entry)).panels[0].title
    'sex: 9 discriminatory inputs found'
    """

    panels: tuple[Panel, ...]
    left_out: int = 0

    @classmethod
    def from_result(cls, result: Result) -> SearchDisplay:
        """Compute what is drawn of a result of `search`."""
        panels: list[Panel] = []
        drawn = 0
        left_out = 0
        for finding, entry in searches_of(result):
            if entry is None:
                continue
            if drawn == MOST_SEARCHES:
                left_out += 1
                continue
            panels.extend(panels_of(finding, entry))
            drawn += 1
        return cls(tuple(panels), left_out)

    def plot(self, ax: Any = None) -> SearchDisplay:
        """Draw the first panel on axes given, or all panels on a new figure.

        Returns the display.
        """
        sizes = [(WIDTH, panel.high) for panel in self.panels]
        for axes, panel in zip(self._open(ax, sizes), self.panels, strict=False):
            panel.draw(axes)
        if self.left_out and ax is None:
            last = self.axes_[-1]
            number = number_text.count(self.left_out)
            more = say(messages.MORE_FINDINGS, number=number)
            last.set_xlabel(f"{last.get_xlabel()}\n{more}")
        return self


def panels_of(finding: Finding, entry: Mapping[str, Any]) -> tuple[Panel, ...]:
    """Return the panels of one finding of a search.

    The curve is always there, the others where there are data.
    """
    about = subject_of(finding)
    panels: list[Panel] = [_curve(about, entry)]
    drawn = entry.get("map")
    if drawn and drawn["found"]:
        panels.append(_map(about, drawn, finding.outcome_words))
    regions = entry.get("regions") or ()
    # The last region is everybody, to compare the others with.
    if len(regions) > 1:
        panels.append(_region_bars(about, regions))
    drivers = entry.get("drivers")
    if drivers:
        panels.append(_driver_bars(about, drivers))
    return tuple(panels)


def _curve(about: str, entry: Mapping[str, Any]) -> ProgressCurve:
    curve = entry["curve"] or [[0, 0, 0]]
    queries, found, cells = zip(*curve, strict=True)
    if entry["found"]:
        inputs = number_text.many(entry["found"], "discriminatory input")
        title = say(messages.CURVE_TITLE_FOUND, about=about, inputs=inputs)
    else:
        title = say(messages.CURVE_TITLE_NOTHING, about=about)
    return ProgressCurve(literal(title, _TITLE_LETTERS), queries, found, cells)


def _map(about: str, drawn: Mapping[str, Any], words: Words) -> OutcomeMap:
    title = say(messages.MAP_TITLE, about=about)
    across, along = drawn["axes"][:2]
    return OutcomeMap(
        title=literal(title, _TITLE_LETTERS),
        axes=(across, along),
        found=tuple((x, y) for x, y in drawn["found"]),
        others=tuple((x, y, outcome) for x, y, outcome in drawn["others"]),
        words=words,
    )


def _region_bars(about: str, regions: Sequence[Mapping[str, Any]]) -> ShareBars:
    levels = _levels(regions)
    axis = say(messages.REGIONS_AXIS)
    if levels:
        axis = say(messages.REGIONS_AXIS_WITH_LEVELS, levels=levels)
    bars = []
    for region in regions[-MOST_BARS:]:
        rule = Rule.from_dict(region["rule"]).spoken_for(region["text"])
        bars.append(_bar(rule, region["estimate"]))
    title = say(messages.REGIONS_TITLE, about=about)
    return ShareBars(literal(title, _TITLE_LETTERS), axis, tuple(bars), compared=True)


def _driver_bars(about: str, drivers: Sequence[Mapping[str, Any]]) -> ShareBars:
    levels = _levels(drivers)
    axis = say(messages.DRIVERS_AXIS)
    if levels:
        axis = say(messages.DRIVERS_AXIS_WITH_LEVELS, levels=levels)
    if len(drivers) > MOST_BARS:
        number = number_text.count(len(drivers) - MOST_BARS)
        axis += "\n" + say(messages.MORE_FEATURES, number=number)
    bars = [_bar(driver["feature"], driver["estimate"]) for driver in drivers[:MOST_BARS]]
    title = say(messages.DRIVERS_TITLE, about=about)
    return ShareBars(literal(title, _TITLE_LETTERS), axis, tuple(bars))


def _bar(about: str, table: Mapping[str, Any]) -> ShareBar:
    estimate = Estimate.from_dict(table)
    lines = _wrapped(about)
    lines[-1] += f", n = {number_text.count(estimate.n)}"
    value = None if math.isnan(estimate.value) else estimate.value
    return ShareBar(
        label="\n".join(literal(line, 60) for line in lines),
        value=value,
        low=estimate.low,
        high=estimate.high,
    )


def _wrapped(about: str) -> list[str]:
    """Return the lines of a label.

    A condition stays on one line where it fits, so that no number stands apart from its feature.
    """
    parts = []
    for part in clip(about, 120).split(", "):
        fits = len(part) < _LABEL_LETTERS
        parts.append(part.replace(" ", _JOINED) if fits else part)
    wrapped = textwrap.wrap(", ".join(parts), _LABEL_LETTERS, break_on_hyphens=False)
    if not wrapped:
        return [""]
    return [line.replace(_JOINED, " ") for line in wrapped]


def _levels(entries: Sequence[Mapping[str, Any]]) -> str:
    """Return the levels of the intervals in one phrase, empty where all shares are exact."""
    levels = {entry["estimate"]["level"] for entry in entries}
    uncertain = sorted(level for level in levels if level < 1)
    return number_text.percent_levels(uncertain) if uncertain else ""


def _x_label(features: str) -> str:
    if not features:
        return say(messages.MAP_X_AXIS)
    return say(messages.MAP_X_AXIS_OF, features=literal(features, 50))


def _y_label(features: str) -> str:
    if not features:
        return say(messages.MAP_Y_AXIS)
    return say(messages.MAP_Y_AXIS_OF, features=literal(features, 50))


def _legend(ax: Any) -> float:
    """Put the legend between the axes and the title, and return the points that it takes there."""
    names = ax.get_legend_handles_labels()[1]
    columns = len(names)
    # A marker takes as much as six letters.
    widths = [6 + len(name) for name in names]
    if sum(widths) > _LEGEND_LETTERS:
        columns = max(1, _LEGEND_LETTERS // max(widths))
    ax.legend(
        loc="lower left",
        bbox_to_anchor=(0, 1),
        ncols=columns,
        frameon=False,
        fontsize="small",
        markerscale=1.4,
        borderaxespad=0.2,
    )
    return 8.0 + 14 * math.ceil(len(names) / columns)


def _finish(ax: Any, title: str, pad: float = 6) -> None:
    ax.set_title(title, loc="left", fontsize="medium", pad=pad)
    ax.grid(color="0.92")
    ax.set_axisbelow(True)
    ax.spines[["top", "right"]].set_visible(False)


def display_of(result: Result) -> Display:
    """Return the display of a result; what has no details is drawn by its findings."""
    if not searches_of(result):
        return RatesDisplay.from_findings(result.findings)
    return SearchDisplay.from_result(result)
