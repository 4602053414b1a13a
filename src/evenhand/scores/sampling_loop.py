"""Sample until decided: the loop between a sampler and an estimate.

Its outcome is the same for any number of workers. Draws are numbered, and the plan looks at them at
fixed numbers. The software is asked exactly up to the next look, so that every answer is used;
looks at cheap software are far apart, since a call costs more than what is asked in it.
"""

from __future__ import annotations

import math
import sys
import time
from dataclasses import dataclass, field
from itertools import pairwise
from operator import itemgetter
from typing import TYPE_CHECKING, Any, Protocol

import numpy as np

from evenhand.runtime.errors import UsageError
from evenhand.scores.numbers.settling import settle_differs
from evenhand.statistics.estimate import StopReason
from evenhand.statistics.sequential.stopping import CHEAP_LOOK_RATIO, FIRST_CHEAP_LOOK
from evenhand.subject.answers_seen import MOST, first_answers
from evenhand.subject.effort import Effort
from evenhand.subject.shared_asking import is_shared_whole

if TYPE_CHECKING:
    from collections.abc import Iterator

    from numpy.typing import NDArray

    from evenhand.population.samplers import Draws
    from evenhand.results.evidence import Case
    from evenhand.runtime.budget import Meter
    from evenhand.runtime.workers import Workers
    from evenhand.statistics.estimate import Estimate
    from evenhand.statistics.sequential.excess import ExcessPlan
    from evenhand.statistics.sequential.stopping import Plan
    from evenhand.subject.subject import Subject

CASES = 3
"""Cases shown with each finding."""
CHECKED = 32
"""Inputs that are asked twice to see whether the subject is deterministic."""
FIRST_WAVE = 256
"""Inputs of cheap software that are asked at once to begin with."""
GROWTH = 8
"""How many times as large a batch may be as the one before it.

Early ones tell little of what an input costs.
"""


@dataclass(frozen=True, slots=True)
class Counted:
    """What was found among a range of draws."""

    hits: NDArray[Any]
    """The hit, or distance in [0, 1], of each draw."""
    witnesses: list[tuple[int, Case]]
    """The first few hits, each with the number of its draw."""
    asked: int
    executed: int
    costs: NDArray[np.int64] | None = None
    """The inputs asked for each draw, where that differs from draw to draw."""
    answers: list[tuple[int, Any]] = field(default_factory=list)
    """The different answers, each with the number of the first draw that got it."""


@dataclass(frozen=True, slots=True)
class CountedTwins:
    """What was found among the variants of some points."""

    hits: NDArray[Any]
    """The distance of each point to its farthest variant."""
    asked: NDArray[np.int64]
    """How many inputs were asked for each."""
    cases: list[tuple[int, Case]]
    answers: list[tuple[int, Any]]
    """The different answers, each with the number of the first point that got it."""

    @classmethod
    def of(
        cls,
        hits: NDArray[Any],
        asked: NDArray[np.int64],
        cases: list[tuple[int, Case]],
        base: NDArray[Any],
    ) -> CountedTwins:
        """Take the answers from the outcomes of the points, and from the cases.

        A variant that is no case got the outcome of its point, or one that comes after a case.
        """
        answers = first_answers(base)
        answers += [(row, case.outcomes[1]) for row, case in cases]
        return cls(hits, asked, cases, answers)


class Count(Protocol):
    """Counts hits among numbered draws; it is shipped to workers, so it must pickle."""

    @property
    def subject(self) -> Subject:
        """The software under test."""
        ...

    def __call__(self, bounds: tuple[int, int]) -> Counted:
        """Count among the draws from the first to before the second bound."""
        ...

    def totals(self) -> Totals:
        """Return what adds up the hits."""
        ...

    def after(self, hits: Any) -> Count:
        """Return what counts among the draws to come, given the hits so far."""
        ...


class Totals(Protocol):
    """Adds up hits over draws."""

    def add(self, hits: NDArray[Any], places: list[int]) -> list[Any]:
        """Add the hits of the next draws, and return the totals after each of some numbers."""
        ...


class RunningSums:
    """The sum of the hits, of each group where there are several."""

    def __init__(self) -> None:
        self._last: NDArray[np.float64] | None = None

    def add(self, hits: NDArray[Any], places: list[int]) -> list[Any]:
        """Add the hits of the next draws, and return the sums after each of some numbers."""
        # The sums go on from those before, one number at a time: scores then add up to the same
        # digits whatever is asked at once.
        going_on = hits
        if self._last is not None:
            going_on = np.concatenate([self._last, hits])
        sums = np.cumsum(going_on, axis=0, dtype=np.float64)
        before = len(going_on) - len(hits)
        self._last = sums[-1:]
        return [sums[before + place - 1] for place in places]


