"""Signals that end a run early: who sent them, and what the shell is told in the end."""

from __future__ import annotations

import contextlib
import signal
import threading
from typing import TYPE_CHECKING

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

_FATAL_OFFSET = 128
"""What shells add to the number of the signal that ended a program."""


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


class _Watch:
    """Whether signals are watched, and the first one that came."""

    def __init__(self) -> None:
        self.depth = 0
        self.first: int | None = None


_WATCH = _Watch()


@contextlib.contextmanager
def signals_end_runs() -> Iterator[None]:
    """Raise an Interruption on each of the ending signals while the context lasts.

    Only the main thread may handle signals; elsewhere nothing changes.

    >>> with signals_end_runs():
    ...     watched()
    True
    """
    if threading.current_thread() is not threading.main_thread():
        yield
        return
    before = {number: signal.signal(number, _interrupt) for number in ENDING}
    _WATCH.depth += 1
    if _WATCH.depth == 1:
        _WATCH.first = None
    try:
        yield
    finally:
        _WATCH.depth -= 1
        for number, handler in before.items():
            signal.signal(number, handler)


def _interrupt(number: int, frame: FrameType | None) -> None:
    if _WATCH.first is None:
        _WATCH.first = number
    raise Interruption(number)


def watched() -> bool:
    """Return whether signals are turned into interruptions at the moment."""
    return _WATCH.depth > 0


def exit_code() -> int:
    """Return the exit code of a run that was interrupted, by the first signal that came.

    >>> exit_code()
    130
    """
    return Interruption(_WATCH.first or signal.SIGINT).exit_code


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


def _deed(error: BaseException) -> str:
    """Return what code did that raised an error.

    >>> _deed(SystemExit(3)), _deed(SystemExit()), _deed(KeyboardInterrupt())
    ('called sys.exit(3)', 'called sys.exit()', 'raised KeyboardInterrupt')
    """
    if isinstance(error, SystemExit):
        code = "" if error.code is None else clip(repr(error.code))
        return f"called sys.exit({code})"
    return f"raised {type(error).__name__}"
