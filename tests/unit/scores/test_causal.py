"""The causal question: every way to answer it, by hand on small spaces."""

from __future__ import annotations

from typing import Any

import numpy as np
import pandas as pd
import pytest

import evenhand as eh
from evenhand.population.samplers import Uniform
from evenhand.runtime.budget import Budget, Meter
from evenhand.runtime.errors import UsageError
from evenhand.runtime.workers import Workers
from evenhand.scores.causal import CausalQuestion, _exactly
from evenhand.scores.chance.watch import AskedTwice, Watch
from evenhand.scores.question import Score, Terms, rate_evidence
from evenhand.statistics import intervals
from evenhand.statistics.estimate import Estimate, StopReason
from evenhand.statistics.sequential import confidence_sequences
from evenhand.subject.view import View

SPACE = eh.Space(
    [eh.category("sex", ["F", "M"]), eh.integer("id", 0, 39)], protected=["sex"]
)
TIED = eh.Space(
    SPACE.features, protected=["sex"], constraints=["not (sex == 'M' and id < 5)"]
)
PEOPLE = pd.DataFrame({"sex": ["F", "F", "M", "M", "F"], "id": [4, 20, 4, 30, 9]})


def decide(people: Any) -> Any:
    """Return what software answers: sex matters for a quarter of people, the first ten."""
    return (people["sex"] == "F") & (people["id"] < 10)


def score(people: Any) -> Any:
    return 5.0 * decide(people) + people["id"] * 0.0


def apart(a: Any, b: Any) -> Any:
    return np.minimum(np.abs(a - b) / 10, 1.0)


def question_of(model: Any = decide, space: eh.Space = SPACE, **options: Any) -> Any:
    return CausalQuestion(View(eh.Subject(model, space, **options)), ("sex",))


def watched(question: CausalQuestion, first: int, most_hits: int) -> None:
    subject = question.view.subject
    subject.watch = Watch(subject, AskedTwice(subject), first, most_hits)


def enumerated(question: CausalQuestion, meter: Meter, *, keep: bool = False) -> Score:
    points = question.space.enumerate()
    return question.enumerated(
        Terms(Uniform()),
        points,
        "all",
        meter,
        keep=keep,
    )


def test_every_input_tells_the_score():
    meter = Meter()
    found = enumerated(question_of(), meter)
    assert found.estimate == Estimate(
        0.25,
        0.25,
        0.25,
        80,
        1.0,
        "enumerated",
        "all",
    )
    assert found.stop is StopReason.ENUMERATED
    assert found.answers == (True, False)
    assert [case.individual["id"] for case in found.cases] == [0, 1, 2]
    assert [case.outcomes for case in found.cases] == [(True, False)] * 3
    assert list(found.tests) == []
    # Whoever asks all inputs counts them.
    assert meter.queries == 0


def test_every_input_is_kept_with_the_number_of_those_who_are_alike():
    (tests,) = enumerated(question_of(), Meter(), keep=True).tests
    assert tests.own.tolist() == [True] * 80
    assert tests.draw[:40].tolist() == tests.draw[40:].tolist()
    assert len(set(tests.draw.tolist())) == 40


def test_inputs_that_are_missing_seldom_count_as_they_are_drawn():
    space = eh.Space([eh.category("sex", ["F", "M"]), eh.integer("id", 0, 1, missing=0.2)])
    question = question_of(
        lambda people: (people["sex"] == "F") & people["id"].isna(), space
    )
    found = enumerated(question, Meter())
    assert found.estimate.value == pytest.approx(0.2)
    assert found.estimate.n == 6


@pytest.mark.parametrize(("left", "again"), [(None, 9), (100, 9), (9, 9), (4, 4)])
def test_a_watch_asks_some_of_all_inputs_again(left, again):
    """Draws 3, 19, 35, 51 and 67, and the first five hits, of which one is among them."""
    question = question_of()
    watched(question, 3, 5)
    meter = Meter(Budget(queries=left))
    enumerated(question, meter)
    assert question.view.subject.asked == 80 + again
    assert meter.queries == again


