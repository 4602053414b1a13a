"""Numerical tools that limits share: roots of many functions at once, and a normal integral.

A limit is where a probability crosses a given one. The probabilities here are monotone, so that a
bracket around the crossing is narrowed until it is as good as a number. All functions work on
arrays: one bracket for each element.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

if TYPE_CHECKING:
    from collections.abc import Callable

    from numpy.typing import NDArray

    from evenhand.statistics.intervals import Floats, Limits

MOST_PROBIT = 38.0
"""Beyond it, a normal probability is smaller than the smallest floating-point number."""

_LEAST_SLOPE = 1e-12

NODES = np.arange(-8.5, 8.51, 0.125)
"""Where `WEIGHTS` weighs a function of a standard normal variable, to integrate it.

The trapezoid rule in probit space is exponentially accurate for smooth integrands, also far out in
the tail.
"""

_DENSITY = np.exp(-(NODES**2) / 2)
WEIGHTS = _DENSITY / _DENSITY.sum()


def halve(
    outside: Callable[[Floats], NDArray[np.bool_]], far: Floats, near: Floats, times: int
) -> Limits:
    """Return the last bracket of where `outside` turns false on the way from `far` to `near`.

    It is still true at the first end, and false at the second, as it was at those given.

    >>> far, near = np.zeros(1), np.ones(1)
    >>> far, near = halve(lambda x: x < 0.3, far, near, times=20)
    >>> f"{far[0]:.4f} {near[0]:.4f}"
    '0.3000 0.3000'
    """
    for _ in range(times):
        middle = (far + near) / 2
        is_outside = outside(middle)
        far = np.where(is_outside, middle, far)
        near = np.where(is_outside, near, middle)
    return far, near


class Bracket:
    """An interval around the root of a rising function, narrowed by the Illinois rule.

    The rule follows the chord between the two ends as regula falsi does. Where the same end stays
    twice in a row, its score is halved, so that the next chord lands on its other side: the bracket
    then shrinks from both sides, and few steps suffice for a nearly linear function.

    Parameters
    ----------
    far, near
        Where the function is at most 0, and where it is at least 0.
    below, above
        Its scores there.

    >>> bracket = Bracket(np.zeros(1), np.ones(1), np.array([-0.3]), np.array([0.7]))
    >>> bracket.narrow(bracket.chord(), np.zeros(1))
    >>> f"{bracket.far[0]:.2f}"
    '0.30'
    """

    def __init__(self, far: Floats, near: Floats, below: Floats, above: Floats) -> None:
        self.far = far
        self.near = near
        self._below = below
        self._above = above
        # Which end moved last: 1 for the far one, -1 for the near one, 0 for neither.
        self._moved = np.zeros(far.shape, dtype=int)

    def middle(self) -> Floats:
        """Return the middle of the bracket."""
        return (self.far + self.near) / 2

    def chord(self) -> Floats:
        """Return where the chord between the two ends crosses 0, within the bracket."""
        rise = np.maximum(self._above - self._below, _LEAST_SLOPE)
        crossing = self.far - self._below * (self.near - self.far) / rise
        return np.clip(crossing, self.far, self.near)

    def narrow(self, point: Floats, score: Floats) -> None:
        """Move one end of each bracket to a point, where the function has this score."""
        moves_far = score <= 0
        self.far = np.where(moves_far, point, self.far)
        self.near = np.where(moves_far, self.near, point)
        halved_below = np.where(self._moved == -1, self._below / 2, self._below)
        halved_above = np.where(self._moved == 1, self._above / 2, self._above)
        self._below = np.where(moves_far, score, halved_below)
        self._above = np.where(moves_far, halved_above, score)
        self._moved = np.where(moves_far, 1, -1)
