"""augment: train again with more and more inputs, and keep what clearly helps.

This is Algorithm 5 of Aequitas, with steps that are kept only on evidence. As published, it keeps
any fall of the estimate.
"""

from __future__ import annotations

from dataclasses import dataclass, field, replace
from itertools import pairwise
from typing import TYPE_CHECKING, Any

import numpy as np

from evenhand.methods.repair import messages
from evenhand.methods.repair.change import PairedChange
from evenhand.methods.repair.job import LEAST_CLAIM, RepairAttempt, interrupted
from evenhand.methods.repair.methods import additions
from evenhand.methods.repair.methods.labelling import labeller
from evenhand.methods.repair.paired import hits, paired
from evenhand.methods.repair.steps import NO_HELP, NOTHING, REPAIRED, Step
from evenhand.methods.search.search import search
from evenhand.population.samplers import Draws, Uniform
from evenhand.runtime import number_text
from evenhand.runtime.budget import Budget
from evenhand.runtime.errors import UsageError, clip
from evenhand.statistics.intervals import check_level, clopper_pearson
from evenhand.subject.view import View

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

    from numpy.typing import ArrayLike, NDArray

    from evenhand.methods.repair.claims.handover import Recipe
    from evenhand.methods.repair.job import RepairJob, ValidationScore
    from evenhand.methods.repair.methods.labelling import Labeller
    from evenhand.methods.repair.rows import LabelledRows
    from evenhand.space.feature import Points
    from evenhand.subject.subject import Subject

    Count = Callable[[int, int], tuple[NDArray[Any], NDArray[Any]]]
    """Returns the hits of two models among the draws from one number to another."""

ADDITIONS = ("twins", "found", "pairs", "both")
MOST_STEPS = 8
"""As many as Algorithm 5 can make before it adds more than there is, and the last, which adds all
twins.
"""
LOOKS = (2_000, 8_000, 32_000)
"""After how many inputs it is looked at whether the share has clearly changed."""
PILOT = 8_000
QUERIES = 60_000
"""Inputs by which the original is judged first, and by which discriminatory ones are searched for.
"""
FOUND_SHARE = 10
"""Of inputs found, this many times fewer are added than twins of rows: they are unlike the rows
(section 4.4).
"""
HITS, MOST_CLAIM = 400, 100_000
"""The claim rests on as many inputs as are likely to hold so many discriminatory ones, within
bounds.
"""


def augment(
    job: RepairJob,
    original: Any,
    *,
    add: str,
    labels: Any,
    patience: int | None,
    draws: int | None,
    budget: Budget | None,
    published: bool = False,
) -> RepairAttempt:
    """Train again with a growing share of inputs, while that clearly helps (Algorithm 5).

    Parameters
    ----------
    published
        Whether a step is kept by the paper's own rule, which is any fall of the estimate.
    """
    subject = job.subject(original)
    first = first_look(job, subject, draws, budget, searched=add != "twins")
    if first.nothing:
        return RepairAttempt(NOTHING, original, (), first.claim)
    if add in ("found", "pairs") and not len(first.pool):
        job.notes.append(messages.NOTHING_FOUND_TO_TRAIN_WITH)
        return RepairAttempt(NO_HELP, original, (), first.claim)
    steps = _Steps(
        job=job,
        additions=StepAdditions(job, subject, add, labels, first.pool),
        looks=_looks(draws, published=published),
        first=job.score(subject),
        published=published,
        best=subject,
        model=original,
    )
    try:
        steps.run(patience)
    except KeyboardInterrupt:
        interrupted(steps.history, job.notes)
    history = tuple(steps.history)
    kept = [step for step in history if step.kept]
    if not kept:
        return RepairAttempt(NO_HELP, original, history, first.claim)
    recipe = steps.additions.recipe(kept[-1])
    return RepairAttempt(REPAIRED, steps.model, history, first.claim, recipe)


