"""The verbs of the command line: checks and their settings, and real programs."""

from __future__ import annotations

import json
import shutil
import subprocess
import sys
import textwrap
from functools import partial
from typing import Any

import pandas as pd
import pytest

import evenhand as eh
from evenhand.cli.main import main
from evenhand.config.checks import checks_of, plans_of_job
from evenhand.config.file import Config
from evenhand.results.evidence import Finding
from evenhand.results.result import Result
from evenhand.runtime.budget import Spent
from evenhand.runtime.errors import ConfigError
from evenhand.statistics.estimate import Estimate, StopReason
from tests.support.helpers import refused

SPACE = """
[space]
protected = ["sex"]
[space.features.sex]
levels = ["F", "M"]
[space.features.race]
levels = ["a", "b", "c"]
[space.features.age]
low = 18
high = 90
"""
COMMAND = (
    '[subject]\ncommand = ["./decide", "{sex}", "{race}", "{age}"]\npositive = "yes"\n'
)
FUNCTION = '[subject]\nfunction = "verb_rules:decide"\n'
BIASED = 'if [ "$1" = M ] && [ "$3" -gt 60 ]; then echo yes; else echo no; fi'
FAIR = 'if [ "$3" -gt 60 ]; then echo yes; else echo no; fi'


@pytest.fixture
def project(tmp_path):
    """Write evenhand.toml, a program in shell, and a module beside it."""

    def write(
        subject: str = COMMAND, checks: str = "", space: str = SPACE, body: str = BIASED
    ) -> Any:
        (tmp_path / "evenhand.toml").write_text(subject + space + textwrap.dedent(checks))
        (tmp_path / "verb_rules.py").write_text(
            "def decide(people):\n    return (people['sex'] == 'M').astype(int)\n"
        )
        program(tmp_path, body)
        return tmp_path

    return write


def program(folder, body: str) -> None:
    # Replaced, not written over: a program that still runs cannot be.
    (folder / "decide").unlink(missing_ok=True)
    (folder / "decide").write_text("#!/bin/sh\n" + body)
    (folder / "decide").chmod(0o755)


@pytest.fixture
def run(tmp_path, monkeypatch, capsys):
    """Run the command line in this process, which saves the start of a new one."""
    monkeypatch.chdir(tmp_path)

    def call(*arguments: str, expect: int) -> str:
        code = main(arguments)
        out, err = (str(text) for text in capsys.readouterr())
        assert code == expect, out + err
        if expect == 2:
            assert err.startswith("evenhand: ")
            assert err.count("\n") == 1
        return err if expect == 2 else out

    return call


@pytest.fixture
def fake(monkeypatch, project):
    """Run the command line in this process with a verb that only notes how it was called."""
    monkeypatch.chdir(project(FUNCTION))
    monkeypatch.setattr(sys, "path", list(sys.path))

    class Tests:
        """The tests of a run, which only note where they were written."""

        def __init__(self, call: dict[str, Any]) -> None:
            self.call = call

        def write(self, path: str, *, raw: bool = False) -> None:
            self.call["suite"] = path

    def call(
        *arguments: str, estimates: tuple[float, ...] = (0.0,)
    ) -> tuple[int, list[dict[str, Any]]]:
        calls: list[dict[str, Any]] = []

        def verb(subject: eh.Subject, space: None = None, **settings: Any) -> Result:
            value = estimates[len(calls) % len(estimates)]
            calls.append(settings)
            is_open = value == 0.5
            low = 0.0 if is_open else value
            high = 1.0 if is_open else value
            estimate = Estimate(value, low, high, 9, 0.95, "exact")
            return Result(
                job="measure",
                findings=[Finding("found", ("sex",), estimate, 0.1)],
                seed=0,
                spent=Spent(1, 1, 0.0),
                stop=StopReason.DECIDED,
                space=subject.space.to_dict(),
                tests=Tests(settings),
            )

        name = arguments[0]
        monkeypatch.setattr(f"evenhand.methods.{name}.{name}.{name}", verb)
        code = main(arguments)
        return code, calls

    return call


