"""Hunt: the loop between a strategy and what it finds; the same for any number of workers, cold or
warm.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np

from evenhand.methods.search.hits import Found
from evenhand.methods.search.strategies.base import Proposal
from evenhand.runtime.errors import UsageError, clip
from evenhand.statistics.estimate import StopReason

if TYPE_CHECKING:
    from evenhand.methods.search.probe import Probe, Tried
    from evenhand.methods.search.strategies.base import Strategy
    from evenhand.runtime.budget import Meter

FIRST_WAVE, WAVE, EXPENSIVE_WAVE = 64, 2048, 32
"""Classes tried at once: to begin with, at most, and where each input costs a process or a request.

They are fixed, and do not follow the clock: what a strategy proposes depends on what it has
observed by then.
"""
WAVES = 40
"""A budget is spent in at least that many waves, so that there is time to learn from."""

IDLE = 64
"""After so many waves in which constraints left nothing to ask there is nothing to find."""

KEPT = 16
"""Of the classes of a wave that are no hits, how many are kept to draw a map with."""


@dataclass(frozen=True, slots=True)
class Hunt:
    """How a search went."""

    found: Found
    stop: StopReason
    queries: int
    tried: int
    """How many classes were tried."""
    curve: tuple[tuple[int, int, int], ...]
    """After each wave: inputs asked, discriminatory inputs found, cells that hold one."""
    others: tuple[Tried, ...]
    """Some classes of each wave that are no hits."""

    def followed(self, more: Hunt) -> Hunt:
        """Return this hunt, which found nothing, and one that went on."""
        curve = tuple(
            (self.queries + queries, found, cells) for queries, found, cells in more.curve[1:]
        )
        queries, tried = self.queries + more.queries, self.tried + more.tried
        return Hunt(
            more.found, more.stop, queries, tried, self.curve + curve, self.others + more.others
        )


def hunt(strategy: Strategy, probe: Probe, meter: Meter, *, task: str = "search") -> Hunt:
    """Try what the strategy proposes until the budget is spent, enough is found, or nothing is left
    to try.
    """
    found = Found(probe, meter.budget.findings)
    curve: list[tuple[int, int, int]] = [(0, 0, 0)]
    others: list[Tried] = []
    queries, count, idle = 0, 0, 0
    wave, largest = _waves(probe, meter)
    stop: StopReason | None = None
    try:
        while stop is None:
            proposal = strategy.propose(wave)
            _check(strategy, proposal, probe)
            if not len(proposal.points):
                stop = StopReason.EXHAUSTED
                break
            queries += proposal.asked
            proposal, cut = _affordable(proposal, probe, meter.left - queries)
            if not len(proposal.points):
                stop = StopReason.QUERIES
                break
            tried = probe.ask(proposal.points, proposal.pairs)
            counted = strategy.observe(tried)
            accepted = len(tried) if counted is None else counted
            stop = cut if accepted == len(tried) else None  # what is taken back is not spent
            tried = tried.take(slice(0, accepted))
            found.add(tried)
            others.append(tried.take(np.flatnonzero(~tried.hits & (tried.asked > 0))[-KEPT:]))
            queries, count = queries + int(tried.asked.sum()), count + len(tried)
            curve.append((queries, len(found), found.cells))
            idle = 0 if tried.asked.any() or proposal.asked else idle + 1
            stop = stop or _done(found, meter) or (StopReason.EXHAUSTED if idle == IDLE else None)
            rate = 1000 * len(found) / max(queries, 1)
            share = None if meter.budget.queries is None else min(1.0, queries / max(meter.left, 1))
            note = (
                f"{queries:,} queries, {len(found):,} found, {found.cells:,} regions, {rate:.0f}"
                " per 1,000"
            )
            meter.report(task, share, note)
            wave = min(2 * wave, largest)
    except KeyboardInterrupt:
        stop = StopReason.INTERRUPTED
    return Hunt(found, stop, queries, count, tuple(curve), tuple(others))


def _waves(probe: Probe, meter: Meter) -> tuple[int, int]:
    """Return how many classes to try at once, to begin with and at most."""
    if probe.view.subject.adapter.expensive:
        return EXPENSIVE_WAVE, EXPENSIVE_WAVE
    return FIRST_WAVE, int(min(WAVE, max(FIRST_WAVE, meter.left / (2 * WAVES))))


def _check(strategy: Strategy, proposal: Proposal, probe: Probe) -> None:
    """Refuse what is no input: who wrote the strategy has to know of it, and the software is not
    asked.
    """
    said = f"strategy {clip(repr(strategy.name))} proposed"
    if not isinstance(proposal, Proposal):
        raise UsageError(f"{said} {clip(repr(proposal))}; return an evenhand.Proposal of points")
    points, pairs, features = proposal.points, proposal.pairs, probe.space.features
    if not len(points):
        return
    if not isinstance(points, np.ndarray) or points.ndim != 2 or points.shape[1] != len(features):
        shape = np.shape(points)
        raise UsageError(
            f"{said} points of the shape {shape}; give an array of {len(features)} numbers for each"
            " input"
        )
    if pairs is not None and np.shape(pairs) != (len(points), 2):
        raise UsageError(
            f"{said} pairs of the shape {np.shape(pairs)}; give two assignments for each input"
        )
    for position, feature in enumerate(features):
        if position in probe.over:
            continue
        inside = feature.inside(points[:, position])
        if not inside.all():
            value = points[int(np.argmin(inside)), position]
            raise UsageError(
                f"{said} {value:g} for {feature.name}, which is {feature.domain}; stay inside the"
                " space"
            )


def _affordable(
    proposal: Proposal, probe: Probe, left: float
) -> tuple[Proposal, StopReason | None]:
    """Cut what is proposed to what the budget allows, before it is asked."""
    most = max(0.0, left) / (len(probe.table) if proposal.pairs is None else 2)
    if len(proposal.points) < most:
        return proposal, None
    rows = slice(0, int(most))
    pairs = None if proposal.pairs is None else proposal.pairs[rows]
    return Proposal(proposal.points[rows], pairs), StopReason.QUERIES


def _done(found: Found, meter: Meter) -> StopReason | None:
    if found.full:
        return StopReason.FINDINGS
    return StopReason.SECONDS if meter.late else None
