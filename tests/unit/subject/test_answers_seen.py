"""Which answers were seen, in their order and up to a dozen."""

from __future__ import annotations

import numpy as np

from evenhand.subject.answers_seen import AnswersSeen, different, first_answers


def test_each_answer_is_found_where_it_stands_first():
    outcomes = np.array(["b", "a", "b", "c", "a"])
    assert first_answers(outcomes) == [(0, "b"), (1, "a"), (3, "c")]
    assert first_answers(outcomes, 2) == [(0, "b"), (1, "a")]
    assert first_answers(outcomes[:0]) == []
    assert different(outcomes) == ("b", "a", "c")


def test_answers_are_plain_values():
    ((_, answer),) = first_answers(np.array([7]))
    assert type(answer) is int


def test_twelve_answers_are_kept():
    assert different(np.arange(20)) == tuple(range(12))
    seen = AnswersSeen()
    seen.add(np.arange(11))
    seen.add(np.array([3, 50, 60]))
    assert seen.answers == (*range(11), 50)
    seen.merge([70])
    assert seen.answers == (*range(11), 50)
    seen.clear()
    assert not seen.answers
    seen.merge(["x", "y", "x"])
    assert seen.answers == ("x", "y")
