"""measure: how much does this software discriminate, and how sure are we (Themis, Galhotra et al. 2017)?"""

from __future__ import annotations

import math
from dataclasses import dataclass, replace
from functools import cached_property
from typing import TYPE_CHECKING, Any

import numpy as np

from evenhand.core.budget import Budget, Meter, Spent, progress_bar
from evenhand.core.campaign import CASES, Counted, sample
from evenhand.core.errors import UsageError, nearest
from evenhand.core.estimate import Estimate, StopReason
from evenhand.core.feature import plain
from evenhand.core.intervals import check_level
from evenhand.core.keywords import checked_keywords
from evenhand.core.outcomes import distance
from evenhand.core.parallel import Workers
from evenhand.core.results import Case, Finding, Result
from evenhand.core.samplers import Draws, Uniform
from evenhand.core.sequential import Plan
from evenhand.core.subject import as_subject

if TYPE_CHECKING:
    from collections.abc import Sequence

    from numpy.typing import NDArray

    from evenhand.core.campaign import Outcome
    from evenhand.core.feature import Points
    from evenhand.core.samplers import Sampler
    from evenhand.core.space import Space
    from evenhand.core.subject import Subject

    Over = str | Sequence[str] | Sequence[tuple[str, ...]]

KINDS = ("causal",)
LIMITING = (
    StopReason.INTERRUPTED,
    StopReason.SECONDS,
    StopReason.QUERIES,
    StopReason.MARGIN,
    StopReason.DECIDED,
)
"""Why sampling of a set may end, from what leaves most open to what leaves nothing open."""
MARGIN = 0.05
CHECKED = 32
"""Inputs that are asked twice to see whether the subject is deterministic."""
ROWS = 262_144
"""The most variants that are built at once."""


@checked_keywords
def measure(
    subject: Any,
    space: Space | None = None,
    *,
    over: Over | None = None,
    kind: str = "causal",
    limit: float | None = None,
    margin: float | None = None,
    level: float = 0.95,
    interval: str | None = None,
    sampler: Sampler | None = None,
    budget: Budget | None = None,
    seed: int = 0,
    n_jobs: int = 1,
    progress: bool | None = None,
) -> Result:
    """Measure the causal discrimination score: the share of inputs whose outcome changes with the named features alone.

    Parameters
    ----------
    subject, space
        A Subject, or a fitted model or function with its space.
    over
        ``"sex"`` or ``["sex", "race"]`` is one set of features taken together, ``[("sex",), ("race",)]`` two sets with
        a finding each, whose intervals hold together. By default each protected feature by itself.
    limit
        An engineering threshold; sampling ends as soon as the score is known to be on one side of it.
    margin, level
        Otherwise sampling ends when the score is known to within the margin, at this level of confidence. By default
        0.05; with a limit a fifth of it where that is finer, so that only a score next to the limit stays undecided.
    interval
        ``"wald"`` reproduces the paper's stopping rule and interval, which do not hold their coverage.
    budget
        What the whole call may spend; sets that it does not reach in full are reported as far as it went.

    Examples
    --------
    >>> from evenhand.core.feature import category, integer
    >>> from evenhand.core.space import Space
    >>> space = Space([category("sex", ["F", "M"]), integer("age", 18, 90)], protected=["sex"])
    >>> fair = measure(lambda frame: frame["age"] >= 21, space, limit=0.05)
    >>> fair.verdict.value, fair.worst.estimate.value
    ('pass', 0.0)
    """
    if kind not in KINDS:
        raise UsageError(f"kind = {kind!r} is not available; {nearest(kind, KINDS)}")
    tested = as_subject(subject, space)
    sets = feature_sets(tested.space, over)
    chosen = sampler or Uniform()
    plan = _plan(tested, len(sets), margin, level, limit, interval, chosen.population(tested.space))
    findings, stops, before = [], [], tested.executed
    with Workers(n_jobs) as workers, progress_bar(show=progress) as hook:
        meter = Meter(budget or Budget(), hook)
        counts = [Causal(tested, Draws(chosen, tested.space, seed, "measure", kind, *names), names) for names in sets]
        notes = _check_deterministic(counts[0], meter)
        for number, count in enumerate(counts):
            part = _share_of(meter, len(sets) - number)
            task = f"causal {', '.join(count.names)}"
            outcome = sample(plan, count, cost=count.cost, meter=part, workers=workers, task=task)
            meter.queries += part.queries
            findings.append(_finding(count, outcome, limit=limit, level=level, sets=len(sets)))
            stops.append(outcome.stop)
            if outcome.stop is StopReason.INTERRUPTED:
                findings += [_unmeasured(missed, plan, limit=limit, level=level) for missed in sets[number + 1 :]]
                break
    return Result(
        "measure",
        findings,
        seed,
        Spent(meter.queries, tested.executed - before, meter.seconds),
        _overall(stops),
        tested.space.to_dict(),
        notes + _notes(tested, sets),
    )


