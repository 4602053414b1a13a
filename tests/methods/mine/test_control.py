"""The false discovery rate of a mining: what is found, with which intervals, and how it is told."""

# mypy: disable-error-code="union-attr,operator,arg-type,assignment,return-value"
# What is not there fails a test just as well where it is looked at.

from __future__ import annotations

import json
from functools import partial
from typing import Any

import jsonschema
import numpy as np
import pandas as pd
import pytest
from scipy import stats

import evenhand as eh
from evenhand.methods.mine.claims import discovered as module
from evenhand.results.result import schema
from evenhand.runtime.errors import UsageError
from evenhand.statistics.discoveries import share_of_one
from evenhand.statistics.intervals import difference_above
from evenhand.statistics.simultaneous import SimultaneousIntervals
from tests.support.helpers import refused

RNG = np.random.default_rng(5)
ROWS = 1200
PEOPLE = pd.DataFrame(
    {
        "sex": RNG.choice(["F", "M"], ROWS),
        "age": RNG.integers(18, 80, ROWS),
        "town": RNG.choice(list("abcd"), ROWS),
    }
)
CHANCE = RNG.random(ROWS)
STRICT = (PEOPLE["sex"] == "F") & (PEOPLE["age"] >= 50)
BIASED = PEOPLE.assign(granted=(np.where(STRICT, 0.35, 0.6) > CHANCE).astype(int))
FAIR = PEOPLE.assign(granted=(CHANCE < 0.5).astype(int))
mined = partial(eh.mine_log, outcome="granted", over=["sex", "age"])


def entry(result: eh.Result) -> Any:
    (found,) = result.details["mine"]
    return found


def stories(result: eh.Result) -> list[eh.Finding]:
    return [finding for finding in result.findings if finding.about.conditions]


@pytest.mark.parametrize("limit", [None, 0.05, 0.1])
def test_found_rule_sets_exclude_the_limit_and_others_do_not_lead(limit):
    result = mined(BIASED, control="fdr", limit=limit)
    found = entry(result)["discovered"]
    assert 0 < found < entry(result)["examined"]
    shared = share_of_one(entry(result)["examined"], found)
    for finding in stories(result):
        assert finding.p_value <= 0.05
        assert finding.estimate.low >= (limit or 0)
        assert limit is None or finding.verdict == "fail"
        group, others = (part.estimate for part in finding.groups)
        hits = [np.array(round(part.value * part.n)) * 1.0 for part in (group, others)]
        sizes = [np.array(float(part.n)) for part in (group, others)]
        order = [0, 1] if group.value > others.value else [1, 0]
        first, second = order
        # The interval of one rule set among as many as the error is shared among.
        tail = 0.05 / 2 / shared
        low = difference_above(hits[first], sizes[first], hits[second], sizes[second], tail)
        assert finding.estimate.low == pytest.approx(float(low), abs=1e-6)
        assert "false coverage rate over the" in finding.estimate.method
        assert finding.estimate.level == 0.95


def test_as_many_are_found_as_scipy_finds(monkeypatch):
    errors = []
    original = SimultaneousIntervals.error_of

    def noted(self: Any, sides: Any, limit: float, **options: Any) -> Any:
        found = original(self, sides, limit, **options)
        errors.append(np.atleast_1d(found))
        return found

    monkeypatch.setattr(SimultaneousIntervals, "error_of", noted)
    result = mined(BIASED, control="fdr")
    of_all = np.ones(entry(result)["examined"])
    tested = np.concatenate(errors)
    of_all[: len(tested)] = tested
    rates = stats.false_discovery_control(of_all, method="by")
    assert entry(result)["discovered"] == int((rates <= 0.05).sum())


def test_more_is_found_with_narrower_intervals_than_by_the_family():
    family = mined(BIASED, limit=0.05, correction="bonferroni")
    fdr = mined(BIASED, limit=0.05, control="fdr")
    assert fdr.worst.about == family.worst.about
    assert fdr.worst.estimate.low > family.worst.estimate.low
    assert fdr.worst.estimate.high < family.worst.estimate.high


def test_what_is_not_found_is_bounded_together():
    family = mined(BIASED, limit=0.05).findings[-1]
    fdr = mined(BIASED, limit=0.05, control="fdr").findings[-1]
    assert "simultaneous over" in fdr.estimate.method
    assert fdr.estimate.low == 0
    assert fdr.verdict == "undecided"
    assert fdr.estimate.high >= family.estimate.value


