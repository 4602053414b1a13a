"""Spaces from TOML and from the settings of the original Themis, and every way in which such a file
can be wrong.
"""

from __future__ import annotations

import os
from pathlib import Path

import pytest

import evenhand as eh
from evenhand.runtime.errors import ConfigError
from evenhand.space.space_file import Themis, read_space, read_themis, read_toml
from tests.support.helpers import refused

CSV = "sex,age,rate,approved\nF,20,0.25,yes\nM,60,0.5,no\n"
TOML = """
[space]
from = "loans.csv"
target = "approved"
protected = ["sex"]
constraints = ["not (age < 21 and sex == 'X')"]
[space.features.age]
low = 18
high = 90
[space.features.sex]
levels = ["F", "M", "X"]
[space.features.zip]
levels = ["1", "2"]
passed = false
"""
DECLARED = """
[space]
protected = ["sex"]
[space.features.sex]
levels = ["F", "M"]
[space.features."capital-gain"]
kind = "real"
low = 0
high = 1
step = 0.5
"""


def write(folder: Path, text: str, name: str = "evenhand.toml") -> Path:
    (folder / "loans.csv").write_text(CSV)
    file = folder / name
    file.write_text(text, encoding="utf-8")
    return file


def test_columns_that_are_no_inputs_are_dropped(tmp_path):
    text = "[space]\nfrom = 'loans.csv'\ntarget = 'approved'\ndrop = ['rate']\n"
    assert eh.Space.from_toml(write(tmp_path, text)).names == ("sex", "age")
    wrong = text.replace("rate", "rat")
    refused(
        ConfigError,
        lambda: eh.Space.from_toml(write(tmp_path, wrong)),
        "'rat' is not in the frame",
        "did you mean 'rate'",
    )


def test_features_from_data_and_from_the_file(tmp_path):
    space = eh.Space.from_toml(write(tmp_path, TOML))
    assert space.names == ("sex", "age", "rate", "zip") and space.protected == ("sex",)
    assert (space.feature("age").low, space.feature("age").high) == (18, 90)
    assert space.feature("sex").levels == ("F", "M", "X")
    assert space.feature("rate") == eh.real("rate", 0.25, 0.5, step=0.01)
    assert [space.names[i] for i in space.passed] == ["sex", "age", "rate"]
    assert space.size == (3 * 73 - 3) * 26 * 2


def test_features_from_the_file_alone(tmp_path):
    space = eh.Space.from_toml(str(write(tmp_path, DECLARED)))
    assert space == eh.Space(
        [eh.category("sex", ["F", "M"]), eh.real("capital-gain", 0, 1, step=0.5)], ["sex"]
    )


def test_pyproject_and_a_byte_order_mark(tmp_path):
    project = write(
        tmp_path, DECLARED.replace("[space", "[tool.evenhand.space"), "pyproject.toml"
    )
    marked = write(tmp_path, "\ufeff" + DECLARED)
    assert read_space(project) == read_space(marked)
    assert read_toml(write(tmp_path, "[project]\nname = 'x'\n", "pyproject.toml")) == {}


def test_paths_are_relative_to_the_file(tmp_path, monkeypatch):
    folder = tmp_path / "config"
    folder.mkdir()
    file = write(folder, TOML)
    monkeypatch.chdir(tmp_path)
    assert (
        eh.Space.from_toml(file).size
        == eh.Space.from_toml(Path("config") / "evenhand.toml").size
    )


