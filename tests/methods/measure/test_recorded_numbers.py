"""measure_log of recorded numbers, and measure of numbers with a truth."""

from __future__ import annotations

from typing import Any

import numpy as np
import pandas as pd
import polars as pl
import pytest
from sklearn.linear_model import LinearRegression

import evenhand as eh
from evenhand.runtime.errors import DataError, UsageError
from evenhand.subject.outcome_scale import spread_of
from tests.support.helpers import refused

RNG = np.random.default_rng(0)
ROWS = 3000
STAFF = pd.DataFrame(
    {
        "sex": RNG.choice(["F", "M"], ROWS),
        "age": RNG.integers(18, 70, ROWS),
    }
)
STAFF["due"] = RNG.lognormal(10, 0.3, ROWS)
SHARE = np.where(STAFF["sex"] == "F", 0.8, 1.0)
STAFF["pay"] = STAFF["due"] * SHARE


def log(frame: Any = STAFF, **options: Any) -> eh.Result:
    return eh.measure_log(frame, **{"outcome": "pay", "over": "sex", **options})


def of_score(result: eh.Result, score: str) -> Any:
    return next(finding for finding in result.findings if finding.score == score)


def test_means_and_medians_of_recorded_numbers():
    found = log(limit=0.1)
    by_sex = STAFF.groupby("sex")["pay"]
    mean = of_score(found, "mean difference")
    median = of_score(found, "median difference")
    assert mean.estimate.value == pytest.approx(np.ptp(by_sex.mean()))
    assert median.estimate.value == pytest.approx(np.ptp(by_sex.median()))
    spread = np.ptp(STAFF["pay"].quantile([0.25, 0.75]))
    assert mean.limit == pytest.approx(0.1 * spread)
    assert found.details["spread"] == pytest.approx(spread)
    assert found.verdict == "fail"
    assert "the mean pay is" in mean.claim
    women = next(group for group in mean.groups if group.about == {"sex": "F"})
    assert women.estimate.value == pytest.approx(by_sex.mean()["F"])
    assert women.estimate.low < women.estimate.value < women.estimate.high


def test_a_fair_log_passes():
    fair = STAFF.assign(pay=STAFF["due"])
    assert log(fair, limit=0.25).verdict == "pass"


def test_errors_against_a_truth():
    found = log(truth="due", metric="mean_error", limit=100, units="outcome")
    errors = STAFF["pay"] - STAFF["due"]
    of_women = errors[STAFF["sex"] == "F"]
    bias = of_score(found, "mean error difference")
    assert bias.estimate.value == pytest.approx(-of_women.mean())
    assert bias.limit == 100
    assert bias.verdict == "fail"
    absolute = of_score(found, "mean absolute error difference")
    assert absolute.estimate.value == pytest.approx(of_women.abs().mean())
    root = of_score(found, "root mean squared error difference")
    mean_square = (of_women**2).mean()
    assert root.estimate.value == pytest.approx(np.sqrt(mean_square))
    assert {finding.limit for finding in (absolute, root)} == {None}


@pytest.mark.parametrize("engine", ["polars", "lazy", "arrow"])
def test_any_engine_gives_the_same(engine):
    frame = pl.from_pandas(STAFF)
    other = {
        "polars": frame,
        "lazy": frame.lazy(),
        "arrow": frame.to_arrow(),
    }[engine]
    options = {
        "over": [("sex",), ("sex", "age")],
        "bins": {"age": [30, 50]},
        "truth": "due",
    }
    assert log(other, **options).digest == log(**options).digest


def test_rows_with_gaps_are_left_out():
    gaps = STAFF.copy()
    gaps.loc[:9, "sex"] = None
    gaps.loc[10:29, "pay"] = np.nan
    gaps.loc[30:34, "due"] = np.nan
    found = log(gaps, truth="due")
    assert found.worst.estimate.n == ROWS - 35
    assert found.details["unknown"] == {"sex": 10}
    notes = " ".join(found.notes)
    assert "20 of 3,000 rows have no pay" in notes
    assert "5 of 3,000 rows have no due" in notes
    assert "10 of 2,975 rows have no sex" in notes


