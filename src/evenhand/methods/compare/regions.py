"""Blind overwriting, the line through it, and where a mitigation stands against it (Fairea 4.1 to
4.3).
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np

from evenhand.runtime.errors import UsageError, clip, nearest
from evenhand.space.feature import plain

if TYPE_CHECKING:
    from collections.abc import Sequence

    from numpy.typing import NDArray

    from evenhand.methods.compare.metrics.scores import Score
    from evenhand.space.feature import Label

    Floats = NDArray[np.float64]

LOSE_LOSE, POOR, INVERTED, GOOD, WIN_WIN = range(5)
REGIONS = ("lose-lose", "poor trade-off", "inverted trade-off", "good trade-off", "win-win")
"""The five regions, in the order of the paper's Table 4."""
SHORT = dict(zip(REGIONS, ("lose-lose", "poor", "inverted", "good", "win-win"), strict=True))
"""What a region is called where there is little room."""
CLOSE = 1e-9
"""Scores that are nearer than this are equal."""


def regions(performance: Any, bias: Any, height: Any) -> NDArray[np.intp]:
    """Return the region of each point, from its differences to the original and its height over the
    baseline.

    Nothing counts as better unless it is strictly better. So what is as biased as the original, or
    more, is never a win-win, what is not more right is never inverted, and a point on the baseline
    is a poor trade-off, since blind overwriting does as well. Less bias at equal performance is a
    good trade-off.

    >>> found = regions([0.05, 0.05, -0.1, -0.1, -0.1, 0.0], [-0.1, 0.0, -0.1, -0.1, 0.1, 0.0], [0, 0, 0.1, 0.0, 0, 0])
    >>> [REGIONS[code] for code in found]
    ['win-win', 'inverted trade-off', 'good trade-off', 'poor trade-off', 'lose-lose', 'poor trade-off']
    """
    gained, more, above = (np.asarray(value) > CLOSE for value in (performance, bias, height))
    less = np.asarray(bias) < -CLOSE
    traded = np.where(above, GOOD, POOR)
    found = np.where(gained, np.where(less, WIN_WIN, INVERTED), np.where(more, LOSE_LOSE, traded))
    return np.asarray(found, dtype=np.intp)


def plausible(
    performance: tuple[float, float], bias: tuple[float, float], height: tuple[float, float]
) -> list[str]:
    """Return every region that intervals of the two differences and of the height allow, best last.

    >>> plausible((-0.2, -0.1), (-0.3, -0.2), (-0.01, 0.05))
    ['poor trade-off', 'good trade-off']
    """
    gained, kept = performance[1] > CLOSE, performance[0] <= CLOSE
    less, not_less, more, not_more = (
        bias[0] < -CLOSE,
        bias[1] >= -CLOSE,
        bias[1] > CLOSE,
        bias[0] <= CLOSE,
    )
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
    """The best performance that blind overwriting keeps at each bias, through the points that were
    computed.

    Points are joined by straight lines. Where overwriting more would cost performance and bring
    more bias, the line keeps to the better point; left of its end it goes on level, since no
    overwriting is less biased. Leading axes hold any number of lines.

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
        """Return the line through the points of each degree of overwriting; points that are
        undefined are left out.
        """
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
        """Return the area between a point and the line, where both axes are scaled to 0 to 1
        (Fairea 4.3).

        It is closed by going down, and to the right, from the point to the line; a point over the
        start of the line, which is a win-win, is closed at the bias of the original instead. It is
        0 under the line, and NaN where the line has no extent.
        """
        x, y, u = self.bias, self.performance, np.asarray(bias, dtype=np.float64)
        a = np.asarray(performance, dtype=np.float64)[..., None]
        start = np.broadcast_to(u[..., None], (*np.broadcast_shapes(u.shape, x.shape[:-1]), 1))
        full = (*start.shape[:-1], x.shape[-1])
        knots = np.concatenate([np.minimum(start, x[..., :1]), np.broadcast_to(x, full)], axis=-1)
        levels = np.concatenate(
            [np.broadcast_to(y[..., :1], start.shape), np.broadcast_to(y, full)], axis=-1
        )
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
        return np.asarray(
            np.where(extent > CLOSE**2, raw / np.where(extent > CLOSE**2, extent, 1.0), np.nan)
        )


def _take(values: Floats, at: NDArray[np.intp]) -> Floats:
    spread = np.broadcast_to(
        values, (*np.broadcast_shapes(values.shape[:-1], at.shape), values.shape[-1])
    )
    return np.asarray(np.take_along_axis(spread, at[..., None], axis=-1)[..., 0])


@dataclass(frozen=True)
class Plane:
    """The plane of bias and performance: where the original stands in it, and the line of blind
    overwriting.
    """

    start: tuple[float, float]
    line: Line

    def regions(self, places: Any) -> Any:
        """Return the region of each place, given as bias and performance along the last axis."""
        bias, performance = self.start
        x, y = places[..., 0], places[..., 1]
        return regions(y - performance, x - bias, self.line.height(x, y))


DEGREES = tuple(step / 10 for step in range(11))
"""The paper's degrees of overwriting, and none at all."""
STRATEGIES = ("tightest", "majority", "label", "random")
_GRID = 101


