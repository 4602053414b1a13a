"""What a search is going to take."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from evenhand.methods.search.search import bounded
from evenhand.scores.enumeration import part_size
from evenhand.scores.planning.forecast import Forecast, Ground, Way, within
from evenhand.space.feature_sets import feature_sets
from evenhand.subject.view import views_of

if TYPE_CHECKING:
    from evenhand.subject.subject import Subject

MOST_TRIED = 1_000_000
"""The most inputs that are all tried where only that can pass, and nobody set a budget."""


def forecast(
    ground: Ground, *, over: Any = None, limit: int | None = None, **_others: Any
) -> list[Forecast]:
    """Return that a search spends its budget, or tries every input where these are fewer."""
    subject: Subject = ground.subject
    expensive = subject.adapter.expensive
    budget, unbounded = bounded(ground.budget, expensive=expensive)
    sets = feature_sets(subject.space, over)
    exhausts = limit is not None and unbounded
    parts = []
    for names in sets:
        share = None
        if budget.queries is not None:
            share = budget.queries // len(sets)
        inputs = part_size(subject.space, names, subject.unread) * len(views_of(subject))
        parts.append(_of_set(" and ".join(names), inputs, share, exhausts=exhausts))
    return within(parts, ground.left)


def _of_set(
    about: str, inputs: int | float, share: int | None, *, exhausts: bool
) -> Forecast:
    if inputs <= (share or 0):
        return Forecast(about, Way.ENUMERATED, int(inputs), share)
    if share is None:
        # Only seconds end it.
        return Forecast(about, Way.SEARCHED)
    if exhausts and inputs <= MOST_TRIED:
        return Forecast(about, Way.SEARCHED, share, share + int(inputs))
    return Forecast(about, Way.SEARCHED, share, share)
