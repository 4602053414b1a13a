"""Causal scores of many sets on the same draws: nothing known of a draw is asked twice.

If changing some features flips a draw, changing more of them does; if no change of some features
flips it, no change of fewer does. This is the proof of Theorem 4.2 (Themis, Galhotra et al. 2017)
read draw by draw, and lets answers for one set count for others. Where a set has too many variants
to ask them all, flips are sought with values of draws that got another outcome; a draw for which
none is found is then not known to have none.
"""

from __future__ import annotations

import itertools
from dataclasses import replace
from typing import TYPE_CHECKING

import numpy as np

from evenhand.methods.subsets.decision import FIRST_LOOK
from evenhand.methods.subsets.evaluators.base import Evaluator
from evenhand.methods.subsets.evaluators.shared_draws import Pool
from evenhand.methods.subsets.lattice import State
from evenhand.scores.sampling_loop import CASES
from evenhand.scores.twins import STAGE, Flips, Joined, case_of, seek, sought, stages

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Sequence

    from numpy.typing import NDArray

    from evenhand.methods.subsets.decision import Judge
    from evenhand.methods.subsets.lattice import Tested
    from evenhand.population.samplers import Draws
    from evenhand.results.evidence import Case
    from evenhand.runtime.budget import Meter
    from evenhand.scores.twins import Trial
    from evenhand.subject.view import View

DONORS = 4
"""How many draws of another outcome lend their values before the variants are gone through."""
FEW = 5 * STAGE
"""How many variants are asked of every draw; the others only where a set has to be cleared."""
NOT_MANY = 4 * FEW
"""Up to this many variants, all of them are asked of every draw at once."""
FIRST_BATCH = 64
"""Draws that are asked at once where an answer is cheap; twice as many each further time."""
ENOUGH_DRAWS = 100
"""Draws of which all variants are asked before a set is left undecided."""

# What is known of a draw under a set.
FLIPPED = 1
UNKNOWN = 0
NO_FLIP = -1