def test_measure_passes_its_options_on(fake):
    command = (
        "measure --over sex --over race,age --kind group --limit .1 --margin .02 --level .9"
        " --interval wald"
    )
    command += " --queries 100 --seconds 9 --seed 7 --n-jobs 2 --no-exact --suite s.csv"
    code, (call,) = fake(*command.split())
    assert code == 0
    assert call.pop("budget") == eh.Budget(queries=100, seconds=9.0)
    assert call == {
        "over": [("sex",), ("race", "age")],
        "kind": "group",
        "limit": 0.1,
        "margin": 0.02,
        "level": 0.9,
        "interval": "wald",
        "exact": False,
        "keep_tests": True,
        "suite": "s.csv",
        "sampler": None,
        "seed": 7,
        "n_jobs": 2,
        "progress": None,
    }


def test_what_is_not_given_is_left_to_the_function(fake):
    _, (call,) = fake("measure")
    assert set(call) == {"sampler", "budget", "seed", "n_jobs", "progress"}
    _, (call,) = fake("measure", "--over", "sex,race", "--exact")
    assert (call["over"], call["exact"]) == ([("sex", "race")], True)


def test_subsets_passes_its_options_on(fake):
    pytest.importorskip("evenhand.methods.subsets.subsets")
    command = (
        "subsets --among sex,race --depth 2 --variants 50 --limit .2 --kind causal --seed 3"
    )
    _, (call,) = fake(*command.split())
    assert call.pop("budget") == eh.Budget()
    assert call == {
        "among": ["sex", "race"],
        "depth": 2,
        "variants": 50,
        "limit": 0.2,
        "kind": "causal",
        "sampler": None,
        "seed": 3,
        "n_jobs": 1,
        "progress": None,
    }


CHECKS = """
[[checks]]
job = "measure"
over = ["sex"]
limit = 0.1
[[checks]]
job = "measure"
over = "race"
limit = 0.1
[[checks]]
job = "measure"
over = ["sex"]
kind = "group"
limit = 0.2
queries = 50
[[checks]]
job = "subsets"
among = ["sex", "race"]
limit = 0.5
depth = 2
"""


def settings_of(config: Config, job: str, given: dict[str, Any]) -> list[Any]:
    return [plan.settings for plan in plans_of_job(config, job, given)]


@pytest.mark.parametrize(
    ("given", "runs"),
    [
        (
            {},
            [
                {"limit": 0.1, "over": [("sex",), ("race",)]},
                {"limit": 0.2, "kind": "group", "queries": 50, "over": [("sex",)]},
            ],
        ),
        (
            {"kind": "group"},
            [{"limit": 0.2, "kind": "group", "queries": 50, "over": [("sex",)]}],
        ),
        (
            {"kind": "causal"},
            [{"limit": 0.1, "kind": "causal", "over": [("sex",), ("race",)]}],
        ),
        ({"over": [("race",)]}, [{"limit": 0.1, "over": [("race",)]}]),
        ({"over": [("age",)]}, [{"over": [("age",)]}]),
        (
            {"over": [("age",), ("race",)]},
            [{"over": [("age",)]}, {"limit": 0.1, "over": [("race",)]}],
        ),
        (
            {"over": [("sex",)], "kind": "group", "limit": 0.3, "queries": 9},
            [{"limit": 0.3, "kind": "group", "queries": 9, "over": [("sex",)]}],
        ),
        (
            {"limit": 0.0},
            [
                {"limit": 0.0, "over": [("sex",), ("race",)]},
                {"limit": 0.0, "kind": "group", "queries": 50, "over": [("sex",)]},
            ],
        ),
    ],
)
def test_checks_with_equal_settings_are_one_run(project, given, runs):
    config = Config.load(project(checks=CHECKS) / "evenhand.toml")
    assert settings_of(config, "measure", given) == runs
    assert {plan.job for plan in plans_of_job(config, "measure", given)} == {"measure"}


