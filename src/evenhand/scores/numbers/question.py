"""The group question of numbers: how far apart are groups in their mean and median outcome?

A sample is looked at a few times, each time with four times as many draws, and each look has its
own part of the error, so that it may end at any of them.
"""

from __future__ import annotations

import math
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any

import numpy as np

from evenhand.population.samplers import Uniform
from evenhand.runtime import number_text
from evenhand.runtime.errors import UsageError
from evenhand.scores.enumeration import EXHAUSTIBLE, whole
from evenhand.scores.numbers.groups import (
    MOST_GROUPS,
    OF_OUTCOMES,
    Assurance,
    NumberGroups,
    limit_in_units,
    limit_note,
)
from evenhand.scores.question import Score
from evenhand.scores.rates.groups import TRIED, GroupCount, inhabited
from evenhand.scores.rates.question import GroupQuestion
from evenhand.scores.sampling_loop import CASES
from evenhand.scores.twins import case_of
from evenhand.statistics.estimate import StopReason
from evenhand.subject.answers_seen import different
from evenhand.subject.outcome_scale import spread_of

if TYPE_CHECKING:
    from collections.abc import Sequence

    from numpy.typing import NDArray

    from evenhand.population.rows import Rows
    from evenhand.results.evidence import Case, Finding
    from evenhand.runtime.budget import Meter
    from evenhand.runtime.workers import Workers
    from evenhand.scores.question import Terms
    from evenhand.space.feature import Points
    from evenhand.statistics.intervals import Floats

FIRST, FIRST_EXPENSIVE = 256, 32
"""Draws from each group at the first look, and where each costs a process or a request."""
GROWTH = 4
"""How many times as many draws the next look has."""
LOOKS = 5
"""The most looks."""


