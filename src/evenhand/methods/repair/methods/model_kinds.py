"""What a model is: a classifier, a regressor or a function, and by what it scores its labels."""

from __future__ import annotations

from typing import Any


def scorer_of(model: Any) -> str | None:
    """Return the method of a model that scores its labels, if it has one."""
    for name in ("predict_proba", "decision_function"):
        if hasattr(model, name):
            return name
    return None


def kind_of(model: Any) -> str | None:
    """Return "classifier" or "regressor"; None for a function, and for what is neither."""
    from sklearn.base import is_classifier, is_regressor

    try:
        classifier = is_classifier(model)
        regressor = is_regressor(model)
    except (AttributeError, TypeError):  # no estimator of scikit-learn
        classifier = False
        regressor = False
    if classifier:
        return "classifier"
    if regressor:
        return "regressor"
    if hasattr(model, "classes_"):
        return "classifier"
    return None


def is_function(model: Any) -> bool:
    """Return whether a model is a function rather than an estimator."""
    return callable(model) and not hasattr(model, "predict")


def name_of(model: Any) -> str:
    """Return the name of a function, or of the class of a model."""
    return str(getattr(model, "__qualname__", type(model).__name__))
