"""Fairea's judgement for numbers: the line, each region, limits, the same for a seed, and what is
refused.
"""

from __future__ import annotations

import math
from typing import Any

import numpy as np
import pytest
from sklearn.metrics import r2_score

from evenhand.methods.compare import regression
from evenhand.methods.compare.comparison import Comparison
from evenhand.methods.compare.regression import compare_numbers
from evenhand.runtime.errors import DataError, UsageError
from evenhand.runtime.random_streams import stream
from evenhand.statistics.estimate import Amount, Estimate
from tests.support.helpers import refused

N = 1500
RNG = np.random.default_rng(0)
TRUTH = 40 + 12 * RNG.normal(size=N)
NOISE = RNG.normal(size=(2, N))
BIAS = 0.3


def told(spread: float, which: int = 1) -> Any:
    """Predictions with an error of this spread."""
    return TRUTH + spread * NOISE[which]


ORIGINAL = told(5, 0)


def judged(spread: float, bias: Any, **options: Any) -> Comparison:
    predictions = {"original": ORIGINAL, "other": told(spread)}
    options = {"resamples": 500} | options
    return compare_numbers(
        TRUTH, predictions, {"original": BIAS, "other": bias}, level=0.95, **options
    )


@pytest.mark.parametrize(
    ("spread", "bias", "region"),
    [
        (3, 0.1, "win-win"),
        (3, 0.4, "inverted trade-off"),
        (8, 0.4, "lose-lose"),
        (6, 0.05, "good trade-off"),
        (11, 0.25, "poor trade-off"),
    ],
)
def test_what_is_planted_is_found(spread, bias, region):
    found = judged(spread, bias)
    assert found.region == {"other": region}
    assert found.plausible == {"other": (region,)}
    assert found.performance == "r2"
    assert found.verdict == ("pass" if region in ("win-win", "good trade-off") else "fail")
    assert found["other"].share[region] == 1.0
    for name, predictions in (("original", ORIGINAL), ("other", told(spread))):
        performance = found.start[0] if name == "original" else found[name].performance
        right = r2_score(TRUTH, predictions)
        assert performance.value == pytest.approx(right)
        assert performance.low < right < performance.high
        assert performance.n == N


def test_the_line_is_that_of_blind_overwriting():
    found, rng = judged(6, 0.1).baseline, np.random.default_rng(1)
    assert found.label == pytest.approx(TRUTH.mean())
    assert (found.degrees[0], found.degrees[-1], found.method) == (0.0, 1.0, "in proportion")
    assert found.bias == pytest.approx([BIAS * (1 - degree) for degree in found.degrees])
    for degree, expected in zip(found.degrees, found.performance, strict=True):
        drawn = [np.where(rng.random(N) < degree, TRUTH.mean(), ORIGINAL) for _ in range(40)]
        mean = np.mean([1 - np.mean((one - TRUTH) ** 2) / TRUTH.var() for one in drawn])
        assert mean == pytest.approx(expected, abs=0.01)
    assert found.performance[-1] == pytest.approx(0, abs=1e-12)


def test_resampled_scores_are_those_of_the_rows_drawn(monkeypatch):
    true, errors = TRUTH[:40], np.stack([ORIGINAL, told(6)])[:, :40] - TRUTH[:40]
    away = true - true.mean()
    squares = np.stack([away, away**2, *errors**2], axis=1)
    found = regression._scores(regression._resampled(squares, 100, 5), (0.0, 1.0))
    rng = stream(5, "compare", "numbers")
    weights = rng.multinomial(40, np.full(40, 1 / 40), size=100)
    for one, performance, line in zip(weights, found.performance, found.line[1], strict=True):
        some = np.repeat(np.arange(40), one)
        expected = [r2_score(true[some], true[some] + error[some]) for error in errors]
        assert performance == pytest.approx(expected)
        assert line == pytest.approx([expected[0], r2_score(true[some], np.full(40, true.mean()))])
    monkeypatch.setattr(regression, "_AT_ONCE", 40 * 7)
    again = regression._scores(regression._resampled(squares, 100, 5), (0.0, 1.0))
    assert again.performance == pytest.approx(found.performance)


