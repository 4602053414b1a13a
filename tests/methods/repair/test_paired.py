"""How much two models differ on the same inputs: limits, corner cases, looks, gaps, JSON, and what
counts as a hit.
"""

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
    """Hits before and after, of so many inputs that are hits before alone, after alone, of both and
    of neither.
    """
    old, new = (
        np.repeat([1, 0, 1, 0], [gone, come, both, neither]),
        np.repeat([0, 1, 1, 0], [gone, come, both, neither]),
    )
    order = np.random.default_rng(0).permutation(len(old))
    return old[order], new[order]


def change(*counts: int, level: float = 0.95, scale: float = 1.0) -> PairedChange:
    old, new = hit_columns(*counts)
    return paired(scale * old, scale * new, level=level, population="all inputs")


def numbers(found: PairedChange) -> list[list[float]]:
    return [
        [one.value, one.low, one.high]
        for one in (found.before, found.after, found.fall, found.fewer)
    ]


@settings(deadline=None, max_examples=examples(60))
@given(COUNTS, st.sampled_from([1.0, 0.5]))
def test_every_change_reads_well_whatever_was_seen(counts, scale):
    found = change(*counts, scale=scale)
    n = sum(counts)
    assert {one.n for one in (found.before, found.after, found.fall, found.fewer)} == {n}
    if n:
        assert found.fall.value == pytest.approx(scale * (counts[0] - counts[1]) / n)
        assert found.before.value == pytest.approx(scale * (counts[0] + counts[2]) / n)
    # What is gone and by how much the score fell are never said to have different signs.
    assert (found.fall.low > 0) == (found.fewer.low > 0)
    assert (found.fall.high < 0) == (found.fewer.high < 0)
    text = json.dumps(found.to_dict(), allow_nan=False)
    again = PairedChange.from_dict(json.loads(text))
    assert json.dumps(again.to_dict()) == text
    assert numbers(again)[2:] == numbers(found)[2:]
    assert "\n" not in str(found)
    assert not {"nan", "inf"} & set(str(found).replace("%", " ").split())


@settings(deadline=None, max_examples=examples(40))
@given(COUNTS.filter(lambda counts: sum(counts) > 0))
def test_models_that_change_places_change_signs(counts):
    gone, come, both, neither = counts
    one, other = change(gone, come, both, neither), change(come, gone, both, neither)
    assert numbers(one)[0] == pytest.approx(numbers(other)[1])
    assert one.fall.low == pytest.approx(-other.fall.high, abs=1e-9)
    if math.isfinite(one.fewer.low) and one.fewer.low < 1:
        assert 1 - one.fewer.low == pytest.approx(1 / (1 - other.fewer.high), rel=1e-6)
    assert {one.verdict, other.verdict} in ({"unsure"}, {"fell", "rose"})


@settings(deadline=None, max_examples=examples(40))
@given(COUNTS, st.integers(1, 500))
def test_inputs_that_neither_discriminates_against_do_not_matter_for_what_part_is_gone(
    counts, more
):
    tail = 0.00625
    least = hits_ratio_above(counts[0], counts[1], counts[2], tail)
    assert least <= (counts[1] + counts[2]) / max(counts[0] + counts[2], 1e-9) + 1e-9
    one, other = change(*counts), change(*counts[:3], counts[3] + more)
    if one.verdict == other.verdict == "unsure":  # else they are also limited by the fall
        assert numbers(one)[3][1:] == pytest.approx(numbers(other)[3][1:])


def test_limits_are_those_of_one_share_where_nothing_else_can_happen():
    # Nothing comes in or stays: the fall is one binomial share, and its limit that of Clopper and
    # Pearson's union.
    low, high = clopper_pearson(0, 500, 1 - 2 * 0.01)
    assert fall_above(0, 0, 500, 0.01) == pytest.approx(-high)
    assert fall_above(0, 30, 500, 0.01) == pytest.approx(-clopper_pearson(30, 500, 1 - 2 * 0.01)[1])
    assert low == 0
    # All inputs that are ever hits come: their share is 0.01^(1/30) at least, and the ratio its
    # odds.
    share = 0.01 ** (1 / 30)
    assert hits_ratio_above(0, 30, 0, 0.01) == pytest.approx(share / (1 - share))


