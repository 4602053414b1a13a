"""Answer a question: which of its ways is taken, and what is told of it.

A question is answered exactly where its whole population can be asked, from all rows where these
are a sample, and otherwise by drawing until the plan stops. Every input is asked where that takes
no more of them than drawing does at the least, and drawing ends where it has taken as many as there
are. Which way is taken follows from numbers that are known beforehand and from whether an answer
costs a process or a request, never from the clock.
"""

from __future__ import annotations

import math
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING

import numpy as np

from evenhand.population.samplers import Uniform, is_rows
from evenhand.results.evidence import Finding
from evenhand.runtime.errors import UsageError
from evenhand.runtime.random_streams import stream
from evenhand.scores.enumeration import EXHAUSTIBLE, IN_MEMORY, SMALL, part_size, whole
from evenhand.scores.question import ENOUGH
from evenhand.space.feature_sets import unseen
from evenhand.space.variants import MOST_ASSIGNMENTS
from evenhand.statistics.estimate import StopReason

if TYPE_CHECKING:
    from collections.abc import Sequence

    from evenhand.population.rows import Rows
    from evenhand.runtime.budget import Meter
    from evenhand.runtime.workers import Workers
    from evenhand.scores.question import Question, Score, Terms
    from evenhand.scores.test_suite import Tests

MOST_ROWS, MOST_ROWS_EXPENSIVE = 2_000_000, 10_000
"""Given rows are all asked where that takes no more inputs than this; fewer where an answer is
expensive.
"""


@dataclass(frozen=True, slots=True)
class Answer:
    """What was found, why it ended there, and the tests behind it where they were to be kept."""

    findings: Sequence[Finding]
    stop: StopReason
    notes: Sequence[str] = ()
    tests: Sequence[Tests] = ()

    @property
    def interrupted(self) -> bool:
        """Whether the user ended it."""
        return self.stop is StopReason.INTERRUPTED


def ask(
    question: Question,
    terms: Terms,
    meter: Meter,
    workers: Workers,
    *,
    keep: bool = False,
) -> Answer:
    """Answer the question within a budget; `keep` the tests."""
    score = _whole(question, terms, meter, keep=keep)
    if score is None:
        score = _drawn(question, terms, meter, workers, keep=keep)
    if score.findings:
        return Answer(score.findings, score.stop, score.notes, score.tests)
    estimate = terms.shared(score.estimate)
    only_answer = question.view.only_answer(score.answers, favoured=score.favoured)
    causal = question.kind == "causal"
    finding = Finding(
        question.claim(estimate, score.groups),
        question.names,
        estimate,
        terms.limit,
        tuple(score.cases),
        score.groups,
        output=question.view.title,
        score=question.kind,
        by_construction=_by_construction(question, terms),
        only_answer=only_answer,
        unfavoured=question.view.unfavoured(only_answer, favoured=score.favoured),
        p_value=None if score.against is None else score.against.p_value,
        e_value=None if score.against is None else score.against.e_value,
        noise=score.noise,
        gap=question.view.gap if causal else None,
        graded=causal and question.view.graded,
    )
    return Answer([finding], score.stop, score.notes, score.tests)


def _by_construction(question: Question, terms: Terms) -> bool:
    """Return whether the answer follows from the software not seeing any of the features.

    Rates of groups may still differ, where other features go with these in the population.
    """
    space = question.space
    names = question.names
    if not unseen(space, names):
        return False
    return question.kind == "causal" or terms.sampler.separate(space, names)


def _drawn(
    question: Question, terms: Terms, meter: Meter, workers: Workers, *, keep: bool
) -> Score:
    """Answer by drawing; where that takes as many inputs as there are, by asking each of them."""
    inputs = math.inf
    if may_enumerate(terms):
        inputs = part_size(question.space, question.names, question.view.subject.unread)
    bounded = replace(terms, enough=enough(question, terms, inputs))
    score = question.sampled(bounded, meter, workers, keep=keep)
    if score.stop is not StopReason.TOO_CLOSE or inputs > meter.left:
        return score
    if inputs <= IN_MEMORY:
        return _enumerated(question, terms, meter, int(inputs), keep=keep)
    if keep or inputs > EXHAUSTIBLE or question.view.subject.adapter.expensive:
        return score
    return question.exhausted(terms, meter)


