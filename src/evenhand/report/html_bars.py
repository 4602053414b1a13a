"""Scores as small drawings in the theme of the page: a point on its interval, and the limit."""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import TYPE_CHECKING

from evenhand.report.templates import piece
from evenhand.runtime import number_text
from evenhand.runtime.language import say
from evenhand.statistics.estimate import Amount, Witnesses

if TYPE_CHECKING:
    from collections.abc import Iterable

    from markupsafe import Markup

    from evenhand.statistics.estimate import Estimate

_STEPS = (0.01, 0.02, 0.05, 0.1, 0.15, 0.2, 0.3, 0.4, 0.5, 0.75, 1.0)


@dataclass(frozen=True)
class RateDrawing:
    """A rate as it is drawn: its label in words, places on the scale, and names under them.

    A place is a share of the width, so that letters are as large on a phone as on a wide screen.
    What is empty is not drawn.
    """

    label: str
    start: str
    end: str
    low: str
    high: str
    value: str
    limit: str
    start_name: str
    end_name: str
    limit_name: str
    limit_name_place: str


def drawable(estimate: Estimate | None) -> bool:
    """Return whether a score is a rate that can stand on a scale of shares."""
    return (
        estimate is not None
        and not isinstance(estimate, Witnesses | Amount)
        and bool(estimate.n)
        and not math.isnan(estimate.value)
        and estimate.low >= 0
    )


def top_of(estimates: Iterable[Estimate], limits: Iterable[float | None] = ()) -> float:
    """Return the end of a scale on which all of these can be seen."""
    shown = [estimate.high for estimate in estimates]
    shown += [limit for limit in limits if limit is not None]
    most = max(shown, default=1.0)
    with_margin = most * 1.05
    for step in _STEPS:
        if with_margin <= step:
            return step
    return 1.0


def bar(
    estimate: Estimate, limit: float | None = None, *, top: float | None = None
) -> Markup:
    """Return a drawing of a rate with its interval and limit; the numbers are in its label too.

    >>> from evenhand.statistics.estimate import Estimate
    >>> bar(Estimate(0.2, 0.1, 0.3, 90, 0.95, "exact"), 0.05).count("<line")
    3
    """
    return piece(
        "report/pages/bars.html.jinja", "bar", rate_drawing(estimate, limit, top=top)
    )


def rate_drawing(
    estimate: Estimate, limit: float | None = None, *, top: float | None = None
) -> RateDrawing:
    """Return where the parts of a bar stand on a scale from zero to `top`, and what they say."""
    end = top or top_of([estimate], [limit])

    def at(share: float) -> str:
        return number_text.page_place(share / end)

    # An interval that is no wider than a point would not be seen.
    width = estimate.high - estimate.low
    drawn_width = max(width, end / 300)
    place = 0.0 if limit is None else limit / end
    # The name of a limit near an end of the scale would be cut off, and the name of an end that
    # is too near to the limit would be written over it.
    limit_is_named = 0.05 < place < 0.97
    start_is_named = not limit_is_named or place > 0.2
    end_is_named = not limit_is_named or place < 0.8
    return RateDrawing(
        label=_label(estimate, limit),
        start=at(0),
        end=at(end),
        low=at(estimate.low),
        high=at(estimate.low + drawn_width),
        value=at(estimate.value),
        limit="" if limit is None else at(limit),
        start_name=number_text.percent_plain(0) if start_is_named else "",
        end_name=number_text.percent_plain(end) if end_is_named else "",
        limit_name=number_text.hundredths(100 * place * end) if limit_is_named else "",
        limit_name_place=at(place * end),
    )


def _label(estimate: Estimate, limit: float | None) -> str:
    """Return a rate, its interval and its limit in words."""
    shown = estimate.shown_beside(limit)
    label = shown.value_text
    if shown.level < 1:
        low, high = shown.ends_text
        label = say("{value}, between {low} and {high}", value=label, low=low, high=high)
    if limit is None:
        return label
    threshold = number_text.percent_plain(limit)
    return say("{value}; engineering threshold {limit}", value=label, limit=threshold)
