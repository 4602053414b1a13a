"""mine: which readable subgroups does the software treat differently? (TestSGD, Zhang et al. 2022)."""

from __future__ import annotations

from dataclasses import dataclass
from functools import partial
from typing import TYPE_CHECKING, Any

import numpy as np

from evenhand.methods.mine import MINE
from evenhand.methods.mine.findings import Part, check_terms, rank, scores_of, tell
from evenhand.methods.mine.rule_sets import BINS, Forming, Mining, check_rules
from evenhand.methods.mine.treatment import Asking, compared, true_outcomes, truly_favourable
from evenhand.population.rows import Rows, rows
from evenhand.results.result import Result
from evenhand.runtime.budget import Budget, Meter, Spent, checked_budget, progress_bar
from evenhand.runtime.errors import DataError, UsageError, clip, nearest
from evenhand.runtime.random_streams import stream
from evenhand.runtime.workers import Workers
from evenhand.scores.twins import case_of
from evenhand.space.feature_sets import feature_sets
from evenhand.statistics.estimate import StopReason
from evenhand.subject.subject import as_subject
from evenhand.subject.view import views_for

if TYPE_CHECKING:
    from collections.abc import Sequence

    from evenhand.methods.mine.findings import Words
    from evenhand.methods.mine.ranking import Told
    from evenhand.methods.mine.rule_sets import Bins
    from evenhand.methods.mine.testsgd_score import ByPaper
    from evenhand.results.evidence import Case
    from evenhand.space.feature_sets import Over
    from evenhand.space.space import Space
    from evenhand.subject.view import View

METHODS = ("neighbours", "drawn", "rows", "paper")
TRIED, CASES = 32, 3
"""People inside a rule set who are given the sensitive features of somebody outside, and cases that
are shown.
"""


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
    level: float = 0.95,
    treatment: str | None = None,
    truth: Any = None,
    score: str | Sequence[str] = "rate",
    top: int = 10,
    budget: Budget | None = None,
    seed: int = 0,
    n_jobs: int = 1,
    progress: bool | None = None,
) -> Result:
    """Find readable subgroups that the software treats differently from everyone else (TestSGD,
    Algorithms 1 and 2).

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
        by one.
    support, complement
        The least share of the rows that a rule set must cover, and that it must leave; by default
        the same.
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
    truth, score
        The column of true outcomes in data, or a sequence. The score is then ``"rate"``, or the gap
        in true or false positive rates (``"tpr"``, ``"fpr"``), or a list of those; equalized odds
        is ``["tpr", "fpr"]``.
    top
        The most rule sets to report.

    Examples
    --------
    >>> import pandas as pd
    >>> from evenhand.space.feature import category, integer
    >>> from evenhand.space.space import Space
    >>> space = Space([category("sex", ["F", "M"]), integer("age", 18, 57), integer("income", 0, 9)], ["sex", "age"])
    >>> people = pd.DataFrame(
    ...     [{"sex": s, "age": a, "income": i} for s in "FM" for a in range(18, 58) for i in range(10)]
    ... )
    >>> found = mine(lambda x: (x["income"] >= 5) & ~((x["sex"] == "F") & (x["age"] >= 38)), space, people)
    >>> print(found.worst.about)
    sex F, age at least 38
    """
    tested = as_subject(subject, space)
    forming = Forming(support, complement, bins, binning, levels, depth)
    check_terms(level, limit, top)
    if treatment is not None and treatment not in METHODS:
        raise UsageError(
            f"treatment = {clip(repr(treatment))} is unknown; {nearest(treatment, METHODS)}"
        )
    sets, scores = _sets(tested.space, over), scores_of(score, truth)
    if scores != ("rate",) and treatment not in (None, "rows"):
        raise UsageError(
            f"treatment = {treatment!r} does not go with true outcomes, which only the rows"
            " themselves have"
        )
    given = _given(data, tested.space)
    views = views_for(tested, "group")
    # All that can be wrong is said before anything is asked.
    for names in sets:
        check_rules(tested.space, names, given.points(tested.space), given.weights, forming)
    labels = None if scores == ("rate",) else true_outcomes(truth, data, len(given))
    everybody = np.ones(len(given), dtype=np.bool_)
    good = [
        everybody if labels is None else truly_favourable(view, labels, scores) for view in views
    ]
    sensitive = tuple(dict.fromkeys(name for names in sets for name in names))
    before = tested.executed
    with Workers(n_jobs) as workers, progress_bar(show=progress) as hook:
        meter = Meter(checked_budget(budget), hook)
        asking = Asking(
            tested,
            given,
            "rows" if scores != ("rate",) else treatment,
            seed,
            sensitive,
            2 * TRIED * top,
        )
        jobs = [
            _Job(
                view,
                Mining.of(tested.space, names, people, forming, partial(_report, meter, names)),
                words,
            )
            for (view, treated, done), those in zip(
                asking.parts(views, meter, workers), good, strict=True
            )
            for words, people in compared(view, treated, done, scores, those)
            for names in sets
        ]
        papers = [
            _by_paper(job, asking, level, meter) if asking.method == "paper" else None
            for job in jobs
        ]
        parts = [Part(job.mined, job.words, paper) for job, paper in zip(jobs, papers, strict=True)]
        ranked = rank(parts, level=asking.level(level), limit=limit, top=top)
        shown = [
            [job.cases(seed, meter, lead) for lead in mining.leads]
            for job, mining in zip(jobs, ranked, strict=True)
        ]
        findings, entries = tell(ranked, shown)
    return Result(
        "mine",
        findings,
        seed,
        Spent(meter.queries, tested.executed - before, meter.seconds),
        asking.stop or StopReason.ENUMERATED,
        tested.space.to_dict(),
        list(dict.fromkeys(asking.notes + [note for job in jobs for note in job.mined.notes])),
        details={"mine": entries},
    )


