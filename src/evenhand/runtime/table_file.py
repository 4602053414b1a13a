"""Frames from the user's own files."""

from __future__ import annotations

import csv
import json
import re
from itertools import islice
from pathlib import Path
from typing import TYPE_CHECKING, Any

from evenhand.runtime.errors import (
    DataError,
    MissingExtra,
    clip,
    nearest,
    printable,
    reason_of,
)

if TYPE_CHECKING:
    from os import PathLike

    import pandas as pd

SUFFIXES = (".csv.gz", ".csv", ".parquet")
_FORMULA = re.compile(r"[=+\-@\t\r\n＝＋－＠]")
"""How a text begins that a spreadsheet takes for a formula; full-width signs count in some."""
_NUMBER = re.compile(r"[+-](\d+(\.\d*)?|\.\d+)([eE][+-]?\d+)?")
OWN_COLUMNS = frozenset({"twin.outcome", "test.kind"})
"""Columns by which a file of found inputs or a suite is known."""
MOST_COLUMNS = 5_000
"""The most columns of a CSV file."""
GAPS = ["NA", "N/A", "n/a", "#N/A", "NaN", "nan", "None", "null", "NULL", "<NA>"]


def read_frame(path: str | PathLike[str]) -> pd.DataFrame:
    """Read a `.csv`, `.csv.gz` or `.parquet` file; "NA" and "None" are levels like any other."""
    import pandas as pd

    file = Path(path)
    suffix = next((known for known in SUFFIXES if file.name.lower().endswith(known)), None)
    try:
        file.open("rb").close()
    except (OSError, ValueError) as error:
        raise DataError(
            f"'{printable(str(file))}' cannot be read ({reason_of(error)});"
            f" {beside(file, SUFFIXES)}"
        ) from error
    if suffix is None:
        raise DataError(
            f"'{file}' has the unknown suffix '{file.suffix}'; {nearest(file.suffix, SUFFIXES)}"
        )
    if suffix == ".csv":
        check_header(file)
    try:
        frame = pd.read_parquet(file) if suffix == ".parquet" else read_csv(file)
    except pd.errors.EmptyDataError as error:
        raise DataError(
            f"'{file}' is empty; it needs a line of column names and at least one row"
        ) from error
    except ImportError as error:
        raise MissingExtra(f"reading '{file}'", "arrow") from error
    except Exception as error:  # pandas and pyarrow raise what their parsers raise
        raise DataError(
            f"'{file}' cannot be read as {suffix[1:]}: {clip(str(error))}"
        ) from error
    if len(frame.columns) == 1 and ";" in str(frame.columns[0]):
        raise DataError(
            f"'{file}' is separated by semicolons; save it with commas between the columns"
        )
    if not len(frame) or not len(frame.columns):
        raise DataError(
            f"'{file}' has no rows; it needs a line of column names and at least one row"
        )
    if suffix != ".parquet" and OWN_COLUMNS & set(frame.columns):
        return _with_own_labels(frame)
    return frame


def check_header(file: Path) -> list[int]:
    """Refuse a CSV file of too many columns, over whose names pandas would take minutes.

    Returns how many cells its first lines have, as far as they can be read.
    """
    with file.open(encoding="utf-8", errors="replace", newline="") as text:
        try:
            lines = list(islice(filter(None, csv.reader(text)), 2))
        except csv.Error:  # the parser that reads all of it says what is wrong
            return []
    widths = [len(cells) for cells in lines]
    if widths and widths[0] > MOST_COLUMNS:
        raise DataError(
            f"'{file}' has {widths[0]:,} columns; at most {MOST_COLUMNS:,} can be read"
        )
    return widths


def is_formula(text: str) -> bool:
    """Return whether a spreadsheet would run a text as a formula; a number it would only read.

    >>> is_formula("=1+1"), is_formula("-2+3"), is_formula("-2.5"), is_formula("a=b")
    (True, True, False, False)
    """
    return _FORMULA.match(text) is not None and _NUMBER.fullmatch(text) is None


def defused(text: str) -> str:
    """Return a text as CSV holds it, so that no spreadsheet runs it as a formula.

    >>> defused("=1+1"), defused("a"), restored(defused("=1+1"))
    ("'=1+1", 'a', '=1+1')
    """
    if is_formula(text):
        return f"'{text}"
    return text


def restored(text: str) -> str:
    """Return the text that `defused` was given.

    >>> restored("'=1+1"), restored("'tis")
    ('=1+1', "'tis")
    """
    if is_defused(text):
        return text[1:]
    return text


def is_defused(text: str) -> bool:
    """Return whether a text looks as if `defused` had made it."""
    return text.startswith("'") and is_formula(text[1:])


def own_label(text: str) -> str:
    """Return the label that a cell of a file of ours stands for: a text, or one written as JSON.

    >>> own_label("'=1+1"), own_label('"\\'=1+1"'), own_label('"')
    ('=1+1', "'=1+1", '"')
    """
    if not text.startswith('"'):
        return restored(text)
    try:
        return str(json.loads(text))
    except ValueError:
        return text


def _with_own_labels(frame: pd.DataFrame) -> pd.DataFrame:
    """Return a file of ours with its texts as they were before they were written."""
    frame = frame.rename(columns=own_label)
    for name in frame.select_dtypes(exclude=["number", "bool"]):
        labels = {text: own_label(text) for text in frame[name].dropna().unique()}
        frame[name] = frame[name].map(labels)
    return frame


def beside(file: Path, suffixes: tuple[str, ...], otherwise: str = "check the path") -> str:
    """Return the hint for a missing file: the nearest of its kind in the same folder."""
    found = sorted(
        other.name
        for other in file.parent.glob("*")
        if other.name.lower().endswith(suffixes)
    )
    return nearest(file.name, found) if found else otherwise


def read_csv(file: Any, **options: Any) -> pd.DataFrame:
    """Read CSV text, where only an empty cell is missing in a text column."""
    import pandas as pd

    frame: pd.DataFrame = pd.read_csv(
        file,
        encoding="utf-8-sig",
        low_memory=False,
        keep_default_na=False,
        na_values=[""],
        **options,
    )
    for name in frame.select_dtypes(exclude=["number", "bool"]):
        # Numbers with gaps are numbers; text that happens to hold "None" stays text.
        known = frame[name].mask(frame[name].isin(GAPS))
        numbers = pd.to_numeric(known, errors="coerce")
        if numbers.notna().any() and numbers.notna().equals(known.notna()):
            frame[name] = numbers
    return frame
