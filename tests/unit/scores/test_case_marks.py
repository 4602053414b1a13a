"""Marks on cases: which of their people could exist, as far as real rows tell."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pandas as pd

import evenhand as eh
from evenhand.population.realism import Realism
from evenhand.results.evidence import Case, Finding
from evenhand.scores.case_marks import marked
from evenhand.statistics.estimate import Estimate

SPACE = eh.Space([eh.category("sex", ["F", "M"]), eh.integer("age", 0, 200)])
HALF = Estimate(
    0.5,
    0.4,
    0.6,
    100,
    0.95,
    "exact",
    "all",
)


def person(age: int) -> dict[str, str | int]:
    return {"sex": "F", "age": age}


CASES = (
    Case(person(40), person(150), (True, False)),
    Case(person(160), person(50), (True, False)),
)


def finding(*cases: Case) -> Finding:
    return Finding("claim", ("sex",), HALF, cases=cases)


def people() -> pd.DataFrame:
    rng = np.random.default_rng(0)
    sexes = np.array(["F", "M"])[rng.integers(0, 2, 300)]
    return pd.DataFrame({"sex": sexes, "age": rng.integers(18, 90, 300)})


def test_each_side_of_a_case_is_marked_by_itself():
    realism = Realism.of(SPACE.encode(people()), SPACE)
    with_cases, without = marked([finding(*CASES), finding()], SPACE, realism)
    marks = [(case.realistic, case.realistic_twin) for case in with_cases.cases]
    assert marks == [(True, False), (False, True)]
    assert replace(with_cases, cases=()) == without == finding()


def test_the_rows_that_a_space_remembers_tell_it():
    remembering = SPACE.remembering(people())
    (found,) = marked([finding(*CASES)], remembering)
    marks = [(case.realistic, case.realistic_twin) for case in found.cases]
    assert marks == [(True, False), (False, True)]


def test_without_real_rows_there_is_no_mark():
    (found,) = marked([finding(*CASES)], SPACE)
    assert found == finding(*CASES)
    assert found.cases[0].realistic is None
    assert marked([finding()], SPACE) == [finding()]
    assert marked([], SPACE) == []
