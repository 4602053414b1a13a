"""audit: every check of a piece of software, one after another, under one verdict."""

from __future__ import annotations

import time
from collections.abc import Mapping
from dataclasses import dataclass, replace
from functools import partial
from math import isfinite
from os import PathLike
from pathlib import Path
from typing import TYPE_CHECKING, Any

from evenhand.methods.audit import AUDIT, messages
from evenhand.methods.audit.audit_result import Audit, unlike
from evenhand.methods.audit.check_result import CheckResult
from evenhand.methods.audit.checks import checked_list, holds_together, planned
from evenhand.methods.audit.gate import Gate
from evenhand.methods.audit.levels import LEVEL, with_levels
from evenhand.methods.audit.same_questions import known_findings, one_answer
from evenhand.methods.audit.tested import tested_by
from evenhand.population.remembered import remembered, remembered_frame
from evenhand.population.rows import Rows, rows
from evenhand.population.source import Real, as_pandas
from evenhand.runtime import number_text
from evenhand.runtime.budget import Spent, checked_budget
from evenhand.runtime.errors import (
    INTERNAL_ERROR,
    INTERRUPTED,
    EvenhandError,
    SubjectError,
    UsageError,
    clip,
    one_line,
    place_of,
)
from evenhand.runtime.progress import Progress, progress_bar
from evenhand.runtime.table_file import read_frame
from evenhand.space.feature import plain
from evenhand.subject.subject import Subject, as_subject
from evenhand.verbs import AUDIT_FILE, BUNDLE_FILE, VERBS

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

    from evenhand.methods.audit.checks import CheckPlan
    from evenhand.methods.audit.log import DecisionLog
    from evenhand.population.samplers import Sampler
    from evenhand.population.source import Source
    from evenhand.results.protocol import Evidence
    from evenhand.runtime.budget import Budget
    from evenhand.space.space import Space
    from evenhand.texts.real_texts import Texts
    from evenhand.texts.text_subject import TextSubject


@AUDIT.options.checked
def audit(
    subject: Any,
    space: Space | None = None,
    *,
    checks: Sequence[Mapping[str, Any]] | None = None,
    data: Any = None,
    sampler: Sampler | None = None,
    level: float | None = None,
    baseline: Audit | str | PathLike[str] | None = None,
    tolerance: float | None = None,
    keep_answers: bool | None = None,
    bundle: str | PathLike[str] | None = None,
    budget: Budget | None = None,
    seed: int = 0,
    n_jobs: int = 1,
    progress: bool | None = None,
) -> Audit:
    """Run all checks of a piece of software, and bring them under one verdict.

    Parameters
    ----------
    subject, space
        A Subject, or a fitted model or function with its space; or the path of a configuration
        file, which declares all of this, as for ``evenhand audit``.
    checks
        What to run, as ``[[checks]]`` of a configuration say it: ``{"job": "measure", "over":
        ["sex"], "limit": 0.05}`` and so on, with the options of that verb. By default each
        protected feature is measured and searched, their sets are looked at, and of real rows the
        selection rates are told and the subgroups are mined.
    data
        Real rows, any dataframe: whom scores describe, where a search starts, and what rates are
        taken from. By default those that the space remembers.
    sampler
        The population that scores describe; by default the real rows, and all inputs where there
        are none.
    level
        The level at which everything that the audit says holds together, 0.95 unless a file says
        otherwise. Its error is shared out among the checks that are not certain, in equal parts or
        by the ``weight`` of each; a check with a ``level`` of its own keeps it.
    baseline
        An older audit of the same checks: what is clearly worse than it was fails, and what is
        surely not worse passes.
    tolerance
        How much higher a rate may be than in the baseline; by default a fifth of its limit.
    keep_answers
        Keep how the first draws of each score were answered, a bit each, so that the next version
        is asked the same inputs. By default the answers of software in this process are kept, and
        those of any software with a baseline. It takes 100 / tolerance draws of each score that is
        sampled, from 2,000 to 20,000, and 5 / tolerance where each input costs a process or a
        request.
    bundle
        A .zip file to write an evidence bundle to, of the audit of a configuration file; `verify`
        checks it. The software is then asked by one process.
    budget
        What each check may spend.

    Returns
    -------
    Audit
        What every check found, with one verdict and one exit code.

    Raises
    ------
    UsageError
        Where an option, a check or the baseline is not valid, or the first check cannot be run.

    Notes
    -----
    See docs/how-to/audit.md.

    Examples
    --------
    >>> from evenhand.space.feature import category, integer
    >>> from evenhand.space.space import Space
    >>> space = Space([category("sex", ["F", "M"]), integer("age", 18, 90)], protected=["sex"])
    >>> found = audit(lambda people: (people["age"] > 40) & (people["sex"] == "M"), space)
    >>> print(found)
    measure sex: fail
    search sex: no limit given
    """
    gate = Gate.of(baseline, tolerance=tolerance, keep_answers=keep_answers)
    checks = checked_list(checks)
    bounds = checked_budget(budget)
    common: dict[str, Any] = {
        "seed": seed,
        "n_jobs": n_jobs,
        "progress": progress,
        "gate": gate,
    }
    if isinstance(subject, str | PathLike):
        _refuse_with_file(space=space, data=data, sampler=sampler)
        if bundle is not None:
            return _into_bundle(subject, bundle, checks, bounds, level=level, **common)
        common["n_jobs"] = (
            None if n_jobs == 1 else n_jobs
        )  # the file may say another number
        found: Audit = AUDIT_FILE(
            subject, checks=checks, budget=bounds, level=level, **common
        )
    else:
        if bundle is not None:
            raise UsageError(messages.BUNDLE_NEEDS_A_FILE.format(bundle=repr(str(bundle))))
        if _takes_texts(subject):
            raise UsageError(messages.TEXTS_NEED_A_FILE)
        tested = as_subject(subject, space)
        if data is None:
            data = remembered_frame(tested.space)
        source = FrameSource(tested.space, data, sampler)
        # Selection rates need one column of decisions, and the columns of a dataframe.
        has_rates = not isinstance(data, Rows) and not tested.outputs
        plans = planned(
            tested.space, checks, bounds, real=data is not None, rates=has_rates
        )
        levelled = with_levels(plans, LEVEL if level is None else level)
        found = run_all(tested, source, levelled, **common)
    return gate.held(found)