def test_limits_are_narrow_where_hits_are_rare():
    for counts in ((320, 0, 80), (400, 80, 0), (360, 40, 40)):
        found = change(*counts, 80_000 - sum(counts))
        assert found.fewer.low > 0.72, found
        assert found.fewer.high < 0.87, found
        # Clopper and Pearson's limits of both shares alone say much less.
        assert found.fewer.low > 1 - found.after.high / found.before.low + 0.02
        graded = change(*counts, 80_000 - sum(counts), scale=0.5)
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
    assert [found.fewer.value, found.fewer.low, found.fewer.high] == pytest.approx(fewer, rel=0.02)
    assert math.isnan(found.before.value) == (sum(counts) == 0)


def test_a_change_is_written_in_a_line():
    assert str(change(30, 0, 0, 970)).startswith("fell: 3 % before, 0 % after, 100 % fewer (81")
    assert "rose: 0 % before, 3 % after (at least 4" in str(change(0, 30, 0, 970))
    assert "more to" in str(change(10, 20, 20, 950))
    assert "unsure: unknown before, unknown after (at most 100 % fewer, 95 % level, n = 0, " in str(
        change(0, 0, 0, 0)
    )
    assert "unsure: 0 % before, 0 % after, 0 % fewer (at most 100 % fewer" in str(
        change(0, 0, 0, 9)
    )


def test_every_input_asked_leaves_no_interval():
    old, new = hit_columns(3, 1, 2, 4)
    found = paired(old, new, level=0.95, population="all inputs", exact=True)
    assert numbers(found) == [[x] * 3 for x in (0.5, 0.3, 0.2, pytest.approx(0.4))]
    assert found.verdict == "fell"
    assert found.fall.method == "enumerated"
    assert (
        str(found) == "fell: 50 % before, 30 % after, 40 % fewer (n = 10, population: all inputs)"
    )
    none = paired([0, 0], [0, 1], level=0.95, population="", exact=True)
    assert none.fewer.value == -math.inf
    assert none.verdict == "rose"
    assert none.to_dict()["fewer"]["value"] is None
    assert PairedChange.from_dict(none.to_dict()) == none


def test_nothing_changed():
    estimate = paired(*hit_columns(3, 0, 9, 400), level=0.95, population="p").before
    found = PairedChange.none(estimate)
    assert found.before == found.after == estimate
    assert numbers(found)[2:] == [[0.0] * 3] * 2
    assert PairedChange.from_dict(found.to_dict()) == found


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
        (lambda: paired([0, 1], [1, 1], level=1, population=""), "level is 1"),
        (lambda: decide(lambda a, b: hit_columns(1, 0, 0, b - a - 1), level=0.9, looks=[], population=""), "looks = []"),
        (lambda: decide(lambda a, b: hit_columns(1, 0, 0), level=0.9, looks=[9, 9], population=""), "looks = [9, 9] must be"),
        (lambda: PairedChange.from_dict({"before": 3}), "this is not a recorded change"),
        (lambda: PairedChange.from_dict(dict.fromkeys(["before", "after", "fall", "fewer"], Estimate.exact(1, 2).to_dict())),
         "fall and fewer must be amounts"),
    ],
)  # fmt: skip
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
    assert {one.level for one in (found.before, found.after, found.fall, found.fewer)} == {0.95}
    still = decide(
        lambda start, stop: (old[start:stop], old[start:stop]),
        level=0.95,
        looks=[50, 500],
        population="p",
    )
    assert (still.verdict, still.fall.n) == ("unsure", 500)


def rows(
    inside: tuple[float, float], outside: tuple[float, float], n: int = 4000
) -> tuple[Any, Any, Any]:
    """Who is favoured before and after, with these rates inside and outside a subgroup; as few
    change as can be.
    """
    group, chance = np.arange(n) % 4 == 0, np.random.default_rng(3).random(n)
    return (
        *(chance < np.where(group, one, other) for one, other in zip(inside, outside, strict=True)),
        group,
    )


