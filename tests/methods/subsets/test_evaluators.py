"""What single evaluators of sets keep and return."""

from __future__ import annotations

from types import SimpleNamespace
from typing import Any

import numpy as np

from evenhand.methods.subsets.evaluators.causal import CausalSets
from evenhand.methods.subsets.evaluators.group import GroupSets


def test_the_cases_of_a_set_are_its_own_and_those_of_sets_within_it():
    sets: Any = CausalSets.__new__(CausalSets)
    sets._cases_of = {0b001: ["of one"], 0b011: ["own"], 0b100: ["of another"]}
    assert sets._cases(0b011) == ("own", "of one")
    assert sets._cases(0b001) == ("of one",)
    assert sets._cases(0b1000) == ()


def test_groups_of_one_rate_have_no_extremes():
    sets: Any = GroupSets.__new__(GroupSets)
    people = SimpleNamespace(members=np.array([[0.0], [1.0]]))
    counts: Any = SimpleNamespace(people=people, hits=np.array([3.0, 3.0]), n=9)
    assert sets._extremes(("sex",), counts, None) == ((), ())
