"""search and prevalence on the command line: settings, real rows, and real programs."""

from __future__ import annotations

import os
import pty
import subprocess
import sys
import textwrap
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import pytest

import evenhand as eh
from evenhand.cli.main import main
from evenhand.config.checks import checks_of, plans_of_job
from evenhand.config.file import Config
from evenhand.results.evidence import Finding
from evenhand.results.result import Result
from evenhand.runtime.budget import Spent
from evenhand.runtime.errors import ConfigError, DataError
from evenhand.statistics.estimate import StopReason, Witnesses
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
WIDE = SPACE.replace("high = 90", "high = 100000000")
COMMAND = (
    '[subject]\ncommand = ["./decide", "{sex}", "{race}", "{age}"]\npositive = "yes"\n'
)
FUNCTION = '[subject]\nfunction = "search_rules:decide"\n'
BIASED = 'if [ "$1" = M ] && [ "$3" -gt 60 ]; then echo yes; else echo no; fi'
FAIR = 'if [ "$3" -gt 60 ]; then echo yes; else echo no; fi'
RULES = """\
def decide(people):
    is_man = people['sex'] == 'M'
    is_old = people['age'] > 60
    return (is_man & is_old).astype(int)
"""


HOMES = {"search": "search.search", "prevalence": "measure.measure"}


@pytest.fixture
def project(tmp_path):
    """Write evenhand.toml, a program in shell, and a module beside it."""

    def write(
        subject: str = COMMAND, checks: str = "", space: str = SPACE, body: str = BIASED
    ) -> Path:
        config = subject + space + textwrap.dedent(checks)
        (tmp_path / "evenhand.toml").write_text(config)
        (tmp_path / "search_rules.py").write_text(RULES)
        program(tmp_path, body)
        return Path(tmp_path)

    return write


def program(folder: Path, body: str) -> None:
    path = folder / "decide"
    # Replaced, not written over: a program that still runs cannot be.
    path.unlink(missing_ok=True)
    path.write_text("#!/bin/sh\n" + body)
    path.chmod(0o755)


def config_of(folder: Path) -> Config:
    return Config.load(folder / "evenhand.toml")


@pytest.fixture
def run(tmp_path, monkeypatch, capsys):
    """Run the command line in this process, which saves the second that a new one takes."""
    monkeypatch.chdir(tmp_path)
    monkeypatch.setattr(sys, "path", list(sys.path))
    monkeypatch.delitem(sys.modules, "search_rules", raising=False)

    def call(*arguments: str, expect: int) -> str:
        code = main(arguments)
        out, err = capsys.readouterr()
        assert code == expect, out + err
        if expect == 2:
            assert err.startswith("evenhand: ")
            assert err.count("\n") == 1
        return str(err if expect == 2 else out)

    return call


@pytest.fixture
def fake(monkeypatch, run):
    """Run the command line with a verb that only notes how it was called."""

    def call(*arguments: str) -> list[dict[str, Any]]:
        calls: list[dict[str, Any]] = []

        def verb(subject: eh.Subject, space: None = None, **settings: Any) -> Result:
            calls.append(settings)
            count = Witnesses.of(1, 9, "adaptive")
            found = Finding("found", ("sex",), count)
            return Result(
                "search",
                [found],
                0,
                Spent(1, 1, 0.0),
                StopReason.QUERIES,
                subject.space.to_dict(),
            )

        name = arguments[0]
        monkeypatch.setattr(f"evenhand.methods.{HOMES[name]}.{name}", verb)
        run(*arguments, expect=0)
        return calls

    return call


def ages(start: Any, folder: Path) -> list[float]:
    space = eh.Space.from_toml(folder / "evenhand.toml")
    points = start.points(space)
    return list(points[:, space.index("age")].tolist())


