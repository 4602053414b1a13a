"""measure: how much does this software discriminate, and how sure are we (Themis, Galhotra et al.
2017)?
"""

from __future__ import annotations

import math
from typing import TYPE_CHECKING, Any

from evenhand.methods.measure import MEASURE, PREVALENCE
from evenhand.population.samplers import Draws, checked_sampler
from evenhand.results.evidence import Finding
from evenhand.results.result import Result
from evenhand.runtime.budget import Meter, Spent, checked_budget, progress_bar
from evenhand.runtime.errors import UsageError, nearest
from evenhand.runtime.workers import Workers
from evenhand.scores.answer import ask
from evenhand.scores.kinds import KINDS, questions_of
from evenhand.scores.question import Terms
from evenhand.scores.sampling_loop import check_deterministic
from evenhand.space.feature_sets import feature_sets, unseen_notes
from evenhand.statistics.estimate import Estimate, StopReason, check_limit
from evenhand.statistics.intervals import check_level
from evenhand.statistics.stopping import Plan
from evenhand.subject.subject import as_subject

if TYPE_CHECKING:
    from collections.abc import Sequence

    from evenhand.population.samplers import Sampler
    from evenhand.runtime.budget import Budget
    from evenhand.scores.question import Question
    from evenhand.scores.test_suite import Suite, Tests
    from evenhand.space.feature_sets import Over
    from evenhand.space.space import Space

LIMITING = (
    StopReason.INTERRUPTED,
    StopReason.SECONDS,
    StopReason.QUERIES,
    StopReason.MARGIN,
    StopReason.DECIDED,
    StopReason.ENUMERATED,
)
"""Why sampling of a set may end, from what leaves most open to what leaves nothing open."""
MARGIN, RARE_MARGIN = 0.05, 0.01


@MEASURE.options.checked
def measure(
    subject: Any,
    space: Space | None = None,
    *,
    over: Over | None = None,
    kind: str = "causal",
    limit: float | None = None,
    margin: float | None = None,
    level: float = 0.95,
    interval: str | None = None,
    sampler: Sampler | None = None,
    exact: bool | None = None,
    keep_tests: bool = False,
    budget: Budget | None = None,
    seed: int = 0,
    n_jobs: int = 1,
    progress: bool | None = None,
) -> Result:
    """Measure how much the software discriminates over sets of features.

    Parameters
    ----------
    subject, space
        A Subject, or a fitted model or function with its space.
    over
        ``"sex"`` or ``["sex", "race"]`` is one set of features taken together, ``[("sex",),
        ("race",)]`` two sets with a finding each, whose intervals hold together. By default each
        protected feature by itself.
    kind
        ``"causal"``: the share of inputs whose outcome changes with the named features alone (Def.
        3.7). ``"group"``: the largest difference between groups in how often they get the
        favourable outcome (Def. 3.6).
    limit
        An engineering threshold; sampling ends as soon as the score is known to be on one side of
        it.
    margin, level
        Otherwise sampling ends when the score is known to within the margin, at this level of
        confidence. By default
        0.05; with a limit a fifth of it where that is finer, so that only a score next to the limit
        stays undecided.
    interval
        ``"wald"`` reproduces the paper's stopping rule and interval, which do not hold their
        coverage.
    sampler
        The population that the score speaks of: all inputs by default, or `rows`, or a `profile`
        (Def. 3.8).
    exact
        Enumerate instead of sampling; by default where there are no more than 10,000 inputs (256
        where each costs a process or a request), and no interval is asked for by name.
    keep_tests
        Keep every test, inputs with outcomes, so that ``result.to_suite(path)`` can write them for
        `replay`. Software whose answers are not remembered is asked once more for it.
    budget
        What the whole call may spend; sets that it does not reach in full are reported as far as it
        went.

    Examples
    --------
    >>> from evenhand.space.feature import category, integer
    >>> from evenhand.space.space import Space
    >>> space = Space([category("sex", ["F", "M"]), integer("age", 18, 90)], protected=["sex"])
    >>> fair = measure(lambda frame: frame["age"] >= 21, space, limit=0.05)
    >>> fair.verdict.value, fair.worst.estimate.value
    ('pass', 0.0)
    """
    if kind not in KINDS:
        raise UsageError(f"kind = {kind!r} is not available; {nearest(kind, KINDS)}")
    tested = as_subject(subject, space)
    sets = feature_sets(tested.space, over)
    chosen, allowed = checked_sampler(sampler), checked_budget(budget)
    questions = questions_of(tested, kind, sets)
    terms = _terms(len(questions), margin, level, limit, interval, chosen, exact=exact, seed=seed)
    findings, stops, before = [], [], tested.executed
    tests: list[Tests] = []
    with Workers(n_jobs) as workers, progress_bar(show=progress) as hook:
        meter = Meter(allowed, hook)
        notes = check_deterministic(
            Draws(chosen, tested.space, seed, *questions[0].stream), tested, meter
        )
        for number, question in enumerate(questions):
            part = meter.share(len(questions) - number)
            answer = ask(question, terms, part, workers, keep=keep_tests)
            meter.queries += part.queries
            findings.append(answer.finding)
            stops.append(answer.stop)
            tests += answer.tests
            notes += [note for note in answer.notes if note not in notes]
            if answer.stop is StopReason.INTERRUPTED:
                findings += [_unmeasured(missed, terms) for missed in questions[number + 1 :]]
                break
    return Result(
        "measure",
        findings,
        seed,
        Spent(meter.queries, tested.executed - before, meter.seconds),
        _overall(stops),
        tested.space.to_dict(),
        notes + (unseen_notes(tested.space, sets) if kind == "causal" else []),
        tests=_suite(tested.space, tests) if keep_tests else None,
    )


