"""Sample until decided: the loop between a sampler and an estimate.

Its outcome is the same for any batch size and number of workers. Draws are numbered, and the plan
looks at them at fixed numbers. Cheap subjects are asked ahead in large batches, expensive ones
exactly up to the next look; either way the estimate rests on the draws up to the look that stopped
it.
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
from evenhand.subject.answers_seen import MOST, first_answers

if TYPE_CHECKING:
    from collections.abc import Iterator

    from numpy.typing import NDArray

    from evenhand.population.samplers import Draws
    from evenhand.results.evidence import Case
    from evenhand.runtime.budget import Meter
    from evenhand.runtime.workers import Workers
    from evenhand.statistics.estimate import Estimate
    from evenhand.statistics.stopping import Plan
    from evenhand.subject.subject import Subject

CASES = 3
"""Cases shown with each finding."""
CHECKED = 32
"""Inputs that are asked twice to see whether the subject is deterministic."""
WAVE_SECONDS = 0.2
"""How much work is always worth asking ahead of the next look, in seconds per worker."""
MOST_AHEAD = 131_072
"""The most draws that are asked ahead, per worker."""
FIRST_WAVE = 256
"""Draws asked at once to begin with."""
NEARLY = 1.02
"""How far beyond its likely end a run is asked ahead."""
GROWTH = 8
"""How many times as large a wave may be as the one before it.

