"""repair for texts: train again so that some terms no longer change how a text is treated.

This is the retraining of TestSGD (RQ3), with evidence on held-out texts.
"""

from __future__ import annotations

import math
from collections.abc import Collection
from dataclasses import dataclass, field, replace
from typing import TYPE_CHECKING, Any

import numpy as np

from evenhand.methods.mine.rule_sets import check_support, check_terms
from evenhand.methods.mine.texts.findings import AGAINST
from evenhand.methods.mine.texts.mine_text import mine_text
from evenhand.methods.repair import messages
from evenhand.methods.repair.claims.handover import handed_over
from evenhand.methods.repair.job import (
    RepairAttempt,
    ValidationScore,
    grown,
    level_of_each,
    sizes,
    spent_on,
    sweep,
    why_not,
)
from evenhand.methods.repair.methods.subgroup import LEAST_ADDED, MOST_ADDED
from evenhand.methods.repair.methods.text_additions import (
    ADDITIONS,
    LabelledTexts,
    pool,
    split_texts,
)
from evenhand.methods.repair.methods.text_checks import HeldOutTextChecks, rule_of
from evenhand.methods.repair.methods.text_gap import (
    TermGap,
    gap_of,
    term_change,
    terms_of,
)
from evenhand.methods.repair.options import is_number, is_whole
from evenhand.methods.repair.repair_result import Repair
from evenhand.methods.repair.rows import check_share
from evenhand.methods.repair.steps import NOTHING, Step
from evenhand.methods.repair.training import Trainer
from evenhand.results.result import Result
from evenhand.runtime import number_text
from evenhand.runtime.budget import Meter
from evenhand.runtime.errors import DataError, UsageError, clip, nearest
from evenhand.runtime.options import checked_keywords
from evenhand.runtime.progress import progress_bar
from evenhand.runtime.random_streams import stream
from evenhand.space.feature import category
from evenhand.space.space import Space
from evenhand.statistics.estimate import Estimate
from evenhand.texts.lexicon import lexicon_of
from evenhand.texts.text_subject import TextSubject

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence
    from os import PathLike

    from numpy.typing import NDArray

    from evenhand.space.rule import Rule
    from evenhand.texts.lexicon import Lexicon, Term

    Terms = Mapping[str, Term]
    """The terms of a rule by category."""

CHECKED = 16
"""Texts that are asked twice to see whether a model answers the same way each time."""
RECORDED = ("add", "support", "against", "steps", "refit")
"""Options that a result records."""
MOST_TWINS = 0.5
"""The largest share of the training texts that is added as twins."""


