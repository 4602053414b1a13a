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
    more = 60 * ((people["sex"] == "F") & people["job"].isin(["cook", "judge"]))
    return people["income"] + 400 * people["rate"] - more > 600


def probe_of(
    decide: Any = biased, space: Space = PEOPLE, names: Any = ("sex",), **options: Any
) -> Probe:
    return Probe(View(Subject(decide, space, **options)), tuple(names))


def rng_of(seed: int = 0) -> np.random.Generator:
    return np.random.default_rng(seed)


def inside(space: Space, points: Any) -> bool:
    for at, feature in enumerate(space.features):
        if not feature.inside(points[:, at]).all():
            return False
    return True


# Moves.


@settings(max_examples=examples(60), deadline=None)
@given(spaces(continuous=True), st.integers(0, 99), st.data())
def test_moves_stay_in_the_space_and_change_one_feature(space, seed, data):
    name = data.draw(st.sampled_from(space.names))
    moves = FeatureMoves(probe_of(lambda people: np.zeros(len(people)), space, (name,)))
    if not moves.features:
        return
    rng = rng_of(seed)
    points = space.draw(100, rng)
    before = points.copy()
    which = rng.integers(0, len(moves.features), 100)
    by = rng.choice([-1, 1], 100)
    for moved in (moves.step(points, which, by), moves.jump(points, which, rng)):
        assert inside(space, moved)
        changed = moved != points
        assert (changed.sum(axis=1) <= 1).all()
        assert not changed[:, space.names.index(name)].any()
        assert (np.flatnonzero(changed.any(axis=1)) >= 0).all()
    assert (points == before).all()
    stepped = moves.step(points, which, by)
    for row in range(100):
        feature = moves.features[which[row]]
        at = moves.positions[which[row]]
        before_step = points[row, at]
        after_step = stepped[row, at]
        if np.isfinite(feature.size):
            values = feature.values().tolist()
            last = len(values) - 1
            place = values.index(before_step) + by[row]
            assert after_step == values[min(max(place, 0), last)]
            assert moves.counts[which[row]] == len(values)
        else:
            longest = (feature.high - feature.low) / 100
            assert abs(after_step - before_step) <= longest + 1e-9
    stirred_points = stirred(moves, points, rng)
    assert inside(space, stirred_points)
    changes = (stirred_points != points).sum(axis=1)
    assert (changes <= 2).all()


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
    assert arms.wins[good] / arms.tries[good] > 0.9
    assert np.argmax(arms.promise(np.arange(size)[None])) == good
    late = arms.choose(5000, rng)[0]
    assert np.mean(late == good) > 0.5
    assert len(np.unique(late)) > 1  # what did badly is not forgotten for good
    assert (arms.wins > 0).all()
    assert (arms.tries > arms.wins).all()


def test_arms_share_credit_and_forget():
    arms = Arms(FeatureMoves(probe_of()))
    two = np.array([[0], [3], [-1], [-1]])
    arms.learn(two, np.array([True]))
    assert arms.tries[[0, 3, 5]].tolist() == [2.5, 2.5, 2.0]
    assert arms.wins[[0, 3, 5]].tolist() == [1.5, 1.5, 1.0]
    no_moves = np.full((4, 0), -1)
    no_hits = np.zeros(0, dtype=bool)
    for _ in range(200):
        arms.learn(no_moves, no_hits)
    assert arms.tries[0] == pytest.approx(2 + 0.5 * MEMORY**200)
    rate = arms.wins[0] / arms.tries[0]
    assert arms.promise(two)[0] == pytest.approx(2 * np.log(rate), rel=1e-2)
    assert arms.promise(np.full((4, 2), -1)).tolist() == [0, 0]


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
    assert 0 <= parents.min() <= parents.max() < len(archive)


def test_half_of_the_parents_come_from_any_cell_alike():
    archive = Archive(probe_of())
    rng = rng_of()
    crowd = np.tile(PEOPLE.draw(1, rng), (900, 1))
    lone = crowd[:1].copy()
    lone[0, 1] = 18 if crowd[0, 1] > 50 else 90
    archive.add(records(lone))
    archive.add(records(crowd))
    share = np.mean(archive.parents(20_000, rng) == 0)
    assert share == pytest.approx(
        0.25, abs=0.02
    )  # half of one half, though it is one of 901
    many = np.tile(crowd, (10, 1))
    archive.add(records(many[: 2 * RECENT]))
    recent = archive.parents(20_000, rng)[10_000:]
    assert (recent >= len(archive) - RECENT).all()


