"""What a question is going to take."""

from __future__ import annotations

import math
from typing import Any

import numpy as np
import pandas as pd
import pytest

import evenhand as eh
from evenhand.population.samplers import Uniform
from evenhand.scores.kinds import question_of
from evenhand.scores.planning.forecast import Forecast, Scenario, Way
from evenhand.scores.planning.questions import (
    WITHOUT_LIMIT,
    _usual,
    foreseen,
    most_draws,
    scores_tried,
)
from evenhand.scores.question import Question, Terms
from evenhand.statistics.sequential.stopping import Plan
from evenhand.subject.view import View


def question(size: int, *, expensive: bool = False, kind: str = "causal") -> Question:
    """Return a question about a space of so many inputs, half of each sex."""
    features = [eh.category("sex", ["F", "M"]), eh.integer("id", 0, size // 2 - 1)]
    space = eh.Space(features, protected=["sex"])
    subject = eh.Subject(lambda people: people["sex"] == "F", space, positive=True)
    subject.adapter.expensive = expensive
    return question_of(View(subject), kind, ("sex",))


@pytest.fixture
def little(monkeypatch: pytest.MonkeyPatch) -> None:
    """Let 200 inputs be too many to list, and 300 as many as are worth drawing."""
    monkeypatch.setattr("evenhand.scores.answer.SMALL", 100)
    monkeypatch.setattr("evenhand.scores.answer.ENOUGH", 300)


@pytest.mark.parametrize(
    ("limit", "scores"),
    [
        (None, (0.0, 0.1, 0.5)),
        (0.0, (0.0, 0.1, 0.5)),
        (1.0, (0.0, 0.1, 0.5)),
        (0.2, (0.0, 0.1, 0.2, 0.4)),
        (0.5, (0.0, 0.25, 0.5, 0.75)),
        (0.6, (0.0, 0.3, 0.6, 0.8)),
    ],
)
def test_scores_around_the_limit_are_tried(limit, scores):
    assert scores_tried(limit) == pytest.approx(scores)
    assert WITHOUT_LIMIT == (0.0, 0.1, 0.5)


@pytest.mark.usefixtures("little")
def test_small_spaces_are_enumerated():
    terms = Terms(Uniform())
    found = foreseen(question(100), terms, math.inf)
    assert found == Forecast("sex", Way.ENUMERATED, 100, 100)
    assert foreseen(question(100), terms, 99).way is Way.DRAWN


def test_rows_are_all_asked_where_the_budget_allows_it():
    rows = eh.rows(pd.DataFrame({"sex": ["F", "M"] * 10, "id": range(20)}))
    found = foreseen(question(100), Terms(rows), 40.0)
    assert found == Forecast("sex", Way.ROWS, 40, 40)
    assert foreseen(question(100), Terms(rows, margin=0.3), 39.0).way is Way.DRAWN
    assert foreseen(question(100), Terms(rows, exact=False), 40.0).way is Way.DRAWN


@pytest.mark.usefixtures("little")
def test_cheap_software_is_asked_everything_where_drawing_does_not_decide():
    """Half of 202 inputs are drawn, each with its twin, and then all are asked."""
    found = foreseen(question(202), Terms(Uniform(), limit=0.3), math.inf)
    assert found.way is Way.DRAWN
    assert found.most == 202 + 202
    scores = [case.score for case in found.scenarios]
    assert scores == pytest.approx([0.0, 0.15, 0.3, 0.6])
    taken = [case.inputs for case in found.scenarios]
    assert max(taken) <= 202
    assert found.inputs == max(taken[0], taken[1], taken[3])


@pytest.mark.usefixtures("little")
def test_drawing_ends_before_all_are_asked():
    """Of 402 inputs no more than 300 are drawn."""
    found = foreseen(question(402), Terms(Uniform(), limit=0.3), math.inf)
    assert found.most == 300 + 402


def test_expensive_software_is_asked_no_more_than_there_is():
    terms = Terms(Uniform(), limit=0.3)
    asked = question(102, expensive=True)
    found = foreseen(asked, terms, math.inf)
    assert found.way is Way.DRAWN
    most = asked.most(terms)
    assert most is not None
    assert found.most == min(most, 102)


@pytest.mark.usefixtures("little")
@pytest.mark.parametrize("expensive", [False, True])
def test_without_a_limit_nothing_is_asked_after_drawing(expensive):
    asked = question(2002, expensive=expensive)
    terms = Terms(Uniform(), margin=0.2)
    found = foreseen(asked, terms, math.inf)
    assert found.most == asked.most(terms)
    assert found.most is not None
    assert found.most < 2002
    assert [case.score for case in found.scenarios] == [0.0, 0.1, 0.5]
    for case in found.scenarios:
        taken = asked.expected(terms, case.score, None)
        assert taken is not None
        assert case.inputs == round(taken)


@pytest.mark.usefixtures("little")
def test_a_budget_bounds_what_is_drawn():
    found = foreseen(question(202), Terms(Uniform(), limit=0.3), 60.0)
    assert {case.inputs for case in found.scenarios} == {60}
    assert found.inputs == 60


@pytest.mark.usefixtures("little")
def test_inputs_beyond_counting_are_not_all_asked():
    terms = Terms(Uniform(), limit=0.3)
    assert foreseen(question(2**40), terms, math.inf).most == 300
    # So many can still be asked one after another.
    assert foreseen(question(2**24), terms, math.inf).most == 300 + 2**24
    assert foreseen(question(2**24 + 2), terms, math.inf).most == 300
    without = Terms(Uniform(), limit=0.3, exact=False)
    assert foreseen(question(202), without, math.inf).most == 300


def test_numbers_are_not_foreseen():
    def wage(people: Any) -> Any:
        return people["id"] + 0.5

    space = eh.Space([eh.category("sex", ["F", "M"]), eh.integer("id", 0, 10_000)])
    subject = eh.Subject(wage, space, differs=10.0)
    subject.decide(space.draw(3, np.random.default_rng(0)))
    from evenhand.scores.numbers.question import NumberQuestion

    asked = NumberQuestion(View(subject), ("sex",))
    found = foreseen(asked, Terms(Uniform()), math.inf)
    assert (found.inputs, found.scenarios) == (None, ())
    assert found.most == 20_002


def test_what_is_usual_is_not_next_to_the_limit():
    cases = [Scenario(0.0, 10), Scenario(0.1, 99), Scenario(0.2, 30)]
    assert _usual(cases, Terms(Uniform(), limit=0.1)) == 30
    assert _usual(cases, Terms(Uniform())) == 99
    assert _usual(cases[1:2], Terms(Uniform(), limit=0.1)) is None


def brute(plan: Plan) -> int:
    """Return the first look at which every number of hits ends a run, one look after another."""
    for n in plan.looks(10_000):
        reasons = [plan.reason(hits, n) for hits in range(n + 1)]
        if None not in reasons:
            return n
    raise AssertionError("runs went on after the last look")


@pytest.mark.parametrize(
    "plan", [Plan(margin=0.1), Plan(margin=0.2), Plan(margin=0.35), Plan(margin=0.45)]
)
def test_the_most_draws_are_those_of_the_first_look_that_ends_all(plan):
    assert most_draws(plan) == brute(plan)


def test_a_population_ends_drawing():
    assert most_draws(Plan(margin=0.001, size=30)) == 30
    assert most_draws(Plan(margin=None, limit=0.1)) is None
    assert most_draws(Plan(margin=None, limit=0.1, size=70)) == 70
    assert most_draws(Plan(margin=0.1, limit=0.1, precise=True)) is None
    assert most_draws(Plan(margin=0.1, precise=True)) == 128


def test_what_never_ends_within_reason_has_no_bound(monkeypatch):
    monkeypatch.setattr("evenhand.scores.planning.questions._MOST_LOOKED_AT", 100)
    assert most_draws(Plan(margin=0.1)) is None
    monkeypatch.setattr("evenhand.scores.planning.questions._MOST_LOOKED_AT", 120)
    assert most_draws(Plan(margin=0.1)) == 120