@checked_keywords
def repair_texts(
    estimator: Any,
    texts: Any,
    y: Any,
    *,
    rule: Rule | Mapping[str, str] | Result | None = None,
    lexicon: Lexicon | Mapping[str, Any] | str | PathLike[str] | None = None,
    without: Sequence[str] | str = (),
    support: float = 0.05,
    positive: Any = None,
    add: str = "twins",
    steps: int = 8,
    most: float | None = None,
    least: int = LEAST_ADDED,
    tolerance: float = 0.01,
    test: float | tuple[Any, Any] = 0.25,
    validate: float = 0.2,
    limit: float | None = None,
    level: float = 0.95,
    against: str = "terms",
    refit: bool = True,
    seed: int = 0,
    progress: bool | None = None,
) -> Repair:
    """Train a text classifier again with texts that it should treat alike, and measure the change.

    Parameters
    ----------
    estimator
        A pipeline of scikit-learn that takes texts, which is cloned, or a function ``fit(texts,
        labels)`` that returns a model.
    texts, y
        A list, array or column of texts, and their true labels.
    rule
        The terms to repair for: a Rule or a result of `mine_text`, or terms by category such as
        ``{"gender": "gay"}``. By default the worst that is mined in the training texts, where it
        clearly stands out.
    lexicon, without, support, against, positive
        As for `mine_text`.
    add
        ``"twins"``: training texts with other terms, and their own label. ``"paper"``: texts with
        the terms of the rule to which the model gives the opposite outcome, then those that are
        nearest to it. ``"both"``: half of each.
    steps, least, most
        How many sizes are tried, from the `least` number of texts to the share `most` of the
        training texts: by default a half for twins, and a tenth, as in the paper, for others.
    tolerance
        By how much accuracy may fall on validation texts for a step to be kept.
    test, validate
        The share of texts held out, or held-out texts and labels; the share of the others for
        validation.
    limit
        An engineering threshold for the gap after the repair.
    refit
        Whether the model that is handed over is fitted on all texts, by the same recipe.

    Returns
    -------
    Repair
        The repaired model with the evidence.

    Raises
    ------
    UsageError
        Where an option is unknown or out of range.
    DataError
        Where no text names what the rule is about, or the labels do not fit the texts.

    Examples
    --------
    >>> from sklearn.feature_extraction.text import CountVectorizer
    >>> from sklearn.linear_model import LogisticRegression
    >>> from sklearn.pipeline import make_pipeline
    >>> rng = np.random.default_rng(0)
    >>> rude, word = rng.random(1000) < 0.5, rng.integers(0, 40, 1000)
    >>> term = np.where(rng.random(1000) < np.where(rude, 0.85, 0.15), "gay", "trans")
    >>> kinds = np.where(rude, "bad", "good")
    >>> texts = [f"a {who} man {kind}{n}" for who, kind, n in zip(term, kinds, word, strict=True)]
    >>> model = make_pipeline(CountVectorizer(), LogisticRegression(C=0.3))
    >>> lexicon = {"gender": ["gay", "straight", "trans"]}
    >>> options = {"positive": False, "lexicon": lexicon, "most": 0.5, "steps": 2}
    >>> found = repair_texts(model, texts, rude, **options)
    >>> print(found.about, found.after.value < found.before.value / 2)
    gender gay True
    """
    given = dict(locals())
    _check(given)
    taken_out = [without] if isinstance(without, str) else without
    terms = lexicon_of(lexicon).without(*taken_out)
    wanted = _wanted_terms(rule, terms)
    train, valid, held = split_texts(texts, y, test, validate, seed)
    trainer = Trainer.of(estimator, seed)
    if trainer.regression:
        raise UsageError(messages.TEXTS_NEED_LABELS.format(model=trainer.name))
    with progress_bar(show=progress) as hook:
        job = TextRepairJob(
            trainer=trainer,
            train=train,
            valid=valid,
            test=held,
            positive=positive,
            lexicon=terms,
            support=support,
            against=against,
            tolerance=tolerance,
            level=level,
            seed=seed,
            meter=Meter(hook=hook),
        )
        return _repaired(job, wanted, LabelledTexts.of(texts, y), given)


def _repaired(
    job: TextRepairJob,
    wanted: Terms | None,
    everything: LabelledTexts,
    given: Mapping[str, Any],
) -> Repair:
    """Train the original model, repair it, and check what that changed on held-out texts."""
    job.meter.report("training", 0.0)
    original = job.fitted([], job.train.labels[:0])
    before = job.subject(original)
    some = job.train.texts[:CHECKED]
    before.need_deterministic(some)
    before.amount(before.decide(some))  # raises where it is not known what is favourable
    unsure = None
    if wanted is None:
        wanted, unsure = job.mined(before)
    attempt = RepairAttempt(NOTHING, original, ())
    if wanted is not None and unsure is None:
        add = given["add"]
        most = _most_added(given["most"], add)
        many = sizes(len(job.train), given["least"], most, given["steps"])
        attempt = _attempted(job, original, before, wanted, add, many)
    job.notes.extend(attempt.advice)
    after = before if attempt.model is original else job.subject(attempt.model)
    checks = HeldOutTextChecks(job, before, after, wanted, unsure)
    found = _result(job, original, attempt, checks, given)
    if attempt.recipe is None:
        return found
    model, handover = handed_over(
        attempt.model,
        attempt.recipe,
        everything,
        job.train,
        refit=given["refit"],
        notes=job.notes,
    )
    spent = spent_on(job.subjects, job.meter)
    notes = tuple(dict.fromkeys(job.notes))
    return replace(found, model=model, handover=handover, spent=spent, notes=notes)


