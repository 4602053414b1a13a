"""Baselines: unchanged software is rarely called worse, and worse software is found."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np
import pandas as pd
import pytest

import evenhand as eh
from evenhand.results.baseline import NEW, WORSE, hold
from evenhand.statistics.estimate import Verdict
from tests.support.simulation import plausible, slow

if TYPE_CHECKING:
    from collections.abc import Callable

    from evenhand.results.result import Result

LEVEL = 0.8
"""A low level, so that a share that is too high shows in few runs."""
LARGE = slow(25)
SPACE = eh.Space(
    [
        eh.category("sex", ["F", "M"]),
        eh.category("race", ["a", "b", "c"]),
        eh.category("house", ["no", "yes"]),
        eh.integer("income", 0, 999),
    ],
    protected=["sex", "race"],
)
COMMON: dict[str, Any] = {"level": LEVEL, "exact": False}
SEX_AND_RACE: Any = [("sex",), ("race",)]
"""Two sets of one feature each."""


def software(sex: int, race: int = 60, house: int = 0) -> Callable[[Any], Any]:
    """Return software that adds to the income of some; 100 changes one in ten outcomes."""

    def decide(people: Any) -> Any:
        of_sex = sex * (people["sex"] == "M")
        of_race = race * (people["race"] == "a")
        of_house = house * (people["house"] == "yes")
        return people["income"] + of_sex + of_race + of_house > 500

    return decide


def rows(n: int, seed: int, sex: float = 0.1) -> pd.DataFrame:
    """Return recorded decisions about people of one population."""
    rng = np.random.default_rng(seed)
    sexes = rng.choice(["F", "M"], n)
    races = rng.choice(["a", "b", "c"], n)
    rate = 0.4 + sex * (sexes == "M") + 0.05 * (races == "a")
    granted = rng.random(n) < rate
    return pd.DataFrame({"sex": sexes, "race": races, "ok": granted.astype(int)})


def measured(
    seed: int,
    sex: int = 100,
    *,
    margin: float = 0.06,
    limit: float | None = None,
) -> Result:
    return eh.measure(
        software(sex),
        SPACE,
        over=SEX_AND_RACE,
        seed=seed,
        margin=margin,
        limit=limit,
        **COMMON,
    )


def decided(seed: int, sex: int = 100) -> Result:
    """Sampling ends as soon as the limit is excluded, at sizes that depend on what was drawn."""
    return measured(seed, sex, limit=0.12, margin=0.08)


def grouped(seed: int, sex: int = 100) -> Result:
    return eh.measure(
        software(sex),
        SPACE,
        over="sex",
        kind="group",
        limit=0.12,
        margin=0.15,
        seed=seed,
        **COMMON,
    )


def of_sets(seed: int, sex: int = 100) -> Result:
    """The limit lies on a score, so that the border of the sets is another one in every run."""
    return eh.subsets(
        software(sex, 60, 95),
        SPACE,
        among=["sex", "race", "house"],
        limit=0.1,
        seed=seed,
        **COMMON,
    )


def of_rules(seed: int, sex: float = 0.1) -> Result:
    return eh.mine_log(
        rows(800, seed, sex),
        outcome="ok",
        over=["sex", "race"],
        limit=0.1,
        level=LEVEL,
        top=2,
    )


def of_rates(seed: int, sex: float = 0.1) -> Result:
    return eh.impact(
        rows(500, seed, sex),
        outcome="ok",
        over=SEX_AND_RACE,
        least_ratio=0.8,
        level=LEVEL,
    )


def alarm(new: Result, old: Result) -> bool:
    """Return whether anything fails that the baseline should have excused, or is called worse."""
    for comparison in hold(new, old):
        if comparison.state == WORSE:
            return True
        if comparison.state == NEW and comparison.verdict is Verdict.FAIL:
            return True
    return False


@pytest.mark.parametrize(
    ("run", "runs"),
    [
        (measured, 15),
        (decided, 15),
        (grouped, 8),
        (of_sets, 6),
        (of_rules, 6),
        (of_rates, 8),
    ],
)
@pytest.mark.parametrize("times", [1, LARGE])
def test_unchanged_software_is_called_worse_no_more_often_than_the_level_allows(
    run, runs, times
):
    runs *= times
    alarms = 0
    for seed in range(runs):
        new = run(2 * seed)
        old = run(2 * seed + 1)
        alarms += alarm(new, old)
    assert plausible(alarms, runs, LEVEL), alarms


def test_scores_without_their_intervals_would_be_called_worse_far_too_often():
    """The simulation can tell: if what is only larger were worse, most runs would have an alarm."""

    def values(seed: int) -> dict[Any, float]:
        findings = measured(seed, margin=0.15).findings
        return {finding.about: finding.estimate.value for finding in findings}

    runs = 20
    alarms = 0
    for seed in range(runs):
        new = values(2 * seed)
        old = values(2 * seed + 1)
        alarms += any(new[about] > old[about] for about in new)
    assert not plausible(alarms, runs, LEVEL)


ELEVEN_SEEDS = [1, *(slow(seed) for seed in range(2, 12))]


@pytest.mark.parametrize("seed", ELEVEN_SEEDS)
def test_a_planted_worsening_is_found_where_enough_is_asked(seed):
    def result(gap: int, seed: int) -> Result:
        return eh.measure(
            software(gap),
            SPACE,
            over="sex",
            margin=0.015,
            level=0.95,
            exact=False,
            seed=seed,
        )

    old = result(100, seed)
    new = result(160, seed + 50)
    (comparison,) = hold(new, old)
    assert comparison.state == WORSE
    assert comparison.verdict == "fail"  # although no limit was given
    assert not alarm(old, new)


@pytest.mark.parametrize("seed", ELEVEN_SEEDS)
def test_a_planted_worsening_of_recorded_decisions_is_found(seed):
    old_rows = rows(8000, seed, 0.1)
    new_rows = rows(8000, seed + 50, 0.25)
    mining: dict[str, Any] = {"outcome": "ok", "over": ["sex", "race"], "limit": 0.1}
    old = eh.mine_log(old_rows, **mining)
    new = eh.mine_log(new_rows, **mining)
    assert alarm(new, old)
    assert not alarm(old, new)
    rating: dict[str, Any] = {"outcome": "ok", "over": "sex", "least_ratio": 0.8}
    old = eh.impact(old_rows, **rating)
    new = eh.impact(new_rows, **rating)
    assert alarm(new, old)
    assert not alarm(old, new)


def test_a_set_of_features_that_is_new_is_found():
    options: dict[str, Any] = {
        "among": ["sex", "race", "house"],
        "limit": 0.1,
        "exact": False,
    }
    old = eh.subsets(software(0, 0, 0), SPACE, **options)
    new = eh.subsets(software(0, 0, 200), SPACE, seed=1, **options)
    assert old.verdict == "pass"
    assert alarm(new, old)
    assert not alarm(old, new)


@pytest.mark.slow
def test_a_gate_of_all_checks_stays_green_on_unchanged_software():
    """An audit that fails by itself, against an older one: its level bounds false alarms."""
    common = {"limit": 0.05, "exact": False}
    checks: list[dict[str, Any]] = [
        {"job": "measure", "over": ["sex"], "margin": 0.05, **common},
        {"job": "measure", "over": ["race"], "margin": 0.05, **common},
        {"job": "subsets", "among": ["sex", "race", "house"], **common},
    ]
    subject = eh.Subject(software(100, 60, 50), SPACE)
    old = eh.audit(subject, checks=checks, seed=10_000)
    runs = 60
    alarms = 0
    for seed in range(runs):
        new = eh.audit(subject, checks=checks, seed=seed, baseline=old)
        alarms += new.exit_code == 1
    assert plausible(alarms, runs, old.level), alarms