@pytest.mark.parametrize(
    ("text", "words"),
    [
        ("[space\n", ["not valid TOML", "line 1"]),
        ("", ["no [space] table"]),
        ("[spce]\n", ["no [space] table", "'spce'"]),
        ("space = 3\n", ["space = 3", "must be a table"]),
        ("[[space]]\n", ["must be a table"]),
        ("[space]\n", ["[space] needs from"]),
        ("[space]\nprotectd = []\n", ["'protectd'", "did you mean 'protected'?"]),
        ("[space]\nfrom = 3\n", ["from = 3", "must be a text"]),
        (
            "[space]\nfrom = 'loans.csv'\ntarget = ['y']\n",
            ["target = ['y']", "must be a text"],
        ),
        ("[space]\nfeatures = 3\n", ["features = 3", "must be a table"]),
        ("[space]\nprotected = 'sex'\n", ["protected = 'sex'", "list of texts"]),
        ("[space]\nprotected = [1]\n", ["protected = [1]", "list of texts"]),
        ("[space]\nconstraints = {}\n", ["constraints = {}", "list of texts"]),
        ("[space.features]\nage = 3\n", ["age = 3", "must be a table"]),
        (
            "[space.features.age]\nkind = 'integr'\n",
            ["'age'", "'integr'", "did you mean 'integer'?"],
        ),
        ("[space.features.age]\nlow = 3\n", ["'age'", "needs high"]),
        (
            "[space.features.age]\nlow = 3\nhihg = 4\n",
            ["'age'", "'hihg'", "did you mean 'high'?"],
        ),
        (
            "[space.features.age]\nlow = '3'\nhigh = 4\n",
            ["'age'", "low = '3'", "not a number"],
        ),
        ("[space.features.age]\nlow = 9\nhigh = 4\n", ["'age'", "low = 9", "high = 4"]),
        ("[space.features.age]\nlow = nan\nhigh = 4\n", ["'age'", "low = nan"]),
        ("[space.features.sex]\nlevels = []\n", ["'sex'", "empty"]),
        ("[space.features.sex]\nlevels = 'FM'\n", ["'sex'", "list"]),
        ("[space.features.sex]\nlevels = [1979-05-27]\n", ["'sex'", "date"]),
        (
            "[space.features.sex]\nlevels = ['F']\npassed = 'no'\n",
            ["'sex'", "passed = 'no'"],
        ),
        (
            DECLARED.replace('protected = ["sex"]', 'protected = ["sexx"]'),
            ["'sexx'", "did you mean 'sex'?"],
        ),
        (
            DECLARED.replace('protected = ["sex"]', 'constraints = ["agee > 3"]'),
            ["'agee'", "constraint"],
        ),
        (TOML.replace("loans.csv", "loan.csv"), ["loan.csv", "did you mean 'loans.csv'?"]),
        (TOML.replace("loans.csv", "loans.xls"), ["loans.xls"]),
        (
            TOML.replace('target = "approved"', 'target = "aproved"'),
            ["'aproved'", "did you mean 'approved'?"],
        ),
        (
            TOML.replace(
                "[space.features.age]",
                "[space.features.agee]\npassed = true\n[space.features.age]",
            ),
            ["'agee'", "not a column of the data", "did you mean 'age'?"],
        ),
        (TOML.replace("low = 18", "low = 100"), ["'age'", "low = 100"]),
        (
            TOML.replace('protected = ["sex"]', 'protected = ["approved"]'),
            ["'approved'", "not in the space"],
        ),
    ],
)
def test_every_wrong_file_is_named_in_one_sentence(tmp_path, text, words):
    file = write(tmp_path, text)
    refused(ConfigError, lambda: eh.Space.from_toml(file), str(file), *words)


@pytest.mark.parametrize(
    "text", ["[project]\n", "tool = 3\n", "[tool]\nevenhand = 3\n", "[tool.evenhand]\n"]
)
def test_a_pyproject_without_our_table(tmp_path, text):
    file = write(tmp_path, text, "pyproject.toml")
    refused(ConfigError, lambda: read_space(file), str(file), "tool.evenhand")


def test_missing_values_in_the_data_are_values(tmp_path):
    file = write(tmp_path, TOML)
    (tmp_path / "loans.csv").write_text("sex,age,rate,approved\nF,20,0.25,yes\nM,,0.5,no\n")
    assert eh.Space.from_toml(file).feature("age").missing == 0.5
    (tmp_path / "loans.csv").write_text("sex,age,rate,approved\nF,20,,yes\nM,20,,no\n")
    refused(
        ConfigError, lambda: eh.Space.from_toml(file), str(file), "'rate'", "all 2 rows"
    )


def test_files_that_cannot_be_read(tmp_path):
    write(tmp_path, DECLARED)
    missing = tmp_path / "evenhnd.toml"
    refused(
        ConfigError,
        lambda: read_toml(missing),
        str(missing),
        "no such file",
        "did you mean 'evenhand.toml'?",
    )
    alone = tmp_path / "empty" / "evenhand.toml"
    refused(ConfigError, lambda: read_toml(alone), str(alone), "evenhand init")
    refused(ConfigError, lambda: read_toml(tmp_path), str(tmp_path), "cannot be read")
    binary = tmp_path / "binary.toml"
    binary.write_bytes(b"\xff\xfe\x00")
    refused(ConfigError, lambda: read_toml(binary), str(binary), "UTF-8")
    refused(
        ConfigError,
        lambda: read_space(tmp_path / "settings.xml"),
        "settings.xml",
        "no such file",
    )
    (tmp_path / "binary.xml").write_bytes(b"\xff\xfe\x00")
    refused(ConfigError, lambda: read_space(tmp_path / "binary.xml"), "binary.xml", "UTF-8")


@pytest.mark.skipif(
    not hasattr(os, "geteuid") or os.geteuid() == 0, reason="root reads everything"
)
def test_a_file_without_permission(tmp_path):
    file = write(tmp_path, DECLARED)
    file.chmod(0)
    refused(ConfigError, lambda: read_toml(file), str(file), "cannot be read", "Permission")


