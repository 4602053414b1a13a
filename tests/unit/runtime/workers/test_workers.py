"""The same answers in the same order for any number of workers."""

# mypy: disable-error-code="arg-type,list-item"
# Wrong arguments are what these tests are about.

from __future__ import annotations

import os
import tempfile
import time
from functools import partial

import joblib
import numpy as np
import pytest

from evenhand.runtime.errors import MissingExtra, SubjectCrashed, UsageError
from evenhand.runtime.workers import Streaming, Workers
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


class NotedModel:
    """A large part, which notes in which process it is unpacked."""

    sent_once = True

    def __init__(self, folder):
        self.folder = folder
        self.weights = np.arange(100_000.0)

    def __getstate__(self):
        (self.folder / f"pickled-{time.monotonic_ns()}").touch()
        return vars(self)

    def __setstate__(self, state):
        vars(self).update(state)
        (self.folder / f"unpacked-{os.getpid()}-{time.monotonic_ns()}").touch()


def weighed(model, by, task):
    model.weights[0] += 1  # some models write to their arrays
    return float(model.weights[task] * by), os.getpid()


def test_a_large_part_is_sent_once_for_all_functions_and_unpacked_once_in_a_process(
    tmp_path,
):
    model = NotedModel(tmp_path)
    questions = [partial(weighed, model, by) for by in (1, 2, 3)]
    processes = set()
    for run in range(2):
        with Workers(2) as workers:
            for by, question in enumerate(questions, start=1):
                answers = workers.map(question, [5, 6, 7])
                assert [answer for answer, _ in answers] == [5.0 * by, 6.0 * by, 7.0 * by]
                processes |= {process for _, process in answers}
        # A run packs it once, and the second finds it where it is.
        assert len(list(tmp_path.glob("pickled-*"))) == run + 1
    assert len(list(tmp_path.glob("unpacked-*"))) == len(processes)
    assert model.weights[0] == 0


def test_answers_are_handed_over_as_they_are_ready():
    with Streaming(2) as workers:
        found = list(workers.each(slowest_first, range(5)))
    assert sorted(task for task, _ in found) == list(range(5))
    assert os.getpid() not in {process for _, process in found}


def test_other_backends_get_the_function_itself():
    with joblib.parallel_config(backend="threading"), Workers(2) as workers:
        assert workers.map(lambda task: -task, [1, 2, 3]) == [-1, -2, -3]
        seen: list[int] = []
        workers.map(seen.append, [1, 2])
        assert sorted(seen) == [1, 2]
