"""Results: the JSON document, its schema, its round trip, and the one gate policy."""

from __future__ import annotations

import json
from dataclasses import dataclass, replace
from typing import NotRequired, get_origin, get_type_hints

import jsonschema
import numpy as np
import pytest

import evenhand as eh
from evenhand.results.evidence import Case, Finding
from evenhand.results.layout import (
    CHOICES,
    CaseFields,
    EstimateFields,
    FindingFields,
    GroupFields,
)
from evenhand.results.reading import evidence_of
from evenhand.results.result import Result, schema
from evenhand.runtime.budget import Budget, Meter, Spent
from evenhand.runtime.errors import UsageError
from evenhand.space.rule import Condition, Rule
from evenhand.statistics.estimate import Amount, Witnesses


def finding(
    low: float, high: float, limit: float | None = 0.1, name: str = "sex"
) -> Finding:
    estimate = eh.Estimate(
        (low + high) / 2, low, high, 100, 0.95, "exact", "all inputs, uniformly"
    )
    case = Case({"sex": "F", "age": 30}, {"sex": "M", "age": 30}, ("deny", "approve"))
    return Finding(
        f"changing only {name} changes the outcome",
        (name,),
        estimate,
        limit,
        (case,),
        score="causal",
    )


def result(*findings: Finding, seconds: float = 1.0, executed: int = 10) -> Result:
    space = eh.Space(
        [eh.category("sex", ["F", "M"]), eh.integer("age", 18, 90)], protected=["sex"]
    )
    return Result(
        "measure",
        findings,
        7,
        Spent(20, executed, seconds),
        eh.StopReason.MARGIN,
        space.to_dict(),
        ["a note"],
    )


@pytest.mark.parametrize(
    ("findings", "verdict", "code"),
    [
        ([finding(0.2, 0.3)], "fail", 1),
        ([finding(0.0, 0.05)], "pass", 0),
        ([finding(0.05, 0.15)], "undecided", 3),
        ([finding(0.0, 0.05), finding(0.05, 0.15)], "undecided", 3),
        ([finding(0.0, 0.05), finding(0.05, 0.15), finding(0.2, 0.3)], "fail", 1),
        ([finding(0.2, 0.3, limit=None)], None, 0),
    ],
)
def test_one_gate_policy(findings, verdict, code):
    made = result(*findings)
    assert made.verdict == verdict
    assert made.exit_code == code
    if code:
        with pytest.raises(AssertionError, match="changing only sex"):
            made.check()
    else:
        assert made.check() is made


def test_the_story_names_claim_estimate_limit_and_case():
    with pytest.raises(AssertionError) as caught:
        result(finding(0.2, 0.3), finding(0.0, 0.01, name="race")).check()
    story = str(caught.value)
    assert "25.0 % (20.0 % to 30.0 %" in story
    assert "limit of 0.1" in story
    assert "sex F → M: deny → approve" in story
    assert "race" not in story  # what passes is not part of the story


def test_best_evidence_comes_first():
    made = result(
        finding(0.0, 0.01),
        finding(0.3, 0.5, name="race"),
        finding(0.2, 0.9, name="age"),
    )
    features = [found.about for found in made.findings]
    assert features == [("race",), ("age",), ("sex",)]
    assert made.worst.about == ("race",)
    with pytest.raises(UsageError, match="no findings"):
        _ = result().worst


def test_json_round_trips_and_fits_the_schema(tmp_path):
    made = result(finding(0.2, 0.3), finding(0.0, 0.01, limit=None, name="race"))
    file = tmp_path / "result.json"
    text = made.to_json(file)
    table = json.loads(text)
    jsonschema.Draft202012Validator.check_schema(schema())
    jsonschema.validate(table, schema())
    assert file.read_text(encoding="utf-8") == text
    again = Result.from_json(file)
    assert again == made
    assert again.to_json() == text


