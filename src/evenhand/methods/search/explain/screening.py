"""Screening: of many features, those that the discrimination rests on most.

Where a space has many features, rules over all of them could be neither learnt from the inputs that
may be asked nor read. So inputs that were found are first changed in many features at once. A
feature matters where the discrimination ends more often with it among those that are changed than
without.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np

from evenhand.methods.search.explain.other_values import changed_points
from evenhand.runtime.budget import Meter
from evenhand.runtime.random_streams import stream

if TYPE_CHECKING:
    from collections.abc import Sequence

    from evenhand.methods.search.arrays import Flags, Generator, Indices, Numbers
    from evenhand.methods.search.probe import Probe
    from evenhand.space.feature import Points

MOST_FEATURES = 24
"""The most features that are explained; where there are more, these are chosen by screening."""
FEWEST_FEATURES = 4
"""The fewest features that screening chooses."""
_CLEAR = 2.0
"""How many standard deviations from chance more are chosen for."""
_TINY = 1e-12
"""The least that divides."""
_FIRST = 4
"""The part of the changes that shows how many features to change at once: one in four."""


@dataclass(frozen=True, slots=True)
class Screening:
    """The features to explain."""

    ranked: tuple[int, ...]
    """Their positions, first those whose change ends the discrimination most often."""
    of: int
    """How many features they were chosen from."""
    asked: int
    """The inputs asked for that."""

    @property
    def positions(self) -> tuple[int, ...]:
        """Their positions, in the order of the space."""
        return tuple(sorted(self.ranked))

    @property
    def is_choice(self) -> bool:
        """Whether features were left out."""
        return len(self.ranked) < self.of


@dataclass(frozen=True, slots=True)
class _JointChanges:
    """Inputs that were changed in several features each, and what came of that."""

    change: Flags
    """Which features of each input were changed, one row for each input."""
    scale: Indices
    """How many were: the place of their share among all shares."""
    ended: Flags
    """Of which inputs that ended the discrimination."""
    asked: int

    def joined(self, more: _JointChanges) -> _JointChanges:
        """Return these changes and others."""
        return _JointChanges(
            change=np.concatenate([self.change, more.change]),
            scale=np.concatenate([self.scale, more.scale]),
            ended=np.concatenate([self.ended, more.ended]),
            asked=self.asked + more.asked,
        )

    def scores(self) -> Numbers:
        """Return how much more often the discrimination ends with each feature than without.

        It is counted in standard deviations of what chance leaves between two that have nothing to
        do with each other. Changes are compared with others of as many features.
        """
        total = np.zeros(self.change.shape[1])
        variance = np.zeros(self.change.shape[1])
        for scale in np.unique(self.scale):
            alike = self.scale == scale
            change = self.change[alike]
            ended = self.ended[alike]
            centred = change - change.mean(axis=0)
            total += (ended - ended.mean()) @ centred
            variance += (centred**2).sum(axis=0) * ended.var()
        return np.asarray(total / np.sqrt(np.maximum(variance, _TINY)))


def screened(
    probe: Probe,
    points: Points,
    pairs: Indices,
    seed: int,
    queries: int,
    *,
    most: int = MOST_FEATURES,
    meter: Meter | None = None,
) -> Screening:
    """Return the features to explain: all, or those that matter most where there are many.

    No more than `queries` inputs are asked, two for each change. Without a change that can be
    asked, or the time for it, the first features are returned.

    >>> from evenhand.space.feature import category, integer
    >>> from evenhand.methods.search.probe import Probe
    >>> from evenhand.space.space import Space
    >>> from evenhand.subject.subject import Subject
    >>> from evenhand.subject.view import View
    >>> others = [integer(f"other{number}", 0, 9) for number in range(30)]
    >>> space = Space([category("sex", ["F", "M"]), *others, integer("age", 1, 10)])
    >>> loan = Subject(lambda people: (people["age"] > 9) & (people["sex"] == "M"), space)
    >>> probe = Probe(View(loan), ("sex",))
    >>> points = space.draw(100, np.random.default_rng(0))
    >>> points[:, 31] = 10.0
    >>> found = screened(probe, points, np.tile([0, 1], (100, 1)), 0, 400)
    >>> space.names[found.ranked[0]], len(found.ranked), found.of
    ('age', 4, 31)
    """
    features = [
        position
        for position in probe.free
        if probe.space.features[position].size_with_missing > 1
    ]
    if len(features) <= most:
        return Screening(probe.free, of=len(probe.free), asked=0)
    meter = meter or Meter()
    changes = queries // 2
    scores = np.zeros(len(features))
    asked = 0
    if changes > _FIRST and not meter.late:
        tried = _tried(probe, points, pairs, features, changes, stream(seed, "screening"))
        scores = tried.scores()
        asked = tried.asked
    ranked = np.argsort(-scores, kind="stable")
    clear = int((scores >= _CLEAR).sum())
    kept = ranked[: min(max(clear, FEWEST_FEATURES), most)]
    chosen = tuple(features[at] for at in kept.tolist())
    return Screening(chosen, of=len(features), asked=asked)


def _tried(
    probe: Probe,
    points: Points,
    pairs: Indices,
    features: Sequence[int],
    changes: int,
    rng: Generator,
) -> _JointChanges:
    """Change inputs that are drawn from those found, and ask them.

    Some changes are of half of the features, some of a quarter, and so on. All others are of as
    many as end the discrimination about half of the time, which tells most.
    """
    scales = math.floor(math.log2(len(features)))

    def changed(scale: Indices) -> _JointChanges:
        shares = 0.5 ** (1 + scale)
        change = rng.random((len(scale), len(features))) < shares[:, None]
        chosen = rng.integers(0, len(points), len(scale))
        inputs = changed_points(probe.space, features, points[chosen], change, rng)
        tried = probe.ask(inputs, pairs[chosen])
        # What constraints refuse tells nothing.
        valid = np.flatnonzero(tried.asked)
        return _JointChanges(
            change=change[valid],
            scale=scale[valid],
            ended=~tried.hits[valid],
            asked=int(tried.asked.sum()),
        )

    first_scales = np.arange(changes // _FIRST) % scales
    first = changed(first_scales)
    tried_of_each = np.bincount(first_scales, minlength=scales)
    ended_of_each = np.bincount(first.scale, weights=first.ended, minlength=scales)
    ended_share = ended_of_each / np.maximum(tried_of_each, 1)
    best = int(np.argmin(np.abs(ended_share - 0.5)))
    more = changed(np.full(changes - len(first_scales), best))
    return first.joined(more)
