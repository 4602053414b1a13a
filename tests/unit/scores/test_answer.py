"""Which way a question is answered: from all inputs, from all rows, or by drawing."""

from __future__ import annotations

import math
from typing import Any

import pandas as pd
import pytest

import evenhand as eh
from evenhand.population.samplers import Uniform
from evenhand.runtime.budget import Budget, Meter
from evenhand.runtime.errors import UsageError
from evenhand.runtime.workers import Workers
from evenhand.scores.answer import ask, enough, listed, may_enumerate, rows_cost
from evenhand.scores.enumeration import SMALL
from evenhand.scores.kinds import question_of
from evenhand.scores.question import ENOUGH, Question, Terms
from evenhand.subject.view import View


def question(size: int, *, expensive: bool = False, kind: str = "causal") -> Question:
    """Return a question about a space of so many inputs, half of each sex."""
    features = [eh.category("sex", ["F", "M"]), eh.integer("id", 0, size // 2 - 1)]
    space = eh.Space(features, protected=["sex"])
    subject = eh.Subject(lambda people: people["sex"] == "F", space, positive=True)
    subject.adapter.expensive = expensive
    return question_of(View(subject), kind, ("sex",))


def test_small_spaces_are_listed():
    terms = Terms(Uniform())
    assert listed(question(SMALL), terms, math.inf) == SMALL
    assert listed(question(SMALL), terms, SMALL) == SMALL
    assert listed(question(SMALL), terms, SMALL - 1) is None
    assert listed(question(SMALL + 2), terms, math.inf) is None
    assert listed(question(SMALL + 2), Terms(Uniform(), exact=True), 5) == SMALL + 2
    assert listed(question(100), Terms(Uniform(), exact=False), math.inf) is None
    assert listed(question(100), Terms(Uniform(), interval="exact"), math.inf) is None


def test_expensive_software_is_listed_where_drawing_takes_as_many():
    terms = Terms(Uniform(), limit=0.1)
    few = question(10, expensive=True).fewest(terms)
    even = few // 2 * 2
    assert listed(question(even, expensive=True), terms, math.inf) == even
    assert listed(question(even + 2, expensive=True), terms, math.inf) is None


def test_how_much_is_worth_drawing():
    cheap = question(100)
    assert enough(cheap, Terms(Uniform(), limit=0.1), 50) == 50
    assert enough(cheap, Terms(Uniform(), limit=0.1), math.inf) == ENOUGH
    assert math.isinf(enough(cheap, Terms(Uniform()), math.inf))
    expensive = question(100, expensive=True)
    assert math.isinf(enough(expensive, Terms(Uniform(), limit=0.1), math.inf))


def test_only_all_inputs_may_be_listed():
    assert may_enumerate(Terms(Uniform()))
    assert not may_enumerate(Terms(eh.profile({"sex": {"F": 1, "M": 3}})))
    assert not may_enumerate(Terms(Uniform(), exact=False))
    assert not may_enumerate(Terms(Uniform(), interval="wald"))


def rows_of(n: int, **options: Any) -> Any:
    people = pd.DataFrame({"sex": ["F", "M"] * (n // 2), "id": range(n)})
    return eh.rows(people, **options)


@pytest.mark.parametrize(
    ("n", "expensive", "cost"),
    [(100, False, 200), (5_000, True, 10_000), (5_002, True, None)],
)
def test_rows_are_all_asked_where_they_are_few(n, expensive, cost):
    asked = question(100_000, expensive=expensive)
    rows = rows_of(n)
    assert rows_cost(asked, Terms(rows), rows) == cost
    assert rows_cost(asked, Terms(rows, exact=True), rows) == 2 * n
    assert rows_cost(asked, Terms(rows, exact=False), rows) is None
    assert rows_cost(asked, Terms(rows, interval="exact"), rows) is None
    sample = rows_of(n, sample_of="people")
    assert rows_cost(asked, Terms(sample, exact=False), sample) == 2 * n


def asked_of(
    asked: Question, terms: Terms, queries: int | None = None
) -> tuple[Any, Meter]:
    meter = Meter(Budget(queries=queries))
    with Workers(1) as workers:
        return ask(asked, terms, meter, workers), meter


@pytest.mark.parametrize("kind", ["causal", "group"])
def test_every_input_counts_as_spent(kind):
    found, meter = asked_of(question(60, kind=kind), Terms(Uniform()))
    (finding,) = found.findings
    assert finding.estimate.value == 1
    assert (finding.estimate.level, finding.estimate.n) == (1.0, 60)
    assert meter.queries >= 60


def test_an_exact_answer_needs_its_budget():
    exact = Terms(Uniform(), exact=True)
    found, meter = asked_of(question(60), exact, 60)
    assert found.findings[0].estimate.n == meter.queries == 60
    with pytest.raises(
        UsageError, match="60 inputs are to be asked, but 59 queries are left"
    ):
        asked_of(question(60), exact, 59)
    profile = eh.profile({"sex": {"F": 1, "M": 3}})
    with pytest.raises(UsageError, match="is sampled, not enumerated; leave out exact"):
        asked_of(question(60), Terms(profile, exact=True))


def test_a_sample_of_rows_is_cut_to_the_budget():
    sample = rows_of(100, sample_of="people")
    whole, _ = asked_of(question(1000), Terms(sample), 200)
    assert whole.findings[0].estimate.n == 100
    cut, _ = asked_of(question(1000), Terms(sample), 199)
    assert cut.findings[0].estimate.n == 99
    assert cut.stop.value != whole.stop.value
    with pytest.raises(
        UsageError, match="200 inputs are to be asked, but the budget leaves 1"
    ):
        asked_of(question(1000), Terms(sample), 1)


@pytest.mark.parametrize("kind", ["causal", "group"])
def test_tests_are_kept_where_they_are_wanted(kind):
    asked = question(10**6, kind=kind)
    terms = Terms(Uniform(), limit=0.1)
    with Workers(1) as workers:
        without = ask(asked, terms, Meter(), workers)
        kept = ask(asked, terms, Meter(), workers, keep=True)
    assert list(without.tests) == []
    (tests,) = kept.tests
    assert (tests.kind, tests.over) == (kind, ("sex",))
    assert len(tests.points) >= kept.findings[0].estimate.n
    assert kept.findings == without.findings
