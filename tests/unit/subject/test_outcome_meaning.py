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
    SubjectCrashed,
    UsageError,
    clip,
    nearest,
)
from evenhand.runtime.progress import Progress
from evenhand.runtime.values import as_outcomes, parse_outcome
from evenhand.subject.memo import Memo
from evenhand.subject.outcome_check import Answers
from evenhand.subject.outcome_meaning import Meaning, check_differs, distance, one_answer
from evenhand.subject.outcome_scale import OutcomeScale
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


# What is known of the outcomes of one output


def meaning(
    positive=None, labels=None, differs=None, known=None, *, scores=False, numbers=False
):
    return Meaning.of(
        "loan", "", positive, labels, differs, known, scores=scores, numbers=numbers
    )


LOW = np.array([0.25, 0.5, 0.75])


def below_half(outcomes):
    return outcomes < 0.5


def test_zero_is_a_threshold_and_a_number_of_another_type_becomes_a_float():
    assert check_differs(0) == 0.0
    found = check_differs(np.int64(2))
    assert type(found) is float
    assert found == 2.0


def test_a_wrong_rule_is_named_by_its_output():
    refused(
        UsageError,
        lambda: check_differs(-1, "differs['rate']"),
        "differs['rate'] = -1 must",
    )


@pytest.mark.parametrize("texts_first", [True, False])
def test_gamma_refuses_texts_on_either_side(texts_first):
    pair = [np.array(["a"]), np.array([1.0])]
    first, second = pair if texts_first else reversed(pair)
    refused(UsageError, lambda: distance(0.1, first, second), "numeric outcomes")


def test_the_ends_of_a_distance_are_distances():
    found = distance(lambda a, b: np.array([0, 1]), np.array([1, 2]), np.array([1, 3]))
    assert found.tolist() == [0.0, 1.0]
    assert found.dtype == np.float64


def test_the_first_distance_that_is_none_is_named():
    refused(
        UsageError,
        lambda: distance(lambda a, b: np.array([0.5, 1.5, -7.0]), LOW, LOW),
        "differs returned 1.5, which",
    )


def test_a_distance_is_given_for_every_pair_of_the_common_shape():
    first = np.array([[1], [2]])
    second = np.array([[1, 2, 3]])
    found = distance(lambda a, b: a != b, first, second)
    assert found.tolist() == [[False, True, True], [True, False, True]]
    words = "shape (2,) for outcomes of shape (2, 3)"
    refused(
        UsageError,
        lambda: distance(lambda a, b: np.zeros(2), first, second),
        words,
    )


def test_an_exit_of_a_function_of_the_user_is_reported():
    def leave(*_):
        raise SystemExit(3)

    refused(
        SubjectCrashed,
        lambda: distance(leave, LOW, LOW),
        "the function of differs",
    )
    refused(
        SubjectCrashed, lambda: meaning(leave).favourable(LOW), "the function of positive"
    )


def test_an_output_is_described_with_its_name():
    assert Meaning("loan").about == "loan"
    assert Meaning("loan", "rate").about == "output 'rate' of loan"


@pytest.mark.parametrize(
    ("options", "words"),
    [
        (
            {"positive": "yes", "labels": ["no", "maybe"]},
            "positive = 'yes' is not in labels",
        ),
        ({"positive": "yes", "known": ["no"]}, "positive = 'yes' is not a class of loan"),
        ({"positive": ["no", "yes"], "known": ["no"]}, "positive = 'yes' is not a class"),
        ({"labels": "yes"}, "labels = 'yes' must be a list of outcomes"),
        ({"labels": 3}, "labels = 3 must be a list of outcomes"),
        ({"labels": ["yes", None]}, "must be a list of outcomes"),
        ({"labels": ["yes", ("no",)]}, "must be a list of outcomes"),
        ({"positive": []}, "positive = [] must be an outcome"),
        ({"positive": {"yes": 1}}, "must be an outcome, a list of outcomes"),
        ({"positive": ["yes", None]}, "must be an outcome, a list of outcomes"),
        ({"positive": ["yes", 1]}, "has texts beside numbers"),
        ({"differs": -0.5}, "differs = -0.5 must"),
    ],
)
def test_options_that_contradict_each_other_are_refused(options, words):
    refused(UsageError, lambda: meaning(**options), words)


