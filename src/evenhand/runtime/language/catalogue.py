"""The catalogues of languages: a file for each, read when the language is first spoken."""

from __future__ import annotations

import re
import tomllib
from dataclasses import dataclass, field
from functools import cache, cached_property
from importlib import resources
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from collections.abc import Mapping

ENGLISH = "en"
_FOLDER = resources.files("evenhand.runtime.language")
_SUFFIX = ".toml"
_OWN_SPACE = re.compile(
    "(?<=[0-9])\N{NARROW NO-BREAK SPACE}(?=[0-9])"
    "|[\N{NO-BREAK SPACE}\N{NARROW NO-BREAK SPACE}](?=[:;?!%»])"
    "|(?<=«)[\N{NO-BREAK SPACE}\N{NARROW NO-BREAK SPACE}]"
)
"""Spaces inside of a number, and beside a sign that must not stand on a line of its own."""


@dataclass(frozen=True)
class Catalogue:
    """A language: how it writes numbers, and its sentences by the English ones."""

    name: str = "English"
    """What the language calls itself."""
    decimal_mark: str = "."
    group_mark: str = ","
    """What stands between groups of three digits."""
    singular: tuple[int, ...] = (1,)
    """The numbers that take the singular."""
    sentences: Mapping[str, str] = field(default_factory=dict)

    def sentence(self, template: str) -> str:
        """Return a sentence in this language, the English one where there is no translation."""
        return self.sentences.get(template) or template

    @cached_property
    def marks(self) -> dict[int, str]:
        """The marks of a number that Python has written, for `str.translate`."""
        return str.maketrans({".": self.decimal_mark, ",": self.group_mark})

    @cached_property
    def _has_own_spaces(self) -> bool:
        return self.group_mark == "\N{NARROW NO-BREAK SPACE}"

    def own_spaces(self, text: str) -> frozenset[int]:
        """Return the places of spaces in a text that belong to how the language is written."""
        if not self._has_own_spaces:
            return frozenset()
        return frozenset(found.start() for found in _OWN_SPACE.finditer(text))


def codes() -> tuple[str, ...]:
    """Return the codes of all languages that there is a catalogue of, English first.

    >>> codes()
    ('en', 'de', 'fr')
    """
    names = [entry.name for entry in _FOLDER.iterdir()]
    others = [name.removesuffix(_SUFFIX) for name in names if name.endswith(_SUFFIX)]
    return (ENGLISH, *sorted(others))


@cache
def catalogue(language: str) -> Catalogue:
    """Return the catalogue of a language that there is one of."""
    if language == ENGLISH:
        return Catalogue()
    return read(_FOLDER.joinpath(f"{language}{_SUFFIX}").read_text(encoding="utf-8"))


def read(text: str) -> Catalogue:
    """Return a catalogue from the text of its file.

    >>> read('name = "Deutsch"\\n[sentences]\\n"limit" = "Grenze"').sentence("limit")
    'Grenze'
    """
    table: dict[str, Any] = tomllib.loads(text)
    if "singular" in table:
        table["singular"] = tuple(table["singular"])
    return Catalogue(**table)
