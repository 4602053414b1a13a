"""AuditChanges: what became better, worse, new or gone from one audit to the next.

A score counts as better or worse where the interval of its change excludes 0. Where both audits
kept their answers to the same inputs, the change is that on these inputs; otherwise it is what both
intervals allow together (`results/score_change.py`).
"""

from __future__ import annotations

from collections import Counter
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any

from evenhand.methods.audit.diff import messages
from evenhand.methods.audit.diff.entries import (
    ChangeKind,
    ChangeReason,
    FindingChange,
    SharedVerdict,
    is_search,
)
from evenhand.methods.audit.diff.questions import questions_of
from evenhand.methods.audit.diff.settings import setting_changes
from evenhand.report.statement import Statement
from evenhand.results.baseline import BETTER, ROSE, ROUNDING, WORSE, held
from evenhand.results.score_change import apart
from evenhand.runtime import number_text
from evenhand.runtime.language import say
from evenhand.scores.kept_answers import change_of

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from evenhand.methods.audit.audit_result import Audit
    from evenhand.methods.audit.check_result import CheckResult
    from evenhand.methods.audit.diff.questions import AskedFinding, Identity
    from evenhand.methods.audit.diff.settings import SettingChange
    from evenhand.results.baseline import BaselineComparison
    from evenhand.results.evidence import Finding
    from evenhand.results.score_change import ScoreChange

_COUNTED = {
    ChangeKind.WORSE: (messages.ONE_WORSE, messages.MANY_WORSE),
    ChangeKind.BETTER: (messages.ONE_BETTER, messages.MANY_BETTER),
    ChangeKind.UNCLEAR: (messages.ONE_UNCLEAR, messages.MANY_UNCLEAR),
    ChangeKind.NEW: (messages.ONE_NEW, messages.MANY_NEW),
    ChangeKind.GONE: (messages.ONE_GONE, messages.MANY_GONE),
    ChangeKind.OTHER: (messages.ONE_OTHER, messages.MANY_OTHER),
    ChangeKind.UNCHANGED: (messages.ONE_UNCHANGED, messages.MANY_UNCHANGED),
}
_ORDER = (
    ChangeKind.WORSE,
    ChangeKind.NEW,
    ChangeKind.GONE,
    ChangeKind.BETTER,
    ChangeKind.UNCLEAR,
    ChangeKind.OTHER,
    ChangeKind.UNCHANGED,
)
"""What is told first: what got worse."""
_BEFORE_UNCLEAR = _ORDER.index(ChangeKind.UNCLEAR) - 0.5


@dataclass(frozen=True)
class AuditChanges:
    """The findings of two audits side by side, and what differs in how these were run.

    Parameters
    ----------
    entries
        An entry for each question, the worst first.
    settings
        Checks that came or went, settings, the software and versions, where they differ.
    old_name
        What the older audit is called.
    """

    entries: tuple[FindingChange, ...]
    settings: tuple[SettingChange, ...] = ()
    old_name: str = ""

    def of_kind(self, kind: ChangeKind) -> list[FindingChange]:
        """Return the entries of one kind."""
        return [entry for entry in self.entries if entry.kind is kind]

    @property
    def counts(self) -> dict[ChangeKind, int]:
        """How many entries there are of each kind."""
        number_of = Counter(entry.kind for entry in self.entries)
        return {kind: number_of[kind] for kind in ChangeKind}

    @property
    def sentence(self) -> str:
        """How many got worse or better, in one sentence or two."""
        if not self.entries:
            return say(messages.NOTHING_TO_COMPARE)
        counted = []
        for kind, (one, many) in _COUNTED.items():
            number = self.counts[kind]
            if number == 1:
                counted.append(say(one))
            elif number:
                counted.append(say(many, count=number_text.count(number)))
        sentence = say(messages.CHANGES_COUNTED, counts=", ".join(counted))
        newly = sum(entry.newly_fails for entry in self.entries)
        if newly == 1:
            return f"{sentence} {say(messages.ONE_NEWLY_FAILS)}"
        if newly:
            return f"{sentence} {say(messages.MANY_NEWLY_FAIL, count=number_text.count(newly))}"
        return sentence

    def to_dict(self) -> dict[str, Any]:
        """Return the changes as JSON holds them."""
        return {
            "old": self.old_name,
            "entries": [entry.to_dict() for entry in self.entries],
            "settings": [setting.to_dict() for setting in self.settings],
        }


