"""The sampling loop: its sums are the same, to the last digit, however many draws a wave has."""

from __future__ import annotations

import math
import sys
from dataclasses import dataclass, field
from typing import Any, cast

import numpy as np
import pytest

import evenhand as eh
from evenhand.population.samplers import Draws, Uniform
from evenhand.runtime.budget import Budget, Meter
from evenhand.runtime.errors import UsageError
from evenhand.runtime.workers import Workers
from evenhand.scores import sampling_loop
from evenhand.scores.sampling_loop import (
    Counted,
    CountedTwins,
    Outcome,
    RunningSums,
    _first_stop,
    _Hits,
    _Look,
    _Looks,
    _most_draws,
    _Pace,
    _share,
    _wave,
    check_deterministic,
    prepared,
    sample,
)
from evenhand.statistics.estimate import StopReason
from evenhand.statistics.sequential.stopping import (
    CHEAP_LOOK_RATIO,
    FIRST_CHEAP_LOOK,
    Plan,
)


def sums(hits: np.ndarray, waves: list[int]) -> list[float]:
    """Return the sum at the end of each of the sizes that every split has."""
    totals = RunningSums()
    start = 0
    sizes = [1000, 2000, len(hits)]
    seen = {}
    for stop in [*waves, len(hits)]:
        within = [size for size in sizes if start < size <= stop]
        found = totals.add(hits[start:stop], [size - start for size in within])
        for size, total in zip(within, found, strict=True):
            seen[size] = total.tolist()
        start = stop
    return [seen[size] for size in sizes]


@pytest.mark.parametrize("shape", [(3001,), (3001, 3)])
def test_sums_of_scores_do_not_depend_on_the_size_of_waves(shape):
    hits = np.random.default_rng(0).random(shape) ** 7
    at_once = sums(hits, [])
    assert sums(hits, [16, 17, 700, 1999]) == at_once
    assert sums(hits, list(range(256, 3001, 256))) == at_once


def test_expensive_software_is_asked_up_to_the_next_look_alone():
    expensive = _Pace(expensive=True)
    assert expensive.until(0, 3, None) == 3
    assert expensive.until(10_000, 10_001, None) == 10_001
    assert expensive.until(0, 30, 20) == 20


def test_cheap_software_is_asked_ahead():
    cheap = _Pace(expensive=False)
    assert cheap.until(0, 3, None) == FIRST_CHEAP_LOOK
    ahead = math.ceil(10_000 * CHEAP_LOOK_RATIO)
    assert ahead > 10_000
    assert cheap.until(10_000, 10_001, None) == ahead
    assert cheap.until(10_000, 10 * ahead, None) == 10 * ahead
    assert cheap.until(0, 3, 5) == 5


def test_what_draws_cost_is_added_up_over_waves():
    hits = _Hits(RunningSums())
    assert hits.cost(5, 3) == 15
    first = Counted(
        np.array([1, 0, 1]),
        [],
        0,
        0,
        costs=np.array([2, 3, 4]),
    )
    totals = hits.add([first], [1, 3])
    assert [float(total) for total in totals] == [1, 2]
    assert [hits.cost(n, 9) for n in (1, 2, 3)] == [2, 5, 9]
    second = Counted(
        np.array([1]),
        [],
        0,
        0,
        costs=np.array([5]),
    )
    third = Counted(
        np.array([0, 1]),
        [],
        0,
        0,
        costs=np.array([1, 1]),
    )
    totals = hits.add([second, third], [4, 6])
    assert [float(total) for total in totals] == [3, 4]
    assert hits.n == 6
    assert [hits.cost(n, 9) for n in (4, 5, 6)] == [14, 15, 16]
    hits.add(
        [
            Counted(
                np.array([1]),
                [],
                0,
                0,
                costs=np.array([7]),
            )
        ],
        [7],
    )
    assert hits.cost(7, 9) == 23


