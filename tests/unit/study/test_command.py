"""study on the command line: a real study, what it prints and writes, and its mistakes."""

from __future__ import annotations

import json
import subprocess
import sys
from typing import TYPE_CHECKING, Any

import numpy as np
import pandas as pd
import pytest

from evenhand.cli.main import main

if TYPE_CHECKING:
    from pathlib import Path

STUDY = """
[study]
splits = 3
bias = ["spd", "eod"]
[[data]]
name = "loans"
from = "loans.csv"
target = "approved"
positive = "yes"
protected = { sex = "m" }
[[models]]
name = "LR"
[[methods]]
name = "reweighing"
[[methods]]
name = "reject-option-spd"
[[methods]]
name = "prejudice-remover"
"""


@pytest.fixture
def folder(tmp_path: Path, monkeypatch: Any) -> Path:
    monkeypatch.chdir(tmp_path)
    rng = np.random.default_rng(1)
    sex = rng.choice(["f", "m"], 1500)
    income, debt = rng.normal(size=1500) + 0.7 * (sex == "m"), rng.normal(size=1500)
    approved = income - debt + 0.4 * (sex == "m") + rng.normal(size=1500) > 0.5
    frame = pd.DataFrame({"sex": sex, "income": income.round(3), "debt": debt.round(3)})
    frame.assign(approved=np.where(approved, "yes", "no")).to_csv("loans.csv", index=False)
    (tmp_path / "study.toml").write_text(STUDY, encoding="utf-8")
    return tmp_path


def test_a_study_prints_its_tables_and_goes_on_where_it_was(folder, capsys):
    assert main(["study", "--json", "out.json"]) == 0
    first = capsys.readouterr().out
    for word in (
        "(Table 4)",
        "(Table 5)",
        "(Table 6)",
        "(Table 7)",
        "reweighing",
        "prejudice-remover",
        "on 3 splits",
    ):
        assert word in first
    assert (folder / "study.sqlite").exists()
    tables = json.loads((folder / "out.json").read_text())
    assert tables["splits"] == 3
    rows = {row["row"]: row["cells"] for row in tables["tables"][0]["rows"]}
    shares = [value for key, value in rows["reweighing"].items() if key != "cases"]
    assert sum(shares) == pytest.approx(1.0)
    assert rows["reweighing"]["cases"] == 3
    assert main(["study"]) == 0
    assert capsys.readouterr().out == first, (
        "a study that is finished prints the same, seconds and all"
    )
    assert main(["study", "--seed", "5"]) == 2
    assert "seed" in capsys.readouterr().err


def test_tables_stand_beside_the_papers_where_it_has_such_cells(folder, capsys):
    assert main(["study", "--paper", "--bias", "spd"]) == 0
    printed = capsys.readouterr().out
    assert "[54 %]" in printed  # the paper's reweighing in Table 4, over other data sets
    assert "ours [the paper's]" in printed


@pytest.mark.parametrize(
    ("given", "words"),
    [
        (["study", "stdy.toml"], ["stdy.toml", "study.toml"]),
        (["study", "--splits", "0"], ["splits = 0"]),
        (["study", "--bias", "sdp"], ["sdp", "did you mean 'spd'"]),
    ],
)
def test_a_slip_is_one_sentence_and_exit_code_two(folder, capsys, given, words):
    assert main(given) == 2
    message = capsys.readouterr().err.strip()
    assert "\n" not in message
    for word in words:
        assert word in message


def test_help_is_light():
    done = subprocess.run(
        [sys.executable, "-X", "importtime", "-m", "evenhand.cli.main", "study", "--help"],
        capture_output=True,
        text=True,
        check=True,
    )
    assert "study.toml" in done.stdout
    for library in ("numpy", "sklearn", "pandas"):
        assert f" {library}\n" not in done.stderr
