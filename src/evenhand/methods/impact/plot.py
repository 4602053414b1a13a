"""Display of impact ratios: each category against the highest rate, with its interval."""

from __future__ import annotations

import textwrap
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from evenhand.methods.impact import messages
from evenhand.methods.impact.selection_rates import (
    is_descriptive,
    ratio_findings,
    tables_of,
)
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
from evenhand.runtime.label_text import values_text
from evenhand.runtime.language import say, term
from evenhand.statistics.estimate import Estimate, Verdict

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from evenhand.results.evidence import Finding
    from evenhand.results.result import Result

MOST_ROWS = 30
"""The most categories of a set that are drawn, those with the lowest ratios."""
_ROW_HEIGHT = 0.3
"""Inches of a category."""
_AROUND_ROWS = 1.5
"""Inches above and below all categories."""
_LOOKS = {
    Verdict.FAIL: (messages.LEGEND_BELOW, VERMILLION, "X"),
    Verdict.UNDECIDED: (messages.LEGEND_UNDECIDED, ORANGE, "D"),
    Verdict.PASS: (messages.LEGEND_AT_OR_OVER, GREEN, "o"),
    None: (messages.LEGEND_RATIO, BLUE, "o"),
}


@dataclass(frozen=True, slots=True)
class ImpactBar:
    """One category: its label, and its impact ratio or a text instead of one."""

    label: str
    ratio: Estimate | None = None
    verdict: Verdict | None = None
    instead: str = ""


@dataclass(frozen=True, slots=True)
class ImpactPanel:
    """The categories of one set from top to bottom, and the limit that they are held against."""

    title: str
    axis: str
    bars: tuple[ImpactBar, ...]
    limit: float | None = None


@dataclass
class ImpactDisplay(Display):
    """The impact ratios of each set of categories, lowest first, and in grey those left out.

    >>> from evenhand.runtime.budget import Spent
    >>> from evenhand.statistics.estimate import StopReason
    >>> from evenhand.results.result import Result
    >>> empty = Result("impact", [], 0, Spent(0, 0, 0.0), StopReason.ENUMERATED, {})
    >>> ImpactDisplay.from_result(empty).panels
    ()
    """

    panels: tuple[ImpactPanel, ...]

    @classmethod
    def from_result(cls, result: Result) -> ImpactDisplay:
        """Compute what is drawn of a result of `impact`."""
        findings = ratio_findings(result)
        panels = []
        for table in tables_of(result):
            finding = findings[tuple(table["over"])]
            panels.append(_panel(table, finding))
        return cls(tuple(panels))

    def plot(self, ax: Any = None) -> ImpactDisplay:
        """Draw on axes given, or on a new figure, and return the display.

        A new figure has a panel for each set; axes given get the first. Labels are long: make the
        figure of axes given with ``layout="constrained"``.
        """
        panels = self.panels or (ImpactPanel(say(messages.NO_TABLES), "", ()),)
        sizes = [(WIDTH, _AROUND_ROWS + _ROW_HEIGHT * len(panel.bars)) for panel in panels]
        for axes, panel in zip(self._open(ax, sizes), panels, strict=False):
            _draw(panel, axes)
        return self


def _panel(table: Mapping[str, Any], finding: Finding) -> ImpactPanel:
    """Return the panel of one set."""
    bars = [_bar(category, finding.limit) for category in listed(table, MOST_ROWS)]
    bars.sort(key=_place)
    more = len(table["categories"]) - len(bars)
    if more > 0:
        text = say(messages.MORE_CATEGORIES, number=number_text.count(more))
        bars.append(ImpactBar("", instead=text))
    claim = finding.claim
    if finding.verdict is not None:
        claim = f"{finding.verdict}: {claim}"
    title_lines = textwrap.wrap(number_text.unbroken(claim), 56)
    title = "\n".join(literal(line) for line in title_lines)
    return ImpactPanel(title, _axis_label(table, finding), tuple(bars), finding.limit)


