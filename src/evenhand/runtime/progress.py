"""Progress of long calls: a bar in a terminal, lines in a notebook, and nothing where nobody looks.

A call reports through a hook. What it reports is shown once it has taken a while, so that a short
call shows nothing. A run within a run, as those of an audit, adds its lines to those there are.
"""

from __future__ import annotations

import importlib
import os
import sys
import threading
import time
from abc import ABC, abstractmethod
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress
from contextvars import ContextVar
from dataclasses import dataclass, field
from html import escape
from typing import Any

from evenhand.runtime.errors import printable

PATIENCE = 2.0
"""Seconds that a call may take before it shows its progress by itself."""
PAUSE = 0.2
"""Seconds between two pictures in a notebook, each of which is a message."""
_PARTS = 1000
"""Steps of a bar of marimo, which counts whole ones."""


@dataclass(frozen=True, slots=True)
class Progress:
    """One report of progress: the task, how far it is (0 to 1, or None), and a short note."""

    task: str
    share: float | None
    note: str = ""


Hook = Callable[[Progress], None]


class ProgressScreen(ABC):
    """Where progress is drawn."""

    @abstractmethod
    def draw(self, tasks: dict[str, Progress]) -> None:
        """Show how far these tasks are, and no others."""

    @abstractmethod
    def close(self) -> None:
        """Take away what was drawn."""


class TerminalScreen(ProgressScreen):
    """A bar on standard error."""

    def __init__(self) -> None:
        from rich.console import Console
        from rich.progress import (
            BarColumn,
            TextColumn,
            TimeElapsedColumn,
            TimeRemainingColumn,
        )
        from rich.progress import Progress as Bar

        columns = (
            # Names of columns may be in it, and are no markup.
            TextColumn("{task.description}", markup=False),
            BarColumn(),
            TextColumn("{task.fields[note]}", markup=False),
            TimeElapsedColumn(),
            TimeRemainingColumn(),
        )
        self._bar = Bar(*columns, console=Console(stderr=True), transient=True)
        self._lines: dict[str, Any] = {}
        self._bar.start()

    def draw(self, tasks: dict[str, Progress]) -> None:
        """Show how far these tasks are, and no others."""
        for task in [task for task in self._lines if task not in tasks]:
            self._bar.remove_task(self._lines.pop(task))
        for task, progress in tasks.items():
            if task not in self._lines:
                self._lines[task] = self._bar.add_task(printable(task), total=1.0, note="")
            self._bar.update(
                self._lines[task],
                completed=progress.share or 0.0,
                total=None if progress.share is None else 1.0,
                note=printable(progress.note),
            )

    def close(self) -> None:
        """Take away what was drawn."""
        self._bar.stop()


class JupyterScreen(ProgressScreen):
    """Lines below a cell, which are drawn anew in place."""

    def __init__(self) -> None:
        shown = importlib.import_module("IPython.display")
        self._html = shown.HTML
        self._handle = shown.display(self._html(""), display_id=True)

    def draw(self, tasks: dict[str, Progress]) -> None:
        """Show how far these tasks are, and no others."""
        self._handle.update(self._html(progress_html(tasks)))

    def close(self) -> None:
        """Take away what was drawn."""
        self._handle.update(self._html(""))


class MarimoScreen(ProgressScreen):
    """The bar of marimo, which shows the innermost task."""

    def __init__(self) -> None:
        marimo = importlib.import_module("marimo")
        self._bar = marimo.status.progress_bar(total=_PARTS, remove_on_exit=True)
        self._line = self._bar.__enter__()
        self._done = 0

    def draw(self, tasks: dict[str, Progress]) -> None:
        """Show how far the innermost task is."""
        if not tasks:
            return
        progress = list(tasks.values())[-1]
        done = int((progress.share or 0.0) * _PARTS)
        self._line.update(done - self._done, title=progress.task, subtitle=progress.note)
        self._done = done

    def close(self) -> None:
        """Take away what was drawn."""
        self._bar.__exit__(None, None, None)


def progress_html(tasks: dict[str, Progress]) -> str:
    """Return the lines of some tasks in HTML that follows the colours of its page.

    >>> progress_html({"a": Progress("a", 0.5, "<b>")})
    '<div>a <progress value="0.5" max="1"></progress> &lt;b&gt;</div>'
    """
    lines = []
    for progress in tasks.values():
        # A bar without a value is one of which nobody knows how far it is.
        if progress.share is None:
            value = ""
        else:
            value = f' value="{progress.share:.3g}" max="1"'
        bar = f"<progress{value}></progress>"
        lines.append(f"<div>{escape(progress.task)} {bar} {escape(progress.note)}</div>")
    return "".join(lines)


