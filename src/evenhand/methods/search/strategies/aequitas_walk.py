"""The walk of Aequitas's local search: in which feature to step, which way, and where to."""

from __future__ import annotations

from bisect import bisect_right
from itertools import repeat
from typing import TYPE_CHECKING

import numpy as np

from evenhand.methods.search.strategies.moves import FeatureMoves

if TYPE_CHECKING:
    from collections.abc import Iterable, Sequence

    from evenhand.methods.search.arrays import Flags, Numbers
    from evenhand.methods.search.probe import Probe
    from evenhand.space.feature import Points

_LARGE = 2.0**64
"""Weights are scaled down by this power of two, which rounds nothing, before they can overflow."""
_LEAST_STRETCH = 16
"""How many steps are laid out at once, at least, before looking whether they keep the constraints.
"""


class Chances:
    """The chances σv of a step down and σpr of each feature, and their updates.

    Algorithm 2 of the paper makes the choices; Algorithms 3 and 4 update the chances. A choice is a
    number: the place of a feature for a step up in it, and the complement of that for a step down.

    >>> chances = Chances(2, dv=0.1, dpr=0.5)
    >>> # Down in the first, which is a hit; up in the second, which is not.
    >>> chances.course([[0.0, 0.0], [0.9, 0.9]], [True, False])
    [-1, 1]
    >>> chances.down, chances.shares.tolist()
    ([0.6, 0.6], [0.6666666666666666, 0.3333333333333333])
    """

    __slots__ = ("cumulative", "down", "dpr", "dv")

    def __init__(self, features: int, dv: float, dpr: float) -> None:
        self.dv = dv
        self.dpr = dpr
        # Algorithm 2, line 5.
        self.down = [0.5] * features
        """The chance of each feature that a step in it goes down: σv."""
        # Algorithm 2, line 4.
        self.cumulative = [float(place) for place in range(1, features + 1)]
        """Weights of the features, summed up to each.

        They are σpr but for a factor, which saves dividing all of them at every hit.
        """

    @property
    def shares(self) -> Numbers:
        """The chance of each feature to be the one to step in: σpr."""
        weights = np.diff(self.cumulative, prepend=0.0)
        return weights / self.cumulative[-1]

    def copy(self) -> Chances:
        """Return chances that are updated apart from these."""
        copied = Chances(0, self.dv, self.dpr)
        copied.down = self.down.copy()
        copied.cumulative = self.cumulative.copy()
        return copied

    def still(self, numbers: Numbers) -> list[int]:
        """Return the choices of steps after which nothing is updated (Aequitas random).

        Each takes two random numbers in [0, 1).
        """
        cumulative = np.array(self.cumulative)
        last = len(cumulative) - 1
        drawn_weights = numbers[:, 0] * cumulative[-1]
        place = np.searchsorted(cumulative, drawn_weights, side="right")
        place = np.minimum(place, last)
        goes_down = numbers[:, 1] < np.array(self.down)[place]
        choices: list[int] = np.where(goes_down, ~place, place).tolist()
        return choices

    def course(
        self,
        numbers: Iterable[Sequence[float]],
        hits: Iterable[bool],
        laid: Iterable[int] | None = None,
    ) -> list[int]:
        """Make choices, updating the chances after each by whether it led to a hit.

        The course ends before a choice that is not as it was laid.
        """
        down = self.down
        cumulative = self.cumulative
        dv = self.dv
        last = len(cumulative) - 1
        expected: Iterable[int | None] = repeat(None) if laid is None else laid
        choices = []
        # One step at a time, since each choice rests on what came of the one before. This is the
        # inner loop of every directed search, so its names are local.
        for (which, way), hit, wanted in zip(numbers, hits, expected, strict=False):
            # Algorithm 2, lines 9 and 10.
            place = bisect_right(cumulative, which * cumulative[last], 0, last)
            goes_down = way < down[place]
            choice = ~place if goes_down else place
            if wanted is not None and choice != wanted:
                break
            choices.append(choice)
            # Algorithm 3, lines 2 to 7: a hit down and a miss up both speak for down.
            if hit == goes_down:
                down[place] = min(down[place] + dv, 1.0)
            else:
                down[place] = max(down[place] - dv, 0.0)
            if hit and self.dpr:
                self._prefer(place)
        return choices

    def _prefer(self, place: int) -> None:
        """Choose a feature more often from now on (Algorithm 4, lines 8 to 11)."""
        cumulative = self.cumulative
        last = len(cumulative) - 1
        more = self.dpr * cumulative[last]
        for later in range(place, last + 1):
            cumulative[later] += more
        if cumulative[last] > _LARGE:
            cumulative[:] = [weight / _LARGE for weight in cumulative]


