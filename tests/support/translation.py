"""A translation of every sentence that evidence holds or that reports write about it: other words,
and no digits.

What a program needs must survive it: whoever reads data out of a sentence finds nothing there any
more.
"""

from __future__ import annotations

import re
from contextlib import contextmanager
from copy import deepcopy
from dataclasses import dataclass, field, replace
from typing import TYPE_CHECKING, Any

import pytest

from evenhand.methods.audit.audit_result import Audit
from evenhand.methods.compare.comparison import Comparison, Standing
from evenhand.methods.impact import group_tables, selection_rates
from evenhand.methods.impact import text as impact_text
from evenhand.methods.repair.repair_result import Repair
from evenhand.mitigation.tune import Tuning
from evenhand.results.result import Result
from evenhand.statistics.estimate import Amount, Estimate, StopReason, Witnesses
from evenhand.study.result import StudyResult
from evenhand.verbs import VERBS

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Sequence

    from evenhand.methods.audit.check_result import CheckResult
    from evenhand.results.evidence import Finding
    from evenhand.results.protocol import Evidence

FIRST = "Übersetzung"
TRANSLATED = re.compile(rf"{FIRST} [a-z]+")
"""What a translated sentence looks like."""


def letters(number: int) -> str:
    """Return a number in letters alone; a higher one comes first by the alphabet.

    >>> letters(0), letters(27)
    ('zzzz', 'zzyy')
    """
    found = ""
    for _ in range(4):
        number, last = divmod(number, 26)
        found = chr(ord("z") - last) + found
    return found


@dataclass
class Translation:
    """Translates sentences, each in a way of its own, so that their order by the alphabet is
    another.
    """

    alike: bool = False
    """Whether all claims become the same one."""
    words: dict[str, str] = field(default_factory=dict)

    def __call__(self, sentence: str) -> str:
        """Return a sentence in other words; where there is none there stays none."""
        if not sentence or TRANSLATED.fullmatch(sentence):
            return sentence
        return self.words.setdefault(sentence, f"{FIRST} {letters(1 + len(self.words))}")

    def claim(self, sentence: str) -> str:
        """Return a claim in other words."""
        if self.alike:
            self.words.setdefault(sentence, f"{FIRST} {letters(0)}")
        return self(sentence)

    def all(self, sentences: Sequence[str]) -> tuple[str, ...]:
        """Return sentences in other words."""
        return tuple(map(self, sentences))

    def evidence(self, found: Evidence) -> Any:
        """Return evidence in other words, the same but for its sentences; some of them only
        `foreign` translates.
        """
        if isinstance(found, Audit):
            checks = tuple(self._check(check) for check in found.checks)
            return replace(found, checks=checks, notes=self.all(found.notes))
        if isinstance(found, Result):
            return replace(
                found, findings=self._findings(found.findings), notes=self.all(found.notes)
            )
        if isinstance(found, StudyResult):
            return self._study(found)
        if isinstance(found, Tuning):
            chosen = None if found.chosen is None else self.evidence(found.chosen)
            return replace(found, comparison=self.evidence(found.comparison), chosen=chosen)
        if isinstance(found, Repair):
            comparisons = {
                axis: self.evidence(one) for axis, one in found.comparisons.items()
            }
            return replace(found, comparisons=comparisons, notes=self.all(found.notes))
        assert isinstance(found, Comparison), f"how is a {type(found).__name__} translated?"
        return replace(found, notes=self.all(found.notes))

    def _findings(self, findings: Sequence[Finding]) -> list[Finding]:
        return [replace(finding, claim=self.claim(finding.claim)) for finding in findings]

    def _check(self, check: CheckResult) -> CheckResult:
        held = []
        for one in check.held:
            claim = self.claim(one.claim)
            # What it was before is an estimate in words, unless there was no score: then it is a
            # claim.
            held.append(
                replace(one, claim=claim, before=self.words.get(one.before, one.before))
            )
        found = None if check.found is None else self.evidence(check.found)
        return replace(check, found=found, error=self(check.error), held=tuple(held))

    def _study(self, found: StudyResult) -> StudyResult:
        tables = []
        for table in found.tables:
            translated = {
                "title": self(table["title"]),
                "left_out": list(self.all(table["left_out"])),
                "notes": list(self.all(table["notes"])),
            }
            tables.append({**table, **translated})
        return replace(
            found,
            findings=tuple(self._findings(found.findings)),
            tables=tuple(tables),
            failures=self.all(found.failures),
            notes=self.all(found.notes),
        )

    def document(self, table: Any) -> Any:
        """Return parsed JSON in other words: every claim, note and error."""
        if isinstance(table, list):
            return [self.document(one) for one in table]
        if not isinstance(table, dict):
            return deepcopy(table)
        found: dict[str, Any] = {}
        for key, value in table.items():
            if key in ("claim", "error", "before") and isinstance(value, str):
                found[key] = self(value)
            elif key == "notes":
                found[key] = list(self.all(value))
            else:
                found[key] = self.document(value)
        return found

    @contextmanager
    def foreign(self, *, estimates: bool = False) -> Iterator[None]:
        """Translate, as long as this lasts, what is not a field: sentences that classes and verbs
        make themselves.

        With `estimates`, an estimate in words says nothing at all.
        """
        with pytest.MonkeyPatch.context() as patch:
            for owner, name in (
                (Standing, "claim"),
                (Repair, "claim"),
                (Repair, "side_effects"),
            ):
                patch.setattr(owner, name, self._property(vars(owner)[name]))
            for name in ("__str__", "__format__"):
                patch.setattr(StopReason, name, lambda reason, *_: self(reason.value))
            for module in (impact_text, group_tables):
                patch.setattr(
                    module,
                    "remarks",
                    lambda table: list(self.all(selection_rates.remarks(table))),
                )
            for kind in (Estimate, Witnesses, Amount) if estimates else ():
                patch.setattr(kind, "__str__", lambda estimate: FIRST)
            with self._verbs():
                yield

    def _property(self, made: property) -> property:
        make: Callable[[Any], Any] = made.fget  # type: ignore[assignment]

        def translated(owner: Any) -> Any:
            sentences = make(owner)
            if isinstance(sentences, str):
                return self.claim(sentences)
            return self.all(sentences)

        return property(translated)

    @contextmanager
    def _verbs(self) -> Iterator[None]:
        """Translate what the records of verbs say."""
        known = {name: VERBS[name] for name in VERBS}
        before = {
            name: (verb.question, verb.definition, verb.rule)
            for name, verb in known.items()
        }
        try:
            for verb in known.values():
                object.__setattr__(verb, "question", self(verb.question))
                object.__setattr__(verb, "definition", self(verb.definition))
                object.__setattr__(verb, "rule", self.all(verb.rule))
            yield
        finally:
            for name, words in before.items():
                for key, value in zip(
                    ("question", "definition", "rule"), words, strict=True
                ):
                    object.__setattr__(known[name], key, value)
