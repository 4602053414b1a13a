"""audit: every check of a piece of software, one after another, under one verdict."""

from __future__ import annotations

import time
from collections.abc import Mapping
from dataclasses import dataclass, replace
from math import isfinite
from os import PathLike
from pathlib import Path
from typing import TYPE_CHECKING, Any

from evenhand.methods.audit import AUDIT
from evenhand.methods.audit.audit_result import Audit, unlike
from evenhand.methods.audit.check_result import CheckResult
from evenhand.methods.audit.checks import planned
from evenhand.population.rows import Rows, rows
from evenhand.population.source import Real, as_pandas
from evenhand.runtime.budget import Progress, Spent, checked_budget, progress_bar
from evenhand.runtime.errors import (
    INTERRUPTED,
    EvenhandError,
    SubjectError,
    UsageError,
    clip,
    one_line,
)
from evenhand.runtime.table_file import read_frame
from evenhand.space.feature import plain
from evenhand.subject.subject import Subject, as_subject
from evenhand.verbs import AUDIT_FILE

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

    from evenhand.methods.audit.checks import Plan
    from evenhand.population.samplers import Sampler
    from evenhand.population.source import Source
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
    baseline: Audit | str | PathLike[str] | None = None,
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
        Real rows, any dataframe; for what needs them, and for a search to start from.
    sampler
        The population that scores speak of; by default all inputs.
    baseline
        An older audit of the same checks: what is not surely worse than it was does not fail.
    budget
        What each check may spend.

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
    old = Audit.from_json(baseline) if isinstance(baseline, str | PathLike) else baseline
    if old is not None and not isinstance(old, Audit):
        raise UsageError(
            f"baseline = {clip(repr(old))} is no audit; give an Audit, or the file of one"
        )
    if isinstance(checks, Mapping | str):
        raise UsageError(f"checks = {clip(repr(checks))} must be a list of checks, even of one")
    if checks is not None and not checks:
        raise UsageError(
            "checks is empty, so there is nothing to run; leave it out for the usual ones"
        )
    bounds = checked_budget(budget)
    common: dict[str, Any] = {"seed": seed, "n_jobs": n_jobs, "progress": progress}
    if isinstance(subject, str | PathLike):
        for name, value in (("space", space), ("data", data), ("sampler", sampler)):
            if value is not None:
                raise UsageError(
                    f"{name} does not go with a configuration file, which declares its own; leave"
                    " it out"
                )
        found: Audit = AUDIT_FILE(subject, checks=checks, budget=bounds, **common)
    else:
        if _takes_texts(subject):
            raise UsageError(
                "texts are audited by a configuration file with a [texts] table; in Python call"
                " mine_text"
            )
        tested = as_subject(subject, space)
        source = Given(tested.space, data, sampler)
        rates = (
            not isinstance(data, Rows) and not tested.outputs
        )  # which have more than one column of decisions
        plans = planned(tested.space, checks, bounds, real=data is not None, rates=rates)
        found = run_all(tested, source, plans, **common)
    return found if old is None else found.against(old, name=_name_of(baseline))


def _takes_texts(subject: Any) -> bool:
    from evenhand.texts.text_subject import TextSubject  # imported where it is used

    return isinstance(subject, TextSubject)


@dataclass(frozen=True)
class Given:
    """Real rows that were given as a dataframe, and the population that scores speak of."""

    space: Space
    data: Any = None
    sampler: Sampler | None = None
    where: str = "data"

    @property
    def texts(self) -> Texts:
        """Say that there are no texts."""
        raise UsageError(
            "texts are tested with mine_text, or by a configuration file with a [texts] table"
        )

    def population(self) -> Sampler | None:
        """Return the sampler that was given."""
        return self.sampler

    def start(self, path: Any = None) -> tuple[Rows | None, list[str]]:
        """Return the rows that were given, or those of a file."""
        given = self.real(path).rows
        if given is None or isinstance(given, Rows):
            return given, []
        return rows(given), []

    def real(self, path: Any = None) -> Real:
        """Return the rows as they were given, or those of a file, or of a frame that a check has
        for itself.
        """
        if isinstance(path, str | PathLike):
            return Real(Path(path), read_frame(path))
        return Real(Path("data"), self.data if path is None else path)

    def frame(self, path: Any = None) -> Real:
        """Return the rows as a frame."""
        real = self.real(path)
        if isinstance(real.rows, Rows):
            raise UsageError(
                "data = rows(…) has no columns but the inputs; give the dataframe itself"
            )
        return real if real.rows is None else replace(real, rows=as_pandas(real.rows))

    def other(self, model: Any, subject: Subject) -> Subject:
        """Wrap another model as the one under test is wrapped."""
        if isinstance(model, Subject):
            return model
        return Subject(model, self.space, positive=subject.positive, differs=subject.differs)


