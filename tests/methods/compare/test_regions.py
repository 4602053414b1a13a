"""Regions and areas: the paper's vectors, ties, and an independent geometry of polygons."""

from __future__ import annotations

from itertools import product
from typing import Any

import numpy as np
import pytest
from hypothesis import assume, given, settings
from hypothesis import strategies as st

import evenhand as eh
from evenhand.methods.compare.regions import (
    CLOSE,
    REGIONS,
    OverwritingLine,
    plausible,
    regions,
)
from tests.support.helpers import examples

shapely = pytest.importorskip(
    "shapely",
    reason="shapely is the independent geometry, and it is not installed",
)

LINE = OverwritingLine.through(
    bias=np.array([0.5, 1 / 6, 0.0]),
    performance=np.array([0.8, 0.6, 0.5]),
)
"""The line of the paper's Table 2."""
VECTORS = [
    (0.75, 0.30, "good trade-off", 0.0272222),
    (0.70, 0.10, "good trade-off", 0.1088889),
    (0.45, 0.60, "lose-lose", None),
    (0.45, 0.00, "poor trade-off", None),
    # The original itself: blind overwriting of nothing does as well.
    (0.80, 0.50, "poor trade-off", None),
    (0.80, 0.30, "good trade-off", 0.08),
    (0.70, 0.00, "good trade-off", 2 / 9),
    # As biased, and less right.
    (0.75, 0.50, "poor trade-off", None),
    # As biased, and more right: nothing is less biased.
    (0.85, 0.50, "inverted trade-off", None),
    # On the line.
    (0.60, 1 / 6, "poor trade-off", None),
]


def region(performance: float, bias: float, line: OverwritingLine = LINE) -> str:
    start_performance = float(line.performance[-1])
    start_bias = float(line.bias[-1])
    height = line.height(bias, performance)
    code = regions(performance - start_performance, bias - start_bias, height)
    return REGIONS[int(code)]


@pytest.mark.parametrize(("performance", "bias", "expected", "area"), VECTORS)
def test_the_paper_s_vectors(performance, bias, expected, area):
    assert region(performance, bias) == expected
    found = float(LINE.area(bias, performance))
    assert np.isfinite(found)
    if area is not None:
        assert found == pytest.approx(area, abs=1e-7)
        scaled_bias = bias / 0.5
        scaled_performance = (performance - 0.5) / 0.3
        triangle = (scaled_performance - scaled_bias) ** 2 / 2
        assert found == pytest.approx(triangle)


GROUP = np.repeat(["g1", "g2"], [180, 120])
TRUTH = np.repeat([0, 1, 0], [90, 150, 60])
"""The people of Table 2, 30 times over."""


def predictions(fp1: int, fp2: int, fn: int) -> Any:
    """Return predictions that err this often on the negatives of either group and on positives."""
    found = TRUTH.copy()
    negative = TRUTH == 0
    for rows, errors in (
        ((GROUP == "g1") & negative, fp1),
        ((GROUP == "g2") & negative, fp2),
        (~negative, fn),
    ):
        wrong = np.flatnonzero(rows)[:errors]
        found[wrong] ^= 1
    return found


ERRORS = [
    (0, 18, 57),
    (0, 6, 84),
    (0, 36, 129),
    (9, 6, 150),
    (0, 30, 30),
    (0, 18, 42),
    (0, 0, 90),
    (0, 30, 45),
    (0, 30, 15),
    (0, 10, 110),
]
"""The errors that make the vectors, one after the other."""


def test_the_paper_s_vectors_as_predictions():
    outcomes = {"original": predictions(0, 30, 30)}
    for at, errors in enumerate(ERRORS):
        outcomes[str(at)] = predictions(*errors)
    found = eh.compare(outcomes, TRUTH, GROUP, bias="fpr")
    start_performance, start_bias = found.start
    assert start_performance.value == pytest.approx(0.8)
    assert start_bias.value == pytest.approx(0.5)
    for standing, vector in zip(found.standings, VECTORS, strict=True):
        performance, bias, expected, area = vector
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
    more_right = performance > 0
    not_more_biased = bias <= 0
    assert (found == "win-win") == (more_right and bias < 0)
    assert (found == "inverted trade-off") == (more_right and bias >= 0)
    assert (found == "lose-lose") == (not more_right and bias > 0)
    traded = not more_right and not_more_biased
    assert (found == "good trade-off") == (traded and height > 0)
    assert (found == "poor trade-off") == (traded and height <= 0)
    rounding = CLOSE / 2
    nearby = regions(
        performance + rounding,
        bias - rounding,
        height + rounding,
    )
    assert REGIONS[int(nearby)] == found


def ends_and_zero(interval: list[float]) -> list[float]:
    """Return the ends of an interval, and 0 if it lies between: nothing else changes a region."""
    low, high = interval
    if low <= 0 <= high:
        return [low, 0.0, high]
    return [low, high]


