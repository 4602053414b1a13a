"""What was mined as charts of a page: ranked subgroups or terms, and heat maps."""

from __future__ import annotations

import itertools
from dataclasses import replace
from typing import TYPE_CHECKING

from evenhand.methods.mine import messages
from evenhand.methods.mine.plot.display import MineDisplay, display_of
from evenhand.report.canvas import unescaped
from evenhand.report.charts import HeatCell, HeatChart
from evenhand.report.charts.ranked import ranked_chart
from evenhand.report.charts.rates import finding_charts
from evenhand.runtime import number_text
from evenhand.runtime.language import say

if TYPE_CHECKING:
    from evenhand.methods.mine.plot.heat_map import Heat
    from evenhand.report.charts import Intervals
    from evenhand.report.charts.keys import Chart
    from evenhand.results.result import Result


def charts_of(result: Result) -> tuple[Chart, ...]:
    """Return the worst rule sets of each mining, and its heat map where there is one."""
    display = display_of(result)
    if not isinstance(display, MineDisplay):
        return finding_charts(result.findings)
    charts: list[Intervals | HeatChart] = []
    for bars, heat in itertools.zip_longest(display.bars, display.heats):
        if bars is not None:
            charts.append(ranked_chart(bars))
        if heat is not None:
            charts.append(_heat_chart(heat))
    if display.left_out and charts:
        count = number_text.count(display.left_out)
        more = say(messages.MORE_MININGS, count=count)
        charts[-1] = replace(charts[-1], notes=(*charts[-1].notes, more))
    return tuple(charts)


def _heat_chart(heat: Heat) -> HeatChart:
    down = tuple(heat.labels[1]) if len(heat.axes) > 1 else ("",)
    lines = []
    for y in range(len(heat.rates)):
        line = [_cell(heat, x, y) for x in range(len(heat.rates[y]))]
        lines.append(tuple(line))
    return HeatChart(
        tuple(lines),
        heat.axes,
        tuple(heat.labels[0]),
        down,
        centre=heat.centre,
        title=unescaped(heat.title),
        notes=tuple(unescaped(note) for note in heat.notes),
    )


def _cell(heat: Heat, x: int, y: int) -> HeatCell:
    rate = heat.rates[y][x]
    text = "" if rate is None else heat.rate_text(rate)
    return HeatCell(
        rate,
        text,
        rows=heat.rows[y][x] if heat.rows else None,
        few=bool(heat.few[y, x]),
        inside=bool(heat.inside and heat.inside[y][x]),
    )
