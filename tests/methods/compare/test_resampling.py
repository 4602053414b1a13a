"""Resampled tables and the limits from them: shapes, sums and formulas written out here."""

from __future__ import annotations

from itertools import product

import numpy as np
import pytest
from scipy.stats import t

from evenhand.methods.compare import resampling
from evenhand.methods.compare.contingency import Frame
from evenhand.methods.compare.resampling import over_splits, resampled, together, unseen
from evenhand.runtime.errors import UsageError

FRAME = Frame.of(["no", "yes"], {"sex": ["f", "m"]})
COMBINATION = np.array([0, 0, 0, 1, 1, 1, 1, 1])
TRUTH = np.array([0, 1, 1, 0, 0, 1, 1, 1])
PREDICTED = np.array(
    [
        [[0, 1, 0, 0, 1, 1, 1, 0], [0, 0, 0, 0, 1, 1, 1, 1]],
        [[1, 1, 1, 1, 1, 1, 1, 1], [0, 0, 0, 0, 0, 0, 0, 0]],
        [[0, 1, 1, 0, 0, 1, 1, 1], [0, 1, 1, 0, 0, 1, 1, 1]],
    ]
)


def drawn(resamples, seed=0):
    rng = np.random.default_rng(seed)
    return list(resampled(FRAME, COMBINATION, TRUTH, PREDICTED, resamples, rng))


def no_change(tables, rng):
    return tables


def test_resamples_come_in_parts_that_add_up(monkeypatch):
    kinds_and_cells = 3 * 2 * 8
    monkeypatch.setattr(resampling, "_AT_ONCE", 2 * kinds_and_cells)
    parts = drawn(5)
    assert [len(tables) for tables, _ in parts] == [2, 2, 1]
    assert [len(weights) for _, weights in parts] == [2, 2, 1]
    monkeypatch.setattr(resampling, "_AT_ONCE", 1)
    assert [len(tables) for tables, _ in drawn(3)] == [1, 1, 1]
    monkeypatch.undo()
    assert [len(tables) for tables, _ in drawn(5)] == [5]


def test_tables_count_every_row_once_and_runs_weigh_one():
    ((tables, weights),) = drawn(200)
    assert tables.shape == (200, 3, 2, 2, 2, 2)
    assert weights.shape == (200, 2)
    assert (tables.sum(axis=(3, 4, 5)) == 8).all()
    assert (tables >= 0).all()
    assert weights.sum(axis=1) == pytest.approx(np.ones(200))
    assert set(weights.ravel().tolist()) == {0.0, 0.5, 1.0}
    # The same rows for every method and run: as many of each group and true label.
    groups = tables.sum(axis=5)
    assert (groups == groups[:, :1, :1]).all()


def test_tables_are_on_average_those_of_the_rows(monkeypatch):
    monkeypatch.setattr(resampling, "unseen", no_change)
    ((tables, weights),) = drawn(4000)
    expected = np.zeros((3, 2, 2, 2, 2))
    for method in range(3):
        for run in range(2):
            for row in range(8):
                place = COMBINATION[row], TRUTH[row], PREDICTED[method, run, row]
                expected[(method, run, *place)] += 1
    assert tables.mean(axis=0) == pytest.approx(expected, abs=0.15)
    assert ((tables > 0).any(axis=0) == (expected > 0)).all()
    assert weights.mean(axis=0) == pytest.approx([0.5, 0.5], abs=0.03)
    variance = expected * (1 - expected / 8)
    assert tables.var(axis=0) == pytest.approx(variance, abs=0.25)


def test_a_third_method_with_the_truth_has_no_error(monkeypatch):
    monkeypatch.setattr(resampling, "unseen", no_change)
    ((tables, _),) = drawn(50)
    right = tables[:, 2]
    assert (right[..., 0, 1] == 0).all()
    assert (right[..., 1, 0] == 0).all()


def test_kinds_of_rows_are_kept_apart_and_counted():
    columns = np.array([[0, 1, 0, 1, 0], [2, 0, 2, 0, 1]])
    kinds, counts = resampling._kinds(columns)
    assert kinds.tolist() == [[0, 1], [0, 2], [1, 0]]
    assert counts.tolist() == [1, 2, 2]


def test_kinds_of_rows_with_many_columns_are_kept_apart_too():
    rng = np.random.default_rng(0)
    columns = rng.integers(0, 3, (80, 40))
    columns[:, 1] = columns[:, 0]
    columns[:, 7] = columns[:, 3]
    kinds, counts = resampling._kinds(columns)
    expected, numbers = np.unique(columns.T, axis=0, return_counts=True)
    assert sorted(map(tuple, kinds.tolist())) == sorted(map(tuple, expected.tolist()))
    assert sorted(counts.tolist()) == sorted(numbers.tolist())
    assert counts.sum() == 40


