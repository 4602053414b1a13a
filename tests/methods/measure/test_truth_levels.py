"""Levels and limits of error rates are checked before anything is asked."""

from __future__ import annotations

import pytest

import evenhand as eh
from evenhand.runtime.errors import UsageError
from tests.methods.measure.test_error_rates import LOG, SUBJECT_OPTIONS, subject


@pytest.mark.parametrize("sample_of", [None, "borrowers"])
@pytest.mark.parametrize("wrong", [{"level": 1.5}, {"level": 0}, {"limit": 1.5}])
def test_a_wrong_level_or_limit_is_refused_before_rows_are_asked(sample_of, wrong):
    tested = subject()
    with pytest.raises(UsageError):
        eh.measure(
            tested, sampler=eh.rows(LOG, sample_of=sample_of), **SUBJECT_OPTIONS, **wrong
        )
    assert tested.asked == 0
