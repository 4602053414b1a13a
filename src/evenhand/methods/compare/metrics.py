"""Scores of tables: how biased and how right predictions are, from counts by group, true and predicted label.

Each takes any number of tables at once, along leading axes. Groups are compared by their extremes, so that a bias over
more than two groups is the worst of any two; over several groupings it is the worst of all.
"""

from __future__ import annotations

import inspect
import warnings
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Protocol

import numpy as np

from evenhand.runtime.errors import DataError, EvenhandError, UsageError, clip, nearest

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

    from evenhand.methods.compare.contingency import Floats, Frame
    from evenhand.space.feature import Label


class Score(Protocol):
    """A number for each table."""

    @property
    def name(self) -> str:
        """What it is called."""

    @property
    def linear(self) -> bool:
        """Whether the score of a mean table is the mean score: for a bias, that of the signed difference."""

    @property
    def low(self) -> float:
        """The least it can be."""

    @property
    def high(self) -> float:
        """The most it can be."""

    def __call__(self, tables: Floats) -> Floats:
        """Return the score of each table; NaN where it is undefined."""


@dataclass(frozen=True)
class Bias:
    """A bias by name, over all groupings of a frame; `masks` say which labels count as favourable, one way or several.

    >>> from evenhand.methods.compare.contingency import Frame
    >>> frame = Frame.of([0, 1], {"sex": ["f", "m"]})
    >>> tables = np.array([[[3.0, 1.0], [0.0, 0.0]], [[1.0, 3.0], [0.0, 0.0]]])
    >>> float(Bias.of("spd", frame, 1)(tables))
    0.5
    """

    name: str
    frame: Frame
    masks: tuple[tuple[bool, ...], ...]

    low, high = 0.0, 1.0

    @classmethod
    def of(cls, name: str, frame: Frame, positive: Label | None) -> Bias:
        """Return a bias by its name; without a favourable label, the worst of each label against the rest."""
        if not isinstance(name, str) or name not in BIASES:
            raise UsageError(f"bias = {clip(repr(name))} is no bias by name; {nearest(name, BIASES)}")
        wanted = frame.labels if positive is None else (positive,)
        return cls(name, frame, tuple(tuple(label == one for label in frame.labels) for one in wanted))

    @property
    def linear(self) -> bool:
        """Whether blind overwriting takes it down in proportion."""
        return self.name in PROPORTIONAL

    def __call__(self, tables: Floats) -> Floats:
        """Return the bias of each table."""
        with np.errstate(invalid="ignore", divide="ignore"):
            found = [
                BIASES[self.name](grouping.fold(tables), np.array(mask))
                for grouping in self.frame.groupings
                for mask in self.masks
            ]
        return _worst(np.stack(found))

    def undefined(self, table: Floats) -> str:
        """Return which group a bias of one table cannot speak of, in words; empty where it can speak of all."""
        for grouping in self.frame.groupings:
            folded = grouping.fold(table)
            for mask in self.masks:
                for needed, what in _needed(self.name, folded, np.array(mask)):
                    if (needed == 0).any():
                        return f"{grouping.label(int(np.argmin(needed)))}: no row {what}"
        return ""


@dataclass(frozen=True)
class Performance:
    """A performance by name, over all rows; `positive` is the place of the favourable label, where there is one."""

    name: str
    positive: int | None

    @classmethod
    def of(cls, name: str, frame: Frame, positive: Label | None) -> Performance:
        """Return a performance by its name."""
        if name not in PERFORMANCES:
            raise UsageError(f"performance = {clip(repr(name))} is none by name; {nearest(name, PERFORMANCES)}")
        return cls(name, None if positive is None else frame.labels.index(positive))

    @property
    def linear(self) -> bool:
        """Whether its mean over random overwriting is its value for the mean table."""
        return self.name in ("accuracy", "balanced accuracy")

    @property
    def low(self) -> float:
        """The least it can be."""
        return -1.0 if self.name == "mcc" else 0.0

    high = 1.0

    def __call__(self, tables: Floats) -> Floats:
        """Return the performance of each table."""
        with np.errstate(invalid="ignore", divide="ignore"):
            return PERFORMANCES[self.name](tables.sum(axis=-3), self.positive)


