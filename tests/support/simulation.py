"""What simulations of coverage share: how many misses are too many, and what is run only slowly."""

from __future__ import annotations

from typing import Any

import pytest
from scipy.stats import binom

ODDS = 1e-4
"""How often a test may fail by chance, where a level is held exactly."""


def plausible(misses: int, runs: int, level: float, *, odds: float = ODDS) -> bool:
    """Return whether so many misses are no stranger than the odds if the level is held.

    >>> plausible(11, 100, 0.9), plausible(30, 100, 0.9)
    (True, False)
    """
    chance = binom.sf(misses - 1, runs, 1 - level)
    return bool(chance > odds)


def holds(kept: int, runs: int, level: float) -> bool:
    """Return whether so few runs that kept to the truth are no stranger than the odds."""
    return plausible(runs - kept, runs, level)


def covers(estimate: Any, truth: float, slack: float = 0.0) -> bool:
    """Return whether the limits of an estimate hold the truth, but for rounding."""
    above_low = estimate.low - slack <= truth
    below_high = truth <= estimate.high + slack
    return bool(above_low and below_high)


def slow(*values: Any, id: str | None = None) -> Any:
    """Return the values of a case that only a run of all tests takes the time for."""
    return pytest.param(*values, marks=pytest.mark.slow, id=id)
