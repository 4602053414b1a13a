"""Charts of what most verbs find: scores against the limit, and rates of groups."""

from __future__ import annotations

from typing import TYPE_CHECKING

from evenhand.report.canvas import unescaped
from evenhand.report.charts.intervals import IntervalRow, Intervals
from evenhand.report.charts.keys import title_of_claim
from evenhand.report.rates_display import MOST_PANELS, RatesDisplay

if TYPE_CHECKING:
    from collections.abc import Iterable

    from evenhand.report.rates_display import Panel, Row
    from evenhand.results.evidence import Finding


def rates_charts(display: RatesDisplay) -> tuple[Intervals, ...]:
    """Return the panels of a display as charts.

    >>> from evenhand.statistics.estimate import Estimate
    >>> from evenhand.results.evidence import Finding
    >>> found = Finding("sex differs", ("sex",), Estimate.exact(1, 2), 0.1)
    >>> chart = rates_charts(RatesDisplay.from_findings([found]))[0]
    >>> chart.rows[0].value, chart.rows[0].limit
    (0.5, 0.1)
    """
    panels = [*display.scores, *display.groups[:MOST_PANELS]]
    return tuple(_chart(panel) for panel in panels)


def finding_charts(findings: Iterable[Finding]) -> tuple[Intervals, ...]:
    """Return charts of findings, which come with the best evidence first."""
    return rates_charts(RatesDisplay.from_findings(findings))


def _chart(panel: Panel) -> Intervals:
    return Intervals(
        tuple(_row(row, panel) for row in panel.rows),
        title=title_of_claim(panel.title),
        unit="share" if panel.percent else "amount",
        axis=unescaped(panel.axis, "; "),
        from_zero=panel.from_zero,
        least=panel.least,
    )


def _row(row: Row, panel: Panel) -> IntervalRow:
    label = unescaped(row.label)
    if row.value is None:
        return IntervalRow(label, instead=unescaped(row.instead))
    return IntervalRow(
        label,
        row.value,
        row.low,
        row.high,
        limit=panel.limit,
        verdict=row.verdict,
    )
