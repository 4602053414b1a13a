"""The adaptive strategy and its parts: moves, arms, archive, seeds and the boundary."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from evenhand.methods.search.loop import StrategyRun, run_strategy
from evenhand.methods.search.margins import Margins
from evenhand.methods.search.probe import Probe
from evenhand.methods.search.strategies import as_strategy
from evenhand.methods.search.strategies.adaptive import Adaptive
from evenhand.methods.search.strategies.aequitas import Aequitas, aequitas
from evenhand.methods.search.strategies.archive import (
    INHERITED,
    RECENT,
    STALE,
    Archive,
    HitRecords,
)
from evenhand.methods.search.strategies.bandit import MEMORY, MOST_MOVES, Arms
from evenhand.methods.search.strategies.base import Setting
from evenhand.methods.search.strategies.boundary import (
    EDGES,
    ENDS,
    MOST_OUTCOMES,
    Bisection,
    Edges,
)
from evenhand.methods.search.strategies.exhaustive import Everything
from evenhand.methods.search.strategies.margin_slope import Slope
from evenhand.methods.search.strategies.moves import FeatureMoves
from evenhand.methods.search.strategies.start_points import (
    NearMissSeeds,
    RealRowSeeds,
    UniformSeeds,
    stirred,
)
from evenhand.runtime.budget import Budget, Meter
from evenhand.space.feature import category, integer, real
from evenhand.space.space import Space
from evenhand.statistics.estimate import StopReason
from evenhand.subject.subject import Subject
from evenhand.subject.view import View
from tests.support.helpers import examples
from tests.support.strategies import spaces

PEOPLE = Space(
    [
        category("sex", ["F", "M"]),
        integer("age", 18, 90),
        integer("income", 0, 1000, step=10),
        real("rate", 0, 1, step=0.05),
        real("height", 1.4, 2.1),
        category("job", ["none", "clerk", "cook", "judge"]),
    ]
)


def fair(people: Any) -> Any:
    return people["income"] + 400 * people["rate"] > 600


def biased(people: Any) -> Any:
    """Women of some jobs need a little more."""
    is_woman = people["sex"] == "F"
    has_job = people["job"].isin(["cook", "judge"])
    more = 60 * (is_woman & has_job)
    return people["income"] + 400 * people["rate"] - more > 600


def same_for_all(people: Any) -> Any:
    return np.zeros(len(people))


def probe_of(
    decide: Any = biased, space: Space = PEOPLE, names: Any = ("sex",), **options: Any
) -> Probe:
    subject = Subject(decide, space, **options)
    return Probe(View(subject), tuple(names))


def rng_of(seed: int = 0) -> np.random.Generator:
    return np.random.default_rng(seed)


def people(n: int, seed: int = 0) -> Any:
    return PEOPLE.draw(n, rng_of(seed))


def inside(space: Space, points: Any) -> bool:
    for values, feature in zip(points.T, space.features, strict=True):
        if not feature.inside(values).all():
            return False
    return True


def changes(before: Any, after: Any) -> Any:
    """Return how many features of each row changed."""
    return (before != after).sum(axis=1)


# Moves.


@settings(max_examples=examples(60), deadline=None)
@given(spaces(continuous=True), st.integers(0, 99), st.data())
def test_moves_stay_in_the_space_and_change_one_feature(space, seed, data):
    name = data.draw(st.sampled_from(space.names))
    moves = FeatureMoves(probe_of(same_for_all, space, (name,)))
    if not moves.features:
        return
    rng = rng_of(seed)
    points = space.draw(100, rng)
    before = points.copy()
    which = rng.integers(0, len(moves.features), 100)
    by = rng.choice([-1, 1], 100)
    stepped = moves.step(points, which, by)
    jumped = moves.jump(points, which, rng)
    at_issue = space.names.index(name)
    for moved in (stepped, jumped):
        assert inside(space, moved)
        assert (changes(points, moved) <= 1).all()
        assert (moved[:, at_issue] == points[:, at_issue]).all()
    assert (points == before).all()
    for row in range(100):
        at = moves.positions[which[row]]
        before_step = points[row, at]
        after_step = stepped[row, at]
        check_step(moves, which[row], before_step, after_step, by[row])
    stirred_points = stirred(moves, points, rng)
    assert inside(space, stirred_points)
    assert (changes(points, stirred_points) <= 2).all()


def check_step(moves, number, before, after, by):
    """A step leads to the next value, or over at most a hundredth of a continuous feature."""
    feature = moves.features[number]
    if np.isfinite(feature.size):
        values = feature.values().tolist()
        last = len(values) - 1
        place = values.index(before) + by
        inside_place = min(max(place, 0), last)
        assert after == values[inside_place]
        assert moves.counts[number] == len(values)
    else:
        longest = (feature.high - feature.low) / 100
        assert abs(after - before) <= longest + 1e-9


# Arms.


def test_arms_are_chosen_by_what_they_led_to():
    arms = Arms(FeatureMoves(probe_of()))
    rng = rng_of()
    size = 3 * len(arms.moves.features)
    chosen = arms.choose(5000, rng)
    assert chosen.shape == (MOST_MOVES, 5000)
    assert (chosen[0] >= 0).all()  # each child has at least one move
    assert chosen.min() == -1
    assert chosen.max() < size
    has_move = chosen >= 0
    assert (has_move[1:] <= has_move[:-1]).all()  # and no gap between its moves
    assert len(np.unique(chosen[0])) == size
    good = 4
    for _ in range(30):
        chosen = arms.choose(400, rng)
        is_good = (chosen == good) | (chosen < 0)
        arms.learn(chosen, is_good.all(axis=0))
    win_rates = arms.wins / arms.tries
    assert win_rates[good] > 0.9
    every_arm = np.arange(size)[None]
    assert np.argmax(arms.promise(every_arm)) == good
    late = arms.choose(5000, rng)[0]
    assert np.mean(late == good) > 0.5
    assert len(np.unique(late)) > 1  # what did badly is not forgotten for good
    assert (arms.wins > 0).all()
    assert (arms.tries > arms.wins).all()


def test_arms_share_credit_and_forget():
    arms = Arms(FeatureMoves(probe_of()))
    two_moves = np.array([0, 3, -1, -1])[:, None]
    arms.learn(two_moves, np.array([True]))
    both_and_another = [0, 3, 5]
    assert arms.tries[both_and_another].tolist() == [2.5, 2.5, 2.0]
    assert arms.wins[both_and_another].tolist() == [1.5, 1.5, 1.0]
    no_moves = np.full((4, 0), -1)
    no_hits = np.zeros(0, dtype=bool)
    for _ in range(200):
        arms.learn(no_moves, no_hits)
    tries = arms.tries[0]
    assert tries == pytest.approx(2 + 0.5 * MEMORY**200)
    rate = arms.wins[0] / tries
    promise = arms.promise(two_moves)[0]
    assert promise == pytest.approx(2 * np.log(rate), rel=1e-2)
    nothing_chosen = np.full((4, 2), -1)
    assert arms.promise(nothing_chosen).tolist() == [0, 0]


def test_arms_move_inside_the_space_only():
    arms = Arms(FeatureMoves(probe_of()))
    rng = rng_of()
    points = PEOPLE.draw(3000, rng)
    chosen = arms.choose(3000, rng)
    moved = arms.apply(points.copy(), chosen, rng)
    assert inside(PEOPLE, moved)
    assert (moved[:, 0] == points[:, 0]).all()
    allowed = np.zeros(points.shape, dtype=bool)
    for move in chosen:
        rows = np.flatnonzero(move >= 0)
        features = move[rows] // 3
        allowed[rows, arms.moves.positions[features]] = True
    unchanged = moved == points
    assert (allowed | unchanged).all()


# Archive.


def records(points: Any, parents: Any = None, depth: float = 0.0) -> HitRecords:
    n = len(points)
    nobody = np.full(n, -1)
    return HitRecords(
        points=points,
        pairs=np.zeros((n, 2), np.intp),
        parents=nobody if parents is None else parents,
        origins=nobody,
        depths=np.full(n, depth),
        middles=np.zeros(n),
        gaps=np.zeros(n),
    )


def test_an_archive_knows_its_cells():
    archive = Archive(probe_of())
    rng = rng_of()
    assert len(archive) == 0
    assert archive.cells == 0
    points = PEOPLE.draw(500, rng)
    cells = archive.cell_of(points)
    assert archive.crowd(cells).tolist() == [0] * 500
    assert archive.add(records(points)).all()
    numbers = cells.tolist()
    assert archive.cells == len(set(numbers))
    hits_of_each = [numbers.count(number) for number in numbers]
    assert archive.crowd(cells).tolist() == hits_of_each
    assert not archive.add(records(points[:5])).any()  # those cells are known
    parents = archive.parents(4000, rng)
    assert len(parents) == 4000
    assert parents.min() >= 0
    assert parents.max() < len(archive)


def test_half_of_the_parents_come_from_any_cell_alike():
    archive = Archive(probe_of())
    rng = rng_of()
    person = PEOPLE.draw(1, rng)
    crowd = np.tile(person, (900, 1))
    lone = crowd[:1].copy()
    is_old = crowd[0, 1] > 50
    lone[0, 1] = 18 if is_old else 90
    archive.add(records(lone))
    archive.add(records(crowd))
    parents = archive.parents(20_000, rng)
    share_of_lone = np.mean(parents == 0)
    # Half of one half, though it is one of 901.
    assert share_of_lone == pytest.approx(0.25, abs=0.02)
    many = np.tile(crowd, (10, 1))
    archive.add(records(many[: 2 * RECENT]))
    recent = archive.parents(20_000, rng)[10_000:]
    assert (recent >= len(archive) - RECENT).all()


def test_children_inherit_how_well_it_went():
    archive = Archive(probe_of())
    points = people(3)
    archive.add(records(points[:2]))
    both = np.array([0, 1])
    assert archive.robustness(both).tolist() == [0.5, 0.5]
    parents = np.repeat(both, 10)
    archive.learn(parents, parents == 0)
    good = 11 / 12
    assert archive.robustness(both) == pytest.approx([good, 1 / 12])
    of_first = records(points[2:], parents=np.array([0]))
    archive.add(of_first)
    child = np.array([2])
    assert archive.robustness(child) == pytest.approx([good])
    archive.learn(child, np.array([False]))
    soon_its_own = good * INHERITED / (INHERITED + 1)
    assert archive.robustness(child) == pytest.approx([soon_its_own])
    promise = archive.promise(np.array([0, 1, 2]))
    assert np.argsort(promise).tolist() == [1, 2, 0]
    first = points[:1]
    archive.add(records(first, depth=1.0))
    archive.add(records(first, depth=0.0))
    deep, shallow = archive.promise(np.array([3, 4]))
    assert deep > shallow


def test_an_archive_that_grows_a_little_keeps_its_count_of_cells():
    archive = Archive(probe_of())
    rng = rng_of()
    archive.add(records(PEOPLE.draw(1000, rng)))
    known = archive.cells
    least_stale = int(1000 * (STALE - 1))
    few = PEOPLE.draw(least_stale - 1, rng)
    archive.add(records(few))
    assert archive.cells == known
    assert len(archive) == 1000 + len(few)
    archive.add(records(PEOPLE.draw(100, rng)))
    cells = archive.cell_of(archive.hits.points)
    assert archive.cells == len(np.unique(cells))


# Sources.


def test_given_rows_come_each_once_and_then_changed():
    moves = FeatureMoves(probe_of())
    rows = people(30, seed=1)
    source = RealRowSeeds(moves, rows, rng_of())
    first = source.propose(20, rng_of())
    second = source.propose(20, rng_of())
    asked_as_given = second[:10]
    asked = np.concatenate([first, asked_as_given])
    assert sorted(asked.tolist()) == sorted(rows.tolist())
    original = rows[source.origins]
    assert (original[:10] == asked_as_given).all()
    assert changes(original[10:], second[10:]).max() <= 2
    assert inside(PEOPLE, second)


def test_near_misses_are_kept_and_changed_a_little():
    def pay(people):
        is_man = people["sex"] == "M"
        return np.where(is_man, people["income"] / 1000, 0)

    probe = probe_of(pay, differs=0.9)
    near = NearMissSeeds(FeatureMoves(probe))
    assert not near.ready
    tried = probe.ask(people(3000))
    near.witness(tried)
    assert near.ready
    points = near.propose(500, rng_of())
    assert inside(PEOPLE, points)
    near_again = probe.ask(points).near
    assert near_again.mean() > 1.5 * tried.near.mean()
    missed = tried.points[~tried.hits]
    for point in points[:3]:
        assert changes(missed, point).min() <= 2


def test_uniform_seeds_keep_the_constraints():
    space = Space(PEOPLE.features, constraints=["age > 30 or income < 500"])
    seeds = UniformSeeds(FeatureMoves(probe_of(space=space)))
    points = seeds.propose(500, rng_of())
    assert space.valid(points).all()


# The boundary.


def ways(
    decide: Any,
    space: Space = PEOPLE,
    waves: int = 40,
    n: int = 128,
) -> tuple[Probe, Bisection, Edges, list[Any]]:
    probe = probe_of(decide, space)
    moves = FeatureMoves(probe)
    rng = rng_of()
    edges = Edges(moves)
    bisection = Bisection(moves, edges)
    bisection.witness(probe.ask(space.draw(400, rng)))
    asked = []
    for _ in range(waves):
        points = bisection.propose(n, rng)
        assert len(points) == n
        assert inside(space, points)
        tried = probe.ask(points)
        asked.append(tried)
        bisection.learn(tried)
    return probe, bisection, edges, asked


def both_outcomes(probe: Probe, edges: Edges) -> tuple[Any, Any]:
    """Return the outcomes at both ends of edges."""
    near = probe.view.decide(np.asfortranarray(edges._from))
    far = probe.view.decide(np.asfortranarray(edges._to))
    return near, far


def age_group(people: Any) -> Any:
    not_young = np.where(people["age"] < 60, "middle", "old")
    return np.where(people["age"] < 30, "young", not_young)


@pytest.mark.parametrize(
    "decide",
    [
        fair,
        lambda people: people["height"] > 1.7777,
        lambda people: people["rate"] * people["age"] > 20,
        age_group,
        lambda people: people["job"].isin(["cook", "judge"]),
    ],
)
def test_bisection_ends_at_edges(decide):
    """Both inputs of an edge differ in outcome, and in one feature by one step or by a level."""
    probe, bisection, edges, asked = ways(decide)
    assert edges.ready
    assert len(edges._from) > 300  # 40 waves of 128 ways each: none goes on for ever
    near, far = both_outcomes(probe, edges)
    assert (near != far).all()
    moves = edges.moves
    which = edges._which
    column = moves.positions[which]
    apart = edges._from != edges._to
    assert (apart.sum(axis=1) == 1).all()
    assert (apart.argmax(axis=1) == column).all()
    rows = np.arange(len(edges._from))
    gaps = np.abs(edges._from - edges._to)
    gap = gaps[rows, column]
    is_category = np.array([feature.kind == "category" for feature in moves.features])
    is_one_step = gap < 1.5 * moves.size[which]
    assert (is_category[which] | is_one_step).all()
    for tried in asked:
        assert not tried.hits.any()
    assert bisection.ready


def test_every_way_of_a_continuous_feature_ends():
    """A way of between one and two steps cannot be halved in whole steps."""
    space = Space(
        [
            category("sex", ["F", "M"]),
            real("height", 0, 1),
        ]
    )
    _, _, edges, asked = ways(
        lambda people: people["height"] > 0.61803,
        space,
        waves=60,
        n=32,
    )
    assert len(edges._from) > 60 * 32 / 12  # each of them within about twelve halvings
    heights = set()
    for tried in asked[-2:]:
        heights.update(tried.points[:, 1])
    assert len(heights) > 32


def test_bisection_meets_hits_and_leaves_them():
    probe, _, edges, asked = ways(biased)
    hits = sum(tried.hits.sum() for tried in asked)
    uniform = probe.ask(people(40 * 128, seed=5))
    assert hits > 3 * uniform.hits.sum()
    ends = np.concatenate([edges._from, edges._to])
    tried = probe.ask(np.asfortranarray(ends))
    assert not tried.hits.any()


def bisection_of(probe: Probe) -> Bisection:
    edges = Edges(FeatureMoves(probe))
    return Bisection(FeatureMoves(probe), edges)


def test_bisection_needs_two_outcomes():
    probe = probe_of(lambda people: np.ones(len(people), dtype=int))
    bisection = bisection_of(probe)
    assert not bisection.ready
    bisection.witness(probe.ask(people(50)))
    assert not bisection.ready


def test_bisection_needs_not_too_many_outcomes():
    probe = probe_of(lambda people: people["age"])
    bisection = bisection_of(probe)
    bisection.witness(probe.ask(people(2000)))
    assert len(bisection._ends) > MOST_OUTCOMES
    assert not bisection.ready


def test_bisection_keeps_so_many_ends_of_each_outcome():
    probe = probe_of(fair)
    bisection = bisection_of(probe)
    for seed in range(4):
        bisection.witness(probe.ask(people(2000, seed)))
    kept = {len(ends) for ends in bisection._ends.values()}
    assert kept == {ENDS}


def test_edges_walk_along_the_boundary():
    probe, _, edges, _ = ways(fair)
    rng = rng_of(3)
    start = edges._from.copy()
    for _ in range(30):
        points = edges.propose(101, rng)
        assert len(points) == 100
        assert inside(PEOPLE, points)
        near_ends = points[:50]
        far_ends = points[50:]
        assert (changes(near_ends, far_ends) == 1).all()
        edges.learn(probe.ask(points))
    assert len(edges._from) <= EDGES
    at_first = set(map(tuple, start.tolist()))
    at_last = set(map(tuple, edges._from.tolist()))
    assert len(at_last - at_first) > 300
    near, far = both_outcomes(probe, edges)
    assert (near != far).all()
    before = len(edges._from)
    points = edges.propose(100, rng)
    edges.learn(probe.ask(points[:70]))  # the budget ended within the wave
    assert len(edges._from) == before


# Every input there is.


@settings(max_examples=examples(40), deadline=None)
@given(spaces(), st.integers(0, 2000), st.data())
def test_everything_is_every_class_once(space, queries, data):
    name = data.draw(st.sampled_from(space.names))
    probe = probe_of(same_for_all, space, (name,))
    feature = space.feature(name)
    if feature.size < 2:
        return
    strategy = Everything.of(probe, queries)
    if strategy is None:
        assert space.size > queries
        return
    parts = []
    while len(points := strategy.propose(7).points):
        parts.append(points)
    points = np.concatenate(parts)
    assert strategy.done
    assert space.size <= queries
    assert len(points) * feature.size == space.size
    distinct = np.unique(probe.keys(points))
    assert len(distinct) == len(points)


# The strategy as a whole.


@pytest.mark.parametrize("prefer", ["many", "diverse", "realistic"])
@pytest.mark.parametrize("constrained", [False, True])
def test_what_is_proposed_lies_in_the_space(prefer, constrained):
    constraints = []
    if constrained:
        constraints.append("not (sex == 'F' and age > 80)")
    space = Space(PEOPLE.features, constraints=constraints)
    probe = probe_of(space=space)
    start = space.draw(40, rng_of(9))
    setting = Setting(probe, 0, start, 1e5, prefer)
    strategy = Adaptive().started(setting)
    seen = set[int]()
    for n in (64, 128, 256, 256, 256):
        proposal = strategy.propose(n)
        assert 0 < len(proposal.points) <= n
        assert inside(space, proposal.points)
        assert proposal.pairs is not None
        first, second = proposal.pairs.T
        assert (first != second).all()
        wave = strategy._wave
        assert wave is not None
        children = proposal.points[: len(wave.parents)]
        keys = probe.keys(children).tolist()
        assert seen.isdisjoint(keys)  # a child that was asked is not asked again
        assert len(set(keys)) == len(keys)
        tried = probe.ask(proposal.points, proposal.pairs)
        asked_of_children = tried.asked[: len(children)]
        assert asked_of_children.all()  # nor one that has nothing to be compared with
        seen.update(tried.keys.tolist())
        assert strategy.observe(tried) == len(tried)
    assert len(children) > 64


@pytest.mark.parametrize("cut", [0, 1, 10, 63, 100, 200])
def test_a_wave_may_be_cut_anywhere(cut):
    probe = probe_of()
    start = people(40, seed=9)
    strategy = Adaptive().started(Setting(probe, 0, start, 1e5))
    for _ in range(4):
        proposal = strategy.propose(200)
        assert proposal.pairs is not None
        points = proposal.points[:cut]
        pairs = proposal.pairs[:cut]
        strategy.observe(probe.ask(points, pairs))
    last = strategy.propose(200)
    assert len(last.points)


def adaptive_run(probe: Probe, queries: int, seed: int = 0) -> StrategyRun:
    setting = Setting(probe, seed, None, queries)
    strategy = Adaptive().started(setting)
    meter = Meter(Budget(queries=queries))
    return run_strategy(strategy, probe, meter)


@pytest.mark.parametrize("seed", range(3))
def test_it_floods(seed):
    """Nearly every second question shows a new discriminatory input once some are known."""
    probe = probe_of()
    run = adaptive_run(probe, 10_000, seed)
    assert run.stop is StopReason.QUERIES
    found = len(run.found)
    assert found > 0.7 * 5000
    uniform = probe.ask(people(5000, seed))
    assert found > 20 * uniform.hits.sum()
    counts = [count for queries, count, _ in run.curve if queries > 5000]
    found_later = found - counts[0]
    asked_later = (10_000 - 5000) / 2
    assert found_later > 0.8 * 0.9 * asked_later


def test_many_values_are_compared_as_hits_had_them():
    race = category("race", list("abcdefgh"))
    space = Space([race, *PEOPLE.features[1:]])

    def racist(people):
        is_of_race = people["race"] == "c"
        is_rich = people["income"] > 500
        return is_of_race & is_rich

    probe = probe_of(racist, space, ("race",))
    run = adaptive_run(probe, 4000)
    assert len(run.found) > 1000
    has_race = (run.found.pairs == 2).any(axis=1)
    assert has_race.all()


def test_scores_are_followed_where_there_are_any():
    from sklearn.linear_model import LogisticRegression

    sex = category("sex", [0, 1])
    numbers = [integer(name, 0, 999) for name in "abcd"]
    space = Space([sex, *numbers])
    points = space.draw(2000, rng_of())
    scaled = points / [1, 1000, 1000, 1000, 1000]
    _, first, second, _, _ = points.T
    is_granted = first + second > 1900
    model = LogisticRegression(max_iter=500).fit(scaled, is_granted)
    model.coef_ = np.array([[0.5, 0.01, 0.01, 0.0, 0.0]])
    model.intercept_ = np.array([-19.5])
    view = View(Subject(model, space))
    margins = Margins.of(view, space.draw(50, rng_of()))
    assert margins is not None
    assert margins.bounded
    with_margins = Probe(view, ("sex",), margins)
    without = Probe(view, ("sex",))
    runs = []
    for probe in (with_margins, without):
        run = adaptive_run(probe, 3000)
        again = probe.ask(run.found.points, run.found.pairs)
        assert again.hits.all()
        runs.append(run)
    assert len(runs[0].found) > 300
    strategy = Adaptive().started(Setting(with_margins, 0))
    assert len(strategy._sources) == 5


def test_nothing_but_the_feature_at_issue_is_one_class():
    space = Space([category("sex", ["F", "M"])])
    probe = probe_of(lambda people: people["sex"] == "M", space)
    strategy = Adaptive().started(Setting(probe, 0))
    for _ in range(3):
        proposal = strategy.propose(20)
        tried = probe.ask(proposal.points, proposal.pairs)
        strategy.observe(tried)
    everything = Everything.of(probe, 2)
    assert everything is not None
    assert len(everything.propose(10).points) == 1


def test_names_stand_for_strategies():
    assert isinstance(as_strategy("adaptive"), Adaptive)
    assert isinstance(as_strategy("random"), Aequitas)
    made = aequitas("semi-directed", dv=0.5)
    assert as_strategy(made) is made
    assert made.name == "semi-directed"
    started = made.started(Setting(probe_of(), 0, None, 1000))
    assert started.chances.dv == 0.5


def test_slopes_learnt_from_moves_tell_changes_and_how_to_make_up_for_them():
    space = Space(
        [
            category("sex", ["F", "M"]),
            category("job", ["a", "b", "c"]),
            integer("age", 18, 90),
            integer("debt", 0, 10, step=3),
            real("rate", 0, 1, step=0.05),
        ],
        protected=["sex"],
    )
    moves = FeatureMoves(probe_of(lambda people: people["age"] > 40, space))
    weight_of_job = np.array([0.0, 5.0, -2.0])

    def middle(points):
        _, job, age, debt, rate = points.T
        by_job = weight_of_job[job.astype(int)]
        return by_job + 0.3 * age - debt + 7 * rate - 12

    slope = Slope(moves)
    rng = np.random.default_rng(3)
    assert not slope.ready
    for _ in range(4):
        before = space.draw(300, rng)
        after = space.draw(300, rng)
        change = middle(after) - middle(before)
        slope.learn(before, after, change)
    assert slope.ready
    before = space.draw(300, rng)
    after = space.draw(300, rng)
    true_change = middle(after) - middle(before)
    estimated = slope.change(before, after)
    assert np.allclose(estimated, true_change, atol=0.1)
    mended = slope.mended(after, middle(after), rng)
    rounded = space.encode(space.decode(mended))
    assert rounded.tolist() == mended.tolist()
    assert (changes(after, mended) <= 1).all()
    from_zero = np.abs(middle(mended))
    from_zero_before = np.abs(middle(after))
    assert (from_zero <= from_zero_before + 0.1).all()
    assert np.median(from_zero) < 0.3 * np.median(from_zero_before)
    middles = np.array([0.0, 5.0])
    gaps = np.array([1.0, 1.0])
    inside, outside = slope.promise(middles, gaps)
    assert inside > outside
