"""The search of one lattice for the border between discriminating and cleared sets of features."""

from __future__ import annotations

import math
from dataclasses import dataclass, field, replace
from functools import cached_property, partial
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
from evenhand.methods.subsets.lattice import Lattice, State
from evenhand.methods.subsets.reach import every_input, inputs_of, worth_enumerating
from evenhand.population.samplers import Draws, Uniform, is_rows
from evenhand.runtime import number_text
from evenhand.runtime.errors import UsageError
from evenhand.scores.enumeration import IN_MEMORY, SMALL
from evenhand.scores.question import ENOUGH, Terms
from evenhand.space.feature_sets import unseen
from evenhand.space.variants import MOST_ASSIGNMENTS
from evenhand.statistics.estimate import StopReason

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

    from evenhand.methods.subsets.decision import Judge
    from evenhand.methods.subsets.evaluators.base import Evaluator
    from evenhand.methods.subsets.lattice import TestedSet
    from evenhand.population.samplers import Sampler
    from evenhand.results.evidence import Finding
    from evenhand.runtime.budget import Meter
    from evenhand.runtime.workers import Workers
    from evenhand.scores.test_suite import Tests
    from evenhand.subject.subject import Subject
    from evenhand.subject.view import View

TESTED_AT_ONCE = 8
"""Sets that are tested before it is asked anew which are worth testing."""
PARTS = 2
"""A set may take one of so many parts of what is left, where others are asked on about too."""
BUDGET_SPENT = (StopReason.QUERIES, StopReason.SECONDS)


