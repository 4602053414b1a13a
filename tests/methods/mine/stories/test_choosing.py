"""Which rule sets are chosen: each is shown to differ, and adds to those before it."""

from __future__ import annotations

import itertools
import math
from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from evenhand.methods.mine.stories import choosing as module
from evenhand.methods.mine.stories.apart import variations
from evenhand.methods.mine.stories.choosing import WORTH, StorySearch
from evenhand.methods.mine.stories.forms import StoryForms
from evenhand.space.feature import category, integer
from evenhand.statistics.simultaneous import SimultaneousIntervals, absolute
from tests.support.helpers import examples
from tests.support.mined_cases import (
    Case,
    leads_of,
    mined,
    number_of,
    people_mining,
    planted_cases,
    stories_of,
)

SEX = category("sex", ["F", "M"])


def spread(values: Any, weights: Any, z: float, *, numbers: bool) -> float:
    """Return the variance of the mean of some people."""
    if not z:
        return 0.0
    people = weights.sum()
    if numbers:
        return float(values.var() / max(people - 1, 1))
    hits = (values * weights).sum()
    share = (hits + z * z / 2) / (people + z * z)
    return float(share * (1 - share) / people)


def beyond(case: Case, mask: Any, chosen: list[Any], z: float) -> tuple[float, float]:
    """Return how far people are from others who are alike in what is chosen, by strata."""
    alike = np.zeros(len(mask), dtype=int)
    for number, other in enumerate(chosen):
        alike += other << number
    values = case.treated.values
    numbers = case.treated.scale is not None
    weighted = 0.0
    weights = 0.0
    variance = 0.0
    for stratum in np.unique(alike):
        sides = []
        for side in (mask, ~mask):
            rows = side & (alike == stratum) & (case.size > 0)
            sides.append((values[rows], case.size[rows]))
        (inside, n1), (outside, n2) = sides
        if len(inside) and len(outside):
            people = n1.sum()
            others = n2.sum()
            weight = people * others / (people + others)
            mean = np.average(inside, weights=n1)
            other_mean = np.average(outside, weights=n2)
            errors = spread(
                inside,
                n1,
                z,
                numbers=numbers,
            )
            errors += spread(
                outside,
                n2,
                z,
                numbers=numbers,
            )
            weighted += weight * (mean - other_mean)
            weights += weight
            variance += weight**2 * errors
    if not weights:
        return 0.0, math.inf
    return weighted / weights, math.sqrt(variance) / weights


def masks_of(case: Case, numbers: list[int]) -> list[Any]:
    """Return whom some rule sets cover."""
    ranking = case.mining.ranking
    return [case.mining.inside(ranking.rule_set(number)) for number in numbers]


def is_shown(case: Case, number: int) -> bool:
    """Return whether the limits of a rule set's difference exclude 0."""
    ranking = case.mining.ranking
    sides = ranking.sides(ranking.counts([number]))
    low, high = case.sure.difference_of(sides)
    least, _ = absolute(
        np.asarray(low),
        np.asarray(high),
    )
    return bool(least[0] > 0)


@settings(max_examples=examples(25), deadline=None)
@given(planted_cases(), st.sampled_from([1, 2, 50]))
def test_a_story_is_shown_to_differ_and_adds_to_those_before(case, most):
    search = case.search()
    chosen = search.choose(most)
    ranking = case.mining.ranking
    assert len(chosen) <= most
    masks = masks_of(case, [story.number for story in chosen])
    for number, story in enumerate(chosen):
        assert is_shown(case, story.number)
        value, error = beyond(
            case,
            masks[number],
            masks[:number],
            story.z,
        )
        assert story.beyond == pytest.approx(value, abs=1e-9)
        assert story.error == pytest.approx(error, abs=1e-9)
        if number:
            first = ranking.rule_set(chosen[0].number)
            lead = ranking.rule_set(story.number)
            assert abs(value) >= WORTH * abs(first.difference) - 1e-9
            assert abs(value) > story.z * error
            assert np.sign(value) == np.sign(lead.difference)
        else:
            assert value == pytest.approx(ranking.rule_set(story.number).difference)


