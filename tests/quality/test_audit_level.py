"""Whole audits by simulation: how often anything that an audit says is wrong.

Run as a program, it prints the table of docs/explanation/intervals.md:
``python -m tests.quality.test_audit_level 1000``.
"""

from __future__ import annotations

import sys
from typing import TYPE_CHECKING, Any

import numpy as np
import pandas as pd
import pytest

import evenhand as eh
from tests.quality.test_subsets_error import either, scores, software
from tests.support.simulation import covers, plausible, slow

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

    from evenhand.methods.audit.audit_result import Audit
    from evenhand.statistics.estimate import Estimate

    Claims = Iterator[tuple[Estimate, float]]

SLACK = 1e-9
"""By how much rounding may move a limit past the truth."""
DRAWN = {"exact": False, "margin": 0.2}
SEX = ("F", "M")
RACE = ("a", "b", "c")
CELLS = pd.MultiIndex.from_product([SEX, RACE], names=["sex", "race"])
ROWS = 300

# Software: every score is sampled, though all could be enumerated.


def software_checks(limit: float) -> list[dict[str, Any]]:
    """Return checks that draw, some of which ask the same questions."""
    sampled = {**DRAWN, "limit": limit}
    return [
        {"job": "measure", "over": ["a"], **sampled},
        {"job": "measure", "over": ["b"], **sampled},
        {"job": "measure", "kind": "group", "over": ["c"], **sampled, "margin": 0.1},
        {"job": "measure", "over": ["a", "b"], **DRAWN},
        {"job": "subsets", "among": ["a", "b", "c"], **DRAWN, "limit": 0.3},
    ]


def misses_of_software(level: float, seed: int, *, shared: bool = True) -> int:
    """Return how much of what an audit of random software says is wrong."""
    rng = np.random.default_rng([seed, 5])
    table = either(rng)
    truth = {kind: scores(table, kind) for kind in ("causal", "group")}
    near = truth["causal"][frozenset("a")] + rng.choice([-0.02, 0.02])
    checks = software_checks(float(np.clip(near, 0.05, 0.95)))
    found = audited_at(level, checks, shared=shared)(software(table), seed=seed)
    misses = 0
    for finding in found.findings:
        true_score = truth[finding.score][frozenset(finding.about)]
        misses += is_wrong(finding.estimate, true_score)
    searched: Any = found["subsets"].found
    for entry in searched.details["lattice"]["sets"]:
        is_over = truth["causal"][frozenset(entry["about"])] >= 0.3
        misses += entry["state"] == ("cleared" if is_over else "discriminating")
    return misses


def audited_at(
    level: float, checks: list[dict[str, Any]], *, shared: bool
) -> Callable[..., Audit]:
    """Return an audit at a level: for all checks together, or for each of them."""
    if not shared:
        checks = [{**check, "level": level} for check in checks]
        level = 0.01

    def run(subject: Any, seed: int) -> Audit:
        return eh.audit(subject, checks=checks, level=level, seed=seed, progress=False)

    return run


def is_wrong(estimate: Estimate, truth: float) -> bool:
    """Return whether an interval that counts misses the truth."""
    return not estimate.descriptive and not covers(estimate, truth, SLACK)


# Recorded decisions: rows of a known population


def population(rng: np.random.Generator) -> pd.DataFrame:
    """Return the share of each cell of a population, and how many of it are accepted."""
    shares = rng.dirichlet(np.full(len(CELLS), 6.0))
    rates = np.clip(rng.uniform(0.2, 0.8) + rng.normal(0, 0.1, len(CELLS)), 0.05, 0.95)
    return pd.DataFrame({"share": shares, "rate": rates}, index=CELLS).reset_index()


def drawn(people: pd.DataFrame, rng: np.random.Generator) -> pd.DataFrame:
    """Return recorded decisions on people like these."""
    cells = rng.choice(len(people), ROWS, p=people["share"])
    rows = people.loc[cells, ["sex", "race"]].reset_index(drop=True)
    return rows.assign(accepted=rng.random(ROWS) < people["rate"].to_numpy()[cells])


