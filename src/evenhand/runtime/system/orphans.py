"""Processes under test end with evenhand, however that ends.

A small process of its own watches a pipe that nobody writes to. When evenhand dies, even of a
signal that cannot be handled, the pipe ends, and all process groups that are still noted are
killed. They are noted in memory that both share, so that a test costs no further system call.

A process that was just being started is not noted yet, and a daemon may have left its group. Where
the system lists the open files of processes, both are known by a pipe that they inherit.
"""

from __future__ import annotations

import mmap
import os
import subprocess
import sys
import tempfile
import threading
from pathlib import Path

GROUPS = 4096
"""How many process groups can be noted at a time; others are not watched."""
WATCHER = Path(__file__).with_name("orphan_watcher.py")
"""The program that watches; it imports nothing of evenhand."""
_BYTES = 4
_NOT_WATCHED = -1


class OrphanWatch:
    """The groups of one process, and the pipe that ends with it."""

    def __init__(self) -> None:
        shared = _shared_memory(GROUPS * _BYTES)
        self._memory = mmap.mmap(shared, GROUPS * _BYTES)
        self._groups = memoryview(self._memory).cast("i")
        self._free = list(range(GROUPS))
        ended, self._open = os.pipe()
        self.mark, self._mark_end = os.pipe()
        try:
            _start_watcher(ended, shared, os.fstat(self.mark).st_ino)
        finally:
            os.close(ended)
            os.close(shared)

    def note(self, group: int) -> int:
        """Note a process group, and return its place; there may be none left."""
        # Taking from a list and putting back need no lock.
        try:
            place = self._free.pop()
        except IndexError:
            return _NOT_WATCHED
        self._groups[place] = group
        return place

    def forget(self, place: int) -> None:
        """Forget the process group at a place, whose processes have ended."""
        if place != _NOT_WATCHED:
            self._groups[place] = 0
            self._free.append(place)

    def leave(self) -> None:
        """Let go of the pipes, in a fork, which needs a watch of its own."""
        for descriptor in (self._open, self.mark, self._mark_end):
            os.close(descriptor)


class _Current:
    """The watch of this process, once there is one."""

    watch: OrphanWatch | None = None
    tried = False


_LOCK = threading.Lock()


def inherited_mark() -> tuple[int, ...]:
    """Return the descriptors to inherit by processes that are to end with this one."""
    watch = _Current.watch or _started()
    return () if watch is None else (watch.mark,)


def note_group(group: int) -> int:
    """Have a process group killed when this process dies, and return its place in the notes.

    >>> forget_group(_NOT_WATCHED)
    """
    watch = _Current.watch or _started()
    return _NOT_WATCHED if watch is None else watch.note(group)


def forget_group(place: int) -> None:
    """Forget a process group whose processes have ended."""
    if _Current.watch is not None:
        _Current.watch.forget(place)


def _started() -> OrphanWatch | None:
    with _LOCK:
        if not _Current.tried:
            _Current.tried = True
            try:
                _Current.watch = OrphanWatch()
            except (OSError, ValueError):
                # Software can be tested without a watch, where no further process can be started.
                _Current.watch = None
        return _Current.watch


def _leave() -> None:
    """Forget the watch of the parent, in a fork."""
    global _LOCK
    _LOCK = threading.Lock()
    if _Current.watch is not None:
        _Current.watch.leave()
    _Current.watch = None
    _Current.tried = False


if hasattr(os, "register_at_fork"):
    os.register_at_fork(after_in_child=_leave)


def _shared_memory(size: int) -> int:
    """Return a descriptor of memory that processes can share, and that has no name."""
    if hasattr(os, "memfd_create"):
        descriptor = os.memfd_create("evenhand")
    else:
        with tempfile.TemporaryFile() as file:
            descriptor = os.dup(file.fileno())
    os.truncate(descriptor, size)
    return descriptor


def _start_watcher(ended: int, shared: int, mark: int) -> None:
    if not sys.executable or getattr(sys, "frozen", False):
        raise OSError("there is no Python to start")
    numbers = [str(number) for number in (ended, shared, mark)]
    command = [sys.executable, "-I", "-S", str(WATCHER), *numbers]
    starter = subprocess.Popen(
        command,
        stdin=subprocess.DEVNULL,
        stdout=subprocess.DEVNULL,
        stderr=subprocess.DEVNULL,
        pass_fds=(ended, shared),
        cwd="/",
        start_new_session=True,
    )
    # It forks and ends, so that the watcher is not among our children when these are killed.
    threading.Thread(target=starter.wait, daemon=True).start()
