"""The sampling loop: its sums are the same, to the last digit, however many draws a wave has."""

from __future__ import annotations

import numpy as np
import pytest

from evenhand.scores.sampling_loop import RunningSums


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
