"""What was mined as a table: each finding beside what the details tell of its rule set."""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from evenhand.runtime.errors import UsageError, clip
from evenhand.space.rule import Rule

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    import pandas as pd

    from evenhand.results.evidence import Finding
    from evenhand.results.result import Result

OTHERS = "all other rule sets"
_PARTS = {"story": "stories", "change": "changes"}
"""Under which key the details hold each part."""


@dataclass(frozen=True, slots=True)
class Line:
    """A finding, the mining that it is from, and what that tells of it: a story, a change of terms,
    or the rest.
    """

    finding: Finding
    entry: Mapping[str, Any]
    story: Mapping[str, Any]

    @property
    def others(self) -> bool:
        """Whether this is about all rule sets that lead no story, rather than about one."""
        return isinstance(self.finding.about, Rule) and not self.finding.about.conditions

    @property
    def about(self) -> str:
        """The rule set or the categories in words."""
        return OTHERS if self.others else _name(self.finding)


def entries_of(result: Result) -> list[Mapping[str, Any]]:
    """Return what the details hold of each mining; of what was not mined, nothing."""
    return list(result.details.get("mine") or result.details.get("mine_text") or ())


def scores(entry: Mapping[str, Any]) -> bool:
    """Tell whether outcomes are scores, whose means are compared, rather than favourable or not.

    >>> scores({"counts": False}), scores({"counts": True})
    (True, False)
    """
    return not entry["counts"]


def lines_of(result: Result) -> list[Line]:
    """Return each finding of a mining with what the details tell of it, best evidence first, and
    the rest last.
    """
    entries = entries_of(result)
    lines = [_line(finding, entries) for finding in result.findings]
    return sorted(lines, key=lambda line: line.others)


def _line(finding: Finding, entries: Sequence[Mapping[str, Any]]) -> Line:
    """Return a finding beside what the details tell of it, at the place that it names."""
    place: Any = finding.detail
    try:
        entry = entries[place.mining]
        story = entry["rest"] if place.part == "rest" else entry[_PARTS[place.part]][place.number]
        known = _tells_of(story, finding)
    except (AttributeError, IndexError, KeyError, TypeError):
        known = False
    if not known:
        name = clip(_name(finding))
        raise UsageError(f"this evenhand result is damaged: its details do not tell of {name}")
    return Line(finding, entry, story)


def _tells_of(story: Mapping[str, Any], finding: Finding) -> bool:
    """Tell whether details are those of a finding: details of another result would show the wrong
    numbers.
    """
    if "categories" in story:
        name, value = ", ".join(story["categories"]), story["estimate"]["value"]
    elif "difference" in story:
        name, value = story["text"], abs(story["difference"])
    else:
        name, value = Rule(()).text, story["value"]
    return bool(name == _name(finding) and value == finding.estimate.value)


def frame(result: Result) -> pd.DataFrame:
    """Return one row per finding of `mine`, `mine_log` or `mine_text`, with all that is known of
    its rule set.

    Of the rule sets that lead no story, which are the last row, only the largest difference is
    known. Numbers are missing where there is nothing to tell, as a ratio is to a rate of 0.

    >>> import pandas as pd
    >>> from evenhand.methods.mine.recorded import mine_log
    >>> loans = pd.DataFrame({"sex": ["F"] * 100 + ["M"] * 100, "granted": [0, 1] * 50 + [1] * 100})
    >>> found = frame(mine_log(loans, outcome="granted", over="sex"))
    >>> found[["rule", "value", "difference", "rate", "other", "rows"]].to_dict("records")[0]
    {'rule': 'sex F', 'value': 0.5, 'difference': -0.5, 'rate': 0.5, 'other': 1.0, 'rows': 100}
    """
    import pandas as pd

    lines = lines_of(result)
    table = pd.DataFrame(
        [_changes(line) if "changed" in line.story else _row(line) for line in lines]
    )
    # A missing number would make a number with decimals of every count.
    return table.astype({name: "Int64" for name in ("rows", "texts") if name in table})


def _name(finding: Finding) -> str:
    return ", ".join(finding.about) if isinstance(finding.about, tuple) else str(finding.about)


def _row(line: Line) -> dict[str, Any]:
    finding, entry, story = line.finding, line.entry, line.story
    estimate, unit = finding.estimate, "texts" if "texts" in entry else "rows"
    return {
        "rule": line.about,
        "value": estimate.value,
        "difference": story.get("difference", math.nan),
        "low": estimate.low,
        "high": estimate.high,
        **_limits("rate", story.get("rate")),
        **_limits("other", story.get("other")),
        **_limits("ratio", story.get("ratio")),
        unit: story.get(unit),
        "support": story.get("support", math.nan),
        "rules": story["rules"],
        **_terms(line),
        **({"against": entry["against"]} if "against" in entry else {"score": entry["score"]}),
        **({} if "against" in entry else {"over": ", ".join(entry["over"])}),
        "claim": finding.claim,
    }


def _changes(line: Line) -> dict[str, Any]:
    """Return how often outcomes change with the term, and the terms that change the most."""
    estimate, story = line.finding.estimate, line.story
    most = max(story["terms"], key=lambda term: float(term["changed"]))
    return {
        "about": line.about,
        "value": estimate.value,
        "low": estimate.low,
        "high": estimate.high,
        "texts": story["texts"],
        "changed": story["changed"],
        "most": most["text"],
        "most_changed": most["changed"],
        **_terms(line),
        "claim": line.finding.claim,
    }


def _terms(line: Line) -> dict[str, Any]:
    """Return the terms on which a finding holds, and what it is held against."""
    finding, estimate = line.finding, line.finding.estimate
    return {
        "n": estimate.n,
        "level": estimate.level,
        "method": estimate.method,
        "population": estimate.population,
        "limit": finding.limit,
        "verdict": finding.verdict,
        "output": finding.output,
    }


def _limits(name: str, table: Mapping[str, Any] | None) -> dict[str, float]:
    """Return a number and its limits as columns."""
    numbers = {name: "value", f"{name}_low": "low", f"{name}_high": "high"}
    return {
        column: math.nan if table is None or table[key] is None else float(table[key])
        for column, key in numbers.items()
    }
