"""The error goes to what has a limit: the level is held, and no power is given away.

Two groups of a fixed size are computed exactly, over all outcomes; several sets by simulation.
"""

from __future__ import annotations

import numpy as np
import pandas as pd
import pytest
from scipy.stats import binom

import evenhand as eh
from evenhand.statistics.ratios import impact_ratio
from tests.support.simulation import plausible, slow

LEAST = 0.8
LIMIT = 0.1
EACH = 300
"""The people of each of two groups."""
HIGH = 0.5
"""The selection rate of the group that is favoured."""


def most_hits_that_fail(hits: np.ndarray, n: int, level: float) -> np.ndarray:
    """Return the most hits of a group that fail beside those of the other, -1 where none do.

    More hits make a higher ratio, so that halving finds them.
    """
    fails = np.full(hits.shape, -1)
    passes = hits.copy()
    while (passes - fails > 1).any():
        middle = (fails + passes) // 2
        pairs = np.stack([np.maximum(middle, 0), hits], axis=-1)
        _, high = impact_ratio(pairs, np.full(pairs.shape, n), level)
        fail = (high < LEAST) & (middle >= 0) & (hits > 0)
        fails = np.where(fail, middle, fails)
        passes = np.where(fail, passes, middle)
    return fails


def chance_to_fail(low: float, high: float, n: int, level: float = 0.95) -> float:
    """Return P(FAIL) of two groups of n people with these rates, over all outcomes."""
    hits = np.arange(n + 1)
    most = most_hits_that_fail(hits, n, level)
    first_is_higher = binom.pmf(hits, n, high) @ binom.cdf(most, n, low)
    second_is_higher = binom.pmf(hits, n, low) @ binom.cdf(most, n, high)
    return float(first_is_higher + second_is_higher)


@pytest.mark.parametrize("rate", [0.3, HIGH, 0.9])
def test_a_ratio_at_its_limit_fails_no_more_often_than_the_level_allows(rate):
    # A ratio at the limit passes; it is the nearest truth to those that fail.
    assert chance_to_fail(LEAST * rate, rate, EACH) <= 0.05 / 2 + 1e-9


def test_the_power_is_that_of_one_limit():
    whole = chance_to_fail(0.66 * HIGH, HIGH, EACH)
    assert whole >= 0.44
    # This is what is given away where nine families share the error.
    ninth = chance_to_fail(0.66 * HIGH, HIGH, EACH, 1 - 0.05 / 9)
    assert ninth < 0.2


def people(rng: np.random.Generator, low: float) -> pd.DataFrame:
    """Return decisions on two groups of people."""
    sex = np.repeat(["F", "M"], EACH)
    chance = np.where(sex == "F", low, HIGH)
    return pd.DataFrame({"sex": sex, "ok": (rng.random(2 * EACH) < chance).astype(int)})


@pytest.mark.parametrize("runs", [60, slow(2000)])
@pytest.mark.parametrize("verb", [eh.measure_log, eh.impact])
def test_the_verbs_fail_as_often_as_the_exact_chance_says(verb, runs):
    rng = np.random.default_rng(11)
    expected = chance_to_fail(0.66 * HIGH, HIGH, EACH)
    failed = 0
    for _ in range(runs):
        frame = people(rng, 0.66 * HIGH)
        found = verb(frame, outcome="ok", over="sex", least_ratio=LEAST)
        failed += found.verdict == "fail"
    low, high = binom.interval(0.9999, runs, expected)
    assert low <= failed <= high


RATES = {"a": 0.5, "b": 0.46, "c": LEAST * 0.5}
"""The lowest rate is at the least ratio, and at the limit of the difference: both may pass."""


def several(rng: np.random.Generator) -> pd.DataFrame:
    """Return decisions by three races, among whom sexes are treated alike."""
    race = np.repeat(list(RATES), 150)
    chance = np.repeat(list(RATES.values()), 150)
    decided = rng.random(len(race)) < chance
    sex = rng.choice(["F", "M"], len(race))
    return pd.DataFrame({"race": race, "sex": sex, "ok": decided.astype(int)})


@pytest.mark.parametrize("runs", [60, slow(2000)])
def test_verdicts_hold_together_over_all_limits(runs):
    """A score at its limit may fail by the definition of a difference, and must not of a ratio.

    Whatever is false in any finding with a limit counts, in either direction.
    """
    rng = np.random.default_rng(12)
    level = 0.8
    true_difference = max(RATES.values()) - min(RATES.values())
    truths = {("race", False): true_difference, ("race", True): LEAST}
    truths |= {("sex", False): 0.0, ("sex", True): 1.0}
    wrong = 0
    for _ in range(runs):
        found = eh.measure_log(
            several(rng),
            outcome="ok",
            over=[("race",), ("sex",)],
            limit=LIMIT,
            least_ratio=LEAST,
            level=level,
        )
        missed = False
        for finding in found.findings:
            truth = truths[finding.about[0], finding.least]
            inside = finding.estimate.low - 1e-4 <= truth <= finding.estimate.high + 1e-4
            missed |= not inside
        wrong += missed
    assert plausible(wrong, runs, level), wrong


@pytest.mark.parametrize("runs", [60, slow(2000)])
def test_what_is_descriptive_holds_one_by_one(runs):
    rng = np.random.default_rng(13)
    level = 0.8
    truth = max(RATES.values()) - min(RATES.values())
    missed_apart = missed_groups = 0
    for _ in range(runs):
        found = eh.impact(
            several(rng), outcome="ok", over="race", least_ratio=LEAST, level=level
        )
        (table,) = found.details["impact"]
        rates = [category["rate"] for category in table["categories"]]
        assert all(rate["descriptive"] for rate in rates)
        inside = [
            rate["low"] <= true <= rate["high"]
            for rate, true in zip(rates, RATES.values(), strict=True)
        ]
        missed_groups += not all(inside)
        log = eh.measure_log(
            several(rng), outcome="ok", over="race", least_ratio=LEAST, level=level
        )
        (apart,) = [finding for finding in log.findings if finding.descriptive]
        missed_apart += not apart.estimate.low <= truth <= apart.estimate.high
    assert plausible(missed_groups, runs, level), missed_groups
    assert plausible(missed_apart, runs, level), missed_apart