Early ones tell little of what a draw costs.
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
    plan: Plan,
    count: Count,
    *,
    cost: int,
    meter: Meter,
    workers: Workers,
    task: str,
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
    """
    if math.isinf(meter.left):
        most = None
    else:
        most = int(meter.left // cost)
    if most == 0:
        raise UsageError(
            f"budget: {int(meter.left):,} queries are left, but one draw takes {cost:,}; raise"
            " queries"
        )
    hits = _Hits()
    looks = _Looks(plan.looks(most))
    pace = _Pace(expensive=count.subject.adapter.expensive, width=workers.width)
    seen: _Look | None = None
    try:
        while True:
            stop = pace.until(hits.n, looks.next, most)
            hits.add(_wave(count, hits.n, stop, workers, pace))
            seen = _first_stop(plan, hits, looks.upto(hits.n), cost)
            judgement = plan.judge(seen.hits, seen.n, last=seen.n == most)
            reason = judgement.stop
            if reason is None and meter.late:
                judgement = plan.judge(seen.hits, seen.n, last=True)
                reason = StopReason.SECONDS
            share = _share(plan, judgement.estimate, seen.n, most)
            meter.report(task, share, f"{seen.asked:,} inputs")
            pace.expect(seen.n / share if share else math.inf)
            if reason is not None:
                break
    except KeyboardInterrupt:
        if seen is None:
            raise
        judgement = plan.judge(seen.hits, seen.n, last=True)
        reason = StopReason.INTERRUPTED
    meter.queries += seen.asked
    return Outcome(
        judgement.estimate,
        reason,
        hits.cases(seen.n),
        seen.n,
        seen.hits,
        hits.answers(seen.n),
    )


@dataclass(frozen=True, slots=True)
class _Look:
    """A look at the first n draws."""

    n: int
    hits: Any
    asked: int
    """How many inputs they asked for."""


def _first_stop(plan: Plan, hits: _Hits, sizes: list[int], cost: int) -> _Look:
    """Return the first of some looks at which the plan stops, or else the last."""
    counts = hits.at(sizes)
    number = min(int(plan.first_stop(counts, sizes)), len(sizes) - 1)
    n = sizes[number]
    return _Look(n, counts[number], hits.cost(n, cost))


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
    """The running sums up to each draw of the last wave.

    Earlier waves have been looked at and are not needed again.
    """

    def __init__(self) -> None:
        self.n = 0
        self._start = 0
        self._sums: NDArray[np.float64] = np.zeros(0)
        self._witnesses: list[tuple[int, Case]] = []
        self._answers: dict[Any, int] = {}
        self._asked_before = 0
        self._asked: NDArray[np.int64] | None = None

    def cost(self, n: int, each: int) -> int:
        """Return what the first n draws asked for, which end within the last wave."""
        if self._asked is None:
            return n * each
        return self._asked_before + int(self._asked[n - self._start - 1])

    def at(self, sizes: list[int]) -> NDArray[np.float64]:
        """Return the hits so far at each of these sizes, all within the last wave."""
        places = np.asarray(sizes) - self._start - 1
        return np.asarray(self._sums[places])

    def cases(self, n: int) -> tuple[Case, ...]:
        """Return the first cases among the first n draws."""
        cases = [case for number, case in self._witnesses if number < n]
        return tuple(cases[:CASES])

    def answers(self, n: int) -> tuple[Any, ...]:
        """Return the different answers to the first n draws."""
        first_draw = sorted(self._answers.items(), key=itemgetter(1))
        return tuple(answer for answer, number in first_draw if number < n)

    def add(self, parts: list[Counted]) -> None:
        """Put a new wave in the place of the last one."""
        before = self._sums[-1:]
        if self._asked is not None:
            self._asked_before += int(self._asked[-1])
        costs = [part.costs for part in parts if part.costs is not None]
        if costs:
            self._asked = np.cumsum(np.concatenate(costs))
        else:
            self._asked = None
        self._start = self.n
        hits = np.concatenate([part.hits for part in parts])
        # The sums go on from those before, one number at a time: scores then add up to the same
        # digits however many are asked at once, which follows the clock.
        if len(before):
            going_on = np.concatenate([before, hits])
        else:
            going_on = hits
        sums = np.cumsum(going_on, axis=0, dtype=np.float64)
        self._sums = sums[len(before) :]
        self.n += len(self._sums)
        for part in parts:
            if len(self._witnesses) < CASES:
                self._witnesses += part.witnesses
            for number, answer in part.answers:
                if len(self._answers) < MOST:
                    self._answers.setdefault(answer, number)


class _Pace:
    """How far to ask ahead.

    It follows the clock, which may change what a run costs but never what it finds.
    """

    def __init__(self, *, expensive: bool, width: int) -> None:
        self.expensive = expensive
        # Expensive subjects run processes or requests of their own side by side.
        self.width = 1 if expensive else width
        self._began = time.perf_counter()
        self._seconds: float | None = None
        self._ahead = 0 if expensive else FIRST_WAVE
        self._end = math.inf

    def until(self, start: int, look: int, most: int | None) -> int:
        """Return the draw up to which to ask next: at least to the next look."""
        stop = look
        if not self.expensive:
            ahead = int(min(start + self._ahead, NEARLY * self._end))
            stop = max(look, ahead)
        if most is None:
            return stop
        return min(stop, most)

    def expect(self, end: float) -> None:
        """Note where the run is likely to end: what is asked beyond that is asked in vain."""
        self._end = end if end > 0 else math.inf

    def spread(self, draws: int) -> bool:
        """Return whether a wave is enough work to share it."""
        if self.width == 1 or self._seconds is None:
            return False
        return draws >= self.width and draws * self._seconds >= WAVE_SECONDS

    def learn(self, draws: int, seconds: float, *, width: int) -> None:
        """Note how long a wave took."""
        self._seconds = seconds * width / draws
        # A wave may take a tenth of what the run has taken so far: that bounds what is asked in
        # vain.
        allowed = max(WAVE_SECONDS, (time.perf_counter() - self._began) / 10)
        affordable = int(allowed / max(self._seconds, 1e-9))
        wanted = min(affordable, MOST_AHEAD) * self.width
        self._ahead = min(wanted, GROWTH * draws)


def _wave(
    count: Count,
    start: int,
    stop: int,
    workers: Workers,
    pace: _Pace,
) -> list[Counted]:
    began = time.perf_counter()
    if pace.spread(stop - start):
        edges = np.linspace(start, stop, workers.width + 1).astype(int).tolist()
        parts = workers.map(count, list(pairwise(edges)))
        count.subject.asked += sum(part.asked for part in parts)
        count.subject.executed += sum(part.executed for part in parts)
    else:
        parts = [count((start, stop))]
    pace.learn(stop - start, time.perf_counter() - began, width=len(parts))
    return parts


def _share(plan: Plan, estimate: Estimate, look: int, most: int | None) -> float | None:
    """Return how far a run is, as the larger of the shares of its margin and of its budget."""
    shares = [look / most] if most else []
    if plan.margin is not None:
        reached = max(estimate.high - estimate.value, estimate.value - estimate.low)
        shares.append(min(1.0, (plan.margin / max(reached, 1e-12)) ** 2))
    return max(shares, default=None)
