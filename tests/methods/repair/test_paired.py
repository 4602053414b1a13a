"""How much two models differ on the same inputs: limits, corner cases, looks, gaps and hits."""

from __future__ import annotations

import json
import math
from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import evenhand as eh
from evenhand.methods.repair import paired as module
from evenhand.methods.repair.change import PairedChange
from evenhand.methods.repair.methods.augment import decide
from evenhand.methods.repair.paired import gap_change, hits, paired
from evenhand.runtime.errors import DataError, UsageError
from evenhand.scores import twins
from evenhand.space.feature import category, integer
from evenhand.space.space import Space
from evenhand.statistics.estimate import Estimate
from evenhand.statistics.intervals import clopper_pearson
from evenhand.statistics.paired_limits import fall_above, hits_ratio_above
from evenhand.subject.subject import Subject
from evenhand.subject.view import View
from tests.support.helpers import examples, refused
from tests.support.strategies import every

COUNTS = st.tuples(*(st.integers(0, 40) | st.sampled_from([0, 0, 1]) for _ in range(4)))


def hit_columns(gone: int, come: int, both: int, neither: int = 0) -> tuple[Any, Any]:
    """Hits before and after: so many before alone, after alone, of both and of neither."""
    sizes = [gone, come, both, neither]
    old = np.repeat([1, 0, 1, 0], sizes)
    new = np.repeat([0, 1, 1, 0], sizes)
    order = np.random.default_rng(0).permutation(len(old))
    return old[order], new[order]


def change(*counts: int, level: float = 0.95, scale: float = 1.0) -> PairedChange:
    old, new = hit_columns(*counts)
    return paired(scale * old, scale * new, level=level, population="all inputs")


def estimates(found: PairedChange) -> tuple[Estimate, ...]:
    return found.before, found.after, found.fall, found.fewer


def numbers(found: PairedChange) -> list[list[float]]:
    """The value and limits of each score."""
    rows = []
    for estimate in estimates(found):
        rows.append([estimate.value, estimate.low, estimate.high])
    return rows


@settings(deadline=None, max_examples=examples(60))
@given(COUNTS, st.sampled_from([1.0, 0.5]))
def test_every_change_reads_well_whatever_was_seen(counts, scale):
    found = change(*counts, scale=scale)
    gone, come, both, _ = counts
    n = sum(counts)
    assert {estimate.n for estimate in estimates(found)} == {n}
    if n:
        fall = scale * (gone - come) / n
        before = scale * (gone + both) / n
        assert found.fall.value == pytest.approx(fall)
        assert found.before.value == pytest.approx(before)
    # What is gone and by how much the score fell are never said to have different signs.
    assert (found.fall.low > 0) == (found.fewer.low > 0)
    assert (found.fall.high < 0) == (found.fewer.high < 0)
    text = json.dumps(found.to_dict(), allow_nan=False)
    again = PairedChange.from_dict(json.loads(text))
    assert json.dumps(again.to_dict()) == text
    assert numbers(again)[2:] == numbers(found)[2:]
    sentence = str(found)
    assert "\n" not in sentence
    words = sentence.replace("%", " ").split()
    assert "nan" not in words
    assert "inf" not in words


@settings(deadline=None, max_examples=examples(40))
@given(COUNTS.filter(lambda counts: sum(counts) > 0))
def test_models_that_change_places_change_signs(counts):
    gone, come, both, neither = counts
    found = change(gone, come, both, neither)
    swapped = change(come, gone, both, neither)
    before = numbers(found)[0]
    after_swapped = numbers(swapped)[1]
    assert before == pytest.approx(after_swapped)
    assert found.fall.low == pytest.approx(-swapped.fall.high, abs=1e-9)
    low = found.fewer.low
    if math.isfinite(low) and low < 1:
        left = 1 - swapped.fewer.high
        assert 1 - low == pytest.approx(1 / left, rel=1e-6)
    assert {found.verdict, swapped.verdict} in ({"unsure"}, {"fell", "rose"})


