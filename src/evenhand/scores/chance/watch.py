"""Whether the software answers the same input the same way: a first look, and a watch on the run.

The first look asks some inputs twice before anything is measured. One wrong answer in a thousand
escapes it. So the watch asks some inputs of the run a second time along the way: a share of the
draws, which follows from the seed and their numbers, and hits, the person and the twin. What chance
made does not come again, so that it is seldom taken for discrimination. Groups have no hits, and
chance does not harm them; after a long run more inputs are asked twice. Software that answers alike
gets the same results with the watch as without it.
"""

from __future__ import annotations

import math
from contextlib import contextmanager
from dataclasses import dataclass, field, replace
from typing import TYPE_CHECKING, Any

import numpy as np

from evenhand.runtime.errors import NotDeterministic
from evenhand.runtime.random_streams import stream
from evenhand.scores.numbers.settling import settle_differs
from evenhand.scores.sampling_loop import CHECKED
from evenhand.statistics.estimate import Estimate
from evenhand.statistics.sequential import confidence_sequences
from evenhand.subject.memo import Occasions
from evenhand.subject.view import View

if TYPE_CHECKING:
    from collections.abc import Iterator

    from numpy.typing import NDArray

    from evenhand.population.samplers import Draws
    from evenhand.runtime.budget import Meter
    from evenhand.space.feature import Points
    from evenhand.subject.subject import Subject

EVERY = 16
"""One draw in so many is asked a second time, whatever came of it."""
HITS, HITS_EXPENSIVE = 4_096, 256
"""Of so many draws of a question all hits are asked a second time, and then one in `EVERY`."""
FEW_DRAWS = 32
"""Where a budget allows for fewer draws, none is asked again."""
_PART_FOR_HITS = 64
"""Of a budget, no more than one draw in so many is asked again for being a hit."""
LONG, PAIRS_OF_LONG = 5_000, 1_500
"""After a run of groups of cheap software that is so long, so many inputs are asked twice.

They are enough to notice one wrong answer in 1,000 in 95 of 100 runs.
"""
_MOST_AFTER = 2_000
"""However long a run is, no more inputs are asked twice after it."""
NO_LOOK = "the budget was too small to check that the software answers the same input the same way"


@dataclass
class AskedTwice:
    """How many inputs were asked twice, and how far their answers were apart, by output."""

    subject: Subject
    pairs: dict[str, int] = field(default_factory=dict)
    apart: dict[str, float] = field(default_factory=dict)
    changed: NotDeterministic | None = None
    """What is to be said of the first answers that were not the same, None where all were."""

    def ask(self, points: Points) -> None:
        """Ask points twice, and count the answers."""
        first = self.subject.decide(points)
        self.count(points, first, self.subject.again(points))

    def count(self, points: Points, first: NDArray[Any], second: NDArray[Any]) -> None:
        """Count first and second answers to some points, of all outputs."""
        for name in self.subject.meanings:
            before = first[name] if name else first
            after = second[name] if name else second
            self.add(points, before, after, name)

    def add(
        self, points: Points, before: NDArray[Any], after: NDArray[Any], output: str
    ) -> None:
        """Count first and second answers to some points, of one output."""
        apart = View(self.subject, output).distance(before, after)
        self.pairs[output] = self.pairs.get(output, 0) + len(points)
        self.apart[output] = self.apart.get(output, 0.0) + float(np.sum(apart))
        self.compare(points, before, after, output)

    def compare(
        self, points: Points, before: NDArray[Any], after: NDArray[Any], output: str
    ) -> None:
        """Note what is to be said where answers are not the same."""
        try:
            self.subject.need_same(points, before, after, output)
        except NotDeterministic as error:
            self.changed = self.changed or error

    @property
    def share(self) -> float:
        """How many second answers differ, of the output of which most do."""
        shares = [self.apart[name] / self.pairs[name] for name in self.pairs]
        return max(shares, default=0.0)

    def estimate(self, name: str, level: float, population: str) -> Estimate:
        """Return how often an output is another when asked again."""
        total = self.apart[name]
        pairs = self.pairs[name]
        low, high = confidence_sequences.mixture(total, pairs, level)
        value = total / pairs
        lowest = min(float(low), value)
        highest = max(float(high), value)
        return Estimate(value, lowest, highest, pairs, level, "anytime", population)


