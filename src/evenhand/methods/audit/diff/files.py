"""Two files that are compared: the older audit first."""

from __future__ import annotations

from typing import TYPE_CHECKING

from evenhand.methods.audit.audit_result import as_audit
from evenhand.methods.audit.diff import messages
from evenhand.results.reading import evidence_of
from evenhand.runtime import json_file
from evenhand.runtime.errors import UsageError

if TYPE_CHECKING:
    from collections.abc import Sequence

    from evenhand.methods.audit.audit_result import Audit


def pair_of(files: Sequence[str]) -> tuple[Audit, Audit]:
    """Return the older audit and the newer one of two files, which may hold any evidence.

    >>> pair_of(["only.json"])
    Traceback (most recent call last):
    evenhand.runtime.errors.UsageError: --diff compares two files, the older one first, ...
    """
    if len(files) != 2:
        raise UsageError(messages.TWO_FILES.format(count=len(files)))
    old, new = map(_audit_of, files)
    return old, new


def _audit_of(file: str) -> Audit:
    """Read an audit; what one verb found is named by its job alone, as in the other file."""
    table = json_file.read(file, "result")
    return as_audit(evidence_of(table, where=file))
