"""subsets: all minimal sets of features that the software discriminates against.

It solves the discrimination checking problem (Themis, Galhotra et al. 2017, Definition 3.9), as
Algorithm 3 does in the paper.
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import replace
from typing import TYPE_CHECKING, Any

from evenhand.methods.subsets import SUBSETS, messages
from evenhand.methods.subsets.decision import Judge, most_at_fault
from evenhand.methods.subsets.lattice import Lattice
from evenhand.methods.subsets.reach import margins_of
from evenhand.methods.subsets.search import Search, SearchOptions, search_all
from evenhand.population.samplers import Draws, checked_sampler
from evenhand.results.evidence import Finding
from evenhand.results.result import Result
from evenhand.runtime.budget import Meter, Spent, checked_budget
from evenhand.runtime.errors import UsageError, clip, nearest
from evenhand.runtime.progress import progress_bar
from evenhand.scores.case_marks import marked
from evenhand.scores.kinds import KINDS
from evenhand.scores.question import MARGIN
from evenhand.scores.sampling_loop import prepared
from evenhand.space.feature_sets import unseen_notes
from evenhand.statistics.estimate import StopReason, check_limit
from evenhand.statistics.intervals import check_level, checked_threshold
from evenhand.statistics.sequential.stopping import Plan
from evenhand.subject.outcome_scale import details_of, notes_of
from evenhand.subject.shared_asking import sharing
from evenhand.subject.subject import as_subject
from evenhand.subject.view import outcome_labels, views_for

if TYPE_CHECKING:
    from collections.abc import Sequence

    from evenhand.methods.subsets.evaluators.arrays import Names
    from evenhand.population.samplers import Sampler
    from evenhand.runtime.budget import Budget
    from evenhand.scores.test_suite import Suite, Tests
    from evenhand.space.feature import Feature
    from evenhand.space.space import Space
    from evenhand.subject.subject import Subject
    from evenhand.subject.view import View

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
    margin: float | None = None,
    level: float = 0.95,
    interval: str | None = None,
    sampling_threshold: int | None = None,
    sampler: Sampler | None = None,
    depth: int | None = None,
    variants: int = VARIANTS,
    exact: bool | None = None,
    known: Sequence[Finding] = (),
    keep_tests: bool = False,
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
        undecided. By default, software that runs in this process is asked until every set is
        decided, or to a precision of a 50th of the limit or about a million inputs; where an answer
        costs a process or a request, the margin is a fifth of the limit, at most 0.05.
    level
        The probability that every set is on the side of the limit that it is said to be on: it
        holds for the whole search.
    interval
        ``"wald"`` follows the paper: every set by itself, from small to large, until Wald's formula
        is within the margin, leaving out only supersets of discriminating sets. Its level does not
        hold.
    sampling_threshold
        For ``interval="wald"``, as for `measure`.
    depth
        The largest size of a set.
    variants
        The most variants of an input that are asked. A set that has more is searched for flips
        only: if too few are found, it is "not shown to discriminate", never cleared.
    exact
        Ask every input instead of sampling. By default that is done where there are few, and where
        draws have taken as many inputs as there are or leave a set undecided; False never does.
    keep_tests
        Keep the tests of every set that is a finding, so that ``result.to_suite(path)`` can write
        them for `replay`. A draw of a set with many variants is kept with a twin that flips it.
    known
        Findings of `measure` on the same software and population: sets that they put on a side of
        the limit are not asked again. They hold at their own level.
    sampler
        The population that the scores describe. By default the rows that the space remembers, and
        all inputs where it has none; `uniform`, `rows` and `profile` (Def. 3.8) name another.
    budget
        What the whole search may spend; sets that it does not reach are reported as not tested.
    seed, n_jobs, progress
        The seed of all draws, the processes that ask the software, and whether to show progress.

    Returns
    -------
    Result
        The border as findings, and the lattice in its details.

    Raises
    ------
    UsageError
        If a setting is not valid, if `among` is empty or names a feature twice, or if the
        population cannot be scored as asked within the budget.
    SubjectError
        If the software under test fails or does not answer alike to the same input.

    See Also
    --------
    measure : The score of sets that are named. See docs/how-to/subsets.md for how sets are found.

    Examples
    --------
    >>> from evenhand.space.feature import category
    >>> from evenhand.space.space import Space
    >>> space = Space([category(name, [0, 1]) for name in ("sex", "race", "age")])
    >>> def differ(people):
    ...     return people["sex"] != people["race"]
    >>> both = subsets(differ, space, kind="group", limit=0.75)
    >>> [finding.about for finding in both.findings if finding.verdict == "fail"]
    [('sex', 'race')]
    """
    _check_settings(limit, kind, margin, level, interval, variants)
    threshold = checked_threshold(sampling_threshold, interval)
    tested = as_subject(subject, space)
    names = _among(tested.space, among, kind)
    population = checked_sampler(sampler, tested.space)
    allowed = checked_budget(budget)
    margins = _margins(limit, margin, interval, tested)
    views = views_for(tested, kind)
    before, alone = tested.executed, tested.asking.one_process(n_jobs)
    tested.begin()
    lattices = [Lattice(names, depth) for _ in views]
    described = population.population(tested.space)
    judge = _judge(limit, margins, level, lattices, described)
    given = (population, interval, exact, variants, seed, threshold, margins)
    options = SearchOptions(*given, keep=keep_tests, known=_checked_known(known))
    with sharing(tested, n_jobs) as workers, progress_bar(show=progress) as hook:
        meter = Meter(allowed, hook)
        notes = prepared(Draws(population, tested.space, seed, "subsets"), tested, meter)
        searches = []
        for view, lattice in zip(views, lattices, strict=True):
            counted = _counted(view, kind)
            searches.append(Search(counted, kind, lattice, judge, options))
        stops = search_all(searches, meter, workers)
    notes += _notes(searches, interval) + _causal_notes(tested, names, kind)
    return Result(
        "subsets",
        marked(_findings(searches, kind), tested.space),
        seed,
        Spent(meter.queries, tested.executed - before, meter.seconds, alone),
        _overall(stops),
        tested.space.to_dict(),
        notes,
        outcome_labels=outcome_labels(tested),
        details={"lattice": _tables(searches), **details_of(tested)},
        tests=_suite(tested.space, searches) if keep_tests else None,
    )


