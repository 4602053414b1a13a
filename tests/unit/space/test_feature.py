"""One feature: what it can be, how it is drawn, what it refuses."""

# mypy: disable-error-code="arg-type,list-item"
# Wrong arguments are what these tests are about.

from __future__ import annotations

import math
import pickle

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from evenhand.runtime.errors import SpaceError
from evenhand.space.declaration import decimals_of
from evenhand.space.feature import (
    Feature,
    category,
    combinations,
    count,
    integer,
    product,
    real,
)
from tests.support.helpers import examples, refused
from tests.support.strategies import features


def drawn(feature: Feature, n: int = 2000, seed: int = 0) -> np.ndarray:
    out = np.empty(n)
    feature.draw(n, np.random.default_rng(seed), out)
    return out


@pytest.mark.parametrize(
    "feature",
    [
        integer("x", -5, 5),
        integer("x", -70_000, -60_000),
        integer("x", 60_000, 100_000),
        integer("x", 0, 200_000, step=4),
        integer("x", 0, 2**53 - 1),
        integer("x", 1 - 2**52, 2**52),
        real("x", 0, 200_000, step=4),
        real("x", -1, 1, step=0.1),
        real("x", 1 / 3, 5, step=0.1),
        real("x", 0.1, 0.7, step=0.3),
        real("x", 1e-310, 1, step=0.25),
        real("x", -3.5, -3.5),
        real("x", 5, 5, step=2),
        real("x", -1e-9, 1e-9, step=1e-10),
        real("x", 0.25, 8.5),
        category("x", ["only"]),
        category("x", list(range(70_000))),
    ],
    ids=lambda feature: feature.domain,
)
def test_draws_stay_in_the_domain_and_reach_both_halves(feature):
    values = drawn(feature)
    assert feature.inside(values).all()
    if feature.kind != "category":
        assert feature.low <= values.min() <= values.max() <= feature.high
    if feature.size >= 2:
        middle = (
            (len(feature.levels) - 1) / 2
            if feature.kind == "category"
            else (feature.low + feature.high) / 2
        )
        assert (values <= middle).any() and (values >= middle).any()
        assert abs((values <= middle).mean() - 0.5) < 0.2


@given(features("x"))
def test_every_listed_value_is_inside_its_own_snap_and_label(feature):
    values = feature.values()
    assert len(values) == feature.size == feature.variety
    assert (np.diff(values) > 0).all()
    assert feature.inside(values).all()
    assert np.array_equal(feature.snap(values), values)
    assert set(drawn(feature, 500).tolist()) <= set(values.tolist())
    labels = feature.labels(values)
    assert all(type(label) in (str, int, float, bool) for label in labels)
    if feature.kind == "category":
        assert tuple(labels) == feature.levels
    else:
        assert labels == values.tolist()


@given(features("x", continuous=True))
def test_a_declaration_survives_its_dictionary_and_a_pickle(feature):
    assert Feature.from_dict(feature.name, feature.to_dict()) == feature
    assert pickle.loads(pickle.dumps(feature)) == feature


@given(
    st.integers(-50, 50), st.integers(0, 40), st.sampled_from([0.1, 0.01, 0.001, 0.3, 0.7])
)
def test_grid_values_are_the_decimal_numbers_a_person_writes(low, steps, step):
    start = round(low * step, 3)
    feature = real("x", start, round(start + steps * step, 3), step=step)
    assert feature.size == steps + 1
    assert feature.values().tolist() == [
        round(start + i * step, 3) for i in range(steps + 1)
    ]


def test_values_on_the_grid_but_for_rounding_are_snapped_onto_it():
    feature = real("x", 0, 0.3, step=0.1)
    untidy = np.array([0.1 + 0.2, 0.30000000000000004, 0.1 * 3])
    assert feature.inside(untidy).all()
    assert feature.snap(untidy).tolist() == [0.3, 0.3, 0.3]
    assert not feature.inside(
        np.array([0.05, 0.31, -0.1, 0.4, np.nan, np.inf, -np.inf])
    ).any()


def test_a_fine_step_does_not_accept_everything():
    feature = real("x", 0, 1, step=1e-10)
    assert feature.inside(np.array([3e-10])).all()
    assert not feature.inside(np.array([3.4e-10])).any()


