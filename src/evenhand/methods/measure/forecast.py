"""What measure, prevalence and measure_log are going to take, and what they can see."""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING, Any

from evenhand.methods.measure import measure as verb
from evenhand.methods.measure.recorded import measure_log
from evenhand.methods.measure.uniform_beside import QUERIES, is_cheap
from evenhand.population.samplers import Uniform, checked_sampler
from evenhand.population.source import as_pandas
from evenhand.scores.chance.watch import EVERY, HITS, HITS_EXPENSIVE, pairs_after
from evenhand.scores.kinds import questions_of
from evenhand.scores.planning.forecast import Forecast, Ground, Way, with_overhead, within
from evenhand.scores.planning.questions import foreseen
from evenhand.scores.planning.recorded import PlantedDecisions, base_rate
from evenhand.scores.question import Terms
from evenhand.scores.rates.groups import TRIED
from evenhand.scores.sampling_loop import CHECKED
from evenhand.space.feature_sets import feature_sets
from evenhand.statistics.estimate import Verdict

if TYPE_CHECKING:
    from collections.abc import Sequence

    from evenhand.population.samplers import Sampler
    from evenhand.results.evidence import Finding
    from evenhand.scores.question import Question

TWICE = 2 * CHECKED
"""Inputs that are asked to see whether the software answers the same input the same way."""


def measure(
    ground: Ground,
    *,
    over: Any = None,
    kind: str = "causal",
    truth: Any = None,
    level: float = 0.95,
    margin: float | None = None,
    limit: float | None = None,
    interval: str | None = None,
    exact: bool | None = None,
    units: str = "spread",
    **_others: Any,
) -> list[Forecast]:
    """Return what each question takes."""
    assert ground.source is not None
    given = ground.source.population()
    if truth is not None:
        return [_all_rows(ground)]
    space = ground.subject.space
    sampler = checked_sampler(given, space)
    questions = questions_of(ground.subject, kind, feature_sets(space, over))
    among = sum(question.answers for question in questions)
    terms = Terms(
        sampler, level, margin, limit, interval, exact, ground.seed, among, units=units
    )
    return _foreseen(ground, questions, terms, given)


def prevalence(
    ground: Ground,
    *,
    over: Any = None,
    level: float = 0.95,
    margin: float | None = None,
    limit: float | None = None,
    **_others: Any,
) -> list[Forecast]:
    """Return what each question takes."""
    if margin is None and limit is None:
        margin = verb.RARE_MARGIN
    questions = questions_of(
        ground.subject, "causal", feature_sets(ground.subject.space, over)
    )
    among = len(questions)
    terms = Terms(Uniform(), level, margin, limit, seed=ground.seed, among=among)
    return _foreseen(ground, questions, terms, Uniform())


def _foreseen(
    ground: Ground, questions: Sequence[Question], terms: Terms, given: Sampler | None
) -> list[Forecast]:
    left = ground.left / len(questions)
    parts = []
    for question in questions:
        part = foreseen(question, terms, left)
        parts.append(_with_second_answers(part, question, ground))
    if is_cheap(ground.subject, given, terms, ground.budget):
        over_all = replace(terms, sampler=Uniform())
        beside = [foreseen(question, over_all, QUERIES) for question in questions]
        parts += within(beside, QUERIES * len(beside))
    before = TWICE
    if questions[0].kind == "group":
        # Some people of the best group are moved to the worst, to show what changes.
        before += 2 * TRIED * len(questions)
    return within(with_overhead(parts, before), ground.left)


def _with_second_answers(part: Forecast, question: Question, ground: Ground) -> Forecast:
    """Return a forecast with the inputs that are asked twice along the way, or afterwards."""
    expensive = ground.subject.adapter.expensive
    if question.kind == "group":
        few = expensive or ground.budget.queries is not None

        def after(inputs: int, _score: float = 0.0) -> int:
            # Those that show cases count as part of the run.
            return inputs + 2 * pairs_after(inputs + 2 * TRIED, few=few)

        return part.changed(after, after)
    cost = 1 if part.way is Way.ENUMERATED else question.cost
    most_hits = HITS_EXPENSIVE if expensive else HITS

    def along(inputs: int, score: float = 1.0) -> int:
        draws = inputs // cost
        chosen = draws // EVERY
        # A hit is asked again with its twin.
        hits = round(score * min(draws, most_hits + chosen))
        return inputs + chosen + 2 * hits

    return part.changed(along, along)


def _all_rows(ground: Ground) -> Forecast:
    """Return that all given rows are asked, as they are where a truth is known."""
    assert ground.source is not None
    real = ground.source.real()
    rows = 0 if real.rows is None else len(real.rows)
    return Forecast("", Way.ROWS, rows, rows)


def recorded(ground: Ground, **settings: Any) -> list[Forecast]:
    """Return which differences of recorded decisions can be seen."""
    frame = as_pandas(ground.subject)
    base = base_rate(frame, settings["outcome"], settings.get("positive"))
    if base is None:
        return [Forecast("", Way.COUNTED, 0, 0)]
    planted = PlantedDecisions(measure_log, settings, frame, base, _is_difference, _is_seen)
    return [Forecast("", Way.COUNTED, 0, 0, detectable=planted.detectable())]


def _is_difference(finding: Finding) -> bool:
    return finding.score == "rate difference"


def _is_seen(finding: Finding) -> bool:
    if finding.limit is not None:
        return finding.verdict is Verdict.FAIL
    return finding.estimate.low > 0
