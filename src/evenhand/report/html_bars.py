"""Scores as small drawings that follow the theme of the page: a point on its interval, and the
limit.
"""

from __future__ import annotations

import math
from typing import TYPE_CHECKING

from evenhand.report.html_page import text
from evenhand.runtime import number_text
from evenhand.statistics.estimate import Amount, Witnesses

if TYPE_CHECKING:
    from collections.abc import Iterable

    from evenhand.statistics.estimate import Estimate

HIGH = 46
_STEPS = (0.01, 0.02, 0.05, 0.1, 0.15, 0.2, 0.3, 0.4, 0.5, 0.75, 1.0)


def drawable(estimate: Estimate | None) -> bool:
    """Tell whether a score is a rate that can stand on a scale of shares."""
    return (
        estimate is not None
        and not isinstance(estimate, Witnesses | Amount)
        and bool(estimate.n)
        and not math.isnan(estimate.value)
        and estimate.low >= 0
    )


def top_of(estimates: Iterable[Estimate], limits: Iterable[float | None] = ()) -> float:
    """Return the end of a scale on which all of these can be seen."""
    most = max(
        [*(one.high for one in estimates), *(limit for limit in limits if limit is not None)],
        default=1.0,
    )
    return next((step for step in _STEPS if most * 1.05 <= step), 1.0)


def bar(estimate: Estimate, limit: float | None = None, *, top: float | None = None) -> str:
    """Return a drawing of a rate with its interval and limit; the numbers are in its label too.

    >>> from evenhand.statistics.estimate import Estimate
    >>> bar(Estimate(0.2, 0.1, 0.3, 90, 0.95, "exact"), 0.05).count("<line")
    3
    """
    end = top or top_of([estimate], [limit])

    # Places are shares of the width, so that letters are as large on a phone as on a wide screen.
    def at(share: float) -> str:
        return number_text.page_place(share / end)

    says = number_text.percent_figures(estimate.value)
    if estimate.level < 1:
        low, high = (
            number_text.percent_figures(estimate.low),
            number_text.percent_figures(estimate.high),
        )
        says += f", between {low} and {high}"
    parts = [f'<line class="track" x1="{at(0)}" x2="{at(end)}" y1="16" y2="16"/>']
    wide = max(estimate.high - estimate.low, end / 300)
    parts.append(
        f'<line class="range" x1="{at(estimate.low)}" x2="{at(estimate.low + wide)}" y1="16"'
        ' y2="16"/>'
    )
    parts.append(f'<circle class="point" cx="{at(estimate.value)}" cy="16" r="6"/>')
    if limit is not None:
        says += f"; engineering threshold {number_text.percent_plain(limit)}"
        parts.append(f'<line class="limit" x1="{at(limit)}" x2="{at(limit)}" y1="3" y2="30"/>')
    place = 0.0 if limit is None else limit / end
    named = 0.05 < place < 0.97  # and an end of the scale that is too near is not
    if not named or place > 0.2:
        parts.append(f'<text x="{at(0)}" y="43">{number_text.percent_plain(0)}</text>')
    if named:
        name = number_text.hundredths(100 * place * end)
        parts.append(f'<text x="{at(place * end)}" y="43" text-anchor="middle">{name}</text>')
    if not named or place < 0.8:
        parts.append(
            f'<text x="{at(end)}" y="43" text-anchor="end">{number_text.percent_plain(end)}</text>'
        )
    inside = "".join(parts)
    return f'<svg class="bar" role="img" aria-label="{text(says)}" height="{HIGH}">{inside}</svg>'
