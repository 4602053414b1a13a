"""Several outputs at once: one record per input, whatever form the software answers in."""

from __future__ import annotations

import json
from collections.abc import Mapping
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np

from evenhand.runtime.errors import BadOutcome, DataError, UsageError, clip, nearest
from evenhand.runtime.values import as_outcomes, is_missing, parse_outcome
from evenhand.space.feature import plain
from evenhand.subject.outcome_meaning import Meaning

if TYPE_CHECKING:
    from collections.abc import Iterable, Sequence

    from numpy.typing import NDArray

    from evenhand.space.feature import Points
    from evenhand.subject.adapters.base import Adapter, Reply
    from evenhand.subject.outcome_check import Answers


def checked_outputs(outputs: Any) -> tuple[str, ...]:
    """Return the names of the outputs, of which there are none where the software has only one.

    >>> checked_outputs(["decision", "rate"]), checked_outputs(None)
    (('decision', 'rate'), ())
    """
    if outputs is None:
        return ()
    named = isinstance(outputs, list | tuple) and all(
        isinstance(name, str) and name for name in outputs
    )
    if not named or not outputs:
        raise UsageError(
            f"outputs = {clip(repr(outputs))} must be a list of names, such as ['decision', 'rate']"
        )
    for name in outputs:
        if outputs.count(name) > 1:
            raise UsageError(
                f"outputs = {clip(repr(outputs))} names {name!r} twice; give each output its own"
                " name"
            )
    return tuple(outputs)


def by_output(option: str, value: Any, names: Sequence[str]) -> dict[str, Any]:
    """Return what an option says of each output; the only output of software without named ones is
    called "".

    >>> by_output("differs", {"rate": 0.01}, ("decision", "rate"))
    {'decision': None, 'rate': 0.01}
    """
    if not names:
        if isinstance(value, Mapping):
            raise UsageError(
                f"{option} = {clip(repr(value))} is by output, but the outputs have no names; add"
                f" outputs={clip(repr(list(value)))}"
            )
        return {"": value}
    if value is None:
        return dict.fromkeys(names)
    if not isinstance(value, Mapping):
        shown = "…" if callable(value) else clip(repr(value))
        raise UsageError(
            f"{option} = {clip(repr(value))} does not say which output it is of; write "
            f"{option}={{{names[0]!r}: {shown}}}"
        )
    for name in value:
        if name not in names:
            raise UsageError(f"{option}: {name!r} is no output; {nearest(name, names)}")
    return {name: value.get(name) for name in names}


def meanings_of(
    adapter: Adapter, software: str, *, positive: Any, labels: Any, differs: Any
) -> dict[str, Meaning]:
    """Return what the outcomes of each output of the software mean, under its name."""
    given = [
        by_output(option, value, adapter.outputs)
        for option, value in (("positive", positive), ("labels", labels), ("differs", differs))
    ]
    scores = getattr(adapter, "output", "label") == "score"
    classes = getattr(adapter, "classes", None)
    known = (classes or [None] * len(adapter.outputs)) if adapter.outputs else [classes]
    return {
        name: Meaning.of(
            software, name, given[0][name], given[1][name], given[2][name], labels_of, scores=scores
        )
        for name, labels_of in zip(given[0], known, strict=True)
    }


def full_identity(adapter: Adapter) -> str:
    """Name the software and which of its outputs are asked for, so that a ledger of others can be
    refused.
    """
    return (
        f"outputs {_told(adapter.outputs)} of {adapter.identity}"
        if adapter.outputs
        else adapter.identity
    )


def joined(columns: Mapping[str, NDArray[Any]]) -> NDArray[Any]:
    """Return one record per input, with a field for each output.

    >>> joined({"decision": np.array([True, False]), "rate": np.array([3, 4])}).tolist()
    [(True, 3), (False, 4)]
    """
    size = len(next(iter(columns.values())))
    records = np.empty(size, dtype=[(name, column.dtype) for name, column in columns.items()])
    for name, column in columns.items():
        records[name] = column
    return records


def packed(replies: Sequence[Reply], names: Sequence[str]) -> NDArray[Any]:
    """Pack replies into the narrowest array that keeps them apart; with names, into records.

    >>> packed([("yes", 3), ("no", 4)], ["decision", "rate"])["rate"]
    array([3, 4])
    """
    if not names:
        return as_outcomes(replies)
    columns: Iterable[Any] = zip(*replies, strict=True) if len(replies) else ([] for _ in names)
    return joined(
        {name: as_outcomes(list(column)) for name, column in zip(names, columns, strict=True)}
    )