def test_search_passes_its_options_on(fake, project, tmp_path):
    project(FUNCTION)
    (tmp_path / "people.csv").write_text("sex,race,age,other\nF,a,30,1\nM,b,40,2\n")
    command = (
        "search --over sex --over race,age --strategy random --prefer diverse --queries 100"
        " --seconds 9"
    )
    command += (
        " --findings 5 --limit 0 --start people.csv --found f.csv.gz --no-explain --seed 7"
        " --n-jobs 2"
    )
    (call,) = fake(*command.split())
    assert call.pop("budget") == eh.Budget(queries=100, seconds=9.0, findings=5)
    assert ages(call.pop("start"), tmp_path) == [30, 40]
    assert call == {
        "over": [("sex",), ("race", "age")],
        "strategy": "random",
        "prefer": "diverse",
        "limit": 0,
        "explain": False,
        "seed": 7,
        "n_jobs": 2,
        "progress": None,
    }
    found = pd.read_csv(tmp_path / "f.csv.gz")
    assert len(found) == 0


def test_prevalence_passes_its_options_on(fake, project):
    project(FUNCTION)
    command = (
        "prevalence --over sex --limit .1 --margin .02 --level .9 --queries 100 --seconds 9 --seed"
        " 7 --n-jobs 2"
    )
    (call,) = fake(*command.split())
    assert call.pop("budget") == eh.Budget(queries=100, seconds=9.0)
    assert call == {
        "over": [("sex",)],
        "limit": 0.1,
        "margin": 0.02,
        "level": 0.9,
        "seed": 7,
        "n_jobs": 2,
        "progress": None,
    }


def test_what_is_not_given_is_left_to_the_function(fake, project):
    project(FUNCTION)
    (call,) = fake("search")
    assert set(call) == {"start", "budget", "seed", "n_jobs", "progress"}
    assert call["start"] is None
    (call,) = fake("prevalence")
    assert set(call) == {"budget", "seed", "n_jobs", "progress"}


CHECKS = """
[[checks]]
job = "search"
over = ["sex"]
strategy = "surrogate"
prefer = "realistic"
limit = 0
queries = 50
findings = 3
seconds = 2.5
start = "data/people.csv"
explain = false
[[checks]]
job = "search"
over = "race"
[[checks]]
job = "prevalence"
over = ["race"]
margin = 0.1
"""


def test_checks_of_the_config_each_write_their_file(fake, project, tmp_path):
    project(FUNCTION, checks=CHECKS)
    data = tmp_path / "data"
    data.mkdir()
    (data / "people.csv").write_text("sex,race,age\nF,a,30\n")
    first, second = fake("search", "--found", "f.csv", "--seconds", "9")
    assert first.pop("budget") == eh.Budget(queries=50, seconds=9.0, findings=3)
    assert len(first.pop("start")) == 1
    assert first == {
        "over": [("sex",)],
        "strategy": "surrogate",
        "prefer": "realistic",
        "limit": 0,
        "explain": False,
        "seed": 0,
        "n_jobs": 1,
        "progress": None,
    }
    assert second["start"] is None
    assert second["over"] == [("race",)]
    written = {file.name for file in tmp_path.glob("f*.csv")}
    assert written == {"f.csv", "f-2.csv"}
    (call,) = fake("prevalence")
    assert call["over"] == [("race",)]
    assert call["margin"] == 0.1


def test_a_path_in_the_config_is_beside_the_config(project, tmp_path):
    config = config_of(project(checks=CHECKS))
    first = plans_of_job(config, "search", {})[0]
    assert first.settings["start"] == str(tmp_path / "data" / "people.csv")
    options = {"start": "mine.csv", "over": [("sex",)]}
    given = plans_of_job(config, "search", options)[0]
    assert given.settings["start"] == "mine.csv"


