"""The measures of the other subgroup miners: by hand, and beside their own formulas."""

from __future__ import annotations

import numpy as np
import pandas as pd
import pytest
from scipy.optimize import minimize_scalar

from tests.support.benchmarks import benchmark


@pytest.fixture(scope="module")
def measures():
    return benchmark("rival_measures")


@pytest.fixture
def sums(measures):
    """Three rule sets of 100 rows, 40 of which have the outcome."""
    size = np.array([20.0, 50.0, 10.0])
    hits = np.array([16.0, 10.0, 4.0])
    return measures.Sums(
        size,
        hits,
        100,
        40,
    )


def test_divergence_counts_in_both_directions(sums):
    expected = [0.4, 0.2, 0.0]
    assert sums.divergence() == pytest.approx(expected)


def test_standard_quality_weighs_the_size(sums):
    by_size = sums.standard_quality(1.0)
    by_rate = sums.standard_quality(0.0)
    assert by_size == pytest.approx([0.08, -0.1, 0.0])
    assert by_rate == pytest.approx([0.4, -0.2, 0.0])


@pytest.mark.parametrize(("higher", "number"), [(True, 0), (False, 1)])
def test_bernoulli_score_is_the_highest_likelihood_ratio_of_any_odds(sums, higher, number):
    size = sums.size[number]
    hits = sums.hits[number]
    expected = np.full(int(size), 0.4)

    def loss(log_odds):
        odds = np.exp(log_odds)
        likelier = 1 - expected + odds * expected
        chances = np.log(likelier)
        return chances.sum() - hits * log_odds

    found = minimize_scalar(
        loss,
        bounds=(-5, 5),
        method="bounded",
    )
    best = -found.fun
    scores = sums.bernoulli_score(higher=higher)
    assert scores[number] == pytest.approx(best, rel=1e-6)
    assert np.count_nonzero(scores) == 1


def test_bernoulli_score_of_a_rate_of_one_is_finite(measures):
    five = np.array([5.0])
    sums = measures.Sums(
        five,
        five,
        10,
        5,
    )
    [score] = sums.bernoulli_score(higher=True)
    assert score == pytest.approx(5 * np.log(2))


def test_slice_score_takes_small_slices_down(sums):
    larger_error = 0.8 / 0.4 - 1
    smallness = 100 / 20 - 1
    expected = 0.9 * larger_error - 0.1 * smallness
    score, *_ = sums.slice_score(0.9)
    assert score == pytest.approx(expected)


def test_conditions_are_the_same_in_any_order(measures):
    one = measures.key_of({"sex": ["F"], "race": ["b", "a"]})
    other = measures.key_of({"race": ["a", "b"], "sex": ["F"]})
    assert one == other
    fewer = measures.key_of({"sex": ["F"]})
    assert one != fewer


def test_counts_are_compared_one_by_one(measures):
    women = measures.key_of({"sex": ["F"]})
    men = measures.key_of({"sex": ["M"]})
    old = measures.key_of({"age": ["old"]})
    ours = {women: (10.0, 4.0), men: (10.0, 5.0)}
    same = measures.compare(ours, dict(ours))
    assert same.all_equal
    assert str(same) == "2 of 2"
    theirs = {women: (10.0, 3.0), old: (8.0, 1.0)}
    other = measures.compare(ours, theirs)
    assert not other.all_equal
    assert str(other) == "0 of 1, 1 only theirs, 1 only ours"


def test_of_a_list_of_the_best_nothing_is_missing(measures):
    women = measures.key_of({"sex": ["F"]})
    men = measures.key_of({"sex": ["M"]})
    ours = {women: (10.0, 4.0), men: (10.0, 5.0)}
    theirs = {men: (10.0, 5.0)}
    compared = measures.compare(
        ours,
        theirs,
        whole=False,
    )
    assert compared.all_equal


def test_as_extreme_forgives_rounding_alone(measures):
    barely = 0.3 - 1e-12
    less = 0.3 - 1e-6
    assert measures.as_extreme(barely, 0.3)
    assert not measures.as_extreme(less, 0.3)
    assert measures.as_extreme(
        less,
        0.3,
        rounded=1e-3,
    )


@pytest.fixture
def people():
    first = ["x", "x", "y", "y"] * 25
    second = ["u", "v"] * 50
    return pd.DataFrame({"a": first, "b": second})


def test_rows_meet_all_conditions(measures, people):
    quarter = measures.covered(people, {"a": ["x"], "b": ["u"]})
    everybody = measures.covered(people, {"a": ["x", "y"]})
    assert quarter.sum() == 25
    assert everybody.all()


def test_variations_are_mostly_the_same_people_or_a_part_of_them(measures, people):
    planted = {"a": ["x"]}
    part = {"a": ["x"], "b": ["u"]}
    other = {"b": ["u"]}
    everybody: dict[str, list[str]] = {}
    lines = [planted, part, other, everybody]
    flags = measures.variations(
        people,
        lines,
        planted,
    )
    assert flags == [True, True, False, False]


def test_nobody_is_no_variation(measures, people):
    nobody = {"a": ["z"]}
    planted = {"a": ["x"]}
    flags = measures.variations(
        people,
        [nobody],
        planted,
    )
    assert flags == [False]


def test_a_table_has_a_line_for_each_row(measures):
    first = {"tool": "one", "cpu": "10.5"}
    second = {"tool": "another"}
    columns = {"tool": "tool", "cpu": ">CPU s"}
    text = measures.text_table([first, second], columns)
    assert text.splitlines() == ["tool     CPU s", "one       10.5", "another"]
