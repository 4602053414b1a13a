"""What counts as an answer: outcomes are checked before they are counted or written down."""

from __future__ import annotations

import math
import sys
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any

import numpy as np

from evenhand.runtime.errors import BadOutcome, UsageError, clip, nearest
from evenhand.runtime.values import as_outcomes
from evenhand.space.feature import plain

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from evenhand.subject.outcome_meaning import Meaning


_LARGEST = int(sys.float_info.max)
"""The largest whole number that can be compared with any other number."""
_LONGEST = 1 << 20
"""The most characters of an outcome that is a text."""


@dataclass(frozen=True, slots=True)
class Answers:
    """The answers that a subject may give.

    They are `closed` where it picks from known classes, so that no answer can be missing.

    >>> Answers("loan", labels=("yes", "no")).check(np.array(["yes", "no"]), 2).tolist()
    ['yes', 'no']
    """

    name: str
    labels: tuple[Any, ...] | None = None
    positive: Any = None
    closed: bool = False

    @classmethod
    def of(cls, meaning: Meaning) -> Answers:
        """Return the answers that fit what is known of an output."""
        # With scores, the positive value names the class that is scored and is no outcome itself. A
        # classifier picks from its classes, so its answers need no search for missing values.
        positive = None if meaning.scores else next(iter(meaning.values), None)
        return cls(meaning.about, meaning.labels, positive, bool(meaning.known))

    @classmethod
    def recalled(cls, meaning: Meaning) -> Answers:
        """Return the answers that a ledger may have kept.

        A classifier picks from its classes, but nobody has picked what stands in a file.
        """
        labels = meaning.labels
        if labels is None and not meaning.scores:
            labels = meaning.known or None
        return replace(cls.of(meaning), labels=labels, closed=False)

    def check(self, outcomes: NDArray[Any], expected: int) -> NDArray[Any]:
        """Return outcomes as they are to be counted, or raise BadOutcome."""
        outcomes = np.asarray(outcomes)
        if outcomes.shape != (expected,):
            raise self._wrong_shape(outcomes, expected)
        if outcomes.dtype.kind == "f":
            # Of numbers wider than 64 bits, Python and JSON know nothing.
            if outcomes.dtype.itemsize > 8:
                outcomes = outcomes.astype(np.float64)
            self._refuse_missing(np.isnan(outcomes), outcomes)
        elif outcomes.dtype.kind == "U":
            self._refuse_long(outcomes.dtype.itemsize // 4)
        elif outcomes.dtype.kind == "O" and not self.closed:
            outcomes = self._unpacked(outcomes)
        elif outcomes.dtype.kind not in "biuUO":
            raise self._no_outcome(f"returned {outcomes.dtype} values")
        if self.labels is not None:
            self._refuse_unknown_labels(outcomes, self.labels)
        elif self.positive is not None and expected:
            self._refuse_other_type(outcomes)
        return outcomes

    def _wrong_shape(self, outcomes: NDArray[Any], expected: int) -> BadOutcome:
        shape = outcomes.shape
        if outcomes.ndim == 2:
            return BadOutcome(
                f"{self.name} returned outcomes of shape {shape} for {expected:,} inputs; it must"
                " return one per input, or name its outputs with outputs=[…]"
            )
        return BadOutcome(
            f"{self.name} returned outcomes of shape {shape} for {expected:,} inputs; it must"
            " return one per input"
        )

    def _refuse_unknown_labels(
        self, outcomes: NDArray[Any], labels: tuple[Any, ...]
    ) -> None:
        unknown = set(outcomes.tolist()).difference(labels)
        if unknown:
            value = min(unknown, key=str)
            raise BadOutcome(
                f"{self.name} answered {clip(repr(value))}, which is not an outcome;"
                f" {nearest(value, labels)}"
            )

    def _refuse_other_type(self, outcomes: NDArray[Any]) -> None:
        """Refuse texts where the favourable outcome is a number, and numbers where it is a text."""
        if isinstance(self.positive, str) != isinstance(outcomes[0], str):
            first = outcomes[:1].tolist()[0]
            raise UsageError(
                f"{self.name} answered {clip(repr(first))}, which cannot be compared with"
                f" positive = {self.positive!r}; one is a text and the other is not"
            )

    def _unpacked(self, outcomes: NDArray[Any]) -> NDArray[Any]:
        """Return outcomes of any type in the narrowest array that holds them."""
        values = outcomes.tolist()
        kinds = set(map(type, values))
        if kinds == {str}:
            self._refuse_long(max(map(len, values)))
            return outcomes
        import pandas as pd

        self._refuse_missing(pd.isna(outcomes), outcomes)
        unwrapped = [plain(value) for value in values]
        for value in unwrapped:
            if not isinstance(value, str | int | float):
                raise self._no_outcome(f"answered {clip(_shown(value))}")
            if isinstance(value, int) and abs(value) > _LARGEST:
                digits = int(value.bit_length() * math.log10(2)) + 1
                raise BadOutcome(
                    f"{self.name} answered a number of about {digits:,} digits; an outcome has at"
                    f" most {sys.float_info.max_10_exp}"
                )
        is_text = [isinstance(value, str) for value in unwrapped]
        if any(is_text) and not all(is_text):
            first_text = unwrapped[is_text.index(True)]
            raise BadOutcome(
                f"{self.name} answered the text {clip(repr(first_text))} beside numbers; an outcome"
                " is always one or the other"
            )
        return as_outcomes(unwrapped)

    def _refuse_long(self, characters: int) -> None:
        """Refuse texts that can be no outcome, as when a program answers with a whole page."""
        if characters > _LONGEST:
            raise BadOutcome(
                f"{self.name} answered a text of {characters:,} characters; an outcome has at most"
                f" {_LONGEST:,}"
            )

    def _no_outcome(self, action: str) -> BadOutcome:
        return BadOutcome(
            f"{self.name} {action}; an outcome is a text, a number or a truth value"
        )

    def _refuse_missing(self, missing: NDArray[np.bool_], outcomes: NDArray[Any]) -> None:
        if missing.any():
            first = outcomes[int(missing.argmax())]
            count = int(missing.sum())
            raise BadOutcome(
                f"{self.name} answered {first} to {count:,} of {len(outcomes):,} inputs"
            )


def _shown(value: Any) -> str:
    """Return a value for a message; Python refuses to print numbers with many digits."""
    try:
        return repr(value)
    except Exception:
        return f"a {type(value).__name__}"
