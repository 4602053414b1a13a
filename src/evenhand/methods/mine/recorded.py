"""mine_log: which readable subgroups did decisions that are recorded treat differently?"""

from __future__ import annotations

import time
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any

import numpy as np

from evenhand.methods.mine import MINE_LOG, messages
from evenhand.methods.mine.bins import bins_of_log
from evenhand.methods.mine.claims.correction import check_correction
from evenhand.methods.mine.claims.reporting import MiningPart, rank, write_findings
from evenhand.methods.mine.claims.words import OutcomeWords
from evenhand.methods.mine.rule_sets import (
    BINS,
    Mining,
    RuleSetOptions,
    Treated,
    check_control,
    check_terms,
    scores_of,
)
from evenhand.population.recorded import (
    favourable_of,
    label_of,
    seen,
    table_of,
    true_label,
)
from evenhand.results.result import Result
from evenhand.runtime import number_text
from evenhand.runtime.budget import Spent
from evenhand.runtime.errors import DataError, UsageError, clip, nearest
from evenhand.scores.numbers.recorded import are_numbers
from evenhand.scores.numbers.unit_scale import UnitLimit, UnitScale
from evenhand.space.feature_sets import sets_of
from evenhand.space.space import Space
from evenhand.statistics.estimate import StopReason
from evenhand.subject.outcome_meaning import one_answer

if TYPE_CHECKING:
    from collections.abc import Sequence

    from numpy.typing import NDArray

    from evenhand.methods.mine.findings import Entry, RankedStories
    from evenhand.methods.mine.rule_sets import Bins
    from evenhand.results.evidence import Case, Finding
    from evenhand.space.feature import Points
    from evenhand.space.feature_sets import Over

    Flags = NDArray[np.bool_]

POPULATION = messages.DECISIONS_LIKE_RECORDED


