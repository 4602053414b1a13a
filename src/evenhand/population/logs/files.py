"""The files of a log: one, those of a folder or of a pattern, all with the same columns."""

from __future__ import annotations

import csv
import gzip
import re
from dataclasses import dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING, Any
from urllib.parse import unquote

from evenhand.population.logs.address import FORMS, LOG_SUFFIXES, form_of, is_wild
from evenhand.population.logs.engines import is_installed
from evenhand.runtime.errors import DataError, clip, nearest, printable, reason_of
from evenhand.runtime.table_file import MOST_COLUMNS

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

NULL_PARTITION = "__HIVE_DEFAULT_PARTITION__"
"""How Hive and its heirs name the folder of rows without a value."""
_WHOLE = re.compile(r"[+-]?\d{1,18}")


@dataclass(frozen=True)
class LogFiles:
    """Files of one form with the same columns."""

    paths: tuple[str, ...]
    form: str
    columns: tuple[str, ...]
    partitions: Mapping[str, str] = field(default_factory=dict)
    """The columns that the names of folders hold, and whether they are "whole" numbers or "text".
    """
    base: str = ""
    """The folder that the names of partitions begin below."""

    @property
    def every_column(self) -> tuple[str, ...]:
        """The columns of the files, and then those of their folders."""
        return (*self.columns, *self.partitions)

    @property
    def bytes(self) -> int:
        """How large the files are together."""
        return sum(Path(path).stat().st_size for path in self.paths)


def log_files(text: str) -> LogFiles:
    """Return the files that a path names: itself, all Parquet below a folder, or a pattern."""
    paths, base = _listed(text)
    forms = {path: form_of(path) for path in paths}
    form = forms[paths[0]]
    for path, other in forms.items():
        if not other:
            suffix = Path(path).suffix
            raise DataError(
                f"'{printable(path)}' has the unknown suffix '{suffix}'; {nearest(suffix, FORMS)}"
            )
        if other != form:
            raise DataError(
                f"'{printable(text)}' names files of several kinds, such as '{paths[0]}' and"
                f" '{path}'; name those of one kind"
            )
    columns = _same_columns(paths, form)
    partitions = {}
    if base:
        for name, kind in _partitions(paths, Path(base)).items():
            if name not in columns:
                partitions[name] = kind
    return LogFiles(tuple(paths), form, tuple(columns), partitions, base)


def _listed(text: str) -> tuple[list[str], str]:
    """Return the files that a path names in order, and the folder that partitions are below."""
    path = Path(text)
    if is_wild(text) and not path.exists():
        base = _fixed_part(path)
        matching = Path(base).glob(str(path.relative_to(base)))
        found = sorted(str(file) for file in matching if file.is_file())
        if not found:
            raise DataError(
                f"'{printable(text)}' names no file; check the pattern and its folder"
            )
        return found, base
    if path.is_dir():
        files = sorted(
            str(file) for file in path.rglob("*.parquet") if _is_data(file, path)
        )
        if not files:
            others = sorted({form_of(file.name) for file in path.iterdir()} - {""})
            hint = (
                f"; name its files with a pattern, such as '{text}/*.csv'" if others else ""
            )
            raise DataError(f"'{printable(text)}' is a folder without Parquet files{hint}")
        return files, text
    try:
        path.open("rb").close()
    except (OSError, ValueError) as error:
        raise DataError(
            f"'{printable(text)}' cannot be read ({reason_of(error)}); {_nearest_log(path)}"
        ) from error
    return [text], ""


def _nearest_log(path: Path) -> str:
    """Return the hint for a path that is not there: the nearest file, or folder of Parquet."""
    found = []
    for other in path.parent.glob("*"):
        is_folder = other.is_dir() and next(other.glob("*.parquet"), None) is not None
        if is_folder or other.name.lower().endswith(LOG_SUFFIXES):
            found.append(other.name)
    return nearest(path.name, sorted(found)) if found else "check the path"


def _fixed_part(pattern: Path) -> str:
    """Return the folders of a pattern before the first part with a wildcard."""
    fixed = Path()
    for part in pattern.parts[:-1]:
        if is_wild(part):
            break
        fixed /= part
    return str(fixed)


def _is_data(file: Path, folder: Path) -> bool:
    """Return whether a file holds rows: engines write notes of theirs under _ and . names."""
    names = file.relative_to(folder).parts
    return file.is_file() and not any(name.startswith(("_", ".")) for name in names)