def test_nobody_is_asked_again_where_nothing_is_left():
    question = question_of()
    watched(question, 3, 5)
    enumerated(question, Meter(Budget(queries=1), queries=1))
    assert question.view.subject.asked == 80


def tallied(
    question: CausalQuestion, rows: Any, meter: Meter, *, keep: bool = False, **terms: Any
) -> Score:
    points = rows.points(question.space)
    return question.tallied(
        Terms(rows, **terms),
        points,
        rows,
        meter,
        keep=keep,
    )


def test_rows_may_be_each_others_only_twins():
    """Of the five only the two of number 4 have a twin, who differs."""
    rows = eh.rows(PEOPLE, twins="rows")
    question = question_of()
    assert question.per_row(rows) == 1
    meter = Meter()
    found = tallied(question, rows, meter, keep=True)
    assert found.estimate.value == 0.4
    assert found.estimate.population == "the 5 given rows, with twins among them"
    assert meter.queries == 5
    assert len(found.tests) == 1
    assert list(tallied(question, rows, Meter()).tests) == []


def test_rows_have_every_twin_that_could_be():
    """Three of the five are below ten."""
    rows = eh.rows(PEOPLE)
    question = question_of()
    assert question.per_row(rows) == question.cost == 2
    meter = Meter()
    found = tallied(question, rows, meter)
    assert found.estimate == Estimate(
        0.6, 0.6, 0.6, 5, 1.0, "enumerated", "the 5 given rows"
    )
    assert found.stop is StopReason.ENUMERATED
    assert found.answers == (True, False)
    assert found.against is None
    assert [case.individual["id"] for case in found.cases] == [4, 4, 9]
    assert meter.queries == 10
    assert list(found.tests) == []
    (tests,) = tallied(question, rows, Meter(), keep=True).tests
    assert tests.own.tolist() == [True] * 5 + [False] * 5
    weighted = eh.rows(PEOPLE.assign(often=[1, 1, 1, 4, 3]), weights="often")
    assert tallied(question, weighted, Meter()).estimate.value == 0.5


def test_rows_are_asked_together_or_one_by_one(monkeypatch):
    rows = eh.rows(pd.concat([PEOPLE, PEOPLE], ignore_index=True))
    at_once = tallied(question_of(), rows, Meter())
    monkeypatch.setattr("evenhand.scores.causal.ROWS", 1)
    meter = Meter()
    one_by_one = tallied(question_of(), rows, meter)
    assert one_by_one.estimate == at_once.estimate
    assert one_by_one.cases == at_once.cases
    assert len(one_by_one.cases) == 3
    assert one_by_one.answers == at_once.answers
    assert meter.queries == 20


@pytest.mark.parametrize(("left", "again"), [(20, 0), (21, 1)])
def test_rows_are_asked_again_where_the_budget_leaves_as_much(left, again):
    """Row 1 is chosen whatever came of it."""
    question = question_of()
    watched(question, 1, 0)
    meter = Meter(Budget(queries=left))
    tallied(question, eh.rows(PEOPLE), meter)
    assert question.view.subject.asked == meter.queries == 10 + again


@pytest.mark.parametrize("graded", [False, True])
def test_a_sample_of_rows_has_an_interval(graded):
    question = question_of(score, differs=apart) if graded else question_of()
    rows = eh.rows(pd.concat([PEOPLE] * 20), sample_of="people")
    found = tallied(
        question,
        rows,
        Meter(),
        limit=0.3,
        among=2,
    )
    total = 30.0 if graded else 60.0
    interval = confidence_sequences.mixture if graded else intervals.clopper_pearson
    low, high = interval(total, 100, 0.975)
    estimate = found.estimate
    assert estimate.value == total / 100
    assert estimate.low == pytest.approx(float(low))
    assert estimate.high == pytest.approx(float(high))
    assert (estimate.n, estimate.population) == (100, "people")
    assert estimate.level == pytest.approx(0.975)
    assert estimate.method == ("anytime" if graded else "exact")
    terms = Terms(rows, limit=0.3, among=2)
    assert found.against == rate_evidence(terms, estimate, fixed=not graded)
    assert found.against is not None