@dataclass(frozen=True)
class Function:
    """A score that the user wrote, called with the people that a table stands for.

    A function that takes `sample_weight` gets one row for each cell, weighted by its people; another gets a row for
    each person, and fractions of people are rounded to whole ones.

    >>> from evenhand.methods.compare.contingency import Frame
    >>> frame = Frame.of([0, 1], {"sex": ["f", "m"]})
    >>> score = Function.of(lambda true, told: (true == told).mean(), frame)
    >>> float(score(np.array([[[3.0, 1.0], [0.0, 0.0]], [[1.0, 3.0], [0.0, 0.0]]])))
    0.5
    """

    name: str
    function: Callable[..., Any]
    frame: Frame
    takes: tuple[str, ...]
    """Which of sample_weight, sensitive_features and (by position) protected it takes."""

    linear = False
    low, high = -np.inf, np.inf

    @classmethod
    def of(cls, function: Any, frame: Frame) -> Function:
        """Return a score that calls a function of true and predicted labels and, if it takes them, protected values."""
        name = getattr(function, "__name__", None) or type(function).__name__
        return cls(str(name), function, frame, _taken(function))

    def __call__(self, tables: Floats) -> Floats:
        """Return what the function says of each table."""
        flat = tables.reshape(-1, *self.frame.shape)
        found = np.array([self._one(table) for table in flat]).reshape(tables.shape[:-3])
        return np.where(np.isfinite(found), found, np.nan)

    def _one(self, table: Floats) -> float:
        options: dict[str, Any] = {}
        if "sample_weight" in self.takes:
            at = np.flatnonzero(table > 0)
            options["sample_weight"] = table.ravel()[at]
        else:
            at = np.repeat(np.arange(table.size), whole(table).ravel().astype(np.intp))
        combination, truth, told = np.unravel_index(at, table.shape)
        labels = np.array(self.frame.labels)
        rows = [labels[truth], labels[told]]
        if "sensitive_features" in self.takes:
            options["sensitive_features"] = self._protected(combination)
        elif "protected" in self.takes:
            rows.append(self._protected(combination))
        try:
            with warnings.catch_warnings():
                warnings.filterwarnings("ignore", message=".* is ill-defined")  # where nobody is told some label
                return float(self.function(*rows, **options))
        except EvenhandError:
            raise
        except Exception as error:  # whatever the user's own function may raise
            raise UsageError(f"the function {self.name} failed ({type(error).__name__}: {clip(str(error))})") from error

    def _protected(self, combination: Any) -> Any:
        """Return the protected values of people: a column, or a frame of several."""
        import pandas as pd

        names, places = self.frame.names, range(len(self.frame.names))
        columns = [np.array([each[place] for each in self.frame.combinations])[combination] for place in places]
        return columns[0] if len(names) == 1 else pd.DataFrame(dict(zip(names, columns, strict=True)))


def _taken(function: Callable[..., Any]) -> tuple[str, ...]:
    """Return what else a metric takes: protected values by position or by Fairlearn's name, and weights."""
    try:
        parameters = inspect.signature(function).parameters
    except (TypeError, ValueError):
        return ("protected",)
    kinds = (inspect.Parameter.POSITIONAL_ONLY, inspect.Parameter.POSITIONAL_OR_KEYWORD)
    by_place = [one.name for one in parameters.values() if one.kind in kinds and one.name != "sample_weight"]
    every = any(one.kind is inspect.Parameter.VAR_POSITIONAL for one in parameters.values())
    found = [name for name in ("sample_weight", "sensitive_features") if name in parameters]
    if "sensitive_features" not in found and (every or len(by_place) > 2):
        found.append("protected")
    return tuple(found)


def whole(table: Floats) -> Floats:
    """Round a table to whole people, so that each group still has as many of each true label.

    >>> whole(np.array([[[1.5, 0.5]]])).tolist()
    [[[2.0, 0.0]]]
    """
    floor = np.floor(table + 1e-9)
    missing = np.rint((table - floor).sum(axis=-1, keepdims=True))
    rank = np.argsort(np.argsort(-(table - floor), axis=-1, kind="stable"), axis=-1, kind="stable")
    return np.asarray(floor + (rank < missing), dtype=np.float64)


def check_scores(scores: tuple[Score | None, Score], names: Sequence[str], tables: Floats) -> None:
    """Refuse predictions that a score says nothing of, and a bias that is no size; tables come by name and run."""
    for kind, score in zip(("bias", "performance"), scores, strict=True):
        if score is None:
            continue
        found = score(tables)
        for name, values in zip(names, found, strict=True):
            if np.isnan(values).any():
                raise DataError(
                    f"the {kind} {score.name} is undefined for the predictions of {clip(repr(name))}, and what is "
                    f"undefined cannot be compared; choose another {kind}"
                )
            if kind == "bias" and (values < 0).any():
                raise UsageError(
                    f"the bias {score.name} of {clip(repr(name))} is {float(values.min()):.4g}; a bias is a size of 0 "
                    f"or more, so take the absolute value of a difference"
                )


def check_defined(bias: Any, table: Floats, who: str) -> None:
    """Refuse a bias that cannot speak of a group: what is undefined must not read as fair."""
    if isinstance(bias, Bias) and (trouble := bias.undefined(table)):
        raise DataError(
            f"{who}: {bias.name} is undefined for {trouble}; leave small groups out with the option support, or choose "
            f"another bias"
        )


def _worst(values: Floats) -> Floats:
    """Return the largest along the first axis, passing over what is undefined unless all is."""
    defined = np.where(np.isnan(values), -np.inf, values).max(axis=0)
    return np.asarray(np.where(np.isneginf(defined), np.nan, defined), dtype=np.float64)


def _spread(rates: Floats) -> Floats:
    """Return the largest difference along the last axis."""
    low, high = _ends(rates)
    return high - low


