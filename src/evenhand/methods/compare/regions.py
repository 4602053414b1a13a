"""Where a mitigation stands against blind overwriting: the line, the five regions and the area (Fairea 4.2 and 4.3)."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np

if TYPE_CHECKING:
    from numpy.typing import NDArray

    Floats = NDArray[np.float64]

LOSE_LOSE, POOR, INVERTED, GOOD, WIN_WIN = range(5)
REGIONS = ("lose-lose", "poor trade-off", "inverted trade-off", "good trade-off", "win-win")
"""The five regions, in the order of the paper's Table 4."""
CLOSE = 1e-9
"""Scores that are nearer than this are equal."""


def regions(performance: Any, bias: Any, height: Any) -> NDArray[np.intp]:
    """Return the region of each point, from its differences to the original and its height over the baseline.

    Nothing counts as better unless it is strictly better. So what is as biased as the original, or more, is never a
    win-win, what is not more right is never inverted, and a point on the baseline is a poor trade-off, since blind
    overwriting does as well. Less bias at equal performance is a good trade-off.

    >>> found = regions([0.05, 0.05, -0.1, -0.1, -0.1, 0.0], [-0.1, 0.0, -0.1, -0.1, 0.1, 0.0], [0, 0, 0.1, 0.0, 0, 0])
    >>> [REGIONS[code] for code in found]
    ['win-win', 'inverted trade-off', 'good trade-off', 'poor trade-off', 'lose-lose', 'poor trade-off']
    """
    gained, more, above = (np.asarray(value) > CLOSE for value in (performance, bias, height))
    less = np.asarray(bias) < -CLOSE
    traded = np.where(above, GOOD, POOR)
    found = np.where(gained, np.where(less, WIN_WIN, INVERTED), np.where(more, LOSE_LOSE, traded))
    return np.asarray(found, dtype=np.intp)


def plausible(performance: tuple[float, float], bias: tuple[float, float], height: tuple[float, float]) -> list[str]:
    """Return every region that intervals of the two differences and of the height allow, best last.

    >>> plausible((-0.2, -0.1), (-0.3, -0.2), (-0.01, 0.05))
    ['poor trade-off', 'good trade-off']
    """
    gained, kept = performance[1] > CLOSE, performance[0] <= CLOSE
    less, not_less, more, not_more = bias[0] < -CLOSE, bias[1] >= -CLOSE, bias[1] > CLOSE, bias[0] <= CLOSE
    possible = {
        LOSE_LOSE: kept and more,
        POOR: kept and not_more and height[0] <= CLOSE,
        INVERTED: gained and not_less,
        GOOD: kept and not_more and height[1] > CLOSE,
        WIN_WIN: gained and less,
    }
    return [name for code, name in enumerate(REGIONS) if possible[code]]