def _partitions(paths: Sequence[str], base: Path) -> dict[str, str]:
    """Return the columns that folders name as ``year=2026``, and the kind of each."""
    found: dict[str, list[str]] = {}
    first: tuple[str, ...] | None = None
    for path in paths:
        pairs = _pairs(path, base)
        names = tuple(name for name, _ in pairs)
        if first is None:
            first = names
        if names != first:
            raise DataError(
                f"'{path}' lies in folders that name {_names_text(names)}, and '{paths[0]}' in"
                f" folders that name {_names_text(first)}; all files of a log have the same columns"
            )
        for name, value in pairs:
            found.setdefault(name, []).append(value)
    kinds = {}
    for name, values in found.items():
        known = [value for value in values if value != NULL_PARTITION]
        whole = bool(known) and all(_WHOLE.fullmatch(value) for value in known)
        kinds[name] = "whole" if whole else "text"
    return kinds


def _pairs(path: str, base: Path) -> list[tuple[str, str]]:
    folders = Path(path).relative_to(base).parts[:-1]
    named = [folder.partition("=") for folder in folders if "=" in folder]
    return [(unquote(name), unquote(value)) for name, _, value in named]


def _names_text(names: Sequence[str]) -> str:
    return ", ".join(map(repr, names)) or "no columns"


def _same_columns(paths: Sequence[str], form: str) -> list[str]:
    """Return the columns of all files; refuse one that has others."""
    if form == "json":
        return []
    first = _schema(paths[0], form)
    for path in paths[1:]:
        _compare(path, _schema(path, form), paths[0], first)
    return list(first)


def _compare(
    path: str, own: Mapping[str, str], first_path: str, first: Mapping[str, str]
) -> None:
    rule = "all files of a log have the same columns"
    for name, kind in first.items():
        if name not in own:
            raise DataError(f"'{path}' lacks the column {name!r} of '{first_path}'; {rule}")
        if own[name] != kind:
            raise DataError(
                f"'{path}' holds {own[name]} in the column {name!r}, and '{first_path}' {kind};"
                f" {rule}"
            )
    for name in own:
        if name not in first:
            raise DataError(
                f"'{path}' has the column {name!r}, which '{first_path}' lacks; {rule}"
            )


def _schema(path: str, form: str) -> dict[str, str]:
    """Return the types of the columns of a file by their names, as words."""
    try:
        if form == "csv":
            return dict.fromkeys(_header(path), "text")
        if is_installed("pyarrow"):
            return _arrow_schema(path, form)
        if is_installed("polars"):
            return _polars_schema(path, form)
        return {}
    except DataError:
        raise
    except Exception as error:  # readers raise what their parsers raise
        raise DataError(f"'{path}' cannot be read as {form}: {clip(str(error))}") from None


def _header(path: str) -> list[str]:
    """Return the names of the columns of a CSV file."""
    opened: Any = gzip.open if path.lower().endswith(".gz") else open
    with opened(path, "rt", encoding="utf-8-sig", errors="replace", newline="") as text:
        names = next(filter(None, csv.reader(text)), [])
    if not names:
        raise DataError(
            f"'{path}' is empty; it needs a line of column names and at least one row"
        )
    if len(names) == 1 and ";" in names[0]:
        raise DataError(
            f"'{path}' is separated by semicolons; save it with commas between the columns"
        )
    if len(names) > MOST_COLUMNS:
        raise DataError(
            f"'{path}' has {len(names):,} columns; at most {MOST_COLUMNS:,} can be read"
        )
    for name in names:
        if names.count(name) > 1:
            raise DataError(f"'{path}' has two columns called {name!r}; rename one of them")
    return names


def _arrow_schema(path: str, form: str) -> dict[str, str]:
    import pyarrow as pa
    from pyarrow import dataset, parquet

    if form == "parquet":
        schema = parquet.read_schema(path)
    else:
        schema = dataset.dataset(path, format="feather").schema
    kinds = {}
    for column in schema:
        kind = column.type
        if pa.types.is_dictionary(kind):
            kind = kind.value_type
        kinds[column.name] = str(kind).removeprefix("large_")
    return kinds


def _polars_schema(path: str, form: str) -> dict[str, str]:
    import polars as pl

    read = pl.read_parquet_schema if form == "parquet" else pl.read_ipc_schema
    return {name: str(kind) for name, kind in read(path).items()}
