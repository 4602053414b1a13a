"""Who is farthest among those who may be twins."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

import evenhand as eh
from evenhand.scores.farthest import farthest, in_mixed_classes, may_be_twins
from evenhand.subject.view import View

IDS = np.array([0, 0, 0, 1, 1])
ABLE = np.array([True, True, False, True, True])


def view_of(differs: Any = None) -> View:
    space = eh.Space([eh.integer("id", 0, 9)])
    return View(eh.Subject(lambda people: people["id"], space, differs=differs))


@pytest.mark.parametrize("twins_missing", [False, True])
def test_who_lacks_a_value_may_be_a_twin_where_the_feature_says_so(twins_missing):
    race = eh.category("race", ["a", "b"], missing=True, twins_missing=twins_missing)
    age = eh.integer("age", 0, 9, missing=True)
    space = eh.Space([race, age, eh.category("sex", ["F", "M"])])
    gap = space.features[0].missing_code
    no_age = space.features[1].missing_code
    points = np.array([[0.0, 1.0, 0.0], [gap, 1.0, 0.0], [1.0, no_age, 1.0]])
    assert may_be_twins(space, points, ("race",)).tolist() == [True, twins_missing, True]
    assert may_be_twins(space, points, ("race", "age")).tolist() == [
        True,
        twins_missing,
        False,
    ]
    assert may_be_twins(space, points, ("sex",)).tolist() == [True, True, True]


def test_labels_are_compared_with_those_who_may_be_twins():
    outcomes = np.array(["y", "y", "n", "n", "y"])
    view = view_of()
    assert farthest(view, outcomes, IDS).tolist() == [True] * 5
    assert farthest(view, outcomes, IDS, np.ones(5, dtype=bool)).tolist() == [True] * 5
    # The third lacks a value: it has twins, and is nobody's.
    found = farthest(view, outcomes, IDS, ABLE)
    assert found.tolist() == [False, False, True, True, True]
    assert found.dtype == np.bool_


def test_numbers_differ_by_more_than_the_threshold():
    outcomes = np.array([1.0, 2.0, 9.0, 5.0, 5.5])
    view = view_of(1.0)
    assert farthest(view, outcomes, IDS).tolist() == [True, True, True, False, False]
    found = farthest(view, outcomes, IDS, ABLE)
    assert found.tolist() == [False, False, True, False, False]
    finer = farthest(view_of(0.75), outcomes, IDS, ABLE)
    assert finer.tolist() == [True, True, True, False, False]


def test_a_distance_is_that_to_the_farthest_who_may_be_a_twin():
    outcomes = np.array([1.0, 2.0, 9.0, 5.0, 5.5])

    def apart(a: Any, b: Any) -> Any:
        return np.abs(a - b) / 10

    found = farthest(view_of(apart), outcomes, IDS, ABLE)
    assert found.tolist() == pytest.approx([0.1, 0.1, 0.8, 0.05, 0.05])
    whole = farthest(view_of(apart), outcomes, IDS)
    assert whole.tolist() == pytest.approx([0.8, 0.7, 0.8, 0.05, 0.05])


def test_nobody_is_compared_where_nobody_may_be_a_twin():
    calls = []

    def apart(a: Any, b: Any) -> Any:
        calls.append(len(a))
        return np.abs(a - b) / 10

    nobody = np.zeros(5, dtype=bool)
    found = farthest(view_of(apart), np.arange(5.0), IDS, nobody)
    assert found.tolist() == [0.0] * 5
    assert calls == []
    of_none = farthest(view_of(), np.zeros(0), np.zeros(0, dtype=int), nobody[:0])
    assert of_none.tolist() == []
    no_ids = np.zeros(0, dtype=int)
    assert farthest(view_of(apart), np.zeros(0), no_ids).tolist() == []
    assert farthest(view_of(1.0), np.zeros(0), no_ids).tolist() == []
    assert calls == []


def test_a_class_is_mixed_where_two_of_its_codes_differ():
    ids = np.array([2, 0, 2, 1, 0])
    assert in_mixed_classes(ids, np.array([3, 1, 4, 5, 1])).tolist() == [
        True,
        False,
        True,
        False,
        False,
    ]
    assert in_mixed_classes(ids[:0], np.zeros(0, dtype=int)).tolist() == []
