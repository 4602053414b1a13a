"""The two axes of a comparison: a bias and a performance, by name, by function, or as they were
measured elsewhere.
"""

from __future__ import annotations

import inspect
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np

from evenhand.methods.compare import regions as blind
from evenhand.methods.compare.comparison import Baseline
from evenhand.methods.compare.metrics import Metric, as_metric, metric_names, needs_positive
from evenhand.methods.compare.metrics.scores import Bias, Function, Performance
from evenhand.methods.compare.standings import Given, Scores
from evenhand.runtime import number_text
from evenhand.runtime.errors import UsageError, clip, nearest
from evenhand.runtime.random_streams import stream
from evenhand.space.feature import plain
from evenhand.statistics.estimate import Amount, Estimate, Witnesses

if TYPE_CHECKING:
    from evenhand.methods.compare.contingency import Floats, Frame
    from evenhand.methods.compare.metrics.scores import Score
    from evenhand.space.feature import Label


@dataclass(frozen=True)
class Axes:
    """Both scores, the bias None where it was measured elsewhere, and how predictions are
    overwritten.
    """

    bias: Score | None
    performance: Score
    way: blind.Overwriting
    repetitions: int | None = None
    """How often the paper's procedure is repeated; None for the mean over all ways."""
    seed: int = 0

    @property
    def called(self) -> bool:
        """Whether a function of the user is called."""
        return isinstance(self.bias, Function) or isinstance(self.performance, Function)

    @property
    def linear(self) -> bool:
        """Whether the line is straight, and exact."""
        return (self.bias is None or self.bias.linear) and self.performance.linear

    def score(self, tables: Floats, *, ends: bool = False) -> Scores:
        """Return the scores of tables by name and run, the names on the last axis.

        With `ends`, a straight line is known by its two ends.
        """
        original = tables[..., 0, :, :, :, :]
        way = self.way
        if ends and self.linear and self.repetitions is None:
            way = blind.Overwriting((0.0, 1.0), way.label)
        bias = np.ones(tables.shape[:-3]) if self.bias is None else self.bias(tables)
        line = self._line(way, original)
        return Scores(_last(self.performance(tables)), _last(bias), line)

    def _line(self, way: blind.Overwriting, original: Floats) -> tuple[Floats, Floats]:
        if self.repetitions is None:
            return blind.curve(way, original, (self.bias, self.performance))
        flat = original.reshape(-1, *original.shape[-3:])
        rng = stream(self.seed, "compare", "overwriting")
        drawn = [
            blind.repeated(way, one, (self.bias, self.performance), self.repetitions, rng)
            for one in flat
        ]
        bias, performance = (
            np.array(part).reshape(*original.shape[:-3], -1) for part in zip(*drawn, strict=True)
        )
        return bias, performance

    def baseline(self, point: Scores, labels: Sequence[Label], strategy: str) -> Baseline:
        """Return the line of the point, to be told."""
        if self.repetitions is not None:
            method = "monte carlo"
        elif self.bias is None:
            method = "in proportion"
        else:
            method = "exact" if self.linear else "expected cells"
        label = None if self.way.label is None else labels[self.way.label]
        bias, performance = (tuple(float(value) for value in part) for part in point.line)
        return Baseline(self.way.degrees, performance, bias, label, strategy, method)

    def notes(self, runs: Scores) -> list[str]:
        """Return in how many runs the original had nothing to give up."""
        weak = int((runs.line[1][..., -1] >= runs.performance[..., 0]).sum())
        total = runs.performance[..., 0].size
        return (
            [f"in {weak} of {total} runs blind overwriting was at least as right as the original"]
            if weak
            else []
        )


def _last(values: Floats) -> Floats:
    """Return values by name and run as values by run and name."""
    return np.swapaxes(values, -1, -2)


def as_bias(bias: Any, frame: Frame, positive: Label | None) -> Score | None:
    """Return the bias that a name, a metric or a function stands for; None for measured scores."""
    if isinstance(bias, Mapping):
        return None
    if callable(bias):
        return Function.of(bias, frame)
    if not frame.names:
        raise UsageError(
            f"bias = {_shown(bias)} needs the option protected: the column of a protected feature,"
            " or several"
        )
    return Bias.of(bias, frame, positive)


def as_performance(performance: Any, frame: Frame, positive: Label | None) -> Score:
    """Return the performance that a name, a metric, a scorer of scikit-learn or a function stands
    for.
    """
    if callable(performance):
        return Function.of(_scorer(performance) if _is_scorer(performance) else performance, frame)
    metric = as_metric(performance, "performance")
    if metric is not None:
        return Performance.of(metric, frame, positive)
    from sklearn.metrics import get_scorer, get_scorer_names

    if not isinstance(performance, str) or performance not in get_scorer_names():
        own = nearest(performance, metric_names("performance"))
        raise UsageError(
            f"performance = {clip(repr(performance))} is none by name; {own}, or a scorer's name"
        )
    return Function.of(_scorer(get_scorer(performance), performance), frame)


def _shown(metric: Any) -> str:
    """Return a metric as messages write it: its name, or what was given for one."""
    return clip(repr(metric.name if isinstance(metric, Metric) else metric))


