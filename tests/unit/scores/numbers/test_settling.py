"""Settling when numbers differ: how much is asked for it."""

from __future__ import annotations

from typing import Any

import pytest

import evenhand as eh
from evenhand.runtime.budget import Budget, Meter
from evenhand.scores.numbers.settling import settle_differs
from evenhand.subject.outcome_scale import spread_of

SPACE = eh.Space(
    [eh.category("sex", ["F", "M"]), eh.integer("id", 0, 9999)], protected=["sex"]
)


def score(people: Any) -> Any:
    return people["id"] + 0.5


def settled(queries: int | None, *, expensive: bool = False, model: Any = score) -> Any:
    """Return a subject whose scale is settled, and what was asked for it."""
    subject = eh.Subject(model, SPACE)
    subject.adapter.expensive = expensive
    meter = Meter(Budget(queries=queries))
    settle_differs(subject, meter)
    assert meter.queries == subject.asked
    return subject


@pytest.mark.parametrize(
    ("queries", "expensive", "asked"),
    [
        (None, False, 1024),
        (None, True, 64),
        (4096, False, 1024),
        (4095, False, 1023),
        (400, False, 100),
        (256, True, 64),
        (255, True, 63),
        (32, False, 8),
        (31, False, None),
    ],
)
def test_a_part_of_the_budget_tells_the_spread(queries, expensive, asked):
    subject = settled(queries, expensive=expensive)
    scale = subject.meanings[""].scale
    if asked is None:
        assert scale is None
        assert subject.asked == 0
        assert not subject.settled
    else:
        assert subject.settled
        # One more tells that outcomes are numbers.
        assert subject.asked == asked + 1
        # Eight numbers are too few to tell a scale from labels.
        assert (scale is None) == (asked == 8)


def test_it_is_settled_once_and_the_same_for_all():
    subject = settled(None)
    before = subject.asked
    settle_differs(subject)
    assert subject.asked == before
    assert settled(5000).meanings[""].scale == subject.meanings[""].scale


def test_labels_are_not_put_on_a_scale():
    subject = settled(None, model=lambda people: people["id"] > 5000)
    assert subject.meanings[""].scale is None
    assert subject.asked == 1


def test_fractions_with_a_threshold_are_numbers():
    subject = eh.Subject(score, SPACE, differs=10.0)
    assert not subject.meanings[""].numbers
    subject.decide([{"sex": "F", "id": 1}])
    settle_differs(subject)
    assert subject.meanings[""].numbers
    assert subject.asked == 1


def test_the_spread_is_that_of_the_outcomes():
    subject = settled(None)
    scale = subject.meanings[""].scale
    everybody = subject.decide(SPACE.enumerate(20_000))
    assert scale.spread == pytest.approx(spread_of(everybody), rel=0.1)