@settings(deadline=None, max_examples=examples(40))
@given(COUNTS, st.integers(1, 500))
def test_inputs_that_neither_discriminates_against_do_not_matter_for_what_part_is_gone(
    counts, more
):
    tail = 0.00625
    gone, come, both, neither = counts
    least = hits_ratio_above(gone, come, both, tail)
    before = max(gone + both, 1e-9)
    assert least <= (come + both) / before + 1e-9
    found = change(gone, come, both, neither)
    with_more = change(gone, come, both, neither + more)
    # Else they are also limited by the fall.
    if found.verdict == with_more.verdict == "unsure":
        assert found.fewer.low == pytest.approx(with_more.fewer.low)
        assert found.fewer.high == pytest.approx(with_more.fewer.high)


def test_limits_are_those_of_one_share_where_nothing_else_can_happen():
    # Nothing comes in or stays: the fall is one binomial share, and its limit that of Clopper and
    # Pearson's union.
    level = 1 - 2 * 0.01
    low, high = clopper_pearson(0, 500, level)
    assert low == 0
    assert fall_above(0, 0, 500, 0.01) == pytest.approx(-high)
    _, high = clopper_pearson(30, 500, level)
    assert fall_above(0, 30, 500, 0.01) == pytest.approx(-high)
    # All inputs that are ever hits come: their share is 0.01^(1/30) at least, and the ratio its
    # odds.
    share = 0.01 ** (1 / 30)
    assert hits_ratio_above(0, 30, 0, 0.01) == pytest.approx(share / (1 - share))


def test_limits_are_narrow_where_hits_are_rare():
    for counts in ((320, 0, 80), (400, 80, 0), (360, 40, 40)):
        neither = 80_000 - sum(counts)
        found = change(*counts, neither)
        assert found.fewer.low > 0.72, found
        assert found.fewer.high < 0.87, found
        # Clopper and Pearson's limits of both shares alone say much less.
        unpaired = 1 - found.after.high / found.before.low
        assert found.fewer.low > unpaired + 0.02
        graded = change(*counts, neither, scale=0.5)
        assert graded.fewer.low > 0.68, graded
        assert graded.before.method == "betting"


@pytest.mark.parametrize(
    ("counts", "verdict", "fewer"),
    [
        ((0, 0, 0, 1000), "unsure", (0.0, -math.inf, 1.0)),
        ((0, 30, 0, 970), "rose", (-math.inf, -math.inf, -4.4)),
        ((30, 0, 0, 970), "fell", (1.0, 0.81, 1.0)),
        ((0, 0, 1000, 0), "unsure", (0.0, -0.00509, 0.00506)),
        ((1, 0, 0, 0), "unsure", (1.0, -158.0, 1.0)),
        ((0, 0, 0, 0), "unsure", (0.0, -math.inf, 1.0)),
    ],
)
def test_corner_cases(counts, verdict, fewer):
    found = change(*counts)
    assert found.verdict == verdict
    part = numbers(found)[3]
    assert part == pytest.approx(fewer, rel=0.02)
    assert math.isnan(found.before.value) == (sum(counts) == 0)


def test_a_change_is_written_in_a_line():
    fell = str(change(30, 0, 0, 970))
    rose = str(change(0, 30, 0, 970))
    unsure = str(change(10, 20, 20, 950))
    nothing = str(change(0, 0, 0, 0))
    no_hits = str(change(0, 0, 0, 9))
    assert fell.startswith("fell: 3 % before, 0 % after, 100 % fewer (81")
    assert "rose: 0 % before, 3 % after (at least 4" in rose
    assert "more to" in unsure
    assert (
        "unsure: unknown before, unknown after (at most 100 % fewer, 95 % level, n = 0, "
        in nothing
    )
    assert "unsure: 0 % before, 0 % after, 0 % fewer (at most 100 % fewer" in no_hits


