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
    from collections.abc import Callable, Iterable, Sequence

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
    is_list = isinstance(outputs, list | tuple)
    if (
        not is_list
        or not outputs
        or not all(isinstance(name, str) and name for name in outputs)
    ):
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
    """Return what an option says of each output.

    The only output of software without named ones is called "".

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
            raise UsageError(f"{option}: {name!r} is not an output; {nearest(name, names)}")
    return {name: value.get(name) for name in names}


def meanings_of(
    adapter: Adapter, software: str, *, positive: Any, labels: Any, differs: Any
) -> dict[str, Meaning]:
    """Return what the outcomes of each output of the software mean, under its name."""
    positive_of = by_output("positive", positive, adapter.outputs)
    if adapter.outputs or not isinstance(labels, Mapping):
        labels_of = by_output("labels", labels, adapter.outputs)
    else:
        labels_of = {"": labels}
    differs_of = by_output("differs", differs, adapter.outputs)
    scores = getattr(adapter, "output", "label") == "score"
    numbers = getattr(adapter, "numbers", False)
    classes = getattr(adapter, "classes", None)
    if adapter.outputs:
        classes_of_outputs = classes or [None] * len(adapter.outputs)
    else:
        classes_of_outputs = [classes]
    meanings: dict[str, Meaning] = {}
    for name, known in zip(positive_of, classes_of_outputs, strict=True):
        meanings[name] = Meaning.of(
            software,
            name,
            positive_of[name],
            labels_of[name],
            differs_of[name],
            known,
            scores=scores,
            numbers=numbers,
        )
    return meanings


def refuse_masked(answer: Any, software: str) -> None:
    """Refuse an array with masked values, which numpy would take for answers."""
    if isinstance(answer, np.ma.MaskedArray) and np.ma.getmaskarray(answer).any():
        count = int(np.ma.getmaskarray(answer).sum())
        raise BadOutcome(
            f"{software} answered nothing to {count:,} of {len(answer):,} inputs, which are masked"
        )


def full_identity(adapter: Adapter) -> str:
    """Return a name of the software and of its outputs, which tells its ledger from others."""
    if not adapter.outputs:
        return adapter.identity
    return f"outputs {_quoted(adapter.outputs)} of {adapter.identity}"


def joined(columns: Mapping[str, NDArray[Any]]) -> NDArray[Any]:
    """Return one record per input, with a field for each output.

    >>> joined({"decision": np.array([True, False]), "rate": np.array([3, 4])}).tolist()
    [(True, 3), (False, 4)]
    """
    first = next(iter(columns.values()))
    fields = [(name, column.dtype) for name, column in columns.items()]
    records = np.empty(len(first), dtype=fields)
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
    columns: list[Any]
    if len(replies):
        columns = list(zip(*replies, strict=True))
    else:
        columns = [[] for _ in names]
    outcomes: dict[str, NDArray[Any]] = {}
    for name, column in zip(names, columns, strict=True):
        outcomes[name] = as_outcomes(list(column))
    return joined(outcomes)


class GatheredOutcomes:
    """Outcomes in the order of some inputs, in whatever order they come.

    >>> gathered = GatheredOutcomes(3)
    >>> gathered.add(np.array([2]), np.array([7]))
    >>> gathered.add(np.array([0, 1]), np.array([5, 6]))
    >>> gathered.outcomes()
    array([5, 6, 7])
    """

    def __init__(self, inputs: int, names: Sequence[str] = ()) -> None:
        self._inputs = inputs
        self._names = names
        self._parts: list[tuple[NDArray[np.intp], NDArray[Any]]] = []

    def add(self, rows: NDArray[np.intp], outcomes: NDArray[Any]) -> None:
        """Take the outcomes of some rows."""
        self._parts.append((rows, outcomes))

    def outcomes(self) -> NDArray[Any]:
        """Return all outcomes, by row."""
        if not self._parts:
            return packed([], self._names)
        columns = [outcomes for _, outcomes in self._parts]
        rows = np.concatenate([rows for rows, _ in self._parts])
        if np.array_equal(rows, np.arange(self._inputs)) and _alike(columns):
            # Most adapters answer everything at once and in order: nothing is copied then.
            return columns[0] if len(columns) == 1 else np.concatenate(columns)
        answered = np.empty(self._inputs, dtype=object)
        for places, outcomes in self._parts:
            answered[places] = outcomes
        return packed(answered.tolist(), self._names)


def _alike(columns: Sequence[NDArray[Any]]) -> bool:
    """Return whether outcomes are of one type, but for the length of texts."""
    types = {column.dtype.str if column.dtype.kind != "U" else "U" for column in columns}
    return len(types) == 1 and (len(columns) == 1 or not columns[0].dtype.names)


def reply_of(value: Any, names: Sequence[str]) -> tuple[Any, ...]:
    """Return one input's outcomes from an object by name or a list in order.

    Raises a ValueError that says what is wrong.

    >>> reply_of({"rate": 3, "decision": "yes"}, ["decision", "rate"])
    ('yes', 3)
    >>> reply_of(["yes", 3], ["decision", "rate"])
    ('yes', 3)
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
                f" {_quoted(names)}"
            )
        found = tuple(map(plain, value))
    elif len(names) == 1:
        found = (plain(value),)
    else:
        raise ValueError(
            f"{shown}, which is neither by name nor a list of {_quoted(names)}"
        )
    for name, outcome in zip(names, found, strict=True):
        if is_missing(outcome) or not isinstance(outcome, str | int | float):
            raise ValueError(
                f"{shown}, in which {clip(repr(outcome))} is not an outcome for the output {name!r}"
            )
    return found


