"""compare: scores against independent ones, functions, measured scores, runs, and frames of any
engine.
"""

from __future__ import annotations

from itertools import combinations
from typing import Any

import numpy as np
import pandas as pd
import polars as pl
import pyarrow as pa
import pytest
from sklearn import metrics

import evenhand as eh
from evenhand.methods.compare.axes import as_performance
from evenhand.methods.compare.compare import compare_trials
from evenhand.methods.compare.contingency import Frame
from evenhand.methods.compare.trials import Trials
from evenhand.methods.compare.metrics.scores import Bias, Function, whole
from evenhand.statistics.estimate import Amount


def people(seed: int, labels: int = 2, races: int = 3, n: int = 250) -> dict[str, Any]:
    rng = np.random.default_rng(seed)
    sex, race, truth = rng.integers(0, 2, n), rng.integers(0, races, n), rng.integers(0, labels, n)
    told = np.where(rng.random(n) < 0.6 + 0.1 * sex, truth, rng.integers(0, labels, n))
    told = np.where((race == 1) & (rng.random(n) < 0.3), labels - 1, told)
    return {"sex": sex, "race": race, "truth": truth, "told": told}


def tabled(some: dict[str, Any], *columns: str, over: Any = None) -> tuple[Frame, Any]:
    frame = Frame.of(
        sorted(set(some["truth"].tolist())), {name: some[name] for name in columns}, over=over
    )
    return frame, frame.table(frame.cells(frame.place(some), some["truth"], some["told"]))


def rates(
    some: dict[str, Any], group: Any, positive: int
) -> list[tuple[float, float, float, float]]:
    """Return the rates of favourable outcomes, hits, alarms and right answers of each group, by
    plain means.
    """
    told, truth = some["told"] == positive, some["truth"] == positive
    right = some["told"] == some["truth"]
    return [
        (
            told[rows].mean(),
            told[rows & truth].mean(),
            told[rows & ~truth].mean(),
            right[rows].mean(),
        )
        for rows in (group == one for one in np.unique(group))
    ]


PAIRS: dict[str, Any] = {
    "spd": lambda a, b: abs(a[0] - b[0]),
    "aod": lambda a, b: abs((a[1] - b[1]) + (a[2] - b[2])) / 2,
    "aod-abs": lambda a, b: (abs(a[1] - b[1]) + abs(a[2] - b[2])) / 2,
    "eod": lambda a, b: abs(a[1] - b[1]),
    "fpr": lambda a, b: abs(a[2] - b[2]),
    "odds": lambda a, b: max(abs(a[1] - b[1]), abs(a[2] - b[2])),
    "di": lambda a, b: 1 - min(a[0], b[0]) / max(a[0], b[0]),
    "error": lambda a, b: abs(a[3] - b[3]),
}


def worst(name: str, some: dict[str, Any], group: Any, positive: int) -> float:
    return float(max(PAIRS[name](*pair) for pair in combinations(rates(some, group, positive), 2)))


@pytest.mark.parametrize("seed", range(5))
@pytest.mark.parametrize("name", PAIRS)
def test_a_bias_is_the_worst_of_all_pairs_of_groups(name, seed):
    some = people(seed, races=4)
    both = some["sex"] * 10 + some["race"]
    for columns, group in ((["sex"], some["sex"]), (["race"], some["race"])):
        frame, table = tabled(some, *columns)
        assert float(Bias.of(name, frame, 1)(table)) == pytest.approx(worst(name, some, group, 1))
    frame, table = tabled(some, "sex", "race")
    every = [worst(name, some, group, 1) for group in (some["sex"], some["race"], both)]
    assert float(Bias.of(name, frame, 1)(table)) == pytest.approx(max(every))
    frame, table = tabled(some, "sex", "race", over=["sex", "race"])
    assert float(Bias.of(name, frame, 1)(table)) == pytest.approx(max(every[:2]))
    frame, table = tabled(some, "sex", "race", over=[("sex", "race")])
    assert float(Bias.of(name, frame, 1)(table)) == pytest.approx(every[2])


