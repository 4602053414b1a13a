"""A few changed files of every kind, so that the campaign (`make fuzz`) cannot rot."""

from __future__ import annotations

import random

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from tests.fuzz.mutations import ODD_VALUES, changed, mutated
from tests.fuzz.once import Bench
from tests.fuzz.targets import targets
from tests.support.helpers import examples

TARGETS = targets()
SLOW = ("page", "baseline")
"""Targets whose every input takes a tenth of a second or more."""


def cases() -> list[object]:
    found: list[object] = []
    for name in TARGETS:
        marks = [pytest.mark.slow] if name in SLOW else []
        found.append(pytest.param(name, marks=marks))
    return found


@pytest.fixture(params=cases(), scope="module")
def bench(request, tmp_path_factory):
    folder = tmp_path_factory.mktemp("fuzz")
    return Bench(TARGETS[request.param], folder)


def test_the_seeds_are_valid(bench):
    for data in bench.target.seeds():
        bench.file.write_bytes(data)
        bench.target.read(bench.file)


@settings(
    max_examples=examples(40),
    deadline=None,
    suppress_health_check=[HealthCheck.function_scoped_fixture, HealthCheck.too_slow],
)
@given(rng=st.randoms(use_true_random=False))
def test_a_changed_file_is_read_or_refused_in_a_sentence(bench, rng):
    bench.run(changed(bench.target.seeds(), rng, bench.target.form))
    assert bench.defects == {}


def test_a_defect_is_seen_with_its_place(tmp_path):
    def broken(file):
        raise KeyError(file.read_bytes())

    target = TARGETS["constraint"]
    bench = Bench(type(target)("broken", ".txt", broken, target.seeds), tmp_path)
    bench.run(b"x")
    assert bench.outcomes == {"defect": 1}
    assert list(bench.defects) == ["KeyError at outside"]
    assert (tmp_path / f"{bench.defects['KeyError at outside']}.txt.defect").exists()


def test_an_input_that_takes_too_long_is_ended(tmp_path, monkeypatch):
    monkeypatch.setattr("tests.fuzz.once.SECONDS", 0.05)

    def endless(file):
        while True:
            file.exists()

    bench = Bench(type(TARGETS["constraint"])("endless", ".txt", endless, list), tmp_path)
    bench.run(b"x")
    assert bench.outcomes == {"hang": 1}


def test_changes_of_one_seed_are_the_same(tmp_path):
    seeds = TARGETS["document"].seeds()
    for form in ("text", "json"):
        first = [changed(seeds, random.Random(number), form) for number in range(20)]
        second = [changed(seeds, random.Random(number), form) for number in range(20)]
        assert first == second
        assert len(set(first)) > 15
    assert mutated(seeds[0], seeds, random.Random(1), "json") != seeds[0]


def test_changes_leave_what_they_are_made_of_as_it_is():
    before = repr(ODD_VALUES)
    for number in range(4000):
        changed([b'{"a": [1], "b": {}}'], random.Random(number), "json")
    assert repr(ODD_VALUES) == before
