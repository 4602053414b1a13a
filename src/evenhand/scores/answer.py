"""Answer a question: which of its ways is taken, and what is told of it.

A question is answered exactly where its whole population can be asked, from all rows where these
are a sample, and otherwise by drawing until the plan stops.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import TYPE_CHECKING

import numpy as np

from evenhand.population.samplers import Uniform, is_rows
from evenhand.results.evidence import Finding
from evenhand.runtime.errors import UsageError
from evenhand.runtime.random_streams import stream
from evenhand.scores.enumeration import SMALL, SMALL_EXPENSIVE, part, whole
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
        score = question.sampled(terms, meter, workers, keep=keep)
    if score.findings:
        return Answer(score.findings, score.stop, score.notes, score.tests)
    estimate = terms.shared(score.estimate)
    only_answer = question.view.only_answer(score.answers, favoured=score.favoured)
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
    if terms.exact is False or (terms.exact is None and terms.interval is not None):
        return None
    if question.view.subject.adapter.expensive:
        small = SMALL_EXPENSIVE
    else:
        small = SMALL
    points = part(question.space, question.names, int(min(small, meter.left)))
    if points is None and terms.exact:
        points = whole(question.space, question.names, MOST_ASSIGNMENTS)
        if len(points) > meter.left:
            raise UsageError(
                f"exact: {len(points):,} inputs are to be asked, but {int(meter.left):,} queries"
                " are left"
            )
    if points is None:
        return None
    meter.report(question.task, None, f"all {len(points):,} inputs")
    meter.queries += len(points)
    population = sampler.population(question.space)
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
    cost = len(sampler.points(question.space)) * question.per_row(sampler)
    # Neither a sample nor twins among the rows can be drawn from.
    must_be_all = sampler.twins == "rows" or sampler.sample_of is not None
    if question.view.subject.adapter.expensive:
        most = MOST_ROWS_EXPENSIVE
    else:
        most = MOST_ROWS
    may_be_all = terms.exact is None and terms.interval is None and cost <= most
    if must_be_all or terms.exact or may_be_all:
        return _rows(question, terms, meter, sampler, cost, keep=keep)
    return None


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
