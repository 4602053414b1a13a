"""The numbers of other libraries, on random tables: Fairlearn, AIF360, SciPy, statsmodels.

Tables have cells of 0 and groups that lack a true label; values are compared where both define
them.
"""

from __future__ import annotations

import math
import warnings
from typing import TYPE_CHECKING, Any

import numpy as np
import pytest
from scipy import stats

from evenhand.methods.compare.metrics import METRICS
from evenhand.scores.rates.metric_table import NO_LIMITS, MetricTable
from evenhand.statistics import intervals
from evenhand.statistics.discoveries import adjusted, discovered
from evenhand.statistics.error_rates import RATES, USUAL
from evenhand.statistics.means import Moments, mean_limits, median_limits
from evenhand.statistics.sequential import finite
from evenhand.statistics.spending import ALONE
from tests.support.simulation import slow

if TYPE_CHECKING:
    from collections.abc import Iterator

TOLERANCE = 1e-12
MANY = 1000
FEW = 40
FAVOURABLE = np.array([False, True])
numbers = pytest.mark.parametrize("number", [FEW, slow(MANY)])
"""For libraries that take milliseconds for each table."""


def close(found: Any, expected: Any) -> None:
    """Check that numbers agree to rounding, wherever the other library defines them."""
    theirs = np.asarray(expected, dtype=float)
    ours = np.asarray(found, dtype=float)
    defined = ~np.isnan(theirs)
    assert defined.any()
    assert ours[defined] == pytest.approx(theirs[defined], rel=TOLERANCE, abs=TOLERANCE)


def tables(number: int, groups: int, seed: int = 0) -> Any:
    """Return counts by group, true and predicted label; every sixth cell is 0."""
    rng = np.random.default_rng([seed, groups])
    counts = rng.integers(1, 200, (number, groups, 2, 2))
    is_empty = rng.random(counts.shape) < 1 / 6
    drawn = np.where(is_empty, 0, counts)
    # A group without anybody is no group.
    drawn[..., 0, 0] += drawn.sum(axis=(-2, -1)) == 0
    return drawn


def rows_of(table: Any) -> tuple[Any, Any, Any, Any]:
    """Return group, truth and prediction of each cell, and how many people it stands for."""
    group, truth, predicted = np.indices(table.shape).reshape(3, -1)
    weight = table.ravel().astype(float)
    some = weight > 0
    return group[some], truth[some], predicted[some], weight[some]


def metric_table(table: Any) -> MetricTable:
    """Return the rates of a table as of a whole population."""
    groups = len(table)
    counts = np.zeros((groups, 3, 2))
    counts[:, :2] = table
    about = [{"group": str(place)} for place in range(groups)]
    names = (*USUAL, "false_negative_rate", "true_negative_rate", "base_rate")
    return MetricTable(("group",), about, counts, names, 1.0, ALONE, NO_LIMITS, "people")


def cases(number: int, groups: int) -> Iterator[tuple[Any, Any, dict[str, Any]]]:
    """Yield tables, their rows, and what Fairlearn takes besides."""
    for table in tables(number, groups):
        group, truth, predicted, weight = rows_of(table)
        yield table, (truth, predicted), {"group": group, "weight": weight}


@numbers
@pytest.mark.parametrize("groups", [2, 3])
def test_differences_and_ratios_are_those_of_fairlearn(number, groups):
    metrics = pytest.importorskip("fairlearn.metrics")
    theirs: list[list[float]] = []
    for _, rows, given in cases(number, groups):
        options = {
            "sensitive_features": given["group"],
            "sample_weight": given["weight"],
        }
        ratio = metrics.demographic_parity_ratio(*rows, **options)
        theirs.append(
            [
                metrics.demographic_parity_difference(*rows, **options),
                1 - ratio,
            ]
        )
    counts = tables(number, groups).astype(float)
    expected = np.array(theirs).T
    with np.errstate(invalid="ignore"):
        close(METRICS["spd"].function(counts, FAVOURABLE), expected[0])
        close(METRICS["di"].function(counts, FAVOURABLE), expected[1])


