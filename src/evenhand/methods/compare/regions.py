"""Blind overwriting, the line through it, and the regions around it (Fairea, Sections 4.1 to 4.3).

The paper calls blind overwriting "model behaviour mutation", and its line the "baseline".
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np

from evenhand.methods.compare import messages
from evenhand.runtime.errors import UsageError, clip, nearest
from evenhand.space.feature import plain

if TYPE_CHECKING:
    from collections.abc import Sequence

    from numpy.typing import NDArray

    from evenhand.methods.compare.metrics.scores import TableScore
    from evenhand.space.feature import Label

    Floats = NDArray[np.float64]

LOSE_LOSE, POOR, INVERTED, GOOD, WIN_WIN = range(5)
REGIONS = ("lose-lose", "poor trade-off", "inverted trade-off", "good trade-off", "win-win")
"""The five regions, in the order of the paper's Table 4."""
SHORT = {
    "lose-lose": "lose-lose",
    "poor trade-off": "poor",
    "inverted trade-off": "inverted",
    "good trade-off": "good",
    "win-win": "win-win",
}
"""What a region is called where there is little room."""
CLOSE = 1e-9
"""Scores that are nearer than this are equal."""


def regions(performance: Any, bias: Any, height: Any) -> NDArray[np.intp]:
    """Return the region of each point (Fairea, Section 4.2 and Figure 2).

    A point is given by its differences to the original and by its height over the baseline.
    Nothing counts as better unless it is strictly better. So what is as biased as the original, or
    more, is never a win-win, what is not more right is never inverted, and a point on the baseline
    is a poor trade-off, since blind overwriting does as well. Less bias at equal performance is a
    good trade-off.

    >>> gains = [0.05, 0.05, -0.1, -0.1, -0.1, 0.0]
    >>> biases = [-0.1, 0.0, -0.1, -0.1, 0.1, 0.0]
    >>> found = regions(gains, biases, [0, 0, 0.1, 0.0, 0, 0])
    >>> print(*(REGIONS[code] for code in found), sep=", ")
    win-win, inverted trade-off, good trade-off, poor trade-off, lose-lose, poor trade-off
    """
    more_right = np.asarray(performance) > CLOSE
    more_biased = np.asarray(bias) > CLOSE
    less_biased = np.asarray(bias) < -CLOSE
    above_line = np.asarray(height) > CLOSE
    traded = np.where(above_line, GOOD, POOR)
    if_more_right = np.where(less_biased, WIN_WIN, INVERTED)
    if_not_more_right = np.where(more_biased, LOSE_LOSE, traded)
    codes = np.where(more_right, if_more_right, if_not_more_right)
    return np.asarray(codes, dtype=np.intp)


def plausible(
    performance: tuple[float, float],
    bias: tuple[float, float],
    height: tuple[float, float],
) -> list[str]:
    """Return every region that intervals of the two differences and of the height allow, best last.

    >>> plausible((-0.2, -0.1), (-0.3, -0.2), (-0.01, 0.05))
    ['poor trade-off', 'good trade-off']
    """
    # Each of these is the condition of `regions` at the end of the interval that favours it.
    may_be_more_right = performance[1] > CLOSE
    may_not_be_more_right = performance[0] <= CLOSE
    may_be_less_biased = bias[0] < -CLOSE
    may_not_be_less_biased = bias[1] >= -CLOSE
    may_be_more_biased = bias[1] > CLOSE
    may_not_be_more_biased = bias[0] <= CLOSE
    may_be_traded = may_not_be_more_right and may_not_be_more_biased
    possible = {
        LOSE_LOSE: may_not_be_more_right and may_be_more_biased,
        POOR: may_be_traded and height[0] <= CLOSE,
        INVERTED: may_be_more_right and may_not_be_less_biased,
        GOOD: may_be_traded and height[1] > CLOSE,
        WIN_WIN: may_be_more_right and may_be_less_biased,
    }
    return [name for code, name in enumerate(REGIONS) if possible[code]]


