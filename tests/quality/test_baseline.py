"""Baselines: unchanged software is called worse no more often than its level allows, and worse
software is found.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np
import pandas as pd
import pytest
from scipy.stats import binom

import evenhand as eh
from evenhand.results.baseline import NEW, WORSE, hold
from evenhand.statistics.estimate import Verdict

if TYPE_CHECKING:
    from collections.abc import Callable

    from evenhand.results.result import Result

LEVEL = 0.8
"""A low level, so that a share that is too high shows in few runs."""
LARGE = pytest.param(25, marks=pytest.mark.slow)
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


def software(sex: int, race: int = 60, house: int = 0) -> Callable[[Any], Any]:
    """Software that asks for more income of some; a gap of 100 changes one in ten outcomes."""

    def decide(people: Any) -> Any:
        more = (
            sex * (people["sex"] == "M")
            + race * (people["race"] == "a")
            + house * (people["house"] == "yes")
        )
        return people["income"] + more > 500

    return decide


def rows(n: int, seed: int, sex: float = 0.1) -> pd.DataFrame:
    """Recorded decisions about people of one population."""
    rng = np.random.default_rng(seed)
    frame = pd.DataFrame({"sex": rng.choice(["F", "M"], n), "race": rng.choice(["a", "b", "c"], n)})
    rate = 0.4 + sex * (frame["sex"] == "M") + 0.05 * (frame["race"] == "a")
    return frame.assign(ok=(rng.random(n) < rate).astype(int))


def measured(seed: int, sex: int = 100, **options: Any) -> Result:
    over: Any = [("sex",), ("race",)]
    return eh.measure(
        software(sex), SPACE, over=over, seed=seed, **COMMON, **{"margin": 0.06, **options}
    )


def decided(seed: int, sex: int = 100) -> Result:
    """Sampling ends as soon as the limit is excluded: next to it, at sizes that depend on what was
    drawn.
    """
    return measured(seed, sex, limit=0.12, margin=0.08)


def grouped(seed: int, sex: int = 100) -> Result:
    return eh.measure(
        software(sex), SPACE, over="sex", kind="group", limit=0.12, margin=0.15, seed=seed, **COMMON
    )


def of_sets(seed: int, sex: int = 100) -> Result:
    """The limit lies on a score, so that the border of the sets is another one in every run."""
    return eh.subsets(
        software(sex, 60, 95), SPACE, among=["sex", "race", "house"], limit=0.1, seed=seed, **COMMON
    )


def of_rules(seed: int, sex: float = 0.1) -> Result:
    found = rows(800, seed, sex)
    return eh.mine_log(found, outcome="ok", over=["sex", "race"], limit=0.1, level=LEVEL, top=2)


def of_rates(seed: int, sex: float = 0.1) -> Result:
    over: Any = [("sex",), ("race",)]
    return eh.impact(rows(500, seed, sex), outcome="ok", over=over, least_ratio=0.8, level=LEVEL)


def alarm(new: Result, old: Result) -> bool:
    """Tell whether anything fails that the baseline should have excused, or is called worse."""
    return any(
        one.state == WORSE or (one.state == NEW and one.verdict is Verdict.FAIL)
        for one in hold(new, old)
    )


def plausible(alarms: int, runs: int) -> bool:
    """Whether so many alarms are no stranger than once in 10,000 where each has at most the share
    of the level.
    """
    return bool(binom.sf(alarms - 1, runs, 1 - LEVEL) > 1e-4)


@pytest.mark.parametrize(
    ("run", "runs"),
    [(measured, 15), (decided, 15), (grouped, 8), (of_sets, 6), (of_rules, 6), (of_rates, 8)],
)
@pytest.mark.parametrize("times", [1, LARGE])
def test_unchanged_software_is_called_worse_no_more_often_than_the_level_allows(run, runs, times):
    runs *= times
    alarms = sum(alarm(run(2 * seed), run(2 * seed + 1)) for seed in range(runs))
    assert plausible(alarms, runs), alarms


def test_scores_without_their_intervals_would_be_called_worse_far_too_often():
    """The simulation can tell: if what is only larger were worse, most runs with two scores would
    have an alarm.
    """

    def values(seed: int) -> dict[Any, float]:
        return {one.about: one.estimate.value for one in measured(seed, margin=0.15).findings}

    pairs = [(values(2 * seed), values(2 * seed + 1)) for seed in range(20)]
    larger = sum(any(new[about] > old[about] for about in new) for new, old in pairs)
    assert not plausible(larger, len(pairs))


@pytest.mark.parametrize(
    "seed", [1, *(pytest.param(seed, marks=pytest.mark.slow) for seed in range(2, 12))]
)
def test_a_planted_worsening_is_found_where_enough_is_asked(seed):
    fine: dict[str, Any] = {"over": "sex", "margin": 0.015, "level": 0.95, "exact": False}
    old, new = (
        eh.measure(software(gap), SPACE, seed=seed + at, **fine)
        for at, gap in ((0, 100), (50, 160))
    )
    assert [one.state for one in hold(new, old)] == [WORSE]
    assert hold(new, old)[0].verdict == "fail"  # although no limit was given
    assert not alarm(old, new)
    many = [
        eh.mine_log(rows(8000, seed + at, gap), outcome="ok", over=["sex", "race"], limit=0.1)
        for at, gap in ((0, 0.1), (50, 0.25))
    ]
    assert alarm(many[1], many[0])
    assert not alarm(many[0], many[1])
    tables = [
        eh.impact(rows(8000, seed + at, gap), outcome="ok", over="sex", least_ratio=0.8)
        for at, gap in ((0, 0.1), (50, 0.25))
    ]
    assert alarm(tables[1], tables[0])
    assert not alarm(tables[0], tables[1])


def test_a_set_of_features_that_is_new_is_found():
    options: dict[str, Any] = {"among": ["sex", "race", "house"], "limit": 0.1, "exact": False}
    old = eh.subsets(software(0, 0, 0), SPACE, **options)
    new = eh.subsets(software(0, 0, 200), SPACE, seed=1, **options)
    assert old.verdict == "pass"
    assert alarm(new, old)
    assert not alarm(old, new)


@pytest.mark.slow
def test_a_gate_of_all_checks_stays_green_on_unchanged_software():
    """An audit that fails by itself, held against an older one: the level of all of it together
    bounds false alarms.
    """
    checks: list[dict[str, Any]] = [
        {"job": "measure", "over": ["sex"], "limit": 0.05, "margin": 0.05, "exact": False},
        {"job": "measure", "over": ["race"], "limit": 0.05, "margin": 0.05, "exact": False},
        {"job": "subsets", "among": ["sex", "race", "house"], "limit": 0.05, "exact": False},
    ]
    subject = eh.Subject(software(100, 60, 50), SPACE)
    old = eh.audit(subject, checks=checks, seed=10_000)
    red = sum(
        eh.audit(subject, checks=checks, seed=seed, baseline=old).exit_code == 1
        for seed in range(60)
    )
    assert binom.sf(red - 1, 60, 1 - old.level) > 1e-4, red
