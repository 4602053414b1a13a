"""What all ways of repair share: how to train, on what, what outcomes mean, and how it ended."""

from __future__ import annotations

from dataclasses import dataclass, field, replace
from typing import TYPE_CHECKING, Any

import numpy as np

from evenhand.methods.repair import messages
from evenhand.methods.repair.steps import NO_HELP, REPAIRED
from evenhand.runtime import number_text
from evenhand.runtime.budget import Spent
from evenhand.runtime.interruption import Interruption
from evenhand.runtime.random_streams import stream
from evenhand.runtime.workers import Workers
from evenhand.subject.effort import Effort
from evenhand.subject.subject import Subject

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Sequence

    from numpy.typing import NDArray

    from evenhand.methods.repair.change import PairedChange
    from evenhand.methods.repair.claims.handover import Recipe
    from evenhand.methods.repair.rows import LabelledRows
    from evenhand.methods.repair.steps import Step
    from evenhand.methods.repair.training import Trainer
    from evenhand.runtime.budget import Meter
    from evenhand.space.space import Space

    Floats = NDArray[np.float64]
    Plan = list[tuple[int, str]]
    """Sizes with their recipes, in the order in which they are tried."""

LEAST_CLAIM = 10_000
"""The fewest inputs that a claim rests on."""
FINER = 3
"""How many sizes are tried between the best and the next larger one, which cost too much."""


@dataclass(frozen=True, eq=False)
class RepairJob:
    """What all steps share: how to train, on what, and what the outcomes mean."""

    trainer: Trainer
    train: LabelledRows
    valid: LabelledRows
    names: tuple[str, ...]
    meanings: dict[str, Any]
    """Options of subjects: positive, differs."""
    level: float
    tolerance: float
    seed: int
    meter: Meter
    n_jobs: int = 1
    notes: list[str] = field(default_factory=list)
    subjects: list[Subject] = field(default_factory=list)
    """All that were asked, by which is counted what was spent."""
    workers: Workers = field(default_factory=Workers)
    effort: Effort = field(default_factory=Effort)
    """How long models take to answer: those of one recipe take about the same."""

    @property
    def space(self) -> Space:
        """What an input can be."""
        return self.train.space

    @property
    def spent(self) -> Spent:
        """What all models were asked so far."""
        return spent_on(self.subjects, self.meter)

    def subject(self, model: Any) -> Subject:
        """Return a model as the software under test."""
        subject = Subject(model, self.space, **self.meanings)
        subject.asking.share(self.workers, self.effort)
        self.subjects.append(subject)
        return subject

    def score(self, subject: Subject) -> ValidationScore:
        """Return the accuracy on validation rows, or R² for numbers."""
        outcomes = subject.decide(self.valid.points)
        truth = self.valid.truth
        weights = self.valid.weights
        if not self.trainer.regression:
            return ValidationScore.of(outcomes == truth, weights)
        from sklearn.metrics import r2_score

        r2 = r2_score(truth, outcomes, sample_weight=weights)
        return ValidationScore(float(r2))

    def rng(self, *name: str | int) -> np.random.Generator:
        """Return a stream of random numbers of a name."""
        return stream(self.seed, "repair", *name)


@dataclass(frozen=True, eq=False)
class ValidationScore:
    """The performance of a model on validation rows.

    An accuracy comes with what it is the mean of; any other score comes alone.

    >>> good = ValidationScore.of(np.arange(1000) >= 100)
    >>> worse = ValidationScore.of(np.arange(1000) >= 108)
    >>> worse.lost(good, 0.01), worse.lost(good, 0.02)
    ('accuracy fell by 0.8 points, perhaps by more than is tolerated', '')
    """

    value: float
    right: Floats | None = None
    weights: Floats | None = None

    @classmethod
    def of(cls, right: NDArray[np.bool_], weights: Floats | None = None) -> ValidationScore:
        """Return the accuracy of a model from the rows that it is right of."""
        rows = np.asarray(right, dtype=np.float64)
        accuracy = np.average(rows, weights=weights)
        return cls(float(accuracy), rows, weights)

    def lost(self, first: ValidationScore, tolerance: float) -> str:
        """Return a sentence on a loss that is or may be more than is tolerated, else nothing.

        Of many trainings, the one that is chosen is mostly one whose accuracy came out too high by
        chance. So a standard error of the change is kept in reserve, but never more than half of
        what is tolerated.
        """
        fall = first.value - self.value
        reserve = min(self._standard_error(first), tolerance / 2)
        if fall <= tolerance - reserve:
            return ""
        clearly = fall > tolerance
        if self.right is None:
            amount = number_text.decimal(fall)
            if clearly:
                return messages.R2_FELL.format(amount=amount)
            return messages.R2_PERHAPS_FELL_TOO_FAR.format(amount=amount)
        points = number_text.points(fall)
        if clearly:
            return messages.ACCURACY_FELL.format(points=points)
        return messages.ACCURACY_PERHAPS_FELL_TOO_FAR.format(points=points)

    def _standard_error(self, first: ValidationScore) -> float:
        """Return the standard error of the change of a weighted mean over the same rows."""
        if self.right is None or first.right is None:
            return 0.0
        weights = self.weights
        if weights is None:
            weights = np.full(len(self.right), 1.0)
        shares = weights / weights.sum()
        moved = self.right - first.right
        mean = shares @ moved
        variance = (shares**2 * (moved - mean) ** 2).sum()
        return float(np.sqrt(variance))


