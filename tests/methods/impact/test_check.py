"""Impact of software on recorded people: which outcomes are compared, and over which columns."""

from __future__ import annotations

import numpy as np
import pandas as pd
import pytest

import evenhand as eh
from evenhand.methods.impact.check import (
    _decisions,
    _different,
    _only_answer,
    _truth_values,
    _unused,
    _without_gaps,
    columns_with_few_values,
)
from evenhand.population.source import MOST_LEVELS
from evenhand.runtime.errors import DataError
from evenhand.scores.numbers.settling import settle_differs
from evenhand.subject.view import View

SPACE = eh.Space(
    [eh.category("sex", ["F", "M"]), eh.integer("age", 0, 99)], protected=["sex", "age"]
)
PEOPLE = pd.DataFrame({"sex": ["F", "M", "F", "M"], "age": [10, 20, 30, 40]})


def asked(model, **options):
    subject = eh.Subject(model, SPACE, **options)
    outcomes = subject.decide(PEOPLE)
    settle_differs(subject)
    return subject, outcomes


def test_decisions_are_compared_by_whether_they_are_favourable():
    subject, outcomes = asked(lambda people: people["age"] > 15, positive=True)
    found, how = _decisions(subject.meanings[""], outcomes)
    assert found.tolist() == [False, True, True, True]
    assert how == {"positive": True}


def test_scores_are_compared_as_numbers():
    subject, outcomes = asked(lambda people: people["age"] / 100)
    found, how = _decisions(subject.meanings[""], outcomes)
    assert found.tolist() == [0.1, 0.2, 0.3, 0.4]
    assert how == ({} if subject.meanings[""].measured else {"scored": True})


def test_amounts_are_compared_as_numbers():
    subject, outcomes = asked(lambda people: 1000.5 * people["age"])
    found, how = _decisions(subject.meanings[""], outcomes)
    assert found.tolist() == pytest.approx([10_005, 20_010, 30_015, 40_020])
    assert how == ({} if subject.meanings[""].measured else {"scored": True})


def test_outcomes_of_which_none_is_favourable_are_refused():
    subject, outcomes = asked(lambda people: people["age"] > 95, positive=True)
    with pytest.raises(DataError, match="False"):
        _only_answer(View(subject), outcomes)
    subject, outcomes = asked(lambda people: people["age"] >= 0, positive=True)
    assert _only_answer(View(subject), outcomes) is not None
    subject, outcomes = asked(lambda people: people["age"] > 15, positive=True)
    assert _only_answer(View(subject), outcomes) is None


def test_truths_are_like_the_decisions():
    subject, _ = asked(lambda people: people["age"] > 15, positive=True)
    found = _truth_values(["paid", "late", None, "paid"], View(subject), "paid")
    assert found.tolist() == [True, False, None, True]
    measured, _ = asked(lambda people: 1000.5 * people["age"])
    if measured.meanings[""].measured:
        assert _truth_values([1.5, None], View(measured), None) == [1.5, None]


def test_rows_without_gaps_are_all_kept_without_a_note():
    subject, _ = asked(lambda people: people["age"] > 15, positive=True)
    kept, notes = _without_gaps(PEOPLE, subject)
    assert len(kept) == 4
    assert notes == []


def test_only_columns_with_few_values_are_compared():
    number = MOST_LEVELS
    ages = pd.DataFrame({"age": np.arange(number)})
    assert columns_with_few_values(SPACE, ages) == ([("age",)], [])
    more = pd.DataFrame({"sex": ["F"] * (number + 1), "age": np.arange(number + 1)})
    assert columns_with_few_values(SPACE, more) == ([("sex",)], ["age"])


def test_names_are_listed_once_and_no_column_is_overwritten():
    assert _different([("a", "b"), ("b", "c")]) == ["a", "b", "c"]
    free = _unused("decision", ["sex"])
    taken = _unused("decision", ["decision", "sex"])
    assert free == "decision"
    assert taken not in ("decision", "sex")
