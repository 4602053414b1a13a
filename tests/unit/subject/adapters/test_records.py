"""Records, checked options, and jobs that are done in a bounded number of threads."""

from __future__ import annotations

import math
import queue
import threading
import time
from typing import Any

import numpy as np
import pytest

from evenhand.runtime.errors import SubjectCrashed, UsageError
from evenhand.space.feature import Feature, category, integer
from evenhand.space.space import Space
from evenhand.subject.adapters import records
from evenhand.subject.adapters.records import (
    check_json,
    chunks,
    fan_out,
    seconds,
    shown,
    whole,
    words,
)
from tests.support.helpers import SPACE, people, refused


def test_chunks_begin_where_the_last_one_ended():
    found = list(chunks(people(1, 2, 3, 4, 5), SPACE, 2))
    assert [start for start, _ in found] == [0, 2, 4]
    assert [len(part) for _, part in found] == [2, 2, 1]
    assert found[1] == (2, [{"sex": "M", "age": 3}, {"sex": "F", "age": 4}])
    assert list(chunks(people(), SPACE, 2)) == []


def test_a_record_has_what_is_passed():
    hidden = Feature("race", "category", ("a", "b"), passed=False)
    space = Space([hidden, integer("age", 0, 99)])
    points = np.array([[1, 7], [0, 8]], dtype=np.float64)
    assert list(chunks(points, space, 5)) == [(0, [{"age": 7}, {"age": 8}])]


def test_what_json_cannot_hold_is_refused():
    endless = category("x", [1.5, math.inf])
    refused(
        UsageError,
        lambda: check_json(Space([endless])),
        "feature 'x': level inf has no form in JSON",
    )
    hidden = Feature("x", "category", (1.5, math.inf), passed=False)
    check_json(Space([hidden, integer("age", 0, 9)]))
    refused(
        UsageError, lambda: check_json(Space([hidden])), "no feature of the space is passed"
    )
    check_json(Space([category("x", [1.5, 2.5, "inf"]), integer("age", 0, 9)]))


def test_an_input_is_named_in_its_own_letters():
    assert words({"näme": "é", "age": 30}) == '{"näme": "é", "age": 30}'


def test_a_text_is_shown_up_to_a_width():
    assert shown("x" * 240) == "x" * 240
    assert shown("x" * 241) == "x" * 239 + "…"
    assert shown("abcdef", 4) == "abc…"
    assert shown("a\ud800") == "a\\ud800"


@pytest.mark.parametrize("value", [True, False, 0, -1, 1.0, "1", None])
def test_what_is_no_whole_number_of_at_least_one(value: Any):
    refused(
        UsageError,
        lambda: whole("batch", value, 1),
        f"batch={value!r} must be a whole number of at least 1",
    )


def test_whole_numbers_are_returned():
    assert whole("retries", 0, 0) == 0
    assert whole("batch", 1, 1) == 1
    assert whole("batch", 10**12, 1) == 10**12


@pytest.mark.parametrize(
    "value", [True, 0, 0.0, -1, math.nan, math.inf, 1_000_000_001, "1", None]
)
def test_what_is_no_number_of_seconds(value: Any):
    refused(
        UsageError,
        lambda: seconds("timeout", value),
        "timeout=",
        "must be a positive number of seconds, at most 1,000,000,000",
    )


@pytest.mark.parametrize("value", [1, 0.001, 1_000_000_000])
def test_seconds_are_a_float(value: float):
    found = seconds("timeout", value)
    assert found == value
    assert type(found) is float


# Jobs in threads


def no_abort() -> None:
    raise AssertionError("nothing was to be aborted")


def test_every_job_is_done_once_and_comes_with_its_result():
    found: dict[int, int] = {}
    sizes = []
    for group in fan_out(iter(range(1, 101)), lambda job: job * 2, width=3, abort=no_abort):
        sizes.append(len(group))
        for job, result in group:
            assert job not in found
            found[job] = result
    assert found == {job: job * 2 for job in range(1, 101)}
    # Half of the window of eight jobs to a thread, at most.
    assert max(sizes) <= 12


