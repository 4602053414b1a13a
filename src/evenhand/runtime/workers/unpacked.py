"""What a worker keeps unpacked, and how it carries out a task.

A worker process is asked one task at a time, whatever its threads: neither the software under test
nor the counts of what it was asked need to stand several at once.
"""

from __future__ import annotations

import pickle
import socket
import struct
import threading
import time
from collections import OrderedDict
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from evenhand.runtime.errors import EvenhandError, SubjectCrashed, UsageError, clip
from evenhand.runtime.interruption import exits_reported
from evenhand.runtime.workers import messages

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

MOST_PARTS = 2
"""How many large parts a worker keeps."""
MOST_FUNCTIONS = 8
"""How many functions are kept ready at once; several questions may take turns."""
ALIGNMENT = 64
"""Arrays begin at multiples of this, as libraries expect of them."""
NUMBER = struct.Struct("<q")

IMPORTING = (0.2, 0.5, 1.0)
"""Seconds that are waited for imports of another thread, one after the other."""

_PARTS: OrderedDict[str, Any] = OrderedDict()
_FUNCTIONS: OrderedDict[str, tuple[Order, Any]] = OrderedDict()
_ALONE = threading.RLock()


class Lacking(Exception):
    """What a task needs is not in this process: what has this place in its order, at least."""

    def __init__(self, place: int) -> None:
        super().__init__(place)
        self.place = place


@dataclass(frozen=True, slots=True)
class Order:
    """Which function a worker runs: its name, and the digests of its large parts."""

    function: str
    parts: tuple[str, ...]


def part(digest: str) -> Any:
    """Return a large part that was unpacked before the function that it belongs to."""
    return _PARTS[digest]


def function_of(order: Order, read: Callable[[int], Any]) -> Callable[[Any], Any]:
    """Return the function of an order, unpacked where this process does not have it.

    Parameters
    ----------
    read
        Returns the bytes of a part by its place in the order, and of the function as the last; they
        belong to what is unpacked from them, and can be written to.
    """
    known = _FUNCTIONS.get(order.function)
    if known is not None:
        _FUNCTIONS.move_to_end(order.function)
        function: Callable[[Any], Any] = known[1]
        return function
    for place, digest in enumerate(order.parts):
        if digest not in _PARTS:
            _PARTS[digest] = unpacked(read(place))
        _PARTS.move_to_end(digest)
    function = unpacked(read(len(order.parts)))
    _FUNCTIONS[order.function] = (order, function)
    _forget(order)
    return function


def _forget(latest: Order) -> None:
    """Let go of the oldest parts, with the functions that hold them, and of old functions."""
    while len(_PARTS) > max(MOST_PARTS, len(latest.parts)):
        digest, _ = _PARTS.popitem(last=False)
        for name, (order, _) in list(_FUNCTIONS.items()):
            if digest in order.parts:
                del _FUNCTIONS[name]
    while len(_FUNCTIONS) > MOST_FUNCTIONS:
        _FUNCTIONS.popitem(last=False)


def carried_out(order: Order, task: bytes, *sources: Any) -> bytes:
    """Return the reply to a task, given the bytes of the parts and, as the last, of the function.

    None stands for bytes that this process should have from an earlier task.
    """

    def read(place: int) -> bytearray:
        source = sources[place]
        if source is None:
            raise Lacking(place)
        # A copy, since a model may write to its arrays.
        return bytearray(source)

    return replied(order, task, read)


def replied(order: Order, task: bytes, read: Callable[[int], Any]) -> bytes:
    """Return what a function answers to a task, or the error that it raised, as bytes."""
    import cloudpickle

    answer: Any = None
    error: Exception | None = None
    try:
        with _ALONE, exits_reported("the software under test", " in a worker process"):
            answer = function_of(order, read)(pickle.loads(task))  # noqa: S301
    except Lacking:
        raise
    except Exception as raised:
        error = raised
    try:
        reply: bytes = cloudpickle.dumps((answer, error), protocol=pickle.HIGHEST_PROTOCOL)
        if error is not None:
            # Some errors can be pickled and not unpickled.
            pickle.loads(reply)  # noqa: S301
    except Exception as problem:
        name = type(error or problem).__name__
        crash = SubjectCrashed(f"{name}: {clip(str(error or problem))}")
        reply = pickle.dumps((None, crash))
    return reply


def unpacked(whole: Any) -> Any:
    """Return the object that bytes hold; its arrays lie in them.

    >>> from evenhand.runtime.workers.parcels import packed
    >>> unpacked(packed(["a", 1]))
    ['a', 1]
    """
    view = memoryview(whole)
    (count,) = NUMBER.unpack_from(view)
    lengths = [
        NUMBER.unpack_from(view, NUMBER.size * (1 + piece))[0] for piece in range(count)
    ]
    pieces = [view[start:stop] for start, stop in places_of(lengths)]
    try:
        return _loaded(pieces)
    except EvenhandError:
        raise
    except Exception as error:
        reason = f"{type(error).__name__}: {clip(str(error))}"
        raise UsageError(
            messages.CANNOT_UNPACK.format(host=socket.gethostname(), reason=reason)
        ) from error


def _loaded(pieces: Sequence[memoryview]) -> Any:
    """Return the object, once no other thread is in the middle of importing what it needs."""
    for pause in IMPORTING:
        try:
            return pickle.loads(pieces[0], buffers=pieces[1:])  # noqa: S301
        except (AttributeError, ImportError):
            # Ray imports pandas beside the first task of a worker. What is missing for good is
            # missing after this, too.
            time.sleep(pause)
    return pickle.loads(pieces[0], buffers=pieces[1:])  # noqa: S301


def places_of(lengths: Sequence[int]) -> list[tuple[int, int]]:
    """Return where pieces begin and end, after their number and their lengths.

    >>> places_of([10, 100])
    [(64, 74), (128, 228)]
    """
    places = []
    stop = NUMBER.size * (1 + len(lengths))
    for length in lengths:
        start = -(-stop // ALIGNMENT) * ALIGNMENT
        stop = start + length
        places.append((start, stop))
    return places
