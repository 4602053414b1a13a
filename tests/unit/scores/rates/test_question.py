"""The group question of rates: the tests behind a score."""

from __future__ import annotations

import math
from typing import Any

import numpy as np
import pandas as pd
import pytest

import evenhand as eh
from evenhand.population.samplers import Uniform
from evenhand.runtime.budget import Budget, Meter
from evenhand.runtime.errors import UsageError
from evenhand.runtime.workers import Workers
from evenhand.scores.enumeration import SMALL
from evenhand.scores.planning.runs import SPREAD_RUNS, group_runs
from evenhand.scores.question import Score, Terms, spread_evidence
from evenhand.scores.rates.groups import GroupCount
from evenhand.scores.rates.paired import PairedCount
from evenhand.scores.rates.question import GroupQuestion
from evenhand.statistics import intervals
from evenhand.statistics.estimate import Estimate, StopReason
from evenhand.statistics.sequential import confidence_sequences
from evenhand.statistics.sequential.group_stopping import SpreadPlan
from evenhand.statistics.sequential.paired_groups import PairedPlan
from evenhand.subject.view import View

SPACE = eh.Space(
    [eh.category("race", ["a", "b", "c"]), eh.integer("id", 0, 99)], protected=["race"]
)


def decide(people: Any) -> Any:
    return (people["race"] == "a") | (people["id"] < 50)


def question_of() -> GroupQuestion:
    return GroupQuestion(View(eh.Subject(decide, SPACE, positive=True)), ("race",))


def test_the_same_people_are_kept_as_members_of_each_group():
    question = question_of()
    plan = PairedPlan(limit=0.1, groups=3)
    members = (0, 1, 2)
    count = PairedCount.of(
        question.view,
        question.groups,
        members,
        plan,
        Uniform(),
        0,
    )
    (tests,) = question._asked_alike(count, np.array([3, 1, 2]))
    assert tests.kind == "group"
    assert tests.over == ("race",)
    assert tests.points[:, 0].tolist() == [0, 0, 0, 1, 2, 2]
    assert tests.draw.tolist() == [0, 1, 2, 0, 0, 1]
    assert tests.own.tolist() == [True] * 6
    people = count.people.take(0, 3)[:, 1]
    assert tests.points[:, 1].tolist() == people[[0, 1, 2, 0, 0, 1]].tolist()
    is_granted = (tests.points[:, 0] == 0) | (tests.points[:, 1] < 50)
    assert tests.outcomes.tolist() == is_granted.tolist()


def test_people_of_each_group_are_kept_with_their_numbers():
    question = question_of()
    count = GroupCount.of(
        question.view,
        question.groups,
        (0, 2),
        Uniform(),
        0,
    )
    assert question._drawn(count, np.array([2, 1]), keep=False) == []
    (tests,) = question._drawn(count, np.array([2, 1]), keep=True)
    assert tests.points[:, 0].tolist() == [0, 0, 2]
    assert tests.draw.tolist() == [0, 1, 0]
    assert tests.own.tolist() == [True] * 3


def test_the_fewest_inputs_are_those_of_software_that_treats_all_alike():
    """A run of software that treats all alike, counted."""
    alike = eh.Subject(lambda people: people["id"] < 50, SPACE, positive=True)
    alike.adapter.expensive = True
    question = GroupQuestion(View(alike), ("race",))
    found = eh.measure(
        alike,
        over="race",
        kind="group",
        limit=0.2,
        exact=False,
    )
    assert question.fewest(Terms(Uniform(), limit=0.2)) == found.findings[0].estimate.n


SMALL_SPACE = eh.Space(
    [eh.category("race", ["a", "b", "c"]), eh.integer("id", 0, 39)], protected=["race"]
)
ONE_RACE_OLDER = eh.Space(
    SMALL_SPACE.features, protected=["race"], constraints=["race != 'b' or id > 19"]
)


def favours_a(people: Any) -> Any:
    """Return whom software favours: all of a, and whose number is below 5."""
    return (people["race"] == "a") | (people["id"] < 5)


def half_for_a(people: Any) -> Any:
    return (people["race"] == "a") * 0.5


class Scorer:
    """A classifier that answers with scores."""

    classes_ = np.array([0, 1])
    feature_names_in_ = np.array(["race", "id"])

    def __init__(self, score: Any) -> None:
        self.score = score

    def predict_proba(self, frame: Any) -> Any:
        shares = np.asarray(self.score(frame), dtype=float)
        return np.column_stack([1 - shares, shares])

    def predict(self, frame: Any) -> Any:
        return self.predict_proba(frame)[:, 1] > 0.5


