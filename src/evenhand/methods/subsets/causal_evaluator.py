"""Causal scores of many sets on the same draws: what is learnt of a draw under one set is never
asked again.

If changing some features flips a draw, changing more of them does; if no change of some features
flips it, no change of fewer does. Where a set has too many variants to ask them all, flips are
sought with values of draws that got another outcome; a draw for which none is found is then not
known to have none.
"""

from __future__ import annotations

import itertools
from dataclasses import replace
from typing import TYPE_CHECKING

import numpy as np

from evenhand.methods.subsets.decision import FIRST_LOOK
from evenhand.methods.subsets.evaluator import Evaluator
from evenhand.methods.subsets.lattice import State
from evenhand.methods.subsets.shared_draws import Pool
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
AHEAD = 64
"""Draws that are asked at once where an answer is cheap; twice as many each further time."""
SURE = 100
"""Draws of which all variants are asked before a set is left undecided."""
FLIPPED, UNKNOWN, NONE = 1, 0, -1


class CausalSets(Evaluator):
    """Tests sets for their causal score."""

    def __init__(
        self, view: View, draws: Draws, names: tuple[str, ...], judge: Judge, *, most: int
    ) -> None:
        varieties = [float(view.subject.space.feature(name).choices) for name in names]
        super().__init__(view, names, judge, varieties=varieties, most=most)
        self.pool = Pool(view, draws)
        self._known: dict[int, NDArray[np.int8]] = {}
        # Draws that none of the few variants flipped, but another did.
        self._late: dict[int, int] = {}
        self._glimpsed: dict[int, NDArray[np.bool_]] = {}
        self._shown: dict[int, list[Case]] = {}

    def test(self, mask: int, meter: Meter) -> Tested | None:
        """Look at more and more draws until the set's score is known to be on one side of the
        limit.

        All variants are asked only of the first draws, as many as it takes to clear a set that
        seems to be below the limit; a few variants of the others tell whether it seems so, and show
        where it is over.
        """
        looks, most = self.judge.looks, len(self.judge.looks) - 1
        sought = tried = 0  # the looks up to which a few variants, or all of them, have been asked
        while True:
            tried = sought if self.variants(mask) <= 4 * FEW else tried
            n, whole = looks[sought], looks[tried] if self.enumerable(mask) else 0
            if not self._look(mask, n, whole, meter):
                return None
            guess = self._guess(mask, n, whole)
            found = self._judged(
                mask, n, whole, guess, last=sought == most and (tried == most or not whole)
            )
            if found is not None:
                return replace(found, shown=self._cases(mask))
            if meter.late:
                return None
            below = guess < self.judge.limit and self.judge.draws(guess) <= n
            if whole and tried < most and (below or sought == most or self.judge.near(guess, n)):
                tried += 1
                sought = max(sought, tried)
            else:
                sought += 1

    def _judged(self, mask: int, n: int, whole: int, guess: float, *, last: bool) -> Tested | None:
        known = self._known[mask]
        hits, hits_whole = ((known[:size] == FLIPPED).sum().item() for size in (n, whole))
        if whole and (found := self.judge.settled(hits_whole, whole)) is not None:
            return found
        found = self.judge.settled(hits, n, whole=False) if n > whole else None
        if found is not None and (found.state is State.ABOVE or not whole):
            return found
        if last or (self.judge.near(guess, n) and (whole >= SURE or whole in (0, n))):
            return self.judge.undecided(guess, (hits, n), (hits_whole, whole))
        return None

    def _guess(self, mask: int, n: int, whole: int) -> float:
        """Return about what share of draws a set flips: known flips, and as many unknown ones as
        among the first.
        """
        hits = float((self._known[mask][:n] == FLIPPED).sum())
        unknown = (n - whole) * self._late.get(mask, 0) / whole if whole else 0.0
        return min(1.0, (hits + unknown) / n)

    def _look(self, mask: int, n: int, whole: int, meter: Meter) -> bool:
        """Learn of the first n draws whether a few variants flip them, and of the first `whole`
        whether any does.

        Where an answer is cheap, and a call is what costs, draws of looks to come are asked ahead.
        """
        known = self._known.get(mask)
        if known is not None and len(known) >= n and not (known[:whole] == UNKNOWN).any():
            return True
        if not self.view.subject.adapter.expensive:
            n = max(n, AHEAD << (n // AHEAD).bit_length())
            whole = n if whole and self.variants(mask) <= 4 * FEW else whole
        if not self.pool.extend(n, meter):
            return False
        known = self._inferred(mask, n)
        rows = np.flatnonzero(known == UNKNOWN)
        fresh = rows[rows >= len(self._known.get(mask, ()))]
        flips = self._sought(mask, fresh, self._few(mask, fresh), meter)
        if flips is None:
            return False
        known[fresh[flips.found]] = FLIPPED
        if self.variants(mask) <= FEW and self.enumerable(mask):
            known[fresh[~flips.found]] = NONE
        rows = np.flatnonzero(known[:whole] == UNKNOWN)
        flips = self._sought(mask, rows, self._rest(mask, rows), meter)
        if flips is None:
            return False
        known[rows] = np.where(flips.found, FLIPPED, NONE)
        self._late[mask] = self._late.get(mask, 0) + int(flips.found.sum())
        self._known[mask] = known
        return True

    def _sought(
        self, mask: int, rows: NDArray[np.intp], trials: Iterable[Trial], meter: Meter
    ) -> Flips | None:
        """Look for flips of some draws; None where the budget ends."""
        flips, base = Flips.none(self.pool.points[rows]), self.pool.outcomes[rows]
        for trial in trials:
            flips = sought(self.view, base, trial, flips, left=meter.left)
            if flips.done:
                break
        meter.queries += int(flips.asked.sum())
        shown = self._shown.setdefault(mask, [])
        for at in np.flatnonzero(flips.found)[: CASES - len(shown)].tolist():
            outcomes = self.pool.outcomes[rows[at]], flips.outcomes[at]
            shown.append(case_of(self.space, self.pool.points[rows[at]], flips.twins[at], outcomes))
        return None if flips.cut else flips

    def _inferred(self, mask: int, n: int) -> NDArray[np.int8]:
        """Return what the sets that were tested say of this one."""
        known = np.zeros(n, dtype=np.int8)
        for other, theirs in self._known.items():
            mine = theirs[:n]
            if other & mask == other:
                known[: len(mine)][mine == FLIPPED] = FLIPPED
            if other & mask == mask:
                known[: len(mine)][mine == NONE] = NONE
        for other, flipped in self._glimpsed.items():
            if other & mask == other:
                known[: len(flipped)][flipped[:n]] = FLIPPED
        return known

    def _few(self, mask: int, rows: NDArray[np.intp]) -> Iterator[Trial]:
        """Yield a few variants: with the values of donors, and the first of all variants where they
        can be listed.
        """
        names, points = self.members(mask), self.pool.points[rows]
        donors = self.pool.donors(rows, (known == FLIPPED for known in self._known.values()))
        if self.variants(mask) > STAGE:
            yield self.pool.donated(names, points, donors[:DONORS])
        if self.enumerable(mask):
            yield from stages(points, self.space, names, stop=FEW)
            return
        yield self.pool.donated(names, points, donors[DONORS : DONORS + STAGE])
        yield self.pool.donated(
            names, points, donors[DONORS + STAGE : int(min(DONORS + FEW, self.most))]
        )

    def _rest(self, mask: int, rows: NDArray[np.intp]) -> Iterator[Trial]:
        """Yield the variants that are not among the first few."""
        if len(rows):
            yield from stages(self.pool.points[rows], self.space, self.members(mask), start=FEW)

    def glance(self, masks: Sequence[int], meter: Meter) -> dict[int, float]:
        """Return for sets not glanced at before the share of the first draws that a few variants
        flip.
        """
        worth = [
            mask for mask in masks if mask not in self._glimpsed and self.variants(mask) > 4 * STAGE
        ]
        cost = FIRST_LOOK * (1 + len(worth) * (DONORS + STAGE))
        if not worth or cost > meter.left:
            return {}
        self.pool.extend(FIRST_LOOK, meter)
        known = [self._inferred(mask, FIRST_LOOK) for mask in worth]
        rows = [np.flatnonzero(mine == UNKNOWN) for mine in known]
        trials = [
            list(itertools.islice(self._few(mask, mine), 2))
            for mask, mine in zip(worth, rows, strict=True)
        ]
        every, lengths = np.concatenate(rows), [len(mine) for mine in rows]
        joined = [
            Joined(stage, lengths, self.pool.points[every])
            for stage in itertools.zip_longest(*trials)
        ]
        flips = seek(self.view, self.pool.points[every], self.pool.outcomes[every], joined)
        meter.queries += int(flips.asked.sum())
        found = np.split(flips.found, np.cumsum(lengths)[:-1])
        for mask, mine, theirs, flipped in zip(worth, known, rows, found, strict=True):
            mine[theirs[flipped]] = FLIPPED
            self._glimpsed[mask] = mine == FLIPPED
        return {mask: float(self._glimpsed[mask].mean()) for mask in worth}

    def _cases(self, mask: int) -> tuple[Case, ...]:
        """Return flips found for the set, or for sets within it."""
        within = (other for other in self._shown if other & mask == other and other != mask)
        return tuple(
            [
                *self._shown.get(mask, []),
                *(case for other in within for case in self._shown[other]),
            ][:CASES]
        )
