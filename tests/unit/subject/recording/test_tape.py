"""What is recorded comes back as it was, in its type and in its order, and nothing else does."""

from __future__ import annotations

import hashlib
import zlib

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from hypothesis.extra import numpy as arrays

from evenhand.runtime.errors import (
    BadOutcome,
    NotDeterministic,
    SubjectCrashed,
    SubjectError,
    SubjectTimeout,
    UsageError,
)
from evenhand.subject.recording.columns import AnswerColumn, unpacked
from evenhand.subject.recording.tape import (
    NotRecorded,
    Playback,
    Recording,
    Segment,
    _failure,
    bytes_of,
    read_calls,
)
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


# Columns, byte by byte


def column_of(dtype, *parts):
    column = AnswerColumn(dtype)
    for part in parts:
        column.add(np.array(part, dtype=dtype))
    return column


def test_answers_are_numbered_in_the_order_in_which_they_first_came():
    column = column_of("<U1", ["b", "b"], ["c"], ["a", "b"])
    assert column.codes == {"b": 0, "c": 1, "a": 2}
    index, content = column.packed()
    assert index == {"dtype": "<U1", "count": 5, "values": ["b", "c", "a"]}
    assert content == bytes([0, 0, 1, 2, 0])


def test_two_answers_are_bits_and_one_is_too():
    index, content = column_of("<i8", [7, 9, 7, 9, 9, 7, 7, 7, 9]).packed()
    assert index == {"dtype": "<i8", "count": 9, "values": [7, 9]}
    assert content == bytes([0b01011000, 0b10000000])
    assert column_of("<i8", [7, 7]).packed()[1] == bytes([0])
    assert column_of("<i8", []).packed() == (
        {"dtype": "<i8", "count": 0, "values": []},
        b"",
    )


def test_fractions_are_kept_as_they_are():
    index, content = column_of("<f8", [0.5], [2.0, -0.0]).packed()
    assert index == {"dtype": "<f8", "count": 3}
    assert content == np.array([0.5, 2.0, -0.0], dtype="<f8").tobytes()
    column = AnswerColumn("<f8")
    column.add(np.array([[1.0, 2.0], [3.0, 4.0]]))
    assert column.count == 4
    assert unpacked(*column.packed()).tolist() == [1.0, 2.0, 3.0, 4.0]


@pytest.mark.parametrize(
    ("values", "width"), [(3, 1), (256, 1), (257, 2), (65_536, 2), (65_537, 4)]
)
def test_more_answers_take_as_many_bytes_as_their_numbers_need(values, width):
    column = AnswerColumn("<i8")
    column.add(np.arange(values))
    index, content = column.packed()
    assert len(content) == width * values
    found = unpacked(index, content)
    assert np.array_equal(found, np.arange(values))


@pytest.mark.parametrize(
    ("index", "content", "words"),
    [
        ({"dtype": "|b1", "count": 9, "values": [True]}, b"\0", "1 bytes for 9 answers"),
        ({"dtype": "|b1", "count": 8, "values": [True]}, b"\0\0", "2 bytes for 8 answers"),
        (
            {"dtype": "<i8", "count": 2, "values": [1, 2, 3]},
            b"\0\1\2",
            "3 answers instead of 2",
        ),
        ({"dtype": "<i8", "count": 2, "values": [1, 2, 3]}, b"\0\5", "IndexError"),
        ({"dtype": "<f8", "count": 3}, bytes(16), "2 answers instead of 3"),
        ({"dtype": "<f8", "count": -1}, b"", "-1 answers of type float64"),
        ({"dtype": "<c16", "count": 1}, bytes(16), "1 answers of type complex128"),
        ({"dtype": "<U250001", "count": 0, "values": []}, b"", "0 answers of type"),
        ({"count": 0}, b"", "KeyError"),
    ],
)
def test_what_is_damaged_in_a_column_is_named(index, content, words):
    message = refused(UsageError, lambda: unpacked(index, content), words)
    assert message.startswith("the recorded answers are damaged (")


def test_no_answer_may_be_longer_than_a_million_bytes():
    index = {"dtype": "<U250000", "count": 0, "values": []}
    assert unpacked(index, b"").dtype.itemsize == 1_000_000


