"""audit, report and demo on the command line: exit codes, files, and mistakes reported at once."""

from __future__ import annotations

import json
import subprocess
import sys
import xml.etree.ElementTree as ET
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import pytest

import evenhand as eh
from evenhand.cli.main import main
from evenhand.methods.audit.audit_result import Audit
from evenhand.report.page.explore_link import EXPLORE_ADDRESS
from tests.methods.repair.test_plot_and_page import repaired

SPACE = """
[space]
protected = ["sex"]
[space.features.sex]
levels = ["F", "M"]
[space.features.race]
levels = ["a", "b"]
[space.features.age]
low = 18
high = 90
"""
FUNCTION = '[subject]\nfunction = "cli_audit_rules:biased"\npositive = 1\n'
COMMAND = (
    '[subject]\ncommand = ["./decide", "{sex}", "{race}", "{age}"]\npositive = "yes"\n'
)
SEX = '[[checks]]\njob = "measure"\nover = ["sex"]\nlimit = 0.05\n'
RACE = SEX.replace("sex", "race")
MODULE = """
asked = []


def biased(people):
    asked.append(len(people))
    return ((people["sex"] == "M") & (people["age"] > 50)).astype(int)
"""


class Ran:
    """What a run of the command line printed and wrote."""

    def __init__(self, out: str, err: str, folder: Path) -> None:
        self.out, self.err, self.folder = out, err, folder

    def audit(self, name: str = "audit.json") -> Audit:
        return Audit.from_json(self.folder / name)

    @property
    def complaint(self) -> str:
        assert self.err.startswith("evenhand: "), self.err
        assert self.err.count("\n") == 1
        assert self.out == ""
        return self.err


@pytest.fixture
def run(tmp_path, monkeypatch, capsys):
    """Run the command line in this process."""
    monkeypatch.chdir(tmp_path)
    monkeypatch.setattr(sys, "path", list(sys.path))
    monkeypatch.delitem(sys.modules, "cli_audit_rules", raising=False)
    for name in ("GITHUB_ACTIONS", "GITHUB_STEP_SUMMARY", "GITHUB_WORKSPACE"):
        monkeypatch.delenv(name, raising=False)

    def call(*arguments: str, expect: int) -> Ran:
        code = main(arguments)
        out, err = (str(text) for text in capsys.readouterr())
        assert code == expect, out + err
        return Ran(out, err, tmp_path)

    return call


@pytest.fixture
def project(tmp_path):
    """Write evenhand.toml and its software."""

    def write(
        checks: str = SEX,
        subject: str = FUNCTION,
        space: str = SPACE,
        body: str = "echo yes",
    ) -> Path:
        (tmp_path / "evenhand.toml").write_text(subject + space + checks)
        (tmp_path / "cli_audit_rules.py").write_text(MODULE)
        program = tmp_path / "decide"
        program.write_text("#!/bin/sh\necho asked >> log\n" + body)
        program.chmod(0o755)
        return Path(tmp_path)

    return write


def asked(folder: Path) -> bool:
    """Return whether the software was asked anything."""
    module: Any = sys.modules.get("cli_audit_rules")
    return (folder / "log").exists() or (module is not None and bool(module.asked))


@pytest.mark.parametrize(
    ("checks", "body", "code", "line"),
    [
        (
            RACE,
            'if [ "$3" -gt 50 ]; then echo yes; else echo no; fi',
            0,
            "exit code 0: pass",
        ),
        (
            SEX,
            'if [ "$1" = M ]; then echo yes; else echo no; fi',
            1,
            "exit code 1: discrimination found",
        ),
        (SEX + "queries = 40\n", "echo yes", 3, "exit code 3: undecided"),
        (SEX, "exit 9", 4, "exit code 4: the software failed"),
        (
            RACE + SEX.replace("sex", "sexx") + "level = 0.96\n",
            "echo yes",
            2,
            "exit code 2: a check could not be run",
        ),
        (
            '[[checks]]\njob = "search"\nqueries = 40\n',
            "echo yes",
            0,
            "exit code 0: no limit was given",
        ),
    ],
)
def test_each_exit_code_has_its_meaning(run, project, checks, body, code, line):
    project(
        checks + ("queries = 400\n" if "queries" not in checks else ""), COMMAND, body=body
    )
    done = run("audit", "--json", "audit.json", expect=code)
    assert line in done.out.splitlines()
    assert done.audit().exit_code == code


