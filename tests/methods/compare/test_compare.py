"""compare: scores against independent ones, functions, measured scores, runs, any frame."""

from __future__ import annotations

from dataclasses import dataclass, replace
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
from evenhand.methods.compare.metrics.scores import Bias, Function, whole
from evenhand.methods.compare.trials import Trials
from evenhand.statistics.estimate import Amount


@dataclass
class LabelledPeople:
    """Protected features, true and predicted labels of people."""

    sex: Any
    race: Any
    truth: Any
    predicted: Any

    @property
    def both(self) -> Any:
        """The combination of sex and race."""
        return self.sex * 10 + self.race

    def columns(self, *names: str) -> dict[str, Any]:
        return {name: getattr(self, name) for name in names}

    def counted(self, frame: Frame) -> CountTable:
        """Return their counts by the groups of a frame."""
        place = frame.place(self.columns(*frame.names))
        cells = frame.cells(place, self.truth, self.predicted)
        return CountTable(frame, frame.table(cells))

    def with_truth(self) -> dict[str, Any]:
        """Return their predictions, and a mitigation that is always right."""
        return {"original": self.predicted, "other": self.truth}


def people(seed: int, labels: int = 2, races: int = 3, n: int = 250) -> LabelledPeople:
    """Return random people whose predictions depend on truth, sex and race."""
    rng = np.random.default_rng(seed)
    sex = rng.integers(0, 2, n)
    race = rng.integers(0, races, n)
    truth = rng.integers(0, labels, n)
    is_right = rng.random(n) < 0.6 + 0.1 * sex
    predicted = np.where(is_right, truth, rng.integers(0, labels, n))
    is_favoured = (race == 1) & (rng.random(n) < 0.3)
    predicted = np.where(is_favoured, labels - 1, predicted)
    return LabelledPeople(sex, race, truth, predicted)


@dataclass
class CountTable:
    """Counts of people by group, true and predicted label, and the frame that names them."""

    frame: Frame
    counts: Any

    def bias(self, name: str, positive: int | None = 1) -> float:
        score = Bias.of(name, self.frame, positive)
        return float(score(self.counts))

    def performance(self, name: str, positive: int | None = 1) -> float:
        score = as_performance(name, self.frame, positive)
        return float(score(self.counts))

    def undefined(self, name: str) -> str:
        """Return why a bias is not defined, if it is not."""
        return Bias.of(name, self.frame, 1).undefined(self.counts)

    def value(self, function: Any) -> float:
        """Return what somebody's own function says of the counts."""
        score = Function.of(function, self.frame)
        return float(score(self.counts))


def tabled(some: LabelledPeople, *columns: str, over: Any = None) -> CountTable:
    labels = sorted(set(some.truth.tolist()))
    frame = Frame.of(labels, some.columns(*columns), over=over)
    return some.counted(frame)


@dataclass
class GroupRates:
    """Rates of one group: of favourable predictions, hits, alarms and right answers."""

    favourable: float
    hits: float
    alarms: float
    right: float


def rates(some: LabelledPeople, group: Any, positive: int) -> list[GroupRates]:
    """Return the rates of each group, by plain means."""
    predicted = some.predicted == positive
    truth = some.truth == positive
    right = some.predicted == some.truth
    found = []
    for value in np.unique(group):
        rows = group == value
        of_group = GroupRates(
            favourable=predicted[rows].mean(),
            hits=predicted[rows & truth].mean(),
            alarms=predicted[rows & ~truth].mean(),
            right=right[rows].mean(),
        )
        found.append(of_group)
    return found


def bias_of_pair(name: str, first: GroupRates, second: GroupRates) -> float:
    """Return the bias between two groups, by its definition."""
    hits = first.hits - second.hits
    alarms = first.alarms - second.alarms
    lower, higher = sorted([first.favourable, second.favourable])
    biases = {
        "spd": higher - lower,
        "aod": abs(hits + alarms) / 2,
        "aod-abs": (abs(hits) + abs(alarms)) / 2,
        "eod": abs(hits),
        "fpr": abs(alarms),
        "odds": max(abs(hits), abs(alarms)),
        "di": 1 - lower / higher,
        "error": abs(first.right - second.right),
    }
    return float(biases[name])


