"""How many rows are asked about, with which neighbours, and what is noted of the rest."""

from __future__ import annotations

from types import SimpleNamespace
from typing import Any

import numpy as np
import pandas as pd
import pytest

import evenhand as eh
from evenhand.methods.mine.treatment import MOST, MOST_EXPENSIVE, TreatmentRun
from evenhand.runtime.budget import Budget, Meter
from evenhand.statistics.estimate import StopReason

SPACE = eh.Space(
    [eh.category("sex", ["F", "M"]), eh.integer("age", 0, 99)], protected=["sex"]
)
PEOPLE = pd.DataFrame({"sex": ["F", "M"] * 50, "age": np.arange(100)})


def run_of(method: str | None = None, **options: Any) -> TreatmentRun:
    subject = eh.Subject(lambda people: people["age"] > 50, SPACE, positive=True)
    return TreatmentRun(subject, eh.rows(PEOPLE), method, 0, ("sex",), **options)


def plan(run: TreatmentRun, cost: int, queries: int | None) -> tuple[str, Any, int]:
    found = run._plan(cost, Meter(Budget(queries=queries)))
    return found.method, found.draws, found.rows


def test_all_neighbours_are_asked_where_the_budget_suffices():
    assert plan(run_of(), 5, 500) == ("neighbours", None, 100)
    assert plan(run_of(), 5, 499) == ("drawn", 4, 100)
    assert plan(run_of(), 5, 100) == ("drawn", 1, 100)
    assert plan(run_of(), 5, 99) == ("drawn", 1, 99)
    assert plan(run_of("drawn"), 5, 10_000) == ("drawn", 5, 100)
    assert plan(run_of("rows"), 1, 10) == ("rows", None, 100)
    assert plan(run_of("neighbours"), 5, 10) == ("neighbours", None, 100)


def test_up_to_a_tenth_is_kept_for_other_questions():
    assert plan(run_of(kept=20), 5, 520) == ("neighbours", None, 100)
    assert plan(run_of(kept=20), 5, 519) == ("drawn", 4, 100)
    assert plan(run_of(kept=1000), 5, 200) == ("drawn", 1, 100)
    assert plan(run_of(kept=1000), 5, 100) == ("drawn", 1, 90)
    assert plan(run_of(kept=1000), 5, 1) == ("drawn", 1, 1)


def test_without_a_budget_as_much_is_asked_as_suits_the_software():
    run = run_of()
    cheap = MOST // 100
    assert plan(run, cheap, None) == ("neighbours", None, 100)
    assert plan(run, cheap + 1, None) == ("drawn", cheap, 100)
    expensive: Any = SimpleNamespace(adapter=SimpleNamespace(expensive=True))
    run.subject = expensive
    most = MOST_EXPENSIVE // 100
    assert plan(run, most, None) == ("neighbours", None, 100)
    assert plan(run, most + 1, None) == ("drawn", most, 100)


@pytest.mark.parametrize(
    ("done", "most", "draws", "stop", "expected", "partial"),
    [
        (100, 100, None, None, None, False),
        (100, 100, 3, None, StopReason.QUERIES, True),
        (60, 60, None, None, StopReason.QUERIES, True),
        (60, 100, None, StopReason.SECONDS, StopReason.SECONDS, True),
        (60, 60, 3, StopReason.INTERRUPTED, StopReason.INTERRUPTED, True),
    ],
)
def test_it_is_noted_how_far_it_came_and_why(done, most, draws, stop, expected, partial):
    run = run_of()
    plan_of: Any = SimpleNamespace(draws=draws)
    run._note_progress(done, most, plan_of, stop)
    assert run.stop is expected
    assert run.partial is partial
    assert run.done == done
    assert len(run.notes) == int(done < 100)
    assert run.level(0.95) == (0.95 if partial else 1.0)
    # The first reason stays.
    every: Any = SimpleNamespace(draws=None)
    run._note_progress(100, 100, every, StopReason.SECONDS)
    assert run.stop is (expected or StopReason.SECONDS)
    assert run.partial is partial
