"""The score of software with chance in it holds its level, and flicker is noticed."""

from __future__ import annotations

import sys
from itertools import product

import numpy as np
import pytest

import evenhand as eh
from tests.support.benchmarks import benchmark
from tests.support.simulation import covers, holds, slow


@pytest.fixture(scope="module")
def bench():
    module = benchmark("chance")
    yield module
    del sys.modules[module.__name__]


@pytest.mark.parametrize("runs", [100, slow(2000)])
@pytest.mark.parametrize("limit", [None, 0.1])
@pytest.mark.parametrize("excess", [0.0, 0.05, 0.3])
@pytest.mark.parametrize("noise", [0.0, 0.001, 0.01, 0.05, 0.2])
def test_coverage_under_the_stopping_rule(bench, noise, excess, limit, runs):
    truth = bench.Truth(noise, excess)
    rng = np.random.default_rng([11, int(1000 * noise), int(100 * excess)])
    found = bench.simulate(truth, limit, runs, rng)
    kept = sum(covers(estimate, excess, 1e-9) for estimate in found)
    assert holds(kept, runs, 0.95)


def test_limits_that_ignore_the_bets_would_miss(bench):
    """Half of the capital that rules out a mean is too little: the simulation can fail."""
    truth = bench.Truth(0.2, 0.3)
    rng = np.random.default_rng(3)
    runs = 400
    kept = 0
    for estimate in bench.simulate(truth, None, runs, rng):
        half_low = estimate.value - 0.25 * (estimate.value - estimate.low)
        half_high = estimate.value + 0.25 * (estimate.high - estimate.value)
        kept += half_low <= 0.3 <= half_high
    assert not holds(kept, runs, 0.95)


def test_the_score_is_right_on_average(bench):
    cells = bench.average_cells(2000)
    assert len(cells) == 15
    for cell in cells:
        assert cell["ok"], cell


@pytest.mark.parametrize("runs", [4, slow(300)])
def test_measured_with_two_and_five_races(bench, runs):
    for races, noise, excess in product((2, 5), (0.01, 0.2), (0.0, 0.3)):
        truth = bench.Truth(noise, excess)
        kept = 0
        for seed in range(runs):
            software = bench.Software(truth, seed)
            found = eh.measure(software, bench.space(races), seed=seed)
            estimate = found.worst.estimate
            kept += estimate.low <= excess + 1e-9
            if races == 2:
                kept -= estimate.high < excess - 1e-9
        # Of several twins that chance confuses, one that differs less may be chosen.
        assert holds(kept, runs, 0.95), (races, noise, excess)


@pytest.mark.parametrize("runs", [6, slow(300)])
def test_one_wrong_answer_in_a_thousand_is_noticed(bench, runs):
    for cell in bench.noticed_cells(runs):
        assert cell["inputs"] >= 5000
        assert holds(round(cell["noticed"] * runs), runs, 0.95), cell
