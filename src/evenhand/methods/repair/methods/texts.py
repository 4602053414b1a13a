"""repair for texts: train again so that some terms no longer change how a text is treated (TestSGD,
RQ3).
"""

from __future__ import annotations

import math
from collections.abc import Collection
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

import numpy as np

from evenhand.methods.compare.compare import compare
from evenhand.methods.mine.findings import check_terms
from evenhand.methods.mine.rule_sets import check_support
from evenhand.methods.mine.texts.findings import AGAINST
from evenhand.methods.mine.texts.mine_text import mine_text
from evenhand.methods.repair.change import PairedChange
from evenhand.methods.repair.job import (
    RepairAttempt,
    ValidationScore,
    level_of_each,
    sizes,
    sweep,
    why_not,
)
from evenhand.methods.repair.methods.subgroup import LEAST_ADDED, MOST_ADDED
from evenhand.methods.repair.methods.text_additions import (
    ADDITIONS,
    LabelledTexts,
    TermGap,
    gap_of,
    pool,
    split_texts,
    term_change,
    terms_of,
)
from evenhand.methods.repair.repair_result import NOTHING, Repair
from evenhand.methods.repair.rows import check_share
from evenhand.methods.repair.steps import AIM, RepairCheck, Step
from evenhand.methods.repair.training import Trainer
from evenhand.methods.repair.verification import MENDED, ORIGINAL
from evenhand.results.result import Result
from evenhand.runtime.budget import Meter, Spent, progress_bar
from evenhand.runtime.errors import DataError, UsageError, clip, nearest
from evenhand.runtime.options import checked_keywords
from evenhand.runtime.random_streams import stream
from evenhand.space.feature import category
from evenhand.space.rule import Condition, Rule
from evenhand.space.space import Space
from evenhand.statistics.estimate import Estimate
from evenhand.texts.lexicon import lexicon_of
from evenhand.texts.text_subject import TextSubject

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence
    from os import PathLike

    from numpy.typing import NDArray

    from evenhand.methods.compare.comparison import Comparison
    from evenhand.texts.lexicon import Lexicon, Term

CHECKED = 16
"""Texts that are asked twice to see whether a model answers the same way each time."""
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
    seed: int = 0,
    progress: bool | None = None,
) -> Repair:
    """Train a text classifier again with texts that it should treat alike, and show on held-out
    texts what changed.

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
        surely stands out.
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

    Examples
    --------
    >>> from sklearn.feature_extraction.text import CountVectorizer
    >>> from sklearn.linear_model import LogisticRegression
    >>> from sklearn.pipeline import make_pipeline
    >>> rng = np.random.default_rng(0)
    >>> rude, word = rng.random(1000) < 0.5, rng.integers(0, 40, 1000)
    >>> term = np.where(rng.random(1000) < np.where(rude, 0.85, 0.15), "gay", "trans")
    >>> texts = [f"a {one} man {'bad' if bad else 'good'}{at}" for one, bad, at in zip(term, rude, word, strict=True)]
    >>> found = repair_texts(make_pipeline(CountVectorizer(), LogisticRegression(C=0.3)), texts, rude, positive=False,
    ...                      lexicon={"gender": ["gay", "straight", "trans"]}, most=0.5, steps=2)
    >>> print(found.about, found.after.value < found.before.value / 2)
    gender gay True
    """
    _check(locals())
    terms = lexicon_of(lexicon).without(*([without] if isinstance(without, str) else without))
    wanted = (
        None
        if rule is None
        else terms_of(rule.worst.about if isinstance(rule, Result) else rule, terms)
    )
    parts = split_texts(texts, y, test, validate, seed)
    trainer = Trainer.of(estimator, seed)
    if trainer.regression:
        raise UsageError(
            f"{trainer.name} predicts numbers, and texts are repaired by their labels; use a"
            " classifier"
        )
    with progress_bar(show=progress) as hook:
        job = TextRepairJob(
            trainer,
            *parts,
            positive,
            terms,
            support,
            against,
            tolerance,
            level,
            seed,
            Meter(hook=hook),
        )
        job.meter.report("training", 0.0)
        original = job.fitted([], job.train.labels[:0])
        before = job.subject(original)
        before.need_deterministic(job.train.texts[:CHECKED])
        before.amount(before.decide(job.train.texts[:CHECKED]))
        mended, unsure = RepairAttempt(NOTHING, original, ()), None
        if wanted is None:
            wanted, unsure = job.mined(before)
        if wanted is not None and unsure is None:
            mended = _mended(
                job,
                original,
                before,
                wanted,
                add,
                sizes(len(job.train), least, _most(most, add), steps),
            )
        job.notes.extend(mended.advice)
        after = before if mended.model is original else job.subject(mended.model)
        told = HeldOutTextChecks(job, before, after, wanted, unsure).told()
    subjects = job.subjects
    return Repair(
        method="subgroup",
        over=tuple(wanted or terms.categories),
        about=tuple(terms.categories) if wanted is None else _rule(wanted),
        outcome=mended.outcome,
        change=told.change,
        checks=told.checks,
        comparisons=told.comparisons,
        history=mended.history,
        sizes={"training": len(job.train), "validation": len(job.valid), "test": len(job.test)},
        seed=seed,
        level=level,
        tolerance=tolerance,
        limit=limit,
        spent=Spent(
            sum(one.asked for one in subjects),
            sum(one.executed for one in subjects),
            job.meter.seconds,
        ),
        notes=tuple(dict.fromkeys(job.notes)),
        options={"add": add, "support": support, "against": against, "steps": steps},
        space=Space(
            [category(name, [term.text for term in terms.of(name)]) for name in terms.categories],
            terms.categories,
        ).to_dict(),
        model=mended.model,
        original=original,
    )


