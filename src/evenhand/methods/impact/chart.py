"""The charts of impact ratios: each category against the highest rate."""

from __future__ import annotations

from typing import TYPE_CHECKING

from evenhand.methods.impact import messages
from evenhand.methods.impact.plot import ImpactDisplay, display_of
from evenhand.report.canvas import unescaped
from evenhand.report.charts import AxisScale, IntervalRow, Intervals
from evenhand.report.charts.keys import title_of_claim
from evenhand.report.charts.rates import finding_charts
from evenhand.runtime import number_text
from evenhand.runtime.language import say

if TYPE_CHECKING:
    from evenhand.methods.impact.plot import ImpactBar, ImpactPanel
    from evenhand.report.charts.keys import Chart
    from evenhand.results.result import Result

_WHOLE = AxisScale(0.0, 1.0, "amount")
"""The scale of a ratio to the highest rate."""
_NAMES = {
    "fail": messages.LEGEND_BELOW,
    "undecided": messages.LEGEND_UNDECIDED,
    "pass": messages.LEGEND_AT_OR_OVER,
}


def charts_of(result: Result) -> tuple[Chart, ...]:
    """Return a chart of each set of categories."""
    display = display_of(result)
    if not isinstance(display, ImpactDisplay):
        return finding_charts(result.findings)
    return tuple(_chart(panel) for panel in display.panels)


def _chart(panel: ImpactPanel) -> Intervals:
    return Intervals(
        tuple(_row(bar, panel) for bar in panel.bars),
        title=title_of_claim(panel.title),
        unit="amount",
        axis=unescaped(panel.axis, "; "),
        scale=_WHOLE,
        names=_NAMES,
        least=True,
    )


def _row(bar: ImpactBar, panel: ImpactPanel) -> IntervalRow:
    label = unescaped(bar.label)
    if bar.ratio is None:
        return IntervalRow(label, instead=unescaped(bar.instead))
    ratio = bar.ratio
    numbers = say(
        messages.RATIO_AND_INTERVAL,
        ratio=number_text.decimal(ratio.value),
        interval=number_text.decimal_between(ratio.low, ratio.high),
    )
    return IntervalRow(
        label,
        ratio.value,
        ratio.low,
        ratio.high,
        limit=panel.limit,
        verdict=bar.verdict,
        numbers=numbers,
    )
