"""Questions that workers share: what is shared, and that nothing is lost or changed."""

from __future__ import annotations

import pickle
import threading
from typing import TYPE_CHECKING, Any, cast

import numpy as np
import pytest

import evenhand as eh
from evenhand.runtime.errors import EvenhandWarning, SubjectCrashed
from evenhand.runtime.workers import Workers
from evenhand.subject.adapters.function import FunctionAdapter
from evenhand.subject.effort import STARTING, Effort
from evenhand.subject.shared_asking import (
    ROWS_AT_ONCE,
    SharedAsking,
    Wanted,
    is_shared,
    is_shared_whole,
    sharing,
)
from tests.support.helpers import refused
from tests.support.sharing import share_everything

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

SPACE = eh.Space([eh.integer("age", 0, 99)])


class InThisProcess:
    """Workers that run what they are given in this process, as copies of it."""

    def __init__(self, width: int = 2, *, ready: bool = True) -> None:
        self.width = width
        self.ready = ready
        self.started = 0
        self.parts: list[int] = []

    def start(self, function: Any) -> None:
        self.started += 1

    def map(self, function: Callable[[Any], Any], tasks: Sequence[Any]) -> list[Any]:
        self.parts = [len(points) for _, points in tasks]
        return [function(task) for task in tasks]


def half(people: Any) -> Any:
    return people["age"] >= 50


def points(count: int) -> Any:
    return (np.arange(count) % 100).astype(np.float64).reshape(-1, 1)


def asked_of(subject: eh.Subject, workers: Any, inputs: Any) -> list[Any]:
    with subject.asking.among(workers):
        return list(subject.decide(inputs).tolist())


def test_answers_of_workers_are_put_together_and_counted(monkeypatch):
    share_everything(monkeypatch)
    workers = InThisProcess(3)
    subject = eh.Subject(half, SPACE)
    assert asked_of(subject, workers, points(100)) == [age >= 50 for age in range(100)]
    assert workers.parts == [33, 33, 34]
    assert (subject.asked, subject.executed) == (100, 100)
    subject.decide(points(10))
    assert workers.parts == [33, 33, 34]


def test_only_what_nobody_has_answered_is_shared(monkeypatch, tmp_path):
    share_everything(monkeypatch)
    ledger = tmp_path / "answers.ledger"
    for options in ({"memo": True}, {"ledger": ledger}):
        workers = InThisProcess()
        with eh.Subject(half, SPACE, **options) as subject:
            subject.decide(points(40))
            assert asked_of(subject, workers, points(300))[:100] == [
                *[False] * 50,
                *[True] * 50,
            ]
            assert workers.parts == [30, 30]
            assert subject.executed == 100
    with eh.Subject(half, SPACE, ledger=ledger) as warm:
        assert len(asked_of(warm, InThisProcess(), points(300))) == 300
        assert warm.executed == 0


def test_what_was_answered_before_an_error_is_written_down(monkeypatch, tmp_path):
    def fails_at_99(people: Any) -> Any:
        if (people["age"] == 99).any():
            raise ValueError("99")
        return people["age"] >= 50

    share_everything(monkeypatch)
    with eh.Subject(fails_at_99, SPACE, ledger=tmp_path / "a") as subject:
        words = "raised ValueError"
        refused(
            SubjectCrashed, lambda: asked_of(subject, InThisProcess(), points(100)), words
        )
        # How many inputs of a ledger are asked at once is no matter here.
        executed = subject.executed
        assert 50 <= executed < 100
        subject.decide(points(50))
        assert subject.executed == executed


def test_outcomes_are_of_the_same_type_as_from_one_process(monkeypatch):
    share_everything(monkeypatch)
    functions: list[Callable[[Any], Any]] = [
        lambda people: people["age"].to_numpy().astype(np.float32) / 3,
        lambda people: np.where(people["age"] < 50, "no", "perhaps"),
        lambda people: [None if age < 0 else int(age) for age in people["age"]],
    ]
    for function in functions:
        alone = eh.Subject(function, SPACE).decide(points(100))
        subject = eh.Subject(function, SPACE)
        with subject.asking.among(cast("Any", InThisProcess())):
            shared = subject.decide(points(100))
        assert shared.dtype == alone.dtype
        assert shared.tobytes() == alone.tobytes()


def test_several_outputs_are_shared(monkeypatch):
    def both(people: Any) -> Any:
        return {"grant": people["age"] >= 50, "rate": people["age"]}

    share_everything(monkeypatch)
    subject = eh.Subject(both, SPACE, outputs=["grant", "rate"])
    alone = eh.Subject(both, SPACE, outputs=["grant", "rate"]).decide(points(10))
    assert asked_of(subject, InThisProcess(), points(10)) == alone.tolist()


def test_software_with_chance_is_asked_in_one_process(monkeypatch):
    from evenhand.subject.memo import Occasions

    share_everything(monkeypatch)
    workers = InThisProcess()
    subject = eh.Subject(half, SPACE, memo=True)
    subject.occasions = Occasions()
    asked_of(subject, workers, points(10))
    assert workers.parts == []


def test_what_runs_side_by_side_already_is_not_shared():
    from sklearn.ensemble import HistGradientBoostingClassifier, RandomForestClassifier

    ages = points(100)
    truth = ages[:, 0] > 40
    alone, threads, boosted = (
        eh.Subject(model.fit(ages, truth), SPACE)
        for model in (
            RandomForestClassifier(2),
            RandomForestClassifier(2, n_jobs=2),
            HistGradientBoostingClassifier(max_iter=2),
        )
    )
    assert is_shared(alone.adapter, ROWS_AT_ONCE)
    assert not is_shared(threads.adapter, 1)
    # With few inputs it uses one thread only.
    assert is_shared(boosted.adapter, 99_999)
    assert not is_shared(boosted.adapter, 100_000)
    assert is_shared_whole(alone)
    assert not is_shared_whole(eh.Subject(half, SPACE, memo=True))
    function = FunctionAdapter(half)
    function.expensive = True
    assert not is_shared(function, 100)


