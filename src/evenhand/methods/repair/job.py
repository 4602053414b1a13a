"""What all ways of repair share: how to train, on what, what outcomes mean, and how it ended."""

from __future__ import annotations

from dataclasses import dataclass, field, replace
from typing import TYPE_CHECKING, Any

import numpy as np

from evenhand.methods.repair.repair_result import NO_HELP, REPAIRED
from evenhand.methods.repair.steps import Step
from evenhand.runtime import number_text
from evenhand.runtime.random_streams import stream
from evenhand.subject.subject import Subject

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

    from numpy.typing import NDArray

    from evenhand.methods.repair.change import PairedChange
    from evenhand.methods.repair.training import LabelledRows, Trainer
    from evenhand.runtime.budget import Meter
    from evenhand.space.space import Space

    Floats = NDArray[np.float64]

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

    @property
    def space(self) -> Space:
        """What an input can be."""
        return self.train.space

    def subject(self, model: Any) -> Subject:
        """Return a model as the software under test."""
        self.subjects.append(Subject(model, self.space, **self.meanings))
        return self.subjects[-1]

    def score(self, subject: Subject) -> ValidationScore:
        """Return the accuracy on validation rows, or R² for numbers."""
        told = subject.decide(self.valid.points)
        if not self.trainer.regression:
            return ValidationScore.of(told == self.valid.truth, self.valid.weights)
        from sklearn.metrics import r2_score

        return ValidationScore(float(r2_score(self.valid.truth, told, sample_weight=self.valid.weights)))

    def rng(self, *name: str | int) -> np.random.Generator:
        """Return a stream of random numbers of a name."""
        return stream(self.seed, "repair", *name)


@dataclass(frozen=True, eq=False)
class ValidationScore:
    """The performance of a model on validation rows: an accuracy with what it is the mean of, or
    another score.

    >>> good, worse = (ValidationScore.of(np.arange(1000) >= wrong) for wrong in (100, 108))
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
        return cls(float(np.average(rows, weights=weights)), rows, weights)

    def lost(self, first: ValidationScore, tolerance: float) -> str:
        """Say by how much performance fell, where that is or may be more than is tolerated; else
        nothing.

        Of many trainings, the one that is chosen is mostly one whose accuracy came out too high by
        chance. So a standard error of the change is kept in reserve, but never more than half of
        what is tolerated.
        """
        fell = first.value - self.value
        if fell <= tolerance - min(self._error(first), tolerance / 2):
            return ""
        if self.right is None:
            told = f"R² fell by {number_text.decimal(fell)}"
        else:
            told = f"accuracy fell by {number_text.points(fell)}"
        return told if fell > tolerance else f"{told}, perhaps by more than is tolerated"

    def _error(self, first: ValidationScore) -> float:
        """Return the standard error of the change."""
        if self.right is None or first.right is None:
            return 0.0
        shares = np.full(len(self.right), 1.0) if self.weights is None else self.weights
        shares = shares / shares.sum()
        moved = self.right - first.right
        return float(np.sqrt((shares**2 * (moved - shares @ moved) ** 2).sum()))


@dataclass(frozen=True, eq=False)
class RepairAttempt:
    """How the steps ended: the model, what was tried, and by how many inputs the claim is to be
    made.
    """

    outcome: str
    model: Any
    history: tuple[Step, ...]
    claim: int = LEAST_CLAIM

    @property
    def too_dear(self) -> list[str]:
        """What a larger tolerance would have kept, where no step was."""
        found = [step for step in self.history if step.change.verdict == "fell" and not step.kept]
        if self.outcome != NO_HELP or not found:
            return []
        best = min(found, key=lambda step: step.change.after.value)
        left = number_text.percent_figures(best.change.after.value)
        return [
            f"step {best.number} would leave {left}, but {best.why}; a larger tolerance would"
            " keep it"
        ]


def sizes(rows: int, least: int, most: float, steps: int) -> list[int]:
    """Return how many rows each step adds: from the least up to a share of the training rows.

    Where that share is hardly more than the least, from a quarter of it.

    >>> sizes(10_000, 50, 0.1, 4), sizes(400, 50, 0.1, 3)
    ([50, 136, 368, 1000], [10, 20, 40])
    """
    top = max(round(most * rows), 1)
    first = least if top >= 2 * least else max(top // 4, 1)
    return sorted({round(float(size)) for size in np.geomspace(top, first, steps)})


def level_of_each(level: float, tries: int) -> float:
    """Return the level of the intervals of one step if those of all hold together: planned ones,
    and finer ones.
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
    """Train again with every size of every recipe, and keep the model with the smallest gap of
    those not ruled out.

    Then sizes between that and the next larger one of its recipe are tried, where the larger was
    ruled out.

    Parameters
    ----------
    attempt
        Takes the number of a step, a size and a recipe, and returns the step and its model.
    """
    plan = [(size, recipe) for size in many for recipe in recipes]
    planned = len(plan)
    tried, history, models = list[tuple[int, str]](), list[Step](), list[Any]()
    try:
        while len(tried) < len(plan):
            size, recipe = plan[len(tried)]
            meter.report("training again", len(tried) / (planned + FINER), f"{size:,} added")
            step, model = attempt(len(tried) + 1, size, recipe)
            tried.append((size, recipe))
            history.append(step)
            models.append(model)
            if planned <= len(tried) < planned + FINER:
                plan += _between(tried, history)
    except KeyboardInterrupt:
        interrupted(history, notes)
    return _smallest_gap(original, history, models)


def why_not(score: ValidationScore, first: ValidationScore, change: PairedChange, tolerance: float) -> str:
    """Say why a model with another gap is not kept; nothing where it may be."""
    return score.lost(first, tolerance) or ("" if change.fall.value > 0 else "the gap did not fall")


def interrupted(history: Sequence[Step], notes: list[str]) -> None:
    """Go on with the steps that there are after an interrupt; without any, let it through."""
    if not history:
        raise KeyboardInterrupt
    notes.append(f"interrupted after {len(history)} steps; the best of these was kept")


def _between(tried: Sequence[tuple[int, str]], history: Sequence[Step]) -> list[tuple[int, str]]:
    """Return a size between the best and the next larger one of its recipe, if that was ruled out."""
    best = _best(history)
    if best is None:
        return []
    size, recipe = tried[best]
    larger = [at for at, (other, how) in enumerate(tried) if how == recipe and other > size]
    if not larger:
        return []
    after = min(larger, key=lambda at: tried[at][0])
    middle = round((size * tried[after][0]) ** 0.5)
    return [(middle, recipe)] if size < middle < tried[after][0] and not history[after].kept else []


def _best(history: Sequence[Step]) -> int | None:
    good = [at for at, step in enumerate(history) if step.kept]
    return min(good, key=lambda at: (history[at].change.after.value, at), default=None)


def _smallest_gap(original: Any, history: Sequence[Step], models: Sequence[Any]) -> RepairAttempt:
    """Keep the model with the smallest gap of those that were not ruled out, or else the original."""
    best = _best(history)
    if best is None:
        return RepairAttempt(NO_HELP, original, tuple(history))
    told = (
        replace(
            step,
            kept=at == best,
            why=f"{step.why}: a larger gap" if step.kept and at != best else step.why,
        )
        for at, step in enumerate(history)
    )
    return RepairAttempt(REPAIRED, models[best], tuple(told))