def test_small_and_empty_groups_are_not_fair():
    few = pd.concat([STAFF, STAFF.head(3).assign(sex="X")])
    undecided = log(few, limit=0.9, support=0)
    assert undecided.verdict == "undecided"
    left_out = log(few, limit=0.9)
    assert left_out.verdict == "pass"
    small = {"over": ["sex"], "about": {"sex": "X"}, "n": 3}
    assert left_out.details["left_out"] == [small]
    assert any("left out" in note and "sex X" in note for note in left_out.notes)
    empty = log(STAFF, limit=0.9, groups={"sex": ["F", "M", "X"]})
    assert empty.verdict == "undecided"
    assert any("could have any pay" in note for note in empty.notes)


def test_json_keeps_what_is_unbounded(tmp_path):
    few = pd.concat([STAFF, STAFF.head(3).assign(sex="X")])
    found = log(few, limit=0.9, support=0)
    file = tmp_path / "found.json"
    found.to_json(file)
    assert "Infinity" not in file.read_text(encoding="utf-8")
    assert eh.Result.from_json(file).findings == found.findings
    found.plot()


def test_numbers_of_few_values_are_still_labels():
    grades = STAFF.assign(pay=STAFF["age"] % 7)
    refused(UsageError, lambda: log(grades), "positive")
    counted = log(STAFF.assign(pay=STAFF["age"] % 2))
    assert counted.worst.unit == "rate"


def test_what_does_not_fit_is_refused():
    refused(UsageError, lambda: log(least_ratio=0.8), "least_ratio", "numbers")
    refused(UsageError, lambda: log(limit=50), "between 0 and 1")
    refused(UsageError, lambda: log(metric="tpr"), "'tpr'", "mean")
    refused(UsageError, lambda: log(metric="mean_error"), "truth")
    words = STAFF.assign(due="much")
    refused(DataError, lambda: log(words, truth="due"), "numbers", "'due'")
    decisions = STAFF.assign(pay=1)
    refused(UsageError, lambda: log(decisions, limit=5, units="outcome"), "numbers")


def test_measure_compares_errors_of_software_by_group():
    space = eh.Space.from_frame(STAFF[["sex", "age"]], protected=["sex"])

    def predicted(people: pd.DataFrame) -> Any:
        return 20_000.5 + 100.25 * people["age"]

    found = eh.measure(
        predicted,
        space,
        kind="group",
        truth=STAFF["pay"].tolist(),
        metric="mean_error",
        limit=1000,
        units="outcome",
    )
    errors = predicted(STAFF) - STAFF["pay"]
    expected = np.ptp(errors.groupby(STAFF["sex"]).mean())
    bias = of_score(found, "mean error difference")
    assert bias.estimate.value == pytest.approx(expected)
    assert bias.verdict == "fail"
    assert of_score(found, "mean difference").limit is None
    refused(
        DataError,
        lambda: eh.measure(predicted, space, kind="group", truth=["much"] * ROWS),
        "'much'",
        "number",
    )


def test_impact_of_numbers_is_the_ratio_of_means():
    found = eh.impact(STAFF, outcome="pay", over="sex", least_ratio=0.9)
    means = STAFF.groupby("sex")["pay"].mean()
    ratio = of_score(found, "mean ratio")
    assert ratio.estimate.value == pytest.approx(means.min() / means.max())
    assert ratio.verdict == "fail"
    fair = eh.impact(STAFF, outcome="due", over="sex", least_ratio=0.9)
    assert of_score(fair, "mean ratio").verdict == "pass"
    text = found.to_text()
    assert "the lowest mean pay is 79.3 %" in text
    assert "the median pay is" in text


def test_impact_of_numbers_leaves_unknown_categories_out():
    sex = STAFF["sex"].where(STAFF.index > 99, "prefer not to say")
    asked = STAFF.assign(sex=sex)
    found = eh.impact(asked, outcome="pay", over="sex")
    groups = of_score(found, "mean difference").groups
    assert [group.about["sex"] for group in groups] == ["F", "M"]
    debts = STAFF.assign(pay=-STAFF["pay"])
    negative = eh.impact(debts, outcome="pay", over="sex")
    ratio = of_score(negative, "mean ratio")
    assert np.isnan(ratio.estimate.value)
    assert "undefined" in ratio.claim


def predicted_pay(people: pd.DataFrame) -> Any:
    return 20_000.5 + 100.25 * people["age"]