@pytest.mark.parametrize("name", PAIRS)
def test_a_bias_of_several_labels_is_the_worst_of_each_against_the_rest(name):
    some = people(3, labels=3)
    frame, table = tabled(some, "race")
    every = [worst(name, some, some["race"], label) for label in range(3)]
    assert float(Bias.of(name, frame, None)(table)) == pytest.approx(max(every))
    for label in range(3):
        assert float(Bias.of(name, frame, label)(table)) == pytest.approx(every[label])


@pytest.mark.parametrize("name", ["spd", "aod", "aod-abs", "odds", "error"])
def test_biases_of_both_sides_do_not_depend_on_the_favourable_label(name):
    some = people(4)
    frame, table = tabled(some, "race")
    assert float(Bias.of(name, frame, 0)(table)) == pytest.approx(
        float(Bias.of(name, frame, 1)(table))
    )


@pytest.mark.parametrize(
    "seed", [0, *(pytest.param(seed, marks=pytest.mark.slow) for seed in (1, 2, 3))]
)
def test_fairlearn_says_the_same(seed):
    fairlearn = pytest.importorskip("fairlearn.metrics", reason="fairlearn is not installed")
    some = people(seed)
    rows = some["truth"], some["told"]
    for columns in (["sex"], ["race"], ["sex", "race"]):
        frame, table = tabled(some, *columns, over=[tuple(columns)])
        features = pd.DataFrame({name: some[name] for name in columns})
        expected = {
            "spd": fairlearn.demographic_parity_difference(*rows, sensitive_features=features),
            "odds": fairlearn.equalized_odds_difference(*rows, sensitive_features=features),
            (
                "aod-abs" if len(features.drop_duplicates()) == 2 else ""
            ): fairlearn.equalized_odds_difference(*rows, sensitive_features=features, agg="mean"),
            "eod": fairlearn.equal_opportunity_difference(*rows, sensitive_features=features),
            "di": 1 - fairlearn.demographic_parity_ratio(*rows, sensitive_features=features),
        }
        expected.pop("", None)
        for name, value in expected.items():
            assert float(Bias.of(name, frame, 1)(table)) == pytest.approx(value), name


@pytest.mark.parametrize("labels", [2, 3, 5])
@pytest.mark.parametrize("seed", range(3))
def test_scikit_learn_says_the_same(seed, labels):
    some = people(seed, labels=labels)
    frame, table = tabled(some, "sex")
    rows = some["truth"], some["told"]
    expected = {
        "accuracy": metrics.accuracy_score(*rows),
        "balanced accuracy": metrics.balanced_accuracy_score(*rows),
        "mcc": metrics.matthews_corrcoef(*rows),
        "f1": metrics.f1_score(*rows) if labels == 2 else metrics.f1_score(*rows, average="macro"),
    }
    for name, value in expected.items():
        found = float(as_performance(name, frame, 1 if labels == 2 else None)(table))
        assert found == pytest.approx(value), name
    one = metrics.f1_score(*rows, labels=[0], average=None)[0]
    assert float(as_performance("f1", frame, 0)(table)) == pytest.approx(one)


def test_scores_of_constant_predictions():
    some = people(1) | {"told": np.zeros(250, int)}
    frame, table = tabled(some, "sex")
    rows = some["truth"], some["told"]
    assert float(as_performance("mcc", frame, 1)(table)) == metrics.matthews_corrcoef(*rows) == 0.0
    assert float(as_performance("f1", frame, 1)(table)) == metrics.f1_score(*rows) == 0.0
    assert float(as_performance("balanced accuracy", frame, 1)(table)) == 0.5
    assert [float(Bias.of(name, frame, 1)(table)) for name in ("spd", "aod", "eod")] == [
        0.0,
        0.0,
        0.0,
    ]
    assert np.isnan(
        Bias.of("di", frame, 1)(table)
    )  # nobody is favoured, and that is not fair by the ratio


