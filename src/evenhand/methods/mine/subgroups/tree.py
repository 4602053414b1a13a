"""The tree of subgroups on a page: everybody, the stories, and what is within each of them."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from evenhand.methods.mine import messages
from evenhand.methods.mine.claims.words import OTHERS
from evenhand.methods.mine.subgroups import messages as tree_messages
from evenhand.methods.mine.subgroups.words import UnitWords, direction_of, label_below
from evenhand.report.templates import piece
from evenhand.runtime import number_text
from evenhand.runtime.errors import clip
from evenhand.runtime.language import say

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence

    from markupsafe import Markup

    from evenhand.methods.mine.subgroups.story_parts import (
        SignedDifference,
        StoryParts,
        Subgroup,
    )
    from evenhand.methods.mine.table import MinedFinding
    from evenhand.results.evidence import Finding
    from evenhand.space.rule import Rule
    from evenhand.statistics.estimate import Verdict

    Entry = Mapping[str, Any]

MOST_TREES = 3
"""The most minings of a result that get a tree; the table of rule sets has all of them."""
MOST_STORIES = 15
"""The most stories of a tree."""
AT_ONCE = 5
"""The refinements of a story that are seen at once; the others open."""
LETTERS = 300
"""The most letters of a rule in the tree."""
_PAGE = "methods/mine/subgroups/pages/tree.html.jinja"


@dataclass(frozen=True)
class SignedBar:
    """Places on a scale with 0 in its middle: of an interval, and of a value, if it is marked."""

    start: str
    end: str
    point: str = ""


@dataclass(frozen=True)
class ConditionRow:
    """A condition of a story, and how much of the difference it carries."""

    label: str
    carries: str
    bar: SignedBar


@dataclass(frozen=True)
class TreeWords:
    """What stands over the parts of a subgroup, and beside its refinements."""

    carries: str
    stories: str
    refinements: str
    shown: str
    chance: str


@dataclass(frozen=True)
class Branch:
    """A subgroup of the tree: who they are, how they fare beside others, and what opens below.

    What is empty is left out.
    """

    label: str
    rates: str
    apart: str
    share: str
    shown: bool
    verdict: Verdict | None = None
    bar: SignedBar | None = None
    added: str = ""
    conditions: Sequence[ConditionRow] = ()
    stories: Sequence[Branch] = ()
    refinements: Sequence[Branch] = ()
    more: Sequence[Branch] = ()
    """The refinements that are not seen at once."""
    more_heading: str = ""
    variations: Sequence[Branch] = ()
    variations_heading: str = ""

    @property
    def opens(self) -> bool:
        """Whether there is anything below."""
        below = (self.conditions, self.stories, self.refinements, self.variations)
        return bool(self.added) or any(below)


def trees(
    stories: Sequence[MinedFinding], verdict: Callable[[Finding], Verdict | None]
) -> Iterator[Markup]:
    """Return the tree of each mining over features that has stories.

    Parameters
    ----------
    stories
        The stories of a result, each followed by those below it.
    verdict
        Returns the verdict on a finding, to which a baseline may have been held.
    """
    minings: dict[int, list[MinedFinding]] = {}
    for line in stories:
        if line.parts is not None:
            minings.setdefault(id(line.entry), []).append(line)
    several = len(minings) > 1
    for lines in list(minings.values())[:MOST_TREES]:
        entry = lines[0].entry
        tree = _Tree.of(lines[:MOST_STORIES], verdict)
        left_out = len(lines) - len(tree.stories)
        more = say(tree_messages.MORE_STORIES, count=number_text.count(left_out))
        yield piece(
            _PAGE,
            "tree",
            _name(entry) if several else "",
            _everybody(entry, lines[0]),
            tree.branches(None),
            more if left_out else "",
            _words(),
        )


def _words() -> TreeWords:
    return TreeWords(
        carries=say(tree_messages.WHAT_CARRIES),
        stories=say(tree_messages.STORIES_WITHIN),
        refinements=say(tree_messages.REFINEMENTS_WITHIN),
        shown=say(tree_messages.IS_SHOWN),
        chance=say(tree_messages.MAY_BE_CHANCE),
    )


def _everybody(entry: Entry, line: MinedFinding) -> str:
    """Return how many rows there are, and the level of all intervals."""
    rows = number_text.count(entry["rows"])
    estimate = line.finding.estimate
    if estimate.level >= 1:
        return say(tree_messages.EVERYBODY, rows=rows)
    level = number_text.percent_level(estimate.level)
    return say(tree_messages.EVERYBODY_AT_LEVEL, rows=rows, level=level)


def _name(entry: Entry) -> str:
    """Return what tells a mining from the others of a result."""
    over = ", ".join(entry["over"])
    named = [entry["output"], entry["score"], over]
    return "; ".join(name for name in named if name)


@dataclass(frozen=True)
class _Tree:
    """The stories of one mining, in its words and on one scale."""

    stories: Sequence[MinedFinding]
    verdict: Callable[[Finding], Verdict | None]
    words: UnitWords
    reach: float
    """The end of the scale of bars."""

    @classmethod
    def of(
        cls,
        stories: Sequence[MinedFinding],
        verdict: Callable[[Finding], Verdict | None],
    ) -> _Tree:
        ends = list(_ends(stories))
        words = UnitWords.of(stories[0].entry, ends)
        return cls(stories, verdict, words, max(map(abs, ends)) or 1.0)

    def branches(self, above: MinedFinding | None) -> list[Branch]:
        """Return the stories right below another, or below none."""
        found = []
        for line in self.stories:
            if line.above is above and line.parts is not None:
                found.append(self._story(line, line.parts))
        return found

    def _story(self, line: MinedFinding, parts: StoryParts) -> Branch:
        subgroup = parts.subgroup
        stories = self.branches(line)
        below = {other.about for other in self.stories if other.above is line}
        refinements = [
            self._refinement(part, subgroup.rule)
            for part in subgroup.refinements
            if part.text not in below
        ]
        more = number_text.count(len(refinements[AT_ONCE:]))
        variations = [
            self._variation(like.text, like.difference, like.support)
            for like in parts.variations
        ]
        return Branch(
            clip(label_below(subgroup.rule, line.rule_above), LETTERS),
            self._rates_against(subgroup),
            self.words.apart(subgroup.apart),
            _share(subgroup.support),
            subgroup.apart.shown,
            verdict=self.verdict(line.finding),
            bar=self._bar(subgroup.apart),
            added=self.words.added(parts),
            conditions=self._conditions(parts),
            stories=stories,
            refinements=refinements[:AT_ONCE],
            more=refinements[AT_ONCE:],
            more_heading=say(tree_messages.MORE_REFINEMENTS, count=more),
            variations=variations,
            variations_heading=_variations_heading(parts),
        )

    def _refinement(self, subgroup: Subgroup, above: Rule) -> Branch:
        below = [self._refinement(part, subgroup.rule) for part in subgroup.refinements]
        return Branch(
            clip(label_below(subgroup.rule, above), LETTERS),
            self._rates_within(subgroup),
            self.words.apart(subgroup.apart),
            _share(subgroup.support),
            subgroup.apart.shown,
            refinements=below,
        )

    def _variation(self, text: str, difference: float, support: float) -> Branch:
        direction = direction_of(difference)
        distance = self.words.distance(difference)
        apart = say(messages.APART, points=distance, direction=direction, interval="")
        return Branch(clip(text, LETTERS), "", apart, _share(support), shown=False)

    def _rates_against(self, subgroup: Subgroup) -> str:
        return say(
            tree_messages.RATE_AGAINST,
            rate=self.words.rate(subgroup.rate),
            other=self.words.rate(subgroup.other),
            others=say(OTHERS),
        )

    def _rates_within(self, subgroup: Subgroup) -> str:
        return say(
            tree_messages.RATE_WITHIN,
            rate=self.words.rate(subgroup.rate),
            other=self.words.rate(subgroup.other),
        )

    def _conditions(self, parts: StoryParts) -> list[ConditionRow]:
        """Return what each condition carries, where there are several."""
        if len(parts.shares) < 2:
            return []
        rows = []
        for part in parts.shares:
            distance = self.words.distance(part.share)
            carries = say(
                messages.APART,
                points=distance,
                direction=direction_of(part.share),
                interval="",
            )
            ends = sorted([0.0, part.share])
            bar = SignedBar(*map(self._place, ends))
            rows.append(ConditionRow(clip(part.text, LETTERS), carries, bar))
        return rows

    def _bar(self, apart: SignedDifference) -> SignedBar:
        ends = self._place(apart.low), self._place(apart.high)
        return SignedBar(*ends, point=self._place(apart.value))

    def _place(self, value: float) -> str:
        return number_text.page_place(0.5 + value / (2 * self.reach))


def _ends(stories: Iterable[MinedFinding]) -> Iterator[float]:
    """Return the ends of all that has a bar."""
    for line in stories:
        if line.parts is None:
            continue
        apart = line.parts.subgroup.apart
        yield from (apart.low, apart.value, apart.high)
        for part in line.parts.shares:
            yield part.share


def _share(support: float) -> str:
    return say(tree_messages.SHARE_OF_ROWS, share=number_text.percent(support))


def _variations_heading(parts: StoryParts) -> str:
    """Return how many variations a story explains, and how many of them are listed."""
    folded = max(parts.rules - 1, len(parts.variations))
    count = number_text.count(folded)
    listed = len(parts.variations)
    if folded == listed:
        return say(tree_messages.VARIATIONS_EXPLAINED, count=count)
    shown = number_text.count(listed)
    return say(tree_messages.VARIATIONS_SHOWN, count=count, shown=shown)
