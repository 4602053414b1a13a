"""Documents of format 1, as evenhand wrote them: they are read, and written as format 2."""

from __future__ import annotations

import json
import re
from pathlib import Path
from typing import Any

import jsonschema
import pytest

from evenhand.results.format_1 import STOPS, upgraded
from evenhand.results.reading import evidence_of
from evenhand.results.result import Result, schema
from evenhand.runtime.errors import UsageError
from evenhand.statistics.estimate import StopReason, Witnesses

FILE = Path(__file__).parents[2] / "support" / "data" / "format-1.json"
OLD: dict[str, Any] = json.loads(FILE.read_text(encoding="utf-8"))
"""Documents by the run that made them, and the text of each at that time."""
KEYS = {
    "measure_several_outputs": ["causal of sex for rate", "causal of sex for granted"],
    "measure_group": ["group of race"],
    "measure_log_bins": [
        "rate ratio of sex",
        "rate ratio of age",
        "rate difference of sex",
        "rate difference of age",
    ],
    "impact_of_scores": ["impact ratio of sex"],
    "search_few": ["witnesses of sex"],
    "search_every_input": ["witnesses of sex", "witnesses of race"],
    "replay_search": ["replayed of sex"],
    "replay_suite_csv": ["replayed of sex"],
    "subsets_group": ["group of race, sex", "group of age, sex", "group of age, race"],
    "subsets_several_outputs": [
        "causal of sex for rate",
        "causal of race, sex for granted",
        "causal of sex for granted",
        "causal of race for granted",
        "causal of race for rate",
    ],
    "mine_scores": [
        (
            'rate of [{"feature": "sex", "levels": ["F"]}, {"below": 55, "feature": "age", "high":'
            ' 54, "low": 43}]'
        ),
        (
            'rate of [{"feature": "sex", "levels": ["F"]}, {"below": 67, "feature": "age", "high":'
            ' 66, "low": 49}]'
        ),
        'rate of [{"feature": "sex", "levels": ["M"]}]',
        "rate of []",
    ],
    "mine_text_model": [
        'rate of [{"feature": "gender", "levels": ["gay"]}]',
        'rate of [{"feature": "faith", "levels": ["christian"]}]',
        "rate of []",
    ],
    "compare_several_runs": ["gain of blind"],
    "audit_compared_models": ["gain of linear"],
    "audit_checks": [
        "causal of sex",
        "group of race, sex",
        "causal of race",
        "witnesses of race",
    ],
}


@pytest.mark.parametrize("name", OLD)
def test_its_text_is_the_same(name):
    document = OLD[name]["document"]
    assert document["format"] == 1
    found = evidence_of(document, where=name)
    assert str(found) == OLD[name]["text"]
    assert (found.job, found.verdict) == (document["job"], document["verdict"])
    assert list(found.notes) == document["notes"]
    assert found.to_text()


@pytest.mark.parametrize("name", OLD)
def test_it_is_written_as_format_2(name):
    found = evidence_of(OLD[name]["document"], where=name)
    text = found.to_json()
    table = json.loads(text)
    assert table["format"] == 2
    if isinstance(found, Result):
        jsonschema.validate(table, schema())
    again = evidence_of(table, where=name)
    assert type(again) is type(found)
    assert again.digest == found.digest
    assert again.to_json() == text


@pytest.mark.parametrize("name", OLD)
def test_keys_of_findings_name_what_they_measure(name):
    found = evidence_of(OLD[name]["document"], where=name)
    keys: list[str] = []
    for part in found.parts:
        keys.extend(finding.key for finding in part.findings)
    assert keys == KEYS[name]


def test_a_count_is_still_a_count():
    finding = evidence_of(OLD["search_few"]["document"], where="search").findings[0]
    assert isinstance(finding.estimate, Witnesses)
    assert (finding.unit, finding.score) == ("count", "witnesses")
    assert (
        OLD["search_few"]["document"]["findings"][0]["estimate"]["unit"] == "inputs found"
    )


def test_why_a_run_ended_is_a_name():
    sentences = {StopReason[name.upper()]: sentence for sentence, name in STOPS.items()}
    expected = {reason: str(reason) for reason in StopReason}
    # Format 1 did not write these.
    del expected[StopReason.COMPLETED]
    del expected[StopReason.TOO_CLOSE]
    assert sentences == expected
    for name, stop in (
        ("measure_group", "decided"),
        ("mine_text_model", "queries"),
        ("audit_checks", "completed"),
    ):
        document = OLD[name]["document"]
        assert upgraded(document)["stop"] == stop


@pytest.mark.parametrize(
    ("change", "message"),
    [
        (
            {"findings": [{}]},
            "old.json: this evenhand result is damaged (KeyError: 'estimate')",
        ),
        ({"findings": 3}, "old.json: this evenhand result is damaged (TypeError: "),
        ({"spent": 3}, "old.json: spent: expected a table, got 3"),
        (
            {"stop": "enough"},
            "old.json: this evenhand result is damaged (KeyError: 'enough')",
        ),
        ({"stop": None}, "old.json: this evenhand result is damaged (KeyError: None)"),
    ],
)
def test_what_is_damaged_is_refused_with_the_place(change, message):
    document = OLD["measure_group"]["document"]
    with pytest.raises(UsageError, match=re.escape(message)):
        evidence_of({**document, **change}, where="old.json")
