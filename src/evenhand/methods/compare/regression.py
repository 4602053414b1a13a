"""Fairea's judgement for numbers: is a mitigation better than blindly giving up R²?

The paper is on labels. Here blind overwriting replaces a share of the predictions by the mean of
the true values. The expected squared error is linear in that share, and so R² goes down on a
straight line, from that of the original to 0. A bias that was measured goes down in proportion to
the predictions that are left alone.
"""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING, Any

import numpy as np

from evenhand.methods.compare import messages
from evenhand.methods.compare.axes import measured
from evenhand.methods.compare.compare import LEAST_RESAMPLES, check_whole, notes_on_original
from evenhand.methods.compare.comparison import Baseline
from evenhand.methods.compare.regions import DEGREES
from evenhand.methods.compare.resampling import together
from evenhand.methods.compare.standings import IntervalMethod, Scores, check_original, judge
from evenhand.runtime.errors import DataError, UsageError, clip
from evenhand.runtime.random_streams import stream
from evenhand.statistics.estimate import Amount
from evenhand.statistics.intervals import check_level

if TYPE_CHECKING:
    from collections.abc import Mapping

    from numpy.typing import ArrayLike

    from evenhand.methods.compare.comparison import Comparison
    from evenhand.statistics.intervals import Floats

_AT_ONCE = 4_000_000
"""The most weights of rows that are drawn at once."""


def compare_numbers(
    truth: ArrayLike,
    predictions: Mapping[str, ArrayLike],
    bias: Mapping[str, Any],
    *,
    level: float,
    resamples: int = 2_000,
    seed: int = 0,
) -> Comparison:
    """Compare mitigations of a regressor with blindly predicting the mean of the true values.

    The line goes from the original to the mean for everyone. An original that is no better than
    that mean (R² of 0 or less) has nothing to give up, and is refused.

    Parameters
    ----------
    truth
        The true values of the test rows.
    predictions
        Predictions by name, the first of which are those of the original.
    bias
        A measured score for each name: an estimate, a number, or a result whose worst finding
        counts.
    level, resamples
        The level of all intervals of a kind together, and how often rows are resampled.

    >>> truth = np.arange(100.0)
    >>> predictions = {"original": truth + 20 * np.sin(truth), "finer": truth + 10 * np.cos(truth)}
    >>> bias = {"original": 0.3, "finer": 0.1}
    >>> found = compare_numbers(truth, predictions, bias, level=0.95)
    >>> found.region, found.baseline.label, found.plausible["finer"]
    ({'finer': 'win-win'}, 49.5, ('win-win',))
    """
    names = list(predictions)
    if len(names) < 2:
        raise UsageError(messages.TOO_FEW_PREDICTIONS)
    check_whole("resamples", resamples, LEAST_RESAMPLES)
    check_level(level)
    true = _numbers("truth", truth)
    predicted = _predicted_columns(predictions, true)
    if not len(true) or true.min() == true.max():
        raise DataError(messages.CONSTANT_TRUTH)
    squares = _squares(true, predicted)
    elsewhere = measured(bias, names, 1)
    mean_of_rows = squares.mean(axis=0, keepdims=True)
    point = elsewhere.into(_scores(mean_of_rows, DEGREES)).mean()
    line_bias, line_performance = point.line
    baseline = Baseline(
        degrees=DEGREES,
        performance=tuple(float(value) for value in line_performance),
        bias=tuple(float(value) for value in line_bias),
        label=float(true.mean()),
        strategy="mean",
        method="in proportion",
    )
    check_original(names[0], point, baseline)
    # A straight line is known by its two ends.
    replicates = _scores(_resampled(squares, resamples, seed), (0.0, 1.0))
    found = judge(
        names,
        point,
        elsewhere.into(replicates),
        IntervalMethod(level, len(true), messages.PEOPLE_OF_THE_TEST_SET),
        baseline,
        bounds=((-np.inf, 1.0), (0.0, np.inf)),
        bias_limits=elsewhere.limits,
        bias=elsewhere.name,
        performance="r2",
        seed=seed,
        runs=1,
    )
    return replace(found, notes=[*elsewhere.notes, *notes_on_original(found)])


