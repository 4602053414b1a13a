"""What documents of all kinds of evidence share: format, order of verdicts, versions, reading."""

from __future__ import annotations

import platform
from functools import cache
from importlib import metadata
from typing import TYPE_CHECKING, Any

from evenhand.statistics.estimate import StopReason, Verdict
from evenhand.verbs import verb_of

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping

    from evenhand.results.evidence import Finding
    from evenhand.runtime.budget import Spent

FORMAT = 2
"""The format of the JSON that is written; format 1 is read as well."""
EXIT_CODES = {Verdict.PASS: 0, Verdict.FAIL: 1, Verdict.UNDECIDED: 3, None: 0}
"""The one gate policy for the command line, pytest and Python: undecided is not a pass."""
RANK = {Verdict.FAIL: 0, Verdict.UNDECIDED: 1, Verdict.PASS: 2, None: 3}
"""Verdicts, the most serious first."""


def worst_of(verdicts: Iterable[Verdict | None]) -> Verdict | None:
    """Return the most serious of several verdicts, or None where there is none.

    >>> worst_of([Verdict.PASS, None, Verdict.UNDECIDED]).value
    'undecided'
    """
    return min(verdicts, key=lambda verdict: RANK[verdict], default=None)


def versions() -> dict[str, str]:
    """Return the versions that a result depends on."""
    return dict(_versions())


@cache
def _versions() -> dict[str, str]:
    version_of = {"python": platform.python_version()}
    for name in ("evenhand", "numpy", "pandas", "scikit-learn"):
        try:
            version_of[name] = metadata.version(name)
        except metadata.PackageNotFoundError:
            continue
    return version_of


def read_stop(name: str) -> StopReason:
    """Return why a run ended, from its name in JSON."""
    return StopReason[name.upper()]


def findings_of(table: Mapping[str, Any]) -> list[Finding]:
    """Rebuild the findings of a document, each with the detail that its verb knows."""
    from evenhand.results.evidence import Finding

    read_detail = verb_of(table["job"]).detail
    return [
        Finding.from_dict(finding, read_detail=read_detail) for finding in table["findings"]
    ]


def spent_of(table: Mapping[str, Any]) -> Spent:
    """Rebuild what a run spent; documents within others have none."""
    from evenhand.runtime.budget import Spent

    spent = table.get("spent", {})
    return Spent(
        queries=spent.get("queries", 0),
        executed=spent.get("executed", 0),
        seconds=spent.get("seconds", 0.0),
        one_process=spent.get("one_process", ""),
    )