BIASES = ("spd", "aod", "aod-abs", "eod", "fpr", "odds", "di", "error")


def worst(name: str, some: LabelledPeople, group: Any, positive: int) -> float:
    pairs = combinations(rates(some, group, positive), 2)
    return max(bias_of_pair(name, first, second) for first, second in pairs)


@pytest.mark.parametrize("seed", range(5))
@pytest.mark.parametrize("name", BIASES)
def test_a_bias_is_the_worst_of_all_pairs_of_groups(name, seed):
    some = people(seed, races=4)
    by_sex = worst(name, some, some.sex, 1)
    by_race = worst(name, some, some.race, 1)
    by_both = worst(name, some, some.both, 1)

    def bias(*columns: str, over: Any = None) -> float:
        return tabled(some, *columns, over=over).bias(name)

    assert bias("sex") == pytest.approx(by_sex)
    assert bias("race") == pytest.approx(by_race)
    worst_of_one = max(by_sex, by_race)
    worst_of_all = max(worst_of_one, by_both)
    assert bias("sex", "race") == pytest.approx(worst_of_all)
    assert bias("sex", "race", over=["sex", "race"]) == pytest.approx(worst_of_one)
    assert bias("sex", "race", over=[("sex", "race")]) == pytest.approx(by_both)


@pytest.mark.parametrize("name", BIASES)
def test_a_bias_of_several_labels_is_the_worst_of_each_against_the_rest(name):
    some = people(3, labels=3)
    table = tabled(some, "race")
    by_label = []
    for label in range(3):
        expected = worst(name, some, some.race, label)
        assert table.bias(name, label) == pytest.approx(expected)
        by_label.append(expected)
    assert table.bias(name, None) == pytest.approx(max(by_label))


@pytest.mark.parametrize("name", ["spd", "aod", "aod-abs", "odds", "error"])
def test_biases_of_both_sides_do_not_depend_on_the_favourable_label(name):
    table = tabled(people(4), "race")
    for_0 = table.bias(name, 0)
    for_1 = table.bias(name, 1)
    assert for_0 == pytest.approx(for_1)


@pytest.mark.parametrize(
    "seed",
    [
        0,
        pytest.param(1, marks=pytest.mark.slow),
        pytest.param(2, marks=pytest.mark.slow),
        pytest.param(3, marks=pytest.mark.slow),
    ],
)
@pytest.mark.parametrize("columns", [["sex"], ["race"], ["sex", "race"]])
def test_fairlearn_says_the_same(seed, columns):
    fairlearn = pytest.importorskip(
        "fairlearn.metrics", reason="fairlearn is not installed"
    )
    some = people(seed)
    table = tabled(some, *columns, over=[tuple(columns)])
    features = pd.DataFrame(some.columns(*columns))

    def of_fairlearn(name: str, **options: Any) -> float:
        metric = getattr(fairlearn, name)
        value = metric(some.truth, some.predicted, sensitive_features=features, **options)
        return float(value)

    expected = {
        "spd": of_fairlearn("demographic_parity_difference"),
        "odds": of_fairlearn("equalized_odds_difference"),
        "eod": of_fairlearn("equal_opportunity_difference"),
        "di": 1 - of_fairlearn("demographic_parity_ratio"),
    }
    # Of more than two groups Fairlearn takes each rate's extremes, which may be of other groups.
    if len(features.drop_duplicates()) == 2:
        expected["aod-abs"] = of_fairlearn("equalized_odds_difference", agg="mean")
    for name, value in expected.items():
        assert table.bias(name) == pytest.approx(value), name


