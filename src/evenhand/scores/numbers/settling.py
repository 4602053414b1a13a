"""Settle when numbers differ, before anything is measured: which inputs tell their spread.

The inputs do not depend on the seed, the workers or what was asked before, so that every verb of
every run takes the same threshold for the same software.
"""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING

import numpy as np

from evenhand.population.remembered import remembered
from evenhand.population.samplers import Uniform
from evenhand.runtime.random_streams import stream
from evenhand.subject.outcome_scale import OutcomeScale, notes_of, on_scale

if TYPE_CHECKING:
    from evenhand.runtime.budget import Meter
    from evenhand.space.feature import Points
    from evenhand.space.space import Space
    from evenhand.subject.subject import Subject

ASKED, ASKED_EXPENSIVE = 1024, 64
"""Inputs whose outcomes tell the spread, and where each costs a process or a request."""
LEAST_BUDGET = 32
"""With less than this nothing is spent on the spread, and any change counts."""
_PART_OF_BUDGET = 4
"""Of a small budget, no more than one part in this many is spent on the spread."""


def settle_differs(subject: Subject, meter: Meter | None = None) -> list[str]:
    """Settle when outcomes of software differ, where the user does not say, and return notes on it.

    Software that answers with labels is not asked anything for it, if it has answered before. What
    is asked counts as spent.
    """
    _note_numbers(subject)
    open_outputs = [name for name, found in subject.meanings.items() if found.open_scale]
    affordable = meter is None or meter.left >= LEAST_BUDGET
    if open_outputs and affordable and not subject.settled:
        asked_before = subject.asked
        candidates = [name for name in open_outputs if _may_be_numbers(subject, name)]
        if candidates:
            _settle(subject, candidates, meter)
        subject.settled = True
        if meter is not None:
            meter.queries += subject.asked - asked_before
    return notes_of(subject)


def _note_numbers(subject: Subject) -> None:
    """Take fractions for numbers where the user says how far apart they must be to differ."""
    for name, meaning in subject.meanings.items():
        if meaning.has_threshold and subject.answered.get(name) == "f":
            subject.meanings[name] = replace(meaning, numbers=True)


def _may_be_numbers(subject: Subject, name: str) -> bool:
    """Return whether an output may be on a scale: known, or by the type of an answer."""
    if subject.meanings[name].numbers:
        return True
    if name not in subject.answered:
        subject.decide(scale_points(subject.space, 1)[0])
    return subject.answered.get(name) == "f"


def _settle(subject: Subject, names: list[str], meter: Meter | None) -> None:
    wanted = ASKED_EXPENSIVE if subject.adapter.expensive else ASKED
    if meter is not None and meter.left < _PART_OF_BUDGET * wanted:
        wanted = max(int(meter.left) // _PART_OF_BUDGET, 1)
    points, population = scale_points(subject.space, wanted)
    outcomes = subject.decide(points)
    for name in names:
        column = outcomes[name] if name else outcomes
        if on_scale(subject.meanings[name], column):
            subject.put_on_scale(name, OutcomeScale.of(column, population))


def scale_points(space: Space, n: int) -> tuple[Points, str]:
    """Return the inputs whose outcomes tell the spread, and what they are drawn from.

    They are real rows where the space remembers some, and otherwise drawn uniformly.
    """
    rng = stream(0, "outcome scale")
    rows = remembered(space)
    if rows is None:
        uniform = Uniform()
        return space.draw(n, rng), uniform.population(space)
    points = rows.points(space)
    chosen = rng.permutation(len(points))[:n]
    return np.asfortranarray(points[np.sort(chosen)]), rows.population(space)
