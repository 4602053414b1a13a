"""A package of somebody else brings a verb, an adapter, a strategy, a metric and a format, each by
a file and a line.

The toys are installed and are on the path of the processes that are started here, and of no other.
"""

from __future__ import annotations

import json
import os
import subprocess
import sys
import tomllib
import xml.etree.ElementTree as ElementTree
from functools import partial
from importlib import metadata
from typing import TYPE_CHECKING

import pytest

from evenhand.config.schema import shipped
from evenhand.verbs import VERBS
from tests.support.paths import ROOT
from tests.support.values import TomlValidator

if TYPE_CHECKING:
    from collections.abc import Callable
    from pathlib import Path

    Run = Callable[..., subprocess.CompletedProcess[str]]

SPACE = """
[space]
protected = ["sex"]
[space.features.sex]
levels = ["F", "M"]
[space.features.income]
low = 0
high = 99
"""
SUBJECT = """
[subject]
scorecard = { sex = { F = 0, M = 30 }, income = 1 }
pass_mark = 60
positive = 1
"""
CHECKS = """
[[checks]]
job = "floor"
over = ["sex"]
least = 0.5

[[checks]]
job = "search"
over = ["sex"]
strategy = "walk"
queries = 150

[[checks]]
job = "measure"
limit = 0.9
"""
CONFIG = SUBJECT + SPACE + CHECKS
PYTHON = """
import json
import evenhand as eh
from evenhand.formats import FORMATS
from evenhand.config.schema import shipped
from evenhand.verbs import VERBS
from tests.support.values import TomlValidator

space = eh.Space([eh.category("sex", ["F", "M"]), eh.integer("income", 0, 99)], protected=["sex"])
card = {"sex": {"F": 0, "M": 30}, "income": 1}
subject = eh.Subject.of("scorecard", card, space, pass_mark=60)
floor = VERBS["floor"].function(subject, least=0.5)
again = VERBS["floor"].document().from_dict(json.loads(floor.to_json()))
walk = eh.search(subject, strategy="walk", budget=eh.Budget(queries=150))
sex, truth = ["f", "f", "m", "m"] * 50, [0, 1, 0, 1] * 50
predictions = {"original": [0, 0, 0, 1] * 50, "repaired": truth}
compared = eh.compare(predictions, truth, sex, bias="refusals", positive=1, resamples=100)
try:
    VERBS["floor"].function(subject, leats=0.5)
except eh.UsageError as error:
    mistake = str(error)
floor.plot()
print(json.dumps({
    "decided": subject.decide([{"sex": "F", "income": 50}, {"sex": "M", "income": 50}]).tolist(),
    "verdict": floor.verdict,
    "claim": floor.worst.claim,
    "same": again.to_dict() == floor.to_dict() and again.digest == floor.digest,
    "rows": len(floor.to_frame()),
    "html": floor.worst.claim in floor.to_html() and "%" in floor._repr_html_(),
    "mistake": mistake,
    "method": walk.worst.estimate.method,
    "found": walk.worst.estimate.value,
    "bias": compared.bias,
    "region": compared.region["repaired"],
    "tsv": FORMATS["tsv"].render(floor),
}))
"""


def process(folder: Path, cwd: Path, *words: str) -> subprocess.CompletedProcess[str]:
    """Run Python with a folder on its path."""
    path = os.pathsep.join(
        filter(None, [str(folder), str(ROOT), os.environ.get("PYTHONPATH", "")])
    )
    environment = {
        **os.environ,
        "PYTHONPATH": path,
        "PYTHONWARNINGS": "error",
        "COLUMNS": "100",
    }
    return subprocess.run(
        [sys.executable, *words], capture_output=True, text=True, cwd=cwd, env=environment
    )


