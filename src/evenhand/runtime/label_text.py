"""Values of inputs and outcomes as people read them, in the user's words where there are any."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from typing import Any

from evenhand.runtime.language import say

Words = Mapping[str, str]
"""What values are called, by the text of each value."""
MOST_WHOLE = 1e15
"""Whole amounts from here on are shown as fractions are: with an exponent."""


def shown(value: object, words: Words | None = None) -> object:
    """Return a value of an input as people read it: a missing one is unknown.

    >>> shown(None), shown(3), shown(1.0, {"1": "female"})
    ('unknown', 3, 'female')
    """
    if words and value is not None:
        word = words.get(text_of(value))
        if word is not None:
            return word
    if value is None or (isinstance(value, float) and math.isnan(value)):
        return say("unknown")
    return value


def text_of(value: object) -> str:
    """Return the text by which labels name a value: as it is written in TOML.

    >>> text_of(1), text_of(1.0), text_of(True), text_of("A11")
    ('1', '1', 'true', 'A11')
    """
    if isinstance(value, bool):
        return "true" if value else "false"
    if isinstance(value, float) and value.is_integer():
        return str(int(value))
    return str(value)


class Labelled(dict[str, Any]):
    """Values by feature as the software takes them, which know what people call them.

    >>> person = Labelled({"sex": 0, "age": 30}, {"sex": {"0": "female"}})
    >>> person["sex"], group_text(person)
    (0, 'sex female, age 30')
    """

    def __init__(self, values: Mapping[str, Any], words: Mapping[str, Words]) -> None:
        super().__init__(values)
        self.words = words

    def __reduce__(self) -> tuple[Any, ...]:
        return Labelled, (dict(self), self.words)


def labelled(values: Mapping[str, Any], words: Mapping[str, Words]) -> Mapping[str, Any]:
    """Return values by feature with what people call them, themselves where there are no words."""
    if not words:
        return values
    return Labelled(values, words)


def value_shown(values: Mapping[str, Any], name: str) -> object:
    """Return one of some values by feature as people read it.

    >>> value_shown(Labelled({"sex": 0}, {"sex": {"0": "female"}}), "sex")
    'female'
    >>> value_shown({"sex": 0}, "sex"), value_shown({"sex": None}, "sex")
    (0, 'unknown')
    """
    words = None
    if isinstance(values, Labelled):
        words = values.words.get(name)
    return input_shown(values.get(name), words)


def input_shown(value: object, words: Words | None = None) -> object:
    """Return a value of an input as people read it: a whole amount has no decimals.

    >>> input_shown(18000.0), input_shown(18000.5), input_shown(None)
    (18000, 18000.5, 'unknown')
    """
    value = shown(value, words)
    if isinstance(value, float) and value.is_integer() and abs(value) < MOST_WHOLE:
        return int(value)
    return value


def group_text(about: Mapping[str, Any]) -> str:
    """Return the values that people share in words.

    >>> group_text({"sex": "F", "age": "under 25"})
    'sex F, age under 25'
    """
    return ", ".join(f"{name} {_of_group(about, name)}" for name in about)


def values_text(about: Mapping[str, Any]) -> str:
    """Return the values that people share in words, where the names of features stand elsewhere.

    >>> values_text({"sex": "F", "age": "under 25"})
    'F, under 25'
    """
    return ", ".join(str(_of_group(about, name)) for name in about)


def _of_group(about: Mapping[str, Any], name: str) -> object:
    # Among groups, what is missing has a word of its own already.
    return None if about[name] is None else value_shown(about, name)


def words_of_space(space: Mapping[str, Any]) -> dict[str, Words]:
    """Return the labels of the features of a space, as JSON holds it.

    >>> words_of_space({"features": [{"name": "sex", "labels": {"0": "female"}}]})
    {'sex': {'0': 'female'}}
    """
    words = {}
    for feature in space.get("features", ()):
        if isinstance(feature, Mapping) and feature.get("labels"):
            words[feature["name"]] = feature["labels"]
    return words


def words_of_output(by_output: Mapping[str, Words], output: str) -> Words:
    """Return what the outcomes of an output are called; findings may name a class behind it.

    >>> words_of_output({"rate": {"0": "low"}}, "rate 1")
    {'0': 'low'}
    """
    for name, words in by_output.items():
        if not name or output == name or output.startswith(f"{name} "):
            return words
    return {}


def with_words(
    tables: Sequence[Mapping[str, Any]], key: str, words: Mapping[str, Words]
) -> list[Mapping[str, Any]]:
    """Return tables of details whose entries, each about some values, know what these are called.

    >>> tables = [{"groups": [{"about": {"sex": 0}, "n": 9}]}]
    >>> (table,) = with_words(tables, "groups", {"sex": {"0": "female"}})
    >>> values_text(table["groups"][0]["about"])
    'female'
    """
    found: list[Mapping[str, Any]] = []
    for table in tables:
        entries = []
        for entry in table[key]:
            entries.append({**entry, "about": labelled(entry["about"], words)})
        found.append({**table, key: entries})
    return found
