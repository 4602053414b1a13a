"""Bad input to compare: one clear sentence each, that names the field and the value."""

from __future__ import annotations

import warnings
from functools import partial
from typing import Any

import numpy as np
import pandas as pd
import polars as pl
import pytest

import evenhand as eh
from evenhand.runtime.errors import DataError, UsageError
from tests.support.helpers import refused

RNG = np.random.default_rng(0)
N = 200
SEX = RNG.choice(["f", "m"], N)
TRUTH = RNG.integers(0, 2, N)
RIGHT = RNG.random(N) < 0.8
FAVOURED = (SEX == "m") & (RNG.random(N) < 0.4)
ORIGINAL = np.where(RIGHT, TRUTH, 1 - TRUTH) | FAVOURED
REFUSED = (SEX == "m") & (RNG.random(N) < 0.3)
OTHER = np.where(REFUSED, 0, ORIGINAL)
OUTCOMES = {"original": ORIGINAL, "other": OTHER}
WORDS = np.array(["no", "yes"])


def run(
    outcomes: Any = None,
    truth: Any = TRUTH,
    protected: Any = SEX,
    **options: Any,
) -> eh.Comparison:
    return eh.compare(
        OUTCOMES if outcomes is None else outcomes,
        truth,
        protected,
        resamples=100,
        **options,
    )


def holed(column: Any, at: int = 7) -> list[Any]:
    found = list(column)
    found[at] = None
    return found


def test_these_people_can_be_compared():
    assert run().region["other"]


@pytest.mark.parametrize(
    ("outcomes", "words"),
    [
        (
            {"original": ORIGINAL, "other": OTHER[:-1]},
            ["'other' has 199 rows", "y_true 200"],
        ),
        ({"original": ORIGINAL[:-1], "other": OTHER}, ["'original' has 199 rows"]),
        ({"original": ORIGINAL, "other": holed(OTHER)}, ["'other' has no value in row 7"]),
        (
            {"original": holed(ORIGINAL), "other": OTHER},
            ["'original' has no value in row 7"],
        ),
        (
            {"original": ORIGINAL, "other": OTHER * 2},
            ["'other' predicts 2", "valid choices are 0, 1"],
        ),
        ({"original": ORIGINAL, "other": WORDS[OTHER]}, ["'other' predicts 'no'"]),
        (
            {"original": WORDS[ORIGINAL], "other": WORDS[OTHER]},
            ["'original' predicts 'no'", "not a true label"],
        ),
        (
            {"original": ORIGINAL, "other": OTHER.astype(str)},
            ["'other' predicts '0'", "did you mean 0?"],
        ),
        ({"original": ORIGINAL, "other": 3}, ["'other' is 3", "not a column"]),
        ({"original": ORIGINAL, "other": "yes"}, ["'other' is 'yes'", "not a column"]),
        ({"original": ORIGINAL, "other": None}, ["'other' is None", "not a column"]),
        (
            {"original": ORIGINAL, "other": pd.DataFrame({"a": OTHER, "b": OTHER})},
            ["'other' has 2 columns (a, b)"],
        ),
        (
            {"original": np.ones(N, int), "other": OTHER},
            ["'original' predicts 1 for everyone"],
        ),
        (
            {"original": [ORIGINAL] * 3, "other": [OTHER] * 2},
            ["'other' has 2 runs and there are 3"],
        ),
        ({"original": [], "other": []}, ["'original' has 0 rows"]),
    ],
)
def test_outcomes(outcomes, words):
    refused(DataError, lambda: run(outcomes), *words)


def test_outcomes_that_are_too_few_or_no_mapping():
    given: Any
    for given in ([ORIGINAL, OTHER], {"original": ORIGINAL}, {}, ORIGINAL):
        refused(
            UsageError, partial(eh.compare, given, TRUTH, SEX), "outcomes", "at least two"
        )


@pytest.mark.parametrize(
    ("truth", "words"),
    [
        (TRUTH[:-1], ["y_true 199"]),
        (holed(TRUTH), ["y_true has no value in row 7"]),
        (3, ["y_true is 3"]),
        (None, ["y_true is None"]),
        ("yes", ["y_true is 'yes'"]),
        (np.stack([TRUTH, TRUTH]), ["y_true has the shape (2, 200)"]),
        (pd.DataFrame({"a": TRUTH, "b": TRUTH}), ["y_true has 2 columns (a, b)"]),
        ([], ["y_true has no rows"]),
    ],
)
def test_truth(truth, words):
    refused(DataError, lambda: run(truth=truth), *words)