@MINE_LOG.options.checked
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
    seed: int = 0,
) -> Result:
    """Find readable subgroups that recorded decisions treated differently from everyone else.

    Subgroups are scored as in Definition 4.1 of TestSGD. No software is asked. All else is as for
    `mine`, with the rows as they are.

    Parameters
    ----------
    frame
        Any dataframe that narwhals reads; only the columns that are named are taken from it.
    outcome, positive
        The column of decisions and the favourable one of them; by default 1 or True.
    truth, truth_positive
        A column of what the decisions should have been, for the scores ``"tpr"`` and ``"fpr"``, and
        which of its values stands for the favourable outcome; by default the same as `positive`.
    bins
        As for `mine`; where numbers or dates are cut by column, points beyond all rows are left
        out, and dates may be cut by ``"year"`` or ``"month"``.
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
    options = RuleSetOptions(support, complement, bins, binning, levels, depth)
    limits = UnitLimit(limit, units)
    check_terms(level, limits, top)
    check_control(control)
    check_correction(correction, control)
    scores = scores_of(score, truth)
    table = table_of(frame)
    columns = list(table.collect_schema())
    sets = _sets(over, outcome, truth, columns)
    names = _names(sets)
    needed = [outcome, truth] if truth else [outcome]
    columns_of = _LogColumns(outcome, positive, truth, truth_positive)
    kept, notes = _complete(table, names, needed)
    features = kept.select(names).to_native()
    space = Space.from_frame(features, protected=names)
    options = replace(options, bins=bins_of_log(bins, space))
    points = space.encode(features)
    compared = _compared(kept, points, columns_of, scores)
    parts, more_notes = _parts(space, sets, options, compared)
    ranked = rank(
        parts,
        level=level,
        limits=limits,
        top=top,
        control=control,
        correction=correction,
        seed=seed,
    )
    notes += more_notes + limits.notes([part.mining.treated.scale for part in parts])
    outcomes = seen(kept.select(outcome).unique(), outcome)
    findings, entries = _written(ranked, one_answer(outcomes, positive))
    spent = Spent(0, 0, time.monotonic() - start)
    notes = list(dict.fromkeys(notes))
    return _result(findings, seed, spent, space, notes, entries)


def _result(
    findings: list[Finding],
    seed: int,
    spent: Spent,
    space: Space,
    notes: list[str],
    entries: list[Entry],
) -> Result:
    stop = StopReason.ENUMERATED
    details = {"mine": entries}
    return Result(
        "mine_log", findings, seed, spent, stop, space.to_dict(), notes, details=details
    )


def _parts(
    space: Space,
    sets: Sequence[tuple[str, ...]],
    options: RuleSetOptions,
    compared: Sequence[tuple[OutcomeWords, Treated]],
) -> tuple[list[MiningPart], list[str]]:
    """Mine each score and set of features; return the notes of it beside."""
    parts = []
    notes: list[str] = []
    for words, people in compared:
        for several in sets:
            mining = Mining.of(space, several, people, options)
            parts.append(MiningPart(mining, words))
            notes += mining.notes
    return parts, notes


def _written(
    ranked: Sequence[RankedStories], only_answer: dict[str, Any]
) -> tuple[list[Finding], list[Entry]]:
    """Return the findings, without cases, since nobody can be asked again, and their details."""
    no_cases: list[list[tuple[Case, ...]]] = [[()] * len(mined.stories) for mined in ranked]
    return write_findings(ranked, no_cases, [only_answer] * len(ranked))


@dataclass(frozen=True, slots=True)
class _LogColumns:
    """The columns of a log, and the labels of favourable outcomes in them."""

    outcome: str
    positive: Any
    truth: str | None
    truth_positive: Any


def _compared(
    kept: Any, points: Points, log: _LogColumns, scores: Sequence[str]
) -> list[tuple[OutcomeWords, Treated]]:
    """Return who is compared in each score: how often they are favoured, or what they get."""
    outcome = log.outcome
    is_number = log.positive is None and are_numbers(kept, outcome, kept[outcome].dtype)
    if is_number:
        if tuple(scores) != ("rate",):
            shown = clip(repr(list(scores)))
            raise UsageError(messages.SCORE_OF_NUMBERS.format(score=shown))
        numbers = kept[outcome].to_numpy().astype(np.float64)
        scale, shares = UnitScale.of(numbers)
        treated = Treated(points, shares, POPULATION, "recorded", scale=scale)
        return [(OutcomeWords(outcome, counts=False, numbers=True), treated)]
    favoured = favourable_of(kept.select(outcome).unique(), outcome, log.positive)
    truly_favoured = _true_label(kept, log.truth, log.truth_positive, favoured)
    decided = _favourable(kept, outcome, favoured).astype(float)
    treated = Treated(points, decided, POPULATION, "recorded")
    compared = []
    for name in scores:
        words = OutcomeWords(str(favoured), score=name)
        people = _people(treated, kept, log.truth, truly_favoured, name)
        compared.append((words, people))
    return compared


def _true_label(kept: Any, truth: str | None, given: Any, favoured: Any) -> Any:
    """Return what stands for the favourable outcome in the column of truth."""
    if truth is None:
        return favoured
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
        sets = sets_of(over or ())
    except TypeError:
        sets = []
    if not sets or not all(sets):
        shown = clip(repr(over))
        choices = nearest(over, others)
        raise UsageError(messages.OVER_NAMES_NOTHING.format(over=shown, choices=choices))
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
            shown = clip(repr(name))
            choices = nearest(name, columns)
            raise DataError(messages.OVER_NOT_A_COLUMN.format(name=shown, choices=choices))
    if len(set(names)) < len(names):
        shown = clip(repr(names))
        raise UsageError(messages.OVER_COLUMN_TWICE.format(names=shown))


def _complete(table: Any, names: list[str], needed: list[str]) -> tuple[Any, list[str]]:
    """Return the rows in which no column that is needed is missing, and how many are left out.

    What is missing in the others is a value like any other.
    """
    import narwhals as nw

    every = table.select([*names, *needed]).lazy().collect()
    rows = len(every)
    if not rows:
        raise DataError(messages.FRAME_EMPTY)
    known = np.ones(rows, dtype=np.bool_)
    notes = []
    for name in needed:
        missing = _missing(every[name])
        if missing.any():
            note = messages.ROWS_LEFT_OUT.format(
                missing=number_text.count(int(missing.sum())),
                rows=number_text.count(rows),
                column=name,
            )
            notes.append(note)
        known &= ~missing
    if not known.any():
        raise DataError(messages.NO_COMPLETE_ROW.format(names=", ".join(needed)))
    flags = nw.new_series("known", known, nw.Boolean, backend=every.implementation)
    return every.filter(flags), notes


def _missing(column: Any) -> Flags:
    """Return in which rows a column is missing; some dataframes hold NaN instead of a null."""
    missing = column.is_null().to_numpy()
    if column.dtype.is_float():
        numbers = column.to_numpy().astype(float)
        missing = missing | np.isnan(numbers)
    return np.asarray(missing)


def _favourable(kept: Any, name: str, favoured: Any) -> Flags:
    """Return which rows of a column hold the favourable outcome; each value is looked at once."""
    import pandas as pd

    labels = np.fromiter(kept[name].to_list(), dtype=object, count=len(kept))
    codes, values = pd.factorize(labels)
    favourable = np.asarray(
        [label_of(value) == favoured for value in values], dtype=np.bool_
    )
    return favourable[np.asarray(codes, dtype=np.intp)]


def _people(
    treated: Treated, kept: Any, truth: str | None, favoured: Any, score: str
) -> Treated:
    """Return who is compared: everybody, or those with a favourable or other true outcome."""
    if score == "rate" or truth is None:
        return treated
    good = _favourable(kept, truth, favoured)
    if not good.any():
        outcomes = kept[truth].unique().to_list()
        raise DataError(
            messages.TRUTH_COLUMN_NEVER_FAVOURABLE.format(
                truth=repr(truth),
                favoured=favoured,
                choices=nearest(favoured, outcomes),
            )
        )
    return treated.truly(good, score)