def test_progress_goes_to_standard_error_and_results_to_standard_output(run, project):
    project(
        SEX
        + RACE
        + '[[checks]]\njob = "search"\nqueries = 60\n'
        + SEX.replace("sex", "nobody")
        + "level = 0.96\n"
    )
    done = run("audit", expect=2)
    errors = done.err.splitlines()
    # Checks run job by job, in the order of the file.
    assert errors[0] == "1 of 3 measure sex; race: fail"
    assert errors[1].startswith("2 of 3 measure nobody: not run (")
    assert errors[2] == "3 of 3 search: no limit"
    assert len(errors) == 3
    assert done.out.startswith("          about")
    assert "1 of 3" not in done.out


def test_a_process_of_its_own_says_the_same(project):
    folder = project(SEX)
    command = [sys.executable, "-m", "evenhand.cli.main", "audit", "--json", "audit.json"]
    done = subprocess.run(command, cwd=folder, capture_output=True, text=True, timeout=120)
    assert done.returncode == 1
    assert done.stderr == "1 of 1 measure sex: fail\n"
    for line in ("exit code 1: discrimination found", "wrote audit.json"):
        assert line in done.stdout.splitlines()


def test_quiet_prints_what_does_not_pass_and_nothing_else(run, project):
    project(RACE)
    done = run("audit", "--quiet", expect=0)
    assert (done.out, done.err) == ("", "")
    project(SEX + RACE + "level = 0.96\n")
    done = run("audit", "--quiet", expect=1)
    assert done.err == ""
    assert done.out.startswith("audit: fail\nmeasure sex: fail\n")
    assert "measure race" not in done.out


def test_every_file_that_is_asked_for_is_written_and_well_formed(run, project):
    project(SEX + RACE + '[[checks]]\njob = "search"\nqueries = 100\n')
    files = {
        "-o": "report.html",
        "--json": "audit.json",
        "--junit": "junit.xml",
        "--sarif": "audit.sarif",
        "--markdown": "summary.md",
        "--card": "card.md",
    }
    options: list[str] = []
    for option, file in files.items():
        options += [option, file]
    done = run("audit", *options, expect=1)
    assert f"wrote {', '.join(files.values())}" in done.out.splitlines()
    found = done.audit()
    page = (done.folder / "report.html").read_text(encoding="utf-8")
    assert page.startswith("<!DOCTYPE html>")
    assert found.digest in page
    # The one address is that of a page on this machine, which a reader may open by a link.
    known = page.replace("http://www.w3.org", "").replace(f'href="{EXPLORE_ADDRESS}', "")
    assert "http://" not in known
    root = ET.parse(done.folder / "junit.xml").getroot()
    assert (root.tag, root.get("tests"), root.get("failures")) == ("testsuites", "3", "1")
    sarif = json.loads((done.folder / "audit.sarif").read_text())
    assert sarif["version"] == "2.1.0"
    assert len(sarif["runs"][0]["results"]) == 3
    assert (done.folder / "summary.md").read_text().startswith("## evenhand: fail")
    assert "measure" in (done.folder / "card.md").read_text()
    assert found.command == "evenhand audit evenhand.toml --seed 0"
    assert found.config == {
        "file": "evenhand.toml",
        "text": (done.folder / "evenhand.toml").read_text(),
    }


