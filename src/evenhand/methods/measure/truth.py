"""measure with a truth: the error rates of the software by group, among given rows."""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any

import numpy as np

from evenhand.methods.measure import messages
from evenhand.population.samplers import Uniform, is_rows
from evenhand.report.definitions import spending_notes
from evenhand.results.result import Result
from evenhand.runtime.budget import Meter, Spent, checked_budget
from evenhand.runtime.errors import DataError, UsageError, clip, nearest
from evenhand.scores.groups import Groups
from evenhand.scores.rates.metric_table import (
    MetricTable,
    RateLimits,
    counts_by,
    true_outcomes,
)
from evenhand.space.frames.reading import eager
from evenhand.statistics.error_rates import rates_of, reported
from evenhand.statistics.estimate import StopReason, check_limit
from evenhand.statistics.intervals import check_level
from evenhand.statistics.spending import Spending
from evenhand.subject.answers_seen import different
from evenhand.subject.view import outcome_labels, views_for

if TYPE_CHECKING:
    from collections.abc import Sequence

    from numpy.typing import NDArray

    from evenhand.population.rows import Rows
    from evenhand.population.samplers import Sampler
    from evenhand.results.evidence import Finding
    from evenhand.runtime.budget import Budget
    from evenhand.space.feature import Points
    from evenhand.space.space import Space
    from evenhand.subject.subject import Subject
    from evenhand.subject.view import View

MOST_COMPARED = 1000
"""The most groups that are compared."""


@dataclass(frozen=True)
class ErrorTerms:
    """What error rates are asked with: the truth, the rates that are judged, and how."""

    truth: Any
    truth_positive: Any
    metric: Any
    limit: float | None
    level: float
    budget: Budget | None
    seed: int

    def has_truth(self, kind: str) -> bool:
        """Return whether error rates are asked for; refuse what goes with them alone."""
        if self.truth is not None and kind != "group":
            shown = clip(repr(self.truth))
            raise UsageError(messages.TRUTH_OF_CAUSAL_SCORES.format(truth=shown))
        is_other = self.metric != "selection_rate" or self.truth_positive is not None
        if self.truth is None and is_other:
            shown = clip(repr(self.metric))
            raise UsageError(messages.METRIC_WITHOUT_TRUTH.format(metric=shown))
        return self.truth is not None


def affordable_points(sampler: Rows, space: Space, meter: Meter) -> Points:
    """Return given rows as points; refuse more of them than the budget has queries left."""
    points = sampler.points(space)
    if len(points) > meter.left:
        raise UsageError(
            messages.TOO_FEW_QUERIES.format(
                rows=f"{len(points):,}", left=f"{int(meter.left):,}"
            )
        )
    return points


def error_rates(
    tested: Subject,
    sets: Sequence[tuple[str, ...]],
    sampler: Sampler,
    terms: ErrorTerms,
) -> Result:
    """Return the error rates of the software among given rows, one table for each set."""
    check_level(terms.level)
    if terms.limit is not None:
        check_limit(terms.limit)
    judged = rates_of(terms.metric, truth=True)
    if not is_rows(sampler):
        raise UsageError(messages.TRUTH_NEEDS_ROWS)
    executed_before = tested.executed
    meter = Meter(checked_budget(terms.budget), None)
    points = affordable_points(sampler, tested.space, meter)
    values = truth_values(sampler, terms.truth)
    views = views_for(tested, "group")
    metrics = reported(judged, truth=True)
    exact = sampler.sample_of is None
    tables_of_rates = len(sets) * len(views)
    limits = RateLimits(judged, terms.limit)
    families = 2 * tables_of_rates * len(metrics)
    spending = Spending(tables_of_rates * limits.number, families)
    findings: list[Finding] = []
    tables = []
    notes: list[str] = []
    meter.queries += len(points)
    for view in views:
        decided, only_answer = _decided(view, points)
        one_answer = view.answer_fields(only_answer, favoured=bool(decided.any()))
        truths = _truths(values, view, terms)
        for names in sets:
            groups = Groups(tested.space, names)
            table = _table(groups, points, truths, decided, sampler, metrics)
            level = 1.0 if exact else terms.level
            table = replace(table, level=level, spending=spending, limits=limits)
            for finding in table.findings():
                named = replace(finding, output=view.title, key="")
                findings.append(replace(named, **one_answer))
            tables.append({**table.to_dict(), "output": view.title})
    unknown = int((truths == 2).sum())
    if unknown:
        notes.append(
            messages.ROWS_WITHOUT_TRUTH.format(
                lost=f"{unknown:,}", rows=f"{len(points):,}", truth=_name(terms.truth)
            )
        )
    if not exact:
        notes += spending_notes(spending, terms.level)
    executed = tested.executed - executed_before
    measured = ("measure", findings, terms.seed)
    return Result(
        *measured,
        Spent(meter.queries, executed, meter.seconds),
        StopReason.ENUMERATED,
        tested.space.to_dict(),
        notes,
        details={"rates": tables, "rows": len(points)},
        outcome_labels=outcome_labels(tested),
    )


