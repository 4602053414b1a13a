"""Fitted models in files, as their libraries write them."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import joblib
import numpy as np
import pandas as pd
from sklearn.compose import make_column_transformer
from sklearn.ensemble import HistGradientBoostingClassifier
from sklearn.linear_model import LinearRegression, LogisticRegression
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import OneHotEncoder
from sklearn.tree import DecisionTreeClassifier

from tests.support.front_door.people import PROTECTED, approved, people, worth
from tests.support.front_door.real import adult_people

if TYPE_CHECKING:
    from pathlib import Path

TEXTS = ["education", "sex", "race"]
INPUTS = ["age", "education", "income", "debt", "sex", "race"]
DATA = "people.csv"


def encoded(model: Any) -> Any:
    """Return a pipeline that turns texts into numbers before the model sees them."""
    encoder = OneHotEncoder(handle_unknown="ignore")
    columns = make_column_transformer((encoder, TEXTS), remainder="passthrough")
    return make_pipeline(columns, model)


def written(folder: Path, frame: pd.DataFrame, outcome: Any, name: str) -> pd.DataFrame:
    """Write the data with their outcome, and return the inputs as they are read back."""
    frame.assign(**{name: outcome}).to_csv(folder / DATA, index=False)
    return pd.read_csv(folder / DATA)[list(frame.columns)]


def with_categories(frame: pd.DataFrame) -> pd.DataFrame:
    """Return a frame whose texts are categories, as boosting libraries want them."""
    return frame.astype(dict.fromkeys(TEXTS, "category"))


def words(model: str, target: str, *more: str) -> list[str]:
    """Return what stands after `evenhand init` for a model of these data."""
    return [DATA, model, "--target", target, "--protected", PROTECTED, *more]


def joblib_pipeline(folder: Path, biased: bool) -> list[str]:
    """A logistic regression that answers 1 and 0, where the data say yes and no."""
    frame = people()
    granted = approved(frame, biased=biased)
    inputs = written(folder, frame, np.where(granted, "yes", "no"), "granted")
    model = encoded(LogisticRegression(C=100.0, max_iter=5000))
    model.fit(inputs, granted.astype(int))
    joblib.dump(model, folder / "model.joblib")
    return words("model.joblib", "granted", "--positive", "yes", "--allow-pickle")


def skops_pipeline(folder: Path, biased: bool) -> list[str]:
    """A decision tree whose types must be trusted."""
    import skops.io

    frame = people()
    granted = np.where(approved(frame, biased=biased), "approve", "deny")
    inputs = written(folder, frame, granted, "decision")
    model = encoded(DecisionTreeClassifier(min_samples_leaf=20, random_state=0))
    model.fit(inputs, granted)
    skops.io.dump(model, folder / "model.skops")
    return words("model.skops", "decision", "--trust", "sklearn.tree._tree.Tree")


def histogram_boosting(folder: Path, biased: bool) -> list[str]:
    """Histogram boosting that takes categories and missing values as they are."""
    frame = people(missing=True)
    granted = approved(frame, biased=biased)
    inputs = written(folder, frame, granted.astype(int), "granted")
    model = HistGradientBoostingClassifier(
        categorical_features="from_dtype",
        max_iter=40,
        random_state=0,
    )
    model.fit(with_categories(inputs), granted.astype(int))
    joblib.dump(model, folder / "model.pkl")
    return words("model.pkl", "granted", "--allow-pickle")


def xgboost_json(folder: Path, biased: bool) -> list[str]:
    """XGBoost with categories, in its own JSON, which answers 0 and 1."""
    from xgboost import XGBClassifier

    frame = people(missing=True)
    granted = approved(frame, biased=biased)
    inputs = written(folder, frame, np.where(granted, ">50K", "<=50K"), "income class")
    model = XGBClassifier(n_estimators=30, max_depth=4, enable_categorical=True, n_jobs=1)
    model.fit(with_categories(inputs), granted.astype(int))
    model.save_model(folder / "model.json")
    return words("model.json", "income class", "--positive", ">50K")


def lightgbm_text(folder: Path, biased: bool) -> list[str]:
    """LightGBM with categories, in its own text."""
    from lightgbm import LGBMClassifier

    frame = people(missing=True)
    granted = approved(frame, biased=biased)
    inputs = written(folder, frame, np.where(granted, "yes", "no"), "granted")
    model = LGBMClassifier(n_estimators=30, num_leaves=15, verbose=-1, n_jobs=1)
    model.fit(with_categories(inputs), granted.astype(int))
    model.booster_.save_model(folder / "model.txt")
    return words("model.txt", "granted", "--positive", "yes")


def catboost_file(folder: Path, biased: bool) -> list[str]:
    """CatBoost, in its own file, which answers in the words of the data."""
    from catboost import CatBoostClassifier

    frame = people()
    granted = np.where(approved(frame, biased=biased), "yes", "no")
    inputs = written(folder, frame, granted, "granted")
    model = CatBoostClassifier(
        iterations=40,
        depth=4,
        learning_rate=0.5,
        verbose=False,
        thread_count=1,
        allow_writing_files=False,
    )
    model.fit(inputs, granted, cat_features=TEXTS)
    model.save_model(str(folder / "model.cbm"))
    return words("model.cbm", "granted", "--positive", "yes")


def onnx_file(folder: Path, biased: bool) -> list[str]:
    """A pipeline turned into ONNX, with an input for each column."""
    from skl2onnx import to_onnx
    from skl2onnx.common.data_types import FloatTensorType, StringTensorType

    frame = people()
    granted = approved(frame, biased=biased)
    inputs = written(folder, frame, np.where(granted, "yes", "no"), "granted")
    model = encoded(DecisionTreeClassifier(min_samples_leaf=20, random_state=0))
    model.fit(inputs, granted.astype(int))
    types = []
    for name in INPUTS:
        kind = StringTensorType if name in TEXTS else FloatTensorType
        types.append((name, kind([None, 1])))
    options = {"zipmap": False}
    converted = to_onnx(model, initial_types=types, options=options)
    (folder / "model.onnx").write_bytes(converted.SerializeToString())
    return words("model.onnx", "granted", "--positive", "yes")


def regression(folder: Path, biased: bool) -> list[str]:
    """A model of salaries: numbers, none of which is the favourable one."""
    frame = people()
    salary = 1000 * worth(frame, biased=biased)
    inputs = written(folder, frame, salary, "salary")
    model = encoded(LinearRegression())
    model.fit(inputs, salary)
    joblib.dump(model, folder / "model.joblib")
    return words("model.joblib", "salary", "--allow-pickle")


def several_classes(folder: Path, biased: bool) -> list[str]:
    """A model of three grades, two of which are favourable."""
    frame = people()
    grade = np.digitize(worth(frame, biased=biased), [35, 70])
    grades = np.array(["C", "B", "A"])[grade]
    inputs = written(folder, frame, grades, "grade")
    model = encoded(DecisionTreeClassifier(min_samples_leaf=20, random_state=0))
    model.fit(inputs, grades)
    joblib.dump(model, folder / "model.joblib")
    return words("model.joblib", "grade", "--positive", "A,B", "--allow-pickle")


def adult(folder: Path, biased: bool) -> list[str]:
    """The people of Adult with their gaps, decided by hours and education.

    Sex and race are drawn anew, since in the data they go with everything else.
    """
    frame = adult_people()
    hours = frame["hours-per-week"] + 3 * frame["education-num"]
    if biased:
        hours -= np.where(frame["sex"] == "Female", 12, 0)
    high = hours > 72
    income = np.where(high, ">50K", "<=50K")
    frame.assign(income=income).to_csv(folder / DATA, index=False)
    inputs = pd.read_csv(folder / DATA).drop(columns="income")
    texts = inputs.select_dtypes(exclude="number").columns
    model = HistGradientBoostingClassifier(
        categorical_features="from_dtype",
        max_iter=40,
        random_state=0,
    )
    model.fit(inputs.astype(dict.fromkeys(texts, "category")), high.astype(int))
    joblib.dump(model, folder / "model.joblib")
    return words("model.joblib", "income", "--positive", ">50K", "--allow-pickle")
