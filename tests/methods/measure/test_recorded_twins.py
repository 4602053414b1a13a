"""measure_log of kind "causal": rows that are twins of each other are a recorded suite."""

from __future__ import annotations

import json
from functools import partial
from itertools import product
from typing import Any

import jsonschema
import numpy as np
import pandas as pd
import polars as pl
import pyarrow as pa
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import evenhand as eh
from evenhand.cli.main import main
from evenhand.results import result as results
from evenhand.runtime.errors import DataError, UsageError
from tests.support.helpers import examples, refused

PEOPLE = pd.DataFrame(
    [
        ("F", 30, 10, "no"),
        ("M", 30, 10, "yes"),  # the twin of the first
        ("F", 40, 10, "yes"),
        ("M", 40, 10, "yes"),
        ("M", 40, 10, "yes"),  # twice the same person
        ("F", 50, 10, "no"),  # without a twin
        ("M", 50, 20, "yes"),
    ],
    columns=["sex", "age", "income", "ok"],
)
twins = partial(eh.measure_log, outcome="ok", over="sex", kind="causal")


def test_it_is_the_share_of_rows_with_a_twin_that_differ():
    result = twins(PEOPLE, limit=0.05)
    (finding,) = result.findings
    assert finding.score == "causal"
    assert finding.key == "causal of sex"
    assert finding.estimate.value == 2 / 5
    assert finding.estimate.n == 5
    assert finding.estimate.level == 1
    assert finding.estimate.method == "enumerated"
    assert finding.estimate.population == "the recorded rows that have a twin"
    assert result.verdict == "fail"
    (table,) = result.details["twins"]
    assert table == {
        "over": ["sex"],
        "equal_in": ["age", "income"],
        "rows": 7,
        "unknown": 0,
        "with_twin": 5,
        "different": 2,
        "unsteady": 0,
    }
    assert "5 of 7 rows have a twin" in result.notes[0]
    (case,) = finding.cases
    assert case.individual == {"age": 30, "income": 10, "sex": "F"}
    assert case.twin == {"age": 30, "income": 10, "sex": "M"}
    assert case.outcomes == ("no", "yes")
    assert case.changed == ("sex",)


def test_columns_that_must_be_equal_can_be_named():
    by_age = twins(PEOPLE, features=["age"])
    assert by_age.worst.estimate.n == 7
    assert by_age.worst.estimate.value == 4 / 7
    assert by_age.details["twins"][0]["equal_in"] == ["age"]
    one_name = twins(PEOPLE, features="age")
    assert one_name.digest == by_age.digest
    # Nothing must be equal: everybody is a twin of those of the other sex.
    everybody = twins(PEOPLE, features=[])
    assert everybody.worst.estimate.n == 7


def test_other_protected_columns_are_equal_too():
    frame = PEOPLE.assign(race=["a", "b", "a", "a", "b", "a", "b"])
    result = twins(frame, over=[("sex",), ("race",), ("sex", "race")], features=["age"])
    sets = {tuple(table["over"]): table for table in result.details["twins"]}
    assert sets["sex",]["equal_in"] == ["age", "race"]
    assert sets["race",]["equal_in"] == ["age", "sex"]
    assert sets["sex", "race"]["equal_in"] == ["age"]
    assert sets["sex",]["with_twin"] == 2
    assert sets["race",]["with_twin"] == 2
    assert sets["sex", "race"]["with_twin"] == 7


def by_a_plain_loop(rows: list[tuple[Any, ...]]) -> tuple[int, int]:
    """Return how many rows have a twin, and how many have one with another outcome."""
    with_twin = 0
    different = 0
    for row in rows:
        outcomes = outcomes_of_twins(row, rows)
        if outcomes:
            with_twin += 1
        _, _, ok = row
        if set(outcomes) - {ok}:
            different += 1
    return with_twin, different


def outcomes_of_twins(row: tuple[Any, ...], rows: list[tuple[Any, ...]]) -> list[Any]:
    """Return the outcomes of those of the same age and another sex."""
    sex, age, _ = row
    outcomes = []
    for other_sex, other_age, other_ok in rows:
        if other_age == age and other_sex != sex:
            outcomes.append(other_ok)
    return outcomes


ROW = st.tuples(st.sampled_from("FMX"), st.integers(0, 2), st.sampled_from("abc"))


