"""Texts in CSV: no spreadsheet runs them as formulas, and reading a file gives them back."""

from __future__ import annotations

import csv
import gzip
import io
import sys
from pathlib import Path
from tempfile import TemporaryDirectory

import numpy as np
import pandas as pd
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import evenhand as eh
from evenhand.cli.main import main
from evenhand.methods.search.hits_table import save
from evenhand.runtime.table_file import defused, read_frame, restored
from evenhand.scores import test_suite as suites
from evenhand.scores.test_suite import read_suite, write_suite
from tests.support.helpers import examples

STARTS = ("=", "+", "-", "@", "\t", "\r", "\n", "＝", "＋", "－", "＠")
FORMULA = '=HYPERLINK("http://example.com","x")'
TEXTS = st.one_of(
    st.text(min_size=1, max_size=6),
    st.text(alphabet="'=+-@＝\"\t\r1.e", min_size=1, max_size=5),
)


def cells(file: Path) -> list[list[str]]:
    opened = gzip.open if file.name.endswith(".gz") else open
    with opened(file, "rt", encoding="utf-8", newline="") as text:
        return list(csv.reader(io.StringIO(text.read())))


def assert_no_formula(file: Path) -> None:
    for row in cells(file):
        for cell in row:
            assert not cell.startswith(STARTS) or is_number(cell), cell


def is_number(cell: str) -> bool:
    try:
        float(cell)
    except ValueError:
        return False
    return True


@settings(max_examples=examples(300))
@given(TEXTS)
def test_a_text_comes_back(text):
    written = defused(text)
    assert not written.startswith(STARTS) or is_number(written)
    if not text.startswith("'"):
        assert restored(written) == text


@pytest.mark.parametrize("number", ["-1", "+2", "-.5", "-1e-9", "-12.25"])
def test_a_number_stays(number):
    assert defused(number) == number


def suite_of(
    name: str, levels: list[str], outcomes: list[str]
) -> tuple[eh.Space, suites.Tests]:
    space = eh.Space([eh.category(name, levels)], protected=[name])
    count = len(levels)
    points = np.arange(count, dtype=np.float64)[:, None]
    answers = np.array(
        [outcomes[place % len(outcomes)] for place in range(count)], dtype=object
    )
    own = np.arange(count) == 0
    return space, suites.Tests(
        "causal", (name,), points, answers, np.zeros(count, dtype=int), own
    )


@settings(max_examples=examples(100), deadline=None)
@given(
    name=TEXTS.filter(lambda name: name.strip() == name),
    levels=st.lists(TEXTS, min_size=2, max_size=5, unique=True),
    outcomes=st.lists(TEXTS.map(str.strip).filter(bool), min_size=1, max_size=3),
    raw=st.booleans(),
    suffix=st.sampled_from([".csv", ".csv.gz"]),
)
def test_a_suite_comes_back(name, levels, outcomes, raw, suffix):
    try:
        space, tests = suite_of(name, levels, outcomes)
    except eh.UsageError:
        return  # a name or level that no space takes
    with TemporaryDirectory() as folder:
        file = Path(folder, f"tests{suffix}")
        write_suite(file, space, [tests], raw=raw)
        if not raw:
            assert_no_formula(file)
        (read,) = read_suite(file, space)
    assert read.over == (name,)
    assert read.points.tolist() == tests.points.tolist()
    assert read.outcomes.tolist() == tests.outcomes.tolist()


def test_found_inputs_are_rows_to_start_from(tmp_path):
    levels = [FORMULA, f"'{FORMULA}", "-1+2", "-1", "plain"]
    frame = pd.DataFrame(
        {
            "@job": pd.Categorical(levels),
            "income": [-5, 1, 2, 3, -4],
            "outcome": ["=yes", "no", "'=yes", "no", "no"],
            "twin.@job": pd.Categorical(levels[::-1]),
            "twin.outcome": ["no"] * 5,
        }
    )
    file = tmp_path / "found.csv"
    save(frame, file)
    assert_no_formula(file)
    held = cells(file)
    assert held[0][0] == "'@job"
    assert [row[1] for row in held[1:]] == ["-5", "1", "2", "3", "-4"]
    read = read_frame(file)
    assert read.columns.tolist() == frame.columns.tolist()
    assert read["@job"].tolist() == levels
    assert read["outcome"].tolist() == frame["outcome"].tolist()


def test_files_of_others_are_read_as_they_are(tmp_path):
    file = tmp_path / "rows.csv"
    file.write_text('job,income\n\'=x,1\n"""a""",2\n')
    assert read_frame(file)["job"].tolist() == ["'=x", '"a"']


CONFIG = """
[subject]
function = "rules:lend"
[space]
protected = ["sex"]
[space.features.sex]
levels = ["=1+1", "@M"]
[space.features.age]
low = -5
high = 5
[[checks]]
job = "measure"
[[checks]]
job = "search"
"""
RULES = """
def lend(frame):
    return (frame["sex"].astype(str) == "@M").map({True: "+yes", False: "-no"})
"""


@pytest.fixture
def folder(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    monkeypatch.setattr(sys, "path", list(sys.path))
    monkeypatch.delitem(sys.modules, "rules", raising=False)
    (tmp_path / "evenhand.toml").write_text(CONFIG)
    (tmp_path / "rules.py").write_text(RULES)
    return tmp_path


@pytest.mark.parametrize("name", ["tests.csv", "tests.csv.gz"])
def test_commands_write_no_formulas_and_read_their_files(folder, name):
    main(["measure", "--suite", name])
    assert_no_formula(folder / name)
    assert "'=1+1" in {row[0] for row in cells(folder / name)}
    assert main(["replay", name]) == 0
    main(["search", "--found", f"found-{name}"])
    assert_no_formula(folder / f"found-{name}")
    assert main(["search", "--start", f"found-{name}"]) == 0


def test_the_command_line_can_leave_texts_as_they_are(folder):
    main(["measure", "--suite", "raw.csv", "--raw-csv"])
    assert {row[0] for row in cells(folder / "raw.csv")[1:]} == {"=1+1", "@M"}
    assert main(["replay", "raw.csv"]) == 0
    main(["search", "--found", "found.csv", "--raw-csv"])
    assert {row[0] for row in cells(folder / "found.csv")[1:]} <= {"=1+1", "@M"}
