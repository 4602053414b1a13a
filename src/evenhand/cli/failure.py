"""Errors that evenhand did not raise on purpose: one sentence, and a traceback to report."""

from __future__ import annotations

import errno
import os
import sys
import tempfile
import traceback

from evenhand.runtime.errors import INTERNAL_ERROR, UsageError, clip, place_of, printable

REPORT = (
    "evenhand: this is a mistake in evenhand and says nothing about your software: {error} at"
    " {place}; please report it with {traceback}"
)
MEMORY = (
    "evenhand: the memory was used up at {place}; give the run more of it, or less to hold at a"
    " time"
)
REFUSED = "evenhand: cannot print the result: {reason}"
_NO_ROOM = (errno.ENOSPC, errno.EDQUOT, errno.EFBIG, errno.EIO)
"""Why the system takes no more output."""
IN_FILE = "the traceback in {file}"
ABOVE = "the traceback above"


def report_failure(error: Exception) -> int:
    """Print one sentence on an error of our own, and return its exit code."""
    if isinstance(error, OSError) and error.errno in _NO_ROOM:
        print(REFUSED.format(reason=error.strerror), file=sys.stderr)
        return UsageError.exit_code
    place = place_of(error)
    if isinstance(error, MemoryError):
        sentence = MEMORY.format(place=place)
    else:
        name = type(error).__name__
        words = clip(f"{name}: {error}") if str(error) else name
        sentence = REPORT.format(error=words, place=place, traceback=_kept_traceback(error))
    print(printable(sentence), file=sys.stderr)
    return INTERNAL_ERROR


def _kept_traceback(error: Exception) -> str:
    """Write the traceback to a file that only this user may read; return where it is."""
    text = "".join(traceback.format_exception(error))
    content = text.encode("utf-8", "backslashreplace")
    try:
        descriptor, file = tempfile.mkstemp(prefix="evenhand-traceback-", suffix=".txt")
        with os.fdopen(descriptor, "wb") as kept:
            kept.write(content)
    except OSError:
        print(text, file=sys.stderr)
        return ABOVE
    return IN_FILE.format(file=file)
