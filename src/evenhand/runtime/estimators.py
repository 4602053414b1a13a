"""What is known of scikit-learn's estimators without importing them."""

from __future__ import annotations

import inspect
from typing import Any


def weight_keyword(model: Any) -> str | None:
    """Return the keyword of `fit` for the weights of rows; in a pipeline it names the last step.

    >>> from sklearn.linear_model import LogisticRegression
    >>> from sklearn.pipeline import make_pipeline
    >>> weight_keyword(make_pipeline(LogisticRegression()))
    'logisticregression__sample_weight'
    """
    if getattr(model, "steps", None):
        step, last = model.steps[-1]
        inner = weight_keyword(last)
        return None if inner is None else f"{step}__{inner}"
    parameters = inspect.signature(model.fit).parameters
    if "sample_weight" in parameters:
        return "sample_weight"
    if not any(
        parameter.kind is parameter.VAR_KEYWORD for parameter in parameters.values()
    ):
        return None
    # A search over parameters hands on what it is given to the estimator that it searches with.
    if hasattr(model, "estimator"):
        return weight_keyword(model.estimator)
    return "sample_weight"
