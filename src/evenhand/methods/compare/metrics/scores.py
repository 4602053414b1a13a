"""Scores of a frame's tables: a metric over all its groups and labels, or a function that the user
wrote.

Each takes any number of tables at once, along leading axes. A bias over several groupings is the
worst of all.
"""

from __future__ import annotations

import inspect
import warnings
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Protocol

import numpy as np

from evenhand.methods.compare.metrics import as_metric, metric_names
from evenhand.runtime.errors import DataError, EvenhandError, UsageError, clip, nearest

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

    from evenhand.methods.compare.contingency import Floats, Frame
    from evenhand.methods.compare.metrics import Mask, Metric
    from evenhand.space.feature import Label


class Score(Protocol):
    """A number for each table."""

    @property
    def name(self) -> str:
        """What it is called."""

    @property
    def linear(self) -> bool:
        """Whether the score of a mean table is the mean score: for a bias, that of the signed
        difference.
        """

    @property
    def low(self) -> float:
        """The least it can be."""

    @property
    def high(self) -> float:
        """The most it can be."""

    def __call__(self, tables: Floats) -> Floats:
        """Return the score of each table; NaN where it is undefined."""


@dataclass(frozen=True)
class _Measured:
    """What a score has from its metric."""

    metric: Metric

    @property
    def name(self) -> str:
        """What it is called."""
        return self.metric.name

    @property
    def linear(self) -> bool:
        """Whether blind overwriting moves it in proportion."""
        return self.metric.linear

    @property
    def low(self) -> float:
        """The least it can be."""
        return self.metric.bounds[0]

    @property
    def high(self) -> float:
        """The most it can be."""
        return self.metric.bounds[1]


@dataclass(frozen=True)
class Bias(_Measured):
    """A bias over all groupings of a frame; `masks` say which labels count as favourable, one way
    or several.

    >>> from evenhand.methods.compare.contingency import Frame
    >>> frame = Frame.of([0, 1], {"sex": ["f", "m"]})
    >>> tables = np.array([[[3.0, 1.0], [0.0, 0.0]], [[1.0, 3.0], [0.0, 0.0]]])
    >>> float(Bias.of("spd", frame, 1)(tables))
    0.5
    """

    frame: Frame
    masks: tuple[tuple[bool, ...], ...]

    @classmethod
    def of(cls, bias: str | Metric, frame: Frame, positive: Label | None) -> Bias:
        """Return a bias by its name or metric; without a favourable label, the worst of each label
        against the rest.
        """
        metric = as_metric(bias, "bias")
        if metric is None:
            raise UsageError(
                f"bias = {clip(repr(bias))} is no bias by name;"
                f" {nearest(bias, metric_names('bias'))}"
            )
        wanted = frame.labels if positive is None else (positive,)
        return cls(
            metric, frame, tuple(tuple(label == one for label in frame.labels) for one in wanted)
        )

    def __call__(self, tables: Floats) -> Floats:
        """Return the bias of each table."""
        found = [
            _values(self.metric, grouping.fold(tables), np.array(mask), tables.shape[:-3])
            for grouping in self.frame.groupings
            for mask in self.masks
        ]
        return _worst(np.stack(found))

    def undefined(self, table: Floats) -> str:
        """Return which group a bias of one table cannot speak of, in words; empty where it can
        speak of all.
        """
        for grouping in self.frame.groupings:
            folded = grouping.fold(table)
            for mask in self.masks:
                for needed, what in _needed(self.metric, folded, np.array(mask)):
                    if (needed == 0).any():
                        return f"{grouping.label(int(np.argmin(needed)))}: no row {what}"
        return ""


@dataclass(frozen=True)
class Performance(_Measured):
    """A performance over all rows; `favourable` says of each label whether it is, where that is
    known.
    """

    favourable: tuple[bool, ...] | None

    @classmethod
    def of(cls, metric: Metric, frame: Frame, positive: Label | None) -> Performance:
        """Return the performance of a metric."""
        return cls(
            metric, None if positive is None else tuple(label == positive for label in frame.labels)
        )

    def __call__(self, tables: Floats) -> Floats:
        """Return the performance of each table."""
        favourable = None if self.favourable is None else np.array(self.favourable)
        return _values(self.metric, tables.sum(axis=-3), favourable, tables.shape[:-3])


