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
from evenhand.space.space import MOST_ASSIGNMENTS
from evenhand.statistics.estimate import StopReason

if TYPE_CHECKING:
    from collections.abc import Sequence

    from evenhand.population.rows import Rows
    from evenhand.runtime.budget import Meter
    from evenhand.runtime.workers import Workers
    from evenhand.scores.question import Question, Score, Terms
    from evenhand.scores.test_suite import Tests
    from evenhand.space.feature import Points

MOST_ROWS, MOST_ROWS_EXPENSIVE = 2_000_000, 10_000
"""Given rows are all asked where that takes no more inputs than this; fewer where an answer is
expensive.
"""


@dataclass(frozen=True, slots=True)
class Answer:
    """A finding, why it ended there, and the tests behind it where they were to be kept."""

    finding: Finding
    stop: StopReason
    notes: Sequence[str] = ()
    tests: Sequence[Tests] = ()


def ask(
    question: Question, terms: Terms, meter: Meter, workers: Workers, *, keep: bool = False
) -> Answer:
    """Answer the question within a budget; `keep` the tests."""
    score = _whole(question, terms, meter, keep=keep) or question.sampled(
        terms, meter, workers, keep=keep
    )
    estimate = terms.said(score.estimate)
    claim = question.claim(estimate, score.groups)
    finding = Finding(
        claim,
        question.names,
        estimate,
        terms.limit,
        tuple(score.cases),
        score.groups,
        output=question.view.title,
        score=question.kind,
    )
    return Answer(finding, score.stop, score.notes, score.tests)


def _whole(question: Question, terms: Terms, meter: Meter, *, keep: bool) -> Score | None:
    """Answer from the whole population, or all rows of a sample, where it is worth that; else None."""
    sampler = terms.sampler
    if is_rows(sampler):
        points = sampler.points(question.space)
        cost = len(points) * question.per_row(sampler)
        forced = sampler.twins == "rows" or sampler.sample_of is not None
        if terms.exact is False and sampler.twins == "rows":
            raise UsageError(
                "twins = 'rows' compares given rows with each other, all of them; leave out exact ="
                " False"
            )
        most = MOST_ROWS_EXPENSIVE if question.view.subject.adapter.expensive else MOST_ROWS
        if (
            forced
            or terms.exact
            or (terms.exact is None and terms.interval is None and cost <= most)
        ):
            return _rows(question, terms, meter, points, sampler, cost, keep=keep)
        return None
    if not isinstance(sampler, Uniform):
        if terms.exact:
            raise UsageError(
                f"exact: {sampler.population(question.space)} is sampled, not enumerated; leave out"
                " exact"
            )
        return None
    if terms.exact is False or (terms.exact is None and terms.interval is not None):
        return None
    small = SMALL_EXPENSIVE if question.view.subject.adapter.expensive else SMALL
    found = part(question.space, question.names, int(min(small, meter.left)))
    if found is None and terms.exact:
        found = whole(question.space, question.names, MOST_ASSIGNMENTS)
        if len(found) > meter.left:
            raise UsageError(
                f"exact: {len(found):,} inputs are to be asked, but {int(meter.left):,} queries are"
                " left"
            )
    if found is None:
        return None
    meter.report(question.task, None, f"all {len(found):,} inputs")
    meter.queries += len(found)
    return question.enumerated(found, sampler.population(question.space), meter, keep=keep)


def _rows(
    question: Question,
    terms: Terms,
    meter: Meter,
    points: Points,
    sampler: Rows,
    cost: int,
    *,
    keep: bool,
) -> Score | None:
    cut = cost > meter.left
    if cut:
        if sampler.sample_of is None and sampler.twins == "domain" and not terms.exact:
            return None
        # Files are often sorted, so what the budget allows is taken from all over the rows.
        order = stream(terms.seed, *question.stream, "rows").permutation(len(points))
        points = np.asfortranarray(points[np.sort(order[: int(meter.left * len(points) // cost)])])
        if sampler.sample_of is None or not len(points):
            raise UsageError(
                f"{cost:,} inputs are to be asked, but the budget leaves {int(meter.left):,}"
                " queries"
            )
    score = question.tallied(terms, points, sampler, meter, keep=keep)
    return replace(score, stop=StopReason.QUERIES) if cut else score
