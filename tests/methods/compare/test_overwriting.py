"""The line of blind overwriting: the paper's example, and closed forms against loops over rows."""

from __future__ import annotations

from collections import Counter
from dataclasses import dataclass
from itertools import combinations
from typing import Any

import numpy as np
import pytest
from scipy.stats import chi2
from sklearn import metrics

import evenhand as eh
from evenhand.methods.compare.axes import as_bias, as_performance
from evenhand.methods.compare.contingency import Frame
from evenhand.methods.compare.regions import DEGREES, Overwriting, choose, curve, repeated

GROUP = np.array(["g1"] * 6 + ["g2"] * 4)
TRUTH = np.array([0, 1, 0, 1, 0, 1, 1, 1, 0, 0])
ORIGINAL = np.array([0, 1, 0, 1, 0, 0, 1, 1, 1, 0])
SOME = np.array([1, 1, 1, 1, 0, 0, 1, 1, 1, 0])
"""The rows of the paper's Table 2: the original, and 40 % of it overwritten."""


def example(times: int = 30, **settings: Any) -> eh.Comparison:
    """Compare the rows of Table 2, repeated so that intervals are narrow enough."""

    def again(column: Any) -> Any:
        return np.tile(column, times)

    outcomes = {
        "original": again(ORIGINAL),
        "40 %": again(SOME),
        "all": again(np.ones(10, int)),
    }
    return eh.compare(outcomes, again(TRUTH), again(GROUP), bias="fpr", **settings)


def test_the_rows_of_table_2_score_as_printed():
    found = example()
    performance, bias = found.start
    assert performance.value == pytest.approx(0.8)
    assert bias.value == pytest.approx(0.5)
    some = found["40 %"]
    assert some.performance.value == pytest.approx(0.6)
    assert some.bias.value == pytest.approx(1 / 6)
    every = found["all"]
    assert every.performance.value == pytest.approx(0.5)
    assert every.bias.value == pytest.approx(0.0)


def test_what_the_paper_overwrote_lies_on_the_line():
    found = example(degrees=[0.4])
    baseline = found.baseline
    assert baseline.degrees == (0.0, 0.4, 1.0)
    assert baseline.performance == pytest.approx((0.8, 0.68, 0.5))
    assert baseline.bias == pytest.approx((0.5, 0.3, 0.0))
    assert baseline.method == "exact"
    first, middle, last = baseline.scaled
    assert first == pytest.approx((1.0, 1.0))
    assert middle == pytest.approx((0.6, 0.6))
    assert last == pytest.approx((0.0, 0.0))
    assert found.region == {"40 %": "poor trade-off", "all": "poor trade-off"}
    assert np.isnan(found.area["all"])
    assert found["40 %"].gain.value == pytest.approx(0.0, abs=1e-9)


@pytest.mark.parametrize("label", [0, 1])
def test_both_labels_make_the_same_line_in_table_2(label):
    baseline = example(overwrite="label", label=label).baseline
    degrees = np.array(DEGREES)
    assert baseline.label == label
    assert baseline.performance == pytest.approx(0.8 - 0.3 * degrees)
    assert baseline.bias == pytest.approx(0.5 - 0.5 * degrees)


def test_the_paper_s_procedure_gives_about_that_line():
    options: dict[str, Any] = {"line": "monte-carlo", "repetitions": 300, "resamples": 100}
    exact = example().baseline
    found = example(**options)
    drawn = found.baseline
    assert drawn.method == "monte carlo"
    assert drawn.performance == pytest.approx(exact.performance, abs=0.01)
    # Sizes of differences do not fall below none, so their means lie a little higher near the end.
    assert drawn.bias == pytest.approx(exact.bias, abs=0.02)
    assert found.digest == example(**options).digest
    assert found.digest != example(**options, seed=1).digest


