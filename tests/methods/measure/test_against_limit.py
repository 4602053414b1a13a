"""p-values and e-values beside estimates, and discoveries among many of them."""

# mypy: disable-error-code="union-attr,operator,arg-type,assignment,return-value"
# What is not there fails a test just as well where it is looked at.

from __future__ import annotations

import json
from functools import partial
from typing import Any

import numpy as np
import pytest

import evenhand as eh
from evenhand.results.result import schema
from evenhand.runtime.errors import UsageError
from evenhand.statistics.discoveries import (
    exact_rate_against,
    rate_against,
    spread_against,
)
from evenhand.statistics.sequential.stopping import DECIDE_SHARE
from tests.support.helpers import refused

SPACE = eh.Space(
    [
        eh.category("sex", ["F", "M"]),
        eh.category("race", ["a", "b", "c"]),
        eh.integer("number", 0, 99_999),
    ],
    protected=["sex", "race"],
)


def biased(people: Any) -> Any:
    """Change a fifth of the outcomes with sex, and none with race."""
    number = people["number"] % 100
    return (number >= 60) | ((people["sex"] == "F") & (number < 20))


measure = partial(eh.measure, biased, SPACE, exact=False)


def test_a_causal_score_has_the_evidence_of_its_draws():
    result = measure(limit=0.05)
    by_name = {finding.about: finding for finding in result.findings}
    for finding in by_name.values():
        estimate = finding.estimate
        expected = rate_against(estimate.value * estimate.n, estimate.n, 0.05, among=2)
        assert finding.p_value == expected.p_value
        assert finding.e_value == expected.e_value
        # Both were decided, by the quarter of the error that deciding has.
        assert finding.verdict != "undecided"
        assert finding.p_value <= 0.05
    assert by_name["sex",].verdict == "fail"
    assert by_name["race",].verdict == "pass"


def test_a_group_score_has_the_evidence_of_its_groups():
    finding = measure(over="sex", kind="group", limit=0.05, interval="exact").worst
    sizes = [group.estimate.n for group in finding.groups]
    hits = [group.estimate.value * group.estimate.n for group in finding.groups]
    expected = spread_against(hits, sizes, 0.05)
    assert finding.p_value == pytest.approx(expected.p_value)
    assert finding.e_value == pytest.approx(expected.e_value)


def test_groups_of_the_same_people_have_evidence_that_decides_them():
    finding = measure(over="sex", kind="group", limit=0.05).worst
    assert finding.verdict == "fail"
    assert finding.p_value <= 0.05 * DECIDE_SHARE
    assert finding.p_value == pytest.approx(1 / finding.e_value)


def test_rows_of_a_sample_have_an_exact_p_value_and_no_bet():
    people = SPACE.decode(SPACE.draw(400, np.random.default_rng(0)))
    rows = eh.rows(people, sample_of="applicants")
    finding = measure(over="sex", limit=0.05, sampler=rows, exact=None).worst
    hits = finding.estimate.value * 400
    assert finding.p_value == exact_rate_against(hits, 400, 0.05).p_value
    assert finding.e_value is None
    group = measure(over="sex", kind="group", limit=0.05, sampler=rows, exact=None).worst
    is_shown = group.estimate.low >= 0.05
    assert (group.p_value <= 0.05) == is_shown


@pytest.mark.parametrize(
    "options", [{}, {"limit": 0.05, "interval": "wald"}, {"limit": 0.05, "exact": True}]
)
def test_without_a_limit_or_an_error_there_is_none(options):
    small = eh.Space([*SPACE.features[:2], eh.integer("number", 0, 99)], ["sex"])
    finding = eh.measure(biased, small, **{"exact": False, **options}).worst
    assert finding.p_value is None
    assert finding.e_value is None
    assert "p_value" not in finding.to_dict()


def test_json_frames_and_text_have_them_and_older_files_do_without():
    import jsonschema

    result = measure(limit=0.05)
    table = json.loads(result.to_json())
    jsonschema.validate(table, schema())
    assert eh.Result.from_dict(table).findings == result.findings
    table.pop("digest")
    for entry in table["findings"]:
        entry.pop("p_value")
        entry.pop("e_value")
    older = eh.Result.from_dict(table)
    assert {finding.p_value for finding in older.findings} == {None}
    assert result.to_frame()["p_value"].tolist() == [
        finding.p_value for finding in result.findings
    ]
    assert "against a limit of 0.05: fail (p-value " in str(result.worst)


def test_discoveries_of_many_sets_are_found_by_their_bets():
    names = [f"f{number}" for number in range(12)]
    features = [eh.category(name, [0, 1]) for name in names]
    space = eh.Space([*features, eh.integer("number", 0, 99_999)], protected=names)

    def decide(people: Any) -> Any:
        third = people["number"] % 3
        return ((third == 0) & (people["f0"] == 1)) | ((third == 1) & (people["f1"] == 1))

    result = eh.measure(decide, space, limit=0.1)
    found = {finding.about for finding in result.discoveries()}
    assert found == {("f0",), ("f1",)}
    assert eh.measure(decide, space, limit=0.9).discoveries() == []


def test_enumerated_scores_are_discoveries_without_a_bet():
    small = eh.Space([*SPACE.features[:2], eh.integer("number", 0, 99)], ["sex", "race"])
    result = eh.measure(biased, small, limit=0.05)
    assert [finding.about for finding in result.discoveries()] == [("sex",)]
    assert eh.measure(biased, small).discoveries() == []


def test_scores_without_bets_are_named():
    people = SPACE.decode(SPACE.draw(400, np.random.default_rng(0)))
    rows = eh.rows(people, sample_of="applicants")
    result = measure(over="sex", limit=0.05, sampler=rows, exact=None)
    refused(UsageError, result.discoveries, "'causal of sex' has no e-value")


def test_sets_of_features_have_them_where_their_draws_are_counted():
    result = eh.subsets(biased, SPACE, among=["sex", "race"], limit=0.05, level=0.95)
    for finding in result.findings:
        assert finding.verdict != "undecided"
        assert finding.p_value <= 0.05
        assert finding.e_value > 1
    groups = eh.subsets(biased, SPACE, among=["sex", "race"], limit=0.05, kind="group")
    assert {finding.p_value for finding in groups.findings} == {None}
