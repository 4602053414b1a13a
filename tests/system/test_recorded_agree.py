"""measure_log, impact and audit_log give the same numbers for the same question about a log."""

from __future__ import annotations

from typing import Any

import numpy as np
import pandas as pd
import pytest

import evenhand as eh

SETS = [("sex",), ("race",), ("sex", "race")]


def log() -> pd.DataFrame:
    """Return decisions, among them those on a race of 1 % whose rate is the lowest."""
    rng = np.random.default_rng(9)
    n = 3000
    race = rng.choice(["a", "b", "few"], n, p=[0.6, 0.39, 0.01])
    sex = rng.choice(["F", "M"], n)
    rate = {"a": 0.6, "b": 0.45, "few": 0.1}
    ok = rng.random(n) < np.vectorize(rate.get)(race)
    return pd.DataFrame({"sex": sex, "race": race, "ok": ok.astype(int)})


def ratios(result: Any) -> dict[tuple[str, ...], eh.Estimate]:
    """Return the lowest ratio of each set."""
    found = {}
    for finding in result.findings:
        if finding.least:
            found[finding.about] = finding.estimate
    return found


def left_out_of_log(result: Any) -> list[tuple[Any, int]]:
    found = []
    for group in result.details["left_out"]:
        found.append((group["about"], group["n"]))
    return found


def left_out_of_impact(result: Any) -> list[tuple[Any, int]]:
    found = []
    for table in result.details["impact"]:
        for category in table["categories"]:
            if category["left_out"]:
                found.append((category["about"], category["n"]))
    return found


def same(first: eh.Estimate, second: eh.Estimate) -> bool:
    ends = (first.value, first.low, first.high, first.n)
    return ends == (second.value, second.low, second.high, second.n)


@pytest.mark.parametrize("support", [None, 0, 0.3])
def test_the_same_limit_gives_the_same_intervals(support):
    how: dict[str, Any] = {"outcome": "ok", "over": SETS, "least_ratio": 0.8}
    if support is not None:
        how["support"] = support
    measured = eh.measure_log(log(), **how)
    told = eh.impact(log(), **how)
    assert set(ratios(measured)) == set(ratios(told)) == set(SETS)
    for names in SETS:
        assert same(ratios(measured)[names], ratios(told)[names])
    assert measured.verdict == told.verdict
    assert left_out_of_log(measured) == left_out_of_impact(told)
    assert bool(left_out_of_log(measured)) is (support != 0)


def test_an_audit_says_what_the_verbs_say():
    frame = log()
    checks = [
        {"job": "impact", "least_ratio": 0.8, "intersections": False},
        {"job": "measure_log", "least_ratio": 0.8},
    ]
    how: dict[str, Any] = {"outcome": "ok", "over": ["sex", "race"]}
    impact, measured = eh.audit_log(frame, checks=checks, **how).checks
    single = [("sex",), ("race",)]
    alone = eh.measure_log(frame, outcome="ok", over=single, least_ratio=0.8)
    for names in single:
        assert same(ratios(impact.found)[names], ratios(measured.found)[names])
        assert same(ratios(alone)[names], ratios(measured.found)[names])
    # The usual checks have other limits, and so other intervals, of the same scores.
    usual = eh.audit_log(frame, **how)
    for names in single:
        first = ratios(usual["impact"].found)[names]
        second = ratios(usual["measure_log"].found)[names]
        assert (first.value, first.n) == (second.value, second.n)


def test_small_groups_of_real_people_are_left_out_alike(adult):
    frame = adult.frame[["sex", "race"]].assign(rich=adult.labels == adult.positive)
    how: dict[str, Any] = {"outcome": "rich", "over": "race", "least_ratio": 0.8}
    measured = eh.measure_log(frame, **how)
    told = eh.impact(frame, **how)
    assert same(ratios(measured)["race",], ratios(told)["race",])
    small = [about["race"] for about, _ in left_out_of_log(measured)]
    shares = frame["race"].value_counts(normalize=True)
    assert sorted(small) == sorted(shares[shares < 0.02].index)
    assert small
    everybody = ratios(eh.measure_log(frame, support=0, **how))["race",]
    rates = frame.groupby("race")["rich"].mean()
    assert everybody.value == pytest.approx(rates.min() / rates.max())
    compared = rates[shares[shares >= 0.02].index]
    expected = compared.min() / compared.max()
    assert ratios(measured)["race",].value == pytest.approx(expected)
    # Numbers are left out by the same rule.
    numbers = eh.measure_log(adult.frame, outcome="hours-per-week", over="race")
    left_out = [group["about"]["race"] for group in numbers.details["left_out"]]
    assert sorted(left_out) == sorted(small)
