"""The census of a space: everybody once, in an order of their own."""

from __future__ import annotations

import pickle
from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import evenhand as eh
from evenhand.population.census import Census, CensusDraws
from evenhand.space.row_keys import classes
from tests.support.helpers import examples

SEX = eh.category("sex", ["F", "M"])
AGE = eh.integer("age", 18, 90)
TOWN = eh.category("town", ["a", "b", "c"])


def census_of(space: eh.Space, names: tuple[str, ...], unread: Any = ()) -> Census:
    """Return the census of a space that has one."""
    census = Census.of(space, names, unread)
    assert census is not None
    return census


def space_of(*features, constraints=()) -> eh.Space:
    return eh.Space([SEX, *features], ["sex"], constraints)


@given(seed=st.integers(0, 50), shuffled=st.booleans())
@settings(max_examples=examples(10), deadline=None)
def test_everybody_is_drawn_once(seed, shuffled):
    space = space_of(AGE, TOWN, constraints=["age > 20 or town == 'a'"])
    census = census_of(space, ("sex",))
    assert census.size == 73 * 3 - 3 * 2
    draws = CensusDraws(census, seed, "test", shuffled=shuffled)
    people = draws.take(0, int(census.size))
    assert space.valid(people).all()
    assert len(np.unique(classes(people, space, ("sex",)))) == census.size


def test_draws_are_the_same_in_any_batches_and_processes():
    census = census_of(space_of(AGE, TOWN), ("sex",))
    draws = CensusDraws(census, 3, "test")
    whole = draws.take(0, 219)
    copied = pickle.loads(pickle.dumps(draws))
    parts = np.concatenate([copied.take(0, 50), copied.take(50, 51), copied.take(51, 219)])
    assert np.array_equal(whole, parts)
    assert not np.array_equal(whole, CensusDraws(census, 4, "test").take(0, 219))


def test_what_the_software_does_not_take_or_read_does_not_multiply_people():
    diary = eh.category("diary", list("abcdef"), passed=False)
    space = space_of(AGE, TOWN, diary)
    assert census_of(space, ("sex",)).size == 73 * 3
    assert census_of(space, ("sex",), {"town"}).size == 73
    assert census_of(space, ("diary",)).inputs == 2 * 73 * 3 * 6


@pytest.mark.parametrize(
    "space",
    [
        space_of(eh.real("rate", 0, 1)),
        space_of(AGE, constraints=["age > 20 or sex == 'F'"]),
    ],
    ids=["continuous", "tied"],
)
def test_there_is_no_census_where_people_cannot_be_numbered(space):
    assert Census.of(space, ("sex",)) is None
