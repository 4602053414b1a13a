"""The form in which a story is told: of rule sets that tell the same, the one that reads best."""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property
from typing import TYPE_CHECKING

import numpy as np

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from evenhand.methods.mine.stories.strata import Strata
    from evenhand.statistics.intervals import Floats
    from evenhand.statistics.stratified import PooledDifference

    Flags = NDArray[np.bool_]
    Indices = NDArray[np.intp]
    Integers = NDArray[np.integer]

WITHIN = 0.5
"""A simpler rule set is told instead if it is as far apart but for this part of its error."""
WITHIN_OTHERS = WITHIN / 2
"""That part where it is not about all of the same people."""
OVERLAPS = 0.5
"""So much of the people of one of two rule sets must be shared for one to stand for the other."""
MIXED = 0.2
"""So much of the people of a rule set must be of another cause for it to be a mix of two."""
ZERO = 1e-9
"""Differences up to this are rounding."""


@dataclass(frozen=True, eq=False)
class StoryForms:
    """Rule sets that may be told, and how each would read.

    Parameters
    ----------
    beyond
        How far each of them is from everyone else who is alike in what is told.
    people
        Whom each of them covers, as a number.
    conditions, terms
        How many features, and how many values or ends of intervals, each of them names.
    z
        The normal quantile of limits; 0 in a whole population.
    """

    strata: Strata
    beyond: PooledDifference
    people: Floats
    conditions: Integers
    terms: Integers
    z: float

    @cached_property
    def strength(self) -> Floats:
        """How far from everyone else each of them is at least."""
        return self.beyond.strength(self.z)

    @cached_property
    def sides(self) -> Floats:
        """On which side of everyone else each of them is: 1 above, -1 below."""
        return np.sign(self.beyond.value)

    @cached_property
    def total(self) -> float:
        """All people."""
        sizes = [part.whole[0] for part in self.strata.parts]
        return float(sum(sizes))

    def clearest(self, best: int) -> int:
        """Return the rule set that tells what the strongest does, and reads best.

        Conditions that add nothing beyond chance make a rule harder to read, and are mostly chance
        themselves: the simplest is taken. Two lines about values whose people are treated alike say
        less than one about both: of several values, all that belong together. "Under 25" says more
        clearly who is treated differently than "25 and over": of two complements, the smaller.
        """
        simplest = self._simplest(best)
        widest = self._widest(simplest)
        return self._smaller(widest)

    def _simplest(self, best: int) -> int:
        """Return the simplest rule set that tells the same, step by step."""
        while True:
            covering, crossing = self._simpler(best)
            if len(covering):
                keys = (-self.strength, self.terms, self.conditions)
                order = np.lexsort([key[covering] for key in keys])
                best = int(covering[order[0]])
            elif len(crossing):
                best = self._strongest(crossing)
            else:
                return best

    def _simpler(self, best: int) -> tuple[Indices, Indices]:
        """Return simpler rule sets beyond which one adds nothing, and simpler ones it is a mix of.

        Parts of several causes may make up one rule set. Each of these causes has people of its
        own, or the others do; what is merely a part of the rule set tells less.
        """
        has_fewer = self.terms < self.terms[best]
        nearly_as_far = self._as_far(best, WITHIN)
        likely = np.flatnonzero(has_fewer & nearly_as_far)
        part = self._with_last(likely, best)
        shared, own = _shared(part)
        covers_it = shared >= own * (1 - ZERO)
        inside = part.within(len(likely), self.z)
        adds = self._shown(inside)
        people = self.people[likely]
        overlaps = shared >= OVERLAPS * np.minimum(people, own)
        has_others = shared < people * (1 - ZERO)
        as_far = self._as_far(best, WITHIN_OTHERS)[likely]
        crosses = ~covers_it & overlaps & as_far
        for place in np.flatnonzero(crosses & ~has_others):
            crosses[place] = self._is_mix(best, int(likely[place]))
        return likely[covers_it & ~adds], likely[crosses]

    def _widest(self, lead: int) -> int:
        """Return the rule set that says the same of more values of its features, if there is one.

        The others whom it covers are apart themselves, and do not differ from those of the lead.
        """
        is_longer = self.terms > self.terms[lead]
        has_as_many = self.conditions == self.conditions[lead]
        as_far = self._as_far(lead, WITHIN_OTHERS)
        likely = np.flatnonzero(is_longer & has_as_many & as_far)
        part = self._with_last(likely, lead)
        extends = self._extends(part, self.sides[lead])
        wider = likely[extends]
        order = np.argsort(-self.strength[wider], kind="stable")
        for place in wider[order].tolist():
            if not self._is_mix(place, lead):
                return int(place)
        return lead

    def _smaller(self, lead: int) -> int:
        """Return the complement of a rule set if it is smaller and as short, or the rule set."""
        own = self.people[lead]
        is_as_short = self.terms <= self.terms[lead]
        is_smaller = self.people < own
        left = self.total - own
        is_as_large = np.isclose(self.people, left, rtol=ZERO)
        likely = np.flatnonzero(is_as_short & is_smaller & is_as_large)
        part = self._with_last(likely, lead)
        shared, _ = _shared(part)
        complements = likely[shared <= ZERO * own]
        if not len(complements):
            return lead
        return int(complements[0])

    def _is_mix(self, wide: int, part: int) -> bool:
        """Return whether the others of a wider rule set are some of those of a simpler one."""
        people = self.people[wide]
        if people - self.people[part] < MIXED * people:
            return False
        bits = self.strata.bits
        others = bits[wide] & ~bits[part]
        same_side = self.sides == self.sides[wide]
        has_fewer = self.terms < self.terms[part]
        simpler = np.flatnonzero(has_fewer & same_side)
        among = self.strata.only(simpler).with_more(others[None])
        extends = self._extends(among, self.sides[wide])
        return bool(extends.any())

    def _extends(self, among: Strata, side: float) -> Flags:
        """Return which candidates tell of the last one, and of others who are treated like it.

        The others whom they cover are apart themselves, on one side.
        """
        last = len(among.bits) - 1
        shared, own = _shared(among)
        covers_it = shared >= own * (1 - ZERO)
        inside = among.within(last, self.z)
        differs = self._shown(inside)
        others = among.besides(last, self.z)
        on_that_side = np.sign(others.value[:-1]) == side
        are_apart = on_that_side & self._shown(others)
        return np.asarray(covers_it & ~differs & are_apart)

    def _shown(self, difference: PooledDifference) -> Flags:
        """Return which differences are shown, but of the last one."""
        least = difference.strength(self.z)[:-1]
        return np.asarray(least > ZERO)

    def _as_far(self, best: int, part: float) -> Flags:
        """Return which are on the same side as one, and as far but for a part of its error."""
        error = self.beyond.error[best] if self.z else 0.0
        lost = self.strength[best] - self.strength - ZERO
        same_side = self.sides == self.sides[best]
        return np.asarray(same_side & (lost <= part * self.z * error))

    def _with_last(self, places: Indices, last: int) -> Strata:
        """Return some candidates, and one more after them."""
        among = np.append(places, last)
        return self.strata.only(among)

    def _strongest(self, places: Indices) -> int:
        return int(places[np.argmax(self.strength[places])])


def _shared(part: Strata) -> tuple[Floats, float]:
    """Return the people whom candidates share with the last one, and how many that one covers."""
    shared = part.shared(len(part.bits) - 1)
    return shared[:-1], float(shared[-1])
