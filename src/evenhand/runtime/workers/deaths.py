"""What ended a worker of this machine, as an error of one sentence."""

from __future__ import annotations

import re
from contextlib import contextmanager
from typing import TYPE_CHECKING

from evenhand.runtime.errors import SubjectCrashed
from evenhand.runtime.interruption import exits_reported
from evenhand.runtime.workers import messages

if TYPE_CHECKING:
    from collections.abc import Iterator


@contextmanager
def deaths_reported() -> Iterator[None]:
    """Turn what ended a worker process, or would end this one, into an error of one sentence."""
    from concurrent.futures.process import BrokenProcessPool

    try:
        with exits_reported("the software under test", " in a worker process"):
            yield
    except BrokenProcessPool as error:
        ending = _ending(str(error))
        raise SubjectCrashed(messages.WORKER_ENDED.format(ending=ending)) from error


def _ending(reason: str) -> str:
    """Return how a worker ended, by the exit code that joblib tells where it knows one.

    >>> _ending("The exit codes of the workers are {SIGSEGV(-11)}"), _ending("")
    ('was killed by SIGSEGV', 'ended')
    >>> _ending("The exit codes of the workers are {EXIT(3)}")
    'exited with code 3'
    """
    found = re.search(r"\{(\w+)\((-?\d+)\)", reason)
    if found is None:
        return "ended"
    name, code = found.groups()
    if name == "EXIT":
        return f"exited with code {code}"
    return f"was killed by {name}"
