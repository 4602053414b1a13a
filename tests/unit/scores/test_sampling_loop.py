"""The sampling loop: its sums are the same, to the last digit, however many draws a wave has."""

from __future__ import annotations

import math

import numpy as np
import pytest

from evenhand.scores.sampling_loop import RunningSums, _Pace
from evenhand.statistics.sequential.stopping import CHEAP_LOOK_RATIO, FIRST_CHEAP_LOOK


def sums(hits: np.ndarray, waves: list[int]) -> list[float]:
    """Return the sum at the end of each of the sizes that every split has."""
    totals = RunningSums()
    start = 0
    sizes = [1000, 2000, len(hits)]
    seen = {}
    for stop in [*waves, len(hits)]:
        within = [size for size in sizes if start < size <= stop]
        found = totals.add(hits[start:stop], [size - start for size in within])
        for size, total in zip(within, found, strict=True):
            seen[size] = total.tolist()
        start = stop
    return [seen[size] for size in sizes]


@pytest.mark.parametrize("shape", [(3001,), (3001, 3)])
def test_sums_of_scores_do_not_depend_on_the_size_of_waves(shape):
    hits = np.random.default_rng(0).random(shape) ** 7
    at_once = sums(hits, [])
    assert sums(hits, [16, 17, 700, 1999]) == at_once
    assert sums(hits, list(range(256, 3001, 256))) == at_once


def test_expensive_software_is_asked_up_to_the_next_look_alone():
    expensive = _Pace(expensive=True, width=4)
    assert expensive.width == 1
    assert expensive.until(0, 3, None) == 3
    assert expensive.until(10_000, 10_001, None) == 10_001
    assert expensive.until(0, 30, 20) == 20


def test_cheap_software_is_asked_ahead():
    cheap = _Pace(expensive=False, width=4)
    assert cheap.width == 4
    assert cheap.until(0, 3, None) == FIRST_CHEAP_LOOK
    ahead = math.ceil(10_000 * CHEAP_LOOK_RATIO)
    assert ahead > 10_000
    assert cheap.until(10_000, 10_001, None) == ahead
    assert cheap.until(10_000, 10 * ahead, None) == 10 * ahead
    assert cheap.until(0, 3, 5) == 5


@pytest.mark.parametrize(
    ("draws", "seconds", "is_shared"), [(4, 0.05, True), (3, 1.0, False), (4, 0.04, False)]
)
def test_a_wave_is_shared_where_it_is_enough_work(draws, seconds, is_shared):
    pace = _Pace(expensive=False, width=4)
    assert not pace.spread(draws)
    pace.learn(10, 5 * seconds, width=2)
    assert pace.spread(draws) == is_shared
    alone = _Pace(expensive=True, width=4)
    alone.learn(10, 5 * seconds, width=2)
    assert not alone.spread(draws)
