"""A run that a signal ends: what is known is printed and written, and no process is left behind."""

from __future__ import annotations

import json
import os
import signal
import subprocess
import sys
import textwrap
import threading
import time
from contextlib import contextmanager
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from typing import Any
from uuid import uuid4

import pytest

import evenhand as eh

pytestmark = pytest.mark.skipif(
    not Path("/proc/self/environ").exists(), reason="needs /proc"
)

MARK = "EVENHAND_TEST_RUN"
SPACE = """
[space]
protected = ["sex"]
[space.features.sex]
levels = ["F", "M"]
[space.features.age]
low = 18
high = 90000
"""
BEFORE = 150
"""How many inputs are answered before the software hangs: more than are asked at first."""
SCRIPT = f"""\
#!/bin/sh
echo "$2" >> log
if [ -e hang ] && [ "$(wc -l < log)" -gt {BEFORE} ]; then touch hung; sleep 300; fi
if [ "$2" -gt 40000 ]; then echo yes; else echo no; fi
"""
STREAM = f"""\
import json, pathlib, subprocess, sys
for number, line in enumerate(sys.stdin):
    if pathlib.Path("hang").exists() and number > {BEFORE}:
        pathlib.Path("hung").touch()
        subprocess.run(["sleep", "300"])
    print("yes" if json.loads(line)["age"] > 40000 else "no", flush=True)
"""
RULES = f"""\
import pathlib, time
asked = 0
def decide(people):
    global asked
    asked += len(people)
    if pathlib.Path("hang").exists() and asked > {BEFORE}:
        pathlib.Path("hung").touch()
        time.sleep(300)
    return people["age"] > 40000
"""
SLOW_RULES = """\
import os, pathlib, time
def decide(people):
    is_worker = os.getppid() != int(os.environ["EVENHAND_TEST_STARTER"])
    if is_worker:
        pathlib.Path("hung").touch()
        time.sleep(300)
    time.sleep(0.002 * len(people))
    return people["age"] > 40000
"""
"""Slow enough for its inputs to be shared among workers, which hang."""
CODES = {
    signal.SIGINT: 130,
    signal.SIGTERM: 143,
    signal.SIGHUP: 129,
    signal.SIGKILL: -9,
}
SUBJECTS = {
    "command": """\
[subject]
command = ["./decide.sh", "{sex}", "{age}"]
positive = "yes"
workers = 4
""",
    "stream": f'[subject]\nstream = ["{sys.executable}", "-S", "answer.py"]\npositive = "yes"\n',
    "function": '[subject]\nfunction = "rules:decide"\n',
}


def named(number: signal.Signals) -> str:
    return number.name


def among(*quick: tuple[str, signal.Signals]) -> list[Any]:
    """Return all kinds of software with all signals; those that are not named here are slow."""
    every = []
    for kind in SUBJECTS:
        for number in CODES:
            marks = () if (kind, number) in quick else (pytest.mark.slow,)
            name = f"{kind}-{number.name}"
            every.append(pytest.param(kind, number, marks=marks, id=name))
    return every


