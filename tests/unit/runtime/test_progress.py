"""Progress is shown to whoever looks, after a while, and to nobody else."""

from __future__ import annotations

import io
import sys
import time
from types import ModuleType, SimpleNamespace
from typing import Any

import pytest

import evenhand as eh
from evenhand.runtime import progress
from evenhand.runtime.progress import Progress, ProgressBoard, ProgressScreen, progress_bar

SPACE = eh.Space(
    [
        eh.category("sex", ["F", "M"]),
        eh.integer("age", 18, 90),
    ],
    ["sex"],
)


class RecordingScreen(ProgressScreen):
    """Keeps every picture."""

    made: list[RecordingScreen]

    def __init__(self) -> None:
        self.pictures: list[dict[str, Progress]] = []
        self.closed = False
        type(self).made.append(self)

    def draw(self, tasks: dict[str, Progress]) -> None:
        self.pictures.append(dict(tasks))

    def close(self) -> None:
        self.closed = True


@pytest.fixture
def screens(monkeypatch):
    """Draw on screens that keep their pictures, without a pause between two."""
    RecordingScreen.made = []
    monkeypatch.setattr(progress, "_screen_here", lambda *, wanted: RecordingScreen)
    monkeypatch.setattr(progress, "PAUSE", 0.0)
    return RecordingScreen.made


class Terminal(io.StringIO):
    def isatty(self) -> bool:
        return True


def test_a_short_call_shows_nothing(screens):
    with progress_bar() as hook:
        assert hook is not None
        hook(Progress("measure", 0.5))
    assert screens == []


def test_a_call_that_takes_a_while_shows_its_progress(screens, monkeypatch):
    monkeypatch.setattr(progress, "PATIENCE", 0.05)
    with progress_bar() as hook:
        assert hook is not None
        hook(Progress("measure", 0.1))
        assert screens == []
        time.sleep(0.06)
        hook(Progress("measure", 0.5, "40 inputs"))
    assert screens[0].pictures == [{"measure": Progress("measure", 0.5, "40 inputs")}]
    assert screens[0].closed


def test_progress_that_is_asked_for_is_shown_at_once(screens):
    with progress_bar(show=True) as hook:
        assert hook is not None
        hook(Progress("measure", 0.5))
        assert len(screens) == 1
    with progress_bar(show=False) as hook:
        assert hook is None


def test_a_run_within_a_run_adds_its_lines_and_takes_them_away(screens):
    with progress_bar(show=True) as outer:
        assert outer is not None
        outer(Progress("audit", 0.5))
        with progress_bar() as inner:
            assert inner is not None
            inner(Progress("measure", None))
        outer(Progress("audit", 1.0))
    (screen,) = screens
    names = [list(picture) for picture in screen.pictures]
    assert names == [["audit"], ["audit", "measure"], ["audit"], ["audit"]]


def test_pictures_are_not_drawn_more_often_than_anybody_sees(screens, monkeypatch):
    monkeypatch.setattr(progress, "PAUSE", 60.0)
    board = ProgressBoard(RecordingScreen, 0.0)
    for share in range(100):
        board.report(Progress("measure", share / 100))
    board.close()
    assert len(screens[0].pictures) == 1


@pytest.mark.parametrize(
    ("terminal", "environment", "shown"),
    [
        (True, {}, True),
        (True, {"CI": "true"}, False),
        (True, {"TERM": "dumb"}, False),
        (False, {}, False),
    ],
)
def test_who_looks(monkeypatch, terminal, environment, shown):
    for name in ("CI", "TERM"):
        monkeypatch.delenv(name, raising=False)
    for name, value in environment.items():
        monkeypatch.setenv(name, value)
    monkeypatch.setattr(sys, "stderr", Terminal() if terminal else io.StringIO())
    with progress_bar() as hook:
        assert (hook is not None) is shown


def test_a_terminal_shows_what_runs_long_and_reports_seldom(monkeypatch):
    monkeypatch.delenv("CI", raising=False)
    monkeypatch.setenv("TERM", "xterm")
    monkeypatch.setattr(progress, "PATIENCE", 0.05)
    terminal = Terminal()
    monkeypatch.setattr(sys, "stderr", terminal)
    with progress_bar() as hook:
        assert hook is not None
        hook(Progress("measure sex", 0.5, "40 inputs"))
        end = time.monotonic() + 10
        while "measure sex" not in terminal.getvalue() and time.monotonic() < end:
            time.sleep(0.02)
    assert "measure sex" in terminal.getvalue()
    assert "40 inputs" in terminal.getvalue()


class FakeHandle:
    """What `display(..., display_id=True)` of IPython returns."""

    def __init__(self) -> None:
        self.shown: list[str] = []

    def update(self, html: str) -> None:
        self.shown.append(html)


def test_jupyter_shows_lines_that_are_drawn_in_place(monkeypatch):
    handle = FakeHandle()
    shell: Any = ModuleType("IPython")
    shell.get_ipython = lambda: SimpleNamespace(kernel=object())
    display: Any = ModuleType("IPython.display")
    display.HTML = str
    display.display = lambda html, display_id: handle
    monkeypatch.setitem(sys.modules, "IPython", shell)
    monkeypatch.setitem(sys.modules, "IPython.display", display)
    with progress_bar(show=True) as hook:
        assert hook is not None
        hook(Progress("measure <sex>", 0.5, "a & b"))
    bar = '<progress value="0.5" max="1"></progress>'
    assert handle.shown == [f"<div>measure &lt;sex&gt; {bar} a &amp; b</div>", ""]


def test_ipython_in_a_terminal_is_no_notebook(monkeypatch):
    shell: Any = ModuleType("IPython")
    shell.get_ipython = lambda: SimpleNamespace()
    monkeypatch.setitem(sys.modules, "IPython", shell)
    monkeypatch.setattr(sys, "stderr", io.StringIO())
    with progress_bar() as hook:
        assert hook is None


class FakeBar:
    """The bar of marimo."""

    def __init__(self, *, total: int, remove_on_exit: bool) -> None:
        self.total = total
        self.done = 0
        self.title = ""

    def __enter__(self) -> FakeBar:
        return self

    def __exit__(self, *error: object) -> None:
        self.closed = True

    def update(self, increment: int, *, title: str, subtitle: str) -> None:
        self.done += increment
        self.title = title


def test_marimo_shows_its_own_bar(monkeypatch):
    bars: list[FakeBar] = []

    def make(**options: Any) -> FakeBar:
        bars.append(FakeBar(**options))
        return bars[-1]

    marimo: Any = ModuleType("marimo")
    marimo.running_in_notebook = lambda: True
    marimo.status = SimpleNamespace(progress_bar=make)
    monkeypatch.setitem(sys.modules, "marimo", marimo)
    monkeypatch.setattr(progress, "PAUSE", 0.0)
    with progress_bar(show=True) as hook:
        assert hook is not None
        hook(Progress("audit", 0.25))
        hook(Progress("audit", 0.75))
    (bar,) = bars
    assert bar.title == "audit"
    assert bar.done / bar.total == 0.75
    assert bar.closed is True


def test_a_verb_shows_its_progress_by_itself(screens, monkeypatch):
    monkeypatch.setattr(progress, "PATIENCE", 0.0)
    found = eh.search(lambda people: people["age"] > 40, SPACE, over="sex")
    assert screens[0].closed
    assert any("sex" in task for task in screens[0].pictures[0])
    assert found.spent.queries > 0