def scored(score: Any, space: eh.Space = SMALL_SPACE) -> GroupQuestion:
    return GroupQuestion(View(eh.Subject(Scorer(score), space, output="score")), ("race",))


def small(model: Any = favours_a, space: eh.Space = SMALL_SPACE, **options: Any) -> Any:
    options = {"positive": True, **options}
    return GroupQuestion(View(eh.Subject(model, space, **options)), ("race",))


def enumerated(question: GroupQuestion, meter: Meter, *, keep: bool = False) -> Score:
    points = question.space.enumerate()
    return question.enumerated(
        Terms(Uniform()),
        points,
        "all",
        meter,
        keep=keep,
    )


def rates_of(score: Score) -> list[float]:
    return [group.estimate.value for group in score.groups]


def test_every_input_tells_the_rates_of_all_groups():
    question = small()
    assert question.cost == 3
    assert question.per_row(eh.rows(pd.DataFrame({"race": ["a"], "id": [1]}))) == 1
    score = enumerated(question, Meter())
    assert score.estimate == Estimate(
        0.875,
        0.875,
        0.875,
        120,
        1.0,
        "enumerated",
        "all",
    )
    assert score.stop is StopReason.ENUMERATED
    assert rates_of(score) == [1.0, 0.125, 0.125]
    assert [group.estimate.n for group in score.groups] == [40, 40, 40]
    assert {group.estimate.level for group in score.groups} == {1.0}
    assert list(score.notes) == []
    assert score.answers == (True, False)
    assert score.against is None
    assert list(score.tests) == []
    (tests,) = enumerated(question, Meter(), keep=True).tests
    assert tests.draw.tolist() == list(range(120))
    assert tests.own.tolist() == [True] * 120


def test_cases_are_favoured_people_of_the_best_group_who_would_lose_in_the_worst():
    meter = Meter()
    score = enumerated(small(), meter)
    assert [case.individual for case in score.cases] == [
        {"race": "a", "id": number} for number in (5, 6, 7)
    ]
    assert [case.twin["race"] for case in score.cases] == ["b"] * 3
    # The first 32, each as it is and moved.
    assert meter.queries == 64


@pytest.mark.parametrize(
    ("left", "cases", "spent"),
    [(1, 0, 0), (11, 0, 10), (12, 1, 12), (15, 2, 14), (99, 3, 64)],
)
def test_cases_keep_to_the_budget(left, cases, spent):
    meter = Meter(Budget(queries=left))
    assert len(enumerated(small(), meter).cases) == cases
    assert meter.queries == spent


def test_nobody_loses_where_rates_are_alike_or_outcomes_are_scores():
    meter = Meter()
    assert enumerated(small(lambda people: people["id"] < 5), meter).cases == []
    score = enumerated(scored(half_for_a), meter)
    assert score.estimate.value == 0.5
    assert score.cases == []
    assert meter.queries == 0


def test_groups_that_nobody_can_be_in_are_named():
    space = eh.Space(
        [eh.category("race", ["a", "b", "c"]), eh.integer("id", 0, 9)],
        constraints=["race != 'b'"],
    )
    question = small(space=space)
    (note,) = enumerated(question, Meter()).notes
    assert note == (
        "1 of 3 groups of race are empty, such as race b; the score says nothing of them"
    )


def frame_of(races: str, numbers: list[int]) -> pd.DataFrame:
    return pd.DataFrame({"race": list(races), "id": numbers})


@pytest.mark.parametrize(("twins", "twin", "spent"), [("rows", 7, 4), ("domain", 6, 8)])
def test_twins_of_rows_are_other_rows_or_anybody(twins, twin, spent):
    """Two of a, of whom one has a twin of b among the rows."""
    question = small()
    rows = eh.rows(frame_of("aabb", [6, 7, 7, 3]), twins=twins)
    meter = Meter()
    points = rows.points(question.space)
    score = question.tallied(
        Terms(rows),
        points,
        rows,
        meter,
        keep=True,
    )
    assert score.estimate.value == 0.5
    assert (score.estimate.n, score.estimate.level) == (4, 1.0)
    assert score.cases[0].individual == {"race": "a", "id": twin}
    assert meter.queries == spent
    assert len(score.tests) == 1
    (note,) = score.notes
    assert note.startswith("1 of 3 groups of race are empty, such as race c;")