def test_counts_of_whole_bytes_come_back():
    for count in (0, 1, 7, 8, 9, 16):
        answers = np.arange(count) % 2 == 0
        column = AnswerColumn("|b1")
        column.add(answers)
        assert unpacked(*column.packed()).tolist() == answers.tolist()


# Tapes, entry by entry


POINTS = np.arange(4.0).reshape(2, 2)


def test_the_index_of_a_check_says_what_its_bytes_are():
    tape = Recording()
    tape.outcomes(POINTS, giving(np.array([3, 4])))
    tape.outcomes(POINTS + 1, giving(np.array([5, 3])))
    tape.arrays(POINTS[:1], giving((np.array([[0.5, 1.5]]), np.array([True]))))
    tape.end("first")
    indices, content = tape.packed()
    inputs = [POINTS, POINTS + 1, POINTS[:1]]
    shown = b"".join(points.tobytes() for points in inputs)
    (index,) = indices
    columns = index.pop("columns")
    assert index == {
        "check": "first",
        "calls": 3,
        "answers": 5,
        "inputs": hashlib.sha256(shown).hexdigest(),
        "layouts": [[["", "<i8", 0]], [["0", "<f8", 2], ["1", "|b1", 0]]],
        "failures": {},
    }
    assert [(column["dtype"], column["count"], column["bytes"]) for column in columns] == [
        ("<i8", 4, 4),
        ("<f8", 2, 16),
        ("|b1", 1, 1),
    ]
    sums = [zlib.crc32(points.tobytes()) for points in inputs]
    head = np.array([[2, 2, 1], sums, [0, 0, 1]], dtype="<u4").tobytes()
    assert content[: len(head)] == head
    assert len(content) == len(head) + 4 + 16 + 1


def test_checks_come_one_after_another():
    tape = Recording()
    tape.outcomes(POINTS, giving(np.array(["a", "b"])))
    tape.end("first")
    tape.end("nothing asked")
    tape.outcomes(POINTS, giving(np.array([0.5, 0.25])))
    tape.end("last")
    playback = played(tape)
    assert [calls.check for calls in playback.checks] == ["first", "nothing asked", "last"]
    assert playback.number == 0
    assert not playback.now.complete
    assert playback.outcomes(POINTS, never).tolist() == ["a", "b"]
    assert playback.now.complete
    playback.end("first")
    assert playback.now.complete
    refused(
        NotRecorded, lambda: playback.outcomes(POINTS, never), "than its 0 recorded calls"
    )
    playback.end("nothing asked")
    assert playback.outcomes(POINTS, never).tolist() == [0.5, 0.25]
    assert playback.number == 2


def test_arrays_of_one_column_and_of_none_keep_their_shapes():
    tape = Recording()
    column = np.array([[1.5], [2.5]])
    tape.arrays(POINTS, giving([column, [7, 8]]))
    tape.arrays(POINTS[:0], giving([np.zeros((0, 3))]))
    tape.end("check")
    playback = played(tape)
    first, second = playback.arrays(POINTS, never)
    assert first.tolist() == column.tolist()
    assert second.tolist() == [7, 8]
    (none,) = playback.arrays(POINTS[:0], never)
    assert none.shape == (0, 3)


def test_calls_are_refused_by_their_number():
    calls = [(POINTS, np.array([1, 2])), (POINTS + 1, np.array([1, 2]))]
    playback = played(recorded(*calls))
    playback.outcomes(POINTS, never)
    refused(
        NotRecorded,
        lambda: playback.outcomes(POINTS, never),
        "call 2 of check 'check' is about other inputs",
    )
    # A call that was refused is not taken for made.
    assert playback.outcomes(POINTS + 1, never).tolist() == [1, 2]
    refused(
        NotRecorded,
        lambda: playback.outcomes(POINTS, never),
        "its 2 recorded calls",
    )


def failing(error):
    def fail(_):
        raise error

    return fail


