"""Displays of results: scores against the limit and rates of groups; and which display suits which
result.
"""

from __future__ import annotations

import math
import textwrap
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any

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
from evenhand.report.finding_text import NO_DATA, shown_groups, subject_of
from evenhand.runtime import number_text
from evenhand.runtime.errors import clip
from evenhand.statistics.estimate import Verdict

if TYPE_CHECKING:
    from collections.abc import Iterable

    from evenhand.results.evidence import Finding
    from evenhand.results.protocol import Evidence
    from evenhand.statistics.estimate import Estimate

MOST_ROWS = 30
"""The most rows of a panel; of more groups, those at both ends are drawn."""
MOST_PANELS = 6
"""The most findings whose groups are drawn, those with the best evidence."""
_ROW, _AROUND = 0.3, 1.35
_LOOKS = {
    Verdict.FAIL: ("fail", VERMILLION, "X"),
    Verdict.UNDECIDED: ("undecided", ORANGE, "D"),
    Verdict.PASS: ("pass", GREEN, "o"),
    None: ("estimate", BLUE, "o"),
}


@dataclass(frozen=True, slots=True)
class Row:
    """One row of a panel: a value with its interval, or with `value` None what is said instead of
    one.
    """

    label: str
    value: float | None = None
    low: float = 0.0
    high: float = 0.0
    verdict: Verdict | None = None
    instead: str = ""


@dataclass(frozen=True, slots=True)
class Panel:
    """Rows from top to bottom that share an axis, and the limit that they are held against."""

    title: str
    axis: str
    rows: tuple[Row, ...]
    limit: float | None = None
    least: bool = False


@dataclass
class RatesDisplay(Display):
    """Scores against the limit, and the rates of the groups that they compare.

    `scores` has a panel for each limit in use, `groups` one for each set of groups, best evidence
    first.

    >>> from evenhand.statistics.estimate import Estimate
    >>> from evenhand.results.evidence import Finding, Group
    >>> groups = [Group({"sex": "F"}, Estimate.exact(1, 4)), Group({"sex": "M"}, Estimate.exact(3, 4))]
    >>> found = Finding("sex differs", ("sex",), Estimate.exact(1, 2), 0.1, groups=tuple(groups))
    >>> display = RatesDisplay.from_findings([found])
    >>> [(row.label, row.value) for row in display.groups[0].rows]
    [('sex F, n = 4', 0.25), ('sex M, n = 4', 0.75)]
    """

    scores: tuple[Panel, ...]
    groups: tuple[Panel, ...] = ()

    @classmethod
    def from_findings(cls, findings: Iterable[Finding]) -> RatesDisplay:
        """Compute what is drawn of findings, which come with the best evidence first."""
        found = tuple(findings)
        scores = tuple(
            _scores(
                [one for one in found if (one.limit, one.least) == (limit, least)],
                limit,
                least=least,
            )
            for limit, least in dict.fromkeys((finding.limit, finding.least) for finding in found)
        )
        return cls(scores, _groups(finding for finding in found if finding.groups))

    def plot(self, ax: Any = None) -> RatesDisplay:
        """Draw on axes given, or on a new figure, and return the display.

        A new figure has all panels of `scores` and the first six of `groups`. Axes given get one
        panel: the groups of the finding with the best evidence where there are any, otherwise the
        first of `scores`. Labels are long: make the figure of axes given with
        ``layout="constrained"``.
        """
        panels = (
            list(self.scores + self.groups[:MOST_PANELS])
            if ax is None
            else list(self.groups or self.scores)
        )
        if not panels:
            panels = [Panel("no findings", "", ())]
        elif ax is None and len(self.groups) > MOST_PANELS:
            more = f"\n… {len(self.groups) - MOST_PANELS:,} more findings have groups"
            panels[-1] = replace(panels[-1], axis=panels[-1].axis + more)
        sizes = [(WIDTH, _AROUND + _ROW * len(panel.rows)) for panel in panels]
        for axes, panel in zip(self._open(ax, sizes), panels, strict=False):
            _draw(panel, axes)
        return self