@dataclass
class CountedPeople:
    """Groups, true and predicted labels of people, and the frame that counts them."""

    group: Any
    truth: Any
    predicted: Any
    labels: int

    @property
    def frame(self) -> Frame:
        return Frame.of(range(self.labels), {"group": self.group})

    def table(self, predicted: Any = None) -> Any:
        """Return the counts of their own predictions, or of others."""
        if predicted is None:
            predicted = self.predicted
        cells = self.frame.cells(self.group, self.truth, predicted)
        return self.frame.table(cells)

    def scores(self, bias: str, performance: str, positive: int | None) -> tuple[Any, Any]:
        frame = self.frame
        bias_score = as_bias(bias, frame, positive)
        performance_score = as_performance(performance, frame, positive)
        return bias_score, performance_score

    def curve(
        self,
        way: Overwriting,
        *,
        bias: str = "spd",
        performance: str = "accuracy",
        positive: int | None = 1,
    ) -> tuple[Any, Any]:
        """Return bias and performance at each degree of overwriting, by closed forms."""
        return curve(way, self.table(), self.scores(bias, performance, positive))

    def overwritten(
        self, degree: float, label: int | None, *, times: int, seed: int
    ) -> Any:
        """Overwrite that part of the rows, chosen at random each time, as the paper does."""
        rng = np.random.default_rng(seed)
        rows = len(self.predicted)
        number = round(degree * rows)
        found = np.tile(self.predicted, (times, 1))
        for row in found:
            chosen = rng.choice(rows, number, replace=False)
            if label is None:
                row[chosen] = rng.integers(0, self.labels, number)
            else:
                row[chosen] = label
        return found


def people(n: int, labels: int, groups: int, seed: int) -> CountedPeople:
    """Return random people whose predictions depend on truth and group."""
    rng = np.random.default_rng(seed)
    group = rng.choice(groups, n, p=rising(groups))
    truth = rng.choice(labels, n, p=rising(labels))
    is_right = rng.random(n) < 0.6 + 0.1 * group
    predicted = np.where(is_right, truth, rng.integers(0, labels, n))
    is_favoured = (group == 0) & (rng.random(n) < 0.2)
    predicted = np.where(is_favoured, labels - 1, predicted)
    return CountedPeople(group, truth, predicted, labels)


def rising(number: int) -> Any:
    """Return chances in proportion to 1, 2, 3 and so on."""
    total = number * (number + 1) / 2
    return np.arange(1, number + 1) / total


def rate(predicted: Any, rows: Any, positive: int) -> Any:
    """Return how often some rows get a label, in each repetition."""
    is_positive = predicted[:, rows] == positive
    return is_positive.mean(axis=1)


def gap(predicted: Any, group: Any, rows: Any, positive: int) -> Any:
    """Return the signed difference of the rates of group 1 and group 0, among some rows."""
    first = rate(predicted, (group == 1) & rows, positive)
    second = rate(predicted, (group == 0) & rows, positive)
    return first - second


def signed(name: str, predicted: Any, rows: CountedPeople, positive: int) -> Any:
    """Return a signed bias of group 1 to group 0, by plain means over rows."""
    everyone = np.ones(len(rows.truth), dtype=bool)
    if name == "spd":
        return gap(predicted, rows.group, everyone, positive)
    is_positive = rows.truth == positive
    hits = gap(predicted, rows.group, is_positive, positive)
    alarms = gap(predicted, rows.group, ~is_positive, positive)
    if name == "eod":
        return hits
    if name == "fpr":
        return alarms
    return (hits + alarms) / 2


def within(values: Any, expected: float, slack: float = 0.0) -> None:
    """Check that a mean is the expected one, within five of its standard errors."""
    mean = values.mean()
    deviation = np.std(values, ddof=1)
    error = deviation / np.sqrt(len(values))
    distance = abs(mean - expected)
    assert distance <= 5 * error + slack, (mean, expected, error)


@pytest.mark.parametrize("label", [0, 1, None])
@pytest.mark.parametrize("labels", [2, 3])
@pytest.mark.parametrize("degree", [0.1, 0.5, 0.9])
def test_linear_scores_are_the_mean_over_rows(label, labels, degree):
    rows = people(90, labels, 2, 5)
    drawn = rows.overwritten(degree, label, times=800, seed=1)
    way = Overwriting((0.0, degree, 1.0), label)
    accuracy = (drawn == rows.truth).mean(axis=1)
    for name in ("spd", "aod", "eod", "fpr"):
        bias, performance = rows.curve(way, bias=name)
        original = rows.predicted[None, :]
        start = float(signed(name, original, rows, 1)[0])
        expected = np.sign(start) * bias[1]
        within(signed(name, drawn, rows, 1), float(expected))
        shares_left = 1 - np.array(way.degrees)
        assert bias == pytest.approx(abs(start) * shares_left, abs=1e-12)
        within(accuracy, float(performance[1]))


