"""All rule sets ranked by how far apart their people and everyone else are, and bounds on them."""

from __future__ import annotations

from dataclasses import dataclass, field
from functools import cached_property
from typing import TYPE_CHECKING, Any, cast

import numpy as np

from evenhand.methods.mine.counting.enumeration import SLACK, Enumeration
from evenhand.methods.mine.counting.rule_table import blocks
from evenhand.statistics.simultaneous import SimultaneousIntervals, absolute

if TYPE_CHECKING:
    from collections.abc import Callable

    from numpy.typing import NDArray

    from evenhand.methods.mine.counting.enumeration import Enumerated
    from evenhand.methods.mine.cube import Cube, Family
    from evenhand.statistics.intervals import Floats

    Flags = NDArray[np.bool_]
    Indices = NDArray[np.intp]

BOXED, REFINED, AT_ONCE = 1 << 16, 1024, 16
"""Of rule sets that lead no story, those whose upper limits are bounded closely, may be computed,
and are at once.
"""
STRONGEST = 4
"""Of rule sets that lead no story, those whose lower limits are computed."""
_TIE = 1e-10
"""What a group of over half of all loses, so that of two complements the smaller leads."""


@dataclass(frozen=True, slots=True)
class RuleSet:
    """One rule set: who it covers, and their rate and that of everyone else."""

    family: Family
    place: tuple[int, ...]
    size: float
    hits: float
    inside: float
    outside: float
    squares: float = 0.0
    """The sum of squared values, where these are numbers."""
    rate: float | None = None
    """The least false discovery rate at which it is found, where that is controlled."""

    @property
    def difference(self) -> float:
        """How much more often its people are favoured than everyone else."""
        return self.inside - self.outside


@dataclass(frozen=True, slots=True)
class OtherRuleSets:
    """The rule sets that lead no story: how many, and the largest difference with its limits."""

    rules: int
    value: float
    low: float
    high: float
    strongest: int
    """The number of the one that is furthest from everyone else, at least."""