class HangingRun:
    """One folder with software that hangs after a while, and the command line in it."""

    def __init__(self, folder: Path) -> None:
        self.folder = folder
        self.mark = uuid4().hex
        self.environment = {
            **os.environ,
            MARK: self.mark,
            "EVENHAND_TEST_STARTER": str(os.getpid()),
        }
        script = folder / "decide.sh"
        script.write_text(SCRIPT)
        script.chmod(0o755)
        (folder / "answer.py").write_text(STREAM)
        (folder / "rules.py").write_text(RULES)
        (folder / "hang").touch()

    def configure(self, subject: str, ledger: str = "answers.sqlite") -> None:
        text = subject + f'ledger = "{ledger}"\n' if ledger else subject
        (self.folder / "evenhand.toml").write_text(text + SPACE)

    def start(self, *words: str, session: bool = False) -> subprocess.Popen[str]:
        command = [sys.executable, "-m", "evenhand", "measure", "--over", "sex"]
        # Jobs in the background ignore it, and so do their children.
        before = signal.signal(signal.SIGINT, signal.SIG_DFL)
        try:
            return subprocess.Popen(
                [*command, "--margin", "0.04", "--json", "out.json", *words],
                cwd=self.folder,
                env=self.environment,
                stdout=subprocess.PIPE,
                stderr=subprocess.PIPE,
                text=True,
                start_new_session=session,
            )
        finally:
            signal.signal(signal.SIGINT, before)

    def until_hung(self, process: subprocess.Popen[str]) -> None:
        while not (self.folder / "hung").exists():
            assert process.poll() is None, process.communicate()
            time.sleep(0.01)

    def left(self) -> list[str]:
        """Return the commands that still run a while after the run has ended."""
        end = time.monotonic() + 20
        while (found := self._running()) and time.monotonic() < end:
            time.sleep(0.02)
        return found

    def _running(self) -> list[str]:
        mark = f"{MARK}={self.mark}".encode()
        found = []
        for folder in Path("/proc").glob("[0-9]*"):
            try:
                if mark in (folder / "environ").read_bytes():
                    found.append((folder / "cmdline").read_text().replace("\0", " "))
            except OSError:
                continue  # it has ended
        return found

    def result(self) -> eh.Result:
        return eh.Result.from_json(self.folder / "out.json")

    def resumed(self) -> str:
        """Return the digest of the run that goes on with software that does not hang."""
        (self.folder / "hang").unlink(missing_ok=True)
        process = self.start()
        _, err = process.communicate(timeout=120)
        assert process.returncode == 0, err
        return self.result().digest


@pytest.fixture
def run(tmp_path):
    return HangingRun(tmp_path)


@contextmanager
def hanging_service(folder: Path):
    """Serve decisions, and hang after a while."""
    released = threading.Event()

    class Handler(BaseHTTPRequestHandler):
        asked = 0

        def do_POST(self):
            length = int(self.headers["Content-Length"])
            people = json.loads(self.rfile.read(length))["inputs"]
            Handler.asked += len(people)
            if (folder / "hang").exists() and Handler.asked > BEFORE:
                (folder / "hung").touch()
                released.wait(300)
            answers = [person["age"] > 40000 for person in people]
            content = json.dumps(answers).encode()
            self.send_response(200)
            self.send_header("Content-Length", str(len(content)))
            self.end_headers()
            self.wfile.write(content)

        def log_message(self, *arguments):
            pass

    class Server(ThreadingHTTPServer):
        daemon_threads = True

        def handle_error(self, *arguments):
            """Say nothing of a caller that was killed."""

    with Server(("127.0.0.1", 0), Handler) as server:
        threading.Thread(target=server.serve_forever, daemon=True).start()
        yield f'[subject]\nhttp = "http://127.0.0.1:{server.server_port}/decide"\nbatch = 20\n'
        released.set()
        server.shutdown()


def ended(run: HangingRun, number: signal.Signals) -> None:
    """Start a run, end it by a signal once its software hangs, and check what is left of it."""
    process = run.start()
    run.until_hung(process)
    process.send_signal(number)
    out, err = process.communicate(timeout=60)
    assert process.returncode == CODES[number], err
    assert run.left() == []
    if number is signal.SIGKILL:
        assert not (run.folder / "out.json").exists()
        return
    assert err == ""
    assert "the run was interrupted" in out
    found = run.result()
    assert found.stop is eh.StopReason.INTERRUPTED
    assert found.exit_code == 130, "what a file says does not depend on the signal"


@pytest.mark.parametrize(
    ("kind", "number"),
    among(
        ("command", signal.SIGTERM),
        ("command", signal.SIGKILL),
        ("stream", signal.SIGHUP),
        ("stream", signal.SIGKILL),
        ("function", signal.SIGTERM),
    ),
)
def test_a_signal_ends_a_run_and_all_its_processes(run, kind, number):
    run.configure(SUBJECTS[kind])
    ended(run, number)


