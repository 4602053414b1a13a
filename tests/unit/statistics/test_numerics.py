"""Roots of many functions at once, and a normal integral."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from evenhand.statistics.numerics import NODES, WEIGHTS, Bracket, halve

roots = st.floats(0.01, 0.99)


@given(root=roots)
def test_halving_finds_the_edge_and_errs_towards_far(root: float) -> None:
    far = np.zeros(1)
    near = np.ones(1)
    (edge,), (inner_end,) = halve(lambda x: x < root, far, near, times=40)
    assert edge <= root <= inner_end
    assert edge == pytest.approx(root, abs=1e-10)


@given(root=roots)
def test_halving_works_downwards_as_well(root: float) -> None:
    far = np.ones(1)
    near = np.zeros(1)
    (edge,), (inner_end,) = halve(lambda x: x > root, far, near, times=40)
    assert edge >= root >= inner_end
    assert edge == pytest.approx(root, abs=1e-10)


@given(root=roots, power=st.floats(0.3, 3.0))
def test_chords_lead_to_the_root_of_a_rising_function(root: float, power: float) -> None:
    def score(x: np.ndarray) -> np.ndarray:
        return np.asarray(x**power - root**power)

    far = np.zeros(1)
    near = np.ones(1)
    bracket = Bracket(far, near, score(far), score(near))
    for _ in range(60):
        point = bracket.chord()
        bracket.narrow(point, score(point))
        assert bracket.far[0] <= root + 1e-12
        assert bracket.near[0] >= root - 1e-12
    far_from_root = abs(bracket.far[0] - root)
    near_from_root = abs(bracket.near[0] - root)
    assert min(far_from_root, near_from_root) < 1e-8


def test_brackets_of_an_array_do_not_touch_each_other() -> None:
    targets = np.array([0.2, 0.7])
    far = np.zeros(2)
    near = np.ones(2)
    bracket = Bracket(far, near, far - targets, near - targets)
    point = bracket.chord()
    bracket.narrow(point, point - targets)
    assert bracket.far == pytest.approx(targets)


def test_weights_integrate_functions_of_a_normal_variable() -> None:
    variance = (NODES**2) @ WEIGHTS
    fourth_moment = (NODES**4) @ WEIGHTS
    assert WEIGHTS.sum() == pytest.approx(1)
    assert variance == pytest.approx(1)
    assert fourth_moment == pytest.approx(3)
