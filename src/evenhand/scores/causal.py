"""The causal question: for how many inputs does changing only some features change the outcome
(Def. 3.7)?
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np

from evenhand.population.samplers import Draws
from evenhand.runtime import number_text
from evenhand.runtime.errors import UsageError
from evenhand.scores.enumeration import causal as exact_causal
from evenhand.scores.question import Question, Score, tests_of
from evenhand.scores.sampling_loop import CASES, sample
from evenhand.scores.twins import ROWS, Causal, twins_of
from evenhand.statistics import confidence_sequences, intervals
from evenhand.statistics.estimate import Estimate, StopReason
from evenhand.statistics.stopping import Plan

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from evenhand.population.rows import Rows
    from evenhand.results.evidence import Group
    from evenhand.runtime.budget import Meter
    from evenhand.runtime.workers import Workers
    from evenhand.scores.question import Terms
    from evenhand.scores.test_suite import Tests
    from evenhand.space.feature import Points


@dataclass(frozen=True)
class CausalQuestion(Question):
    """For how many inputs does changing only these features change the outcome (Def. 3.7)?"""

    kind = "causal"

    def _count(self, draws: Draws | None = None, *, whole: bool = False) -> Causal:
        return Causal(self.view, draws, self.names, whole)  # type: ignore[arg-type]

    @property
    def cost(self) -> int:
        """Inputs asked per draw, at most."""
        return self._count().cost

    def per_row(self, sampler: Rows) -> int:
        """Return the inputs asked per given row: with twins from the rows, only itself."""
        return 1 if sampler.twins == "rows" else self.cost

    def enumerated(self, points: Points, population: str, meter: Meter, *, keep: bool) -> Score:
        """Answer from every input there is, which are counted as spent."""
        return self._among(points, None, population, keep=keep)

    def _among(
        self, points: Points, weights: NDArray[Any] | None, population: str, *, keep: bool
    ) -> Score:
        """Answer from points that are each other's only twins."""
        hits, ids, cases = exact_causal(self.view, points, self.view.decide(points), self.names)
        tests = [tests_of(self, points, ids, np.ones(len(points), dtype=np.bool_))] if keep else []
        return Score(_exactly(hits, weights, population), StopReason.ENUMERATED, cases, tests=tests)

    def tallied(
        self, terms: Terms, points: Points, sampler: Rows, meter: Meter, *, keep: bool
    ) -> Score:
        """Answer from given rows, which are the population or a sample of it, and count what is
        spent.
        """
        population = sampler.population(self.space)
        if sampler.twins == "rows":
            meter.queries += len(points)
            return self._among(
                points, sampler.weights, f"{population}, with twins among them", keep=keep
            )
        count = self._count(whole=keep)
        rows = max(1, ROWS // count.cost)
        parts = [count.count(points[at : at + rows], CASES) for at in range(0, len(points), rows)]
        meter.queries += sum(int(part[1].sum()) for part in parts)
        hits = np.concatenate([part[0] for part in parts])
        cases = [case for part in parts for _, case in part[2]][:CASES]
        tests = [self._kept(points)] if keep else []
        if sampler.sample_of is None:
            estimate = _exactly(hits, sampler.weights, population)
        else:
            estimate = self._estimate(hits, terms, population)
        return Score(estimate, StopReason.ENUMERATED, cases, tests=tests)

    def _estimate(self, hits: NDArray[Any], terms: Terms, population: str) -> Estimate:
        total, n = float(hits.sum()), len(hits)
        find = confidence_sequences.mixture if self.view.graded else intervals.clopper_pearson
        low, high = find(total, n, terms.share)
        value = total / n
        method = "anytime" if self.view.graded else "exact"
        return Estimate(
            value,
            min(float(low), value),
            max(float(high), value),
            n,
            terms.share,
            method,
            population,
        )

    def sampled(self, terms: Terms, meter: Meter, workers: Workers, *, keep: bool) -> Score:
        """Answer by drawing until the plan stops."""
        interval = terms.interval
        if (
            self.view.graded
        ):  # distances are no counts of hits, and only this interval holds for them
            if interval not in (None, "anytime"):
                raise UsageError(
                    f"interval = {interval!r} is for outcomes that differ or not; leave it out for"
                    " a distance"
                )
            interval = "anytime"
        plan = Plan(
            terms.share, terms.margin, terms.limit, interval, terms.sampler.population(self.space)
        )
        draws = Draws(terms.sampler, self.space, terms.seed, *self.stream)
        count = self._count(draws, whole=keep)
        found = sample(plan, count, cost=count.cost, meter=meter, workers=workers, task=self.task)
        tests = [self._kept(draws.take(0, found.draws))] if keep else []
        return Score(found.estimate, found.stop, found.cases, tests=tests)

    def _kept(self, points: Points) -> Tests:
        """Return every variant of every point as tests, asking again only what is not remembered."""
        twins = twins_of(self.view, points, self.names)
        variants = np.concatenate([points, twins.variants])
        draw = np.tile(np.arange(len(points)), len(twins.variants) // len(points) + 1)
        own = np.arange(len(variants)) < len(points)
        same = np.r_[
            np.zeros(len(points), dtype=np.bool_),
            (twins.variants == points[draw[len(points) :]]).all(axis=1),
        ]
        wanted = self.space.valid(variants) & ~same
        return tests_of(self, np.asfortranarray(variants[wanted]), draw[wanted], own[wanted])

    def claim(self, estimate: Estimate, groups: tuple[Group, ...]) -> str:
        """Say in a sentence what was found."""
        what, score = self.view.name or "the outcome", number_text.percent(estimate.value)
        if self.view.graded:
            return (
                f"changing only {' and '.join(self.names)} moves {what} by up to {score} on average"
            )
        by = "" if self.view.differs is None else f" by more than {self.view.differs:g}"
        return f"changing only {' and '.join(self.names)} changes {what} of {score} of inputs{by}"


def _exactly(hits: NDArray[Any], weights: NDArray[Any] | None, population: str) -> Estimate:
    """Return the score of a whole population, whose interval has width zero."""
    if weights is None:
        return Estimate.exact(float(hits.sum()), len(hits), population=population)
    value = float((hits * weights).sum() / weights.sum())
    return Estimate(value, value, value, len(hits), 1.0, "enumerated", population)
