"""Shrink: make a discriminatory input the simplest of its kind, moving it towards a typical row
while it stays one.

Cases move in lock step: each round asks the candidates of all cases at once, so that a round costs
one call of the software. A move is accepted only where the software itself was asked and still
tells the two members of the candidate apart, in the same direction. Nothing here is random.
"""

from __future__ import annotations

from dataclasses import dataclass
from itertools import combinations
from math import comb
from typing import TYPE_CHECKING, Any

import numpy as np

from evenhand.runtime.values import as_outcomes

if TYPE_CHECKING:
    from collections.abc import Iterator

    from numpy.typing import NDArray

    from evenhand.methods.search.probe import Probe
    from evenhand.space.feature import Points

    Indices = NDArray[np.intp]
    Flags = NDArray[np.bool_]

COMBINATIONS = 100
"""Up to how many sets of a size are tried when a case is built up from a typical row."""
NEEDED = 100
"""What a case takes at least, or about; where not all can have it, the first do, rather than all be
left half-way.
"""
FINE = 1000
"""Into how many parts bisection divides the range of a number; what is finer is lost in rounding
anyway.
"""
DIGITS = (2, 3, 4, 6)
"""To how many significant digits numbers are rounded; one digit would move them too far."""
MOST_ASSIGNMENTS = 1000
"""Up to how many assignments are compared two by two for the smallest change."""
_PAIRS = 4096
"""How many pairs of assignments are compared at once."""


def unusual(points: Points, toward: Points) -> NDArray[np.int64]:
    """Return how many features of each point differ from a typical row.

    >>> unusual(np.array([[0.0, 40.0], [1.0, 33.0]]), np.array([0.0, 33.0])).tolist()
    [1, 1]
    """
    return np.asarray((points != toward).sum(axis=1), dtype=np.int64)


