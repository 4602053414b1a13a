"""Numbers for rows, and which of them were seen before: what keeps a search from asking or counting
twice.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from evenhand.space.distribution import numbered

if TYPE_CHECKING:
    from collections.abc import Iterable

    from numpy.typing import NDArray

    from evenhand.space.feature import Points
    from evenhand.space.space import Space

    Keys = NDArray[np.uint64]

_MULTIPLIER = np.uint64(0x9E3779B97F4A7C15)
"""An odd number without pattern, which spreads keys over 64 bits."""


def mixed(columns: Iterable[NDArray[np.float64]], rows: int) -> Keys:
    """Return a number for each row that equal rows share, and different ones in practice do not: a
    64-bit hash.

    >>> keys = mixed([np.array([1.0, 2.0, 1.0]), np.array([0.0, 0.0, -0.0])], 3)
    >>> keys[0] == keys[2], keys[0] == keys[1]
    (np.True_, np.False_)
    """
    key = np.zeros(rows, dtype=np.uint64)
    for column in columns:
        bits = (np.ascontiguousarray(column, dtype=np.float64) + 0.0).view(
            np.uint64
        )  # turns -0.0 into 0.0
        key = (key ^ (bits + _MULTIPLIER + (key << np.uint64(6)))) * _MULTIPLIER
        key ^= key >> np.uint64(31)
    return key


class Seen:
    """Keys that were seen, in order.

    >>> seen = Seen()
    >>> seen.add(np.array([5, 3, 5], dtype=np.uint64)).tolist(), seen.add(np.array([3, 4], dtype=np.uint64)).tolist()
    ([True, True, False], [False, True])
    """

    def __init__(self) -> None:
        self._keys: Keys = np.zeros(0, dtype=np.uint64)

    def __len__(self) -> int:
        return len(self._keys)

    def __contains__(self, key: object) -> bool:
        return bool(self.has(np.array([key], dtype=np.uint64))[0])

    def has(self, keys: Keys) -> NDArray[np.bool_]:
        """Tell which keys were seen."""
        if not len(self._keys):
            return np.zeros(len(keys), dtype=np.bool_)
        place = np.minimum(np.searchsorted(self._keys, keys), len(self._keys) - 1)
        return np.asarray(self._keys[place] == keys)

    def fresh(self, keys: Keys) -> NDArray[np.bool_]:
        """Tell which keys were not seen before, each only where it stands first; nothing is added."""
        new = np.zeros(len(keys), dtype=np.bool_)
        values, first = np.unique(keys, return_index=True)
        new[first] = ~self.has(values)
        return new

    def add(self, keys: Keys) -> NDArray[np.bool_]:
        """Add keys, and tell which were not seen before, each only where it stands first."""
        new = self.fresh(keys)
        self._keys = np.sort(np.concatenate([self._keys, keys[new]]), kind="stable")
        return new


def classes(points: Points, space: Space, names: tuple[str, ...]) -> NDArray[np.intp]:
    """Return a number for each point that it shares with those that differ from it only in the
    named features.
    """
    rest = [column for column in range(len(space.features)) if column not in space.sets(names)]
    return numbered((points[:, column] for column in rest), len(points))