def sampled(
    question: CausalQuestion,
    terms: Terms,
    meter: Meter | None = None,
    *,
    keep: bool = False,
) -> tuple[Score, Meter]:
    counted = Meter() if meter is None else meter
    with Workers(1) as workers:
        return question.sampled(terms, counted, workers, keep=keep), counted


def people_of(found: Score) -> list[float]:
    """Return the numbers of those who were drawn."""
    (tests,) = found.tests
    numbers: list[float] = tests.points[tests.own][:, 1].tolist()
    return numbers


WIDE = eh.Space(
    [eh.category("sex", ["F", "M"]), eh.integer("id", 0, 199)], protected=["sex"]
)


def test_nobody_is_drawn_twice_by_default():
    question = question_of(space=WIDE)
    terms = Terms(Uniform(), limit=0.3)
    found, meter = sampled(question, terms, keep=True)
    numbers = people_of(found)
    assert len(set(numbers)) == len(numbers) == found.estimate.n
    assert meter.queries == 2 * found.estimate.n
    hits = sum(number < 10 for number in numbers)
    assert found.estimate.value == hits / len(numbers)
    assert found.stop is StopReason.DECIDED
    assert found.answers == (False, True)
    assert found.against == rate_evidence(terms, found.estimate, size=200)
    assert found.against != rate_evidence(terms, found.estimate)
    without, _ = sampled(question, terms)
    assert list(without.tests) == []
    assert without.estimate == found.estimate


def test_people_are_drawn_with_replacement_where_that_is_wanted():
    question = question_of(space=WIDE)
    terms = Terms(Uniform(), limit=0.3, exact=False)
    found, _ = sampled(question, terms, keep=True)
    numbers = people_of(found)
    assert len(set(numbers)) < len(numbers) == found.estimate.n
    assert found.against == rate_evidence(terms, found.estimate)


def test_drawing_ends_where_no_more_is_worth_it():
    terms = Terms(Uniform(), limit=0.06, exact=False, enough=500)
    found, _ = sampled(question_of(space=WIDE), terms)
    assert found.estimate.n == 250


@pytest.mark.parametrize(
    ("model", "space", "options", "size"),
    [
        (decide, SPACE, {}, 40),
        (decide, TIED, {}, None),
        (score, SPACE, {"differs": 1.0}, None),
        (score, SPACE, {"differs": apart}, None),
    ],
)
def test_people_are_counted_where_one_answer_will_do(model, space, options, size):
    question = question_of(model, space, **options)
    assert question._plan(Terms(Uniform())).size == size
    assert (question.census is None) == (size is None)


@pytest.mark.parametrize(
    "terms",
    [
        Terms(eh.profile({"sex": {"F": 1, "M": 3}})),
        Terms(Uniform(), exact=False),
        Terms(Uniform(), exact=True),
        Terms(Uniform(), interval="exact"),
    ],
)
def test_people_are_not_counted_otherwise(terms):
    assert question_of()._plan(terms).size is None


def test_people_are_counted_where_their_order_fits_in_memory(monkeypatch):
    monkeypatch.setattr("evenhand.scores.causal.MOST_SHUFFLED", 40)
    assert question_of()._plan(Terms(Uniform())).size == 40
    monkeypatch.setattr("evenhand.scores.causal.MOST_SHUFFLED", 39)
    assert question_of()._plan(Terms(Uniform())).size is None


def test_what_drawing_takes():
    """The least that tells that a score of 0 is under 5 % takes 87 draws."""
    question = question_of()
    question.view.subject.adapter.expensive = True
    terms = Terms(Uniform(), limit=0.05, exact=False)
    assert question.fewest(terms) == 2 * 87
    # How many there are does not matter.
    assert question.fewest(Terms(Uniform(), limit=0.05)) == 2 * 87
    assert question.expected(terms, 0.0, None) == 2 * 87
    assert question.expected(terms, 0.0, 50) == 2 * 50
    assert question.most(Terms(Uniform(), margin=0.1, exact=False)) == 2 * 120
    question.view.subject.adapter.expensive = False
    assert question.most(terms) is None
    assert question.most(Terms(Uniform(), limit=0.05)) == 2 * 40


