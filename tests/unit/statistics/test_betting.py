"""Limits for means of bounded variables: their definition, their level, and how narrow they are."""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy.stats import binom

from evenhand.runtime.errors import UsageError
from evenhand.statistics.intervals import clopper_pearson
from evenhand.statistics.sequential import betting
from evenhand.statistics.sequential.betting import MOST_AT_STAKE, bet
from tests.support.helpers import examples, refused

if TYPE_CHECKING:
    from collections.abc import Callable

UNIT = st.floats(0, 1) | st.sampled_from([0.0, 1.0, 0.5])


def samples_of(n: int) -> st.SearchStrategy[list[list[float]]]:
    rows = st.lists(UNIT, min_size=n, max_size=n)
    return st.lists(rows, min_size=1, max_size=4)


SAMPLES = st.integers(1, 40).flatmap(samples_of)
TAILS = st.sampled_from([0.5, 0.1, 0.025, 1e-3, 1e-8])


Shape = tuple[int, int]


def even(rng: np.random.Generator, shape: Shape) -> Any:
    return rng.integers(0, 2, shape)


def rare(rng: np.random.Generator, shape: Shape) -> Any:
    return (rng.random(shape) < 0.02).astype(float)


def common(rng: np.random.Generator, shape: Shape) -> Any:
    return (rng.random(shape) < 0.97).astype(float)


def sparse(rng: np.random.Generator, shape: Shape) -> Any:
    return rng.choice([-1.0, 0.0, 1.0], size=shape, p=[0.01, 0.95, 0.04])


def beta(rng: np.random.Generator, shape: Shape) -> Any:
    return rng.beta(2, 5, shape)


def mixed(rng: np.random.Generator, shape: Shape) -> Any:
    is_whole = rng.random(shape) < 0.7
    whole = rng.integers(0, 2, shape)
    between = rng.beta(0.5, 2, shape)
    return np.where(is_whole, whole, between)


@dataclass(frozen=True)
class BoundedDistribution:
    """How values are drawn, their mean, and the lowest possible one (the highest is 1)."""

    draw: Callable[[np.random.Generator, Shape], Any]
    mean: float
    low: float = 0.0


DISTRIBUTIONS = {
    "even": BoundedDistribution(even, 0.5),
    "rare": BoundedDistribution(rare, 0.02),
    "common": BoundedDistribution(common, 0.97),
    "sparse differences": BoundedDistribution(sparse, 0.03, low=-1.0),
    "beta": BoundedDistribution(beta, 2 / 7),
    "mixed": BoundedDistribution(mixed, 0.7 * 0.5 + 0.3 * 0.2),
}


@pytest.mark.parametrize("name", DISTRIBUTIONS)
@pytest.mark.parametrize("size", [20, pytest.param(100, marks=pytest.mark.slow)])
@pytest.mark.parametrize("tail", [0.025, 1e-3])
def test_each_limit_misses_as_rarely_as_it_says(name, size, tail):
    distribution = DISTRIBUTIONS[name]
    mean = distribution.mean
    runs = 1200
    values = distribution.draw(np.random.default_rng(1), (runs, size))
    below, above = bet(values, tail, low=distribution.low)
    allowed = binom.ppf(0.9999, runs, tail)
    assert (below > mean).sum() <= allowed
    assert (above < mean).sum() <= allowed


def one_by_one(values: list[float], m: float, tail: float) -> float:
    """The capital at its highest, with a plain loop over the definition."""
    total = 0.5
    squares = 0.25
    spread = 0.25
    capital = 0.0
    capitals = []
    for number, value in enumerate(values, 1):
        stake = math.sqrt(2 * math.log(1 / tail) / (len(values) * spread))
        if m:
            stake = min(stake, MOST_AT_STAKE / m)
        capital += math.log1p(stake * (value - m))
        capitals.append(capital)
        total += value
        mean = total / (number + 1)
        squares += (value - mean) ** 2
        spread = squares / (number + 1)
    return max(capitals)


