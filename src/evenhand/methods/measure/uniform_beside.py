"""The score over all inputs beside that over real rows, where it costs next to nothing."""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING, Any

from evenhand.population.samplers import Uniform
from evenhand.runtime.budget import Budget, Meter
from evenhand.runtime.errors import SpaceError
from evenhand.scores.answer import ask

if TYPE_CHECKING:
    from collections.abc import Sequence

    from evenhand.results.evidence import Finding
    from evenhand.runtime.workers import Workers
    from evenhand.scores.question import Question, Terms
    from evenhand.subject.subject import Subject

QUERIES = 100_000
"""The most inputs that are asked for each set of features."""


def is_cheap(tested: Subject, sampler: Any, terms: Terms, budget: Budget | None) -> bool:
    """Return whether all inputs are asked too: nobody chose, and no budget is to be kept."""
    by_default = sampler is None and tested.space.rows is not None
    bounded = budget is not None and budget != Budget()
    as_usual = terms.exact is None and terms.interval is None
    return by_default and as_usual and not bounded and not tested.adapter.expensive


def with_uniform(
    findings: Sequence[Finding],
    questions: Sequence[Question],
    terms: Terms,
    meter: Meter,
    workers: Workers,
) -> list[Finding]:
    """Return findings, each with the same score over all inputs, uniformly."""
    over_all = replace(terms, sampler=Uniform())
    estimates = {}
    for question in questions:
        part = Meter(Budget(queries=QUERIES))
        try:
            answer = ask(question, over_all, part, workers)
        except SpaceError:  # constraints leave so few inputs that they cannot be drawn
            continue
        meter.queries += part.queries
        for finding in answer.findings:
            estimates[finding.key] = finding.estimate.described()
    found = []
    for finding in findings:
        uniform = None if finding.by_construction else estimates.get(finding.key)
        found.append(replace(finding, uniform=uniform))
    return found
