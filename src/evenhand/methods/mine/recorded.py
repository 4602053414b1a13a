"""mine_log: which readable subgroups were treated differently in decisions that are already
recorded?
"""

from __future__ import annotations

import time
from typing import TYPE_CHECKING, Any

import numpy as np

from evenhand.methods.mine import MINE_LOG
from evenhand.methods.mine.findings import Part, Words, check_terms, rank, scores_of, tell
from evenhand.methods.mine.rule_sets import BINS, Forming, Mining, Treated
from evenhand.population.recorded import favourable_of, label_of, table_of
from evenhand.results.result import Result
from evenhand.runtime.budget import Spent
from evenhand.runtime.errors import DataError, UsageError, clip, nearest
from evenhand.space.feature_sets import sets_of
from evenhand.space.space import Space
from evenhand.statistics.estimate import StopReason

if TYPE_CHECKING:
    from collections.abc import Sequence

    from numpy.typing import NDArray

    from evenhand.methods.mine.rule_sets import Bins
    from evenhand.space.feature_sets import Over

POPULATION = "decisions like the recorded ones"


@MINE_LOG.options.checked
def mine_log(
    frame: Any,
    *,
    outcome: str,
    over: Over | None = None,
    positive: Any = None,
    truth: str | None = None,
    score: str | Sequence[str] = "rate",
    support: float = 0.05,
    complement: float | None = None,
    bins: Bins = BINS,
    binning: str = "width",
    levels: int | None = None,
    depth: int | None = None,
    limit: float | None = None,
    level: float = 0.95,
    top: int = 10,
    seed: int = 0,
) -> Result:
    """Find readable subgroups that recorded decisions treated differently from everyone else
    (TestSGD, Def. 4.1).

    No software is asked. All else is as for `mine`, with the rows as they are.

    Parameters
    ----------
    frame
        Any dataframe that narwhals reads; only the columns that are named are taken from it.
    outcome, positive
        The column of decisions and the favourable one of them; by default 1 or True.
    truth
        A column of what the decisions should have been, for the scores ``"tpr"`` and ``"fpr"``.
    seed
        Kept with the result, so that all verbs take it alike; nothing is drawn here.

    Examples
    --------
    >>> import pandas as pd
    >>> loans = pd.DataFrame({"sex": ["F", "M"] * 200, "age": [20] * 200 + [60] * 200})
    >>> loans["granted"] = ((loans["sex"] == "M") | (loans["age"] < 40)).astype(int)
    >>> print(mine_log(loans, outcome="granted", over=["sex", "age"]).worst.about)
    sex F, age at least 56
    """
    start = time.monotonic()
    forming = Forming(support, complement, bins, binning, levels, depth)
    check_terms(level, limit, top)
    scores = scores_of(score, truth)
    table = table_of(frame)
    columns = list(table.collect_schema())
    sets = _sets(over, outcome, truth, columns)
    names = list(dict.fromkeys(name for several in sets for name in several))
    kept, notes = _complete(table, [*names, outcome, *([truth] if truth else [])])
    favoured = favourable_of(kept.select(outcome).unique(), outcome, positive)
    space = Space.from_frame(kept.select(names).to_native(), protected=names)
    decided = _favourable(kept, outcome, favoured)
    treated = Treated(
        space.encode(kept.select(names).to_native()), decided.astype(float), POPULATION, "recorded"
    )
    parts = [
        Part(Mining.of(space, several, people, forming), Words(str(favoured), score=name))
        for name in scores
        for people in [_people(treated, kept, truth, favoured, name)]
        for several in sets
    ]
    ranked = rank(parts, level=level, limit=limit, top=top)
    findings, entries = tell(ranked, [[()] * len(mining.stories) for mining in ranked])
    return Result(
        "mine_log",
        findings,
        seed,
        Spent(0, 0, time.monotonic() - start),
        StopReason.ENUMERATED,
        space.to_dict(),
        list(dict.fromkeys(notes + [note for part in parts for note in part.mining.notes])),
        details={"mine": entries},
    )


def _sets(over: Any, outcome: str, truth: str | None, columns: list[str]) -> list[tuple[str, ...]]:
    for option, name in {"outcome": outcome, **({} if truth is None else {"truth": truth})}.items():
        if name not in columns:
            raise DataError(
                f"{option} = {clip(repr(name))} is no column of the frame; {nearest(name, columns)}"
            )
    if truth == outcome:
        raise UsageError(
            f"truth = {truth!r} is the column of outcomes itself; name what they should have been"
        )
    others = [name for name in columns if name not in (outcome, truth)]
    try:
        sets = sets_of(over or ())
    except TypeError:
        sets = []
    if not all(sets) or not sets:
        raise UsageError(
            f"over = {clip(repr(over))} names no columns to form rules of; {nearest(over, others)}"
        )
    for number, names in enumerate(sets):
        for name in names:
            if name not in others:
                raise DataError(
                    f"over names {clip(repr(name))}, which is no such column;"
                    f" {nearest(name, others)}"
                )
        if len(set(names)) < len(names):
            raise UsageError(f"over names a column twice in {clip(repr(names))}; name each once")
        if set(names) in [set(other) for other in sets[:number]]:
            raise UsageError(f"over names the set {', '.join(names)} twice; name each set once")
    return sets


def _complete(table: Any, names: list[str]) -> tuple[Any, list[str]]:
    """Return the rows in which no column is missing, and how many are left out."""
    import narwhals as nw

    every = table.select(names).lazy().collect()
    if not len(every):
        raise DataError("the frame has no rows; there is no decision to mine")
    known = np.ones(len(every), dtype=np.bool_)
    notes = []
    for name in names:
        column = every[name]
        missing = column.is_null().to_numpy()
        if column.dtype.is_float():
            missing = missing | np.isnan(column.to_numpy().astype(float))
        if missing.any():
            notes.append(
                f"{int(missing.sum()):,} of {len(every):,} rows have no {name}; they are left out"
            )
        known &= ~missing
    if not known.any():
        raise DataError(f"no row has all of {', '.join(names)}; there is no decision to mine")
    return (
        every.filter(nw.new_series("known", known, nw.Boolean, backend=every.implementation)),
        notes,
    )


def _favourable(kept: Any, name: str, favoured: Any) -> NDArray[np.bool_]:
    """Tell which rows of a column hold the favourable outcome; each of its values is looked at
    once.
    """
    import pandas as pd

    codes, values = pd.factorize(np.fromiter(kept[name].to_list(), dtype=object, count=len(kept)))
    return np.asarray([label_of(value) == favoured for value in values], dtype=np.bool_)[
        np.asarray(codes, dtype=np.intp)
    ]


def _people(treated: Treated, kept: Any, truth: str | None, favoured: Any, score: str) -> Treated:
    """Return who is compared: everybody, or those whose true outcome is favourable, or is not."""
    if score == "rate" or truth is None:
        return treated
    good = _favourable(kept, truth, favoured)
    if not good.any():
        there = nearest(favoured, kept[truth].unique().to_list())
        raise DataError(
            f"truth = {truth!r} has no outcome that is favourable ({favoured}); {there}"
        )
    return treated.truly(good, score)
