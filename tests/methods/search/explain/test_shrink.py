"""Shrinking: every case stays discriminatory, comes as near to typical as it goes, and costs what
was allowed.
"""

from __future__ import annotations

import itertools

import numpy as np
import pytest
from hypothesis import assume, given, settings
from hypothesis import strategies as st

from evenhand.methods.search.explain.diversity import typical
from evenhand.methods.search.explain.shrink import _rounded, shrink, unusual
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
    """Women over 61 with an income over 7,055 are refused; so are men of job 3 and home rent at a
    rate over 0.9.
    """
    women = (people["sex"] == "F") & (people["age"] > 61) & (people["income"] > 7055)
    men = (
        (people["sex"] == "M")
        & (people["job"] == "job 3")
        & (people["home"] == "rent")
        & (people["rate"] > 0.9)
    )
    return ~(women | men)


def found_by(subject, over, n, seed=0):
    probe = Probe(View(subject), over)
    found = Found(probe)
    points = subject.space.draw(n, np.random.default_rng(seed))
    if subject.space is PEOPLE:
        points[::5, [4, 7]] = [3, 1]  # or there would be few of the second kind of bias
        points[::5, 5] = 0.91 + points[::5, 5] * 0.09
    found.add(probe.ask(points))
    return found


def shrunk(found, queries, toward=None, most=30):
    """Shrink the first cases, check what always holds, and return them before and after."""
    probe, subject = found.probe, found.probe.view.subject
    toward = typical(probe.space) if toward is None else toward
    points, pairs, outcomes = found.points[:most], found.pairs[:most], found.outcomes[:, :most]
    asked = subject.asked
    after = shrink(probe, points, pairs, toward, queries, outcomes=outcomes)
    assert after.asked == subject.asked - asked <= queries
    assert after.points.shape == points.shape
    if len(points):
        again = probe.ask(after.points, after.pairs)
        assert again.hits.all()
        assert again.valid.all()
        assert again.outcomes.tolist() == after.outcomes.tolist()
        if subject.positive is not None:
            assert (np.stack([again.first, again.second], axis=1) == after.pairs).all()
    free = list(probe.free)
    assert (
        unusual(after.points[:, free], toward[free]) <= unusual(points[:, free], toward[free])
    ).all()
    for position, feature in enumerate(probe.space.features):
        assert feature.inside(after.points[:, position]).all()
        if feature.kind != "category" and position in free:
            further = np.abs(after.points[:, position] - toward[position]) - np.abs(
                points[:, position] - toward[position]
            )
            assert (further <= 0).all()
    return points, after


def test_cases_become_the_simplest_of_their_kind():
    found = found_by(Subject(biased, PEOPLE, positive=True), ("sex",), 500)
    _, after = shrunk(found, 20_000)
    toward = typical(PEOPLE)
    records = PEOPLE.records(after.points)
    kinds = set()
    for record, (first, second), row in zip(
        records, after.pairs.tolist(), after.points, strict=True
    ):
        usual = {name for name, value in zip(PEOPLE.names, row == toward, strict=True) if value}
        kinds.add((first, second))
        if (first, second) == (0, 1):  # women are refused: the middle income is high enough
            assert record["age"] == 62
            assert usual == {"sex", "race", "income", "job", "rate", "hours", "home"}
        else:
            assert record["rate"] == 0.91
            assert (record["job"], record["home"]) == ("job 3", "rent")
            assert usual == {"sex", "race", "age", "income", "hours"}
    assert kinds == {(0, 1), (1, 0)}, "both kinds were found, and neither became the other"
    assert after.asked < 20_000


def test_a_number_is_rounded_where_the_case_persists_and_never_beyond_where_it_was():
    toward = typical(PEOPLE)
    toward[PEOPLE.index("income")] = 0.0
    found = found_by(Subject(biased, PEOPLE, positive=True), ("sex",), 500)
    before, after = shrunk(found, 20_000, toward)
    women = after.pairs[:, 0] == 0
    income = after.points[women, PEOPLE.index("income")]
    assert (income == 7100).all()
    assert (before[women, PEOPLE.index("income")] > 7100).all()
    space = Space([category("sex", ["F", "M"]), integer("income", 0, 100_000)])
    subject = Subject(lambda people: (people["sex"] == "M") & (people["income"] > 7055), space)
    probe = Probe(View(subject), ("sex",))
    tried = probe.ask(np.array([[0.0, 7080.0]]))
    pairs = np.stack([tried.first, tried.second], axis=1)
    near = shrink(
        probe, tried.points, pairs, np.array([0.0, 0.0]), 1000, outcomes=tried.pair
    ).points[0, 1]
    assert 7055 < near <= 7080
    assert near % 10 == 0


@pytest.mark.parametrize("queries", [0, 1, 2, 3, 17, 64, 200, 1001])
def test_the_budget_is_kept_whatever_it_is(queries):
    found = found_by(Subject(biased, PEOPLE, positive=True), ("sex", "race"), 300)
    before, after = shrunk(found, queries, most=10)
    if queries < 2:
        assert (before == after.points).all()


