"""The search of one lattice for the border between discriminating and cleared sets of features."""

from __future__ import annotations

import math
from dataclasses import dataclass, field, replace
from functools import partial
from typing import TYPE_CHECKING, Any

from evenhand.methods.subsets import messages
from evenhand.methods.subsets.border import Border
from evenhand.methods.subsets.findings import (
    add_known,
    border_of,
    findings_of,
    notes_of,
    table_of,
)
from evenhand.methods.subsets.lattice import State
from evenhand.population.samplers import Draws, Uniform, is_rows
from evenhand.runtime import number_text
from evenhand.runtime.errors import UsageError
from evenhand.scores.enumeration import SMALL, SMALL_EXPENSIVE, part
from evenhand.scores.enumeration import whole as everything
from evenhand.scores.question import Terms
from evenhand.space.feature_sets import unseen
from evenhand.space.variants import MOST_ASSIGNMENTS
from evenhand.statistics.estimate import StopReason

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

    from evenhand.methods.subsets.decision import Judge
    from evenhand.methods.subsets.evaluators.base import Evaluator
    from evenhand.methods.subsets.lattice import Lattice
    from evenhand.population.samplers import Sampler
    from evenhand.results.evidence import Finding
    from evenhand.runtime.budget import Meter
    from evenhand.runtime.workers import Workers
    from evenhand.scores.test_suite import Tests
    from evenhand.subject.subject import Subject
    from evenhand.subject.view import View

TESTED_AT_ONCE = 8
"""Sets that are tested before it is asked anew which are worth testing."""


@dataclass(frozen=True)
class SearchOptions:
    """How a search is to be made, the same for every output of the software."""

    sampler: Sampler
    interval: str | None
    exact: bool | None
    variants: int
    seed: int
    sampling_threshold: int
    keep: bool = False
    """Whether the tests behind the scores are kept."""
    known: tuple[Finding, ...] = ()
    """What was found of some sets before, by another verb."""


