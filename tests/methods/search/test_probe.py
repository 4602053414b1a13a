"""Probe against plain loops, and what keeps a search from counting twice."""

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
from evenhand.space.grid import BINS, GridCells
from evenhand.space.row_keys import Seen, mixed
from evenhand.space.space import Space
from evenhand.subject.subject import Subject
from evenhand.subject.view import View
from tests.support.helpers import examples, refused
from tests.support.strategies import spaces

PEOPLE = Space(
    [
        category("sex", ["F", "M"]),
        category("race", ["a", "b", "c"]),
        integer("age", 18, 90),
    ]
)
GAP = 0.3
"""How much numbers must differ."""


def probe_of(space: Space, names: Any, decide: Any, **options: Any) -> Probe:
    subject = Subject(decide, space, **options)
    return Probe(View(subject), tuple(names))


def draws(n: int, seed: int = 0, space: Space = PEOPLE) -> Any:
    return space.draw(n, np.random.default_rng(seed))


def is_over_30(people: Any) -> Any:
    return people["age"] > 30


def graded_difference(first: Any, second: Any) -> Any:
    """Return a difference by how much it is over the gap, else zero."""
    distance = np.abs(first - second)
    return distance * (distance > GAP)


def random_pairs(assignments: int, classes: int, seed: int) -> Any:
    """Return two different assignments of each class."""
    rng = np.random.default_rng(seed)
    first = rng.integers(0, assignments, classes)
    further = rng.integers(1, assignments, classes)
    second = (first + further) % assignments
    return np.stack([first, second], axis=1)


class PlainClasses:
    """Classes and their outcomes by plain loops, to compare a probe with."""

    def __init__(self, space: Space, names: list[str], kind: str, salt: int) -> None:
        self.space = space
        self.kind = kind
        self.salt = salt
        self.over = [space.names.index(name) for name in names]
        domains = [space.features[at].values().tolist() for at in self.over]
        self.table = list(itertools.product(*domains))

    def outcome(self, point: Any) -> Any:
        """Return the outcome of a point, which is random but always the same."""
        number = hash((self.salt, *point)) % 4
        if self.kind == "truth":
            return number == 0
        if self.kind == "text":
            return "abcd"[number]
        return number / 4

    def decide(self, people: Any) -> Any:
        points = self.space.encode(people).tolist()
        return np.array([self.outcome(point) for point in points])

    @property
    def differs(self) -> Any:
        """What two outcomes must differ by, None where any difference counts."""
        if self.kind == "number":
            return GAP
        if self.kind == "graded":
            return graded_difference
        return None

    def members(self, point: list[float], assignments: Any) -> dict[int, tuple[float, ...]]:
        """Return the valid members of a point's class; none where only one is valid."""
        members = {}
        for number in assignments:
            member = list(point)
            for at, value in zip(self.over, self.table[number], strict=True):
                member[at] = value
            if self.space.valid(np.array([member])).all():
                members[number] = tuple(member)
        return members if len(members) > 1 else {}

    def apart(self, first: Any, second: Any) -> bool:
        """Return whether two outcomes differ."""
        if self.differs is None:
            return bool(first != second)
        return bool(abs(first - second) > GAP)

    def differing(self, members: dict[int, tuple[float, ...]]) -> list[tuple[int, int]]:
        """Return all pairs of members whose outcomes differ."""
        pairs = []
        for one, other in itertools.combinations(members, 2):
            first = self.outcome(members[one])
            second = self.outcome(members[other])
            if self.apart(first, second):
                pairs.append((one, other))
        return pairs

    def features_changed(self, one: int, other: int) -> int:
        """Return in how many features two assignments differ."""
        first = np.array(self.table[one])
        second = np.array(self.table[other])
        return int((first != second).sum())


# Probe.