def test_no_jobs_give_nothing():
    assert list(fan_out(iter(()), no_abort, width=2, abort=no_abort)) == []  # type: ignore[arg-type]


def test_no_more_threads_work_than_may():
    lock = threading.Lock()
    threads: set[int] = set()
    meeting = threading.Barrier(2, timeout=10)

    def work(_job: int) -> None:
        with lock:
            threads.add(threading.get_ident())
        meeting.wait()

    groups = list(fan_out(iter(range(20)), work, width=2, abort=no_abort))
    assert sum(map(len, groups)) == 20
    assert len(threads) == 2


def test_few_jobs_are_taken_before_results_are_gathered():
    taken: list[int] = []

    def jobs():
        for job in range(1000):
            taken.append(job)
            yield job

    results: Any = fan_out(jobs(), lambda job: job, width=1, abort=lambda: None)
    first = next(results)
    assert len(first) <= 4
    assert len(taken) == 8
    results.close()
    assert len(taken) == 8


def test_the_error_of_the_earliest_job_is_raised_after_what_is_done():
    second_failed = threading.Event()
    found: list[int] = []
    begun: list[int] = []

    def work(job: int) -> int:
        begun.append(job)
        if job == 0:
            assert second_failed.wait(10)
            raise SubjectCrashed("first")
        if job == 1:
            second_failed.set()
            raise SubjectCrashed("second")
        return job

    with pytest.raises(SubjectCrashed, match="first"):
        for group in fan_out(iter(range(1000)), work, width=2, abort=no_abort):
            found.extend(job for job, _ in group)
    assert sorted(found) == sorted(set(begun) - {0, 1})
    assert len(begun) < 100


def test_after_an_error_of_ours_the_jobs_under_way_are_not_waited_for():
    hangs = threading.Event()
    aborted: list[bool] = []

    def abort() -> None:
        aborted.append(True)
        hangs.set()

    def work(job: int) -> int:
        if job == 1:
            raise KeyError("a bug")
        assert hangs.wait(10)
        return job

    with pytest.raises(KeyError, match="a bug"):
        list(fan_out(iter((0, 1)), work, width=2, abort=abort))
    assert aborted == [True]


def test_a_caller_that_stops_early_aborts_what_is_under_way():
    hangs = threading.Event()
    aborted: list[bool] = []

    def abort() -> None:
        aborted.append(True)
        hangs.set()

    def work(job: int) -> int:
        if job:
            hangs.wait(10)
        return job

    results: Any = fan_out(iter(range(10)), work, width=2, abort=abort)
    assert next(results) == [(0, 0)]
    results.close()
    assert aborted == [True]


def test_jobs_that_are_aborted_are_waited_for_a_while():
    hangs = threading.Event()
    finished: list[int] = []

    def work(job: int) -> int:
        if job:
            hangs.wait(10)
            time.sleep(0.05)
            finished.append(job)
        return job

    results: Any = fan_out(iter((0, 1)), work, width=2, abort=hangs.set)
    next(results)
    results.close()
    assert finished == [1]


def test_a_queue_is_emptied_and_counted():
    inbox: queue.SimpleQueue[int] = queue.SimpleQueue()
    assert records._empty(inbox) == 0
    for number in range(3):
        inbox.put(number)
    assert records._empty(inbox) == 3
    assert inbox.empty()


def test_results_are_gathered_up_to_a_number():
    outbox: queue.SimpleQueue[int] = queue.SimpleQueue()
    for number in range(5):
        outbox.put(number)
    assert records._gather(outbox, 3) == [0, 1, 2]
    assert records._gather(outbox, 3) == [3, 4]


def test_a_value_that_is_missing_is_none():
    age = Feature("age", "integer", low=0, high=9, missing=True)
    space = Space([category("sex", ["F", "M"]), age])
    points = np.array([[1, 3], [0, age.missing_code]], dtype=np.float64)
    ((_, found),) = chunks(points, space, 2)
    assert found == [{"sex": "M", "age": 3}, {"sex": "F", "age": None}]
    assert words(found[1]) == '{"sex": "F", "age": null}'