def test_answers_and_cases_are_those_of_the_draws_that_count():
    hits = _Hits(RunningSums())
    cases: list[Any] = ["first", "second", "third", "fourth"]
    numbered = list(zip([1, 2, 4, 5], cases, strict=True))
    one = Counted(
        np.zeros(3),
        numbered[:2],
        0,
        0,
        answers=[(0, "no"), (2, "yes")],
    )
    two = Counted(
        np.zeros(3),
        numbered[2:],
        0,
        0,
        answers=[(3, "no"), (4, "maybe")],
    )
    hits.add([one, two], [6])
    assert list(hits.cases(2)) == cases[:1]
    assert list(hits.cases(3)) == cases[:2]
    assert list(hits.cases(6)) == cases[:3]
    assert hits.answers(2) == ("no",)
    assert hits.answers(3) == ("no", "yes")
    assert hits.answers(6) == ("no", "yes", "maybe")


def test_looks_are_taken_up_to_a_number():
    looks = _Looks(iter([1, 2, 5, 9]))
    assert looks.next == 1
    assert looks.upto(2) == [1, 2]
    assert looks.next == 5
    assert looks.upto(9) == [5, 9]
    assert looks.next == sys.maxsize


@pytest.mark.parametrize(
    ("queries", "draws"), [(None, None), (6, 2), (8, 2), (9, 3), (3, 1)]
)
def test_a_budget_is_in_inputs(queries, draws):
    assert _most_draws(Meter(Budget(queries=queries)), 3) == draws


def test_a_budget_under_one_draw_is_refused():
    with pytest.raises(UsageError, match="2 queries are left, but one draw takes 3"):
        _most_draws(Meter(Budget(queries=2)), 3)


@pytest.mark.parametrize(
    ("queries", "checked"), [(None, 32), (640, 32), (639, 31), (20, 1), (19, 0)]
)
def test_a_tenth_of_the_budget_is_asked_twice(queries, checked):
    space = eh.Space([eh.integer("id", 0, 9999)])
    subject = eh.Subject(lambda people: people["id"] > 50, space)
    meter = Meter(Budget(queries=queries))
    notes = check_deterministic(Draws(Uniform(), space, 0, "test"), subject, meter)
    assert meter.queries == subject.asked == 2 * checked
    assert len(notes) == (checked == 0)


def test_the_share_of_a_run_is_that_of_its_margin_or_its_budget():
    plan = Plan(margin=0.1, limit=None)
    look = _Look(50, 25.0, 50)
    assert _share(plan, look, None) == pytest.approx(50 * 0.05**2 / 0.25)
    assert _share(plan, look, 80) == pytest.approx(50 / 80)
    assert _share(plan, look, 400) == pytest.approx(0.5)
    # Nobody was hit so far: the variance is at least that of one.
    assert _share(plan, _Look(10, 0.0, 10), None) == pytest.approx(10 * 0.05**2 / 0.1)
    assert _share(plan, _Look(500, 250.0, 500), None) == 1.0
    assert _share(Plan(limit=0.1, margin=None), look, None) is None


def test_a_run_ends_at_the_first_look_that_stops():
    plan = Plan(limit=0.1, margin=None)
    hits = _Hits(RunningSums())
    totals = hits.add([Counted(np.ones(40), [], 0, 0)], [1, 10, 40])
    stopped = _first_stop(
        plan,
        [1, 10, 40],
        totals,
        hits,
        2,
    )
    assert (stopped.n, stopped.hits, stopped.asked) == (10, 10.0, 20)
    undecided = _first_stop(
        plan,
        [1],
        totals[:1],
        hits,
        2,
    )
    assert (undecided.n, undecided.hits, undecided.asked) == (1, 1.0, 2)
    few = hits.add([Counted(np.array([1.0, 0.0]), [], 0, 0)], [41, 42])
    last = _first_stop(
        Plan(limit=0.99, margin=None),
        [41, 42],
        few,
        hits,
        1,
    )
    assert last.n in (41, 42)


@dataclass
class Coins:
    """Counts hits that are known beforehand; each draw asks for two inputs."""

    hits: Any
    subject: Any
    costs: int | None = None
    calls: list[tuple[int, int]] = field(default_factory=list)
    seen: list[float] = field(default_factory=list)
    interrupted_at: int = sys.maxsize

    def __call__(self, bounds: tuple[int, int]) -> Counted:
        if len(self.calls) == self.interrupted_at:
            raise KeyboardInterrupt
        self.calls.append(bounds)
        first, last = bounds
        part = self.hits[first:last]
        cases: list[Any] = [
            (first + int(at), f"case {first + at}") for at in np.flatnonzero(part)
        ]
        costs = None if self.costs is None else np.full(len(part), self.costs)
        answers = [(first, "no"), (last - 1, "yes")]
        return Counted(
            part,
            cases[:3],
            5,
            4,
            costs=costs,
            answers=answers,
        )

    def totals(self) -> RunningSums:
        return RunningSums()

    def after(self, hits: Any) -> Coins:
        self.seen.append(float(hits))
        return self


