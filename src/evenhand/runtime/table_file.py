"""Frames from the user's own files."""

from __future__ import annotations

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
_GAPS = ["NA", "N/A", "n/a", "#N/A", "NaN", "nan", "None", "null", "NULL", "<NA>"]


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
        known = frame[name].mask(frame[name].isin(_GAPS))
        numbers = pd.to_numeric(known, errors="coerce")
        if numbers.notna().any() and numbers.notna().equals(known.notna()):
            frame[name] = numbers
    return frame