def _is_scorer(function: Any) -> bool:
    """Return whether this takes an estimator, as the scorers of scikit-learn do."""
    try:
        return next(iter(inspect.signature(function).parameters), "") == "estimator"
    except (TypeError, ValueError):
        return False


def _scorer(scorer: Callable[..., float], name: str = "") -> Callable[..., float]:
    """Return a scorer as a function of true and predicted labels, through an estimator that knows
    the predictions.
    """

    def score(true: Any, told: Any, *, sample_weight: Any = None) -> float:
        from sklearn.base import BaseEstimator, ClassifierMixin

        class Told(ClassifierMixin, BaseEstimator):  # type: ignore[misc]
            classes_ = np.unique(np.concatenate([true, told]))

            def __sklearn_is_fitted__(self) -> bool:
                return True

            def predict(self, X: Any) -> Any:  # noqa: N803
                return X[:, 0]

        try:
            return float(scorer(Told(), told.reshape(-1, 1), true, sample_weight=sample_weight))
        except AttributeError:
            raise UsageError(
                f"the performance {score.__name__} needs scores or probabilities, and these are"
                " labels; choose one that rests on labels, such as 'precision'"
            ) from None

    score.__name__ = name or "scorer"
    return score


def favourable(labels: Sequence[Label], positive: Any, bias: Any, performance: Any) -> Label | None:
    """Return the favourable label, or None where every label counts alike."""
    if positive is not None:
        if plain(positive) not in labels:
            raise UsageError(
                f"positive = {clip(repr(positive))} is no label; {nearest(positive, labels)}"
            )
        return plain(positive)  # type: ignore[no-any-return]
    if len(labels) > 2:
        return None
    if 1 in labels and set(labels) <= {0, 1}:
        return labels[labels.index(1)]
    for score in (bias, performance):
        if needs_positive(score):
            name = score.name if isinstance(score, Metric) else score
            raise UsageError(
                f"{name} needs the favourable label: name it with the option positive;"
                f" {nearest(1, labels)}"
            )
    return labels[-1]


@dataclass(frozen=True)
class Measured:
    """Biases that were measured elsewhere, by run and name, and their limits where they came with
    any.
    """

    name: str
    values: Floats
    limits: Given | None
    notes: tuple[str, ...]

    def into(self, scores: Scores) -> Scores:
        """Return scores with these biases, the line going down in proportion."""
        values = (
            self.values
            if len(self.values) == len(scores.bias)
            else self.values.mean(axis=0, keepdims=True)
        )
        bias = np.broadcast_to(values, scores.bias.shape)
        return scores._replace(bias=bias, line=(scores.line[0] * bias[..., :1], scores.line[1]))


def measured(bias: Mapping[str, Any], names: Sequence[str], runs: int) -> Measured:
    """Return the biases of all names from numbers, estimates, results, or a list of numbers for
    each run.

    >>> measured({"original": 0.2, "less": 0.1}, ["original", "less"], 1).values.tolist()
    [[0.2, 0.1]]
    """
    missing = [name for name in names if name not in bias]
    if missing:
        raise UsageError(
            f"bias has no score for {clip(repr(missing[0]))}; give one for each of"
            f" {', '.join(names)}"
        )
    if extra := [name for name in bias if name not in names]:
        raise UsageError(f"bias has a score for {clip(repr(extra[0]))}; {nearest(extra[0], names)}")
    found = [_estimates(name, bias[name], runs) for name in names]
    values = np.array([[one.value for one in part] for part in found]).T
    if not np.isfinite(values).all() or (values < 0).any():
        raise UsageError("every bias must be a number of 0 or more")
    claims = {str(getattr(bias[name], "job", "")) for name in names} - {""}
    name = f"score of {', '.join(sorted(claims))}" if claims else "measured score"
    if len(values) > 1:
        return Measured(name, values, None, ())
    levels = [part[0].level for part in found if part[0].level < 1]
    bare = [names[at] for at, part in enumerate(found) if part[0].n == 0]
    notes = []
    if bare:
        notes.append(
            f"the bias of {', '.join(bare)} came without an interval and is taken as exact"
        )
    if levels:
        joint = max(1 - sum(1 - level for level in levels), 0.0)
        joint_level = number_text.percent_figures(joint, 4)
        notes.append(
            f"the intervals of the biases given hold together at a level of at least {joint_level}"
        )
    return Measured(name, values, Given(tuple(part[0] for part in found)), tuple(notes))


def _estimates(name: str, value: Any, runs: int) -> list[Estimate]:
    if hasattr(value, "worst"):
        value = value.worst.estimate
    if isinstance(value, Witnesses):
        raise UsageError(
            f"bias of {name!r} counts witnesses of a search, which is no score; give a result of"
            " measure"
        )
    if isinstance(value, Estimate):
        return [value]
    many = list(value) if isinstance(value, list | tuple | np.ndarray) else [value]
    if len(many) not in (1, runs):
        raise UsageError(
            f"bias has {len(many)} scores for {name!r} and there are {runs} runs; give one, or one"
            " for each"
        )
    try:
        return [Amount(number, number, number, 0, 1.0, "given") for number in map(float, many)]
    except (TypeError, ValueError):
        raise UsageError(
            f"bias of {name!r} is {clip(repr(value))}; give a number of 0 or more, an estimate or a"
            " result"
        ) from None
