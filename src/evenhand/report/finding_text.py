"""What drawings and text share: the subject of a finding, shown groups, and a verb's details."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, TypeAlias

from evenhand.runtime import number_text
from evenhand.runtime.language import say

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from evenhand.results.evidence import Finding, Group
    from evenhand.results.result import Result

    Details: TypeAlias = Mapping[str, Any]
    """What a verb left in the details of its result."""

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
    """Return what a finding is about: its features or rule, and the output where there are several.

    >>> from evenhand.statistics.estimate import Estimate
    >>> from evenhand.results.evidence import Finding
    >>> subject_of(Finding("a claim", ("sex", "race"), Estimate.exact(1, 4), output="rate"))
    'rate: sex, race'
    """
    about = about_text(finding)
    if not finding.output:
        return about
    return f"{finding.output}: {about}"


def about_text(finding: Finding) -> str:
    """Return the features of a finding, or its rule."""
    if isinstance(finding.about, tuple):
        return ", ".join(finding.about)
    return str(finding.about)


def limit_text(finding: Finding) -> str:
    """Return the limit of a finding, written as its score is; empty where there is none.

    >>> from evenhand.statistics.estimate import Estimate
    >>> from evenhand.results.evidence import Finding
    >>> limit_text(Finding("a claim", ("sex",), Estimate.exact(1, 4), limit=0.05))
    '5 %'
    >>> limit_text(Finding("a claim", ("sex",), Estimate.exact(3, 4), limit=0.8, least=True))
    'at least 80 %'
    """
    if finding.limit is None:
        return ""
    return number_text.limit(finding.limit, finding.unit, least=finding.least)


def rate_heading(finding: Finding) -> str:
    """Return what the estimates of the groups of a finding are.

    >>> from evenhand.statistics.estimate import Amount, Estimate
    >>> from evenhand.results.evidence import Finding
    >>> apart = Amount(3.5, 3.0, 4.0, 100, 0.95, "Welch")
    >>> rate_heading(Finding("a claim", ("sex",), apart, score="mean difference"))
    'mean'
    >>> rate_heading(Finding("a claim", ("sex",), Estimate.exact(1, 4), score="group"))
    'rate'
    """
    if finding.unit == "amount":
        return finding.score.removesuffix(" difference") or "value"
    return "ratio" if finding.least else "rate"


def shown_groups(groups: Sequence[Group], most: int) -> list[Group | str]:
    """Return the groups by their rates, lowest first and those without data last.

    Of more than `most` groups, both ends are shown. A sentence stands where groups are left out.

    >>> from evenhand.statistics.estimate import Estimate
    >>> from evenhand.results.evidence import Group
    >>> groups = [Group({"age": age}, Estimate.exact(age, 50)) for age in range(20, 50)]
    >>> [str(shown) for shown in shown_groups(groups, 3)]
    ['age 20', 'age 21', '… 27 more groups', 'age 49']
    """
    known = [group for group in groups if group.estimate.n]
    known.sort(key=lambda group: group.estimate.value)
    empty = [group for group in groups if not group.estimate.n]
    # Groups without data get what the others leave, and a quarter at least.
    room_for_empty = max(most // 4, most - len(known))
    last: list[Group | str] = [*empty[:room_for_empty]]
    room = most - len(last)
    left_out = len(empty) - len(last)
    if left_out:
        number = number_text.count(left_out)
        last.append(say("… {number} more groups: {why}", number=number, why=say(NO_DATA)))
    if len(known) <= room:
        return [*known, *last]
    high = room // 2
    lowest = known[: room - high]
    highest = known[len(known) - high :]
    left_out = len(known) - room
    number = number_text.count(left_out)
    between = say("… {number} more groups", number=number)
    return [*lowest, between, *highest, *last]


def lattices_of(result: Result) -> list[tuple[str, Details]]:
    """Return the name and the lattice of each output of a result of `subsets`.

    A single output has no name.
    """
    lattice = result.details.get("lattice")
    if not lattice:
        return []
    if "outputs" in lattice:
        return list(lattice["outputs"].items())
    return [("", lattice)]


def searches_of(result: Result) -> list[tuple[Finding, Details | None]]:
    """Return each finding of a search with its details, None where the search did not come to it.

    Of a result that is not of a search, nothing is returned.
    """
    entries = {}
    for entry in result.details.get("search", ()):
        key = (tuple(entry["about"]), entry["output"])
        entries[key] = entry
    if not entries:
        return []
    searches = []
    for finding in result.findings:
        key = (finding.about, finding.output)
        searches.append((finding, entries.get(key)))
    return searches
