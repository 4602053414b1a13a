"""Probe: ask inputs under several assignments of the features at issue.

Inputs that differ only in the features at issue are one class (Aequitas, Algorithm 1: I(d)). A
class is discriminatory, a hit, when two of its members get outcomes that differ (Definition 1); it
is found once, whichever member was proposed.
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property
from itertools import combinations
from typing import TYPE_CHECKING, Any, cast

import numpy as np

from evenhand.methods.search import messages
from evenhand.runtime.errors import SpaceError
from evenhand.space.row_keys import mixed

if TYPE_CHECKING:
    from collections.abc import Sequence

    from numpy.typing import NDArray

    from evenhand.methods.search.arrays import (
        Counts,
        Flags,
        Indices,
        Keys,
        Numbers,
        Outcomes,
    )
    from evenhand.methods.search.margins import Margins
    from evenhand.space.feature import Points
    from evenhand.space.space import Space
    from evenhand.subject.view import View

PAIRED = 64
"""Up to how many assignments of several features are compared two by two, for the most alike."""


@dataclass(frozen=True, slots=True)
class Tried:
    """What came of some classes.

    Rows of the two-dimensional fields are the assignments asked, columns the classes.
    """

    points: Points
    """A member of each class, with the first assignment."""
    keys: Keys
    """A number for each class that no other class shares."""
    assigned: Indices
    outcomes: Outcomes
    valid: Flags
    """Which members keep the constraints; others were not asked."""
    hits: Flags
    first: Indices
    second: Indices
    """Of hits, the two assignments whose outcomes differ.

    The less favoured is the first where that is known.
    """
    pair: Outcomes
    """Of hits, the two outcomes, one row for each of first and second."""
    near: Numbers
    """How near each class is to being a hit, from 0 (or not known) to 1.

    Of a hit, how far it is from being none.
    """
    middle: Numbers
    """The middle between the largest and the least margin of a class, 0 where none is known."""
    gap: Numbers
    """How far apart the largest and the least margin are."""

    def __len__(self) -> int:
        return len(self.points)

    @property
    def asked(self) -> Counts:
        """How many inputs were asked for each class."""
        return np.asarray(self.valid.sum(axis=0), dtype=np.int64)

    @property
    def side(self) -> Outcomes:
        """An outcome of each class; the members of a class that is not a hit share it."""
        first_valid = self.valid.argmax(axis=0)
        classes = np.arange(len(self))
        return np.asarray(self.outcomes[first_valid, classes])

    def take(self, rows: NDArray[Any] | slice) -> Tried:
        """Return some of the classes."""
        return Tried(
            points=self.points[rows],
            keys=self.keys[rows],
            assigned=self.assigned[:, rows],
            outcomes=self.outcomes[:, rows],
            valid=self.valid[:, rows],
            hits=self.hits[rows],
            first=self.first[rows],
            second=self.second[rows],
            pair=self.pair[:, rows],
            near=self.near[rows],
            middle=self.middle[rows],
            gap=self.gap[rows],
        )

    def joined(self, others: Sequence[Tried]) -> Tried:
        """Return these classes and others.

        Which assignments were asked, and what came of each, is not kept.
        """
        parts = [self, *others]
        classes = sum(len(part) for part in parts)
        not_kept = np.empty((0, classes))
        return Tried(
            points=np.concatenate([part.points for part in parts]),
            keys=np.concatenate([part.keys for part in parts]),
            assigned=not_kept.astype(np.intp),
            outcomes=not_kept,
            valid=not_kept.astype(np.bool_),
            hits=np.concatenate([part.hits for part in parts]),
            first=np.concatenate([part.first for part in parts]),
            second=np.concatenate([part.second for part in parts]),
            pair=np.concatenate([part.pair for part in parts], axis=1),
            near=np.concatenate([part.near for part in parts]),
            middle=np.concatenate([part.middle for part in parts]),
            gap=np.concatenate([part.gap for part in parts]),
        )


@dataclass(frozen=True, slots=True)
class _MemberAnswers:
    """What the software answered for the members of classes, one row for each assignment."""

    outcomes: Outcomes
    valid: Flags
    margins: Numbers | None


@dataclass(frozen=True, slots=True)
class _Differing:
    """Which classes are hits, and the two assignments of each whose outcomes differ."""

    hits: Flags
    first: Indices
    second: Indices

    @classmethod
    def none(cls, classes: int) -> _Differing:
        return cls(
            hits=np.zeros(classes, dtype=np.bool_),
            first=np.zeros(classes, dtype=np.intp),
            second=np.zeros(classes, dtype=np.intp),
        )


@dataclass(frozen=True, slots=True)
class _Nearness:
    """How near classes are to a hit, the middle between their margins, and the gap."""

    near: Numbers
    middle: Numbers
    gap: Numbers


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
    """Where the software gives them, margins come with the outcomes, for the same price."""

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
        assignments = self.space.assignments(self.names)
        # Bins stand for a continuous feature, whose own value is not among them.
        has_gap = np.isnan(assignments).any(axis=1)
        assignments = assignments[~has_gap]
        if len(assignments) < 2:
            features = " and ".join(self.names)
            raise SpaceError(messages.ONLY_ONE_VALUE.format(features=features))
        return assignments

    @cached_property
    def free(self) -> tuple[int, ...]:
        """Positions of the features that a search may change.

        These are the features that the software takes, but for those at issue and those that follow
        from others.
        """
        return self.space.derivations.movable(self.space.passed, self.over)

    @cached_property
    def _changes(self) -> list[tuple[int, int]]:
        """Pairs of assignments, those that change the fewest features first."""

        def features_changed(pair: tuple[int, int]) -> int:
            first, second = pair
            return int((self.table[first] != self.table[second]).sum())

        return sorted(combinations(range(len(self.table)), 2), key=features_changed)

    def canonical(self, points: Points) -> Points:
        """Return the members of the same classes that have the first assignment."""
        found: Points = np.array(points, dtype=np.float64, order="F")
        found[:, list(self.over)] = self.table[0]
        return self.space.settle(found)

    def keys(self, points: Points) -> Keys:
        """Return a number for each point that it shares with the members of its class alone.

        It is a hash: a collision, which in practice does not happen, leaves an input out of a
        search, and is of no other consequence.
        """
        free_columns = (points[:, position] for position in self.free)
        return mixed(free_columns, len(points))

    def member(self, points: Points, assigned: Indices) -> Points:
        """Return the member of each point's class that has this assignment."""
        found: Points = np.array(points, dtype=np.float64, order="F")
        for column, position in enumerate(self.over):
            found[:, position] = self.table[assigned, column]
        return self.space.settle(found)

    def valid(self, points: Points, pairs: Indices) -> Flags:
        """Return of which points both members with these assignments keep the constraints."""
        if not self.space.constrained:
            return np.ones(len(points), dtype=np.bool_)
        first = self.space.valid(self.member(points, pairs[:, 0]))
        second = self.space.valid(self.member(points, pairs[:, 1]))
        return np.asarray(first & second)

    def ask(self, points: Points, pairs: Indices | None = None) -> Tried:
        """Ask the members of each point's class: all of them, or the two with these assignments."""
        assigned = self._assigned(len(points), pairs)
        members = self._members(points, assigned)
        answers = self._answers(members, assigned.shape)
        differing = self._differing(assigned, answers)
        pair = np.stack(
            [
                _outcomes_of(answers.outcomes, assigned, differing.first),
                _outcomes_of(answers.outcomes, assigned, differing.second),
            ]
        )
        differing, pair = self._less_favoured_first(differing, pair)
        nearness = self._nearness(answers)
        points = self.canonical(points)
        return Tried(
            points=points,
            keys=self.keys(points),
            assigned=assigned,
            outcomes=answers.outcomes,
            valid=answers.valid,
            hits=differing.hits,
            first=differing.first,
            second=differing.second,
            pair=pair,
            near=nearness.near,
            middle=nearness.middle,
            gap=nearness.gap,
        )

    def _assigned(self, n: int, pairs: Indices | None) -> Indices:
        """Return the assignments to ask of `n` classes, one column for each class."""
        if pairs is not None:
            return np.ascontiguousarray(pairs.T)
        assignments = len(self.table)
        return np.repeat(np.arange(assignments), n).reshape(assignments, n)

    def _members(self, points: Points, assigned: Indices) -> Points:
        """Return the members of all classes, first with the first assignment that is asked."""
        width = points.shape[1]
        members: Points = np.empty((assigned.size, width), dtype=np.float64, order="F")
        for position in range(width):
            column = members[:, position].reshape(assigned.shape)
            column[:] = points[:, position]
        flat = assigned.ravel()
        for column_at_issue, position in enumerate(self.over):
            members[:, position] = self.table[flat, column_at_issue]
        return self.space.settle(members)

    def _answers(self, members: Points, shape: tuple[int, ...]) -> _MemberAnswers:
        """Return the outcomes of members, which of them are valid, and their margins if known."""
        if not self.space.constrained:
            outcomes, margins = self._decide(members)
            return _MemberAnswers(
                outcomes=outcomes.reshape(shape),
                valid=np.ones(shape, dtype=np.bool_),
                margins=None if margins is None else margins.reshape(shape),
            )
        valid = self.space.valid(members).reshape(shape)
        valid &= valid.sum(axis=0) > 1  # one member alone has nothing to be compared with
        asked = valid.ravel()
        decided, known_margins = self._decide(np.asfortranarray(members[asked]))
        # What stands for members that were not asked is never read, but must be of the same kind.
        filler = decided[0] if len(decided) else 0
        outcomes = np.full(len(members), filler, dtype=decided.dtype)
        outcomes[asked] = decided
        margins = None
        if known_margins is not None:
            margins = np.zeros(len(members))
            margins[asked] = known_margins
            margins = margins.reshape(shape)
        return _MemberAnswers(outcomes.reshape(shape), valid, margins)

    def _decide(self, points: Points) -> tuple[Outcomes, Numbers | None]:
        if self.margins is not None and self.margins.bounded:
            return self.margins.decide(points)
        return self.view.decide(points), None

    def _nearness(self, answers: _MemberAnswers) -> _Nearness:
        """Return how near classes are to a hit, by their margins or else by their numbers."""
        if answers.margins is not None:
            return _nearness_of_margins(answers.margins, answers.valid)
        outcomes = answers.outcomes
        differs = self.view.differs
        nothing = np.zeros(outcomes.shape[1])
        has_threshold = differs is not None and not callable(differs)
        if not has_threshold or outcomes.dtype.kind not in "iuf":
            return _Nearness(nothing, nothing, nothing)
        threshold = float(cast("float", differs))
        top, bottom = _extremes(outcomes.astype(np.float64), answers.valid)
        with np.errstate(invalid="ignore", divide="ignore"):
            gap = np.nan_to_num(top - bottom, nan=0.0, neginf=0.0)
            share = np.nan_to_num(gap / threshold, nan=0.0, posinf=1.0)
        return _Nearness(np.clip(share, 0.0, 1.0), nothing, nothing)

    def _differing(self, assigned: Indices, answers: _MemberAnswers) -> _Differing:
        """Return which classes have two members that differ, in the fewest features."""
        outcomes = answers.outcomes
        asked, classes = outcomes.shape
        # Where all pairs change the same number of features, or where there are too many pairs,
        # they need not be compared one by one.
        one_by_one = len(self.over) > 1 and asked <= PAIRED
        if asked > 2 and not self.view.graded and not one_by_one:
            if not answers.valid.any():
                return _Differing.none(classes)
            return self._first_apart(assigned, answers)
        if asked == 2:
            pairs = [(0, 1)]
            left = np.arange(classes)
        else:
            pairs = self._changes
            # Equal outcomes never differ, so that most classes need no comparison.
            left = np.flatnonzero((outcomes != outcomes[0]).any(axis=0))
        return self._compared(assigned, answers, pairs, left)

    def _compared(
        self,
        assigned: Indices,
        answers: _MemberAnswers,
        pairs: list[tuple[int, int]],
        left: Indices,
    ) -> _Differing:
        """Return of each class the first pair of members that differ."""
        outcomes = answers.outcomes
        valid = answers.valid
        found = _Differing.none(outcomes.shape[1])
        for first, second in pairs:
            if not len(left):
                break
            both_valid = valid[first, left] & valid[second, left]
            rows = left[both_valid]
            if not len(rows):
                continue
            distance = self.view.distance(outcomes[first, rows], outcomes[second, rows])
            rows = rows[distance > 0]
            found.hits[rows] = True
            found.first[rows] = assigned[first, rows]
            found.second[rows] = assigned[second, rows]
            # The pairs that change the fewest features come first, so that a hit is settled.
            left = left[~found.hits[left]]
        return found

    def _first_apart(self, assigned: Indices, answers: _MemberAnswers) -> _Differing:
        """Return the same without comparing all pairs.

        The first member that differs from any is compared with all. Of labels, the first of all
        differs from another, or none does; of numbers, it is the first that is far from an end.
        """
        outcomes = answers.outcomes
        valid = answers.valid
        classes = np.arange(outcomes.shape[1])
        first = valid.argmax(axis=0)
        gap = self.view.differs
        if isinstance(gap, float) and outcomes.dtype.kind in "biuf":
            values = outcomes.astype(np.float64)
            top = np.where(valid, values, -np.inf).max(axis=0)
            bottom = np.where(valid, values, np.inf).min(axis=0)
            with np.errstate(invalid="ignore"):
                to_farthest = np.maximum(top - values, values - bottom)
                first = (valid & (to_farthest > gap)).argmax(axis=0)
        distance = self.view.distance(outcomes, outcomes[first, classes])
        apart = (distance > 0) & valid & valid[first, classes]
        second = apart.argmax(axis=0)
        return _Differing(
            hits=apart.any(axis=0),
            first=assigned[first, classes],
            second=assigned[second, classes],
        )

    def _less_favoured_first(
        self, differing: _Differing, pair: Outcomes
    ) -> tuple[_Differing, Outcomes]:
        """Put the less favoured member first, where it is known what is favourable.

        Else the first assignment stays the first.
        """
        hits = differing.hits
        first = differing.first
        second = differing.second
        if not hits.any():
            return differing, pair
        amount = self._amount(pair[:, hits])
        swapped = np.zeros(len(hits), dtype=np.bool_)
        if amount is None:
            swapped[hits] = first[hits] > second[hits]
        else:
            swapped[hits] = amount[0] > amount[1]
        ordered = _Differing(
            hits=hits,
            first=np.where(swapped, second, first),
            second=np.where(swapped, first, second),
        )
        return ordered, np.where(swapped, pair[::-1], pair)

    def _amount(self, pair: Outcomes) -> Outcomes | None:
        """Return how favourable outcomes are, None where that is not known."""
        if not self.view.counts:
            return pair
        meaning = self.view.meaning
        labels = meaning.known if meaning.labels is None else meaning.labels
        are_flags = labels is not None and set(labels) <= {0, 1}
        if pair.dtype.kind == "b" or are_flags or meaning.positive is not None:
            return self.view.favourable(pair)
        return None


