"""Audits of recorded decisions: which checks are run, what a planted bias and a fair log get."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING, Any

import numpy as np
import pandas as pd
import pytest

import evenhand as eh
from evenhand.cli.main import main
from evenhand.runtime.errors import ConfigError, DataError, UsageError

if TYPE_CHECKING:
    from pathlib import Path

ROWS = 6000


def recorded(bias: float) -> pd.DataFrame:
    """Return decisions on women and men; `bias` is how much less often women get a yes."""
    rng = np.random.default_rng(19)
    sex = rng.choice(["F", "M"], ROWS)
    race = rng.choice(["green", "purple"], ROWS)
    age = rng.integers(18, 80, ROWS)
    paid = (rng.random(ROWS) < 0.6).astype(int)
    chance = np.where(paid == 1, 0.8, 0.3) - bias * (sex == "F")
    decision = np.where(rng.random(ROWS) < chance, "yes", "no")
    return pd.DataFrame(
        {"sex": sex, "race": race, "age": age, "paid": paid, "decision": decision}
    )


BIASED = recorded(0.25)
FAIR = recorded(0.0)
OPTIONS: dict[str, Any] = {"outcome": "decision", "positive": "yes"}
CONFIG = """
[log]
from = "decisions.csv"
outcome = "decision"
positive = "yes"
over = ["sex", "race"]
"""


def written(folder: Path, frame: pd.DataFrame, text: str = CONFIG) -> Path:
    """Write a log and a configuration beside it."""
    frame.to_csv(folder / "decisions.csv", index=False)
    file = folder / "evenhand.toml"
    file.write_text(text, encoding="utf-8")
    return file


def test_a_planted_bias_is_found_and_a_fair_log_passes():
    found = eh.audit_log(BIASED, over=["sex", "race"], **OPTIONS)
    assert [check.job for check in found.checks] == ["impact", "measure_log", "mine_log"]
    assert found.verdict == "fail"
    assert found.exit_code == 1
    assert found.spent.queries == 0
    fair = eh.audit_log(FAIR, over=["sex", "race"], **OPTIONS)
    assert fair.verdict == "pass"
    assert fair.exit_code == 0


def test_each_column_is_looked_at_by_itself_and_subgroups_together():
    found = eh.audit_log(FAIR, over=["sex", "race"], **OPTIONS)
    rates = found["measure_log"].found
    assert rates is not None
    assert {finding.about for finding in rates.findings} == {("sex",), ("race",)}
    assert found["mine_log"].settings["over"] == [["sex", "race"]]
    impact = found["impact"].found
    assert impact is not None
    assert {finding.about for finding in impact.findings} == {
        ("sex",),
        ("race",),
        ("sex", "race"),
    }


@pytest.mark.parametrize("engine", ["polars", "arrow"])
def test_other_frames_give_the_same(engine):
    frame: Any
    if engine == "polars":
        polars = pytest.importorskip("polars")
        frame = polars.from_pandas(BIASED)
    else:
        arrow = pytest.importorskip("pyarrow")
        frame = arrow.Table.from_pandas(BIASED)
    found = eh.audit_log(frame, over="sex", **OPTIONS)
    assert found.digest == eh.audit_log(BIASED, over="sex", **OPTIONS).digest


def test_checks_can_be_chosen_and_held_against_a_baseline():
    checks = [{"job": "measure_log", "over": ["sex"], "limit": 0.3}]
    old = eh.audit_log(FAIR, over="sex", checks=checks, **OPTIONS)
    assert [check.name for check in old.checks] == ["measure_log sex"]
    assert old.verdict == "pass"
    new = eh.audit_log(BIASED, over="sex", baseline=old, **OPTIONS)
    assert new.verdict == "fail"


@pytest.mark.parametrize(
    ("options", "sentence"),
    [
        ({"over": []}, "names no columns"),
        ({"over": "sex", "checks": [{"job": "search"}]}, "'search'"),
        ({"over": "sex", "checks": []}, "checks is empty"),
        ({"over": "sex", "checks": [{"job": "impact", "data": "x"}]}, "'data'"),
        ({"over": "sex", "limits": 1}, "'limits'"),
    ],
)
def test_what_is_wrong_is_refused(options, sentence):
    with pytest.raises(UsageError, match=sentence):
        eh.audit_log(FAIR, **OPTIONS, **options)


def test_a_column_that_is_not_there_is_named():
    with pytest.raises(DataError, match="over names 'sxe'"):
        eh.audit_log(FAIR, over="sxe", **OPTIONS)


def test_columns_that_are_cut_are_compared_too():
    options: dict[str, Any] = {**OPTIONS, "truth": "paid", "truth_positive": 1}
    found = eh.audit_log(BIASED, over="sex", bins={"age": [25, 40]}, **options)
    rates = found["measure_log"].found
    assert isinstance(rates, eh.Result)
    assert {finding.about for finding in rates.findings} == {("sex",), ("age",)}
    tables = rates.details["rates"]
    labels = []
    for group in tables[1]["groups"]:
        labels.append(group["about"]["age"])
    assert labels == ["under 25", "25 to 39", "40 and over"]
    judged = {finding.score for finding in rates.findings if finding.limit is not None}
    assert judged == {
        "rate difference",
        "true positive rate difference",
        "false positive rate difference",
    }
    chosen = [{"job": "measure_log", "over": ["sex"], "metric": "tpr", "limit": 0.1}]
    by_sex = eh.audit_log(
        BIASED,
        over="sex",
        bins={"age": [25]},
        checks=chosen,
        **options,
    )
    assert [finding.about for finding in by_sex.findings] == [("sex",)] * 10
    assert by_sex.verdict == "fail"


# Configurations


def test_a_configuration_gives_the_same(tmp_path):
    file = written(tmp_path, BIASED)
    found = eh.audit(file)
    same = eh.audit_log(BIASED, over=["sex", "race"], **OPTIONS)
    assert [check.to_dict(whole=False) for check in found.checks] == [
        check.to_dict(whole=False) for check in same.checks
    ]
    assert found.subject == "decisions.csv"
    assert found.config["text"] == CONFIG


def test_a_configuration_chooses_its_checks(tmp_path):
    chosen = '[[checks]]\njob = "impact"\nleast_ratio = 0.8\nintersections = false\n'
    found = eh.audit(written(tmp_path, BIASED, CONFIG + chosen))
    assert [check.job for check in found.checks] == ["impact"]
    assert found.exit_code == 1


@pytest.mark.parametrize(
    ("text", "sentence"),
    [
        (CONFIG.replace("outcome =", "outcomes ="), "unknown key 'outcomes'"),
        (CONFIG.replace('outcome = "decision"', ""), "has no outcome"),
        (CONFIG + 'truth_positive = "yes"\n', "truth_positive but no truth"),
        (CONFIG + '[subject]\nfunction = "a:b"\n', "cannot be combined with"),
        (CONFIG + '[[checks]]\njob = "measure"\n', "'measure'"),
        (CONFIG + '[[checks]]\njob = "impact"\nlimits = 1\n', "unknown key 'limits'"),
    ],
)
def test_a_wrong_configuration_is_one_sentence(tmp_path, text, sentence):
    with pytest.raises(ConfigError, match=sentence):
        eh.audit(written(tmp_path, FAIR, text))


def test_columns_of_a_configuration_are_checked(tmp_path):
    wrong = CONFIG.replace('"race"', '"rase"')
    with pytest.raises(DataError, match=r"\[log\] over names 'rase'"):
        eh.audit(written(tmp_path, FAIR, wrong))


# The command line


def test_the_command_audits_a_file(tmp_path, capsys, monkeypatch):
    written(tmp_path, BIASED)
    monkeypatch.chdir(tmp_path)
    words = ["--outcome", "decision", "--positive", "yes", "--over", "sex,race"]
    files = ["-o", "r.html", "--json", "a.json", "--junit", "j.xml", "--sarif", "s.json"]
    more = ["--markdown", "m.md", "--card", "c.md"]
    assert main(["audit", "decisions.csv", *words, *files, *more]) == 1
    out = capsys.readouterr().out
    assert "sex F in" in out
    assert "6,000 recorded decisions: decision, of which yes is favourable" in out
    for name in ("r.html", "j.xml", "s.json", "m.md", "c.md"):
        assert "decisions" in (tmp_path / name).read_text(encoding="utf-8")
    audit = eh.Audit.from_json("a.json")
    assert audit.command.startswith("evenhand audit decisions.csv --outcome decision")
    assert main(audit.command.split()[1:]) == 1
    assert main(["report", "a.json", "-o", "again.html"]) == 0
    assert "Fairness audit" in (tmp_path / "again.html").read_text(encoding="utf-8")


def test_nothing_can_be_asked_again(tmp_path, capsys, monkeypatch):
    written(tmp_path, BIASED)
    monkeypatch.chdir(tmp_path)
    assert main(["audit", "--json", "a.json", "--quiet"]) == 1
    assert json.loads((tmp_path / "a.json").read_text())["verdict"] == "fail"
    capsys.readouterr()
    assert main(["replay", "a.json"]) == 2
    assert "count them again with: evenhand audit" in capsys.readouterr().err
    assert main(["measure"]) == 2
    assert "there is no software to ask" in capsys.readouterr().err


@pytest.mark.parametrize(
    ("words", "sentence"),
    [
        (["decisions.csv"], "--outcome is missing"),
        (["decisions.csv", "--outcome", "decision"], "--over is missing"),
        (["evenhand.toml", "--outcome", "decision"], "is for a file of recorded"),
        (["decisions.csv", "--bins", "age"], "such as age=25,40,60"),
    ],
)
def test_wrong_words_are_one_sentence(tmp_path, capsys, monkeypatch, words, sentence):
    written(tmp_path, FAIR)
    monkeypatch.chdir(tmp_path)
    assert main(["audit", *words]) == 2
    assert sentence in capsys.readouterr().err


def test_the_limit_that_init_writes_as_a_comment_can_be_taken(tmp_path, monkeypatch):
    written(tmp_path, BIASED)
    monkeypatch.chdir(tmp_path)
    words = ["decisions.csv", "--outcome", "decision", "--positive", "yes"]
    assert main(["init", *words, "--protected", "sex", "--yes", "-o", "log.toml"]) == 0
    text = (tmp_path / "log.toml").read_text(encoding="utf-8")
    assert "# least_ratio = 0.8" in text
    uncommented = text.replace("# least_ratio", "least_ratio")
    (tmp_path / "log.toml").write_text(uncommented, encoding="utf-8")
    found = eh.audit("log.toml")
    assert found["impact"].verdict == "fail"
