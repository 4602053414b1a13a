"""From scores to standings: limits of all differences, and where each mitigation stands."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, NamedTuple

import numpy as np

from evenhand.methods.compare import messages
from evenhand.methods.compare.comparison import Baseline, Comparison, Standing
from evenhand.methods.compare.regions import (
    CLOSE,
    GOOD,
    REGIONS,
    OverwritingLine,
    plausible,
    regions,
)
from evenhand.methods.compare.resampling import over_splits, together
from evenhand.runtime.errors import UsageError
from evenhand.statistics.estimate import Amount, Estimate

if TYPE_CHECKING:
    from collections.abc import Sequence

    from evenhand.methods.compare.contingency import Codes, Floats

Ends = tuple["Floats", "Floats"]
Bounds = tuple[float, float]
_GAIN, _MORE_BIAS, _HEIGHT, _AREA = range(4)
"""The differences of a mitigation, by their place on the first axis of `Scores.differences`."""


class Scores(NamedTuple):
    """Scores of the original, which comes first, and of each mitigation, and the original's line.

    `performance` and `bias` end in an axis of names, `line` in one of degrees; leading axes are
    runs or resamples.
    """

    performance: Floats
    bias: Floats
    line: tuple[Floats, Floats]
    """Bias and performance at each degree."""

    def mean(self, weights: Floats | None = None) -> Scores:
        """Return the mean over runs, the first of the last two axes, with a weight for each."""

        def over(part: Floats) -> Floats:
            if weights is None:
                return np.asarray(part.mean(axis=-2))
            return np.asarray(np.einsum("...r,...rn->...n", weights, part))

        line_bias, line_performance = self.line
        return Scores(
            performance=over(self.performance),
            bias=over(self.bias),
            line=(over(line_bias), over(line_performance)),
        )

    def known(self) -> Scores:
        """Return the replicates, along the first axis, in which all scores of names are defined."""
        undefined_bias = np.isnan(self.bias).any(axis=-1)
        undefined_performance = np.isnan(self.performance).any(axis=-1)
        kept = ~undefined_bias & ~undefined_performance
        line_bias, line_performance = self.line
        return Scores(
            performance=self.performance[kept],
            bias=self.bias[kept],
            line=(line_bias[kept], line_performance[kept]),
        )

    def differences(self) -> Floats:
        """Return the differences of each mitigation, on the first axis.

        They are what it gains in performance, how much more biased it is, its height over the line
        and its area.
        """
        line = OverwritingLine.through(*self.line)
        lines = OverwritingLine(line.bias[..., None, :], line.performance[..., None, :])
        performance = self.performance[..., 1:]
        bias = self.bias[..., 1:]
        area = lines.area(bias, performance)
        return np.stack(
            [
                performance - self.performance[..., :1],
                bias - self.bias[..., :1],
                lines.height(bias, performance),
                np.nan_to_num(area),
            ]
        )


@dataclass(frozen=True)
class IntervalMethod:
    """How limits come about: from resamples of one test set, or from runs over splits.

    `test_size` is the share of test rows in a split, and None for resamples.
    """

    level: float
    n: int
    population: str
    test_size: float | None = None

    @property
    def method(self) -> str:
        """How limits are called."""
        return messages.BOOTSTRAP if self.resampled else messages.CORRECTED_T

    @property
    def resampled(self) -> bool:
        """Whether limits come from resamples of one test set."""
        return self.test_size is None

    def limits(self, point: Floats, replicates: Floats) -> Ends:
        """Return limits of some values that hold together, from replicates on the first axis."""
        flat_point = point.ravel()
        flat_replicates = replicates.reshape(len(replicates), -1)
        if self.test_size is None:
            low, high = together(flat_point, flat_replicates, self.level)
        else:
            low, high = over_splits(flat_point, flat_replicates, self.level, self.test_size)
        return low.reshape(point.shape), high.reshape(point.shape)

    def estimate(
        self,
        value: float,
        low: float,
        high: float,
        bounds: Bounds,
        names: int,
    ) -> Estimate:
        """Return an estimate, within the bounds of its score.

        It is descriptive: what holds together are the limits of differences, and so the regions.
        """
        least, most = bounds
        inner_low = min(max(low, least), value)
        inner_high = max(min(high, most), value)
        method = messages.SIMULTANEOUS.format(method=self.method, names=names)
        if np.isinf(bounds).any() or most > 1:
            found: Estimate = Amount(
                value, inner_low, inner_high, self.n, self.level, method
            )
        else:
            found = Estimate(
                value, inner_low, inner_high, self.n, self.level, method, self.population
            )
        return found.described()


@dataclass(frozen=True)
class BiasLimits:
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
    intervals: IntervalMethod,
    baseline: Baseline,
    *,
    bounds: tuple[Bounds, Bounds],
    bias_limits: BiasLimits | None = None,
    **about: object,
) -> Comparison:
    """Return the comparison of an original, named first, with mitigations.

    `replicates` are those of `point` along the first axis: resamples, or single runs. `bounds` are
    those of performance and of bias; `about` is what else a comparison holds.
    """
    kept = replicates.known()
    if not len(kept.performance):
        raise UsageError(messages.BIAS_UNDEFINED_IN_RESAMPLES)
    differences = point.differences()
    many = np.moveaxis(kept.differences(), 1, 0)
    if bias_limits is None:
        low, high = _around(point, differences, many, intervals)
    else:
        low, high = _allowed(point, kept, intervals, bias_limits)
    scores = _score_estimates(point, kept, intervals, bounds)
    if bias_limits is not None:
        performances = [performance for performance, _ in scores]
        scores = list(zip(performances, bias_limits.estimates, strict=True))
    codes = regions(differences[_GAIN], differences[_MORE_BIAS], differences[_HEIGHT])
    codes_seen = regions(many[:, _GAIN], many[:, _MORE_BIAS], many[:, _HEIGHT])
    standings = []
    for at, name in enumerate(names[1:]):
        performance, bias = scores[at + 1]
        code = int(codes[at])
        area = float(differences[_AREA, at])
        gain = intervals.estimate(
            area,
            float(low[_AREA, at]),
            float(high[_AREA, at]),
            (0.0, np.inf),
            len(names) - 1,
        )
        standing = Standing(
            name=name,
            performance=performance,
            bias=bias,
            region=REGIONS[code],
            plausible=_plausible_regions(low[:, at], high[:, at], code),
            # The paper measures the area of good trade-offs alone (Section 4.3).
            area=area if code == GOOD else np.nan,
            gain=gain,
            share=_region_shares(codes_seen[:, at]),
        )
        standings.append(standing)
    how = {"level": intervals.level, "resampled": intervals.resampled}
    return Comparison(names[0], scores[0], standings, baseline, **how, **about)  # type: ignore[arg-type]


def _score_estimates(
    point: Scores,
    replicates: Scores,
    intervals: IntervalMethod,
    bounds: tuple[Bounds, Bounds],
) -> list[tuple[Estimate, Estimate]]:
    """Return performance and bias of each name, with limits that hold together."""
    both = np.stack([point.performance, point.bias])
    low, high = intervals.limits(
        both, np.stack([replicates.performance, replicates.bias], axis=1)
    )
    names = both.shape[1]
    pairs = []
    for at in range(names):
        performance, bias = (
            intervals.estimate(
                float(both[score, at]),
                float(low[score, at]),
                float(high[score, at]),
                bounds[score],
                names,
            )
            for score in (0, 1)
        )
        pairs.append((performance, bias))
    return pairs


def _plausible_regions(
    low: Floats,
    high: Floats,
    code: int,
) -> tuple[str, ...]:
    """Return the regions that limits of the differences allow, and that of the point itself."""
    intervals = [
        (float(low[axis]), float(high[axis])) for axis in (_GAIN, _MORE_BIAS, _HEIGHT)
    ]
    possible = plausible(*intervals)
    return tuple(
        region for region in REGIONS if region in possible or region == REGIONS[code]
    )


def _region_shares(codes: Codes) -> dict[str, float]:
    """Return in which share of the replicates each region was seen."""
    shares = {}
    for code, region in enumerate(REGIONS):
        shares[region] = float(np.mean(codes == code))
    return shares


def _around(
    point: Scores,
    differences: Floats,
    replicates: Floats,
    intervals: IntervalMethod,
) -> Ends:
    """Return limits of the differences of a point, from their replicates along the first axis."""
    # Limits of areas are a family of their own: whoever reads one kind is not misled by the other.
    to_original_and_line = slice(_GAIN, _AREA)
    of_area = slice(_AREA, _AREA + 1)
    lows = []
    highs = []
    for family in (to_original_and_line, of_area):
        family_low, family_high = intervals.limits(
            differences[family], replicates[:, family]
        )
        lows.append(family_low)
        highs.append(family_high)
    low = np.concatenate(lows)
    high = np.concatenate(highs)
    corners = _areas_at_corners(point, low, high)
    low[_AREA] = np.minimum(low[_AREA], corners.min(axis=0))
    high[_AREA] = np.maximum(high[_AREA], corners.max(axis=0))
    return low, high


def _areas_at_corners(point: Scores, low: Floats, high: Floats) -> Floats:
    """Return the areas where both differences are at an end of their limits, on the first axis.

    A bias cannot be less than none, so that of an estimate near none is too large on average, and
    its area too small, in replicates as in the point: the spread of areas alone would miss what may
    well be.
    """
    line = OverwritingLine.through(*point.line)
    areas = []
    for gain in (low[_GAIN], high[_GAIN]):
        for more_bias in (low[_MORE_BIAS], high[_MORE_BIAS]):
            bias = np.maximum(point.bias[0] + more_bias, 0.0)
            area = line.area(bias, point.performance[0] + gain)
            areas.append(np.nan_to_num(area))
    return np.stack(areas)


def _allowed(
    point: Scores,
    replicates: Scores,
    intervals: IntervalMethod,
    bias_limits: BiasLimits,
) -> Ends:
    """Return limits of the differences over all that the limits of measured biases allow."""
    lows = []
    highs = []
    for original in (bias_limits.low[0], bias_limits.high[0]):
        for ends in (bias_limits.low, bias_limits.high):
            bias = np.concatenate([[max(original, CLOSE)], ends[1:]])
            corner = _with_bias(point, bias)
            corner_replicates = _with_bias(replicates, bias)
            many = np.moveaxis(corner_replicates.differences(), 1, 0)
            low, high = _around(corner, corner.differences(), many, intervals)
            lows.append(low)
            highs.append(high)
    return np.min(lows, axis=0), np.max(highs, axis=0)


def _with_bias(scores: Scores, bias: Floats) -> Scores:
    """Return scores whose biases are these, and whose line goes down in proportion."""
    line_bias, line_performance = scores.line
    shares_left = line_bias / np.maximum(line_bias[..., :1], CLOSE)
    return scores._replace(
        bias=np.broadcast_to(bias, scores.bias.shape),
        line=(shares_left * bias[0], line_performance),
    )


def check_original(name: str, point: Scores, baseline: Baseline) -> None:
    """Refuse an original that has no bias to give up, or no performance to give up for it."""
    if not point.bias[0] > CLOSE:
        raise UsageError(messages.ORIGINAL_WITHOUT_BIAS.format(name=repr(name)))
    performance = float(point.performance[0])
    all_overwritten = float(point.line[1][-1])
    # The paper supposes an original that is better than guessing (Section 4.1).
    if all_overwritten < performance - CLOSE:
        return
    if baseline.label is None:
        message = messages.ORIGINAL_NO_BETTER_THAN_RANDOM.format(
            name=repr(name),
            performance=f"{performance:.4f}",
            blind=f"{all_overwritten:.4f}",
        )
    else:
        message = messages.ORIGINAL_NO_BETTER_THAN_LABEL.format(
            name=repr(name),
            performance=f"{performance:.4f}",
            label=repr(baseline.label),
            blind=f"{all_overwritten:.4f}",
        )
    raise UsageError(message)
