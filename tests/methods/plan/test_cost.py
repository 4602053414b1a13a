"""What a check takes besides inputs: memory, and the time of several processes."""

from __future__ import annotations

import sys
import time
import tracemalloc
from typing import Any

import pytest

import evenhand as eh
from evenhand.methods.plan.cost import START, Costs
from evenhand.scores.planning.forecast import Forecast, Way
from tests.support.evidence import LOANS, inputs, lend

PEOPLE = eh.Space(
    [eh.category("sex", ["F", "M"]), *(eh.integer(f"x{n}", 0, 999) for n in range(9))],
    protected=["sex"],
)
SEARCH = {"job": "search", "over": ["sex"], "explain": False}


def lend_to(people: Any) -> Any:
    return people["x0"] > 500 + 20 * (people["sex"] == "F")


def slowly(people: Any) -> Any:
    time.sleep(0.001 * len(people))
    return lend_to(people)


@pytest.mark.parametrize("queries", [20_000])
def test_the_memory_is_about_what_a_search_takes(queries):
    subject = eh.Subject(lend_to, PEOPLE)
    check = SEARCH | {"queries": queries}
    foreseen = eh.plan(subject, checks=[check]).to_frame()["memory"][0]
    eh.search(subject, over=["sex"], explain=False, budget=eh.Budget(queries=500))
    tracemalloc.start()
    eh.search(subject, over=["sex"], explain=False, budget=eh.Budget(queries=queries))
    _, taken = tracemalloc.get_traced_memory()
    tracemalloc.stop()
    assert taken / 3 < foreseen < taken * 3


def test_processes_help_where_software_is_slow():
    check = SEARCH | {"queries": 100_000}
    found = eh.plan(slowly, PEOPLE, checks=[check], n_jobs=2)
    (row,) = found.to_frame().to_dict("records")
    assert row["seconds"] > 100
    assert row["shared_seconds"] == pytest.approx(START + row["seconds"] / 2, abs=0.01)
    assert "with 2 processes" in found.to_text()
    assert not any("do not help" in note for note in found.notes)


def test_checks_that_processes_do_not_help_are_named():
    checks = [{"job": "measure", "over": ["sex"]}, {"job": "impact", "over": ["sex"]}]
    found = eh.plan(lend, LOANS, data=inputs(), checks=checks, n_jobs=2)
    frame = found.to_frame()
    # Processes do not make a short check longer in a forecast either: it is not shared.
    assert frame["shared_seconds"].tolist() == pytest.approx(frame["seconds"], abs=0.001)
    notes = [note for note in found.notes if "do not help" in note]
    assert len(notes) == 2
    assert "measure sex: too short" in notes[0]
    assert "impact sex: asked from one process" in notes[1]


def test_one_process_needs_no_words_about_several():
    found = eh.plan(lend, LOANS, checks=[{"job": "measure"}])
    assert "processes" not in found.to_text()
    assert " MB" in found.to_text()


def test_software_that_is_asked_by_one_process_says_why():
    program = eh.Subject.command([sys.executable, "{*}"], LOANS)
    reason = program.asking.one_process(4)
    assert reason
    costs = Costs(seconds=1.0, values=8, one_process=reason, n_jobs=4)
    assert costs.alone(1_000, shares=True) == reason
    free = Costs(seconds=1.0, values=8, n_jobs=4)
    assert free.alone(1_000, shares=True) == ""


def test_what_is_not_foreseen_has_no_memory():
    assert Costs(values=80).memory(Forecast("", Way.UNKNOWN)) is None
    # Recorded decisions are counted by the engine that holds them.
    assert Costs().memory(Forecast("", Way.COUNTED, 0, 0)) is None
