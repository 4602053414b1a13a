"""What differs, what is no outcome, and what a run may spend."""

# mypy: disable-error-code="arg-type,list-item"
# Wrong arguments are what these tests are about.

from __future__ import annotations

import math
import pickle

import numpy as np
import pytest

import evenhand as eh
from evenhand.runtime import errors
from evenhand.runtime.budget import Budget, Meter
from evenhand.runtime.errors import (
    BadOutcome,
    EvenhandError,
    MissingExtra,
    UsageError,
    clip,
    nearest,
)
from evenhand.runtime.progress import Progress
from evenhand.runtime.values import as_outcomes, parse_outcome
from evenhand.subject.memo import Memo
from evenhand.subject.outcome_check import Answers
from evenhand.subject.outcome_meaning import check_differs, distance
from tests.support.helpers import refused


@pytest.mark.parametrize(
    ("first", "second", "expected"),
    [
        (np.array(["a", "b"]), np.array(["a", "c"]), [False, True]),
        (np.array([1, 2], object), np.array([1, "2"], object), [False, True]),
        (np.array(["1"]), np.array([1]), [True]),
        (np.array([[1, 2], [3, 4]]), np.array([1, 4]), [[False, True], [True, False]]),
    ],
)
def test_labels_differ_or_do_not(first, second, expected):
    assert distance(None, first, second).tolist() == expected


@pytest.mark.parametrize(
    ("gamma", "first", "second", "expected"),
    [
        (1, np.array([0, 0, 0]), np.array([1, 2, -2]), [False, True, True]),
        (0, np.array([True, True]), np.array([True, False]), [False, True]),
        (2, np.array([0, 255], np.uint8), np.array([255, 0], np.uint8), [True, True]),
        (0.5, np.array([math.inf]), np.array([0.0]), [True]),
    ],
)
def test_gamma_is_a_strict_bound_for_every_kind_of_number(gamma, first, second, expected):
    assert distance(gamma, first, second).tolist() == expected


def test_a_distance_function_is_graded():
    def half_apart(a, b):
        return np.where(a == b, 0, 0.5)

    found = distance(half_apart, np.array(["x", "y"]), np.array(["x", "x"]))
    assert found.tolist() == [0.0, 0.5]
    assert found.dtype == np.float64
    truth_values = distance(lambda a, b: a != b, np.array([1]), np.array([2]))
    assert truth_values.dtype == np.bool_


@pytest.mark.parametrize("differs", [-1, math.nan, True, "0.1", [0.1]])
def test_a_wrong_rule_is_named(differs):
    words = (f"differs = {differs!r}", "None, a number of 0 or more")
    refused(UsageError, lambda: check_differs(differs), *words)


def test_a_right_rule_is_kept():
    assert check_differs(None) is None
    assert check_differs(np.float32(0.5)) == 0.5
    assert check_differs(np.int64(2)) == 2
    assert check_differs(max) is max


@pytest.mark.parametrize(
    ("function", "words"),
    [
        (lambda a, b: 0.5, ["shape ()", "element by element"]),
        (lambda a, b: np.full(len(a), 2.0), ["2.0", "0 to 1"]),
        (lambda a, b: np.full(len(a), -0.1), ["-0.1"]),
        (lambda a, b: np.full(len(a), math.nan), ["nan"]),
        (lambda a, b: np.full(len(a), "x"), ["<U1", "truth values or numbers"]),
        (lambda a, b: a.missing, ["AttributeError", "missing"]),
    ],
)
def test_a_distance_function_that_gives_no_distance(function, words):
    first = np.array([1, 2])
    second = np.array([1, 3])
    refused(UsageError, lambda: distance(function, first, second), "differs", *words)


def test_gamma_needs_numbers():
    first = np.array(["a"])
    second = np.array(["b"])
    refused(UsageError, lambda: distance(0.1, first, second), "0.1", "numeric", "texts")


