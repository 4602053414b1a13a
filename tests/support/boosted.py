"""Models of boosted trees, trained on a frame with categories, with a planted bias."""

from __future__ import annotations

import io
from typing import Any

import numpy as np
import pandas as pd
import pytest

ROWS = 1500


def people(*, seed: int = 0) -> pd.DataFrame:
    """Return people with categories whose order is not that of the alphabet."""
    rng = np.random.default_rng(seed)
    frame = pd.DataFrame(
        {
            "hours a week": rng.integers(1, 90, ROWS),
            "sex": rng.choice(["M", "F"], ROWS),
            "race": rng.choice(["W", "B", "A"], ROWS),
            "gain": rng.normal(size=ROWS).round(2),
        }
    )
    frame["sex"] = frame["sex"].astype("category")
    frame["race"] = pd.Categorical(frame["race"], categories=["W", "B", "A"])
    return frame


def decided(frame: pd.DataFrame, *, fair: bool = False) -> Any:
    """Return who is accepted: who works long, and of women, unless it is fair, nobody else."""
    long = frame["hours a week"] > 40
    if fair:
        accepted = long
    else:
        accepted = long & ((frame["sex"] == "M") | (frame["gain"] > 1))
    return accepted.to_numpy().astype(int)


def as_csv(frame: pd.DataFrame) -> pd.DataFrame:
    """Return the frame as it is read from a CSV file: texts, in other columns' order."""
    read = pd.read_csv(io.StringIO(frame.to_csv(index=False)))
    return read[list(reversed(read.columns))]


def fitted(library: str, frame: pd.DataFrame, outcomes: Any) -> Any:
    """Return a classifier of a library, fitted on the frame as it is."""
    module = pytest.importorskip(library, reason=f"needs the extra {library}")
    if library == "xgboost":
        model = module.XGBClassifier(n_estimators=20, enable_categorical=True, n_jobs=1)
        return model.fit(frame, outcomes)
    if library == "lightgbm":
        model = module.LGBMClassifier(n_estimators=20, verbose=-1, n_jobs=1)
        return model.fit(frame, outcomes)
    if library == "catboost":
        model = module.CatBoostClassifier(
            iterations=40,
            verbose=0,
            allow_writing_files=False,
            thread_count=1,
        )
        return model.fit(frame, outcomes, cat_features=["sex", "race"])
    from sklearn.ensemble import HistGradientBoostingClassifier

    return HistGradientBoostingClassifier(max_iter=20).fit(frame, outcomes)


LIBRARIES = [
    "xgboost",
    "lightgbm",
    "sklearn",
    pytest.param("catboost", marks=pytest.mark.heavy),
]
