"""repair: train again with what was found, and show whether it helped.

The methods are those of Aequitas (Algorithm 5) and TestSGD (phase 3).
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any

from evenhand.methods.repair import REPAIR, messages
from evenhand.methods.repair.change import PairedChange
from evenhand.methods.repair.claims.handover import handed_over
from evenhand.methods.repair.job import RepairAttempt, RepairJob
from evenhand.methods.repair.methods.augment import augment, first_look
from evenhand.methods.repair.options import (
    RepairOptions,
    are_texts,
    refuse_options_of_texts,
    texts,
)
from evenhand.methods.repair.paired import gap_change
from evenhand.methods.repair.repair_result import Repair
from evenhand.methods.repair.rows import LabelledRows, split
from evenhand.methods.repair.steps import ALL, NOTHING, REPAIRED
from evenhand.methods.repair.training import (
    Trainer,
    are_numbers,
    favourable_label,
    notes_on_weights,
    predicts_numbers,
    unseen_levels_explained,
)
from evenhand.methods.repair.verification import Claim, HeldOutChecks, claimed
from evenhand.runtime.budget import Meter, checked_budget
from evenhand.runtime.errors import UsageError
from evenhand.runtime.progress import progress_bar
from evenhand.runtime.workers import Workers
from evenhand.space.feature_sets import feature_sets, unseen_notes
from evenhand.space.rule import Rule

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence
    from os import PathLike

    from evenhand.methods.repair.claims.handover import Handover
    from evenhand.results.result import Result
    from evenhand.runtime.budget import Budget
    from evenhand.space.feature_sets import Over
    from evenhand.space.space import Space
    from evenhand.subject.outcome_meaning import Differs
    from evenhand.subject.subject import Subject
    from evenhand.texts.lexicon import Lexicon

    About = tuple[str, ...] | Rule
    """The features, or the subgroup, that a repair is about."""

CHECKED = 32
"""Inputs that are asked twice to see whether a model answers the same way each time."""


@REPAIR.options.checked
def repair(
    estimator: Any,
    X: Any,  # noqa: N803
    y: Any = None,
    *,
    space: Space | None = None,
    over: Over | None = None,
    method: str = "augment",
    labelling: str | Callable[[Any], Any] = "vote",
    add: str | None = None,
    patience: int | None = None,
    rule: Rule | Result | None = None,
    steps: int = 8,
    tolerance: float = 0.01,
    test: float | tuple[Any, Any] = 0.25,
    validate: float | tuple[Any, Any] = 0.2,
    sample_weight: Any = None,
    positive: Any = None,
    differs: Differs = None,
    limit: float | None = None,
    level: float = 0.95,
    draws: int | None = None,
    budget: Budget | None = None,
    support: float = 0.05,
    refit: bool = True,
    lexicon: Lexicon | dict[str, Any] | str | PathLike[str] | None = None,
    without: Sequence[str] | str = (),
    seed: int = 0,
    n_jobs: int = 1,
    progress: bool | None = None,
) -> Repair:
    """Train a model again so that it treats people more alike, and measure what that changed.

    The rows are split: on some a model is trained, on some each step is checked, and the last are
    left alone until the model is chosen. The claim rests on those and on fresh inputs; so do all
    other scores, before and after.

    Parameters
    ----------
    estimator
        An estimator or pipeline of scikit-learn, which is cloned, or a function ``fit(X, y)`` that
        returns a model.
    X, y
        Rows of any dataframe engine, an array, or texts; and the true outcomes, or the name of the
        column with them.
    space, over
        What an input can be, and the features that outcomes should not depend on, taken together;
        by default all that are protected.
    method
        ``"augment"``: Aequitas's Algorithm 5, with steps that are kept only where the share clearly
        fell. ``"aequitas"``: the same as published, which keeps any fall of the estimate.
        ``"subgroup"``: for the subgroup of a `rule` that is treated differently, by default the
        worst that `mine` finds (TestSGD). ``"evened"``: no training; the model is asked about all
        variants (see `Evened`).
    labelling
        Of generated inputs: ``"vote"`` of several classifiers; ``"majority"`` of the model's
        outcomes over the variants; the ``"advantaged"`` or ``"disadvantaged"`` variant's;
        ``"neighbours"``; or a function of a frame.
    add
        For augment: ``"twins"`` of training rows, with their own label; discriminatory inputs
        ``"found"``, one by one; ``"pairs"`` of these with all their variants; or ``"both"`` twins
        and pairs. For subgroup: ``"members"`` with the opposite outcome (the paper's),
        ``"borderline"`` ones, or ``"both sides"`` of the boundary.
    patience
        After how many steps in a row that do not help to stop; None tries all, 0 is the paper's
        rule.
    steps
        For subgroup, how many sizes are tried, from 50 rows up to a tenth of the training rows.
    tolerance
        By how much accuracy may fall on validation rows for a step to be kept.
    test, validate
        The share of rows held out, or held-out rows and outcomes; the share of the others for
        validation, or rows.
    sample_weight
        Weights of the rows, where the estimator takes them.
    positive, differs
        The favourable outcome, and when two outcomes differ, as for `Subject`; numbers need a
        number γ.
    limit
        An engineering threshold for the score after the repair.
    draws
        How many inputs the claim rests on; by default as many as are likely to show 400
        discriminatory ones.
    budget
        What the search for discriminatory inputs may spend.
    support
        The least share of rows in a subgroup that is mined.
    refit
        Whether the model that is handed over is fitted on all rows of `X`, by the same recipe as
        the one that was measured; rows given as `test` or `validate` stay out.
    lexicon, without
        For texts, as for `mine_text`.

    Returns
    -------
    Repair
        The repaired model with the evidence: the claim, what else changed, and every step. Scores
        are of the model fitted on the training part of the rows, and `model` is the same recipe
        fitted on all. Where nothing helped, `model` is the original one.

    Raises
    ------
    UsageError
        Where an option is unknown, out of range, or cannot be combined with another one.
    DataError
        Where the rows or outcomes do not fit the space, or are too few to be split.
    SubjectCrashed
        Where the training fails.

    See Also
    --------
    See docs/how-to/repair.md.

    Examples
    --------
    >>> import numpy as np
    >>> import pandas as pd
    >>> from sklearn.tree import DecisionTreeClassifier
    >>> from evenhand.space.space import Space
    >>> rng = np.random.default_rng(0)
    >>> sex, income = rng.integers(0, 2, 2000), rng.integers(0, 50, 2000)
    >>> people = pd.DataFrame({"sex": sex, "income": income})
    >>> granted = people["income"] + 10 * people["sex"] > 30
    >>> space = Space.from_frame(people, protected=["sex"])
    >>> tree = DecisionTreeClassifier(max_depth=4)
    >>> found = repair(tree, people, granted, space=space, positive=True, tolerance=0.15)
    >>> found.before.value, found.after.value, found.region
    (0.186, 0.0, 'good trade-off')

    Here the true outcomes depend on sex, so that less discrimination means less accuracy, by 10
    points.
    """
    given = dict(locals())
    options = RepairOptions.of(given)
    of_texts = space is None and are_texts(X)
    options.check(texts=of_texts)
    checked_budget(budget)
    if rule is not None and method != "subgroup":
        raise UsageError(messages.RULE_WITHOUT_SUBGROUP.format(method=repr(method)))
    if of_texts:
        return texts(estimator, X, y, given)
    refuse_options_of_texts(given)
    data = LabelledRows.of(X, y, space, sample_weight)
    names = _names(data.space, over)
    trainer = Trainer.of(estimator, seed)
    if sample_weight is not None:
        trainer.need_weights()
    table = _TableRepair.of(trainer, data, names, options)
    with (
        Workers(n_jobs) as workers,
        progress_bar(show=progress) as hook,
        unseen_levels_explained(table.train),
    ):
        return table.repaired(Meter(checked_budget(None), hook), workers)


@dataclass(frozen=True, eq=False)
class _TableRepair:
    """Rows of features, split, and how a model is trained on them."""

    trainer: Trainer
    data: LabelledRows
    names: tuple[str, ...]
    options: RepairOptions
    train: LabelledRows
    valid: LabelledRows
    held: LabelledRows

    @classmethod
    def of(
        cls,
        trainer: Trainer,
        data: LabelledRows,
        names: tuple[str, ...],
        options: RepairOptions,
    ) -> _TableRepair:
        """Split the rows, by outcome where outcomes are labels."""
        numbers = are_numbers(trainer, data, options.differs)
        train, valid, held = split(
            data, options.test, options.validate, options.seed, stratify=not numbers
        )
        trainer = replace(trainer, regression=numbers)
        return cls(trainer, data, names, options, train, valid, held)

    def repaired(self, meter: Meter, workers: Workers) -> Repair:
        """Train the original model, repair it, and check what that changed."""
        meter.report("training", 0.0)
        original = self.train.fitted(self.trainer)
        job = replace(self._job(original, meter), workers=workers)
        before = job.subject(original)
        before.need_deterministic(self.train.points[:CHECKED])
        job.notes.extend(notes_on_weights(self.trainer, self.train, original))
        run = RepairRun(job, original, before, self.options, self.held)
        about, attempt, claim = run.attempted()
        job.notes.extend(attempt.advice)
        return self._result(run, about, attempt, claim)

    def _job(self, original: Any, meter: Meter) -> RepairJob:
        """Return what all steps share, after a look at what the original model predicts."""
        options = self.options
        numbers = self.trainer.regression
        if not numbers:
            numbers = predicts_numbers(
                self.trainer,
                original,
                self.train,
                self.data.truth,
                options.differs,
            )
        if numbers and options.method == "subgroup":
            raise UsageError(messages.SUBGROUP_NEEDS_LABELS)
        positive = favourable_label(options.positive, self.data, numbers=numbers)
        return RepairJob(
            trainer=replace(self.trainer, regression=numbers),
            train=self.train,
            valid=self.valid,
            names=self.names,
            meanings={"positive": positive, "differs": options.differs},
            level=options.level,
            tolerance=options.tolerance,
            seed=options.seed,
            meter=meter,
            n_jobs=options.n_jobs,
        )

    def _result(
        self, run: RepairRun, about: About, attempt: RepairAttempt, claim: Claim
    ) -> Repair:
        """Check the repaired model on held-out rows, and return all evidence."""
        options = self.options
        job = run.job
        held_out = HeldOutChecks(
            before=run.before,
            after=run.after(attempt),
            names=self.names,
            test=self.held,
            claim=claim,
            level=options.level,
            seed=options.seed,
            regression=job.trainer.regression,
            notes=job.notes,
        )
        aim = _name_of_aim(about, self.names)
        if attempt.outcome == REPAIRED:
            checks, comparisons = held_out.of_repaired(aim)
        else:
            checks, comparisons = held_out.of_unchanged(aim)
        model, handover = self._handed_over(run, attempt, claim)
        notes = [*job.notes, *unseen_notes(self.data.space, [self.names])]
        return Repair(
            method=options.method,
            over=self.names,
            about=about,
            outcome=attempt.outcome,
            change=claim.change,
            checks=checks,
            comparisons=comparisons,
            history=attempt.history,
            sizes=self._sizes,
            seed=options.seed,
            level=options.level,
            tolerance=options.tolerance,
            limit=options.limit,
            spent=job.spent,
            notes=tuple(dict.fromkeys(notes)),
            options=options.recorded,
            space=self.data.space.to_dict(),
            handover=handover,
            model=model,
            original=run.original,
        )

    def _handed_over(
        self, run: RepairRun, attempt: RepairAttempt, claim: Claim
    ) -> tuple[Any, Handover | None]:
        """Return the repaired model, fitted on all rows where that is wanted, and what it is.

        It is not handed over where it does not do over all inputs what the measured one did.
        """
        if attempt.recipe is None:
            return attempt.model, None
        job = run.job
        model, handover = handed_over(
            attempt.model,
            attempt.recipe,
            self.data,
            self.train,
            refit=self.options.refit,
            notes=job.notes,
        )
        if not handover.refitted or self.options.method == "subgroup":
            return model, handover
        # Inputs have no part in the training, so the claim can be checked of this model as well.
        inputs = claim.inputs or claim.change
        change = claimed(
            run.before,
            job.subject(model),
            job.names,
            attempt.claim,
            level=job.level,
            seed=job.seed,
        )
        if change.verdict in (inputs.verdict, "fell"):
            return model, replace(handover, inputs=change.after)
        return attempt.model, handover.taken_back(change.after)

    @property
    def _sizes(self) -> dict[str, int]:
        return {
            "training": len(self.train),
            "validation": len(self.valid),
            "test": len(self.held),
        }


@dataclass(frozen=True, eq=False)
class RepairRun:
    """One repair: from the original model to the repaired one, and the claim."""

    job: RepairJob
    original: Any
    before: Subject
    options: RepairOptions
    held: LabelledRows

    def attempted(self) -> tuple[About, RepairAttempt, Claim]:
        """Return what it is about, how it ended, and what it changed on what no step has used."""
        if self.options.method == "subgroup":
            return self._subgroup()
        attempt = self._evened() if self.options.method == "evened" else self._augmented()
        claim = Claim.of(
            self.before,
            self.after(attempt),
            self.job.names,
            self.held.points,
            attempt.claim,
            level=self.job.level,
            seed=self.job.seed,
        )
        return self.job.names, attempt, claim

    def after(self, attempt: RepairAttempt) -> Subject:
        """Return the repaired model as a subject: the same as before, where it is."""
        if attempt.model is self.original:
            return self.before
        return self.job.subject(attempt.model)

    def _augmented(self) -> RepairAttempt:
        add = self.options.add or "both"
        patience = self.options.patience
        published = self.options.method == "aequitas"
        if published:
            # Inputs one by one, and the first step that does not help is the last.
            add = "found"
            patience = 0
        return augment(
            self.job,
            self.original,
            add=add,
            labels=self.options.labelling,
            patience=patience,
            draws=self.options.draws,
            budget=self.options.budget,
            published=published,
        )

    def _evened(self) -> RepairAttempt:
        from evenhand.methods.repair.methods.evened import Evened

        first = first_look(
            self.job,
            self.before,
            self.options.draws,
            self.options.budget,
            searched=False,
        )
        if first.nothing:
            return RepairAttempt(NOTHING, self.original, (), first.claim)
        model = Evened(self.original, self.job.space, list(self.job.names))
        self.job.notes.append(messages.COST_OF_EVENED.format(cost=model.cost))

        def train(rows: LabelledRows) -> Any:
            new = rows.fitted(self.job.trainer)
            return Evened(new, self.job.space, list(self.job.names))

        return RepairAttempt(REPAIRED, model, (), first.claim, train)

    def _subgroup(self) -> tuple[About, RepairAttempt, Claim]:
        from evenhand.methods.repair.methods import subgroup  # imported where it is used

        rule, unsure = subgroup.rule_of(
            self.job, self.before, self.options.rule, self.options.support
        )
        if unsure is not None:
            attempt = RepairAttempt(NOTHING, self.original, ())
            return rule, attempt, Claim(PairedChange.none(unsure))
        assert isinstance(rule, Rule)
        attempt = subgroup.subgroup(
            self.job, self.original, rule, add=self.options.add, steps=self.options.steps
        )
        gap = subgroup.Gap(self.job, rule)
        points = self.held.points
        before = gap.means(self.before, points)
        after = gap.means(self.after(attempt), points)
        change = gap_change(
            before,
            after,
            gap.inside(points),
            level=self.job.level,
            population=messages.POPULATION_HELD_OUT_NEIGHBOURS,
        )
        return rule, attempt, Claim(change)


def _name_of_aim(about: About, names: tuple[str, ...]) -> str:
    """Return the name of the check of what a repair is about."""
    if isinstance(about, tuple):
        return " and ".join(names) + ALL
    return str(about)


def _names(space: Space, over: Over | None) -> tuple[str, ...]:
    """Return the features that outcomes should not depend on, as one set."""
    if over is None:
        if not space.protected:
            feature_sets(space, None)  # raises with what is missing
        return tuple(space.protected)
    sets = feature_sets(space, over)
    if len(sets) > 1:
        union = dict.fromkeys(sum(sets, ()))
        message = messages.OVER_SEVERAL_SETS.format(sets=len(sets), union=list(union))
        raise UsageError(message)
    return sets[0]
