"""How often groups get the favourable outcome, tallied by hand."""

from __future__ import annotations

import math
from typing import Any

import numpy as np
import pytest

import evenhand as eh
from evenhand.population.samplers import Uniform
from evenhand.runtime.errors import UsageError
from evenhand.scores.groups import Groups
from evenhand.scores.rates.groups import GroupCount, Tally, inhabited, moved, paired
from evenhand.statistics import intervals
from evenhand.statistics.sequential import confidence_sequences
from evenhand.subject.view import View

SPACE = eh.Space(
    [eh.category("race", ["a", "b", "c"]), eh.integer("id", 0, 9)], protected=["race"]
)
GROUPS = Groups(SPACE, ("race",))
POINTS = np.asfortranarray([[0.0, 1.0], [0.0, 2.0], [0.0, 3.0], [2.0, 1.0], [2.0, 2.0]])
AMOUNTS = np.array([1.0, 1.0, 0.0, 0.0, 1.0])


def decide(people: Any) -> Any:
    return (people["race"] == "a") | (people["id"] < 5)


def view_of(model: Any = decide) -> View:
    return View(eh.Subject(model, SPACE, positive=True))


def tally_of(hits: list[float], sizes: list[float], *, rows: Any = None) -> Tally:
    members = tuple(range(len(hits)))
    return Tally(
        GROUPS,
        members,
        np.array(hits, float),
        np.array(sizes, float),
        rows,
    )


def test_points_are_tallied_by_their_group():
    tally = Tally.of(GROUPS, POINTS, AMOUNTS)
    assert tally.members == (0, 2)
    assert tally.hits.tolist() == [2, 1]
    assert tally.sizes.tolist() == [3, 2]
    assert tally.rows is not None
    assert tally.rows.tolist() == [3, 2]
    assert tally.rates.tolist() == [2 / 3, 1 / 2]


def test_weights_make_sizes_and_rows_without_weight_do_not_count():
    tally = Tally.of(GROUPS, POINTS, AMOUNTS, np.array([2.0, 0.0, 3.0, 0.0, 0.0]))
    assert tally.members == (0,)
    assert tally.hits.tolist() == [2]
    assert tally.sizes.tolist() == [5]
    assert tally.rows is not None
    assert tally.rows.tolist() == [2]
    with pytest.raises(UsageError, match="race: this population has 1 group"):
        tally.need_two()


def test_tallies_add_up():
    one = Tally.of(GROUPS, POINTS[:3], AMOUNTS[:3])
    other = Tally(GROUPS, (0, 2), np.array([1.0, 3.0]), np.array([1.0, 4.0]))
    joined = Tally.joined([one, other])
    assert joined.members == (0, 2)
    assert joined.hits.tolist() == [3, 3]
    assert joined.sizes.tolist() == [4, 4]
    assert joined.rows is not None
    assert joined.rows.tolist() == [4, 4]


def test_a_spread_rounds_once():
    tally = tally_of([3, 1, 2], [10, 10, 10])
    assert tally.spread == 0.2
    assert tally.exact("all", 30).value == 0.2
    assert tally.exact("all", 30).n == 30
    assert tally.exact("all", 30).level == 1.0
    assert tally_of([5, 5], [10, 10]).spread == 0


@pytest.mark.parametrize("graded", [False, True])
def test_the_interval_of_a_sample_is_that_of_its_kind(graded):
    tally = tally_of([9, 4], [20, 30])
    interval = confidence_sequences.mixture_spread if graded else intervals.spread
    low, high = interval(tally.hits, tally.sizes, 0.9)
    found = tally.sampled(0.9, "all", graded=graded)
    assert (found.low, found.high) == (float(low), float(high))
    assert found.value == pytest.approx(9 / 20 - 4 / 30)
    assert found.n == 50
    assert found.method == ("anytime" if graded else "exact")
    unseen = tally.sampled(0.9, "all", graded=graded, empty=1)
    assert (unseen.low, unseen.high) == (float(low), 1.0)


def test_the_formula_of_the_papers():
    found = tally_of([18, 6, 10], [20, 30, 20]).wald(0.95, "all")
    half = 1.959964 * math.sqrt(0.9 * 0.1 / 20 + 0.2 * 0.8 / 30)
    assert found.value == pytest.approx(0.7)
    assert found.low == pytest.approx(0.7 - half)
    assert found.high == pytest.approx(0.7 + half)
    assert found.n == 70
    assert tally_of([10, 10], [20, 20]).wald(0.95, "all").low == 0
    assert tally_of([19, 1], [20, 20]).wald(0.99, "all").high == 1