@pytest.mark.parametrize(
    ("check", "words"),
    [
        ('job = "serch"', "did you mean 'search'"),
        ('job = "search"\nstratgy = "random"', "did you mean 'strategy'"),
        ('job = "search"\nmargin = 0.1', "unknown key 'margin'"),
        ('job = "search"\nstrategy = 3', "strategy = 3; it must be a text"),
        ('job = "search"\nfindings = 1.5', "findings = 1.5; it must be a whole number"),
        ('job = "search"\nstart = ["a.csv"]', "start = ['a.csv']; it must be a text"),
        ('job = "search"\nexplain = "no"', "explain = 'no'; it must be true or false"),
        ('job = "prevalence"\nfindings = 1', "unknown key 'findings'"),
    ],
)
def test_a_wrong_check_is_refused(project, check, words):
    config = config_of(project(checks=f"[[checks]]\n{check}\n"))
    refused(ConfigError, lambda: checks_of(config), "evenhand.toml", "check 1", words)


PEOPLE = "sex,race,age,y\nF,a,30,0\nM,b,40,1\nX,b,40,1\nM,c,17,1\nM,,50,0\nF,c,60,0\n"


def test_real_rows_of_a_file_must_all_be_inputs(project, tmp_path):
    config = config_of(project())
    assert config.start() == (None, [])
    people = tmp_path / "people.csv"
    people.write_text("sex,race,age\nF,a,30\nM,b,17\n")
    refused(
        DataError,
        lambda: config.start(str(people)),
        "people.csv",
        "'age' = 17",
        "row 1",
    )
    people.write_text("sex,rce,age\nF,a,30\n")
    refused(
        DataError,
        lambda: config.start(str(people)),
        "people.csv",
        "'race'",
        "did you mean 'rce'",
    )
    misspelt = str(tmp_path / "peple.csv")
    refused(DataError, lambda: config.start(misspelt), "did you mean 'people.csv'")


def test_real_rows_are_those_of_the_population(project, tmp_path):
    (tmp_path / "people.csv").write_text("sex,race,age,w\nF,a,30,1\nM,b,40,2\n")
    space = '[population]\nrows = "people.csv"\nweights = "w"\n' + SPACE
    config = config_of(project(space=space))
    found, notes = config.start()
    assert ages(found, tmp_path) == [30, 40]
    assert notes == ["real rows are those of people.csv"]
    weighted = "[population.weights.sex]\nF = 1\nM = 2\n" + SPACE
    config = config_of(project(space=weighted))
    assert config.start() == (None, [])


def inferred(more: str = "") -> str:
    return f"""
[space]
from = "people.csv"
target = "y"
protected = ["sex"]
{more}
[space.features.sex]
levels = ["F", "M"]
[space.features.race]
levels = ["a", "b", "c"]
[space.features.age]
low = 18
high = 90
"""


def test_real_rows_are_those_of_the_space_as_far_as_they_fit(project, tmp_path):
    some_fit = PEOPLE.replace("M,,50,0\n", "M,c,50,0\n")
    some_fit = some_fit.replace("X,b,40,1\n", "F,b,91,1\n")
    (tmp_path / "people.csv").write_text(some_fit)
    config = config_of(project(space=inferred()))
    found, notes = config.start()
    assert ages(found, tmp_path) == [30, 40, 50, 60]
    assert notes == [
        "real rows are those of people.csv but for 2 of 6 that are no inputs of the space"
    ]
    constrained = inferred("constraints = [\"not (age > 45 and race == 'c')\"]")
    config = config_of(project(space=constrained))
    found, _ = config.start()
    assert ages(found, tmp_path) == [30, 40]
    lacking = inferred() + '[space.features.job]\nlevels = ["x", "y"]\n'
    config = config_of(project(space=lacking))
    found, notes = config.start()
    assert found is None
    assert "no row of people.csv is an input of the space" in notes[0]


