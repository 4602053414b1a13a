"""Wide inputs and short times: what is explained is bounded, and says what was left out."""

from __future__ import annotations

import time
from types import SimpleNamespace
from typing import Any

import numpy as np
import pytest

import evenhand as eh
from evenhand.methods.search.explain.box_axis import Axis
from evenhand.methods.search.explain.screening import MOST_FEATURES, screened
from evenhand.methods.search.probe import Probe
from evenhand.runtime import budget as budget_module
from evenhand.space.feature import category, integer, real
from evenhand.space.space import Space
from evenhand.subject.subject import Subject
from evenhand.subject.view import View

OTHERS = 3
"""A category, a whole number and a real number come in turn."""


def wide(columns: int) -> Space:
    """A space of so many features, of which `income` and `rate` are two."""
    features = [category("sex", ["F", "M"]), integer("income", 0, 999), real("rate", 0, 1)]
    for number in range(columns - len(features)):
        name = f"other{number}"
        kind = number % OTHERS
        if kind == 0:
            features.append(category(name, list("abcd")))
        elif kind == 1:
            features.append(integer(name, 0, 500))
        else:
            features.append(real(name, 0, 1))
    return Space(features, protected=["sex"])


def planted(people: Any) -> Any:
    inside = (people["income"] > 600) & (people["rate"] < 0.5)
    return ~inside | (people["sex"] == "M")


def entry_of(result: Any) -> Any:
    (entry,) = result.details["search"]
    return entry


def searched(columns: int, queries: int = 4000, **settings: Any) -> Any:
    return eh.search(planted, wide(columns), budget=eh.Budget(queries=queries), **settings)


class Clock:
    """A clock that goes on only when something takes time."""

    def __init__(self) -> None:
        self.now = time.monotonic()
        self.start = self.now

    def monotonic(self) -> float:
        return self.now

    @property
    def seconds(self) -> float:
        return self.now - self.start


@pytest.fixture
def clock(monkeypatch):
    found = Clock()
    monkeypatch.setattr(budget_module, "time", SimpleNamespace(monotonic=found.monotonic))
    return found


@pytest.fixture
def choices(monkeypatch):
    """How often the best bins of a feature are chosen, which is what takes time in rules."""
    counted: list[int] = []
    choose = Axis.choose

    def counting(self: Axis, *arguments: Any, **named: Any) -> Any:
        counted.append(1)
        return choose(self, *arguments, **named)

    monkeypatch.setattr(Axis, "choose", counting)
    return counted


@pytest.mark.parametrize("columns", [40, 80, 160])
def test_the_work_of_rules_does_not_grow_with_the_columns(choices, columns):
    searched(columns)
    assert 0 < len(choices) < 6000


def test_of_many_features_those_that_matter_are_explained():
    result = searched(60, queries=15_000)
    entry = entry_of(result)
    assert entry["screened"]["of"] == 59
    assert len(entry["screened"]["features"]) <= MOST_FEATURES
    assert {"income", "rate"} <= set(entry["screened"]["features"])
    named = [driver["feature"] for driver in entry["drivers"]]
    assert set(named[:2]) == {"income", "rate"}
    assert set(named) <= set(entry["screened"]["features"])
    (note,) = [one for one in result.notes if "59 features" in one]
    assert note in result.to_text()


def test_the_rules_of_many_features_are_about_those_that_matter():
    entry = entry_of(searched(60, queries=15_000))
    *rules, everybody = entry["regions"]
    assert everybody["text"] == "everybody"
    named = " ".join(region["text"] for region in rules)
    assert "income" in named or "rate" in named


def test_few_features_are_all_explained():
    result = searched(MOST_FEATURES + 1, queries=20_000)
    entry = entry_of(result)
    assert "screened" not in entry
    assert len(entry["drivers"]) == MOST_FEATURES
    assert not [one for one in result.notes if "features" in one]


def test_what_is_explained_of_many_features_is_the_same_each_time():
    first, second = searched(50), searched(50, n_jobs=2)
    assert entry_of(first) == entry_of(second)


@pytest.mark.parametrize("queries", [60, 300, 1000, 5000])
@pytest.mark.parametrize("columns", [6, 40, 120])
def test_explaining_never_exceeds_the_queries(columns, queries):
    result = searched(columns, queries)
    assert result.spent.queries <= queries
    assert entry_of(result)["queries"] <= queries


