"""The lattice of sets against brute force: what follows, and whether searches end at the border."""

from __future__ import annotations

import itertools
import math

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from evenhand.methods.subsets.border import Border
from evenhand.methods.subsets.lattice import LISTED, WHY, WORDS, Lattice, State
from evenhand.methods.subsets.lattice import TestedSet as Seen
from evenhand.runtime.errors import UsageError
from evenhand.statistics.estimate import Estimate
from tests.support.helpers import examples, refused

NAMES = tuple("abcdefghijklmnopqrst")


@st.composite
def monotone(draw, least=3, most=7):
    """Return a score of every set of a few features that never falls when features are added.

    It is the highest of some parts of the set.
    """
    features = draw(st.integers(least, most))
    masks = st.integers(1, 2**features - 1)
    values = st.sampled_from([0.05, 0.2, 0.49, 0.5, 0.51, 0.8, 1.0])
    part = st.tuples(masks, values)
    parts = draw(st.lists(part, max_size=8))
    return scored(features, parts)


def scored(features, parts):
    """Return the score of every set: the highest value of a part within it."""
    scores = []
    for mask in range(2**features):
        score = 0.0
        for part, value in parts:
            if is_subset(part, mask):
                score = max(score, value)
        scores.append(score)
    return scores


def is_subset(smaller, larger):
    return smaller & larger == smaller


def found(state, value=0.5):
    estimate = Estimate(
        value,
        low=value,
        high=value,
        n=10,
        level=1.0,
        method="enumerated",
    )
    return Seen(state, estimate)


def side_of(score, limit):
    return State.ABOVE if score >= limit else State.BELOW


def judged(score, limit):
    return found(side_of(score, limit), score)


def settle(
    lattice,
    scores,
    limit,
    *,
    varieties=None,
    most=math.inf,
    margin=0.05,
):
    """Return the sets that a search tests, in order, until nothing is open.

    Each test finds the true score.
    """
    if varieties is None:
        varieties = [1.0] * len(lattice.names)
    border = Border(lattice, limit, margin, varieties, most)
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


def is_proper_subset(smaller, larger):
    return smaller != larger and is_subset(smaller, larger)


def smallest(masks):
    minimal = set()
    for mask in masks:
        if not any(is_proper_subset(other, mask) for other in masks):
            minimal.add(mask)
    return minimal


def largest(masks):
    maximal = set()
    for mask in masks:
        if not any(is_proper_subset(mask, other) for other in masks):
            maximal.add(mask)
    return maximal


def wanted(lattice):
    depth = lattice.depth or len(lattice.names)
    masks = range(1, len(lattice.states))
    return [mask for mask in masks if mask.bit_count() <= depth]


def features_of(scores):
    """Return as many names as there are features, with a score for each of their sets."""
    features = len(scores).bit_length() - 1
    return NAMES[:features]


def expected(lattice, tested):
    """Return what is known of every set, one at a time, from what was found of some."""
    states = {}
    for mask in wanted(lattice):
        state = tested.get(mask, State.OPEN)
        if state is not State.BELOW and follows_above(mask, tested):
            state = State.IMPLIED_ABOVE
        elif state not in (State.ABOVE, State.BELOW) and follows_below(mask, tested):
            state = State.IMPLIED_BELOW
        states[mask] = state
    return states


def follows_above(mask, tested):
    above = in_state(tested, State.ABOVE)
    return any(is_proper_subset(other, mask) for other in above)


def follows_below(mask, tested):
    below = in_state(tested, State.BELOW)
    return any(is_subset(mask, other) for other in below)


def in_state(states, wanted_state):
    return [mask for mask, state in states.items() if state == wanted_state]


@given(monotone(), st.integers(1, 7) | st.none(), st.data())
@settings(max_examples=examples(80), deadline=None)
def test_what_follows_from_tests_in_any_order(scores, depth, data):
    lattice = Lattice(features_of(scores), depth)
    order = data.draw(st.permutations(wanted(lattice)))
    vague_states = st.sampled_from([None, None, State.UNDECIDED, State.NOT_SHOWN])
    tested: dict[int, State] = {}
    for mask in order[:20]:
        if lattice.states[mask] != State.OPEN:
            continue
        vague = data.draw(vague_states)
        score = scores[mask]
        state = vague or side_of(score, 0.5)
        tested[mask] = state
        lattice.add(mask, found(state, score))
        check_states(lattice, expected(lattice, tested))
    if tested:
        check_table(lattice, tested, expected(lattice, tested))


