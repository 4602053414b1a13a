"""Probe against plain loops, and what keeps a search from counting twice: keys, cells, what was
seen and found.
"""

from __future__ import annotations

import itertools
from typing import Any

import numpy as np
import pytest
from hypothesis import assume, given, settings
from hypothesis import strategies as st

from evenhand.methods.search.hits import Found
from evenhand.methods.search.probe import Probe
from evenhand.runtime.errors import EvenhandError, SpaceError
from evenhand.space.feature import category, integer, real
from evenhand.space.grid import BINS, Cells
from evenhand.space.row_keys import Seen, mixed
from evenhand.space.space import Space
from evenhand.subject.subject import Subject
from evenhand.subject.view import View
from tests.support.helpers import examples, refused
from tests.support.strategies import spaces

PEOPLE = Space(
    [category("sex", ["F", "M"]), category("race", ["a", "b", "c"]), integer("age", 18, 90)]
)


def probe_of(space: Space, names: Any, decide: Any, **options: Any) -> Probe:
    return Probe(View(Subject(decide, space, **options)), tuple(names))


# Probe.


@settings(max_examples=examples(50), deadline=None)
@given(
    spaces(constrained=True),
    st.integers(0, 999),
    st.sampled_from(["truth", "text", "number", "graded"]),
    st.booleans(),
    st.data(),
)
def test_a_class_is_a_hit_where_two_of_its_valid_members_differ(space, salt, kind, some, data):
    names = data.draw(st.lists(st.sampled_from(space.names), min_size=1, max_size=2, unique=True))
    over = [space.names.index(name) for name in names]
    values = [space.features[at].values().tolist() for at in over]
    table = list(itertools.product(*values))
    assume(len(table) > 1)

    def outcome(point):
        number = hash((salt, *point)) % 4
        return {
            "truth": number == 0,
            "text": "abcd"[number],
            "number": number / 4,
            "graded": number / 4,
        }[kind]

    def decide(people):
        return np.array([outcome(point) for point in space.encode(people).tolist()])

    differs = {"number": 0.3, "graded": lambda a, b: np.abs(a - b) * (np.abs(a - b) > 0.3)}.get(
        kind
    )
    probe = probe_of(space, names, decide, differs=differs)
    assert probe.table.tolist() == [list(row) for row in table]
    points = space.draw(12, np.random.default_rng(salt))
    pairs = None
    if some:
        rng = np.random.default_rng(salt + 1)
        first = rng.integers(0, len(table), len(points))
        pairs = np.stack(
            [first, (first + rng.integers(1, len(table), len(points))) % len(table)], axis=1
        )
    before = probe.view.subject.asked
    tried = probe.ask(points, pairs)
    assert probe.view.subject.asked - before == tried.asked.sum()
    for row, point in enumerate(points.tolist()):
        members = []
        for number in range(len(table)) if pairs is None else pairs[row].tolist():
            member = list(point)
            for at, value in zip(over, table[number], strict=True):
                member[at] = value
            if space.valid(np.array([member])).all():
                members.append((number, tuple(member)))
        if len(members) < 2:
            members = []
        assert tried.asked[row] == len(members)
        differing = [
            (one, other)
            for (one, a), (other, b) in itertools.combinations(members, 2)
            if (outcome(a) != outcome(b) if differs is None else abs(outcome(a) - outcome(b)) > 0.3)
        ]
        assert tried.hits[row] == bool(differing)
        if differing:
            pair = (int(tried.first[row]), int(tried.second[row]))
            assert pair in differing or pair[::-1] in differing
            told = {number: outcome(member) for number, member in members}
            assert [value.item() for value in tried.pair[:, row]] == [
                told[number] for number in pair
            ]
            changes = [
                sum(a != b for a, b in zip(table[i], table[j], strict=True)) for i, j in differing
            ]
            mine = sum(a != b for a, b in zip(table[pair[0]], table[pair[1]], strict=True))
            assert mine == min(changes)  # the smallest change of features is shown
    assert (tried.points[:, over] == probe.table[0]).all()
    assert (tried.keys == probe.keys(points)).all()


def test_members_and_canonical_points_change_nothing_else():
    probe = probe_of(PEOPLE, ["race", "sex"], lambda people: people["age"] > 30)
    points = PEOPLE.draw(50, np.random.default_rng(0))
    before = points.copy()
    for number, values in enumerate(probe.table.tolist()):
        member = probe.member(points, np.full(50, number))
        assert member[:, [1, 0]].tolist() == [values] * 50
        assert (member[:, 2] == points[:, 2]).all()
        assert (probe.keys(member) == probe.keys(points)).all()
        assert (probe.canonical(member) == probe.canonical(points)).all()
    assert (points == before).all()
    assert probe.free == (2,)


