"""Fairea's judgement for numbers: the line, each region, limits, seeds, and what is refused."""

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


def predicted(spread: float, which: int = 1) -> Any:
    """Return predictions with an error of this spread."""
    return TRUTH + spread * NOISE[which]


ORIGINAL = predicted(5, 0)


def outcomes_with(other: Any) -> dict[str, Any]:
    return {"original": ORIGINAL, "other": other}


def judged(spread: float, bias: Any, **options: Any) -> Comparison:
    options = {"resamples": 500, "level": 0.95} | options
    biases = {"original": BIAS, "other": bias}
    return compare_numbers(TRUTH, outcomes_with(predicted(spread)), biases, **options)


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
    better = region in ("win-win", "good trade-off")
    assert found.region == {"other": region}
    assert found.plausible == {"other": (region,)}
    assert found.performance == "r2"
    assert found.verdict == ("pass" if better else "fail")
    assert found["other"].share[region] == 1.0
    assert_is_r2_of(found.start[0], ORIGINAL)
    assert_is_r2_of(found["other"].performance, predicted(spread))


def assert_is_r2_of(performance: Estimate, predictions: Any) -> None:
    expected = r2_score(TRUTH, predictions)
    assert performance.value == pytest.approx(expected)
    assert performance.low < expected < performance.high
    assert performance.n == N


def test_the_line_is_that_of_blind_overwriting():
    line = judged(6, 0.1).baseline
    mean = TRUTH.mean()
    assert line.label == pytest.approx(mean)
    assert line.degrees[0] == 0.0
    assert line.degrees[-1] == 1.0
    assert line.method == "in proportion"
    shares_left = 1 - np.array(line.degrees)
    assert line.bias == pytest.approx(BIAS * shares_left)
    rng = np.random.default_rng(1)
    for degree, expected in zip(line.degrees, line.performance, strict=True):
        drawn = []
        for _ in range(40):
            overwritten = np.where(rng.random(N) < degree, mean, ORIGINAL)
            drawn.append(r2_score(TRUTH, overwritten))
        assert np.mean(drawn) == pytest.approx(expected, abs=0.01)
    assert line.performance[-1] == pytest.approx(0, abs=1e-12)


def test_resampled_scores_are_those_of_the_rows_drawn(monkeypatch):
    n = 40
    true = TRUTH[:n]
    original = ORIGINAL[:n]
    other = predicted(6)[:n]
    errors = [original - true, other - true]
    distance = true - true.mean()
    squared_errors = [error**2 for error in errors]
    squares = np.stack([distance, distance**2, *squared_errors], axis=1)
    found = regression._scores(regression._resampled(squares, 100, 5), (0.0, 1.0))
    _, line_performance = found.line
    rng = stream(5, "compare", "numbers")
    weights = rng.multinomial(n, np.full(n, 1 / n), size=100)
    for resample, performance, line in zip(
        weights,
        found.performance,
        line_performance,
        strict=True,
    ):
        rows = np.repeat(np.arange(n), resample)
        drawn = true[rows]
        expected = []
        for error in errors:
            predicted_rows = drawn + error[rows]
            expected.append(r2_score(drawn, predicted_rows))
        all_overwritten = r2_score(drawn, np.full(n, true.mean()))
        assert performance == pytest.approx(expected)
        assert line == pytest.approx([expected[0], all_overwritten])
    monkeypatch.setattr(regression, "_AT_ONCE", n * 7)
    again = regression._scores(regression._resampled(squares, 100, 5), (0.0, 1.0))
    assert again.performance == pytest.approx(found.performance)


def test_near_the_original_and_the_line_nothing_is_claimed():
    plausible = set(judged(5, 0.1).plausible["other"])
    assert {"win-win", "good trade-off"} <= plausible
    wide = Estimate(0.28, 0.2, 0.36, 100, 0.95, "exact")
    found = judged(4, wide)
    assert set(found.plausible["other"]) == {"win-win", "inverted trade-off"}
    assert found["other"].bias == wide
    assert "hold together at a level of at least 95 %" in " ".join(found.notes)


def test_a_note_says_that_an_original_may_have_no_bias():
    bias = {"original": Estimate(0.1, 0.0, 0.2, 50, 0.95, "exact"), "other": 0.05}
    found = compare_numbers(TRUTH, outcomes_with(predicted(6)), bias, level=0.9)
    assert any("may have no bias at all" in note for note in found.notes)
    assert found.level == 0.9


def test_the_same_seed_gives_the_same_bytes(tmp_path):
    found = judged(6, 0.2, seed=3)
    assert found.to_json() == judged(6, 0.2, seed=3).to_json()
    assert found.digest != judged(6, 0.2, seed=4).digest
    file = tmp_path / "found.json"
    found.to_json(file)
    assert Comparison.from_json(file).digest == found.digest


def test_scale_and_origin_of_the_numbers_do_not_matter():
    def moved(values: Any) -> Any:
        return 1e9 + 1e3 * values

    expected = judged(6, 0.2)["other"].performance
    found = compare_numbers(
        moved(TRUTH),
        {"original": moved(ORIGINAL), "other": moved(predicted(6))},
        {"original": BIAS, "other": 0.2},
        level=0.95,
        resamples=500,
    )
    performance = found["other"].performance
    assert isinstance(performance, Amount)
    assert performance.value == pytest.approx(expected.value)
    assert performance.low == pytest.approx(expected.low)
    assert performance.high == pytest.approx(expected.high)


BOTH = {"original": BIAS, "other": 0.1}


@pytest.mark.parametrize(
    ("truth", "original", "other", "words"),
    [
        ([3] * 9, [3] * 9, [2] * 9, "all the same"),
        ([], [], [], "all the same"),
        ([1, 2], [1, 2], [2], "'other' has 1 pred"),
        ([1, math.nan], [1, 2], [2, 2], "truth must"),
        ([1, 2], ["a", "b"], [2, 2], "of 'original'"),
    ],
)
def test_wrong_data_is_refused(truth, original, other, words):
    outcomes = {"original": original, "other": other}
    refused(DataError, lambda: compare_numbers(truth, outcomes, BOTH, level=0.95), words)


@pytest.mark.parametrize(
    ("options", "words"),
    [
        ({"predictions": {"original": ORIGINAL}}, "at least two"),
        ({"resamples": 3}, "resamples = 3 must be"),
        ({"bias": {"original": BIAS, "other": math.nan}}, "bias of 'other' is nan"),
        ({"bias": {"original": 1}}, "bias has no score for 'other'"),
        ({"level": 2}, "level is 2"),
        (
            {"predictions": {"original": predicted(30), "other": ORIGINAL}},
            "it has nothing to give up",
        ),
        ({"bias": {"original": 0, "other": 0.1}}, "shows no bias"),
    ],
)
def test_wrong_arguments_and_originals_are_refused(options, words):
    arguments: dict[str, Any] = {
        "truth": TRUTH,
        "predictions": outcomes_with(predicted(3)),
        "bias": BOTH,
        "level": 0.95,
    }
    refused(UsageError, lambda: compare_numbers(**(arguments | options)), words)
