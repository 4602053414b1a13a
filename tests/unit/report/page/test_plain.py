"""Findings in plain words: how many of every hundred, and never more than was found."""

from __future__ import annotations

from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from evenhand.report.page.plain import group_name, in_plain_words, out_of, say_list
from evenhand.results.evidence import Finding, Group
from evenhand.statistics.estimate import Amount, Estimate


def rate(value: float, low: float, high: float) -> Estimate:
    return Estimate(value, low, high, 400, 0.95, "exact")


def group(name: str, value: float, n: int = 200) -> Group:
    return Group({"sex": name}, Estimate(value, 0.0, 1.0, n, 0.95, "exact"))


def words(estimate: Any, **fields: Any) -> str:
    return in_plain_words(Finding("the claim", ("sex",), estimate, **fields))


@pytest.mark.parametrize(
    ("value", "whole", "number"),
    [
        (0.117, "100", "12"),
        (0.004, "1,000", "4"),
        (0.00031, "10,000", "3"),
        (0.000002, "1,000,000", "2"),
        (1.0, "100", "100"),
    ],
)
def test_a_share_is_so_many_of_the_first_round_number_that_shows_some(value, whole, number):
    found = out_of(rate(value, value, value))
    assert (found.whole, found.value) == (whole, number)


@given(st.floats(1e-6, 1.0), st.floats(0.0, 1.0), st.floats(0.0, 1.0))
def test_numbers_of_people_are_as_far_apart_as_their_shares(value, first, second):
    low, high = value * first, value + (1 - value) * second
    found = out_of(rate(value, low, high))
    numbers = [int(text.replace(",", "")) for text in (found.low, found.value, found.high)]
    assert numbers == sorted(numbers)
    whole = int(found.whole.replace(",", ""))
    assert numbers[1] >= 1
    assert abs(numbers[1] - whole * value) <= 0.5
    assert numbers[2] <= whole


def test_nothing_seen_is_not_nobody():
    assert words(rate(0.0, 0.0, 0.012), score="causal") == (
        "Changing nothing but sex changed no outcome that was looked at; of every 100 inputs, at"
        " most 2 may be affected"
    )
    assert words(Estimate.exact(0, 24), score="causal") == (
        "Changing nothing but sex changes no outcome at all"
    )


def test_real_inputs_are_people():
    uniform = rate(0.1, 0.05, 0.2)
    seen = words(rate(0.25, 0.2, 0.3), score="causal", uniform=uniform)
    assert seen == (
        "Of every 100 people, about 25 would get another outcome if nothing but their sex were"
        " different"
    )
    apart = words(rate(0.25, 0.2, 0.3), score="causal", uniform=uniform, gap=500)
    assert "people, about 25 would get an outcome that differs by more than 500 if" in apart
    unseen = words(rate(0.0, 0.0, 0.03), score="causal", uniform=uniform)
    assert unseen.endswith("of every 100 people, at most 3 may be affected")


def test_an_output_of_several_is_named():
    plain = words(rate(0.25, 0.2, 0.3), score="causal", output="rate")
    assert plain == (
        "Of every 100 inputs, about 25 get another outcome when nothing but sex (for rate) is"
        " changed"
    )


def test_numbers_that_differ_say_by_how_much():
    plain = words(rate(0.25, 0.2, 0.3), score="causal", gap=500)
    assert (
        "an outcome that differs by more than 500 when nothing but sex is changed" in plain
    )


def test_a_score_that_counts_nobody_keeps_its_claim():
    graded = words(rate(0.25, 0.2, 0.3), score="causal", graded=True)
    unknown = words(rate(0.25, 0.2, 0.3), score="a score of somebody else")
    nobody = words(Estimate(float("nan"), 0.0, 1.0, 0, 0.95, "exact"), score="causal")
    ratio = words(rate(0.9, 0.8, 1.0), score="group", least=True)
    assert graded == unknown == nobody == ratio == "the claim"


def test_the_groups_that_were_compared_are_named_and_no_others():
    groups = (
        group("F", 0.34),
        group("M", 0.58),
        group("X", 0.0, n=0),
        group("few", 0.2, n=3),
    )
    plain = words(rate(0.24, 0.1, 0.3), score="group", groups=groups)
    assert plain == (
        "Of every 100 people with sex F, about 34 get the favourable outcome; of every 100 with"
        " sex M, about 58 do"
    )


def test_where_no_two_groups_are_as_far_apart_the_claim_stays():
    groups = (group("F", 0.34), group("M", 0.58))
    assert words(rate(0.1, 0.05, 0.2), score="group", groups=groups) == "the claim"
    assert words(rate(0.0, 0.0, 0.2), score="group", groups=groups[:1]) == "the claim"


@pytest.mark.parametrize(
    ("score", "sentence"),
    [
        (
            "true positive rate difference",
            "who should get the favourable outcome, about 20 do",
        ),
        (
            "false positive rate difference",
            "who should not get the favourable outcome, about 20",
        ),
        ("false negative rate difference", "about 20 do not"),
        ("accuracy difference", "about 20 are as they should be"),
        ("precision difference", "who get the favourable outcome, about 20 should"),
    ],
)
def test_each_error_rate_has_a_sentence_of_its_own(score, sentence):
    groups = (group("F", 0.2), group("M", 0.7))
    plain = words(rate(0.5, 0.4, 0.6), score=score, groups=groups)
    assert sentence in plain
    assert plain.index("sex F") < plain.index("sex M")


def amounts(first: float, second: float) -> tuple[Group, ...]:
    groups = []
    for name, value in (("F", first), ("M", second)):
        amount = Amount(value, value - 9, value + 9, 90, 0.95, "bootstrap")
        groups.append(Group({"sex": name}, amount))
    return tuple(groups)


def test_numbers_say_who_gets_less_and_by_how_much():
    apart = Amount(2112.0, 2000.0, 2300.0, 180, 0.95, "bootstrap")
    groups = amounts(62_690.0, 64_802.0)
    mean = words(apart, score="mean difference", groups=groups)
    assert mean == (
        "On average, people with sex F get 2,112 less than people with sex M: 62,690 against"
        " 64,800"
    )
    median = words(apart, score="median difference", groups=groups)
    assert median == (
        "Of people with sex F, the one in the middle gets 2,112 less than the one in the middle of"
        " people with sex M: 62,690 against 64,800"
    )


def test_numbers_of_one_output_or_of_errors_keep_their_claim():
    apart = Amount(2112.0, 2000.0, 2300.0, 180, 0.95, "bootstrap")
    groups = amounts(62_690.0, 64_802.0)
    one_output = words(apart, score="mean difference", groups=groups, output="pay")
    of_errors = words(apart, score="mean error difference", groups=groups)
    same = words(
        Amount(0.0, 0.0, 3.0, 9, 0.95, "x"), score="mean difference", groups=groups
    )
    assert one_output == of_errors == same == "the claim"


def test_a_subgroup_is_called_by_its_rule():
    estimate = rate(0.1, 0.0, 0.2)
    assert group_name(Group({"rule": "age over 40"}, estimate)) == "age over 40"
    assert group_name(Group({"sex": "F", "age": 40}, estimate)) == "sex F, age 40"
    assert len(group_name(Group({"sex": "F" * 999}, estimate))) <= 201


@given(st.lists(st.text(min_size=1), min_size=1, max_size=6))
def test_a_list_names_all(names):
    listed = say_list(names)
    assert all(name in listed for name in names)
