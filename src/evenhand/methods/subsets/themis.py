"""The paper's own search, by name: Algorithm 3, with 1 and 2 (Galhotra et al. 2017); its level does
not hold.
"""

from __future__ import annotations

import math
from dataclasses import replace
from itertools import combinations
from typing import TYPE_CHECKING

from evenhand.methods.subsets.lattice import State, Tested
from evenhand.scores.answer import ask
from evenhand.scores.groups import Groups
from evenhand.scores.kinds import question_of
from evenhand.statistics.estimate import StopReason

if TYPE_CHECKING:
    from collections.abc import Callable

    from evenhand.methods.subsets.decision import Judge
    from evenhand.methods.subsets.lattice import Lattice
    from evenhand.runtime.budget import Meter
    from evenhand.runtime.workers import Workers
    from evenhand.scores.question import Terms
    from evenhand.subject.view import View


def search(
    view: View,
    kind: str,
    lattice: Lattice,
    judge: Judge,
    terms: Terms,
    meter: Meter,
    workers: Workers,
    report: Callable[[], None],
) -> StopReason:
    """Measure every set by itself, smaller ones first, leaving out only supersets of discriminating
    ones.
    """
    names = lattice.names
    for size in range(1, lattice.deepest + 1):
        for bits in combinations(range(len(names)), size):
            mask = sum(1 << bit for bit in bits)
            if lattice.states[mask] != State.OPEN:
                continue
            members = lattice.members(mask)
            if kind == "group" and _alone(view, members, terms):
                lattice.settle(mask, Tested(State.BELOW, judge.nothing()))
                continue
            question = question_of(view, kind, members)
            if question.cost > meter.left:
                return StopReason.QUERIES
            answer = ask(question, terms, meter, workers)
            if answer.stop is StopReason.INTERRUPTED:
                raise KeyboardInterrupt
            estimate = answer.finding.estimate
            # The paper decides by the value alone; its interval is reported on that side of the
            # limit.
            if estimate.value >= judge.limit:
                state, estimate = State.ABOVE, replace(estimate, low=max(estimate.low, judge.limit))
            else:
                high = min(estimate.high, math.nextafter(judge.limit, 0.0))
                state, estimate = State.BELOW, replace(estimate, high=high)
            cases = answer.finding.cases
            lattice.settle(
                mask,
                Tested(
                    state,
                    estimate,
                    shown=(answer.finding.groups, cases) if kind == "group" else cases,
                ),
            )
            report()
            if answer.stop in (StopReason.QUERIES, StopReason.SECONDS) or meter.late:
                return StopReason.SECONDS if meter.late else answer.stop
    return StopReason.MARGIN


def _alone(view: View, names: tuple[str, ...], terms: Terms) -> bool:
    """Tell whether a set has one group only, with nobody to compare it to."""
    groups = Groups(view.subject.space, names)
    return int((~terms.sampler.empty(groups)).sum()) < 2
