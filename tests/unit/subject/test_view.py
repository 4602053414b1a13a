"""One output at a time: what it is called, and which answers it gave."""

from __future__ import annotations

from typing import Any

import pytest

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
