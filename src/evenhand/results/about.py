"""What a finding is about: its features or its rule, as a key and as JSON holds it."""

from __future__ import annotations

import json
from collections.abc import Mapping
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from evenhand.results.evidence import Detail, Finding
    from evenhand.results.protocol import Evidence


def is_rule(about: Any) -> bool:
    """Return whether a finding is about a rule, which has conditions, rather than features."""
    return hasattr(about, "conditions")


def is_of_the_rest(about: Any) -> bool:
    """Return whether a finding is about all subgroups that have no finding of their own.

    It then bounds them all, and names none: its rule has no conditions.
    """
    return is_rule(about) and not about.conditions


def is_subgroup(about: Any) -> bool:
    """Return whether a finding is about a subgroup that it names."""
    return is_rule(about) and bool(about.conditions)


def has_subgroups_beside(finding: Finding, found: Evidence) -> bool:
    """Return whether evidence names subgroups of the output that a finding is about."""
    for other in found.findings:
        if other.output == finding.output and is_subgroup(other.about):
            return True
    return False


def key_of(score: str, about: Any, output: str = "") -> str:
    """Return the identity of a finding: its score, its features or rule, and its output.

    >>> key_of("group", ("sex", "race")), key_of("causal", ("sex",), "rate")
    ('group of race, sex', 'causal of sex for rate')
    """
    if is_rule(about):
        # What people call a value does not change what the finding is about.
        conditions = [condition.to_dict(labels=False) for condition in about.conditions]
        name = json.dumps(conditions, ensure_ascii=False, sort_keys=True)
    elif isinstance(about, tuple):
        name = ", ".join(sorted(about))
    else:
        name = str(about)
    key = f"{score} of {name}" if score else name
    if output:
        return f"{key} for {output}"
    return key


def detail_to_json(detail: Detail | Mapping[str, Any]) -> dict[str, Any]:
    """Return the detail of a verb as JSON holds it."""
    if isinstance(detail, Mapping):
        return dict(detail)
    return detail.to_dict()


def read_about(about: Any) -> Any:
    """Return what a finding is about from JSON."""
    if isinstance(about, Mapping):
        # Few results have rules, and the import takes scipy's distributions along.
        from evenhand.space.rule import Rule

        return Rule.from_dict(about)
    if isinstance(about, list):
        return tuple(about)
    return about


def about_to_json(about: Any) -> Any:
    """Return what a finding is about as JSON holds it."""
    if is_rule(about):
        return about.to_dict()
    if isinstance(about, tuple):
        return list(about)
    return about
