"""Intervals of means, medians and errors by group hold their level, for skewed numbers too."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np
import pytest

import evenhand as eh
from evenhand.scores.numbers.groups import Assurance, NumberGroups
from tests.support.simulation import covers, plausible, slow

if TYPE_CHECKING:
    import pandas as pd

LEVEL = 0.9


def numbers(kind: str, rng: np.random.Generator, n: int) -> np.ndarray:
    if kind == "skewed":
        return rng.lognormal(0, 1, n)
    if kind == "heavy":
        return rng.standard_t(3, n)
    if kind == "whole":
        return rng.poisson(3, n).astype(float)
    return rng.normal(0, 1, n)


def truths(kind: str, scales: tuple[float, ...], statistic: str) -> float:
    """Return the true difference of groups that are multiples of the same numbers."""
    many = numbers(kind, np.random.default_rng(99), 2_000_000)
    value = {
        "mean": many.mean(),
        "median": np.median(many),
        "root mean squared error": np.sqrt((many**2).mean()),
    }[statistic]
    values = value * np.array(scales)
    return float(np.ptp(values))


@pytest.mark.parametrize("statistic", ["mean", "median", "root mean squared error"])
@pytest.mark.parametrize(
    ("kind", "sizes", "scales", "runs"),
    [
        ("normal", (40, 200), (1, 1), 300),
        ("skewed", (100, 100, 100), (1, 1, 2), 300),
        slow("normal", (40, 200), (1, 2), 1500),
        slow("skewed", (60, 400), (1, 2), 1500),
        slow("skewed", (100,) * 5, (1, 1, 1, 1, 1.5), 1500),
        slow("heavy", (60, 60), (1, 3), 1500),
        slow("whole", (50, 300), (1, 1), 1500),
    ],
)
def test_differences_hold_their_level(statistic, kind, sizes, scales, runs):
    rng = np.random.default_rng(7)
    truth = truths(kind, scales, statistic)
    about = [{"group": place} for place in range(len(sizes))]
    place = np.repeat(np.arange(len(sizes)), sizes)
    misses = 0
    for _ in range(runs):
        drawn = []
        for scale, n in zip(scales, sizes, strict=True):
            drawn.append(scale * numbers(kind, rng, n))
        values = np.concatenate(drawn)
        groups = NumberGroups(("group",), about, values, place, errors=values)
        estimate = groups.spread(statistic, Assurance(LEVEL))
        misses += not covers(estimate, truth, slack=2e-2 * truth)
    assert plausible(misses, runs, LEVEL)


SPACE = eh.Space(
    [
        eh.category("sex", ["F", "M"]),
        eh.real("luck", 0, 1),
    ],
    protected=["sex"],
)


def pay(people: pd.DataFrame) -> pd.Series:
    """A skewed amount: its mean is 1 for men, and 1.2 for women."""
    women = 1 + 0.2 * (people["sex"] == "F")
    return women * -np.log1p(-people["luck"] * (1 - 1e-12))


@pytest.mark.parametrize("runs", [15, slow(100)])
def test_the_intervals_of_measure_hold_under_its_stopping_rule(runs):
    misses = 0
    for seed in range(runs):
        found = eh.measure(
            pay,
            SPACE,
            kind="group",
            limit=0.15,
            level=LEVEL,
            seed=seed,
            margin=0.1,
        )
        mean, median = found.findings
        held = covers(mean.estimate, 0.2) and covers(median.estimate, 0.2 * np.log(2))
        misses += not held
    assert plausible(misses, runs, LEVEL)
