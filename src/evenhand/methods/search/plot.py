"""What a search found, drawn: how many over the queries, a map of them, the rules that hold them,
what they rest on.
"""

from __future__ import annotations

import math
import textwrap
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np

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
from evenhand.statistics.estimate import Estimate

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from evenhand.results.evidence import Finding
    from evenhand.results.result import Result

MOST_SEARCHES = 4
"""The most findings that are drawn, those with the best evidence."""
MOST_BARS = 12
"""The most bars of a panel."""
_OUTCOMES = ((SKY, "o"), (ORANGE, "s"), (GREEN, "^"), (PURPLE, "v"), (YELLOW, "D"), (BLUE, "P"))
"""Colour and marker of each outcome on a map; more outcomes than these are numbers on a scale, or
one kind.
"""
_LINE, _GAP, _BAR, _AROUND = 0.16, 0.14, 0.18, 1.1
_ACROSS, _LABEL = 76, 34
"""Letters that fit side by side in a legend, and on a line before a bar."""
_JOINED = "\N{NO-BREAK SPACE}"


@dataclass(frozen=True, slots=True)
class Curve:
    """How many inputs were found, and in how many coarse cells, after so many queries; and the most
    there could be.
    """

    title: str
    queries: tuple[int, ...]
    found: tuple[int, ...]
    cells: tuple[int, ...]

    @property
    def high(self) -> float:
        """Inches that the panel takes."""
        return 3.0

    def draw(self, ax: Any) -> None:
        """Draw the lines."""
        from matplotlib.ticker import FuncFormatter, MaxNLocator

        ends = (0, self.queries[-1])
        ax.plot(
            ends,
            (0, ends[1] / 2),
            color="0.75",
            linestyle="--",
            label="ceiling, 500 per 1,000 queries",
            zorder=1,
        )
        ax.plot(self.queries, self.found, color=VERMILLION, linewidth=2, label="inputs found")
        ax.plot(self.queries, self.cells, color=BLUE, linewidth=2, linestyle="-.", label="cells")
        ax.set_xlim(0, max(ends[1], 1))
        # A ceiling far over what was found would press the lines to the ground.
        ax.set_ylim(0, max(min(ends[1] / 2, 2 * max(self.found)) * 1.05, 1))
        for axis in (ax.xaxis, ax.yaxis):
            axis.set_major_locator(MaxNLocator(6, steps=[1, 2, 5, 10], integer=True))
            axis.set_major_formatter(FuncFormatter(lambda number, _: f"{number:,.0f}"))
        ax.set_xlabel("queries", loc="right")
        _finish(ax, self.title, pad=_legend(ax))


@dataclass(frozen=True, slots=True)
class Map:
    """Found inputs over others, whose outcomes show where the boundary lies, in two directions of
    the space.

    `axes` names the features that weigh most in each: across the boundary, and along it.
    """

    title: str
    axes: tuple[str, str]
    found: tuple[tuple[float, float], ...]
    others: tuple[tuple[float, float, Any], ...]

    @property
    def high(self) -> float:
        """Inches that the panel takes."""
        return 4.6

    def draw(self, ax: Any) -> None:
        """Draw the points, those found on top."""
        outcomes = [outcome for *_, outcome in self.others]
        kinds = sorted(set(outcomes), key=lambda outcome: (isinstance(outcome, str), outcome))
        places = np.array([place[:2] for place in self.others], dtype=np.float64).reshape(-1, 2)
        small = {"s": 18, "linewidths": 0, "alpha": 0.6, "zorder": 2}
        if len(kinds) <= len(_OUTCOMES):
            for kind, (colour, marker) in zip(kinds, _OUTCOMES, strict=False):
                mine = places[[outcome == kind for outcome in outcomes]]
                ax.scatter(
                    *mine.T,
                    color=colour,
                    marker=marker,
                    label=f"outcome {literal(str(kind), 20)}",
                    **small,
                )
        elif not any(isinstance(kind, str) for kind in kinds):
            scale = ax.scatter(
                *places.T, c=np.array(outcomes, dtype=np.float64), cmap="cividis", **small
            )
            ax.figure.colorbar(scale, ax=ax, label="outcome of other inputs")
        else:
            ax.scatter(
                *places.T, color=GREY, label=f"other inputs, {len(kinds):,} outcomes", **small
            )
        ax.scatter(
            *zip(*self.found, strict=True),
            s=24,
            marker="x",
            color=VERMILLION,
            linewidths=1,
            label="found",
            zorder=3,
        )
        ax.set_xlabel(_direction("where the outcome changes most", self.axes[0]))
        ax.set_ylabel(_direction("across it", self.axes[1]))
        ax.tick_params(labelbottom=False, labelleft=False, length=0)  # directions have no unit
        _finish(ax, self.title, pad=_legend(ax))


@dataclass(frozen=True, slots=True)
class Bar:
    """A share with its interval; `value` is None where nothing was observed."""

    label: str
    value: float | None
    low: float
    high: float


@dataclass(frozen=True, slots=True)
class Bars:
    """Shares from top to bottom; the last may be what the others are compared with."""

    title: str
    axis: str
    bars: tuple[Bar, ...]
    compared: bool = False

    @property
    def _rows(self) -> list[float]:
        """Inches that each bar takes, as its label needs."""
        return [_GAP + _LINE * (1 + bar.label.count("\n")) for bar in self.bars]

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
            if bar.value is None:
                ax.text(0.0, place, " no data", va="center", fontsize="small", style="italic")
            else:
                below, over = max(0.0, bar.value - bar.low), max(0.0, bar.high - bar.value)
                ax.errorbar(
                    bar.value,
                    place,
                    xerr=[[below], [over]],
                    color="black",
                    capsize=3,
                    linewidth=1.2,
                )
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


