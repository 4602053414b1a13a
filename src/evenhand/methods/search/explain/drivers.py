"""Drivers: which other features a discrimination rests on.

Inputs that a search found are changed in one feature at a time and their pair is asked again. The
share of changes that end the discrimination speaks of the inputs that were found, with the values
drawn: it is not a rate of any population.
"""

from __future__ import annotations

import math
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

import numpy as np

from evenhand.methods.search import messages
from evenhand.results.evidence import Case
from evenhand.runtime.label_text import Words, shown
from evenhand.runtime.random_streams import stream
from evenhand.scores.twins import case_of
from evenhand.statistics import intervals
from evenhand.statistics.estimate import Estimate

if TYPE_CHECKING:
    from collections.abc import Mapping

    from evenhand.methods.search.arrays import Flags, Generator, Indices, Numbers
    from evenhand.methods.search.probe import Probe, Tried
    from evenhand.space.feature import Feature, Label, Points

_TRIES = 32
"""How often another value is drawn where constraints refuse it, before an input is left out."""


@dataclass(frozen=True, slots=True)
class EndingChange:
    """A change of one feature that ended a discrimination."""

    before: Label
    after: Label
    pair: Case
    """The pair as it is after the change."""
    words: Words = field(default_factory=dict, compare=False, repr=False)
    """What people call the values of the feature."""

    def to_dict(self) -> dict[str, Any]:
        """Return the change as JSON holds it."""
        table: dict[str, Any] = {
            "before": self.before,
            "after": self.after,
            "pair": self.pair.to_dict(),
        }
        if self.words:
            table["labels"] = dict(self.words)
        return table

    @classmethod
    def from_dict(cls, table: Mapping[str, Any]) -> EndingChange:
        """Rebuild a change from `to_dict`."""
        pair = Case.from_dict(table["pair"])
        return cls(table["before"], table["after"], pair, table.get("labels", {}))


@dataclass(frozen=True, slots=True)
class Driver:
    """A feature, and how often another value of it ends a discrimination."""

    feature: str
    estimate: Estimate
    """The share of changes that ended a discrimination."""
    example: EndingChange | None = None
    """The smallest such change that was seen."""

    def to_dict(self) -> dict[str, Any]:
        """Return the driver as JSON holds it."""
        table: dict[str, Any] = {
            "feature": self.feature,
            "estimate": self.estimate.to_dict(),
        }
        if self.example is not None:
            table["example"] = self.example.to_dict()
        return table

    @classmethod
    def from_dict(cls, table: Mapping[str, Any]) -> Driver:
        """Rebuild a driver from `to_dict`."""
        example = None
        if "example" in table:
            example = EndingChange.from_dict(table["example"])
        estimate = Estimate.from_dict(table["estimate"])
        return cls(str(table["feature"]), estimate, example)

    def __str__(self) -> str:
        if self.example is None:
            return messages.DRIVER.format(feature=self.feature, estimate=self.estimate)
        return messages.DRIVER_WITH_EXAMPLE.format(
            feature=self.feature,
            estimate=self.estimate,
            before=shown(self.example.before, self.example.words),
            after=shown(self.example.after, self.example.words),
        )


@dataclass(frozen=True, slots=True)
class _Changes:
    """Inputs found that were changed in one feature each, and what came of that."""

    starts: Points
    """The inputs before."""
    which: Indices
    """The feature of each change, as a place among those tried."""
    tried: Tried


