"""One question of one score: what it costs, and each way to answer it.

Which way is taken is decided in `evenhand.scores.answer`.
"""

from __future__ import annotations

import math
from abc import ABC, abstractmethod
from dataclasses import dataclass, field, replace
from typing import TYPE_CHECKING, Any

import numpy as np

from evenhand.statistics.discoveries import (
    AgainstLimit,
    exact_rate_against,
    exact_spread_against,
    rate_against,
    spread_against,
)
from evenhand.statistics.intervals import SAMPLING_THRESHOLD

if TYPE_CHECKING:
    from collections.abc import Sequence

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
    from evenhand.statistics.intervals import Floats
    from evenhand.subject.view import View


MARGIN = 0.05
"""How precisely a score is known by default."""
COARSE = 5
"""Expensive software is asked until the margin is this share of the limit, decided or not."""
FINE = 50
"""The same for cheap software: a finer margin is of no use to anybody."""
FINE_AT_ZERO = 0.001
"""The margin that replaces it where the limit is 0."""
ENOUGH = 1 << 20
"""The most inputs of cheap software that are drawn where a limit is not decided."""


@dataclass(frozen=True, slots=True)
class Precision:
    """How precisely a score is to be known, and how precisely at the most."""

    wanted: float
    finest: float | None = None


@dataclass(frozen=True, slots=True)
class Terms:
    """How a question is to be answered; `among` is how many questions share the level."""

    sampler: Sampler
    level: float = 0.95
    margin: float | None = None
    """How precisely the score is to be known; None for what suits the limit and the software."""
    limit: float | None = None
    interval: str | None = None
    exact: bool | None = None
    seed: int = 0
    among: int = 1
    enough: float = math.inf
    """The most inputs that are worth drawing where nothing else ends it."""
    units: str = "spread"
    """What limits of numbers are in: shares of their spread, or the unit of the outcomes."""
    sampling_threshold: int = SAMPLING_THRESHOLD
    """Of the paper's own rule, the number of draws above which it looks."""

    @property
    def share(self) -> float:
        """The level of each question by itself, so that all hold together at the level."""
        return 1 - (1 - self.level) / self.among

    def margins(self, *, expensive: bool) -> Precision:
        """Return how precisely the score is to be known.

        Cheap software is asked until it is decided, down to the finest margin.

        >>> terms = Terms(None, limit=0.1)
        >>> terms.margins(expensive=True), terms.margins(expensive=False)
        (Precision(wanted=0.02, finest=None), Precision(wanted=0.05, finest=0.002))
        """
        wanted = MARGIN if self.margin is None else self.margin
        limit = self.limit if self.units == "spread" else None
        if limit is None:
            return Precision(wanted)
        if expensive:
            if self.margin is None and limit:
                wanted = min(wanted, limit / COARSE)
            return Precision(wanted)
        finest = limit / FINE if limit else FINE_AT_ZERO
        return Precision(wanted, min(wanted, finest))

    def enough_draws(self, cost: int) -> int | None:
        """Return how many draws of a cost are worth it, None for any number."""
        if self.enough == math.inf:
            return None
        return max(1, int(self.enough) // cost)

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
    against: AgainstLimit | None = None
    """How strongly it speaks against the other side of the limit."""
    noise: Estimate | None = None
    """How often answers to the same input differ, where the score allows for it."""

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
    def fewest(self, terms: Terms) -> int:
        """Return the fewest inputs that drawing takes: those of software that treats all alike."""

    def expected(self, terms: Terms, score: float, most: int | None) -> float | None:
        """Return how many inputs drawing takes on average where the score is so.

        `most` is how many draws there may be. None stands for a question that is not foreseen.
        """
        return None

    def most(self, terms: Terms) -> int | None:
        """Return the most inputs that drawing ever takes; None where no number is known."""
        return None

    @abstractmethod
    def exhausted(self, terms: Terms, meter: Meter) -> Score:
        """Answer from every input there is, some at a time, where they are too many to list."""

    @abstractmethod
    def claim(self, estimate: Estimate, groups: tuple[Group, ...]) -> str:
        """Return what was found, as a sentence."""


def rate_evidence(
    terms: Terms, estimate: Estimate, *, fixed: bool = False, size: int | None = None
) -> AgainstLimit | None:
    """Return what a rate says against the limit; of a sample that is `fixed` by an exact test.

    `size` is how many there are, where they are drawn without replacement. None stands for a rate
    without a limit or an error, or by a formula of the papers.
    """
    if terms.limit is None or estimate.method in ("wald", "wilson"):
        return None
    if estimate.level == 1:
        return None
    hits = estimate.value * estimate.n
    if fixed:
        return exact_rate_against(hits, estimate.n, terms.limit, among=terms.among)
    return rate_against(hits, estimate.n, terms.limit, among=terms.among, size=size)


def spread_evidence(
    terms: Terms, hits: Floats, sizes: Floats, *, fixed: bool = False, empty: int = 0
) -> AgainstLimit | None:
    """Return the same for the largest difference between independent groups.

    `empty` is how many groups nobody was seen of, which may be treated in any way.
    """
    if terms.limit is None:
        return None
    if empty and float(np.ptp(hits / sizes)) < terms.limit:
        return AgainstLimit(1.0)
    test = exact_spread_against if fixed else spread_against
    return test(hits, sizes, terms.limit, among=terms.among)


def tests_of(
    question: Question, points: Points, draw: NDArray[Any], own: NDArray[np.bool_]
) -> Tests:
    """Return inputs with their outcomes as tests behind a question."""
    from evenhand.scores.test_suite import Tests  # imported where it is used

    outcomes = question.view.subject.decide(points)
    return Tests(question.kind, question.names, points, outcomes, draw.astype("int64"), own)