@pytest.mark.parametrize(
    ("arguments", "words"),
    [
        (
            ["-o", "no/report.html"],
            ["-o no/report.html", "no folder 'no'", "make it first"],
        ),
        (["--json", "no/a.json"], ["--json no/a.json", "no folder"]),
        (["--junit", "no/a.xml"], ["--junit", "no folder"]),
        (["--sarif", "no/a.sarif"], ["--sarif", "no folder"]),
        (["--markdown", "no/a.md"], ["--markdown", "no folder"]),
        (["--card", "no/a.md"], ["--card", "no folder"]),
        (["--summary", "no/a.md"], ["--summary", "no folder"]),
        (["--xlsx", "no/a.xlsx"], ["--xlsx", "no folder"]),
        (["--xlsx", "a.csv"], ["a workbook is a .xlsx file", "did you mean a.xlsx"]),
        (["--csv", "no/tables"], ["--csv no/tables", "no folder 'no'"]),
        (["--csv", "text.json"], ["--csv text.json: this is a file"]),
        (["--csv", "a.md", "--card", "a.md"], ["--card and --csv both name a.md"]),
        (["-o", "report.pdf"], ["a report is a .html file", "did you mean report.html"]),
        (["-o", "report"], ["did you mean report.html"]),
        (["-o", "folder.html"], ["this is a folder"]),
        (["--json", "folder.html"], ["--json folder.html: this is a folder"]),
        (["--json", "same", "--junit", "same"], ["--json and --junit both name same"]),
        (["--baseline", "none.json"], ["none.json: cannot read the audit"]),
        (["--baseline", "text.json"], ["text.json: this is not a JSON file"]),
        (["--baseline", "measure.json"], ["measure.json: this is not an evenhand audit"]),
        (["--queries", "0"], ["queries = 0"]),
        (["--seed", "-1"], ["seed"]),
        (["--n-jobs", "0"], ["n_jobs = 0"]),
        (["missing.toml"], ["missing.toml"]),
    ],
)
def test_a_mistake_is_reported_before_anything_is_asked(run, project, arguments, words):
    folder = project()
    (folder / "folder.html").mkdir()
    (folder / "text.json").write_text("{")
    eh.measure(
        lambda people: people["age"] > 40, eh.Space.from_toml(folder / "evenhand.toml")
    ).to_json("measure.json")
    done = run("audit", *arguments, expect=2)
    for word in words:
        assert word in done.complaint
    assert not asked(folder)


def test_a_wrong_check_is_reported_before_anything_is_asked(run, project):
    high = "check 2 (impact) has least_ratio = 'high'; it must be a number"
    for checks, words in {
        '[[checks]]\njob = "mesure"\n': "check 1 has job = 'mesure'; did you mean 'measure'",
        SEX + "[[checks]]\nlimit = 0.1\n": "check 2 has job = None; valid choices",
        SEX
        + "limt = 0.1\n": "check 1 (measure) has an unknown key 'limt'; did you mean 'limit'",
        SEX + '[[checks]]\njob = "impact"\nleast_ratio = "high"\n': high,
        SEX + '[[checks]]\njob = "compare"\nmodels = "a"\n': "a table of files by name",
        SEX + '[[checks]]\njob = "impact"\nqueries = 3\n': (
            "check 2 (impact) has an unknown key 'queries'"
        ),
    }.items():
        folder = project(checks)
        assert words in run("audit", expect=2).complaint
        assert not asked(folder)


def _rows(text: str, beginning: str) -> list[str]:
    return [line for line in text.splitlines() if line.startswith(beginning)]


def test_only_what_got_worse_fails_against_a_baseline(run, project):
    project(SEX)
    run("audit", "--json", "old.json", expect=1)
    command = ("audit", "--baseline", "old.json", "--json", "new.json", "--seed", "5")
    done = run(*command, expect=0)
    held = f"held against old.json, digest {done.audit('old.json').digest}"
    assert held in done.out
    (row,) = _rows(done.out, "PASS      sex")
    assert row.endswith("not worse")
    done = run(*command, "--full", expect=0)
    assert "against the baseline: not worse; change 0 points; tolerance 1 point" in done.out
    assert held in done.out
    assert done.audit("new.json").held_against.startswith("old.json, digest ")
    python = eh.audit("evenhand.toml", baseline="old.json", seed=5)
    assert python.digest == done.audit("new.json").digest
    folder = project(
        SEX + RACE.replace("0.05", "0.06"), subject=FUNCTION.replace("biased", "worse")
    )
    (folder / "cli_audit_rules.py").write_text(
        "def worse(people):\n    return (people['sex'] == 'M').astype(int)\n"
    )
    sys.modules.pop("cli_audit_rules")
    again = ("audit", "--baseline", "old.json", "--junit", "junit.xml")
    done = run(*again, expect=1)
    (row,) = _rows(done.out, "FAIL      sex")
    assert row.endswith("worse")
    assert not row.endswith("not worse")
    (row,) = _rows(done.out, "PASS      race")
    assert row.endswith("new")
    done = run(*again, "--full", expect=1)
    assert "against the baseline: worse" in done.out
    assert "against the baseline: new" in done.out
    assert ET.parse(folder / "junit.xml").getroot().get("failures") == "1"


