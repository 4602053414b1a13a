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
from evenhand.scores.answer import Answer, ask, enough, listed, may_enumerate, rows_cost
from evenhand.scores.enumeration import SMALL
from evenhand.scores.kinds import question_of
from evenhand.scores.question import ENOUGH, Question, Terms
from evenhand.statistics.estimate import StopReason
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
        kept = ask(
            asked,
            terms,
            Meter(),
            workers,
            keep=True,
        )
    assert list(without.tests) == []
    (tests,) = kept.tests
    assert (tests.kind, tests.over) == (kind, ("sex",))
    assert len(tests.points) >= kept.findings[0].estimate.n
    assert kept.findings == without.findings


def test_an_answer_says_what_it_rests_on():
    asked = question(60, kind="group")
    found, _ = asked_of(asked, Terms(Uniform(), limit=0.3, among=2, level=0.9))
    (finding,) = found.findings
    assert finding.claim == "100.0 % of sex F get True, and 0.0 % of sex M"
    assert (finding.score, finding.about, finding.limit) == ("group", ("sex",), 0.3)
    assert finding.by_construction is False
    assert finding.only_answer is None
    assert finding.unfavoured is False
    assert finding.p_value is None
    assert finding.e_value is None
    assert finding.noise is None
    assert found.stop is StopReason.ENUMERATED
    assert not found.interrupted
    assert Answer([finding], StopReason.INTERRUPTED).interrupted


@pytest.mark.parametrize("kind", ["causal", "group"])
def test_a_drawn_answer_has_its_evidence_and_its_level(kind):
    asked = question(10**6, kind=kind)
    found, _ = asked_of(asked, Terms(Uniform(), limit=0.3, among=2, level=0.9))
    (finding,) = found.findings
    assert finding.estimate.level == 0.9
    assert finding.estimate.method.endswith(", simultaneous over 2")
    assert finding.p_value is not None
    assert finding.e_value is not None
    assert finding.p_value < 1e-6
    assert found.stop is StopReason.DECIDED


@pytest.mark.parametrize("kind", ["causal", "group"])
def test_software_that_does_not_see_a_feature_cannot_depend_on_it(kind):
    """The groups may still differ, where something else goes with them."""
    sex = eh.category("sex", ["F", "M"], passed=False)
    features = [sex, eh.integer("id", 0, 9)]
    for constraints, expected in [
        ((), True),
        (("sex == 'F' or id > 4",), kind == "causal"),
    ]:
        space = eh.Space(features, ["sex"], constraints)
        subject = eh.Subject(lambda people: people["id"] > 4, space, positive=True)
        asked = question_of(View(subject), kind, ("sex",))
        found, _ = asked_of(asked, Terms(Uniform()))
        assert found.findings[0].by_construction is expected


def test_one_answer_for_all_is_named():
    space = eh.Space([eh.category("sex", ["F", "M"]), eh.integer("id", 0, 9)])
    subject = eh.Subject(lambda people: people["id"] < 0, space, positive=True)
    found, _ = asked_of(question_of(View(subject), "causal", ("sex",)), Terms(Uniform()))
    assert found.findings[0].only_answer is False
    assert found.findings[0].unfavoured is True


def test_progress_is_shown_before_all_inputs_are_asked():
    reports: list[Any] = []
    with Workers(1) as workers:
        meter = Meter(hook=reports.append)
        ask(question(60), Terms(Uniform()), meter, workers)
    (report,) = reports
    assert (report.task, report.share, report.note) == ("causal sex", None, "all 60 inputs")


