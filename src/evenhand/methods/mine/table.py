"""What was mined as a table: each finding beside what the details hold of its rule set."""

from __future__ import annotations

import math
from dataclasses import asdict, dataclass, replace
from typing import TYPE_CHECKING, Any

from evenhand.methods.mine import messages
from evenhand.methods.mine.subgroups.story_parts import StoryParts
from evenhand.runtime.errors import UsageError, clip
from evenhand.space.rule import Rule

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    import pandas as pd

    from evenhand.results.evidence import Finding
    from evenhand.results.result import Result

OTHERS = messages.ALL_OTHER_RULE_SETS
_PARTS = {"story": "stories", "change": "changes"}
"""Under which key the details hold each part."""


@dataclass(frozen=True, slots=True)
class MinedFinding:
    """A finding, the mining that it is from, and the story, change of terms or rest it reports."""

    finding: Finding
    entry: Mapping[str, Any]
    story: Mapping[str, Any]
    parts: StoryParts | None = None
    """What is known of a story over features; None of terms, and of the rest."""
    above: MinedFinding | None = None
    """The story that it stands below."""

    @property
    def depth(self) -> int:
        """How many stories it stands below."""
        return 0 if self.above is None else 1 + self.above.depth

    @property
    def rule_above(self) -> Rule | None:
        """The rule of the story that it stands below."""
        if self.above is None or self.above.parts is None:
            return None
        return self.above.parts.subgroup.rule

    @property
    def place(self) -> tuple[int, int]:
        """Its mining, and its number among the stories there."""
        place: Any = self.finding.detail
        return place.mining, place.number

    @property
    def place_above(self) -> tuple[int, int] | None:
        """The place of the story that it stands below."""
        parent = self.story.get("parent")
        return None if parent is None else (self.place[0], parent)

    @property
    def others(self) -> bool:
        """Whether this is about all rule sets that lead no story, rather than about one."""
        rule = self.finding.about
        return isinstance(rule, Rule) and not rule.conditions

    @property
    def about(self) -> str:
        """The rule set or the categories in words."""
        if self.others:
            return OTHERS
        return _name(self.finding)


def entries_of(result: Result) -> list[Mapping[str, Any]]:
    """Return what the details hold of each mining; of what was not mined, nothing."""
    return list(result.details.get("mine") or result.details.get("mine_text") or ())


def worst_rule(result: Result) -> Rule:
    """Return the rule of the worst finding; where nothing is told, that of the strongest rule set.

    >>> import pandas as pd
    >>> from evenhand.methods.mine.recorded import mine_log
    >>> loans = pd.DataFrame({"sex": ["F", "M"] * 4, "granted": [0, 1, 1, 1] * 2})
    >>> result = mine_log(loans, outcome="granted", over="sex")
    >>> str(result.worst.about), str(worst_rule(result))
    ('everybody', 'sex F')
    """
    rule = result.worst.about
    assert isinstance(rule, Rule)
    if rule.conditions:
        return rule
    place: Any = result.worst.detail
    rest = entries_of(result)[place.mining]["rest"]
    # Results that were written before have none.
    strongest = rest.get("strongest")
    return rule if strongest is None else Rule.from_dict(strongest["rule"])


def scores(entry: Mapping[str, Any]) -> bool:
    """Return whether outcomes are scores, whose means are compared, rather than favourable or not.

    >>> scores({"counts": False}), scores({"counts": True})
    (True, False)
    """
    return not entry["counts"]


def in_percent(entry: Mapping[str, Any]) -> bool:
    """Return whether both sides of a comparison are told in percent.

    >>> in_percent({"counts": True}), in_percent({"counts": False, "unit": "points"})
    (True, True)
    """
    return bool(entry["counts"]) or entry.get("unit") == "points"


def in_units(entry: Mapping[str, Any]) -> bool:
    """Return whether outcomes are numbers, whose means are in their own unit.

    >>> in_units({"unit": "amount"}), in_units({})
    (True, False)
    """
    return entry.get("unit") == "amount"


def mined_findings(result: Result) -> list[MinedFinding]:
    """Return each finding with what the details hold of it, the rests last.

    The best evidence comes first, and a story is followed by those within it.
    """
    entries = entries_of(result)
    mined = [_mined_finding(finding, entries) for finding in result.findings]
    stories = [line for line in mined if not line.others]
    rests = [line for line in mined if line.others]
    places = {line.place for line in stories}
    below: dict[tuple[int, int] | None, list[MinedFinding]] = {}
    for line in stories:
        # Where the story above is not among the findings, it stands below none.
        above = line.place_above if line.place_above in places else None
        below.setdefault(above, []).append(line)
    in_order = _those_below(None, below)
    if len(in_order) < len(stories):
        # Stories that stand below each other stand below nothing that is shown.
        name = clip(_name(stories[0].finding))
        raise UsageError(messages.RESULT_DAMAGED.format(rule=name))
    return [*in_order, *rests]


def worst_of(findings: Sequence[MinedFinding]) -> MinedFinding:
    """Return the story that is furthest apart at least, wherever it stands; without one, the first.

    A story within another may have the better evidence of the two.
    """
    stories = [found for found in findings if not found.others]
    return max(stories or findings[:1], key=_least_apart)


