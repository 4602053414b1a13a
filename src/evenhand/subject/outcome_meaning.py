"""What outcomes mean: when two of them differ, and which of them are favourable.

Two outcomes differ as labels do (Themis, Definition 3.3), by more than a threshold γ (Aequitas), or
by a distance that the user gives.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from numbers import Real
from typing import TYPE_CHECKING, Any

import numpy as np

from evenhand.runtime.errors import SubjectCrashed, UsageError, clip, nearest
from evenhand.runtime.interruption import exits_reported
from evenhand.runtime.label_text import Words, shown, text_of
from evenhand.runtime.values import as_outcomes
from evenhand.space.feature import plain
from evenhand.space.values.labels import check_unique, read_labels

if TYPE_CHECKING:
    from typing import Self

    from numpy.typing import NDArray

    from evenhand.subject.outcome_scale import OutcomeScale

Differs = None | float | Callable[[Any, Any], Any]
"""When two outcomes differ.

None: labels differ. A number γ: numeric outcomes further apart than γ. A function: a distance in
[0, 1].
"""


def check_differs(differs: Differs, option: str = "differs") -> Differs:
    """Return a valid rule for what differs, or raise a UsageError that says what is wrong."""
    if differs is None or callable(differs):
        return differs
    is_number = isinstance(differs, Real) and not isinstance(differs, bool)
    if not is_number or not differs >= 0:
        raise UsageError(
            f"{option} = {clip(repr(differs))} must be None, a number of 0 or more, or a function"
            " of two outcomes"
        )
    return float(differs)


def distance(differs: Differs, a: NDArray[Any], b: NDArray[Any]) -> NDArray[Any]:
    """Return how far apart outcomes are.

    That is a truth value for labels and for γ, and a number in [0, 1] for a function.

    >>> distance(0.1, np.array([0.5, 0.5]), np.array([0.55, 0.7])).tolist()
    [False, True]
    """
    if differs is None:
        return np.asarray(a != b, dtype=np.bool_)
    if callable(differs):
        return _graded(differs, a, b)
    if a.dtype.kind not in "biuf" or b.dtype.kind not in "biuf":
        raise UsageError(
            f"differs = {differs!r} needs numeric outcomes, but they are texts; leave it out for"
            " labels"
        )
    gap = np.abs(a.astype(np.float64) - b.astype(np.float64))
    return gap > differs


def _graded(
    function: Callable[[Any, Any], Any], a: NDArray[Any], b: NDArray[Any]
) -> NDArray[Any]:
    """Return the distances that a function of the user gives, checked."""
    try:
        with exits_reported("the function of differs"):
            found = np.asarray(function(a, b))
    except SubjectCrashed:
        raise
    except Exception as error:
        raise UsageError(
            f"differs raised {type(error).__name__}: {clip(str(error))}"
        ) from error
    shape = np.broadcast_shapes(a.shape, b.shape)
    if found.shape != shape:
        raise UsageError(
            f"differs returned shape {found.shape} for outcomes of shape {shape}; "
            "it must compare arrays element by element"
        )
    if found.dtype.kind not in "biuf":
        raise UsageError(
            f"differs returned {found.dtype} values; it must return truth values or numbers from 0"
            " to 1"
        )
    if found.dtype.kind == "b":
        return found
    outside = ~((found >= 0) & (found <= 1))  # which is also true of NaN
    if outside.any():
        first = found[outside][0]
        raise UsageError(f"differs returned {first}, which is not a distance from 0 to 1")
    return found.astype(np.float64, copy=False)


@dataclass(frozen=True, slots=True)
class Meaning:
    """What is known of the outcomes of one output.

    Its name is empty where the software has only one.

    >>> rate = Meaning("loan", positive=lambda rate: rate < 5)
    >>> rate.favourable(np.array([3.5, 7.0])).tolist()
    [True, False]
    >>> Meaning("loan", positive=("A", "B")).counts
    True
    """

    software: str
    name: str = ""
    positive: Any = None
    """The favourable outcome, a tuple of those, or a function from outcomes to truth values."""
    labels: tuple[Any, ...] | None = None
    differs: Differs = None
    known: tuple[Any, ...] | None = None
    """The labels that a fitted classifier can give."""
    scores: bool = False
    """Whether outcomes are scores; a positive value then names the class that is scored."""
    numbers: bool = False
    """Whether outcomes are known to be numbers on a scale, as those of a regressor are."""
    words: Words = field(default_factory=dict)
    """What people call the outcomes, where the user says so."""
    scale: OutcomeScale | None = None
    """The spread of the outcomes, where it settled when they differ."""

    @classmethod
    def of(
        cls,
        software: str,
        name: str,
        positive: Any,
        labels: Any,
        differs: Any,
        known: Any,
        *,
        scores: bool,
        numbers: bool = False,
    ) -> Self:
        """Return the meaning of an output, or raise a UsageError where the options do not fit."""
        part = f"[{name!r}]" if name else ""
        words = _words(labels, known, f"labels{part}", software)
        if words:
            labels = None
        allowed = _checked_labels(labels, f"labels{part}")
        classes = None if known is None else tuple(known)
        favourable = _checked_positive(positive, f"positive{part}")
        rule = check_differs(differs, f"differs{part}")
        meaning = cls(
            software,
            name,
            favourable,
            allowed,
            rule,
            classes,
            scores,
            numbers or scores,
            words,
        )
        for value in meaning.values:
            if allowed is not None and value not in allowed:
                raise UsageError(
                    f"positive{part} = {value!r} is not in labels; {nearest(value, allowed)}"
                )
            if classes and value not in classes:
                raise UsageError(
                    f"positive{part} = {value!r} is not a class of {software};"
                    f" {nearest(value, classes)}"
                )
        return meaning

    @property
    def about(self) -> str:
        """The output in a few words, for messages."""
        if self.name:
            return f"output {self.name!r} of {self.software}"
        return self.software

    @property
    def values(self) -> tuple[Any, ...]:
        """The favourable outcomes, where they are named one by one."""
        if self.positive is None or callable(self.positive):
            return ()
        if isinstance(self.positive, tuple):
            return self.positive
        return (self.positive,)

    @property
    def classes(self) -> tuple[Any, ...] | None:
        """The known labels; None for scores, and for truth values, of which true is favourable."""
        if self.labels is None:
            found = self.known
        else:
            found = self.labels
        if self.scores or not found or set(found) <= {False, True}:
            return None
        return found

    @property
    def open_scale(self) -> bool:
        """Whether outcomes may be on a scale, and the user does not say when two of them differ."""
        if self.differs is not None or self.labels is not None:
            return False
        if self.scores:
            return True
        return not self.known and not self.values

    def shown(self, outcome: Any) -> Any:
        """Return an outcome as people call it."""
        return shown(outcome, self.words)

    @property
    def has_threshold(self) -> bool:
        """Whether the user says how far apart outcomes must be, which may be any numbers."""
        is_open = self.labels is None and self.known is None and self.positive is None
        return is_open and isinstance(self.differs, float)

    @property
    def measured(self) -> bool:
        """Whether outcomes are amounts with no favourable one, whose means are compared."""
        is_amount = self.numbers or self.scale is not None
        return is_amount and not self.scores and self.positive is None

    @property
    def counts(self) -> bool:
        """Whether an outcome is either favourable or not, rather than more or less so."""
        return callable(self.positive) or not (self.scores or self.measured)

    def favourable(self, outcomes: NDArray[Any]) -> NDArray[np.bool_]:
        """Return which outcomes are favourable."""
        if callable(self.positive):
            return self._judged(self.positive, outcomes)
        if self.scores:
            raise UsageError(
                f"{self.about} gives scores, none of which is the favourable one; use threshold=…"
                " for labels"
            )
        if self.values:
            matches = [outcomes == value for value in self.values]
            return np.asarray(np.any(matches, axis=0), dtype=np.bool_)
        if outcomes.dtype.kind in "biu":
            zero_or_one = (outcomes == 0) | (outcomes == 1)
            if bool(zero_or_one.all()):
                return outcomes.astype(np.bool_)
        option = f"positive={{{self.name!r}: …}}" if self.name else "positive=…"
        if outcomes.dtype.kind in "iuf":
            raise UsageError(
                f"say which outcome of {self.about} is the favourable one, with {option}, a value"
                " or a function such as lambda y: y > 0.5"
            )
        raise UsageError(
            f"say which outcome of {self.about} is the favourable one, with {option}"
        )

    def favours(self, answer: Any) -> bool:
        """Return whether an answer is known to be favourable.

        >>> Meaning("loan").favours(True), Meaning("loan").favours("approve")
        (True, False)
        >>> Meaning("loan", positive="approve").favours("approve")
        True
        """
        if callable(self.positive):
            return bool(self._judged(self.positive, as_outcomes([answer]))[0])
        if self.scores or self.measured:
            return False
        if self.values:
            return answer in self.values
        return isinstance(answer, int) and answer == 1

    def refuse_never_given(self, answers: Sequence[Any]) -> None:
        """Refuse a favourable outcome that is not among the answers of a run.

        What a classifier names among its classes, or the user among the labels, is an outcome all
        the same: the run has only not come upon it. So is either of two truth values.
        """
        if self.scores or not self.values or not answers:
            return
        known = {*answers, *(self.known or ()), *(self.labels or ())}
        if all(isinstance(answer, bool) for answer in answers):
            known |= {False, True}
        if known.intersection(self.values):
            return
        option = f"positive[{self.name!r}]" if self.name else "positive"
        if len(self.values) > 1:
            value = self.positive
        else:
            value = self.values[0]
        named = clip(repr(value))
        choices = nearest(self.values[0], answers)
        raise UsageError(
            f"{self.about} never answered {option} = {named} in this run, so that nobody would be"
            f" favoured; {choices}, which it answered. If it can answer {named}, name all its"
            " answers with labels=[…]"
        )

    def amount(self, outcomes: NDArray[Any]) -> NDArray[np.float64]:
        """Return how favourable each outcome is: 0 or 1 for labels, the score or number itself."""
        if self.counts:
            return self.favourable(outcomes).astype(np.float64)
        scores = outcomes.astype(np.float64)
        if self.measured:
            return scores
        outside = ~((scores >= 0) & (scores <= 1))
        if outside.any():
            first = scores[outside][0]
            raise UsageError(
                f"{self.about} gave the score {first:g}, which is not from 0 to 1; say"
                " which scores are favourable, with a function such as positive=lambda score:"
                " score > 0, or with threshold=…"
            )
        return scores

    def _judged(
        self, function: Callable[[Any], Any], outcomes: NDArray[Any]
    ) -> NDArray[np.bool_]:
        part = f"positive[{self.name!r}]" if self.name else "positive"
        try:
            with exits_reported(f"the function of {part}"):
                found = np.asarray(function(outcomes))
        except SubjectCrashed:
            raise
        except Exception as error:
            raise UsageError(
                f"{part} raised {type(error).__name__}: {clip(str(error))}"
            ) from error
        if found.shape != outcomes.shape or found.dtype.kind != "b":
            raise UsageError(
                f"{part} returned {found.dtype} values of shape {found.shape} for outcomes of shape"
                f" {outcomes.shape}; it must return one truth value per outcome"
            )
        return found


def one_answer(outcomes: Sequence[Any], positive: Any) -> dict[str, Any]:
    """Return the fields of a finding on recorded outcomes that are all the same, if they are.

    >>> one_answer(["deny"], "approve")
    {'only_answer': 'deny', 'unfavoured': True}
    >>> one_answer(["deny", "approve"], "approve")
    {}
    """
    if len(outcomes) != 1:
        return {}
    meaning = Meaning("the log", positive=positive)
    return {"only_answer": outcomes[0], "unfavoured": not meaning.favours(outcomes[0])}


def _words(labels: Any, known: Any, option: str, software: str) -> dict[str, str]:
    """Return what outcomes are called, empty where labels only list the outcomes."""
    if not isinstance(labels, Mapping):
        return {}
    words = dict(read_labels(option, labels))
    check_unique(option, words.values())
    classes = [text_of(plain(label)) for label in known or ()]
    for text in words:
        if classes and text not in classes:
            raise UsageError(
                f"{option} names {clip(repr(text))}, which is not a class of {software};"
                f" {nearest(text, classes)}"
            )
    return words


def _checked_labels(labels: Any, option: str) -> tuple[Any, ...] | None:
    """Return all outcomes that there are as a tuple, or raise a UsageError."""
    if labels is None:
        return None
    is_list = isinstance(labels, Iterable) and not isinstance(labels, str)
    values = tuple(labels) if is_list else ()
    are_outcomes = all(isinstance(plain(value), str | int | float) for value in values)
    if not is_list or not are_outcomes:
        raise UsageError(f"{option} = {clip(repr(labels))} must be a list of outcomes")
    return values


def _checked_positive(positive: Any, option: str) -> Any:
    """Return one favourable outcome, a function, or several outcomes as a tuple.

    Raises a UsageError for anything else.
    """
    if positive is None or callable(positive):
        return positive
    several = isinstance(positive, list | tuple | set | frozenset | np.ndarray)
    if several:
        values = tuple(map(plain, positive))
    else:
        values = (plain(positive),)
    are_outcomes = all(isinstance(value, str | int | float) for value in values)
    if not values or not are_outcomes:
        raise UsageError(
            f"{option} = {clip(repr(positive))} must be an outcome, a list of outcomes, or a"
            " function of an array of outcomes"
        )
    kinds = {isinstance(value, str) for value in values}
    if len(kinds) > 1:
        raise UsageError(
            f"{option} = {clip(repr(positive))} has texts beside numbers; an outcome is one or the"
            " other"
        )
    if several:
        return values
    return positive
