"""subgroup: train again with people of a subgroup that get the opposite outcome (TestSGD, phase 3)."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np

from evenhand.methods.mine.mine import mine
from evenhand.methods.repair.job import level_of_each, sizes, sweep, why_not
from evenhand.methods.repair.methods import additions
from evenhand.methods.repair.paired import gap_change
from evenhand.methods.repair.steps import Step
from evenhand.methods.search.margins import Margins
from evenhand.results.result import Result
from evenhand.runtime.errors import UsageError, clip
from evenhand.scores.neighbours import Neighbours
from evenhand.space.rule import Rule
from evenhand.subject.view import View

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from evenhand.methods.repair.job import RepairAttempt, RepairJob
    from evenhand.methods.repair.rows import LabelledRows
    from evenhand.space.feature import Points
    from evenhand.statistics.estimate import Estimate
    from evenhand.subject.subject import Subject

    Floats = NDArray[np.float64]

MEMBERS = ("members", "borderline", "both sides")
"""What is added: people of the subgroup with the opposite outcome (the paper's); people next to the
boundary with their outcome turned, of the subgroup, or of all others where these are fewer; or
these and as many of the other side.
"""
DEFAULT = ("borderline", "both sides")
"""What is tried unless one is asked for."""
LEAST_ADDED, MOST_ADDED = 50, 0.10
"""From how many rows on, and up to what share of the training rows, is added (RQ3)."""
MOST_ASKED, STEP_ASKED = 1_000_000, 250_000
"""Neighbours that are asked about at most for the gap of a subgroup, for the claim and for each
step; with more, some are drawn for each row: rows differ far more from each other than the
neighbours of one do.
"""


def rule_of(
    job: RepairJob, subject: Subject, rule: Any, support: float
) -> tuple[tuple[str, ...] | Rule, Estimate | None]:
    """Return the subgroup to repair, that of the user or the worst that is mined; its gap where
    none stands out.
    """
    if isinstance(rule, Result):
        rule = rule.worst.about
    if isinstance(rule, Rule):
        return Rule.of(job.space, rule.conditions), None
    if rule is not None:
        raise UsageError(
            f"rule = {clip(repr(rule))} is no Rule; take one from a finding of mine, or leave"
            " it out"
        )
    people = job.space.decode(job.train.points)
    found = mine(
        subject,
        data=people,
        over=list(job.names),
        support=support,
        level=job.level,
        seed=job.seed,
        n_jobs=job.n_jobs,
        progress=False,
    ).worst
    about = found.about if isinstance(found.about, Rule) else job.names
    if isinstance(about, Rule) and found.estimate.low > 0:
        return about, None
    job.notes.append(
        f"no subgroup surely stands out among {len(people):,} training rows ({found.claim})"
    )
    return about, found.estimate


def subgroup(job: RepairJob, original: Any, rule: Rule, *, add: str | None, steps: int) -> RepairAttempt:
    """Train again with more and more people of the subgroup that get the opposite outcome (TestSGD,
    phase 3).

    From 50 rows up to a share of the training rows; what leaves the smallest gap on validation rows
    is kept, as long as performance does not fall by more than is tolerated.
    """
    subject = job.subject(original)
    inside = rule.mask(job.train.points, job.space)
    if not inside.any() or inside.all():
        raise UsageError(
            f"rule: {'all' if inside.any() else 'none'} of the training rows meet {rule}; give"
            " another"
        )
    gap = Gap(job, rule)
    before, treated = (
        gap.means(subject, rows.points, STEP_ASKED) for rows in (job.valid, job.train)
    )
    first, of_group = job.score(subject), gap.inside(job.valid.points)
    up = bool(treated[inside].mean() < treated[~inside].mean())
    chances = _chances(job, subject, treated)
    many, recipes = (
        sizes(len(job.train), LEAST_ADDED, MOST_ADDED, steps),
        ((add,) if add else DEFAULT),
    )
    level = level_of_each(job.level, len(many) * len(recipes))

    def attempt(number: int, size: int, recipe: str) -> tuple[Step, Any]:
        rows = _members(gap, subject, up, chances, size, recipe, number)
        tried = rows.fitted(job.trainer)
        new = job.subject(tried)
        change = gap_change(
            before,
            gap.means(new, job.valid.points, STEP_ASKED),
            of_group,
            level=level,
            population="people like the validation rows, and their one-step neighbours",
        )
        score = job.score(new)
        why = why_not(score, first, change, job.tolerance)
        added = len(rows) - len(job.train)
        percent = 100 * added / len(job.train)
        return (
            Step(number, percent, added, change, score.value, kept=not why, why=why or recipe),
            tried,
        )

    return sweep(original, many, recipes, attempt, job.meter, job.notes)


@dataclass(frozen=True, eq=False)
class Gap:
    """How differently a subgroup is treated: by the mean over each row and its neighbours (TestSGD,
    Definition 4.1).
    """

    job: RepairJob
    rule: Rule

    @property
    def kept(self) -> tuple[str, ...]:
        """The features that neighbours keep, besides the protected ones: a person must not leave
        the subgroup.
        """
        return tuple(
            dict.fromkeys(
                [*self.job.names, *(condition.feature for condition in self.rule.conditions)]
            )
        )

    def inside(self, points: Points) -> NDArray[np.bool_]:
        """Tell which rows belong to the subgroup."""
        return self.rule.mask(points, self.job.space)

    def means(self, subject: Subject, points: Points, most: int = MOST_ASKED) -> Floats:
        """Return how favourably the neighbours of each row are treated on average; of many, some
        are asked.
        """
        neighbours = Neighbours.of(View(subject), self.kept)
        every = neighbours.cost * len(points) <= most
        draws = None if every else max(1, most // len(points))
        return neighbours.means(points, draws=draws, seed=self.job.seed)


def _chances(job: RepairJob, subject: Subject, treated: Floats) -> Floats:
    """Return how near to the favourable outcome each training row is: by the model's score, else by
    its neighbours.
    """
    view, points = View(subject), job.train.points
    margins = Margins.of(view, points)
    if margins is None:
        return treated
    told, found = margins.decide(points)
    good, high = view.favourable(told), found > 0
    if (good & ~high).sum() * high.sum() > (good & high).sum() * (~high).sum():
        found = -found
    return np.asarray(0.5 + found / (2 * np.abs(found).max() or 1.0))


def _members(
    gap: Gap,
    subject: Subject,
    up: bool,  # noqa: FBT001
    chances: Floats,
    size: int,
    recipe: str,
    number: int,
) -> LabelledRows:
    """Return the training rows with people of the subgroup after them."""
    job, view = gap.job, View(subject)
    inside = gap.inside(job.train.points)
    how: dict[str, Any] = {"up": up, "n": size, "rng": job.rng("members", number), "over": gap.kept}
    if recipe == "members":
        points = additions.members(view, job.train.points, inside, **how)
        favourable = np.full(len(points), up)
    else:
        # A gap closes at the least cost on the smaller side, where each person counts for more of
        # the rate.
        if inside.mean() > 0.5:
            inside, how["up"] = ~inside, not up
        both = recipe == "both sides"
        points, favourable = additions.borderline(
            view, job.train.points, inside, chances, both=both, **how
        )
    return job.train.joined(points, _labels(job, view, favourable))


def _labels(job: RepairJob, view: View, favourable: NDArray[np.bool_]) -> NDArray[Any]:
    """Return the user's label for the favourable and for the other outcome: of several, the most
    common.
    """
    labels, counts = np.unique(job.train.truth, return_counts=True)
    good = view.favourable(labels)
    if not good.any() or good.all():
        raise UsageError(
            "positive: every training row has a favourable outcome, or none; name the favourable"
            " label"
        )
    chosen = [labels[side][np.argmax(counts[side])] for side in (~good, good)]
    return np.asarray(np.where(favourable, chosen[1], chosen[0]), dtype=job.train.truth.dtype)