@numbers
def test_equalized_odds_are_those_of_fairlearn(number):
    """Where every group has both true labels: Fairlearn takes a rate of nobody for 0."""
    metrics = pytest.importorskip("fairlearn.metrics")
    counts = tables(number, 3, seed=1) + np.eye(2, dtype=int)
    theirs = []
    for table in counts:
        group, truth, predicted, weight = rows_of(table)
        options = {"sensitive_features": group, "sample_weight": weight}
        theirs.append(
            [
                metrics.equalized_odds_difference(truth, predicted, **options),
                metrics.equal_opportunity_difference(truth, predicted, **options),
            ]
        )
    odds, opportunity = np.array(theirs).T
    close(METRICS["odds"].function(counts.astype(float), FAVOURABLE), odds)
    close(METRICS["eod"].function(counts.astype(float), FAVOURABLE), opportunity)


@numbers
def test_rates_of_groups_are_those_of_fairlearn_and_scikit_learn(number):
    fairlearn = pytest.importorskip("fairlearn.metrics")
    from sklearn import metrics

    functions = {
        "selection_rate": fairlearn.selection_rate,
        "true_positive_rate": fairlearn.true_positive_rate,
        "false_positive_rate": fairlearn.false_positive_rate,
        "false_negative_rate": fairlearn.false_negative_rate,
        "true_negative_rate": fairlearn.true_negative_rate,
        "precision": metrics.precision_score,
        "accuracy": metrics.accuracy_score,
    }
    for table in tables(number, 2, seed=2) + np.eye(2, dtype=int):
        found = metric_table(table)
        group, truth, predicted, weight = rows_of(table)
        for name, function in functions.items():
            expected = []
            for place in (0, 1):
                of = group == place
                rate = function(truth[of], predicted[of], sample_weight=weight[of])
                expected.append(rate)
            close([estimate.value for estimate in found.rates(name)], expected)
            close(found.difference(name).value, max(expected) - min(expected))
            if max(expected):
                close(found.ratio(name).value, min(expected) / max(expected))


def test_rates_of_a_thousand_tables_are_shares_of_people():
    counts = tables(MANY, 3, seed=3)
    with np.errstate(invalid="ignore"):
        favoured = counts[..., 1].sum(axis=-1) / counts.sum(axis=(-2, -1))
        true_positive = counts[:, :, 1, 1] / counts[:, :, 1].sum(axis=-1)
    padded = np.zeros((MANY, 3, 3, 2))
    padded[:, :, :2] = counts
    for name, expected in (
        ("selection_rate", favoured),
        ("true_positive_rate", true_positive),
    ):
        hits, size = RATES[name].counted(padded)
        with np.errstate(invalid="ignore"):
            close(hits / size, expected)


@numbers
def test_performances_are_those_of_scikit_learn(number):
    from sklearn import metrics

    functions: dict[str, Any] = {
        "accuracy": metrics.accuracy_score,
        "balanced accuracy": metrics.balanced_accuracy_score,
        "f1": metrics.f1_score,
        "mcc": metrics.matthews_corrcoef,
    }
    counts = tables(number, 2, seed=4) + np.eye(2, dtype=int)
    expected: dict[str, list[float]] = {name: [] for name in functions}
    for table in counts:
        _, truth, predicted, weight = rows_of(table)
        for name, function in functions.items():
            expected[name].append(function(truth, predicted, sample_weight=weight))
    together = counts.sum(axis=1).astype(float)
    for name, values in expected.items():
        close(METRICS[name].function(together, FAVOURABLE), values)


