"""Cases: people of a rule set whose outcome changes with what the rule set is about."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np

from evenhand.runtime.random_streams import stream
from evenhand.scores.twins import case_of
from evenhand.space.feature_sets import unseen

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from evenhand.methods.mine.ranking import RuleSet
    from evenhand.methods.mine.rule_sets import Mining
    from evenhand.results.evidence import Case
    from evenhand.runtime.budget import Meter
    from evenhand.space.feature import Points
    from evenhand.subject.view import View

TRIED, CASES = 32, 3
"""People inside a rule set who are given its features as somebody outside has them, and cases that
are shown.
"""


@dataclass(frozen=True, eq=False)
class CaseFinder:
    """Looks for cases of the rule sets of one mining."""

    view: View
    mined: Mining
    seed: int
    gain: int = 1
    """Whether more of what is compared is better (1) or worse (-1) for people, or neither (0)."""

    def of(self, rule_set: RuleSet, meter: Meter) -> tuple[Case, ...]:
        """Return people inside whose outcome changes with what the rule set is about.

        Some people inside are given the features of the rule set of somebody outside, at random. No
        other feature changes, sensitive or not: a case shows what its claim says.
        """
        if not self._has_cases(rule_set, meter):
            return ()
        own, twins = self._pairs(rule_set)
        if not len(own):
            return ()
        before = self.view.decide(own)
        after = self.view.decide(twins)
        meter.queries += 2 * len(own)
        # A case must show what the rule set shows: who is worse off inside gains by the change.
        behind = rule_set.inside < rule_set.outside
        gains = behind if self.gain > 0 else not behind
        flipped = np.flatnonzero(self._shows(before, after, gains=gains))
        changed = (own != twins).sum(axis=1)
        # Those with the fewest changed features first, which are the easiest to read.
        fewest = sorted(flipped.tolist(), key=lambda row: int(changed[row]))
        space = self.view.subject.space
        cases = []
        for row in fewest[:CASES]:
            outcomes = (before[row], after[row])
            cases.append(case_of(space, own[row], twins[row], outcomes))
        return tuple(cases)

    def _shows(
        self, before: NDArray[Any], after: NDArray[Any], *, gains: bool
    ) -> NDArray[np.bool_]:
        """Return which outcomes change as they must to show that somebody gains, or loses."""
        if self.view.meaning.measured:
            rises = np.asarray(after > before) == gains
            return np.asarray(rises & (self.view.distance(before, after) > 0))
        differs_before = self.view.favourable(before) != gains
        agrees_after = self.view.favourable(after) == gains
        return np.asarray(differs_before & agrees_after)

    def _has_cases(self, rule_set: RuleSet, meter: Meter) -> bool:
        """Return whether a change of outcome can be looked for.

        It needs outcomes that are favourable or not, or numbers, a budget, and a feature of the
        rule set that the software sees; and what is compared must be better or worse for people:
        what the true outcome of somebody else would be is not known.
        """
        if not self.gain:
            return False
        is_score = not self.view.counts and not self.view.meaning.measured
        if is_score or meter.left < 2 * TRIED:
            return False
        space = self.view.subject.space
        return not unseen(space, self._features(rule_set))

    def _features(self, rule_set: RuleSet) -> list[str]:
        """Return the features that a rule set is about."""
        return [self.mined.names[position] for position in rule_set.family]

    def _pairs(self, rule_set: RuleSet) -> tuple[Points, Points]:
        """Return people inside, and the same with its features as people outside have them."""
        space = self.view.subject.space
        names = self.mined.names
        points = self.mined.treated.points
        inside = self.mined.inside(rule_set)
        title = self.view.title
        rng = stream(
            self.seed, "mine", "cases", title, *names, *rule_set.family, *rule_set.place
        )
        insiders = np.flatnonzero(inside)
        outsiders = np.flatnonzero(~inside)
        tried = min(TRIED, len(insiders))
        chosen = rng.choice(insiders, tried, replace=False)
        donors = rng.choice(outsiders, len(chosen))
        own = points[chosen]
        twins = points[chosen]
        for name in self._features(rule_set):
            column = space.index(name)
            twins[:, column] = points[donors, column]
        valid = space.valid(twins)
        return np.asfortranarray(own[valid]), np.asfortranarray(twins[valid])
