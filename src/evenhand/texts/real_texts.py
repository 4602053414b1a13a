"""Texts that a configuration names, with the sensitive terms to look for in them."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np

from evenhand.runtime.errors import ConfigError, DataError, UsageError, nearest
from evenhand.runtime.options import FILE, LIST, TEXT, Kind, Option, Options
from evenhand.runtime.table_file import read_frame
from evenhand.space.frames.reading import check_missing, eager
from evenhand.texts.lexicon import Lexicon, lexicon_of
from evenhand.texts.matching import texts_of
from evenhand.texts.persons import persons_of, persons_of_templates
from evenhand.texts.templates import find_templates, templates_of

if TYPE_CHECKING:
    from collections.abc import Mapping
    from pathlib import Path

_NOUNS = Kind(
    "nouns",
    types=(list,),
    wanted="a list of nouns, or of tables with person, plural and sex",
    schema={"type": "array", "items": {"type": ["string", "object"]}},
    items=(str, dict),
)
TEXTS = Options.of(
    Option("from", FILE, "a CSV or Parquet file of texts"),
    Option("column", TEXT, "the column of that file"),
    Option(
        "lexicon", FILE, "a TOML file of terms by category (default: the 48 of the paper)"
    ),
    Option("without", LIST, "terms to leave out"),
    Option(
        "templates", LIST, "sentences to write terms in, such as 'I am a {term} {person}'"
    ),
    Option("persons", _NOUNS, "nouns to write terms before, such as 'teacher'"),
)
"""What can be said in a [texts] table."""
TOGETHER = {"from": ["column"], "column": ["from"]}
"""Which keys of it need which others."""


@dataclass(frozen=True, slots=True)
class Texts:
    """Texts in a column of a file, or none, and the terms to look for in them.

    Then terms to leave out, and the templates and nouns that terms are written in and before.
    """

    file: Path | None
    column: str
    lexicon: Lexicon
    without: tuple[str, ...] = ()
    templates: tuple[str, ...] | None = None
    persons: tuple[Any, ...] | None = None

    def given(self) -> list[str] | None:
        """Return the texts, None where no file is named."""
        return None if self.file is None else self.read()

    def examples(self, most: int) -> list[str]:
        """Return some texts that the software may be asked about: given ones, or of templates."""
        given = self.given()
        if given is not None:
            return given[:most]
        persons = persons_of_templates(self.persons)
        matches = find_templates(templates_of(self.templates), self.lexicon, persons)
        rows = np.arange(min(most, len(matches.texts)))
        first = self.lexicon.terms[0]
        return matches.write(rows, [first.category], [first])

    def read(self) -> list[str]:
        """Return the texts, all of which are there."""
        if self.file is None:
            raise DataError("[texts] names no file of texts; add from and column")
        frame = eager(read_frame(self.file))
        if self.column not in frame.columns:
            raise DataError(
                f"{self.file}: there is no column {self.column!r} of texts;"
                f" {nearest(self.column, frame.columns)}"
            )
        try:
            check_missing(frame, self.column)
        except DataError as error:
            raise DataError(f"{self.file}: {error}") from None
        return texts_of(frame[self.column], f"{self.file}: column {self.column!r}")


def texts_from_table(table: Mapping[str, Any], file: Path) -> Texts:
    """Build what a `[texts]` table declares; paths in it are relative to the file.

    >>> from pathlib import Path
    >>> table = {"from": "comments.csv", "column": "comment"}
    >>> found = texts_from_table(table, Path("evenhand.toml"))
    >>> print(found.file, found.column, found.lexicon)
    comments.csv comment 48 terms: 14 gender, 17 race, 9 religion, 8 age
    """
    try:
        TEXTS.check(table, f"{file}: [texts]")
    except UsageError as error:
        raise ConfigError(str(error)) from None
    for name, others in TOGETHER.items():
        for other in others:
            if name in table and other not in table:
                option = TEXTS[other]
                raise ConfigError(f"{file}: [texts] has no {other!r}, {option.help}")
    without = table.get("without", [])
    lexicon_file = file.parent / table["lexicon"] if "lexicon" in table else None
    lexicon = lexicon_of(lexicon_file)
    templates = _tuple_of(table, "templates")
    persons = _tuple_of(table, "persons")
    try:
        lexicon.without(*without)
        templates_of(templates)
        persons_of(persons)
    except UsageError as error:
        raise ConfigError(f"{file}: [texts]: {error}") from None
    named = file.parent / table["from"] if "from" in table else None
    column = table.get("column", "")
    return Texts(named, column, lexicon, tuple(without), templates, persons)


def _tuple_of(table: Mapping[str, Any], key: str) -> tuple[Any, ...] | None:
    """Return a list of a table, None where there is none."""
    return tuple(table[key]) if key in table else None
