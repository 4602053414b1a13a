"""The paper's own search: Algorithm 3 with Algorithms 1 and 2 (Themis, Galhotra et al. 2017).

Its level does not hold: every set is decided by its value alone, whatever its interval.
"""

from __future__ import annotations

import math
from dataclasses import dataclass, field, replace
from itertools import combinations
from typing import TYPE_CHECKING

from evenhand.methods.subsets.lattice import State, TestedSet
from evenhand.runtime.interruption import Interruption
from evenhand.scores.answer import ask
from evenhand.scores.groups import Groups
from evenhand.scores.kinds import question_of
from evenhand.statistics.estimate import StopReason

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Sequence

    from evenhand.methods.subsets.decision import Judge
    from evenhand.methods.subsets.evaluators.arrays import Names
    from evenhand.methods.subsets.lattice import Lattice
    from evenhand.results.evidence import Finding
    from evenhand.runtime.budget import Meter
    from evenhand.runtime.workers import Workers
    from evenhand.scores.question import Terms
    from evenhand.scores.test_suite import Tests
    from evenhand.subject.view import View


@dataclass(frozen=True)
class PaperSearch:
    """Measures every set by itself, leaving out only supersets of discriminating ones."""

    view: View
    kind: str
    lattice: Lattice
    judge: Judge
    terms: Terms
    keep: bool = False
    tests: dict[int, Sequence[Tests]] = field(default_factory=dict)
    """The tests behind the score of each set, where they are kept."""

    def run(self, meter: Meter, workers: Workers, report: Callable[[], None]) -> StopReason:
        """Test sets, smaller ones first, until all are settled or the budget ends."""
        for mask in self._small_to_large():
            # Supersets of a discriminating set discriminate, and are not tested (Algorithm 3,
            # lines 5-10).
            if self.lattice.states[mask] != State.OPEN:
                continue
            names = self.lattice.members(mask)
            if self.kind == "group" and self._has_one_group(names):
                self.lattice.settle(mask, TestedSet(State.BELOW, self.judge.nothing()))
                continue
            question = question_of(self.view, self.kind, names)
            if question.cost > meter.left:
                return StopReason.QUERIES
            answer = ask(question, self.terms, meter, workers, keep=self.keep)
            if answer.stop is StopReason.INTERRUPTED:
                raise Interruption
            (finding,) = answer.findings
            self.tests[mask] = answer.tests
            self.lattice.settle(mask, self._decided(finding))
            report()
            if meter.late:
                return StopReason.SECONDS
            if answer.stop in (StopReason.QUERIES, StopReason.SECONDS):
                return answer.stop
        return StopReason.MARGIN

    def _small_to_large(self) -> Iterator[int]:
        """Yield all sets, smaller ones first (Algorithm 3, lines 2 and 3)."""
        features = len(self.lattice.names)
        for size in range(1, self.lattice.deepest + 1):
            for bits in combinations(range(features), size):
                yield sum(1 << bit for bit in bits)

    def _decided(self, finding: Finding) -> TestedSet:
        """Return on which side of the limit a set is (Algorithm 3, line 12).

        The paper decides by the value alone; its interval is reported on that side of the limit.
        """
        limit = self.judge.limit
        estimate = finding.estimate
        if estimate.value >= limit:
            state = State.ABOVE
            estimate = replace(estimate, low=max(estimate.low, limit))
        else:
            state = State.BELOW
            highest_below = math.nextafter(limit, 0.0)
            estimate = replace(estimate, high=min(estimate.high, highest_below))
        shown = (finding.groups, finding.cases) if self.kind == "group" else finding.cases
        return TestedSet(state, estimate, shown=shown)

    def _has_one_group(self, names: Names) -> bool:
        """Return whether a set has one group only, with nobody to compare it to."""
        groups = Groups(self.view.subject.space, names)
        is_empty = self.terms.sampler.empty(groups)
        return int((~is_empty).sum()) < 2
