"""The examples of the paper (Themis, section 2): what each score sees, and what it does not.

A loan program takes race (green or purple), age (under 40 or over), income, savings and the amount
that is asked for.
"""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np
import pandas as pd
import pytest

import evenhand as eh
from tests.support.simulation import covers

SPACE = eh.Space(
    [
        eh.category("race", ["green", "purple"]),
        eh.category("age", ["<40", ">40"]),
        eh.integer("income", 0, 99),
        eh.integer("savings", 0, 99),
        eh.integer("amount", 1, 50),
    ],
    protected=["race", "age"],
)
SMALL = eh.Space(
    [*SPACE.features[:2], eh.integer("income", 0, 9), eh.integer("savings", 0, 9)],
    protected=["race"],
)


class BothScores(NamedTuple):
    """The results of both scores of a program."""

    causal: eh.Result
    group: eh.Result


def scores(decide, space: eh.Space, over: str = "race", **options: Any) -> BothScores:
    causal = eh.measure(decide, space, over=over, kind="causal", **options)
    group = eh.measure(decide, space, over=over, kind="group", **options)
    return BothScores(causal, group)


def opposite(people):
    """Of those with some income, the green with even savings get a loan, the purple with odd."""
    is_green = people["race"] == "green"
    is_even = people["savings"] % 2 == 0
    return (is_green == is_even) & (people["income"] >= 5)


def test_opposite_biases_cancel_in_the_group_score():
    """First limitation.

    "The score will be 0 if loan discriminates in the opposite way for another pair".
    """
    found = scores(opposite, SPACE, limit=0.1, level=0.99)
    assert found.group.verdict == "pass"
    assert found.group.worst.estimate.low == 0
    assert found.causal.verdict == "fail"
    precise = eh.measure(opposite, SPACE, over="race", margin=0.02, level=0.999)
    estimate = precise.worst.estimate
    assert covers(estimate, 0.95)  # all with an income of 5 or more
    for case in found.causal.worst.cases:
        assert case.changed == ("race",)
    exact = scores(opposite, SMALL, limit=0.1)
    assert exact.group.worst.estimate.value == 0
    assert exact.group.verdict == "pass"
    assert exact.causal.worst.estimate.value == 0.5
    assert exact.causal.verdict == "fail"


