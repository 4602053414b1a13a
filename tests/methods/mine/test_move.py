"""Steps of neighbours, thresholds of Algorithm 2 and large supports: what users may choose."""

from __future__ import annotations

from typing import Any

import numpy as np
import pandas as pd
import pytest

import evenhand as eh
from evenhand.runtime.errors import UsageError
from tests.support.helpers import refused

SPACE = eh.Space(
    [
        eh.category("sex", ["F", "M"]),
        eh.integer("age", 18, 77),
        eh.integer("income", 0, 40),
        eh.real("rate", 0, 1),
    ],
    protected=["sex", "age"],
)
RNG = np.random.default_rng(0)
PEOPLE = pd.DataFrame(
    {
        "sex": RNG.choice(["F", "M"], 900, p=[0.55, 0.45]),
        "age": RNG.integers(18, 78, 900),
        "income": RNG.integers(0, 41, 900),
        "rate": RNG.random(900).round(3),
    }
)


def loan(people: Any) -> Any:
    return people["income"] >= 15 + 10 * (people["sex"] == "F")


def mined(**options: Any) -> eh.Result:
    return eh.mine(loan, SPACE, PEOPLE, **options)


def rate_of(mask: Any, step: int) -> float:
    """How often the neighbours of some people are favoured, whose income moves by a step."""
    amounts = []
    for by in (-step, step):
        moved = PEOPLE.assign(income=(PEOPLE["income"] + by).clip(0, 40))
        amounts.append(loan(moved)[mask].mean())
    of_rate = loan(PEOPLE)[mask].mean()
    return float((np.mean(amounts) + of_rate) / 2)


@pytest.mark.parametrize("step", [1, 8])
def test_rows_are_treated_as_their_neighbours_at_that_step(step):
    result = mined(over="sex", move={"income": step})
    women = PEOPLE["sex"] == "F"
    (entry,) = result.details["mine"]
    assert entry["move"] == {"income": float(step)}
    story = entry["stories"][0]
    sides = {story["text"]: story["rate"]["value"], "else": story["other"]["value"]}
    of_women = sides.get("sex F", sides["else"])
    assert of_women == pytest.approx(rate_of(women, step))
    words = f"one-step neighbours (a step: income {step})"
    assert words in result.worst.estimate.population
    assert words in result.to_text()


def test_other_steps_give_other_rates_and_none_gives_those_of_before():
    assert mined(over="sex").digest != mined(over="sex", move={"income": 8}).digest
    same = mined(over="sex", move={"income": 1, "rate": 0.01})
    assert same.worst.estimate.value == mined(over="sex").worst.estimate.value
    assert "move" not in mined(over="sex").details["mine"][0]


@pytest.mark.parametrize(
    ("options", "words"),
    [
        ({"move": 5, "treatment": "rows"}, ["move = 5", "treatment = 'rows'"]),
        ({"move": {"age": 5}}, ["move names 'age', which neighbours keep"]),
        ({"move": {"rates": 5}}, ["did you mean 'rate'?"]),
        ({"move": {"income": 0.5}}, ["nearest choice is 1"]),
        ({"sample_thr": 10}, ["sample_thr = 10", "treatment='paper'"]),
        (
            {"error_thr": 0.1, "treatment": "drawn"},
            ["error_thr = 0.1", "treatment='paper'"],
        ),
        ({"error_thr": 1.5, "treatment": "paper"}, ["error_thr = 1.5 must lie between"]),
    ],
)
def test_what_cannot_be_combined_is_refused_before_anything_is_asked(options, words):
    asked = []

    def counted(people: Any) -> Any:
        asked.append(len(people))
        return loan(people)

    refused(UsageError, lambda: eh.mine(counted, SPACE, PEOPLE, **options), *words)
    assert not asked


def test_algorithm_2_draws_as_its_thresholds_say():
    usual = mined(over="sex", treatment="paper")
    fewer = mined(over="sex", treatment="paper", sample_thr=50, error_thr=0.2)
    n = fewer.worst.estimate.n
    assert 102 <= n < usual.worst.estimate.n
    assert usual.worst.estimate.n >= 2002
    estimate = fewer.worst.estimate
    assert estimate.high - estimate.low <= 0.4 + 1e-9
    rest = fewer.findings[-1].estimate
    assert rest.high == pytest.approx(min(rest.value + 0.2, 1))


def test_the_budget_of_algorithm_2_follows_its_thresholds():
    options: dict[str, Any] = {
        "over": "sex",
        "treatment": "paper",
        "sample_thr": 10,
        "error_thr": 0.5,
    }
    # Two rule sets, and (1.96 / 0.5)² draws of each side at most.
    most = 2 * 2 * 16
    enough = mined(budget=eh.Budget(queries=most), **options)
    assert enough.spent.queries <= most
    refused(
        UsageError,
        lambda: mined(budget=eh.Budget(queries=most - 1), **options),
        f"may take {most} for 2 rule sets",
    )


@pytest.mark.parametrize("support", [0.4, 0.5, 0.6, 0.8])
def test_any_support_leaves_rule_sets_by_default(support):
    result = mined(support=support)
    (entry,) = result.details["mine"]
    assert entry["complement"] == pytest.approx((1 - support) / 2)
    for story in entry["stories"]:
        assert support <= story["support"] <= 1 - entry["complement"]


def test_up_to_a_third_as_many_are_left_as_are_covered():
    assert mined(support=0.05).details["mine"][0]["complement"] == 0.05
    assert mined(support=0.3).details["mine"][0]["complement"] == 0.3
    named = mined(support=0.5, complement=0.1).details["mine"][0]
    assert named["complement"] == 0.1
