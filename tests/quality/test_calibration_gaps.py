"""Intervals of calibration gaps of subgroups hold their level, all of them together."""

from __future__ import annotations

import numpy as np
import pandas as pd
import pytest

import evenhand as eh
from tests.support.simulation import plausible, slow

LEVEL = 0.9
JOBS = ["cook", "clerk", "driver"]
CHANCES = [0.7, 0.2, 0.1]


def gap_of(job: np.ndarray) -> np.ndarray:
    """Return by how much each scores too low: drivers by 12 points, cooks by none."""
    return np.select(
        [job == "driver", job == "clerk"],
        [0.12, -0.05],
        0.0,
    )


def drawn(rng: np.random.Generator, n: int, spread: str) -> pd.DataFrame:
    job = rng.choice(
        JOBS,
        n,
        p=CHANCES,
    )
    if spread == "rare":
        score = rng.uniform(
            0.06,
            0.09,
            n,
        )
    else:
        score = rng.uniform(
            0.1,
            0.8,
            n,
        )
    truth = rng.random(n) < score + gap_of(job)
    return pd.DataFrame({"job": job, "score": score, "truth": truth.astype(int)})


def truth_of(rule: eh.Rule) -> float:
    """Return the true difference between the gap of a rule and that of everyone else."""
    shares = dict(
        zip(
            JOBS,
            CHANCES,
            strict=True,
        )
    )
    gaps = dict(
        zip(
            JOBS,
            gap_of(np.array(JOBS)),
            strict=True,
        )
    )
    inside = {str(level) for level in rule.conditions[0].levels}
    outside = set(shares) - inside

    def mean(jobs: set[str]) -> float:
        weights = [shares[job] for job in jobs]
        return float(np.average([gaps[job] for job in jobs], weights=weights))

    return abs(mean(inside) - mean(outside))


@pytest.mark.parametrize(
    ("spread", "n", "runs"),
    [
        ("wide", 800, 60),
        ("rare", 800, 60),
        slow(
            "wide",
            3000,
            600,
        ),
        slow(
            "rare",
            3000,
            600,
        ),
    ],
)
def test_the_gaps_of_all_subgroups_hold_together(spread, n, runs):
    rng = np.random.default_rng(5)
    misses = 0
    for _ in range(runs):
        found = eh.mine_log(
            drawn(
                rng,
                n,
                spread,
            ),
            outcome="score",
            truth="truth",
            over="job",
            score="calibration",
            level=LEVEL,
        )
        missed = False
        for finding in found.findings:
            if finding.about.conditions:
                apart = truth_of(finding.about)
                estimate = finding.estimate
                missed |= not estimate.low <= apart <= estimate.high
        misses += missed
    assert plausible(
        misses,
        runs,
        LEVEL,
    )


def test_a_gap_that_is_large_enough_is_shown():
    found = eh.mine_log(
        drawn(
            np.random.default_rng(0),
            60_000,
            "wide",
        ),
        outcome="score",
        truth="truth",
        over="job",
        score="calibration",
        limit=0.05,
    )
    assert str(found.worst.about) == "job driver"
    assert found.worst.verdict == "fail"
    assert "job driver score 1" in found.worst.claim
    assert "points too low on average" in found.worst.claim
