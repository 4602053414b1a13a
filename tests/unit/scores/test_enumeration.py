"""Exact scores: which inputs matter, some at a time, and the cases among them."""

from __future__ import annotations

import math
from itertools import product
from typing import Any

import numpy as np
import pytest

import evenhand as eh
from evenhand.runtime.errors import SpaceError
from evenhand.scores.enumeration import causal, part, part_size, parts, whole
from evenhand.subject.view import View

SEX = eh.category("sex", ["F", "M"])
SPACE = eh.Space(
    [
        SEX,
        eh.integer("age", 20, 24),
        eh.category("diary", list("abc"), passed=False),
        eh.integer("house", 7, 9, passed=False),
        eh.real("rate", 0.5, 2.0, passed=False),
        eh.date("since", "2020-01-02", "2020-01-09", passed=False),
    ]
)
SINCE = float(SPACE.features[5].values()[0])


def test_features_that_the_software_does_not_take_are_held_still():
    points = whole(SPACE, ("sex",), 10)
    assert len(points) == 10
    assert np.unique(points[:, 2:], axis=0).tolist() == [[0.0, 7.0, 0.5, SINCE]]
    pairs = sorted(map(tuple, points[:, :2].tolist()))
    assert pairs == list(product((0, 1), range(20, 25)))
    assert part_size(SPACE, ("sex",)) == 10
    assert part_size(SPACE, ("sex", "diary")) == 30
    assert part_size(SPACE, ("sex",), {"age"}) == 2
    # What is at issue matters, read or not.
    assert part_size(SPACE, ("age",), {"age"}) == 10
    assert np.unique(whole(SPACE, ("sex",), 10, {"age"})[:, 1]).tolist() == [20.0]


def test_more_inputs_than_wanted_are_not_listed():
    found = part(SPACE, ("sex",), 10)
    assert found is not None
    assert len(found) == 10
    assert part(SPACE, ("sex",), 9) is None
    with pytest.raises(SpaceError, match="10"):
        whole(SPACE, ("sex",), 9)


def test_features_that_a_constraint_speaks_of_matter():
    space = eh.Space(SPACE.features, constraints=["house > 7 or age > 22"])
    assert part_size(space, ("sex",)) == 2 * (5 * 3 - 3)
    assert len(whole(space, ("sex",), 100)) == 24


def test_continuous_features_that_matter_cannot_be_listed():
    assert math.isinf(part_size(SPACE, ("rate",)))
    assert part(SPACE, ("rate",), 10**6) is None


@pytest.mark.parametrize(
    ("at_once", "sizes"), [(4, [4, 4, 2]), (5, [5, 5]), (10, [10]), (99, [10])]
)
def test_inputs_come_some_at_a_time(monkeypatch, at_once, sizes):
    monkeypatch.setattr("evenhand.scores.enumeration.AT_ONCE", at_once)
    some = list(parts(SPACE, ("sex",)))
    assert [len(points) for points in some] == sizes
    found = np.concatenate(some)
    assert sorted(found.tolist()) == sorted(whole(SPACE, ("sex",), 10).tolist())
    unread = list(parts(SPACE, ("sex",), {"age"}))
    assert sum(len(points) for points in unread) == 2


def test_cases_have_twins_that_lack_nothing():
    """Who lacks a race has twins and is nobody's twin."""
    space = eh.Space([eh.category("race", ["a", "b", "c"], missing=True), SEX])
    gap = space.features[0].missing_code

    def decide(people: Any) -> Any:
        return people["race"].map({"a": 0.0, "b": 0.0, "c": 0.5}).fillna(1.0)

    view = View(eh.Subject(decide, space, differs=lambda a, b: np.abs(a - b)))
    points = np.asfortranarray(
        [[0.0, 0.0], [1.0, 0.0], [2.0, 0.0], [gap, 0.0], [0.0, 1.0], [1.0, 1.0]]
    )
    outcomes = view.decide(points)
    hits, ids, cases = causal(view, points, outcomes, ("race",))
    assert hits.tolist() == [0.5, 0.5, 0.5, 1.0, 0.0, 0.0]
    assert ids[:4].tolist() == [ids[0]] * 4
    assert ids[4:].tolist() == [ids[4]] * 2
    assert [case.individual["race"] for case in cases] == ["a", "b", "c"]
    assert [case.twin["race"] for case in cases] == ["c", "c", "a"]
    assert [case.outcomes for case in cases] == [(0.0, 0.5), (0.0, 0.5), (0.5, 0.0)]