def test_children_inherit_how_well_it_went():
    archive = Archive(probe_of())
    points = PEOPLE.draw(3, rng_of())
    archive.add(records(points[:2]))
    assert archive.robustness(np.array([0, 1])).tolist() == [0.5, 0.5]
    parents = np.repeat([0, 1], 10)
    archive.learn(parents, parents == 0)
    assert archive.robustness(np.array([0, 1])) == pytest.approx([11 / 12, 1 / 12])
    archive.add(records(points[2:], parents=np.array([0])))
    child = np.array([2])
    assert archive.robustness(child) == pytest.approx([11 / 12])
    archive.learn(child, np.array([False]))
    soon_its_own = 11 / 12 * INHERITED / (INHERITED + 1)
    assert archive.robustness(child) == pytest.approx([soon_its_own])
    promise = archive.promise(np.array([0, 1, 2]))
    assert np.argsort(promise).tolist() == [1, 2, 0]
    archive.add(records(points[:1], depth=1.0))
    archive.add(records(points[:1], depth=0.0))
    deep, shallow = archive.promise(np.array([3, 4]))
    assert deep > shallow


def test_an_archive_that_grows_a_little_keeps_its_count_of_cells():
    archive = Archive(probe_of())
    rng = rng_of()
    archive.add(records(PEOPLE.draw(1000, rng)))
    known = archive.cells
    few = PEOPLE.draw(int(1000 * (STALE - 1)) - 1, rng)
    archive.add(records(few))
    assert archive.cells == known
    assert len(archive) == 1000 + len(few)
    archive.add(records(PEOPLE.draw(100, rng)))
    cells = archive.cell_of(archive.hits.points)
    assert archive.cells == len(np.unique(cells))


# Sources.


def test_given_rows_come_each_once_and_then_changed():
    moves = FeatureMoves(probe_of())
    rows = PEOPLE.draw(30, rng_of(1))
    source = RealRowSeeds(moves, rows, rng_of())
    first = source.propose(20, rng_of())
    second = source.propose(20, rng_of())
    asked = np.concatenate([first, second[:10]])
    assert sorted(asked.tolist()) == sorted(rows.tolist())
    original = rows[source.origins]
    assert (original[:10] == second[:10]).all()
    changes = (original[10:] != second[10:]).sum(axis=1)
    assert changes.max() <= 2
    assert inside(PEOPLE, second)


def test_near_misses_are_kept_and_changed_a_little():
    def pay(people):
        return np.where(people["sex"] == "M", people["income"] / 1000, 0)

    probe = probe_of(pay, differs=0.9)
    near = NearMissSeeds(FeatureMoves(probe))
    assert not near.ready
    tried = probe.ask(PEOPLE.draw(3000, rng_of()))
    near.witness(tried)
    assert near.ready
    points = near.propose(500, rng_of())
    assert inside(PEOPLE, points)
    assert probe.ask(points).near.mean() > 1.5 * tried.near.mean()
    missed = tried.points[~tried.hits]
    for point in points[:3]:
        changes = (missed != point).sum(axis=1)
        assert changes.min() <= 2


def test_uniform_seeds_keep_the_constraints():
    space = Space(PEOPLE.features, constraints=["age > 30 or income < 500"])
    points = UniformSeeds(FeatureMoves(probe_of(space=space))).propose(500, rng_of())
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
    gap = np.abs(edges._from - edges._to)[rows, column]
    is_category = np.array([feature.kind == "category" for feature in moves.features])
    is_one_step = gap < 1.5 * moves.size[which]
    assert (is_category[which] | is_one_step).all()
    assert not any(tried.hits.any() for tried in asked)
    assert bisection.ready


def test_every_way_of_a_continuous_feature_ends():
    """A way of between one and two steps cannot be halved in whole steps."""
    space = Space([category("sex", ["F", "M"]), real("height", 0, 1)])
    _, _, edges, asked = ways(
        lambda people: people["height"] > 0.61803, space, waves=60, n=32
    )
    assert len(edges._from) > 60 * 32 / 12  # each of them within about twelve halvings
    last = np.concatenate([tried.points[:, 1] for tried in asked[-2:]])
    assert len(np.unique(last)) > 32