def run_all(
    subject: Subject | TextSubject,
    source: Source,
    plans: Sequence[Plan],
    *,
    seed: int = 0,
    n_jobs: int = 1,
    progress: bool | None = None,
    each: Callable[[int, CheckResult], None] | None = None,
    **told: Any,
) -> Audit:
    """Run checks one after another; software that fails in one of them is asked again in the next.

    A mistake in the first check is raised. In a later one it is told in its place, so that nothing
    found is lost. `each` is called with the number of checks and each that is done.
    """
    if not plans:
        raise UsageError(
            "there is no check to run; write a [[checks]] table, or leave them all out for the"
            " usual ones"
        )
    begun, before, done = time.monotonic(), subject.executed, list[CheckResult]()
    with progress_bar(show=progress) as hook:
        for number, plan in enumerate(plans):
            name = unlike(plan.name, [check.name for check in done])
            if hook is not None:
                hook(
                    Progress(
                        "audit",
                        number / len(plans),
                        f"check {number + 1} of {len(plans)}: {clip(name, 40)}",
                    )
                )
            settings = {key: _written(value) for key, value in plan.settings.items()}
            try:
                found = plan.run(subject, source, seed=seed, n_jobs=n_jobs, progress=progress)
                done.append(CheckResult(name, plan.job, settings, found))
            except EvenhandError as error:
                if not done and not isinstance(error, SubjectError):
                    raise
                done.append(
                    CheckResult(
                        name, plan.job, settings, error=one_line(error), code=error.exit_code
                    )
                )
            except KeyboardInterrupt:
                if not done:
                    raise
                done.append(
                    CheckResult(
                        name, plan.job, settings, error="the run was interrupted", code=INTERRUPTED
                    )
                )
            if each is not None:
                each(len(plans), done[-1])
            if done[-1].interrupted:
                break
    queries = sum(check.found.spent.queries for check in done if check.found is not None)
    spent = Spent(queries, subject.executed - before, time.monotonic() - begun)
    space = subject.space.to_dict() if isinstance(subject, Subject) else {}
    missed = [plan.name for plan in plans[len(done) :]]
    notes = (f"interrupted before: {', '.join(missed)}",) if missed else ()
    return Audit(
        tuple(done),
        seed,
        spent,
        **{"subject": _called(subject), "space": space, "notes": notes, **told},
    )


def _called(subject: Subject | TextSubject) -> str:
    """Return what was tested in a few words: of a program its command, without the folders that it
    lies in.
    """
    argv = getattr(getattr(subject, "adapter", None), "argv", None)
    return clip(" ".join(Path(part).name or part for part in argv), 80) if argv else subject.name


def _written(value: Any) -> Any:
    """Return a setting as JSON holds it: models and frames by a word."""
    if isinstance(value, Mapping):
        return {str(key): _written(one) for key, one in value.items()}
    if isinstance(value, list | tuple | set):
        return [_written(one) for one in value]
    value = plain(value)
    if isinstance(value, float) and not isfinite(value):
        return str(value)
    return (
        value
        if value is None or isinstance(value, str | int | float | bool)
        else type(value).__name__
    )


def _name_of(baseline: Any) -> str:
    return Path(baseline).name if isinstance(baseline, str | PathLike) else ""