@pytest.mark.parametrize("labels", [2, 3, 5])
@pytest.mark.parametrize("seed", range(3))
def test_scikit_learn_says_the_same(seed, labels):
    some = people(seed, labels=labels)
    table = tabled(some, "sex")
    rows = some.truth, some.predicted
    positive = 1 if labels == 2 else None
    average = "binary" if labels == 2 else "macro"
    expected = {
        "accuracy": metrics.accuracy_score(*rows),
        "balanced accuracy": metrics.balanced_accuracy_score(*rows),
        "mcc": metrics.matthews_corrcoef(*rows),
        "f1": metrics.f1_score(*rows, average=average),
    }
    for name, value in expected.items():
        assert table.performance(name, positive) == pytest.approx(value), name
    (f1_of_0,) = metrics.f1_score(*rows, labels=[0], average=None)
    assert table.performance("f1", 0) == pytest.approx(f1_of_0)


def test_scores_of_constant_predictions():
    some = replace(people(1), predicted=np.zeros(250, int))
    table = tabled(some, "sex")
    rows = some.truth, some.predicted
    assert table.performance("mcc") == 0.0
    assert metrics.matthews_corrcoef(*rows) == 0.0
    assert table.performance("f1") == 0.0
    assert metrics.f1_score(*rows) == 0.0
    assert table.performance("balanced accuracy") == 0.5
    for name in ("spd", "aod", "eod"):
        assert table.bias(name) == 0.0
    # Nobody is favoured, and that is not fair by the ratio.
    assert np.isnan(table.bias("di"))


def test_scores_of_labels_that_nobody_has():
    """A label that only predictions use counts as scikit-learn counts it."""
    some = people(2, labels=3)
    some.truth = np.minimum(some.truth, 1)
    frame = Frame.of([0, 1, 2], {"sex": some.sex})
    table = some.counted(frame)
    rows = some.truth, some.predicted
    macro_f1 = metrics.f1_score(*rows, average="macro")
    assert table.performance("f1", None) == pytest.approx(macro_f1)
    with pytest.warns(UserWarning, match="not in y_true"):
        expected = metrics.balanced_accuracy_score(*rows)
    balanced = table.performance("balanced accuracy", None)
    assert balanced == pytest.approx(expected)


def test_a_combination_that_nobody_has_is_passed_over():
    some = people(5, races=3, n=600)
    moved = (some.sex == 1) & (some.race == 2)
    some.race = np.where(moved, 0, some.race)
    table = tabled(some, "sex", "race")
    # Nobody is in the sixth.
    assert len(table.frame.combinations) == 5
    groups = (some.sex, some.race, some.both)
    biases = [worst("spd", some, group, 1) for group in groups]
    assert table.bias("spd") == pytest.approx(max(biases))


def test_groups_that_are_left_out_do_not_count():
    some = people(5, races=3, n=600)
    some.race[:4] = 3
    frame = Frame.of([0, 1], {"race": some.race}, support=0.01)
    (grouping,) = frame.groupings
    assert grouping.groups == ((0,), (1,), (2,))
    others = LabelledPeople(
        sex=some.sex[4:],
        race=some.race[4:],
        truth=some.truth[4:],
        predicted=some.predicted[4:],
    )
    expected = worst("spd", others, others.race, 1)
    assert some.counted(frame).bias("spd") == pytest.approx(expected)


def test_undefined_rates_of_a_group_do_not_read_as_fair():
    some = people(6)
    some.truth = np.where(some.race == 2, 0, some.truth)
    table = tabled(some, "race")
    assert "race 2: no row with a favourable true label" in table.undefined("eod")
    assert table.undefined("spd") == ""


def partly_right(some: LabelledPeople, share: float, rng: Any) -> Any:
    """Return predictions of which about this share were put right."""
    put_right = rng.random(len(some.predicted)) < share
    return np.where(put_right, some.truth, some.predicted)