def test_rows_with_values_of_another_kind_do_not_fit():
    from evenhand.space.known_rows.fitting import fitting

    features = [
        eh.category("code", [1, 2]),
        eh.real("rate", 0, 1, step=0.25),
    ]
    space = eh.Space(features)
    frame = pd.DataFrame(
        {
            "code": [1, 2, 3, 1, 1],
            "rate": [0.25, 0.3, 0.5, np.nan, 1.0],
            "more": range(5),
        }
    )
    inputs = fitting(frame, space)
    assert inputs.index.tolist() == [0, 4]
    texts = frame.astype({"rate": object})
    texts["rate"] = ["0.25", "x", None, 0.5, 0.75]
    inputs = fitting(texts[3:], space)
    assert space.encode(inputs).tolist() == [[0.0, 0.5], [0.0, 0.75]]


def test_from_search_to_replay_with_a_shell_script(run, project, tmp_path):
    folder = project(space=WIDE)
    done = run(
        "search",
        "--queries",
        "600",
        "--json",
        "out.json",
        "--found",
        "found.csv",
        "--n-jobs",
        "1",
        expect=0,
    )
    assert "sex: " in done
    assert "discriminatory inputs found in" in done
    assert "not a rate" in done
    assert "individual" in done
    result = Result.from_json(tmp_path / "out.json")
    assert result.job == "search"
    assert result.verdict is None
    found = pd.read_csv(tmp_path / "found.csv")
    assert list(found) == ["sex", "race", "age", "outcome", "twin.sex", "twin.outcome"]
    assert len(found) > 0
    assert len(found) == result.worst.estimate.value
    assert (found["age"] > 60).all()
    assert (found["sex"] != found["twin.sex"]).all()

    cases = len(result.worst.cases)
    replayed = run("replay", "out.json", expect=1)
    assert f"{cases} of {cases} cases of sex still differ" in replayed
    program(folder, FAIR)
    replayed = run("replay", "out.json", expect=0)
    assert f"0 of {cases} cases of sex still differ" in replayed


@pytest.mark.parametrize(
    ("body", "space", "code", "verdict"),
    [
        (BIASED, WIDE, 1, "FAIL"),
        (FAIR, WIDE, 3, "UNDECIDED"),
        (FAIR, SPACE.replace("18", "57").replace("90", "64"), 0, "PASS"),
    ],
    ids=["found", "not found", "every input tried"],
)
def test_a_limit_gives_a_verdict(run, project, tmp_path, body, space, code, verdict):
    project(space=space, body=body)
    done = run(
        "search",
        "--limit",
        "0",
        "--queries",
        "120",
        "--json",
        "out.json",
        "--no-explain",
        expect=code,
    )
    assert done.startswith(verdict)
    assert "limit 0" in done.splitlines()[0]
    result = Result.from_json(tmp_path / "out.json")
    assert result.exit_code == code
    if body == FAIR:
        assert "no discriminatory input found" in done
        assert "the search found none" in run("replay", "out.json", expect=2)


def test_the_command_line_and_python_agree(run, project, tmp_path):
    project(FUNCTION, space=WIDE)
    (tmp_path / "people.csv").write_text("sex,race,age\nF,a,30\nM,b,40\n")
    run(
        "search",
        "--queries",
        "2000",
        "--seed",
        "3",
        "--start",
        "people.csv",
        "--json",
        "out.json",
        expect=0,
    )
    space = eh.Space.from_toml(tmp_path / "evenhand.toml")
    rules: dict[str, Any] = {}
    exec(RULES, rules)
    start = pd.read_csv(tmp_path / "people.csv")
    here = eh.search(
        rules["decide"],
        space,
        budget=eh.Budget(queries=2000),
        seed=3,
        start=start,
    )
    result = Result.from_json(tmp_path / "out.json")
    assert result.digest == here.digest


def test_prevalence_is_a_rate_with_its_interval(run, project, tmp_path):
    project(FUNCTION)
    done = run("prevalence", "--margin", "0.05", "--json", "out.json", expect=0)
    result = Result.from_json(tmp_path / "out.json")
    assert result.verdict is None
    assert result.worst.estimate.value == pytest.approx(30 / 73, abs=0.05)
    assert "population: all inputs" in done
    run("prevalence", "--limit", "0.1", expect=1)