def test_weights_of_rows_count():
    frame = frame_of("aabb", [6, 7, 7, 3]).assign(often=[1.0, 1.0, 3.0, 1.0])
    rows = eh.rows(frame, weights="often")
    question = small()
    points = rows.points(question.space)
    score = question.tallied(
        Terms(rows),
        points,
        rows,
        Meter(),
        keep=False,
    )
    assert rates_of(score) == [1.0, 0.25]
    assert score.estimate.value == 0.75
    assert list(score.tests) == []


@pytest.mark.parametrize("graded", [False, True])
def test_a_sample_of_rows_has_an_interval(graded):
    """Nobody of c was seen, who may be treated in any way."""
    question = scored(half_for_a) if graded else small()
    rows = eh.rows(frame_of("aabb" * 20, list(range(4, 24)) * 4), sample_of="people")
    terms = Terms(rows, limit=0.1, among=2)
    meter = Meter(Budget(queries=100))
    points = rows.points(question.space)
    score = question.tallied(
        terms,
        points,
        rows,
        meter,
        keep=False,
    )
    hits = np.array([40.0, 0.0]) * (0.5 if graded else 1)
    sizes = np.array([40.0, 40.0])
    interval = confidence_sequences.mixture_spread if graded else intervals.spread
    low, _ = interval(hits, sizes, 0.975)
    estimate = score.estimate
    assert (estimate.value, estimate.high, estimate.n) == (hits[0] / 40, 1.0, 80)
    assert estimate.low == pytest.approx(float(low))
    assert estimate.level == pytest.approx(0.975)
    assert estimate.population == "people"
    name = "anytime" if graded else "exact"
    assert score.groups[0].estimate.method == f"{name}, simultaneous over 2 groups"
    assert score.groups[0].estimate.level == 0.95
    (note,) = score.notes
    assert note == (
        "1 of 3 groups of race are empty, such as race c; may be treated in any way, which leaves"
        " the score undecided"
    )
    assert score.against == spread_evidence(
        terms,
        hits,
        sizes,
        fixed=not graded,
        empty=1,
    )
    assert score.against is not None
    # All rows were asked, and ten with their twins.
    assert meter.queries == (80 if graded else 100)


def test_a_group_that_nobody_can_be_in_leaves_a_sample_decided():
    space = eh.Space(SMALL_SPACE.features, constraints=["race != 'c'"])
    question = small(lambda people: people["id"] < 0, space)
    rows = eh.rows(frame_of("ab" * 50, [30] * 100), sample_of="people")
    points = rows.points(space)
    score = question.tallied(
        Terms(rows),
        points,
        rows,
        Meter(),
        keep=False,
    )
    assert list(score.notes) == []
    assert score.estimate.high < 0.2


def drawn_score(
    question: GroupQuestion, terms: Terms, meter: Meter | None = None, *, keep: bool = False
) -> tuple[Score, Meter]:
    counted = Meter() if meter is None else meter
    with Workers(1) as workers:
        return question.sampled(terms, counted, workers, keep=keep), counted


def test_groups_with_people_of_their_own_are_drawn_apart():
    question = small(space=ONE_RACE_OLDER)
    terms = Terms(Uniform(), limit=0.3)
    assert isinstance(question._plan(terms, 3), SpreadPlan)
    score, meter = drawn_score(question, terms, keep=True)
    assert score.stop is StopReason.DECIDED
    (tests,) = score.tests
    n = len(tests.points) // 3
    assert tests.draw.tolist() == list(range(n)) * 3
    is_hit = tests.outcomes.reshape(3, n)
    hits = is_hit.sum(axis=1)
    assert rates_of(score) == (hits / n).tolist()
    assert score.estimate.value == pytest.approx((hits.max() - hits.min()) / n)
    assert score.groups[0].estimate.method == "anytime, simultaneous over 3 groups"
    assert score.groups[0].estimate.level == 0.95
    # Nobody of b is below 20: everybody who is moved there loses.
    assert [case.twin["race"] for case in score.cases] == ["b"] * 3
    assert [case.individual["race"] for case in score.cases] == ["a"] * 3
    assert score.against == spread_evidence(terms, hits.astype(float), np.full(3, float(n)))
    assert score.answers == (True, False)
    older = (
        GroupCount.of(
            question.view,
            question.groups,
            (0, 1, 2),
            Uniform(),
            0,
        )
    ).draws[0]
    able_to_move = int((older.take(0, 32)[:, 1] > 19).sum())
    assert meter.queries == 3 * n + 2 * able_to_move


