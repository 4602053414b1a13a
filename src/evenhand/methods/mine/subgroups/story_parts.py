"""What the details of a result hold of a story, read: what it adds, what carries it, what is in it.

Results that were written before stories had these parts have none of them, nor have texts.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from evenhand.space.rule import Rule

if TYPE_CHECKING:
    from collections.abc import Mapping

    Entry = Mapping[str, Any]


@dataclass(frozen=True, slots=True)
class SignedDifference:
    """How far the people of a rule set are from others, with limits, on the side where they are."""

    value: float
    low: float
    high: float
    level: float

    @property
    def shown(self) -> bool:
        """Whether the limits exclude 0.

        >>> SignedDifference(-0.2, -0.3, -0.1, 0.95).shown
        True
        """
        return self.low > 0 or self.high < 0


@dataclass(frozen=True, slots=True)
class Subgroup:
    """A rule set, the rate of its people and that of the others whom they are compared with."""

    rule: Rule
    rate: float
    other: float
    apart: SignedDifference
    support: float
    refinements: tuple[Subgroup, ...] = ()

    @property
    def text(self) -> str:
        """The rule in words."""
        return self.rule.text


@dataclass(frozen=True, slots=True)
class ConditionShare:
    """How much of the difference of a story one of its conditions carries."""

    text: str
    share: float


@dataclass(frozen=True, slots=True)
class StoryVariation:
    """A rule set that a story explains, and how far its people are from everyone else."""

    text: str
    difference: float
    support: float


@dataclass(frozen=True, slots=True)
class StoryParts:
    """A story as a subgroup of everybody, and what is known of it beside its rates."""

    subgroup: Subgroup
    added: SignedDifference | None
    within: bool
    """Whether it adds that to the story above, rather than to people alike in those before."""
    shares: tuple[ConditionShare, ...]
    variations: tuple[StoryVariation, ...]
    rules: int
    refined: bool
    """Whether its refinements are known, be it that there are none."""

    @classmethod
    def of(cls, story: Entry) -> StoryParts:
        """Read what the details hold of a story; what they lack is none."""
        added = story.get("added")
        level = float(story["rate"]["level"])
        shares = [
            ConditionShare(str(part["text"]), float(part["share"]))
            for part in story.get("shares", ())
        ]
        return cls(
            _story_subgroup(story, level),
            None if added is None else _difference(added, "value", added["level"]),
            within=bool(added and added["within"]),
            shares=tuple(shares),
            variations=tuple(_variation(like) for like in story.get("like", ())),
            rules=int(story["rules"]),
            refined="refinements" in story,
        )


def _story_subgroup(story: Entry, level: float) -> Subgroup:
    """Return a story as what it is of everybody; its limits are signed, as its difference is."""
    difference = float(story["difference"])
    least = float(story["low"])
    most = float(story["high"])
    low, high = least, most
    if not least:
        # On which side of the others its people are is not known.
        low = -most
    elif difference < 0:
        low, high = -most, -least
    parts = story.get("refinements", ())
    return Subgroup(
        Rule.from_dict(story["rule"]),
        _number(story["rate"]["value"]),
        _number(story["other"]["value"]),
        SignedDifference(difference, low, high, level),
        float(story["support"]),
        tuple(_refinement(part, level) for part in parts),
    )


def _refinement(part: Entry, level: float) -> Subgroup:
    return Subgroup(
        Rule.from_dict(part["rule"]),
        float(part["rate"]),
        float(part["other"]),
        _difference(part, "difference", level),
        float(part["support"]),
        tuple(_refinement(further, level) for further in part["refinements"]),
    )


def _difference(part: Entry, value: str, level: float) -> SignedDifference:
    return SignedDifference(
        float(part[value]), float(part["low"]), float(part["high"]), float(level)
    )


def _variation(like: Entry) -> StoryVariation:
    return StoryVariation(
        str(like["text"]), float(like["difference"]), float(like["support"])
    )


def _number(value: float | None) -> float:
    """Return a number; NaN stands for one that is not known."""
    return float("nan") if value is None else float(value)
