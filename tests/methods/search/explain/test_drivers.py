"""Drivers: what a planted discrimination rests on comes first, what is ignored never ends it."""

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
    is_old = people["age"] > 60
    has_job = people["job"] == "c"
    is_woman = people["sex"] == "F"
    return is_old & has_job & is_woman


def probe_of(decide: Any, space: Space, over: tuple[str, ...]) -> Probe:
    subject = Subject(decide, space)
    return Probe(View(subject), over)


def searched(
    space: Space,
    decide: Any = biased,
    n: int = 20_000,
    over: tuple[str, ...] = ("sex",),
) -> Any:
    """What a search would hand on: the probe, inputs found, and their pairs of assignments."""
    probe = probe_of(decide, space, over)
    points = space.draw(n, np.random.default_rng(0))
    tried = probe.ask(points)
    found = tried.take(np.flatnonzero(tried.hits))
    pairs = np.stack([found.first, found.second], axis=1)
    return probe, found.points, pairs


def features_of(found: list[Driver]) -> list[str]:
    return [driver.feature for driver in found]


def tables_of(found: list[Driver]) -> list[dict[str, Any]]:
    return [driver.to_dict() for driver in found]


def test_what_matters_comes_first_and_what_is_ignored_ends_nothing():
    probe, points, pairs = searched(SPACE)
    found, asked = drivers(probe, points, pairs, 0, 4000)
    assert asked <= 4000
    assert features_of(found) == ["job", "age", "rate", "size"]
    job, age, rate, size = found
    assert job.estimate.value == 1.0  # every other job
    # 42 of 72 other ages are up to 60.
    share = 42 / 72
    assert age.estimate.low < share < age.estimate.high
    for ignored in (rate, size):
        assert ignored.estimate.value == 0.0
        assert ignored.example is None
    for driver in found:
        estimate = driver.estimate
        assert estimate.n == 500
        assert estimate.method == "exact, simultaneous over 4 features"
        assert estimate.population == messages.INPUTS_FOUND


def test_the_example_is_the_smallest_change_that_was_seen_and_replays():
    probe, points, pairs = searched(SPACE)
    found, _ = drivers(probe, points, pairs, 0, 4000)
    by_feature = {driver.feature: driver for driver in found}
    change = by_feature["age"].example
    assert change is not None
    assert change.before > 60 >= change.after  # type: ignore[operator]
    assert change.before - change.after <= 5  # type: ignore[operator]
    pair = change.pair
    assert pair.individual["age"] == change.after
    assert pair.twin["age"] == change.after
    assert pair.changed == ("sex",)
    own_outcome, twin_outcome = pair.outcomes
    assert own_outcome == twin_outcome

    decide = probe.view.subject.decide
    individual = dict(pair.individual)
    twin = dict(pair.twin)
    replayed = decide([individual, twin])
    assert replayed.tolist() == [own_outcome, twin_outcome]
    individual["age"] = change.before
    twin["age"] = change.before
    own_before, twin_before = decide([individual, twin])
    assert own_before != twin_before


def test_values_are_others_and_evenly_drawn():
    asked: list[Any] = []

    def watch(people: Any) -> Any:
        asked.append(people["job"])
        return people["sex"] == "F"

    probe, points, pairs = searched(SPACE, watch, n=1)
    asked.clear()
    found, _ = drivers(probe, points, pairs, 0, 8000)
    for driver in found:
        assert driver.estimate.value == 0.0
    own = SPACE.records(points)[0]["job"]
    jobs = asked[0]
    is_other = jobs != own
    other_jobs = jobs[is_other].to_numpy(dtype=str)
    values, counts = np.unique(other_jobs, return_counts=True)
    expected = set("abcd") - {own}
    assert values.tolist() == sorted(expected)
    assert counts.sum() == 2000  # a thousand changes, each for the two of the pair
    assert np.abs(counts - 667).max() < 150


def test_every_other_value_of_what_decides_ends_it():
    def women_of_one_job(people: Any) -> Any:
        has_job = people["job"] == "c"
        is_woman = people["sex"] == "F"
        return has_job & is_woman

    probe, points, pairs = searched(SPACE, women_of_one_job)
    found, _ = drivers(probe, points, pairs, 0, 800)
    job = found[0]
    assert job.feature == "job"
    assert job.estimate.value == 1.0


