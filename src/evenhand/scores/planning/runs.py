"""Simulated runs of a plan: how many inputs software with a known score takes.

Many runs go on side by side. At each look of the plan those that it ends are counted, and the
others are asked about some more people.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Protocol

import numpy as np

from evenhand.runtime.random_streams import stream
from evenhand.scores.rates.paired import worth_asking
from evenhand.statistics.paired_groups import PairedPlan

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from evenhand.statistics.group_stopping import SpreadPlan
    from evenhand.statistics.intervals import Floats
    from evenhand.statistics.stopping import Flags, Plan

    GroupPlan = SpreadPlan | PairedPlan

RUNS = 2_000
"""Runs of a plan for one rate."""
PAIRED_RUNS = 100
"""Runs of a plan for groups that are asked about the same people, one after another."""
SPREAD_RUNS = 100
"""Runs of a plan for groups with people of their own, each look of which takes an integral."""
SEED = 0
"""The same arguments give the same numbers."""


@dataclass(frozen=True, slots=True)
class Runs:
    """What some runs of a plan took."""

    draws: NDArray[np.int64]
    """How many people were drawn in each run."""
    inputs: NDArray[np.int64]
    """How many inputs were asked in each; of a rate one for each draw."""

    @property
    def mean_draws(self) -> float:
        """How many people are drawn on average."""
        return float(self.draws.mean())

    @property
    def mean_inputs(self) -> float:
        """How many inputs are asked on average."""
        return float(self.inputs.mean())


class World(Protocol):
    """Software with a known score, asked in many runs side by side."""

    counts: Floats
    """What each run has counted, as its plan takes it."""
    inputs: NDArray[np.int64]
    """How many inputs each run has asked."""

    def ask(self, draws: int) -> None:
        """Ask so many more people in each run."""
        ...

    def keep(self, going: Flags) -> None:
        """Go on with these runs alone."""
        ...


def simulated(plan: Plan, world: World, most: int | None = None) -> Runs:
    """Return what the runs of a plan take; `most` is how many draws a run may have."""
    draws: list[NDArray[np.int64]] = []
    inputs: list[NDArray[np.int64]] = []
    before = 0
    for n in plan.looks(most):
        world.ask(n - before)
        before = n
        ends = _ends(plan, world.counts, n)
        if n in (most, plan.size):
            ends[:] = True
        draws.append(np.full(int(ends.sum()), n))
        inputs.append(world.inputs[ends])
        if ends.all():
            break
        world.keep(~ends)
    return Runs(np.concatenate(draws), np.concatenate(inputs))


def _ends(plan: Plan, counts: Floats, n: int) -> Flags:
    """Return which runs end at a look; runs with the same counts are looked at once."""
    table = counts.reshape(len(counts), -1)
    _, first, place = np.unique(table, axis=0, return_index=True, return_inverse=True)
    different = counts[first][:, None]
    ends = plan.first_stop(different, [n]) == 0
    return np.asarray(ends[place.ravel()])


def rate_runs(plan: Plan, p: float, most: int | None = None) -> Runs:
    """Return what a plan for a rate takes where the rate is p.

    >>> from evenhand.statistics.stopping import Plan
    >>> rate_runs(Plan(limit=0.05), 0.0).mean_draws
    62.0
    """
    # Without chance all runs are the same.
    runs = RUNS if 0 < p < 1 else 1
    return simulated(plan, _Rate(p, plan.size, runs), most)


def group_runs(
    plan: GroupPlan,
    spread: float,
    *,
    base: float,
    expensive: bool,
    most: int | None = None,
) -> Runs:
    """Return what a plan for groups takes where the rates of two lie a spread apart.

    The rates of the other groups lie in the middle. Who is favoured in one group is favoured in
    every group that is treated better.
    """
    rates = _rates(spread, base, plan.groups)
    if not isinstance(plan, PairedPlan):
        return simulated(plan, _OwnPeople(rates), most)
    focuses = expensive and plan.groups > 2
    # Without chance all runs are the same.
    runs = PAIRED_RUNS if spread else 1
    taken = []
    for run in range(runs):
        taken.append(_paired_run(plan, rates, run, most, focuses=focuses))
    draws, inputs = np.array(taken).T
    return Runs(draws, inputs)


def _rates(spread: float, base: float, groups: int) -> Floats:
    lowest = min(max(base - spread / 2, 0.0), 1 - spread)
    rates = np.full(groups, lowest + spread / 2)
    rates[0] = lowest
    rates[1] = lowest + spread
    return rates


class _Rate:
    """Hits that come at a rate, among endless people or without replacement among so many."""

    def __init__(self, p: float, size: int | None, runs: int) -> None:
        self.p = p
        self.size = size
        self.counts = np.zeros(runs)
        self.inputs = np.zeros(runs, dtype=np.int64)
        self._rng = stream(SEED, "runs of a rate")

    def ask(self, draws: int) -> None:
        """Ask so many more people in each run."""
        if self.size is None:
            hits = self._rng.binomial(draws, self.p, len(self.counts))
        else:
            hits_left = round(self.p * self.size) - self.counts.astype(np.int64)
            left = self.size - self.inputs
            hits = self._rng.hypergeometric(hits_left, left - hits_left, draws)
        self.counts = self.counts + hits
        self.inputs = self.inputs + draws

    def keep(self, going: Flags) -> None:
        """Go on with these runs alone."""
        self.counts = self.counts[going]
        self.inputs = self.inputs[going]


class _OwnPeople:
    """Groups that are each asked about people of their own."""

    def __init__(self, rates: Floats) -> None:
        self.rates = rates
        self.counts = np.zeros((SPREAD_RUNS, len(rates)))
        self.inputs = np.zeros(SPREAD_RUNS, dtype=np.int64)
        self._rng = stream(SEED, "runs of groups")

    def ask(self, draws: int) -> None:
        """Ask so many more people of each group in each run."""
        self.counts = self.counts + self._rng.binomial(
            draws, self.rates, self.counts.shape
        )
        self.inputs = self.inputs + draws * len(self.rates)

    def keep(self, going: Flags) -> None:
        """Go on with these runs alone."""
        self.counts = self.counts[going]
        self.inputs = self.inputs[going]


def _paired_run(
    plan: PairedPlan, rates: Floats, run: int, most: int | None, *, focuses: bool
) -> tuple[int, int]:
    """Return how many people are drawn in a run, and how many inputs are asked about them."""
    rng = stream(SEED, "runs of pairs", run)
    asked = np.ones(len(rates), dtype=np.bool_)
    counts: Floats | None = None
    before = 0
    inputs = 0
    for n in plan.looks(most):
        # Who is favoured in one group is favoured in every group that is treated better.
        need = rng.random((n - before, 1))
        amounts = (need < rates).astype(float)
        amounts[:, ~asked] = np.nan
        counts = plan.counted(amounts, counts)
        inputs += (n - before) * int(asked.sum())
        before = n
        if plan.reason(counts, n) is not None:
            break
        if focuses:
            asked = np.array(worth_asking(plan, counts))
    return before, inputs