@dataclass
class Search:
    """The search for the border in one lattice."""

    view: View
    kind: str
    lattice: Lattice
    judge: Judge
    options: SearchOptions
    tests: list[Tests] = field(default_factory=list)
    """The tests behind the scores, where they are kept."""

    @property
    def subject(self) -> Subject:
        """The software under test."""
        return self.view.subject

    def run(self, meter: Meter, workers: Workers) -> StopReason:
        """Search the lattice, by the paper's own procedure where the options name its interval."""
        if self.options.interval == "wald":
            return self.paper(meter, workers)
        evaluator = self.evaluator(meter)
        evaluator.keep = self.options.keep
        stop = self.border(evaluator, meter)
        if self.options.keep:
            self.tests = list(self._kept(evaluator))
        return stop

    def _kept(self, evaluator: Evaluator) -> Iterator[Tests]:
        """Return the tests of each set that settles others."""
        for masks in border_of(self.lattice).values():
            for mask in masks:
                draws = self.lattice.tested[mask].estimate.n
                inputs = evaluator.kept(mask, draws)
                if inputs is not None:
                    yield inputs.tests(self.view, self.kind, evaluator.members(mask))

    def paper(self, meter: Meter, workers: Workers) -> StopReason:
        """Follow the paper's own search."""
        sampler = self.options.sampler
        if is_rows(sampler) and sampler.sample_of is not None:
            raise UsageError(messages.SAMPLE_OF_A_POPULATION)
        from evenhand.methods.subsets.themis import PaperSearch  # imported where it is used

        judge = self.judge
        terms = Terms(
            sampler,
            level=judge.level,
            margin=judge.margin,
            interval="wald",
            seed=self.options.seed,
            sampling_threshold=self.options.sampling_threshold,
        )
        search = PaperSearch(
            self.view, self.kind, self.lattice, judge, terms, keep=self.options.keep
        )
        stop = search.run(meter, workers, partial(self.report, meter))
        for masks in border_of(self.lattice).values():
            for mask in masks:
                self.tests += search.tests.get(mask, [])
        return stop

    def evaluator(self, meter: Meter) -> Evaluator:
        """Return what scores sets, exactly where the population can be asked as a whole.

        Only the evaluator that is used gets imported.
        """
        names = self.lattice.names
        points, weights = self._whole_population(meter)
        if points is not None:
            from evenhand.methods.subsets.evaluators.exact import ExactSets

            meter.queries += len(points)
            return ExactSets(
                self.view, self.kind, points, names, self.judge, weights=weights
            )
        self._check_can_be_sampled()
        sampler = self.options.sampler
        most = self.options.variants
        draws = Draws(sampler, self.subject.space, self.options.seed, "subsets", block=1024)
        if self.kind == "group":
            from evenhand.methods.subsets.evaluators.group import GroupSets

            return GroupSets(self.view, sampler, draws, names, self.judge, most=most)
        if self.view.graded:
            from evenhand.methods.subsets.evaluators.distance import GradedSets

            return GradedSets(self.view, draws, names, self.judge, most=most)
        from evenhand.methods.subsets.evaluators.causal import CausalSets

        return CausalSets(self.view, draws, names, self.judge, most=most)

    def _check_can_be_sampled(self) -> None:
        """Refuse limits and features that draws can say nothing about."""
        if not 0 < self.judge.limit < 1:
            limit = number_text.limit(self.judge.limit)
            raise UsageError(messages.LIMIT_NEEDS_ENUMERATION.format(limit=limit))
        space = self.subject.space
        for name in self.lattice.names:
            if math.isinf(space.feature(name).variety):
                space.assignments((name,))  # raises, with what to do about it

    def _whole_population(self, meter: Meter) -> tuple[Any, Any]:
        """Return every input of the population with its weight, or None where it is sampled."""
        sampler = self.options.sampler
        if is_rows(sampler):
            return self._rows(sampler, meter)
        if isinstance(sampler, Uniform):
            points = self._every_input(meter)
            weights = None if points is None else self.subject.space.weights(points)
            return points, weights
        if self.options.exact:
            population = sampler.population(self.subject.space)
            raise UsageError(messages.POPULATION_IS_SAMPLED.format(population=population))
        return None, None

    def _rows(self, sampler: Any, meter: Meter) -> tuple[Any, Any]:
        """Return the rows with their weights, where these hold each other's twins."""
        if sampler.sample_of is not None:
            raise UsageError(messages.SAMPLE_OF_A_POPULATION)
        if self.kind != "group" and sampler.twins != "rows":
            return None, None
        points = sampler.points(self.subject.space)
        if len(points) > meter.left:
            rows = number_text.count(len(points))
            left = number_text.count(int(meter.left))
            raise UsageError(messages.TOO_MANY_ROWS.format(rows=rows, left=left))
        return points, sampler.weights

    def _every_input(self, meter: Meter) -> Any:
        """Return every input of the space, or None where there are too many or it is not wanted."""
        space = self.subject.space
        names = self.lattice.names
        if self.options.exact is False:
            return None
        if self.options.exact:
            points = everything(space, names, MOST_ASSIGNMENTS)
            if len(points) > meter.left:
                inputs = number_text.count(len(points))
                left = number_text.count(int(meter.left))
                raise UsageError(messages.TOO_MANY_INPUTS.format(inputs=inputs, left=left))
            return points
        small = SMALL_EXPENSIVE if self.subject.adapter.expensive else SMALL
        most = int(min(small, meter.left))
        return part(space, names, most)

    def border(self, evaluator: Evaluator, meter: Meter) -> StopReason:
        """Test sets on the predicted border until every set is settled."""
        if not evaluator.exact and not self.options.keep:
            add_known(self.options.known, self.lattice, self.view, self.kind, self.judge)
        margin = 0.0 if evaluator.exact else self.judge.margin
        border = Border(
            self.lattice,
            limit=self.judge.limit,
            margin=margin,
            varieties=evaluator.varieties,
            most=evaluator.most,
        )
        while batch := border.batch():
            guesses = evaluator.glance(batch, meter)
            if guesses:
                # They may change which sets are worth testing.
                border.guess(guesses)
                continue
            for mask in batch[:TESTED_AT_ONCE]:
                # A set tested just before may have settled this one.
                if self.lattice.states[mask] != State.OPEN:
                    continue
                tested = None if meter.late else evaluator.test(mask, meter)
                if tested is None:
                    return StopReason.SECONDS if meter.late else StopReason.QUERIES
                self.lattice.add(mask, tested)
                if not math.isnan(tested.estimate.value):
                    border.learn(mask, tested.estimate.value)
                self.report(meter)
        if self.lattice.count(State.NOT_SHOWN):
            return StopReason.EXHAUSTED
        if self.lattice.count(State.UNDECIDED):
            return StopReason.MARGIN
        return StopReason.ENUMERATED if evaluator.exact else StopReason.DECIDED

    def report(self, meter: Meter) -> None:
        """Report how far the search is."""
        lattice = self.lattice
        untested = int(lattice.open.sum())
        cleared = lattice.count(State.BELOW, State.IMPLIED_BELOW)
        note = messages.PROGRESS.format(
            minimal=len(lattice.minimal()),
            cleared=number_text.count(cleared),
            open=number_text.count(untested),
            total=number_text.count(lattice.total),
        )
        done = 1 - untested / lattice.total
        meter.report(f"subsets {self.kind}", done, note)

    def findings(self) -> list[Finding]:
        """Return the border."""
        findings = findings_of(self.lattice, self.view, self.kind, self.judge)
        return [self._marked(finding) for finding in findings]

    def _marked(self, finding: Finding) -> Finding:
        """Return a finding that tells whether it is so by construction."""
        space = self.view.subject.space
        hidden = unseen(space, finding.about)
        if hidden and self.kind == "group":
            hidden = self.options.sampler.separate(space, finding.about)
        return replace(finding, by_construction=hidden)

    def table(self) -> dict[str, Any]:
        """Return the lattice as JSON holds it."""
        return table_of(self.lattice, self.kind, self.judge)

    def notes(self) -> list[str]:
        """Return notes on what is only a lower bound."""
        return notes_of(self.lattice, self.view)


def search_all(
    searches: Sequence[Search],
    meter: Meter,
    workers: Workers,
) -> list[StopReason]:
    """Run searches one after the other, and return why each ended.

    An interrupted run is reported as far as it went, if it found anything at all.
    """
    stops = []
    try:
        for search in searches:
            stop = search.run(meter, workers)
            stops.append(stop)
    except KeyboardInterrupt:
        if not any(search.lattice.tested for search in searches):
            raise
        stops.append(StopReason.INTERRUPTED)
    return stops
