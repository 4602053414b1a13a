"""Drivers: the features that a planted discrimination rests on come first, those the software
ignores never end it.
"""

from __future__ import annotations

import json
from typing import Any

import numpy as np
import pytest

from evenhand.methods.search import messages
from evenhand.methods.search.explain.drivers import Driver, drivers
from evenhand.methods.search.probe import Probe
from evenhand.space.feature import category, integer, real
from evenhand.space.space import Space
from evenhand.subject.subject import Subject
from evenhand.subject.view import View

FEATURES = [
    category("sex", ["F", "M", "Other"]),
    integer("age", 18, 90),
    category("job", ["a", "b", "c", "d"]),
    real("rate", 0, 1, step=0.05),
    real("size", 0, 1),
    integer("constant", 3, 3),
    category("hidden", ["x", "y"], passed=False),
]
SPACE = Space(FEATURES, protected=["sex"])
RUNS = 200


def biased(people: Any) -> Any:
    """Women of one job over 60 get another answer."""
    return (people["age"] > 60) & (people["job"] == "c") & (people["sex"] == "F")


def searched(
    space: Space, decide: Any = biased, n: int = 20_000, over: tuple[str, ...] = ("sex",)
) -> Any:
    """What a search would hand on: the probe, inputs found, and their pairs of assignments."""
    probe = Probe(View(Subject(decide, space)), over)
    tried = probe.ask(space.draw(n, np.random.default_rng(0)))
    tried = tried.take(np.flatnonzero(tried.hits))
    return probe, tried.points, np.stack([tried.first, tried.second], axis=1)


def test_what_matters_comes_first_and_what_is_ignored_ends_nothing():
    probe, points, pairs = searched(SPACE)
    found, asked = drivers(probe, points, pairs, 0, 4000)
    assert asked <= 4000
    assert [driver.feature for driver in found] == ["job", "age", "rate", "size"]
    job, age, rate, size = found
    assert job.estimate.value == 1.0  # every other job
    assert age.estimate.low < 42 / 72 < age.estimate.high  # 42 of 72 other ages are up to 60
    for ignored in (rate, size):
        assert ignored.estimate.value == 0.0
        assert ignored.example is None
    for driver in found:
        assert driver.estimate.n == 500
        assert driver.estimate.method == "exact, simultaneous over 4 features"
        assert driver.estimate.population == messages.INPUTS_FOUND


def test_the_example_is_the_smallest_change_that_was_seen_and_replays():
    probe, points, pairs = searched(SPACE)
    age = next(
        driver for driver in drivers(probe, points, pairs, 0, 4000)[0] if driver.feature == "age"
    )
    change = age.example
    assert change is not None
    assert change.before > 60 >= change.after  # type: ignore[operator]
    assert change.before - change.after <= 5  # type: ignore[operator]
    assert change.pair.individual["age"] == change.pair.twin["age"] == change.after
    assert change.pair.changed == ("sex",)
    assert change.pair.outcomes[0] == change.pair.outcomes[1]
    pair = [dict(change.pair.individual), dict(change.pair.twin)]
    assert probe.view.subject.decide(pair).tolist() == list(change.pair.outcomes)
    before = [{**member, "age": change.before} for member in pair]
    assert len(set(probe.view.subject.decide(before).tolist())) == 2


def test_values_are_others_and_evenly_drawn():
    asked: list[Any] = []

    def watch(people: Any) -> Any:
        asked.append(people[["job", "age"]])
        return people["sex"] == "F"

    probe, points, pairs = searched(SPACE, watch, n=1)
    asked.clear()
    found, _ = drivers(probe, points, pairs, 0, 8000)
    assert all(driver.estimate.value == 0.0 for driver in found)
    own = SPACE.records(points)[0]["job"]
    values, counts = np.unique(
        asked[0]["job"][asked[0]["job"] != own].to_numpy(dtype=str), return_counts=True
    )
    assert values.tolist() == [job for job in "abcd" if job != own]
    assert counts.sum() == 2000  # a thousand changes, each for the two of the pair
    assert np.abs(counts - 667).max() < 150
    probe, points, pairs = searched(
        SPACE, lambda people: (people["job"] == "c") & (people["sex"] == "F")
    )
    job = drivers(probe, points, pairs, 0, 800)[0][0]
    assert (job.feature, job.estimate.value) == ("job", 1.0)


