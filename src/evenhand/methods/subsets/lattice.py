"""The lattice of sets of features: what is known of each, what follows from it, and which set to
ask about next.

Scores never fall when features are added (Theorems 4.1 and 4.2), so a set at or over the limit
settles all its supersets and a set below it all its subsets. The next set to test is the one that,
by the scores seen so far, is expected to settle most others for what it takes; a wrong prediction
costs a test more, never a wrong answer.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from enum import IntEnum
from functools import cached_property
from typing import TYPE_CHECKING, Any

import numpy as np

from evenhand.runtime.errors import UsageError

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from numpy.typing import NDArray

    from evenhand.statistics.estimate import Estimate

MOST_FEATURES = 20
"""Features whose sets are all kept track of: a million."""
LISTED = 4096
"""Lattices up to this size are written down in full."""
AT_ONCE = 64
"""Sets that are considered before scores are predicted anew."""
DRAWS = 16
"""About how many draws it takes to settle a set that scores 0."""
SOON = 8
"""About how many variants are asked until one differs, where one does."""


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
SETTLED = {State.IMPLIED_ABOVE: State.ABOVE, State.IMPLIED_BELOW: State.BELOW}
"""The state that an implied one amounts to."""
TESTED = "tested"
"""Why a set is in its state, where its own score says so."""
WHY = {
    State.IMPLIED_ABOVE: "superset of a discriminating set",
    State.IMPLIED_BELOW: "subset of a cleared set",
    State.OPEN: "not tested",
}


@dataclass(frozen=True, slots=True)
class Tested:
    """What testing a set said; `because` where it follows from something else than its own score."""

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

    names: tuple[str, ...]
    depth: int | None = None
    states: NDArray[np.int8] = field(init=False, repr=False)
    tested: dict[int, Tested] = field(default_factory=dict, repr=False)

    def __post_init__(self) -> None:
        if len(self.names) > MOST_FEATURES:
            raise UsageError(
                f"{len(self.names)} features have {2 ** len(self.names) - 1:,} sets; choose at most"
                f" {MOST_FEATURES} of them with among=…"
            )
        whole = isinstance(self.depth, int) and not isinstance(self.depth, bool)
        if self.depth is not None and not (whole and self.depth >= 1):
            raise UsageError(
                f"depth = {self.depth!r} must be a whole number of 1 or more; None is no bound"
            )
        self.states = np.zeros(2 ** len(self.names), dtype=np.int8)

    @cached_property
    def masks(self) -> NDArray[np.int64]:
        """All sets, the empty one included."""
        return np.arange(len(self.states), dtype=np.int64)

    @cached_property
    def sizes(self) -> NDArray[np.int64]:
        """How many features each set has."""
        return np.asarray(np.bitwise_count(self.masks), dtype=np.int64)

    @cached_property
    def wanted(self) -> NDArray[np.bool_]:
        """Which sets are asked about: not the empty one, none over the depth."""
        return (self.sizes > 0) & (self.sizes <= self.deepest)

    @property
    def deepest(self) -> int:
        """The size of the largest sets that are asked about."""
        return min(self.depth or len(self.names), len(self.names))

    @property
    def total(self) -> int:
        """How many sets are asked about."""
        return int(self.wanted.sum())

    @property
    def open(self) -> NDArray[np.bool_]:
        """Which sets nothing is known of yet."""
        return np.asarray((self.states == State.OPEN) & self.wanted)

    def members(self, mask: int) -> tuple[str, ...]:
        """Return the features of a set."""
        return tuple(name for bit, name in enumerate(self.names) if mask >> bit & 1)

    def over(self, mask: int) -> NDArray[np.bool_]:
        """Tell which sets hold this one."""
        return np.asarray((self.masks & mask) == mask)

    def under(self, mask: int) -> NDArray[np.bool_]:
        """Tell which sets this one holds."""
        return np.asarray((self.masks & ~mask) == 0)

    def mark(self, mask: int, state: State) -> None:
        """Note what is known of a set, and what follows from it."""
        unsettled = (
            np.isin(self.states, (State.OPEN, State.UNDECIDED, State.NOT_SHOWN)) & self.wanted
        )
        if state is State.ABOVE:
            self.states[(unsettled | (self.states == State.ABOVE)) & self.over(mask)] = (
                State.IMPLIED_ABOVE
            )
        elif state is State.BELOW:
            self.states[unsettled & self.under(mask)] = State.IMPLIED_BELOW
        self.states[mask] = state

    def add(self, mask: int, found: Tested) -> None:
        """Note a tested set."""
        self.tested[mask] = found
        self.mark(mask, found.state)

    def settle(self, mask: int, found: Tested) -> None:
        """Note a tested set whose subsets are known, as the paper does: of a set below the limit
        nothing follows.
        """
        self.tested[mask] = found
        if found.state is State.ABOVE:
            self.mark(mask, found.state)
        else:
            self.states[mask] = found.state

    def minimal(self) -> list[int]:
        """Return the sets over the limit none of whose subsets is known to be."""
        return self._edge(State.ABOVE, inner=True)

    def maximal(self, state: State) -> list[int]:
        """Return the sets in a state that no other of them holds."""
        return self._edge(state, inner=False)

    def _edge(self, state: State, *, inner: bool) -> list[int]:
        found: list[int] = []
        masks: list[int] = np.flatnonzero(self.states == state).tolist()
        for mask in sorted(masks, key=lambda mask: (mask.bit_count() * (1 if inner else -1), mask)):
            kept = (other & mask == other if inner else other & mask == mask for other in found)
            if not any(kept):
                found.append(mask)
        return found

    def levels(self) -> list[dict[str, int]]:
        """Return how many sets of each size are in each state."""
        rows = []
        for size in range(1, self.deepest + 1):
            mine = self.states[self.wanted & (self.sizes == size)]
            rows.append(
                {"size": size} | {word: int((mine == state).sum()) for state, word in WORDS.items()}
            )
        return rows

    def count(self, *states: State) -> int:
        """Return how many sets are in any of these states."""
        return int((np.isin(self.states, states) & self.wanted).sum())

    def to_dict(self) -> list[dict[str, Any]]:
        """Return the sets as JSON holds them: all of a small lattice, else those that were tested."""
        masks: list[int] = (
            np.flatnonzero(self.wanted).tolist() if self.total <= LISTED else list(self.tested)
        )
        minimal, maximal = self.minimal(), self.maximal(State.BELOW)
        found = []
        for mask in sorted(masks, key=lambda mask: (mask.bit_count(), mask)):
            state = State(int(self.states[mask]))
            source = None
            if state is State.IMPLIED_ABOVE:
                source = next(one for one in minimal if one & mask == one)
            elif state is State.IMPLIED_BELOW:
                source = next(one for one in maximal if one & mask == mask)
            found.append(self._entry(mask, state, source))
        return found

    def _entry(self, mask: int, state: State, source: int | None) -> dict[str, Any]:
        found = self.tested.get(mask)
        entry: dict[str, Any] = {
            "about": list(self.members(mask)),
            "state": WORDS[SETTLED.get(state, state)],
            "because": WHY.get(state) or (TESTED if found is None else found.because),
            "of": None if source is None else list(self.members(source)),
        }
        if found is None or found.estimate.n == 0:
            return entry | {"value": None, "low": None, "high": None, "n": 0}
        estimate = found.estimate
        return entry | {
            "value": estimate.value,
            "low": estimate.low,
            "high": estimate.high,
            "n": estimate.n,
        }


@dataclass
class Border:
    """Predicts scores from those seen so far, and says which sets to test to find the border
    between the two sides.

    A set's score is predicted as if its features acted independently, 1 - prod(1 - p_j) **
    strength, within what its tested subsets and supersets scored; the strength is learnt.
    """

    lattice: Lattice
    limit: float
    margin: float
    """How near to the limit sets stay undecided; 0 where scores are exact, and every set takes the
    same.
    """
    varieties: Sequence[float]
    """How many values each feature has."""
    most: float
    """How many variants a set may have to be shown to be below the limit."""
    _singles: dict[int, float] = field(default_factory=dict)
    _ratios: list[float] = field(default_factory=list)
    _guesses: dict[int, float] = field(default_factory=dict)

    def __post_init__(self) -> None:
        size = len(self.lattice.states)
        self._floor, self._ceiling = np.zeros(size), np.ones(size)

    @cached_property
    def costs(self) -> NDArray[np.float64]:
        """How many variants each set has."""
        found = np.ones(1)
        for variety in self.varieties:
            found = np.concatenate([found, found * variety])
        return found

    def learn(self, mask: int, value: float) -> None:
        """Take a set's score into account."""
        over, under = self.lattice.over(mask), self.lattice.under(mask)
        self._floor[over] = np.maximum(self._floor[over], value)
        self._ceiling[under] = np.minimum(self._ceiling[under], value)
        if mask.bit_count() == 1:
            self._singles[mask] = value
        elif 0 < value < 1 and (alone := self._weight(mask)) > 0:
            self._ratios.append(-np.log1p(-value) / alone)

    def guess(self, guesses: Mapping[int, float]) -> None:
        """Take first glances at sets into account, which say nothing of others."""
        self._guesses.update(guesses)

    def _weight(self, mask: int) -> float:
        singles = (
            self._singles.get(1 << bit, 0.0)
            for bit in range(len(self.lattice.names))
            if mask >> bit & 1
        )
        return float(sum(-np.log1p(-min(value, 0.999)) for value in singles))

    def predicted(self) -> NDArray[np.float64]:
        """Return the predicted score of every set."""
        weight = np.zeros(1)
        for bit in range(len(self.lattice.names)):
            alone = -np.log1p(-min(self._singles.get(1 << bit, self.limit / 2), 0.999))
            weight = np.concatenate([weight, weight + alone])
        strength = float(np.median(self._ratios[-64:])) if self._ratios else 1.0
        found = -np.expm1(-weight * strength)
        found[list(self._guesses)] = list(self._guesses.values())
        return np.asarray(np.clip(found, self._floor, np.maximum(self._ceiling, self._floor)))

    def batch(self) -> list[int]:
        """Return open sets, those first that are expected to settle most for what they take; single
        features first.
        """
        is_open = self.lattice.open
        singles = [1 << bit for bit in range(len(self.lattice.names)) if is_open[1 << bit]]
        unseen = [mask for mask in singles if mask not in self._singles]
        if unseen or not is_open.any():
            return unseen
        predicted = self.predicted()
        above = predicted >= self.limit
        # A set with too many variants cannot be cleared; it comes last, as others may settle it
        # first.
        settled = np.where(above, self._sums(is_open, over=True), self._sums(is_open, over=False))
        settled = np.where(above | (self.costs <= self.most), settled, 1e-9)
        chosen = np.flatnonzero(is_open)
        worth = settled[chosen]
        if self.margin:
            # Next to the limit a set is likely to stay undecided, and then settles nothing.
            chance = (
                np.clip(np.abs(predicted[chosen] - self.limit) / (2 * self.margin), 0.01, 1.0) ** 2
            )
            worth = worth * chance / self._effort(predicted[chosen], self.costs[chosen])
        order = np.lexsort((chosen, -worth))
        return [int(mask) for mask in chosen[order][:AT_ONCE]]

    def _effort(
        self, predicted: NDArray[np.float64], costs: NDArray[np.float64]
    ) -> NDArray[np.float64]:
        """Return about how many inputs it takes to tell scores from the limit."""
        apart = np.maximum(np.abs(predicted - self.limit), self.margin)
        draws = DRAWS + DRAWS * 2 * predicted * (1 - predicted) / apart**2
        return np.asarray(
            draws * ((1 - predicted) * np.minimum(costs, self.most) + SOON * predicted)
        )

    def _sums(self, sets: NDArray[np.bool_], *, over: bool) -> NDArray[np.float64]:
        """Return for each set how many of some sets hold it, or are held by it."""
        found = sets.astype(np.float64)
        for bit in range(len(self.lattice.names)):
            halves = found.reshape(-1, 2, 1 << bit)
            if over:
                halves[:, 0] += halves[:, 1]
            else:
                halves[:, 1] += halves[:, 0]
        return found
