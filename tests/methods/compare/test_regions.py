"""Regions and areas: the paper's vectors, ties, and an independent geometry of polygons on random
points and lines.
"""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from hypothesis import assume, given, settings
from hypothesis import strategies as st

import evenhand as eh
from evenhand.methods.compare.regions import CLOSE, REGIONS, OverwritingLine, plausible, regions
from tests.support.helpers import examples

shapely = pytest.importorskip(
    "shapely", reason="shapely is the independent geometry, and it is not installed"
)

LINE = OverwritingLine.through(np.array([0.5, 1 / 6, 0.0]), np.array([0.8, 0.6, 0.5]))
"""The line of the paper's Table 2."""
VECTORS = [
    (0.75, 0.30, "good trade-off", 0.0272222),
    (0.70, 0.10, "good trade-off", 0.1088889),
    (0.45, 0.60, "lose-lose", None),
    (0.45, 0.00, "poor trade-off", None),
    (
        0.80,
        0.50,
        "poor trade-off",
        None,
    ),  # the original itself: blind overwriting of nothing does as well
    (0.80, 0.30, "good trade-off", 0.08),
    (0.70, 0.00, "good trade-off", 2 / 9),
    (0.75, 0.50, "poor trade-off", None),  # as biased, and less right
    (0.85, 0.50, "inverted trade-off", None),  # as biased, and more right: nothing is less biased
    (0.60, 1 / 6, "poor trade-off", None),  # on the line
]


def region(performance: float, bias: float, line: OverwritingLine = LINE) -> str:
    start = float(line.performance[-1]), float(line.bias[-1])
    found = regions(performance - start[0], bias - start[1], line.height(bias, performance))
    return REGIONS[int(found)]


@pytest.mark.parametrize(("performance", "bias", "expected", "area"), VECTORS)
def test_the_paper_s_vectors(performance, bias, expected, area):
    assert region(performance, bias) == expected
    found = float(LINE.area(bias, performance))
    assert np.isfinite(found)
    if area is not None:
        assert found == pytest.approx(area, abs=1e-7)
        x, y = bias / 0.5, (performance - 0.5) / 0.3
        assert found == pytest.approx((y - x) ** 2 / 2)


def told(fp1: int, fp2: int, fn: int) -> Any:
    """Predictions for the people of Table 2, 30 times over, that err this often in either group and
    on positives.
    """
    group = np.array(["g1"] * 180 + ["g2"] * 120)
    truth = np.concatenate([np.repeat([0, 1], 90), np.repeat([1, 0], 60)])
    found = truth.copy()
    for rows, some in (
        ((group == "g1") & (truth == 0), fp1),
        ((group == "g2") & (truth == 0), fp2),
        (truth == 1, fn),
    ):
        found[np.flatnonzero(rows)[:some]] ^= 1
    return found, truth, group


ERRORS = [(0, 18, 57), (0, 6, 84), (0, 36, 129), (9, 6, 150), (0, 30, 30)]
ERRORS += [(0, 18, 42), (0, 0, 90), (0, 30, 45), (0, 30, 15), (0, 10, 110)]
"""The errors that make the vectors, one after the other."""


def test_the_paper_s_vectors_as_predictions():
    _, truth, group = told(0, 0, 0)
    outcomes = {"original": told(0, 30, 30)[0]} | {
        str(at): told(*errors)[0] for at, errors in enumerate(ERRORS)
    }
    found = eh.compare(outcomes, truth, group, bias="fpr")
    assert found.start[0].value == pytest.approx(0.8)
    assert found.start[1].value == pytest.approx(0.5)
    for standing, (performance, bias, expected, area) in zip(found.standings, VECTORS, strict=True):
        assert standing.performance.value == pytest.approx(performance)
        assert standing.bias.value == pytest.approx(bias)
        assert standing.region == expected
        assert expected in standing.plausible
        if area is None:
            assert np.isnan(standing.area)
        else:
            assert standing.area == pytest.approx(area, abs=1e-7)
            assert standing.gain.value == pytest.approx(area, abs=1e-7)
    assert found.best == "6"
    assert found["2"].verdict == "fail"


def test_what_the_released_code_gets_wrong():
    assert region(0.45, 0.60) == "lose-lose"  # it says inverted
    assert region(0.45, 0.00) == "poor trade-off"  # it says win-win


COARSE = st.integers(-4, 4).map(lambda step: step / 8)


