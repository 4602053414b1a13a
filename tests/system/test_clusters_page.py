"""The commands of docs/how-to/clusters.md, with a scheduler and two workers as processes."""

from __future__ import annotations

import os
import shlex
import socket
import subprocess
import sys
from contextlib import ExitStack
from typing import TYPE_CHECKING

import pytest

from evenhand.cli.main import main
from tests.support.paths import ROOT

if TYPE_CHECKING:
    from pathlib import Path

PAGE = ROOT / "docs" / "how-to" / "clusters.md"
CONFIG = """
[subject]
function = "shared_rule:lend"
memo = false
[space]
protected = ["sex"]
[space.features.sex]
levels = ["F", "M"]
[space.features.age]
low = 18
high = 90
"""
RULE = """
import os, time
from pathlib import Path

def lend(people):
    Path(f"asked-{os.getpid()}").touch()
    time.sleep(1e-3 * len(people))
    return (people["age"] > 40) & (people["sex"] == "M")
"""


def commands(program: str) -> list[list[str]]:
    """Return the commands of the page that a program runs."""
    lines = PAGE.read_text(encoding="utf-8").splitlines()
    return [shlex.split(line) for line in lines if line.startswith(f"    {program} ")]


@pytest.mark.heavy
def test_two_workers_that_are_started_by_hand_share_the_work(tmp_path, monkeypatch, capsys):
    distributed = pytest.importorskip("distributed", reason="Dask is not installed")
    monkeypatch.chdir(tmp_path)
    (tmp_path / "shared_rule.py").write_text(RULE)
    (tmp_path / "evenhand.toml").write_text(CONFIG)
    with socket.socket() as free:
        free.bind(("127.0.0.1", 0))
        port = str(free.getsockname()[1])
    with ExitStack() as running:
        started = commands("dask")
        assert [words[1] for words in started] == ["scheduler", "worker", "worker"]
        for words in started:
            start([word.replace("8786", port) for word in words], tmp_path, running)
        with distributed.Client(f"tcp://127.0.0.1:{port}", set_as_default=False) as client:
            client.wait_for_workers(2, timeout=60)
        command = next(words for words in commands("evenhand") if "dask:" in words[-1])
        words = [word.replace("8786", port) for word in command[1:]]
        words += ["--no-exact", "--margin", "0.02", "--json", "shared.json"]
        code = main(words)
        assert code in (0, 1, 3), capsys.readouterr().err
    assert len(list(tmp_path.glob("asked-*"))) == 3


def start(words: list[str], folder: Path, running: ExitStack) -> None:
    """Start a part of a cluster, which ends with the stack."""
    process = subprocess.Popen(
        [sys.executable, "-m", "distributed.cli.dask_" + words[1], *words[2:]],
        cwd=folder,
        env=os.environ | {"PYTHONPATH": f"{ROOT / 'src'}{os.pathsep}{folder}"},
        stdout=subprocess.DEVNULL,
        stderr=subprocess.DEVNULL,
    )

    def end() -> None:
        process.terminate()
        process.wait(timeout=30)

    running.callback(end)
