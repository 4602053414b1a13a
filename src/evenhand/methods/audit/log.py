"""audit_log: every check of recorded decisions, one after another, under one verdict."""

from __future__ import annotations

from collections.abc import Mapping
from contextlib import nullcontext
from dataclasses import dataclass, field
from functools import cached_property
from typing import TYPE_CHECKING, Any, ClassVar

from evenhand.methods.audit import LOG, messages
from evenhand.methods.audit.audit import run_all
from evenhand.methods.audit.checks import (
    GAP,
    CheckPlan,
    checked_list,
    joined,
    parsed,
)
from evenhand.methods.audit.gate import Gate
from evenhand.methods.audit.levels import LEVEL, with_levels
from evenhand.population.counting.counter import RowCounter
from evenhand.population.counting.decisions import RecordedDecisions
from evenhand.population.log_labels import check_words, words_of_log
from evenhand.population.logs.on_logs import takes_logs
from evenhand.population.recorded import columns_of_sets
from evenhand.runtime import number_text
from evenhand.runtime.errors import DataError, UsageError, clip
from evenhand.runtime.label_text import shown
from evenhand.scores.numbers.recorded import holds_numbers
from evenhand.space.feature_sets import sets_of, spelled_out
from evenhand.verbs import VERBS

if TYPE_CHECKING:
    from collections.abc import Sequence
    from contextlib import AbstractContextManager
    from os import PathLike

    from evenhand.methods.audit.audit_result import Audit
    from evenhand.population.logs.source import Log
    from evenhand.population.source import Source
    from evenhand.results.evidence import Finding
    from evenhand.results.protocol import Evidence
    from evenhand.space.feature_sets import Over

TOGETHER = ("mine_log",)
"""The jobs that look at all protected columns together, and not at each by itself."""
COUNTING = ("impact", "measure_log")
"""The jobs that share what was counted of the rows."""
ERROR_RATES = ("measure_log",)
"""The jobs that tell error rates; others do where their check names the truth or a metric, as the
intervals of everything that is told get wider with it.
"""
JUDGED = ("selection_rate", "true_positive_rate", "false_positive_rate")
"""The rates that the usual limit is for, where it is known what decisions should have been."""
JUDGED_NUMBERS = ("mean", "median", "mean_error")
"""The same of outcomes that are numbers."""


@dataclass(frozen=True)
class DecisionLog:
    """Recorded decisions, and what is said of them; in an audit they stand for the software."""

    executed: ClassVar[int] = 0
    """How many inputs were run: nothing is asked of a log."""

    frame: Any = field(repr=False)
    outcome: str
    over: tuple[str, ...]
    positive: Any = None
    truth: str | None = None
    truth_positive: Any = None
    bins: Mapping[str, Any] = field(default_factory=dict)
    labels: Mapping[str, Mapping[Any, str]] = field(default_factory=dict)
    """What people call the values of columns, the outcome included."""
    file: str = ""
    """The file that the decisions are in, empty where they are a dataframe."""
    digest: str = ""
    """The sha256 of that file; empty where it is none."""
    opened: Log | None = field(default=None, repr=False)
    """The log that was opened where it lies, where it was."""

    @property
    def source(self) -> Mapping[str, Any]:
        """Where a log lies that was opened, and the engine that reads it."""
        return {} if self.opened is None else self.opened.fields

    def guarded(self) -> AbstractContextManager[None]:
        """Turn what an engine says while it reads into errors of one sentence."""
        return nullcontext() if self.opened is None else self.opened.guarded()

    def close(self) -> None:
        """Close what was opened."""
        if self.opened is not None:
            self.opened.close()

    @property
    def name(self) -> str:
        """The decisions in a few words."""
        return self.file or messages.RECORDED_DECISIONS

    @property
    def columns(self) -> tuple[str, ...]:
        """The columns that the audit is about."""
        truth = () if self.truth is None else (self.truth,)
        return tuple(dict.fromkeys((self.outcome, *self.over, *truth)))

    def settings(self, job: str, *, with_truth: bool = False) -> dict[str, Any]:
        """Return what a job is told of the decisions, as far as it takes it."""
        described = {
            "outcome": self.outcome,
            "positive": self.positive,
            "truth": self.truth,
            "truth_positive": self.truth_positive,
            "bins": self.bins,
            "labels": self.labels or None,
        }
        taken = VERBS[job].options.python
        if job not in ERROR_RATES and not with_truth:
            described["truth"] = None
            described["truth_positive"] = None
        known = {}
        for key, value in described.items():
            if value is not None:
                known[key] = value
        return {key: value for key, value in known.items() if key in taken}

    def settings_of_twins(self, settings: Mapping[str, Any]) -> dict[str, Any]:
        """Return what a comparison of twins is told: the truth is nothing that the software saw."""
        kept = {key: value for key, value in settings.items() if "truth" not in key}
        known_later = (self.outcome, self.truth)
        columns = self.counter.table.collect_schema()
        kept["features"] = [name for name in columns if name not in known_later]
        return kept

    def sets(self, job: str) -> list[tuple[str, ...]]:
        """Return the sets of columns that a job looks at where its check names none."""
        if job in TOGETHER:
            return [self.over]
        return [(name,) for name in self.over]

    @cached_property
    def counter(self) -> RowCounter:
        """What counts the rows, once for all checks that can share it."""
        counter = RowCounter.of(self.frame)
        known = list(counter.table.collect_schema())
        together = tuple(name for name in self.columns if name in known)
        bins = _only(self.bins, together)
        return RowCounter(counter.table, together, bins)

    @cached_property
    def of_numbers(self) -> bool:
        """Whether outcomes are numbers on a scale, of which none is favourable."""
        settings = (self.truth, self.truth_positive, self.bins)
        decisions = RecordedDecisions(self.counter, self.outcome, *settings)
        return holds_numbers(decisions, self.positive, lambda: self.sets(""))

    @property
    def judged(self) -> tuple[str, ...]:
        """What the usual limit is for, where it is known what decisions should have been."""
        return JUDGED_NUMBERS if self.of_numbers else JUDGED

    def note(self) -> str:
        """Return what was audited, as a sentence."""
        rows = number_text.count(self.counter.rows)
        if self.of_numbers:
            numbers = messages.LOG_OF_NUMBERS.format(rows=rows, outcome=self.outcome)
            if self.truth is None:
                return numbers
            return numbers + messages.LOG_TRUE_NUMBERS.format(truth=self.truth)
        words = words_of_log(self.counter.table, self.labels, self.bins, check=False)
        check_words(self.counter, words, self.bins)
        favourable = 1 if self.positive is None else self.positive
        named = shown(favourable, words.get(self.outcome))
        decisions = messages.LOG.format(
            rows=rows, outcome=self.outcome, favourable=clip(str(named))
        )
        if self.truth is None:
            return decisions
        true_one = favourable if self.truth_positive is None else self.truth_positive
        true_word = shown(true_one, words.get(self.truth))
        truth = messages.LOG_TRUTH.format(truth=self.truth, favourable=clip(str(true_word)))
        return decisions + truth


