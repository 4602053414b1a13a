"""What a process and ours say to each other: frames of bytes, and pickles that hold plain data."""

from __future__ import annotations

import io
import pickle
import struct
from typing import TYPE_CHECKING, Any

import numpy as np

if TYPE_CHECKING:
    from collections.abc import Callable

HEADER = struct.Struct("<Q")
"""The number of bytes that follow."""

_PLAIN = {
    ("numpy", "ndarray"),
    ("numpy", "dtype"),
    # pandas 3 pickles its missing value by the public name.
    ("pandas", "NA"),
    ("pandas._libs.missing", "NA"),
    ("datetime", "date"),
    ("datetime", "datetime"),
    ("_codecs", "encode"),
    ("evenhand.subject.model_form", "ModelForm"),
}
_NUMPY = ("numpy._core.", "numpy.core.")
_NUMPY_NAMES = ("_reconstruct", "scalar", "_frombuffer")
_ERRORS = "evenhand.runtime.errors"


class NotPlain(Exception):
    """An answer that holds objects of a class, where only plain values are read."""


class PlainUnpickler(pickle.Unpickler):
    """Reads arrays, plain values and our own errors, and nothing whose making runs other code.

    The process that wrote them runs software that nobody vouches for.

    >>> read_plain(pickle.dumps({"a": np.arange(2)}))
    {'a': array([0, 1])}
    >>> read_plain(pickle.dumps(print))
    Traceback (most recent call last):
    evenhand.subject.adapters.isolated.messages.NotPlain: builtins.print
    """

    def find_class(self, module: str, name: str) -> Any:
        """Return a class or function that may be named."""
        of_numpy = module.startswith(_NUMPY) and name in _NUMPY_NAMES
        is_scalar = module == "numpy" and _is_scalar_type(name)
        if (
            (module, name) in _PLAIN
            or of_numpy
            or is_scalar
            or (module == _ERRORS and _is_error(name))
        ):
            return super().find_class(module, name)
        raise NotPlain(f"{module}.{name}")


def _is_scalar_type(name: str) -> bool:
    found = getattr(np, name, None)
    return isinstance(found, type) and issubclass(found, np.generic)


def _is_error(name: str) -> bool:
    from evenhand.runtime import errors

    found = getattr(errors, name, None)
    return isinstance(found, type) and issubclass(found, errors.EvenhandError)


def read_plain(content: bytes | bytearray) -> Any:
    """Return what a pickle of plain data holds."""
    return PlainUnpickler(io.BytesIO(content)).load()


def plain_bytes(value: Any) -> bytes:
    """Return a pickle of plain values, whatever libraries say of how their classes are pickled.

    Some, such as tblib, which comes with Dask, have every exception pickled by code of their own.

    >>> read_plain(plain_bytes(("end", None)))
    ('end', None)
    """
    content = io.BytesIO()
    pickler = pickle.Pickler(content, protocol=5)
    pickler.dispatch_table = {}
    pickler.dump(value)
    return content.getvalue()


def framed(content: bytes) -> bytes:
    """Return bytes with their number before them."""
    return HEADER.pack(len(content)) + content


def request_parts(request: Any) -> list[memoryview]:
    """Return what a request is sent as: how many parts there are, and each with its size before it.

    The memory of arrays is a part of its own, so that it is not copied into a pickle.

    >>> [len(part) for part in request_parts(("run", np.zeros(100)))][-2:]
    [8, 800]
    """
    buffers: list[pickle.PickleBuffer] = []
    content = pickle.dumps(request, protocol=5, buffer_callback=buffers.append)
    pieces = [memoryview(content)]
    for buffer in buffers:
        pieces.append(buffer.raw())
    parts = [memoryview(HEADER.pack(len(pieces)))]
    for piece in pieces:
        parts += [memoryview(HEADER.pack(piece.nbytes)), piece]
    return parts


def read_request(read: Callable[[int], bytearray]) -> Any:
    """Return the request that `request_parts` made, by a function that reads so many bytes.

    It raises EOFError where there are no more requests. Arrays can be written to, as the originals
    could.

    >>> sent = io.BytesIO(b"".join(request_parts(["run", np.arange(2)])))
    >>> read_request(lambda size: bytearray(sent.read(size)))
    ['run', array([0, 1])]
    """
    (number,) = HEADER.unpack(read(HEADER.size))
    pieces = []
    for _ in range(number):
        (size,) = HEADER.unpack(read(HEADER.size))
        pieces.append(read(size))
    return pickle.loads(pieces[0], buffers=pieces[1:])  # noqa: S301
