"""The intervals hold their level under the stopping rule in use, exactly or by simulation."""

from __future__ import annotations

import sys
from typing import TYPE_CHECKING

import numpy as np
import pytest
from scipy.special import gammaln, xlog1py, xlogy

from evenhand.statistics import intervals
from evenhand.statistics.sequential import confidence_sequences
from evenhand.statistics.sequential.group_stopping import SpreadPlan
from evenhand.statistics.sequential.stopping import Plan, look_sizes
from tests.support.benchmarks import benchmark
from tests.support.simulation import slow

if TYPE_CHECKING:
    from numpy.typing import NDArray


def binomial(n: int, p: float) -> NDArray[np.float64]:
    """Return the chances of 0 to n hits."""
    k = np.arange(n + 1)
    log_ways = gammaln(n + 1) - gammaln(k + 1) - gammaln(n - k + 1)
    log_chances = log_ways + xlogy(k, p) + xlog1py(n - k, -p)
    return np.asarray(np.exp(log_chances))


@pytest.fixture(scope="module")
def bench():
    module = benchmark("coverage")
    yield module
    del sys.modules[module.__name__]


@pytest.mark.parametrize("budget", [None, 60, slow(7), slow(150)])
@pytest.mark.parametrize("limit", [None, 0.1])
@pytest.mark.parametrize(
    ("level", "margin"),
    [
        (0.9, 0.1),
        (0.95, 0.2),
        (0.95, 0.06),
        (0.99, 0.1),
        (0.999, 0.15),
    ],
)
def test_coverage_is_exact_for_every_rate(bench, level, margin, limit, budget):
    plan = Plan(level, margin, limit)
    states = bench.stop_states(plan, budget)
    coverage, p = states.worst(150)
    assert coverage >= level, f"{coverage} at p = {p}"


def test_without_calibration_the_level_is_missed(bench, monkeypatch):
    monkeypatch.setattr(
        "evenhand.statistics.sequential.stopping.calibration", lambda alpha: 1.0
    )
    coverage, _ = bench.stop_states(Plan(0.95, 0.05)).worst(150)
    assert coverage < 0.95


def test_the_programme_agrees_with_simulation(bench):
    plan = Plan(0.9, 0.1, 0.2)
    rng = np.random.default_rng(5)
    coverage, size = bench.stop_states(plan).at(0.23)
    held, mean, _ = bench.simulate(plan, 0.23, 4000, rng)
    assert held / 4000 == pytest.approx(coverage, abs=0.015)
    assert mean == pytest.approx(size, rel=0.03)


def test_wald_misses_and_we_do_not(bench):
    rng = np.random.default_rng(1)
    wald = Plan(0.99, 0.01, interval="wald")
    held, _, _ = bench.simulate(wald, 0.02, 500, rng)
    assert held < 0.6 * 500
    ours = Plan(0.99, 0.01)
    held, _, _ = bench.simulate(ours, 0.02, 500, rng)
    assert bench.below(held, 500, 0.99) > 1e-4


@pytest.mark.parametrize("p", [0.3, 0.5])
@pytest.mark.parametrize("limit", [None, 0.1, 0.3])
def test_honesty_costs_about_half_again_at_the_most(bench, p, limit):
    # Where Wald's rule holds its level. The limit of 0.3 costs most, being the rate itself.
    rng = np.random.default_rng(2)
    ours = Plan(0.95, 0.05, limit)
    _, mean, _ = bench.simulate(ours, p, 500, rng)
    wald = Plan(0.95, 0.05, interval="wald")
    _, wald_mean, _ = bench.simulate(wald, p, 500, rng)
    assert mean <= (1.6 if limit == p else 1.5) * wald_mean


