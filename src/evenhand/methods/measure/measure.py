"""measure: how much does this software discriminate, and how sure are we?

The scores are those of Themis (Galhotra, Brun, Meliou 2017).
"""

from __future__ import annotations

import math
from dataclasses import replace
from functools import partial
from typing import TYPE_CHECKING, Any

from evenhand.methods.measure import MEASURE, PREVALENCE, messages
from evenhand.methods.measure.chance import Asking, checked_repeats
from evenhand.methods.measure.number_truth import gives_numbers, number_errors
from evenhand.methods.measure.truth import ErrorTerms, error_rates
from evenhand.methods.measure.uniform_beside import is_cheap, with_uniform
from evenhand.population.samplers import Draws, Uniform, checked_sampler
from evenhand.results.evidence import Finding
from evenhand.results.result import Result
from evenhand.runtime.budget import Meter, Spent, checked_budget
from evenhand.runtime.errors import UsageError, nearest
from evenhand.runtime.progress import progress_bar
from evenhand.scores.answer import Answer, ask
from evenhand.scores.case_marks import marked
from evenhand.scores.kinds import KINDS
from evenhand.scores.numbers.groups import check_units
from evenhand.scores.numbers.settling import settle_differs
from evenhand.scores.question import Terms
from evenhand.space.feature_sets import feature_sets, unseen_notes
from evenhand.statistics.estimate import (
    Amount,
    Estimate,
    StopReason,
    check_amount,
    check_limit,
)
from evenhand.statistics.intervals import check_level, checked_threshold
from evenhand.statistics.sequential.stopping import Plan
from evenhand.subject.outcome_scale import details_of, notes_of
from evenhand.subject.shared_asking import sharing
from evenhand.subject.subject import as_subject
from evenhand.subject.view import outcome_labels

if TYPE_CHECKING:
    from collections.abc import Sequence

    from evenhand.population.samplers import Sampler
    from evenhand.runtime.budget import Budget
    from evenhand.runtime.workers import Workers
    from evenhand.scores.question import Question
    from evenhand.scores.test_suite import Suite, Tests
    from evenhand.space.feature_sets import Over
    from evenhand.space.space import Space
    from evenhand.subject.subject import Subject

LIMITING = (
    StopReason.INTERRUPTED,
    StopReason.SECONDS,
    StopReason.QUERIES,
    StopReason.TOO_CLOSE,
    StopReason.MARGIN,
    StopReason.DECIDED,
    StopReason.ENUMERATED,
)
"""Why sampling of a set may end, from what leaves most open to what leaves nothing open."""
RARE_MARGIN = 0.01
"""The same for a prevalence, as discriminatory inputs may be rare."""