def changes_between(old: Audit, new: Audit, *, name: str = "") -> AuditChanges:
    """Return what changed from an older audit to a newer one.

    Parameters
    ----------
    old, new
        The audits; neither is changed.
    name
        What the older one is called, the name of its file for example.

    >>> from evenhand.methods.audit.audit_result import Audit
    >>> from evenhand.runtime.budget import Spent
    >>> audit = Audit((), 0, Spent(0, 0, 0.0))
    >>> changes_between(audit, audit).sentence
    'Neither audit has a finding that could be compared.'
    """
    against = new.against(old, name=name)
    comparing = _Comparing.of(old, against)
    entries = []
    for answers in questions_of(against):
        entries.append(comparing.entry(answers))
    entries += comparing.gone()
    # The sort is stable: within a kind, findings stay in the order of their checks.
    entries.sort(key=_rank)
    settings = setting_changes(old, new)
    return AuditChanges(tuple(entries), tuple(settings), name)


def _rank(entry: FindingChange) -> tuple[float, bool]:
    """Return the sort key of an entry: of what is new, failures come before what is gone."""
    place: float = _ORDER.index(entry.kind)
    if entry.kind is ChangeKind.NEW and not entry.newly_fails:
        place = _BEFORE_UNCLEAR
    return place, not entry.newly_fails


