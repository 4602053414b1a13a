"""The group question of numbers on a space that is small enough to be listed."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import numpy as np
import pytest

import evenhand as eh
from evenhand.population.samplers import Uniform
from evenhand.runtime.budget import Budget, Meter
from evenhand.runtime.errors import UsageError
from evenhand.scores.numbers.question import NumberQuestion
from evenhand.scores.question import Terms
from evenhand.statistics.estimate import Amount
from evenhand.subject.view import View

SPACE = eh.Space(
    [eh.category("job", ["a", "b", "c"]), eh.integer("years", 0, 4)], protected=["job"]
)
EXTRA = {"a": 0.0, "b": 10.0, "c": 3.0}


def salary(people: Any) -> Any:
    """Return a wage that years raise by more in one job than in the others."""
    in_best = people["job"] == "b"
    years = people["years"] * (1.0 + in_best)
    return 100.5 + people["job"].map(EXTRA) + years


def question_of(decide: Any = salary) -> NumberQuestion:
    return NumberQuestion(View(eh.Subject(decide, SPACE)), ("job",))


def answered(meter: Meter, *, keep: bool = False, decide: Any = salary) -> Any:
    terms = Terms(Uniform())
    points = SPACE.enumerate()
    return question_of(decide).enumerated(terms, points, "all", meter, keep=keep)


def test_cases_are_people_of_the_best_group_who_would_lose_most_in_the_worst():
    meter = Meter()
    mean, median = answered(meter).findings
    assert mean.estimate.value == pytest.approx(12.0)
    assert median.cases == ()
    assert [case.individual["job"] for case in mean.cases] == ["b"] * 3
    assert [case.twin["job"] for case in mean.cases] == ["a"] * 3
    assert [case.individual["years"] for case in mean.cases] == [4, 3, 2]
    falls = [case.outcomes[0] - case.outcomes[1] for case in mean.cases]
    assert falls == [14.0, 13.0, 12.0]
    # Five people of the best group, each with a twin.
    assert meter.queries == 10


@pytest.mark.parametrize(
    ("left", "cases"), [(0, 0), (1, 0), (2, 1), (5, 2), (6, 3), (9, 3)]
)
def test_cases_keep_to_the_budget(left, cases):
    meter = Meter(Budget(queries=left)) if left else Meter(Budget(queries=1), queries=1)
    mean, _ = answered(meter).findings
    assert len(mean.cases) == cases
    assert meter.left >= 0


def test_all_tests_are_kept_where_they_are_wanted():
    assert list(answered(Meter()).tests) == []
    (tests,) = answered(Meter(), keep=True).tests
    assert tests.own.all()
    assert tests.draw.tolist() == list(range(15))


def test_nobody_loses_where_groups_are_paid_alike():
    mean, _ = answered(Meter(), decide=lambda people: people["years"] + 0.5).findings
    assert mean.estimate.value == 0
    assert mean.cases == ()


def test_a_look_has_four_times_the_draws_of_the_one_before():
    question = question_of()
    sizes = [256, 1024, 4096, 16384, 65536]
    assert question._looks(3, Meter()) == sizes
    assert question.most(Terms(Uniform())) == 3 * sizes[-1]
    assert question.fewest(Terms(Uniform())) == 3 * 32
    assert question._looks(3, Meter(Budget(queries=3 * 1024 + 2))) == [256, 1024]
    assert question._looks(3, Meter(Budget(queries=3 * 1025))) == [256, 1024, 1025]
    assert question._looks(3, Meter(Budget(queries=5))) == [1]
    assert question._looks(1, Meter(Budget(queries=10**9))) == sizes
    with pytest.raises(
        UsageError, match="2 queries are left, but one draw from each group"
    ):
        question._looks(3, Meter(Budget(queries=2)))


@pytest.mark.parametrize("bad", [np.nan, np.inf, -np.inf])
def test_numbers_without_a_mean_are_refused(bad):
    with pytest.raises(UsageError, match=f"answered {bad}, which has no mean"):
        question_of()._numbers(np.array([1.0, bad]))
    assert question_of()._numbers(np.array([1, 2])).tolist() == [1.0, 2.0]


def test_there_are_two_groups_at_least():
    question = question_of()
    question._need_groups(np.arange(2))
    with pytest.raises(UsageError, match="has 1 group, so there is nothing to compare"):
        question._need_groups(np.arange(1))
    question._need_groups(np.arange(1000))
    with pytest.raises(
        UsageError, match="make 1,001 groups, but at most 1,000 are compared"
    ):
        question._need_groups(np.arange(1001))


def test_whoever_loses_a_little_is_a_case():
    mean, _ = answered(Meter(), decide=lambda people: (people["job"] == "b") / 2).findings
    assert [case.outcomes for case in mean.cases] == [(0.5, 0.0)] * 3


def test_whoever_gains_in_the_worst_group_is_no_case():
    """The newest of the best job gets half a unit less than in the worst one."""

    def decide(people: Any) -> Any:
        is_new = (people["job"] == "b") & (people["years"] == 0)
        best = people["job"] == "b"
        few_years = people["years"] < 3
        return 100.5 + np.where(best & ~few_years, 10.0, 0.0) - 0.5 * is_new

    mean, _ = answered(Meter(), decide=decide).findings
    assert [case.individual["years"] for case in mean.cases] == [3, 4]


@pytest.mark.parametrize(
    ("limit", "margin", "high", "is_settled"),
    [
        (None, 0.1, 11.0, True),
        (None, 0.1, 11.1, False),
        (None, 0.0, 10.0, True),
        (20.0, 0.001, 19.0, True),
        (10.5, 1.0, 11.0, False),
    ],
)
def test_a_finding_is_settled_by_its_verdict_or_its_margin(limit, margin, high, is_settled):
    """The margin is a share of the spread of outcomes, 10 here."""
    mean, _ = answered(Meter()).findings
    estimate = Amount(10.0, 10.0, high, 100, 0.95, "Welch", "all")
    finding = replace(mean, estimate=estimate, limit=limit)
    terms = Terms(Uniform(), margin=margin)
    assert question_of()._settled(finding, terms, 10.0) == is_settled


def test_the_lower_end_counts_as_well():
    mean, _ = answered(Meter()).findings
    estimate = Amount(10.0, 8.9, 10.0, 100, 0.95, "Welch", "all")
    finding = replace(mean, estimate=estimate, limit=None)
    assert not question_of()._settled(finding, Terms(Uniform(), margin=0.1), 10.0)
    assert question_of()._settled(finding, Terms(Uniform(), margin=0.12), 10.0)
