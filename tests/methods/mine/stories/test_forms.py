"""In which form a story is told: of rule sets that tell the same, the one that reads best."""

from __future__ import annotations

import itertools
from typing import Any

import pytest

from evenhand.methods.mine.stories.choosing import StoryChoice, StorySearch
from evenhand.methods.mine.stories.forms import StoryForms
from evenhand.space.feature import category
from tests.support.mined_cases import leads_of, number_of, people_mining, stories_of

RACES = ["a", "b", "c", "d"]
REGIONS = ["e", "n", "s", "w"]
SEXES = ["F", "M"]
PEOPLE = 200
"""Of each combination of race, region and sex."""
USUAL = 0.6


def leads(rate: Any) -> list[str]:
    """Return the stories about people of whom each combination is favoured at exactly its rate."""
    frame: dict[str, list[str]] = {"race": [], "region": [], "sex": []}
    values: list[int] = []
    for person in itertools.product(RACES, REGIONS, SEXES):
        favoured = round(PEOPLE * rate(*person))
        values += [1] * favoured + [0] * (PEOPLE - favoured)
        for name, value in zip(frame, person, strict=True):
            frame[name] += [value] * PEOPLE
    features = [
        category("race", RACES),
        category("region", REGIONS),
        category("sex", SEXES),
    ]
    mining, found = stories_of(frame, values, features, support=0.02, levels=2)
    return leads_of(mining, found)


def test_values_whose_people_are_treated_alike_are_one_story(monkeypatch):
    """Chance makes one of two regions a bit worse than the other."""

    def rate(race: str, region: str, sex: str) -> float:
        if race != "b":
            return USUAL
        return {"n": 0.2, "e": 0.29}.get(region, USUAL)

    assert leads(rate) == ["race b, region e or n"]
    monkeypatch.setattr(StoryForms, "_widest", lambda _, lead: lead)
    assert leads(rate) == ["race b, region n", "race b, region e"]


def test_values_whose_people_differ_are_two_stories():
    def rate(race: str, region: str, sex: str) -> float:
        if race != "b":
            return USUAL
        return {"n": 0.1, "e": 0.4}.get(region, USUAL)

    assert leads(rate) == ["race b, region n", "race b, region e"]


def test_a_value_that_is_like_all_others_is_not_added():
    """Region e is a little below all others, by chance, and is not shown to differ from them."""

    def rate(race: str, region: str, sex: str) -> float:
        if race != "b":
            return USUAL
        return {"n": 0.35, "e": 0.55}.get(region, USUAL)

    assert leads(rate) == ["race b, region n"]


def test_of_parts_of_two_causes_one_of_the_causes_is_the_story():
    """Men of races b and c in the north and east are partly of the one, partly of the other."""

    def rate(race: str, region: str, sex: str) -> float:
        is_first = race == "b" and region in {"e", "n"}
        is_second = race == "c" and sex == "M"
        if not (is_first or is_second):
            return USUAL
        return 0.31 if sex == "M" and region in {"e", "n"} else 0.33

    found = leads(rate)
    assert sorted(found) == ["race b, region e or n", "race c, sex M"]


def test_people_of_a_simpler_cause_are_not_added_to_another():
    """Women of race b are treated like those of race c, but so are the men of race b."""

    def rate(race: str, region: str, sex: str) -> float:
        if race == "b":
            return 0.25
        return 0.17 if race == "c" and sex == "F" else USUAL

    assert leads(rate) == ["race c, sex F", "race b"]


@pytest.mark.parametrize("level", [0.95, 1.0])
def test_of_two_complements_the_smaller_is_the_story(level):
    sexes = ["F"] * 300 + ["M"] * 700
    values = [0, 1, 1] * 100 + [0, 0, 0, 1, 0, 0, 0] * 100
    mining, intervals = people_mining(
        {"sex": sexes}, values, [category("sex", SEXES)], level=level
    )
    choice = StoryChoice.of(StorySearch(mining.ranking, intervals))
    z = choice.search.z(0)
    forms = choice._forms(choice.strata.beyond(z), z)
    pool = choice.numbers.tolist()
    women = pool.index(number_of(mining, "sex F"))
    men = pool.index(number_of(mining, "sex M"))
    assert forms.clearest(men) == women
    assert forms.clearest(women) == women


@pytest.mark.parametrize("effect", [-0.3, 0.3])
def test_a_part_of_a_cause_does_not_stand_for_it(effect: float):
    """Half of it is as far from everyone else, and is said more simply."""

    def rate(race: str, region: str, sex: str) -> float:
        is_cause = race == "b" and region in {"e", "n"}
        return USUAL + effect if is_cause else USUAL

    assert leads(rate) == ["race b, region e or n"]