@pytest.mark.heavy
def test_biases_are_those_of_aif360():
    pytest.importorskip("aif360")
    import pandas as pd
    from aif360.datasets import BinaryLabelDataset
    from aif360.metrics import ClassificationMetric

    expected: dict[str, list[float]] = {"spd": [], "aod": [], "aod-abs": [], "eod": []}
    counts = tables(MANY, 2, seed=5) + np.eye(2, dtype=int)
    for table in counts:
        group, truth, predicted, weight = rows_of(table)
        frame = pd.DataFrame({"group": group, "label": truth})
        true = BinaryLabelDataset(
            df=frame.astype(float),
            label_names=["label"],
            protected_attribute_names=["group"],
        )
        true.instance_weights = weight
        decided = true.copy()
        decided.labels = predicted.astype(float)[:, None]
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            found = ClassificationMetric(true, decided, [{"group": 0}], [{"group": 1}])
            expected["spd"].append(abs(found.statistical_parity_difference()))
            expected["aod"].append(abs(found.average_odds_difference()))
            expected["aod-abs"].append(found.average_abs_odds_difference())
            expected["eod"].append(abs(found.equal_opportunity_difference()))
    for name, values in expected.items():
        close(METRICS[name].function(counts.astype(float), FAVOURABLE), values)


# Intervals


def shares(seed: int, number: int = MANY) -> tuple[Any, Any]:
    """Return hits and sizes, some with no hit and some with nothing but hits."""
    rng = np.random.default_rng(seed)
    size = rng.integers(1, 400, number)
    hits = rng.binomial(size, rng.choice([0.0, 0.02, 0.5, 0.9, 1.0], number))
    return hits, size


METHODS: tuple[tuple[Any, str, str], ...] = (
    (intervals.clopper_pearson, "exact", "beta"),
    (intervals.wilson, "wilson", "wilson"),
    (intervals.wald, "", "normal"),
)


@pytest.mark.parametrize(("interval", "in_scipy", "in_statsmodels"), METHODS)
@pytest.mark.parametrize("level", [0.9, 0.95, 0.999])
def test_intervals_of_one_rate_are_those_of_statsmodels_and_scipy(
    interval, in_scipy, in_statsmodels, level
):
    hits, size = shares(6)
    low, high = interval(hits, size, level)
    proportion = pytest.importorskip(
        "statsmodels.stats.proportion", reason="needs statsmodels"
    )
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        theirs = proportion.proportion_confint(
            hits, size, alpha=1 - level, method=in_statsmodels
        )
    # Beyond 1e-12 the quantiles of the beta distribution differ by how they are found.
    tolerance = 1e-9 if in_scipy == "exact" else 1e-12
    assert low == pytest.approx(np.clip(theirs[0], 0, 1), abs=tolerance)
    assert high == pytest.approx(np.clip(theirs[1], 0, 1), abs=tolerance)
    if not in_scipy:
        return
    for place in range(0, MANY, 50):
        test = stats.binomtest(int(hits[place]), int(size[place]))
        expected = test.proportion_ci(level, method=in_scipy)
        assert low[place] == pytest.approx(expected.low, abs=1e-9)
        assert high[place] == pytest.approx(expected.high, abs=1e-9)


@pytest.mark.parametrize("tail", [0.025, 1e-6])
def test_exact_limits_of_a_rate_are_quantiles_of_the_beta_distribution(tail):
    hits, size = shares(7)
    low = intervals.lower_limit(hits.astype(float), size.astype(float), tail)
    some = hits > 0
    expected = stats.beta.ppf(tail, hits[some], size[some] - hits[some] + 1)
    assert low[some] == pytest.approx(expected, rel=1e-12, abs=1e-12)
    assert not low[~some].any()


def test_the_chance_of_the_other_side_is_at_the_exact_limits_the_tail():
    """What defines the limits, by the binomial distribution of SciPy."""
    hits, size = shares(8)
    low, high = intervals.clopper_pearson(hits, size, 0.95)
    has_low = hits > 0
    has_high = hits < size
    at_low = stats.binom.sf(hits - 1, size, low)[has_low]
    at_high = stats.binom.cdf(hits, size, high)[has_high]
    assert at_low == pytest.approx(np.full(len(at_low), 0.025), rel=1e-9)
    assert at_high == pytest.approx(np.full(len(at_high), 0.025), rel=1e-9)