def test_screening_asks_no_more_than_it_may():
    space = wide(50)
    probe = Probe(View(Subject(planted, space)), ("sex",))
    points = space.draw(2000, np.random.default_rng(0))
    points = points[(points[:, 1] > 600) & (points[:, 2] < 0.5)]
    pairs = np.tile([0, 1], (len(points), 1))
    for queries in (0, 1, 7, 8, 9, 100, 401):
        before = probe.view.subject.asked
        found = screened(probe, points, pairs, 0, queries)
        asked = probe.view.subject.asked - before
        assert found.asked == asked <= queries
        assert 0 < len(found.ranked) <= MOST_FEATURES
    assert {1, 2} <= set(found.ranked)


def test_screening_leaves_out_what_constraints_refuse():
    space = wide(40)
    constrained = Space(space.features, ["sex"], ["other1 < other4", "other4 < other7"])
    probe = Probe(View(Subject(planted, constrained)), ("sex",))
    points = constrained.draw(3000, np.random.default_rng(0))
    points = points[(points[:, 1] > 600) & (points[:, 2] < 0.5)]
    pairs = np.tile([0, 1], (len(points), 1))
    found = screened(probe, points, pairs, 0, 600)
    assert {1, 2} <= set(found.ranked)
    assert found.asked < 600


def slow(clock: Clock, seconds: float) -> Any:
    """Software that takes so long for each input."""

    def decide(people: Any) -> Any:
        clock.now += seconds * len(people)
        return planted(people)

    return decide


@pytest.mark.parametrize("seconds", [0.0001, 0.001, 0.01])
def test_the_time_is_kept_where_the_software_is_slow(clock, seconds):
    decide = slow(clock, seconds)
    result = eh.search(decide, wide(10), budget=eh.Budget(seconds=3))
    # Whether the software answers alike is looked at whatever the time.
    assert clock.seconds < 3.5
    assert result.stop is eh.StopReason.SECONDS
    assert len(result.worst.cases) > 0


def test_the_time_is_kept_where_rules_take_long(clock, monkeypatch):
    choose = Axis.choose

    def taking_long(self: Axis, *arguments: Any, **named: Any) -> Any:
        clock.now += 0.02
        return choose(self, *arguments, **named)

    monkeypatch.setattr(Axis, "choose", taking_long)
    decide = slow(clock, 0.0002)
    result = eh.search(decide, wide(20), budget=eh.Budget(seconds=3))
    assert clock.seconds < 3.5
    assert result.worst.estimate.value > 100


def test_what_was_explained_when_the_time_was_up_is_kept(clock, monkeypatch):
    choose = Axis.choose

    def taking_too_long(self: Axis, *arguments: Any, **named: Any) -> Any:
        clock.now += 60
        return choose(self, *arguments, **named)

    monkeypatch.setattr(Axis, "choose", taking_too_long)
    decide = slow(clock, 0.0002)
    result = eh.search(decide, wide(10), budget=eh.Budget(seconds=3))
    entry = entry_of(result)
    assert entry["stopped"] == "seconds"
    assert entry["found"] == result.worst.estimate.value > 100
    assert len(result.worst.cases) > 0
    (note,) = [one for one in result.notes if "time of the budget" in one]
    assert note in result.to_text()


def test_a_time_that_is_not_used_up_changes_nothing():
    bounded = eh.Budget(queries=2000, seconds=3600)
    with_time = eh.search(planted, wide(12), budget=bounded)
    assert entry_of(with_time) == entry_of(searched(12, queries=2000))
    assert "stopped" not in entry_of(with_time)


def slow_sum(clock: Clock, seconds: float) -> Any:
    """Software that every feature matters to."""

    def decide(people: Any) -> Any:
        clock.now += seconds * len(people)
        return people.sum(axis=1) > 50

    return decide


def test_every_set_of_features_has_its_share_of_the_time(clock):
    names = [f"feature{number}" for number in range(11)]
    features = [integer(name, 0, 9) for name in names]
    result = eh.search(
        slow_sum(clock, 0.0005),
        Space(features),
        over=[(name,) for name in names],
        budget=eh.Budget(seconds=22),
        explain=False,
    )
    tried = [entry["tried"] for entry in result.details["search"]]
    assert len(tried) == 11
    # Each set has two seconds, in which a thousand classes can be asked twice.
    assert min(tried) > 200
    assert clock.seconds < 25