class Walkway:
    """Where steps lead: no further than the ends of a feature, and only to comparable classes.

    A class is comparable where constraints leave two of its members to compare.

    >>> from evenhand.space.feature import category, integer
    >>> from evenhand.space.space import Space
    >>> from evenhand.subject.subject import Subject
    >>> from evenhand.subject.view import View
    >>> from evenhand.methods.search.probe import Probe
    >>> features = [category("sex", ["F", "M"]), integer("age", 18, 90)]
    >>> space = Space(features, constraints=["age != 21"])
    >>> loan = Subject(lambda people: people["age"] > 30, space)
    >>> walkway = Walkway(Probe(View(loan), ("sex",)))
    >>> # Down twice, up three times.
    >>> walkway.walked(np.array([0.0, 19.0]), [~0, ~0, 0, 0, 0])[:, 1].tolist()
    [18.0, 18.0, 19.0, 20.0, 20.0]
    """

    def __init__(self, probe: Probe) -> None:
        self.probe = probe
        self._moves = FeatureMoves(probe)
        # As lists, which are read one number at a time much faster than arrays.
        self._low = self._moves.low.tolist()
        self._high = self._moves.high.tolist()
        self._size = self._moves.size.tolist()

    def __len__(self) -> int:
        return len(self._moves.features)

    def walked(self, start: Numbers, choices: Sequence[int]) -> Points:
        """Return the points after each of these steps.

        A step that cannot be taken stays where it is.
        """
        if not self.probe.space.constrained:
            return self._path(start, choices)
        found: Points = np.empty((len(choices), len(start)), order="F")
        done = 0
        # The path is laid out on the guess that all steps can be taken, up to the first that
        # cannot; after that, no further than about twice as far as the guess held.
        stretch = len(choices)
        while done < len(choices):
            path = self._path(start, choices[done : done + stretch])
            comparable = self._comparable(path)
            kept = len(path) if comparable.all() else int(comparable.argmin())
            found[done : done + kept] = path[:kept]
            done += kept
            if kept:
                start = path[kept - 1]
            if kept < len(path):
                found[done] = start
                done += 1
            stretch = max(_LEAST_STRETCH, 2 * kept)
        return found

    def _path(self, start: Numbers, choices: Sequence[int]) -> Points:
        """Return the points after each step, whatever constraints there are."""
        low = self._low
        high = self._high
        size = self._size
        here = start[self._moves.positions].tolist()
        rows = []
        for choice in choices:
            if choice < 0:
                which = ~choice
                value = here[which] - size[which]
                here[which] = max(value, low[which])
            else:
                value = here[choice] + size[choice]
                here[choice] = min(value, high[choice])
            rows.append(here.copy())
        found: Points = np.empty((len(rows), len(start)), order="F")
        found[:] = start
        found[:, self._moves.positions] = rows
        return self._moves.snapped(found)

    def _comparable(self, points: Points) -> Flags:
        """Return of which points two members of the class keep the constraints."""
        table = self.probe.table
        members = self.probe.space.under(points, self.probe.names, table)
        valid = self.probe.space.valid(members).reshape(len(table), -1)
        return np.asarray(valid.sum(axis=0) > 1)
