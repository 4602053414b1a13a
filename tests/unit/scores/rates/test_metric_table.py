"""Metric tables: the numbers of Fairlearn, coverage, and groups that cannot be compared."""

from __future__ import annotations

import math

import numpy as np
import pytest

import evenhand as eh
from evenhand.scores.rates.metric_table import (
    NO_LIMITS,
    MetricTable,
    RateLimits,
    counts_by,
    shares,
    true_outcomes,
)
from evenhand.statistics.error_rates import RATES, USUAL
from evenhand.statistics.estimate import Verdict
from evenhand.statistics.intervals import spread
from evenhand.statistics.ratios import impact_ratio
from evenhand.statistics.spending import Spending
from evenhand.subject.view import View

NAMES = ("a", "b", "c")


def drawn(seed: int, n: int = 900) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """Return groups, truths and decisions of people, the last depending on the others."""
    rng = np.random.default_rng(seed)
    group = rng.choice(3, n, p=[0.5, 0.3, 0.2])
    base = np.array([0.5, 0.6, 0.4])
    truth = (rng.random(n) < base[group]).astype(np.intp)
    chance = np.where(truth == 1, 0.8, 0.25) - 0.1 * group
    return group, truth, rng.random(n) < chance


def table_of(
    counts: np.ndarray, level: float = 0.95, limits: RateLimits = NO_LIMITS
) -> MetricTable:
    """Return the table of three groups."""
    about = [{"group": name} for name in NAMES[: len(counts)]]
    spending = Spending(limits.number, families=10)
    return MetricTable(
        ("group",),
        about,
        counts,
        USUAL,
        level,
        spending,
        limits,
        "people",
    )


@pytest.mark.parametrize("level", [0.95, 1.0])
def test_the_numbers_are_those_of_fairlearn(level):
    metrics = pytest.importorskip("fairlearn.metrics")
    sklearn_metrics = pytest.importorskip("sklearn.metrics")
    group, truth, decided = drawn(1)
    table = table_of(counts_by(group, 3, truth, decided), level)
    functions = {
        "selection_rate": metrics.selection_rate,
        "true_positive_rate": metrics.true_positive_rate,
        "false_positive_rate": metrics.false_positive_rate,
        "precision": sklearn_metrics.precision_score,
        "accuracy": sklearn_metrics.accuracy_score,
    }
    frame = metrics.MetricFrame(
        metrics=functions,
        y_true=truth,
        y_pred=decided.astype(int),
        sensitive_features=group,
    )
    for metric in USUAL:
        values = [estimate.value for estimate in table.rates(metric)]
        assert values == pytest.approx(frame.by_group[metric].tolist())
        difference = frame.difference(method="between_groups")[metric]
        ratio = frame.ratio(method="between_groups")[metric]
        assert table.difference(metric).value == pytest.approx(difference)
        assert table.ratio(metric).value == pytest.approx(ratio)
        sizes = RATES[metric].counted(table.counts)[1]
        assert [estimate.n for estimate in table.rates(metric)] == sizes.tolist()


def test_a_whole_population_has_no_intervals():
    group, truth, decided = drawn(2)
    table = table_of(counts_by(group, 3, truth, decided), level=1.0)
    for estimate in (table.difference("accuracy"), *table.to_best("precision")):
        assert estimate.low == estimate.value == estimate.high
        assert estimate.level == 1


def test_a_difference_that_equals_its_limit_is_exact():
    counts = np.zeros((2, 3, 2))
    counts[0, 1] = [1, 9]
    counts[1, 1] = [2, 8]
    table = table_of(counts, level=1.0)
    assert table.difference("true_positive_rate").value == 0.1


def test_a_group_that_nobody_of_should_be_favoured_leaves_it_undecided():
    counts = np.zeros((3, 3, 2))
    counts[:, 0] = [400, 100]
    counts[:2, 1] = [100, 400]
    limits = RateLimits(("true_positive_rate", "accuracy"), difference=0.5)
    table = table_of(counts, limits=limits)
    finding = table.difference_finding("true_positive_rate")
    assert finding.verdict is Verdict.UNDECIDED
    assert finding.groups[2].estimate.n == 0
    assert table.difference_finding("accuracy").verdict is Verdict.PASS


def test_the_error_goes_to_what_has_a_limit_and_the_rest_is_descriptive():
    group, truth, decided = drawn(4)
    counts = counts_by(group, 3, truth, decided)
    hits, size = RATES["precision"].counted(counts)
    table = table_of(counts, limits=RateLimits(("precision",), ratio=0.8))
    judged = table.ratio("precision")
    assert not judged.descriptive
    assert (judged.low, judged.high) == pytest.approx(impact_ratio(hits, size, 0.95))
    assert judged.method == "melded, simultaneous over 3 groups"
    beside = table.difference("precision")
    assert beside.descriptive
    assert (beside.low, beside.high) == pytest.approx(spread(hits, size, 0.95))
    for estimate in (*table.rates("precision"), *table.to_best("precision")):
        assert estimate.descriptive
    for finding in table.findings():
        asked = finding.key == "precision ratio of group"
        assert finding.descriptive is not asked
        assert (finding.verdict is None) is not asked
    document = table.to_dict()
    assert "descriptive" not in document["ratio"]["precision"]
    assert document["difference"]["precision"]["descriptive"] is True