def test_jobs_have_their_own_checks_and_none_is_one_run_with_defaults(project):
    folder = project(checks=CHECKS)
    config = Config.load(folder / "evenhand.toml")
    runs = settings_of(config, "subsets", {})
    assert runs == [{"among": ["sex", "race"], "limit": 0.5, "depth": 2}]
    without_checks = Config.load(project() / "evenhand.toml")
    assert settings_of(without_checks, "measure", {"limit": None}) == [{}]
    whole = (
        '[[checks]]\njob = "measure"\nlimit = 0.1\n[[checks]]\njob = "measure"\nover ='
        ' ["sex"]\nlimit = 0.1\n'
    )
    config = Config.load(project(checks=whole) / "evenhand.toml")
    runs = settings_of(config, "measure", {})
    assert runs == [{"limit": 0.1}, {"limit": 0.1, "over": [("sex",)]}]


@pytest.mark.parametrize(
    ("check", "words"),
    [
        ('job = "mesure"', "did you mean 'measure'"),
        ("limit = 0.1", "job = None"),
        ('job = "measure"\nlimt = 0.1', "did you mean 'limit'"),
        ('job = "measure"\namong = ["sex"]', "unknown key 'among'"),
        ('job = "subsets"\nover = ["sex"]', "unknown key 'over'"),
        ('job = "measure"\nlimit = "lots"', "limit = 'lots'; it must be a number"),
        ('job = "measure"\nlimit = true', "limit = True"),
        ('job = "measure"\nover = [1]', "over = [1]; it must be a list of texts"),
        ('job = "measure"\nkind = 3', "kind = 3; it must be a text"),
        ('job = "measure"\nexact = 1', "exact = 1; it must be true or false"),
        ('job = "subsets"\ndepth = 1.5', "depth = 1.5; it must be a whole number"),
    ],
)
def test_a_wrong_check_is_refused_whichever_job_runs(project, check, words):
    config = Config.load(project(checks=f"[[checks]]\n{check}\n") / "evenhand.toml")
    refused(ConfigError, lambda: checks_of(config), "evenhand.toml", "check 1", words)
    for job in ("measure", "subsets"):
        refused(
            ConfigError,
            partial(plans_of_job, config, job, {}),
            "evenhand.toml",
            "check 1",
            words,
        )


def test_checks_that_are_no_tables(project):
    folder = project()
    (folder / "evenhand.toml").write_text("checks = [1]\n")
    refused(
        ConfigError,
        lambda: checks_of(Config.load(folder / "evenhand.toml")),
        "check 1 is 1",
    )


@pytest.mark.parametrize(
    ("estimates", "code"),
    [((0.0, 0.0), 0), ((0.0, 0.5), 3), ((0.5, 0.2), 1), ((0.2, 0.0), 1)],
)
def test_the_exit_code_is_the_worst_of_all_runs_and_each_has_its_file(
    fake, tmp_path, project, estimates, code
):
    project(FUNCTION, checks=CHECKS)
    found, calls = fake(
        "measure", "--json", "out.json", "--suite", "s.csv.gz", estimates=estimates
    )
    assert found == code
    assert [call["suite"] for call in calls] == ["s.csv.gz", "s-2.csv.gz"]
    for name, value in zip(("out.json", "out-2.json"), estimates, strict=True):
        assert Result.from_json(tmp_path / name).worst.estimate.value == value


def test_a_population_of_the_config_is_sampled(fake, project, tmp_path):
    (tmp_path / "people.csv").write_text("sex,race,age\nF,a,30\nM,b,40\n")
    project(FUNCTION, space='[population]\nrows = "people.csv"\n' + SPACE)
    _, (call,) = fake("measure")
    space = eh.Space.from_toml(tmp_path / "evenhand.toml")
    assert call["sampler"].population(space) == "the 2 given rows"


THEMIS = """
<settings><name>S</name><command>./decide</command><seed>1</seed><inputs>
<input><name>Sex</name><type>categorical</type><values><value>M</value><value>F</value></values></input>
<input><name>Race</name><type>categorical</type><values><value>a</value><value>b</value></values></input>
<input><name>Age</name><type>continuousInt</type><bounds><lowerbound>51</lowerbound><upperbound>70</upperbound></bounds>
</input></inputs><tests>
<test><function>causal_discrimination</function><i_fields><input_name>Sex</input_name></i_fields>
<conf>0.99</conf><margin>0.05</margin></test>
<test><function>group_discrimination</function><i_fields><input_name>Race</input_name></i_fields>
<conf>0.99</conf><margin>0.05</margin></test>
<test><function>discrimination_search</function><group/><causal/><threshold>0.4</threshold>
<conf>0.99</conf><margin>0.05</margin></test></tests></settings>
"""


