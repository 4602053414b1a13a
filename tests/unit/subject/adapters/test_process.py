"""A program as the user names it: where it is found, what it is called, and how it ends."""

from __future__ import annotations

import hashlib
import json
import os
import shlex
import signal
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest

from evenhand.runtime.errors import SubjectCrashed, UsageError
from evenhand.subject.adapters.process import (
    Program,
    checked_argv,
    ending,
    kill_group,
    last_words,
)
from tests.support.helpers import gone, refused


def script(file: Path, text: str = "#!/bin/sh\nexit 0\n") -> Path:
    file.write_text(text)
    file.chmod(0o755)
    return file


# How it is named


@pytest.mark.parametrize(
    ("argv", "name"),
    [
        ([sys.executable, "-I", "loan.py", "{age}"], "loan.py"),
        ([sys.executable, "-m", "loans"], Path(sys.executable).name),
        (["sh", "models/loan.sh"], "loan.sh"),
        (["./score"], "score"),
        (["./score", "--config", "loan.toml", "people.csv"], "score loan.toml"),
        (["ls", "no\0path"], "ls"),
    ],
)
def test_people_know_a_program_by_its_file(tmp_path, argv, name):
    (tmp_path / "models").mkdir()
    for file in ("loan.py", "models/loan.sh", "score", "loan.toml", "people.csv"):
        script(tmp_path / file)
    assert Program.of(tuple(argv), tmp_path, None).name == name


@pytest.mark.parametrize(
    ("argv", "words"),
    [
        ("ls -l", ["'ls -l'", "['ls', '-l']", "no shell"]),
        (b"ls", ["must be a list"]),
        (["ls", 3], ["the argument 3 of the command is not text; write it as '3'"]),
        ([], ["the command is empty"]),
        (["", "x"], ["the command is empty"]),
    ],
)
def test_commands_that_cannot_be_read(argv: Any, words):
    refused(UsageError, lambda: checked_argv(argv), *words)


def test_a_command_is_texts():
    assert checked_argv(["ls", Path("a/b"), ""]) == ("ls", "a/b", "")


@pytest.mark.parametrize("value", [3, None, "a\0b"])
def test_an_environment_holds_texts(value: Any):
    refused(
        UsageError,
        lambda: Program.of(("sh",), None, {"A": value}),
        f"env has A = {value!r}; it must be a text",
    )
    refused(UsageError, lambda: Program.of(("sh",), None, {"A\0": "x"}), "must be a text")


# Where it is found


def test_a_program_is_found_on_the_path(tmp_path, monkeypatch):
    file = script(tmp_path / "program-of-ours")
    refused(
        UsageError,
        lambda: Program.of(("program-of-ours",), None, None),
        "the program 'program-of-ours' is not on the PATH",
    )
    found = Program.of(("program-of-ours", "-x"), None, {"PATH": str(tmp_path)})
    assert found.path == str(file)
    assert found.argv == ("program-of-ours", "-x")
    assert found.cwd is None
    assert found.env == {"PATH": str(tmp_path)}
    monkeypatch.setenv("PATH", str(tmp_path))
    assert Program.of(("program-of-ours",), None, None).path == str(file)
    # An environment without a PATH has the one that the system gives.
    refused(UsageError, lambda: Program.of(("program-of-ours",), None, {}), "PATH")


def test_a_path_is_seen_from_the_working_directory(tmp_path, monkeypatch):
    (tmp_path / "in").mkdir()
    file = script(tmp_path / "in" / "a")
    assert Program.of(("./a",), tmp_path / "in", None).path == str(file)
    assert Program.of(("in/a",), tmp_path, None).cwd == str(tmp_path)
    monkeypatch.chdir(tmp_path)
    assert Program.of(("in/a",), None, None).path == str(file)
    refused(
        UsageError,
        lambda: Program.of(("./a",), None, None),
        f"the program './a' does not exist as a file at {tmp_path / 'a'}",
    )
    refused(
        UsageError, lambda: Program.of(("./in",), None, None), "does not exist as a file"
    )


def test_another_name_is_looked_for_where_one_is_given(tmp_path):
    file = script(tmp_path / "a")
    found = Program.of(("{{a}}",), None, None, name=str(file))
    assert (found.argv, found.path) == (("{{a}}",), str(file))


def test_a_program_must_be_executable(tmp_path):
    file = tmp_path / "a program"
    file.write_text("#!/bin/sh\n")
    file.chmod(0o644)
    refused(
        UsageError,
        lambda: Program.of((str(file),), None, None),
        f"is not executable; run: chmod +x {shlex.quote(str(file))}",
    )