@pytest.mark.parametrize(
    "number",
    [signal.SIGTERM, pytest.param(signal.SIGKILL, marks=pytest.mark.slow)],
    ids=named,
)
def test_a_signal_ends_a_run_that_asks_a_service(run, number):
    with hanging_service(run.folder) as subject:
        run.configure(subject)
        ended(run, number)


@pytest.mark.parametrize("number", [signal.SIGTERM, signal.SIGKILL], ids=named)
def test_a_run_that_was_ended_is_resumed_to_the_same_digest(run, number):
    run.configure(SUBJECTS["command"])
    ended(run, number)
    resumed = run.resumed()
    (run.folder / "answers.sqlite").unlink()
    assert run.resumed() == resumed


def with_workers(run: HangingRun) -> subprocess.Popen[str]:
    """Start a run whose workers hang, in a session of its own."""
    run.configure(SUBJECTS["function"], ledger="")
    (run.folder / "rules.py").write_text(SLOW_RULES)
    process = run.start("--margin", "0.001", "--n-jobs", "2", session=True)
    run.until_hung(process)
    return process


@pytest.mark.parametrize("number", [signal.SIGTERM, signal.SIGKILL], ids=named)
def test_a_signal_ends_the_workers_too(run, number):
    process = with_workers(run)
    process.send_signal(number)
    _, err = process.communicate(timeout=60)
    assert process.returncode == CODES[number], err
    assert run.left() == []
    assert "Traceback" not in err


@pytest.mark.parametrize(
    "number",
    [signal.SIGINT, pytest.param(signal.SIGHUP, marks=pytest.mark.slow)],
    ids=named,
)
def test_a_terminal_sends_signals_to_workers_as_well(run, number):
    process = with_workers(run)
    os.killpg(process.pid, number)
    out, err = process.communicate(timeout=60)
    assert process.returncode == CODES[number], err
    assert run.left() == []
    assert "the run was interrupted" in out
    if number is signal.SIGINT:
        assert err == ""  # a terminal that has gone shows nothing


def test_a_second_signal_ends_what_the_first_left_to_do(run):
    run.configure(SUBJECTS["stream"])
    process = run.start()
    run.until_hung(process)
    for _ in range(3):
        process.send_signal(signal.SIGTERM)
    _, err = process.communicate(timeout=60)
    assert process.returncode == 143
    assert "Traceback" not in err
    assert run.left() == []


def test_a_signal_that_is_ignored_stays_ignored(run):
    run.configure(SUBJECTS["function"])
    (run.folder / "hang").unlink()
    (run.folder / "rules.py").write_text(
        RULES.replace(
            "if pathlib",
            "import os, signal; os.kill(os.getpid(), signal.SIGHUP)\n    if pathlib",
        )
    )
    before = signal.signal(signal.SIGHUP, signal.SIG_IGN)
    try:
        process = run.start()
    finally:
        signal.signal(signal.SIGHUP, before)
    _, err = process.communicate(timeout=60)
    assert process.returncode == 0, err


def test_a_test_that_is_ended_leaves_no_process_behind(run):
    code = """
        import evenhand as eh
        space = eh.Space([eh.category("sex", ["F", "M"]), eh.integer("age", 18, 90000)], ["sex"])
        command = ["./decide.sh", "{sex}", "{age}"]
        def test_it(fairness):
            subject = eh.Subject.command(command, space, positive="yes", workers=4)
            fairness.measure(subject, over="sex", margin=0.01)
    """
    (run.folder / "test_it.py").write_text(textwrap.dedent(code))
    process = subprocess.Popen(
        [sys.executable, "-m", "pytest", "-q", "-p", "no:cacheprovider", "test_it.py"],
        cwd=run.folder,
        env=run.environment,
        stdout=subprocess.PIPE,
        stderr=subprocess.STDOUT,
        text=True,
    )
    run.until_hung(process)
    process.send_signal(signal.SIGTERM)
    process.communicate(timeout=60)
    assert process.returncode == -signal.SIGTERM
    assert run.left() == []
