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
from evenhand.methods.subsets.evaluators.kept import KeptInputs
from evenhand.methods.subsets.evaluators.shared_draws import Pool
from evenhand.methods.subsets.lattice import State
from evenhand.scores.sampling_loop import CASES
from evenhand.scores.twins import STAGE, Flips, Joined, case_of, seek, sought, stages

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Sequence

    from evenhand.methods.subsets.decision import Judge
    from evenhand.methods.subsets.evaluators.arrays import Flags, Known, Names, Rows
    from evenhand.methods.subsets.lattice import TestedSet
    from evenhand.population.samplers import Draws
    from evenhand.results.evidence import Case
    from evenhand.runtime.budget import Meter
    from evenhand.scores.twins import Trial
    from evenhand.space.feature import Points
    from evenhand.subject.view import View

DONORS = 4
"""How many draws of another outcome lend their values before the variants are gone through."""
FEW = 5 * STAGE
"""How many variants are asked of every draw; the others only where a set has to be cleared."""
NOT_MANY = 4 * FEW
"""Up to this many variants, all of them are asked of every draw at once."""
FIRST_BATCH = 64
"""Draws that are asked at once where an answer is cheap; twice as many each further time."""
AT_ONCE = 8192
"""Draws whose donors are looked for at once, which bounds memory."""
ENOUGH_DRAWS = 100
"""Draws of which all variants are asked before a set is left undecided."""

# What is known of a draw under a set.
FLIPPED = 1
UNKNOWN = 0
NO_FLIP = -1