def _into_bundle(
    file: str | PathLike[str],
    bundle: str | PathLike[str],
    checks: Sequence[Mapping[str, Any]] | None,
    bounds: Budget,
    *,
    n_jobs: int,
    **common: Any,
) -> Audit:
    """Run the audit of a configuration file in one process, and write its bundle."""
    del n_jobs  # answers are recorded in the order in which one process asks
    if checks is not None or bounds.findings is not None:
        raise UsageError(messages.BUNDLE_WITHOUT_CHECKS)
    found: Audit = BUNDLE_FILE(file, bundle, budget=bounds, **common)
    return found


def _refuse_with_file(**options: Any) -> None:
    """Refuse options that a configuration file declares itself."""
    for name, value in options.items():
        if value is not None:
            raise UsageError(messages.NOT_WITH_A_FILE.format(name=name))


def _takes_texts(subject: Any) -> bool:
    from evenhand.texts.text_subject import TextSubject  # imported where it is used

    return isinstance(subject, TextSubject)


@dataclass(frozen=True)
class FrameSource:
    """Real rows that were given as a dataframe, and the population that scores are about."""

    space: Space
    data: Any = None
    sampler: Sampler | None = None
    where: str = "data"

    @property
    def texts(self) -> Texts:
        """Refuse, since there are no texts."""
        raise UsageError(messages.NO_TEXTS)

    def population(self) -> Sampler | None:
        """Return the sampler that was given, or else the rows."""
        if self.sampler is not None or self.data is None:
            return self.sampler
        if self.data is remembered_frame(self.space):
            return None  # which is these rows, with their name
        return self.start()[0]

    def start(self, path: Any = None) -> tuple[Rows | None, list[str]]:
        """Return the rows that were given, or those of a file."""
        frame = self.real(path).rows
        if frame is None or isinstance(frame, Rows):
            return frame, []
        if frame is remembered_frame(self.space):
            return remembered(self.space), []
        return rows(frame), []

    def real(self, path: Any = None) -> Real:
        """Return the rows as they were given, or those of a file or a frame that a check names."""
        if isinstance(path, str | PathLike):
            return Real(Path(path), read_frame(path))
        frame = self.data if path is None else path
        return Real(Path("data"), frame)

    def frame(self, path: Any = None) -> Real:
        """Return the rows as a frame."""
        real = self.real(path)
        if isinstance(real.rows, Rows):
            raise UsageError(messages.ROWS_WITHOUT_COLUMNS)
        if real.rows is None:
            return real
        return replace(real, rows=as_pandas(real.rows))

    def other(self, model: Any, subject: Subject) -> Subject:
        """Wrap another model as the one under test is wrapped."""
        if isinstance(model, Subject):
            return model
        return Subject(
            model, self.space, positive=subject.positive, differs=subject.differs
        )


