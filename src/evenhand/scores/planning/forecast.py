"""Forecast: what a check is going to take, and the smallest difference that it can see."""

from __future__ import annotations

import math
from dataclasses import asdict, dataclass, replace
from enum import StrEnum
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

    from evenhand.population.source import Source
    from evenhand.runtime.budget import Budget


class Way(StrEnum):
    """How a check comes to its answer, as readers see it."""

    ENUMERATED = "every input"
    ROWS = "all rows"
    TEXTS = "all texts"
    DRAWN = "drawn"
    SEARCHED = "searched"
    COUNTED = "counted"
    UNKNOWN = "not foreseen"


@dataclass(frozen=True, slots=True)
class Scenario:
    """How many inputs are taken where the score is so."""

    score: float
    inputs: int


@dataclass(frozen=True, slots=True)
class Detectable:
    """The smallest difference of one group from all others that is very likely seen."""

    about: str
    """The groups that are compared."""
    group: str
    """The group that may differ: the one for which it is hardest to see."""
    n: int
    """How many rows it has."""
    of: int
    """How many rows there are."""
    base: float
    """The rate of everybody else."""
    rate: float | None
    """The rate of the group nearest to theirs at which that is seen; None where none is."""
    limit: float | None = None
    """What the difference, or the ratio, is held against; None where any is to be seen."""

    @property
    def difference(self) -> float | None:
        """How far apart the rates are then."""
        return None if self.rate is None else abs(self.rate - self.base)


@dataclass(frozen=True, slots=True)
class Forecast:
    """What one question of a check is going to take."""

    about: str
    way: Way
    inputs: int | None = None
    """How many inputs are expected to be asked; None where that is not known."""
    most: int | None = None
    """The most that are asked; None where nothing is known to end it before."""
    scenarios: tuple[Scenario, ...] = ()
    detectable: tuple[Detectable, ...] = ()

    def changed(
        self, expected: Callable[[int, float], int], most: Callable[[int], int]
    ) -> Forecast:
        """Return a forecast with other numbers of inputs.

        `expected` is given a number of inputs and the score at which they are taken, `most` the
        largest number.
        """
        inputs = None if self.inputs is None else expected(self.inputs, 0.0)
        scenarios = []
        for case in self.scenarios:
            changed = expected(case.inputs, case.score)
            scenarios.append(Scenario(case.score, changed))
            if case.inputs == self.inputs:
                inputs = changed
        largest = None if self.most is None else most(self.most)
        return replace(self, inputs=inputs, most=largest, scenarios=tuple(scenarios))

    def to_dict(self) -> dict[str, Any]:
        """Return the forecast as JSON holds it."""
        table = asdict(self)
        for entry, seen in zip(table["detectable"], self.detectable, strict=True):
            entry["difference"] = seen.difference
        return table


@dataclass(frozen=True, slots=True)
class Ground:
    """What a forecast is made from."""

    subject: Any
    """The software, or the dataframe of recorded decisions."""
    source: Source | None
    budget: Budget
    seed: int = 0
    base: float | None = None
    """How often the software gave the favourable outcome when its speed was measured."""

    @property
    def left(self) -> float:
        """How many inputs may be asked."""
        return math.inf if self.budget.queries is None else self.budget.queries


def with_overhead(parts: Sequence[Forecast], inputs: int) -> list[Forecast]:
    """Return forecasts of which the first has some more inputs, which are asked before it."""
    first, *others = parts
    if first.inputs is not None:
        first = replace(first, inputs=first.inputs + inputs)
    if first.most is not None:
        first = replace(first, most=first.most + inputs)
    return [first, *others]


def within(parts: Sequence[Forecast], left: float) -> list[Forecast]:
    """Return forecasts that do not go over a budget, which is shared out evenly.

    >>> within([Forecast("sex", Way.DRAWN, 900), Forecast("race", Way.DRAWN, 20)], 1_000)[0].inputs
    500
    """
    if math.isinf(left):
        return list(parts)
    share = max(1, int(left) // len(parts))
    bounded = []
    for part in parts:
        expected = None if part.inputs is None else min(part.inputs, share)
        most = share if part.most is None else min(part.most, share)
        bounded.append(replace(part, inputs=expected, most=most))
    return bounded