def test_scores_of_labels_that_nobody_has():
    """A label that only predictions use counts as scikit-learn counts it."""
    some = people(2, labels=3)
    some["truth"] = np.minimum(some["truth"], 1)
    frame = Frame.of([0, 1, 2], {"sex": some["sex"]})
    table = frame.table(frame.cells(frame.place(some), some["truth"], some["told"]))
    rows = some["truth"], some["told"]
    assert float(as_performance("f1", frame, None)(table)) == pytest.approx(
        metrics.f1_score(*rows, average="macro")
    )
    with pytest.warns(UserWarning, match="not in y_true"):
        expected = metrics.balanced_accuracy_score(*rows)
    assert float(as_performance("balanced accuracy", frame, None)(table)) == pytest.approx(expected)


def test_groups_that_are_empty_or_left_out():
    some = people(5, races=3, n=600)
    some["race"] = np.where((some["sex"] == 1) & (some["race"] == 2), 0, some["race"])
    frame, table = tabled(some, "sex", "race")
    assert len(frame.combinations) == 5  # nobody is in the sixth
    both = some["sex"] * 10 + some["race"]
    assert float(Bias.of("spd", frame, 1)(table)) == pytest.approx(
        max(worst("spd", some, group, 1) for group in (some["sex"], some["race"], both))
    )
    some["race"][:4] = 3
    small = Frame.of([0, 1], {"race": some["race"]}, support=0.01)
    assert [group for (group,) in small.groupings[0].groups] == [0, 1, 2]
    counts = small.table(small.cells(small.place(some), some["truth"], some["told"]))
    rest = {name: column[4:] for name, column in some.items()}
    assert float(Bias.of("spd", small, 1)(counts)) == pytest.approx(
        worst("spd", rest, rest["race"], 1)
    )


def test_undefined_rates_of_a_group_do_not_read_as_fair():
    some = people(6)
    some["truth"] = np.where(some["race"] == 2, 0, some["truth"])
    frame, table = tabled(some, "race")
    assert "race 2: no row with a favourable true label" in Bias.of("eod", frame, 1).undefined(
        table
    )
    assert Bias.of("spd", frame, 1).undefined(table) == ""


def compared(some: dict[str, Any], **options: Any) -> eh.Comparison:
    rng = np.random.default_rng(9)
    other = np.where(rng.random(len(some["told"])) < 0.15, some["truth"], some["told"])
    options = {"resamples": 100} | options
    return eh.compare(
        {"original": some["told"], "other": other}, some["truth"], some["sex"], **options
    )


def test_small_groups_and_those_left_out_are_told():
    some = people(7, n=400)
    rare = np.where(np.arange(400) < 10, "c", np.where(some["sex"], "a", "b"))
    rare[:2] = "d"
    told = {"original": some["told"], "other": some["truth"]}
    protected = {"group": rare, "race": some["race"]}
    found = eh.compare(told, some["truth"], protected, over=["group"], support=0.01, resamples=100)
    assert any("group c has 8 rows" in note for note in found.notes)
    assert "group: 1 small groups were left out" in found.notes


@pytest.mark.parametrize(
    ("function", "name"),
    [
        (metrics.accuracy_score, "accuracy"),
        pytest.param(metrics.matthews_corrcoef, "mcc", marks=pytest.mark.slow),
        pytest.param(metrics.make_scorer(metrics.f1_score), "f1", marks=pytest.mark.slow),
        pytest.param("balanced_accuracy", "balanced accuracy", marks=pytest.mark.slow),
        (lambda true, told: float((true == told).mean()), "accuracy"),
        (lambda true, told, sex: float((true == told).mean()), "accuracy"),
    ],
)
def test_functions_and_scorers_as_performance(function, name):
    some = people(8)
    expected, found = (
        compared(some, performance=one, degrees=[0.5], resamples=100) for one in (name, function)
    )
    for one, other in (
        (expected.start[0], found.start[0]),
        (expected["other"].performance, found["other"].performance),
    ):
        assert one.value == pytest.approx(other.value)
    assert found.region == expected.region
    assert found["other"].gain.value == pytest.approx(expected["other"].gain.value, abs=0.02)
    assert found.baseline.method == "expected cells"
    assert isinstance(found.start[0], Amount)


def test_a_scorer_by_name():
    some = people(8)
    found = compared(some, performance="precision", degrees=[], resamples=100)
    assert found.performance == "precision"
    assert found.start[0].value == pytest.approx(
        metrics.precision_score(some["truth"], some["told"])
    )


