"""What CatBoost's models say of their inputs; of categories they keep no more than a hash."""

from __future__ import annotations

from typing import Any

import numpy as np

from evenhand.subject.model_form import ModelForm


def catboost_form(model: Any) -> ModelForm:
    """Return the form of a fitted model of CatBoost."""
    names = [str(name) for name in model.feature_names_ or ()]
    classes = np.asarray(model.classes_).tolist()
    labels = tuple(classes) if classes else None
    # Trained on an array, its columns are numbered.
    numbered = names == [str(number) for number in range(len(names))]
    if not names or numbered:
        return ModelForm(classes=labels, library="catboost")
    categorical = model.get_cat_feature_indices()
    textual = model.get_text_feature_indices()
    no_numbers = {*categorical, *textual}
    dtypes = {}
    for position, name in enumerate(names):
        if position not in no_numbers:
            dtypes[name] = "float64"
    # Categories must not be missing, and numbers only by a setting: it is tried.
    return ModelForm(
        columns=tuple(names),
        dtypes=dtypes,
        classes=labels,
        library="catboost",
    )
