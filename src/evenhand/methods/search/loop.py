"""The loop between a strategy and what it finds.

It goes the same way for any number of workers, and whether answers are remembered or not.
"""

from __future__ import annotations

import math
from dataclasses import dataclass, field
from typing import TYPE_CHECKING

import numpy as np

from evenhand.methods.search import messages
from evenhand.methods.search.hits import Found
from evenhand.methods.search.strategies.base import Proposal
from evenhand.runtime import number_text
from evenhand.runtime.errors import UsageError, clip
from evenhand.statistics.estimate import StopReason

if TYPE_CHECKING:
    from evenhand.methods.search.probe import Probe, Tried
    from evenhand.methods.search.strategies.base import Strategy
    from evenhand.runtime.budget import Meter

FIRST_WAVE = 64
"""Classes tried at once to begin with.

The sizes of waves are fixed, and do not follow the clock unless the budget does: what a strategy
proposes depends on what it has observed by then.
"""
WAVE = 2048
"""Classes tried at once at most."""
EXPENSIVE_WAVE = 32
"""Classes tried at once where each input costs a process or a request."""
WAVES = 40
"""A budget is spent in at least that many waves, so that there is time to learn from."""
IDLE = 64
"""After so many waves in which constraints left nothing to ask there is nothing to find."""
KEPT = 16
"""Of the classes of a wave that are not hits, how many are kept to draw a map with."""


@dataclass(frozen=True, slots=True)
class StrategyRun:
    """How a search went."""

    found: Found
    stop: StopReason
    queries: int
    tried: int
    """How many classes were tried."""
    curve: tuple[tuple[int, int, int], ...]
    """After each wave: inputs asked, discriminatory inputs found, cells that hold one."""
    others: tuple[Tried, ...]
    """Some classes of each wave that are not hits."""
    again: float = 0.0
    """About how many seconds it takes to ask everything again that was found."""

    def followed(self, more: StrategyRun) -> StrategyRun:
        """Return this run, which found nothing, and one that went on."""
        curve = list(self.curve)
        for queries, found, cells in more.curve[1:]:
            curve.append((self.queries + queries, found, cells))
        return StrategyRun(
            found=more.found,
            stop=more.stop,
            queries=self.queries + more.queries,
            tried=self.tried + more.tried,
            curve=tuple(curve),
            others=self.others + more.others,
            again=more.again,
        )


@dataclass(slots=True)
class _RunProgress:
    """What a run has found and spent so far."""

    found: Found
    meter: Meter
    task: str
    queries: int = 0
    tried: int = 0
    asking: float = 0.0
    """Seconds in which the software was asked."""
    idle: int = 0
    """Waves in a row in which nothing could be asked."""
    curve: list[tuple[int, int, int]] = field(default_factory=lambda: [(0, 0, 0)])
    others: list[Tried] = field(default_factory=list)

    def add(self, tried: Tried, asked_before: int) -> None:
        """Count the classes of a wave, for which a strategy has asked some inputs before."""
        self.found.add(tried)
        not_hits = np.flatnonzero(~tried.hits & (tried.asked > 0))
        self.others.append(tried.take(not_hits[-KEPT:]))
        self.queries += int(tried.asked.sum())
        self.tried += len(tried)
        self.curve.append((self.queries, len(self.found), self.found.cells))
        if tried.asked.any() or asked_before:
            self.idle = 0
        else:
            self.idle += 1

    @property
    def again(self) -> float:
        """About how many seconds it takes to ask everything again that was found."""
        probe = self.found.probe
        # Answers that are remembered are not asked again, but scores are no answers.
        if probe.view.subject.remembers and probe.margins is None:
            return 0.0
        return 2 * len(self.found) * self.asking / max(self.queries, 1)

    @property
    def seconds_left(self) -> float:
        """Seconds that may still be spent, without those to ask again what was found."""
        if self.meter.budget.seconds is None:
            return math.inf
        return self.meter.budget.seconds - self.meter.seconds - self.again

    def wave(self, planned: int) -> int:
        """Return how many classes to try: as planned, or as many as the time is enough for.

        Only where seconds are bounded do waves follow the clock.
        """
        seconds = self.seconds_left
        if math.isinf(seconds) or not self.tried or self.asking <= 0:
            return planned
        timely = int(max(seconds, 0.0) * self.tried / self.asking)
        return max(1, min(planned, timely))

    @property
    def stop(self) -> StopReason | None:
        """Why to end after a wave, None for no reason."""
        if self.found.full:
            return StopReason.FINDINGS
        if self.seconds_left <= 0:
            return StopReason.SECONDS
        if self.idle == IDLE:
            return StopReason.EXHAUSTED
        return None

    def report(self) -> None:
        """Show how far the run is."""
        share = None
        if self.meter.budget.queries is not None:
            share = min(1.0, self.queries / max(self.meter.left, 1))
        rate = 1000 * len(self.found) / max(self.queries, 1)
        note = messages.PROGRESS.format(
            queries=number_text.count(self.queries),
            found=number_text.count(len(self.found)),
            cells=number_text.count(self.found.cells),
            rate=f"{rate:.0f}",
        )
        self.meter.report(self.task, share, note)

    def ended(self, stop: StopReason) -> StrategyRun:
        """Return the run as it ended."""
        return StrategyRun(
            found=self.found,
            stop=stop,
            queries=self.queries,
            tried=self.tried,
            curve=tuple(self.curve),
            others=tuple(self.others),
            again=self.again,
        )


