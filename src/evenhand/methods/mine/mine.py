"""mine: which readable subgroups does the software treat differently? (TestSGD)."""

from __future__ import annotations

from dataclasses import dataclass, replace
from functools import partial
from typing import TYPE_CHECKING, Any

import numpy as np

from evenhand.methods.mine import MINE, messages
from evenhand.methods.mine.claims.cases import TRIED, CaseFinder
from evenhand.methods.mine.claims.correction import check_correction
from evenhand.methods.mine.claims.reporting import MiningPart, rank, write_findings
from evenhand.methods.mine.claims.scores import SCORES, need_truth, scores_of
from evenhand.methods.mine.claims.words import kind_of
from evenhand.methods.mine.rule_sets import (
    BINS,
    Mining,
    RuleSetOptions,
    check_control,
    check_rules,
    check_terms,
    levels_taken,
    unknown_option,
)
from evenhand.methods.mine.treatment import (
    TreatmentRun,
    compared,
    true_outcomes,
    truly_favourable,
)
from evenhand.population.rows import Rows, rows
from evenhand.results.result import Result
from evenhand.runtime.budget import Budget, Meter, Spent, checked_budget
from evenhand.runtime.errors import DataError, UsageError, clip
from evenhand.runtime.progress import progress_bar
from evenhand.scores.case_marks import marked
from evenhand.scores.neighbour_steps import checked_steps
from evenhand.scores.numbers.settling import settle_differs
from evenhand.scores.numbers.unit_scale import UnitLimit
from evenhand.space.feature_sets import asks_all, feature_sets, spelled_out
from evenhand.statistics.estimate import StopReason
from evenhand.subject.shared_asking import sharing
from evenhand.subject.subject import as_subject
from evenhand.subject.view import outcome_labels, views_for

if TYPE_CHECKING:
    from collections.abc import Sequence

    from numpy.typing import NDArray

    from evenhand.methods.mine.claims.words import OutcomeWords
    from evenhand.methods.mine.rule_sets import Bins
    from evenhand.methods.mine.testsgd_score import DrawingRule
    from evenhand.methods.mine.treatment import TreatedView
    from evenhand.runtime.workers import Workers
    from evenhand.scores.neighbour_steps import Move
    from evenhand.space.feature_sets import Over
    from evenhand.space.space import Space
    from evenhand.subject.subject import Subject
    from evenhand.subject.view import View

    Flags = NDArray[np.bool_]

METHODS = ("neighbours", "drawn", "rows", "paper")


