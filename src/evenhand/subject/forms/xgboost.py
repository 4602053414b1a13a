"""What XGBoost's models say of their inputs: names, types and categories of their columns."""

from __future__ import annotations

from typing import Any

import numpy as np

from evenhand.subject.model_form import ModelForm

_DTYPES = {"c": "category", "int": "int64", "i": "bool", "float": "float64", "q": "float64"}
"""XGBoost's types of features, by pandas' names."""


def xgboost_form(model: Any) -> ModelForm:
    """Return the form of a Booster, or of a fitted estimator of XGBoost."""
    booster = model.get_booster() if hasattr(model, "get_booster") else model
    names = booster.feature_names
    classes = getattr(model, "classes_", None)
    if classes is None:
        labels = None
    else:
        labels = tuple(np.asarray(classes).tolist())
    if not names:
        return ModelForm(classes=labels, takes_missing=True, library="xgboost")
    types = booster.feature_types or []
    dtypes = {}
    for name, type_ in zip(names, types, strict=False):
        if type_ in _DTYPES:
            dtypes[name] = _DTYPES[type_]
    categories = _categories(booster)
    return ModelForm(
        columns=tuple(names),
        dtypes=dtypes,
        categories=categories,
        closed=frozenset(categories),
        classes=labels,
        takes_missing=True,
        library="xgboost",
    )


def _categories(booster: Any) -> dict[str, tuple[Any, ...]]:
    """Return the categories by column, which XGBoost keeps since version 3.1."""
    if not hasattr(booster, "get_categories"):
        return {}
    try:
        kept = booster.get_categories(export_to_arrow=True).to_arrow()
    except Exception:
        # Without pyarrow, or a model of a version that kept none.
        return {}
    found = {}
    for name, values in kept or ():
        if values is not None:
            found[name] = tuple(values.to_pylist())
    return found
