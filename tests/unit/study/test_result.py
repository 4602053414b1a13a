"""What a study found, as evidence: a finding for each method, and the file that it makes."""

from __future__ import annotations

import json
from functools import cache
from typing import TYPE_CHECKING, Any

import pandas as pd
import pytest
from sklearn.tree import DecisionTreeClassifier

import evenhand as eh
from evenhand.results.protocol import Evidence
from evenhand.results.reading import evidence_of
from evenhand.runtime.errors import UsageError
from evenhand.study.result import StudyResult
from evenhand.study.study import Model, Study, StudyMethod, Task, run
from tests.support.helpers import refused

if TYPE_CHECKING:
    from evenhand.study.fits import Cases

METHODS = ("reweighing", "reject-option-spd")


@cache
def cases() -> Cases:
    frame = pd.DataFrame({"sex": [0, 1] * 200, "age": range(400)})
    task = Task("ages", frame, frame["age"] > 150 + 100 * frame["sex"], True, {"sex": 0})
    models = [Model("DT", DecisionTreeClassifier(max_depth=2, random_state=0))]
    return run(Study([task], models, [StudyMethod(name) for name in METHODS], splits=3))


@cache
def found(*bias: str, performance: str = "accuracy") -> StudyResult:
    return StudyResult.of(cases(), bias or ("spd", "aod"), performance)


def test_each_method_has_a_finding_by_each_bias():
    study = found()
    assert isinstance(study, Evidence)
    keys = []
    for bias in ("spd", "aod"):
        keys += [f"{bias} gain of ages, sex, DT, {method}" for method in METHODS]
    assert [finding.key for finding in study.findings] == keys
    places = [("ages", "sex", "DT", method) for method in METHODS]
    assert [finding.about for finding in study.findings[:2]] == places
    scores = {(finding.score, finding.unit) for finding in study.findings}
    assert scores == {
        ("spd gain", "amount"),
        ("aod gain", "amount"),
    }
    for bias in ("spd", "aod"):
        compared = cases().comparison("ages", "sex", "DT", bias, "accuracy")
        mine = [finding for finding in study.findings if finding.score == f"{bias} gain"]
        assert [finding.verdict for finding in mine] == [
            one.verdict for one in compared.standings
        ]
        assert [finding.estimate for finding in mine] == [
            one.gain for one in compared.standings
        ]
        for finding, one in zip(mine, compared.standings, strict=True):
            assert finding.claim == f"ages, sex, DT, by {bias}: {one.claim}"


def test_the_gate_is_that_of_any_evidence():
    study = found()
    worst = min(
        study.findings,
        key=lambda one: ["fail", "undecided", "pass"].index(str(one.verdict)),
    )
    assert study.verdict == worst.verdict
    assert study.exit_code == {"pass": 0, "fail": 1, "undecided": 3}[str(study.verdict)]
    assert (study.level, study.seed, study.stop) == (0.95, 0, eh.StopReason.COMPLETED)
    assert (study.splits, study.fits, study.spent.executed) == (3, 9, 9)
    assert study.parts == (study,)
    frame = study.to_frame()
    assert len(frame) == len(study.findings)


def test_a_study_survives_its_file(tmp_path):
    study = found()
    text = study.to_json(tmp_path / "study.json")
    table = json.loads(text)
    assert (table["format"], table["job"], table["stop"], table["level"]) == (
        2,
        "study",
        "completed",
        0.95,
    )
    assert [one["title"].partition(",")[0] for one in table["tables"]] == [
        *["Share of cases in each region"] * 3,
        *["Region or area of each method"] * 2,
    ]
    assert [finding["key"] for finding in table["findings"]] == [
        finding.key for finding in study.findings
    ]
    for again in (
        StudyResult.from_json(tmp_path / "study.json"),
        evidence_of(table, where="study.json"),
    ):
        assert isinstance(again, StudyResult)
        assert again.to_json() == text
        assert again.digest == study.digest
        assert again.findings == study.findings
        assert again.tables == study.tables
        assert again.to_text() == study.to_text()
        assert (again.splits, again.fits, again.test_size) == (
            study.splits,
            study.fits,
            study.test_size,
        )
        assert str(again) == str(study)


def test_other_biases_are_another_study():
    assert found("spd").digest != found().digest
    assert found("spd", performance="f1").digest != found("spd").digest
    assert StudyResult.of(cases(), ("spd",), "accuracy").digest == found("spd").digest
    wider = StudyResult.of(cases(), ("spd",), "accuracy", level=0.99)
    assert wider.level == 0.99
    assert {finding.estimate.level for finding in wider.findings} == {0.99}


def test_what_failed_is_kept():
    broken = StudyResult.of(_with_failure(), ("spd",), "accuracy")
    assert any("no luck" in line for line in broken.failures)
    again = StudyResult.from_dict(json.loads(broken.to_json()))
    assert again.failures == tuple(broken.failures)
    assert "no luck" in again.to_text()


class Unlucky(DecisionTreeClassifier):  # type: ignore[misc]
    """A tree that cannot be trained with weights."""

    def fit(self, X: Any, y: Any, sample_weight: Any = None) -> Any:  # noqa: N803
        if sample_weight is not None:
            raise RuntimeError("no luck with weights")
        return super().fit(X, y)


def _with_failure() -> Cases:
    frame = pd.DataFrame({"sex": [0, 1] * 200, "age": range(400)})
    task = Task("ages", frame, frame["age"] > 150 + 100 * frame["sex"], True, {"sex": 0})
    return run(
        Study(
            [task],
            [Model("DT", Unlucky(max_depth=2))],
            [StudyMethod(name) for name in METHODS],
            splits=2,
        )
    )


@pytest.mark.parametrize(
    ("changes", "words"),
    [
        ({"job": "compare"}, "this is not an evenhand study"),
        ({"format": 7}, "study format 7 is not 2"),
        ({"findings": [{}]}, "findings[0]: the field 'key' is missing"),
        ({"stop": "bored"}, "stop: unknown value 'bored'; valid choices are"),
    ],
)
def test_files_that_are_no_study_are_refused(tmp_path, changes, words):
    path = tmp_path / "bad.json"
    path.write_text(json.dumps({**json.loads(found().to_json()), **changes}))
    refused(UsageError, lambda: StudyResult.from_json(path), "bad.json", words)
