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
    found = Found(probe)
    found.add(probe.ask(space.draw(n, np.random.default_rng(0))))
    return found


def entry(found, output="", order=None):
    table = json.loads(json.dumps(pack(found, order), allow_nan=False))
    return {"about": list(found.probe.names), "output": output, "inputs": table}


def men(people):
    return people["sex"] == "M"


class Fake:
    """As much of `Found` as is packed."""

    def __init__(self, space: Space, over: tuple[str, ...], inputs: Inputs) -> None:
        self.probe: Any = SimpleNamespace(space=space, names=over, over=space.sets(over))
        self.individuals = inputs.individuals
        self.twins = inputs.twins
        self.outcomes = inputs.outcomes


@settings(max_examples=examples(60), deadline=None)
@given(strategies.spaces(continuous=True), st.integers(0, 5), st.data())
def test_what_is_packed_comes_back_to_the_last_bit(space, n, data):
    over = data.draw(st.lists(st.sampled_from(space.names), min_size=1, unique=True))
    rng = np.random.default_rng(n)
    individuals = space.draw(n, rng)
    twins = individuals.copy()
    at_issue = list(space.sets(over))
    twins[:, at_issue] = space.draw(n, rng)[:, at_issue]
    kind = data.draw(
        st.sampled_from(
            [
                st.booleans(),
                st.integers(-(2**60), 2**60),
                st.floats(allow_nan=False),
                strategies.TEXTS,
            ]
        )
    )
    drawn = data.draw(st.lists(kind, min_size=2 * n, max_size=2 * n))
    outcomes = as_outcomes(drawn).reshape(2, n)
    found: Any = Fake(space, tuple(over), Inputs(individuals, twins, outcomes))
    back = unpack(entry(found)["inputs"], space)
    assert (back.individuals == individuals).all()
    assert (back.twins == twins).all()
    assert back.outcomes.tolist() == outcomes.tolist()
    types_back = list(map(type, back.outcomes.ravel().tolist()))
    types_before = list(map(type, outcomes.ravel().tolist()))
    assert types_back == types_before
    try:
        check_columns(space, [over])
    except UsageError:
        return
    made = frame([entry(found)], space)
    loaded = frame([entry(found)], json.loads(json.dumps(space.to_dict())))
    pd.testing.assert_frame_equal(made, loaded)
    pd.testing.assert_frame_equal(made[list(space.names)], space.decode(individuals))
    records = zip(space.records(individuals), space.records(twins), strict=True)
    for row, (individual, twin) in enumerate(records):
        row_made = made.iloc[row]
        for name in over:
            assert row_made[f"twin.{name}"] == twin[name]
        for name in space.names:
            assert row_made[name] == individual[name]
        own_outcome, twin_outcome = outcomes[:, row].tolist()
        assert row_made["outcome"] == own_outcome
        assert row_made["twin.outcome"] == twin_outcome


def test_the_columns_are_those_of_the_contract():
    found = found_of(men)
    made = frame([entry(found)], SPACE)
    assert list(made.columns) == [*SPACE.names, "outcome", "twin.sex", "twin.outcome"]
    assert len(made) == len(found) == 40
    individuals = made[list(SPACE.names)]
    subject = found.probe.view.subject
    assert subject.decide(individuals).tolist() == made["outcome"].tolist()
    twins = individuals.assign(sex=made["twin.sex"])
    assert subject.decide(twins).tolist() == made["twin.outcome"].tolist()
    assert (made["outcome"] != made["twin.outcome"]).all()


def test_an_order_is_kept():
    found = found_of(men)
    order = np.arange(len(found))[::-1]
    made = frame([entry(found)], SPACE)
    reordered = frame([entry(found, order=order)], SPACE)
    expected = made.iloc[::-1].reset_index(drop=True)
    pd.testing.assert_frame_equal(expected, reordered)


def test_several_sets_and_outputs_are_kept_apart():
    one = found_of(men)
    two = found_of(lambda people: people["member"] * people["rate"], ("member",), n=30)
    both = found_of(lambda people: people["age"] > 50, ("sex", "age"), n=10)
    made = frame([entry(one, "grant"), entry(two, "rate"), entry(both, "grant")], SPACE)
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
    assert made["over"].tolist() == np.repeat(["sex", "member", "sex, age"], sizes).tolist()
    assert made["output"].tolist() == np.repeat(["grant", "rate", "grant"], sizes).tolist()
    assert not made.isna().any(axis=None)
    rows = made[made["over"] == "member"]
    # What is not at issue is the twin's as well.
    assert (rows["twin.sex"] == rows["sex"]).all()
    assert (rows["twin.member"] != rows["member"]).all()
    assert made["outcome"].tolist()[:40] == one.outcomes[0].tolist()
    assert all(type(outcome) is bool for outcome in made["outcome"].tolist()[:40])
    same = frame([entry(one), entry(two)], SPACE)
    assert list(same.columns)[-1] == "over"


