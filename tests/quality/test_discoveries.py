"""False discovery and false coverage rates under dependence, by simulation.

The table of docs/explanation/intervals.md is what the slow tests print.
"""

# mypy: disable-error-code="union-attr,operator,arg-type,assignment,return-value"
# What is not there fails a test just as well where it is looked at.

from __future__ import annotations

from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

import numpy as np
import pytest
from scipy import stats

from evenhand.methods.mine.claims.discovered import Discoveries, RuleSearch, discover
from evenhand.methods.mine.rule_sets import Mining, RuleSetOptions, Treated
from evenhand.space.feature import category
from evenhand.space.space import Space
from evenhand.statistics.discoveries import discovered, e_discovered, share_of_one
from evenhand.statistics.sequential.limit_tests import log_e_above
from evenhand.statistics.simultaneous import SimultaneousIntervals, absolute

if TYPE_CHECKING:
    from evenhand.methods.mine.ranking import Ranking

LEVEL = 0.9
ERROR = 1 - LEVEL
TESTS = 60


def check_rate(shares: Any) -> None:
    """Check that a mean share is the error at most, but for three standard errors."""
    runs = len(shares)
    mean = np.mean(shares)
    standard_error = np.std(shares) / runs**0.5
    assert mean <= ERROR + 3 * standard_error


def correlated(rng: np.random.Generator, runs: int, how: str) -> Any:
    """Return standard normal variables that depend on each other, a row for each run."""
    noise = rng.standard_normal((runs, TESTS))
    if how == "independent":
        return noise
    common = rng.standard_normal((runs, 1))
    if how == "alike":
        return 0.8 * common + 0.6 * noise
    # Half of them go against the other half.
    numbers = np.arange(TESTS)
    signs = np.where(numbers % 2, 1.0, -1.0)
    return 0.8 * common * signs + 0.6 * noise


@pytest.mark.parametrize("how", ["independent", "alike", "opposed"])
@pytest.mark.parametrize("true", [0, 15])
def test_few_discoveries_and_few_intervals_of_them_are_false(how, true):
    runs = 2000
    rng = np.random.default_rng(true + len(how))
    numbers = np.arange(TESTS)
    means = np.where(numbers < true, 3.5, 0.0)
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
        truth = means[selected]
        wrong[run] = np.mean(truth == 0)
        power += np.sum(truth > 0)
        error = ERROR / share_of_one(TESTS, found)
        reach = stats.norm.isf(error / 2)
        distances = np.abs(seen[run, selected] - truth)
        missed[run] = np.mean(distances > reach)
    check_rate(wrong)
    check_rate(missed)
    assert power >= 0.3 * runs * true


def best_bets(hits: Any, limit: float) -> Any:
    """Return a bet for each row of counts, which ends when it would be found alone among all."""
    n = hits.shape[1]
    sizes = np.arange(1, n + 1)
    log_bets = log_e_above(hits, sizes, limit)
    good = log_bets >= np.log(len(hits) / ERROR)
    first = good.argmax(axis=1)
    end = np.where(good.any(axis=1), first, n - 1)
    rows = np.arange(len(hits))
    return np.exp(log_bets[rows, end])


@pytest.mark.parametrize("columns", [1, TESTS])
def test_few_discoveries_by_bets_are_false_whenever_each_ends(columns):
    """With one column all scores share their draws."""
    runs = 300
    limit = 0.1
    true = 12
    rng = np.random.default_rng(3)
    numbers = np.arange(TESTS)
    rates = np.where(numbers < true, 0.25, limit)
    wrong = np.zeros(runs)
    power = 0
    for run in range(runs):
        draws = rng.random((300, columns))
        hits = np.cumsum(draws < rates, axis=0)
        bets = best_bets(hits.T, limit)
        found = e_discovered(bets, LEVEL)
        power += np.sum(found[:true])
        if found.any():
            wrong[run] = np.mean(rates[found] == limit)
    check_rate(wrong)
    assert power > 0.5 * runs * true


# The rule sets of a mining

SPACE = Space(
    [
        category("a", list("pqrs")),
        category("b", list("pqrs")),
        category("c", ["p", "q"]),
    ]
)
CELLS = SPACE.enumerate()
NAMES = ("a", "b", "c")


