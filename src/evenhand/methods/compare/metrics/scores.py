"""Scores of a frame's tables: a metric over all its groups and labels, or a function of the user.

Each takes any number of tables at once, along leading axes. A bias over several groupings is the
worst of all.
"""

from __future__ import annotations

import inspect
import warnings
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Protocol

import numpy as np

from evenhand.methods.compare import messages
from evenhand.methods.compare.metrics import as_metric, metric_names
from evenhand.runtime.errors import DataError, EvenhandError, UsageError, clip, nearest
from evenhand.runtime.interruption import exits_reported

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

    from evenhand.methods.compare.contingency import Floats, Frame
    from evenhand.methods.compare.metrics import Mask, Metric
    from evenhand.space.feature import Label


class TableScore(Protocol):
    """A number for each table."""

    @property
    def name(self) -> str:
        """What it is called."""

    @property
    def linear(self) -> bool:
        """Whether the score of a mean table is the mean score.

        For a bias, that of the signed difference.
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
class _MetricScore:
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
class Bias(_MetricScore):
    """A bias over all groupings of a frame.

    Each of `masks` says which labels count as favourable.

    >>> from evenhand.methods.compare.contingency import Frame
    >>> frame = Frame.of([0, 1], {"sex": ["f", "m"]})
    >>> tables = np.array([[[3.0, 1.0], [0.0, 0.0]], [[1.0, 3.0], [0.0, 0.0]]])
    >>> float(Bias.of("spd", frame, 1)(tables))
    0.5
    """

    frame: Frame
    masks: tuple[tuple[bool, ...], ...]

    @classmethod
    def of(
        cls,
        bias: str | Metric,
        frame: Frame,
        positive: Label | None,
    ) -> Bias:
        """Return a bias by its name or metric.

        Without a favourable label, it is the worst of each label against the rest.
        """
        metric = as_metric(bias, "bias")
        if metric is None:
            choices = nearest(bias, metric_names("bias"))
            message = messages.UNKNOWN_BIAS.format(
                bias=clip(repr(bias)),
                choices=choices,
            )
            raise UsageError(message)
        favourable_labels = frame.labels if positive is None else (positive,)
        masks = [_mask(frame, favourable) for favourable in favourable_labels]
        return cls(metric, frame, tuple(masks))

    def __call__(self, tables: Floats) -> Floats:
        """Return the bias of each table."""
        shape = tables.shape[:-3]
        found = []
        for grouping in self.frame.groupings:
            folded = grouping.fold(tables)
            for mask in self.masks:
                biases = _values(self.metric, folded, np.array(mask), shape)
                found.append(biases)
        return _worst(np.stack(found))

    def undefined(self, table: Floats) -> str:
        """Return the group of one table for which the bias is undefined, and why.

        It is empty where the bias is defined for all groups.
        """
        for grouping in self.frame.groupings:
            folded = grouping.fold(table)
            for mask in self.masks:
                for rows, reason in _needed_rows(self.metric, folded, np.array(mask)):
                    if (rows == 0).any():
                        return f"{grouping.label(int(np.argmin(rows)))}: {reason}"
        return ""


@dataclass(frozen=True)
class Performance(_MetricScore):
    """A performance over all rows.

    `favourable` says of each label whether it is favourable, where that is known.
    """

    favourable: tuple[bool, ...] | None

    @classmethod
    def of(
        cls,
        metric: Metric,
        frame: Frame,
        positive: Label | None,
    ) -> Performance:
        """Return the performance of a metric."""
        favourable = None if positive is None else _mask(frame, positive)
        return cls(metric, favourable)

    def __call__(self, tables: Floats) -> Floats:
        """Return the performance of each table."""
        favourable = None if self.favourable is None else np.array(self.favourable)
        cells = tables.sum(axis=-3)
        return _values(self.metric, cells, favourable, tables.shape[:-3])


def _mask(frame: Frame, favourable: Label) -> tuple[bool, ...]:
    """Return of each label whether it is the favourable one."""
    return tuple(label == favourable for label in frame.labels)


def _values(
    metric: Metric,
    cells: Floats,
    favourable: Mask | None,
    shape: tuple[int, ...],
) -> Floats:
    """Return the number that a metric gives each table, or an error that names the metric."""
    try:
        with exits_reported(metric.name), np.errstate(invalid="ignore", divide="ignore"):
            found = np.asarray(metric.function(cells, favourable), dtype=np.float64)
    except EvenhandError:
        raise
    except Exception as error:  # whatever the user's own function may raise
        message = messages.METRIC_FAILED.format(
            name=metric.name,
            kind=type(error).__name__,
            error=clip(str(error)),
        )
        raise UsageError(message) from error
    if found.shape != shape:
        message = messages.METRIC_SHAPE.format(
            name=metric.name,
            found=found.shape,
            tables=cells.shape,
            wanted=shape,
        )
        raise UsageError(message)
    return found


def _needed_rows(
    metric: Metric,
    tables: Floats,
    mask: Mask,
) -> list[tuple[Floats, str]]:
    """Return how many rows of each group a bias rests on, and what is wrong if there are none."""
    needed = [(tables.sum(axis=(-2, -1)), messages.NO_ROW)]
    if "favourable" in metric.rests_on:
        rows = tables[..., mask, :].sum(axis=(-2, -1))
        needed.append((rows, messages.NO_FAVOURABLE_ROW))
    if "unfavourable" in metric.rests_on:
        rows = tables[..., ~mask, :].sum(axis=(-2, -1))
        needed.append((rows, messages.NO_UNFAVOURABLE_ROW))
    return needed


@dataclass(frozen=True)
class Function:
    """A score that the user wrote, called with the people that a table stands for.

    A function that takes `sample_weight` gets one row for each cell, weighted by its people;
    another gets a row for each person, and fractions of people are rounded to whole ones.

    >>> from evenhand.methods.compare.contingency import Frame
    >>> frame = Frame.of([0, 1], {"sex": ["f", "m"]})
    >>> score = Function.of(lambda true, predicted: (true == predicted).mean(), frame)
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
        """Return a score that calls a function of true and predicted labels.

        If the function takes protected values, it gets them too.
        """
        name = getattr(function, "__name__", None) or type(function).__name__
        return cls(str(name), function, frame, _taken(function))

    def __call__(self, tables: Floats) -> Floats:
        """Return the number that the function gives each table."""
        flat = tables.reshape(-1, *self.frame.shape)
        numbers = np.array([self._score(table) for table in flat])
        found = numbers.reshape(tables.shape[:-3])
        return np.where(np.isfinite(found), found, np.nan)

    def _score(self, table: Floats) -> float:
        """Return the number that the function gives one table."""
        options: dict[str, Any] = {}
        if "sample_weight" in self.takes:
            cells = np.flatnonzero(table > 0)
            options["sample_weight"] = table.ravel()[cells]
        else:
            people = whole(table).ravel().astype(np.intp)
            cells = np.repeat(np.arange(table.size), people)
        combination, truth, predicted = np.unravel_index(cells, table.shape)
        labels = np.array(self.frame.labels)
        columns = [labels[truth], labels[predicted]]
        if "sensitive_features" in self.takes:
            options["sensitive_features"] = self._protected(combination)
        elif "protected" in self.takes:
            columns.append(self._protected(combination))
        try:
            with exits_reported(self.name), warnings.catch_warnings():
                # Scikit-learn warns where some label is predicted for nobody, which blind
                # overwriting brings about on purpose.
                warnings.filterwarnings("ignore", message=".* is ill-defined")
                return float(self.function(*columns, **options))
        except EvenhandError:
            raise
        except Exception as error:  # whatever the user's own function may raise
            message = messages.FUNCTION_FAILED.format(
                name=self.name,
                kind=type(error).__name__,
                error=clip(str(error)),
            )
            raise UsageError(message) from error

    def _protected(self, combination: Any) -> Any:
        """Return the protected values of people: a column, or a frame of several."""
        import pandas as pd

        columns = {}
        for place, name in enumerate(self.frame.names):
            values = np.array([each[place] for each in self.frame.combinations])
            columns[name] = values[combination]
        if len(columns) == 1:
            return next(iter(columns.values()))
        return pd.DataFrame(columns)