def _causal_notes(tested: Subject, names: Names, kind: str) -> list[str]:
    """Return of causal scores when outcomes differ, and which features are not seen."""
    if kind != "causal":
        return []
    return notes_of(tested) + unseen_notes(tested.space, [names])


def _judge(
    limit: float,
    margins: Sequence[float],
    level: float,
    lattices: Sequence[Lattice],
    population: str,
) -> Judge:
    """Return what decides sets; the level holds for all outputs, so all of their sets share it."""
    lattice = lattices[0]
    outputs = len(lattices)
    at_fault = most_at_fault(len(lattice.names), lattice.deepest)
    return Judge(
        limit,
        margins[0],
        level,
        sets=lattice.total * outputs,
        at_fault=at_fault * outputs,
        population=population,
        finest=margins[-1],
    )


def _checked_known(known: Any) -> tuple[Finding, ...]:
    """Return findings as a tuple, or raise a UsageError for what is none."""
    listed = tuple(known) if isinstance(known, Iterable) else (known,)
    for finding in listed:
        if not isinstance(finding, Finding):
            raise UsageError(messages.KNOWN_IS_NO_FINDING.format(known=clip(repr(finding))))
    return listed


def _margins(
    limit: float, margin: float | None, interval: str | None, subject: Subject
) -> tuple[float, ...]:
    """Return how precisely sets are to be known, one round of the search after the other."""
    if interval == "wald" and margin is None:
        margin = MARGIN
    return margins_of(limit, margin, expensive=subject.adapter.expensive)