class CausalSets(Evaluator):
    """Tests sets for their causal score (Themis, Definition 3.7)."""

    def __init__(
        self,
        view: View,
        draws: Draws,
        names: Names,
        judge: Judge,
        *,
        most: int,
    ) -> None:
        features = [view.subject.space.feature(name) for name in names]
        varieties = [float(feature.choices) for feature in features]
        super().__init__(view, names, judge, varieties=varieties, most=most)
        self.pool = Pool(view, draws)
        self._known: dict[int, Known] = {}
        # The draws of the last look at each set: of few variants, and of all.
        self._looked_at: dict[int, tuple[int, int]] = {}
        # How many draws none of the few variants flipped, but another did.
        self._late_flips: dict[int, int] = {}
        # Which of the first draws a glance saw flipped.
        self._glimpsed: dict[int, Flags] = {}
        self._cases_of: dict[int, list[Case]] = {}
        # The twins that flipped draws, by draw, where tests are to be kept.
        self._twins: dict[int, dict[int, Points]] = {}

    def test(self, mask: int, meter: Meter) -> TestedSet | None:
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
            n_whole = 0
            if self.enumerable(mask):
                n_whole = looks[whole_look]
            if not self._look(mask, n, n_whole, meter):
                return None
            self._looked_at[mask] = n, n_whole
            guess = self._guess(mask, n, n_whole)
            few_done = few_look == last_look
            whole_done = whole_look == last_look or not n_whole
            last = few_done and whole_done
            tested = self._judged(mask, n, n_whole, guess, last=last)
            if tested is not None:
                return replace(tested, shown=self._cases(mask))
            if meter.late:
                return None
            # Only all variants can clear a set, but they cost most: they are asked of more draws
            # when there is nothing else left to ask, or the few variants suggest it is worth it.
            worth_it = few_done or self._is_likely_not_above(guess, n)
            if not whole_done and worth_it:
                whole_look += 1
                few_look = max(few_look, whole_look)
            else:
                few_look += 1

    def so_far(self, mask: int) -> TestedSet | None:
        """Return the last look at a set that is undecided."""
        if mask not in self._looked_at:
            return None
        n, n_whole = self._looked_at[mask]
        return self._undecided(mask, n, n_whole)

    def kept(self, mask: int, n: int) -> KeptInputs | None:
        """Return draws with what settled them: a twin that flips one, else all variants.

        Of a set with few variants all are kept, and of one with too many the twins alone.
        """
        names = self.members(mask)
        known = self._known[mask][:n]
        rows = np.arange(n)
        whole = rows if self.variants(mask) <= NOT_MANY else rows[known == NO_FLIP]
        flipped = np.setdiff1d(rows[known == FLIPPED], whole)
        twins = self._twins_within(mask)
        found = [twins[row] for row in flipped.tolist()]
        points = self.pool.points
        kept = KeptInputs.drawn(points[rows], rows)
        kept += KeptInputs.variants(self.space, names, points[whole], whole)
        if found:
            kept += KeptInputs.twins(np.stack(found), flipped)
        return kept

    def _twins_within(self, mask: int) -> dict[int, Points]:
        """Return a twin for each draw that a set, or a set within it, was seen to flip."""
        twins: dict[int, Points] = {}
        for other, twins_of_other in self._twins.items():
            if other & mask == other:
                twins = twins_of_other | twins
        return twins

    def _note_twins(self, mask: int, rows: Rows, found: Flags, twins: Points) -> None:
        if self.keep:
            noted = self._twins.setdefault(mask, {})
            noted.update(zip(rows[found].tolist(), twins[found], strict=True))

    def _is_likely_not_above(self, guess: float, n: int) -> bool:
        """Return whether n draws suggest that a set is below the limit, or next to it."""
        needed = self.judge.draws(guess)
        is_below = guess < self.judge.limit and needed <= n
        return is_below or self.judge.near(guess, n)

    def _judged(
        self, mask: int, n: int, n_whole: int, guess: float, *, last: bool
    ) -> TestedSet | None:
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
            if tested is not None:
                is_above = tested.state is State.ABOVE
                if is_above or not n_whole:
                    return tested
        # Without any such draws, or with no others, more of them are not to be had.
        no_more_whole = n_whole in (0, n)
        whole_suffices = no_more_whole or n_whole >= ENOUGH_DRAWS
        stays_undecided = whole_suffices and self.judge.near(guess, n)
        if not last and not stays_undecided:
            return None
        return self._undecided(mask, n, n_whole)

    def _undecided(self, mask: int, n: int, n_whole: int) -> TestedSet:
        flipped = self._known[mask] == FLIPPED
        few = (int(flipped[:n].sum()), n)
        whole = (int(flipped[:n_whole].sum()), n_whole)
        guess = self._guess(mask, n, n_whole)
        return self.judge.undecided(guess, few, whole)

    def _guess(self, mask: int, n: int, n_whole: int) -> float:
        """Return about what share of draws a set flips.

        To the flips known of all n draws it adds those that the few variants miss: as many, in
        proportion, as they missed among the first `n_whole` draws.
        """
        known = self._known[mask][:n]
        hits = float((known == FLIPPED).sum())
        missed = 0.0
        if n_whole:
            late_flips = self._late_flips.get(mask, 0)
            missed = (n - n_whole) * late_flips / n_whole
        return min(1.0, (hits + missed) / n)

    def _look(self, mask: int, n: int, n_whole: int, meter: Meter) -> bool:
        """Ask a few variants of the first n draws, and all of the first `n_whole`.

        Return False where the budget ends first. Where an answer is cheap, and a call is what
        costs, draws of looks to come are asked ahead.
        """
        if self._has_looked(mask, n, n_whole):
            return True
        is_cheap = not self.view.subject.adapter.expensive
        if is_cheap and n < AT_ONCE:
            # The least of 64, 128, 256, … that is over n.
            doublings = (n // FIRST_BATCH).bit_length()
            n = max(n, FIRST_BATCH << doublings)
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

    def _has_looked(self, mask: int, n: int, n_whole: int) -> bool:
        """Return whether all that is wanted of a set's draws is known."""
        known = self._known.get(mask)
        if known is None or len(known) < n:
            return False
        is_unknown = known[:n_whole] == UNKNOWN
        return not is_unknown.any()

    def _ask_few(self, mask: int, known: Known, meter: Meter) -> bool:
        """Note in `known` which new draws a few variants flip; False where the budget ends."""
        unknown = np.flatnonzero(known == UNKNOWN)
        known_before = self._known.get(mask, ())
        new = unknown[unknown >= len(known_before)]
        few_are_all = False
        if self.enumerable(mask):
            few_are_all = self.variants(mask) <= FEW
        for start in range(0, len(new), AT_ONCE):
            rows = new[start : start + AT_ONCE]
            trials = self._few(mask, rows)
            flips = self._find_flips(mask, rows, trials, meter)
            if flips is None:
                return False
            flipped = rows[flips.found]
            known[flipped] = FLIPPED
            if few_are_all:
                others = rows[~flips.found]
                known[others] = NO_FLIP
        return True

    def _ask_others(self, mask: int, known: Known, n_whole: int, meter: Meter) -> bool:
        """Note in `known` which first draws any variant flips; False where the budget ends."""
        first = known[:n_whole]
        rows = np.flatnonzero(first == UNKNOWN)
        trials = self._others(mask, rows)
        flips = self._find_flips(mask, rows, trials, meter)
        if flips is None:
            return False
        known[rows] = np.where(flips.found, FLIPPED, NO_FLIP)
        late_flips = int(flips.found.sum())
        self._late_flips.setdefault(mask, 0)
        self._late_flips[mask] += late_flips
        return True

    def _find_flips(
        self,
        mask: int,
        rows: Rows,
        trials: Iterable[Trial],
        meter: Meter,
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
        self._note_twins(mask, rows, flips.found, flips.twins)
        flipped = np.flatnonzero(flips.found)
        for at in flipped[:wanted].tolist():
            pair = outcomes[at], flips.outcomes[at]
            twin = flips.twins[at]
            case = case_of(self.space, points[at], twin, pair)
            cases.append(case)
        return None if flips.cut else flips

    def _inferred(self, mask: int, n: int) -> Known:
        """Return what the sets that were tested say of the first n draws under this one."""
        known = np.zeros(n, dtype=np.int8)
        for other, known_of_other in self._known.items():
            theirs = known_of_other[:n]
            # A view: what is written to it is written to `known`.
            mine = known[: len(theirs)]
            is_subset = other & mask == other
            is_superset = other & mask == mask
            if is_subset:
                mine[theirs == FLIPPED] = FLIPPED
            if is_superset:
                mine[theirs == NO_FLIP] = NO_FLIP
        for other, flipped in self._glimpsed.items():
            if other & mask == other:
                rows = np.flatnonzero(flipped[:n])
                known[rows] = FLIPPED
        return known

    def _few(self, mask: int, rows: Rows) -> Iterator[Trial]:
        """Yield a few variants of some draws.

        These have the values of donors, and the first of all variants where they can be listed.
        """
        names = self.members(mask)
        points = self.pool.points[rows]
        flipped = [known == FLIPPED for known in self._known.values()]
        donors = self.pool.donors(rows, flipped)
        if self.variants(mask) > STAGE:
            first_donors = donors[:DONORS]
            yield self.pool.donated(names, points, first_donors)
        if self.enumerable(mask):
            yield from stages(points, self.space, names, stop=FEW)
            return
        # As many donors as there would be variants in two stages, unless that is too many.
        middle = DONORS + STAGE
        end = min(DONORS + FEW, int(self.most))
        second_donors = donors[DONORS:middle]
        third_donors = donors[middle:end]
        yield self.pool.donated(names, points, second_donors)
        yield self.pool.donated(names, points, third_donors)

    def _others(self, mask: int, rows: Rows) -> Iterator[Trial]:
        """Yield the variants that are not among the first few."""
        if len(rows):
            names = self.members(mask)
            points = self.pool.points[rows]
            yield from stages(points, self.space, names, start=FEW)

    def glance(self, masks: Sequence[int], meter: Meter) -> dict[int, float]:
        """Return the share of the first draws that a few variants flip, for sets not yet seen."""
        unseen = [mask for mask in masks if self._is_worth_a_glance(mask)]
        variants = len(unseen) * (DONORS + STAGE)
        cost = FIRST_LOOK * (1 + variants)
        if not unseen or cost > meter.left:
            return {}
        self.pool.extend(FIRST_LOOK, meter)
        known = [self._inferred(mask, FIRST_LOOK) for mask in unseen]
        rows = [np.flatnonzero(of_set == UNKNOWN) for of_set in known]
        found = self._glance_flips(unseen, rows, meter)
        shares = {}
        for number, mask in enumerate(unseen):
            flipped_rows = rows[number][found[number]]
            known[number][flipped_rows] = FLIPPED
            flipped = known[number] == FLIPPED
            self._glimpsed[mask] = flipped
            shares[mask] = float(flipped.mean())
        return shares

    def _is_worth_a_glance(self, mask: int) -> bool:
        """Return whether a set is new, and so large that a test costs far more than a glance."""
        is_large = self.variants(mask) > 4 * STAGE
        return is_large and mask not in self._glimpsed

    def _glance_flips(
        self,
        masks: Sequence[int],
        rows: Sequence[Rows],
        meter: Meter,
    ) -> list[Flags]:
        """Return for each set which of its draws a few variants flip.

        The sets are asked together, stage by stage: a call costs more than what is asked in it.
        """
        trials = []
        for mask, rows_of_set in zip(masks, rows, strict=True):
            few = self._few(mask, rows_of_set)
            first_stages = itertools.islice(few, 2)
            trials.append(list(first_stages))
        lengths = [len(rows_of_set) for rows_of_set in rows]
        all_rows = np.concatenate(rows)
        points = self.pool.points[all_rows]
        outcomes = self.pool.outcomes[all_rows]
        stages_of_sets = itertools.zip_longest(*trials)
        joined = [Joined(stage, lengths, points) for stage in stages_of_sets]
        flips = seek(self.view, points, outcomes, joined)
        meter.queries += int(flips.asked.sum())
        ends = np.cumsum(lengths)
        found = np.split(flips.found, ends[:-1])
        twins = np.split(flips.twins, ends[:-1])
        for number, mask in enumerate(masks):
            self._note_twins(mask, rows[number], found[number], twins[number])
        return found

    def _cases(self, mask: int) -> tuple[Case, ...]:
        """Return flips found for the set, or for sets within it."""
        own_cases = self._cases_of.get(mask, [])
        cases = list(own_cases)
        for other, cases_of_other in self._cases_of.items():
            is_subset = other & mask == other
            if is_subset and other != mask:
                cases.extend(cases_of_other)
        return tuple(cases[:CASES])
