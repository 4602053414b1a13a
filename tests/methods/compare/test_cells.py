"""Rates of groups, the undefined ones passed over."""

from __future__ import annotations

import numpy as np

from evenhand.methods.compare.metrics.cells import _extremes


def test_groups_whose_rate_is_undefined_are_passed_over():
    rates = np.array([[0.5, np.nan, 0.2], [np.nan, np.nan, np.nan], [0.1, 0.1, 0.1]])
    lowest, highest = _extremes(rates)
    assert lowest.tolist()[::2] == [0.2, 0.1]
    assert highest.tolist()[::2] == [0.5, 0.1]
    assert np.isnan([lowest[1], highest[1]]).all()
