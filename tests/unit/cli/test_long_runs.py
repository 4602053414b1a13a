"""Before what takes long, a person at a terminal is asked; nobody else ever is."""

from __future__ import annotations

import io
import os
import pty
import re
import subprocess
import sys
import threading
from typing import Any

import pytest

from evenhand.cli import plan
from evenhand.config.audit import plans_of
from evenhand.config.file import Config
from evenhand.config.plan import foreseen_cost

SLOW = """import time

def lend(people):
    time.sleep(0.02 * len(people))
    return people["age"] > 40
"""
CONFIG = """[subject]
function = "lending:lend"
[space]
protected = ["sex"]
[space.features.sex]
kind = "category"
levels = ["F", "M"]
[space.features.age]
kind = "integer"
low = 18
high = 90
[space.features.income]
kind = "integer"
low = 0
high = 99999
[[checks]]
job = "search"
over = ["sex"]
queries = {queries}
explain = false
"""
QUICK = SLOW.replace("0.02", "0.0001")
AUTOMATIC = ("CI", "PYTEST_VERSION", "PYTEST_CURRENT_TEST")
AT_ONCE = """import sys
from evenhand.cli import plan
from evenhand.cli.main import main

plan.LONG = 0.0
sys.exit(main(sys.argv[1:]))
"""
"""The command line, to which everything is long."""


class OpenTerminal(io.StringIO):
    """A stream that is a terminal."""

    def isatty(self) -> bool:
        """Return that it is one."""
        return True


@pytest.fixture
def project(tmp_path, monkeypatch) -> Any:
    """Return a function that writes software and a configuration."""
    monkeypatch.chdir(tmp_path)

    def write(queries: int, program: str = SLOW) -> None:
        tmp_path.joinpath("lending.py").write_text(program)
        tmp_path.joinpath("evenhand.toml").write_text(CONFIG.format(queries=queries))

    return write


def at_terminal(code: str, arguments: list[str], answer: bytes) -> tuple[int, str]:
    """Run a command at a terminal, answer a question; return the exit code, and what is seen."""
    ours, theirs = pty.openpty()
    environment = {**os.environ, "TERM": "xterm", "COLUMNS": "160"}
    for name in AUTOMATIC:
        environment.pop(name, None)
    command = [sys.executable, "-c", code, *arguments]
    with subprocess.Popen(
        command, env=environment, stdin=theirs, stdout=theirs, stderr=theirs
    ) as process:
        os.close(theirs)
        # Whoever is not asked must not make the test wait for a long run.
        patience = threading.Timer(60, process.kill)
        patience.start()
        os.write(ours, answer)
        seen = b""
        try:
            while part := os.read(ours, 65_536):
                seen += part
        except OSError:  # what a terminal says when nobody holds its other end
            pass
        patience.cancel()
    os.close(ours)
    return process.returncode, seen.decode()


def test_what_takes_long_is_not_run_where_the_answer_is_no(project):
    project(queries=60_000)
    code = "import sys; from evenhand.cli.main import main; sys.exit(main(sys.argv[1:]))"
    status, seen = at_terminal(code, ["audit"], b"\n")
    assert status == plan.DECLINED == 130
    asked = r"about 60,000 inputs are foreseen, which take about \d+ min; go on\? \[y/N\]"
    assert re.search(asked, seen)
    assert "nothing was run" in seen


def test_it_is_run_where_the_answer_is_yes(project):
    project(queries=300, program=QUICK)
    status, seen = at_terminal(AT_ONCE, ["search"], b"y\n")
    assert status in (0, 1, 3)
    assert "go on? [y/N]" in seen
    assert "nothing was run" not in seen


def test_yes_asks_nothing_at_a_terminal(project):
    project(queries=300, program=QUICK)
    status, seen = at_terminal(AT_ONCE, ["audit", "--yes"], b"")
    assert status in (0, 1, 3)
    assert "go on?" not in seen


@pytest.mark.parametrize("variable", ["CI", "PYTEST_VERSION", "PYTEST_CURRENT_TEST"])
def test_nobody_is_at_the_terminal_of_a_machine(monkeypatch, variable):
    for name in ("stdin", "stdout", "stderr"):
        monkeypatch.setattr(sys, name, OpenTerminal())
    for name in AUTOMATIC:
        monkeypatch.delenv(name, raising=False)
    assert plan.somebody_is_there()
    monkeypatch.setenv(variable, "true")
    assert not plan.somebody_is_there()


@pytest.mark.parametrize("piped", ["stdin", "stdout", "stderr"])
def test_nobody_is_asked_where_anything_is_piped(monkeypatch, piped):
    for name in AUTOMATIC:
        monkeypatch.delenv(name, raising=False)
    for name in {"stdin", "stdout", "stderr"} - {piped}:
        monkeypatch.setattr(sys, name, OpenTerminal())
    monkeypatch.setattr(sys, piped, io.StringIO())
    assert not plan.somebody_is_there()


def test_quick_software_is_asked_a_few_inputs_and_nothing_is_foreseen(project):
    project(queries=300, program=SLOW.replace("0.02", "0"))
    config = Config.load()
    plans = plans_of(config, {})
    cost: dict[str, Any] = {"seed": 0, "n_jobs": 1, "long": plan.LONG}
    assert foreseen_cost(config, plans, **cost) == (0, 0.0)
    inputs, seconds = foreseen_cost(config, plans, **{**cost, "long": 1e-9})
    assert inputs == 300
    assert 0 < seconds < 10
