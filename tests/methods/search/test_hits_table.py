"""The table of found inputs: exact through JSON, as a frame in the user's labels, and as files."""

from __future__ import annotations

import json
from types import SimpleNamespace
from typing import Any

import numpy as np
import pandas as pd
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import evenhand as eh
from evenhand.methods.search.hits import Found
from evenhand.methods.search.hits_table import (
    Inputs,
    check_columns,
    frame,
    pack,
    save,
    unpack,
)
from evenhand.methods.search.probe import Probe
from evenhand.runtime.column_file import names_of, read_columns
from evenhand.runtime.errors import UsageError
from evenhand.runtime.values import as_outcomes
from evenhand.space.feature import category, integer, real
from evenhand.space.space import Space
from evenhand.subject.subject import Subject
from evenhand.subject.view import View
from tests.support import strategies
from tests.support.helpers import examples, refused

SPACE = Space(
    [
        category("sex", ["F", "M"]),
        category("née", ["a,b", 'c"d', "e\nf", "True", "", "日本"]),
        category("member", [False, True]),
        integer("age", 18, 90),
        real("rate", 0, 1),
        real("step", 0, 10, step=0.1),
    ]
)


def found_of(software, over=("sex",), n=40, space=SPACE, **options):
    subject = Subject(software, space, **options)
    probe = Probe(View(subject), over)
    points = space.draw(n, np.random.default_rng(0))
    found = Found(probe)
    found.add(probe.ask(points))
    return found


def through_json(table):
    return json.loads(json.dumps(table, allow_nan=False))


def entry(found, output="", order=None):
    return {
        "about": list(found.probe.names),
        "output": output,
        "inputs": through_json(pack(found, order)),
    }


def men(people):
    return people["sex"] == "M"


def nobody(people):
    """Treat everybody alike."""
    return people["age"] > 3


class Fake:
    """As much of `Found` as is packed."""

    def __init__(self, space: Space, over: tuple[str, ...], inputs: Inputs) -> None:
        self.probe: Any = SimpleNamespace(space=space, names=over, over=space.sets(over))
        self.individuals = inputs.individuals
        self.twins = inputs.twins
        self.outcomes = inputs.outcomes


OUTCOMES = st.sampled_from(
    [
        st.booleans(),
        st.integers(-(2**60), 2**60),
        st.floats(allow_nan=False),
        strategies.TEXTS,
    ]
)


def drawn_found(space, n, data) -> Any:
    """Return some inputs, twins that differ in some features, and outcomes of any kind."""
    some_names = st.lists(st.sampled_from(space.names), min_size=1, unique=True)
    over = tuple(data.draw(some_names))
    rng = np.random.default_rng(n)
    individuals = space.draw(n, rng)
    others = space.draw(n, rng)
    twins = individuals.copy()
    at_issue = list(space.sets(over))
    twins[:, at_issue] = others[:, at_issue]
    kind = data.draw(OUTCOMES)
    drawn = data.draw(st.lists(kind, min_size=2 * n, max_size=2 * n))
    outcomes = as_outcomes(drawn).reshape(2, n)
    return Fake(space, over, Inputs(individuals, twins, outcomes))


def types_of(values):
    return [type(value) for value in values.ravel().tolist()]


@settings(max_examples=examples(60), deadline=None)
@given(strategies.spaces(continuous=True), st.integers(0, 5), st.data())
def test_what_is_packed_comes_back_to_the_last_bit(space, n, data):
    found = drawn_found(space, n, data)
    packed = entry(found)
    back = unpack(packed["inputs"], space)
    assert (back.individuals == found.individuals).all()
    assert (back.twins == found.twins).all()
    assert back.outcomes.tolist() == found.outcomes.tolist()
    assert types_of(back.outcomes) == types_of(found.outcomes)
    try:
        check_columns(space, [found.probe.names])
    except UsageError:
        return
    made = frame([packed], space)
    loaded = frame([packed], through_json(space.to_dict()))
    pd.testing.assert_frame_equal(made, loaded)
    people = space.decode(found.individuals)
    pd.testing.assert_frame_equal(made[list(space.names)], people)
    individuals = space.records(found.individuals)
    twins = space.records(found.twins)
    for row in range(n):
        row_made = made.iloc[row]
        for name in found.probe.names:
            assert row_made[f"twin.{name}"] == twins[row][name]
        for name in space.names:
            assert row_made[name] == individuals[row][name]
        own_outcome, twin_outcome = found.outcomes[:, row].tolist()
        assert row_made["outcome"] == own_outcome
        assert row_made["twin.outcome"] == twin_outcome


