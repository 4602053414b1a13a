"""Text classifiers as functions and estimators: equal texts, batches, memo, ledger, counters, every
wrong answer.
"""

# mypy: disable-error-code="arg-type,call-arg,list-item"
# Wrong arguments are what these tests are about.

from __future__ import annotations

import math
import pickle
from typing import Any

import numpy as np
import pandas as pd
import pytest
from sklearn.feature_extraction.text import CountVectorizer, TfidfVectorizer
from sklearn.linear_model import LogisticRegression
from sklearn.neighbors import KNeighborsClassifier
from sklearn.pipeline import make_pipeline
from sklearn.svm import LinearSVC

from evenhand.runtime.errors import (
    BadOutcome,
    DataError,
    LedgerError,
    NotDeterministic,
    SubjectCrashed,
    UsageError,
)
from evenhand.texts.text_subject import TextSubject, text_subject_of
from tests.support.helpers import refused

TEXTS = ["a good film", "a bad film", "bad, bad, bad", "good and bad", "the end"]


def praise(texts: list[str]) -> list[bool]:
    return ["bad" not in text for text in texts]


class Counting:
    """A real function that says about what it was called."""

    def __init__(self, answer: Any = None) -> None:
        self.calls: list[list[str]] = []
        self.answer = answer or praise

    def __call__(self, texts: list[str]) -> Any:
        assert type(texts) is list
        assert all(type(text) is str for text in texts)
        self.calls.append(texts)
        return self.answer(texts)


def pipeline(last: Any = None, first: Any = None, labels: Any = (1, 0, 0, 1, 1)) -> Any:
    return make_pipeline(first or TfidfVectorizer(), last or LogisticRegression()).fit(
        TEXTS, list(labels)
    )


@pytest.mark.parametrize("shape", [list, np.array, pd.Series, tuple])
def test_outcomes_may_come_in_any_form(shape):
    subject = TextSubject(lambda texts: shape(praise(texts)))
    assert subject.decide(TEXTS).tolist() == [True, False, False, False, True]
    assert subject.amount(subject.decide(TEXTS)).tolist() == [1, 0, 0, 0, 1]


@pytest.mark.parametrize(
    "given", [TEXTS, tuple(TEXTS), np.array(TEXTS), pd.Series(TEXTS, index=list("vwxyz"))]
)
def test_texts_may_come_in_any_form(given):
    assert TextSubject(Counting()).decide(given).tolist() == [
        True,
        False,
        False,
        False,
        True,
    ]


@pytest.mark.parametrize("memo", [False, True])
def test_equal_texts_are_asked_once_and_in_batches(memo):
    model = Counting()
    subject = TextSubject(model, batch=2, memo=memo)
    assert (
        subject.decide([*TEXTS, *TEXTS[::-1]]).tolist()
        == [True, False, False, False, True] * 2
    )
    assert [len(call) for call in model.calls] == [2, 2, 1]
    assert (subject.asked, subject.executed) == (10, 5)
    assert subject.decide([]).tolist() == []
    assert subject.decide(np.array([], dtype=str)).tolist() == []
    subject.decide(TEXTS[:3])
    assert (subject.asked, subject.executed) == (13, 5 if memo else 8)


def test_a_ledger_answers_the_next_run_and_keeps_what_was_answered_before_a_crash(tmp_path):
    def fails(texts: list[str]) -> Any:
        if "the end" in texts:
            raise ValueError("no\nend")
        return praise(texts)

    file = tmp_path / "texts.db"
    with TextSubject(Counting(fails), batch=2, ledger=file, identity="film") as broken:
        refused(
            SubjectCrashed,
            lambda: broken.decide(TEXTS),
            "Counting raised ValueError on 1 inputs: no end",
        )
        assert broken.executed == 4
    model = Counting()
    with TextSubject(model, ledger=file, identity="film") as subject:
        assert subject.keeps_ledger
        assert subject.decide([*TEXTS, "\ud800"]).tolist() == [
            True,
            False,
            False,
            False,
            True,
            True,
        ]
        assert model.calls == [["the end", "\ud800"]]
        assert pickle.loads(pickle.dumps(subject)).decide(TEXTS).tolist() == [
            True,
            False,
            False,
            False,
            True,
        ]
        subject.need_deterministic(TEXTS)
        asked = len(model.calls)
        subject.need_deterministic(TEXTS)
        assert len(model.calls) == asked
    refused(
        LedgerError,
        lambda: TextSubject(Counting(), ledger=file, identity="other"),
        "belongs to another subject",
    )


def test_another_function_is_another_subject_of_a_ledger(tmp_path):
    TextSubject(
        lambda texts: [len(text) > 3 for text in texts], ledger=tmp_path / "a.db"
    ).close()
    other = lambda: TextSubject(  # noqa: E731
        lambda texts: [len(text) > 4 for text in texts], ledger=tmp_path / "a.db"
    )
    refused(LedgerError, other, "belongs to another subject")