@dataclass(frozen=True)
class NumberQuestion(GroupQuestion):
    """How far apart are groups in their mean and median outcome?"""

    answers = len(OF_OUTCOMES)
    of_numbers = True

    def enumerated(
        self, terms: Terms, points: Points, population: str, meter: Meter, *, keep: bool
    ) -> Score:
        """Answer from every input there is, which are counted as spent."""
        assurance = Assurance(1.0, population=population, exact=True)
        return self._of_points(terms, points, None, assurance, meter, keep=keep)

    def expected(self, terms: Terms, score: float, most: int | None) -> float | None:
        """Return None: how far numbers spread is not known before they are asked."""
        return None

    def most(self, terms: Terms) -> int | None:
        """Return the most inputs that drawing ever takes: those of the last look."""
        first = FIRST_EXPENSIVE if self.view.subject.adapter.expensive else FIRST
        growth = math.prod([GROWTH] * (LOOKS - 1))
        return first * growth * self.cost

    def tallied(
        self, terms: Terms, points: Points, sampler: Rows, meter: Meter, *, keep: bool
    ) -> Score:
        """Answer from given rows, which are the population or a sample of it."""
        population = sampler.population(self.space)
        meter.queries += len(points)
        exact = sampler.sample_of is None
        level = 1.0 if exact else terms.level
        assurance = Assurance(level, terms.among, population, exact=exact)
        weights = sampler.weights if exact else None
        # Among given rows alone, nobody is moved to another group.
        moves = sampler.twins != "rows"
        return self._of_points(
            terms, points, weights, assurance, meter, keep=keep, moves=moves
        )

    def _of_points(
        self,
        terms: Terms,
        points: Points,
        weights: Floats | None,
        assurance: Assurance,
        meter: Meter,
        *,
        keep: bool,
        moves: bool = True,
    ) -> Score:
        """Answer from points with the outcome of each; `moves` says whether cases are sought."""
        outcomes = self._numbers(self.view.decide(points))
        ids = self.groups.of(points)
        inside = ids >= 0
        weight = None if weights is None else weights[inside]
        members, group = np.unique(ids[inside], return_inverse=True)
        self._need_groups(members)
        numbers = self._grouped(members.tolist(), outcomes[inside], group, weight)
        possible = np.flatnonzero(~Uniform().empty(self.groups)).tolist()
        unseen = sorted(set(possible) - set(members.tolist()))
        found, notes = self._findings(numbers, terms, assurance)
        best, worst = self._extremes(numbers)
        in_best = points[inside][group == best]
        cases = self._cases(in_best, int(members[worst]), meter) if moves else ()
        return Score(
            found[0].estimate,
            StopReason.ENUMERATED,
            tests=self._kept(points, keep=keep),
            notes=[*notes, *self._unseen(unseen, "the score says nothing of them")],
            findings=_with_cases(found, cases),
        )

    def sampled(self, terms: Terms, meter: Meter, workers: Workers, *, keep: bool) -> Score:
        """Answer by drawing from each group, until all is decided or precise enough."""
        if terms.interval is not None:
            raise UsageError(
                f"interval = {terms.interval!r} is for rates; leave it out for outcomes that are"
                " numbers"
            )
        members = inhabited(self.groups, terms.sampler.empty(self.groups))
        self._need_groups(np.array(members))
        count = GroupCount.of(self.view, self.groups, members, terms.sampler, terms.seed)
        drawn = _Drawn(self, self.view, count)
        looks = self._looks(len(members), meter)
        found: list[Finding] = []
        notes: list[str] = []
        stop = StopReason.QUERIES
        population = terms.sampler.population(self.space)
        for number, size in enumerate(looks):
            meter.queries += drawn.ask(size)
            # Each look has half of the error that those before it left.
            part = 0.5 ** min(number + 1, LOOKS - 1)
            assurance = Assurance(terms.level, terms.among, population, look=part)
            found, notes = self._findings(drawn.numbers(), terms, assurance)
            spread = self._spread_among(drawn.numbers())
            if all(self._settled(finding, terms, spread) for finding in found):
                stop = StopReason.MARGIN if terms.limit is None else StopReason.DECIDED
                break
            meter.report(self.task, None, f"{drawn.size:,} draws of each group")
            if meter.late:
                stop = StopReason.SECONDS
                break
        best, worst = self._extremes(drawn.numbers())
        cases = self._cases(count.draws[best].take(0, TRIED), members[worst], meter)
        unseen = sorted(set(range(len(self.groups))) - set(members))
        sizes = np.full(len(members), drawn.size)
        return Score(
            found[0].estimate,
            stop,
            tests=self._drawn(count, sizes, keep=keep),
            notes=[*notes, *self._unseen(unseen, "the score says nothing of them")],
            findings=_with_cases(found, cases),
        )

    def fewest(self, terms: Terms) -> int:
        """Return the fewest inputs that drawing takes: those of the first look."""
        return FIRST_EXPENSIVE * len(self.groups)

    def exhausted(self, terms: Terms, meter: Meter) -> Score:
        """Answer from every input there is."""
        points = whole(self.space, self.names, EXHAUSTIBLE, self.view.subject.unread)
        meter.queries += len(points)
        population = terms.sampler.population(self.space)
        return self.enumerated(terms, points, population, meter, keep=False)

    def _looks(self, groups: int, meter: Meter) -> list[int]:
        """Return how many draws of each group there are at each look."""
        first = FIRST_EXPENSIVE if self.view.subject.adapter.expensive else FIRST
        sizes = [first * GROWTH**look for look in range(LOOKS)]
        if math.isinf(meter.left):
            return sizes
        most = int(meter.left) // groups
        if not most:
            raise UsageError(
                f"budget: {int(meter.left):,} queries are left, but one draw from each group takes"
                f" {groups:,}; raise queries"
            )
        affordable = [size for size in sizes if size < most]
        return [*affordable, most][:LOOKS]

    def _settled(self, finding: Finding, terms: Terms, spread: float) -> bool:
        """Return whether a finding is decided, or without a limit precise enough."""
        estimate = finding.estimate
        if finding.limit is not None:
            return finding.verdict is not None and finding.verdict.value != "undecided"
        expensive = self.view.subject.adapter.expensive
        margin = terms.margins(expensive=expensive).wanted * spread
        reach = max(estimate.high - estimate.value, estimate.value - estimate.low)
        return reach <= margin

    def _spread_among(self, numbers: NumberGroups) -> float:
        """Return the spread of outcomes: as it was settled, or else that of these numbers."""
        scale = self.view.meaning.scale
        return spread_of(numbers.numbers) if scale is None else scale.spread

    def _findings(
        self, numbers: NumberGroups, terms: Terms, assurance: Assurance
    ) -> tuple[list[Finding], list[str]]:
        spread = self._spread_among(numbers)
        limit = limit_in_units(terms.limit, terms.units, spread)
        notes = limit_note(terms.limit, terms.units, spread)
        only_answer = self.view.only_answer(different(numbers.numbers))
        one_answer = self.view.answer_fields(only_answer)
        found = numbers.findings(assurance, limit)
        return [replace(finding, **one_answer) for finding in found], notes

    def _grouped(
        self,
        members: Sequence[int],
        outcomes: Floats,
        group: NDArray[np.intp],
        weights: Floats | None = None,
    ) -> NumberGroups:
        about = [self.groups.label(member) for member in members]
        return NumberGroups(
            self.names,
            about,
            outcomes,
            group,
            weights=weights,
            outcome=self.view.name or "outcome",
            output=self.view.title,
        )

    def _numbers(self, outcomes: NDArray[Any]) -> Floats:
        numbers = np.asarray(outcomes, dtype=np.float64)
        if not np.isfinite(numbers).all():
            first = numbers[~np.isfinite(numbers)][0]
            raise UsageError(
                f"{self.view.meaning.about} answered {first}, which has no mean; say which"
                " outcomes are favourable, with a function such as positive=lambda y: y > 0"
            )
        return numbers

    def _need_groups(self, members: NDArray[Any]) -> None:
        names = " and ".join(self.names)
        if len(members) < 2:
            raise UsageError(
                f"{names}: this population has {len(members)} group, so there is nothing to"
                " compare; choose features with at least two values in it"
            )
        if len(members) > MOST_GROUPS:
            raise UsageError(
                f"{names} make {number_text.count(len(members))} groups, but at most"
                f" {number_text.count(MOST_GROUPS)} are compared; choose fewer features, or give"
                " bins"
            )

    def _extremes(self, numbers: NumberGroups) -> tuple[int, int]:
        """Return the groups with the highest and the lowest mean."""
        values = numbers.values(OF_OUTCOMES[0])
        return int(np.nanargmax(values)), int(np.nanargmin(values))

    def _cases(self, points: Points, group: int, meter: Meter) -> tuple[Case, ...]:
        """Return people of a group whose outcome falls furthest when they move to another."""
        tried = points[: int(min(TRIED, meter.left // 2))]
        others = self.groups.move(tried, group)
        valid = self.space.valid(others)
        own = np.asfortranarray(tried[valid])
        twins = np.asfortranarray(others[valid])
        if not len(own):
            return ()
        before = self.view.decide(own)
        after = self.view.decide(twins)
        meter.queries += 2 * len(own)
        falls = self._numbers(before) - self._numbers(after)
        differ = np.asarray(self.view.distance(before, after) > 0) & (falls > 0)
        order = np.argsort(-falls, kind="stable")
        cases = []
        for row in order[differ[order]][:CASES].tolist():
            outcomes = (before[row], after[row])
            cases.append(case_of(self.space, own[row], twins[row], outcomes))
        return tuple(cases)


def _with_cases(found: Sequence[Finding], cases: tuple[Case, ...]) -> list[Finding]:
    """Return findings of which the first, of means, has the cases."""
    first, *others = found
    return [replace(first, cases=cases), *others]


class _Drawn:
    """The outcomes of the first draws from each group."""

    def __init__(self, question: NumberQuestion, view: Any, count: GroupCount) -> None:
        self.question = question
        self.view = view
        self.count = count
        self.size = 0
        self.columns: list[list[Floats]] = [[] for _ in count.members]

    def ask(self, size: int) -> int:
        """Ask up to so many draws of each group, and return how many inputs that took."""
        asked = 0
        for draws, parts in zip(self.count.draws, self.columns, strict=True):
            points = np.asfortranarray(draws.take(self.size, size))
            outcomes = self.view.decide(points)
            parts.append(self.question._numbers(outcomes))
            asked += len(points)
        self.size = size
        return asked

    def numbers(self) -> NumberGroups:
        """Return all that was asked, by group."""
        outcomes = []
        for parts in self.columns:
            outcomes += parts
        groups = np.repeat(np.arange(len(self.columns)), self.size)
        members = self.count.members
        return self.question._grouped(members, np.concatenate(outcomes), groups)
