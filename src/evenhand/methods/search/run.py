"""One search for one set of features and one output, and the report of what it found."""

from __future__ import annotations

import math
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any

import numpy as np

from evenhand.methods.search import messages
from evenhand.methods.search.explain.allowance import SET_ASIDE, Allowance
from evenhand.methods.search.explain.diversity import choose, order, spread, typical
from evenhand.methods.search.explain.shrink import shrink, unusual
from evenhand.methods.search.hits import Found, Watched
from evenhand.methods.search.hits_table import pack
from evenhand.methods.search.loop import run_strategy
from evenhand.methods.search.margins import Margins
from evenhand.methods.search.plausibility import (
    Plausibility,
    judged,
    most_plausible_first,
    plausible_classes,
)
from evenhand.methods.search.probe import Probe
from evenhand.methods.search.strategies.base import Setting
from evenhand.methods.search.strategies.exhaustive import Everything
from evenhand.results.evidence import Finding
from evenhand.runtime import number_text
from evenhand.runtime.budget import Budget
from evenhand.runtime.errors import NotDeterministic
from evenhand.runtime.random_streams import stream
from evenhand.scores.twins import case_of
from evenhand.space.feature_sets import unseen
from evenhand.statistics.estimate import StopReason, Witnesses

if TYPE_CHECKING:
    from collections.abc import Sequence

    from evenhand.methods.search.explain.explanation import Explanation
    from evenhand.methods.search.loop import StrategyRun
    from evenhand.methods.search.probe import Tried
    from evenhand.methods.search.strategies.base import Strategy
    from evenhand.population.realism import Realism
    from evenhand.results.evidence import Case
    from evenhand.runtime.budget import Meter
    from evenhand.space.feature import Points
    from evenhand.subject.view import View

SHOWN = 5
"""Cases shown."""
TRIED = 20
"""How many cases are shrunk at most to choose those shown from."""
EFFORT = 100
"""About how many inputs it takes to shrink a case."""
SCORED = 64
"""Inputs on which labels are compared with what scores say."""
CURVE = 200
"""The most points of the progress curve that a result keeps."""


@dataclass(frozen=True)
class SearchTerms:
    """What all sets of features and outputs of a search have in common."""

    strategy: Strategy
    prefer: str
    rows: Points | None
    """Real rows to start from."""
    realism: Realism | None
    """What real rows tell of who could exist."""
    seed: int
    limit: int | None
    explain: bool
    exhausts: bool = False
    """Whether every input is tried where only that can pass, whatever it takes."""


@dataclass(frozen=True, slots=True)
class SearchReport:
    """What came of a search for one set of features and one output."""

    finding: Finding
    entry: dict[str, Any]
    """What the details of the result hold of it."""
    stop: StopReason
    notes: list[str]


@dataclass(frozen=True, slots=True)
class _Searched:
    """What a strategy found, whether it tried every input, and what is left to explain that."""

    run: StrategyRun
    complete: bool
    plan: Allowance


def search_features(
    view: View,
    names: tuple[str, ...],
    terms: SearchTerms,
    meter: Meter,
) -> SearchReport:
    """Search, shrink, explain, and ask everything that was found once more.

    The meter counts all but the last.
    """
    probe = Probe(view, names)
    queries_before = meter.queries
    searched = _searched(probe, terms, meter)
    run = searched.run
    meter.queries += run.queries
    _set_aside(meter, run.again)
    realism = terms.realism if terms.prefer == "realistic" else None
    watched = Watched(probe.view, names, found=run.found, realism=realism)
    explanation = None
    simple = None
    stop = run.stop
    if stop is not StopReason.INTERRUPTED:
        try:
            simple = _shrunk(watched, terms, searched.plan, meter)
            explanation = _explained(watched, run.others, terms, searched.plan, meter)
        except KeyboardInterrupt:
            stop = StopReason.INTERRUPTED
    kept, notes = _verified(probe, run.found)
    kept, plausibility = judged(kept, terms.realism, terms.prefer)
    simple, _ = judged(simple or _first_found(kept), terms.realism, terms.prefer)
    cases, doubts = _cases(probe, simple, meter)
    # What does not hold any more is not known to be the only one of its kind.
    complete = searched.complete and len(kept) == len(run.found)
    tried = run.tried + watched.classes.total()
    finding = _finding(kept, view.name, terms, cases, tried, complete=complete)
    entry = {
        "about": list(names),
        "output": view.name,
        "strategy": terms.strategy.name,
        "prefer": terms.prefer,
        "found": len(kept),
        "cells": kept.cells,
        "tried": tried,
        "queries": meter.queries - queries_before,
        "complete": complete,
        "plausible": None if plausibility is None else plausibility.to_dict(),
        "curve": _thinned(run.curve),
        "spread": _spread(kept, terms),
        **_counted_again(explanation, kept),
        "inputs": _packed(kept, terms, plausibility),
    }
    if explanation is not None:
        notes += explanation.notes
    return SearchReport(finding, entry, stop, notes + doubts)


