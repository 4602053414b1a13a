"""The tests of a suite of numbers, scored again: how far apart are the means of groups now?"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np

from evenhand.methods.replay import messages
from evenhand.methods.replay.rescore import GroupTests
from evenhand.results.evidence import Finding, key_of
from evenhand.runtime import number_text
from evenhand.scores.numbers.groups import MEAN, Assurance, NumberGroups
from evenhand.scores.numbers.question import LOOKS
from evenhand.subject.outcome_scale import spread_of

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from evenhand.scores.question import Terms


@dataclass(frozen=True)
class NumberTests(GroupTests):
    """How far apart groups are in their mean outcome."""

    def _numbers(self, outcomes: NDArray[Any]) -> NumberGroups:
        ids = self.groups.of(self.part.points)
        inside = ids >= 0
        members, group = np.unique(ids[inside], return_inverse=True)
        about = [self.groups.label(member) for member in members.tolist()]
        numbers = np.asarray(outcomes, dtype=np.float64)[inside]
        what = self.view.name or "outcome"
        return NumberGroups(self.part.over, about, numbers, group, outcome=what)

    @property
    def was(self) -> float:
        """The difference of the means that the suite holds."""
        exact = Assurance(1.0, exact=True)
        return self._numbers(self.old).spread(MEAN, exact).value

    def finding(self, terms: Terms) -> Finding:
        """Return the difference of the means of this version, beside what it was."""
        assurance = Assurance(
            terms.level,
            terms.among,
            self.source,
            # A suite ended at one of some looks, as the answers of other software decided.
            look=1 / LOOKS,
        )
        if self._every():
            population = messages.SUITE.format(suite=self.suite)
            assurance = Assurance(1.0, population=population, exact=True)
        limit = None
        if terms.limit is not None:
            limit = terms.limit * spread_of(np.asarray(self.old, dtype=np.float64))
        found = self._numbers(self.new).finding(MEAN, assurance, limit)
        claim = messages.SCORE_AND_CHANGES.format(
            score=messages.APART.format(
                score=found.claim, difference=found.estimate.value_text
            ),
            was=number_text.amount(self.was),
            changed=number_text.count(int(self.changed.sum())),
            outcomes=number_text.count(len(self.changed)),
        )
        output = self.view.title
        return Finding(
            claim,
            found.about,
            found.estimate,
            limit,
            groups=found.groups,
            output=output,
            score="replayed",
            key=f"replayed {key_of(self.part.kind, self.part.over, output)}",
            **self.only_answer,
        )

    def notes(self) -> list[str]:
        """Return a note on groups that are not in the suite."""
        missing = len(self.groups) - len(self._numbers(self.new).about)
        return self.missing_notes(missing)
