"""Which answer is favourable: in the words of the model, of the target, or by what rows show."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

from evenhand.config.init.outcomes import (
    SeenAnswers,
    corresponding,
    guessed,
    guessed_of,
    named,
)
from evenhand.runtime.errors import UsageError
from tests.support.helpers import refused


def answers(given: list[Any], truths: list[Any] | None = None, **more: Any) -> SeenAnswers:
    return SeenAnswers(np.array(given), truths, **more)


@pytest.mark.parametrize(
    ("text", "given", "truths", "favourable"),
    [
        ("approve", ["approve", "deny"], ["yes", "no"], "approve"),
        ("yes", ["approve", "deny"], ["yes", "no"], "approve"),
        ("no", ["approve", "deny"], ["yes", "no"], "deny"),
        ("yes", [1, 0], ["yes", "no"], 1),
        ("1", [True, False], None, True),
        ("True", [True, False], None, True),
        (">50K", [0, 1], ["<=50K", ">50K"], 1),
        ("<=50K", [0, 1], ["<=50K", ">50K"], 0),
        ("1", [1.0, 0.0], None, 1.0),
        ("b", [0, 1, 2], ["a", "b", "c"], 1),
        ("b,c", ["a", "b", "c"], None, ["b", "c"]),
        ("b, c", [0, 1, 2], ["a", "b", "c"], [1, 2]),
    ],
)
def test_a_word_is_taken_for_the_answer_it_stands_for(text, given, truths, favourable):
    found = named(text, answers(given, truths)).value
    assert found == favourable
    assert type(found) is type(favourable)


def test_what_the_rows_show_counts_more_than_the_order_of_labels():
    truths = ["approved", "denied"] * 50
    # Labels encoded in order: approved is 0, although 1 sounds better.
    encoded = answers([0, 1] * 50, truths)
    assert named("approved", encoded).value == 0
    assert guessed(encoded).value == 0
    other = answers([1, 0] * 50, truths)
    assert named("approved", other).value == 1


def test_too_few_rows_and_contradicting_words_leave_it_open():
    few = answers([0, 1], ["approved", "denied"])
    assert corresponding("approved", few) is None
    refused(UsageError, lambda: named("approved", few), "'approved'", "answers 0, 1")


@pytest.mark.parametrize("text", ["yes", "maybe", "aprove", "approve,maybe"])
def test_a_word_that_is_no_answer_is_refused_with_those_that_are(text):
    seen = answers(["approve", "denied", "later"])
    if text == "yes":
        assert named(text, seen).value == "approve"
        return
    refused(UsageError, lambda: named(text, seen), repr(text), "'approve'", "'denied'")


def test_guesses_by_words_and_none_among_several():
    assert guessed(answers(["deny", "approve"])).value == "approve"
    assert guessed(answers([0, 1])).value == 1
    assert guessed(answers(["<=50K", ">50K"])).value == ">50K"
    assert guessed(answers(["not approved", "approved"])).value == "approved"
    assert guessed(answers(["a", "b"])).value == "b"
    assert guessed(answers(["a", "b", "c"])).value is None
    assert guessed_of(["bad", "good"]).value == "good"
    assert guessed_of([]).value == 1


def test_amounts_are_no_labels():
    assert answers([0.5, 1.25]).are_numbers
    assert answers(list(range(100))).are_numbers
    assert not answers([0.0, 1.0] * 20).are_numbers
    assert not answers([1, 2, 3] * 20).are_numbers
    assert not answers(["a", "b"]).are_numbers
    assert not answers([0.5, 1.25], classes=(0.5, 1.25)).are_numbers


def test_rates_that_are_alike_by_chance_are_no_correspondence():
    rows = range(400)
    # Nine of ten rows have each, and neither tells anything of the other.
    truths = ["blue" if row % 10 else "red" for row in rows]
    given = ["x" if row % 9 else "y" for row in rows]
    assert corresponding("blue", answers(given, truths)) is None
    followed = ["x" if truth == "blue" else "y" for truth in truths]
    found = corresponding("blue", answers(followed, truths))
    assert found is not None
    assert found.value == "x"
