"""From scores to standings: limits from resampled rows and from runs over splits, and where each
name stands.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, NamedTuple

import numpy as np

from evenhand.methods.compare.comparison import Baseline, Comparison, Standing
from evenhand.methods.compare.regions import CLOSE, GOOD, REGIONS, Line, plausible, regions
from evenhand.runtime.errors import UsageError
from evenhand.statistics.estimate import Amount, Estimate

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

    from evenhand.methods.compare.contingency import Codes, Floats, Frame

Ends = tuple["Floats", "Floats"]


class Scores(NamedTuple):
    """Scores of the original, which comes first, and of each mitigation, and the line of the
    original.

    `performance` and `bias` end in an axis of names, `line` in one of degrees; leading axes are
    runs or resamples.
    """

    performance: Floats
    bias: Floats
    line: tuple[Floats, Floats]
    """Bias and performance at each degree."""

    def mean(self, weights: Floats | None = None) -> Scores:
        """Return the mean over runs, the first of the last two axes, with a weight for each if
        given.
        """

        def over(part: Floats) -> Floats:
            if weights is None:
                return np.asarray(part.mean(axis=-2))
            return np.asarray(np.einsum("...r,...rn->...n", weights, part))

        return Scores(
            over(self.performance), over(self.bias), (over(self.line[0]), over(self.line[1]))
        )

    def known(self) -> Scores:
        """Return the replicates, along the first axis, in which all scores of people are defined."""
        kept = ~np.isnan(self.bias).any(axis=-1) & ~np.isnan(self.performance).any(axis=-1)
        return Scores(
            self.performance[kept], self.bias[kept], (self.line[0][kept], self.line[1][kept])
        )

    def differences(self) -> Floats:
        """Return for each mitigation what it gains, how much more biased it is, its height over the
        line and its area.

        They come on the first axis.
        """
        line = Line.through(*self.line)
        lines = Line(line.bias[..., None, :], line.performance[..., None, :])
        performance, bias = self.performance[..., 1:], self.bias[..., 1:]
        return np.stack(
            [
                performance - self.performance[..., :1],
                bias - self.bias[..., :1],
                lines.height(bias, performance),
                np.nan_to_num(lines.area(bias, performance)),
            ]
        )


@dataclass(frozen=True)
class Sureness:
    """How limits come about: from resamples of one test set, or from runs over splits with a share
    of test rows.
    """

    level: float
    n: int
    population: str
    test_size: float | None = None

    @property
    def method(self) -> str:
        """How limits are called."""
        return "bootstrap" if self.resampled else "corrected t over splits"

    @property
    def resampled(self) -> bool:
        """Whether limits come from resamples of one test set."""
        return self.test_size is None

    def limits(self, point: Floats, replicates: Floats) -> Ends:
        """Return limits of some values that hold together; the first axis of replicates runs over
        them.
        """
        flat, many = point.ravel(), replicates.reshape(len(replicates), -1)
        if self.test_size is None:
            low, high = together(flat, many, self.level)
        else:
            low, high = over_splits(flat, many, self.level, self.test_size)
        return low.reshape(point.shape), high.reshape(point.shape)

    def estimate(
        self, value: float, low: float, high: float, bounds: tuple[float, float], names: int
    ) -> Estimate:
        """Return an estimate, within the bounds of its score."""
        said = f"{self.method}, simultaneous over {names}"
        ends = min(max(low, bounds[0]), value), max(min(high, bounds[1]), value)
        kind = Amount if np.isinf(bounds).any() or bounds[1] > 1 else Estimate
        return kind(
            value, *ends, self.n, self.level, said, self.population if kind is Estimate else ""
        )


@dataclass(frozen=True)
class Given:
    """Biases that were measured elsewhere, each with limits of its own, the original first."""

    estimates: tuple[Estimate, ...]

    @property
    def low(self) -> Floats:
        """The least that each can be."""
        return np.array([max(estimate.low, 0.0) for estimate in self.estimates])

    @property
    def high(self) -> Floats:
        """The most that each can be."""
        return np.array([estimate.high for estimate in self.estimates])


def judge(
    names: Sequence[str],
    point: Scores,
    replicates: Scores,
    sureness: Sureness,
    baseline: Baseline,
    *,
    bounds: tuple[tuple[float, float], tuple[float, float]],
    given: Given | None = None,
    **about: object,
) -> Comparison:
    """Return the comparison of an original, named first, with mitigations.

    `replicates` are those of `point` along the first axis: resamples, or single runs. `bounds` are
    those of performance and of bias; `about` is what else a comparison holds.
    """
    kept = replicates.known()
    if not len(kept.performance):
        raise UsageError(
            "the bias is undefined in every resample; there are too few rows in some group"
        )
    found, many = point.differences(), np.moveaxis(kept.differences(), 1, 0)
    low, high = (
        _around(point, found, many, sureness)
        if given is None
        else _allowed(point, kept, sureness, given)
    )
    both = np.stack([kept.performance, kept.bias], axis=1)
    ends = list(zip(*sureness.limits(np.stack([point.performance, point.bias]), both), strict=True))
    pairs = [_pair(sureness, point, ends, at, bounds) for at in range(len(names))]
    if given is not None:
        pairs = [
            (performance, bias)
            for (performance, _), bias in zip(pairs, given.estimates, strict=True)
        ]
    codes = regions(*found[:3])
    seen = regions(many[:, 0], many[:, 1], many[:, 2])
    standings = []
    for at, name in enumerate(names[1:]):
        code = int(codes[at])
        area = float(found[3, at])
        possible = plausible(*((float(low[axis, at]), float(high[axis, at])) for axis in range(3)))
        standings.append(
            Standing(
                name,
                *pairs[at + 1],
                REGIONS[code],
                tuple(
                    region for region in REGIONS if region in possible or region == REGIONS[code]
                ),
                area if code == GOOD else np.nan,
                sureness.estimate(
                    area, float(low[3, at]), float(high[3, at]), (0.0, np.inf), len(names) - 1
                ),
                {
                    region: float(np.mean(seen[:, at] == number))
                    for number, region in enumerate(REGIONS)
                },
            )
        )
    how = {"level": sureness.level, "resampled": sureness.resampled}
    return Comparison(names[0], pairs[0], standings, baseline, **how, **about)  # type: ignore[arg-type]


def _pair(
    sureness: Sureness,
    point: Scores,
    ends: Sequence[Ends],
    at: int,
    bounds: tuple[tuple[float, float], tuple[float, float]],
) -> tuple[Estimate, Estimate]:
    """Return performance and bias of one name, with their limits."""
    performance, bias = (
        sureness.estimate(float(value[at]), float(low[at]), float(high[at]), bound, len(value))
        for value, (low, high), bound in zip(
            (point.performance, point.bias), ends, bounds, strict=True
        )
    )
    return performance, bias


def _around(point: Scores, found: Floats, many: Floats, sureness: Sureness) -> Ends:
    """Return limits of the differences of a point, from their replicates along the first axis."""
    # Limits of areas are a family of their own: whoever reads the one kind is not misled by the
    # other.
    parts = [sureness.limits(found[some], many[:, some]) for some in (slice(0, 3), slice(3, 4))]
    low, high = (np.concatenate(ends) for ends in zip(*parts, strict=True))
    corners = _areas(point, low[:2], high[:2])
    low[3], high[3] = (
        np.minimum(low[3], corners.min(axis=0)),
        np.maximum(high[3], corners.max(axis=0)),
    )
    return low, high


def _allowed(point: Scores, replicates: Scores, sureness: Sureness, given: Given) -> Ends:
    """Return limits of the differences over all that the limits of the biases given allow."""
    corners = []
    for start in (given.low[0], given.high[0]):
        for ends in (given.low, given.high):
            bias = np.concatenate([[max(start, CLOSE)], ends[1:]])
            one, many = _with_bias(point, bias), _with_bias(replicates, bias)
            corners.append(
                _around(one, one.differences(), np.moveaxis(many.differences(), 1, 0), sureness)
            )
    low, high = zip(*corners, strict=True)
    return np.min(low, axis=0), np.max(high, axis=0)


def _areas(point: Scores, low: Floats, high: Floats) -> Floats:
    """Return the areas where both differences are at an end of their limits, on the first axis.

    A bias cannot be less than none, so that of an estimate near none is too large on average, and
    its area too small, in replicates as in the point: the spread of areas alone would miss what may
    well be.
    """
    line = Line.through(*point.line)
    return np.stack(
        [
            np.nan_to_num(
                line.area(np.maximum(point.bias[0] + more, 0.0), point.performance[0] + gained)
            )
            for gained in (low[0], high[0])
            for more in (low[1], high[1])
        ]
    )


def _with_bias(scores: Scores, bias: Floats) -> Scores:
    """Return scores whose biases are these, and whose line goes down in proportion."""
    degrees = scores.line[0] / np.maximum(scores.line[0][..., :1], CLOSE)
    return scores._replace(
        bias=np.broadcast_to(bias, scores.bias.shape), line=(degrees * bias[0], scores.line[1])
    )


def check_original(name: str, point: Scores, baseline: Baseline) -> None:
    """Refuse an original that has no bias to give up, or no performance to give up for it."""
    if not point.bias[0] > CLOSE:
        raise UsageError(
            f"the original {name!r} shows no bias, so there is nothing to mitigate; choose another"
            " bias or other protected features"
        )
    end = float(point.line[1][-1])
    if end >= point.performance[0] - CLOSE:
        blind = "labels at random" if baseline.label is None else repr(baseline.label)
        raise UsageError(
            f"the original {name!r} has a performance of {float(point.performance[0]):.4f}, and"
            f" {blind} for everyone {end:.4f}: it has nothing to give up, so there is no line to"
            " compare with; take a better original"
        )


_AT_ONCE = 1 << 22
"""Weights that are drawn at once."""
_UNSEEN = 2
"""People of each group and true label who may be told another label than the rows at hand say."""


def resampled(
    frame: Frame,
    combination: Codes,
    truth: Codes,
    predicted: Codes,
    resamples: int,
    rng: np.random.Generator,
) -> Iterator[tuple[Floats, Floats]]:
    """Yield tables of resampled rows, the same rows for every method and run, and weights of
    resampled runs.

    `predicted` holds codes by method, run and row; tables come by resample, method and run. Rows
    that are alike in all respects are drawn together, so the cost is that of the different kinds of
    rows. What no row shows may be all the same, see `unseen`.
    """
    from scipy import sparse

    methods, runs, rows = predicted.shape
    kinds, counts = _kinds(np.vstack([combination, truth, predicted.reshape(-1, rows)]))
    size = int(np.prod(frame.shape))
    cells = (
        frame.cells(kinds[:, :1], kinds[:, 1:2], kinds[:, 2:]) + np.arange(methods * runs) * size
    )
    each = np.repeat(np.arange(len(kinds)), methods * runs)
    spread = sparse.csr_array(
        (np.ones(len(each)), (each, cells.ravel())), shape=(len(kinds), methods * runs * size)
    )
    chunk = max(1, min(resamples, _AT_ONCE // len(kinds), _AT_ONCE // (methods * runs * size)))
    for start in range(0, resamples, chunk):
        some = min(chunk, resamples - start)
        weights = rng.multinomial(rows, counts / rows, size=some).astype(np.float64)
        tables = np.asarray(weights @ spread).reshape(some, methods, runs, *frame.shape)
        yield unseen(tables, rng), rng.multinomial(runs, np.full(runs, 1 / runs), size=some) / runs


def _kinds(columns: Codes) -> tuple[Codes, Codes]:
    """Return the different kinds of rows, in the order of their columns, and how many there are of
    each.

    Columns are folded into one number as long as it fits, which sorts much faster than rows do.
    """
    folded, span = np.zeros(columns.shape[1], dtype=np.int64), 1
    for column in columns:
        size = int(column.max()) + 1
        if span * size >= 1 << 62:
            found, folded = np.unique(folded, return_inverse=True)
            span = len(found)
        folded, span = folded * size + column, span * size
    _, first, counts = np.unique(folded, return_index=True, return_counts=True)
    return columns[:, first].T, counts


def unseen(tables: Floats, rng: np.random.Generator) -> Floats:
    """Return tables in which, of each group and true label, a few people at random are told another
    label.

    Rows that a method happened to leave alone are left alone in every resample. Yet if none of n
    people was told otherwise, up to about 3 in n may be; without this, a method that changed nobody
    of a small group would be known to change nobody at all. Methods differ in who is told
    otherwise; the runs of one do not.

    >>> found = unseen(np.full((1000, 1, 1, 1, 1, 2), 50.0), np.random.default_rng(0))
    >>> sorted(set(found[..., 0].ravel().tolist())), set(found.sum(axis=-1).ravel().tolist())
    ([48.0, 49.0, 50.0, 51.0, 52.0], {100.0})
    """
    shape, labels = (*tables.shape[:-1], 1), tables.shape[-1]
    for _ in range(_UNSEEN):
        ends = rng.integers(0, labels, size=(2, *tables.shape[:2], 1, *tables.shape[3:5], 1))
        source, target = (np.broadcast_to(end, shape) for end in ends)
        before = np.take_along_axis(tables, source, axis=-1)
        moved = np.minimum(before, 1.0)
        np.put_along_axis(tables, source, before - moved, axis=-1)
        np.put_along_axis(
            tables, target, np.take_along_axis(tables, target, axis=-1) + moved, axis=-1
        )
    return tables


def together(point: Floats, replicates: Floats, level: float) -> tuple[Floats, Floats]:
    """Return limits around some values that hold for all of them, from replicates of each along the
    first axis.

    The width of each is its root mean square distance from the value, which allows for a size (of a
    difference) whose replicates all lie to one side; how many widths are taken is the quantile of
    the largest distance over all values.

    >>> rng = np.random.default_rng(0)
    >>> low, high = together(np.zeros(1), rng.normal(size=(4000, 1)), 0.95)
    >>> bool(abs(high[0] - 1.96) < 0.1), bool(low[0] == -high[0])
    (True, True)
    """
    away = replicates - point
    width = np.sqrt(np.mean(np.square(away), axis=0))
    moved = width > 1e-12  # less is rounding, and no spread
    if not moved.any():
        return point.copy(), point.copy()
    farthest = (np.abs(away[:, moved]) / width[moved]).max(axis=1)
    reach = float(np.quantile(farthest, level, method="higher"))
    return point - reach * width, point + reach * width


def over_splits(
    point: Floats, runs: Floats, level: float, test_size: float
) -> tuple[Floats, Floats]:
    """Return limits around some means that hold for all of them, from runs along the first axis.

    Runs that split the same rows again share most of what they train and test on. Their variance is
    enlarged by the ratio of test to training rows (Nadeau and Bengio 2003); a `test_size` of 0
    stands for independent runs.
    """
    from scipy.stats import t

    number = len(runs)
    if number < 2:
        raise UsageError(
            f"{number} run tells nothing about the next; give at least two, or one test set to"
            " resample"
        )
    width = np.std(runs, axis=0, ddof=1) * np.sqrt(1 / number + test_size / (1 - test_size))
    reach = float(t.ppf(1 - (1 - level) / (2 * max(point.size, 1)), number - 1))
    return point - reach * width, point + reach * width