def test_without_a_limit_everything_shares_the_level():
    group, truth, decided = drawn(4)
    counts = counts_by(group, 3, truth, decided)
    hits, size = RATES["precision"].counted(counts)
    table = table_of(counts)
    found = table.ratio("precision")
    assert (found.low, found.high) == pytest.approx(impact_ratio(hits, size, 0.995))
    assert not any(finding.descriptive for finding in table.findings())


def test_fewer_than_two_groups_are_not_compared():
    counts = np.zeros((2, 3, 2))
    counts[0, 1] = [10, 40]
    table = table_of(counts)
    assert math.isnan(table.difference("true_positive_rate").value)
    claim = table.difference_finding("true_positive_rate").claim
    assert claim == "fewer than two groups of group have a true positive rate to compare"
    assert "undefined" in table.ratio_finding("true_positive_rate").claim


def test_weights_count():
    group, truth, decided = drawn(3)
    rows = counts_by(group, 3, truth, decided)
    weights = np.full(len(group), 2.0)
    doubled = counts_by(
        group,
        3,
        truth,
        decided,
        weights,
    )
    assert (doubled == 2 * rows).all()


def test_all_intervals_hold_together():
    """Of 40 tables, at most seven may miss anything: 5 % of them do on average."""
    group, _, _ = drawn(0)
    sizes = np.bincount(group)
    base = np.array([0.5, 0.6, 0.4])
    tpr = 0.8 - 0.1 * np.arange(3)
    fpr = 0.25 - 0.1 * np.arange(3)
    true_positive = base * tpr
    false_negative = base * (1 - tpr)
    false_positive = (1 - base) * fpr
    true_negative = (1 - base) * (1 - fpr)
    selected = true_positive + false_positive
    truly = {
        "true_positive_rate": tpr,
        "false_positive_rate": fpr,
        "selection_rate": selected,
        "accuracy": true_positive + true_negative,
        "precision": true_positive / selected,
    }
    rng = np.random.default_rng(7)
    cells = np.array([true_negative, false_positive, false_negative, true_positive])
    missed = 0
    for _ in range(40):
        counts = np.zeros((3, 3, 2))
        for place in range(3):
            found = rng.multinomial(sizes[place], cells[:, place])
            counts[place, :2] = found.reshape(2, 2)
        missed += not holds(table_of(counts), truly)
    assert missed <= 7


def holds(table: MetricTable, truly: dict[str, np.ndarray]) -> bool:
    """Return whether every difference and ratio lies inside its interval."""
    for metric, rates in truly.items():
        true_difference = rates.max() - rates.min()
        true_ratio = rates.min() / rates.max()
        difference = table.difference(metric)
        ratio = table.ratio(metric)
        if not difference.low <= true_difference <= difference.high:
            return False
        if not ratio.low <= true_ratio <= ratio.high:
            return False
    return True


def counted(*groups: list[list[float]]) -> np.ndarray:
    """Return the counts of groups: by truth, of those who are not selected and who are."""
    counts = np.zeros((len(groups), 3, 2))
    for place, cells in enumerate(groups):
        counts[place, : len(cells)] = cells
    return counts


def test_claims_name_the_highest_and_the_lowest():
    table = table_of(counted([[5, 5], [0, 0]], [[9, 1], [0, 0]], [[8, 2], [0, 0]]), 1.0)
    assert table._difference_claim("selection_rate") == (
        "group a has a selection rate of 50.0 %, group b of 10.0 %"
    )
    assert table._ratio_claim("selection_rate") == (
        "by group, the lowest selection rate is 20.0 % of the highest"
    )
    same = table_of(counted([[5, 5]], [[5, 5]]), 1.0)
    assert same._difference_claim("selection_rate") == (
        "every group of group has a selection rate of 50.0 %"
    )
    assert [one.value for one in table.to_best("selection_rate")] == [1.0, 0.2, 0.4]
    assert table.ratio("selection_rate").value == 0.2
    assert table.difference("selection_rate").value == 0.4


