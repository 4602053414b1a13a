"""Discoveries: limits beside the limit, and which rule sets are worth a test."""

from __future__ import annotations

import math
from typing import Any

import numpy as np
import pytest

from evenhand.methods.mine.claims import discovered as module
from evenhand.methods.mine.claims.discovered import Discoveries
from evenhand.methods.mine.testsgd_score import PaperScore, PaperScores


def of(found):
    simultaneous: Any = None
    return Discoveries(found, 20, simultaneous)


def test_a_lower_limit_is_on_the_side_of_the_limit_that_was_found():
    assert of(3).beside(0.25, 0.1) == 0.25
    assert of(3).beside(0.09, 0.1) == 0.1
    assert of(3).beside(0.0, 0.0) == math.ulp(0.0)
    assert of(0).beside(0.05, 0.1) == 0.05
    assert of(0).beside(0.25, 0.1) == math.nextafter(0.1, 0.0)
    assert of(0).beside(0.1, 0.1) < 0.1


def test_as_many_rule_sets_are_tested_as_there_may_be(monkeypatch):
    monkeypatch.setattr(module, "MOST_TESTED", 3)
    promises = [np.array([0.1, 0.9, 0.4]), np.array([0.8, 0.3])]
    few = module._likely(promises, least=0.2)
    assert [numbers.tolist() for numbers in few] == [[1, 2], [0]]
    fewer = module._likely(promises, least=0.85)
    assert [numbers.tolist() for numbers in fewer] == [[1], []]
    monkeypatch.setattr(module, "MOST_TESTED", 5)
    every = module._likely(promises, least=0.3)
    assert [numbers.tolist() for numbers in every] == [[1, 2], [0, 1]]


def test_a_rate_of_the_papers_score_has_walds_interval():
    scores = PaperScores({}, level=0.95)
    found = scores.rate(0.25, 400, "rows")
    margin = 1.959964 * math.sqrt(0.25 * 0.75 / 400)
    assert found.low == pytest.approx(0.25 - margin)
    assert found.high == pytest.approx(0.25 + margin)
    assert found.value == 0.25
    assert found.n == 400
    assert found.level == 0.95
    # An amount that is no whole number of hits is inside all the same.
    odd = scores.rate(0.999, 10, "rows")
    assert (odd.low, odd.high) == (0.999, 1.0)
    none = scores.rate(0.04, 10, "rows")
    assert (none.low, none.high) == (0.0, 0.04)


def test_limits_around_a_papers_score_are_its_margin_within_0_and_1():
    scores = PaperScores({}, level=0.95)
    assert scores.around(0.5) == pytest.approx({"low": 0.45, "high": 0.55})
    assert scores.around(0.02) == pytest.approx({"low": 0.0, "high": 0.07})
    assert scores.around(0.99) == pytest.approx({"low": 0.94, "high": 1.0})


def test_the_inputs_of_all_scores_are_those_of_both_sides():
    one = PaperScore(0.5, 0.25, n=1001, half=0.045)
    two = PaperScore(0.5, 0.25, n=10, half=0.045)
    assert PaperScores({((0,), (1,)): one, ((1,), (0,)): two}, 0.95).queries == 2022
