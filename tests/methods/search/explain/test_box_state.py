"""Counts that are kept up to date are those of counting anew."""

from __future__ import annotations

import math
from typing import Any

import numpy as np
import pytest

from evenhand.methods.search.explain.box_axis import Axis, score
from evenhand.methods.search.explain.box_state import Binned, BoxState
from evenhand.space.feature import category, integer, real
from evenhand.space.space import Space

SPACE = Space(
    [
        category("job", list("abcde")),
        integer("age", 0, 60),
        integer("years", 0, 60),
        real("rate", 0, 1),
        integer("income", 0, 99_999),
    ],
    constraints=["years < age", "years + age < 90"],
)
CONSTRAINED = (1, 2)


def binned(rng: Any, *, constrained: bool) -> Binned:
    points = SPACE.draw(400, rng)
    axes = []
    for position, feature in enumerate(SPACE.features):
        axes.append(Axis(feature, points[:, position]))
    valid = {}
    if constrained:
        background = SPACE.draw(2000, rng)
        for position in CONSTRAINED:
            valid[position] = axes[position].of(background[:, position])
    return Binned(axes, [axis.of(axis.values) for axis in axes], valid)


def random_box(given: Binned, rng: Any) -> list[Any]:
    chosen = []
    for axis in given.axes:
        bins = len(axis.shares)
        if rng.random() < 0.3:
            chosen.append(np.ones(bins, dtype=bool))
        else:
            first = int(rng.integers(0, bins // 2))
            last = int(rng.integers(first + 1, bins + 1))
            places = np.arange(bins)
            chosen.append((places >= first) & (places < last))
    return chosen


def counted_anew(given: Binned, chosen: list[Any]) -> float:
    """The score of a box, by all of its inputs and all valid draws."""
    meets = [bins[own] for bins, own in zip(chosen, given.bins, strict=True)]
    hits = np.all(meets, axis=0).mean()
    share = 1.0
    for at, axis in enumerate(given.axes):
        if chosen[at].all():
            continue
        own = axis.shares
        if at in given.valid:
            bins = given.valid[at]
            others = [
                chosen[other][own_bins]
                for other, own_bins in given.valid.items()
                if other != at
            ]
            meets_others = np.all(others, axis=0)
            if meets_others.sum() >= len(bins) / 64:
                bins = bins[meets_others]
            own = np.bincount(bins, minlength=len(axis.shares)) / len(bins)
        share *= max(float(own[chosen[at]].sum()), axis.least)
    return float(score(hits, share))


@pytest.mark.parametrize("constrained", [False, True])
@pytest.mark.parametrize("seed", range(20))
def test_scores_are_those_of_counting_anew(seed, constrained):
    rng = np.random.default_rng(seed)
    given = binned(rng, constrained=constrained)
    box = BoxState(given, random_box(given, rng))
    # A box that was changed counts like one that was made so.
    for at, chosen in enumerate(random_box(given, rng)):
        if rng.random() < 0.5:
            box.set(at, chosen)
    assert math.isclose(box.value, counted_anew(given, box.chosen), rel_tol=1e-12)
    found = box.values_without(box.bounded)
    for at, value in zip(box.bounded.tolist(), found.tolist(), strict=True):
        without = list(box.chosen)
        without[at] = np.ones_like(without[at])
        assert value == pytest.approx(counted_anew(given, without), rel=1e-12)