@dataclass(frozen=True)
class OverwritingLine:
    """The best performance that blind overwriting keeps at each bias (Fairea, Section 4.1).

    The points that were computed are joined by straight lines. Where overwriting more would cost
    performance and bring more bias, the line keeps to the better point; left of its end it goes on
    level, since no overwriting is less biased. Leading axes hold any number of lines.

    >>> line = OverwritingLine.through(np.array([0.5, 1 / 6, 0.0]), np.array([0.8, 0.6, 0.5]))
    >>> line.height(np.array([0.3, 1 / 6, 0.0]), np.array([0.75, 0.6, 0.45])).round(6).tolist()
    [0.07, 0.0, -0.05]
    >>> round(float(line.area(0.3, 0.75)), 7), round(float(line.area(0.1, 0.70)), 7)
    (0.0272222, 0.1088889)
    """

    bias: Floats
    performance: Floats

    @classmethod
    def through(cls, bias: Floats, performance: Floats) -> OverwritingLine:
        """Return the line through the points of each degree of overwriting.

        Points that are undefined are left out.
        """
        undefined = np.isnan(bias) | np.isnan(performance)
        known = ~undefined
        known_bias = np.where(known, bias, np.inf)
        known_performance = np.where(known, performance, -np.inf)
        order = np.lexsort((known_performance, known_bias), axis=-1)
        x = np.take_along_axis(known_bias, order, axis=-1)
        y = np.take_along_axis(known_performance, order, axis=-1)
        # Points that are left out were sorted last. They fall together with the right end of the
        # line, so that lines with different numbers of points fit into one array.
        left_out = np.isinf(x)
        highest = known_performance.max(axis=-1, keepdims=True)
        bias_or_none = np.where(known, bias, -np.inf)
        most_biased = bias_or_none.max(axis=-1, keepdims=True)
        best_so_far = np.maximum.accumulate(y, axis=-1)
        return cls(
            bias=np.where(left_out, most_biased, x),
            performance=np.where(left_out, highest, best_so_far),
        )

    def at(self, bias: Any) -> Floats:
        """Return the performance of the line at a bias."""
        wanted = np.asarray(bias, dtype=np.float64)
        last = self.bias.shape[-1] - 1
        # How many points of the line lie to the left: the first of the others comes after.
        is_left = self.bias <= wanted[..., None] + CLOSE
        passed = is_left.sum(axis=-1)
        after = np.minimum(passed, last)
        before = np.maximum(passed - 1, 0)
        left = _take(self.bias, before)
        right = _take(self.bias, after)
        start = _take(self.performance, before)
        end = _take(self.performance, after)
        width = right - left
        has_width = width > CLOSE
        divisor = np.where(has_width, width, 1.0)
        part = np.where(has_width, (wanted - left) / divisor, 0.0)
        inner_part = np.clip(part, 0.0, 1.0)
        between = start + inner_part * (end - start)
        left_end = self.performance[..., 0]
        return np.where(passed == 0, left_end, between)

    def height(self, bias: Any, performance: Any) -> Floats:
        """Return how far a point lies over the line, in performance."""
        height = np.asarray(performance) - self.at(bias)
        return np.asarray(height)

    @property
    def ranges(self) -> tuple[Floats, Floats]:
        """The ranges of bias and of performance that are scaled to 0 to 1."""
        # Both rise along the line.
        return _rise(self.bias), _rise(self.performance)

    def area(self, bias: Any, performance: Any) -> Floats:
        """Return the area between a point and the line, with both axes scaled to 0 to 1.

        It is that of the paper's Section 4.3 and Figure 3: closed by going down, and to the right,
        from the point to the line. A point over the start of the line, which is a win-win, is
        closed at the bias of the original instead. The area is 0 under the line, and NaN where the
        line has no extent.
        """
        point_bias = np.asarray(bias, dtype=np.float64)
        level = np.asarray(performance, dtype=np.float64)[..., None]
        knots, heights = self._from(point_bias)
        left = knots[..., :-1]
        right = knots[..., 1:]
        left_height = heights[..., :-1]
        right_height = heights[..., 1:]
        begin = np.clip(point_bias[..., None], left, right)
        has_width = right > left
        width = np.where(has_width, right - left, 1.0)
        slope = (right_height - left_height) / width
        # How far the level of the point is over the line at both ends of each piece of it.
        begin_height = left_height + slope * (begin - left)
        over_begin = level - begin_height
        over_end = level - right_height
        areas = _area_over(over_begin, over_end, right - begin)
        raw = areas.sum(axis=-1)
        bias_range, performance_range = self.ranges
        # Scaling both axes to 0 to 1 (footnote 4 of the paper) divides areas by the extent.
        extent = bias_range * performance_range
        has_extent = extent > CLOSE**2
        scaled = raw / np.where(has_extent, extent, 1.0)
        return np.where(has_extent, scaled, np.nan)

    def _from(self, start: Floats) -> tuple[Floats, Floats]:
        """Return the line with a level piece before it, from a bias left of its end."""
        *lines, points = self.bias.shape
        leading = np.broadcast_shapes(start.shape, tuple(lines))
        line_bias = np.broadcast_to(self.bias, (*leading, points))
        line_performance = np.broadcast_to(self.performance, (*leading, points))
        start_bias = np.broadcast_to(start[..., None], (*leading, 1))
        first_bias = np.minimum(start_bias, line_bias[..., :1])
        first_performance = line_performance[..., :1]
        knots = np.concatenate([first_bias, line_bias], axis=-1)
        heights = np.concatenate([first_performance, line_performance], axis=-1)
        return knots, heights


