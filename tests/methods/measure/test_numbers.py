"""measure of outcomes that are numbers: means and medians by group, in their own unit."""

from __future__ import annotations

from typing import Any

import numpy as np
import pandas as pd
import pytest
from sklearn.linear_model import LinearRegression

import evenhand as eh
from evenhand.runtime.errors import UsageError
from tests.support.helpers import refused

SPACE = eh.Space(
    [
        eh.category("sex", ["F", "M"]),
        eh.integer("age", 18, 65),
        eh.real("skill", 0, 1),
    ],
    protected=["sex"],
)
PEOPLE = pd.DataFrame(
    {
        "sex": ["F", "F", "F", "M", "M", "M"],
        "age": [20, 30, 40, 20, 30, 40],
        "skill": [0.1, 0.2, 0.6, 0.1, 0.2, 0.6],
    }
)


def salary(people: pd.DataFrame) -> Any:
    men = people["sex"] == "M"
    return 30_000.5 + 10_000 * people["skill"] + 2_000 * men


def fair(people: pd.DataFrame) -> Any:
    return 30_000.5 + 10_000 * people["skill"]


def test_means_and_medians_of_given_rows_are_exact():
    found = eh.measure(salary, SPACE, kind="group", sampler=eh.rows(PEOPLE))
    mean, median = found.findings
    assert (mean.score, median.score) == ("mean difference", "median difference")
    assert mean.unit == median.unit == "amount"
    assert mean.estimate.value == pytest.approx(2000)
    assert mean.estimate.low == mean.estimate.high == mean.estimate.value
    women, men = mean.groups
    assert women.estimate.value == pytest.approx(33_000.5)
    assert men.estimate.value == pytest.approx(35_000.5)
    assert median.groups[0].estimate.value == pytest.approx(32_000.5)
    assert mean.claim == "the mean outcome is 35,000 for sex M, and 33,000 for sex F"
    assert "%" not in mean.claim + str(mean.estimate)


def test_weights_of_rows_count():
    weighted = eh.rows(PEOPLE, weights=[1, 0, 0, 0, 0, 1])
    found = eh.measure(salary, SPACE, kind="group", sampler=weighted)
    women, men = found.findings[0].groups
    assert women.estimate.value == pytest.approx(31_000.5)
    assert men.estimate.value == pytest.approx(38_000.5)


def test_a_sample_has_intervals_that_hold_together():
    rng = np.random.default_rng(0)
    many = PEOPLE.sample(3000, replace=True, random_state=0).reset_index(drop=True)
    many["skill"] = rng.random(len(many))
    sample = eh.rows(many, sample_of="staff")
    found = eh.measure(salary, SPACE, kind="group", sampler=sample, limit=0.9)
    for finding in found.findings:
        estimate = finding.estimate
        assert 0 < estimate.low < 2000 < estimate.high
        assert estimate.level == 0.95
        assert "simultaneous over 2" in estimate.method
        assert estimate.population == "staff"


def test_a_planted_gap_fails_and_a_fair_twin_passes():
    biased = eh.measure(salary, SPACE, kind="group", limit=0.2)
    assert [finding.verdict for finding in biased.findings] == ["fail", "fail"]
    twin = eh.measure(fair, SPACE, kind="group", limit=0.2)
    assert twin.verdict == "pass"
    case = biased.findings[0].cases[0]
    assert case.changed == ("sex",)
    assert case.individual["sex"] == "M"
    assert "2,000 less" in str(case)
    assert not twin.findings[0].cases


def test_a_limit_is_a_share_of_the_spread_or_in_the_unit_of_the_outcomes():
    found = eh.measure(salary, SPACE, kind="group", limit=0.2)
    spread = found.details["differs"][""]["spread"]
    assert found.worst.limit == pytest.approx(0.2 * spread)
    assert any("20 % is of the spread" in note for note in found.notes)
    in_unit = eh.measure(salary, SPACE, kind="group", limit=2500, units="outcome")
    assert in_unit.worst.limit == 2500
    assert in_unit.verdict == "pass"
    assert eh.measure(salary, SPACE, kind="group", limit=1500, units="outcome").verdict == (
        "fail"
    )


def test_bad_limits_and_units_are_refused():
    def measured(function: Any = salary, **options: Any) -> Any:
        return eh.measure(function, SPACE, **{"kind": "group", **options})

    refused(UsageError, lambda: measured(limit=2500), "between 0 and 1")
    refused(UsageError, lambda: measured(limit=-1, units="outcome"), "0 or more")
    refused(UsageError, lambda: measured(units="outcomes"), "'outcome'")
    refused(UsageError, lambda: measured(interval="wald"), "wald", "numbers")
    refused(
        UsageError,
        lambda: measured(lambda people: people["age"] > 30, limit=5, units="outcome"),
        "numbers",
        "leave it out",
    )
    refused(
        UsageError,
        lambda: measured(kind="causal", limit=5, units="outcome"),
        "numbers",
    )


