"""Covers as bits: sums over people whom rule sets cover, against plain sums over cells."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from evenhand.methods.mine.conditions import Choices
from evenhand.methods.mine.counting import covers as module
from evenhand.methods.mine.counting.covers import Covers, packed, unpacked
from evenhand.methods.mine.cube import Cube
from evenhand.space.feature import category
from tests.support.helpers import examples

SHAPES = ("split", "planes", "large", "weights", "numbers", "whole numbers")
"""Few people in a cell, many, more than bits are made of, weights, and numbers with squares."""


def grid() -> Cube:
    """Return a cube whose cells are all combinations of three features."""
    levels = (3, 5, 7)
    cells = (
        np.indices(levels)
        .reshape(
            3,
            -1,
        )
        .astype(float)
    )
    choices = []
    for place, column in enumerate(cells):
        feature = category(f"f{place}", list(range(levels[place])))
        choices.append(
            Choices.of(
                feature,
                column,
                levels=2,
            )
        )
    return Cube.of(choices, list(cells))


CUBE = grid()


def totals_of(shape: str, rng: Any) -> Any:
    """Return people, hits and of numbers squares for each cell."""
    cells = len(CUBE.codes)
    if shape == "weights":
        people = np.round(rng.random(cells), 3)
        return np.stack([people, people * rng.random(cells)])
    most = {
        "split": 2,
        "planes": 9000,
        "large": 1 << 33,
    }.get(shape, 50)
    people = rng.integers(
        0,
        most,
        cells,
    ).astype(float)
    hits = np.floor(people * rng.random(cells))
    if shape == "numbers":
        means = rng.random(cells)
        return np.stack(
            [
                people,
                people * means,
                people * means**2,
            ]
        )
    if shape == "whole numbers":
        return np.stack([people, hits, hits])
    return np.stack([people, hits])


@pytest.mark.parametrize("shape", SHAPES)
@settings(max_examples=examples(10), deadline=None)
@given(st.integers(0, 9999))
def test_sums_are_those_over_cells(shape, seed):
    rng = np.random.default_rng(seed)
    totals = totals_of(shape, rng)
    covers = Covers.of(CUBE, totals)
    starts = np.cumsum([0, *map(len, CUBE.choices)])
    place = np.stack(
        [
            rng.integers(
                0,
                len(choices),
                20,
            )
            for choices in CUBE.choices
        ],
        axis=1,
    )
    found = covers.sums(covers.of_rules(place + starts[:-1]))
    for number, choices in enumerate(place.tolist()):
        mask = CUBE.mask((0, 1, 2), choices)
        expected = totals[:, mask].sum(axis=1)
        assert found[:, number] == pytest.approx(expected, rel=1e-12)
    whole = covers.sums(covers.everybody()[None])[:, 0]
    assert whole == pytest.approx(totals.sum(axis=1), rel=1e-12)


@pytest.mark.parametrize(
    ("shape", "planes", "values"),
    [
        ("split", [1, 1], 0),
        ("planes", [14, 13], 0),
        ("large", [], 2),
        ("weights", [], 2),
        ("numbers", [6], 2),
        ("whole numbers", [6, 6, 6], 0),
    ],
)
def test_whole_numbers_are_counted_as_bits_and_others_are_added(shape, planes, values):
    totals = totals_of(shape, np.random.default_rng(1))
    covers = Covers.of(CUBE, totals)
    assert [len(plane) for plane in covers.planes] == planes
    assert covers.values.shape[1] == values
    bits = int(totals[0].sum()) if shape == "split" else totals.shape[1]
    assert len(covers.cells) == bits
    assert covers.words == -(-bits // 64)
    assert covers.cost == covers.words * (sum(planes) + 64 * values)


def test_whole_sums_are_exact():
    """Counts of which a sum of floats in some order could not lose a digit."""
    totals = totals_of("planes", np.random.default_rng(2))
    covers = Covers.of(CUBE, totals)
    singles = np.arange(len(covers.bits))[:, None]
    found = covers.sums(covers.of_rules(singles))
    expected = []
    for position, choices in enumerate(CUBE.choices):
        for choice in range(len(choices)):
            expected.append(
                totals[
                    :,
                    CUBE.mask(
                        (position,),
                        (choice,),
                    ),
                ].sum(axis=1)
            )
    assert found.T.tolist() == np.array(expected).tolist()


@pytest.mark.parametrize("shape", SHAPES)
def test_some_of_the_sums_are_the_same_as_all(shape):
    totals = totals_of(shape, np.random.default_rng(3))
    covers = Covers.of(CUBE, totals)
    cover = covers.of_rules(
        np.array(
            [
                [0, 4],
                [1, 9],
                [2, 6],
            ]
        )
    )
    every = covers.sums(cover)
    for first in range(len(totals)):
        for last in range(first + 1, len(totals) + 1):
            some = covers.sums(
                cover,
                first,
                last,
            )
            assert np.allclose(
                some,
                every[first:last],
                rtol=1e-12,
            )
    assert covers.sums(cover[:0]).shape == (len(totals), 0)


def test_hits_that_are_more_than_people_are_not_split():
    """Of numbers that are whole, a cell may have a larger sum than it has people."""
    people = np.ones(len(CUBE.codes))
    covers = Covers.of(
        CUBE,
        np.stack([people, 3 * people]),
    )
    assert len(covers.cells) == len(CUBE.codes)
    found = covers.sums(covers.everybody()[None])
    assert found[:, 0].tolist() == [105, 315]


@settings(max_examples=examples(20), deadline=None)
@given(
    st.integers(0, 5),
    st.integers(0, 200),
    st.integers(0, 999),
)
def test_flags_are_packed_into_words_and_back(rows, columns, seed):
    flags = np.random.default_rng(seed).random((rows, columns)) < 0.5
    words = packed(flags)
    assert words.shape == (rows, -(-columns // 64))
    assert (
        unpacked(
            words,
            columns,
        ).tolist()
        == flags.astype(float).tolist()
    )
    assert np.bitwise_count(words).sum() == flags.sum()


def test_sums_are_split_into_bits_below_a_bound(monkeypatch):
    monkeypatch.setattr(
        module,
        "_LARGEST",
        50,
    )
    totals = totals_of("planes", np.random.default_rng(1))
    covers = Covers.of(CUBE, totals)
    assert covers.planes == ()
    assert covers.values.shape[1] == 2
