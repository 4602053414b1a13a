"""measure_log, impact and audit_log give the same numbers for the same question about a log."""

from __future__ import annotations

from typing import Any

import numpy as np
import pandas as pd
import pytest

import evenhand as eh

SEX = ("sex",)
RACE = ("race",)
BOTH = ("sex", "race")


@pytest.fixture(scope="module")
def log() -> pd.DataFrame:
    """Return decisions, among them those on a race of 1 % whose rate is the lowest."""
    rng = np.random.default_rng(9)
    n = 3000
    race = rng.choice(
        ["a", "b", "few"],
        n,
        p=[0.6, 0.39, 0.01],
    )
    sex = rng.choice(["F", "M"], n)
    rate = np.select(
        [race == "a", race == "b"],
        [0.6, 0.45],
        default=0.1,
    )
    granted = rng.random(n) < rate
    columns = {
        "sex": sex,
        "race": race,
        "ok": granted,
    }
    return pd.DataFrame(columns)


def ratios(result):
    """Return the lowest ratio of each set: its value, its interval, and n."""
    found = {}
    for finding in result.findings:
        if not finding.least:
            continue
        estimate = finding.estimate
        found[finding.about] = (
            estimate.value,
            estimate.low,
            estimate.high,
            estimate.n,
        )
    return found


def values(result):
    """Return the lowest ratio of each set, without its interval."""
    found = {}
    for about, ratio in ratios(result).items():
        value, _, _, n = ratio
        found[about] = (value, n)
    return found


def left_out_of_log(result):
    found = []
    for group in result.details["left_out"]:
        about = group["about"]
        found.append((about, group["n"]))
    return found


def left_out_of_impact(result):
    found = []
    for table in result.details["impact"]:
        for category in table["categories"]:
            if category["left_out"]:
                about = category["about"]
                found.append((about, category["n"]))
    return found


@pytest.mark.parametrize(
    "how",
    [
        {},
        {"support": 0},
        {"support": 0.3},
    ],
)
def test_the_same_limit_gives_the_same_intervals(log, how):
    options: dict[str, Any] = {
        "outcome": "ok",
        "over": [SEX, RACE, BOTH],
        "least_ratio": 0.8,
        **how,
    }
    measured = eh.measure_log(log, **options)
    of_impact = eh.impact(log, **options)
    assert len(ratios(of_impact)) == 3
    assert ratios(measured) == ratios(of_impact)
    assert measured.verdict == of_impact.verdict
    left_out = left_out_of_log(measured)
    assert left_out == left_out_of_impact(of_impact)
    everybody_is_compared = how == {"support": 0}
    assert bool(left_out) is not everybody_is_compared


def test_an_audit_says_what_the_verbs_say(log):
    checks = [
        {
            "job": "impact",
            "least_ratio": 0.8,
            "intersections": False,
            "level": 0.95,
        },
        {
            "job": "measure_log",
            "least_ratio": 0.8,
            "level": 0.95,
        },
    ]
    # Each check has a level of its own, as the verb alone, and both together hold at 90 %.
    audit = eh.audit_log(
        log,
        outcome="ok",
        over=["sex", "race"],
        checks=checks,
        level=0.9,
    )
    alone = eh.measure_log(
        log,
        outcome="ok",
        over=[SEX, RACE],
        least_ratio=0.8,
    )
    expected = ratios(alone)
    for check in audit.checks:
        assert ratios(check.found) == expected


def test_the_usual_checks_have_other_limits_and_the_same_scores(log):
    audit = eh.audit_log(
        log,
        outcome="ok",
        over=["sex", "race"],
    )
    of_impact = values(audit["impact"].found)
    measured = values(audit["measure_log"].found)
    assert set(measured) == {SEX, RACE}
    for about, score in measured.items():
        assert of_impact[about] == score


@pytest.fixture(scope="module")
def incomes(adult) -> pd.DataFrame:
    frame = adult.frame[["sex", "race"]]
    return frame.assign(rich=adult.labels == adult.positive)


def test_small_groups_of_real_people_are_left_out_alike(incomes):
    options: dict[str, Any] = {
        "outcome": "rich",
        "over": "race",
        "least_ratio": 0.8,
    }
    measured = eh.measure_log(incomes, **options)
    of_impact = eh.impact(incomes, **options)
    assert ratios(measured) == ratios(of_impact)
    shares = incomes["race"].value_counts(normalize=True)
    is_small = shares < 0.02
    small = sorted(shares.index[is_small])
    assert small
    left_out = [about["race"] for about, _ in left_out_of_log(measured)]
    assert sorted(left_out) == small
    rates = incomes.groupby("race")["rich"].mean()
    compared = rates.drop(small)
    value, _ = values(measured)[RACE]
    assert value == pytest.approx(compared.min() / compared.max())
    everybody = eh.measure_log(incomes, support=0, **options)
    value, _ = values(everybody)[RACE]
    assert value == pytest.approx(rates.min() / rates.max())


def test_numbers_are_left_out_by_the_same_rule(adult, incomes):
    measured = eh.measure_log(incomes, outcome="rich", over="race")
    numbers = eh.measure_log(
        adult.frame,
        outcome="hours-per-week",
        over="race",
    )
    assert left_out_of_log(numbers) == left_out_of_log(measured)