@pytest.mark.parametrize(
    ("feature", "size"),
    [
        (integer("x", 18, 90), 73),
        (integer("x", 3, 3), 1),
        (integer("x", 0, 10, step=3), 4),
        (real("x", 0, 1, step=0.01), 101),
        (real("x", 0, 1e8, step=0.1), 1_000_000_001),
        (real("x", 0, 1), math.inf),
        (real("x", 1, 1), 1),
        (category("x", [True, False]), 2),
        (Feature("x", "integer", low=1, high=5), 5),
    ],
)
def test_size(feature, size):
    assert feature.size == size


def test_bins_list_the_midpoints_of_a_continuous_feature():
    assert real("x", 0, 1, bins=2).values().tolist() == [0.25, 0.75]
    assert real("x", 0, 1, bins=[0, 0.5, 1]).values().tolist() == [0.25, 0.75]
    assert real("x", 0, 1, bins=2).variety == 2
    assert integer("x", 0, 9, bins=2).variety == 10
    refused(
        SpaceError, lambda: real("x", 0, 1).values(), "'x'", "continuous", "step or bins"
    )


@pytest.mark.parametrize(
    ("make", "words"),
    [
        (lambda: category("sex", []), ["'sex'", "empty"]),
        (lambda: category("sex", "FM"), ["'sex'", "list", "'FM'"]),
        (lambda: category("sex", 3), ["'sex'", "list"]),
        (lambda: category("sex", {"F": 1}), ["'sex'", "list"]),
        (lambda: category("sex", ["F", "F"]), ["'sex'", "'F'", "twice"]),
        (lambda: category("sex", [1, True]), ["True", "twice"]),
        (lambda: category("sex", [None]), ["None", "missing=True"]),
        (lambda: category("sex", [b"F"]), ["not a text, number or truth value"]),
        (lambda: category("sex", [math.nan]), ["nan"]),
        (lambda: category("sex", [["F"]]), ["['F']"]),
        (lambda: category("", ["F"]), ["name", "''"]),
        (lambda: category(3, ["F"]), ["name", "3"]),
        (lambda: integer("age", 90, 18), ["'age'", "low = 90", "high = 18", "swap"]),
        (lambda: integer("age", 0.5, 18), ["'age'", "low = 0.5", "whole", "real()"]),
        (lambda: integer("age", 0, 18, step=0), ["step = 0", "over 0"]),
        (lambda: integer("age", 0, 18, step=-1), ["step = -1"]),
        (lambda: integer("age", 0, 18, step=0.5), ["step = 0.5", "whole"]),
        (lambda: integer("age", "0", 18), ["low = '0'", "not a number"]),
        (lambda: integer("age", True, 18), ["low = True", "not a number"]),
        (lambda: integer("age", None, 18), ["low = None"]),
        (lambda: integer("age", 0, 2**53 + 2), ["2**53", "high"]),
        (lambda: integer("age", 0, 10**400), ["2**53"]),
        (lambda: integer("age", -(2**53), 2**53), ["2**53 values", "larger step"]),
        (lambda: real("rate", 0, math.inf), ["high = inf"]),
        (lambda: real("rate", math.nan, 1), ["low = nan"]),
        (lambda: real("rate", 0, 1, step=1e-300), ["2**53 values"]),
        (lambda: real("rate", 0, 1, bins=0), ["bins = 0"]),
        (lambda: real("rate", 0, 1, bins=[0, 0]), ["bins", "rising"]),
        (lambda: real("rate", 0, 1, bins=["a", "b"]), ["bins", "rising"]),
        (lambda: real("rate", 0, 1, bins=[0, 2]), ["bins", "beyond"]),
        (lambda: real("rate", 0, 1, bins=[0, math.nan]), ["bins"]),
        (lambda: real("rate", 0, 1, bins=True), ["bins = True"]),
        (lambda: real("rate", 0, 1, passed="no"), ["passed = 'no'", "true or false"]),
        (
            lambda: Feature("x", "catgory", levels=("a",)),
            ["'catgory'", "did you mean 'category'?"],
        ),
    ],
)
def test_a_wrong_declaration_is_named(make, words):
    refused(SpaceError, make, *words)


