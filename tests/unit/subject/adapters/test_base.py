"""What all adapters check alike, and what one that says nothing of itself does."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from sklearn.tree import DecisionTreeClassifier

from evenhand.runtime.errors import BadOutcome, SubjectCrashed, UsageError
from evenhand.runtime.options import Option, Options
from evenhand.space.feature import Feature, category, integer
from evenhand.space.space import Space
from evenhand.subject.adapters.base import (
    Adapter,
    check_output,
    check_threshold,
    crashes_reported,
    gaps_of,
    is_fitted,
    is_torch_module,
    replies_of,
    scored_class,
    tried_missing,
)
from evenhand.subject.model_form import ModelForm
from tests.support.helpers import refused


@pytest.mark.parametrize("threshold", [0, 1, -0.5, 1.5, "0.5", float("nan")])
def test_a_threshold_lies_between_0_and_1(threshold: Any):
    with pytest.raises(UsageError, match="must lie between 0 and 1"):
        check_threshold(threshold)


@pytest.mark.parametrize("threshold", [None, 0.001, 0.5, 0.999])
def test_probabilities_lie_on_both_sides_of_a_threshold(threshold):
    check_threshold(threshold)


def test_an_output_is_a_label_or_a_score():
    check_output("label")
    check_output("score")
    refused(UsageError, lambda: check_output("scores"), "output = 'scores'", "'score'")


@pytest.mark.parametrize("positive", [[1], (1,), {1}, frozenset({1})])
def test_the_score_of_several_classes_is_refused(positive):
    refused(UsageError, lambda: scored_class(positive), "must be one class")


def test_the_class_that_is_scored():
    assert scored_class("yes") == "yes"
    assert scored_class(0) == 0
    assert scored_class(None) is None
    assert scored_class(lambda score: score > 3) is None
    assert scored_class({"decision": "yes"}) is None


def test_what_is_fitted():
    tree = DecisionTreeClassifier()
    assert is_fitted(tree) is False
    assert is_fitted(tree.fit([[0], [1]], [0, 1])) is True
    assert is_fitted(object()) is True
    assert is_torch_module(tree) is False


# An adapter that says little of itself

PEOPLE = Space(
    [
        Feature("age", "integer", low=0, high=9, missing=True),
        category("sex", ["F", "M"]),
        Feature("job", "category", ("a", "b"), missing=True),
        Feature("race", "category", ("x", "y"), missing=True, passed=False),
    ]
)


class OfFunction(Adapter):
    """Asks a function about the codes of inputs."""

    kind = "of function"
    options = Options.of(Option("scale", "a number", "what answers are multiplied by"))  # type: ignore[arg-type]

    def __init__(self, answer: Any, *, scale: float = 1.0) -> None:
        self.answer = answer
        self.scale = scale
        self.asked: list[Any] = []

    @property
    def identity(self) -> str:
        return "of function"

    def run(self, points: Any, space: Space) -> Any:
        self.asked.append(points.tolist())
        yield np.arange(len(points)), self.answer(points)


class TakesNoGaps(OfFunction):
    def form(self) -> ModelForm:
        return ModelForm(takes_missing=False)


class TakesGaps(OfFunction):
    def form(self) -> ModelForm:
        return ModelForm(takes_missing=True)


class WithPositive(Adapter):
    """Keeps the favourable outcome that it is given."""

    kind = "with positive"
    options = Options.of(given=["positive"])

    def __init__(self, value: Any, *, positive: Any) -> None:
        self.value_and_positive = (value, positive)

    @property
    def identity(self) -> str:
        return "with positive"

    def run(self, points: Any, space: Space) -> Any:
        raise NotImplementedError


def test_by_default_nothing_is_known_of_software():
    adapter = OfFunction(len)
    assert OfFunction.accepts(len) is False
    assert adapter.name == "of function"
    assert adapter.form() == ModelForm()
    assert adapter.unread(PEOPLE) == frozenset()
    assert adapter.refuses_missing(PEOPLE) == ()
    assert (adapter.expensive, adapter.printed, adapter.own_process) == (
        False,
        False,
        False,
    )
    assert (adapter.takes_texts, adapter.outputs, adapter.suffixes) == (False, (), ())


def test_software_that_takes_no_gaps_refuses_all_that_may_be_passed():
    assert gaps_of(PEOPLE) == [0, 2]
    assert TakesNoGaps(len).refuses_missing(PEOPLE) == ("age", "job")
    assert TakesGaps(len).refuses_missing(PEOPLE) == ()


def test_options_are_given_to_the_constructor():
    adapter = OfFunction.of(len, scale=2.0, positive="yes")
    assert isinstance(adapter, OfFunction)
    assert (adapter.answer, adapter.scale) == (len, 2.0)
    refused(
        UsageError,
        lambda: OfFunction.of(len, scael=2.0),
        "adapter 'of function' has no option 'scael'",
        "'scale'",
    )
    kept = WithPositive.of(3, positive="yes")
    assert isinstance(kept, WithPositive)
    assert kept.value_and_positive == (3, "yes")


# What is tried where software does not say whether it takes gaps

AGE, JOB = (PEOPLE.features[position].missing_code for position in (0, 2))


def failing_on(column: int, code: float) -> Any:
    def answer(points: Any) -> Any:
        if (points[:, column] == code).any():
            raise ValueError("a gap")
        return np.ones(len(points))

    return answer


def not_a_number(points: Any) -> Any:
    return np.where(points[:, 2] == JOB, np.nan, 1.0)


def failing(points: Any) -> Any:
    raise ValueError("always")


@pytest.mark.parametrize(
    ("answer", "names"),
    [
        (lambda points: np.ones(len(points)), ()),
        (failing_on(0, AGE), ("age",)),
        (failing_on(2, JOB), ("job",)),
        # A number that is none is no answer, and other kinds of answers have none.
        (not_a_number, ("job",)),
        (lambda points: np.array(["yes"] * len(points)), ()),
        (lambda points: np.array([True] * len(points)), ()),
        # What fails without a gap fails for another reason.
        (failing, ()),
        (lambda points: np.full(len(points), np.nan), ()),
    ],
)
def test_the_gaps_that_software_fails_on(answer, names):
    assert tried_missing(OfFunction(answer), PEOPLE) == names


def test_one_person_is_asked_without_gaps_then_with_all_then_with_each():
    adapter = OfFunction(failing_on(0, AGE))
    tried_missing(adapter, PEOPLE)
    gaps = []
    for points in adapter.asked:
        ((age, _, job, _),) = points
        gaps.append((age == AGE, job == JOB))
    assert gaps == [(False, False), (True, True), (True, False), (False, True)]


def test_software_is_not_asked_where_nothing_can_be_missing():
    adapter = OfFunction(failing)
    assert tried_missing(adapter, Space([integer("age", 0, 9)])) == ()
    assert adapter.asked == []


def test_a_person_who_was_drawn_with_gaps_is_given_known_values_first():
    always = Feature("age", "integer", low=3, high=9, missing=0.999)
    space = Space([always, category("sex", ["F", "M"])])
    adapter = OfFunction(lambda points: np.ones(len(points)))
    tried_missing(adapter, space)
    assert [points[0][0] for points in adapter.asked] == [3.0, always.missing_code]


def test_warnings_of_what_is_tried_are_not_shown():
    def warning(points: Any) -> Any:
        import warnings

        warnings.warn("a gap", UserWarning, stacklevel=1)
        return np.ones(len(points))

    assert tried_missing(OfFunction(warning), PEOPLE) == ()


# What is made of failures


def test_what_software_raises_is_one_sentence():
    def crash(error: BaseException) -> None:
        with crashes_reported("lend", 1200):
            raise error

    refused(
        SubjectCrashed,
        lambda: crash(ValueError("no\nage")),
        "lend raised ValueError on 1,200 inputs: no age",
    )
    refused(SubjectCrashed, lambda: crash(SystemExit(3)), "sys.exit(3) on 1,200 inputs")
    refused(BadOutcome, lambda: crash(BadOutcome("as it is")), "as it is")


def test_an_adapter_that_would_end_the_process_is_one_sentence():
    def leave(_points: Any) -> Any:
        raise SystemExit(3)

    points = np.zeros((2, 4))
    refused(
        SubjectCrashed,
        lambda: list(replies_of(OfFunction(leave), points, PEOPLE)),
        "of function called sys.exit(3) on 2 inputs",
    )
    (reply,) = replies_of(OfFunction(lambda points: points[:, 0]), points, PEOPLE)
    assert reply[0].tolist() == [0, 1]
    assert reply[1].tolist() == [0.0, 0.0]
