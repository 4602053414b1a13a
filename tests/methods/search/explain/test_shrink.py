"""Shrinking: cases stay discriminatory, and come as near to typical as the budget allows."""

from __future__ import annotations

import itertools

import numpy as np
import pytest
from hypothesis import assume, given, settings
from hypothesis import strategies as st

from evenhand.methods.search.explain.diversity import typical
from evenhand.methods.search.explain.shrink import shrink, unusual
from evenhand.methods.search.explain.shrinking_cases import _rounded
from evenhand.methods.search.hits import Found
from evenhand.methods.search.probe import Probe
from evenhand.space.feature import category, integer, real
from evenhand.space.space import Space
from evenhand.subject.subject import Subject
from evenhand.subject.view import View
from tests.support import strategies
from tests.support.helpers import examples

PEOPLE = Space(
    [
        category("sex", ["F", "M"]),
        category("race", ["a", "b", "c", "d"]),
        integer("age", 18, 90),
        integer("income", 0, 100_000),
        category("job", [f"job {number}" for number in range(9)]),
        real("rate", 0, 1),
        integer("hours", 0, 99),
        category("home", ["own", "rent"]),
    ]
)


def biased(people):
    """Refuse some old women, and some men who rent.

    The women are over 61 with an income over 7,055, the men are of job 3 at a rate over 0.9.
    """
    is_woman = people["sex"] == "F"
    is_old = people["age"] > 61
    is_rich = people["income"] > 7055
    has_job = people["job"] == "job 3"
    rents = people["home"] == "rent"
    has_high_rate = people["rate"] > 0.9
    women = is_woman & is_old & is_rich
    men = ~is_woman & has_job & rents & has_high_rate
    return ~(women | men)


def found_by(subject, over, n, seed=0):
    probe = Probe(View(subject), over)
    rng = np.random.default_rng(seed)
    points = subject.space.draw(n, rng)
    if subject.space is PEOPLE:
        # Or there would be few of the second kind of bias.
        every_fifth = points[::5]
        every_fifth[:, [4, 7]] = [3, 1]
        every_fifth[:, 5] = 0.91 + every_fifth[:, 5] * 0.09
    found = Found(probe)
    found.add(probe.ask(points))
    return found


def biased_cases(over=("sex",), n=500):
    subject = Subject(biased, PEOPLE, positive=True)
    return found_by(subject, over, n)


def values_of(name, points):
    """Return the column of a feature of PEOPLE."""
    return points[:, PEOPLE.index(name)]


def pairs_of(tried):
    """Return the two assignments of each hit whose outcomes differ."""
    return np.stack([tried.first, tried.second], axis=1)


def shrink_tried(probe, tried, pairs, queries, toward=None):
    """Shrink what was just tried, towards what is typical of its space."""
    if toward is None:
        toward = typical(probe.space)
    return shrink(
        probe,
        tried.points,
        pairs,
        toward,
        queries,
        outcomes=tried.pair,
    )


def shrunk(found, queries, toward=None, most=30):
    """Shrink the first cases, check what always holds, and return them before and after."""
    probe = found.probe
    subject = probe.view.subject
    if toward is None:
        toward = typical(probe.space)
    points = found.points[:most]
    pairs = found.pairs[:most]
    outcomes = found.outcomes[:, :most]
    asked_before = subject.asked
    after = shrink(probe, points, pairs, toward, queries, outcomes=outcomes)
    assert after.asked == subject.asked - asked_before
    assert after.asked <= queries
    assert after.points.shape == points.shape
    if len(points):
        check_still_found(probe, after)
    check_nearer(probe, points, after.points, toward)
    return points, after


def check_still_found(probe, after):
    again = probe.ask(after.points, after.pairs)
    assert again.hits.all()
    assert again.valid.all()
    assert again.outcomes.tolist() == after.outcomes.tolist()
    if probe.view.subject.positive is not None:
        pairs_again = pairs_of(again)
        assert pairs_again.tolist() == after.pairs.tolist()


def check_nearer(probe, before, after, toward):
    """No row is more unusual than it was, and no number is further from the typical one."""
    free = list(probe.free)
    unusual_before = unusual(before[:, free], toward[free])
    unusual_after = unusual(after[:, free], toward[free])
    assert (unusual_after <= unusual_before).all()
    for position, feature in enumerate(probe.space.features):
        values_before = before[:, position]
        values_after = after[:, position]
        assert feature.inside(values_after).all()
        if feature.kind != "category" and position in free:
            distance_before = np.abs(values_before - toward[position])
            distance_after = np.abs(values_after - toward[position])
            assert (distance_after <= distance_before).all()


