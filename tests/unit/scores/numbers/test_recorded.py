"""Recorded numbers: where their error goes, and what a limit is for."""

from __future__ import annotations

from typing import Any

import narwhals as nw
import numpy as np
import pandas as pd
import pytest

from evenhand.population.recorded import MOST_VALUES
from evenhand.runtime.errors import UsageError
from evenhand.scores.numbers.recorded import (
    NumberColumns,
    RecordedNumbers,
    RecordedTerms,
    are_numbers,
    judged_of,
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
