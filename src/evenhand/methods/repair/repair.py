"""repair: train again with what was found, and show that it helped (Aequitas, Algorithm 5; TestSGD,
phase 3).
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any

import numpy as np

from evenhand.methods.repair import REPAIR
from evenhand.methods.repair.job import RepairJob, RepairAttempt
from evenhand.methods.repair.methods.augment import augment, first_look
from evenhand.methods.repair.options import NOT_FOR_TABLES, RepairOptions, are_texts, refuse, texts
from evenhand.methods.repair.change import PairedChange
from evenhand.methods.repair.paired import gap_change
from evenhand.methods.repair.repair_result import NOTHING, REPAIRED, Repair
from evenhand.methods.repair.steps import ALL
from evenhand.methods.repair.training import LabelledRows, Trainer, split, unseen_levels_explained
from evenhand.methods.repair.verification import HeldOutChecks, claimed
from evenhand.runtime.budget import Meter, Spent, checked_budget, progress_bar
from evenhand.runtime.errors import DataError, UsageError, clip, nearest
from evenhand.space.feature_sets import feature_sets, unseen_notes
from evenhand.space.rule import Rule
from evenhand.subject.subject import Subject

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence
    from os import PathLike

    from numpy.typing import NDArray

    from evenhand.results.result import Result
    from evenhand.runtime.budget import Budget
    from evenhand.space.feature_sets import Over
    from evenhand.space.space import Space
    from evenhand.subject.outcome_meaning import Differs
    from evenhand.texts.lexicon import Lexicon

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
    lexicon: Lexicon | dict[str, Any] | str | PathLike[str] | None = None,
    without: Sequence[str] | str = (),
    seed: int = 0,
    n_jobs: int = 1,
    progress: bool | None = None,
) -> Repair:
    """Train a model again so that it treats people more alike, and show on unseen inputs what that
    changed.

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
        ``"augment"``: Aequitas's Algorithm 5, which adds a growing share of inputs. ``"aequitas"``:
        the same exactly as published. ``"subgroup"``: for the subgroup of a `rule` that is treated
        differently, by default the worst that `mine` finds (TestSGD). ``"evened"``: no training;
        the model is asked about all variants (see `Evened`).
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
    lexicon, without
        For texts, as for `mine_text`.

    Examples
    --------
    >>> import pandas as pd
    >>> from sklearn.tree import DecisionTreeClassifier
    >>> from evenhand.space.space import Space
    >>> rng = np.random.default_rng(0)
    >>> people = pd.DataFrame({"sex": rng.integers(0, 2, 2000), "income": rng.integers(0, 50, 2000)})
    >>> granted = people["income"] + 10 * people["sex"] > 30
    >>> space = Space.from_frame(people, protected=["sex"])
    >>> tree = DecisionTreeClassifier(max_depth=4)
    >>> found = repair(tree, people, granted, space=space, positive=True, tolerance=0.15)
    >>> found.before.value, found.after.value, found.region
    (0.2, 0.0, 'good trade-off')

    Here the true outcomes depend on sex, so that less discrimination means less accuracy, by 10
    points.
    """
    given = dict(locals())
    asked, of_texts = RepairOptions.of(given), space is None and are_texts(X)
    asked.check(texts=of_texts)
    checked_budget(budget)
    if rule is not None and method != "subgroup":
        raise UsageError(
            f"rule is for method = 'subgroup', and method = {method!r} takes none; leave it out"
        )
    if of_texts:
        return texts(estimator, X, y, given)
    refuse(given, NOT_FOR_TABLES, "is for texts, and X holds rows of features")
    data = LabelledRows.of(X, y, space, sample_weight)
    names = _names(data.space, over)
    trainer = Trainer.of(estimator, seed)
    if sample_weight is not None:
        trainer.need_weights()
    numbers = _are_numbers(trainer, data, differs)
    train, valid, held = split(data, test, validate, seed, stratify=not numbers)
    with progress_bar(show=progress) as hook, unseen_levels_explained(train):
        meter = Meter(checked_budget(None), hook)
        meter.report("training", 0.0)
        original = train.fitted(trainer)
        numbers = numbers or _told_numbers(trainer, original, train, data.truth, differs)
        if numbers and method == "subgroup":
            raise UsageError(
                "method = 'subgroup' needs labels, and these outcomes are numbers; use 'augment' or"
                " 'evened'"
            )
        trainer = replace(trainer, regression=numbers)
        meanings = {"positive": _favourable(positive, data, numbers=numbers), "differs": differs}
        job = RepairJob(trainer, train, valid, names, meanings, level, tolerance, seed, meter, n_jobs)
        before = job.subject(original)
        before.need_deterministic(train.points[:CHECKED])
        job.notes.extend(_weightless(trainer, train, original))
        run = RepairRun(job, original, before, asked, rule, budget, held)
        about, mended, change = run.mended()
        job.notes.extend(mended.too_dear)
        after = run.after(mended)
        judging = HeldOutChecks(before, after, names, held, change, level, seed, numbers, job.notes)
        aim = f"{' and '.join(names)}{ALL}" if isinstance(about, tuple) else str(about)
        checks, comparisons = (
            judging.told(aim) if mended.outcome == REPAIRED else judging.plain(aim)
        )
    return Repair(
        method=method,
        over=names,
        about=about,
        outcome=mended.outcome,
        change=change,
        checks=checks,
        comparisons=comparisons,
        history=mended.history,
        sizes={"training": len(train), "validation": len(valid), "test": len(held)},
        seed=seed,
        level=level,
        tolerance=tolerance,
        limit=limit,
        spent=Spent(
            sum(one.asked for one in job.subjects),
            sum(one.executed for one in job.subjects),
            meter.seconds,
        ),
        notes=tuple(dict.fromkeys([*job.notes, *unseen_notes(data.space, [names])])),
        options=asked.told,
        space=data.space.to_dict(),
        model=mended.model,
        original=original,
    )


@dataclass(frozen=True, eq=False)
class RepairRun:
    """One repair: from the original model to the mended one, and the claim."""

    job: RepairJob
    original: Any
    before: Subject
    asked: RepairOptions
    rule: Any
    budget: Budget | None
    held: LabelledRows

    def mended(self) -> tuple[tuple[str, ...] | Rule, RepairAttempt, PairedChange]:
        """Return what it is about, how it ended, and what it changed on what no step has used."""
        if self.asked.method == "subgroup":
            return self._subgroup()
        mended = self._evened() if self.asked.method == "evened" else self._augmented()
        subjects = self.before, self.after(mended)
        change = claimed(
            *subjects, self.job.names, mended.claim, level=self.job.level, seed=self.job.seed
        )
        return self.job.names, mended, change

    def after(self, mended: RepairAttempt) -> Subject:
        """Return the mended model as a subject: the same as before, where it is."""
        return self.before if mended.model is self.original else self.job.subject(mended.model)

    def _augmented(self) -> RepairAttempt:
        published = self.asked.method == "aequitas"
        return augment(
            self.job,
            self.original,
            add="found" if published else self.asked.add or "both",
            labels=self.asked.labelling,
            patience=0 if published else self.asked.patience,
            draws=self.asked.draws,
            budget=self.budget,
        )

    def _evened(self) -> RepairAttempt:
        from evenhand.methods.repair.methods.evened import Evened

        first = first_look(self.job, self.before, self.asked.draws, self.budget, searched=False)
        if first.nothing:
            return RepairAttempt(NOTHING, self.original, (), first.claim)
        model = Evened(self.original, self.job.space, list(self.job.names))
        self.job.notes.append(f"each decision asks the model {model.cost} times")
        return RepairAttempt(REPAIRED, model, (), first.claim)

    def _subgroup(self) -> tuple[tuple[str, ...] | Rule, RepairAttempt, PairedChange]:
        from evenhand.methods.repair.methods import subgroup  # imported where it is used

        found, size = subgroup.rule_of(self.job, self.before, self.rule, self.asked.support)
        if size is not None:
            return found, RepairAttempt(NOTHING, self.original, ()), PairedChange.none(size)
        assert isinstance(found, Rule)
        mended = subgroup.subgroup(
            self.job, self.original, found, add=self.asked.add, steps=self.asked.steps
        )
        gap = subgroup.Gap(self.job, found)
        old, new = (gap.means(one, self.held.points) for one in (self.before, self.after(mended)))
        population = "people like the held-out rows, and their one-step neighbours"
        inside = gap.inside(self.held.points)
        return (
            found,
            mended,
            gap_change(old, new, inside, level=self.job.level, population=population),
        )


def _names(space: Space, over: Over | None) -> tuple[str, ...]:
    """Return the features that outcomes should not depend on, as one set."""
    if over is None:
        if not space.protected:
            feature_sets(space, None)  # says what is missing
        return tuple(space.protected)
    sets = feature_sets(space, over)
    if len(sets) > 1:
        raise UsageError(
            f"over names {len(sets)} sets of features; repair takes one, such as"
            f" {list(dict.fromkeys(sum(sets, ())))!r}"
        )
    return sets[0]


def _are_numbers(trainer: Trainer, data: LabelledRows, differs: Any) -> bool:
    """Tell whether outcomes are numbers to be predicted, and need a γ."""
    floats = data.truth.dtype.kind == "f" and not np.array_equal(data.truth, np.round(data.truth))
    numbers = trainer.regression or (floats and differs is not None)
    if numbers and data.truth.dtype.kind not in "iufb":
        raise UsageError(
            f"{trainer.name} predicts numbers, and y holds {clip(repr(data.truth[0]))}"
        )
    if numbers and differs is None:
        some = float(np.std(data.truth.astype(np.float64))) / 10
        raise UsageError(
            f"{trainer.name} predicts numbers, which hardly ever are the same; pass differs=…, the"
            f" least difference that matters, such as {some:.3g}"
        )
    return numbers


def _told_numbers(
    trainer: Trainer, model: Any, train: LabelledRows, truth: NDArray[Any], differs: Any
) -> bool:
    """Tell whether a model predicts numbers after all; what is neither one nor a label of the rows
    is refused.
    """
    told, known = Subject(model, train.space).decide(train.points), set(truth.tolist())
    strange = next((label for label in told.tolist() if label not in known), None)
    if strange is None:
        return False
    if differs is not None and told.dtype.kind in "iuf" and truth.dtype.kind in "iuf":
        return True
    raise DataError(
        f"{trainer.name} answers {clip(repr(strange))}, which is no label of y;"
        f" {nearest(strange, sorted(known))}; for numbers, pass differs=…, the least difference"
        " that matters"
    )


def _favourable(positive: Any, data: LabelledRows, *, numbers: bool) -> Any:
    """Return the favourable label: of 0 and 1, and of truth values, that is the second."""
    if numbers or callable(positive):
        return positive
    found = np.unique(data.truth).tolist()
    if positive is None:
        return max(found) if set(found) <= {0, 1} and len(found) == 2 else None
    for label in positive if isinstance(positive, list | tuple | set | frozenset) else [positive]:
        if label not in found:
            raise UsageError(
                f"positive = {clip(repr(label))} is no label of y; {nearest(label, found)}"
            )
    return positive


def _weightless(trainer: Trainer, train: LabelledRows, model: Any) -> list[str]:
    """Say where weights make no difference: some estimators take them, and do not use them."""
    if train.weights is None or np.ptp(train.weights) == 0:
        return []
    # Scores show a difference that the labels of these rows may not.
    scorer = next(
        (name for name in ("predict_proba", "decision_function") if hasattr(model, name)), None
    )
    told = [
        (
            getattr(one, scorer)(train.native)
            if scorer
            else Subject(one, train.space).decide(train.points)
        )
        for one in (model, trainer.fit(train.native, train.truth))
    ]
    if np.array_equal(told[0], told[1]):
        return [
            f"{trainer.name} gives the same answers with and without sample_weight: it seems to"
            " ignore it"
        ]
    return []