@dataclass(eq=False)
class Ranking:
    """All rule sets over the cells of a cube that are frequent on both sides.

    Parameters
    ----------
    cube
        The cells that people lie in, and the choices of each feature.
    size, hits
        Of each cell: the people in it, and the sum of how favourably they are treated.
    found
        The rule sets that are frequent.
    """

    cube: Cube
    size: Floats
    hits: Floats
    found: Enumerated
    squares: Floats | None = None
    """Of each cell the sum of squared values, where these are numbers."""
    strength: Floats = field(init=False)
    """About how far apart the people of each rule set and everyone else are at least."""
    rates: Floats | None = None
    """The least false discovery rate at which each is found, where that is controlled."""

    def __post_init__(self) -> None:
        self.table = self.found.table()
        self.found = self.found.without_sums()
        people, hits = self.table.sums[:2]
        # Rounding must not make a rate over 1.
        np.minimum(hits, people, out=hits)

    @cached_property
    def inside(self) -> Floats:
        """The rate of the people of each rule set."""
        return self._summed_shares(slice(None))[0]

    @cached_property
    def outside(self) -> Floats:
        """The rate of everyone else of each rule set."""
        return self._summed_shares(slice(None))[1]

    def shares(self, taken: Any) -> tuple[Floats, Floats]:
        """Return `inside` and `outside` of some rule sets, without those of all others."""
        if "inside" in vars(self):
            return self.inside[taken], self.outside[taken]
        return self._summed_shares(taken)

    def _summed_shares(self, taken: Any) -> tuple[Floats, Floats]:
        people, hits = self.table.sums[:2, taken]
        missed = self.hits.sum() - hits
        others = self.total - people
        return hits / people, np.clip(missed / others, 0.0, 1.0)

    @classmethod
    def of(
        cls,
        cube: Cube,
        size: Floats,
        hits: Floats,
        *,
        least: float,
        least_other: float,
        most: int,
        depth: int | None = None,
        report: Callable[[float], None] | None = None,
        squares: Floats | None = None,
    ) -> Ranking:
        """Sum up all rule sets of up to `depth` features; `report` gets the share that is done.

        Parameters
        ----------
        least, least_other
            The fewest people inside and outside.
        most
            The most rule sets that are looked at; deeper ones than these are left out.
        """
        totals = [size, hits]
        if squares is not None:
            totals.append(squares)
        search = Enumeration(cube, np.stack(totals), least, least_other, most)
        found = search.run(depth or len(cube.choices), report)
        return cls(cube, size, hits, found, squares)

    @property
    def total(self) -> float:
        """All people."""
        return float(self.size.sum())

    @property
    def examined(self) -> int:
        """Rule sets that are frequent on both sides."""
        return len(self.table)

    def rule_set(self, number: int) -> RuleSet:
        """Return one of the rule sets."""
        people, hits, *squares = self.table.sums[:, number].tolist()
        inside, outside = self.shares(slice(number, number + 1))
        return RuleSet(
            self.table.family(number),
            self.table.place(number),
            size=people,
            hits=hits,
            inside=float(inside[0]),
            outside=float(outside[0]),
            squares=squares[0] if squares else 0.0,
            rate=None if self.rates is None else float(self.rates[number]),
        )

    def counts(self, taken: Any = slice(None)) -> Floats:
        """Return the sums of some rule sets: hits, people, and of numbers their squares."""
        people, hits, *squares = self.table.sums[:, taken]
        return np.stack([hits, people, *squares])

    def group_sums(self, totals: Floats) -> Floats:
        """Return sums over the people of each rule set, of rows of sums over cells.

        They are in the order of the rule sets: a row for each row of totals.
        """
        numbering = self.table.numbering
        sums = []
        for level in self.table.levels:
            for rules in self.found.search.by_family(level):
                family = numbering.family(rules[0])
                places = (rules - numbering.starts[list(family)]).T
                tables = self.cube.sums(family, totals)
                sums.append(tables[:, *places])
        return np.concatenate(sums, axis=1)

    @property
    def entries_of_sums(self) -> int:
        """How many cells and entries of tables are added up for one row of `group_sums`."""
        families = sum(map(self.found.search.families_of, self.table.levels))
        # The tables are seldom larger than the rule sets in them where families are few.
        return families * len(self.cube.codes)

    def rank(self, intervals: SimultaneousIntervals) -> None:
        """Rank the rule sets by how far apart their rates and everyone else's are at least."""
        self.strength = np.empty(self.examined)
        for some in blocks(self.examined):
            people = self.table.sums[0, some]
            # Sums in another order differ in their last digits, and the simpler of two equal rule
            # sets is to lead.
            covers_most = people > self.total - people
            strength = self._strength(intervals, some)
            self.strength[some] = np.round(strength, 12) - _TIE * covers_most

    def _strength(self, intervals: SimultaneousIntervals, some: slice) -> Floats:
        """Return about how far apart the rates of some rule sets are at least."""
        if intervals.exact:
            # Of Algorithm 2, the rates that it drew; they have no counts.
            inside, outside = self.shares(some)
            return np.abs(inside - outside)
        return intervals.strength_of(self.sides(self.counts(some)))

    def only_found(self, error: float) -> None:
        """Let none but discoveries lead a story, at a false discovery rate."""
        if self.rates is not None:
            is_found = self.rates <= error * (1 + SLACK)
            self.strength = np.where(is_found, self.strength, -np.inf)

    def discovered(self, error: float) -> int:
        """Return how many rule sets are discoveries, at a false discovery rate."""
        if self.rates is None:
            return 0
        return int((self.rates <= error * (1 + SLACK)).sum())

    def rest(
        self, intervals: SimultaneousIntervals, leads: list[int]
    ) -> OtherRuleSets | None:
        """Return what is known of all rule sets that lead no story; None where all lead one."""
        is_left = np.ones(self.examined, dtype=np.bool_)
        is_left[leads] = False
        count = np.count_nonzero(is_left)
        if not count:
            return None
        value = 0.0
        likely = highest = None
        for some in blocks(self.examined):
            left = some.start + np.flatnonzero(is_left[some])
            if not len(left):
                continue
            inside, outside = self.shares(left)
            value = max(value, float(np.abs(inside - outside).max()))
            counts = self.counts(left)
            likely = TopRuleSets.of(self.strength[left], counts, STRONGEST, likely)
            # Closed bounds of millions of rule sets first; only those that may be the highest of
            # all are computed, which takes an integral each.
            ceilings = intervals.ceiling_of(self.sides(counts))
            highest = TopRuleSets.of(ceilings, counts, BOXED, highest)
        assert likely is not None
        assert highest is not None
        low, _ = self._limits(intervals, likely.counts)
        high = self._highest(intervals, highest)
        return OtherRuleSets(
            int(count),
            value,
            low=min(low, value),
            high=max(high, value),
            strongest=self._strongest(is_left),
        )

    def _strongest(self, is_left: Flags) -> int:
        """Return the first of the strongest rule sets among some."""
        best: list[int] = []
        for some in blocks(self.examined):
            left = some.start + np.flatnonzero(is_left[some])
            if len(left):
                best.append(int(left[np.argmax(self.strength[left])]))
        return best[int(np.argmax(self.strength[best]))]

    def sides(self, counts: Floats) -> tuple[Floats, ...]:
        """Return hits and size inside and outside of rule sets; of numbers also their squares."""
        hits, size, *squares = counts
        others = self.total - size
        missed = self.hits.sum() - hits
        missed = np.clip(missed, 0.0, others)
        sides: tuple[Floats, ...] = (hits, size, missed, others)
        for inside in squares:
            outside = cast("Floats", self.squares).sum() - inside
            sides = (*sides, inside, np.maximum(outside, 0.0))
        return sides

    def _limits(
        self, intervals: SimultaneousIntervals, counts: Floats
    ) -> tuple[float, float]:
        """Return the largest lower and the largest upper limit of rule sets."""
        sides = self.sides(counts)
        lows, highs = intervals.difference_of(sides)
        low, high = absolute(np.asarray(lows), np.asarray(highs))
        largest_low = low.max()
        largest_high = high.max()
        return float(largest_low), float(largest_high)

    def _highest(self, intervals: SimultaneousIntervals, top: TopRuleSets) -> float:
        """Return the highest upper limit of all, or a bound on it.

        It is one of those with the highest bounds: in their order, none needs to be computed after
        a limit that the next bound does not exceed.
        """
        boxes = intervals.box_of(self.sides(top.counts))
        boxed = TopRuleSets.of(boxes, top.counts, REFINED)
        bound = max(top.over, boxed.over)
        best = 0.0
        for start in range(0, len(boxed.keys), AT_ONCE):
            if boxed.keys[start] <= best:
                break
            counts = boxed.counts[:, start : start + AT_ONCE]
            _, high = self._limits(intervals, counts)
            best = max(best, high)
        return max(best, bound)


