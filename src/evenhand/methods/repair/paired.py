"""Two models on the same inputs: how much less one discriminates than the other, with limits that
all hold together.

Inputs that both models treat alike say nothing of a change, however many there are: limits of a
fall rest on those that only one of them discriminates against, and limits of what part is gone on
those that either does.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Literal

import numpy as np

from evenhand.runtime import number_text
from evenhand.runtime.errors import DataError, UsageError
from evenhand.scores.twins import ROWS, Causal
from evenhand.statistics.betting import bet
from evenhand.statistics.estimate import Amount, Estimate
from evenhand.statistics.intervals import check_level, clopper_pearson
from evenhand.statistics.paired_limits import fall_above, hits_ratio_above, ratio_above
from evenhand.statistics.simultaneous import Sure, absolute

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from numpy.typing import ArrayLike, NDArray

    from evenhand.space.feature import Points
    from evenhand.statistics.intervals import Floats
    from evenhand.subject.view import View

    Ends = tuple[float, float]

_LIMITS = 8
"""Lower and upper limits of four numbers, each of which may miss with an equal share of the error.
"""
UNKNOWN: Ends = (-math.inf, 1.0)
"""Between what a relative fall lies when nothing is known of it."""


@dataclass(frozen=True)
class Change:
    """A score before and after: `fall` is before minus after, `fewer` what part of it is gone, 1 -
    after / before.

    All four intervals hold together. Where the score before was 0, `fewer` is 0 if it stayed there
    and minus infinity if it did not; where that cannot be ruled out, minus infinity is its lower
    limit. JSON has None for it.

    >>> change = paired([1] * 50 + [0] * 950, [1] * 5 + [0] * 995, level=0.95, population="all")
    >>> print(change)
    fell: 5 % before, 0.5 % after, 90 % fewer (73.5 % fewer to 97.7 % fewer, 95 % level, n = 1,000, population: all)
    """

    before: Estimate
    after: Estimate
    fall: Amount
    fewer: Amount

    @property
    def verdict(self) -> Literal["fell", "rose", "unsure"]:
        """Whether the score surely fell, surely rose, or neither."""
        return "fell" if self.fall.low > 0 else "rose" if self.fall.high < 0 else "unsure"

    @classmethod
    def none(cls, estimate: Estimate) -> Change:
        """Return the change where nothing was changed.

        >>> Change.none(Estimate.exact(1, 4)).verdict
        'unsure'
        """
        zero = Amount(0.0, 0.0, 0.0, estimate.n, estimate.level, "unchanged")
        return cls(estimate, estimate, zero, zero)

    def to_dict(self) -> dict[str, Any]:
        """Return the change as JSON-ready values; what is infinite or unknown is None.

        >>> paired([0, 0], [0, 0], level=0.95, population="").to_dict()["fewer"]["low"] is None
        True
        """
        return {"verdict": self.verdict} | {
            name: {
                key: None if isinstance(value, float) and not math.isfinite(value) else value
                for key, value in getattr(self, name).to_dict().items()
            }
            for name in ("before", "after", "fall", "fewer")
        }

    @classmethod
    def from_dict(cls, found: Mapping[str, Any]) -> Change:
        """Return the change that `to_dict` wrote.

        >>> change = Change.none(Estimate.exact(1, 4))
        >>> Change.from_dict(change.to_dict()) == change
        True
        """
        try:
            fewer = {
                key: -math.inf if value is None else value for key, value in found["fewer"].items()
            }
            before, after, fall, part = map(
                Estimate.from_dict, (found["before"], found["after"], found["fall"], fewer)
            )
        except (KeyError, TypeError, AttributeError) as error:
            raise UsageError(f"this is no change that was written down: {error!r}") from None
        if not isinstance(fall, Amount) or not isinstance(part, Amount):
            raise UsageError(
                "this is no change that was written down: fall and fewer are no amounts"
            )
        return cls(before, after, fall, part)

    def __str__(self) -> str:
        shares = [_share(one) for one in (self.before, self.after)]
        fewer, facts = self.fewer, [f"n = {self.fewer.n:,}"]
        if fewer.level < 1:
            bounds = f"{_part(fewer.low)} to {_part(fewer.high)}"
            if math.isinf(fewer.low):
                bounds = f"at {'most' if fewer.high >= 0 else 'least'} {_part(fewer.high)}"
            facts = [bounds, fewer.level_text, *facts]
        facts += [f"population: {self.before.population}"] if self.before.population else []
        part = f", {_part(fewer.value)}" if math.isfinite(fewer.value) and fewer.n else ""
        return f"{self.verdict}: {shares[0]} before, {shares[1]} after{part} ({', '.join(facts)})"


def _share(one: Estimate) -> str:
    return "unknown" if math.isnan(one.value) else number_text.percent_part(one.value)


def _part(fewer: float) -> str:
    if fewer >= 0:
        return f"{number_text.percent_part(fewer)} fewer"
    return f"{number_text.percent_part(-fewer)} more"


def paired(
    before: ArrayLike, after: ArrayLike, *, level: float, population: str, exact: bool = False
) -> Change:
    """Return how a score changed from one model to another, from the same independent inputs.

    Parameters
    ----------
    before, after
        For each input, in random order, whether either model discriminates against it, or how much,
        from 0 to 1.
    level
        The probability with which all limits hold together, for a number of inputs that was fixed
        in advance.
    exact
        Whether these are all inputs there are, so that nothing has an interval.

    >>> change = paired([1, 0, 0, 1] * 100, [0, 0, 0, 1] * 100, level=0.95, population="all inputs")
    >>> change.verdict, f"{change.fewer.value:.2f}, {change.fewer.low:.2f} to {change.fewer.high:.2f}"
    ('fell', '0.50, 0.41 to 0.59')
    """
    old, new = _columns(before=before, after=after)
    n = len(old)
    if exact:
        ends = [
            Estimate.exact(float(column.sum()), n, population=population) for column in (old, new)
        ]
        fall, fewer = ends[0].value - ends[1].value, _fewer(ends[0].value, ends[1].value)
        amounts = [Amount(value, value, value, n, 1.0, "enumerated") for value in (fall, fewer)]
        return Change(ends[0], ends[1], amounts[0], amounts[1])
    tail = (1 - check_level(level)) / _LIMITS
    means = float(old.mean()) if n else math.nan, float(new.mean()) if n else math.nan
    if _yes_or_no(old, new):
        return _change(
            means, n, _counted(old, new, tail), level, population, ("exact", "paired melded")
        )
    return _change(means, n, _graded(old, new, tail), level, population, ("betting", "betting"))


def gap_change(
    before: ArrayLike, after: ArrayLike, inside: ArrayLike, *, level: float, population: str
) -> Change:
    """Return how the gap between a subgroup and everyone else changed, from the same rows (TestSGD,
    Definition 4.1).

    The scores are sizes of differences of means. The sign of one may turn, so limits of the fall
    are the least and the most that limits of both differences, and of how far the one moved, allow
    together.

    Parameters
    ----------
    before, after
        How favourably either model treats each row, from 0 to 1; rows are independent and in random
        order.
    inside
        Which rows are of the subgroup.

    >>> inside = np.arange(1000) % 2 == 0
    >>> change = gap_change(1.0 * inside, np.ones(1000), inside, level=0.95, population="people like these")
    >>> change.verdict, change.before.value, change.after.value, round(change.fewer.low, 3)
    ('fell', 1.0, 0.0, 0.99)
    """
    old, new = _columns(before=before, after=after)
    group = np.asarray(inside, dtype=np.bool_)
    if group.shape != old.shape:
        raise DataError(
            f"inside tells of {group.size} rows, and before has {len(old)}; give one of each for"
            " every row"
        )
    n, counts, sides = len(old), _yes_or_no(old, new), (group, ~group)
    tail = (1 - check_level(level)) / _LIMITS
    words = ("melded", "paired melded") if counts else ("melded, graded", "betting")
    if not all(side.any() for side in sides):
        limits = [(0.0, 1.0), (0.0, 1.0), (-1.0, 1.0), UNKNOWN]
        return _change((math.nan, math.nan), 0, limits, level, population, words)
    # Of the error, the differences get one half and the moves of either side the other: eight
    # limits in all.
    sure = Sure(level, among=2, graded=not counts)
    sums = [(column[side].sum(), side.sum()) for column in (old, new) for side in sides]
    gaps = [sure.difference(*sums[at], *sums[at + 1]) for at in (0, 2)]
    (least, most), (fewest, highest) = (
        _moved(old[side], new[side], tail, counts=counts) for side in sides
    )
    means = [float(column[group].mean() - column[~group].mean()) for column in (old, new)]
    fall, fewer = _sizes(means, gaps, (least - highest, most - fewest))
    shares = [(float(low), float(high)) for low, high in (absolute(*gap) for gap in gaps)]
    return _change(
        (abs(means[0]), abs(means[1])), n, [*shares, fall, fewer], level, population, words
    )


def hits(view: View, names: tuple[str, ...], points: Points) -> NDArray[Any]:
    """Return which points a model discriminates against over these features, or by how much (Themis
    Def. 3.7).

    >>> from evenhand.space.feature import category, integer
    >>> from evenhand.space.space import Space
    >>> from evenhand.subject.subject import Subject
    >>> from evenhand.subject.view import View
    >>> space = Space([category("sex", ["F", "M"]), integer("age", 18, 90)])
    >>> loan = Subject(lambda people: (people["age"] > 30) & (people["sex"] == "M"), space)
    >>> hits(View(loan), ("sex",), space.encode([{"sex": "F", "age": 20}, {"sex": "F", "age": 40}])).tolist()
    [False, True]
    """
    if not len(points):
        return np.zeros(0, dtype=np.float64 if view.graded else np.bool_)
    causal = Causal(view, None, names)  # type: ignore[arg-type]
    rows = max(1, ROWS // causal.cost)
    return np.concatenate(
        [causal.count(points[at : at + rows], 0)[0] for at in range(0, len(points), rows)]
    )


def _columns(**columns: ArrayLike) -> list[Floats]:
    """Return columns as numbers from 0 to 1, as many of each."""
    found = {name: np.asarray(column, dtype=np.float64) for name, column in columns.items()}
    for name, column in found.items():
        if column.ndim != 1 or not bool(np.all((column >= 0) & (column <= 1))):
            raise DataError(f"{name} must be one column of numbers from 0 to 1, such as hits")
    sizes = {name: len(column) for name, column in found.items()}
    if len(set(sizes.values())) > 1:
        said = " and ".join(f"{name} has {size}" for name, size in sizes.items())
        raise DataError(f"{said} inputs; both models must be asked the same")
    return list(found.values())


def _yes_or_no(*columns: Floats) -> bool:
    return all(bool(np.all((column == 0) | (column == 1))) for column in columns)


def _fewer(before: float, after: float) -> float:
    """Return what part is gone; minus infinity where there was nothing and now is something."""
    if before > 0:
        return 1 - after / before
    return -math.inf if after > 0 else 0.0


def _around(value: float, ends: Ends) -> Ends:
    """Return limits that hold the value, which rounding may have put outside."""
    return ends if math.isnan(value) else (min(ends[0], value), max(ends[1], value))


def _change(
    means: tuple[float, float],
    n: int,
    limits: list[Ends],
    level: float,
    population: str,
    words: tuple[str, str],
) -> Change:
    """Return the change with these limits, and with what they imply of each other."""
    first, second, (low, high), (part, parts) = limits
    # The fall is the score before times the part that is gone, and a rise the score after times the
    # part that is new: limits of the one are limits of the other, and neither is said to be of a
    # sign that the other may not have.
    if part > 0:
        low = max(low, part * first[0])
    if parts < 0:
        high = min(high, second[0] * (1 / (1 - parts) - 1))
    part = max(part, low / first[1]) if low > 0 else min(part, 0.0)
    parts = min(parts, 1 - 1 / (1 + high / second[1])) if high < 0 else max(parts, 0.0)
    fall, fewer = (means[0] - means[1], _fewer(*means)) if n else (0.0, 0.0)
    return Change(
        Estimate(means[0], *_around(means[0], first), n, level, words[0], population),
        Estimate(means[1], *_around(means[1], second), n, level, words[0], population),
        Amount(fall, *_around(fall, (low, high)), n, level, words[1]),
        Amount(fewer, *_around(fewer, (part, parts)), n, level, words[1]),
    )


def _turned(old: Floats, new: Floats) -> tuple[int, int]:
    """Return how many were hits before alone, and how many are after alone."""
    return int((old > new).sum()), int((new > old).sum())


def _counted(old: Floats, new: Floats, tail: float) -> list[Ends]:
    """Return limits of the shares before and after, of the fall and of the part that is gone, from
    hits.
    """
    n, (gone, come), both = len(old), _turned(old, new), int((old * new).sum())
    shares = [clopper_pearson(total, n, 1 - 2 * tail) for total in (gone + both, come + both)]
    return [
        *((float(low), float(high)) for low, high in shares),
        (fall_above(gone, come, n, tail), -fall_above(come, gone, n, tail)),
        _gone(hits_ratio_above(gone, come, both, tail), hits_ratio_above(come, gone, both, tail)),
    ]


def _graded(old: Floats, new: Floats, tail: float) -> list[Ends]:
    """Return the same limits from values anywhere in [0, 1]."""
    ends = [bet(old, tail), bet(new, tail), bet(old - new, tail, low=-1.0)]
    ratios = ratio_above(new, old, tail), ratio_above(old, new, tail)
    return [*((float(low[0]), float(high[0])) for low, high in ends), _gone(*ratios)]


def _gone(after: float, before: float) -> Ends:
    """Return limits of the part that is gone, from the least ratios of after to before and of
    before to after.
    """
    return 1 - 1 / before if before > 0 else -math.inf, 1 - after


def _moved(old: Floats, new: Floats, tail: float, *, counts: bool) -> Ends:
    """Return limits of the mean fall of some rows."""
    if not counts:
        low, high = bet(old - new, tail, low=-1.0)
        return float(low[0]), float(high[0])
    gone, come = _turned(old, new)
    return fall_above(gone, come, len(old), tail), -fall_above(come, gone, len(old), tail)


def _sizes(means: Sequence[float], gaps: Sequence[Any], moved: Ends) -> tuple[Ends, Ends]:
    """Return limits of |x| - |y| and of 1 - |y| / |x|, from limits of x, of y and of x - y.

    Both are monotone along every straight line that crosses neither axis, so that they are least
    and most at corners of what the limits allow, and where its edges cross an axis.
    """
    (low, high), (least, most) = gaps
    xs, ys = np.array([low, high, 0.0]), np.array([least, most, 0.0])
    first, second, apart = np.repeat(xs, 3), np.tile(ys, 3), np.array(moved)
    x = np.concatenate([means[:1], first, np.repeat(xs, 2), np.repeat(ys, 2) + np.tile(apart, 3)])
    y = np.concatenate([means[1:], second, np.repeat(xs, 2) - np.tile(apart, 3), np.repeat(ys, 2)])
    close = 1e-12
    held = (x >= low - close) & (x <= high + close) & (y >= least - close) & (y <= most + close)
    held &= (x - y >= moved[0] - close) & (x - y <= moved[1] + close)
    x, y = np.abs(x[held]), np.abs(y[held])
    fewer = [
        _fewer(one, other)
        for one, other in zip(x.tolist(), y.tolist(), strict=True)
        if one > 0 or other > 0
    ]
    fall = x - y
    return (float(fall.min()), float(fall.max())), (
        min(fewer, default=0.0),
        max(fewer, default=0.0),
    )
