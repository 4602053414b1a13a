"""One question of one score: over these features, of this output, in this population; and how it is answered.

A question is answered exactly where its whole population can be asked, from all rows where these are a sample, and
otherwise by drawing until the plan stops.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from dataclasses import dataclass, field, replace
from typing import TYPE_CHECKING, Any

import numpy as np

from evenhand.population.rows import Rows
from evenhand.population.samplers import Uniform
from evenhand.results.evidence import Finding
from evenhand.runtime.errors import UsageError
from evenhand.runtime.random_streams import stream
from evenhand.scores.enumeration import part, whole
from evenhand.scores.test_suite import Tests
from evenhand.space.space import MOST_ASSIGNMENTS
from evenhand.statistics.estimate import StopReason

if TYPE_CHECKING:
    from collections.abc import Sequence

    from numpy.typing import NDArray

    from evenhand.population.samplers import Sampler
    from evenhand.results.evidence import Case, Group
    from evenhand.runtime.budget import Meter
    from evenhand.runtime.workers import Workers
    from evenhand.space.feature import Points
    from evenhand.space.space import Space
    from evenhand.statistics.estimate import Estimate
    from evenhand.subject.view import View

SMALL, SMALL_DEAR = 10_000, 256
"""Spaces of up to this many inputs are enumerated rather than sampled; fewer where an answer is dear."""
MOST_ROWS, MOST_ROWS_DEAR = 2_000_000, 10_000
"""Given rows are all asked where that takes no more inputs than this; fewer where an answer is dear."""


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

    @property
    def share(self) -> float:
        """The level of each question by itself, so that all hold together at the level."""
        return 1 - (1 - self.level) / self.among

    def said(self, estimate: Estimate) -> Estimate:
        """Return an estimate at the level that all questions share."""
        if self.among == 1 or estimate.level == 1.0:
            return estimate
        return replace(estimate, level=self.level, method=f"{estimate.method}, simultaneous over {self.among}")


@dataclass(frozen=True, slots=True)
class Answer:
    """A finding, why it ended there, and the tests behind it where they were to be kept."""

    finding: Finding
    stop: StopReason
    notes: Sequence[str] = ()
    tests: Sequence[Tests] = ()


@dataclass(frozen=True, slots=True)
class Score:
    """An estimate with what shows it."""

    estimate: Estimate
    stop: StopReason
    cases: Sequence[Case] = ()
    groups: tuple[Group, ...] = ()
    tests: Sequence[Tests] = ()
    notes: Sequence[str] = field(default_factory=list)


@dataclass(frozen=True)
class Question(ABC):
    """How much does one output depend on these features?"""

    view: View
    names: tuple[str, ...]

    kind = ""

    @property
    def space(self) -> Space:
        """What an input can be."""
        return self.view.subject.space

    @property
    def stream(self) -> tuple[str, ...]:
        """The name of the stream of draws: the same for every output, so that all are measured on the same inputs."""
        return ("measure", self.kind, *self.names)

    @property
    def task(self) -> str:
        """The question in a few words, for progress."""
        return " ".join([self.kind, ", ".join(self.names), *([f"of {self.view.name}"] if self.view.name else [])])

    def ask(self, terms: Terms, meter: Meter, workers: Workers, *, keep: bool = False) -> Answer:
        """Answer the question within a budget; `keep` the tests."""
        score = self._whole(terms, meter, keep=keep) or self.sampled(terms, meter, workers, keep=keep)
        estimate = terms.said(score.estimate)
        claim = self.claim(estimate, score.groups)
        finding = Finding(
            claim,
            self.names,
            estimate,
            terms.limit,
            tuple(score.cases),
            score.groups,
            output=self.view.title,
            score=self.kind,
        )
        return Answer(finding, score.stop, score.notes, score.tests)

    def _whole(self, terms: Terms, meter: Meter, *, keep: bool) -> Score | None:
        """Answer from the whole population, or all rows of a sample, where it is worth that; else None."""
        sampler = terms.sampler
        if isinstance(sampler, Rows):
            points = sampler.points(self.space)
            cost = len(points) * self.per_row(sampler)
            forced = sampler.twins == "rows" or sampler.sample_of is not None
            if terms.exact is False and sampler.twins == "rows":
                raise UsageError(
                    "twins = 'rows' compares given rows with each other, all of them; leave out exact = False"
                )
            most = MOST_ROWS_DEAR if self.view.subject.adapter.dear else MOST_ROWS
            if forced or terms.exact or (terms.exact is None and terms.interval is None and cost <= most):
                return self._rows(terms, meter, points, sampler, cost, keep=keep)
            return None
        if not isinstance(sampler, Uniform):
            if terms.exact:
                raise UsageError(f"exact: {sampler.population(self.space)} is sampled, not enumerated; leave out exact")
            return None
        if terms.exact is False or (terms.exact is None and terms.interval is not None):
            return None
        small = SMALL_DEAR if self.view.subject.adapter.dear else SMALL
        found = part(self.space, self.names, int(min(small, meter.left)))
        if found is None and terms.exact:
            found = whole(self.space, self.names, MOST_ASSIGNMENTS)
            if len(found) > meter.left:
                raise UsageError(
                    f"exact: {len(found):,} inputs are to be asked, but {int(meter.left):,} queries are left"
                )
        if found is None:
            return None
        meter.report(self.task, None, f"all {len(found):,} inputs")
        meter.queries += len(found)
        return self.enumerated(found, sampler.population(self.space), meter, keep=keep)

    def _rows(
        self, terms: Terms, meter: Meter, points: Points, sampler: Rows, cost: int, *, keep: bool
    ) -> Score | None:
        cut = cost > meter.left
        if cut:
            if sampler.sample_of is None and sampler.twins == "domain" and not terms.exact:
                return None
            # Files are often sorted, so what the budget allows is taken from all over the rows.
            order = stream(terms.seed, *self.stream, "rows").permutation(len(points))
            points = np.asfortranarray(points[np.sort(order[: int(meter.left * len(points) // cost)])])
            if sampler.sample_of is None or not len(points):
                raise UsageError(f"{cost:,} inputs are to be asked, but the budget leaves {int(meter.left):,} queries")
        score = self.tallied(terms, points, sampler, meter, keep=keep)
        return replace(score, stop=StopReason.QUERIES) if cut else score

    @property
    @abstractmethod
    def cost(self) -> int:
        """Inputs asked per draw, at most."""

    @abstractmethod
    def per_row(self, sampler: Rows) -> int:
        """Return the inputs asked per given row."""

    @abstractmethod
    def enumerated(self, points: Points, population: str, meter: Meter, *, keep: bool) -> Score:
        """Answer from every input there is, which are counted as spent."""

    @abstractmethod
    def tallied(self, terms: Terms, points: Points, sampler: Rows, meter: Meter, *, keep: bool) -> Score:
        """Answer from given rows, which are the population or a sample of it, and count what is spent."""

    @abstractmethod
    def sampled(self, terms: Terms, meter: Meter, workers: Workers, *, keep: bool) -> Score:
        """Answer by drawing until the plan stops."""

    @abstractmethod
    def claim(self, estimate: Estimate, groups: tuple[Group, ...]) -> str:
        """Say in a sentence what was found."""


def tests_of(question: Question, points: Points, draw: NDArray[Any], own: NDArray[np.bool_]) -> Tests:
    """Return inputs with their outcomes as tests behind a question."""
    outcomes = question.view.subject.decide(points)
    return Tests(question.kind, question.names, points, outcomes, draw.astype(np.int64), own)