def coins(every: int, *, expensive: bool = True, **options: Any) -> Coins:
    """Return hits of which one in so many is one."""
    space = eh.Space([eh.integer("id", 0, 9)])
    subject = eh.Subject(lambda people: people["id"] > 5, space)
    subject.adapter.expensive = expensive
    hits = (np.arange(100_000) % every == every - 1).astype(float)
    return Coins(hits, subject, **options)


def sampled(
    plan: Plan, count: Coins, meter: Meter | None = None, **options: Any
) -> Outcome:
    settings = {"cost": 2, "task": "coins", **options}
    with Workers(1) as workers:
        return sample(
            plan,
            count,
            meter=meter or Meter(),
            workers=workers,
            **settings,
        )


def test_a_run_ends_where_its_limit_is_decided():
    count = coins(2)
    meter = Meter()
    plan = Plan(limit=0.1, margin=None)
    found = sampled(plan, count, meter)
    assert found.stop is StopReason.DECIDED
    n = found.draws
    assert plan.reason(n // 2, n) is StopReason.DECIDED
    assert found.hits == n // 2
    assert found.estimate.value == (n // 2) / n
    assert found.estimate.n == n
    assert meter.queries == 2 * n
    assert [str(case) for case in found.cases] == ["case 1", "case 3", "case 5"][: n // 2]
    assert found.answers == ("no", "yes")
    # One call for each look, from where the last one ended.
    assert [first for first, _ in count.calls] == [
        0,
        *(last for _, last in count.calls[:-1]),
    ]
    assert count.calls[-1][1] == n
    # What was seen before the last look.
    assert count.seen == [last // 2 for _, last in count.calls[:-1]]


@pytest.mark.parametrize("costs", [None, 3])
def test_a_budget_ends_a_run(costs):
    """With a limit of one half and half of all hit, nothing is ever decided."""
    plan = Plan(limit=0.5, margin=None)
    meter = Meter(Budget(queries=101))
    found = sampled(plan, coins(2, costs=costs), meter)
    assert (found.stop, found.draws) == (StopReason.QUERIES, 50)
    assert meter.queries == (100 if costs is None else 150)
    # The budget was spent, whatever was hit: nothing is decided by that.
    assert found.estimate == plan.judge(25, 50, last=True).estimate


@pytest.mark.parametrize(
    ("queries", "enough", "stop", "draws"),
    [
        (None, 40, StopReason.TOO_CLOSE, 40),
        (101, 40, StopReason.TOO_CLOSE, 40),
        (80, 40, StopReason.QUERIES, 40),
        (60, 40, StopReason.QUERIES, 30),
    ],
)
def test_a_run_ends_where_no_more_is_worth_it(queries, enough, stop, draws):
    plan = Plan(limit=0.5, margin=None)
    found = sampled(plan, coins(2), Meter(Budget(queries=queries)), enough=enough)
    assert (found.stop, found.draws) == (stop, draws)
    ends_by_hits = stop is StopReason.TOO_CLOSE
    assert found.estimate == plan.judge(draws // 2, draws, last=not ends_by_hits).estimate


@pytest.mark.parametrize(("queries", "draws"), [(None, 30), (40, 20), (100, 30)])
def test_a_population_ends_a_run(queries, draws):
    plan = Plan(limit=0.5, margin=None, size=30)
    found = sampled(plan, coins(2), Meter(Budget(queries=queries)))
    assert found.draws == draws
    assert (found.estimate.level == 1.0) == (draws == 30)
    is_whole = draws == 30
    assert found.stop is (StopReason.ENUMERATED if is_whole else StopReason.QUERIES)


def test_a_run_that_is_late_ends_at_its_first_look():
    meter = Meter(Budget(seconds=1e-9))
    count = coins(2)
    found = sampled(Plan(limit=0.5, margin=None), count, meter)
    assert found.stop is StopReason.SECONDS
    assert count.calls == [(0, found.draws)]
    assert meter.queries == 2 * found.draws


def test_an_interrupted_run_keeps_what_it_has():
    plan = Plan(limit=0.5, margin=None)
    count = coins(2, interrupted_at=3)
    meter = Meter()
    found = sampled(plan, count, meter)
    assert found.stop is StopReason.INTERRUPTED
    assert found.draws == count.calls[-1][1]
    assert len(count.calls) == 3
    assert meter.queries == 2 * found.draws
    with pytest.raises(KeyboardInterrupt):
        sampled(plan, coins(2, interrupted_at=0))


def test_progress_is_shown_after_each_wave():
    reports: list[Any] = []
    meter = Meter(Budget(queries=20), hook=reports.append)
    sampled(Plan(limit=0.5, margin=None), coins(2), meter)
    assert {report.task for report in reports} == {"coins"}
    assert reports[-1].share == 1.0
    assert reports[-1].note == "20 inputs"
    assert reports[0].share == pytest.approx(4 / 10)
    assert reports[0].note == "8 inputs"


def test_cheap_software_is_asked_at_once_for_many_looks():
    count = coins(2, expensive=False)
    found = sampled(Plan(margin=0.2), count)
    assert count.calls == [(0, 128)]
    # The first look that is precise enough ends it, though more was asked.
    assert found.draws < 128
    assert found.stop is StopReason.MARGIN
    assert found.hits == found.draws // 2


class Elsewhere:
    """Workers that note what they are given."""

    width = 3
    ready = True

    def __init__(self) -> None:
        self.tasks: list[Any] = []

    def start(self, function: Any) -> None:
        pass

    def map(self, function: Any, tasks: list[Any]) -> list[Any]:
        self.tasks.append(tasks)
        return [function(task) for task in tasks]


def test_a_wave_is_shared_evenly_and_counted():
    count = coins(2, expensive=False)
    pace = _Pace(expensive=False)
    workers: Any = Elsewhere()
    alone = _wave(count, 0, 10, workers, pace)
    assert len(alone) == 1
    assert workers.tasks == []
    assert count.subject.asked == 0
    for _ in range(2):
        pace.effort.learn(1, 0.1)
    parts = _wave(count, 10, 22, workers, pace)
    assert workers.tasks == [[(10, 14), (14, 18), (18, 22)]]
    assert len(parts) == 3
    assert (count.subject.asked, count.subject.executed) == (15, 12)


def test_a_wave_of_unknown_cost_is_tried_before_it_is_shared():
    count = coins(2, expensive=False)
    pace = _Pace(expensive=False)
    parts = _wave(count, 0, 1000, cast("Any", Elsewhere()), pace)
    assert len(parts[0].hits) == 256
    hits = np.concatenate([part.hits for part in parts])
    assert hits.tolist() == count((0, 1000)).hits.tolist()


def test_twins_have_the_answers_of_points_and_cases():
    case: Any = type("Pair", (), {"outcomes": ("no", "maybe")})()
    found = CountedTwins.of(
        np.array([0, 1, 0]), np.full(3, 2), [(1, case)], np.array(["yes", "no", "yes"])
    )
    assert found.answers == [(0, "yes"), (1, "no"), (1, "maybe")]
    assert found.cases == [(1, case)]


def test_no_more_answers_are_distinguished_than_matter(monkeypatch):
    monkeypatch.setattr(sampling_loop, "MOST", 2)
    hits = _Hits(RunningSums())
    many = [(0, "a"), (1, "b"), (2, "c")]
    hits.add(
        [
            Counted(
                np.zeros(3),
                [],
                0,
                0,
                answers=many,
            )
        ],
        [3],
    )
    assert hits.answers(3) == ("a", "b")


def test_software_is_prepared_with_notes():
    space = eh.Space([eh.integer("id", 0, 9999)])
    subject = eh.Subject(lambda people: people["id"] + 0.5, space)
    meter = Meter()
    assert prepared(Draws(Uniform(), space, 0, "test"), subject, meter) == []
    assert subject.settled
    assert meter.queries == subject.asked == 64 + 1024
    small = eh.Subject(lambda people: people["id"] > 5, space)
    (note,) = prepared(Draws(Uniform(), space, 0, "test"), small, Meter(Budget(queries=19)))
    assert note.startswith("the budget was too small to check")