def test_what_counts_as_different_is_kept_and_fits_the_schema():
    made = result(replace(finding(0.2, 0.3), gap=500.0, graded=True))
    table = json.loads(made.to_json())
    jsonschema.validate(table, schema())
    (again,) = Result.from_dict(table).findings
    assert (again.gap, again.graded) == (500.0, True)
    plain = json.loads(result(finding(0.2, 0.3)).to_json())["findings"][0]
    assert not {"gap", "graded"} & set(plain)


def test_the_schema_refuses_what_is_not_a_result():
    table = json.loads(result(finding(0.2, 0.3)).to_json())
    for change in (
        {"format": 1},
        {"verdict": "ok"},
        {"seed": -1},
        {"digest": "x"},
        {"more": 1},
        {"level": 0},
        {"stop": "the margin was reached"},
    ):
        with pytest.raises(jsonschema.ValidationError):
            jsonschema.validate({**table, **change}, schema())


def test_the_digest_ignores_what_a_run_cost_and_nothing_else():
    made = result(finding(0.2, 0.3))
    slower = result(finding(0.2, 0.3), seconds=9.0, executed=0)
    assert slower.digest == made.digest
    other_value = result(finding(0.2, 0.31))
    assert other_value.digest != made.digest
    other_seed = replace(made, seed=8)
    assert other_seed.digest != made.digest


def test_unwritable_missing_damaged_and_foreign_files(tmp_path):
    made = result(finding(0.2, 0.3))
    with pytest.raises(UsageError, match="cannot write"):
        made.to_json(tmp_path / "no" / "folder.json")
    with pytest.raises(UsageError, match="cannot read"):
        Result.from_json(tmp_path / "missing.json")
    for name, text, words in (
        ("text.json", "hello", "not a JSON file"),
        ("list.json", "[]", "this is not an evenhand result"),
        ("new.json", '{"format": 99, "findings": []}', "format 99"),
        ("old.json", '{"format": 1, "findings": [{}]}', "damaged"),
        ("damaged.json", '{"format": 2, "findings": [{}]}', "the field 'key' is missing"),
        (
            "job.json",
            '{"format": 2, "findings": [], "job": ["measure"]}',
            "job: expected a text",
        ),
        (
            "other.json",
            '{"format": 2, "findings": [], "job": "compare"}',
            "not an evenhand result",
        ),
    ):
        file = tmp_path / name
        file.write_text(text)
        with pytest.raises(UsageError, match=words) as caught:
            Result.from_json(file)
        assert name in str(caught.value)


def put(table, path, value):
    """Put a value into nested lists and tables, or take away what is there where it is None."""
    *steps, last = path
    for step in steps:
        table = table[step]
    if value is None:
        del table[last]
    else:
        table[last] = value


@pytest.mark.parametrize(
    ("path", "value", "sentence"),
    [
        (["seed"], None, "the field 'seed' is missing"),
        (["space"], None, "the field 'space' is missing"),
        (["seed"], "0", 'seed: expected a whole number, got "0"'),
        (["seed"], True, "seed: expected a whole number, got true"),
        (
            ["stop"],
            "margn",
            "stop: unknown value 'margn'; did you mean 'margin'? Valid choices are",
        ),
        (["notes"], "a note", 'notes: expected a list, got "a note"'),
        (["spent", "seconds"], "long", 'spent.seconds: expected a number, got "long"'),
        (["versions", "python"], 3, "versions[...]: expected a text, got a whole number"),
        (["findings", 1, "claim"], None, "findings[1]: the field 'claim' is missing"),
        (["findings", 1, "estimate"], 3, "findings[1].estimate: expected a table, got 3"),
        (
            ["findings", 1, "estimate", "low"],
            "small",
            'findings[1].estimate.low: expected a number or null, got "small"',
        ),
        (
            ["findings", 1, "verdict"],
            "passed",
            "findings[1].verdict: unknown value 'passed'; did you mean 'pass'?",
        ),
        (
            ["findings", 0, "cases", 0, "outcomes"],
            ["deny"],
            "findings[0].cases[0].outcomes: expected a list of length 2, got 1",
        ),
        (
            ["findings", 0, "cases", 0, "twin", "age"],
            [30],
            "findings[0].cases[0].twin[...]: expected a text, a number, a boolean or null, got a",
        ),
    ],
)
def test_damaged_documents_are_refused_by_the_path_of_the_field(path, value, sentence):
    made = result(finding(0.2, 0.3), finding(0.0, 0.01, name="race"))
    table = json.loads(made.to_json())
    put(table, path, value)
    with pytest.raises(UsageError) as caught:
        evidence_of(table, where="result.json")
    assert str(caught.value).startswith(f"result.json: {sentence}")


