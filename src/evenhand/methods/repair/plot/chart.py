"""A repair as charts of a page: scores before and after, what came of each step, the trade-off."""

from __future__ import annotations

from typing import TYPE_CHECKING

from evenhand.methods.compare.plot import TradeoffDisplay
from evenhand.methods.compare.plot.chart import plane_chart
from evenhand.methods.repair import messages
from evenhand.methods.repair.plot.display import RepairDisplay, ScorePanel
from evenhand.methods.repair.plot_steps import is_to_scale
from evenhand.methods.repair.steps import BETTER, OPEN, SAME, UNSURE, WORSE
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

if TYPE_CHECKING:
    from evenhand.methods.repair.plot.display import ScoreRow
    from evenhand.methods.repair.plot_steps import Course, Dot
    from evenhand.methods.repair.repair_result import Repair
    from evenhand.report.charts.keys import Chart
    from evenhand.report.charts.scale import Unit

_LOOKS = {BETTER: "pass", WORSE: "fail", SAME: "none", UNSURE: "undecided", OPEN: "open"}
_NAMES = {
    look: messages.AFTER_AND_VERDICT.format(verdict=verdict)
    for verdict, look in _LOOKS.items()
}


def charts_of(repair: Repair, kind: str) -> tuple[Chart, ...]:
    """Return the charts of one kind: the "change", the "history" or the "trade-off"."""
    display = RepairDisplay.from_repair(repair, kind)
    if isinstance(display, TradeoffDisplay):
        return (plane_chart(display),)
    charts: list[Chart] = []
    if isinstance(display, RepairDisplay):
        for panel in display.panels:
            drawn = _scores(panel) if isinstance(panel, ScorePanel) else _course(panel)
            charts.append(drawn)
    return tuple(charts)


def _scores(panel: ScorePanel) -> Intervals:
    rows = []
    for heading, group in panel.groups:
        rows += [_score(row, heading) for row in group]
    return Intervals(
        tuple(rows),
        notes=(panel.note,) if panel.note else (),
        unit=_unit(percent=panel.percent),
        axis=panel.axis,
        from_zero=panel.percent and panel.less_is_better,
        names=_NAMES,
    )


def _score(row: ScoreRow, heading: str) -> IntervalRow:
    label = unescaped(row.label)
    numbers = unescaped(row.beside, "; ")
    if row.after is None:
        return IntervalRow(label, numbers=numbers, before=row.before, group=heading)
    value, low, high = row.after
    return IntervalRow(
        label,
        value,
        low,
        high,
        limit=row.limit,
        verdict=_LOOKS[row.judged],
        numbers=numbers,
        before=row.before,
        group=heading,
    )


def _unit(*, percent: bool) -> Unit:
    return "share" if percent else "amount"


def _course(course: Course) -> PlaneChart:
    dots = sorted(course.dots, key=lambda dot: dot.added)
    points = [_point(dot, dot.found) for dot in dots if dot.found]
    added = [dot.added for dot in dots]
    x_scale = AxisScale.around(added, "hundredths", from_zero=False)
    if is_to_scale(added):
        x_scale = AxisScale.logarithmic(added, "hundredths")
    unit = _unit(percent=course.percent)
    heights = [point.y for point in points]
    for point in points:
        heights += point.y_ends or ()
    if course.original is not None:
        heights.append(course.original)
    y_scale = AxisScale.around(heights, unit, from_zero=course.share and course.percent)
    score = unescaped(course.score)
    return PlaneChart(
        (PointSeries("", tuple(points), joined=True),),
        x_scale,
        y_scale,
        messages.ADDED_AXIS,
        score,
        title=score,
        notes=(course.note,) if course.note else (),
        lines=tuple(_lines(course, x_scale, y_scale)),
        marks={"s0": "kept", "open": "not kept"},
    )


def _lines(course: Course, x_scale: AxisScale, y_scale: AxisScale) -> list[ReferenceLine]:
    """Return what there was before, and the step that was chosen."""
    lines = []
    if course.original is not None:
        places = ((x_scale.low, course.original), (x_scale.high, course.original))
        lines.append(ReferenceLine("original", places))
    if course.chosen is not None:
        places = ((course.chosen, y_scale.low), (course.chosen, y_scale.high))
        lines.append(ReferenceLine("chosen", places, "s0 dashed"))
    return lines


def _point(dot: Dot, found: tuple[float, float, float]) -> PlanePoint:
    value, low, high = found
    return PlanePoint(
        dot.added,
        value,
        y_ends=(low, high),
        name=messages.NUMBER_OF_STEP.format(number=dot.number),
        look="s0" if dot.kept else "open",
    )
