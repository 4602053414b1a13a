"""Twins: the staged search finds what asking every variant finds.

What it asks depends on the point alone.
"""

from __future__ import annotations

import os
from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import evenhand as eh
from evenhand.population.samplers import Draws
from evenhand.runtime.errors import UsageError
from evenhand.scores import twins
from evenhand.scores.farthest import farthest
from evenhand.scores.twins import (
    Causal,
    Donated,
    Joined,
    outward,
    seek,
    simplest,
    stages,
    twins_of,
)
from evenhand.subject.view import View, views_of
from tests.support.helpers import examples
from tests.support.sharing import share_everything
from tests.support.strategies import spaces

SPACE = eh.Space(
    [eh.integer("age", 18, 90), eh.category("sex", ["F", "M"]), eh.integer("income", 0, 9)],
    protected=["age"],
)
SPACE_SIZE = 73 * 2 * 10


def view_of(decide, space: eh.Space = SPACE, **options: Any) -> View:
    (view,) = views_of(eh.Subject(decide, space, **options))
    return view


@given(st.integers(1, 300))
def test_ranks_are_an_order_with_the_ends_first(n):
    ranks = twins._ranks(n)
    assert sorted(ranks.tolist()) == list(range(n))
    order = np.argsort(ranks).tolist()
    assert order[0] == 0
    if n > 1:
        assert order[1] == n - 1
    if n > 2:
        assert order[2] == (n - 1) // 2
    # The largest gap between places that were tried shrinks as fast as halving allows.
    for tried in (2, 3, 5, 9, 17, 33):
        if tried < n:
            gaps = np.diff(sorted(order[:tried]))
            even_gap = (n - 1) / (tried - 1)
            assert gaps.max() <= 2 * max(1, even_gap)


@given(spaces(most=3), st.data())
@settings(max_examples=examples(20), deadline=None)
def test_outward_is_an_order_of_all_assignments(space, data):
    some_names = st.lists(st.sampled_from(space.names), min_size=1, unique=True)
    names = data.draw(some_names)
    order = outward(space, tuple(names))
    table = space.assignments(tuple(names))
    assert sorted(order.tolist()) == list(range(len(table)))
    # An extreme of every feature comes first.
    assert order[0] == 0
    sizes = np.array([int(space.feature(name).size) for name in names])
    if (sizes > 2).all():
        places = np.array(list(np.ndindex(*sizes)))[order]
        is_end = (places == 0) | (places == sizes - 1)
        only_ends = is_end.all(axis=1)
        only_middles = ~is_end.any(axis=1)
        last_of_ends = np.flatnonzero(only_ends).max()
        first_of_middles = np.flatnonzero(only_middles).min()
        assert last_of_ends < first_of_middles


def test_stages_hold_every_assignment_once_and_grow():
    points = SPACE.draw(3, np.random.default_rng(0))
    changed = [SPACE.index("age"), SPACE.index("income")]
    sex = SPACE.index("sex")
    sizes = []
    assignments = []
    for stage in stages(points, SPACE, ("age", "income")):
        variants = stage(np.array([2, 0]))
        assert len(variants) == 2 * stage.size
        # Assignment by assignment, and nothing else changes.
        of_point_2 = variants[0::2]
        of_point_0 = variants[1::2]
        assert (of_point_2[:, sex] == points[2, sex]).all()
        assert (of_point_0[:, sex] == points[0, sex]).all()
        assert (of_point_2[:, changed] == of_point_0[:, changed]).all()
        sizes.append(stage.size)
        assignments += of_point_2[:, changed].tolist()
    assert sizes == [16, 64, 256, 730 - 336]
    expected = SPACE.assignments(("age", "income")).tolist()
    assert sorted(assignments) == sorted(expected)


CONSTRAINTS: list[tuple[str, ...]] = [
    (),
    ("age > 30 or sex == 'F'",),
    ("age == 40 or age == 41", "income > 2"),
]


def decide_by_random_table(rng):
    """Software with an outcome from 0 to 5 for each input, most of them 0."""
    shape = (73, 2, 10)
    share_of_others = rng.choice([0.002, 0.05, 0.5])
    is_other = rng.random(shape) < share_of_others
    table = np.where(is_other, rng.integers(0, 6, shape), 0)

    def decide(people):
        age = people["age"] - 18
        sex = (people["sex"] == "M").astype(int)
        return table[age, sex, people["income"]]

    return decide


