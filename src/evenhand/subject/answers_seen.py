"""Which different answers the software gave in a run, as far as anything depends on it."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np

from evenhand.space.feature import plain

if TYPE_CHECKING:
    from collections.abc import Iterable

    from numpy.typing import NDArray

MOST = 12
"""The most different answers that are told apart."""


def first_answers(outcomes: NDArray[Any], most: int = MOST) -> list[tuple[int, Any]]:
    """Return where each of the different answers stands first, and the answer; at most so many.

    >>> first_answers(np.array(["deny", "deny", "approve", "deny"]))
    [(0, 'deny'), (2, 'approve')]
    """
    found: list[tuple[int, Any]] = []
    left = np.arange(len(outcomes))
    while len(left) and len(found) < most:
        first = int(left[0])
        found.append((first, plain(outcomes[first])))
        left = left[np.asarray(outcomes[left] != outcomes[first], dtype=np.bool_)]
    return found


def different(outcomes: NDArray[Any]) -> tuple[Any, ...]:
    """Return the different answers among outcomes, the first that came first."""
    return tuple(answer for _, answer in first_answers(outcomes))


class AnswersSeen:
    """The different answers of one output since a run began.

    >>> seen = AnswersSeen()
    >>> seen.add(np.array([0, 0, 1]))
    >>> seen.add(np.array([2, 1]))
    >>> seen.answers
    (0, 1, 2)
    """

    def __init__(self) -> None:
        self._answers: dict[Any, None] = {}  # a set that keeps the order

    @property
    def answers(self) -> tuple[Any, ...]:
        """The answers, the first that came first; at most so many as are told apart."""
        return tuple(self._answers)

    def add(self, outcomes: NDArray[Any]) -> None:
        """Note the answers among outcomes."""
        if len(self._answers) < MOST:
            self.merge(different(outcomes))

    def merge(self, answers: Iterable[Any]) -> None:
        """Note answers that were seen elsewhere, as by another process."""
        for answer in answers:
            if len(self._answers) < MOST:
                self._answers.setdefault(answer)

    def clear(self) -> None:
        """Begin a new run."""
        self._answers.clear()
