"""A test suite: every executed test behind a score, as a table.

Another version of the software can be asked the same tests. The features come first, in the user's
labels, then `outcome` (or `outcome.NAME` for each of several outputs), and what each test was for:
`test.kind`, `test.over` (a JSON list of features), `test.draw` and `test.own`.

Parquet keeps the types. CSV keeps numbers in full, and texts as they are, but for those that would
read as something else: a text outcome such as "1" or "true", a level "1" beside the number 1, and
texts that start with a quote or cannot be printed are written as JSON strings. So an outcome stands
there as a program would print it. A text that a spreadsheet would run as a formula begins with an
apostrophe, which is taken away when the file is read.
"""

from __future__ import annotations

import json
import os
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np

from evenhand.runtime.column_file import (
    Coded,
    held,
    names_of,
    need_arrow,
    printed,
    read_columns,
    reading,
    replacing,
    suffix_of,
    write_columns,
)
from evenhand.runtime.errors import DataError, EvenhandError, UsageError, clip, nearest
from evenhand.space.encoding import encode_column
from evenhand.space.feature import plain
from evenhand.space.values.dates import iso_texts
from evenhand.subject.outputs import joined

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence
    from os import PathLike

    from numpy.typing import NDArray

    from evenhand.runtime.column_file import Column
    from evenhand.space.feature import Feature, Points
    from evenhand.space.space import Space

KINDS = ("causal", "group")
OUTCOME = "outcome"
KIND = "test.kind"
OVER = "test.over"
DRAW = "test.draw"
OWN = "test.own"
_ABOUT = (KIND, OVER, DRAW, OWN)


@dataclass(frozen=True, eq=False)
class Tests:
    """The tests behind one score, one row each.

    `outcomes` is a structured array where the software has several outputs. All variants of a draw
    of a causal score share its number, and `own` marks the drawn input itself; where every input is
    a draw and a variant of others, all are marked. For a group score `draw` counts within the
    group.
    """

    kind: str
    over: tuple[str, ...]
    points: Points
    outcomes: NDArray[Any]
    draw: NDArray[np.int64]
    own: NDArray[np.bool_]


def check_suite(
    path: str | PathLike[str], space: Space, outputs: Sequence[str] = ()
) -> Path:
    """Return the path if a suite of this space can be written there.

    It is asked before a long run, so that none ends in an error.

    >>> from evenhand.space.feature import category
    >>> from evenhand.space.space import Space
    >>> check_suite("tests.csv", Space([category("sex", ["F", "M"])])).name
    'tests.csv'
    """
    if not isinstance(path, str | os.PathLike):
        raise UsageError(
            f"suite = {clip(repr(path))} must be the path of a .csv or .parquet file"
        )
    file = Path(path)
    if suffix_of(file) == ".parquet":
        need_arrow(f"writing '{file}'")
    for name in (*_columns_of(outputs), *_ABOUT):
        if name in space.names:
            raise UsageError(
                f"'{file}': the feature {name!r} has the name of a column of every suite; rename it"
            )
    if not file.parent.is_dir():
        raise UsageError(f"'{file}' cannot be written: there is no folder '{file.parent}'")
    if file.is_dir():
        raise UsageError(f"'{file}' cannot be written: it is a folder")
    if not os.access(file.parent, os.W_OK):
        raise UsageError(f"'{file}' cannot be written: permission denied")
    return file


@dataclass(frozen=True)
class Suite:
    """The tests behind the scores of a run, and the space that their inputs are of."""

    space: Space
    parts: Sequence[Tests]

    def write(self, path: str | PathLike[str], *, raw: bool = False) -> None:
        """Write every test to a CSV or Parquet file."""
        write_suite(path, self.space, self.parts, raw=raw)


