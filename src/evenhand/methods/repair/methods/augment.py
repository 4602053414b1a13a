"""augment: train again with more and more inputs, and keep what surely helps (Aequitas, Algorithm
5).
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from itertools import pairwise
from typing import TYPE_CHECKING, Any

import numpy as np

from evenhand.methods.repair.change import PairedChange
from evenhand.methods.repair.job import LEAST_CLAIM, RepairAttempt, interrupted
from evenhand.methods.repair.methods import additions
from evenhand.methods.repair.methods.labelling import labeller
from evenhand.methods.repair.paired import hits, paired
from evenhand.methods.repair.repair_result import NO_HELP, NOTHING, REPAIRED
from evenhand.methods.repair.steps import Step
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

    from evenhand.methods.repair.job import RepairJob
    from evenhand.methods.repair.rows import LabelledRows
    from evenhand.space.feature import Points
    from evenhand.subject.subject import Subject

ADDITIONS = ("twins", "found", "pairs", "both")
MOST_STEPS = 8
"""As many as Algorithm 5 can make before it adds more than there is, and the last, which adds all
twins.
"""
LOOKS = (2_000, 8_000, 32_000)
"""After how many inputs it is looked at whether the share has surely changed."""
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
) -> RepairAttempt:
    """Train again with a growing share of twins and discriminatory inputs, while that surely helps
    (Algorithm 5).
    """
    subject = job.subject(original)
    first = first_look(job, subject, draws, budget, searched=add != "twins")
    if first.nothing:
        return RepairAttempt(NOTHING, original, (), first.claim)
    if add in ("found", "pairs") and not len(first.pool):
        job.notes.append("a search found no discriminatory input to train with")
        return RepairAttempt(NO_HELP, original, (), first.claim)
    adding = StepAdditions(job, subject, add, labels, first.pool)
    looks = (
        LOOKS if draws is None else tuple(sorted({max(draws // 16, 1), max(draws // 4, 1), draws}))
    )
    return _steps(job, original, subject, adding, patience, looks, first.claim)


def _steps(
    job: RepairJob,
    original: Any,
    subject: Subject,
    adding: StepAdditions,
    patience: int | None,
    looks: tuple[int, ...],
    claim: int,
) -> RepairAttempt:
    first = job.score(subject)
    best, model, history, failed = subject, original, list[Step](), 0
    try:
        for number, percent in enumerate(
            additions.schedule(job.seed, last=adding.add in ("twins", "both")), start=1
        ):
            added_text = f"{number_text.percent(percent / 100)} added"
            job.meter.report("training again", (number - 1) / MOST_STEPS, added_text)
            rows, added = adding.rows(number, percent)
            tried = rows.fitted(job.trainer)
            new = job.subject(tried)
            points = Draws(Uniform(), job.space, job.seed, "repair", "step", number, *job.names)
            change = decide(
                _counting(job.names, points, best, new),
                level=job.level,
                looks=looks,
                population=Uniform().population(job.space),
            )
            score = job.score(new)
            why = "" if change.verdict == "fell" else _not_fallen(change)
            why = why or score.lost(first, job.tolerance)
            history.append(
                Step(number, percent, added, change, score.value, not why, why or "kept")
            )
            if not why:
                best, model, failed = new, tried, 0
                continue
            failed += 1
            if change.before.value == 0 and change.before.n == looks[-1]:
                job.notes.append(
                    f"nothing is left to lower among {change.before.n:,} inputs; later steps were"
                    " left out"
                )
                break
            if patience is not None and failed > patience:
                break
    except KeyboardInterrupt:
        interrupted(history, job.notes)
    kept = any(step.kept for step in history)
    return RepairAttempt(REPAIRED if kept else NO_HELP, model, tuple(history), claim)


def decide(
    count: Callable[[int, int], tuple[ArrayLike, ArrayLike]],
    *,
    level: float,
    looks: Sequence[int],
    population: str,
) -> PairedChange:
    """Return how a score changed, from as many inputs as it takes to tell: the step of Aequitas's
    Algorithm 5.

    Parameters
    ----------
    count
        Returns hits, or distances, of the draws from one number to another: those of the old model
        and of the new one.
    level
        The probability with which all limits hold at every look together, and so where the looking
        ends.
    looks
        Rising numbers of draws at which to look; the first at which the score surely fell or rose
        is the last.

    >>> hits = np.arange(4000) % 20 == 0
    >>> change = decide(lambda start, stop: (hits[start:stop], 0 * hits[start:stop]), level=0.95, looks=[500, 4000],
    ...                 population="all inputs")
    >>> change.verdict, change.fall.n
    ('fell', 500)
    """
    steps = list(looks)
    if not steps or steps[0] < 1 or any(one >= other for one, other in pairwise(steps)):
        raise UsageError(
            f"looks = {clip(repr(steps))} must be rising numbers of draws, for example [1000, 4000]"
        )
    each = 1 - (1 - check_level(level)) / len(steps)
    old, new, start = np.empty(0), np.empty(0), 0
    for stop in steps:
        more = count(start, stop)
        old, new, start = np.concatenate([old, more[0]]), np.concatenate([new, more[1]]), stop
        found = paired(old, new, level=each, population=population)
        if found.verdict != "unsure":
            break
    before, after = replace(found.before, level=level), replace(found.after, level=level)
    return PairedChange(
        before, after, replace(found.fall, level=level), replace(found.fewer, level=level)
    )


def _not_fallen(change: PairedChange) -> str:
    return "the share rose" if change.verdict == "rose" else "the share did not surely fall"


def _counting(
    names: tuple[str, ...], draws: Draws, old: Subject, new: Subject
) -> Callable[[int, int], tuple[NDArray[Any], NDArray[Any]]]:
    def count(start: int, stop: int) -> tuple[NDArray[Any], NDArray[Any]]:
        points = draws.take(start, stop)
        return hits(View(old), names, points), hits(View(new), names, points)

    return count


@dataclass(frozen=True, eq=False)
class FirstLook:
    """What was seen of the original model at first."""

    nothing: bool
    """Whether neither random inputs nor a search show any discrimination."""
    claim: int
    """By how many inputs a claim is to be made."""
    pool: Points
    """Discriminatory inputs that a search found, where there was one."""


def first_look(
    job: RepairJob, subject: Subject, draws: int | None, budget: Budget | None, *, searched: bool
) -> FirstLook:
    """Look for discrimination by random inputs; and by a search, where it is wanted or nothing else
    was seen.
    """
    job.meter.report("discriminatory inputs", 0.0)
    if job.space.size <= PILOT:
        points = job.space.enumerate()
    else:
        points = Draws(Uniform(), job.space, job.seed, "repair", "pilot", *job.names).take(0, PILOT)
    seen = float(hits(View(subject), job.names, points).sum())
    low, _ = clopper_pearson(np.floor(seen), len(points), 0.5)
    claim = draws or int(min(max(HITS / max(float(low), 1e-9), LEAST_CLAIM), MOST_CLAIM))
    everything = job.space.size <= PILOT
    pool: Points = np.empty((0, len(job.space.names)))
    if searched or not (seen or everything):
        pool = _pool(job, subject, budget)
    return FirstLook(not seen and not len(pool), claim, pool)


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
        job, rows = self.job, self.job.train
        if self.add in ("twins", "both"):
            rng = job.rng("twins", number)
            made, labels, origin = additions.twins(
                job.space, job.train.points, job.train.truth, job.names, percent / 100, rng
            )
            weights = None if job.train.weights is None else job.train.weights[origin]
            rows = rows.joined(made, labels, weights)
        if self.labeller is not None:
            share = percent / 100 / (FOUND_SHARE if self.add == "both" else 1)
            n = max(1, round(share * len(job.train)))
            rng = job.rng("found", number)
            if self.add == "found":
                rows = rows.joined(*additions.found(self.pool, self.labeller, n, rng))
            else:
                rows = rows.joined(
                    *additions.pairs(job.space, self.pool, self.labeller, job.names, n, rng)
                )
        return rows, len(rows) - len(job.train)
