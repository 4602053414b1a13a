"""Max-T holds its level for all overlapping groups together, and is narrower than Bonferroni."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np
import pytest
from scipy.optimize import minimize_scalar
from scipy.special import xlogy

from tests.support.benchmarks import benchmark
from tests.support.simulation import holds, slow

if TYPE_CHECKING:
    from collections.abc import Iterator

LEVEL = 0.95
simulated = benchmark("max_t")


@pytest.fixture(scope="module")
def designs() -> Any:
    """Return people who are simulated once for each number of them."""
    made: dict[Any, Any] = {}

    def of(people: int, support: float, *, wide: bool) -> Any:
        key = people, support, wide
        if key not in made:
            made[key] = [
                simulated.Design.of(
                    people,
                    support,
                    0,
                    wide=wide,
                )
            ]
        return made[key]

    return of


FEW = [
    simulated.Cell(
        300,
        0.05,
        0.5,
        "none",
    ),
    simulated.Cell(
        300,
        0.05,
        0.005,
        "minority",
    ),
    simulated.Cell(
        300,
        0.05,
        0.1,
        "one group",
        "means of 5",
    ),
]
MANY = [
    simulated.Cell(
        300,
        0.02,
        0.5,
        "none",
    ),
    simulated.Cell(
        300,
        0.02,
        0.02,
        "none",
    ),
    simulated.Cell(
        300,
        0.02,
        0.005,
        "every cell",
    ),
    simulated.Cell(
        1000,
        0.01,
        0.02,
        "one group",
    ),
    simulated.Cell(
        1000,
        0.01,
        0.02,
        "minority",
    ),
    simulated.Cell(
        1000,
        0.01,
        0.02,
        "majority without",
    ),
    simulated.Cell(
        300,
        0.05,
        0.5,
        "none",
        wide=True,
    ),
    simulated.Cell(
        1000,
        0.05,
        0.5,
        "one group",
        "nearly counts",
    ),
]


CASES: list[Any] = [(cell, 400) for cell in FEW]
CASES += [slow(cell, 2000) for cell in MANY]


@pytest.mark.parametrize(("cell", "runs"), CASES)
def test_all_true_differences_are_within_their_limits(designs, cell, runs):
    made = designs(
        cell.people,
        cell.support,
        wide=cell.wide,
    )
    row = cell.run(runs, made)
    kept = round(row["coverage"] * row["runs"])
    assert holds(
        kept,
        row["runs"],
        LEVEL,
    )
    assert row["coverage"] <= row["by Bonferroni"]
    assert row["z"] < row["z of Bonferroni"]
    assert 0.75 < row["width"] < 0.97


def test_where_nothing_differs_the_level_is_met(designs):
    (design,) = designs(
        300,
        0.05,
        wide=False,
    )
    random = np.random.default_rng(1)
    tails = []
    for _ in range(50):
        intervals = design.intervals(random, graded=False)
        tails.append(intervals.tail)
    usual_tail = np.mean(tails)
    # Not much more than the level: of its own law, the error is used up.
    beyond = np.mean(design.pool < usual_tail)
    assert 0.03 < beyond < 0.065


def test_scores_that_are_divided_by_their_errors_are_skewed_where_hits_are_few(designs):
    made = designs(
        300,
        0.05,
        wide=False,
    )
    cell = simulated.Cell(
        300,
        0.05,
        0.02,
        "none",
    )
    row = cell.run(200, made)
    assert row["z of scores"] > row["z of Bonferroni"]


def random_tables() -> Iterator[tuple[list[Any], float]]:
    """Yield counts of two groups, and a difference near theirs."""
    random = np.random.default_rng(2)
    for _ in range(60):
        n1, n2 = random.integers(
            10,
            200,
            2,
        )
        k1 = random.integers(1, n1)
        k2 = random.integers(1, n2)
        apart = k1 / n1 - k2 / n2
        shifted = apart + random.normal(0, 0.1)
        d = np.clip(
            shifted,
            -0.9,
            0.9,
        )
        counts = np.array([k1, n1, k2, n2], dtype=float)
        yield counts.tolist(), float(d)


def score_of(counts: list[float], d: float) -> float:
    arrays = [np.array([count]) for count in counts]
    score, _ = simulated.scores(*arrays, np.array([d]))
    return float(score[0])


def test_scores_are_those_of_the_likeliest_rates_with_that_difference():
    # statsmodels 0.15 is no reference here: a coefficient of its cubic equation has hits for sizes.
    for (k1, n1, k2, n2), d in random_tables():

        def unlikely(p: float, table: Any = (k1, n1, k2, n2, d)) -> float:
            k1, n1, k2, n2, d = table
            other = p - d
            first = xlogy(k1, p) + xlogy(n1 - k1, 1 - p)
            second = xlogy(k2, other) + xlogy(n2 - k2, 1 - other)
            return -float(first + second)

        bounds = (max(0.0, d) + 1e-9, min(1.0, 1 + d) - 1e-9)
        p = minimize_scalar(
            unlikely,
            bounds=bounds,
            options={"xatol": 1e-10},
        ).x
        other = p - d
        variance = p * (1 - p) / n1 + other * (1 - other) / n2
        beyond = k1 / n1 - k2 / n2 - d
        expected = beyond / np.sqrt(variance)
        assert score_of([k1, n1, k2, n2], d) == pytest.approx(expected, abs=1e-5)


def test_scores_of_no_difference_are_those_of_statsmodels():
    theirs = pytest.importorskip("statsmodels.stats.proportion", reason="needs statsmodels")
    for counts, _ in random_tables():
        expected, _ = theirs.score_test_proportions_2indep(
            *counts, compare="diff", correction=False, return_results=False
        )
        assert score_of(counts, 0.0) == pytest.approx(expected, abs=1e-9)