def _taken(function: Callable[..., Any]) -> tuple[str, ...]:
    """Return what else a function takes: weights, and protected values.

    Protected values are passed by Fairlearn's name for them, or as a third argument.
    """
    try:
        parameters = inspect.signature(function).parameters
    except (TypeError, ValueError):
        return ("protected",)
    found = [name for name in ("sample_weight", "sensitive_features") if name in parameters]
    if "sensitive_features" not in found and _takes_a_third(parameters.values()):
        found.append("protected")
    return tuple(found)


def _takes_a_third(parameters: Any) -> bool:
    """Return whether a function takes more by position than true and predicted labels."""
    by_position = 0
    for parameter in parameters:
        if parameter.kind is inspect.Parameter.VAR_POSITIONAL:
            return True
        positional = parameter.kind in (
            inspect.Parameter.POSITIONAL_ONLY,
            inspect.Parameter.POSITIONAL_OR_KEYWORD,
        )
        if positional and parameter.name != "sample_weight":
            by_position += 1
    return by_position > 2


def whole(table: Floats) -> Floats:
    """Round a table to whole people, so that each group still has as many of each true label.

    >>> whole(np.array([[[1.5, 0.5]]])).tolist()
    [[[2.0, 0.0]]]
    """
    # The largest remainders are rounded up, as seats are apportioned. The small number keeps a
    # count such as 2.9999999999 from losing a person.
    floor = np.floor(table + 1e-9)
    remainder = table - floor
    missing = np.rint(remainder.sum(axis=-1, keepdims=True))
    order = np.argsort(-remainder, axis=-1, kind="stable")
    rank = np.argsort(order, axis=-1, kind="stable")
    return np.asarray(floor + (rank < missing), dtype=np.float64)