def test_a_ratio_of_nothing_is_undefined():
    table = table_of(counted([[10, 0]], [[20, 0]]), 1.0)
    claim = table._ratio_claim("selection_rate")
    assert claim == (
        "by group, the ratio of the lowest selection rate to the highest is undefined: it is 0 in"
        " every group"
    )
    ratio = table.ratio("selection_rate")
    assert math.isnan(ratio.value)
    assert (ratio.low, ratio.high, ratio.n, ratio.level) == (0.0, 1.0, 0, 1.0)
    assert all(math.isnan(one.value) for one in table.to_best("selection_rate"))
    assert table.difference("selection_rate").value == 0.0


def test_groups_that_are_not_compared_are_listed_all_the_same():
    counts = counted([[5, 5]], [[0, 10]], [[9, 1]])
    table = MetricTable(
        ("group",),
        [{"group": name} for name in NAMES],
        counts,
        ("selection_rate",),
        1.0,
        compared=np.array([0, 2]),
    )
    assert [one.value for one in table.rates("selection_rate")] == [0.5, 1.0, 0.1]
    assert table.difference("selection_rate").value == 0.4
    assert table.difference("selection_rate").n == 20
    assert [one.value for one in table.to_best("selection_rate")] == [1.0, 0.2]
    finding = table.ratio_finding("selection_rate")
    assert [group.about["group"] for group in finding.groups] == ["a", "c"]
    assert finding.least
    assert finding.claim == "by group, the lowest selection rate is 20.0 % of the highest"
    difference = table.difference_finding("selection_rate")
    assert difference.claim == "group a has a selection rate of 50.0 %, group c of 10.0 %"
    document = table.to_dict()
    assert [group["compared"] for group in document["groups"]] == [True, False, True]
    assert [group["n"] for group in document["groups"]] == [10, 10, 10]


def test_rows_are_counted_where_weights_make_the_rates():
    counts = counted([[1.5, 0.5], [2.0, 6.0]], [[1.0, 1.0], [1.0, 1.0]])
    rows = counted([[1, 1], [2, 3]], [[4, 5], [6, 7]])
    table = MetricTable(
        ("group",),
        [{"group": name} for name in NAMES[:2]],
        counts,
        ("true_positive_rate",),
        1.0,
        rows=rows,
    )
    first, second = table.rates("true_positive_rate")
    assert (first.value, first.n) == (0.75, 5)
    assert (second.value, second.n) == (0.5, 13)
    assert table.difference("true_positive_rate").n == 18
    cells = table.to_dict()["groups"][0]["counts"]
    assert cells == {
        "true_positives": 3,
        "false_positives": 1,
        "true_negatives": 1,
        "false_negatives": 2,
        "selected_of_unknown_truth": 0,
        "not_selected_of_unknown_truth": 0,
    }


def test_groups_without_rows_that_are_not_listed_widen_the_interval():
    counts = counted([[50, 50]], [[55, 45]])
    about = [{"group": name} for name in NAMES[:2]]
    rate = ("selection_rate",)
    listed = MetricTable(
        ("group",),
        about,
        counts,
        rate,
        0.95,
    )
    more = MetricTable(
        ("group",),
        about,
        counts,
        rate,
        0.95,
        unlisted=3,
    )
    assert listed.difference("selection_rate").high < 1
    assert more.difference("selection_rate").high == 1.0
    assert more.ratio("selection_rate").low == 0.0
    assert len(more.to_best("selection_rate")) == 2


def test_people_of_no_group_are_not_counted():
    places = np.array([0, -1, 1, 1])
    truth = np.array([1, 1, 0, 2])
    decided = np.array([True, True, False, True])
    weights = np.array([2.0, 3.0, 4.0, 5.0])
    counts = counts_by(
        places,
        2,
        truth,
        decided,
        weights,
    )
    assert counts[0].tolist() == [[0, 0], [0, 2], [0, 0]]
    assert counts[1].tolist() == [[4, 0], [0, 0], [0, 5]]
    assert shares(counts, "selection_rate").tolist() == pytest.approx([1.0, 5 / 9])
    assert math.isnan(shares(counts, "true_positive_rate")[1])


@pytest.mark.parametrize(
    ("favourable", "found"),
    [("yes", [1, 0, 2, 1]), (None, [1, 0, 2, 1]), ("no", [0, 1, 2, 0])],
)
def test_what_people_should_get_may_be_unknown(favourable, found):
    space = eh.Space([eh.integer("id", 0, 9)])
    subject = eh.Subject(lambda people: people["id"].map(str), space, positive="yes")
    values = ["yes", "no", None, "yes"]
    assert true_outcomes(values, View(subject), favourable).tolist() == found


def test_limits_are_of_some_rates():
    limits = RateLimits(("precision",), difference=0.1, ratio=0.8)
    assert limits.number == 2
    assert limits.of_difference("precision") == 0.1
    assert limits.of_difference("accuracy") is None
    assert limits.of_ratio("accuracy") is None
    assert RateLimits(("precision", "accuracy"), difference=0.0).number == 2
    assert NO_LIMITS.number == 0
