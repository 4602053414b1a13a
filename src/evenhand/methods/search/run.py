"""A quest: one search for one set of features and one output, and all that is told of what it
found.
"""

from __future__ import annotations

import math
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any

import numpy as np

from evenhand.methods.search.explain.diversity import choose, order, spread, typical
from evenhand.methods.search.explain.shrink import shrink, unusual
from evenhand.methods.search.hits import Found, Watched
from evenhand.methods.search.hits_table import pack
from evenhand.methods.search.loop import hunt
from evenhand.methods.search.margins import Margins
from evenhand.methods.search.probe import Probe
from evenhand.methods.search.strategies.base import Setting
from evenhand.methods.search.strategies.exhaustive import Everything
from evenhand.results.evidence import Finding
from evenhand.runtime.errors import NotDeterministic
from evenhand.runtime.random_streams import stream
from evenhand.scores.twins import case_of
from evenhand.space.rule import Rule
from evenhand.statistics.estimate import StopReason, Witnesses
from evenhand.subject.parallel_view import SharedView

if TYPE_CHECKING:
    from collections.abc import Sequence

    from numpy.typing import NDArray

    from evenhand.methods.search.loop import Hunt
    from evenhand.methods.search.probe import Tried
    from evenhand.methods.search.strategies.base import Strategy
    from evenhand.results.evidence import Case
    from evenhand.runtime.budget import Meter
    from evenhand.runtime.workers import Workers
    from evenhand.space.feature import Points
    from evenhand.subject.view import View

SHOWN, TRIED, EFFORT = 5, 20, 100
"""Cases shown, how many are shrunk at most to choose them from, and what shrinking one takes,
about.
"""
SCORED = 64
"""Inputs on which labels are compared with what scores say."""
LEAST_CHANGES = 10
"""Changes of each feature without which nothing is said of what drives."""
CURVE = 200
"""The most points of the progress curve that a result keeps."""
ASIDE, MOST_ASIDE = 0.15, 6000
"""What is put aside of the budget to shrink cases and to explain where and why: a share, and no
more inputs than.
"""


@dataclass(frozen=True)
class Terms:
    """What every quest of a search has in common."""

    strategy: Strategy
    prefer: str
    rows: Points | None
    seed: int
    limit: int | None
    explain: bool


@dataclass(frozen=True, slots=True)
class Told:
    """What came of a quest."""

    finding: Finding
    entry: dict[str, Any]
    stop: StopReason
    notes: list[str]


def quest(view: View, names: tuple[str, ...], terms: Terms, meter: Meter, workers: Workers) -> Told:
    """Search, shrink, explain, and ask everything that was found once more; the meter counts all
    but the last.
    """
    probe = Probe(SharedView.of(view, workers), names)
    before = meter.queries
    run, complete, plan = _searched(probe, terms, meter)
    meter.queries += run.queries
    watched = Watched(probe.view, names, found=run.found)
    entry, simple, stop = _NOTHING, None, run.stop
    if stop is not StopReason.INTERRUPTED:
        try:
            simple = _shrunk(watched, terms, plan, meter)
            entry = _explained(watched, run.others, terms, plan, meter)
        except KeyboardInterrupt:
            stop = StopReason.INTERRUPTED
    kept, notes = _verified(probe, run.found)
    cases, doubts = _cases(probe, simple or _raw(kept), meter)
    tried = run.tried + watched.classes.total()
    complete = complete and len(kept) == len(run.found)
    estimate = Witnesses.of(len(kept), tried, terms.strategy.name, complete=complete)
    finding = Finding(
        _claim(kept, view.name),
        names,
        estimate,
        terms.limit,
        cases,
        output=view.name,
        score="witnesses",
    )
    return Told(
        finding,
        {
            "about": list(names),
            "output": view.name,
            "strategy": terms.strategy.name,
            "prefer": terms.prefer,
            "found": len(kept),
            "cells": kept.cells,
            "tried": tried,
            "queries": meter.queries - before,
            "complete": complete,
            "curve": _thinned(run.curve),
            "spread": (
                spread(probe.space, probe.free, kept.points, terms.rows, terms.seed).to_dict()
            ),
            **_counted(entry, kept),
            "inputs": pack(
                kept,
                order(probe.space, probe.free, kept.points, terms.prefer, terms.rows, terms.seed),
            ),
        },
        stop,
        notes + doubts,
    )


