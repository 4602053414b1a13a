"""How a check of a configuration or of an audit tells selection rates: by the decisions of the
software under test.
"""

from __future__ import annotations

import time
from dataclasses import replace
from typing import TYPE_CHECKING, Any

import numpy as np

from evenhand.methods.impact import impact as verb
from evenhand.methods.impact.selection_rates import with_notes_before
from evenhand.population.source import MOST_LEVELS, need_columns
from evenhand.runtime.budget import Spent
from evenhand.runtime.errors import ConfigError, DataError, UsageError

if TYPE_CHECKING:
    import pandas as pd

    from evenhand.population.source import Source
    from evenhand.results.result import Result
    from evenhand.space.space import Space


def impact(
    source: Source, subject: Any, *, data: str | None = None, over: Any = None, **settings: Any
) -> Result:
    """Tell the selection rates of real people by the decisions of the software under test."""
    import pandas as pd

    real = source.frame(data)
    if real.rows is None:
        raise ConfigError(
            f"{source.where}: impact needs the rows of real people; name their file with data"
        )
    if subject.outputs:
        raise UsageError(f"{subject.name} has several outputs; selection rates are those of one")
    frame: Any = real.rows
    notes = list(real.notes)
    if over is None:
        over, left = _few(subject.space, frame)
        notes += [
            f"{name} has more than {MOST_LEVELS} values, and no selection rates are told by it"
            for name in left
        ]
    if not over:
        raise UsageError(
            f"{source.where}: no protected feature is a column of at most {MOST_LEVELS} values;"
            " name columns with over"
        )
    columns = list(dict.fromkeys(name for names in over for name in names))
    need_columns(frame, columns, real.file)
    begun, before = time.monotonic(), subject.executed
    outcomes = subject.decide(frame)
    meaning = subject.meanings[""]
    decision = _unused("decision", frame.columns)
    table = {name: frame[name].to_numpy() for name in columns}
    table[decision] = (
        meaning.favourable(outcomes) if meaning.counts else np.asarray(outcomes, dtype=np.float64)
    )
    how: dict[str, Any] = {"positive": True} if meaning.counts else {"scored": True}
    how["population"] = "people like the given rows"
    try:
        found = verb.impact(pd.DataFrame(table), outcome=decision, over=over, **how, **settings)
    except DataError as error:
        raise DataError(f"{real.file}: {error}") from error
    spent = Spent(len(frame), subject.executed - before, time.monotonic() - begun)
    return replace(with_notes_before(found, notes), space=subject.space.to_dict(), spent=spent)


def _few(space: Space, frame: pd.DataFrame) -> tuple[list[tuple[str, ...]], list[str]]:
    """Return the protected features with few values, each by itself, and the names of the others."""
    here = [name for name in space.protected if name in frame.columns]
    few = [name for name in here if frame[name].nunique() <= MOST_LEVELS]
    return [(name,) for name in few], [name for name in here if name not in few]


def _unused(name: str, taken: Any) -> str:
    return name if name not in set(taken) else _unused(f"{name}_", taken)