@settings(max_examples=examples(60), deadline=None)
@given(planted_cases())
def test_what_is_not_chosen_added_nothing_to_some_of_the_stories(case):
    """What adds nothing to the first stories is passed over from then on."""
    search = case.search()
    chosen = search.choose(50)
    chosen_rules = [story.number for story in chosen]
    assert len(set(chosen_rules)) == len(chosen_rules)
    masks = masks_of(case, chosen_rules)
    every = search.candidates.numbers
    step = max(1, len(every) // 20)
    for number in every[::step].tolist():
        if number not in chosen_rules and is_shown(case, number):
            adds = [
                adds_to(
                    case,
                    search,
                    number,
                    masks[:few],
                )
                for few in range(1, len(chosen_rules) + 1)
            ]
            assert not all(adds)


def adds_to(case: Case, search: StorySearch, number: int, chosen_rules: list[Any]) -> bool:
    """Return whether a rule set clearly adds to the first stories."""
    ranking = search.ranking
    z = search.z(len(chosen_rules))
    (mask,) = masks_of(case, [number])
    value, error = beyond(
        case,
        mask,
        chosen_rules,
        z,
    )
    first = ranking.rule_set(search.choose(1)[0].number)
    is_worth = abs(value) >= search.floor(abs(first.difference)) + 1e-9
    shown = abs(value) - z * error > 1e-7
    same_side = np.sign(value) == np.sign(ranking.rule_set(number).difference)
    return bool(same_side and shown and is_worth)


@pytest.mark.parametrize("how", ["counts", "graded", "numbers"])
@pytest.mark.parametrize("pool", [2, 7, 64])
def test_a_candidate_that_waits_is_chosen_as_if_it_had_not(monkeypatch, how, pool):
    """Of samples: in whole populations, a difference may grow as more is chosen."""
    # Simpler rule sets are looked for in the pool alone.
    monkeypatch.setattr(
        StoryForms,
        "clearest",
        lambda _, best: best,
    )
    names = ["race", "age", "sex"]
    for seed in range(5):
        case = mined(
            2500,
            seed,
            names,
            how=how,
            effect=2.0,
            support=0.05,
        )
        search = case.search()
        monkeypatch.setattr(
            module,
            "POOL",
            512,
        )
        at_once = [story.number for story in search.choose(10)]
        monkeypatch.setattr(
            module,
            "POOL",
            pool,
        )
        waited = [story.number for story in search.choose(10)]
        assert len(at_once) > 1
        assert waited == at_once


@settings(max_examples=examples(15), deadline=None)
@given(planted_cases())
def test_fewer_stories_are_the_first_of_many(case):
    search = case.search()
    many = search.choose(50)
    few = search.choose(2)
    assert [story.number for story in few] == [story.number for story in many[:2]]
    for one, other in zip(
        few,
        many,
        strict=False,
    ):
        assert one.beyond == other.beyond
        assert one.error == other.error


def test_without_a_difference_that_is_shown_there_is_no_story():
    sexes = np.repeat(["F", "M"], 50)
    values = np.tile([0, 1], 50)
    _, found = stories_of(
        {"sex": sexes},
        values,
        [SEX],
    )
    assert found == []
    _, found = stories_of(
        {"sex": sexes},
        values,
        [SEX],
        level=1.0,
    )
    assert found == []
    few = np.array(
        [0] * 23
        + [1] * 27
        + [
            0,
            1,
        ]
        * 25
    )
    _, found = stories_of(
        {"sex": sexes},
        few,
        [SEX],
    )
    assert found == []
    # Of everybody, however little it is.
    mining, found = stories_of(
        {"sex": sexes},
        few,
        [SEX],
        level=1.0,
    )
    assert leads_of(mining, found) == ["sex F"]


def crossed(people: int, rate: Any, names: Any) -> tuple[dict[str, Any], Any]:
    """Return people of every combination of flags, and outcomes at exactly their rates."""
    frame: dict[str, list[int]] = {name: [] for name in names}
    values: list[float] = []
    for flags in itertools.product([0, 1], repeat=len(names)):
        favoured = round(people * rate(*flags))
        values += [1.0] * favoured + [0.0] * (people - favoured)
        for name, flag in zip(
            names,
            flags,
            strict=True,
        ):
            frame[name] += [flag] * people
    return frame, values


def flags_of(names: Any) -> list[Any]:
    return [category(name, [0, 1]) for name in names]


@pytest.mark.parametrize("level", [0.95, 1.0])
def test_two_causes_are_stories_and_a_feature_that_is_none_is_not(level):
    """Each takes 30 points: those with neither are chosen_rules first, then those with both."""
    names = ["a", "b", "c"]

    def rate(a: int, b: int, c: int) -> float:
        return 0.9 - 0.3 * a - 0.3 * b

    frame, values = crossed(
        500,
        rate,
        names,
    )
    mining, found = stories_of(
        frame,
        values,
        flags_of(names),
        level=level,
    )
    assert leads_of(mining, found) == ["a 0, b 0", "a 1, b 1"]
    neither, both = found
    assert neither.added is None
    # The others with one cause or the other are at 60 %.
    assert both.added is not None
    assert both.added.value == pytest.approx(-0.3)
    assert not both.added.within
    assert neither.rules + both.rules <= mining.ranking.examined


def test_a_condition_that_adds_nothing_is_left_out():
    """Chance makes the women of one town a bit worse than the other women, within its error."""
    rng = np.random.default_rng(5)
    sexes = rng.choice(["F", "M"], 4000)
    towns = rng.choice(["x", "y", "z"], 4000)
    ages = rng.integers(
        18,
        68,
        4000,
    )
    values = rng.random(4000) < np.where(
        sexes == "F",
        0.3,
        0.7,
    )
    frame = {"sex": sexes, "town": towns, "age": ages}
    features = [
        SEX,
        category("town", ["x", "y", "z"]),
        integer(
            "age",
            18,
            67,
        ),
    ]
    mining, found = stories_of(
        frame,
        values,
        features,
    )
    assert leads_of(mining, found) in (["sex F"], ["sex M"])


def test_twins_are_one_story_whatever_people_weigh():
    """Sums of weights in another order differ by rounding, which is no difference of people."""
    for seed in (31, 36):
        rng = np.random.default_rng(seed)
        sex = rng.integers(
            0,
            2,
            400,
        )
        race = rng.integers(
            0,
            3,
            400,
        )
        ages = rng.integers(
            0,
            8,
            400,
        )
        weights = rng.random(400)
        frame = {"sex": sex, "gender": sex, "race": race, "age": ages}
        values = rng.random(400) < 0.3 + 0.4 * sex
        features = [
            category("sex", [0, 1]),
            category("gender", [0, 1]),
            category("race", [0, 1, 2]),
            integer(
                "age",
                0,
                7,
            ),
        ]
        mining, found = stories_of(
            frame, values, features, weights=weights, level=1.0, bins=4
        )
        covers = {mining.inside(story.lead).tobytes() for story in found}
        assert len(covers) == len(found)
        for story in found:
            assert abs(story.chosen.beyond) <= 1
            text = mining.rule(story.lead).text
            assert not ("sex" in text and "gender" in text)


def test_a_limit_is_what_a_story_must_add():
    """Those with neither flag are chosen_rules first; a adds 35 points, unless 40 are asked for."""
    names = ["a", "b"]

    def rate(a: int, b: int) -> float:
        return 0.9 - 0.6 * a - 0.25 * (b and not a)

    frame, values = crossed(
        1000,
        rate,
        names,
    )
    mining, free = stories_of(
        frame,
        values,
        flags_of(names),
    )
    _, low = stories_of(
        frame,
        values,
        flags_of(names),
        limit=0.2,
    )
    _, high = stories_of(
        frame,
        values,
        flags_of(names),
        limit=0.4,
    )
    assert leads_of(mining, free)[0] in ("a 0", "a 1")
    assert len(free) == 2
    assert leads_of(mining, low) == leads_of(mining, free)
    assert len(high) == 1


def test_numbers_are_compared_by_their_means():
    rng = np.random.default_rng(2)
    sexes = rng.choice(["F", "M"], 3000)
    plans = rng.choice(["x", "y", "z"], 3000)
    pay = 3000 + 400 * rng.standard_normal(3000)
    pay -= 300 * (sexes == "F") + 250 * (plans == "z")
    features = [SEX, category("plan", ["x", "y", "z"])]
    frame = {"sex": sexes, "plan": plans}
    mining, found = stories_of(
        frame,
        pay,
        features,
        numbers=True,
    )
    texts = leads_of(mining, found)
    assert any("plan z" in text or "plan not z" in text for text in texts)
    assert any("sex" in text for text in texts)
    scale = mining.treated.scale
    assert scale is not None
    for story in found:
        mask = mining.inside(story.lead)
        expected = pay[mask].mean() - pay[~mask].mean()
        assert scale.distance(story.lead.difference) == pytest.approx(expected)


def test_the_error_is_shared_among_all_stories_that_may_follow():
    case = mined(
        200,
        0,
        ["sex", "age"],
    )
    search = case.search()
    tails = []
    for stories in range(1, 2000):
        z = search.z(stories)
        tails.append(math.erfc(z / math.sqrt(2)) / 2)
    assert sum(tails) == pytest.approx(case.sure.tail, rel=1e-3)
    assert sum(tails) < case.sure.tail
    assert search.z(0) == case.sure.critical
    exact = StorySearch(case.mining.ranking, SimultaneousIntervals(1.0))
    assert exact.z(0) == exact.z(3) == 0


def test_of_too_many_candidates_the_strongest_are_taken(monkeypatch):
    case = mined(
        1500,
        3,
        ["race", "age", "sex"],
        rate=0.5,
    )
    search = case.search()
    every = search._apart()
    words = case.mining.ranking.found.search.covers.words
    monkeypatch.setattr(
        module,
        "MOST_BITS",
        7 * words,
    )
    some = search._apart()
    assert len(some) == 7 < len(every)
    strength = case.mining.ranking.strength
    assert strength[some].min() >= np.sort(strength)[-7]
    assert some.tolist() == sorted(some.tolist())


def test_limits_decide_and_not_what_is_ranked_by(monkeypatch):
    """A rule set that seems to be apart, and is not shown to be, is passed over."""
    case = mined(
        300,
        3,
        ["race", "age", "sex"],
    )
    search = case.search()
    (best, *_) = search.choose(1)
    real = StorySearch.shown
    passed = []

    def shown(self: Any, number: int) -> bool:
        if number == best.number:
            passed.append(number)
            return False
        return real(self, number)

    monkeypatch.setattr(
        StorySearch,
        "shown",
        shown,
    )
    others = search.choose(10)
    assert passed
    assert best.number not in [story.number for story in others]
    monkeypatch.setattr(
        StorySearch,
        "shown",
        lambda self, number: False,
    )
    assert search.choose(10) == []


def test_the_simplest_of_those_that_cover_the_same_leads():
    """All of race b are women: the women of race b are no one but race b."""
    sexes = ["F"] * 50 + ["M"] * 50
    races = ["a"] * 25 + ["b"] * 25 + ["a"] * 50
    values = [race == "b" for race in races]
    features = [SEX, category("race", ["a", "b"])]
    frame = {"sex": sexes, "race": races}
    mining, intervals = people_mining(
        frame,
        values,
        features,
    )
    search = StorySearch(mining.ranking, intervals)
    chosen_rules = search.choose(3)
    first, *_ = variations(
        mining.ranking,
        chosen_rules,
        search.candidates,
    )
    assert chosen_rules[0].number == number_of(mining, "race b")
    assert number_of(mining, "sex F, race b") in first