def test_several_features_at_issue_with_several_values():
    probe, points, pairs = searched(SPACE, over=("sex", "job"))
    found, _ = drivers(probe, points, pairs, 0, 2000)
    age, *ignored = found
    assert age.feature == "age"
    assert sorted(features_of(ignored)) == ["rate", "size"]
    assert ignored[0].estimate.value == 0.0


def test_only_valid_inputs_are_asked():
    rules = [
        "age >= 60 or rate <= 0.5",
        "not (sex == 'M' and age > 80)",
        "job != 'd'",
    ]
    space = Space(FEATURES, protected=["sex"], constraints=rules)

    def strict(people: Any) -> Any:
        points = space.encode(people.assign(hidden="x"))
        assert space.valid(points).all()
        return biased(people)

    probe, points, pairs = searched(space, strict)
    found, asked = drivers(probe, points, pairs, 0, 4000)
    assert asked <= 4000
    assert features_of(found)[:2] == ["job", "age"]
    assert found[0].estimate.value == 1.0


def test_a_feature_without_another_valid_value_is_unknown_not_unimportant():
    space = Space(FEATURES, protected=["sex"], constraints=["job == 'c'"])
    probe, points, pairs = searched(space)
    found, _ = drivers(probe, points, pairs, 0, 1000)
    last = found[-1]
    assert last.feature == "job"
    assert last.estimate.n == 0
    assert last.estimate.low == 0.0
    assert last.estimate.high == 1.0


def true_shares(space: Space, probe: Probe, points: Any) -> dict[str, float]:
    """Return how many other values of each number from 0 to 9 end it, by asking them all."""
    shares = {}
    for position, name in enumerate(space.names[1:], 1):
        changed = np.repeat(points, 10, axis=0)
        own = changed[:, position].copy()
        digits = np.arange(10.0)
        every_value = np.tile(digits, len(points))
        changed[:, position] = every_value
        ended = ~probe.ask(changed).hits
        is_other = every_value != own
        shares[name] = float(ended[is_other].mean())
    return shares


def test_intervals_hold_together():
    """The true shares are known by asking every other value; all intervals hold them."""
    space = Space(
        [
            category("sex", ["F", "M"]),
            integer("age", 0, 9),
            integer("shoe", 0, 9),
        ]
    )

    def decide(people: Any) -> Any:
        is_woman = people["sex"] == "F"
        total = people["age"] + people["shoe"]
        return is_woman & (total > 12)

    probe, points, pairs = searched(space, decide, n=60)
    true = true_shares(space, probe, points)
    missed = 0
    for seed in range(RUNS):
        found, _ = drivers(probe, points, pairs, seed, 100, level=0.8)
        held = []
        for driver in found:
            estimate = driver.estimate
            true_share = true[driver.feature]
            held.append(estimate.low <= true_share <= estimate.high)
        missed += not all(held)
    standard_deviation = np.sqrt(RUNS * 0.2 * 0.8)
    assert missed <= 0.2 * RUNS + 3 * standard_deviation


def test_the_same_seed_finds_the_same():
    probe, points, pairs = searched(SPACE)
    first, _ = drivers(probe, points, pairs, 3, 900)
    second, _ = drivers(probe, points, pairs, 3, 900)
    first_text = json.dumps(tables_of(first))
    second_text = json.dumps(tables_of(second))
    assert first_text == second_text


def test_drivers_survive_json():
    probe, points, pairs = searched(SPACE)
    found, _ = drivers(probe, points, pairs, 3, 900)
    tables = json.loads(json.dumps(tables_of(found)))
    read = [Driver.from_dict(table) for table in tables]
    assert tables_of(read) == tables


@pytest.mark.parametrize("queries", [0, 7, 8, 101])
def test_no_more_is_asked_than_allowed(queries):
    probe, points, pairs = searched(SPACE)
    before = probe.view.subject.asked
    found, asked = drivers(probe, points, pairs, 0, queries)
    assert asked == probe.view.subject.asked - before
    assert asked <= queries
    assert bool(found) == (queries >= 8)


def test_nothing_found_has_no_drivers():
    probe, points, pairs = searched(SPACE)
    found, asked = drivers(probe, points[:0], pairs[:0], 0, 1000)
    assert found == []
    assert asked == 0