def _outcomes_of(outcomes: Outcomes, assigned: Indices, wanted: Indices) -> Outcomes:
    """Return the outcome of each class's member with this assignment."""
    # Where not two but all assignments are asked, they are in their order.
    place = wanted
    if len(assigned) == 2:
        place = np.where(assigned[0] == wanted, 0, 1)
    classes = np.arange(outcomes.shape[1])
    return np.asarray(outcomes[place, classes])


def _extremes(values: Numbers, valid: Flags) -> tuple[Numbers, Numbers]:
    """Return the largest and the least value of each class's valid members."""
    or_least = np.where(valid, values, -np.inf)
    or_largest = np.where(valid, values, np.inf)
    top = or_least.max(axis=0, initial=-np.inf)
    bottom = or_largest.min(axis=0, initial=np.inf)
    return top, bottom


def _nearness_of_margins(margins: Numbers, valid: Flags) -> _Nearness:
    """Return how near classes are to a hit, by the margins of their members."""
    top, bottom = _extremes(margins, valid)
    with np.errstate(invalid="ignore", divide="ignore"):
        gap = np.nan_to_num(top - bottom, nan=0.0, neginf=0.0)
        # On either side of zero it is a hit, the further from ceasing to be one the more even both
        # margins are.
        smaller, larger = np.sort(np.abs([top, bottom]), axis=0)
        is_hit = (top > 0) & (bottom <= 0)
        share = np.where(is_hit, smaller, gap) / larger
        share = np.nan_to_num(share, nan=0.0, posinf=1.0, neginf=0.0)
        # Rounded, so that what ties does so whatever batch a model was asked in.
        near = np.round(np.clip(share, 0.0, 1.0), 9)
        middle = np.nan_to_num((top + bottom) / 2, posinf=0.0, neginf=0.0)
    return _Nearness(near, middle, gap)
