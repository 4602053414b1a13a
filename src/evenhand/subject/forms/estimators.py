"""What scikit-learn's estimators and pipelines say of their inputs."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np

from evenhand.subject.model_form import ModelForm

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

_INSIDE = ("best_estimator_", "estimator_")
"""Where estimators that choose or wrap another one keep it."""


def estimator_form(model: Any) -> ModelForm:
    """Return the form of a fitted estimator, or of anything that has scikit-learn's attributes."""
    found = getattr(model, "classes_", None)
    classes = None
    if found is not None and not isinstance(found, list):
        classes = tuple(np.asarray(found).tolist())
    names = _names(model)
    inner = _innermost(model)
    categories: dict[str, tuple[Any, ...]] = {}
    closed: set[str] = set()
    dtypes: dict[str, str] = {}
    if names is not None:
        for encoder, columns in _encoders(inner, names):
            known = _known(encoder, columns)
            categories.update(known)
            if getattr(encoder, "handle_unknown", "") == "error":
                closed.update(known)
        if _by_dtype(inner):
            flags = inner.is_categorical_
            categorical = [] if flags is None else np.asarray(names)[flags].tolist()
            dtypes = dict.fromkeys(categorical, "category")
        names = _taken(inner, names)
    return ModelForm(
        columns=None if names is None else tuple(names),
        dtypes=dtypes,
        categories=categories,
        closed=frozenset(closed),
        classes=classes,
        takes_missing=_takes_missing(inner),
        library=type(model).__module__.partition(".")[0],
    )


def _names(model: Any) -> list[str] | None:
    names = getattr(model, "feature_names_in_", None)
    return None if names is None else [str(name) for name in names]


def _innermost(model: Any) -> Any:
    """Return the estimator that a search or a threshold was put around."""
    for attribute in _INSIDE:
        inside = getattr(model, attribute, None)
        if inside is not None and hasattr(inside, "predict"):
            return _innermost(inside)
    return model


def _steps(model: Any) -> list[Any]:
    """Return the steps of a pipeline that do something; any other estimator is its only step."""
    steps = getattr(model, "steps", None)
    if steps is None:
        return [model]
    return [step for _, step in steps if step is not None and step != "passthrough"]


def _encoders(model: Any, names: Sequence[str]) -> Iterator[tuple[Any, list[str]]]:
    """Yield what encodes columns as they come, with the names of these columns."""
    # HistGradientBoosting keeps its own encoder inside.
    steps = [getattr(model, "_preprocessor", None) or step for step in _steps(model)]
    for step in steps:
        if hasattr(step, "transformers_"):
            for inner, columns in _branches(step, names):
                yield from _encoders(inner, columns)
            return
        if hasattr(step, "categories_"):
            yield step, list(names)
            return
        # What fills gaps hands the columns on; anything else may not.
        if not hasattr(step, "statistics_"):
            return


def _branches(transformer: Any, names: Sequence[str]) -> Iterator[tuple[Any, list[str]]]:
    """Yield the transformers of a ColumnTransformer, with the columns of each."""
    positions = getattr(transformer, "_transformer_to_input_indices", {})
    for name, inner, _ in transformer.transformers_:
        if isinstance(inner, str):
            continue
        yield inner, [names[position] for position in positions.get(name, ())]


def _taken(model: Any, names: Sequence[str]) -> list[str]:
    """Return the columns that are really used: a ColumnTransformer needs none that it drops."""
    first = _steps(model)[0]
    positions = getattr(first, "_transformer_to_input_indices", None)
    if positions is None or not hasattr(first, "transformers_"):
        return list(names)
    used: set[int] = set()
    for name, inner, _ in first.transformers_:
        if not (isinstance(inner, str) and inner == "drop"):
            used.update(positions.get(name, ()))
    return [name for position, name in enumerate(names) if position in used]


def _known(encoder: Any, columns: Sequence[str]) -> dict[str, tuple[Any, ...]]:
    """Return the categories that an encoder knows, by column and without the missing value."""
    found: dict[str, tuple[Any, ...]] = {}
    if len(encoder.categories_) != len(columns):
        return found
    for name, values in zip(columns, encoder.categories_, strict=True):
        listed = np.asarray(values).tolist()
        found[name] = tuple(
            value for value in listed if value is not None and value == value
        )
    return found


def _by_dtype(model: Any) -> bool:
    """Return whether an estimator takes the columns of categorical dtype for its categories."""
    chosen = getattr(model, "categorical_features", None)
    return isinstance(chosen, str) and chosen == "from_dtype"


def _takes_missing(model: Any) -> bool | None:
    """Return what an estimator says of missing values; a pipeline is not asked, but tried."""
    if hasattr(model, "steps") or not hasattr(model, "__sklearn_tags__"):
        return None
    try:
        return bool(model.__sklearn_tags__().input_tags.allow_nan)
    except Exception:
        # Of estimators of other libraries, by the version of scikit-learn.
        return None
