"""The tests of a suite, answered again: what a score was, what it is now, and how sure that is.

How many draws a suite has was decided by what other software answered. Draws do not depend on the
software, so for this one the size is a stopping time like any other, and the interval must hold at
all of them.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from dataclasses import dataclass
from functools import cached_property
from typing import TYPE_CHECKING, Any

import numpy as np

from evenhand.results.evidence import Finding, key_of
from evenhand.runtime import number_text
from evenhand.scores.enumeration import part as whole_part
from evenhand.scores.group_rates import Tally
from evenhand.scores.groups import Groups
from evenhand.scores.question import Score
from evenhand.scores.sampling_loop import CASES
from evenhand.scores.twins import ROWS, case_of, farthest
from evenhand.space.distribution import numbered
from evenhand.statistics import confidence_sequences
from evenhand.statistics.estimate import Estimate, StopReason

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from evenhand.results.evidence import Case
    from evenhand.scores.question import Question, Terms
    from evenhand.scores.test_suite import Tests
    from evenhand.space.feature import Points
    from evenhand.subject.view import View


@dataclass(frozen=True)
class Replayed(ABC):
    """One question on the tests of a suite: what was answered to them, and what is answered now."""

    suite: str
    question: Question
    part: Tests
    answers: NDArray[Any]

    @property
    def view(self) -> View:
        """The output that the question is about."""
        return self.question.view

    @cached_property
    def old(self) -> NDArray[Any]:
        """The outcomes that the suite holds."""
        return self._of_output(self.part.outcomes)

    @cached_property
    def new(self) -> NDArray[Any]:
        """The outcomes of this version."""
        return self._of_output(self.answers)

    def _of_output(self, outcomes: NDArray[Any]) -> NDArray[Any]:
        return np.ascontiguousarray(outcomes[self.view.name]) if self.view.name else outcomes

    @cached_property
    def changed(self) -> NDArray[np.bool_]:
        """Which outcomes differ from what they were."""
        return np.asarray(self.view.distance(self.new, self.old) != 0)

    @property
    def names(self) -> str:
        """The features at issue, in words."""
        return " and ".join(self.part.over)

    @property
    def source(self) -> str:
        """The population that the draws of the suite came from, in words."""
        return f"what the suite {self.suite} was drawn from"

    @property
    @abstractmethod
    def was(self) -> float:
        """The score of the outcomes that the suite holds."""

    @abstractmethod
    def score(self, terms: Terms) -> Score:
        """Return the score of this version."""

    @abstractmethod
    def told(self, score: Score) -> str:
        """Say in a sentence what the score is now."""

    @abstractmethod
    def notes(self) -> list[str]:
        """Say what the suite leaves open."""

    def finding(self, terms: Terms) -> Finding:
        """Return the score of this version, beside what it was."""
        score = self.score(terms)
        claim = f"{self.told(score)} (it was {number_text.percent(self.was)})"
        claim += f"; {int(self.changed.sum()):,} of {len(self.changed):,} outcomes changed"
        estimate = terms.said(score.estimate)
        over, output = self.part.over, self.view.title
        return Finding(
            claim,
            over,
            estimate,
            terms.limit,
            tuple(score.cases),
            score.groups,
            output,
            score="replayed",
            key=f"replayed {key_of(self.part.kind, over, output)}",
        )


@dataclass(frozen=True)
class CausalTests(Replayed):
    """How many draws have a variant with another outcome than their own (Def. 3.7)."""

    @cached_property
    def draw(self) -> NDArray[np.intp]:
        """The draw of each row, numbered without gaps."""
        return np.unique(self.part.draw, return_inverse=True)[1]

    @cached_property
    def base(self) -> NDArray[np.intp]:
        """The row of each draw's own input; one of them where it has several."""
        found = np.empty(int(self.draw.max()) + 1, dtype=np.intp)
        found[self.draw[self.part.own]] = np.flatnonzero(self.part.own)
        return found

    @cached_property
    def owned(self) -> NDArray[np.intp]:
        """The rows of the drawn inputs."""
        return np.flatnonzero(self.part.own) if self.part.own.sum() > len(self.base) else self.base

    @property
    def closed(self) -> bool:
        """Whether inputs are each other's twins, and so the suite is a population of its own."""
        return bool(self.part.own.all()) and len(self.owned) > len(self.base)

    def hits(self, outcomes: NDArray[Any]) -> NDArray[Any]:
        """Return the distance of each drawn input to its farthest variant."""
        if len(self.owned) > len(self.base):
            return np.asarray(farthest(self.view, outcomes, self.draw)[self.owned])
        apart = self.view.distance(outcomes, outcomes[self.base[self.draw]])
        found = np.zeros(len(self.base), dtype=apart.dtype)
        np.maximum.at(found, self.draw, apart)
        return found

    @property
    def was(self) -> float:
        """The score of the outcomes that the suite holds."""
        return float(self.hits(self.old).mean())

    @cached_property
    def now(self) -> NDArray[Any]:
        """The hits of this version."""
        return self.hits(self.new)

    @cached_property
    def open(self) -> NDArray[np.bool_]:
        """The draws whose missing variants could still differ more than those that were tested."""
        if self.closed:
            return np.zeros(len(self.now), dtype=np.bool_)
        return np.asarray(
            (self._tested() < self._variants())[self.draw[self.owned]] & (self.now < 1)
        )

    def _tested(self) -> NDArray[Any]:
        """Return how many variants of each draw are in the suite."""
        columns = self.question.space.sets(self.part.over)
        same = numbered(
            [self.draw.astype(np.float64), *(self.part.points[:, column] for column in columns)],
            len(self.draw),
        )
        first = np.unique(same, return_index=True)[1]
        return np.bincount(self.draw[first], minlength=len(self.base))

    def _variants(self) -> NDArray[Any]:
        """Return how many valid variants each draw has."""
        space, over = self.question.space, self.part.over
        table, points = space.assignments(over), self.part.points[self.base]
        if not space.constraints and not np.isnan(table).any():
            return np.full(len(self.base), len(table))
        rows = max(1, ROWS // len(table))
        parts = (points[at : at + rows] for at in range(0, len(points), rows))
        return np.concatenate([self._distinct(some, table) for some in parts])

    def _distinct(self, points: Points, table: Points) -> NDArray[Any]:
        """Return how many valid variants points have, not counting the own value twice that is
        among the others.
        """
        space, over = self.question.space, self.part.over
        counted = space.valid(space.variants(points, over)).reshape(len(table), -1)
        for place, column in enumerate(space.sets(over)):
            listed = np.isin(points[:, column], space.features[column].values())
            counted &= ~(np.isnan(table[:, place])[:, None] & listed)
        return np.asarray(counted.sum(axis=0))

    def score(self, terms: Terms) -> Score:
        """Return the score of this version."""
        total, n = float(self.now.sum()), len(self.now)
        if self.closed:
            among = f"the suite {self.suite}, with twins among them"
            return Score(
                Estimate.exact(total, n, population=among), StopReason.ENUMERATED, self._cases()
            )
        most = total + float((1 - self.now[self.open].astype(np.float64)).sum())
        low, high = confidence_sequences.mixture([total, most], n, terms.share)
        value = total / n
        ends = min(float(low[0]), value), max(float(high[1]), value)
        estimate = Estimate(value, *ends, n, terms.share, "anytime", self.source)
        return Score(estimate, StopReason.ENUMERATED, self._cases())

    def told(self, score: Score) -> str:
        """Say in a sentence what the score is now."""
        return self.question.claim(score.estimate, ()) + (", at least" if self.open.any() else "")

    def _cases(self) -> list[Case]:
        """Show the first draws beside the variant that differs in the fewest features, then most in
        its outcome.
        """
        cases = []
        for row in self.owned[np.flatnonzero(self.now)[:CASES]].tolist():
            mates = np.flatnonzero(self.draw == self.draw[row])
            apart = self.view.distance(self.new[mates], np.broadcast_to(self.new[row], len(mates)))
            changes = (self.part.points[mates] != self.part.points[row]).sum(axis=1)
            best = min(
                np.flatnonzero(apart).tolist(), key=lambda at: (changes[at], -float(apart[at]), at)
            )
            points, twin = self.part.points, mates[best]
            cases.append(
                case_of(
                    self.question.space, points[row], points[twin], (self.new[row], self.new[twin])
                )
            )
        return cases

    def notes(self) -> list[str]:
        """Say what the suite leaves open."""
        count = int(self.open.sum())
        if not count:
            return []
        return [
            f"{count:,} of {int(self.part.own.sum()):,} draws of {self.names} were not tested in"
            " all their variants, so the score is at least what is said; its upper limit counts"
            " them as discriminated against"
        ]


@dataclass(frozen=True)
class GroupTests(Replayed):
    """How far apart groups are in how often they get the favourable outcome (Def. 3.6)."""

    @cached_property
    def groups(self) -> Groups:
        """The groups that are compared."""
        return Groups(self.question.space, self.part.over)

    def _tally(self, outcomes: NDArray[Any]) -> Tally:
        tally = Tally.of(self.groups, self.part.points, self.view.amount(outcomes))
        tally.need_two()
        return tally

    @property
    def was(self) -> float:
        """The score of the outcomes that the suite holds."""
        return self._tally(self.old).spread

    def _every(self) -> bool:
        """Tell whether the suite holds every input of the space once."""
        points = self.part.points
        every = whole_part(self.question.space, self.part.over, len(points))
        if every is None or len(every) != len(points):
            return False
        return np.array_equal(np.unique(every, axis=0), np.unique(points, axis=0))

    def score(self, terms: Terms) -> Score:
        """Return the score of this version."""
        tally = self._tally(self.new)
        if self._every():
            among = f"the suite {self.suite}"
            groups = tally.listed(1.0, among, method="enumerated")
            return Score(
                tally.exact(among, len(self.part.points)), StopReason.ENUMERATED, (), groups
            )
        among = self.source
        estimate = tally.sampled(terms.share, among, graded=True)
        return Score(
            estimate, StopReason.ENUMERATED, (), tally.listed(terms.share, among, method="anytime")
        )

    def told(self, score: Score) -> str:
        """Say in a sentence what the score is now."""
        apart = number_text.percent(score.estimate.value)
        return f"{self.question.claim(score.estimate, score.groups)}, {apart} apart"

    def notes(self) -> list[str]:
        """Say what the suite leaves open."""
        missing = len(self.groups) - len(self._tally(self.new).members)
        if not missing:
            return []
        return [
            f"{missing:,} of {len(self.groups):,} groups of {self.names} are not in the suite; the"
            " score says nothing of them"
        ]
