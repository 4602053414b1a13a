"""What workers are sent: each function once, and each large part of it once.

A class says with `sent_once = True` that its objects are large parts, as adapters are, which hold
models. A part is known by its content, so that a worker that has it from an earlier call needs no
other copy. A function is unpacked afresh for each run, since it may remember what it was asked.
"""

from __future__ import annotations

import hashlib
import io
from collections import OrderedDict
from dataclasses import dataclass
from functools import cache
from typing import TYPE_CHECKING, Any, Generic, TypeVar
from uuid import uuid4

from evenhand.runtime.workers.unpacked import MOST_FUNCTIONS, NUMBER, Order, part, places_of

if TYPE_CHECKING:
    import pickle
    from collections.abc import Callable

Handle = TypeVar("Handle")

PROTOCOL = 5
LEAST_ARRAY = 4096
"""Bytes from which on an array stands beside the pickle, and is not copied to unpack it."""


@dataclass(frozen=True, slots=True)
class Sent(Generic[Handle]):
    """A function that was sent: its order, and where its parts and, last, it itself lie."""

    order: Order
    handles: tuple[Handle, ...]


class Parcels(Generic[Handle]):
    """What was sent during one run, so that nothing is sent again.

    Parameters
    ----------
    send
        Sends bytes, given with their digest where they are a large part, and returns where they
        lie.
    drop
        Takes back what was sent.
    """

    def __init__(
        self,
        send: Callable[[bytearray, str], Handle],
        drop: Callable[[Handle], None] = lambda handle: None,
    ) -> None:
        self._send = send
        self._drop = drop
        # Objects are held, so that no other takes the identity of one that is gone.
        self._functions: OrderedDict[int, tuple[Any, Sent[Handle]]] = OrderedDict()
        self._parts: dict[int, tuple[Any, str]] = {}
        self._handles: dict[str, Handle] = {}

    def sent(self, function: Any) -> Sent[Handle]:
        """Return what stands for a function, which is sent if it was not."""
        known = self._functions.get(id(function))
        if known is not None:
            self._functions.move_to_end(id(function))
            return known[1]
        parts: dict[str, None] = {}

        def take(found: Any) -> str:
            digest = self._digest(found)
            parts[digest] = None
            return digest

        content = packed(function, take)
        name = uuid4().hex
        order = Order(name, tuple(parts))
        handles = [self._handles[digest] for digest in parts]
        handles.append(self._send(content, ""))
        sent = Sent(order, tuple(handles))
        self._functions[id(function)] = (function, sent)
        if len(self._functions) > MOST_FUNCTIONS:
            _, (_, oldest) = self._functions.popitem(last=False)
            self._drop(oldest.handles[-1])
        return sent

    def _digest(self, found: Any) -> str:
        """Return the digest of a large part, which is sent if it was not."""
        if id(found) not in self._parts:
            content = packed(found)
            digest = hashlib.blake2b(content, digest_size=16).hexdigest()
            self._parts[id(found)] = (found, digest)
            if digest not in self._handles:
                self._handles[digest] = self._send(content, digest)
        return self._parts[id(found)][1]

    def close(self) -> None:
        """Take back all that was sent."""
        for _, sent in self._functions.values():
            self._drop(sent.handles[-1])
        for handle in self._handles.values():
            self._drop(handle)
        self._functions.clear()
        self._parts.clear()
        self._handles.clear()


def packed(content: Any, take: Callable[[Any], str] | None = None) -> bytearray:
    """Return an object as bytes: the lengths of its pieces, its pickle, and its arrays as they are.

    Parameters
    ----------
    take
        Returns the digest of a large part, which stands for it.

    >>> import numpy as np
    >>> weights = np.zeros(10_000)
    >>> len(packed(weights)) - weights.nbytes < 500
    True
    """
    stream = io.BytesIO()
    arrays: list[memoryview] = []

    def stays_inside(found: pickle.PickleBuffer) -> bool:
        try:
            raw = found.raw()
        except BufferError:  # in several pieces
            return True
        if raw.nbytes < LEAST_ARRAY:
            return True
        arrays.append(raw)
        return False

    _packer()(stream, stays_inside, content, take).dump(content)
    pieces = [stream.getbuffer(), *arrays]
    lengths = [piece.nbytes for piece in pieces]
    places = places_of(lengths)
    whole = bytearray(places[-1][1])
    for place, number in enumerate([len(pieces), *lengths]):
        NUMBER.pack_into(whole, NUMBER.size * place, number)
    for (start, stop), piece in zip(places, pieces, strict=True):
        whole[start:stop] = piece
    return whole


@cache
def _packer() -> type[Any]:
    """Return the pickler, which is made when it is first wanted: importing it takes time."""
    import cloudpickle

    class Packer(cloudpickle.Pickler):  # type: ignore[misc]
        def __init__(self, stream: Any, stays_inside: Any, whole: Any, take: Any) -> None:
            super().__init__(stream, protocol=PROTOCOL, buffer_callback=stays_inside)
            self._whole = whole
            self._take = take

        def reducer_override(self, found: Any) -> Any:
            is_part = getattr(type(found), "sent_once", False) is True
            if is_part and self._take is not None and found is not self._whole:
                return part, (self._take(found),)
            return super().reducer_override(found)

    return Packer
