"""Planted bias, end to end: the planted score is found as often as the level says."""

from __future__ import annotations

import numpy as np
import pytest

import evenhand as eh
from tests.support.simulation import covers, holds, slow

SPACE = eh.Space(
    [
        eh.category("sex", ["F", "M"]),
        eh.integer("id", 1, 1000),
        eh.category("city", ["a", "b"]),
    ],
    protected=["sex"],
)


@pytest.mark.parametrize(
    ("planted", "options"),
    [
        slow(0.0, {"margin": 0.05}),
        slow(0.01, {"margin": 0.02}),
        slow(0.05, {"limit": 0.05, "margin": 0.05}),
        slow(0.05, {"limit": 0.1}),
        (0.3, {"margin": 0.1}),
        (0.3, {"limit": 0.2, "margin": 0.1, "budget": eh.Budget(queries=300)}),
    ],
)
def test_the_interval_holds_the_planted_score_as_often_as_it_says(planted, options):
    def model(people):
        is_planted = people["id"] <= 1000 * planted
        return is_planted & (people["sex"] == "M")

    runs = 200
    held = 0
    for seed in range(runs):
        result = eh.measure(model, SPACE, level=0.9, seed=seed, **options)
        held += covers(result.worst.estimate, planted)
    assert holds(held, runs, 0.9)


def test_a_fair_program_fails_no_more_often_than_the_level_allows():
    def fair(people):
        return np.asarray(people["id"] % 7 == 0)

    for seed in range(40):
        result = eh.measure(fair, SPACE, limit=0.02, seed=seed)
        assert result.verdict == "pass"


def test_opposite_biases_that_cancel_in_the_group_are_seen():
    """Themis, section 2: half of the inputs favour men, half women; both groups fare alike."""

    def cancelling(people):
        return (people["sex"] == "M") == (people["city"] == "a")

    result = eh.measure(cancelling, SPACE, limit=0.5)
    assert result.verdict == "fail"
    assert result.worst.estimate.value == 1