def display_of(found: Evidence) -> RatesDisplay:
    """Return the display of what most verbs find.

    >>> from evenhand.runtime.budget import Spent
    >>> from evenhand.statistics.estimate import StopReason
    >>> from evenhand.results.result import Result
    >>> type(display_of(Result("measure", [], 0, Spent(0, 0, 0.0), StopReason.MARGIN, {}))).__name__
    'RatesDisplay'
    """
    return RatesDisplay.from_findings(found.findings)


def _scores(findings: list[Finding], limit: float | None, *, least: bool) -> Panel:
    shown = findings[: MOST_ROWS if len(findings) <= MOST_ROWS else MOST_ROWS - 1]
    rows = tuple(_row(subject_of(finding), finding.estimate, finding.verdict) for finding in shown)
    if len(findings) > len(shown):
        rows += (Row("", instead=f"… {len(findings) - len(shown):,} more findings"),)
    axis = _axis("ratio of rates" if least else "score", [finding.estimate for finding in findings])
    return Panel("", axis, rows, limit, least)


def _groups(findings: Iterable[Finding]) -> tuple[Panel, ...]:
    """Return the groups by their rates, lowest first and those without data last; what compares the
    same is one panel.

    A difference and a ratio, for example, compare the same groups.
    """
    titles: dict[tuple[Row, ...], list[str]] = {}
    axes: dict[tuple[Row, ...], str] = {}
    for finding in findings:
        rows = tuple(
            Row("", instead=shown) if isinstance(shown, str) else _row(str(shown), shown.estimate)
            for shown in shown_groups(finding.groups, MOST_ROWS)
        )
        verdict = "" if finding.verdict is None else f"{finding.verdict}: "
        lines = textwrap.wrap(number_text.unbroken(clip(f"{verdict}{finding.claim}", 160)), 56)
        titles.setdefault(rows, []).extend(literal(line) for line in lines)
        axes[rows] = _axis(
            "rate of the favourable outcome", [group.estimate for group in finding.groups]
        )
    return tuple(Panel("\n".join(title), axes[rows], rows) for rows, title in titles.items())


def _row(about: str, estimate: Estimate, verdict: Verdict | None = None) -> Row:
    label = f"{literal(about, 36)}, n = {estimate.n:,}"
    if math.isnan(estimate.value):
        return Row(label, verdict=verdict, instead=NO_DATA)
    return Row(label, estimate.value, estimate.low, estimate.high, verdict)


def _axis(what: str, estimates: Iterable[Estimate]) -> str:
    """Return the label of an axis: what it shows, the level of the intervals and the population."""
    known = [estimate for estimate in estimates if estimate.n]
    levels = sorted({estimate.level for estimate in known if estimate.level < 1})
    populations = sorted({estimate.population for estimate in known if estimate.population})
    at = f", intervals at {number_text.percent_levels(levels)}" if levels else ""
    return f"{what}{at}" + "".join(f"\npopulation: {literal(name, 75)}" for name in populations[:2])


def _draw(panel: Panel, ax: Any) -> None:
    from matplotlib.ticker import MaxNLocator

    rows = panel.rows
    known = [row for row in rows if row.value is not None]
    right = max([row.high for row in known] + [panel.limit or 0.0], default=1.0) or 1.0
    left = min([row.low for row in known], default=0.0)
    ax.set_xlim(min(left * 1.08, -0.02 * right), right * 1.05)
    for verdict, (name, colour, marker) in _LOOKS.items():
        some = [
            (place, row)
            for place, row in enumerate(rows)
            if row.value is not None and row.verdict == verdict
        ]
        if some:
            intervals(ax, some, colour, marker, name)
    for place, row in enumerate(rows):
        if row.instead:
            ax.text(
                0.02,
                place,
                row.instead,
                transform=ax.get_yaxis_transform(),
                va="center",
                style="italic",
            )
    if panel.limit is not None:
        name = (
            "engineering threshold"
            f" {number_text.limit(panel.limit)}{' (at least)' if panel.least else ''}"
        )
        ax.axvline(panel.limit, color=GREY, linestyle="--", label=name)
        entries = len({row.verdict for row in known}) + 1
        ax.legend(
            loc="lower left", bbox_to_anchor=(0, 1), ncols=entries, frameon=False, fontsize="small"
        )
    ax.xaxis.set_major_locator(MaxNLocator(6, steps=[1, 2, 5, 10]))
    finish_rows(
        ax, [row.label for row in rows], panel.axis, panel.title, limited=panel.limit is not None
    )
