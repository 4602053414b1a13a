"""Outcomes that are numbers, summed up by the engine where there are many rows."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

import evenhand as eh
from evenhand.methods.mine import recorded
from evenhand.runtime.errors import UsageError
from tests.methods.mine.logs.frames import ENGINES, holes, log, row_by_row
from tests.support.helpers import refused

LOG = holes(log(4000)).drop(columns=["veteran", "paid", "ok", "iso"])
HOW: dict[str, Any] = {
    "outcome": "pay",
    "over": ["sex", "age"],
    "limit": 0.2,
    "top": 3,
}


@pytest.fixture
def few_are_read(monkeypatch):
    monkeypatch.setattr(
        recorded,
        "MOST_READ",
        100,
    )


def numbers(result: eh.Result) -> list[float]:
    found = []
    for finding in result.findings:
        estimate = finding.estimate
        found += [estimate.value, estimate.low, estimate.high, estimate.n]
    return found


@pytest.mark.parametrize("engine", ENGINES)
@pytest.mark.usefixtures("few_are_read")
def test_sums_give_what_rows_give(engine, monkeypatch):
    expected = row_by_row(
        monkeypatch,
        LOG,
        **HOW,
    )
    found = eh.mine_log(ENGINES[engine](LOG), **HOW)
    assert str(found) == str(expected)
    assert numbers(found) == pytest.approx(numbers(expected), rel=1e-9)
    (mining,) = found.details["mine"]
    (expected_mining,) = expected.details["mine"]
    assert mining["maps"] == expected_mining["maps"]


@pytest.mark.usefixtures("few_are_read")
def test_sums_do_not_depend_on_the_order_of_rows():
    rng = np.random.default_rng(3)
    shuffled = LOG.iloc[rng.permutation(len(LOG))]
    lazy = ENGINES["polars lazy"]
    first = eh.mine_log(lazy(LOG), **HOW)
    again = eh.mine_log(lazy(shuffled), **HOW)
    assert first.digest == again.digest


@pytest.mark.usefixtures("few_are_read")
def test_scores_of_labels_are_refused():
    frame = log(400)
    how: dict[str, Any] = {
        "outcome": "pay",
        "over": "sex",
        "truth": "paid",
        "score": "tpr",
    }
    refused(
        UsageError,
        lambda: eh.mine_log(frame, **how),
        "the outcomes are numbers",
    )
