"""Outcomes as SQLite keeps them: each with its type, and nothing that is none."""

from __future__ import annotations

import math
from typing import Any

import numpy as np
import pytest

from evenhand.runtime.errors import BadOutcome
from evenhand.subject.ledger.stored_outcome import restored, stored
from tests.support.helpers import refused


@pytest.mark.parametrize(
    ("outcome", "kept"),
    [
        ("yes", "yes"),
        ("é", "é"),
        ("\ud800", b'"\\ud800"'),
        (True, b"true"),
        (False, b"false"),
        (np.True_, b"true"),
        (np.False_, b"false"),
        (1, 1),
        (0, 0),
        (2**63 - 1, 2**63 - 1),
        (2**63, b"9223372036854775808"),
        (-(2**63), -(2**63)),
        (-(2**63) - 1, b"-9223372036854775809"),
        (0.5, 0.5),
        (np.float32(0.5), 0.5),
        (math.inf, math.inf),
        (math.nan, b"NaN"),
        (("yes", 3, True, 0.5), b'["yes", 3, true, 0.5]'),
        ((np.int64(3),), b"[3]"),
        ((), b"[]"),
    ],
)
def test_outcomes_are_kept_exactly(outcome: Any, kept: Any):
    found = stored(outcome)
    assert found == kept
    assert type(found) is type(kept)
    plain = outcome.item() if isinstance(outcome, np.generic) else outcome
    back = restored(found)
    assert repr(back) == repr(plain if plain != (np.int64(3),) else (3,))
    assert type(back) is type(plain)


@pytest.mark.parametrize("wrong", [None, [1], b"yes", 1j, (1, None)])
def test_what_is_no_outcome_is_not_kept(wrong: Any):
    refused(
        BadOutcome,
        lambda: stored(wrong),
        "an outcome is a str, int, float or bool",
    )
