"""Planted bias that sampling does not see: a search finds it with few queries, and says where.

Three kinds: next to the boundary of a rule, in a smooth model that scores, and in a box far from
any boundary. How rare each is was counted exactly, or estimated by a sample that is large enough
for the order of magnitude.
"""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from sklearn.linear_model import LogisticRegression

import evenhand as eh
from evenhand.statistics.intervals import clopper_pearson
from tests.methods.search.test_search import proven
from tests.support.simulation import covers, slow

SPACE = eh.Space(
    [
        eh.category("sex", ["F", "M"]),
        eh.integer("age", 18, 90),
        eh.integer("income", 0, 200),
        eh.integer("debt", 0, 100),
        eh.integer("years", 0, 40),
        eh.category("job", list("abcdef")),
        eh.category("home", ["own", "rent", "none"]),
        eh.integer("kids", 0, 6),
        eh.integer("cards", 0, 9),
        eh.category("region", list("ABCDEFGH")),
    ],
    protected=["sex"],
)
SEEDS = [0, *(slow(seed) for seed in (1, 2))]


def thin(people: Any) -> Any:
    """Young women with three children or more who rent in one region need three points more."""
    points = (
        people["income"] + 2 * people["years"] - 1.5 * people["debt"] + 3 * people["cards"]
    )
    is_young = people["age"] < 40
    has_children = people["kids"] >= 3
    is_harmed = (
        (people["sex"] == "F")
        & (people["region"] == "C")
        & (people["home"] == "rent")
        & is_young
        & has_children
    )
    return points >= 90 + 3 * is_harmed


def boxed(people: Any) -> Any:
    """Women of one region who rent and have children and debts are refused, whatever they earn."""
    has_children = people["kids"] >= 3
    has_debts = people["debt"].between(30, 69)
    is_harmed = (
        (people["sex"] == "F")
        & (people["region"] == "C")
        & (people["home"] == "rent")
        & has_children
        & has_debts
    )
    return ~is_harmed & (people["income"] >= 60)


BOX = 1 / 8 * 1 / 3 * 4 / 7 * 40 / 101 * 141 / 201
"""The share of people in the box who would be granted."""


def hits(software: Any, n: int, seed: int, space: eh.Space = SPACE) -> int:
    """Count the discriminatory inputs among n uniform ones, with no part of the search."""
    points = space.draw(n, np.random.default_rng(seed))
    points[:, 0] = 0
    outcomes = np.asarray(software(space.decode(points)))
    points[:, 0] = 1
    twin_outcomes = np.asarray(software(space.decode(points)))
    return int((outcomes != twin_outcomes).sum())


@pytest.mark.slow
def test_what_is_planted_is_as_rare_as_it_is_claimed():
    low, high = clopper_pearson(hits(thin, 400_000, 11), 400_000, 0.99)
    assert 0.00005 < low < high < 0.0002
    space, model = smooth()

    def predict(people: Any) -> Any:
        return model.predict(people.to_numpy(np.float64))

    assert hits(predict, 200_000, 5, space) < 0.0004 * 200_000
    assert hits(boxed, 100_000, 3) / 100_000 == pytest.approx(BOX, rel=0.2)


@pytest.mark.parametrize("seed", SEEDS)
def test_a_bias_next_to_the_boundary_is_found_where_sampling_fails(seed):
    """One in ten thousand of 10¹² inputs, found by the hundred at least with 20,000 queries."""
    result = eh.search(
        thin,
        SPACE,
        seed=seed,
        limit=0,
        explain=False,
        budget=eh.Budget(queries=20_000),
    )
    assert result.verdict == "fail"
    assert proven(result, thin) > 100
    assert result.spent.queries <= 20_000
    assert hits(thin, 10_000, seed) < 10  # what as many queries show without a search
    found = result.to_frame()
    assert set(found["region"]) == {"C"}
    assert set(found["home"]) == {"rent"}
    assert found["age"].max() < 40
    assert found["kids"].min() >= 3


def smooth() -> tuple[eh.Space, LogisticRegression]:
    """Return a model with a weight of sex so small that it decides for one in ten thousand."""
    numbers = [eh.real(f"x{number}", 0, 1) for number in range(8)]
    space = eh.Space([eh.category("sex", [0, 1]), *numbers], protected=["sex"])
    points = space.draw(3000, np.random.default_rng(0))
    labels = points[:, 1:].sum(axis=1) > 4
    model = LogisticRegression(C=10).fit(points, labels)
    weights = model.coef_[0, 1:]
    model.coef_[0, 0] = 0.0004 * np.abs(weights).mean()
    return space, model


@pytest.mark.parametrize("seed", SEEDS)
def test_a_bias_in_a_smooth_model_is_found_where_sampling_fails(seed):
    """Scores lead to the few for whom it decides."""
    space, model = smooth()

    def predict(people: Any) -> Any:
        return model.predict(people.to_numpy(np.float64))

    result = eh.search(
        model, space, seed=seed, explain=False, budget=eh.Budget(queries=5000)
    )
    assert proven(result, predict) > 300
    assert hits(predict, 2500, seed, space) < 10


@pytest.mark.parametrize("seed", SEEDS)
def test_a_box_is_found_and_described(seed):
    """One in two hundred inputs, far from the boundary: the rule, and what drives it, are found."""
    result = eh.search(boxed, SPACE, seed=seed, budget=eh.Budget(queries=12_000))
    assert proven(result, boxed) > 2000
    entry = result.details["search"][0]
    *regions, everybody = entry["regions"]
    assert regions
    assert everybody["text"] == "everybody"
    assert everybody["estimate"]["low"] <= BOX <= everybody["estimate"]["high"]
    best = regions[0]
    features = {condition["feature"] for condition in best["rule"]["conditions"]}
    assert features <= {"region", "home", "kids", "debt", "income"}
    assert "region" in features
    assert best["estimate"]["low"] > everybody["estimate"]["high"]
    assert best["estimate"]["low"] > 20 * BOX
    check_drivers(entry["drivers"])


SHARES_OF_DRIVERS = {"region": 1.0, "home": 1.0, "kids": 1 / 2, "debt": 0.6, "income": 0.3}
"""About how often a change of a feature takes an input out of the box."""


def check_drivers(entries: list[Any]) -> None:
    drivers = {entry["feature"]: entry["estimate"] for entry in entries}
    for feature, share in SHARES_OF_DRIVERS.items():
        driver = drivers[feature]
        assert driver["low"] <= share + 0.15
        assert driver["high"] >= share - 0.15
        assert driver["low"] > 0
    for feature in ("age", "years", "job", "cards"):
        assert drivers[feature]["value"] == 0
    first_two = {entry["feature"] for entry in entries[:2]}
    assert first_two == {"region", "home"}


@pytest.mark.parametrize("seed", SEEDS)
def test_nothing_is_found_in_fair_software(seed):
    def fair(people):
        return people["income"] + 2 * people["years"] - 1.5 * people["debt"] > 90

    result = eh.search(fair, SPACE, seed=seed, limit=0, budget=eh.Budget(queries=5000))
    assert (result.verdict, result.worst.estimate.value) == ("undecided", 0)


def test_the_share_of_all_inputs_is_known_by_prevalence_and_never_by_a_search():
    result = eh.prevalence(boxed, SPACE, margin=0.002, seed=1)
    estimate = result.worst.estimate
    assert covers(estimate, BOX)
    assert estimate.population == "all inputs, uniformly"
    searched = eh.search(boxed, SPACE, budget=eh.Budget(queries=3000))
    assert searched.worst.estimate.level == 1