def compared(some: LabelledPeople, **options: Any) -> eh.Comparison:
    """Compare predictions with some of which were put right."""
    other = partly_right(some, 0.15, np.random.default_rng(9))
    outcomes = {"original": some.predicted, "other": other}
    options = {"resamples": 100} | options
    return eh.compare(outcomes, some.truth, some.sex, **options)


def test_small_groups_and_those_left_out_are_noted():
    some = people(7, n=400)
    common = np.where(some.sex, "a", "b")
    group = np.where(np.arange(400) < 10, "c", common)
    group[:2] = "d"
    protected = {"group": group, "race": some.race}
    found = eh.compare(
        some.with_truth(),
        some.truth,
        protected,
        over=["group"],
        support=0.01,
        resamples=100,
    )
    assert any("group c has 8 rows" in note for note in found.notes)
    assert "group: 1 small groups were left out" in found.notes


def right(true: Any, predicted: Any) -> float:
    return float((true == predicted).mean())


def right_of_protected(true: Any, predicted: Any, sex: Any) -> float:
    return right(true, predicted)


@pytest.mark.parametrize(
    ("function", "name"),
    [
        (metrics.accuracy_score, "accuracy"),
        pytest.param(metrics.matthews_corrcoef, "mcc", marks=pytest.mark.slow),
        pytest.param(metrics.make_scorer(metrics.f1_score), "f1", marks=pytest.mark.slow),
        pytest.param("balanced_accuracy", "balanced accuracy", marks=pytest.mark.slow),
        (right, "accuracy"),
        (right_of_protected, "accuracy"),
    ],
)
def test_functions_and_scorers_as_performance(function, name):
    some = people(8)
    expected = compared(some, performance=name, degrees=[0.5])
    found = compared(some, performance=function, degrees=[0.5])
    original, _ = found.start
    expected_original, _ = expected.start
    assert original.value == pytest.approx(expected_original.value)
    assert isinstance(original, Amount)
    other = found["other"]
    expected_other = expected["other"]
    assert other.performance.value == pytest.approx(expected_other.performance.value)
    assert other.gain.value == pytest.approx(expected_other.gain.value, abs=0.02)
    assert found.region == expected.region
    assert found.baseline.method == "expected cells"


def test_a_scorer_by_name():
    some = people(8)
    found = compared(some, performance="precision", degrees=[])
    assert found.performance == "precision"
    precision = metrics.precision_score(some.truth, some.predicted)
    assert found.start[0].value == pytest.approx(precision)


@pytest.mark.slow
def test_fairlearn_metrics_as_bias():
    fairlearn = pytest.importorskip(
        "fairlearn.metrics", reason="fairlearn is not installed"
    )
    some = people(8)
    expected = compared(some, bias="spd", degrees=[])
    found = compared(some, bias=fairlearn.demographic_parity_difference, degrees=[])
    assert found.bias == "demographic_parity_difference"
    expected_bias = expected["other"].bias
    assert found["other"].bias.value == pytest.approx(expected_bias.value)
    assert found.baseline.bias == pytest.approx(expected.baseline.bias)
    assert found.region == expected.region


@pytest.mark.parametrize(
    "name", ["demographic_parity_difference", "equalized_odds_difference"]
)
def test_fairlearn_metrics_of_a_table_are_those_of_its_rows(name):
    fairlearn = pytest.importorskip(
        "fairlearn.metrics", reason="fairlearn is not installed"
    )
    metric = getattr(fairlearn, name)
    some = people(8)
    table = tabled(some, "sex", "race", over=[("sex", "race")])
    features = pd.DataFrame(some.columns("sex", "race"))
    of_rows = metric(some.truth, some.predicted, sensitive_features=features)
    assert table.value(metric) == pytest.approx(of_rows)