class CausalSets(Evaluator):
    """Tests sets for their causal score (Themis, Definition 3.7)."""

    def __init__(
        self, view: View, draws: Draws, names: tuple[str, ...], judge: Judge, *, most: int
    ) -> None:
        space = view.subject.space
        varieties = [float(space.feature(name).choices) for name in names]
        super().__init__(view, names, judge, varieties=varieties, most=most)
        self.pool = Pool(view, draws)
        self._known: dict[int, NDArray[np.int8]] = {}
        # How many draws none of the few variants flipped, but another did.
        self._late_flips: dict[int, int] = {}
        self._glimpsed: dict[int, NDArray[np.bool_]] = {}
        self._cases_of: dict[int, list[Case]] = {}

    def test(self, mask: int, meter: Meter) -> Tested | None:
        """Return on which side of the limit a set's score is, from more and more draws.

        All variants are asked only of the first draws, as many as it takes to clear a set that
        seems to be below the limit; a few variants of the others tell whether it seems so, and show
        where it is over.
        """
        looks = self.judge.looks
        last_look = len(looks) - 1
        # The looks up to which a few variants of the draws, and all of them, have been asked.
        few_look = 0
        whole_look = 0
        while True:
            if self.variants(mask) <= NOT_MANY:
                whole_look = few_look
            n = looks[few_look]
            n_whole = looks[whole_look] if self.enumerable(mask) else 0
            if not self._look(mask, n, n_whole, meter):
                return None
            guess = self._guess(mask, n, n_whole)
            whole_done = whole_look == last_look or not n_whole
            last = few_look == last_look and whole_done
            tested = self._judged(mask, n, n_whole, guess, last=last)
            if tested is not None:
                return replace(tested, shown=self._cases(mask))
            if meter.late:
                return None
            # Only all variants can clear a set, but they cost most: they are asked of more draws
            # when there is nothing else left to ask, or the few variants suggest it is worth it.
            worth_it = few_look == last_look or self._is_likely_not_above(guess, n)
            if not whole_done and worth_it:
                whole_look += 1
                few_look = max(few_look, whole_look)
            else:
                few_look += 1

    def _is_likely_not_above(self, guess: float, n: int) -> bool:
        """Return whether n draws suggest that a set is below the limit, or next to it."""
        below = guess < self.judge.limit and self.judge.draws(guess) <= n
        return below or self.judge.near(guess, n)

    def _judged(
        self, mask: int, n: int, n_whole: int, guess: float, *, last: bool
    ) -> Tested | None:
        """Return what the answers so far say of a set, or None where more are needed.

        Of the first `n_whole` draws all variants were asked, of the others up to n only a few.
        """
        flipped = self._known[mask] == FLIPPED
        hits = int(flipped[:n].sum())
        hits_whole = int(flipped[:n_whole].sum())
        if n_whole:
            tested = self.judge.settled(hits_whole, n_whole)
            if tested is not None:
                return tested
        if n > n_whole:
            # The few variants give a lower bound of the score. It can show that a set is over the
            # limit; that a set is below it only where not all variants can be asked at all.
            tested = self.judge.settled(hits, n, whole=False)
            if tested is not None and (tested.state is State.ABOVE or not n_whole):
                return tested
        whole_suffices = n_whole >= ENOUGH_DRAWS or n_whole in (0, n)
        if last or (whole_suffices and self.judge.near(guess, n)):
            return self.judge.undecided(guess, (hits, n), (hits_whole, n_whole))
        return None

    def _guess(self, mask: int, n: int, n_whole: int) -> float:
        """Return about what share of draws a set flips.

        To the flips known of all n draws it adds those that the few variants miss: as many, in
        proportion, as they missed among the first `n_whole` draws.
        """
        hits = float((self._known[mask][:n] == FLIPPED).sum())
        missed = 0.0
        if n_whole:
            missed = (n - n_whole) * self._late_flips.get(mask, 0) / n_whole
        return min(1.0, (hits + missed) / n)

    def _look(self, mask: int, n: int, n_whole: int, meter: Meter) -> bool:
        """Ask a few variants of the first n draws, and all of the first `n_whole`.

        Return False where the budget ends first. Where an answer is cheap, and a call is what
        costs, draws of looks to come are asked ahead.
        """
        known = self._known.get(mask)
        if known is not None and len(known) >= n and not (known[:n_whole] == UNKNOWN).any():
            return True
        if not self.view.subject.adapter.expensive:
            n = max(n, FIRST_BATCH << (n // FIRST_BATCH).bit_length())
            if n_whole and self.variants(mask) <= NOT_MANY:
                n_whole = n
        if not self.pool.extend(n, meter):
            return False
        known = self._inferred(mask, n)
        if not self._ask_few(mask, known, meter):
            return False
        if not self._ask_others(mask, known, n_whole, meter):
            return False
        self._known[mask] = known
        return True

    def _ask_few(self, mask: int, known: NDArray[np.int8], meter: Meter) -> bool:
        """Note in `known` which new draws a few variants flip; False where the budget ends."""
        unknown = np.flatnonzero(known == UNKNOWN)
        seen_before = len(self._known.get(mask, ()))
        rows = unknown[unknown >= seen_before]
        flips = self._find_flips(mask, rows, self._few(mask, rows), meter)
        if flips is None:
            return False
        known[rows[flips.found]] = FLIPPED
        if self.variants(mask) <= FEW and self.enumerable(mask):
            # The few variants were all that there are.
            known[rows[~flips.found]] = NO_FLIP
        return True

    def _ask_others(self, mask: int, known: NDArray[np.int8], n_whole: int, meter: Meter) -> bool:
        """Note in `known` which first draws any variant flips; False where the budget ends."""
        rows = np.flatnonzero(known[:n_whole] == UNKNOWN)
        flips = self._find_flips(mask, rows, self._others(mask, rows), meter)
        if flips is None:
            return False
        known[rows] = np.where(flips.found, FLIPPED, NO_FLIP)
        late_flips = int(flips.found.sum())
        self._late_flips[mask] = self._late_flips.get(mask, 0) + late_flips
        return True

    def _find_flips(
        self, mask: int, rows: NDArray[np.intp], trials: Iterable[Trial], meter: Meter
    ) -> Flips | None:
        """Return the flips found for some draws; None where the budget ends."""
        points = self.pool.points[rows]
        outcomes = self.pool.outcomes[rows]
        flips = Flips.none(points)
        for trial in trials:
            flips = sought(self.view, outcomes, trial, flips, left=meter.left)
            if flips.done:
                break
        meter.queries += int(flips.asked.sum())
        cases = self._cases_of.setdefault(mask, [])
        wanted = CASES - len(cases)
        for at in np.flatnonzero(flips.found)[:wanted].tolist():
            pair = outcomes[at], flips.outcomes[at]
            cases.append(case_of(self.space, points[at], flips.twins[at], pair))
        return None if flips.cut else flips

    def _inferred(self, mask: int, n: int) -> NDArray[np.int8]:
        """Return what the sets that were tested say of the first n draws under this one."""
        known = np.zeros(n, dtype=np.int8)
        for other, known_of_other in self._known.items():
            theirs = known_of_other[:n]
            mine = known[: len(theirs)]  # a view: what is written to it is written to `known`
            is_subset = other & mask == other
            is_superset = other & mask == mask
            if is_subset:
                mine[theirs == FLIPPED] = FLIPPED
            if is_superset:
                mine[theirs == NO_FLIP] = NO_FLIP
        for other, flipped in self._glimpsed.items():
            if other & mask == other:
                known[: len(flipped)][flipped[:n]] = FLIPPED
        return known

    def _few(self, mask: int, rows: NDArray[np.intp]) -> Iterator[Trial]:
        """Yield a few variants of some draws.

        These have the values of donors, and the first of all variants where they can be listed.
        """
        names = self.members(mask)
        points = self.pool.points[rows]
        flipped = [known == FLIPPED for known in self._known.values()]
        donors = self.pool.donors(rows, flipped)
        if self.variants(mask) > STAGE:
            yield self.pool.donated(names, points, donors[:DONORS])
        if self.enumerable(mask):
            yield from stages(points, self.space, names, stop=FEW)
            return
        second_stage = DONORS + STAGE
        end = int(min(DONORS + FEW, self.most))
        yield self.pool.donated(names, points, donors[DONORS:second_stage])
        yield self.pool.donated(names, points, donors[second_stage:end])

    def _others(self, mask: int, rows: NDArray[np.intp]) -> Iterator[Trial]:
        """Yield the variants that are not among the first few."""
        if len(rows):
            points = self.pool.points[rows]
            yield from stages(points, self.space, self.members(mask), start=FEW)

    def glance(self, masks: Sequence[int], meter: Meter) -> dict[int, float]:
        """Return the share of the first draws that a few variants flip, for sets not yet seen."""
        unseen = [mask for mask in masks if self._is_worth_a_glance(mask)]
        cost = FIRST_LOOK * (1 + len(unseen) * (DONORS + STAGE))
        if not unseen or cost > meter.left:
            return {}
        self.pool.extend(FIRST_LOOK, meter)
        known = [self._inferred(mask, FIRST_LOOK) for mask in unseen]
        rows = [np.flatnonzero(of_set == UNKNOWN) for of_set in known]
        flipped = self._glance_flips(unseen, rows, meter)
        shares = {}
        for mask, of_set, rows_of_set, found in zip(unseen, known, rows, flipped, strict=True):
            of_set[rows_of_set[found]] = FLIPPED
            self._glimpsed[mask] = of_set == FLIPPED
            shares[mask] = float(self._glimpsed[mask].mean())
        return shares

    def _is_worth_a_glance(self, mask: int) -> bool:
        """Return whether a set is new, and so large that a test costs far more than a glance."""
        return mask not in self._glimpsed and self.variants(mask) > 4 * STAGE

    def _glance_flips(
        self, masks: Sequence[int], rows: Sequence[NDArray[np.intp]], meter: Meter
    ) -> list[NDArray[np.bool_]]:
        """Return for each set which of its draws a few variants flip.

        The sets are asked together, stage by stage: a call costs more than what is asked in it.
        """
        trials = []
        for mask, rows_of_set in zip(masks, rows, strict=True):
            first_stages = itertools.islice(self._few(mask, rows_of_set), 2)
            trials.append(list(first_stages))
        lengths = [len(rows_of_set) for rows_of_set in rows]
        all_rows = np.concatenate(rows)
        points = self.pool.points[all_rows]
        outcomes = self.pool.outcomes[all_rows]
        joined = [Joined(stage, lengths, points) for stage in itertools.zip_longest(*trials)]
        flips = seek(self.view, points, outcomes, joined)
        meter.queries += int(flips.asked.sum())
        ends = np.cumsum(lengths)
        return np.split(flips.found, ends[:-1])

    def _cases(self, mask: int) -> tuple[Case, ...]:
        """Return flips found for the set, or for sets within it."""
        cases = list(self._cases_of.get(mask, []))
        for other, cases_of_other in self._cases_of.items():
            is_proper_subset = other & mask == other and other != mask
            if is_proper_subset:
                cases.extend(cases_of_other)
        return tuple(cases[:CASES])