@dataclass(frozen=True, slots=True)
class Outcome:
    """How the sampling ended."""

    estimate: Estimate
    stop: StopReason
    cases: tuple[Case, ...]
    """The first hits among the draws that the estimate rests on."""
    draws: int
    """How many draws the estimate rests on."""
    hits: Any
    """The hits among them, one number for each group where there are several."""
    answers: tuple[Any, ...] = ()
    """The different answers to them."""


def sample(
    plan: Plan | ExcessPlan,
    count: Count,
    *,
    cost: int,
    meter: Meter,
    workers: Workers,
    task: str,
    enough: int | None = None,
) -> Outcome:
    """Draw and count until the plan stops, or the budget is spent.

    Parameters
    ----------
    plan
        When to look and when to stop.
    count
        Counts hits among draws.
    cost
        How many inputs each draw asks for, at most; budgets are in inputs.
    enough
        The most draws that are worth asking where the plan does not stop.
    """
    most = _most_draws(meter, cost)
    ends_in_vain = enough is not None and (most is None or enough < most)
    if ends_in_vain:
        most = enough
    if plan.size is not None:
        most = min(plan.size, most or plan.size)
    hits = _Hits(count.totals())
    looks = _Looks(plan.looks(most))
    pace = _Pace(expensive=count.subject.adapter.expensive)
    seen: _Look | None = None
    try:
        while True:
            stop = pace.until(hits.n, looks.next, most)
            parts = _wave(count, hits.n, stop, workers, pace)
            sizes = looks.upto(stop)
            seen = _first_stop(plan, sizes, hits.add(parts, sizes), hits, cost)
            reason = plan.reason(seen.hits, seen.n)
            if reason is None and seen.n == most:
                reason = StopReason.TOO_CLOSE if ends_in_vain else StopReason.QUERIES
            if reason is None and meter.late:
                reason = StopReason.SECONDS
            share = _share(plan, seen, most)
            meter.report(task, share, f"{seen.asked:,} inputs")
            if reason is not None:
                break
            count = count.after(seen.hits)
    except KeyboardInterrupt:
        if seen is None:
            raise
        reason = StopReason.INTERRUPTED
    ended_by_hits = reason in (StopReason.DECIDED, StopReason.TOO_CLOSE)
    judgement = plan.judge(seen.hits, seen.n, last=not ended_by_hits)
    meter.queries += seen.asked
    return Outcome(
        judgement.estimate,
        reason,
        hits.cases(seen.n),
        seen.n,
        seen.hits,
        hits.answers(seen.n),
    )


