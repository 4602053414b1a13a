"""How often recorded decisions are favourable."""

from __future__ import annotations

import pandas as pd
import pytest

from evenhand.scores.planning.recorded import base_rate


@pytest.mark.parametrize(
    ("outcomes", "positive", "rate"),
    [
        ([0, 1, 1, 1], None, 0.75),
        ([True, False, False, False], None, 0.25),
        ([0, 1, None, None], None, 0.5),
        ([0, 0], None, 0.0),
        ([1, 1], None, 1.0),
        ([0, 1, 2], None, None),
        ([0.5, 1.0], None, None),
        (["yes", "no", "no", "no"], "yes", 0.25),
        (["yes", "no", None], "yes", 0.5),
        ([1, 2, 3, 4], 3, 0.25),
        ([1, 2, 3, 4], "3", 0.25),
    ],
)
def test_the_base_rate_is_a_share_of_decisions_that_are_known(outcomes, positive, rate):
    frame = pd.DataFrame({"ok": outcomes})
    assert base_rate(frame, "ok", positive) == rate
