"""Recorded numbers: where their error goes, and what a limit is for."""

from __future__ import annotations

from typing import Any

import narwhals as nw
import numpy as np
import pandas as pd
import pytest

from evenhand.population.cuts import Cuts
from evenhand.population.recorded import MOST_VALUES
from evenhand.runtime.errors import DataError, UsageError
from evenhand.scores.numbers.recorded import (
    NumberColumns,
    RecordedNumbers,
    RecordedTerms,
    are_numbers,
    judged_of,
    read_columns,
)
from evenhand.subject.outcome_scale import LEAST_VALUES

SETS = [("sex",), ("race",), ("sex", "race")]


def recorded(*, errors: Any = None, **terms: Any) -> RecordedNumbers:
    columns = NumberColumns(
        "pay",
        np.array([1.0, 2.0, 4.0, 8.0]),
        errors,
        {"sex": np.array([0, 1, -1, 1]), "race": np.array([0, 0, 1, 1])},
        {"sex": ("F", "M"), "race": ("a", "b")},
        6,
    )
    return RecordedNumbers(columns, SETS, RecordedTerms(0.95, **terms))


@pytest.mark.parametrize(
    ("errors", "terms", "limits", "findings"),
    [
        (None, {}, 0, 6),
        (None, {"limit": 0.1}, 6, 6),
        (np.zeros(4), {"limit": 0.1}, 6, 15),
        (np.zeros(4), {"limit": 0.1, "metric": "mean_error"}, 3, 15),
    ],
)
def test_the_error_goes_to_limits_and_findings(errors, terms, limits, findings):
    numbers = recorded(errors=errors, **terms)
    alone = numbers.spending()
    assert (alone.limits, alone.families) == (limits, findings)
    shared = numbers.spending(besides=7, limits_besides=2)
    assert (shared.limits, shared.families) == (limits + 2, findings + 7)


def test_rows_that_lack_something_are_counted():
    numbers = recorded()
    assert numbers.details["rows"] == 6
    assert numbers.details["missing_outcomes"] == 2
    assert numbers.details["unknown"] == {"sex": 1, "race": 0}
    assert numbers.details["spread"] == pytest.approx(5.0 - 1.75)


def test_errors_need_the_truth():
    assert judged_of(["mean", "mean_absolute_error"], truth=True) == (
        "mean",
        "mean absolute error",
    )
    with pytest.raises(UsageError, match="needs the true outcomes"):
        judged_of("mean_error", truth=False)
    with pytest.raises(UsageError, match="did you mean 'median'"):
        judged_of(("mean", "meadian"), truth=False)


@pytest.mark.parametrize(
    ("values", "is_scale"),
    [
        ([str(number) for number in range(MOST_VALUES + 1)], False),
        (list(range(MOST_VALUES + 1)), True),
        (list(range(MOST_VALUES)), False),
        ([number + 0.5 for number in range(LEAST_VALUES)], True),
        ([number + 0.5 for number in range(LEAST_VALUES - 1)], False),
        ([float(number) for number in range(LEAST_VALUES)], False),
    ],
)
def test_numbers_of_many_values_are_on_a_scale(values, is_scale):
    table = nw.from_native(pd.DataFrame({"pay": values}))
    assert are_numbers(table, "pay", table.schema["pay"]) == is_scale


PAY = pd.DataFrame(
    {
        "sex": ["M", "F", None, "F", "?", "M", "F"],
        "age": [20.0, 30.0, 40.0, None, 25.0, 61.0, 60.0],
        "pay": [1.0, 2.0, 3.0, 4.0, 5.0, None, np.inf],
        "due": [1.5, 2.5, None, 4.0, 5.0, 6.0, 7.0],
        "job": list("abcdefg"),
    }
)


def columns_of(*names: str, frame: pd.DataFrame = PAY, **options: Any) -> NumberColumns:
    return read_columns(nw.from_native(frame), names, "pay", **options)