@given(COARSE, COARSE, COARSE)
def test_ties_never_count_as_better(performance, bias, height):
    found = REGIONS[int(regions(performance, bias, height))]
    assert (found == "win-win") == (performance > 0 and bias < 0)
    assert (found == "inverted trade-off") == (performance > 0 and bias >= 0)
    assert (found == "lose-lose") == (performance <= 0 and bias > 0)
    assert (found == "good trade-off") == (performance <= 0 and bias <= 0 and height > 0)
    assert (found == "poor trade-off") == (performance <= 0 and bias <= 0 and height <= 0)
    rounding = CLOSE / 2
    assert (
        REGIONS[int(regions(performance + rounding, bias - rounding, height + rounding))] == found
    )


@given(*[st.tuples(COARSE, COARSE).map(sorted) for _ in range(3)])
def test_plausible_lists_the_region_of_every_point_within_limits(performance, bias, height):
    found = plausible(tuple(performance), tuple(bias), tuple(height))
    corners = {
        REGIONS[int(regions(p, b, h))]
        for p in (*performance, *([0.0] if performance[0] <= 0 <= performance[1] else []))
        for b in (*bias, *([0.0] if bias[0] <= 0 <= bias[1] else []))
        for h in height
    }
    assert set(found) == corners
    assert found == [one for one in REGIONS if one in found]


@st.composite
def lines(draw: Any) -> tuple[Any, Any]:
    """Bias and performance at some degrees, both going down, at times in steps and level parts."""
    number = draw(st.integers(2, 7))
    step = st.integers(0, 5).map(lambda part: part / 16)
    bias = np.cumsum([draw(step) for _ in range(number)])
    performance = np.cumsum([draw(step) for _ in range(number)])
    assume(bias[-1] > bias[0] and performance[-1] > performance[0])
    return bias[::-1].copy(), performance[::-1].copy()


FAR = 100.0
POINTS = st.tuples(*[st.floats(-0.5, 2.5, width=32)] * 2)


def above(bias: Any, performance: Any) -> Any:
    """Return all that lies over the line, as a polygon: level to its left, and up at its right end."""
    x, y = bias[::-1], np.maximum.accumulate(performance[::-1])
    corners = [(-FAR, y[0]), *zip(x.tolist(), y.tolist(), strict=True), (x[-1], FAR), (-FAR, FAR)]
    return shapely.make_valid(shapely.Polygon(corners))


@given(lines(), POINTS)
def test_areas_are_those_of_polygons(points, point):
    bias, performance = points
    u, a = point
    line = OverwritingLine.through(bias, performance)
    inside = above(bias, performance)
    expected = inside.intersection(shapely.box(min(u, bias[0]), -FAR, bias[0], a)).area
    scale = (bias[0] - bias[-1]) * (performance[0] - performance[-1])
    assert float(line.area(u, a)) == pytest.approx(expected / scale, rel=1e-6, abs=1e-6)


@given(lines(), POINTS)
def test_regions_are_those_of_polygons(points, point):
    bias, performance = points
    u, a = point
    line = OverwritingLine.through(bias, performance)
    b0, a0 = float(bias[0]), float(performance.max())
    place, over = shapely.Point(u, a), above(bias, performance)
    parts = {
        "win-win": shapely.box(-FAR, a0, b0, FAR),
        "inverted trade-off": shapely.box(b0, a0, FAR, FAR),
        "lose-lose": shapely.box(b0, -FAR, FAR, a0),
        "good trade-off": over.intersection(shapely.box(-FAR, -FAR, b0, a0)),
        "poor trade-off": shapely.box(-FAR, -FAR, b0, a0).difference(over),
    }
    borders = [
        over.boundary,
        shapely.LineString([(b0, -FAR), (b0, FAR)]),
        shapely.LineString([(-FAR, a0), (FAR, a0)]),
    ]
    assume(all(border.distance(place) > 1e-6 for border in borders))
    (expected,) = [name for name, part in parts.items() if part.contains(place)]
    found = regions(a - a0, u - b0, line.height(u, a))
    assert REGIONS[int(found)] == expected


@given(lines(), st.lists(st.floats(-0.5, 2.5, width=32), min_size=1, max_size=5))
def test_a_line_is_read_as_by_interpolation(points, where):
    bias, performance = points
    line = OverwritingLine.through(bias, performance)
    assume(len(set(bias.tolist())) == len(bias))
    found = line.at(np.array(where))
    assert found == pytest.approx(np.interp(where, bias[::-1], performance[::-1]), abs=1e-7)


