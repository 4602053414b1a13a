"""The walk of Aequitas's local search: which feature to step in, which way, and where that leads."""

from __future__ import annotations

from bisect import bisect_right
from itertools import repeat
from typing import TYPE_CHECKING

import numpy as np

from evenhand.methods.search.strategies.moves import Moves

if TYPE_CHECKING:
    from collections.abc import Iterable, Sequence

    from numpy.typing import NDArray

    from evenhand.methods.search.probe import Probe
    from evenhand.space.feature import Points

_LARGE = 2.0**64
"""Weights are scaled down by this power of two, which rounds nothing, before they can overflow."""
_LEAST_STRETCH = 16
"""How many steps are laid out at once, at least, before looking whether they keep the constraints.
"""


class Chances:
    """The chances σv of a step down and σpr of each feature (Algorithm 2), and their updates
    (Algorithms 3 and 4).

    A choice is a number: the place of a feature for a step up in it, and the complement of that for
    a step down.

    >>> chances = Chances(2, dv=0.1, dpr=0.5)
    >>> chances.course([[0.0, 0.0], [0.9, 0.9]], [True, False])  # down in the first, a hit; up in the second, a miss
    [-1, 1]
    >>> chances.down, chances.shares.tolist()
    ([0.6, 0.6], [0.6666666666666666, 0.3333333333333333])
    """

    __slots__ = ("down", "dpr", "dv", "upto")

    def __init__(self, features: int, dv: float, dpr: float) -> None:
        self.dv, self.dpr = dv, dpr
        self.down = [0.5] * features
        """The chance of each feature that a step in it goes down: σv."""
        self.upto = [float(place) for place in range(1, features + 1)]
        """Weights of the features, summed up to each: σpr but for a factor, which saves dividing
        all at every hit.
        """

    @property
    def shares(self) -> NDArray[np.float64]:
        """The chance of each feature to be the one to step in: σpr."""
        return np.diff(self.upto, prepend=0.0) / self.upto[-1]

    def copy(self) -> Chances:
        """Return chances that are updated apart from these."""
        found = Chances(0, self.dv, self.dpr)
        found.down, found.upto = self.down.copy(), self.upto.copy()
        return found

    def still(self, numbers: NDArray[np.float64]) -> list[int]:
        """Return the choices of steps after which nothing is updated; each takes two random numbers
        in [0, 1).
        """
        upto = np.array(self.upto)
        place = np.minimum(
            np.searchsorted(upto, numbers[:, 0] * upto[-1], side="right"), len(upto) - 1
        )
        back = numbers[:, 1] < np.array(self.down)[place]
        found: list[int] = np.where(back, ~place, place).tolist()
        return found

    def course(
        self,
        numbers: Iterable[Sequence[float]],
        hits: Iterable[bool],
        laid: Iterable[int] | None = None,
    ) -> list[int]:
        """Make choices, updating after each by whether it led to a hit; end before one that is not
        as it was laid.
        """
        down, upto, dv, dpr = self.down, self.upto, self.dv, self.dpr
        last = len(upto) - 1
        found = []
        # One step at a time, since each choice rests on what came of the one before.
        for (which, way), hit, wanted in zip(
            numbers, hits, repeat(None) if laid is None else laid, strict=False
        ):
            place = bisect_right(upto, which * upto[last], 0, last)
            back = way < down[place]
            choice = ~place if back else place
            if wanted is not None and choice != wanted:
                break
            found.append(choice)
            if hit == back:
                down[place] = min(down[place] + dv, 1.0)
            else:
                down[place] = max(down[place] - dv, 0.0)
            if hit and dpr:
                more = dpr * upto[last]
                for later in range(place, last + 1):
                    upto[later] += more
                if upto[last] > _LARGE:
                    upto[:] = [weight / _LARGE for weight in upto]
        return found


class Ground:
    """Where steps lead: no further than the ends of a feature, and only to classes in which there
    is a pair to compare.

    >>> from evenhand.space.feature import category, integer
    >>> from evenhand.space.space import Space
    >>> from evenhand.subject.subject import Subject
    >>> from evenhand.subject.view import View
    >>> from evenhand.methods.search.probe import Probe
    >>> space = Space([category("sex", ["F", "M"]), integer("age", 18, 90)], constraints=["age != 21"])
    >>> ground = Ground(Probe(View(Subject(lambda people: people["age"] > 30, space)), ("sex",)))
    >>> ground.walked(np.array([0.0, 19.0]), [~0, ~0, 0, 0, 0])[:, 1].tolist()  # down twice, up three times
    [18.0, 18.0, 19.0, 20.0, 20.0]
    """

    def __init__(self, probe: Probe) -> None:
        self.probe = probe
        self._moves = Moves(probe)
        self._ends = [
            part.tolist() for part in (self._moves.low, self._moves.high, self._moves.size)
        ]

    def __len__(self) -> int:
        return len(self._moves.features)

    def walked(self, start: NDArray[np.float64], choices: Sequence[int]) -> Points:
        """Return the points after each of these steps; one that cannot be taken stays where it is."""
        if not self.probe.space.constraints:
            return self._path(start, choices)
        found: Points = np.empty((len(choices), len(start)), order="F")
        done, stretch = 0, len(choices)
        while done < len(choices):
            part = self._path(start, choices[done : done + stretch])
            fine = self._comparable(part)
            kept = len(part) if fine.all() else int(fine.argmin())
            found[done : done + kept] = part[:kept]
            done += kept
            start = part[kept - 1] if kept else start
            if kept < len(part):
                found[done] = start
                done += 1
            stretch = max(_LEAST_STRETCH, 2 * kept)
        return found

    def _path(self, start: NDArray[np.float64], choices: Sequence[int]) -> Points:
        low, high, size = self._ends
        here = start[self._moves.positions].tolist()
        rows = []
        for choice in choices:
            if choice < 0:
                value, end = here[~choice] - size[~choice], low[~choice]
                here[~choice] = end if value < end else value
            else:
                value, end = here[choice] + size[choice], high[choice]
                here[choice] = end if value > end else value
            rows.append(here.copy())
        found: Points = np.empty((len(rows), len(start)), order="F")
        found[:] = start
        found[:, self._moves.positions] = rows
        return self._moves.snapped(found)

    def _comparable(self, points: Points) -> NDArray[np.bool_]:
        table = self.probe.table
        members = self.probe.space.under(points, self.probe.names, table)
        return np.asarray(self.probe.space.valid(members).reshape(len(table), -1).sum(axis=0) > 1)