def test_the_columns_are_those_of_the_contract():
    found = found_of(men)
    made = frame([entry(found)], SPACE)
    assert list(made.columns) == [*SPACE.names, "outcome", "twin.sex", "twin.outcome"]
    assert len(found) == 40
    assert len(made) == 40
    individuals = made[list(SPACE.names)]
    decide = found.probe.view.subject.decide
    assert decide(individuals).tolist() == made["outcome"].tolist()
    twins = individuals.assign(sex=made["twin.sex"])
    assert decide(twins).tolist() == made["twin.outcome"].tolist()
    assert (made["outcome"] != made["twin.outcome"]).all()


def test_an_order_is_kept():
    found = found_of(men)
    packed = entry(found)
    backwards = np.arange(len(found))[::-1]
    made = frame([packed], SPACE)
    reordered = frame([entry(found, order=backwards)], SPACE)
    expected = made.iloc[::-1].reset_index(drop=True)
    pd.testing.assert_frame_equal(expected, reordered)


def rate_of_members(people):
    return people["member"] * people["rate"]


def repeated(values, sizes):
    """Return each value as often as its size says."""
    return np.repeat(values, sizes).tolist()


def test_several_sets_and_outputs_are_kept_apart():
    one = found_of(men)
    two = found_of(rate_of_members, ("member",), n=30)
    both = found_of(lambda people: people["age"] > 50, ("sex", "age"), n=10)
    entries = [
        entry(one, "grant"),
        entry(two, "rate"),
        entry(both, "grant"),
    ]
    made = frame(entries, SPACE)
    added = [
        "outcome",
        "twin.sex",
        "twin.member",
        "twin.age",
        "twin.outcome",
        "over",
        "output",
    ]
    assert list(made.columns) == [*SPACE.names, *added]
    sizes = [40, len(two), 10]
    assert made["over"].tolist() == repeated(["sex", "member", "sex, age"], sizes)
    assert made["output"].tolist() == repeated(["grant", "rate", "grant"], sizes)
    assert not made.isna().any(axis=None)
    rows = made[made["over"] == "member"]
    # What is not at issue is the twin's as well.
    assert (rows["twin.sex"] == rows["sex"]).all()
    assert (rows["twin.member"] != rows["member"]).all()
    first_outcomes = made["outcome"].tolist()[:40]
    assert first_outcomes == one.outcomes[0].tolist()
    assert {type(outcome) for outcome in first_outcomes} == {bool}


def test_several_sets_of_one_output_have_no_column_for_it():
    one = found_of(men)
    two = found_of(rate_of_members, ("member",), n=30)
    made = frame([entry(one), entry(two)], SPACE)
    assert list(made.columns)[-1] == "over"


@pytest.mark.parametrize("given", ["nothing found", "no entries"])
def test_no_rows_have_the_same_columns(given, tmp_path):
    full = frame([entry(found_of(men))], SPACE)
    entries = []
    expected = list(full.columns)
    if given == "nothing found":
        entries.append(entry(found_of(nobody)))
    else:
        expected.remove("twin.sex")
    made = frame(entries, SPACE)
    assert len(made) == 0
    assert list(made.columns) == expected
    assert made.dtypes["age"] == full.dtypes["age"]
    for name in ("none.csv", "none.parquet"):
        path = tmp_path / name
        save(made, path)
        assert path.exists()


def test_the_users_own_dtypes_come_back():
    people = pd.DataFrame(
        {
            "sex": pd.Categorical(["F", "M", "F"], categories=["M", "F", "X"]),
            "age": np.array([20, 40, 90], dtype=np.int8),
            "rate": np.array([0.25, 0.5, 1.0], dtype=np.float32),
            "flag": pd.array([True, False, True], dtype="boolean"),
            "count": pd.array([1, 2, 3], dtype="Int64"),
        }
    )
    space = Space.from_frame(people)
    made = frame([entry(found_of(men, space=space))], space)
    dtypes = made.dtypes[list(people.columns)]
    assert dtypes.tolist() == people.dtypes.tolist()
    assert made.dtypes["twin.sex"] == people.dtypes["sex"]


def test_found_inputs_of_a_polars_frame_come_back_in_pandas():
    polars = pytest.importorskip("polars")
    people = polars.DataFrame({"sex": ["F", "M"], "age": [20, 90]})
    space = Space.from_frame(people)
    made = frame([entry(found_of(men, space=space))], space)
    assert isinstance(made, pd.DataFrame)


def test_a_space_with_functions_among_its_constraints_can_be_loaded():
    space = Space(SPACE.features, constraints=[lambda people: people["age"] > 20])
    found = found_of(men, space=space)
    made = frame([entry(found)], through_json(space.to_dict()))
    assert len(made) == 40


def test_many_rows_stay_small():
    table = pack(found_of(men, n=20_000))
    text = json.dumps(table, indent=2)
    assert text.count("\n") < 30
    numbers = text.count(" ")
    assert len(text) < 7 * numbers
    ages = set(table["features"]["age"].split())
    assert ages <= {str(age) for age in range(18, 91)}


