"""The group score's interval holds its level: under measure's stopping rule, and for given rows."""

from __future__ import annotations

import numpy as np
import pandas as pd
import pytest

import evenhand as eh
from evenhand.statistics import intervals
from evenhand.statistics.sequential import confidence_sequences
from evenhand.statistics.sequential.group_stopping import SpreadPlan, _extremes
from evenhand.statistics.sequential.stopping import look_sizes
from tests.support.simulation import covers, plausible, slow


def missing(low, high, truth) -> int:
    """Return how many intervals do not hold the truth."""
    is_above = low > truth + 1e-9
    is_below = high < truth - 1e-9
    return int((is_above | is_below).sum())


def simulated(
    plan: SpreadPlan, rates: tuple[float, ...], runs: int, most: int | None = None
):
    """Run a plan many times on groups with these rates; return the limits that are reported.

    `most` is a budget of draws, at which a plan that has not stopped yet must report.
    """
    rng = np.random.default_rng(1)
    looks = np.fromiter(look_sizes(most or 4000), dtype=np.int64)
    steps = np.diff(looks, prepend=0)
    shape = (runs, looks.size, len(rates))
    draws = np.broadcast_to(steps[None, :, None], shape)
    new_hits = rng.binomial(draws, rates)
    hits = np.cumsum(new_hits, axis=1).astype(float)
    stop = plan.first_stop(hits, looks)
    is_last = stop == looks.size
    assert most is not None or not is_last.any()
    stop = np.minimum(stop, looks.size - 1)
    ended = hits[np.arange(runs), stop]
    sizes = looks[stop].astype(float)
    low, high, _ = plan.report(ended, sizes)
    if is_last.any():
        last_low, last_high, _ = plan.report(ended[is_last], sizes[is_last], last=True)
        low[is_last] = last_low
        high[is_last] = last_high
    return low, high


@pytest.mark.parametrize(
    ("rates", "limit", "margin", "most"),
    [
        slow((0.5, 0.5), None, 0.2, None),
        ((0.02, 0.0), None, 0.05, None),
        slow((0.3, 0.4), 0.1, 0.2, None),  # the limit is the score itself
        slow((0.2, 0.5, 0.5), 0.1, 0.25, None),
        ((0.5,) * 6, 0.1, 0.3, None),  # the largest of many differences of nothing
        ((0.1, 0.3, 0.3, 0.5), None, 0.1, 90),  # the budget ends it
    ],
)
def test_the_interval_holds_under_the_stopping_rule(rates, limit, margin, most):
    runs = 200
    level = 0.9
    plan = SpreadPlan(level, margin, limit, groups=len(rates))
    low, high = simulated(plan, rates, runs, most)
    true_spread = max(rates) - min(rates)
    misses = missing(low, high, true_spread)
    assert plausible(misses, runs, level), misses


def test_the_paper_misses_and_the_simulation_sees_it():
    """Each group by itself until Wald's formula is within the margin, then their difference."""
    rng = np.random.default_rng(2)
    runs = 300
    rates = (0.02, 0.0)
    z = intervals.z_score(0.9)
    is_hit = rng.random((runs, 2000, 2)) < rates
    hits = np.cumsum(is_hit, axis=1)
    n = np.arange(1, 2001)[None, :, None]
    share = hits / n
    standard_error = np.sqrt(share * (1 - share) / n)
    half_width = z * standard_error
    stops = (half_width < 0.01) & (n > 30)
    stop = stops.argmax(axis=1)
    at_stop = np.take_along_axis(share, stop[:, None, :], axis=1)
    ended = at_stop[:, 0]
    size = stop + 1
    score = np.ptp(ended, axis=1)
    variance = ended * (1 - ended) / size
    half = z * np.sqrt(variance.sum(axis=1))
    error = np.abs(score - 0.02)
    is_missed = error > half + 1e-9
    misses = int(is_missed.sum())
    assert not plausible(misses, runs, 0.9)
    assert misses > 100


@pytest.mark.parametrize("n", [1, 40, 300])
@pytest.mark.parametrize("groups", [2, 5])
def test_the_two_extreme_groups_say_what_all_pairs_say(n, groups):
    hits = random_hits(n, groups)
    ends = _extremes(hits)
    highest, lowest = ends.T.tolist()
    assert highest == hits.max(axis=1).tolist()
    assert lowest == hits.min(axis=1).tolist()
    sizes = np.full(hits.shape, float(n))
    for find in (intervals.spread, confidence_sequences.mixture_spread):
        of_extremes = find(ends, sizes[:, :2], 0.95, among=groups)
        of_all = find(hits, sizes, 0.95)
        for short, full in zip(of_extremes, of_all, strict=True):
            assert short == pytest.approx(full, abs=1e-6)


@pytest.mark.parametrize("n", [1, 40, 300])
@pytest.mark.parametrize("groups", [2, 5])
@pytest.mark.parametrize("interval", [None, "anytime"])
def test_a_bar_is_excluded_where_the_interval_excludes_it(n, groups, interval):
    hits = random_hits(n, groups)
    sizes = np.full(8, float(n))
    plan = SpreadPlan(0.95, 0.1, 0.2, interval, groups=groups)
    low, high = plan._interval(hits, sizes, 1 - plan.error_margin, plan.method)
    for bar in (0.05, 0.4):
        bars = np.full(8, bar)
        is_over = plan._is_over(hits, sizes, bars)
        is_under = plan._is_under(hits, sizes, bars)
        # Where the limit is not within rounding of the bar, both ways to ask must agree.
        low_is_clear = np.abs(low - bar) > 1e-4
        same = is_over == (low >= bar)
        assert same[low_is_clear].all()
        high_is_clear = np.abs(high - bar) > 1e-4
        same = is_under == (high < bar)
        assert same[high_is_clear].all()


def random_hits(n: int, groups: int):
    """Return the hits of eight runs, some of them with rare hits in all groups."""
    rng = np.random.default_rng(n + groups)
    rates = rng.random((8, groups))
    scales = rng.choice([0.1, 1.0], (8, 1))
    return rng.binomial(n, rates * scales).astype(float)


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
    runs = 200
    level = 0.9
    rng = np.random.default_rng(3)
    total = sum(sizes)
    if shuffled:
        # How many of each group are in a sample is random too, but does not depend on outcomes.
        shares = np.array(sizes) / total
        size = rng.multinomial(total, shares, runs)
    else:
        size = np.tile(sizes, (runs, 1))
    hits = rng.binomial(size, rates)
    low, high = intervals.spread(hits, size, level)
    true_spread = max(rates) - min(rates)
    misses = missing(low, high, true_spread)
    assert plausible(misses, runs, level), misses


SPACE = eh.Space(
    [eh.category("race", ["a", "b", "c"]), eh.integer("id", 1, 1000)], protected=["race"]
)
RATES = {"a": 0.5, "b": 0.5, "c": 0.35}


def planted(people):
    rates = people["race"].map(RATES).astype(float)
    return people["id"] <= 1000 * rates


def test_measure_holds_its_level_on_samples_of_rows():
    runs = 40
    level = 0.8
    misses = 0
    for seed in range(runs):
        rng = np.random.default_rng(seed)
        races = rng.choice(["a", "b", "c"], 200, p=[0.7, 0.25, 0.05])
        ids = rng.integers(1, 1001, 200)
        frame = pd.DataFrame({"race": races, "id": ids})
        sampler = eh.rows(frame, sample_of="all")
        result = eh.measure(planted, SPACE, kind="group", sampler=sampler, level=level)
        misses += not covers(result.worst.estimate, 0.15)
    assert plausible(misses, runs, level), misses