def _claim(kept: Found, output: str) -> str:
    about = " and ".join(kept.probe.names) + (f" for {output}" if output else "")
    if not len(kept):
        return f"no input was found whose outcome changes with only {about}"
    return f"changing only {about} changes the outcome of {len(kept):,} inputs that were found"


@dataclass(frozen=True, slots=True)
class _Allowance:
    """What may be asked to shrink, to tell where, and to tell why."""

    shrink: int
    where: int
    why: int

    @classmethod
    def of(cls, meter: Meter, terms: Terms) -> _Allowance:
        left = meter.left
        aside = (
            MOST_ASIDE
            if math.isinf(left)
            else int(min(max(ASIDE * left, min(200, left / 4)), MOST_ASIDE))
        )
        part = aside // 20
        return cls(5 * part, *((10 * part, 5 * part) if terms.explain else (0, 0)))

    @property
    def total(self) -> int:
        return self.shrink + self.where + self.why

    def within(self, queries: float) -> _Allowance:
        """Return the same parts of what may be asked at most."""
        share = min(1.0, queries / max(self.total, 1))
        return _Allowance(*(int(share * part) for part in (self.shrink, self.where, self.why)))


_NOTHING: dict[str, Any] = {"regions": [], "drivers": [], "map": None}


def _searched(probe: Probe, terms: Terms, meter: Meter) -> tuple[Hunt, bool, _Allowance]:
    """Return what the strategy found, whether it tried every input, and what is left to explain
    that.
    """
    plan, begun = _Allowance.of(meter, terms), meter.seconds
    setting = Setting(probe, terms.seed, terms.rows, meter.left - plan.total, terms.prefer)
    everything = Everything.of(probe, setting.queries) if terms.strategy.enumerates else None
    if everything is None and terms.strategy.wants_margins:
        before = probe.view.subject.asked
        sample = probe.space.draw(
            int(min(SCORED, setting.queries // 8)), stream(terms.seed, "search", "margins")
        )
        probe = replace(probe, margins=Margins.of(probe.view, sample))
        meter.queries += probe.view.subject.asked - before
        setting = replace(setting, probe=probe, queries=meter.left - plan.total)
    strategy = everything or terms.strategy.started(setting)
    task = f"search {', '.join(probe.names)}"
    run = hunt(strategy, probe, _bounded(meter, setting.queries), task=task)
    if (
        everything is not None
        and everything.done
        and run.stop in (StopReason.EXHAUSTED, StopReason.QUERIES)
    ):
        return replace(run, stop=StopReason.ENUMERATED), True, plan
    if meter.budget.seconds is not None:
        # What can be asked in the time that is left, at the pace so far.
        pace = run.queries / max(meter.seconds - begun, 1e-9)
        plan = plan.within(pace * max(0.0, meter.budget.seconds - meter.seconds))
    if not len(run.found) and run.stop is StopReason.QUERIES and plan.total > 1:
        # There is nothing to explain, so that what was put aside for it goes on looking.
        more = hunt(strategy, probe, _bounded(meter, plan.total), task=task)
        return run.followed(more), False, plan.within(0)
    return run, False, plan


def _bounded(meter: Meter, queries: float) -> Meter:
    """Return a meter of its own that may spend so much of a budget."""
    budget = meter.budget
    if budget.queries is not None:
        budget = replace(budget, queries=max(1, int(queries)))
    if budget.seconds is not None:
        budget = replace(budget, seconds=(1 - ASIDE) * budget.seconds)
    return replace(meter, budget=budget, queries=0)


def _shrunk(probe: Watched, terms: Terms, plan: _Allowance, meter: Meter) -> Found | None:
    """Return the simplest of some found inputs, those first that are to be shown; None where none
    can be shrunk.
    """
    found, simple = probe.found, Found(probe)
    again = 4 * SHOWN
    many = min(TRIED, len(found), max((plan.shrink - again) // EFFORT, min(1, plan.shrink - again)))
    if many < 1:
        return None
    points, pairs, outcomes = found.points, found.pairs, found.outcomes
    wanted = "diverse" if terms.prefer == "many" else terms.prefer
    picked = choose(probe.space, probe.free, points, many, wanted, terms.rows, terms.seed)
    toward = typical(probe.space, terms.rows)
    allowed = plan.shrink - again - 2 * many
    small = shrink(
        probe, points[picked], pairs[picked], toward, allowed, outcomes=outcomes[:, picked]
    )
    tried = probe.ask(small.points, small.pairs)
    meter.queries += small.asked + int(tried.asked.sum())
    if terms.prefer == "many":  # the simplest, then those that are least like it
        tried = tried.take(
            np.argsort(unusual(tried.points, probe.canonical(toward[None])[0]), kind="stable")
        )
        tried = tried.take(choose(probe.space, probe.free, tried.points, many, "diverse"))
    simple.add(tried)
    return simple


def _explained(
    probe: Watched, others: Sequence[Tried], terms: Terms, plan: _Allowance, meter: Meter
) -> dict[str, Any]:
    """Return where and why, told by inputs that are asked for it."""
    if not terms.explain or not len(probe.found):
        return _NOTHING
    from evenhand.methods.search.explain.drivers import drivers  # imported where they are used
    from evenhand.methods.search.explain.projection import project
    from evenhand.methods.search.explain.regions import regions

    meter.report("explain", None, "where and why")
    points, pairs = probe.found.points, probe.found.pairs
    where, asked = regions(probe, points, terms.seed, plan.where)
    enough = plan.why >= 2 * LEAST_CHANGES * len(probe.free)
    why, more = drivers(probe, points, pairs, terms.seed, plan.why) if enough else ([], 0)
    meter.queries += asked + more
    return {
        "regions": [region.to_dict() for region in where],
        "drivers": [driver.to_dict() for driver in why],
        "map": project(probe, points, others),
    }


def _verified(probe: Probe, found: Found) -> tuple[Found, list[str]]:
    """Return what still holds when it is asked again, of the software itself and not of its scores."""
    kept = Found(probe)
    if len(found):
        kept.add(probe.ask(found.points, found.pairs))
    if len(kept) == len(found):
        return kept, []
    return kept, [
        f"{len(found) - len(kept):,} of {len(found):,} inputs that were found did not hold when"
        " they were asked again and are left out; the software does not answer alike each time"
    ]


def _counted(entry: dict[str, Any], kept: Found) -> dict[str, Any]:
    """Count again how many of the inputs found lie in each region: some came while the regions were
    tested.
    """
    space = kept.probe.space
    told = [
        {**region, "found": int(Rule.from_dict(region["rule"]).mask(kept.points, space).sum())}
        for region in entry["regions"]
    ]
    return {**entry, "regions": told}


def _raw(kept: Found) -> Found:
    """Return the first that were found, as they are."""
    simple = Found(kept.probe)
    if len(kept):
        simple.add(kept.tried.take(slice(0, SHOWN)))
    return simple


def _cases(probe: Probe, simple: Found, meter: Meter) -> tuple[tuple[Case, ...], list[str]]:
    """Return the cases to show, whose inputs are run once more even where their answers are
    remembered.
    """
    shown = slice(0, SHOWN)
    one, other, outcomes = simple.individuals[shown], simple.twins[shown], simple.outcomes[:, shown]
    notes = []
    if len(one) and meter.left >= 4 * len(one):
        try:
            probe.view.subject.need_deterministic(np.asfortranarray(np.concatenate([one, other])))
        except NotDeterministic as error:
            notes.append(str(error))
        meter.queries += 4 * len(one)
    pairs = zip(one, other, outcomes.T, strict=True)
    return (
        tuple(case_of(probe.space, mine, twin, (told[0], told[1])) for mine, twin, told in pairs),
        notes,
    )


def _thinned(curve: tuple[tuple[int, int, int], ...]) -> list[list[int]]:
    places: NDArray[np.intp] = np.unique(
        np.linspace(0, len(curve) - 1, min(CURVE, len(curve))).round().astype(np.intp)
    )
    return [list(curve[place]) for place in places.tolist()]