def test_all_tests_of_themis_settings_run(run, project, tmp_path):
    project(body=BIASED.replace("yes", "1").replace("no", "0"))
    (tmp_path / "settings.xml").write_text(THEMIS)
    done = run("measure", "settings.xml", "--json", "out.json", expect=0)
    assert "changing only Sex" in done
    causal = Result.from_json(tmp_path / "out.json")
    group = Result.from_json(tmp_path / "out-2.json")
    assert causal.worst.estimate.value == 0.5  # ages 61 to 70 of 51 to 70
    assert group.worst.estimate.value == 0
    assert [result.worst.about for result in (causal, group)] == [("Sex",), ("Race",)]
    runs = settings_of(Config.load(tmp_path / "settings.xml"), "subsets", {})
    tests = [(settings["kind"], settings["limit"]) for settings in runs]
    assert tests == [("group", 0.4), ("causal", 0.4)]


def test_themis_search_runs_as_subsets(run, project, tmp_path):
    pytest.importorskip("evenhand.methods.subsets.subsets")
    project(body=BIASED.replace("yes", "1").replace("no", "0"))
    (tmp_path / "settings.xml").write_text(THEMIS)
    done = run("subsets", "settings.xml", "--kind", "causal", expect=1)
    assert "Sex" in done


def test_from_measure_to_replay_with_a_shell_script(run, project, tmp_path):
    folder = project()
    done = run(
        "measure", "--margin", "0.12", "--suite", "sex.csv", "--json", "out.json", expect=0
    )
    assert "changing only sex changes the outcome of" in done
    suite = pd.read_csv(tmp_path / "sex.csv", dtype=str)
    assert suite["test.over"].unique().tolist() == ['["sex"]']

    again = run("replay", "sex.csv", "--limit", "0.1", expect=1)
    assert "; 0 of " in again
    assert "outcomes changed" in again
    assert "3 of 3 cases of sex still differ" in run("replay", "out.json", expect=1)

    program(folder, FAIR)
    repaired = run("replay", "sex.csv", "--limit", "0.1", "--json", "again.json", expect=0)
    assert "changing only sex changes the outcome of 0.0 % of inputs (it was " in repaired
    assert Result.from_json(tmp_path / "again.json").verdict == "pass"
    assert "0 of 3 cases of sex still differ" in run("replay", "out.json", expect=0)
    assert "undecided" in run("replay", "sex.csv", "--limit", "0.0001", expect=3).lower()


def test_a_group_score_of_a_shell_script(run, project):
    project(
        space=SPACE.replace("high = 90", "high = 60"),
        body='if [ "$1" = M ]; then echo yes; else echo no; fi',
    )
    done = run("measure", "--kind", "group", "--limit", "0.3", expect=1)
    assert "FAIL" in done
    assert "sex M" in done


C_PROGRAM = r"""
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
int main(int argc, char **argv) {
    int age = atoi(argv[3]);
    puts(strcmp(argv[1], "M") == 0 && age > LIMIT ? "yes" : "no");
    return 0;
}
"""


def compiled(folder, limit: int) -> None:
    (folder / "decide.c").write_text(C_PROGRAM)
    (folder / "decide").unlink(missing_ok=True)
    subprocess.run(
        ["cc", f"-DLIMIT={limit}", "-o", "decide", "decide.c"],
        cwd=folder,
        check=True,
        timeout=60,
    )