@dataclass(frozen=True, slots=True)
class LogPlan(CheckPlan):
    """One run of a job on recorded decisions."""

    def run(
        self,
        subject: Any,
        source: Source | None = None,
        *,
        seed: int = 0,
        n_jobs: int = 1,
        progress: bool | None = None,
        known: Sequence[Finding] = (),
    ) -> Evidence:
        """Run the check, as the verb of its name would."""
        log: DecisionLog = subject
        settings = self.settings_for(log)
        frame = log.counter if self.job in COUNTING else log.frame
        try:
            with log.guarded():
                found: Evidence = VERBS[self.job].function(frame, **settings, seed=seed)
        except DataError as error:
            if not log.file:
                raise
            raise DataError(f"{log.file}: {error}") from error
        return found

    def settings_for(self, log: DecisionLog) -> dict[str, Any]:
        """Return what the verb is told of the decisions, and of the check."""
        with_truth = any(key in self.settings for key in ("metric", "score", "truth"))
        described = log.settings(self.job, with_truth=with_truth)
        if self.settings.get("kind") == "causal":
            described = log.settings_of_twins(described)
        settings = {**described, **self.options}
        if "bins" in settings and "bins" not in self.settings:
            columns = list(log.counter.table.collect_schema())
            compared = columns_of_sets(spelled_out(self.settings["over"], columns))
            settings["bins"] = _only(log.bins, compared)
        return settings


def _only(bins: Mapping[str, Any], columns: Sequence[str]) -> dict[str, Any]:
    """Return the bins of the columns that a check compares."""
    return {name: cuts for name, cuts in bins.items() if name in columns}


def protected_columns(over: Sequence[str], bins: Mapping[str, Any]) -> tuple[str, ...]:
    """Return the protected columns; one that is cut into groups is compared as well.

    >>> protected_columns(["sex"], {"age": [25, 40]})
    ('sex', 'age')
    """
    return columns_of_sets([tuple(over), tuple(bins)])


def usual_of_log(log: DecisionLog) -> list[dict[str, Any]]:
    """Return the checks that are run where none are declared.

    >>> log = DecisionLog(None, "approved", ("sex", "race"))
    >>> [check["job"] for check in usual_of_log(log)]
    ['impact', 'measure_log', 'mine_log']
    """
    rates: dict[str, Any] = {"job": "measure_log", "limit": GAP}
    if log.truth is not None:
        rates["metric"] = list(log.judged)
    return [{"job": "impact"}, rates, {"job": "mine_log", "limit": GAP}]