def test_cases_become_the_simplest_of_their_kind():
    _, after = shrunk(biased_cases(), 20_000)
    toward = typical(PEOPLE)
    records = PEOPLE.records(after.points)
    pairs = after.pairs.tolist()
    kinds = set()
    for record, pair, row in zip(records, pairs, after.points, strict=True):
        typical_positions = np.flatnonzero(row == toward)
        usual = {PEOPLE.names[position] for position in typical_positions}
        kinds.add(tuple(pair))
        if pair == [0, 1]:  # women are refused: the middle income is high enough
            assert record["age"] == 62
            assert usual == {"sex", "race", "income", "job", "rate", "hours", "home"}
        else:
            assert record["rate"] == 0.91
            assert record["job"] == "job 3"
            assert record["home"] == "rent"
            assert usual == {"sex", "race", "age", "income", "hours"}
    assert kinds == {(0, 1), (1, 0)}, "both kinds were found, and neither became the other"
    assert after.asked < 20_000


def test_a_number_is_rounded_where_the_case_persists():
    toward = typical(PEOPLE)
    toward[PEOPLE.index("income")] = 0.0
    before, after = shrunk(biased_cases(), 20_000, toward)
    women = after.pairs[:, 0] == 0
    income_before = values_of("income", before[women])
    income_after = values_of("income", after.points[women])
    assert (income_before > 7100).all()
    assert (income_after == 7100).all()


def test_a_number_is_never_rounded_beyond_where_it_was():
    def rich_men(people):
        is_man = people["sex"] == "M"
        is_rich = people["income"] > 7055
        return is_man & is_rich

    features = [
        category("sex", ["F", "M"]),
        integer("income", 0, 100_000),
    ]
    subject = Subject(rich_men, Space(features))
    probe = Probe(View(subject), ("sex",))
    tried = probe.ask(np.array([[0.0, 7080.0]]))
    zero = np.array([0.0, 0.0])
    near = shrink_tried(probe, tried, pairs_of(tried), 1000, toward=zero)
    income = near.points[0, 1]
    assert 7055 < income <= 7080
    assert income % 10 == 0


@pytest.mark.parametrize("queries", [0, 1, 2, 3, 17, 64, 200, 1001])
def test_the_budget_is_kept_whatever_it_is(queries):
    found = biased_cases(over=("sex", "race"), n=300)
    before, after = shrunk(found, queries, most=10)
    if queries < 2:
        assert (before == after.points).all()


def test_more_may_be_asked_and_cases_get_simpler():
    found = biased_cases()
    toward = typical(PEOPLE)
    means = []
    for queries in (0, 200, 20_000):
        _, after = shrunk(found, queries)
        unusual_features = unusual(after.points, toward)
        means.append(unusual_features.mean())
    without, some, enough = means
    assert without > some > enough


def test_where_not_all_can_become_simple_the_first_do():
    found = biased_cases()
    _, simple = shrunk(found, 20_000)
    before, after = shrunk(found, 400)
    first = after.points[0]
    last = after.points[-1]
    assert (first == simple.points[0]).all()
    assert (last == before[-1]).all()


def test_equal_candidates_are_asked_once():
    subject = Subject(lambda people: people["sex"] == "M", PEOPLE)
    found = found_by(subject, ("sex",), 50)
    _, after = shrunk(found, 5000)
    first = after.points[0]
    assert (after.points == first).all()
    assert after.asked == 2


def test_constraints_hold_for_both_members():
    space = Space(
        PEOPLE.features,
        constraints=[
            "not (age > 50 and home == 'own')",
            "not (sex == 'F' and job == 'job 0' and rate < 0.3)",
        ],
    )
    subject = Subject(biased, space, positive=True)
    found = found_by(subject, ("sex",), 500)
    toward = typical(space)
    assert space.valid(toward[None]).all()
    # What no constraint forbids stays in the middle.
    assert toward[space.index("hours")] == 50
    before, after = shrunk(found, 20_000)
    for assignments in after.pairs.T:
        members = found.probe.member(after.points, assignments)
        assert space.valid(members).all()
    unusual_before = unusual(before, toward).mean()
    unusual_after = unusual(after.points, toward).mean()
    assert unusual_after < unusual_before - 2