def _axis_label(table: Mapping[str, Any], finding: Finding) -> str:
    level = number_text.percent_level(finding.estimate.level)
    if table["kind"] == "scoring":
        ratio_line = say(messages.SCORING_AXIS, level=level)
    else:
        ratio_line = say(messages.SELECTION_AXIS, level=level)
    if is_descriptive(table):
        ratio_line = say(messages.DESCRIPTIVE_AXIS, axis=ratio_line)
    rows_line = say(
        messages.ROWS_OF_PANEL,
        rows=number_text.count(table["rows"]),
        unknown=number_text.count(table["unknown"]),
    )
    return f"{ratio_line}\n{rows_line}"


def _bar(category: Mapping[str, Any], limit: float | None) -> ImpactBar:
    """Return a category as it is drawn."""
    label = _bar_label(category)
    if category["ratio"] is None:
        return ImpactBar(
            label, instead=say(messages.LEFT_OUT_BAR, reason=term(category["left_out"]))
        )
    if not category["n"] or category["ratio"]["value"] is None:
        return ImpactBar(label, instead=say(NO_DATA))
    ratio = Estimate.from_dict(category["ratio"])
    verdict = None
    if limit is not None and not ratio.descriptive:
        verdict = ratio.verdict(limit, least=True)
    return ImpactBar(label, ratio, verdict)


def _bar_label(category: Mapping[str, Any]) -> str:
    """Return a category with its rate, where it is known, and its rows."""
    about = values_text(category["about"])
    name = literal(about, 36)
    rows = number_text.count(category["n"])
    rate = category["rate"]["value"]
    if rate is None:
        return say(messages.BAR, category=name, rows=rows)
    return say(
        messages.BAR_WITH_RATE,
        category=name,
        rate=number_text.percent(rate),
        rows=rows,
    )


def _place(bar: ImpactBar) -> float:
    # Every ratio is at most 1, so bars without one come last.
    return 2.0 if bar.ratio is None else bar.ratio.value


def _draw(panel: ImpactPanel, ax: Any) -> None:
    from matplotlib.ticker import MultipleLocator

    bars = panel.bars
    ax.set_xlim(-0.02, 1.04)
    ax.axvline(1, color="0.8", linewidth=1, zorder=0)
    for verdict in _LOOKS:
        _draw_ratios(bars, verdict, ax)
    style = {"va": "center", "style": "italic", "color": GREY, "fontsize": 9}
    for at, bar in enumerate(bars):
        if bar.instead:
            ax.text(
                0.02, at, literal(bar.instead), transform=ax.get_yaxis_transform(), **style
            )
    if panel.limit is not None:
        _draw_limit(panel, panel.limit, ax)
    ax.xaxis.set_major_locator(MultipleLocator(0.2))
    labels = [bar.label for bar in bars]
    finish_rows(ax, labels, panel.axis, panel.title, limited=panel.limit is not None)
    for tick, bar in zip(ax.get_yticklabels(), bars, strict=True):
        tick.set_color(GREY if bar.ratio is None else "black")


def _draw_ratios(
    bars: Sequence[ImpactBar],
    verdict: Verdict | None,
    ax: Any,
) -> None:
    """Draw the ratios with one verdict."""
    name, colour, marker = _LOOKS[verdict]
    ratios = []
    for at, bar in enumerate(bars):
        if bar.ratio is not None and bar.verdict == verdict:
            ratios.append((at, bar.ratio))
    if ratios:
        intervals(ax, ratios, colour, marker, name)


def _draw_limit(panel: ImpactPanel, limit: float, ax: Any) -> None:
    """Draw the limit, and the legend that it makes necessary."""
    label = say(messages.THRESHOLD, limit=number_text.limit(limit))
    ax.axvline(limit, color=GREY, linestyle="--", label=label)
    verdicts = {bar.verdict for bar in panel.bars if bar.ratio is not None}
    # At the right end, from where it has the room of the labels too.
    ax.legend(
        loc="lower right",
        bbox_to_anchor=(1, 1),
        ncols=len(verdicts) + 1,
        frameon=False,
        fontsize="small",
    )


def display_of(result: Result) -> Display:
    """Return the display of a result; what has no details is drawn by its findings."""
    if not result.details.get("impact"):
        return RatesDisplay.from_findings(result.findings)
    return ImpactDisplay.from_result(result)
