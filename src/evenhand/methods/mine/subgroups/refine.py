"""The refinements of a rule: the rule sets with one condition more, beside its other people."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from evenhand.methods.mine import messages
from evenhand.methods.mine.table import entries_of, mined_findings
from evenhand.results.evidence import Finding
from evenhand.runtime.errors import UsageError, clip, nearest
from evenhand.space.rule import Rule

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping, Sequence

    import pandas as pd

    from evenhand.methods.mine.subgroups.story_parts import Subgroup
    from evenhand.methods.mine.table import MinedFinding
    from evenhand.results.result import Result

COLUMNS = {
    "rule": "object",
    "rate": "float64",
    "other": "float64",
    "difference": "float64",
    "low": "float64",
    "high": "float64",
    "support": "float64",
    "shown": "bool",
    "level": "float64",
}
"""The columns of refinements, and their types also where there are none."""


@dataclass(frozen=True, slots=True)
class _KnownSubgroup:
    """A subgroup of a mining, and whether it is known what is within it."""

    subgroup: Subgroup
    entry: Mapping[str, Any]
    refined: bool = True


def refined(result: Result, rule: Rule | Finding | str | None = None) -> pd.DataFrame:
    """Return the refinements of a rule, or without one the stories, which are those of everybody.

    >>> import pandas as pd
    >>> from evenhand.methods.mine.recorded import mine_log
    >>> loans = pd.DataFrame({"sex": ["F"] * 100 + ["M"] * 100, "granted": [0, 1] * 50 + [1] * 100})
    >>> found = refined(mine_log(loans, outcome="granted", over="sex"))
    >>> found[["rule", "rate", "other", "difference"]].to_dict("records")
    [{'rule': 'sex F', 'rate': 0.5, 'other': 1.0, 'difference': -0.5}]
    """
    stories = [line for line in mined_findings(result) if not line.others]
    if isinstance(rule, Finding):
        stories = _of_same_mining(rule, stories)
        rule = rule.about
    everybody = Rule(()).text
    if rule is None or str(rule) == everybody:
        return _frame(result, list(_as_known(stories)))
    known = [found for found in _every(stories) if found.subgroup.text == str(rule)]
    if not known:
        choices = [everybody, *(found.subgroup.text for found in _every(stories))]
        shown = clip(repr(str(rule)))
        valid = nearest(str(rule), dict.fromkeys(choices))
        raise UsageError(
            messages.UNKNOWN_RULE.format(rule=shown, verb=result.job, choices=valid)
        )
    below = []
    for found in _first_of_each_mining(known):
        if not found.refined:
            name = clip(found.subgroup.text)
            raise UsageError(messages.NO_REFINEMENTS.format(verb=result.job, rule=name))
        below += [_KnownSubgroup(part, found.entry) for part in found.subgroup.refinements]
    return _frame(result, below)


def _of_same_mining(
    finding: Finding, stories: Sequence[MinedFinding]
) -> list[MinedFinding]:
    """Return the stories of the mining that a finding is from, which its place names."""
    number = getattr(finding.detail, "mining", None)
    return [line for line in stories if line.place[0] == number]


def _as_known(stories: Sequence[MinedFinding]) -> Iterator[_KnownSubgroup]:
    for line in stories:
        if line.parts is not None:
            parts = line.parts
            yield _KnownSubgroup(parts.subgroup, line.entry, parts.refined)


def _every(stories: Sequence[MinedFinding]) -> Iterator[_KnownSubgroup]:
    """Return the stories first, of which the most is known, then what is within them."""
    level = list(_as_known(stories))
    while level:
        yield from level
        deeper = []
        for found in level:
            for part in found.subgroup.refinements:
                deeper.append(_KnownSubgroup(part, found.entry))
        level = deeper


def _first_of_each_mining(known: Sequence[_KnownSubgroup]) -> list[_KnownSubgroup]:
    """Return of subgroups of one rule the first of each mining: a story, if it is one."""
    first: dict[int, _KnownSubgroup] = {}
    for found in known:
        first.setdefault(id(found.entry), found)
    return list(first.values())


def _frame(result: Result, subgroups: Sequence[_KnownSubgroup]) -> pd.DataFrame:
    """Return a row for each subgroup; of several minings, also which one it is from."""
    import pandas as pd

    several = len(entries_of(result)) > 1
    types = COLUMNS | dict.fromkeys(("over", "score", "output"), "object")
    names = list(types) if several else list(COLUMNS)
    rows = [_row(found, several=several) for found in subgroups]
    table = pd.DataFrame(rows, columns=names)
    return table.astype({name: types[name] for name in names})


def _row(found: _KnownSubgroup, *, several: bool) -> dict[str, Any]:
    subgroup = found.subgroup
    entry = found.entry
    row = {
        "rule": subgroup.text,
        "rate": subgroup.rate,
        "other": subgroup.other,
        "difference": subgroup.apart.value,
        "low": subgroup.apart.low,
        "high": subgroup.apart.high,
        "support": subgroup.support,
        "shown": subgroup.apart.shown,
        "level": subgroup.apart.level,
    }
    if several:
        over = ", ".join(entry["over"])
        row |= {"over": over, "score": entry["score"], "output": entry["output"]}
    return row