@MINE.options.checked
def mine(
    subject: Any,
    space: Space | None = None,
    data: Any = None,
    *,
    over: Over | None = None,
    support: float = 0.05,
    complement: float | None = None,
    bins: Bins = BINS,
    binning: str = "width",
    levels: int | None = None,
    depth: int | None = None,
    limit: float | None = None,
    units: str = "spread",
    level: float = 0.95,
    control: str = "family",
    correction: str | None = None,
    treatment: str | None = None,
    move: Move | None = None,
    sample_thr: int | None = None,
    error_thr: float | None = None,
    truth: Any = None,
    score: str | Sequence[str] = "rate",
    top: int = 10,
    budget: Budget | None = None,
    seed: int = 0,
    n_jobs: int = 1,
    progress: bool | None = None,
) -> Result:
    """Find readable subgroups that the software treats differently from everyone else.

    Implements Algorithms 1 and 2 of TestSGD (Zhang et al. 2022).

    Every rule set over the sensitive features that covers and leaves enough people is scored by how
    much more, or less, often its people get the favourable outcome than everyone else (Definition
    4.1). The findings are the worst rule sets that tell of different people; the last one bounds
    all others.

    Parameters
    ----------
    subject, space
        A Subject, or a fitted model or function with its space.
    data
        Real rows. A dataframe is taken for a sample of those whom the software decides about, and
        intervals hold for all of these, and for all rule sets together. ``rows(frame)`` says that
        the rows are all there are.
    over
        The features to form rules of; by default the protected ones. A list of tuples is mined one
        by one. ``"all"`` is every feature of the space, protected or not, unless one of them has
        that name; rows are then treated as they are, and conditions name one level at a time.
    support, complement
        The least share of the rows that a rule set must cover, and that it must leave; by default
        the same, or half of what a support over a third leaves.
    bins, binning
        How numbers are cut: a number of bins, edges, or either by feature; bins of equal
        ``"width"`` or ``"quantiles"``.
    levels, depth
        The most levels that a condition names, and the most features that a rule set takes.
    treatment
        How favourably a row is treated: the mean over all its ``"neighbours"``, which differ by one
        step in one feature that is not sensitive; over some of them that are ``"drawn"``; by
        ``"rows"`` as they are; or the paper's Algorithm 2, rule set by rule set (``"paper"``). By
        default neighbours, or drawn ones where that is too many.
    move
        By how much numbers are moved to make neighbours: a number for all of them, or a mapping by
        feature. By default each by its own step, and by 0.01 where it has none (section 4.3).
    sample_thr, error_thr
        Of the paper's Algorithm 2, after how many draws it looks at the margin of error, and at
        which margin it ends; by default 1000 and 0.05, as in the paper.
    truth, score
        The column of true outcomes in data, or a sequence; and what is compared, one score or a
        list: ``"rate"`` (of scores and numbers also ``"mean"``), or with a truth ``"error"``,
        ``"tpr"``, ``"fpr"``, ``"fnr"``, ``"tnr"``, ``"precision"``, ``"fdr"`` and ``"for"`` (false
        discoveries and omissions), or ``"calibration"`` of scores. Equalized odds is ``["tpr",
        "fpr"]``.
    limit, level
        The engineering threshold for the difference of rates, which gives each finding a verdict
        (the ξ of Definition 2.3), and the confidence level of all intervals together.
    control
        What the level is of: ``"family"``, all intervals together; or ``"fdr"``, that at most 1 -
        level of the rule sets found are so by chance, on average (Benjamini and Yekutieli 2001),
        with intervals at that false coverage rate. More is then found of many rule sets, and what
        is not found is still bounded together.
    correction
        How intervals are made to hold together: ``"max-t"`` resamples how rule sets overlap, and
        ``"bonferroni"`` does not need to. By default max-t, unless rule sets are so many, or the
        level so high, that it takes long. Numbers have Bonferroni's.
    top
        The most rule sets to report.
    budget, seed, n_jobs, progress
        How much may be asked, the seed of all draws, the number of workers, and whether a progress
        bar is shown.

    Returns
    -------
    Result
        A finding for each reported rule set, worst first, and a last one that bounds all others.

    Raises
    ------
    UsageError
        If an option is not valid, if options cannot be combined, or if the budget is too small for
        them.
    DataError
        If rows are missing or do not fit the space, or if no rule set covers enough of them.
    SpaceError
        If there are more rule sets than can be looked at.

    See Also
    --------
    mine_log : The same for decisions that are already recorded.
    mine_text : The same for sensitive terms in texts.

    Notes
    -----
    See docs/how-to/mine.md.

    Examples
    --------
    >>> import pandas as pd
    >>> from evenhand.space.feature import category, integer
    >>> from evenhand.space.space import Space
    >>> features = [category("sex", ["F", "M"]), integer("age", 18, 57), integer("income", 0, 9)]
    >>> space = Space(features, ["sex", "age"])
    >>> every = pd.MultiIndex.from_product(
    ...     [["F", "M"], range(18, 58), range(10)], names=["sex", "age", "income"]
    ... )
    >>> people = every.to_frame(index=False)
    >>> def decide(x):
    ...     older_women = (x["sex"] == "F") & (x["age"] >= 38)
    ...     return (x["income"] >= 5) & ~older_women
    >>> found = mine(decide, space, people)
    >>> print(found.worst.about)
    sex F, age at least 38
    """
    tested = as_subject(subject, space)
    every = asks_all(over, tested.space.names)
    levels, notes_on_levels = levels_taken(levels, every=every)
    options = RuleSetOptions(support, complement, bins, binning, levels, depth)
    limits = UnitLimit(limit, units)
    check_terms(level, limits, top)
    scores = scores_of(score, truth)
    treatment = _checked_treatment(treatment, scores, every=every)
    _check_control(control, treatment)
    check_correction(correction, control, treatment)
    drawing = _drawing_rule(treatment, sample_thr, error_thr)
    sets = _sets(tested.space, over)
    terms = _ReportTerms(limits, level, control, correction, top, seed, drawing)
    plan = _MiningPlan(tested.space, sets, scores, options, terms)
    given = _given(data, tested.space)
    # Whatever is wrong is refused before anything is asked.
    plan.check(given)
    steps = _steps(plan, treatment, move)
    views = _views(tested, treatment, scores)
    labels = _true_outcomes(truth, data, given) if need_truth(scores) else None
    good = _truly_favourable(views, labels, scores, len(given))
    kept = 2 * TRIED * top
    run = TreatmentRun(tested, given, treatment, seed, plan.sensitive, kept, steps)
    run.notes += notes_on_levels
    tested.begin()
    with sharing(tested, n_jobs) as workers, progress_bar(show=progress) as hook:
        meter = Meter(checked_budget(budget), hook)
        found = plan.mined(run, list(zip(views, good, strict=True)), meter, workers)
    spent = replace(found.spent, one_process=tested.asking.one_process(n_jobs))
    return replace(found, spent=spent)