def test_where_nothing_is_found_nothing_fails():
    for limit in (0.1, 0.6):
        result = mined(FAIR, limit=limit, control="fdr")
        assert entry(result)["discovered"] == 0
        assert result.verdict == ("pass" if limit == 0.6 else "undecided")
        assert "none of" in result.to_text()
        for finding in stories(result):
            assert finding.estimate.low < limit


def test_a_limit_of_0_is_exceeded_by_what_is_found():
    result = mined(BIASED, limit=0, control="fdr")
    assert entry(result)["discovered"]
    assert {finding.verdict.value for finding in stories(result)} == {"fail"}


def test_minings_share_their_discoveries_and_one_may_have_none():
    both = eh.mine_log(
        BIASED,
        outcome="granted",
        over=[("sex", "age"), ("town",)],
        control="fdr",
        limit=0.05,
    )
    first, second = both.details["mine"]
    assert first["discovered"] and not second["discovered"]
    assert not second["stories"]
    assert second["rest"]["rules"] == second["examined"]
    text = both.to_text()
    assert "are found" in text and "none of" in text
    both.plot()
    assert "<" in both.to_html()


def test_fewer_are_tested_where_there_are_many(monkeypatch):
    every = entry(mined(BIASED, control="fdr"))["discovered"]
    monkeypatch.setattr(module, "MOST_TESTED", every // 2)
    fewer = entry(mined(BIASED, control="fdr"))["discovered"]
    assert 0 < fewer < every


def test_software_and_numbers_have_it_too():
    space = eh.Space.from_frame(PEOPLE, protected=["sex", "age"])

    def loan(people: Any) -> Any:
        strict = (people["sex"] == "F") & (people["age"] >= 50)
        return (people["town"] != "a") & ~(strict & (people["town"] == "b"))

    result = eh.mine(loan, space, PEOPLE, control="fdr", limit=0.05, treatment="rows")
    assert entry(result)["discovered"]
    assert result.verdict == "fail"
    graded = eh.mine(loan, space, PEOPLE, control="fdr")
    assert "neighbours" in graded.worst.estimate.population
    wages = PEOPLE.assign(wage=30 + 10 * CHANCE - 5 * STRICT)
    numbers = eh.mine_log(
        wages, outcome="wage", over=["sex", "age"], control="fdr", limit=0.1
    )
    found = entry(numbers)["discovered"]
    assert found > 0
    assert {finding.verdict.value for finding in stories(numbers)} == {"fail"}


def test_where_all_is_known_there_is_no_error_to_control():
    space = eh.Space.from_frame(PEOPLE, protected=["sex", "age"])
    options: dict[str, Any] = {"treatment": "rows", "limit": 0.05}
    whole = partial(eh.mine, lambda people: people["town"] == "a", space, eh.rows(PEOPLE))
    assert whole(control="fdr", **options).findings == whole(**options).findings


def test_it_is_written_and_read_back():
    result = mined(BIASED, control="fdr", limit=0.05)
    table = json.loads(result.to_json())
    jsonschema.validate(table, schema())
    again = eh.Result.from_dict(table)
    assert again.findings == result.findings
    assert again.to_text() == result.to_text()
    assert "adjusted" in result.to_text()
    frame = result.to_frame()
    assert frame["p_value"].iloc[0] == result.worst.p_value


def test_p_values_of_the_family_are_those_at_which_intervals_end():
    result = mined(BIASED, limit=0.02)
    for finding in stories(result):
        decided = finding.verdict != "undecided"
        assert (finding.p_value <= 0.05) == decided
    assert mined(BIASED).worst.p_value is None


def test_what_cannot_be_controlled_is_named():
    refused(UsageError, lambda: mined(BIASED, control="fdrr"), "did you mean 'fdr'")
    space = eh.Space.from_frame(PEOPLE, protected=["sex"])
    call = partial(eh.mine, lambda people: people["age"] > 50, space, PEOPLE)
    words = ("control = 'fdr'", "treatment = 'paper'")
    refused(UsageError, lambda: call(treatment="paper", control="fdr"), *words)
