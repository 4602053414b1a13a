"""The same answers in the same order for any number of workers."""

# mypy: disable-error-code="arg-type,list-item"
# Wrong arguments are what these tests are about.

from __future__ import annotations

import os
import tempfile
import time

import joblib
import pytest

from evenhand.runtime.errors import MissingExtra, SubjectCrashed, UsageError
from evenhand.runtime.workers import Workers, _Parcel
from tests.support.helpers import refused


def slowest_first(task: int) -> tuple[int, int]:
    time.sleep(0.02 * (5 - task))
    return task, os.getpid()


def failing(task: int) -> int:
    if task == 2:
        raise SubjectCrashed("task 2 fell over")
    if task == 3:
        raise MissingExtra("onnx", "onnx")
    return task


def test_answers_come_in_the_order_of_the_tasks_from_several_processes():
    with Workers(2) as workers:
        first = workers.map(slowest_first, range(5))
        second = workers.map(slowest_first, range(5))
    first_tasks, first_processes = zip(*first, strict=True)
    second_tasks, second_processes = zip(*second, strict=True)
    assert first_tasks == second_tasks == tuple(range(5))
    assert set(first_processes) == set(second_processes)
    assert os.getpid() not in first_processes


@pytest.mark.parametrize("n_jobs", [1, 2])
def test_an_error_of_a_task_arrives_as_it_is(n_jobs):
    with Workers(n_jobs) as workers:
        with pytest.raises(SubjectCrashed, match="task 2 fell over"):
            workers.map(failing, [1, 2])
        with pytest.raises(MissingExtra, match="evenhand\\[onnx\\]"):
            workers.map(failing, [3, 3])
        assert workers.map(failing, [4, 5]) == [4, 5]


def test_one_worker_stays_in_this_process():
    with Workers() as workers:
        assert workers.map(lambda task: (task, os.getpid()), [1]) == [(1, os.getpid())]
        assert workers.width == 1
        assert workers.map(abs, []) == []


@pytest.mark.parametrize("n_jobs", [0, 1.5, "2", True, None])
def test_a_wrong_number_of_workers_is_named(n_jobs):
    refused(UsageError, lambda: Workers(n_jobs), f"n_jobs = {n_jobs!r}", "other than 0")


def test_minus_one_takes_every_core():
    assert Workers(-1).width >= 1
    assert Workers(2).width == 2


def test_a_function_is_shipped_once_and_nothing_is_left_behind(tmp_path, monkeypatch):
    monkeypatch.setattr(tempfile, "tempdir", str(tmp_path))

    class Heavy:
        def __getstate__(self):
            (tmp_path / f"pickled-{time.monotonic_ns()}").touch()
            return {}

        def __call__(self, task):
            return task * 2

    heavy = Heavy()
    with Workers(2) as workers:
        for wave in range(3):
            doubled = [2 * wave, 2 * wave + 2]
            assert workers.map(heavy, [wave, wave + 1]) == doubled
        pickles = list(tmp_path.glob("pickled-*"))
        assert len(pickles) == 1
        assert workers.map(lambda task: -task, [1, 2]) == [-1, -2]
    assert not list(tmp_path.glob("evenhand-*"))


def test_other_backends_get_the_function_itself():
    with joblib.parallel_config(backend="threading"), Workers(2) as workers:
        assert workers.map(lambda task: -task, [1, 2, 3]) == [-1, -2, -3]
        assert not isinstance(workers._ship(abs), _Parcel)
