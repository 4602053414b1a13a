"""Max-T: how large the largest of many scores is by chance, where groups overlap.

Bonferroni's inequality counts every group as if it had nothing to do with the others. Groups that
share most of their people are wrong together, and cost less: the largest of their statistics is
resampled (Westfall and Young 1993, Romano and Wolf 2005). The statistic of a group is the normal
score of its exact tail, that of the melded interval (Fay et al. 2015). A score that is divided by
its standard error is not: of few hits it is so skewed that its largest value is over Bonferroni's.

The law is that of nobody being treated differently, with half of all people favoured. Of all rates,
tails are then the least discrete, and the smallest of them the smallest. What groups differ in
truth makes exact tails larger, since a mixture of rates varies less than one rate. So the law
depends on who is in which group, and on no outcome.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np

from evenhand.runtime.random_streams import stream
from evenhand.statistics.simultaneous import SimultaneousIntervals

if TYPE_CHECKING:
    from collections.abc import Callable

    from evenhand.statistics.intervals import Floats

    GroupSums = Callable[[Floats], Floats]

RESAMPLES = 1999
"""How often hits are dealt anew. One more is a round number, so that a level is met exactly."""
MOST_SUMS = 100_000_000
"""The most sums over cells and groups, of all resamples, that are made without being asked for."""
LEAST_BEYOND = 10
"""The fewest resamples beyond the critical value that settle it well."""
AT_ONCE = 4_000_000
"""Sums that are held in memory at once."""
_NEARLY = 0.06
"""The part of the largest approximate score by which that of the smallest tail may be less."""
_ROUNDING = 1e-9
"""By how much two tails of the same counts may differ, as a part of them."""


@dataclass(frozen=True, eq=False)
class OverlappingGroups:
    """Groups that are unions of cells of people.

    Parameters
    ----------
    cells
        The people in each cell.
    sizes
        The people in each group, which is neither nobody nor everybody.
    sums
        Sums over groups, of rows of sums over cells.
    entries
        What is added up, beside cells and groups, for one row of them.
    """

    cells: Floats
    sizes: Floats
    sums: GroupSums
    entries: int = 0

    @property
    def count(self) -> int:
        """How many groups there are."""
        return len(self.sizes)

    @property
    def cost(self) -> int:
        """The sums over cells and groups that one resample takes."""
        return len(self.cells) + len(self.sizes) + self.entries

    @property
    def whole(self) -> bool:
        """Whether people are counted, and not weighted."""
        return bool(np.all(self.cells == np.round(self.cells)))


def holds(groups: list[OverlappingGroups], level: float) -> bool:
    """Return whether max-T is what intervals are made by where nothing else is said.

    People must be counted, all sums be affordable, and the critical value rest on enough resamples.
    For smaller rates, groups and cells nothing else is needed, as simulations show.

    >>> cells = np.array([30.0, 20.0])
    >>> groups = [OverlappingGroups(cells, cells, lambda totals: totals)]
    >>> holds(groups, 0.95), holds(groups, 0.9999)
    (True, False)
    """
    cost = sum(part.cost for part in groups)
    beyond = (1 - level) * (RESAMPLES + 1)
    return (
        bool(groups)
        and all(part.whole for part in groups)
        and cost * RESAMPLES <= MOST_SUMS
        and beyond >= LEAST_BEYOND * (1 - _ROUNDING)
    )


def smallest_tails(
    groups: OverlappingGroups, seed: int, part: int = 0, resamples: int = RESAMPLES
) -> Floats:
    """Return the smallest exact tail of all groups in each resample, where none differs.

    Hits of half of all people are dealt to the cells without regard to these. The tail is the
    smaller one of both sides of Fisher's exact test, with which the melded limits agree.

    Parameters
    ----------
    part
        Which of several minings this is: each has draws of its own.

    >>> cells = np.array([30.0, 20.0, 50.0])
    >>> groups = OverlappingGroups(cells, cells, lambda totals: totals)
    >>> tails = smallest_tails(groups, seed=0, resamples=99)
    >>> tails.shape, bool(np.median(tails) < 0.25)
    ((99,), True)
    """
    random = stream(seed, "max-t", part)
    people = int(groups.cells.sum())
    hits = people // 2
    cells = groups.cells.astype(np.int64)
    rows = max(1, AT_ONCE // groups.cost)
    tails = np.ones(resamples)
    for start in range(0, resamples, rows):
        count = min(rows, resamples - start)
        # Also where there are very many cells, of which each has few people.
        dealt = random.multivariate_hypergeometric(cells, hits, count, method="marginals")
        inside = groups.sums(dealt.astype(np.float64))
        tails[start : start + count] = _smallest(inside, groups.sizes, people, hits)
    return tails


def _smallest(inside: Floats, sizes: Floats, people: int, hits: int) -> Floats:
    """Return the smallest tail of the groups in each row of hits inside."""
    from scipy.stats import hypergeom

    share = hits / people
    spread = np.sqrt(sizes * (people - sizes) * share * (1 - share) / (people - 1))
    apart = inside - sizes * share
    # An exact tail counts half of what was seen beyond it.
    score = (np.abs(apart) - 0.5) / spread
    largest = score.max(axis=1)
    row, group = np.nonzero(score >= (largest - _NEARLY * np.abs(largest))[:, None])
    n = sizes[group]
    seen = np.round(inside[row, group])
    # The hits inside a group and the misses beyond them are alike: one tail stands for both sides.
    is_above = apart[row, group] > 0
    seen_above = np.where(is_above, seen, n - seen)
    marked = np.where(is_above, hits, people - hits)
    tails = np.ones(len(inside))
    np.minimum.at(tails, row, hypergeom.sf(seen_above - 1, people, marked, n))
    return tails


@dataclass(frozen=True, eq=False, slots=True)
class MaxTIntervals(SimultaneousIntervals):
    """Intervals of differences that hold together by resampling the largest of their scores.

    The limits are melded ones, whose tail is the one that the smallest of all tails is under with
    the probability of the error. It is never less than Bonferroni's, which always holds, and never
    more than that of a single group. The limits of rates are a family of their own, with
    Bonferroni's tails.

    Parameters
    ----------
    smallest
        The smallest tails of `resamples` resamples, of all minings, in ascending order.
    share
        The part of the error that these minings have, where others are not resampled.

    >>> smallest = np.linspace(0.0001, 0.2, 1999)
    >>> intervals = MaxTIntervals(0.95, among=100, smallest=smallest, resamples=1999)
    >>> low, high = intervals.difference(300, 500, 150, 500)
    >>> f"{low:.3f} {high:.3f}"
    '0.227 0.370'
    """

    smallest: Floats = ()  # type: ignore[assignment]
    resamples: int = RESAMPLES
    share: float = 1.0

    @property
    def method(self) -> str:
        """How the intervals of differences are made."""
        return "max-t"

    @property
    def correction(self) -> str:
        """How the intervals of differences are made to hold together."""
        return "max-t"

    @property
    def separate(self) -> float:
        """How many groups that do not overlap would cost as much, by Bonferroni's inequality."""
        return (1 - self.level) / (2 * self.tail)

    @property
    def tail(self) -> float:
        """The probability with which each limit of a difference may miss."""
        error = 1 - self.level
        by_bonferroni = self._tail(2)
        allowed = math.floor(error * self.share * (self.resamples + 1) + _ROUNDING)
        if not allowed:
            return by_bonferroni
        # Just under what was resampled: the same counts give the same tail but for rounding.
        resampled = float(self.smallest[allowed - 1]) * (1 - 2 * _ROUNDING)
        return max(by_bonferroni, min(resampled, error / 2))

    def _corrected(self, tail: Floats) -> Floats:
        """Return the least error of all groups together at which each gets such a tail."""
        by_bonferroni = SimultaneousIntervals._corrected(self, tail)
        as_small = np.searchsorted(self.smallest, tail * (1 + _ROUNDING), side="right")
        resampled = (1 + as_small) / (self.resamples + 1) / self.share
        resampled = np.maximum(resampled, 2 * tail)
        return np.minimum(by_bonferroni, resampled)