@dataclass(frozen=True)
class Overwriting:
    """Which shares of the predictions are overwritten, and with what: the place of a label, or None
    for any at random.

    >>> table = np.array([[[4.0, 0.0], [0.0, 6.0]]])
    >>> Overwriting((0.0, 0.5, 1.0), 1).expected(table)[1].tolist()
    [[[2.0, 2.0], [0.0, 6.0]]]
    """

    degrees: tuple[float, ...]
    label: int | None

    def expected(self, tables: Floats) -> Floats:
        """Return the mean table at each degree, on a new axis before those of a table."""
        share = np.array(self.degrees)[:, None, None, None]
        left, over = tables[..., None, :, :, :], self._all(tables)[..., None, :, :, :]
        return np.asarray(left * (1 - share) + over * share)

    def _all(self, tables: Floats) -> Floats:
        """Return the mean table when every prediction is overwritten."""
        people = tables.sum(axis=-1, keepdims=True)
        labels = tables.shape[-1]
        spread = np.full(labels, 1 / labels) if self.label is None else np.eye(labels)[self.label]
        return np.asarray(people * spread)

    def drawn(self, table: Floats, repetitions: int, rng: np.random.Generator) -> Floats:
        """Return tables of the paper's procedure: at each degree, that part of the predictions
        chosen at random.

        The new axes are repetitions and degrees. The people chosen fall into the cells by the
        multivariate hypergeometric law, which is that of choosing rows one by one.
        """
        counts = np.rint(table).astype(np.int64).ravel()
        total = int(counts.sum())
        found = np.empty((repetitions, len(self.degrees), *table.shape))
        for at, degree in enumerate(self.degrees):
            some = round(degree * total)
            taken = rng.multivariate_hypergeometric(
                counts, some, size=repetitions, method="marginals"
            )
            left = (counts - taken).reshape(repetitions, *table.shape)
            found[:, at] = left + self._told(taken.reshape(repetitions, *table.shape), rng)
        return found

    def _told(self, taken: Any, rng: np.random.Generator) -> Floats:
        people = taken.sum(axis=-1)
        labels = taken.shape[-1]
        if self.label is None:
            return np.asarray(
                rng.multinomial(people, np.full(labels, 1 / labels)), dtype=np.float64
            )
        return np.asarray(people[..., None] * np.eye(labels)[self.label], dtype=np.float64)