def half(size: int, *, expensive: bool = False) -> Question:
    """Return a question whose answer is just the limit: half of people change."""
    features = [eh.category("sex", ["F", "M"]), eh.integer("id", 0, size // 2 - 1)]
    space = eh.Space(features, protected=["sex"])

    def decide(people: Any) -> Any:
        return (people["sex"] == "F") & (people["id"] % 2 == 0)

    subject = eh.Subject(decide, space, differs=0.5)
    subject.adapter.expensive = expensive
    return question_of(View(subject), "causal", ("sex",))


@pytest.fixture
def little(monkeypatch: pytest.MonkeyPatch) -> pytest.MonkeyPatch:
    """Let 100 inputs be too many to list, and 300 as many as are worth drawing."""
    monkeypatch.setattr("evenhand.scores.answer.SMALL", 10)
    monkeypatch.setattr("evenhand.scores.answer.ENOUGH", 300)
    return monkeypatch


@pytest.mark.usefixtures("little")
def test_every_input_is_asked_where_drawing_does_not_decide():
    terms = Terms(Uniform(), limit=0.5)
    found, meter = asked_of(half(800), terms)
    (finding,) = found.findings
    assert (finding.estimate.value, finding.estimate.n) == (0.5, 800)
    assert (finding.estimate.level, found.stop) == (1.0, StopReason.ENUMERATED)
    assert meter.queries == 300 + 800


@pytest.mark.parametrize(("queries", "is_exact"), [(1100, True), (1099, False)])
def test_every_input_is_asked_where_the_budget_allows_it(little, queries, is_exact):
    found, meter = asked_of(half(800), Terms(Uniform(), limit=0.5), queries)
    assert (found.findings[0].estimate.level == 1.0) == is_exact
    assert found.stop is (StopReason.ENUMERATED if is_exact else StopReason.TOO_CLOSE)
    assert meter.queries == (1100 if is_exact else 300)


@pytest.mark.parametrize(
    ("in_memory", "exhaustible", "is_exact"),
    [(800, 0, True), (799, 800, True), (799, 799, False)],
)
def test_inputs_that_do_not_fit_are_asked_some_at_a_time(
    little, in_memory, exhaustible, is_exact
):
    little.setattr("evenhand.scores.answer.IN_MEMORY", in_memory)
    little.setattr("evenhand.scores.answer.EXHAUSTIBLE", exhaustible)
    terms = Terms(Uniform(), limit=0.5)
    found, _ = asked_of(half(800), terms)
    assert (found.findings[0].estimate.level == 1.0) == is_exact
    with Workers(1) as workers:
        kept = ask(
            half(800),
            terms,
            Meter(),
            workers,
            keep=True,
        )
    # What does not fit cannot be kept.
    assert (kept.findings[0].estimate.level == 1.0) == (in_memory == 800)


def test_rows_that_are_each_others_twins_are_all_asked():
    rows = rows_of(20, twins="rows")
    with pytest.raises(UsageError, match="twins = 'rows' compares given rows"):
        asked_of(question(1000), Terms(rows, exact=False))
    asked = question(1000, expensive=True)
    assert rows_cost(asked, Terms(rows, interval="exact"), rows) == 20
    with pytest.raises(UsageError, match="20 inputs are to be asked"):
        asked_of(question(1000), Terms(rows), 19)
    whole, meter = asked_of(question(1000), Terms(rows), 20)
    assert whole.findings[0].estimate.n == meter.queries == 20


def test_rows_beyond_the_budget_are_drawn():
    rows = rows_of(200)
    found, meter = asked_of(question(1000), Terms(rows, limit=0.3), 399)
    assert found.findings[0].estimate.level == 0.95
    assert meter.queries <= 399
    with pytest.raises(UsageError, match="400 inputs are to be asked"):
        asked_of(question(1000), Terms(rows, exact=True), 399)
    whole, _ = asked_of(question(1000), Terms(rows, limit=0.3), 400)
    assert whole.findings[0].estimate.level == 1.0
    assert whole.stop is StopReason.ENUMERATED
    assert found.stop is not StopReason.ENUMERATED


def test_a_cut_sample_is_from_all_over_the_rows():
    sample = rows_of(100, sample_of="people")
    with Workers(1) as workers:
        meter = Meter(Budget(queries=40))
        cut = ask(
            question(1000),
            Terms(sample),
            meter,
            workers,
            keep=True,
        )
        other = ask(
            question(1000),
            Terms(sample, seed=1),
            Meter(Budget(queries=40)),
            workers,
            keep=True,
        )
    (tests,) = cut.tests
    numbers = tests.points[tests.own][:, 1].tolist()
    assert len(set(numbers)) == 20
    assert numbers == sorted(numbers)
    assert min(numbers) < 30 < 70 < max(numbers)
    assert cut.stop is StopReason.QUERIES
    assert other.tests[0].points[:, 1].tolist() != tests.points[:, 1].tolist()


@pytest.mark.usefixtures("little")
def test_whoever_wants_draws_gets_draws():
    """There are 100 inputs, fewer than are drawn."""
    found, meter = asked_of(half(100), Terms(Uniform(), limit=0.5, exact=False))
    (finding,) = found.findings
    assert (finding.estimate.n, finding.estimate.level) == (150, 0.95)
    assert found.stop is StopReason.TOO_CLOSE
    assert meter.queries == 300
