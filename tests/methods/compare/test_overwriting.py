"""The line of blind overwriting: the paper's example, and the closed form against faithful loops
over rows.
"""

from __future__ import annotations

from collections import Counter
from itertools import combinations
from typing import Any

import numpy as np
import pytest
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
    def again(column: Any) -> Any:
        return np.tile(column, times)

    told = {"original": again(ORIGINAL), "40 %": again(SOME), "all": again(np.ones(10, int))}
    return eh.compare(told, again(TRUTH), again(GROUP), bias="fpr", **settings)


def test_the_rows_of_table_2_score_as_printed():
    found = example()
    assert found.start[0].value == pytest.approx(0.8)
    assert found.start[1].value == pytest.approx(0.5)
    assert (found["40 %"].performance.value, found["40 %"].bias.value) == pytest.approx(
        (0.6, 1 / 6)
    )
    assert (found["all"].performance.value, found["all"].bias.value) == pytest.approx((0.5, 0.0))


def test_what_the_paper_overwrote_lies_on_the_line():
    found = example(degrees=[0.4])
    assert found.baseline.degrees == (0.0, 0.4, 1.0)
    assert found.baseline.performance == pytest.approx((0.8, 0.68, 0.5))
    assert found.baseline.bias == pytest.approx((0.5, 0.3, 0.0))
    assert found.baseline.method == "exact"
    for at, point in enumerate([(1.0, 1.0), (0.6, 0.6), (0.0, 0.0)]):
        assert found.baseline.scaled[at] == pytest.approx(point)
    assert found.region == {"40 %": "poor trade-off", "all": "poor trade-off"}
    assert np.isnan(found.area["all"])
    assert found["40 %"].gain.value == pytest.approx(0.0, abs=1e-9)


@pytest.mark.parametrize("label", [0, 1])
def test_both_labels_make_the_same_line_in_table_2(label):
    found = example(overwrite="label", label=label)
    assert found.baseline.label == label
    assert found.baseline.performance == pytest.approx(
        tuple(0.8 - 0.3 * degree for degree in DEGREES)
    )
    assert found.baseline.bias == pytest.approx(tuple(0.5 - 0.5 * degree for degree in DEGREES))


def test_the_paper_s_procedure_gives_about_that_line():
    exact, drawn = example(), example(line="monte-carlo", repetitions=300, resamples=100)
    assert drawn.baseline.method == "monte carlo"
    assert drawn.baseline.performance == pytest.approx(exact.baseline.performance, abs=0.01)
    # Sizes of differences do not fall below none, so their means lie a little higher near the end.
    assert drawn.baseline.bias == pytest.approx(exact.baseline.bias, abs=0.02)
    assert drawn.digest == example(line="monte-carlo", repetitions=300, resamples=100).digest
    assert (
        drawn.digest != example(line="monte-carlo", repetitions=300, resamples=100, seed=1).digest
    )


def people(n: int, labels: int, groups: int, seed: int) -> tuple[Any, Any, Any]:
    """Random people whose predictions depend on truth and group."""
    rng = np.random.default_rng(seed)
    group = rng.choice(groups, n, p=np.arange(1, groups + 1) / (groups * (groups + 1) / 2))
    truth = rng.choice(labels, n, p=np.arange(1, labels + 1) / (labels * (labels + 1) / 2))
    told = np.where(rng.random(n) < 0.6 + 0.1 * group, truth, rng.integers(0, labels, n))
    told = np.where((group == 0) & (rng.random(n) < 0.2), labels - 1, told)
    return group, truth, told


def overwritten(
    told: Any, degree: float, label: int | None, labels: int, times: int, rng: Any
) -> Any:
    """Overwrite that part of the rows, chosen at random one time after another, as the paper does."""
    some = round(degree * len(told))
    found = np.tile(told, (times, 1))
    for row in found:
        chosen = rng.choice(len(told), some, replace=False)
        row[chosen] = rng.integers(0, labels, some) if label is None else label
    return found


def rate(told: Any, rows: Any, positive: int) -> Any:
    return (told[:, rows] == positive).mean(axis=1)


def signed(name: str, told: Any, truth: Any, group: Any, positive: int) -> Any:
    """Return a signed difference of group 1 to group 0, by plain means over rows."""
    if name == "spd":
        return rate(told, group == 1, positive) - rate(told, group == 0, positive)
    hits, alarms = (
        rate(told, (group == 1) & which, positive) - rate(told, (group == 0) & which, positive)
        for which in (truth == positive, truth != positive)
    )
    return {"eod": hits, "fpr": alarms, "aod": (hits + alarms) / 2}[name]