def test_workers_answer_and_are_sent_no_workers_of_their_own(monkeypatch):
    share_everything(monkeypatch)
    subject = eh.Subject(half, SPACE, memo=True)
    with sharing(subject, 2) as workers:
        assert isinstance(workers, Workers)
        found = subject.decide(points(200))
        copy = pickle.loads(pickle.dumps(subject.asking))
    assert found.tolist() == eh.Subject(half, SPACE).decide(points(200)).tolist()
    assert isinstance(copy, SharedAsking)
    assert copy._workers is None


def test_software_that_cannot_be_sent_is_asked_here():
    lock = threading.Lock()

    def locked(people: Any) -> Any:
        with lock:
            return people["age"] >= 50

    subject = eh.Subject(locked, SPACE)
    subject.asking._effort = taught(10.0, inputs=100)
    words = "cannot be sent to workers .TypeError: cannot pickle '_thread.lock' object"
    with sharing(subject, 2), pytest.warns(EvenhandWarning, match=words):
        found = subject.decide(points(100))
    assert found.tolist() == [age >= 50 for age in range(100)]
    assert subject.executed == 100


def test_margins_come_in_the_order_of_the_inputs(monkeypatch):
    from sklearn.linear_model import LogisticRegression

    share_everything(monkeypatch)
    ages = points(100)
    subject = eh.Subject(LogisticRegression().fit(ages, ages[:, 0] > 40), SPACE)
    question = Wanted("margins", ("decision_function",))
    alone = subject.asking.columns(ages, question)
    workers: Any = InThisProcess()
    with subject.asking.among(workers):
        shared = subject.asking.columns(ages, question)
    assert workers.parts == [50, 50]
    for one, two in zip(alone, shared, strict=True):
        assert one.tobytes() == two.tobytes()


def taught(seconds: float, inputs: int = 10_000) -> Effort:
    """Return what was told twice how long so many inputs take."""
    effort = Effort()
    effort.learn(inputs, seconds)
    effort.learn(inputs, seconds)
    return effort


def test_cheap_and_small_questions_are_answered_here():
    workers: Any = InThisProcess()
    assert taught(1e-3).here(1_000_000, workers) == 1_000_000
    assert taught(10.0).here(3, workers) == 3
    assert taught(10.0).here(30, workers) == 30
    assert taught(10.0).here(60, workers) == 0
    one: Any = InThisProcess(1)
    assert taught(10.0).here(10_000, one) == 10_000


def test_nothing_is_handed_over_before_it_is_known_what_an_input_takes():
    workers: Any = InThisProcess()
    effort = Effort()
    assert effort.here(10_000, workers) == 256
    effort.learn(256, 1.0)  # most of which are imports
    assert effort.here(10_000, workers) == 256
    effort.learn(256, 0.256)
    assert effort.here(10_000, workers) == 0


def test_workers_are_started_beside_work_that_takes_long():
    workers: Any = InThisProcess(ready=False)
    effort = taught(STARTING / 8, inputs=100)
    assert effort.here(100, workers) == 100
    assert workers.started == 0
    assert effort.here(10_000, workers) == 400  # about a quarter of a second
    assert workers.started == 1
    workers.ready = True
    assert effort.here(10_000, workers) == 0


def test_long_work_is_cut_finer():
    effort = taught(10.0)
    assert effort.pieces(100, 2) == 2
    assert effort.pieces(10_000, 2) == 8
    assert effort.pieces(1, 2) == 1


def test_a_result_says_why_one_process_did_all():
    from sklearn.ensemble import RandomForestClassifier

    ages = points(100)
    model = RandomForestClassifier(2, n_jobs=2, random_state=0).fit(ages, ages[:, 0] > 40)
    space = eh.Space([eh.integer("age", 0, 99)], protected=["age"])
    budget = eh.Budget(queries=200)
    for verb in (eh.measure, eh.search, eh.subsets):
        alone, asked = (verb(model, space, budget=budget, n_jobs=n) for n in (1, 2))
        assert asked.spent.one_process == "the model has threads of its own"
        assert asked.to_dict()["spent"]["one_process"] == asked.spent.one_process
        assert "one process did all, since the model has threads" in asked.to_text()
        assert "one_process" not in alone.to_dict()["spent"]
        assert alone.digest == asked.digest


@pytest.mark.parametrize("count", [20_000, 20_001, 20_113])
@pytest.mark.parametrize("width", [2, 3])
def test_linear_algebra_rounds_alike_however_many_share(monkeypatch, count, width):
    share_everything(monkeypatch)
    rng = np.random.default_rng(0)
    features = [eh.real(f"x{number}", 0, 1) for number in range(9)]
    space = eh.Space(features)
    weights = rng.normal(size=9)

    def score(people: Any) -> Any:
        return 1 / (1 + np.exp(-(people.to_numpy() @ weights + 0.3)))

    inputs = np.asfortranarray(rng.random((count, 9)))
    subject = eh.Subject(score, space, memo=False)
    alone = subject.decide(inputs)
    assert np.array_equal(asked_of(subject, InThisProcess(width), inputs), alone)