def queries_of_stages(space, names, points, apart):
    """How many variants of each point are asked, stage by stage until one is apart."""
    variants = space.variants(points, names)
    valid = space.valid(variants).reshape(-1, len(points))
    order = outward(space, names)
    queries = np.zeros(len(points), dtype=int)
    before = 0
    for size in (16, 64, 256, 1024):
        stage = order[before : before + size]
        is_open = ~apart[order[:before]].any(axis=0)
        queries += np.where(is_open, valid[stage].sum(axis=0), 0)
        before += size
    return queries


@pytest.mark.parametrize("constraints", CONSTRAINTS)
@pytest.mark.parametrize("differs", [None, 2.0])
@given(
    st.integers(0, 10_000), st.sampled_from([("age",), ("age", "income"), ("sex", "age")])
)
@settings(max_examples=5, deadline=None)
def test_the_staged_search_finds_what_asking_everything_finds(
    constraints, differs, seed, names
):
    space = eh.Space(SPACE.features, constraints=constraints)
    rng = np.random.default_rng(seed)
    view = view_of(decide_by_random_table(rng), space, differs=differs)
    points = space.draw(40, rng)
    base = view.decide(points)
    flips = seek(view, points, base, stages(points, space, names))
    apart = twins_of(view, points, names).apart
    assert flips.found.tolist() == apart.any(axis=0).tolist()
    assert not flips.cut
    queries = queries_of_stages(space, names, points, apart)
    assert flips.asked.tolist() == queries.tolist()
    changed = [space.index(name) for name in names]
    for row in np.flatnonzero(flips.found).tolist():
        twin = flips.twins[row]
        own_others = np.delete(points[row], changed)
        twin_others = np.delete(twin, changed)
        assert (twin_others == own_others).all()
        assert space.valid(twin[None]).all()
        (outcome,) = view.decide(twin[None])
        assert outcome == flips.outcomes[row]
        distance = abs(int(outcome) - int(base[row]))
        assert distance > (differs or 0)


def test_a_search_stops_before_the_budget_is_exceeded():
    asked = 0

    def decide(people):
        nonlocal asked
        asked += len(people)
        return people["age"] == 33

    view = view_of(decide)
    points = SPACE.draw(50, np.random.default_rng(1))
    base = view.decide(points)
    for left in (0, 799, 800, 3000, 3649, 3650, 10_000):
        asked = 0
        flips = seek(
            view,
            points,
            base,
            stages(points, SPACE, ("age",)),
            left=left,
        )
        assert asked == flips.asked.sum()
        assert asked <= left
        assert flips.cut == (left < 3650)


def decide_by_age(people):
    least_age = 40 + 10 * (people["sex"] == "M")
    return (people["age"] >= least_age) & (people["income"] > 4)


def test_batches_change_nothing(monkeypatch):
    points = SPACE.draw(200, np.random.default_rng(2))
    results = []
    for rows in (262_144, 1000, 74):
        monkeypatch.setattr(twins, "ROWS", rows)
        draws = Draws(eh.uniform(), SPACE, 5, "x")
        causal = Causal(view_of(decide_by_age), draws, ("age",))
        counted = causal((0, 60))
        assert counted.costs is not None
        assert counted.asked == counted.costs.sum()
        of_points = causal.count(points, 3)
        result = {
            "hits of draws": counted.hits.tolist(),
            "costs of draws": counted.costs.tolist(),
            "witnesses of draws": counted.witnesses,
            "hits of points": of_points.hits.tolist(),
            "costs of points": of_points.asked.tolist(),
            "cases of points": [case for _, case in of_points.cases],
        }
        results.append(result)
    assert results[1] == results[0]
    assert results[2] == results[0]


def test_what_a_draw_costs_depends_on_nothing_but_the_draw(monkeypatch, tmp_path):
    share_everything(monkeypatch)

    def signed(people):
        (tmp_path / str(os.getpid())).touch()
        return decide_by_age(people)

    def run(n_jobs=1, **options):
        subject = eh.Subject(signed, SPACE, **options)
        found = eh.measure(
            subject, over="age", margin=0.04, n_jobs=n_jobs, seed=1, exact=False
        )
        return found.digest, found.spent.queries

    first = run()
    assert run(memo=True) == first
    assert run(memo=False) == first
    assert run(n_jobs=2) == first
    processes = list(tmp_path.iterdir())
    assert len(processes) >= 2
    monkeypatch.setattr(twins, "ROWS", 997)
    assert run() == first
    _, queries = first
    monkeypatch.setattr(twins, "STAGE", 1_000)
    _, queries_of_all_at_once = run()
    assert queries_of_all_at_once > 1.4 * queries


