"""The file that `evenhand init` writes: the whole text, and values that TOML has to quote."""

from __future__ import annotations

import subprocess
import sys
import tomllib
from typing import Any

import pandas as pd
import pytest

from evenhand.config.init.questions import Dialogue
from evenhand.config.init.start import Request, start
from evenhand.config.init.template import toml

FILE = """\
# evenhand: fairness tests. See `evenhand --help`.

# What to test. Paths are relative to this file.
[subject]
estimator = "model.pkl"
# allow_pickle = true  # loading it runs any code that its author put into it: only if you trust \
the file
# positive = "yes"  # the favourable outcome; this is a guess, of 'no', 'yes'
# ledger = "evenhand.ledger"  # keeps every executed test; a killed run goes on where it was

[space]
from = "people.csv"  # features are inferred from it; a line of [space.features] overrides
target = "granted"  # not an input
drop = [  # no inputs
    "person id",  # numbers of rows
]
protected = ["sex"]
# constraints = ["age >= 18"]  # combinations that cannot occur are never tested

[space.features]  # those behind # are as the data have them
# sex = { kind = "category", levels = ["F", "M"] }
# "my age" = { kind = "integer", low = 20, high = 49 }

# [repair]          # evenhand repair trains the estimator again on these rows, so that it \
discriminates less
# over = ["sex"]
# output = "repaired.skops"

# The checks of `evenhand audit`, each of which its own verb runs too. Limits are engineering \
thresholds: choose yours.

[[checks]]
job = "measure"     # how much, and how sure
over = ["sex"]
limit = 0.05

[[checks]]
job = "search"      # concrete people; with limit = 0, any that is found fails
over = ["sex"]

[[checks]]
job = "impact"      # selection rates and impact ratios of the people in the data
# least_ratio = 0.8 # fails where a group's rate is clearly under four fifths of the highest

[[checks]]
job = "mine"        # readable subgroups that are treated differently from everyone else
limit = 0.1

# [[checks]]
# job = "compare"   # is another model better than blindly giving up accuracy?
# truth = "granted"
# models = { repaired = "repaired.skops" }
"""


@pytest.fixture
def people(tmp_path):
    frame = pd.DataFrame(
        {
            "person id": range(1, 61),
            "sex": ["F", "M"] * 30,
            "my age": [20 + row % 30 for row in range(60)],
            "granted": ["no", "yes", "yes"] * 20,
        }
    )
    path = tmp_path / "people.csv"
    frame.to_csv(path, index=False)
    return path


def written(people: Any, **settings: Any) -> str:
    """Return the text of the file for these settings."""
    file = people.parent / "evenhand.toml"
    start(Request(people, file, protected=("sex",), **settings), Dialogue())
    return str(file.read_text(encoding="utf-8"))


def test_the_whole_file(people):
    model = people.parent / "model.pkl"
    model.touch()
    assert written(people, target="granted", model=str(model)) == FILE


def test_without_a_target_there_is_nothing_to_repair_or_compare(people):
    text = written(people, target=None)
    assert "[repair]" not in text
    assert "compare" not in text
    assert text.endswith("limit = 0.1\n")
    assert "# function  = " in text  # every kind of software, to choose from
    table = tomllib.loads(text)
    assert table["subject"] == {"positive": 1}


@pytest.mark.parametrize(
    "value", ['a "quoted" word', "{{ space }}", "# no comment", "\x7f", "é"]
)
def test_labels_are_quoted_and_never_read_as_a_template(people, value):
    frame = pd.read_csv(people)
    frame["sex"] = frame["sex"].replace("F", value)
    frame.to_csv(people, index=False)
    text = written(people, target="granted")
    shown = next(line for line in text.splitlines() if line.startswith("# sex = "))
    feature = tomllib.loads(shown.removeprefix("# "))["sex"]
    assert value in feature["levels"]


@pytest.mark.parametrize(
    "value", ["a", 'a"b', 3, 0.5, True, ["x", 1], {"a": {"b c": [1]}}, "\x7f\n"]
)
def test_values_are_read_back_as_they_were(value):
    assert tomllib.loads(f"value = {toml(value)}")["value"] == value


def test_help_and_imports_need_neither_templates_nor_schemas():
    code = (
        "import sys, evenhand, evenhand.results.result; from evenhand.cli.main import main;"
        " main(['--help']); print(*{'jinja2', 'msgspec'} & set(sys.modules))"
    )
    done = subprocess.run(
        [sys.executable, "-c", code], capture_output=True, text=True, check=True
    )
    assert done.stdout.splitlines()[-1] == ""
