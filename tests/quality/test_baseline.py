"""Baselines: unchanged software rarely fails, worse software does, and nothing passes by chance."""

from __future__ import annotations

from itertools import product
from typing import TYPE_CHECKING, Any

import numpy as np
import pandas as pd
import pytest

import evenhand as eh
from evenhand.results.baseline import NEW, WORSE, hold
from evenhand.results.score_change import paired
from evenhand.statistics.estimate import Verdict
from tests.support.benchmarks import benchmark
from tests.support.simulation import covers, plausible, slow

if TYPE_CHECKING:
    from collections.abc import Callable

    from evenhand.results.result import Result

simulated = benchmark("baseline")
LEVEL = 0.8
"""A low level, so that a share that is too high shows in few runs."""
LARGE = slow(60)
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
    """Return whether anything is called worse, or fails that the baseline knows nothing of.

    What is over its limit, and was undecided in the baseline, fails by itself.
    """
    for comparison in hold(new, old):
        if comparison.state == WORSE:
            return True
        if comparison.state == NEW and comparison.verdict is Verdict.FAIL:
            return True
    return False


@pytest.mark.parametrize(
    ("run", "runs"),
    [
        (measured, 6),
        (decided, 5),
        (grouped, 5),
        (of_sets, 2),
        (of_rules, 4),
        (of_rates, 5),
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


UNCHANGED = (
    simulated.Versions(0.08, 0.08),
    simulated.Versions(0.08, 0.08, stay=0.5),
    simulated.Versions(0.08, 0.08, stay=0.0),
    simulated.Versions(0.3, 0.3, stay=0.5),
)
"""Software that is the same, or that was trained anew and discriminates as much."""


@pytest.mark.parametrize("way", simulated.WAYS)
@pytest.mark.parametrize("versions", UNCHANGED)
@pytest.mark.parametrize("runs", [25, slow(2000)])
def test_unchanged_scores_fail_no_more_often_than_the_level_allows(way, versions, runs):
    for limit in (0.05, 0.1):
        counts = simulated.verdicts(simulated.Audits(limit, LEVEL), versions, way, runs)
        assert plausible(counts[Verdict.FAIL], runs, LEVEL), counts


@pytest.mark.parametrize("way", simulated.WAYS)
@pytest.mark.parametrize("runs", [25, slow(2000)])
def test_a_score_that_rises_by_the_tolerance_passes_no_more_often_than_the_level_allows(
    way, runs
):
    """Both are over the limit, so that nothing but the change can let them pass."""
    versions = simulated.Versions(0.3, 0.311, stay=0.9)
    counts = simulated.verdicts(simulated.Audits(0.05, LEVEL), versions, way, runs)
    assert plausible(counts[Verdict.PASS], runs, LEVEL), counts


@pytest.mark.parametrize("limit", [0.05, 0.1])
@pytest.mark.parametrize("stay", [1.0, 0.5])
@pytest.mark.parametrize("runs", [25, slow(2000)])
def test_a_rise_from_8_to_30_per_cent_fails(limit, stay, runs):
    versions = simulated.Versions(0.08, 0.3, stay)
    ways = ("same inputs", "other inputs", "one sample", "estimates")
    for way, expensive in product(ways, (False, True)):
        audits = simulated.Audits(limit, expensive=expensive)
        counts = simulated.verdicts(audits, versions, way, runs)
        if expensive and way in ("one sample", "estimates"):
            # An old run that stopped early may not tell, but nothing passes.
            assert not counts[Verdict.PASS]
        else:
            assert counts[Verdict.FAIL] >= 0.95 * runs, (way, expensive, counts)


@pytest.mark.parametrize("runs", [25, slow(2000)])
def test_software_that_did_not_change_passes_where_its_answers_were_kept(runs):
    for score in (0.08, 0.3):
        counts = simulated.verdicts(
            simulated.Audits(0.05), simulated.Versions(score, score), "same inputs", runs
        )
        assert counts[Verdict.PASS] >= 0.99 * runs, counts


def group_answers(rates: tuple[float, ...], seed: int, draws: int = 2000) -> Any:
    rng = np.random.default_rng(seed)
    return rng.random((draws, len(rates))) < np.array(rates)


@pytest.mark.parametrize(
    ("old", "new"),
    [
        ((0.5, 0.4), (0.4, 0.5)),  # the other group is ahead
        ((0.5, 0.5), (0.5, 0.5)),
        ((0.5, 0.45, 0.4), (0.45, 0.4, 0.5)),
        ((0.2, 0.1, 0.3), (0.5, 0.3, 0.4)),
        ((0.3, 0.2), (0.6, 0.3)),  # 20 points worse
    ],
)
@pytest.mark.parametrize("runs", [25, slow(2000)])
@pytest.mark.parametrize("same_people", [True, False])
def test_the_limits_of_how_much_further_apart_groups_are_hold(old, new, runs, same_people):
    truth = float(np.ptp(new) - np.ptp(old))
    missed = 0
    for seed in range(runs):
        # The same numbers stand for people whose outcome changes only as far as it must.
        other_seed = seed if same_people else seed + runs
        change = paired(
            group_answers(new, seed), group_answers(old, other_seed), level=LEVEL
        )
        missed += not covers(change, truth, slack=1e-9)
    assert plausible(missed, runs, LEVEL), missed


CHEAP = eh.Space(
    [
        eh.category("sex", ["F", "M"]),
        eh.category("race", ["a", "b", "c"]),
        eh.integer("income", 0, 99_999),
    ],
    protected=["sex", "race"],
)
BOTH: list[dict[str, Any]] = [
    {"job": "measure", "over": ["sex"], "limit": 0.05},
    {"job": "measure", "over": ["race"], "limit": 0.05},
]


def lender(sex: float, start: int = 0) -> Callable[[Any], Any]:
    """Return software in whose answers sex matters this often, at incomes from `start` on."""

    def decide(people: Any) -> Any:
        place = (people["income"] - start) % 100_000
        # Race turns the answer around, which leaves the score of sex as it is.
        by_sex = (people["sex"] == "M") & (place < 100_000 * sex)
        return by_sex ^ (people["race"] == "a")

    return decide


@pytest.mark.parametrize("runs", [5, slow(200)])
def test_an_audit_of_unchanged_software_passes_whatever_its_seed(runs):
    old = eh.audit(lender(0.08), CHEAP, checks=BOTH, seed=10_000)
    assert old.exit_code == 1
    codes = []
    for seed in range(runs):
        found = eh.audit(lender(0.08), CHEAP, checks=BOTH, seed=seed, baseline=old)
        codes.append(found.exit_code)
    assert codes == [0] * runs


@pytest.mark.parametrize("runs", [5, slow(200)])
def test_an_audit_of_software_that_was_trained_anew_rarely_fails(runs):
    """Other people are discriminated against, but not more of them."""
    fails = 0
    for seed in range(runs):
        old = eh.audit(lender(0.08), CHEAP, checks=BOTH, seed=seed)
        moved = lender(0.08, start=4000 + 300 * seed)
        found = eh.audit(moved, CHEAP, checks=BOTH, seed=seed, baseline=old)
        fails += found.exit_code == 1
    assert plausible(fails, runs, 0.95), fails


@pytest.mark.parametrize("limit", [0.05, 0.1])
@pytest.mark.parametrize("keep", [None, False])
@pytest.mark.parametrize("runs", [5, slow(200)])
def test_an_audit_of_software_that_got_worse_fails(limit, keep, runs):
    """With answers that the baseline kept, and without."""
    checks = [{"job": "measure", "over": ["sex"], "limit": limit}]
    caught = 0
    for seed in range(runs):
        old = eh.audit(lender(0.08), CHEAP, checks=checks, seed=seed, keep_answers=keep)
        found = eh.audit(lender(0.3), CHEAP, checks=checks, seed=seed + 1, baseline=old)
        assert found.exit_code != 0
        caught += found.exit_code == 1
    assert caught >= 0.95 * runs, caught


@pytest.mark.parametrize("runs", [6, slow(40)])
def test_a_baseline_that_was_undecided_excuses_no_failure(runs):
    check = {"job": "measure", "over": ["sex"], "limit": 0.1}
    undecided = 0
    for seed in range(runs):
        few = eh.audit(lender(0.13), CHEAP, checks=[{**check, "queries": 200}], seed=seed)
        if few.verdict != "undecided":
            continue
        undecided += 1
        found = eh.audit(lender(0.14), CHEAP, checks=[check], seed=seed, baseline=few)
        assert found.checks[0].alone == "fail"
        assert found.exit_code == 1
    assert undecided >= runs / 2


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
    # It is over the limit now, and the older run had cleared every set.
    verdicts = [comparison.verdict for comparison in hold(new, old)]
    assert Verdict.FAIL in verdicts
    assert not alarm(old, new)


@pytest.mark.slow
def test_a_gate_of_all_checks_stays_green_on_unchanged_software():
    """An audit that fails by itself, against an older one."""
    common = {"limit": 0.05, "exact": False}
    checks: list[dict[str, Any]] = [
        {"job": "measure", "over": ["sex"], "margin": 0.05, **common},
        {"job": "measure", "over": ["race"], "margin": 0.05, **common},
        {"job": "subsets", "among": ["sex", "race", "house"], **common},
    ]
    subject = eh.Subject(software(100, 60, 50), SPACE)
    old = eh.audit(subject, checks=checks, seed=10_000)
    runs = 60
    codes = []
    for seed in range(runs):
        new = eh.audit(subject, checks=checks, seed=seed, baseline=old)
        codes.append(new.exit_code)
    assert codes.count(0) >= 0.9 * runs, codes
    assert plausible(codes.count(1), runs, old.level), codes