def reply_of(value: Any, names: Sequence[str]) -> tuple[Any, ...]:
    """Return one input's outcomes from an object by name or a list in order; ValueError says what
    is wrong.

    >>> reply_of({"rate": 3, "decision": "yes"}, ["decision", "rate"]), reply_of(["yes", 3], ["decision", "rate"])
    (('yes', 3), ('yes', 3))
    """
    shown = clip(repr(value))
    if isinstance(value, Mapping):
        for name in names:
            if name not in value:
                raise ValueError(f"{shown}, which has no output {name!r}")
        found = tuple(plain(value[name]) for name in names)
    elif isinstance(value, list | tuple):
        if len(value) != len(names):
            raise ValueError(
                f"{shown}, which has length {len(value)} and not one outcome for each of"
                f" {_told(names)}"
            )
        found = tuple(map(plain, value))
    elif len(names) == 1:
        found = (plain(value),)
    else:
        raise ValueError(f"{shown}, which is neither by name nor a list of {_told(names)}")
    for name, outcome in zip(names, found, strict=True):
        if is_missing(outcome) or not isinstance(outcome, str | int | float):
            raise ValueError(
                f"{shown}, in which {clip(repr(outcome))} is no outcome for the output {name!r}"
            )
    return found


def parse_reply(text: str, names: Sequence[str]) -> Reply:
    """Read one printed answer: an outcome, or with names a JSON object or array; ValueError says
    what is wrong.

    >>> parse_reply("approve", ()), parse_reply('{"decision": "approve", "rate": 3}', ("decision", "rate"))
    ('approve', ('approve', 3))
    """
    if not names:
        return parse_outcome(text)
    try:
        value = json.loads(text)
    except (ValueError, RecursionError):
        raise ValueError(
            f"{clip(text)!r}, which is no JSON object or array of {_told(names)}"
        ) from None
    return reply_of(value, names)


def records_of(answer: Any, names: Sequence[str], expected: int, software: str) -> NDArray[Any]:
    """Return one record per input from what a function or model returned.

    That is a frame or mapping by name, a matrix with one column per output, or a list of
    dictionaries or tuples.
    """
    table = _table(answer, names, software)
    columns: dict[str, NDArray[Any]] = {}
    for name in names:
        if name not in table:
            raise BadOutcome(
                f"{software} returned no output {name!r}, but {clip(_told(table)) or 'nothing'}"
            )
        column = table[name]
        columns[name] = (
            as_outcomes(column) if isinstance(column, list | tuple) else np.asarray(column)
        )
        if columns[name].shape != (expected,):
            raise BadOutcome(
                f"{software} returned outcomes of shape {columns[name].shape} as output {name!r}"
                f" for {expected:,} inputs; it must return one per input"
            )
    return joined(columns)


def _table(answer: Any, names: Sequence[str], software: str) -> Mapping[Any, Any]:
    if isinstance(answer, Mapping):
        return answer
    if isinstance(answer, list | tuple):
        try:
            records = packed([reply_of(row, names) for row in answer], names)
        except ValueError as error:
            raise BadOutcome(f"{software} returned {error}") from None
        return {name: records[name] for name in names}
    if isinstance(answer, np.ndarray) and answer.dtype.names:
        return {name: answer[name] for name in answer.dtype.names}
    import narwhals as nw

    if nw.dependencies.is_into_dataframe(answer):
        return _columns(answer, software)
    matrix = np.asarray(answer)
    if matrix.ndim == 1 and len(names) == 1:
        return {names[0]: matrix}
    if matrix.ndim != 2 or matrix.shape[1] != len(names):
        raise BadOutcome(
            f"{software} returned outcomes of shape {matrix.shape} for {_told(names)}; it must"
            " return a frame or a mapping by name, or a matrix with one column per output"
        )
    return {name: matrix[:, place] for place, name in enumerate(names)}


def _columns(frame: Any, software: str) -> Mapping[Any, Any]:
    from evenhand.space.dataframes import eager

    try:
        found = eager(frame)
    except DataError as error:
        raise BadOutcome(f"{software} returned outputs that cannot be read: {error}") from None
    return {name: found[name].to_numpy() for name in found.columns}


def _told(names: Iterable[Any]) -> str:
    return ", ".join(repr(name) for name in names)


@dataclass(frozen=True, slots=True)
class Records:
    """The answers that software with several outputs may give."""

    outputs: Mapping[str, Answers]

    def check(self, outcomes: NDArray[Any], expected: int) -> NDArray[Any]:
        """Return records as they are to be counted, or say what is wrong with one of their outputs."""
        return joined(
            {
                name: answers.check(outcomes[name], expected)
                for name, answers in self.outputs.items()
            }
        )


class Recent:
    """The last batch and its answers, so that one view after the other asks the same inputs at the
    cost of one.

    >>> recent, points = Recent(), np.ones((2, 1))
    >>> recent.keep(points, np.array([7, 8]))
    >>> recent.get(points + 1), recent.get(points.copy())
    (None, array([7, 8]))
    """

    def __init__(self) -> None:
        self._kept: tuple[Points, NDArray[Any]] | None = None

    def get(self, points: Points) -> NDArray[Any] | None:
        """Return the answers to these very points, None where others were asked last."""
        if self._kept is None or not np.array_equal(self._kept[0], points):
            return None
        return self._kept[1].copy()

    def keep(self, points: Points, answers: NDArray[Any]) -> None:
        """Keep the answers to a batch instead of those to the last one."""
        self._kept = (points.copy(order="K"), answers.copy())  # since callers may write to theirs

    def __getstate__(self) -> dict[str, Any]:
        return {"_kept": None}  # not worth shipping to workers
