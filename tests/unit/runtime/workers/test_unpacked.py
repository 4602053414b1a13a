"""What is sent: packed with its arrays beside it, unpacked once, and kept while there is room."""

from __future__ import annotations

import pickle
import threading
from itertools import count
from typing import TYPE_CHECKING, Any

import numpy as np
import pytest

from evenhand.runtime.errors import SubjectCrashed, UsageError
from evenhand.runtime.workers import unpacked
from evenhand.runtime.workers.parcels import Parcels, packed
from evenhand.runtime.workers.unpacked import (
    ALIGNMENT,
    MOST_FUNCTIONS,
    MOST_PARTS,
    Lacking,
    carried_out,
    function_of,
)

if TYPE_CHECKING:
    from collections.abc import Callable

    from evenhand.runtime.workers.parcels import Sent


class PackedModel:
    sent_once = True
    unpackings = 0

    def __init__(self, weight: float) -> None:
        self.weights = np.full(10_000, weight)

    def __setstate__(self, state: dict[str, Any]) -> None:
        PackedModel.unpackings += 1
        vars(self).update(state)


class TimesWeight:
    def __init__(self, *models: PackedModel) -> None:
        self.models = models

    def __call__(self, task: int) -> float:
        return float(sum(model.weights[task] for model in self.models) * task)


@pytest.fixture(autouse=True)
def worker(monkeypatch):
    """Begin with a worker that has nothing."""
    monkeypatch.setattr(unpacked, "_PARTS", type(unpacked._PARTS)())
    monkeypatch.setattr(unpacked, "_FUNCTIONS", type(unpacked._FUNCTIONS)())
    monkeypatch.setattr(PackedModel, "unpackings", 0)


class PackedStore:
    """What was sent, by the place where it lies."""

    def __init__(self) -> None:
        self.numbers = count()
        self.lies: dict[int, bytearray] = {}
        self.parcels = Parcels(self.send, self.drop)

    def send(self, content: bytearray, digest: str) -> int:
        place = next(self.numbers)
        self.lies[place] = content
        return place

    def drop(self, place: int) -> None:
        del self.lies[place]

    def received(self, sent: Sent[int]) -> Callable[[Any], Any]:
        """Return the function as a worker has it."""
        return function_of(sent.order, lambda place: self.lies[sent.handles[place]])


@pytest.mark.parametrize(
    "content",
    [
        None,
        {"a": [1, "x"]},
        np.arange(5),
        np.asfortranarray(np.arange(20_000.0).reshape(100, 200)),
        np.arange(20_000)[::2],
        [np.arange(3_000), np.array(["a", None], dtype=object)],
    ],
)
def test_what_is_packed_is_unpacked_the_same(content):
    found = unpacked.unpacked(packed(content))
    assert repr(found) == repr(content)
    assert pickle.dumps(found) == pickle.dumps(content)


def test_large_arrays_lie_beside_the_pickle_in_order_and_can_be_written_to():
    content = packed([np.arange(1_001.0), np.arange(2_000)])
    first, second = unpacked.unpacked(content)
    for array in (first, second):
        assert array.flags.writeable
        assert not array.flags.owndata
    start = np.frombuffer(content, dtype=np.uint8).ctypes.data
    assert (first.ctypes.data - start) % ALIGNMENT == 0
    assert (second.ctypes.data - start) % ALIGNMENT == 0


def test_a_part_is_sent_and_unpacked_once_for_all_functions_and_runs():
    model = PackedModel(2.0)
    for _ in range(2):
        store = PackedStore()
        for question in (TimesWeight(model), TimesWeight(model, model)):
            sent = store.parcels.sent(question)
            assert store.parcels.sent(question) is sent
            assert store.received(sent)(3) == question(3)
        sizes = sorted(map(len, store.lies.values()))
        assert len(sizes) == 3
        assert sizes[1] < 1_000 < model.weights.nbytes < sizes[2]
        store.parcels.close()
        assert not store.lies
    assert PackedModel.unpackings == 1


