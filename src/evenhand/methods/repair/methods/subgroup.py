"""subgroup: train again with people of a subgroup that get the opposite outcome.

This is phase 3 of TestSGD.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any

import numpy as np

from evenhand.methods.mine.mine import mine
from evenhand.methods.mine.table import entries_of, worst_rule
from evenhand.methods.repair import messages
from evenhand.methods.repair.job import grown, level_of_each, sizes, sweep, why_not
from evenhand.methods.repair.methods import additions
from evenhand.methods.repair.paired import gap_change
from evenhand.methods.repair.steps import Step
from evenhand.methods.search.margins import Margins
from evenhand.results.result import Result
from evenhand.runtime import number_text
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
) -> tuple[Rule, Estimate | None]:
    """Return the subgroup to repair, the user's or the worst mined, and a gap that is unsure.

    The gap is None where the subgroup clearly stands out, or was given.
    """
    if isinstance(rule, Result):
        rule = worst_rule(rule) if entries_of(rule) else rule.worst.about
    if isinstance(rule, Rule):
        return Rule.of(job.space, rule.conditions), None
    if rule is not None:
        raise UsageError(messages.NOT_A_RULE.format(rule=clip(repr(rule))))
    people = job.space.decode(job.train.points)
    result = mine(
        subject,
        data=people,
        over=list(job.names),
        support=support,
        level=job.level,
        seed=job.seed,
        n_jobs=job.n_jobs,
        progress=False,
    )
    worst = result.worst
    about = worst_rule(result)
    if worst.estimate.low > 0:
        return about, None
    rows = number_text.count(len(people))
    note = messages.NO_SUBGROUP_STANDS_OUT.format(rows=rows, claim=worst.claim)
    job.notes.append(note)
    return about, worst.estimate


def subgroup(
    job: RepairJob, original: Any, rule: Rule, *, add: str | None, steps: int
) -> RepairAttempt:
    """Train again with more and more people of the subgroup that get the opposite outcome.

    This is phase 3 of TestSGD: from 50 rows up to a share of the training rows; what leaves the
    smallest gap on validation rows is kept, as long as performance does not fall by more than is
    tolerated.
    """
    subject = job.subject(original)
    inside = rule.mask(job.train.points, job.space)
    if inside.all():
        raise UsageError(messages.RULE_MET_BY_ALL.format(rule=rule))
    if not inside.any():
        raise UsageError(messages.RULE_MET_BY_NONE.format(rule=rule))
    gap = Gap(job, rule)
    before = gap.means(subject, job.valid.points, STEP_ASKED)
    first = job.score(subject)
    of_group = gap.inside(job.valid.points)
    members = _SubgroupMembers.of(gap, subject)
    many = sizes(len(job.train), LEAST_ADDED, MOST_ADDED, steps)
    recipes = (add,) if add else DEFAULT
    level = level_of_each(job.level, len(many) * len(recipes))

    def attempt(number: int, size: int, recipe: str) -> tuple[Step, Any]:
        rows = members.added(size, recipe, number)
        tried = rows.fitted(job.trainer)
        new = job.subject(tried)
        after = gap.means(new, job.valid.points, STEP_ASKED)
        population = messages.POPULATION_VALIDATION_NEIGHBOURS
        change = gap_change(before, after, of_group, level=level, population=population)
        score = job.score(new)
        why = why_not(score, first, change, job.tolerance)
        added = len(rows) - len(job.train)
        step = Step(
            number=number,
            percent=100 * added / len(job.train),
            added=added,
            change=change,
            accuracy=score.value,
            kept=not why,
            why=why or recipe,
        )
        return step, tried

    found = sweep(original, many, recipes, attempt, job.meter, job.notes)

    def train(rows: LabelledRows) -> Any:
        assert found.chosen is not None
        number, size, recipe = found.chosen
        everything = replace(job, train=rows)
        again = _SubgroupMembers.of(Gap(everything, rule), subject)
        wanted = grown(size, len(rows), len(job.train))
        return again.added(wanted, recipe, number).fitted(job.trainer)

    return replace(found, recipe=train if found.chosen else None)


@dataclass(frozen=True, eq=False)
class Gap:
    """How differently a subgroup is treated, by the mean over each row and its neighbours.

    This is Definition 4.1 of TestSGD.
    """

    job: RepairJob
    rule: Rule

    @property
    def kept(self) -> tuple[str, ...]:
        """The features that neighbours keep besides the protected ones, to stay in the subgroup."""
        of_rule = [condition.feature for condition in self.rule.conditions]
        names = dict.fromkeys([*self.job.names, *of_rule])
        return tuple(names)

    def inside(self, points: Points) -> NDArray[np.bool_]:
        """Return which rows belong to the subgroup."""
        return self.rule.mask(points, self.job.space)

    def means(self, subject: Subject, points: Points, most: int = MOST_ASKED) -> Floats:
        """Return how favourably the neighbours of each row are treated on average.

        Where all rows have more than `most` neighbours together, some are drawn for each.
        """
        neighbours = Neighbours.of(View(subject), self.kept)
        draws = None
        if neighbours.cost * len(points) > most:
            draws = max(1, most // len(points))
        return neighbours.means(points, draws=draws, seed=self.job.seed)


def _chances(job: RepairJob, subject: Subject, treated: Floats) -> Floats:
    """Return how near to the favourable outcome each training row is.

    That is by the model's score, or by the row's neighbours where the model has none.
    """
    view = View(subject)
    margins = Margins.of(view, job.train.points)
    if margins is None:
        return treated
    outcomes, scores = margins.decide(job.train.points)
    good = view.favourable(outcomes)
    high = scores > 0
    # Which sign of a score is favourable is not known in advance: it is the one among which more
    # rows are favoured, and the shares are compared without a division.
    favoured_low = (good & ~high).sum() * high.sum()
    favoured_high = (good & high).sum() * (~high).sum()
    if favoured_low > favoured_high:
        scores = -scores
    largest = np.abs(scores).max()
    return np.asarray(0.5 + scores / (2 * largest or 1.0))


@dataclass(frozen=True, eq=False)
class _SubgroupMembers:
    """People of the subgroup who are added to the training rows."""

    gap: Gap
    subject: Subject
    """The model before anything was added."""
    up: bool
    """Whether the subgroup is favoured less than the others."""
    chances: Floats

    @classmethod
    def of(cls, gap: Gap, subject: Subject) -> _SubgroupMembers:
        """Return the people next to whom members are drawn, among the rows that are trained on."""
        rows = gap.job.train.points
        treated = gap.means(subject, rows, STEP_ASKED)
        inside = gap.inside(rows)
        mean_inside = treated[inside].mean()
        mean_outside = treated[~inside].mean()
        return cls(
            gap=gap,
            subject=subject,
            up=bool(mean_inside < mean_outside),
            chances=_chances(gap.job, subject, treated),
        )

    def added(self, size: int, recipe: str, number: int) -> LabelledRows:
        """Return the training rows with people of the subgroup after them."""
        job = self.gap.job
        view = View(self.subject)
        rows = job.train.points
        inside = self.gap.inside(rows)
        up = self.up
        options: dict[str, Any] = {
            "n": size,
            "rng": job.rng("members", number),
            "over": self.gap.kept,
        }
        if recipe == "members":
            points = additions.members(view, rows, inside, up=up, **options)
            favourable = np.full(len(points), up)
        else:
            # A gap closes at the least cost on the smaller side, where each person counts for more
            # of the rate.
            if inside.mean() > 0.5:
                inside = ~inside
                up = not up
            both = recipe == "both sides"
            points, favourable = additions.borderline(
                view, rows, inside, self.chances, up=up, both=both, **options
            )
        return job.train.joined(points, _labels(job, view, favourable))


def _labels(job: RepairJob, view: View, favourable: NDArray[np.bool_]) -> NDArray[Any]:
    """Return the user's label for either outcome: of several, the most common."""
    truth = job.train.truth
    labels, counts = np.unique(truth, return_counts=True)
    good = view.favourable(labels)
    if not good.any() or good.all():
        raise UsageError(messages.ONE_OUTCOME_ONLY)
    best_label = labels[good][np.argmax(counts[good])]
    other_label = labels[~good][np.argmax(counts[~good])]
    chosen = np.where(favourable, best_label, other_label)
    return np.asarray(chosen, dtype=truth.dtype)
