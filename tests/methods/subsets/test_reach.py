"""How far a search goes: rounds of finer margins, and every input instead of many draws."""

from __future__ import annotations

import itertools
import math
from functools import partial

import numpy as np
import pytest

import evenhand as eh
from evenhand.methods.subsets.reach import margins_of
from evenhand.methods.subsets.search import Search
from evenhand.scores.question import ENOUGH

SIZES = {"a": 2, "b": 5, "c": 4, "d": 10, "e": 30}
FEATURES = [eh.integer(name, 0, size - 1) for name, size in SIZES.items()]
SPACE = eh.Space(FEATURES)
INPUTS = math.prod(SIZES.values())
ENDLESS = eh.Space(
    [eh.category("a", [0, 1]), eh.category("b", [0, 1]), eh.integer("rest", 0, 10**9 - 1)]
)
CHECKS = 64
"""Inputs that are asked to see whether the software answers alike, twice each."""


class Expensive(eh.Adapter):
    """Software whose every answer is said to cost a process, with a feature it never reads."""

    kind = "expensive"
    expensive = True

    def __init__(self, decide, unread=()):
        self.decide = decide
        self.never_read = frozenset(unread)

    @property
    def identity(self):
        return "expensive"

    def unread(self, space):
        return self.never_read

    def run(self, points, space):
        people = space.native(points)
        rows = np.arange(len(points))
        yield rows, np.asarray(self.decide(people))


class Cheap(Expensive):
    kind = "cheap"
    expensive = False


def adds_up(people):
    total = people["d"] / 9 + people["e"] / 29
    total += 0.1 * people["a"]
    total += 0.3 * people["b"] / 4
    return total > 1.2


def share_of_a(share):
    """Software that changes with a for so large a share of inputs."""

    def decide(people):
        is_in_share = people["rest"] < share * 10**9
        return (people["a"] == 1) & is_in_share

    return decide


def next_to_a(kind):
    """Return a limit so near to the score of a feature that draws cannot tell them apart."""
    exact = eh.subsets(adds_up, SPACE, kind=kind, limit=0.05, exact=True)
    for entry in exact.details["lattice"]["sets"]:
        if entry["about"] == ["a"]:
            score = entry["value"]
    return score + 1e-6


def states(result):
    entries = result.details["lattice"]["sets"]
    return {tuple(entry["about"]): entry["state"] for entry in entries}


def test_margins_get_finer_where_answers_are_cheap():
    assert margins_of(0.05, None, expensive=True) == (0.01,)
    assert margins_of(0.75, None, expensive=True) == (0.05,)
    margins = margins_of(0.05, None, expensive=False)
    assert margins[0] == 0.05
    assert margins[-1] == pytest.approx(0.001)
    for coarser, finer in itertools.pairwise(margins):
        assert finer < coarser
    for expensive in (True, False):
        assert margins_of(0.05, 0.2, expensive=expensive) == (0.2,)


@pytest.mark.parametrize(
    ("share", "verdict"), [(0.04, "pass"), (0.06, "fail"), (0.053, "fail")]
)
@pytest.mark.parametrize("kind", ["causal", "group"])
def test_cheap_software_next_to_the_limit_is_decided(share, verdict, kind):
    search = partial(eh.subsets, share_of_a(share), ENDLESS, among=["a"], limit=0.05)
    result = search(kind=kind)
    assert result.verdict == verdict
    assert result.stop is eh.StopReason.DECIDED
    coarse = search(kind=kind, margin=0.05)
    assert coarse.verdict == "undecided"
    assert coarse.stop is eh.StopReason.MARGIN


def test_a_score_at_the_limit_is_known_finely_and_then_left_undecided():
    result = eh.subsets(share_of_a(0.3), ENDLESS, among=["a", "b"], limit=0.3)
    assert result.stop is eh.StopReason.TOO_CLOSE
    undecided = [finding for finding in result.findings if finding.verdict == "undecided"]
    estimate = undecided[0].estimate
    assert estimate.low <= 0.3 <= estimate.high
    assert estimate.high - estimate.low < 0.05
    assert result.spent.queries <= 2 * ENOUGH
    assert states(result)[("b",)] == "cleared"


@pytest.mark.parametrize("kind", ["causal", "group"])
def test_no_answer_is_lost_where_a_set_is_given_up(kind, monkeypatch):
    monkeypatch.setattr("evenhand.methods.subsets.search.ENOUGH", 50_000)
    result = eh.subsets(share_of_a(0.3), ENDLESS, among=["a"], kind=kind, limit=0.3)
    assert result.stop is eh.StopReason.TOO_CLOSE
    (finding,) = result.findings
    # Three inputs are asked for a draw of the causal score, two for one of the group score.
    assert finding.estimate.n > 0.7 * result.spent.queries / 3
    assert finding.estimate.low <= 0.3 <= finding.estimate.high