def _least_apart(found: MinedFinding) -> tuple[float, float]:
    """Return how far apart a story is at least, and by what was counted."""
    estimate = found.finding.estimate
    return estimate.low, estimate.value


def _those_below(
    above: MinedFinding | None,
    below: Mapping[tuple[int, int] | None, Sequence[MinedFinding]],
) -> list[MinedFinding]:
    """Return the stories below another, or below none, each followed by those below it."""
    found = []
    place = None if above is None else above.place
    for line in below.get(place, ()):
        placed = replace(line, above=above)
        found += [placed, *_those_below(placed, below)]
    return found


def _mined_finding(finding: Finding, entries: Sequence[Mapping[str, Any]]) -> MinedFinding:
    """Return a finding beside what the details hold of it, at the place that it names."""
    place: Any = finding.detail
    try:
        entry = entries[place.mining]
        if place.part == "rest":
            story = entry["rest"]
        else:
            stories = entry[_PARTS[place.part]]
            story = stories[place.number]
        known = _describes(story, finding)
        parts = None
        if place.part == "story" and "over" in entry and "rule" in story:
            parts = StoryParts.of(story)
    except (AttributeError, IndexError, KeyError, TypeError, ValueError):
        known = False
    if not known:
        name = clip(_name(finding))
        raise UsageError(messages.RESULT_DAMAGED.format(rule=name))
    return MinedFinding(finding, entry, story, parts)


def _describes(story: Mapping[str, Any], finding: Finding) -> bool:
    """Return whether details are those of a finding.

    Details of another result would show the wrong numbers.
    """
    if "categories" in story:
        name = ", ".join(story["categories"])
        value = story["estimate"]["value"]
    elif "difference" in story:
        name = story["text"]
        value = abs(story["difference"])
    else:
        name = Rule(()).text
        value = story["value"]
    return bool(name == _name(finding) and value == finding.estimate.value)


def frame(result: Result) -> pd.DataFrame:
    """Return one row per finding of a mining, with all that is known of its rule set.

    Of the rule sets that lead no story, which are the last row, only the largest difference is
    known. Numbers are missing where there are none, as a ratio to a rate of 0.

    >>> import pandas as pd
    >>> from evenhand.methods.mine.recorded import mine_log
    >>> loans = pd.DataFrame({"sex": ["F"] * 100 + ["M"] * 100, "granted": [0, 1] * 50 + [1] * 100})
    >>> found = frame(mine_log(loans, outcome="granted", over="sex"))
    >>> found[["rule", "value", "difference", "rate", "other", "rows"]].to_dict("records")[0]
    {'rule': 'sex F', 'value': 0.5, 'difference': -0.5, 'rate': 0.5, 'other': 1.0, 'rows': 100}
    """
    import pandas as pd

    rows = []
    for line in mined_findings(result):
        if "changed" in line.story:
            rows.append(_row_of_change(line))
        else:
            rows.append(_row_of_rule(line))
    table = pd.DataFrame(rows)
    # A missing number would make a number with decimals of every count.
    counts = {name: "Int64" for name in ("rows", "texts") if name in table}
    return table.astype(counts)


def _name(finding: Finding) -> str:
    if isinstance(finding.about, tuple):
        return ", ".join(finding.about)
    return str(finding.about)


def _row_of_rule(line: MinedFinding) -> dict[str, Any]:
    """Return the row of a rule set, or of all that lead no story."""
    estimate = line.finding.estimate
    entry = line.entry
    story = line.story
    unit = "texts" if "texts" in entry else "rows"
    if "against" in entry:
        compared = {"against": entry["against"]}
    else:
        compared = {"score": entry["score"], "over": ", ".join(entry["over"])}
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
        **_place_in_tree(line),
        **_terms(line),
        **compared,
        "claim": line.finding.claim,
    }


def _place_in_tree(line: MinedFinding) -> dict[str, Any]:
    """Return the story above, and what a story adds to it or to those before.

    Of terms, and of results that were written before this was known, nothing.
    """
    stories = line.entry["stories"]
    if "over" not in line.entry or not all("added" in story for story in stories):
        return {}
    above = line.rule_above
    added = None if line.parts is None else line.parts.added
    numbers = None if added is None else asdict(added)
    return {"parent": "" if above is None else above.text, **_limits("added", numbers)}


def _row_of_change(line: MinedFinding) -> dict[str, Any]:
    """Return how often outcomes change with the term, and the terms that change the most."""
    estimate = line.finding.estimate
    story = line.story
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


def _terms(line: MinedFinding) -> dict[str, Any]:
    """Return the terms on which a finding holds, and what it is held against."""
    finding = line.finding
    estimate = finding.estimate
    return {
        "n": estimate.n,
        "level": estimate.level,
        "method": estimate.method,
        "population": estimate.population,
        "limit": finding.limit,
        "verdict": finding.verdict,
        **({} if finding.p_value is None else {"p_value": finding.p_value}),
        "output": finding.output,
    }


def _limits(name: str, table: Mapping[str, Any] | None) -> dict[str, float]:
    """Return a number and its limits as columns; NaN where they are not known."""
    keys = {name: "value", f"{name}_low": "low", f"{name}_high": "high"}
    columns = {}
    for column, key in keys.items():
        number = None if table is None else table[key]
        columns[column] = math.nan if number is None else float(number)
    return columns