def _result(
    job: TextRepairJob,
    original: Any,
    attempt: RepairAttempt,
    checks: HeldOutTextChecks,
    given: Mapping[str, Any],
) -> Repair:
    evidence = checks.evidence()
    categories = job.lexicon.categories
    wanted = checks.wanted
    return Repair(
        method="subgroup",
        over=tuple(wanted or categories),
        about=tuple(categories) if wanted is None else rule_of(wanted),
        outcome=attempt.outcome,
        change=evidence.change,
        checks=evidence.checks,
        comparisons=evidence.comparisons,
        history=attempt.history,
        sizes={
            "training": len(job.train),
            "validation": len(job.valid),
            "test": len(job.test),
        },
        seed=job.seed,
        level=job.level,
        tolerance=job.tolerance,
        limit=given["limit"],
        spent=spent_on(job.subjects, job.meter),
        notes=tuple(dict.fromkeys(job.notes)),
        options={name: given[name] for name in RECORDED},
        space=_space_of(job.lexicon).to_dict(),
        model=attempt.model,
        original=original,
    )


def _space_of(lexicon: Lexicon) -> Space:
    """Return the categories of a lexicon as features, all of them protected."""
    features = []
    for name in lexicon.categories:
        terms = [term.text for term in lexicon.of(name)]
        features.append(category(name, terms))
    return Space(features, lexicon.categories)


def _wanted_terms(rule: Any, lexicon: Lexicon) -> dict[str, Term] | None:
    """Return the terms to repair for, None where they are to be mined."""
    if rule is None:
        return None
    if isinstance(rule, Result):
        rule = rule.worst.about
    return terms_of(rule, lexicon)


def _check(given: Mapping[str, Any]) -> None:
    """Refuse options that are wrong, before anything is trained."""
    check_support(given["support"])
    check_terms(given["level"], given["limit"], top=1)
    if not isinstance(given["validate"], tuple | list):
        check_share("validate", given["validate"])
    if not isinstance(given["without"], Collection):
        shown = clip(repr(given["without"]))
        raise UsageError(messages.WITHOUT_NOT_A_LIST.format(without=shown))
    _check_choices(given["add"], given["against"])
    for name in ("steps", "least"):
        value = given[name]
        if not is_whole(value) or value < 1:
            shown = clip(repr(value))
            raise UsageError(
                messages.NOT_A_WHOLE_NUMBER.format(name=name, value=shown, least=1)
            )
    for name, usual in (("most", 0.1), ("tolerance", 0.01)):
        value = given[name]
        if value is None and name == "most":
            continue
        if not is_number(value) or not value >= 0:
            shown = clip(repr(value))
            raise UsageError(
                messages.NOT_A_NUMBER.format(name=name, value=shown, example=usual)
            )


def _check_choices(add: Any, against: Any) -> None:
    if add not in ADDITIONS:
        shown = clip(repr(add))
        choices = nearest(add, ADDITIONS)
        raise UsageError(messages.ADD_UNKNOWN.format(add=shown, choices=choices))
    if against not in AGAINST:
        shown = clip(repr(against))
        choices = nearest(against, AGAINST)
        raise UsageError(messages.AGAINST_UNKNOWN.format(against=shown, choices=choices))


