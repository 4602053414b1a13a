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
    def total(self) -> float:
        """All people."""
        return float(sum(part.whole[0] for part in self.strata.parts))

    def clearest(self, best: int) -> int:
        """Return the rule set that tells what the strongest does, and reads best.

        Conditions that add nothing beyond chance make a rule harder to read, and are mostly chance
        themselves: the simplest is taken. Two lines about values whose people are treated alike say
        less than one about both: of several values, all that belong together. "Under 25" says more
        clearly who is treated differently than "25 and over": of two complements, the smaller.
        """
        return self._smaller(self._widest(self._simplest(best)))

    def _simplest(self, best: int) -> int:
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
        likely = np.flatnonzero(has_fewer & self._as_far(best, WITHIN))
        part = self.strata.only(np.append(likely, best))
        shared, own = _shared(part)
        covers_it = shared >= own * (1 - ZERO)
        adds = part.within(len(likely), self.z).strength(self.z)[:-1] > ZERO
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
        likely = np.flatnonzero(is_longer & has_as_many & self._as_far(lead, WITHIN_OTHERS))
        part = self.strata.only(np.append(likely, lead))
        wider = likely[self._extends(part, self.beyond.value[lead])]
        for place in wider[np.argsort(-self.strength[wider], kind="stable")]:
            if not self._is_mix(int(place), lead):
                return int(place)
        return lead

    def _smaller(self, lead: int) -> int:
        """Return the complement of a rule set if it is smaller and as short, or the rule set."""
        own = self.people[lead]
        is_as_short = self.terms <= self.terms[lead]
        adds_up = np.abs(self.people + own - self.total) <= ZERO * self.total
        likely = np.flatnonzero(is_as_short & adds_up & (self.people < own))
        shared, _ = _shared(self.strata.only(np.append(likely, lead)))
        complements = likely[shared <= ZERO * own]
        return int(complements[0]) if len(complements) else lead

    def _is_mix(self, wide: int, part: int) -> bool:
        """Return whether the others of a wider rule set are some of those of a simpler one."""
        if self.people[wide] - self.people[part] < MIXED * self.people[wide]:
            return False
        bits = self.strata.bits
        others = bits[wide] & ~bits[part]
        same_side = np.sign(self.beyond.value) == np.sign(self.beyond.value[wide])
        simpler = np.flatnonzero((self.terms < self.terms[part]) & same_side)
        among = self.strata.only(simpler).with_more(others[None])
        return bool(self._extends(among, self.beyond.value[wide]).any())

    def _extends(self, among: Strata, value: float) -> Flags:
        """Return which candidates tell of the last one, and of others who are treated like it.

        The others whom they cover are apart themselves, on the side of a value.
        """
        last = len(among.bits) - 1
        shared, own = _shared(among)
        covers_it = shared >= own * (1 - ZERO)
        differs = among.within(last, self.z).strength(self.z)[:-1] > ZERO
        others = among.besides(last, self.z)
        on_that_side = np.sign(others.value) == np.sign(value)
        are_apart = (on_that_side & (others.strength(self.z) > ZERO))[:-1]
        return np.asarray(covers_it & ~differs & are_apart)

    def _as_far(self, best: int, part: float) -> Flags:
        """Return which are on the same side as one, and as far but for a part of its error."""
        error = self.beyond.error[best] if self.z else 0.0
        lost = self.strength[best] - self.strength - ZERO
        same_side = np.sign(self.beyond.value) == np.sign(self.beyond.value[best])
        return np.asarray(same_side & (lost <= part * self.z * error))

    def _strongest(self, places: Indices) -> int:
        return int(places[np.argmax(self.strength[places])])


def _shared(part: Strata) -> tuple[Floats, float]:
    """Return the people whom candidates share with the last one, and how many that one covers."""
    shared = part.shared(len(part.bits) - 1)
    return shared[:-1], float(shared[-1])
