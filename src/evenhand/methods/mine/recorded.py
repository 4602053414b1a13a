"""mine_log: which readable subgroups did decisions that are recorded treat differently?"""

from __future__ import annotations

import time
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

import numpy as np

from evenhand.methods.mine import MINE_LOG, messages
from evenhand.methods.mine.claims.correction import check_correction
from evenhand.methods.mine.claims.reporting import MiningPart, rank, write_findings
from evenhand.methods.mine.claims.scores import (
    LABELS,
    NUMBERS,
    SCORES,
    need_truth,
    scores_of,
)
from evenhand.methods.mine.claims.words import OutcomeWords
from evenhand.methods.mine.logs.cells import MOST_READ, distinct_at_first
from evenhand.methods.mine.logs.complete import CompleteRows
from evenhand.methods.mine.logs.counted import CountedLog
from evenhand.methods.mine.logs.sums import NumberSums
from evenhand.methods.mine.rule_sets import (
    BINS,
    Mining,
    RuleSetOptions,
    Treated,
    check_control,
    check_terms,
    levels_taken,
)
from evenhand.population.log_labels import words_of_log, words_of_outcome
from evenhand.population.logs.on_logs import takes_logs
from evenhand.population.recorded import (
    MOST_VALUES,
    favourable_of,
    label_of,
    seen,
    table_of,
    true_label,
)
from evenhand.results.result import Result
from evenhand.runtime.budget import Spent
from evenhand.runtime.errors import DataError, UsageError, clip, nearest
from evenhand.runtime.label_text import shown
from evenhand.scores.numbers.recorded import are_numbers
from evenhand.scores.numbers.unit_scale import UnitLimit, UnitScale
from evenhand.space.feature_sets import asks_all, sets_of, spelled_out
from evenhand.statistics.estimate import StopReason
from evenhand.subject.outcome_meaning import one_answer

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from numpy.typing import NDArray

    from evenhand.methods.mine.findings import Entry, RankedStories
    from evenhand.methods.mine.logs.counted import KindsOfRows
    from evenhand.methods.mine.rule_sets import Bins
    from evenhand.results.evidence import Case, Finding
    from evenhand.runtime.label_text import Words
    from evenhand.space.feature import Floats, Points
    from evenhand.space.feature_sets import Over

    Flags = NDArray[np.bool_]

POPULATION = messages.DECISIONS_LIKE_RECORDED


