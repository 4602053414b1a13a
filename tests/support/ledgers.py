"""What tests do to a ledger beside the run that uses it."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from typing import TYPE_CHECKING, Any

from evenhand.subject.ledger.sqlite.rows import SqliteRows
from tests.support.paths import ROOT

if TYPE_CHECKING:
    import sqlite3
    from pathlib import Path

    from evenhand.subject.ledger.ledger import Ledger


RUN = """
import json, sys
import numpy as np
from evenhand.space.feature import category, integer
from evenhand.space.space import Space
from evenhand.subject.memo import Occasions
from evenhand.subject.subject import Subject
program, ledger, order, count = sys.argv[1:5]
space = Space([category("sex", ["F", "M"]), integer("age", 0, 199)], ["sex"])
points = np.array([[age % 2, age] for age in range(int(count))], dtype=float)
if order == "backwards":
    points = points[::-1]
command = [program, "{age}", "{sex}"]
with Subject.command(command, space, ledger=ledger, workers=2, identity="loan") as subject:
    if order == "occasions":
        subject.occasions = Occasions()
    print("ready", flush=True)
    sys.stdin.readline()
    outcomes = subject.decide(points).tolist()
    print(json.dumps([subject.executed, sorted(zip(points[:, 1].tolist(), outcomes))]))
"""


def program(folder: Path, pause: float = 0.02) -> tuple[str, Path]:
    """Write a program that notes each input that it runs on."""
    log = folder / "runs.log"
    path = folder / "loan"
    path.write_text(
        f'#!/bin/sh\necho "$1 $2" >> {log}\nsleep {pause}\n'
        'if [ "$1" -gt 50 ]; then echo approve; else echo deny; fi\n'
    )
    path.chmod(0o755)
    return str(path), log


def started(
    path: str, ledger: Path | str, order: str = "forwards", count: int = 150
) -> subprocess.Popen[str]:
    """Start a process that opens the ledger, and asks once it is told to go."""
    return started_code(RUN, path, ledger, order, count)


def started_code(code: str, *arguments: object) -> subprocess.Popen[str]:
    """Start a process that says when it is ready, and waits until it is told to go."""
    process = subprocess.Popen(
        [sys.executable, "-c", code, *map(str, arguments)],
        env=os.environ | {"PYTHONPATH": os.environ.get("PYTHONPATH", str(ROOT / "src"))},
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
    )
    assert process.stdout is not None
    assert process.stdout.readline() == "ready\n"
    return process


def go(process: subprocess.Popen[str]) -> None:
    assert process.stdin is not None
    process.stdin.write("go\n")
    process.stdin.flush()


def finished(process: subprocess.Popen[str]) -> Any:
    output, trouble = process.communicate(timeout=120)
    assert (process.returncode, trouble) == (0, "")
    return json.loads(output)


def connection_of(ledger: Ledger | None) -> sqlite3.Connection:
    """Return the open connection of a ledger to its file."""
    assert ledger is not None
    rows = ledger.store.rows
    assert isinstance(rows, SqliteRows)
    return rows.connection
