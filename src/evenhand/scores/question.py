"""One question of one score: what it costs, and each way to answer it.

Which way is taken is decided in `evenhand.scores.answer`.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from dataclasses import dataclass, field, replace
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from collections.abc import Sequence

    import numpy as np
    from numpy.typing import NDArray

    from evenhand.population.rows import Rows
    from evenhand.population.samplers import Sampler
    from evenhand.results.evidence import Case, Finding, Group
    from evenhand.runtime.budget import Meter
    from evenhand.runtime.workers import Workers
    from evenhand.scores.test_suite import Tests
    from evenhand.space.feature import Points
    from evenhand.space.space import Space
    from evenhand.statistics.estimate import Estimate, StopReason
    from evenhand.subject.view import View


@dataclass(frozen=True, slots=True)
class Terms:
    """How a question is to be answered; `among` is how many questions share the level."""

    sampler: Sampler
    level: float = 0.95
    margin: float | None = 0.05
    limit: float | None = None
    interval: str | None = None
    exact: bool | None = None
    seed: int = 0
    among: int = 1
    units: str = "spread"
    """What limits of numbers are in: shares of their spread, or the unit of the outcomes."""

    @property
    def share(self) -> float:
        """The level of each question by itself, so that all hold together at the level."""
        return 1 - (1 - self.level) / self.among

    def shared(self, estimate: Estimate) -> Estimate:
        """Return an estimate at the level that all questions share."""
        if self.among == 1 or estimate.level == 1.0:
            return estimate
        method = f"{estimate.method}, simultaneous over {self.among}"
        return replace(estimate, level=self.level, method=method)


@dataclass(frozen=True, slots=True)
class Score:
    """An estimate with what shows it."""

    estimate: Estimate
    stop: StopReason
    cases: Sequence[Case] = ()
    groups: tuple[Group, ...] = ()
    tests: Sequence[Tests] = ()
    notes: Sequence[str] = field(default_factory=list)
    answers: tuple[Any, ...] = ()
    """The different answers that the estimate rests on, at most so many as are told apart."""
    findings: Sequence[Finding] = ()
    """What was found, where a question has more than one answer."""

    @property
    def favoured(self) -> bool | None:
        """Whether anybody got the favourable outcome, None where the score does not tell."""
        if not self.groups:
            return None
        return any(group.estimate.value > 0 for group in self.groups)


@dataclass(frozen=True)
class Question(ABC):
    """How much does one output depend on these features?"""

    view: View
    names: tuple[str, ...]

    kind = ""
    answers = 1
    """How many findings answer the question."""
    of_numbers = False
    """Whether its estimates are in the unit of the outcomes, rather than rates."""

    @property
    def space(self) -> Space:
        """What an input can be."""
        return self.view.subject.space

    @property
    def stream(self) -> tuple[str, ...]:
        """The name of the stream of draws.

        It is the same for every output, so that all are measured on the same inputs.
        """
        return ("measure", self.kind, *self.names)

    @property
    def task(self) -> str:
        """The question in a few words, for progress."""
        task = f"{self.kind} {', '.join(self.names)}"
        return f"{task} of {self.view.name}" if self.view.name else task

    @property
    @abstractmethod
    def cost(self) -> int:
        """Inputs asked per draw, at most."""

    @abstractmethod
    def per_row(self, sampler: Rows) -> int:
        """Return the inputs asked per given row."""

    @abstractmethod
    def enumerated(
        self, terms: Terms, points: Points, population: str, meter: Meter, *, keep: bool
    ) -> Score:
        """Answer from every input there is, which are counted as spent."""

    @abstractmethod
    def tallied(
        self, terms: Terms, points: Points, sampler: Rows, meter: Meter, *, keep: bool
    ) -> Score:
        """Answer from given rows, which are the population or a sample of it."""

    @abstractmethod
    def sampled(self, terms: Terms, meter: Meter, workers: Workers, *, keep: bool) -> Score:
        """Answer by drawing until the plan stops."""

    @abstractmethod
    def claim(self, estimate: Estimate, groups: tuple[Group, ...]) -> str:
        """Return what was found, as a sentence."""


def tests_of(
    question: Question, points: Points, draw: NDArray[Any], own: NDArray[np.bool_]
) -> Tests:
    """Return inputs with their outcomes as tests behind a question."""
    from evenhand.scores.test_suite import Tests  # imported where it is used

    outcomes = question.view.subject.decide(points)
    return Tests(question.kind, question.names, points, outcomes, draw.astype("int64"), own)
