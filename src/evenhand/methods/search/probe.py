"""Probe: ask inputs under several assignments of the features at issue, and tell which are
discriminatory.

Inputs that differ only in the features at issue are one class (Aequitas, Algorithm 1: I(d)). A
class is discriminatory when two of its members get outcomes that differ (Definition 1); it is found
once, whichever member was proposed.
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property
from itertools import combinations
from typing import TYPE_CHECKING, Any, cast

import numpy as np

from evenhand.runtime.errors import SpaceError
from evenhand.space.row_keys import mixed

if TYPE_CHECKING:
    from collections.abc import Sequence

    from numpy.typing import NDArray

    from evenhand.methods.search.margins import Margins
    from evenhand.space.feature import Points
    from evenhand.space.space import Space
    from evenhand.subject.view import View


PAIRED = 64
"""Up to how many assignments of several features are compared two by two for the two that differ in
the fewest.
"""


@dataclass(frozen=True, slots=True)
class Tried:
    """What came of some classes. Rows of the two-dimensional fields are the assignments asked,
    columns the classes.
    """

    points: Points
    """A member of each class, with the first assignment."""
    keys: NDArray[np.uint64]
    """A number for each class that no other class shares."""
    assigned: NDArray[np.intp]
    outcomes: NDArray[Any]
    valid: NDArray[np.bool_]
    """Which members keep the constraints; others were not asked."""
    hits: NDArray[np.bool_]
    first: NDArray[np.intp]
    second: NDArray[np.intp]
    """Of hits, the two assignments whose outcomes differ, the less favoured first where that is
    known.
    """
    pair: NDArray[Any]
    """Of hits, the two outcomes, one row for each of first and second."""
    near: NDArray[np.float64]
    """How near each class is to being a hit, from 0 (or not known) to 1; of a hit, how far it is
    from being none.
    """
    middle: NDArray[np.float64]
    gap: NDArray[np.float64]
    """Where margins are told, the middle between the largest and the least of a class, and how far
    apart they are.
    """

    def __len__(self) -> int:
        return len(self.points)

    @property
    def asked(self) -> NDArray[np.int64]:
        """How many inputs were asked for each class."""
        return np.asarray(self.valid.sum(axis=0), dtype=np.int64)

    @property
    def side(self) -> NDArray[Any]:
        """An outcome of each class; of one that is no hit all are the same, or as good as that."""
        return np.asarray(self.outcomes[self.valid.argmax(axis=0), np.arange(len(self))])

    def take(self, rows: NDArray[Any] | slice) -> Tried:
        """Return some of the classes."""
        return Tried(
            self.points[rows],
            self.keys[rows],
            self.assigned[:, rows],
            self.outcomes[:, rows],
            self.valid[:, rows],
            self.hits[rows],
            self.first[rows],
            self.second[rows],
            self.pair[:, rows],
            self.near[rows],
            self.middle[rows],
            self.gap[rows],
        )

    def joined(self, others: Sequence[Tried]) -> Tried:
        """Return these classes and others; of which assignments were asked, and what came of each,
        nothing is kept.
        """
        every = [self, *others]
        none = np.empty((0, sum(map(len, every))))
        return Tried(
            np.concatenate([part.points for part in every]),
            np.concatenate([part.keys for part in every]),
            none.astype(np.intp),
            none,
            none.astype(np.bool_),
            np.concatenate([part.hits for part in every]),
            np.concatenate([part.first for part in every]),
            np.concatenate([part.second for part in every]),
            np.concatenate([part.pair for part in every], axis=1),
            np.concatenate([part.near for part in every]),
            np.concatenate([part.middle for part in every]),
            np.concatenate([part.gap for part in every]),
        )


@dataclass(frozen=True)
class Probe:
    """Asks about one set of features and one output of the software.

    >>> from evenhand.space.feature import category, integer
    >>> from evenhand.space.space import Space
    >>> from evenhand.subject.subject import Subject
    >>> from evenhand.subject.view import View
    >>> space = Space([category("sex", ["F", "M"]), integer("age", 18, 90)])
    >>> loan = Subject(lambda people: (people["age"] > 30) & (people["sex"] == "M"), space)
    >>> probe = Probe(View(loan), ("sex",))
    >>> probe.ask(space.encode([{"sex": "F", "age": 20}, {"sex": "F", "age": 40}])).hits.tolist()
    [False, True]
    """

    view: View
    names: tuple[str, ...]
    margins: Margins | None = None
    """Where they are told, margins come with the outcomes, for the same price."""

    @property
    def space(self) -> Space:
        """What an input can be."""
        return self.view.subject.space

    @cached_property
    def over(self) -> tuple[int, ...]:
        """Positions of the features at issue."""
        return self.space.sets(self.names)

    @cached_property
    def table(self) -> Points:
        """The assignments of the features at issue, one row each."""
        found = self.space.assignments(self.names)
        found = found[
            ~np.isnan(found).any(axis=1)
        ]  # bins stand for a continuous feature; its own value is none
        if len(found) < 2:
            raise SpaceError(
                f"{' and '.join(self.names)} can take only one value, so there is nothing to"
                " compare"
            )
        return found

    @cached_property
    def free(self) -> tuple[int, ...]:
        """Positions of the features that a search may change: those the software takes, but for
        those at issue.
        """
        return tuple(position for position in self.space.passed if position not in self.over)

    @cached_property
    def _changes(self) -> list[tuple[int, int]]:
        """Pairs of assignments, those that change the fewest features first, then in their order."""
        pairs = combinations(range(len(self.table)), 2)
        return sorted(
            pairs, key=lambda pair: int((self.table[pair[0]] != self.table[pair[1]]).sum())
        )

    def canonical(self, points: Points) -> Points:
        """Return the members of the same classes that have the first assignment."""
        found: Points = np.array(points, dtype=np.float64, order="F")
        found[:, list(self.over)] = self.table[0]
        return found

    def keys(self, points: Points) -> NDArray[np.uint64]:
        """Return a number for each point that it shares with the members of its class, and in
        practice with no other.

        It is a hash: a collision leaves an input out of a search, and is of no other consequence.
        """
        return mixed((points[:, position] for position in self.free), len(points))

    def member(self, points: Points, assigned: NDArray[np.intp]) -> Points:
        """Return the member of each point's class that has this assignment."""
        found: Points = np.array(points, dtype=np.float64, order="F")
        for column, position in enumerate(self.over):
            found[:, position] = self.table[assigned, column]
        return found

    def valid(self, points: Points, pairs: NDArray[np.intp]) -> NDArray[np.bool_]:
        """Tell of which points both members with these assignments keep the constraints."""
        if not self.space.constraints:
            return np.ones(len(points), dtype=np.bool_)
        both = [self.space.valid(self.member(points, pairs[:, side])) for side in (0, 1)]
        return np.asarray(both[0] & both[1])

    def ask(self, points: Points, pairs: NDArray[np.intp] | None = None) -> Tried:
        """Ask the members of each point's class: all of them, or the two with these assignments."""
        n = len(points)
        if pairs is None:
            assigned = np.repeat(np.arange(len(self.table)), n).reshape(len(self.table), n)
        else:
            assigned = np.ascontiguousarray(pairs.T)
        tiled: Points = np.empty((assigned.size, points.shape[1]), dtype=np.float64, order="F")
        for position in range(points.shape[1]):
            tiled[:, position].reshape(assigned.shape)[:] = points[:, position]
        for column, position in enumerate(self.over):
            tiled[:, position] = self.table[assigned.ravel(), column]
        outcomes, valid, margins = self._decided(tiled, assigned.shape)
        hits, first, second = self._differing(assigned, outcomes, valid)
        pair = np.stack([_picked(outcomes, assigned, first), _picked(outcomes, assigned, second)])
        first, second, pair = self._ordered(first, second, pair, hits)
        points = self.canonical(points)
        near, middle, gap = self._leaning(outcomes, margins, valid)
        keys = self.keys(points)
        return Tried(
            points, keys, assigned, outcomes, valid, hits, first, second, pair, near, middle, gap
        )

    def _decided(
        self, tiled: Points, shape: tuple[int, ...]
    ) -> tuple[NDArray[Any], NDArray[np.bool_], NDArray[np.float64] | None]:
        """Return the outcomes of members, which of them keep the constraints, and their margins
        where they are told.
        """
        if not self.space.constraints:
            decided, margins = self._answers(tiled)
            return (
                decided.reshape(shape),
                np.ones(shape, dtype=np.bool_),
                None if margins is None else margins.reshape(shape),
            )
        valid = self.space.valid(tiled).reshape(shape)
        valid &= valid.sum(axis=0) > 1  # one member alone has nothing to be compared with
        asked = valid.ravel()
        decided, told = self._answers(np.asfortranarray(tiled[asked]))
        # What stands for members that were not asked is never read, but must be of the same kind.
        outcomes = np.full(len(tiled), decided[0] if len(decided) else 0, dtype=decided.dtype)
        outcomes[asked] = decided
        if told is None:
            return outcomes.reshape(shape), valid, None
        margins = np.zeros(len(tiled))
        margins[asked] = told
        return outcomes.reshape(shape), valid, margins.reshape(shape)

    def _answers(self, points: Points) -> tuple[NDArray[Any], NDArray[np.float64] | None]:
        if self.margins is not None and self.margins.bounded:
            return self.margins.decide(points)
        return self.view.decide(points), None

    def _leaning(
        self, outcomes: NDArray[Any], margins: NDArray[np.float64] | None, valid: NDArray[np.bool_]
    ) -> tuple[NDArray[np.float64], NDArray[np.float64], NDArray[np.float64]]:
        """Return how near classes are to a hit, the middle between their margins, and the gap."""
        differs, n = self.view.differs, outcomes.shape[1]
        told: NDArray[np.float64]
        if margins is not None:
            told = margins
        elif differs is None or callable(differs) or outcomes.dtype.kind not in "iuf":
            return np.zeros(n), np.zeros(n), np.zeros(n)
        else:
            told = outcomes.astype(np.float64)
        top = np.where(valid, told, -np.inf).max(axis=0, initial=-np.inf)
        bottom = np.where(valid, told, np.inf).min(axis=0, initial=np.inf)
        with np.errstate(invalid="ignore", divide="ignore"):
            gap = np.nan_to_num(top - bottom, nan=0.0, neginf=0.0)
            if margins is None:
                share = gap / float(cast("float", differs))
                return (
                    np.clip(np.nan_to_num(share, nan=0.0, posinf=1.0), 0.0, 1.0),
                    np.zeros(n),
                    np.zeros(n),
                )
            # On either side of zero it is a hit, the further from ceasing to be one the more even
            # both margins are.
            ends = np.sort(np.abs([top, bottom]), axis=0)
            share = np.where((top > 0) & (bottom <= 0), ends[0], gap) / ends[1]
            # Rounded, so that what ties does so whatever batch a model was asked in.
            near = np.round(
                np.clip(np.nan_to_num(share, nan=0.0, posinf=1.0, neginf=0.0), 0.0, 1.0), 9
            )
            return near, np.nan_to_num((top + bottom) / 2, posinf=0.0, neginf=0.0), gap

    def _differing(
        self, assigned: NDArray[np.intp], outcomes: NDArray[Any], valid: NDArray[np.bool_]
    ) -> tuple[NDArray[np.bool_], NDArray[np.intp], NDArray[np.intp]]:
        """Return which classes have two members that differ, and the two that differ in the fewest
        features.
        """
        n = outcomes.shape[1]
        hits = np.zeros(n, dtype=np.bool_)
        first, second = np.zeros(n, dtype=np.intp), np.zeros(n, dtype=np.intp)
        if (
            len(outcomes) > 2
            and not self.view.graded
            and (len(self.over) == 1 or len(outcomes) > PAIRED)
        ):
            return (
                self._first_apart(assigned, outcomes, valid)
                if valid.any()
                else (hits, first, second)
            )
        pairs = [(0, 1)] if len(outcomes) == 2 else self._changes
        left = np.arange(n) if len(outcomes) == 2 else np.flatnonzero(self._may_differ(outcomes))
        for one, other in pairs:
            if not len(left):
                break
            rows = left[valid[one, left] & valid[other, left]]
            if not len(rows):
                continue
            rows = rows[self.view.distance(outcomes[one, rows], outcomes[other, rows]) > 0]
            hits[rows], first[rows], second[rows] = True, assigned[one, rows], assigned[other, rows]
            left = left[~hits[left]]
        return hits, first, second

    def _first_apart(
        self, assigned: NDArray[np.intp], outcomes: NDArray[Any], valid: NDArray[np.bool_]
    ) -> tuple[NDArray[np.bool_], NDArray[np.intp], NDArray[np.intp]]:
        """Return the same without comparing all pairs: the first member that differs from any, and
        the first of those.

        Of labels, the first of all differs from another, or none does; of numbers, the first that
        is far from an end.
        """
        rows, one = np.arange(outcomes.shape[1]), valid.argmax(axis=0)
        gap = self.view.differs
        if isinstance(gap, float) and outcomes.dtype.kind in "biuf":
            told = outcomes.astype(np.float64)
            top, bottom = (
                np.where(valid, told, -np.inf).max(axis=0),
                np.where(valid, told, np.inf).min(axis=0),
            )
            with np.errstate(invalid="ignore"):
                one = (valid & (np.maximum(top - told, told - bottom) > gap)).argmax(axis=0)
        apart = (self.view.distance(outcomes, outcomes[one, rows]) > 0) & valid & valid[one, rows]
        return apart.any(axis=0), assigned[one, rows], assigned[apart.argmax(axis=0), rows]

    def _may_differ(self, outcomes: NDArray[Any]) -> NDArray[np.bool_]:
        """Tell which classes need their pairs compared one by one: equal outcomes never differ."""
        return np.asarray((outcomes != outcomes[0]).any(axis=0))

    def _ordered(
        self,
        first: NDArray[np.intp],
        second: NDArray[np.intp],
        pair: NDArray[Any],
        hits: NDArray[np.bool_],
    ) -> tuple[NDArray[np.intp], NDArray[np.intp], NDArray[Any]]:
        """Put the less favoured member first, where it is known what is favourable, else the first
        assignment.
        """
        if not hits.any():
            return first, second, pair
        amount = self._amount(pair[:, hits])
        better = np.zeros(len(hits), dtype=np.bool_)
        better[hits] = first[hits] > second[hits] if amount is None else amount[0] > amount[1]
        swapped = np.where(better, pair[::-1], pair)
        return np.where(better, second, first), np.where(better, first, second), swapped

    def _amount(self, pair: NDArray[Any]) -> NDArray[Any] | None:
        """Return how favourable outcomes are, None where that is not known."""
        if not self.view.counts:
            return pair
        meaning = self.view.meaning
        known = meaning.known if meaning.labels is None else meaning.labels
        flags = pair.dtype.kind == "b" or (known is not None and set(known) <= {0, 1})
        return self.view.favourable(pair) if flags or meaning.positive is not None else None


def _picked(
    outcomes: NDArray[Any], assigned: NDArray[np.intp], wanted: NDArray[np.intp]
) -> NDArray[Any]:
    """Return the outcome of each class's member with this assignment."""
    # Where not two but all assignments are asked, they are in their order.
    place = np.where(assigned[0] == wanted, 0, 1) if len(assigned) == 2 else wanted
    return np.asarray(outcomes[place, np.arange(outcomes.shape[1])])