def drivers(
    probe: Probe,
    points: Points,
    pairs: Indices,
    seed: int,
    queries: int,
    *,
    positions: tuple[int, ...] | None = None,
    level: float = 0.95,
) -> tuple[list[Driver], int]:
    """Return how often a change of each feature ends the discrimination, most often first.

    The second value is how many inputs were asked for that. For each feature, inputs are drawn from
    those found, with replacement, and given another of the feature's values, all as likely, that
    leaves both of the pair valid. All features are asked about at once, two inputs for each change.
    The exact intervals hold together with probability `level`. The share is about the inputs found,
    never a rate.

    Parameters
    ----------
    points, pairs
        The inputs found, and of each the two assignments whose outcomes differ.
    positions
        The features to change, by default all that are free.

    Examples
    --------
    >>> from evenhand.space.feature import category, integer
    >>> from evenhand.methods.search.probe import Probe
    >>> from evenhand.space.space import Space
    >>> from evenhand.subject.subject import Subject
    >>> from evenhand.subject.view import View
    >>> numbers = [integer("age", 1, 10), integer("shoe", 36, 48)]
    >>> space = Space([category("sex", ["F", "M"]), *numbers])
    >>> loan = Subject(lambda people: (people["age"] > 9) & (people["sex"] == "M"), space)
    >>> probe = Probe(View(loan), ("sex",))
    >>> found = space.encode([{"sex": "F", "age": 10, "shoe": 40}])
    >>> why, asked = drivers(probe, found, np.array([[0, 1]]), 0, 100)
    >>> [(driver.feature, driver.estimate.value) for driver in why]
    [('age', 1.0), ('shoe', 0.0)]
    """
    features = [
        position
        for position in (probe.free if positions is None else positions)
        if probe.space.features[position].size_with_missing > 1
    ]
    draws = queries // 2 // max(len(features), 1)
    if draws < 1 or not len(points) or not features:
        return [], 0
    changes = _changed(probe, points, pairs, features, draws, stream(seed, "drivers"))
    tried = changes.tried
    ended = np.bincount(changes.which[~tried.hits], minlength=len(features))
    sizes = np.bincount(changes.which, minlength=len(features))
    # The same inputs found are drawn for all features, so no independence is claimed: Bonferroni.
    level_of_each = 1 - (1 - level) / len(features)
    low, high = intervals.clopper_pearson(ended, sizes, level_of_each)
    method = "exact"
    if len(features) > 1:
        method = messages.SIMULTANEOUS_OVER_FEATURES.format(features=len(features))
    found = []
    for at, position in enumerate(features):
        share = math.nan
        if sizes[at]:
            share = float(ended[at] / sizes[at])
        estimate = Estimate(
            share,
            float(low[at]),
            float(high[at]),
            int(sizes[at]),
            level,
            method,
            messages.INPUTS_FOUND,
            descriptive=True,
        )
        ends = np.flatnonzero((changes.which == at) & ~tried.hits)
        example = _smallest(probe, changes, ends, position) if len(ends) else None
        found.append(Driver(probe.space.names[position], estimate, example))
    # What could not be changed comes last.
    found.sort(key=lambda driver: -driver.estimate.value if driver.estimate.n else 1.0)
    return found, int(tried.asked.sum())


def _changed(
    probe: Probe,
    points: Points,
    pairs: Indices,
    features: list[int],
    draws: int,
    rng: Generator,
) -> _Changes:
    """Draw inputs for each feature, give them another value of it, and ask them."""
    chosen = rng.integers(0, len(points), len(features) * draws)
    starts: Points = np.asfortranarray(points[chosen])
    changed = starts.copy(order="F")
    possible = np.ones(len(starts), dtype=np.bool_)
    for at, position in enumerate(features):
        rows = slice(at * draws, (at + 1) * draws)
        own_pairs = pairs[chosen[rows]]
        possible[rows] = _redraw(probe, changed[rows], own_pairs, position, rng)
    kept = np.flatnonzero(possible)
    kept_pairs = pairs[chosen[kept]]
    tried = probe.ask(np.asfortranarray(changed[kept]), kept_pairs)
    return _Changes(starts=starts[kept], which=kept // draws, tried=tried)


def _redraw(
    probe: Probe,
    points: Points,
    pairs: Indices,
    position: int,
    rng: Generator,
) -> Flags:
    """Give each point another value of one feature, in place.

    Returns for which of them there was a valid one.
    """
    feature = probe.space.features[position]
    own = points[:, position].copy()
    left = np.arange(len(points))
    for _ in range(_TRIES):
        points[left, position] = _another(feature, own[left], rng)
        left = left[~probe.valid(points[left], pairs[left])]
        if not len(left):
            break
    done = np.ones(len(points), dtype=np.bool_)
    done[left] = False
    return done


def _another(feature: Feature, own: Numbers, rng: Generator) -> Numbers:
    """Draw a value of the feature for each of these, uniform over all others.

    A missing value is one of them.
    """
    if math.isinf(feature.size):
        found = np.empty(len(own))
        feature.draw(len(own), rng, found)
        return found
    low = 0.0
    step = 1.0
    if feature.kind != "category":
        low = float(feature.low)
        step = float(feature.step or 1.0)
        # The code of a missing number lies one step under the first.
        low -= step * bool(feature.missing)
    size = int(feature.size_with_missing)
    place = np.round((own - low) / step)
    other = (place + rng.integers(1, size, len(own))) % size
    return feature.snap(low + other * step)


def _smallest(
    probe: Probe,
    changes: _Changes,
    rows: Indices,
    position: int,
) -> EndingChange:
    """Return the change of a number by the least, or the first of a category."""
    feature = probe.space.features[position]
    tried = changes.tried
    before = changes.starts[rows, position]
    after = tried.points[rows, position]
    at = 0
    if feature.kind != "category":
        size = np.abs(after - before)
        # From nothing to a value, or back, is no small step.
        size[feature.is_missing(before) | feature.is_missing(after)] = np.inf
        at = int(np.argmin(size))
    chosen = tried.take(rows[at : at + 1])
    individual = probe.member(chosen.points, chosen.assigned[0])[0]
    twin = probe.member(chosen.points, chosen.assigned[1])[0]
    own, other = chosen.outcomes[:, 0]
    pair = case_of(probe.space, individual, twin, (own, other))
    values = np.array([before[at], after[at]])
    was, now = feature.labels(values)
    return EndingChange(was, now, pair, dict(feature.words))