@settings(max_examples=examples(40))
@given(st.lists(ROW, min_size=1, max_size=14))
def test_it_counts_what_a_plain_loop_counts(rows):
    frame = pd.DataFrame(rows, columns=["sex", "age", "ok"])
    with_twin, different = by_a_plain_loop(rows)
    if not with_twin:
        refused(DataError, lambda: twins(frame), "no row has a twin")
        return
    estimate = twins(frame).worst.estimate
    assert estimate.n == with_twin
    assert estimate.value == different / with_twin


NUMBERS = st.tuples(
    st.sampled_from("FMX"), st.integers(0, 2), st.integers(0, 60).map(float)
)


@settings(max_examples=examples(40))
@given(st.lists(NUMBERS, min_size=1, max_size=10))
def test_numbers_differ_by_a_share_of_their_spread(rows):
    # So many other values that the outcomes are on a scale; nobody of them has a twin.
    others = [("F", 9, number + 0.5) for number in range(60)]
    frame = pd.DataFrame([*rows, *others], columns=["sex", "age", "ok"])
    with_twin, _ = by_a_plain_loop(rows)
    if not with_twin:
        refused(DataError, lambda: twins(frame), "no row has a twin")
        return
    details = twins(frame).details
    least = details["differs"]["value"]
    different = 0
    for row in rows:
        _, _, ok = row
        numbers = outcomes_of_twins(row, rows)
        apart = [abs(number - ok) for number in numbers]
        if max(apart, default=0) > least:
            different += 1
    (table,) = details["twins"]
    assert table["with_twin"] == with_twin
    assert table["different"] == different


def test_equal_rows_that_differ_are_noted():
    frame = pd.concat([PEOPLE, PEOPLE.head(1).assign(ok="yes")])
    result = twins(frame)
    assert result.details["twins"][0]["unsteady"] == 2
    assert "2 rows have another outcome than rows that are equal to them" in result.notes[1]
    # The one who was refused is a twin of somebody accepted; so is the equal who was accepted.
    assert result.worst.estimate.value == 2 / 6


def test_what_is_missing():
    frame = PEOPLE.astype({"sex": object, "ok": object, "age": float})
    frame.loc[0, "ok"] = None
    frame.loc[6, "sex"] = None
    frame.loc[[2, 3, 4], "age"] = np.nan
    result = twins(frame)
    (table,) = result.details["twins"]
    # Those without an age are equal in that; a sex that is missing is none.
    assert table["with_twin"] == 3
    assert table["unknown"] == 1
    assert result.details["missing_outcomes"] == 1
    assert "1 of 7 rows have no ok" in result.notes[0]
    assert "1 of 6 rows have no sex" in result.notes[1]


ENGINES = {
    "pandas": lambda frame: frame,
    "categories": lambda frame: frame.astype({"sex": "category", "ok": "category"}),
    "polars": pl.from_pandas,
    "polars lazy": lambda frame: pl.from_pandas(frame).lazy(),
    "pyarrow": lambda frame: pa.Table.from_pandas(frame, preserve_index=False),
}


def many(n: int = 600) -> pd.DataFrame:
    rng = np.random.default_rng(3)
    sex = rng.choice(["F", "M"], n)
    age = rng.integers(18, 40, n)
    income = rng.integers(0, 4, n)
    ok = np.where(income + (sex == "M") > 2, "yes", "no")
    return pd.DataFrame({"sex": sex, "age": age, "income": income, "ok": ok})


@pytest.mark.parametrize("engine", ENGINES)
def test_every_engine_and_order_of_rows_gives_the_same_bytes(engine):
    shuffled = many().sample(frac=1, random_state=1)
    found = twins(ENGINES[engine](shuffled), limit=0.1)
    assert found.digest == twins(many(), limit=0.1).digest


def test_all_inputs_as_a_log_give_the_score_of_the_software():
    space = eh.Space(
        [
            eh.category("sex", ["F", "M"]),
            eh.integer("age", 18, 40),
            eh.integer("debt", 0, 9),
        ],
        ["sex"],
    )

    def lend(people):
        return people["age"] - 2 * people["debt"] > 15 + 3 * (people["sex"] == "F")

    measured = eh.measure(lend, space).worst
    inputs = pd.DataFrame(
        product(["F", "M"], range(18, 41), range(10)), columns=["sex", "age", "debt"]
    )
    recorded = twins(inputs.assign(ok=lend(inputs))).worst
    assert recorded.estimate.value == measured.estimate.value
    assert recorded.key == measured.key


def test_ages_in_bins_are_the_features_at_issue():
    result = twins(many(), over="age", bins={"age": [25, 30]})
    assert result.worst.estimate.value == 0
    assert result.space["features"][0]["levels"] == ["25 to 29", "30 and over", "under 25"]