def _finding(
    kept: Found,
    output: str,
    terms: SearchTerms,
    cases: tuple[Case, ...],
    tried: int,
    *,
    complete: bool,
) -> Finding:
    estimate = Witnesses.of(len(kept), tried, terms.strategy.name, complete=complete)
    return Finding(
        _claim(kept, output),
        kept.probe.names,
        estimate,
        terms.limit,
        cases,
        output=output,
        score="witnesses",
        by_construction=unseen(kept.probe.space, kept.probe.names),
    )


def _claim(kept: Found, output: str) -> str:
    features = " and ".join(kept.probe.names)
    found = number_text.count(len(kept))
    if not len(kept) and output:
        return messages.NOT_FOUND_FOR_OUTPUT.format(features=features, output=output)
    if not len(kept):
        return messages.NOT_FOUND.format(features=features)
    if output:
        return messages.FOUND_FOR_OUTPUT.format(
            features=features, output=output, found=found
        )
    return messages.FOUND.format(features=features, found=found)


def _spread(kept: Found, terms: SearchTerms) -> dict[str, Any]:
    probe = kept.probe
    measured = spread(probe.space, probe.free, kept.points, terms.rows, terms.seed)
    return measured.to_dict()


def _packed(
    kept: Found, terms: SearchTerms, plausibility: Plausibility | None
) -> dict[str, Any]:
    """Return every input found, the most wanted first."""
    probe = kept.probe
    wanted = order(
        probe.space,
        probe.free,
        kept.points,
        terms.prefer,
        terms.rows,
        terms.seed,
    )
    if plausibility is None:
        return pack(kept, wanted)
    if terms.prefer == "realistic":
        rank = plausibility.rank[wanted]
        wanted = wanted[np.argsort(rank, kind="stable")]
    return pack(kept, wanted, plausibility)


_NO_EXPLANATION: dict[str, Any] = {"regions": [], "drivers": [], "map": None}


def _searched(probe: Probe, terms: SearchTerms, meter: Meter) -> _Searched:
    """Return what the strategy found; where that leaves a limit open, what every input shows."""
    searched = _by_strategy(probe, terms, meter)
    run = searched.run
    is_open = terms.limit is not None and len(run.found) <= terms.limit
    ended = run.stop in (StopReason.QUERIES, StopReason.EXHAUSTED)
    if searched.complete or not is_open or not ended or not terms.exhausts:
        return searched
    everything = Everything.of(probe, math.inf)
    if everything is None:
        return searched
    unbounded = replace(meter, budget=Budget(), queries=0)
    task = f"search {', '.join(probe.names)}"
    every = run_strategy(everything, probe, unbounded, task=task)
    if not everything.done or every.stop is StopReason.INTERRUPTED:
        return searched
    queries = run.queries + every.queries
    run = replace(every, queries=queries, stop=StopReason.ENUMERATED)
    return _Searched(run, complete=True, plan=searched.plan)