def _looks(draws: int | None, *, published: bool) -> tuple[int, ...]:
    """Return after how many inputs a step is looked at; the paper makes one estimate of each."""
    last = LOOKS[-1] if draws is None else draws
    if published:
        return (last,)
    if draws is None:
        return LOOKS
    looks = {max(draws // 16, 1), max(draws // 4, 1), draws}
    return tuple(sorted(looks))


@dataclass(eq=False)
class _Steps:
    """The steps of Algorithm 5: each starts from the best model so far."""

    job: RepairJob
    additions: StepAdditions
    looks: tuple[int, ...]
    first: ValidationScore
    """The performance of the original model."""
    best: Subject
    model: Any
    """The model behind `best`."""
    published: bool = False
    """Whether any fall of the estimate is kept, as in the paper."""
    history: list[Step] = field(default_factory=list)

    def run(self, patience: int | None) -> None:
        """Make steps until all are made, nothing is left to lower, or patience has run out."""
        failed = 0
        last = self.additions.add in ("twins", "both")
        for number, percent in enumerate(
            additions.schedule(self.job.seed, last=last), start=1
        ):
            step = self._made(number, percent)
            self.history.append(step)
            if step.kept:
                failed = 0
                continue
            failed += 1
            before = step.change.before
            if before.value == 0 and before.n == self.looks[-1]:
                inputs = number_text.count(before.n)
                self.job.notes.append(messages.NOTHING_LEFT_TO_LOWER.format(inputs=inputs))
                return
            if patience is not None and failed > patience:
                return

    def _made(self, number: int, percent: float) -> Step:
        """Train again with so many percent, and keep the model where it clearly helps."""
        job = self.job
        added_text = messages.ROWS_ADDED.format(number=number_text.percent(percent / 100))
        job.meter.report("training again", (number - 1) / MOST_STEPS, added_text)
        rows, added = self.additions.rows(number, percent)
        tried = rows.fitted(job.trainer)
        new = job.subject(tried)
        # Every step is judged on inputs of its own, so that none is chosen for its luck with them.
        points = Draws(Uniform(), job.space, job.seed, "repair", "step", number, *job.names)
        change = decide(
            _counting(job.names, points, self.best, new),
            level=job.level,
            looks=self.looks,
            population=Uniform().population(job.space),
        )
        score = job.score(new)
        why = self._why_not(change, score)
        if not why:
            self.best = new
            self.model = tried
        return Step(
            number=number,
            percent=percent,
            added=added,
            change=change,
            accuracy=score.value,
            kept=not why,
            why=why or "kept",
        )

    def _why_not(self, change: PairedChange, score: ValidationScore) -> str:
        """Return why a model is not kept, nothing where it is."""
        if not self.published:
            return _not_fallen(change) or score.lost(self.first, self.job.tolerance)
        # Lines 17 to 21 of Algorithm 5: one estimate is less than the other, and nothing else.
        if change.fall.value > 0:
            return ""
        return messages.ESTIMATE_DID_NOT_FALL


def decide(
    count: Callable[[int, int], tuple[ArrayLike, ArrayLike]],
    *,
    level: float,
    looks: Sequence[int],
    population: str,
) -> PairedChange:
    """Return how a score changed, from as many inputs as it takes to be sure.

    This is how a step of Aequitas's Algorithm 5 is judged.

    Parameters
    ----------
    count
        Returns hits, or distances, of the draws from one number to another: those of the old model
        and of the new one.
    level
        The probability with which all limits hold at every look together, and so where the looking
        ends.
    looks
        Rising numbers of draws at which to look; the first at which the score clearly fell or rose
        is the last.

    >>> hits = np.arange(4000) % 20 == 0
    >>> def count(start, stop):
    ...     return hits[start:stop], 0 * hits[start:stop]
    >>> change = decide(count, level=0.95, looks=[500, 4000], population="all inputs")
    >>> change.verdict, change.fall.n
    ('fell', 500)
    """
    steps = list(looks)
    rising = all(earlier < later for earlier, later in pairwise(steps))
    if not steps or steps[0] < 1 or not rising:
        raise UsageError(messages.LOOKS_DO_NOT_RISE.format(looks=clip(repr(steps))))
    # Bonferroni over the looks: the error is spent in equal parts.
    each = 1 - (1 - check_level(level)) / len(steps)
    old = np.empty(0)
    new = np.empty(0)
    start = 0
    for stop in steps:
        more_old, more_new = count(start, stop)
        old = np.concatenate([old, more_old])
        new = np.concatenate([new, more_new])
        start = stop
        change = paired(old, new, level=each, population=population)
        if change.verdict != "unsure":
            break
    return PairedChange(
        before=replace(change.before, level=level),
        after=replace(change.after, level=level),
        fall=replace(change.fall, level=level),
        fewer=replace(change.fewer, level=level),
    )


def _not_fallen(change: PairedChange) -> str:
    """Return why a change is no reason to keep a model, nothing where it is."""
    if change.verdict == "fell":
        return ""
    if change.verdict == "rose":
        return messages.SHARE_ROSE
    return messages.SHARE_DID_NOT_SURELY_FALL


def _counting(names: tuple[str, ...], draws: Draws, old: Subject, new: Subject) -> Count:
    """Return a function that counts the hits of both models among some draws."""

    def count(start: int, stop: int) -> tuple[NDArray[Any], NDArray[Any]]:
        points = draws.take(start, stop)
        old_hits = hits(View(old), names, points)
        new_hits = hits(View(new), names, points)
        return old_hits, new_hits

    return count


@dataclass(frozen=True, eq=False)
class FirstLook:
    """What was seen of the original model at first."""

    nothing: bool
    """Whether neither random inputs nor a search nor people show any discrimination."""
    claim: int
    """By how many inputs a claim is to be made."""
    pool: Points
    """Discriminatory inputs that a search found, where there was one."""


def first_look(
    job: RepairJob,
    subject: Subject,
    draws: int | None,
    budget: Budget | None,
    *,
    searched: bool,
) -> FirstLook:
    """Look for discrimination by random inputs, and by a search where it is wanted.

    Where random inputs show none, a search follows in any case, and people are asked about who are
    trained on.
    """
    job.meter.report("discriminatory inputs", 0.0)
    everything = job.space.size <= PILOT
    if everything:
        points = job.space.enumerate()
    else:
        pilot = Draws(Uniform(), job.space, job.seed, "repair", "pilot", *job.names)
        points = pilot.take(0, PILOT)
    seen = float(hits(View(subject), job.names, points).sum())
    claim = draws or _inputs_of_claim(seen, len(points))
    pool: Points = np.empty((0, len(job.space.names)))
    if searched or not (seen or everything):
        pool = _pool(job, subject, budget)
    shown = bool(seen) or len(pool) > 0 or (not everything and _among_people(job, subject))
    return FirstLook(not shown, claim, pool)


def _among_people(job: RepairJob, subject: Subject) -> bool:
    """Return whether the outcome of anybody who is trained on depends on the features."""
    some = job.train.points[:PILOT]
    return bool(hits(View(subject), job.names, some).any())


def _inputs_of_claim(seen: float, n: int) -> int:
    """Return how many inputs are likely to hold HITS discriminatory ones, within bounds."""
    # The lower quartile of the share, rather than the share: a pilot with few hits may have had
    # luck, and too many inputs do less harm to a claim than too few.
    low, _ = clopper_pearson(np.floor(seen), n, 0.5)
    likely = HITS / max(float(low), 1e-9)
    return int(min(max(likely, LEAST_CLAIM), MOST_CLAIM))


def _pool(job: RepairJob, subject: Subject, budget: Budget | None) -> Points:
    """Search for discriminatory inputs of the original model."""
    result = search(
        subject,
        over=list(job.names),
        budget=budget or Budget(queries=QUERIES),
        explain=False,
        seed=job.seed,
        n_jobs=job.n_jobs,
        progress=False,
    )
    return job.space.encode(result.to_frame())


@dataclass(eq=False)
class StepAdditions:
    """What each step adds to the training rows."""

    job: RepairJob
    subject: Subject
    add: str
    labels: Any
    pool: Points

    def __post_init__(self) -> None:
        job = self.job
        self.labeller = None
        if self.add != "twins" and len(self.pool):
            self.labeller = labeller(
                self.labels,
                view=View(self.subject),
                names=job.names,
                points=job.train.points,
                truth=job.train.truth,
                regression=job.trainer.regression,
                seed=job.seed,
                weights=job.train.weights,
            )

    def rows(self, number: int, percent: float) -> tuple[LabelledRows, int]:
        """Return the training rows with those that are added, and how many these are."""
        rows = self.job.train
        if self.add in ("twins", "both"):
            rows = self._with_twins(rows, number, percent)
        if self.labeller is not None:
            rows = self._with_found(rows, self.labeller, number, percent)
        return rows, len(rows) - len(self.job.train)

    def recipe(self, step: Step) -> Recipe:
        """Return how a step trains on other rows: with as large a share of these."""

        def train(rows: LabelledRows) -> Any:
            everything = replace(self.job, train=rows)
            again = replace(self, job=everything)
            together, _ = again.rows(step.number, step.percent)
            return together.fitted(self.job.trainer)

        return train

    def _with_twins(self, rows: LabelledRows, number: int, percent: float) -> LabelledRows:
        job = self.job
        twins, labels, origin = additions.twins(
            job.space,
            job.train.points,
            job.train.truth,
            job.names,
            percent / 100,
            job.rng("twins", number),
        )
        weights = job.train.weights
        if weights is not None:
            weights = weights[origin]
        return rows.joined(twins, labels, weights)

    def _with_found(
        self, rows: LabelledRows, labeller: Labeller, number: int, percent: float
    ) -> LabelledRows:
        job = self.job
        share = percent / 100
        if self.add == "both":
            share /= FOUND_SHARE
        n = max(1, round(share * len(job.train)))
        rng = job.rng("found", number)
        if self.add == "found":
            points, labels = additions.found(self.pool, labeller, n, rng)
        else:
            points, labels = additions.pairs(
                job.space, self.pool, labeller, job.names, n, rng
            )
        return rows.joined(points, labels)
