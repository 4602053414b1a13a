"""Answers that are no outcomes are refused in one sentence, whatever they are."""

from __future__ import annotations

import json
import sys
from fractions import Fraction
from typing import TYPE_CHECKING, Any

import numpy as np
import pytest

import evenhand as eh
from evenhand.runtime.errors import BadOutcome
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
