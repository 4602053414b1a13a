"""Fairea's judgement for numbers: is a mitigation better than blindly giving up R²?

Blind overwriting tells a share of people the mean of the true values instead of what was predicted
for them. The expected squared error is linear in that share, and so R² goes down on a straight
line, from that of the original to 0. A bias that was measured goes down in proportion to those who
are still told what was predicted.
"""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING, Any

import numpy as np

from evenhand.methods.compare.axes import measured
from evenhand.methods.compare.comparison import Baseline
from evenhand.methods.compare.regions import DEGREES
from evenhand.methods.compare.standings import Scores, Sureness, check_original, judge
from evenhand.runtime.errors import DataError, UsageError, clip
from evenhand.runtime.random_streams import stream
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
    told: Mapping[str, ArrayLike],
    bias: Mapping[str, Any],
    *,
    level: float,
    resamples: int = 2_000,
    seed: int = 0,
) -> Comparison:
    """Compare mitigations of a regressor with the line from an original to the mean of the true
    values for everyone.

    An original that is no better than that mean (R² of 0 or less) has nothing to give up, and is
    refused.

    Parameters
    ----------
    truth
        The true values of the test rows.
    told
        Predictions by name, the first of which are those of the original.
    bias
        A measured score for each name: an estimate, a number, or a result whose worst finding
        counts.
    level, resamples
        The level of all intervals of a kind together, and how often rows are resampled.

    >>> truth = np.arange(100.0)
    >>> rough, finer = truth + 20 * np.sin(truth), truth + 10 * np.cos(truth)
    >>> found = compare_numbers(truth, {"original": rough, "finer": finer}, {"original": 0.3, "finer": 0.1}, level=0.95)
    >>> found.region, found.baseline.label, found.plausible["finer"]
    ({'finer': 'win-win'}, 49.5, ('win-win',))
    """
    names = list(told)
    if len(names) < 2:
        raise UsageError(
            "told must hold the predictions of the original and of a mitigation by name, at"
            " least two"
        )
    if isinstance(resamples, bool) or not isinstance(resamples, int) or resamples < 100:
        raise UsageError(
            f"resamples = {clip(repr(resamples))} must be a whole number of 100 or more"
        )
    check_level(level)
    true = _numbers("truth", truth)
    predicted = [_numbers(f"the predictions of {clip(repr(name))}", told[name]) for name in names]
    if wrong := [
        name for name, column in zip(names, predicted, strict=True) if len(column) != len(true)
    ]:
        size = len(predicted[names.index(wrong[0])])
        raise DataError(
            f"{clip(repr(wrong[0]))} has {size} predictions and truth has {len(true)} values"
        )
    if not len(true) or true.min() == true.max():
        raise DataError(
            "the true values are all the same, so that R² is undefined; give rows whose values"
            " differ"
        )
    elsewhere = measured(bias, names, 1)
    middle = float(true.mean())
    away = true - middle
    # What is summed over rows: the value and its square, squared errors by name, and those of the
    # mean for everyone.
    squares = np.stack([away, away**2, *((column - true) ** 2 for column in predicted)], axis=1)
    point = elsewhere.into(_scores(squares.mean(axis=0, keepdims=True), DEGREES)).mean()
    performance, biases = (tuple(float(value) for value in part) for part in point.line[::-1])
    baseline = Baseline(DEGREES, performance, biases, middle, "mean", "in proportion")
    check_original(names[0], point, baseline)
    found = judge(
        names,
        point,
        elsewhere.into(_scores(_resampled(squares, resamples, seed), (0.0, 1.0))),
        Sureness(level, len(true), "people like those of the test set"),
        baseline,
        bounds=((-np.inf, 1.0), (0.0, np.inf)),
        given=elsewhere.limits,
        bias=elsewhere.name,
        performance="r2",
        seed=seed,
        runs=1,
    )
    notes = list(elsewhere.notes)
    if found.start[1].low <= 0:
        notes.append(
            f"the original may have no bias at all ({found.start[1]}): then there is nothing to"
            " mitigate"
        )
    return replace(found, notes=notes)


def _numbers(what: str, column: ArrayLike) -> Floats:
    try:
        found = np.asarray(column, dtype=np.float64)
    except (TypeError, ValueError):
        raise DataError(f"{what} must be one column of numbers; these are none") from None
    if found.ndim != 1 or not np.isfinite(found).all():
        raise DataError(f"{what} must be one column of finite numbers; look for missing values")
    return found


def _resampled(squares: Floats, resamples: int, seed: int) -> Floats:
    """Return the means of each column over resampled rows, one row for each resample."""
    rng, rows = stream(seed, "compare", "numbers"), len(squares)
    chunk = max(1, _AT_ONCE // rows)
    parts = []
    for start in range(0, resamples, chunk):
        weights = rng.multinomial(rows, np.full(rows, 1 / rows), size=min(chunk, resamples - start))
        parts.append(weights @ squares / rows)
    return np.concatenate(parts)


def _scores(means: Floats, degrees: tuple[float, ...]) -> Scores:
    """Return R² of each name, and of the line, from mean values, squares and squared errors; NaN
    without variance.
    """
    value, square, errors = means[:, :1], means[:, 1:2], means[:, 2:]
    spread = square - value**2
    with np.errstate(divide="ignore", invalid="ignore"):
        right, blind = (
            np.where(spread > 0, 1 - part / spread, np.nan) for part in (errors, square)
        )
    steps = np.array(degrees)
    line = (
        np.broadcast_to(1 - steps, (len(means), len(steps))),
        (1 - steps) * right[:, :1] + steps * blind,
    )
    return Scores(right, np.ones_like(right), line)