@given(st.integers(1, 3000), st.booleans())
@settings(max_examples=examples(15), deadline=None)
def test_the_query_budget_is_never_exceeded(queries, constrained):
    constraints = ["age > 30 or sex == 'F'"] if constrained else []
    space = eh.Space(SPACE.features, ["age"], constraints)
    asked = 0

    def counted(people):
        nonlocal asked
        asked += len(people)
        return decide_by_age(people)

    try:
        found = eh.measure(
            counted, space, margin=0.01, exact=False, budget=eh.Budget(queries=queries)
        )
    except UsageError as error:
        assert queries < 82
        assert "one draw takes 74" in str(error)
    else:
        assert found.stop is eh.StopReason.QUERIES
        assert found.spent.queries <= queries
    assert asked <= queries


def test_expensive_software_is_asked_less(tmp_path):
    """A real program is not run for variants that cannot change what is known."""
    log = tmp_path / "log"
    program = tmp_path / "decide.sh"
    program.write_text(
        f'echo "$1 $2" >> {log}\nif [ "$1" -gt 50 ]; then echo yes; else echo no; fi\n'
    )
    space = eh.Space(
        [eh.integer("age", 18, 90), eh.integer("id", 1, 1000)], protected=["age"]
    )
    command = ["/bin/sh", os.fspath(program), "{age}", "{id}"]
    subject = eh.Subject.command(command, space, memo=True)
    found = eh.measure(subject, margin=0.3)
    ran = log.read_text().splitlines()
    assert found.worst.estimate.value == 1
    assert len(ran) == found.spent.executed
    # 16 ages and its own for each draw, rather than 73 of them. All flip: each is asked again with
    # its twin, and one in 16 once more.
    draws = found.worst.estimate.n
    assert 8 <= draws <= 16
    again = found.spent.queries - 64 - (17 + 2) * draws
    assert again in (0, 1)


def test_a_memo_saves_executions_and_nothing_else(monkeypatch):
    executed = {}
    for memo in (True, False):
        subject = eh.Subject(decide_by_age, SPACE, memo=memo)
        # So that nothing is asked ahead.
        monkeypatch.setattr(subject.adapter, "expensive", True)
        found = eh.measure(subject, over="age", margin=0.1, exact=False)
        executed[memo] = subject.executed
        assert found.spent.queries >= subject.executed
    assert executed[True] <= SPACE_SIZE
    assert executed[False] == found.spent.queries
    assert executed[False] > SPACE_SIZE


WIDE = eh.Space([*SPACE.features[:2], eh.integer("income", 0, 9999)])


def some_rows():
    people = WIDE.draw(40, np.random.default_rng(0))
    return eh.rows(WIDE.decode(people))


@pytest.mark.parametrize(
    ("sampler", "exact"),
    [
        pytest.param(None, False, id="draws"),
        pytest.param(some_rows(), None, id="rows"),
    ],
)
def test_a_suite_of_expensive_software_stays_within_the_budget(tmp_path, sampler, exact):
    """A suite holds all variants of its draws, so that each draw is budgeted with all of them."""
    suite = tmp_path / "tests.csv"
    subject = eh.Subject(
        lambda people: people["age"] >= people["income"] / 50, WIDE, memo=True
    )
    found = eh.measure(
        subject,
        over="age",
        margin=0.05,
        exact=exact,
        keep_tests=True,
        budget=eh.Budget(queries=4000),
        sampler=sampler,
    )
    found.to_suite(suite)
    assert subject.executed <= found.spent.queries <= 4000
    again = eh.replay(suite, subject)
    assert again.notes == ()
    assert again.worst.estimate.value == pytest.approx(found.worst.estimate.value)


def scaled_distance(a, b):
    return np.minimum(np.abs(a - b) / 4, 1)


