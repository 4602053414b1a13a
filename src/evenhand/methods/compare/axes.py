"""The two axes of a comparison: a bias and a performance.

Either is given by name or as a function; a bias may also have been measured elsewhere.
"""

from __future__ import annotations

import inspect
import math
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np

from evenhand.methods.compare import messages
from evenhand.methods.compare import regions as blind
from evenhand.methods.compare.comparison import Baseline
from evenhand.methods.compare.metrics import Metric, as_metric, metric_names, needs_positive
from evenhand.methods.compare.metrics.scores import Bias, Function, Performance
from evenhand.methods.compare.standings import BiasLimits, Scores
from evenhand.runtime import number_text
from evenhand.runtime.errors import UsageError, clip, nearest
from evenhand.runtime.random_streams import stream
from evenhand.space.feature import plain
from evenhand.statistics.estimate import Amount, Estimate, Witnesses

if TYPE_CHECKING:
    from evenhand.methods.compare.contingency import Floats, Frame
    from evenhand.methods.compare.metrics.scores import TableScore
    from evenhand.space.feature import Label


@dataclass(frozen=True)
class Axes:
    """Both scores, and how predictions are overwritten.

    The bias is None where it was measured elsewhere.
    """

    bias: TableScore | None
    performance: TableScore
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
        return Scores(_names_last(self.performance(tables)), _names_last(bias), line)

    def _line(
        self,
        way: blind.Overwriting,
        original: Floats,
    ) -> tuple[Floats, Floats]:
        """Return bias and performance of the original's line at each degree."""
        scores = (self.bias, self.performance)
        if self.repetitions is None:
            return blind.curve(way, original, scores)
        rng = stream(self.seed, "compare", "overwriting")
        biases = []
        performances = []
        for table in original.reshape(-1, *original.shape[-3:]):
            bias, performance = blind.repeated(way, table, scores, self.repetitions, rng)
            biases.append(bias)
            performances.append(performance)
        leading = original.shape[:-3]
        return np.array(biases).reshape(*leading, -1), np.array(performances).reshape(
            *leading, -1
        )

    def baseline(
        self,
        point: Scores,
        labels: Sequence[Label],
        strategy: str,
    ) -> Baseline:
        """Return the line of the point."""
        label = None if self.way.label is None else labels[self.way.label]
        line_bias, line_performance = point.line
        return Baseline(
            degrees=self.way.degrees,
            performance=tuple(float(value) for value in line_performance),
            bias=tuple(float(value) for value in line_bias),
            label=label,
            strategy=strategy,
            method=self._method,
        )

    @property
    def _method(self) -> str:
        """How the line is computed."""
        if self.repetitions is not None:
            return "monte carlo"
        if self.bias is None:
            return "in proportion"
        return "exact" if self.linear else "expected cells"

    def notes(self, runs: Scores) -> list[str]:
        """Return in how many runs the original had nothing to give up."""
        original = runs.performance[..., 0]
        all_overwritten = runs.line[1][..., -1]
        weak = int((all_overwritten >= original).sum())
        if not weak:
            return []
        return [messages.WEAK_RUNS.format(weak=weak, total=original.size)]


def _names_last(values: Floats) -> Floats:
    """Return values by name and run as values by run and name."""
    return np.swapaxes(values, -1, -2)


def as_bias(
    bias: Any,
    frame: Frame,
    positive: Label | None,
) -> TableScore | None:
    """Return the bias that a name, a metric or a function stands for; None for measured scores."""
    if isinstance(bias, Mapping):
        return None
    if callable(bias):
        return Function.of(bias, frame)
    if not frame.names:
        name = bias.name if isinstance(bias, Metric) else bias
        raise UsageError(messages.BIAS_NEEDS_PROTECTED.format(bias=clip(repr(name))))
    return Bias.of(bias, frame, positive)