def test_a_baseline_may_be_written_over(run, project):
    project(SEX)
    run("audit", "--json", "old.json", expect=1)
    done = run("audit", "--baseline", "old.json", "--json", "old.json", expect=0)
    assert done.audit("old.json").exit_code == 0
    (row,) = _rows(done.out, "PASS      sex")
    assert row.endswith("not worse")


def test_in_github_actions_annotations_and_a_summary_are_added(
    run, project, monkeypatch, tmp_path
):
    project(SEX + RACE + "level = 0.96\n")
    monkeypatch.setenv("GITHUB_ACTIONS", "true")
    monkeypatch.setenv("GITHUB_STEP_SUMMARY", str(tmp_path / "step.md"))
    done = run("audit", "--quiet", "--sarif", "audit.sarif", expect=1)
    commands = [line for line in done.out.splitlines() if line.startswith("::")]
    assert commands[0].startswith("::error file=evenhand.toml,line=")
    assert commands[-1] == "::notice title=evenhand pass::1 of 2 statements pass"
    assert "## evenhand: fail" in (tmp_path / "step.md").read_text()
    results = json.loads((tmp_path / "audit.sarif").read_text())["runs"][0]["results"]
    assert [result["level"] for result in results] == ["error"]
    monkeypatch.setenv("GITHUB_ACTIONS", "false")
    assert "::" not in run("audit", expect=1).out


def test_bounds_of_the_command_line_hold_for_each_check_that_has_any(
    run, project, tmp_path
):
    rng = np.random.default_rng(0)
    frame = pd.DataFrame(
        {"sex": rng.choice(["F", "M"], 99), "race": rng.choice(["a", "b"], 99)}
    )
    frame.assign(age=rng.integers(18, 91, 99)).to_csv(tmp_path / "rows.csv", index=False)
    project(
        SEX
        + '[[checks]]\njob = "impact"\ndata = "rows.csv"\n[[checks]]\njob = "search"\nqueries ='
        " 9000\n"
    )
    done = run(
        "audit", "--queries", "1000000", "--seconds", "30", "--json", "audit.json", expect=1
    )
    found = done.audit()
    assert (
        found.command
        == "evenhand audit evenhand.toml --queries 1000000 --seconds 30.0 --seed 0"
    )
    assert [check.settings.get("queries") for check in found.checks] == [
        1_000_000,
        None,
        1_000_000,
    ]
    assert found["impact"].settings == {"data": "rows.csv"}
    arguments = found.command.split()[1:]
    assert (
        run(*arguments, "--json", "again.json", expect=1).audit("again.json").digest
        == found.digest
    )


def test_a_program_that_crashes_in_one_check_is_asked_again_in_the_next(run, project):
    body = (
        'if [ "$3" = 18 ]; then echo too young >&2; exit 9; fi; if [ "$1" = M ]; then echo yes;'
        " else echo no; fi"
    )
    space = SPACE.replace("high = 90", "high = 19") + '[population]\nrows = "rows.csv"\n'
    checks = (
        SEX
        + "queries = 400\nexact = false\n"
        + '[[checks]]\njob = "search"\nover = ["sex"]\nqueries = 200\n'
    )
    folder = project(checks, COMMAND, space, body)
    (folder / "rows.csv").write_text("sex,race,age\nF,a,19\nM,b,19\n")
    done = run("audit", "--json", "audit.json", "--junit", "junit.xml", expect=1)
    found = done.audit()
    assert found["measure"].verdict == "fail"
    assert found["search"].exit_code == 4
    assert "too young" in found["search"].error
    assert "2 of 2 search sex: not run (" in done.err
    assert ET.parse(folder / "junit.xml").getroot().get("errors") == "1"