def test_bisection_meets_hits_and_leaves_them():
    probe, _, edges, asked = ways(biased)
    hits = sum(tried.hits.sum() for tried in asked)
    uniform = probe.ask(PEOPLE.draw(40 * 128, rng_of(5))).hits.sum()
    assert hits > 3 * uniform
    ends = np.concatenate([edges._from, edges._to])
    assert not probe.ask(np.asfortranarray(ends)).hits.any()


def test_bisection_needs_two_outcomes_and_not_too_many():
    probe = probe_of(lambda people: np.ones(len(people), dtype=int))
    bisection = Bisection(FeatureMoves(probe), Edges(FeatureMoves(probe)))
    assert not bisection.ready
    bisection.witness(probe.ask(PEOPLE.draw(50, rng_of())))
    assert not bisection.ready
    many = probe_of(lambda people: people["age"])
    bisection = Bisection(FeatureMoves(many), Edges(FeatureMoves(many)))
    bisection.witness(many.ask(PEOPLE.draw(2000, rng_of())))
    assert len(bisection._ends) > MOST_OUTCOMES
    assert not bisection.ready
    two = probe_of(fair)
    bisection = Bisection(FeatureMoves(two), Edges(FeatureMoves(two)))
    for seed in range(4):
        bisection.witness(two.ask(PEOPLE.draw(2000, rng_of(seed))))
    assert {len(ends) for ends in bisection._ends.values()} == {ENDS}


def test_edges_walk_along_the_boundary():
    probe, _, edges, _ = ways(fair)
    rng = rng_of(3)
    start = edges._from.copy()
    for _ in range(30):
        points = edges.propose(101, rng)
        assert len(points) == 100
        assert inside(PEOPLE, points)
        differing = (points[:50] != points[50:]).sum(axis=1)
        assert (differing == 1).all()
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
    probe = probe_of(lambda people: np.zeros(len(people)), space, (name,))
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
    assert len(points) * feature.size == space.size <= queries
    assert len(np.unique(probe.keys(points))) == len(points)


# The strategy as a whole.


@pytest.mark.parametrize("prefer", ["many", "diverse", "realistic"])
@pytest.mark.parametrize("constrained", [False, True])
def test_what_is_proposed_lies_in_the_space(prefer, constrained):
    constraints = ["not (sex == 'F' and age > 80)"] if constrained else []
    space = Space(PEOPLE.features, constraints=constraints)
    probe = probe_of(space=space)
    start = space.draw(40, rng_of(9))
    strategy = Adaptive().started(Setting(probe, 0, start, 1e5, prefer))
    seen = set[int]()
    for n in (64, 128, 256, 256, 256):
        proposal = strategy.propose(n)
        assert 0 < len(proposal.points) <= n
        assert inside(space, proposal.points)
        assert proposal.pairs is not None
        assert (proposal.pairs[:, 0] != proposal.pairs[:, 1]).all()
        wave = strategy._wave
        assert wave is not None
        children = proposal.points[: len(wave.parents)]
        keys = probe.keys(children).tolist()
        assert not seen & set(keys)  # a child that was asked is not asked again
        assert len(set(keys)) == len(keys)
        tried = probe.ask(proposal.points, proposal.pairs)
        assert tried.asked[
            : len(children)
        ].all()  # nor one that has nothing to be compared with
        seen |= set(tried.keys.tolist())
        assert strategy.observe(tried) == len(tried)
    assert len(children) > 64


def test_a_wave_may_be_cut_anywhere():
    for cut in (0, 1, 10, 63, 100, 200):
        probe = probe_of()
        strategy = Adaptive().started(Setting(probe, 0, PEOPLE.draw(40, rng_of(9)), 1e5))
        for _ in range(4):
            proposal = strategy.propose(200)
            assert proposal.pairs is not None
            strategy.observe(probe.ask(proposal.points[:cut], proposal.pairs[:cut]))
        assert len(strategy.propose(200).points)


def adaptive_run(probe: Probe, queries: int, seed: int = 0) -> StrategyRun:
    strategy = Adaptive().started(Setting(probe, seed, None, queries))
    return run_strategy(strategy, probe, Meter(Budget(queries=queries)))