def as_performance(
    performance: Any,
    frame: Frame,
    positive: Label | None,
) -> TableScore:
    """Return the performance that a name, a metric, a scorer or a function stands for.

    Names of scikit-learn's scorers are known too.
    """
    if callable(performance):
        function = _labels_function(performance) if _is_scorer(performance) else performance
        return Function.of(function, frame)
    metric = as_metric(performance, "performance")
    if metric is not None:
        return Performance.of(metric, frame, positive)
    from sklearn.metrics import get_scorer, get_scorer_names

    if not isinstance(performance, str) or performance not in get_scorer_names():
        message = messages.UNKNOWN_PERFORMANCE.format(
            performance=clip(repr(performance)),
            choices=nearest(performance, metric_names("performance")),
        )
        raise UsageError(message)
    return Function.of(_labels_function(get_scorer(performance), performance), frame)


def _is_scorer(function: Any) -> bool:
    """Return whether this takes an estimator, as the scorers of scikit-learn do."""
    try:
        return next(iter(inspect.signature(function).parameters), "") == "estimator"
    except (TypeError, ValueError):
        return False


def _labels_function(
    scorer: Callable[..., float],
    name: str = "",
) -> Callable[..., float]:
    """Return a scorer as a function of true and predicted labels.

    A scorer takes an estimator, so it gets one that knows the predictions.
    """

    def score(
        true: Any,
        predicted: Any,
        *,
        sample_weight: Any = None,
    ) -> float:
        from sklearn.base import BaseEstimator, ClassifierMixin

        class KnownPredictions(ClassifierMixin, BaseEstimator):  # type: ignore[misc]
            classes_ = np.unique(np.concatenate([true, predicted]))

            def __sklearn_is_fitted__(self) -> bool:
                return True

            def predict(self, X: Any) -> Any:  # noqa: N803
                return X[:, 0]

        column = predicted.reshape(-1, 1)
        try:
            return float(
                scorer(KnownPredictions(), column, true, sample_weight=sample_weight)
            )
        except AttributeError:
            # The scorer asked for decision_function or predict_proba.
            message = messages.PERFORMANCE_NEEDS_SCORES.format(performance=score.__name__)
            raise UsageError(message) from None

    score.__name__ = name or "scorer"
    return score


def favourable(
    labels: Sequence[Label],
    positive: Any,
    bias: Any,
    performance: Any,
) -> Label | None:
    """Return the favourable label, or None where every label counts alike."""
    if positive is not None:
        if plain(positive) not in labels:
            message = messages.POSITIVE_NOT_A_LABEL.format(
                positive=clip(repr(positive)),
                choices=nearest(positive, labels),
            )
            raise UsageError(message)
        return plain(positive)  # type: ignore[no-any-return]
    if len(labels) > 2:
        return None
    if 1 in labels and set(labels) <= {0, 1}:
        return labels[labels.index(1)]
    for score in (bias, performance):
        if needs_positive(score):
            name = score.name if isinstance(score, Metric) else score
            choices = nearest(1, labels)
            message = messages.POSITIVE_IS_NEEDED.format(
                score=name,
                choices=choices,
            )
            raise UsageError(message)
    return labels[-1]


@dataclass(frozen=True)
class MeasuredBias:
    """Biases that were measured elsewhere, by run and name.

    Their limits are None where they came without any.
    """

    name: str
    values: Floats
    limits: BiasLimits | None
    notes: tuple[str, ...]

    def into(self, scores: Scores) -> Scores:
        """Return scores with these biases, the line going down in proportion."""
        values = self.values
        if len(values) != len(scores.bias):
            values = values.mean(axis=0, keepdims=True)
        bias = np.broadcast_to(values, scores.bias.shape)
        shares_left, line_performance = scores.line
        line = (shares_left * bias[..., :1], line_performance)
        return scores._replace(bias=bias, line=line)


