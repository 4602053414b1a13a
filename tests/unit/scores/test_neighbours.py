"""Neighbours of rows: as a plain loop makes them, in any batches and by any workers."""

# mypy: disable-error-code="arg-type"
# Wrong arguments are part of what these tests are about.

from __future__ import annotations

import itertools
import math
from collections import defaultdict
from dataclasses import dataclass
from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from evenhand.runtime.budget import Budget, Meter
from evenhand.runtime.errors import UsageError
from evenhand.runtime.workers import Workers
from evenhand.scores import neighbours as module
from evenhand.scores.neighbours import Neighbours, _averaged, _Crew, _Means, walk
from evenhand.space.feature import Feature, category, integer, real
from evenhand.space.space import Space
from evenhand.statistics.estimate import StopReason
from evenhand.subject.subject import Subject
from evenhand.subject.view import View
from tests.support.helpers import examples, refused
from tests.support.sharing import share_everything
from tests.support.strategies import spaces

SEX = category("sex", ["F", "M"])
MIXED = Space(
    [
        SEX,
        integer("age", 18, 90, step=5),
        category("town", ["a", "b", "c", "d"]),
        real("rate", 0, 1),
        real("share", 0, 0.95, step=0.1),
        integer("race", 0, 4),
        category("hidden", ["x", "y"], passed=False),
    ],
    protected=["race"],
    constraints=["not (age < 33 and town == 'b')", "rate <= 0.5 or share <= 0.5"],
)


class Jagged:
    """Outcomes that any change of an input may change: labels, or scores for `output="score"`."""

    classes_ = np.array([0, 1])

    def __init__(self, space: Space) -> None:
        self.features = [feature for feature in space.features if feature.passed]
        self.feature_names_in_ = [feature.name for feature in self.features]

    def scores(self, frame: Any) -> Any:
        total = np.zeros(len(frame))
        for number, feature in enumerate(self.features, start=1):
            column = frame[feature.name]
            if feature.levels:
                codes = {level: code for code, level in enumerate(feature.levels)}
                column = column.map(codes)
            total += number * 1.618 * column.to_numpy().astype(float)
        return total * 12.9898 % 1.0

    def predict(self, frame: Any) -> Any:
        return (self.scores(frame) > 0.5).astype(int)

    def predict_proba(self, frame: Any) -> Any:
        scores = self.scores(frame)
        return np.column_stack([1 - scores, scores])


def neighbours_of(space: Space, over: list[str], **options: Any) -> Neighbours:
    subject = Subject(Jagged(space), space, positive=1, **options)
    return Neighbours.of(View(subject), over)


def over_sex(**options: Any) -> Neighbours:
    """Neighbours of people who may differ in anything but their sex."""
    return neighbours_of(MIXED, ["sex"], **options)


def valid_or(row: Any, changed: Any, space: Space) -> Any:
    """The changed row where the constraints allow it, else the row as it was."""
    (is_valid,) = space.valid(changed[None])
    return changed if is_valid else row


def free_names(neighbours: Neighbours) -> list[str]:
    """The features that neighbours may differ in."""
    names = neighbours.view.subject.space.names
    return [names[position] for position in neighbours.free]


def values_beside(feature: Feature, value: float) -> list[float]:
    """The values of a feature one step away, by its list of values and one at a time."""
    if feature.kind == "category":
        codes = np.arange(float(len(feature.levels)))
        others = codes[codes != value].tolist()
        return others or [value]
    if math.isinf(feature.size):
        below = max(value - 0.01, feature.low)
        above = min(value + 0.01, feature.high)
        return [below, above]
    listed = feature.values().tolist()
    at = listed.index(value)
    below = listed[max(at - 1, 0)]
    last = len(listed) - 1
    above = listed[min(at + 1, last)]
    return [below, above]