@pytest.mark.parametrize("seed", range(3))
def test_it_floods(seed):
    """Nearly every second question shows a new discriminatory input once some are known."""
    probe = probe_of()
    run = adaptive_run(probe, 10_000, seed)
    assert run.stop is StopReason.QUERIES
    assert len(run.found) > 0.7 * 5000
    blind = probe.ask(PEOPLE.draw(5000, rng_of(seed))).hits.sum()
    assert len(run.found) > 20 * blind
    half = next(found for queries, found, _ in run.curve if queries > 5000)
    assert len(run.found) - half > 0.8 * (10_000 - 5000) / 2 * 0.9


def test_many_values_are_compared_as_hits_had_them():
    space = Space([category("race", list("abcdefgh")), *PEOPLE.features[1:]])

    def racist(people):
        return (people["race"] == "c") & (people["income"] > 500)

    probe = probe_of(racist, space, ("race",))
    run = adaptive_run(probe, 4000)
    assert len(run.found) > 1000
    assert (run.found.pairs == 2).any(axis=1).all()


def test_scores_are_followed_where_there_are_any():
    from sklearn.linear_model import LogisticRegression

    space = Space([category("sex", [0, 1]), *(integer(name, 0, 999) for name in "abcd")])
    points = space.draw(2000, rng_of())
    scaled = points / [1, 1000, 1000, 1000, 1000]
    is_granted = points[:, 1] + points[:, 2] > 1900
    model = LogisticRegression(max_iter=500).fit(scaled, is_granted)
    model.coef_ = np.array([[0.5, 0.01, 0.01, 0.0, 0.0]])
    model.intercept_ = np.array([-19.5])
    view = View(Subject(model, space))
    margins = Margins.of(view, space.draw(50, rng_of()))
    assert margins is not None
    assert margins.bounded
    counts = []
    for probe in (Probe(view, ("sex",), margins), Probe(view, ("sex",))):
        run = adaptive_run(probe, 3000)
        counts.append(len(run.found))
        assert probe.ask(run.found.points, run.found.pairs).hits.all()
    assert counts[0] > 300
    with_margins = Probe(view, ("sex",), margins)
    strategy = Adaptive().started(Setting(with_margins, 0))
    assert len(strategy._sources) == 5


def test_nothing_but_the_feature_at_issue_is_one_class():
    space = Space([category("sex", ["F", "M"])])
    probe = probe_of(lambda people: people["sex"] == "M", space)
    strategy = Adaptive().started(Setting(probe, 0))
    for _ in range(3):
        proposal = strategy.propose(20)
        strategy.observe(probe.ask(proposal.points, proposal.pairs))
    everything = Everything.of(probe, 2)
    assert everything is not None
    assert len(everything.propose(10).points) == 1


def test_names_stand_for_strategies():
    assert isinstance(as_strategy("adaptive"), Adaptive)
    assert isinstance(as_strategy("random"), Aequitas)
    made = aequitas("semi-directed", dv=0.5)
    assert as_strategy(made) is made
    assert made.name == "semi-directed"
    assert made.started(Setting(probe_of(), 0, None, 1000)).chances.dv == 0.5


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
    moves = FeatureMoves(
        Probe(View(Subject(lambda people: people["age"] > 40, space)), ("sex",))
    )

    def middle(points):
        jobs = np.array([0.0, 5.0, -2.0])[points[:, 1].astype(int)]
        _, _, age, debt, rate = points.T
        return jobs + 0.3 * age - debt + 7 * rate - 12

    slope = Slope(moves)
    rng = np.random.default_rng(3)
    assert not slope.ready
    for _ in range(4):
        before = space.draw(300, rng)
        after = space.draw(300, rng)
        slope.learn(before, after, middle(after) - middle(before))
    assert slope.ready
    before = space.draw(300, rng)
    after = space.draw(300, rng)
    true_change = middle(after) - middle(before)
    assert np.allclose(slope.change(before, after), true_change, atol=0.1)
    mended = slope.mended(after, middle(after), rng)
    assert space.encode(space.decode(mended)).tolist() == mended.tolist()
    assert ((mended != after).sum(axis=1) <= 1).all()
    from_zero = np.abs(middle(mended))
    from_zero_before = np.abs(middle(after))
    assert (from_zero <= from_zero_before + 0.1).all()
    assert np.median(from_zero) < 0.3 * np.median(from_zero_before)
    inside, outside = slope.promise(np.array([0.0, 5.0]), np.array([1.0, 1.0]))
    assert inside > outside
