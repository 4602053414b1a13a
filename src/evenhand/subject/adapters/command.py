"""One process per input, as in Themis.

The input is the program's arguments, the outcome the line it prints.
"""

from __future__ import annotations

import os
import re
import select
import shlex
import subprocess
import threading
import time
from typing import TYPE_CHECKING

import numpy as np

from evenhand.runtime.errors import (
    BadOutcome,
    SubjectCrashed,
    SubjectTimeout,
    UsageError,
    clip,
    nearest,
)
from evenhand.runtime.options import LIST, TEXT, Option, Options
from evenhand.subject.adapters.base import Adapter
from evenhand.subject.adapters.process import (
    CWD,
    ENV,
    KEPT_ERRORS,
    MOST_OUTPUT,
    TIMEOUT,
    WORKERS,
    Program,
    checked_argv,
    ending,
    kill_group,
    last_words,
)
from evenhand.subject.adapters.records import (
    DECODED,
    chunks,
    fan_out,
    seconds,
    shown,
    whole,
)
from evenhand.subject.options import IDENTITY
from evenhand.subject.outputs import packed, parse_reply

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping, Sequence

    from numpy.typing import NDArray

    from evenhand.space.space import Space
    from evenhand.subject.adapters.base import Reply
    from evenhand.subject.adapters.records import Record

MISSING = Option(
    "missing", TEXT, "what a missing value is written as; an empty argument by default"
)
TOKEN = re.compile(r"\{\{|\}\}|\{([^{}]*)\}|[{}]")
Part = tuple[str, bool]
"""A piece of an argument: text as it stands, or (True) the name of a feature."""