def test_a_worker_keeps_the_latest_parts_and_functions():
    store = PackedStore()
    orders = []
    for weight in range(MOST_PARTS + 2):
        sent = store.parcels.sent(TimesWeight(PackedModel(weight)))
        store.received(sent)
        orders.append(sent.order)
    assert list(unpacked._PARTS) == [order.parts[0] for order in orders[-MOST_PARTS:]]
    assert list(unpacked._FUNCTIONS) == [order.function for order in orders[-MOST_PARTS:]]
    model = PackedModel(9.0)
    for _ in range(MOST_FUNCTIONS + 3):
        sent = store.parcels.sent(TimesWeight(model))
        store.received(sent)
    assert len(unpacked._FUNCTIONS) == MOST_FUNCTIONS
    # What was sent long ago is taken back, and large parts stay.
    assert len(store.lies) == MOST_FUNCTIONS + MOST_PARTS + 3


def test_a_function_with_more_parts_than_a_worker_keeps_has_them_all():
    store = PackedStore()
    question = TimesWeight(*(PackedModel(weight) for weight in range(MOST_PARTS + 2)))
    sent = store.parcels.sent(question)
    found = store.received(sent)
    assert found(3) == question(3)


def test_a_worker_says_what_it_lacks():
    store = PackedStore()
    sent = store.parcels.sent(TimesWeight(PackedModel(2.0)))
    task = pickle.dumps(3)
    part, function = (bytes(store.lies[handle]) for handle in sent.handles)
    with pytest.raises(Lacking) as lack:
        carried_out(sent.order, task, None, None)
    assert lack.value.place == 0
    with pytest.raises(Lacking) as lack:
        carried_out(sent.order, task, part, None)
    assert lack.value.place == 1
    assert pickle.loads(carried_out(sent.order, task, None, function)) == (6.0, None)
    assert pickle.loads(carried_out(sent.order, task, None, None)) == (6.0, None)


def replied(function: Any) -> tuple[Any, Exception | None]:
    store = PackedStore()
    sent = store.parcels.sent(function)
    reply = carried_out(
        sent.order, pickle.dumps(1), *(store.lies[at] for at in sent.handles)
    )
    found: tuple[Any, Exception | None] = pickle.loads(reply)
    return found


class SecretError(Exception):
    def __init__(self, one: int, two: int) -> None:
        super().__init__("cannot be unpickled")


def test_errors_are_replies():
    def exits(task: int) -> None:
        raise SystemExit(3)

    def locked(task: int) -> Any:
        return threading.Lock()

    def fails(task: int) -> None:
        raise SubjectCrashed("fell over")

    _, error = replied(exits)
    assert isinstance(error, SubjectCrashed)
    assert str(error) == "the software under test called sys.exit(3) in a worker process"
    _, error = replied(fails)
    assert str(error) == "fell over"

    def secret(task: int) -> None:
        raise SecretError(1, 2)

    _, error = replied(secret)
    # tblib, which comes with Dask, unpickles any exception.
    if isinstance(error, SecretError):
        assert str(error) == "cannot be unpickled"
    else:
        assert isinstance(error, SubjectCrashed)
        assert str(error) == "SecretError: cannot be unpickled"
    _, error = replied(locked)
    assert isinstance(error, SubjectCrashed)
    assert "lock" in str(error)


class OnlyElsewhere:
    def __reduce__(self) -> Any:
        return __import__, ("a_module_that_is_only_there",)


def test_software_that_a_worker_cannot_import_is_named():
    _, error = replied([OnlyElsewhere()])
    assert isinstance(error, UsageError)
    assert "cannot unpack the software under test" in str(error)
    assert "No module named 'a_module_that_is_only_there'" in str(error)


class _HalfImported:
    """What cannot be unpacked while another thread imports a module."""

    loads = 0

    def __reduce__(self) -> Any:
        return _half_imported, ()


def _half_imported() -> str:
    _HalfImported.loads += 1
    if _HalfImported.loads < 3:
        raise AttributeError("partially initialized module 'pandas' has no attribute 'x'")
    return "whole"


def test_an_import_of_another_thread_is_waited_for(monkeypatch):
    monkeypatch.setattr(unpacked, "IMPORTING", (0, 0, 0))
    monkeypatch.setattr(_HalfImported, "loads", 0)
    assert unpacked.unpacked(packed(_HalfImported())) == "whole"
    assert _HalfImported.loads == 3