def test_a_name_that_a_terminal_would_obey_is_printed_as_text(run, project):
    strange = '"s\\u001b[31mx"'
    space = (
        f"[space]\nprotected = [{strange}]\n[space.features.{strange}]\nlevels = [0, 1]\n"
        + SPACE.partition("[space.features.sex]")[2].join(["[space.features.sex]", ""])
    )
    project(f'[[checks]]\njob = "measure"\nover = [{strange}]\nlimit = 0.05\n', space=space)
    done = run("audit", "-o", "report.html", "--markdown", "a.md", expect=0)
    assert "\x1b" not in done.out + done.err
    assert "s\\x1b[31mx" in done.err
    assert (
        "\x1b"
        not in (done.folder / "report.html").read_text()
        + (done.folder / "a.md").read_text()
    )


def test_a_configuration_without_checks_is_audited_by_the_usual_ones(run, project):
    project("")
    done = run("audit", "--json", "audit.json", "--queries", "500", expect=1)
    assert [check.name for check in done.audit().checks] == ["measure sex", "search sex"]
    project("", space=SPACE.replace('protected = ["sex"]', ""))
    assert "names no protected features" in run("audit", expect=2).complaint


def test_texts_are_audited_with_their_terms(run, tmp_path):
    (tmp_path / "cli_audit_rules.py").write_text(
        "def rude(texts):\n    return ['gay' in text for text in texts]\n"
    )
    comments = [
        "a gay man",
        "a straight man",
        "the gay aunt",
        "a straight aunt",
        "no words",
    ] * 20
    pd.DataFrame({"comment": comments}).to_csv(tmp_path / "texts.csv", index=False)
    texts = '[texts]\nfrom = "texts.csv"\ncolumn = "comment"\n'
    (tmp_path / "evenhand.toml").write_text(
        FUNCTION.replace("biased", "rude").replace("= 1", "= true") + texts
    )
    done = run("audit", "--json", "audit.json", expect=1)
    assert done.err.splitlines()[0] == "1 of 2 mine: fail"
    level = str(done.audit()["mine"].level)
    run("mine", "--limit", "0.1", "--level", level, "--json", "mine.json", expect=1)
    assert eh.Result.from_json("mine.json").digest == done.audit()["mine"].found.digest
    run("replay", "audit.json", expect=1)
    (tmp_path / "evenhand.toml").write_text((tmp_path / "evenhand.toml").read_text() + SEX)
    assert "declares [texts]" in run("audit", expect=2).complaint


def test_an_interrupt_writes_what_was_found_and_exits_with_130(run, project):
    folder = project(
        SEX
        + '[[checks]]\njob = "search"\nover = ["sex"]\nqueries = 5000\n'
        + RACE
        + "level = 0.96\n"
    )
    (folder / "cli_audit_rules.py").write_text(
        MODULE.replace(
            "    asked.append(len(people))\n", "    asked.append(1)\n    stop(people)\n"
        )
        + "\n\ndef stop(people):\n    import inspect\n\n"
        "    inside = any('search' in frame.filename for frame in inspect.stack()[:40])\n"
        "    if 0 not in asked and inside:\n"
        "        asked.append(0)\n"
        "        import os, signal\n"
        "        os.kill(os.getpid(), signal.SIGINT)\n"
    )
    done = run("audit", "--json", "audit.json", "--junit", "junit.xml", expect=130)
    found = done.audit()
    assert [check.name for check in found.checks] == [
        "measure sex",
        "measure race",
        "search sex",
    ]
    assert found["measure sex"].verdict == "fail"
    assert "exit code 130: interrupted" in done.out
    assert ET.parse(folder / "junit.xml").getroot().get("errors") == "1"


