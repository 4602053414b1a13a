"""Kill the processes under test when the process that started this program has died."""

from __future__ import annotations

import contextlib
import mmap
import os
import signal
import sys

_IGNORED = (signal.SIGINT, signal.SIGTERM, signal.SIGHUP)
"""What is sent to all processes of a terminal or a service at once: the watcher ends last."""
_ROUNDS = 10
"""How often processes are looked for: one may start another while it is being killed."""


def watch(ended: int, shared: int, mark: int) -> None:
    """Wait for the end of a pipe, and kill the groups that shared memory names by then.

    So are all processes that hold the pipe whose number is `mark`.
    """
    for number in _IGNORED:
        signal.signal(number, signal.SIG_IGN)
    while os.read(ended, 1):
        pass
    with mmap.mmap(shared, 0) as memory, memoryview(memory).cast("i") as groups:
        for group in groups:
            if group > 0:
                with contextlib.suppress(OSError):
                    os.killpg(group, signal.SIGKILL)
    for _ in range(_ROUNDS):
        marked = _marked(f"pipe:[{mark}]")
        for process in marked:
            with contextlib.suppress(OSError):
                os.kill(process, signal.SIGKILL)
        if not marked:
            break


def _marked(name: str) -> list[int]:
    """Return the processes that hold a pipe, where the system lists them."""
    found = []
    with contextlib.suppress(OSError):
        for entry in os.listdir("/proc"):  # noqa: PTH208 (pathlib would take longer to start)
            if entry.isdecimal() and _holds(f"/proc/{entry}/fd", name):
                found.append(int(entry))
    return found


def _holds(folder: str, name: str) -> bool:
    with contextlib.suppress(OSError):
        for entry in os.listdir(folder):  # noqa: PTH208
            with contextlib.suppress(OSError):
                if os.readlink(f"{folder}/{entry}") == name:  # noqa: PTH115
                    return True
    return False


if __name__ == "__main__":
    if os.fork() == 0:
        watch(*(int(word) for word in sys.argv[1:]))
