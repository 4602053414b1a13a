"""Columns of recorded answers: as few bytes as keep every answer apart, the same for any machine.

Labels are numbered in the order in which they first came; two labels take a bit for each answer.
Numbers with a fraction are kept as they are, eight bytes each.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

import numpy as np

from evenhand.runtime.errors import UsageError
from evenhand.space.feature import plain

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping

    from numpy.typing import NDArray

KINDS = "bUiufO"
"""The kinds of numpy's types that answers can have."""
LONGEST = 1_000_000
"""The most bytes of one answer."""
_WIDTHS = {256: "|u1", 65_536: "<u2"}


@dataclass
class AnswerColumn:
    """Answers of one numpy type, as they come.

    >>> column = AnswerColumn("|b1")
    >>> column.add(np.array([True, False, True]))
    >>> index, content = column.packed()
    >>> index["count"], len(content), unpacked(index, content).tolist()
    (3, 1, [True, False, True])
    """

    dtype: str
    count: int = 0
    parts: list[NDArray[Any]] = field(default_factory=list)
    codes: dict[Any, int] = field(default_factory=dict)

    @property
    def raw(self) -> bool:
        """Whether answers are kept as they are, rather than numbered."""
        return np.dtype(self.dtype).kind == "f"

    def add(self, answers: NDArray[Any]) -> None:
        """Add answers of this type."""
        flat = answers.ravel()
        self.count += len(flat)
        if self.raw:
            self.parts.append(flat.astype(np.dtype(self.dtype).newbyteorder("<")))
        elif flat.dtype.kind == "O":
            self.parts.append(self._numbers_of(_typed(flat.tolist())))
        else:
            distinct, inverse = np.unique(flat, return_inverse=True)
            numbers = self._numbers_of(distinct.tolist())
            self.parts.append(numbers[inverse.ravel()])

    def _numbers_of(self, values: Iterable[Any]) -> NDArray[np.uint32]:
        """Return the number of each value, which a new one is given now."""
        numbers = [self.codes.setdefault(value, len(self.codes)) for value in values]
        return np.array(numbers, dtype=np.uint32)

    def packed(self) -> tuple[dict[str, Any], bytes]:
        """Return what an index says of the column, and its bytes."""
        index: dict[str, Any] = {"dtype": self.dtype, "count": self.count}
        if self.raw:
            return index, b"".join(part.tobytes() for part in self.parts)
        values = [_untyped(value) for value in self.codes]
        index["values"] = values
        numbers = np.concatenate([np.zeros(0, dtype=np.uint32), *self.parts])
        if len(values) <= 2:
            return index, np.packbits(numbers.astype(np.uint8)).tobytes()
        return index, numbers.astype(_number_type(len(values))).tobytes()


def unpacked(index: Mapping[str, Any], content: bytes) -> NDArray[Any]:
    """Return the answers that `AnswerColumn.packed` has packed; damage is a UsageError."""
    try:
        return _unpacked(index, content)
    except (IndexError, KeyError, OverflowError, TypeError, ValueError) as error:
        raise UsageError(
            f"the recorded answers are damaged ({type(error).__name__}: {error})"
        ) from None


def _unpacked(index: Mapping[str, Any], content: bytes) -> NDArray[Any]:
    dtype = np.dtype(index["dtype"])
    count = int(index["count"])
    if dtype.kind not in KINDS or dtype.itemsize > LONGEST or count < 0:
        raise ValueError(f"{count} answers of type {dtype}")
    if "values" not in index:
        answers = np.frombuffer(content, dtype=dtype.newbyteorder("<"))
        return _of_length(answers.astype(dtype), count)
    values = index["values"]
    if len(values) <= 2:
        if len(content) != (count + 7) // 8:
            raise ValueError(f"{len(content)} bytes for {count} answers")
        bits = np.frombuffer(content, dtype=np.uint8)
        numbers: NDArray[Any] = np.unpackbits(bits, count=count)
    else:
        numbers = np.frombuffer(content, dtype=_number_type(len(values)))
    table = np.empty(len(values), dtype=dtype)
    table[:] = values
    return _of_length(table[numbers], count)


def _of_length(answers: NDArray[Any], count: int) -> NDArray[Any]:
    if len(answers) != count:
        raise ValueError(f"{len(answers)} answers instead of {count}")
    return answers


def _number_type(values: int) -> str:
    """Return the narrowest type that numbers so many values."""
    for most, dtype in _WIDTHS.items():
        if values <= most:
            return dtype
    return "<u4"


def _typed(values: Iterable[Any]) -> list[tuple[str, Any]]:
    """Return values with their types, since 1 and True would be the same key."""
    found = [plain(value) for value in values]
    return [(type(value).__name__, value) for value in found]


def _untyped(value: Any) -> Any:
    return value[1] if isinstance(value, tuple) else value