def plans_of_log(
    log: DecisionLog,
    checks: Sequence[Mapping[str, Any]] | None,
    *,
    where: str = "",
    written: bool = False,
) -> list[CheckPlan]:
    """Return the runs of the checks of a log, the usual ones where none are given."""
    tables = usual_of_log(log) if checks is None else checks
    every = []
    for number, table in enumerate(tables, start=1):
        every.append(parsed(number, table, log=True, where=where, written=written))
    plans: list[CheckPlan] = []
    for plan in joined(every):
        settings = {"over": log.sets(plan.job), **plan.settings}
        plans.append(LogPlan(plan.job, settings))
    return plans


def audited(
    log: DecisionLog,
    plans: Sequence[CheckPlan],
    *,
    seed: int = 0,
    **common: Any,
) -> Audit:
    """Run the checks of a log; `common` goes to `run_all`."""
    notes = (log.note(),)
    return run_all(log, None, plans, seed=seed, **{"notes": notes, **common})


@LOG.checked
@takes_logs
def audit_log(
    frame: Any,
    *,
    outcome: str,
    over: Over,
    positive: Any = None,
    truth: str | None = None,
    truth_positive: Any = None,
    bins: Mapping[str, Any] | None = None,
    labels: Mapping[str, Mapping[Any, str]] | None = None,
    checks: Sequence[Mapping[str, Any]] | None = None,
    level: float = LEVEL,
    baseline: Audit | str | PathLike[str] | None = None,
    tolerance: float | None = None,
    seed: int = 0,
    progress: bool | None = None,
) -> Audit:
    """Run all checks of recorded decisions, and bring them under one verdict.

    No software is asked. By default these are `impact` (selection rates and impact ratios of each
    protected column, and of all of them together), `measure_log` of each column by itself, and
    `mine_log` of all of them together.

    Parameters
    ----------
    frame
        Any dataframe that narwhals reads, or a log that `open_log` opens: a path, an address.
    outcome, positive
        The column of decisions and the favourable one of them; by default 1 or True.
    over
        The protected columns; those that `bins` cuts into groups are compared too.
    truth, truth_positive
        The column of what decisions should have been, for error rates, and which of its values
        stands for the favourable outcome; by default the same as `positive`.
    bins
        Where columns of numbers or dates are cut into groups, as for `measure_log`.
    labels
        What people call the values of columns, such as ``{"sex": {0: "female", 1: "male"}}``; that
        of the outcome has labels for outcomes.
    checks
        What to run instead, as ``[[checks]]`` of a configuration with a ``[log]`` table say it:
        ``{"job": "measure_log", "limit": 0.1}`` and so on.
    level
        The level at which everything that the audit says holds together, as for `audit`.
    baseline
        An older audit of the same checks: what is clearly worse than it was fails, and what is
        surely not worse passes.
    tolerance
        How much higher a rate may be than in the baseline; by default a fifth of its limit.
    seed, progress
        Kept with the result, and whether to show progress; nothing is drawn here.

    Returns
    -------
    Audit
        What every check found, with one verdict and one exit code.

    Raises
    ------
    UsageError
        Where an option, a check or the baseline is not valid.
    DataError
        Where the frame cannot be read, or lacks a column.

    See Also
    --------
    audit : The same for software that can be asked. See docs/how-to/recorded-decisions.md.

    Examples
    --------
    >>> import pandas as pd
    >>> women = pd.DataFrame({"sex": "F", "granted": [1] * 300 + [0] * 700})
    >>> men = pd.DataFrame({"sex": "M", "granted": [1] * 700 + [0] * 300})
    >>> found = audit_log(pd.concat([women, men]), outcome="granted", over="sex")
    >>> print(found)
    impact sex: no limit given
    measure_log sex: fail
    mine_log sex: fail
    """
    gate = Gate.of(baseline, tolerance=tolerance)
    cuts = _checked_bins(bins)
    names = protected_columns(columns_of_sets(_sets(over)), cuts)
    table = RowCounter.of(frame).table
    words = words_of_log(table, labels, cuts, check=False)
    log = DecisionLog(frame, outcome, names, positive, truth, truth_positive, cuts, words)
    if words:
        log.counter.prepare()
        check_words(log.counter, words, cuts)
    plans = with_levels(plans_of_log(log, checked_list(checks)), level)
    found = audited(log, plans, seed=seed, progress=progress)
    return gate.held(found)


def _checked_bins(bins: Any) -> dict[str, Any]:
    """Return bins by column, or refuse what is no table of them."""
    if bins is None:
        return {}
    if not isinstance(bins, Mapping):
        raise UsageError(messages.LOG_BINS.format(bins=clip(repr(bins))))
    return dict(bins)


def _sets(over: Any) -> list[tuple[str, ...]]:
    """Return the sets that `over` names, or refuse what names none."""
    try:
        sets = sets_of(over or ())
    except TypeError:
        sets = []
    if not sets or not all(sets):
        raise UsageError(messages.LOG_OVER_NOTHING.format(over=clip(repr(over))))
    return sets
