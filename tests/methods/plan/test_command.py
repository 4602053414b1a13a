"""evenhand plan: the command line."""

from __future__ import annotations

import json
import sys
from typing import Any

import pytest

from evenhand.cli.main import main

PROGRAM = """import sys
sex, income = sys.argv[1], int(sys.argv[2])
with open("calls.txt", "a") as file:
    file.write("x")
print("approve" if income > 50 + 20 * (sex == "F") else "deny")
"""


@pytest.fixture
def program(tmp_path, monkeypatch) -> Any:
    """Return a configuration of a real program, which notes each of its runs."""
    monkeypatch.chdir(tmp_path)
    tmp_path.joinpath("loan.py").write_text(PROGRAM)
    config = tmp_path / "evenhand.toml"
    config.write_text(
        f"""[subject]
command = [{sys.executable!r}, "loan.py", "{{sex}}", "{{income}}"]
positive = "approve"
[space]
protected = ["sex"]
[space.features.sex]
kind = "category"
levels = ["F", "M"]
[space.features.income]
kind = "integer"
low = 0
high = 9999
[[checks]]
job = "measure"
over = ["sex"]
limit = 0.1
[[checks]]
job = "search"
over = ["sex"]
queries = 300
"""
    )
    return config


def test_a_program_is_run_no_more_often_than_foreseen(program, capsys):
    assert main(["plan", "--json", "plan.json"]) == 0
    out = capsys.readouterr().out
    assert "32 inputs were asked to measure the speed" in out
    runs = len(program.with_name("calls.txt").read_text())
    assert runs == 32
    table = json.loads(program.with_name("plan.json").read_text())
    assert table["job"] == "plan"
    assert table["verdict"] is None
    assert table["spent"]["queries"] == 32
    measured, searched = table["details"]["plan"]["checks"]
    assert measured["parts"][0]["way"] == "drawn"
    assert searched["parts"][0]["inputs"] == 300


def test_queries_bound_every_check(program, capsys):
    assert main(["plan", "--queries", "100", "--json", "plan.json"]) == 0
    table = json.loads(program.with_name("plan.json").read_text())
    for check in table["details"]["plan"]["checks"]:
        assert check["parts"][0]["most"] <= 100


def test_a_file_that_cannot_be_written_is_refused_before_anything_is_asked(program, capsys):
    assert main(["plan", "--json", "nowhere/plan.json"]) == 2
    assert "there is no folder" in capsys.readouterr().err
    assert not program.with_name("calls.txt").exists()


def test_recorded_decisions_are_not_asked(tmp_path, monkeypatch, capsys):
    monkeypatch.chdir(tmp_path)
    rows = "".join(f"{'F' if n % 3 else 'M'},{n % 2}\n" for n in range(600))
    tmp_path.joinpath("log.csv").write_text("sex,granted\n" + rows)
    tmp_path.joinpath("evenhand.toml").write_text(
        '[log]\nfrom = "log.csv"\noutcome = "granted"\nover = ["sex"]\n'
    )
    assert main(["plan"]) == 0
    out = capsys.readouterr().out
    assert "measure_log sex, sex: fails with 80 % probability against 0.1" in out
    assert "nothing was asked" in out
