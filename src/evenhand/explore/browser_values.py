"""Values, outcomes and outputs as the what-if page is sent them: JSON that a browser can hold."""

from __future__ import annotations

import math
from typing import TYPE_CHECKING, Any

import numpy as np

from evenhand.runtime import number_text
from evenhand.runtime.label_text import shown
from evenhand.space.feature import plain

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from numpy.typing import NDArray

    from evenhand.subject.view import View

EXACT = 2**53
"""Beyond this a browser cannot tell whole numbers apart."""


def for_browser(value: Any) -> Any:
    """Return a label or outcome as a browser can hold it; numbers that it cannot hold become text.

    >>> for_browser(2**60), for_browser(np.float64(0.5)), for_browser(float("inf"))
    ('1152921504606846976', 0.5, 'inf')
    >>> for_browser(None)
    'unknown'
    """
    value = shown(plain(value))
    if isinstance(value, bool | str):
        return value
    if isinstance(value, int):
        exact = abs(value) <= EXACT
    else:
        # JSON has no infinity and no NaN.
        exact = isinstance(value, float) and math.isfinite(value)
    return value if exact else str(value)


def record_for_browser(record: Mapping[str, Any]) -> dict[str, Any]:
    """Return a record with values that a browser can hold."""
    values = {}
    for name, value in record.items():
        values[name] = for_browser(value)
    return values


def outcome_entries(
    views: Sequence[View], outcomes: NDArray[Any]
) -> tuple[list[list[dict[str, Any]]], NDArray[np.bool_]]:
    """Return each input's outcomes, output by output, and which differ from the first input's."""
    entries: list[list[dict[str, Any]]] = [[] for _ in outcomes]
    any_differs = np.zeros(len(outcomes), dtype=np.bool_)
    for view in views:
        own_outcomes = outcomes_of(view, outcomes)
        first_repeated = np.repeat(own_outcomes[:1], len(own_outcomes))
        differs = view.distance(first_repeated, own_outcomes) > 0
        any_differs |= differs
        favourable = _favourable(view, own_outcomes)
        for at, entry in enumerate(entries):
            shown_outcome = {
                "output": view.name,
                "value": for_browser(own_outcomes[at]),
                "favourable": favourable[at],
                "differs": bool(differs[at]),
            }
            words = _in_words(view, own_outcomes, at)
            if words is not None:
                shown_outcome["shown"] = for_browser(words)
            entry.append(shown_outcome)
    return entries, any_differs


def _in_words(view: View, outcomes: NDArray[Any], at: int) -> Any:
    """Return an outcome as people read it, None where that is the outcome itself.

    Of fractions these are the digits that tell it from the first input's outcome, and how far apart
    the two are.
    """
    outcome = plain(outcomes[at])
    if view.meaning.words:
        return view.meaning.shown(outcome)
    first = plain(outcomes[0])
    both_are_numbers = all(isinstance(value, int | float) for value in (first, outcome))
    if not both_are_numbers or (float(first).is_integer() and float(outcome).is_integer()):
        return None
    if at == 0:
        return number_text.amount(outcome)
    _, beside_first = number_text.apart(first, outcome)
    return beside_first


def output_entries(views: Sequence[View]) -> list[dict[str, Any]]:
    """Return the name of each output, and what counts as favourable where that is known."""
    entries = []
    for view in views:
        favoured = view.favoured if _has_favourable(view) else None
        entries.append({"name": view.name, "favoured": favoured})
    return entries


def _has_favourable(view: View) -> bool:
    """Return whether an outcome of this output either is favourable or is not."""
    return view.counts and view.positive is not None


def _favourable(view: View, outcomes: NDArray[Any]) -> list[bool] | list[None]:
    """Return whether each outcome is favourable, None for each where that is not known."""
    if not _has_favourable(view):
        return [None] * len(outcomes)
    favourable: list[bool] = view.favourable(outcomes).tolist()
    return favourable


def outcomes_of(view: View, outcomes: NDArray[Any]) -> NDArray[Any]:
    """Return the outcomes of one output."""
    if not view.name:
        return outcomes
    return np.ascontiguousarray(outcomes[view.name])
