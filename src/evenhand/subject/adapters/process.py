"""A program as the user names it: found, identified, started in a process group, and ended."""

from __future__ import annotations

import hashlib
import json
import os
import re
import shlex
import shutil
import signal
import subprocess
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

from evenhand.runtime.errors import SubjectCrashed, UsageError, clip, one_line
from evenhand.runtime.fingerprint import file_digest
from evenhand.runtime.interruption import signals_held
from evenhand.runtime.options import FOLDER, NUMBER, TABLE, WHOLE, Option
from evenhand.runtime.system.orphans import forget_group, inherited_mark, note_group
from evenhand.subject.adapters.records import shown

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

MOST_OUTPUT = 1 << 20
"""Bytes of standard output after which a program is stopped: an outcome is one line."""
KEPT_ERRORS = 1 << 13
_INTERPRETER = re.compile(
    r"(python|pypy|java|node|deno|ruby|perl|php|julia|rscript|bash|sh|dotnet)[\d.]*",
    re.IGNORECASE,
)
"""Programs that run the file they are given, by which people know the software."""
WORKERS = Option("workers", WHOLE, "how many processes run at a time")
TIMEOUT = Option("timeout", NUMBER, "seconds allowed to one answer")
CWD = Option("cwd", FOLDER, "the working directory of the program")
ENV = Option("env", TABLE, "the environment of the program; by default that of the caller")


class GroupProcess(subprocess.Popen[bytes]):
    """A process in a group of its own, which is killed when evenhand dies before it has ended."""

    _place: int | None = None

    def __init__(self, argv: Sequence[str], **options: Any) -> None:
        super().__init__(argv, pass_fds=inherited_mark(), **options)
        self._place = note_group(self.pid)

    def __exit__(self, *error: Any) -> None:
        super().__exit__(*error)
        self.forget()

    def forget(self) -> None:
        """Note that the process has ended."""
        place = self._place
        if place is not None:
            self._place = None
            forget_group(place)


@dataclass(frozen=True, slots=True)
class Program:
    """A command, where it runs, and the file that is run."""

    argv: tuple[str, ...]
    cwd: str | None
    env: Mapping[str, str] | None
    path: str

    @classmethod
    def of(
        cls,
        argv: tuple[str, ...],
        cwd: str | os.PathLike[str] | None,
        env: Mapping[str, str] | None,
        name: str | None = None,
    ) -> Program:
        """Find the program of a checked command.

        `name` is given where the name of the program is not the first element as it stands.
        """
        folder = None if cwd is None else os.fspath(cwd)
        environment = None if env is None else _checked_environment(env)
        path = _find(name or argv[0], folder, environment)
        return cls(argv, folder, environment, path)

    @property
    def name(self) -> str:
        """What people call it: by its own file, and by the first of those it is given.

        >>> Program.of(("ls", "-l"), None, None).name
        'ls'
        """
        program = Path(self.argv[0]).name
        files = self._given_files()
        if not files:
            return program
        if _INTERPRETER.fullmatch(program):
            return files[0].name
        return f"{program} {files[0].name}"

    def identity(self, kind: str) -> str:
        """Return the command and a digest of the files in it: an edited program is another one."""
        digest = hashlib.sha256()
        for path in (Path(self.path), *self._given_files()):
            try:
                digest.update(bytes.fromhex(file_digest(path)))
            except OSError:
                continue  # a file that only the program may read
        return f"{kind}:{json.dumps(list(self.argv))} sha256:{digest.hexdigest()}"

    def _given_files(self) -> list[Path]:
        """Return the files among the arguments."""
        files = []
        for argument in self.argv[1:]:
            path = Path(self.cwd or ".", argument)
            if _is_file(path):
                files.append(path)
        return files

    def start(self, argv: Sequence[str], *, stdin: int, kind: str) -> GroupProcess:
        """Start one process with the given arguments; `kind` is what to call it in a message."""
        try:
            return self._started(argv, stdin)
        except ValueError as error:
            raise UsageError(
                f"the {kind} {shown(shlex.join(argv))} cannot be run, as an argument is not valid:"
                f" {error}"
            ) from None
        except BlockingIOError as error:
            raise SubjectCrashed(
                f"the {kind} {shown(shlex.join(argv))} could not be started: {error.strerror}"
            ) from None
        except OSError as error:
            raise UsageError(
                f"the {kind} {shown(shlex.join(argv))} cannot be run: {error.strerror}; check that"
                f" {self.path} is a program (a script needs a first line such as '#!/bin/sh')"
            ) from None

    def _started(self, argv: Sequence[str], stdin: int) -> GroupProcess:
        process = None
        try:
            # A signal while a process is being started would leave it behind.
            with signals_held():
                process = GroupProcess(
                    argv,
                    executable=self.path,
                    stdin=stdin,
                    stdout=subprocess.PIPE,
                    stderr=subprocess.PIPE,
                    bufsize=0,
                    # Not a new session: Linux would give each its own scheduling group, which
                    # costs a quarter of the speed.
                    process_group=0,
                    cwd=self.cwd,
                    env=self.env,
                )
        except KeyboardInterrupt:
            if process is not None:
                kill_group(process)
            raise
        return process