@dataclass(frozen=True, slots=True)
class Shrunk:
    """Simpler cases: a member of each class, the two assignments that differ in outcome, and their
    outcomes.
    """

    points: Points
    pairs: Indices
    outcomes: NDArray[Any]
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
    outcomes: NDArray[Any],
) -> Shrunk:
    """Return each case as near to a typical row as it goes, asking no more than `queries` inputs in
    all.

    Features become typical where the case persists (delta debugging), or a few of them make a case
    of a typical row. Numbers that cannot be typical come as near as bisection finds, then rounder,
    and at last the two members differ in as few features at issue, and as little, as possible. No
    feature ends further from typical than it was, and what is more favoured stays so.

    Parameters
    ----------
    points, pairs, outcomes
        What `Found` holds of each case.
    toward
        A typical row, one for all cases or one for each.

    Examples
    --------
    >>> from evenhand.methods.search.explain.diversity import typical
    >>> from evenhand.space.feature import category, integer
    >>> from evenhand.methods.search.probe import Probe
    >>> from evenhand.space.space import Space
    >>> from evenhand.subject.subject import Subject
    >>> from evenhand.subject.view import View
    >>> space = Space([category("sex", ["F", "M"]), integer("age", 18, 90), integer("hours", 0, 99)])
    >>> loan = Subject(lambda people: (people["age"] > 61) & (people["sex"] == "M"), space)
    >>> probe = Probe(View(loan), ("sex",))
    >>> tried = probe.ask(space.encode([{"sex": "F", "age": 83, "hours": 7}]))
    >>> pairs = np.stack([tried.first, tried.second], axis=1)
    >>> shrink(probe, tried.points, pairs, typical(space), 100, outcomes=tried.pair).points.tolist()
    [[0.0, 62.0, 50.0]]
    """
    toward = np.broadcast_to(toward, points.shape)
    left, start = queries, 0
    parts: list[_Cases] = []
    while start < len(points) or not parts:
        batch = slice(start, start + max(1, left // NEEDED) if left > 1 else len(points))
        cases = _Cases(probe, points[batch], pairs[batch], outcomes[:, batch], toward[batch], left)
        cases.simplify()
        left, start = cases.left, start + len(cases.points)
        parts.append(cases)
    settled = np.concatenate([cases.outcomes for cases in parts], axis=1)
    return Shrunk(
        np.asfortranarray(np.concatenate([cases.points for cases in parts])),
        np.concatenate([cases.pairs for cases in parts]),
        as_outcomes(settled.ravel().tolist()).reshape(settled.shape),
        queries - left,
    )


@dataclass(frozen=True, slots=True)
class _Round:
    """Candidates that were asked, several for a case or none, and what came of them."""

    rows: Indices
    points: Points
    kept: Flags
    """Which of them are cases of the same kind still."""
    pairs: Indices
    outcomes: NDArray[Any]


class _Cases:
    """Cases on their way, and what may still be asked."""

    def __init__(
        self,
        probe: Probe,
        points: Points,
        pairs: Indices,
        outcomes: NDArray[Any],
        toward: Points,
        queries: int,
    ) -> None:
        self.probe, self.left = probe, queries
        self.points = probe.canonical(points)
        self.pairs = np.array(pairs, dtype=np.intp)
        self.outcomes = np.array(outcomes, dtype=object)
        self.toward = probe.canonical(toward)
        self.found = self.points.copy()
        self.features = probe.space.features

    def simplify(self) -> None:
        """Do all that makes a case simpler."""
        self.reset(self.odd.sum(axis=1))
        self.build()
        moved = self.approach(np.ones(len(self.points), dtype=np.bool_))
        while moved.any():  # where a number came nearer, another feature may now become typical
            moved = self.approach(self.reset(moved.astype(np.int64)))
        self.round_off()
        self.change_least()

    @property
    def odd(self) -> Flags:
        """Which features of each case are not typical."""
        return np.asarray(self.points != self.toward)

    def ask(self, rows: Indices, points: Points, pairs: Indices | None = None) -> _Round:
        """Ask candidates for some cases, equal ones once, those that stand first where not all can
        be afforded.

        Where the assignments are given, any two outcomes that differ will do; else they must do so
        as before.
        """
        given = self.pairs[rows] if pairs is None else pairs
        _, first, same = np.unique(
            np.column_stack([points, given]), axis=0, return_index=True, return_inverse=True
        )
        wanted = np.sort(first)
        wanted = wanted[self.probe.valid(points[wanted], given[wanted])]
        wanted = wanted[: self.left // 2]
        outcomes, kept = np.empty((2, len(rows)), dtype=object), np.zeros(len(rows), dtype=np.bool_)
        if not len(wanted):
            return _Round(rows, points, kept, given, outcomes)
        tried = self.probe.ask(np.asfortranarray(points[wanted]), given[wanted])
        self.left -= int(tried.asked.sum())
        place = np.full(len(first), -1, dtype=np.intp)
        place[same[wanted]] = np.arange(len(wanted))
        known = np.flatnonzero(place[same] >= 0)
        answer = place[same][known]
        kept[known] = tried.hits[answer]
        if pairs is None:
            outcomes[:, known] = tried.outcomes[:, answer]
            hits = np.flatnonzero(kept)
            kept[hits] = self._alike(outcomes[:, hits], self.outcomes[:, rows[hits]])
            if self.probe.view.positive is not None:
                kept[known] &= tried.first[answer] == given[known, 0]
            return _Round(rows, points, kept, given, outcomes)
        outcomes[:, known] = tried.pair[:, answer]
        found = given.copy()
        found[known] = np.stack([tried.first[answer], tried.second[answer]], axis=1)
        return _Round(rows, points, kept, found, outcomes)

    def _alike(self, now: NDArray[Any], before: NDArray[Any]) -> Flags:
        """Tell which outcomes are of the same kind: the same texts, or numbers of which the same
        one is larger.
        """
        if self.probe.view.graded or not now.size:
            return np.ones(now.shape[1], dtype=np.bool_)
        if isinstance(now[0, 0], str):
            return np.asarray((now == before).all(axis=0))
        return np.asarray((now[0] < now[1]) == (before[0] < before[1]), dtype=np.bool_)

    def accept(self, tried: _Round) -> Flags:
        """Move each case to the first of its candidates that persists, and tell which cases moved."""
        kept = np.flatnonzero(tried.kept)
        rows, first = np.unique(tried.rows[kept], return_index=True)
        chosen = kept[first]
        self.points[rows], self.pairs[rows] = tried.points[chosen], tried.pairs[chosen]
        self.outcomes[:, rows] = tried.outcomes[:, chosen]
        moved = np.zeros(len(self.points), dtype=np.bool_)
        moved[rows] = True
        return moved

    def reset(self, size: NDArray[np.int64]) -> Flags:
        """Make features typical, so many of each case at once, then half as many, and so on; tell
        which cases moved.
        """
        ever = np.zeros(len(size), dtype=np.bool_)
        while self.left >= 2 and size.any():
            parts = self._parts(size)
            if not parts:
                break
            tried = self._ask_typical(parts)
            moved = self.accept(tried)
            joined = self._joined(parts, tried.kept)
            if joined and self.left >= 2:
                self.accept(self._ask_typical(joined))
            size = np.where(moved, np.minimum(size, self.odd.sum(axis=1)), size // 2)
            ever |= moved
        return ever

    def _parts(self, size: NDArray[np.int64]) -> list[tuple[Indices, Flags]]:
        """Return features to make typical, so many at once: the first part of each case, then the
        second, and so on.
        """
        odd = self.odd
        part = np.where(odd, (odd.cumsum(axis=1) - 1) // np.maximum(size, 1)[:, None], -1)
        part[size == 0] = -1
        found = []
        for number in range(int(part.max(initial=-1)) + 1):
            rows = np.flatnonzero((part == number).any(axis=1))
            found.append((rows, part[rows] == number))
        return found

    def _joined(
        self, parts: list[tuple[Indices, Flags]], kept: Flags
    ) -> list[tuple[Indices, Flags]]:
        """Return the parts that persist alone joined one after the other, the longest first."""
        union = np.zeros(self.points.shape, dtype=np.bool_)
        times = np.zeros(len(union), dtype=np.intp)
        found, start = [], 0
        for rows, mask in parts:
            good = kept[start : start + len(rows)]
            start += len(rows)
            union[rows[good]] |= mask[good]
            times[rows[good]] += 1
            several = rows[good & (times[rows] > 1)]
            if len(several):
                found.append((several, union[several]))
        return found[::-1]

    def _ask_typical(self, parts: list[tuple[Indices, Flags]]) -> _Round:
        rows = np.concatenate([rows for rows, _ in parts])
        mask = np.concatenate([mask for _, mask in parts])
        return self.ask(rows, np.where(mask, self.toward[rows], self.points[rows]))

    def build(self) -> None:
        """Begin again at a typical row, and take over as few features as make it a case: one, then
        two, and so on.
        """
        odd = self.odd
        place, count = np.where(odd, odd.cumsum(axis=1) - 1, -1), odd.sum(axis=1)
        for size in range(
            1, int(count.max(initial=0)) - 1
        ):  # to leave out only one was tried before
            most = max(
                (n for n in range(odd.shape[1] + 1) if comb(n, size) <= COMBINATIONS), default=0
            )
            parts = []
            for taken in combinations(range(most), size):
                rows = np.flatnonzero((count > size + 1) & (count <= most) & (count > taken[-1]))
                parts.append((rows, odd[rows] & ~np.isin(place[rows], taken)))
            if parts and self.left >= 2:
                built = self.accept(self._ask_typical(parts))
                count[built] = 0

    def _numbers(self, cases: Flags) -> Iterator[tuple[Indices, Indices]]:
        """Give the first number that is not typical of each of these cases, then the second of
        each, and so on.
        """
        odd = (
            self.odd
            & np.array([feature.kind != "category" for feature in self.features])
            & cases[:, None]
        )
        nth = odd.cumsum(axis=1)
        for number in range(1, int(nth.max(initial=0)) + 1):
            rows, position = np.nonzero(odd & (nth == number))
            yield rows, position

    def _ask_moved(self, rows: Indices, position: Indices, values: NDArray[np.float64]) -> _Round:
        points = self.points[rows]
        points[np.arange(len(rows)), position] = values
        return self.ask(rows, points)

    def _placed(
        self, values: NDArray[np.float64], position: Indices
    ) -> tuple[NDArray[np.float64], Flags]:
        """Return values exactly where their features have them, and which of them the features
        have.
        """
        placed, inside = values.copy(), np.zeros(len(values), dtype=np.bool_)
        for at in np.unique(position):
            mine = position == at
            inside[mine] = self.features[at].inside(values[mine])
            placed[mine] = self.features[at].snap(values[mine])
        return placed, inside

    def approach(self, cases: Flags) -> Flags:
        """Move the numbers of these cases towards typical by bisection, and tell which cases moved."""
        width = np.array([float(feature.high - feature.low) for feature in self.features]) / FINE
        ever = np.zeros(len(cases), dtype=np.bool_)
        for rows, position in self._numbers(cases):
            near, far = self.toward[rows, position], self.points[rows, position]
            while self.left >= 2:
                middle, _ = self._placed((near + far) / 2, position)
                going = np.flatnonzero(
                    (np.abs(far - near) > width[position]) & (middle != near) & (middle != far)
                )
                if not len(going):
                    break
                tried = self._ask_moved(rows[going], position[going], middle[going])
                ever |= self.accept(tried)
                far[going[tried.kept]] = middle[going[tried.kept]]
                near[going[~tried.kept]] = middle[going[~tried.kept]]
        return ever

    def round_off(self) -> None:
        """Give numbers fewer significant digits."""
        for rows, position in self._numbers(np.ones(len(self.points), dtype=np.bool_)):
            value, goal = self.points[rows, position], self.toward[rows, position]
            limit = np.abs(self.found[rows, position] - goal)
            open_ = np.arange(len(rows))
            for digits in DIGITS:
                sides = np.stack(_rounded(value, digits))
                sides = np.take_along_axis(
                    sides, np.abs(sides - goal).argsort(axis=0, kind="stable"), axis=0
                )
                open_ = open_[(sides[0] != sides[1])[open_]]  # others are as round as that already
                both = np.concatenate([open_, open_])
                tries = np.concatenate([sides[0, open_], sides[1, open_]])
                placed, inside = self._placed(tries, position[both])
                gap = np.abs(placed - goal[both])
                fit = inside & (gap <= limit[both]) & (gap > 0)
                if self.left < 2 or not len(open_):
                    break
                moved = self.accept(
                    self._ask_moved(rows[both[fit]], position[both[fit]], placed[fit])
                )
                open_ = open_[~moved[rows[open_]]]

    def change_least(self) -> None:
        """Let the two members of each case differ in as few features, and numbers by as little, as
        possible.
        """
        table = self.probe.table
        if not 2 < len(table) <= MOST_ASSIGNMENTS or not len(self.points):
            return
        pairs = np.stack(np.triu_indices(len(table), 1), axis=1)
        cost, now = self._change(pairs), self._change(self.pairs)
        rows = np.flatnonzero(now > cost.min())
        points, same = np.unique(self.points[rows], axis=0, return_inverse=True)
        # What is chosen is asked once more, which tells the less favoured of the two.
        points = points[: self.left // (len(table) + 2)]
        if not len(points):
            return
        best = self._least(points, pairs, np.argsort(cost, kind="stable"))
        rows, same = rows[same < len(points)], same[same < len(points)]
        less = (best[same] >= 0) & (cost[best[same]] < now[rows])
        rows, chosen = rows[less], pairs[best[same[less]]]
        self.accept(self.ask(rows, self.points[rows], chosen))

    def _least(self, points: Points, pairs: Indices, order: Indices) -> Indices:
        """Return the first pair of assignments, in this order, whose outcomes differ at each point,
        -1 for none.
        """
        tried = self.probe.ask(np.asfortranarray(points))
        self.left -= int(tried.asked.sum())
        best = np.full(len(points), -1, dtype=np.intp)
        for start in range(0, len(order), _PAIRS):
            open_ = np.flatnonzero(best < 0)
            block = order[start : start + _PAIRS]
            one, other = np.ix_(pairs[block, 0], open_), np.ix_(pairs[block, 1], open_)
            apart = self.probe.view.distance(tried.outcomes[one], tried.outcomes[other]) > 0
            apart &= tried.valid[one] & tried.valid[other]
            best[open_] = np.where(apart.any(axis=0), block[apart.argmax(axis=0)], -1)
        return best

    def _change(self, pairs: Indices) -> NDArray[np.float64]:
        """Return how much pairs of assignments change: the number of features, then how far numbers
        move.
        """
        table = self.probe.table
        total = np.zeros(len(pairs))
        for column, position in enumerate(self.probe.over):
            feature, gap = (
                self.features[position],
                np.abs(table[pairs[:, 0], column] - table[pairs[:, 1], column]),
            )
            total += gap > 0
            if feature.kind != "category":
                total += (
                    gap / (float(feature.high - feature.low) or 1.0) / (len(self.probe.over) + 1)
                )
        return total


def _rounded(
    values: NDArray[np.float64], digits: int
) -> tuple[NDArray[np.float64], NDArray[np.float64]]:
    """Return numbers rounded down and up to so many significant digits.

    >>> down, up = _rounded(np.array([7056.0, -0.123, 50.0, 0.0]), 2)
    >>> down.tolist(), up.tolist()
    ([7000.0, -0.13, 50.0, 0.0], [7100.0, -0.12, 50.0, 0.0])
    """
    size = np.floor(np.log10(np.where(values == 0, 1.0, np.abs(values))))
    power = size - digits + 1
    # Whole numbers times or over whole powers of ten are exact, so that 0.3 does not become
    # 0.30000000000000004.
    times, over = 10.0 ** np.maximum(power, 0), 10.0 ** np.maximum(-power, 0)
    scaled = values / times * over
    scaled = np.where(
        np.isclose(scaled, np.round(scaled), rtol=1e-12, atol=0), np.round(scaled), scaled
    )
    return np.floor(scaled) * times / over, np.ceil(scaled) * times / over