@settings(max_examples=examples(50), deadline=None)
@given(
    spaces(constrained=True),
    st.integers(0, 999),
    st.sampled_from(["truth", "text", "number", "graded"]),
    st.booleans(),
    st.data(),
)
def test_a_class_is_a_hit_where_two_of_its_valid_members_differ(
    space, salt, kind, some, data
):
    some_names = st.lists(
        st.sampled_from(space.names),
        min_size=1,
        max_size=2,
        unique=True,
    )
    names = data.draw(some_names)
    plain = PlainClasses(space, names, kind, salt)
    assignments = len(plain.table)
    assume(assignments > 1)
    probe = probe_of(space, names, plain.decide, differs=plain.differs)
    assert (probe.table == plain.table).all()
    points = draws(12, salt, space)
    pairs = None
    if some:
        pairs = random_pairs(assignments, len(points), salt + 1)
    before = probe.view.subject.asked
    tried = probe.ask(points, pairs)
    assert probe.view.subject.asked - before == tried.asked.sum()
    for row, point in enumerate(points.tolist()):
        asked = range(assignments)
        if pairs is not None:
            asked = pairs[row].tolist()
        members = plain.members(point, asked)
        assert tried.asked[row] == len(members)
        differing = plain.differing(members)
        assert tried.hits[row] == bool(differing)
        if differing:
            check_the_pair_shown(tried, row, plain, members)
    at_issue = tried.points[:, plain.over]
    assert (at_issue == probe.table[0]).all()
    assert (tried.keys == probe.keys(points)).all()


def check_the_pair_shown(tried, row, plain, members):
    """A hit shows two members that differ, by the smallest change of features."""
    first = int(tried.first[row])
    second = int(tried.second[row])
    differing = plain.differing(members)
    pairs = [set(pair) for pair in differing]
    assert {first, second} in pairs
    first_outcome, second_outcome = tried.pair[:, row]
    assert first_outcome.item() == plain.outcome(members[first])
    assert second_outcome.item() == plain.outcome(members[second])
    changes = [plain.features_changed(one, other) for one, other in differing]
    assert plain.features_changed(first, second) == min(changes)


def test_members_and_canonical_points_change_nothing_else():
    probe = probe_of(PEOPLE, ["race", "sex"], is_over_30)
    points = draws(50)
    before = points.copy()
    for number, values in enumerate(probe.table.tolist()):
        member = probe.member(points, np.full(50, number))
        at_issue = member[:, [1, 0]]
        assert at_issue.tolist() == [values] * 50
        assert (member[:, 2] == points[:, 2]).all()
        same_keys = probe.keys(member) == probe.keys(points)
        assert same_keys.all()
        same_canonical = probe.canonical(member) == probe.canonical(points)
        assert same_canonical.all()
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
    points = np.array(
        [
            [0.0, 5.0, 0.0],
            [1.0, 5.0, 1.0],
            [0.0, 6.0, 0.0],
        ]
    )
    first, elsewhere, older = probe.keys(points)
    assert first == elsewhere
    assert first != older
    assert probe.free == (1,)


def test_bins_stand_for_a_continuous_feature():
    space = Space(
        [
            real("age", 0, 100, bins=4),
            integer("income", 0, 9),
        ]
    )
    probe = probe_of(space, ["age"], lambda people: people["age"] > 50)
    assert len(probe.table) == 4
    assert not np.isnan(probe.table).any()
    tried = probe.ask(draws(10, space=space))
    assert tried.hits.all()
    ages = tried.points[:, 0]
    assert (ages == probe.table[0, 0]).all()


def test_a_feature_of_one_value_is_refused():
    space = Space(
        [
            category("sex", ["F"]),
            integer("age", 0, 9),
        ]
    )
    probe = probe_of(space, ["sex"], lambda people: people["age"] > 3)
    refused(SpaceError, lambda: probe.table, "sex can take only one value")
    with pytest.raises(EvenhandError):
        probe.ask(draws(1, space=space))


def women_get(woman: Any, man: Any) -> Any:
    """Return software whose outcome is the sex."""

    def decide(people: Any) -> Any:
        is_woman = people["sex"] == "F"
        return np.where(is_woman, woman, man)

    return decide