def _name(truth: Any) -> str:
    if isinstance(truth, str):
        return truth
    return "truth"


def truth_values(sampler: Rows, truth: Any) -> list[Any]:
    """Return the true outcome of each row: a column of the rows, or values that were given."""
    if isinstance(truth, str):
        return _column(sampler.frame, truth)
    values = list(truth)
    if len(values) != len(sampler):
        raise UsageError(
            messages.TRUTH_OF_OTHER_LENGTH.format(
                values=f"{len(values):,}", rows=f"{len(sampler):,}"
            )
        )
    return values


def _column(frame: Any, name: str) -> list[Any]:
    """Return a column of rows, which are a frame or a list of dictionaries."""
    if isinstance(frame, list):
        columns = list(frame[0]) if frame else []
        values = [record.get(name) for record in frame]
    else:
        table = eager(frame)
        columns = table.columns
        if name in columns:
            values = table[name].to_list()
        else:
            values = []
    if name not in columns:
        raise DataError(
            messages.TRUTH_NOT_A_COLUMN.format(
                truth=clip(repr(name)), choices=nearest(name, columns)
            )
        )
    return values


def _decided(view: View, points: Any) -> tuple[NDArray[np.bool_], Any]:
    """Return who gets the favourable outcome, and the only answer where there is but one."""
    if not view.counts:
        raise UsageError(messages.ERROR_RATES_OF_SCORES.format(output=view.favoured))
    outcomes = view.decide(points)
    favoured = view.favourable(outcomes)
    only_answer = view.only_answer(different(outcomes), favoured=bool(favoured.any()))
    return favoured, only_answer


def _truths(values: Sequence[Any], view: View, terms: ErrorTerms) -> NDArray[np.intp]:
    """Return what each row should get: 0, 1 where favourable, or 2 where that is not known."""
    truths = true_outcomes(values, view, terms.truth_positive)
    if not (truths == 1).any():
        named = terms.truth_positive
        if named is None:
            named = view.positive
        raise DataError(
            messages.TRUTH_NEVER_FAVOURABLE.format(
                truth=repr(_name(terms.truth)),
                favourable=clip(repr(named)),
                choices=nearest(named, list(dict.fromkeys(values))),
            )
        )
    return truths


def _table(
    groups: Groups,
    points: Any,
    truths: NDArray[np.intp],
    decided: NDArray[np.bool_],
    sampler: Rows,
    metrics: tuple[str, ...],
) -> MetricTable:
    """Return the rates of all groups; those without a row are left out of a whole population."""
    places = groups.of(points)
    rows = counts_by(places, len(groups), truths, decided)
    counts = rows
    if sampler.weights is not None:
        counts = counts_by(places, len(groups), truths, decided, sampler.weights)
    with_rows = rows.sum(axis=(1, 2)) > 0
    shown = np.flatnonzero(with_rows)
    if sampler.sample_of is not None:
        # Somebody of a group that nobody was seen of may be treated in any way.
        possible = ~Uniform().empty(groups)
        shown = np.flatnonzero(with_rows | possible)
    if len(shown) > MOST_COMPARED:
        raise UsageError(
            messages.TOO_MANY_GROUPS_OF_ROWS.format(
                features=" and ".join(groups.names),
                groups=f"{len(shown):,}",
                most=f"{MOST_COMPARED:,}",
            )
        )
    return MetricTable(
        groups.names,
        [groups.label(group) for group in shown.tolist()],
        counts[shown],
        metrics,
        level=1.0,
        population=sampler.population(groups.space),
        rows=rows[shown],
    )