def within(values: Any, expected: float, slack: float = 0.0) -> None:
    """Check that a mean is the expected one, within five of its standard errors."""
    error = np.std(values, ddof=1) / np.sqrt(len(values))
    assert abs(values.mean() - expected) <= 5 * error + slack, (values.mean(), expected, error)


def table_of(frame: Frame, group: Any, truth: Any, told: Any) -> Any:
    return frame.table(frame.cells(group, truth, told))


@pytest.mark.parametrize("label", [0, 1, None])
@pytest.mark.parametrize("labels", [2, 3])
@pytest.mark.parametrize("degree", [0.1, 0.5, 0.9])
def test_linear_scores_are_the_mean_over_rows(label, labels, degree):
    group, truth, told = people(90, labels, 2, 5)
    frame = Frame.of(range(labels), {"group": group})
    rng = np.random.default_rng(1)
    drawn = overwritten(told, degree, label, labels, 800, rng)
    way = Overwriting((0.0, degree, 1.0), label)
    original = table_of(frame, group, truth, told)
    for name in ("spd", "aod", "eod", "fpr"):
        bias, performance = curve(
            way, original, (as_bias(name, frame, 1), as_performance("accuracy", frame, 1))
        )
        found = signed(name, drawn, truth, group, 1)
        start = float(signed(name, told[None, :], truth, group, 1)[0])
        within(found, float(np.sign(start) * bias[1]))
        assert bias == pytest.approx(abs(start) * (1 - np.array(way.degrees)), abs=1e-12)
        within((drawn == truth).mean(axis=1), float(performance[1]))
    _, balanced = curve(way, original, (None, as_performance("balanced accuracy", frame, 1)))
    recalls = np.stack([rate(drawn, truth == one, one) for one in range(labels)])
    within(recalls.mean(axis=0), float(balanced[1]))
    assert recalls.mean(axis=0)[0] == pytest.approx(
        metrics.balanced_accuracy_score(truth, drawn[0])
    )


@pytest.mark.parametrize("label", [0, 1, None])
@pytest.mark.parametrize("degree", [0.3, pytest.param(0.8, marks=pytest.mark.slow)])
def test_other_scores_are_the_mean_over_rows_of_a_large_test_set(label, degree):
    group, truth, told = people(12_000, 2, 2, 6)
    frame = Frame.of([0, 1], {"group": group})
    drawn = overwritten(told, degree, label, 2, 25, np.random.default_rng(2))
    way = Overwriting((0.0, degree), label)
    original = table_of(frame, group, truth, told)
    oracles = {"f1": metrics.f1_score, "mcc": metrics.matthews_corrcoef}
    for name, oracle in oracles.items():
        bias, performance = curve(
            way, original, (as_bias("di", frame, 1), as_performance(name, frame, 1))
        )
        assert performance[0] == pytest.approx(oracle(truth, told))
        within(np.array([oracle(truth, row) for row in drawn]), float(performance[1]), 1e-3)
    rates = np.stack([rate(drawn, group == one, 1) for one in (0, 1)])
    within(1 - rates.min(axis=0) / rates.max(axis=0), float(bias[1]), 1e-3)


@pytest.mark.parametrize("name", ["f1", "mcc", "balanced accuracy"])
def test_scores_of_several_labels_are_those_of_rows(name):
    group, truth, told = people(6_000, 4, 3, 7)
    frame = Frame.of(range(4), {"group": group})
    drawn = overwritten(told, 0.4, 3, 4, 25, np.random.default_rng(3))
    _, performance = curve(
        Overwriting((0.0, 0.4), 3),
        table_of(frame, group, truth, told),
        (as_bias("spd", frame, None), as_performance(name, frame, None)),
    )
    oracle = {
        "f1": lambda *rows: metrics.f1_score(*rows, average="macro"),
        "mcc": metrics.matthews_corrcoef,
        "balanced accuracy": metrics.balanced_accuracy_score,
    }[name]
    assert performance[0] == pytest.approx(oracle(truth, told))
    within(np.array([oracle(truth, row) for row in drawn]), float(performance[1]), 1e-3)


