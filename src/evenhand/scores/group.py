"""The group question: how far apart are groups in how often they get the favourable outcome (Def.
3.5, 3.6)?
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from functools import cached_property
from typing import TYPE_CHECKING, Any

import numpy as np

from evenhand.population.samplers import Uniform
from evenhand.runtime import number_text
from evenhand.runtime.errors import UsageError, clip
from evenhand.scores.group_rates import TRIED, GroupCount, Tally, inhabited, moved
from evenhand.scores.groups import Groups
from evenhand.scores.question import Question, Score, tests_of
from evenhand.scores.sampling_loop import sample
from evenhand.statistics.estimate import StopReason
from evenhand.statistics.group_stopping import SpreadPlan
from evenhand.statistics.stopping import Plan

if TYPE_CHECKING:
    from collections.abc import Sequence

    from numpy.typing import NDArray

    from evenhand.population.rows import Rows
    from evenhand.results.evidence import Case, Group
    from evenhand.runtime.budget import Meter
    from evenhand.runtime.workers import Workers
    from evenhand.scores.question import Terms
    from evenhand.scores.test_suite import Tests
    from evenhand.space.feature import Points
    from evenhand.statistics.estimate import Estimate


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

    def enumerated(self, points: Points, population: str, meter: Meter, *, keep: bool) -> Score:
        """Answer from every input there is, which are counted as spent."""
        return self._exact(points, None, population, meter, keep=keep)

    def tallied(
        self, terms: Terms, points: Points, sampler: Rows, meter: Meter, *, keep: bool
    ) -> Score:
        """Answer from given rows, which are the population or a sample of it, and count what is
        spent.
        """
        population = sampler.population(self.space)
        meter.queries += len(points)
        if sampler.sample_of is None:
            return self._exact(points, sampler.weights, population, meter, keep=keep)
        amounts = self._amounts(points)
        tally = Tally.of(self.groups, points, amounts)
        # A group that no input can be in says nothing, seen or not.
        unseen = sorted(
            set(np.flatnonzero(~Uniform().empty(self.groups)).tolist()) - set(tally.members)
        )
        graded = not self.view.counts
        estimate = tally.sampled(terms.share, population, graded=graded, empty=len(unseen))
        listed = tally.listed(terms.level, population, method="anytime" if graded else "exact")
        notes = self._unseen(unseen, "may be treated in any way, which leaves the score undecided")
        cases = self._shown(tally, points, amounts, meter)
        return Score(
            estimate, StopReason.ENUMERATED, cases, listed, self._kept(points, keep=keep), notes
        )

    def _exact(
        self,
        points: Points,
        weights: NDArray[Any] | None,
        population: str,
        meter: Meter,
        *,
        keep: bool,
    ) -> Score:
        amounts = self._amounts(points)
        tally = Tally.of(self.groups, points, amounts, weights)
        estimate = tally.exact(population, len(points))
        listed = tally.listed(1.0, population, method="enumerated")
        unseen = sorted(set(range(len(self.groups))) - set(tally.members))
        notes = self._unseen(unseen, "the score says nothing of them")
        cases = self._shown(tally, points, amounts, meter)
        return Score(
            estimate, StopReason.ENUMERATED, cases, listed, self._kept(points, keep=keep), notes
        )

    def _amounts(self, points: Points) -> NDArray[np.float64]:
        return self.view.amount(self.view.decide(points))

    def _unseen(self, missing: Sequence[int], meaning: str) -> list[str]:
        if not missing:
            return []
        first = ", ".join(
            f"{name} {value}" for name, value in self.groups.label(missing[0]).items()
        )
        return [
            f"{len(missing):,} of {len(self.groups):,} groups of {' and '.join(self.names)} are"
            f" empty, such as {clip(first)}; {meaning}"
        ]

    def _shown(
        self, tally: Tally, points: Points, amounts: NDArray[np.float64], meter: Meter
    ) -> Sequence[Case]:
        """Move some of the best group who get the favourable outcome to the worst, and show who
        loses it.
        """
        best, worst = int(np.argmax(tally.rates)), int(np.argmin(tally.rates))
        if not self.view.counts or tally.rates[best] == tally.rates[worst]:
            return []
        tried = int(min(TRIED, meter.left // 2))
        good = (self.groups.of(points) == tally.members[best]) & (amounts > 0)
        mine = points[good][:tried]
        cases, asked = moved(self.view, self.groups, mine, tally.members[worst])
        meter.queries += asked
        return cases

    def sampled(self, terms: Terms, meter: Meter, workers: Workers, *, keep: bool) -> Score:
        """Answer by drawing from each group until the plan stops."""
        members = inhabited(self.groups, terms.sampler.empty(self.groups))
        count = GroupCount.of(self.view, self.groups, members, terms.sampler, terms.seed)
        if terms.interval == "wald":
            return self._paper(terms, count, meter, workers, keep=keep)
        population = terms.sampler.population(self.space)
        interval = terms.interval if self.view.counts or terms.interval else "anytime"
        plan = SpreadPlan(
            terms.share, terms.margin, terms.limit, interval, population, groups=len(members)
        )
        found = sample(plan, count, cost=count.cost, meter=meter, workers=workers, task=self.task)
        sizes = np.full(len(members), found.draws)
        tally = Tally(
            self.groups, members, np.asarray(found.hits, dtype=float), sizes.astype(float)
        )
        listed = tally.listed(terms.level, population, method="anytime")
        cases, asked = count.cases(tally.rates) if meter.left >= 2 * TRIED else ([], 0)
        meter.queries += asked
        unseen = sorted(set(range(len(self.groups))) - set(members))
        notes = self._unseen(unseen, "the score says nothing of them")
        return Score(
            found.estimate, found.stop, cases, listed, self._drawn(count, sizes, keep=keep), notes
        )

    def _paper(
        self, terms: Terms, count: GroupCount, meter: Meter, workers: Workers, *, keep: bool
    ) -> Score:
        """Follow the paper's Algorithm 1: each group by itself until Wald's formula is within the
        margin.
        """
        population = terms.sampler.population(self.space)
        plan = Plan(terms.share, terms.margin, None, "wald", population)
        counts = [
            replace(count, members=(one,), draws=(draws,))
            for one, draws in zip(count.members, count.draws, strict=True)
        ]
        if meter.left < len(counts):
            raise UsageError(
                f"budget: {int(meter.left):,} queries are left, but one draw from each group takes"
                f" {len(counts):,}; raise queries"
            )
        found = []
        for number, one in enumerate(counts):
            part = meter.share(len(counts) - number)
            found.append(sample(plan, one, cost=1, meter=part, workers=workers, task=self.task))
            meter.queries += part.queries
            if found[-1].stop is StopReason.INTERRUPTED:
                raise KeyboardInterrupt  # a score needs all groups
        sizes = np.array([each.draws for each in found])
        hits = np.array([float(np.sum(each.hits)) for each in found])
        tally = Tally(self.groups, count.members, hits, sizes.astype(float))
        stop = min((each.stop for each in found), key=lambda stop: stop is StopReason.MARGIN)
        listed = tally.listed(terms.level, population, method="wald")
        return Score(
            tally.wald(terms.share, population),
            stop,
            (),
            listed,
            self._drawn(count, sizes, keep=keep),
        )

    def _drawn(self, count: GroupCount, sizes: NDArray[Any], *, keep: bool) -> list[Tests]:
        if not keep:
            return []
        points = np.concatenate(
            [draws.take(0, size) for draws, size in zip(count.draws, sizes.tolist(), strict=True)]
        )
        number = np.concatenate([np.arange(size) for size in sizes.tolist()])
        return [
            tests_of(self, np.asfortranarray(points), number, np.ones(len(points), dtype=np.bool_))
        ]

    def _kept(self, points: Points, *, keep: bool) -> list[Tests]:
        own = np.ones(len(points), dtype=np.bool_)
        return [tests_of(self, points, np.arange(len(points)), own)] if keep else []

    def claim(self, estimate: Estimate, groups: tuple[Group, ...]) -> str:
        """Say in a sentence what was found."""
        best = max(groups, key=lambda group: group.estimate.value)
        worst = min(groups, key=lambda group: group.estimate.value)
        high, low = (
            number_text.percent(best.estimate.value),
            number_text.percent(worst.estimate.value),
        )
        what = self.view.favoured
        if best.estimate.value == worst.estimate.value:
            each = f"{high} get {what}" if self.view.counts else f"{what} is {high} on average"
            return f"{each} in every group of {' and '.join(self.names)}"
        if not self.view.counts:
            return f"{what} is {high} on average for {best}, {low} for {worst}"
        return f"{high} of {best} get {what}, {low} of {worst}"
