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
    return measures.Sums(np.array([20.0, 50.0, 10.0]), np.array([16.0, 10.0, 4.0]), 100, 40)


def test_divergence_counts_in_both_directions(sums):
    assert sums.divergence() == pytest.approx([0.4, 0.2, 0.0])


def test_standard_quality_weighs_the_size(sums):
    assert sums.standard_quality(1.0) == pytest.approx([0.2 * 0.4, 0.5 * -0.2, 0.0])
    assert sums.standard_quality(0.0) == pytest.approx([0.4, -0.2, 0.0])


@pytest.mark.parametrize(("higher", "number"), [(True, 0), (False, 1)])
def test_bernoulli_score_is_the_highest_likelihood_ratio_of_any_odds(sums, higher, number):
    size = sums.size[number]
    hits = sums.hits[number]
    expected = np.full(int(size), 0.4)

    def loss(log_odds):
        odds = np.exp(log_odds)
        chances = np.log(1 - expected + odds * expected)
        return chances.sum() - hits * log_odds

    best = -minimize_scalar(loss, bounds=(-5, 5), method="bounded").fun
    scores = sums.bernoulli_score(higher=higher)
    assert scores[number] == pytest.approx(best, rel=1e-6)
    assert np.count_nonzero(scores) == 1


def test_bernoulli_score_of_a_rate_of_one_is_finite(measures):
    sums = measures.Sums(np.array([5.0]), np.array([5.0]), 10, 5)
    assert sums.bernoulli_score(higher=True) == pytest.approx([5 * np.log(2)])


def test_slice_score_takes_small_slices_down(sums):
    larger_error = 0.8 / 0.4 - 1
    smallness = 100 / 20 - 1
    expected = 0.9 * larger_error - 0.1 * smallness
    assert sums.slice_score(0.9)[0] == pytest.approx(expected)


def test_conditions_are_the_same_in_any_order(measures):
    one = measures.key_of({"sex": ["F"], "race": ["b", "a"]})
    other = measures.key_of({"race": ["a", "b"], "sex": ["F"]})
    assert one == other
    assert one != measures.key_of({"sex": ["F"]})


def test_counts_are_compared_one_by_one(measures):
    women = measures.key_of({"sex": ["F"]})
    men = measures.key_of({"sex": ["M"]})
    old = measures.key_of({"age": ["old"]})
    ours = {women: (10.0, 4.0), men: (10.0, 5.0)}
    same = measures.compare(ours, dict(ours))
    assert same.all_equal
    assert str(same) == "2 of 2"
    other = measures.compare(ours, {women: (10.0, 3.0), old: (8.0, 1.0)})
    assert not other.all_equal
    assert str(other) == "0 of 1, 1 only theirs, 1 only ours"


def test_of_a_list_of_the_best_nothing_is_missing(measures):
    women = measures.key_of({"sex": ["F"]})
    men = measures.key_of({"sex": ["M"]})
    ours = {women: (10.0, 4.0), men: (10.0, 5.0)}
    assert measures.compare(ours, {men: (10.0, 5.0)}, whole=False).all_equal


def test_as_extreme_forgives_rounding_alone(measures):
    assert measures.as_extreme(0.3 - 1e-12, 0.3)
    assert not measures.as_extreme(0.3 - 1e-6, 0.3)
    assert measures.as_extreme(0.3 - 1e-6, 0.3, rounded=1e-3)


@pytest.fixture
def people():
    return pd.DataFrame({"a": ["x", "x", "y", "y"] * 25, "b": ["u", "v"] * 50})


def test_rows_meet_all_conditions(measures, people):
    assert measures.covered(people, {"a": ["x"], "b": ["u"]}).sum() == 25
    assert measures.covered(people, {"a": ["x", "y"]}).all()


def test_variations_are_mostly_the_same_people_or_a_part_of_them(measures, people):
    lines = [{"a": ["x"]}, {"a": ["x"], "b": ["u"]}, {"b": ["u"]}, {}]
    flags = measures.variations(people, lines, {"a": ["x"]})
    assert flags == [True, True, False, False]


def test_nobody_is_no_variation(measures, people):
    assert measures.variations(people, [{"a": ["z"]}], {"a": ["x"]}) == [False]


def test_a_table_has_a_line_for_each_row(measures):
    rows = [{"tool": "one", "cpu": "10.5"}, {"tool": "another"}]
    text = measures.text_table(rows, {"tool": "tool", "cpu": ">CPU s"})
    assert text.splitlines() == ["tool     CPU s", "one       10.5", "another"]