@dataclass(frozen=True, eq=False)
class RepairAttempt:
    """How the steps ended: the model, what was tried, and how many inputs the claim is to take."""

    outcome: str
    model: Any
    history: tuple[Step, ...]
    claim: int = LEAST_CLAIM
    recipe: Recipe | None = None
    """Trains the model that was chosen on other rows; None where the original was kept."""
    chosen: tuple[int, int, str] | None = None
    """Of a sweep, the number, size and recipe of the step that was chosen."""

    @property
    def advice(self) -> list[str]:
        """What a larger tolerance would have kept, where no step was."""
        if self.outcome != NO_HELP:
            return []
        fallen = [step for step in self.history if step.change.verdict == "fell"]
        expensive = [step for step in fallen if not step.kept]
        if not expensive:
            return []
        best = min(expensive, key=lambda step: step.change.after.value)
        left = number_text.percent_figures(best.change.after.value)
        note = messages.LARGER_TOLERANCE.format(number=best.number, left=left, why=best.why)
        return [note]


def spent_on(subjects: Iterable[Any], meter: Meter) -> Spent:
    """Return what was spent on all subjects together."""
    asked = 0
    executed = 0
    for subject in subjects:
        asked += subject.asked
        executed += subject.executed
    return Spent(asked, executed, meter.seconds)


def sizes(rows: int, least: int, most: float, steps: int) -> list[int]:
    """Return how many rows each step adds: from the least up to a share of the training rows.

    Where that share is hardly more than the least, from a quarter of it.

    >>> sizes(10_000, 50, 0.1, 4), sizes(400, 50, 0.1, 3)
    ([50, 136, 368, 1000], [10, 20, 40])
    """
    top = max(round(most * rows), 1)
    first = least
    if top < 2 * least:
        first = max(top // 4, 1)
    # Of few rows, rounding makes some sizes equal: each is tried once.
    rounded = {round(float(size)) for size in np.geomspace(top, first, steps)}
    return sorted(rounded)


def level_of_each(level: float, tries: int) -> float:
    """Return the level of one step's intervals if those of all steps are to hold together.

    Steps are the planned ones and the finer ones (Bonferroni).
    """
    return 1 - (1 - level) / (tries + FINER)


def sweep(
    original: Any,
    many: Sequence[int],
    recipes: Sequence[str],
    attempt: Callable[[int, int, str], tuple[Step, Any]],
    meter: Meter,
    notes: list[str],
) -> RepairAttempt:
    """Train again with every size of every recipe, and keep the model with the smallest gap.

    Models that were ruled out are not kept. Then sizes between the best and the next larger one of
    its recipe are tried, where the larger was ruled out.

    Parameters
    ----------
    attempt
        Takes the number of a step, a size and a recipe, and returns the step and its model.
    """
    plan: Plan = []
    for size in many:
        plan += [(size, recipe) for recipe in recipes]
    planned = len(plan)
    tried: Plan = []
    history: list[Step] = []
    models: list[Any] = []
    try:
        while len(tried) < len(plan):
            size, recipe = plan[len(tried)]
            added = messages.ROWS_ADDED.format(number=number_text.count(size))
            meter.report("training again", len(tried) / (planned + FINER), added)
            step, model = attempt(len(tried) + 1, size, recipe)
            tried.append((size, recipe))
            history.append(step)
            models.append(model)
            if planned <= len(tried) < planned + FINER:
                plan += _between(tried, history)
    except KeyboardInterrupt:
        interrupted(history, notes)
    return _smallest_gap(original, tried, history, models)


def grown(size: int, rows: int, training: int) -> int:
    """Return how many are added to so many rows where a size was chosen for the training rows.

    >>> grown(60, 1000, 600)
    100
    """
    return max(1, round(size * rows / training))


def why_not(
    score: ValidationScore, first: ValidationScore, change: PairedChange, tolerance: float
) -> str:
    """Return why a model with another gap is not kept; nothing where it may be."""
    loss = score.lost(first, tolerance)
    if loss:
        return loss
    if change.fall.value > 0:
        return ""
    return messages.GAP_DID_NOT_FALL


def interrupted(history: Sequence[Step], notes: list[str]) -> None:
    """Go on with the steps that there are after an interrupt; without any, let it through."""
    if not history:
        raise Interruption
    notes.append(messages.INTERRUPTED.format(steps=len(history)))


def _between(tried: Plan, history: Sequence[Step]) -> Plan:
    """Return a size between the best and the next larger one of its recipe, if that is no good."""
    best = _best(history)
    if best is None:
        return []
    size, recipe = tried[best]
    larger = []
    for position, (other_size, other_recipe) in enumerate(tried):
        if other_recipe == recipe and other_size > size:
            larger.append(position)
    if not larger:
        return []
    following = min(larger, key=lambda position: tried[position][0])
    next_size = tried[following][0]
    middle = round((size * next_size) ** 0.5)
    if history[following].kept or not size < middle < next_size:
        return []
    return [(middle, recipe)]


def _best(history: Sequence[Step]) -> int | None:
    """Return the position of the step with the smallest gap of those not ruled out."""
    kept = [position for position, step in enumerate(history) if step.kept]

    def gap_and_position(position: int) -> tuple[float, int]:
        return history[position].change.after.value, position

    return min(kept, key=gap_and_position, default=None)


def _smallest_gap(
    original: Any, tried: Plan, history: Sequence[Step], models: Sequence[Any]
) -> RepairAttempt:
    """Keep the model with the smallest gap of those not ruled out, or else the original."""
    best = _best(history)
    if best is None:
        return RepairAttempt(NO_HELP, original, tuple(history))
    steps = []
    for position, step in enumerate(history):
        if step.kept and position != best:
            why = messages.LARGER_GAP.format(recipe=step.why)
            steps.append(replace(step, kept=False, why=why))
        else:
            steps.append(step)
    size, recipe = tried[best]
    chosen = (history[best].number, size, recipe)
    return RepairAttempt(REPAIRED, models[best], tuple(steps), chosen=chosen)