def _rise(values: Floats) -> Floats:
    """Return by how much the last value exceeds the first, along the last axis."""
    first = values[..., 0]
    last = values[..., -1]
    return np.asarray(last - first)


def _area_over(
    over_begin: Floats,
    over_end: Floats,
    length: Floats,
) -> Floats:
    """Return the area under a level and over each piece of a rising line.

    `over_begin` and `over_end` are how far the level is over the line at both ends of the piece.
    """
    trapezium = (over_begin + over_end) / 2 * length
    # Where the line crosses the level, what lies over it is a triangle.
    falls = over_begin > over_end
    fall = np.where(falls, over_begin - over_end, 1.0)
    square = np.square(np.maximum(over_begin, 0))
    triangle = square / (2 * fall) * length
    crossed = np.where(over_begin > 0, triangle, 0.0)
    return np.where(over_end >= 0, trapezium, crossed)


def _take(values: Floats, places: NDArray[np.intp]) -> Floats:
    """Return the value at one place along the last axis, for each place given."""
    *leading, length = values.shape
    shape = np.broadcast_shapes(tuple(leading), places.shape)
    spread = np.broadcast_to(values, (*shape, length))
    taken = np.take_along_axis(spread, places[..., None], axis=-1)
    return taken[..., 0]


@dataclass(frozen=True)
class Plane:
    """The plane of bias and performance: where the original stands, and the line."""

    start: tuple[float, float]
    line: OverwritingLine

    def regions(self, places: Any) -> Any:
        """Return the region of each place, given as bias and performance along the last axis."""
        start_bias, start_performance = self.start
        bias = places[..., 0]
        performance = places[..., 1]
        height = self.line.height(bias, performance)
        return regions(performance - start_performance, bias - start_bias, height)


DEGREES = tuple(step / 10 for step in range(11))
"""The degrees of overwriting of the paper's Section 4.1, and none at all."""
STRATEGIES = ("tightest", "majority", "label", "random")
_GRID = 101
"""Points at which the tightness of a line is evaluated."""


