"""The paper's group fairness score: draw by draw, and on the networks of its authors."""

from __future__ import annotations

import math
from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from evenhand.methods.mine.testsgd_score import DrawingRule, Perturbed, group_score
from evenhand.population.samplers import Draws
from evenhand.runtime.errors import UsageError
from evenhand.scores.neighbours import Neighbours
from evenhand.space.feature import category, integer
from evenhand.space.space import Space
from evenhand.statistics.intervals import z_score
from evenhand.subject.subject import Subject
from evenhand.subject.view import View
from tests.support.authors import Authors
from tests.support.helpers import examples, refused

SPACE = Space(
    [
        category("sex", ["F", "M"]),
        integer("age", 0, 99),
        integer("income", 0, 99),
    ],
    protected=["sex"],
)
ROWS = SPACE.draw(400, np.random.default_rng(0))
WOMEN = ROWS[:, 0] == 0


def neighbours_by(share: float, other: float) -> Neighbours:
    """Software that favours about these shares of women and of men."""

    def decide(people: Any) -> Any:
        is_woman = people["sex"] == "F"
        percent = 100 * np.where(is_woman, share, other)
        return people["income"] < percent

    subject = Subject(decide, SPACE, positive=True)
    return Neighbours.of(View(subject), ["sex"])


def score_of_women(neighbours: Neighbours, *, seed: int = 0, **options: Any) -> Any:
    return group_score(neighbours, ROWS, WOMEN, seed=seed, name=("F",), **options)


def draws_of(neighbours: Neighbours, mask: Any, name: Any, side: int) -> Any:
    """Return the draws of neighbours of some rows."""
    rows = np.flatnonzero(mask)
    population: Any = Perturbed(neighbours, ROWS, rows)
    return Draws(population, SPACE, 7, *name, side, block=1024)


def wald_margin(z: float, rate: float, num: int) -> float:
    """Return the margin of error of a rate (Equation 7)."""
    return z * math.sqrt(rate * (1 - rate) / num)


def algorithm_2(
    neighbours: Neighbours, inside: Any, level: float, margin: float, least: int, name: Any
) -> Any:
    """The paper's lines, one draw at a time."""
    z = z_score(level)
    view = neighbours.view
    draws = [
        draws_of(neighbours, inside, name, 0),
        draws_of(neighbours, ~inside, name, 1),
    ]
    favoured = [0.0, 0.0]
    error = math.inf
    num = 0
    while error > margin:
        for side in (0, 1):
            drawn = draws[side].take(num, num + 1)
            amount = view.amount(view.decide(drawn))
            favoured[side] += float(amount[0])
        num += 1
        if num > least:
            inside_margin = wald_margin(z, favoured[0] / num, num)
            outside_margin = wald_margin(z, favoured[1] / num, num)
            error = inside_margin + outside_margin
            if error <= margin:
                break
    return favoured[0] / num, favoured[1] / num, num, error


@settings(max_examples=examples(12), deadline=None)
@given(
    shares=st.tuples(st.floats(0, 1), st.floats(0, 1)),
    margin=st.sampled_from([0.1, 0.15, 0.2]),
    least=st.sampled_from([0, 1, 20, 100]),
    level=st.sampled_from([0.8, 0.95]),
)
def test_blocks_give_exactly_what_a_check_after_every_draw_gives(
    shares, margin, least, level
):
    neighbours = neighbours_by(*shares)
    rule = DrawingRule(sample_thr=least, error_thr=margin)
    score = score_of_women(neighbours, seed=7, level=level, rule=rule)
    expected = algorithm_2(neighbours, WOMEN, level, margin, least, name=("F",))
    inside, outside, n, half = expected
    assert score.inside == inside
    assert score.outside == outside
    assert score.n == n
    assert score.half == half
    assert score.value == abs(inside - outside)


def test_the_papers_defaults_stop_as_its_example_does():
    score = score_of_women(neighbours_by(0.28, 0.09))
    assert score.n == 1001
    assert 0.04 < score.half <= 0.05
    wide = score_of_women(neighbours_by(0.5, 0.5))
    assert 1400 < wide.n <= 1537
    assert wide.half <= 0.05


def test_a_rate_of_0_or_1_has_no_margin_however_few_draws():
    score = score_of_women(neighbours_by(0, 1), rule=DrawingRule(sample_thr=3))
    assert score.inside == 0
    assert score.outside == 1
    assert score.n == 4
    assert score.half == 0


def test_seeds_and_names_give_different_draws():
    neighbours = neighbours_by(0.3, 0.6)
    first = score_of_women(neighbours)
    again = score_of_women(neighbours)
    other_seed = score_of_women(neighbours, seed=1)
    other_name = group_score(neighbours, ROWS, WOMEN, seed=0, name=("M",))
    assert again == first
    assert other_seed != first
    assert other_name != first


