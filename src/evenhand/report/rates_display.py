"""The display of what most verbs find: scores against the limit, and rates of groups."""

from __future__ import annotations

import math
import textwrap
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any, TypeAlias

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
from evenhand.report.finding_text import NO_DATA, rate_heading, shown_groups, subject_of
from evenhand.runtime import number_text
from evenhand.runtime.errors import clip
from evenhand.runtime.language import say, term
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
_ROW = 0.3
_AROUND = 1.35
"""Inches of a row, and around the rows of a panel."""
_LABEL_LETTERS = 36
_TITLE_LETTERS = 160
_TITLE_WIDTH = 56
_MOST_POPULATIONS = 2
_LOOKS = {
    Verdict.FAIL: ("fail", VERMILLION, "X"),
    Verdict.UNDECIDED: ("undecided", ORANGE, "D"),
    Verdict.PASS: ("pass", GREEN, "o"),
    None: ("estimate", BLUE, "o"),
}
RATE_AXIS = "rate of the favourable outcome"
RATIO_AXIS = "rate of the favourable outcome, as a share of the highest rate"


@dataclass(frozen=True, slots=True)
class Row:
    """One row of a panel: a value with its interval, or without a value the text in its place."""

    label: str
    value: float | None = None
    low: float = 0.0
    high: float = 0.0
    verdict: Verdict | None = None
    instead: str = ""


Rows: TypeAlias = tuple[Row, ...]


@dataclass(frozen=True, slots=True)
class Panel:
    """Rows from top to bottom that share an axis, and the limit that they are held against."""

    title: str
    axis: str
    rows: Rows
    limit: float | None = None
    least: bool = False
    from_zero: bool = True
    """Whether the axis begins at nought, as that of rates does."""
    percent: bool = True
    """Whether values are shares."""

    @property
    def size(self) -> tuple[float, float]:
        """The width and height of a new panel, in inches."""
        height = _AROUND + _ROW * len(self.rows)
        return WIDTH, height


@dataclass
class RatesDisplay(Display):
    """Scores against the limit, and the rates of the groups that they compare.

    `scores` has a panel for each limit in use, `groups` one for each set of groups, best evidence
    first.

    >>> from evenhand.statistics.estimate import Estimate
    >>> from evenhand.results.evidence import Finding, Group
    >>> women = Group({"sex": "F"}, Estimate.exact(1, 4))
    >>> men = Group({"sex": "M"}, Estimate.exact(3, 4))
    >>> half = Estimate.exact(1, 2)
    >>> found = Finding("sex differs", ("sex",), half, 0.1, groups=(women, men))
    >>> display = RatesDisplay.from_findings([found])
    >>> [(row.label, row.value) for row in display.groups[0].rows]
    [('sex F, n = 4', 0.25), ('sex M, n = 4', 0.75)]
    """

    scores: tuple[Panel, ...]
    groups: tuple[Panel, ...] = ()

    @classmethod
    def from_findings(cls, findings: Iterable[Finding]) -> RatesDisplay:
        """Compute what is drawn of findings, which come with the best evidence first."""
        by_limit: dict[Any, list[Finding]] = {}
        with_groups = []
        for finding in findings:
            # Amounts of different kinds share no axis.
            what = finding.score if finding.unit == "amount" else ""
            key = (finding.limit, finding.least, what)
            by_limit.setdefault(key, []).append(finding)
            if finding.groups:
                with_groups.append(finding)
        scores = []
        for (limit, least, what), held_against_it in by_limit.items():
            scores.append(_scores(held_against_it, limit, what, least=least))
        return cls(tuple(scores), _groups(with_groups))

    def plot(self, ax: Any = None) -> RatesDisplay:
        """Draw on axes given, or on a new figure, and return the display.

        A new figure has all panels of `scores` and the first six of `groups`. Axes given get one
        panel: the groups of the finding with the best evidence where there are any, otherwise the
        first of `scores`. Labels are long: make the figure of axes given with
        ``layout="constrained"``.
        """
        if ax is None:
            panels = self._all_panels()
        else:
            panels = list(self.groups or self.scores)
        if not panels:
            panels = [Panel("no findings", "", ())]
        sizes = [panel.size for panel in panels]
        every_axes = self._open(ax, sizes)
        for axes, panel in zip(every_axes, panels, strict=False):
            _draw(panel, axes)
        return self

    def _all_panels(self) -> list[Panel]:
        """Return the panels of a new figure; the last one says how many more there would be."""
        panels = [*self.scores, *self.groups[:MOST_PANELS]]
        left_out = len(self.groups) - MOST_PANELS
        if left_out > 0:
            last = panels[-1]
            more = "\n" + say(
                "… {number} more findings have groups", number=number_text.count(left_out)
            )
            panels[-1] = replace(last, axis=last.axis + more)
        return panels