@pytest.mark.parametrize(
    ("decide", "options", "individual"),
    [
        pytest.param(
            lambda people: people["sex"] == "F",
            {},
            "M",
            id="false is less than true",
        ),
        (women_get(1, 0), {"labels": [0, 1]}, "M"),
        pytest.param(
            women_get(1, 0),
            {},
            "F",
            id="1 need not be better than 0, so the first of all",
        ),
        (women_get("no", "yes"), {"positive": "yes"}, "F"),
        (women_get("yes", "no"), {"positive": "yes"}, "M"),
        (women_get("x", "y"), {}, "F"),
        (women_get(7.5, 2.5), {"differs": 1.0}, "F"),
        (women_get(9, 3), {"positive": lambda y: y > 5}, "M"),
    ],
)
def test_the_less_favoured_stands_first_where_it_is_known(decide, options, individual):
    probe = probe_of(PEOPLE, ["sex"], decide, **options)
    found = Found(probe)
    found.add(probe.ask(draws(5)))
    individuals = PEOPLE.records(found.individuals)
    twins = PEOPLE.records(found.twins)
    assert {record["sex"] for record in individuals} == {individual}
    assert individual not in {record["sex"] for record in twins}
    own_outcomes = decide(PEOPLE.decode(found.individuals))
    twin_outcomes = decide(PEOPLE.decode(found.twins))
    assert own_outcomes.tolist() == found.outcomes[0].tolist()
    assert twin_outcomes.tolist() == found.outcomes[1].tolist()


def test_nearness_grows_with_the_gap_of_numbers():
    def pay(people):
        is_man = people["sex"] == "M"
        return people["age"] / 100 * is_man

    probe = probe_of(PEOPLE, ["sex"], pay, differs=0.8)
    ages = np.array([18.0, 40.0, 60.0, 79.0, 85.0])
    zeros = np.zeros(5)
    points = np.stack([zeros, zeros, ages], axis=1)
    tried = probe.ask(points)
    assert tried.hits.tolist() == [False, False, False, False, True]
    assert (np.diff(tried.near) > 0).all()
    assert (tried.near >= 0).all()
    assert (tried.near <= 1).all()


def test_labels_that_do_not_differ_are_not_near():
    probe = probe_of(PEOPLE, ["sex"], lambda people: people["age"] > 50)
    tried = probe.ask(draws(50))
    assert (tried.near == 0).all()


# What was found.


def every_third_man(people: Any) -> Any:
    is_man = people["sex"] == "M"
    return is_man & (people["age"] % 3 == 0)


AGES = st.lists(st.integers(18, 90), max_size=30)
WAVES_OF_AGES = st.lists(AGES, max_size=5)