def r2_change(
    truth: ArrayLike,
    before: ArrayLike,
    after: ArrayLike,
    *,
    level: float,
    resamples: int = 2_000,
    seed: int = 0,
) -> Amount | None:
    """Return how R² changed from one regressor to another on the same rows, by resampling them.

    None where all true values are alike, so that there is no R².

    >>> truth = np.arange(100.0)
    >>> change = r2_change(truth, truth + 20 * np.sin(truth), truth + np.cos(truth), level=0.95)
    >>> f"{change.value:.2f}", change.low > 0
    ('0.24', True)
    """
    true = _numbers("truth", truth)
    if not len(true) or true.min() == true.max():
        return None
    columns = _predicted_columns({"before": before, "after": after}, true)
    squares = _squares(true, columns)
    point = _risen(squares.mean(axis=0, keepdims=True))
    risen = _risen(_resampled(squares, resamples, seed))
    known = risen[~np.isnan(risen)]
    low, high = together(point, known[:, None], check_level(level))
    return Amount(
        value=float(point[0]),
        low=float(low[0]),
        high=float(high[0]),
        n=len(true),
        level=level,
        method=messages.BOOTSTRAP,
    )


def _risen(means: Floats) -> Floats:
    """Return by how much R² of the second name exceeds that of the first, from means of squares."""
    r2 = _scores(means, (0.0, 1.0)).performance
    return np.asarray(r2[:, 1] - r2[:, 0])


def _predicted_columns(
    predictions: Mapping[str, ArrayLike],
    true: Floats,
) -> list[Floats]:
    """Return the predictions of each name, one for each true value."""
    columns = {}
    for name, column in predictions.items():
        columns[name] = _numbers(
            messages.PREDICTIONS_OF.format(name=clip(repr(name))), column
        )
    for name, column in columns.items():
        if len(column) != len(true):
            message = messages.NUMBER_OF_PREDICTIONS.format(
                name=clip(repr(name)),
                predictions=len(column),
                values=len(true),
            )
            raise DataError(message)
    return list(columns.values())


def _squares(true: Floats, predicted: list[Floats]) -> Floats:
    """Return what is summed over rows, each in a column.

    The first two are the distance from the mean and its square, which is the squared error of the
    mean for everyone; then come the squared errors of each name.
    """
    distance = true - float(true.mean())
    squared_errors = [(column - true) ** 2 for column in predicted]
    return np.stack([distance, distance**2, *squared_errors], axis=1)


def _numbers(name: str, column: ArrayLike) -> Floats:
    """Return a column of finite numbers."""
    try:
        found = np.asarray(column, dtype=np.float64)
    except (TypeError, ValueError):
        raise DataError(messages.NOT_NUMBERS.format(column=name)) from None
    if found.ndim != 1 or not np.isfinite(found).all():
        raise DataError(messages.NOT_FINITE.format(column=name))
    return found


def _resampled(squares: Floats, resamples: int, seed: int) -> Floats:
    """Return the means of each column over resampled rows, one row for each resample."""
    rng = stream(seed, "compare", "numbers")
    rows = len(squares)
    chances = np.full(rows, 1 / rows)
    chunk = max(1, _AT_ONCE // rows)
    parts = []
    for start in range(0, resamples, chunk):
        weights = rng.multinomial(rows, chances, size=min(chunk, resamples - start))
        parts.append(weights @ squares / rows)
    return np.concatenate(parts)


def _scores(means: Floats, degrees: tuple[float, ...]) -> Scores:
    """Return R² of each name and of the line, from means of squares; NaN without variance."""
    value = means[:, :1]
    square = means[:, 1:2]
    errors = means[:, 2:]
    variance = square - value**2
    varies = variance > 0
    with np.errstate(divide="ignore", invalid="ignore"):
        by_name = np.where(varies, 1 - errors / variance, np.nan)
        # Of the original mean, which is not that of the resampled rows.
        all_overwritten = np.where(varies, 1 - square / variance, np.nan)
    steps = np.array(degrees)
    line_bias = np.broadcast_to(1 - steps, (len(means), len(steps)))
    line_performance = (1 - steps) * by_name[:, :1] + steps * all_overwritten
    return Scores(by_name, np.ones_like(by_name), (line_bias, line_performance))