def display_of(found: Evidence) -> RatesDisplay:
    """Return the display of what most verbs find.

    >>> from evenhand.runtime.budget import Spent
    >>> from evenhand.statistics.estimate import StopReason
    >>> from evenhand.results.result import Result
    >>> type(display_of(Result("measure", [], 0, Spent(0, 0, 0.0), StopReason.MARGIN, {}))).__name__
    'RatesDisplay'
    """
    return RatesDisplay.from_findings(found.findings)


def _scores(
    findings: list[Finding],
    limit: float | None,
    what: str,
    *,
    least: bool,
) -> Panel:
    shown = findings
    if len(findings) > MOST_ROWS:
        # The last row says how many are left out.
        shown = findings[: MOST_ROWS - 1]
    rows = [_score_row(finding) for finding in shown]
    left_out = len(findings) - len(shown)
    if left_out:
        more = say("… {number} more findings", number=number_text.count(left_out))
        rows.append(Row("", instead=more))
    shown_as = what or ("ratio of rates" if least else "score")
    estimates = [finding.estimate for finding in findings]
    axis = _axis(shown_as, estimates)
    return Panel("", axis, tuple(rows), limit, least, percent=not what)


def _score_row(finding: Finding) -> Row:
    return _row(subject_of(finding), finding.estimate, finding.verdict)


def _groups(findings: Iterable[Finding]) -> tuple[Panel, ...]:
    """Return the groups by their rates, lowest first and those without data last.

    Findings that compare the same groups, a difference and a ratio for example, share a panel.
    """
    titles: dict[Rows, list[str]] = {}
    axes: dict[Rows, str] = {}
    amounts: set[Rows] = set()
    for finding in findings:
        rows = _group_rows(finding)
        titles.setdefault(rows, []).extend(_title_lines(finding))
        estimates = [group.estimate for group in finding.groups]
        what = RATIO_AXIS if finding.least else RATE_AXIS
        if finding.unit == "amount":
            what = rate_heading(finding)
            amounts.add(rows)
        axes[rows] = _axis(what, estimates)
    panels = []
    for rows, lines in titles.items():
        title = "\n".join(lines)
        percent = rows not in amounts
        panels.append(Panel(title, axes[rows], rows, from_zero=percent, percent=percent))
    return tuple(panels)


def _group_rows(finding: Finding) -> Rows:
    rows = []
    for group in shown_groups(finding.groups, MOST_ROWS):
        if isinstance(group, str):
            rows.append(Row("", instead=group))
        else:
            rows.append(_row(str(group), group.estimate))
    return tuple(rows)


def _title_lines(finding: Finding) -> list[str]:
    title = finding.claim
    if finding.verdict is not None:
        title = f"{finding.verdict}: {title}"
    unbroken = number_text.unbroken(clip(title, _TITLE_LETTERS))
    lines = textwrap.wrap(unbroken, _TITLE_WIDTH)
    return [literal(line) for line in lines]


