"""The loop between a strategy and the software: what is tried, taken back, cut and counted."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Any

import numpy as np
import pytest

from evenhand.methods.search.loop import (
    EXPENSIVE_WAVE,
    FIRST_WAVE,
    IDLE,
    WAVE,
    run_strategy,
)
from evenhand.methods.search.probe import Probe
from evenhand.methods.search.strategies.base import Proposal, Strategy
from evenhand.runtime.budget import Budget, Meter
from evenhand.runtime.errors import SubjectCrashed
from evenhand.space.feature import category, integer
from evenhand.space.space import Space
from evenhand.statistics.estimate import StopReason
from evenhand.subject.subject import Subject
from evenhand.subject.view import View

SPACE = Space(
    [
        category("sex", ["F", "M"]),
        category("race", ["a", "b", "c"]),
        integer("age", 0, 99_999),
    ]
)


def biased(people: Any) -> Any:
    is_man = people["sex"] == "M"
    return is_man & (people["age"] % 10 == 0)


def probe_of(decide: Any = biased, names: Any = ("sex",), space: Space = SPACE) -> Probe:
    subject = Subject(decide, space)
    return Probe(View(subject), names)


def meter_of(queries: int) -> Meter:
    return Meter(Budget(queries=queries))


def ages_found(run: Any) -> list[float]:
    """Return the ages of what was found, in that order."""
    ages: list[float] = run.found.points[:, 2].tolist()
    return ages


@dataclass
class Ages(Strategy):
    """Proposes one age after the other, and takes back all but so many of each wave."""

    last: int = 99_999
    accepts: int | None = None
    paired: bool = False
    cost: int = 0
    at: int = 0
    wanted: list[int] = field(default_factory=list)
    seen: list[int] = field(default_factory=list)

    def propose(self, n: int) -> Proposal:
        self.wanted.append(n)
        stop = min(self.at + n, self.last + 1)
        ages = np.arange(self.at, stop, dtype=np.float64)
        zeros = np.zeros_like(ages)
        points = np.stack([zeros, zeros, ages], axis=1)
        pairs = None
        if self.paired:
            first_two = np.array([0, 1], dtype=np.intp)
            pairs = np.tile(first_two, (len(ages), 1))
        return Proposal(points, pairs, self.cost)

    def observe(self, tried: Any) -> int:
        taken = len(tried)
        if self.accepts is not None:
            taken = min(self.accepts, taken)
        self.seen += tried.points[:taken, 2].astype(int).tolist()
        self.at += taken
        return taken


def test_all_that_is_proposed_is_tried_until_nothing_is_left():
    strategy = Ages(last=999)
    run = run_strategy(strategy, probe_of(), Meter())
    assert strategy.seen == list(range(1000))
    assert run.stop is StopReason.EXHAUSTED
    assert len(run.found) == 100
    assert run.tried == 1000
    assert run.queries == 2000
    assert ages_found(run) == list(range(0, 1000, 10))
    assert run.curve[0] == (0, 0, 0)
    assert run.curve[-1] == (2000, 100, 1)
    assert sum(map(len, run.others)) > 0
    for part in run.others:
        assert not part.hits.any()


@pytest.mark.parametrize("accepts", [1, 7, 50])
def test_what_a_strategy_takes_back_does_not_count(accepts):
    strategy = Ages(last=300, accepts=accepts)
    probe = probe_of()
    run = run_strategy(strategy, probe, meter_of(400))
    assert strategy.seen == list(range(200))
    assert run.stop is StopReason.QUERIES
    assert run.queries == 400
    assert run.tried == 200
    assert len(run.found) == 20
    assert ages_found(run) == list(range(0, 200, 10))
    assert probe.view.subject.asked > 400


@pytest.mark.parametrize("queries", [1, 2, 3, 64, 127, 128, 129, 1000, 1001])
@pytest.mark.parametrize("paired", [False, True])
def test_the_budget_cuts_the_last_wave_before_it_is_asked(queries, paired):
    probe = probe_of(names=("sex", "race"))
    run = run_strategy(Ages(paired=paired), probe, meter_of(queries))
    each = 2 if paired else 6
    assert run.tried == queries // each
    assert run.queries == each * run.tried
    assert run.queries == probe.view.subject.asked
    assert run.stop is StopReason.QUERIES


def test_what_was_spent_before_counts():
    meter = Meter(Budget(queries=1000), queries=900)
    run = run_strategy(Ages(), probe_of(), meter)
    assert run.queries == 100


def test_inputs_asked_to_propose_count():
    probe = probe_of()
    run = run_strategy(Ages(cost=30), probe, meter_of(1000))
    waves = len(run.curve) - 1
    assert run.queries == probe.view.subject.asked + 30 * waves
    assert run.queries <= 1000
    nothing = run_strategy(Ages(cost=1000), probe_of(), meter_of(1000))
    assert nothing.queries == 1000
    assert nothing.tried == 0
    assert nothing.stop is StopReason.QUERIES


@pytest.mark.parametrize("findings", [1, 7, 30])
def test_it_ends_with_as_many_findings_as_are_wanted(findings):
    run = run_strategy(Ages(), probe_of(), Meter(Budget(findings=findings)))
    assert len(run.found) == findings
    assert run.stop is StopReason.FINDINGS
    assert ages_found(run) == list(range(0, 10 * findings, 10))


def test_time_ends_it_after_a_wave():
    run = run_strategy(Ages(), probe_of(), Meter(Budget(seconds=1e-9)))
    assert run.stop is StopReason.SECONDS
    assert run.tried == FIRST_WAVE


def test_it_ends_where_constraints_leave_nothing_to_compare():
    women = Space(SPACE.features, constraints=["sex == 'F'"])
    strategy = Ages(accepts=10)
    run = run_strategy(strategy, probe_of(space=women), Meter())
    assert run.stop is StopReason.EXHAUSTED
    assert run.queries == 0
    assert len(run.found) == 0
    assert len(strategy.wanted) == IDLE


def test_it_goes_on_where_constraints_leave_something_to_compare():
    constraints = ["sex == 'F' or age >= 5000"]
    space = Space(SPACE.features, constraints=constraints)
    run = run_strategy(Ages(last=6000), probe_of(space=space), Meter())
    assert run.stop is StopReason.EXHAUSTED
    assert len(run.found) == 101


def test_waves_grow():
    strategy = Ages()
    run_strategy(strategy, probe_of(), Meter())
    assert strategy.wanted[:3] == [FIRST_WAVE, 2 * FIRST_WAVE, 4 * FIRST_WAVE]
    assert max(strategy.wanted) == WAVE


def test_waves_of_a_small_budget_leave_time_to_learn():
    strategy = Ages()
    run_strategy(strategy, probe_of(), meter_of(10_000))
    assert max(strategy.wanted) <= 10_000 / 2 / 39
    assert len(strategy.wanted) > 30


def test_waves_of_expensive_software_stay_small():
    probe = probe_of()
    probe.view.subject.adapter.expensive = True
    strategy = Ages()
    run_strategy(strategy, probe, meter_of(1000))
    assert set(strategy.wanted) == {EXPENSIVE_WAVE}


class Once:
    """Raises at one call."""

    def __init__(self, call: int, error: BaseException) -> None:
        self.left = call
        self.error = error

    def __call__(self, people: Any) -> Any:
        self.left -= 1
        if self.left == 0:
            raise self.error
        return biased(people)


def test_an_interruption_keeps_the_waves_before_it():
    interrupted = Once(3, KeyboardInterrupt())
    strategy = Ages()
    run = run_strategy(strategy, probe_of(interrupted), Meter())
    assert run.stop is StopReason.INTERRUPTED
    assert run.tried == 3 * FIRST_WAVE
    assert run.tried == len(strategy.seen)
    assert len(run.found) == 20


def test_a_crash_is_not_hidden():
    crashing = Once(3, RuntimeError("broken"))
    with pytest.raises(SubjectCrashed, match="broken"):
        run_strategy(Ages(), probe_of(crashing), Meter())


def test_progress_is_reported_after_every_wave():
    reports: list[Any] = []
    meter = Meter(Budget(queries=2000), reports.append)
    run = run_strategy(Ages(), probe_of(), meter, task="search sex")
    assert len(reports) == len(run.curve) - 1
    assert {progress.task for progress in reports} == {"search sex"}
    shares = [progress.share for progress in reports]
    assert shares == sorted(shares)
    assert shares[-1] == 1.0
    assert f"{len(run.found):,} found" in reports[-1].note


def test_progress_without_a_budget_has_no_share():
    reports: list[Any] = []
    run_strategy(Ages(last=100), probe_of(), Meter(hook=reports.append))
    assert {progress.share for progress in reports} == {None}


def test_a_run_that_went_on_adds_up():
    fair = probe_of(lambda people: people["age"] > 5)
    first = run_strategy(Ages(last=499), fair, meter_of(600))
    more = run_strategy(Ages(last=499), probe_of(), meter_of(400))
    whole = first.followed(more)
    assert whole.queries == 1000
    assert whole.tried == 500
    assert whole.stop is StopReason.QUERIES
    assert whole.found is more.found
    asked = [queries for queries, _, _ in whole.curve]
    assert asked == sorted(asked)
    assert asked[-1] == 1000
    assert asked.count(0) == 1