def lottery(people):
    """A number from 0 to 99 that depends on all other inputs and looks random."""
    mixed = (
        people["income"] * 7919 + people["savings"] * 104_729 + people["amount"] * 1_299_709
    )
    mixed = (mixed ^ (mixed // 8192)) * 2_654_435_761 % 2**32
    return mixed // 65_536 % 100


def thirty_percent(people):
    """Loans for a random 30 % of the purple, and for the 30 % of the green with most savings."""
    is_purple = people["race"] == "purple"
    return np.where(is_purple, lottery(people) < 30, people["savings"] >= 70)


def test_a_random_thirty_percent_beside_the_top_thirty_percent_is_fair_to_groups_only():
    """Second limitation: "software may circumvent discrimination detection"."""
    people = SPACE.decode(SPACE.draw(50_000, np.random.default_rng(0)))
    assert lottery(people).mean() == pytest.approx(49.5, abs=1)
    found = scores(thirty_percent, SPACE, limit=0.1, level=0.99)
    assert found.group.verdict == "pass"
    for group in found.group.worst.groups:
        assert covers(group.estimate, 0.3)
    assert found.causal.verdict == "fail"
    # One of the two gets it where the other does not: 2 · 0.3 · 0.7.
    precise = eh.measure(thirty_percent, SPACE, over="race", margin=0.02, level=0.999)
    estimate = precise.worst.estimate
    assert covers(estimate, 0.42)


def by_income(people):
    """Software that looks at income and savings alone."""
    return people["income"] + people["savings"] >= 100


def customers(n: int = 6000) -> pd.DataFrame:
    """Older individuals have, on average, higher incomes and larger savings."""
    rng = np.random.default_rng(3)
    is_old = rng.random(n) < 0.5
    mean = 35 + 30 * is_old
    income = np.clip(rng.normal(mean, 15), 0, 99)
    savings = np.clip(rng.normal(mean, 15), 0, 99)
    return pd.DataFrame(
        {
            "race": rng.choice(["green", "purple"], n),
            "age": np.where(is_old, ">40", "<40"),
            "income": income.astype(int),
            "savings": savings.astype(int),
            "amount": rng.integers(1, 51, n),
        }
    )


def difference_by_age(rows: pd.DataFrame) -> float:
    """Return how many more of the older ones get a loan, as a share."""
    rates = by_income(rows).groupby(rows["age"]).mean()
    return float(rates[">40"] - rates["<40"])


def test_a_correlated_population_effects_discrimination_by_what_is_never_looked_at():
    """Apparent discrimination.

    A partial domain that "exhibits correlation between input characteristics".
    """
    rows = customers()
    sampler = eh.rows(rows)
    apparent = scores(by_income, SPACE, "age", limit=0.1, sampler=sampler)
    group_score = apparent.group.worst.estimate.value
    assert apparent.group.verdict == "fail"
    assert group_score == pytest.approx(difference_by_age(rows), abs=1e-12)
    assert group_score > 0.5
    assert apparent.causal.verdict == "pass"
    assert apparent.causal.worst.estimate.value == 0
    strict = eh.measure(by_income, SPACE, over="age", limit=0, sampler=sampler)
    assert strict.verdict == "pass"
    # Race is not correlated with anything, so neither score sees any of it.
    by_race = scores(by_income, SPACE, "race", limit=0.1, sampler=sampler)
    assert by_race.group.verdict == "pass"


def test_in_the_whole_domain_the_same_software_treats_ages_alike():
    domain = scores(by_income, SPACE, "age", limit=0.05, level=0.99)
    assert domain.causal.verdict == "pass"
    assert domain.group.verdict == "pass"
    assert domain.causal.worst.estimate.value == 0
    assert domain.group.worst.estimate.low == 0

    def by_small_income(people):
        return people["income"] + people["savings"] >= 9

    small = scores(by_small_income, SMALL, "age", limit=0)
    assert small.causal.verdict == "pass"
    assert small.group.verdict == "pass"


@pytest.mark.parametrize("as_a", ["sample", "profile"])
def test_who_the_customers_are_may_be_known_by_a_sample_or_a_profile(as_a):
    rows = customers()
    sampler: Any
    if as_a == "profile":
        sampler = eh.profile(frame=rows, joint=[("age", "income", "savings")])
    else:
        sampler = eh.rows(rows, sample_of="the customers")
    found = scores(by_income, SPACE, "age", limit=0.1, sampler=sampler)
    assert found.group.verdict == "fail"
    assert found.causal.verdict == "pass"
    estimate = found.group.worst.estimate
    assert covers(estimate, difference_by_age(rows))
    independent = scores(by_income, SPACE, "age", limit=0.1, sampler=eh.profile(frame=rows))
    # It is the correlation that makes the difference.
    assert independent.group.verdict == "pass"


def test_forty_minus_thirty_is_ten_percent_group_discriminating():
    """Section 2 and Definition 3.5.

    "If 30% of people <40 get the loan, and 40% of people >40 get the loan"; 0.65 - 0.23.
    """

    def ages(people):
        limit = np.where(people["age"] == "<40", 30, 40)
        return people["income"] < limit

    def races(people):
        limit = np.where(people["race"] == "purple", 65, 23)
        return people["income"] < limit

    space = eh.Space(SPACE.features[:3])
    limited = eh.measure(ages, space, over="age", kind="group", limit=0.1)
    assert limited.verdict == "fail"
    by_age = eh.measure(ages, space, over="age", kind="group").worst
    assert by_age.estimate.value == 0.1
    by_race = eh.measure(races, space, over="race", kind="group").worst
    assert by_race.estimate.value == 0.42
    by_both = eh.measure(races, space, over=["age", "race"], kind="group").worst
    assert by_both.estimate.value == 0.42
    assert len(by_both.groups) == 4