@settings(max_examples=examples(40), deadline=None)
@given(WAVES_OF_AGES, st.integers(1, 60) | st.none())
def test_each_class_is_found_once_and_in_order(waves, most):
    probe = probe_of(PEOPLE, ["sex", "race"], every_third_man)
    found = Found(probe, most)
    plain: dict[int, None] = {}
    for ages in waves:
        rows = [[age % 2, age % 3, age] for age in ages]
        points = np.array(rows, dtype=np.float64).reshape(-1, 3)
        new = []
        for age in dict.fromkeys(ages):
            if age % 3 == 0 and age not in plain:
                new.append(age)
        if most is not None:
            new = new[: most - len(plain)]
        plain.update(dict.fromkeys(new))
        added = found.add(probe.ask(points))
        assert added == len(new)
        assert len(found) == len(plain)
        is_full = most is not None and len(plain) >= most
        assert found.full == is_full
        assert found.points[:, 2].tolist() == list(plain)
        assert found.pairs.shape == (len(plain), 2)
        assert found.outcomes.shape == (2, len(plain))
        cells = {(age - 18) * BINS // 73 for age in plain}
        assert found.cells == len(cells)
    ages = found.individuals[:, 2]
    twin_ages = found.twins[:, 2]
    assert (ages == twin_ages).all()


def test_nothing_found_has_its_shape():
    probe = probe_of(PEOPLE, ["sex"], is_over_30)
    found = Found(probe)
    tried = probe.ask(draws(50))
    assert found.add(tried) == 0
    assert len(found) == 0
    assert found.cells == 0
    assert not found.full
    assert found.points.shape == (0, 3)
    assert found.individuals.shape == (0, 3)
    assert found.twins.shape == (0, 3)
    assert found.outcomes.shape == (2, 0)


def test_tried_classes_are_taken_and_joined():
    def is_second_race(people: Any) -> Any:
        return people["race"] == "b"

    probe = probe_of(PEOPLE, ["race"], is_second_race)
    tried = probe.ask(draws(9))
    first = tried.take(slice(0, 4))
    others = [
        tried.take(np.array([4, 5])),
        tried.take(slice(6, 9)),
    ]
    whole = first.joined(others)
    for name in ("points", "keys", "hits", "first", "second", "pair", "near"):
        joined = getattr(whole, name)
        expected = getattr(tried, name)
        assert joined.tolist() == expected.tolist()
    assert len(whole) == 9


# Keys and what was seen.


def distinct_keys(columns: Any, rows: int) -> int:
    return len(np.unique(mixed(columns, rows)))


@pytest.mark.slow
def test_a_million_rows_have_a_million_keys():
    rng = np.random.default_rng(0)
    million = 1_000_000
    same_in_many = rng.integers(0, 50, (6, million))
    distinct = rng.permutation(million)
    rows = np.stack([*same_in_many, distinct]).astype(np.float64)
    assert distinct_keys(rows, million) == million
    number = 100_000
    near = np.arange(float(number))  # neighbours in one feature, as a search has them
    zeros = np.zeros(number)
    assert distinct_keys([near, zeros], number) == number
    assert distinct_keys([zeros, near], number) == number
    assert distinct_keys([near, near], number) == number
    assert distinct_keys([near / 1000, -near], number) == number
    axes = [np.arange(20.0)] * 4
    grid = [axis.ravel() for axis in np.meshgrid(*axes)]
    assert distinct_keys(grid, 20**4) == 20**4


def test_the_order_of_columns_matters_and_the_sign_of_zero_does_not():
    one = np.array([1.0])
    two = np.array([2.0])
    assert mixed([one, two], 1) != mixed([two, one], 1)
    zero = np.array([0.0])
    negative_zero = np.array([-0.0])
    assert mixed([zero], 1) == mixed([negative_zero], 1)
    assert mixed([], 3).tolist() == [0, 0, 0]


NUMBERS = st.integers(0, 30) | st.integers(0, 2**64 - 1)
KEYS = st.lists(st.lists(NUMBERS, max_size=25), max_size=6)


@settings(deadline=None)
@given(KEYS, st.booleans())
def test_what_was_seen_is_a_set(waves, look):
    seen = Seen()
    plain: set[int] = set()
    for wave in waves:
        keys = np.array(wave, dtype=np.uint64)
        expected = []
        for at, key in enumerate(wave):
            is_new = key not in plain and key not in wave[:at]
            expected.append(is_new)
        known = [key in plain for key in wave]
        assert seen.has(keys).tolist() == known
        assert seen.fresh(keys).tolist() == expected
        if look:
            assert len(seen) == len(plain)  # looking adds nothing
        assert seen.add(keys).tolist() == expected
        plain |= set(wave)
        assert len(seen) == len(plain)
        for key in [*wave, 31, 2**63]:
            assert (key in seen) == (key in plain)


# Cells.


@settings(max_examples=examples(60), deadline=None)
@given(spaces(continuous=True), st.integers(0, 99))
def test_cells_are_four_equal_bins_to_a_feature(space, seed):
    points = draws(200, seed, space)
    every_position = tuple(range(len(space.features)))
    cells = GridCells(space, every_position)
    bins = cells.bins(points)
    for at, feature in enumerate(space.features):
        own_bins = bins[:, at]
        values = points[:, at]
        if feature.size <= BINS:
            assert len(np.unique(own_bins)) == len(np.unique(values))
        else:
            assert set(own_bins.tolist()) <= {0.0, 1.0, 2.0, 3.0}
            in_order = own_bins[np.argsort(values)]
            assert (np.diff(in_order) >= 0).all()
        if BINS < feature.size < np.inf:
            sizes = sizes_of_bins(space, at)
            assert len(sizes) == BINS
            assert max(sizes) - min(sizes) <= 1
    numbers = cells.of(points)
    same_number = numbers[:, None] == numbers
    same_bins = (bins[:, None] == bins).all(axis=2)
    assert (same_number == same_bins).all()


def sizes_of_bins(space: Space, at: int) -> Any:
    """Return how many values of a feature fall into each of its bins."""
    values = space.features[at].values()
    points = np.zeros((len(values), len(space.features)))
    points[:, at] = values
    bins = GridCells(space, (at,)).bins(points)[:, 0]
    return np.bincount(bins.astype(int))


def test_cells_see_the_named_features_only():
    cells = GridCells(PEOPLE, (1, 2))
    points = np.array(
        [
            [0.0, 1.0, 20.0],
            [1.0, 1.0, 30.0],
            [0.0, 2.0, 20.0],
        ]
    )
    first, other_sex, other_race = cells.of(points)
    assert first == other_sex
    assert first != other_race
