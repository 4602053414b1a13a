"""init for recorded decisions: what is written, and columns and words that are wrong."""

from __future__ import annotations

import tomllib

import pandas as pd
import pytest

from evenhand.config.file import Config
from evenhand.config.init.log import LogRequest, start_log
from evenhand.config.init.questions import Dialogue
from evenhand.config.log import log_of
from evenhand.runtime.errors import DataError, UsageError
from tests.support.helpers import refused

ROWS = 400


@pytest.fixture
def log(tmp_path):
    file = tmp_path / "decisions.csv"
    right = [row % 3 == 0 for row in range(ROWS)]
    frame = pd.DataFrame(
        {
            "sex": ["F", "M"] * (ROWS // 2),
            "age": [18 + row % 60 for row in range(ROWS)],
            "decision": ["approve" if yes else "deny" for yes in right],
            "paid_back": [int(yes) for yes in right],
        }
    )
    frame.to_csv(file, index=False)
    return file


def written(log, outcome="decision", **options):
    file = log.parent / "evenhand.toml"
    start_log(LogRequest(log, file, outcome, **options), Dialogue())
    return tomllib.loads(file.read_text(encoding="utf-8"))


def test_the_table_of_a_log(log, capsys):
    table = written(log, truth="paid_back")
    assert table["log"] == {
        "from": "decisions.csv",
        "outcome": "decision",
        "positive": "approve",
        "over": ["sex", "age"],
        "truth": "paid_back",
        "truth_positive": 1,
        "bins": {"age": [32, 46, 61]},
    }
    jobs = [check["job"] for check in table["checks"]]
    assert jobs == ["impact", "measure_log", "mine_log"]
    output = capsys.readouterr().out
    assert "favourable: 'approve', 33.5 % of decisions (a guess" in output
    config = Config.load(log.parent / "evenhand.toml")
    assert log_of(config).positive == "approve"


def test_words_and_columns_that_are_wrong(log):
    assert written(log, positive="no")["log"]["positive"] == "deny"
    refused(UsageError, lambda: written(log, positive="later"), "'later'", "'approve'")
    refused(DataError, lambda: written(log, outcome="decison"), "--outcome", "'decision'")
    refused(DataError, lambda: written(log, truth="paid"), "--truth", "'paid_back'")
    refused(
        DataError, lambda: written(log, outcome="age", positive="30"), "60 different values"
    )
