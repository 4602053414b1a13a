"""False discovery and false coverage rates under dependence, by simulation.

The tables of docs/explanation/intervals.md are those that the slow tests print.
"""

from __future__ import annotations

import numpy as np
import pytest
from scipy import stats

from evenhand.methods.mine.claims.discovered import Discoveries, Searched, discover
from evenhand.methods.mine.rule_sets import Mining, RuleSetOptions, Treated
from evenhand.space.feature import category
from evenhand.space.space import Space
from evenhand.statistics.confidence_sequences import log_mixture
from evenhand.statistics.discoveries import discovered, e_discovered, share_of_one
from evenhand.statistics.simultaneous import SimultaneousIntervals, absolute

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


SPACE = Space(
    [
        category("a", list("pqrs")),
        category("b", list("pqrs")),
        category("c", ["p", "q"]),
    ]
)
CELLS = SPACE.enumerate()
NAMES = ("a", "b", "c")


def rates_of(bias: float) -> np.ndarray:
    """Return how often the people of each cell are favoured, an eighth of whom are less."""
    return np.where((CELLS[:, 0] == 0) & (CELLS[:, 1] < 2), 0.6 - bias, 0.6)


def mining_of(points: np.ndarray, values: np.ndarray) -> Mining:
    treated = Treated(np.asfortranarray(points), values, "all", "recorded")
    return Mining.of(SPACE, NAMES, treated, RuleSetOptions())


def true_differences(bias: float) -> dict[object, float]:
    """Return the true difference of every rule set."""
    truth = {}
    for block in mining_of(CELLS, rates_of(bias)).ranking.blocks:
        for number in range(len(block.index)):
            apart = abs(float(block.inside[number] - block.outside[number]))
            truth[block.family, block.place(number)] = apart
    return truth


def simulated(bias: float, limit: float, runs: int, rows: int) -> dict[str, float]:
    """Return the mean shares of false discoveries and of false intervals, and how many are found.

    Beside them stand those of the family: how often any is false, and how many are found.
    """
    rng = np.random.default_rng(1)
    truth = true_differences(bias)
    rates = rates_of(bias)
    figures: dict[str, list[float]] = {"fdr": [], "fcr": [], "found": [], "family": []}
    for _ in range(runs):
        cells = rng.integers(0, len(CELLS), rows)
        values = (rng.random(rows) < rates[cells]).astype(float)
        ranking = mining_of(CELLS[cells], values).ranking
        intervals = SimultaneousIntervals(LEVEL, ranking.examined)
        found = discover([Searched(ranking, intervals, limit)], LEVEL)
        own = Discoveries(found, ranking.examined, intervals).intervals
        false = missed = together = 0
        for block in ranking.blocks:
            assert block.rates is not None
            # What is found by the family has a rate under 1.
            maybe = np.flatnonzero(block.rates < 1)
            errors = intervals.error_of(ranking.sides(block.counts(maybe)), limit)
            together += int((errors * ranking.examined <= 1 - LEVEL).sum())
            numbers = np.flatnonzero(block.rates <= (1 - LEVEL) * (1 + 1e-12))
            if not len(numbers):
                continue
            ends = own.difference_of(ranking.sides(block.counts(numbers)))
            lows, highs = absolute(np.asarray(ends[0]), np.asarray(ends[1]))
            for at, number in enumerate(numbers.tolist()):
                apart = truth[block.family, block.place(number)]
                false += apart <= limit + 1e-12
                missed += not lows[at] <= apart + 1e-9 <= highs[at] + 2e-9
        figures["fdr"].append(false / max(found, 1))
        figures["fcr"].append(missed / max(found, 1))
        figures["found"].append(found)
        figures["family"].append(together)
    means = {name: float(np.mean(of_runs)) for name, of_runs in figures.items()}
    for name in ("fdr", "fcr"):
        error = float(np.std(figures[name])) / runs**0.5
        assert means[name] <= 1 - LEVEL + 3 * error, (name, means)
    return means


@pytest.mark.parametrize(("bias", "limit"), [(0.0, 0.0), (0.3, 0.05)])
def test_few_rule_sets_that_are_found_are_so_by_chance(bias, limit):
    means = simulated(bias, limit, runs=40, rows=2000)
    if bias:
        assert means["found"] > means["family"] > 1


@pytest.mark.slow
@pytest.mark.parametrize("bias", [0.0, 0.2, 0.3])
@pytest.mark.parametrize("limit", [0.0, 0.05])
def test_few_rule_sets_are_found_by_chance_in_many_runs(bias, limit):
    means = simulated(bias, limit, runs=2000, rows=2000)
    print(bias, limit, {name: round(mean, 4) for name, mean in means.items()})
