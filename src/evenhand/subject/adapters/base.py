"""The one protocol between a Subject and the software under test."""

from __future__ import annotations

import json
import math
from contextlib import contextmanager
from numbers import Real
from typing import TYPE_CHECKING, Literal, Protocol, get_args

import numpy as np

from evenhand.runtime.errors import EvenhandError, SubjectCrashed, UsageError, clip, nearest

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

    from numpy.typing import NDArray

    from evenhand.space.space import Space

Scalar = str | int | float | bool
"""One outcome, as a person would write it down."""
Reply = Scalar | tuple[Scalar, ...]
"""What one input is answered with: an outcome, or one for each of several outputs."""
Output = Literal["label", "score"]
"""What of a model's answer is the outcome."""


class Adapter(Protocol):
    """What a Subject asks of the software under test.

    `run` yields partial answers as they are known, so that the Subject can write them down before the next one fails:
    pairs of (rows of `points`, their outcomes). All rows are answered once, in any order. Where an input fails, `run`
    first yields everything that has been answered, then raises a SubjectError that names the input.

    Where the Subject sets names of `outputs`, outcomes are records with one field for each of them.
    """

    outputs: tuple[str, ...]

    @property
    def identity(self) -> str:
        """Name the software under test, so that a ledger of another one can be refused."""
        ...

    @property
    def dear(self) -> bool:
        """Tell whether an answer costs a process, a request or a network hop, and so is worth remembering."""
        ...

    def check(self, space: Space) -> None:
        """Refuse a space that does not fit the software, before anything is run."""
        ...

    def run(self, points: NDArray[np.float64], space: Space) -> Iterator[tuple[NDArray[np.intp], NDArray[np.generic]]]:
        """Yield (rows, outcomes) until every point is answered."""
        ...

    def close(self) -> None:
        """Release processes and connections; the adapter may be used again afterwards."""
        ...


def check_output(output: str) -> None:
    """Refuse an output that is neither label nor score."""
    if output not in get_args(Output):
        raise UsageError(f"output = {output!r}; {nearest(output, get_args(Output))}")


def check_threshold(threshold: float | None) -> None:
    """Refuse a threshold that no probability can be on both sides of."""
    if threshold is not None and not (isinstance(threshold, Real) and 0 < threshold < 1):
        raise UsageError(f"threshold = {threshold!r} must lie between 0 and 1")


@contextmanager
def crashes_told(name: str, inputs: int) -> Iterator[None]:
    """Turn whatever the software raises on so many inputs into one sentence."""
    try:
        yield
    except EvenhandError:
        raise
    except Exception as error:
        raise SubjectCrashed(
            f"{name} raised {type(error).__name__} on {inputs:,} inputs: {clip(str(error))}"
        ) from error


def parse_outcome(text: str) -> Scalar:
    """Read one printed outcome: a JSON number, boolean or string is taken as such, anything else is text as it stands.

    >>> parse_outcome(" 1"), parse_outcome("approve"), parse_outcome('"1"')
    (1, 'approve', '1')
    """
    stripped = text.strip()
    try:
        value = json.loads(stripped)
    except (ValueError, RecursionError):
        return stripped
    return value if isinstance(value, str | int | float | bool) else stripped


def is_missing(value: object) -> bool:
    """Tell whether a value stands for no answer."""
    return value is None or (isinstance(value, float) and math.isnan(value))


def as_outcomes(values: Sequence[object]) -> NDArray[np.generic]:
    """Pack outcomes into the narrowest array that keeps them apart: bool, int64, float64, else object."""
    kinds = set(map(type, values))
    if kinds == {bool}:
        return np.array(values, dtype=np.bool_)
    if kinds == {int}:
        try:
            return np.array(values, dtype=np.int64)
        except OverflowError:
            pass
    if kinds and kinds <= {int, float}:
        return np.array(values, dtype=np.float64)
    return np.fromiter(values, dtype=object, count=len(values))