def test_results_of_all_jobs_make_one_page(run, project):
    folder = project(SEX)
    run("audit", "--json", "audit.json", expect=1)
    run("measure", "--json", "measure.json", expect=1)
    run("search", "--queries", "100", "--json", "search.json", expect=0)
    rng = np.random.default_rng(0)
    truth = rng.integers(0, 2, 200)
    guesses = {
        name: np.where(rng.random(200) < share, truth, 1 - truth)
        for name, share in (("original", 0.8), ("x", 0.7))
    }
    eh.compare(guesses, truth, rng.choice(["f", "m"], 200), resamples=100).to_json(
        folder / "compare.json"
    )
    repaired().to_json(folder / "repair.json")
    files = [f"{name}.json" for name in ("audit", "measure", "search", "compare", "repair")]
    done = run("report", *files, "audit.json", "-o", "all.html", expect=0)
    assert done.out == "wrote all.html\n"
    page = (folder / "all.html").read_text(encoding="utf-8")
    for name in (
        "measure sex",
        "measure (measure.json)",
        "search (search.json)",
        "compare (compare.json)",
        "repair (repair.json)",
        "measure sex (audit.json)",
    ):
        assert name in page, name
    run("report", "search.json", expect=0)
    run("report", "search.json", "-o", "again.html", expect=0)
    assert (folder / "report.html").read_bytes() == (folder / "again.html").read_bytes()


@pytest.mark.parametrize(
    ("arguments", "words"),
    [
        (["none.json"], "none.json: cannot read the result"),
        (["bad.json"], "bad.json: this is not a JSON file"),
        (["list.json"], "list.json: this is not an evenhand result"),
        (["cut.json"], "cut.json: this evenhand audit is damaged"),
        (["audit.json", "bad.json"], "bad.json"),
        (["audit.json", "-o", "no/r.html"], "no folder 'no'"),
        (["audit.json", "-o", "r.json"], "did you mean r.html"),
        ([], "RESULT.json"),
    ],
)
def test_files_that_are_no_results_are_reported(run, project, arguments, words):
    folder = project(SEX)
    eh.audit("evenhand.toml").to_json("audit.json")
    (folder / "bad.json").write_text('{"job": "measure"')
    (folder / "list.json").write_text("[1]")
    table = json.loads((folder / "audit.json").read_text())
    del table["checks"][0]["settings"]
    (folder / "cut.json").write_text(json.dumps(table))
    assert words in run("report", *arguments, expect=2).complaint
    assert not (folder / "report.html").exists()


def test_two_audits_are_compared(run, project):
    folder = project(SEX)
    run("audit", "--json", "old.json", expect=1)
    (folder / "evenhand.toml").write_text(FUNCTION + SPACE + SEX + RACE)
    run("audit", "--json", "new.json", expect=1)
    done = run("report", "old.json", "new.json", "--diff", "--markdown", "a.md", expect=0)
    assert "1 is new, 1 is unchanged." in done.out
    assert "check measure sex; race: not there → there" in done.out
    assert done.out.endswith("wrote a.md\n")
    assert "### What changed since old.json" in (folder / "a.md").read_text()
    assert not (folder / "report.html").exists()
    alone = run("report", "old.json", "new.json", "--diff", expect=0).out
    assert "1 is new, 1 is unchanged." in alone
    assert "wrote" not in alone
    assert not (folder / "report.html").exists()
    run("report", "old.json", "new.json", "--diff", "-o", "diff.html", expect=0)
    page = (folder / "diff.html").read_text(encoding="utf-8")
    assert "What changed since old.json" in page
    # The gate shows the same, and a report without it nothing of the kind.
    run("audit", "--baseline", "old.json", "-o", "held.html", expect=1)
    assert "What changed since old.json" in (folder / "held.html").read_text("utf-8")
    run("report", "new.json", "-o", "alone.html", expect=0)
    assert "What changed" not in (folder / "alone.html").read_text("utf-8")


