"""measure of numbers with a truth: means, medians and errors by group, among given rows."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np

from evenhand.methods.measure import messages
from evenhand.methods.measure.truth import affordable_points, truth_values
from evenhand.population.samplers import is_rows
from evenhand.report.definitions import spending_notes
from evenhand.results.result import Result
from evenhand.runtime.budget import Meter, Spent, checked_budget
from evenhand.runtime.errors import DataError, UsageError, clip
from evenhand.scores.groups import Groups
from evenhand.scores.numbers.groups import (
    OF_ERRORS,
    OF_OUTCOMES,
    Assurance,
    NumberGroups,
    limit_in_units,
    limit_note,
)
from evenhand.scores.numbers.recorded import judged_of
from evenhand.statistics.estimate import StopReason
from evenhand.statistics.intervals import check_level
from evenhand.statistics.spending import Spending
from evenhand.subject.outcome_scale import details_of, spread_of
from evenhand.subject.view import outcome_labels, views_of

if TYPE_CHECKING:
    from collections.abc import Sequence

    from evenhand.methods.measure.truth import ErrorTerms
    from evenhand.population.rows import Rows
    from evenhand.population.samplers import Sampler
    from evenhand.results.evidence import Finding
    from evenhand.space.feature import Points
    from evenhand.statistics.intervals import Floats
    from evenhand.subject.subject import Subject
    from evenhand.subject.view import View


def gives_numbers(subject: Subject) -> bool:
    """Return whether every output of software is a number, of which none is favourable."""
    return all(meaning.measured for meaning in subject.meanings.values())


def number_errors(
    tested: Subject,
    sets: Sequence[tuple[str, ...]],
    sampler: Sampler,
    terms: ErrorTerms,
    units: str,
) -> Result:
    """Return how far apart groups of given rows are in their outcomes and in their errors."""
    check_level(terms.level)
    judged = judged_of(terms.metric, truth=True)
    if not is_rows(sampler):
        raise UsageError(messages.TRUTH_NEEDS_ROWS)
    executed_before = tested.executed
    meter = Meter(checked_budget(terms.budget), None)
    points = affordable_points(sampler, tested.space, meter)
    truth = _numbers(truth_values(sampler, terms.truth))
    known = np.isfinite(truth)
    notes = _unknown_notes(int((~known).sum()), len(points), terms.truth)
    meter.queries += len(points)
    findings: list[Finding] = []
    views = views_of(tested)
    spending = _spending(terms, len(sets) * len(views), len(judged))
    for view in views:
        outcomes = np.asarray(view.decide(points), dtype=np.float64)
        scale = view.meaning.scale
        spread = spread_of(outcomes) if scale is None else scale.spread
        limit = limit_in_units(terms.limit, units, spread)
        notes += limit_note(terms.limit, units, spread)
        for names in sets:
            groups = _grouped(view, names, sampler, points, outcomes, truth)
            assurance = _assurance(terms, sampler, view, spending)
            for statistic in groups.statistics:
                held = limit if statistic in judged else None
                findings.append(groups.finding(statistic, assurance, held))
    if sampler.sample_of is not None:
        notes += spending_notes(spending, terms.level)
    return Result(
        "measure",
        findings,
        terms.seed,
        Spent(meter.queries, tested.executed - executed_before, meter.seconds),
        StopReason.ENUMERATED,
        tested.space.to_dict(),
        list(dict.fromkeys(notes)),
        outcome_labels=outcome_labels(tested),
        details={"rows": len(points), **details_of(tested)},
    )


def _spending(terms: ErrorTerms, sets: int, judged: int) -> Spending:
    """Return where the error goes: to the statistics with a limit, else to all of them."""
    limits = 0 if terms.limit is None else sets * judged
    return Spending(limits, sets * len((*OF_OUTCOMES, *OF_ERRORS)))


def _assurance(
    terms: ErrorTerms,
    sampler: Rows,
    view: View,
    spending: Spending,
) -> Assurance:
    exact = sampler.sample_of is None
    population = sampler.population(view.subject.space)
    level = 1.0 if exact else terms.level
    return Assurance(level, population=population, exact=exact, spending=spending)


def _grouped(
    view: View,
    names: tuple[str, ...],
    sampler: Rows,
    points: Points,
    outcomes: Floats,
    truth: Floats,
) -> NumberGroups:
    """Return outcomes and their errors by the groups of a set of features."""
    groups = Groups(view.subject.space, names)
    ids = groups.of(points)
    inside = (ids >= 0) & np.isfinite(truth)
    members, group = np.unique(ids[inside], return_inverse=True)
    is_whole = sampler.sample_of is None and sampler.weights is not None
    if is_whole and sampler.weights is not None:
        weights = sampler.weights[inside]
    else:
        weights = None
    return NumberGroups(
        names,
        [groups.label(member) for member in members.tolist()],
        outcomes[inside],
        group,
        errors=(outcomes - truth)[inside],
        weights=weights,
        outcome=view.name or "outcome",
        output=view.title,
    )


def _numbers(values: Sequence[Any]) -> Floats:
    """Return true outcomes as numbers, NaN where they are missing."""
    found = [np.nan if value is None else value for value in values]
    try:
        return np.array(found, dtype=np.float64)
    except (TypeError, ValueError):
        other = next(value for value in found if isinstance(value, str))
        raise DataError(
            messages.TRUTH_NOT_NUMBERS.format(value=clip(repr(other)))
        ) from None


def _unknown_notes(unknown: int, rows: int, truth: Any) -> list[str]:
    if not unknown:
        return []
    name = truth if isinstance(truth, str) else "truth"
    return [
        messages.ROWS_WITHOUT_TRUTH.format(
            lost=f"{unknown:,}", rows=f"{rows:,}", truth=name
        )
    ]