@dataclass(frozen=True)
class Overwriting:
    """Which shares of the predictions are overwritten, and with what.

    `label` is the place of a label, or None for any at random.

    >>> table = np.array([[[4.0, 0.0], [0.0, 6.0]]])
    >>> Overwriting((0.0, 0.5, 1.0), 1).expected(table)[1].tolist()
    [[[2.0, 2.0], [0.0, 6.0]]]
    """

    degrees: tuple[float, ...]
    label: int | None

    def expected(self, tables: Floats) -> Floats:
        """Return the mean table at each degree, on a new axis before those of a table."""
        share = np.array(self.degrees)[:, None, None, None]
        untouched = tables[..., None, :, :, :]
        overwritten = self._all(tables)[..., None, :, :, :]
        expected = untouched * (1 - share) + overwritten * share
        return np.asarray(expected)

    def _all(self, tables: Floats) -> Floats:
        """Return the mean table when every prediction is overwritten."""
        people = tables.sum(axis=-1, keepdims=True)
        labels = tables.shape[-1]
        if self.label is None:
            equal_shares = np.full(labels, 1 / labels)
            return np.asarray(people * equal_shares)
        all_of_one_label = np.eye(labels)[self.label]
        return np.asarray(people * all_of_one_label)

    def drawn(
        self,
        table: Floats,
        repetitions: int,
        rng: np.random.Generator,
    ) -> Floats:
        """Return tables of the paper's procedure, with new axes of repetitions and degrees.

        At each degree that part of the predictions is chosen at random (Fairea, Section 4.1).
        """
        counts = np.rint(table).astype(np.int64).ravel()
        total = int(counts.sum())
        shape = (repetitions, *table.shape)
        degrees = len(self.degrees)
        found = np.empty((repetitions, degrees, *table.shape))
        for at, degree in enumerate(self.degrees):
            number = round(degree * total)
            # Choosing rows one by one, the numbers that fall into the cells follow the
            # multivariate hypergeometric distribution.
            chosen = rng.multivariate_hypergeometric(
                counts,
                number,
                size=repetitions,
                method="marginals",
            )
            untouched = (counts - chosen).reshape(shape)
            overwritten = self._overwritten(chosen.reshape(shape), rng)
            found[:, at] = untouched + overwritten
        return found

    def _overwritten(self, chosen: Any, rng: np.random.Generator) -> Floats:
        """Return the tables of the people chosen, with other predictions."""
        people = chosen.sum(axis=-1)
        labels = chosen.shape[-1]
        if self.label is None:
            chances = np.full(labels, 1 / labels)
            overwritten = rng.multinomial(people, chances)
        else:
            all_of_one_label = np.eye(labels)[self.label]
            overwritten = people[..., None] * all_of_one_label
        return np.asarray(overwritten, dtype=np.float64)


def choose(
    overwrite: str,
    label: Any,
    labels: Sequence[Label],
    table: Floats,
    scores: tuple[TableScore | None, TableScore],
    degrees: Sequence[float] = DEGREES,
) -> Overwriting:
    """Return the overwriting that a strategy stands for.

    `table` is that of the original. "tightest" takes the label whose line leaves most
    performance, which for scores that are linear is the commonest true label; "majority" takes that
    label always, "label" the one given, and "random" gives everyone any label.
    """
    _check_strategy(overwrite, label, labels)
    steps = check_degrees(degrees)
    if overwrite == "random":
        return Overwriting(steps, None)
    if overwrite == "label":
        return Overwriting(steps, _place_of(label, labels))
    if overwrite == "majority":
        people_by_label = table.sum(axis=(0, 2))
        return Overwriting(steps, int(np.argmax(people_by_label)))
    # The paper takes the label that is most accurate when all predictions are overwritten (Section
    # 4.1). Here whole lines are compared, since scores other than accuracy may bend them.
    places = range(len(labels))
    candidates = [Overwriting(steps, place) for place in places]
    curves = [curve(candidate, table, scores) for candidate in candidates]
    worst = min(float(np.nanmin(performance)) for _, performance in curves)
    tightness = [_tightness(bias, performance, worst) for bias, performance in curves]
    tightest = tightness.index(max(tightness))
    return candidates[tightest]


