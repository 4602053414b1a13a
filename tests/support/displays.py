"""Results to draw, and what can be said of a drawing."""

from __future__ import annotations

import math
import warnings
from typing import TYPE_CHECKING

from evenhand.results.result import Result
from evenhand.runtime.budget import Spent
from evenhand.statistics.estimate import Estimate, StopReason

if TYPE_CHECKING:
    from evenhand.results.evidence import Finding


def estimate(value: float, n: int = 400, half: float = 0.03) -> Estimate:
    if not n:
        return Estimate(math.nan, 0.0, 1.0, 0, 0.95, "exact", "all inputs, uniformly")
    low, high = max(0.0, value - half), min(1.0, value + half)
    return Estimate(value, low, high, n, 0.95, "exact", "all inputs, uniformly")


def result(
    *findings: Finding, job: str = "measure", details: dict[str, object] | None = None
) -> Result:
    spent = Spent(20, 10, 1.0)
    return Result(
        job, findings, 0, spent, StopReason.MARGIN, {}, versions={}, details=details or {}
    )


def render(display) -> None:
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        display.figure_.canvas.draw()


def texts(display) -> str:
    from matplotlib.text import Text

    return "\n".join(text.get_text() for text in display.figure_.findobj(Text))


def cut(display) -> bool:
    """Tell whether anything drawn stands out of the figure."""
    box, (wide, high) = display.figure_.get_tightbbox(), display.figure_.get_size_inches()
    return bool(
        box.x0 < -0.02 or box.y0 < -0.02 or box.x1 > wide + 0.02 or box.y1 > high + 0.02
    )
