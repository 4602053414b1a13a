"""The causal question of software with chance in it: rows, cases and sentences."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

import evenhand as eh
from evenhand.population.samplers import Uniform
from evenhand.runtime.budget import Meter
from evenhand.runtime.errors import UsageError
from evenhand.scores.chance.question import ExcessQuestion, _shown
from evenhand.scores.question import Terms
from evenhand.statistics.estimate import Estimate
from evenhand.subject.view import View

SPACE = eh.Space(
    [eh.category("race", ["a", "b"]), eh.integer("id", 0, 99)], protected=["race"]
)
PART = Estimate(0.25, 0.1, 0.4, 100, 0.95, "anytime", "all")
NONE = Estimate(-0.1, -0.3, 0.1, 100, 0.95, "anytime", "all")


def question_of(name: str = "", **options: Any) -> ExcessQuestion:
    def decide(people: Any) -> Any:
        is_hit = (people["race"] == "a") & (people["id"] < 50)
        return {name: is_hit} if name else is_hit

    outputs = [name, "more"] if name else None

    def decide_both(people: Any) -> Any:
        return decide(people) | {"more": people["id"]}

    model = decide_both if name else decide
    subject = eh.Subject(model, SPACE, outputs=outputs, **options)
    return ExcessQuestion(View(subject, name), ("race",))


@pytest.mark.parametrize(
    ("question", "estimate", "claim"),
    [
        (
            question_of(),
            PART,
            "beyond chance, changing only race changes the outcome of 25.0 % of inputs",
        ),
        (
            question_of("grant"),
            PART,
            "beyond chance, changing only race changes grant of 25.0 % of inputs",
        ),
        (
            question_of(differs=0.5),
            PART,
            "beyond chance, changing only race changes the outcome of 25.0 % of inputs by more"
            " than 0.5",
        ),
        (
            question_of(differs=lambda a, b: np.abs(a - b)),
            NONE,
            "beyond chance, changing only race moves the outcome by 0.0 % on average",
        ),
    ],
)
def test_what_was_found_is_a_sentence(question, estimate, claim):
    assert question.claim(estimate, ()) == claim


def test_rows_are_asked_together_or_one_by_one(monkeypatch):
    question = question_of()
    points = SPACE.draw(40, np.random.default_rng(0))
    terms = Terms(Uniform())
    rows: Any = None
    meter = Meter()
    whole = question.tallied(terms, points, rows, meter, keep=False)
    assert whole.estimate.value == pytest.approx((points[:, 1] < 50).mean())
    assert whole.estimate.n == 40
    assert meter.queries == 40 * question.cost
    assert len(whole.cases) == 3
    monkeypatch.setattr("evenhand.scores.chance.question.ROWS", 1)
    one_by_one = question.tallied(terms, points, rows, Meter(), keep=False)
    assert one_by_one.estimate == whole.estimate
    assert len(one_by_one.cases) == 3
    assert one_by_one.answers == whole.answers


def test_there_are_no_cases_of_what_may_be_chance():
    cases: list[Any] = ["first", "second", "third", "fourth"]
    assert list(_shown(cases, PART)) == cases[:3]
    assert _shown(cases, NONE) == ()
    at_zero = Estimate(0.1, 0.0, 0.4, 100, 0.95, "anytime", "all")
    assert _shown(cases, at_zero) == ()


def test_there_is_no_exact_score():
    question = question_of()
    points = SPACE.enumerate()
    with pytest.raises(UsageError, match="no exact score"):
        question.enumerated(Terms(Uniform()), points, "all", Meter(), keep=False)
    with pytest.raises(UsageError, match="no exact score"):
        question.exhausted(Terms(Uniform()), Meter())
