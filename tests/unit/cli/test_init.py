"""init with a model: which line names it, what is asked of it, and an audit of what was written."""

from __future__ import annotations

import os
import tomllib
from pathlib import Path
from typing import Any

import pandas as pd
import pytest
from sklearn.compose import make_column_transformer
from sklearn.linear_model import LogisticRegression
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import OneHotEncoder
from sklearn.tree import DecisionTreeClassifier

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


def test_protected_groups_in_other_words_than_the_models_are_refused(capsys):
    encode = make_column_transformer((OneHotEncoder(), ["sex"]), remainder="passthrough")
    model = make_pipeline(encode, LogisticRegression(max_iter=1000))
    words = PEOPLE["sex"].replace({"F": "woman"})
    model.fit(PEOPLE[["income"]].assign(sex=words), PEOPLE["granted"])
    save_model(model, "model.skops")
    assert init("model.skops", "--protected", "sex") == 2
    error = capsys.readouterr().err
    assert "sex has 'F', which the model has never seen; it knows 'M', 'woman'" in error


def test_a_saved_model_is_asked_and_then_audited(capsys):
    encode = make_column_transformer((OneHotEncoder(), ["sex"]), remainder="passthrough")
    model = make_pipeline(encode, LogisticRegression(max_iter=1000))
    model.fit(PEOPLE[["sex", "income"]], PEOPLE["granted"])
    save_model(model, "model.skops")
    assert init("model.skops", "--positive", "yes") == 0
    output = capsys.readouterr().out
    assert "asked 200 rows: the software answers 'no', 'yes'" in output
    assert "favourable: 'yes'" in output
    assert "one input: {'sex': 'F'" in output
    table = tomllib.loads(Path("evenhand.toml").read_text())
    assert table["subject"] == {"estimator": "model.skops", "positive": "yes"}
    jobs = [check["job"] for check in table["checks"]]
    assert jobs == ["measure", "search", "impact", "mine"]
    code = main(["audit", "--queries", "2000", "--json", "audit.json"])
    found = eh.Audit.from_json("audit.json")
    assert code == 1
    assert found.exit_code == 1
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
    assert init("--positive", "nope") == 2
    assert "did you mean 'no'" in capsys.readouterr().err


def written() -> dict[str, Any]:
    return tomllib.loads(Path("evenhand.toml").read_text(encoding="utf-8"))


def program(name: str, text: str) -> str:
    Path(name).write_text(f"#!/bin/sh\n{text}\n")
    Path(name).chmod(0o755)
    return name


def test_the_favourable_answer_is_in_the_words_of_the_software(capsys):
    decide = program("decide", "[ $2 -gt 40 ] && echo approve || echo deny")
    assert init(decide, "--positive", "yes") == 0
    assert written()["subject"]["positive"] == "approve"
    output = capsys.readouterr().out
    assert "favourable: 'approve', which goes with 'yes' in the data" in output
    # Without a word of the user as well.
    assert init(decide) == 0
    assert written()["subject"]["positive"] == "approve"


def test_a_word_that_the_software_never_answers_is_not_written(capsys):
    decide = program("decide", "[ $2 -gt 40 ] && echo approve || echo deny")
    assert init(decide, "--positive", "maybe") == 2
    errors = capsys.readouterr().err
    assert (
        "'maybe' is not an answer of the software, which answers 'approve', 'deny'"
        in errors
    )
    assert "positive" not in written()["subject"]


def test_software_with_one_answer_leaves_the_favourable_one_open(capsys):
    never = program("never", "echo deny")
    assert init(never) == 0
    output = capsys.readouterr().out
    assert "All 60 rows got the same answer" in output
    assert "favourable: not known" in output
    assert "positive" not in written()["subject"]
    jobs = {check["job"] for check in written()["checks"]}
    assert jobs == {"measure", "search"}
    assert init(never, "--positive", "yes") == 2


def test_expensive_software_gets_a_budget(capsys):
    slow = program("slow", "sleep 0.01; [ $2 -gt 40 ] && echo yes || echo no")
    assert init(slow) == 0
    assert "budget: " in capsys.readouterr().out
    search = written()["checks"][1]
    assert search["job"] == "search"
    assert 500 <= search["queries"] <= 5000


def test_columns_that_the_model_does_not_take_are_not_passed(capsys):
    people = PEOPLE.assign(race=["b", "w", "w", "b"] * 50, number=range(200))
    people["town"] = ["x", "y"] * 100
    people.to_csv("people.csv", index=False)
    model = LogisticRegression(max_iter=1000)
    model.fit(PEOPLE[["income"]], PEOPLE["granted"])
    save_model(model, "model.skops")
    assert init("model.skops") == 0
    space = written()["space"]
    assert space["features"] == {
        "sex": {"passed": False},
        "race": {"passed": False},
    }
    assert space["drop"] == ["number", "town"]
    output = capsys.readouterr().out
    assert "not passed: sex, race, no input of the model" in output
    assert "left out: number: numbers of rows" in output
    assert "left out: town: no input of the model" in output