@given(
    st.lists(st.tuples(*[st.floats(0, 1, width=16) | st.just(np.nan)] * 2), min_size=2, max_size=6)
)
def test_any_points_make_a_line_that_is_nowhere_worse_and_never_falls(points):
    bias, performance = np.array(points).T
    known = ~np.isnan(bias + performance)
    assume(known.any())
    line = OverwritingLine.through(bias, performance)
    assert (np.diff(line.bias) >= 0).all()
    assert (np.diff(line.performance) >= 0).all()
    assert (line.at(bias[known]) >= performance[known] - 1e-9).all()
    assert line.performance.max() == performance[known].max()


@given(st.lists(lines(), min_size=1, max_size=3), st.lists(POINTS, min_size=1, max_size=3))
@settings(max_examples=examples(50))
def test_many_lines_and_points_at_once_are_each_by_itself(many, points):
    size = max(len(bias) for bias, _ in many)
    bias, performance = (
        np.array([np.pad(part[axis], (0, size - len(part[axis])), mode="edge") for part in many])
        for axis in (0, 1)
    )
    line = OverwritingLine.through(bias[:, None, :], performance[:, None, :])
    u, a = np.array(points).T
    heights, areas = line.height(u[None, :], a[None, :]), line.area(u[None, :], a[None, :])
    for at, (x, y) in enumerate(many):
        alone = OverwritingLine.through(x, y)
        for point in range(len(points)):
            assert heights[at, point] == pytest.approx(float(alone.height(u[point], a[point])))
            assert areas[at, point] == pytest.approx(float(alone.area(u[point], a[point])))


@given(lines(), POINTS, st.floats(0.1, 10), st.floats(0.1, 10), st.floats(-1, 1))
def test_areas_do_not_depend_on_units(points, point, wide, high, up):
    bias, performance = points
    area = float(OverwritingLine.through(bias, performance).area(*point))
    scaled = OverwritingLine.through(bias * wide, performance * high + up)
    assert float(scaled.area(point[0] * wide, point[1] * high + up)) == pytest.approx(
        area, rel=1e-6, abs=1e-6
    )


def test_a_line_without_extent_has_no_area():
    assert np.isnan(OverwritingLine.through(np.array([0.3, 0.3]), np.array([0.8, 0.5])).area(0.1, 0.7))
    assert np.isnan(OverwritingLine.through(np.array([0.3, 0.0]), np.array([0.8, 0.8])).area(0.1, 0.7))


def cases(seed: int) -> tuple[dict[str, Any], Any, Any]:
    rng = np.random.default_rng(seed)
    sex, truth = rng.integers(0, 2, 300), rng.integers(0, 2, 300)
    original = np.where(rng.random(300) < 0.85, truth, 1 - truth) | (sex & (rng.random(300) < 0.4))
    outcomes = {"original": original}
    for at in range(5):
        noise = rng.random(300) < 0.05 * (at + 1)
        outcomes[f"m{at}"] = np.where(
            noise, rng.integers(0, 2, 300), original & (1 - (sex & noise))
        )
    return outcomes, truth, sex


def story(found: eh.Comparison) -> dict[str, Any]:
    return {
        one.name: (
            one.region,
            [round(part.value, 9) for part in (one.performance, one.bias, one.gain)],
        )
        for one in found.standings
    }


@pytest.mark.parametrize("bias", ["spd", "aod", "aod-abs", "eod", "di"])
@pytest.mark.parametrize("performance", ["accuracy", "f1", "mcc"])
def test_names_of_labels_and_orders_do_not_matter(bias, performance):
    outcomes, truth, sex = cases(1)
    options: dict[str, Any] = {"bias": bias, "performance": performance, "resamples": 100}
    expected = story(eh.compare(outcomes, truth, sex, **options))
    for no, yes in (("no", "yes"), ("refused", "given"), (False, True), (2, -1), (1.5, 0.5)):
        names = np.array([no, yes], dtype=object)
        renamed = {name: names[told] for name, told in outcomes.items()}
        found = eh.compare(
            renamed, names[truth], np.array(["m", "f"])[sex], positive=yes, **options
        )
        assert story(found) == expected
    order = np.random.default_rng(2).permutation(300)
    shuffled = {name: told[order] for name, told in outcomes.items()}
    found = eh.compare(shuffled, truth[order], sex[order], **options)
    assert story(found) == expected
    assert (
        found.digest == eh.compare(outcomes, truth, sex, **options).digest
    )  # rows alike are drawn together
    backwards = dict(reversed(outcomes.items()))
    assert story(eh.compare(backwards, truth, sex, **options)) == expected
