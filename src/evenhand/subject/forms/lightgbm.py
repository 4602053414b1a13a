"""What LightGBM's models say of their inputs: the columns, and the categories of pandas' frames."""

from __future__ import annotations

import re
from dataclasses import replace
from typing import Any

import numpy as np

from evenhand.subject.model_form import ModelForm

_CATEGORICAL = re.compile(r"^\[categorical_feature: ([\d,]+)\]$", re.MULTILINE)
_UNNAMED = re.compile(r"Column_\d+")


def lightgbm_form(model: Any) -> ModelForm:
    """Return the form of a Booster, or of a fitted estimator of LightGBM."""
    booster = model.booster_ if hasattr(model, "booster_") else model
    names = tuple(booster.feature_name())
    classes = getattr(model, "classes_", None)
    labels = None
    if classes is not None:
        labels = tuple(np.asarray(classes).tolist())
    form = ModelForm(classes=labels, takes_missing=True, library="lightgbm")
    # Trained on an array, its columns have names of LightGBM's own.
    if all(_UNNAMED.fullmatch(name) for name in names):
        return form
    categories = _categories(booster, names)
    dtypes = dict.fromkeys(categories, "category")
    return replace(form, columns=names, dtypes=dtypes, categories=categories)


def _categories(booster: Any, names: tuple[str, ...]) -> dict[str, tuple[Any, ...]]:
    """Return the categories of the columns that were pandas' categories, by column.

    LightGBM keeps them in the order of the columns, and the numbers of the columns elsewhere.
    """
    kept = booster.pandas_categorical or []
    if not kept:
        return {}
    text = booster.model_to_string(num_iteration=1)
    listed = _CATEGORICAL.search(text)
    if listed is None:
        return {}
    numbers = [int(number) for number in listed.group(1).split(",")]
    # Columns of numbers may have been named as categories besides: it is not said which.
    if len(numbers) != len(kept):
        return {}
    categories = {}
    for number, levels in zip(sorted(numbers), kept, strict=True):
        name = names[number]
        categories[name] = tuple(levels)
    return categories
