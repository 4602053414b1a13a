"""The paper's group fairness score: as one draw after the other gives it, and on the networks of
its authors.
"""

from __future__ import annotations

import math
from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from evenhand.methods.mine.testsgd_score import Perturbed, group_score
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
    [category("sex", ["F", "M"]), integer("age", 0, 99), integer("income", 0, 99)],
    protected=["sex"],
)
ROWS = SPACE.draw(400, np.random.default_rng(0))


def neighbours_by(share: float, other: float) -> Neighbours:
    """Software that favours about these shares of women and of men."""
    subject = Subject(
        lambda people: people["income"] < 100 * np.where(people["sex"] == "F", share, other),
        SPACE,
        positive=True,
    )
    return Neighbours.of(View(subject), ["sex"])


def algorithm_2(
    neighbours: Neighbours, inside: Any, level: float, margin: float, least: int, name: Any
) -> Any:
    """The paper's lines, one draw at a time."""
    z, view = z_score(level), neighbours.view
    draws: list[Any] = [
        Draws(Perturbed(neighbours, ROWS, np.flatnonzero(mask)), SPACE, 7, *name, side, block=1024)  # type: ignore[arg-type]
        for side, mask in enumerate([inside, ~inside])
    ]
    favoured, error, num = [0.0, 0.0], math.inf, 0
    while error > margin:
        for side in (0, 1):
            favoured[side] += float(view.amount(view.decide(draws[side].take(num, num + 1)))[0])
        num += 1
        if num > least:
            one, other = favoured[0] / num, favoured[1] / num
            error = z * math.sqrt(one * (1 - one) / num) + z * math.sqrt(other * (1 - other) / num)
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
def test_blocks_give_exactly_what_a_check_after_every_draw_gives(shares, margin, least, level):
    neighbours = neighbours_by(*shares)
    inside = ROWS[:, 0] == 0
    options: dict[str, Any] = {"level": level, "margin": margin, "least": least}
    score = group_score(neighbours, ROWS, inside, seed=7, name=("F",), **options)
    expected = algorithm_2(neighbours, inside, name=("F",), **options)
    assert (score.inside, score.outside, score.n, score.half) == expected
    assert score.value == abs(score.inside - score.outside)


def test_the_papers_defaults_stop_as_its_example_does():
    score = group_score(neighbours_by(0.28, 0.09), ROWS, ROWS[:, 0] == 0, seed=0, name=("F",))
    assert score.n == 1001
    assert 0.04 < score.half <= 0.05
    wide = group_score(neighbours_by(0.5, 0.5), ROWS, ROWS[:, 0] == 0, seed=0, name=("F",))
    assert 1400 < wide.n <= 1537
    assert wide.half <= 0.05


def test_a_rate_of_0_or_1_has_no_margin_however_few_draws():
    score = group_score(neighbours_by(0, 1), ROWS, ROWS[:, 0] == 0, seed=0, name=("F",), least=3)
    assert (score.inside, score.outside, score.n, score.half) == (0, 1, 4, 0)


def test_seeds_and_names_give_different_draws():
    neighbours, inside = neighbours_by(0.3, 0.6), ROWS[:, 0] == 0
    first = group_score(neighbours, ROWS, inside, seed=0, name=("F",))
    assert group_score(neighbours, ROWS, inside, seed=0, name=("F",)) == first
    assert group_score(neighbours, ROWS, inside, seed=1, name=("F",)) != first
    assert group_score(neighbours, ROWS, inside, seed=0, name=("M",)) != first


def test_what_cannot_be_scored_is_named():
    neighbours, nobody = neighbours_by(0.3, 0.6), np.zeros(400, dtype=np.bool_)
    for mask, said in ((nobody, "covers 0 of 400"), (~nobody, "covers 400 of 400")):
        refused(
            UsageError, lambda mask=mask: group_score(neighbours, ROWS, mask, seed=0, name=()), said
        )  # type: ignore[misc]
    inside = ROWS[:, 0] == 0
    refused(
        UsageError,
        lambda: group_score(neighbours, ROWS, inside, margin=0, seed=0, name=()),
        "margin = 0",
    )
    refused(
        UsageError,
        lambda: group_score(neighbours, ROWS, inside, level=1, seed=0, name=()),
        "level is 1",
    )


def test_census():
    census = Authors("census", [0, 7, 8])
    age, race, sex = census.rows[:, 0], census.rows[:, 7], census.rows[:, 8]
    worst = (age >= 4) & (age <= 5) & (race <= 1) & (sex == 1)
    ((inside, outside),) = census.rates(worst)
    assert [inside, outside] == pytest.approx([0.3817, 0.1087], abs=5e-5)
    assert census.neighbours.cost == 20
    score = group_score(census.neighbours, census.rows, worst, seed=0, name=("census",))
    assert abs(score.value - 0.273) < 0.05
    assert score.half <= 0.05
    assert 1001 <= score.n <= 1537


def test_bank():
    bank = Authors("bank", [0])
    age = bank.rows[:, 0]
    small, next_best = (~(age <= 8), ~(age <= 7))
    assert (small.sum(), next_best.sum()) == (9, 130)
    scores = [abs(one - other) for one, other in bank.rates(small, next_best)]
    assert scores == pytest.approx([0.630, 0.288], abs=5e-4)


def test_credit():
    credit = Authors("credit", [8, 12])
    sex, age = credit.rows[:, 8], credit.rows[:, 12]
    ((inside, outside),) = credit.rates((age >= 4) & (age <= 5) & (sex == 1))
    assert inside - outside == pytest.approx(0.178, abs=5e-4)


def test_compas():
    compas = Authors("compas", list(range(8)))
    age, male, black = compas.rows[:, 0], compas.rows[:, 1], compas.rows[:, 5]
    other_races = compas.rows[:, [2, 3, 4, 6, 7]].any(axis=1)
    assert (other_races == (black == 0)).all()
    ((inside, outside),) = compas.rates((age >= 8) & other_races & (male == 1))
    assert outside - inside == pytest.approx(0.4105, abs=5e-5)