@pytest.mark.parametrize("scale", [1.0, 0.7])
@pytest.mark.parametrize(
    ("inside", "outside", "verdict"),
    [
        ((0.2, 0.4), (0.5, 0.5), "fell"),
        ((0.8, 0.5), (0.5, 0.5), "fell"),
        ((0.5, 0.2), (0.5, 0.5), "rose"),
        (
            (0.3, 0.7),
            (0.5, 0.5),
            "unsure",
        ),  # it turned: those who were behind are now ahead by as much
        ((0.3, 0.3), (0.5, 0.5), "unsure"),
        ((0.3, 0.6), (0.7, 0.65), "fell"),
    ],
)
def test_gaps_fall_and_rise_and_turn(inside, outside, verdict, scale):
    old, new, group = rows(inside, outside)
    found = gap_change(scale * old, scale * new, group, level=0.95, population="people")
    assert found.verdict == verdict
    truth = [scale * abs(inside[when] - outside[when]) for when in (0, 1)]
    assert found.before.low <= truth[0] <= found.before.high
    assert found.after.low <= truth[1] <= found.after.high
    assert found.fall.low <= truth[0] - truth[1] <= found.fall.high
    assert found.fewer.low <= 1 - truth[1] / truth[0] <= found.fewer.high if truth[0] else True
    # Rows are paired: what changed is known better than what was.
    if inside[0] == inside[1]:
        assert found.fall.high - found.fall.low < 0.5 * (found.before.high - found.before.low)


def test_the_gap_of_nobody_is_not_known():
    for inside in (np.zeros(9), np.ones(9)):
        found = gap_change(np.ones(9), np.zeros(9), inside, level=0.95, population="people")
        assert math.isnan(found.before.value)
        assert (found.verdict, found.fall.low, found.fall.high, found.before.n) == (
            "unsure",
            -1.0,
            1.0,
            0,
        )
        assert json.dumps(found.to_dict(), allow_nan=False)


ENDS = st.tuples(st.integers(-10, 10), st.integers(0, 8)).map(
    lambda pair: (pair[0] / 10, (pair[0] + pair[1]) / 10)
)


@settings(deadline=None, max_examples=examples(80))
@given(ENDS, ENDS, st.integers(0, 8), st.integers(0, 8), st.integers(0, 99))
def test_limits_of_sizes_are_those_of_all_that_is_allowed(first, second, less, more, seed):
    means = [sum(first) / 2, sum(second) / 2]
    moved = means[0] - means[1] - less / 10, means[0] - means[1] + more / 10
    fall, fewer = module._size_limits(means, first, second, moved)
    # A fine grid of what the limits allow, by brute force.
    x, y = (
        part.ravel()
        for part in np.meshgrid(*(np.linspace(one[0], one[1], 81) for one in (first, second)))
    )
    held = (x - y >= moved[0] - 1e-9) & (x - y <= moved[1] + 1e-9)
    x, y = np.abs(x[held]), np.abs(y[held])
    assert (x - y).min() >= fall[0] - 1e-9
    assert (x - y).max() <= fall[1] + 1e-9
    assert (x - y).min() <= fall[0] + 0.05
    assert (x - y).max() >= fall[1] - 0.05
    parts = 1 - y[x > 1e-9] / x[x > 1e-9]
    assert parts.min(initial=np.inf) >= fewer[0] - 1e-9
    assert parts.max(initial=-np.inf) <= fewer[1] + 1e-9


SMALL = [category("sex", ["F", "M"]), category("race", ["a", "b", "c"]), integer("age", 0, 30)]


def score(people: Any) -> Any:
    return (
        people["age"]
        + 3.0 * (people["sex"] == "M") * (people["age"] % 3)
        + 2 * (people["race"] == "b")
    )


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
    monkeypatch.setattr(module, "ROWS", 200)  # so that points are asked in several parts
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