def test_options_of_a_named_output_are_refused_with_its_name():
    def named(positive, labels=None, differs=None, known=None):
        return lambda: Meaning.of(
            "loan", "rate", positive, labels, differs, known, scores=False
        )

    refused(
        UsageError,
        named("a", ["b"]),
        "positive['rate'] = 'a' is not in labels",
    )
    refused(
        UsageError,
        named("a", known=["b"]),
        "positive['rate'] = 'a' is not a class",
    )
    refused(UsageError, named([]), "positive['rate'] = []")
    refused(UsageError, named(None, "b"), "labels['rate'] = 'b'")
    refused(UsageError, named(None, differs=-1), "differs['rate'] = -1")
    assert named("a")() == Meaning("loan", "rate", "a")


def test_options_that_fit_are_kept():
    found = meaning("yes", ["no", "yes"], 0.5, ["yes", "no"])
    assert found == Meaning(
        "loan",
        "",
        "yes",
        ("no", "yes"),
        0.5,
        ("yes", "no"),
    )
    assert found.scores is False
    assert found.numbers is False
    assert meaning(["yes"]).positive == ("yes",)
    assert meaning(np.array([1, 2])).positive == (1, 2)
    assert meaning({"yes"}).positive == ("yes",)
    assert meaning(["yes", "no"]).positive == ("yes", "no")
    assert meaning(labels=[1, 2.5, "a", True]).labels == (1, 2.5, "a", True)
    assert meaning(labels={"a": 1}.keys()).labels == ("a",)
    assert meaning().known is None
    # A classifier that names no classes says nothing of them.
    assert meaning("yes", known=[]).known == ()


def test_scores_are_numbers_and_numbers_need_not_be_scores():
    assert meaning(scores=True).numbers
    assert meaning(numbers=True).numbers
    assert not meaning(numbers=True).scores
    assert not meaning().numbers


@pytest.mark.parametrize(
    ("options", "expected"),
    [
        ({}, None),
        ({"labels": ["a", "b"]}, ("a", "b")),
        ({"known": ["a", "b"]}, ("a", "b")),
        ({"labels": ["a"], "known": ["a", "b"]}, ("a",)),
        ({"known": ["a", "b"], "scores": True}, None),
        ({"known": [0, 1]}, None),
        ({"labels": [True, False]}, None),
        ({"labels": [True]}, None),
        ({"known": [0, 1, 2]}, (0, 1, 2)),
        ({"known": [1, 2]}, (1, 2)),
        ({"labels": []}, None),
    ],
)
def test_the_classes_of_an_output(options, expected):
    assert meaning(**options).classes == expected


@pytest.mark.parametrize(
    ("options", "is_open"),
    [
        ({}, True),
        ({"differs": 0.5}, False),
        ({"labels": ["a"]}, False),
        ({"scores": True}, True),
        ({"scores": True, "differs": 0.5}, False),
        ({"scores": True, "known": ["a"]}, True),
        ({"known": ["a"]}, False),
        ({"positive": "a"}, False),
        ({"positive": below_half}, True),
    ],
)
def test_a_scale_is_open_where_nobody_says_when_outcomes_differ(options, is_open):
    assert meaning(**options).open_scale is is_open


@pytest.mark.parametrize(
    ("options", "expected"),
    [
        ({"differs": 0.5}, True),
        ({"differs": 1}, True),
        ({}, False),
        ({"differs": max}, False),
        ({"differs": 0.5, "labels": [1]}, False),
        ({"differs": 0.5, "known": [1]}, False),
        ({"differs": 0.5, "positive": 1}, False),
    ],
)
def test_a_threshold_is_between_numbers_that_may_be_any(options, expected):
    assert meaning(**options).has_threshold is expected


