"""Regions: readable rules for where the discriminatory inputs of a search lie, tested on fresh
draws.

A search goes where it has found something, so where it found most says little. Inputs that it found
are therefore first spread by small changes that keep them discriminatory, rules are learnt from
where that leads, and then fixed. Only then are inputs drawn uniformly inside each rule and asked:
the share of those is an honest rate.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from itertools import combinations
from typing import TYPE_CHECKING, Any

import numpy as np

from evenhand.methods.search.explain.boxes import Boxes, least_share, score
from evenhand.population.samplers import Uniform
from evenhand.runtime.errors import SpaceError
from evenhand.runtime.random_streams import stream
from evenhand.space.grid import Cells
from evenhand.space.rule import Condition, Rule
from evenhand.statistics import intervals
from evenhand.statistics.estimate import Estimate

if TYPE_CHECKING:
    from collections.abc import Mapping

    from numpy.typing import NDArray

    from evenhand.methods.search.probe import Probe
    from evenhand.space.feature import Points
    from evenhand.space.space import Space

_SAMPLE, _BACKGROUND = 1024, 16_384
"""The most inputs that rules are learnt from, and draws that tell what is valid."""
_STEPS, _APART, _LOOKS = 24, 4, 3
"""How often inputs are changed to spread them, and every how many of the last changes they are
looked at.
"""
_COMMON, _LOOK = 30, 8
"""So many discriminatory inputs among uniform draws tell how they lie; the share of a first look
whether there are.
"""
_SCALES, _FINE = 8, 1 << 20
"""The scales of a change of a number, each half of the one before; how many values a continuous
feature counts for.
"""
_SEVERAL = 3
"""The fewest inputs found that make a region, or one in a hundred of them."""
_FEWEST = 25
"""Draws that a rule is worth; where the budget has fewer for each, fewer rules are tested."""
_LEAST, _ENOUGH = 0.05, 10
"""A rule holds at least this share of the inputs found, and so many of them, or half where there
are few.
"""


@dataclass(frozen=True, slots=True)
class Region:
    """A rule, how many of the inputs found meet it, and the share of discriminatory inputs among
    fresh draws in it.
    """

    rule: Rule
    found: int
    estimate: Estimate

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
    probe: Probe, found: Points, seed: int, queries: int, *, most: int = 5, level: float = 0.95
) -> tuple[list[Region], int]:
    """Return up to `most` regions in which discriminatory inputs lie, then everybody, and the
    inputs asked for that.

    A drawn input counts where two members of its class differ. The intervals hold together with
    probability `level`. Only rules whose whole interval is over everybody's are returned, those
    that explain most first: the lower limit of the share times the number of inputs found inside.

    >>> from evenhand.space.feature import category, integer
    >>> from evenhand.methods.search.probe import Probe
    >>> from evenhand.space.space import Space
    >>> from evenhand.subject.subject import Subject
    >>> from evenhand.subject.view import View
    >>> space = Space([category("sex", ["F", "M"]), integer("age", 18, 90)])
    >>> loan = Subject(lambda people: (people["age"] > 60) & (people["sex"] == "M"), space)
    >>> probe = Probe(View(loan), ("sex",))
    >>> found, asked = regions(probe, space.encode([{"sex": "F", "age": age} for age in range(61, 91)]), 0, 400)
    >>> [str(region.rule) for region in found], asked
    (['age at least 61', 'everybody'], 400)
    """
    spread, repeats, spent = _evenly(probe, found, seed, queries // len(probe.table) // 2)
    affordable = (queries - spent) // len(probe.table)
    thinned = _thinned(probe, found, stream(seed, "regions", "thinned"), _SAMPLE)
    learnt = [
        *learn(probe, spread, seed, most, repeats=repeats),
        *learn(probe, thinned, seed, most),
    ]
    # What a single input found started is no region of the search.
    several = max(_SEVERAL, 0.01 * len(found))
    rules = [
        rule for rule in dict.fromkeys(learnt) if rule.mask(found, probe.space).sum() >= several
    ]
    rules = [*rules[: max(affordable // _FEWEST - 1, 0)], Rule()]
    draws = affordable // len(rules)
    if draws < 1:
        return [], spent
    (*made, everybody), asked = _tested(
        probe, rules, found, stream(seed, "regions", "test"), draws, level
    )
    kept = [region for region in made if region.estimate.low > everybody.estimate.high]
    kept.sort(key=lambda region: -region.estimate.low * region.found)
    stories = _apart([region.rule for region in kept], found, probe.space)[:most]
    return [*(region for region in kept if region.rule in stories), everybody], spent + asked


def _tested(
    probe: Probe,
    rules: list[Rule],
    found: Points,
    rng: np.random.Generator,
    draws: int,
    level: float,
) -> tuple[list[Region], int]:
    """Draw inputs inside each rule and ask them; rules of which constraints leave next to nothing
    are left out.
    """
    tested, parts = [], []
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
    low, high = intervals.by_group(hits, np.full(len(tested), draws), level)
    method = f"exact, simultaneous over {len(tested)} rules" if len(tested) > 1 else "exact"
    made = []
    for at, rule in enumerate(tested):
        value, ends = float(hits[at] / draws), (float(low[at]), float(high[at]))
        estimate = Estimate(value, *ends, draws, level, method, _speaks_of(rule, probe))
        made.append(Region(rule, int(rule.mask(found, probe.space).sum()), estimate))
    return made, int(tried.asked.sum())


def _speaks_of(rule: Rule, probe: Probe) -> str:
    return f"uniform inputs with {rule}" if rule.conditions else Uniform().population(probe.space)


def _evenly(probe: Probe, found: Points, seed: int, asks: int) -> tuple[Points, int, int]:
    """Return discriminatory inputs that lie evenly, how often each is among them, and the inputs
    asked for that.

    Where they are not rare, uniform draws tell best how they lie; else those found are spread.
    """
    draws, look = probe.space.draw(asks // 2, stream(seed, "regions", "even")), asks // _LOOK
    tried = probe.ask(draws[:look])
    even, spent = tried.points[tried.hits], int(tried.asked.sum())
    if len(even) * len(draws) >= _COMMON * max(look, 1):
        more = probe.ask(np.asfortranarray(draws[look:]))
        return np.concatenate([even, more.points[more.hits]]), 1, spent + int(more.asked.sum())
    spread, asked = _spread(probe, found, seed, asks - look)
    return spread, _LOOKS, spent + asked


def _spread(probe: Probe, found: Points, seed: int, asks: int) -> tuple[Points, int]:
    """Return discriminatory inputs that lie as evenly as few steps make them, and the inputs asked
    for that.

    Some of the inputs found are changed in several features at a time, by much or little, and keep
    a change that leaves them discriminatory: a Metropolis walk, which in time is uniform over the
    discriminatory inputs that it can reach. Features that hardly matter are changed several at
    once, those that do one by one: the first asks tell them apart.
    """
    rng, features = stream(seed, "regions", "spread"), len(probe.free)
    walkers = min(asks // (_STEPS + 2), _SAMPLE)
    if walkers < _ENOUGH or not len(found) or not features:
        return found[:0], 0
    points = _thinned(probe, found, rng, walkers)
    points = points[np.arange(walkers) % len(points)]
    each = max(1, 2 * walkers // features)
    which = np.repeat(np.arange(features), each)[: 2 * walkers]
    alone = np.arange(features) == which[:, None]
    tried = probe.ask(_changed(probe, points[rng.integers(0, walkers, len(which))], alone, rng, 1))
    survive = (np.bincount(which[tried.hits], minlength=features) + 0.5) / (
        np.bincount(which, minlength=features) + 1
    )
    matters = np.cumsum(1 - survive) / (1 - survive).sum()
    asked, kept = int(tried.asked.sum()), []
    for step in range(_STEPS):
        if step % 4:
            change = np.arange(features) == np.searchsorted(matters, rng.random(walkers))[:, None]
        else:
            order = np.argsort(rng.random((walkers, features)), axis=1)
            risk = np.cumsum(np.log(survive)[order], axis=1)
            change = np.zeros((walkers, features), dtype=np.bool_)
            np.put_along_axis(
                change, order, risk >= np.log(rng.uniform(0.3, 1.0, (walkers, 1))), axis=1
            )
        tried = probe.ask(_changed(probe, points, change, rng, _SCALES if step % 4 else 1))
        points = np.where(tried.hits[:, None], tried.points, points)
        asked += int(tried.asked.sum())
        if step % _APART == _APART - 1:
            kept.append(points)
    return np.concatenate(kept[-_LOOKS:]), asked


def _changed(
    probe: Probe, points: Points, change: NDArray[np.bool_], rng: np.random.Generator, scales: int
) -> Points:
    """Return the points with other values of some free features (a row for each point), by a scale
    drawn for each.

    Beyond one end a number goes on at its other, so that a change and its reverse are as likely.
    """
    found: Points = np.array(points, order="F")
    for at, position in enumerate(probe.free):
        feature, rows = probe.space.features[position], np.flatnonzero(change[:, at])
        counted, number = math.isfinite(feature.size), feature.kind != "category"
        low, count = (
            (float(feature.low) if number else 0.0),
            (float(feature.size) if counted else float(_FINE)),
        )
        unit = float(feature.step or 1.0) if counted else float(feature.high - low) / _FINE
        reach = count / 2 ** (rng.integers(0, scales, len(rows)) if number else 0)
        by = np.ceil(rng.random(len(rows)) * reach) * rng.choice([-1, 1], len(rows))
        here = (found[rows, position] - low) / unit
        place = np.mod((np.round(here) if counted else here) + by, count)
        found[rows, position] = feature.snap(low + place * unit)
    return found


def learn(
    probe: Probe, points: Points, seed: int, most: int = 5, *, repeats: int = 1
) -> list[Rule]:
    """Return up to `most` rules that hold many of these inputs in little of the space; nothing is
    asked.

    Rules are sought one after the other, among what those before do not hold.
    """
    space, rules, left = probe.space, list[Rule](), points
    least = max(_LEAST * len(points), min(_ENOUGH, len(points) / 2), 1.0)
    background = (
        space.draw(_BACKGROUND, stream(seed, "regions", "background"))
        if space.constraints
        else None
    )
    for turn in range(2 * most):
        if len(left) < least:
            break
        rule = Boxes(space, probe.free, left, background, repeats=repeats).best(
            stream(seed, "regions", "starts", turn), least
        )
        if not rule.conditions:
            break
        inside = rule.mask(left, space)
        rules.append(rule)
        left = left[~inside]
    return _apart(_merged(rules, points, space), points, space)[:most]


def _apart(rules: list[Rule], points: Points, space: Space) -> list[Rule]:
    """Return the rules but those that speak mostly of the same inputs as one before: they would
    tell a story twice.
    """
    kept: dict[Rule, NDArray[np.bool_]] = {}
    for rule in rules:
        inside = rule.mask(points, space)
        if all(
            2 * (inside & other).sum() < min(inside.sum(), other.sum()) for other in kept.values()
        ):
            kept[rule] = inside
    return list(kept)


def _thinned(probe: Probe, found: Points, rng: np.random.Generator, most: int) -> Points:
    """Return a sample of what was found that takes from all cells in turn: a search floods some and
    skims others.
    """
    mixed = found[rng.permutation(len(found))]
    cells = np.unique(Cells(probe.space, probe.free).of(mixed), return_inverse=True)[1]
    order = np.argsort(cells, kind="stable")
    starts = np.flatnonzero(np.diff(cells[order], prepend=-1))
    turn = np.empty(len(mixed), dtype=np.intp)
    turn[order] = np.arange(len(mixed)) - np.repeat(starts, np.diff(starts, append=len(mixed)))
    return mixed[np.argsort(turn, kind="stable")[:most]]


def _merged(rules: list[Rule], points: Points, space: Space) -> list[Rule]:
    """Return the rules, best first, with one that holds both in place of two where it scores as
    high as either.
    """

    def value(rule: Rule) -> float:
        return float(score(rule.mask(points, space).mean(), _volume(rule, space)))

    for one, other in combinations(rules, 2):
        both = _hull(one, other, space)
        if both.conditions and value(both) >= max(value(one), value(other)):
            rest = [rule for rule in rules if rule not in (one, other, both)]
            return _merged([both, *rest], points, space)
    return sorted(rules, key=value, reverse=True)


def _hull(one: Rule, other: Rule, space: Space) -> Rule:
    """Return the least rule that holds both."""
    theirs = {condition.feature: condition for condition in other.conditions}
    return Rule.of(
        space,
        [
            Condition(
                mine.feature,
                None if mine.low is None or its.low is None else min(mine.low, its.low),
                None if mine.high is None or its.high is None else max(mine.high, its.high),
                (*mine.levels, *its.levels),
            )
            for mine in one.conditions
            if (its := theirs.get(mine.feature)) is not None
        ],
    )


def _volume(rule: Rule, space: Space) -> float:
    """Return the share of the space, before constraints, that a rule holds."""
    share = 1.0
    for condition in rule.conditions:
        feature = space.feature(condition.feature)
        if feature.kind == "category":
            share *= len(condition.levels) / len(feature.levels)
            continue
        low = feature.low if condition.low is None else condition.low
        high = feature.high if condition.high is None else condition.high
        step = float(feature.step or 0.0)
        share *= max(
            (high - low + step) / (feature.high - feature.low + step), least_share(feature)
        )
    return share