def parse_reply(text: str, names: Sequence[str]) -> Reply:
    """Return what a printed answer says: an outcome, or with names a JSON object or array.

    Raises a ValueError that says what is wrong.

    >>> parse_reply("approve", ())
    'approve'
    >>> parse_reply('{"decision": "approve", "rate": 3}', ("decision", "rate"))
    ('approve', 3)
    """
    if not names:
        return parse_outcome(text)
    try:
        value = json.loads(text)
    except (ValueError, RecursionError):
        raise ValueError(
            f"{clip(text)!r}, which is not a JSON object or array of {_quoted(names)}"
        ) from None
    return reply_of(value, names)


def records_of(
    answer: Any, names: Sequence[str], expected: int, software: str
) -> NDArray[Any]:
    """Return one record per input from what a function or model returned.

    That is a frame or mapping by name, a matrix with one column per output, or a list of
    dictionaries or tuples.
    """
    table = _table(answer, names, software)
    columns: dict[str, NDArray[Any]] = {}
    for name in names:
        if name not in table:
            returned = clip(_quoted(table)) or "nothing"
            raise BadOutcome(f"{software} returned no output {name!r}, but {returned}")
        column = table[name]
        if isinstance(column, list | tuple):
            outcomes = as_outcomes(column)
        else:
            outcomes = np.asarray(column)
        if outcomes.shape != (expected,):
            raise BadOutcome(
                f"{software} returned outcomes of shape {outcomes.shape} as output {name!r}"
                f" for {expected:,} inputs; it must return one per input"
            )
        columns[name] = outcomes
    return joined(columns)


def _table(answer: Any, names: Sequence[str], software: str) -> Mapping[Any, Any]:
    """Return an answer as a mapping from names of outputs to columns."""
    if isinstance(answer, Mapping):
        return answer
    if isinstance(answer, list | tuple):
        try:
            replies = [reply_of(row, names) for row in answer]
            records = packed(replies, names)
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
            f"{software} returned outcomes of shape {matrix.shape} for {_quoted(names)}; it must"
            " return a frame or a mapping by name, or a matrix with one column per output"
        )
    return {name: matrix[:, place] for place, name in enumerate(names)}


def _columns(frame: Any, software: str) -> Mapping[Any, Any]:
    from evenhand.space.frames.reading import eager

    try:
        found = eager(frame)
    except DataError as error:
        raise BadOutcome(
            f"{software} returned outputs that cannot be read: {error}"
        ) from None
    return {name: found[name].to_numpy() for name in found.columns}


def _quoted(names: Iterable[Any]) -> str:
    return ", ".join(repr(name) for name in names)


@dataclass(frozen=True, slots=True)
class Records:
    """The answers that software with several outputs may give."""

    outputs: Mapping[str, Answers]

    def check(self, outcomes: NDArray[Any], expected: int) -> NDArray[Any]:
        """Return records as they are to be counted, or raise BadOutcome that names the output."""
        columns: dict[str, NDArray[Any]] = {}
        for name, answers in self.outputs.items():
            columns[name] = answers.check(outcomes[name], expected)
        return joined(columns)


def answers_of(
    meanings: Mapping[str, Meaning], made: Callable[[Meaning], Answers]
) -> Answers | Records:
    """Return the answers that software may give, by name where it has several outputs."""
    answers = {name: made(meaning) for name, meaning in meanings.items()}
    return answers[""] if "" in answers else Records(answers)


@dataclass(frozen=True, slots=True)
class RecalledCheck:
    """Refuses recalled replies that the software could not have given.

    >>> from evenhand.subject.outcome_check import Answers
    >>> RecalledCheck(Answers("loan", labels=("yes", "no")))({b"key": "maybe"})
    Traceback (most recent call last):
    evenhand.runtime.errors.BadOutcome: loan answered 'maybe', which is not an outcome; ...
    """

    answers: Answers | Records
    names: tuple[str, ...] = ()

    def __call__(self, known: Mapping[bytes, Reply]) -> None:
        """Raise the error that fresh answers of this kind would raise."""
        replies = list(known.values())
        for reply in replies:
            width = len(reply) if isinstance(reply, tuple) else 0
            if width != len(self.names):
                raise BadOutcome(
                    f"the ledger has {clip(repr(reply))} as an answer, which is not one outcome for"
                    f" each of {_quoted(self.names) or 'its inputs'}"
                )
        self.answers.check(packed(replies, self.names), len(replies))


class Recent:
    """The last batch and its answers, so that several views ask the same inputs at the cost of one.

    >>> recent = Recent()
    >>> points = np.ones((2, 1))
    >>> recent.keep(points, np.array([7, 8]))
    >>> recent.get(points + 1), recent.get(points.copy())
    (None, array([7, 8]))
    """

    def __init__(self) -> None:
        self._kept: tuple[Points, NDArray[Any]] | None = None

    def get(self, points: Points) -> NDArray[Any] | None:
        """Return the answers to these very points, None where others were asked last."""
        if self._kept is None:
            return None
        last_points, answers = self._kept
        if not np.array_equal(last_points, points):
            return None
        return answers.copy()

    def keep(self, points: Points, answers: NDArray[Any]) -> None:
        """Keep the answers to a batch instead of those to the last one."""
        # Copies, since callers may write to theirs.
        self._kept = (points.copy(order="K"), answers.copy())

    def __getstate__(self) -> dict[str, Any]:
        return {"_kept": None}  # not worth shipping to workers
