"""over="all": rules of every feature, protected or not."""

from __future__ import annotations

import sys
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import pytest

import evenhand as eh
from evenhand.cli.main import main
from evenhand.methods.mine.plot.display import HeatDisplay
from evenhand.methods.mine.rule_sets import MOST_MAPS
from evenhand.results.result import Result
from evenhand.runtime.errors import DataError, UsageError
from tests.support.helpers import refused

RNG = np.random.default_rng(1)
ROWS = 2000
PEOPLE = pd.DataFrame(
    {
        "sex": RNG.choice(["F", "M"], ROWS),
        "job": RNG.choice(["cook", "clerk", "driver", "nurse"], ROWS),
        "income": RNG.integers(
            0,
            100,
            ROWS,
        ),
    }
)
PAID = (PEOPLE["income"] > 50).astype(int)
WRONG = (PEOPLE["job"] == "nurse") & (PEOPLE["income"] < 50)
LOG = PEOPLE.assign(decided=PAID ^ WRONG, paid=PAID)
SPACE = eh.Space.from_frame(PEOPLE, protected=["sex"])
RECORDED: dict[str, Any] = {"outcome": "decided", "truth": "paid", "score": "error"}
CODE = """
def decide(people):
    nurse = (people["job"] == "nurse") & (people["income"] < 50)
    return ((people["income"] > 50) ^ nurse).astype(int)
"""
CONFIG = """
[subject]
function = "all_rules:decide"
positive = 1
[space]
from = "people.csv"
target = "paid"
protected = ["sex"]
[[checks]]
job = "mine"
over = "all"
truth = "paid"
score = "error"
limit = 0.1
"""


def decide(people: pd.DataFrame) -> Any:
    nurse = (people["job"] == "nurse") & (people["income"] < 50)
    return ((people["income"] > 50) ^ nurse).astype(int)


def test_where_a_model_errs_is_found_whatever_is_protected():
    found = eh.mine(
        decide,
        SPACE,
        PEOPLE,
        over="all",
        truth=PAID,
        score="error",
    )
    entry = found.details["mine"][0]
    assert entry["over"] == ["sex", "job", "income"]
    assert entry["method"] == "rows"
    assert str(found.worst.about) == "job nurse, income < 50"
    recorded = eh.mine_log(
        LOG,
        over="all",
        **RECORDED,
    )
    assert recorded.details["mine"][0]["over"] == ["sex", "job", "income"]
    assert recorded.worst.about == found.worst.about
    assert recorded.worst.estimate.value == found.worst.estimate.value


@pytest.mark.parametrize("over", ["all", ["all"], [("all",)], [("all",), ("sex",)]])
def test_conditions_name_one_level_unless_levels_are_given(over):
    note = "conditions name one level of a category at a time"
    found = eh.mine_log(
        LOG,
        over=over,
        **RECORDED,
    )
    assert any(note in other for other in found.notes)
    for finding in found.findings:
        for condition in finding.about.conditions:
            assert len(condition.levels) <= 1
    pairs = eh.mine_log(
        LOG,
        over=over,
        levels=2,
        **RECORDED,
    )
    assert not any(note in other for other in pairs.notes)
    assert pairs.details["mine"][0]["candidates"] > found.details["mine"][0]["candidates"]
    named = eh.mine_log(
        LOG,
        over=["sex", "job", "income"],
        **RECORDED,
    )
    assert not any(note in other for other in named.notes)


def test_a_column_that_is_called_all_stands_for_itself():
    log = LOG.rename(columns={"job": "all"})
    found = eh.mine_log(
        log,
        over="all",
        **RECORDED,
    )
    assert found.details["mine"][0]["over"] == ["all"]
    space = eh.Space.from_frame(PEOPLE.rename(columns={"job": "all"}), protected=["sex"])

    def by_all(people: pd.DataFrame) -> Any:
        return (people["all"] == "nurse").astype(int)

    people = PEOPLE.rename(columns={"job": "all"})
    asked = eh.mine(
        by_all,
        space,
        people,
        over="all",
    )
    assert asked.details["mine"][0]["over"] == ["all"]
    assert asked.details["mine"][0]["method"] == "neighbours"


