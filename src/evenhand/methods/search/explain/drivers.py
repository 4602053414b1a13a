"""Drivers: which other features a discrimination rests on, by the subject's own answers to changed
inputs.

Inputs that a search found are changed in one feature at a time and their pair is asked again. The
share of changes that end the discrimination speaks of the inputs that were found, with the values
drawn: it is no rate of any population.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np

from evenhand.results.evidence import Case
from evenhand.runtime.random_streams import stream
from evenhand.scores.twins import case_of
from evenhand.statistics import intervals
from evenhand.statistics.estimate import Estimate

if TYPE_CHECKING:
    from collections.abc import Mapping

    from numpy.typing import NDArray

    from evenhand.methods.search.probe import Probe, Tried
    from evenhand.space.feature import Feature, Label, Points

POPULATION = "inputs found by the search, one other value drawn for each"
_TRIES = 32
"""How often another value is drawn where constraints refuse it, before an input is left out."""


@dataclass(frozen=True, slots=True)
class Change:
    """A change of one feature that ended a discrimination: the value before and after, and the pair
    as it is after.
    """

    before: Label
    after: Label
    pair: Case

    def to_dict(self) -> dict[str, Any]:
        """Return the change as JSON holds it."""
        return {"before": self.before, "after": self.after, "pair": self.pair.to_dict()}

    @classmethod
    def from_dict(cls, table: Mapping[str, Any]) -> Change:
        """Rebuild a change from `to_dict`."""
        return cls(table["before"], table["after"], Case.from_dict(table["pair"]))


@dataclass(frozen=True, slots=True)
class Driver:
    """A feature, the share of changes of it that ended a discrimination, and the smallest such
    change that was seen.
    """

    feature: str
    estimate: Estimate
    example: Change | None = None

    def to_dict(self) -> dict[str, Any]:
        """Return the driver as JSON holds it."""
        found = {"feature": self.feature, "estimate": self.estimate.to_dict()}
        return found if self.example is None else found | {"example": self.example.to_dict()}

    @classmethod
    def from_dict(cls, table: Mapping[str, Any]) -> Driver:
        """Rebuild a driver from `to_dict`."""
        example = Change.from_dict(table["example"]) if "example" in table else None
        return cls(str(table["feature"]), Estimate.from_dict(table["estimate"]), example)

    def __str__(self) -> str:
        said = (
            ""
            if self.example is None
            else f", as {self.example.before} → {self.example.after} does"
        )
        return f"changing {self.feature} ends it in {self.estimate}{said}"


def drivers(
    probe: Probe,
    points: Points,
    pairs: NDArray[np.intp],
    seed: int,
    queries: int,
    *,
    level: float = 0.95,
) -> tuple[list[Driver], int]:
    """Return how often a change of each free feature ends the discrimination, most often first, and
    the inputs asked.

    For each feature, inputs are drawn from those found, with replacement, and given another of the
    feature's values, all as likely, that leaves both of the pair valid. All features are asked
    about at once, two inputs for each change. The exact intervals hold together with probability
    `level`. The share is about the inputs found, never a rate.

    Parameters
    ----------
    points, pairs
        The inputs found, and of each the two assignments whose outcomes differ.

    Examples
    --------
    >>> from evenhand.space.feature import category, integer
    >>> from evenhand.methods.search.probe import Probe
    >>> from evenhand.space.space import Space
    >>> from evenhand.subject.subject import Subject
    >>> from evenhand.subject.view import View
    >>> space = Space([category("sex", ["F", "M"]), integer("age", 1, 10), integer("shoe", 36, 48)])
    >>> loan = Subject(lambda people: (people["age"] > 9) & (people["sex"] == "M"), space)
    >>> probe, found = Probe(View(loan), ("sex",)), space.encode([{"sex": "F", "age": 10, "shoe": 40}])
    >>> [(driver.feature, driver.estimate.value) for driver in drivers(probe, found, np.array([[0, 1]]), 0, 100)[0]]
    [('age', 1.0), ('shoe', 0.0)]
    """
    features = [position for position in probe.free if probe.space.features[position].size > 1]
    draws = queries // 2 // max(len(features), 1)
    if draws < 1 or not len(points) or not features:
        return [], 0
    rng = stream(seed, "drivers")
    chosen = rng.integers(0, len(points), len(features) * draws)
    starts: Points = np.asfortranarray(points[chosen])
    changed = starts.copy(order="F")
    possible = np.ones(len(starts), dtype=np.bool_)
    for at, position in enumerate(features):
        rows = slice(at * draws, (at + 1) * draws)
        possible[rows] = _redraw(probe, changed[rows], pairs[chosen[rows]], position, rng)
    kept = np.flatnonzero(possible)
    tried = probe.ask(np.asfortranarray(changed[kept]), pairs[chosen[kept]])
    which = kept // draws
    ended = np.bincount(which[~tried.hits], minlength=len(features))
    sizes = np.bincount(which, minlength=len(features))
    # The same inputs found are drawn for all features, so no independence is claimed.
    low, high = intervals.clopper_pearson(ended, sizes, 1 - (1 - level) / len(features))
    method = f"exact, simultaneous over {len(features)} features" if len(features) > 1 else "exact"
    made = []
    for at, position in enumerate(features):
        value = float(ended[at] / sizes[at]) if sizes[at] else math.nan
        estimate = Estimate(
            value, float(low[at]), float(high[at]), int(sizes[at]), level, method, POPULATION
        )
        ends = np.flatnonzero((which == at) & ~tried.hits)
        example = _smallest(probe, starts[kept], tried, ends, position) if len(ends) else None
        made.append(Driver(probe.space.names[position], estimate, example))
    made.sort(key=lambda driver: -driver.estimate.value if driver.estimate.n else 1.0)
    return made, int(tried.asked.sum())


def _redraw(
    probe: Probe, points: Points, pairs: NDArray[np.intp], position: int, rng: np.random.Generator
) -> NDArray[np.bool_]:
    """Give each point another value of one feature, in place, and tell for which there was a valid
    one.
    """
    feature, own = probe.space.features[position], points[:, position].copy()
    left = np.arange(len(points))
    for _ in range(_TRIES):
        points[left, position] = _another(feature, own[left], rng)
        left = left[~probe.valid(points[left], pairs[left])]
        if not len(left):
            break
    done = np.ones(len(points), dtype=np.bool_)
    done[left] = False
    return done


def _another(
    feature: Feature, own: NDArray[np.float64], rng: np.random.Generator
) -> NDArray[np.float64]:
    """Draw a value of the feature for each of these, uniform over all others."""
    found = np.empty(len(own))
    if math.isinf(feature.size):
        feature.draw(len(own), rng, found)
        return found
    step = float(feature.step or 1.0) if feature.kind != "category" else 1.0
    low = float(feature.low) if feature.kind != "category" else 0.0
    place, size = np.round((own - low) / step), int(feature.size)
    other = (place + rng.integers(1, size, len(own))) % size
    return feature.snap(low + other * step)


def _smallest(
    probe: Probe, starts: Points, tried: Tried, rows: NDArray[np.intp], position: int
) -> Change:
    """Return the change of a number by the least, or the first of a category."""
    feature = probe.space.features[position]
    before, after = starts[rows, position], tried.points[rows, position]
    at = 0 if feature.kind == "category" else int(np.argmin(np.abs(after - before)))
    row = rows[at : at + 1]
    individual, twin = (
        probe.member(tried.points[row], tried.assigned[side, row])[0] for side in (0, 1)
    )
    pair = case_of(
        probe.space, individual, twin, (tried.outcomes[0, row[0]], tried.outcomes[1, row[0]])
    )
    was, now = feature.labels(np.array([before[at], after[at]]))
    return Change(was, now, pair)