def _views(tested: Subject, treatment: str | None, scores: Sequence[str]) -> list[View]:
    """Return what is mined of the software; refuse what numbers do not have."""
    settle_differs(tested)
    views = views_for(tested, "group")
    if treatment == "paper" and any(view.meaning.measured for view in views):
        raise UsageError(messages.PAPER_OF_NUMBERS)
    for view in views:
        outcomes = kind_of(counts=view.counts, numbers=view.meaning.measured)
        for name in scores:
            SCORES[name].check(outcomes)
    return views


def _checked_treatment(
    treatment: str | None, scores: Sequence[str], *, every: bool
) -> str | None:
    """Return how rows are asked about, None where the cost decides it.

    Where rules are formed of every feature, nothing is left that neighbours could differ in.
    """
    if treatment is not None and treatment not in METHODS:
        raise unknown_option("treatment", treatment, METHODS)
    if every and treatment not in (None, "rows"):
        raise UsageError(messages.NEIGHBOURS_OF_ALL.format(treatment=repr(treatment)))
    if need_truth(scores):
        return _treatment_with_truth(treatment)
    return "rows" if every else treatment


def _check_control(control: str, treatment: str | None) -> None:
    check_control(control)
    if control == "fdr" and treatment == "paper":
        raise UsageError(messages.CONTROL_WITH_PAPER)


def _drawing_rule(
    treatment: str | None, sample_thr: int | None, error_thr: float | None
) -> DrawingRule | None:
    """Return when Algorithm 2 ends its drawing; None where it is not asked for."""
    given: dict[str, Any] = {}
    for option, value in (("sample_thr", sample_thr), ("error_thr", error_thr)):
        if value is not None:
            given[option] = value
    if treatment == "paper":
        from evenhand.methods.mine.testsgd_score import DrawingRule

        return DrawingRule(**given)
    for option, value in given.items():
        shown = clip(repr(value))
        raise UsageError(messages.NOT_FOR_ALGORITHM_2.format(option=option, value=shown))
    return None


def _steps(plan: _MiningPlan, treatment: str | None, move: Move | None) -> dict[str, float]:
    """Return by how much features are moved that are moved by another step than their own."""
    if move is not None and treatment == "rows":
        raise UsageError(messages.MOVE_WITHOUT_NEIGHBOURS.format(move=clip(repr(move))))
    return checked_steps(plan.space, plan.sensitive, move)


def _sets(space: Space, over: Over | None) -> list[tuple[str, ...]]:
    """Return the sets of features that rules are formed of.

    By default these are all protected features together.
    """
    if over is None:
        over = list(space.protected) or None
    else:
        over = spelled_out(over, space.names)
    return feature_sets(space, over)


def _treatment_with_truth(treatment: str | None) -> str:
    """Return the treatment where true outcomes are given, which are those of the rows alone."""
    if treatment not in (None, "rows"):
        raise UsageError(messages.TREATMENT_WITH_TRUTH.format(treatment=repr(treatment)))
    return "rows"


def _true_outcomes(truth: Any, data: Any, given: Rows) -> NDArray[Any]:
    """Return the true outcomes; rows that the software refuses are left out, and theirs too."""
    known = data if isinstance(data, Rows | list) else given.frame
    return true_outcomes(truth, known, len(given))


def _given(data: Any, space: Space) -> Rows:
    """Return the rows to mine, checked against the space."""
    if data is None:
        raise UsageError(messages.DATA_MISSING)
    sample_of = messages.PEOPLE_LIKE_ROWS
    given = data if isinstance(data, Rows) else rows(data, sample_of=sample_of)
    if not len(given):
        raise DataError(messages.DATA_EMPTY)
    given = given.complete(space)
    # So that a row that does not fit is reported before anything is asked.
    given.points(space)
    return given


def _truly_favourable(
    views: Sequence[View], labels: NDArray[Any] | None, scores: Sequence[str], rows: int
) -> list[Flags]:
    """Return for each output whose true outcome is favourable; without true outcomes, everybody."""
    good = []
    for view in views:
        if labels is None:
            good.append(np.ones(rows, dtype=np.bool_))
        else:
            good.append(truly_favourable(view, labels, scores))
    return good


def _notes(run: TreatmentRun, jobs: Sequence[_MiningJob]) -> list[str]:
    """Return the notes of the run and of each mining, each once."""
    notes = list(run.notes)
    for job in jobs:
        notes += job.mined.notes
    return list(dict.fromkeys(notes))