@pytest.mark.parametrize(
    ("table", "words"),
    [
        ({"kind": "integr", "low": 0, "high": 1}, ["'integr'", "did you mean 'integer'?"]),
        ({"kind": "integr"}, ["'integr'", "did you mean 'integer'?"]),
        ({"lwo": 0, "high": 1}, ["'lwo'", "did you mean 'low'?"]),
        ({}, ["kind, levels, or low and high"]),
        ({"low": 1}, ["needs high"]),
        ({"kind": "integer", "high": 1}, ["needs low"]),
        ({"kind": "category"}, ["levels"]),
        ({"kind": "category", "levels": "FM"}, ["list", "'FM'"]),
        ({"levels": ["a"], "low": 3}, ["low = 3", "kind = 'category'"]),
        (
            {"kind": "real", "levels": ["a"], "low": 0, "high": 1},
            ["levels", "kind = 'real'"],
        ),
        ({"kind": "integer", "low": 0, "high": 1, "passed": 0}, ["passed = 0"]),
        (["low", 3], ["must be a table"]),
        (7, ["must be a table", "7"]),
    ],
)
def test_a_wrong_table_is_named(table, words):
    refused(SpaceError, lambda: Feature.from_dict("x", table), "'x'", *words)


@pytest.mark.parametrize(
    ("base", "table", "expected"),
    [
        (integer("x", 0, 9), {"high": 20}, integer("x", 0, 20)),
        (integer("x", 0, 9), {"low": 0.5}, real("x", 0.5, 9)),
        (integer("x", 0, 9), {"levels": [1, 2]}, category("x", [1, 2])),
        (integer("x", 0, 9), {"kind": "category", "levels": [1]}, category("x", [1])),
        (integer("x", 0, 9), {"kind": "real"}, real("x", 0, 9)),
        (integer("x", 0, 9), {"passed": False}, integer("x", 0, 9, passed=False)),
        (real("x", 0.25, 0.75, step=0.01), {"high": 1}, real("x", 0.25, 1, step=0.01)),
        (real("x", 0.25, 0.75), {"step": 1}, real("x", 0.25, 0.75, step=1)),
        (real("x", 0, 1), {"bins": 4}, real("x", 0, 1, bins=4)),
        (category("x", ["a"]), {"levels": ["a", "b"]}, category("x", ["a", "b"])),
        (category("x", ["a"]), {"low": 0, "high": 3}, integer("x", 0, 3)),
    ],
)
def test_a_table_overrides_what_was_inferred(base, table, expected):
    assert Feature.from_dict("x", table, base) == expected


def test_numpy_scalars_become_plain_values():
    feature = integer("x", np.int64(1), np.int64(5))
    assert type(feature.low) is int
    assert category("x", np.array(["a", "b"])).levels == ("a", "b")
    assert [type(level) for level in category("x", np.array([1, 2])).levels] == [int, int]
    assert real("x", np.float64(0), 1, bins=np.int64(3)).bins == 3


@given(st.lists(st.lists(st.floats(-5, 5), min_size=1, max_size=4), min_size=1, max_size=4))
@settings(max_examples=examples(50))
def test_product_is_the_product_of_itertools(columns):
    import itertools

    found = product([np.array(column) for column in columns])
    assert [tuple(row) for row in found.tolist()] == list(itertools.product(*columns))


def test_product_of_more_columns_than_numpy_has_dimensions():
    assert product([np.zeros(1)] * 99 + [np.arange(2.0)]).shape == (2, 100)


def test_numbers_of_inputs_stay_exact_and_readable():
    assert combinations([10**300, 10**300]) == 10**600
    assert combinations([10**400, math.inf]) == math.inf
    assert combinations([]) == 1
    assert count(math.inf) == "infinitely many"
    assert count(999_999_999) == "999,999,999"
    assert count(10**24) == "1e+24"
    assert count(10**600) == "1.0e+600"


def test_decimals_of():
    assert [decimals_of(number) for number in (0, 1, 0.5, 0.125, 1e-7, 1e20, -0.25)] == [
        0,
        0,
        1,
        3,
        7,
        0,
        2,
    ]
