"""Outcomes as the what-if page shows them."""

from __future__ import annotations

import numpy as np
import pytest

import evenhand as eh
from evenhand.explore.browser_values import outcome_entries
from evenhand.subject.view import views_of

SPACE = eh.Space([eh.category("sex", ["F", "M"])], protected=["sex"])


def shown(outcomes: list[object]) -> list[object]:
    values = np.array(outcomes)
    subject = eh.Subject(lambda people: values[people["sex"].cat.codes], SPACE)
    entries, _ = outcome_entries(views_of(subject), values)
    return [entry[0].get("shown") for entry in entries]


@pytest.mark.parametrize(
    ("outcomes", "texts"),
    [
        ([43310.369793811, 41237.5464], ["43,310", "41,238 (2,073 less)"]),
        ([0.4983123, 0.5123], ["0.4983", "0.512 (0.014 more)"]),
        ([0.25, 1.0], ["0.25", "1.00 (0.75 more)"]),
        ([1.0, 2.0], [None, None]),
        ([1, 0], [None, None]),
        (["deny", "approve"], [None, None]),
        ([True, False], [None, None]),
    ],
)
def test_fractions_have_the_digits_that_tell_them_apart(outcomes, texts):
    assert shown(outcomes) == texts
