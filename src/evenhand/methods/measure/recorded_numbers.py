"""measure_log of outcomes that are numbers: means, medians and errors by group."""

from __future__ import annotations

import time
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any

from evenhand.methods.measure import messages
from evenhand.methods.measure.recorded_groups import check_groups
from evenhand.population.cuts import cut_columns
from evenhand.population.recorded import (
    check_shares,
    check_truth,
    column_sets,
    columns_of_sets,
)
from evenhand.report.definitions import spending_notes
from evenhand.results.result import Result
from evenhand.runtime.budget import Spent
from evenhand.runtime.errors import UsageError, clip
from evenhand.scores.numbers.recorded import RecordedNumbers, read_columns
from evenhand.statistics.estimate import StopReason

if TYPE_CHECKING:
    from collections.abc import Mapping

    from evenhand.population.counting.counter import RowCounter
    from evenhand.runtime.label_text import Words
    from evenhand.scores.numbers.recorded import RecordedTerms


@dataclass(frozen=True, slots=True)
class NumberLog:
    """Which columns of recorded numbers are compared, and by what."""

    outcome: str
    over: Any
    truth: str | None
    truth_positive: Any
    groups: Mapping[str, Any]
    bins: Mapping[str, Any]
    least_ratio: float | None
    words: Mapping[str, Words]

    def refuse_rates(self) -> None:
        """Refuse what only rates can be held against."""
        for option in ("least_ratio", "truth_positive"):
            value = getattr(self, option)
            if value is not None:
                raise UsageError(
                    messages.OPTION_OF_RATES.format(
                        option=option, value=clip(repr(value)), outcome=repr(self.outcome)
                    )
                )


def measure_numbers(
    counter: RowCounter, log: NumberLog, terms: RecordedTerms, seed: int
) -> Result:
    """Return how far apart groups are in their mean and median outcome, and in its errors."""
    start = time.monotonic()
    log.refuse_rates()
    allowed = {"level": messages.ALLOWED_LEVEL, "support": messages.ALLOWED_SUPPORT}
    check_shares(allowed, (), level=terms.level, support=terms.support)
    schema = counter.table.collect_schema()
    sets = column_sets(log.over, log.outcome, list(schema))
    names = list(columns_of_sets(sets))
    check_truth(log.truth, None, log.outcome, names, list(schema))
    check_groups(log.groups, log.bins, names)
    table, cuts = cut_columns(counter.table, log.bins, names)
    uncut = []
    for name in names:
        if name not in cuts and schema[name].is_numeric():
            uncut.append(name)
    counter.check_variety(uncut)
    columns = read_columns(
        table, names, log.outcome, truth=log.truth, cuts=cuts, declared=log.groups
    )
    columns = replace(columns, words=log.words)
    described = replace(terms, population=messages.RECORDED_DECISIONS)
    recorded = RecordedNumbers(columns, sets, described)
    findings = recorded.findings()
    return Result(
        "measure_log",
        findings,
        seed,
        Spent(0, 0, time.monotonic() - start),
        StopReason.ENUMERATED,
        columns.space.to_dict(),
        [*recorded.notes, *spending_notes(recorded.spending(), terms.level)],
        details=recorded.details,
    )
