"""Resampled rows, and limits that hold together, from resamples or from runs over splits."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from evenhand.methods.compare import messages
from evenhand.runtime.errors import UsageError

if TYPE_CHECKING:
    from collections.abc import Iterator

    from evenhand.methods.compare.contingency import Codes, Floats, Frame

_AT_ONCE = 1 << 22
"""Weights that are drawn at once."""
_UNSEEN = 2
"""People of each group and true label who may get another prediction than the rows at hand show."""


def resampled(
    frame: Frame,
    combination: Codes,
    truth: Codes,
    predicted: Codes,
    resamples: int,
    rng: np.random.Generator,
) -> Iterator[tuple[Floats, Floats]]:
    """Yield tables of resampled rows, and weights of resampled runs.

    The same rows are drawn for every method and run. `predicted` holds codes by method, run and
    row; tables come by resample, method and run. Rows that are alike in all respects are drawn
    together, so the cost is that of the different kinds of rows. What no row shows is possible
    nevertheless, see `unseen`.
    """
    from scipy import sparse

    methods, runs, rows = predicted.shape
    tables_of_a_row = methods * runs
    predicted_columns = predicted.reshape(-1, rows)
    columns = np.vstack([combination, truth, predicted_columns])
    kinds, counts = _kinds(columns)
    size = int(np.prod(frame.shape))
    # A row of some kind adds one person to one cell of the table of each method and run. All those
    # tables are laid out flat, one after the other.
    offsets = np.arange(tables_of_a_row) * size
    kind_combination = kinds[:, :1]
    kind_truth = kinds[:, 1:2]
    kind_predicted = kinds[:, 2:]
    cells = frame.cells(kind_combination, kind_truth, kind_predicted) + offsets
    kind_of_cell = np.repeat(np.arange(len(kinds)), tables_of_a_row)
    ones = np.ones(len(kind_of_cell))
    shape = (len(kinds), tables_of_a_row * size)
    places = (kind_of_cell, cells.ravel())
    cells_by_kind = sparse.csr_array((ones, places), shape=shape)
    kind_chances = counts / rows
    run_chances = np.full(runs, 1 / runs)
    most = max(1, _AT_ONCE // max(shape))
    chunk = min(resamples, most)
    for start in range(0, resamples, chunk):
        number = min(chunk, resamples - start)
        kind_counts = rng.multinomial(rows, kind_chances, size=number)
        weights = kind_counts.astype(np.float64)
        flat_tables = np.asarray(weights @ cells_by_kind)
        tables = flat_tables.reshape(number, methods, runs, *frame.shape)
        tables = unseen(tables, rng)
        run_counts = rng.multinomial(runs, run_chances, size=number)
        yield tables, run_counts / runs


def _kinds(columns: Codes) -> tuple[Codes, Codes]:
    """Return the different kinds of rows, in the order of their columns, and the rows of each.

    Columns are folded into one number as long as it fits, which sorts much faster than rows do.
    """
    folded = np.zeros(columns.shape[1], dtype=np.int64)
    span = 1
    for column in columns:
        size = int(column.max()) + 1
        if span * size >= 1 << 62:
            # The next column would overflow: what was folded so far is numbered anew.
            found, folded = np.unique(folded, return_inverse=True)
            span = len(found)
        folded = folded * size + column
        span = span * size
    _, first_rows, counts = np.unique(folded, return_index=True, return_counts=True)
    kinds = columns[:, first_rows].T
    return kinds, counts


def unseen(tables: Floats, rng: np.random.Generator) -> Floats:
    """Return tables in which a few people at random get another prediction.

    They are a few of each group and true label. Rows that a method happened to leave alone are left
    alone in every resample. Yet if none of n people got another prediction, up to about 3 in n may
    (the rule of three); without this, a method that changed nobody of a small group would be known
    to change nobody at all. Methods differ in whose prediction is another; the runs of one do not.

    >>> found = unseen(np.full((1000, 1, 1, 1, 1, 2), 50.0), np.random.default_rng(0))
    >>> sorted(set(found[..., 0].ravel().tolist())), set(found.sum(axis=-1).ravel().tolist())
    ([48.0, 49.0, 50.0, 51.0, 52.0], {100.0})
    """
    resamples, methods, _, groups, true_labels, labels = tables.shape
    shape = (*tables.shape[:-1], 1)
    # The same source and target for all runs of a method, along an axis of one.
    drawn_shape = (2, resamples, methods, 1, groups, true_labels, 1)
    for _ in range(_UNSEEN):
        drawn_source, drawn_target = rng.integers(0, labels, size=drawn_shape)
        source = np.broadcast_to(drawn_source, shape)
        target = np.broadcast_to(drawn_target, shape)
        before = np.take_along_axis(tables, source, axis=-1)
        moved = np.minimum(before, 1.0)
        np.put_along_axis(tables, source, before - moved, axis=-1)
        # Read only now: source and target may be the same cell.
        at_target = np.take_along_axis(tables, target, axis=-1)
        np.put_along_axis(tables, target, at_target + moved, axis=-1)
    return tables


def together(
    point: Floats,
    replicates: Floats,
    level: float,
) -> tuple[Floats, Floats]:
    """Return limits around some values that hold for all of them together.

    Replicates of each value come along the first axis. The width of each is its root mean square
    distance from the value, which allows for a size (of a difference) whose replicates all lie to
    one side; how many widths are taken is the quantile of the largest distance over all values.

    >>> rng = np.random.default_rng(0)
    >>> low, high = together(np.zeros(1), rng.normal(size=(4000, 1)), 0.95)
    >>> bool(abs(high[0] - 1.96) < 0.1), bool(low[0] == -high[0])
    (True, True)
    """
    distance = replicates - point
    mean_square = np.mean(np.square(distance), axis=0)
    width = np.sqrt(mean_square)
    varies = width > 1e-12  # less is rounding, and no spread
    if not varies.any():
        return point.copy(), point.copy()
    varying_distance = np.abs(distance[:, varies])
    distance_in_widths = varying_distance / width[varies]
    farthest = distance_in_widths.max(axis=1)
    reach = float(np.quantile(farthest, level, method="higher"))
    margin = reach * width
    return point - margin, point + margin


def over_splits(
    point: Floats,
    runs: Floats,
    level: float,
    test_size: float,
) -> tuple[Floats, Floats]:
    """Return limits around some means that hold for all of them, from runs along the first axis.

    Runs that split the same rows again share most of what they train and test on. Their variance is
    enlarged by the ratio of test to training rows (Nadeau and Bengio 2003); a `test_size` of 0
    stands for independent runs.
    """
    from scipy.stats import t

    number = len(runs)
    if number < 2:
        raise UsageError(messages.ONE_RUN.format(number=number))
    test_to_training = test_size / (1 - test_size)
    deviation = np.std(runs, axis=0, ddof=1)
    width = deviation * np.sqrt(1 / number + test_to_training)
    # Both tails of every value share the error 1 - level (Bonferroni).
    tails = 2 * max(point.size, 1)
    tail = (1 - level) / tails
    reach = float(t.ppf(1 - tail, number - 1))
    margin = reach * width
    return point - margin, point + margin