def by_hand(neighbours: Neighbours, row: Any) -> float:
    """The mean over all neighbours of one row, asked one at a time."""
    view = neighbours.view
    space = view.subject.space

    def amount(asked: Any) -> float:
        outcomes = view.decide(asked[None])
        return float(view.amount(outcomes)[0])

    if not neighbours.free:
        return amount(row)
    means = []
    for position in neighbours.free:
        amounts = []
        for value in values_beside(space.features[position], row[position]):
            other = row.copy()
            other[position] = value
            amounts.append(amount(valid_or(row, other, space)))
        means.append(sum(amounts) / len(amounts))
    return sum(means) / len(means)


@settings(max_examples=examples(40), deadline=None)
@given(space=st.one_of(spaces(continuous=True), spaces(constrained=True)), data=st.data())
def test_means_are_those_of_a_loop_over_single_inputs(space, data):
    over = data.draw(st.lists(st.sampled_from(space.names), min_size=1, unique=True))
    seed = data.draw(st.integers(0, 99))
    neighbours = neighbours_of(space, over)
    points = space.draw(3, np.random.default_rng(seed))
    expected = [by_hand(neighbours, row) for row in points]
    assert neighbours.means(points).tolist() == expected
    assert neighbours.view.subject.asked == 2 * 3 * neighbours.cost


def test_means_of_categories_reals_grids_and_constraints():
    neighbours = over_sex()
    points = MIXED.draw(200, np.random.default_rng(0))
    asked = neighbours.every(points)
    assert neighbours.cost == 2 + 3 + 2 + 2
    assert asked.flags.f_contiguous
    by_neighbour = asked.reshape(neighbours.cost, 200, -1)
    is_the_row_itself = (by_neighbour == points).all(axis=2)
    assert is_the_row_itself.sum() > 20, "constraints and ends leave rows as they are"
    assert MIXED.valid(asked).all()
    means = neighbours.means(points)
    expected = [by_hand(neighbours, row) for row in points[:40]]
    assert means[:40].tolist() == expected


def test_what_is_at_issue_protected_or_not_passed_is_never_changed():
    assert free_names(over_sex()) == ["age", "town", "rate", "share"]
    over_two = neighbours_of(MIXED, ["age", "race"])
    assert free_names(over_two) == ["sex", "town", "rate", "share"]


def test_a_feature_that_is_not_there_is_named():
    message = refused(UsageError, lambda: neighbours_of(MIXED, ["aeg"]), "'aeg'")
    assert "age" in message


def test_a_range_that_ends_between_two_steps_ends_at_the_last_of_them():
    space = Space(
        [
            SEX,
            integer("age", 18, 36, step=5),
            real("rate", 0, 0.38, step=0.1),
        ]
    )
    neighbours = neighbours_of(space, ["sex"])
    at_the_end = [0.0, 33.0, 0.3]
    at_the_start = [0.0, 18.0, 0.2]
    asked = neighbours.every(np.array([at_the_end, at_the_start]))
    asked_at_the_end = asked[0::2]
    asked_at_the_start = asked[1::2]
    assert asked_at_the_end.tolist() == [
        [0, 28, 0.3],
        [0, 33, 0.3],
        [0, 33, 0.2],
        [0, 33, 0.3],
    ]
    assert asked_at_the_start.tolist() == [
        [0, 18, 0.2],
        [0, 23, 0.2],
        [0, 18, 0.1],
        [0, 18, 0.3],
    ]


def test_every_free_feature_counts_the_same():
    space = Space(
        [
            SEX,
            category("town", ["a", "b", "c", "d"]),
            integer("age", 0, 9),
        ]
    )
    subject = Subject(lambda people: people["town"] == "a", space, positive=True)
    neighbours = Neighbours.of(View(subject), ["sex"])
    in_town_a = [0.0, 0.0, 5.0]
    in_town_b = [0.0, 1.0, 5.0]
    means = neighbours.means(np.array([in_town_a, in_town_b]))
    assert means.tolist() == [0.5, 1 / 6]