def _row(about: str, estimate: Estimate, verdict: Verdict | None = None) -> Row:
    shown = literal(about, _LABEL_LETTERS)
    label = say("{group}, n = {n}", group=shown, n=number_text.count(estimate.n))
    if math.isnan(estimate.value):
        return Row(label, verdict=verdict, instead=say(NO_DATA))
    if math.isinf(estimate.low) or math.isinf(estimate.high):
        label = say("{group}, no interval", group=label)
        return Row(label, estimate.value, estimate.value, estimate.value, verdict)
    return Row(label, estimate.value, estimate.low, estimate.high, verdict)


def _axis(what: str, estimates: Iterable[Estimate]) -> str:
    """Return the label of an axis: what it shows, the level of the intervals and the population."""
    known = [estimate for estimate in estimates if estimate.n]
    levels = {estimate.level for estimate in known if estimate.level < 1}
    populations = {estimate.population for estimate in known if estimate.population}
    label = term(what)
    if levels:
        shown = number_text.percent_levels(sorted(levels))
        label = say("{score}, intervals at {levels}", score=label, levels=shown)
    for population in sorted(populations)[:_MOST_POPULATIONS]:
        shown = literal(term(population), 75)
        label += "\n" + say("population: {population}", population=shown)
    return label


def _draw(panel: Panel, ax: Any) -> None:
    from matplotlib.ticker import MaxNLocator

    known = [row for row in panel.rows if row.value is not None]
    if panel.from_zero or not known:
        ax.set_xlim(_ends_of_axis(known, panel.limit))
    else:
        ax.set_xlim(_ends_of_amounts(known))
    for verdict, (name, colour, marker) in _LOOKS.items():
        with_verdict = []
        for place, row in enumerate(panel.rows):
            if row.value is not None and row.verdict == verdict:
                with_verdict.append((place, row))
        if with_verdict:
            intervals(ax, with_verdict, colour, marker, name)
    _write_texts(ax, panel.rows)
    if panel.limit is not None:
        # One entry for each verdict in sight, and one for the line.
        verdicts = {row.verdict for row in known}
        entries = len(verdicts) + 1
        _draw_limit(ax, panel.limit, entries, least=panel.least)
    ax.xaxis.set_major_locator(MaxNLocator(6, steps=[1, 2, 5, 10]))
    labels = [row.label for row in panel.rows]
    limited = panel.limit is not None
    finish_rows(ax, labels, panel.axis, panel.title, limited=limited)


def _ends_of_axis(rows: list[Row], limit: float | None) -> tuple[float, float]:
    """Return the ends of an axis on which all intervals and the limit are in sight."""
    highs = [row.high for row in rows]
    highs.append(limit or 0.0)
    right = max(highs) or 1.0
    left = min([row.low for row in rows], default=0.0)
    # A marker at an end must not be cut, and nought is seen to be an end.
    start = min(left * 1.08, -0.02 * right)
    return start, right * 1.05


def _ends_of_amounts(rows: list[Row]) -> tuple[float, float]:
    """Return the ends of an axis of amounts, which may be far from nought and close together."""
    lowest = min(row.low for row in rows)
    highest = max(row.high for row in rows)
    room = 0.08 * (highest - lowest) or 0.08 * abs(highest) or 1.0
    return lowest - room, highest + room


def _write_texts(ax: Any, rows: Rows) -> None:
    """Write the texts of rows that have no value."""
    across_axes = ax.get_yaxis_transform()
    for place, row in enumerate(rows):
        if row.instead:
            ax.text(
                0.02, place, row.instead, transform=across_axes, va="center", style="italic"
            )


def _draw_limit(ax: Any, limit: float, entries: int, *, least: bool) -> None:
    """Draw a limit, and the legend that names it."""
    name = f"engineering threshold {number_text.limit(limit)}"
    if least:
        name += " (at least)"
    ax.axvline(limit, color=GREY, linestyle="--", label=name)
    ax.legend(
        loc="lower left",
        bbox_to_anchor=(0, 1),
        ncols=entries,
        frameon=False,
        fontsize="small",
    )