@pytest.mark.parametrize(
    ("protected", "words"),
    [
        (SEX[:-1], ["'protected' has 199 rows"]),
        (["f"] * N, ["one group", "'f'", "at least two groups"]),
        (holed(SEX), ["'protected' has no value in row 7"]),
        (3, ["'protected' is 3"]),
        ("sex", ["'protected' is 'sex'"]),
        (np.stack([SEX, SEX], axis=1), ["'protected' has the shape (200, 2)"]),
        ({"sex": SEX, "race": SEX[:-1]}, ["200 rows of 'sex' and 199 of 'race'"]),
        (
            pd.Series(pd.Categorical(SEX, ["f", "m", "x"]), name="sex"),
            ["'sex' declares the group 'x'", "no row"],
        ),
        (
            pd.DataFrame({"sex": pd.Categorical(["f"] * N, ["f", "m"])}),
            ["'sex' declares the group 'm'", "no row"],
        ),
        (
            {"sex": pd.Series(pd.Categorical(SEX, ["f", "m", "x"], ordered=True))},
            ["'sex' declares the group 'x'"],
        ),
        (
            pl.DataFrame({"sex": pl.Series(SEX, dtype=pl.Enum(["f", "m", "x"]))}),
            ["'sex' declares the group 'x'"],
        ),
    ],
)
def test_protected(protected, words):
    refused(DataError, lambda: run(protected=protected), *words)


def test_categories_that_are_all_there_are_fine():
    expected = run(protected=pd.Series(SEX, name="sex")).digest
    of_pandas = pd.Series(pd.Categorical(SEX), name="sex")
    assert run(protected=of_pandas).digest == expected
    enumerated = pl.Series(SEX, dtype=pl.Enum(["f", "m"]))
    assert run(protected=pl.DataFrame({"sex": enumerated})).digest == expected
    of_polars = pl.Series(SEX, dtype=pl.Categorical)
    assert run(protected=pl.DataFrame({"sex": of_polars})).digest == expected


def test_protected_that_is_missing():
    refused(
        UsageError, lambda: run(protected=None), "bias = 'spd' needs the option protected"
    )
    refused(UsageError, lambda: run(protected={}), "protected has no column")


@pytest.mark.parametrize(
    ("options", "words"),
    [
        ({"baseline": "orignal"}, ["baseline = 'orignal'", "did you mean 'original'?"]),
        ({"bias": "spdd"}, ["unknown bias 'spdd'", "did you mean 'spd'?"]),
        ({"bias": None}, ["unknown bias None"]),
        ({"bias": ["spd"]}, ["unknown bias ['spd']"]),
        (
            {"performance": "acuracy"},
            ["unknown performance 'acuracy'", "did you mean 'accuracy'?"],
        ),
        ({"performance": None}, ["unknown performance None"]),
        ({"performance": ["accuracy"]}, ["unknown performance ['accuracy']"]),
        ({"performance": "roc_auc"}, ["roc_auc needs scores or probabilities"]),
        ({"performance": "neg_log_loss"}, ["neg_log_loss needs scores or probabilities"]),
        (
            {"performance": "neg_brier_score"},
            ["neg_brier_score needs scores or probabilities"],
        ),
        (
            {"overwrite": "majorty"},
            ["unknown overwrite 'majorty'", "did you mean 'majority'?"],
        ),
        ({"overwrite": "label"}, ["overwrite = 'label' needs the option label", "0, 1"]),
        ({"overwrite": "label", "label": 3}, ["label = 3", "0, 1"]),
        ({"label": 1}, ["label = 1", "'tightest'"]),
        (
            {"line": "montecarlo"},
            ["unknown line 'montecarlo'", "did you mean 'monte-carlo'?"],
        ),
        ({"level": 1.0}, ["level = 1.0"]),
        ({"level": 95}, ["level = 95", "0.95"]),
        ({"level": "0.95"}, ["level = '0.95'"]),
        ({"level": float("nan")}, ["level = nan"]),
        ({"test_size": 1}, ["test_size = 1"]),
        ({"test_size": -0.1}, ["test_size = -0.1"]),
        ({"repetitions": 0}, ["repetitions = 0"]),
        ({"repetitions": 1.5}, ["repetitions = 1.5"]),
        ({"support": 2}, ["support = 2"]),
        ({"support": -0.1}, ["support = -0.1"]),
        ({"support": "x"}, ["support = 'x'"]),
        ({"over": "sexx"}, ["over names 'sexx'"]),
        ({"over": []}, ["over = []"]),
        ({"over": 3}, ["over = 3"]),
        ({"over": [3]}, ["over = [3]"]),
        ({"degrees": [2]}, ["degrees = [2]"]),
        ({"degrees": "all"}, ["degrees = 'all'"]),
        ({"degrees": None}, ["degrees = None"]),
        ({"degrees": [float("nan")]}, ["degrees = [nan]"]),
        ({"seed": -1}, ["seed = -1"]),
        ({"seed": "x"}, ["seed = 'x'"]),
        ({"positive": "yes"}, ["positive = 'yes'", "0, 1"]),
        ({"positiv": 1}, ["no option 'positiv'", "did you mean 'positive'?"]),
    ],
)
def test_options(options, words):
    refused(UsageError, lambda: run(**options), *words)