def enough(question: Question, terms: Terms, inputs: int | float) -> float:
    """Return how many inputs are worth drawing; more than there are never are."""
    if question.view.subject.adapter.expensive or terms.limit is None:
        return inputs
    # To draw some inputs first costs little where all of them can be asked afterwards.
    return min(inputs, ENOUGH)


def may_enumerate(terms: Terms) -> bool:
    """Return whether every input there is may be asked instead of some that are drawn."""
    if not isinstance(terms.sampler, Uniform):
        return False
    return terms.exact is None and terms.interval is None


def _whole(question: Question, terms: Terms, meter: Meter, *, keep: bool) -> Score | None:
    """Answer from the whole population, or all rows of a sample; None where it is not worth it."""
    sampler = terms.sampler
    if is_rows(sampler):
        return _all_rows(question, terms, meter, sampler, keep=keep)
    if not isinstance(sampler, Uniform):
        if terms.exact:
            raise UsageError(
                f"exact: {sampler.population(question.space)} is sampled, not enumerated; leave out"
                " exact"
            )
        return None
    inputs = listed(question, terms, meter.left)
    if inputs is None:
        return None
    most = MOST_ASSIGNMENTS if terms.exact else int(inputs)
    return _enumerated(question, terms, meter, most, keep=keep)


def listed(question: Question, terms: Terms, left: float) -> int | float | None:
    """Return how many inputs there are, where every one of them is asked; None where some are."""
    if not terms.exact and not may_enumerate(terms):
        return None
    inputs = part_size(question.space, question.names, question.view.subject.unread)
    if terms.exact:
        return inputs
    if question.view.subject.adapter.expensive:
        small = question.fewest(terms)
    else:
        small = SMALL
    return inputs if inputs <= min(small, left) else None


def _enumerated(
    question: Question, terms: Terms, meter: Meter, most: int, *, keep: bool
) -> Score:
    """Answer from every input there is; SpaceError where there are more than `most`."""
    unread = question.view.subject.unread
    points = whole(question.space, question.names, most, unread)
    if len(points) > meter.left:
        raise UsageError(
            f"exact: {len(points):,} inputs are to be asked, but {int(meter.left):,} queries"
            " are left"
        )
    meter.report(question.task, None, f"all {len(points):,} inputs")
    meter.queries += len(points)
    population = terms.sampler.population(question.space)
    return question.enumerated(terms, points, population, meter, keep=keep)


def _all_rows(
    question: Question,
    terms: Terms,
    meter: Meter,
    sampler: Rows,
    *,
    keep: bool,
) -> Score | None:
    """Answer from all given rows; None where it is better to draw from them."""
    if terms.exact is False and sampler.twins == "rows":
        raise UsageError(
            "twins = 'rows' compares given rows with each other, all of them; leave out exact ="
            " False"
        )
    cost = rows_cost(question, terms, sampler)
    if cost is None:
        return None
    return _rows(question, terms, meter, sampler, cost, keep=keep)


def rows_cost(question: Question, terms: Terms, sampler: Rows) -> int | None:
    """Return how many inputs it takes to ask all given rows; None where it is better to draw."""
    cost = len(sampler.points(question.space)) * question.per_row(sampler)
    # Neither a sample nor twins among the rows can be drawn from.
    must_be_all = sampler.twins == "rows" or sampler.sample_of is not None
    if question.view.subject.adapter.expensive:
        most = MOST_ROWS_EXPENSIVE
    else:
        most = MOST_ROWS
    may_be_all = terms.exact is None and terms.interval is None and cost <= most
    return cost if must_be_all or terms.exact or may_be_all else None


def _rows(
    question: Question,
    terms: Terms,
    meter: Meter,
    sampler: Rows,
    cost: int,
    *,
    keep: bool,
) -> Score | None:
    points = sampler.points(question.space)
    cut = cost > meter.left
    if cut:
        if sampler.sample_of is None and sampler.twins == "domain" and not terms.exact:
            return None
        # Files are often sorted, so what the budget allows is taken from all over the rows.
        order = stream(terms.seed, *question.stream, "rows").permutation(len(points))
        affordable = int(meter.left * len(points) // cost)
        chosen = np.sort(order[:affordable])
        points = np.asfortranarray(points[chosen])
        if sampler.sample_of is None or not len(points):
            raise UsageError(
                f"{cost:,} inputs are to be asked, but the budget leaves {int(meter.left):,}"
                " queries"
            )
    score = question.tallied(terms, points, sampler, meter, keep=keep)
    if cut:
        return replace(score, stop=StopReason.QUERIES)
    return score