@dataclass(frozen=True)
class Line:
    """The best performance that blind overwriting keeps at each bias, through the points that were computed.

    Points are joined by straight lines. Where overwriting more would cost performance and bring more bias, the line
    keeps to the better point; left of its end it goes on level, since no overwriting is less biased. Leading axes hold
    any number of lines.

    >>> line = Line.through(np.array([0.5, 1 / 6, 0.0]), np.array([0.8, 0.6, 0.5]))
    >>> [round(float(line.height(bias, right)), 6) for right, bias in [(0.75, 0.3), (0.6, 1 / 6), (0.45, 0.0)]]
    [0.07, 0.0, -0.05]
    >>> round(float(line.area(0.3, 0.75)), 7), round(float(line.area(0.1, 0.70)), 7)
    (0.0272222, 0.1088889)
    """

    bias: Floats
    performance: Floats

    @classmethod
    def through(cls, bias: Floats, performance: Floats) -> Line:
        """Return the line through the points of each degree of overwriting; points that are undefined are left out."""
        known = ~(np.isnan(bias) | np.isnan(performance))
        x, y = np.where(known, bias, np.inf), np.where(known, performance, -np.inf)
        order = np.lexsort((y, x), axis=-1)
        x, y = np.take_along_axis(x, order, axis=-1), np.take_along_axis(y, order, axis=-1)
        top = np.where(known, performance, -np.inf).max(axis=-1, keepdims=True)
        right = np.where(known, bias, -np.inf).max(axis=-1, keepdims=True)
        y = np.where(np.isinf(x), top, np.maximum.accumulate(y, axis=-1))
        return cls(np.where(np.isinf(x), right, x), y)

    def at(self, bias: Any) -> Floats:
        """Return the performance of the line at a bias."""
        x, y, u = self.bias, self.performance, np.asarray(bias, dtype=np.float64)
        last = x.shape[-1] - 1
        right = np.clip((x <= u[..., None] + CLOSE).sum(axis=-1), 0, last + 1)
        after, before = np.minimum(right, last), np.maximum(right - 1, 0)
        x0, x1 = _take(x, before), _take(x, after)
        y0, y1 = _take(y, before), _take(y, after)
        width = x1 - x0
        part = np.where(width > CLOSE, (u - x0) / np.where(width > CLOSE, width, 1.0), 0.0)
        found = y0 + np.clip(part, 0.0, 1.0) * (y1 - y0)
        return np.asarray(np.where(right == 0, y[..., 0], found))

    def height(self, bias: Any, performance: Any) -> Floats:
        """Return how far a point lies over the line, in performance."""
        return np.asarray(np.asarray(performance) - self.at(bias))

    @property
    def ranges(self) -> tuple[Floats, Floats]:
        """The ranges of bias and of performance that are scaled to 0 to 1."""
        low = self.performance[..., 0]
        return self.bias[..., -1] - self.bias[..., 0], self.performance[..., -1] - low

    def area(self, bias: Any, performance: Any) -> Floats:
        """Return the area between a point and the line, where both axes are scaled to 0 to 1 (Fairea 4.3).

        It is closed by going down, and to the right, from the point to the line; a point over the start of the line,
        which is a win-win, is closed at the bias of the original instead. It is 0 under the line, and NaN where the
        line has no extent.
        """
        x, y, u = self.bias, self.performance, np.asarray(bias, dtype=np.float64)
        a = np.asarray(performance, dtype=np.float64)[..., None]
        start = np.broadcast_to(u[..., None], (*np.broadcast_shapes(u.shape, x.shape[:-1]), 1))
        full = (*start.shape[:-1], x.shape[-1])
        knots = np.concatenate([np.minimum(start, x[..., :1]), np.broadcast_to(x, full)], axis=-1)
        levels = np.concatenate([np.broadcast_to(y[..., :1], start.shape), np.broadcast_to(y, full)], axis=-1)
        left, right = knots[..., :-1], knots[..., 1:]
        begin = np.clip(u[..., None], left, right)
        width = np.where(right > left, right - left, 1.0)
        slope = (levels[..., 1:] - levels[..., :-1]) / width
        h0, h1 = a - (levels[..., :-1] + slope * (begin - left)), a - levels[..., 1:]
        long = right - begin
        both = (h0 + h1) / 2 * long
        falls = np.where(h0 > h1, h0 - h1, 1.0)
        cut = np.square(np.maximum(h0, 0)) / (2 * falls) * long
        raw = np.where(h1 >= 0, both, np.where(h0 > 0, cut, 0.0)).sum(axis=-1)
        wide, high = self.ranges
        extent = wide * high
        return np.asarray(np.where(extent > CLOSE**2, raw / np.where(extent > CLOSE**2, extent, 1.0), np.nan))


def _take(values: Floats, at: NDArray[np.intp]) -> Floats:
    spread = np.broadcast_to(values, (*np.broadcast_shapes(values.shape[:-1], at.shape), values.shape[-1]))
    return np.asarray(np.take_along_axis(spread, at[..., None], axis=-1)[..., 0])


@dataclass(frozen=True)
class Plane:
    """The plane of bias and performance: where the original stands in it, and the line of blind overwriting."""

    start: tuple[float, float]
    line: Line

    def regions(self, places: Any) -> Any:
        """Return the region of each place, given as bias and performance along the last axis."""
        bias, performance = self.start
        x, y = places[..., 0], places[..., 1]
        return regions(y - performance, x - bias, self.line.height(x, y))
