"""Bins of numbers: quantiles of counted values are those of the rows."""

from __future__ import annotations

import numpy as np
from hypothesis import given, settings
from hypothesis import strategies as st

from evenhand.methods.mine.bins import KnownEdges, checked_bins, counted_quantiles, edges_of
from evenhand.space.feature import real
from tests.support.helpers import examples

NUMBERS = st.floats(
    -1e6,
    1e6,
    allow_nan=False,
)
COUNTED = st.lists(
    st.tuples(NUMBERS, st.integers(1, 40)),
    min_size=1,
    max_size=30,
)


@settings(max_examples=examples(200))
@given(counted=COUNTED, bins=st.integers(2, 20))
def test_counted_quantiles_are_those_of_all_rows(counted, bins):
    values = np.array([value for value, _ in counted])
    counts = np.array([float(count) for _, count in counted])
    shares = np.linspace(
        0,
        1,
        bins + 1,
    )[1:-1]
    rows = np.repeat(values, counts.astype(int))
    found = counted_quantiles(
        values,
        counts,
        shares,
    )
    assert found.tolist() == np.quantile(rows, shares).tolist()


def test_edges_that_are_known_are_taken_as_they_are():
    feature = real(
        "x",
        0,
        10,
    )
    edges = KnownEdges((0.0, 2.5, 10.0))
    assert checked_bins(feature, edges) is edges
    assert edges_of(
        feature,
        np.empty(0),
        edges,
        "quantiles",
    ) == (0.0, 2.5, 10.0)