@dataclass(frozen=True)
class SearchOptions:
    """How a search is to be made, the same for every output of the software."""

    sampler: Sampler
    interval: str | None
    exact: bool | None
    variants: int
    seed: int
    sampling_threshold: int
    margins: tuple[float, ...]
    """How precisely sets are to be known, one round after the other."""
    keep: bool = False
    """Whether the tests behind the scores are kept."""
    known: tuple[Finding, ...] = ()
    """What was found of some sets before, by another verb."""

    @property
    def persistent(self) -> bool:
        """Whether sets are asked about until they are decided, or it is of no use."""
        return len(self.margins) > 1


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
        points, weights = self._whole_population(meter)
        if points is not None:
            return self._enumerated(points, weights, meter)
        self._check_can_be_sampled()
        evaluator = self._evaluator()
        stop = self._sampled(evaluator, meter)
        if self._is_worth_the_rest(stop, meter):
            exact = self._exact_instead(meter)
            if exact is not None:
                return exact
        self._keep_tests(evaluator)
        return stop

    def _keep_tests(self, evaluator: Evaluator) -> None:
        if self.options.keep:
            self.tests = list(self._kept(evaluator))

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

    def _enumerated(self, points: Any, weights: Any, meter: Meter) -> StopReason:
        """Score sets exactly, on every input of the population."""
        from evenhand.methods.subsets.evaluators.exact import ExactSets

        meter.queries += len(points)
        evaluator = ExactSets(
            self.view, self.kind, points, self.lattice.names, self.judge, weights=weights
        )
        # A search that samples has tested sets before; what is known exactly replaces that.
        sampled = self.lattice
        self.lattice = Lattice(sampled.names, sampled.depth)
        border = self._border(evaluator, 0.0)
        cut = self._test_all(evaluator, border, meter)
        self._keep_tests(evaluator)
        return cut or StopReason.ENUMERATED

    def _exact_instead(self, meter: Meter) -> StopReason | None:
        """Score sets exactly, after draws did not decide all.

        Where it ends too early, None is returned and what the draws said is kept.
        """
        sampled = self.lattice
        inputs = int(self._inputs)
        points = every_input(self.subject, sampled.names, inputs)
        weights = self.subject.space.weights(points)
        stop = None
        try:
            stop = self._enumerated(points, weights, meter)
        finally:
            if stop is not StopReason.ENUMERATED:
                self.lattice = sampled
        return stop if stop is StopReason.ENUMERATED else None

    @cached_property
    def _inputs(self) -> int | float:
        """How many inputs there are, infinite where they are not to be asked one and all."""
        is_uniform = isinstance(self.options.sampler, Uniform)
        if self.options.exact is not None or not is_uniform:
            return math.inf
        return inputs_of(self.subject, self.lattice.names)

    def _is_within_reach(self, meter: Meter) -> bool:
        """Return whether every input there is may be asked once draws have not decided."""
        return self._inputs <= min(self._most_inputs, meter.left)

    @property
    def _most_inputs(self) -> int:
        """The most inputs that are ever enumerated unless the user says so."""
        # Distances between all twins take too long where there are many of them.
        graded = self.kind == "causal" and self.view.graded
        return SMALL if graded else IN_MEMORY

    def _is_worth_the_rest(self, stop: StopReason, meter: Meter) -> bool:
        """Return whether to ask every input, after the draws ended for a reason."""
        is_open = stop not in (StopReason.DECIDED, *BUDGET_SPENT)
        if not is_open or not self._is_within_reach(meter):
            return False
        if not self.subject.adapter.expensive:
            return True
        # Expensive software is asked the rest only if the draws took as many as there are.
        return stop is StopReason.TOO_CLOSE

    def _sampled(self, evaluator: Evaluator, meter: Meter) -> StopReason:
        """Test sets on draws, ever more precisely, and return why that ended."""
        evaluator.keep = self.options.keep
        if not self.options.keep:
            add_known(self.options.known, self.lattice, self.view, self.kind, self.judge)
        first, *finer = self.options.margins
        border = self._border(evaluator, first)
        most = math.inf
        # What is left of a budget then must suffice for all inputs.
        if self._is_within_reach(meter) and 2 * self._inputs <= meter.left:
            most = meter.queries + self._inputs
        bounded = meter.until(most)
        cut = self._test_all(evaluator, border, bounded)
        meter.queries = bounded.queries
        if cut is None:
            enough = meter.queries + ENOUGH
            bounded = meter.until(min(most, enough))
            cut = self._test_finer(finer, evaluator, border, bounded)
            meter.queries = bounded.queries
        is_own_bound = bounded.budget != meter.budget
        if cut is StopReason.QUERIES and is_own_bound:
            return StopReason.TOO_CLOSE
        return cut or self._why_it_ended()

    def _test_finer(
        self, margins: Sequence[float], evaluator: Evaluator, border: Border, meter: Meter
    ) -> StopReason | None:
        """Ask on about undecided sets, ever more precisely; return why that ended too early."""
        given_up: set[int] = set()
        try:
            for margin in margins:
                if not self.lattice.reopen(given_up):
                    break
                evaluator.judge = replace(self.judge, margin=margin)
                border.margin = margin
                cut = self._test_all(evaluator, border, meter, given_up)
                if cut is not None:
                    return cut
        finally:
            # An interrupt, too, leaves what was known before.
            self.lattice.restore()
        return StopReason.QUERIES if given_up else None

    def _why_it_ended(self) -> StopReason:
        """Return why all sets were tested and nothing more is asked."""
        if self.lattice.count(State.NOT_SHOWN):
            return StopReason.EXHAUSTED
        if not self.lattice.count(State.UNDECIDED):
            return StopReason.DECIDED
        if self.options.persistent:
            return StopReason.TOO_CLOSE
        return StopReason.MARGIN

    def _evaluator(self) -> Evaluator:
        """Return what scores sets on draws; only what is used gets imported."""
        names = self.lattice.names
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
        names = self.lattice.names
        if self.options.exact:
            points = every_input(self.subject, names, MOST_ASSIGNMENTS)
            if len(points) > meter.left:
                inputs = number_text.count(len(points))
                left = number_text.count(int(meter.left))
                raise UsageError(messages.TOO_MANY_INPUTS.format(inputs=inputs, left=left))
            return points
        if self._inputs == math.inf:
            return None
        most = worth_enumerating(self.subject, names, self.judge)
        if self._inputs > min(most, self._most_inputs, meter.left):
            return None
        return every_input(self.subject, names, most)

    def _border(self, evaluator: Evaluator, margin: float) -> Border:
        return Border(
            self.lattice,
            limit=self.judge.limit,
            margin=margin,
            varieties=evaluator.varieties,
            most=evaluator.most,
        )

    def _test_all(
        self,
        evaluator: Evaluator,
        border: Border,
        meter: Meter,
        given_up: set[int] | None = None,
    ) -> StopReason | None:
        """Test sets on the predicted border until all are settled; return why it ended before.

        Sets that were tested before may each take a part of what is left, and are else `given_up`.
        """
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
                if meter.late:
                    return StopReason.SECONDS
                if given_up is None:
                    tested = evaluator.test(mask, meter)
                else:
                    tested = self._test_on(evaluator, mask, meter, given_up)
                if tested is None:
                    return StopReason.SECONDS if meter.late else StopReason.QUERIES
                self.lattice.add(mask, tested)
                if not math.isnan(tested.estimate.value):
                    border.learn(mask, tested.estimate.value)
                self.report(meter)
        return None

    def _test_on(
        self, evaluator: Evaluator, mask: int, meter: Meter, given_up: set[int]
    ) -> TestedSet | None:
        """Ask on about a set, within a part of what is left; None where the time is up.

        A set that takes more stays undecided.
        """
        open_sets = int(self.lattice.open.sum())
        parts = min(PARTS, open_sets)
        most = meter.left // parts
        part = meter.until(meter.queries + most)
        tested = evaluator.test(mask, part)
        meter.queries = part.queries
        if tested is not None or meter.late:
            return tested
        given_up.add(mask)
        before = self.lattice.tested[mask]
        now = evaluator.so_far(mask)
        if now is None:
            return before
        return replace(now, shown=before.shown)

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
