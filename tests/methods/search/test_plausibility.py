"""A search prefers people who could exist, and says how many of those found could."""

from __future__ import annotations

import numpy as np
import pandas as pd
import pytest

import evenhand as eh
from evenhand.population.realism import realism_of
from evenhand.report.terminal import lines

ROWS = 1500
BUDGET = eh.Budget(queries=6000)


@pytest.fixture(scope="module")
def people():
    """Whoever owes more earns more; the old earn little."""
    rng = np.random.default_rng(0)
    age = rng.integers(18, 90, ROWS)
    income = np.clip(rng.normal(900 - 8 * age, 60), 0, 999).round()
    debt = np.clip(income + rng.normal(0, 40, ROWS), 0, 999).round()
    frame = {
        "sex": rng.choice(["F", "M"], ROWS),
        "age": age,
        "income": income,
        "debt": debt,
    }
    whole = dict.fromkeys(("age", "income", "debt"), "int64")
    return pd.DataFrame(frame).astype(whole)


@pytest.fixture(scope="module")
def space(people):
    return eh.Space.from_frame(people, protected=["sex"])


def loan(people):
    return people["income"] > people["debt"] + 20 * (people["sex"] == "F")


@pytest.fixture(scope="module")
def realistic(space):
    return eh.search(loan, space, budget=BUDGET)


def test_what_is_found_is_plausible(space, realistic):
    frame = realistic.to_frame()
    realism = realism_of(space)
    assert realism is not None
    judged = realism.plausible(space.encode(frame))
    assert frame["realistic"].tolist() == judged.tolist()
    assert judged.mean() > 0.5
    many = eh.search(loan, space, budget=BUDGET, prefer="many").to_frame()
    assert many["realistic"].mean() < 0.45
    assert len(frame) > len(many) / 2


def test_the_plausible_come_first(realistic):
    flags = realistic.to_frame()["realistic"].to_numpy()
    assert (np.diff(flags.astype(int)) <= 0).all()


def test_the_number_of_plausible_people_is_shown(realistic):
    entry = realistic.details["search"][0]
    frame = realistic.to_frame()
    both = frame["realistic"] & frame["twin.realistic"]
    assert entry["prefer"] == "realistic"
    assert entry["plausible"] == {
        "individuals": int(frame["realistic"].sum()),
        "both": int(both.sum()),
    }
    text = "\n".join(lines(realistic))
    assert "of those found could be people like those in the data" in text


def test_the_cases_shown_are_plausible(realistic):
    assert all(case.realistic for case in realistic.worst.cases)


def test_many_is_what_a_space_without_rows_finds(space):
    many = eh.search(loan, space, budget=BUDGET, prefer="many")
    bare = eh.search(loan, space.remembering(None), budget=BUDGET)
    assert bare.details["search"][0]["prefer"] == "many"
    assert bare.details["search"][0]["plausible"] is None
    assert "realistic" not in bare.to_frame().columns
    inputs = many.to_frame().drop(columns=["realistic", "twin.realistic"])
    pd.testing.assert_frame_equal(inputs, bare.to_frame())


def test_it_is_the_same_for_any_number_of_workers(space, realistic):
    again = eh.search(loan, space, budget=BUDGET, n_jobs=2)
    assert again.digest == realistic.digest


def test_found_inputs_survive_a_file(realistic, tmp_path):
    file = tmp_path / "found.json"
    realistic.to_json(file)
    read = eh.Result.from_json(file).to_frame()
    assert read["realistic"].tolist() == realistic.to_frame()["realistic"].tolist()


def test_a_surrogate_prefers_them_too(space):
    found = eh.search(loan, space, strategy="surrogate", budget=eh.Budget(queries=2000))
    assert found.to_frame()["realistic"].mean() > 0.5


def test_a_feature_may_not_have_the_name_of_the_mark(people):
    renamed = people.rename(columns={"debt": "realistic"})
    space = eh.Space.from_frame(renamed, protected=["sex"])
    with pytest.raises(eh.UsageError, match="'realistic' has the name of a column"):
        eh.search(lambda people: people["age"] > 30, space, budget=BUDGET)