def test_the_target_may_be_found_by_its_values(capsys):
    model = LogisticRegression(max_iter=1000)
    model.fit(PEOPLE[["income"]], PEOPLE["granted"])
    save_model(model, "model.skops")
    assert main(["init", "people.csv", "model.skops"]) == 0
    assert written()["space"]["target"] == "granted"
    assert "target: granted, whose values the model answers" in capsys.readouterr().out


def test_a_pickle_is_loaded_only_where_that_is_allowed(capsys):
    model = LogisticRegression(max_iter=1000)
    model.fit(PEOPLE[["income"]], (PEOPLE["granted"] == "yes").astype(int))
    save_model(model, "model.joblib")
    assert init("model.joblib") == 2
    assert "add --allow-pickle" in capsys.readouterr().err
    assert written()["subject"] == {"estimator": "model.joblib"}
    assert init("model.joblib", "--allow-pickle", "--positive", "yes") == 0
    expected = {"estimator": "model.joblib", "allow_pickle": True, "positive": 1}
    assert written()["subject"] == expected
    assert "loading it runs any code" in capsys.readouterr().out


def test_types_of_a_skops_file_are_trusted_by_name(capsys):
    tree = DecisionTreeClassifier(random_state=0)
    tree.fit(PEOPLE[["income"]], PEOPLE["granted"])
    types = save_model(tree, "model.skops")
    if not types:
        pytest.skip("this version of skops knows trees")
    assert init("model.skops") == 2
    assert f"add --trust {types[0]}" in capsys.readouterr().err
    assert init("model.skops", "--trust", ",".join(types)) == 0
    assert written()["subject"]["trusted"] == types


@pytest.mark.parametrize(
    ("name", "content", "words"),
    [
        ("model.skops", b"no model", ["model.skops", "skops"]),
        ("model.onnx", b"no model", ["model.onnx"]),
        ("model.json", b"{}", ["model.json", "XGBoost"]),
        ("model.txt", b"notes", ["model.txt", "LightGBM"]),
    ],
)
def test_a_file_that_is_no_model_is_one_sentence(capsys, name, content, words):
    needed = {".json": "xgboost", ".txt": "lightgbm", ".onnx": "onnxruntime"}
    suffix = Path(name).suffix
    if suffix in needed:
        pytest.importorskip(needed[suffix])
    Path(name).write_bytes(content)
    assert init(name) == 2
    lines = capsys.readouterr().err.strip().splitlines()
    assert len(lines) == 1
    for word in ["evenhand.toml is written", *words]:
        assert word in lines[0]


def test_a_model_of_other_columns_says_which(capsys):
    other = PEOPLE.rename(columns={"income": "wage"})
    model = LogisticRegression(max_iter=1000).fit(other[["wage"]], other["granted"])
    save_model(model, "model.skops")
    assert init("model.skops") == 2
    errors = capsys.readouterr().err
    assert "'wage'" in errors
    model.fit(pd.DataFrame({"granted": [0, 1]}), [0, 1])
    save_model(model, "model.skops")
    assert init("model.skops") == 2
    assert "--target 'granted' is a column that the model takes" in capsys.readouterr().err


def test_a_service_that_is_down_is_one_sentence(capsys):
    assert init("http://127.0.0.1:9/decide") == 4
    assert "check that the service is running" in capsys.readouterr().err
    assert written()["subject"] == {"http": "http://127.0.0.1:9/decide"}


def test_numbers_have_no_favourable_one(capsys):
    price = program("price", "echo $2.5")
    assert init(price) == 0
    subject = written()["subject"]
    assert "positive" not in subject
    assert subject["differs"] > 0
    kinds = [check.get("kind") for check in written()["checks"]]
    assert kinds == [None, None, "group"]
    assert "the software answers with numbers" in capsys.readouterr().out
    assert init(price, "--positive", "1") == 2
    assert "is for labels" in capsys.readouterr().err


def test_the_audit_of_a_log(capsys):
    pd.concat([PEOPLE] * 10).to_csv("people.csv", index=False)
    assert main(["init", "people.csv", "--outcome", "granted", "--force"]) == 0
    assert written()["log"]["positive"] == "yes"
    assert main(["audit", "--json", "audit.json"]) == 1
    assert main(["init", "people.csv", "m.skops", "--outcome", "granted", "--force"]) == 2
    assert "have no model" in capsys.readouterr().err
    assert main(["init", "people.csv", "--truth", "granted", "--force"]) == 2
    assert "--outcome" in capsys.readouterr().err


def test_where_nothing_can_be_checked_a_sentence_says_why(capsys):
    model = LogisticRegression(max_iter=1000)
    model.fit(PEOPLE[["income"]], [f"grade {row % 3}" for row in range(200)])
    save_model(model, "model.skops")
    assert init("model.skops") == 2
    errors = capsys.readouterr().err
    assert "the model takes none of sex" in errors
    assert "--positive" in errors
