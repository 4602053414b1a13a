"""Stories: all rule sets ranked, and those about nearly the same people under the worst."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any, cast

import numpy as np

from evenhand.statistics.simultaneous import SimultaneousIntervals, absolute

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

    from numpy.typing import NDArray

    from evenhand.methods.mine.cube import Cube, Family
    from evenhand.statistics.intervals import Floats

    Flags = NDArray[np.bool_]

OVERLAP = 0.5
"""Rule sets tell the same story if a side of one, they or everyone else, shares this part with the
other's smaller.
"""
WITHIN = 0.25
"""A rule set of fewer features leads if it is as far apart but for this part of the error of the
strongest.
"""
LIKE = 5
"""Rule sets that are listed beside the one that leads a story."""
BOXED, REFINED, AT_ONCE = 1 << 16, 1024, 16
"""Of rule sets that lead no story, those whose upper limits are bounded closely, may be computed,
and are at once.
"""
STRONGEST = 4
"""Of rule sets that lead no story, those whose lower limits are computed."""
SLACK = 1e-12
"""The part by which a number of people may miss a threshold, for rounding."""
_TIE = 1e-10
"""What a group of over half of all loses, so that of two complements the smaller leads."""


@dataclass(eq=False)
class FamilyRuleSets:
    """The rule sets of one family that are frequent on both sides, and what is known of each."""

    family: Family
    shape: tuple[int, ...]
    index: NDArray[np.int64]
    size: Floats
    hits: Floats
    inside: Floats
    outside: Floats
    squares: Floats | None = None
    """The sum of squared values, where these are numbers."""
    strength: Floats = field(init=False)
    alive: Flags = field(init=False)
    """Rule sets that are in no story yet."""
    leads: list[int] = field(default_factory=list)
    """Rule sets that lead a story."""
    rates: Floats | None = None
    """The least false discovery rate at which each is found, where that is controlled."""

    def place(self, number: int) -> tuple[int, ...]:
        """Return which choice of each feature a rule set takes."""
        choices = np.unravel_index(self.index[number], self.shape)
        return tuple(int(choice) for choice in choices)

    def rule_set(self, number: int) -> RuleSet:
        """Return one of the rule sets."""
        return RuleSet(
            self.family,
            self.place(number),
            size=float(self.size[number]),
            hits=float(self.hits[number]),
            inside=float(self.inside[number]),
            outside=float(self.outside[number]),
            squares=0.0 if self.squares is None else float(self.squares[number]),
            rate=None if self.rates is None else float(self.rates[number]),
        )

    def counts(self, taken: Any = slice(None)) -> Floats:
        """Return the sums of some of the rule sets, a row for each kind of sum."""
        sums = [self.hits[taken], self.size[taken]]
        if self.squares is not None:
            sums.append(self.squares[taken])
        return np.stack(sums)

    def strongest(self, among: Flags, most: int) -> list[int]:
        """Return the strongest of some of the rule sets, strongest first."""
        strength = np.where(among, self.strength, -np.inf)
        order = np.argsort(-strength, kind="stable")
        kept = min(most, int(among.sum()))
        return [int(number) for number in order[:kept]]


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


@dataclass(frozen=True, slots=True)
class Story:
    """The rule set that leads, how many are about nearly the same people, and their worst."""

    lead: RuleSet
    rules: int
    like: tuple[RuleSet, ...]


@dataclass(frozen=True, slots=True)
class OtherRuleSets:
    """The rule sets that lead no story: how many, and the largest difference with its limits."""

    rules: int
    value: float
    low: float
    high: float


@dataclass(frozen=True, slots=True)
class _Candidate:
    """A rule set that may lead a story: its strength, its family, and its number there."""

    strength: float
    block: FamilyRuleSets
    number: int

    @property
    def features(self) -> int:
        """The number of features that it has conditions on."""
        return len(self.block.family)

    @property
    def rule_set(self) -> RuleSet:
        """The rule set itself."""
        return self.block.rule_set(self.number)

    def is_same(self, other: _Candidate) -> bool:
        """Return whether another candidate is the same rule set."""
        return self.block is other.block and self.number == other.number


@dataclass(eq=False)
class Ranking:
    """All rule sets over the cells of a cube that are frequent on both sides.

    Parameters
    ----------
    cube
        The cells that people lie in, and the choices of each feature.
    size, hits
        Of each cell: the people in it, and the sum of how favourably they are treated.
    least, least_other
        The fewest people inside and outside.
    """

    cube: Cube
    size: Floats
    hits: Floats
    least: float
    least_other: float
    blocks: list[FamilyRuleSets] = field(default_factory=list)
    squares: Floats | None = None
    """Of each cell the sum of squared values, where these are numbers."""

    @classmethod
    def of(
        cls,
        cube: Cube,
        size: Floats,
        hits: Floats,
        *,
        least: float,
        least_other: float,
        depth: int | None = None,
        report: Callable[[float], None] | None = None,
        squares: Floats | None = None,
    ) -> Ranking:
        """Sum up all rule sets of up to `depth` features; `report` gets the share that is done."""
        ranking = cls(cube, size, hits, least, least_other, squares=squares)
        families = cube.families(depth)
        for number, family in enumerate(families, start=1):
            ranking._add(family)
            if report is not None:
                report(number / len(families))
        return ranking

    @property
    def total(self) -> float:
        """All people."""
        return float(self.size.sum())

    @property
    def examined(self) -> int:
        """Rule sets that are frequent on both sides."""
        return sum(len(block.index) for block in self.blocks)

    def _add(self, family: Family) -> None:
        """Add the frequent rule sets of a family (lines 7 and 8 of Algorithm 1)."""
        totals = [self.size, self.hits]
        if self.squares is not None:
            totals.append(self.squares)
        size_table, hits_table, *squares_tables = self.cube.sums(family, np.stack(totals))
        shape = size_table.shape
        size = size_table.ravel()
        hits = hits_table.ravel()
        index = np.flatnonzero(self._frequent(size))
        if not len(index):
            return
        size = size[index]
        # Rounding must not make a rate over 1.
        hits = np.minimum(hits[index], size)
        others = self.total - size
        missed = self.hits.sum() - hits
        inside = hits / size
        outside = np.clip(missed / others, 0.0, 1.0)
        squares = None
        for table in squares_tables:
            squares = table.ravel()[index]
        block = FamilyRuleSets(family, shape, index, size, hits, inside, outside, squares)
        self.blocks.append(block)

    def _frequent(self, size: Floats) -> Flags:
        """Return which rule sets cover and leave enough people.

        The paper asks for the support alone (Equation 2). A rule set that leaves nearly nobody
        compares everybody with a few, so both sides must be large.
        """
        others = self.total - size
        covers_enough = size >= self.least * (1 - SLACK)
        leaves_enough = others >= self.least_other * (1 - SLACK)
        return np.asarray(covers_enough & leaves_enough & (others > 0))

    def group_sums(self, totals: Floats) -> Floats:
        """Return sums over the people of each rule set, of rows of sums over cells.

        They are in the order of the rule sets: a row for each row of totals.
        """
        sums = []
        for block in self.blocks:
            of_family = self.cube.sums(block.family, totals).reshape(len(totals), -1)
            sums.append(of_family[:, block.index])
        return np.concatenate(sums, axis=1)

    def rank(self, intervals: SimultaneousIntervals) -> None:
        """Rank the rule sets by how far apart their rates and everyone else's are at least."""
        for block in self.blocks:
            others = self.total - block.size
            strength = intervals.strength_of(self.sides(block.counts()))
            # Sums in another order differ in their last digits, and the simpler of two equal rule
            # sets is to lead.
            covers_most = block.size > others
            block.strength = np.round(strength, 12) - _TIE * covers_most
            block.alive = np.ones(len(block.index), dtype=np.bool_)
            block.leads = []

    def only_found(self, error: float) -> None:
        """Let none but discoveries lead a story, at a false discovery rate."""
        for block in self.blocks:
            if block.rates is not None:
                found = block.rates <= error * (1 + SLACK)
                block.strength = np.where(found, block.strength, -np.inf)

    def found(self, error: float) -> int:
        """Return how many rule sets are discoveries, at a false discovery rate."""
        found = 0
        for block in self.blocks:
            if block.rates is not None:
                found += int((block.rates <= error * (1 + SLACK)).sum())
        return found

    def stories(self, most: int) -> list[Story]:
        """Return the worst rule sets about different people, each with those like it."""
        stories: list[Story] = []
        while len(stories) < most:
            strongest = self._strongest()
            if strongest is None or np.isneginf(strongest.strength):
                break
            stories.append(self._story(strongest))
        return stories

    def _alive(self) -> Iterator[FamilyRuleSets]:
        """Return the families with rule sets that are in no story yet."""
        for block in self.blocks:
            if block.alive.any():
                yield block

    def _strongest(self) -> _Candidate | None:
        """Return the strongest rule set that is in no story yet; None where all are."""
        best: _Candidate | None = None
        for block in self._alive():
            open_strength = np.where(block.alive, block.strength, -np.inf)
            number = int(np.argmax(open_strength))
            strength = float(block.strength[number])
            if best is None or strength > best.strength:
                best = _Candidate(strength, block, number)
        return best

    def _story(self, strongest: _Candidate) -> Story:
        """Take the rule sets about nearly the same people as the strongest out of the ranking."""
        rules, candidates = self._join(strongest.rule_set)
        lead = _leading(strongest, candidates)
        lead.block.leads.append(lead.number)
        others = [candidate for candidate in candidates if not candidate.is_same(lead)]
        like = tuple(candidate.rule_set for candidate in others[:LIKE])
        return Story(lead.rule_set, rules, like)

    def _join(self, strongest: RuleSet) -> tuple[int, list[_Candidate]]:
        """Return how many rule sets join a story, and the strongest of them, strongest first."""
        people, cell_people = self._smaller_side(strongest)
        rules = 0
        candidates: list[_Candidate] = []
        for block in self._alive():
            sums = self.cube.sums(block.family, cell_people)
            shared = sums.ravel()[block.index]
            overlap = self._overlap(shared, block.size, people)
            joins = block.alive & (overlap >= OVERLAP)
            if not joins.any():
                continue
            rules += int(joins.sum())
            block.alive &= ~joins
            for number in block.strongest(joins, LIKE + 1):
                strength = float(block.strength[number])
                candidates.append(_Candidate(strength, block, number))
        candidates.sort(key=lambda candidate: -candidate.strength)
        return rules, candidates

    def _smaller_side(self, rule_set: RuleSet) -> tuple[float, Floats]:
        """Return the people of the smaller side of a rule set, all of them and by cell.

        The smaller side is whom a story is about: nearly everybody is in nearly every large group.
        """
        covered = self.cube.mask(rule_set.family, rule_set.place)
        people = rule_set.size
        if 2 * people > self.total:
            covered = ~covered
            people = self.total - people
        return people, self.size * covered

    def _overlap(self, shared: Floats, size: Floats, people: float) -> Floats:
        """Return the part that groups share with some people, or everyone else does if larger.

        Each part is a Jaccard index: what two sets share over what they are together.
        """
        shared_by_others = people - shared
        others = self.total - size
        group_union = size + people - shared
        others_union = others + people - shared_by_others
        of_group = shared / group_union
        of_others = shared_by_others / others_union
        return np.maximum(of_group, of_others)

    def rest(self, intervals: SimultaneousIntervals) -> OtherRuleSets | None:
        """Return what is known of all rule sets that lead no story; None where all lead one."""
        rules = 0
        value = 0.0
        likely = _TopRuleSets(STRONGEST)
        highest = _TopRuleSets(BOXED)
        for block in self.blocks:
            every = np.arange(len(block.index))
            left = np.delete(every, block.leads)
            if not len(left):
                continue
            inside = block.inside[left]
            outside = block.outside[left]
            rules += len(left)
            apart = np.abs(inside - outside)
            value = max(value, float(apart.max()))
            counts = block.counts(left)
            likely.add(block.strength[left], counts)
            # Closed bounds of millions of rule sets first; only those that may be the highest of
            # all are computed, which takes an integral each.
            highest.add(intervals.ceiling_of(self.sides(counts)), counts)
        if not rules:
            return None
        low, _ = self._limits(intervals, likely.counts)
        high = self._highest(intervals, highest)
        return OtherRuleSets(
            rules,
            value,
            low=min(low, value),
            high=max(high, value),
        )

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

    def _highest(self, intervals: SimultaneousIntervals, top: _TopRuleSets) -> float:
        """Return the highest upper limit of all, or a bound on it.

        It is one of those with the highest bounds: in their order, none needs to be computed after
        a limit that the next bound does not exceed.
        """
        boxed = _TopRuleSets(REFINED)
        boxes = intervals.box_of(self.sides(top.counts))
        boxed.add(boxes, top.counts)
        bound = max(top.over, boxed.over)
        best = 0.0
        for start in range(0, len(boxed.keys), AT_ONCE):
            if boxed.keys[start] <= best:
                break
            counts = boxed.counts[:, start : start + AT_ONCE]
            _, high = self._limits(intervals, counts)
            best = max(best, high)
        return max(best, bound)


