"""Realism: near enough to a real row, and no two values that are never seen together."""

from __future__ import annotations

import numpy as np
import pandas as pd
import pytest

import evenhand as eh
from evenhand.population.pairs import Pairs
from evenhand.population.realism import LEAST_ROWS, Realism, realism_of

PEOPLE = 2000


@pytest.fixture(scope="module")
def households():
    """Husbands are male and wives female, but for one error; grown-ups earn, children do not."""
    rng = np.random.default_rng(0)
    role = rng.choice(["Husband", "Wife", "Child"], PEOPLE)
    coin = rng.choice(["F", "M"], PEOPLE)
    sex = coin.copy()
    sex[role == "Husband"] = "M"
    sex[role == "Wife"] = "F"
    age = np.where(
        role == "Child",
        rng.integers(0, 18, PEOPLE),
        rng.integers(18, 80, PEOPLE),
    )
    income = np.where(role == "Child", 0, rng.integers(10, 100, PEOPLE))
    sex[np.flatnonzero(role == "Husband")[-1]] = "F"
    return pd.DataFrame({"role": role, "sex": sex, "age": age, "income": income})


@pytest.fixture(scope="module")
def space(households):
    return eh.Space.from_frame(households, protected=["sex"])


@pytest.fixture(scope="module")
def realism(space):
    found = realism_of(space)
    assert found is not None
    return found


def points(space, *people):
    names = ("role", "sex", "age", "income")
    records = []
    for person in people:
        records.append(dict(zip(names, person, strict=True)))
    return space.encode(records)


def test_who_could_exist(space, realism):
    people = points(
        space,
        ("Husband", "M", 40, 50),
        ("Husband", "F", 40, 50),
        ("Child", "F", 60, 50),
        ("Child", "M", 7, 0),
    )
    assert realism.plausible(people).tolist() == [True, False, False, True]


def test_most_real_rows_are_plausible(space, realism, households):
    share = realism.plausible(space.encode(households)).mean()
    assert 0.93 <= share < 1
    everybody = space.draw(2000, np.random.default_rng(1))
    assert realism.plausible(everybody).mean() < 0.5


def test_one_error_in_the_data_does_not_make_a_pair_common(space, realism):
    pair = (space.index("role"), space.index("sex"))
    assert realism.pairs.never[pair].sum() == 2


def test_pairs_that_chance_leaves_out_are_possible():
    rng = np.random.default_rng(0)
    columns = [rng.integers(0, 30, 300), rng.integers(0, 30, 300)]
    rows = np.stack(columns, axis=1).astype(np.float64)
    features = []
    for name in ("first", "second"):
        features.append(eh.category(name, list(range(30))))
    assert Pairs.of(rows, eh.Space(features)).never == {}


def test_the_distance_is_that_of_a_plain_computation(space, realism, households):
    some = space.draw(50, np.random.default_rng(2))
    rows = realism.rows
    widths = [1.0, 1.0, rows[:, 2].std(), rows[:, 3].std()]
    expected = []
    for point in some:
        gaps = (rows - point) / widths
        gaps[:, :2] = gaps[:, :2] != 0
        distances = np.sqrt((gaps**2).sum(axis=1))
        expected.append(distances.min())
    np.testing.assert_allclose(realism.distances(some), expected, atol=2e-3)
    nearest, near = realism.nearest(some)
    apart = realism.apart(some, rows[nearest])
    np.testing.assert_allclose(apart, expected, atol=2e-3)
    assert near.tolist() == realism.near(some).tolist()


def test_too_few_rows_tell_nothing(space, households):
    rows = space.encode(households)
    assert Realism.of(rows[: LEAST_ROWS - 1], space) is None
    assert realism_of(space.remembering(None)) is None


def test_of_few_kinds_of_people_all_are_known(space, households):
    rows = space.encode(households)
    known = np.repeat(rows[:3], 100, axis=0)
    realism = Realism.of(known, space)
    assert realism is not None
    assert realism.plausible(rows[:3]).all()
    assert not realism.plausible(rows[3:20]).any()


def test_it_is_learnt_once(space, realism):
    same = realism_of(space)
    assert same is realism
    again = Realism.of(space.encode(space.rows), space)
    assert again is not None
    assert again.radius == same.radius


def test_missing_values_are_compared_like_levels():
    rng = np.random.default_rng(0)
    income = rng.integers(10, 100, 400).astype(float)
    income[:200] = np.nan
    job = ["none"] * 200 + ["some"] * 200
    frame = pd.DataFrame({"income": income, "job": job})
    space = eh.Space.from_frame(frame)
    realism = realism_of(space)
    assert realism is not None
    people = [
        {"income": None, "job": "none"},
        {"income": None, "job": "some"},
        {"income": 50.0, "job": "some"},
    ]
    assert realism.plausible(space.encode(people)).tolist() == [True, False, True]


def test_a_twin_that_could_not_exist_is_marked(space):
    def grant(people):
        return (people["income"] > 30) & (people["sex"] == "M")

    found = eh.measure(grant, space)
    cases = found.worst.cases
    assert cases
    for case in cases:
        assert case.realistic
        assert case.realistic_twin == (case.individual["role"] == "Child")
        assert ("unusual twin" in str(case)) == (not case.realistic_twin)
    again = eh.Result.from_dict(found.to_dict())
    assert again.worst.cases == cases
    without = eh.measure(grant, space.remembering(None))
    assert {case.realistic for case in without.worst.cases} == {None}
