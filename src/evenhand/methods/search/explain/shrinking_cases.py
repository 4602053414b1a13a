"""Shrinking cases: the moves that make cases simpler, tried for all cases in lock step."""

from __future__ import annotations

from dataclasses import dataclass
from itertools import combinations
from math import comb
from typing import TYPE_CHECKING

import numpy as np

if TYPE_CHECKING:
    from collections.abc import Iterator

    from evenhand.methods.search.arrays import Counts, Flags, Indices, Numbers, Outcomes
    from evenhand.methods.search.probe import Probe, Tried
    from evenhand.runtime.budget import Meter
    from evenhand.space.feature import Points

COMBINATIONS = 100
"""Up to how many sets of a size are tried when a case is built up from a typical row."""
FINE = 1000
"""Into how many parts bisection divides the range of a number.

What is finer is lost in rounding anyway.
"""
DIGITS = (2, 3, 4, 6)
"""To how many significant digits numbers are rounded; one digit would move them too far."""
MOST_ASSIGNMENTS = 1000
"""Up to how many assignments are compared two by two for the smallest change."""
_PAIRS = 4096
"""How many pairs of assignments are compared at once."""


@dataclass(frozen=True, slots=True)
class _Round:
    """Candidates that were asked, several for a case or none, and what came of them."""

    rows: Indices
    points: Points
    kept: Flags
    """Which of them are cases of the same kind still."""
    pairs: Indices
    outcomes: Outcomes