def _check_strategy(
    overwrite: str,
    label: Any,
    labels: Sequence[Label],
) -> None:
    """Refuse a strategy that is unknown or does not go with the label given."""
    if overwrite not in STRATEGIES:
        message = messages.UNKNOWN_STRATEGY.format(
            strategy=clip(repr(overwrite)),
            choices=nearest(overwrite, STRATEGIES),
        )
        raise UsageError(message)
    if overwrite == "label" and label is None:
        raise UsageError(messages.STRATEGY_NEEDS_LABEL.format(choices=nearest("", labels)))
    if overwrite != "label" and label is not None:
        message = messages.STRATEGY_TAKES_NO_LABEL.format(
            strategy=repr(overwrite),
            label=clip(repr(label)),
        )
        raise UsageError(message)


def _place_of(label: Any, labels: Sequence[Label]) -> int:
    """Return the place of the label that predictions are overwritten with."""
    if plain(label) not in labels:
        message = messages.LABEL_NOT_PREDICTED.format(
            label=clip(repr(label)),
            choices=nearest(label, labels),
        )
        raise UsageError(message)
    return list(labels).index(plain(label))


def check_degrees(degrees: Sequence[float]) -> tuple[float, ...]:
    """Return degrees from none to all, in order."""
    try:
        numbers = {float(degree) for degree in degrees}
    except (TypeError, ValueError):
        raise UsageError(messages.DEGREES.format(degrees=clip(repr(degrees)))) from None
    steps = tuple(sorted(numbers | {0.0, 1.0}))
    if not all(0 <= step <= 1 for step in steps):
        raise UsageError(messages.DEGREES.format(degrees=clip(repr(degrees))))
    return steps


def curve(
    overwriting: Overwriting,
    tables: Floats,
    scores: tuple[TableScore | None, TableScore],
) -> tuple[Floats, Floats]:
    """Return bias and performance at each degree, from the mean tables.

    A bias that is None goes down in proportion.
    """
    bias_score, performance_score = scores
    expected = overwriting.expected(tables)
    performance = performance_score(expected)
    if bias_score is None:
        in_proportion = 1 - np.array(overwriting.degrees)
        return np.broadcast_to(in_proportion, performance.shape), performance
    return bias_score(expected), performance


def repeated(
    overwriting: Overwriting,
    table: Floats,
    scores: tuple[TableScore | None, TableScore],
    repetitions: int,
    rng: np.random.Generator,
) -> tuple[Floats, Floats]:
    """Return bias and performance at each degree, as means over the paper's repetitions."""
    bias_score, performance_score = scores
    drawn = overwriting.drawn(table, repetitions, rng)
    performance = performance_score(drawn)
    mean_performance = performance.mean(axis=0)
    if bias_score is None:
        in_proportion = 1 - np.array(overwriting.degrees)
        return in_proportion, mean_performance
    bias = bias_score(drawn)
    # A bias may be undefined in some repetitions; it is undefined at a degree if in all of them.
    defined = (~np.isnan(bias)).sum(axis=0)
    mean = np.nansum(bias, axis=0) / np.maximum(defined, 1)
    mean_bias = np.where(defined > 0, mean, np.nan)
    return mean_bias, mean_performance


def _tightness(bias: Floats, performance: Floats, worst: float) -> float:
    """Return the mean performance of a line from no bias to that of the original.

    `worst` counts where the line never gets to.
    """
    line = OverwritingLine.through(bias, performance)
    grid = np.linspace(0.0, float(bias[0]), _GRID)
    beyond_line = grid < line.bias[0] - CLOSE
    performances = np.where(beyond_line, worst, line.at(grid))
    return float(performances.mean())
