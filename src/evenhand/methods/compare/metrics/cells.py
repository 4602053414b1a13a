"""Functions of tables: counts by group, true and predicted label for a bias, by true and predicted
label for the rest.

Each takes any number of tables at once, along leading axes, and which labels are favourable. Groups
are compared by their extremes, so that a bias over more than two groups is the worst of any two.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

if TYPE_CHECKING:
    from evenhand.methods.compare.contingency import Floats
    from evenhand.methods.compare.metrics import Mask


def parity(tables: Floats, favourable: Mask) -> Floats:
    """Return the largest difference of the shares that are told a favourable label."""
    return _spread(_favoured(tables, favourable))


def average_odds(tables: Floats, favourable: Mask) -> Floats:
    """Return the size of the average difference of both rates, as the paper defines it."""
    hits, alarms = _odds(tables, favourable)
    return _spread((hits + alarms) / 2)


def average_odds_sizes(tables: Floats, favourable: Mask) -> Floats:
    """Return the average of the sizes of both differences: |a| + |b| is the larger of |a + b| and
    |a - b|.
    """
    hits, alarms = _odds(tables, favourable)
    return np.asarray(np.maximum(_spread(hits + alarms), _spread(hits - alarms)) / 2)


def opportunity(tables: Floats, favourable: Mask) -> Floats:
    """Return the largest difference of the true positive rates."""
    hits, _ = _odds(tables, favourable)
    return _spread(hits)


def false_alarms(tables: Floats, favourable: Mask) -> Floats:
    """Return the largest difference of the false positive rates."""
    _, alarms = _odds(tables, favourable)
    return _spread(alarms)


def odds(tables: Floats, favourable: Mask) -> Floats:
    """Return the larger of the largest differences of both rates."""
    hits, alarms = _odds(tables, favourable)
    return np.maximum(_spread(hits), _spread(alarms))


def impact(tables: Floats, favourable: Mask) -> Floats:
    """Return one less the ratio of the lowest to the highest rate; undefined where nobody is
    favoured.
    """
    low, high = _ends(_favoured(tables, favourable))
    return 1 - low / high


def errors(tables: Floats, favourable: Mask) -> Floats:
    """Return the largest difference of the shares that are told their true label."""
    return _spread(accuracy(tables, favourable))


def accuracy(tables: Floats, favourable: Mask | None) -> Floats:
    """Return the share that is told its true label."""
    return np.asarray(np.trace(tables, axis1=-2, axis2=-1) / tables.sum(axis=(-2, -1)))


def balanced_accuracy(tables: Floats, favourable: Mask | None) -> Floats:
    """Return the mean over true labels of the share that is told them."""
    recall = np.diagonal(tables, axis1=-2, axis2=-1) / tables.sum(axis=-1)
    there = ~np.isnan(recall)
    return np.asarray(np.where(there, recall, 0.0).sum(axis=-1) / there.sum(axis=-1))


def f1(tables: Floats, favourable: Mask | None) -> Floats:
    """Return the F1 of the favourable label, or the mean over labels that occur; 0 where there is
    nothing to find.
    """
    right = np.diagonal(tables, axis1=-2, axis2=-1)
    named = tables.sum(axis=-1) + tables.sum(axis=-2)
    each = np.where(named > 0, 2 * right / np.where(named > 0, named, 1.0), 0.0)
    if favourable is not None:
        return np.asarray(each[..., int(np.argmax(favourable))])
    return np.asarray(each.sum(axis=-1) / (named > 0).sum(axis=-1))


def mcc(tables: Floats, favourable: Mask | None) -> Floats:
    """Return Matthews' correlation, for any number of labels; 0 where truth or predictions are
    constant.
    """
    total, true, told = tables.sum(axis=(-2, -1)), tables.sum(axis=-1), tables.sum(axis=-2)
    right = np.trace(tables, axis1=-2, axis2=-1)
    above = right * total - (true * told).sum(axis=-1)
    below = (total**2 - (told**2).sum(axis=-1)) * (total**2 - (true**2).sum(axis=-1))
    return np.asarray(np.where(below > 1e-9, above / np.sqrt(np.maximum(below, 1e-9)), 0.0))


def _spread(rates: Floats) -> Floats:
    """Return the largest difference along the last axis."""
    low, high = _ends(rates)
    return high - low


def _ends(rates: Floats) -> tuple[Floats, Floats]:
    """Return the least and the largest along the last axis, passing over groups whose rate is
    undefined.
    """
    gone = np.isnan(rates)
    none = gone.all(axis=-1)
    low = np.where(none, np.nan, np.where(gone, np.inf, rates).min(axis=-1))
    return low, np.where(none, np.nan, np.where(gone, -np.inf, rates).max(axis=-1))


def _favoured(tables: Floats, favourable: Mask) -> Floats:
    """Return the share of each group that is told a favourable label."""
    return np.asarray(tables[..., favourable].sum(axis=(-2, -1)) / tables.sum(axis=(-2, -1)))


def _odds(tables: Floats, favourable: Mask) -> tuple[Floats, Floats]:
    """Return the true and the false positive rates of each group."""
    return _favoured(tables[..., favourable, :], favourable), _favoured(
        tables[..., ~favourable, :], favourable
    )