@pytest.mark.parametrize(
    ("differs", "outcomes"),
    [
        (None, ["a", "b", "c"]),
        (1.5, [0, 1, 2, 5]),
        (scaled_distance, [0.0, 1.0, 2.5, 9.0]),
        (lambda a, b: a > b, [0, 1, 2]),
    ],
)
@given(st.data())
@settings(max_examples=examples(15), deadline=None)
def test_farthest_is_the_farthest_of_the_class(differs, outcomes, data):
    view = view_of(lambda people: people["age"], differs=differs)
    classes = data.draw(st.lists(st.integers(0, 3), min_size=1, max_size=25))
    values = np.array([data.draw(st.sampled_from(outcomes)) for _ in classes])
    _, ids = np.unique(classes, return_inverse=True)
    found = farthest(view, values, ids)
    for row, number in enumerate(ids.tolist()):
        mates = values[ids == number]
        own = np.full(len(mates), values[row])
        assert found[row] == view.distance(mates, own).max()


GAPS = eh.Space(
    [
        eh.integer("age", 18, 90, missing=True),
        eh.category("sex", ["F", "M"]),
        eh.real("rate", 0, 1, bins=(0, 0.5, 1)),
    ],
    protected=["age"],
)


@pytest.mark.parametrize("twins_missing", [False, True])
def test_donors_give_the_values_that_they_have(twins_missing):
    age = eh.integer(
        "age",
        18,
        90,
        missing=True,
        twins_missing=twins_missing,
    )
    space = eh.Space([age, *GAPS.features[1:]], protected=["age"])
    gap = space.features[0].missing_code
    points = np.asfortranarray([[20.0, 0.0, 0.1], [30.0, 1.0, 0.2]])
    others = np.asfortranarray([[40.0, 1.0, 0.4], [gap, 0.0, 0.9]])
    donated = Donated(
        space,
        ("age", "rate"),
        points,
        others,
        np.array([[0, 1], [1, 0]]),
    )
    assert donated.size == 2
    lacking = [gap, gap] if twins_missing else [20.0, 30.0]
    # Rates are the middles of the bins of their donors.
    assert donated(np.array([0, 1])).tolist() == [
        [40.0, 0.0, 0.25],
        [lacking[1], 1.0, 0.75],
        [lacking[0], 0.0, 0.75],
        [40.0, 1.0, 0.25],
    ]
    assert donated(np.array([1])).tolist() == [[lacking[1], 1.0, 0.75], [40.0, 1.0, 0.25]]


def test_a_stage_of_several_sets_repeats_the_first_variants_of_short_ones():
    points = np.asfortranarray([[20.0, 0.0, 1.0], [30.0, 0.0, 2.0], [40.0, 1.0, 3.0]])
    (long,) = stages(points[:1], SPACE, ("income",))
    (short,) = stages(points[1:2], SPACE, ("sex",))
    joined = Joined([long, short, None], [1, 1, 1], points)
    assert (long.size, short.size) == (10, 2)
    assert joined.size == 10
    variants = joined(np.array([0, 1, 2])).reshape(10, 3, 3)
    assert sorted(variants[:, 0, 2].tolist()) == list(range(10))
    assert variants[:, 1, 1].tolist() == [0.0, 1.0] * 5
    assert (variants[:, 2] == points[2]).all()
    assert (joined(np.array([1])).reshape(10, 3) == variants[:, 1]).all()
    assert Joined([None], [3], points).size == 0


def test_a_search_ends_where_its_budget_does():
    view = view_of(lambda people: people["income"] == 9)
    points = np.asfortranarray([[20.0, 0.0, 1.0], [30.0, 0.0, 2.0]])
    base = view.decide(points)
    for left, is_cut in [(19, True), (20, False)]:
        flips = seek(
            view,
            points,
            base,
            stages(points, SPACE, ("income",)),
            left=left,
        )
        assert flips.cut == is_cut
        assert flips.found.tolist() == [not is_cut] * 2
        assert flips.asked.tolist() == [0 if is_cut else 10] * 2
        assert flips.done
    assert flips.twins[:, 2].tolist() == [9, 9]
    assert flips.outcomes.tolist() == [True, True]
    never = view_of(lambda people: people["age"] > 0)
    none = seek(never, points, never.decide(points), stages(points, SPACE, ("income",)))
    assert not none.done
    assert not none.found.any()


