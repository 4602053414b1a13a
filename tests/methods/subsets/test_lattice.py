"""The lattice of sets against brute force: what follows from what, and a search that ends with the
true border.
"""

from __future__ import annotations

import itertools
import math

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from evenhand.methods.subsets.border import Border
from evenhand.methods.subsets.lattice import LISTED, WHY, WORDS, Lattice, State
from evenhand.methods.subsets.lattice import Tested as Seen
from evenhand.runtime.errors import UsageError
from evenhand.statistics.estimate import Estimate
from tests.support.helpers import examples, refused

NAMES = tuple("abcdefghijklmnopqrst")


@st.composite
def monotone(draw, least=3, most=7):
    """A score of every set of a few features that never falls when features are added: the highest
    of some parts.
    """
    features = draw(st.integers(least, most))
    parts = draw(
        st.lists(
            st.tuples(
                st.integers(1, 2**features - 1),
                st.sampled_from([0.05, 0.2, 0.49, 0.5, 0.51, 0.8, 1.0]),
            ),
            max_size=8,
        )
    )
    return scored(features, parts)


def scored(features, parts):
    return [
        max((value for part, value in parts if part & mask == part), default=0.0)
        for mask in range(2**features)
    ]


def found(state, value=0.5):
    return Seen(state, Estimate(value, value, value, 10, 1.0, "enumerated"))


def judged(score, limit):
    return found(State.ABOVE if score >= limit else State.BELOW, score)


def settle(lattice, scores, limit, *, varieties=None, most=math.inf, margin=0.05):
    """Test sets by their true scores, as the search does, until nothing is open; return those
    tested, in order.
    """
    border = Border(lattice, limit, margin, varieties or [1.0] * len(lattice.names), most)
    order = []
    while batch := border.batch():
        assert len(set(batch)) == len(batch)
        assert lattice.open[batch].all()
        for mask in batch[:8]:
            if lattice.states[mask] == State.OPEN:
                lattice.add(mask, judged(scores[mask], limit))
                border.learn(mask, scores[mask])
                order.append(mask)
    return order


def smallest(masks):
    return {
        mask
        for mask in masks
        if not any(other != mask and other & mask == other for other in masks)
    }


def largest(masks):
    return {
        mask for mask in masks if not any(other != mask and other & mask == mask for other in masks)
    }


def wanted(lattice):
    depth = lattice.depth or len(lattice.names)
    return [mask for mask in range(1, len(lattice.states)) if mask.bit_count() <= depth]


def expected(lattice, told):
    """What is known of every set, one at a time, from what was said of some."""
    states = {}
    for mask in wanted(lattice):
        mine = told.get(mask, State.OPEN)
        if mine is not State.BELOW:
            within = (other for other in told if other != mask and other & mask == other)
            if any(told[other] is State.ABOVE for other in within):
                mine = State.IMPLIED_ABOVE
            elif mine is not State.ABOVE and any(
                state is State.BELOW and other & mask == mask for other, state in told.items()
            ):
                mine = State.IMPLIED_BELOW
        states[mask] = mine
    return states


@given(monotone(), st.integers(1, 7) | st.none(), st.data())
@settings(max_examples=examples(80), deadline=None)
def test_what_follows_from_tests_in_any_order(scores, depth, data):
    lattice = Lattice(NAMES[: len(scores).bit_length() - 1], depth)
    told: dict[int, State] = {}
    for mask in data.draw(st.permutations(wanted(lattice)))[:20]:
        if lattice.states[mask] != State.OPEN:
            continue
        vague = data.draw(st.sampled_from([None, None, State.UNDECIDED, State.NOT_SHOWN]))
        told[mask] = vague or (State.ABOVE if scores[mask] >= 0.5 else State.BELOW)
        lattice.add(mask, found(told[mask], scores[mask]))
        states = expected(lattice, told)
        assert {mask: State(int(lattice.states[mask])) for mask in states} == states
        assert set(np.flatnonzero(lattice.open).tolist()) == {
            mask for mask in states if states[mask] == State.OPEN
        }
        assert set(lattice.minimal()) == smallest(
            [one for one in states if states[one] == State.ABOVE]
        )
        for state in (State.BELOW, State.UNDECIDED, State.NOT_SHOWN):
            assert set(lattice.maximal(state)) == largest(
                [one for one in states if states[one] == state]
            )
    if told:
        check_table(lattice, told, expected(lattice, told))


