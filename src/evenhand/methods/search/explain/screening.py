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

    rows: Indices
    """Their places among all that were tried."""
    change: Flags
    """Which features of each input were changed, one row for each input."""
    ended: Flags
    """Of which inputs that ended the discrimination."""
    asked: int

    def scores(self) -> Numbers:
        """Return how much more often the discrimination ends with each feature than without.

        It is counted in standard deviations of what chance leaves between two that have nothing to
        do with each other.
        """
        if not len(self.ended):
            return np.zeros(self.change.shape[1])
        centred = self.change - self.change.mean(axis=0)
        ended = self.ended - self.ended.mean()
        deviations = np.sqrt((centred**2).sum(axis=0)) * ended.std()
        return np.asarray(ended @ centred / np.maximum(deviations, _TINY))


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
        rng = stream(seed, "screening")
        shares = 2.0 ** -np.arange(1, math.floor(math.log2(len(features))) + 1)
        which = np.arange(changes // _FIRST) % len(shares)
        first = _changed(probe, points, pairs, features, shares[which], rng)
        best = shares[_halving(first, which, len(shares))]
        more = np.full(changes - len(which), best)
        second = _changed(probe, points, pairs, features, more, rng)
        scores = second.scores()
        asked = first.asked + second.asked
    ranked = np.argsort(-scores, kind="stable")
    clear = int((scores >= _CLEAR).sum())
    kept = ranked[: min(max(clear, FEWEST_FEATURES), most)]
    chosen = tuple(features[at] for at in kept.tolist())
    return Screening(chosen, of=len(features), asked=asked)


def _changed(
    probe: Probe,
    points: Points,
    pairs: Indices,
    features: Sequence[int],
    shares: Numbers,
    rng: Generator,
) -> _JointChanges:
    """Change a share of the features of inputs that are drawn from those found, and ask them.

    There is one input for each share. Inputs that constraints refuse are not counted.
    """
    change = rng.random((len(shares), len(features))) < shares[:, None]
    chosen = rng.integers(0, len(points), len(shares))
    changed = changed_points(probe.space, features, points[chosen], change, rng)
    tried = probe.ask(changed, pairs[chosen])
    valid = np.flatnonzero(tried.asked)
    return _JointChanges(
        rows=valid,
        change=change[valid],
        ended=~tried.hits[valid],
        asked=int(tried.asked.sum()),
    )


def _halving(changes: _JointChanges, which: Indices, scales: int) -> int:
    """Return the scale of which about half of all changes are valid and end the discrimination."""
    tried = np.bincount(which, minlength=scales)
    ended = np.bincount(which[changes.rows], weights=changes.ended, minlength=scales)
    return int(np.argmin(np.abs(ended / np.maximum(tried, 1) - 0.5)))