def run_strategy(
    strategy: Strategy,
    probe: Probe,
    meter: Meter,
    *,
    task: str = "search",
) -> StrategyRun:
    """Try what the strategy proposes until the budget ends, enough is found, or nothing is left."""
    progress = _RunProgress(Found(probe, meter.budget.findings), meter, task)
    wave, largest = _waves(probe, meter)
    stop: StopReason | None = None
    try:
        while stop is None:
            stop = _one_wave(strategy, probe, progress, progress.wave(wave))
            wave = min(2 * wave, largest)
    except KeyboardInterrupt:
        stop = StopReason.INTERRUPTED
    return progress.ended(stop)


def _one_wave(
    strategy: Strategy,
    probe: Probe,
    progress: _RunProgress,
    wave: int,
) -> StopReason | None:
    """Try one wave of classes, and return why to end after it, None for no reason."""
    proposal = strategy.propose(wave)
    _check(strategy, proposal, probe)
    if not len(proposal.points):
        return StopReason.EXHAUSTED
    progress.queries += proposal.asked
    left = progress.meter.left - progress.queries
    proposal, cut = _affordable(proposal, probe, left)
    if not len(proposal.points):
        return StopReason.QUERIES
    begun = progress.meter.seconds
    tried = probe.ask(proposal.points, proposal.pairs)
    progress.asking += progress.meter.seconds - begun
    counted = strategy.observe(tried)
    accepted = len(tried) if counted is None else counted
    if accepted < len(tried):
        cut = None  # what is taken back is not spent
    progress.add(tried.take(slice(0, accepted)), proposal.asked)
    stop = cut or progress.stop
    progress.report()
    return stop


def _waves(probe: Probe, meter: Meter) -> tuple[int, int]:
    """Return how many classes to try at once, to begin with and at most."""
    if probe.view.subject.adapter.expensive:
        return EXPENSIVE_WAVE, EXPENSIVE_WAVE
    # A class takes two inputs or more.
    even_share = meter.left / (2 * WAVES)
    return FIRST_WAVE, int(min(WAVE, max(FIRST_WAVE, even_share)))


def _check(strategy: Strategy, proposal: Proposal, probe: Probe) -> None:
    """Refuse what is not an input, so that the author of a strategy learns of it.

    The software is not asked.
    """
    name = clip(repr(strategy.name))
    if not isinstance(proposal, Proposal):
        shown = clip(repr(proposal))
        raise UsageError(messages.NOT_A_PROPOSAL.format(strategy=name, value=shown))
    if len(proposal.points):
        _check_shapes(name, proposal, len(probe.space.features))
        _settle_gaps(proposal, probe)
        _check_values(name, proposal, probe)


def _check_shapes(name: str, proposal: Proposal, features: int) -> None:
    points = proposal.points
    is_matrix = isinstance(points, np.ndarray) and points.ndim == 2
    if not is_matrix or points.shape[1] != features:
        wrong_shape = messages.POINTS_OF_WRONG_SHAPE.format(
            strategy=name,
            shape=np.shape(points),
            features=features,
        )
        raise UsageError(wrong_shape)
    pairs = proposal.pairs
    if pairs is not None and np.shape(pairs) != (len(points), 2):
        shape = np.shape(pairs)
        raise UsageError(messages.PAIRS_OF_WRONG_SHAPE.format(strategy=name, shape=shape))


def _settle_gaps(proposal: Proposal, probe: Probe) -> None:
    """Turn what lies between a missing value and the known ones into the nearer of both.

    A strategy that halves the way between two inputs meets such values; the points are changed.
    """
    for position, feature in enumerate(probe.space.features):
        if not feature.missing or feature.kind == "category":
            continue
        column = proposal.points[:, position]
        between = (column > feature.missing_code) & (column < feature.low)
        if between.any():
            is_near = 2 * column > feature.missing_code + feature.low
            settled = np.where(is_near, feature.low, feature.missing_code)
            column[between] = settled[between]


def _check_values(name: str, proposal: Proposal, probe: Probe) -> None:
    for position, feature in enumerate(probe.space.features):
        # What stands for the features at issue is never asked.
        if position in probe.over:
            continue
        column = proposal.points[:, position]
        inside = feature.inside(column)
        if inside.all():
            continue
        value = column[int(np.argmin(inside))]
        outside = messages.OUTSIDE_THE_SPACE.format(
            strategy=name,
            value=f"{value:g}",
            feature=feature.name,
            domain=feature.domain,
        )
        raise UsageError(outside)


def _affordable(
    proposal: Proposal,
    probe: Probe,
    left: float,
) -> tuple[Proposal, StopReason | None]:
    """Cut what is proposed to what the budget allows, before it is asked."""
    inputs_of_a_class = len(probe.table) if proposal.pairs is None else 2
    most = max(0.0, left) / inputs_of_a_class
    if len(proposal.points) < most:
        return proposal, None
    rows = slice(0, int(most))
    pairs = None if proposal.pairs is None else proposal.pairs[rows]
    return Proposal(proposal.points[rows], pairs), StopReason.QUERIES
