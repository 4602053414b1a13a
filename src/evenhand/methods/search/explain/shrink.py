"""Shrink: make a discriminatory input the simplest of its kind.

An input is moved towards a typical row while it stays discriminatory. Cases move in lock step: each
round asks the candidates of all cases at once, so that a round costs one call of the software. A
move is accepted only where the software itself was asked and the two members of the candidate still
differ, in the same direction. Nothing here is random.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np

from evenhand.methods.search.explain.shrinking_cases import ShrinkingCases
from evenhand.runtime.budget import Meter
from evenhand.runtime.values import as_outcomes

if TYPE_CHECKING:
    from evenhand.methods.search.arrays import Counts, Indices, Outcomes
    from evenhand.methods.search.probe import Probe
    from evenhand.space.feature import Points

NEEDED = 100
"""About what a case takes at least.

Where not all can have it, the first do, rather than all be left half-way.
"""


def unusual(points: Points, toward: Points) -> Counts:
    """Return how many features of each point differ from a typical row.

    >>> unusual(np.array([[0.0, 40.0], [1.0, 33.0]]), np.array([0.0, 33.0])).tolist()
    [1, 1]
    """
    return np.asarray((points != toward).sum(axis=1), dtype=np.int64)


@dataclass(frozen=True, slots=True)
class Shrunk:
    """Simpler cases: a member of each class, the assignments that differ, and their outcomes."""

    points: Points
    pairs: Indices
    outcomes: Outcomes
    """One row for each of the two."""
    asked: int
    """How many inputs were asked."""


def shrink(
    probe: Probe,
    points: Points,
    pairs: Indices,
    toward: Points,
    queries: int,
    *,
    outcomes: Outcomes,
    meter: Meter | None = None,
) -> Shrunk:
    """Return each case as near to a typical row as it goes.

    No more than `queries` inputs are asked in all. Features become typical where the case persists
    (delta debugging), or a few of them make a case of a typical row. Numbers that cannot be typical
    come as near as bisection finds, then rounder, and at last the two members differ in as few
    features at issue, and as little, as possible. No feature ends further from typical than it was,
    and what is more favoured stays so.

    Parameters
    ----------
    points, pairs, outcomes
        What `Found` holds of each case.
    toward
        A typical row, one for all cases or one for each.
    meter
        Cases stay as they are where its time is up.

    Examples
    --------
    >>> from evenhand.methods.search.explain.diversity import typical
    >>> from evenhand.space.feature import category, integer
    >>> from evenhand.methods.search.probe import Probe
    >>> from evenhand.space.space import Space
    >>> from evenhand.subject.subject import Subject
    >>> from evenhand.subject.view import View
    >>> numbers = [integer("age", 18, 90), integer("hours", 0, 99)]
    >>> space = Space([category("sex", ["F", "M"]), *numbers])
    >>> loan = Subject(lambda people: (people["age"] > 61) & (people["sex"] == "M"), space)
    >>> probe = Probe(View(loan), ("sex",))
    >>> tried = probe.ask(space.encode([{"sex": "F", "age": 83, "hours": 7}]))
    >>> pairs = np.stack([tried.first, tried.second], axis=1)
    >>> shrink(probe, tried.points, pairs, typical(space), 100, outcomes=tried.pair).points.tolist()
    [[0.0, 62.0, 50.0]]
    """
    meter = meter or Meter()
    toward = np.broadcast_to(toward, points.shape)
    left = queries
    start = 0
    parts: list[ShrinkingCases] = []
    while start < len(points) or not parts:
        # Without anything left to ask, all others stay as they are.
        can_ask = left > 1 and not meter.late
        size = max(1, left // NEEDED) if can_ask else len(points)
        batch = slice(start, start + size)
        cases = ShrinkingCases(
            probe,
            points[batch],
            pairs[batch],
            outcomes[:, batch],
            toward[batch],
            left,
            meter,
        )
        cases.simplify()
        left = cases.left
        start += len(cases.points)
        parts.append(cases)
    shrunk_points = np.concatenate([cases.points for cases in parts])
    shrunk_outcomes = np.concatenate([cases.outcomes for cases in parts], axis=1)
    typed_outcomes = as_outcomes(shrunk_outcomes.ravel().tolist())
    return Shrunk(
        points=np.asfortranarray(shrunk_points),
        pairs=np.concatenate([cases.pairs for cases in parts]),
        outcomes=typed_outcomes.reshape(shrunk_outcomes.shape),
        asked=queries - left,
    )