def write_suite(
    path: str | PathLike[str], space: Space, parts: Sequence[Tests], *, raw: bool = False
) -> None:
    """Write tests to a `.csv`, `.csv.gz` or `.parquet` file, all of them or nothing.

    Of several parts for the same kind and set the longest is kept: all outputs are measured on the
    same draws.

    >>> import tempfile
    >>> from evenhand.space.feature import category
    >>> from evenhand.space.space import Space
    >>> space = Space([category("sex", ["F", "M"])])
    >>> outcomes, draw, own = np.array(["no", "yes"]), np.array([0, 0]), np.array([True, False])
    >>> tests = Tests("causal", ("sex",), np.array([[0.0], [1.0]]), outcomes, draw, own)
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     write_suite(Path(folder, "sex.csv"), space, [tests])
    ...     read_suite(Path(folder, "sex.csv"), space)[0].outcomes.tolist()
    ['no', 'yes']
    """
    if parts:
        outputs = parts[0].outcomes.dtype.names or ()
    else:
        outputs = ()
    file = check_suite(path, space, outputs)
    longest: dict[tuple[str, tuple[str, ...]], Tests] = {}
    for tests in parts:
        known = longest.setdefault((tests.kind, tests.over), tests)
        if len(tests.points) > len(known.points):
            longest[tests.kind, tests.over] = tests
    suffix = suffix_of(file)
    columns = _columns(space, list(longest.values()), outputs, suffix)
    with replacing(file) as part:
        write_columns(part, columns, suffix, raw=raw)


def _columns_of(outputs: Sequence[str]) -> list[str]:
    return [f"{OUTCOME}.{name}" for name in outputs] or [OUTCOME]


def _columns(
    space: Space,
    parts: Sequence[Tests],
    outputs: Sequence[str],
    suffix: str,
) -> dict[str, Column]:
    """Return all parts as the columns of a file."""
    # An empty part first: there may be no other.
    no_points = np.empty((0, len(space.features)))
    points = np.concatenate([no_points, *(part.points for part in parts)])
    columns: dict[str, Column] = {}
    for position, feature in enumerate(space.features):
        columns[feature.name] = _inputs(feature, points[:, position], suffix)
    if outputs:
        for name, output in zip(_columns_of(outputs), outputs, strict=True):
            columns[name] = _outcomes([part.outcomes[output] for part in parts], suffix)
    else:
        columns[OUTCOME] = _outcomes([part.outcomes for part in parts], suffix)
    part_of_row = np.repeat(np.arange(len(parts)), [len(part.points) for part in parts])
    columns[KIND] = Coded(part_of_row, [part.kind for part in parts])
    columns[OVER] = Coded(part_of_row, [json.dumps(part.over) for part in parts])
    no_draws = np.zeros(0, dtype=np.int64)
    no_flags = np.zeros(0, dtype=np.bool_)
    columns[DRAW] = np.concatenate([no_draws, *(part.draw for part in parts)])
    columns[OWN] = np.concatenate([no_flags, *(part.own for part in parts)])
    return columns


def _gap(suffix: str) -> str | None:
    """Return what a file holds for a missing value: nothing, which CSV has as an empty text."""
    if suffix == ".parquet":
        return None
    return ""


def _inputs(feature: Feature, column: NDArray[np.float64], suffix: str) -> Column:
    """Return the values of a feature as a file holds them; dates are ISO texts."""
    missing = feature.is_missing(column)
    if feature.kind == "category":
        levels = [*held(feature.levels, suffix), _gap(suffix)]
        return Coded(column.astype(np.intp), levels)
    if feature.kind == "date":
        days, codes = np.unique(column, return_inverse=True)
        gaps = feature.is_missing(days).tolist()
        texts = iso_texts(days).tolist()
        pairs = zip(texts, gaps, strict=True)
        return Coded(codes, [_gap(suffix) if gap else text for text, gap in pairs])
    if not missing.any():
        return feature.numbers(column)
    return np.where(missing, np.nan, column)


def _is_beyond_int64(values: NDArray[Any]) -> bool:
    """Return whether whole numbers are larger than those that a file holds."""
    if values.dtype.kind != "u" or not len(values):
        return False
    return int(values.max()) > np.iinfo(np.int64).max