def _values(
    metric: Metric, cells: Floats, favourable: Mask | None, shape: tuple[int, ...]
) -> Floats:
    """Return what a metric says of each table; who wrote it is told where it says something else."""
    try:
        with np.errstate(invalid="ignore", divide="ignore"):
            found = np.asarray(metric.function(cells, favourable), dtype=np.float64)
    except EvenhandError:
        raise
    except Exception as error:  # whatever the user's own function may raise
        raise UsageError(
            f"the metric {metric.name} failed ({type(error).__name__}: {clip(str(error))})"
        ) from error
    if found.shape != shape:
        raise UsageError(
            f"the metric {metric.name} gave numbers of the shape {found.shape} for tables of the"
            f" shape {cells.shape}; give one for each table, of the shape {shape}"
        )
    return found


def _needed(metric: Metric, tables: Floats, mask: Mask) -> list[tuple[Floats, str]]:
    """Return how many rows of each group a bias rests on, and what they must have."""
    found = [(tables.sum(axis=(-2, -1)), "at all")]
    if "favourable" in metric.rests_on:
        found.append((tables[..., mask, :].sum(axis=(-2, -1)), "with a favourable true label"))
    if "unfavourable" in metric.rests_on:
        found.append((tables[..., ~mask, :].sum(axis=(-2, -1)), "with an unfavourable true label"))
    return found


@dataclass(frozen=True)
class Function:
    """A score that the user wrote, called with the people that a table stands for.

    A function that takes `sample_weight` gets one row for each cell, weighted by its people;
    another gets a row for each person, and fractions of people are rounded to whole ones.

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
        """Return a score that calls a function of true and predicted labels and, if it takes them,
        protected values.
        """
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
                warnings.filterwarnings(
                    "ignore", message=".* is ill-defined"
                )  # where nobody is told some label
                return float(self.function(*rows, **options))
        except EvenhandError:
            raise
        except Exception as error:  # whatever the user's own function may raise
            raise UsageError(
                f"the function {self.name} failed ({type(error).__name__}: {clip(str(error))})"
            ) from error

    def _protected(self, combination: Any) -> Any:
        """Return the protected values of people: a column, or a frame of several."""
        import pandas as pd

        names, places = self.frame.names, range(len(self.frame.names))
        columns = [
            np.array([each[place] for each in self.frame.combinations])[combination]
            for place in places
        ]
        return (
            columns[0] if len(names) == 1 else pd.DataFrame(dict(zip(names, columns, strict=True)))
        )


def _taken(function: Callable[..., Any]) -> tuple[str, ...]:
    """Return what else a metric takes: protected values by position or by Fairlearn's name, and
    weights.
    """
    try:
        parameters = inspect.signature(function).parameters
    except (TypeError, ValueError):
        return ("protected",)
    kinds = (inspect.Parameter.POSITIONAL_ONLY, inspect.Parameter.POSITIONAL_OR_KEYWORD)
    by_place = [
        one.name for one in parameters.values() if one.kind in kinds and one.name != "sample_weight"
    ]
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
    """Refuse predictions that a score says nothing of, and a bias that is no size; tables come by
    name and run.
    """
    for kind, score in zip(("bias", "performance"), scores, strict=True):
        if score is None:
            continue
        found = score(tables)
        for name, values in zip(names, found, strict=True):
            if np.isnan(values).any():
                raise DataError(
                    f"the {kind} {score.name} is undefined for the predictions of"
                    f" {clip(repr(name))}, and what is undefined cannot be compared; choose another"
                    f" {kind}"
                )
            if kind == "bias" and (values < 0).any():
                raise UsageError(
                    f"the bias {score.name} of {clip(repr(name))} is {float(values.min()):.4g}; a"
                    " bias is a size of 0 or more, so take the absolute value of a difference"
                )


def check_defined(bias: Any, table: Floats, who: str) -> None:
    """Refuse a bias that cannot speak of a group: what is undefined must not read as fair."""
    if isinstance(bias, Bias) and (trouble := bias.undefined(table)):
        raise DataError(
            f"{who}: {bias.name} is undefined for {trouble}; leave small groups out with the option"
            " support, or choose another bias"
        )


def _worst(values: Floats) -> Floats:
    """Return the largest along the first axis, passing over what is undefined unless all is."""
    defined = np.where(np.isnan(values), -np.inf, values).max(axis=0)
    return np.asarray(np.where(np.isneginf(defined), np.nan, defined), dtype=np.float64)