@pytest.mark.slow
def test_fairlearn_metrics_as_bias():
    fairlearn = pytest.importorskip("fairlearn.metrics", reason="fairlearn is not installed")
    some = people(8)
    function = fairlearn.demographic_parity_difference
    expected, found = (
        compared(some, bias=one, degrees=[], resamples=100) for one in ("spd", function)
    )
    assert found.bias == "demographic_parity_difference"
    assert found["other"].bias.value == pytest.approx(expected["other"].bias.value)
    assert found.baseline.bias == pytest.approx(expected.baseline.bias)
    assert found.region == expected.region


def test_fairlearn_metrics_of_a_table_are_those_of_its_rows():
    fairlearn = pytest.importorskip("fairlearn.metrics", reason="fairlearn is not installed")
    some = people(8)
    frame, table = tabled(some, "sex", "race", over=[("sex", "race")])
    both = pd.DataFrame({"sex": some["sex"], "race": some["race"]})
    for metric in (fairlearn.demographic_parity_difference, fairlearn.equalized_odds_difference):
        told = metric(some["truth"], some["told"], sensitive_features=both)
        assert float(Function.of(metric, frame)(table)) == pytest.approx(told)


def test_functions_get_what_they_ask_for():
    seen: dict[str, Any] = {}

    def two(true, told):
        seen["two"] = true, told
        return 0.5

    def three(true, told, protected):
        seen["three"] = true, told, protected
        return 0.5

    def weighed(true, told, *, sensitive_features, sample_weight):
        seen["weighed"] = true, told, sensitive_features, sample_weight
        return 0.5

    words = np.array(["no", "yes"])
    some = people(9, n=60)
    frame = Frame.of(["no", "yes"], {"sex": words[some["sex"]]})
    table = frame.table(
        frame.cells(frame.place({"sex": words[some["sex"]]}), some["truth"], some["told"])
    )
    for function in (two, three, weighed):
        assert float(Function.of(function, frame)(table)) == 0.5
    expected = sorted(zip(some["truth"], some["told"], some["sex"], strict=True))
    rows = zip(*(column.tolist() for column in seen["three"]), strict=True)
    assert sorted(rows) == [tuple(words[code] for code in row) for row in expected]
    assert sorted(zip(*seen["two"], strict=True)) == sorted(
        (words[a], words[b]) for a, b, _ in expected
    )
    assert seen["weighed"][3].sum() == 60
    assert len(seen["weighed"][3]) == (table > 0).sum() < 60


def test_whole_people_keep_groups_and_true_labels():
    rng = np.random.default_rng(0)
    table = rng.multinomial(97, np.full(18, 1 / 18)).reshape(2, 3, 3).astype(float)
    mixed = 0.37 * table + 0.63 * table.sum(axis=-1, keepdims=True) / 3
    found = whole(mixed)
    assert (found == np.rint(found)).all()
    assert found.sum(axis=-1) == pytest.approx(table.sum(axis=-1))
    assert np.abs(found - mixed).max() < 1


SPACE = eh.Space([eh.category("sex", ["f", "m"]), eh.integer("age", 18, 90)], protected=["sex"])


def decide(least: int) -> Any:
    return lambda frame: (frame["age"] > 40) & ((frame["sex"] == "m") | (frame["age"] > least))


def test_scores_that_were_measured():
    some = people(10, n=800)
    numbers = compared(some, bias={"original": 0.5, "other": 0.2})
    assert numbers.bias == "measured score"
    assert numbers.baseline.method == "in proportion"
    assert numbers.baseline.bias == pytest.approx(
        tuple(0.5 * (1 - degree) for degree in numbers.baseline.degrees)
    )
    assert "taken as exact" in numbers.notes[0]
    large = compared(some, bias={"original": 50, "other": 20})
    assert large.region == numbers.region
    assert large["other"].gain.value == pytest.approx(numbers["other"].gain.value)
    sure, unsure = (
        compared(
            some,
            bias={
                "original": eh.Estimate(0.5, 0.5 - width, 0.5 + width, 500, 0.95, "exact"),
                "other": eh.Estimate(0.45, 0.45 - width, 0.45 + width, 500, 0.95, "exact"),
            },
        )
        for width in (0.01, 0.2)
    )
    assert sure.region == unsure.region
    assert set(sure.plausible["other"]) < set(unsure.plausible["other"])
    assert "at least 90 %" in sure.notes[0]