def rates_of(bias: float) -> Any:
    """Return how often the people of each cell are favoured; an eighth of them are less often."""
    a, b, _ = CELLS.T
    worse = (a == 0) & (b < 2)
    return np.where(worse, 0.6 - bias, 0.6)


def mining_of(points: Any, values: Any) -> Mining:
    points = np.asfortranarray(points)
    treated = Treated(points, values, "all", "recorded")
    return Mining.of(SPACE, NAMES, treated, RuleSetOptions())


def true_differences(bias: float) -> dict[object, float]:
    """Return the true difference of every rule set."""
    ranking = mining_of(CELLS, rates_of(bias)).ranking
    apart = np.abs(ranking.inside - ranking.outside)
    truth = {}
    for number, distance in enumerate(apart.tolist()):
        truth[place_of(ranking, number)] = distance
    return truth


def place_of(ranking: Ranking, number: int) -> object:
    """Return what tells a rule set from all others, whoever else is mined."""
    return ranking.table.family(number), ranking.table.place(number)


@dataclass
class Figures:
    """What came of many minings: shares of false discoveries and intervals, and what was found."""

    truth: dict[object, float]
    limit: float
    wrong: list[float] = field(default_factory=list)
    missed: list[float] = field(default_factory=list)
    found: list[int] = field(default_factory=list)
    family: list[int] = field(default_factory=list)

    def add(self, mining: Mining) -> None:
        """Mine at both kinds of level, and note what is true of what is found."""
        ranking = mining.ranking
        intervals = SimultaneousIntervals(LEVEL, ranking.examined)
        found = discover([RuleSearch(ranking, intervals, self.limit)], LEVEL)
        own = Discoveries(found, ranking.examined, intervals).intervals
        assert ranking.rates is not None
        family = self._by_family(ranking, intervals)
        numbers = np.flatnonzero(ranking.rates <= ERROR * (1 + 1e-12))
        wrong = missed = 0
        if len(numbers):
            places = [place_of(ranking, number) for number in numbers.tolist()]
            truth = np.array([self.truth[place] for place in places])
            ends = own.difference_of(ranking.sides(ranking.counts(numbers)))
            low, high = absolute(*map(np.asarray, ends))
            outside = (truth < low - 1e-9) | (truth > high + 1e-9)
            wrong = np.sum(truth <= self.limit + 1e-12)
            missed = np.sum(outside)
        self.wrong.append(wrong / max(found, 1))
        self.missed.append(missed / max(found, 1))
        self.found.append(found)
        self.family.append(family)

    def _by_family(self, ranking: Any, intervals: Any) -> int:
        """Return how many are found where all intervals hold together: their rates are under 1."""
        maybe = np.flatnonzero(ranking.rates < 1)
        sides = ranking.sides(ranking.counts(maybe))
        errors = intervals.error_of(sides, self.limit)
        return int(np.sum(errors * ranking.examined <= ERROR))


def simulated(bias: float, limit: float, runs: int) -> Figures:
    """Mine 2,000 people many times, and check both rates."""
    rng = np.random.default_rng(1)
    rates = rates_of(bias)
    figures = Figures(true_differences(bias), limit)
    for _ in range(runs):
        cells = rng.integers(0, len(CELLS), 2000)
        favoured = rng.random(2000) < rates[cells]
        figures.add(mining_of(CELLS[cells], favoured.astype(float)))
    check_rate(figures.wrong)
    check_rate(figures.missed)
    return figures


@pytest.mark.parametrize(("bias", "limit"), [(0.0, 0.0), (0.3, 0.05)])
def test_few_rule_sets_that_are_found_are_so_by_chance(bias, limit):
    figures = simulated(bias, limit, runs=40)
    if bias:
        assert np.mean(figures.found) > np.mean(figures.family) > 1


@pytest.mark.slow
@pytest.mark.parametrize("bias", [0.0, 0.2, 0.3])
@pytest.mark.parametrize("limit", [0.0, 0.05])
def test_few_rule_sets_are_found_by_chance_in_many_runs(bias, limit):
    figures = simulated(bias, limit, runs=2000)
    shares = [np.mean(figures.wrong), np.mean(figures.missed)]
    found = [np.mean(figures.found), np.mean(figures.family)]
    print(bias, limit, np.round(shares, 4).tolist(), np.round(found, 1).tolist())
