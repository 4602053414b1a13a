"""All intervals of impact tables hold together: rates, ratios to the best category, the lowest."""

from __future__ import annotations

import numpy as np
import pytest

from evenhand.methods.impact.selection_rates import CategoryRates
from evenhand.methods.impact.tally import CategoryTally
from tests.support.simulation import covers, plausible, slow

SLACK = 1e-4
"""Limits are found to a few parts in a million."""


def measured(hits, size, level, *, sets=1, support=0.0) -> CategoryRates:
    names = [f"c{place}" for place in range(len(size))]
    sizes = np.asarray(size, dtype=float)
    tally = CategoryTally(
        ("race",),
        {"race": tuple(names)},
        tuple((name,) for name in names),
        np.asarray(hits, dtype=float),
        sizes,
        int(sizes.sum()),
        (),
    )
    return CategoryRates(tally, support, level, sets)


def misses(found: CategoryRates, rates) -> bool:
    """Return whether any interval misses the truth.

    Ratios are true to the best rate that there is, not to the best one that was seen.
    """
    rates = np.asarray(rates)
    compared = rates[found.compared]
    best = compared.max()
    pairs = list(zip(found.rates, rates, strict=True))
    for ratio, rate in zip(found.ratios, rates, strict=True):
        if ratio is not None:
            pairs.append((ratio, rate / best))
    pairs.append((found.lowest, compared.min() / best))
    return not all(covers(estimate, truth, SLACK) for estimate, truth in pairs)


CASES = [
    ((0.5, 0.5), (80, 80), 80),
    ((0.3, 0.3, 0.3, 0.3), (40, 60, 30, 90), 60),  # who is best is chance alone
    ((0.02, 0.05, 0.9), (50, 8, 200), 60),  # a category that is left out beside rare ones
]


@pytest.mark.parametrize(("rates", "size", "runs"), CASES)
@pytest.mark.parametrize("times", [1, slow(20)])
def test_all_intervals_of_a_set_hold_together(rates, size, runs, times):
    rng = np.random.default_rng(5)
    level = 0.8
    runs = runs * times
    missed = 0
    for _ in range(runs):
        hits = rng.binomial(size, rates)
        found = measured(hits, size, level, support=0.05)
        # Without a single hit there is no best category, and so no ratio.
        has_hits = found.tally.hits[found.compared].any()
        if has_hits and misses(found, rates):
            missed += 1
    assert plausible(missed, runs, level), missed


def scored(rng, size, means, widths, level):
    """Draw scores and cut them at their median; return what is measured and the true shares."""
    from scipy.stats import norm

    scores = []
    for n, mean, width in zip(size, means, widths, strict=True):
        scores.append(rng.normal(mean, width, n))
    cut = np.median(np.concatenate(scores))
    hits = [int((group > cut).sum()) for group in scores]
    true_shares = norm.sf(cut, means, widths)
    return measured(hits, size, level), true_shares


@pytest.mark.parametrize(
    ("size", "means", "widths"),
    [
        ((60, 60), (0.0, 0.4), (1.0, 1.0)),
        slow((300, 15), (0.0, 0.0), (1.0, 1.0)),
        # One category is so narrow that the median falls on nearly any share of it.
        slow((100, 60, 60), (0.0, -3.0, 3.0), (0.05, 0.1, 0.1)),
    ],
)
@pytest.mark.parametrize("runs", [60, slow(1500)])
def test_scoring_rates_hold_for_the_cut_that_the_median_made(size, means, widths, runs):
    rng = np.random.default_rng(6)
    level = 0.8
    missed = 0
    for _ in range(runs):
        found, true_shares = scored(rng, size, means, widths, level)
        missed += misses(found, true_shares)
    assert plausible(missed, runs, level), missed


def test_intervals_of_each_category_by_itself_would_not_hold_together():
    """The simulation can tell: to the best category that was seen, ratios are missed too often."""
    rng = np.random.default_rng(7)
    runs = 200
    missed = 0
    for _ in range(runs):
        hits = rng.binomial(60, [0.3] * 6)
        share = hits / 60
        best = share.argmax()
        ratio = share / share.max()
        # The usual interval of a log ratio, by the delta method.
        variance = (1 - share) / np.maximum(hits, 1)
        half = 1.282 * np.sqrt(variance + (1 - share[best]) / hits[best])
        low = ratio * np.exp(-half)
        high = ratio * np.exp(half)
        covered = (low <= 1) & (high >= 1)
        missed += not covered.all()
    assert not plausible(missed, runs, 0.8)


def test_ratios_of_all_categories_and_the_lowest_one_agree():
    rng = np.random.default_rng(8)
    for _ in range(20):
        categories = rng.integers(2, 6)
        size = rng.integers(5, 300, categories)
        rates = rng.random(len(size))
        found = measured(rng.binomial(size, rates), size, 0.95)
        if found.best is None:
            continue
        lowest = found.lowest
        ratios = [ratio for ratio in found.ratios if ratio is not None]
        assert min(ratio.value for ratio in ratios) == pytest.approx(lowest.value)
        assert min(ratio.low for ratio in ratios) >= lowest.low
        assert min(ratio.high for ratio in ratios) >= lowest.high
        assert ratios[found.best].value == 1