def feature_sets(space: Space, over: Over | None) -> list[tuple[str, ...]]:
    """Return the sets of features that `over` names, checked against the space."""
    if over is None:
        if not space.protected:
            raise UsageError(
                f"the space names no protected features; pass over=…, one or more of {', '.join(space.names)}"
            )
        sets: list[tuple[str, ...]] = [(name,) for name in space.protected]
    elif isinstance(over, str):
        sets = [(over,)]
    elif all(isinstance(name, str) for name in over):
        sets = [tuple(str(name) for name in over)]
    else:
        sets = [(names,) if isinstance(names, str) else tuple(names) for names in over]
    for names in sets:
        space.sets(names)
    return sets


def _plan(
    subject: Subject,
    sets: int,
    margin: float | None,
    level: float,
    limit: float | None,
    interval: str | None,
    population: str,
) -> Plan:
    check_level(level)
    if margin is None:
        margin = min(MARGIN, limit / 5) if limit else MARGIN
    if callable(subject.differs) and interval is None:
        interval = "anytime"  # graded distances are no counts of hits, and only this interval holds for them
    return Plan(1 - (1 - level) / sets, margin, limit, interval, population)


@dataclass(frozen=True, slots=True)
class Twins:
    """Points under every assignment of the features at issue: variants, outcomes, own outcomes, distances to those."""

    variants: Points
    outcomes: NDArray[Any]
    base: NDArray[Any]
    apart: NDArray[Any]


