"""Cells of verbs that read recorded decisions: rows of a population that is known."""

from __future__ import annotations

from typing import Any

import numpy as np
import pandas as pd

import evenhand as eh
from tests.coverage_study.cells import SLACK, StudyCell, Trial, judged
from tests.quality.test_audit_level import (
    claims_of_ratios,
    claims_of_rules,
    drawn,
    is_wrong,
    misses_of_log,
    population,
)
from tests.quality.test_compare_coverage import SITUATIONS, Tally, count_estimates
from tests.quality.test_spending import APART, LEAST, LIMIT, RATES, SCORES, several
from tests.support.simulation import covers

TOGETHER = "all intervals together"


def of_log(seed: int) -> Trial:
    """Measure decisions by race and sex, with both limits at the truth of races."""
    found = eh.measure_log(
        several(np.random.default_rng(seed)),
        outcome="ok",
        over=[("race",), ("sex",)],
        limit=LIMIT,
        least_ratio=LEAST,
    )
    pairs = [(finding.estimate, SCORES[finding.key]) for finding in found.findings]
    held = all(covers(estimate, truth, 1e-4) for estimate, truth in pairs)
    return Trial(held, str(found.verdict))


def of_ratio(seed: int, *, low: float, high: float) -> Trial:
    """Measure the ratio of two groups of 200."""
    rng = np.random.default_rng(seed)
    sex = np.repeat(["F", "M"], 200)
    granted = rng.random(400) < np.repeat([low, high], 200)
    people = pd.DataFrame({"sex": sex, "ok": granted})
    found = eh.measure_log(
        people,
        outcome="ok",
        over="sex",
        least_ratio=LEAST,
    )
    ratios = [finding for finding in found.findings if finding.least]
    return judged(
        found,
        [(ratios[0].estimate, low / high)],
    )


def at_the_ratio(seed: int) -> Trial:
    """Measure a ratio at the least one, which is enough."""
    return of_ratio(seed, low=0.4, high=0.5)


def under_the_ratio(seed: int) -> Trial:
    """Measure a ratio under the least one by little."""
    return of_ratio(seed, low=0.39, high=0.5)


def of_recorded_errors(seed: int) -> Trial:
    """Measure error rates of recorded decisions."""
    rng = np.random.default_rng(seed)
    n = 500
    races = rng.choice(["a", "b", "c"], n)
    due = rng.random(n) < 0.5
    rates = pd.Series(races).map({"a": 0.7, "b": 0.7, "c": 0.6}).to_numpy()
    granted = rng.random(n) < np.where(due, rates, 0.3)
    people = pd.DataFrame({"race": races, "due": due, "ok": granted})
    found = eh.measure_log(
        people, outcome="ok", over="race", truth="due", metric=["tpr", "fpr"], limit=0.1
    )
    truths = {"true_positive_rate": 0.1, "false_positive_rate": 0.0}
    pairs = []
    for finding in found.findings:
        for name, truth in truths.items():
            if finding.limit is not None and name.replace("_", " ") in finding.key:
                pairs.append((finding.estimate, truth))
    return judged(found, pairs)


def of_recorded_numbers(seed: int) -> Trial:
    """Measure recorded amounts that are skewed."""
    rng = np.random.default_rng(seed)
    sex = np.repeat(["F", "M"], [150, 250])
    pay = rng.lognormal(0, 0.7, 400) * np.where(sex == "F", 1.0, 1.2)
    people = pd.DataFrame({"sex": sex, "pay": pay})
    found = eh.measure_log(
        people, outcome="pay", over="sex", limit=0.2 * np.exp(0.245), units="outcome"
    )
    truths = {"mean": 0.2 * np.exp(0.245), "median": 0.2}
    pairs = []
    for finding in found.findings:
        name = "median" if "median" in finding.key else "mean"
        pairs.append((finding.estimate, truths[name]))
    return judged(found, pairs)


def of_impact(seed: int) -> Trial:
    """Make impact tables of random populations."""
    rng = np.random.default_rng([seed, 1])
    people = population(rng)
    found = eh.impact(
        drawn(people, rng), outcome="accepted", over=[("sex",), ("race",)], support=0.0
    )
    claims = claims_of_ratios({"impact": found}, people)  # type: ignore[arg-type]
    return Trial(not any(is_wrong(estimate, truth) for estimate, truth in claims))