def _check(given: Mapping[str, Any]) -> None:
    """Refuse options that are wrong, before anything is trained."""
    check_support(given["support"])
    check_terms(given["level"], given["limit"], top=1)
    if not isinstance(given["validate"], tuple | list):
        check_share("validate", given["validate"])
    if not isinstance(given["without"], Collection):
        raise UsageError(
            f"without = {clip(repr(given['without']))} must be a list of terms, such as ['black']"
        )
    for name, valid in (("add", ADDITIONS), ("against", AGAINST)):
        if given[name] not in valid:
            raise UsageError(
                f"{name} = {clip(repr(given[name]))} is unknown; {nearest(given[name], valid)}"
            )
    for name in ("steps", "least"):
        if isinstance(given[name], bool) or not isinstance(given[name], int) or given[name] < 1:
            raise UsageError(
                f"{name} = {clip(repr(given[name]))} must be a whole number of 1 or more"
            )
    for name, usual in (("most", 0.1), ("tolerance", 0.01)):
        if given[name] is None and name == "most":
            continue
        if (
            isinstance(given[name], bool)
            or not isinstance(given[name], int | float)
            or not given[name] >= 0
        ):
            raise UsageError(
                f"{name} = {clip(repr(given[name]))} must be a number of 0 or more, such as {usual}"
            )


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
        labels = np.unique(
            np.concatenate([part.labels for part in (self.train, self.valid, self.test)])
        ).tolist()
        self.subjects.append(TextSubject(model, positive=self.positive, labels=labels))
        return self.subjects[-1]

    def fitted(self, texts: list[str], labels: NDArray[Any]) -> Any:
        """Return a model that was trained on the training texts and these."""
        return self.trainer.fit(
            self.train.texts + texts, np.concatenate([self.train.labels, labels])
        )

    def gap(self, data: LabelledTexts, wanted: Mapping[str, Term]) -> TermGap:
        """Return the gap of a rule of terms on some texts."""
        return TermGap.of(data.texts, wanted, self.lexicon, against=self.against, seed=self.seed)

    def score(self, subject: TextSubject) -> ValidationScore:
        """Return the accuracy on validation texts."""
        return ValidationScore.of(subject.decide(self.valid.texts) == self.valid.labels)

    def mine(self, subject: TextSubject, data: LabelledTexts, level: float) -> Result:
        """Return the rules of terms by which a model treats texts differently."""
        return mine_text(
            subject,
            data.texts,
            lexicon=self.lexicon,
            support=self.support,
            against=self.against,
            level=level,
            seed=self.seed,
            progress=False,
        )

    def mined(self, subject: TextSubject) -> tuple[dict[str, Term] | None, Estimate | None]:
        """Return the worst terms of the training texts, and their gap where it does not surely
        stand out.
        """
        try:
            result = self.mine(subject, self.train, self.level)
        except DataError as error:
            self.notes.append(f"nothing could be mined: {error}")
            said = f"texts like the {len(self.train):,} training ones"
            return None, Estimate(math.nan, 0.0, 1.0, 0, self.level, "betting", said)
        self.notes.extend(result.notes)
        worst = result.worst
        if worst.estimate.low > 0:
            return terms_of(worst.about, self.lexicon), None
        self.notes.append(
            f"no terms surely stand out in {len(self.train):,} training texts ({worst.claim})"
        )
        return terms_of(worst.about, self.lexicon), worst.estimate


def _most(most: float | None, add: str) -> float:
    """Return the largest share of the training texts that is added: twins keep their label, and may
    be more.
    """
    return most if most is not None else MOST_TWINS if add == "twins" else MOST_ADDED