@pytest.mark.parametrize("treatment", ["neighbours", "drawn", "paper"])
def test_neighbours_are_refused_where_nothing_is_left_to_change(treatment):
    def asked(**options: Any) -> Any:
        return lambda: eh.mine(decide, SPACE, PEOPLE, over="all", **options)

    refused(
        UsageError,
        asked(treatment=treatment),
        f"treatment = '{treatment}'",
        "over = 'all' leaves none",
    )
    refused(UsageError, asked(move=5), "move = 5")


def test_rates_over_all_features_are_of_the_rows():
    found = eh.mine(
        decide,
        SPACE,
        PEOPLE,
        over="all",
        depth=1,
    )
    assert found.details["mine"][0]["method"] == "rows"
    assert found.spent.queries <= ROWS + 640


def test_a_log_with_no_other_column_is_refused():
    alone = LOG[["decided", "paid"]]
    refused(
        UsageError,
        lambda: eh.mine_log(
            alone,
            over="all",
            **RECORDED,
        ),
        "over = 'all'",
    )
    refused(
        DataError,
        lambda: eh.mine_log(
            LOG,
            over="al",
            **RECORDED,
        ),
        "'al'",
    )


@pytest.fixture
def folder(tmp_path, monkeypatch) -> Path:
    monkeypatch.chdir(tmp_path)
    monkeypatch.setattr(
        sys,
        "path",
        list(sys.path),
    )
    monkeypatch.delitem(
        sys.modules,
        "all_rules",
        raising=False,
    )
    Path("all_rules.py").write_text(CODE)
    Path("evenhand.toml").write_text(CONFIG)
    PEOPLE.assign(paid=PAID).to_csv("people.csv", index=False)
    LOG.to_csv("log.csv", index=False)
    return Path(tmp_path)


def test_toml_and_the_command_line_take_it(folder, capsys):
    assert main(["mine", "--json", "toml.json"]) == 1
    declared = Result.from_json("toml.json")
    assert str(declared.worst.about) == "job nurse, income < 50"
    Path("evenhand.toml").write_text(CONFIG.split("[[checks]]")[0])
    options = ["--truth", "paid", "--score", "error", "--limit", "0.1"]
    assert main(["mine", "--over", "all", *options, "--json", "out.json"]) == 1
    assert Result.from_json("out.json").worst.about == declared.worst.about
    command = ["mine-log", "log.csv", "--outcome", "decided", "--over", "all", *options]
    assert main([*command, "--json", "log.json"]) == 1
    assert Result.from_json("log.json").worst.about == declared.worst.about
    assert "decided wrongly" in capsys.readouterr().out


def test_an_audit_and_its_plan_take_it(folder, capsys):
    assert main(["plan"]) == 0
    plan = capsys.readouterr().out
    assert "all rows" in plan
    assert "2,000" in plan
    found = eh.audit("evenhand.toml", progress=False)
    (check,) = found.checks
    assert check.name == "mine all"
    assert check.verdict == "fail"
    checks = [{"job": "mine_log", "over": "all", "score": "error", "limit": 0.1}]
    recorded = eh.audit_log(
        LOG,
        outcome="decided",
        over=["sex"],
        truth="paid",
        bins={"income": [50]},
        checks=checks,
        progress=False,
    )
    mined: Any = recorded.checks[0].found
    entry = mined.details["mine"][0]
    assert entry["over"] == ["sex", "job", "income"]
    axes = {tuple(table["axes"]): table for table in entry["maps"]}
    # The cut points of the log are those of its checks.
    assert axes["sex", "income"]["labels"][1] == ["0 to 49", "50 to 99"]


def test_of_many_features_those_of_the_worst_have_a_heat_map():
    rng = np.random.default_rng(3)
    names = [f"f{number}" for number in range(8)]
    log = pd.DataFrame(rng.integers(0, 2, (4000, 8)).astype(str), columns=names)
    is_refused = (log["f6"] == "1") & (log["f7"] == "1")
    log["granted"] = (rng.random(4000) < np.where(is_refused, 0.2, 0.7)).astype(int)
    result = eh.mine_log(log, outcome="granted", over=names)
    worst: Any = result.worst.about
    assert [condition.feature for condition in worst.conditions] == ["f6", "f7"]
    maps = result.details["mine"][0]["maps"]
    assert len(maps) == MOST_MAPS < 28
    assert maps[0]["axes"] == ["f6", "f7"]
    assert HeatDisplay.from_result(result).heats[0].axes == ("f6", "f7")