@MINE_LOG.options.checked
@takes_logs
def mine_log(
    frame: Any,
    *,
    outcome: str,
    over: Over | None = None,
    positive: Any = None,
    truth: str | None = None,
    truth_positive: Any = None,
    score: str | Sequence[str] = "rate",
    support: float = 0.05,
    complement: float | None = None,
    bins: Bins = BINS,
    binning: str = "width",
    levels: int | None = None,
    depth: int | None = None,
    limit: float | None = None,
    units: str = "spread",
    level: float = 0.95,
    control: str = "family",
    correction: str | None = None,
    top: int = 10,
    labels: Mapping[str, Mapping[Any, str]] | None = None,
    seed: int = 0,
) -> Result:
    """Find readable subgroups that recorded decisions treated differently from everyone else.

    Subgroups are scored as in Definition 4.1 of TestSGD. No software is asked. All else is as for
    `mine`, with the rows as they are.

    Parameters
    ----------
    frame
        Any dataframe that narwhals reads, lazy ones too. Its own engine counts the rows by the
        columns that are named, and only the counts are read. A path, an address or what `open_log`
        returns is a log that is read where it lies.
    outcome, positive
        The column of decisions and the favourable one of them; by default 1 or True.
    truth, truth_positive
        A column of what the decisions should have been, for all scores but ``"rate"`` and
        ``"mean"``, and which of its values stands for the favourable outcome; by default the same
        as `positive`, or 1 where outcomes are probabilities.
    over
        The columns to form rules of; ``"all"`` is every column but the outcome and the truth,
        unless one has that name, and conditions then name one level at a time.
    bins
        As for `mine`; where numbers or dates are cut by column, points beyond all rows are left
        out, and dates may be cut by ``"year"`` or ``"month"``.
    labels
        What people call the values of a column, such as ``{"sex": {0: "female", 1: "male"}}``; that
        of the outcome has labels for outcomes. Rules and claims then say so.
    seed
        The seed of the resampling of max-t; nothing else is drawn here.

    Returns
    -------
    Result
        A finding for each reported rule set, worst first, and a last one that bounds all others.

    Raises
    ------
    UsageError
        If an option is not valid, or if `over` names no columns.
    DataError
        If a column is missing, if no row is complete, or if no rule set covers enough rows.
    SpaceError
        If there are more rule sets than can be looked at.

    See Also
    --------
    mine : The same for software that can be asked.

    Notes
    -----
    See docs/how-to/recorded-decisions.md.

    Examples
    --------
    >>> import pandas as pd
    >>> loans = pd.DataFrame({"sex": ["F", "M"] * 200, "age": [20] * 200 + [60] * 200})
    >>> loans["granted"] = ((loans["sex"] == "M") | (loans["age"] < 40)).astype(int)
    >>> print(mine_log(loans, outcome="granted", over=["sex", "age"]).worst.about)
    sex F, age at least 56
    """
    start = time.monotonic()
    table = table_of(frame)
    columns = list(table.collect_schema())
    levels, notes_on_levels = levels_taken(levels, every=asks_all(over, columns))
    options = RuleSetOptions(support, complement, bins, binning, levels, depth)
    limits = UnitLimit(limit, units)
    check_terms(level, limits, top)
    check_control(control)
    check_correction(correction, control)
    scores = scores_of(score, truth)
    sets = _sets(over, outcome, truth, columns)
    words = words_of_log(table, labels)
    favourable = (positive, truth, truth_positive)
    columns_of = _LogColumns(outcome, *favourable, words.get(outcome, {}))
    rows = CompleteRows.of(table, _names(sets), columns_of.needed)
    log = _counted_log(rows, sets, options, columns_of, scores).named(words)
    parts = _parts(log, sets, _compared_kinds(log, columns_of, scores))
    terms: Any = {"level": level, "limits": limits, "top": top, "seed": seed}
    ranked = rank(parts, control=control, correction=correction, **terms)
    notes = [*notes_on_levels, *rows.notes, *log.notes, *_notes(parts, limits)]
    findings, entries = _written(ranked, one_answer(log.outcomes(outcome), positive))
    spent = Spent(0, 0, time.monotonic() - start)
    return Result(
        "mine_log",
        findings,
        seed,
        spent,
        StopReason.ENUMERATED,
        log.space.to_dict(),
        list(dict.fromkeys(notes)),
        details={"mine": entries},
        outcome_labels=words_of_outcome(words, outcome),
    )


def _written(
    ranked: Sequence[RankedStories], only_answer: dict[str, Any]
) -> tuple[list[Finding], list[Entry]]:
    """Return the findings, which have no cases, and what the details hold of each mining."""
    no_cases: list[list[tuple[Case, ...]]] = [[()] * len(mined.stories) for mined in ranked]
    return write_findings(ranked, no_cases, [only_answer] * len(ranked))


def _notes(parts: Sequence[MiningPart], limits: UnitLimit) -> list[str]:
    """Return the notes of all minings, and how a limit was understood."""
    notes = []
    for part in parts:
        notes += part.mining.notes
    return notes + limits.notes([part.mining.treated.scale for part in parts])


def _parts(
    log: CountedLog,
    sets: Sequence[tuple[str, ...]],
    compared: Sequence[Sequence[tuple[OutcomeWords, Treated]]],
) -> list[MiningPart]:
    """Mine each score, and of each score every set of columns."""
    parts = []
    for place in range(len(compared[0])):
        for several, compared_of_set in zip(sets, compared, strict=True):
            words, people = compared_of_set[place]
            own_options = log.bins.for_people(log.space, several, people)
            mining = Mining.of(log.space, several, people, own_options)
            parts.append(MiningPart(mining, words))
    return parts


@dataclass(frozen=True, slots=True)
class _LogColumns:
    """The columns of a log, and the labels of favourable outcomes in them."""

    outcome: str
    positive: Any
    truth: str | None
    truth_positive: Any
    outcome_words: Words = field(default_factory=dict)
    """What people call the outcomes."""

    @property
    def needed(self) -> list[str]:
        """The columns that every row must have."""
        return [self.outcome, self.truth] if self.truth else [self.outcome]