@pytest.mark.parametrize("given", ["nothing found", "no entries"])
def test_no_rows_have_the_same_columns(given, tmp_path):
    none = found_of(lambda people: people["age"] > 3)
    entries = [entry(none)] if given == "nothing found" else []
    made = frame(entries, SPACE)
    full = frame([entry(found_of(men))], SPACE)
    assert len(made) == 0
    wanted = (
        list(full.columns)
        if entries
        else [name for name in full.columns if name != "twin.sex"]
    )
    assert list(made.columns) == wanted
    assert made.dtypes["age"] == full.dtypes["age"]
    for name in ("none.csv", "none.parquet"):
        save(made, tmp_path / name)
        assert (tmp_path / name).exists()


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
    found = found_of(lambda rows: rows["sex"] == "M", space=space)
    made = frame([entry(found)], space)
    assert made.dtypes[list(people.columns)].tolist() == people.dtypes.tolist()
    assert made.dtypes["twin.sex"] == people.dtypes["sex"]
    polars = pytest.importorskip("polars")
    other = Space.from_frame(polars.DataFrame({"sex": ["F", "M"], "age": [20, 90]}))
    assert isinstance(
        frame([entry(found_of(lambda rows: rows["sex"] == "M", space=other))], other),
        pd.DataFrame,
    )


def test_a_space_with_functions_among_its_constraints_can_be_loaded():
    space = Space(SPACE.features, constraints=[lambda people: people["age"] > 20])
    found = found_of(men, space=space)
    assert len(frame([entry(found)], json.loads(json.dumps(space.to_dict())))) == 40


def test_many_rows_stay_small():
    table = pack(found_of(men, n=20_000))
    text = json.dumps(table, indent=2)
    assert text.count("\n") < 30
    numbers = text.count(" ")
    assert len(text) < 7 * numbers
    assert set(table["features"]["age"].split()) <= {str(age) for age in range(18, 91)}


@pytest.mark.parametrize("name", ["found.csv", "found.csv.gz", "found.parquet"])
@pytest.mark.parametrize(
    "software", [men, lambda people: np.where(people["sex"] == "M", "true", 'nö, "1"')]
)
def test_files_hold_the_frame(name, software, tmp_path):
    found = found_of(software)
    made = frame([entry(found)], SPACE)
    path = tmp_path / name
    save(made, path)
    suffix = name.removeprefix("found")
    numbers = [feature.name for feature in SPACE.features if feature.kind != "category"]
    names = names_of(path, suffix)
    assert names == list(made.columns)
    columns = read_columns(
        path, suffix, names, numbers=numbers, outcomes=["outcome", "twin.outcome"]
    )
    for column in numbers:
        assert columns[column].tolist() == made[column].tolist()
    for column in ("outcome", "twin.outcome"):
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
    two = found_of(lambda people: (people["sex"] == "M") * 1)
    made = frame([entry(one, "grant"), entry(two, "number")], SPACE)
    save(made, tmp_path / "found.csv")
    read = pd.read_csv(tmp_path / "found.csv", dtype=str, keep_default_na=False)
    assert set(read["outcome"][:40]) == {"false"}
    assert set(read["outcome"][40:]) == {"0"}


def test_wide_dtypes_are_written(tmp_path):
    made = pd.DataFrame(
        {"count": pd.array([1, 2], dtype="Int64"), "sex": pd.Categorical(["F", "M"])}
    )
    save(made, tmp_path / "wide.parquet")
    assert pd.read_parquet(tmp_path / "wide.parquet").to_dict("list") == {
        "count": [1, 2],
        "sex": ["F", "M"],
    }


def test_mistakes_are_refused(tmp_path):
    made = frame([entry(found_of(men))], SPACE)
    refused(UsageError, lambda: save(made, tmp_path / "found.xlsx"), "'.xlsx'", "'.csv'")
    wrong: Any = 3
    refused(UsageError, lambda: save(made, wrong), "3 must be the path")
    refused(UsageError, lambda: save(made, tmp_path / "nowhere" / "found.csv"), "nowhere")
    refused(
        UsageError, lambda: save(made, tmp_path / "nowhere" / "found.parquet"), "nowhere"
    )
    assert list(tmp_path.iterdir()) == []
    space = Space([category("sex", ["F", "M"]), integer("over", 0, 9)])
    check_columns(space, [("sex",)])
    refused(
        UsageError, lambda: check_columns(space, [("sex",), ("over",)]), "'over'", "rename"
    )
    refused(
        UsageError,
        lambda: check_columns(Space([category("outcome", [1])]), [("outcome",)]),
        "'outcome'",
    )


@pytest.mark.parametrize(
    "damage",
    [
        lambda table: table.pop("outcomes"),
        lambda table: table["features"].pop("age"),
        lambda table: table["features"].update(age="20 30"),
        lambda table: table["features"].update(
            sex=table["features"]["sex"].replace("0", "7")
        ),
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
    found = found_of(men)
    details = {"search": [entry(found)]}
    path = tmp_path / "result.json"
    kept = eh.Result(
        result.job,
        result.findings,
        0,
        result.spent,
        result.stop,
        result.space,
        details=details,
    )
    kept.to_json(path)
    read = eh.Result.from_json(path)
    pd.testing.assert_frame_equal(
        frame(read.details["search"], read.space), frame([entry(found)], SPACE)
    )
