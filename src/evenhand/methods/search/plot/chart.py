"""What a search found as charts of a page."""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING, Any

from evenhand.methods.search import messages
from evenhand.methods.search.plot.display import (
    OutcomeMap,
    ProgressCurve,
    SearchDisplay,
    display_of,
)
from evenhand.report.canvas import unescaped
from evenhand.report.charts import (
    AxisScale,
    IntervalRow,
    Intervals,
    PlaneChart,
    PlanePoint,
    PointSeries,
    ReferenceLine,
)
from evenhand.report.charts.rates import finding_charts
from evenhand.runtime import number_text
from evenhand.runtime.language import say

if TYPE_CHECKING:
    from collections.abc import Sequence

    from evenhand.methods.search.plot.display import Panel, ShareBar, ShareBars
    from evenhand.report.charts.keys import Chart
    from evenhand.results.result import Result

    OtherInput = tuple[float, float, Any]

_OUTCOMES = ("s0", "s5", "s2", "s3", "s4")
"""The looks of outcomes on a map, none of them like that of the inputs found."""
_BANDS = 4
"""Into how many bands of as many inputs each numbers on a map are divided."""


def charts_of(result: Result) -> tuple[Chart, ...]:
    """Return how a search went, where inputs lie, and what they rest on."""
    display = display_of(result)
    if not isinstance(display, SearchDisplay):
        return finding_charts(result.findings)
    charts = [_chart(panel) for panel in display.panels]
    if display.left_out and charts:
        number = number_text.count(display.left_out)
        more = say(messages.MORE_FINDINGS, number=number)
        charts[-1] = replace(charts[-1], notes=(*charts[-1].notes, more))
    return tuple(charts)


def _chart(panel: Panel) -> PlaneChart | Intervals:
    if isinstance(panel, ProgressCurve):
        return _curve(panel)
    if isinstance(panel, OutcomeMap):
        return _map(panel)
    return _bars(panel)


def _curve(panel: ProgressCurve) -> PlaneChart:
    spent = panel.queries[-1]
    found = _counted(panel.queries, panel.found)
    cells = _counted(panel.queries, panel.cells)
    ceiling = ReferenceLine(say(messages.CEILING), ((0.0, 0.0), (spent, panel.ceiling)))
    return PlaneChart(
        (
            PointSeries(say(messages.CURVE_OF_INPUTS), found, look="s1", joined=True),
            PointSeries(
                say(messages.COARSE_CELLS), cells, look="s0", joined=True, dashed=True
            ),
        ),
        AxisScale(0.0, float(max(spent, 1)), "count"),
        AxisScale(0.0, float(panel.top), "count"),
        say(messages.QUERIES_AXIS),
        say(messages.NUMBER_OF_INPUTS),
        title=unescaped(panel.title),
        lines=(ceiling,),
    )


def _counted(queries: Sequence[int], numbers: Sequence[int]) -> tuple[PlanePoint, ...]:
    places = zip(queries, numbers, strict=True)
    return tuple(PlanePoint(float(spent), float(number)) for spent, number in places)


def _map(panel: OutcomeMap) -> PlaneChart:
    series = _other_inputs(panel)
    found = tuple(PlanePoint(x, y) for x, y in panel.found)
    series.append(
        PointSeries(say(messages.INPUT_WAS_FOUND), found, look="found", cloud=True)
    )
    every: list[PlanePoint] = []
    for one in series:
        every += one.points
    across, along = panel.axes
    x_axis = say(messages.MAP_X_AXIS)
    if across:
        x_axis = say(messages.MAP_X_AXIS_OF, features=across)
    y_axis = say(messages.MAP_Y_AXIS)
    if along:
        y_axis = say(messages.MAP_Y_AXIS_OF, features=along)
    return PlaneChart(
        tuple(series),
        AxisScale.around([point.x for point in every], "amount", from_zero=False),
        AxisScale.around([point.y for point in every], "amount", from_zero=False),
        x_axis,
        y_axis,
        title=unescaped(panel.title),
        ticks=False,
    )


def _other_inputs(panel: OutcomeMap) -> list[PointSeries]:
    """Return the inputs that are no hits as series by their outcomes."""
    others = panel.others
    kinds = sorted({other[2] for other in others}, key=_order_of)
    if len(kinds) <= len(_OUTCOMES):
        by_name = {}
        for kind in kinds:
            by_name[panel.legend(kind)] = [other for other in others if other[2] == kind]
    elif any(isinstance(kind, str) for kind in kinds):
        count = number_text.count(len(kinds))
        by_name = {say(messages.OTHER_OUTCOMES_LEGEND, outcomes=count): list(others)}
    else:
        by_name = _bands(others)
    series = []
    for look, (name, inputs) in zip(_OUTCOMES, by_name.items(), strict=False):
        points = tuple(PlanePoint(x, y) for x, y, _ in inputs)
        series.append(PointSeries(name, points, look=look, cloud=True))
    return series


def _order_of(outcome: Any) -> tuple[bool, Any]:
    return isinstance(outcome, str), outcome


def _bands(others: Sequence[OtherInput]) -> dict[str, list[OtherInput]]:
    """Return inputs by bands of their outcomes, which are numbers, lowest first."""
    ordered = sorted(others, key=lambda other: other[2])
    bands: dict[str, list[OtherInput]] = {}
    for number in range(_BANDS):
        start = number * len(ordered) // _BANDS
        end = (number + 1) * len(ordered) // _BANDS
        inputs = ordered[start:end]
        if inputs:
            low = number_text.amount(inputs[0][2])
            high = number_text.amount(inputs[-1][2])
            name = say(messages.OUTCOME_BAND, low=low, high=high)
            bands.setdefault(name, []).extend(inputs)
    return bands


def _bars(panel: ShareBars) -> Intervals:
    rows = [_row(bar) for bar in panel.bars]
    if panel.compared and rows:
        rows[-1] = replace(rows[-1], verdict="open")
    return Intervals(
        tuple(rows),
        title=unescaped(panel.title),
        axis=unescaped(panel.axis, "; "),
        bars=True,
        legend=False,
        names={"none": "", "open": ""},
        wide=False,
    )


def _row(bar: ShareBar) -> IntervalRow:
    label = unescaped(bar.label)
    if bar.value is None:
        return IntervalRow(label)
    return IntervalRow(label, bar.value, bar.low, bar.high)
