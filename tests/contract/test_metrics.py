"""What every metric keeps, those of evenhand, those of installed packages, and those that a user
wrote.
"""

from __future__ import annotations

import inspect
import subprocess
import sys
from functools import partial
from typing import Any

import numpy as np
import pytest

import evenhand as eh
from evenhand.methods.compare.axes import as_bias, as_performance
from evenhand.methods.compare.contingency import Frame
from evenhand.methods.compare.metrics import METRICS, Metric, as_metric, metric_names
from evenhand.methods.compare.regions import Overwriting, curve, repeated
from evenhand.runtime.errors import DataError, UsageError
from tests.support.helpers import refused

FRAME = Frame.of([0, 1], {"sex": ["f", "m"]})
KNOWN = np.array([[[30.0, 10.0], [20.0, 40.0]], [[24.0, 16.0], [5.0, 55.0]]])
"""People by sex, true and predicted label."""
HITS, ALARMS = 55 / 60 - 40 / 60, 16 / 40 - 10 / 40
VALUES = {
    "spd": 71 / 100 - 50 / 100,
    "aod": (HITS + ALARMS) / 2,
    "aod-abs": (HITS + ALARMS) / 2,
    "eod": HITS,
    "fpr": ALARMS,
    "odds": HITS,
    "di": 1 - 50 / 71,
    "error": 79 / 100 - 70 / 100,
    "accuracy": 149 / 200,
    "balanced accuracy": (54 / 80 + 95 / 120) / 2,
    "f1": 2 * 95 / (120 + 121),
    "mcc": (54 * 95 - 26 * 25) / np.sqrt(80 * 120 * 79 * 121),
}
BIASES, PERFORMANCES = metric_names("bias"), metric_names("performance")
every = pytest.mark.parametrize("name", list(METRICS))
biases = pytest.mark.parametrize("name", BIASES)
performances = pytest.mark.parametrize("name", PERFORMANCES)


def score(metric: Any, frame: Frame = FRAME, positive: Any = 1) -> Any:
    """Return a metric by its name, or as it is, as a score of tables."""
    kind = metric.kind if isinstance(metric, Metric) else METRICS[metric].kind
    made = (as_bias if kind == "bias" else as_performance)(metric, frame, positive)
    assert made is not None
    return made


def tables(number: int, labels: int = 2, groups: int = 2, seed: int = 0) -> Any:
    """Random tables in which every group has some of every true label."""
    return (
        np.random.default_rng(seed)
        .integers(5, 100, (number, groups, labels, labels))
        .astype(float)
    )


def rows_of(table: Any) -> tuple[Any, Any, Any]:
    """Return the protected values, the true and the predicted labels of the people that a table
    stands for.
    """
    at = np.repeat(np.arange(table.size), table.ravel().astype(int))
    group, truth, predicted = np.unravel_index(at, table.shape)
    return np.array(["f", "m"])[group], truth, predicted


def compared(table: Any = KNOWN, **settings: Any) -> eh.Comparison:
    """Compare predictions with those that are a little less biased."""
    sex, truth, predicted = rows_of(table)
    every_third = np.arange(len(sex)) % 3 == 0
    is_changed = (sex == "f") & (truth == 1) & every_third
    less = np.where(is_changed, 1, predicted)
    return eh.compare(
        {"original": predicted, "less": less},
        truth,
        {"sex": sex},
        **{"resamples": 100, **settings},
    )


# Every metric.


@every
def test_a_metric_is_called_as_it_is_registered_and_says_what_it_is(name):
    metric = METRICS[name]
    assert metric.name == name
    assert metric.help
    assert not metric.help.endswith(".")
    assert as_metric(name, metric.kind) is metric
    assert as_metric(metric, metric.kind) is metric


@pytest.mark.parametrize("name", VALUES)
def test_a_known_table_has_its_known_value(name):
    assert float(score(name)(KNOWN)) == pytest.approx(VALUES[name])


