"""The columns of a suite as a file: CSV, for texts and numbers, or Parquet, which keeps types."""

from __future__ import annotations

import csv
import json
from contextlib import contextmanager, suppress
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np

from evenhand.runtime.errors import (
    DataError,
    EvenhandError,
    MissingExtra,
    UsageError,
    clip,
    nearest,
    reason_of,
)
from evenhand.runtime.system.whole_file import whole_file
from evenhand.runtime.table_file import (
    SUFFIXES,
    beside,
    check_header,
    defused,
    is_defused,
    own_label,
    restored,
)
from evenhand.runtime.values import as_outcomes, parse_outcome

if TYPE_CHECKING:
    from collections.abc import Collection, Iterator, Mapping, Sequence
    from pathlib import Path

    from numpy.typing import NDArray


@dataclass(frozen=True, eq=False)
class Coded:
    """A column of few distinct values, and which of them each row has."""

    codes: NDArray[Any]
    values: Sequence[Any]


Column = Any
"""An array of numbers, or Coded."""


def suffix_of(file: Path) -> str:
    """Return the suffix of a file of tests, or say which there are.

    >>> from pathlib import Path
    >>> suffix_of(Path("tests.CSV"))
    '.csv'
    """
    found = next((known for known in SUFFIXES if file.name.lower().endswith(known)), None)
    if found is None:
        raise UsageError(
            f"'{file}' has the unknown suffix '{file.suffix}'; {nearest(file.suffix, SUFFIXES)}"
        )
    return found


def as_texts(labels: Sequence[Any]) -> list[str]:
    """Return labels as CSV holds them: as they are, or as JSON where that would be ambiguous.

    >>> as_texts([1, "1", "01", True])
    ['1', '"1"', '01', 'True']
    """
    taken = {str(label) for label in labels if not isinstance(label, str)}
    texts = []
    for label in labels:
        if isinstance(label, str) and (label in taken or _reads_otherwise(label)):
            texts.append(json.dumps(label))
        else:
            texts.append(str(label))
    return texts


def _reads_otherwise(text: str) -> bool:
    """Return whether a text would be read as something else, or not be seen."""
    return text.startswith('"') or is_defused(text) or not text.isprintable()


def held(labels: Sequence[Any], suffix: str) -> list[Any]:
    """Return what a file holds for each label: itself, or a text in CSV and for mixed types.

    >>> held([1, 2], ".parquet"), held([1, "1"], ".parquet"), held([True, False], ".csv")
    ([1, 2], ['1', '"1"'], ['True', 'False'])
    """
    if suffix == ".parquet":
        import pyarrow as pa

        with suppress(TypeError, ValueError, OverflowError):
            kept: list[Any] = pa.array(list(labels)).to_pylist()
            if kept == list(labels):
                return kept
    return as_texts(labels)


def printed(outcome: str | bool) -> str:  # noqa: FBT001
    """Return an outcome as a program must print it to be read as this outcome.

    >>> printed("yes"), printed("1"), printed(True)
    ('yes', '"1"', 'true')
    """
    text = (
        isinstance(outcome, str)
        and not _reads_otherwise(outcome)
        and parse_outcome(outcome) == outcome
    )
    return str(outcome) if text else json.dumps(outcome)


def need_arrow(what: str) -> None:
    """Raise an error that names the extra where pyarrow is not installed."""
    try:
        import pyarrow.parquet  # noqa: F401
    except ImportError as error:
        raise MissingExtra(what, "arrow") from error


@contextmanager
def replacing(file: Path) -> Iterator[Path]:
    """Give a file to write beside the wanted one, which it replaces when it is complete."""
    try:
        with whole_file(file) as part:
            yield part
    except EvenhandError:
        raise
    except (OSError, ValueError) as error:
        raise UsageError(f"'{file}' cannot be written: {reason_of(error)}") from None


def write_columns(
    file: Path, columns: Mapping[str, Column], suffix: str, *, raw: bool = False
) -> None:
    """Write columns in the format of a suffix.

    In CSV, texts that a spreadsheet would run as formulas begin with an apostrophe, unless `raw`.
    """
    if suffix == ".parquet":
        _write_parquet(file, columns)
        return
    compression = {"method": "gzip", "mtime": 0} if suffix == ".csv.gz" else None
    _write_csv(file, columns, compression, raw=raw)


def _write_csv(
    file: Path, columns: Mapping[str, Column], compression: Any, *, raw: bool
) -> None:
    import pandas as pd

    cells: dict[str, Any] = {}
    for name, column in zip(as_texts(list(columns)), columns.values(), strict=True):
        heading = name if raw else defused(name)
        if isinstance(column, Coded):
            values = column.values if raw else [defused(value) for value in column.values]
            cells[heading] = np.array(values, dtype=object)[column.codes]
        else:
            cells[heading] = _finite(column)
    frame = pd.DataFrame(cells)
    # Texts in quotes, so that a name that starts with a byte order mark is not taken for one.
    frame.to_csv(file, index=False, compression=compression, quoting=csv.QUOTE_NONNUMERIC)


def _finite(column: NDArray[Any]) -> NDArray[Any]:
    """Return numbers with infinite ones as JSON has them; "inf" would be read as a text."""
    if column.dtype.kind != "f" or np.isfinite(column).all():
        return column
    kept = column.astype(object)
    for value in (np.inf, -np.inf):
        kept[column == value] = json.dumps(value)
    return kept


def _write_parquet(file: Path, columns: Mapping[str, Column]) -> None:
    import pyarrow as pa
    from pyarrow import parquet

    made = {
        name: (
            pa.array(list(column.values)).take(pa.array(column.codes))
            if isinstance(column, Coded)
            else pa.array(column)
        )
        for name, column in columns.items()
    }
    parquet.write_table(pa.table(made), file)


