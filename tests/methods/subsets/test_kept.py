"""The inputs that a search for sets keeps as a test suite."""

from __future__ import annotations

import numpy as np

import evenhand as eh
from evenhand.methods.subsets.evaluators.kept import KeptInputs

SPACE = eh.Space(
    [eh.category("sex", ["F", "M"]), eh.category("race", ["a", "b", "c"])],
    protected=["sex", "race"],
    constraints=["not (sex == 'M' and race == 'c')"],
)


def test_variants_are_valid_and_others_than_the_draw():
    points = SPACE.encode([{"sex": "F", "race": "a"}, {"sex": "M", "race": "b"}])
    kept = KeptInputs.variants(SPACE, ("sex", "race"), points, np.array([7, 9]))
    by_draw: dict[int, set[tuple[str, str]]] = {7: set(), 9: set()}
    labels = SPACE.labels(kept.points)
    for draw, sex, race in zip(kept.draw, labels["sex"], labels["race"], strict=True):
        by_draw[int(draw)].add((str(sex), str(race)))
    everybody = {("F", "a"), ("F", "b"), ("F", "c"), ("M", "a"), ("M", "b")}
    assert by_draw == {7: everybody - {("F", "a")}, 9: everybody - {("M", "b")}}
    assert len(kept.points) == 8
    assert not kept.own.any()
