"""What is recorded comes back as it was, in its type and in its order, and nothing else does."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from hypothesis.extra import numpy as arrays

from evenhand.runtime.errors import SubjectCrashed, UsageError
from evenhand.subject.recording.columns import AnswerColumn, unpacked
from evenhand.subject.recording.tape import NotRecorded, Playback, Recording, read_calls
from tests.support.helpers import examples, refused

ANSWERS = st.sampled_from(["?", "<i8", "<i4", "<u1", "<f8", "<f4", "<U3"]).flatmap(
    lambda dtype: st.lists(
        arrays.arrays(
            dtype,
            st.integers(0, 20),
            elements={"allow_nan": False} if "f" in dtype else None,
        ),
        min_size=1,
        max_size=4,
    )
)


@settings(max_examples=examples(60), deadline=None)
@given(ANSWERS)
def test_columns_come_back(parts):
    column = AnswerColumn(parts[0].dtype.newbyteorder("<").str)
    for part in parts:
        column.add(part)
    whole = np.concatenate(parts)
    found = unpacked(*column.packed())
    assert found.dtype == whole.dtype
    assert found.tobytes() == whole.tobytes() if whole.dtype.kind == "f" else True
    assert found.tolist() == whole.tolist()


def test_two_labels_take_a_bit():
    column = AnswerColumn("<U7")
    column.add(np.array(["approve", "deny"] * 400))
    assert len(column.packed()[1]) == 100


def test_values_of_any_type_keep_it():
    column = AnswerColumn("|O")
    column.add(np.array([1, True, 10**400, "a", 1.0], dtype=object))
    found = unpacked(*column.packed()).tolist()
    assert [type(value) for value in found] == [int, bool, int, str, float]


@pytest.mark.parametrize(
    ("index", "content"),
    [
        ({"dtype": "<i8", "count": 2, "values": [1, 2, 3]}, b"\0\5"),
        ({"dtype": "<f8", "count": 2}, b"1234"),
        ({"dtype": "<f8", "count": -1}, b""),
        ({"dtype": "V8", "count": 1}, b"12345678"),
        ({"dtype": "<f8"}, b""),
        ({"dtype": "?", "count": 9, "values": [True]}, b"\0"),
    ],
)
def test_damaged_columns_are_refused(index, content):
    refused(UsageError, lambda: unpacked(index, content), "damaged")


def giving(answers):
    """Return software that gives these answers."""
    return lambda _: answers


def recorded(*calls):
    """Record calls, each of inputs and what they are answered."""
    tape = Recording()
    for inputs, answers in calls:
        tape.outcomes(inputs, giving(answers))
    tape.end("check")
    return tape


def played(tape):
    return Playback(read_calls(*tape.packed()))


def never(_):
    raise AssertionError("the software was asked")


def test_calls_come_back_in_their_order():
    points = [np.arange(4.0).reshape(2, 2), np.ones((3, 2))]
    answers = [np.array(["no", "yes"]), np.array(["maybe", "no", "no"])]
    playback = played(recorded(*zip(points, answers, strict=True)))
    for inputs, expected in zip(points, answers, strict=True):
        found = playback.outcomes(inputs, never)
        assert found.dtype == expected.dtype
        assert found.tolist() == expected.tolist()
    assert playback.now.complete


def test_several_outputs_and_margins():
    records = np.array([(True, 3.5), (False, 1.0)], dtype=[("grant", "?"), ("rate", "<f8")])
    tape = Recording()
    points = np.zeros((2, 1))
    tape.outcomes(points, lambda _: records)
    slopes = np.arange(6.0).reshape(2, 3)
    tape.arrays(points, lambda _: (records["grant"], slopes))
    tape.end("check")
    playback = played(tape)
    assert playback.outcomes(points, never).tolist() == records.tolist()
    labels, found = playback.arrays(points, never)
    assert labels.tolist() == [True, False]
    assert found.tolist() == slopes.tolist()


def test_other_inputs_are_refused():
    playback = played(recorded((np.zeros((2, 1)), np.array([1, 2]))))
    refused(
        NotRecorded,
        lambda: playback.outcomes(np.ones((2, 1)), never),
        "other inputs",
        "'check'",
    )
    refused(NotRecorded, lambda: playback.outcomes(np.zeros((1, 1)), never), "other inputs")
    playback.outcomes(np.zeros((2, 1)), never)
    refused(
        NotRecorded, lambda: playback.outcomes(np.zeros((2, 1)), never), "asks for more"
    )
    playback.end("check")
    refused(NotRecorded, lambda: playback.outcomes(np.zeros((2, 1)), never), "more checks")


def test_minus_zero_is_zero():
    playback = played(recorded((np.zeros((1, 1)), np.array([1]))))
    assert playback.outcomes(np.full((1, 1), -0.0), never).tolist() == [1]


def test_a_failure_is_repeated():
    def crash(_):
        raise SubjectCrashed("the disk is gone")

    tape = Recording()
    with pytest.raises(SubjectCrashed):
        tape.outcomes(["a text"], crash)
    tape.outcomes(["a text"], lambda _: np.array([True]))
    tape.end("check")
    playback = played(tape)
    with pytest.raises(SubjectCrashed, match="the disk is gone"):
        playback.outcomes(["a text"], never)
    assert playback.outcomes(["a text"], never).tolist() == [True]


def test_too_many_or_too_few_bytes_are_refused():
    indices, content = recorded((np.zeros((2, 1)), np.array([1, 2]))).packed()
    refused(UsageError, lambda: read_calls(indices, content + b"\0"), "damaged")
    refused(UsageError, lambda: read_calls(indices, content[:-1]), "damaged")
    refused(UsageError, lambda: read_calls([{}], b""), "damaged")
