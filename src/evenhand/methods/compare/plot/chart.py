"""The plane of bias and performance as a chart of a page."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from evenhand.methods.compare import messages
from evenhand.methods.compare.plot.bands import bands
from evenhand.methods.compare.plot.display import (
    MOST_LABELS,
    TradeoffDisplay,
    display_of,
    view_of,
)
from evenhand.methods.compare.regions import REGIONS, OverwritingLine
from evenhand.report.charts import (
    AxisScale,
    PlaneChart,
    PlanePoint,
    PlaneRegion,
    PointSeries,
    ReferenceLine,
)
from evenhand.report.charts.keys import look_of
from evenhand.runtime import number_text
from evenhand.runtime.language import say
from evenhand.statistics.estimate import Verdict

if TYPE_CHECKING:
    from evenhand.methods.compare.comparison import Comparison
    from evenhand.methods.compare.plot.display import Mark
    from evenhand.report.charts.keys import Chart
    from evenhand.report.charts.scale import Unit

_NAMES = {
    Verdict.PASS: messages.LEGEND_BETTER,
    Verdict.UNDECIDED: messages.LEGEND_UNDECIDED,
    Verdict.FAIL: messages.LEGEND_NO_BETTER,
}
_BORDER_POINTS = 40
"""The most points of a border of a region."""


def charts_of(comparison: Comparison) -> tuple[Chart, ...]:
    """Return the plane on which each mitigation stands."""
    return (plane_chart(display_of(comparison)),)


def plane_chart(display: TradeoffDisplay) -> PlaneChart:
    """Return the plane of bias and performance as a chart."""
    _, biases, performances = np.array(display.line).T
    line = OverwritingLine.through(biases, performances)
    (left, right), (bottom, top) = view_of(display)
    bias_in_percent, performance_in_percent = display.percent
    bias_name, performance_name = display.axes
    first = (float(line.bias[0]), float(line.performance[0]))
    return PlaneChart(
        tuple(_series(display)),
        AxisScale(left, right, _unit(percent=bias_in_percent)),
        AxisScale(bottom, top, _unit(percent=performance_in_percent)),
        say(messages.BIAS_AXIS, name=bias_name),
        say(messages.PERFORMANCE_AXIS, name=performance_name),
        title=display.title,
        notes=(display.note,) if display.note else (),
        lines=(ReferenceLine("", ((left, first[1]), first)),),
        regions=_regions(display, line),
        numbered=len(display.marks) > MOST_LABELS,
        wide=True,
    )


def _unit(*, percent: bool) -> Unit:
    return "share" if percent else "amount"


def _series(display: TradeoffDisplay) -> list[PointSeries]:
    """Return the line, the original, and the mitigations by their verdicts."""
    overwritten = []
    for degree, bias, performance in display.line:
        name = "" if np.isnan(degree) else number_text.percent_figures(degree)
        overwritten.append(PlanePoint(bias, performance, name=name))
    line = PointSeries(
        say(messages.LEGEND_LINE), tuple(overwritten), look="s0", joined=True
    )
    series = [line]
    for verdict, name in _NAMES.items():
        marks = [_point(mark) for mark in display.marks if mark.verdict is verdict]
        if marks:
            look = look_of(verdict)
            series.append(PointSeries(say(name), tuple(marks), look=look, labelled=True))
    original = (_point(display.start),)
    series.append(PointSeries(say(messages.LEGEND_ORIGINAL), original, look="original"))
    return series


def _point(mark: Mark) -> PlanePoint:
    bias, *bias_ends = mark.bias
    performance, *performance_ends = mark.performance
    return PlanePoint(
        bias,
        performance,
        x_ends=(bias_ends[0], bias_ends[1]),
        y_ends=(performance_ends[0], performance_ends[1]),
        name=mark.label,
    )


def _regions(display: TradeoffDisplay, line: OverwritingLine) -> tuple[PlaneRegion, ...]:
    """Return the five regions as polygons: along the lower border, and back along the upper."""
    regions = []
    for code, across, low, high in bands(display.start.place, line, view_of(display)):
        x = np.asarray(across, dtype=np.float64)
        step = max(1, len(x) // _BORDER_POINTS)
        kept = np.unique([*range(0, len(x), step), len(x) - 1])
        lower = np.broadcast_to(low, x.shape)[kept].tolist()
        upper = np.broadcast_to(high, x.shape)[kept].tolist()
        places = x[kept].tolist()
        there = list(zip(places, lower, strict=True))
        back = list(zip(places, upper, strict=True))[::-1]
        region = PlaneRegion(say(REGIONS[code]), (*there, *back), f"region{code}")
        regions.append(region)
    return tuple(regions)
