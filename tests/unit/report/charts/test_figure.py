"""Charts as markup: what they show as text, hostile labels, odd data, and the same bytes."""

from __future__ import annotations

import math
import re

import pytest

from evenhand.report.charts import (
    AxisScale,
    HeatCell,
    HeatChart,
    IntervalRow,
    Intervals,
    LatticeChart,
    LatticeNode,
    PlaneChart,
    PlanePoint,
    PlaneRegion,
    PointSeries,
    ReferenceLine,
    StackChart,
    StackPart,
    StackRow,
    chart_script,
    chart_style,
    figure,
    figures,
)
from evenhand.report.charts.plane import MOST_MARKS
from evenhand.statistics.estimate import Verdict
from tests.support.strict_html import StrictPage

HOSTILE = '"><script>alert(1)</script>\u202e${x}{{ 7 * 7 }}'
SHARES = AxisScale(0.0, 1.0)


def plane(label: str = "", *points: PlanePoint) -> PlaneChart:
    return PlaneChart(
        (
            PointSeries(
                label, points or (PlanePoint(0.2, 0.4, name=label),), labelled=True
            ),
            PointSeries(label, (PlanePoint(0.1, 0.1),), cloud=True),
            PointSeries(label, (PlanePoint(0.1, 0.1),), look="found", cloud=True),
        ),
        SHARES,
        SHARES,
        label,
        label,
        title=label,
        notes=(label,),
        lines=(ReferenceLine(label, ((0, 0), (1, 1))),),
        regions=(PlaneRegion(label, ((0, 0), (1, 0), (1, 1)), "region0"),),
        marks={"open": label},
    )


def charts(label: str) -> list[object]:
    row = IntervalRow(
        label,
        0.1,
        0.05,
        0.2,
        limit=0.05,
        verdict="fail",
        beside=(label,),
        before=(0.2, 0.1, 0.3),
        series=label,
        group=label,
    )
    rows = (row, IntervalRow(label, instead=label, series="other"))
    cells = ((HeatCell(0.2, label, 90, few=True, inside=True), HeatCell(None)),)
    nodes = (LatticeNode((label, label), 1, "fail", label, label, label),)
    stack = StackRow(label, (StackPart(1.0, "pass", label, label),))
    return [
        Intervals(
            rows, label, (label,), axis=label, sides=(label, label), headings=(label,)
        ),
        HeatChart(cells, (label, label), (label, label), (label,), 0.3, label, (label,)),
        LatticeChart(nodes, ((0, 0),), names={"fail": label}, title=label, notes=(label,)),
        StackChart((stack,), label, label, (label,)),
        plane(label),
    ]


KINDS = ["intervals", "heat", "lattice", "stacks", "plane"]


@pytest.mark.parametrize("place", range(5), ids=KINDS)
def test_hostile_labels_stay_text(place):
    plain = StrictPage(str(figure(charts("plain")[place], "name", "plain")))
    found = StrictPage(str(figure(charts(HOSTILE)[place], "name", HOSTILE)))
    assert [tag for tag, _ in found.elements] == [tag for tag, _ in plain.elements]
    for one, other in zip(found.elements, plain.elements, strict=True):
        assert set(one[1]) == set(other[1])
    assert "alert(1)" in found.text
    assert "49" not in found.text.replace("0.49", "")
    assert "\u202e" not in found.text
    assert r"\u202e" in found.text


@pytest.mark.parametrize("place", range(5), ids=KINDS)
def test_the_same_chart_gives_the_same_bytes(place):
    one, other = (figure(charts("sex")[place], "name", "x") for _ in range(2))
    assert one == other
    assert 'id="name"' in one
    assert not re.search(r"\bon\w+=|http|<script|fill=\"#", one)


@pytest.mark.parametrize("place", range(5), ids=KINDS)
def test_every_mark_has_its_numbers_as_text(place):
    html = str(figure(charts("sex")[place], "name"))
    found = StrictPage(html)
    marks = found.with_attribute("data-mark")
    assert marks
    titles = html.count("<title>")
    native = sum("title" in mark for mark in marks)
    # Regions of a plane have names, and are no marks.
    assert titles + native >= len(marks)


def test_colours_come_from_the_variables_of_the_page():
    plain = re.sub(r"--\w+: #\w+;?", "", chart_style())
    assert not re.search(r"#[0-9a-f]{3,6}\b", plain)
    for theme in ("prefers-color-scheme: dark", '[data-theme="dark"]', "@media print"):
        assert theme in chart_style()
    assert "innerHTML" not in chart_script()
    assert "</" not in chart_script()