def test_the_same_people_are_asked_as_members_of_each_group():
    question = small(lambda people: favours_a(people) | (people["race"] == "c"))
    terms = Terms(Uniform(), limit=0.3, among=2)
    plan = question._plan(terms, 3)
    assert isinstance(plan, PairedPlan)
    score, meter = drawn_score(question, terms, keep=True)
    (tests,) = score.tests
    n = len(tests.points) // 3
    amounts = tests.outcomes.reshape(3, n).T.astype(float)
    assert rates_of(score) == amounts.mean(axis=0).tolist()
    assert score.estimate.value == pytest.approx(1 - amounts[:, 1].mean())
    assert meter.queries == 3 * n + 64
    assert [case.individual["race"] for case in score.cases] == ["a"] * 3
    assert [case.twin["race"] for case in score.cases] == ["b"] * 3
    assert score.against is not None
    assert score.against.e_value is not None
    without, _ = drawn_score(question, terms)
    assert list(without.tests) == []
    alone, _ = drawn_score(question, Terms(Uniform(), level=0.975, limit=0.3))
    assert alone.against is not None
    assert score.against.p_value == pytest.approx(2 * alone.against.p_value)


@pytest.mark.parametrize(("left_after", "has_cases"), [(63, False), (64, True)])
@pytest.mark.parametrize("space", [SMALL_SPACE, ONE_RACE_OLDER])
def test_cases_are_sought_where_the_budget_leaves_enough(space, left_after, has_cases):
    question = small(space=space)
    terms = Terms(Uniform(), limit=0.3)
    whole, _ = drawn_score(question, terms)
    queries = whole.estimate.n + left_after
    score, meter = drawn_score(question, terms, Meter(Budget(queries=queries)))
    assert score.estimate == whole.estimate
    assert bool(score.cases) == has_cases
    assert (meter.queries > score.estimate.n) == has_cases


def test_drawn_scores_have_no_cases():
    question = scored(half_for_a)
    score, meter = drawn_score(question, Terms(Uniform(), limit=0.3))
    assert score.estimate.value == 0.5
    assert score.cases == []
    assert meter.queries == score.estimate.n


@pytest.mark.parametrize("space", [SMALL_SPACE, ONE_RACE_OLDER])
def test_nobody_is_moved_where_all_are_treated_alike(space):
    question = small(lambda people: people["id"] >= 0, space)
    score, meter = drawn_score(question, Terms(Uniform(), limit=0.5))
    assert score.estimate.value == 0
    assert score.cases == []
    assert meter.queries == score.estimate.n


def test_groups_without_anybody_are_not_drawn():
    space = eh.Space(SMALL_SPACE.features, constraints=["race != 'b'"])
    score, _ = drawn_score(small(space=space), Terms(Uniform(), limit=0.3))
    assert [group.about["race"] for group in score.groups] == ["a", "c"]
    (note,) = score.notes
    assert note.endswith("such as race b; the score says nothing of them")


def test_drawing_ends_where_no_more_is_worth_it():
    """Half of b and of c is favoured: the spread is the limit itself."""
    for space in (SMALL_SPACE, ONE_RACE_OLDER):
        question = small(
            lambda people: (people["race"] == "a") | (people["id"] > 29), space
        )
        terms = Terms(Uniform(), limit=0.75, enough=900)
        score, _ = drawn_score(question, terms)
        assert score.estimate.n <= 900


def test_the_fewest_inputs_of_groups_with_people_of_their_own_are_those_of_the_first_look():
    terms = Terms(Uniform(), limit=0.2)
    question = small(space=ONE_RACE_OLDER)
    question.view.subject.adapter.expensive = True
    first = next(iter(question._plan(terms, 3).looks(None)))
    assert question.fewest(terms) == 3 * first


def test_drawing_never_takes_fewer_than_there_may_be_in_a_small_space():
    """With a limit of 0 nothing is decided by people who are all treated alike."""
    assert small().fewest(Terms(Uniform(), limit=0.0, margin=1e-4)) == SMALL


@pytest.mark.parametrize("expensive", [False, True])
@pytest.mark.parametrize("most", [None, 40])
def test_what_drawing_takes_is_the_mean_of_simulated_runs(expensive, most):
    question = small()
    question.view.subject.adapter.expensive = expensive
    terms = Terms(Uniform(), limit=0.3)
    runs = group_runs(
        question._plan(terms, 3),
        0.1,
        base=0.5,
        expensive=expensive,
        most=most,
        runs=SPREAD_RUNS,
    )
    assert question.expected(terms, 0.1, most) == runs.mean_inputs


