"""What counts as a different outcome (Themis Def. 3.3, Aequitas γ)."""

from __future__ import annotations

from collections.abc import Callable
from numbers import Real
from typing import TYPE_CHECKING, Any

import numpy as np

from evenhand.core.errors import UsageError, clip

if TYPE_CHECKING:
    from numpy.typing import NDArray

Differs = None | float | Callable[[Any, Any], Any]
"""None: labels differ. A number γ: numeric outcomes further apart than γ. A function: a distance in [0, 1]."""


def check_differs(differs: Differs) -> Differs:
    """Return a valid rule for what differs, or say what is wrong with it."""
    if differs is None or callable(differs):
        return differs
    if isinstance(differs, bool) or not isinstance(differs, Real) or not differs >= 0:
        raise UsageError(
            f"differs = {clip(repr(differs))} must be None, a number of 0 or more, or a function of two outcomes"
        )
    return float(differs)


def distance(differs: Differs, a: NDArray[Any], b: NDArray[Any]) -> NDArray[Any]:
    """Return how far apart outcomes are: truth values for labels and γ, numbers in [0, 1] for a function.

    >>> distance(0.1, np.array([0.5, 0.5]), np.array([0.55, 0.7])).tolist()
    [False, True]
    """
    if differs is None:
        return np.asarray(a != b, dtype=np.bool_)
    if callable(differs):
        return _graded(differs, a, b)
    if a.dtype.kind not in "biuf" or b.dtype.kind not in "biuf":
        raise UsageError(f"differs = {differs!r} needs numeric outcomes, but they are texts; leave it out for labels")
    return np.abs(a.astype(np.float64) - b.astype(np.float64)) > differs


def _graded(function: Callable[[Any, Any], Any], a: NDArray[Any], b: NDArray[Any]) -> NDArray[Any]:
    try:
        found = np.asarray(function(a, b))
    except Exception as error:
        raise UsageError(f"differs raised {type(error).__name__}: {clip(str(error))}") from error
    shape = np.broadcast_shapes(a.shape, b.shape)
    if found.shape != shape:
        raise UsageError(
            f"differs returned shape {found.shape} for outcomes of shape {shape}; "
            f"it must compare arrays element by element"
        )
    if found.dtype.kind not in "biuf":
        raise UsageError(f"differs returned {found.dtype} values; it must return truth values or numbers from 0 to 1")
    if found.dtype.kind == "b":
        return found
    outside = ~((found >= 0) & (found <= 1))
    if outside.any():
        raise UsageError(f"differs returned {found[outside][0]}, which is no distance from 0 to 1")
    return found.astype(np.float64, copy=False)
