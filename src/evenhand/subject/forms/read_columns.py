"""Which columns a fitted scikit-learn model reads, where its structure proves it.

A tree reads the columns that it splits on, a linear model those whose coefficients are not zero. A
column that a model never reads cannot change its answer, so that a space is not larger for it.
Whatever is not known for certain counts as read.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np

if TYPE_CHECKING:
    from collections.abc import Iterable

    from numpy.typing import NDArray

    Flags = NDArray[np.bool_]

COLUMNWISE = (
    "MaxAbsScaler",
    "MinMaxScaler",
    "OrdinalEncoder",
    "PowerTransformer",
    "QuantileTransformer",
    "RobustScaler",
    "StandardScaler",
)
"""Transformers whose output columns are functions of one input column each, in the same order."""


def columns_read(model: Any) -> Flags | None:
    """Return which input columns a model reads, None where that is not known.

    >>> from sklearn.tree import DecisionTreeClassifier
    >>> table = np.array([[0.0, 5.0], [1.0, 5.0], [2.0, 5.0], [3.0, 5.0]])
    >>> tree = DecisionTreeClassifier().fit(table, [0, 0, 1, 1])
    >>> columns_read(tree).tolist()
    [True, False]
    """
    steps = getattr(model, "steps", None)
    if steps is None:
        return _of_estimator(model)
    read = columns_read(steps[-1][1])
    for _, step in reversed(steps[:-1]):
        if read is None:
            return None
        read = _through(step, read)
    return read


def _is_of(model: Any, *packages: str) -> bool:
    """Return whether the class of a model is that of a library, and not derived from it."""
    return type(model).__module__.split(".")[0] in packages


def _of_estimator(model: Any) -> Flags | None:
    if not _is_of(model, "sklearn"):
        return None
    columns = getattr(model, "n_features_in_", None)
    if columns is None:
        return None
    if hasattr(model, "tree_"):
        return _marked(columns, [model.tree_.feature])
    members = getattr(model, "estimators_", None)
    if getattr(model, "init", None) is not None:
        # Boosting then begins with a model of its own.
        return None
    if members is not None and type(model).__module__.startswith("sklearn.ensemble"):
        return _of_trees(columns, members)
    if hasattr(model, "_predictors"):
        return _of_histograms(columns, model)
    coefficients = getattr(model, "coef_", None)
    if coefficients is not None and type(model).__module__.startswith("sklearn.linear"):
        is_used = np.asarray(np.atleast_2d(coefficients) != 0)
        return np.asarray(is_used.any(axis=0))
    return None


def _marked(columns: int, used: Iterable[NDArray[Any]]) -> Flags:
    """Return flags that are set at some places; negative ones are leaves."""
    read = np.zeros(columns, dtype=np.bool_)
    for places in used:
        read[places[places >= 0]] = True
    return read


def _of_trees(columns: int, members: Any) -> Flags | None:
    """Return what trees read together; None where members are other than trees of all columns."""
    trees = np.ravel(np.asarray(members, dtype=object)).tolist()
    for tree in trees:
        if not hasattr(tree, "tree_") or tree.n_features_in_ != columns:
            return None
    return _marked(columns, [tree.tree_.feature for tree in trees])


def _of_histograms(columns: int, model: Any) -> Flags | None:
    """Return what the trees of gradient boosting over histograms read."""
    if getattr(model, "_preprocessor", None) is not None:
        # Categories are put first, so that places in the trees are not those of the columns.
        return None
    used = []
    for iteration in model._predictors:
        for predictor in iteration:
            nodes = predictor.nodes
            used.append(nodes["feature_idx"][~nodes["is_leaf"].astype(bool)])
    return _marked(columns, used)


def _through(step: Any, read: Flags) -> Flags | None:
    """Return which input columns of a transformer matter, given which of its outputs do."""
    if step in (None, "passthrough"):
        return read
    if not _is_of(step, "sklearn"):
        return None
    if type(step).__name__ == "ColumnTransformer":
        return _through_columns(step, read)
    if type(step).__name__ in COLUMNWISE and len(read) == step.n_features_in_:
        return read
    if type(step).__name__ == "OneHotEncoder":
        return _through_categories(step, read)
    return None


def _through_categories(encoder: Any, read: Flags) -> Flags | None:
    """Return which columns have a category whose indicator is read."""
    widths = [len(categories) for categories in encoder.categories_]
    if sum(widths) != len(read) or encoder.drop is not None:
        return None
    ends = np.cumsum(widths)
    parts = np.split(read, ends[:-1])
    return np.array([bool(part.any()) for part in parts])


def _through_columns(transformer: Any, read: Flags) -> Flags | None:
    """Return which columns feed an output of a ColumnTransformer that is read."""
    names = list(getattr(transformer, "feature_names_in_", []))
    found = np.zeros(transformer.n_features_in_, dtype=np.bool_)
    for name, step, columns in transformer.transformers_:
        places = _places(columns, names)
        if places is None:
            return None
        outputs = read[transformer.output_indices_[name]]
        if not outputs.any() or step == "drop":
            continue
        inner = _through(step, outputs)
        found[places] |= True if inner is None or len(inner) != len(places) else inner
    return found


def _places(columns: Any, names: list[str]) -> list[int] | None:
    """Return the places of the columns of a step, None where they are given in another way."""
    if isinstance(columns, str | int):
        columns = [columns]
    if not isinstance(columns, list | np.ndarray):
        return None
    places = []
    for column in columns:
        if isinstance(column, str):
            if column not in names:
                return None
            places.append(names.index(column))
        elif isinstance(column, int | np.integer) and not isinstance(column, bool):
            places.append(int(column))
        else:
            return None
    return places
