"""What columns of a data file are: protected ones, inputs, and those that cannot be inputs."""

from __future__ import annotations

import pandas as pd
import pytest

from evenhand.config.init.data import Data, guess_protected
from evenhand.config.init.sampling import sample
from evenhand.runtime.errors import DataError, UsageError
from tests.support.helpers import refused

ROWS = 60


def columns() -> pd.DataFrame:
    return pd.DataFrame(
        {
            "Unnamed: 0": range(ROWS),
            "customer_id": [7919 * row % 1009 for row in range(ROWS)],
            "serial": range(500, 500 + ROWS),
            "name": [f"person {row}" for row in range(ROWS)],
            "letter": [f"a letter of several words, number {row}" for row in range(ROWS)],
            "empty": [None] * ROWS,
            "born": [f"19{10 + row}-01-01" for row in range(ROWS)],
            "sex": ["F", "M"] * (ROWS // 2),
            "always": [1] * ROWS,
            "wage": [row * 101 % 997 for row in range(ROWS)],
            "granted": ["yes", "no", "no"] * (ROWS // 3),
        }
    )


def read(tmp_path, **options):
    file = tmp_path / "people.csv"
    columns().to_csv(file, index=False)
    settings = {"target": "granted", "protected": None, **options}
    return Data.read(file, **settings)


def test_columns_that_cannot_be_inputs_have_a_reason(tmp_path):
    found = read(tmp_path)
    assert dict(found.no_inputs) == {
        "Unnamed: 0": "numbers of rows",
        "customer_id": "numbers of rows",
        "serial": "numbers of rows",
        "name": "a value of its own in nearly every row",
        "letter": "prose",
        "empty": "no values",
    }
    assert found.protected == ("sex",)
    assert found.texts == ["letter"]


def test_a_protected_column_is_never_left_out(tmp_path):
    assert "name" not in read(tmp_path, protected=["name"]).no_inputs


def test_names_of_columns_are_checked(tmp_path):
    refused(DataError, lambda: read(tmp_path, target="grantd"), "--target", "'granted'")
    refused(DataError, lambda: read(tmp_path, protected=["sx"]), "--protected", "'sex'")
    refused(UsageError, lambda: read(tmp_path, protected=["granted"]), "is the target")
    refused(UsageError, lambda: read(tmp_path, protected=[]), "--protected a,b", "wage")


def test_words_of_names_suggest_protected_columns_and_parts_of_words_do_not():
    names = ["Sex", "wage", "ageGroup", "marital-status", "stage", "Gender", "agency"]
    assert guess_protected(names, None) == ["Sex", "ageGroup", "marital-status", "Gender"]


@pytest.mark.parametrize("most", [10, 1000])
def test_a_sample_has_as_many_of_each_outcome(most):
    frame = pd.DataFrame(
        {
            "x": range(900),
            "y": ["rare"] * 9 + ["usual"] * 891,
        }
    )
    taken = sample(frame, "y", most)
    counts = taken["y"].value_counts()
    assert counts["rare"] == (5 if most == 10 else 9)
    assert len(taken) == min(most, 900)
    assert len(sample(frame, None, 10)) == 10
