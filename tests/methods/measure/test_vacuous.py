"""Scores that could not have been otherwise are no evidence, and never a pass."""

from __future__ import annotations

from typing import Any

import numpy as np
import pandas as pd
import pytest
from sklearn.base import BaseEstimator, ClassifierMixin

import evenhand as eh

PEOPLE = pd.DataFrame({"sex": ["F", "F", "M", "M"] * 75, "age": np.arange(300) % 70 + 18})
SPACE = eh.Space.from_frame(PEOPLE, protected=["sex"])


class NeverApproves(ClassifierMixin, BaseEstimator):  # type: ignore[misc]
    """Knows three answers, and gives another two."""

    def __init__(self, even: str = "deny", odd: str = "later") -> None:
        self.even = even
        self.odd = odd

    def fit(self, x: Any, y: Any) -> NeverApproves:
        self.classes_ = np.unique(y)
        self.feature_names_in_ = np.array(x.columns, dtype=object)
        self.n_features_in_ = x.shape[1]
        return self

    def predict(self, x: Any) -> Any:
        return np.where(x["age"] % 2 == 0, self.even, self.odd)


def subject(positive: str = "approve", **answers: str) -> eh.Subject:
    classes = np.resize(["approve", "deny", "later"], len(PEOPLE))
    model = NeverApproves(**answers).fit(PEOPLE, classes)
    return eh.Subject(model, SPACE, positive=positive)


def sometimes(share: float) -> Any:
    """Return software whose answer is another one each time, to this share of people."""
    random = np.random.default_rng(1)

    def decide(people: Any) -> Any:
        drawn = random.random(len(people))
        texts = np.array([f"x{number:.12f}" for number in drawn])
        return np.where(random.random(len(people)) < share, texts, "no")

    return decide


CALLS = {
    "drawn": lambda tested: eh.measure(tested, kind="group", limit=0.3, exact=False),
    "all": lambda tested: eh.measure(tested, kind="group", limit=0.3, exact=True),
    "mine": lambda tested: eh.mine(tested, None, PEOPLE, limit=0.3, support=0.2),
    "subsets": lambda tested: eh.subsets(tested, kind="group", limit=0.3, among=["sex"]),
    "error rates": lambda tested: eh.measure(
        tested, kind="group", truth=["approve"] * 300, metric="tpr", limit=0.3
    ),
}


@pytest.mark.parametrize("call", CALLS)
def test_error_messages_instead_of_classes_are_no_pass(call):
    found = CALLS[call](subject(even="error 1", odd="error 2"))
    assert found.verdict == "undecided"
    assert found.exit_code == 3
    assert all(finding.unfavoured for finding in found.findings)
    assert "nobody got the favourable outcome" in found.to_text()
    again = eh.Result.from_dict(found.to_dict())
    assert again.verdict == "undecided"


@pytest.mark.parametrize("call", ["drawn", "all", "mine", "subsets"])
@pytest.mark.parametrize("positive", ["deny", "approve"])
def test_classes_that_some_or_none_get_may_pass(call, positive):
    found = CALLS[call](subject(positive))
    assert found.verdict == "pass"
    assert not any(finding.unfavoured for finding in found.findings)


def measured(share: float) -> eh.Result:
    return eh.measure(sometimes(share), SPACE, over="sex", limit=0.3)


def test_outcomes_that_are_another_each_time_are_no_pass():
    found = measured(1.0)
    assert found.worst.estimate.high < 0.3
    assert found.verdict == "undecided"
    assert "changes by chance so often" in found.to_text()
    assert eh.Result.from_dict(found.to_dict()).verdict == "undecided"


def test_some_chance_leaves_enough_to_be_seen():
    found = measured(0.2)
    assert found.worst.noise is not None
    assert found.worst.noise.high < 0.7
    assert found.verdict == "pass"