def _outcomes(arrays: Sequence[NDArray[Any]], suffix: str) -> Column:
    """Return the outcomes of all parts: numbers as they are, truth values and texts coded."""
    import pandas as pd

    if arrays:
        values = np.concatenate(arrays)
    else:
        values = np.zeros(0)
    if values.dtype.kind in "OU":
        are_texts = {isinstance(value, str) for value in values.tolist()}
        if are_texts == {True, False}:
            raise UsageError(
                "the outcomes of a suite are texts and numbers; an outcome is always one or the"
                " other"
            )
        if are_texts == {True}:
            values = values.astype(object)
        else:
            # Truth values beside numbers are numbers.
            values = np.array(values.tolist())
            if values.dtype.kind == "O":
                values = values.astype(np.float64)
    if values.dtype.kind == "f" or _is_beyond_int64(values):
        return values.astype(np.float64)
    if values.dtype.kind not in "Ob":
        return values.astype(np.int64)
    codes, distinct = pd.factorize(values)
    labels = [plain(value) for value in distinct]
    if suffix != ".parquet":
        labels = [printed(label) for label in labels]
    return Coded(codes, labels)


def read_suite(path: str | PathLike[str], space: Space) -> list[Tests]:
    """Return the tests of a file in the columns of `write_suite`, one part for each score.

    >>> from evenhand.space.feature import category
    >>> from evenhand.space.space import Space
    >>> read_suite("tests.xls", Space([category("sex", ["F", "M"])]))
    Traceback (most recent call last):
    evenhand.runtime.errors.UsageError: 'tests.xls' has the unknown suffix '.xls'; did you mean ...
    """
    file = Path(path)
    suffix = suffix_of(file)
    with reading(file, suffix):
        names = names_of(file, suffix)
        outcomes = _checked_names(file, space, names)
        numbers = [DRAW]
        gaps = []
        for feature in space.features:
            if feature.kind not in ("category", "date"):
                numbers.append(feature.name)
            if feature.missing:
                gaps.append(feature.name)
        columns = read_columns(
            file, suffix, names, numbers=numbers, outcomes=outcomes, gaps=gaps
        )
    if not len(columns[DRAW]):
        raise DataError(f"'{file}' has no rows; a suite holds one for each executed test")
    return _parts(file, space, columns, outcomes, suffix)


def _checked_names(file: Path, space: Space, names: Sequence[str]) -> list[str]:
    """Return the columns of outcomes, after checking that the file fits the space."""
    for name in (*space.names, *_ABOUT):
        if name in names:
            continue
        hint = nearest(name, names)
        if name in space.names:
            raise DataError(f"'{file}' lacks the feature {name!r} of this space; {hint}")
        raise DataError(f"'{file}' lacks the column {name!r} of a suite; {hint}")
    others = [name for name in names if name not in space.names and name not in _ABOUT]
    for name in others:
        if name != OUTCOME and not name.startswith(f"{OUTCOME}."):
            raise DataError(
                f"'{file}' is a suite of another space: {name!r} is not a feature;"
                f" {nearest(name, space.names)}"
            )
    if not others or (OUTCOME in others and len(others) > 1):
        columns = ", ".join(map(repr, others)) or "none"
        raise DataError(
            f"'{file}' needs a column 'outcome', or one 'outcome.NAME' for each output, but has"
            f" {columns}"
        )
    return others


def _parts(
    file: Path,
    space: Space,
    columns: Mapping[str, Column],
    outcomes: Sequence[str],
    suffix: str,
) -> list[Tests]:
    points = _points(file, space, columns, suffix)
    if OUTCOME in outcomes:
        answers = columns[OUTCOME]
    else:
        answers = joined({_output(name): columns[name] for name in outcomes})
    draw = _whole(file, DRAW, columns[DRAW])
    own = _matched(file, OWN, columns[OWN], held([False, True], suffix)).astype(np.bool_)
    kind = _matched(file, KIND, columns[KIND], KINDS)
    over = _matched(file, OVER, columns[OVER], columns[OVER].values)
    sets = [_set(file, space, text) for text in columns[OVER].values]
    score = kind * len(sets) + over
    _, first_rows = np.unique(score, return_index=True)
    parts = []
    # In the order of the file.
    for first in sorted(first_rows.tolist()):
        rows = np.flatnonzero(score == score[first])
        part = Tests(
            kind=KINDS[kind[first]],
            over=sets[over[first]],
            points=points[rows],
            outcomes=answers[rows],
            draw=draw[rows],
            own=own[rows],
        )
        if part.kind == "causal":
            _check_draws(file, space, part)
        parts.append(part)
    return parts


