"""A view that is shared among workers: when that is worth it, and that nothing else changes."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np
import pytest
from evenhand.subject.parallel_view import LEAST, LONG, SharedView

import evenhand as eh
from evenhand.runtime.workers import Workers
from evenhand.subject.view import View, views_of

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

SPACE = eh.Space([eh.integer("age", 0, 99)])


class Here:
    """Workers that run what they are given in this process."""

    def __init__(self, width: int) -> None:
        self.width = width
        self.parts: list[int] = []

    def map(self, function: Callable[[Any], Any], parts: Sequence[Any]) -> list[Any]:
        self.parts = [len(part) for part in parts]
        return [function(part) for part in parts]


def half(people: Any) -> Any:
    return people["age"] >= 50


def shared_view(width: int = 2, **options: Any) -> tuple[SharedView, Here]:
    workers: Any = Here(width)
    view = SharedView.of(View(eh.Subject(half, SPACE, **options)), workers)
    assert isinstance(view, SharedView)
    return view, workers


def points(count: int) -> Any:
    return (np.arange(count) % 100).astype(np.float64).reshape(-1, 1)


def test_a_view_is_shared_where_there_are_several_workers_and_software_runs_here():
    view = View(eh.Subject(half, SPACE), target=True)
    one: Any = Here(1)
    two: Any = Here(2)
    assert SharedView.of(view, one) is view
    shared = SharedView.of(view, two)
    assert isinstance(shared, SharedView)
    assert (shared.subject, shared.name, shared.target) == (view.subject, "", True)
    view.subject.adapter.expensive = True
    assert SharedView.of(view, two) is view
    real = Workers(1)
    assert SharedView.of(View(eh.Subject(half, SPACE)), real).__class__ is View


def test_many_inputs_for_each_worker_are_worth_sharing():
    assert LEAST == 8192
    view, _ = shared_view(width=3)
    assert view.worth(points(3 * 8192))
    assert not view.worth(points(3 * 8192 - 1))
    remembering, _ = shared_view(width=3, memo=True)
    assert not remembering.worth(points(3 * 8192))


def test_few_inputs_that_take_long_are_worth_sharing():
    assert LONG == 0.2
    view, _ = shared_view(width=3)
    assert not view.worth(points(100))
    view.pace["input"] = 0.125
    assert view.worth(points(6))  # 0.75 s, and two for each worker
    assert not view.worth(points(5))
    view.pace["input"] = 0.02
    assert view.worth(points(10))
    assert not view.worth(points(9))


def test_answers_of_workers_are_put_together_and_counted():
    view, workers = shared_view(width=3)
    view.pace["input"] = 1.0
    asked = points(100)
    found = view.decide(asked)
    assert found.tolist() == [age >= 50 for age in range(100)]
    assert workers.parts == [34, 33, 33]
    # The workers of this test run on the same subject, which counts what it is asked itself.
    assert view.subject.asked == 200
    assert view.subject.executed == 200
    assert view.answers == (False, True)


def test_what_workers_ran_is_counted():
    view, _ = shared_view(width=2)

    def ask(part: Any) -> tuple[Any, int]:
        return part[:, 0], 7

    parts = view.shared(ask, points(5))
    assert [part.tolist() for part in parts] == [[0.0, 1.0, 2.0], [3.0, 4.0]]
    assert (view.subject.asked, view.subject.executed) == (5, 14)
    outcomes, executed = view.ask(points(4))
    assert outcomes.tolist() == [False] * 4
    assert executed == 4


def test_a_question_that_is_not_shared_is_timed(monkeypatch):
    view, workers = shared_view(width=2)
    ticks = iter([10.0, 14.0, 20.0, 21.0])
    monkeypatch.setattr(
        "evenhand.subject.parallel_view.time.perf_counter", lambda: next(ticks)
    )
    answers = view.timed(lambda part: len(part), points(8))
    assert answers == 8
    assert view.pace == {"input": 0.5}
    assert view.timed(lambda part: len(part), points(0)) == 0
    assert view.pace == {"input": 1.0}
    assert workers.parts == []


def test_a_small_question_and_records_are_answered_here():
    view, workers = shared_view(width=2)
    assert view.decide(points(3)).tolist() == [False] * 3
    assert set(view.pace) == {"input"}
    view.pace.clear()
    assert view.decide([{"age": 70}]).tolist() == [True]
    assert view.pace == {}
    assert workers.parts == []


def test_one_output_of_several_is_shared():
    def both(people: Any) -> Any:
        return {"grant": people["age"] >= 50, "rate": people["age"]}

    subject = eh.Subject(both, SPACE, outputs=["grant", "rate"])
    workers: Any = Here(2)
    rate = SharedView.of(views_of(subject)[1], workers)
    assert isinstance(rate, SharedView)
    rate.pace["input"] = 1.0
    assert rate.decide(points(10)).tolist() == list(range(10))
    assert rate.answers == tuple(range(10))


@pytest.mark.parametrize("width", [2, 4])
def test_the_number_of_workers_does_not_change_answers(width):
    view, _ = shared_view(width=width)
    view.pace["input"] = 1.0
    alone = View(eh.Subject(half, SPACE)).decide(points(50))
    assert view.decide(points(50)).tolist() == alone.tolist()
