"""Mined subgroups: what was planted is first, fair models pass, all intervals hold together."""

from __future__ import annotations

import itertools
from typing import Any, NamedTuple

import numpy as np
import pandas as pd
import pytest

import evenhand as eh
from evenhand.methods.mine.claims.reporting import MiningPart, rank, write_findings
from evenhand.methods.mine.claims.words import OutcomeWords
from evenhand.methods.mine.ranking import Ranking
from evenhand.methods.mine.rule_sets import Mining, RuleSetOptions, Treated
from evenhand.scores.numbers.unit_scale import UnitLimit
from evenhand.space.rule import Rule
from tests.support.simulation import plausible, slow

SPACE = eh.Space(
    [
        eh.category("sex", ["F", "M"]),
        eh.category("race", ["a", "b", "c"]),
        eh.integer("age", 20, 79),
    ],
    protected=["sex", "race", "age"],
)


def women_of_40_to_60(people: Any) -> Any:
    return (people["sex"] == "F") & people["age"].between(40, 59)


def women_of_40_to_60_of_race_b(people: Any) -> Any:
    return women_of_40_to_60(people) & (people["race"] == "b")


def older_people(people: Any) -> Any:
    return people["age"] >= 60


def of_race_a_or_c(people: Any) -> Any:
    return people["race"] != "b"


PLANTED = [
    (women_of_40_to_60, "sex F, 40 <= age < 60", 0.3, 5000),
    (women_of_40_to_60_of_race_b, "sex F, race b, 40 <= age < 60", 0.5, 5000),
    (older_people, "age at least 60", 0.3, 2000),
    # Two complements, of which the smaller one is named.
    (of_race_a_or_c, "race b", 0.3, 2000),
]


@pytest.mark.parametrize(
    ("who", "text", "loss", "n"),
    PLANTED,
    ids=lambda value: getattr(value, "__name__", None),
)
def test_a_planted_subgroup_is_found_and_comes_first(who, text, loss, n):
    """By its own rule in nearly all runs, and else by one that is about most of the same people."""
    rules = []
    for seed in range(5):
        rng = np.random.default_rng(seed)
        people = SPACE.decode(SPACE.draw(n, rng))
        is_member = who(people).to_numpy()
        rate = 0.65 - loss * is_member
        people["ok"] = (rng.uniform(size=n) < rate).astype(int)
        result = eh.mine_log(
            people,
            outcome="ok",
            over=["sex", "race", "age"],
            bins={"age": [30, 40, 50, 60, 70]},
            top=1,
        )
        worst = result.worst
        mask = worst.about.mask(SPACE.encode(people), SPACE)
        # Of a group and its complement, the smaller one is named.
        planted = ~is_member if is_member.mean() > 0.5 else is_member
        shared = (mask & planted).sum()
        assert shared >= 0.5 * (mask | planted).sum()
        truth = abs(rate[mask].mean() - rate[~mask].mean())
        assert 0 < worst.estimate.low <= truth <= worst.estimate.high
        rules.append(str(worst.about))
    assert rules.count(text) >= 4, rules


@pytest.mark.parametrize("seed", range(2))
def test_software_with_a_planted_bias_is_found_out_by_the_nearest_bins(seed):
    """Bins of equal width have no edge at 40 and at 60; those beside them must do."""
    space = eh.Space(
        [*SPACE.features, eh.integer("income", 0, 99), eh.integer("debt", 0, 20)],
        SPACE.protected,
    )
    people = space.decode(space.draw(5000, np.random.default_rng(seed)))

    def decide(rows: Any) -> Any:
        return rows["income"] - rows["debt"] / 2 > 30 + 35 * women_of_40_to_60(rows)

    subject = eh.Subject(decide, space, positive=True)
    for budget in (None, eh.Budget(queries=15_000)):
        worst = eh.mine(subject, data=people, top=2, budget=budget).worst
        conditions = {condition.feature: condition for condition in worst.about.conditions}
        assert sorted(conditions) == ["age", "sex"]
        assert conditions["sex"].levels == ("F",)
        assert conditions["age"].low in (38, 44)
        assert conditions["age"].below in (56, 62)
        assert worst.estimate.low > 0.1
        assert worst.cases


CELLS = np.array(list(itertools.product(range(2), range(3), range(2))), dtype=float)
"""People of two sexes, three races and two ages, of unequal numbers."""
SMALL = eh.Space(
    [
        eh.category("sex", ["F", "M"]),
        eh.category("race", ["a", "b", "c"]),
        eh.integer("age", 0, 1),
    ],
    protected=["sex", "race", "age"],
)
SHARES = np.random.default_rng(0).dirichlet(np.full(12, 2.0))


class Mined(NamedTuple):
    """What was found among people who were drawn."""

    findings: Any
    entry: Any
    """What the details of a result hold of it."""
    mining: Mining