def test_of_several_features_at_issue_as_few_as_possible_change():
    def loan(people):
        is_woman = people["sex"] == "F"
        is_of_race = people["race"] == "c"
        is_older = people["age"] > 40
        is_refused = is_woman & is_of_race & is_older
        return ~is_refused

    subject = Subject(loan, PEOPLE, positive=True)
    probe = Probe(View(subject), ("sex", "race"))
    drawn = PEOPLE.draw(200, np.random.default_rng(3))
    points = drawn[values_of("age", drawn) > 40]
    wide = np.array([[2, 4]] * len(points))  # F and c, M and a
    tried = probe.ask(points, wide)
    assert tried.hits.all()
    after = shrink_tried(probe, tried, wide, 20_000)
    first, second = after.pairs.T
    differs = probe.table[first] != probe.table[second]
    assert (differs.sum(axis=1) == 1).all()
    assert (first == 2).all()


def test_an_ordered_feature_at_issue_moves_as_little_as_possible():
    space = Space(
        [
            integer("age", 18, 60),
            category("sex", ["F", "M"]),
            integer("hours", 0, 99),
        ]
    )

    def old_enough(people):
        is_man = people["sex"] == "M"
        return people["age"] + is_man * 3 > 44

    subject = Subject(old_enough, space)
    point = np.array([[18.0, 0.0, 7.0]])
    probe = Probe(View(subject), ("age", "sex"))
    last = 2 * 42 + 1
    far = np.array([[0, last]])
    tried = probe.ask(point, far)
    after = shrink_tried(probe, tried, far, 1000)
    first, second = probe.table[after.pairs[0]]
    # A level has no size, so it changes less than a year does.
    assert first[0] == second[0]

    alone = Probe(View(subject), ("age",))
    far_alone = np.array([[0, 42]])
    tried = alone.ask(point, far_alone)
    near = shrink_tried(alone, tried, far_alone, 1000)
    ages = alone.table[near.pairs[0], 0]
    assert ages.tolist() == [44, 45]

    short = shrink_tried(probe, tried, far, 60)
    # 86 assignments cannot be asked with 60 inputs.
    assert short.pairs.tolist() == far.tolist()


def test_outcomes_further_apart_than_gamma_stay_so():
    def score(people):
        is_woman = people["sex"] == "F"
        weight = np.where(is_woman, 0.1, 0.0)
        by_age = weight * (people["age"] - 18) / 10
        by_hours = people["hours"] / 1000
        return by_age + by_hours

    subject = Subject(score, PEOPLE, differs=0.25)
    found = found_by(subject, ("sex",), 300)
    toward = np.array([0.0, 0, 20, 0, 0, 0.5, 50, 0])
    _, after = shrunk(found, 5000, toward)
    differences = np.diff(after.outcomes.astype(float), axis=0)
    assert (np.abs(differences) > 0.25).all()
    # The least age at which 0.1 × years / 10 is over 0.25.
    assert (values_of("age", after.points) == 44).all()
    assert (values_of("hours", after.points) == 50).all()


def test_texts_keep_their_outcomes_and_long_ones_are_not_cut():
    def grade(people):
        is_old = people["age"] > 50
        is_man = people["sex"] == "M"
        of_women = np.where(is_old, "a rather long outcome", "no")
        return np.where(is_man, "yes", of_women)

    found = found_by(Subject(grade, PEOPLE), ("sex",), 60)
    toward = np.array([0.0, 0, 30, 0, 0, 0.5, 50, 0])
    before, after = shrunk(found, 5000, toward)
    outcomes_before = found.outcomes[:, : len(before)]
    assert after.outcomes.tolist() == outcomes_before.tolist()
    is_long = after.outcomes[0] == "a rather long outcome"
    ages = values_of("age", after.points)
    assert set(ages[is_long].tolist()) == {51.0}
    assert set(ages[~is_long].tolist()) == {30.0}


def test_no_cases_cost_nothing():
    subject = Subject(lambda people: people["age"] > 3, PEOPLE)
    found = found_by(subject, ("sex",), 10)
    _, after = shrunk(found, 100)
    assert after.asked == 0
    assert after.outcomes.shape == (2, 0)


def test_features_that_the_software_does_not_take_become_typical():
    space = Space(
        [
            category("sex", ["F", "M"]),
            integer("note", 0, 9, passed=False),
            integer("age", 0, 9),
        ]
    )

    def old_men(people):
        is_man = people["sex"] == "M"
        is_old = people["age"] > 7
        return is_man & is_old

    found = found_by(Subject(old_men, space), ("sex",), 100)
    _, after = shrunk(found, 1000)
    typical_note = typical(space)[1]
    notes = after.points[:, 1]
    ages = after.points[:, 2]
    assert (notes == typical_note).all()
    assert (ages == 8).all()


