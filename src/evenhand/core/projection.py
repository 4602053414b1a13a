"""A map of found inputs in two dimensions, on which the boundary between outcomes can be seen."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np

from evenhand.core.feature import plain
from evenhand.core.seeds import stream

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from evenhand.core.feature import Points
    from evenhand.core.probe import Probe

MOST = 300
"""How many found inputs, and how many others, a map shows."""
KEPT = 0.75
"""The share of its features that an input next to one found has from that."""
RIDGE = 0.02
"""What keeps the direction from following single inputs, as a share of their number."""
NAMED = 2
"""How many features name an axis."""


def project(probe: Probe, found: Points, seed: int, queries: int) -> tuple[dict[str, Any] | None, int]:
    """Return a map of found inputs among uniform ones, as JSON holds it, and how many inputs were asked for it.

    Others are uniform inputs, and inputs found with a quarter of their features redrawn, which lie on both sides of the
    boundary. The first axis is the direction in which the outcome changes most, told by least squares over these; the
    second is the one across it in which the inputs found differ most. None where nothing is to be seen.
    """
    n = min(MOST, queries)
    if not len(found) or n < 10:
        return None, 0
    others = _others(probe, found, n, stream(seed, "projection"))
    outcomes = probe.view.decide(others)
    shown = found[np.linspace(0, len(found) - 1, min(MOST, len(found))).round().astype(np.intp)]
    matrix, owner = _scaled(probe, np.concatenate([shown, others]))
    centred = matrix - matrix.mean(axis=0)
    first = _direction(centred[len(shown) :], outcomes)
    if first is None:
        return None, n
    rest = centred[: len(shown)] - centred[: len(shown)].mean(axis=0)
    rest = rest - np.outer(rest @ first, first)
    second = np.linalg.svd(rest, full_matrices=False)[2][0] if len(rest) > 1 else np.zeros_like(first)
    second = second * (1.0 if second[np.argmax(np.abs(second))] >= 0 else -1.0)
    places = np.round(np.stack([centred @ first, centred @ second], axis=1), 4).tolist()
    names = [probe.space.names[position] for position in probe.free]
    return {
        "axes": [_named(axis, owner, names) for axis in (first, second)],
        "found": places[: len(shown)],
        "others": [
            [*place, plain(outcome)] for place, outcome in zip(places[len(shown) :], outcomes.tolist(), strict=True)
        ],
    }, n


def _others(probe: Probe, found: Points, n: int, rng: np.random.Generator) -> Points:
    """Return uniform inputs, every second of which has most of its features from an input found."""
    drawn = probe.canonical(probe.space.draw(n, rng))
    near = found[rng.integers(0, len(found), n)]
    kept = (rng.random(drawn.shape) < KEPT) & (np.arange(n) % 2 == 0)[:, None]
    mixed = np.where(kept, near, drawn)
    return np.asfortranarray(np.where(probe.space.valid(mixed)[:, None], mixed, drawn))


def _scaled(probe: Probe, points: Points) -> tuple[NDArray[np.float64], NDArray[np.intp]]:
    """Return the free features of the points from 0 to 1, levels in columns of their own, and whose each column is."""
    columns: list[NDArray[np.float64]] = []
    owner: list[int] = []
    for place, position in enumerate(probe.free):
        feature, values = probe.space.features[position], points[:, position]
        if feature.kind == "category":
            columns += [(values == code).astype(np.float64) for code in range(len(feature.levels))]
            owner += [place] * len(feature.levels)
        else:
            columns.append((values - feature.low) / (float(feature.high - feature.low) or 1.0))
            owner.append(place)
    return np.stack(columns, axis=1), np.array(owner, dtype=np.intp)


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
    """Name an axis by the features that weigh most in it, with the direction in which a number grows."""
    weights = np.sqrt(np.bincount(owner, weights=axis**2, minlength=len(names)))
    best = np.argsort(-weights, kind="stable")[:NAMED]
    parts = []
    for place in best.tolist():
        mine = axis[owner == place]
        sign = "" if len(mine) > 1 else ("+" if mine[0] >= 0 else "−")
        if weights[place] > 0:
            parts.append(f"{sign}{names[place]}")
    return ", ".join(parts)
