"""search: show concrete people whom the software treats differently.

The idea, and three of the strategies, are those of Aequitas (Udeshi et al. 2018).
"""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING, Any

from evenhand.methods.search import SEARCH, messages
from evenhand.methods.search.explain.diversity import check_prefer
from evenhand.methods.search.hits_table import check_columns
from evenhand.methods.search.run import SearchReport, SearchTerms, search_features
from evenhand.methods.search.strategies import as_strategy
from evenhand.population.samplers import Draws, Uniform, is_rows
from evenhand.results.evidence import Finding
from evenhand.results.result import Result
from evenhand.runtime.budget import Budget, Meter, Spent, checked_budget
from evenhand.runtime.errors import UsageError, clip
from evenhand.runtime.progress import progress_bar
from evenhand.runtime.workers import Workers
from evenhand.scores.sampling_loop import prepared
from evenhand.space.feature_sets import feature_sets, unseen_notes
from evenhand.statistics.estimate import StopReason, Witnesses
from evenhand.subject.outcome_scale import details_of
from evenhand.subject.subject import as_subject
from evenhand.subject.view import views_of

if TYPE_CHECKING:
    from collections.abc import Sequence

    from evenhand.methods.search.strategies import Strategy
    from evenhand.space.feature import Points
    from evenhand.space.feature_sets import Over
    from evenhand.space.space import Space
    from evenhand.subject.subject import Subject
    from evenhand.subject.view import View

QUERIES = 100_000
"""What a search without a budget may ask."""
EXPENSIVE_QUERIES = 5_000
"""The same where each input costs a process or a request."""
LIMITING = (
    StopReason.INTERRUPTED,
    StopReason.SECONDS,
    StopReason.QUERIES,
    StopReason.FINDINGS,
    StopReason.EXHAUSTED,
    StopReason.ENUMERATED,
)
"""Why a search may end, from what leaves most open to what leaves nothing open."""


@SEARCH.options.checked
def search(
    subject: Any,
    space: Space | None = None,
    *,
    over: Over | None = None,
    strategy: str | Strategy = "adaptive",
    budget: Budget | None = None,
    start: Any = None,
    prefer: str = "many",
    limit: int | None = None,
    explain: bool = True,
    seed: int = 0,
    n_jobs: int = 1,
    progress: bool | None = None,
) -> Result:
    """Find discriminatory inputs: people whose outcome changes with the named features alone.

    This is Definition 1 of Aequitas. What a search finds is not a rate: it goes where it finds.
    `prevalence` estimates the share of all inputs.

    Parameters
    ----------
    subject, space
        A Subject, or a fitted model or function with its space.
    over
        ``"sex"`` or ``["sex", "race"]`` is one set of features taken together, ``[("sex",),
        ("race",)]`` two sets, two findings. By default each protected feature by itself.
    strategy
        ``"adaptive"``, ``"surrogate"`` where an answer is expensive, or one of the paper:
        ``"random"``, ``"semi-directed"``, ``"fully-directed"``, with other parameters by
        `aequitas`. Or an object of a class of your own: see `Strategy`.
    budget
        When to end: inputs asked, seconds, findings. By default 100,000 inputs, or 5,000 where each
        costs a process or a request. A small share of it goes to simplifying and explaining what
        was found.
    start
        Real rows to begin at, any dataframe or `rows`; the result then also holds how far the
        inputs found are from them.
    prefer
        ``"many"``, ``"diverse"`` or ``"realistic"`` inputs, which needs `start`.
    limit
        The most discriminatory inputs that are tolerated, usually 0. Not to find more is undecided,
        unless every input was tried.
    explain
        Ask where discriminatory inputs lie, and which features drive them.
    seed
        The same seed finds the same inputs.
    n_jobs
        How many processes ask the software; it does not change the result.
    progress
        Whether to show progress; by default after two seconds, in a terminal or a notebook.

    Returns
    -------
    Result
        One finding for each set of features and output, whose estimate counts the inputs found;
        ``to_frame()`` holds every one of them.

    Raises
    ------
    UsageError
        If a name is unknown, an argument does not fit, or `prefer` is ``"realistic"`` without
        `start`.
    SpaceError
        If a feature can take only one value, so that there is nothing to compare.
    NotDeterministic
        If the software answers the same input differently.

    See Also
    --------
    evenhand.prevalence : The share of all inputs that are discriminatory.
    evenhand.Strategy : To write a strategy of your own.

    Notes
    -----
    See docs/how-to/search.md

    Examples
    --------
    >>> from evenhand.space.feature import category, integer
    >>> from evenhand.space.space import Space
    >>> space = Space([category("sex", ["F", "M"]), integer("age", 18, 90)], protected=["sex"])
    >>> result = search(lambda frame: (frame["age"] >= 65) & (frame["sex"] == "M"), space)
    >>> result.worst.estimate.value, result.to_frame().columns.tolist()
    (26, ['sex', 'age', 'outcome', 'twin.sex', 'twin.outcome'])
    """
    tested = as_subject(subject, space)
    sets = feature_sets(tested.space, over)
    chosen = as_strategy(strategy)
    check_columns(tested.space, sets, tested.outputs or ("",))
    start_rows = _rows(start, tested.space)
    check_prefer(prefer, start_rows)
    terms = SearchTerms(
        strategy=chosen,
        prefer=prefer,
        rows=start_rows,
        seed=seed,
        limit=_checked_limit(limit),
        explain=explain,
    )
    allowed = _bounded(checked_budget(budget), expensive=tested.adapter.expensive)
    executed_before = tested.executed
    tested.begin()
    with Workers(n_jobs) as workers, progress_bar(show=progress) as hook:
        meter = Meter(allowed, hook)
        draws = Draws(Uniform(), tested.space, seed, "search")
        notes = prepared(draws, tested, meter)
        reports = _reports(tested, sets, terms, meter, workers)
    entries = []
    for report in reports:
        notes += report.notes
        # A set that the run did not come to has no entry.
        if report.entry:
            entries.append(report.entry)
    only_answers = {view.name: view.only_answer(view.answers) for view in views_of(tested)}
    findings = []
    for report in reports:
        answer = only_answers[report.finding.output]
        findings.append(replace(report.finding, only_answer=answer))
    stops = [report.stop for report in reports]
    return Result(
        "search",
        findings,
        seed,
        Spent(meter.queries, tested.executed - executed_before, meter.seconds),
        next(reason for reason in LIMITING if reason in stops),
        tested.space.to_dict(),
        notes + unseen_notes(tested.space, sets),
        details={"search": entries, **details_of(tested)},
        domain=tested.space,
    )


