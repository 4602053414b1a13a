"""How precisely a score is to be known, and how much is worth drawing."""

from __future__ import annotations

import math
from typing import Any

import numpy as np
import pytest

import evenhand as eh
from evenhand.population.samplers import Uniform
from evenhand.results.evidence import Group
from evenhand.scores.kinds import question_of, questions_of
from evenhand.scores.question import (
    Precision,
    Score,
    Terms,
    rate_evidence,
    spread_evidence,
)
from evenhand.statistics.discoveries import (
    AgainstLimit,
    exact_rate_against,
    exact_spread_against,
    rate_against,
    spread_against,
)
from evenhand.statistics.estimate import Estimate, StopReason
from evenhand.subject.view import View


@pytest.mark.parametrize(
    ("margin", "limit", "of_expensive", "of_cheap"),
    [
        (None, None, Precision(0.05), Precision(0.05)),
        (0.02, None, Precision(0.02), Precision(0.02)),
        (None, 0.1, Precision(0.02), Precision(0.05, 0.002)),
        (None, 0.5, Precision(0.05), Precision(0.05, 0.01)),
        (0.04, 0.1, Precision(0.04), Precision(0.04, 0.002)),
        (0.001, 0.1, Precision(0.001), Precision(0.001, 0.001)),
        (None, 0.0, Precision(0.05), Precision(0.05, 0.001)),
    ],
)
def test_margins_follow_the_limit(margin, limit, of_expensive, of_cheap):
    terms = Terms(Uniform(), margin=margin, limit=limit)
    assert terms.margins(expensive=True) == of_expensive
    assert terms.margins(expensive=False) == of_cheap


def test_a_limit_in_the_unit_of_outcomes_sets_no_margin():
    terms = Terms(Uniform(), limit=500.0, units="outcome")
    assert terms.margins(expensive=False) == Precision(0.05)


def test_how_many_draws_are_worth_it():
    assert Terms(Uniform()).enough_draws(3) is None
    assert Terms(Uniform(), enough=11).enough_draws(3) == 3
    assert Terms(Uniform(), enough=2).enough_draws(3) == 1
    assert math.isclose(Terms(Uniform(), level=0.9, among=4).share, 0.975)


def estimate(value: float, **changes: Any) -> Estimate:
    fields = {"n": 100, "level": 0.95, "method": "exact", **changes}
    return Estimate(
        value,
        value,
        value,
        population="all",
        **fields,
    )


def test_a_rate_speaks_against_its_limit():
    terms = Terms(Uniform(), limit=0.1, among=3)
    found = estimate(0.3)
    assert rate_evidence(terms, found) == rate_against(30, 100, 0.1, among=3)
    fixed = rate_evidence(terms, found, fixed=True)
    assert fixed == exact_rate_against(30, 100, 0.1, among=3)
    of_few = rate_evidence(terms, found, size=150)
    assert of_few == rate_against(
        30,
        100,
        0.1,
        among=3,
        size=150,
    )
    assert len({found_one.p_value for found_one in (fixed, of_few) if found_one}) == 2


@pytest.mark.parametrize(
    ("limit", "changes"),
    [
        (None, {}),
        (0.1, {"method": "wald"}),
        (0.1, {"method": "wilson"}),
        (0.1, {"level": 1.0}),
    ],
)
def test_a_rate_without_a_limit_or_an_error_speaks_against_nothing(limit, changes):
    assert rate_evidence(Terms(Uniform(), limit=limit), estimate(0.3, **changes)) is None


def test_a_spread_speaks_against_its_limit():
    terms = Terms(Uniform(), limit=0.25, among=2)
    hits, sizes = np.array([30.0, 5.0]), np.array([40.0, 40.0])
    anytime = spread_evidence(terms, hits, sizes)
    assert anytime == spread_against(hits, sizes, 0.25, among=2)
    fixed = spread_evidence(terms, hits, sizes, fixed=True)
    assert fixed == exact_spread_against(hits, sizes, 0.25, among=2)
    assert fixed != anytime
    assert spread_evidence(Terms(Uniform()), hits, sizes) is None


@pytest.mark.parametrize(
    ("hits", "says_nothing"), [(20.0, False), (21.0, True), (5.0, False)]
)
def test_a_group_that_nobody_was_seen_of_may_be_over_the_limit(hits, says_nothing):
    """Ten of forty more is the limit itself: it can only be over it."""
    terms = Terms(Uniform(), limit=0.25)
    both, sizes = np.array([30.0, hits]), np.array([40.0, 40.0])
    found = spread_evidence(terms, both, sizes, empty=1)
    if says_nothing:
        assert found == AgainstLimit(1.0)
    else:
        assert found == spread_against(both, sizes, 0.25)
    assert spread_evidence(terms, both, sizes) == spread_against(both, sizes, 0.25)


def test_an_estimate_has_the_level_that_all_share():
    one = estimate(0.3, level=0.975)
    assert Terms(Uniform()).shared(one) is one
    shared = Terms(Uniform(), level=0.9, among=4).shared(one)
    assert (shared.level, shared.method) == (0.9, "exact, simultaneous over 4")
    exact = estimate(0.3, level=1.0)
    assert Terms(Uniform(), level=0.9, among=4).shared(exact) is exact


def test_whether_anybody_was_favoured():
    def score(*rates: float) -> Score:
        groups = tuple(Group({"sex": "F"}, estimate(rate)) for rate in rates)
        return Score(estimate(0.1), StopReason.MARGIN, groups=groups)

    assert score().favoured is None
    assert score(0.0, 0.1).favoured is True
    assert score(0.0, 0.0).favoured is False


def both(people: Any) -> Any:
    return {"grant": people["id"] > 4, "rate": people["id"]}


def test_a_question_in_a_few_words():
    space = eh.Space([eh.category("sex", ["F", "M"]), eh.integer("id", 0, 9)])
    alone = eh.Subject(lambda people: people["id"] > 4, space)
    question = question_of(View(alone), "causal", ("sex", "id"))
    assert question.task == "causal sex, id"
    assert question.stream == ("measure", "causal", "sex", "id")
    assert question.space is alone.space
    two = eh.Subject(both, space, outputs=["grant", "rate"])
    found = questions_of(two, "causal", [("sex",), ("id",)])
    assert [one.task for one in found] == [
        "causal sex of grant",
        "causal id of grant",
        "causal sex of rate",
        "causal id of rate",
    ]
    assert {one.kind for one in found} == {"causal"}
    # All outputs are measured on the same inputs.
    assert found[0].stream == found[2].stream
    group = question_of(View(alone), "group", ("sex",))
    assert (group.kind, group.answers, group.of_numbers) == ("group", 1, False)
    assert group.most(Terms(Uniform())) is None


def test_numbers_are_asked_for_their_means():
    space = eh.Space([eh.category("sex", ["F", "M"]), eh.integer("id", 0, 99)])
    subject = eh.Subject(lambda people: people["id"] + 0.5, space, differs=3.0)
    from evenhand.scores.numbers.settling import settle_differs

    subject.decide([{"sex": "F", "id": 1}])
    settle_differs(subject)
    question = question_of(View(subject), "group", ("sex",))
    assert (question.answers, question.of_numbers) == (2, True)
    assert question_of(View(subject), "causal", ("sex",)).kind == "causal"
