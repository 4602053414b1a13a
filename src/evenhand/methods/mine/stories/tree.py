"""The tree of stories: those about some of the people of another stand below it."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import TYPE_CHECKING

import numpy as np

from evenhand.methods.mine.stories.apart import variations
from evenhand.statistics.stratified import StratumSums, pooled_difference

if TYPE_CHECKING:
    from collections.abc import Sequence

    from evenhand.methods.mine.ranking import Ranking, RuleSet
    from evenhand.methods.mine.stories.choosing import (
        ChosenRule,
        StoryCandidates,
        StorySearch,
    )


@dataclass(frozen=True, slots=True)
class Added:
    """What a story adds to others: a difference with its limits, and from whom it is."""

    value: float
    low: float
    high: float
    within: bool
    """Whether it is from the others of the story above, rather than from people who are alike."""


@dataclass(eq=False)
class Story:
    """A rule set that is told, and where it stands in the tree."""

    chosen: ChosenRule
    lead: RuleSet
    added: Added | None
    """None of the first one, which adds to nothing."""
    parent: Story | None = None
    children: list[Story] = field(default_factory=list)
    variations: list[RuleSet] = field(default_factory=list)
    folded: int = 0

    @property
    def rules(self) -> int:
        """The rule sets that the story tells of: itself and its variations."""
        return 1 + self.folded


VARIATIONS = 5
"""Rule sets that are listed as variations of a story."""


def stories_of(
    ranking: Ranking, chosen: Sequence[ChosenRule], candidates: StoryCandidates
) -> list[Story]:
    """Return what is told, in the order of choice, each with its variations among candidates."""
    stories = []
    folded = variations(ranking, chosen, candidates)
    for number, (rule, alike) in enumerate(zip(chosen, folded, strict=True)):
        added = None if not number else _beyond(rule)
        listed = [ranking.rule_set(like) for like in alike[:VARIATIONS].tolist()]
        lead = ranking.rule_set(rule.number)
        stories.append(Story(rule, lead, added, variations=listed, folded=len(alike)))
    return stories


def tree_of(search: StorySearch, chosen: Sequence[ChosenRule]) -> list[Story]:
    """Return the stories from the root of the tree on; each is followed by those below it.

    A story that is told before the one that it is part of, and is not shown to differ from the
    others of that, is a variation of it.
    """
    ranking = search.ranking
    stories = stories_of(ranking, chosen, search.candidates)
    # The largest first, so that whom a story is part of is known before it.
    by_size = sorted(stories, key=lambda story: -story.lead.size)
    placed: list[Story] = []
    for story in by_size:
        parent = _parent(story, placed)
        if parent is None:
            placed.append(story)
            continue
        added = _within(search, story, parent)
        if added is None:
            _fold(story, parent)
            continue
        story.added = added
        story.parent = parent
        parent.children.append(story)
        placed.append(story)
    _drop_own(stories)
    strength = ranking.strength
    roots = [story for story in placed if story.parent is None]
    roots.sort(key=lambda story: -strength[story.chosen.number])
    return _in_order(roots)


def _drop_own(stories: Sequence[Story]) -> None:
    """Let a story add nothing to others where only those within it were told before it."""
    before: list[Story] = []
    for story in stories:
        others = [other for other in before if not _is_within(other, story)]
        if story.parent is None and not others:
            story.added = None
        before.append(story)


def _is_within(story: Story, other: Story) -> bool:
    """Return whether a story is about people of another alone."""
    return not (story.chosen.cover & ~other.chosen.cover).any()


def _in_order(stories: Sequence[Story]) -> list[Story]:
    """Return stories, each followed by those below it."""
    ordered = []
    for story in stories:
        below = sorted(story.children, key=_least_added)
        ordered += [story, *_in_order(below)]
    return ordered


def _least_added(story: Story) -> float:
    """Return the sort key that is least for the story that adds the most at least."""
    added = story.added
    assert added is not None
    return -min(abs(added.low), abs(added.high))


def _parent(story: Story, placed: Sequence[Story]) -> Story | None:
    """Return the smallest story that is about all people of another, and about more."""
    for other in reversed(placed):
        if _is_within(story, other) and other.lead.size > story.lead.size:
            return other
    return None


def _beyond(story: ChosenRule) -> Added:
    """Return what a story adds for people who are alike in what was told before it."""
    reach = story.z * story.error if story.z else 0.0
    return _added(story.beyond, reach, within=False)


def _within(search: StorySearch, story: Story, parent: Story) -> Added | None:
    """Return how far a story is from the others of the one above; None where that is not shown."""
    sums = search.ranking.table.sums
    whole = sums[:, [parent.chosen.number]]
    inside = sums[:, [story.chosen.number]]
    z = search.z(1)
    difference = pooled_difference([StratumSums(whole, inside)], z)
    value = float(difference.value[0])
    least = float(difference.strength(z)[0])
    same_side = np.sign(value) == np.sign(story.lead.difference)
    if least <= 0 or not same_side:
        return None
    reach = z * float(difference.error[0]) if z else 0.0
    return _added(value, reach, within=True)


def _added(value: float, reach: float, *, within: bool) -> Added:
    low = max(value - reach, -1.0)
    high = min(value + reach, 1.0)
    return Added(value, low, high, within)


def _fold(story: Story, parent: Story) -> None:
    """Fold a story under the one that it is a variation of."""
    parent.folded += story.rules
    listed = [story.lead, *story.variations, *parent.variations]
    parent.variations = listed[:VARIATIONS]
