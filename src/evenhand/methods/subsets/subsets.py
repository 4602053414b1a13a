"""subsets: all minimal sets of features that the software discriminates against (Themis Def. 3.9,
Algorithm 3).
"""

from __future__ import annotations

import math
from dataclasses import dataclass, replace
from functools import partial
from typing import TYPE_CHECKING, Any

from evenhand.methods.subsets import SUBSETS
from evenhand.methods.subsets.decision import Judge, most_at_fault
from evenhand.methods.subsets.findings import findings_of, notes_of, table_of
from evenhand.methods.subsets.lattice import Border, Lattice, State
from evenhand.population.samplers import Draws, Uniform, checked_sampler, is_rows
from evenhand.results.result import Result
from evenhand.runtime import number_text
from evenhand.runtime.budget import Meter, Spent, checked_budget, progress_bar
from evenhand.runtime.errors import UsageError, nearest
from evenhand.runtime.workers import Workers
from evenhand.scores.enumeration import SMALL, SMALL_EXPENSIVE, part
from evenhand.scores.enumeration import whole as everything
from evenhand.scores.kinds import KINDS
from evenhand.scores.question import Terms
from evenhand.scores.sampling_loop import check_deterministic
from evenhand.space.feature_sets import unseen_notes
from evenhand.space.space import MOST_ASSIGNMENTS
from evenhand.statistics.estimate import StopReason, check_limit
from evenhand.statistics.intervals import check_level
from evenhand.statistics.stopping import Plan
from evenhand.subject.parallel_view import SharedView
from evenhand.subject.subject import as_subject
from evenhand.subject.view import views_for

if TYPE_CHECKING:
    from collections.abc import Sequence

    from evenhand.methods.subsets.evaluator import Evaluator
    from evenhand.population.samplers import Sampler
    from evenhand.results.evidence import Finding
    from evenhand.runtime.budget import Budget
    from evenhand.space.space import Space
    from evenhand.subject.subject import Subject
    from evenhand.subject.view import View

TESTED = 8
"""Sets that are tested before it is asked anew which are worth testing."""
NOTE = (
    "as in the paper, sets are put on a side of the limit by their value alone; the level does not"
    " hold"
)
SAMPLE = "subsets scores a population, not a sample of one; leave out sample_of"
VARIANTS = 4096
"""The most variants of a draw that are asked by default."""