def test_every_metric_of_evenhand_is_known_here_and_where_it_is_documented():
    assert set(VALUES) <= set(METRICS)
    for name in VALUES:
        assert f'"{name}"' in (inspect.getdoc(eh.compare) or "")


@every
@pytest.mark.parametrize("labels", [2, 3])
def test_values_lie_within_their_bounds(name, labels):
    frame = Frame.of(range(labels), {"sex": ["f", "m"]})
    for positive in (0, None):
        made = score(name, frame, positive)
        found = made(tables(200, labels))
        assert found.shape == (200,)
        assert np.isfinite(found).all()
        assert ((found >= made.low) & (found <= made.high)).all()
        assert len(np.unique(found)) > 100


@every
def test_many_tables_at_once_are_one_after_the_other(name):
    some = tables(6).reshape(2, 3, 2, 2, 2)
    at_once = score(name)(some)
    assert at_once.shape == (2, 3)
    for place in np.ndindex(2, 3):
        assert at_once[place] == pytest.approx(float(score(name)(some[place])))


@every
def test_only_shares_count_and_not_how_many_people_there_are(name):
    some = tables(20)
    assert score(name)(10 * some) == pytest.approx(score(name)(some))


@biases
def test_groups_that_are_treated_alike_have_no_bias_whatever_their_names(name):
    some = tables(20)
    alike = np.stack([some[:, 0], 3 * some[:, 0]], axis=1)
    assert score(name)(alike) == pytest.approx(0.0)
    assert score(name)(some[:, ::-1]) == pytest.approx(score(name)(some))


@biases
def test_a_bias_of_several_groups_is_the_worst_of_any_two(name):
    frame = Frame.of([0, 1], {"race": ["a", "b", "c"]})
    some = tables(30, groups=3)
    pairs = [score(name)(some[:, list(pair)]) for pair in ((0, 1), (0, 2), (1, 2))]
    assert score(name, frame)(some) == pytest.approx(np.max(pairs, axis=0))


@performances
def test_the_best_performance_is_that_of_the_truth(name):
    made = score(name)
    some = tables(20)
    perfect = np.eye(2) * some.sum(axis=-1, keepdims=True)
    assert made(perfect) == pytest.approx(made.high)
    assert (made(some) < made.high).all()


# Lines.


def straightness(name: str, label: int | None) -> float:
    """Return how far the middle of a line is from halfway between its ends, at most."""
    pair = (
        (score(name), score("accuracy")) if name in BIASES else (score("spd"), score(name))
    )
    line = curve(Overwriting((0.0, 0.5, 0.999), label), tables(50), pair)[
        name in PERFORMANCES
    ]
    share = 0.5 / 0.999
    return float(np.abs(line[:, 1] - (1 - share) * line[:, 0] - share * line[:, 2]).max())


@every
def test_linear_metrics_are_linear_and_others_are_not(name):
    bent = [straightness(name, label) for label in (0, 1, None)]
    if METRICS[name].linear:
        assert max(bent) < 1e-9
    else:
        assert max(bent) > 1e-3


@pytest.mark.parametrize("name", [name for name in BIASES if METRICS[name].linear])
def test_linear_biases_go_down_in_proportion(name):
    degrees = (0.0, 0.25, 0.5, 1.0)
    bias, _ = curve(Overwriting(degrees, 1), KNOWN, (score(name), score("accuracy")))
    assert bias == pytest.approx(VALUES.get(name, bias[0]) * (1 - np.array(degrees)))


@pytest.mark.parametrize("name", [name for name in PERFORMANCES if METRICS[name].linear])
def test_linear_performances_of_a_mean_table_are_the_mean(name):
    one = tables(20)
    other = one[..., ::-1]  # as many of each true label, predicted otherwise
    mean = (score(name)(one) + score(name)(other)) / 2
    assert score(name)((one + other) / 2) == pytest.approx(mean)