def at_the_impact_ratio(seed: int) -> Trial:
    """Make an impact table whose lowest ratio is the least one, which is enough."""
    found = eh.impact(
        several(np.random.default_rng(seed)), outcome="ok", over="race", least_ratio=LEAST
    )
    pairs: list[tuple[Any, float]] = [(found.worst.estimate, LEAST)]
    for group, rate in zip(found.worst.groups, RATES, strict=True):
        pairs.append((group.estimate, rate / max(RATES)))
    held = all(covers(estimate, truth, 1e-4) for estimate, truth in pairs)
    return Trial(held, str(found.verdict))


def of_rules(seed: int) -> Trial:
    """Mine the rules of random populations."""
    rng = np.random.default_rng([seed, 2])
    people = population(rng)
    found = eh.mine_log(
        drawn(people, rng),
        outcome="accepted",
        over=["sex", "race"],
    )
    claims = claims_of_rules({"mine_log": found}, people)  # type: ignore[arg-type]
    return Trial(not any(is_wrong(estimate, truth) for estimate, truth in claims))


MINED = eh.Space(
    [
        eh.category("sex", ["F", "M"]),
        eh.category("race", ["a", "b", "c"]),
        eh.real("luck", 0, 1),
    ],
    protected=["sex", "race"],
)


def of_mined_software(seed: int) -> Trial:
    """Mine software with given rows, which are a sample of all people."""
    rng = np.random.default_rng([seed, 3])
    people = population(rng)
    cells = rng.choice(
        len(people),
        300,
        p=people["share"],
    )
    rows = people.loc[cells, ["sex", "race"]].reset_index(drop=True)
    rows = rows.assign(luck=rng.random(len(rows)))
    rates = {(row.sex, row.race): row.rate for row in people.itertuples()}

    def decide(asked: Any) -> Any:
        pairs = zip(
            asked["sex"],
            asked["race"],
            strict=True,
        )
        of_each = np.array([rates[pair] for pair in pairs])
        return asked["luck"].to_numpy() < of_each

    found = eh.mine(
        decide,
        MINED,
        rows,
        over=["sex", "race"],
        seed=seed,
        progress=False,
    )
    claims = claims_of_rules({"mine_log": found}, people)  # type: ignore[arg-type]
    return Trial(not any(is_wrong(estimate, truth) for estimate, truth in claims))


def of_comparison(seed: int, *, name: str) -> Trial:
    """Compare a method with blind overwriting: limits of scores, and plausible regions."""
    plant = SITUATIONS[name]
    rng = np.random.default_rng([seed, len(name)])
    rows = plant.kinds[
        rng.choice(
            len(plant.kinds),
            600,
            p=plant.chances,
        )
    ]
    group, truth, original, changed = rows.T
    found = eh.compare(
        {"original": original, "changed": changed}, truth, group, bias=plant.bias, seed=seed
    )
    tally = Tally()
    count_estimates(tally, plant, found)
    is_held = bool(tally.together and tally.honest)
    return Trial(is_held, "right region" if tally.honest else "wrong region")


def good_trade(seed: int) -> Trial:
    """Compare a method that is a good trade-off."""
    return of_comparison(seed, name="a good trade-off")


def win_win(seed: int) -> Trial:
    """Compare a method that wins in both."""
    return of_comparison(seed, name="a win-win")


def of_audit_log(seed: int) -> Trial:
    """Audit random decisions with checks that share one level."""
    return Trial(misses_of_log(0.95, seed) == 0)


def cells() -> list[StudyCell]:
    """Return all cells of verbs that read recorded decisions."""
    apart = f"{APART:.1f} apart, ratio {LEAST:g}"
    return [
        StudyCell("measure_log", "difference and ratio, two sets", of_log, apart, "pass"),
        StudyCell("measure_log", "ratio of two groups", at_the_ratio, "ratio 0.8", "fail"),
        StudyCell(
            "measure_log", "ratio of two groups", under_the_ratio, "ratio 0.78", "pass"
        ),
        StudyCell(
            "measure_log", "error rates", of_recorded_errors, "0.1 and 0 apart", "pass"
        ),
        StudyCell(
            "measure_log", "skewed amounts", of_recorded_numbers, "means at limit", "pass"
        ),
        StudyCell("impact", "two sets, no limit", of_impact, TOGETHER),
        StudyCell("impact", "three races", at_the_impact_ratio, "ratio 0.8", "fail"),
        StudyCell("mine_log", "rules of two features", of_rules, TOGETHER),
        StudyCell("mine", "software, 300 rows", of_mined_software, TOGETHER),
        StudyCell(
            "compare", "good trade-off, 600 rows", good_trade, TOGETHER, "wrong region"
        ),
        StudyCell("compare", "win-win, 600 rows", win_win, TOGETHER, "wrong region"),
        StudyCell("audit_log", "three checks", of_audit_log, TOGETHER),
    ]


__all__ = ["SLACK", "cells"]