@pytest.mark.parametrize("p", [0.002, 0.1, 0.5])
def test_the_mixture_holds_at_every_look_at_once(p):
    rng = np.random.default_rng(3)
    runs = 3000
    looks = np.unique([*range(1, 200), *look_sizes(20_000)])
    steps = np.diff(looks, prepend=0)
    drawn = rng.binomial(steps, p, (runs, looks.size))
    hits = np.cumsum(drawn, axis=1)
    is_missed = confidence_sequences.log_mixture(hits, looks, p) >= np.log(1 / 0.1)
    ever_missed = is_missed.any(axis=1)
    assert ever_missed.mean() < 0.1
    # An interval for one look, looked at again and again, misses more often than that.
    peeking = np.zeros(runs, dtype=bool)
    for j in range(0, looks.size, 8):
        low, high = intervals.clopper_pearson(hits[:, j], looks[j], 0.9)
        peeking |= (p < low) | (p > high)
    cannot_tell = "the simulation cannot tell a valid interval from one that is not"
    assert peeking.mean() > 0.13, cannot_tell


def test_the_mixture_holds_for_grades():
    rng = np.random.default_rng(4)
    grades = rng.beta(0.2, 0.8, (2000, 600))
    sums = np.cumsum(grades, axis=1)
    sizes = np.arange(1, 601)
    is_missed = confidence_sequences.log_mixture(sums, sizes, 0.2) >= np.log(1 / 0.1)
    ever_missed = is_missed.any(axis=1)
    assert ever_missed.mean() < 0.1


@pytest.mark.parametrize(
    ("rates", "limit"),
    [
        ((0.3, 0.3), None),
        ((0.01, 0.97), None),
        ((0.2, 0.5), 0.2),
        ((0.1, 0.2, 0.6), None),
        ((0.3,) * 4, None),
    ],
)
def test_the_spread_holds_its_level(bench, rates, limit):
    plan = SpreadPlan(0.9, 0.2, limit, groups=len(rates))
    rng = np.random.default_rng(6)
    held, _, _ = bench.simulate(plan, rates, 500, rng)
    assert bench.below(held, 500, 0.9) > 1e-4


GRID = np.array([0.0, 0.01, 0.05, 0.1, 0.2, 0.28, 0.36, 0.44, 0.5, 0.6, 0.76, 0.9, 0.99])
"""The rates of both groups for which coverage is computed exactly."""


def carried(bench, alive, before, n):
    """Return the weights of all pairs of hits after n draws, of those alive after fewer draws."""
    by_first = np.stack([bench.carry(row, before, n) for row in alive])
    return np.stack([bench.carry(column, before, n) for column in by_first.T], axis=1)


def all_hits(n):
    """Return all pairs of hits of two groups with n draws each, as a table of pairs."""
    counts = np.arange(n + 1.0)
    first, second = np.meshgrid(counts, counts, indexing="ij")
    return np.stack([first, second], axis=-1)


def test_the_spread_of_two_holds_its_level_exactly(bench):
    plan = SpreadPlan(0.9, 0.3)
    true_spread = np.abs(GRID[:, None] - GRID)
    total = np.zeros_like(true_spread)
    held = np.zeros_like(true_spread)
    alive = np.ones((1, 1))
    before = 0
    for n in plan.looks():
        weight = carried(bench, alive, before, n)
        hits = all_hits(n)
        stops = plan.first_stop(hits[:, :, None], [n]) == 0
        chance = np.stack([binomial(n, p) for p in GRID])
        ended = np.argwhere(stops & (weight > 1e-12))
        low, high, _ = plan.report(hits[tuple(ended.T)], float(n))
        for (i, j), bottom, top in zip(ended, low, high, strict=True):
            mass = weight[i, j] * chance[:, i, None] * chance[:, j]
            total += mass
            above_bottom = bottom <= true_spread + 1e-9
            below_top = true_spread <= top + 1e-9
            held += mass * (above_bottom & below_top)
        alive = np.where(stops, 0.0, weight)
        before = n
        if not (alive > 1e-12).any():
            break
    assert total == pytest.approx(np.ones_like(total), abs=1e-6)
    assert held.min() >= 0.9
