"""A map of found inputs in two dimensions, on which the boundary between outcomes can be seen."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np

from evenhand.space.design_matrix import columns, owners, used_columns
from evenhand.space.feature import plain

if TYPE_CHECKING:
    from collections.abc import Sequence

    from evenhand.methods.search.arrays import Indices, Numbers, Outcomes
    from evenhand.methods.search.probe import Probe, Tried
    from evenhand.space.feature import Points

MOST = 300
"""How many found inputs, and how many others, a map shows."""
FEWEST = 10
"""With fewer others there is no boundary to be seen."""
RIDGE = 0.02
"""What keeps the direction from following single inputs, as a share of their number."""
MOST_COLUMNS = 1000
"""With more columns, those of levels that no input has are left out, which are 0 for all."""
NAMED = 2
"""How many features name an axis."""


def project(probe: Probe, found: Points, others: Sequence[Tried]) -> dict[str, Any] | None:
    """Return a map of found inputs among others that a search has tried, as JSON holds it.

    The first axis is the direction in which the outcome changes most, by least squares over the
    others; the second is the one across it in which the inputs found differ most. None is returned
    where nothing is to be seen.
    """
    # There may be no part at all.
    nobody = probe.canonical(found[:0])
    points = np.concatenate([nobody, *(part.points for part in others)])
    if len(points) < FEWEST or not len(found) or not probe.free:
        return None
    outcomes = np.concatenate([part.side for part in others])
    picked = _evenly(len(points))
    points = points[picked]
    outcomes = outcomes[picked]
    shown = found[_evenly(len(found))]
    matrix, owner = _matrix(probe, np.concatenate([shown, points]))
    centred = matrix - matrix.mean(axis=0)
    first = _direction(centred[len(shown) :], outcomes)
    if first is None:
        return None
    second = _across(centred[: len(shown)], first)
    coordinates = np.stack([centred @ first, centred @ second], axis=1)
    places = np.round(coordinates, 4).tolist()
    other_places = []
    for place, outcome in zip(places[len(shown) :], outcomes.tolist(), strict=True):
        other_places.append([*place, plain(outcome)])
    names = [probe.space.names[position] for position in probe.free]
    return {
        "axes": [_named(first, owner, names), _named(second, owner, names)],
        "found": places[: len(shown)],
        "others": other_places,
    }


def _matrix(probe: Probe, points: Points) -> tuple[Numbers, Indices]:
    """Return inputs as columns, and of which feature each column is."""
    owner = owners(probe.space, probe.free)
    if len(owner) > MOST_COLUMNS:
        return used_columns(probe.space, points, probe.free)
    return columns(probe.space, points, probe.free), owner


def _across(found: Numbers, first: Numbers) -> Numbers:
    """Return the direction across the first in which the inputs found differ most."""
    if len(found) < 2:
        return np.zeros_like(first)
    centred = found - found.mean(axis=0)
    along_first = np.outer(centred @ first, first)
    principal = np.linalg.svd(centred - along_first, full_matrices=False)[2]
    second = principal[0]
    # A direction and its reverse explain the same; the largest weight is made positive.
    largest = second[np.argmax(np.abs(second))]
    sign = 1.0 if largest >= 0 else -1.0
    return np.asarray(second * sign)


def _evenly(size: int) -> Indices:
    """Return places of so many, no more than a map shows."""
    places = np.linspace(0, size - 1, min(MOST, size))
    return places.round().astype(np.intp)


def _direction(matrix: Numbers, outcomes: Outcomes) -> Numbers | None:
    """Return the unit direction along which the outcome changes, None where it does not."""
    if outcomes.dtype.kind in "biuf":
        target = outcomes.astype(np.float64)
    else:
        _, codes = np.unique(outcomes.astype(str), return_inverse=True)
        target = codes.astype(np.float64)
    centred = target - target.mean()
    slope = _ridge_slope(matrix, centred)
    length = float(np.linalg.norm(slope))
    if length <= 0:
        return None
    return slope / length


def _ridge_slope(matrix: Numbers, target: Numbers) -> Numbers:
    """Return the coefficients of a ridge regression."""
    penalty = RIDGE * len(matrix)
    if matrix.shape[1] > MOST_COLUMNS:
        # The same coefficients by an equation for each input, of which there are fewer.
        inputs = matrix @ matrix.T + np.eye(len(matrix)) * penalty
        return np.asarray(matrix.T @ np.linalg.solve(inputs, target))
    ridge = np.eye(matrix.shape[1]) * penalty
    ridged = matrix.T @ matrix + ridge
    return np.asarray(np.linalg.solve(ridged, matrix.T @ target))


def _named(axis: Numbers, owner: Indices, names: list[str]) -> str:
    """Return the name of an axis: the features that weigh most in it.

    A number has a sign for the direction in which it grows.
    """
    squares = np.bincount(owner, weights=axis**2, minlength=len(names))
    weights = np.sqrt(squares)
    heaviest = np.argsort(-weights, kind="stable")[:NAMED]
    parts = []
    for place in heaviest.tolist():
        if weights[place] <= 0:
            continue
        own = axis[owner == place]
        if len(own) > 1:  # a category has a column for each level
            sign = ""
        elif own[0] >= 0:
            sign = "+"
        else:
            sign = "−"
        parts.append(f"{sign}{names[place]}")
    return ", ".join(parts)
