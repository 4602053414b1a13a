"""Weights: checked, and positions drawn by them."""

from __future__ import annotations

from collections.abc import Iterable
from typing import TYPE_CHECKING, Any

import numpy as np

from evenhand.runtime.errors import UsageError, clip
from evenhand.space.values.points import plain

if TYPE_CHECKING:
    from collections.abc import Sequence

    from numpy.typing import NDArray

    from evenhand.space.values.feature_type import Feature
    from evenhand.space.values.points import Floats, Points


def checked_weights(given: Any, what: str) -> Floats:
    """Return weights as an array of floats, or raise a UsageError.

    >>> checked_weights([1, 3], "weights").tolist()
    [1.0, 3.0]
    """
    try:
        weights = np.asarray(given)
    except ValueError:  # lists of several lengths
        weights = np.zeros(())
    if weights.ndim != 1 or weights.dtype.kind not in "iuf":
        offender = clip(repr(_first_that_is_no_number(given)))
        raise UsageError(
            f"{what} hold {offender}, which is not a number; give one number of 0 or more for each"
        )
    weights = weights.astype(np.float64)
    wrong = ~(np.isfinite(weights) & (weights >= 0))
    if wrong.any():
        row = int(np.argmax(wrong))
        raise UsageError(
            f"{what} hold {weights[row]:.15g} at position {row}; a weight must be a finite number"
            " of 0 or more"
        )
    if not weights.any():
        raise UsageError(f"{what} are all zero; give at least one of them a weight over 0")
    return weights


def _first_that_is_no_number(given: Any) -> Any:
    """Return the first of some weights that is not a number, or all of them where each is one."""
    if not isinstance(given, Iterable):
        return given
    for weight in given:
        value = plain(weight)
        if isinstance(value, bool) or not isinstance(value, int | float):
            return value
    return given


def running(weights: Floats) -> Floats:
    """Return running totals of weights, for `choose`."""
    # Relative to the largest one, so that totals of huge weights do not overflow.
    return np.cumsum(weights / weights.max())


def choose(totals: Floats, n: int, rng: np.random.Generator) -> NDArray[np.intp]:
    """Draw `n` positions with replacement from running totals of weights.

    >>> choose(running(np.array([0.0, 2.0, 0.0])), 3, np.random.default_rng(0)).tolist()
    [1, 1, 1]
    """
    thresholds = rng.random(n) * totals[-1]
    # The first position whose running total is over the draw; one without weight never is.
    position = np.searchsorted(totals, thresholds, side="right")
    # Rounding may lift a draw to the total itself, which would be behind the last position.
    last_with_weight = np.searchsorted(totals, totals[-1])
    return np.asarray(np.minimum(position, last_with_weight), dtype=np.intp)


def weights_of(features: Sequence[Feature], points: Points) -> Floats:
    """Return how likely uniform draws take each of some inputs on grids, up to a factor.

    Inputs that lack a value are as likely as the feature is missing.
    """
    weights = np.ones(len(points))
    for feature, column in zip(features, points.T, strict=True):
        if not feature.even:
            share = feature.missing_share
            known = (1 - share) / feature.size
            weights *= np.where(feature.is_missing(column), share, known)
    return weights