@contextmanager
def reading(file: Path, suffix: str) -> Iterator[None]:
    """Turn what parsers raise into a sentence about the file."""
    try:
        file.open("rb").close()
        if suffix == ".parquet":
            need_arrow(f"reading '{file}'")
        yield
    except EvenhandError:
        raise
    except OSError as error:
        reason = error.strerror or clip(str(error))
        raise DataError(
            f"'{file}' cannot be read ({reason}); {beside(file, SUFFIXES)}"
        ) from error
    except Exception as error:  # pandas and pyarrow raise what their parsers raise
        raise DataError(
            f"'{file}' cannot be read as {suffix[1:]}: {clip(str(error))}"
        ) from error


TOO_WIDE = "'{file}' has rows with more cells than its first line has names"
_CSV: dict[str, Any] = {"encoding": "utf-8", "na_filter": False, "low_memory": False}


def names_of(file: Path, suffix: str) -> list[str]:
    """Return the names of the columns of a file."""
    if suffix == ".parquet":
        from pyarrow import parquet

        return list(parquet.read_schema(file).names)
    import pandas as pd

    widths = check_header(file) if suffix == ".csv" else []
    # Thousands of surplus cells would become levels of an index, which takes as long.
    if len(widths) > 1 and widths[1] > widths[0]:
        raise DataError(TOO_WIDE.format(file=file))
    header = pd.read_csv(file, nrows=0, **_CSV).columns
    return [own_label(name) for name in header]


def read_columns(
    file: Path,
    suffix: str,
    names: Sequence[str],
    *,
    numbers: Collection[str],
    outcomes: Collection[str],
    gaps: Collection[str] = (),
) -> dict[str, Column]:
    """Read columns: those of numbers and outcomes as arrays, all others coded.

    Only those that `gaps` names may have missing values: NaN, None, or an empty text of CSV.
    """
    read = (
        _read_parquet(file, gaps)
        if suffix == ".parquet"
        else _read_csv(file, names, numbers, outcomes)
    )
    for name in numbers:
        if isinstance(read[name], Coded):
            raise DataError(
                f"'{file}': {name!r} = {clip(repr(read[name].values[0]))} is not a number"
            )
    for name in outcomes:
        if isinstance(read[name], Coded):
            read[name] = _outcomes(file, name, read[name])
    return read


def _read_csv(
    file: Path, names: Sequence[str], numbers: Collection[str], outcomes: Collection[str]
) -> dict[str, Column]:
    import pandas as pd

    frame = pd.read_csv(file, header=0, names=list(names), dtype=str, **_CSV)
    if not isinstance(frame.index, pd.RangeIndex):
        raise DataError(TOO_WIDE.format(file=file))
    found: dict[str, Column] = {}
    for name in names:
        column = frame.pop(name)
        if name in numbers:
            found[name] = _numbers(file, name, column.to_numpy(dtype=object))
        else:
            codes, texts = pd.factorize(column)
            values = [restored(text) for text in texts]
            if name in outcomes:
                found[name] = _parsed(values)[codes]
            else:
                found[name] = Coded(codes, values)
    return found


def _numbers(file: Path, name: str, texts: NDArray[Any]) -> NDArray[np.float64]:
    """Read numbers as Python does, to the last digit, which not every version of pandas does.

    An empty cell is NaN.
    """
    try:
        return np.where(texts == "", "nan", texts).astype(np.float64)
    except ValueError:
        import pandas as pd

        row = int(np.argmax(pd.isna(pd.to_numeric(texts, errors="coerce"))))
        raise DataError(
            f"'{file}': {name!r} = {clip(repr(texts[row]))} in row {row} is not a number"
        ) from None


def _parsed(texts: Sequence[str]) -> NDArray[Any]:
    """Return outcomes as `parse_outcome` reads them, all at once where they are numbers.

    >>> _parsed(["1", "2"]).tolist(), _parsed(["1", "01"]).tolist()
    ([1, 2], [1, '01'])
    """
    values: list[Any] = []
    with suppress(ValueError, RecursionError):
        values = json.loads(f"[{','.join(texts)}]")
    # As many numbers as texts: then no text holds a comma, and each is a number by itself.
    if len(values) != len(texts) or not set(map(type, values)) <= {int, float, bool}:
        values = [parse_outcome(text) for text in texts]
    return as_outcomes(values)


def _read_parquet(file: Path, gaps: Collection[str]) -> dict[str, Column]:
    import pyarrow as pa
    from pyarrow import parquet

    read = parquet.read_table(file)
    found: dict[str, Column] = {}
    for name in read.column_names:
        column = read[name].combine_chunks()
        if column.null_count and name not in gaps:
            raise DataError(
                f"'{file}': column {name!r} has missing values in {column.null_count:,} rows"
            )
        if pa.types.is_integer(column.type) or pa.types.is_floating(column.type):
            found[name] = column.to_numpy(zero_copy_only=False)
        else:
            coded = (
                column
                if pa.types.is_dictionary(column.type)
                else column.dictionary_encode()
            )
            values = coded.dictionary.to_pylist()
            codes = coded.indices.fill_null(len(values))
            if coded.null_count:
                values.append(None)
            found[name] = Coded(codes.to_numpy(), values)
    return found


def _outcomes(file: Path, name: str, column: Coded) -> NDArray[Any]:
    for value in column.values:
        if not isinstance(value, str | int | float | bool):
            raise DataError(
                f"'{file}': {name!r} = {clip(repr(value))} is not a text, number or truth value"
            )
    return np.asarray(as_outcomes(list(column.values))[column.codes])
