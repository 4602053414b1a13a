"""What drawings and text share: what a finding speaks of, which groups are shown, what a verb left
in the details.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from evenhand.results.evidence import Finding, Group
    from evenhand.results.result import Result

NO_DATA = "no data, undecided"
"""What is said of a group, or a set of features, of which nothing was observed."""
STATES = (
    "discriminating",
    "implied discriminating",
    "cleared",
    "implied cleared",
    "undecided",
    "not shown",
    "not tested",
)
"""The states of a set of features in the lattice of `subsets`, as its levels count them."""


def subject_of(finding: Finding) -> str:
    """Return what a finding speaks of: its features or its rule, and the output where there are
    several.

    >>> from evenhand.statistics.estimate import Estimate
    >>> from evenhand.results.evidence import Finding
    >>> subject_of(Finding("a claim", ("sex", "race"), Estimate.exact(1, 4), output="rate"))
    'rate: sex, race'
    """
    about = ", ".join(finding.about) if isinstance(finding.about, tuple) else str(finding.about)
    return f"{finding.output}: {about}" if finding.output else about


def shown_groups(groups: Sequence[Group], most: int) -> list[Group | str]:
    """Return the groups by their rates, lowest first and those without data last; of more than
    `most`, both ends.

    A sentence stands where groups are left out.

    >>> from evenhand.statistics.estimate import Estimate
    >>> from evenhand.results.evidence import Group
    >>> groups = [Group({"age": age}, Estimate.exact(age, 50)) for age in range(20, 50)]
    >>> [str(shown) for shown in shown_groups(groups, 3)]
    ['age 20', 'age 21', '… 27 more groups', 'age 49']
    """
    known = sorted(
        (group for group in groups if group.estimate.n), key=lambda group: group.estimate.value
    )
    empty = [group for group in groups if not group.estimate.n]
    last: list[Group | str] = [*empty[: max(most // 4, most - len(known))]]
    room = most - len(last)
    if len(empty) > len(last):
        last.append(f"… {len(empty) - len(last):,} more groups: {NO_DATA}")
    if len(known) <= room:
        return [*known, *last]
    high = room // 2
    left_out = f"… {len(known) - room:,} more groups"
    return [*known[: room - high], left_out, *known[len(known) - high :], *last]


def lattices_of(result: Result) -> list[tuple[str, Mapping[str, Any]]]:
    """Return the name and the lattice of each output of a result of `subsets`; a single output has
    no name.
    """
    lattice = result.details.get("lattice")
    if not lattice:
        return []
    return list(lattice["outputs"].items()) if "outputs" in lattice else [("", lattice)]


def searches_of(result: Result) -> list[tuple[Finding, Mapping[str, Any] | None]]:
    """Return each finding of a search with what the details hold of it, None where it was not come
    to; else nothing.
    """
    entries = {
        (tuple(entry["about"]), entry["output"]): entry
        for entry in result.details.get("search", ())
    }
    return (
        [(finding, entries.get((finding.about, finding.output))) for finding in result.findings]
        if entries
        else []
    )