def _reports(
    tested: Subject,
    sets: Sequence[tuple[str, ...]],
    terms: SearchTerms,
    meter: Meter,
    workers: Workers,
) -> list[SearchReport]:
    """Search for each set of features and each output, in even shares of what is left."""
    searches: list[tuple[tuple[str, ...], View]] = []
    for names in sets:
        searches.extend((names, view) for view in views_of(tested))
    reports: list[SearchReport] = []
    for number, (names, view) in enumerate(searches):
        if reports and reports[-1].stop is StopReason.INTERRUPTED:
            reports.append(_untried(names, view.name, terms))
            continue
        part = meter.share(len(searches) - number)
        reports.append(search_features(view, names, terms, part, workers))
        meter.queries += part.queries
    return reports


def _rows(start: Any, space: Space) -> Points | None:
    """Return real rows to start from as points."""
    if start is None:
        return None
    if not is_rows(start):
        from evenhand.population.rows import rows  # imported where it is used

        start = rows(start)
    points: Points = start.complete(space).points(space)
    return points


def _checked_limit(limit: int | None) -> int | None:
    """Return the limit, or raise where it is not a number of inputs."""
    if limit is None:
        return None
    is_number = isinstance(limit, int | float) and not isinstance(limit, bool)
    if not is_number or limit < 0 or not float(limit).is_integer():
        raise UsageError(messages.NOT_A_LIMIT.format(limit=clip(repr(limit))))
    return int(limit)


def _bounded(budget: Budget, *, expensive: bool) -> Budget:
    """Return a budget that ends: not to find anything is no reason to look forever."""
    if budget.queries is not None or budget.seconds is not None:
        return budget
    queries = EXPENSIVE_QUERIES if expensive else QUERIES
    return Budget(queries, None, budget.findings)


def _untried(names: tuple[str, ...], output: str, terms: SearchTerms) -> SearchReport:
    """Report a set that an interrupted run did not come to, lest it be taken for a pass."""
    features = " and ".join(names)
    if output:
        claim = messages.NOT_SEARCHED_FOR_OUTPUT.format(features=features, output=output)
    else:
        claim = messages.NOT_SEARCHED.format(features=features)
    finding = Finding(
        claim,
        names,
        Witnesses.of(0, 0, terms.strategy.name),
        terms.limit,
        output=output,
        score="witnesses",
    )
    return SearchReport(finding, entry={}, stop=StopReason.INTERRUPTED, notes=[])