@dataclass(frozen=True, eq=False)
class TopRuleSets:
    """The rule sets with the largest keys, largest first, and a bound on the keys of all others.

    >>> top = TopRuleSets.of(np.array([0.1, 0.4, 0.2]), np.array([[1.0, 2.0, 3.0]]), most=2)
    >>> top.keys.tolist(), top.counts.tolist(), top.over
    ([0.4, 0.2], [[2.0, 3.0]], 0.1)
    """

    keys: Floats
    counts: Floats
    over: float = 0.0

    @classmethod
    def of(
        cls, keys: Floats, counts: Floats, most: int, before: TopRuleSets | None = None
    ) -> TopRuleSets:
        """Take the rule sets with the largest keys, also of those that were taken before."""
        over = 0.0
        if before is not None:
            keys = np.concatenate([before.keys, keys])
            counts = np.concatenate([before.counts, counts], axis=1)
            over = before.over
        taken = np.arange(len(keys))
        if len(keys) > most:
            # Of millions, only those that are kept are sorted.
            parted = np.argpartition(-keys, most)
            taken = np.sort(parted[:most])
            over = max(over, float(keys[parted[most:]].max()))
        order = taken[np.argsort(-keys[taken], kind="stable")]
        return cls(keys[order], counts[:, order], over)