def test_near_the_original_and_the_line_nothing_is_claimed():
    assert {"win-win", "good trade-off"} <= set(judged(5, 0.1).plausible["other"])
    wide = Estimate(0.28, 0.2, 0.36, 100, 0.95, "exact")
    found = judged(4, wide)
    assert set(found.plausible["other"]) == {"win-win", "inverted trade-off"}
    assert found["other"].bias == wide
    assert "hold together at a level of at least 95 %" in " ".join(found.notes)


def test_an_original_that_may_have_no_bias_is_told_of():
    bias = {"original": Estimate(0.1, 0.0, 0.2, 50, 0.95, "exact"), "other": 0.05}
    found = compare_numbers(TRUTH, {"original": ORIGINAL, "other": told(6)}, bias, level=0.9)
    assert any("may have no bias at all" in note for note in found.notes)
    assert found.level == 0.9


def test_the_same_seed_gives_the_same_bytes(tmp_path):
    one, other, third = judged(6, 0.2, seed=3), judged(6, 0.2, seed=3), judged(6, 0.2, seed=4)
    assert one.to_json() == other.to_json()
    assert one.digest != third.digest
    one.to_json(tmp_path / "found.json")
    assert Comparison.from_json(tmp_path / "found.json").digest == one.digest


def test_scale_and_origin_of_the_numbers_do_not_matter():
    plain = judged(6, 0.2)
    moved = compare_numbers(
        1e9 + 1e3 * TRUTH,
        {"original": 1e9 + 1e3 * ORIGINAL, "other": 1e9 + 1e3 * told(6)},
        {"original": BIAS, "other": 0.2},
        level=0.95,
        resamples=500,
    )
    assert isinstance(moved["other"].performance, Amount)
    for key in ("value", "low", "high"):
        assert getattr(moved["other"].performance, key) == pytest.approx(
            getattr(plain["other"].performance, key)
        )


BOTH = {"original": BIAS, "other": 0.1}


@pytest.mark.parametrize(
    ("call", "words"),
    [
        (
            lambda: compare_numbers(
                [3] * 9, {"original": [3] * 9, "other": [2] * 9}, BOTH, level=0.95
            ),
            "all the same",
        ),
        (
            lambda: compare_numbers([], {"original": [], "other": []}, BOTH, level=0.95),
            "all the same",
        ),
        (
            lambda: compare_numbers([1, 2], {"original": [1, 2], "other": [2]}, BOTH, level=0.95),
            "'other' has 1 pred",
        ),
        (
            lambda: compare_numbers(
                [1, math.nan], {"original": [1, 2], "other": [2, 2]}, BOTH, level=0.95
            ),
            "truth must",
        ),
        (
            lambda: compare_numbers(
                [1, 2], {"original": ["a", "b"], "other": [2, 2]}, BOTH, level=0.95
            ),
            "of 'original'",
        ),
    ],
)
def test_wrong_data_is_told(call, words):
    refused(DataError, call, words)


@pytest.mark.parametrize(
    ("call", "words"),
    [
        (lambda: compare_numbers([1, 2], {"original": [1, 2]}, {"original": 0.1}, level=0.95), "at least two"),
        (lambda: judged(6, 0.1, resamples=3), "resamples = 3 must be"),
        (lambda: judged(6, math.nan), "bias of 'other' is nan"),
        (lambda: compare_numbers(TRUTH, {"original": ORIGINAL, "other": ORIGINAL}, {"original": 1}, level=0.95),
         "bias has no score for 'other'"),
        (lambda: compare_numbers(TRUTH, {"original": ORIGINAL, "other": ORIGINAL}, BOTH, level=2), "level is 2"),
        (lambda: compare_numbers(TRUTH, {"original": told(30), "other": ORIGINAL}, BOTH, level=0.95),
         "it has nothing to give up"),
        (lambda: compare_numbers(TRUTH, {"original": ORIGINAL, "other": told(3)}, BOTH | {"original": 0}, level=0.95),
         "shows no bias"),
    ],
)  # fmt: skip
def test_wrong_arguments_and_originals_are_told(call, words):
    refused(UsageError, call, words)
