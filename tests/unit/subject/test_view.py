"""One output at a time: what it is called, and which answers it gave."""

from __future__ import annotations

from typing import Any

import pytest
from sklearn.linear_model import LinearRegression, LogisticRegression

import evenhand as eh
from evenhand.runtime.errors import UsageError
from evenhand.subject.answers_seen import MOST
from evenhand.subject.view import View, views_for

SPACE = eh.Space([eh.integer("age", 0, 99)])


def view_of(**options: Any) -> View:
    return View(eh.Subject(lambda people: people["age"] > 50, SPACE, **options))


def several(**options: Any) -> eh.Subject:
    def decide(people: Any) -> Any:
        return {"grant": people["age"] > 50, "rate": people["age"]}

    return eh.Subject(decide, SPACE, outputs=["grant", "rate"], **options)


@pytest.mark.parametrize(
    ("positive", "favoured", "names_it"),
    [
        (None, "the favourable outcome", False),
        ("yes", "yes", True),
        (["yes", "maybe"], "yes or maybe", True),
        (lambda y: y > 0, "the favourable outcome", False),
    ],
)
def test_what_is_favourable_in_words(positive, favoured, names_it):
    view = view_of(positive=positive)
    assert view.favoured == favoured
    assert view.names_outcome == names_it
    assert view.title == ""


def test_an_output_has_its_name():
    subject = several(positive={"grant": True})
    grant, rate = views_for(subject, "causal")
    assert (grant.title, rate.title) == ("grant", "rate")
    assert grant.favoured == "grant True"
    assert rate.favoured == "the favourable rate"
    assert grant.decide([{"age": 60}]).tolist() == [True]
    assert rate.decide([{"age": 60}]).tolist() == [60]
    assert rate.answers == (60,)


def test_each_of_three_labels_is_looked_at_by_itself():
    view = view_of(labels=["a", "b", "c"])
    assert len(views_for(view.subject, "causal")) == 1
    titles = [one.title for one in views_for(view.subject, "group")]
    assert titles == ["a", "b", "c"]
    assert view.only("b").positive == "b"
    two = view_of(labels=["a", "b"])
    assert len(views_for(two.subject, "group")) == 1
    known = view_of(labels=["a", "b", "c"], positive="a")
    assert len(views_for(known.subject, "group")) == 1


def test_the_only_answer_of_a_run():
    view = view_of(positive="yes")
    assert view.only_answer(["yes"]) == "yes"
    assert view.only_answer([]) is None
    assert view.only_answer(["yes", "no"]) is None
    assert view.unfavoured("no")
    assert not view.unfavoured("yes")
    assert not view.unfavoured(None)
    assert view.answer_fields("no") == {"only_answer": "no", "unfavoured": True}


def test_a_favourable_outcome_that_never_came_is_refused():
    view = view_of(positive="yess")
    with pytest.raises(UsageError, match="yess"):
        view.only_answer(["yes", "no"])
    with pytest.raises(UsageError, match="yess"):
        view.only_answer(["no"], favoured=False)
    # Where somebody got it, or answers are too many to be told apart, nothing is said.
    assert view.only_answer(["yes", "no"], favoured=True) is None
    assert view.only_answer([str(number) for number in range(MOST)]) is None
    assert view.only_answer(["no"]) == "no"


def scored(**options: Any) -> View:
    model = LogisticRegression().fit([[1], [60], [80]], ["no", "yes", "yes"])
    return View(eh.Subject(model, SPACE, output="score", **options))


def test_scores_and_amounts_in_words():
    assert scored().favoured == "the score"
    assert scored(positive="no").favoured == "the score"
    assert not scored(positive="no").names_outcome
    model = LinearRegression().fit([[1], [60]], [1.0, 2.0])
    assert View(eh.Subject(model, SPACE)).favoured == "outcome"
    both = LinearRegression().fit([[1], [60]], [[1.0, 2.0], [3.0, 4.0]])
    named = eh.Subject(both, SPACE, outputs=["limit", "rate"])
    assert View(named, "rate").favoured == "rate"


def test_a_title_has_the_output_and_the_outcome():
    subject = several(labels={"rate": [1, 2, 3]})
    assert View(subject, "rate", 2).title == "rate 2"
    assert View(subject, "rate").title == "rate"
    assert view_of().only(0).title == "0"
    assert view_of().only("yes").favoured == "yes"
    assert View(subject, "rate", 2).favoured == "rate 2"
    assert View(subject, "rate", 2).names_outcome
    one_of = several(positive={"rate": [1, 2]})
    assert View(one_of, "rate").favoured == "rate 1 or 2"
    assert View(one_of, "grant").favoured == "the favourable grant"


def test_a_target_takes_the_place_of_what_the_subject_says():
    view = view_of(positive="yes", differs=0.5)
    assert view.meaning is view.subject.meanings[""]
    other = view.only("no")
    assert other.positive == "no"
    assert other.differs == 0.5
    assert other.subject is view.subject
    # It is not favourable for that.
    assert other.unfavoured("no")
    assert not other.unfavoured("yes")


def test_labels_of_each_output_are_looked_at_by_themselves():
    subject = several(labels={"rate": [7, 8, 9]})
    titles = [view.title for view in views_for(subject, "group")]
    assert titles == ["grant", "rate 7", "rate 8", "rate 9"]
    assert [view.title for view in views_for(subject, "causal")] == ["grant", "rate"]


def test_of_scores_no_label_is_looked_at_by_itself():
    ages = [[1], [50], [80]]
    model = LogisticRegression().fit(ages, ["a", "b", "c"])
    labels = eh.Subject(model, SPACE)
    assert [view.title for view in views_for(labels, "group")] == ["a", "b", "c"]
    numbers = eh.Subject(LinearRegression().fit(ages, [1.0, 2.0, 4.0]), SPACE)
    assert [view.title for view in views_for(numbers, "group")] == [""]


def test_eleven_answers_are_compared_and_twelve_are_too_many():
    view = view_of(positive="yess")
    eleven = [str(number) for number in range(11)]
    with pytest.raises(UsageError, match="yess"):
        view.only_answer(eleven)
    assert view.only_answer([*eleven, "11"]) is None
    # One answer alone tells nothing of what others the software may give.
    assert view.only_answer(["no"]) == "no"
    assert view.only_answer([]) is None


def test_amounts_and_distances_are_those_of_the_output():
    view = several(differs={"rate": 10.0}, positive={"rate": [60]}).meanings
    assert view["rate"].differs == 10.0
    rate = View(several(differs={"rate": 10.0}, positive={"rate": [60]}), "rate")
    outcomes = rate.decide([{"age": 50}, {"age": 60}])
    assert rate.amount(outcomes).tolist() == [0.0, 1.0]
    assert rate.favourable(outcomes).tolist() == [False, True]
    assert rate.distance(outcomes, outcomes + 11).tolist() == [True, True]
    assert rate.distance(outcomes, outcomes + 10).tolist() == [False, False]
    assert not rate.graded