@pytest.mark.parametrize("kind", ["causal", "group"])
def test_never_more_is_asked_than_there_is_and_then_nothing_is_undecided(kind):
    limit = next_to_a(kind)
    result = eh.subsets(adds_up, SPACE, kind=kind, limit=limit)
    exact = eh.subsets(adds_up, SPACE, kind=kind, limit=limit, exact=True)
    assert result.stop is eh.StopReason.ENUMERATED
    assert states(result) == states(exact)
    assert result.findings == exact.findings
    assert result.spent.executed <= 2 * INPUTS + CHECKS


@pytest.mark.parametrize("kind", ["causal", "group"])
@pytest.mark.parametrize("limit", [0.05, 0.2])
def test_expensive_software_executes_no_more_than_there_is(kind, limit):
    subject = eh.Subject(Expensive(adds_up), SPACE)
    result = eh.subsets(subject, kind=kind, limit=limit)
    exact = eh.subsets(adds_up, SPACE, kind=kind, limit=limit, exact=True)
    assert result.spent.executed <= INPUTS + CHECKS
    settled = ("discriminating", "cleared")
    for names, state in states(result).items():
        if state in settled:
            assert states(exact)[names] == state


def test_expensive_software_of_few_inputs_is_enumerated():
    features = [eh.category("a", [0, 1]), eh.integer("b", 0, 99)]
    few = eh.Space(features)

    def decide(people):
        return people["b"] > 50 + 10 * people["a"]

    subject = eh.Subject(Expensive(decide), few)
    result = eh.subsets(subject, limit=0.05)
    assert result.stop is eh.StopReason.ENUMERATED
    assert result.spent.executed <= 200 + CHECKS


def test_sampling_alone_never_enumerates():
    result = eh.subsets(adds_up, SPACE, limit=0.05, exact=False)
    assert result.stop in (eh.StopReason.DECIDED, eh.StopReason.TOO_CLOSE)
    levels = {finding.estimate.level for finding in result.findings}
    assert levels == {0.95}


@pytest.mark.parametrize("queries", [300, 5_000, INPUTS + 500, 3 * INPUTS])
def test_a_budget_is_kept_where_every_input_could_be_asked(queries):
    budget = eh.Budget(queries=queries)
    limit = next_to_a("causal")
    result = eh.subsets(adds_up, SPACE, limit=limit, budget=budget)
    assert result.spent.queries <= queries
    if queries == 3 * INPUTS:
        assert result.stop is eh.StopReason.ENUMERATED


@pytest.mark.parametrize("limit", [0, 1])
def test_limits_that_only_enumeration_decides_enumerate(limit):
    result = eh.subsets(adds_up, SPACE, limit=limit)
    assert result.stop is eh.StopReason.ENUMERATED
    expected = "cleared" if limit else "discriminating"
    assert states(result)[("a",)] == expected
    assert states(result)[("c",)] == "cleared"


@pytest.mark.parametrize("kind", ["causal", "group"])
def test_a_column_that_is_not_read_does_not_multiply_the_inputs(kind):
    features = [*SPACE.features, eh.integer("unused", 0, 9_999)]
    wide = eh.Space(features)
    subject = eh.Subject(Cheap(adds_up, unread={"unused"}), wide)
    limit = next_to_a(kind)
    result = eh.subsets(subject, kind=kind, limit=limit)
    assert result.stop is eh.StopReason.ENUMERATED
    exact = eh.subsets(adds_up, SPACE, kind=kind, limit=limit, exact=True)
    found = states(result)
    for names, state in states(exact).items():
        assert found[names] == state
        assert found[(*names, "unused")] == state
    assert found[("unused",)] == "cleared"


def test_an_interrupted_enumeration_falls_back_on_draws(monkeypatch):
    def interrupted(self, points, weights, meter):
        raise KeyboardInterrupt

    limit = next_to_a("causal")
    monkeypatch.setattr(Search, "_enumerated", interrupted)
    result = eh.subsets(adds_up, SPACE, limit=limit)
    assert result.stop is eh.StopReason.INTERRUPTED
    assert states(result)[("d",)] == "discriminating"


def test_same_seed_same_bytes_where_draws_turn_into_enumeration():
    limit = next_to_a("group")

    def run(**options):
        subject = eh.Subject(adds_up, SPACE, **options)
        return eh.subsets(subject, kind="group", limit=limit)

    assert run(memo=True).digest == run(memo=False).digest
