"""compare on the command line: real files, models of a configuration, and slips of users."""

from __future__ import annotations

import subprocess
import sys
from typing import TYPE_CHECKING, Any

import numpy as np
import pandas as pd
import pytest

import evenhand as eh
from evenhand.cli.main import main

if TYPE_CHECKING:
    from pathlib import Path


def people(n: int = 1500) -> pd.DataFrame:
    rng = np.random.default_rng(1)
    sex = rng.choice(["f", "m"], n)
    race = rng.choice(["a", "b"], n)
    income = rng.normal(size=n) + 0.7 * (sex == "m")
    return pd.DataFrame(
        {
            "sex": sex,
            "race": race,
            "income": income.round(3),
            "debt": rng.normal(size=n).round(3),
        }
    )


@pytest.fixture
def folder(tmp_path: Path, monkeypatch: Any) -> Path:
    monkeypatch.chdir(tmp_path)
    rng = np.random.default_rng(0)
    frame = people()
    score = frame["income"] - frame["debt"]
    noise = rng.normal(size=len(frame)) * 0.5
    is_man = (frame["sex"] == "m").astype(int)
    truth = (score + noise > 0.4).astype(int)
    original = (score > 0.4).astype(int)
    even = (score - 0.7 * is_man > 0.0).astype(int)
    is_kept = rng.random(len(frame)) < 0.5
    worse = np.where(is_kept, original, is_man)
    predictions = frame.assign(truth=truth, original=original, even=even, worse=worse)
    predictions.to_csv("predictions.csv", index=False)
    return tmp_path


LOG = [
    "compare",
    "predictions.csv",
    "--truth",
    "truth",
    "--outcomes",
    "original,even,worse",
    "--over",
    "sex",
]


def test_recorded_predictions_are_compared_as_in_python(folder, capsys):
    assert main([*LOG, "--json", "out.json"]) == 0
    printed = capsys.readouterr().out
    frame = pd.read_csv("predictions.csv")
    found = eh.compare(
        {name: frame[name] for name in ("original", "even", "worse")},
        frame["truth"],
        frame[["sex"]],
    )
    assert eh.Comparison.from_json("out.json").digest == found.digest
    assert found.region["worse"] == "lose-lose"
    assert found["even"].verdict == "pass"
    for word in (
        "even",
        "worse",
        "lose-lose",
        "blind overwriting of original",
        "1,500 rows",
    ):
        assert word in printed


def test_the_gate_is_what_the_verdict_says(folder, capsys):
    assert main([*LOG, "--gate"]) == 1
    assert main([*LOG[:4], "--outcomes", "original,even", "--over", "sex", "--gate"]) == 0
    capsys.readouterr()


def test_options_reach_the_comparison(folder, capsys):
    more = [
        "--bias",
        "eod",
        "--performance",
        "f1",
        "--overwrite",
        "label",
        "--label",
        "1",
        "--positive",
        "1",
    ]
    more += ["--level", "0.9", "--seed", "3", "--json", "out.json"]
    assert main([*LOG, "--over", "sex,race", *more]) == 0
    capsys.readouterr()
    frame = pd.read_csv("predictions.csv")
    found = eh.compare(
        {name: frame[name] for name in ("original", "even", "worse")},
        frame["truth"],
        frame[["sex", "race"]],
        over=[["sex"], ["sex", "race"]],
        bias="eod",
        performance="f1",
        overwrite="label",
        label=1,
        level=0.9,
        seed=3,
    )
    assert eh.Comparison.from_json("out.json").digest == found.digest


@pytest.mark.parametrize(
    ("given", "words"),
    [
        (
            [*LOG[:2], "--truth", "trut", *LOG[4:]],
            ["predictions.csv", "'trut'", "did you mean 'truth'"],
        ),
        (
            [*LOG[:4], "--outcomes", "original,evn", "--over", "sex"],
            ["'evn'", "did you mean 'even'"],
        ),
        ([*LOG, "--baseline", "orginal"], ["'orginal'", "did you mean 'original'"]),
        ([*LOG, "--bias", "sdp"], ["'sdp'", "did you mean 'spd'"]),
        ([*LOG, "--overwrite", "label"], ["needs the option label"]),
        ([*LOG, "--positive", "yes"], ["'yes'"]),
        (["compare", "predictons.csv", *LOG[2:]], ["predictons.csv", "predictions.csv"]),
    ],
)
def test_a_slip_is_one_sentence_and_exit_code_two(folder, capsys, given, words):
    assert main(given) == 2
    message = capsys.readouterr().err.strip()
    assert "\n" not in message
    for word in words:
        assert word in message


def test_a_favourable_label_is_asked_for_by_its_option(folder, capsys):
    frame = pd.read_csv("predictions.csv")
    columns = ["truth", "original", "even"]
    words = frame[columns].replace({0: "no", 1: "yes"})
    frame[columns] = words.astype(str)
    frame.to_csv("words.csv", index=False)
    given = [
        "compare",
        "words.csv",
        "--truth",
        "truth",
        "--outcomes",
        "original,even",
        "--over",
        "sex",
    ]
    assert main([*given, "--bias", "eod"]) == 2
    assert "name it with the option positive" in capsys.readouterr().err
    assert main([*given, "--bias", "eod", "--positive", "yes"]) == 0


def test_help_is_light():
    done = subprocess.run(
        [
            sys.executable,
            "-X",
            "importtime",
            "-m",
            "evenhand.cli.main",
            "compare",
            "--help",
        ],
        capture_output=True,
        text=True,
        check=True,
    )
    assert "predictions.csv" in done.stdout
    for library in ("numpy", "sklearn", "pandas"):
        assert f" {library}\n" not in done.stderr
