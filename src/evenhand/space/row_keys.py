"""Numbers for rows, and which of them were seen before.

They keep a search from asking about an input, or counting it, twice.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, cast

import numpy as np

from evenhand.space.distribution import numbered

if TYPE_CHECKING:
    from collections.abc import Iterable

    from numpy.typing import NDArray

    from evenhand.space.feature import Flags, Floats, Points
    from evenhand.space.space import Space

    Keys = NDArray[np.uint64]

_MULTIPLIER = np.uint64(0x9E3779B97F4A7C15)
"""An odd number without pattern, which spreads keys over 64 bits."""
_LEFT_SHIFT = np.uint64(6)
_RIGHT_SHIFT = np.uint64(31)


def bytes_of_rows(points: Points) -> list[bytes]:
    """Return the bytes of each row, which equal rows share and no others do.

    >>> first, second, third = bytes_of_rows(np.array([[1.0, 0.0], [2.0, 0.0], [1.0, -0.0]]))
    >>> first == third, first == second
    (True, False)
    """
    rows = np.ascontiguousarray(points) + 0.0  # turns -0.0, whose bytes differ, into 0.0
    row_type = np.dtype((np.void, rows.shape[1] * rows.itemsize))
    return cast("list[bytes]", rows.view(row_type).ravel().tolist())


def mixed(columns: Iterable[Floats], rows: int) -> Keys:
    """Return a 64-bit hash for each row, which equal rows share, and others in practice do not.

    >>> keys = mixed([np.array([1.0, 2.0, 1.0]), np.array([0.0, 0.0, -0.0])], 3)
    >>> keys[0] == keys[2], keys[0] == keys[1]
    (np.True_, np.False_)
    """
    key = np.zeros(rows, dtype=np.uint64)
    for column in columns:
        # Adding 0.0 turns -0.0 into 0.0: equal numbers must have equal bits.
        values = np.ascontiguousarray(column, dtype=np.float64) + 0.0
        bits = values.view(np.uint64)
        summand = bits + _MULTIPLIER + (key << _LEFT_SHIFT)
        key = (key ^ summand) * _MULTIPLIER
        # A product mixes upwards only; the shift brings its upper half down again.
        key ^= key >> _RIGHT_SHIFT
    return key


class Seen:
    """Keys that were seen, in order.

    >>> seen = Seen()
    >>> seen.add(np.array([5, 3, 5], dtype=np.uint64)).tolist()
    [True, True, False]
    >>> seen.add(np.array([3, 4], dtype=np.uint64)).tolist()
    [False, True]
    """

    def __init__(self) -> None:
        self._keys: Keys = np.zeros(0, dtype=np.uint64)

    def __len__(self) -> int:
        return len(self._keys)

    def __contains__(self, key: object) -> bool:
        keys = np.array([key], dtype=np.uint64)
        return bool(self.has(keys)[0])

    def has(self, keys: Keys) -> Flags:
        """Return which keys were seen."""
        if not len(self._keys):
            return np.zeros(len(keys), dtype=np.bool_)
        place = np.searchsorted(self._keys, keys)
        place = np.minimum(place, len(self._keys) - 1)
        return np.asarray(self._keys[place] == keys)

    def fresh(self, keys: Keys) -> Flags:
        """Return which keys were not seen before, each only where it stands first; add nothing."""
        new = np.zeros(len(keys), dtype=np.bool_)
        values, first = np.unique(keys, return_index=True)
        new[first] = ~self.has(values)
        return new

    def add(self, keys: Keys) -> Flags:
        """Add keys, and return which were not seen before, each only where it stands first."""
        new = self.fresh(keys)
        every_key = np.concatenate([self._keys, keys[new]])
        self._keys = np.sort(every_key, kind="stable")
        return new


def classes(points: Points, space: Space, names: tuple[str, ...]) -> NDArray[np.intp]:
    """Return a number for each point, shared by those that differ only in the named features.

    What follows from these differs with them.
    """
    named = space.derivations.following(space.sets(names))
    columns = []
    for position in range(len(space.features)):
        if position not in named:
            columns.append(points[:, position])
    return numbered(columns, len(points))
