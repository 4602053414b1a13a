"""Limits of differences of means: they hold, narrow with less variance, and bound each other."""

from __future__ import annotations

import numpy as np
import pytest

from evenhand.statistics.simultaneous_means import SimultaneousMeans
from tests.support.simulation import plausible, slow


def sides(inside: np.ndarray, outside: np.ndarray) -> tuple[np.ndarray, ...]:
    """Return the sums of two samples, one for each row."""
    sums = []
    for values in (inside, outside):
        size = np.full(values.shape[:-1], float(values.shape[-1]))
        sums += [values.sum(axis=-1), size]
    squares = [(values**2).sum(axis=-1) for values in (inside, outside)]
    return (*sums, *squares)


@pytest.mark.parametrize(
    ("shape", "runs"),
    [
        ((0.5, 3.0), 400),
        slow((0.5, 3.0), 20_000),
        slow((0.05, 0.2), 20_000),
        slow((30.0, 10.0), 20_000),
    ],
)
def test_limits_hold_their_level(shape, runs):
    rng = np.random.default_rng(1)
    a, b = shape
    first = rng.beta(a, b, size=(runs, 60))
    second = rng.beta(a, b, size=(runs, 300))
    means = SimultaneousMeans(0.9)
    low, high = means.difference_of(sides(first, second))
    misses = int(((low > 0) | (high < 0)).sum())
    # Half of the error is for differences.
    assert plausible(misses, runs, 0.95)


def test_less_variance_is_narrower():
    rng = np.random.default_rng(2)
    values = rng.random((1, 500))
    near = 0.5 + (values - 0.5) / 10
    means = SimultaneousMeans(0.95, among=1000)
    wide = np.subtract(*means.difference_of(sides(values, values))[::-1])
    narrow = np.subtract(*means.difference_of(sides(near, near))[::-1])
    assert narrow[0] < 0.6 * wide[0]


def test_boxes_and_ceilings_bound_the_difference():
    rng = np.random.default_rng(3)
    given = sides(rng.random((20, 50)), rng.random((20, 200)))
    means = SimultaneousMeans(0.95, among=50)
    low, high = means.difference_of(given)
    box = means.box_of(given)
    assert (np.maximum(np.abs(low), np.abs(high)) <= box).all()
    assert (box <= means.ceiling_of(given)).all()
    assert (means.strength_of(given) <= box).all()


def test_all_there_is_has_no_interval():
    rng = np.random.default_rng(4)
    given = sides(rng.random((3, 50)), rng.random((3, 20)))
    exact = SimultaneousMeans(1.0)
    low, high = exact.difference_of(given)
    assert (low == high).all()
    (first, _), (second, _) = exact.sides_of(given)
    np.testing.assert_allclose(first - second, low)
