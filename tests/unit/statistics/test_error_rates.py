"""Error rates: closed forms, names, and what is refused."""

from __future__ import annotations

import numpy as np
import pytest

from evenhand.runtime.errors import UsageError
from evenhand.statistics.error_rates import RATES, USUAL, rates_of

# One group: 30 true positives, 10 false negatives, 5 false positives, 55 true negatives, and of 20
# people it is not known what they should get; 8 of them are selected.
COUNTS = np.array([[[55.0, 5.0], [10.0, 30.0], [12.0, 8.0]]])
EXPECTED = {
    "selection_rate": 43 / 120,
    "true_positive_rate": 30 / 40,
    "false_negative_rate": 10 / 40,
    "false_positive_rate": 5 / 60,
    "true_negative_rate": 55 / 60,
    "precision": 30 / 35,
    "accuracy": 85 / 100,
    "base_rate": 40 / 100,
}


@pytest.mark.parametrize("name", RATES)
def test_each_rate_is_its_closed_form(name):
    hits, size = RATES[name].counted(COUNTS)
    assert hits[0] / size[0] == pytest.approx(EXPECTED[name])


def test_short_names_stand_for_long_ones():
    assert rates_of(["TPR", "fpr", "ppv"], truth=True) == (
        "true_positive_rate",
        "false_positive_rate",
        "precision",
    )
    assert rates_of("True positive-rate", truth=True) == ("true_positive_rate",)
    assert rates_of("selection_rate", truth=False) == ("selection_rate",)
    assert set(USUAL) <= set(RATES)


@pytest.mark.parametrize(
    ("metric", "words"),
    [
        ("true_positiv_rate", "did you mean 'true_positive_rate'"),
        ([], "a list of names"),
        (5, "a list of names"),
    ],
)
def test_unknown_names_are_refused(metric, words):
    with pytest.raises(UsageError, match=words):
        rates_of(metric, truth=True)


def test_error_rates_need_a_truth():
    with pytest.raises(UsageError, match="name that column with truth"):
        rates_of("tpr", truth=False)
