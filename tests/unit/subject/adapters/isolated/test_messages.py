"""What a process and ours say to each other: only plain data is read."""

from __future__ import annotations

import copyreg
import datetime
import io
import pickle
import struct
from typing import Any

import numpy as np
import pandas as pd
import pytest

from evenhand.runtime import errors
from evenhand.subject.adapters.isolated.messages import (
    NotPlain,
    PlainUnpickler,
    framed,
    plain_bytes,
    read_plain,
    read_request,
    request_parts,
)
from evenhand.subject.model_form import ModelForm

PLAIN = [
    None,
    {"a": [1, 2.5, True, "x", b"y", ("z",)]},
    datetime.date(2020, 2, 29),
    datetime.datetime(2020, 2, 29, 12, 30),
    ModelForm(columns=("a", "b"), takes_missing=True),
]


@pytest.mark.parametrize("value", PLAIN)
def test_plain_values_come_back_as_they_were(value):
    assert read_plain(pickle.dumps(value, protocol=5)) == value


@pytest.mark.parametrize("dtype", ["f8", "i4", "?", "U3", "O", [("a", "i8"), ("b", "U2")]])
def test_arrays_come_back_as_they_were(dtype):
    array = np.zeros(3, dtype=dtype)
    found = read_plain(bytearray(pickle.dumps(array, protocol=5)))
    assert found.dtype == array.dtype
    assert found.tolist() == array.tolist()
    scalar = read_plain(pickle.dumps(np.float32(0.5)))
    assert type(scalar) is np.float32


@pytest.mark.parametrize(
    "error",
    [errors.UsageError("no"), errors.BadOutcome("no"), errors.MissingExtra("a", "b")],
)
def test_our_errors_come_back_with_their_sentence(error):
    found = read_plain(plain_bytes(error))
    assert type(found) is type(error)
    assert str(found) == str(error)


@pytest.mark.parametrize(
    ("module", "name"),
    [
        ("builtins", "eval"),
        ("os", "system"),
        ("numpy", "load"),
        ("numpy", "save"),
        ("numpy", "no_such_name"),
        ("numpy._core.multiarray", "fromfile"),
        ("os", "_reconstruct"),
        ("os", "float64"),
        # A class of ours that is no error, and an error's name elsewhere.
        ("evenhand.runtime.errors", "nearest"),
        ("evenhand.runtime.errors", "EvenhandWarning"),
        ("evenhand.runtime.errors", "no_such_name"),
        ("somewhere.else", "UsageError"),
        ("evenhand.subject.model_form", "replace"),
    ],
)
def test_nothing_else_is_looked_up(module, name):
    reader = PlainUnpickler(io.BytesIO())
    with pytest.raises(NotPlain) as caught:
        reader.find_class(module, name)
    assert str(caught.value) == f"{module}.{name}"


@pytest.mark.parametrize(
    ("module", "name", "found"),
    [
        ("numpy", "ndarray", np.ndarray),
        ("numpy", "dtype", np.dtype),
        ("numpy", "float64", np.float64),
        ("numpy", "str_", np.str_),
        ("evenhand.runtime.errors", "SubjectCrashed", errors.SubjectCrashed),
        ("evenhand.runtime.errors", "EvenhandError", errors.EvenhandError),
    ],
)
def test_what_plain_values_are_made_of_is_looked_up(module, name, found: Any):
    assert PlainUnpickler(io.BytesIO()).find_class(module, name) is found


def test_a_message_has_its_length_before_it():
    assert framed(b"abc") == struct.pack("<Q", 3) + b"abc"
    assert framed(b"") == bytes(8)


def test_the_missing_value_of_pandas_is_plain():
    assert read_plain(pickle.dumps(pd.NA, protocol=5)) is pd.NA


@pytest.mark.parametrize("order", ["C", "F"])
@pytest.mark.parametrize("shape", [(0, 3), (1, 3), (5, 3)])
def test_an_array_of_a_request_arrives_as_it_was_and_can_be_written_to(order, shape):
    points = np.asarray(np.random.default_rng(0).random(shape), order=order)
    sent = io.BytesIO(b"".join(request_parts(("run", points, 0))))
    action, found, space = read_request(lambda size: bytearray(sent.read(size)))
    assert (action, space) == ("run", 0)
    assert found.dtype == points.dtype
    assert found.flags.f_contiguous == points.flags.f_contiguous
    assert np.array_equal(found, points)
    found[:] = 0


def test_the_memory_of_an_array_is_not_copied_into_the_pickle():
    points = np.arange(6.0)
    *_, memory = request_parts(("run", points))
    points[0] = 7.0
    assert np.frombuffer(memory)[0] == 7.0


def test_errors_are_read_where_a_library_says_how_exceptions_are_pickled(monkeypatch):
    def made_by_a_library(error: Exception) -> Any:
        return eval, ("1",)

    monkeypatch.setitem(copyreg.dispatch_table, errors.UsageError, made_by_a_library)
    found = read_plain(plain_bytes(("error", errors.UsageError("no such file"))))
    assert isinstance(found[1], errors.UsageError)
    assert str(found[1]) == "no such file"
