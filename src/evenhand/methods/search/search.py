"""search: show concrete people whom the software treats differently (Aequitas, Udeshi et al. 2018)."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from evenhand.methods.search import SEARCH
from evenhand.methods.search.explain.diversity import check_prefer
from evenhand.methods.search.hits_table import check_columns
from evenhand.methods.search.run import Terms, quest
from evenhand.methods.search.strategies import as_strategy
from evenhand.population.samplers import Draws, checked_sampler, is_rows
from evenhand.results.evidence import Finding
from evenhand.results.result import Result
from evenhand.runtime.budget import Budget, Meter, Spent, checked_budget, progress_bar
from evenhand.runtime.errors import UsageError, clip
from evenhand.runtime.workers import Workers
from evenhand.scores.sampling_loop import check_deterministic
from evenhand.space.feature_sets import feature_sets, unseen_notes
from evenhand.statistics.estimate import StopReason, Witnesses
from evenhand.subject.subject import as_subject
from evenhand.subject.view import views_of

if TYPE_CHECKING:
    from evenhand.methods.search.strategies import Strategy
    from evenhand.space.feature import Points
    from evenhand.space.feature_sets import Over
    from evenhand.space.space import Space

QUERIES, EXPENSIVE_QUERIES = 100_000, 5_000
"""What a search without a budget may ask, and where each input costs a process or a request."""
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
    """Find discriminatory inputs: people whose outcome changes with nothing but the named features
    (Definition 1).

    What a search finds is no rate: it goes where it finds. `prevalence` tells the share of all
    inputs.

    Parameters
    ----------
    subject, space
        A Subject, or a fitted model or function with its space.
    over
        ``"sex"`` or ``["sex", "race"]`` is one set of features taken together, ``[("sex",),
        ("race",)]`` two sets, two findings. By default each protected feature by itself.
    strategy
        ``"adaptive"``, ``"surrogate"`` where an answer is expensive, or one of the paper: ``"random"``,
        ``"semi-directed"``, ``"fully-directed"``, with other parameters by `aequitas`. Or an object
        of a class of your own: see `Strategy`.
    budget
        When to end: inputs asked, seconds, findings. By default 100,000 inputs, or 5,000 where each
        costs a process or a request. A small share of it goes to simplifying and explaining what
        was found.
    start
        Real rows to begin at, any dataframe or `rows`; how far the inputs found are from them is
        told too.
    prefer
        ``"many"``, ``"diverse"`` or ``"realistic"`` inputs, which needs `start`.
    limit
        The most discriminatory inputs that are tolerated, usually 0. Not to find more is undecided,
        unless every input was tried.
    explain
        Tell where discriminatory inputs lie, and which features drive them.

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
    given = _rows(start, tested.space)
    check_prefer(prefer, given)
    terms = Terms(chosen, prefer, given, seed, _checked_limit(limit), explain)
    allowed = _bounded(checked_budget(budget), expensive=tested.adapter.expensive)
    findings: list[Finding] = []
    entries, stops, before = [], [], tested.executed
    with Workers(n_jobs) as workers, progress_bar(show=progress) as hook:
        meter = Meter(allowed, hook)
        notes = check_deterministic(
            Draws(checked_sampler(None), tested.space, seed, "search"), tested, meter
        )
        quests = [(names, view) for names in sets for view in views_of(tested)]
        for number, (names, view) in enumerate(quests):
            if StopReason.INTERRUPTED in stops:
                findings.append(_untried(names, view.name, terms))
                continue
            part = meter.share(len(quests) - number)
            told = quest(view, names, terms, part, workers)
            meter.queries += part.queries
            findings.append(told.finding)
            entries.append(told.entry)
            stops.append(told.stop)
            notes += told.notes
    return Result(
        "search",
        findings,
        seed,
        Spent(meter.queries, tested.executed - before, meter.seconds),
        next(reason for reason in LIMITING if reason in stops),
        tested.space.to_dict(),
        notes + unseen_notes(tested.space, sets),
        details={"search": entries},
        domain=tested.space,
    )


def _rows(start: Any, space: Space) -> Points | None:
    if start is None:
        return None
    if is_rows(start):
        return start.points(space)
    from evenhand.population.rows import rows  # imported where it is used

    return rows(start).points(space)


def _checked_limit(limit: int | None) -> int | None:
    if limit is None:
        return None
    if (
        isinstance(limit, bool)
        or not isinstance(limit, int | float)
        or limit < 0
        or not float(limit).is_integer()
    ):
        raise UsageError(
            f"limit = {clip(repr(limit))} must be a whole number of 0 or more: the most"
            " discriminatory inputs that are tolerated; a share of all inputs is a limit of"
            " measure"
        )
    return int(limit)


def _bounded(budget: Budget, *, expensive: bool) -> Budget:
    """Return a budget that ends: not to find anything is no reason to look forever."""
    if budget.queries is not None or budget.seconds is not None:
        return budget
    return Budget(EXPENSIVE_QUERIES if expensive else QUERIES, None, budget.findings)


def _untried(names: tuple[str, ...], output: str, terms: Terms) -> Finding:
    """Say of a set that the run did not come to it, so that it cannot be taken for a pass."""
    claim = f"{' and '.join(names)} was not searched" + (f" for {output}" if output else "")
    return Finding(
        claim,
        names,
        Witnesses.of(0, 0, terms.strategy.name),
        terms.limit,
        output=output,
        score="witnesses",
    )