@pytest.mark.parametrize(
    ("outcomes", "words"),
    [
        (np.array([1.0, math.nan]), ["answered nan to 1 of 2"]),
        (np.array([None, 1], object), ["answered None to 1 of 2"]),
        (np.array(["a", math.nan], object), ["answered nan to 1 of 2"]),
        (np.array([["a"], ["b"]]), ["shape (2, 1)", "one per input"]),
        (np.array([1]), ["shape (1,)", "2 inputs"]),
        (np.array(["a", 1], object), ["'a'", "beside numbers"]),
        (np.array([{}, {}], object), ["answered {}", "text, a number or a truth value"]),
        (np.array([b"a", b"b"]), ["|S1", "text, a number or a truth value"]),
        (np.array(["2020", "2021"], "datetime64[Y]"), ["datetime64"]),
        (np.array([1j, 2j]), ["complex128"]),
    ],
)
def test_what_is_no_outcome(outcomes, words):
    refused(BadOutcome, lambda: Answers("loan").check(outcomes, 2), "loan", *words)


def test_missing_values_of_pandas_are_missing():
    import pandas as pd

    for missing in (pd.NA, pd.NaT):
        refused(
            BadOutcome,
            lambda: Answers("loan").check(np.array([missing, 1], object), 2),  # noqa: B023
            "to 1 of 2",
        )


@pytest.mark.parametrize(
    ("values", "dtype"),
    [
        ([1, 2], np.int64),
        ([np.int64(1), 2], np.int64),
        ([np.True_, False], np.bool_),
        ([1, 2.5], np.float64),
    ],
)
def test_objects_are_unpacked_and_labels_kept_apart(values, dtype):
    found = Answers("x").check(np.array(values, object), 2)
    assert found.dtype == dtype


def test_large_whole_numbers_are_kept():
    found = Answers("x").check(np.array([2**70, 1], object), 2)
    assert found.tolist() == [2**70, 1]


def test_labels_and_positive_are_compared_with_the_answers():
    answers = Answers("loan", labels=("yes", "no"))
    message = refused(
        BadOutcome,
        lambda: answers.check(np.array(["yes", "noo"]), 2),
        "'noo'",
        "did you mean 'no'?",
    )
    assert "loan" in message
    refused(
        UsageError,
        lambda: Answers("loan", positive="1").check(np.array([1, 0]), 2),
        "positive = '1'",
        "answered 1",
    )
    refused(
        UsageError,
        lambda: Answers("loan", positive=1).check(np.array(["1"]), 1),
        "positive = 1",
        "'1'",
    )
    assert Answers("loan", positive=True).check(np.array([1, 0]), 2).tolist() == [1, 0]
    assert Answers("loan", positive="yes").check(np.array([], object), 0).tolist() == []


@pytest.mark.parametrize(
    ("text", "value"),
    [
        ("1", 1),
        ("1.0", 1.0),
        ("true", True),
        ('"1"', "1"),
        (" yes \n", "yes"),
        ("[1]", "[1]"),
        ("null", "null"),
        ("", ""),
    ],
)
def test_printed_outcomes(text, value):
    found = parse_outcome(text)
    assert found == value
    assert type(found) is type(value)


def test_outcomes_are_packed_without_being_changed():
    assert as_outcomes([True, False]).dtype == np.bool_
    assert as_outcomes([1, 2]).dtype == np.int64
    assert as_outcomes([1, 2.5]).dtype == np.float64
    assert as_outcomes([2**70]).tolist() == [2**70]
    assert as_outcomes(["a\x00", "a"]).tolist() == ["a\x00", "a"]
    assert as_outcomes([True, 1]).tolist()[0] is True
    assert len(as_outcomes([])) == 0


@pytest.mark.parametrize("name", ["queries", "seconds", "findings"])
@pytest.mark.parametrize("value", [0, -1, "5", True, math.nan])
def test_a_wrong_budget_is_named(name, value):
    refused(UsageError, lambda: Budget(**{name: value}), f"{name} = {value!r}", "over 0")


