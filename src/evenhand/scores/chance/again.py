"""Asking some people of a run again, to see whether the software flickers."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from evenhand.space.feature import Points
    from evenhand.subject.view import View


def asked_again(
    view: View,
    start: int,
    hits: NDArray[Any],
    people: tuple[Points, NDArray[Any]],
    others: tuple[Points, NDArray[Any], NDArray[np.intp]],
) -> NDArray[np.int64]:
    """Let the watch on a run, if there is one, ask some people again, and the twins of hits.

    Returns how many inputs of each. `people` are with their answers, the `others` as well and with
    the place of each person's twin among them.
    """
    points, outcomes = people
    asked = np.zeros(len(points), dtype=np.int64)
    watch = view.subject.watch
    if watch is None:
        return asked
    drawn = watch.draws(start, start + len(points))
    if drawn.any():
        watch.look(points[drawn], outcomes[drawn], view.name)
    hit = watch.hits(hits, start)
    if hit.any():
        twins, twin_outcomes, places = others
        twin = places[hit]
        watch.confirm(points[hit], outcomes[hit], view.name)
        watch.confirm(twins[twin], twin_outcomes[twin], view.name)
    return asked + drawn + 2 * hit