@dataclass(frozen=True)
class _Comparing:
    """The answers of the older audit, and which of them have a counterpart."""

    old_checks: Mapping[str, CheckResult]
    new_checks: Mapping[str, CheckResult]
    old_questions: Sequence[Sequence[AskedFinding]]
    old_answers: Mapping[Identity, tuple[int, AskedFinding]]
    """By identity, the number of the question, and the answer."""
    other_space: bool
    matched: set[int]
    """The numbers of the old questions that are asked now too."""

    @classmethod
    def of(cls, old: Audit, new: Audit) -> _Comparing:
        old_questions = questions_of(old)
        old_answers = {}
        for number, answers in enumerate(old_questions):
            for answer in answers:
                old_answers[answer.identity] = (number, answer)
        return cls(
            {check.name: check for check in old.checks},
            {check.name: check for check in new.checks},
            old_questions,
            old_answers,
            bool(old.space and new.space and old.space != new.space),
            set(),
        )

    def entry(self, answers: Sequence[AskedFinding]) -> FindingChange:
        """Return what became of a question that is asked now."""
        checks = tuple(dict.fromkeys(answer.identity.check for answer in answers))
        for answer in answers:
            if answer.identity in self.old_answers:
                number, before = self.old_answers[answer.identity]
                self.matched.add(number)
                shared = self._shared(answers, shown=answer)
                return self._matched(answer, before, checks, shared)
        for answer in answers:
            renamed = self._of_another_name(answer)
            if renamed is not None:
                number, before = renamed
                self.matched.add(number)
                compared = _compared(answer, before)
                return self._matched(compared, before, checks, ())
        return self._new(answers[0], checks)

    def _of_another_name(self, answer: AskedFinding) -> tuple[int, AskedFinding] | None:
        """Return the old finding of a check that had another name, None where there is none.

        A check is named after its features, so that one more of them gives it another name.
        """
        for number, before in self.old_answers.values():
            is_same_question = before.identity[1:] == answer.identity[1:]
            is_same_job = before.check.job == answer.check.job
            is_gone = before.identity.check not in self.new_checks
            if is_same_question and is_same_job and is_gone and number not in self.matched:
                return number, before
        return None

    def _shared(
        self, answers: Sequence[AskedFinding], *, shown: AskedFinding
    ) -> tuple[SharedVerdict, ...]:
        """Return the verdicts of other checks on a question, where they are others."""
        own = self._words(shown)
        # A check that did not show it before says nothing else where its verdict now is the same.
        alike = (own, (say(messages.NOT_GIVEN), shown.statement.word))
        shared = []
        for answer in answers:
            words = self._words(answer)
            if words not in alike:
                shared.append(SharedVerdict(answer.identity.check, *words))
        return tuple(shared)

    def _words(self, answer: AskedFinding) -> tuple[str, str]:
        """Return the verdict of a check on a question before and now."""
        now = answer.statement.word
        if answer.identity not in self.old_answers:
            return say(messages.NOT_GIVEN), now
        _, before = self.old_answers[answer.identity]
        return before.statement.word, now

    def _matched(
        self,
        answer: AskedFinding,
        before: AskedFinding,
        checks: tuple[str, ...],
        shared: tuple[SharedVerdict, ...],
    ) -> FindingChange:
        reason = self._not_comparable(answer, before)
        change = None
        kind = ChangeKind.OTHER
        if reason is None:
            change = _change(answer, before)
            kind, reason = _kind(answer, before, change)
        return FindingChange(
            kind,
            answer.identity.key,
            checks,
            before.statement,
            answer.statement,
            change,
            reason,
            shared,
        )

    def _not_comparable(
        self, answer: AskedFinding, before: AskedFinding
    ) -> ChangeReason | None:
        """Return why two findings cannot be compared, None where they can."""
        new = answer.finding
        old = before.finding
        if new.unit != old.unit:
            return ChangeReason.UNIT
        if new.judged is not None:
            return None
        populations = {new.estimate.population, old.estimate.population} - {""}
        if len(populations) > 1:
            return ChangeReason.POPULATION
        # What was recorded is told of rows, whose space only describes them.
        assert answer.check.found is not None
        asked = answer.check.found.spent.queries > 0
        if self.other_space and asked:
            return ChangeReason.SPACE
        if not old.estimate.n:
            return ChangeReason.NOTHING_BEFORE
        if not new.estimate.n:
            return ChangeReason.NOTHING_NOW
        return None

    def _new(self, answer: AskedFinding, checks: tuple[str, ...]) -> FindingChange:
        """Return the entry of a finding that the older audit does not have."""
        kind = ChangeKind.NEW
        change = None
        reason = None
        detail = ""
        old_check = self.old_checks.get(answer.identity.check)
        bounded = answer.held
        if old_check is None:
            reason = ChangeReason.CHECK_IS_NEW
        elif old_check.found is None:
            reason = ChangeReason.NOT_RUN_BEFORE
            detail = old_check.error
        elif bounded is not None and bounded.change is not None:
            # The older audit bounded it together with others, which says how much it changed.
            reason = ChangeReason.BOUNDED
            change = bounded.change
            if _rose(answer.finding, change):
                kind = ChangeKind.WORSE
        return FindingChange(
            kind,
            answer.identity.key,
            checks,
            None,
            answer.statement,
            change,
            reason,
            detail=detail,
        )

    def gone(self) -> list[FindingChange]:
        """Return the entries of what the older audit found alone, once all others are made."""
        entries = []
        for number, answers in enumerate(self.old_questions):
            if number not in self.matched:
                entries.append(self._gone(answers))
        for check in self.new_checks.values():
            # A check that could not be run either time has nothing to compare, but must be seen.
            old_check = self.old_checks.get(check.name)
            if check.found is None and (old_check is None or old_check.found is None):
                entries.append(_not_run(check, old_check))
        return entries

    def _gone(self, answers: Sequence[AskedFinding]) -> FindingChange:
        first = answers[0]
        kind = ChangeKind.GONE
        reason = None
        detail = ""
        new_check = self.new_checks.get(first.identity.check)
        if new_check is None:
            reason = ChangeReason.CHECK_IS_GONE
        elif new_check.found is None:
            # That nobody looked does not make it go away.
            kind = ChangeKind.OTHER
            reason = ChangeReason.NOT_RUN_NOW
            detail = new_check.error
        checks = tuple(dict.fromkeys(answer.identity.check for answer in answers))
        return FindingChange(
            kind,
            first.identity.key,
            checks,
            first.statement,
            None,
            reason=reason,
            detail=detail,
        )