class CommandAdapter(Adapter):
    """Run a program once per input; POSIX only.

    Parameters
    ----------
    argv: the program and its arguments. `{age}` anywhere in an argument stands for the value of
        that feature, `{*}` as an argument of its own for all values in the order of the space;
        `{{` and `}}` are literal braces. Values are written with `str`: numbers in their shortest
        exact form, booleans as True and False. There is no shell.
    workers: processes at a time; by default one per processor.
    timeout: seconds allowed to one process, after which it is killed together with its children.
    missing: what a missing value is written as; an empty argument by default.
    cwd, env: working directory and environment of the program; by default those of the caller.
    identity: a name for the program; by default its command and a digest of the files in it.
    """

    kind = "command"
    own_process = True
    value = Option(
        "command", LIST, "a program that is run once for each input, and its arguments"
    )
    options = Options.of(WORKERS, TIMEOUT, MISSING, CWD, ENV, IDENTITY)
    printed = True
    expensive = True
    identity: str = ""
    name: str = ""

    def __init__(
        self,
        argv: Sequence[str | os.PathLike[str]],
        *,
        workers: int | None = None,
        timeout: float = 30.0,
        missing: str = "",
        cwd: str | os.PathLike[str] | None = None,
        env: Mapping[str, str] | None = None,
        identity: str | None = None,
    ) -> None:
        self.argv = checked_argv(argv)
        if workers is None:
            self.workers = os.cpu_count() or 1
        else:
            self.workers = whole("workers", workers, 1)
        self.timeout = seconds("timeout", timeout)
        if not isinstance(missing, str):
            raise UsageError(f"missing = {missing!r} must be a text, such as 'NA'")
        self.missing = missing
        self._parts = [_parse(argument) for argument in self.argv]
        program_name = self._parts[0]
        if any(is_feature for _, is_feature in program_name):
            raise UsageError(
                f"the program's name {self.argv[0]!r} may not contain a placeholder; name one"
                " program"
            )
        self._program = Program.of(self.argv, cwd, env, name=_fill(program_name, {}))
        self.identity = identity or self._program.identity("command")
        self.name = identity or self._program.name
        if missing and not identity:
            # Another word for what is missing is another input.
            self.identity += f":missing={missing}"

    def check(self, space: Space) -> None:
        """Refuse a template that does not fit the space, before anything is run."""
        passed = [feature.name for feature in space.features if feature.passed]
        used = self._placeholders()
        for name in sorted(used - set(passed) - {"*"}):
            if any(feature.name == name for feature in space.features):
                raise UsageError(
                    f"the placeholder '{{{name}}}' of the command names a feature with"
                    " passed=False; remove the placeholder or let the feature be passed"
                )
            raise UsageError(
                f"the placeholder '{{{name}}}' of the command {shlex.join(self.argv)!r} is not a"
                f" feature of the space; {nearest(name, passed)} (write '{{{{' for a literal brace)"
            )
        unused = [name for name in passed if name not in used]
        if unused and "*" not in used:
            raise UsageError(
                f"the command {shlex.join(self.argv)!r} never receives the feature {unused[0]!r};"
                f" add '{{{unused[0]}}}' (or '{{*}}' for all values), or mark the feature"
                " passed=False"
            )

    def _placeholders(self) -> set[str]:
        """Return the names in braces."""
        names: set[str] = set()
        for parts in self._parts:
            names.update(text for text, is_feature in parts if is_feature)
        return names

    def run(
        self, points: NDArray[np.float64], space: Space
    ) -> Iterator[tuple[NDArray[np.intp], NDArray[np.generic]]]:
        """Yield (rows, outcomes) until every point is answered."""
        self.check(space)
        running = _Running()

        def execute(job: tuple[int, list[str]]) -> Reply:
            _, argv = job
            return self._execute(argv, running)

        jobs = self._commands(points, space)
        for group in fan_out(jobs, execute, width=self.workers, abort=running.kill_all):
            rows = [row for (row, _), _ in group]
            replies = [reply for _, reply in group]
            yield np.array(rows, dtype=np.intp), packed(replies, self.outputs)

    def _commands(
        self, points: NDArray[np.float64], space: Space
    ) -> Iterator[tuple[int, list[str]]]:
        """Yield the row and the command of each input."""
        for start, records in chunks(points, space, DECODED):
            for row, record in enumerate(records, start=start):
                yield row, self.arguments(record)

    def arguments(self, record: Record) -> list[str]:
        """Return the command of one input."""
        texts: dict[str, str] = {}
        for name, value in record.items():
            texts[name] = self.missing if value is None else str(value)
        argv: list[str] = []
        for parts in self._parts:
            if parts == [("*", True)]:
                argv.extend(texts.values())
            else:
                argv.append(_fill(parts, texts))
        return argv

    def _execute(self, argv: list[str], running: _Running) -> Reply:
        deadline = time.monotonic() + self.timeout
        with self._program.start(argv, stdin=subprocess.DEVNULL, kind="command") as process:
            running.add(process)
            try:
                out, err = _collect(process, deadline)
            except TimeoutError as late:
                kill_group(process)
                raise SubjectTimeout(
                    f"the command {_shown(argv)} gave no answer within {self.timeout:g} s and was"
                    f" killed; raise the timeout if it needs longer ({last_words(late.args[0])})"
                ) from None
            except BaseException:
                kill_group(process)
                raise
            finally:
                running.remove(process)
        if process.returncode:
            raise SubjectCrashed(
                f"the command {_shown(argv)} {ending(process.returncode)}; {last_words(err)}"
            )
        return _read(out, argv, self.outputs)


class _Running:
    """The processes of one run, so that an interrupt leaves none behind."""

    def __init__(self) -> None:
        self._lock = threading.Lock()
        self._processes: set[subprocess.Popen[bytes]] = set()
        self._stopped = False

    def add(self, process: subprocess.Popen[bytes]) -> None:
        with self._lock:
            self._processes.add(process)
            if self._stopped:
                kill_group(process)

    def remove(self, process: subprocess.Popen[bytes]) -> None:
        with self._lock:
            self._processes.discard(process)

    def kill_all(self) -> None:
        with self._lock:
            self._stopped = True
            for process in self._processes:
                kill_group(process)