def first_look(draws: Draws, subject: Subject, meter: Meter) -> AskedTwice:
    """Ask the first draws twice, within a tenth of the budget, and settle when outcomes differ.

    What that takes counts as spent.
    """
    looked = AskedTwice(subject)
    checked = int(min(CHECKED, meter.left // 20))
    if not checked:
        settle_differs(subject, meter)
        return looked
    points = draws.take(0, checked)
    first = subject.decide(points)
    second = subject.again(points)
    meter.queries += 2 * checked
    settle_differs(subject, meter)
    looked.count(points, first, second)
    return looked


@dataclass(frozen=True)
class Watch:
    """Asks some draws of a run again, and raises NotDeterministic where an answer is another."""

    subject: Subject
    twice: AskedTwice
    first: int
    """The number of the first draw that is asked again."""
    most_hits: int
    """Of so many draws of a question all hits are asked again."""
    bounded: bool = False

    @classmethod
    def of(cls, subject: Subject, twice: AskedTwice, seed: int) -> Watch:
        """Watch a run, closely where the software is cheap."""
        first = int(stream(seed, "watch").integers(EVERY))
        hits = HITS_EXPENSIVE if subject.adapter.expensive else HITS
        return cls(subject, twice, first, hits)

    def within(self, queries: float) -> Watch:
        """Return a watch that keeps to a small part of a budget."""
        if math.isinf(queries):
            return self
        hits = min(self.most_hits, int(queries // _PART_FOR_HITS))
        return replace(self, most_hits=hits, bounded=True)

    def reserve(self, queries: float) -> int:
        """Return what the watch takes of a budget, at most."""
        if math.isinf(queries):
            return 0
        return int(queries // (EVERY + 1)) + 2 * self.most_hits

    def draws(self, start: int, stop: int) -> NDArray[np.bool_]:
        """Return which draws are asked again, whatever came of them."""
        return np.asarray(np.arange(start, stop) % EVERY == self.first)

    def hits(self, hits: NDArray[Any], start: int) -> NDArray[np.bool_]:
        """Return which draws are asked again since they are hits."""
        stop = start + len(hits)
        early = np.arange(start, stop) < self.most_hits
        if not self.bounded:
            early |= self.draws(start, stop)
        return np.asarray(hits > 0) & early

    def look(self, points: Points, outcomes: NDArray[Any], output: str) -> None:
        """Ask inputs again that were chosen beforehand."""
        after = self._again(points, output)
        self.twice.add(points, outcomes, after, output)
        if self.twice.changed is not None:
            raise self.twice.changed

    def confirm(self, points: Points, outcomes: NDArray[Any], output: str) -> None:
        """Ask inputs again that were chosen for their answers.

        These say nothing of how often answers differ.
        """
        after = self._again(points, output)
        self.twice.compare(points, outcomes, after, output)
        if self.twice.changed is not None:
            raise self.twice.changed

    def _again(self, points: Points, output: str) -> NDArray[Any]:
        second = self.subject.again(np.asfortranarray(points))
        return np.asarray(second[output]) if output else second


def pairs_after(asked: int, *, few: bool) -> int:
    """Return how many inputs are asked twice after a run of so many that has no hits.

    They grow with the square of the run: a short one is not to become much longer, and a few wrong
    answers do not harm it.

    >>> pairs_after(5_000, few=True), pairs_after(5_000, few=False), pairs_after(1_000, few=False)
    (156, 1500, 60)
    """
    if few:
        return asked // (2 * EVERY)
    return min(PAIRS_OF_LONG * asked**2 // LONG**2, _MOST_AFTER)


def look_after(
    draws: Draws, twice: AskedTwice, meter: Meter, asked: int, *, expensive: bool
) -> None:
    """Ask more inputs twice after a run of so many that has no hits to be asked again.

    What that takes counts as spent.
    """
    few = expensive or meter.budget.queries is not None
    pairs = int(min(pairs_after(asked, few=few), meter.left // 2))
    if pairs:
        points = draws.take(CHECKED, CHECKED + pairs)
        twice.ask(points)
        meter.queries += 2 * pairs


@contextmanager
def asked_anew(subject: Subject) -> Iterator[None]:
    """Let every asking be answered anew, whatever was answered before."""
    subject.occasions = Occasions()
    try:
        yield
    finally:
        subject.occasions = None


@contextmanager
def watched(subject: Subject, watch: Watch) -> Iterator[None]:
    """Let a watch be kept on a run."""
    subject.watch = watch
    try:
        yield
    finally:
        subject.watch = None


@contextmanager
def held_back(subject: Subject, meter: Meter, cost: int) -> Iterator[None]:
    """Keep a part of a budget for the watch on a run, if there is one, while the run draws.

    Where the budget allows for a few draws only, which `cost` so many inputs each, nothing is
    watched.
    """
    watch = subject.watch
    reserve = 0
    if meter.left < FEW_DRAWS * cost:
        subject.watch = None
    elif isinstance(watch, Watch):
        subject.watch = watch.within(meter.left)
        reserve = subject.watch.reserve(meter.left)
    meter.queries += reserve
    try:
        yield
    finally:
        subject.watch = watch
        meter.queries -= reserve
