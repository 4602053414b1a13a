"""The causal question: for how many inputs does changing only some features change the outcome?

The score is that of Themis (Definition 3.7).
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from functools import cached_property
from typing import TYPE_CHECKING, Any

import numpy as np

from evenhand.population.census import MOST_SHUFFLED, Census, CensusDraws
from evenhand.population.samplers import Draws, Uniform
from evenhand.runtime import number_text
from evenhand.runtime.errors import UsageError
from evenhand.scores.chance.watch import held_back
from evenhand.scores.enumeration import AT_ONCE, EXHAUSTIBLE, SMALL, whole
from evenhand.scores.enumeration import causal as exact_causal
from evenhand.scores.planning.plans import causal_plan
from evenhand.scores.question import Question, Score, rate_evidence, tests_of
from evenhand.scores.sampling_loop import CASES, sample
from evenhand.scores.twins import ROWS, Causal, twins_of
from evenhand.statistics import intervals
from evenhand.statistics.estimate import Estimate, StopReason
from evenhand.statistics.sequential import confidence_sequences
from evenhand.subject.answers_seen import AnswersSeen, different

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from evenhand.population.rows import Rows
    from evenhand.results.evidence import Case, Group
    from evenhand.runtime.budget import Meter
    from evenhand.runtime.workers import Workers
    from evenhand.scores.question import Terms
    from evenhand.scores.test_suite import Tests
    from evenhand.space.feature import Points
    from evenhand.statistics.sequential.stopping import Plan


@dataclass(frozen=True)
class CausalQuestion(Question):
    """For how many inputs does changing only these features change the outcome (Def. 3.7)?"""

    kind = "causal"

    def _count(
        self, draws: Draws | CensusDraws | None = None, *, whole: bool = False
    ) -> Causal:
        return Causal(self.view, draws, self.names, whole)  # type: ignore[arg-type]

    @property
    def cost(self) -> int:
        """Inputs asked per draw, at most."""
        return self._count().cost

    def per_row(self, sampler: Rows) -> int:
        """Return the inputs asked per given row: with twins from the rows, only itself."""
        if sampler.twins == "rows":
            return 1
        return self.cost

    def enumerated(
        self,
        terms: Terms,
        points: Points,
        population: str,
        meter: Meter,
        *,
        keep: bool,
    ) -> Score:
        """Answer from every input there is, which are counted as spent."""
        weights = self.space.weights(points)
        return self._among(points, weights, population, meter, keep=keep)

    def _among(
        self,
        points: Points,
        weights: NDArray[Any] | None,
        population: str,
        meter: Meter,
        *,
        keep: bool,
    ) -> Score:
        """Answer from points that are each other's only twins."""
        outcomes = self.view.decide(points)
        hits, ids, cases = exact_causal(self.view, points, outcomes, self.names)
        self._look_again(points, outcomes, hits, meter)
        tests = []
        if keep:
            own = np.ones(len(points), dtype=np.bool_)
            tests = [tests_of(self, points, ids, own)]
        estimate = _exactly(hits, weights, population)
        answers = different(outcomes)
        return Score(estimate, StopReason.ENUMERATED, cases, tests=tests, answers=answers)

    def _look_again(
        self, points: Points, outcomes: NDArray[Any], hits: NDArray[Any], meter: Meter
    ) -> None:
        """Let the watch on the run, if there is one, ask some of the points again."""
        watch = self.view.subject.watch
        if watch is None:
            return
        chosen = watch.draws(0, len(points)) | watch.hits(hits, 0)
        rows = np.flatnonzero(chosen)[: int(min(meter.left, len(points)))]
        if len(rows):
            # Some are chosen for their answers.
            watch.confirm(points[rows], outcomes[rows], self.view.name)
        meter.queries += len(rows)

    def tallied(
        self,
        terms: Terms,
        points: Points,
        sampler: Rows,
        meter: Meter,
        *,
        keep: bool,
    ) -> Score:
        """Answer from given rows, which are the population or a sample of it."""
        population = sampler.population(self.space)
        if sampler.twins == "rows":
            meter.queries += len(points)
            population = f"{population}, with twins among them"
            return self._among(points, sampler.weights, population, meter, keep=keep)
        count = self._count(whole=keep)
        rows = max(1, ROWS // count.cost)
        hits = []
        cases: list[Case] = []
        seen = AnswersSeen()
        # Where the budget just allows for all rows, none of them is asked again.
        affordable = meter.left > 2 * count.cost * len(points)
        for start in range(0, len(points), rows):
            watched_from = start if affordable else None
            part = count.count(points[start : start + rows], CASES, start=watched_from)
            hits.append(part.hits)
            cases += [case for _, case in part.cases]
            seen.merge(answer for _, answer in part.answers)
            meter.queries += int(part.asked.sum())
        all_hits = np.concatenate(hits)
        against = None
        if sampler.sample_of is None:
            estimate = _exactly(all_hits, sampler.weights, population)
        else:
            estimate = self._estimate(all_hits, terms, population)
            against = rate_evidence(terms, estimate, fixed=not self.view.graded)
        tests = [self._kept(points)] if keep else []
        return Score(
            estimate,
            StopReason.ENUMERATED,
            cases[:CASES],
            tests=tests,
            answers=seen.answers,
            against=against,
        )

    def _estimate(self, hits: NDArray[Any], terms: Terms, population: str) -> Estimate:
        """Return the score of a population from a sample of it."""
        n = len(hits)
        total = float(hits.sum())
        graded = self.view.graded
        # Distances are no counts of hits, and only this interval holds for them.
        interval = confidence_sequences.mixture if graded else intervals.clopper_pearson
        method = "anytime" if graded else "exact"
        low, high = interval(total, n, terms.share)
        value = total / n
        lowest = min(float(low), value)
        highest = max(float(high), value)
        return Estimate(value, lowest, highest, n, terms.share, method, population)

    @cached_property
    def census(self) -> Census | None:
        """Everybody there is, where one answer for all who differ only in these features will do.

        It will where outcomes differ or not: a person whose outcome changes with these features is
        then changed whatever they are to begin with.
        """
        if self.view.differs is not None:
            return None
        return Census.of(self.space, self.names, self.view.subject.unread)

    def sampled(self, terms: Terms, meter: Meter, workers: Workers, *, keep: bool) -> Score:
        """Answer by drawing until the plan stops."""
        plan = self._plan(terms)
        draws: Draws | CensusDraws
        if plan.size is None or self.census is None:
            draws = Draws(terms.sampler, self.space, terms.seed, *self.stream)
        else:
            draws = CensusDraws(self.census, terms.seed, *self.stream)
        count = self._count(draws, whole=keep)
        with held_back(self.view.subject, meter, count.cost):
            found = sample(
                plan,
                count,
                cost=count.cost,
                meter=meter,
                workers=workers,
                task=self.task,
                enough=terms.enough_draws(count.cost),
            )
        if keep:
            tests = [self._kept(draws.take(0, found.draws))]
        else:
            tests = []
        return Score(
            found.estimate,
            found.stop,
            found.cases,
            tests=tests,
            answers=found.answers,
            against=rate_evidence(terms, found.estimate, size=plan.size),
        )

    def fewest(self, terms: Terms) -> int:
        """Return the fewest inputs that drawing takes: those of software that treats all alike."""
        plan = replace(self._plan(terms), size=None)
        draws = next(n for n in plan.looks(SMALL) if plan.judge(0, n, last=n == SMALL).stop)
        return draws * self.cost

    def expected(self, terms: Terms, score: float, most: int | None) -> float | None:
        """Return how many inputs drawing takes on average where the score is so."""
        from evenhand.scores.planning.runs import rate_runs  # imported where it is used

        return rate_runs(self._plan(terms), score, most).mean_draws * self.cost

    def most(self, terms: Terms) -> int | None:
        """Return the most inputs that drawing ever takes; None where no number is known."""
        from evenhand.scores.planning.questions import (
            most_draws,  # imported where it is used
        )

        draws = most_draws(self._plan(terms))
        return None if draws is None else draws * self.cost

    def exhausted(self, terms: Terms, meter: Meter) -> Score:
        """Answer from every input there is, some at a time, where they are too many to list."""
        if self.census is None:
            points = whole(self.space, self.names, EXHAUSTIBLE, self.view.subject.unread)
            meter.queries += len(points)
            population = terms.sampler.population(self.space)
            return self.enumerated(terms, points, population, meter, keep=False)
        draws = CensusDraws(self.census, terms.seed, *self.stream, shuffled=False)
        count = self._count(draws)
        size = int(self.census.size)
        hits = 0
        cases: list[Case] = []
        seen = AnswersSeen()
        for start in range(0, size, AT_ONCE):
            part = count((start, min(start + AT_ONCE, size)))
            hits += int(part.hits.sum())
            cases += [case for _, case in part.witnesses]
            seen.merge(answer for _, answer in part.answers)
            meter.queries += part.asked
        population = terms.sampler.population(self.space)
        estimate = Estimate.exact(hits, size, population=population)
        return Score(estimate, StopReason.ENUMERATED, cases[:CASES], answers=seen.answers)

    def _plan(self, terms: Terms) -> Plan:
        """Return when to stop: as soon as it is decided, or where answers are cheap, precise."""
        interval = self._interval(terms)
        return causal_plan(
            terms,
            expensive=self.view.subject.adapter.expensive,
            variants=self.cost,
            interval=interval,
            population=terms.sampler.population(self.space),
            size=self._size(terms, interval),
        )

    def _size(self, terms: Terms, interval: str | None) -> int | None:
        """Return how many there are to draw from, where nobody is drawn twice."""
        by_default = terms.exact is None and interval is None
        if not isinstance(terms.sampler, Uniform) or not by_default:
            return None
        if self.census is None or self.census.size > MOST_SHUFFLED:
            return None
        return int(self.census.size)

    def _interval(self, terms: Terms) -> str | None:
        if not self.view.graded:
            return terms.interval
        if terms.interval not in (None, "anytime"):
            raise UsageError(
                f"interval = {terms.interval!r} is for outcomes that differ or not; leave it out"
                " for a distance"
            )
        # Distances are no counts of hits, and only this interval holds for them.
        return "anytime"

    def _kept(self, points: Points) -> Tests:
        """Return every variant of every point as tests.

        Only what is not remembered is asked again.
        """
        n = len(points)
        twins = twins_of(self.view, points, self.names)
        variants = np.concatenate([points, twins.variants])
        draw = np.tile(np.arange(n), len(variants) // n)
        own = np.arange(len(variants)) < n
        # Among its variants a point comes again, which is left out.
        repeats = np.zeros(len(variants), dtype=np.bool_)
        repeats[n:] = (twins.variants == points[draw[n:]]).all(axis=1)
        wanted = self.space.valid(variants) & ~repeats
        return tests_of(
            self, np.asfortranarray(variants[wanted]), draw[wanted], own[wanted]
        )

    def claim(self, estimate: Estimate, groups: tuple[Group, ...]) -> str:
        """Return what was found, as a sentence."""
        names = " and ".join(self.names)
        outcome = self.view.name or "the outcome"
        score = number_text.percent(estimate.value)
        if self.view.graded:
            return f"changing only {names} moves {outcome} by up to {score} on average"
        if self.view.differs is None:
            return f"changing only {names} changes {outcome} of {score} of inputs"
        least = f"{self.view.differs:g}"
        return f"changing only {names} changes {outcome} of {score} of inputs by more than {least}"


def _exactly(hits: NDArray[Any], weights: NDArray[Any] | None, population: str) -> Estimate:
    """Return the score of a whole population, whose interval has width zero."""
    if weights is None:
        return Estimate.exact(float(hits.sum()), len(hits), population=population)
    value = float((hits * weights).sum() / weights.sum())
    return Estimate(value, value, value, len(hits), 1.0, "enumerated", population)