def _compared(answer: AskedFinding, before: AskedFinding) -> AskedFinding:
    """Return a finding with how it stands to an older one, of a check that had another name."""
    key = answer.identity.key
    found = answer.check.found
    assert found is not None
    change = change_of(
        answer.finding,
        before.finding,
        answer.check.kept_by_key.get(key),
        before.check.kept_by_key.get(key),
        level=answer.check.level,
        among=len(found.findings),
    )
    comparison = held(answer.finding, before.finding, change=change)
    return replace(answer, held=comparison)


def _not_run(check: CheckResult, old_check: CheckResult | None) -> FindingChange:
    """Return the entry of a check that could not be run now, nor before."""
    new = Statement(check, check.job, check.error, check.verdict, check.alone)
    old = None
    if old_check is not None:
        old = Statement(
            old_check, old_check.job, old_check.error, old_check.verdict, old_check.alone
        )
    return FindingChange(
        ChangeKind.OTHER,
        check.job,
        (check.name,),
        old,
        new,
        reason=ChangeReason.NOT_RUN_NOW,
        detail=check.error,
    )


def _change(answer: AskedFinding, before: AskedFinding) -> ScoreChange | None:
    """Return the change of a score, None of what has none, such as a search."""
    new = answer.finding
    old = before.finding
    if new.judged is not None or is_search(new.estimate):
        return None
    is_only_one = answer.among == 1 and before.among == 1
    if is_only_one and answer.held is not None and answer.held.change is not None:
        return answer.held.change
    return apart(new.estimate, old.estimate)


def _kind(
    answer: AskedFinding, before: AskedFinding, change: ScoreChange | None
) -> tuple[ChangeKind, ChangeReason | None]:
    """Return what became of a finding that both audits have, and why no more is known."""
    new = answer.finding
    old = before.finding
    if new.estimate == old.estimate and new.judged == old.judged:
        return ChangeKind.UNCHANGED, None
    if change is None:
        reason = ChangeReason.SEARCHED if is_search(new.estimate) else None
        return _kind_by_verdict(answer.held), reason
    if max(abs(change.low), abs(change.high)) <= ROUNDING:
        return ChangeKind.UNCHANGED, None
    if new.descriptive:
        return ChangeKind.UNCLEAR, ChangeReason.DESCRIPTIVE
    if _rose(new, change):
        return ChangeKind.WORSE, None
    if _fell(new, change):
        return ChangeKind.BETTER, None
    return ChangeKind.UNCLEAR, None


def _kind_by_verdict(comparison: BaselineComparison | None) -> ChangeKind:
    """Return what became of what has no score: a verdict, or a count of what was found."""
    if comparison is None:
        return ChangeKind.UNCLEAR
    if comparison.state in (WORSE, ROSE):
        return ChangeKind.WORSE
    if comparison.state == BETTER:
        return ChangeKind.BETTER
    return ChangeKind.UNCLEAR


def _rose(finding: Finding, change: ScoreChange) -> bool:
    """Return whether a score surely got worse, whichever direction that is."""
    if finding.least:
        return change.high < -ROUNDING
    return change.low > ROUNDING


def _fell(finding: Finding, change: ScoreChange) -> bool:
    """Return whether a score surely got better, whichever direction that is."""
    if finding.least:
        return change.low > ROUNDING
    return change.high < -ROUNDING