@pytest.mark.skipif(shutil.which("cc") is None, reason="there is no C compiler here")
def test_from_measure_to_replay_with_a_c_program(run, project, tmp_path):
    pytest.importorskip("pyarrow")
    folder = project()
    compiled(folder, 60)
    run(
        "measure",
        "--margin",
        "0.12",
        "--suite",
        "sex.parquet",
        "--json",
        "out.json",
        expect=0,
    )
    compiled(folder, 88)
    done = run("replay", "sex.parquet", "--limit", "0.2", "--json", "again.json", expect=0)
    result = Result.from_json(tmp_path / "again.json")
    assert result.details["changed"] > 0
    assert 0 <= result.worst.estimate.value < 0.1
    assert (
        f"{result.details['changed']:,} of {result.details['of']:,} outcomes changed"
        in done
    )
    compiled(folder, 95)
    assert "0 of 3 cases of sex still differ" in run("replay", "out.json", expect=0)


@pytest.mark.parametrize(
    ("arguments", "words"),
    [
        (["measure", "--over", "agee"], "did you mean 'age'"),
        (["measure", "--over", "sex", "--over", "rce"], "did you mean 'race'"),
        (["measure", "--limit", "1.5"], "limit"),
        (["measure", "--limit", "-0.1"], "limit"),
        (["measure", "--margin", "0"], "margin"),
        (["measure", "--kind", "casual"], "did you mean 'causal'"),
        (["measure", "--interval", "wlad"], "did you mean 'wald'"),
        (["measure", "--suite", "s.xls"], ".parquet"),
        (["measure", "--suite", "nowhere/s.csv"], "no folder"),
        (["replay"], "FILE"),
        (["replay", "none.csv"], "none.csv"),
        (["replay", "none.json"], "none.json"),
        (["replay", "evenhand.toml"], ".toml"),
        (["replay", "data.csv"], "data.csv"),
        (["replay", "data.csv", "--limit", "2"], "limit"),
        (["measure-log", "data.csv"], "--outcome"),
        (["measure-log", "data.csv", "--outcome", "y"], "--over"),
        (["measure-log", "data.csv", "--outcome", "z", "--over", "sex"], "data.csv"),
        (
            ["measure-log", "data.csv", "--outcome", "y", "--over", "sx"],
            "did you mean 'sex'",
        ),
        (["measure-log", "none.csv", "--outcome", "y", "--over", "sex"], "none.csv"),
    ],
)
def test_wrong_calls_exit_with_2_and_one_sentence(run, project, tmp_path, arguments, words):
    project(body="echo no")
    (tmp_path / "data.csv").write_text("sex,y\n" + "F,0\nM,1\n" * 20)
    assert words in run(*arguments, expect=2)


def test_no_protected_features_and_no_over(run, project):
    project(space=SPACE.replace('protected = ["sex"]', ""), body="echo no")
    assert "over" in run("measure", expect=2)


def test_an_unknown_kind_in_the_config(run, project):
    project(checks='\n[[checks]]\njob = "measure"\nkind = "casual"\n', body="echo no")
    assert "did you mean 'causal'" in run("measure", expect=2)


@pytest.mark.parametrize(
    ("positive", "values"),
    [("1", "01"), ("yes", ["no", "yes"]), ("True", ["False", "True"])],
)
def test_recorded_decisions(run, tmp_path, positive, values):
    lines = ["sex,race,y"]
    for i in range(400):
        sex = "FM"[i % 2]
        race = "ab"[i % 3 == 0]
        is_granted = sex == "M" or i % 10 == 0
        lines.append(f"{sex},{race},{values[int(is_granted)]}")
    (tmp_path / "log.csv").write_text("\n".join(lines))
    arguments = [
        "measure-log",
        "log.csv",
        "--outcome",
        "y",
        "--positive",
        positive,
        "--over",
        "sex",
        "--over",
        "race",
    ]
    done = run(*arguments, "--limit", "0.5", "--json", "out.json", expect=1)
    assert "FAIL" in done
    result = Result.from_json(tmp_path / "out.json")
    assert {finding.about for finding in result.findings} == {("sex",), ("race",)}
    table = json.loads((tmp_path / "out.json").read_text())
    first = table["findings"][0]
    assert first["estimate"]["value"] > 0.7
    run(
        "measure-log",
        "log.csv",
        "--outcome",
        "y",
        "--positive",
        positive,
        "--over",
        "sex",
        expect=0,
    )