@pytest.mark.parametrize(
    ("options", "measured", "counts"),
    [
        ({}, False, True),
        ({"numbers": True}, True, False),
        ({"numbers": True, "positive": 3}, False, True),
        ({"numbers": True, "positive": below_half}, False, True),
        ({"scores": True}, False, False),
        ({"scores": True, "positive": "yes"}, False, False),
        ({"scores": True, "positive": below_half}, False, True),
        ({"positive": "yes"}, False, True),
    ],
)
def test_outcomes_are_amounts_or_are_counted(options, measured, counts):
    found = meaning(**options)
    assert found.measured is measured
    assert found.counts is counts


def test_outcomes_whose_spread_is_known_are_amounts():
    scale = OutcomeScale(60.0, 1200.0, 10, "all inputs")
    assert Meaning("loan", scale=scale).measured
    assert not Meaning("loan", scale=scale, scores=True).measured
    assert not Meaning("loan", scale=scale, positive=1).measured


def test_either_of_several_outcomes_is_favourable():
    outcomes = np.array(["a", "b", "c", "b"])
    found = meaning(["a", "b"]).favourable(outcomes)
    assert found.tolist() == [True, True, False, True]
    assert found.dtype == np.bool_
    assert meaning("c").favourable(outcomes).tolist() == [False, False, True, False]
    assert meaning(["a", "b"]).favourable(outcomes.reshape(2, 2)).shape == (2, 2)


def test_true_and_one_are_favourable_by_themselves():
    assert meaning().favourable(np.array([True, False])).tolist() == [True, False]
    found = meaning().favourable(np.array([0, 1, 1]))
    assert found.tolist() == [False, True, True]
    assert found.dtype == np.bool_
    assert meaning().favourable(np.array([1, 0], dtype=np.uint8)).tolist() == [True, False]


@pytest.mark.parametrize(
    ("outcomes", "with_function"),
    [
        (np.array([0, 1, 2]), True),
        (np.array([-1, 1]), True),
        (np.array([0.0, 1.0]), True),
        (np.array([3], dtype=np.uint8), True),
        (np.array(["a", "b"]), False),
        (np.array(["a", 1], dtype=object), False),
    ],
)
def test_of_other_outcomes_the_favourable_one_must_be_given(outcomes, with_function):
    message = refused(
        UsageError,
        lambda: meaning().favourable(outcomes),
        "say which outcome of loan is the favourable one, with positive=…",
    )
    assert ("lambda" in message) is with_function
    named = refused(UsageError, lambda: Meaning("loan", "rate").favourable(outcomes))
    assert "output 'rate' of loan is the favourable one, with positive={'rate': …}" in named


def test_no_score_is_the_favourable_one():
    for positive in (None, "yes"):
        scored = meaning(positive, scores=True)
        refused(UsageError, lambda: scored.favourable(LOW), "loan gives scores")  # noqa: B023
    judged = meaning(below_half, scores=True)
    assert judged.favourable(LOW).tolist() == [True, False, False]


@pytest.mark.parametrize(
    ("options", "answer", "expected"),
    [
        ({}, True, True),
        ({}, 1, True),
        ({}, 0, False),
        ({}, False, False),
        ({}, 2, False),
        ({}, 1.0, False),
        ({}, "yes", False),
        ({"positive": "yes"}, "yes", True),
        ({"positive": "yes"}, "no", False),
        ({"positive": ["yes", "maybe"]}, "maybe", True),
        ({"positive": 0}, 0, True),
        ({"positive": 0}, 1, False),
        ({"positive": below_half}, 0.25, True),
        ({"positive": below_half}, 0.75, False),
        ({"scores": True}, 1, False),
        ({"scores": True, "positive": below_half}, 0.25, True),
        ({"numbers": True}, 1, False),
        ({"numbers": True, "positive": 5}, 5, True),
    ],
)
def test_an_answer_is_known_to_be_favourable(options, answer, expected):
    assert meaning(**options).favours(answer) is expected