@pytest.mark.parametrize("label", [0, 1, None])
@pytest.mark.parametrize("labels", [2, 3])
@pytest.mark.parametrize("degree", [0.1, 0.5, 0.9])
def test_balanced_accuracy_is_the_mean_over_rows(label, labels, degree):
    rows = people(90, labels, 2, 5)
    drawn = rows.overwritten(degree, label, times=800, seed=1)
    way = Overwriting((0.0, degree, 1.0), label)
    _, balanced = rows.curve(way, performance="balanced accuracy")
    recalls = []
    for true_label in range(labels):
        has_label = rows.truth == true_label
        recalls.append(rate(drawn, has_label, true_label))
    mean_recall = np.mean(recalls, axis=0)
    within(mean_recall, float(balanced[1]))
    of_scikit_learn = metrics.balanced_accuracy_score(rows.truth, drawn[0])
    assert mean_recall[0] == pytest.approx(of_scikit_learn)


@pytest.mark.parametrize("label", [0, 1, None])
@pytest.mark.parametrize("degree", [0.3, pytest.param(0.8, marks=pytest.mark.slow)])
def test_other_scores_are_the_mean_over_rows_of_a_large_test_set(label, degree):
    rows = people(12_000, 2, 2, 6)
    drawn = rows.overwritten(degree, label, times=25, seed=2)
    way = Overwriting((0.0, degree), label)
    oracles = {"f1": metrics.f1_score, "mcc": metrics.matthews_corrcoef}
    for name, oracle in oracles.items():
        bias, performance = rows.curve(way, bias="di", performance=name)
        of_original = oracle(rows.truth, rows.predicted)
        assert performance[0] == pytest.approx(of_original)
        expected = np.array([oracle(rows.truth, row) for row in drawn])
        within(expected, float(performance[1]), 1e-3)
    first = rate(drawn, rows.group == 0, 1)
    second = rate(drawn, rows.group == 1, 1)
    ratio = np.minimum(first, second) / np.maximum(first, second)
    within(1 - ratio, float(bias[1]), 1e-3)


def macro_f1(truth: Any, predicted: Any) -> float:
    return float(metrics.f1_score(truth, predicted, average="macro"))


@pytest.mark.parametrize(
    ("name", "oracle"),
    [
        ("f1", macro_f1),
        ("mcc", metrics.matthews_corrcoef),
        ("balanced accuracy", metrics.balanced_accuracy_score),
    ],
)
def test_scores_of_several_labels_are_those_of_rows(name, oracle):
    rows = people(6_000, 4, 3, 7)
    drawn = rows.overwritten(0.4, 3, times=25, seed=3)
    way = Overwriting((0.0, 0.4), 3)
    _, performance = rows.curve(way, performance=name, positive=None)
    of_original = oracle(rows.truth, rows.predicted)
    assert performance[0] == pytest.approx(of_original)
    expected = np.array([oracle(rows.truth, row) for row in drawn])
    within(expected, float(performance[1]), 1e-3)


def test_drawn_tables_have_the_distribution_of_choosing_rows():
    """Every way to choose 3 of 7 rows, against as many draws as tell them apart."""
    rows = CountedPeople(
        group=np.array([0, 0, 0, 0, 1, 1, 1]),
        truth=np.array([0, 0, 1, 1, 0, 1, 1]),
        predicted=np.array([0, 1, 1, 0, 0, 1, 1]),
        labels=2,
    )
    ways: Counter[bytes] = Counter()
    for chosen in combinations(range(7), 3):
        after = rows.predicted.copy()
        after[list(chosen)] = 1
        ways[rows.table(after).tobytes()] += 1
    times = 20_000
    overwriting = Overwriting((3 / 7,), 1)
    drawn = overwriting.drawn(rows.table(), times, np.random.default_rng(4))
    seen = Counter(table.tobytes() for table in drawn[:, 0])
    assert set(seen) == set(ways)
    number_of_ways = np.array(list(ways.values()))
    expected = number_of_ways / ways.total() * times
    observed = np.array([seen[table] for table in ways])
    deviations = np.square(observed - expected) / expected
    statistic = float(deviations.sum())
    assert chi2.sf(statistic, len(ways) - 1) > 1e-4