def check_table(lattice, told, states):
    """Check what is written down: every set once, with a reason that really is one."""
    rows = lattice.to_dict()
    assert [row["about"] for row in rows] == [
        list(lattice.members(mask))
        for mask in sorted(states, key=lambda mask: (mask.bit_count(), mask))
    ]
    for row in rows:
        mask = sum(1 << lattice.names.index(name) for name in row["about"])
        state = states[mask]
        assert row["state"] == WORDS[state].removeprefix("implied ")
        source = (
            None if row["of"] is None else sum(1 << lattice.names.index(name) for name in row["of"])
        )
        if state is State.IMPLIED_ABOVE:
            assert row["because"] == WHY[state] == "superset of a discriminating set"
            assert told[source] is State.ABOVE
            assert source != mask
            assert source & mask == source
        elif state is State.IMPLIED_BELOW:
            assert row["because"] == WHY[state] == "subset of a cleared set"
            assert told[source] is State.BELOW
            assert source != mask
            assert source & mask == mask
        else:
            assert source is None
            assert row["because"] == ("not tested" if state is State.OPEN else "tested")
        assert (row["value"] is None) == (row["n"] == 0) == (mask not in told)


@given(monotone(), st.integers(1, 7) | st.none(), st.sampled_from([0.3, 0.5, 1.0]))
@settings(max_examples=examples(60), deadline=None)
def test_levels_add_up(scores, depth, limit):
    lattice = Lattice(NAMES[: len(scores).bit_length() - 1], depth)
    for mask in wanted(lattice)[::3]:
        if lattice.states[mask] == State.OPEN:
            lattice.add(mask, judged(scores[mask], limit))
    rows = lattice.levels()
    for row in rows:
        assert sum(row[word] for word in WORDS.values()) == math.comb(
            len(lattice.names), row["size"]
        )
    for state, word in WORDS.items():
        assert sum(row[word] for row in rows) == lattice.count(state)
    assert lattice.count(*WORDS) == lattice.total == len(wanted(lattice))


@given(st.integers(1, 7), st.data(), st.booleans())
@settings(max_examples=examples(60), deadline=None)
def test_sets_over_and_under_are_counted_as_by_hand(features, data, over):
    chosen = np.array(
        data.draw(st.lists(st.booleans(), min_size=2**features, max_size=2**features))
    )
    border = Border(Lattice(NAMES[:features]), 0.5, 0.05, [2.0] * features, 100)
    sets = np.flatnonzero(chosen).tolist()
    counts = [
        sum((other & mask == mask) if over else (other & mask == other) for other in sets)
        for mask in border.lattice.masks.tolist()
    ]
    before = chosen.copy()
    assert border._sums(chosen, over=over).tolist() == counts
    assert (chosen == before).all()


@given(
    monotone(),
    st.integers(1, 7) | st.none(),
    st.sampled_from([0.05, 0.3, 0.5, 0.75, 1.0]),
    st.sampled_from([[2.0], [1.0], [50.0, 2.0, 3.0]]),
    st.sampled_from([math.inf, 100, 4]),
)
@settings(max_examples=examples(80), deadline=None)
def test_the_search_ends_with_the_true_border(scores, depth, limit, varieties, most):
    features = len(scores).bit_length() - 1
    lattice = Lattice(NAMES[:features], depth)
    sizes = list(itertools.islice(itertools.cycle(varieties), features))
    order = settle(lattice, scores, limit, varieties=sizes, most=most)
    assert not lattice.open.any()
    assert len(set(order)) == len(order) == len(lattice.tested) <= lattice.total
    above = [mask for mask in wanted(lattice) if scores[mask] >= limit]
    assert set(lattice.minimal()) == smallest(above)
    assert lattice.count(State.ABOVE, State.IMPLIED_ABOVE) == len(above)
    assert lattice.count(State.BELOW, State.IMPLIED_BELOW) == lattice.total - len(above)