THEMIS = """<?xml version="1.0" encoding="UTF-8"?>
<settings>
  <name>Loan software</name>
  <command>python "my software.py"</command>
  <seed>42</seed>
  <inputs>
    <input><name>Sex</name><type>categorical</type>
      <values><value>Male</value><value>Female</value></values></input>
    <input><name>Age</name><type>continuousInt</type>
      <bounds><lowerbound>2</lowerbound><upperbound>6</upperbound></bounds></input>
    <input><name>Race</name><type>categorical</type><values><value>1</value><value>2</value></values></input>
  </inputs>
  <tests>
    <test><function>group_discrimination</function><i_fields><input_name>Sex</input_name></i_fields>
      <conf>.998</conf><margin>.0002</margin></test>
    <test><function>causal_discrimination</function>
      <i_fields><input_name>Sex</input_name><input_name>Race</input_name></i_fields>
      <conf>.9</conf><margin>.1</margin></test>
    <test><function>discrimination_search</function><threshold>.2</threshold><conf>.99</conf><margin>.01</margin>
      <group/><causal/></test>
  </tests>
</settings>
"""


def test_the_settings_of_themis(tmp_path):
    file = write(tmp_path, THEMIS, "settings.xml")
    found = read_themis(file)
    assert isinstance(found, Themis)
    assert found.command == ("python", "my software.py", "{*}") and found.seed == 42
    assert found.space == eh.Space.from_toml(file)
    assert found.space.features == (
        eh.category("Sex", ["Male", "Female"]),
        eh.integer("Age", 2, 6),
        eh.category("Race", ["1", "2"]),
    )
    assert found.space.protected == ("Sex", "Race") and found.space.size == 20
    assert found.tests == (
        {
            "job": "measure",
            "kinds": ["group"],
            "over": ["Sex"],
            "limit": None,
            "level": 0.998,
            "margin": 0.0002,
        },
        {
            "job": "measure",
            "kinds": ["causal"],
            "over": ["Sex", "Race"],
            "limit": None,
            "level": 0.9,
            "margin": 0.1,
        },
        {
            "job": "subsets",
            "kinds": ["group", "causal"],
            "over": [],
            "limit": 0.2,
            "level": 0.99,
            "margin": 0.01,
        },
    )
    with pytest.raises(AttributeError):
        found.seed = 3  # type: ignore[misc]


def test_a_themis_file_may_leave_out_command_seed_and_tests(tmp_path):
    short = THEMIS[: THEMIS.index("<tests>")] + "</settings>"
    short = short.replace("<seed>42</seed>", "").replace(
        '<command>python "my software.py"</command>', "<command/>"
    )
    found = read_themis(write(tmp_path, short, "settings.xml"))
    assert (found.command, found.seed, found.tests, found.space.protected) == (
        (),
        0,
        (),
        (),
    )


@pytest.mark.parametrize(
    ("old", "new", "words"),
    [
        ("</settings>", "", ["not valid XML"]),
        ("<settings>", "<!DOCTYPE a [<!ENTITY b 'c'>]><settings>", ["document type"]),
        ("inputs>", "entries>", ["no <inputs><input>"]),
        ("<name>Sex</name>", "", ["<input> has no <name>"]),
        ("<name>Sex</name>", "<name> </name>", ["<input> has no <name>"]),
        ("<name>Race</name>", "<name>Sex</name>", ["'Sex'", "twice"]),
        (
            "<type>categorical</type>\n",
            "<type>categoric</type>",
            ["'Sex'", "'categoric'", "did you mean 'categorical'?"],
        ),
        ("<value>Male</value><value>Female</value>", "", ["'Sex'", "levels is empty"]),
        ("<value>Male</value>", "<value>Female</value>", ["'Sex'", "'Female'", "twice"]),
        (
            "<lowerbound>2</lowerbound>",
            "<lowerbound>7</lowerbound>",
            ["'Age'", "low = 7", "high = 6"],
        ),
        (
            "<lowerbound>2</lowerbound>",
            "<lowerbound>2.5</lowerbound>",
            ["bounds/lowerbound", "'2.5'", "whole"],
        ),
        (
            "<lowerbound>2</lowerbound>",
            "<lowerbound>two</lowerbound>",
            ["bounds/lowerbound", "'two'", "not a number"],
        ),
        ("<lowerbound>2</lowerbound>", "", ["<input> has no <bounds/lowerbound>"]),
        ("<seed>42</seed>", "<seed>4x</seed>", ["<seed>", "'4x'"]),
        ("<seed>42</seed>", "<seed>inf</seed>", ["<seed>", "'inf'"]),
        ('python "my software.py"', 'python "my', ["<command>", "quotation"]),
        (
            "group_discrimination",
            "group_discriminaton",
            ["'group_discriminaton'", "did you mean 'group_discrimination'?"],
        ),
        (
            "<input_name>Sex</input_name></i_fields>",
            "<input_name>Sexx</input_name></i_fields>",
            ["'Sexx'", "'Sex'"],
        ),
        ("<conf>.998</conf>", "<conf>high</conf>", ["<conf>", "'high'"]),
        ("<margin>.0002</margin>", "", ["<test> has no <margin>"]),
        ("<threshold>.2</threshold>", "", ["<test> has no <threshold>"]),
    ],
)
def test_every_wrong_themis_file_is_named_in_one_sentence(tmp_path, old, new, words):
    assert old in THEMIS
    file = write(tmp_path, THEMIS.replace(old, new), "settings.xml")
    refused(ConfigError, lambda: read_themis(file), str(file), *words)