def test_the_declared_fields_know_every_verdict_and_every_reason_to_stop():
    assert list(CHOICES["verdict"]) == [verdict.value for verdict in eh.Verdict]
    assert list(CHOICES["stop"]) == [reason.name.lower() for reason in eh.StopReason]


@pytest.mark.parametrize(
    ("name", "fields"),
    [
        ("estimate", EstimateFields),
        ("case", CaseFields),
        ("group", GroupFields),
        ("finding", FindingFields),
    ],
)
def test_the_declared_fields_are_those_of_the_schema(name, fields):
    types = get_type_hints(fields, include_extras=True)
    required = {
        field for field, kind in types.items() if get_origin(kind) is not NotRequired
    }
    definition = schema()["$defs"][name]
    # A finding has the unit of its estimate, which is not read again.
    assert set(definition["required"]) - {"unit"} == required
    assert set(definition["properties"]) - {"unit"} <= set(types)


def test_a_table_that_was_made_in_memory_may_hold_numbers_of_numpy():
    made = result(finding(np.float64(0.2), np.float64(0.3)))
    again = Result.from_dict(made.to_dict())
    assert again.digest == made.digest


def test_numbers_are_written_as_they_were_read():
    made = result(Finding("a claim", ("sex",), Witnesses.of(12, 400, "adaptive"), 3))
    text = made.to_json()
    assert '"limit": 3,' in text
    assert Result.from_dict(json.loads(text)).to_json() == text


def test_findings_of_the_document_have_a_key_a_score_and_a_unit():
    table = json.loads(result(finding(0.2, 0.3), finding(0.0, 0.01, name="race")).to_json())
    assert (table["format"], table["stop"], table["level"]) == (2, "margin", 0.95)
    fields = [(entry["key"], entry["score"], entry["unit"]) for entry in table["findings"]]
    assert fields == [
        ("causal of sex", "causal", "rate"),
        ("causal of race", "causal", "rate"),
    ]


@pytest.mark.parametrize(
    ("about", "output", "key"),
    [
        (("sex",), "", "causal of sex"),
        (("sex", "race"), "", "causal of race, sex"),
        (("race", "sex"), "", "causal of race, sex"),
        (("sex",), "rate", "causal of sex for rate"),
        ("everybody", "", "causal of everybody"),
        (Rule(()), "", "causal of []"),
        (
            Rule((Condition("sex", levels=("F",)),)),
            "rate",
            'causal of [{"feature": "sex", "levels": ["F"]}] for rate',
        ),
    ],
)
def test_a_key_says_what_was_measured_of_what(about, output, key):
    estimate = eh.Estimate.exact(1, 4)
    first = Finding("a claim", about, estimate, output=output, score="causal")
    assert first.key == key
    other_estimate = eh.Estimate.exact(3, 9)
    same = Finding("other words", about, other_estimate, 0.1, output=output, score="causal")
    assert same.key == key
    other_score = Finding("a claim", about, estimate, output=output, score="group")
    assert other_score.key != key


