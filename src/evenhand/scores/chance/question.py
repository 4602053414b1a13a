"""The causal question of software with chance in it.

How much more often do twins get different answers than the same input does, asked again?
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np

from evenhand.population.samplers import Draws
from evenhand.runtime import number_text
from evenhand.runtime.errors import UsageError
from evenhand.scores.chance.pairs import ExcessCount
from evenhand.scores.question import Question, Score
from evenhand.scores.sampling_loop import CASES, sample
from evenhand.scores.twins import ROWS
from evenhand.statistics.estimate import StopReason
from evenhand.statistics.sequential.excess import ExcessPlan
from evenhand.statistics.sequential.stopping import FIRST_LOOK
from evenhand.subject.answers_seen import AnswersSeen

if TYPE_CHECKING:
    from collections.abc import Sequence

    from evenhand.population.rows import Rows
    from evenhand.results.evidence import Case, Group
    from evenhand.runtime.budget import Meter
    from evenhand.runtime.workers import Workers
    from evenhand.scores.question import Terms
    from evenhand.space.feature import Points
    from evenhand.statistics.estimate import Estimate

_NOT_EXACT = "software with chance in it has no exact score; leave out exact"


@dataclass(frozen=True)
class ExcessQuestion(Question):
    """For how many inputs does changing only these features change the outcome beyond chance?

    Parameters
    ----------
    repeats
        How often each person and a twin are asked.
    """

    repeats: int = 2

    kind = "causal"

    def _count(self, terms: Terms) -> ExcessCount:
        draws = Draws(terms.sampler, self.space, terms.seed, *self.stream)
        return ExcessCount(self.view, draws, self.names, self.repeats, terms.seed)

    def _plan(self, terms: Terms, count: ExcessCount) -> ExcessPlan:
        expensive = self.view.subject.adapter.expensive
        margins = terms.margins(expensive=expensive)
        return ExcessPlan(
            terms.share,
            margins.wanted,
            terms.limit,
            count.grid,
            terms.sampler.population(self.space),
            precise=not expensive,
            finest=margins.finest,
        )

    @property
    def cost(self) -> int:
        """Inputs asked per draw, at most."""
        return ExcessCount(self.view, None, self.names, self.repeats, 0).cost  # type: ignore[arg-type]

    def per_row(self, sampler: Rows) -> int:
        """Return the inputs asked per given row."""
        return self.cost

    def enumerated(
        self, terms: Terms, points: Points, population: str, meter: Meter, *, keep: bool
    ) -> Score:
        """Refuse: asked anew, software with chance in it would have another score."""
        raise UsageError(_NOT_EXACT)

    def tallied(
        self, terms: Terms, points: Points, sampler: Rows, meter: Meter, *, keep: bool
    ) -> Score:
        """Answer from all given rows, which are a sample of the population."""
        count = self._count(terms)
        plan = self._plan(terms, count)
        rows = max(1, ROWS // count.cost)
        total = np.zeros(len(count.grid.points) + 1)
        cases: list[Case] = []
        seen = AnswersSeen()
        asked_before = self.view.subject.asked
        for start in range(0, len(points), rows):
            part = count.count(points[start : start + rows], start)
            total += part.hits.sum(axis=0)
            cases += [case for _, case in part.witnesses]
            seen.merge(answer for _, answer in part.answers)
        meter.queries += self.view.subject.asked - asked_before
        estimate = plan.judge(total, len(points)).estimate
        return Score(
            estimate,
            StopReason.ENUMERATED,
            _shown(cases, estimate),
            answers=seen.answers,
            noise=plan.noise(total, len(points), terms.level),
        )

    def sampled(self, terms: Terms, meter: Meter, workers: Workers, *, keep: bool) -> Score:
        """Answer by drawing until the plan stops."""
        count = self._count(terms)
        plan = self._plan(terms, count)
        found = sample(
            plan,
            count,
            cost=count.cost,
            meter=meter,
            workers=workers,
            task=self.task,
            enough=terms.enough_draws(count.cost),
        )
        return Score(
            found.estimate,
            found.stop,
            _shown(found.cases, found.estimate),
            answers=found.answers,
            noise=plan.noise(found.hits, found.draws, terms.level),
        )

    def fewest(self, terms: Terms) -> int:
        """Return the fewest inputs that drawing takes, which is more than asking each once does."""
        return self.cost * FIRST_LOOK

    def exhausted(self, terms: Terms, meter: Meter) -> Score:
        """Refuse, as `enumerated` does."""
        raise UsageError(_NOT_EXACT)

    def claim(self, estimate: Estimate, groups: tuple[Group, ...]) -> str:
        """Return what was found, as a sentence."""
        names = " and ".join(self.names)
        outcome = self.view.name or "the outcome"
        # Less than none is what chance made of none.
        score = number_text.percent(max(estimate.value, 0.0))
        if self.view.graded:
            return f"beyond chance, changing only {names} moves {outcome} by {score} on average"
        claim = (
            f"beyond chance, changing only {names} changes {outcome} of {score} of inputs"
        )
        if self.view.differs is None:
            return claim
        return f"{claim} by more than {self.view.differs:g}"


def _shown(cases: Sequence[Case], estimate: Estimate) -> tuple[Case, ...]:
    """Return the first cases, where there is more than chance that they could be cases of."""
    if estimate.low <= 0:
        return ()
    return tuple(cases[:CASES])
