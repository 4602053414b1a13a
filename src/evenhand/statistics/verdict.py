"""Verdict and StopReason: what an estimate says about a limit, and why a run ended."""

from __future__ import annotations

from enum import StrEnum


class Verdict(StrEnum):
    """What an estimate says about a limit; UNDECIDED is not a pass.

    Notes
    -----
    See docs/how-to/ci.md for what each means for an exit code.
    """

    PASS = "pass"  # noqa: S105
    FAIL = "fail"
    UNDECIDED = "undecided"


class StopReason(StrEnum):
    """Why sampling ended, as the sentence that users read.

    Notes
    -----
    See docs/how-to/measure.md and docs/explanation/intervals.md.
    """

    DECIDED = "the limit was excluded"
    MARGIN = "the margin was reached"
    TOO_CLOSE = "the score is too close to the limit to tell on which side of it it lies"
    QUERIES = "the query budget was spent"
    SECONDS = "the time budget was spent"
    FINDINGS = "enough findings were collected"
    ENUMERATED = "every input was enumerated"
    EXHAUSTED = "there was nothing left to try"
    INTERRUPTED = "the run was interrupted"
    COMPLETED = "all there was to do was done"