@dataclass(frozen=True, eq=False)
class TextRepairJob:
    """What all steps share: how to train, on what, and what the outcomes mean."""

    trainer: Trainer
    train: LabelledTexts
    valid: LabelledTexts
    test: LabelledTexts
    positive: Any
    lexicon: Lexicon
    support: float
    against: str
    tolerance: float
    level: float
    seed: int
    meter: Meter
    notes: list[str] = field(default_factory=list)
    subjects: list[TextSubject] = field(default_factory=list)

    def subject(self, model: Any) -> TextSubject:
        """Return a model as the software under test, which may give no label that there is not."""
        parts = [self.train.labels, self.valid.labels, self.test.labels]
        labels = np.unique(np.concatenate(parts)).tolist()
        subject = TextSubject(model, positive=self.positive, labels=labels)
        self.subjects.append(subject)
        return subject

    def fitted(self, texts: list[str], labels: NDArray[Any]) -> Any:
        """Return a model that was trained on the training texts and these."""
        all_texts = self.train.texts + texts
        all_labels = np.concatenate([self.train.labels, labels])
        return self.trainer.fit(all_texts, all_labels)

    def gap(self, data: LabelledTexts, wanted: Terms) -> TermGap:
        """Return the gap of a rule of terms on some texts."""
        return TermGap.of(
            data.texts,
            wanted,
            self.lexicon,
            against=self.against,
            seed=self.seed,
        )

    def score(self, subject: TextSubject) -> ValidationScore:
        """Return the accuracy on validation texts."""
        outcomes = subject.decide(self.valid.texts)
        return ValidationScore.of(outcomes == self.valid.labels)

    def mine(self, subject: TextSubject, data: LabelledTexts, level: float) -> Result:
        """Return the rules of terms by which a model treats texts differently."""
        return mine_text(
            subject,
            data.texts,
            lexicon=self.lexicon,
            places="named",
            support=self.support,
            against=self.against,
            level=level,
            seed=self.seed,
            progress=False,
        )

    def mined(self, subject: TextSubject) -> tuple[dict[str, Term] | None, Estimate | None]:
        """Return the worst terms of the training texts, and their gap where it is unsure."""
        texts = number_text.count(len(self.train))
        try:
            result = self.mine(subject, self.train, self.level)
        except DataError as error:
            self.notes.append(messages.NOTHING_MINED.format(error=error))
            population = messages.POPULATION_TRAINING_TEXTS.format(texts=texts)
            unknown = Estimate(math.nan, 0.0, 1.0, 0, self.level, "betting", population)
            return None, unknown
        self.notes.extend(result.notes)
        worst = result.worst
        # Where no terms stand out, the one finding is about all of them.
        terms = terms_of(worst.about, self.lexicon) if worst.about.conditions else None
        if terms is not None and worst.estimate.low > 0:
            return terms, None
        note = messages.NO_TERMS_STAND_OUT.format(texts=texts, claim=worst.claim)
        self.notes.append(note)
        return terms, worst.estimate


def _most_added(most: float | None, add: str) -> float:
    """Return the largest share of the training texts that is added."""
    if most is not None:
        return most
    # Twins keep their own true label, so that more of them may be added.
    return MOST_TWINS if add == "twins" else MOST_ADDED


def _attempted(
    job: TextRepairJob,
    original: Any,
    before: TextSubject,
    wanted: Terms,
    add: str,
    many: Sequence[int],
) -> RepairAttempt:
    """Train again with more and more texts; keep the model with the smallest validation gap."""
    aim = job.gap(job.train, wanted).need_training_texts()
    valid = job.gap(job.valid, wanted).need_validation_texts()
    signed_gap = gap_of(aim.columns(before))
    if signed_gap == 0:
        note = messages.NO_DIFFERENCE_IN_TEXTS.format(
            rule=aim.rule,
            texts=number_text.count(len(aim)),
            categories=aim.named,
        )
        job.notes.append(note)
        return RepairAttempt(NOTHING, original, ())
    rng = stream(job.seed, "repair", "twins")
    up = signed_gap < 0
    texts, labels, note = pool(aim, before, job.train.labels, add, many[-1], rng, up=up)
    if note:
        job.notes.append(note)
    available = {min(size, len(texts)) for size in many}
    tried_sizes = sorted(available - {0})
    old = valid.columns(before)
    first = job.score(before)
    level = level_of_each(job.level, len(tried_sizes))

    def attempt(number: int, size: int, recipe: str) -> tuple[Step, Any]:
        tried = job.fitted(texts[:size], labels[:size])
        new = job.subject(tried)
        population = valid.validation_population
        change = term_change(old, valid.columns(new), level=level, population=population)
        score = job.score(new)
        why = why_not(score, first, change, job.tolerance)
        step = Step(
            number=number,
            percent=100 * size / len(job.train),
            added=size,
            change=change,
            accuracy=score.value,
            kept=not why,
            why=why or recipe,
        )
        return step, tried

    found = sweep(original, tried_sizes, (add,), attempt, job.meter, job.notes)

    def train(data: LabelledTexts) -> Any:
        assert found.chosen is not None
        size = grown(found.chosen[1], len(data), len(job.train))
        everything = replace(job, train=data)
        aim = everything.gap(data, wanted)
        rng = stream(job.seed, "repair", "twins")
        more, labels, _ = pool(aim, before, data.labels, add, size, rng, up=up)
        return everything.fitted(more, labels)

    return replace(found, recipe=train if found.chosen else None)
