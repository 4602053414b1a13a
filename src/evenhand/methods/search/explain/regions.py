"""Regions: readable rules for where the discriminatory inputs of a search lie.

A search goes where it has found something, so where it found most says little. Inputs that it found
are therefore first spread by small changes that keep them discriminatory, rules are learnt from
where that leads, and then fixed. Only then are inputs drawn uniformly inside each rule and asked:
the share of those is an honest rate.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from itertools import combinations
from typing import TYPE_CHECKING, Any

import numpy as np

from evenhand.methods.search import messages
from evenhand.methods.search.explain.box_axis import least_share, score
from evenhand.methods.search.explain.boxes import Boxes
from evenhand.methods.search.explain.other_values import changed_points
from evenhand.population.samplers import Uniform
from evenhand.runtime.budget import Meter
from evenhand.runtime.errors import SpaceError
from evenhand.runtime.random_streams import stream
from evenhand.space.grid import GridCells
from evenhand.space.rule import Condition, Rule
from evenhand.statistics import intervals
from evenhand.statistics.estimate import Estimate

if TYPE_CHECKING:
    from collections.abc import Mapping

    from evenhand.methods.search.arrays import Flags, Generator, Numbers
    from evenhand.methods.search.probe import Probe
    from evenhand.space.feature import Feature, Points
    from evenhand.space.space import Space

_SAMPLE = 1024
"""The most inputs that rules are learnt from."""
_BACKGROUND = 16_384
"""Draws that show what is valid."""
_STEPS = 24
"""How often inputs are changed to spread them."""
_APART = 4
"""Every how many changes inputs are looked at."""
_LOOKS = 3
"""How many of the last looks are kept."""
_COMMON = 30
"""So many discriminatory inputs among uniform draws show how they lie."""
_LOOK = 8
"""The share of a first look whether there are so many: one in eight."""
_SCALES = 8
"""The scales of a change of a number, each half of the one before."""
_SEVERAL = 3
"""The fewest inputs found that make a region, or one in a hundred of them."""
_FEWEST = 25
"""Draws that a rule is worth; where the budget has fewer for each, fewer rules are tested."""
_LEAST = 0.05
"""The least share of the inputs found that a rule holds."""
_ENOUGH = 10
"""The fewest inputs found that a rule holds, or half of them where there are few."""


@dataclass(frozen=True, slots=True)
class Region:
    """A rule, and how many discriminatory inputs lie in it."""

    rule: Rule
    found: int
    """How many of the inputs found meet the rule."""
    estimate: Estimate
    """The share of discriminatory inputs among fresh draws in it."""

    def to_dict(self) -> dict[str, Any]:
        """Return the region as JSON holds it."""
        return {
            "rule": self.rule.to_dict(),
            "text": self.rule.text,
            "found": self.found,
            "estimate": self.estimate.to_dict(),
        }

    @classmethod
    def from_dict(cls, table: Mapping[str, Any]) -> Region:
        """Rebuild a region from `to_dict`."""
        return cls(
            Rule.from_dict(table["rule"]),
            int(table["found"]),
            Estimate.from_dict(table["estimate"]),
        )

    def __str__(self) -> str:
        return f"{self.rule}: {self.estimate}"


def regions(
    probe: Probe,
    found: Points,
    seed: int,
    queries: int,
    *,
    positions: tuple[int, ...] | None = None,
    most: int = 5,
    level: float = 0.95,
    meter: Meter | None = None,
) -> tuple[list[Region], int]:
    """Return up to `most` regions in which discriminatory inputs lie, then everybody.

    The second value is how many inputs were asked for that. A drawn input counts where two members
    of its class differ. The intervals hold together with probability `level`. Only rules whose
    whole interval is over everybody's are returned, those that explain most first: the lower limit
    of the share times the number of inputs found inside. Rules have conditions on the features at
    `positions`, by default on all that are free. Where the time of a budget is up before the rules
    are tested, none are returned.

    >>> from evenhand.space.feature import category, integer
    >>> from evenhand.methods.search.probe import Probe
    >>> from evenhand.space.space import Space
    >>> from evenhand.subject.subject import Subject
    >>> from evenhand.subject.view import View
    >>> space = Space([category("sex", ["F", "M"]), integer("age", 18, 90)])
    >>> loan = Subject(lambda people: (people["age"] > 60) & (people["sex"] == "M"), space)
    >>> probe = Probe(View(loan), ("sex",))
    >>> points = space.encode([{"sex": "F", "age": age} for age in range(61, 91)])
    >>> found, asked = regions(probe, points, 0, 400)
    >>> [str(region.rule) for region in found], asked
    (['age at least 61', 'everybody'], 400)
    """
    meter = meter or Meter()
    about = _About(probe, probe.free if positions is None else positions, seed)
    affordable_classes = queries // len(probe.table)
    # Rules are to be tested in the other half of the time.
    learning = meter.share(2)
    even = _evenly_lying(about, found, affordable_classes // 2, learning)
    affordable = (queries - even.asked) // len(probe.table)
    rules = _learnt_rules(about, found, even, most, learning)
    # Everybody takes the place of one rule.
    most_rules = max(affordable // _FEWEST - 1, 0)
    rules = [*rules[:most_rules], Rule()]
    draws = affordable // len(rules)
    if draws < 1 or meter.late:
        return [], even.asked
    rng = stream(seed, "regions", "test")
    tested, asked = _tested(probe, rules, found, rng, draws, level)
    *ruled, everybody = tested
    clear = [region for region in ruled if region.estimate.low > everybody.estimate.high]
    clear.sort(key=lambda region: -region.estimate.low * region.found)
    clear_rules = [region.rule for region in clear]
    distinct = _distinct(clear_rules, found, probe.space)[:most]
    kept = [region for region in clear if region.rule in distinct]
    return [*kept, everybody], even.asked + asked


@dataclass(frozen=True, slots=True)
class _About:
    """What rules are learnt about: the software, the features of conditions, and the seed."""

    probe: Probe
    positions: tuple[int, ...]
    seed: int


def _learnt_rules(
    about: _About,
    found: Points,
    even: _EvenlyLying,
    most: int,
    meter: Meter,
) -> list[Rule]:
    """Return rules learnt from inputs that lie evenly, then from a sample of those found."""
    probe, positions, seed = about.probe, about.positions, about.seed
    thinned = _thinned(about, found, stream(seed, "regions", "thinned"), _SAMPLE)
    from_even = learn(
        probe,
        even.points,
        seed,
        most,
        repeats=even.repeats,
        positions=positions,
        meter=meter,
    )
    from_found = learn(probe, thinned, seed, most, positions=positions, meter=meter)
    # What a single input found started is not a region of the search.
    several = max(_SEVERAL, 0.01 * len(found))
    distinct = dict.fromkeys([*from_even, *from_found])
    return [rule for rule in distinct if rule.mask(found, probe.space).sum() >= several]


def _tested(
    probe: Probe,
    rules: list[Rule],
    found: Points,
    rng: Generator,
    draws: int,
    level: float,
) -> tuple[list[Region], int]:
    """Draw inputs inside each rule and ask them.

    Rules of which constraints leave next to nothing are left out.
    """
    tested = []
    parts = []
    for rule in rules:
        try:
            parts.append(rule.draw(draws, rng, probe.space))
        except SpaceError:
            if not rule.conditions:
                raise
            continue
        tested.append(rule)
    tried = probe.ask(np.asfortranarray(np.concatenate(parts)))
    hits = tried.hits.reshape(len(tested), draws).sum(axis=1)
    sizes = np.full(len(tested), draws)
    low, high = intervals.by_group(hits, sizes, level)
    method = "exact"
    if len(tested) > 1:
        method = messages.SIMULTANEOUS_OVER_RULES.format(rules=len(tested))
    regions = []
    for at, rule in enumerate(tested):
        estimate = Estimate(
            float(hits[at] / draws),
            float(low[at]),
            float(high[at]),
            draws,
            level,
            method,
            _population(rule, probe),
            descriptive=True,
        )
        inside = int(rule.mask(found, probe.space).sum())
        regions.append(Region(rule, inside, estimate))
    return regions, int(tried.asked.sum())


def _population(rule: Rule, probe: Probe) -> str:
    if not rule.conditions:
        return Uniform().population(probe.space)
    return messages.UNIFORM_INPUTS_IN_RULE.format(rule=rule)


@dataclass(frozen=True, slots=True)
class _EvenlyLying:
    """Discriminatory inputs that lie evenly."""

    points: Points
    repeats: int
    """How often each input found is among them."""
    asked: int
    """The inputs asked for that."""


def _evenly_lying(
    about: _About,
    found: Points,
    asks: int,
    meter: Meter,
) -> _EvenlyLying:
    """Return discriminatory inputs that lie evenly.

    Where they are not rare, uniform draws show best how they lie; else those found are spread.
    """
    probe = about.probe
    draws = probe.space.draw(asks // 2, stream(about.seed, "regions", "even"))
    look = asks // _LOOK
    tried = probe.ask(draws[:look])
    even = tried.points[tried.hits]
    asked = int(tried.asked.sum())
    # As many as the first look promises of all draws.
    common = len(even) * len(draws) >= _COMMON * max(look, 1)
    if common:
        more = probe.ask(np.asfortranarray(draws[look:]))
        points = np.concatenate([even, more.points[more.hits]])
        return _EvenlyLying(points, repeats=1, asked=asked + int(more.asked.sum()))
    spread, asked_to_spread = _spread(about, found, asks - look, meter)
    return _EvenlyLying(spread, repeats=_LOOKS, asked=asked + asked_to_spread)


def _spread(
    about: _About,
    found: Points,
    asks: int,
    meter: Meter,
) -> tuple[Points, int]:
    """Return discriminatory inputs that lie as evenly as few steps make them.

    The second value is how many inputs were asked for that. Some of the inputs found are changed in
    several features at a time, by much or little, and keep a change that leaves them
    discriminatory: a Metropolis walk, which in time is uniform over the discriminatory inputs that
    it can reach. Features that hardly matter are changed several at once, those that do one by one:
    the first asks tell them apart.
    """
    probe = about.probe
    rng = stream(about.seed, "regions", "spread")
    features = len(about.positions)
    walkers = min(asks // (_STEPS + 2), _SAMPLE)
    if walkers < _ENOUGH or not len(found) or not features:
        return found[:0], 0
    points = _thinned(about, found, rng, walkers)
    points = points[np.arange(walkers) % len(points)]
    survival, asked = _survival(about, points, rng)
    mattering = 1 - survival
    cumulative = np.cumsum(mattering) / mattering.sum()
    kept = [found[:0]]
    for step in range(_STEPS):
        if meter.late:
            break
        if step % 4:
            which = np.searchsorted(cumulative, rng.random(walkers))
            change = np.arange(features) == which[:, None]
            scales = _SCALES
        else:
            change = _several_features(survival, walkers, rng)
            scales = 1
        moved = changed_points(probe.space, about.positions, points, change, rng, scales)
        tried = probe.ask(moved)
        points = np.where(tried.hits[:, None], tried.points, points)
        asked += int(tried.asked.sum())
        if step % _APART == _APART - 1:
            kept.append(points)
    return np.concatenate(kept[-_LOOKS:]), asked


def _survival(about: _About, points: Points, rng: Generator) -> tuple[Numbers, int]:
    """Return how often points stay discriminatory when one feature is changed.

    The second value is how many inputs were asked for that.
    """
    features = len(about.positions)
    walkers = len(points)
    changes_of_each = max(1, 2 * walkers // features)
    which = np.repeat(np.arange(features), changes_of_each)[: 2 * walkers]
    only_one = np.arange(features) == which[:, None]
    starts = points[rng.integers(0, walkers, len(which))]
    moved = changed_points(about.probe.space, about.positions, starts, only_one, rng)
    tried = about.probe.ask(moved)
    survived = np.bincount(which[tried.hits], minlength=features)
    changed = np.bincount(which, minlength=features)
    # Jeffreys' prior keeps shares off 0 and 1.
    return (survived + 0.5) / (changed + 1), int(tried.asked.sum())


def _several_features(survival: Numbers, walkers: int, rng: Generator) -> Flags:
    """Return features to change at once, as many as a random risk allows, for each walker."""
    features = len(survival)
    order = np.argsort(rng.random((walkers, features)), axis=1)
    log_survival = np.cumsum(np.log(survival)[order], axis=1)
    least = np.log(rng.uniform(0.3, 1.0, (walkers, 1)))
    change = np.zeros((walkers, features), dtype=np.bool_)
    np.put_along_axis(change, order, log_survival >= least, axis=1)
    return change


def learn(
    probe: Probe,
    points: Points,
    seed: int,
    most: int = 5,
    *,
    repeats: int = 1,
    positions: tuple[int, ...] | None = None,
    meter: Meter | None = None,
) -> list[Rule]:
    """Return up to `most` rules that hold many of these inputs in little of the space.

    Nothing is asked. Rules are sought one after the other, among what those before do not hold.
    They have conditions on the features at `positions`, by default on all that are free. Where the
    time is up, those found so far are returned.
    """
    space = probe.space
    meter = meter or Meter()
    about = probe.free if positions is None else positions
    rules: list[Rule] = []
    left = points
    enough = min(_ENOUGH, len(points) / 2)
    least = max(_LEAST * len(points), enough, 1.0)
    background = None
    if space.constrained:
        background = space.draw(_BACKGROUND, stream(seed, "regions", "background"))
    for turn in range(2 * most):
        if len(left) < least or meter.late:
            break
        boxes = Boxes(space, about, left, background, repeats=repeats, meter=meter)
        rule = boxes.best(stream(seed, "regions", "starts", turn), least)
        if not rule.conditions:
            break
        rules.append(rule)
        left = left[~rule.mask(left, space)]
    return _distinct(_merged(rules, points, space), points, space)[:most]


def _distinct(rules: list[Rule], points: Points, space: Space) -> list[Rule]:
    """Return the rules but those that hold mostly the same inputs as one before."""
    kept: dict[Rule, Flags] = {}
    for rule in rules:
        inside = rule.mask(points, space)
        if not any(_mostly_same(inside, other) for other in kept.values()):
            kept[rule] = inside
    return list(kept)


def _mostly_same(first: Flags, second: Flags) -> bool:
    """Return whether half of the smaller one of two sets of inputs is in the other."""
    shared = (first & second).sum()
    smaller = min(first.sum(), second.sum())
    return bool(2 * shared >= smaller)


def _thinned(
    about: _About,
    found: Points,
    rng: Generator,
    most: int,
) -> Points:
    """Return a sample of what was found that takes from all cells in turn.

    A search floods some cells and skims others.
    """
    shuffled = found[rng.permutation(len(found))]
    grid = GridCells(about.probe.space, about.positions)
    _, cells = np.unique(grid.of(shuffled), return_inverse=True)
    by_cell = np.argsort(cells, kind="stable")
    starts = np.flatnonzero(np.diff(cells[by_cell], prepend=-1))
    sizes = np.diff(starts, append=len(shuffled))
    # The first of each cell comes first, then the second of each, and so on.
    turn = np.empty(len(shuffled), dtype=np.intp)
    start_of_each = np.repeat(starts, sizes)
    turn[by_cell] = np.arange(len(shuffled)) - start_of_each
    return shuffled[np.argsort(turn, kind="stable")[:most]]


def _merged(rules: list[Rule], points: Points, space: Space) -> list[Rule]:
    """Return the rules, best first.

    One that holds both takes the place of two where it scores as high as either.
    """

    def value(rule: Rule) -> float:
        hits = rule.mask(points, space).mean()
        return float(score(hits, _volume(rule, space)))

    for first, second in combinations(rules, 2):
        both = _hull(first, second, space)
        better = max(value(first), value(second))
        if both.conditions and value(both) >= better:
            others = [rule for rule in rules if rule not in (first, second, both)]
            return _merged([both, *others], points, space)
    return sorted(rules, key=value, reverse=True)


def _hull(first: Rule, second: Rule, space: Space) -> Rule:
    """Return the least rule that holds both."""
    of_second = {condition.feature: condition for condition in second.conditions}
    conditions = []
    for condition in first.conditions:
        other = of_second.get(condition.feature)
        # A feature of which either rule has no condition can have any value.
        if other is not None:
            conditions.append(_wider(condition, other))
    return Rule.of(space, conditions)


def _wider(first: Condition, second: Condition) -> Condition:
    """Return the least condition that holds both."""
    if first.only_missing or second.only_missing:
        known = second if first.only_missing else first
        return replace(known, missing=True, without=())
    low = None
    if first.low is not None and second.low is not None:
        low = min(first.low, second.low)
    high = None
    if first.high is not None and second.high is not None:
        high = max(first.high, second.high)
    levels = (*first.levels, *second.levels)
    missing = first.missing or second.missing
    return Condition(first.feature, low, high, levels, missing=missing)


def _volume(rule: Rule, space: Space) -> float:
    """Return the share of the space, before constraints, that a rule holds."""
    share = 1.0
    for condition in rule.conditions:
        feature = space.feature(condition.feature)
        missing = feature.missing_share if condition.missing else 0.0
        known = _known_share(condition, feature) * (1 - feature.missing_share)
        share *= max(known + missing, least_share(feature))
    return share


def _known_share(condition: Condition, feature: Feature) -> float:
    """Return the share of a feature's known values that meet a condition."""
    if condition.only_missing:
        return 0.0
    if feature.kind == "category":
        return len(condition.levels) / len(feature.levels)
    low = feature.low if condition.low is None else condition.low
    high = feature.high if condition.high is None else condition.high
    step = float(feature.step or 0.0)
    span = feature.high - feature.low + step
    return (high - low + step) / span