def test_the_simplest_twin_differs_in_the_fewest_features():
    point = np.array([0.0, 0.0])
    variants = np.array([[1.0, 1.0], [0.0, 1.0], [2.0, 0.0], [0.0, 0.0]])
    assert simplest(point, variants, np.array([1.0, 0.2, 0.5, 0.0])) == 2
    assert simplest(point, variants, np.array([1.0, 0.5, 0.5, 0.0])) == 1
    assert simplest(point, variants, np.array([1.0, 0.0, 0.0, 0.0])) == 0


def test_points_that_take_more_than_fits_are_asked_one_by_one(monkeypatch):
    view = view_of(lambda people: people["income"] > people["age"] % 10)
    points = SPACE.draw(9, np.random.default_rng(0))
    at_once = twins.hits(view, ("income",), points)
    count = Causal(view, Draws(eh.uniform(), SPACE, 0, "test"), ("income",))
    whole = count((0, 9))
    monkeypatch.setattr(twins, "ROWS", 1)
    assert twins.hits(view, ("income",), points).tolist() == at_once.tolist()
    one_by_one = count((0, 9))
    assert one_by_one.hits.tolist() == whole.hits.tolist()
    assert one_by_one.costs is not None
    assert one_by_one.costs.tolist() == [10] * 9
    assert len(one_by_one.witnesses) == len(whole.witnesses) == 3
    assert [number for number, _ in one_by_one.witnesses] == [
        number for number, _ in whole.witnesses
    ]


def test_draws_keep_their_numbers(monkeypatch):
    """Where a run goes on, and in whatever batches."""
    draws = Draws(eh.uniform(), SPACE, 0, "test")
    for rows in (262_144, 25):
        monkeypatch.setattr(twins, "ROWS", rows)
        view = view_of(lambda people: (people["sex"] == "M") & (people["age"] > 70))
        count = Causal(view, draws, ("sex",))
        found = count((7, 60))
        ages = draws.take(0, 60)[:, 0]
        hit = np.flatnonzero(ages > 70)
        hit = hit[hit >= 7]
        assert [number for number, _ in found.witnesses][:3] == hit[:3].tolist()
        for number, case in found.witnesses:
            assert case.individual["age"] == ages[number]
        assert found.hits.tolist() == (ages[7:] > 70).tolist()
        assert found.asked == found.executed == 2 * 53
        assert min(number for number, answer in found.answers if not answer) == 7
        assert min(number for number, answer in found.answers if answer) == hit[0]


def test_what_a_call_asked_is_counted_alone():
    count = Causal(view_of(decide_by_age), Draws(eh.uniform(), SPACE, 0, "x"), ("sex",))
    count((0, 10))
    again = count((10, 14))
    assert (again.asked, again.executed) == (8, 8)
    assert again.costs is not None
    assert again.costs.tolist() == [2] * 4


@pytest.mark.parametrize(("rows", "batches"), [(1, [2] * 5), (4, [4, 4, 2]), (99, [10])])
def test_no_more_is_asked_at_once_than_fits(monkeypatch, rows, batches):
    monkeypatch.setattr(twins, "ROWS", rows)
    sizes: list[int] = []

    def noted(people):
        sizes.append(len(people))
        return people["sex"] == "F"

    points = SPACE.draw(5, np.random.default_rng(0))
    assert twins.hits(view_of(noted), ("sex",), points).all()
    assert sizes == batches
    sizes.clear()
    count = Causal(view_of(noted), Draws(eh.uniform(), SPACE, 0, "x"), ("sex",))
    count((0, 5))
    assert sizes == batches


def test_hits_of_nobody_are_none():
    nobody = np.empty((0, 3))
    assert twins.hits(view_of(decide_by_age), ("sex",), nobody).dtype == np.bool_
    graded = view_of(decide_by_age, differs=scaled_distance)
    assert twins.hits(graded, ("sex",), nobody).dtype == np.float64
    assert len(twins.hits(graded, ("sex",), nobody)) == 0


