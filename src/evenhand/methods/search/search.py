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
from evenhand.population.realism import Realism, realism_of
from evenhand.population.remembered import remembered
from evenhand.population.rows import rows
from evenhand.population.samplers import Draws, Uniform, is_rows
from evenhand.results.evidence import Finding
from evenhand.results.result import Result
from evenhand.runtime.budget import Budget, Meter, Spent, checked_budget
from evenhand.runtime.errors import UsageError, clip
from evenhand.runtime.progress import progress_bar
from evenhand.scores.case_marks import marked
from evenhand.scores.sampling_loop import prepared
from evenhand.space.feature_sets import feature_sets, unseen_notes
from evenhand.statistics.estimate import StopReason, Witnesses
from evenhand.subject.outcome_scale import details_of, notes_of
from evenhand.subject.shared_asking import sharing
from evenhand.subject.subject import as_subject
from evenhand.subject.view import outcome_labels, views_of

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
    prefer: str | None = None,
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
        inputs found are from them. By default those that the space remembers.
    prefer
        ``"realistic"`` inputs, which are people who could exist; it needs real rows, and is the
        default where there are 50 of them. Or ``"many"`` or ``"diverse"`` inputs, from anywhere in
        the space.
    limit
        The most discriminatory inputs that are tolerated, usually 0. Not to find more is undecided,
        unless every input was tried; without a budget, and where an answer is cheap, all of up to
        a million inputs are tried then.
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
        If a name is unknown, an argument does not fit, or `prefer` is ``"realistic"`` without real
        rows.
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
    start_rows, realism = _real_people(start, prefer, tested.space)
    _check_columns(tested, sets, judged=realism is not None)
    if prefer is None:
        prefer = "many" if realism is None else "realistic"
    check_prefer(prefer, start_rows)
    allowed, exhausts = bounded(budget, expensive=tested.adapter.expensive)
    terms = SearchTerms(
        strategy=chosen,
        prefer=prefer,
        rows=start_rows,
        realism=realism,
        seed=seed,
        limit=_checked_limit(limit),
        explain=explain,
        exhausts=exhausts,
    )
    before, alone = tested.executed, tested.asking.one_process(n_jobs)
    tested.begin()
    with sharing(tested, n_jobs), progress_bar(show=progress) as hook:
        meter = Meter(allowed, hook)
        draws = Draws(Uniform(), tested.space, seed, "search")
        notes = prepared(draws, tested, meter) + notes_of(tested)
        reports = _reports(tested, sets, terms, meter)
    entries = []
    for report in reports:
        notes += report.notes
        # A set that the run did not come to has no entry.
        if report.entry:
            entries.append(report.entry)
    findings = _findings(tested, reports)
    stops = [report.stop for report in reports]
    searched = ("search", marked(findings, tested.space, realism), seed)
    return Result(
        *searched,
        Spent(meter.queries, tested.executed - before, meter.seconds, alone),
        next(reason for reason in LIMITING if reason in stops),
        tested.space.to_dict(),
        notes + unseen_notes(tested.space, sets),
        details={"search": entries, **details_of(tested)},
        outcome_labels=outcome_labels(tested),
        domain=tested.space,
    )


def _check_columns(
    tested: Subject, sets: Sequence[tuple[str, ...]], *, judged: bool
) -> None:
    """Refuse names of features that columns of the table of inputs found would have."""
    outputs = tested.outputs or ("",)
    check_columns(tested.space, sets, outputs, judged=judged)


def _findings(tested: Subject, reports: Sequence[SearchReport]) -> list[Finding]:
    """Return what was found, with the only answer of software that gave a single one."""
    only_answers = {}
    for view in views_of(tested):
        answer = view.only_answer(view.answers)
        only_answers[view.name] = view.answer_fields(answer)
    findings = []
    for report in reports:
        finding = report.finding
        findings.append(replace(finding, **only_answers[finding.output]))
    return findings


def _reports(
    tested: Subject,
    sets: Sequence[tuple[str, ...]],
    terms: SearchTerms,
    meter: Meter,
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
        reports.append(search_features(view, names, terms, part))
        meter.queries += part.queries
    return reports


def _real_people(
    start: Any, prefer: str | None, space: Space
) -> tuple[Points | None, Realism | None]:
    """Return real rows to start from as points, and what they tell of who could exist.

    Who wants other inputs than realistic ones starts anywhere, unless rows are given.
    """
    known = remembered(space)
    if start is None and known is not None:
        anywhere = prefer not in (None, "realistic")
        points = None if anywhere else known.complete(space).points(space)
        return points, realism_of(space)
    if start is None:
        return None, None
    if start is known:
        return known.complete(space).points(space), realism_of(space)
    given = start if is_rows(start) else rows(start)
    points = given.complete(space).points(space)
    return points, Realism.of(points, space)


def _checked_limit(limit: int | None) -> int | None:
    """Return the limit, or raise where it is not a number of inputs."""
    if limit is None:
        return None
    is_number = isinstance(limit, int | float) and not isinstance(limit, bool)
    if not is_number or limit < 0 or not float(limit).is_integer():
        raise UsageError(messages.NOT_A_LIMIT.format(limit=clip(repr(limit))))
    return int(limit)


def bounded(budget: Budget | None, *, expensive: bool) -> tuple[Budget, bool]:
    """Return a budget that ends: not to find anything is no reason to look forever.

    A budget that nobody gave, of software that is cheap to ask, may be exceeded where only every
    input can pass; that is what the second value says.
    """
    given = checked_budget(budget)
    if given.queries is not None or given.seconds is not None:
        return given, False
    queries = EXPENSIVE_QUERIES if expensive else QUERIES
    exhausts = given.findings is None and not expensive
    return Budget(queries, None, given.findings), exhausts


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
