"""The file that `evenhand init` writes: the whole text, and values that TOML has to quote."""

from __future__ import annotations

import subprocess
import sys
import tomllib
from typing import Any

import pandas as pd
import pytest

from evenhand.config.template import toml, write_config

FILE = """\
# evenhand: fairness tests. See `evenhand --help`.

# What to test. Paths are relative to this file.
[subject]
http = "http://127.0.0.1:8000/decide"
positive = "yes"  # the favourable outcome; this is a guess, of no, yes
# ledger = "evenhand.ledger"                 # keeps every executed test; a killed run goes on \
where it was

[space]
from = "people.csv"  # features are inferred from it; any table below overrides
target = "granted"  # not an input
protected = ["sex"]
# constraints = ["age >= 18"]  # combinations that cannot occur are never tested

[space.features.sex]
kind = "category"
levels = ["F", "M"]

[space.features."my age"]
kind = "integer"
low = 20
high = 49

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
    write_config(people, file=file, protected=["sex"], **settings)
    return str(file.read_text(encoding="utf-8"))


def test_the_whole_file(people):
    text = written(people, target="granted", model="http://127.0.0.1:8000/decide")
    assert text == FILE


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
    table = tomllib.loads(written(people, target="granted"))
    assert value in table["space"]["features"]["sex"]["levels"]


@pytest.mark.parametrize("value", ["a", 'a"b', 3, 0.5, True, ["x", 1], "\x7f\n"])
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
