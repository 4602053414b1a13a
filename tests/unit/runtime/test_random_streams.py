"""Named random streams: reproducible, independent, and told apart by every part of their name."""

# mypy: disable-error-code="arg-type,list-item"
# Wrong arguments are what these tests are about.

from __future__ import annotations

import itertools
import subprocess
import sys

import numpy as np
import pytest

from evenhand.runtime.errors import UsageError
from evenhand.runtime.random_streams import stream
from tests.support.helpers import refused


def test_the_same_name_gives_the_same_numbers_whatever_else_was_drawn():
    first = stream(7, "draw", 3).random(5)
    stream(7, "other").random(1000)
    assert np.array_equal(stream(7, "draw", 3).random(5), first)
    assert np.array_equal(stream(np.int64(7), "draw", np.int64(3)).random(5), first)


def test_every_part_of_the_name_counts():
    names = [
        (),
        ("a",),
        ("b",),
        ("a", "b"),
        ("ab",),
        ("a", 1),
        ("a", "1"),
        ("a", 11),
        ("a", 1, 1),
        (1, "a"),
        ("a\x1fb",),
    ]
    names += [("a", ""), ("", "a"), ('a", "b',)]
    seen = {}
    for seed in (0, 1, 11):
        for name in names:
            seen[seed, name] = tuple(stream(seed, *name).integers(0, 2**62, 4))
    for first, second in itertools.combinations(seen, 2):
        assert seen[first] != seen[second], (first, second)


def test_the_same_in_another_process():
    code = (
        "from evenhand.runtime.random_streams import stream; print(stream(5, 'measure',"
        " 2).integers(0, 2**62))"
    )
    outputs = set()
    for seed in ("1", "2"):
        done = subprocess.run(
            [sys.executable, "-c", code],
            env={"PYTHONHASHSEED": seed},
            capture_output=True,
            check=True,
        )
        outputs.add(done.stdout)
    number = stream(5, "measure", 2).integers(0, 2**62)
    assert outputs == {f"{number}\n".encode()}


def test_neighbouring_streams_do_not_correlate():
    rows = []
    for seed in range(4):
        for block in range(4):
            rows.append(stream(seed, "x", block).random(2000))
    numbers = np.array(rows)
    correlation = np.corrcoef(numbers) - np.eye(16)
    assert np.abs(correlation).max() < 0.12
    assert abs(numbers.mean() - 0.5) < 0.01


@pytest.mark.parametrize("seed", [-1, 1.0, "0", None, True, [1]])
def test_a_wrong_seed_is_named(seed):
    refused(
        UsageError,
        lambda: stream(seed, "x"),
        f"seed = {seed!r}",
        "whole number of 0 or more",
    )


def test_a_large_seed_is_a_seed():
    assert stream(10**40, "x").random() != stream(10**40 + 1, "x").random()
