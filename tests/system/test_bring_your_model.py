"""Every section of "Bring your model" runs as it stands, and finds the bias that it plants."""

from __future__ import annotations

import contextlib
import importlib.util
import os
import re
import shlex
import shutil
import subprocess
import sys
from dataclasses import dataclass
from typing import TYPE_CHECKING

import pytest

from tests.support.front_door.programs import served_on
from tests.support.paths import ROOT

if TYPE_CHECKING:
    from collections.abc import Iterator
    from pathlib import Path

PAGE = ROOT / "docs" / "how-to" / "bring-your-model.md"
FENCE = re.compile(r"^```(\w+)(?: (\S+))?\n(.*?)^```", re.MULTILINE | re.DOTALL)
ADDRESS = "127.0.0.1:8000"
"""Where the page says that its service runs."""
QUICK = ("A function in Python",)
"""Sections that every run of the tests tries; the others are tried where all tests are."""
NEEDS = {
    "XGBoost": "xgboost",
    "LightGBM": "lightgbm",
    "CatBoost": "catboost",
    "ONNX": "skl2onnx",
    "An HTTP service": "fastapi",
}


@dataclass(frozen=True)
class Example:
    """A fenced example: its language, the file that it is to be saved as, and its text."""

    language: str
    file: str
    text: str


def examples(text: str) -> list[Example]:
    found = []
    for language, file, body in FENCE.findall(text):
        found.append(Example(language, file, body))
    return found


def page() -> tuple[str, dict[str, str]]:
    """Return what the page begins with, and its sections by their headings."""
    beginning, *parts = PAGE.read_text(encoding="utf-8").split("\n## ")
    sections = {}
    for part in parts:
        heading, _, body = part.partition("\n")
        sections[heading] = body
    return beginning, sections


BEGINNING, SECTIONS = page()
RUN = [heading for heading, body in SECTIONS.items() if "```console" in body]


def marked() -> list[object]:
    every: list[object] = []
    for heading in RUN:
        marks = () if heading in QUICK else pytest.mark.slow
        every.append(pytest.param(heading, id=heading, marks=marks))
    return every


def environment() -> dict[str, str]:
    """Return the environment of a shell in which the page's commands are found."""
    beside_python = os.path.dirname(sys.executable)  # noqa: PTH120 - a link is not followed
    path = os.pathsep.join([beside_python, os.environ.get("PATH", "")])
    return {**os.environ, "PATH": path, "OMP_NUM_THREADS": "1"}


def commands(text: str) -> list[str]:
    return [line[2:] for line in text.splitlines() if line.startswith("$ ")]


def run_command(command: str, folder: Path) -> None:
    """Run a command of the page; an audit must find the planted bias."""
    done = subprocess.run(
        shlex.split(command),
        cwd=folder,
        env=environment(),
        stdin=subprocess.DEVNULL,
        capture_output=True,
        text=True,
        check=False,
    )
    wanted = 1 if command.startswith("evenhand audit") else 0
    assert done.returncode == wanted, f"{command}\n{done.stdout}\n{done.stderr}"


def run_example(example: Example, folder: Path, service: str) -> None:
    if example.language == "c":
        (folder / "loan.c").write_text(example.text, encoding="utf-8")
    elif example.file:
        (folder / example.file).write_text(example.text, encoding="utf-8")
    elif example.language == "python":
        exec(compile(example.text, PAGE.name, "exec"), {"__name__": "example"})
    elif example.language == "console":
        for command in commands(example.text):
            run_command(command.replace(ADDRESS, service), folder)


@contextlib.contextmanager
def service_of(section: str, folder: Path) -> Iterator[str]:
    """Run the service of a section, if it has one, and yield its address."""
    files = [example for example in examples(section) if example.file == "service.py"]
    if not files:
        yield ADDRESS
        return
    (folder / "service.py").write_text(files[0].text, encoding="utf-8")
    with served_on(folder) as port:
        yield f"127.0.0.1:{port}"


def need(heading: str) -> None:
    package = NEEDS.get(heading, "evenhand")
    if importlib.util.find_spec(package) is None:
        pytest.skip(f"{package} is not installed")
    if "program" in heading and shutil.which("cc") is None:
        pytest.skip("there is no C compiler here")


@pytest.mark.parametrize("heading", marked())
def test_a_section_finds_the_planted_bias(heading, tmp_path, monkeypatch):
    need(heading)
    monkeypatch.chdir(tmp_path)
    for example in examples(BEGINNING):
        run_example(example, tmp_path, ADDRESS)
    section = SECTIONS[heading]
    with service_of(section, tmp_path) as service:
        for example in examples(section):
            run_example(example, tmp_path, service)


def test_every_kind_has_a_section():
    assert set(QUICK) < set(RUN)
    assert set(NEEDS) < set(RUN)
    assert len(RUN) >= 11