INTERVALS = st.tuples(COARSE, COARSE).map(sorted)


@given(INTERVALS, INTERVALS, INTERVALS)
def test_plausible_lists_the_region_of_every_point_within_limits(performance, bias, height):
    found = plausible(tuple(performance), tuple(bias), tuple(height))
    corners = product(ends_and_zero(performance), ends_and_zero(bias), height)
    expected = {REGIONS[int(regions(*corner))] for corner in corners}
    assert set(found) == expected
    assert found == [name for name in REGIONS if name in found]


@st.composite
def lines(draw: Any) -> tuple[Any, Any]:
    """Bias and performance at some degrees, both going down, at times in steps and level parts."""
    number = draw(st.integers(2, 7))
    step = st.integers(0, 5).map(lambda part: part / 16)
    steps = st.lists(step, min_size=number, max_size=number)
    bias = going_down(draw(steps))
    performance = going_down(draw(steps))
    assume(bias[0] > bias[-1])
    assume(performance[0] > performance[-1])
    return bias, performance


def going_down(steps: list[float]) -> Any:
    """Return the sums of the steps, the largest first."""
    sums = np.cumsum(steps)
    return sums[::-1].copy()


FAR = 100.0
PLACES = st.floats(-0.5, 2.5, width=32)
POINTS = st.tuples(PLACES, PLACES)


def above(bias: Any, performance: Any) -> Any:
    """Return all that lies over the line, as a polygon: level to its left, up at its right end."""
    x = bias[::-1]
    y = np.maximum.accumulate(performance[::-1])
    line = zip(x.tolist(), y.tolist(), strict=True)
    corners = [
        (-FAR, y[0]),
        *line,
        (x[-1], FAR),
        (-FAR, FAR),
    ]
    return shapely.make_valid(shapely.Polygon(corners))


@given(lines(), POINTS)
def test_areas_are_those_of_polygons(points, point):
    bias, performance = points
    point_bias, level = point
    line = OverwritingLine.through(bias, performance)
    left = min(point_bias, bias[0])
    under_the_level = shapely.box(left, -FAR, bias[0], level)
    expected = above(bias, performance).intersection(under_the_level).area
    bias_range = bias[0] - bias[-1]
    performance_range = performance[0] - performance[-1]
    scaled = expected / (bias_range * performance_range)
    area = float(line.area(point_bias, level))
    assert area == pytest.approx(scaled, rel=1e-6, abs=1e-6)


@given(lines(), POINTS)
def test_regions_are_those_of_polygons(points, point):
    bias, performance = points
    x, y = point
    line = OverwritingLine.through(bias, performance)
    start_x = float(bias[0])
    start_y = float(performance.max())
    place = shapely.Point(x, y)
    over = above(bias, performance)
    traded = shapely.box(-FAR, -FAR, start_x, start_y)
    parts = {
        "win-win": shapely.box(-FAR, start_y, start_x, FAR),
        "inverted trade-off": shapely.box(start_x, start_y, FAR, FAR),
        "lose-lose": shapely.box(start_x, -FAR, FAR, start_y),
        "good trade-off": over.intersection(traded),
        "poor trade-off": traded.difference(over),
    }
    borders = [
        over.boundary,
        shapely.LineString([(start_x, -FAR), (start_x, FAR)]),
        shapely.LineString([(-FAR, start_y), (FAR, start_y)]),
    ]
    nearest = min(border.distance(place) for border in borders)
    assume(nearest > 1e-6)
    (expected,) = [name for name, part in parts.items() if part.contains(place)]
    height = line.height(x, y)
    found = regions(y - start_y, x - start_x, height)
    assert REGIONS[int(found)] == expected


@given(lines(), st.lists(PLACES, min_size=1, max_size=5))
def test_a_line_is_read_as_by_interpolation(points, where):
    bias, performance = points
    line = OverwritingLine.through(bias, performance)
    assume(len(set(bias.tolist())) == len(bias))
    found = line.at(np.array(where))
    rising_bias = bias[::-1]
    rising_performance = performance[::-1]
    expected = np.interp(where, rising_bias, rising_performance)
    assert found == pytest.approx(expected, abs=1e-7)


SCORES = st.floats(0, 1, width=16) | st.just(np.nan)


@given(st.lists(st.tuples(SCORES, SCORES), min_size=2, max_size=6))
def test_any_points_make_a_line_that_is_nowhere_worse_and_never_falls(points):
    bias, performance = np.array(points).T
    known = ~np.isnan(bias + performance)
    assume(known.any())
    line = OverwritingLine.through(bias, performance)
    assert (np.diff(line.bias) >= 0).all()
    assert (np.diff(line.performance) >= 0).all()
    on_the_line = line.at(bias[known])
    assert (on_the_line >= performance[known] - 1e-9).all()
    assert line.performance.max() == performance[known].max()


