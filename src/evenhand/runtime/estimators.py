"""What is known of scikit-learn's estimators without importing them."""

from __future__ import annotations

import inspect
from typing import Any


def weight_keyword(model: Any) -> str | None:
    """Return the keyword that carries the weights of rows into `fit`, which in a pipeline names the
    last step.

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
    if all(parameter.kind is not parameter.VAR_KEYWORD for parameter in parameters.values()):
        return None
    # A search over parameters hands on what it is given to the estimator that it searches with.
    return weight_keyword(model.estimator) if hasattr(model, "estimator") else "sample_weight"