@pytest.mark.parametrize("method", ["enumerated", "wald", "exact", "anytime"])
def test_each_group_is_listed_with_its_rate(method):
    tally = tally_of([9, 4], [20, 30], rows=np.array([2.0, 3.0]))
    first, second = tally.listed(0.9, "all", method=method)
    assert (first.about, second.about) == ({"race": "a"}, {"race": "b"})
    assert first.estimate.value == 9 / 20
    assert (first.estimate.n, second.estimate.n) == (2, 3)
    lows, highs = {
        "enumerated": (tally.rates, tally.rates),
        "wald": intervals.wald(tally.hits, tally.sizes, 0.9),
        "exact": intervals.by_group(tally.hits, tally.sizes, 0.9),
        "anytime": confidence_sequences.mixture(tally.hits, tally.sizes, 0.95),
    }[method]
    assert first.estimate.low == pytest.approx(float(lows[0]))
    assert second.estimate.high == pytest.approx(float(highs[1]))
    assert first.estimate.level == (1.0 if method == "enumerated" else 0.9)
    together = "simultaneous over 2 groups" in first.estimate.method
    assert together == (method in ("exact", "anytime"))


def test_who_loses_by_moving_is_a_case():
    points = np.asfortranarray([[0.0, float(number)] for number in range(2, 10)])
    cases, asked = moved(view_of(), GROUPS, points, 1)
    assert asked == 16
    assert [case.individual["id"] for case in cases] == [5, 6, 7]
    assert [case.twin["race"] for case in cases] == ["b"] * 3
    assert [case.outcomes for case in cases] == [(True, False)] * 3
    # Whoever gains is none.
    assert moved(view_of(), GROUPS, GROUPS.move(points, 1), 0) == ([], 16)


def test_twins_are_found_among_the_points():
    points = SPACE.enumerate()
    view = view_of()
    outcomes = view.decide(points)
    is_a = points[:, 0] == 0
    cases = paired(
        view,
        ("race",),
        points,
        outcomes,
        (is_a, points[:, 0] == 2),
    )
    assert [case.individual["id"] for case in cases] == [5, 6, 7]
    assert {case.individual["race"] for case in cases} == {"a"}
    assert {case.twin["race"] for case in cases} == {"c"}
    assert [case.twin["id"] for case in cases] == [5, 6, 7]
    assert (
        paired(
            view,
            ("race",),
            points,
            outcomes,
            (~is_a, is_a),
        )
        == []
    )


def test_draws_of_each_group_are_counted(monkeypatch):
    count = GroupCount.of(
        view_of(),
        GROUPS,
        (0, 2),
        Uniform(),
        0,
    )
    assert count.cost == 2
    found = count((3, 15))
    low = count.draws[1].take(3, 15)[:, 1] < 5
    assert found.hits[:, 0].all()
    assert found.hits[:, 1].tolist() == low.tolist()
    assert found.asked == 24
    first_refused = 3 + int(np.flatnonzero(~low)[0])
    assert found.answers == [(3, True), (first_refused, False)]
    monkeypatch.setattr("evenhand.scores.rates.groups.ROWS", 1)
    one_by_one = count((3, 15))
    assert (one_by_one.hits == found.hits).all()
    alone = GroupCount.of(
        view_of(),
        GROUPS,
        (2,),
        Uniform(),
        0,
    )
    assert alone((0, 4)).hits.shape == (4,)


def test_two_groups_must_have_somebody():
    assert inhabited(GROUPS, np.array([False, True, False])) == (0, 2)
    with pytest.raises(UsageError, match="has 1 group"):
        inhabited(GROUPS, np.array([False, True, True]))


@pytest.mark.parametrize(
    ("at_once", "block"), [(1, 64), (64 * 2, 64), (130, 65), (1 << 20, 16_384)]
)
def test_draws_of_all_groups_are_made_together(monkeypatch, at_once, block):
    monkeypatch.setattr("evenhand.scores.rates.groups.BLOCK", at_once)
    count = GroupCount.of(
        view_of(),
        GROUPS,
        (0, 2),
        Uniform(),
        0,
    )
    assert [draws.block for draws in count.draws] == [block] * 2


def batches_of(count_of: Any) -> list[int]:
    """Return how many inputs are asked at once among ten draws."""
    sizes = []

    def noted(people: Any) -> Any:
        sizes.append(len(people))
        return decide(people)

    count_of(view_of(noted))((0, 10))
    return sizes


@pytest.mark.parametrize(("rows", "batches"), [(1, [2] * 10), (8, [8, 8, 4]), (20, [20])])
def test_no_more_is_asked_at_once_than_fits(monkeypatch, rows, batches):
    monkeypatch.setattr("evenhand.scores.rates.groups.ROWS", rows)
    assert (
        batches_of(
            lambda view: GroupCount.of(
                view,
                GROUPS,
                (0, 2),
                Uniform(),
                0,
            )
        )
        == batches
    )


