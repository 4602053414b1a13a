"""Limits for means of bounded variables: against the definition, the level they hold, and how
narrow they are.
"""

from __future__ import annotations

import math
from typing import TYPE_CHECKING, Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy.stats import binom

from evenhand.runtime.errors import UsageError
from evenhand.statistics import betting
from evenhand.statistics.betting import MOST_AT_STAKE, bet
from evenhand.statistics.intervals import clopper_pearson
from tests.support.helpers import examples, refused

if TYPE_CHECKING:
    from collections.abc import Callable

UNIT = st.floats(0, 1) | st.sampled_from([0.0, 1.0, 0.5])
SAMPLES = st.integers(1, 40).flatmap(
    lambda n: st.lists(st.lists(UNIT, min_size=n, max_size=n), min_size=1, max_size=4)
)
TAILS = st.sampled_from([0.5, 0.1, 0.025, 1e-3, 1e-8])


def sparse(rng: np.random.Generator, shape: tuple[int, int]) -> Any:
    return rng.choice([-1.0, 0.0, 1.0], size=shape, p=[0.01, 0.95, 0.04])


def mixed(rng: np.random.Generator, shape: tuple[int, int]) -> Any:
    return np.where(
        rng.random(shape) < 0.7, rng.integers(0, 2, shape), rng.beta(0.5, 2, shape)
    )


LAWS: dict[str, tuple[Callable[..., Any], float, float]] = {
    "even": (lambda rng, shape: rng.integers(0, 2, shape), 0.5, 0.0),
    "rare": (lambda rng, shape: 1.0 * (rng.random(shape) < 0.02), 0.02, 0.0),
    "common": (lambda rng, shape: 1.0 * (rng.random(shape) < 0.97), 0.97, 0.0),
    "sparse differences": (sparse, 0.03, -1.0),
    "beta": (lambda rng, shape: rng.beta(2, 5, shape), 2 / 7, 0.0),
    "mixed": (mixed, 0.7 * 0.5 + 0.3 * 0.2, 0.0),
}


@pytest.mark.parametrize("law", LAWS)
@pytest.mark.parametrize("size", [20, pytest.param(100, marks=pytest.mark.slow)])
@pytest.mark.parametrize("tail", [0.025, 1e-3])
def test_each_limit_misses_as_rarely_as_it_says(law, size, tail):
    draw, mean, low = LAWS[law]
    runs = 1200
    below, above = bet(draw(np.random.default_rng(1), (runs, size)), tail, low=low)
    allowed = binom.ppf(0.9999, runs, tail)
    assert (below > mean).sum() <= allowed
    assert (above < mean).sum() <= allowed


def one_by_one(values: list[float], m: float, tail: float) -> float:
    """The capital at its highest, with a plain loop over the definition."""
    total, squares, spread = 0.5, 0.25, 0.25
    capital = most = 0.0
    for number, value in enumerate(values, 1):
        stake = math.sqrt(2 * math.log(1 / tail) / (len(values) * spread))
        capital += math.log1p((min(stake, MOST_AT_STAKE / m) if m else stake) * (value - m))
        most = capital if number == 1 else max(most, capital)
        total += value
        squares += (value - total / (number + 1)) ** 2
        spread = squares / (number + 1)
    return most


@settings(deadline=None, max_examples=examples(80))
@given(SAMPLES, TAILS)
def test_a_lower_limit_is_the_largest_mean_that_makes_the_gambler_rich(samples, tail):
    below, _ = bet(samples, tail)
    for row, limit in zip(samples, below.tolist(), strict=True):
        assert limit == 0 or one_by_one(row, limit, tail) >= -math.log(tail) - 1e-6
        higher = limit + 1e-6
        assert (
            higher > np.mean(row) or one_by_one(row, higher, tail) < -math.log(tail) + 1e-6
        )


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
    mirrored = bet(1 - values, tail)
    assert 1 - mirrored[1] == pytest.approx(below, abs=1e-6)
    moved = bet(values * 5 - 2, tail, low=-2, high=3)
    assert moved[0] == pytest.approx(below * 5 - 2, abs=1e-5)
    assert moved[1] == pytest.approx(above * 5 - 2, abs=1e-5)


def test_rows_do_not_touch_each_other_and_chunks_change_nothing(monkeypatch):
    values = mixed(np.random.default_rng(0), (30, 200))
    whole = bet(values, 0.01)
    alone = [bet(row, 0.01) for row in values]
    assert np.array_equal(whole[0], [low for (low,), _ in alone])
    monkeypatch.setattr(betting, "_BYTES_AT_ONCE", 7 * 8 * 200)
    assert np.array_equal(bet(values, 0.01), whole)


def test_limits_are_narrow_where_values_hardly_vary():
    rng = np.random.default_rng(2)
    size, tail = 3000, 0.025
    hoeffding = 2 * math.sqrt(math.log(1 / tail) / (2 * size))
    below, above = bet(sparse(rng, (20, size)), tail, low=-1)
    assert (above - below).mean() < 0.3 * 2 * hoeffding
    hits = rng.integers(0, 2, (20, size))
    below, above = bet(hits, tail)
    exact = clopper_pearson(hits.sum(axis=1), size, 1 - 2 * tail)
    assert (above - below).mean() < 0.95 * hoeffding
    assert (above - below).mean() < 1.35 * (exact[1] - exact[0]).mean()


def test_few_values_and_equal_ones():
    assert [limit.tolist() for limit in bet(np.empty((3, 0)), 0.1, low=-1)] == [
        [-1.0] * 3,
        [1.0] * 3,
    ]
    assert [limit.shape for limit in bet(np.empty((0, 5)), 0.1)] == [(0,), (0,)]
    assert [limit.tolist() for limit in bet([[1.0]], 0.025)] == [[0.0], [1.0]]
    for value in (0.0, 0.3, 1.0):
        widths = [
            float(np.diff(np.ravel(bet(np.full((1, size), value), 0.025)))[0])
            for size in (5, 50, 500)
        ]
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
def test_wrong_arguments_are_told(call, words):
    refused(UsageError, call, words)
