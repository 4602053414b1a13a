"""Spaces of very many features or levels: what a user meets there is an answer or a sentence."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import pytest

import evenhand as eh
from evenhand.runtime.errors import UsageError
from evenhand.space.feature import category, integer
from evenhand.space.rule import Rule

if TYPE_CHECKING:
    from collections.abc import Callable

NUMBERS = [integer(f"n{number}", 0, 99) for number in range(160)]
WIDE = eh.Space([category("sex", ["F", "M"]), *NUMBERS], protected=["sex"])
"""More inputs than a float can count."""
BUDGET = eh.Budget(queries=1000)


def decide(people: Any) -> Any:
    return (people["n0"] > 40) & (people["sex"] == "M")


VERBS: dict[str, Callable[[], Any]] = {
    "measure": lambda: eh.measure(decide, WIDE, budget=BUDGET),
    "measure of groups": lambda: eh.measure(decide, WIDE, kind="group", budget=BUDGET),
    "prevalence": lambda: eh.prevalence(decide, WIDE, budget=BUDGET),
    "subsets": lambda: eh.subsets(decide, WIDE, among=["sex", "n0"], budget=BUDGET),
    "search": lambda: eh.search(decide, WIDE, budget=BUDGET),
}


@pytest.mark.parametrize("verb", VERBS)
def test_more_inputs_than_a_float_counts(verb: str) -> None:
    with pytest.raises(OverflowError):
        float(WIDE.size)
    assert VERBS[verb]().findings


def test_too_many_features_are_refused_with_a_readable_number() -> None:
    with pytest.raises(UsageError, match=r"161 features have 2\.9e\+48 sets"):
        eh.subsets(decide, WIDE)


def levels(number: int) -> eh.Space:
    homes = [f"home {level:05}" for level in range(number)]
    features = [category("sex", ["F", "M"]), category("home", homes), *NUMBERS[:2]]
    return eh.Space(features, protected=["sex"])


@pytest.mark.parametrize("number", [150, 20_000])
def test_a_search_explains_categories_of_many_levels(number: int) -> None:
    space = levels(number)

    def by_home(people: Any) -> Any:
        first = people["home"] < f"home {number // 10:05}"
        return (people["n0"] > 70) | (first & (people["sex"] == "M"))

    found = eh.search(by_home, space, budget=eh.Budget(queries=6000))
    entry = found.details["search"][0]
    assert entry["map"]["axes"]
    homes = space.feature("home").levels
    chosen: set[object] = set()
    for region in entry["regions"]:
        for condition in Rule.from_dict(region["rule"]).conditions:
            if condition.feature == "home":
                chosen.update(condition.levels)
    assert chosen
    assert chosen <= set(homes[: number // 10])
