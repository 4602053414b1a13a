"""The group score's interval holds its level: under measure's own stopping rule, and for given rows
of any mixture.
"""

from __future__ import annotations

import numpy as np
import pandas as pd
import pytest
from scipy.stats import binom

import evenhand as eh
from evenhand.statistics import confidence_sequences, intervals
from evenhand.statistics.group_stopping import SpreadPlan, _extremes
from evenhand.statistics.stopping import look_sizes


def plausible(misses: int, runs: int, level: float) -> bool:
    """Whether so many misses are no stranger than once in 10,000 for an interval that holds its
    level.
    """
    return bool(binom.sf(misses - 1, runs, 1 - level) > 1e-4)


def simulated(
    plan: SpreadPlan, rates: tuple[float, ...], runs: int, seed: int, most: int | None = None
):
    """Run a plan many times on groups with these rates, up to a budget of draws; return the
    reported limits.
    """
    rng, end = np.random.default_rng(seed), most or 4000
    looks = np.fromiter(look_sizes(end), dtype=np.int64)
    steps = np.diff(looks, prepend=0)[None, :, None]
    drawn = rng.binomial(np.broadcast_to(steps, (runs, looks.size, len(rates))), rates)
    hits = np.cumsum(drawn, axis=1).astype(float)
    at = plan.first_stop(hits, looks)
    assert most is not None or (at < looks.size).all()
    last = at == looks.size
    at = np.minimum(at, looks.size - 1)
    ended = hits[np.arange(runs), at]
    low, high, _ = plan.report(ended, looks[at].astype(float))
    if last.any():
        low[last], high[last], _ = plan.report(
            ended[last], looks[at[last]].astype(float), last=True
        )
    return low, high


@pytest.mark.parametrize(
    ("rates", "limit", "margin", "most"),
    [
        pytest.param((0.5, 0.5), None, 0.2, None, marks=pytest.mark.slow),
        ((0.02, 0.0), None, 0.05, None),
        pytest.param(
            (0.3, 0.4), 0.1, 0.2, None, marks=pytest.mark.slow
        ),  # the limit is the score itself
        pytest.param((0.2, 0.5, 0.5), 0.1, 0.25, None, marks=pytest.mark.slow),
        ((0.5,) * 6, 0.1, 0.3, None),  # the largest of many differences of nothing
        ((0.1, 0.3, 0.3, 0.5), None, 0.1, 90),  # the budget ends it
    ],
)
def test_the_interval_holds_under_the_stopping_rule(rates, limit, margin, most):
    runs, level = 200, 0.9
    low, high = simulated(SpreadPlan(level, margin, limit, groups=len(rates)), rates, runs, 1, most)
    truth = max(rates) - min(rates)
    misses = int(((low > truth + 1e-9) | (high < truth - 1e-9)).sum())
    assert plausible(misses, runs, level), misses


def test_the_paper_misses_and_the_simulation_sees_it():
    """Each group by itself until Wald's formula is within the margin, and the difference of what is
    then found.
    """
    rng, runs, rates = np.random.default_rng(2), 300, (0.02, 0.0)
    hits = np.cumsum(rng.random((runs, 2000, 2)) < rates, axis=1)
    n = np.arange(1, 2001)[None, :, None]
    share = hits / n
    stops = (intervals.z_score(0.9) * np.sqrt(share * (1 - share) / n) < 0.01) & (n > 30)
    at = stops.argmax(axis=1)
    ended = np.take_along_axis(share, at[:, None, :], axis=1)[:, 0]
    size = at + 1
    value = np.ptp(ended, axis=1)
    half = intervals.z_score(0.9) * np.sqrt((ended * (1 - ended) / size).sum(axis=1))
    misses = int((np.abs(value - 0.02) > half + 1e-9).sum())
    assert not plausible(misses, runs, 0.9)
    assert misses > 100


@pytest.mark.parametrize("n", [1, 40, 300])
@pytest.mark.parametrize("groups", [2, 5])
def test_the_two_extreme_groups_say_what_all_pairs_say(n, groups):
    rng = np.random.default_rng(n + groups)
    hits = rng.binomial(n, rng.random((8, groups)) * rng.choice([0.1, 1.0], (8, 1))).astype(float)
    ends = _extremes(hits)
    assert ends.tolist() == [[max(row), min(row)] for row in hits.tolist()]
    for find in (intervals.spread, confidence_sequences.mixture_spread):
        short = find(ends, np.full((8, 2), float(n)), 0.95, among=groups)
        every = find(hits, np.full((8, groups), float(n)), 0.95)
        for one, other in zip(short, every, strict=True):
            assert one == pytest.approx(other, abs=1e-6)
    for interval in (None, "anytime"):
        plan = SpreadPlan(0.95, 0.1, 0.2, interval, groups=groups)
        for bar in (0.05, 0.4):
            low, high = plan._interval(
                hits, np.full(8, float(n)), 1 - plan.error_margin, plan.method
            )
            over = plan._is_over(hits, np.full(8, float(n)), np.full(8, bar))
            under = plan._is_under(hits, np.full(8, float(n)), np.full(8, bar))
            # Where the limit is not within rounding of the bar, both ways to ask must agree.
            clear = np.abs(low - bar) > 1e-4
            assert (over == (low >= bar))[clear].all()
            clear = np.abs(high - bar) > 1e-4
            assert (under == (high < bar))[clear].all()


@pytest.mark.parametrize(
    ("rates", "sizes", "shuffled"),
    [
        ((0.5, 0.5), (5, 400), False),
        ((0.02, 0.0), (200, 20), True),
        ((0.9, 0.5, 0.5), (8, 50, 400), True),
        ((0.4,) * 4, (3, 10, 30, 300), False),
        ((0.0, 1.0), (4, 60), True),
    ],
)
def test_samples_of_unequal_groups_hold_their_level(rates, sizes, shuffled):
    runs, level, rng = 200, 0.9, np.random.default_rng(3)
    shares = np.array(sizes) / sum(sizes)
    # How many of each group are in a sample is random too, but does not depend on their outcomes.
    size = rng.multinomial(sum(sizes), shares, runs) if shuffled else np.tile(sizes, (runs, 1))
    low, high = intervals.spread(rng.binomial(size, rates), size, level)
    truth = max(rates) - min(rates)
    misses = int(((low > truth + 1e-9) | (high < truth - 1e-9)).sum())
    assert plausible(misses, runs, level), misses


SPACE = eh.Space(
    [eh.category("race", ["a", "b", "c"]), eh.integer("id", 1, 1000)], protected=["race"]
)
RATES = {"a": 0.5, "b": 0.5, "c": 0.35}


def planted(people):
    return people["id"] <= 1000 * people["race"].map(RATES).astype(float)


def test_measure_holds_its_level_on_samples_of_rows():
    runs, level, misses = 40, 0.8, 0
    for seed in range(runs):
        rng = np.random.default_rng(seed)
        races = rng.choice(["a", "b", "c"], 200, p=[0.7, 0.25, 0.05])
        frame = pd.DataFrame({"race": races, "id": rng.integers(1, 1001, 200)})
        found = eh.measure(
            planted, SPACE, kind="group", sampler=eh.rows(frame, sample_of="all"), level=level
        )
        misses += not found.worst.estimate.low <= 0.15 <= found.worst.estimate.high
    assert plausible(misses, runs, level), misses
