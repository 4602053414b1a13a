"""Numbers from `init` to `audit`: a model of pay, and a log of what was paid."""

from __future__ import annotations

from typing import TYPE_CHECKING

import joblib
import numpy as np
import pandas as pd
import pytest
from sklearn.compose import make_column_transformer
from sklearn.linear_model import LinearRegression
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import OneHotEncoder

from evenhand.cli.main import main

if TYPE_CHECKING:
    from pathlib import Path

ROWS = 2000


def staff(gap: float) -> pd.DataFrame:
    """Return what people are paid and what they are due; women are paid less by the gap.

    For each woman there is a man who is due the same.
    """
    rng = np.random.default_rng(0)
    age = rng.integers(18, 70, ROWS // 2)
    hours = rng.integers(5, 60, ROWS // 2)
    due = 300.25 * hours + 100 * age
    men = pd.DataFrame({"sex": "M", "age": age, "hours": hours, "due": due})
    men["pay"] = due + rng.normal(0, 50, ROWS // 2)
    women = men.assign(sex="F", pay=men["pay"] - gap)
    return pd.concat([women, men])


def model_of(people: pd.DataFrame, file: Path) -> None:
    encoded = make_column_transformer((OneHotEncoder(), ["sex"]), remainder="passthrough")
    model = make_pipeline(encoded, LinearRegression())
    model.fit(people[["sex", "age", "hours"]], people["pay"])
    joblib.dump(model, file)


@pytest.mark.parametrize(("gap", "exit_code"), [(4000.0, 1), (0.0, 0)])
def test_a_model_of_pay_from_init_to_audit(tmp_path, monkeypatch, capsys, gap, exit_code):
    monkeypatch.chdir(tmp_path)
    people = staff(gap)
    people.drop(columns="due").to_csv("pay.csv", index=False)
    model_of(people, tmp_path / "pay.joblib")
    start = ["init", "pay.csv", "pay.joblib", "--target", "pay", "--protected", "sex"]
    assert main([*start, "--yes", "--allow-pickle"]) == 0
    assert main(["audit", "evenhand.toml", "--full", "-o", "report.html"]) == exit_code
    printed = capsys.readouterr().out
    assert "the mean outcome is" in printed
    page = (tmp_path / "report.html").read_text(encoding="utf-8")
    assert "in the unit of the outcomes" in page


@pytest.mark.parametrize(("gap", "exit_code"), [(4000.0, 1), (0.0, 0)])
def test_a_log_of_pay_from_init_to_audit(tmp_path, monkeypatch, capsys, gap, exit_code):
    monkeypatch.chdir(tmp_path)
    people = pd.concat([staff(gap)] * 8)
    people[["sex", "pay", "due"]].to_csv("paid.csv", index=False)
    start = ["init", "paid.csv", "--outcome", "pay", "--truth", "due", "--protected", "sex"]
    assert main([*start, "--yes"]) == 0
    assert "pay holds numbers" in capsys.readouterr().out
    assert main(["audit", "evenhand.toml", "--full"]) == exit_code
    printed = capsys.readouterr().out
    assert "16,000 recorded outcomes: pay, which are numbers" in printed
    assert "the mean error is" in printed


def test_limits_in_the_unit_of_the_outcomes(tmp_path, monkeypatch, capsys):
    monkeypatch.chdir(tmp_path)
    staff(4000.0).to_csv("paid.csv", index=False)
    log = ["measure-log", "paid.csv", "--outcome", "pay", "--over", "sex"]
    assert main([*log, "--limit", "1000", "--units", "outcome"]) == 1
    assert "limit 1,000" in capsys.readouterr().out
    assert main([*log, "--limit", "9000", "--units", "outcome"]) == 0
    assert main([*log, "--limit", "1000"]) == 2
    mined = ["mine-log", "paid.csv", "--outcome", "pay", "--over", "sex"]
    assert main([*mined, "--limit", "1000", "--units", "outcome"]) == 1