def test_drawn_tables_have_the_law_of_choosing_rows():
    """Every way to choose 3 of 7 rows, against as many draws as tell them apart."""
    group, truth, told = (
        np.array([0, 0, 0, 0, 1, 1, 1]),
        np.array([0, 0, 1, 1, 0, 1, 1]),
        np.array([0, 1, 1, 0, 0, 1, 1]),
    )
    frame = Frame.of([0, 1], {"group": group})
    every: Counter[bytes] = Counter()
    for chosen in combinations(range(7), 3):
        after = told.copy()
        after[list(chosen)] = 1
        every[table_of(frame, group, truth, after).tobytes()] += 1
    times = 20_000
    drawn = Overwriting((3 / 7,), 1).drawn(
        table_of(frame, group, truth, told), times, np.random.default_rng(4)
    )
    seen = Counter(table.tobytes() for table in drawn[:, 0])
    assert set(seen) == set(every)
    total = sum(every.values())
    expected = np.array([every[key] / total * times for key in every])
    strange = float((np.square(np.array([seen[key] for key in every]) - expected) / expected).sum())
    from scipy.stats import chi2

    assert chi2.sf(strange, len(every) - 1) > 1e-4


def test_random_labels_have_the_law_of_choosing_rows():
    group, truth, told = people(40, 3, 2, 8)
    frame = Frame.of(range(3), {"group": group})
    rng = np.random.default_rng(5)
    rows = np.array(
        [table_of(frame, group, truth, row) for row in overwritten(told, 0.5, None, 3, 4000, rng)]
    )
    drawn = Overwriting((0.5,), None).drawn(table_of(frame, group, truth, told), 4000, rng)[:, 0]
    assert (drawn.sum(axis=-1) == rows[0].sum(axis=-1)).all()
    flat, other = drawn.reshape(4000, -1), rows.reshape(4000, -1)
    for one, two in (
        (flat.mean(axis=0), other.mean(axis=0)),
        (flat.std(axis=0), other.std(axis=0)),
    ):
        assert one == pytest.approx(two, abs=0.1)
    assert np.cov(flat.T) == pytest.approx(np.cov(other.T), abs=0.15)


def test_repeated_is_the_mean_of_what_is_drawn():
    group, truth, told = people(300, 2, 2, 9)
    frame = Frame.of([0, 1], {"group": group})
    scores = as_bias("spd", frame, 1), as_performance("accuracy", frame, 1)
    table, way = table_of(frame, group, truth, told), Overwriting(DEGREES, 0)
    bias, performance = repeated(way, table, scores, 2000, np.random.default_rng(6))
    exact = curve(way, table, scores)
    assert performance == pytest.approx(exact[1], abs=0.003)
    assert (bias >= exact[0] - 0.003).all()
    assert bias[:4] == pytest.approx(exact[0][:4], abs=0.01)
    assert (bias[-1], performance[-1]) == pytest.approx((0.0, exact[1][-1]))


def test_the_tightest_line_is_that_of_the_commonest_label():
    for seed in range(10):
        group, truth, told = people(200, 3, 2, seed)
        frame = Frame.of(range(3), {"group": group})
        scores = as_bias("spd", frame, None), as_performance("accuracy", frame, None)
        table = table_of(frame, group, truth, told)
        tightest = choose("tightest", None, frame.labels, table, scores)
        assert tightest == choose("majority", None, frame.labels, table, scores)
        assert tightest.label == np.bincount(truth).argmax()
        ends = [curve(Overwriting((0.0, 1.0), label), table, scores)[1][-1] for label in range(3)]
        assert curve(tightest, table, scores)[1][-1] == pytest.approx(max(ends))


def test_a_line_that_never_loses_its_bias_is_not_the_tightest():
    """To refuse everyone keeps the ratio of rates as it is up to the very end, where there is none."""
    group, truth, told = people(400, 2, 2, 3)
    frame = Frame.of([0, 1], {"group": group})
    scores = as_bias("di", frame, 1), as_performance("accuracy", frame, 1)
    table = table_of(frame, group, truth, told)[:, ::-1, :]
    bias, _ = curve(Overwriting(DEGREES, 0), table, scores)
    assert bias[:-1] == pytest.approx(np.full(10, bias[0]))
    assert np.isnan(bias[-1])
    assert choose("tightest", None, (0, 1), table, scores).label == 1


def test_random_overwriting_ends_at_chance():
    group, truth, told = people(500, 2, 2, 4)
    found = eh.compare({"original": told, "same": told}, truth, group, overwrite="random")
    assert found.baseline.label is None
    assert found.baseline.performance[-1] == pytest.approx(0.5)
    assert found.baseline.bias[-1] == pytest.approx(0.0)
