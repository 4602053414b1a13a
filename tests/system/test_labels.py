"""An audit of software that takes codes: every form of its report has the user's words."""

from __future__ import annotations

import json
import re
from html import unescape
from typing import TYPE_CHECKING

import joblib
import pandas as pd
from sklearn.tree import DecisionTreeClassifier

from evenhand.cli.main import main

if TYPE_CHECKING:
    from pathlib import Path

CONFIG = """
[subject]
function = "loan_of_codes:decide"
positive = 1
labels = { 0 = "denied", 1 = "approved" }

[space]
from = "people.csv"
protected = ["sex", "race"]

[space.features.sex]
labels = { 0 = "female", 1 = "male" }

[[checks]]
job = "measure"
limit = 0.05

[[checks]]
job = "measure"
kind = "group"
limit = 0.05

[[checks]]
job = "search"
queries = 400

[[checks]]
job = "impact"

[[checks]]
job = "mine"
"""
LOAN = """
def decide(people):
    enough = 60 + 20 * (people["race"] == "purple")
    return ((people["sex"] == 1) | (people["income"] > enough)).astype(int)
"""
CODE = re.compile(r"\bsex:? [01]\b(?!\.)|\boutcome [01]\b|\b[01] → [01]\b")
"""A code where a word should stand."""


def people() -> pd.DataFrame:
    numbers = range(400)
    sexes = [number % 2 for number in numbers]
    races = ["green" if number % 4 < 2 else "purple" for number in numbers]
    incomes = [number // 4 for number in numbers]
    return pd.DataFrame({"sex": sexes, "race": races, "income": incomes})


def text_of(page: str) -> str:
    """Return what a reader of a page sees, without its scripts and styles."""
    shown = re.sub(r"<(script|style)\b.*?</\1>", " ", page, flags=re.DOTALL)
    return " ".join(unescape(re.sub(r"<[^>]+>", " ", shown)).split())


def messages_of(file: Path) -> str:
    """Return what people read of a SARIF file, whose properties hold codes."""
    results = json.loads(file.read_text())["runs"][0]["results"]
    return "\n".join(result["message"]["text"] for result in results)


def test_every_form_of_a_report_has_the_words(tmp_path, monkeypatch, capsys):
    monkeypatch.chdir(tmp_path)
    monkeypatch.syspath_prepend(tmp_path)
    (tmp_path / "loan_of_codes.py").write_text(LOAN)
    (tmp_path / "evenhand.toml").write_text(CONFIG)
    people().to_csv("people.csv", index=False)
    files = ["-o", "page.html", "--markdown", "page.md", "--junit", "page.xml"]
    files += ["--sarif", "page.sarif", "--summary", "summary.md", "--json", "found.json"]
    assert main(["audit", *files]) == 1
    forms = {
        "text": capsys.readouterr().out,
        "page": text_of((tmp_path / "page.html").read_text()),
        "markdown": (tmp_path / "page.md").read_text(),
        "junit": (tmp_path / "page.xml").read_text(),
        "sarif": messages_of(tmp_path / "page.sarif"),
        "summary": (tmp_path / "summary.md").read_text(),
    }
    for name, form in forms.items():
        assert "female" in form, name
        assert "approved" in form, name
        assert not CODE.findall(form), name
    document = json.loads((tmp_path / "found.json").read_text())
    cases = []
    for check in document["checks"]:
        for finding in check["found"]["findings"]:
            cases += finding["cases"]
    assert cases
    for case in cases:
        assert {case["individual"]["sex"], case["twin"]["sex"]} <= {0, 1}
        assert set(case["outcomes"]) == {0, 1}
    assert main(["replay", "found.json"]) == 1
    assert "denied" in capsys.readouterr().out


def test_init_offers_labels_for_codes(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    people().to_csv("people.csv", index=False)
    assert main(["init", "people.csv", "--protected", "sex"]) == 0
    text = (tmp_path / "evenhand.toml").read_text()
    assert '# sex = { labels = { 0 = "…", 1 = "…" } }' in text


def test_init_offers_labels_for_outcomes_that_are_codes(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    rows = people().drop(columns="race")
    granted = ((rows["sex"] == 1) | (rows["income"] > 60)).astype(int)
    rows.assign(granted=granted).to_csv("people.csv", index=False)
    joblib.dump(DecisionTreeClassifier().fit(rows, granted), "loan.joblib")
    asked = ["people.csv", "loan.joblib", "--target", "granted", "--positive", "1"]
    assert main(["init", *asked, "--protected", "sex", "--allow-pickle", "--yes"]) == 0
    written = (tmp_path / "evenhand.toml").read_text()
    offered = '# labels = { 0 = "…", 1 = "…" }  # what reports are to call these outcomes'
    assert offered in written
    labelled = written.replace(offered, 'labels = { 0 = "denied", 1 = "approved" }')
    (tmp_path / "evenhand.toml").write_text(labelled)
    assert main(["measure", "--json", "found.json"]) == 1
    assert '"approved"' in (tmp_path / "found.json").read_text()
