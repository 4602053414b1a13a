"""False discovery and false coverage rates under dependence, by simulation."""

from __future__ import annotations

import numpy as np
import pytest
from scipy import stats

from evenhand.statistics.confidence_sequences import log_mixture
from evenhand.statistics.discoveries import discovered, e_discovered, share_of_one

LEVEL = 0.9
TESTS = 60


def correlated(rng: np.random.Generator, runs: int, how: str) -> np.ndarray:
    """Return standard normal variables that depend on each other, a row for each run."""
    noise = rng.standard_normal((runs, TESTS))
    if how == "independent":
        return noise
    common = rng.standard_normal((runs, 1))
    if how == "alike":
        return 0.8 * common + 0.6 * noise
    # Half of them go against the other half.
    signs = np.where(np.arange(TESTS) % 2, 1.0, -1.0)
    return 0.9 * common * signs + np.sqrt(1 - 0.81) * noise


@pytest.mark.parametrize("how", ["independent", "alike", "opposed"])
@pytest.mark.parametrize("true", [0, 15])
def test_few_discoveries_and_few_intervals_of_them_are_false(how, true):
    """The rates may exceed the error by three standard errors of the simulation at most."""
    runs = 2000
    rng = np.random.default_rng(true + len(how))
    means = np.where(np.arange(TESTS) < true, 3.5, 0.0)
    seen = correlated(rng, runs, how) + means
    p_values = 2 * stats.norm.sf(np.abs(seen))
    wrong = np.zeros(runs)
    missed = np.zeros(runs)
    power = 0
    for run in range(runs):
        found = discovered(p_values[run], LEVEL)
        if not found:
            continue
        selected = np.argsort(p_values[run])[:found]
        wrong[run] = (means[selected] == 0).mean()
        error = (1 - LEVEL) / share_of_one(TESTS, found)
        half = stats.norm.isf(error / 2)
        missed[run] = (np.abs(seen[run, selected] - means[selected]) > half).mean()
        power += int((means[selected] > 0).sum())
    for rate in (wrong, missed):
        assert rate.mean() <= 1 - LEVEL + 3 * rate.std() / np.sqrt(runs)
    if true:
        assert power > 0.3 * runs * true


@pytest.mark.parametrize("shared", [False, True])
def test_few_discoveries_by_bets_are_false_whenever_each_ends(shared):
    """Bets end when they look best, and scores share their draws or do not."""
    runs, n, limit = 400, 300, 0.1
    rng = np.random.default_rng(3)
    rates = np.where(np.arange(TESTS) < 12, 0.25, limit)
    sizes = np.arange(1, n + 1)
    wrong = np.zeros(runs)
    power = 0
    for run in range(runs):
        draws = rng.random((n, 1 if shared else TESTS))
        hits = np.cumsum(draws < rates, axis=0).T
        log_bets = log_mixture(hits, sizes, limit)
        log_bets = np.where(hits >= limit * sizes, log_bets, -np.inf)
        # Each ends at the first look where it would be found alone among all, else at the last.
        good = log_bets >= np.log(TESTS / (1 - LEVEL))
        end = np.where(good.any(axis=1), good.argmax(axis=1), n - 1)
        bets = np.exp(np.minimum(log_bets[np.arange(TESTS), end], 600))
        found = e_discovered(bets, LEVEL)
        if found.any():
            wrong[run] = (rates[found] == limit).mean()
        power += int(found[:12].sum())
    assert wrong.mean() <= 1 - LEVEL + 3 * wrong.std() / np.sqrt(runs)
    assert power > 0.5 * runs * 12
