"""Software that answers otherwise once: a search must not take chance for discrimination."""

from __future__ import annotations

import pytest

import evenhand as eh
from evenhand.runtime.errors import NotDeterministic

SPACE = eh.Space([eh.category("sex", ["F", "M"]), eh.integer("age", 18, 90)], ["sex"])


class Slip:
    """Software that decides by age, and the other way round about the hundredth input."""

    def __init__(self, later: int = 0) -> None:
        self.later = later
        self.asked = 0

    def __call__(self, people):
        approved = people["age"] > 40 + self.later * (people["sex"] == "F")
        answers = approved.to_numpy().copy()
        before = self.asked
        self.asked += len(answers)
        if before < 100 <= self.asked:
            place = 99 - before
            answers[place] = not answers[place]
        return answers


def test_an_answer_that_was_given_once_is_no_discrimination():
    # The answer is remembered, so that only asking anew tells that it does not hold.
    subject = eh.Subject(Slip(), SPACE, memo=True, identity="slip")
    with pytest.raises(NotDeterministic):
        eh.search(subject, limit=0)


def test_discrimination_is_found_whatever_else_happens_once():
    subject = eh.Subject(Slip(later=10), SPACE, memo=True, identity="slip")
    assert eh.search(subject, limit=0).verdict == "fail"