@pytest.mark.parametrize("at_once", [7, 1 << 17])
def test_too_many_inputs_to_list_are_asked_some_at_a_time(monkeypatch, at_once):
    monkeypatch.setattr("evenhand.scores.enumeration.AT_ONCE", at_once)
    question = small()
    listed = enumerated(question, Meter())
    meter = Meter(Budget(queries=130))
    score = question.exhausted(Terms(Uniform()), meter)
    assert score.estimate.value == listed.estimate.value
    assert (score.estimate.n, score.estimate.level) == (120, 1.0)
    assert rates_of(score) == rates_of(listed)
    assert score.stop is StopReason.ENUMERATED
    assert score.answers == (True, False)
    # Ten are left: five people of the first part, of whom nobody loses.
    assert score.cases == []
    assert meter.queries == 130
    assert list(score.notes) == []


def test_inputs_that_are_missing_seldom_count_as_they_are_drawn():
    """A gap is as likely as its feature says, and not as likely as any value."""
    race = eh.category("race", ["a", "b"])
    number = eh.integer("id", 0, 1, missing=0.2)
    space = eh.Space([race, number], protected=["race"])
    question = small(lambda people: (people["race"] == "a") | people["id"].isna(), space)
    score = question.exhausted(Terms(Uniform()), Meter())
    assert rates_of(score) == pytest.approx([1.0, 0.2])
    listed = enumerated(question, Meter())
    assert rates_of(listed) == pytest.approx([1.0, 0.2])
    assert [group.estimate.n for group in score.groups] == [3, 3]


def test_the_rule_of_the_papers_draws_each_group_by_itself():
    question = small()
    terms = Terms(Uniform(), interval="wald", among=2, margin=0.1)
    score, meter = drawn_score(question, terms, keep=True)
    sizes = [group.estimate.n for group in score.groups]
    assert len(set(sizes)) > 1
    assert meter.queries == sum(sizes) == score.estimate.n
    (tests,) = score.tests
    assert [tests.points[:, 0].tolist().count(race) for race in (0, 1, 2)] == sizes
    starts = np.concatenate([[0], np.cumsum(sizes)])
    hits = [tests.outcomes[starts[at] : starts[at + 1]].sum() for at in range(3)]
    rates = [hit / size for hit, size in zip(hits, sizes, strict=True)]
    assert rates_of(score) == rates
    assert score.estimate.value == pytest.approx(max(rates) - min(rates))
    assert score.estimate.method == "wald"
    assert score.estimate.level == pytest.approx(0.975)
    assert score.groups[0].estimate.method == "wald"
    assert score.groups[0].estimate.level == 0.95
    assert score.stop is StopReason.MARGIN
    assert score.cases == ()
    assert score.answers == (True, False)
    lowest = min(rates)
    n = sizes[rates.index(lowest)]
    half = intervals.z_score(0.975) * math.sqrt(lowest * (1 - lowest) / n)
    assert score.estimate.low == pytest.approx(max(rates) - lowest - half)


def test_the_threshold_of_the_papers_is_that_of_the_terms():
    few, _ = drawn_score(
        small(), Terms(Uniform(), interval="wald", sampling_threshold=20, margin=0.4)
    )
    many, _ = drawn_score(
        small(), Terms(Uniform(), interval="wald", sampling_threshold=300, margin=0.4)
    )
    assert max(group.estimate.n for group in few.groups) < 100
    assert min(group.estimate.n for group in many.groups) > 300


def test_the_rule_of_the_papers_shares_the_budget_among_groups():
    question = small(lambda people: people["id"] < 20)
    terms = Terms(Uniform(), interval="wald", margin=0.001)
    score, meter = drawn_score(question, terms, Meter(Budget(queries=200)))
    assert [group.estimate.n for group in score.groups] == [66, 67, 67]
    assert meter.queries == 200
    assert score.stop is StopReason.QUERIES
    three, _ = drawn_score(question, terms, Meter(Budget(queries=3)))
    assert three.estimate.n == 3
    with pytest.raises(
        UsageError, match="2 queries are left, but one draw from each group takes 3"
    ):
        drawn_score(question, terms, Meter(Budget(queries=2)))


def claimed(question: GroupQuestion) -> str:
    score = enumerated(question, Meter())
    return question.claim(score.estimate, score.groups)


def test_what_was_found_is_a_sentence():
    assert claimed(small()) == "100.0 % of race a get True, and 12.5 % of race b"
    alike = small(lambda people: people["id"] < 5)
    assert claimed(alike) == "12.5 % get True in every group of race"
    scores = scored(half_for_a)
    assert claimed(scores) == (
        "the score is 50.0 % on average for race a, and 0.0 % for race b"
    )
    same = scored(lambda people: people["id"] * 0.0 + 0.25)
    assert claimed(same) == "the score is 25.0 % on average in every group of race"
