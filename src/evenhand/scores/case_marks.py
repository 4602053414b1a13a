"""Marks on cases: whether the two people of a case could exist, as far as real rows tell."""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING

from evenhand.population.realism import realism_of

if TYPE_CHECKING:
    from collections.abc import Sequence

    from evenhand.population.realism import Realism
    from evenhand.results.evidence import Case, Finding
    from evenhand.space.space import Space


def marked(
    findings: Sequence[Finding], space: Space, realism: Realism | None = None
) -> list[Finding]:
    """Return findings whose cases say which of their people are unusual.

    Without real rows nothing is known of it, and nothing is said.
    """
    if not any(finding.cases for finding in findings):
        return list(findings)
    realism = realism or realism_of(space)
    if realism is None:
        return list(findings)
    out = []
    for finding in findings:
        cases = _marked(finding.cases, realism)
        out.append(replace(finding, cases=cases))
    return out


def _marked(cases: Sequence[Case], realism: Realism) -> tuple[Case, ...]:
    if not cases:
        return ()
    people = [dict(case.individual) for case in cases]
    people += [dict(case.twin) for case in cases]
    plausible = realism.plausible(realism.space.encode(people)).reshape(2, -1)
    found = []
    for case, (individual, twin) in zip(cases, plausible.T.tolist(), strict=True):
        found.append(replace(case, realistic=individual, realistic_twin=twin))
    return tuple(found)
