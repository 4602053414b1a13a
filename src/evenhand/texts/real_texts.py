"""Texts that a configuration names, with the sensitive terms to look for in them."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from evenhand.runtime.errors import ConfigError, DataError, UsageError, nearest
from evenhand.runtime.options import FILE, LIST, TEXT, Option, Options
from evenhand.runtime.table_file import read_frame
from evenhand.space.frames.reading import check_missing, eager
from evenhand.texts.lexicon import Lexicon, lexicon_of
from evenhand.texts.matching import texts_of

if TYPE_CHECKING:
    from collections.abc import Mapping
    from pathlib import Path

TEXTS = Options.of(
    Option("from", FILE, "a CSV or Parquet file of texts", required=True),
    Option("column", TEXT, "the column of that file", required=True),
    Option(
        "lexicon", FILE, "a TOML file of terms by category (default: the 48 of the paper)"
    ),
    Option("without", LIST, "terms to leave out"),
)
"""What can be said in a [texts] table."""


@dataclass(frozen=True, slots=True)
class Texts:
    """Texts in a column of a file, the terms to look for in them, and terms to leave out."""

    file: Path
    column: str
    lexicon: Lexicon
    without: tuple[str, ...] = ()

    def read(self) -> list[str]:
        """Return the texts, all of which are there."""
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
    for option in TEXTS:
        if option.required and option.name not in table:
            raise ConfigError(f"{file}: [texts] has no {option.name!r}, {option.help}")
    without = table.get("without", [])
    lexicon_file = file.parent / table["lexicon"] if "lexicon" in table else None
    lexicon = lexicon_of(lexicon_file)
    try:
        lexicon.without(*without)
    except UsageError as error:
        raise ConfigError(f"{file}: [texts]: {error}") from None
    return Texts(file.parent / table["from"], table["column"], lexicon, tuple(without))
