"""The lattice of sets of features: what is known of each, and what follows from it.

Scores never fall when features are added (Themis, Theorems 4.1 and 4.2), so a set at or over the
limit settles all its supersets and a set below it all its subsets.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from enum import IntEnum
from functools import cached_property
from typing import TYPE_CHECKING, Any

import numpy as np

from evenhand.methods.subsets import messages
from evenhand.runtime.errors import UsageError
from evenhand.space.feature import count

if TYPE_CHECKING:
    from collections.abc import Collection, Iterable

    from numpy.typing import NDArray

    from evenhand.methods.subsets.evaluators.arrays import Flags, Known, Names
    from evenhand.statistics.estimate import Estimate

MOST_FEATURES = 20
"""Features whose sets are all kept track of: a million."""
LISTED = 4096
"""Lattices up to this size are written down in full."""


class State(IntEnum):
    """What is known of a set."""

    OPEN = 0
    ABOVE = 1
    IMPLIED_ABOVE = 2
    BELOW = 3
    IMPLIED_BELOW = 4
    UNDECIDED = 5
    NOT_SHOWN = 6


WORDS = {
    State.OPEN: "not tested",
    State.ABOVE: "discriminating",
    State.IMPLIED_ABOVE: "implied discriminating",
    State.BELOW: "cleared",
    State.IMPLIED_BELOW: "implied cleared",
    State.UNDECIDED: "undecided",
    State.NOT_SHOWN: "not shown",
}
SETTLED = {
    State.IMPLIED_ABOVE: State.ABOVE,
    State.IMPLIED_BELOW: State.BELOW,
}
"""The state that an implied one amounts to."""
TESTED = "tested"
"""Why a set is in its state, where its own score says so."""
WHY = {
    State.IMPLIED_ABOVE: messages.SUPERSET_OF_DISCRIMINATING,
    State.IMPLIED_BELOW: messages.SUBSET_OF_CLEARED,
    State.OPEN: "not tested",
}


@dataclass(frozen=True, slots=True)
class TestedSet:
    """What a test said of a set; `because` where that follows not from its own score."""

    state: State
    estimate: Estimate
    because: str = TESTED
    shown: Any = None
    """What the evaluator keeps of it, to write the finding."""
    lower_bound: bool = False
    """Whether the score is at least what was found, since not all variants were tried."""


@dataclass
class Lattice:
    """The sets of some features, as bit masks: bit j stands for feature j.

    >>> lattice = Lattice(("sex", "race", "age"))
    >>> lattice.mark(0b001, State.ABOVE)
    >>> lattice.mark(0b110, State.BELOW)
    >>> bool(lattice.open.any()), lattice.minimal()
    (False, [1])
    """

    names: Names
    depth: int | None = None
    states: Known = field(init=False, repr=False)
    tested: dict[int, TestedSet] = field(default_factory=dict, repr=False)

    def __post_init__(self) -> None:
        features = len(self.names)
        if features > MOST_FEATURES:
            sets = count(2**features - 1)
            raise UsageError(
                messages.TOO_MANY_FEATURES.format(
                    features=features, sets=sets, most=MOST_FEATURES
                )
            )
        is_whole = isinstance(self.depth, int) and not isinstance(self.depth, bool)
        if self.depth is not None and not (is_whole and self.depth >= 1):
            raise UsageError(messages.DEPTH_NOT_WHOLE.format(depth=repr(self.depth)))
        self.states = np.zeros(2**features, dtype=np.int8)

    @cached_property
    def masks(self) -> NDArray[np.int64]:
        """All sets, the empty one included."""
        return np.arange(len(self.states), dtype=np.int64)

    @cached_property
    def sizes(self) -> NDArray[np.int64]:
        """How many features each set has."""
        sizes = np.bitwise_count(self.masks)
        return np.asarray(sizes, dtype=np.int64)

    @cached_property
    def wanted(self) -> Flags:
        """Which sets are asked about: not the empty one, none over the depth."""
        return (self.sizes > 0) & (self.sizes <= self.deepest)

    @property
    def deepest(self) -> int:
        """The size of the largest sets that are asked about."""
        features = len(self.names)
        return min(self.depth or features, features)

    @property
    def total(self) -> int:
        """How many sets are asked about."""
        return int(self.wanted.sum())

    @property
    def open(self) -> Flags:
        """Which sets nothing is known of yet."""
        is_open = self.states == State.OPEN
        return np.asarray(is_open & self.wanted)

    def members(self, mask: int) -> Names:
        """Return the features of a set."""
        numbered = enumerate(self.names)
        return tuple(name for bit, name in numbered if mask >> bit & 1)

    def over(self, mask: int) -> Flags:
        """Return which sets contain this one."""
        return np.asarray((self.masks & mask) == mask)

    def under(self, mask: int) -> Flags:
        """Return which sets are contained in this one."""
        return np.asarray((self.masks & ~mask) == 0)

    def mark(self, mask: int, state: State) -> None:
        """Note what is known of a set, and what follows from it."""
        unsettled_states = (State.OPEN, State.UNDECIDED, State.NOT_SHOWN)
        unsettled = np.isin(self.states, unsettled_states) & self.wanted
        if state is State.ABOVE:
            # Larger sets that were found over the limit before are no longer minimal.
            unsettled |= self.states == State.ABOVE
            supersets = unsettled & self.over(mask)
            self.states[supersets] = State.IMPLIED_ABOVE
        elif state is State.BELOW:
            subsets = unsettled & self.under(mask)
            self.states[subsets] = State.IMPLIED_BELOW
        self.states[mask] = state

    def add(self, mask: int, tested: TestedSet) -> None:
        """Note a tested set."""
        self.tested[mask] = tested
        self.mark(mask, tested.state)

    def reopen(self, given_up: Collection[int] = ()) -> bool:
        """Open the undecided sets again, to be asked on about, and return whether there are any."""
        undecided = [
            mask for mask in self._in_state(State.UNDECIDED) if mask not in given_up
        ]
        self.states[undecided] = State.OPEN
        return bool(undecided)

    def restore(self) -> None:
        """Leave sets undecided again that were opened for nothing."""
        for mask, tested in self.tested.items():
            if self.states[mask] == State.OPEN:
                self.states[mask] = tested.state

    def settle(self, mask: int, tested: TestedSet) -> None:
        """Note a tested set whose subsets are known: if it is below the limit, nothing follows.

        The paper prunes supersets of discriminating sets only (Themis, Algorithm 3, lines 5-10).
        """
        self.tested[mask] = tested
        if tested.state is State.ABOVE:
            self.mark(mask, tested.state)
        else:
            self.states[mask] = tested.state

    def minimal(self) -> list[int]:
        """Return the sets over the limit none of whose subsets is known to be."""
        found: list[int] = []
        for mask in sorted(self._in_state(State.ABOVE), key=_size_and_mask):
            contains_another = any(other & mask == other for other in found)
            if not contains_another:
                found.append(mask)
        return found

    def maximal(self, state: State) -> list[int]:
        """Return the sets in a state that no other set in it contains."""
        found: list[int] = []
        masks = self._in_state(state)
        masks.sort(key=lambda mask: (-mask.bit_count(), mask))
        for mask in masks:
            is_contained = any(other & mask == mask for other in found)
            if not is_contained:
                found.append(mask)
        return found

    def _in_state(self, state: State) -> list[int]:
        in_state = self.states == state
        masks: list[int] = np.flatnonzero(in_state).tolist()
        return masks

    def levels(self) -> list[dict[str, int]]:
        """Return how many sets of each size are in each state."""
        rows = []
        for size in range(1, self.deepest + 1):
            of_size = self.wanted & (self.sizes == size)
            states = self.states[of_size]
            row = {"size": size}
            for state, word in WORDS.items():
                row[word] = int((states == state).sum())
            rows.append(row)
        return rows

    def count(self, *states: State) -> int:
        """Return how many sets are in any of these states."""
        in_states = np.isin(self.states, states)
        return int((in_states & self.wanted).sum())

    def to_dict(self) -> list[dict[str, Any]]:
        """Return the sets as JSON holds them: all of a small lattice, else the tested ones."""
        masks: Iterable[int] = self.tested
        if self.total <= LISTED:
            masks = np.flatnonzero(self.wanted).tolist()
        minimal = self.minimal()
        maximal = self.maximal(State.BELOW)
        entries = []
        for mask in sorted(masks, key=_size_and_mask):
            state = State(int(self.states[mask]))
            source = None
            if state is State.IMPLIED_ABOVE:
                source = next(other for other in minimal if other & mask == other)
            elif state is State.IMPLIED_BELOW:
                source = next(other for other in maximal if other & mask == mask)
            entries.append(self._entry(mask, state, source))
        return entries

    def _entry(self, mask: int, state: State, source: int | None) -> dict[str, Any]:
        """Return a set as JSON holds it; `source` is the set that its state follows from."""
        tested = self.tested.get(mask)
        why_tested = TESTED if tested is None else tested.because
        entry: dict[str, Any] = {
            "about": list(self.members(mask)),
            "state": WORDS[SETTLED.get(state, state)],
            "because": WHY.get(state, why_tested),
            "of": None,
            "value": None,
            "low": None,
            "high": None,
            "n": 0,
        }
        if source is not None:
            entry["of"] = list(self.members(source))
        if tested is not None and tested.estimate.n:
            entry["value"] = tested.estimate.value
            entry["low"] = tested.estimate.low
            entry["high"] = tested.estimate.high
            entry["n"] = tested.estimate.n
        return entry


def _size_and_mask(mask: int) -> tuple[int, int]:
    """Return what sets are sorted by: smaller ones first, then in the order of the features."""
    return mask.bit_count(), mask
