"""The group question: how far apart are groups in how often they get the favourable outcome?

The score is that of Themis (Definitions 3.5 and 3.6).
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from functools import cached_property
from typing import TYPE_CHECKING, Any

import numpy as np

from evenhand.population.samplers import Uniform
from evenhand.runtime import number_text
from evenhand.runtime.errors import UsageError, clip
from evenhand.runtime.interruption import Interruption
from evenhand.scores.enumeration import SMALL, parts
from evenhand.scores.groups import Groups
from evenhand.scores.planning.plans import group_plan
from evenhand.scores.question import Question, Score, spread_evidence, tests_of
from evenhand.scores.rates.groups import (
    TRIED,
    GroupCount,
    Tally,
    inhabited,
    moved,
    paired,
)
from evenhand.scores.rates.paired import PairedCount
from evenhand.scores.sampling_loop import sample
from evenhand.statistics.estimate import StopReason
from evenhand.statistics.sequential.paired_groups import DRAWS, WINS, PairedPlan, most_apart
from evenhand.statistics.sequential.stopping import FIRST_LOOK, Plan
from evenhand.subject.answers_seen import AnswersSeen, different

if TYPE_CHECKING:
    from collections.abc import Sequence

    from numpy.typing import NDArray

    from evenhand.population.rows import Rows
    from evenhand.results.evidence import Case, Group
    from evenhand.runtime.budget import Meter
    from evenhand.runtime.workers import Workers
    from evenhand.scores.question import Terms
    from evenhand.scores.sampling_loop import Outcome
    from evenhand.scores.test_suite import Tests
    from evenhand.space.feature import Points
    from evenhand.statistics.estimate import Estimate
    from evenhand.statistics.sequential.group_stopping import SpreadPlan


@dataclass(frozen=True)
class GroupQuestion(Question):
    """How far apart are groups in how often they get the favourable outcome (Def. 3.5, 3.6)?"""

    kind = "group"

    @cached_property
    def groups(self) -> Groups:
        """The groups that are compared."""
        return Groups(self.space, self.names)

    @property
    def cost(self) -> int:
        """Inputs asked per draw: one from each group."""
        return len(self.groups)

    def per_row(self, sampler: Rows) -> int:
        """Return the inputs asked per given row."""
        return 1

    def enumerated(
        self, terms: Terms, points: Points, population: str, meter: Meter, *, keep: bool
    ) -> Score:
        """Answer from every input there is, which are counted as spent."""
        weights = self.space.weights(points)
        return self._exact(points, weights, population, meter, keep=keep)

    def tallied(
        self, terms: Terms, points: Points, sampler: Rows, meter: Meter, *, keep: bool
    ) -> Score:
        """Answer from given rows, which are the population or a sample of it."""
        population = sampler.population(self.space)
        meter.queries += len(points)
        if sampler.sample_of is None:
            weights = sampler.weights
            alike = sampler.twins == "rows"
            return self._exact(points, weights, population, meter, keep=keep, alike=alike)
        answers = self.view.decide(points)
        amounts = self.view.amount(answers)
        tally = Tally.of(self.groups, points, amounts)
        # A group that no input can be in says nothing, seen or not.
        possible = np.flatnonzero(~Uniform().empty(self.groups)).tolist()
        unseen = sorted(set(possible) - set(tally.members))
        graded = not self.view.counts
        method = "anytime" if graded else "exact"
        return Score(
            tally.sampled(terms.share, population, graded=graded, empty=len(unseen)),
            StopReason.ENUMERATED,
            self._lost(tally, points, answers, meter),
            tally.listed(terms.level, population, method=method),
            self._kept(points, keep=keep),
            self._unseen(
                unseen, "may be treated in any way, which leaves the score undecided"
            ),
            different(answers),
            against=spread_evidence(
                terms, tally.hits, tally.sizes, fixed=not graded, empty=len(unseen)
            ),
        )

    def _exact(
        self,
        points: Points,
        weights: NDArray[Any] | None,
        population: str,
        meter: Meter,
        *,
        keep: bool,
        alike: bool = False,
    ) -> Score:
        answers = self.view.decide(points)
        amounts = self.view.amount(answers)
        tally = Tally.of(self.groups, points, amounts, weights)
        unseen = sorted(set(range(len(self.groups))) - set(tally.members))
        return Score(
            tally.exact(population, len(points)),
            StopReason.ENUMERATED,
            self._lost(tally, points, answers, meter, alike=alike),
            tally.listed(1.0, population, method="enumerated"),
            self._kept(points, keep=keep),
            self._unseen(unseen, "the score says nothing of them"),
            different(answers),
        )

    def _unseen(self, missing: Sequence[int], meaning: str) -> list[str]:
        if not missing:
            return []
        label = self.groups.label(missing[0])
        example = ", ".join(f"{name} {value}" for name, value in label.items())
        return [
            f"{len(missing):,} of {len(self.groups):,} groups of {' and '.join(self.names)} are"
            f" empty, such as {clip(example)}; {meaning}"
        ]

    def _lost(
        self,
        tally: Tally,
        points: Points,
        answers: NDArray[Any],
        meter: Meter,
        *,
        alike: bool = False,
    ) -> Sequence[Case]:
        """Return cases of the best group that lose the favourable outcome in the worst.

        With `alike`, their twins are others of the points, and nothing is asked.
        """
        best = int(np.argmax(tally.rates))
        worst = int(np.argmin(tally.rates))
        if not self.view.counts or tally.rates[best] == tally.rates[worst]:
            return []
        groups = self.groups.of(points)
        in_best = groups == tally.members[best]
        if alike:
            sides = in_best, groups == tally.members[worst]
            return paired(self.view, self.names, points, answers, sides)
        # Each of them is asked twice: as it is, and moved.
        tried = int(min(TRIED, meter.left // 2))
        favoured = points[in_best & self.view.favourable(answers)]
        cases, asked = moved(self.view, self.groups, favoured[:tried], tally.members[worst])
        meter.queries += asked
        return cases

    def sampled(self, terms: Terms, meter: Meter, workers: Workers, *, keep: bool) -> Score:
        """Answer by drawing from each group until the plan stops."""
        members = inhabited(self.groups, terms.sampler.empty(self.groups))
        count = GroupCount.of(self.view, self.groups, members, terms.sampler, terms.seed)
        if terms.interval == "wald":
            return self._paper(terms, count, meter, workers, keep=keep)
        plan = self._plan(terms, len(members))
        if isinstance(plan, PairedPlan):
            return self._of_the_same(terms, plan, members, meter, workers, keep=keep)
        outcome = sample(
            plan,
            count,
            cost=count.cost,
            meter=meter,
            workers=workers,
            task=self.task,
            enough=terms.enough_draws(count.cost),
        )
        hits = np.asarray(outcome.hits, dtype=float)
        sizes = np.full(len(members), outcome.draws)
        tally = Tally(self.groups, members, hits, sizes.astype(float))
        tests = self._drawn(count, sizes, keep=keep)
        extremes = int(np.argmax(tally.rates)), int(np.argmin(tally.rates))
        score = self._score(terms, outcome, tally, count, extremes, tests, meter)
        return replace(score, against=spread_evidence(terms, tally.hits, tally.sizes))

    def _plan(self, terms: Terms, members: int) -> SpreadPlan | PairedPlan:
        """Return when to stop; groups are asked about the same people where that is fair."""
        return group_plan(
            terms,
            expensive=self.view.subject.adapter.expensive,
            groups=members,
            counts=self.view.counts,
            separate=terms.sampler.separate(self.space, self.names),
            population=terms.sampler.population(self.space),
        )

    def fewest(self, terms: Terms) -> int:
        """Return the fewest inputs that drawing takes: those of software that treats all alike."""
        members = inhabited(self.groups, terms.sampler.empty(self.groups))
        plan = self._plan(terms, len(members))
        if not isinstance(plan, PairedPlan):
            return FIRST_LOOK * len(members)
        before = 0
        alike = None
        for n in plan.looks(SMALL):
            alike = plan.counted(np.zeros((n - before, len(members))), alike)
            if plan.reason(alike, n) is not None:
                return n * len(members)
            before = n
        return SMALL

    def expected(self, terms: Terms, score: float, most: int | None) -> float | None:
        """Return how many inputs drawing takes on average where the score is so."""
        # Imported where they are used.
        from evenhand.scores.planning.runs import SPREAD_RUNS, group_runs

        members = inhabited(self.groups, terms.sampler.empty(self.groups))
        plan = self._plan(terms, len(members))
        expensive = self.view.subject.adapter.expensive
        # A forecast need not be as precise as what `needed` says.
        runs = group_runs(
            plan, score, base=0.5, expensive=expensive, most=most, runs=SPREAD_RUNS
        )
        return runs.mean_inputs

    def exhausted(self, terms: Terms, meter: Meter) -> Score:
        """Answer from every input there is, some at a time, where they are too many to list."""
        tallies = []
        seen = AnswersSeen()
        some: Points | None = None
        for points in parts(self.space, self.names, self.view.subject.unread):
            answers = self.view.decide(points)
            seen.merge(different(answers))
            weights = self.space.weights(points)
            amounts = self.view.amount(answers)
            tallies.append(Tally.of(self.groups, points, amounts, weights))
            meter.queries += len(points)
            some = points if some is None else some
        assert some is not None
        tally = Tally.joined(tallies)
        population = terms.sampler.population(self.space)
        unseen = sorted(set(range(len(self.groups))) - set(tally.members))
        return Score(
            tally.exact(population, int(tally.sizes.sum())),
            StopReason.ENUMERATED,
            self._lost(tally, some, self.view.decide(some), meter),
            tally.listed(1.0, population, method="enumerated"),
            notes=self._unseen(unseen, "the score says nothing of them"),
            answers=seen.answers,
        )

    def _of_the_same(
        self,
        terms: Terms,
        plan: PairedPlan,
        members: tuple[int, ...],
        meter: Meter,
        workers: Workers,
        *,
        keep: bool,
    ) -> Score:
        """Answer by asking every group about the same people until the plan stops."""
        count = PairedCount.of(
            self.view, self.groups, members, plan, terms.sampler, terms.seed
        )
        outcome = sample(
            plan,
            count,
            cost=count.cost,
            meter=meter,
            workers=workers,
            task=self.task,
            enough=terms.enough_draws(count.cost),
        )
        sizes = np.diagonal(outcome.hits[DRAWS]).copy()
        hits = np.diagonal(outcome.hits[WINS]).copy()
        tally = Tally(self.groups, members, hits, sizes)
        tests = []
        if keep:
            tests = self._asked_alike(count, sizes.astype(int))
        # These have been asked about the same people most often.
        better, worse = most_apart(outcome.hits)
        extremes = int(better), int(worse)
        score = self._score(terms, outcome, tally, count, extremes, tests, meter)
        return replace(score, against=plan.against(outcome.hits, among=terms.among))

    def _asked_alike(self, count: PairedCount, sizes: NDArray[Any]) -> list[Tests]:
        """Return the inputs of people who were asked as members of every group."""
        points = []
        numbers = []
        for number, size in enumerate(sizes.tolist()):
            points.append(count.inputs(number, size))
            numbers.append(np.arange(size))
        inputs = np.asfortranarray(np.concatenate(points))
        own = np.ones(len(inputs), dtype=np.bool_)
        return [tests_of(self, inputs, np.concatenate(numbers), own)]

    def _score(
        self,
        terms: Terms,
        outcome: Outcome,
        tally: Tally,
        count: GroupCount | PairedCount,
        extremes: tuple[int, int],
        tests: list[Tests],
        meter: Meter,
    ) -> Score:
        """Return what was found among draws, with cases of the extreme groups that show it."""
        cases: list[Case] = []
        best, worst = extremes
        differ = tally.rates[best] > tally.rates[worst]
        if differ and self.view.counts and meter.left >= 2 * TRIED:
            cases, asked = count.cases(best, worst)
            meter.queries += asked
        unseen = sorted(set(range(len(self.groups))) - set(tally.members))
        population = terms.sampler.population(self.space)
        return Score(
            outcome.estimate,
            outcome.stop,
            cases,
            tally.listed(terms.level, population, method="anytime"),
            tests,
            self._unseen(unseen, "the score says nothing of them"),
            outcome.answers,
        )

    def _paper(
        self, terms: Terms, count: GroupCount, meter: Meter, workers: Workers, *, keep: bool
    ) -> Score:
        """Follow Algorithm 1 of Themis: each group by itself until Wald's formula is narrow."""
        population = terms.sampler.population(self.space)
        margins = terms.margins(expensive=False)
        plan = Plan(
            terms.share,
            margins.wanted,
            None,
            "wald",
            population,
            sampling_threshold=terms.sampling_threshold,
        )
        counts = []
        for member, draws in zip(count.members, count.draws, strict=True):
            counts.append(replace(count, members=(member,), draws=(draws,)))
        if meter.left < len(counts):
            raise UsageError(
                f"budget: {int(meter.left):,} queries are left, but one draw from each group takes"
                f" {len(counts):,}; raise queries"
            )
        outcomes = []
        seen = AnswersSeen()
        for number, count_of_group in enumerate(counts):
            part = meter.share(len(counts) - number)
            outcome = sample(
                plan, count_of_group, cost=1, meter=part, workers=workers, task=self.task
            )
            meter.queries += part.queries
            if outcome.stop is StopReason.INTERRUPTED:
                # A score needs all groups.
                raise Interruption
            outcomes.append(outcome)
            seen.merge(outcome.answers)
        sizes = np.array([outcome.draws for outcome in outcomes])
        hits = np.array([float(np.sum(outcome.hits)) for outcome in outcomes])
        tally = Tally(self.groups, count.members, hits, sizes.astype(float))
        # The first reason other than the margin, if there is one.
        stops = [outcome.stop for outcome in outcomes]
        stop = min(stops, key=lambda stop: stop is StopReason.MARGIN)
        return Score(
            tally.wald(terms.share, population),
            stop,
            (),
            tally.listed(terms.level, population, method="wald"),
            self._drawn(count, sizes, keep=keep),
            answers=seen.answers,
        )

    def _drawn(self, count: GroupCount, sizes: NDArray[Any], *, keep: bool) -> list[Tests]:
        if not keep:
            return []
        points = []
        numbers = []
        for draws, size in zip(count.draws, sizes.tolist(), strict=True):
            points.append(draws.take(0, size))
            numbers.append(np.arange(size))
        inputs = np.asfortranarray(np.concatenate(points))
        own = np.ones(len(inputs), dtype=np.bool_)
        return [tests_of(self, inputs, np.concatenate(numbers), own)]

    def _kept(self, points: Points, *, keep: bool) -> list[Tests]:
        if not keep:
            return []
        own = np.ones(len(points), dtype=np.bool_)
        return [tests_of(self, points, np.arange(len(points)), own)]

    def claim(self, estimate: Estimate, groups: tuple[Group, ...]) -> str:
        """Return what was found, as a sentence."""
        best = max(groups, key=lambda group: group.estimate.value)
        worst = min(groups, key=lambda group: group.estimate.value)
        high = number_text.percent(best.estimate.value)
        low = number_text.percent(worst.estimate.value)
        outcome = self.view.favoured
        if best.estimate.value == worst.estimate.value:
            names = " and ".join(self.names)
            if self.view.counts:
                return f"{high} get {outcome} in every group of {names}"
            return f"{outcome} is {high} on average in every group of {names}"
        if not self.view.counts:
            return f"{outcome} is {high} on average for {best}, and {low} for {worst}"
        return f"{high} of {best} get {outcome}, and {low} of {worst}"