def test_a_finding_may_have_a_key_a_detail_and_a_verdict_of_its_own():
    own = replace(
        finding(0.2, 0.3), key="mine", judged=eh.Verdict.PASS, detail=PlaceDetail(3)
    )
    made = result(own)
    table = json.loads(made.to_json())
    jsonschema.validate(table, schema())
    assert made.verdict == "pass"  # whatever the limit says
    (found,) = Result.from_dict(table).findings
    assert (found.key, found.judged, found.detail) == ("mine", "pass", {"number": 3})
    assert Result.from_dict(table).digest == made.digest


@dataclass(frozen=True)
class PlaceDetail:
    """A detail, as verbs have them."""

    number: int

    def to_dict(self) -> dict[str, int]:
        return {"number": self.number}


@pytest.mark.parametrize(
    ("estimate", "limit", "unit"),
    [
        (eh.Estimate.exact(1, 4), 0.5, "rate"),
        (Witnesses.of(12, 400, "adaptive"), 3, "count"),
        (Amount(12.5, -11.0, 14.0, 300, 0.95, "bootstrap"), None, "amount"),
    ],
)
def test_every_unit_goes_through_json_and_the_schema_keeps_them_apart(
    estimate, limit, unit
):
    made = result(Finding("a claim", ("sex",), estimate, limit))
    table = json.loads(made.to_json())
    jsonschema.validate(table, schema())
    assert Result.from_dict(table).findings == made.findings
    (found,) = table["findings"]
    assert found["unit"] == unit == made.worst.unit
    for other in {"rate", "count", "amount"} - {unit}:
        changed = {**table, "findings": [{**found, "unit": other}]}
        with pytest.raises(jsonschema.ValidationError):
            jsonschema.validate(changed, schema())


def test_only_what_kept_its_tests_writes_a_suite(tmp_path):
    made = result(finding(0.2, 0.3))
    again = Result.from_dict(json.loads(made.to_json()))
    message = "this measure kept no tests; run it with keep_tests=True"
    for found in (made, again):
        with pytest.raises(UsageError, match=message):
            found.to_suite(tmp_path / "tests.csv")
    assert not list(tmp_path.iterdir())


def test_any_evidence_is_printed_and_shown_by_its_verb(tmp_path):
    made = result(finding(0.2, 0.3))
    again = evidence_of(json.loads(made.to_json()), where="result.json")
    assert again == made
    assert again.parts == (again,)
    assert again.to_text() == made.to_text()
    assert again.to_text().startswith("FAIL      changing only sex")
    page = made.to_html(tmp_path / "page.html")
    assert page == (tmp_path / "page.html").read_text(encoding="utf-8")
    assert "Changing only sex" in page


def test_infinite_outcomes_are_written_as_text():
    case = Case({"sex": "F"}, {"sex": "M"}, (float("inf"), 1.0))
    made = result(Finding("c", ("sex",), eh.Estimate.exact(1, 4), None, (case,)))
    table = json.loads(made.to_json())
    written_case = table["findings"][0]["cases"][0]
    assert written_case["outcomes"] == ["inf", 1.0]


def test_to_frame_has_a_row_per_finding():
    frame = result(finding(0.2, 0.3), finding(0.0, 0.01, name="race")).to_frame()
    assert frame["about"].tolist() == ["sex", "race"]
    assert frame["verdict"].tolist() == ["fail", "pass"]
    assert {"value", "low", "high", "n", "level", "method", "limit", "claim"} <= set(
        frame.columns
    )


def test_budget_refuses_nonsense_and_the_meter_counts():
    for wrong in (
        {"queries": 0},
        {"queries": -1},
        {"seconds": 0},
        {"findings": True},
        {"queries": "many"},
    ):
        with pytest.raises(UsageError, match="budget"):
            Budget(**wrong)
    heard: list[object] = []
    meter = Meter(Budget(queries=10), heard.append)
    meter.queries += 4
    meter.report("task", 0.5, "note")
    assert meter.left == 6
    assert not meter.late
    assert len(heard) == 1