def test_more_may_be_asked_and_cases_get_simpler():
    found = found_by(Subject(biased, PEOPLE, positive=True), ("sex",), 500)
    toward = typical(PEOPLE)
    odd = [unusual(shrunk(found, queries)[1].points, toward).mean() for queries in (0, 200, 20_000)]
    assert odd[0] > odd[1] > odd[2]


def test_where_not_all_can_become_simple_the_first_do():
    found = found_by(Subject(biased, PEOPLE, positive=True), ("sex",), 500)
    _, simple = shrunk(found, 20_000)
    before, after = shrunk(found, 400)
    assert (after.points[0] == simple.points[0]).all()
    assert (after.points[-1] == before[-1]).all()


def test_equal_candidates_are_asked_once():
    found = found_by(Subject(lambda people: people["sex"] == "M", PEOPLE), ("sex",), 50)
    _, after = shrunk(found, 5000)
    assert (after.points == after.points[0]).all()
    assert after.asked == 2


def test_constraints_hold_for_both_members():
    space = Space(
        PEOPLE.features,
        constraints=[
            "not (age > 50 and home == 'own')",
            "not (sex == 'F' and job == 'job 0' and rate < 0.3)",
        ],
    )
    found = found_by(Subject(biased, space, positive=True), ("sex",), 500)
    toward = typical(space)
    assert space.valid(toward[None]).all()
    assert toward[space.index("hours")] == 50  # what no constraint forbids stays in the middle
    before, after = shrunk(found, 20_000)
    for side in (0, 1):
        assert space.valid(found.probe.member(after.points, after.pairs[:, side])).all()
    assert unusual(after.points, toward).mean() < unusual(before, toward).mean() - 2


def test_of_several_features_at_issue_as_few_as_possible_change():
    def loan(people):
        return ~((people["sex"] == "F") & (people["race"] == "c") & (people["age"] > 40))

    subject = Subject(loan, PEOPLE, positive=True)
    probe = Probe(View(subject), ("sex", "race"))
    points = PEOPLE.draw(200, np.random.default_rng(3))
    points = points[points[:, PEOPLE.index("age")] > 40]
    wide = np.array([[2, 4]] * len(points))  # F and c, M and a
    tried = probe.ask(points, wide)
    assert tried.hits.all()
    after = shrink(probe, tried.points, wide, typical(PEOPLE), 20_000, outcomes=tried.pair)
    changed = (probe.table[after.pairs[:, 0]] != probe.table[after.pairs[:, 1]]).sum(axis=1)
    assert (changed == 1).all()
    assert (after.pairs[:, 0] == 2).all()


def test_an_ordered_feature_at_issue_moves_as_little_as_possible():
    space = Space([integer("age", 18, 60), category("sex", ["F", "M"]), integer("hours", 0, 99)])
    subject = Subject(lambda people: people["age"] + (people["sex"] == "M") * 3 > 44, space)
    probe = Probe(View(subject), ("age", "sex"))
    far = np.array([[0, 2 * 42 + 1]])
    tried = probe.ask(np.array([[18.0, 0.0, 7.0]]), far)
    after = shrink(probe, tried.points, far, typical(space), 1000, outcomes=tried.pair)
    pair = probe.table[after.pairs[0]]
    assert pair[0, 0] == pair[1, 0]  # a level has no size, so it changes less than a year does
    alone = Probe(View(subject), ("age",))
    tried = alone.ask(np.array([[18.0, 0.0, 7.0]]), np.array([[0, 42]]))
    near = shrink(
        alone, tried.points, np.array([[0, 42]]), typical(space), 1000, outcomes=tried.pair
    )
    assert alone.table[near.pairs[0], 0].tolist() == [44, 45]
    short = shrink(probe, tried.points, far, typical(space), 60, outcomes=tried.pair)
    assert short.pairs.tolist() == far.tolist()  # 86 assignments cannot be asked with 60 inputs


def test_outcomes_further_apart_than_gamma_stay_so():
    def score(people):
        return (
            np.where(people["sex"] == "F", 0.1, 0.0) * (people["age"] - 18) / 10
            + people["hours"] / 1000
        )

    subject = Subject(score, PEOPLE, differs=0.25)
    found = found_by(subject, ("sex",), 300)
    _, after = shrunk(found, 5000, toward=np.array([0.0, 0, 20, 0, 0, 0.5, 50, 0]))
    assert (np.abs(np.diff(after.outcomes.astype(float), axis=0)) > 0.25).all()
    assert (
        after.points[:, PEOPLE.index("age")] == 44
    ).all()  # the least age at which 0.1 × years / 10 is over 0.25
    assert (after.points[:, PEOPLE.index("hours")] == 50).all()