FEATURES = 7
FULL = 2**FEATURES - 1
SHAPES = {
    "nothing": [],
    "everything": [(1 << bit, 1.0) for bit in range(FEATURES)],
    "one feature": [(0b100, 0.9)],
    "only all together": [(FULL, 1.0)],
    "every pair": [
        ((1 << a) | (1 << b), 1.0) for a, b in itertools.combinations(range(FEATURES), 2)
    ],
    "the middle": [(mask, 1.0) for mask in range(FULL) if mask.bit_count() == 4],
    "at the limit": [(0b1, 0.5), (0b110, 0.5)],
    "a misleading start": [(1 << bit, 0.49) for bit in range(FEATURES)],
    "a misleading pair": [(1 << bit, 0.45) for bit in range(FEATURES)] + [(0b11000, 1.0)],
}


@pytest.mark.parametrize("shape", SHAPES)
def test_no_shape_of_the_border_misleads_the_search(shape):
    scores = scored(FEATURES, SHAPES[shape])
    lattice = Lattice(NAMES[:FEATURES])
    order = settle(lattice, scores, 0.5)
    assert not lattice.open.any()
    assert len(order) <= lattice.total
    assert set(lattice.minimal()) == smallest(
        [mask for mask in range(1, FULL + 1) if scores[mask] >= 0.5]
    )


@pytest.mark.parametrize(
    ("name", "chances", "most"),
    [
        ("nothing", [0.0] * 10, 14),
        ("one strong feature", [0.9] + [0.0] * 9, 14),
        ("two that add up", [0.6, 0.6] + [0.01] * 8, 60),
        ("many alike", [0.4] * 10, 500),
        ("of all strengths", [0.5, 0.4, 0.3, 0.2, 0.1, 0.05, 0.02, 0.01, 0.0, 0.0], 150),
    ],
)
def test_far_fewer_sets_are_tested_than_there_are(name, chances, most):
    """Ten features that act independently have 1,023 sets."""
    weights = -np.log1p(-np.array(chances))
    scores = [
        float(-np.expm1(-sum(weights[bit] for bit in range(10) if mask >> bit & 1)))
        for mask in range(1024)
    ]
    lattice = Lattice(NAMES[:10])
    order = settle(lattice, scores, 0.75)
    assert not lattice.open.any()
    assert set(lattice.minimal()) == smallest(
        [mask for mask in range(1, 1024) if scores[mask] >= 0.75]
    )
    border = len(lattice.minimal()) + len(lattice.maximal(State.BELOW))
    assert border <= len(order) <= most, name


def test_a_set_that_follows_later_is_no_longer_undecided():
    lattice = Lattice(("a", "b", "c"))
    lattice.add(0b011, found(State.UNDECIDED))
    lattice.add(0b110, found(State.NOT_SHOWN))
    assert (lattice.maximal(State.UNDECIDED), lattice.maximal(State.NOT_SHOWN)) == (
        [0b011],
        [0b110],
    )
    lattice.add(0b001, found(State.ABOVE, 0.9))
    assert lattice.states[0b011] == State.IMPLIED_ABOVE
    lattice.add(0b100, found(State.ABOVE, 0.9))
    assert lattice.states[0b110] == State.IMPLIED_ABOVE
    assert lattice.maximal(State.UNDECIDED) == lattice.maximal(State.NOT_SHOWN) == []
    rows = {tuple(row["about"]): row for row in lattice.to_dict()}
    assert rows["a", "b"]["because"] == "superset of a discriminating set"
    assert rows["a", "b"]["value"] == 0.5  # what was seen of it stays


def test_a_large_lattice_lists_what_was_tested():
    features = 13
    lattice = Lattice(NAMES[:features])
    assert lattice.total > LISTED
    lattice.add(0b1, found(State.ABOVE))
    lattice.add(2**features - 2, found(State.BELOW))
    assert [row["about"] for row in lattice.to_dict()] == [["a"], list(NAMES[1:features])]
    assert not lattice.open.any()
    assert sum(row["implied discriminating"] for row in lattice.levels()) == 2**12 - 1


def test_too_many_features_and_no_depth_are_refused():
    refused(
        UsageError,
        lambda: Lattice(tuple(f"x{i}" for i in range(21))),
        "21 features",
        "2,097,151",
        "at most 20",
        "among",
    )
    refused(UsageError, lambda: Lattice(("a", "b"), 0), "depth = 0", "1 or more")
    assert Lattice(("a", "b", "c"), 2).total == 6
