"""How each job of an audit is run: one function per job, with real rows, texts and other models from one source.

The verbs of the command line run their checks through the same functions, so that both say the same.
"""

from __future__ import annotations

import time
from dataclasses import replace
from typing import TYPE_CHECKING, Any, Protocol

import numpy as np

from evenhand.runtime.budget import Spent
from evenhand.runtime.errors import ConfigError, DataError, UsageError, clip, nearest
from evenhand.space.dataframes import eager
from evenhand.texts.text_subject import TextSubject

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping, Sequence

    import pandas as pd

    from evenhand.methods.audit.real_data import Real, Texts
    from evenhand.methods.compare.comparison import Comparison
    from evenhand.population.rows import Rows
    from evenhand.population.samplers import Sampler
    from evenhand.results.result import Result
    from evenhand.space.space import Space
    from evenhand.subject.subject import Subject

MOST_LEVELS = 20
"""The most groups of a protected feature whose selection rates are told without being asked for."""
COMMON = ("subject", "space", "sampler", "budget", "seed", "n_jobs", "progress")
"""What verbs take from the audit itself, and not from a check."""
GIVEN = {
    "impact": ("frame", "outcome", "positive", "score", "population"),
    "compare": ("y_true", "protected"),
}
"""What the software and the rows tell of a job, so that no check says it."""
MORE = {"compare": ("models", "truth", "data"), "impact": ("data",)}
"""What a check says that the verb of its job does not take."""
UNBOUND = ("compare", "impact")
"""Jobs that cost what their rows cost, and have no budget."""


class Source(Protocol):
    """Where jobs get what the software alone does not tell."""

    @property
    def where(self) -> str:
        """What error sentences begin with."""

    @property
    def texts(self) -> Texts:
        """The texts to test with, and the terms to look for in them."""

    def population(self) -> Sampler | None:
        """Return the population that scores speak of; None for all inputs."""

    def start(self, path: str | None = None) -> tuple[Rows | None, list[str]]:
        """Return the real rows that a search starts from, and what is to be said of them."""

    def real(self, path: str | None = None) -> Real:
        """Return real rows, those of a file where one is named."""

    def frame(self, path: str | None = None) -> Real:
        """Return real rows as a frame, with the columns that are no inputs."""

    def other(self, model: Any, subject: Subject) -> Subject:
        """Return another model as a subject like the one that is tested."""


def measure(source: Source, subject: Any, **settings: Any) -> Result:
    """Measure over the population that the source declares."""
    from evenhand.methods.measure.measure import measure as verb

    return verb(subject, sampler=source.population(), **settings)


def prevalence(_source: Source, subject: Any, **settings: Any) -> Result:
    """Measure the share of all inputs."""
    from evenhand.methods.measure.measure import prevalence as verb

    return verb(subject, **settings)


def subsets(source: Source, subject: Any, **settings: Any) -> Result:
    """Find sets of features over the population that the source declares."""
    from evenhand.methods.subsets.subsets import subsets as verb

    return verb(subject, sampler=source.population(), **settings)


def search(source: Source, subject: Any, *, start: str | None = None, **settings: Any) -> Result:
    """Search from real rows, where there are any."""
    from evenhand.methods.search.search import search as verb

    rows, notes = source.start(start)
    result = verb(subject, start=rows, **settings)
    return replace(result, notes=[*result.notes, *notes])


def mine(source: Source, subject: Any, **settings: Any) -> Result:
    """Mine real rows, or texts where the software takes texts."""
    run = _mine_texts if isinstance(subject, TextSubject) else _mine_rows
    return run(source, subject, **settings)


def _mine_rows(
    source: Source, subject: Any, *, data: str | None = None, truth: str | None = None, **settings: Any
) -> Result:
    from evenhand.methods.mine.mine import mine as verb

    real = source.real(data)
    if real.rows is None:
        why = real.notes[0] if real.notes else "there are no rows to find rules in"
        raise ConfigError(f"{source.where}: {why}; name a file of rows with --data, or with data in a check")
    try:
        result = verb(subject, data=real.rows, truth=real.truth(truth), **settings)
    except DataError as error:
        raise DataError(f"{real.file}: {error}") from error
    return replace(result, notes=[*result.notes, *real.notes])


def _mine_texts(
    source: Source, subject: Any, *, without: Sequence[str] = (), n_jobs: int = 1, **settings: Any
) -> Result:
    from evenhand.methods.mine.texts.mine_text import mine_text as verb

    if n_jobs != 1:
        raise UsageError(f"--n-jobs {n_jobs} does not go with [texts], which are asked about in one process")
    texts = source.texts
    given = texts.read()
    every = list(dict.fromkeys([*texts.without, *without]))
    try:
        return verb(subject, given, lexicon=texts.lexicon, without=every, **settings)
    except DataError as error:
        raise DataError(f"{texts.file}: {error}") from error