def test_what_a_call_asked_is_counted_alone():
    count = GroupCount.of(
        view_of(),
        GROUPS,
        (0, 2),
        Uniform(),
        0,
    )
    first = count((0, 10))
    second = count((10, 15))
    assert (first.asked, first.executed) == (20, 20)
    assert (second.asked, second.executed) == (10, 10)
    assert second.witnesses == []
    assert count.after(None) is count
    low = count.draws[1].take(10, 15)[:, 1] < 5
    assert second.hits[:, 1].tolist() == low.tolist()


def test_cases_of_draws_are_of_the_first_of_them():
    count = GroupCount.of(
        view_of(),
        GROUPS,
        (0, 2),
        Uniform(),
        0,
    )
    cases, asked = count.cases(0, 1)
    points = count.draws[0].take(0, 32)
    losers = points[points[:, 1] >= 5][:3, 1].tolist()
    assert [case.individual["id"] for case in cases] == losers
    assert {case.twin["race"] for case in cases} == {"c"}
    assert asked == 64


def test_whoever_cannot_move_is_not_asked():
    space = eh.Space(SPACE.features, constraints=["race != 'b' or id > 7"])
    groups = Groups(space, ("race",))
    view = View(eh.Subject(decide, space, positive=True))
    points = np.asfortranarray([[0.0, float(number)] for number in range(10)])
    cases, asked = moved(view, groups, points, 1)
    assert asked == 4
    assert [case.individual["id"] for case in cases] == [8, 9]
    assert moved(view, groups, points[:8], 1) == ([], 0)
    assert view.subject.asked == 4


def test_twins_may_be_known_beforehand():
    points = SPACE.enumerate()
    view = view_of()
    outcomes = view.decide(points)
    sides = (points[:, 0] == 0, points[:, 0] == 1)
    # Each is alike whoever has the next number.
    alike = (points[:, 1] + (points[:, 0] == 0)).astype(int)
    cases = paired(
        view,
        ("race",),
        points,
        outcomes,
        sides,
        alike=alike,
    )
    assert [case.individual["id"] for case in cases] == [4, 5, 6]
    assert [case.twin["id"] for case in cases] == [5, 6, 7]
    assert [case.outcomes for case in cases] == [(True, False)] * 3
    nobody = np.zeros(0, dtype=int)
    none = np.zeros(0, dtype=bool)
    assert (
        paired(
            view,
            ("race",),
            points[:0],
            outcomes[:0],
            (none, none),
            alike=nobody,
        )
        == []
    )


def test_points_outside_of_all_groups_are_left_out():
    space = eh.Space([eh.integer("age", 0, 9, bins=(0, 3, 6)), eh.integer("id", 0, 9)])
    groups = Groups(space, ("age",))
    points = np.asfortranarray([[1.0, 0.0], [8.0, 0.0], [5.0, 0.0], [9.0, 0.0]])
    tally = Tally.of(groups, points, np.array([1.0, 1.0, 0.0, 1.0]))
    assert tally.members == (0, 1)
    assert tally.hits.tolist() == [1, 0]
    assert tally.sizes.tolist() == [1, 1]


def test_a_sum_of_tallies_has_the_groups_of_any():
    one = Tally(GROUPS, (0,), np.array([1.0]), np.array([2.0]))
    other = Tally(
        GROUPS,
        (2,),
        np.array([3.0]),
        np.array([4.0]),
        np.array([9.0]),
    )
    joined = Tally.joined([one, other])
    assert joined.members == (0, 2)
    assert joined.hits.tolist() == [1, 3]
    assert joined.rows is not None
    assert joined.rows.tolist() == [2, 9]
    assert Tally.joined([one]).members == (0,)


def test_limits_hold_the_rates():
    """Of weighted rows a rate may lie outside of an interval that knows of no weights."""
    tally = tally_of([20, 0], [20, 30])
    first, second = tally.listed(0.9, "all", method="exact")
    assert first.estimate.low < 1 == first.estimate.high
    assert second.estimate.low == 0 < second.estimate.high
    assert first.estimate.descriptive
    assert (first.estimate.n, second.estimate.n) == (20, 30)
    two = tally.listed(0.9, "all", method="wald")
    assert two[0].estimate.method == "wald"


def test_a_spread_of_nothing_is_not_below_it():
    assert tally_of([1, 1], [3, 3]).spread == 0.0
    assert tally_of([1, 2], [3, 6]).spread == 0.0
    with pytest.raises(UsageError, match="has 1 group"):
        tally_of([1], [3]).sampled(0.9, "all", graded=False)
    with pytest.raises(UsageError, match="has 1 group"):
        tally_of([1], [3]).exact("all", 3)
    exact = tally_of([1, 3], [4, 4]).exact("all", 8)
    assert (exact.value, exact.low, exact.high, exact.method) == (
        0.5,
        0.5,
        0.5,
        "enumerated",
    )