def test_the_chances_of_draws_without_replacement_are_those_of_scipy():
    rng = np.random.default_rng(9)
    size = 250
    numbers_of_hits = rng.integers(0, size + 1, MANY)
    n = rng.integers(1, size, MANY)
    hits = rng.hypergeometric(numbers_of_hits, size - numbers_of_hits, n)
    given = (hits.astype(float), n.astype(float), numbers_of_hits.astype(float), size)
    at_least = stats.hypergeom.sf(hits - 1, size, numbers_of_hits, n)
    at_most = stats.hypergeom.cdf(hits, size, numbers_of_hits, n)
    assert finite.chance_of_more(*given) == pytest.approx(at_least, abs=TOLERANCE)
    assert finite.chance_of_fewer(*given) == pytest.approx(at_most, abs=TOLERANCE)


def test_limits_without_replacement_are_found_by_trying_every_number_of_hits():
    rng = np.random.default_rng(10)
    size = 60
    n = rng.integers(1, size, MANY)
    truth = rng.integers(0, size + 1, MANY)
    hits = rng.hypergeometric(truth, size - truth, n)
    level = 0.9
    tail = (1 - level) / 2
    low, high = finite.exact(hits.astype(float), n.astype(float), level, size)
    every = np.arange(size + 1)[:, None]
    possible = (every >= hits) & (every <= size - n + hits)
    not_too_few = stats.hypergeom.sf(hits - 1, size, every, n) > tail
    not_too_many = stats.hypergeom.cdf(hits, size, every, n) > tail
    kept = possible & not_too_few & not_too_many
    assert low * size == pytest.approx(np.argmax(kept, axis=0), abs=1e-9)
    last = size - np.argmax(kept[::-1], axis=0)
    assert high * size == pytest.approx(last, abs=1e-9)


def test_intervals_of_means_are_those_of_student_where_nothing_is_skewed():
    rng = np.random.default_rng(11)
    for n in (5, 12, 80):
        half = rng.normal(3, 2, n)
        values = np.concatenate([half, -half])
        moments = Moments.of(values, np.zeros(2 * n, dtype=int), 1)
        low, high = mean_limits(moments, 0.025)
        expected = stats.ttest_1samp(values, 0).confidence_interval(0.95)
        close(low[0], expected.low)
        close(high[0], expected.high)


def test_intervals_of_medians_are_two_of_the_values_by_the_binomial_distribution():
    rng = np.random.default_rng(12)
    for n in (6, 7, 30, 101, 400):
        values = np.sort(rng.normal(size=n))
        (low,), (high,) = median_limits([values], 0.025)
        passed = int(stats.binom.ppf(0.025, n, 0.5))
        while passed and stats.binom.cdf(passed - 1, n, 0.5) > 0.025:
            passed -= 1
        assert low == values[passed - 1]
        assert high == values[n - passed]


# Many tests at once


@pytest.mark.parametrize("tests", [1, 2, 40])
def test_discoveries_are_those_of_benjamini_and_yekutieli(tests):
    rng = np.random.default_rng(13)
    for _ in range(MANY // 20):
        p_values = rng.random(tests) ** rng.integers(1, 6)
        expected = stats.false_discovery_control(p_values, method="by")
        close(adjusted(p_values), expected)
        assert discovered(p_values, 0.9) == int((expected <= 0.1).sum())


def test_discoveries_are_those_of_statsmodels():
    multitest = pytest.importorskip(
        "statsmodels.stats.multitest", reason="needs statsmodels"
    )
    rng = np.random.default_rng(14)
    for _ in range(MANY // 20):
        p_values = rng.random(25) ** rng.integers(1, 6)
        is_found, expected, *_ = multitest.multipletests(p_values, 0.1, method="fdr_by")
        close(adjusted(p_values), expected)
        assert discovered(p_values, 0.9) == int(is_found.sum())


def test_quantiles_of_the_normal_distribution_are_those_of_scipy():
    for level in (0.5, 0.9, 0.95, 0.999):
        assert math.isclose(
            intervals.z_score(level), stats.norm.isf((1 - level) / 2), rel_tol=1e-12
        )