def _counted_log(
    rows: CompleteRows,
    sets: Sequence[tuple[str, ...]],
    options: RuleSetOptions,
    log: _LogColumns,
    scores: Sequence[str],
) -> CountedLog:
    """Return a log as counts, or of outcomes that are numbers as sums or row by row."""
    sums = None
    is_number = log.positive is None and _holds_numbers(rows, log.outcome)
    if is_number:
        rows = rows.without_cells()
    if is_number and rows.rows > MOST_READ:
        _check_scores_of_numbers(scores)
        truth = log.truth if need_truth(scores) else None
        sums = NumberSums.of(rows, log.outcome, truth)
    return CountedLog.of(
        rows,
        sets,
        options,
        parts=tuple(scores) != ("rate",),
        whole=is_number and sums is None,
        sums=sums,
    )


def _holds_numbers(rows: CompleteRows, outcome: str) -> bool:
    """Return whether outcomes are numbers on a scale; of many rows the first may show it."""
    dtype = rows.dtype(outcome)
    if dtype.is_numeric():
        kinds, _ = distinct_at_first(rows.counted, [outcome])
        if kinds > MOST_VALUES:
            return True
    return are_numbers(rows.counted, outcome, dtype)


def _check_scores_of_numbers(scores: Sequence[str]) -> None:
    """Refuse scores of outcomes that are favourable or not, where these are numbers."""
    for name in scores:
        SCORES[name].check(NUMBERS)


def _compared_kinds(
    counted: CountedLog, log: _LogColumns, scores: Sequence[str]
) -> list[list[tuple[OutcomeWords, Treated]]]:
    """Return for each set of columns who is compared in each score."""
    compared: list[list[tuple[OutcomeWords, Treated]]] = []
    for place, kinds in enumerate(counted.kinds):
        if place and kinds is counted.kinds[0]:
            compared.append(compared[0])
            continue
        points = kinds.points(counted.space, counted.bins.binned)
        if counted.sums is None:
            compared.append(_compared(kinds.frame, points, log, scores, kinds.counts))
        else:
            compared.append(_compared_sums(counted.sums, points, kinds, log, scores))
    return compared


def _compared_sums(
    sums: NumberSums,
    points: Points,
    kinds: KindsOfRows,
    log: _LogColumns,
    scores: Sequence[str],
) -> list[tuple[OutcomeWords, Treated]]:
    """Return who is compared by outcomes that are numbers, of which there are sums."""
    shares, squares = sums.means(kinds)
    treated = Treated(
        points,
        shares,
        POPULATION,
        "recorded",
        weights=kinds.counts,
        scale=sums.scale,
        counted=True,
        squares=squares,
    )
    good = _truly_favourable(kinds.frame, log, 1, scores)
    return _compared_means(sums.outcome, treated, good, scores)


def _compared(
    kept: Any,
    points: Points,
    log: _LogColumns,
    scores: Sequence[str],
    counts: Floats | None = None,
) -> list[tuple[OutcomeWords, Treated]]:
    """Return who is compared in each score: how often they are favoured, or what they get.

    Where each of them stands for several rows, `counts` says for how many.
    """
    outcome = log.outcome
    is_number = log.positive is None and are_numbers(kept, outcome, kept[outcome].dtype)
    if is_number:
        return _compared_numbers(kept, points, log, scores)
    for name in scores:
        SCORES[name].check(LABELS)
    favoured = favourable_of(kept.select(outcome).unique(), outcome, log.positive)
    decided = _favourable(kept, outcome, favoured).astype(float)
    good = _truly_favourable(kept, log, favoured, scores)
    is_counted = counts is not None
    treated = Treated(
        points, decided, POPULATION, "recorded", weights=counts, counted=is_counted
    )
    compared = []
    for name in scores:
        words = OutcomeWords(str(shown(favoured, log.outcome_words)), score=name)
        compared.append((words, SCORES[name].people(treated, good)))
    return compared


def _compared_numbers(
    kept: Any, points: Points, log: _LogColumns, scores: Sequence[str]
) -> list[tuple[OutcomeWords, Treated]]:
    """Return who is compared in each score of numbers: their means, or how far these are off."""
    _check_scores_of_numbers(scores)
    numbers = kept[log.outcome].to_numpy().astype(np.float64)
    scale, shares = UnitScale.of(numbers)
    treated = Treated(points, shares, POPULATION, "recorded", scale=scale)
    # The favourable outcome of probabilities is the one that they are of.
    good = _truly_favourable(kept, log, 1, scores)
    return _compared_means(log.outcome, treated, good, scores)


