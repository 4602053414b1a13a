"""Checks of a configuration: they take what Python takes, and are refused in the same words."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import numpy as np
import pandas as pd
import pytest

import evenhand as eh
from evenhand.cli.main import main
from evenhand.config.checks import checks_of, jobs_of, plans_of_job, workers_of
from evenhand.config.file import Config
from evenhand.config.init.template import toml
from evenhand.methods.audit.checks import jobs, parsed, verb_for
from evenhand.runtime.errors import ConfigError, UsageError
from evenhand.runtime.options import FILE
from tests.support.helpers import refused

CONFIG = """
[subject]
function = "checks_rules:decide"
positive = 1
[space]
from = "people.csv"
target = "good"
protected = ["sex", "race"]
"""
MODULE = (
    "def decide(people):\n    return (people['income'] + 15 * (people['sex'] == 'M') >"
    " 25).astype(int)\n"
)
TEXTS = """[subject]
function = "checks_rules:decide"
[texts]
from = "people.csv"
column = "sex"
"""
IN_PYTHON_ALONE = {
    "keep_tests",
    "y_true",
    "protected",
    "frame",
    "outcome",
    "scored",
    "population",
}
"""Keywords of verbs that the run, the rows or the software itself answer, and no check."""


@pytest.fixture
def write(tmp_path, monkeypatch):
    """Write a configuration with its software and real rows."""
    monkeypatch.chdir(tmp_path)
    monkeypatch.syspath_prepend(tmp_path)
    (tmp_path / "checks_rules.py").write_text(MODULE)
    rng = np.random.default_rng(0)
    people = pd.DataFrame(
        {
            "sex": rng.choice(["F", "M"], 300),
            "race": rng.choice(["a", "b"], 300),
        }
    )
    people["income"] = rng.integers(0, 51, 300)
    people["good"] = (people["income"] > 25).astype(int)
    people["other"] = (people["income"] + rng.integers(-5, 6, 300) > 25).astype(int)
    people.to_csv(tmp_path / "people.csv", index=False)

    def call(checks: str, config: str = CONFIG) -> Any:
        (tmp_path / "evenhand.toml").write_text(config + checks)
        return tmp_path / "evenhand.toml"

    return call


@pytest.mark.parametrize("job", jobs())
def test_a_check_may_say_all_that_the_verb_of_its_job_takes(job):
    verb = verb_for(job, texts=False)
    given_by_the_run = {
        "subject",
        "space",
        "sampler",
        "known",
        "budget",
        "seed",
        "n_jobs",
        "progress",
    }
    keywords = set(verb.options.python) - given_by_the_run
    keys = set(verb.checks.toml)
    # The software has a favourable outcome, unless a check may set it.
    assert keywords - keys - IN_PYTHON_ALONE <= {"positive"}
    assert {"queries", "seconds"} <= keys or not verb.bounds


@pytest.mark.parametrize(
    ("check", "settings"),
    [
        ('job = "impact"\nintersections = false', {"intersections": False}),
        (
            'job = "impact"\nleast_ratio = 0.8\nsupport = 0.1',
            {"least_ratio": 0.8, "support": 0.1},
        ),
        (
            'job = "compare"\noverwrite = "label"\nlabel = 0',
            {"overwrite": "label", "label": 0},
        ),
        (
            'job = "compare"\ndegrees = [0.1, 0.5]\ntest_size = 0.3',
            {"degrees": [0.1, 0.5], "test_size": 0.3},
        ),
        (
            'job = "compare"\nline = "monte-carlo"\nrepetitions = 9',
            {"line": "monte-carlo", "repetitions": 9},
        ),
        ('job = "mine"\ntop = 3\ntreatment = "rows"', {"top": 3, "treatment": "rows"}),
        ('job = "mine"\nbins = { income = [10, 20] }', {"bins": {"income": [10, 20]}}),
    ],
)
def test_what_python_takes_a_file_takes(write, check, settings):
    (found,) = checks_of(Config.load(write(f"[[checks]]\n{check}\n")))
    assert found.settings == settings
    assert parsed(1, {"job": found.job, **settings}) == found


@pytest.mark.parametrize(
    ("check", "words"),
    [
        ({"job": "impact", "limit": 0.8}, "unknown key 'limit'"),
        ({"job": "impact", "scored": True}, "unknown key 'scored'"),
        ({"job": "compare", "strategy": "label"}, "unknown key 'strategy'"),
        ({"job": "mine", "stories": 3}, "unknown key 'stories'"),
        ({"job": "mine", "method": "rows"}, "unknown key 'method'; did you mean 'depth'?"),
        ({"job": "measure", "limt": 0.1}, "unknown key 'limt'; did you mean 'limit'?"),
        ({"job": "search", "found": "found.csv"}, "unknown key 'found'"),
    ],
)
def test_a_key_that_there_is_not_is_refused_in_the_same_words(write, check, words):
    lines = ["[[checks]]"]
    for key, value in check.items():
        lines.append(f"{key} = {toml(value)}")
    file = write("\n".join(lines) + "\n")
    written = refused(ConfigError, lambda: checks_of(Config.load(file)), str(file), words)
    given = refused(UsageError, lambda: parsed(1, check), words)
    assert written == f"{file}: {given}"


@pytest.mark.parametrize(
    ("check", "words"),
    [
        (
            'job = "impact"\nintersections = 1',
            "intersections = 1; it must be true or false",
        ),
        ('job = "impact"\nsupport = "few"', "support = 'few'; it must be a number"),
        ('job = "compare"\ndegrees = 0.5', "degrees = 0.5; it must be a list of numbers"),
        ('job = "compare"\nmodels = ["a"]', "a table of files by name"),
        (
            'job = "compare"\nrepetitions = 1.5',
            "repetitions = 1.5; it must be a whole number",
        ),
        ('job = "search"\nfindings = true', "findings = True; it must be a whole number"),
    ],
)
def test_a_value_of_another_kind_is_refused(write, check, words):
    file = write(f"[[checks]]\n{check}\n")
    refused(
        ConfigError, lambda: checks_of(Config.load(file)), "evenhand.toml", "check 1", words
    )


def test_files_that_checks_name_are_seen_from_the_folder_of_the_configuration(
    write, tmp_path, monkeypatch
):
    file = write(
        '[[checks]]\njob = "search"\nstart = "people.csv"\n[[checks]]\njob = "impact"\ndata ='
        ' "people.csv"\n'
    )
    (tmp_path / "below").mkdir()
    monkeypatch.chdir(tmp_path / "below")
    search, impact = checks_of(Config.load(file))
    people = str(tmp_path / "people.csv")
    assert search.settings["start"] == people
    assert impact.settings["data"] == people
    audit = eh.audit(file, budget=eh.Budget(queries=200))
    assert audit.checks[1].settings["data"] == "people.csv"


def test_options_that_name_files():
    names = {}
    for job in jobs():
        options = verb_for(job, texts=False).checks
        files = [option.name for option in options if option.kind is FILE]
        if files:
            names[job] = files
    assert names == {
        "search": ["start"],
        "mine": ["data"],
        "impact": ["data"],
        "compare": ["data"],
    }


def test_what_goes_with_tables_alone_is_refused_for_texts_and_the_other_way_round(write):
    texts = write('[[checks]]\njob = "mine"\nbins = 3\n', TEXTS)
    refused(
        ConfigError,
        lambda: checks_of(Config.load(texts)),
        "bins = 3",
        "[texts] declares texts",
    )
    tables = write('[[checks]]\njob = "mine"\nkind = "causal"\n')
    refused(
        ConfigError,
        lambda: checks_of(Config.load(tables)),
        "kind = 'causal'",
        "there is no [texts] table",
    )


def test_a_check_that_the_command_line_cannot_change_is_left_as_it_is(write):
    config = Config.load(
        write('[[checks]]\njob = "impact"\nleast_ratio = 0.9\nintersections = false\n')
    )
    (plan,) = plans_of_job(config, "impact", {"level": None})
    assert plan.settings == {"least_ratio": 0.9, "intersections": False}


COMPARE = (
    '[[checks]]\njob = "compare"\nover = ["sex"]\ntruth = "good"\noutcomes = ["other"]\nresamples ='
    " 100\n"
)


@pytest.mark.parametrize(
    ("arguments", "code"),
    [
        ([], 0),
        (["--positive", "1"], 0),
        (["--overwrite", "label", "--label", "0"], 0),
        (["--over", "race"], 2),  # there is no check of it, and so no truth
        (["--over", "race", "--truth", "good", "--outcomes", "other"], 0),
    ],
)
def test_checks_of_compare_are_run_by_its_command_as_by_an_audit(
    write, capsys, arguments, code
):
    write(COMPARE)
    assert main(["compare", *arguments, "--json", "compared.json"]) == code
    printed = capsys.readouterr()
    if code:
        assert "compare has no truth" in printed.err
        return
    assert "against blind overwriting of original" in printed.out
    found = eh.Comparison.from_json("compared.json")
    check: dict[str, Any] = {
        "job": "compare",
        "truth": "good",
        "outcomes": ["other"],
        "over": ["sex"],
    }
    if "race" in arguments:
        check["over"] = ["race"]
    else:
        check["resamples"] = 100
    if "--label" in arguments:
        check |= {"overwrite": "label", "label": 0}
    audited = eh.audit("evenhand.toml", checks=[check])["compare"].found
    assert audited is not None
    assert found.digest == audited.digest


def test_a_gate_of_compare_exits_by_the_verdict(write, capsys):
    write(COMPARE)
    expected = eh.audit("evenhand.toml")["compare"].exit_code
    assert main(["compare", "--gate"]) == expected
    assert main(["compare"]) == 0


def test_processes_are_counted_by_the_command_line_or_by_the_audit_table(tmp_path):
    file = tmp_path / "evenhand.toml"
    file.write_text("[audit]\nn_jobs = -1\n")
    config = Config.load(file)
    assert jobs_of(config, None) == -1
    assert jobs_of(config, 1) == 1
    assert jobs_of(replace(config, table={}), None) == 1
    for wrong in ("0", "1.5", '"two"', "true"):
        file.write_text(f"[audit]\nn_jobs = {wrong}\n")
        refused(ConfigError, lambda: jobs_of(Config.load(file), None), str(file), "n_jobs")


def test_a_cluster_of_the_audit_table_is_used_whole(tmp_path, monkeypatch):
    file = tmp_path / "evenhand.toml"
    file.write_text('[audit]\ncluster = "flink:host"\n')
    config = Config.load(file)
    assert jobs_of(config, None) == -1

    def entered() -> None:
        with workers_of(config, None):
            pass

    refused(ConfigError, entered, str(file), "[audit]", "'flink'", "'dask'")
    with workers_of(config, 1) as n_jobs:
        assert n_jobs == 1
    # What --cluster names comes first.
    monkeypatch.setattr("evenhand.config.checks.is_chosen", lambda: True)
    with workers_of(config, 3) as n_jobs:
        assert n_jobs == 3
    file.write_text("[audit]\ncluster = 3\n")
    refused(ConfigError, lambda: jobs_of(Config.load(file), None), str(file), "cluster")