def test_random_labels_have_the_distribution_of_choosing_rows():
    rows = people(40, 3, 2, 8)
    times = 4000
    chosen = rows.overwritten(0.5, None, times=times, seed=5)
    by_rows = np.array([rows.table(row) for row in chosen])
    overwriting = Overwriting((0.5,), None)
    rng = np.random.default_rng(6)
    drawn = overwriting.drawn(rows.table(), times, rng)[:, 0]
    people_by_label = by_rows[0].sum(axis=-1)
    assert (drawn.sum(axis=-1) == people_by_label).all()
    drawn_cells = drawn.reshape(times, -1)
    row_cells = by_rows.reshape(times, -1)
    mean = row_cells.mean(axis=0)
    assert drawn_cells.mean(axis=0) == pytest.approx(mean, abs=0.1)
    deviation = row_cells.std(axis=0)
    assert drawn_cells.std(axis=0) == pytest.approx(deviation, abs=0.1)
    covariance = np.cov(row_cells.T)
    assert np.cov(drawn_cells.T) == pytest.approx(covariance, abs=0.15)


def test_repeated_is_the_mean_of_what_is_drawn():
    rows = people(300, 2, 2, 9)
    scores = rows.scores("spd", "accuracy", 1)
    table = rows.table()
    way = Overwriting(DEGREES, 0)
    rng = np.random.default_rng(6)
    bias, performance = repeated(way, table, scores, 2000, rng)
    exact_bias, exact_performance = curve(way, table, scores)
    assert performance == pytest.approx(exact_performance, abs=0.003)
    assert (bias >= exact_bias - 0.003).all()
    assert bias[:4] == pytest.approx(exact_bias[:4], abs=0.01)
    assert bias[-1] == pytest.approx(0.0)
    assert performance[-1] == pytest.approx(exact_performance[-1])


@pytest.mark.parametrize("seed", range(10))
def test_the_tightest_line_is_that_of_the_commonest_label(seed):
    rows = people(200, 3, 2, seed)
    scores = rows.scores("spd", "accuracy", None)
    table = rows.table()
    labels = (0, 1, 2)
    tightest = choose("tightest", None, labels, table, scores)
    assert tightest == choose("majority", None, labels, table, scores)
    assert tightest.label == np.bincount(rows.truth).argmax()
    ends = []
    for label in labels:
        way = Overwriting((0.0, 1.0), label)
        _, performance = curve(way, table, scores)
        ends.append(performance[-1])
    _, performance = curve(tightest, table, scores)
    assert performance[-1] == pytest.approx(max(ends))


def test_a_line_that_never_loses_its_bias_is_not_the_tightest():
    """To refuse everyone keeps the ratio of rates up to the very end, where there is none."""
    rows = people(400, 2, 2, 3)
    scores = rows.scores("di", "accuracy", 1)
    table = rows.table()[:, ::-1, :]
    refusing = Overwriting(DEGREES, 0)
    bias, _ = curve(refusing, table, scores)
    *before_the_end, at_the_end = bias
    assert before_the_end == pytest.approx([bias[0]] * 10)
    assert np.isnan(at_the_end)
    tightest = choose("tightest", None, (0, 1), table, scores)
    assert tightest.label == 1


def test_random_overwriting_ends_at_chance():
    rows = people(500, 2, 2, 4)
    outcomes = {"original": rows.predicted, "same": rows.predicted}
    found = eh.compare(outcomes, rows.truth, rows.group, overwrite="random")
    baseline = found.baseline
    assert baseline.label is None
    assert baseline.performance[-1] == pytest.approx(0.5)
    assert baseline.bias[-1] == pytest.approx(0.0)