def test_a_row_with_nothing_to_change_is_its_own_neighbour():
    space = Space([SEX, integer("age", 0, 9)], protected=["age"])
    subject = Subject(lambda people: people["age"] > 4, space, positive=True)
    neighbours = Neighbours.of(View(subject), ["sex"])
    points = np.array([[0.0, 4.0], [1.0, 5.0]])
    assert neighbours.cost == 1
    assert neighbours.asks(7) == 1
    assert neighbours.means(points).tolist() == [0.0, 1.0]
    assert neighbours.means(points, draws=7).tolist() == [0.0, 1.0]
    drawn = neighbours.drawn(points, np.random.default_rng(0))
    assert drawn.tolist() == points.tolist()
    assert neighbours.view.subject.asked == 4


def test_a_category_of_one_level_stays_as_it_is():
    space = Space([SEX, category("town", ["a"]), integer("age", 0, 9)])
    neighbours = neighbours_of(space, ["sex"])
    assert neighbours.cost == 3
    asked = neighbours.every(np.array([[0.0, 0.0, 0.0]]))
    assert asked.tolist() == [[0, 0, 0], [0, 0, 0], [0, 0, 1]]


@pytest.mark.parametrize("draws", [None, 1, 3, 40])
@pytest.mark.parametrize("options", [{}, {"output": "score"}])
def test_means_depend_on_no_batch(draws, options, monkeypatch):
    monkeypatch.setattr(module, "BLOCK", 64)
    neighbours = over_sex(memo=False, **options)
    points = MIXED.draw(60, np.random.default_rng(1))

    def means(start=0, end=60):
        found = neighbours.means(points[start:end], draws=draws, seed=3, first=10 + start)
        return found.tobytes()

    whole = means()
    edges = [0, 1, 2, 31, 59, 60]
    parts = [means(start, end) for start, end in itertools.pairwise(edges)]
    assert b"".join(parts) == whole
    monkeypatch.setattr(module, "ROWS_AT_ONCE", 100)
    assert means() == whole
    assert neighbours.means(points[:0], draws=draws).tolist() == []


@pytest.mark.parametrize("draws", [1, 3, 40])
@pytest.mark.parametrize("options", [{}, {"output": "score"}])
def test_means_over_random_neighbours_depend_on_the_seed_and_the_place(
    draws, options, monkeypatch
):
    monkeypatch.setattr(module, "BLOCK", 64)
    monkeypatch.setattr(module, "ROWS_AT_ONCE", 100)
    neighbours = over_sex(memo=False, **options)
    points = MIXED.draw(60, np.random.default_rng(1))
    means = neighbours.means(points, draws=draws, seed=3, first=10)
    other_seed = neighbours.means(points, draws=draws, seed=4, first=10)
    other_place = neighbours.means(points, draws=draws, seed=3, first=11)
    assert other_seed.tobytes() != means.tobytes()
    assert other_place.tobytes() != means.tobytes()


def neighbour_shares(neighbours: Neighbours, row: Any) -> dict[tuple[float, ...], float]:
    """How likely each neighbour of a row is, by plain loops."""
    shares: dict[tuple[float, ...], float] = defaultdict(float)
    for position in neighbours.free:
        beside = values_beside(MIXED.features[position], row[position])
        for value in beside:
            other = row.copy()
            other[position] = value
            neighbour = tuple(valid_or(row, other, MIXED))
            # Each feature is as likely as another, and so is each of its values.
            share_of_feature = 1 / len(neighbours.free)
            shares[neighbour] += share_of_feature / len(beside)
    return shares