def test_rows_without_an_outcome_are_left_out():
    found = columns_of("sex")
    assert found.numbers.tolist() == [1, 2, 3, 4, 5]
    assert found.errors is None
    assert found.rows == 7
    assert found.levels["sex"] == ("?", "F", "M")
    assert found.codes["sex"].tolist() == [2, 1, -1, 1, 0]
    assert found.unknown == {"sex": 1}
    assert found.notes == ["2 of 7 rows have no pay; they are left out of everything"]
    assert found.declared == {}
    whole = columns_of("sex", frame=PAY[:5])
    assert list(whole.notes) == []


def test_labels_that_stand_for_no_group_are_unknown():
    found = columns_of("sex", is_unknown=lambda label: label == "?")
    assert found.levels["sex"] == ("F", "M")
    assert found.codes["sex"].tolist() == [1, 0, -1, 0, -1]
    kinds = PAY.assign(sex=pd.Categorical(PAY["sex"], ["?", "Z", "F", "M"]))
    listed = columns_of("sex", frame=kinds, is_unknown=lambda label: label == "?")
    assert listed.levels["sex"] == ("Z", "F", "M")
    assert listed.codes["sex"].tolist() == [2, 1, -1, 1, -1]


def test_rows_without_a_truth_are_left_out():
    found = columns_of("sex", truth="due")
    assert found.numbers.tolist() == [1, 2, 4, 5]
    assert found.errors is not None
    assert found.errors.tolist() == [-0.5, -0.5, 0.0, 0.0]
    assert found.codes["sex"].tolist() == [2, 1, 1, 0]
    assert found.notes == [
        "2 of 7 rows have no pay; they are left out of everything",
        "1 of 7 rows have no due; they are left out of everything",
    ]
    with pytest.raises(DataError, match="truth = 'job' does not hold numbers"):
        columns_of("sex", truth="job")


def test_declared_levels_come_first():
    found = columns_of("sex", declared={"sex": ["X", "M"]})
    assert found.levels["sex"] == ("X", "M", "?", "F")
    assert found.codes["sex"].tolist() == [1, 3, -1, 3, 2]
    assert found.declared == {"sex": ["X", "M"]}
    kinds = PAY.assign(sex=pd.Categorical(PAY["sex"], ["M", "Z", "F", "?"]))
    assert columns_of("sex", frame=kinds).levels["sex"] == ("M", "Z", "F", "?")


def test_numbers_are_cut_into_groups():
    cuts = {"age": Cuts("age", (25, 40, 60, 70))}
    found = columns_of("sex", "age", cuts=cuts)
    assert found.codes["age"].tolist() == [0, 1, 2, -1, 1]
    assert found.unknown == {"sex": 1, "age": 1}
    assert [str(level) for level in found.levels["age"]] == [
        "under 25",
        "25 to under 40",
        "40 to under 60",
        "60 to under 70",
        "70 and over",
    ][: len(found.levels["age"])]


def test_columns_without_values_are_refused():
    nothing = PAY.assign(pay=[None] * 7, sex=[None] * 7).astype({"pay": float})
    with pytest.raises(DataError, match="'pay' is missing in all 7 rows"):
        columns_of("sex", frame=nothing)
    with pytest.raises(DataError, match="'sex' has no value"):
        columns_of("sex", frame=PAY.assign(sex=[None] * 7))


def numbers_of(
    sexes: str, races: str | None = None, *, sets: Any = None, **terms: Any
) -> RecordedNumbers:
    """Return people whose pay is their number, by the letter of their sex and race."""
    frame = pd.DataFrame({"sex": list(sexes), "pay": np.arange(len(sexes)) + 0.5})
    names = ["sex"]
    if races is not None:
        frame["race"] = list(races)
        names.append("race")
    columns = columns_of(*names, frame=frame, declared=terms.pop("declared", None))
    chosen = sets or [("sex",)]
    return RecordedNumbers(columns, chosen, RecordedTerms(0.95, **terms))