def run_all(
    subject: Subject | TextSubject | DecisionLog,
    source: Source | None,
    plans: Sequence[CheckPlan],
    *,
    seed: int = 0,
    n_jobs: int = 1,
    progress: bool | None = None,
    gate: Gate | None = None,
    each: Callable[[int, CheckResult], None] | None = None,
    **details: Any,
) -> Audit:
    """Run checks one after another; software that fails in one of them is asked again in the next.

    A mistake in the first check is raised. A later one becomes the result of its check, so that
    nothing found is lost. `gate` says which answers are kept. `each` is called with the number of
    checks and each that is done.
    """
    if not plans:
        raise UsageError(messages.NOTHING_TO_RUN)
    begun = time.monotonic()
    executed_before = subject.executed
    names = _names(plans)
    done: dict[int, CheckResult] = {}
    with progress_bar(show=progress) as hook:
        for number in _order(plans):
            plan = plans[number]
            if hook is not None:
                hook(_progress(names[number], len(done), len(plans)))
            run = partial(
                plan.run,
                subject,
                source,
                seed=seed,
                n_jobs=n_jobs,
                progress=progress,
                known=known_findings(done.values()),
            )
            check = _result_of(plan, names[number], run, first=not done)
            if gate is not None:
                check = gate.keeping(check, subject, source, seed)
            done[number] = check
            if each is not None:
                each(len(plans), check)
            if check.interrupted:
                break
    checks = [done[number] for number in sorted(done)]
    queries = sum(check.queries for check in checks)
    spent = Spent(queries, subject.executed - executed_before, time.monotonic() - begun)
    missed = [name for number, name in enumerate(names) if number not in done]
    about = {
        "subject": subject.name,
        "space": subject.space.to_dict() if isinstance(subject, Subject) else {},
        "tested": tested_by(subject, source),
        "notes": (
            *_notes_of_learnt(subject),
            *_notes_of_kept(checks),
            *_notes_of_discoveries(checks),
            *_notes_of_missed(missed),
        ),
    }
    return Audit(tuple(one_answer(checks)), seed, spent, **{**about, **details})


def _names(plans: Sequence[CheckPlan]) -> list[str]:
    """Return a name for each check that no other has."""
    names: list[str] = []
    for plan in plans:
        names.append(unlike(plan.name, names))
    return names


def _order(plans: Sequence[CheckPlan]) -> list[int]:
    """Return in which order checks are run: all sets come after the sets that are named.

    What is known of those by then is not asked again.
    """
    verbs = [VERBS[plan.job] for plan in plans]
    last = max((number for number, verb in enumerate(verbs) if verb.scores), default=-1)
    first = [number for number in range(last + 1) if not verbs[number].by_sets]
    after = [number for number in range(len(plans)) if number not in first]
    return [*first, *after]


def _progress(name: str, number: int, plans: int) -> Progress:
    text = messages.PROGRESS.format(number=number + 1, all=plans, name=clip(name, 40))
    return Progress("audit", number / plans, text)


def _result_of(
    plan: CheckPlan,
    name: str,
    run: Callable[[], Evidence],
    *,
    first: bool,
) -> CheckResult:
    """Return what came of a check; an error of the first one is raised, as nothing is lost."""
    settings = {}
    for key, value in plan.settings.items():
        settings[key] = _json_value(value)
    try:
        return CheckResult(name, plan.job, settings, run()).levelled()
    except EvenhandError as error:
        if first and not isinstance(error, SubjectError):
            raise
        reason = one_line(error)
        return CheckResult(name, plan.job, settings, error=reason, code=error.exit_code)
    except KeyboardInterrupt:
        if first:
            raise
        reason = messages.INTERRUPTED
        return CheckResult(name, plan.job, settings, error=reason, code=INTERRUPTED)
    except Exception as error:
        if first:
            raise
        words = clip(f"{type(error).__name__}: {error}")
        reason = messages.INTERNAL_ERROR.format(error=words, place=place_of(error))
        return CheckResult(name, plan.job, settings, error=reason, code=INTERNAL_ERROR)


def _notes_of_learnt(subject: Subject | TextSubject | DecisionLog) -> tuple[str, ...]:
    """Return the note on what was learnt from the rows of the space."""
    if not isinstance(subject, Subject) or not subject.space.learnt:
        return ()
    texts = "; ".join(constraint.text for constraint in subject.space.learnt)
    return (messages.LEARNT.format(constraints=texts),)


def _notes_of_kept(checks: Sequence[CheckResult]) -> tuple[str, ...]:
    """Return notes on checks whose answers could not be kept."""
    notes = []
    for check in checks:
        if check.not_kept:
            notes.append(messages.NOT_KEPT.format(name=check.name, reason=check.not_kept))
    return tuple(notes)


def _notes_of_discoveries(checks: Sequence[CheckResult]) -> tuple[str, ...]:
    """Return notes on checks whose findings do not hold together, though few of them are false."""
    notes = []
    for check in checks:
        if check.found is not None and not holds_together(check.settings):
            error = number_text.percent_figures(1 - check.level, 4)
            notes.append(messages.DISCOVERIES.format(name=check.name, error=error))
    return tuple(notes)


def _notes_of_missed(names: Sequence[str]) -> tuple[str, ...]:
    """Return the note on checks that an interrupted audit did not come to."""
    if not names:
        return ()
    return (messages.INTERRUPTED_BEFORE.format(checks=", ".join(names)),)


def _json_value(value: Any) -> Any:
    """Return a setting as JSON holds it; a model or a frame is the name of its class."""
    if isinstance(value, Mapping):
        return {str(key): _json_value(item) for key, item in value.items()}
    if isinstance(value, list | tuple | set):
        return [_json_value(item) for item in value]
    value = plain(value)
    if isinstance(value, float) and not isfinite(value):
        return str(value)
    if value is None or isinstance(value, str | int | float | bool):
        return value
    return type(value).__name__
