"""Covers: who each choice covers as bits, and sums over those whom many rule sets cover at once.

A rule set covers those whom all of its choices cover, so that its cover is an `and` of bits, and
the number of people in it a count of bits.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from evenhand.methods.mine.cube import Cube

    Bits = NDArray[np.uint64]
    Flags = NDArray[np.bool_]
    Floats = NDArray[np.float64]
    Indices = NDArray[np.intp]

AT_ONCE = 1 << 16
"""Words of bits that are counted at once: more would not stay near the processor."""
_WORD = 64
_LARGEST = 1 << 31
"""Sums of cells from this on are not split into bits."""


@dataclass(frozen=True, eq=False)
class Covers:
    """The choices of all features as bits over the cells of a cube, or over single people.

    Choices are numbered through all features. Counts of people are sums of powers of two: of each
    power, `planes` holds the cells whose count has it. Where cells have few people, each of them
    has a bit of their own instead, and one plane is enough.

    >>> from evenhand.methods.mine.conditions import Choices
    >>> from evenhand.methods.mine.cube import Cube
    >>> from evenhand.space.feature import category
    >>> sex, race = category("sex", ["F", "M"]), category("race", ["a", "b"])
    >>> columns = [np.array([0.0, 0.0, 1.0]), np.array([0.0, 1.0, 1.0])]
    >>> cube = Cube.of([Choices.of(sex, columns[0]), Choices.of(race, columns[1])], columns)
    >>> covers = Covers.of(cube, np.stack([cube.totals(), cube.totals(np.array([0.0, 1.0, 1.0]))]))
    >>> covers.sums(covers.of_rules(np.array([[0, 3], [1, 3]]))).tolist()
    [[1.0, 1.0], [1.0, 1.0]]
    """

    bits: Bits
    """A row for each choice."""
    planes: tuple[Bits, ...]
    """Of each sum that is a whole number, the bits of its counts, the lowest power first."""
    values: Floats
    """The other sums, by cell: those of numbers that are not whole, or of weights."""
    cells: Indices
    """The cell of each bit."""

    @classmethod
    def of(cls, cube: Cube, totals: Floats) -> Covers:
        """Return the covers of all choices of a cube.

        Parameters
        ----------
        totals
            Sums over cells, a row for each: people first. Whole numbers come before others.
        """
        whole = _whole_rows(totals)
        counts = totals[:whole].astype(np.int64)
        cells = np.arange(totals.shape[1])
        if _splits_into_people(totals, counts):
            people, hits = counts
            cells = np.repeat(cells, people)
            # Of the people of a cell, the first are those who are favoured.
            first = np.cumsum(people) - people
            rank = np.arange(len(cells)) - first[cells]
            counts = np.stack([np.ones(len(cells), dtype=np.int64), rank < hits[cells]])
        bits_of_features = [
            packed(feature.picks[:, cube.codes[cells, position]])
            for position, feature in enumerate(cube.choices)
        ]
        bits = np.concatenate(bits_of_features)
        planes = tuple(_planes(row) for row in counts)
        return cls(bits, planes, totals[whole:].T.copy(), cells)

    @property
    def words(self) -> int:
        """The number of words that the bits of one choice take."""
        return int(self.bits.shape[1])

    @property
    def cost(self) -> float:
        """About how many words are read for the sums of one rule set."""
        planes = sum(len(plane) for plane in self.planes)
        # A value that is not whole takes a word for each of its bits.
        values = _WORD * self.values.shape[1]
        return float(self.words * (planes + values))

    def of_rules(self, rules: NDArray[np.integer[Any]]) -> Bits:
        """Return whom rule sets cover; each is a row of numbers of choices."""
        first, *others = rules.T
        cover: Bits = self.bits[first]
        for choices in others:
            cover &= self.bits[choices]
        return cover

    def everybody(self) -> Bits:
        """Return all people as bits."""
        every = np.ones((1, len(self.cells)), dtype=np.bool_)
        return np.asarray(packed(every)[0])

    def sums(
        self,
        cover: Bits,
        first: int = 0,
        last: int | None = None,
        within: Bits | None = None,
        rows: Indices | None = None,
    ) -> Floats:
        """Return the sums over covers, a row for each sum.

        Parameters
        ----------
        first, last
            Which of the sums; by default all.
        within
            Some of the people, over whom alone is summed.
        rows
            Which of the covers; by default all.
        """
        whole = len(self.planes)
        numbers = range(whole + self.values.shape[1])[first:last]
        count = len(cover) if rows is None else len(rows)
        sums = np.empty((len(numbers), count))
        at_once = max(1, AT_ONCE // max(self.words, 1))
        for start in range(0, count, at_once):
            some = slice(start, start + at_once)
            part = cover[some] if rows is None else cover[rows[some]]
            if within is not None:
                part = part & within
            for place, number in enumerate(numbers):
                if number < whole:
                    sums[place, some] = _counted(part, self.planes[number])
            least = max(numbers[0], whole) if numbers else whole
            weights = self.values[:, least - whole : len(numbers) + first - whole]
            if weights.shape[1] and numbers[-1] >= whole:
                flags = unpacked(part, len(self.cells))
                sums[least - numbers[0] :, some] = (flags @ weights).T
        return sums


def packed(flags: Flags) -> Bits:
    """Return flags as rows of 64-bit words.

    >>> packed(np.array([[True, False, True]])).tolist()
    [[5]]
    """
    rows, columns = flags.shape
    words = -(-columns // _WORD)
    data = np.zeros((rows, words * 8), dtype=np.uint8)
    filled = np.packbits(flags, axis=1, bitorder="little")
    data[:, : filled.shape[1]] = filled
    return data.view(np.uint64)


def unpacked(bits: Bits, columns: int) -> Floats:
    """Return rows of words as flags, in numbers.

    >>> unpacked(np.array([[5]], dtype=np.uint64), 3).tolist()
    [[1.0, 0.0, 1.0]]
    """
    flags = np.unpackbits(bits.view(np.uint8), axis=1, count=columns, bitorder="little")
    return flags.astype(np.float64)


def _counted(cover: Bits, planes: Bits) -> Floats:
    """Return the sum of a count over covers, from the bits of each power of two."""
    total = np.zeros(len(cover))
    for power, plane in enumerate(planes):
        in_plane = np.bitwise_count(cover & plane).sum(axis=1, dtype=np.uint32)
        total += in_plane * float(1 << power)
    return total


def _planes(counts: NDArray[np.int64]) -> Bits:
    """Return the bits of counts, a row for each power of two."""
    powers = max(int(counts.max(initial=0)).bit_length(), 1)
    shifted = counts[None] >> np.arange(powers)[:, None]
    return packed((shifted & 1).astype(np.bool_))


def _whole_rows(totals: Floats) -> int:
    """Return how many of the first sums are whole numbers that can be split into bits."""
    for number, row in enumerate(totals):
        is_whole = (row == np.floor(row)) & (row >= 0) & (row < _LARGEST)
        if not is_whole.all():
            return number
    return len(totals)


def _splits_into_people(totals: Floats, counts: NDArray[np.int64]) -> bool:
    """Return whether bits for people are fewer than those for the counts of cells."""
    if len(counts) != len(totals) or len(totals) != 2:
        return False
    people, hits = counts
    if (hits > people).any():
        return False
    powers = sum(max(int(row.max(initial=0)).bit_length(), 1) for row in counts)
    return bool(2 * people.sum() <= powers * len(people))
