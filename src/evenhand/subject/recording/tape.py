"""Tapes: what the software answered, call by call, and in which order it was asked.

A Subject with a `Recording` writes down what it is answered; one with a `Playback` is answered from
what was written down, and never asks. Calls come in the same order whatever the clock says, so that
inputs need not be kept: a sum over them shows that the same were asked.
"""

from __future__ import annotations

import hashlib
import zlib
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any, Protocol

import numpy as np

from evenhand.runtime import errors
from evenhand.runtime.errors import SubjectError, UsageError
from evenhand.subject.outputs import joined
from evenhand.subject.recording.columns import AnswerColumn, unpacked

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping, Sequence

    from numpy.typing import NDArray

MOST_ANSWERS = 50_000_000
"""Answers of a check that are kept at most."""
_FAILURES = ("SubjectCrashed", "SubjectTimeout", "BadOutcome", "NotDeterministic")
"""Errors of the software that are repeated as they were."""


class NotRecorded(SubjectError):
    """An input that was not asked when the answers were recorded."""


class Tape(Protocol):
    """Stands between whoever asks and the software."""

    def outcomes(self, inputs: Any, ask: Callable[[Any], NDArray[Any]]) -> NDArray[Any]:
        """Return one outcome for each input."""
        ...

    def arrays(self, inputs: Any, ask: Callable[[Any], Any]) -> list[NDArray[Any]]:
        """Return several arrays with a row for each input, such as outcomes and margins."""
        ...


@dataclass
class Segment:
    """The calls of one check."""

    sizes: list[int] = field(default_factory=list)
    sums: list[int] = field(default_factory=list)
    layouts: list[int] = field(default_factory=list)
    known_layouts: dict[str, int] = field(default_factory=dict)
    layout_tables: list[list[list[Any]]] = field(default_factory=list)
    columns: dict[str, AnswerColumn] = field(default_factory=dict)
    failures: dict[int, list[str]] = field(default_factory=dict)
    digest: Any = field(default_factory=hashlib.sha256)
    answers: int = 0

    @property
    def overflown(self) -> bool:
        """Whether there were more answers than are kept."""
        return self.answers > MOST_ANSWERS

    def add(self, inputs: Any, named: Mapping[str, NDArray[Any]]) -> None:
        """Add a call and what it was answered."""
        layout = []
        for name, array in named.items():
            width = array.shape[1] if array.ndim == 2 else 0
            layout.append([name, array.dtype.newbyteorder("<").str, width])
        self._begin(inputs, layout)
        if self.overflown:
            self.columns.clear()
            return
        for array, entry in zip(named.values(), layout, strict=True):
            dtype = str(entry[1])
            self.columns.setdefault(dtype, AnswerColumn(dtype)).add(array)

    def fail(self, inputs: Any, error: SubjectError) -> None:
        """Add a call that failed."""
        self.failures[len(self.sizes)] = [type(error).__name__, str(error)]
        self._begin(inputs, [])

    def _begin(self, inputs: Any, layout: list[list[Any]]) -> None:
        content = bytes_of(inputs)
        self.digest.update(content)
        self.answers += len(inputs)
        self.sizes.append(len(inputs))
        self.sums.append(zlib.crc32(content))
        key = repr(layout)
        if key not in self.known_layouts:
            self.known_layouts[key] = len(self.layout_tables)
            self.layout_tables.append(layout)
        self.layouts.append(self.known_layouts[key])

    def packed(self, name: str) -> tuple[dict[str, Any], list[bytes]]:
        """Return what an index says of the calls of a check, and their bytes, piece by piece."""
        calls = np.array([self.sizes, self.sums, self.layouts], dtype="<u4")
        index: dict[str, Any] = {
            "check": name,
            "calls": len(self.sizes),
            "answers": self.answers,
            "inputs": self.digest.hexdigest(),
            "layouts": self.layout_tables,
            "failures": {str(call): failure for call, failure in self.failures.items()},
            "columns": [],
        }
        if self.overflown:
            index["overflown"] = True
            return index, []
        pieces = [calls.tobytes()]
        for column in self.columns.values():
            column_index, content = column.packed()
            column_index["bytes"] = len(content)
            index["columns"].append(column_index)
            pieces.append(content)
        return index, pieces


class Recording:
    """Writes down what the software answers; `end` closes the calls of a check."""

    def __init__(self) -> None:
        self.checks: list[tuple[str, Segment]] = []
        self._now = Segment()

    def outcomes(self, inputs: Any, ask: Callable[[Any], NDArray[Any]]) -> NDArray[Any]:
        """Return what the software answers, written down."""
        answered: NDArray[Any] = self._answered(inputs, ask)
        names = answered.dtype.names
        named = {name: answered[name] for name in names} if names else {"": answered}
        self._now.add(inputs, named)
        return answered

    def arrays(self, inputs: Any, ask: Callable[[Any], Any]) -> list[NDArray[Any]]:
        """Return the arrays that the software answers with, written down."""
        answered = [np.asarray(array) for array in self._answered(inputs, ask)]
        named = {str(place): array for place, array in enumerate(answered)}
        self._now.add(inputs, named)
        return answered

    def _answered(self, inputs: Any, ask: Callable[[Any], Any]) -> Any:
        try:
            return ask(inputs)
        except SubjectError as error:
            self._now.fail(inputs, error)
            raise

    def end(self, name: str) -> None:
        """Close the calls of a check."""
        self.checks.append((name, self._now))
        self._now = Segment()

    def packed(self) -> tuple[list[dict[str, Any]], bytes]:
        """Return the index of all checks, and their bytes one after another."""
        indices = []
        pieces: list[bytes] = []
        for name, segment in self.checks:
            index, own = segment.packed(name)
            indices.append(index)
            pieces += own
        return indices, b"".join(pieces)


