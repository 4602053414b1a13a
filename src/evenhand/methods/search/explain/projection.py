"""A map of found inputs in two dimensions, on which the boundary between outcomes can be seen."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np

from evenhand.space.design_matrix import columns, owners
from evenhand.space.feature import plain

if TYPE_CHECKING:
    from collections.abc import Sequence

    from numpy.typing import NDArray

    from evenhand.methods.search.probe import Probe, Tried
    from evenhand.space.feature import Points

MOST = 300
"""How many found inputs, and how many others, a map shows."""
FEWEST = 10
"""With fewer others there is no boundary to be seen."""
RIDGE = 0.02
"""What keeps the direction from following single inputs, as a share of their number."""
NAMED = 2
"""How many features name an axis."""


def project(probe: Probe, found: Points, others: Sequence[Tried]) -> dict[str, Any] | None:
    """Return a map of found inputs among others that a search has tried, as JSON holds it.

    The first axis is the direction in which the outcome changes most, told by least squares over
    the others; the second is the one across it in which the inputs found differ most. None where
    nothing is to be seen.
    """
    rest = np.concatenate([probe.canonical(found[:0]), *(part.points for part in others)])
    if len(rest) < FEWEST or not len(found) or not probe.free:
        return None
    picked = _evenly(len(rest))
    rest, outcomes = rest[picked], np.concatenate([part.side for part in others])[picked]
    shown = found[_evenly(len(found))]
    matrix = columns(probe.space, np.concatenate([shown, rest]), probe.free)
    centred = matrix - matrix.mean(axis=0)
    first = _direction(centred[len(shown) :], outcomes)
    if first is None:
        return None
    across = centred[: len(shown)] - centred[: len(shown)].mean(axis=0)
    across = across - np.outer(across @ first, first)
    second = (
        np.linalg.svd(across, full_matrices=False)[2][0]
        if len(across) > 1
        else np.zeros_like(first)
    )
    second = second * (1.0 if second[np.argmax(np.abs(second))] >= 0 else -1.0)
    places = np.round(np.stack([centred @ first, centred @ second], axis=1), 4).tolist()
    names = [probe.space.names[position] for position in probe.free]
    return {
        "axes": [_named(axis, owners(probe.space, probe.free), names) for axis in (first, second)],
        "found": places[: len(shown)],
        "others": [
            [*place, plain(outcome)]
            for place, outcome in zip(places[len(shown) :], outcomes.tolist(), strict=True)
        ],
    }


def _evenly(size: int) -> NDArray[np.intp]:
    """Return places of so many, no more than a map shows."""
    return np.linspace(0, size - 1, min(MOST, size)).round().astype(np.intp)


def _direction(matrix: NDArray[np.float64], outcomes: NDArray[Any]) -> NDArray[np.float64] | None:
    """Return the unit direction along which the outcome changes, None where it does not."""
    if outcomes.dtype.kind in "biuf":
        target = outcomes.astype(np.float64)
    else:
        target = np.unique(outcomes.astype(str), return_inverse=True)[1].astype(np.float64)
    ridge = np.eye(matrix.shape[1]) * (RIDGE * len(matrix))
    slope = np.linalg.solve(matrix.T @ matrix + ridge, matrix.T @ (target - target.mean()))
    length = float(np.linalg.norm(slope))
    return slope / length if length > 0 else None


def _named(axis: NDArray[np.float64], owner: NDArray[np.intp], names: list[str]) -> str:
    """Name an axis by the features that weigh most in it, with the direction in which a number
    grows.
    """
    weights = np.sqrt(np.bincount(owner, weights=axis**2, minlength=len(names)))
    best = np.argsort(-weights, kind="stable")[:NAMED]
    parts = []
    for place in best.tolist():
        mine = axis[owner == place]
        sign = "" if len(mine) > 1 else ("+" if mine[0] >= 0 else "−")
        if weights[place] > 0:
            parts.append(f"{sign}{names[place]}")
    return ", ".join(parts)
