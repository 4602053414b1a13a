"""The examples in README and docs run as they stand."""

from __future__ import annotations

import os
import re
import shlex
from itertools import takewhile
from typing import TYPE_CHECKING, Any

import pytest

import evenhand as eh
from evenhand.cli.parser import build
from evenhand.config.checks import checks_of
from evenhand.config.file import Config
from evenhand.config.study import read_study
from evenhand.methods.audit import LOG
from tests.support.paths import BESIDE, ROOT

if TYPE_CHECKING:
    from pathlib import Path

PAGES = [
    ROOT / "README.md",
    ROOT / "ARCHITECTURE.md",
    *sorted((ROOT / "docs").rglob("*.md")),
]
FENCE = re.compile(r"^```(\w+)\n(.*?)^```", re.MULTILINE | re.DOTALL)


def place_of(page: Path, text: str, match: re.Match[str]) -> str:
    """Return the page and the line of a match."""
    line = text[: match.start()].count("\n") + 1
    return f"{page.relative_to(ROOT).as_posix()}:{line}"


def blocks(language: str, pages: list[Path]) -> list[tuple[str, str]]:
    """Return the places and texts of all examples in a language."""
    found = []
    for page in pages:
        text = page.read_text(encoding="utf-8")
        for match in FENCE.finditer(text):
            if match.group(1) == language:
                found.append((place_of(page, text, match), match.group(2)))
    return found


def needs_data(names: list[str], monkeypatch: pytest.MonkeyPatch) -> None:
    folder = os.environ.get("EVENHAND_DATA") or (str(BESIDE) if BESIDE.is_dir() else "")
    monkeypatch.setenv("EVENHAND_DATA", folder)
    local = {info.name for info in eh.datasets.available() if info.local}
    for name in names:
        if name not in local:
            pytest.skip(
                f"needs the data set {name} in EVENHAND_DATA, ../shared/data or the cache"
            )


TUTORIALS = [page for page in PAGES if page.parent.name == "tutorials"]
IN_ORDER = [ROOT / "docs" / "how-to" / "bring-your-model.md"]
"""Pages whose examples go on from one another; a test of their own runs them."""
OTHERS = [page for page in PAGES if page not in TUTORIALS and page not in IN_ORDER]


LONG = [
    ROOT / "docs" / "how-to" / name
    for name in ("mine.md", "repair.md", "search.md", "study.md")
]
"""Pages whose examples take seconds: the first of each is always run, the others where all tests
are.
"""

CLUSTERS = ROOT / "docs" / "how-to" / "clusters.md"
"""A page whose examples need a cluster."""


def marked_examples() -> list[Any]:
    """Return all examples in Python but those of tutorials; those that take long are slow."""
    examples = []
    for page in OTHERS:
        for at, example in enumerate(blocks("python", [page])):
            is_slow = page in LONG and at > 0
            marks = [pytest.mark.slow] if is_slow else []
            if page == CLUSTERS:
                marks.append(pytest.mark.heavy)
            examples.append(pytest.param(*example, marks=marks))
    return examples


EXAMPLES = marked_examples()


def run(
    where: str, code: str, names: dict[str, object], capsys: pytest.CaptureFixture[str]
) -> None:
    exec(compile(code, where, "exec"), names)
    printed = capsys.readouterr().out
    # A comment after print(...), beside or below it, is what it prints.
    for output in re.findall(r"^print\(.*\)\s+# (.+)$", code, flags=re.MULTILINE):
        assert output in printed, where


@pytest.mark.parametrize(
    ("where", "code"), EXAMPLES, ids=lambda value: value if ":" in value[:40] else ""
)
def test_python_examples_run(where, code, capsys, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)  # examples may write files
    run(where, code, {"__name__": "example"}, capsys)


@pytest.mark.slow
@pytest.mark.parametrize("page", TUTORIALS, ids=lambda page: page.name)
def test_tutorials_run_from_top_to_bottom(page, capsys, monkeypatch):
    needs_data(
        re.findall(r'datasets\.load\("(\w+)"\)', page.read_text(encoding="utf-8")),
        monkeypatch,
    )
    names: dict[str, object] = {"__name__": "example"}
    for where, code in blocks("python", [page]):
        run(where, code, names, capsys)


CONFIGS = [(where, text) for where, text in blocks("toml", PAGES) if "[study]" not in text]
STUDIES = [(where, text) for where, text in blocks("toml", PAGES) if "[study]" in text]


@pytest.mark.parametrize(
    ("where", "text"), CONFIGS, ids=lambda value: value if ":" in value[:40] else ""
)
def test_toml_examples_declare_a_space_or_a_log(where, text, tmp_path):
    file = tmp_path / "evenhand.toml"
    file.write_text(text)
    log = Config.load(file).table.get("log")
    if log is not None:
        LOG.check(log, where)
        assert log["over"]
        return
    assert eh.Space.from_toml(file).protected


@pytest.mark.parametrize(
    ("where", "text"), CONFIGS, ids=lambda value: value if ":" in value[:40] else ""
)
def test_checks_of_toml_examples_are_known(where, text, tmp_path):
    file = tmp_path / "evenhand.toml"
    file.write_text(text)
    assert len(checks_of(Config.load(file))) == text.count("[[checks]]")


COMMAND = re.compile(r"^(?:    |\$ )(evenhand [a-z](?:[^\n]|(?<=\\)\n)*)$", re.MULTILINE)
"""A call of the command line, indented or after a prompt; a line that ends in a backslash goes on.
"""
SHELL = {"|", "||", "&&", ";", ">"}


def calls() -> list[tuple[str, str]]:
    """Return the places and texts of all calls of the command line."""
    found = []
    for page in PAGES:
        text = page.read_text(encoding="utf-8")
        for match in COMMAND.finditer(text):
            found.append((place_of(page, text, match), match.group(1)))
    return found


CALLS = calls()


@pytest.mark.parametrize(("where", "call"), CALLS, ids=[where for where, _ in CALLS])
def test_calls_of_the_command_line_are_known(where, call):
    words = shlex.split(call.replace("\\\n", " "), comments=True)
    program, *arguments = takewhile(lambda word: word not in SHELL, words)
    assert program == "evenhand"
    assert build().parse_args(arguments).command == arguments[0]


@pytest.mark.parametrize(
    ("where", "text"), STUDIES, ids=lambda value: value if ":" in value[:40] else ""
)
def test_toml_examples_declare_a_study(where, text, tmp_path, monkeypatch):
    needs_data(
        re.findall(r'^name = "(adult|compas|german)"', text, re.MULTILINE), monkeypatch
    )
    loans = ["id,age,sex,approved"]
    for row in range(40):
        sex = "FM"[row % 2]
        approved = ["no", "yes"][row % 3 % 2]
        loans.append(f"{row},{20 + row},{sex},{approved}")
    (tmp_path / "loans.csv").write_text("\n".join(loans))
    file = tmp_path / "study.toml"
    file.write_text(text)
    assert read_study(file).study.units