def test_the_same_cases_shrink_to_the_same():
    found = biased_cases()
    _, first = shrunk(found, 400)
    _, second = shrunk(found, 400)
    assert first.points.tobytes() == second.points.tobytes()


def span_of(feature):
    """Return how far apart the ends of a feature are, 1 where that says nothing."""
    if feature.kind == "category":
        return 1.0
    return float(feature.high - feature.low) or 1.0


@settings(max_examples=examples(25), deadline=None)
@given(
    strategies.spaces(constrained=True, continuous=True),
    st.integers(0, 99),
    st.sampled_from([5, 40, 4000]),
    st.data(),
)
def test_any_space_any_software(space, seed, queries, data):
    rng = np.random.default_rng(seed)
    names = []
    for feature in space.features:
        if 1 < feature.size < np.inf:
            names.append(feature.name)
    assume(names)
    some_names = st.lists(
        st.sampled_from(names),
        min_size=1,
        max_size=2,
        unique=True,
    )
    over = data.draw(some_names)
    spans = [span_of(feature) for feature in space.features]
    weights = rng.normal(size=len(spans)) / spans

    def software(frame):
        total = 3 * space.encode(frame) @ weights
        return np.floor(total).astype(int) % 3

    subject = Subject(software, space)
    found = found_by(subject, tuple(over), 50, seed)
    toward = typical(space)
    assert space.valid(toward[None]).all()
    for value, feature in zip(toward, space.features, strict=True):
        assert feature.inside(np.array([value])).all()
    shrunk(found, queries)


@settings(max_examples=examples(10), deadline=None)
@given(st.integers(0, 10_000))
def test_no_single_feature_is_left_that_could_be_typical(seed):
    """Brute force: of a shrunk case, no feature can become typical alone."""
    features = [category("sex", ["F", "M"])]
    for number in range(5):
        features.append(integer(f"x{number}", 0, 3))
    space = Space(features)
    rng = np.random.default_rng(seed)
    outcome_of = rng.random((2, 4, 4, 4, 4, 4)) < 0.5

    def software(frame):
        codes = space.encode(frame).astype(int)
        return outcome_of[tuple(codes.T)]

    found = found_by(Subject(software, space), ("sex",), 20, seed)
    _, after = shrunk(found, 100_000)
    toward = typical(space)
    rows, positions = np.nonzero(after.points != toward)
    moved = after.points[rows]
    moved[np.arange(len(rows)), positions] = toward[positions]
    tried = found.probe.ask(moved, after.pairs[rows])
    outcomes = after.outcomes[:, rows]
    is_same_case = (tried.outcomes == outcomes).all(axis=0)
    assert not is_same_case.any()


def is_not_tiny(value):
    return abs(value) > 1e-9


NOT_ZERO = st.floats(-1e12, 1e12).filter(is_not_tiny)


@settings(deadline=None)
@given(NOT_ZERO, st.sampled_from([2, 3, 4, 6]))
def test_rounding_encloses_a_number_with_few_digits(value, digits):
    rounded_down, rounded_up = _rounded(np.array([value]), digits)
    down = float(rounded_down[0])
    up = float(rounded_up[0])
    slack = 1e-11 * abs(value)
    assert down - slack <= value <= up + slack
    last_digit = abs(value) * 10.0 ** (1 - digits)
    assert up - down <= last_digit * (1 + 1e-9)
    for side in (down, up):
        with_few_digits = f"{side:.{digits - 1}e}"
        assert float(with_few_digits) == side


def test_a_case_is_built_up_from_a_typical_row_where_it_cannot_be_taken_apart():
    features = [category("sex", ["F", "M"])]
    for number in range(6):
        features.append(category(f"x{number}", ["a", "b"]))
    space = Space(features)

    def software(frame):
        odd = space.encode(frame)[:, 1:]
        count = odd.sum(axis=1)
        both = odd[:, 1] + odd[:, 4] == 2
        only_these_two = both & (count == 2)
        is_case = (count == 6) | only_these_two
        return is_case & (frame["sex"] == "M")

    subject = Subject(software, space)
    probe = Probe(View(subject), ("sex",))
    found = Found(probe)
    found.add(probe.ask(np.ones((1, 7))))
    _, after = shrunk(found, 1000)
    assert after.points.tolist() == [[0, 0, 1, 0, 0, 1, 0]]


def test_unusual_counts_features():
    rows = list(itertools.product([0.0, 1.0], repeat=3))
    counts = unusual(np.array(rows), np.zeros(3))
    assert counts.tolist() == [0, 1, 1, 2, 1, 2, 2, 3]