def worded(people):
    return np.where(men(people), "true", 'nö, "1"')


@pytest.mark.parametrize("name", ["found.csv", "found.csv.gz", "found.parquet"])
@pytest.mark.parametrize("software", [men, worded])
def test_files_hold_the_frame(name, software, tmp_path):
    made = frame([entry(found_of(software))], SPACE)
    path = tmp_path / name
    save(made, path)
    suffix = name.removeprefix("found")
    names = names_of(path, suffix)
    assert names == list(made.columns)
    numbers = ["age", "rate", "step"]
    outcomes = ["outcome", "twin.outcome"]
    columns = read_columns(path, suffix, names, numbers=numbers, outcomes=outcomes)
    for column in [*numbers, *outcomes]:
        assert columns[column].tolist() == made[column].tolist()
    sex = columns["sex"]
    assert [sex.values[code] for code in sex.codes] == made["sex"].tolist()
    if suffix == ".parquet":
        read = pd.read_parquet(path)
        assert read["née"].tolist() == made["née"].tolist()
        assert read["member"].tolist() == made["member"].tolist()
    else:
        read = pd.read_csv(path, keep_default_na=False)
        assert read["member"].tolist() == made["member"].tolist()
        assert read["rate"].tolist() == made["rate"].tolist()
        assert set(read["née"]) == {"a,b", 'c"d', '"e\\nf"', "True", "", "日本"}


def test_files_hold_one_and_true_apart(tmp_path):
    one = found_of(men)
    two = found_of(lambda people: men(people) * 1)
    made = frame([entry(one, "grant"), entry(two, "number")], SPACE)
    path = tmp_path / "found.csv"
    save(made, path)
    read = pd.read_csv(path, dtype=str, keep_default_na=False)
    assert set(read["outcome"][:40]) == {"false"}
    assert set(read["outcome"][40:]) == {"0"}


def test_wide_dtypes_are_written(tmp_path):
    made = pd.DataFrame(
        {
            "count": pd.array([1, 2], dtype="Int64"),
            "sex": pd.Categorical(["F", "M"]),
        }
    )
    path = tmp_path / "wide.parquet"
    save(made, path)
    read = pd.read_parquet(path)
    assert read["count"].tolist() == [1, 2]
    assert read["sex"].tolist() == ["F", "M"]
    assert list(read.columns) == ["count", "sex"]


def test_a_path_that_cannot_be_written_is_refused(tmp_path):
    made = frame([entry(found_of(men))], SPACE)
    folder = tmp_path / "nowhere"
    wrong: Any = 3
    refused(UsageError, lambda: save(made, tmp_path / "found.xlsx"), "'.xlsx'", "'.csv'")
    refused(UsageError, lambda: save(made, wrong), "3 must be the path")
    refused(UsageError, lambda: save(made, folder / "found.csv"), "nowhere")
    refused(UsageError, lambda: save(made, folder / "found.parquet"), "nowhere")
    assert list(tmp_path.iterdir()) == []


def test_features_named_like_columns_are_refused():
    space = Space(
        [
            category("sex", ["F", "M"]),
            integer("over", 0, 9),
        ]
    )
    check_columns(space, [("sex",)])
    several = [("sex",), ("over",)]
    refused(UsageError, lambda: check_columns(space, several), "'over'", "rename")
    outcome = Space([category("outcome", [1])])
    refused(UsageError, lambda: check_columns(outcome, [("outcome",)]), "'outcome'")


def unknown_level(table):
    codes = table["features"]["sex"]
    table["features"]["sex"] = codes.replace("0", "7")


@pytest.mark.parametrize(
    "damage",
    [
        lambda table: table.pop("outcomes"),
        lambda table: table["features"].pop("age"),
        lambda table: table["features"].update(age="20 30"),
        unknown_level,
        lambda table: table["outcomes"].update(individual="x"),
        lambda table: table["twins"].update(sex=None, age=[]),
        lambda table: table.update(rows="many"),
    ],
)
def test_a_damaged_table_is_refused(damage):
    table = entry(found_of(men))["inputs"]
    damage(table)
    refused(UsageError, lambda: unpack(table, SPACE), "damaged")


def test_a_result_read_from_a_file_gives_the_same_frame(tmp_path):
    result = eh.measure(men, SPACE, over="sex", budget=eh.Budget(queries=200))
    packed = entry(found_of(men))
    kept = eh.Result(
        result.job,
        result.findings,
        0,
        result.spent,
        result.stop,
        result.space,
        details={"search": [packed]},
    )
    path = tmp_path / "result.json"
    kept.to_json(path)
    read = eh.Result.from_json(path)
    made = frame([packed], SPACE)
    loaded = frame(read.details["search"], read.space)
    pd.testing.assert_frame_equal(loaded, made)
