"""The published strategies against Algorithms 1 to 4 written out plainly, one step at a time."""

from __future__ import annotations

import itertools
from typing import TYPE_CHECKING, Any

import numpy as np
import pytest
from hypothesis import assume, given, settings
from hypothesis import strategies as st

from evenhand.methods.search.loop import run_strategy
from evenhand.methods.search.probe import Probe
from evenhand.methods.search.strategies.aequitas import UPDATES, Aequitas
from evenhand.methods.search.strategies.aequitas_walk import Chances
from evenhand.methods.search.strategies.base import Setting
from evenhand.runtime.budget import Budget, Meter
from evenhand.runtime.errors import EvenhandError, UsageError
from evenhand.runtime.random_streams import stream
from evenhand.space.feature import category, integer, real
from evenhand.space.space import Space
from evenhand.subject.subject import Subject
from evenhand.subject.view import View
from tests.support.helpers import examples, refused
from tests.support.strategies import spaces

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Sequence

    from evenhand.space.feature import Feature

    Judge = Callable[[np.ndarray], np.ndarray]
    Row = tuple[float, ...]

BLOCK = 1024


class PlainAequitas:
    """Algorithms 1 to 4, line by line; `judge` gives the outcome of encoded points."""

    def __init__(
        self,
        space: Space,
        names: Sequence[str],
        judge: Judge,
        gamma: float = 0.0,
    ) -> None:
        self.space = space
        self.judge = judge
        self.gamma = gamma
        self.over = [space.names.index(name) for name in names]
        self.free = [at for at in range(len(space.features)) if at not in self.over]

    def extended(self, point: Row) -> list[Row]:
        """Return the valid members of I(d), in the order of the values of the features at issue."""
        members = []
        domains = [self.space.features[at].values().tolist() for at in self.over]
        for values in itertools.product(*domains):
            member = list(point)
            for at, value in zip(self.over, values, strict=True):
                member[at] = value
            if self.space.valid(np.array([member])).all():
                members.append(tuple(member))
        return members

    def discriminatory(self, point: Row) -> bool:
        """Return whether two members differ (Definition 1; Algorithm 1, line 8)."""
        outcomes = []
        for member in self.extended(point):
            outcome = self.judge(np.array([member]))[0]
            outcomes.append(float(outcome))
        pairs = itertools.combinations(outcomes, 2)
        return any(abs(first - second) > self.gamma for first, second in pairs)

    def perturbed(self, point: Row, at: int, delta: int) -> Row:
        values = list(point)
        values[at] = stepped(self.space.features[at], point[at], delta)
        moved = tuple(values)
        can_be_compared = len(self.extended(moved)) > 1
        return moved if can_be_compared else point

    def draws(self, seed: int, start: np.ndarray | None) -> Iterator[Row]:
        if start is not None:
            order = stream(seed, "aequitas", "start").permutation(len(start))
            for row in start[order].tolist():
                yield tuple(row)
        for block in itertools.count():
            rng = stream(seed, "aequitas", "global", block)
            points = self.space.draw(BLOCK, rng)
            yield from map(tuple, points.tolist())

    def search(
        self,
        seed: int,
        update: str,
        *,
        dv: float,
        dpr: float,
        global_trials: int,
        local_trials: int,
        start: np.ndarray | None = None,
    ) -> Iterator[Row]:
        """Yield the values of the free features of each input that is tried, phase after phase."""
        numbers = stream(seed, "aequitas", "local")
        draws = self.draws(seed, start)
        chance_of = dict.fromkeys(self.free, 1 / len(self.free))
        chance_down = dict.fromkeys(self.free, 0.5)
        while True:
            inputs: dict[Row, Row] = {}
            for _ in range(global_trials):
                point = next(draws)
                yield self.rest(point)
                if self.discriminatory(point):
                    inputs.setdefault(self.rest(point), point)
            for point in inputs.values():
                for _ in range(local_trials):
                    p = self.chosen(chance_of, float(numbers.random()))
                    is_down = float(numbers.random()) < chance_down[p]
                    delta = -1 if is_down else +1
                    point = self.perturbed(point, p, delta)
                    yield self.rest(point)
                    in_test = self.discriminatory(point)
                    if update == "random":
                        continue
                    if in_test == is_down:
                        chance_down[p] = min(chance_down[p] + dv, 1)
                    else:
                        chance_down[p] = max(chance_down[p] - dv, 0)
                    if update == "fully-directed" and in_test:
                        chance_of[p] += dpr
                        total = sum(chance_of.values())
                        chance_of = {x: chance / total for x, chance in chance_of.items()}

    def rest(self, point: Row) -> Row:
        return tuple(point[at] for at in self.free)

    @staticmethod
    def chosen(chance_of: dict[int, float], number: float) -> int:
        reached = 0.0
        for p, chance in chance_of.items():
            reached += chance
            if number < reached:
                return p
        return p


