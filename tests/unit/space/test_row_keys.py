"""Numbers for rows: those that differ only in some features share one."""

from __future__ import annotations

import itertools

import numpy as np
from hypothesis import given, settings
from hypothesis import strategies as st

from evenhand.space.row_keys import classes
from tests.support.helpers import examples
from tests.support.strategies import spaces


@given(spaces(most=4), st.data())
@settings(max_examples=examples(20), deadline=None)
def test_classes_are_those_who_differ_in_nothing_else(space, data):
    points = space.draw(30, np.random.default_rng(data.draw(st.integers(0, 99))))
    names = tuple(
        data.draw(st.lists(st.sampled_from(space.names), min_size=1, unique=True))
    )
    rest = [column for column, name in enumerate(space.names) if name not in names]
    ids = classes(points, space, names).tolist()
    keys = [tuple(row) for row in points[:, rest].tolist()]
    for (one, key), (other, their) in itertools.combinations(
        zip(ids, keys, strict=True), 2
    ):
        assert (one == other) == (key == their)
