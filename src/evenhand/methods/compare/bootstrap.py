"""How sure a comparison is: rows resampled together for all methods, or runs over several splits, and limits for both.

Limits hold for all quantities that they are asked for together: whatever method is picked afterwards, its limits hold.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from evenhand.runtime.errors import UsageError

if TYPE_CHECKING:
    from collections.abc import Iterator

    from evenhand.methods.compare.contingency import Codes, Floats, Frame

_AT_ONCE = 1 << 22
"""Weights that are drawn at once."""
_UNSEEN = 2
"""People of each group and true label who may be told another label than the rows at hand say."""


def resampled(
    frame: Frame, combination: Codes, truth: Codes, predicted: Codes, resamples: int, rng: np.random.Generator
) -> Iterator[tuple[Floats, Floats]]:
    """Yield tables of resampled rows, the same rows for every method and run, and weights of resampled runs.

    `predicted` holds codes by method, run and row; tables come by resample, method and run. Rows that are alike in all
    respects are drawn together, so the cost is that of the different kinds of rows. What no row shows may be all the
    same, see `unseen`.
    """
    from scipy import sparse

    methods, runs, rows = predicted.shape
    kinds, counts = _kinds(np.vstack([combination, truth, predicted.reshape(-1, rows)]))
    size = int(np.prod(frame.shape))
    cells = frame.cells(kinds[:, :1], kinds[:, 1:2], kinds[:, 2:]) + np.arange(methods * runs) * size
    each = np.repeat(np.arange(len(kinds)), methods * runs)
    spread = sparse.csr_array((np.ones(len(each)), (each, cells.ravel())), shape=(len(kinds), methods * runs * size))
    chunk = max(1, min(resamples, _AT_ONCE // len(kinds), _AT_ONCE // (methods * runs * size)))
    for start in range(0, resamples, chunk):
        some = min(chunk, resamples - start)
        weights = rng.multinomial(rows, counts / rows, size=some).astype(np.float64)
        tables = np.asarray(weights @ spread).reshape(some, methods, runs, *frame.shape)
        yield unseen(tables, rng), rng.multinomial(runs, np.full(runs, 1 / runs), size=some) / runs


def _kinds(columns: Codes) -> tuple[Codes, Codes]:
    """Return the different kinds of rows, in the order of their columns, and how many there are of each.

    Columns are folded into one number as long as it fits, which sorts much faster than rows do.
    """
    folded, span = np.zeros(columns.shape[1], dtype=np.int64), 1
    for column in columns:
        size = int(column.max()) + 1
        if span * size >= 1 << 62:
            found, folded = np.unique(folded, return_inverse=True)
            span = len(found)
        folded, span = folded * size + column, span * size
    _, first, counts = np.unique(folded, return_index=True, return_counts=True)
    return columns[:, first].T, counts


def unseen(tables: Floats, rng: np.random.Generator) -> Floats:
    """Return tables in which, of each group and true label, a few people at random are told another label.

    Rows that a method happened to leave alone are left alone in every resample. Yet if none of n people was told
    otherwise, up to about 3 in n may be; without this, a method that changed nobody of a small group would be known
    to change nobody at all. Methods differ in who is told otherwise; the runs of one do not.

    >>> found = unseen(np.full((1000, 1, 1, 1, 1, 2), 50.0), np.random.default_rng(0))
    >>> sorted(set(found[..., 0].ravel().tolist())), set(found.sum(axis=-1).ravel().tolist())
    ([48.0, 49.0, 50.0, 51.0, 52.0], {100.0})
    """
    shape, labels = (*tables.shape[:-1], 1), tables.shape[-1]
    for _ in range(_UNSEEN):
        ends = rng.integers(0, labels, size=(2, *tables.shape[:2], 1, *tables.shape[3:5], 1))
        source, target = (np.broadcast_to(end, shape) for end in ends)
        before = np.take_along_axis(tables, source, axis=-1)
        moved = np.minimum(before, 1.0)
        np.put_along_axis(tables, source, before - moved, axis=-1)
        np.put_along_axis(tables, target, np.take_along_axis(tables, target, axis=-1) + moved, axis=-1)
    return tables


def together(point: Floats, replicates: Floats, level: float) -> tuple[Floats, Floats]:
    """Return limits around some values that hold for all of them, from replicates of each along the first axis.

    The width of each is its root mean square distance from the value, which allows for a size (of a difference) whose
    replicates all lie to one side; how many widths are taken is the quantile of the largest distance over all values.

    >>> rng = np.random.default_rng(0)
    >>> low, high = together(np.zeros(1), rng.normal(size=(4000, 1)), 0.95)
    >>> bool(abs(high[0] - 1.96) < 0.1), bool(low[0] == -high[0])
    (True, True)
    """
    away = replicates - point
    width = np.sqrt(np.mean(np.square(away), axis=0))
    moved = width > 1e-12  # less is rounding, and no spread
    if not moved.any():
        return point.copy(), point.copy()
    farthest = (np.abs(away[:, moved]) / width[moved]).max(axis=1)
    reach = float(np.quantile(farthest, level, method="higher"))
    return point - reach * width, point + reach * width


def over_splits(point: Floats, runs: Floats, level: float, test_size: float) -> tuple[Floats, Floats]:
    """Return limits around some means that hold for all of them, from runs along the first axis.

    Runs that split the same rows again share most of what they train and test on. Their variance is enlarged by the
    ratio of test to training rows (Nadeau and Bengio 2003); a `test_size` of 0 stands for independent runs.
    """
    from scipy.stats import t

    number = len(runs)
    if number < 2:
        raise UsageError(f"{number} run tells nothing about the next; give at least two, or one test set to resample")
    width = np.std(runs, axis=0, ddof=1) * np.sqrt(1 / number + test_size / (1 - test_size))
    reach = float(t.ppf(1 - (1 - level) / (2 * max(point.size, 1)), number - 1))
    return point - reach * width, point + reach * width