def _counted(view: View, kind: str) -> View:
    """Return a view as it is; group scores of numbers, whose means are compared, are refused."""
    if kind == "group" and view.meaning.measured:
        raise UsageError(messages.GROUPS_OF_NUMBERS)
    return view


def _check_settings(
    limit: float,
    kind: str,
    margin: float | None,
    level: float,
    interval: str | None,
    variants: int,
) -> None:
    """Refuse what is wrong before anything is asked."""
    if kind not in KINDS:
        choices = nearest(kind, KINDS)
        raise UsageError(messages.UNKNOWN_KIND.format(kind=repr(kind), choices=choices))
    check_level(level)
    # The plan raises where these do not fit together.
    Plan(level, margin, check_limit(limit), interval)
    if interval not in (None, "anytime", "wald"):
        raise UsageError(messages.INTERVAL_NOT_FOR_A_SEARCH.format(interval=repr(interval)))
    is_whole = isinstance(variants, int) and not isinstance(variants, bool)
    if not is_whole or variants < 2:
        raise UsageError(messages.TOO_FEW_VARIANTS.format(variants=repr(variants)))


def _among(space: Space, among: Sequence[str] | None, kind: str) -> Names:
    """Return the features to form sets of."""
    if among is None:
        names = tuple(feature.name for feature in space.features if feature.passed)
    elif isinstance(among, str):
        names = (among,)
    elif not isinstance(among, Iterable):
        raise UsageError(messages.AMONG_IS_NOT_A_LIST.format(among=clip(repr(among))))
    else:
        names = tuple(among)
    if not names:
        raise UsageError(messages.NO_FEATURES.format(features=", ".join(space.names)))
    for name in names:
        feature = space.feature(name)
        if names.count(name) > 1:
            raise UsageError(messages.FEATURE_TWICE.format(feature=repr(name)))
        if kind == "group":
            _check_bins(feature)
    return names


def _check_bins(feature: Feature) -> None:
    """Refuse bins with people outside, who would count for small sets and not for larger ones.

    The group score could then fall when features are added, against Theorem 4.1.
    """
    if not isinstance(feature.bins, tuple):
        return
    if feature.bins[0] > feature.low or feature.bins[-1] < feature.high:
        raise UsageError(
            messages.BINS_LEAVE_GAPS.format(
                feature=repr(feature.name), domain=feature.domain
            )
        )


def _findings(searches: Sequence[Search], kind: str) -> list[Finding]:
    findings: list[Finding] = []
    for search in searches:
        answers = search.view.answers
        # The rates of all groups are compared, so that one of them rests on the favourable outcome.
        favoured = search.view.any_favoured(answers) if kind == "group" else None
        only_answer = search.view.only_answer(answers, favoured=favoured)
        fields = search.view.answer_fields(only_answer, favoured=favoured)
        for finding in search.findings():
            findings.append(replace(finding, **fields))
    return findings


def _suite(space: Space, searches: Sequence[Search]) -> Suite:
    from evenhand.scores.test_suite import Suite  # imported where it is used

    tests: list[Tests] = []
    for search in searches:
        tests += search.tests
    return Suite(space, tuple(tests))


def _notes(searches: Sequence[Search], interval: str | None) -> list[str]:
    notes: list[str] = []
    for search in searches:
        notes += search.notes()
    if interval == "wald":
        notes.append(messages.WALD)
    return notes


def _tables(searches: Sequence[Search]) -> dict[str, Any]:
    """Return the lattice as JSON holds it, or those of all outputs where there are several."""
    tables = {search.view.title: search.table() for search in searches}
    if len(searches) > 1:
        return {"outputs": tables}
    return tables[searches[0].view.title]


def _overall(stops: Sequence[StopReason]) -> StopReason:
    """Return the first reason that left something open, or else how the first search ended.

    An interrupt is the user's own reason, and comes before all others.
    """
    if StopReason.INTERRUPTED in stops:
        return StopReason.INTERRUPTED
    for stop in stops:
        if stop not in (StopReason.DECIDED, StopReason.ENUMERATED):
            return stop
    return stops[0]