def test_scores_of_our_own_results():
    some = people(10, n=800)
    original, other = (eh.measure(decide(least), SPACE, over=["sex"]) for least in (80, 45))
    found = compared(some, bias={"original": original, "other": other})
    assert found.bias == "score of measure"
    assert found.start[1] == original.worst.estimate
    assert found["other"].bias == other.worst.estimate
    frame = pd.DataFrame(
        {"sex": np.array(["f", "m"])[some["sex"]], "age": 18 + np.arange(800) % 70}
    )
    original, other = (eh.mine(decide(least), SPACE, frame, over=["sex"]) for least in (80, 45))
    found = compared(some, bias={"original": original, "other": other})
    assert found.bias == "score of mine"
    assert found["other"].bias.value == pytest.approx(other.worst.estimate.value)


def many(number: int, seed: int = 0) -> tuple[list[dict[str, Any]], dict[str, Any]]:
    parts = [people(seed + at, n=300) for at in range(number)]
    rng = np.random.default_rng(seed)
    other = [np.where(rng.random(300) < 0.2, part["truth"], part["told"]) for part in parts]
    return parts, {"original": [part["told"] for part in parts], "other": other}


def test_runs_with_their_own_test_sets_are_means_over_runs():
    parts, told = many(8)
    found = eh.compare(told, [part["truth"] for part in parts], [part["sex"] for part in parts])
    alone = [
        eh.compare(
            {name: told[name][at] for name in told}, part["truth"], part["sex"], resamples=100
        )
        for at, part in enumerate(parts)
    ]
    assert found.runs == 8
    assert found["other"].performance.value == pytest.approx(
        np.mean([one["other"].performance.value for one in alone])
    )
    assert found["other"].bias.value == pytest.approx(
        np.mean([one["other"].bias.value for one in alone])
    )
    assert "corrected t over splits" in found["other"].performance.method
    regions = [one.region["other"] for one in alone]
    assert found.share["other"] == {name: regions.count(name) / 8 for name in found.share["other"]}
    assert sum(found.share["other"].values()) == pytest.approx(1)
    apart = eh.compare(
        told, [part["truth"] for part in parts], [part["sex"] for part in parts], test_size=0
    )
    assert apart["other"].performance.low > found["other"].performance.low


def test_runs_on_one_test_set():
    some = people(11, n=400)
    rng = np.random.default_rng(1)
    runs = [np.where(rng.random(400) < 0.2, some["truth"], some["told"]) for _ in range(4)]
    found = eh.compare({"original": some["told"], "other": runs}, some["truth"], some["sex"])
    assert found.runs == 4
    assert "bootstrap" in found["other"].performance.method
    assert found["other"].performance.value == pytest.approx(
        np.mean([(run == some["truth"]).mean() for run in runs])
    )
    stacked = eh.compare(
        {"original": some["told"], "other": np.stack(runs)}, some["truth"], some["sex"]
    )
    assert stacked.digest == found.digest


def test_same_seed_same_bytes():
    some = people(12)
    assert compared(some).digest == compared(some).digest
    assert compared(some).digest != compared(some, seed=1).digest
    assert compared(some, seed=1).area == compared(some).area


def test_what_changed_nobody_is_not_known_to_change_nobody():
    some = people(13, n=300)
    found = eh.compare({"original": some["told"], "same": some["told"]}, some["truth"], some["sex"])
    assert found.region == {"same": "poor trade-off"}
    assert len(found.plausible["same"]) > 1
    assert found.verdict == "undecided"