def test_estimators_give_labels_scores_and_labels_by_threshold():
    model = pipeline(labels=["fine", "toxic", "toxic", "fine", "fine"])
    share = model.predict_proba(TEXTS)[:, 0]
    labels = TextSubject(model, positive="fine")
    assert labels.decide(TEXTS).tolist() == model.predict(TEXTS).tolist()
    assert (labels.favoured, labels.counts, labels.name) == ("fine", True, "Pipeline")
    scores = TextSubject(model, positive="fine", output="score")
    assert scores.decide(TEXTS).tolist() == share.tolist()
    assert scores.amount(scores.decide(TEXTS)).tolist() == share.tolist()
    assert (scores.favoured, scores.counts) == ("the score", False)
    strict = TextSubject(model, positive="fine", threshold=0.7)
    assert strict.decide(TEXTS).tolist() == np.where(share >= 0.7, "fine", "toxic").tolist()


def test_a_function_may_give_scores():
    subject = TextSubject(
        lambda texts: [len(text) / 100 for text in texts], output="score", differs=0.05
    )
    assert subject.amount(subject.decide(TEXTS)).tolist() == [
        len(text) / 100 for text in TEXTS
    ]
    assert not subject.counts
    assert subject.view.distance(np.array([0.1]), np.array([0.2])).tolist() == [True]
    refused(
        UsageError,
        lambda: TextSubject(len, threshold=0.5),
        "threshold and output are for estimators",
    )


@pytest.mark.parametrize(
    ("answer", "words"),
    [
        (lambda texts: [True], "returned 1 outcomes for 5 inputs"),
        (lambda texts: None, "returned the single value None"),
        (lambda texts: [None] * len(texts), "answered None to 5 of 5 inputs"),
        (lambda texts: np.array([math.nan, 0, 0, 1, 1]), "answered nan to 1 of 5 inputs"),
        (
            lambda texts: np.zeros((len(texts), 2)),
            "returned outcomes of shape (5, 2) for 5 texts",
        ),
        (
            lambda texts: [[1]] * len(texts),
            "answered [1]; an outcome is a text, a number or a truth value",
        ),
        (lambda texts: ["yes"] * 3 + [1, 2], "answered the text 'yes' beside numbers"),
    ],
)
@pytest.mark.parametrize("memo", [False, True])
def test_wrong_answers_are_named(answer, words, memo):
    message = refused(
        BadOutcome,
        lambda: TextSubject(Counting(answer), memo=memo).decide(TEXTS),
        "Counting",
        words,
    )
    assert "outputs=" not in message


def test_a_label_that_is_none_is_named():
    subject = TextSubject(lambda texts: ["maybe"] * len(texts), labels=["yes", "no"])
    refused(
        BadOutcome,
        lambda: subject.decide(TEXTS),
        "answered 'maybe', which is not an outcome",
    )


def test_two_answers_to_one_text_are_named():
    flip = iter(range(100))
    subject = TextSubject(lambda texts: [next(flip) > 7 for _ in texts])
    message = refused(
        NotDeterministic,
        lambda: subject.need_deterministic(TEXTS),
        "gave 2 of 5 texts another outcome",
    )
    assert "False and then True to 'good and bad'" in message
    assert NotDeterministic.exit_code == 4


def test_wrong_subjects_and_options_are_named():
    columns = KNeighborsClassifier().fit(np.zeros((5, 3)), [0, 1, 0, 1, 0])
    several = make_pipeline(CountVectorizer(), KNeighborsClassifier(1)).fit(
        TEXTS, [[0, 1]] * 3 + [[1, 0]] * 2
    )
    for call, words in [
        (lambda: TextSubject(LogisticRegression), "is a class; pass a fitted instance"),
        (
            lambda: TextSubject(3),
            "3 is neither a function of a list of texts nor a fitted estimator",
        ),
        (
            lambda: TextSubject(make_pipeline(CountVectorizer(), LogisticRegression())),
            "is not fitted",
        ),
        (
            lambda: TextSubject(columns),
            "was trained with 3 columns of numbers and not with texts",
        ),
        (lambda: TextSubject(several), "gives several outputs for each text"),
        (lambda: TextSubject(pipeline(LinearSVC()), threshold=0.5), "has no predict_proba"),
        (
            lambda: TextSubject(pipeline(), positive=7),
            "positive = 7 is not a class of Pipeline",
        ),
        (
            lambda: TextSubject(len, batch=0),
            "batch = 0 must be a whole number of at least 1",
        ),
        (lambda: TextSubject(len, batch=True), "batch = True"),
        (lambda: TextSubject(len, output="scores"), "did you mean 'score'?"),
        (lambda: TextSubject(len, bach=3), "has no option 'bach'; did you mean 'batch'?"),
        (
            lambda: text_subject_of(TextSubject(len), positive=1),
            "positive = 1 is for a bare model",
        ),
    ]:
        refused(UsageError, call, words)
    refused(DataError, lambda: TextSubject(len).decide(["a", None]), "text 1 is None")
    refused(
        DataError, lambda: TextSubject(len).decide("a text"), "a str is not a list of texts"
    )
    refused(DataError, lambda: TextSubject(len).decide(None), "None is not a list of texts")


def test_a_subject_stays_as_it_is():
    subject = TextSubject(len)
    assert text_subject_of(subject, positive=None) is subject
    assert text_subject_of(pipeline(), positive=1).favoured == "1"


@pytest.mark.heavy
def test_a_torch_module_takes_no_texts():
    torch = pytest.importorskip("torch")
    refused(
        UsageError,
        lambda: TextSubject(torch.nn.Linear(2, 1)),
        "Linear is a torch module, which takes no texts",
    )