def test_functions_get_what_they_ask_for():
    seen: dict[str, Any] = {}

    def two(true, predicted):
        seen["two"] = true, predicted
        return 0.5

    def three(true, predicted, protected):
        seen["three"] = true, predicted, protected
        return 0.5

    def weighed(true, predicted, *, sensitive_features, sample_weight):
        seen["weights"] = sample_weight
        return 0.5

    words = np.array(["no", "yes"])
    some = people(9, n=60)
    some.sex = words[some.sex]
    frame = Frame.of(["no", "yes"], {"sex": some.sex})
    table = some.counted(frame)
    for function in (two, three, weighed):
        assert table.value(function) == 0.5
    truth = words[some.truth]
    predicted = words[some.predicted]
    assert sorted_rows(seen["two"]) == sorted_rows((truth, predicted))
    assert sorted_rows(seen["three"]) == sorted_rows((truth, predicted, some.sex))
    weights = seen["weights"]
    assert weights.sum() == 60
    assert len(weights) == (table.counts > 0).sum()
    assert len(weights) < 60


def sorted_rows(columns: Any) -> list[Any]:
    lists = [column.tolist() for column in columns]
    return sorted(zip(*lists, strict=True))


def test_whole_people_keep_groups_and_true_labels():
    rng = np.random.default_rng(0)
    counts = rng.multinomial(97, np.full(18, 1 / 18))
    table = counts.reshape(2, 3, 3).astype(float)
    people_by_label = table.sum(axis=-1, keepdims=True)
    mixed = 0.37 * table + 0.63 * people_by_label / 3
    found = whole(mixed)
    assert (found == np.rint(found)).all()
    assert found.sum(axis=-1, keepdims=True) == pytest.approx(people_by_label)
    assert np.abs(found - mixed).max() < 1


SPACE = eh.Space(
    [eh.category("sex", ["f", "m"]), eh.integer("age", 18, 90)],
    protected=["sex"],
)


def decide(least: int) -> Any:
    def decided(frame: Any) -> Any:
        preferred = (frame["sex"] == "m") | (frame["age"] > least)
        return (frame["age"] > 40) & preferred

    return decided


def test_numbers_that_were_measured():
    some = people(10, n=800)
    found = compared(some, bias={"original": 0.5, "other": 0.2})
    shares_left = 1 - np.array(found.baseline.degrees)
    assert found.bias == "measured score"
    assert found.baseline.method == "in proportion"
    assert found.baseline.bias == pytest.approx(0.5 * shares_left)
    assert "taken as exact" in found.notes[0]
    large = compared(some, bias={"original": 50, "other": 20})
    assert large.region == found.region
    gain = found["other"].gain
    assert large["other"].gain.value == pytest.approx(gain.value)


def estimate(value: float, width: float) -> eh.Estimate:
    return eh.Estimate(value, value - width, value + width, 500, 0.95, "exact")


def test_estimates_that_were_measured():
    some = people(10, n=800)
    narrow = {"original": estimate(0.5, 0.01), "other": estimate(0.45, 0.01)}
    wide = {"original": estimate(0.5, 0.2), "other": estimate(0.45, 0.2)}
    sure = compared(some, bias=narrow)
    unsure = compared(some, bias=wide)
    assert sure.region == unsure.region
    assert set(sure.plausible["other"]) < set(unsure.plausible["other"])
    assert "at least 90 %" in sure.notes[0]


def test_scores_of_measure():
    some = people(10, n=800)
    original = eh.measure(decide(80), SPACE, over=["sex"])
    other = eh.measure(decide(45), SPACE, over=["sex"])
    found = compared(some, bias={"original": original, "other": other})
    assert found.bias == "score of measure"
    _, start_bias = found.start
    assert start_bias == original.worst.estimate
    assert found["other"].bias == other.worst.estimate