@SUBSETS.options.checked
def subsets(
    subject: Any,
    space: Space | None = None,
    *,
    limit: float = 0.75,
    kind: str = "causal",
    among: Sequence[str] | None = None,
    margin: float = 0.05,
    level: float = 0.95,
    interval: str | None = None,
    sampler: Sampler | None = None,
    depth: int | None = None,
    variants: int = VARIANTS,
    exact: bool | None = None,
    budget: Budget | None = None,
    seed: int = 0,
    n_jobs: int = 1,
    progress: bool | None = None,
) -> Result:
    """Find all minimal sets of features whose score is at or over the limit.

    The findings are the border: the minimal discriminating sets (fail), the largest cleared ones
    (pass), and those that stay undecided or are only not shown to discriminate.
    `details["lattice"]` holds every set with its reason.

    Parameters
    ----------
    subject, space
        A Subject, or a fitted model or function with its space.
    limit
        An engineering threshold for the score.
    kind
        ``"causal"`` or ``"group"``, as for `measure`.
    among
        The features to form sets of; by default all that the software takes.
    margin
        A set whose score is known to within the margin, with the limit still inside, is left
        undecided.
    level
        The probability that every set is on the side of the limit that it is said to be on: it
        holds for the whole search.
    interval
        ``"wald"`` follows the paper: every set by itself, from small to large, until Wald's formula
        is within the margin, leaving out only supersets of discriminating sets. Its level does not
        hold.
    depth
        The largest size of a set.
    variants
        The most variants of an input that are asked. A set that has more is searched for flips
        only: if too few are found, it is "not shown to discriminate", never cleared.

    Examples
    --------
    >>> from evenhand.space.feature import category
    >>> from evenhand.space.space import Space
    >>> space = Space([category(name, [0, 1]) for name in ("sex", "race", "age")])
    >>> both = subsets(lambda people: people["sex"] != people["race"], space, kind="group", limit=0.75)
    >>> [finding.about for finding in both.findings if finding.verdict == "fail"]
    [('sex', 'race')]
    """
    if kind not in KINDS:
        raise UsageError(f"kind = {kind!r} is not available; {nearest(kind, KINDS)}")
    check_level(level)
    if margin is None:
        raise UsageError(
            "margin is None; a search needs one to leave sets undecided, for example 0.05"
        )
    Plan(
        level, margin, check_limit(limit), interval
    )  # refuses what is wrong before anything is asked
    if interval not in (None, "anytime", "wald"):
        raise UsageError(
            f"interval = {interval!r} does not hold for a whole search; leave it out, or take"
            " 'wald'"
        )
    if isinstance(variants, bool) or not isinstance(variants, int) or variants < 2:
        raise UsageError(f"variants = {variants!r} must be a whole number of 2 or more")
    tested = as_subject(subject, space)
    names = _among(tested.space, among, kind)
    chosen, allowed = checked_sampler(sampler), checked_budget(budget)
    views = views_for(tested, kind)
    judge = Judge(limit, margin, level, 1, 1, chosen.population(tested.space))
    before = tested.executed
    lattices = [Lattice(names, depth) for _ in views]
    whole = replace(
        judge,
        sets=lattices[0].total * len(views),
        at_fault=most_at_fault(len(names), depth) * len(views),
    )
    with Workers(n_jobs) as workers, progress_bar(show=progress) as hook:
        meter = Meter(allowed, hook)
        notes = check_deterministic(Draws(chosen, tested.space, seed, "subsets"), tested, meter)
        searches = [
            Search(SharedView.of(view, workers), kind, lattice, whole, seed)
            for view, lattice in zip(views, lattices, strict=True)
        ]
        stops = []
        try:
            for search in searches:
                if interval == "wald":
                    terms = Terms(chosen, level, margin, None, "wald", seed=seed)
                    stops.append(search.paper(terms, meter, workers))
                else:
                    stops.append(
                        search.border(search.evaluator(chosen, exact, variants, meter), meter)
                    )
        except KeyboardInterrupt:
            if not any(lattice.tested for lattice in lattices):
                raise
            stops.append(StopReason.INTERRUPTED)
    tables = {search.view.title: search.table() for search in searches}
    notes += [note for search in searches for note in search.notes()] + (
        [NOTE] if interval == "wald" else []
    )
    return Result(
        "subsets",
        [finding for search in searches for finding in search.findings()],
        seed,
        Spent(meter.queries, tested.executed - before, meter.seconds),
        _overall(stops),
        tested.space.to_dict(),
        notes + (unseen_notes(tested.space, [names]) if kind == "causal" else []),
        details={"lattice": {"outputs": tables} if len(views) > 1 else tables[views[0].title]},
    )


def _among(space: Space, among: Sequence[str] | None, kind: str) -> tuple[str, ...]:
    given = (
        [feature.name for feature in space.features if feature.passed] if among is None else among
    )
    names = (given,) if isinstance(given, str) else tuple(given)
    if not names:
        raise UsageError(f"among is empty; name at least one feature of {', '.join(space.names)}")
    for name in names:
        feature = space.feature(name)
        if names.count(name) > 1:
            raise UsageError(f"among names {name!r} twice; name each feature once")
        # People outside all bins would count for small sets and not for larger ones.
        bins = (
            feature.bins
            if kind == "group" and isinstance(feature.bins, tuple)
            else (feature.low, feature.high)
        )
        if bins[0] > feature.low or bins[-1] < feature.high:
            raise UsageError(
                f"the bins of {name!r} do not cover {feature.domain}; let them reach both ends"
            )
    return names


def _overall(stops: Sequence[StopReason]) -> StopReason:
    return next(
        (stop for stop in stops if stop not in (StopReason.DECIDED, StopReason.ENUMERATED)),
        stops[0],
    )


