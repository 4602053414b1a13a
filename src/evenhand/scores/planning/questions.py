"""What a question of `measure` is going to take, without asking anything."""

from __future__ import annotations

import math
from dataclasses import replace
from typing import TYPE_CHECKING

import numpy as np

from evenhand.population.samplers import Uniform, is_rows
from evenhand.scores.answer import enough, listed, may_enumerate, rows_cost
from evenhand.scores.enumeration import EXHAUSTIBLE, part_size
from evenhand.scores.planning.forecast import Forecast, Scenario, Way

if TYPE_CHECKING:
    from evenhand.scores.question import Question, Terms
    from evenhand.statistics.sequential.stopping import Plan

WITHOUT_LIMIT = (0.0, 0.1, 0.5)
"""Scores that are tried where no limit is given."""
_MOST_LOOKED_AT = 1 << 17
"""The most draws of which every number of hits is looked at."""


def foreseen(question: Question, terms: Terms, left: float) -> Forecast:
    """Return what a question takes; `left` is how many inputs may be asked."""
    about = " and ".join(question.names)
    if is_rows(terms.sampler):
        cost = rows_cost(question, terms, terms.sampler)
        if cost is not None and cost <= left:
            return Forecast(about, Way.ROWS, cost, cost)
    elif isinstance(terms.sampler, Uniform):
        inputs = listed(question, terms, left)
        if inputs is not None and inputs != math.inf:
            return Forecast(about, Way.ENUMERATED, int(inputs), int(inputs))
    return _drawn(question, terms, left, about)


def scores_tried(limit: float | None) -> tuple[float, ...]:
    """Return the scores for which it is foretold what a question takes.

    >>> scores_tried(0.1)
    (0.0, 0.05, 0.1, 0.2)
    """
    if limit is None or not 0 < limit < 1:
        return WITHOUT_LIMIT
    half = limit / 2
    # Twice the limit may be more than all.
    over = min(2 * limit, half + 0.5)
    return (0.0, half, limit, over)


def _drawn(question: Question, terms: Terms, left: float, about: str) -> Forecast:
    subject = question.view.subject
    inputs: int | float = math.inf
    if may_enumerate(terms):
        inputs = part_size(question.space, question.names, subject.unread)
    worth = enough(question, terms, inputs)
    bounded = replace(terms, enough=min(worth, left))
    draws = bounded.enough_draws(question.cost)
    scenarios = []
    for score in scores_tried(terms.limit):
        taken = question.expected(bounded, score, draws)
        if taken is not None:
            scenarios.append(Scenario(score, round(taken)))
    most = question.most(bounded)
    if math.isfinite(worth):
        most = int(worth) if most is None else min(most, int(worth))
        goes_on = terms.limit is not None and not subject.adapter.expensive
        if goes_on and inputs <= EXHAUSTIBLE:
            # Where drawing does not decide, every input is asked.
            most += int(inputs)
    return Forecast(about, Way.DRAWN, _usual(scenarios, terms), most, tuple(scenarios))


def _usual(scenarios: list[Scenario], terms: Terms) -> int | None:
    """Return the most inputs of any score that is not next to the limit."""
    apart = [case.inputs for case in scenarios if case.score != terms.limit]
    return max(apart, default=None)


def most_draws(plan: Plan) -> int | None:
    """Return the first look at which a plan for a rate ends whatever was drawn; None without one.

    >>> from evenhand.statistics.sequential.stopping import Plan
    >>> most_draws(Plan(margin=0.1))
    120
    """
    if plan.margin is None or (plan.precise and plan.limit is not None):
        return plan.size
    looks = []
    # That is looked at every time their number doubles, and then exactly.
    far = 1
    for n in plan.looks(_MOST_LOOKED_AT):
        looks.append(n)
        if n >= far and _always_ends(plan, n):
            break
        far = 2 * n if n >= far else far
    if not _always_ends(plan, looks[-1]):
        return plan.size
    first, last = 0, len(looks) - 1
    while first < last:
        middle = (first + last) // 2
        if _always_ends(plan, looks[middle]):
            last = middle
        else:
            first = middle + 1
    return looks[last]


def _always_ends(plan: Plan, n: int) -> bool:
    """Return whether every number of hits among n draws ends a run."""
    if n == plan.size:
        return True
    hits = np.arange(n + 1)
    first = plan.first_stop(hits[:, None], [n])
    return not first.any()