@pytest.mark.parametrize("at_once", [7, 1 << 17])
def test_too_many_inputs_to_list_are_asked_some_at_a_time(monkeypatch, at_once):
    monkeypatch.setattr("evenhand.scores.causal.AT_ONCE", at_once)
    question = question_of()
    meter = Meter()
    found = question.exhausted(Terms(Uniform()), meter)
    assert (found.estimate.value, found.estimate.n) == (0.25, 40)
    assert (found.estimate.level, found.estimate.method) == (1.0, "enumerated")
    assert found.estimate.population == Uniform().population(SPACE)
    assert found.stop is StopReason.ENUMERATED
    assert [case.individual["id"] for case in found.cases] == [0, 1, 2]
    assert set(found.answers) == {False, True}
    assert meter.queries == question.view.subject.asked == 80


def test_inputs_without_a_census_are_listed_all_the_same():
    question = question_of(score, differs=4.0)
    meter = Meter()
    found = question.exhausted(Terms(Uniform()), meter)
    assert (found.estimate.value, found.estimate.n) == (0.25, 80)
    assert meter.queries == question.view.subject.asked == 80
    assert list(found.tests) == []


def test_a_distance_has_one_interval_only():
    question = question_of(score, differs=apart)
    assert question._interval(Terms(Uniform())) == "anytime"
    assert question._interval(Terms(Uniform(), interval="anytime")) == "anytime"
    with pytest.raises(UsageError, match="interval = 'exact' is for outcomes that differ"):
        question._interval(Terms(Uniform(), interval="exact"))
    assert question_of()._interval(Terms(Uniform(), interval="exact")) == "exact"
    assert question_of()._interval(Terms(Uniform())) is None


def test_every_variant_that_can_be_is_kept_once():
    race = eh.category("race", ["a", "b", "c"])
    space = eh.Space([race, eh.integer("id", 0, 9)], constraints=["race != 'c' or id > 6"])
    subject = eh.Subject(lambda people: people["race"] == "b", space)
    question = CausalQuestion(View(subject), ("race",))
    tests = question._kept(np.asfortranarray([[0.0, 5.0], [1.0, 7.0]]))
    assert tests.points.tolist() == [[0, 5], [1, 7], [0, 7], [1, 5], [2, 7]]
    assert tests.draw.tolist() == [0, 1, 1, 0, 1]
    assert tests.own.tolist() == [True, True, False, False, False]
    assert tests.outcomes.tolist() == [False, True, False, True, False]
    assert (tests.kind, tests.over) == ("causal", ("race",))


@pytest.mark.parametrize(
    ("options", "claim"),
    [
        ({}, "changing only sex changes the outcome of 25.0 % of inputs"),
        (
            {"differs": 0.5},
            "changing only sex changes the outcome of 25.0 % of inputs by more than 0.5",
        ),
        (
            {"differs": apart},
            "changing only sex moves the outcome by up to 25.0 % on average",
        ),
    ],
)
def test_what_was_found_is_a_sentence(options, claim):
    quarter = Estimate(
        0.25,
        0.25,
        0.25,
        80,
        1.0,
        "enumerated",
        "all",
    )
    assert question_of(score, **options).claim(quarter, ()) == claim


def test_hits_of_a_whole_population_are_weighed():
    hits = np.array([1.0, 0.5, 0.0])
    assert _exactly(hits, None, "all").value == 0.5
    weighed = _exactly(hits, np.array([1.0, 2.0, 5.0]), "all")
    assert (weighed.value, weighed.low, weighed.high) == (0.25, 0.25, 0.25)
    assert (weighed.n, weighed.level, weighed.method) == (3, 1.0, "enumerated")