@given(st.lists(lines(), min_size=1, max_size=3), st.lists(POINTS, min_size=1, max_size=3))
@settings(max_examples=examples(50))
def test_many_lines_and_points_at_once_are_each_by_itself(many, points):
    size = max(len(bias) for bias, _ in many)
    # A line for each row, a point for each column.
    biases = np.empty((len(many), 1, size))
    performances = np.empty((len(many), 1, size))
    for at, (bias, performance) in enumerate(many):
        biases[at] = padded(bias, size)
        performances[at] = padded(performance, size)
    together = OverwritingLine.through(biases, performances)
    x, y = np.array(points).T
    heights = together.height(x[None], y[None])
    areas = together.area(x[None], y[None])
    for at, (bias, performance) in enumerate(many):
        alone = OverwritingLine.through(bias, performance)
        assert heights[at] == pytest.approx(alone.height(x, y))
        assert areas[at] == pytest.approx(alone.area(x, y))


def padded(values: Any, size: int) -> Any:
    """Return values that are repeated at the end up to this size."""
    missing = size - len(values)
    return np.pad(values, (0, missing), mode="edge")


FACTORS = st.floats(0.1, 10)


@given(lines(), POINTS, FACTORS, FACTORS, st.floats(-1, 1))
def test_areas_do_not_depend_on_units(points, point, wide, high, up):
    bias, performance = points
    x, y = point
    line = OverwritingLine.through(bias, performance)
    area = float(line.area(x, y))
    scaled_line = OverwritingLine.through(bias * wide, performance * high + up)
    scaled_area = float(scaled_line.area(x * wide, y * high + up))
    assert scaled_area == pytest.approx(area, rel=1e-6, abs=1e-6)


@pytest.mark.parametrize(
    ("bias", "performance"),
    [
        ([0.3, 0.3], [0.8, 0.5]),
        ([0.3, 0.0], [0.8, 0.8]),
    ],
)
def test_a_line_without_extent_has_no_area(bias, performance):
    line = OverwritingLine.through(np.array(bias), np.array(performance))
    assert np.isnan(line.area(0.1, 0.7))


def cases(seed: int) -> tuple[dict[str, Any], Any, Any]:
    rng = np.random.default_rng(seed)
    n = 300
    sex = rng.integers(0, 2, n)
    truth = rng.integers(0, 2, n)
    is_right = rng.random(n) < 0.85
    is_favoured = sex & (rng.random(n) < 0.4)
    original = np.where(is_right, truth, 1 - truth) | is_favoured
    outcomes = {"original": original}
    for at in range(5):
        noise = rng.random(n) < 0.05 * (at + 1)
        guessed = rng.integers(0, 2, n)
        refused = original & (1 - (sex & noise))
        outcomes[f"m{at}"] = np.where(noise, guessed, refused)
    return outcomes, truth, sex


def story(found: eh.Comparison) -> dict[str, Any]:
    """Return the region and the scores of each mitigation."""
    standings = {}
    for standing in found.standings:
        scores = (standing.performance, standing.bias, standing.gain)
        rounded = [round(score.value, 9) for score in scores]
        standings[standing.name] = (standing.region, rounded)
    return standings


OTHER_LABELS: list[tuple[Any, Any]] = [
    ("no", "yes"),
    ("refused", "given"),
    (False, True),
    (2, -1),
    (1.5, 0.5),
]


@pytest.mark.parametrize("bias", ["spd", "aod", "aod-abs", "eod", "di"])
@pytest.mark.parametrize("performance", ["accuracy", "f1", "mcc"])
def test_names_of_labels_and_orders_do_not_matter(bias, performance):
    outcomes, truth, sex = cases(1)
    options: dict[str, Any] = {
        "bias": bias,
        "performance": performance,
        "resamples": 100,
    }
    expected = eh.compare(outcomes, truth, sex, **options)
    for no, yes in OTHER_LABELS:
        words = np.array([no, yes], dtype=object)
        renamed = {name: words[predicted] for name, predicted in outcomes.items()}
        letters = np.array(["m", "f"])[sex]
        found = eh.compare(renamed, words[truth], letters, positive=yes, **options)
        assert story(found) == story(expected)
    order = np.random.default_rng(2).permutation(300)
    shuffled = {name: predicted[order] for name, predicted in outcomes.items()}
    found = eh.compare(shuffled, truth[order], sex[order], **options)
    assert story(found) == story(expected)
    assert found.digest == expected.digest  # rows alike are drawn together
    backwards = dict(reversed(outcomes.items()))
    found = eh.compare(backwards, truth, sex, **options)
    assert story(found) == story(expected)
