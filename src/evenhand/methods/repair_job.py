"""What all ways of repair share: how to train, on what, what outcomes mean, and how it ended."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

import numpy as np

from evenhand.core.seeds import stream
from evenhand.core.subject import Subject

if TYPE_CHECKING:
    from evenhand.core.budget import Meter
    from evenhand.core.repaired import Step
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
