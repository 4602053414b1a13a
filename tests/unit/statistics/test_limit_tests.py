"""Tests against a limit: they never err more often than they say, and cost little beyond the least.

The probabilities are exact: a dynamic programme follows every number of hits over all looks.
"""

from __future__ import annotations

import math
from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from scipy.stats import binom, hypergeom

from evenhand.statistics.sequential.finite import exact, log_likelihood
from evenhand.statistics.sequential.limit_tests import first_over, log_e_above, log_e_below
from evenhand.statistics.sequential.stopping import look_sizes

ERROR = 0.03


def crossings(
    p: float, limit: float, most: int, size: int | None = None
) -> dict[str, float]:
    """Return how often each test ever rejects up to so many draws, and the mean end of a run."""
    below = above = ended = 0.0
    mean = 0.0
    before = 0
    alive = np.ones(1)
    for n in look_sizes(most):
        alive = _carried(alive, before, n, p, size)
        hits = np.arange(n + 1.0)
        is_below = log_e_below(hits, n, limit, size=size) >= -math.log(ERROR)
        is_above = log_e_above(hits, n, limit, size=size) >= -math.log(ERROR)
        below += float(alive[is_below].sum())
        above += float(alive[is_above & ~is_below].sum())
        stops = is_below | is_above
        mean += n * float(alive[stops].sum())
        ended += float(alive[stops].sum())
        alive = np.where(stops, 0.0, alive)
        before = n
    return {"below": below, "above": above, "mean": mean + most * (1 - ended)}


def _carried(alive: Any, before: int, n: int, p: float, size: int | None) -> Any:
    """Return the law of the hits after some more draws."""
    step = n - before
    if size is None:
        return np.convolve(alive, binom.pmf(np.arange(step + 1), step, p))
    law = np.zeros(n + 1)
    for hits in np.flatnonzero(alive):
        left = round(p * size) - hits
        if 0 <= left <= size - before:
            more = hypergeom.pmf(np.arange(step + 1), size - before, left, step)
            law[hits : hits + step + 1] += alive[hits] * more
    return law


@pytest.mark.parametrize("limit", [0.01, 0.05, 0.3, 0.75, 0.95])
def test_each_test_keeps_its_error_at_the_limit(limit):
    at_the_limit = crossings(limit, limit, 1500)
    assert at_the_limit["below"] <= ERROR
    assert at_the_limit["above"] <= ERROR
    # Beyond the limit they err less.
    assert crossings(min(1.2 * limit, 1.0), limit, 600)["below"] <= at_the_limit["below"]
    assert crossings(0.8 * limit, limit, 600)["above"] <= at_the_limit["above"]


@pytest.mark.parametrize(("limit", "size"), [(0.05, 120), (0.1, 331), (0.3, 200)])
def test_each_test_keeps_its_error_without_replacement(limit, size):
    bar = first_over(limit, size)
    assert crossings(bar / size, limit, size, size)["below"] <= ERROR
    assert crossings((bar - 1) / size, limit, size, size)["above"] <= ERROR


KL = (1 - 2 * 0.05) * math.log(0.95 / 0.05)


@pytest.mark.parametrize("limit", [0.05, 0.1, 0.3])
@pytest.mark.parametrize("share", [0.0, 0.2, 0.6, 1.5, 2.0])
def test_a_decision_takes_at_most_twice_what_any_test_needs(limit, share):
    p = share * limit
    information = (1 - p) * math.log((1 - p) / (1 - limit))
    if p:
        information += p * math.log(p / limit)
    assert crossings(p, limit, 4000)["mean"] <= 2 * KL / information


@given(
    n=st.integers(1, 300),
    share=st.floats(0, 1),
    limit=st.floats(0.01, 0.99),
    downs=st.floats(0, 1),
)
def test_evidence_is_monotone_in_the_hits(n, share, limit, downs):
    ups = round(share * n)
    lost = round(downs * (n - ups))
    fewer = log_e_below(max(ups - 1, 0), n, limit, downs=lost)
    assert fewer >= log_e_below(ups, n, limit, downs=lost) - 1e-9
    more = log_e_above(min(ups + 1, n - lost), n, limit, downs=lost)
    assert more >= log_e_above(ups, n, limit, downs=lost) - 1e-9


def test_a_population_that_is_nearly_exhausted_proves_it():
    # 96 of 100 are no hits, so that at most 4 are: that is below 5 %, for certain.
    assert np.isposinf(log_e_below(0, 96, 0.05, size=100))
    assert np.isposinf(log_e_above(5, 5, 0.05, size=100))
    assert np.isneginf(log_e_below(6, 20, 0.05, size=100))


@given(size=st.integers(2, 60), data=st.data())
def test_the_likelihood_is_that_of_the_hypergeometric_law(size, data):
    number = data.draw(st.integers(0, size))
    n = data.draw(st.integers(1, size))
    hits = data.draw(st.integers(0, n))
    log = log_likelihood(np.array(float(hits)), np.array(float(n)), np.array(number), size)
    chance = hypergeom.pmf(hits, size, number, n)
    assert float(np.exp(log)) * math.comb(n, hits) == pytest.approx(chance, abs=1e-12)


@pytest.mark.parametrize("size", [7, 40])
@pytest.mark.parametrize("n", [1, 5])
def test_exact_limits_without_replacement_hold_for_every_population(size, n):
    hits = np.arange(n + 1.0)
    low, high = exact(hits, np.full(n + 1, float(n)), 0.9, size)
    for number in range(size + 1):
        chances = hypergeom.pmf(hits, size, number, n)
        held = (low <= number / size + 1e-12) & (number / size <= high + 1e-12)
        assert chances[held].sum() >= 0.9


@pytest.mark.parametrize(
    ("limit", "size", "first"), [(0.05, 40, 2), (0.3, 10, 3), (1, 3, 3)]
)
def test_the_first_number_at_or_over_a_limit(limit, size, first):
    assert first_over(limit, size) == first