def mined(
    rates: Any,
    n: int,
    rng: Any,
    *,
    graded: bool = False,
    top: int = 5,
    limit: float | None = None,
) -> Mined:
    """Draw people and how they are treated, and mine their subgroups."""
    cell = rng.choice(12, n, p=SHARES)
    rate = rates[cell]
    values = (rng.uniform(size=n) < rate).astype(float)
    if graded:  # the mean of a row's neighbours: some of them are treated otherwise
        values = (values + rng.binomial(3, rate)) / 4
    treated = Treated(CELLS[cell], values, "people", "rows")
    mining = Mining.of(SMALL, SMALL.names, treated, RuleSetOptions(support=0.2))
    part = MiningPart(mining, OutcomeWords("yes"))
    (ranked,) = rank([part], level=0.95, limits=UnitLimit(limit), top=top)
    no_cases = [()] * len(ranked.stories)
    findings, (entry,) = write_findings([ranked], [no_cases], [{}])
    return Mined(findings, entry, mining)


@pytest.mark.parametrize(
    ("rate", "n", "graded", "runs"),
    [
        # Without a correction more than a third of the runs would report something; 60 are enough
        # to tell that.
        (0.4, 250, False, 60),
        slow(0.4, 250, False, 200),
        slow(0.3, 100, True, 200),
    ],
)
def test_a_fair_model_is_rarely_reported(rate, n, graded, runs, monkeypatch):
    # Upper limits report nothing, and are most of the work.
    monkeypatch.setattr(Ranking, "_highest", lambda *_: 1.0)
    rng = np.random.default_rng(1)
    rates = np.full(12, rate)
    reported = 0
    for _ in range(runs):
        found = mined(rates, n, rng, graded=graded, top=1, limit=0.0)
        reported += any(is_reported(finding) for finding in found.findings)
    assert plausible(reported, runs, 0.95, odds=1e-3), reported


def is_reported(finding: Any) -> bool:
    return bool(finding.estimate.low > 0 or finding.verdict == "fail")


def test_a_fair_log_is_rarely_reported():
    """The same end to end, on people of any age."""
    rng = np.random.default_rng(2)
    runs = 25
    reported = 0
    for _ in range(runs):
        people = SPACE.decode(SPACE.draw(300, rng))
        people["ok"] = rng.integers(0, 2, 300)
        result = eh.mine_log(
            people,
            outcome="ok",
            over=["sex", "race", "age"],
            bins=4,
            limit=0,
            top=1,
        )
        for finding in result.findings:
            is_above_zero = finding.estimate.low > 0
            assert is_above_zero == (finding.verdict == "fail")
        reported += result.verdict == "fail"
    assert plausible(reported, runs, 0.95, odds=1e-3), reported


def true_rates(rule: Rule, rates: Any) -> tuple[float, float]:
    """Return the rates of those in a rule and of all others."""
    mask = rule.mask(CELLS, SMALL)
    inside = np.average(rates[mask], weights=SHARES[mask])
    outside = np.average(rates[~mask], weights=SHARES[~mask])
    return float(inside), float(outside)


def covers(limits: Any, truth: float) -> bool:
    high = np.inf if limits["high"] is None else limits["high"]
    return bool(limits["low"] - 1e-9 <= truth <= high + 1e-9)


def story_holds(story: Any, rates: Any) -> bool:
    """Return whether the difference, the rates and the ratio of a story hold the truth."""
    inside, outside = true_rates(Rule.from_dict(story["rule"]), rates)
    pairs = [
        (story, abs(inside - outside)),
        (story["rate"], inside),
        (story["other"], outside),
        (story["ratio"], inside / outside),
    ]
    return all(covers(limits, truth) for limits, truth in pairs)


def all_rules(mining: Mining) -> list[Rule]:
    ranking = mining.ranking
    every = map(ranking.rule_set, range(ranking.examined))
    return [mining.rule(rule_set) for rule_set in every]


def holds(rates: Any, entry: Any, mining: Mining) -> bool:
    """Return whether all that is reported holds the truth, and the bound on the rest does too."""
    stories = entry["stories"]
    if not all(story_holds(story, rates) for story in stories):
        return False
    leads = {Rule.from_dict(story["rule"]) for story in stories}
    differences = []
    for rule in all_rules(mining):
        if rule not in leads:
            inside, outside = true_rates(rule, rates)
            differences.append(abs(inside - outside))
    return covers(entry["rest"], max(differences))


@pytest.mark.parametrize("graded", [False, slow(True)])
def test_all_reported_intervals_hold_together(graded):
    """Cells of different rates, ranked and chosen after looking at them."""
    rng = np.random.default_rng(3)
    runs = 45
    misses = 0
    for run in range(runs):
        rates = np.random.default_rng(run % 5).beta(1, 1, 12)
        n = int(rng.integers(60, 400))
        found = mined(rates, n, rng, graded=graded, top=4)
        misses += not holds(rates, found.entry, found.mining)
    assert plausible(misses, runs, 0.95, odds=1e-3), misses


def test_decisions_about_few_people_are_never_called_fair():
    """However few people there are, a limit that is not excluded stays undecided."""
    people = pd.DataFrame({"sex": ["F", "M"] * 10, "ok": [1] * 20})
    assert eh.mine_log(people, outcome="ok", over="sex", limit=0.1).verdict == "undecided"