def compare(
    source: Source,
    subject: Any,
    *,
    truth: str | None = None,
    data: str | None = None,
    models: Mapping[str, Any] | None = None,
    outcomes: Sequence[str] = (),
    baseline: str = "original",
    over: Any = None,
    seed: int = 0,
    **settings: Any,
) -> Comparison:
    """Compare other models with the software under test, or recorded predictions with each other, on real rows.

    The software under test goes by the name of the baseline, unless a column of predictions does.
    """
    from evenhand.methods.compare.compare import compare as verb

    for name in ("budget", "n_jobs", "progress"):
        settings.pop(name, None)
    real = source.frame(data)
    if real.rows is None:
        raise ConfigError(f"{source.where}: compare needs rows with their true outcomes; name their file with data")
    frame: Any = real.rows
    sets = [(name,) for name in subject.space.protected if name in frame.columns] if over is None else over
    groups = list(dict.fromkeys(name for names in sets for name in names))
    if truth is None:
        raise ConfigError(f"{source.where}: compare has no truth; name the column of true outcomes")
    for column in [truth, *outcomes, *groups]:
        if column not in frame.columns:
            raise DataError(f"{real.file}: there is no column {clip(repr(column))}; {nearest(column, frame.columns)}")
    told: dict[str, Any] = {name: frame[name] for name in outcomes}
    if baseline not in told:
        told = {baseline: subject.decide(frame), **told}
    for name, model in (models or {}).items():
        other = source.other(model, subject)
        try:
            told[name] = other.decide(frame)
        finally:
            if other is not model:
                other.close()
    given = settings.pop("positive", None)
    positive = subject.positive if given is None else given
    try:
        found = verb(
            told, frame[truth], frame[groups], baseline=baseline, over=sets, positive=positive, seed=seed, **settings
        )
    except DataError as error:
        raise DataError(f"{real.file}: {error}") from error
    return replace(found, notes=[*found.notes, *real.notes])


def impact(source: Source, subject: Any, *, data: str | None = None, over: Any = None, **settings: Any) -> Result:
    """Tell the selection rates of real people by the decisions of the software under test."""
    import pandas as pd

    from evenhand.methods.impact.impact import impact as verb

    for name in ("budget", "n_jobs", "progress", "seed"):
        settings.pop(name, None)
    real = source.frame(data)
    if real.rows is None:
        raise ConfigError(f"{source.where}: impact needs the rows of real people; name their file with data")
    if subject.outputs:
        raise UsageError(f"{subject.name} has several outputs; selection rates are those of one")
    frame: Any = real.rows
    notes = list(real.notes)
    if over is None:
        over, left = _few(subject.space, frame)
        notes += [f"{name} has more than {MOST_LEVELS} values, and no selection rates are told by it" for name in left]
    if not over:
        raise UsageError(
            f"{source.where}: no protected feature is a column of at most {MOST_LEVELS} values; name columns with over"
        )
    for name in dict.fromkeys(name for names in over for name in names):
        if name not in frame.columns:
            raise DataError(f"{real.file}: there is no column {clip(repr(name))}; {nearest(name, frame.columns)}")
    begun, before = time.monotonic(), subject.executed
    outcomes = subject.decide(frame)
    meaning = subject.meanings[""]
    column = _unused("decision", frame.columns)
    told = {name: frame[name].to_numpy() for names in over for name in names}
    told[column] = meaning.favourable(outcomes) if meaning.counts else np.asarray(outcomes, dtype=np.float64)
    how: dict[str, Any] = {"positive": True} if meaning.counts else {"score": True}
    how["population"] = "people like the given rows"
    try:
        found = verb(pd.DataFrame(told), outcome=column, over=over, **how, **settings)
    except DataError as error:
        raise DataError(f"{real.file}: {error}") from error
    spent = Spent(len(frame), subject.executed - before, time.monotonic() - begun)
    return replace(found, space=subject.space.to_dict(), spent=spent, notes=[*notes, *found.notes])


def _few(space: Space, frame: pd.DataFrame) -> tuple[list[tuple[str, ...]], list[str]]:
    """Return the protected features with few values, each by itself, and the names of the others."""
    here = [name for name in space.protected if name in frame.columns]
    few = [name for name in here if frame[name].nunique() <= MOST_LEVELS]
    return [(name,) for name in few], [name for name in here if name not in few]


def _unused(name: str, taken: Any) -> str:
    return name if name not in set(taken) else _unused(f"{name}_", taken)


def framed(data: Any) -> pd.DataFrame:
    """Return any dataframe, or a list of dictionaries, as a pandas frame."""
    import pandas as pd

    if isinstance(data, pd.DataFrame):
        return data
    frame: pd.DataFrame = eager(data).to_pandas() if not isinstance(data, list) else pd.DataFrame(data)
    return frame


RUN: dict[str, Callable[..., Any]] = {
    "measure": measure,
    "prevalence": prevalence,
    "subsets": subsets,
    "search": search,
    "mine": mine,
    "compare": compare,
    "impact": impact,
}
"""The jobs of an audit."""
