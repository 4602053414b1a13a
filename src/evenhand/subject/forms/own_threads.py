"""From how many inputs at once a fitted model uses threads of its own."""

from __future__ import annotations

import math
from typing import Any

from evenhand.runtime.workers.threads import WORTH_THREADS

_OPENMP = (
    "xgboost.",
    "lightgbm.",
    "evenhand.subject.adapters.boosters.",
    "sklearn.ensemble._hist_gradient_boosting.",
    "sklearn.neighbors.",
)
"""The modules of models that divide a large question among all cores, unless they are told not to.

A small one is asked with one thread (`runtime.workers.threads_for`).
"""


def own_threads_from(model: Any) -> float:
    """Return from how many inputs at once a model uses threads; infinite where it uses one only.

    >>> from sklearn.ensemble import RandomForestClassifier
    >>> own_threads_from(RandomForestClassifier())
    inf
    >>> own_threads_from(RandomForestClassifier(n_jobs=2))
    0
    """
    settings = _settings(model)
    for name, value in settings.items():
        counts = name.endswith(("n_jobs", "thread_count"))
        if counts and value not in (None, 1):
            return 0
    parts = [model, *settings.values()]
    if any(_is_catboost(part) and part.get_param("thread_count") != 1 for part in parts):
        return 0
    if any(_has_threads(part) for part in parts):
        return WORTH_THREADS
    return math.inf


def _settings(model: Any) -> dict[str, Any]:
    """Return the settings of a model and of the models in it, by name."""
    try:
        return dict(model.get_params(deep=True))
    except Exception:  # of models that are not of scikit-learn
        return {}


def _has_threads(part: Any) -> bool:
    kind = f"{type(part).__module__}."
    return kind.startswith(_OPENMP) and getattr(part, "n_jobs", None) != 1


def _is_catboost(part: Any) -> bool:
    return type(part).__module__.startswith("catboost") and hasattr(part, "get_param")