def checked_argv(argv: Sequence[str | os.PathLike[str]]) -> tuple[str, ...]:
    """Return the command as a tuple of texts, or raise a UsageError that says what is wrong."""
    if isinstance(argv, str | bytes):
        raise UsageError(
            f"the command {argv!r} must be a list such as {str(argv).split()!r}, one element per"
            " argument, as there is no shell"
        )
    parts = []
    for argument in argv:
        if not isinstance(argument, str | os.PathLike):
            raise UsageError(
                f"the argument {argument!r} of the command is not text; write it as"
                f" {str(argument)!r}"
            )
        parts.append(os.fspath(argument))
    if not parts or not parts[0]:
        raise UsageError("the command is empty; its first element must name a program")
    return tuple(parts)


def _checked_environment(env: Mapping[str, str]) -> dict[str, str]:
    """Return the environment of a program, which holds texts and nothing else."""
    for name, value in env.items():
        if not isinstance(value, str) or "\0" in name + value:
            raise UsageError(f"env has {name} = {clip(repr(value))}; it must be a text")
    return dict(env)


def _is_folder(path: str) -> bool:
    try:
        return Path(path).is_dir()
    except (OSError, ValueError):
        return False  # no folder can have such a name


def _is_file(path: Path) -> bool:
    """Return whether a path is a file; an argument may be no path at all."""
    try:
        return path.is_file()
    except (OSError, ValueError):
        return False


def _find(name: str, cwd: str | None, env: Mapping[str, str] | None) -> str:
    """Return the path of the program; relative paths are seen from `cwd`, as the system does."""
    if cwd is not None and not _is_folder(cwd):
        raise UsageError(
            f"the working directory {clip(repr(cwd))} of the command {name!r} is not a directory;"
            " check cwd"
        )
    if os.path.dirname(name):  # noqa: PTH120
        path = Path(cwd or ".", name).absolute()
        if not path.is_file():
            raise UsageError(
                f"the program {name!r} does not exist as a file at {path}; check the command's"
                " first element"
            )
        if not os.access(path, os.X_OK):
            raise UsageError(
                f"the program {name!r} is not executable; run: chmod +x {shlex.quote(str(path))}"
            )
        return str(path)
    search_path = None if env is None else env.get("PATH", os.defpath)
    found = shutil.which(name, path=search_path)
    if found is None:
        raise UsageError(
            f"the program {name!r} is not on the PATH; give its path (such as './{name}') or"
            " install it"
        )
    return str(Path(found).absolute())


def last_words(stderr: bytes, width: int = 240) -> str:
    """Return the end of what was printed on standard error, where programs say why they died."""
    flat = one_line(stderr.decode("utf-8", "replace"))
    if not flat:
        return "nothing on standard error"
    if len(flat) > width:
        flat = "…" + flat[1 - width :]
    return f"standard error: {flat}"


def ending(code: int) -> str:
    """Return how a process ended, in words.

    >>> ending(3), ending(-9)
    ('exited with code 3', 'was killed by SIGKILL')
    """
    if code >= 0:
        return f"exited with code {code}"
    try:
        return f"was killed by {signal.Signals(-code).name}"
    except ValueError:
        return f"was killed by signal {-code}"


def kill_group(process: subprocess.Popen[bytes]) -> None:
    """Kill a process that was started in its own process group, and its children."""
    if process.returncode is None:
        try:
            os.killpg(process.pid, signal.SIGKILL)
        except (ProcessLookupError, PermissionError):
            process.kill()