@dataclass
class ProgressBoard:
    """What all tasks of a call have reported, and the screen that shows it after a while."""

    open_screen: Callable[[], ProgressScreen]
    patience: float
    tasks: dict[str, Progress] = field(default_factory=dict)
    _start: float = field(default_factory=time.monotonic)
    _drawn: float = 0.0
    _screen: ProgressScreen | None = None
    _closed: bool = False
    _lock: Any = field(default_factory=threading.RLock)

    def report(self, progress: Progress) -> None:
        """Take down what a task reports, and show it if it is time to."""
        with self._lock:
            is_new = progress.task not in self.tasks
            self.tasks[progress.task] = progress
            now = time.monotonic()
            if now - self._start < self.patience:
                return
            if is_new or now - self._drawn >= PAUSE:
                self.draw()

    def draw(self) -> None:
        """Show what was reported, unless the call has ended."""
        with self._lock:
            if self._closed or not self.tasks:
                return
            if self._screen is None:
                self._screen = self.open_screen()
            self._drawn = time.monotonic()
            self._screen.draw(self.tasks)

    def forget(self, tasks: list[str]) -> None:
        """Take away the lines of tasks that have ended."""
        with self._lock:
            for task in tasks:
                self.tasks.pop(task, None)
            if self._screen is not None:
                self._screen.draw(self.tasks)

    def close(self) -> None:
        """Take away everything."""
        with self._lock:
            self._closed = True
            if self._screen is not None:
                # A screen that is gone, as that of a cell that was interrupted, hides no result.
                with suppress(Exception):
                    self._screen.close()


_OUTER: ContextVar[ProgressBoard | None] = ContextVar("outer", default=None)
"""What is shown at the moment, which a run within a run adds to."""


@contextmanager
def progress_bar(*, show: bool | None = None) -> Iterator[Hook | None]:
    """Return a hook that shows progress, or None where it is not to be shown.

    Parameters
    ----------
    show
        True shows it at once, False never; None after a while, where somebody watches: in a
        terminal, in Jupyter and in marimo, and neither in a pipe nor in continuous integration.
    """
    if show is not False:
        open_screen = _screen_here(wanted=bool(show))
    else:
        open_screen = None
    if open_screen is None:
        yield None
        return
    outer = _OUTER.get()
    if outer is not None:
        yield from _passing(outer)
        return
    board = ProgressBoard(open_screen, 0.0 if show else PATIENCE)
    timer = _timer(board)
    token = _OUTER.set(board)
    try:
        yield board.report
    finally:
        _OUTER.reset(token)
        if timer is not None:
            timer.cancel()
        board.close()


def _passing(board: ProgressBoard) -> Iterator[Hook]:
    """Return a hook whose tasks are taken away at its end."""
    begun: list[str] = []

    def hook(progress: Progress) -> None:
        if progress.task not in board.tasks:
            begun.append(progress.task)
        board.report(progress)

    try:
        yield hook
    finally:
        board.forget(begun)


def _timer(board: ProgressBoard) -> threading.Timer | None:
    """Show what was reported when it is time to, where a thread may draw: in a terminal.

    What runs long may report seldom.
    """
    if board.open_screen is not TerminalScreen or not board.patience:
        return None
    timer = threading.Timer(board.patience, board.draw)
    timer.daemon = True
    timer.start()
    return timer


def _screen_here(*, wanted: bool) -> Callable[[], ProgressScreen] | None:
    """Return where progress can be seen, None where nobody looks."""
    if _in_marimo():
        return MarimoScreen
    if _in_jupyter():
        return JupyterScreen
    if wanted:
        return TerminalScreen
    is_watched = sys.stderr is not None and sys.stderr.isatty()
    if not is_watched or os.environ.get("CI") or os.environ.get("TERM") == "dumb":
        return None
    return TerminalScreen


def _in_jupyter() -> bool:
    """Return whether this is the kernel of a notebook, which has loaded IPython long ago."""
    ipython = sys.modules.get("IPython")
    if ipython is None:
        return False
    return getattr(ipython.get_ipython(), "kernel", None) is not None


def _in_marimo() -> bool:
    """Return whether this is a cell of marimo."""
    marimo = sys.modules.get("marimo")
    if marimo is None:
        return False
    running = getattr(marimo, "running_in_notebook", None)
    return running is not None and bool(running())
