"""plan: what every check of an audit is going to take, before it is run."""

from __future__ import annotations

import time
from dataclasses import dataclass, field
from os import PathLike
from typing import TYPE_CHECKING, Any

from evenhand.methods.audit.audit import FrameSource
from evenhand.methods.audit.checks import checked_list, planned, verb_for
from evenhand.methods.audit.log import DecisionLog, LogPlan
from evenhand.methods.plan import PLAN, messages
from evenhand.methods.plan.cost import Costs
from evenhand.population.remembered import remembered_frame
from evenhand.population.rows import Rows
from evenhand.population.samplers import Draws, Uniform, checked_sampler
from evenhand.results.result import Result
from evenhand.runtime.budget import Budget, Spent, checked_budget
from evenhand.runtime.errors import EvenhandError, SubjectError, UsageError, one_line
from evenhand.runtime.workers import Workers
from evenhand.scores.planning.forecast import Forecast, Ground, Way
from evenhand.scores.planning.power import POWER
from evenhand.statistics.estimate import StopReason
from evenhand.subject.subject import Subject, as_subject
from evenhand.subject.view import View
from evenhand.verbs import BUDGET, PLAN_FILE

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from evenhand.methods.audit.checks import CheckPlan
    from evenhand.population.samplers import Sampler
    from evenhand.population.source import Source
    from evenhand.space.space import Space
    from evenhand.texts.text_subject import TextSubject
    from evenhand.verbs import Verb

FEW, MANY = 32, 256
"""Inputs that are asked to measure the speed, and where the first of them were quick."""
NOT_TIMED = 8
"""The first of them, which may have to wait for the software to start."""
QUICK = 0.1
"""Seconds that the first of them may take to be quick."""


@PLAN.options.checked
def plan(
    subject: Any,
    space: Space | None = None,
    *,
    checks: Sequence[Mapping[str, Any]] | None = None,
    data: Any = None,
    sampler: Sampler | None = None,
    budget: Budget | None = None,
    seed: int = 0,
    n_jobs: int = 1,
) -> Result:
    """Tell what an audit is going to take, and what it can see, without running it.

    At most 256 inputs are asked, to measure how fast the software answers and how often the answer
    is favourable. They are counted in ``spent``.

    Parameters
    ----------
    subject, space, checks, data, sampler, budget, seed, n_jobs
        As for `audit`; the path of a configuration file may have a ``[log]`` of recorded decisions
        instead of software.

    Returns
    -------
    Result
        Without findings and without a verdict. ``to_frame()`` holds for each question of each check
        how it is answered, how many inputs are expected and at most, the seconds at the measured
        speed, in one process and at best in `n_jobs`, and about how many bytes of memory it takes.
        ``details["plan"]`` holds besides what it takes by score, and the smallest difference that
        is seen with a probability of 80 %. ``spent`` is what the measuring of the speed took.

    Raises
    ------
    UsageError
        If an option or a check is not valid.
    SubjectError
        If the software under test fails.

    See Also
    --------
    audit : Runs the checks.
    needed : How many inputs one score takes. See docs/how-to/plan.md.

    Examples
    --------
    >>> from evenhand.space.feature import category, integer
    >>> from evenhand.space.space import Space
    >>> space = Space([category("sex", ["F", "M"]), integer("age", 18, 90)], protected=["sex"])
    >>> found = plan(lambda people: people["age"] > 40, space)
    >>> found.to_frame()[["job", "about", "how"]].values.tolist()
    [['measure', 'sex', 'every input'], ['search', 'sex', 'every input']]
    """
    checks = checked_list(checks)
    bounds = checked_budget(budget)
    if isinstance(subject, str | PathLike):
        found: Result = PLAN_FILE(
            subject, checks=checks, budget=bounds, seed=seed, n_jobs=n_jobs
        )
        return found
    tested = as_subject(subject, space)
    if data is None:
        data = remembered_frame(tested.space)
    source = FrameSource(tested.space, data, sampler)
    has_rates = not isinstance(data, Rows) and not tested.outputs
    plans = planned(tested.space, checks, bounds, real=data is not None, rates=has_rates)
    return foretold(tested, source, plans, seed=seed, n_jobs=n_jobs)


@dataclass(frozen=True, slots=True)
class Speed:
    """How fast software answers, and how often favourably."""

    asked: int = 0
    seconds: float = 0.0
    """Seconds for each input."""
    base: float | None = None
    costs: Costs = field(default_factory=Costs)