@pytest.mark.parametrize(
    "kind", [SubjectCrashed, SubjectTimeout, BadOutcome, NotDeterministic]
)
def test_failures_of_each_kind_are_repeated_where_they_came(kind):
    tape = Recording()
    tape.outcomes(POINTS, giving(np.array([1, 2])))
    with pytest.raises(kind):
        tape.outcomes(POINTS, failing(kind("it fell over")))
    tape.outcomes(POINTS, giving(np.array([3, 4])))
    tape.end("check")
    (index,), _ = tape.packed()
    assert index["failures"] == {"1": [kind.__name__, "it fell over"]}
    assert (index["calls"], index["answers"]) == (3, 6)
    playback = played(tape)
    assert playback.outcomes(POINTS, never).tolist() == [1, 2]
    refused(kind, lambda: playback.outcomes(POINTS, never), "it fell over")
    assert playback.outcomes(POINTS, never).tolist() == [3, 4]


def test_a_failure_of_a_kind_that_is_not_known_is_one_of_the_software():
    tape = Recording()
    with pytest.raises(NotRecorded):
        tape.outcomes(POINTS, failing(NotRecorded("of another program")))
    tape.end("check")
    playback = played(tape)
    refused(
        SubjectError,
        lambda: playback.outcomes(POINTS, never),
        "of another program",
    )
    odd = _failure("UsageError", "no error of the software")
    assert type(odd) is SubjectError


def test_an_error_that_is_not_of_the_software_is_not_recorded():
    tape = Recording()
    with pytest.raises(KeyError):
        tape.outcomes(POINTS, failing(KeyError("age")))
    tape.end("check")
    assert tape.packed()[0][0]["calls"] == 0


def test_answers_that_are_too_many_are_not_kept(monkeypatch):
    monkeypatch.setattr("evenhand.subject.recording.tape.MOST_ANSWERS", 4)
    tape = Recording()
    tape.outcomes(POINTS, giving(np.array([1, 2])))
    tape.outcomes(POINTS, giving(np.array([1, 2])))
    tape.end("just enough")
    for _ in range(3):
        tape.outcomes(POINTS, giving(np.array([1, 2])))
    tape.end("too many")
    tape.outcomes(POINTS, giving(np.array([5, 6])))
    tape.end("after")
    indices, _ = tape.packed()
    assert [index.get("overflown") for index in indices] == [None, True, None]
    assert indices[1]["columns"] == []
    playback = played(tape)
    assert playback.outcomes(POINTS, never).tolist() == [1, 2]
    assert playback.outcomes(POINTS, never).tolist() == [1, 2]
    playback.end("just enough")
    words = "check 'too many' has more answers than the 4 that are recorded"
    refused(NotRecorded, lambda: playback.outcomes(POINTS, never), words)
    playback.end("too many")
    assert playback.outcomes(POINTS, never).tolist() == [5, 6]


def test_fifty_million_answers_are_kept():
    assert not Segment(answers=50_000_000).overflown
    assert Segment(answers=50_000_001).overflown


def test_a_tape_with_too_few_answers_is_refused():
    indices, content = recorded((POINTS, np.array([0.5, 1.5]))).packed()
    short = dict(indices[0]["columns"][0], count=1, bytes=8)
    indices[0]["columns"] = [short]
    playback = Playback(read_calls(indices, content[:-8]))
    refused(
        NotRecorded, lambda: playback.outcomes(POINTS, never), "too few recorded answers"
    )


def test_damage_of_a_tape_is_named():
    indices, content = recorded((POINTS, np.array([0.5, 1.5]))).packed()
    message = refused(UsageError, lambda: read_calls(indices, content + b"\0"))
    # Three numbers of the call, and two answers.
    assert message == "the recorded answers are damaged: 29 bytes instead of 28"
    refused(
        UsageError,
        lambda: read_calls([{}], b""),
        "damaged (KeyError: 'calls')",
    )
    assert read_calls([], b"") == []


def test_bytes_tell_texts_and_points_apart():
    assert bytes_of(["a", "é"]) == b"\1\0\0\0\1\0\0\0" + "aé".encode()
    assert bytes_of(["\ud800"]) == b"\1\0\0\0\xed\xa0\x80"
    assert bytes_of(np.array([[1, 2]])) == np.array([1.0, 2.0], dtype="<f8").tobytes()
    columnwise = np.asfortranarray(POINTS)
    assert bytes_of(columnwise) == POINTS.tobytes()