def _by_strategy(probe: Probe, terms: SearchTerms, meter: Meter) -> _Searched:
    """Return what the strategy found, or what trying every input did where that is affordable."""
    plan = Allowance.of(meter, explain=terms.explain)
    begun = meter.seconds
    setting = Setting(
        probe=probe,
        seed=terms.seed,
        start=terms.rows,
        queries=meter.left - plan.total,
        prefer=terms.prefer,
        realism=terms.realism,
    )
    everything = None
    if terms.strategy.enumerates:
        everything = Everything.of(probe, setting.queries)
    if everything is None and terms.strategy.wants_margins:
        setting = _with_margins(setting, terms, meter, plan)
    strategy = everything or terms.strategy.started(setting)
    task = f"search {', '.join(probe.names)}"
    allowed = _bounded(meter, setting.queries)
    run = run_strategy(strategy, setting.probe, allowed, task=task)
    if everything is not None and everything.done:
        spent_in_full = run.stop in (StopReason.EXHAUSTED, StopReason.QUERIES)
        if spent_in_full:
            run = replace(run, stop=StopReason.ENUMERATED)
            return _Searched(run, complete=True, plan=plan)
    if meter.budget.seconds is not None:
        # What can be asked in the time that is left, at the pace so far.
        pace = run.queries / max(meter.seconds - begun, 1e-9)
        seconds_left = max(0.0, meter.budget.seconds - meter.seconds - run.again)
        # What is found on the way is asked again, too, unless answers are remembered.
        share = 0.5 if run.again else 1.0
        plan = plan.within(pace * share * seconds_left)
    found_nothing = not len(run.found) and run.stop is StopReason.QUERIES
    if found_nothing and plan.total > 1:
        # There is nothing to explain, so that what was set aside for it goes on looking.
        allowed = _bounded(meter, plan.total)
        more = run_strategy(strategy, setting.probe, allowed, task=task)
        return _Searched(run.followed(more), complete=False, plan=plan.within(0))
    return _Searched(run, complete=False, plan=plan)


