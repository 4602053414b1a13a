"""init with a model: which line names it, what is asked of it, and an audit of what was written."""

from __future__ import annotations

import os
import tomllib
from pathlib import Path

import pandas as pd
import pytest
from sklearn.compose import make_column_transformer
from sklearn.linear_model import LogisticRegression
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import OneHotEncoder

import evenhand as eh
from evenhand.cli.main import main
from evenhand.config.init.software import software_of
from evenhand.runtime.errors import UsageError
from evenhand.subject.adapters.saved import save_model
from tests.support.helpers import refused

PEOPLE = pd.DataFrame(
    {
        "sex": ["F", "M"] * 100,
        "income": [i % 90 for i in range(200)],
        "granted": ["yes" if i % 90 + 20 * (i % 2) > 50 else "no" for i in range(200)],
    }
)
PROGRAM = "#!/bin/sh\n[ $2 -gt 40 ] && echo yes || echo no\n"


@pytest.fixture(autouse=True)
def folder(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    PEOPLE.to_csv("people.csv", index=False)
    return tmp_path


def init(*arguments: str) -> int:
    return main(["init", "people.csv", *arguments, "--target", "granted", "--force"])


def test_the_kind_of_software_is_recognised_by_its_name(folder):
    Path("m.skops").touch()
    Path("m.onnx").touch()
    Path("m.pkl").touch()
    Path("decide").write_text(PROGRAM)
    Path("decide").chmod(0o755)
    here = Path("evenhand.toml")
    assert software_of("m.skops", here).table == {"estimator": "m.skops"}
    assert software_of("m.onnx", here).table == {"onnx": "m.onnx"}
    assert software_of("m.pkl", here).table == {"estimator": "m.pkl"}
    assert software_of("decide", here).table == {"command": ["./decide", "{*}"]}
    asked = software_of("./decide --sex {sex} {income}", here)
    assert asked.table == {"command": ["./decide", "--sex", "{sex}", "{income}"]}
    function = software_of("loans.model:decide", here)
    assert function.table == {"function": "loans.model:decide"}
    refused(UsageError, lambda: software_of("no.skops", here), "no.skops", "m.skops")
    Path("notes.md").touch()
    if not os.access("notes.md", os.X_OK):
        refused(UsageError, lambda: software_of("notes.md", here), "notes.md", ".skops")


def test_a_saved_model_is_asked_and_then_audited(capsys):
    encode = make_column_transformer((OneHotEncoder(), ["sex"]), remainder="passthrough")
    model = make_pipeline(encode, LogisticRegression(max_iter=1000))
    model.fit(PEOPLE[["sex", "income"]], PEOPLE["granted"])
    save_model(model, "model.skops")
    assert init("model.skops", "--positive", "yes") == 0
    output = capsys.readouterr().out
    assert "asked 200 rows: the software answers 'no'" in output
    assert "favourable: 'yes'" in output
    assert "one input: {'sex': 'F'" in output
    table = tomllib.loads(Path("evenhand.toml").read_text())
    assert table["subject"] == {"estimator": "model.skops", "positive": "yes"}
    jobs = [check["job"] for check in table["checks"]]
    assert jobs == ["measure", "search", "impact", "mine"]
    code = main(["audit", "--queries", "2000", "--json", "audit.json"])
    found = eh.Audit.from_json("audit.json")
    assert (code, found.exit_code) == (1, 1)
    assert [check.job for check in found.checks] == jobs
    assert found["impact"].found is not None


def test_a_model_that_fails_is_reported_and_the_file_is_kept(capsys):
    Path("broken").write_text("#!/bin/sh\nexit 3\n")
    Path("broken").chmod(0o755)
    assert init("broken") == 4
    errors = capsys.readouterr().err
    assert "evenhand.toml is written, but cannot run yet" in errors
    assert "code 3" in errors
    assert "Traceback" not in errors
    assert Path("evenhand.toml").exists()


def test_the_favourable_outcome_is_a_guess_that_says_so_or_the_one_given(capsys):
    assert init() == 0
    written = Path("evenhand.toml").read_text()
    assert (
        "positive = \"yes\"  # the favourable outcome; this is a guess, of 'no', 'yes'"
        in written
    )
    assert init("--positive", "no") == 0
    assert tomllib.loads(Path("evenhand.toml").read_text())["subject"] == {"positive": "no"}
    assert 'positive = "no"\n' in Path("evenhand.toml").read_text()
    assert init("--positive", "nope") == 2
    assert "did you mean 'no'" in capsys.readouterr().err