def test_a_row_says_value_interval_threshold_and_verdict():
    rows = (
        IntervalRow("race", 0.117, 0.05, 0.222, limit=0.05, verdict=Verdict.FAIL),
        IntervalRow("sex", 0.01, 0.0, 0.03, limit=0.1, verdict=Verdict.PASS),
    )
    placed = Intervals(rows).placed().rows
    assert placed[0].full_text == (
        "race: 11.7 % (5.0 to 22.2); engineering threshold 5 %; fail"
    )
    assert placed[1].look == "pass"
    # Every row has the tick of its own limit.
    assert placed[0].limit != placed[1].limit
    names = [key.name for key in Intervals(rows).entries()]
    assert names == ["fail", "pass", "engineering threshold of each row"]
    assert Intervals(rows, legend=False).entries() == []


@pytest.mark.parametrize(
    "row",
    [
        IntervalRow("nothing"),
        IntervalRow("nan", math.nan, math.nan, math.nan),
        IntervalRow("infinite", math.inf, 0.0, math.inf),
        IntervalRow("words", instead="too few rows"),
    ],
)
def test_a_row_without_a_value_says_why(row):
    placed = Intervals((row,)).placed().rows[0]
    assert placed.value == ""
    assert row.instead or placed.instead == "no data"
    assert "nan" not in str(figure(Intervals((row,)), "name")).replace("nan:", "").replace(
        ">nan<", ""
    )


def test_a_value_without_an_interval_stands_alone():
    row = IntervalRow("half", 0.5, -math.inf, math.inf)
    placed = Intervals((row,)).placed().rows[0]
    assert placed.value
    assert placed.full_text == "half: 50.0 %"


@pytest.mark.parametrize("value", [1e-300, 5e-324, 1e300, 1.7e308, -1.7e308, 0.0])
def test_huge_and_tiny_values_are_drawn(value):
    row = IntervalRow("odd", value, value, value)
    html = str(figure(Intervals((row,), unit="amount"), "name"))
    assert "nan%" not in html
    assert "inf%" not in html
    chart = plane("", PlanePoint(value, value, (value, value), (value, value)))
    assert "nan%" not in str(figure(chart, "plane"))


def test_charts_may_be_empty_or_long():
    assert "nothing to draw" in figure(Intervals(()), "name")
    rows = tuple(IntervalRow(f"row {n}", n / 300, 0, 1) for n in range(300))
    found = StrictPage(str(figure(Intervals(rows), "name")))
    assert len(found.with_attribute("data-mark")) == 300
    assert LatticeChart((), ()).placed().nodes == ()
    assert StackChart(()).placed() == ()
    empty = PlaneChart((), SHARES, SHARES, "x", "y")
    assert StrictPage(str(figure(empty, "name"))).with_attribute("data-mark") == []


def test_of_a_long_curve_some_points_have_marks_the_ends_among_them():
    points = tuple(PlanePoint(n / 500, n / 500) for n in range(501))
    chart = PlaneChart((PointSeries("c", points, joined=True),), SHARES, SHARES, "x", "y")
    (series,) = chart.placed().series
    assert len(series.marks) == MOST_MARKS
    assert series.marks[0].full_text == "c: x 0 %, y 0 %"
    assert series.marks[-1].full_text == "c: x 100.0 %, y 100.0 %"
    assert series.path.count("L") == 500
    numbers = chart.numbers()
    assert numbers is not None
    assert len(numbers.rows) == MOST_MARKS


def test_points_that_are_no_numbers_are_left_out():
    points = (PlanePoint(math.nan, 0.1), PlanePoint(0.2, 0.1))
    chart = PlaneChart((PointSeries("c", points, joined=True),), SHARES, SHARES, "x", "y")
    assert len(chart.placed().series[0].marks) == 1


def test_labels_of_points_do_not_cover_each_other():
    points = tuple(PlanePoint(0.5 + n / 100, 0.5, name=f"method {n}") for n in range(4))
    marks = plane("", *points).placed().series[0].marks
    labels = [mark.label for mark in marks if mark.label is not None]
    places = {(label.dx, label.dy) for label in labels}
    assert len(places) == 4
    assert plane("", *points).placed().names[0] == "method 0"


def test_a_heat_map_outlines_its_subgroup_and_fades_nothing_it_knows():
    cells = (
        (HeatCell(0.1, "10 %", 50, inside=True), HeatCell(0.3, "30 %", 50)),
        (HeatCell(0.2, "20 %", 50, inside=True), HeatCell(None, "", 0)),
    )
    chart = HeatChart(cells, ("sex", "race"), ("F", "M"), ("a", "b"), centre=0.2)
    lines = chart.placed().lines
    assert [cell.looks for cell in lines[0]] == ["less top right left", "more"]
    assert [cell.looks for cell in lines[1]] == ["more right bottom left", "empty"]
    assert lines[0][0].full_text == "F, a: 10 %; 50 rows; in the outlined subgroup"
    assert lines[1][1].full_text == "M, b: no rows"


def test_several_figures_have_ids_of_their_own():
    found = StrictPage(str(figures([Intervals(()), Intervals(())], "x", "caption")))
    names = [one["id"] for one in found.with_attribute("id")]
    assert len(names) == len(set(names)) == 4
    assert "caption" in found.text