def test_features_that_are_not_passed_are_no_part_of_a_class():
    space = Space(
        [
            category("sex", ["F", "M"]),
            integer("age", 0, 9),
            category("town", ["A", "B"], passed=False),
        ]
    )
    probe = probe_of(space, ["sex"], lambda people: people["sex"] == "M")
    keys = probe.keys(np.array([[0.0, 5.0, 0.0], [1.0, 5.0, 1.0], [0.0, 6.0, 0.0]]))
    assert keys[0] == keys[1] != keys[2]
    assert probe.free == (1,)


def test_bins_stand_for_a_continuous_feature():
    space = Space([real("age", 0, 100, bins=4), integer("income", 0, 9)])
    probe = probe_of(space, ["age"], lambda people: people["age"] > 50)
    assert len(probe.table) == 4
    assert not np.isnan(probe.table).any()
    tried = probe.ask(space.draw(10, np.random.default_rng(0)))
    assert tried.hits.all()
    assert (tried.points[:, 0] == probe.table[0, 0]).all()


def test_a_feature_of_one_value_is_refused():
    space = Space([category("sex", ["F"]), integer("age", 0, 9)])
    probe = probe_of(space, ["sex"], lambda people: people["age"] > 3)
    refused(SpaceError, lambda: probe.table, "sex can take only one value")
    with pytest.raises(EvenhandError):
        probe.ask(space.draw(1, np.random.default_rng(0)))


@pytest.mark.parametrize(
    ("decide", "options", "individual"),
    [
        (lambda people: people["sex"] == "F", {}, "M"),  # false is less than true
        (lambda people: np.where(people["sex"] == "F", 1, 0), {"labels": [0, 1]}, "M"),
        (
            lambda people: np.where(people["sex"] == "F", 1, 0),
            {},
            "F",
        ),  # 1 need not be better: the first of all
        (lambda people: np.where(people["sex"] == "F", "no", "yes"), {"positive": "yes"}, "F"),
        (lambda people: np.where(people["sex"] == "F", "yes", "no"), {"positive": "yes"}, "M"),
        (lambda people: np.where(people["sex"] == "F", "x", "y"), {}, "F"),
        (lambda people: np.where(people["sex"] == "F", 7.5, 2.5), {"differs": 1.0}, "F"),
        (lambda people: np.where(people["sex"] == "F", 9, 3), {"positive": lambda y: y > 5}, "M"),
    ],
)
def test_the_less_favoured_stands_first_where_it_is_known(decide, options, individual):
    found = Found(probe_of(PEOPLE, ["sex"], decide, **options))
    found.add(found.probe.ask(PEOPLE.draw(5, np.random.default_rng(0))))
    assert {PEOPLE.records(found.individuals[:1])[0]["sex"]} == {individual}
    assert (found.individuals[:, 0] != found.twins[:, 0]).all()
    assert decide(PEOPLE.decode(found.individuals)).tolist() == found.outcomes[0].tolist()
    assert decide(PEOPLE.decode(found.twins)).tolist() == found.outcomes[1].tolist()


def test_nearness_grows_with_the_gap_of_numbers():
    def pay(people):
        return people["age"] / 100 * (people["sex"] == "M")

    probe = probe_of(PEOPLE, ["sex"], pay, differs=0.8)
    ages = np.array([18.0, 40.0, 60.0, 79.0, 85.0])
    tried = probe.ask(np.stack([np.zeros(5), np.zeros(5), ages], axis=1))
    assert tried.hits.tolist() == [False, False, False, False, True]
    assert (np.diff(tried.near) > 0).all()
    assert ((tried.near >= 0) & (tried.near <= 1)).all()
    assert (
        probe_of(PEOPLE, ["sex"], lambda people: people["age"] > 50).ask(tried.points).near == 0
    ).all()


# What was found.