def foretold(
    subject: Any,
    source: Source | None,
    plans: Sequence[CheckPlan],
    *,
    seed: int = 0,
    n_jobs: int = 1,
    speed: Speed | None = None,
) -> Result:
    """Return the forecasts of all checks; the speed is measured where it is not known."""
    if not plans:
        raise UsageError(messages.NOTHING_TO_RUN)
    is_software = not isinstance(subject, DecisionLog)
    executed_before = subject.executed if is_software else 0
    width = Workers(n_jobs).width
    if speed is None:
        speed = measured_speed(subject, source, seed, width)
    checks = []
    notes = []
    unhelped: dict[str, list[str]] = {}
    for check in plans:
        parts, reason = _parts(check, subject, source, speed, seed)
        if reason:
            notes.append(messages.NOT_FORESEEN.format(check=check.name, reason=reason))
        shares = bool(_verb_of(check, subject).bounds)
        entries, alone = speed.costs.priced(parts, shares=shares)
        if alone:
            unhelped.setdefault(alone, []).append(check.name)
        title = " ".join([str(check.settings.get("kind", "")), check.job]).strip()
        checks.append(
            {"name": check.name, "title": title, "job": check.job, "parts": entries}
        )
    for reason, names in unhelped.items():
        notes.append(messages.NO_HELP.format(checks="; ".join(names), reason=reason))
    if width > 1 and is_software:
        notes.append(messages.WORKERS_HOLD.format(n_jobs=width))
    details = {"checks": checks, "base": speed.base, "power": POWER, "n_jobs": width}
    executed = subject.executed - executed_before if is_software else 0
    return Result(
        "plan",
        [],
        seed,
        Spent(speed.asked, executed, _whole_ticks(speed.asked * speed.seconds)),
        StopReason.COMPLETED,
        subject.space.to_dict() if isinstance(subject, Subject) else {},
        notes,
        details={"plan": details},
    )


def _whole_ticks(seconds: float) -> float:
    """Return a time as JSON holds it, so that what is told of it is the same from a file.

    >>> _whole_ticks(0.00012), _whole_ticks(1.23456)
    (0.001, 1.235)
    """
    return max(0.001, round(seconds, 3)) if seconds else 0.0


def _parts(
    check: CheckPlan, subject: Any, source: Source | None, speed: Speed, seed: int
) -> tuple[list[Forecast], str]:
    """Return the forecasts of a check, and why there are none where there are none."""
    unknown = [Forecast("", Way.UNKNOWN)]
    verb = _verb_of(check, subject)
    if verb.forecast is None:
        return unknown, messages.NO_FORECAST
    settings = dict(check.settings)
    tested = subject
    if isinstance(check, LogPlan):
        settings = check.settings_for(subject)
        tested = subject.frame
    bounds = {key: settings.pop(key, None) for key in BUDGET}
    ground = Ground(tested, source, Budget(**bounds), seed, speed.base)
    try:
        return list(verb.forecast(ground, **settings)), ""
    except SubjectError:
        raise
    except EvenhandError as error:
        # The check itself would say the same, and must not keep others from being foreseen.
        return unknown, one_line(error)


def _verb_of(check: CheckPlan, subject: Any) -> Verb:
    return verb_for(check.job, texts=not isinstance(subject, Subject | DecisionLog))


def measured_speed(subject: Any, source: Source | None, seed: int, width: int = 1) -> Speed:
    """Return how fast software answers, of a few inputs; of recorded decisions nothing."""
    if isinstance(subject, Subject):
        return _speed(subject, source, seed, width)
    if isinstance(subject, DecisionLog):
        return Speed()
    assert source is not None
    return _timed(subject, source.texts.examples(MANY), width)


def _speed(subject: Subject, source: Source | None, seed: int, width: int) -> Speed:
    """Ask a few inputs of the population, and more of them where that was quick."""
    given = None if source is None else source.population()
    sampler = checked_sampler(given, subject.space)
    draws = Draws(sampler, subject.space, seed, "plan")
    try:
        points = draws.take(0, MANY)
    except EvenhandError:
        points = Draws(Uniform(), subject.space, seed, "plan").take(0, MANY)
    return _timed(subject, points, width)


def _timed(subject: Subject | TextSubject, inputs: Any, width: int) -> Speed:
    """Ask the first inputs, and the others where that was quick."""
    asked = 0
    for upto in (NOT_TIMED, FEW, MANY):
        begun = time.perf_counter()
        outcomes = subject.decide(inputs[asked:upto])
        seconds = time.perf_counter() - begun
        asked += len(outcomes)
        is_timed = upto > NOT_TIMED and seconds >= QUICK
        if is_timed or asked == len(inputs):
            break
    base = _base(subject, outcomes) if isinstance(subject, Subject) else None
    each = _whole_ticks(asked * seconds / len(outcomes)) / asked
    return Speed(asked, each, base, Costs.of(subject, inputs, each, width))


def _base(subject: Subject, outcomes: Any) -> float | None:
    """Return how often the answer was favourable; None where that is not said of it."""
    if subject.outputs:
        return None
    view = View(subject)
    if not view.counts or view.meaning.measured:
        return None
    return float(view.favourable(outcomes).mean())
