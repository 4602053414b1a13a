"""What goes wrong outside of the software under test: files, mistakes of evenhand, odd values."""

from __future__ import annotations

import json
import subprocess
import sys
from datetime import date
from pathlib import Path

import pytest

import evenhand as eh
from evenhand.cli.main import main
from evenhand.methods.audit.checks import jobs
from evenhand.verbs import VERBS

SPACE = """
[space]
protected = ["sex"]
[space.features.sex]
levels = ["F", "M"]
[space.features.age]
low = 18
high = 60
"""
FAIR = 'def decide(people):\n    return people["age"] > 40\n'
UNFAIR = 'def decide(people):\n    return people["sex"] == "M"\n'
CHECKS = """
[[checks]]
job = "measure"
limit = 0.05
[[checks]]
job = "prevalence"
"""


class Folder:
    """An empty folder with a configuration, from which a function is imported."""

    def __init__(self, path: Path) -> None:
        self.path = path

    def __call__(self, rules: str = FAIR, checks: str = CHECKS, subject: str = "") -> None:
        (self.path / "rules.py").write_text(rules)
        text = f'[subject]\nfunction = "rules:decide"\n{subject}'
        (self.path / "evenhand.toml").write_text(text + SPACE + checks)


@pytest.fixture
def folder(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    monkeypatch.setattr(sys, "path", list(sys.path))
    monkeypatch.delitem(sys.modules, "rules", raising=False)
    made = Folder(tmp_path)
    made()
    yield made
    sys.modules.pop("rules", None)


def complaint(err: str) -> str:
    """Return the one sentence on standard error."""
    lines = [line for line in err.splitlines() if line.startswith("evenhand: ")]
    assert len(lines) == 1, err
    assert "Traceback" not in err
    return lines[0]


@pytest.mark.parametrize(("rules", "code"), [(FAIR, 2), (UNFAIR, 1)])
def test_a_file_that_cannot_be_written_hides_no_verdict(folder, capsys, rules, code):
    folder(rules)
    (folder.path / "link.html").symlink_to("/dev/full")
    words = ["audit", "-o", "link.html", "--json", "out.json"]
    assert main(words) == code
    out, err = capsys.readouterr()
    assert "link.html: cannot write the report: No space left on device" in complaint(err)
    assert f"exit code {code}" in out
    assert "wrote out.json" in out
    assert eh.Audit.from_json("out.json").exit_code == (0 if code == 2 else 1)


@pytest.mark.parametrize(("rules", "code"), [(FAIR, 2), (UNFAIR, 1)])
def test_a_result_that_cannot_be_written_is_printed(folder, capsys, rules, code):
    folder(rules)
    assert main(["measure", "--json", "/dev/full", "--suite", "tests.csv"]) == code
    out, err = capsys.readouterr()
    assert "changing only sex" in out
    assert "/dev/full: cannot write the result" in complaint(err)
    assert (folder.path / "tests.csv").exists()


@pytest.mark.parametrize(("rules", "code"), [(FAIR, 2), (UNFAIR, 1)])
def test_a_verdict_that_cannot_be_printed_is_no_pass(folder, rules, code):
    folder(rules)
    with Path("/dev/full").open("w") as full:
        done = subprocess.run(
            [sys.executable, "-m", "evenhand", "measure", "--json", "out.json"],
            stdout=full,
            stderr=subprocess.PIPE,
            text=True,
        )
    assert done.returncode == code, done.stderr
    assert "No space left on device" in complaint(done.stderr)
    assert json.loads((folder.path / "out.json").read_text())["job"] == "measure"


def test_a_mistake_of_our_own_is_no_discrimination(folder, capsys, monkeypatch):
    def broken(*arguments, **options):
        raise KeyError("lost")

    monkeypatch.setattr("evenhand.methods.measure.measure.measure", broken)
    assert main(["measure"]) == 70
    message = complaint(capsys.readouterr().err)
    assert "KeyError: 'lost' at evenhand.methods.measure.check:" in message
    assert "please report it" in message
    file = Path(message.split()[-1])
    assert "in broken" in file.read_text()
    file.unlink()


def test_memory_that_is_used_up_is_one_sentence(folder, capsys, monkeypatch):
    def broken(*arguments, **options):
        raise MemoryError

    monkeypatch.setattr("evenhand.methods.measure.measure.measure", broken)
    assert main(["measure"]) == 70
    assert "the memory was used up" in complaint(capsys.readouterr().err)


def test_a_mistake_in_one_check_leaves_the_others(folder, capsys, monkeypatch):
    def broken(*arguments, **options):
        raise ZeroDivisionError("by nobody")

    monkeypatch.setattr("evenhand.methods.measure.measure.prevalence", broken)
    folder(UNFAIR)
    assert main(["audit", "--json", "out.json", "--junit", "out.xml"]) == 70
    out, _ = capsys.readouterr()
    assert "exit code 70: a mistake in evenhand itself" in out
    found = eh.Audit.from_json("out.json")
    assert [check.exit_code for check in found.checks] == [1, 70]
    assert "ZeroDivisionError: by nobody" in found.checks[1].error
    assert found.exit_code == 70
    with pytest.raises(AssertionError, match="a mistake in evenhand"):
        found.check()


ODD = [
    *(5.5, -1, 10**400, float("nan"), float("inf"), 1e308, 2**64, True),
    *("", "x" * 5000, "a\0b", "\ud800", "\x1b[31m"),
    *([], [[]], [[["a"]]], [5.5], [{}], [None], [True], [1, "a"]),
    *({}, {"a": 1}, {"age": [float("nan")]}, {"age": [[1]]}, {"": ""}),
    date(2020, 1, 1),
]


@pytest.mark.parametrize("job", jobs())
def test_odd_values_are_refused_in_one_sentence(job, monkeypatch, tmp_path):
    monkeypatch.chdir(tmp_path)
    space = eh.Space([eh.category("sex", ["F", "M"]), eh.integer("age", 18, 60)], ["sex"])

    def decide(people):
        return people["age"] > 40

    for option in VERBS[job].checks:
        for value in ODD:
            check = {"job": job, "queries": 50, option.name: value}
            if "queries" not in VERBS[job].checks:
                del check["queries"]
            try:
                eh.audit(decide, space, checks=[check])
            except eh.EvenhandError as error:
                assert "\n" not in str(error), (option.name, value)


@pytest.mark.parametrize("value", [5.5, [[["a"]]], 10**400, {"a": 1}, [5.5]])
@pytest.mark.parametrize("verb", ["measure", "search", "prevalence", "subsets"])
def test_odd_sets_are_refused_in_python(verb, value):
    space = eh.Space([eh.category("sex", ["F", "M"]), eh.integer("age", 18, 60)], ["sex"])
    name = "among" if verb == "subsets" else "over"
    with pytest.raises(eh.UsageError):
        getattr(eh, verb)(lambda people: people["age"] > 40, space, **{name: value})


@pytest.mark.parametrize(
    ("subject", "words"),
    [
        ('ledger = "a\\u0000b"', "no file can have such a name"),
        (f'ledger = "{"x" * 300}"', "no file can have such a name"),
        (f"differs = {10**400}", "the number is too large"),
    ],
)
def test_odd_settings_of_software_are_refused(folder, capsys, subject, words):
    folder(subject=subject + "\n")
    assert main(["measure"]) == 2
    assert words in complaint(capsys.readouterr().err)


@pytest.mark.parametrize(
    ("setting", "words"),
    [
        ("timeout = 1e308", "must be a positive number of seconds"),
        ("env = { A = 1 }", "must be a text"),
        ('cwd = "a\\u0000b"', "no file can have such a name"),
    ],
)
def test_odd_settings_of_programs_are_refused(folder, capsys, setting, words):
    command = 'command = ["/bin/echo", "{sex}", "{age}"]'
    text = f"[subject]\n{command}\n{setting}\n{SPACE}"
    (folder.path / "evenhand.toml").write_text(text)
    assert main(["measure"]) == 2
    assert words in complaint(capsys.readouterr().err)


@pytest.mark.parametrize("kind", ["estimator", "onnx", "xgboost"])
def test_odd_paths_of_models_are_refused(folder, capsys, kind):
    text = f'[subject]\n{kind} = "a\\u0000b"\n{SPACE}'
    (folder.path / "evenhand.toml").write_text(text)
    assert main(["measure"]) == 2
    words = complaint(capsys.readouterr().err)
    assert f"[subject] has {kind} =" in words
    assert "no file can have such a name" in words


@pytest.mark.parametrize(
    "content",
    [
        b"a = " + b"[" * 100_000,
        b"\xff",
        b"a = 1\n" * 3,
        b"\x00",
        b"[a" + b".a" * 50_000 + b"]",
        b"[space.features" + b".a" * 2000 + b"]",
        b"space.target" + b".a" * 2000 + b" = 1",
    ],
    ids=["deep", "not UTF-8", "twice", "zero", "long", "deep table", "deep key"],
)
def test_a_configuration_that_is_none_is_one_sentence(folder, capsys, content):
    (folder.path / "evenhand.toml").write_bytes(content)
    assert main(["audit"]) == 2
    complaint(capsys.readouterr().err)


@pytest.mark.parametrize("name", ["a\0b", "x" * 300, "."])
@pytest.mark.parametrize("command", ["audit", "report", "replay"])
def test_a_file_that_cannot_be_is_one_sentence(folder, capsys, command, name):
    words = [command, name]
    if command == "report":
        words += ["-o", "out.html"]
    assert main(words) == 2
    complaint(capsys.readouterr().err)


DAMAGE = {
    "deep": lambda table: table["checks"][0].update(found=deep(5000)),
    "huge seed": lambda table: table.update(seed=10**400),
    "huge estimate": lambda table: found_in(table)["estimate"].update(value=10**400),
    "space": lambda table: table["checks"][0]["found"].update(space={"a": 1}),
    "features": lambda table: found_in(table).update(features=[[]]),
    "cases": lambda table: found_in(table).update(cases=[{}]),
    "settings": lambda table: table["checks"][0].update(settings=[1]),
    "level": lambda table: table["checks"][0].update(level="x"),
    "kept": lambda table: table["checks"][0].update(kept=[{"key": 1}]),
    "code": lambda table: table["checks"][0].update(found=None, code=5),
    "spent": lambda table: table.update(spent={"queries": "many"}),
}


def deep(levels: int) -> object:
    inner: object = []
    for _ in range(levels):
        inner = [inner]
    return inner


def found_in(table):
    return table["checks"][0]["found"]["findings"][0]


@pytest.mark.parametrize("damage", DAMAGE)
def test_a_result_that_was_changed_is_no_mistake_of_ours(folder, capsys, damage):
    folder(UNFAIR)
    main(["audit", "--json", "out.json", "--quiet"])
    table = json.loads((folder.path / "out.json").read_text())
    DAMAGE[damage](table)
    before = sys.getrecursionlimit()
    sys.setrecursionlimit(100_000)
    try:
        text = json.dumps(table)
    finally:
        sys.setrecursionlimit(before)
    (folder.path / "out.json").write_text(text)
    capsys.readouterr()
    for words in (
        ["report", "out.json", "-o", "out.html"],
        ["replay", "out.json"],
        ["audit", "--baseline", "out.json", "--quiet"],
    ):
        code = main(words)
        err = capsys.readouterr().err
        assert code != 70, err
        assert "Traceback" not in err
        if code == 2:
            complaint(err)