Panel = Curve | Map | Bars


@dataclass
class SearchDisplay(Display):
    """What a search found: its curve, map, rules and drivers, as far as there are data for each.

    >>> from evenhand.statistics.estimate import Witnesses
    >>> from evenhand.results.evidence import Finding
    >>> entry = {"found": 9, "curve": [[0, 0, 0], [40, 9, 3]], "regions": [], "drivers": [], "map": None}
    >>> found = Finding("found", ("sex",), Witnesses.of(9, 20, "adaptive"))
    >>> SearchDisplay(panels_of(found, entry)).panels[0].title
    'sex: 9 discriminatory inputs found'
    """

    panels: tuple[Panel, ...]
    left_out: int = 0

    @classmethod
    def from_result(cls, result: Result) -> SearchDisplay:
        """Compute what is drawn of a result of `search`."""
        found = [(finding, entry) for finding, entry in searches_of(result) if entry is not None]
        panels = [
            panel for finding, entry in found[:MOST_SEARCHES] for panel in panels_of(finding, entry)
        ]
        return cls(tuple(panels), max(0, len(found) - MOST_SEARCHES))

    def plot(self, ax: Any = None) -> SearchDisplay:
        """Draw on axes given (the first panel), or all panels on a new figure, and return the
        display.
        """
        sizes = [(WIDTH, panel.high) for panel in self.panels]
        for axes, panel in zip(self._open(ax, sizes), self.panels, strict=False):
            panel.draw(axes)
        if self.left_out and ax is None:
            last = self.axes_[-1]
            last.set_xlabel(f"{last.get_xlabel()}\n… {self.left_out:,} more findings")
        return self


def panels_of(finding: Finding, entry: Mapping[str, Any]) -> tuple[Panel, ...]:
    """Return the panels of one finding of a search; the curve is always there, others where there
    are data.
    """
    about = subject_of(finding)
    queries, found, cells = zip(*entry["curve"] or [[0, 0, 0]], strict=True)
    count = entry["found"]
    many_found = (
        f"{number_text.many(count, 'discriminatory input')} found" if count else "nothing found"
    )
    title = f"{about}: {many_found}"
    panels: list[Panel] = [Curve(literal(title, 90), queries, found, cells)]
    if (drawn := entry.get("map")) and drawn["found"]:
        spots = tuple((x, y) for x, y in drawn["found"])
        others = tuple((x, y, outcome) for x, y, outcome in drawn["others"])
        axes = drawn["axes"][0], drawn["axes"][1]
        panels.append(Map(literal(f"{about}: where the boundary lies", 90), axes, spots, others))
    if (
        len(regions := entry.get("regions") or ()) > 1
    ):  # the last is everybody, to compare the others with
        bars = [_bar(region["text"], region["estimate"]) for region in regions[-MOST_BARS:]]
        axis = _axis(
            "share of discriminatory inputs among uniform inputs that meet the rule", regions
        )
        panels.append(
            Bars(literal(f"{about}: where they lie", 90), axis, tuple(bars), compared=True)
        )
    if drivers := entry.get("drivers"):
        bars = [_bar(driver["feature"], driver["estimate"]) for driver in drivers[:MOST_BARS]]
        axis = _axis(
            "share of the inputs found whose discrimination another value of the feature ends",
            drivers,
        )
        if len(drivers) > MOST_BARS:
            axis += f"\n… {len(drivers) - MOST_BARS:,} more features"
        panels.append(Bars(literal(f"{about}: what they rest on", 90), axis, tuple(bars)))
    return tuple(panels)


def _bar(about: str, table: Mapping[str, Any]) -> Bar:
    estimate = Estimate.from_dict(table)
    # A condition stays on one line where it fits, so that no number stands apart from its feature.
    parts = [
        part.replace(" ", _JOINED) if len(part) < _LABEL else part
        for part in clip(about, 120).split(", ")
    ]
    wrapped = textwrap.wrap(", ".join(parts), _LABEL, break_on_hyphens=False) or [""]
    lines = [line.replace(_JOINED, " ") for line in wrapped]
    lines[-1] += f", n = {estimate.n:,}"
    label = "\n".join(literal(line, 60) for line in lines)
    return Bar(
        label, None if math.isnan(estimate.value) else estimate.value, estimate.low, estimate.high
    )


def _axis(what: str, entries: Sequence[Mapping[str, Any]]) -> str:
    levels = sorted(
        {entry["estimate"]["level"] for entry in entries if entry["estimate"]["level"] < 1}
    )
    return f"{what},\nintervals at {number_text.percent_levels(levels)}" if levels else what


def _direction(what: str, features: str) -> str:
    return f"{what}: {literal(features, 50)}" if features else what


def _legend(ax: Any) -> float:
    """Put the legend between the axes and the title, and return the points that it takes there."""
    names = ax.get_legend_handles_labels()[1]
    columns = len(names)
    if sum(6 + len(name) for name in names) > _ACROSS:
        columns = max(1, _ACROSS // (6 + max(map(len, names))))
    look = {"frameon": False, "fontsize": "small", "markerscale": 1.4, "borderaxespad": 0.2}
    ax.legend(loc="lower left", bbox_to_anchor=(0, 1), ncols=columns, **look)
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
