"""Strata: people who are alike in what is told so far, and candidates within them."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np

from evenhand.statistics.stratified import (
    ROUNDING,
    PooledDifference,
    StratumSums,
    pooled_difference,
)

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from evenhand.methods.mine.counting.covers import Covers

    Bits = NDArray[np.uint64]
    Floats = NDArray[np.float64]
    Indices = NDArray[np.intp]


@dataclass(frozen=True, slots=True)
class Stratum:
    """Some people as bits, and the sums of them, and of each candidate's part of them."""

    people: Bits
    whole: Floats
    candidates: Floats


@dataclass(frozen=True, eq=False)
class Strata:
    """People by which of the stories told so far are about them, and candidates for the next.

    Parameters
    ----------
    bits
        Whom each candidate covers.
    """

    covers: Covers
    bits: Bits
    parts: tuple[Stratum, ...]

    @classmethod
    def of(cls, covers: Covers, bits: Bits) -> Strata:
        """Return one stratum of everybody."""
        everybody = covers.everybody()
        whole = covers.sums(everybody[None])[:, 0]
        return cls(covers, bits, (Stratum(everybody, whole, covers.sums(bits)),))

    def only(self, kept: Indices) -> Strata:
        """Return the strata with some of the candidates."""
        return self.taken(self.bits[kept], kept)

    def of_others(self, bits: Bits, rows: Indices, sums: Floats) -> Strata:
        """Return the same strata of people with other candidates, some rows of `bits`.

        The bits are those of all candidates still, and `sums` those of all of their people.
        """
        sizes = [float(part.whole[0]) for part in self.parts]
        largest = int(np.argmax(sizes))
        left = sums.copy()
        parts = list(self.parts)
        for place, part in enumerate(self.parts):
            if place != largest:
                own = self.covers.sums(bits, within=part.people, rows=rows)
                parts[place] = Stratum(part.people, part.whole, own)
                left -= own
        # What the largest has of them is what the others have not.
        last = self.parts[largest]
        parts[largest] = Stratum(last.people, last.whole, np.maximum(left, 0.0))
        return Strata(self.covers, bits, tuple(parts))

    def with_more(self, bits: Bits) -> Strata:
        """Return the strata with more candidates after those that there are."""
        parts = []
        for part in self.parts:
            sums = self.covers.sums(bits, within=part.people)
            candidates = np.concatenate([part.candidates, sums], axis=1)
            parts.append(Stratum(part.people, part.whole, candidates))
        return Strata(self.covers, np.concatenate([self.bits, bits]), tuple(parts))

    def taken(self, bits: Bits, kept: Indices) -> Strata:
        """Return the strata with some of the candidates, whose bits are given."""
        parts = [
            Stratum(part.people, part.whole, part.candidates[:, kept])
            for part in self.parts
        ]
        return Strata(self.covers, bits, tuple(parts))

    def split(self, cover: Bits) -> Strata:
        """Return the strata once a story is told: those it is about, and the others."""
        parts = []
        least = ROUNDING * sum(float(part.whole[0]) for part in self.parts)
        for part in self.parts:
            inside = part.people & cover
            whole = self.covers.sums(inside[None])[:, 0]
            candidates = self.covers.sums(self.bits, within=inside)
            outside = part.people & ~cover
            rest = part.whole - whole
            for people, sums, in_it in (
                (inside, whole, candidates),
                (outside, rest, part.candidates - candidates),
            ):
                if sums[0] > least:
                    parts.append(Stratum(people, sums, in_it))
        return Strata(self.covers, self.bits, tuple(parts))

    def beyond(self, z: float) -> PooledDifference:
        """Return how far candidates are from everyone else who is alike in what is told."""
        sums = [StratumSums(part.whole, part.candidates) for part in self.parts]
        return pooled_difference(sums, z)

    def within(self, candidate: int, z: float) -> PooledDifference:
        """Return how far a candidate is from the others whom each of the candidates covers.

        It has a meaning only for those that cover all whom the candidate does.
        """
        sums = []
        for part in self.parts:
            own = part.candidates[:, [candidate]]
            inside = np.minimum(own, part.candidates)
            sums.append(StratumSums(part.candidates, inside))
        return pooled_difference(sums, z)

    def besides(self, candidate: int, z: float) -> PooledDifference:
        """Return how far those whom only others cover are from everyone whom neither covers.

        It has a meaning only for those that cover all whom the candidate does.
        """
        sums = []
        for part in self.parts:
            own = part.candidates[:, [candidate]]
            left = np.maximum(part.candidates - own, 0.0)
            sums.append(StratumSums(part.whole[:, None] - own, left))
        return pooled_difference(sums, z)

    def shared(self, candidate: int) -> Floats:
        """Return the people whom a candidate and each of the candidates cover."""
        own = self.bits[candidate]
        return np.asarray(self.covers.sums(self.bits, last=1, within=own)[0])