@every
@pytest.mark.parametrize("label", [1, None])
def test_the_exact_line_is_that_of_many_repetitions(name, label):
    pair = (
        (score(name), score("accuracy")) if name in BIASES else (score("spd"), score(name))
    )
    table = 50 * KNOWN
    way = Overwriting((0.0, 0.3, 0.7), label)
    exact = curve(way, table, pair)[name in PERFORMANCES]
    drawn = repeated(way, table, pair, 300, np.random.default_rng(1))[name in PERFORMANCES]
    assert drawn == pytest.approx(exact, abs=0.003)


# In a comparison.


def given(name: str, metric: Any) -> dict[str, Any]:
    return {METRICS[name].kind: metric}


@every
def test_a_name_and_its_metric_are_compared_alike(name):
    by_name, by_object = (
        compared(**given(name, name)),
        compared(**given(name, METRICS[name])),
    )
    assert by_name.digest == by_object.digest
    shown = by_name.bias if METRICS[name].kind == "bias" else by_name.performance
    assert shown == name


@every
def test_a_function_of_rows_is_compared_as_the_metric_of_their_table(name):
    made = score(name)

    def of_rows(truth: Any, predicted: Any, protected: Any) -> float:
        place = FRAME.place({"sex": protected})
        return float(made(FRAME.table(FRAME.cells(place, truth, predicted))))

    by_name, by_rows = compared(**given(name, name)), compared(**given(name, of_rows))
    assert by_rows.region == by_name.region
    for one, other in zip(by_rows.start, by_name.start, strict=True):
        assert one.value == pytest.approx(other.value)
    assert by_rows["less"].bias.value == pytest.approx(by_name["less"].bias.value)
    assert by_rows["less"].performance.value == pytest.approx(
        by_name["less"].performance.value
    )


@every
def test_the_favourable_label_is_asked_for_where_it_matters(name):
    sex, truth, predicted = rows_of(KNOWN)
    words = np.array(["no", "yes"])
    outcomes = {"original": words[predicted], "truth": words[truth]}
    compare = partial(
        eh.compare, outcomes, words[truth], sex, resamples=100, **given(name, name)
    )
    if METRICS[name].needs_positive:
        refused(UsageError, compare, f"{name} needs the favourable label", "'yes'")
    else:
        either = [compare(positive=positive).start for positive in ("no", "yes")]
        for one, other in zip(*either, strict=True):
            assert one.value == pytest.approx(other.value)


@biases
def test_a_group_that_it_cannot_speak_of_is_refused(name):
    for truth, label, words in (
        (1, "favourable", "no row with a favourable true label"),
        (0, "unfavourable", "no row with an unfavourable true label"),
    ):
        table = KNOWN.copy()
        table[0, truth] = 0
        if label not in METRICS[name].rests_on:
            assert score(name).undefined(table) == ""
            continue
        assert score(name).undefined(table) == f"sex f: {words}"
        refused(
            DataError,
            partial(compared, table, bias=name),
            f"{name} is undefined for sex f",
            words,
        )


# A user's own.


def precision_gap(cells: Any, favourable: Any) -> Any:
    accepted = cells[..., favourable].sum(axis=(-2, -1))
    right = cells[..., favourable, :][..., favourable].sum(axis=(-2, -1))
    precision = right / accepted
    return precision.max(axis=-1) - precision.min(axis=-1)


GAP = Metric(
    "precision gap",
    precision_gap,
    bounds=(0.0, 1.0),
    needs_positive=True,
    help="precisions",
)
RIGHT = Metric(
    "right", lambda cells, _: np.trace(cells, axis1=-2, axis2=-1) ** 2, kind="performance"
)


def test_a_metric_of_ones_own_is_compared():
    found = compared(bias=GAP, performance=RIGHT)
    assert (found.bias, found.performance) == ("precision gap", "right")
    assert found.start[1].value == pytest.approx(40 / 50 - 55 / 71)
    assert found.start[0].value == pytest.approx(149**2)
    assert found.baseline.method == "expected cells"
    assert found.digest == compared(bias=GAP, performance=RIGHT).digest