def _parse(argument: str) -> list[Part]:
    """Cut one argument of the template into text and names of features."""
    parts: list[Part] = []
    end = 0
    for token in TOKEN.finditer(argument):
        text = token.group()
        parts.append((argument[end : token.start()], False))
        end = token.end()
        if text in ("{{", "}}"):
            parts.append((text[0], False))
        elif text in ("{", "}"):
            raise UsageError(
                f"the argument {argument!r} of the command has a lone {text!r}; write {text * 2!r}"
                " for it"
            )
        else:
            parts.append((token.group(1), True))
    parts.append((argument[end:], False))
    parts = [part for part in parts if part != ("", False)]
    if ("*", True) in parts and len(parts) > 1:
        raise UsageError(
            f"the argument {argument!r} of the command joins '{{*}}' to text; make '{{*}}' an"
            " argument of its own"
        )
    return parts


def _fill(parts: list[Part], texts: Mapping[str, str]) -> str:
    """Return an argument with the values of an input in place of the names of features."""
    filled = []
    for text, is_feature in parts:
        filled.append(texts[text] if is_feature else text)
    return "".join(filled)


def _collect(process: subprocess.Popen[bytes], deadline: float) -> tuple[bytes, bytes]:
    """Read both streams to their end, wait for the exit, and return what they held.

    A TimeoutError carries what standard error held.
    """
    assert process.stdout is not None
    assert process.stderr is not None
    out = bytearray()
    err = bytearray()
    streams = {process.stdout.fileno(): out, process.stderr.fileno(): err}
    poller = select.poll()
    for descriptor in streams:
        poller.register(descriptor, select.POLLIN)
    while streams:
        for descriptor, _ in _poll(poller, deadline, err):
            data = os.read(descriptor, 1 << 16)
            streams[descriptor].extend(data)
            if not data:
                poller.unregister(descriptor)
                del streams[descriptor]
        if len(out) > MOST_OUTPUT:
            raise BadOutcome(
                f"the command {_shown(process.args)} printed more than {MOST_OUTPUT} bytes instead"
                f" of one line: {_clip(out)}"
            )
        del err[:-KEPT_ERRORS]
    if process.poll() is None:
        _await_exit(process, deadline, err)
    return bytes(out), bytes(err)


def _poll(poller: select.poll, deadline: float, err: bytearray) -> list[tuple[int, int]]:
    left = deadline - time.monotonic()
    ready = poller.poll(max(0.0, left * 1000))
    if not ready and left <= 0:
        raise TimeoutError(bytes(err))
    return ready


def _await_exit(process: subprocess.Popen[bytes], deadline: float, err: bytearray) -> None:
    """Wait for a process that has closed its streams."""
    # `Popen.wait(timeout)` would sleep for half a millisecond or more between two looks.
    if not hasattr(os, "pidfd_open"):
        try:
            process.wait(max(0.0, deadline - time.monotonic()))
        except subprocess.TimeoutExpired:
            raise TimeoutError(bytes(err)) from None
        return
    handle = os.pidfd_open(process.pid)
    try:
        poller = select.poll()
        poller.register(handle, select.POLLIN)
        while process.poll() is None:
            _poll(poller, deadline, err)
    finally:
        os.close(handle)


def _read(out: bytes, argv: Sequence[str], outputs: tuple[str, ...]) -> Reply:
    """Return the one outcome, or the one record of several outputs, that the program printed."""
    try:
        lines = [line for line in out.decode("utf-8").split("\n") if line.strip()]
    except UnicodeDecodeError:
        raise BadOutcome(
            f"the command {_shown(argv)} printed text that is not UTF-8: {_clip(out)}"
        ) from None
    if not lines:
        raise BadOutcome(
            f"the command {_shown(argv)} printed nothing; it must print its outcome on one line"
        )
    if len(lines) > 1:
        raise BadOutcome(
            f"the command {_shown(argv)} printed {len(lines)} lines instead of one outcome:"
            f" {_clip(out)}"
        )
    try:
        return parse_reply(lines[0], outputs)
    except ValueError as error:
        raise BadOutcome(f"the command {_shown(argv)} printed {error}") from None


def _shown(argv: object) -> str:
    return shown(shlex.join(argv)) if isinstance(argv, list) else str(argv)


def _clip(out: bytes | bytearray) -> str:
    text = bytes(out[:4096]).decode("utf-8", "backslashreplace")
    return f"'{clip(text)}'"