def test_every_input_asked_leaves_no_interval():
    old, new = hit_columns(3, 1, 2, 4)
    found = paired(old, new, level=0.95, population="all inputs", exact=True)
    part = pytest.approx(0.4)
    assert numbers(found) == [
        [0.5, 0.5, 0.5],
        [0.3, 0.3, 0.3],
        [0.2, 0.2, 0.2],
        [part, part, part],
    ]
    assert found.verdict == "fell"
    assert found.fall.method == "enumerated"
    assert (
        str(found)
        == "fell: 50 % before, 30 % after, 40 % fewer (n = 10, population: all inputs)"
    )
    none = paired([0, 0], [0, 1], level=0.95, population="", exact=True)
    assert none.fewer.value == -math.inf
    assert none.verdict == "rose"
    assert none.to_dict()["fewer"]["value"] is None
    assert PairedChange.from_dict(none.to_dict()) == none


def test_nothing_changed():
    old, new = hit_columns(3, 0, 9, 400)
    estimate = paired(old, new, level=0.95, population="p").before
    found = PairedChange.none(estimate)
    assert found.before == estimate
    assert found.after == estimate
    zero = [0.0, 0.0, 0.0]
    assert numbers(found)[2:] == [zero, zero]
    assert PairedChange.from_dict(found.to_dict()) == found


def one_hit(start: int, stop: int) -> tuple[Any, Any]:
    return hit_columns(1, 0, 0, stop - start - 1)


HALF = Estimate.exact(1, 2).to_dict()
ONLY_SHARES = {"before": HALF, "after": HALF, "fall": HALF, "fewer": HALF}


@pytest.mark.parametrize(
    ("call", "words"),
    [
        (
            lambda: paired([0, 1], [1], level=0.9, population=""),
            "before has 2 inputs and after has 1 inputs",
        ),
        (
            lambda: paired([0, 2], [1, 0], level=0.9, population=""),
            "before must be one column of numbers from 0 to 1",
        ),
        (
            lambda: paired([0, 1], [math.nan, 0], level=0.9, population=""),
            "after must be one column",
        ),
        (
            lambda: gap_change([0, 1], [1, 0], [True], level=0.9, population=""),
            "inside has 1 rows and before has 2 rows",
        ),
    ],
)
def test_wrong_columns_are_refused(call, words):
    refused(DataError, call, words)


@pytest.mark.parametrize(
    ("call", "words"),
    [
        (
            lambda: paired([0, 1], [1, 1], level=1, population=""),
            "level is 1",
        ),
        (
            lambda: decide(one_hit, level=0.9, looks=[], population=""),
            "looks = []",
        ),
        (
            lambda: decide(one_hit, level=0.9, looks=[9, 9], population=""),
            "looks = [9, 9] must be",
        ),
        (
            lambda: PairedChange.from_dict({"before": 3}),
            "this is not a recorded change",
        ),
        (
            lambda: PairedChange.from_dict(ONLY_SHARES),
            "fall and fewer must be amounts",
        ),
    ],
)
def test_wrong_arguments_are_refused(call, words):
    refused(UsageError, call, words)


def test_looking_ends_as_soon_as_it_is_sure_and_asks_no_draw_twice():
    old, new = hit_columns(400, 20, 30, 9550)
    asked = []

    def count(start: int, stop: int) -> tuple[Any, Any]:
        asked.append((start, stop))
        return old[start:stop], new[start:stop]

    found = decide(count, level=0.95, looks=[50, 500, 10_000], population="p")
    assert asked == [(0, 50), (50, 500)]
    assert found.verdict == "fell"
    each = paired(old[:500], new[:500], level=1 - 0.05 / 3, population="p")
    assert numbers(found) == numbers(each)
    assert {estimate.level for estimate in estimates(found)} == {0.95}

    def unchanged(start: int, stop: int) -> tuple[Any, Any]:
        return old[start:stop], old[start:stop]

    still = decide(unchanged, level=0.95, looks=[50, 500], population="p")
    assert still.verdict == "unsure"
    assert still.fall.n == 500


def rows(
    inside: tuple[float, float], outside: tuple[float, float], n: int = 4000
) -> tuple[Any, Any, Any]:
    """Who is favoured before and after, with these rates inside and outside a subgroup.

    As few change as can be.
    """
    group = np.arange(n) % 4 == 0
    chance = np.random.default_rng(3).random(n)
    before = chance < np.where(group, inside[0], outside[0])
    after = chance < np.where(group, inside[1], outside[1])
    return before, after, group


