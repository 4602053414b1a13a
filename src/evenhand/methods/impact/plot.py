"""Display of impact ratios: each category against the highest rate, with its interval, and those
that are left out.
"""

from __future__ import annotations

import textwrap
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from evenhand.methods.impact.selection_rates import tables_of
from evenhand.methods.impact.text import listed
from evenhand.report.canvas import (
    BLUE,
    GREEN,
    GREY,
    ORANGE,
    VERMILLION,
    WIDTH,
    Display,
    finish_rows,
    intervals,
    literal,
)
from evenhand.report.finding_text import NO_DATA
from evenhand.report.rates_display import RatesDisplay
from evenhand.runtime import number_text
from evenhand.statistics.estimate import Estimate, Verdict

if TYPE_CHECKING:
    from collections.abc import Mapping

    from evenhand.results.evidence import Finding
    from evenhand.results.result import Result

MOST_ROWS = 30
"""The most categories of a set that are drawn, those with the lowest ratios."""
_ROW, _AROUND = 0.3, 1.5
_LOOKS = {
    Verdict.FAIL: ("below", VERMILLION, "X"),
    Verdict.UNDECIDED: ("undecided", ORANGE, "D"),
    Verdict.PASS: ("at or over", GREEN, "o"),
    None: ("impact ratio", BLUE, "o"),
}


@dataclass(frozen=True, slots=True)
class Bar:
    """One category: its label, its impact ratio with its interval, or what is said instead of one."""

    label: str
    ratio: Estimate | None = None
    verdict: Verdict | None = None
    instead: str = ""


@dataclass(frozen=True, slots=True)
class Panel:
    """The categories of one set from top to bottom, and the limit that they are held against."""

    title: str
    axis: str
    bars: tuple[Bar, ...]
    limit: float | None = None


@dataclass
class ImpactDisplay(Display):
    """The impact ratios of each set of categories, lowest first, and in grey those that are left
    out.

    >>> from evenhand.runtime.budget import Spent
    >>> from evenhand.statistics.estimate import StopReason
    >>> from evenhand.results.result import Result
    >>> ImpactDisplay.from_result(Result("impact", [], 0, Spent(0, 0, 0.0), StopReason.ENUMERATED, {})).panels
    ()
    """

    panels: tuple[Panel, ...]

    @classmethod
    def from_result(cls, result: Result) -> ImpactDisplay:
        """Compute what is drawn of a result of `impact`."""
        findings = {finding.about: finding for finding in result.findings}
        return cls(
            tuple(_panel(table, findings[tuple(table["over"])]) for table in tables_of(result))
        )

    def plot(self, ax: Any = None) -> ImpactDisplay:
        """Draw on axes given, or on a new figure, and return the display.

        A new figure has a panel for each set; axes given get the first. Labels are long: make the
        figure of axes given with ``layout="constrained"``.
        """
        panels = self.panels or (Panel("no impact tables", "", ()),)
        sizes = [(WIDTH, _AROUND + _ROW * len(panel.bars)) for panel in panels]
        for axes, panel in zip(self._open(ax, sizes), panels, strict=False):
            _draw(panel, axes)
        return self


def _panel(table: Mapping[str, Any], finding: Finding) -> Panel:
    bars = sorted((_bar(one, finding.limit) for one in listed(table, MOST_ROWS)), key=_place)
    if (more := len(table["categories"]) - len(bars)) > 0:
        bars.append(Bar("", instead=f"… {more:,} more categories"))
    verdict = "" if finding.verdict is None else f"{finding.verdict}: "
    title_lines = textwrap.wrap(number_text.unbroken(f"{verdict}{finding.claim}"), 56)
    title = "\n".join(literal(line) for line in title_lines)
    level, what = finding.estimate.level, f"{table['kind']} rate divided by the highest"
    lines = [
        f"{what}, intervals at {number_text.percent_level(level)}",
        f"{table['rows']:,} rows, {table['unknown']:,} unknown",
    ]
    return Panel(title, "\n".join(lines), tuple(bars), finding.limit)


def _bar(one: Mapping[str, Any], limit: float | None) -> Bar:
    about = ", ".join(str(value) for value in one["about"].values())
    rate = (
        ""
        if one["rate"]["value"] is None
        else f", rate {number_text.percent(one['rate']['value'])}"
    )
    label = f"{literal(about, 36)}{rate}, n = {one['n']:,}"
    if one["ratio"] is None:
        return Bar(label, instead=f"left out: {one['left_out']}")
    ratio = Estimate.from_dict(one["ratio"])
    if not one["n"] or one["ratio"]["value"] is None:
        return Bar(label, instead=NO_DATA)
    return Bar(label, ratio, None if limit is None else ratio.verdict(limit, least=True))


def _place(bar: Bar) -> float:
    return 2.0 if bar.ratio is None else bar.ratio.value


def _draw(panel: Panel, ax: Any) -> None:
    from matplotlib.ticker import MultipleLocator

    bars = panel.bars
    ax.set_xlim(-0.02, 1.04)
    ax.axvline(1, color="0.8", linewidth=1, zorder=0)
    for verdict, (name, colour, marker) in _LOOKS.items():
        some = [
            (at, bar.ratio)
            for at, bar in enumerate(bars)
            if bar.ratio is not None and bar.verdict == verdict
        ]
        if some:
            intervals(ax, some, colour, marker, name)
    for at, bar in enumerate(bars):
        if bar.instead:
            how = {"va": "center", "style": "italic", "color": GREY, "fontsize": 9}
            ax.text(0.02, at, literal(bar.instead), transform=ax.get_yaxis_transform(), **how)
    if panel.limit is not None:
        name = f"engineering threshold {number_text.limit(panel.limit)} (at least)"
        ax.axvline(panel.limit, color=GREY, linestyle="--", label=name)
        entries = len({bar.verdict for bar in bars if bar.ratio is not None}) + 1
        # At the right end, from where it has the room of the labels too.
        ax.legend(
            loc="lower right", bbox_to_anchor=(1, 1), ncols=entries, frameon=False, fontsize="small"
        )
    ax.xaxis.set_major_locator(MultipleLocator(0.2))
    finish_rows(
        ax, [bar.label for bar in bars], panel.axis, panel.title, limited=panel.limit is not None
    )
    for tick, bar in zip(ax.get_yticklabels(), bars, strict=True):
        tick.set_color(GREY if bar.ratio is None else "black")


def display_of(result: Result) -> Display:
    """Return the display of a result; what has no details is drawn by its findings."""
    if not result.details.get("impact"):
        return RatesDisplay.from_findings(result.findings)
    return ImpactDisplay.from_result(result)