def rate_within(people: pd.DataFrame, mask: Any) -> float:
    """Return how many of some people are accepted."""
    shares = people["share"].to_numpy()[mask]
    rates = people["rate"].to_numpy()[mask]
    return float((shares * rates).sum() / shares.sum())


def rates_by(people: pd.DataFrame, names: Any) -> dict[tuple[Any, ...], float]:
    """Return how many of each group are accepted."""
    groups = list(zip(*(people[name] for name in names), strict=True))
    rates = {}
    for group in dict.fromkeys(groups):
        rates[group] = rate_within(people, [other == group for other in groups])
    return rates


def misses_of_log(level: float, seed: int, *, shared: bool = True) -> int:
    """Return how much of what an audit of random decisions says is wrong."""
    rng = np.random.default_rng([seed, 9])
    people = population(rng)
    jobs: list[dict[str, Any]] = [
        {"job": "impact", "support": 0.0},
        {"job": "measure_log", "support": 0.0, "limit": 0.1},
        {"job": "mine_log", "limit": 0.1},
    ]
    if not shared:
        jobs = [{**job, "level": level} for job in jobs]
    found = eh.audit_log(
        drawn(people, rng),
        outcome="accepted",
        over=[("sex",), ("race",)],
        checks=jobs,
        level=level if shared else 0.01,
        progress=False,
    )
    claims = [
        *claims_of_ratios(found, people),
        *claims_of_differences(found, people),
        *claims_of_rules(found, people),
    ]
    return sum(is_wrong(estimate, truth) for estimate, truth in claims)


def claims_of_ratios(found: Audit, people: pd.DataFrame) -> Claims:
    """Yield the lowest impact ratios, each with its true value."""
    for finding in found["impact"].findings:
        rate_of = rates_by(people, finding.about)
        highest = max(rate_of.values())
        yield finding.estimate, min(rate_of.values()) / highest
        for group in finding.groups:
            yield group.estimate, rate_of[tuple(group.about.values())] / highest


def claims_of_differences(found: Audit, people: pd.DataFrame) -> Claims:
    """Yield the largest differences of rates, each with its true value."""
    for finding in found["measure_log"].findings:
        rates = rates_by(people, finding.about).values()
        if finding.least:
            yield finding.estimate, min(rates) / max(rates)
        else:
            yield finding.estimate, max(rates) - min(rates)


def claims_of_rules(found: Audit, people: pd.DataFrame) -> Claims:
    """Yield how far the people of each rule are from everyone else, with the true distance."""
    for finding in found["mine_log"].findings:
        if not finding.about.conditions:
            continue
        mask = np.ones(len(people), dtype=np.bool_)
        for condition in finding.about.conditions:
            mask &= people[condition.feature].isin(condition.levels).to_numpy()
        inside = rate_within(people, mask)
        outside = rate_within(people, ~mask)
        yield finding.estimate, abs(inside - outside)
        first, second = finding.groups
        yield first.estimate, inside
        yield second.estimate, outside


MISSES = {"software": misses_of_software, "decisions": misses_of_log}


def wrong_audits(what: str, level: float, runs: int, *, shared: bool = True) -> int:
    """Return how many audits say something that is wrong."""
    misses = MISSES[what]
    return sum(misses(level, seed, shared=shared) > 0 for seed in range(runs))


@pytest.mark.parametrize("runs", [20, slow(400)])
@pytest.mark.parametrize("what", list(MISSES))
def test_all_that_an_audit_says_holds_together(what, runs):
    assert plausible(wrong_audits(what, 0.8, runs), runs, 0.8)


@pytest.mark.slow
@pytest.mark.parametrize("what", list(MISSES))
def test_at_the_usual_level_hardly_any_audit_is_wrong(what):
    assert plausible(wrong_audits(what, 0.95, 300), 300, 0.95)


def main(runs: int) -> None:
    """Print how many audits were wrong, with one level for all checks and one for each."""
    for what in MISSES:
        for level in (0.8, 0.95):
            together = wrong_audits(what, level, runs)
            each = wrong_audits(what, level, runs, shared=False)
            print(
                f"| {what} | {level} | {runs:,} | {together / runs:.3f} | {each / runs:.3f} |"
            )


if __name__ == "__main__":
    main(int(sys.argv[1]))