@MEASURE.options.checked
def measure(
    subject: Any,
    space: Space | None = None,
    *,
    over: Over | None = None,
    kind: str = "causal",
    limit: float | None = None,
    units: str = "spread",
    margin: float | None = None,
    level: float = 0.95,
    interval: str | None = None,
    sampling_threshold: int | None = None,
    sampler: Sampler | None = None,
    exact: bool | None = None,
    repeats: int | None = None,
    keep_tests: bool = False,
    truth: Any = None,
    truth_positive: Any = None,
    metric: str | Sequence[str] = "selection_rate",
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
        favourable outcome (Def. 3.6); of outcomes that are numbers, in their mean and median.
    limit, units
        An engineering threshold. Expensive software is asked until the score is known to be on one
        side of it, cheap software until it is also known to within the margin. For means and
        medians it is a share of the spread of outcomes, or with ``units="outcome"`` a number in
        their own unit.
    margin, level
        How precisely the score is to be known, at this level of confidence: 0.05 by default. Where
        a limit is not excluded by then, cheap software is asked on, to a fiftieth of the limit;
        expensive software from the beginning to a fifth of it.
    interval
        ``"wald"`` reproduces the paper's stopping rule and interval, which do not hold their
        coverage.
    sampling_threshold
        For ``interval="wald"``, the number of draws above which it is looked at after every draw
        (Algorithms 1 and 2); by default 30.
    sampler
        The population that the score describes. By default the rows that the space remembers, and
        all inputs where it has none; `uniform`, `rows` and `profile` (Def. 3.8) name another.
    exact
        Enumerate instead of sampling; by default where there are no more than 10,000 inputs, or
        where each costs a process or a request, no more than a decision takes at the least; and no
        interval is asked for by name.
    repeats
        How often to ask each person and a twin, of software that does not always answer the same
        input the same way. The causal score is then how much more often the two differ from each
        other than from themselves. By default it is chosen by a first look, which asks some inputs
        twice: 1 where all answers agree. Others are asked twice during the run, and where one of
        those does not agree, the run begins anew. With 1, such software is refused. Group scores
        need none.
    keep_tests
        Keep every test, inputs with outcomes, so that ``result.to_suite(path)`` can write them for
        `replay`. Software whose answers are not remembered is asked once more for it.
    truth, truth_positive
        What the outcomes of given rows should be, for error rates by group: a column of the rows of
        the sampler, or a value for each row; and which value stands for the favourable outcome, by
        default what the software calls it. With a truth nothing is drawn: all rows are asked.
    metric
        The rates that the limit is for, as for `measure_log`.
    budget
        What the whole call may spend; sets that it does not reach in full are reported as far as it
        went.
    seed, n_jobs, progress
        The seed of all draws, the processes that ask the software, and whether to show progress.

    Returns
    -------
    Result
        A finding for each set of features and each output of the software.

    Raises
    ------
    UsageError
        If a setting is not valid, the sets name features that the space does not have, or the
        population cannot be scored as asked within the budget.
    SubjectError
        If the software under test fails, or with ``repeats=1`` does not answer alike to the same
        input.

    See Also
    --------
    subsets : Finds the sets of features. See docs/how-to/measure.md for how scores are measured.

    Examples
    --------
    >>> from evenhand.space.feature import category, integer
    >>> from evenhand.space.space import Space
    >>> space = Space([category("sex", ["F", "M"]), integer("age", 18, 90)], protected=["sex"])
    >>> fair = measure(lambda frame: frame["age"] >= 21, space, limit=0.05)
    >>> fair.verdict.value, fair.worst.estimate.value
    ('pass', 0.0)
    """
    _check_kind(kind)
    asked_for = checked_repeats(repeats, kind)
    tested = as_subject(subject, space)
    sets = feature_sets(tested.space, over)
    population = checked_sampler(sampler, tested.space)
    asked = ErrorTerms(truth, truth_positive, metric, limit, level, budget, seed)
    if asked.has_truth(kind):
        return _with_truth(tested, sets, population, asked, units)
    threshold = checked_threshold(sampling_threshold, interval)
    given = Terms(population, level, margin, limit, interval, exact, seed)
    terms = _checked(replace(given, units=units, sampling_threshold=threshold))
    before, alone = tested.executed, tested.asking.one_process(n_jobs)
    with sharing(tested, n_jobs) as workers, progress_bar(show=progress) as hook:
        meter = Meter(checked_budget(budget), hook)
        ask_one = partial(_answer, keep=keep_tests)
        asking = Asking(
            tested, kind, sets, terms, meter, asked_for, keep_tests, ask_one, _shared
        )
        answered = asking.answered(_first_draws(terms, tested, kind, sets), workers)
        answers, questions, terms = answered.answers, answered.questions, answered.terms
        findings = _found(answers, questions, terms)
        if is_cheap(tested, sampler, terms, budget) and len(answers) == len(questions):
            findings = with_uniform(findings, questions, terms, meter, workers)
    notes = answered.notes
    notes += _notes(answers, notes) + _causal_notes(tested, sets, kind)
    measured = ("measure", marked(findings, tested.space), seed)
    return Result(
        *measured,
        Spent(meter.queries, tested.executed - before, meter.seconds, alone),
        _overall([answer.stop for answer in answers]),
        tested.space.to_dict(),
        notes,
        details={**details_of(tested), **answered.details},
        outcome_labels=outcome_labels(tested),
        tests=_suite(tested.space, answers) if keep_tests else None,
    )


def _with_truth(
    tested: Subject,
    sets: Sequence[tuple[str, ...]],
    population: Sampler,
    asked: ErrorTerms,
    units: str,
) -> Result:
    """Return the error rates of decisions, or the errors of numbers."""
    check_units(units)
    settle_differs(tested)
    if gives_numbers(tested):
        return number_errors(tested, sets, population, asked, units)
    if units != "spread":
        raise UsageError(messages.UNITS_OF_RATES)
    return error_rates(tested, sets, population, asked)


def _check_kind(kind: str) -> None:
    if kind not in KINDS:
        choices = nearest(kind, KINDS)
        raise UsageError(messages.UNKNOWN_KIND.format(kind=repr(kind), choices=choices))


def _notes(answers: Sequence[Answer], before: Sequence[str]) -> list[str]:
    """Return the notes of all answers, each once, without those that there are before."""
    every: dict[str, None] = {}
    for answer in answers:
        every |= dict.fromkeys(answer.notes)
    return [note for note in every if note not in before]


def _suite(space: Space, answers: Sequence[Answer]) -> Suite:
    from evenhand.scores.test_suite import Suite  # imported where it is used

    tests: list[Tests] = []
    for answer in answers:
        tests += answer.tests
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
    """Measure the share of discriminatory inputs among all inputs, drawn uniformly.

    This is what Aequitas estimates (Udeshi et al. 2018, section 4.3): the causal score of
    `measure`, with a margin that suits rare inputs, 0.01 by default. The paper averages over many
    samples until the mean settles; here the interval holds its level under the rule that ends the
    sampling.

    Parameters
    ----------
    subject, space
        A Subject, or a fitted model or function with its space.
    over, limit, margin, level, budget, seed, n_jobs, progress
        As for `measure`.

    Returns
    -------
    Result
        A finding for each set of features and each output of the software.

    Raises
    ------
    UsageError, SubjectError
        As for `measure`.

    See Also
    --------
    measure : Other populations and kinds of scores. See docs/how-to/measure.md.

    Examples
    --------
    >>> from evenhand.space.feature import category, integer
    >>> from evenhand.space.space import Space
    >>> space = Space([category("sex", ["F", "M"]), integer("age", 18, 90)], protected=["sex"])
    >>> found = prevalence(lambda frame: (frame["age"] >= 65) & (frame["sex"] == "M"), space)
    >>> found.worst.estimate.n, round(found.worst.estimate.value, 3)
    (146, 0.356)
    """
    if margin is None and limit is None:
        margin = RARE_MARGIN
    found = measure(
        subject,
        space,
        over=over,
        limit=limit,
        margin=margin,
        level=level,
        sampler=Uniform(),
        budget=budget,
        seed=seed,
        n_jobs=n_jobs,
        progress=progress,
    )
    return replace(found, job="prevalence")


def _checked(given: Terms) -> Terms:
    """Return the terms where they are valid."""
    check_level(given.level)
    check_units(given.units)
    # A limit in the unit of the outcomes is not a share.
    limit = given.limit
    if limit is not None and given.units == "outcome":
        check_amount(limit)
        limit = None
    elif limit is not None:
        check_limit(limit)
    margins = given.margins(expensive=True)
    # A plan refuses what is wrong, before anything is asked.
    Plan(given.level, margins.wanted, limit, given.interval)
    return given


def _answer(
    question: Question,
    terms: Terms,
    meter: Meter,
    workers: Workers,
    *,
    keep: bool,
) -> Answer:
    """Answer a question; of one that is interrupted before its first look, nothing is known."""
    try:
        return ask(question, terms, meter, workers, keep=keep)
    except KeyboardInterrupt:
        return Answer([_unmeasured(question, terms)], StopReason.INTERRUPTED)


def _shared(terms: Terms, questions: Sequence[Question]) -> Terms:
    """Return the terms of questions whose findings hold together; refuse units that rates lack."""
    for question in questions:
        if terms.units == "outcome" and not question.of_numbers:
            raise UsageError(messages.UNITS_OF_RATES)
    return replace(terms, among=sum(question.answers for question in questions))


def _found(
    answers: Sequence[Answer], questions: Sequence[Question], terms: Terms
) -> list[Finding]:
    """Return what was found, and that the run did not come to the other questions."""
    findings: list[Finding] = []
    for answer in answers:
        findings += answer.findings
    missed = questions[len(answers) :]
    return findings + [_unmeasured(question, terms) for question in missed]


def _first_draws(
    terms: Terms, tested: Subject, kind: str, sets: Sequence[tuple[str, ...]]
) -> Draws:
    """Return the draws that the first set begins with."""
    return Draws(terms.sampler, tested.space, terms.seed, "measure", kind, *sets[0])


def _causal_notes(tested: Subject, sets: Sequence[tuple[str, ...]], kind: str) -> list[str]:
    """Return of a causal score when outcomes differ, and which features are not seen."""
    if kind != "causal":
        return []
    return notes_of(tested) + unseen_notes(tested.space, sets)


def _unmeasured(question: Question, terms: Terms) -> Finding:
    """Return that the run did not come to a set, so that it cannot be taken for a pass."""
    population = terms.sampler.population(question.space)
    method = terms.interval or "exact"
    estimate = Estimate(math.nan, 0.0, 1.0, 0, terms.level, method, population)
    if question.of_numbers:
        estimate = Amount(math.nan, 0.0, math.inf, 0, terms.level, method, population)
    features = " and ".join(question.names)
    output = question.view.title
    if output:
        claim = messages.NOT_MEASURED_FOR_OUTPUT.format(features=features, output=output)
    else:
        claim = messages.NOT_MEASURED.format(features=features)
    return Finding(
        claim, question.names, estimate, terms.limit, output=output, score=question.kind
    )


def _overall(stops: Sequence[StopReason]) -> StopReason:
    """Return the reason that limits most what can be said of all sets together."""
    return next(reason for reason in LIMITING if reason in stops)