def test_texts_keep_their_outcomes_and_long_ones_are_not_cut():
    def grade(people):
        first = np.where(people["age"] > 50, "a rather long outcome", "no")
        return np.where(people["sex"] == "M", "yes", first)

    found = found_by(Subject(grade, PEOPLE), ("sex",), 60)
    before, after = shrunk(found, 5000, toward=np.array([0.0, 0, 30, 0, 0, 0.5, 50, 0]))
    assert after.outcomes.tolist() == found.outcomes[:, : len(before)].tolist()
    long = after.outcomes[0] == "a rather long outcome"
    assert set(after.points[long, 2].tolist()) == {51.0}
    assert set(after.points[~long, 2].tolist()) == {30.0}


def test_no_cases_cost_nothing():
    found = found_by(Subject(lambda people: people["age"] > 3, PEOPLE), ("sex",), 10)
    _, after = shrunk(found, 100)
    assert after.asked == 0
    assert after.outcomes.shape == (2, 0)


def test_features_that_the_software_does_not_take_become_typical():
    space = Space(
        [category("sex", ["F", "M"]), integer("note", 0, 9, passed=False), integer("age", 0, 9)]
    )
    found = found_by(
        Subject(lambda people: (people["sex"] == "M") & (people["age"] > 7), space), ("sex",), 100
    )
    _, after = shrunk(found, 1000)
    assert (after.points[:, 1:] == [typical(space)[1], 8]).all()


def test_the_same_cases_shrink_to_the_same():
    found = found_by(Subject(biased, PEOPLE, positive=True), ("sex",), 500)
    one, other = (shrunk(found, 400)[1] for _ in range(2))
    assert one.points.tobytes() == other.points.tobytes()


@settings(max_examples=examples(25), deadline=None)
@given(
    strategies.spaces(constrained=True, continuous=True),
    st.integers(0, 99),
    st.sampled_from([5, 40, 4000]),
    st.data(),
)
def test_any_space_any_software(space, seed, queries, data):
    rng = np.random.default_rng(seed)
    names = [
        feature.name for feature in space.features if np.isfinite(feature.size) and feature.size > 1
    ]
    assume(names)
    over = tuple(data.draw(st.lists(st.sampled_from(names), min_size=1, max_size=2, unique=True)))
    weights = rng.normal(size=len(space.features))
    weights /= [
        1.0 if f.kind == "category" else float(f.high - f.low) or 1.0 for f in space.features
    ]

    def software(frame):
        return np.floor(3 * space.encode(frame) @ weights).astype(int) % 3

    found = found_by(Subject(software, space), over, 50, seed)
    toward = typical(space)
    assert space.valid(toward[None]).all()
    assert all(
        feature.inside(toward[at : at + 1]).all() for at, feature in enumerate(space.features)
    )
    shrunk(found, queries)


@settings(max_examples=examples(10), deadline=None)
@given(st.integers(0, 10_000))
def test_no_single_feature_is_left_that_could_be_typical(seed):
    """Brute force: of a shrunk case, no feature can become typical alone."""
    space = Space(
        [category("sex", ["F", "M"]), *(integer(f"x{number}", 0, 3) for number in range(5))]
    )
    table = np.random.default_rng(seed).random((2, 4, 4, 4, 4, 4)) < 0.5

    def software(frame):
        return table[tuple(space.encode(frame).astype(int).T)]

    found = found_by(Subject(software, space), ("sex",), 20, seed)
    _, after = shrunk(found, 100_000)
    toward = typical(space)
    rows, positions = np.nonzero(after.points != toward)
    moved = after.points[rows]
    moved[np.arange(len(rows)), positions] = toward[positions]
    tried = found.probe.ask(moved, after.pairs[rows])
    assert not (tried.outcomes == after.outcomes[:, rows]).all(axis=0).any()


@settings(deadline=None)
@given(
    st.floats(-1e12, 1e12).filter(lambda value: abs(value) > 1e-9), st.sampled_from([2, 3, 4, 6])
)
def test_rounding_encloses_a_number_with_few_digits(value, digits):
    down, up = (float(side[0]) for side in _rounded(np.array([value]), digits))
    slack = 1e-11 * abs(value)
    assert down - slack <= value <= up + slack
    assert up - down <= abs(value) * 10.0 ** (1 - digits) * (1 + 1e-9)
    for side in (down, up):
        assert float(f"{side:.{digits - 1}e}") == side


def test_a_case_is_built_up_from_a_typical_row_where_it_cannot_be_taken_apart():
    space = Space(
        [category("sex", ["F", "M"]), *(category(f"x{number}", ["a", "b"]) for number in range(6))]
    )

    def software(frame):
        odd = space.encode(frame)[:, 1:]
        return (
            (odd.sum(axis=1) == 6) | ((odd[:, 1] + odd[:, 4] == 2) & (odd.sum(axis=1) == 2))
        ) & (frame["sex"] == "M")

    found = Found(Probe(View(Subject(software, space)), ("sex",)))
    found.add(found.probe.ask(np.ones((1, 7))))
    assert shrunk(found, 1000)[1].points.tolist() == [[0, 0, 1, 0, 0, 1, 0]]


def test_unusual_counts_features():
    every = np.array(list(itertools.product([0.0, 1.0], repeat=3)))
    assert unusual(every, np.zeros(3)).tolist() == [0, 1, 1, 2, 1, 2, 2, 3]