def _suite(space: Space, tests: Sequence[Tests]) -> Suite:
    from evenhand.scores.test_suite import Suite  # imported where it is used

    return Suite(space, tuple(tests))


@PREVALENCE.options.checked
def prevalence(
    subject: Any,
    space: Space | None = None,
    *,
    over: Over | None = None,
    limit: float | None = None,
    margin: float | None = None,
    level: float = 0.95,
    budget: Budget | None = None,
    seed: int = 0,
    n_jobs: int = 1,
    progress: bool | None = None,
) -> Result:
    """Measure the share of discriminatory inputs among all inputs, drawn uniformly (Aequitas,
    section 4.3).

    It is the causal score of `measure`, with a margin that suits rare inputs: 0.01 by default. The
    paper averages over many samples until the mean settles; here the interval holds its level under
    the rule that ends the sampling.

    Examples
    --------
    >>> from evenhand.space.feature import category, integer
    >>> from evenhand.space.space import Space
    >>> space = Space([category("sex", ["F", "M"]), integer("age", 18, 90)], protected=["sex"])
    >>> found = prevalence(lambda frame: (frame["age"] >= 65) & (frame["sex"] == "M"), space)
    >>> found.worst.estimate.n, round(found.worst.estimate.value, 3)
    (146, 0.356)
    """
    return measure(
        subject,
        space,
        over=over,
        limit=limit,
        margin=RARE_MARGIN if margin is None and limit is None else margin,
        level=level,
        budget=budget,
        seed=seed,
        n_jobs=n_jobs,
        progress=progress,
    )


def _terms(
    questions: int,
    margin: float | None,
    level: float,
    limit: float | None,
    interval: str | None,
    sampler: Sampler,
    *,
    exact: bool | None,
    seed: int,
) -> Terms:
    check_level(level)
    if margin is None:
        margin = min(MARGIN, check_limit(limit) / 5) if limit else MARGIN
    Plan(level, margin, limit, interval)  # refuses what is wrong before anything is asked
    return Terms(sampler, level, margin, limit, interval, exact, seed, questions)


def _unmeasured(question: Question, terms: Terms) -> Finding:
    """Say of a set that the run did not come to it, so that it cannot be taken for a pass."""
    population = terms.sampler.population(question.space)
    estimate = Estimate(math.nan, 0.0, 1.0, 0, terms.level, terms.interval or "exact", population)
    output = question.view.title
    claim = " ".join([f"{' and '.join(question.names)} was not measured", *_of(output)])
    return Finding(claim, question.names, estimate, terms.limit, output=output, score=question.kind)


def _of(output: str) -> list[str]:
    return [f"for {output}"] if output else []


def _overall(stops: Sequence[StopReason]) -> StopReason:
    """Return the reason that limits most what can be said of all sets together."""
    return next(reason for reason in LIMITING if reason in stops)