def measured(
    bias: Mapping[str, Any],
    names: Sequence[str],
    runs: int,
) -> MeasuredBias:
    """Return the biases of all names from numbers, estimates or results.

    A list of numbers holds one for each run.

    >>> measured({"original": 0.2, "less": 0.1}, ["original", "less"], 1).values.tolist()
    [[0.2, 0.1]]
    """
    _check_names(bias, names)
    estimates = [_estimates(name, bias[name], runs) for name in names]
    values = np.array([_values(of_runs) for of_runs in estimates]).T
    if not np.isfinite(values).all() or (values < 0).any():
        raise UsageError(messages.MEASURED_BIAS_BELOW_0)
    if len(values) > 1:
        return MeasuredBias(_score_name(bias, names), values, None, ())
    single = tuple(of_runs[0] for of_runs in estimates)
    notes = _notes_on_limits(names, single)
    return MeasuredBias(_score_name(bias, names), values, BiasLimits(single), notes)


def _check_names(bias: Mapping[str, Any], names: Sequence[str]) -> None:
    """Refuse measured biases of other names than those compared."""
    for name in names:
        if name not in bias:
            message = messages.MEASURED_BIAS_MISSING.format(
                name=clip(repr(name)),
                names=", ".join(names),
            )
            raise UsageError(message)
    for name in bias:
        if name not in names:
            choices = nearest(name, names)
            message = messages.MEASURED_BIAS_EXTRA.format(
                name=clip(repr(name)), choices=choices
            )
            raise UsageError(message)


def _score_name(bias: Mapping[str, Any], names: Sequence[str]) -> str:
    """Return what results call biases that were measured elsewhere."""
    jobs = {str(getattr(bias[name], "job", "")) for name in names} - {""}
    if not jobs:
        return messages.MEASURED_SCORE
    return messages.SCORE_OF_JOBS.format(jobs=", ".join(sorted(jobs)))


def _notes_on_limits(
    names: Sequence[str],
    estimates: Sequence[Estimate],
) -> tuple[str, ...]:
    """Return what a reader must know of the intervals of measured biases."""
    notes = []
    without_interval = []
    error = []
    for name, estimate in zip(names, estimates, strict=True):
        if estimate.n == 0:
            without_interval.append(name)
        if estimate.level < 1:
            error.append(1 - estimate.level)
    if without_interval:
        notes.append(messages.BIAS_TAKEN_AS_EXACT.format(names=", ".join(without_interval)))
    if error:
        # By Bonferroni's inequality errors add up at most.
        joint_level = number_text.percent_figures(max(1 - sum(error), 0.0), 4)
        notes.append(messages.BIASES_HOLD_TOGETHER.format(level=joint_level))
    return tuple(notes)


def _estimates(name: str, value: Any, runs: int) -> list[Estimate]:
    """Return a measured bias as one estimate, or as one for each run."""
    if hasattr(value, "worst"):
        value = value.worst.estimate
    if isinstance(value, Witnesses):
        raise UsageError(messages.BIAS_OF_WITNESSES.format(name=repr(name)))
    if isinstance(value, Estimate):
        return [value]
    several = isinstance(value, list | tuple | np.ndarray)
    numbers = list(value) if several else [value]
    if len(numbers) not in (1, runs):
        message = messages.MEASURED_BIAS_RUNS.format(
            number=len(numbers),
            name=repr(name),
            runs=runs,
        )
        raise UsageError(message)
    try:
        biases = [float(number) for number in numbers]
    except (TypeError, ValueError):
        biases = [math.nan]
    if any(math.isnan(bias) for bias in biases):
        message = messages.MEASURED_BIAS_NOT_A_NUMBER.format(
            name=repr(name),
            value=clip(repr(value)),
        )
        raise UsageError(message)
    return [_exact(bias) for bias in biases]


def _values(estimates: Sequence[Estimate]) -> list[float]:
    return [estimate.value for estimate in estimates]


def _exact(number: float) -> Amount:
    return Amount(number, number, number, 0, 1.0, "given")
