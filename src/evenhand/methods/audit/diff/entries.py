"""FindingChange: how one finding of an audit stands to that of an older one, and why."""

from __future__ import annotations

from dataclasses import dataclass
from enum import StrEnum
from typing import TYPE_CHECKING, Any

from evenhand.methods.audit.diff import messages
from evenhand.runtime.language import say
from evenhand.statistics.estimate import Estimate, Verdict, Witnesses

if TYPE_CHECKING:
    from collections.abc import Mapping

    from evenhand.report.statement import Statement
    from evenhand.results.score_change import ScoreChange


class ChangeKind(StrEnum):
    """What became of a finding."""

    WORSE = "worse"
    NEW = "new"
    GONE = "gone"
    BETTER = "better"
    UNCLEAR = "no clear change"
    OTHER = "not comparable"
    UNCHANGED = "unchanged"


class ChangeReason(StrEnum):
    """Why a finding has no change, or none that could decide anything."""

    UNIT = "unit"
    POPULATION = "population"
    SPACE = "space"
    NOTHING_BEFORE = "nothing before"
    NOTHING_NOW = "nothing now"
    NOT_RUN_BEFORE = "not run before"
    NOT_RUN_NOW = "not run now"
    CHECK_IS_NEW = "check is new"
    CHECK_IS_GONE = "check is gone"
    BOUNDED = "bounded"
    SEARCHED = "searched"
    DESCRIPTIVE = "descriptive"


@dataclass(frozen=True, slots=True)
class SharedVerdict:
    """What a check made of a question that it shares with another: its own limit may differ."""

    check: str
    before: str
    now: str


@dataclass(frozen=True, slots=True)
class FindingChange:
    """One question, and what two audits say of it.

    Parameters
    ----------
    kind, reason
        What became of it, and why no more is known, where that is so.
    key, checks
        The key of the finding, and the checks that ask it, the one that is shown first.
    old, new
        What the older and the newer audit say, each with its own verdict, whatever any baseline
        excuses; None where an audit says nothing of it.
    change
        The new score minus the old one, with its limits; None where there is none.
    shared
        The verdicts of the other checks that ask the same, where they differ from this one.
    detail
        Why a check could not be run.
    """

    kind: ChangeKind
    key: str
    checks: tuple[str, ...]
    old: Statement | None
    new: Statement | None
    change: ScoreChange | None = None
    reason: ChangeReason | None = None
    shared: tuple[SharedVerdict, ...] = ()
    detail: str = ""

    @property
    def statement(self) -> Statement:
        """What the newer audit says; where it says nothing, what the older one said."""
        shown = self.new or self.old
        assert shown is not None
        return shown

    @property
    def claim(self) -> str:
        """The claim of the newer audit, else of the older one."""
        return self.statement.claim

    @property
    def newly_fails(self) -> bool:
        """Whether it fails now, and did not before."""
        if self.new is None or self.new.verdict is not Verdict.FAIL:
            return False
        return self.old is None or self.old.verdict is not Verdict.FAIL

    @property
    def why(self) -> str:
        """The reason as a sentence, empty where there is none."""
        if self.reason is None:
            return ""
        if self.reason is ChangeReason.UNIT:
            return say(
                messages.OTHER_UNIT, before=_unit_of(self.old), now=_unit_of(self.new)
            )
        if self.reason is ChangeReason.POPULATION:
            return say(
                messages.OTHER_POPULATION,
                before=_population_of(self.old),
                now=_population_of(self.new),
            )
        if self.reason is ChangeReason.NOT_RUN_BEFORE:
            return say(messages.NOT_RUN_BEFORE, error=self.detail)
        if self.reason is ChangeReason.NOT_RUN_NOW:
            return say(messages.NOT_RUN_NOW, error=self.detail)
        return say(_REASONS[self.reason])

    def to_dict(self) -> dict[str, Any]:
        """Return the entry as JSON holds it."""
        return {
            "kind": str(self.kind),
            "key": self.key,
            "checks": list(self.checks),
            "old": _side(self.old),
            "new": _side(self.new),
            "change": None if self.change is None else self.change.to_dict(),
            "reason": None if self.reason is None else str(self.reason),
            "detail": self.detail,
        }


_REASONS = {
    ChangeReason.SPACE: messages.OTHER_INPUTS,
    ChangeReason.NOTHING_BEFORE: messages.NOTHING_BEFORE,
    ChangeReason.NOTHING_NOW: messages.NOTHING_NOW,
    ChangeReason.CHECK_IS_NEW: messages.NEW_CHECK,
    ChangeReason.CHECK_IS_GONE: messages.GONE_CHECK,
    ChangeReason.BOUNDED: messages.BOUNDED_BEFORE,
    ChangeReason.SEARCHED: messages.SEARCHED_LONGER,
    ChangeReason.DESCRIPTIVE: messages.DESCRIPTIVE_CHANGE,
}


def _unit_of(statement: Statement | None) -> str:
    if statement is None or statement.estimate is None:
        return ""
    return statement.estimate.unit


def _population_of(statement: Statement | None) -> str:
    if statement is None or statement.estimate is None:
        return ""
    return statement.estimate.population


def _side(statement: Statement | None) -> Mapping[str, Any] | None:
    """Return what one audit says as JSON holds it."""
    if statement is None:
        return None
    estimate = statement.estimate
    return {
        "claim": statement.claim,
        "verdict": statement.verdict,
        "limit": statement.limit,
        "estimate": None if estimate is None else estimate.to_dict(),
    }


def is_search(estimate: Estimate | None) -> bool:
    """Return whether a score is a count of what a search found."""
    return isinstance(estimate, Witnesses)