def test_too_few_resamples():
    refused(
        UsageError,
        lambda: eh.compare(OUTCOMES, TRUTH, SEX, resamples=5),
        "resamples = 5",
        "100",
    )


@pytest.mark.parametrize(
    "option",
    [{"bias": "eod"}, {"bias": "fpr"}, {"bias": "di"}, {"performance": "f1"}],
)
def test_a_score_of_one_side_needs_the_favourable_label(option):
    outcomes = {name: WORDS[predicted] for name, predicted in OUTCOMES.items()}
    truth = WORDS[TRUTH]
    (score,) = option.values()
    refused(
        UsageError,
        lambda: run(outcomes, truth, **option),
        f"{score} needs the favourable label",
        "'no', 'yes'",
    )
    named = run(outcomes, truth, positive="yes", **option)
    assert named.region == run(**option).region


def test_an_original_without_bias():
    alike = np.array([0, 1] * 50)
    sex = ["f", "f", "m", "m"] * 25
    outcomes = {"original": alike, "other": np.roll(alike, 1)}
    refused(UsageError, lambda: run(outcomes, alike, sex), "'original' shows no bias")


def test_an_original_no_better_than_the_majority():
    truth = (np.arange(N) < 190).astype(int)
    refused(
        UsageError,
        lambda: run(truth=truth),
        "'original'",
        "1 for everyone 0.9500",
        "nothing to give up",
    )


@pytest.mark.parametrize("bias", ["eod", "aod", "aod-abs", "odds"])
def test_a_bias_needs_favourable_true_labels_in_each_group(bias):
    refused(
        DataError,
        lambda: run(protected=np.where(TRUTH == 1, "f", SEX), bias=bias),
        "undefined for protected m",
        "no row with a favourable true label",
    )


@pytest.mark.parametrize("bias", ["fpr", "aod", "aod-abs", "odds"])
def test_a_bias_needs_unfavourable_true_labels_in_each_group(bias):
    refused(
        DataError,
        lambda: run(protected=np.where(TRUTH == 0, "f", SEX), bias=bias),
        "undefined for protected m",
        "no row with an unfavourable true label",
    )


def test_predictions_for_which_a_bias_is_undefined():
    outcomes = {"original": ORIGINAL, "none": np.zeros(N, int)}
    words = "di is undefined for the predictions of 'none'"
    refused(DataError, lambda: run(outcomes, bias="di"), words)


@pytest.mark.parametrize(
    ("bias", "words"),
    [
        ({"original": 0.2}, ["no score for 'other'"]),
        (
            {"original": 0.2, "other": 0.1, "oter": 0.1},
            ["score for 'oter'", "did you mean 'other'?"],
        ),
        ({"original": 0.2, "other": float("nan")}, ["bias of 'other' is nan"]),
        ({"original": 0.2, "other": float("inf")}, ["number of 0 or more"]),
        ({"original": 0.2, "other": -0.1}, ["number of 0 or more"]),
        ({"original": 0.2, "other": "much"}, ["bias of 'other' is 'much'"]),
        ({"original": 0.2, "other": None}, ["bias of 'other' is None"]),
        ({"original": 0.0, "other": 0.1}, ["'original' shows no bias"]),
        ({"original": [0.2, 0.3], "other": 0.1}, ["2 scores for 'original'"]),
        (
            {"original": 0.2, "other": eh.Witnesses.of(3, 100, "random")},
            ["'other' counts witnesses", "measure"],
        ),
    ],
)
def test_measured_scores(bias, words):
    refused(UsageError, lambda: run(bias=bias), *words)