def _with_margins(
    setting: Setting,
    terms: SearchTerms,
    meter: Meter,
    plan: Allowance,
) -> Setting:
    """Return the setting with the margins of the software, where it gives any."""
    probe = setting.probe
    asked_before = probe.view.subject.asked
    size = int(min(SCORED, setting.queries // 8))
    sample = probe.space.draw(size, stream(terms.seed, "search", "margins"))
    probe = replace(probe, margins=Margins.of(probe.view, sample))
    meter.queries += probe.view.subject.asked - asked_before
    return replace(setting, probe=probe, queries=meter.left - plan.total)


def _bounded(meter: Meter, queries: float) -> Meter:
    """Return a meter of its own that may spend so much of a budget."""
    budget = meter.budget
    if budget.queries is not None:
        budget = replace(budget, queries=max(1, int(queries)))
    if budget.seconds is not None:
        seconds_left = max(0.0, budget.seconds - meter.seconds)
        budget = replace(budget, seconds=budget.seconds - SET_ASIDE * seconds_left)
    return replace(meter, budget=budget, queries=0)


def _set_aside(meter: Meter, seconds: float) -> None:
    """Leave some of the time of a meter to what comes after it."""
    if meter.budget.seconds is not None:
        left = max(meter.budget.seconds - seconds, 1e-9)
        meter.budget = replace(meter.budget, seconds=left)


def _shrunk(
    probe: Watched,
    terms: SearchTerms,
    plan: Allowance,
    meter: Meter,
) -> Found | None:
    """Return the simplest of some found inputs, those first that are to be shown.

    None is returned where none can be shrunk.
    """
    found = probe.found
    # Cases shown are asked again, twice for both of their members.
    allowed = plan.shrink - 4 * SHOWN
    most = max(allowed // EFFORT, min(1, allowed))
    many = min(TRIED, len(found), most)
    if many < 1:
        return None
    wanted = "diverse" if terms.prefer == "many" else terms.prefer
    picked = choose(
        probe.space,
        probe.free,
        found.points,
        many,
        wanted,
        terms.rows,
        terms.seed,
    )
    toward = typical(probe.space, terms.rows)
    small = shrink(
        probe,
        found.points[picked],
        found.pairs[picked],
        toward,
        allowed - 2 * many,
        outcomes=found.outcomes[:, picked],
        # Two thirds of the time that is left are for where and why.
        meter=meter.share(3),
    )
    points, pairs = small.points, small.pairs
    if probe.realism is not None:
        # Who became implausible on the way is shown as found.
        real = plausible_classes(probe, probe.realism, points, pairs)
        points = np.where(real[:, None], points, found.points[picked])
        pairs = np.where(real[:, None], pairs, found.pairs[picked])
    tried = probe.ask(np.asfortranarray(points), pairs)
    meter.queries += small.asked + int(tried.asked.sum())
    if probe.realism is not None:
        tried = most_plausible_first(probe, probe.realism, tried)
    if terms.prefer == "many":
        tried = _simplest_then_diverse(probe, tried, toward)
    simple = Found(probe)
    simple.add(tried)
    return simple


def _simplest_then_diverse(probe: Probe, tried: Tried, toward: Points) -> Tried:
    """Return the simplest case, then those that are least like it."""
    typical_row = probe.canonical(toward[None])[0]
    simplest_first = np.argsort(unusual(tried.points, typical_row), kind="stable")
    tried = tried.take(simplest_first)
    diverse = choose(probe.space, probe.free, tried.points, len(tried), "diverse")
    return tried.take(diverse)


def _explained(
    probe: Watched,
    others: Sequence[Tried],
    terms: SearchTerms,
    plan: Allowance,
    meter: Meter,
) -> Explanation | None:
    """Return where the inputs found lie and why; None where that is not wanted."""
    if not terms.explain or not len(probe.found):
        return None
    # Imported where it is used.
    from evenhand.methods.search.explain.explanation import explained

    meter.report("explain", None, messages.EXPLAINING)
    return explained(probe, others, terms.seed, plan, meter)


def _verified(probe: Probe, found: Found) -> tuple[Found, list[str]]:
    """Return what still holds when the software itself, and not its scores, is asked again."""
    kept = Found(probe)
    if len(found):
        kept.add(probe.ask(found.points, found.pairs))
    if len(kept) == len(found):
        return kept, []
    note = messages.NOT_REPRODUCED.format(
        lost=number_text.count(len(found) - len(kept)),
        found=number_text.count(len(found)),
    )
    return kept, [note]


def _counted_again(explanation: Explanation | None, kept: Found) -> dict[str, Any]:
    """Return the explanation with the number of inputs found that lie in each region.

    Some of them were found only while the regions were tested.
    """
    if explanation is None:
        return _NO_EXPLANATION
    regions = []
    for region in explanation.where:
        inside = int(region.rule.mask(kept.points, kept.probe.space).sum())
        regions.append(replace(region, found=inside))
    return replace(explanation, where=regions).to_dict()


def _first_found(kept: Found) -> Found:
    """Return the first that were found, as they are."""
    simple = Found(kept.probe)
    if len(kept):
        simple.add(kept.tried.take(slice(0, SHOWN)))
    return simple


def _cases(
    probe: Probe,
    simple: Found,
    meter: Meter,
) -> tuple[tuple[Case, ...], list[str]]:
    """Return the cases to show, and notes where the software does not answer alike.

    Their inputs are run once more even where their answers are remembered. Where no case stays,
    chance was found instead of discrimination, and NotDeterministic is raised.
    """
    individuals = simple.individuals[:SHOWN]
    twins = simple.twins[:SHOWN]
    outcomes = simple.outcomes[:, :SHOWN]
    notes = []
    if len(individuals) and meter.left >= 4 * len(individuals):
        inputs = np.concatenate([individuals, twins])
        try:
            probe.view.subject.need_deterministic(np.asfortranarray(inputs))
        except NotDeterministic as error:
            if not _any_differ_again(probe.view, inputs):
                raise
            notes.append(str(error))
        meter.queries += 4 * len(individuals)
    cases = []
    for individual, twin, (own, other) in zip(individuals, twins, outcomes.T, strict=True):
        cases.append(case_of(probe.space, individual, twin, (own, other)))
    return tuple(cases), notes


def _any_differ_again(view: View, inputs: Points) -> bool:
    """Return whether any of some individuals, which come first, still differs from its twin."""
    answers = view.subject.again(np.asfortranarray(inputs))
    if view.name:
        answers = answers[view.name]
    individuals, twins = np.split(answers, 2)
    return bool(np.any(view.distance(individuals, twins)))


def _thinned(curve: tuple[tuple[int, int, int], ...]) -> list[list[int]]:
    """Return the points of a curve that a result keeps, evenly from all of them."""
    last = len(curve) - 1
    kept = min(CURVE, len(curve))
    places = np.linspace(0, last, kept).round().astype(np.intp)
    return [list(curve[place]) for place in np.unique(places).tolist()]