def test_scores_of_mine():
    some = people(10, n=800)
    letters = np.array(["f", "m"])[some.sex]
    ages = 18 + np.arange(800) % 70
    frame = pd.DataFrame({"sex": letters, "age": ages})
    original = eh.mine(decide(80), SPACE, frame, over=["sex"])
    other = eh.mine(decide(45), SPACE, frame, over=["sex"])
    found = compared(some, bias={"original": original, "other": other})
    assert found.bias == "score of mine"
    mined = other.worst.estimate
    assert found["other"].bias.value == pytest.approx(mined.value)


def several_runs(number: int) -> tuple[list[LabelledPeople], dict[str, Any]]:
    """Return the people of each run, and predictions for them."""
    runs = [people(run, n=300) for run in range(number)]
    rng = np.random.default_rng(0)
    original = []
    other = []
    for run in runs:
        original.append(run.predicted)
        other.append(partly_right(run, 0.2, rng))
    return runs, {"original": original, "other": other}


def test_runs_with_their_own_test_sets_are_means_over_runs():
    runs, outcomes = several_runs(8)
    truths = [run.truth for run in runs]
    protected = [run.sex for run in runs]
    found = eh.compare(outcomes, truths, protected)
    alone = []
    for at, run in enumerate(runs):
        of_run = {name: columns[at] for name, columns in outcomes.items()}
        found_alone = eh.compare(of_run, run.truth, run.sex, resamples=100)
        alone.append(found_alone["other"])
    other = found["other"]
    assert found.runs == 8
    mean_performance = np.mean([standing.performance.value for standing in alone])
    assert other.performance.value == pytest.approx(mean_performance)
    mean_bias = np.mean([standing.bias.value for standing in alone])
    assert other.bias.value == pytest.approx(mean_bias)
    assert "corrected t over splits" in other.performance.method
    regions = [standing.region for standing in alone]
    for region, share in found.share["other"].items():
        assert share == regions.count(region) / 8
    assert sum(found.share["other"].values()) == pytest.approx(1)
    independent = eh.compare(outcomes, truths, protected, test_size=0)
    assert independent["other"].performance.low > other.performance.low


def test_runs_on_one_test_set():
    some = people(11, n=400)
    rng = np.random.default_rng(1)
    runs = [partly_right(some, 0.2, rng) for _ in range(4)]
    listed = {"original": some.predicted, "other": runs}
    found = eh.compare(listed, some.truth, some.sex)
    performance = found["other"].performance
    assert found.runs == 4
    assert "bootstrap" in performance.method
    shares_right = [right(some.truth, run) for run in runs]
    assert performance.value == pytest.approx(np.mean(shares_right))
    stacked = {"original": some.predicted, "other": np.stack(runs)}
    same = eh.compare(stacked, some.truth, some.sex)
    assert found.digest == same.digest


def test_same_seed_same_bytes():
    some = people(12)
    found = compared(some)
    other_seed = compared(some, seed=1)
    assert found.digest == compared(some).digest
    assert found.digest != other_seed.digest
    assert found.area == other_seed.area


def test_what_changed_nobody_is_not_known_to_change_nobody():
    some = people(13, n=300)
    outcomes = {"original": some.predicted, "same": some.predicted}
    found = eh.compare(outcomes, some.truth, some.sex)
    assert found.region == {"same": "poor trade-off"}
    assert len(found.plausible["same"]) > 1
    assert found.verdict == "undecided"


def each_column(make: Any) -> Any:
    """Return what makes a mapping of columns from a frame, each by a function of a list."""

    def columns(frame: pd.DataFrame) -> dict[str, Any]:
        return {name: make(frame[name].tolist()) for name in frame}

    return columns


ENGINES: dict[str, Any] = {
    "pandas": lambda frame: frame,
    "nullable": lambda frame: frame.convert_dtypes(),
    "polars": pl.from_pandas,
    "polars lazy": lambda frame: pl.from_pandas(frame).lazy(),
    "pyarrow": lambda frame: pa.Table.from_pandas(frame, preserve_index=False),
    "lists": each_column(list),
    "tuples": each_column(tuple),
    "numpy": lambda frame: {name: frame[name].to_numpy() for name in frame},
    "arrow arrays": each_column(pa.array),
    "polars series": each_column(pl.Series),
    "categories": lambda frame: frame.astype("category"),
}