@dataclass
class Search:
    """The search for the border in one lattice."""

    view: View
    kind: str
    lattice: Lattice
    judge: Judge
    seed: int

    @property
    def subject(self) -> Subject:
        """The software under test."""
        return self.view.subject

    def paper(self, terms: Terms, meter: Meter, workers: Workers) -> StopReason:
        """Follow the paper's own search."""
        if is_rows(terms.sampler) and terms.sampler.sample_of is not None:
            raise UsageError(SAMPLE)
        from evenhand.methods.subsets import themis  # imported where it is used

        report = partial(self.report, meter)
        return themis.search(
            self.view, self.kind, self.lattice, self.judge, terms, meter, workers, report
        )

    def evaluator(
        self, sampler: Sampler, exact: bool | None, variants: int, meter: Meter  # noqa: FBT001
    ) -> Evaluator:
        """Choose how sets are scored, exactly where the population can be asked as a whole, and
        import only that.
        """
        names, space = self.lattice.names, self.subject.space
        points, weights = self._population(sampler, exact, meter)
        if points is not None:
            from evenhand.methods.subsets.exact_evaluator import ExactSets

            meter.queries += len(points)
            return ExactSets(self.view, self.kind, points, names, self.judge, weights=weights)
        if not 0 < self.judge.limit < 1:
            limit = number_text.limit(self.judge.limit)
            raise UsageError(
                f"limit is {limit}, which only enumeration can decide; choose one between 0 and 1, "
                "or exact=True where there are few inputs"
            )
        for name in names:
            if math.isinf(space.feature(name).variety):
                space.assignments((name,))  # refuses with what to do
        draws = Draws(sampler, space, self.seed, "subsets", block=1024)
        if self.kind == "causal" and self.view.graded:
            from evenhand.methods.subsets.distance_evaluator import GradedSets

            return GradedSets(self.view, draws, names, self.judge, most=variants)
        if self.kind == "causal":
            from evenhand.methods.subsets.causal_evaluator import CausalSets

            return CausalSets(self.view, draws, names, self.judge, most=variants)
        from evenhand.methods.subsets.group_evaluator import GroupSets

        return GroupSets(self.view, sampler, draws, names, self.judge, most=variants)

    def _population(self, sampler: Sampler, exact: bool | None, meter: Meter) -> tuple[Any, Any]:  # noqa: FBT001
        """Return every input of the population with its weight, where all can be asked and hold
        each other's twins.
        """
        space, names = self.subject.space, self.lattice.names
        if is_rows(sampler):
            if sampler.sample_of is not None:
                raise UsageError(SAMPLE)
            if self.kind == "group" or sampler.twins == "rows":
                points = sampler.points(space)
                if len(points) > meter.left:
                    raise UsageError(
                        f"{len(points):,} rows are to be asked, but {int(meter.left):,} queries are"
                        " left; raise queries"
                    )
                return points, sampler.weights
            return None, None
        if not isinstance(sampler, Uniform):
            if exact:
                raise UsageError(
                    f"exact: {sampler.population(space)} is sampled, not enumerated; leave out"
                    " exact"
                )
            return None, None
        if exact is False:
            return None, None
        if exact:
            every = everything(space, names, MOST_ASSIGNMENTS)
            if len(every) > meter.left:
                raise UsageError(
                    f"exact: {len(every):,} inputs are to be asked, but {int(meter.left):,} queries"
                    " are left"
                )
            return every, None
        small = SMALL_EXPENSIVE if self.subject.adapter.expensive else SMALL
        return part(space, names, int(min(small, meter.left))), None

    def border(self, evaluator: Evaluator, meter: Meter) -> StopReason:
        """Test sets on the predicted border until every set is settled."""
        exact = evaluator.exact
        margin = 0.0 if exact else self.judge.margin
        border = Border(self.lattice, self.judge.limit, margin, evaluator.varieties, evaluator.most)
        while batch := border.batch():
            if guesses := evaluator.glance(batch, meter):
                border.guess(guesses)
                continue
            for mask in batch[:TESTED]:
                if self.lattice.states[mask] != State.OPEN:
                    continue
                found = None if meter.late else evaluator.test(mask, meter)
                if found is None:
                    return StopReason.SECONDS if meter.late else StopReason.QUERIES
                self.lattice.add(mask, found)
                if not math.isnan(found.estimate.value):
                    border.learn(mask, found.estimate.value)
                self.report(meter)
        if self.lattice.count(State.NOT_SHOWN):
            return StopReason.EXHAUSTED
        if self.lattice.count(State.UNDECIDED):
            return StopReason.MARGIN
        return StopReason.ENUMERATED if exact else StopReason.DECIDED

    def report(self, meter: Meter) -> None:
        """Tell how far the search is."""
        lattice = self.lattice
        left, cleared = int(lattice.open.sum()), lattice.count(State.BELOW, State.IMPLIED_BELOW)
        minimal = len(lattice.minimal())
        note = (
            f"{minimal} discriminating, {cleared:,} cleared, {left:,} open of {lattice.total:,}"
            " sets"
        )
        meter.report(f"subsets {self.kind}", 1 - left / lattice.total, note)

    def findings(self) -> list[Finding]:
        """Return the border."""
        return findings_of(self.lattice, self.view, self.kind, self.judge)

    def table(self) -> dict[str, Any]:
        """Return the lattice as JSON holds it."""
        return table_of(self.lattice, self.kind, self.judge)

    def notes(self) -> list[str]:
        """Say how much was tested and how much followed."""
        return notes_of(self.lattice, self.view)
