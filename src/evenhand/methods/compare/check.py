"""The check `compare` of a configuration or of an audit: other models on real rows."""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING, Any

from evenhand.methods.compare import compare as verb
from evenhand.methods.compare import messages
from evenhand.population.source import need_columns
from evenhand.runtime.errors import ConfigError, DataError
from evenhand.scores.planning.forecast import Forecast, Way

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from evenhand.methods.compare.comparison import Comparison
    from evenhand.population.source import Source
    from evenhand.scores.planning.forecast import Ground


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
    positive: Any = None,
    **settings: Any,
) -> Comparison:
    """Compare other models, or recorded predictions, with the software under test on real rows.

    The software under test goes by the name of the baseline, unless a column of predictions does.
    """
    real = source.frame(data)
    if real.rows is None:
        raise ConfigError(messages.CHECK_NEEDS_ROWS.format(where=source.where))
    frame: Any = real.rows
    sets = over
    if over is None:
        sets = [(name,) for name in subject.space.protected if name in frame.columns]
    groups = _different(sets)
    if truth is None:
        raise ConfigError(messages.CHECK_NEEDS_TRUTH.format(where=source.where))
    need_columns(frame, [truth, *outcomes, *groups], real.file)
    predictions: dict[str, Any] = {name: frame[name] for name in outcomes}
    if baseline not in predictions:
        predictions = {baseline: subject.decide(frame), **predictions}
    for name, model in (models or {}).items():
        predictions[name] = _predicted(source, model, subject, frame)
    favourable = subject.positive if positive is None else positive
    options = {"baseline": baseline, "over": sets, "positive": favourable, **settings}
    try:
        found = verb.compare(predictions, frame[truth], frame[groups], **options)
    except DataError as error:
        raise DataError(f"{real.file}: {error}") from error
    return replace(found, notes=[*found.notes, *real.notes])


def forecast(
    ground: Ground,
    *,
    data: str | None = None,
    outcomes: Sequence[str] = (),
    baseline: str = "original",
    **_others: Any,
) -> list[Forecast]:
    """Return that the software is asked about all rows, unless its predictions are recorded.

    Other models are asked about the same rows, which is not counted here.
    """
    assert ground.source is not None
    people: Any = ground.source.frame(data).rows
    rows = 0
    if people is not None and baseline not in outcomes:
        rows = len(people)
    return [Forecast("", Way.ROWS, rows, rows)]


def _different(sets: Sequence[Sequence[str]]) -> list[str]:
    """Return the names in some sets, each once."""
    names: dict[str, None] = {}
    for features in sets:
        names.update(dict.fromkeys(features))
    return list(names)


def _predicted(source: Source, model: Any, subject: Any, frame: Any) -> Any:
    """Return what another model predicts for the rows."""
    other = source.other(model, subject)
    try:
        return other.decide(frame)
    finally:
        if other is not model:
            other.close()