@dataclass
class Calls:
    """The recorded calls of a check, of which one after another is answered."""

    check: str
    sizes: NDArray[Any]
    sums: NDArray[Any]
    layouts: NDArray[Any]
    tables: Sequence[Sequence[Sequence[Any]]]
    failures: Mapping[str, Sequence[str]]
    columns: Mapping[str, NDArray[Any]]
    overflown: bool = False
    call: int = 0
    read: dict[str, int] = field(default_factory=dict)

    @property
    def complete(self) -> bool:
        """Whether every recorded call was made."""
        return self.call == len(self.sizes)

    def next(self, inputs: Any) -> dict[str, NDArray[Any]]:
        """Return what the next call was answered; it must be about the same inputs."""
        if self.overflown:
            raise NotRecorded(
                f"check {self.check!r} has more answers than the {MOST_ANSWERS:,} that are recorded"
            )
        at = self.call
        if at >= len(self.sizes):
            raise NotRecorded(
                f"check {self.check!r} asks for more than its {len(self.sizes):,} recorded calls"
            )
        same = self.sizes[at] == len(inputs)
        if not same or self.sums[at] != zlib.crc32(bytes_of(inputs)):
            raise NotRecorded(
                f"call {at + 1:,} of check {self.check!r} is about other inputs than those recorded"
            )
        self.call += 1
        if str(at) in self.failures:
            raise _failure(*self.failures[str(at)])
        named = {}
        for name, dtype, width in self.tables[int(self.layouts[at])]:
            named[name] = self._taken(dtype, len(inputs), width)
        return named

    def _taken(self, dtype: str, size: int, width: int) -> NDArray[Any]:
        start = self.read.get(dtype, 0)
        stop = start + size * (width or 1)
        self.read[dtype] = stop
        part = self.columns[dtype][start:stop]
        if len(part) != stop - start:
            raise NotRecorded(f"check {self.check!r} has too few recorded answers")
        return part.reshape(size, width) if width else part


class Playback:
    """Answers from what was recorded; `begin` goes on to the calls of the next check."""

    def __init__(self, checks: Sequence[Calls]) -> None:
        self.checks = checks
        self.number = 0

    @property
    def now(self) -> Calls:
        """The calls of the check that is under way."""
        if self.number >= len(self.checks):
            raise NotRecorded("there are more checks than were recorded")
        return self.checks[self.number]

    def end(self, _name: str) -> None:
        """Go on to the calls of the next check."""
        self.number += 1

    def outcomes(self, inputs: Any, _ask: Callable[[Any], NDArray[Any]]) -> NDArray[Any]:
        """Return what was answered to these inputs."""
        named = self.now.next(inputs)
        if list(named) == [""]:
            return named[""]
        return joined(named)

    def arrays(self, inputs: Any, _ask: Callable[[Any], Any]) -> list[NDArray[Any]]:
        """Return the arrays that these inputs were answered with."""
        return list(self.now.next(inputs).values())


def read_calls(indices: Sequence[Mapping[str, Any]], content: bytes) -> list[Calls]:
    """Return the calls that `Recording.packed` has written; damage is a UsageError."""
    checks = []
    at = 0
    try:
        for index in indices:
            calls, at = _calls_of(index, content, at)
            checks.append(calls)
    except (IndexError, KeyError, OverflowError, TypeError, ValueError) as error:
        reason = f"{type(error).__name__}: {error}"
        raise UsageError(f"the recorded answers are damaged ({reason})") from None
    if at != len(content):
        raise UsageError(
            f"the recorded answers are damaged: {len(content):,} bytes instead of {at:,}"
        )
    return checks


def _calls_of(index: Mapping[str, Any], content: bytes, at: int) -> tuple[Calls, int]:
    """Return the calls of a check, whose bytes begin at a place, and where they end."""
    overflown = bool(index.get("overflown"))
    number = 0 if overflown else int(index["calls"])
    table = np.frombuffer(content, dtype="<u4", count=3 * number, offset=at)
    sizes, sums, layouts = table.reshape(3, number)
    at += table.nbytes
    columns = {}
    for column in index["columns"]:
        stop = at + int(column["bytes"])
        columns[column["dtype"]] = unpacked(column, content[at:stop])
        at = stop
    return (
        Calls(
            index["check"],
            sizes,
            sums,
            layouts,
            index["layouts"],
            index["failures"],
            columns,
            overflown,
        ),
        at,
    )


def _failure(kind: str, message: str) -> SubjectError:
    """Return the error that the software failed with."""
    found = getattr(errors, kind) if kind in _FAILURES else SubjectError
    failure: SubjectError = found(message)
    return failure


def bytes_of(inputs: Any) -> bytes:
    """Return bytes that tell inputs apart: points of a space, or texts.

    >>> bytes_of(["a", "b"]) == bytes_of(["ab"])
    False
    """
    if isinstance(inputs, np.ndarray):
        # The addition turns -0.0, whose bytes differ, into 0.0.
        points = np.ascontiguousarray(inputs, dtype="<f8") + 0.0
        return points.tobytes()
    lengths = np.array([len(text) for text in inputs], dtype="<u4")
    joined_texts = "".join(inputs)
    return lengths.tobytes() + joined_texts.encode("utf-8", "surrogatepass")
