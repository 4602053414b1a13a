"""Rule sets about nearly the same people: the variations of stories, and stories by overlap."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from evenhand.methods.mine.stories.choosing import ChosenRule, StoryCandidates

if TYPE_CHECKING:
    from collections.abc import Sequence

    from numpy.typing import NDArray

    from evenhand.methods.mine.ranking import Ranking
    from evenhand.statistics.intervals import Floats

    Bits = NDArray[np.uint64]
    Indices = NDArray[np.intp]

MOST_VARIATIONS = 4096
"""The most rule sets that are looked at for variations of stories: the strongest."""
OVERLAP = 0.5
"""Rule sets tell the same story if a side of one, they or everyone else, shares this part with the
other's smaller.
"""


def variations(
    ranking: Ranking, chosen: Sequence[ChosenRule], candidates: StoryCandidates
) -> list[Indices]:
    """Return the variations of each story, strongest first: candidates about nearly its people.

    Each is a variation of the story whose people it shares the most with.
    """
    candidates = _strongest(ranking, candidates)
    numbers = candidates.numbers
    overlaps = [_overlap(ranking, story.cover, candidates) for story in chosen]
    table = np.array(overlaps).reshape(len(chosen), len(numbers))
    nearest = table.argmax(axis=0) if len(chosen) else np.empty(0, dtype=np.intp)
    is_chosen = np.isin(numbers, [story.number for story in chosen])
    found = []
    for place in range(len(chosen)):
        alike = (nearest == place) & (table[place] >= OVERLAP) & ~is_chosen
        own = numbers[alike]
        order = np.argsort(-ranking.strength[own], kind="stable")
        found.append(own[order])
    return found


def _strongest(ranking: Ranking, candidates: StoryCandidates) -> StoryCandidates:
    """Return the strongest of very many candidates, in their order."""
    if len(candidates) <= MOST_VARIATIONS:
        return candidates
    order = np.argsort(-ranking.strength[candidates.numbers], kind="stable")
    kept = np.sort(order[:MOST_VARIATIONS])
    return candidates.only(kept)


def chosen_apart(ranking: Ranking, most: int) -> list[ChosenRule]:
    """Return the rule sets with the largest differences, those about nearly the same people once.

    Algorithm 2 of TestSGD scores each rule set by draws of its own, so that cells have no rates,
    and there is nothing to compare within another.
    """
    every = StoryCandidates(ranking, np.arange(ranking.examined))
    strength = np.array(ranking.strength)
    chosen: list[ChosenRule] = []
    while len(chosen) < most and np.isfinite(strength).any():
        number = int(np.argmax(strength))
        story = ChosenRule(number, every.bits[number], beyond=0.0, error=0.0, z=0.0)
        chosen.append(story)
        strength[_overlap(ranking, story.cover, every) >= OVERLAP] = -np.inf
        strength[number] = -np.inf
    return chosen


def _overlap(ranking: Ranking, cover: Bits, candidates: StoryCandidates) -> Floats:
    """Return the part that groups share with a story's smaller side, or everyone else does.

    Each part is a Jaccard index: what two sets share over what they are together.
    """
    covers = ranking.found.search.covers
    total = ranking.total
    people = ranking.table.sums[0, candidates.numbers]
    own = float(covers.sums(cover[None], last=1)[0, 0])
    shared = covers.sums(candidates.bits, last=1, within=cover)[0]
    if 2 * own > total:
        # The smaller side is whom a story is about.
        shared = people - shared
        own = total - own
    shared_by_others = own - shared
    of_group = shared / (people + own - shared)
    others = total - people
    of_others = shared_by_others / (others + own - shared_by_others)
    return np.asarray(np.maximum(of_group, of_others))
