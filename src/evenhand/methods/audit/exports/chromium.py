"""Chromium without a window: it prints a page that loads nothing, in a profile of its own."""

from __future__ import annotations

import os
import re
import shutil
import signal
import subprocess
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import TYPE_CHECKING

from evenhand.methods.audit.exports import messages
from evenhand.runtime.errors import UsageError, clip, reason_of

if TYPE_CHECKING:
    from collections.abc import Mapping

VARIABLE = "EVENHAND_CHROMIUM"
NAMES = (
    "chromium",
    "chromium-browser",
    "google-chrome",
    "google-chrome-stable",
    "chrome",
)
SECONDS = 180
"""How long a page may take; a usual one takes a few seconds."""
ARGUMENTS = (
    "--headless",
    "--disable-gpu",
    "--disable-dev-shm-usage",
    "--no-first-run",
    "--no-default-browser-check",
    "--disable-extensions",
    "--disable-background-networking",
    "--disable-component-update",
    "--disable-sync",
    "--disable-breakpad",
    "--disable-crash-reporter",
    "--metrics-recording-only",
    # No name has an address, so that nothing is asked of a network.
    "--host-resolver-rules=MAP * ~NOTFOUND",
    "--no-pdf-header-footer",
)
_DATE = re.compile(rb"/(CreationDate|ModDate) \(D:([^)]*)\)")
_NODE = re.compile(rb"\(node(\d{8})\)")
_FIXED_DATE = b"19800101000000+00'00'"
"""What stands for the time of printing: the same evidence gives the same bytes."""


def chromium(environment: Mapping[str, str] = os.environ) -> str:
    """Return the program that prints pages, or refuse where there is none.

    >>> chromium({"EVENHAND_CHROMIUM": "/no/such/program"})
    Traceback (most recent call last):
    evenhand.runtime.errors.UsageError: EVENHAND_CHROMIUM=/no/such/program is not a program ...
    """
    path = environment.get("PATH")
    named = environment.get(VARIABLE, "")
    if named:
        program = shutil.which(named, path=path)
        if program is None:
            raise UsageError(messages.CHROMIUM_IS_NOT_THERE.format(program=clip(named)))
        return program
    for name in NAMES:
        program = shutil.which(name, path=path)
        if program is not None:
            return program
    raise UsageError(messages.NO_CHROMIUM)


def printed(page: str, *, seconds: float = SECONDS) -> bytes:
    """Return a page as PDF, the same bytes for the same page and the same Chromium."""
    program = chromium()
    # Chromium may still write to its profile when it is told to end.
    with TemporaryDirectory(prefix="evenhand-print-", ignore_cleanup_errors=True) as folder:
        source = Path(folder, "page.html")
        target = Path(folder, "page.pdf")
        source.write_bytes(page.encode("utf-8", "backslashreplace"))
        command = [
            program,
            *ARGUMENTS,
            *_without_sandbox(),
            f"--user-data-dir={Path(folder, 'profile')}",
            f"--print-to-pdf={target}",
            source.as_uri(),
        ]
        code, error = _run(command, seconds)
        content = target.read_bytes() if target.is_file() else b""
    if not content.startswith(b"%PDF"):
        raise UsageError(
            messages.CHROMIUM_PRINTED_NOTHING.format(
                program=program, code=code, reason=clip(error) or messages.NO_REASON
            )
        )
    return _with_fixed_nodes(_DATE.sub(_with_fixed_date, content))


def _without_sandbox() -> list[str]:
    """Return what Chromium has to be told where root runs it, as in many containers."""
    is_root = hasattr(os, "geteuid") and os.geteuid() == 0
    return ["--no-sandbox"] if is_root else []


def _run(command: list[str], seconds: float) -> tuple[int, str]:
    """Run a program to its end; return its exit code, and the last line of what it complained of.

    One that takes too long is ended with all that it started.
    """
    program = command[0]
    try:
        process = subprocess.Popen(
            command,
            stdin=subprocess.DEVNULL,
            stdout=subprocess.DEVNULL,
            stderr=subprocess.PIPE,
            start_new_session=True,
        )
    except OSError as error:
        reason = reason_of(error)
        raise UsageError(
            messages.CHROMIUM_CANNOT_START.format(program=program, reason=reason)
        ) from None
    try:
        _, complaints = process.communicate(timeout=seconds)
    except subprocess.TimeoutExpired:
        raise UsageError(
            messages.CHROMIUM_TOOK_TOO_LONG.format(program=program, seconds=f"{seconds:g}")
        ) from None
    finally:
        _end(process)
    lines = complaints.decode("utf-8", "replace").strip().splitlines()
    return process.returncode, lines[-1] if lines else ""


def _end(process: subprocess.Popen[bytes]) -> None:
    """End a program that still runs, and all that it started."""
    if process.poll() is None:
        if hasattr(os, "killpg"):
            os.killpg(process.pid, signal.SIGKILL)
        else:
            process.kill()
        process.wait()
    if process.stderr is not None:
        process.stderr.close()


def _with_fixed_nodes(content: bytes) -> bytes:
    """Return a PDF whose parts are numbered from 0, in the order of Chromium's own numbers.

    Chromium counts them from another number now and then. Their order and length stay, on which
    other places in the file rest.
    """
    numbers = sorted(set(_NODE.findall(content)))
    fixed = {number: f"(node{place:08})".encode() for place, number in enumerate(numbers)}
    return _NODE.sub(lambda found: fixed[found[1]], content)


def _with_fixed_date(found: re.Match[bytes]) -> bytes:
    """Return the date of a PDF as a fixed one of the same length, which keeps all places in it."""
    date = _FIXED_DATE.ljust(len(found[2]))[: len(found[2])]
    return b"/" + found[1] + b" (D:" + date + b")"
