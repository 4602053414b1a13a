"""The causal question of software with chance in it: rows, cases and sentences."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

import evenhand as eh
from evenhand.population.samplers import Uniform
from evenhand.runtime.budget import Meter
from evenhand.runtime.errors import UsageError
from evenhand.runtime.workers import Workers
from evenhand.scores.chance.question import ExcessQuestion, _shown
from evenhand.scores.question import Terms
from evenhand.statistics.estimate import Estimate, StopReason
from evenhand.subject.view import View

SPACE = eh.Space(
    [eh.category("race", ["a", "b"]), eh.integer("id", 0, 99)], protected=["race"]
)
PART = Estimate(
    0.25,
    0.1,
    0.4,
    100,
    0.95,
    "anytime",
    "all",
)
NONE = Estimate(
    -0.1,
    -0.3,
    0.1,
    100,
    0.95,
    "anytime",
    "all",
)


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
    whole = question.tallied(
        terms,
        points,
        rows,
        meter,
        keep=False,
    )
    assert whole.estimate.value == pytest.approx((points[:, 1] < 50).mean())
    assert whole.estimate.n == 40
    assert meter.queries == 40 * question.cost
    assert len(whole.cases) == 3
    monkeypatch.setattr("evenhand.scores.chance.question.ROWS", 1)
    one_by_one = question.tallied(
        terms,
        points,
        rows,
        Meter(),
        keep=False,
    )
    assert one_by_one.estimate == whole.estimate
    assert len(one_by_one.cases) == 3
    assert one_by_one.answers == whole.answers


def test_there_are_no_cases_of_what_may_be_chance():
    cases: list[Any] = ["first", "second", "third", "fourth"]
    assert list(_shown(cases, PART)) == cases[:3]
    assert _shown(cases, NONE) == ()
    at_zero = Estimate(
        0.1,
        0.0,
        0.4,
        100,
        0.95,
        "anytime",
        "all",
    )
    assert _shown(cases, at_zero) == ()


def test_there_is_no_exact_score():
    question = question_of()
    points = SPACE.enumerate()
    with pytest.raises(UsageError, match="no exact score"):
        question.enumerated(
            Terms(Uniform()),
            points,
            "all",
            Meter(),
            keep=False,
        )
    with pytest.raises(UsageError, match="no exact score"):
        question.exhausted(Terms(Uniform()), Meter())


@pytest.mark.parametrize(("at_once", "batches"), [(1, [4] * 5), (8, [8, 8, 4]), (99, [20])])
def test_no_more_rows_are_asked_at_once_than_fit(monkeypatch, at_once, batches):
    monkeypatch.setattr("evenhand.scores.chance.question.ROWS", at_once)
    sizes = []

    def noted(people: Any) -> Any:
        sizes.append(len(people))
        return people["race"] == "a"

    question = ExcessQuestion(View(eh.Subject(noted, SPACE)), ("race",))
    points = SPACE.draw(5, np.random.default_rng(0))
    rows: Any = None
    found = question.tallied(
        Terms(Uniform()),
        points,
        rows,
        Meter(queries=3),
        keep=False,
    )
    assert sizes == batches
    assert found.stop is StopReason.ENUMERATED
    assert found.estimate.value == 1.0


def test_a_run_is_drawn_until_it_is_decided():
    question = question_of()
    terms = Terms(Uniform(), limit=0.2)
    assert question.cost == 4
    assert question.per_row(eh.rows([{"race": "a", "id": 1}])) == 4
    assert question.fewest(terms) == 16
    meter = Meter()
    with Workers(1) as workers:
        found = question.sampled(terms, meter, workers, keep=False)
    assert found.stop is StopReason.DECIDED
    assert meter.queries == 4 * found.estimate.n
    assert found.estimate.low > 0.2
    assert abs(found.estimate.value - 0.5) < 0.2
    assert len(found.cases) == 3
    assert set(found.answers) == {False, True}
    # Without chance the same input is always answered alike.
    assert found.noise is not None
    assert found.noise.value == 0
    assert found.noise.level == 0.95


def test_a_run_ends_where_no_more_is_worth_it():
    terms = Terms(Uniform(), limit=0.5, enough=900)
    with Workers(1) as workers:
        found = question_of().sampled(terms, Meter(), workers, keep=False)
    assert found.estimate.n == 225
    assert found.stop is StopReason.TOO_CLOSE


def test_the_plan_follows_the_terms():
    question = question_of()
    terms = Terms(Uniform(), limit=0.1, level=0.9, among=2)
    plan = question._plan(terms, question._count(terms))
    assert plan.level == pytest.approx(0.95)
    assert (plan.margin, plan.limit, plan.finest, plan.precise) == (0.05, 0.1, 0.002, True)
    question.view.subject.adapter.expensive = True
    coarse = question._plan(terms, question._count(terms))
    assert (coarse.margin, coarse.finest, coarse.precise) == (0.02, None, False)