def _compared_means(
    outcome: str, treated: Treated, good: Flags, scores: Sequence[str]
) -> list[tuple[OutcomeWords, Treated]]:
    """Return who is compared in each score of numbers, given whose true outcome is good."""
    compared = []
    for name in scores:
        words = OutcomeWords(outcome, score=name, counts=False, numbers=True)
        compared.append((words, SCORES[name].people(treated, good)))
    return compared


def _true_label(kept: Any, truth: str, given: Any, favoured: Any) -> Any:
    """Return what stands for the favourable outcome in the column of truth."""
    cells = kept.select(truth).unique()
    if given is None and favoured not in seen(cells, truth):
        is_binary = set(seen(cells, truth)) <= {0, 1}
        return 1 if is_binary else favoured
    return favoured if given is None else true_label(cells, truth, given, favoured)


def _names(sets: Sequence[tuple[str, ...]]) -> list[str]:
    """Return the columns of all sets, each once."""
    names: list[str] = []
    for several in sets:
        names += several
    return list(dict.fromkeys(names))


def _sets(
    over: Any, outcome: str, truth: str | None, columns: list[str]
) -> list[tuple[str, ...]]:
    """Return the sets of columns that rules are formed of, checked."""
    _check_column("outcome", outcome, columns)
    if truth is not None:
        _check_column("truth", truth, columns)
    if truth == outcome:
        raise UsageError(messages.TRUTH_IS_OUTCOME.format(truth=repr(truth)))
    others = [name for name in columns if name not in (outcome, truth)]
    try:
        sets = sets_of(spelled_out(over or (), others))
    except TypeError:
        sets = []
    if not sets or not all(sets):
        nothing = clip(repr(over))
        choices = nearest(over, others)
        raise UsageError(messages.OVER_NAMES_NOTHING.format(over=nothing, choices=choices))
    before: list[set[str]] = []
    for names in sets:
        _check_set(names, others)
        if set(names) in before:
            raise UsageError(messages.OVER_SET_TWICE.format(names=", ".join(names)))
        before.append(set(names))
    return sets


def _check_column(option: str, name: str, columns: list[str]) -> None:
    """Refuse an option that names a column which is not there."""
    if name not in columns:
        raise DataError(
            messages.NOT_A_COLUMN.format(
                option=option,
                name=clip(repr(name)),
                choices=nearest(name, columns),
            )
        )


def _check_set(names: tuple[str, ...], columns: list[str]) -> None:
    """Refuse a set of columns with an unknown one, or with one of them twice."""
    for name in names:
        if name not in columns:
            unknown = clip(repr(name))
            choices = nearest(name, columns)
            raise DataError(
                messages.OVER_NOT_A_COLUMN.format(name=unknown, choices=choices)
            )
    if len(set(names)) < len(names):
        twice = clip(repr(names))
        raise UsageError(messages.OVER_COLUMN_TWICE.format(names=twice))


def _favourable(kept: Any, name: str, favoured: Any) -> Flags:
    """Return which rows of a column hold the favourable outcome; each value is looked at once."""
    column = kept[name]
    values = column.unique().to_list()
    favourable = [value for value in values if label_of(value) == favoured]
    return np.asarray(column.is_in(favourable).to_numpy(), dtype=np.bool_)


def _truly_favourable(
    kept: Any, log: _LogColumns, favoured: Any, scores: Sequence[str]
) -> Flags:
    """Return whose true outcome is favourable; where no score needs it, everybody's."""
    if log.truth is None or not need_truth(scores):
        return np.ones(len(kept), dtype=np.bool_)
    truly_favoured = _true_label(kept, log.truth, log.truth_positive, favoured)
    good = _favourable(kept, log.truth, truly_favoured)
    if not good.any():
        outcomes = kept[log.truth].unique().to_list()
        raise DataError(
            messages.TRUTH_COLUMN_NEVER_FAVOURABLE.format(
                truth=repr(log.truth),
                favoured=truly_favoured,
                choices=nearest(truly_favoured, outcomes),
            )
        )
    return good