def test_what_is_favourable_is_still_counted():
    rich = eh.Subject(salary, SPACE, positive=lambda pay: pay > 36_000)
    found = eh.measure(rich, kind="group")
    assert found.worst.unit == "rate"
    assert found.worst.score == "group"


@pytest.mark.parametrize("n_jobs", [1, 2])
def test_same_seed_same_bytes(n_jobs):
    found = eh.measure(salary, SPACE, kind="group", limit=0.2, seed=3, n_jobs=n_jobs)
    again = eh.measure(salary, SPACE, kind="group", limit=0.2, seed=3)
    assert found.digest == again.digest


def test_a_budget_ends_it():
    found = eh.measure(
        salary, SPACE, kind="group", limit=0.199, budget=eh.Budget(queries=900)
    )
    assert found.spent.queries <= 900
    assert found.stop is eh.StopReason.QUERIES


def test_json_and_the_page_hold_amounts(tmp_path):
    found = eh.measure(salary, SPACE, kind="group", limit=0.2)
    file = tmp_path / "found.json"
    found.to_json(file)
    read = eh.Result.from_json(file)
    assert read.findings == found.findings
    assert read.details == found.details
    text = found.to_text()
    assert "mean" in text
    assert "group    mean" in text
    assert "%  " not in text.split("group    mean")[1].splitlines()[1]
    found.plot()


def test_a_regressor_is_audited_in_its_own_unit(tmp_path):
    rng = np.random.default_rng(0)
    people = pd.DataFrame(
        {"sex": rng.integers(0, 2, 2000), "hours": rng.integers(1, 80, 2000)}
    )
    pay = 500.0 * people["hours"] + 9_000 * people["sex"]
    space = eh.Space.from_frame(people, protected=["sex"])
    model = LinearRegression().fit(people, pay)
    audit = eh.audit(
        model,
        space,
        checks=[
            {"job": "measure", "limit": 0.05},
            {"job": "measure", "kind": "group", "limit": 0.1},
        ],
    )
    assert audit.verdict == "fail"
    page = tmp_path / "report.html"
    audit.to_html(page)
    text = page.read_text(encoding="utf-8")
    assert "further apart than" in text
    assert "in the unit of the outcomes" in text


def test_several_outputs_of_which_one_is_a_number():
    def loan(people: pd.DataFrame) -> dict[str, Any]:
        return {"granted": people["age"] > 30, "pay": salary(people)}

    found = eh.measure(
        eh.Subject(loan, SPACE, outputs=["granted", "pay"]), kind="group", limit=0.2
    )
    scores = {(finding.output, finding.score) for finding in found.findings}
    assert scores == {
        ("granted", "group"),
        ("pay", "mean difference"),
        ("pay", "median difference"),
    }


def test_infinite_outcomes_have_no_mean():
    def broken(people: pd.DataFrame) -> Any:
        return np.where(people["skill"] > 0.99, np.inf, salary(people))

    refused(UsageError, lambda: eh.measure(broken, SPACE, kind="group"), "inf", "no mean")


def test_a_threshold_of_the_user_says_that_outcomes_are_numbers():
    subject = eh.Subject(salary, SPACE, differs=500.0)
    found = eh.measure(subject, kind="group", limit=0.2)
    assert [finding.unit for finding in found.findings] == ["amount", "amount"]
    assert found.verdict == "fail"
    assert found.worst.limit is not None
    assert found.worst.limit > 0
    assert "differs" not in found.details


def test_a_suite_of_numbers_is_replayed(tmp_path):
    suite = tmp_path / "pay.csv"
    measured = eh.measure(salary, SPACE, kind="group", limit=0.2, keep_tests=True)
    measured.to_suite(suite)
    again = eh.replay(suite, eh.Subject(salary, SPACE), limit=0.2)
    assert again.verdict == "fail"
    assert again.worst.estimate.value == pytest.approx(measured.findings[0].estimate.value)
    assert again.details["changed"] == 0
    mended = eh.replay(suite, eh.Subject(fair, SPACE), limit=0.2)
    assert mended.verdict == "pass"
    assert "0 " not in mended.worst.claim.split("; ")[1]
    assert mended.worst.unit == "amount"