@settings(max_examples=examples(40), deadline=None)
@given(
    st.lists(st.lists(st.integers(18, 90), max_size=30), max_size=5), st.integers(1, 60) | st.none()
)
def test_each_class_is_found_once_and_in_order(waves, most):
    probe = probe_of(
        PEOPLE, ["sex", "race"], lambda people: (people["sex"] == "M") & (people["age"] % 3 == 0)
    )
    found, plain = Found(probe, most), dict[int, None]()
    for ages in waves:
        points = np.array([[age % 2, age % 3, age] for age in ages], dtype=np.float64).reshape(
            -1, 3
        )
        new = [age for age in dict.fromkeys(ages) if age % 3 == 0 and age not in plain]
        new = new if most is None else new[: most - len(plain)]
        plain.update(dict.fromkeys(new))
        assert found.add(probe.ask(points)) == len(new)
        assert len(found) == len(plain)
        assert found.full == (most is not None and len(plain) >= most)
        assert found.points[:, 2].tolist() == list(plain)
        assert found.pairs.shape == (len(plain), 2)
        assert found.outcomes.shape == (2, len(plain))
        assert found.cells == len({min((age - 18) * BINS // 73, BINS - 1) for age in plain})
    assert (found.individuals[:, 2] == found.twins[:, 2]).all()


def test_nothing_found_has_its_shape():
    found = Found(probe_of(PEOPLE, ["sex"], lambda people: people["age"] > 30))
    assert found.add(found.probe.ask(PEOPLE.draw(50, np.random.default_rng(0)))) == 0
    assert (len(found), found.cells, found.full) == (0, 0, False)
    assert found.points.shape == found.individuals.shape == found.twins.shape == (0, 3)
    assert found.outcomes.shape == (2, 0)


def test_tried_classes_are_taken_and_joined():
    probe = probe_of(PEOPLE, ["race"], lambda people: people["race"].to_numpy() == "b")
    tried = probe.ask(PEOPLE.draw(9, np.random.default_rng(0)))
    parts = [tried.take(slice(0, 4)), tried.take(np.array([4, 5])), tried.take(slice(6, 9))]
    whole = parts[0].joined(parts[1:])
    for name in ("points", "keys", "hits", "first", "second", "pair", "near"):
        assert getattr(whole, name).tolist() == getattr(tried, name).tolist()
    assert len(whole) == 9


# Keys and what was seen.


@pytest.mark.slow
def test_a_million_rows_have_a_million_keys():
    rng = np.random.default_rng(0)
    rows = np.stack([*rng.integers(0, 50, (6, 1_000_000)), rng.permutation(1_000_000)]).astype(
        np.float64
    )
    assert len(np.unique(mixed(rows, 1_000_000))) == 1_000_000
    near = np.arange(100_000.0)  # neighbours in one feature, as a search has them
    for columns in (
        [near, np.zeros_like(near)],
        [np.zeros_like(near), near],
        [near, near],
        [near / 1000, -near],
    ):
        assert len(np.unique(mixed(columns, len(near)))) == len(near)
    grid = np.stack(np.meshgrid(*[np.arange(20.0)] * 4), axis=-1).reshape(-1, 4)
    assert len(np.unique(mixed(grid.T, len(grid)))) == len(grid)


def test_the_order_of_columns_matters_and_the_sign_of_zero_does_not():
    assert mixed([np.array([1.0]), np.array([2.0])], 1) != mixed(
        [np.array([2.0]), np.array([1.0])], 1
    )
    assert mixed([np.array([0.0])], 1) == mixed([np.array([-0.0])], 1)
    assert mixed([], 3).tolist() == [0, 0, 0]


KEYS = st.lists(st.lists(st.integers(0, 30) | st.integers(0, 2**64 - 1), max_size=25), max_size=6)


@settings(deadline=None)
@given(KEYS, st.booleans())
def test_what_was_seen_is_a_set(waves, look):
    seen, plain = Seen(), set[int]()
    for wave in waves:
        keys = np.array(wave, dtype=np.uint64)
        expected = [key not in plain and key not in wave[:at] for at, key in enumerate(wave)]
        assert seen.has(keys).tolist() == [key in plain for key in wave]
        assert seen.fresh(keys).tolist() == expected
        if look:
            assert len(seen) == len(plain)  # looking adds nothing
        assert seen.add(keys).tolist() == expected
        plain |= set(wave)
        assert len(seen) == len(plain)
        assert all((key in seen) == (key in plain) for key in [*wave, 31, 2**63])


# Cells.


@settings(max_examples=examples(60), deadline=None)
@given(spaces(continuous=True), st.integers(0, 99))
def test_cells_are_four_equal_bins_to_a_feature(space, seed):
    points = space.draw(200, np.random.default_rng(seed))
    cells = Cells(space, tuple(range(len(space.features))))
    bins = cells.bins(points)
    for at, feature in enumerate(space.features):
        mine = bins[:, at]
        if feature.size <= BINS:
            assert len(np.unique(mine)) == len(np.unique(points[:, at]))
        else:
            assert set(mine.tolist()) <= {0.0, 1.0, 2.0, 3.0}
            assert (np.diff(mine[np.argsort(points[:, at])]) >= 0).all()  # in order
        if BINS < feature.size < np.inf:
            whole = np.zeros((int(feature.size), len(space.features)))
            whole[:, at] = feature.values()
            sizes = np.bincount(Cells(space, (at,)).bins(whole)[:, 0].astype(int))
            assert len(sizes) == BINS
            assert max(sizes) - min(sizes) <= 1
    same = cells.of(points)[:, None] == cells.of(points)
    assert (same == (bins[:, None] == bins).all(axis=2)).all()


def test_cells_see_the_named_features_only():
    cells = Cells(PEOPLE, (1, 2))
    assert cells.of(np.array([[0.0, 1.0, 20.0]])) == cells.of(np.array([[1.0, 1.0, 30.0]]))
    assert cells.of(np.array([[0.0, 1.0, 20.0]])) != cells.of(np.array([[0.0, 2.0, 20.0]]))