def test_a_linear_metric_has_an_exact_line():
    linear = Metric(
        "rates",
        lambda cells, favourable: METRICS["spd"].function(cells, favourable),
        linear=True,
    )
    found, known = compared(bias=linear), compared(bias="spd")
    assert found.baseline == known.baseline
    assert found.baseline.method == "exact"
    assert found.start[1].value == known.start[1].value


def test_a_metric_can_be_registered_under_a_name():
    METRICS.register("precision gap", GAP)
    try:
        assert compared(bias="precision gap").digest == compared(bias=GAP).digest
        assert metric_names("bias") == [*BIASES, "precision gap"]
        refused(
            UsageError,
            lambda: compared(bias="precison gap"),
            "did you mean 'precision gap'",
        )
        refused(
            UsageError, lambda: compared(performance="precision gap"), "unknown performance"
        )
    finally:
        METRICS.unregister("precision gap")
    refused(UsageError, lambda: compared(bias="precision gap"), "unknown bias")
    refused(UsageError, lambda: METRICS.register("spd", GAP), "evenhand's own")


def test_a_metric_that_cannot_be_loaded_hides_no_other():
    METRICS.register("gone", "no_such_package:METRIC")  # type: ignore[arg-type]
    try:
        assert metric_names("bias") == BIASES
        refused(
            UsageError,
            lambda: compared(bias="gone"),
            "metric 'gone' cannot be loaded",
            "no_such_package",
        )
    finally:
        METRICS.unregister("gone")


def test_a_metric_is_taken_for_its_kind_alone():
    refused(
        UsageError,
        lambda: compared(bias=RIGHT),
        "bias = 'right' is a metric of performance",
        "'spd'",
    )
    refused(
        UsageError,
        lambda: compared(performance=GAP),
        "performance = 'precision gap' is a metric of bias",
    )
    _, truth, predicted = rows_of(KNOWN)
    alone = partial(eh.compare, {"original": predicted, "same": predicted}, truth, bias=GAP)
    refused(UsageError, alone, "bias = 'precision gap' needs the option protected")


def test_a_metric_that_says_something_else_is_refused():
    def broken(cells: Any, favourable: Any) -> Any:
        raise KeyError("mine")

    for function, words in (
        (broken, ["the metric wrong failed", "KeyError", "mine"]),
        (lambda cells, _: cells.sum(), ["the metric wrong gave numbers of the shape ()"]),
        (
            lambda cells, _: cells.sum(axis=-1),
            ["for tables of the shape", "one for each table"],
        ),
        (lambda cells, _: -np.ones(cells.shape[:-3]), ["a bias is a size of 0 or more"]),
    ):
        refused(UsageError, partial(compared, bias=Metric("wrong", function)), *words)
    undefined = Metric("nobody", lambda cells, _: np.full(cells.shape[:-3], np.nan))
    refused(DataError, lambda: compared(bias=undefined), "the bias nobody is undefined")


def test_mistakes_in_a_metric_are_reported_in_a_sentence():
    refused(UsageError, lambda: Metric("", precision_gap), "name must be a text")
    refused(UsageError, lambda: Metric("gap", 5), "metric 'gap': 5 is not a function")  # type: ignore[arg-type]
    wrong: Any = "bais"
    refused(
        UsageError, lambda: Metric("gap", precision_gap, kind=wrong), "did you mean 'bias'"
    )
    refused(
        UsageError,
        lambda: Metric("gap", precision_gap, rests_on=("favorable",)),
        "did you mean 'favourable'",
    )


def test_the_names_cost_no_import_of_numpy():
    code = (
        "import sys; from evenhand.methods.compare.metrics import metric_names;"
        " print(*metric_names('bias'), *metric_names('performance')); assert 'numpy' not in"
        " sys.modules"
    )
    ran = subprocess.run(
        [sys.executable, "-c", code], capture_output=True, text=True, check=True
    )
    assert "spd aod aod-abs eod fpr odds di error" in ran.stdout