def _points(file: Path, space: Space, columns: Mapping[str, Column], suffix: str) -> Points:
    """Return the inputs of a file, encoded."""
    shape = (len(columns[DRAW]), len(space.features))
    points: Points = np.empty(shape, dtype=np.float64, order="F")
    for position, feature in enumerate(space.features):
        column = columns[feature.name]
        if feature.kind == "category":
            levels = held(feature.levels, suffix)
            if feature.missing:
                levels = [*levels, _gap(suffix)]
            points[:, position] = _matched(file, feature.name, column, levels)
        elif isinstance(column, Coded):
            values = np.array(column.values, dtype=object)
            values[values == ""] = None
            texts = values[column.codes]
            points[:, position] = encode_column(feature, texts, where=f"'{file}'")
        else:
            points[:, position] = encode_column(feature, column, where=f"'{file}'")
    return points


def _matched(
    file: Path,
    name: str,
    column: Column,
    choices: Sequence[Any],
) -> NDArray[np.intp]:
    """Return which of the choices each row has."""
    if not isinstance(column, Coded):
        values, codes = np.unique(column, return_inverse=True)
        column = Coded(codes, values.tolist())
    # True and 1 are equal as keys, and are two choices.
    places = {}
    for place, choice in enumerate(choices):
        places[(isinstance(choice, bool), choice)] = place
    matches = [places.get((isinstance(value, bool), value), -1) for value in column.values]
    found: NDArray[np.intp] = np.array(matches, dtype=np.intp)[column.codes]
    unknown = found < 0
    if unknown.any():
        row = int(np.argmax(unknown))
        value = column.values[column.codes[row]]
        raise DataError(
            f"'{file}': {name!r} = {clip(repr(value))} in row {row} is unknown;"
            f" {nearest(value, choices)}"
        )
    return found


def _output(column: str) -> str:
    return column.removeprefix(f"{OUTCOME}.")


def _whole(file: Path, name: str, column: NDArray[Any]) -> NDArray[np.int64]:
    whole = np.abs(column) <= 2**53
    whole &= column == np.floor(column)
    if not whole.all():
        row = int(np.argmin(whole))
        raise DataError(
            f"'{file}': {name!r} = {column[row]:g} in row {row} is not a whole number"
        )
    return column.astype(np.int64)


def _set(file: Path, space: Space, text: str) -> tuple[str, ...]:
    try:
        names = json.loads(text)
    except (TypeError, ValueError):
        names = None
    if not isinstance(names, list) or not all(isinstance(name, str) for name in names):
        raise DataError(
            f"'{file}': {OVER!r} = {clip(repr(text))} is not a JSON list of features, such"
            ' as ["sex"]'
        )
    try:
        space.sets(names)
    except EvenhandError as error:
        raise DataError(f"'{file}': {OVER!r} = {clip(text)}: {error}") from None
    return tuple(names)


def _check_draws(file: Path, space: Space, part: Tests) -> None:
    """Raise DataError for a draw without its own input, or with variants in other features."""
    numbers, draw = np.unique(part.draw, return_inverse=True)
    own_row = np.full(len(numbers), -1)
    own_row[draw[part.own]] = np.flatnonzero(part.own)
    if (own_row < 0).any():
        number = numbers[int(np.argmin(own_row))]
        raise DataError(
            f"'{file}': no row of draw {number} has {OWN!r}; mark the drawn input"
        )
    at_issue = space.sets(part.over)
    for column, name in enumerate(space.names):
        if column in at_issue:
            continue
        differs = part.points[:, column] != part.points[own_row[draw], column]
        if differs.any():
            number = part.draw[int(np.argmax(differs))]
            over = json.dumps(part.over, ensure_ascii=False)
            raise DataError(
                f"'{file}': draw {number} varies {name!r}, which is not in its {OVER!r}, {over}"
            )
