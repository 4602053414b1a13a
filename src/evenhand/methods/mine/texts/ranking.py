"""Stories of terms: rule sets of terms ranked, and like ones gathered under the worst of them."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np

if TYPE_CHECKING:
    from collections.abc import Sequence

    from numpy.typing import NDArray

    from evenhand.methods.mine.texts.combinations import Decided
    from evenhand.space.rule import Rule
    from evenhand.statistics.intervals import Floats

    Flags = NDArray[np.bool_]

ALIKE = 1 / 3
"""Rule sets tell the same story if they share this part of their terms."""
MIRRORED = 0.5
"""A rule set mirrors others if no more than this part of its difference is left once they are out
of comparison.
"""
NO_DIFFERENCE = 1e-9
"""Rule sets whose limits hold a difference as small as this lead no story, rounding aside."""


@dataclass(frozen=True, eq=False)
class ScoredFamily:
    """The scores of all combinations of terms of one family."""

    decided: Decided
    inside: Floats
    outside: Floats
    low: Floats
    """The limits of the absolute difference."""
    high: Floats
    other: Sequence[tuple[float, int]]
    """The sum and number of amounts of what each combination is compared with."""

    @property
    def difference(self) -> Floats:
        """How much more favourable texts are with each combination than with others."""
        return self.inside - self.outside


@dataclass(frozen=True, slots=True)
class RankedTerms:
    """One rule set of terms in the ranking of all."""

    scored: ScoredFamily
    at: int

    @property
    def difference(self) -> float:
        """How much more favourable texts are with these terms than what they are compared with."""
        inside = self.scored.inside[self.at]
        outside = self.scored.outside[self.at]
        return float(inside - outside)

    @property
    def low(self) -> float:
        """The lower limit of the absolute difference."""
        return float(self.scored.low[self.at])

    @property
    def high(self) -> float:
        """The upper limit of the absolute difference."""
        return float(self.scored.high[self.at])

    @property
    def terms(self) -> frozenset[str]:
        """The terms of the rule set."""
        terms = self.scored.decided.family.terms[self.at]
        return frozenset(term.text for term in terms)

    @property
    def rule(self) -> Rule:
        """The rule set as a rule, with categories for features."""
        return self.scored.decided.family.rule(self.at)


def gather(
    ranking: Sequence[RankedTerms], most: int, *, paired: bool
) -> list[list[RankedTerms]]:
    """Gather rule sets under the worst of those that tell the same, up to a number of stories.

    A rule set that is not shown to differ leads none. Rule sets tell the same if they share terms.
    Where texts are `paired` with themselves under other terms, a term that is treated badly also
    makes all others of its category look well treated; that is no story of its own.
    """
    stories: list[list[RankedTerms]] = []
    mirrors: dict[int, _Mirror] = {}
    if paired:
        for ranked in ranking:
            scored = ranked.scored
            if id(scored) not in mirrors:
                mirrors[id(scored)] = _Mirror(scored)
    for ranked in ranking:
        story = _story_of(ranked, stories)
        if story is None and paired:
            mirror = mirrors[id(ranked.scored)]
            story = mirror.story_of(ranked.at)
        if story is not None:
            story.append(ranked)
        elif len(stories) < most and ranked.low > NO_DIFFERENCE:
            new_story = [ranked]
            stories.append(new_story)
            for mirror in mirrors.values():
                mirror.add(new_story)
    return stories


def _story_of(
    ranked: RankedTerms, stories: Sequence[list[RankedTerms]]
) -> list[RankedTerms] | None:
    """Return the first story whose lead shares enough terms with a rule set; None for none."""
    terms = ranked.terms
    for story in stories:
        if _alike(terms, story[0].terms):
            return story
    return None


def _alike(terms: frozenset[str], others: frozenset[str]) -> bool:
    shared = terms & others
    return len(shared) >= ALIKE * len(terms | others)


class _Mirror:
    """Finds the combinations of a family that differ only because of those that lead stories."""

    def __init__(self, scored: ScoredFamily) -> None:
        self._scored = scored
        self._terms = []
        for terms in scored.decided.family.terms:
            self._terms.append(frozenset(term.text for term in terms))
        self._reported: Flags = np.zeros(len(self._terms), dtype=np.bool_)
        """Combinations with the terms of a story, which are out of comparison."""
        self._first: list[RankedTerms] | None = None

    def add(self, story: list[RankedTerms]) -> None:
        """Take the combinations that have all terms of a story's lead out of comparison."""
        lead_terms = story[0].terms
        has_lead = np.array([lead_terms <= terms for terms in self._terms])
        if has_lead.any():
            self._reported |= has_lead
            self._first = self._first or story

    def story_of(self, at: int) -> list[RankedTerms] | None:
        """Return the story that a combination mirrors, None where it is a story of its own."""
        if self._first is None or self._reported[at]:
            return None
        others = ~self._reported
        others[at] = False
        if not others.any():
            return self._first
        inside = self._scored.inside
        left = inside[at] - inside[others].mean()
        difference = self._scored.difference[at]
        if abs(left) <= MIRRORED * abs(difference):
            return self._first
        return None
