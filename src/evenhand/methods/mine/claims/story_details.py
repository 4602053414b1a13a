"""What the details of a result hold of a story beside its rates, and what it adds in words."""

from __future__ import annotations

from dataclasses import asdict, dataclass
from typing import TYPE_CHECKING, Any

from evenhand.methods.mine import messages
from evenhand.methods.mine.stories.refinements import refinements
from evenhand.methods.mine.stories.shares import condition_shares
from evenhand.runtime import number_text

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping

    from evenhand.methods.mine.ranking import RuleSet
    from evenhand.methods.mine.rule_sets import Mining
    from evenhand.methods.mine.stories.choosing import StorySearch
    from evenhand.methods.mine.stories.refinements import Refinement
    from evenhand.methods.mine.stories.tree import Story
    from evenhand.space.rule import Rule

    Entry = dict[str, Any]


@dataclass(frozen=True, eq=False)
class StoryDetails:
    """What is known of a story: what it adds, what carries it, its variations and refinements."""

    mining: Mining
    search: StorySearch
    drawn: bool = False
    """Whether Algorithm 2 drew for each rule set by itself, so that parts of them have no rates."""

    def entry(self, story: Story) -> Entry:
        """Return what the details of a result hold of it."""
        return {
            "added": self._added(story),
            "shares": [] if self.drawn else self._shares(story),
            "like": [self._variation(rule_set) for rule_set in story.variations],
            "refinements": [] if self.drawn else self._refinements(story),
        }

    def _added(self, story: Story) -> Entry | None:
        """Return what a story adds to those before it, None of the first."""
        if story.added is None:
            return None
        return {**asdict(story.added), "level": self.search.intervals.level}

    def _shares(self, story: Story) -> list[Entry]:
        """Return how much of the difference each condition of a story carries."""
        shares = condition_shares(self.mining.ranking, story.chosen.number)
        if not shares:
            return []
        names = [self.mining.names[position] for position in story.lead.family]
        share_of = dict(zip(names, shares, strict=True))
        found = []
        for condition in self.mining.rule(story.lead).conditions:
            share = share_of[condition.feature]
            found.append({"text": condition.text, "share": share})
        return found

    def _variation(self, rule_set: RuleSet) -> Entry:
        """Return what the details hold of a rule set that a story explains."""
        return {
            "text": self.mining.rule(rule_set).text,
            "difference": rule_set.difference,
            "support": rule_set.size / self.mining.ranking.total,
        }

    def _refinements(self, story: Story) -> list[Entry]:
        """Return what is known of the rule sets with one condition more, within a story."""
        found = refinements(self.mining.ranking, story.chosen.number, self.search.z(1))
        return [self._refinement(refinement) for refinement in found]

    def _refinement(self, refinement: Refinement) -> Entry:
        rule = self.mining.rule(self.mining.ranking.rule_set(refinement.number))
        return {
            "rule": rule.to_dict(),
            "text": rule.text,
            "support": refinement.people / self.mining.ranking.total,
            "rate": refinement.rate,
            "other": refinement.other,
            "difference": refinement.difference,
            "low": refinement.low,
            "high": refinement.high,
            "shown": refinement.shown,
            "refinements": [self._refinement(part) for part in refinement.refinements],
        }


def added_text(
    story: Story, entry: Mapping[str, Any], rule: Callable[[RuleSet], Rule]
) -> str:
    """Return what a story adds to others, and that nothing adds to it, for the end of its claim."""
    parts = []
    added = entry["added"]
    if added is not None:
        template = messages.ADDED_BEYOND
        above = ""
        if story.parent is not None:
            template = messages.ADDED_WITHIN
            above = rule(story.parent.lead).text
        parts.append(template.format(rule=above, **_difference_texts(entry, added)))
    if not story.children and entry["refinements"]:
        parts.append(messages.NOTHING_WITHIN)
    return "".join(parts)


def _difference_texts(entry: Mapping[str, Any], added: Mapping[str, Any]) -> dict[str, str]:
    """Return a signed difference, its interval and its direction as texts."""
    low_end, high_end = sorted([abs(added["low"]), abs(added["high"])])
    direction = messages.LESS if added["value"] < 0 else messages.MORE
    if entry["ratio"] is None:
        points = number_text.amount(abs(added["value"]))
        low = number_text.amount(low_end)
        high = number_text.amount(high_end)
        interval = messages.BETWEEN.format(low=low, high=high)
    else:
        digits = number_text.percent_decimals(low_end, high_end, most=4)
        value = number_text.points_bare(abs(added["value"]), digits)
        points = messages.IN_POINTS.format(points=value)
        interval = number_text.points_between(low_end, high_end, digits)
    if added["level"] >= 1:
        return {"points": points, "direction": direction, "interval": ""}
    shown = messages.IN_BRACKETS.format(interval=interval)
    return {"points": points, "direction": direction, "interval": shown}