def _leading(strongest: _Candidate, candidates: list[_Candidate]) -> _Candidate:
    """Return the rule set that leads a story: of the strong ones, one of fewest features.

    Conditions that add nothing beyond chance make a rule harder to read, and are mostly chance
    themselves.
    """
    rule_set = strongest.rule_set
    apart = abs(rule_set.inside - rule_set.outside)
    error = apart - strongest.strength
    least = strongest.strength - WITHIN * error
    strong = [candidate for candidate in candidates if candidate.strength >= least]
    lead = strongest
    for candidate in strong:
        if candidate.features < lead.features:
            lead = candidate
    return lead


@dataclass(eq=False)
class _TopRuleSets:
    """The rule sets with the largest keys, largest first, and a bound on the keys of all others."""

    most: int
    keys: Floats = field(default_factory=lambda: np.empty(0))
    counts: Floats = field(default_factory=lambda: np.empty((2, 0)))
    over: float = 0.0

    def add(self, keys: Floats, counts: Floats) -> None:
        """Take more rule sets into account."""
        if len(self.keys) == self.most:
            # Most of millions are no larger than the least that is kept; they need no sorting.
            new = keys > self.keys[-1]
            largest_left_out = keys.max(initial=0.0, where=~new)
            self.over = max(self.over, float(largest_left_out))
            keys = keys[new]
            counts = counts[:, new]
        if not len(self.keys):
            # What the rule sets have sums of is known with the first of them.
            self.counts = counts[:, :0]
        all_keys = np.concatenate([self.keys, keys])
        all_counts = np.concatenate([self.counts, counts], axis=1)
        order = np.argsort(-all_keys, kind="stable")
        if len(order) > self.most:
            first_left_out = order[self.most]
            largest_left_out = all_keys[first_left_out]
            self.over = max(self.over, float(largest_left_out))
        kept = order[: self.most]
        self.keys = all_keys[kept]
        self.counts = all_counts[:, kept]
