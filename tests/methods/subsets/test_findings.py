"""Claims about sets rest on what was found of them, not on the words of another sentence."""

from __future__ import annotations

from copy import deepcopy
from dataclasses import replace

import pytest

from evenhand.methods.subsets.decision import Judge
from evenhand.methods.subsets.findings import findings_of
from evenhand.methods.subsets.lattice import TESTED, Lattice, State

# Pytest would take it for a class of tests.
from evenhand.methods.subsets.lattice import TestedSet as Known
from evenhand.statistics.estimate import Estimate
from evenhand.subject.subject import Subject
from evenhand.subject.view import View
from tests.support.evidence import LOANS, lend, made


@pytest.mark.parametrize(
    "method", ["exact, lower bound", "Übersetzung", "eine untere Schranke"]
)
@pytest.mark.parametrize("lower_bound", [False, True])
def test_a_lower_bound_is_a_field_whatever_the_method_is_called(method, lower_bound):
    lattice = Lattice(("sex", "race"))
    score = Estimate(0.4, 0.3, 1.0, 90, 0.95, method)
    lattice.add(0b01, Known(State.ABOVE, score, lower_bound=lower_bound))
    view = View(Subject(lend, LOANS))
    judge = Judge(0.1, 0.05, 0.95, sets=3, at_fault=3)
    first = findings_of(lattice, view, "causal", judge)[0]
    share = "at least 40.0 %" if lower_bound else "40.0 %"
    assert first.claim == f"changing only sex changes the outcome of {share} of inputs"


def test_a_search_with_few_variants_finds_lower_bounds():
    claims = [finding.claim for finding in made("subsets, few variants").findings]
    assert any("at least" in claim for claim in claims)
    assert any("at least" not in claim for claim in claims)


def test_sets_that_need_no_test_are_known_by_the_set_they_follow_from():
    """Why a set is in its state is a sentence for people, but for the word "tested"."""
    found = made("subsets, group")
    details = deepcopy(dict(found.details))
    reworded = 0
    for entry in details["lattice"]["sets"]:
        if entry["because"] != TESTED:
            entry["because"] = "Übersetzung"
            reworded += 1
    assert reworded
    assert replace(found, details=details).to_text() == found.to_text()


def test_an_implied_state_has_the_word_of_what_it_amounts_to():
    lattice = Lattice(("sex", "race"))
    score = Estimate(0.4, 0.3, 0.5, 90, 0.95, "exact")
    lattice.add(0b01, Known(State.ABOVE, score))
    lattice.add(0b10, Known(State.BELOW, score))
    of_sex, of_race, of_both = lattice.to_dict()
    assert of_sex["about"] == ["sex"]
    assert of_sex["state"] == "discriminating"
    assert of_sex["of"] is None
    assert of_race["about"] == ["race"]
    assert of_race["state"] == "cleared"
    assert of_race["of"] is None
    assert of_both["about"] == ["sex", "race"]
    assert of_both["state"] == "discriminating"
    assert of_both["of"] == ["sex"]
