"""The group question of numbers on a space that is small enough to be listed."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import numpy as np
import pandas as pd
import pytest

import evenhand as eh
from evenhand.population.samplers import Uniform
from evenhand.runtime.budget import Budget, Meter
from evenhand.runtime.errors import UsageError
from evenhand.runtime.workers import Workers
from evenhand.scores.numbers.groups import MEAN, MEDIAN, Assurance, NumberGroups
from evenhand.scores.numbers.question import NumberQuestion
from evenhand.scores.question import Score, Terms
from evenhand.statistics.estimate import Amount, StopReason
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
    return question_of(decide).enumerated(
        terms,
        points,
        "all",
        meter,
        keep=keep,
    )


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
    estimate = Amount(
        10.0,
        10.0,
        high,
        100,
        0.95,
        "Welch",
        "all",
    )
    finding = replace(mean, estimate=estimate, limit=limit)
    terms = Terms(Uniform(), margin=margin)
    assert question_of()._settled(finding, terms, 10.0) == is_settled


def test_the_lower_end_counts_as_well():
    mean, _ = answered(Meter()).findings
    estimate = Amount(
        10.0,
        8.9,
        10.0,
        100,
        0.95,
        "Welch",
        "all",
    )
    finding = replace(mean, estimate=estimate, limit=None)
    assert not question_of()._settled(finding, Terms(Uniform(), margin=0.1), 10.0)
    assert question_of()._settled(finding, Terms(Uniform(), margin=0.12), 10.0)


PEOPLE = pd.DataFrame({"job": list("aabb"), "years": [0, 2, 0, 1], "often": [3, 1, 1, 1]})


def tallied(rows: Any, meter: Meter, *, keep: bool = False, **terms: Any) -> Score:
    question = question_of()
    points = rows.points(SPACE)
    return question.tallied(
        Terms(rows, **terms),
        points,
        rows,
        meter,
        keep=keep,
    )


@pytest.mark.parametrize(("twins", "cases", "spent"), [("rows", 0, 4), ("domain", 2, 8)])
def test_rows_may_be_the_population(twins, cases, spent):
    meter = Meter()
    found = tallied(eh.rows(PEOPLE, twins=twins), meter)
    mean, median = found.findings
    assert mean.estimate.value == median.estimate.value == 10.0
    assert (mean.estimate.n, mean.estimate.level) == (4, 1.0)
    assert mean.estimate.method == "enumerated"
    assert mean.estimate.population == "the 4 given rows"
    assert found.estimate == mean.estimate
    assert found.stop is StopReason.ENUMERATED
    assert len(mean.cases) == cases
    assert meter.queries == spent
    (note,) = found.notes
    assert note == (
        "1 of 3 groups of job are empty, such as job c; the score says nothing of them"
    )
    assert list(found.tests) == []


def test_weights_of_rows_count_where_they_are_the_population():
    mean, _ = tallied(eh.rows(PEOPLE, weights="often"), Meter()).findings
    assert mean.estimate.value == 10.5
    assert tallied(eh.rows(PEOPLE), Meter()).findings[0].estimate.value == 10.0


def test_rows_may_be_a_sample():
    rows = eh.rows(pd.concat([PEOPLE] * 20), sample_of="people")
    mean, median = tallied(rows, Meter(), among=2, level=0.9).findings
    numbers = salary(PEOPLE).to_numpy()
    about = [{"job": "a"}, {"job": "b"}]
    place = np.tile([0, 0, 1, 1], 20)
    groups = NumberGroups(("job",), about, np.tile(numbers, 20), place)
    assurance = Assurance(0.9, 2, "people")
    assert mean.estimate == groups.spread(MEAN, assurance)
    assert median.estimate == groups.spread(MEDIAN, assurance)
    assert mean.estimate.level == 0.9


def drawn(
    terms: Terms, meter: Meter, *, expensive: bool = False, decide: Any = salary
) -> tuple[Score, NumberGroups]:
    """Return what drawing finds, and all that was drawn, by group."""
    question = question_of(decide)
    question.view.subject.adapter.expensive = expensive
    with Workers(1) as workers:
        found = question.sampled(terms, meter, workers, keep=True)
    (tests,) = found.tests
    about = [{"job": name} for name in "abc"]
    group = tests.points[:, 0].astype(int)
    return found, NumberGroups(("job",), about, tests.outcomes.astype(float), group)


@pytest.mark.parametrize(
    ("terms", "queries", "expensive", "size", "part", "stop"),
    [
        ({"margin": 0.9}, None, False, 256, 1 / 2, StopReason.MARGIN),
        ({"margin": 0.9}, None, True, 32, 1 / 2, StopReason.MARGIN),
        ({"limit": 0.1}, None, False, 256, 1 / 2, StopReason.DECIDED),
        ({"margin": 1e-6}, 300, True, 100, 1 / 4, StopReason.QUERIES),
        ({"margin": 1e-6}, 3 * 129, True, 129, 1 / 8, StopReason.QUERIES),
        ({"margin": 1e-6}, 3 * 513, True, 513, 1 / 16, StopReason.QUERIES),
        ({"margin": 1e-6}, None, True, 8192, 1 / 16, StopReason.QUERIES),
    ],
)
def test_each_look_has_its_part_of_the_error(terms, queries, expensive, size, part, stop):
    meter = Meter(Budget(queries=queries))
    settings = Terms(Uniform(), level=0.9, among=2, **terms)
    found, groups = drawn(settings, meter, expensive=expensive)
    assert groups.sizes.tolist() == [size] * 3
    assert found.stop is stop
    population = Uniform().population(SPACE)
    apart = groups.spread(MEAN, Assurance(0.9, 2, population, look=part))
    mean, median = found.findings
    assert found.estimate == mean.estimate
    assert mean.estimate.low == pytest.approx(apart.low)
    assert mean.estimate.high == pytest.approx(apart.high)
    assert (mean.estimate.n, mean.estimate.level) == (3 * size, 0.9)
    of_median = groups.spread(MEDIAN, Assurance(0.9, 2, population, look=part))
    assert median.estimate.high == pytest.approx(of_median.high)


def test_what_drawing_takes_counts_as_spent():
    meter = Meter()
    found, _ = drawn(Terms(Uniform(), margin=0.9), meter)
    # Thirty-two people of the best group are moved to the worst.
    assert meter.queries == 3 * 256 + 64
    assert [case.twin["job"] for case in found.findings[0].cases] == ["a"] * 3
    assert [case.individual["job"] for case in found.findings[0].cases] == ["b"] * 3
    assert [case.individual["years"] for case in found.findings[0].cases] == [4] * 3


def test_a_run_that_is_late_ends_at_its_first_look():
    found, groups = drawn(Terms(Uniform(), margin=1e-6), Meter(Budget(seconds=1e-9)))
    assert found.stop is StopReason.SECONDS
    assert groups.sizes.tolist() == [256] * 3


def test_progress_is_shown_between_looks():
    reports: list[Any] = []
    meter = Meter(Budget(queries=3 * 129), hook=reports.append)
    drawn(Terms(Uniform(), margin=1e-6), meter, expensive=True)
    assert [report.note for report in reports] == [
        "32 draws of each group",
        "128 draws of each group",
        "129 draws of each group",
    ]
    assert {report.task for report in reports} == {"group job"}


def test_tests_are_kept_where_they_are_wanted():
    with Workers(1) as workers:
        terms = Terms(Uniform(), margin=0.9)
        without = question_of().sampled(terms, Meter(), workers, keep=False)
    assert list(without.tests) == []


def test_intervals_of_rates_are_refused():
    with pytest.raises(UsageError, match="interval = 'exact' is for rates"):
        drawn(Terms(Uniform(), interval="exact"), Meter())


def test_groups_without_anybody_are_named():
    space = eh.Space(SPACE.features, constraints=["job != 'c'"])
    question = NumberQuestion(View(eh.Subject(salary, space)), ("job",))
    with Workers(1) as workers:
        found = question.sampled(Terms(Uniform(), margin=0.9), Meter(), workers, keep=False)
    (note,) = found.notes
    assert note.endswith("such as job c; the score says nothing of them")
    points = space.enumerate()
    whole = question.enumerated(
        Terms(Uniform()),
        points,
        "all",
        Meter(),
        keep=False,
    )
    # Nobody can be in that group.
    assert list(whole.notes) == []


def test_everybody_is_asked_where_drawing_does_not_decide():
    question = question_of()
    meter = Meter()
    found = question.exhausted(Terms(Uniform(), limit=0.5), meter)
    mean, _ = found.findings
    assert mean.estimate.value == pytest.approx(12.0)
    assert (mean.estimate.n, mean.estimate.level) == (15, 1.0)
    assert meter.queries == 15 + 10
    assert list(found.tests) == []
    spread = np.subtract(
        *np.quantile(salary(SPACE.decode(SPACE.enumerate())), [0.75, 0.25])
    )
    assert mean.limit == pytest.approx(0.5 * spread)
    assert found.notes[0].startswith("the limit of 50 % is of the spread of outcomes")


def test_nothing_is_foretold_of_numbers():
    question = question_of()
    assert question.expected(Terms(Uniform()), 0.1, None) is None
    question.view.subject.adapter.expensive = True
    assert question.most(Terms(Uniform())) == 3 * 8192
    assert question._looks(3, Meter()) == [32, 128, 512, 2048, 8192]
