"""What people call the values of a feature: the check of the labels that a user gives."""

from __future__ import annotations

import math
from collections.abc import Mapping
from typing import TYPE_CHECKING, Any

from evenhand.runtime.errors import SpaceError, clip, nearest
from evenhand.runtime.label_text import text_of
from evenhand.space.values import dates
from evenhand.space.values.bin_text import bin_texts
from evenhand.space.values.points import plain

if TYPE_CHECKING:
    from collections.abc import Iterable

    from evenhand.space.values.feature_type import Feature

_MOST_LISTED = 1000
"""The most values of a number that are told apart by their labels, and named in an error."""


def read_labels(where: str, given: Any) -> tuple[tuple[str, str], ...]:
    """Return labels as pairs of the text of a value and its word; refuse what is none.

    >>> read_labels("feature 'sex'", {0: "female", 1: "male"})
    (('0', 'female'), ('1', 'male'))
    """
    if given is None:
        return ()
    if not isinstance(given, Mapping):
        raise SpaceError(
            f"{where}: labels = {clip(repr(given))} must be a table by value, such as"
            " { 0 = 'female', 1 = 'male' }"
        )
    value_of: dict[str, Any] = {}
    pairs = []
    for key, word in given.items():
        value = plain(key)
        text = text_of(value)
        if not isinstance(word, str) or not word.strip():
            raise SpaceError(
                f"{where}: the label of {value!r} is {clip(repr(word))}; it must be a text that is"
                " not empty"
            )
        if text in value_of:
            raise SpaceError(f"{where}: {value!r} has two labels; give it one")
        value_of[text] = value
        pairs.append((text, word))
    return tuple(pairs)


def check_labels(feature: Feature) -> None:
    """Refuse labels of values that a feature does not have, and labels that are not unique."""
    if not feature.words:
        return
    where = f"feature {feature.name!r}"
    values = _listed(feature)
    texts = [text_of(value) for value in values]
    for text, _ in feature.words:
        if text not in texts and not _takes(feature, text):
            raise SpaceError(
                f"{where}: labels names {clip(repr(text))}, which is none of its values;"
                f" {nearest(text, values or [feature.domain])}"
            )
    words = dict(feature.words)
    named = [words.get(text, text) for text in texts]
    check_unique(where, named or words.values())


def with_labels(
    declared: Mapping[str, Mapping[str, Any]], labels: Any
) -> dict[str, Mapping[str, Any]]:
    """Return declarations by feature with the labels that are given by feature beside them."""
    whole = dict(declared)
    if labels is None:
        return whole
    if not isinstance(labels, Mapping):
        raise SpaceError(
            f"labels = {clip(repr(labels))} must be a table by column, such as {{'sex': {{0:"
            " 'female'}}"
        )
    for name, words in labels.items():
        whole[name] = {**whole.get(name, {}), "labels": words}
    return whole


def check_unique(where: str, words: Iterable[str]) -> None:
    """Refuse a label that two values would have."""
    seen: set[str] = set()
    for word in words:
        if word in seen:
            raise SpaceError(
                f"{where}: two values would be called {clip(repr(word))}; give each a label of its"
                " own"
            )
        seen.add(word)


def _listed(feature: Feature) -> list[Any]:
    """Return the values of a feature, or its bins, where there are few enough to be named."""
    if feature.kind == "category":
        return list(feature.levels)
    values: list[Any] = []
    if not math.isinf(feature.size) and feature.size <= _MOST_LISTED:
        values += feature.labels(feature.values())
    if feature.bins is not None:
        values += bin_texts(feature)
    return values


def _takes(feature: Feature, text: str) -> bool:
    """Return whether a number or date that is written like this is a value of a feature."""
    if feature.kind == "category":
        return False
    if feature.kind == "date":
        number: float | None = dates.day_of(text)
    else:
        number = _number(text)
    if number is None or not math.isfinite(number):
        return False
    return bool(feature.inside(_column(number))[0])


def _number(text: str) -> float | None:
    try:
        return float(text)
    except ValueError:
        return None


def _column(number: float) -> Any:
    import numpy as np

    return np.array([number], dtype=np.float64)
