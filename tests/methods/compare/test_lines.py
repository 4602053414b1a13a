"""Lines of overwriting and scores of one's own at their edges: steps, small extents, one person."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

from evenhand.methods.compare.contingency import Frame
from evenhand.methods.compare.metrics.scores import Function
from evenhand.methods.compare.regions import (
    LOSE_LOSE,
    Overwriting,
    OverwritingLine,
    choose,
    curve,
    regions,
    repeated,
)
from evenhand.methods.compare.regression import compare_numbers, r2_change
from evenhand.runtime.errors import UsageError

TABLE = np.array([[[3.0, 1.0], [2.0, 4.0]], [[1.0, 0.0], [0.0, 5.0]]])


def line(bias, performance):
    return OverwritingLine.through(np.array(bias), np.array(performance))


def accuracy(tables):
    right = tables[..., 0, 0].sum(axis=-1) + tables[..., 1, 1].sum(axis=-1)
    return right / tables.sum(axis=(-3, -2, -1))


def scores(bias: Any = None) -> Any:
    """Return a score of bias, None for one measured elsewhere, and that of performance."""
    return bias, accuracy


def test_at_a_step_of_the_line_its_upper_end_counts():
    step = line([0.0, 0.5, 0.5], [0.5, 0.6, 0.8])
    assert step.at(0.5) == pytest.approx(0.8)
    assert step.at(0.5 - 1e-10) == pytest.approx(0.8)
    assert step.at(0.5 - 1e-6) == pytest.approx(0.6, abs=1e-5)
    assert line([0.0, 0.0, 0.5], [0.4, 0.5, 0.8]).at(0.0) == pytest.approx(0.5)


def test_beyond_its_ends_the_line_is_level():
    found = line([0.1, 0.5], [0.4, 0.8])
    assert found.at([0.0, 0.1, 0.3, 0.5, 0.9]) == pytest.approx([0.4, 0.4, 0.6, 0.8, 0.8])


def test_points_that_are_undefined_are_left_out_of_a_line():
    nan = np.nan
    found = line([nan, 0.0, 0.3, 0.5], [0.9, 0.4, nan, 0.8])
    assert found.at([0.0, 0.25, 0.5]) == pytest.approx([0.4, 0.6, 0.8])
    assert [float(extent) for extent in found.ranges] == pytest.approx([0.5, 0.4])


def test_the_line_keeps_to_the_better_of_points():
    found = line([0.5, 0.3, 0.0], [0.6, 0.7, 0.4])
    assert found.at([0.3, 0.4, 0.5]) == pytest.approx([0.7, 0.7, 0.7])


@pytest.mark.parametrize("size", [1.0, 1e-3, 1e-5, 1e-7])
def test_an_area_does_not_depend_on_the_scale_of_the_line(size):
    found = line([0.0, size], [0.0, size])
    # Over the middle of the line, as high as its end: a triangle of an eighth of the square.
    assert found.area(size / 2, size) == pytest.approx(1 / 8)
    assert found.area(0.0, size) == pytest.approx(1 / 2)
    assert found.area(size, 0.0) == 0


def test_a_line_of_no_extent_has_no_area():
    assert np.isnan(line([0.0, 1e-9], [0.0, 1e-9]).area(0.0, 1.0))


def test_points_just_as_good_as_the_original_are_not_better():
    close = 1e-9
    assert regions(close, -close, close).tolist() == 1
    assert regions(0.0, 2 * close, 0.0).tolist() == LOSE_LOSE
    assert regions(2 * close, -close, 0.0).tolist() == 2
    assert regions(2 * close, -2 * close, 0.0).tolist() == 4
    assert regions(close, -2 * close, 2 * close).tolist() == 3


def test_a_mean_over_repetitions_is_of_those_in_which_the_bias_is_defined():
    def bias(tables):
        found = np.full(tables.shape[:2], np.nan)
        found[0, 0] = 0.5
        found[:2, 1] = 0.25, 0.75
        found[:, 2] = 0.3
        return found

    overwriting = Overwriting((0.0, 0.5, 1.0), 1)
    rng = np.random.default_rng(0)
    found, performance = repeated(overwriting, TABLE, scores(bias), 4, rng)
    assert found == pytest.approx([0.5, 0.5, 0.3])
    assert performance[0] == pytest.approx(13 / 16)
    assert performance[2] == pytest.approx(11 / 16)

    def never(tables):
        return np.full(tables.shape[:2], np.nan)

    rng = np.random.default_rng(0)
    undefined, _ = repeated(overwriting, TABLE, scores(never), 4, rng)
    assert np.isnan(undefined).all()


def test_a_bias_measured_elsewhere_goes_down_in_proportion():
    overwriting = Overwriting((0.0, 0.25, 1.0), 0)
    bias, performance = curve(overwriting, TABLE, scores())
    assert bias.tolist() == [1.0, 0.75, 0.0]
    assert performance == pytest.approx([13 / 16, (0.75 * 13 + 0.25 * 5) / 16, 5 / 16])
    rng = np.random.default_rng(0)
    again, _ = repeated(overwriting, TABLE, scores(), 2, rng)
    assert again.tolist() == [1.0, 0.75, 0.0]


def test_the_majority_is_the_commonest_true_label_and_the_tightest_keeps_most():
    for strategy in ("majority", "tightest"):
        found = choose(strategy, None, ["no", "yes"], TABLE, scores())
        assert found.label == 1
    turned = TABLE[:, ::-1, ::-1]
    for strategy in ("majority", "tightest"):
        found = choose(strategy, None, ["no", "yes"], turned, scores())
        assert found.label == 0
    assert choose("random", None, ["no", "yes"], TABLE, scores()).label is None
    assert choose("label", "no", ["no", "yes"], TABLE, scores()).label == 0


@pytest.mark.parametrize("support", [-0.1, 1, 1.5, "half"])
def test_a_support_is_a_share_under_1(support):
    with pytest.raises(UsageError, match="must be a share of the rows"):
        Frame.of(["no", "yes"], {"sex": ["f", "m"]}, support=support)


def test_a_weighted_function_gets_the_cells_that_people_are_in():
    seen = []

    def score(truth, predicted, sample_weight):
        seen.append((truth.tolist(), predicted.tolist(), sample_weight.tolist()))
        return sample_weight[truth == predicted].sum() / sample_weight.sum()

    frame = Frame.of(["no", "yes"], {"sex": ["f", "m"]})
    assert Function.of(score, frame)(TABLE) == pytest.approx(13 / 16)
    ((truth, predicted, weights),) = seen
    assert weights == [3, 1, 2, 4, 1, 5]
    assert truth == ["no", "no", "yes", "yes", "no", "yes"]
    assert predicted == ["no", "yes", "no", "yes", "no", "yes"]


def test_limits_of_r2_do_not_exceed_1_and_those_of_a_bias_do_not_fall_below_0():
    rng = np.random.default_rng(0)
    truth = np.arange(12.0)
    predictions = {
        "original": truth + 4 * np.sin(truth),
        "fine": truth + rng.normal(size=12) * np.where(truth > 9, 2, 0.001),
    }
    found = compare_numbers(truth, predictions, {"original": 0.3, "fine": 0.1}, level=0.99)
    for standing in found.standings:
        assert standing.performance.high <= 1
        assert standing.bias.low >= 0


def test_the_gain_of_a_regressor_is_around_that_of_its_resamples():
    rng = np.random.default_rng(0)
    truth = rng.normal(size=2000)
    original = truth + 0.5 * rng.normal(size=2000)
    worse = original + 0.4 * rng.normal(size=2000)
    predictions = {"original": original, "other": worse}
    found = compare_numbers(
        truth, predictions, {"original": 0.3, "other": 0.05}, level=0.95
    )
    (standing,) = found.standings
    assert standing.region == "good trade-off"
    gain = standing.gain
    assert 0.8 * gain.value < gain.low < gain.value < gain.high < 1.2 * gain.value


def test_a_change_of_r2_is_that_of_the_formula():
    rng = np.random.default_rng(1)
    truth = rng.normal(size=80)
    before = truth + rng.normal(size=80)
    after = truth + 0.5 * rng.normal(size=80)
    found: Any = r2_change(truth, before, after, level=0.9, resamples=500)
    spread = ((truth - truth.mean()) ** 2).sum()
    gain = (((truth - before) ** 2).sum() - ((truth - after) ** 2).sum()) / spread
    assert found.value == pytest.approx(gain)
    assert found.low < gain < found.high
    assert found.n == 80
    assert found.level == 0.9
    assert r2_change(np.ones(5), np.ones(5), np.ones(5), level=0.9) is None


def test_the_gains_of_all_mitigations_hold_together():
    rng = np.random.default_rng(0)
    truth = rng.normal(size=200)
    names = ("original", "one", "two", "three")
    predictions = {name: truth + 0.5 * rng.normal(size=200) for name in names}
    bias = {"original": 0.3, "one": 0.2, "two": 0.1, "three": 0.05}
    found = compare_numbers(truth, predictions, bias, level=0.95)
    for standing in found.standings:
        assert standing.gain.method.endswith("over 3")
    del predictions["two"], predictions["three"], bias["two"], bias["three"]
    (alone,) = compare_numbers(truth, predictions, bias, level=0.95).standings
    assert alone.gain.method.endswith("over 1")