def test_queries_are_whole_numbers():
    refused(UsageError, lambda: Budget(queries=2.5), "queries = 2.5", "whole")
    refused(
        UsageError, lambda: Budget(findings=math.inf), "findings = inf", "None is no bound"
    )
    assert type(Budget(queries=1e5).queries) is int
    assert Budget(queries=np.int64(3), seconds=0.5).queries == 3


def test_a_meter_counts_and_reports():
    seen: list[Progress] = []
    meter = Meter(Budget(queries=10, seconds=1e-9), seen.append)
    meter.queries += 4
    meter.report("measure", 0.4, "note")
    assert meter.left == 6
    assert meter.late
    assert seen == [Progress("measure", 0.4, "note")]
    unbounded = Meter()
    assert unbounded.left == math.inf
    assert not unbounded.late


def test_a_memo_tells_the_cost_of_an_answer_from_the_cost_of_a_call():
    cheap = Memo(wanted=None, expensive=False)
    expensive = Memo(wanted=None, expensive=False)
    for memo, seconds in ((cheap, 0.005), (expensive, 0.5)):
        for _ in range(5):
            memo.observe(seconds, 64)
        assert memo.on is (memo is expensive)
    cheap.observe(0.05, 100_000)
    cheap.observe(10.0, 64)
    assert not cheap.on, "decided once"
    assert Memo(wanted=None, expensive=True).on
    assert Memo(wanted=True, expensive=False).on
    assert not Memo(wanted=False, expensive=True).on


def test_a_pickled_memo_forgets():
    memo = Memo(wanted=True, expensive=False)
    memo.add({b"1": 1})
    assert memo.answers
    again = pickle.loads(pickle.dumps(memo))
    assert again.answers == {}


def every_error() -> list[type[EvenhandError]]:
    kinds = []
    for kind in vars(errors).values():
        if isinstance(kind, type) and issubclass(kind, EvenhandError):
            kinds.append(kind)
    return kinds


@pytest.mark.parametrize("kind", every_error())
def test_every_error_survives_a_pickle_and_has_an_exit_code(kind):
    error = kind("onnx", "onnx") if kind is MissingExtra else kind("what went wrong")
    again = pickle.loads(pickle.dumps(error))
    assert type(again) is kind
    assert str(again) == str(error)
    expected = 4 if issubclass(kind, errors.SubjectError) else 2
    assert kind.exit_code == expected
    assert kind.__name__ in (errors.__doc__ or ""), (
        "the tree in the docstring names every error"
    )


def test_nearest_offers_one_choice_and_shows_a_dozen():
    assert (
        nearest("sexx", ["age", "sex"])
        == "did you mean 'sex'? Valid choices are 'age', 'sex'"
    )
    assert nearest("q", ["age"]) == "valid choices are 'age'"
    assert nearest("q", []) == "there are no valid choices"
    assert nearest("1", [0, 1]) == "did you mean 1? Valid choices are 0, 1"
    assert nearest(3, range(100)).endswith("10, 11, …")
    assert "\n" not in nearest("a\nb", ["a\nb" * 100, "x" * 500])
    assert len(nearest("x" * 100_000, ["x" * 100_000] * 5)) < 300


def test_clip_keeps_one_line():
    assert clip("a\n  b\tc") == "a b c"
    clipped = clip("x" * 500)
    assert len(clipped) == 120
    assert clipped.endswith("…")


@pytest.mark.parametrize(
    ("positive", "values"),
    [
        (None, ()),
        ("yes", ("yes",)),
        (["yes", "maybe"], ("yes", "maybe")),
        (0, (0,)),
        (lambda outcomes: outcomes > 1, ()),
    ],
)
def test_favourable_outcomes_are_named_one_by_one(positive, values):
    space = eh.Space([eh.integer("age", 0, 9)])
    subject = eh.Subject(lambda people: people["age"], space, positive=positive)
    assert subject.meanings[""].values == values
