"""Stories of terms: rule sets of terms ranked, and those that tell the same gathered under the
worst of them.
"""

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

ALIKE = 1 / 3
"""Rule sets tell the same story if they share this part of their terms."""
MIRRORED = 0.5
"""A rule set mirrors others if no more than this part of its difference is left once they are out
of comparison.
"""


@dataclass(frozen=True, eq=False)
class Scored:
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
        """How much more favourable texts are with each combination, than what it is compared with."""
        return self.inside - self.outside


@dataclass(frozen=True, slots=True)
class Ranked:
    """One rule set of terms in the ranking of all."""

    scored: Scored
    at: int

    @property
    def terms(self) -> frozenset[str]:
        """The terms of the rule set."""
        return frozenset(term.text for term in self.scored.decided.family.terms[self.at])

    @property
    def rule(self) -> Rule:
        """The rule set as a rule, with categories for features."""
        return self.scored.decided.family.rule(self.at)


def gather(ranking: Sequence[Ranked], most: int, *, paired: bool) -> list[list[Ranked]]:
    """Gather rule sets under the worst of those that tell the same, up to a number of stories.

    Rule sets tell the same if they share terms. Where texts are `paired` with themselves under
    other terms, a term that is treated badly also makes all others of its category look well
    treated; that is no story of its own.
    """
    stories: list[list[Ranked]] = []
    families = {id(one.scored): one.scored for one in ranking} if paired else {}
    mirrors = {key: _Mirror(scored) for key, scored in families.items()}
    for one in ranking:
        story = next((story for story in stories if _alike(one.terms, story[0].terms)), None)
        if story is None and paired:
            story = mirrors[id(one.scored)].of(one.at)
        if story is not None:
            story.append(one)
        elif len(stories) < most:
            stories.append([one])
            for mirror in mirrors.values():
                mirror.add(stories[-1])
    return stories


def _alike(mine: frozenset[str], theirs: frozenset[str]) -> bool:
    return len(mine & theirs) >= ALIKE * len(mine | theirs)


class _Mirror:
    """Tells which combinations of a family differ from others only because of those that lead
    stories.
    """

    def __init__(self, scored: Scored) -> None:
        self._scored = scored
        self._terms = [
            frozenset(term.text for term in terms) for terms in scored.decided.family.terms
        ]
        self._told: NDArray[np.bool_] = np.zeros(len(self._terms), dtype=np.bool_)
        self._first: list[Ranked] | None = None

    def add(self, story: list[Ranked]) -> None:
        """Take those combinations out of comparison that have all terms of the one that leads a
        story.
        """
        has = np.array([story[0].terms <= terms for terms in self._terms])
        if has.any():
            self._told |= has
            self._first = self._first or story

    def of(self, at: int) -> list[Ranked] | None:
        """Return the story that a combination mirrors, None where it has something of its own to
        tell.
        """
        if self._first is None or self._told[at]:
            return None
        others = ~self._told
        others[at] = False
        if not others.any():
            return self._first
        left = self._scored.inside[at] - self._scored.inside[others].mean()
        return self._first if abs(left) <= MIRRORED * abs(self._scored.difference[at]) else None