@pytest.mark.parametrize("scale", [1.0, 0.7])
@pytest.mark.parametrize(
    ("inside", "outside", "verdict"),
    [
        ((0.2, 0.4), (0.5, 0.5), "fell"),
        ((0.8, 0.5), (0.5, 0.5), "fell"),
        ((0.5, 0.2), (0.5, 0.5), "rose"),
        # It turned: those who were behind are now ahead by as much.
        ((0.3, 0.7), (0.5, 0.5), "unsure"),
        ((0.3, 0.3), (0.5, 0.5), "unsure"),
        ((0.3, 0.6), (0.7, 0.65), "fell"),
    ],
)
def test_gaps_fall_and_rise_and_turn(inside, outside, verdict, scale):
    old, new, group = rows(inside, outside)
    found = gap_change(scale * old, scale * new, group, level=0.95, population="people")
    assert found.verdict == verdict
    gap_before = scale * abs(inside[0] - outside[0])
    gap_after = scale * abs(inside[1] - outside[1])
    assert found.before.low <= gap_before <= found.before.high
    assert found.after.low <= gap_after <= found.after.high
    assert found.fall.low <= gap_before - gap_after <= found.fall.high
    if gap_before:
        part = 1 - gap_after / gap_before
        assert found.fewer.low <= part <= found.fewer.high
    # Rows are paired: what changed is known better than what was.
    if inside[0] == inside[1]:
        width_of_fall = found.fall.high - found.fall.low
        width_of_gap = found.before.high - found.before.low
        assert width_of_fall < 0.5 * width_of_gap


def test_the_gap_of_nobody_is_not_known():
    for inside in (np.zeros(9), np.ones(9)):
        found = gap_change(np.ones(9), np.zeros(9), inside, level=0.95, population="people")
        assert math.isnan(found.before.value)
        assert found.verdict == "unsure"
        assert found.fall.low == -1.0
        assert found.fall.high == 1.0
        assert found.before.n == 0
        assert json.dumps(found.to_dict(), allow_nan=False)


ENDS = st.tuples(st.integers(-10, 10), st.integers(0, 8)).map(
    lambda pair: (pair[0] / 10, (pair[0] + pair[1]) / 10)
)


@settings(deadline=None, max_examples=examples(80))
@given(ENDS, ENDS, st.integers(0, 8), st.integers(0, 8), st.integers(0, 99))
def test_limits_of_sizes_are_those_of_all_that_is_allowed(first, second, less, more, seed):
    means = (sum(first) / 2, sum(second) / 2)
    apart = means[0] - means[1]
    least_apart = apart - less / 10
    most_apart = apart + more / 10
    fall, fewer = module._size_limits(means, first, second, (least_apart, most_apart))
    # A fine grid of what the limits allow, by brute force.
    first_grid = np.linspace(first[0], first[1], 81)
    second_grid = np.linspace(second[0], second[1], 81)
    x, y = np.meshgrid(first_grid, second_grid)
    allowed = (x - y >= least_apart - 1e-9) & (x - y <= most_apart + 1e-9)
    before = np.abs(x[allowed])
    after = np.abs(y[allowed])
    falls = before - after
    assert falls.min() >= fall[0] - 1e-9
    assert falls.max() <= fall[1] + 1e-9
    # Where the limits allow one distance alone, few points of the grid have it.
    assert falls.min() <= fall[0] + 0.1
    assert falls.max() >= fall[1] - 0.1
    some = before > 1e-9
    parts = 1 - after[some] / before[some]
    assert parts.min(initial=np.inf) >= fewer[0] - 1e-9
    assert parts.max(initial=-np.inf) <= fewer[1] + 1e-9


SMALL = [
    category("sex", ["F", "M"]),
    category("race", ["a", "b", "c"]),
    integer("age", 0, 30),
]


def score(people: Any) -> Any:
    age = people["age"]
    men = people["sex"] == "M"
    of_race_b = people["race"] == "b"
    return age + 3.0 * men * (age % 3) + 2 * of_race_b