ENGINES: dict[str, Any] = {
    "pandas": lambda frame: frame,
    "nullable": lambda frame: frame.convert_dtypes(),
    "polars": pl.from_pandas,
    "polars lazy": lambda frame: pl.from_pandas(frame).lazy(),
    "pyarrow": lambda frame: pa.Table.from_pandas(frame, preserve_index=False),
    "lists": lambda frame: {name: frame[name].tolist() for name in frame},
    "tuples": lambda frame: {name: tuple(frame[name].tolist()) for name in frame},
    "numpy": lambda frame: {name: frame[name].to_numpy() for name in frame},
    "arrow arrays": lambda frame: {name: pa.array(frame[name].tolist()) for name in frame},
    "polars series": lambda frame: {name: pl.Series(frame[name].tolist()) for name in frame},
    "categories": lambda frame: frame.astype("category"),
}


@pytest.mark.parametrize("labels", [("no", "yes"), (False, True), (0, 1), (1.5, 2.5)])
@pytest.mark.parametrize("engine", ENGINES)
def test_any_engine_and_any_labels(engine, labels):
    some = people(14)
    words = pd.Series(labels)
    frame = pd.DataFrame({"sex": np.array(["f", "m"])[some["sex"]], "race": some["race"]})
    columns = pd.DataFrame({name: words[some[name]].to_numpy() for name in ("truth", "told")})
    rng = np.random.default_rng(2)
    columns["other"] = np.where(rng.random(250) < 0.2, columns["truth"], columns["told"])
    options: dict[str, Any] = {"positive": labels[1], "bias": "aod", "resamples": 100}
    expected = eh.compare(
        {"original": columns["told"], "other": columns["other"]}, columns["truth"], frame, **options
    )
    built, protected = ENGINES[engine](columns), ENGINES[engine](frame)
    if engine == "polars lazy":
        built = built.collect()
    found = eh.compare(
        {"original": built["told"], "other": built["other"]}, built["truth"], protected, **options
    )
    assert found.digest == expected.digest


def test_labels_of_mixed_numbers_are_one_label():
    some = people(15)
    told = {"original": some["told"] == 1, "other": some["truth"].astype(float)}
    mixed = eh.compare(told, some["truth"], some["sex"], resamples=100)
    same = eh.compare(
        {"original": some["told"], "other": some["truth"]},
        some["truth"],
        some["sex"],
        resamples=100,
    )
    assert mixed.digest == same.digest


def test_a_table_of_one_column_is_a_column():
    some = people(16)
    told = {"original": pd.DataFrame({"a": some["told"]}), "other": some["truth"]}
    found = eh.compare(
        told, pd.DataFrame({"y": some["truth"]}), pd.DataFrame({"sex": some["sex"]}), resamples=100
    )
    again = {"original": some["told"], "other": some["truth"]}
    assert (
        found.digest == eh.compare(again, some["truth"], {"sex": some["sex"]}, resamples=100).digest
    )


def test_groups_of_mixed_kinds():
    some = people(17)
    kinds = np.array([3, "a", 2.5], dtype=object)
    told = {"original": some["told"], "other": some["truth"]}
    found = eh.compare(told, some["truth"], kinds[some["race"]].tolist(), resamples=100)
    same = eh.compare(told, some["truth"], some["race"], resamples=100)
    assert found.start[1].value == pytest.approx(same.start[1].value)


def test_what_was_counted_already_compares_alike():
    some = people(18)
    told = {"original": some["told"], "other": some["truth"]}
    trials = Trials.of(told, some["truth"], some["sex"])
    assert (
        compare_trials(trials, resamples=100).digest
        == eh.compare(told, some["truth"], some["sex"], resamples=100).digest
    )
    (table,) = trials.tables[0]
    assert table.sum() == 250
    assert table[1, 0, 1] == ((some["sex"] == 1) & (some["truth"] == 0) & (some["told"] == 1)).sum()


def test_multiclass_end_to_end():
    some = people(19, labels=4, n=600)
    rng = np.random.default_rng(3)
    told = {
        "original": some["told"],
        "other": np.where(rng.random(600) < 0.3, some["truth"], some["told"]),
    }
    frame = {"sex": some["sex"], "race": some["race"]}
    for performance in ("accuracy", "balanced accuracy", "f1", "mcc"):
        found = eh.compare(told, some["truth"], frame, performance=performance, resamples=200)
        assert found.baseline.label in range(4)
        assert found.region["other"] in found.plausible["other"]
        assert found.performance == performance
