"""All intervals of impact tables hold together: rates, ratios to the best category that there truly
is, the lowest.
"""

from __future__ import annotations

import numpy as np
import pytest
from scipy.stats import binom

from evenhand.methods.impact.selection_rates import CategoryRates
from evenhand.methods.impact.tally import CategoryTally

SLACK = 1e-4
"""Limits are found to a few parts in a million."""


def plausible(misses: int, runs: int, level: float) -> bool:
    """Whether so many misses are no stranger than once in 10,000 for intervals that hold their
    level.
    """
    return bool(binom.sf(misses - 1, runs, 1 - level) > 1e-4)


def measured(hits, size, level, *, sets=1, support=0.0) -> CategoryRates:
    names = tuple((f"c{place}",) for place in range(len(size)))
    k, n = np.asarray(hits, dtype=float), np.asarray(size, dtype=float)
    tally = CategoryTally(
        ("race",), {"race": tuple(name for (name,) in names)}, names, k, n, int(n.sum()), ()
    )
    return CategoryRates(tally, support, level, sets)


def misses(found: CategoryRates, rates) -> bool:
    """Tell whether any interval misses the truth; the best of those compared is the truly best one."""
    rates = np.asarray(rates)
    best = rates[found.compared].max()
    pairs = list(zip(found.rates, rates, strict=True))
    pairs += [
        (one, rate / best) for one, rate in zip(found.ratios, rates, strict=True) if one is not None
    ]
    pairs.append((found.lowest, rates[found.compared].min() / best))
    return any(not one.low - SLACK <= truth <= one.high + SLACK for one, truth in pairs)


CASES = [
    ((0.5, 0.5), (80, 80), 80),
    ((0.3, 0.3, 0.3, 0.3), (40, 60, 30, 90), 60),  # who is best is chance alone
    ((0.02, 0.05, 0.9), (50, 8, 200), 60),  # a category that is left out beside rare ones
]


@pytest.mark.parametrize(("rates", "size", "runs"), CASES)
@pytest.mark.parametrize("times", [1, pytest.param(20, marks=pytest.mark.slow)])
def test_all_intervals_of_a_set_hold_together(rates, size, runs, times):
    rng, level, runs = np.random.default_rng(5), 0.8, runs * times
    missed = 0
    for _ in range(runs):
        found = measured(rng.binomial(size, rates), size, level, support=0.05)
        missed += bool(found.tally.hits[found.compared].any()) and misses(found, rates)
    assert plausible(missed, runs, level), missed


def scored(rng, size, means, widths, level):
    """Draw scores, cut them at the median of the sample, and return what is measured and the true
    shares above it.
    """
    from scipy.stats import norm

    scores = [rng.normal(mean, wide, n) for n, mean, wide in zip(size, means, widths, strict=True)]
    cut = np.median(np.concatenate(scores))
    hits = [int((one > cut).sum()) for one in scores]
    return measured(hits, size, level), norm.sf(cut, means, widths)


@pytest.mark.parametrize(
    ("size", "means", "widths"),
    [
        ((60, 60), (0.0, 0.4), (1.0, 1.0)),
        pytest.param((300, 15), (0.0, 0.0), (1.0, 1.0), marks=pytest.mark.slow),
        # One category is so narrow that the median falls on nearly any share of it.
        pytest.param((100, 60, 60), (0.0, -3.0, 3.0), (0.05, 0.1, 0.1), marks=pytest.mark.slow),
    ],
)
@pytest.mark.parametrize("runs", [60, pytest.param(1500, marks=pytest.mark.slow)])
def test_scoring_rates_hold_for_the_cut_that_the_median_made(size, means, widths, runs):
    rng, level, missed = np.random.default_rng(6), 0.8, 0
    for _ in range(runs):
        missed += misses(*scored(rng, size, means, widths, level))
    assert plausible(missed, runs, level), missed


def test_intervals_of_each_category_by_itself_would_not_hold_together():
    """The simulation can tell: the best category that was seen, taken for the truly best, is missed
    too often.
    """
    rng, runs, missed = np.random.default_rng(7), 200, 0
    for _ in range(runs):
        hits = rng.binomial(60, [0.3] * 6)
        share = hits / 60
        ratio, best = share / share.max(), share.argmax()
        wide = 1.282 * np.sqrt((1 - share) / np.maximum(hits, 1) + (1 - share[best]) / hits[best])
        missed += any(
            not ratio[g] * np.exp(-wide[g]) <= 1 <= ratio[g] * np.exp(wide[g]) for g in range(6)
        )
    assert not plausible(missed, runs, 0.8)


def test_ratios_of_all_categories_and_the_lowest_one_agree():
    rng = np.random.default_rng(8)
    for _ in range(20):
        size = rng.integers(5, 300, rng.integers(2, 6))
        found = measured(rng.binomial(size, rng.random(len(size))), size, 0.95)
        if found.best is None:
            continue
        ratios = [one for one in found.ratios if one is not None]
        assert min(one.value for one in ratios) == pytest.approx(found.lowest.value)
        assert min(one.low for one in ratios) >= found.lowest.low
        assert min(one.high for one in ratios) >= found.lowest.high
        assert ratios[found.best].value == 1