def test_random_neighbours_are_as_likely_as_they_count():
    neighbours = over_sex()
    row = np.array([0.0, 18.0, 2.0, 0.4, 0.9, 3.0, 1.0])
    n = 24_000
    rows = np.tile(row, (n, 1))
    drawn = neighbours.drawn(rows, np.random.default_rng(5))
    shares = neighbour_shares(neighbours, row)
    found, counts = np.unique(drawn, axis=0, return_counts=True)
    assert {tuple(other) for other in found} == set(shares)
    for other, count in zip(found, counts, strict=True):
        share = shares[tuple(other)]
        expected = n * share
        standard_error = math.sqrt(expected * (1 - share))
        assert abs(count - expected) < 5 * standard_error


def test_means_over_random_neighbours_approach_those_over_all():
    neighbours = over_sex(output="score")
    points = MIXED.draw(20, np.random.default_rng(2))
    over_random = neighbours.means(points, draws=4000)
    over_all = neighbours.means(points)
    assert np.abs(over_random - over_all).max() < 0.04


@pytest.mark.parametrize("draws", [0, -1, 1.5, True, "2"])
def test_a_wrong_number_of_draws_is_named(draws):
    neighbours = over_sex()
    point = np.zeros((1, 7))
    refused(UsageError, lambda: neighbours.means(point, draws=draws), repr(draws))


@dataclass(frozen=True)
class FinishedWalk:
    """The rows that a walk came to, the mean of each, and why it ended early if it did."""

    rows: Any
    means: Any
    stop: StopReason | None


def walked(
    neighbours: Neighbours, points: Any, order: Any = None, **options: Any
) -> FinishedWalk:
    """Walk over all points, one after the other unless an order is given."""
    if order is None:
        order = np.arange(len(points))
    arguments: dict[str, Any] = {
        "draws": None,
        "seed": 0,
        "meter": Meter(),
        "workers": Workers(),
        "task": "mine",
    }
    arguments |= options
    rows, means, stop = walk(neighbours, points, order=order, **arguments)
    return FinishedWalk(rows, means, stop)


@pytest.mark.parametrize("draws", [None, 2])
def test_a_walk_finds_what_means_finds_in_the_order_given(draws):
    neighbours = over_sex()
    points = MIXED.draw(1000, np.random.default_rng(3))
    order = np.random.default_rng(4).permutation(1000)
    reports: list[Any] = []
    meter = Meter(hook=reports.append, queries=5)
    found = walked(
        neighbours,
        points,
        order,
        draws=draws,
        seed=8,
        meter=meter,
    )
    asks = neighbours.asks(draws)
    assert found.stop is None
    assert found.rows.tolist() == order.tolist()
    expected = neighbours.means(points[order], draws=draws, seed=8)
    assert found.means.tobytes() == expected.tobytes()
    assert meter.queries == 5 + 1000 * asks
    assert {report.task for report in reports} == {"mine"}
    assert len(reports) > 1
    assert reports[0].share <= 256 / 1000
    assert reports[-1].share == 1.0
    assert reports[-1].note == f"{1000 * asks:,} inputs"


def test_a_walk_ends_within_its_queries():
    neighbours = over_sex()
    points = MIXED.draw(500, np.random.default_rng(3))
    order = np.arange(500)[::-1]
    meter = Meter(Budget(queries=9 * 123 + 8))
    found = walked(neighbours, points, order, meter=meter)
    assert found.stop is StopReason.QUERIES
    assert len(found.rows) == 123
    assert meter.queries == 9 * 123
    assert neighbours.view.subject.asked == 9 * 123
    first_points = points[order[:123]]
    expected = neighbours.means(first_points)
    assert found.means.tobytes() == expected.tobytes()


def test_a_walk_that_spends_its_last_query_is_whole_and_the_next_one_is_refused():
    neighbours = over_sex()
    points = MIXED.draw(500, np.random.default_rng(3))
    meter = Meter(Budget(queries=9 * 500))
    whole = walked(neighbours, points, meter=meter)
    assert whole.stop is None
    refused(
        UsageError,
        lambda: walked(neighbours, points, meter=meter),
        "0 queries are left",
        "takes 9",
    )
    no_rows = np.arange(0)
    empty = walked(neighbours, points, no_rows, meter=meter)
    assert empty.stop is None


