"""The tests of a suite, answered again: what a score was, what it is now, and how sure that is.

The scores are those of Themis (Galhotra et al. 2017), causal (Def. 3.7) and group (Def. 3.6).
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

from evenhand.methods.replay import messages
from evenhand.results.evidence import Finding, key_of
from evenhand.runtime import number_text
from evenhand.scores.enumeration import part as whole_part
from evenhand.scores.farthest import farthest
from evenhand.scores.groups import Groups
from evenhand.scores.question import Score, rate_evidence
from evenhand.scores.rates.groups import Tally
from evenhand.scores.sampling_loop import CASES
from evenhand.scores.twins import ROWS, case_of
from evenhand.space.distribution import numbered
from evenhand.space.feature_sets import unseen
from evenhand.space.row_keys import classes
from evenhand.statistics.estimate import Estimate, StopReason
from evenhand.statistics.sequential import confidence_sequences
from evenhand.statistics.sequential.paired_groups import MOST_GROUPS, PairedPlan
from evenhand.subject.answers_seen import different

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
        """Return the outcomes of the output at issue, where there are several."""
        if not self.view.name:
            return outcomes
        return np.ascontiguousarray(outcomes[self.view.name])

    @cached_property
    def changed(self) -> NDArray[np.bool_]:
        """Which outcomes differ from what they were."""
        return np.asarray(self.view.distance(self.new, self.old) != 0)

    @property
    def only_answer(self) -> dict[str, Any]:
        """The fields of a finding on the one answer of this version, if it gave but one."""
        answers = different(self.new)
        answer = answers[0] if len(answers) == 1 else None
        return {"only_answer": answer, "unfavoured": self.view.unfavoured(answer)}

    @property
    def names(self) -> str:
        """The features at issue, in words."""
        return " and ".join(self.part.over)

    @property
    def source(self) -> str:
        """The population that the draws of the suite came from, in words."""
        return messages.DRAWN_FROM.format(suite=self.suite)

    @property
    @abstractmethod
    def was(self) -> float:
        """The score of the outcomes that the suite holds."""

    @abstractmethod
    def score(self, terms: Terms) -> Score:
        """Return the score of this version."""

    @abstractmethod
    def score_text(self, score: Score) -> str:
        """Return a sentence on what the score is now."""

    @abstractmethod
    def notes(self) -> list[str]:
        """Return notes on what the suite leaves open."""

    def finding(self, terms: Terms) -> Finding:
        """Return the score of this version, beside what it was."""
        score = self.score(terms)
        claim = messages.SCORE_AND_CHANGES.format(
            score=self.score_text(score),
            was=number_text.percent(self.was),
            changed=number_text.count(int(self.changed.sum())),
            outcomes=number_text.count(len(self.changed)),
        )
        estimate = terms.shared(score.estimate)
        against = score.against
        over = self.part.over
        output = self.view.title
        return Finding(
            claim,
            over,
            estimate,
            terms.limit,
            tuple(score.cases),
            score.groups,
            output,
            score="replayed",
            by_construction=self.part.kind == "causal"
            and unseen(self.view.subject.space, over),
            key=f"replayed {key_of(self.part.kind, over, output)}",
            p_value=None if against is None else against.p_value,
            e_value=None if against is None else against.e_value,
            **self.only_answer,
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
        own_rows = np.flatnonzero(self.part.own)
        number_of_draws = int(self.draw.max()) + 1
        row_of_draw = np.empty(number_of_draws, dtype=np.intp)
        row_of_draw[self.draw[own_rows]] = own_rows
        return row_of_draw

    @cached_property
    def owned(self) -> NDArray[np.intp]:
        """The rows of the drawn inputs."""
        if self.part.own.sum() > len(self.base):
            return np.flatnonzero(self.part.own)
        return self.base

    @property
    def closed(self) -> bool:
        """Whether inputs are each other's twins, and so the suite is a population of its own."""
        return bool(self.part.own.all()) and len(self.owned) > len(self.base)

    def hits(self, outcomes: NDArray[Any]) -> NDArray[Any]:
        """Return the distance of each drawn input to its farthest variant."""
        if len(self.owned) > len(self.base):
            distances = farthest(self.view, outcomes, self.draw)
            return np.asarray(distances[self.owned])
        own_outcomes = outcomes[self.base[self.draw]]
        distances = self.view.distance(outcomes, own_outcomes)
        hits = np.zeros(len(self.base), dtype=distances.dtype)
        np.maximum.at(hits, self.draw, distances)
        return hits

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
        is_incomplete = self._tested() < self._variants()
        draws = self.draw[self.owned]
        # A draw whose outcome changes altogether cannot differ more.
        return np.asarray(is_incomplete[draws] & (self.now < 1))

    def _tested(self) -> NDArray[Any]:
        """Return how many variants of each draw are in the suite."""
        draw = self.draw.astype(np.float64)
        columns = self.question.space.sets(self.part.over)
        values = [self.part.points[:, column] for column in columns]
        # Rows of the same draw with the same values are one variant.
        same = numbered([draw, *values], len(self.draw))
        _, first = np.unique(same, return_index=True)
        return np.bincount(self.draw[first], minlength=len(self.base))

    def _variants(self) -> NDArray[Any]:
        """Return how many valid variants each draw has."""
        space = self.question.space
        table = space.assignments(self.part.over)
        if not space.constrained and not np.isnan(table).any():
            return np.full(len(self.base), len(table))
        points = self.part.points[self.base]
        # All variants of all draws at once may not fit into memory.
        rows = max(1, ROWS // len(table))
        counts = []
        for start in range(0, len(points), rows):
            some_points = points[start : start + rows]
            counts.append(self._distinct(some_points, table))
        return np.concatenate(counts)

    def _distinct(self, points: Points, table: Points) -> NDArray[Any]:
        """Return how many valid variants points have, none of them counted twice.

        An assignment of NaN keeps the point's own value, which may be among the others too.
        """
        space = self.question.space
        over = self.part.over
        variants = space.variants(points, over)
        is_counted = space.valid(variants).reshape(len(table), -1)
        for place, column in enumerate(space.sets(over)):
            is_listed = np.isin(points[:, column], space.features[column].values())
            keeps_own = np.isnan(table[:, place])
            is_counted &= ~(keeps_own[:, None] & is_listed)
        return np.asarray(is_counted.sum(axis=0))

    def score(self, terms: Terms) -> Score:
        """Return the score of this version."""
        total = float(self.now.sum())
        n = len(self.now)
        if self.closed:
            population = messages.SUITE_WITH_TWINS.format(suite=self.suite)
            estimate = Estimate.exact(total, n, population=population)
            return Score(estimate, StopReason.ENUMERATED, self._cases())
        # At worst, the variants that were not tested move the outcomes of all open draws.
        missing = (1 - self.now[self.open].astype(np.float64)).sum()
        most = total + float(missing)
        low, high = confidence_sequences.mixture([total, most], n, terms.share)
        value = total / n
        estimate = Estimate(
            value,
            min(float(low[0]), value),
            max(float(high[1]), value),
            n,
            terms.share,
            "anytime",
            self.source,
        )
        against = None if self.open.any() else rate_evidence(terms, estimate)
        return Score(estimate, StopReason.ENUMERATED, self._cases(), against=against)

    def score_text(self, score: Score) -> str:
        """Return a sentence on what the score is now."""
        sentence = self.question.claim(score.estimate, ())
        if self.open.any():
            return messages.AT_LEAST.format(score=sentence)
        return sentence

    def _cases(self) -> list[Case]:
        """Return the first draws that are hit, each beside one of its variants."""
        points = self.part.points
        hits = np.flatnonzero(self.now)[:CASES]
        cases = []
        for row in self.owned[hits].tolist():
            twin = self._twin(row)
            outcomes = self.new[row], self.new[twin]
            cases.append(case_of(self.question.space, points[row], points[twin], outcomes))
        return cases

    def _twin(self, row: int) -> int:
        """Return the variant that differs in the fewest features, then most in its outcome."""
        variants = np.flatnonzero(self.draw == self.draw[row])
        own_outcome = np.broadcast_to(self.new[row], len(variants))
        distances = self.view.distance(self.new[variants], own_outcome)
        differs = self.part.points[variants] != self.part.points[row]
        changes = differs.sum(axis=1)
        candidates: list[int] = np.flatnonzero(distances).tolist()
        best = min(candidates, key=lambda at: (changes[at], -float(distances[at]), at))
        return int(variants[best])

    def notes(self) -> list[str]:
        """Return a note on draws that were not tested in all their variants."""
        count = int(self.open.sum())
        if not count:
            return []
        note = messages.VARIANTS_NOT_TESTED.format(
            open=number_text.count(count),
            draws=number_text.count(int(self.part.own.sum())),
            features=self.names,
        )
        return [note]


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
        """Return whether the suite holds every input of the space once."""
        points = self.part.points
        if not self.question.space.even:
            return False
        every = whole_part(self.question.space, self.part.over, len(points))
        if every is None or len(every) != len(points):
            return False
        all_inputs = np.unique(every, axis=0)
        inputs_of_suite = np.unique(points, axis=0)
        return np.array_equal(all_inputs, inputs_of_suite)

    def score(self, terms: Terms) -> Score:
        """Return the score of this version."""
        tally = self._tally(self.new)
        if self._every():
            population = messages.SUITE.format(suite=self.suite)
            estimate = tally.exact(population, len(self.part.points))
            groups = tally.listed(1.0, population, method="enumerated")
        else:
            estimate = self._sampled(tally, terms)
            groups = tally.listed(terms.share, self.source, method="anytime")
        return Score(estimate, StopReason.ENUMERATED, (), groups)

    def _sampled(self, tally: Tally, terms: Terms) -> Estimate:
        """Return the score of draws; by pairs where each draw is one person in every group."""
        amounts = self._by_draw(tally.members)
        if amounts is None:
            return tally.sampled(terms.share, self.source, graded=True)
        plan = PairedPlan(
            terms.share, margin=None, population=self.source, groups=len(tally.members)
        )
        return plan.judge(plan.counted(amounts), len(amounts), last=True).estimate

    def _by_draw(self, members: tuple[int, ...]) -> NDArray[np.float64] | None:
        """Return a row for each draw and a column for each group, None where draws differ in more.

        Draws of people who are each asked as a member of every group differ in nothing else.
        """
        points = self.part.points
        numbers, draw = np.unique(self.part.draw, return_inverse=True)
        group = np.searchsorted(members, self.groups.of(points))
        if not 2 <= len(members) <= MOST_GROUPS or len(points) != len(numbers) * len(
            members
        ):
            return None
        cells = draw * len(members) + group
        person = classes(points, self.question.space, self.part.over)
        first = np.empty(len(numbers), dtype=np.intp)
        first[draw] = person
        is_same = first[draw] == person
        if len(np.unique(cells)) < len(cells) or not is_same.all():
            return None
        amounts = np.empty(len(cells))
        amounts[cells] = self.view.amount(self.new)
        return amounts.reshape(len(numbers), len(members))

    def score_text(self, score: Score) -> str:
        """Return a sentence on what the score is now."""
        sentence = self.question.claim(score.estimate, score.groups)
        difference = number_text.percent(score.estimate.value)
        return messages.APART.format(score=sentence, difference=difference)

    def notes(self) -> list[str]:
        """Return a note on groups that are not in the suite."""
        return self.missing_notes(len(self.groups) - len(self._tally(self.new).members))

    def missing_notes(self, missing: int) -> list[str]:
        """Return a note on so many groups that are not in the suite, none where all are."""
        if not missing:
            return []
        note = messages.GROUPS_NOT_IN_SUITE.format(
            missing=number_text.count(missing),
            groups=number_text.count(len(self.groups)),
            features=self.names,
        )
        return [note]
