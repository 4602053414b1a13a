"""How each library's models say in what form they take their inputs."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from collections.abc import Callable

    from evenhand.subject.model_form import ModelForm


def form_of(model: Any) -> ModelForm:
    """Return what a fitted model says of its inputs; of an unknown one, that nothing is known."""
    libraries = []
    for family in type(model).__mro__:
        libraries.append(family.__module__.partition(".")[0])
    if hasattr(model, "booster_"):  # as LightGBM's estimators have, and ours of its files
        libraries.append("lightgbm")
    for library in libraries:
        read = _reader(library)
        if read is not None:
            return read(model)
    return _reader_of_estimators()(model)


def _reader(library: str) -> Callable[[Any], ModelForm] | None:
    """Return the function that reads the models of a library."""
    if library == "xgboost":
        from evenhand.subject.forms.xgboost import xgboost_form

        return xgboost_form
    if library == "lightgbm":
        from evenhand.subject.forms.lightgbm import lightgbm_form

        return lightgbm_form
    if library == "catboost":
        from evenhand.subject.forms.catboost import catboost_form

        return catboost_form
    return None


def _reader_of_estimators() -> Callable[[Any], ModelForm]:
    from evenhand.subject.forms.estimators import estimator_form

    return estimator_form