def _most_draws(meter: Meter, cost: int) -> int | None:
    """Return how many draws the budget allows, None where it sets no bound."""
    if math.isinf(meter.left):
        return None
    most = int(meter.left // cost)
    if most == 0:
        raise UsageError(
            f"budget: {int(meter.left):,} queries are left, but one draw takes {cost:,}; raise"
            " queries"
        )
    return most


@dataclass(frozen=True, slots=True)
class _Look:
    """A look at the first n draws."""

    n: int
    hits: Any
    asked: int
    """How many inputs they asked for."""


def _first_stop(
    plan: Plan | ExcessPlan, sizes: list[int], totals: list[Any], hits: _Hits, cost: int
) -> _Look:
    """Return the first of some looks at which the plan stops, or else the last."""
    number = 0
    if len(sizes) > 1:
        first = int(plan.first_stop(np.stack(totals), sizes))
        number = min(first, len(sizes) - 1)
    n = sizes[number]
    return _Look(n, totals[number], hits.cost(n, cost))


def check_deterministic(draws: Draws, subject: Subject, meter: Meter) -> list[str]:
    """Ask the first draws twice, within a tenth of the budget; what that takes counts as spent."""
    checked = int(min(CHECKED, meter.left // 20))
    if checked == 0:
        return [
            "the budget was too small to check that the software answers the same input the"
            " same way"
        ]
    subject.need_deterministic(draws.take(0, checked))
    meter.queries += 2 * checked
    return []


def prepared(draws: Draws, subject: Subject, meter: Meter) -> list[str]:
    """Check that the software is deterministic, and settle when its outcomes differ.

    The notes are on that check, and on the form of inputs that the software takes.
    """
    notes = check_deterministic(draws, subject, meter)
    settle_differs(subject, meter)
    return [*notes, *subject.notes]


class _Looks:
    """The looks of a plan, in order."""

    def __init__(self, looks: Iterator[int]) -> None:
        self._looks = looks
        self.next = next(looks)

    def upto(self, n: int) -> list[int]:
        """Take the looks up to n draws, of which there is at least one."""
        taken = []
        while self.next <= n:
            taken.append(self.next)
            self.next = next(self._looks, sys.maxsize)
        return taken


class _Hits:
    """What was found up to each look of the last wave.

    Earlier waves have been looked at and are not needed again.
    """

    def __init__(self, totals: Totals) -> None:
        self.n = 0
        self._start = 0
        self._totals = totals
        self._witnesses: list[tuple[int, Case]] = []
        self._answers: dict[Any, int] = {}
        self._asked_before = 0
        self._asked: NDArray[np.int64] | None = None

    def cost(self, n: int, each: int) -> int:
        """Return what the first n draws asked for, which end within the last wave."""
        if self._asked is None:
            return n * each
        return self._asked_before + int(self._asked[n - self._start - 1])

    def cases(self, n: int) -> tuple[Case, ...]:
        """Return the first cases among the first n draws."""
        cases = [case for number, case in self._witnesses if number < n]
        return tuple(cases[:CASES])

    def answers(self, n: int) -> tuple[Any, ...]:
        """Return the different answers to the first n draws."""
        first_draw = sorted(self._answers.items(), key=itemgetter(1))
        return tuple(answer for answer, number in first_draw if number < n)

    def add(self, parts: list[Counted], sizes: list[int]) -> list[Any]:
        """Put a new wave in the place of the last one, and return the hits at each size."""
        if self._asked is not None:
            self._asked_before += int(self._asked[-1])
        costs = [part.costs for part in parts if part.costs is not None]
        self._asked = np.cumsum(np.concatenate(costs)) if costs else None
        self._start = self.n
        hits = np.concatenate([part.hits for part in parts])
        self.n += len(hits)
        for part in parts:
            if len(self._witnesses) < CASES:
                self._witnesses += part.witnesses
            for number, answer in part.answers:
                if len(self._answers) < MOST:
                    self._answers.setdefault(answer, number)
        return self._totals.add(hits, [size - self._start for size in sizes])


class _Pace:
    """How much to ask at once, and how much of that to leave to workers.

    The clock decides where a wave is asked, and never how large it is.
    """

    def __init__(self, *, expensive: bool) -> None:
        self.expensive = expensive
        self.effort = Effort()

    def until(self, start: int, look: int, most: int | None) -> int:
        """Return the draw up to which to ask next: at least to the next look.

        The paper's rule looks after every draw; cheap software is asked more than one at a time.
        """
        stop = look
        if not self.expensive:
            ahead = max(FIRST_CHEAP_LOOK, math.ceil(start * CHEAP_LOOK_RATIO))
            stop = max(look, ahead)
        return stop if most is None else min(stop, most)


def _wave(
    count: Count,
    start: int,
    stop: int,
    workers: Workers,
    pace: _Pace,
) -> list[Counted]:
    """Count among draws, here and by workers; what is remembered is shared by the subject."""
    parts: list[Counted] = []
    effort = pace.effort
    while start < stop:
        draws = stop - start
        here = draws
        if is_shared_whole(count.subject):
            here = effort.here(draws, workers, count)
        if not here:
            return parts + _shared_wave(count, start, stop, workers, effort)
        began = time.perf_counter()
        parts.append(count((start, start + here)))
        effort.learn(here, time.perf_counter() - began)
        start += here
    return parts


def _shared_wave(
    count: Count, start: int, stop: int, workers: Workers, effort: Effort
) -> list[Counted]:
    pieces = effort.pieces(stop - start, workers.width)
    edges = np.linspace(start, stop, pieces + 1).astype(int).tolist()
    parts = workers.map(count, list(pairwise(edges)))
    count.subject.asked += sum(part.asked for part in parts)
    count.subject.executed += sum(part.executed for part in parts)
    return parts


def _share(plan: Plan | ExcessPlan, look: _Look, most: int | None) -> float | None:
    """Return about how far a run is, as the larger of the shares of its margin and its budget."""
    shares = [look.n / most] if most else []
    if plan.margin is not None:
        value = plan.value(look.hits, look.n)
        variance = max(value * (1 - value), 1 / look.n)
        shares.append(min(1.0, look.n * (plan.margin / 2) ** 2 / variance))
    return max(shares, default=None)
