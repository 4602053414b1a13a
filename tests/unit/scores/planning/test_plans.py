"""The plans that questions follow: which kind, and what they are given."""

from __future__ import annotations

import pytest

from evenhand.population.samplers import Uniform
from evenhand.scores.planning.plans import causal_plan, group_plan
from evenhand.scores.question import Terms
from evenhand.statistics.sequential.group_stopping import SpreadPlan
from evenhand.statistics.sequential.paired_groups import PairedPlan

TERMS = Terms(
    Uniform(),
    level=0.9,
    limit=0.1,
    among=2,
    sampling_threshold=17,
)


@pytest.mark.parametrize("expensive", [False, True])
def test_a_causal_plan_has_the_precision_of_its_terms(expensive):
    plan = causal_plan(TERMS, expensive=expensive, variants=2, population="all")
    margins = TERMS.margins(expensive=expensive)
    assert plan.level == pytest.approx(0.95)
    assert (plan.limit, plan.population, plan.size) == (0.1, "all", None)
    assert (plan.margin, plan.finest) == (margins.wanted, margins.finest)
    assert plan.precise == (not expensive)
    assert plan.sampling_threshold == 17


@pytest.mark.parametrize(
    ("interval", "precise"),
    [(None, True), ("exact", True), ("anytime", True), ("wald", False), ("wilson", False)],
)
def test_formulas_of_the_papers_are_never_made_precise(interval, precise):
    terms = Terms(Uniform(), margin=0.1)
    plan = causal_plan(terms, expensive=False, variants=2, interval=interval)
    assert plan.precise == precise
    assert plan.interval == interval


@pytest.mark.parametrize(
    ("limit", "size", "variants", "has_margin"),
    [
        (0.0, 5_000, 2, False),
        (0.0, 5_001, 2, True),
        (0.0, None, 2, True),
        (0.1, 5_000, 2, True),
        (None, 5_000, 2, True),
        (0.0, 10_000, 1, False),
    ],
)
def test_with_a_limit_of_0_all_inputs_are_asked_where_they_are_few(
    limit, size, variants, has_margin
):
    terms = Terms(Uniform(), limit=limit)
    plan = causal_plan(terms, expensive=False, variants=variants, size=size)
    assert (plan.margin is not None) == has_margin
    assert plan.size == size
    if size is not None:
        assert plan.finest is None


@pytest.mark.parametrize(
    ("interval", "counts", "separate", "groups", "kind", "used"),
    [
        (None, True, True, 3, PairedPlan, None),
        (None, True, True, 128, PairedPlan, None),
        (None, True, True, 129, SpreadPlan, None),
        (None, True, False, 3, SpreadPlan, None),
        (None, False, True, 3, PairedPlan, "anytime"),
        (None, False, False, 3, SpreadPlan, "anytime"),
        ("anytime", True, True, 3, PairedPlan, "anytime"),
        ("exact", True, True, 3, SpreadPlan, "exact"),
    ],
)
def test_groups_are_asked_about_the_same_people_where_that_is_fair(
    interval, counts, separate, groups, kind, used
):
    terms = Terms(
        Uniform(),
        level=0.9,
        limit=0.1,
        among=2,
        interval=interval,
    )
    plan = group_plan(
        terms,
        expensive=False,
        groups=groups,
        counts=counts,
        separate=separate,
        population="all",
    )
    assert type(plan) is kind
    assert plan.interval == used
    assert plan.level == pytest.approx(0.95)
    assert (plan.groups, plan.limit, plan.population) == (groups, 0.1, "all")
    assert (plan.margin, plan.finest, plan.precise) == (0.05, 0.002, True)


def test_expensive_groups_are_asked_until_decided():
    plan = group_plan(TERMS, expensive=True, groups=2)
    assert (plan.margin, plan.finest, plan.precise) == (0.02, None, False)
    assert type(plan) is PairedPlan