@pytest.mark.parametrize("bits", [31, 30])
def test_numbers_of_kinds_do_not_overflow(bits):
    top = (1 << bits) - 1
    columns = np.array([[0, top, top, 0], [top, 0, top, 0], [5, 5, 5, 5], [0, 1, 2, 3]])
    kinds, counts = resampling._kinds(columns)
    assert len(kinds) == 4
    assert counts.tolist() == [1, 1, 1, 1]
    assert sorted(map(tuple, kinds.tolist())) == sorted(map(tuple, columns.T.tolist()))


def expected_move():
    """Return how many counts two moves between three labels change on average, over all moves."""
    totals = []
    for first, second, third, fourth in product(range(3), repeat=4):
        change = [0, 0, 0]
        change[first] -= 1
        change[second] += 1
        change[third] -= 1
        change[fourth] += 1
        totals.append(sum(map(abs, change)))
    return sum(totals) / len(totals)


def test_at_most_two_people_of_each_group_and_label_get_another_prediction():
    before = np.full((3000, 2, 3, 2, 2, 3), 5.0)
    after = unseen(before.copy(), np.random.default_rng(0))
    assert (after.sum(axis=-1) == 15).all()
    change = after - before
    assert change.min() == -2
    assert change.max() == 2
    # All runs of a method change alike; methods, groups and true labels do not.
    assert (change == change[:, :, :1]).all()
    for axis in (1, 3, 4):
        first, second = np.split(change, 2, axis=axis)
        assert (first != second).any()
    moved = np.abs(change).sum(axis=-1)[:, :, 0].mean()
    assert moved == pytest.approx(expected_move(), abs=0.04)


def test_nobody_is_taken_from_where_nobody_is():
    tables = np.zeros((500, 1, 1, 1, 1, 2))
    tables[..., 0] = 0.5
    after = unseen(tables, np.random.default_rng(0))
    assert set(after.ravel().tolist()) == {0.0, 0.5}
    assert (after.sum(axis=-1) == 0.5).all()


def test_limits_together_are_as_many_widths_as_the_farthest_value_has():
    rng = np.random.default_rng(0)
    point = np.array([0.5, 0.2, 0.7])
    replicates = point + rng.normal(size=(400, 3)) * [0.1, 0.02, 0.0]
    low, high = together(point, replicates, 0.9)
    width = np.sqrt(((replicates - point) ** 2).mean(axis=0))
    farthest = sorted((np.abs(replicates - point)[:, :2] / width[:2]).max(axis=1))
    reach = farthest[int(np.ceil(0.9 * 399))]
    assert high - point == pytest.approx(reach * width)
    assert point - low == pytest.approx(reach * width)
    assert low[2] == high[2] == 0.7


def test_values_that_never_vary_have_no_limits_around_them():
    point = np.array([0.5, 0.25])
    low, high = together(point, np.tile(point, (20, 1)), 0.95)
    assert low.tolist() == high.tolist() == point.tolist()
    assert low is not point
    assert high is not low
    low, high = together(point, np.tile(point + 1e-13, (20, 1)), 0.95)
    assert low.tolist() == high.tolist() == point.tolist()
    low, _ = together(point, np.tile(point + 1e-11, (20, 1)), 0.95)
    assert low.tolist() != point.tolist()


@pytest.mark.parametrize("number", [2, 5])
@pytest.mark.parametrize("test_size", [0.0, 0.25])
def test_limits_over_splits_are_those_of_nadeau_and_bengio(number, test_size):
    rng = np.random.default_rng(0)
    runs = rng.normal(size=(number, 3))
    point = runs.mean(axis=0)
    low, high = over_splits(point, runs, 0.95, test_size)
    deviation = runs.std(axis=0, ddof=1)
    ratio = test_size / (1 - test_size)
    margin = t.isf(0.05 / 6, number - 1) * deviation * np.sqrt(1 / number + ratio)
    assert low == pytest.approx(point - margin)
    assert high == pytest.approx(point + margin)


def test_one_run_has_no_spread():
    with pytest.raises(UsageError):
        over_splits(np.zeros(1), np.zeros((1, 1)), 0.95, 0.25)
    low, high = over_splits(np.zeros(0), np.zeros((2, 0)), 0.95, 0.25)
    assert low.size == high.size == 0