@settings(deadline=None, max_examples=examples(80))
@given(SAMPLES, TAILS)
def test_a_lower_limit_is_the_largest_mean_that_makes_the_gambler_rich(samples, tail):
    below, _ = bet(samples, tail)
    rich = -math.log(tail)
    for row, limit in zip(samples, below.tolist(), strict=True):
        if limit != 0:
            assert one_by_one(row, limit, tail) >= rich - 1e-6
        higher = limit + 1e-6
        if higher <= np.mean(row):
            assert one_by_one(row, higher, tail) < rich + 1e-6


@settings(deadline=None, max_examples=examples(80))
@given(SAMPLES, TAILS)
def test_limits_hold_the_mean_and_mirror_each_other(samples, tail):
    values = np.array(samples)
    below, above = bet(values, tail)
    mean = values.mean(axis=1)
    assert (below >= 0).all()
    assert (below <= mean).all()
    assert (above >= mean).all()
    assert (above <= 1).all()
    _, mirrored_above = bet(1 - values, tail)
    assert 1 - mirrored_above == pytest.approx(below, abs=1e-6)
    moved_below, moved_above = bet(values * 5 - 2, tail, low=-2, high=3)
    assert moved_below == pytest.approx(below * 5 - 2, abs=1e-5)
    assert moved_above == pytest.approx(above * 5 - 2, abs=1e-5)


def test_rows_do_not_touch_each_other_and_chunks_change_nothing(monkeypatch):
    values = mixed(np.random.default_rng(0), (30, 200))
    together = bet(values, 0.01)
    below, _ = together
    below_alone: list[float] = []
    for row in values:
        limit, _ = bet(row, 0.01)
        below_alone.extend(limit)
    assert np.array_equal(below, below_alone)
    bytes_of_seven_rows = 7 * 8 * 200
    monkeypatch.setattr(betting, "_BYTES_AT_ONCE", bytes_of_seven_rows)
    in_chunks = bet(values, 0.01)
    assert np.array_equal(in_chunks, together)


def test_limits_are_narrow_where_values_hardly_vary():
    rng = np.random.default_rng(2)
    size = 3000
    tail = 0.025
    hoeffding = 2 * math.sqrt(math.log(1 / tail) / (2 * size))
    below, above = bet(sparse(rng, (20, size)), tail, low=-1)
    # The range from -1 to 1 is twice as long as Hoeffding's from 0 to 1.
    assert (above - below).mean() < 0.3 * 2 * hoeffding
    hits = rng.integers(0, 2, (20, size))
    below, above = bet(hits, tail)
    width = (above - below).mean()
    low, high = clopper_pearson(hits.sum(axis=1), size, 1 - 2 * tail)
    exact_width = (high - low).mean()
    assert width < 0.95 * hoeffding
    assert width < 1.35 * exact_width


def test_rows_without_values_have_the_whole_range():
    below, above = bet(np.empty((3, 0)), 0.1, low=-1)
    assert below.tolist() == [-1.0, -1.0, -1.0]
    assert above.tolist() == [1.0, 1.0, 1.0]


def test_no_rows_have_no_limits():
    below, above = bet(np.empty((0, 5)), 0.1)
    assert below.shape == (0,)
    assert above.shape == (0,)


def test_a_single_value_leaves_the_whole_range():
    below, above = bet([[1.0]], 0.025)
    assert below.tolist() == [0.0]
    assert above.tolist() == [1.0]


@pytest.mark.parametrize("value", [0.0, 0.3, 1.0])
def test_limits_of_equal_values_narrow_to_their_value(value):
    widths = []
    for size in (5, 50, 500):
        below, above = bet(np.full((1, size), value), 0.025)
        widths.append(float(above[0] - below[0]))
    assert widths == sorted(widths, reverse=True)
    assert widths[-1] < 0.02


@pytest.mark.parametrize(
    ("call", "words"),
    [
        (lambda: bet([[0.5]], 0), "tail = 0 must lie between 0 and 1"),
        (lambda: bet([[0.5]], "x"), "tail = 'x' must lie"),  # type: ignore[arg-type]
        (lambda: bet([[0.5]], 0.1, low=1, high=1), "low = 1 must be below high = 1"),
        (lambda: bet([[-0.5]], 0.1), "values must lie from low = 0.0 to high = 1.0"),
        (lambda: bet([[math.nan]], 0.1), "values must lie"),
    ],
)
def test_wrong_arguments_are_refused(call, words):
    refused(UsageError, call, words)
