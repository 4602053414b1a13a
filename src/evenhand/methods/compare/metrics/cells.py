"""Metrics as functions of tables of counts.

The last axes are group, true and predicted label for a bias, and true and predicted label for a
performance. Each function takes any number of tables at once, along leading axes, and which labels
are favourable. Groups are compared by their extremes, so that a bias over more than two groups is
the worst of any two.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from evenhand.methods.compare.contingency import Floats
    from evenhand.methods.compare.metrics import Mask

TRUE, PREDICTED = -2, -1
"""The axes of true and of predicted labels."""
GROUP = -1
"""The axis of groups, once labels are summed over."""
_TINY = 1e-9
"""Counts whose product is smaller than this are taken as none."""


def parity(tables: Floats, favourable: Mask) -> Floats:
    """Return the largest difference of the shares of favourable predictions.

    It is the size of the statistical parity difference (Fairea, Equation 1).
    """
    return _spread(_favourable_share(tables, favourable))


def average_odds(tables: Floats, favourable: Mask) -> Floats:
    """Return the size of the average difference of both rates (Fairea, Equation 2)."""
    true_positive, false_positive = _odds(tables, favourable)
    return _spread((true_positive + false_positive) / 2)


def average_odds_sizes(tables: Floats, favourable: Mask) -> Floats:
    """Return the average of the sizes of both differences, as the paper's code computes it."""
    true_positive, false_positive = _odds(tables, favourable)
    # |a| + |b| is the larger of |a + b| and |a - b|. That way the two groups that are furthest
    # apart are found among any number without comparing all pairs.
    size_of_sum = _spread(true_positive + false_positive)
    size_of_difference = _spread(true_positive - false_positive)
    return np.asarray(np.maximum(size_of_sum, size_of_difference) / 2)


def opportunity(tables: Floats, favourable: Mask) -> Floats:
    """Return the largest difference of the true positive rates."""
    true_positive, _ = _odds(tables, favourable)
    return _spread(true_positive)


def false_alarms(tables: Floats, favourable: Mask) -> Floats:
    """Return the largest difference of the false positive rates."""
    _, false_positive = _odds(tables, favourable)
    return _spread(false_positive)


def odds(tables: Floats, favourable: Mask) -> Floats:
    """Return the larger of the largest differences of both rates."""
    true_positive, false_positive = _odds(tables, favourable)
    return np.maximum(_spread(true_positive), _spread(false_positive))


def impact(tables: Floats, favourable: Mask) -> Floats:
    """Return one less the ratio of the lowest to the highest share of favourable predictions.

    It is undefined where nobody has a favourable prediction.
    """
    lowest, highest = _extremes(_favourable_share(tables, favourable))
    return 1 - lowest / highest


def errors(tables: Floats, favourable: Mask) -> Floats:
    """Return the largest difference of the shares of right predictions."""
    return _spread(accuracy(tables, favourable))


def accuracy(tables: Floats, favourable: Mask | None) -> Floats:
    """Return the share of right predictions."""
    right = np.trace(tables, axis1=TRUE, axis2=PREDICTED)
    return np.asarray(right / _people(tables))


def balanced_accuracy(tables: Floats, favourable: Mask | None) -> Floats:
    """Return the mean over true labels of the share that is predicted right."""
    right = np.diagonal(tables, axis1=TRUE, axis2=PREDICTED)
    recall = right / tables.sum(axis=PREDICTED)
    # A true label that nobody has is passed over.
    defined = ~np.isnan(recall)
    known_recall = np.where(defined, recall, 0.0)
    return np.asarray(_over_labels(known_recall) / _over_labels(defined))


def f1(tables: Floats, favourable: Mask | None) -> Floats:
    """Return the F1 of the favourable label, or the mean over labels that occur.

    It is 0 where a label is neither true nor predicted for anyone.
    """
    right = np.diagonal(tables, axis1=TRUE, axis2=PREDICTED)
    true = tables.sum(axis=PREDICTED)
    predicted = tables.sum(axis=TRUE)
    # The harmonic mean of right / true and right / predicted is 2 right / (true + predicted).
    both = true + predicted
    occurs = both > 0
    divisor = np.where(occurs, both, 1.0)
    by_label = np.where(occurs, 2 * right / divisor, 0.0)
    if favourable is not None:
        label = int(np.argmax(favourable))
        return np.asarray(by_label[..., label])
    return np.asarray(_over_labels(by_label) / _over_labels(occurs))


def mcc(tables: Floats, favourable: Mask | None) -> Floats:
    """Return Matthews' correlation, for any number of labels.

    It is 0 where truth or predictions are constant.
    """
    # The R_K statistic of Gorodkin (2004), in the notation of scikit-learn's user guide:
    # (c s - sum t p) / sqrt((s^2 - sum p^2) (s^2 - sum t^2)).
    people = _people(tables)
    true = tables.sum(axis=PREDICTED)
    predicted = tables.sum(axis=TRUE)
    right = np.trace(tables, axis1=TRUE, axis2=PREDICTED)
    covariance = right * people - _over_labels(true * predicted)
    predicted_variance = people**2 - _over_labels(predicted**2)
    true_variance = people**2 - _over_labels(true**2)
    product = predicted_variance * true_variance
    varies = product > _TINY
    root = np.sqrt(np.maximum(product, _TINY))
    return np.where(varies, covariance / root, 0.0)


def _people(tables: Floats) -> Floats:
    """Return how many people each table, or each group of it, holds."""
    return np.asarray(tables.sum(axis=(TRUE, PREDICTED)))


def _over_labels(values: NDArray[Any]) -> NDArray[Any]:
    """Return the sum of values by label, which are on the last axis."""
    return np.asarray(values.sum(axis=-1))


def _spread(rates: Floats) -> Floats:
    """Return the largest difference along the last axis."""
    lowest, highest = _extremes(rates)
    return highest - lowest


def _extremes(rates: Floats) -> tuple[Floats, Floats]:
    """Return the least and the largest along the last axis.

    Groups whose rate is undefined are passed over.
    """
    undefined = np.isnan(rates)
    all_undefined = undefined.all(axis=GROUP)
    passed_over_high = np.where(undefined, np.inf, rates)
    passed_over_low = np.where(undefined, -np.inf, rates)
    lowest = passed_over_high.min(axis=GROUP)
    highest = passed_over_low.max(axis=GROUP)
    return (
        np.where(all_undefined, np.nan, lowest),
        np.where(all_undefined, np.nan, highest),
    )


def _favourable_share(tables: Floats, favourable: Mask) -> Floats:
    """Return the share of each group with a favourable prediction."""
    predicted_favourable = tables[..., favourable]
    return _people(predicted_favourable) / _people(tables)


def _odds(tables: Floats, favourable: Mask) -> tuple[Floats, Floats]:
    """Return the true and the false positive rates of each group."""
    truly_favourable = tables[..., favourable, :]
    truly_unfavourable = tables[..., ~favourable, :]
    true_positive = _favourable_share(truly_favourable, favourable)
    false_positive = _favourable_share(truly_unfavourable, favourable)
    return true_positive, false_positive