def choose(
    overwrite: str,
    label: Any,
    labels: Sequence[Label],
    table: Floats,
    scores: tuple[Score | None, Score],
    degrees: Sequence[float] = DEGREES,
) -> Overwriting:
    """Return the overwriting that a overwrite stands for, given the table of the original and both
    scores.

    "tightest" takes the label whose line leaves most performance, which for scores that are linear
    is the commonest true label; "majority" takes that label always, "label" the one given, and
    "random" gives everyone any label.
    """
    if overwrite not in STRATEGIES:
        raise UsageError(
            f"overwrite = {clip(repr(overwrite))} is none; {nearest(overwrite, STRATEGIES)}"
        )
    if overwrite == "label" and label is None:
        raise UsageError(
            "overwrite = 'label' needs the option label, what to overwrite with;"
            f" {nearest('', labels)}"
        )
    if overwrite != "label" and label is not None:
        raise UsageError(
            f"overwrite = {overwrite!r} and label = {clip(repr(label))}: a label goes with"
            " overwrite = 'label' alone"
        )
    steps = check_degrees(degrees)
    if overwrite == "random":
        return Overwriting(steps, None)
    if overwrite == "label":
        if plain(label) not in labels:
            raise UsageError(
                f"label = {clip(repr(label))} is no label of these predictions;"
                f" {nearest(label, labels)}"
            )
        return Overwriting(steps, list(labels).index(plain(label)))
    if overwrite == "majority":
        return Overwriting(steps, int(np.argmax(table.sum(axis=(0, 2)))))
    every = [Overwriting(steps, at) for at in range(len(labels))]
    curves = [curve(each, table, scores) for each in every]
    worst = min(float(np.nanmin(performance)) for _, performance in curves)
    return max(every, key=lambda each: _tightness(*curves[each.label or 0], worst))


def check_degrees(degrees: Sequence[float]) -> tuple[float, ...]:
    """Return degrees from none to all, in order."""
    try:
        steps = tuple(sorted({float(degree) for degree in degrees} | {0.0, 1.0}))
    except (TypeError, ValueError):
        raise UsageError(
            f"degrees = {clip(repr(degrees))} must be shares of the predictions, from 0 to 1"
        ) from None
    if not all(0 <= step <= 1 for step in steps):
        raise UsageError(
            f"degrees = {clip(repr(degrees))} must be shares of the predictions, from 0 to 1"
        )
    return steps


def curve(
    overwriting: Overwriting, tables: Floats, scores: tuple[Score | None, Score]
) -> tuple[Floats, Floats]:
    """Return bias and performance at each degree, from the mean tables; a bias that is None goes
    down in proportion.
    """
    expected = overwriting.expected(tables)
    performance = scores[1](expected)
    if scores[0] is None:
        return np.broadcast_to(1 - np.array(overwriting.degrees), performance.shape), performance
    return scores[0](expected), performance


def repeated(
    overwriting: Overwriting,
    table: Floats,
    scores: tuple[Score | None, Score],
    repetitions: int,
    rng: np.random.Generator,
) -> tuple[Floats, Floats]:
    """Return bias and performance at each degree, as means over repetitions of the paper's
    procedure.
    """
    drawn = overwriting.drawn(table, repetitions, rng)
    performance = scores[1](drawn)
    if scores[0] is None:
        return 1 - np.array(overwriting.degrees), performance.mean(axis=0)
    bias = scores[0](drawn)
    some = (~np.isnan(bias)).any(axis=0)
    mean = np.where(
        some, np.nansum(bias, axis=0) / np.maximum((~np.isnan(bias)).sum(axis=0), 1), np.nan
    )
    return mean, performance.mean(axis=0)


def _tightness(bias: Floats, performance: Floats, worst: float) -> float:
    """Return the mean performance of a line from no bias to that of the original; `worst` where it
    never gets to.
    """
    line = Line.through(bias, performance)
    grid = np.linspace(0.0, float(bias[0]), _GRID)
    return float(np.where(grid < line.bias[0] - CLOSE, worst, line.at(grid)).mean())