def test_a_walk_that_is_late_keeps_what_it_has():
    neighbours = over_sex()
    points = MIXED.draw(5000, np.random.default_rng(3))
    meter = Meter(Budget(seconds=1e-9))
    found = walked(neighbours, points, meter=meter)
    number = len(found.rows)
    assert found.stop is StopReason.SECONDS
    assert 0 < number <= 256
    expected = neighbours.means(points[:number])
    assert found.means.tobytes() == expected.tobytes()


class Interrupted(Jagged):
    """Software that the user interrupts after some calls."""

    def __init__(self, space: Space, *, calls: int) -> None:
        super().__init__(space)
        self.calls_left = calls

    def predict(self, frame):
        if not self.calls_left:
            raise KeyboardInterrupt
        self.calls_left -= 1
        return super().predict(frame)


def interrupted_after(calls: int) -> Neighbours:
    subject = Subject(Interrupted(MIXED, calls=calls), MIXED, positive=1)
    return Neighbours.of(View(subject), ["sex"])


def test_a_walk_that_is_interrupted_at_once_has_nothing_to_keep():
    points = MIXED.draw(5000, np.random.default_rng(3))
    with pytest.raises(KeyboardInterrupt):
        walked(interrupted_after(0), points)


def test_an_interrupted_walk_keeps_what_it_has():
    points = MIXED.draw(5000, np.random.default_rng(3))
    meter = Meter()
    found = walked(interrupted_after(2), points, meter=meter)
    number = len(found.rows)
    assert found.stop is StopReason.INTERRUPTED
    assert 0 < number < 5000
    assert meter.queries == 9 * number
    expected = over_sex().means(points[:number])
    assert found.means.tobytes() == expected.tobytes()


@pytest.mark.parametrize("draws", [None, 2])
def test_workers_share_a_walk_and_find_the_same(draws, monkeypatch):
    share_everything(monkeypatch)
    points = MIXED.draw(3000, np.random.default_rng(3))
    order = np.random.default_rng(4).permutation(3000)
    alone = over_sex(memo=False)
    together = over_sex(memo=False)
    maps: list[int] = []

    def noted(function, tasks):
        maps.append(len(tasks))
        return Workers.map(workers, function, tasks)

    with Workers(2) as workers:
        monkeypatch.setattr(workers, "map", noted)
        shared = walked(
            together,
            points,
            order,
            draws=draws,
            workers=workers,
        )
    assert shared.stop is None
    assert 2 in maps
    unshared = walked(alone, points, order, draws=draws)
    assert shared.means.tobytes() == unshared.means.tobytes()
    queries = 3000 * alone.asks(draws)
    assert alone.view.subject.asked == queries
    assert together.view.subject.asked == queries
    assert together.view.subject.executed == alone.view.subject.executed


def test_a_part_says_what_was_asked_for_it_alone():
    space = Space([SEX, integer("b", 0, 9)], protected=["sex"])
    subject = Subject(lambda people: people["b"] > 4, space, positive=True, memo=False)
    points = space.draw(6, np.random.default_rng(0))
    subject.decide(points)
    means = module._Means(Neighbours.of(View(subject), ["sex"]), None, 0)
    first = means((0, points))
    assert first.asked == first.executed > 0
    again = means((0, points))
    assert (again.asked, again.executed) == (first.asked, first.executed)
    assert subject.executed == 6 + 2 * first.executed


def test_a_walk_may_have_one_row_left():
    neighbours = over_sex()
    points = MIXED.draw(5, np.random.default_rng(3))
    meter = Meter(Budget(queries=9))
    found = walked(neighbours, points, meter=meter)
    assert found.rows.tolist() == [0]
    assert found.stop is StopReason.QUERIES
    assert meter.queries == 9
    eight = Meter(Budget(queries=8))
    refused(UsageError, lambda: walked(neighbours, points, meter=eight), "takes 9")


