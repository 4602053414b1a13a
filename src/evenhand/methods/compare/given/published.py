"""Published scores against a published line, without predictions (Fairea, Sections 4.1 to 4.3).

Regions and areas follow from the points alone. Nothing is known of how precise they are.
"""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Any

import numpy as np

from evenhand.methods.compare import messages
from evenhand.methods.compare.comparison import Baseline, Comparison, Standing
from evenhand.methods.compare.regions import CLOSE, GOOD, REGIONS, regions
from evenhand.methods.compare.standings import Scores
from evenhand.runtime.errors import UsageError, clip
from evenhand.statistics.estimate import Amount, Estimate

if TYPE_CHECKING:
    Points = list[tuple[float, float]]
    """Performance and bias of each."""

ORIGINAL = "original"


def compare_published(
    performance: Mapping[str, float],
    bias: Any,
    baseline: Any,
    *,
    seed: int = 0,
) -> Comparison:
    """Compare published scores with a published line.

    Parameters
    ----------
    performance, bias
        A number for each name. The original is the one called "original", or the first.
    baseline
        Points of the line as (performance, bias); that of the original belongs to it in any case.

    >>> scores = {"performance": {"original": 0.8, "method": 0.75}}
    >>> scores["bias"] = {"original": 0.5, "method": 0.3}
    >>> found = compare_published(**scores, baseline=[(0.8, 0.5), (0.6, 0.1667), (0.5, 0)])
    >>> found.region, round(found.area["method"], 4), found.published
    ({'method': 'good trade-off'}, 0.0272, True)
    """
    rights, biases = _scores_by_name(performance, bias)
    names = list(rights)
    original = names[0]
    start = (rights[original], biases[original])
    line = _line(baseline, original, start)
    point = Scores(
        performance=np.array(list(rights.values())),
        bias=np.array(list(biases.values())),
        line=(
            np.array([bias_there for _, bias_there in line]),
            np.array([performance_there for performance_there, _ in line]),
        ),
    )
    return Comparison(
        original=original,
        start=(_as_given(start[0], rights), _as_given(start[1], biases)),
        standings=_standings(names, point, rights, biases),
        baseline=Baseline(
            degrees=(math.nan,) * len(line),
            performance=tuple(performance_there for performance_there, _ in line),
            bias=tuple(bias_there for _, bias_there in line),
            label=None,
            strategy="points",
            method="given",
        ),
        bias="bias",
        performance="performance",
        level=1.0,
        seed=seed,
        runs=1,
        notes=(messages.SCORES_TAKEN_AS_EXACT,),
        resampled=False,
        published=True,
    )


def _standings(
    names: Sequence[str],
    point: Scores,
    rights: Mapping[str, float],
    biases: Mapping[str, float],
) -> list[Standing]:
    """Return where each mitigation stands, by its point alone."""
    gains, more_bias, heights, areas = point.differences()
    standings = []
    for place, code in enumerate(regions(gains, more_bias, heights).tolist()):
        name = names[place + 1]
        region = REGIONS[code]
        area = float(areas[place])
        standing = Standing(
            name=name,
            performance=_as_given(rights[name], rights),
            bias=_as_given(biases[name], biases),
            region=region,
            plausible=(region,),
            area=area if code == GOOD else math.nan,
            gain=Amount(area, area, area, 0, 1.0, messages.GIVEN),
            share={other: float(other == region) for other in REGIONS},
        )
        standings.append(standing)
    return standings


def _as_given(value: float, scores: Mapping[str, float]) -> Estimate:
    """Return a score without an interval: a share where all scores of its kind may be shares."""
    shares = all(0 <= score <= 1 for score in scores.values())
    kind = Estimate if shares else Amount
    return kind(value, value, value, 0, 1.0, messages.GIVEN)


def _scores_by_name(
    performance: Mapping[str, Any], bias: Any
) -> tuple[dict[str, float], dict[str, float]]:
    """Return performance and bias of each name, the original first."""
    if not isinstance(bias, Mapping):
        raise UsageError(messages.PUBLISHED_BIAS.format(bias=clip(repr(bias))))
    if len(performance) < 2:
        raise UsageError(messages.TOO_FEW_PUBLISHED)
    for name in [*performance, *bias]:
        if name not in performance or name not in bias:
            missing = "bias" if name in performance else "performance"
            raise UsageError(
                messages.PUBLISHED_SCORE_MISSING.format(option=missing, name=repr(name))
            )
    first = ORIGINAL if ORIGINAL in performance else next(iter(performance))
    names = [first, *(name for name in performance if name != first)]
    rights = {name: _number("performance", name, performance[name]) for name in names}
    biases = {name: _number("bias", name, bias[name]) for name in names}
    if min(biases.values()) < 0:
        raise UsageError(messages.MEASURED_BIAS_BELOW_0)
    if not biases[first] > CLOSE:
        raise UsageError(messages.ORIGINAL_WITHOUT_BIAS.format(name=repr(first)))
    return rights, biases


def _number(option: str, name: str, value: Any) -> float:
    """Return a score that is a finite number; truth values and estimates are none."""
    numbers = (int, float, np.integer, np.floating)
    if isinstance(value, numbers) and not isinstance(value, bool) and math.isfinite(value):
        return float(value)
    message = messages.PUBLISHED_NOT_A_NUMBER.format(
        option=option, name=repr(name), value=clip(repr(value))
    )
    raise UsageError(message)


def _line(baseline: Any, original: str, start: tuple[float, float]) -> Points:
    """Return the points of the line from the original on, in the order of their bias."""
    if isinstance(baseline, str) or not isinstance(baseline, Sequence | np.ndarray):
        raise UsageError(messages.BASELINE_NOT_POINTS.format(baseline=clip(repr(baseline))))
    points = {start}
    for point in baseline:
        if isinstance(point, str) or np.shape(point) != (2,):
            shown = clip(repr(point))
            raise UsageError(messages.BASELINE_POINT.format(point=shown))
        performance, bias = point
        where = messages.POINT_OF_THE_LINE
        points.add(
            (_number(where, "performance", performance), _number(where, "bias", bias))
        )
    line = sorted(points, key=lambda point: (-point[1], -point[0]))
    least_performance = min(performance for performance, _ in line)
    least_bias = min(bias for _, bias in line)
    if least_performance > start[0] - CLOSE or least_bias > start[1] - CLOSE:
        raise UsageError(messages.LINE_WITHOUT_EXTENT.format(name=repr(original)))
    return line