def _sets(space: Space, over: Over | None) -> list[tuple[str, ...]]:
    """Return the sets of features that rules are formed of; by default all protected features
    together.
    """
    return feature_sets(space, list(space.protected) if over is None and space.protected else over)


def _given(data: Any, space: Space) -> Rows:
    if data is None:
        raise UsageError(
            "data is None; give the rows that rules are to be found in, as a dataframe"
        )
    given = data if isinstance(data, Rows) else rows(data, sample_of="people like the given rows")
    if not len(given):
        raise DataError("data has no rows; rules are found in real rows")
    given.points(space)  # so that a row that does not fit is reported before anything is asked
    return given


def _report(meter: Meter, names: Sequence[str], share: float) -> None:
    meter.report(f"rules over {', '.join(names)}", share, "")


def _by_paper(job: _Job, asking: Asking, level: float, meter: Meter) -> ByPaper:
    """Score every rule set by itself with the paper's Algorithm 2."""
    from evenhand.methods.mine.testsgd_score import score_all  # imported where it is used

    return score_all(
        asking.neighbours(job.view), job.mined, level=level, seed=asking.seed, meter=meter
    )


@dataclass(frozen=True, eq=False)
class _Job:
    """One output, one set of features and one score to tell of."""

    view: View
    mined: Mining
    words: Words

    def cases(self, seed: int, meter: Meter, told: Told) -> tuple[Case, ...]:
        """Give some people inside the sensitive features of somebody outside, and show whose
        outcome changes.
        """
        space, names = self.view.subject.space, self.mined.names
        if (
            not self.view.counts
            or meter.left < 2 * TRIED
            or not any(space.feature(name).passed for name in names)
        ):
            return ()
        points, inside = self.mined.treated.points, self.mined.inside(told)
        rng = stream(seed, "mine", "cases", self.view.title, *names, *told.family, *told.place)
        mine = rng.choice(np.flatnonzero(inside), min(TRIED, int(inside.sum())), replace=False)
        donors = rng.choice(np.flatnonzero(~inside), len(mine))
        own, twins = points[mine], points[mine]
        for name in names:
            twins[:, space.index(name)] = points[donors, space.index(name)]
        valid = space.valid(twins)
        own, twins = np.asfortranarray(own[valid]), np.asfortranarray(twins[valid])
        if not len(own):
            return ()
        before, after = self.view.decide(own), self.view.decide(twins)
        meter.queries += 2 * len(own)
        gains = told.inside < told.outside
        flips = (self.view.favourable(before) != gains) & (self.view.favourable(after) == gains)
        changed = (own != twins).sum(axis=1)
        first = sorted(np.flatnonzero(flips).tolist(), key=lambda row: int(changed[row]))[:CASES]
        return tuple(
            case_of(space, own[row], twins[row], (before[row], after[row])) for row in first
        )