@pytest.mark.parametrize(
    ("options", "answers"),
    [
        ({"positive": "yes"}, ["no", "yes"]),
        ({"positive": "yes"}, []),
        ({"positive": "yes", "known": ["no", "yes"]}, ["no"]),
        ({"positive": "yes", "labels": ["no", "yes"]}, ["no"]),
        ({"positive": ["yes", "maybe"]}, ["maybe"]),
        ({"positive": True}, [False]),
        ({"positive": 0}, [True, True]),
        ({}, ["no"]),
        ({"positive": below_half}, [3]),
        ({"positive": "yes", "scores": True}, [0.5]),
    ],
)
def test_a_favourable_outcome_that_may_be_given_is_taken(options, answers):
    meaning(**options).refuse_never_given(answers)


@pytest.mark.parametrize(
    ("options", "answers", "words"),
    [
        ({"positive": "yes"}, ["no"], "never answered positive = 'yes' in this run"),
        ({"positive": ["yes"]}, ["no"], "positive = 'yes' in this run"),
        ({"positive": ["yes", "y"]}, ["no"], "positive = ('yes', 'y') in this run"),
        ({"positive": True}, [False, 0.5], "positive = True"),
        ({"positive": 1}, [0], "positive = 1 in this run"),
        ({"positive": 2}, [True, False], "positive = 2 in this run"),
    ],
)
def test_a_favourable_outcome_that_is_never_given_is_refused(options, answers, words):
    found = meaning(**options)
    refused(
        UsageError,
        lambda: found.refuse_never_given(answers),
        "loan never",
        words,
    )


def test_a_favourable_outcome_of_a_named_output_is_refused_with_its_name():
    message = refused(
        UsageError,
        lambda: Meaning("loan", "rate", "yes").refuse_never_given(["yess", "no"]),
    )
    assert message == (
        "output 'rate' of loan never answered positive['rate'] = 'yes' in this run, so that nobody"
        " would be favoured; did you mean 'yess'? Valid choices are 'yess', 'no', which it"
        " answered. If it can answer 'yes', name all its answers with labels=[…]"
    )


def test_amounts_are_counts_scores_or_numbers():
    counted = meaning("a").amount(np.array(["a", "b"]))
    assert counted.tolist() == [1.0, 0.0]
    assert counted.dtype == np.float64
    ends = meaning(scores=True).amount(np.array([0, 1]))
    assert ends.tolist() == [0.0, 1.0]
    assert ends.dtype == np.float64
    assert meaning(numbers=True).amount(np.array([-3, 70])).tolist() == [-3.0, 70.0]


@pytest.mark.parametrize("outside", [-0.5, 1.5, math.nan])
def test_the_first_score_that_is_none_is_named(outside):
    outcomes = np.array([0.5, outside, 7.0])
    refused(
        UsageError,
        lambda: meaning(scores=True).amount(outcomes),
        f"loan gave the score {outside:g}, which is not from 0 to 1",
    )


def test_a_function_gives_a_truth_value_for_each_outcome():
    for function in (lambda y: y, lambda y: y[:2] > 0, lambda y: True):
        refused(
            UsageError,
            lambda: meaning(function).favourable(LOW),  # noqa: B023
            "for outcomes of shape (3,); it must return one truth value per outcome",
        )
    named = Meaning("loan", "rate", lambda y: y.missing)
    refused(
        UsageError, lambda: named.favourable(LOW), "positive['rate'] raised AttributeError"
    )


def test_recorded_outcomes_that_are_all_the_same():
    assert one_answer(["yes"], "yes") == {"only_answer": "yes", "unfavoured": False}
    assert one_answer([True], None) == {"only_answer": True, "unfavoured": False}
    assert one_answer([], "yes") == {}
    assert one_answer(["yes", "no"], "yes") == {}
