"""How far a search goes: how precisely sets are to be known, and how many inputs there are.

Both follow from sizes, the limit and whether an answer costs a process or a request, never from the
clock.
"""

from __future__ import annotations

import math
from typing import TYPE_CHECKING

from evenhand.scores.enumeration import IN_MEMORY, SMALL, part_size, whole
from evenhand.scores.question import COARSE, FINE, MARGIN

if TYPE_CHECKING:
    from collections.abc import Sequence

    from evenhand.methods.subsets.decision import Judge
    from evenhand.space.feature import Points
    from evenhand.subject.subject import Subject


def margins_of(limit: float, margin: float | None, *, expensive: bool) -> tuple[float, ...]:
    """Return how precisely sets are to be known, one round of the search after the other.

    Each round asks on about the sets that the one before left undecided.

    >>> margins_of(0.1, None, expensive=True), margins_of(0.1, 0.03, expensive=False)
    ((0.02,), (0.03,))
    >>> margins_of(0.5, None, expensive=False)
    (0.05, 0.025, 0.0125, 0.01)
    """
    if margin is not None:
        return (margin,)
    if not limit:
        # Only every input there is can decide it.
        return (MARGIN,)
    if expensive:
        return (min(MARGIN, limit / COARSE),)
    finest = min(MARGIN, limit / FINE)
    margins = [MARGIN]
    while margins[-1] > finest:
        half = margins[-1] / 2
        margins.append(max(half, finest))
    return tuple(margins)


def inputs_of(subject: Subject, names: Sequence[str]) -> int | float:
    """Return how many inputs there are that the scores of these features can depend on."""
    kept = _that_may_lack(subject, names)
    return part_size(subject.space, kept, subject.unread)


def every_input(subject: Subject, names: Sequence[str], most: int) -> Points:
    """Return those inputs; SpaceError where there are more than `most`."""
    kept = _that_may_lack(subject, names)
    return whole(subject.space, kept, most, subject.unread)


def _that_may_lack(subject: Subject, names: Sequence[str]) -> list[str]:
    """Return the features that matter even where the software does not read them.

    Whoever lacks a value has no twins.
    """
    features = [subject.space.feature(name) for name in names]
    return [feature.name for feature in features if feature.missing]


def worth_enumerating(subject: Subject, names: Sequence[str], judge: Judge) -> int:
    """Return how many inputs are asked at once, rather than some that are drawn.

    Where an answer is expensive, these are no more than it takes to clear each feature by itself,
    were all people treated alike. A limit of 0 or 1 cannot be decided in any other way.
    """
    expensive = subject.adapter.expensive
    if not 0 < judge.limit < 1:
        return SMALL if expensive else IN_MEMORY
    if not expensive:
        return SMALL
    variants = 1.0
    for name in names:
        feature = subject.space.feature(name)
        # The draw itself is one of the variants.
        variants += feature.choices - 1
    if math.isinf(variants):
        return SMALL
    return judge.fewest_draws() * int(variants)
