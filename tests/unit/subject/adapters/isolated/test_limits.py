"""What `isolate` says of memory and time."""

from __future__ import annotations

import math
from typing import Any

import pytest

from evenhand.runtime.errors import UsageError
from evenhand.subject.adapters.isolated.limits import Isolation
from tests.support.helpers import refused


def test_whether_there_is_a_process_of_its_own():
    assert Isolation.of(None) is None
    assert Isolation.of(False) is None
    assert Isolation.of(True) == Isolation(None, None)
    assert Isolation.of({}) == Isolation(None, None)


@pytest.mark.parametrize(
    ("given", "number"),
    [
        (None, None),
        (1, 1),
        (2_000_000, 2_000_000),
        ("7 B", 7),
        ("3kb", 3_000),
        (" 0.5 MB ", 500_000),
        ("1.5GB", 1_500_000_000),
        ("2 TB", 2_000_000_000_000),
    ],
)
def test_amounts_of_memory(given, number):
    assert Isolation.of({"memory": given}) == Isolation(number, None)


@pytest.mark.parametrize(
    "given", [0, -1, True, False, 1.5, "2", "2 GiB", "0 GB", "0.0 GB", "-1 GB", "", [1]]
)
def test_what_is_no_amount_of_memory(given: Any):
    words = f"isolate: memory = {given!r} must be an amount such as '2 GB'"
    refused(UsageError, lambda: Isolation.of({"memory": given}), words)


@pytest.mark.parametrize(("given", "number"), [(None, None), (30, 30.0), (0.001, 0.001)])
def test_seconds(given, number):
    found = Isolation.of({"timeout": given})
    assert found == Isolation(None, number)
    assert found is not None
    assert type(found.timeout) in (float, type(None))


@pytest.mark.parametrize("given", [0, -1, True, False, math.nan, "30", [1]])
def test_what_are_no_seconds(given: Any):
    words = f"isolate: timeout = {given!r} must be a number of seconds over 0"
    refused(UsageError, lambda: Isolation.of({"timeout": given}), words)


@pytest.mark.parametrize("given", [1, 0, "yes", ["memory"]])
def test_what_is_neither_true_nor_false_nor_limits(given: Any):
    words = f"isolate = {given!r} must be true, false, or limits"
    refused(UsageError, lambda: Isolation.of(given), words)


def test_limits_that_do_not_exist():
    refused(
        UsageError,
        lambda: Isolation.of({"timeout": 1, "memry": 2}),
        "isolate has no limit 'memry'; did you mean 'memory'",
    )
