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
from evenhand.statistics.sequential.paired_groups import PairedPlan

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from evenhand.statistics.intervals import Floats
    from evenhand.statistics.sequential.group_stopping import SpreadPlan
    from evenhand.statistics.sequential.stopping import Flags, Plan

    GroupPlan = SpreadPlan | PairedPlan

RUNS = 2_000
"""Runs of a plan for one rate."""
PAIRED_RUNS, FEWEST_RUNS = 300, 100
"""Runs of a plan for two groups that are asked about the same people, and for many groups."""
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
        ended = int(ends.sum())
        draws.append(np.full(ended, n))
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

    >>> from evenhand.statistics.sequential.stopping import Plan
    >>> rate_runs(Plan(limit=0.05), 0.0).mean_draws
    87.0
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
    runs: int = PAIRED_RUNS,
) -> Runs:
    """Return what a plan for groups takes where the rate of one lies below all others by a spread.

    Who is favoured in that group is favoured in every other. `runs` is how many are simulated, at
    the most.
    """
    rates = _rates(spread, base, plan.groups)
    world: World
    if isinstance(plan, PairedPlan):
        focuses = expensive and plan.groups > 2
        world = _PairedGroups(plan, rates, runs, focuses=focuses)
    else:
        world = _SeparateGroups(rates, min(runs, SPREAD_RUNS))
    return simulated(plan, world, most)


def _rates(spread: float, base: float, groups: int) -> Floats:
    lowest = min(max(base - spread / 2, 0.0), 1 - spread)
    rates = np.full(groups, lowest + spread)
    rates[0] = lowest
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
            all_hits = round(self.p * self.size)
            hits_left = all_hits - self.counts.astype(np.int64)
            left = self.size - self.inputs
            others_left = left - hits_left
            hits = self._rng.hypergeometric(hits_left, others_left, draws)
        self.counts = self.counts + hits
        self.inputs = self.inputs + draws

    def keep(self, going: Flags) -> None:
        """Go on with these runs alone."""
        self.counts = self.counts[going]
        self.inputs = self.inputs[going]


class _SeparateGroups:
    """Groups that are each asked about people of their own."""

    def __init__(self, rates: Floats, runs: int) -> None:
        self.rates = rates
        self.counts = np.zeros((runs, len(rates)))
        self.inputs = np.zeros(runs, dtype=np.int64)
        self._rng = stream(SEED, "runs of groups")

    def ask(self, draws: int) -> None:
        """Ask so many more people of each group in each run."""
        self.counts = self.counts + self._rng.binomial(draws, self.rates, self.counts.shape)
        self.inputs = self.inputs + draws * len(self.rates)

    def keep(self, going: Flags) -> None:
        """Go on with these runs alone."""
        self.counts = self.counts[going]
        self.inputs = self.inputs[going]


class _PairedGroups:
    """Groups that are all asked about the same people."""

    def __init__(
        self, plan: PairedPlan, rates: Floats, runs: int, *, focuses: bool
    ) -> None:
        # More groups take longer; and without chance all runs are the same.
        runs = min(runs, max(FEWEST_RUNS, 1_200 // plan.groups))
        if not np.ptp(rates):
            runs = 1
        self.plan = plan
        self.focuses = focuses
        self.counts = np.stack([plan.nothing] * runs)
        self.inputs = np.zeros(runs, dtype=np.int64)
        self.asked = np.ones((runs, plan.groups), dtype=np.bool_)
        self._rng = stream(SEED, "runs of pairs")
        # People differ in the groups in which they are favoured: all whose rate is high enough.
        ends = [0.0, 1.0]
        edges = np.unique(np.concatenate([ends, rates]))
        self._shares = np.diff(edges)
        favoured = rates >= edges[1:, None]
        self._wins = _wins(favoured)

    def ask(self, draws: int) -> None:
        """Ask so many more people in each run."""
        people = self._rng.multinomial(draws, self._shares, len(self.counts))
        both = self.asked[:, :, None] & self.asked[:, None, :]
        wins = np.tensordot(people, self._wins, axes=1)
        new = np.stack([wins * both, draws * both], axis=1)
        self.counts = self.plan.added(new, self.counts)
        self.inputs = self.inputs + draws * self.asked.sum(axis=1)

    def keep(self, going: Flags) -> None:
        """Go on with these runs alone, and of them with the groups that are worth asking."""
        self.counts = self.counts[going]
        self.inputs = self.inputs[going]
        self.asked = self.asked[going]
        if self.focuses:
            self.asked = worth_asking(self.plan, self.counts)


def _wins(favoured: NDArray[np.bool_]) -> Floats:
    """Return for each kind of people which group wins over which; on the diagonal, who is favoured.

    >>> _wins(np.array([[True, False]])).tolist()
    [[[1.0, 1.0], [0.0, 0.0]]]
    """
    wins = favoured[:, :, None] & ~favoured[:, None, :]
    groups = np.arange(favoured.shape[1])
    wins[:, groups, groups] = favoured
    return wins.astype(float)
