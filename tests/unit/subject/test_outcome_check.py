"""Answers that are no outcomes are refused in one sentence, whatever they are."""

from __future__ import annotations

import json
import sys
from fractions import Fraction
from typing import TYPE_CHECKING, Any

import numpy as np
import pytest

import evenhand as eh
from evenhand.runtime.errors import BadOutcome, UsageError
from evenhand.subject.outcome_check import Answers
from evenhand.subject.outcome_meaning import Meaning
from tests.support.helpers import SPACE, people, refused

if TYPE_CHECKING:
    from collections.abc import Callable

HUGE = 10**400
ANSWERS: dict[str, Callable[[int], Any]] = {
    "too large": lambda size: [HUGE] * size,
    "too large beside others": lambda size: [1.5] * (size - 1) + [HUGE],
    "too large to print": lambda size: [10**5000] * size,
    "too large in a fraction": lambda size: [Fraction(10**5000, 3)] * size,
    "too long": lambda size: ["x" * 2_000_000] * size,
    "too long in an array": lambda size: np.array(["x" * 1_100_000] * size),
    "masked": lambda size: np.ma.masked_array(np.ones(size), mask=np.arange(size) > 0),
    "complex": lambda size: np.ones(size, dtype=complex),
    "bytes": lambda size: np.array([b"yes"] * size),
    "days": lambda size: np.array(["2020-01-01"] * size, dtype="datetime64[D]"),
    "records": lambda size: np.zeros(size, dtype=[("answer", int)]),
}


@pytest.mark.parametrize("answer", ANSWERS.values(), ids=ANSWERS.keys())
def test_a_function_is_refused(answer: Callable[[int], Any]) -> None:
    subject = eh.Subject(lambda frame: answer(len(frame)), SPACE)
    refused(BadOutcome, lambda: subject.decide(people(1, 2)))


def test_the_sentence_says_how_large_it_is() -> None:
    subject = eh.Subject(lambda frame: [-HUGE] * len(frame), SPACE)
    words = "answered a number of about 401 digits; an outcome has at most 308"
    refused(BadOutcome, lambda: subject.decide(people(1)), words)


def test_a_program_is_refused() -> None:
    printing = [sys.executable, "-c", f"print({json.dumps(HUGE)})", "{*}"]
    subject = eh.Subject.command(printing, SPACE)
    refused(BadOutcome, lambda: subject.decide(people(1)), "about 401 digits")


def test_a_ledger_keeps_none_of_it(tmp_path: Any) -> None:
    ledger = tmp_path / "kept.ledger"
    subject = eh.Subject(lambda frame: [HUGE] * len(frame), SPACE, ledger=ledger)
    refused(BadOutcome, lambda: subject.decide(people(1)), "about 401 digits")
    with subject:
        assert subject.executed == 0


def test_numbers_wider_than_others_are_read_as_others() -> None:
    subject = eh.Subject(lambda frame: np.ones(len(frame), dtype=np.longdouble), SPACE)
    assert subject.decide(people(1)).dtype == np.float64


def test_large_numbers_that_can_be_compared_stay_apart() -> None:
    subject = eh.Subject(lambda frame: [2**70, 2**70 + 1], SPACE)
    assert subject.decide(people(1, 2)).tolist() == [2**70, 2**70 + 1]


def answers(**options: Any) -> Answers:
    return Answers("loan", **options)


def meaning(**options: Any) -> Meaning:
    return Meaning("loan", **options)


def test_what_may_be_answered_follows_from_what_outcomes_mean() -> None:
    assert Answers.of(meaning()) == answers()
    assert Answers.of(meaning(positive="yes")) == answers(positive="yes")
    assert Answers.of(meaning(positive=("yes", "y"))) == answers(positive="yes")
    assert Answers.of(meaning(positive="yes", scores=True)) == answers()
    assert Answers.of(meaning(labels=("a",))) == answers(labels=("a",))
    assert Answers.of(meaning(known=("a",))) == answers(closed=True)
    assert Answers.of(meaning(known=())) == answers()
    assert Answers.of(Meaning("loan", "rate")).name == "output 'rate' of loan"


def test_what_may_be_recalled_are_the_classes_of_a_classifier() -> None:
    assert Answers.recalled(meaning()) == answers()
    assert Answers.recalled(meaning(known=("a", "b"))) == answers(labels=("a", "b"))
    assert Answers.recalled(meaning(known=())) == answers()
    assert Answers.recalled(meaning(known=("a",), scores=True)) == answers()
    both = meaning(known=("a", "b"), labels=("a",))
    assert Answers.recalled(both) == answers(labels=("a",))