def check_states(lattice, states):
    """Check the state of every set, and the sets on the edges."""
    for mask, state in states.items():
        assert lattice.states[mask] == state
    open_masks = np.flatnonzero(lattice.open).tolist()
    assert open_masks == sorted(in_state(states, State.OPEN))
    above = in_state(states, State.ABOVE)
    assert set(lattice.minimal()) == smallest(above)
    for state in (State.BELOW, State.UNDECIDED, State.NOT_SHOWN):
        maximal = lattice.maximal(state)
        assert set(maximal) == largest(in_state(states, state))


def mask_of(lattice, names):
    bits = [lattice.names.index(name) for name in names]
    return sum(1 << bit for bit in bits)


def check_table(lattice, tested, states):
    """Check what is written down: every set once, with a reason that really is one."""
    rows = lattice.to_dict()
    by_size = sorted(sorted(states), key=int.bit_count)
    members = [list(lattice.members(mask)) for mask in by_size]
    listed = [row["about"] for row in rows]
    assert listed == members
    for row in rows:
        mask = mask_of(lattice, row["about"])
        state = states[mask]
        assert row["state"] == WORDS[state].removeprefix("implied ")
        source = None
        if row["of"] is not None:
            source = mask_of(lattice, row["of"])
        if state is State.IMPLIED_ABOVE:
            assert row["because"] == WHY[state]
            assert row["because"] == "superset of a discriminating set"
            assert tested[source] is State.ABOVE
            assert source != mask
            assert source & mask == source
        elif state is State.IMPLIED_BELOW:
            assert row["because"] == WHY[state]
            assert row["because"] == "subset of a cleared set"
            assert tested[source] is State.BELOW
            assert source != mask
            assert source & mask == mask
        else:
            assert source is None
            reason = "not tested" if state is State.OPEN else "tested"
            assert row["because"] == reason
        has_no_value = row["value"] is None
        assert has_no_value == (row["n"] == 0)
        assert has_no_value == (mask not in tested)


@given(monotone(), st.integers(1, 7) | st.none(), st.sampled_from([0.3, 0.5, 1.0]))
@settings(max_examples=examples(60), deadline=None)
def test_levels_add_up(scores, depth, limit):
    lattice = Lattice(features_of(scores), depth)
    features = len(lattice.names)
    for mask in wanted(lattice)[::3]:
        if lattice.states[mask] == State.OPEN:
            lattice.add(mask, judged(scores[mask], limit))
    rows = lattice.levels()
    for row in rows:
        sets = sum(row[word] for word in WORDS.values())
        assert sets == math.comb(features, row["size"])
    for state, word in WORDS.items():
        sets = sum(row[word] for row in rows)
        assert sets == lattice.count(state)
    assert lattice.count(*WORDS) == lattice.total
    assert lattice.total == len(wanted(lattice))


@given(st.integers(1, 7), st.data(), st.booleans())
@settings(max_examples=examples(60), deadline=None)
def test_sets_over_and_under_are_counted_as_by_hand(features, data, over):
    size = 2**features
    flags = st.lists(st.booleans(), min_size=size, max_size=size)
    chosen = np.array(data.draw(flags))
    lattice = Lattice(NAMES[:features])
    border = Border(lattice, 0.5, 0.05, [2.0] * features, 100)
    sets = np.flatnonzero(chosen).tolist()
    counts = []
    for mask in lattice.masks.tolist():
        if over:
            related = [other for other in sets if is_subset(mask, other)]
        else:
            related = [other for other in sets if is_subset(other, mask)]
        counts.append(len(related))
    before = chosen.copy()
    sums = border._sums(chosen, over=over)
    assert sums.tolist() == counts
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
    lattice = Lattice(features_of(scores), depth)
    repeated = itertools.cycle(varieties)
    sizes = list(itertools.islice(repeated, len(lattice.names)))
    order = settle(lattice, scores, limit, varieties=sizes, most=most)
    assert not lattice.open.any()
    assert len(set(order)) == len(order)
    assert len(order) == len(lattice.tested)
    assert len(order) <= lattice.total
    expected_above = above_limit(lattice, scores, limit)
    assert set(lattice.minimal()) == smallest(expected_above)
    above = lattice.count(State.ABOVE, State.IMPLIED_ABOVE)
    assert above == len(expected_above)
    below = lattice.count(State.BELOW, State.IMPLIED_BELOW)
    assert below == lattice.total - above