def _mended(
    job: TextRepairJob,
    original: Any,
    before: TextSubject,
    wanted: Mapping[str, Term],
    add: str,
    many: Sequence[int],
) -> RepairAttempt:
    """Train again with more and more texts, and keep the model with the smallest gap on validation
    texts.
    """
    aim = job.gap(job.train, wanted).need("training", "give another rule, or more texts")
    valid = job.gap(job.valid, wanted).need("validation", "raise validate, or give more texts")
    size = gap_of(aim.columns(before))
    if size == 0:
        job.notes.append(
            f"{aim.rule} makes no difference in {len(aim):,} training texts that name {aim.named}"
        )
        return RepairAttempt(NOTHING, original, ())
    rng = stream(job.seed, "repair", "twins")
    texts, labels, note = pool(aim, before, job.train.labels, add, many[-1], rng, up=size < 0)
    job.notes.extend([note] if note else [])
    many = sorted({min(size, len(texts)) for size in many} - {0})
    old, first = valid.columns(before), job.score(before)
    level = level_of_each(job.level, len(many))

    def attempt(number: int, size: int, recipe: str) -> tuple[Step, Any]:
        tried = job.fitted(texts[:size], labels[:size])
        new = job.subject(tried)
        change = term_change(
            old, valid.columns(new), level=level, population=_population(valid, "validation")
        )
        score = job.score(new)
        why = why_not(score, first, change, job.tolerance)
        percent = 100 * size / len(job.train)
        return (
            Step(number, percent, size, change, score.value, kept=not why, why=why or recipe),
            tried,
        )

    return sweep(original, many, (add,), attempt, job.meter, job.notes)


def _population(gap: TermGap, kind: str) -> str:
    return f"texts like the {len(gap.matches.texts):,} {kind} ones that name {gap.named}"


def _rule(wanted: Mapping[str, Term]) -> Rule:
    return Rule(tuple(Condition(name, levels=(term.text,)) for name, term in wanted.items()))


@dataclass(frozen=True, eq=False)
class TextEvidence:
    """What came of it on held-out texts."""

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
    """What is left to say where nothing surely stands out."""

    def told(self) -> TextEvidence:
        """Return the claim, all that was checked, and where the repair stands against giving up
        accuracy.
        """
        job, change = self.job, self._change()
        said = [one.decide(job.test.texts) for one in (self.before, self.after)]
        aim = [] if self.wanted is None else [RepairCheck.of(_rule(self.wanted).text, AIM, change)]
        people = f"texts like the {len(job.test):,} held out"
        accuracy = RepairCheck.right(said, job.test.labels, level=job.level, population=people)
        if self.after is self.before:
            return TextEvidence(change, (*aim, accuracy), {})
        found = self._compared(said, change)
        f1 = self._f1(said, change)
        return TextEvidence(
            change, (*aim, *self._worst(), accuracy, *f1), {} if found is None else {AIM: found}
        )

    def _change(self) -> PairedChange:
        job = self.job
        if self.wanted is None or self.unsure is not None:
            assert self.unsure is not None
            return PairedChange.none(self.unsure)
        gap = job.gap(job.test, self.wanted).need("held-out", "hold out more texts with test=…")
        old = gap.columns(self.before)
        new = old if self.after is self.before else gap.columns(self.after)
        change = term_change(old, new, level=job.level, population=_population(gap, "held-out"))
        return PairedChange.none(change.before) if self.after is self.before else change

    def _compared(
        self, said: Sequence[NDArray[Any]], change: PairedChange, **options: Any
    ) -> Comparison | None:
        told = dict(zip((ORIGINAL, MENDED), said, strict=True))
        bias = {ORIGINAL: change.before, MENDED: change.after}
        try:
            return compare(
                told,
                self.job.test.labels,
                bias=bias,
                level=self.job.level,
                seed=self.job.seed,
                **options,
            )
        except UsageError as error:
            self.job.notes.append(f"not compared with giving up accuracy: {error}")
            return None

    def _f1(self, said: Sequence[NDArray[Any]], change: PairedChange) -> list[RepairCheck]:
        known = np.unique(self.job.test.labels).tolist()
        one = [label for label in known if self.before.meaning.favourable(np.array([label]))[0]]
        if len(one) != 1:
            return []
        found = self._compared(said, change, performance="f1", positive=one[0])
        if found is None:
            return []
        return [RepairCheck("f1", "performance", found.start[0], found.standings[0].performance)]

    def _worst(self) -> list[RepairCheck]:
        """Check the worst terms of held-out texts, whichever these are before and after."""
        level = 1 - (1 - self.job.level) / 2
        try:
            old, new = (
                self.job.mine(one, self.job.test, level).worst for one in (self.before, self.after)
            )
        except DataError as error:
            self.job.notes.append(f"other terms were not compared: {error}")
            return []
        return [
            RepairCheck(
                "worst terms",
                "subgroup",
                old.estimate,
                new.estimate,
                None,
                f"before: {old.about}; after: {new.about}",
            )
        ]