def test_several_features_at_issue_with_several_values():
    probe, points, pairs = searched(SPACE, over=("sex", "job"))
    found, _ = drivers(probe, points, pairs, 0, 2000)
    assert found[0].feature == "age"
    assert {driver.feature for driver in found} == {"age", "rate", "size"}
    assert found[1].estimate.value == 0.0


def test_only_valid_inputs_are_asked():
    rules = ["age >= 60 or rate <= 0.5", "not (sex == 'M' and age > 80)", "job != 'd'"]
    space = Space(FEATURES, protected=["sex"], constraints=rules)

    def strict(people: Any) -> Any:
        assert space.valid(space.encode(people.assign(hidden="x"))).all()
        return biased(people)

    probe, points, pairs = searched(space, strict)
    found, asked = drivers(probe, points, pairs, 0, 4000)
    assert asked <= 4000
    assert [driver.feature for driver in found][:2] == ["job", "age"]
    assert found[0].estimate.value == 1.0


def test_a_feature_without_another_valid_value_is_unknown_not_unimportant():
    space = Space(FEATURES, protected=["sex"], constraints=["job == 'c'"])
    probe, points, pairs = searched(space)
    found, _ = drivers(probe, points, pairs, 0, 1000)
    assert found[-1].feature == "job"
    assert (found[-1].estimate.n, found[-1].estimate.low, found[-1].estimate.high) == (0, 0.0, 1.0)


def test_intervals_hold_together():
    """The share of the inputs found is known by asking every other value; all intervals hold it at
    the level.
    """
    space = Space([category("sex", ["F", "M"]), integer("age", 0, 9), integer("shoe", 0, 9)])

    def decide(people: Any) -> Any:
        return (people["age"] + people["shoe"] > 12) & (people["sex"] == "F")

    probe, points, pairs = searched(space, decide, n=60)
    true = {}
    for position, name in enumerate(space.names[1:], 1):
        values = np.repeat(points, 10, axis=0)
        own = values[:, position].copy()
        values[:, position] = np.tile(np.arange(10.0), len(points))
        true[name] = float((~probe.ask(values).hits)[values[:, position] != own].mean())
    missed = 0
    for seed in range(RUNS):
        found, _ = drivers(probe, points, pairs, seed, 100, level=0.8)
        shares = [(driver.estimate, true[driver.feature]) for driver in found]
        missed += any(not estimate.low <= share <= estimate.high for estimate, share in shares)
    assert missed <= 0.2 * RUNS + 3 * np.sqrt(RUNS * 0.2 * 0.8)


def test_the_same_seed_tells_the_same():
    probe, points, pairs = searched(SPACE)
    one, other = (
        json.dumps([one.to_dict() for one in drivers(probe, points, pairs, 3, 900)[0]])
        for _ in range(2)
    )
    assert one == other
    back = [Driver.from_dict(entry) for entry in json.loads(one)]
    assert [driver.to_dict() for driver in back] == json.loads(one)


@pytest.mark.parametrize("queries", [0, 7, 8, 101])
def test_no_more_is_asked_than_allowed(queries):
    probe, points, pairs = searched(SPACE)
    before = probe.view.subject.asked
    found, asked = drivers(probe, points, pairs, 0, queries)
    assert probe.view.subject.asked - before == asked <= queries
    assert bool(found) == (queries >= 8)


def test_nothing_found_has_no_drivers():
    probe, points, pairs = searched(SPACE)
    assert drivers(probe, points[:0], pairs[:0], 0, 1000) == ([], 0)