def outcomes_of(columns: Any) -> dict[str, Any]:
    return {"original": columns["predicted"], "other": columns["other"]}


@pytest.mark.parametrize("labels", [("no", "yes"), (False, True), (0, 1), (1.5, 2.5)])
@pytest.mark.parametrize("engine", ENGINES)
def test_any_engine_and_any_labels(engine, labels):
    some = people(14)
    words = pd.Series(labels)
    truth = words[some.truth].to_numpy()
    predicted = words[some.predicted].to_numpy()
    put_right = np.random.default_rng(2).random(250) < 0.2
    other = np.where(put_right, truth, predicted)
    columns = pd.DataFrame({"truth": truth, "predicted": predicted, "other": other})
    letters = np.array(["f", "m"])[some.sex]
    frame = pd.DataFrame({"sex": letters, "race": some.race})

    def search(columns: Any, protected: Any) -> eh.Comparison:
        return eh.compare(
            outcomes_of(columns),
            columns["truth"],
            protected,
            positive=labels[1],
            bias="aod",
            resamples=100,
        )

    expected = search(columns, frame)
    built = ENGINES[engine](columns)
    protected = ENGINES[engine](frame)
    if engine == "polars lazy":
        built = built.collect()
    found = search(built, protected)
    assert found.digest == expected.digest


def test_labels_of_mixed_numbers_are_one_label():
    some = people(15)
    mixed = {"original": some.predicted == 1, "other": some.truth.astype(float)}
    found = eh.compare(mixed, some.truth, some.sex, resamples=100)
    same = with_truth(some, some.sex)
    assert found.digest == same.digest


def with_truth(some: LabelledPeople, protected: Any) -> eh.Comparison:
    """Compare predictions with a mitigation that is always right."""
    return eh.compare(some.with_truth(), some.truth, protected, resamples=100)


def test_a_table_of_one_column_is_a_column():
    some = people(16)
    outcomes = {"original": pd.DataFrame({"a": some.predicted}), "other": some.truth}
    truth = pd.DataFrame({"y": some.truth})
    sex = pd.DataFrame({"sex": some.sex})
    found = eh.compare(outcomes, truth, sex, resamples=100)
    same = with_truth(some, {"sex": some.sex})
    assert found.digest == same.digest


def test_groups_of_mixed_kinds():
    some = people(17)
    kinds = np.array([3, "a", 2.5], dtype=object)
    mixed = kinds[some.race].tolist()
    _, found_bias = with_truth(some, mixed).start
    _, same_bias = with_truth(some, some.race).start
    assert found_bias.value == pytest.approx(same_bias.value)


def test_what_was_counted_already_compares_alike():
    some = people(18)
    trials = Trials.of(some.with_truth(), some.truth, some.sex)
    found = compare_trials(trials, resamples=100)
    same = with_truth(some, some.sex)
    assert found.digest == same.digest
    (table,) = trials.tables[0]
    assert table.sum() == 250
    is_false_positive = (some.truth == 0) & (some.predicted == 1)
    of_sex_1 = is_false_positive[some.sex == 1]
    assert table[1, 0, 1] == of_sex_1.sum()


@pytest.mark.parametrize("performance", ["accuracy", "balanced accuracy", "f1", "mcc"])
def test_multiclass_end_to_end(performance):
    some = people(19, labels=4, n=600)
    other = partly_right(some, 0.3, np.random.default_rng(3))
    found = eh.compare(
        {"original": some.predicted, "other": other},
        some.truth,
        some.columns("sex", "race"),
        performance=performance,
        resamples=200,
    )
    assert found.baseline.label in range(4)
    assert found.region["other"] in found.plausible["other"]
    assert found.performance == performance