def _report(meter: Meter, names: Sequence[str], share: float) -> None:
    task = messages.PROGRESS_RULES.format(features=", ".join(names))
    meter.report(task, share, "")


@dataclass(frozen=True, slots=True)
class _ReportTerms:
    """On which terms rule sets are reported, and how Algorithm 2 draws where it is asked for."""

    limits: UnitLimit
    level: float
    control: str
    correction: str | None
    top: int
    seed: int
    drawing: DrawingRule | None


@dataclass(frozen=True, eq=False)
class _MiningPlan:
    """What is mined: which sets of features, in which scores, by which rule sets."""

    space: Space
    sets: Sequence[tuple[str, ...]]
    scores: Sequence[str]
    options: RuleSetOptions
    terms: _ReportTerms

    @property
    def sensitive(self) -> tuple[str, ...]:
        """The features of all sets, each once."""
        names: list[str] = []
        for several in self.sets:
            names += several
        return tuple(dict.fromkeys(names))

    def check(self, given: Rows) -> None:
        """Refuse features that the rows have no rule sets of."""
        points = given.points(self.space)
        for names in self.sets:
            check_rules(self.space, names, points, given.weights, self.options)

    def mined(
        self,
        run: TreatmentRun,
        views: Sequence[tuple[View, Flags]],
        meter: Meter,
        workers: Workers,
    ) -> Result:
        """Ask how rows are treated, mine that, and report it.

        Beside each view stands whose true outcome is good.
        """
        terms = self.terms
        tested = run.subject
        before = tested.executed
        treated = run.treated_views([view for view, _ in views], meter, workers)
        jobs = self.jobs(treated, [good for _, good in views], meter)
        ranked = rank(
            [job.part(run, terms, meter) for job in jobs],
            level=run.level(terms.level),
            limits=terms.limits,
            top=terms.top,
            control=terms.control,
            correction=terms.correction,
            seed=terms.seed,
        )
        cases = []
        for job, stories in zip(jobs, ranked, strict=True):
            gain = SCORES[job.words.score].gain
            finder = CaseFinder(job.view, job.mined, terms.seed, gain)
            cases.append([finder.of(lead, meter) for lead in stories.leads])
        only_answers = [job.only_answer for job in jobs]
        findings, entries = write_findings(ranked, cases, only_answers)
        scales = [job.mined.treated.scale for job in jobs]
        return Result(
            "mine",
            marked(findings, self.space),
            terms.seed,
            Spent(meter.queries, tested.executed - before, meter.seconds),
            run.stop or StopReason.ENUMERATED,
            self.space.to_dict(),
            _notes(run, jobs) + terms.limits.notes(scales),
            outcome_labels=outcome_labels(tested),
            details={"mine": entries},
        )

    def jobs(
        self, treated: Sequence[TreatedView], good: Sequence[Flags], meter: Meter
    ) -> list[_MiningJob]:
        """Mine each output, score and set of features; `good` is whose true outcome is good."""
        jobs = []
        for part in compared(treated, good, self.scores):
            for names in self.sets:
                report = partial(_report, meter, names)
                mined = Mining.of(self.space, names, part.people, self.options, report)
                jobs.append(_MiningJob(part.view, mined, part.words, part.favoured))
        return jobs


@dataclass(frozen=True, eq=False)
class _MiningJob:
    """One output, one set of features and one score to report."""

    view: View
    mined: Mining
    words: OutcomeWords
    favoured: bool
    """Whether anybody of all rows gets the favourable outcome."""

    @property
    def only_answer(self) -> dict[str, Any]:
        """The fields of findings on the one answer that the software gave so far, if any.

        A favourable outcome that it never gave is refused.
        """
        ranking = self.mined.ranking
        favoured = self.favoured or self.view.meaning.measured
        favoured |= bool(ranking.inside.any() or ranking.outside.any())
        answer = self.view.only_answer(self.view.answers, favoured=favoured)
        return self.view.answer_fields(answer, favoured=favoured)

    def part(self, run: TreatmentRun, terms: _ReportTerms, meter: Meter) -> MiningPart:
        """Return the mining to report, with the scores of Algorithm 2 where it is asked for."""
        if terms.drawing is None:
            return MiningPart(self.mined, self.words)
        from evenhand.methods.mine.testsgd_score import (
            score_all,  # imported where it is used
        )

        scores = score_all(
            run.neighbours(self.view),
            self.mined,
            level=terms.level,
            rule=terms.drawing,
            seed=terms.seed,
            meter=meter,
        )
        return MiningPart(self.mined, self.words, scores)
