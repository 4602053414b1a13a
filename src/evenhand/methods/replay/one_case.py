"""One case of a result, asked by itself: which it is, and what it was and is."""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING, Any

from evenhand.methods.replay import messages
from evenhand.results.case_id import case_id, whole_id
from evenhand.results.remarks import around
from evenhand.runtime.errors import UsageError
from evenhand.runtime.label_text import value_shown

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence
    from pathlib import Path

    from evenhand.results.evidence import Case, Finding


def findings_of_case(
    file: Path, findings: Sequence[Finding], beginning: str
) -> list[Finding]:
    """Return the findings that hold a case, each with this case alone: one for each output.

    Several checks of an audit may have found the same two people.
    """
    all_cases: list[Case] = []
    for finding in findings:
        all_cases += finding.cases
    if not all_cases:
        return []
    try:
        wanted = whole_id(beginning, all_cases)
    except UsageError as error:
        raise UsageError(messages.CASE_OF_FILE.format(file=file, reason=error)) from None
    by_output: dict[str, Finding] = {}
    for finding in findings:
        same = [case for case in finding.cases if case_id(case) == wanted]
        if same:
            alone = replace(finding, cases=(same[0],))
            by_output.setdefault(finding.output, alone)
    return list(by_output.values())


def claim(case: Case, outcomes: tuple[Any, Any], *, differs: bool) -> str:
    """Return what a case was and is as a sentence."""
    template = messages.CASE_DIFFERS_NO_LONGER
    if differs:
        template = messages.CASE_STILL_DIFFERS
    own_before, twin_before = map(around, case.outcome_texts)
    own, twin = map(around, replace(case, outcomes=outcomes).outcome_texts)
    return template.format(
        case=case_id(case),
        own_before=own_before,
        twin_before=twin_before,
        own=own,
        twin=twin,
    )


def note(case: Case) -> str:
    """Return who a case is, and what of it its twin has otherwise."""
    return messages.CASE_HOLDS.format(
        case=case_id(case),
        individual=_values(case.individual, list(case.individual)),
        changes=_values(case.twin, case.changed),
    )


def _values(record: Mapping[str, Any], names: Sequence[str]) -> str:
    """Return some values of an input as people read them.

    >>> _values({"sex": "F", "age": 30}, ["age"])
    'age 30'
    """
    parts = [f"{name} {around(value_shown(record, name))}" for name in names]
    return ", ".join(parts)
