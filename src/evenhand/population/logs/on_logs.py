"""Verbs on logs take a path, an address, a connection or a dataset wherever they take a frame."""

from __future__ import annotations

from functools import wraps
from os import PathLike
from typing import TYPE_CHECKING, Any, ParamSpec, TypeVar, cast

from evenhand.population.logs.source import Log, is_dataset, open_log
from evenhand.population.recorded import columns_of_sets
from evenhand.space.feature_sets import asks_all, sets_of

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping, Sequence

P = ParamSpec("P")
R = TypeVar("R")


def takes_logs(function: Callable[P, R]) -> Callable[P, R]:
    """Let a verb on a frame take a log that is opened first, and name the source in its result."""

    @wraps(function)
    def call(*args: P.args, **settings: P.kwargs) -> R:
        given: Any = args[0] if args else settings.get("frame")
        if not is_log_source(given):
            return function(*args, **settings)
        log = open_log(given)
        try:
            with log.guarded():
                frame = log.frame_for(columns_named(settings, log.columns))
                others: Any = {
                    key: value for key, value in settings.items() if key != "frame"
                }
                found: Any = function(frame, *args[1:], **others)  # type: ignore[arg-type]
            return cast("R", found.with_log(log.fields))
        finally:
            if log is not given:
                log.close()

    return call


def is_log_source(given: Any) -> bool:
    """Return whether something is opened before it is a frame.

    >>> is_log_source("logs/*.parquet"), is_log_source([{"sex": "F"}])
    (True, False)
    """
    if isinstance(given, str | PathLike | Log):
        return True
    return is_dataset(given)


def columns_named(settings: Mapping[str, Any], columns: Sequence[str]) -> list[str] | None:
    """Return the columns that a verb is going to look at; None where that may be all of them.

    >>> columns_named({"outcome": "granted", "over": "sex"}, ["sex", "age", "granted"])
    ['granted', 'sex']
    """
    over: Any = settings.get("over")
    if settings.get("kind") == "causal" or over is None or asks_all(over, columns):
        return None
    names: list[Any] = [settings.get("outcome"), settings.get("truth")]
    try:
        names += columns_of_sets(sets_of(over))
    except TypeError:
        return None
    for key in ("bins", "groups", "labels"):
        by_column: Any = settings.get(key)
        if hasattr(by_column, "keys"):
            names += [name for name in by_column if name in columns]
    return [name for name in dict.fromkeys(names) if name is not None]
