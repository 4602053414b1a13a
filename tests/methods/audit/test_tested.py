"""What an audit was about and when it was made: told in the report, and no part of its digest."""

from __future__ import annotations

import hashlib
import json
from dataclasses import replace

import joblib
import numpy as np
import pandas as pd
import pytest
from hypothesis import given
from hypothesis import strategies as st
from sklearn.tree import DecisionTreeClassifier

import evenhand as eh
from evenhand.cli.main import main
from evenhand.methods.audit.audit_result import Audit
from evenhand.methods.audit.log import DecisionLog
from evenhand.methods.audit.tested import EPOCH, missing_share, now
from evenhand.methods.audit.tested import Tested as About
from evenhand.methods.audit.tested import tested_by as about
from evenhand.subject.adapters.isolated.recipe import build
from tests.methods.mine.logs.frames import ENGINES

SPACE = eh.Space(
    [eh.category("sex", ["F", "M"]), eh.integer("age", 18, 60)], protected=["sex"]
)
CHECKS = [{"job": "measure", "over": ["sex"], "limit": 0.05}]


def lend(people):
    return people["age"] > 40


def test_the_environment_sets_the_time(monkeypatch):
    monkeypatch.setenv(EPOCH, "86400")
    assert now() == "1970-01-02T00:00:00Z"


@pytest.mark.parametrize("seconds", ["", "yesterday", "-5", "1.5", "٣"])
def test_what_is_no_number_of_seconds_sets_no_time(monkeypatch, seconds):
    monkeypatch.setenv(EPOCH, seconds)
    assert now() > "2024-01-01T00:00:00Z"


def test_a_time_far_away_is_no_traceback(monkeypatch):
    monkeypatch.setenv(EPOCH, "9" * 40)
    assert now()


def test_an_audit_has_the_same_digest_on_another_day(monkeypatch):
    audits = []
    for seconds in ("0", "86400"):
        monkeypatch.setenv(EPOCH, seconds)
        audits.append(eh.audit(lend, SPACE, checks=CHECKS))
    first, second = audits
    assert first.tested.made != second.tested.made
    assert first.digest == second.digest
    monkeypatch.setenv(EPOCH, "0")
    assert eh.audit(lend, SPACE, checks=CHECKS).to_html() == first.to_html()


def test_real_rows_are_counted_and_what_they_lack():
    rows = pd.DataFrame({"sex": ["F", "M"] * 20, "age": [20, 50] * 20})
    tested = eh.audit(lend, SPACE, checks=CHECKS, data=rows).tested
    assert (tested.kind, tested.rows, tested.missing) == ("function", 40, 0.0)
    assert missing_share(rows.assign(age=[None, 50] * 20)) == 0.25
    assert missing_share(rows.head(0)) is None
    assert missing_share("rows of somebody else") is None


def test_a_log_has_a_name_and_rows(tmp_path):
    file = tmp_path / "log.csv"
    rows = pd.DataFrame({"sex": ["F", "M"] * 60, "granted": ["no", "yes", "yes"] * 40})
    rows.to_csv(file, index=False)
    asked = ["--outcome", "granted", "--positive", "yes", "--over", "sex"]
    assert main(["audit", str(file), *asked, "--json", str(tmp_path / "audit.json")]) in (
        0,
        1,
        3,
    )
    audit = Audit.from_json(tmp_path / "audit.json")
    assert (audit.tested.kind, audit.tested.rows, audit.tested.data) == (
        "log",
        120,
        "log.csv",
    )
    digest = hashlib.sha256(file.read_bytes()).hexdigest()
    assert audit.tested.fingerprint == digest[:12]


@pytest.mark.parametrize("engine", ENGINES)
def test_what_a_log_lacks_is_counted_by_its_engine_in_the_columns_of_the_audit(engine):
    rows = pd.DataFrame(
        {
            "sex": ["F", "M", None, "M"] * 30,
            "granted": [0.0, 1.0, 1.0, np.nan] * 30,
            "remark": [None] * 120,
        }
    )
    log = DecisionLog(ENGINES[engine](rows), "granted", ("sex",), truth="granted")
    tested = about(log, None)
    assert (tested.rows, tested.missing) == (120, 0.25)


def test_a_log_without_rows_lacks_nothing():
    rows = pd.DataFrame({"sex": ["F"], "granted": [1]}).head(0)
    tested = about(DecisionLog(rows, "granted", ("sex", "no column")), None)
    assert (tested.rows, tested.missing) == (0, None)


@pytest.mark.parametrize("isolate", [True, False])
def test_a_model_file_has_a_name_and_the_beginning_of_its_hash(tmp_path, isolate):
    file = tmp_path / "loan.joblib"
    people = pd.DataFrame({"age": [20, 50], "sex": [0, 1]})
    joblib.dump(DecisionTreeClassifier().fit(people[["age"]], [0, 1]), file)
    options = {"allow_pickle": True}
    adapter = build("estimator", file, options, positive=1, isolate=isolate)
    space = eh.Space([eh.integer("age", 18, 60)], protected=["age"])
    checks = [{"job": "measure", "over": ["age"], "limit": 0.05}]
    tested = eh.audit(eh.Subject(adapter, space), space, checks=checks).tested
    digest = hashlib.sha256(file.read_bytes()).hexdigest()
    assert (tested.file, tested.fingerprint) == ("loan.joblib", digest[:12])


def test_a_model_in_memory_is_not_pickled_to_be_known():
    model = DecisionTreeClassifier().fit(pd.DataFrame({"age": [20, 50]}), [0, 1])
    space = eh.Space([eh.integer("age", 18, 60)], protected=["age"])
    checks = [{"job": "measure", "over": ["age"], "limit": 0.05}]
    tested = eh.audit(eh.Subject(model, space), space, checks=checks).tested
    assert (tested.kind, tested.file, tested.fingerprint) == ("estimator", "", "")


def test_it_stands_in_the_file_and_an_older_file_has_none(tmp_path):
    audit = eh.audit(lend, SPACE, checks=CHECKS)
    audit.to_json(tmp_path / "audit.json")
    assert Audit.from_json(tmp_path / "audit.json").tested == audit.tested
    table = json.loads((tmp_path / "audit.json").read_text(encoding="utf-8"))
    del table["tested"]
    (tmp_path / "old.json").write_text(json.dumps(table), encoding="utf-8")
    old = Audit.from_json(tmp_path / "old.json")
    assert old.tested == About()
    assert "not recorded" in old.to_html()
    assert replace(audit, tested=About()).digest == audit.digest


@given(
    st.builds(
        About,
        made=st.text(),
        kind=st.text(),
        file=st.text(),
        fingerprint=st.text(),
        data=st.text(),
        rows=st.none() | st.integers(0),
        missing=st.none() | st.floats(0, 1),
    )
)
def test_what_is_written_is_read_again(tested):
    written = json.loads(json.dumps(tested.to_dict()))
    assert About.from_dict(written) == tested