def test_the_result_survives_json(tmp_path):
    file = tmp_path / "found.json"
    found = twins(many(), limit=0.1)
    document = json.loads(found.to_json(file))
    jsonschema.validate(document, results.schema())
    assert eh.Result.from_json(file).digest == found.digest
    assert "for example sex F → M" in found.to_text()


@pytest.mark.parametrize(
    ("kind", "how", "words"),
    [
        (UsageError, {"kind": "casual"}, ["'casual'", "did you mean 'causal'"]),
        (UsageError, {"kind": "group", "features": ["age"]}, ["need kind = 'causal'"]),
        (UsageError, {"features": ["agee"]}, ["'agee'", "did you mean 'age'"]),
        (UsageError, {"features": ["ok"]}, ["'ok'"]),
        (UsageError, {"truth": "age"}, ["truth = 'age'", "leave it out"]),
        (UsageError, {"least_ratio": 0.8}, ["least_ratio = 0.8"]),
        (UsageError, {"support": 0.1}, ["support = 0.1"]),
        (UsageError, {"groups": {"sex": ["X"]}}, ["groups"]),
        (UsageError, {"limit": 2}, ["limit is 2"]),
        (UsageError, {"positive": "maybe"}, ["'maybe'"]),
        (DataError, {"over": "income"}, ["no row has a twin", "features"]),
        (DataError, {"over": "none"}, ["no row has a twin"]),
        (DataError, {"outcome": "none"}, ["'none' is missing in all 7 rows"]),
    ],
)
def test_mistakes_get_a_sentence(kind, how, words):
    frame = PEOPLE.assign(none=None)
    refused(kind, lambda: twins(frame, **how), *words)


def test_a_column_that_keeps_all_rows_apart_is_named():
    frame = PEOPLE.assign(id=range(7))
    words = ("another value of 'id'", "features")
    refused(DataError, lambda: twins(frame), *words)


def test_the_command_measures_twins(tmp_path, capsys):
    file = tmp_path / "log.csv"
    many().assign(id=range(600)).to_csv(file, index=False)
    command = ["measure-log", str(file), "--outcome", "ok", "--over", "sex"]
    command += ["--kind", "causal", "--limit", "0.05"]
    assert main(command) == 2
    assert "another value of 'id'" in capsys.readouterr().err
    assert main([*command, "--features", "age,income"]) == 1
    assert "of rows with a twin that differs in sex alone" in capsys.readouterr().out


def test_an_audit_of_a_log_leaves_the_truth_out_of_what_is_equal(tmp_path):
    frame = many().assign(paid=np.arange(600) % 2)
    checks = [
        {"job": "measure_log", "kind": "causal", "limit": 0.05},
        {"job": "measure_log", "limit": 0.5},
    ]
    how: dict[str, Any] = {"outcome": "ok", "positive": "yes", "over": ["sex"]}
    audit = eh.audit_log(frame, truth="paid", truth_positive=1, checks=checks, **how)
    causal: Any
    group: Any
    causal, group = audit.checks
    assert causal.name == "causal measure_log sex"
    assert causal.verdict == "fail"
    assert causal.found.details["twins"][0]["equal_in"] == ["age", "income"]
    assert "rates" in group.found.details
    audit.to_html(tmp_path / "report.html")


def test_twins_among_real_people(adult):
    columns = ["age", "education", "occupation", "hours-per-week", "race", "sex"]
    frame = adult.frame[columns].assign(income=adult.labels).head(8000)
    result = eh.measure_log(
        frame, outcome="income", over=[("sex",), ("race",)], kind="causal"
    )
    for finding in result.findings:
        (name,) = finding.about
        others = [column for column in columns if column != name]
        alike = frame.groupby(others, dropna=False, observed=True)
        number_of_values = alike[name].transform("nunique")
        with_twin = frame[number_of_values > 1]
        assert finding.estimate.n == len(with_twin)
        different = 0
        for _, people in with_twin.groupby(others, dropna=False, observed=True):
            different += differing(people, name)
        assert finding.estimate.value == pytest.approx(different / len(with_twin))
        assert finding.cases


def differing(people: pd.DataFrame, name: str) -> int:
    """Return how many of some people have another income than somebody of another kind."""
    found = 0
    for value, income in zip(people[name], people["income"], strict=True):
        is_twin = people[name] != value
        incomes = set(people.loc[is_twin, "income"])
        if incomes - {income}:
            found += 1
    return found


def test_nothing_is_asked_about_recorded_rows():
    spent = twins(PEOPLE, limit=0.05).spent
    assert (spent.queries, spent.executed) == (0, 0)