NOBODY = np.zeros(400, dtype=np.bool_)


@pytest.mark.parametrize(
    ("mask", "options", "sentence"),
    [
        (NOBODY, {}, "covers 0 of 400"),
        (~NOBODY, {}, "covers 400 of 400"),
        (WOMEN, {"level": 1}, "level is 1"),
    ],
)
def test_what_cannot_be_scored_is_named(mask, options, sentence):
    neighbours = neighbours_by(0.3, 0.6)
    refused(
        UsageError,
        lambda: group_score(neighbours, ROWS, mask, seed=0, name=(), **options),
        sentence,
    )


@pytest.mark.parametrize(
    ("options", "sentence"),
    [
        ({"error_thr": 0}, "error_thr = 0 must lie between 0 and 1"),
        ({"error_thr": True}, "error_thr = True must lie between 0 and 1"),
        ({"error_thr": "x"}, "error_thr = 'x' must lie between 0 and 1"),
        ({"sample_thr": -1}, "sample_thr = -1 must be a whole number"),
        ({"sample_thr": 2.5}, "sample_thr = 2.5 must be a whole number"),
    ],
)
def test_thresholds_that_end_no_drawing_are_named(options, sentence):
    refused(UsageError, lambda: DrawingRule(**options), sentence)


def test_a_finer_error_threshold_takes_as_many_draws_as_walds_formula():
    score = score_of_women(neighbours_by(0.5, 0.5), rule=DrawingRule(error_thr=0.025))
    assert score.half <= 0.025
    assert 5_900 < score.n <= DrawingRule(error_thr=0.025).most(0.95) == 6_147


def test_census():
    census = Authors("census", [0, 7, 8])
    columns = census.rows.T
    age = columns[0]
    race = columns[7]
    sex = columns[8]
    middle_aged = (age >= 4) & (age <= 5)
    worst = middle_aged & (race <= 1) & (sex == 1)
    ((inside, outside),) = census.rates(worst)
    assert inside == pytest.approx(0.3817, abs=5e-5)
    assert outside == pytest.approx(0.1087, abs=5e-5)
    assert census.neighbours.cost == 20
    score = group_score(census.neighbours, census.rows, worst, seed=0, name=("census",))
    assert abs(score.value - 0.273) < 0.05
    assert score.half <= 0.05
    assert 1001 <= score.n <= 1537


def test_bank():
    bank = Authors("bank", [0])
    age = bank.rows[:, 0]
    small = age > 8
    next_best = age > 7
    assert small.sum() == 9
    assert next_best.sum() == 130
    rates = bank.rates(small, next_best)
    scores = [abs(inside - outside) for inside, outside in rates]
    assert scores == pytest.approx([0.630, 0.288], abs=5e-4)


def test_credit():
    credit = Authors("credit", [8, 12])
    sex = credit.rows[:, 8]
    age = credit.rows[:, 12]
    middle_aged = (age >= 4) & (age <= 5)
    ((inside, outside),) = credit.rates(middle_aged & (sex == 1))
    assert inside - outside == pytest.approx(0.178, abs=5e-4)


def test_compas():
    compas = Authors("compas", list(range(8)))
    age = compas.rows[:, 0]
    male = compas.rows[:, 1]
    black = compas.rows[:, 5]
    other_races = compas.rows[:, [2, 3, 4, 6, 7]].any(axis=1)
    assert (other_races == (black == 0)).all()
    worst = (age >= 8) & other_races & (male == 1)
    ((inside, outside),) = compas.rates(worst)
    assert outside - inside == pytest.approx(0.4105, abs=5e-5)


def test_the_most_draws_are_over_the_threshold_and_enough_for_rates_of_a_half():
    assert DrawingRule(sample_thr=5000).most(0.95) == 5001
    assert DrawingRule(sample_thr=0).most(0.95) == 1537
    assert DrawingRule().most(0.95) == 1537


def test_after_a_margin_that_is_too_wide_the_draws_that_would_reach_it_are_asked_at_once():
    asked = []

    def decide(people: Any) -> Any:
        asked.append(len(people))
        return people["income"] < 50

    view = View(Subject(decide, SPACE, positive=True))
    neighbours = Neighbours.of(view, ["sex"])
    asked.clear()
    score = score_of_women(neighbours)
    assert 1400 < score.n <= 1537
    # First the threshold and one more of each side, then all that rates of about a half need.
    assert sum(asked) == pytest.approx(2 * 1537, rel=0.02)