@dataclass(frozen=True)
class Causal:
    """Tells which draws are discriminated against: some variant of theirs gets another outcome (Def. 3.7)."""

    subject: Subject
    draws: Draws
    names: tuple[str, ...]

    @cached_property
    def cost(self) -> int:
        """Inputs asked per draw: its variants, and itself where it is none of them (binned continuous features)."""
        space = self.subject.space
        continuous = any(math.isinf(space.feature(name).size) for name in self.names)
        return len(space.assignments(self.names)) + continuous

    def __call__(self, bounds: tuple[int, int]) -> Counted:
        """Return the distance of each draw to its farthest variant, the first cases, and what that took."""
        before = self.subject.asked, self.subject.executed
        rows = max(1, ROWS // self.cost)
        hits: list[NDArray[Any]] = []
        witnesses: list[tuple[int, Case]] = []
        for start in range(bounds[0], bounds[1], rows):
            points = self.draws.take(start, min(start + rows, bounds[1]))
            twins = self.twins(points)
            hits.append(twins.apart.max(axis=0))
            first = np.flatnonzero(hits[-1])[: CASES - len(witnesses)].tolist()
            witnesses += [(start + column, self._case(points, twins, column)) for column in first]
        spent = self.subject.asked - before[0], self.subject.executed - before[1]
        return Counted(np.concatenate(hits), witnesses, *spent)

    def twins(self, points: Points) -> Twins:
        """Decide every variant (row) of every point (column), and how far each is from the point's own outcome."""
        space = self.subject.space
        variants = space.variants(points, self.names)
        valid = space.valid(variants)
        outcomes, base = self._decided(points, variants, valid)
        apart = distance(self.subject.differs, outcomes, np.broadcast_to(base, outcomes.shape))
        return Twins(variants, outcomes, base, np.where(valid.reshape(apart.shape), apart, 0).astype(apart.dtype))

    def _case(self, points: Points, twins: Twins, column: int) -> Case:
        """Show a point beside the variant that differs from it in the fewest features, then in the most of outcome."""
        apart = twins.apart[:, column]
        mine = twins.variants[column :: len(points)]
        changes = (mine != points[column]).sum(axis=1)
        row = min(np.flatnonzero(apart).tolist(), key=lambda j: (changes[j], -float(apart[j]), j))
        individual, twin = self.subject.space.records(np.stack([points[column], mine[row]]))
        return Case(individual, twin, (plain(twins.base[column]), plain(twins.outcomes[row, column])))

    def _decided(self, points: Points, variants: Points, valid: NDArray[np.bool_]) -> tuple[NDArray[Any], NDArray[Any]]:
        """Return the outcomes of all variants and of the points themselves, which are variants of their own."""
        own = self.subject.space.own(points, self.names)
        if valid.all():
            outcomes = self.subject.decide(variants)
        else:
            decided = self.subject.decide(np.asfortranarray(variants[valid]))
            # What stands for invalid variants is never read, but must be of the same kind.
            outcomes = np.full(len(variants), decided[0], dtype=decided.dtype)
            outcomes[valid] = decided
        outcomes = outcomes.reshape(-1, len(points))
        base = outcomes[own, np.arange(len(points))] if (own >= 0).all() else self.subject.decide(points)
        return outcomes, base


def _check_deterministic(count: Causal, meter: Meter) -> list[str]:
    """Ask the first draws twice, within a tenth of the budget; what that takes counts as spent."""
    checked = int(min(CHECKED, meter.left // 20))
    if checked == 0:
        return ["the budget was too small to check that the software answers the same input the same way"]
    count.subject.need_deterministic(count.draws.take(0, checked))
    meter.queries += 2 * checked
    return []


def _share_of(meter: Meter, sets: int) -> Meter:
    """Give the next set its equal share of what is left, so that the last one is not starved by the first."""
    if meter.budget.queries is None:
        return replace(meter, queries=0)
    return replace(meter, queries=0, budget=replace(meter.budget, queries=max(1, int(meter.left) // sets)))


def _finding(count: Causal, outcome: Outcome, *, limit: float | None, level: float, sets: int) -> Finding:
    estimate = replace(outcome.estimate, level=level)
    if sets > 1:
        estimate = replace(estimate, method=f"{estimate.method}, simultaneous over {sets}")
    names = " and ".join(count.names)
    claim = f"changing only {names} changes the outcome of {100 * estimate.value:.1f} % of inputs"
    return Finding(claim, count.names, estimate, limit, outcome.cases)


def _unmeasured(names: tuple[str, ...], plan: Plan, *, limit: float | None, level: float) -> Finding:
    """Say of a set that the run did not come to it, so that it cannot be taken for a pass."""
    estimate = Estimate(math.nan, 0.0, 1.0, 0, level, plan.method, plan.population)
    return Finding(f"{' and '.join(names)} was not measured", names, estimate, limit)


def _overall(stops: Sequence[StopReason]) -> StopReason:
    """Return the reason that limits most what can be said of all sets together."""
    return next(reason for reason in LIMITING if reason in stops)


def _notes(subject: Subject, sets: Sequence[tuple[str, ...]]) -> list[str]:
    unseen = sorted({name for names in sets for name in names if not subject.space.feature(name).passed})
    return [
        f"{name} is not passed to the software, so its causal score is zero by construction; "
        f"that is no evidence of fairness"
        for name in unseen
    ]
