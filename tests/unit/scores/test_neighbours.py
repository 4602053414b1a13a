"""Neighbours of rows: as a plain loop makes them, whatever batches and workers they are asked in."""

# mypy: disable-error-code="arg-type"
# Wrong arguments are part of what these tests are about.

from __future__ import annotations

import itertools
import math
from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from evenhand.runtime.budget import Budget, Meter
from evenhand.runtime.errors import UsageError
from evenhand.runtime.workers import Workers
from evenhand.scores import neighbours as module
from evenhand.scores.neighbours import Neighbours, walk
from evenhand.space.feature import Feature, category, integer, real
from evenhand.space.space import Space
from evenhand.statistics.estimate import StopReason
from evenhand.subject.subject import Subject
from evenhand.subject.view import View
from tests.support.helpers import examples, refused
from tests.support.strategies import spaces

MIXED = Space(
    [
        category("sex", ["F", "M"]),
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
            codes = {level: code for code, level in enumerate(feature.levels)}
            column = frame[feature.name].map(codes) if codes else frame[feature.name]
            total += number * 1.618 * column.to_numpy().astype(float)
        return total * 12.9898 % 1.0

    def predict(self, frame: Any) -> Any:
        return (self.scores(frame) > 0.5).astype(int)

    def predict_proba(self, frame: Any) -> Any:
        scores = self.scores(frame)
        return np.column_stack([1 - scores, scores])


def neighbours_of(space: Space, over: list[str], **options: Any) -> Neighbours:
    return Neighbours.of(View(Subject(Jagged(space), space, positive=1, **options)), over)


def values_beside(feature: Feature, value: float) -> list[float]:
    """The values of a feature one step away, by its list of values and one at a time."""
    if feature.kind == "category":
        others = [code for code in range(len(feature.levels)) if code != value]
        return [float(code) for code in others] or [value]
    if math.isinf(feature.size):
        return [max(value - 0.01, feature.low), min(value + 0.01, feature.high)]
    listed = feature.values().tolist()
    at = listed.index(value)
    return [listed[max(at - 1, 0)], listed[min(at + 1, len(listed) - 1)]]


def by_hand(neighbours: Neighbours, row: Any) -> float:
    """The mean over all neighbours of one row, asked one at a time."""
    view, space = neighbours.view, neighbours.view.subject.space

    def amount(asked: Any) -> float:
        return float(view.amount(view.decide(np.array([asked])))[0])

    parts = []
    for position in neighbours.free:
        amounts = []
        for value in values_beside(space.features[position], row[position]):
            other = row.copy()
            other[position] = value
            amounts.append(amount(other if space.valid(np.array([other]))[0] else row))
        parts.append(sum(amounts) / len(amounts))
    return sum(parts) / len(parts) if parts else amount(row)


@settings(max_examples=examples(40), deadline=None)
@given(space=st.one_of(spaces(continuous=True), spaces(constrained=True)), data=st.data())
def test_means_are_those_of_a_loop_over_single_inputs(space, data):
    over = data.draw(st.lists(st.sampled_from(space.names), min_size=1, unique=True))
    neighbours = neighbours_of(space, over)
    points = space.draw(3, np.random.default_rng(data.draw(st.integers(0, 99))))
    assert neighbours.means(points).tolist() == [by_hand(neighbours, row) for row in points]
    assert neighbours.view.subject.asked == 2 * 3 * neighbours.cost


def test_means_of_categories_reals_grids_and_constraints():
    neighbours = neighbours_of(MIXED, ["sex"])
    points = MIXED.draw(200, np.random.default_rng(0))
    asked = neighbours.every(points)
    assert neighbours.cost == 2 + 3 + 2 + 2
    assert asked.flags.f_contiguous
    itself = (asked.reshape(neighbours.cost, 200, -1) == points).all(axis=2)
    assert itself.sum() > 20, "constraints and ends leave rows as they are"
    assert MIXED.valid(asked).all()
    assert neighbours.means(points)[:40].tolist() == [
        by_hand(neighbours, row) for row in points[:40]
    ]


def test_what_is_at_issue_protected_or_not_passed_is_never_changed():
    assert [MIXED.names[at] for at in neighbours_of(MIXED, ["sex"]).free] == [
        "age",
        "town",
        "rate",
        "share",
    ]
    assert [MIXED.names[at] for at in neighbours_of(MIXED, ["age", "race"]).free] == [
        "sex",
        "town",
        "rate",
        "share",
    ]
    message = refused(UsageError, lambda: neighbours_of(MIXED, ["aeg"]), "'aeg'")
    assert "age" in message


def test_a_range_that_ends_between_two_steps_ends_at_the_last_of_them():
    space = Space(
        [
            category("sex", ["F", "M"]),
            integer("age", 18, 36, step=5),
            real("rate", 0, 0.38, step=0.1),
        ]
    )
    neighbours = neighbours_of(space, ["sex"])
    asked = neighbours.every(np.array([[0.0, 33.0, 0.3], [0.0, 18.0, 0.2]]))
    assert asked.tolist() == [
        [0, 28, 0.3], [0, 18, 0.2], [0, 33, 0.3], [0, 23, 0.2],
        [0, 33, 0.2], [0, 18, 0.1], [0, 33, 0.3], [0, 18, 0.3],
    ]  # fmt: skip


def test_every_free_feature_counts_the_same():
    space = Space(
        [
            category("sex", ["F", "M"]),
            category("town", ["a", "b", "c", "d"]),
            integer("age", 0, 9),
        ]
    )
    subject = Subject(lambda people: people["town"] == "a", space, positive=True)
    neighbours = Neighbours.of(View(subject), ["sex"])
    assert neighbours.means(np.array([[0.0, 0.0, 5.0], [0.0, 1.0, 5.0]])).tolist() == [
        0.5,
        1 / 6,
    ]


def test_a_row_with_nothing_to_change_is_its_own_neighbour():
    space = Space([category("sex", ["F", "M"]), integer("age", 0, 9)], protected=["age"])
    neighbours = Neighbours.of(
        View(Subject(lambda people: people["age"] > 4, space, positive=True)), ["sex"]
    )
    points = np.array([[0.0, 4.0], [1.0, 5.0]])
    assert (neighbours.cost, neighbours.asks(7)) == (1, 1)
    assert (
        neighbours.means(points).tolist()
        == neighbours.means(points, draws=7).tolist()
        == [0.0, 1.0]
    )
    assert neighbours.drawn(points, np.random.default_rng(0)).tolist() == points.tolist()
    assert neighbours.view.subject.asked == 4


def test_a_category_of_one_level_stays_as_it_is():
    space = Space(
        [category("sex", ["F", "M"]), category("town", ["a"]), integer("age", 0, 9)]
    )
    neighbours = neighbours_of(space, ["sex"])
    assert neighbours.cost == 3
    assert neighbours.every(np.array([[0.0, 0.0, 0.0]])).tolist() == [
        [0, 0, 0],
        [0, 0, 0],
        [0, 0, 1],
    ]


@pytest.mark.parametrize("draws", [None, 1, 3, 40])
@pytest.mark.parametrize("options", [{}, {"output": "score"}])
def test_means_depend_on_no_batch(draws, options, monkeypatch):
    monkeypatch.setattr(module, "BLOCK", 64)
    neighbours = neighbours_of(MIXED, ["sex"], memo=False, **options)
    points = MIXED.draw(60, np.random.default_rng(1))
    whole = neighbours.means(points, draws=draws, seed=3, first=10)
    edges = [0, 1, 2, 31, 59, 60]
    parts = [
        neighbours.means(points[a:b], draws=draws, seed=3, first=10 + a)
        for a, b in itertools.pairwise(edges)
    ]
    assert np.concatenate(parts).tobytes() == whole.tobytes()
    monkeypatch.setattr(module, "ROWS_AT_ONCE", 100)
    assert (
        neighbours.means(points, draws=draws, seed=3, first=10).tobytes() == whole.tobytes()
    )
    if draws is not None:
        assert (
            neighbours.means(points, draws=draws, seed=4, first=10).tobytes()
            != whole.tobytes()
        )
        assert (
            neighbours.means(points, draws=draws, seed=3, first=11).tobytes()
            != whole.tobytes()
        )
    assert neighbours.means(points[:0], draws=draws).tolist() == []


def test_random_neighbours_are_as_likely_as_they_count():
    neighbours = neighbours_of(MIXED, ["sex"])
    row = np.array([[0.0, 18.0, 2.0, 0.4, 0.9, 3.0, 1.0]])
    n = 24_000
    drawn = neighbours.drawn(np.repeat(row, n, axis=0), np.random.default_rng(5))
    expected: dict[tuple[float, ...], float] = {}
    for position in neighbours.free:
        beside = values_beside(MIXED.features[position], row[0, position])
        for value in beside:
            other = row[0].copy()
            other[position] = value
            kept = other if MIXED.valid(other[None])[0] else row[0]
            expected[tuple(kept)] = expected.get(tuple(kept), 0.0) + 1 / len(
                neighbours.free
            ) / len(beside)
    found, counts = np.unique(drawn, axis=0, return_counts=True)
    assert {tuple(other) for other in found} == set(expected)
    for other, count in zip(found, counts, strict=True):
        share = expected[tuple(other)]
        assert abs(count - n * share) < 5 * math.sqrt(n * share * (1 - share))


def test_means_over_random_neighbours_approach_those_over_all():
    neighbours = neighbours_of(MIXED, ["sex"], output="score")
    points = MIXED.draw(20, np.random.default_rng(2))
    assert (
        np.abs(neighbours.means(points, draws=4000) - neighbours.means(points)).max() < 0.04
    )


@pytest.mark.parametrize("draws", [0, -1, 1.5, True, "2"])
def test_a_wrong_number_of_draws_is_named(draws):
    refused(
        UsageError,
        lambda: neighbours_of(MIXED, ["sex"]).means(np.zeros((1, 7)), draws=draws),
        f"{draws!r}",
    )


def walked(neighbours: Neighbours, points: Any, order: Any, **options: Any) -> Any:
    given: dict[str, Any] = {
        "draws": None,
        "seed": 0,
        "meter": Meter(),
        "workers": Workers(),
        "task": "mine",
    }
    return walk(neighbours, points, order=order, **(given | options))


@pytest.mark.parametrize("draws", [None, 2])
def test_a_walk_finds_what_means_finds_in_the_order_given(draws):
    neighbours = neighbours_of(MIXED, ["sex"])
    points = MIXED.draw(1000, np.random.default_rng(3))
    order = np.random.default_rng(4).permutation(1000)
    told: list[Any] = []
    meter = Meter(hook=told.append, queries=5)
    rows, means, stop = walked(neighbours, points, order, draws=draws, seed=8, meter=meter)
    asks = neighbours.asks(draws)
    assert stop is None
    assert rows.tolist() == order.tolist()
    assert means.tobytes() == neighbours.means(points[order], draws=draws, seed=8).tobytes()
    assert meter.queries == 5 + 1000 * asks
    assert [report.task for report in told] == ["mine"] * len(told)
    assert told[-1].share == 1.0
    assert told[-1].note == f"{1000 * asks:,} inputs"
    assert len(told) > 1
    assert told[0].share <= 256 / 1000


def test_a_walk_ends_within_its_queries():
    neighbours = neighbours_of(MIXED, ["sex"])
    points = MIXED.draw(500, np.random.default_rng(3))
    order = np.arange(500)[::-1]
    meter = Meter(Budget(queries=9 * 123 + 8))
    rows, means, stop = walked(neighbours, points, order, meter=meter)
    assert (stop, len(rows), meter.queries) == (StopReason.QUERIES, 123, 9 * 123)
    assert neighbours.view.subject.asked == 9 * 123
    assert means.tobytes() == neighbours.means(points[order[:123]]).tobytes()
    meter = Meter(Budget(queries=9 * 500))
    assert walked(neighbours, points, order, meter=meter)[2] is None
    refused(
        UsageError,
        lambda: walked(neighbours, points, order, meter=meter),
        "0 queries are left",
        "takes 9",
    )
    assert walked(neighbours, points, order[:0], meter=meter)[2] is None


def test_a_walk_that_is_late_keeps_what_it_has():
    neighbours = neighbours_of(MIXED, ["sex"])
    points = MIXED.draw(5000, np.random.default_rng(3))
    rows, means, stop = walked(
        neighbours, points, np.arange(5000), meter=Meter(Budget(seconds=1e-9))
    )
    assert stop is StopReason.SECONDS
    assert 0 < len(rows) <= 256
    assert means.tobytes() == neighbours.means(points[: len(rows)]).tobytes()


@pytest.mark.parametrize("calls", [0, 2])
def test_an_interrupted_walk_keeps_what_it_has(calls):
    class Interrupted(Jagged):
        left = calls

        def predict(self, frame):
            if not self.left:
                raise KeyboardInterrupt
            self.left -= 1
            return super().predict(frame)

    points = MIXED.draw(5000, np.random.default_rng(3))
    subject = Subject(Interrupted(MIXED), MIXED, positive=1)
    interrupted = Neighbours.of(View(subject), ["sex"])
    meter = Meter()
    if not calls:
        with pytest.raises(KeyboardInterrupt):
            walked(interrupted, points, np.arange(5000), meter=meter)
        return
    rows, means, stop = walked(interrupted, points, np.arange(5000), meter=meter)
    assert stop is StopReason.INTERRUPTED
    assert 0 < len(rows) < 5000
    assert meter.queries == 9 * len(rows)
    assert (
        means.tobytes()
        == neighbours_of(MIXED, ["sex"]).means(points[: len(rows)]).tobytes()
    )


@pytest.mark.parametrize("draws", [None, 2])
def test_workers_share_a_walk_and_find_the_same(draws, monkeypatch):
    monkeypatch.setattr(module, "WORTH_SHARING", 0.0)
    points = MIXED.draw(3000, np.random.default_rng(3))
    order = np.random.default_rng(4).permutation(3000)
    alone, together = (
        neighbours_of(MIXED, ["sex"], memo=False),
        neighbours_of(MIXED, ["sex"], memo=False),
    )
    maps: list[int] = []

    def noted(function, tasks):
        maps.append(len(tasks))
        return Workers.map(workers, function, tasks)

    with Workers(2) as workers:
        monkeypatch.setattr(workers, "map", noted)
        _, shared, stop = walked(together, points, order, draws=draws, workers=workers)
    assert stop is None
    assert 2 in maps
    assert shared.tobytes() == walked(alone, points, order, draws=draws)[1].tobytes()
    assert (
        together.view.subject.asked == alone.view.subject.asked == 3000 * alone.asks(draws)
    )
    assert together.view.subject.executed == alone.view.subject.executed