def test_what_one_verb_found_is_compared_too(run, project):
    folder = project(SEX)
    space = eh.Space.from_toml(folder / "evenhand.toml")
    for name, age in (("old", 40), ("new", 50)):
        found = eh.measure(lambda people, age=age: people["age"] > age, space, over="sex")
        found.to_json(folder / f"{name}.json")
    done = run("report", "old.json", "new.json", "--diff", expect=0)
    assert "1 is unchanged." in done.out


@pytest.mark.parametrize(
    "arguments", [["audit.json"], ["audit.json", "audit.json", "audit.json"]]
)
def test_two_files_are_compared_and_no_other_number(run, project, arguments):
    folder = project(SEX)
    eh.audit("evenhand.toml").to_json("audit.json")
    done = run("report", *arguments, "--diff", expect=2)
    assert "--diff compares two files, the older one first" in done.complaint
    assert not (folder / "report.html").exists()


def test_a_report_in_other_formats(run, project):
    folder = project(SEX)
    run("audit", "--json", "audit.json", "--csv", "first", expect=1)
    files = ["--csv", "tables", "--xlsx", "a.xlsx", "--summary", "a.md"]
    done = run("report", "audit.json", *files, expect=0)
    assert done.out == "wrote a.md, tables, a.xlsx\n"
    for file in (folder / "first").iterdir():
        assert (folder / "tables" / file.name).read_bytes() == file.read_bytes()
    # What is there is written again.
    run("report", "audit.json", "--csv", "tables", expect=0)


def test_a_pdf_without_a_browser_is_refused_before_anything_is_asked(
    run, project, monkeypatch
):
    folder = project(SEX)
    monkeypatch.setenv("EVENHAND_CHROMIUM", "/no/such/browser")
    done = run("audit", "--pdf", "a.pdf", expect=2)
    assert "EVENHAND_CHROMIUM=/no/such/browser" in done.complaint
    assert not asked(folder)


def test_the_cases_of_an_audit_are_replayed_by_its_own_configuration(run, project):
    folder = project(SEX)
    run("audit", "--json", "audit.json", expect=1)
    (folder / "evenhand.toml").rename(folder / "loans.toml")
    audit = replace(
        Audit.from_json("audit.json"), config={"file": "loans.toml", "text": ""}
    )
    audit.to_json("audit.json")
    assert "loans.toml" in run("replay", "audit.json", expect=2).err
    assert "still differ" in run("replay", "audit.json", "--trust", expect=1).out


@pytest.mark.slow
def test_the_demo_writes_a_report_and_its_json(run, tmp_path):
    done = run("demo", "-o", "report.html", "--json", "demo.json", expect=0)
    found = done.audit("demo.json")
    assert found.exit_code == 1
    assert found.command == "evenhand demo --seed 0"
    assert found.subject == "loan.py"
    assert found.config["file"] == "evenhand.toml"
    assert {check.job for check in found.checks} == {
        "measure",
        "subsets",
        "search",
        "impact",
        "mine",
        "compare",
    }
    assert all(check.found is not None for check in found.checks)
    scores = {one.about: one.verdict for one in found["measure"].found.findings}
    assert scores == {("race",): "fail", ("sex",): "pass"}
    assert "this demonstration itself exits with 0" in done.out
    assert "wrote report.html, demo.json" in done.out
    assert len(done.err.splitlines()) == len(found.checks)
    page = (tmp_path / "report.html").read_text(encoding="utf-8")
    assert found.digest in page
    for text in (page, (tmp_path / "demo.json").read_text(encoding="utf-8")):
        assert str(Path(sys.prefix)) not in text
        assert str(Path(eh.__file__).parent) not in text
    assert (
        eh.replay(
            tmp_path / "demo.json", lambda people: ["deny"] * len(people), _loans()
        ).verdict
        == "pass"
    )
    again = run("demo", "--json", "again.json", expect=0)
    assert again.audit("again.json").digest == found.digest
    assert "the report has the rest: evenhand demo --seed 0 -o report.html" in again.out
    assert "did you mean demo.html" in run("demo", "-o", "demo.txt", expect=2).complaint


def _loans() -> eh.Space:
    from evenhand.demo import loan_space

    return loan_space()
