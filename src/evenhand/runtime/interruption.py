"""Signals that end a run early: who sent them, and what the shell is told in the end."""

from __future__ import annotations

import contextlib
import os
import signal
import threading
import time
from typing import TYPE_CHECKING, NoReturn

from evenhand.runtime.errors import SubjectCrashed, clip

if TYPE_CHECKING:
    from collections.abc import Iterator
    from types import FrameType

ENDING = tuple(
    getattr(signal, name)
    for name in ("SIGINT", "SIGTERM", "SIGHUP")
    if hasattr(signal, name)
)
"""The signals after which a run ends with what it has."""

_END = os._exit
"""What ends this process at once, whatever stands in its place for the tested software."""
_FATAL_OFFSET = 128
"""What shells add to the number of the signal that ended a program."""
_LOOK = 1.0
"""Seconds between two looks of a worker at whether its parent lives."""


class Interruption(KeyboardInterrupt):
    """A signal that a person or the system sent to this process.

    It is a KeyboardInterrupt, so that every part that keeps partial results on Ctrl-C keeps them
    on these signals too.
    """

    def __init__(self, number: int = signal.SIGINT) -> None:
        super().__init__(signal.Signals(number).name)
        self.number = number

    @property
    def exit_code(self) -> int:
        """What a shell expects of a program that ended on this signal."""
        return _FATAL_OFFSET + self.number


class _Signals:
    """Whether signals are watched, and which came."""

    def __init__(self) -> None:
        self.depth = 0
        self.first: int | None = None
        self.count = 0
        self.held = 0
        self.waiting: int | None = None
        """The signal that came while signals were held."""


_SIGNALS = _Signals()
_PATIENCE = 2
"""After how many signals a run is no longer asked to end, but ended."""


@contextlib.contextmanager
def signals_end_runs() -> Iterator[None]:
    """Raise an Interruption on each of the ending signals while the context lasts.

    The first ends the run with what it has, the second ends that too, and a third ends the process.
    What is ignored, as after `nohup`, stays so. Only the main thread may handle signals; elsewhere
    nothing changes.

    >>> with signals_end_runs():
    ...     watched()
    True
    """
    if threading.current_thread() is not threading.main_thread():
        yield
        return
    before = {}
    for number in ENDING:
        handler = signal.getsignal(number)
        if handler is not None and handler is not signal.SIG_IGN:
            before[number] = handler
            signal.signal(number, _interrupt)
    _SIGNALS.depth += 1
    if _SIGNALS.depth == 1:
        _SIGNALS.first = None
        _SIGNALS.count = 0
    try:
        yield
    finally:
        _SIGNALS.depth -= 1
        for number, handler in before.items():
            signal.signal(number, handler)


@contextlib.contextmanager
def signals_held() -> Iterator[None]:
    """Keep signals of the main thread waiting while the context lasts, which must be short.

    >>> with signals_held():
    ...     pass
    """
    if threading.current_thread() is not threading.main_thread():
        yield
        return
    _SIGNALS.held += 1
    try:
        yield
    finally:
        _SIGNALS.held -= 1
        number = _SIGNALS.waiting
        if number is not None and not _SIGNALS.held:
            _SIGNALS.waiting = None
            raise Interruption(number)


def _interrupt(number: int, frame: FrameType | None) -> None:
    _SIGNALS.count += 1
    if _SIGNALS.first is None:
        _SIGNALS.first = number
    if _SIGNALS.count > _PATIENCE:
        _END(exit_code())
    if _SIGNALS.held:
        _SIGNALS.waiting = number
        return
    raise Interruption(number)


def serve_parent(parent: int) -> None:
    """Have a worker leave signals to its parent, and end with it.

    Nothing changes where the process is no child of that parent.
    """
    if os.getppid() != parent or threading.current_thread() is not threading.main_thread():
        return
    # A terminal sends these to all processes at once, and the parent ends its workers.
    for name in ("SIGINT", "SIGHUP"):
        if hasattr(signal, name):
            signal.signal(getattr(signal, name), signal.SIG_IGN)
    signal.signal(signal.SIGTERM, signal.SIG_DFL)
    threading.Thread(target=_end_with, args=(parent,), daemon=True).start()


def _end_with(parent: int) -> None:
    while os.getppid() == parent:
        time.sleep(_LOOK)
    _END(_FATAL_OFFSET + signal.SIGTERM)


def watched() -> bool:
    """Return whether signals are turned into interruptions at the moment."""
    return _SIGNALS.depth > 0


def exit_code() -> int:
    """Return the exit code of a run that was interrupted, by the first signal that came.

    >>> exit_code()
    130
    """
    return Interruption(_SIGNALS.first or signal.SIGINT).exit_code


def is_from_outside(error: KeyboardInterrupt) -> bool:
    """Return whether an interrupt came to this process rather than from the tested software.

    Where signals are watched, every real one is an Interruption, and a bare KeyboardInterrupt was
    raised by the software itself. Where they are not, as in a notebook, the two look the same, and
    both count as real.

    >>> is_from_outside(KeyboardInterrupt())
    True
    >>> with signals_end_runs():
    ...     is_from_outside(KeyboardInterrupt())
    False
    """
    return isinstance(error, Interruption) or not watched()


@contextlib.contextmanager
def exits_reported(name: str, task: str = "") -> Iterator[None]:
    """Turn what would end this process without a verdict into an error of one sentence.

    Code of others runs inside: the software under test, or a function that the user gave. Whatever
    it raises that is no Exception, as sys.exit does, would otherwise end the run. Interrupts that
    come from outside pass.

    Parameters
    ----------
    name
        Who runs, for the message.
    task
        What it was doing, at the end of the message.

    >>> import sys
    >>> with exits_reported("lend", " on 3 inputs"):
    ...     sys.exit(0)
    Traceback (most recent call last):
    evenhand.runtime.errors.SubjectCrashed: lend called sys.exit(0) on 3 inputs
    """
    try:
        yield
    except Exception:
        raise
    except BaseException as error:
        if isinstance(error, KeyboardInterrupt) and is_from_outside(error):
            raise
        raise SubjectCrashed(f"{name} {_deed(error)}{task}") from error


class SuddenExit(SystemExit):
    """What os._exit raises where it may not end this process."""


@contextlib.contextmanager
def sudden_exits_raised() -> Iterator[None]:
    """Raise where code calls os._exit in this process, which would end it without a verdict.

    Processes that are forked end as they always do.

    >>> with sudden_exits_raised(), exits_reported("lend"):
    ...     os._exit(0)
    Traceback (most recent call last):
    evenhand.runtime.errors.SubjectCrashed: lend called os._exit(0)
    """
    own = os.getpid()
    end = os._exit

    def raise_here(status: int) -> NoReturn:
        if os.getpid() != own:
            end(status)
        raise SuddenExit(status)

    os._exit = raise_here
    try:
        yield
    finally:
        os._exit = end


def _deed(error: BaseException) -> str:
    """Return what code did that raised an error.

    >>> _deed(SystemExit(3)), _deed(SystemExit()), _deed(KeyboardInterrupt())
    ('called sys.exit(3)', 'called sys.exit()', 'raised KeyboardInterrupt')
    """
    if isinstance(error, SuddenExit):
        return f"called os._exit({clip(repr(error.code))})"
    if isinstance(error, SystemExit):
        code = "" if error.code is None else clip(repr(error.code))
        return f"called sys.exit({code})"
    return f"raised {type(error).__name__}"