def test_the_shape_that_is_wrong_is_named() -> None:
    one = refused(
        BadOutcome, lambda: answers().check(np.ones(3), 2), "shape (3,) for 2 inputs"
    )
    assert one.endswith("it must return one per input")
    two = refused(BadOutcome, lambda: answers().check(np.ones((2, 2)), 2), "shape (2, 2)")
    assert two.endswith("or name its outputs with outputs=[…]")
    three = refused(BadOutcome, lambda: answers().check(np.ones((2, 1, 1)), 2), "(2, 1, 1)")
    assert three.endswith("it must return one per input")


def test_numbers_of_eight_bytes_or_fewer_keep_their_type() -> None:
    for kind in (np.float16, np.float32, np.float64, np.int8, np.uint64, np.bool_):
        assert answers().check(np.ones(2, dtype=kind), 2).dtype == kind


def test_texts_of_a_million_characters_are_outcomes_and_longer_ones_are_none() -> None:
    longest = "x" * (1 << 20)
    for outcomes in (np.array([longest, "y"]), np.array([longest, "y"], dtype=object)):
        assert answers().check(outcomes, 2)[0] == longest
    longer = f"{longest}x"
    for outcomes in (np.array([longer]), np.array([longer], dtype=object)):
        refused(
            BadOutcome,
            lambda: answers().check(outcomes, 1),  # noqa: B023
            "loan answered a text of 1,048,577 characters; an outcome has at most 1,048,576",
        )


def test_missing_values_are_counted_and_the_first_is_shown() -> None:
    found = np.array([1.0, np.nan, np.nan])
    refused(
        BadOutcome,
        lambda: answers().check(found, 3),
        "answered nan to 2 of 3 inputs",
    )
    objects = np.array(["a", None, "b"], dtype=object)
    refused(
        BadOutcome, lambda: answers().check(objects, 3), "answered None to 1 of 3 inputs"
    )


def test_a_classifier_is_not_searched_for_missing_values() -> None:
    objects = np.array(["a", None], dtype=object)
    assert answers(closed=True).check(objects, 2) is objects


def test_the_largest_number_that_can_be_compared_is_an_outcome() -> None:
    largest = int(sys.float_info.max)
    found = answers().check(np.array([largest, -largest], dtype=object), 2)
    assert found.tolist() == [largest, -largest]
    for wrong in (largest + 1, -largest - 1):
        one = np.array([wrong], dtype=object)
        words = "a number of about 309 digits; an outcome has at most 308"
        refused(BadOutcome, lambda: answers().check(one, 1), words)  # noqa: B023


def test_texts_beside_numbers_are_refused_and_the_first_text_is_named() -> None:
    mixed = np.array([1, "a", "b"], dtype=object)
    refused(
        BadOutcome,
        lambda: answers().check(mixed, 3),
        "the text 'a' beside numbers",
    )


def test_labels_that_are_unknown_are_named_in_the_order_of_texts() -> None:
    limited = answers(labels=("yes", "no"))
    found = np.array(["z", "no", "b"])
    refused(
        BadOutcome,
        lambda: limited.check(found, 3),
        "loan answered 'b', which is not",
    )
    assert limited.check(np.array(["no"]), 1).tolist() == ["no"]


@pytest.mark.parametrize(
    ("positive", "outcomes", "fits"),
    [
        ("yes", ["yes"], True),
        (1, [0, 1], True),
        (True, [0.5], True),
        ("yes", [1], False),
        (1, ["yes"], False),
        ("yes", [], True),
    ],
)
def test_a_favourable_outcome_is_of_the_type_of_the_answers(
    positive: Any, outcomes: list[Any], fits: bool
) -> None:
    wanted = answers(positive=positive)
    found = np.array(outcomes)
    if fits:
        assert wanted.check(found, len(outcomes)).tolist() == outcomes
        return
    words = (
        f"answered {outcomes[0]!r}, which cannot be compared with positive = {positive!r}"
    )
    refused(UsageError, lambda: wanted.check(found, len(outcomes)), words)


def test_what_cannot_be_shown_is_named_by_its_type() -> None:
    class Mute:
        def __repr__(self) -> str:
            raise ValueError

    found = np.array([Mute()], dtype=object)
    refused(
        BadOutcome,
        lambda: answers().check(found, 1),
        "answered a Mute; an outcome is",
    )