def test_a_walk_that_is_late_but_done_is_whole():
    points = MIXED.draw(5, np.random.default_rng(3))
    found = walked(over_sex(), points, meter=Meter(Budget(seconds=1e-9)))
    assert len(found.rows) == 5
    assert found.stop is None


class NotedWorkers:
    """Workers that note what they are given."""

    ready = True

    def __init__(self, width: int) -> None:
        self.width = width
        self.sizes: list[list[int]] = []
        self.firsts: list[list[int]] = []

    def start(self, function: Any) -> None:
        pass

    def map(self, function: Any, tasks: list[Any]) -> list[Any]:
        self.sizes.append([len(points) for _, points in tasks])
        self.firsts.append([first for first, _ in tasks])
        return [function(task) for task in tasks]


def crew_of(width: int = 1, *, expensive: bool = False) -> tuple[_Crew, NotedWorkers]:
    """Return who asks about rows of nine neighbours each, by several workers."""
    neighbours = over_sex(memo=False)
    neighbours.view.subject.adapter.expensive = expensive
    workers = NotedWorkers(width)
    return _Crew(_Means(neighbours, None, 0), 9, workers), workers


def test_the_first_rows_are_few_and_the_next_more():
    crew, _ = crew_of()
    assert crew.rows(10_000, Meter()) == 256 // 9
    points = MIXED.draw(28, np.random.default_rng(0))
    crew.ask(0, points, 10_000)
    crew._seconds = 1e-6
    assert crew.rows(10_000, Meter()) == 8 * 28
    # No more than take a second.
    crew._seconds = 0.01
    assert crew.rows(10_000, Meter()) == 100
    crew._seconds = 7.0
    assert crew.rows(10_000, Meter()) == 1


def test_rows_are_no_more_than_fit(monkeypatch):
    monkeypatch.setattr(module, "ROWS_AT_ONCE", 99)
    crew, _ = crew_of()
    crew.ask(0, MIXED.draw(28, np.random.default_rng(0)), 10_000)
    crew._seconds = 1e-6
    assert crew.rows(10_000, Meter()) == 11
    monkeypatch.setattr(module, "ROWS_AT_ONCE", 5)
    monkeypatch.setattr(module, "FIRST_WAVE", 5)
    tiny, _ = crew_of()
    assert tiny.rows(10_000, Meter()) == 1
    tiny.ask(0, MIXED.draw(1, np.random.default_rng(0)), 10_000)
    tiny._seconds = 1e-6
    assert tiny.rows(10_000, Meter()) == 1


def test_rows_are_no_more_than_the_time_that_is_left_allows():
    crew, _ = crew_of()
    crew.ask(0, MIXED.draw(28, np.random.default_rng(0)), 10_000)
    crew._seconds = 0.01
    ample = Meter(Budget(seconds=1000.0))
    assert crew.rows(10_000, ample) == 100
    half = Meter(Budget(seconds=0.5))
    assert 1 <= crew.rows(10_000, half) <= 50
    late = Meter(Budget(seconds=1e-9))
    assert crew.rows(10_000, late) == 1


@pytest.mark.parametrize(
    ("width", "expensive", "left", "is_shared"),
    [
        (3, False, 20, True),
        (3, False, 5, False),
        (1, False, 20, False),
        (3, True, 20, False),
    ],
)
def test_rows_that_take_long_are_shared(width, expensive, left, is_shared):
    crew, workers = crew_of(width, expensive=expensive)
    points = MIXED.draw(10, np.random.default_rng(0))
    expected = crew._means.neighbours.means(points)
    crew._seconds = 0.1
    for _ in range(2):
        crew._effort.learn(1, 0.1)
    assert crew.rows(left, Meter()) == (30 if is_shared else 10)
    found = crew.ask(5, points, left)
    assert found.tolist() == expected.tolist()
    assert workers.sizes == ([[3, 3, 4]] if is_shared else [])
    assert workers.firsts == ([[5, 8, 11]] if is_shared else [])