@pytest.mark.parametrize("names", [("sex",), ("sex", "race"), ("age",)])
@pytest.mark.parametrize("constraints", [[], ["not (sex == 'M' and age < 12)"]])
@pytest.mark.parametrize(
    "meaning",
    [
        {"model": lambda people: score(people) > 17},
        {"model": score, "differs": 2.5},
        {"model": score, "differs": lambda a, b: np.minimum(np.abs(a - b) / 40, 1)},
    ],
    ids=["labels", "numbers", "distance"],
)
def test_hits_are_what_measure_counts(names, constraints, meaning, monkeypatch):
    space = Space(SMALL, protected=["sex"], constraints=constraints)
    options = {key: value for key, value in meaning.items() if key != "model"}
    subject = Subject(meaning["model"], space, **options)
    points = np.asfortranarray(every(space))
    # So that points are asked in several parts.
    monkeypatch.setattr(twins, "ROWS", 200)
    found = hits(View(subject), names, points)
    assert found.shape == (len(points),)
    assert found.dtype.kind == ("f" if View(subject).graded else "b")
    measured = eh.measure(subject, space, over=[names]).worst.estimate
    assert measured.method == "enumerated"
    assert float(found.mean()) == pytest.approx(measured.value)
    assert 0 < measured.value < 1 or names == ("age",)


def test_hits_of_no_points():
    subject = Subject(lambda people: people["age"] > 3, Space(SMALL))
    assert hits(View(subject), ("sex",), np.empty((0, 3))).tolist() == []
    assert subject.asked == 0


@pytest.mark.parametrize(
    ("fall", "fewer", "expected_fall", "expected_fewer"),
    [
        # The part that is gone says by how much the score fell at least.
        ((0.0, 0.4), (0.2, 0.6), (0.08, 0.4), (0.2, 0.6)),
        ((0.1, 0.4), (0.2, 0.6), (0.1, 0.4), (0.2, 0.6)),
        # The fall says which part is gone at least.
        ((0.15, 0.4), (-0.1, 0.6), (0.15, 0.4), (0.15 / 0.6, 0.6)),
        ((-0.1, 0.4), (-0.1, 0.6), (-0.1, 0.4), (-0.1, 0.6)),
        # Neither is of a sign that the other excludes.
        ((0.0, 0.4), (-0.1, 0.6), (0.0, 0.4), (-0.1, 0.6)),
    ],
)
def test_limits_of_a_fall_and_of_the_part_gone_imply_each_other(
    fall, fewer, expected_fall, expected_fewer
):
    limits = [(0.4, 0.6), (0.2, 0.4), fall, fewer]
    found = module._change((0.5, 0.3), 100, limits, 0.95, "all", ("exact", "paired"))
    assert (found.fall.low, found.fall.high) == pytest.approx(expected_fall)
    assert (found.fewer.low, found.fewer.high) == pytest.approx(expected_fewer)
    assert found.fall.value == pytest.approx(0.2)
    assert found.fewer.value == pytest.approx(0.4)
    assert (found.before.low, found.before.high) == (0.4, 0.6)
    assert (found.after.low, found.after.high) == (0.2, 0.4)


@pytest.mark.parametrize(
    ("fall", "fewer", "expected_fall", "expected_fewer"),
    [
        ((-0.4, 0.05), (-2.0, -0.25), (-0.4, -0.08), (-2.0, -0.25)),
        ((-0.4, -0.1), (-2.0, -0.25), (-0.4, -0.1), (-2.0, -0.25)),
        ((-0.4, -0.15), (-2.0, 0.1), (-0.4, -0.15), (-2.0, 1 - 1 / 0.75)),
        ((-0.4, 0.0), (-2.0, 0.1), (-0.4, 0.0), (-2.0, 0.1)),
    ],
)
def test_limits_of_a_rise_and_of_the_part_that_is_new_imply_each_other(
    fall, fewer, expected_fall, expected_fewer
):
    limits = [(0.2, 0.4), (0.4, 0.6), fall, fewer]
    found = module._change((0.3, 0.5), 100, limits, 0.95, "all", ("exact", "paired"))
    assert (found.fall.low, found.fall.high) == pytest.approx(expected_fall)
    assert (found.fewer.low, found.fewer.high) == pytest.approx(expected_fewer)
    assert found.fall.value == pytest.approx(-0.2)
