"""The borders of the five regions of the plane."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np

from evenhand.methods.compare.regions import GOOD, INVERTED, LOSE_LOSE, POOR, WIN_WIN

if TYPE_CHECKING:
    from collections.abc import Sequence

    from evenhand.methods.compare.regions import OverwritingLine


def bands(
    start: tuple[float, float], line: OverwritingLine, view: Sequence[tuple[float, float]]
) -> list[tuple[int, Any, Any, Any]]:
    """Return the five regions as `regions` tells them apart.

    A region is its code, places from left to right, and its lower and upper border there.
    """
    (left, right), (bottom, top) = view
    bias, performance = start
    inner_points = line.bias[(line.bias > left) & (line.bias < bias)]
    x = np.unique(np.concatenate([np.linspace(left, bias, 200), inner_points]))
    y = np.minimum(line.at(x), performance)
    return [
        (LOSE_LOSE, [bias, right], bottom, performance),
        (POOR, x, bottom, y),
        (INVERTED, [bias, right], performance, top),
        (GOOD, x, y, performance),
        (WIN_WIN, [left, bias], performance, top),
    ]