def above_limit(lattice, scores, limit):
    """Return the sets that a search has to find."""
    return [mask for mask in wanted(lattice) if scores[mask] >= limit]


FEATURES = 7
FULL = 2**FEATURES - 1


def of_size(size, score):
    """Return a score for all sets of a size."""
    masks = range(1, FULL + 1)
    return [(mask, score) for mask in masks if mask.bit_count() == size]


SHAPES = {
    "nothing": [],
    "everything": of_size(1, 1.0),
    "one feature": [(0b100, 0.9)],
    "only all together": [(FULL, 1.0)],
    "every pair": of_size(2, 1.0),
    "the middle": of_size(4, 1.0),
    "at the limit": [(0b1, 0.5), (0b110, 0.5)],
    "a misleading start": of_size(1, 0.49),
    "a misleading pair": [*of_size(1, 0.45), (0b11000, 1.0)],
}


@pytest.mark.parametrize("shape", SHAPES)
def test_no_shape_of_the_border_misleads_the_search(shape):
    scores = scored(FEATURES, SHAPES[shape])
    lattice = Lattice(NAMES[:FEATURES])
    order = settle(lattice, scores, 0.5)
    assert not lattice.open.any()
    assert len(order) <= lattice.total
    above = above_limit(lattice, scores, 0.5)
    assert set(lattice.minimal()) == smallest(above)


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
    # A set has no effect where none of its features has one.
    without_effect = 1 - np.array(chances)
    scores = []
    for mask in range(1024):
        members = [bit for bit in range(10) if mask & 2**bit]
        score = 1 - np.prod(without_effect[members])
        scores.append(float(score))
    lattice = Lattice(NAMES[:10])
    order = settle(lattice, scores, 0.75)
    assert not lattice.open.any()
    above = above_limit(lattice, scores, 0.75)
    minimal = lattice.minimal()
    assert set(minimal) == smallest(above)
    border = len(minimal) + len(lattice.maximal(State.BELOW))
    assert border <= len(order) <= most, name


def test_a_set_that_follows_later_is_no_longer_undecided():
    lattice = Lattice(("a", "b", "c"))
    lattice.add(0b011, found(State.UNDECIDED))
    lattice.add(0b110, found(State.NOT_SHOWN))
    assert lattice.maximal(State.UNDECIDED) == [0b011]
    assert lattice.maximal(State.NOT_SHOWN) == [0b110]
    lattice.add(0b001, found(State.ABOVE, 0.9))
    assert lattice.states[0b011] == State.IMPLIED_ABOVE
    lattice.add(0b100, found(State.ABOVE, 0.9))
    assert lattice.states[0b110] == State.IMPLIED_ABOVE
    assert lattice.maximal(State.UNDECIDED) == []
    assert lattice.maximal(State.NOT_SHOWN) == []
    (row,) = [row for row in lattice.to_dict() if row["about"] == ["a", "b"]]
    assert row["because"] == "superset of a discriminating set"
    # What was seen of it stays.
    assert row["value"] == 0.5


def test_a_large_lattice_lists_what_was_tested():
    first, *others = NAMES[:13]
    lattice = Lattice((first, *others))
    assert lattice.total > LISTED
    mask_of_others = 2**13 - 2
    lattice.add(0b1, found(State.ABOVE))
    lattice.add(mask_of_others, found(State.BELOW))
    listed = [row["about"] for row in lattice.to_dict()]
    assert listed == [[first], others]
    assert not lattice.open.any()
    implied = [row["implied discriminating"] for row in lattice.levels()]
    assert sum(implied) == 2**12 - 1


def test_too_many_features_and_no_depth_are_refused():
    names = tuple(f"x{number}" for number in range(21))
    refused(
        UsageError,
        lambda: Lattice(names),
        "21 features",
        "2,097,151",
        "at most 20",
        "among",
    )
    refused(UsageError, lambda: Lattice(("a", "b"), 0), "depth = 0", "1 or more")
    assert Lattice(("a", "b", "c"), 2).total == 6