def test_one_row_is_not_shared_among_two():
    crew, workers = crew_of(2)
    for _ in range(2):
        crew._effort.learn(1, 0.1)
    crew.ask(4, MIXED.draw(1, np.random.default_rng(0)), 20)
    assert workers.sizes == []


def test_rows_of_software_that_remembers_are_not_shared():
    neighbours = over_sex(memo=True)
    workers = NotedWorkers(2)
    crew = _Crew(_Means(neighbours, None, 0), 9, workers)
    for _ in range(2):
        crew._effort.learn(1, 0.1)
    crew.ask(0, MIXED.draw(4, np.random.default_rng(0)), 20)
    assert workers.sizes == []


def test_what_workers_ask_is_counted_and_seen():
    crew, _ = crew_of(2)
    subject = crew._subject
    for _ in range(2):
        crew._effort.learn(1, 1.0)
    before = subject.asked
    crew.ask(0, MIXED.draw(4, np.random.default_rng(0)), 20)
    # These workers are no other processes: what they ask is counted twice.
    assert subject.asked - before == 2 * 4 * 9
    assert set(subject.seen[""].answers) == {0, 1}


def test_means_are_averages_over_features_of_averages_over_neighbours():
    amounts = np.array([[1.0, 0.0], [0.0, 0.0], [1.0, 1.0]])
    assert _averaged(amounts, [2, 1]).tolist() == [0.75, 0.5]
    assert _averaged(amounts, [3]).tolist() == pytest.approx([2 / 3, 1 / 3])


def test_random_neighbours_are_numbered_by_blocks(monkeypatch):
    monkeypatch.setattr(module, "BLOCK", 8)
    neighbours = over_sex()
    which, turns = neighbours._numbered(0, 20, 3, 5)
    assert which.shape == turns.shape == (3, 20)
    for start, size in [(0, 1), (1, 1), (2, 2), (3, 9), (19, 1)]:
        part, part_turns = neighbours._numbered(start, size, 3, 5)
        assert part.tolist() == which[:, start : start + size].tolist()
        assert part_turns.tolist() == turns[:, start : start + size].tolist()
    monkeypatch.setattr(module, "BLOCK", 2)
    alone, _ = neighbours._numbered(4, 3, 3, 5)
    assert alone.shape == (3, 3)


@pytest.mark.parametrize("value", [0.0, 0.004, 0.5, 0.996, 1.0])
def test_a_real_number_moves_by_a_hundredth_within_its_range(value):
    space = Space([SEX, real("rate", 0, 1)])
    subject = Subject(lambda people: people["rate"] > 0.5, space, positive=True)
    every = Neighbours.of(View(subject), ["sex"]).every(np.array([[0.0, value]]))
    low, high = every[:, 1].tolist()
    assert low == pytest.approx(max(value - 0.01, 0.0))
    assert high == pytest.approx(min(value + 0.01, 1.0))


def test_what_is_not_known_has_no_neighbour():
    space = Space([SEX, integer("age", 18, 90, missing=True)])
    gap = space.features[1].missing_code
    subject = Subject(lambda people: people["age"] > 50, space, positive=True)
    neighbours = Neighbours.of(View(subject), ["sex"])
    every = neighbours.every(np.asfortranarray([[0.0, gap], [0.0, 18.0]]))
    assert every[:, 1].tolist() == [gap, 18.0, gap, 19.0]


@pytest.mark.parametrize("draws", [True, False, 0, -1, 2.0, "2"])
def test_a_number_of_draws_is_whole_and_over_0(draws):
    refused(UsageError, lambda: over_sex().asks(draws), "draws = ", "1 or more")
    assert over_sex().asks(np.int64(3)) == 3
    assert over_sex().asks(1) == 1
    assert over_sex().asks(None) == 9
