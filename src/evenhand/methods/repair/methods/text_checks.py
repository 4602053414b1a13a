"""What a repair changed on held-out texts, which no step has used."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np

from evenhand.methods.compare.compare import compare
from evenhand.methods.repair import messages
from evenhand.methods.repair.change import PairedChange
from evenhand.methods.repair.methods.text_gap import term_change
from evenhand.methods.repair.steps import AIM, RepairCheck
from evenhand.methods.repair.verification import MENDED, ORIGINAL, performance_check
from evenhand.runtime import number_text
from evenhand.runtime.errors import DataError, UsageError
from evenhand.space.rule import Condition, Rule

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from numpy.typing import NDArray

    from evenhand.methods.compare.comparison import Comparison
    from evenhand.methods.repair.methods.texts import TextRepairJob
    from evenhand.statistics.estimate import Estimate
    from evenhand.texts.lexicon import Term
    from evenhand.texts.text_subject import TextSubject

    Predictions = Sequence[NDArray[Any]]
    """Of the original and of the repaired model, for the same texts."""


def rule_of(wanted: Mapping[str, Term]) -> Rule:
    """Return terms by category as a rule."""
    conditions = [Condition(name, levels=(term.text,)) for name, term in wanted.items()]
    return Rule(tuple(conditions))


@dataclass(frozen=True, eq=False)
class TextEvidence:
    """The claim, all that was checked, and where the repair stands against giving up accuracy."""

    change: PairedChange
    checks: tuple[RepairCheck, ...]
    comparisons: dict[str, Comparison]


@dataclass(frozen=True, eq=False)
class HeldOutTextChecks:
    """Checks a repaired model against its original on held-out texts."""

    job: TextRepairJob
    before: TextSubject
    after: TextSubject
    wanted: Mapping[str, Term] | None
    unsure: Estimate | None
    """The gap, where nothing clearly stands out."""

    def evidence(self) -> TextEvidence:
        """Return all that was checked."""
        test = self.job.test
        change = self._change()
        predictions = [self.before.decide(test.texts), self.after.decide(test.texts)]
        checks = []
        if self.wanted is not None:
            checks.append(RepairCheck.of(rule_of(self.wanted).text, AIM, change))
        texts = number_text.count(len(test))
        accuracy = RepairCheck.right(
            predictions,
            test.labels,
            level=self.job.level,
            population=messages.POPULATION_TEST_TEXTS.format(texts=texts),
        )
        if self.after is self.before:
            return TextEvidence(change, (*checks, accuracy), {})
        comparisons = {}
        comparison = self._compared(predictions, change)
        if comparison is not None:
            comparisons[AIM] = comparison
        f1 = self._f1(predictions, change)
        all_checks = (*checks, *self._worst(), accuracy, *f1)
        return TextEvidence(change, all_checks, comparisons)

    def _change(self) -> PairedChange:
        """Return the claim: how the gap changed on held-out texts."""
        job = self.job
        if self.wanted is None or self.unsure is not None:
            assert self.unsure is not None
            return PairedChange.none(self.unsure)
        gap = job.gap(job.test, self.wanted).need_held_out_texts()
        unchanged = self.after is self.before
        old = gap.columns(self.before)
        new = old if unchanged else gap.columns(self.after)
        population = gap.held_out_population
        change = term_change(old, new, level=job.level, population=population)
        if unchanged:
            return PairedChange.none(change.before)
        return change

    def _compared(
        self, predictions: Predictions, change: PairedChange, **options: Any
    ) -> Comparison | None:
        predicted = dict(zip((ORIGINAL, MENDED), predictions, strict=True))
        try:
            return compare(
                predicted,
                self.job.test.labels,
                bias={ORIGINAL: change.before, MENDED: change.after},
                level=self.job.level,
                seed=self.job.seed,
                **options,
            )
        except UsageError as error:
            note = messages.NOT_COMPARED_WITH_OVERWRITING.format(error=error)
            self.job.notes.append(note)
            return None

    def _f1(self, predictions: Predictions, change: PairedChange) -> list[RepairCheck]:
        """Check F1, where exactly one label is favourable."""
        labels = np.unique(self.job.test.labels)
        favourable = []
        for label in labels.tolist():
            is_favourable = self.before.meaning.favourable(np.array([label]))
            if is_favourable[0]:
                favourable.append(label)
        if len(favourable) != 1:
            return []
        compared = self._compared(
            predictions,
            change,
            performance="f1",
            positive=favourable[0],
        )
        if compared is None:
            return []
        return [performance_check("f1", compared)]

    def _worst(self) -> list[RepairCheck]:
        """Check the worst terms of held-out texts, whichever these are before and after."""
        # Both models are mined, and the intervals of both worst rules are to hold together.
        level = 1 - (1 - self.job.level) / 2
        try:
            old = self.job.mine(self.before, self.job.test, level).worst
            new = self.job.mine(self.after, self.job.test, level).worst
        except DataError as error:
            self.job.notes.append(messages.OTHER_TERMS_NOT_COMPARED.format(error=error))
            return []
        check = RepairCheck(
            name="worst terms",
            kind="subgroup",
            before=old.estimate,
            after=new.estimate,
            detail=messages.BEFORE_AND_AFTER.format(before=old.about, after=new.about),
        )
        return [check]
