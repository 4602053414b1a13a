"""The error goes to what has a limit: the level is held, and no power is given away.

Two groups of a fixed size are computed exactly, over all outcomes; several sets by simulation.
"""

from __future__ import annotations

from functools import cache

import numpy as np
import pandas as pd
import pytest
from scipy.stats import binom

import evenhand as eh
from evenhand.statistics.ratios import impact_ratio
from tests.support.simulation import covers, plausible, slow

LEAST = 0.8
LIMIT = 0.1
SLACK = 1e-4
"""Limits are found to a few parts in a million."""
EACH = 300
"""The people of each of two groups."""
HIGH = 0.5
"""The selection rate of the group that is favoured."""
LOW = 0.66 * HIGH
"""The rate of the other group, of which a test should tell that it is too low."""


def fails(hits: np.ndarray, others: np.ndarray, n: int, level: float) -> np.ndarray:
    """Return whether the ratio of two groups is surely below the limit."""
    counts = np.stack([hits, others], axis=-1)
    sizes = np.full(counts.shape, n)
    _, high = impact_ratio(counts, sizes, level)
    return np.asarray(high < LEAST)


@cache
def most_hits_that_fail(n: int, level: float) -> np.ndarray:
    """Return the most hits of a group that fail beside any of the other, -1 where none do.

    More hits make a higher ratio, so that halving finds them.
    """
    others = np.arange(n + 1)
    below = np.full(others.shape, -1)
    above = others.copy()
    while True:
        is_open = above - below > 1
        if not is_open.any():
            return below
        middle = (below + above) // 2
        tried = np.maximum(middle, 0)
        is_below = fails(tried, others, n, level)
        is_below &= is_open
        below = np.where(is_below, middle, below)
        is_above = is_open & ~is_below
        above = np.where(is_above, middle, above)


def chance_to_fail(low: float, high: float, n: int, level: float = 0.95) -> float:
    """Return P(FAIL) of two groups of n people with these rates, over all outcomes."""
    hits = np.arange(n + 1)
    most = most_hits_that_fail(n, level)
    chances = 0.0
    # Either group may be the one that is seen to be favoured.
    for rate, other in ((low, high), (high, low)):
        of_others = binom.pmf(hits, n, other)
        of_fewer = binom.cdf(most, n, rate)
        chances += float(of_others @ of_fewer)
    return chances


@pytest.mark.parametrize("rate", [0.3, HIGH, 0.9])
def test_a_ratio_at_its_limit_fails_no_more_often_than_the_level_allows(rate):
    # A ratio at the limit passes; it is the nearest truth to those that fail.
    chance = chance_to_fail(LEAST * rate, rate, EACH)
    assert chance <= 0.025


def test_the_power_is_that_of_one_limit():
    assert chance_to_fail(LOW, HIGH, EACH) >= 0.44


def test_where_nine_families_share_the_error_the_power_is_given_away():
    shared = 1 - 0.05 / 9
    assert chance_to_fail(LOW, HIGH, EACH, shared) < 0.2


def people(rng: np.random.Generator) -> pd.DataFrame:
    """Return decisions on two groups of people."""
    sex = np.repeat(["F", "M"], EACH)
    rate = np.repeat([LOW, HIGH], EACH)
    granted = rng.random(2 * EACH) < rate
    return pd.DataFrame({"sex": sex, "ok": granted})


@pytest.mark.parametrize("runs", [60, slow(2000)])
@pytest.mark.parametrize("verb", [eh.measure_log, eh.impact])
def test_the_verbs_fail_as_often_as_the_exact_chance_says(verb, runs):
    rng = np.random.default_rng(11)
    failed = 0
    for _ in range(runs):
        found = verb(
            people(rng),
            outcome="ok",
            over="sex",
            least_ratio=LEAST,
        )
        failed += found.verdict == "fail"
    chance = chance_to_fail(LOW, HIGH, EACH)
    fewest, most = binom.interval(0.9999, runs, chance)
    assert fewest <= failed <= most


RACES = ["a", "b", "c"]
RATES = [0.5, 0.46, LEAST * 0.5]
"""The lowest rate is at the least ratio, and at the limit of the difference."""
APART = max(RATES) - min(RATES)
SCORES = {
    "rate difference of race": APART,
    "rate ratio of race": LEAST,
    "rate difference of sex": 0.0,
    "rate ratio of sex": 1.0,
}
"""What is true of each finding."""
LEVEL = 0.8


def several(rng: np.random.Generator) -> pd.DataFrame:
    """Return decisions by three races, among whom sexes are treated alike."""
    each = 150
    race = np.repeat(RACES, each)
    rate = np.repeat(RATES, each)
    n = len(race)
    columns = {
        "race": race,
        "sex": rng.choice(["F", "M"], n),
        "ok": rng.random(n) < rate,
    }
    return pd.DataFrame(columns)


@pytest.mark.parametrize("runs", [60, slow(2000)])
def test_all_that_has_a_limit_holds_together(runs):
    """Where all intervals hold, no verdict is false, neither a pass nor a fail."""
    rng = np.random.default_rng(12)
    missed = 0
    for _ in range(runs):
        found = eh.measure_log(
            several(rng),
            outcome="ok",
            over=[("race",), ("sex",)],
            limit=LIMIT,
            least_ratio=LEAST,
            level=LEVEL,
        )
        held = []
        for finding in found.findings:
            truth = SCORES[finding.key]
            held.append(covers(finding.estimate, truth, SLACK))
        assert len(held) == 4
        missed += not all(held)
    assert plausible(missed, runs, LEVEL), missed


@pytest.mark.parametrize("runs", [60, slow(2000)])
def test_what_is_descriptive_holds_by_itself(runs):
    rng = np.random.default_rng(13)
    missed_difference = 0
    missed_rates = 0
    for _ in range(runs):
        found = eh.measure_log(
            several(rng),
            outcome="ok",
            over="race",
            least_ratio=LEAST,
            level=LEVEL,
        )
        (apart,) = [finding for finding in found.findings if finding.descriptive]
        missed_difference += not covers(apart.estimate, APART, SLACK)
        held = []
        for group, rate in zip(apart.groups, RATES, strict=True):
            assert group.estimate.descriptive
            held.append(covers(group.estimate, rate, SLACK))
        missed_rates += not all(held)
    assert plausible(missed_difference, runs, LEVEL), missed_difference
    assert plausible(missed_rates, runs, LEVEL), missed_rates
