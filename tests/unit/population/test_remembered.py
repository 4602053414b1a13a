"""A space remembers the rows it was inferred from, and scores are about them by default."""

from __future__ import annotations

import copy
import pickle

import pandas as pd
import polars as pl
import pytest

import evenhand as eh
from evenhand.population.remembered import remembered, remembered_frame
from evenhand.population.samplers import Uniform, checked_sampler


@pytest.fixture
def people():
    return pd.DataFrame(
        {
            "sex": ["F", "M", "F", "M"],
            "age": [20, 30, 40, 60],
            "paid": [0, 1, 1, 0],
        }
    )


def old_men(frame):
    return (frame["age"] >= 40) & (frame["sex"] == "M")


def test_the_rows_are_the_default_population(people):
    space = eh.Space.from_frame(people, protected=["sex"], target="paid")
    found = eh.measure(old_men, space)
    # Two of the four are 40 or older.
    assert found.worst.estimate.value == 0.5
    assert found.worst.estimate.population == "the 4 remembered rows"
    same = eh.measure(old_men, space, sampler=eh.rows(people))
    assert same.worst.estimate.value == found.worst.estimate.value


def test_uniform_inputs_are_asked_for_by_name(people):
    space = eh.Space.from_frame(people, protected=["sex"], target="paid")
    without = eh.Space.from_frame(people, protected=["sex"], target="paid", remember=False)
    named = eh.measure(old_men, space, sampler=eh.uniform())
    assert without.rows is None
    assert named.worst.estimate == eh.measure(old_men, without).worst.estimate
    assert named.worst.estimate.population == "all inputs, uniformly"
    # 21 of the 41 ages from 20 to 60 are 40 or more.
    assert named.worst.estimate.value == pytest.approx(21 / 41)


def test_subsets_are_about_the_rows(people):
    space = eh.Space.from_frame(people, protected=["sex"], target="paid")
    found = eh.subsets(old_men, space, among=["sex"], limit=0.25)
    assert found.worst.estimate.population == "the 4 remembered rows"


def test_prevalence_is_about_all_inputs(people):
    space = eh.Space.from_frame(people, protected=["sex"], target="paid")
    assert (
        eh.prevalence(old_men, space).worst.estimate.population == "all inputs, uniformly"
    )


def test_rows_change_neither_equality_nor_digest_nor_dictionary(people):
    space = eh.Space.from_frame(people)
    bare = space.remembering(None)
    assert space == bare
    assert space.digest == bare.digest
    assert space.to_dict() == bare.to_dict()
    assert remembered(bare) is None
    assert isinstance(checked_sampler(None, bare), Uniform)


def test_rows_do_not_travel_with_the_space(people):
    many = pd.concat([people] * 10_000)
    space = eh.Space.from_frame(many)
    remembered(space)
    sent = pickle.dumps(space)
    assert len(sent) < 10_000
    assert pickle.loads(sent).rows is None
    assert copy.deepcopy(space).rows is space.rows


def test_later_changes_of_the_frame_are_not_seen(people):
    space = eh.Space.from_frame(people)
    people["age"] = 20
    assert space.rows["age"].tolist() == [20, 30, 40, 60]


def test_rows_that_are_no_inputs_are_left_out(people):
    bounds = {"age": {"low": 25, "high": 60}}
    space = eh.Space.from_frame(
        people,
        features=bounds,
        constraints=["not (sex == 'M' and age > 50)"],
    )
    words = "the 2 of 4 remembered rows that are inputs of the space"
    inputs = remembered(space)
    assert inputs is not None
    assert inputs.population(space) == words
    assert remembered_frame(space)["age"].tolist() == [30, 40]
    nobody = space.remembering(people[["sex"]])
    assert remembered(nobody) is None


def test_constraints_alone_leave_rows_of_any_engine(people):
    frame = pl.from_pandas(people)
    space = eh.Space.from_frame(frame, constraints=["age < 50"])
    assert isinstance(remembered_frame(space), pl.DataFrame)
    assert remembered_frame(space)["age"].to_list() == [20, 30, 40]


def test_the_file_names_the_population(people, tmp_path):
    people.to_csv(tmp_path / "loans.csv", index=False)
    file = tmp_path / "evenhand.toml"
    file.write_text('[space]\nfrom = "loans.csv"\ntarget = "paid"\nprotected = ["sex"]\n')
    space = eh.Space.from_toml(file)
    found = eh.measure(old_men, space)
    assert found.worst.estimate.population == "the 4 rows of loans.csv"


def test_workers_draw_from_the_rows(people):
    space = eh.Space.from_frame(people, protected=["sex"], target="paid")
    one = eh.measure(old_men, space, exact=False, seed=3)
    two = eh.measure(
        old_men,
        space,
        exact=False,
        seed=3,
        n_jobs=2,
    )
    assert one.worst.estimate == two.worst.estimate
    assert one.worst.estimate.population == "the 4 remembered rows"


def measured_population(audit):
    found = audit.checks[0].found
    assert isinstance(found, eh.Result)
    return found.worst.estimate.population


def test_an_audit_uses_the_rows(people):
    space = eh.Space.from_frame(people, protected=["sex"], target="paid")
    found = eh.audit(old_men, space, checks=[{"job": "measure"}, {"job": "impact"}])
    assert measured_population(found) == "the 4 remembered rows"
    given = eh.audit(old_men, space, checks=[{"job": "measure"}], data=people[:3])
    assert measured_population(given) == "the 3 given rows"


def test_the_score_of_all_inputs_stands_beside(people):
    space = eh.Space.from_frame(people, protected=["sex"], target="paid")
    found = eh.measure(old_men, space)
    named = eh.measure(old_men, space, sampler=eh.uniform())
    assert found.worst.uniform == named.worst.estimate
    assert named.worst.uniform is None
    assert "for comparison, without a limit: 51.2 %" in str(found)
    again = eh.Result.from_dict(found.to_dict())
    assert again.worst.uniform == found.worst.uniform


@pytest.mark.parametrize("bound", [{"queries": 1000}, {"seconds": 60.0}])
def test_a_budget_is_not_spent_on_comparisons(people, bound):
    space = eh.Space.from_frame(people, protected=["sex"], target="paid")
    found = eh.measure(old_men, space, budget=eh.Budget(**bound))
    assert found.worst.uniform is None