def test_rows_that_were_left_out_are_reported(run, project, tmp_path):
    one_does_not_fit = PEOPLE.replace("M,,50,0\n", "").replace("X,b,40,1\n", "")
    (tmp_path / "people.csv").write_text(one_does_not_fit)
    project(FUNCTION, space=inferred())
    done = run("search", "--queries", "500", "--no-explain", expect=0)
    assert (
        "note: real rows are those of people.csv but for 1 of 4 that are no inputs of the space"
        in done
    )


@pytest.mark.parametrize(
    ("arguments", "words"),
    [
        (["search", "--over", "agee"], "did you mean 'age'"),
        (["search", "--strategy", "adaptiv"], "did you mean 'adaptive'"),
        (["search", "--prefer", "divers"], "did you mean 'diverse'"),
        (["search", "--prefer", "realistic"], "real rows"),
        (["search", "--limit", "-1"], "limit"),
        (["search", "--limit", "0.5"], "--limit"),
        (["search", "--findings", "0"], "findings"),
        (["search", "--queries", "0"], "queries"),
        (["search", "--seed", "-1"], "seed"),
        (["search", "--start", "none.csv"], "none.csv"),
        (["search", "--found", "f.xls"], ".csv"),
        (["search", "--found", "nowhere/f.csv"], "nowhere"),
        (["search", "--kind", "group"], "--kind"),
        (["serch"], "did you mean 'search'"),
        (["prevalence", "--over", "sexx"], "did you mean 'sex'"),
        (["prevalence", "--margin", "0"], "margin"),
        (["prevalence", "--level", "1"], "level"),
        (["prevalence", "--limit", "2"], "limit"),
        (["prevalence", "--findings", "2"], "--findings"),
        (["prevalance"], "did you mean 'prevalence'"),
    ],
)
def test_wrong_calls_exit_with_2_and_one_sentence(run, project, arguments, words):
    project(body="echo no")
    assert words in run(*arguments, expect=2)


def test_a_wrong_setting_of_a_check_exits_with_2(run, project):
    project(body="echo no", checks='[[checks]]\njob = "search"\nlimit = 0.5\n')
    assert "limit" in run("search", expect=2)


AT_ONCE = """
import sys
from evenhand.cli.main import main
from evenhand.runtime import progress

progress.PATIENCE = 0.0
sys.exit(main(sys.argv[1:]))
"""
"""The command line, whose progress shows from the beginning."""


def test_a_terminal_sees_how_the_search_goes(project):
    folder = project(FUNCTION, space=WIDE)
    ours, theirs = pty.openpty()
    command = [
        sys.executable,
        "-c",
        AT_ONCE,
        "search",
        "--queries",
        "20000",
        "--no-explain",
    ]
    environment = os.environ | {"TERM": "xterm", "COLUMNS": "160"}
    environment.pop("CI", None)  # where nobody looks at a terminal
    with subprocess.Popen(
        command,
        cwd=folder,
        stdout=subprocess.PIPE,
        stderr=theirs,
        env=environment,
    ) as process:
        os.close(theirs)
        seen = b""
        try:
            while part := os.read(ours, 65_536):
                seen += part
        except OSError:  # what a terminal says when nobody holds its other end
            pass
        assert process.stdout is not None
        assert b"discriminatory inputs found" in process.stdout.read()
    os.close(ours)
    assert process.returncode == 0
    for words in (b"queries", b"found", b"regions", b"per 1,000"):
        assert words in seen


def test_help_imports_nothing_heavy():
    code = "import sys; from evenhand.cli.main import main; main(['search', '--help']); "
    code += "print(sorted({'numpy', 'pandas', 'scipy', 'rich'} & set(sys.modules)))"
    done = subprocess.run(
        [sys.executable, "-c", code],
        capture_output=True,
        text=True,
        check=True,
        timeout=60,
    )
    assert "--strategy" in done.stdout
    assert done.stdout.endswith("[]\n")
