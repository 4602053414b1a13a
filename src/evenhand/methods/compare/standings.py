"""From scores to standings: one judgement for resampled rows, for runs over splits, and for scores that are given."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, NamedTuple

import numpy as np

from evenhand.methods.compare.bootstrap import over_splits, together
from evenhand.methods.compare.comparison import Baseline, Comparison, Standing
from evenhand.methods.compare.regions import CLOSE, GOOD, REGIONS, Line, plausible, regions
from evenhand.runtime.errors import UsageError
from evenhand.statistics.estimate import Amount, Estimate

if TYPE_CHECKING:
    from collections.abc import Sequence

    from evenhand.methods.compare.contingency import Floats

Ends = tuple["Floats", "Floats"]


class Scores(NamedTuple):
    """Scores of the original, which comes first, and of each mitigation, and the line of the original.

    `performance` and `bias` end in an axis of names, `line` in one of degrees; leading axes are runs or resamples.
    """

    performance: Floats
    bias: Floats
    line: tuple[Floats, Floats]
    """Bias and performance at each degree."""

    def mean(self, weights: Floats | None = None) -> Scores:
        """Return the mean over runs, the first of the last two axes, with a weight for each if given."""

        def over(part: Floats) -> Floats:
            if weights is None:
                return np.asarray(part.mean(axis=-2))
            return np.asarray(np.einsum("...r,...rn->...n", weights, part))

        return Scores(over(self.performance), over(self.bias), (over(self.line[0]), over(self.line[1])))

    def known(self) -> Scores:
        """Return the replicates, along the first axis, in which all scores of people are defined."""
        kept = ~np.isnan(self.bias).any(axis=-1) & ~np.isnan(self.performance).any(axis=-1)
        return Scores(self.performance[kept], self.bias[kept], (self.line[0][kept], self.line[1][kept]))

    def differences(self) -> Floats:
        """Return for each mitigation what it gains, how much more biased it is, its height over the line and its area.

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
    """How limits come about: from resamples of one test set, or from runs over splits with a share of test rows."""

    level: float
    n: int
    population: str
    test_size: float | None = None

    @property
    def method(self) -> str:
        """How limits are called."""
        return "bootstrap" if self.test_size is None else "corrected t over splits"

    def limits(self, point: Floats, replicates: Floats) -> Ends:
        """Return limits of some values that hold together; the first axis of replicates runs over them."""
        flat, many = point.ravel(), replicates.reshape(len(replicates), -1)
        if self.test_size is None:
            low, high = together(flat, many, self.level)
        else:
            low, high = over_splits(flat, many, self.level, self.test_size)
        return low.reshape(point.shape), high.reshape(point.shape)

    def estimate(self, value: float, low: float, high: float, bounds: tuple[float, float], names: int) -> Estimate:
        """Return an estimate, within the bounds of its score."""
        said = f"{self.method}, simultaneous over {names}"
        ends = min(max(low, bounds[0]), value), max(min(high, bounds[1]), value)
        kind = Amount if np.isinf(bounds).any() or bounds[1] > 1 else Estimate
        return kind(value, *ends, self.n, self.level, said, self.population if kind is Estimate else "")


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

    `replicates` are those of `point` along the first axis: resamples, or single runs. `bounds` are those of performance
    and of bias; `about` is what else a comparison holds.
    """
    kept = replicates.known()
    if not len(kept.performance):
        raise UsageError("the bias is undefined in every resample; there are too few rows in some group")
    found, many = point.differences(), np.moveaxis(kept.differences(), 1, 0)
    low, high = _around(point, found, many, sureness) if given is None else _allowed(point, kept, sureness, given)
    both = np.stack([kept.performance, kept.bias], axis=1)
    ends = list(zip(*sureness.limits(np.stack([point.performance, point.bias]), both), strict=True))
    pairs = [_pair(sureness, point, ends, at, bounds) for at in range(len(names))]
    if given is not None:
        pairs = [(performance, bias) for (performance, _), bias in zip(pairs, given.estimates, strict=True)]
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
                tuple(region for region in REGIONS if region in possible or region == REGIONS[code]),
                area if code == GOOD else np.nan,
                sureness.estimate(area, float(low[3, at]), float(high[3, at]), (0.0, np.inf), len(names) - 1),
                {region: float(np.mean(seen[:, at] == number)) for number, region in enumerate(REGIONS)},
            )
        )
    return Comparison(names[0], pairs[0], standings, baseline, level=sureness.level, **about)  # type: ignore[arg-type]


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
        for value, (low, high), bound in zip((point.performance, point.bias), ends, bounds, strict=True)
    )
    return performance, bias


def _around(point: Scores, found: Floats, many: Floats, sureness: Sureness) -> Ends:
    """Return limits of the differences of a point, from their replicates along the first axis."""
    # Limits of areas are a family of their own: whoever reads the one kind is not misled by the other.
    parts = [sureness.limits(found[some], many[:, some]) for some in (slice(0, 3), slice(3, 4))]
    low, high = (np.concatenate(ends) for ends in zip(*parts, strict=True))
    corners = _areas(point, low[:2], high[:2])
    low[3], high[3] = np.minimum(low[3], corners.min(axis=0)), np.maximum(high[3], corners.max(axis=0))
    return low, high


def _allowed(point: Scores, replicates: Scores, sureness: Sureness, given: Given) -> Ends:
    """Return limits of the differences over all that the limits of the biases given allow."""
    corners = []
    for start in (given.low[0], given.high[0]):
        for ends in (given.low, given.high):
            bias = np.concatenate([[max(start, CLOSE)], ends[1:]])
            one, many = _with_bias(point, bias), _with_bias(replicates, bias)
            corners.append(_around(one, one.differences(), np.moveaxis(many.differences(), 1, 0), sureness))
    low, high = zip(*corners, strict=True)
    return np.min(low, axis=0), np.max(high, axis=0)


def _areas(point: Scores, low: Floats, high: Floats) -> Floats:
    """Return the areas where both differences are at an end of their limits, on the first axis.

    A bias cannot be less than none, so that of an estimate near none is too large on average, and its area too small,
    in replicates as in the point: the spread of areas alone would miss what may well be.
    """
    line = Line.through(*point.line)
    return np.stack(
        [
            np.nan_to_num(line.area(np.maximum(point.bias[0] + more, 0.0), point.performance[0] + gained))
            for gained in (low[0], high[0])
            for more in (low[1], high[1])
        ]
    )


def _with_bias(scores: Scores, bias: Floats) -> Scores:
    """Return scores whose biases are these, and whose line goes down in proportion."""
    degrees = scores.line[0] / np.maximum(scores.line[0][..., :1], CLOSE)
    return scores._replace(bias=np.broadcast_to(bias, scores.bias.shape), line=(degrees * bias[0], scores.line[1]))


def check_original(name: str, point: Scores, baseline: Baseline) -> None:
    """Refuse an original that has no bias to give up, or no performance to give up for it."""
    if not point.bias[0] > CLOSE:
        raise UsageError(
            f"the original {name!r} shows no bias, so there is nothing to mitigate; choose another bias or other "
            f"protected features"
        )
    end = float(point.line[1][-1])
    if end >= point.performance[0] - CLOSE:
        blind = "labels at random" if baseline.label is None else repr(baseline.label)
        raise UsageError(
            f"the original {name!r} has a performance of {float(point.performance[0]):.4f}, and {blind} for everyone "
            f"{end:.4f}: it has nothing to give up, so there is no line to compare with; take a better original"
        )