def stepped(feature: Feature, value: float, delta: int) -> float:
    if np.isinf(feature.size):
        width = (feature.high - feature.low) / 100
        moved = value + delta * width
        return min(max(moved, feature.low), feature.high)
    values = feature.values().tolist()
    last = len(values) - 1
    place = values.index(value) + delta
    inside_place = min(max(place, 0), last)
    return float(values[inside_place])


def probe_of(
    space: Space, names: Sequence[str], judge: Judge, gamma: float | None = None
) -> Probe:
    coded = True
    for feature in space.features:
        codes = tuple(range(len(feature.levels)))
        coded = coded and feature.levels == codes

    def decide(people: Any) -> np.ndarray:
        if coded:  # which saves encoding them
            return judge(people.to_numpy(np.float64))
        return judge(space.encode(people))

    subject = Subject(decide, space, differs=gamma)
    return Probe(View(subject), tuple(names))


def accepted(
    strategy: Aequitas,
    probe: Probe,
    classes: int,
    sizes: Sequence[int],
    cut: int = 0,
) -> tuple[Any, int]:
    """Drive a strategy, and return the inputs accepted and the number of waves.

    Every `cut`th time only the beginning of what it proposes is tried, as where a budget ends.
    """
    rows: list[Row] = []
    for waves, n in enumerate(itertools.cycle(sizes), 1):
        proposal = strategy.propose(n)
        assert 1 <= len(proposal.points) <= n
        assert proposal.pairs is None
        points = proposal.points
        if cut and waves % cut == 0:
            half = -(-len(points) // 2)
            points = points[:half]
        tried = probe.ask(points)
        count = strategy.observe(tried)
        assert count >= 1
        free = tried.points[:count, list(probe.free)]
        rows.extend(map(tuple, free.tolist()))
        if len(rows) >= classes:
            return rows[:classes], waves
    raise AssertionError


def tree(points: np.ndarray) -> np.ndarray:
    """A planted bias: in a corner of the free features the outcome depends on the first one."""
    first = points[:, 0]
    second = points[:, 1]
    others = points[:, 2:].sum(axis=1)
    in_corner = (second > 3) & (others < 7)
    outcomes = np.where(in_corner, first % 2, second > 5)
    return outcomes.astype(np.int64)


def score(points: np.ndarray) -> np.ndarray:
    first, second, third = points[:, :3].T
    return np.asarray(0.1 * first * second + 0.05 * third)


def equal(points: np.ndarray) -> np.ndarray:
    return np.zeros(len(points), dtype=np.int64)


BINARY = Space(
    [
        category("sex", [0, 1]),
        integer("age", 0, 9),
        integer("hours", 0, 30),
        category("job", [0, 1, 2, 3]),
    ]
)
MANY = Space(
    [
        category("race", [0, 1, 2, 3, 4]),
        integer("age", 0, 9),
        integer("hours", 0, 6),
        real("rate", 0, 1, step=0.1),
    ]
)
TIED = Space(
    [
        category("sex", [0, 1]),
        integer("age", 0, 9),
        integer("hours", 0, 30),
        category("job", [0, 1, 2, 3]),
    ],
    constraints=[
        "not (sex == 0 and job == 1)",
        "age + hours > 4",
        "hours != 3 or age == 7",
    ],
)
SMOOTH = Space(
    [
        category("sex", [0, 1]),
        real("age", 0, 9),
        real("hours", 0, 7.3),
        integer("job", 0, 8, step=2),
    ]
)
CASES = {
    "binary": (BINARY, ("sex",), tree, None),
    "many values": (MANY, ("race",), tree, None),
    "two features": (BINARY, ("job", "sex"), tree, None),
    "constraints": (TIED, ("sex",), tree, None),
    "gamma": (MANY, ("race",), score, 0.85),
    "continuous": (SMOOTH, ("sex",), tree, None),
}


def cases_and_updates() -> Iterator[Any]:
    """Return each case with one way to update, and with the others as slow tests."""
    for number, case in enumerate(CASES):
        for at, update in enumerate(UPDATES):
            if case == "binary" or number % 3 == at:
                yield pytest.param(case, update)
            else:
                yield pytest.param(case, update, marks=pytest.mark.slow)


@pytest.mark.parametrize(("case", "update"), list(cases_and_updates()))
def test_every_accepted_input_is_that_of_the_algorithms(case, update):
    space, names, judge, gamma = CASES[case]
    options: dict[str, Any] = {
        "dv": 0.02,
        "dpr": 0.03,
        "global_trials": 40,
        "local_trials": 50,
    }
    probe = probe_of(space, names, judge, gamma)
    plain = PlainAequitas(space, names, judge, gamma or 0.0)
    seed = 10 * UPDATES.index(update) + [*CASES].index(case)
    tried = plain.search(seed, update, **options)
    wanted = list(itertools.islice(tried, 400))
    assert len(set(wanted)) > 60
    some_wanted = {pad(plain, row) for row in wanted[200:300]}
    assert any(map(plain.discriminatory, some_wanted))
    for ahead, sizes, cut, classes in [
        (True, [256], 0, 400),
        (True, [1, 9, 64, 5], 3, 400),
        (False, [33], 0, 120),
    ]:
        strategy = Aequitas(update, ahead=ahead, **options)
        started = strategy.started(Setting(probe, seed))
        rows, _ = accepted(started, probe, classes, sizes, cut)
        assert rows == wanted[:classes]


def pad(plain: PlainAequitas, row: Row) -> Row:
    point = [0.0] * len(plain.space.features)
    for at, value in zip(plain.free, row, strict=True):
        point[at] = value
    return tuple(point)


@settings(max_examples=examples(15), deadline=None)
@given(
    spaces(constrained=True, continuous=True),
    st.data(),
    st.sampled_from(UPDATES),
    st.integers(0, 1000),
    st.lists(st.integers(1, 40), min_size=1, max_size=4),
    st.booleans(),
)
def test_any_space_gives_the_walk_of_the_algorithms_for_any_batches(
    space, data, update, seed, sizes, ahead
):
    finite = [feature.name for feature in space.features if np.isfinite(feature.size)]
    assume(finite)
    some_names = st.lists(
        st.sampled_from(finite),
        min_size=1,
        max_size=2,
        unique=True,
    )
    names = data.draw(some_names)
    assume(len(names) < len(space.features))
    weights = np.array([data.draw(st.integers(1, 9)) for _ in space.features])

    def judge(points: np.ndarray) -> np.ndarray:
        total = np.floor(np.abs(points) @ weights)
        return np.asarray(total.astype(np.int64) % 5)

    probe = probe_of(space, names, judge)
    try:
        probe.table  # noqa: B018
    except EvenhandError:
        assume(False)
    options: dict[str, Any] = {
        "dv": 0.1,
        "dpr": 0.2,
        "global_trials": 7,
        "local_trials": 9,
    }
    start = None
    if data.draw(st.booleans()):
        start = space.draw(4, np.random.default_rng(seed))
    plain = PlainAequitas(space, names, judge)
    tried = plain.search(seed, update, start=start, **options)
    wanted = list(itertools.islice(tried, 36))
    unstarted = Aequitas(update, ahead=ahead, **options)
    strategy = unstarted.started(Setting(probe, seed, start))
    rows, _ = accepted(strategy, probe, len(wanted), sizes)
    assert rows == wanted
    assert all(0 <= chance <= 1 for chance in strategy.chances.down)
    assert strategy.chances.shares.min() >= 0
    assert strategy.chances.shares.sum() == pytest.approx(1)


def test_proposing_again_changes_nothing():
    probe = probe_of(BINARY, ("sex",), tree)
    strategy = Aequitas(global_trials=50).started(Setting(probe, 3))
    first = strategy.propose(50)
    strategy.observe(probe.ask(first.points))
    second = strategy.propose(20)
    strategy.propose(5)
    again = strategy.propose(20)
    assert np.array_equal(again.points, second.points)


@pytest.mark.parametrize("update", ["semi-directed", "fully-directed"])
def test_steps_are_laid_out_ahead(update):
    probe = probe_of(BINARY, ("sex",), tree)
    strategy = Aequitas(update).started(Setting(probe, 0))
    rows, waves = accepted(strategy, probe, 6000, [2048])
    assert len(rows) > 20 * waves


@pytest.mark.parametrize("way", [0.0, 1.0])
@pytest.mark.parametrize("hit", [False, True])
def test_a_direction_that_hits_gets_likelier(way, hit):
    is_down = way == 0.0  # a number below the chance is a step down
    chance_down = 0.6 if hit == is_down else 0.4
    chances = Chances(3, dv=0.01, dpr=0.01)
    chances.course([[0.5, way]] * 10, [hit] * 10)
    assert chances.down == pytest.approx([0.5, chance_down, 0.5])
    first, second, third = chances.shares
    assert (second > first) == hit
    assert first == third


def test_chances_keep_their_bounds_however_long():
    chances = Chances(3, dv=0.3, dpr=1.0)
    numbers = np.random.default_rng(0).random((5000, 2)).tolist()
    chances.course(numbers, [True] * 5000)
    assert max(chances.down) <= 1
    assert min(chances.down) == 0
    assert chances.shares.sum() == pytest.approx(1)
    assert np.isfinite(chances.cumulative).all()


def test_guidance_leads_to_the_hits():
    space = Space(
        [
            category("sex", [0, 1]),
            integer("x", 0, 1000),
        ]
    )

    def up_to_500(points: np.ndarray) -> np.ndarray:
        sex, x = points.T
        return np.asarray((x <= 500) * sex)

    probe = probe_of(space, ("sex",), up_to_500)
    start = space.encode([{"sex": 0, "x": 500}])
    # With so large an offset one step decides: down is a hit, or up is a miss, and both say down.
    guided = Aequitas("semi-directed", dv=0.5, global_trials=1, local_trials=600)
    for seed in range(5):
        strategy = guided.started(Setting(probe, seed, start))
        rows, _ = accepted(strategy, probe, 601, [100])
        assert rows[-1] == (0.0,)


def test_real_rows_come_first_each_once():
    space = Space(
        [
            category("sex", [0, 1]),
            integer("x", 0, 10**9),
        ]
    )
    probe = probe_of(space, ("sex",), equal)
    start = space.draw(25, np.random.default_rng(0))
    strategy = Aequitas(global_trials=10).started(Setting(probe, 0, start))
    rows, _ = accepted(strategy, probe, 60, [4])
    given = [(x,) for x in start[:, 1].tolist()]
    first = rows[:25]
    later = rows[25:]
    assert first != given
    assert sorted(first) == sorted(given)
    assert set(given).isdisjoint(later)


def test_without_a_free_feature_one_trial_is_all():
    space = Space([category("sex", [0, 1])])
    probe = probe_of(space, ("sex",), lambda points: points[:, 0])
    strategy = Aequitas().started(Setting(probe, 0))
    first = strategy.propose(9)
    assert strategy.observe(probe.ask(first.points)) == 9
    second = strategy.propose(9)
    assert len(second.points) == 0


@pytest.mark.parametrize("update", UPDATES)
def test_what_a_hunt_finds_is_discriminatory_and_valid(update):
    space, names, judge, _ = CASES["constraints"]
    probe = probe_of(space, names, judge)
    plain = PlainAequitas(space, names, judge)
    strategy = Aequitas(update, global_trials=50).started(Setting(probe, 1))
    meter = Meter(Budget(queries=1500))
    went = run_strategy(strategy, probe, meter)
    found = went.found
    assert went.queries <= 1500
    assert len(found) > 20
    assert space.valid(found.individuals).all()
    assert space.valid(found.twins).all()
    for point in found.points.tolist():
        assert plain.discriminatory(tuple(point))


@pytest.mark.parametrize(
    ("options", "texts"),
    [
        ({"update": "fully"}, ["update = 'fully'", "'fully-directed'"]),
        ({"dv": 1.5}, ["dv = 1.5", "from 0 to 1"]),
        ({"dpr": float("nan")}, ["dpr = nan"]),
        ({"dv": "0.1"}, ["dv = '0.1'"]),
        ({"global_trials": 0}, ["global_trials = 0", "1 or more"]),
        ({"local_trials": 2.5}, ["local_trials = 2.5"]),
    ],
)
def test_mistakes_are_refused_in_a_sentence(options, texts):
    refused(UsageError, lambda: Aequitas(**options), *texts)