def check_scores(
    scores: tuple[TableScore | None, TableScore],
    names: Sequence[str],
    tables: Floats,
) -> None:
    """Refuse predictions for which a score is undefined, and a bias below 0.

    Tables come by name and run.
    """
    bias, performance = scores
    if bias is not None:
        found = bias(tables)
        for name, values in zip(names, found, strict=True):
            _check_known("bias", bias.name, name, values)
            if (values < 0).any():
                message = messages.NEGATIVE_BIAS.format(
                    score=bias.name,
                    name=clip(repr(name)),
                    value=f"{float(values.min()):.4g}",
                )
                raise UsageError(message)
    found = performance(tables)
    for name, values in zip(names, found, strict=True):
        _check_known("performance", performance.name, name, values)


def _check_known(kind: str, score: str, name: str, values: Floats) -> None:
    if np.isnan(values).any():
        message = messages.UNDEFINED_SCORE.format(
            kind=kind, score=score, name=clip(repr(name))
        )
        raise DataError(message)


def check_defined(bias: Any, table: Floats, test_set: str) -> None:
    """Refuse a bias that is undefined for a group: what is undefined must not read as fair."""
    if not isinstance(bias, Bias):
        return
    if problem := bias.undefined(table):
        message = messages.UNDEFINED_BIAS.format(
            test_set=test_set, bias=bias.name, problem=problem
        )
        raise DataError(message)


def _worst(values: Floats) -> Floats:
    """Return the largest along the first axis, passing over what is undefined unless all is."""
    largest = np.where(np.isnan(values), -np.inf, values).max(axis=0)
    return np.asarray(np.where(np.isneginf(largest), np.nan, largest), dtype=np.float64)