class ShrinkingCases:
    """Cases on their way to the simplest of their kind, and what may still be asked."""

    def __init__(
        self,
        probe: Probe,
        points: Points,
        pairs: Indices,
        outcomes: Outcomes,
        toward: Points,
        queries: int,
        meter: Meter,
    ) -> None:
        self.probe = probe
        self.meter = meter
        self.left = queries
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
        every_case = np.ones(len(self.points), dtype=np.bool_)
        moved = self.approach(every_case)
        # Where a number came nearer, another feature may now become typical.
        while moved.any():
            moved = self.approach(self.reset(moved.astype(np.int64)))
        self.round_off()
        self.change_least()

    @property
    def can_ask(self) -> bool:
        """Whether both members of a case can be asked yet."""
        return self.left >= 2 and not self.meter.late

    @property
    def odd(self) -> Flags:
        """Which features of each case are not typical."""
        return np.asarray(self.points != self.toward)

    def ask(self, rows: Indices, points: Points, pairs: Indices | None = None) -> _Round:
        """Ask candidates for some cases, equal ones once.

        Where not all can be afforded, those are asked that stand first. Where the assignments are
        given, any two outcomes that differ will do; else they must differ as before.
        """
        given = self.pairs[rows] if pairs is None else pairs
        candidates = np.column_stack([points, given])
        _, first, same = np.unique(
            candidates, axis=0, return_index=True, return_inverse=True
        )
        wanted = np.sort(first)
        is_valid = self.probe.valid(points[wanted], given[wanted])
        wanted = wanted[is_valid][: self.left // 2]
        if not len(wanted):
            return _Round(
                rows=rows,
                points=points,
                kept=np.zeros(len(rows), dtype=np.bool_),
                pairs=given,
                outcomes=np.empty((2, len(rows)), dtype=object),
            )
        tried = self.probe.ask(np.asfortranarray(points[wanted]), given[wanted])
        self.left -= int(tried.asked.sum())
        # Which of the answers each candidate has, -1 where it was not asked.
        answer_of = np.full(len(first), -1, dtype=np.intp)
        answer_of[same[wanted]] = np.arange(len(wanted))
        answers = answer_of[same]
        if pairs is None:
            return self._same_kind(rows, points, given, tried, answers)
        return _any_kind(rows, points, given, tried, answers)

    def _same_kind(
        self,
        rows: Indices,
        points: Points,
        pairs: Indices,
        tried: Tried,
        answers: Indices,
    ) -> _Round:
        """Return what came of candidates that must differ in the same way as their cases."""
        asked = np.flatnonzero(answers >= 0)
        answer = answers[asked]
        kept, outcomes = _of_candidates(tried.hits, tried.outcomes, answers)
        hits = np.flatnonzero(kept)
        now = outcomes[:, hits]
        before = self.outcomes[:, rows[hits]]
        kept[hits] = self._alike(now, before)
        if self.probe.view.positive is not None:
            # The less favoured stays the same.
            kept[asked] &= tried.first[answer] == pairs[asked, 0]
        return _Round(rows, points, kept, pairs, outcomes)

    def _alike(self, now: Outcomes, before: Outcomes) -> Flags:
        """Return which outcomes are of the same kind.

        These are the same texts, or numbers of which the same one is larger.
        """
        if self.probe.view.graded or not now.size:
            return np.ones(now.shape[1], dtype=np.bool_)
        if isinstance(now[0, 0], str):
            return np.asarray((now == before).all(axis=0))
        grows_now = now[0] < now[1]
        grew_before = before[0] < before[1]
        return np.asarray(grows_now == grew_before, dtype=np.bool_)

    def accept(self, tried: _Round) -> Flags:
        """Move each case to the first of its candidates that persists.

        Returns which cases moved.
        """
        kept = np.flatnonzero(tried.kept)
        rows, first = np.unique(tried.rows[kept], return_index=True)
        chosen = kept[first]
        self.points[rows] = tried.points[chosen]
        self.pairs[rows] = tried.pairs[chosen]
        self.outcomes[:, rows] = tried.outcomes[:, chosen]
        moved = np.zeros(len(self.points), dtype=np.bool_)
        moved[rows] = True
        return moved

    def reset(self, size: Counts) -> Flags:
        """Make features typical: so many of each case at once, then half as many, and so on.

        This is delta debugging. Returns which cases moved.
        """
        ever = np.zeros(len(size), dtype=np.bool_)
        while self.can_ask and size.any():
            parts = self._parts(size)
            if not parts:
                break
            tried = self._ask_typical(parts)
            moved = self.accept(tried)
            joined = self._joined(parts, tried.kept)
            if joined and self.can_ask:
                self.accept(self._ask_typical(joined))
            still_odd = np.minimum(size, self.odd.sum(axis=1))
            size = np.where(moved, still_odd, size // 2)
            ever |= moved
        return ever

    def _parts(self, size: Counts) -> list[tuple[Indices, Flags]]:
        """Return features to make typical, so many at once.

        The first part of each case comes first, then the second of each, and so on.
        """
        odd = self.odd
        number_of_odd = odd.cumsum(axis=1) - 1
        part_size = np.maximum(size, 1)[:, None]
        part = np.where(odd, number_of_odd // part_size, -1)
        part[size == 0] = -1
        parts = []
        for number in range(int(part.max(initial=-1)) + 1):
            rows = np.flatnonzero((part == number).any(axis=1))
            parts.append((rows, part[rows] == number))
        return parts

    def _joined(
        self, parts: list[tuple[Indices, Flags]], kept: Flags
    ) -> list[tuple[Indices, Flags]]:
        """Return the parts that persist alone joined one after the other, the longest first."""
        union = np.zeros(self.points.shape, dtype=np.bool_)
        times = np.zeros(len(union), dtype=np.intp)
        joined = []
        start = 0
        for rows, mask in parts:
            persists = kept[start : start + len(rows)]
            start += len(rows)
            persisting = rows[persists]
            union[persisting] |= mask[persists]
            times[persisting] += 1
            several = rows[persists & (times[rows] > 1)]
            if len(several):
                joined.append((several, union[several]))
        return joined[::-1]

    def _ask_typical(self, parts: list[tuple[Indices, Flags]]) -> _Round:
        """Ask cases with some features made typical."""
        rows = np.concatenate([rows for rows, _ in parts])
        mask = np.concatenate([mask for _, mask in parts])
        candidates = np.where(mask, self.toward[rows], self.points[rows])
        return self.ask(rows, candidates)

    def build(self) -> None:
        """Begin again at a typical row, and take over as few features as make it a case.

        One feature is tried first, then two, and so on.
        """
        odd = self.odd
        count = odd.sum(axis=1)
        # To leave out only one feature was tried before.
        for size in range(1, int(count.max(initial=0)) - 1):
            if not self.can_ask:
                break
            parts = self._built(odd, count, size)
            if parts:
                built = self.accept(self._ask_typical(parts))
                count[built] = 0

    def _built(
        self,
        odd: Flags,
        count: Counts,
        size: int,
    ) -> list[tuple[Indices, Flags]]:
        """Return what to make typical, so that so many features stay as they are."""
        place = np.where(odd, odd.cumsum(axis=1) - 1, -1)
        most = _most_features(odd.shape[1], size)
        parts = []
        for taken in combinations(range(most), size):
            can_gain = (count > size + 1) & (count <= most)
            has_all = count > taken[-1]
            rows = np.flatnonzero(can_gain & has_all)
            others = odd[rows] & ~np.isin(place[rows], taken)
            parts.append((rows, others))
        return parts

    @property
    def _gaps(self) -> Flags:
        """Which values are missing, of a case or of its typical row: nothing lies between these."""
        gaps = np.zeros(self.points.shape, dtype=np.bool_)
        for at, feature in enumerate(self.features):
            if feature.missing:
                gaps[:, at] = feature.is_missing(self.points[:, at])
                gaps[:, at] |= feature.is_missing(self.toward[:, at])
        return gaps

    def _numbers(self, cases: Flags) -> Iterator[tuple[Indices, Indices]]:
        """Return the first number that is not typical of each case, then the second, and so on."""
        is_number = np.array([feature.kind != "category" for feature in self.features])
        odd = self.odd & is_number & cases[:, None] & ~self._gaps
        nth = odd.cumsum(axis=1)
        for number in range(1, int(nth.max(initial=0)) + 1):
            rows, position = np.nonzero(odd & (nth == number))
            yield rows, position

    def _ask_moved(self, rows: Indices, position: Indices, values: Numbers) -> _Round:
        """Ask cases with one number each set to another value."""
        points = self.points[rows]
        points[np.arange(len(rows)), position] = values
        return self.ask(rows, points)

    def _placed(self, values: Numbers, position: Indices) -> tuple[Numbers, Flags]:
        """Return values exactly where their features have them, and which are inside the domain."""
        placed = values.copy()
        inside = np.zeros(len(values), dtype=np.bool_)
        for at in np.unique(position):
            own = position == at
            feature = self.features[at]
            inside[own] = feature.inside(values[own])
            placed[own] = feature.snap(values[own])
        return placed, inside

    def approach(self, cases: Flags) -> Flags:
        """Move the numbers of these cases towards typical by bisection.

        Returns which cases moved.
        """
        ranges = np.array([float(feature.high - feature.low) for feature in self.features])
        width = ranges / FINE
        ever = np.zeros(len(cases), dtype=np.bool_)
        for rows, position in self._numbers(cases):
            near = self.toward[rows, position]
            far = self.points[rows, position]
            while self.can_ask:
                middle, _ = self._placed((near + far) / 2, position)
                wide_enough = np.abs(far - near) > width[position]
                going = np.flatnonzero(wide_enough & (middle != near) & (middle != far))
                if not len(going):
                    break
                tried = self._ask_moved(rows[going], position[going], middle[going])
                ever |= self.accept(tried)
                persists = going[tried.kept]
                ends = going[~tried.kept]
                far[persists] = middle[persists]
                near[ends] = middle[ends]
        return ever

    def round_off(self) -> None:
        """Give numbers fewer significant digits."""
        every_case = np.ones(len(self.points), dtype=np.bool_)
        is_date = np.array([feature.kind == "date" for feature in self.features])
        for rows, position in self._numbers(every_case):
            # A date is no rounder for fewer digits of its day.
            numbers = ~is_date[position]
            self._round_off_numbers(rows[numbers], position[numbers])

    def _round_off_numbers(self, rows: Indices, position: Indices) -> None:
        """Give one number of each case the fewest digits with which it stays a case."""
        value = self.points[rows, position]
        goal = self.toward[rows, position]
        # No number may end further from typical than it was found.
        limit = np.abs(self.found[rows, position] - goal)
        open_ = np.arange(len(rows))
        for digits in DIGITS:
            nearer, farther = _rounded_nearer_first(value, digits, goal)
            open_ = open_[(nearer != farther)[open_]]  # others are as round as that already
            both = np.concatenate([open_, open_])
            candidates = np.concatenate([nearer[open_], farther[open_]])
            placed, inside = self._placed(candidates, position[both])
            gap = np.abs(placed - goal[both])
            fit = inside & (gap <= limit[both]) & (gap > 0)
            if not self.can_ask or not len(open_):
                break
            which = both[fit]
            tried = self._ask_moved(rows[which], position[which], placed[fit])
            moved = self.accept(tried)
            open_ = open_[~moved[rows[open_]]]

    def change_least(self) -> None:
        """Let the members of each case differ in as few features, and as little, as possible."""
        table = self.probe.table
        if not 2 < len(table) <= MOST_ASSIGNMENTS or not len(self.points):
            return
        if not self.can_ask:
            return
        pairs = np.stack(np.triu_indices(len(table), 1), axis=1)
        cost = self._change(pairs)
        cost_now = self._change(self.pairs)
        rows = np.flatnonzero(cost_now > cost.min())
        points, same = np.unique(self.points[rows], axis=0, return_inverse=True)
        # What is chosen is asked once more, which tells the less favoured of the two.
        points = points[: self.left // (len(table) + 2)]
        if not len(points):
            return
        best = self._least(points, pairs, np.argsort(cost, kind="stable"))
        affordable = same < len(points)
        rows = rows[affordable]
        best = best[same[affordable]]
        is_less = (best >= 0) & (cost[best] < cost_now[rows])
        rows = rows[is_less]
        chosen = pairs[best[is_less]]
        self.accept(self.ask(rows, self.points[rows], chosen))

    def _least(self, points: Points, pairs: Indices, order: Indices) -> Indices:
        """Return the first pair of assignments, in this order, whose outcomes differ at each point.

        -1 stands for none.
        """
        tried = self.probe.ask(np.asfortranarray(points))
        self.left -= int(tried.asked.sum())
        best = np.full(len(points), -1, dtype=np.intp)
        for start in range(0, len(order), _PAIRS):
            open_ = np.flatnonzero(best < 0)
            block = order[start : start + _PAIRS]
            first = np.ix_(pairs[block, 0], open_)
            second = np.ix_(pairs[block, 1], open_)
            outcomes = tried.outcomes[first]
            distance = self.probe.view.distance(outcomes, tried.outcomes[second])
            both_valid = tried.valid[first] & tried.valid[second]
            apart = (distance > 0) & both_valid
            first_apart = block[apart.argmax(axis=0)]
            best[open_] = np.where(apart.any(axis=0), first_apart, -1)
        return best

    def _change(self, pairs: Indices) -> Numbers:
        """Return how much pairs of assignments change.

        The number of features counts first, then how far numbers move.
        """
        table = self.probe.table
        total = np.zeros(len(pairs))
        for column, position in enumerate(self.probe.over):
            feature = self.features[position]
            first = table[pairs[:, 0], column]
            second = table[pairs[:, 1], column]
            gap = np.abs(first - second)
            total += gap > 0
            if feature.kind != "category":
                span = float(feature.high - feature.low) or 1.0
                # All of them together count for less than one feature.
                total += gap / span / (len(self.probe.over) + 1)
        return total


def _any_kind(
    rows: Indices,
    points: Points,
    pairs: Indices,
    tried: Tried,
    answers: Indices,
) -> _Round:
    """Return what came of candidates whose outcomes may differ in any way."""
    kept, outcomes = _of_candidates(tried.hits, tried.pair, answers)
    asked = np.flatnonzero(answers >= 0)
    answer = answers[asked]
    found = pairs.copy()
    found[asked, 0] = tried.first[answer]
    found[asked, 1] = tried.second[answer]
    return _Round(rows, points, kept, found, outcomes)


def _of_candidates(
    hits: Flags, outcomes: Outcomes, answers: Indices
) -> tuple[Flags, Outcomes]:
    """Return which candidates are hits, and their two outcomes, from those of the answers.

    A candidate that was not asked is no hit, and has no outcomes.
    """
    asked = np.flatnonzero(answers >= 0)
    kept = np.zeros(len(answers), dtype=np.bool_)
    kept[asked] = hits[answers[asked]]
    both = np.empty((2, len(answers)), dtype=object)
    both[:, asked] = outcomes[:, answers[asked]]
    return kept, both


def _most_features(features: int, size: int) -> int:
    """Return of how many features all sets of a size can be tried."""
    most = 0
    for number in range(features + 1):
        if comb(number, size) <= COMBINATIONS:
            most = number
    return most


def _rounded_nearer_first(
    values: Numbers, digits: int, goal: Numbers
) -> tuple[Numbers, Numbers]:
    """Return numbers rounded down and up, first the one that is nearer to its goal."""
    sides = np.stack(_rounded(values, digits))
    nearer_first = np.abs(sides - goal).argsort(axis=0, kind="stable")
    nearer, farther = np.take_along_axis(sides, nearer_first, axis=0)
    return nearer, farther


def _rounded(values: Numbers, digits: int) -> tuple[Numbers, Numbers]:
    """Return numbers rounded down and up to so many significant digits.

    >>> down, up = _rounded(np.array([7056.0, -0.123, 50.0, 0.0]), 2)
    >>> down.tolist(), up.tolist()
    ([7000.0, -0.13, 50.0, 0.0], [7100.0, -0.12, 50.0, 0.0])
    """
    magnitude = np.where(values == 0, 1.0, np.abs(values))
    power = np.floor(np.log10(magnitude)) - digits + 1
    # Whole numbers times or over whole powers of ten are exact, so that 0.3 does not become
    # 0.30000000000000004.
    times = 10.0 ** np.maximum(power, 0)
    over = 10.0 ** np.maximum(-power, 0)
    scaled = values / times * over
    nearest = np.round(scaled)
    is_whole = np.isclose(scaled, nearest, rtol=1e-12, atol=0)
    scaled = np.where(is_whole, nearest, scaled)
    down = np.floor(scaled) * times / over
    up = np.ceil(scaled) * times / over
    return down, up
