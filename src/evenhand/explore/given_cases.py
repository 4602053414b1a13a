"""The cases of a result, as a visit walks through them."""

from __future__ import annotations

import json
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from evenhand.results.case_id import case_id
from evenhand.results.evidence import Case
from evenhand.runtime.errors import UsageError

if TYPE_CHECKING:
    from evenhand.results.protocol import Evidence

MOST_CASES = 1_000
"""How many found inputs of a search are shown."""


@dataclass(frozen=True, slots=True)
class ClaimedCase:
    """A case of a result, and the claim that it is a case of."""

    case: Case
    claim: str = ""


def cases_of(found: Evidence | None) -> list[ClaimedCase]:
    """Return the cases of a result or of all checks of an audit, each once, plausible ones first.

    The first found inputs of a search are cases too.
    """
    if found is None:
        return []
    cases: dict[str, ClaimedCase] = {}
    for result in found.parts:
        for claimed in _all_cases(result):
            cases.setdefault(key_of_inputs(claimed.case), claimed)
    return sorted(cases.values(), key=_doubt)


def _doubt(claimed: ClaimedCase) -> int:
    """Return how doubtful it is that people like those of a case exist."""
    case = claimed.case
    if case.unusual:
        return 2
    return 0 if case.realistic else 1


def _all_cases(result: Any) -> list[ClaimedCase]:
    """Return the cases of a result's findings, and then what a search found."""
    cases = []
    for finding in result.findings:
        for case in finding.cases:
            cases.append(ClaimedCase(case, finding.claim))
    if result.job == "search":
        try:
            found = _search_cases(result)
        except (KeyError, TypeError) as error:
            raise UsageError(
                "the inputs that the search found cannot be read: its space or its table is"
                " damaged"
            ) from error
        for case in found:
            cases.append(ClaimedCase(case, "found by a search"))
    return cases


def _search_cases(result: Any) -> list[Case]:
    """Return the first inputs that a search found, with their twins."""
    names = [feature["name"] for feature in result.space["features"]]
    frame = result.to_frame().head(MOST_CASES)
    columns = {name: frame[name].tolist() for name in frame.columns}
    twin_columns = {}
    for name in names:
        # A twin has columns of its own only for what was changed.
        twin_columns[name] = columns.get(f"twin.{name}", columns[name])
    outcomes = zip(columns["outcome"], columns["twin.outcome"], strict=True)
    cases = []
    for at, both_outcomes in enumerate(outcomes):
        individual = {name: columns[name][at] for name in names}
        twin = {name: twin_columns[name][at] for name in names}
        cases.append(Case(individual, twin, both_outcomes))
    return cases


def key_of_inputs(case: Case) -> str:
    """Return a text that is the same for two cases of the same two inputs."""
    inputs = [dict(case.individual), dict(case.twin)]
    return json.dumps(inputs, sort_keys=True, default=str)


def shown_of(claimed: ClaimedCase) -> dict[str, str]:
    """Return what the page tells of a case beside its values."""
    case = claimed.case
    return {
        "id": case_id(case),
        "claim": claimed.claim,
        "change": case.change_text,
        "text": str(case),
        "unusual": case.unusual,
    }
