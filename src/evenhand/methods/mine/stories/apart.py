"""Stories by overlap: the strongest rule sets about different people, where cells have no rates."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from evenhand.methods.mine.stories.choosing import VARIATIONS, ToldStory
from evenhand.methods.mine.stories.tree import Story

if TYPE_CHECKING:
    from evenhand.methods.mine.ranking import Ranking
    from evenhand.statistics.intervals import Floats

OVERLAP = 0.5
"""Rule sets tell the same story if a side of one, they or everyone else, shares this part with the
other's smaller.
"""


def stories_apart(ranking: Ranking, most: int) -> list[Story]:
    """Return the rule sets with the largest differences, those about nearly the same people once.

    Algorithm 2 of TestSGD scores each rule set by draws of its own, so that there is nothing to
    compare within another.
    """
    covers = ranking.found.search.covers
    strength = np.array(ranking.strength)
    people = ranking.table.sums[0]
    stories: list[Story] = []
    while len(stories) < most and np.isfinite(strength).any():
        number = int(np.argmax(strength))
        cover = covers.of_rules(ranking.table.rule(number)[None])[0]
        alike = np.flatnonzero(
            (_overlap(ranking, cover, people) >= OVERLAP) & np.isfinite(strength)
        )
        order = np.argsort(-strength[alike], kind="stable")
        like = [int(other) for other in alike[order] if other != number]
        story = ToldStory(number, cover, 0.0, 0.0, 0.0)
        variations = [ranking.rule_set(other) for other in like[:VARIATIONS]]
        lead = ranking.rule_set(number)
        stories.append(Story(story, lead, None, variations=variations, folded=len(like)))
        strength[alike] = -np.inf
        strength[number] = -np.inf
    return stories


def _overlap(ranking: Ranking, cover: np.ndarray, people: Floats) -> Floats:
    """Return the part that groups share with a story's smaller side, or everyone else does.

    Each part is a Jaccard index: what two sets share over what they are together.
    """
    covers = ranking.found.search.covers
    total = ranking.total
    own = float(covers.sums(cover[None], last=1)[0, 0])
    shared = np.empty(ranking.examined)
    done = 0
    for level in ranking.table.levels:
        part = covers.sums(covers.of_rules(level.rules) & cover, last=1)[0]
        shared[done : done + len(part)] = part
        done += len(part)
    if 2 * own > total:
        # The smaller side is whom a story is about.
        shared = people - shared
        own = total - own
    shared_by_others = own - shared
    of_group = shared / (people + own - shared)
    others = total - people
    of_others = shared_by_others / (others + own - shared_by_others)
    return np.maximum(of_group, of_others)