def errors_of(sampler: Any, **options: Any) -> eh.Result:
    space = eh.Space.from_frame(STAFF[["sex", "age"]], protected=["sex"])
    how = {"kind": "group", "truth": "pay", "units": "outcome", **options}
    return eh.measure(predicted_pay, space, sampler=sampler, **how)


def test_errors_of_a_sample_have_intervals_and_those_of_all_have_none():
    everyone = errors_of(eh.rows(STAFF), metric="mean_error", limit=1000)
    sample = errors_of(eh.rows(STAFF, sample_of="staff"), metric="mean_error", limit=1000)
    whole = of_score(everyone, "mean error difference").estimate
    drawn = of_score(sample, "mean error difference").estimate
    assert whole.low == whole.value == whole.high
    assert whole.level == 1
    assert drawn.low < drawn.value < drawn.high
    assert drawn.level == 0.95
    assert drawn.value == pytest.approx(whole.value)
    # What the error goes to is said where there is one.
    assert set(sample.notes) - set(everyone.notes)
    assert everyone.spent.queries == sample.spent.queries == ROWS
    assert everyone.details["rows"] == ROWS


def test_weights_count_where_all_are_given():
    weights = np.where(STAFF["age"] > 40, 3.0, 1.0)
    found = errors_of(eh.rows(STAFF, weights=weights))
    errors = predicted_pay(STAFF) - STAFF["pay"]
    means = []
    for sex in ("F", "M"):
        inside = STAFF["sex"] == sex
        means.append(np.average(errors[inside], weights=weights[inside]))
    estimate = of_score(found, "mean error difference").estimate
    assert estimate.value == pytest.approx(abs(means[1] - means[0]))


def test_rows_without_a_true_number_are_left_out_and_noted():
    truth = STAFF["pay"].tolist()
    truth[:7] = [None] * 7
    found = errors_of(eh.rows(STAFF), truth=truth)
    assert any(note.startswith("7 of 3,000") for note in found.notes)
    errors = (predicted_pay(STAFF) - STAFF["pay"])[7:]
    expected = np.ptp(errors.groupby(STAFF["sex"][7:]).mean())
    estimate = of_score(found, "mean error difference").estimate
    assert estimate.value == pytest.approx(expected)
    complete = errors_of(eh.rows(STAFF))
    assert not any("of 3,000" in note for note in complete.notes)


def test_only_the_statistics_that_are_named_are_judged():
    found = errors_of(eh.rows(STAFF), metric="mean_error", limit=1000)
    limits = {finding.score: finding.limit for finding in found.findings}
    assert limits.pop("mean error difference") == 1000
    assert set(limits.values()) == {None}


def test_the_spread_is_that_of_the_rows_where_the_user_says_when_outcomes_differ():
    """The numbers of a regressor have a scale of their own unless `differs` is given."""
    ages = STAFF[["age"]]
    model = LinearRegression().fit(ages, STAFF["pay"])
    sex = eh.Feature("sex", "category", ("F", "M"), passed=False)
    space = eh.Space([sex, eh.integer("age", 18, 69)], protected=["sex"])
    found = eh.measure(
        eh.Subject(model, space, differs=500),
        kind="group",
        sampler=eh.rows(STAFF[["sex", "age"]]),
        truth=STAFF["pay"].tolist(),
        metric="mean_error",
        limit=0.2,
        units="spread",
    )
    score = of_score(found, "mean error difference")
    assert score.limit == pytest.approx(0.2 * spread_of(model.predict(ages)))


def test_the_error_is_shared_by_all_outputs():
    space = eh.Space.from_frame(STAFF[["sex", "age"]], protected=["sex"])

    def doubled(people: pd.DataFrame) -> Any:
        pay = predicted_pay(people)
        return pd.DataFrame({"first": pay, "second": pay})

    two = eh.Subject(doubled, space, outputs=["first", "second"])
    options: dict[str, Any] = {"kind": "group", "truth": STAFF["pay"].tolist()}
    options |= {"metric": "mean_error", "sampler": eh.rows(STAFF, sample_of="staff")}
    options |= {"limit": 1000, "units": "outcome"}
    alone = of_score(eh.measure(predicted_pay, space, **options), "mean error difference")
    both = [
        finding
        for finding in eh.measure(two, **options).findings
        if finding.score == "mean error difference"
    ]
    assert len(both) == 2
    for finding in both:
        assert finding.estimate.low < alone.estimate.low
        assert finding.estimate.high > alone.estimate.high