def test_variants_that_cannot_be_are_not_asked():
    space = eh.Space(SPACE.features, constraints=["sex == 'F' or age > 50"])
    seen: list[Any] = []

    def noted(people):
        seen.extend(zip(people["sex"], people["age"], strict=True))
        return people["sex"] == "M"

    view = view_of(noted, space)
    points = np.asfortranarray([[20.0, 0.0, 1.0], [60.0, 0.0, 1.0]])
    outcomes, valid = twins.decide_valid(view, space.variants(points, ("sex",)))
    assert valid.tolist() == [True, True, False, True]
    assert outcomes[valid].tolist() == [False, False, True]
    assert ("M", 20) not in seen
    assert view.subject.asked == 3
    found = twins_of(view, points, ("sex",))
    assert found.apart.tolist() == [[False, False], [False, True]]
    assert found.base.tolist() == [False, False]
    nobody, none_valid = twins.decide_valid(view, np.asfortranarray([[20.0, 1.0, 1.0]]))
    assert not none_valid.any()
    assert len(nobody) == 1


def test_stages_begin_where_they_are_wanted():
    points = SPACE.draw(2, np.random.default_rng(0))

    def sizes(**options: int) -> list[int]:
        return [stage.size for stage in stages(points, SPACE, ("age",), **options)]

    assert sizes() == [16, 57]
    assert sizes(start=16) == [57]
    assert sizes(start=1) == [57]
    assert sizes(stop=16) == [16]
    assert sizes(stop=17) == [16, 57]
    assert sizes(start=80) == []


@pytest.mark.parametrize(
    ("values", "options", "whole", "staged"),
    [(16, {}, False, False), (17, {}, False, True), (17, {}, True, False)],
)
def test_many_variants_are_asked_in_stages(values, options, whole, staged):
    space = eh.Space([eh.integer("age", 1, values), eh.integer("id", 0, 9)])
    view = view_of(lambda people: people["id"] > 5, space, **options)
    count = Causal(view, Draws(eh.uniform(), space, 0, "x"), ("age",), whole)
    assert count.staged == staged
    assert count.cost == values + staged
    assert count.after(None) is count


def test_a_distance_needs_all_variants():
    view = view_of(lambda people: people["age"] * 1.0, differs=scaled_distance)
    count = Causal(view, Draws(eh.uniform(), SPACE, 0, "x"), ("age",))
    assert not count.staged
    assert count.cost == 73


def test_staged_cases_are_as_many_as_wanted():
    view = view_of(lambda people: people["age"] > 50)
    count = Causal(view, Draws(eh.uniform(), SPACE, 0, "x"), ("age",))
    points = SPACE.draw(6, np.random.default_rng(0))
    found = count.count(points, 2)
    assert [row for row, _ in found.cases] == [0, 1]
    assert found.hits.all()
    assert found.asked.tolist() == [17] * 6
    for row, case in found.cases:
        own = bool(points[row, 0] > 50)
        assert case.outcomes == (own, not own)
        age: Any = case.twin["age"]
        assert (age > 50) != own


def test_cases_show_the_simplest_twin_of_a_point():
    view = view_of(lambda people: (people["sex"] == "M") | (people["income"] > 4))
    points = np.asfortranarray([[20.0, 0.0, 1.0], [30.0, 0.0, 9.0], [40.0, 1.0, 2.0]])
    count = Causal(view, Draws(eh.uniform(), SPACE, 0, "x"), ("sex", "income"), True)
    found = count.count(points, 5)
    assert found.asked.tolist() == [20] * 3
    changed = [case.changed for _, case in found.cases]
    # Of two that are as simple, the first in the order of the assignments.
    assert changed == [("income",), ("income",), ("sex",)]
    assert [case.twin["income"] for _, case in found.cases] == [5, 0, 2]
    assert [case.outcomes for _, case in found.cases] == [
        (False, True),
        (True, False),
        (True, False),
    ]
    assert found.answers[:2] == [(0, False), (1, True)]


def test_points_that_are_none_of_their_variants_are_asked_themselves():
    """Somebody without an age is nobody's twin, and has twins."""
    gap = GAPS.features[0].missing_code
    view = view_of(lambda people: people["age"].isna(), GAPS)
    points = np.asfortranarray([[gap, 0.0, 0.1], [20.0, 0.0, 0.1]])
    found = twins_of(view, points, ("age",))
    assert found.base.tolist() == [True, False]
    assert found.apart[:, 0].all()
    assert not found.apart[:, 1].any()
    assert view.subject.asked == 2 * 73 + 2
    own = view_of(lambda people: people["age"].isna(), GAPS)
    twins_of(own, points[1:], ("age",))
    assert own.subject.asked == 73