def test_small_groups_are_shown_and_not_compared():
    """Two in a hundred are enough, and one is not."""
    numbers = numbers_of("F" * 49 + "M" * 48 + "X" * 2 + "Y")
    groups = numbers.grouped(("sex",))
    assert [label["sex"] for label in groups.about] == ["F", "M", "X", "Y"]
    assert groups.compared is not None
    assert groups.compared.tolist() == [True, True, True, False]
    assert numbers.left_out == [{"over": ["sex"], "about": {"sex": "Y"}, "n": 1}]
    (note,) = numbers.notes
    assert note == (
        "under 2 % of the rows, shown and left out of the comparison, and nothing is decided of"
        " them: sex Y"
    )
    assert groups.sizes.tolist() == [49, 48, 2, 1]
    assert groups.outcome == "pay"


def test_declared_groups_are_compared_however_few():
    numbers = numbers_of("F" * 60 + "M" * 60, declared={"sex": ["X"]})
    groups = numbers.grouped(("sex",))
    assert [label["sex"] for label in groups.about] == ["X", "F", "M"]
    assert groups.compared is not None
    assert groups.compared.all()
    assert numbers.left_out == []
    (note,) = numbers.notes
    assert note == (
        "1 groups of sex have no rows and could have any pay, so the comparison cannot pass:"
        " sex X"
    )


@pytest.mark.parametrize(("races", "listed"), [(21, 42), (22, 22)])
def test_many_groups_without_rows_are_not_listed(races, listed):
    """All are of one sex but for the first: so many groups of the other have no rows."""
    letters = "".join(chr(ord("A") + number) for number in range(races))
    numbers = numbers_of("M" + "F" * races, letters[0] + letters, support=0.0)
    groups = numbers.grouped(("sex", "race"))
    expected = listed if races == 21 else races + 1
    assert len(groups.about) == expected
    assert groups.sizes.sum() == races + 1


def test_what_is_found_of_each_set_and_statistic():
    numbers = numbers_of("FM" * 50, "aabb" * 25, sets=[("sex",), ("race",)], limit=0.5)
    found = numbers.findings()
    assert [finding.key for finding in found] == [
        "mean difference of sex",
        "median difference of sex",
        "mean difference of race",
        "median difference of race",
    ]
    assert {finding.limit for finding in found} == {0.5 * numbers.spread}
    assert found[0].estimate.value == pytest.approx(1.0)
    assert found[2].estimate.value == pytest.approx(2.0)
    assert found[0].estimate.method.endswith("simultaneous over 4")
    (note,) = numbers.notes
    assert note.startswith("the limit of 50 % is of the spread of outcomes")
    only_median = numbers_of("FM" * 50, limit=0.5, metric="median")
    mean, median = only_median.findings()
    assert mean.limit is None
    assert median.limit == 0.5 * only_median.spread
    assert mean.estimate.descriptive
    assert not median.estimate.descriptive


def test_rows_of_no_group_are_noted():
    numbers = recorded()
    numbers.findings()
    assert numbers.notes[0] == (
        "1 of 4 rows have no sex; they are left out of the comparison by sex"
    )
    assert not any("no race" in note for note in numbers.notes)
    details = numbers.details
    assert details["support"] == 0.02
    nobody = {"over": ["sex", "race"], "about": {"sex": "F", "race": "b"}, "n": 0}
    assert details["left_out"] == [nobody]


def test_errors_go_with_their_people():
    numbers = recorded(errors=np.array([1.0, -1.0, 5.0, 3.0]))
    groups = numbers.grouped(("sex",))
    assert groups.errors is not None
    assert groups.errors.tolist() == [1.0, -1.0, 3.0]
    assert groups.numbers.tolist() == [1.0, 2.0, 8.0]
    assert groups.group.tolist() == [0, 1, 1]
    both = numbers.grouped(("sex", "race"))
    assert both.group.tolist() == [0, 2, 3]
    assert [f"{label['sex']}{label['race']}" for label in both.about] == [
        "Fa",
        "Fb",
        "Ma",
        "Mb",
    ]
