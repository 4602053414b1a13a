"""What all ways of repair share: how to train, on what, what outcomes mean, and how it ended."""

from __future__ import annotations

from dataclasses import dataclass, field, replace
from typing import TYPE_CHECKING, Any

import numpy as np

from evenhand.core.repaired import NO_HELP, REPAIRED
from evenhand.core.seeds import stream
from evenhand.core.subject import Subject

if TYPE_CHECKING:
    from collections.abc import Sequence

    from evenhand.core.budget import Meter
    from evenhand.core.repairsteps import Step
    from evenhand.core.space import Space
    from evenhand.core.training import Learning, Trainer

LEAST_CLAIM = 10_000
"""The fewest inputs that a claim rests on."""


@dataclass(frozen=True, eq=False)
class Job:
    """What all steps share: how to train, on what, and what the outcomes mean."""

    trainer: Trainer
    train: Learning
    valid: Learning
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

    def score(self, subject: Subject) -> float:
        """Return the accuracy on validation rows, or R² for numbers."""
        told = subject.decide(self.valid.points)
        if not self.trainer.regression:
            right = np.asarray(told == self.valid.truth, dtype=np.float64)
            return float(np.average(right, weights=self.valid.weights))
        from sklearn.metrics import r2_score

        return float(r2_score(self.valid.truth, told, sample_weight=self.valid.weights))

    def lost(self, score: float, first: float) -> str:
        """Say by how much performance fell, where that is more than is tolerated; else nothing."""
        if score >= first - self.tolerance:
            return ""
        if self.trainer.regression:
            return f"R² fell by {first - score:.3f}"
        return f"accuracy fell by {100 * (first - score):.1f} points"

    def rng(self, *name: str | int) -> np.random.Generator:
        """Return a stream of random numbers of a name."""
        return stream(self.seed, "repair", *name)


@dataclass(frozen=True, eq=False)
class Mended:
    """How the steps ended: the model, what was tried, and by how many inputs the claim is to be made."""

    outcome: str
    model: Any
    history: tuple[Step, ...]
    claim: int = LEAST_CLAIM


def sizes(rows: int, least: int, most: float, steps: int) -> list[int]:
    """Return how many rows each step adds: from the least up to a share of the training rows.

    Where that share is hardly more than the least, from a quarter of it.

    >>> sizes(10_000, 50, 0.1, 4), sizes(400, 50, 0.1, 3)
    ([50, 136, 368, 1000], [10, 20, 40])
    """
    top = max(round(most * rows), 1)
    first = least if top >= 2 * least else max(top // 4, 1)
    return sorted({round(float(size)) for size in np.geomspace(top, first, steps)})


def smallest_gap(original: Any, history: Sequence[Step], models: Sequence[Any]) -> Mended:
    """Keep the model with the smallest gap of those that were not ruled out, or else the original."""
    good = [at for at, step in enumerate(history) if step.kept]
    if not good:
        return Mended(NO_HELP, original, tuple(history))
    best = min(good, key=lambda at: (history[at].change.after.value, at))
    told = (
        replace(step, kept=at == best, why=f"{step.why}: a larger gap" if at in good and at != best else step.why)
        for at, step in enumerate(history)
    )
    return Mended(REPAIRED, models[best], tuple(told))