def boom(*_: Any) -> float:
    raise RuntimeError("two\nlines")


@pytest.mark.parametrize("side", ["bias", "performance"])
@pytest.mark.parametrize(
    ("function", "kind", "words"),
    [
        (boom, UsageError, ["boom failed (RuntimeError: two lines)"]),
        (lambda true, predicted: "much", UsageError, ["ValueError", "'much'"]),
        (lambda true, predicted: None, UsageError, ["TypeError"]),
        (lambda true, predicted: np.array([1.0, 2.0]), UsageError, ["TypeError"]),
        (lambda true: 0.5, UsageError, ["TypeError", "1 positional argument"]),
        (lambda true, predicted, sex, more: 0.5, UsageError, ["TypeError", "'more'"]),
        (
            lambda true, predicted: float("nan"),
            DataError,
            ["undefined for the predictions of 'original'"],
        ),
        (
            lambda true, predicted: float("inf"),
            DataError,
            ["undefined for the predictions of 'original'"],
        ),
        (
            lambda true, predicted: float("nan") if predicted.sum() == OTHER.sum() else 0.5,
            DataError,
            ["undefined for the predictions of 'other'"],
        ),
    ],
)
def test_functions(side, function, kind, words):
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        refused(kind, lambda: run(**{side: function}), *words)


def test_a_signed_difference_is_no_bias():
    def gap(true: Any, predicted: Any, sex: Any) -> Any:
        rate_of_women = predicted[sex == "f"].mean()
        rate_of_men = predicted[sex == "m"].mean()
        return rate_of_women - rate_of_men

    def size(true: Any, predicted: Any, sex: Any) -> Any:
        return abs(gap(true, predicted, sex))

    refused(UsageError, lambda: run(bias=gap), "gap of 'original' is -0.", "absolute value")
    _, bias = run(bias=size).start
    _, spd = run().start
    assert bias.value == pytest.approx(spd.value)


def runs(number: int, **changed: Any) -> dict[str, Any]:
    columns = {
        "outcomes": {"original": [ORIGINAL] * number, "other": [OTHER] * number},
        "truth": [TRUTH] * number,
        "protected": [SEX] * number,
    }
    return columns | changed


@pytest.mark.parametrize(
    ("changed", "words"),
    [
        ({"truth": [TRUTH] * 2}, ["'original' has 3 runs and there are 2"]),
        (
            {"outcomes": {"original": [ORIGINAL] * 3, "other": [OTHER]}},
            ["'other' has 1 runs and there are 3"],
        ),
        ({"protected": [SEX] * 2}, ["y_true has 3 runs and protected 2 runs"]),
        ({"protected": SEX}, ["y_true has 3 runs and protected one run"]),
        ({"protected": [SEX, SEX, None]}, ["'protected' is None"]),
        (
            {"protected": [SEX, SEX, SEX[:-1]]},
            ["'protected' has 199 rows and y_true 200 in run 2"],
        ),
        (
            {"protected": [{"sex": SEX}, {"sex": SEX}, {"race": SEX}]},
            ["run 2 has the protected columns race"],
        ),
        (
            {"truth": [TRUTH, holed(TRUTH), TRUTH]},
            ["y_true in run 1 has no value in row 7"],
        ),
        (
            {"protected": [SEX, SEX, ["f"] * N]},
            ["test set in run 2", "undefined for protected m", "no row at all"],
        ),
        (
            {"outcomes": {"original": [ORIGINAL] * 3, "other": [OTHER, OTHER, OTHER[:-1]]}},
            ["'other' has 199", "run 2"],
        ),
    ],
)
def test_runs_with_their_own_test_sets(changed, words):
    refused(DataError, lambda: run(**runs(3, **changed)), *words)


def test_one_run_of_its_own_tells_nothing_of_the_next():
    refused(UsageError, lambda: run(**runs(1)), "1 run", "at least two")
