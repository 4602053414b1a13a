"""Start the command line as a process, and see from outside what it did."""

from __future__ import annotations

import contextlib
import json
import os
import resource
import signal
import subprocess
import sys
import time
import uuid
from dataclasses import dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

MARK = "EVENHAND_FAULT_CELL"
"""The environment variable that the processes of one cell have in common."""
KEPT = 1 << 18
"""Bytes of the beginning and of the end of an output that are looked at."""
MOST_ADDRESSES = 12 << 30
"""Bytes of address space that a process of the campaign may take: the machine is not ours alone."""
GRACE = 5.0
"""Seconds that processes have to end after ours has."""
OUT_OF_TIME = 1000
"""The code of a run that did not end."""


@dataclass(frozen=True)
class Observed:
    """What one run of the command line did."""

    code: int
    seconds: float
    megabytes: float
    stdout: str
    stderr: str
    orphans: list[str] = field(default_factory=list)
    document: dict[str, Any] | None = None
    struck: bool = True
    """Whether the software came to do what is wrong with it."""


class Started:
    """One run of the command line that is under way."""

    def __init__(
        self,
        arguments: Sequence[str],
        folder: Path,
        environment: Mapping[str, str] | None = None,
        *,
        stdout: Path | None = None,
        largest_file: int = resource.RLIM_INFINITY,
    ) -> None:
        self.folder = folder
        self.mark = uuid.uuid4().hex
        self._output = stdout or folder / "stdout"
        self._errors = folder / "stderr"
        self._began = time.monotonic()
        surroundings = {
            **os.environ,
            "OMP_NUM_THREADS": "1",
            "OPENBLAS_NUM_THREADS": "1",
            MARK: self.mark,
            **(environment or {}),
        }
        with self._output.open("wb") as out, self._errors.open("wb") as err:
            self.process = subprocess.Popen(
                [sys.executable, "-m", "evenhand", *arguments],
                cwd=folder,
                env=surroundings,
                stdin=subprocess.DEVNULL,
                stdout=out,
                stderr=err,
                start_new_session=True,
                preexec_fn=lambda: _limit(largest_file),
            )

    @property
    def seconds(self) -> float:
        """How long it has been running."""
        return time.monotonic() - self._began

    def running(self) -> bool:
        """Return whether it has not ended; one that has is still to be waited for."""
        flags = os.WEXITED | os.WNOHANG | os.WNOWAIT
        return os.waitid(os.P_PID, self.process.pid, flags) is None

    def send(self, number: int) -> None:
        """Send it a signal; one that has just ended does not mind."""
        os.kill(self.process.pid, number)

    def finished(self, limit: float, document: Path | None = None) -> Observed:
        """Wait for the end, or end it after so many seconds, and return what it did."""
        code, peak = self._wait(limit)
        seconds = self.seconds
        orphans = survivors(self.mark, GRACE)
        return Observed(
            code=code,
            seconds=seconds,
            megabytes=peak / 1024,
            stdout=_ends(self._output),
            stderr=_ends(self._errors),
            orphans=orphans,
            document=_json(document),
        )

    def _wait(self, limit: float) -> tuple[int, int]:
        """Return the exit code, and the most kilobytes that it or a child had in memory."""
        code: int | None = None
        while True:
            process, status, usage = os.wait4(self.process.pid, os.WNOHANG)
            if process:
                ended = os.waitstatus_to_exitcode(status)
                # What is said here must not be waited for again.
                self.process.returncode = ended
                return (ended if code is None else code), usage.ru_maxrss
            if code is None and self.seconds > limit:
                code = OUT_OF_TIME
                os.kill(self.process.pid, signal.SIGKILL)
            time.sleep(0.01)


def _limit(largest_file: int) -> None:
    resource.setrlimit(resource.RLIMIT_FSIZE, (largest_file, largest_file))
    resource.setrlimit(resource.RLIMIT_AS, (MOST_ADDRESSES, MOST_ADDRESSES))
    resource.setrlimit(resource.RLIMIT_CORE, (0, 0))


def run(
    arguments: Sequence[str],
    folder: Path,
    environment: Mapping[str, str] | None = None,
    *,
    limit: float = 60.0,
    document: Path | None = None,
) -> Observed:
    """Run the command line to its end."""
    return Started(arguments, folder, environment).finished(limit, document)


def survivors(mark: str, grace: float) -> list[str]:
    """Return the processes of a cell that outlive it, and end them."""
    until = time.monotonic() + grace
    while (found := _marked(mark)) and time.monotonic() < until:
        time.sleep(0.05)
    names = []
    for process, name in found.items():
        names.append(name)
        with contextlib.suppress(ProcessLookupError):
            os.kill(process, signal.SIGKILL)
    return names


def _marked(mark: str) -> dict[int, str]:
    """Return the processes that have the mark of a cell, with their commands."""
    wanted = f"{MARK}={mark}".encode()
    found = {}
    for folder in Path("/proc").glob("[0-9]*"):
        # A process may end while we look, and those of others cannot be read.
        with contextlib.suppress(OSError):
            if wanted in (folder / "environ").read_bytes().split(b"\0"):
                words = (folder / "cmdline").read_bytes().replace(b"\0", b" ")
                found[int(folder.name)] = words.decode("utf-8", "replace").strip()
    return found


def _ends(file: Path) -> str:
    """Return what an output held, without the middle of one that is very long."""
    if not file.is_file():
        return ""
    size = file.stat().st_size
    with file.open("rb") as content:
        if size <= 2 * KEPT:
            return content.read().decode("utf-8", "replace")
        first = content.read(KEPT)
        content.seek(-KEPT, os.SEEK_END)
        last = content.read()
    return (first + b"\n" + last).decode("utf-8", "replace")


def _json(file: Path | None) -> dict[str, Any] | None:
    if file is None or not file.is_file():
        return None
    document: dict[str, Any] = json.loads(file.read_text(encoding="utf-8"))
    return document