@pytest.mark.parametrize("name", ["none", "file", "no\0name"])
def test_a_working_directory_must_be_one(tmp_path, name):
    (tmp_path / "file").write_text("")
    refused(
        UsageError,
        lambda: Program.of(("sh",), str(tmp_path / name), None),
        "of the command 'sh' is not a directory; check cwd",
    )


# What tells it from others


def test_the_identity_is_the_command_and_the_files_in_it(tmp_path):
    file = script(tmp_path / "a")
    (tmp_path / "weights").write_text("1 2 3")
    argv = ("./a", "weights", "-x", "no\0path")
    digest = hashlib.sha256()
    digest.update(hashlib.sha256(file.read_bytes()).digest())
    digest.update(hashlib.sha256(b"1 2 3").digest())
    found = Program.of(argv, tmp_path, None).identity("stream")
    assert found == f"stream:{json.dumps(list(argv))} sha256:{digest.hexdigest()}"


def test_files_of_the_arguments_are_seen_from_here_without_a_working_directory(
    tmp_path, monkeypatch
):
    (tmp_path / "weights").write_text("1 2 3")
    monkeypatch.chdir(tmp_path)
    program = Program.of(("sh", "weights"), None, None)
    before = program.identity("command")
    (tmp_path / "weights").write_text("1 2 4")
    assert program.identity("command") != before


# How it is started and ended


def test_a_program_runs_in_its_folder_and_environment_in_a_group_of_its_own(tmp_path):
    text = f"#!{sys.executable}\nimport os\nprint(os.getcwd(), os.environ['A'], os.getpgrp())\n"
    script(tmp_path / "a", text)
    program = Program.of(("./a",), tmp_path, {"A": "b"})
    with program.start(["./a"], stdin=subprocess.DEVNULL, kind="command") as process:
        assert process.stdout is not None
        assert process.stderr is not None
        found = process.stdout.read().decode().split()
    assert found == [str(tmp_path), "b", str(process.pid)]
    assert process.returncode == 0


def test_a_file_that_is_no_program_is_named(tmp_path):
    file = script(tmp_path / "a", "no first line")
    program = Program.of((str(file),), None, None)
    refused(
        UsageError,
        lambda: program.start([str(file), "x"], stdin=subprocess.DEVNULL, kind="command"),
        f"the command {file} x cannot be run: Exec format error",
        f"check that {file} is a program",
    )


def test_an_argument_that_cannot_be_passed_is_refused(tmp_path):
    program = Program.of(("sh",), None, None)
    refused(
        UsageError,
        lambda: program.start(["sh", "a\0b"], stdin=subprocess.DEVNULL, kind="stream"),
        "the stream sh 'a",
        "as an argument is not valid",
    )


def test_a_system_without_processes_to_spare_is_a_crash(monkeypatch):
    def full(*_arguments: Any, **_options: Any) -> None:
        raise BlockingIOError(11, "Resource temporarily unavailable")

    program = Program.of(("sh",), None, None)
    monkeypatch.setattr(subprocess.Popen, "__init__", full)
    refused(
        SubjectCrashed,
        lambda: program.start(["sh"], stdin=subprocess.DEVNULL, kind="command"),
        "the command sh could not be started: Resource temporarily unavailable",
    )


def test_a_group_is_killed_with_its_children():
    code = "import subprocess, sys; c = subprocess.Popen(['sleep', '60']); print(c.pid)"
    program = Program.of((sys.executable,), None, None)
    argv = [sys.executable, "-c", f"{code}; sys.stdout.flush(); c.wait()"]
    with program.start(argv, stdin=subprocess.DEVNULL, kind="command") as process:
        assert process.stdout is not None
        child = int(process.stdout.readline())
        kill_group(process)
    assert process.returncode == -signal.SIGKILL
    assert gone(child)
    # A process that has ended is left alone: its number may be that of another.
    kill_group(process)


def test_a_process_without_a_group_of_its_own_is_killed_alone():
    process = subprocess.Popen(["sleep", "60"])
    assert os.getpgid(process.pid) == os.getpgrp()
    kill_group(process)
    assert process.wait() == -signal.SIGKILL


@pytest.mark.parametrize(
    ("code", "text"),
    [
        (0, "exited with code 0"),
        (3, "exited with code 3"),
        (-9, "was killed by SIGKILL"),
        (-1, "was killed by SIGHUP"),
        (-200, "was killed by signal 200"),
    ],
)
def test_how_a_process_ended(code, text):
    assert ending(code) == text


def test_the_last_words_are_the_end_of_what_was_printed():
    assert last_words(b" \n") == "nothing on standard error"
    assert last_words(b"oh\nno \xff") == "standard error: oh no \ufffd"
    assert last_words(b"x" * 240) == "standard error: " + "x" * 240
    assert last_words(b"y" + b"x" * 240) == "standard error: …" + "x" * 239
    assert last_words(b"abcdef", 4) == "standard error: …def"
