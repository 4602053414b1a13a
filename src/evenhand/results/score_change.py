"""ScoreChange: how a score changed from one version of the software to the next, with limits.

There are four ways to know, and the first that can be had is taken:

- Paired: both versions were asked the same inputs, as many as were fixed before any answer. Inputs
  that both treat alike say nothing of a change, so that software that did not change is known not
  to have changed after few of them.
- Independent: each version was asked inputs of its own, as many as were fixed before. The limits
  are those of the difference of two rates.
- Unchanged: of given rows that both versions were asked, the same score to the last digit.
- Apart: of any two estimates, the ends of the one interval minus those of the other. This holds
  whatever the estimates are of, whatever rule ended them, and however they depend on each other.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from numbers import Real
from typing import TYPE_CHECKING, Any

import numpy as np

from evenhand.runtime import number_text
from evenhand.runtime.errors import UsageError
from evenhand.statistics.estimate import Estimate
from evenhand.statistics.intervals import clopper_pearson, difference, spread
from evenhand.statistics.paired_limits import are_counts, rise_limits
from evenhand.statistics.sequential.betting import bet
from evenhand.statistics.sequential.confidence_sequences import mixture, mixture_spread

if TYPE_CHECKING:
    from collections.abc import Mapping

    from numpy.typing import NDArray

    from evenhand.statistics.intervals import Floats

    Column = NDArray[np.bool_] | NDArray[np.floating[Any]]


@dataclass(frozen=True, slots=True)
class ScoreChange:
    """The new score minus the old one, and between what it lies with probability `level`.

    Parameters
    ----------
    value, low, high
        The change and its limits; positive where the score rose.
    level
        The probability with which the limits hold, for all findings of a check together; 1 where
        both scores are exact.
    n
        How many inputs or rows of the new version it rests on.
    method
        How the limits were made: "paired", "independent", "unchanged" or "apart".
    unit
        What the numbers are: a difference of rates, or an amount.

    Examples
    --------
    >>> ScoreChange(0.2, 0.1, 0.3, 0.95, 500, "paired").paired
    True
    """

    value: float
    low: float
    high: float
    level: float
    n: int
    method: str
    unit: str = "rate"

    @property
    def paired(self) -> bool:
        """Whether both versions were asked the same inputs."""
        return self.method in ("paired", "unchanged")

    @property
    def size_text(self) -> str:
        """The change with its limits: of rates in points, of amounts in their own unit.

        >>> ScoreChange(0.2, 0.1, 0.3, 0.95, 500, "paired").size_text
        '+20.0 points (+10.0 to +30.0)'
        >>> ScoreChange(-1850.2, -1850.2, -1850.2, 1.0, 500, "apart", "amount").size_text
        '-1,850'
        """
        if self.unit == Estimate.unit:
            return number_text.spread(self.value, self.low, self.high, "points", sign="+")
        value = number_text.amount(self.value, sign="+")
        if self.high == self.low:
            return value
        return f"{value} ({number_text.amount_between(self.low, self.high, sign='+')})"

    def to_dict(self) -> dict[str, Any]:
        """Return the change as JSON holds it; an end that nothing bounds is None."""
        return {
            "value": _finite(self.value),
            "low": _finite(self.low),
            "high": _finite(self.high),
            "level": self.level,
            "n": self.n,
            "paired": self.paired,
            "method": self.method,
            "unit": self.unit,
        }

    @classmethod
    def from_dict(cls, table: Mapping[str, Any]) -> ScoreChange:
        """Rebuild a change from `to_dict`."""
        return cls(
            _number(table["value"], math.nan),
            _number(table["low"], -math.inf),
            _number(table["high"], math.inf),
            table["level"],
            table["n"],
            table["method"],
            table["unit"],
        )


def check_tolerance(tolerance: float) -> float:
    """Return how much worse a score may be, if it lies in [0, 1].

    >>> check_tolerance(0.01)
    0.01
    """
    if not isinstance(tolerance, Real) or not 0 <= tolerance <= 1:
        raise UsageError(
            f"tolerance is {tolerance!r}; it must lie between 0 and 1, for example 0.01"
        )
    return float(tolerance)


def _finite(number: float) -> float | None:
    return number if math.isfinite(number) else None


def _number(number: float | None, otherwise: float) -> float:
    return otherwise if number is None else float(number)


def unchanged(score: Estimate) -> ScoreChange:
    """Return that a score of given rows is what it was of the same rows.

    >>> unchanged(Estimate(0.1, 0.08, 0.12, 900, 0.95, "exact")).value
    0.0
    """
    return ScoreChange(0.0, 0.0, 0.0, 1.0, score.n, "unchanged", score.unit)


def apart(new: Estimate, old: Estimate) -> ScoreChange:
    """Return the change between any two estimates: what their intervals allow together.

    Each of the two limits misses only where an end of either interval does, which for two-sided
    intervals happens with half of the error of each.

    >>> new = Estimate(0.3, 0.25, 0.35, 900, 0.95, "exact")
    >>> change = apart(new, Estimate(0.1, 0.08, 0.12, 900, 0.95, "exact"))
    >>> f"{change.value:.2f} ({change.low:.2f} to {change.high:.2f})"
    '0.20 (0.13 to 0.27)'
    """
    return ScoreChange(
        value=new.value - old.value,
        low=new.low - old.high,
        high=new.high - old.low,
        level=min(new.level, old.level),
        n=new.n,
        method="apart",
        unit=new.unit,
    )


def independent(new: Column, old: Column, *, level: float, among: int = 1) -> ScoreChange:
    """Return the change of a rate from two samples, of sizes that were fixed before.

    Parameters
    ----------
    new, old
        Whether either version hits each of its inputs.
    level, among
        The probability with which the limits of so many findings hold together.

    >>> numbers = np.arange(1000)
    >>> change = independent(numbers % 5 == 0, numbers % 10 == 0, level=0.95)
    >>> f"{change.value:.2f} ({change.low:.3f} to {change.high:.3f})"
    '0.10 (0.068 to 0.132)'
    """
    error = (1 - level) / among
    value = float(new.mean() - old.mean())
    low, high = difference(
        new.sum(),
        len(new),
        old.sum(),
        len(old),
        1 - error,
    )
    ends = _around(value, low, high)
    return ScoreChange(value, *ends, level, len(new), "independent")


def sampled(answers: Column, *, level: float, among: int = 1) -> Estimate:
    """Return the score of a sample whose size was fixed before: a mean, or a distance of means.

    Parameters
    ----------
    answers
        As for `paired`.
    level, among
        The probability with which the intervals of so many findings hold together.

    >>> print(sampled(np.arange(1000) % 5 == 0, level=0.95))
    20.0 % (17.6 % to 22.6 %, 95 % level, n = 1,000, fixed size)
    """
    column = np.asarray(answers, dtype=np.float64)
    error = (1 - level) / among
    n = len(column)
    value = _score(column)
    if column.ndim == 2:
        limits = _distance(column, error)
    elif are_counts(column):
        low, high = clopper_pearson(column.sum(), n, 1 - error)
        limits = float(low), float(high)
    else:
        lows, highs = bet(column, error / 2)
        limits = (lows[0], highs[0])
    ends = _around(value, *limits)
    return Estimate(value, *ends, n, level, "fixed size")


def paired(new: Column, old: Column, *, level: float, among: int = 1) -> ScoreChange:
    """Return the change of a score from the same inputs, as many of them as were fixed before.

    Parameters
    ----------
    new, old
        What either version did with each input, from 0 to 1: a column where the score is the mean,
        and a column for each group where it is how far apart the means of groups are.
    level, among
        The probability with which the limits of so many findings hold together.

    >>> old = np.arange(2000) % 10 == 0
    >>> same = paired(old, old, level=0.95)
    >>> f"{same.value:.1f} ({same.low:.4f} to {same.high:.4f})"
    '0.0 (-0.0018 to 0.0018)'
    """
    error = (1 - level) / among
    before = np.asarray(old, dtype=np.float64)
    after = np.asarray(new, dtype=np.float64)
    value = _score(after) - _score(before)
    if before.ndim == 1:
        limits = rise_limits(before, after, error / 2)
    else:
        limits = _spread_limits(before, after, error)
    ends = _around(value, *limits)
    return ScoreChange(value, *ends, level, len(after), "paired")


def _score(column: Floats) -> float:
    """Return the mean, or how far apart the means of groups are."""
    means = column.mean(axis=0)
    return float(means if column.ndim == 1 else np.ptp(means))


def _around(value: float, low: Any, high: Any) -> tuple[float, float]:
    """Return limits that hold the value, which rounding may have put outside."""
    lowest = min(float(low), value)
    highest = max(float(high), value)
    return lowest, highest


def _spread_limits(before: Floats, after: Floats, error: float) -> tuple[float, float]:
    """Return limits of how much further apart the means of groups are.

    The groups that were furthest apart have moved away from each other by no more than the distance
    rose, and those that are furthest apart now by no less. Which groups these are is not known, but
    most pairs can be ruled out. Besides, the limits of both distances allow no more. The moves get
    half of the error; the distances, and the pairs ruled out, a quarter each.
    """
    groups = before.shape[1]
    new_low, new_high = _distance(after, error / 8)
    old_low, old_high = _distance(before, error / 8)
    # Two limits of the move of each group.
    tail = error / 4 / groups
    moves = []
    for group in range(groups):
        old_column = before[:, group]
        new_column = after[:, group]
        moves.append(rise_limits(old_column, new_column, tail))
    lows, highs = np.array(moves).T
    # How far the first of two groups moved away from the second.
    least = np.subtract.outer(lows, highs)
    most = np.subtract.outer(highs, lows)
    were_furthest = _may_be_furthest(before, error / 8)
    are_furthest = _may_be_furthest(after, error / 8)
    low = max(new_low - old_high, least[were_furthest].min())
    high = min(new_high - old_low, most[are_furthest].max())
    return float(low), float(high)


def _may_be_furthest(column: Floats, error: float) -> NDArray[np.bool_]:
    """Return which pairs of groups, the better one first, may be those furthest apart."""
    n, groups = column.shape
    sums = column.sum(axis=0)
    interval = clopper_pearson if are_counts(column) else mixture
    lows, highs = interval(sums, n, 1 - error / groups)
    least = np.subtract.outer(lows, highs)
    most = np.subtract.outer(highs, lows)
    pairs = ~np.eye(groups, dtype=np.bool_)
    # Some two groups are surely so far apart, and no pair is further apart than the furthest.
    surely = max(float(least[pairs].max()), 0.0)
    return np.asarray(pairs & (most >= surely))


def _distance(column: Floats, error: float) -> tuple[float, float]:
    """Return limits of how far apart the means of the groups are."""
    interval = spread if are_counts(column) else mixture_spread
    sizes = np.full(column.shape[1], len(column))
    low, high = interval(column.sum(axis=0), sizes, 1 - error)
    return float(low), float(high)