@pytest.fixture(scope="module")
def home(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Return a folder with a configuration that names the toys."""
    folder = tmp_path_factory.mktemp("home")
    (folder / "evenhand.toml").write_text(CONFIG)
    return folder


@pytest.fixture(scope="module")
def evenhand(toys: Path, home: Path) -> Run:
    """Run the command line beside the toys."""
    return partial(process, toys, home, "-m", "evenhand")


def test_no_toy_is_on_the_path_of_the_tests():
    assert "floor" not in VERBS
    assert "evenhand-toys" not in [package.name for package in metadata.distributions()]


# From Python


@pytest.fixture(scope="module")
def answers(toys, home):
    ran = process(toys, home, "-c", PYTHON)
    assert ran.returncode == 0, ran.stderr
    return json.loads(ran.stdout)


def test_the_verb_gives_evidence_like_any_other(answers):
    assert answers["verdict"] == "fail"
    assert answers["claim"] == "of all groups by sex, the fewest are accepted of sex F"
    assert answers["same"] and answers["html"]
    assert answers["rows"] == 1
    assert "floor has no option 'leats'; did you mean 'least'?" in answers["mistake"]


def test_the_adapter_is_found_by_its_kind(answers):
    assert answers["decided"] == [0, 1]


def test_the_strategy_is_found_by_its_name(answers):
    assert answers["method"] == "walk"
    assert answers["found"] > 0


def test_the_metric_is_found_by_its_name(answers):
    assert answers["bias"] == "refusals"
    assert answers["region"] == "win-win"


def test_the_format_renders_what_a_verb_found(answers):
    assert answers["tsv"].splitlines()[0] == "verb\tfinding\tvalue\tverdict"
    assert answers["tsv"].splitlines()[1].startswith("floor\tfloor of sex\t0.")


# From a configuration


@pytest.fixture(scope="module")
def audited(evenhand, home):
    files = [
        "-o",
        "a.html",
        "--json",
        "a.json",
        "--sarif",
        "a.sarif",
        "--junit",
        "a.xml",
        "--markdown",
        "a.md",
    ]
    ran = evenhand("audit", *files, "--card", "card.md", "--tsv", "a.tsv")
    assert ran.returncode == 1, ran.stderr
    return ran


def test_an_audit_runs_the_verb_the_strategy_and_the_adapter(audited, home):
    audit = json.loads((home / "a.json").read_text())
    found = {check["job"]: check for check in audit["checks"]}
    assert list(found) == ["floor", "search", "measure"]
    assert found["floor"]["found"]["verdict"] == "fail"
    assert found["search"]["found"]["findings"][0]["estimate"]["method"] == "walk"
    assert "the fewest are accepted of sex F" in audited.stdout
    assert audit["subject"].startswith("scorecard:")


def test_every_report_shows_the_verb(audited, home):
    page = (home / "a.html").read_text()
    assert "Does every group get the favourable outcome at least this often?" in page
    sarif = json.loads((home / "a.sarif").read_text())["runs"][0]
    rules = {
        rule["id"]: rule["shortDescription"]["text"]
        for rule in sarif["tool"]["driver"]["rules"]
    }
    assert "A group is accepted too rarely" in rules.values()
    assert any(
        "the fewest are accepted of sex F" in result["message"]["text"]
        for result in sarif["results"]
    )
    cases = ElementTree.parse(home / "a.xml").getroot().iter("testcase")
    assert any("floor" in case.attrib["classname"] + case.attrib["name"] for case in cases)
    assert "floor" in (home / "a.md").read_text()
    assert (
        "The floor is the share of the favourable outcome" in (home / "card.md").read_text()
    )


def test_the_format_is_an_option_of_audit(audited, evenhand, home):
    lines = (home / "a.tsv").read_text().splitlines()
    assert [line.split("\t")[0] for line in lines[1:]] == ["floor", "search", "measure"]
    ran = evenhand("audit", "--tsv", "a.csv")
    assert ran.returncode == 2
    assert "--tsv a.csv: a table is a .tsv file; did you mean a.tsv?" in ran.stderr


def test_what_a_verb_found_can_be_read_where_it_is_not_installed(audited, home):
    ran = process(home, home, "-m", "evenhand", "report", "a.json", "-o", "b.html")
    assert ran.returncode == 0, ran.stderr
    page = (home / "b.html").read_text()
    assert "of all groups by sex, the fewest are accepted of sex F" in page
    assert "Does every group" not in page


def test_the_schema_and_init_know_the_toys(toys, home, evenhand):
    assert process(toys, home, "-m", "evenhand.config.schema", "mine.json").returncode == 0
    schema = json.loads((home / "mine.json").read_text())
    assert TomlValidator(schema).is_valid(tomllib.loads(CONFIG))
    assert not TomlValidator(schema).is_valid(
        tomllib.loads(CONFIG.replace("least =", "leats ="))
    )
    assert not TomlValidator(shipped()).is_valid(tomllib.loads(CONFIG))
    (home / "loans.csv").write_text("sex,income\nF,10\nM,20\nF,30\n")
    assert evenhand("init", "loans.csv", "-o", "new.toml").returncode == 0
    assert (
        "# scorecard = ...  # the points of each feature\n"
        in (home / "new.toml").read_text()
    )


# From the command line


def test_the_verb_is_a_command(evenhand):
    ran = evenhand("floor", "--least", "0.1", "--draws", "100", "--queries", "1000")
    assert ran.returncode == 0, ran.stderr
    assert "of all groups by sex" in ran.stdout
    assert "n = 100" in ran.stdout
    assert evenhand("floor").returncode == 1, "the check of the configuration"


def test_the_help_has_the_commands_and_options_of_toys(evenhand):
    overview = evenhand("--help").stdout
    assert (
        "  floor        does every group get the favourable outcome at least this often?\n"
        in overview
    )
    assert "evenhand floor --over sex --least 0.3" in overview
    assert "Not available" not in overview
    mine = evenhand("floor", "--help").stdout
    for option in (
        "--over",
        "--least",
        "--draws",
        "--queries",
        "--seconds",
        "--seed",
        "--json",
    ):
        assert option in mine
    assert "--tsv FILE" in evenhand("audit", "--help").stdout


def test_a_mistake_names_the_nearest(evenhand, home):
    ran = evenhand("floor", "--leats", "0.1")
    assert ran.returncode == 2
    assert "did you mean --least?" in ran.stderr
    (home / "wrong.toml").write_text(CONFIG.replace("least =", "leats ="))
    ran = evenhand("audit", "wrong.toml")
    assert ran.returncode == 2
    assert "check 1 (floor) has an unknown key 'leats'; did you mean 'least'?" in ran.stderr
    ran = evenhand("search", "--strategy", "wlak")
    assert ran.returncode == 2
    assert "did you mean 'walk'?" in ran.stderr


# A package that is broken


POINTS = """
[evenhand.verbs]
lost = no_such_module:VERB
wrong = broken_toys:NUMBER
renamed = broken_toys:CLASH
clash = broken_toys:CLASH
[evenhand.adapters]
lost = no_such_module:Adapter
[evenhand.strategies]
lost = broken_toys:NOTHING
[evenhand.metrics]
lost = raising_toys:METRIC
[evenhand.formats]
lost = raising_toys:FORMAT
"""
BROKEN = """
from evenhand.verbs import Command, Verb
NUMBER = 3
CLASH = Verb("clash", "?", "", print, command=Command("audit", "", "", "Test software"))
"""


@pytest.fixture(scope="module")
def broken(tmp_path_factory):
    """Run the command line beside a package in which everything is wrong."""
    folder = tmp_path_factory.mktemp("broken")
    package = folder / "broken_toys-1.0.dist-info"
    package.mkdir()
    (package / "METADATA").write_text(
        "Metadata-Version: 2.1\nName: broken-toys\nVersion: 1.0\n"
    )
    (package / "entry_points.txt").write_text(POINTS)
    (folder / "broken_toys.py").write_text(BROKEN)
    (folder / "raising_toys.py").write_text(
        "raise RuntimeError('it raises\\nwhen it is imported')"
    )
    (folder / "evenhand.toml").write_text(
        '[subject]\nfunction = "loans:lend"\npositive = 1\n' + SPACE
    )
    (folder / "loans.py").write_text(
        "def lend(people):\n    return (people['income'] > 50).astype(int)\n"
    )
    return partial(process, folder, folder, "-m", "evenhand")


def refusal(ran: subprocess.CompletedProcess[str], *words: str) -> None:
    """Check that a process ends with code 2 and one sentence that names the package."""
    assert ran.returncode == 2, ran.stderr
    assert ran.stdout == ""
    assert ran.stderr.count("\n") == 1, ran.stderr
    for word in ("evenhand: ", "of the package broken-toys", *words):
        assert word in ran.stderr, ran.stderr


def test_a_broken_package_leaves_the_help_and_all_else_as_it_is(broken):
    ran = broken("--help")
    assert ran.returncode == 0, ran.stderr
    assert "  measure      how much does the software discriminate" in ran.stdout
    assert "  audit        every check of a configuration" in ran.stdout
    missing = ran.stdout.partition("Not available:\n")[2]
    assert (
        "verb 'lost' cannot be loaded from no_such_module:VERB, of the package broken-toys"
        in missing
    )
    assert missing.count("broken-toys") == 4
    ran = broken("audit", "-o", "a.html")
    assert ran.returncode in (0, 1), ran.stderr
    assert "lost" not in ran.stdout + ran.stderr
    ran = broken("measure", "--limit", "0.9")
    assert ran.returncode == 0, ran.stderr


@pytest.mark.parametrize(
    ("name", "why"),
    [
        ("lost", "ModuleNotFoundError: No module named 'no_such_module'"),
        ("wrong", "it is 3; it must be an evenhand.verbs.Verb"),
        ("renamed", "it has the name 'clash'; it must be registered under that"),
    ],
)
def test_a_verb_that_cannot_be_loaded_says_whose_it_is(broken, name, why):
    refusal(broken(name, "--limit", "0.1"), f"verb {name!r} cannot be loaded", why)


def test_what_else_cannot_be_loaded_says_whose_it_is(broken, tmp_path):
    refusal(
        broken("audit", "--lost", "a.txt"),
        "format 'lost' cannot be loaded",
        "RuntimeError: it raises when it is",
    )
    refusal(
        broken("search", "--strategy", "lost"),
        "strategy 'lost' cannot be loaded",
        "has no attribute 'NOTHING'",
    )
    config = tmp_path / "evenhand.toml"
    config.write_text('[subject]\nlost = "x"\n' + SPACE)
    refusal(
        broken("measure", str(config)),
        "adapter 'lost' cannot be loaded",
        "No module named 'no_such_module'",
    )
    config.write_text(CONFIG.replace('job = "floor"', 'job = "lost"'))
    refusal(broken("audit", str(config)), "check 1: verb 'lost' cannot be loaded")
