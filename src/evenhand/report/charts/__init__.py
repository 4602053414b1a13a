"""Charts of a page: native SVG in the page's theme, for pointers, for keys and without scripts.

A chart is plain info; `figure` makes markup of it, with every text escaped::

    from evenhand.report.charts import IntervalRow, Intervals, figure

    rows = (
        IntervalRow("race", 0.117, 0.05, 0.222, limit=0.05, verdict="fail"),
        IntervalRow("sex", 0.01, 0.0, 0.03, limit=0.05, verdict=Verdict.PASS, numbers="1 %"),
        IntervalRow("age", instead="no data"),
    )
    markup = figure(Intervals(rows, axis="score"), "overview", "Scores against the threshold")

`numbers` is the text beside a row; without it the value and its interval are written there.
`Intervals` has a `unit` ("share", "points", "amount", "count"); `legend=False` leaves the legend
out. The other kinds are `PlaneChart` (curves and points over two axes), `HeatChart`, `LatticeChart`
and `StackChart`. `figures` puts several charts beside each other.

The style and the script of charts are part of `STYLE` and `SCRIPT` of `report.html_page`: a page
that has the one in its `<style>` and the other in its `<script>` needs nothing else. A page without
scripts needs the style alone: the numbers then are native tooltips.
"""

from evenhand.report.charts.figure import chart_script as chart_script
from evenhand.report.charts.figure import chart_style as chart_style
from evenhand.report.charts.figure import figure as figure
from evenhand.report.charts.figure import figures as figures
from evenhand.report.charts.figure import side_by_side as side_by_side
from evenhand.report.charts.heat import HeatCell as HeatCell
from evenhand.report.charts.heat import HeatChart as HeatChart
from evenhand.report.charts.intervals import IntervalRow as IntervalRow
from evenhand.report.charts.intervals import Intervals as Intervals
from evenhand.report.charts.plane import PlaneChart as PlaneChart
from evenhand.report.charts.plane import PlanePoint as PlanePoint
from evenhand.report.charts.plane import PlaneRegion as PlaneRegion
from evenhand.report.charts.plane import PointSeries as PointSeries
from evenhand.report.charts.plane import ReferenceLine as ReferenceLine
from evenhand.report.charts.scale import AxisScale as AxisScale
from evenhand.report.charts.sets import LatticeChart as LatticeChart
from evenhand.report.charts.sets import LatticeNode as LatticeNode
from evenhand.report.charts.sets import StackChart as StackChart
from evenhand.report.charts.sets import StackPart as StackPart
from evenhand.report.charts.sets import StackRow as StackRow
