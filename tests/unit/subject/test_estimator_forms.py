"""Estimators: by which keyword they take the weights of rows."""

from __future__ import annotations

from typing import Any

import pytest
from sklearn.linear_model import LogisticRegression
from sklearn.model_selection import GridSearchCV
from sklearn.neighbors import KNeighborsClassifier
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler

from evenhand.subject.forms.estimators import _steps, weight_keyword


class AnyKeyword:
    """An estimator that takes any keyword."""

    def fit(self, x: Any, y: Any, **more: Any) -> AnyKeyword:
        return self


@pytest.mark.parametrize(
    ("model", "keyword"),
    [
        (LogisticRegression(), "sample_weight"),
        (KNeighborsClassifier(), None),
        (AnyKeyword(), "sample_weight"),
        (GridSearchCV(LogisticRegression(), {}), "sample_weight"),
        (GridSearchCV(KNeighborsClassifier(), {}), None),
        (
            make_pipeline(StandardScaler(), LogisticRegression()),
            "logisticregression__sample_weight",
        ),
        (make_pipeline(StandardScaler(), KNeighborsClassifier()), None),
        (
            GridSearchCV(make_pipeline(StandardScaler(), LogisticRegression()), {}),
            "logisticregression__sample_weight",
        ),
    ],
)
def test_the_keyword_is_that_of_the_last_estimator(model, keyword):
    assert weight_keyword(model) == keyword


def test_steps_that_do_nothing_are_left_out():
    scale, model = StandardScaler(), LogisticRegression()
    assert _steps(make_pipeline(scale, "passthrough", None, model)) == [scale, model]
    assert _steps(model) == [model]