def _ends(rates: Floats) -> tuple[Floats, Floats]:
    """Return the least and the largest along the last axis, passing over groups whose rate is undefined."""
    gone = np.isnan(rates)
    none = gone.all(axis=-1)
    low = np.where(none, np.nan, np.where(gone, np.inf, rates).min(axis=-1))
    return low, np.where(none, np.nan, np.where(gone, -np.inf, rates).max(axis=-1))


def _favoured(tables: Floats, mask: Any) -> Floats:
    """Return the share of each group that is told a favourable label."""
    return np.asarray(tables[..., mask].sum(axis=(-2, -1)) / tables.sum(axis=(-2, -1)))


def _odds(tables: Floats, mask: Any) -> tuple[Floats, Floats]:
    """Return the true and the false positive rates of each group."""
    return _favoured(tables[..., mask, :], mask), _favoured(tables[..., ~mask, :], mask)


def _averaged(tables: Floats, mask: Any) -> Floats:
    """Return the size of the average difference of both rates, as the paper defines it."""
    hits, alarms = _odds(tables, mask)
    return _spread((hits + alarms) / 2)


def _sizes(tables: Floats, mask: Any) -> Floats:
    """Return the average of the sizes of both differences: |a| + |b| is the larger of |a + b| and |a - b|."""
    hits, alarms = _odds(tables, mask)
    return np.asarray(np.maximum(_spread(hits + alarms), _spread(hits - alarms)) / 2)


def _impact(tables: Floats, mask: Any) -> Floats:
    """Return one less the ratio of the lowest to the highest rate; undefined where nobody is favoured."""
    low, high = _ends(_favoured(tables, mask))
    return 1 - low / high


BIASES: dict[str, Callable[[Floats, Any], Floats]] = {
    "spd": lambda tables, mask: _spread(_favoured(tables, mask)),
    "aod": _averaged,
    "aod-abs": _sizes,
    "eod": lambda tables, mask: _spread(_odds(tables, mask)[0]),
    "fpr": lambda tables, mask: _spread(_odds(tables, mask)[1]),
    "odds": lambda tables, mask: np.maximum(*map(_spread, _odds(tables, mask))),
    "di": _impact,
    "error": lambda tables, mask: _spread(_accuracy(tables, None)),
}
"""Biases by name: of group rates of favourable predictions (spd, di), of true and false positives (aod, the size of the
average difference, as the paper defines it; aod-abs, the average of the sizes, as its code computes it; eod, fpr, and
odds, the larger of the two), and of right predictions (error)."""
PROPORTIONAL = ("spd", "aod", "aod-abs", "eod", "fpr", "odds")
"""Biases that blind overwriting takes down in proportion to the share of people that it leaves alone."""


def _needed(name: str, tables: Floats, mask: Any) -> list[tuple[Floats, str]]:
    """Return how many rows of each group a bias rests on, and what they must have."""
    found = [(tables.sum(axis=(-2, -1)), "at all")]
    if name in ("aod", "aod-abs", "eod", "odds"):
        found.append((tables[..., mask, :].sum(axis=(-2, -1)), "with a favourable true label"))
    if name in ("aod", "aod-abs", "fpr", "odds"):
        found.append((tables[..., ~mask, :].sum(axis=(-2, -1)), "with an unfavourable true label"))
    return found


def _accuracy(tables: Floats, positive: int | None) -> Floats:
    return np.asarray(np.trace(tables, axis1=-2, axis2=-1) / tables.sum(axis=(-2, -1)))


def _balanced(tables: Floats, positive: int | None) -> Floats:
    recall = np.diagonal(tables, axis1=-2, axis2=-1) / tables.sum(axis=-1)
    there = ~np.isnan(recall)
    return np.asarray(np.where(there, recall, 0.0).sum(axis=-1) / there.sum(axis=-1))


def _f1(tables: Floats, positive: int | None) -> Floats:
    """Return the F1 of the favourable label, or the mean over labels that occur; 0 where there is nothing to find."""
    right = np.diagonal(tables, axis1=-2, axis2=-1)
    named = tables.sum(axis=-1) + tables.sum(axis=-2)
    each = np.where(named > 0, 2 * right / np.where(named > 0, named, 1.0), 0.0)
    if positive is not None:
        return np.asarray(each[..., positive])
    return np.asarray(each.sum(axis=-1) / (named > 0).sum(axis=-1))


def _mcc(tables: Floats, positive: int | None) -> Floats:
    """Return Matthews' correlation, for any number of labels; 0 where truth or predictions are constant."""
    total, true, told = tables.sum(axis=(-2, -1)), tables.sum(axis=-1), tables.sum(axis=-2)
    right = np.trace(tables, axis1=-2, axis2=-1)
    above = right * total - (true * told).sum(axis=-1)
    below = (total**2 - (told**2).sum(axis=-1)) * (total**2 - (true**2).sum(axis=-1))
    return np.asarray(np.where(below > 1e-9, above / np.sqrt(np.maximum(below, 1e-9)), 0.0))


PERFORMANCES: dict[str, Callable[[Floats, int | None], Floats]] = {
    "accuracy": _accuracy,
    "balanced accuracy": _balanced,
    "f1": _f1,
    "mcc": _mcc,
}
"""Performances by name, larger is better."""
