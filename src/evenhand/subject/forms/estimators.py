"""What scikit-learn's estimators and pipelines say of their inputs."""

from __future__ import annotations

import inspect
from dataclasses import replace
from typing import TYPE_CHECKING, Any

import numpy as np

from evenhand.space.encoding import missing_values
from evenhand.subject.model_form import ModelForm

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

_INSIDE = ("best_estimator_", "estimator_")
"""Where estimators that choose or wrap another one keep it."""


def estimator_form(model: Any) -> ModelForm:
    """Return the form of a fitted estimator, or of anything that has scikit-learn's attributes."""
    inner = _innermost(model)
    library, _, _ = type(model).__module__.partition(".")
    form = ModelForm(
        classes=_classes(model),
        takes_missing=_takes_missing(inner),
        library=library,
    )
    given = getattr(model, "feature_names_in_", None)
    if given is None:
        return form
    names = [str(name) for name in given]
    categories: dict[str, tuple[Any, ...]] = {}
    closed: set[str] = set()
    for encoder, columns in _encoders(inner, names):
        known = _known(encoder, columns)
        categories.update(known)
        if getattr(encoder, "handle_unknown", "") == "error":
            closed.update(known)
    return replace(
        form,
        columns=tuple(_taken(inner, names)),
        dtypes=_dtypes(inner, names),
        categories=categories,
        closed=frozenset(closed),
    )


def _classes(model: Any) -> tuple[Any, ...] | None:
    """Return the labels of a classifier; of several outputs there is no one list."""
    found = getattr(model, "classes_", None)
    if found is None or isinstance(found, list):
        return None
    return tuple(np.asarray(found).tolist())


def _innermost(model: Any) -> Any:
    """Return the estimator that a search or a threshold was put around."""
    for attribute in _INSIDE:
        inside = getattr(model, attribute, None)
        if hasattr(inside, "predict"):
            return _innermost(inside)
    return model


def _steps(model: Any) -> list[Any]:
    """Return the steps of a pipeline that do something; any other estimator is its only step."""
    named = getattr(model, "steps", None)
    if named is None:
        return [model]
    steps = []
    for _, step in named:
        if step is not None and step != "passthrough":
            steps.append(step)
    return steps


def _encoders(model: Any, names: Sequence[str]) -> Iterator[tuple[Any, list[str]]]:
    """Yield what encodes columns as they come, with the names of these columns."""
    # HistGradientBoosting keeps its own encoder inside.
    own = getattr(model, "_preprocessor", None)
    if own is None:
        steps = _steps(model)
    else:
        steps = [own]
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
        columns = positions.get(name, ())
        yield inner, [names[position] for position in columns]


def _taken(model: Any, names: Sequence[str]) -> list[str]:
    """Return the columns that are really used: a ColumnTransformer needs none that it drops."""
    first = _steps(model)[0]
    positions = getattr(first, "_transformer_to_input_indices", None)
    if positions is None or not hasattr(first, "transformers_"):
        return list(names)
    used: set[int] = set()
    for name, inner, _ in first.transformers_:
        is_dropped = isinstance(inner, str) and inner == "drop"
        if not is_dropped:
            columns = positions.get(name, ())
            used.update(columns)
    return [names[position] for position in sorted(used)]


def _known(encoder: Any, columns: Sequence[str]) -> dict[str, tuple[Any, ...]]:
    """Return the categories that an encoder knows, by column and without the missing value."""
    found: dict[str, tuple[Any, ...]] = {}
    if len(encoder.categories_) != len(columns):
        return found
    for name, values in zip(columns, encoder.categories_, strict=True):
        listed = np.asarray(values, dtype=object)
        missing = missing_values(listed)
        known = listed[~missing]
        found[name] = tuple(known.tolist())
    return found


def _dtypes(model: Any, names: Sequence[str]) -> dict[str, str]:
    """Return which columns were categories, where an estimator goes by the dtype."""
    chosen = getattr(model, "categorical_features", None)
    if not isinstance(chosen, str) or chosen != "from_dtype":
        return {}
    flags = model.is_categorical_
    if flags is None:
        return {}
    dtypes = {}
    for name, is_categorical in zip(names, flags, strict=True):
        if is_categorical:
            dtypes[name] = "category"
    return dtypes


def _takes_missing(model: Any) -> bool | None:
    """Return what an estimator says of missing values; a pipeline is not asked, but tried."""
    if hasattr(model, "steps") or not hasattr(model, "__sklearn_tags__"):
        return None
    try:
        tags = model.__sklearn_tags__()
        return bool(tags.input_tags.allow_nan)
    except Exception:
        # Of estimators of other libraries, by the version of scikit-learn.
        return None


def weight_keyword(model: Any) -> str | None:
    """Return the keyword of `fit` for the weights of rows; in a pipeline it names the last step.

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
    if not any(
        parameter.kind is parameter.VAR_KEYWORD for parameter in parameters.values()
    ):
        return None
    # A search over parameters hands on what it is given to the estimator that it searches with.
    if hasattr(model, "estimator"):
        return weight_keyword(model.estimator)
    return "sample_weight"
