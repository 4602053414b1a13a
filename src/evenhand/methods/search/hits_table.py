"""The table of found inputs: in a result's JSON, as a frame in the user's labels, and as a file.

In JSON each feature is one text of encoded numbers, so that tens of thousands of inputs stay a few
lines long: codes of levels for categories, the numbers themselves otherwise, every digit kept.
"""

from __future__ import annotations

import os
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np

from evenhand.methods.search import messages
from evenhand.runtime import number_text
from evenhand.runtime.errors import UsageError, clip
from evenhand.runtime.values import as_outcomes
from evenhand.space.feature import Feature, plain
from evenhand.space.frames.layout import Layout
from evenhand.space.space import Space

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence
    from os import PathLike

    from evenhand.methods.search.arrays import Indices, Numbers, Outcomes
    from evenhand.methods.search.hits import Found
    from evenhand.methods.search.plausibility import Plausibility
    from evenhand.results.result import Result
    from evenhand.runtime.column_file import Column
    from evenhand.space.feature import Points

OUTCOME = "outcome"
TWIN = "twin."
"""What the name of a column of the twin begins with."""
OVER = "over"
OUTPUT = "output"
REALISTIC = "realistic"
REALISTIC_TWINS = "realistic_twins"


@dataclass(frozen=True, slots=True)
class Inputs:
    """Found inputs, their twins, and the outcomes of both, one row for each of the two."""

    individuals: Points
    twins: Points
    outcomes: Outcomes


class Packed(dict[str, Any]):
    """A packed table that has its inputs at hand, as long as it was not read from a file."""

    inputs: Inputs


def pack(
    found: Found,
    order: Indices | None = None,
    plausibility: Plausibility | None = None,
) -> Packed:
    """Return found inputs as JSON holds them, in the order found or another one.

    >>> from evenhand.space.feature import category, integer
    >>> from evenhand.methods.search.hits import Found
    >>> from evenhand.methods.search.probe import Probe
    >>> from evenhand.subject.subject import Subject
    >>> from evenhand.subject.view import View
    >>> space = Space([category("sex", ["F", "M"]), integer("age", 18, 90)])
    >>> probe = Probe(View(Subject(lambda people: people["sex"] == "M", space)), ("sex",))
    >>> found = Found(probe)
    >>> found.add(probe.ask(np.array([[0.0, 20.0], [1.0, 30.0]])))
    2
    >>> table = pack(found)
    >>> table["features"], table["twins"], table["outcomes"]["values"]
    ({'sex': '0 0', 'age': '20 30'}, {'sex': '1 1'}, [False, True])
    """
    rows = slice(None) if order is None else order
    space = found.probe.space
    individuals = found.individuals[rows]
    twins = found.twins[rows]
    outcomes = found.outcomes[:, rows]
    features = {}
    for position, name in enumerate(space.names):
        features[name] = _written(individuals[:, position])
    # A twin differs from its individual in the features at issue alone.
    twin_features = {}
    for position in found.probe.over:
        twin_features[space.names[position]] = _written(twins[:, position])
    table = Packed(
        rows=len(individuals),
        features=features,
        twins=twin_features,
        outcomes=_packed_outcomes(outcomes),
    )
    if plausibility is not None:
        flags = [plausibility.individuals[rows], plausibility.twins[rows]]
        table[REALISTIC] = _written(flags[0].astype(np.intp))
        table[REALISTIC_TWINS] = _written(flags[1].astype(np.intp))
    table.inputs = Inputs(individuals, twins, outcomes)
    return table


def _written(numbers: Outcomes) -> str:
    """Return numbers as one text that reads back as the same numbers.

    >>> _written(np.array([1.0, 0.1, 1e300])), _written(np.array([1.0, -3.0]))
    ('1 0.1 1e+300', '1 -3')
    """
    text = " ".join(map(repr, numbers.tolist()))
    # The space at the end lets the last number lose its ".0" as well.
    return (text + " ").replace(".0 ", " ").rstrip()


def _packed_outcomes(outcomes: Outcomes) -> dict[str, Any]:
    """Return outcomes as JSON holds them.

    Numbers are text; of truth values and texts there is a list, and which of them each has.
    """
    flat = outcomes.ravel().tolist()
    # A truth value is a number for NumPy, so that the types are looked at.
    only_numbers = set(map(type, flat)) <= {int, float}
    if only_numbers:
        numbers = as_outcomes(flat)
    else:
        numbers = np.array([])
    if len(numbers) and numbers.dtype.kind in "if":
        first, second = numbers.reshape(outcomes.shape)
        return {
            "kind": "real" if numbers.dtype.kind == "f" else "integer",
            "individual": _written(first),
            "twin": _written(second),
        }
    codes, values = _coded(flat)
    first, second = codes.reshape(outcomes.shape)
    return {
        "values": values,
        "individual": _written(first),
        "twin": _written(second),
    }


def _coded(values: list[Any]) -> tuple[Indices, list[Any]]:
    """Return values as codes and what these stand for.

    1 and true, which are equal to Python, are told apart.

    >>> _coded([1, True, 1])[1]
    [1, True]
    """
    typed = list(zip(map(type, values), values, strict=True))
    distinct = list(dict.fromkeys(typed))
    code_of = {value: code for code, value in enumerate(distinct)}
    codes = np.array([code_of[value] for value in typed], dtype=np.intp)
    return codes, [value for _, value in distinct]


def unpack(table: Mapping[str, Any], space: Space) -> Inputs:
    """Return what `pack` packed.

    >>> from evenhand.space.feature import category
    >>> texts = {"individual": "0", "twin": "1", "values": ["no", "yes"]}
    >>> table = {"rows": 1, "features": {"sex": "0"}, "twins": {"sex": "1"}, "outcomes": texts}
    >>> unpack(table, Space([category("sex", ["F", "M"])])).outcomes.tolist()
    [['no'], ['yes']]
    """
    if isinstance(table, Packed):
        return table.inputs
    try:
        return _unpacked(table, space)
    except (AttributeError, IndexError, KeyError, TypeError, ValueError) as error:
        damaged = messages.DAMAGED_TABLE.format(
            kind=type(error).__name__,
            error=clip(str(error)),
        )
        raise UsageError(damaged) from None


def _unpacked(table: Mapping[str, Any], space: Space) -> Inputs:
    rows = int(table["rows"])
    width = len(space.features)
    individuals: Points = np.empty((rows, width), dtype=np.float64, order="F")
    twins = individuals.copy(order="F")
    for position, feature in enumerate(space.features):
        column = _column(table["features"][feature.name], rows, feature)
        individuals[:, position] = column
        twin = table["twins"].get(feature.name)
        if twin is not None:
            column = _column(twin, rows, feature)
        twins[:, position] = column
    return Inputs(individuals, twins, _unpacked_outcomes(table["outcomes"], rows))


def _column(text: str, rows: int, feature: Feature) -> Numbers:
    numbers = _read(text, rows)
    if not feature.inside(numbers).all():
        outside = messages.VALUE_OUTSIDE_DOMAIN.format(
            feature=repr(feature.name),
            domain=feature.domain,
        )
        raise ValueError(outside)
    return numbers


def _read(
    text: str,
    rows: int,
    kind: type[np.generic] = np.float64,
) -> Outcomes:
    """Return the numbers that `_written` has written."""
    try:
        numbers = np.array(text.split(), dtype=kind)
    except OverflowError as error:
        raise ValueError(str(error)) from None
    if len(numbers) != rows:
        wrong_number = messages.WRONG_NUMBER_OF_VALUES.format(
            values=number_text.count(len(numbers)),
            inputs=number_text.count(rows),
        )
        raise ValueError(wrong_number)
    return numbers


def _unpacked_outcomes(table: Mapping[str, Any], rows: int) -> Outcomes:
    """Return the outcomes that `_packed_outcomes` has packed."""
    texts = [table["individual"], table["twin"]]
    if "values" not in table:
        kind = np.float64 if table["kind"] == "real" else np.int64
        return np.stack([_read(text, rows, kind) for text in texts])
    values = as_outcomes(table["values"])
    return np.stack([values[_read(text, rows, np.intp)] for text in texts])


def added_columns(
    sets: Sequence[Sequence[str]],
    outputs: Sequence[str] = ("",),
    *,
    judged: bool = False,
) -> list[str]:
    """Return the names of the columns that follow those of the space.

    Where real rows tell who could exist, the inputs are `judged` by them.

    >>> added_columns([("sex",), ("sex", "race")])
    ['outcome', 'twin.sex', 'twin.race', 'twin.outcome', 'over']
    """
    twins: dict[str, None] = {}
    for names in sets:
        for name in names:
            twins[TWIN + name] = None
    columns = [OUTCOME, *twins, TWIN + OUTCOME]
    # Which set, and which output, is only of interest where there are several.
    if len({tuple(names) for names in sets}) > 1:
        columns.append(OVER)
    if len(set(outputs)) > 1:
        columns.append(OUTPUT)
    if judged:
        columns += [REALISTIC, TWIN + REALISTIC]
    return columns


def check_columns(
    space: Space,
    sets: Sequence[Sequence[str]],
    outputs: Sequence[str] = ("",),
    *,
    judged: bool = False,
) -> None:
    """Refuse a space with a feature that has the name of a column of the frame.

    This is checked before a run, so that no long run ends in an error.

    >>> from evenhand.space.feature import category
    >>> check_columns(Space([category("outcome", ["F", "M"])]), [("outcome",)])
    Traceback (most recent call last):
    evenhand.runtime.errors.UsageError: the feature 'outcome' has the name of a column of ...
    """
    for name in added_columns(sets, outputs, judged=judged):
        if name in space.names:
            raise UsageError(messages.FEATURE_NAMED_LIKE_COLUMN.format(feature=repr(name)))


def frame(entries: Sequence[Mapping[str, Any]], space: Space | Mapping[str, Any]) -> Any:
    """Return one row per found input as a pandas frame.

    The entries are those that a search leaves in its details. The columns of the space come first,
    in the user's labels, and in the user's own dtypes where the space remembers those of a pandas
    frame; then `outcome`, `twin.FEATURE` of each feature at issue, and `twin.outcome`. With several
    sets of features `over` names the set, with several outputs `output` names the output. Where
    real rows are known, `realistic` and `twin.realistic` say who could exist.

    >>> table = {"rows": 1, "features": {"sex": "0"}, "twins": {"sex": "1"},
    ...          "outcomes": {"individual": "0", "twin": "1", "values": ["no", "yes"]}}
    >>> space = {"features": [{"name": "sex", "kind": "category", "levels": ["F", "M"]}]}
    >>> frame([{"about": ["sex"], "output": "", "inputs": table}], space).to_dict("records")
    [{'sex': 'F', 'outcome': 'no', 'twin.sex': 'M', 'twin.outcome': 'yes'}]
    """
    import pandas as pd

    if not isinstance(space, Space):
        space = _declared(space)
    sets = [entry["about"] for entry in entries]
    outputs = [entry["output"] for entry in entries]
    judged = bool(entries) and all(REALISTIC in entry["inputs"] for entry in entries)
    check_columns(space, sets, outputs, judged=judged)
    parts = [unpack(entry["inputs"], space) for entry in entries]
    sizes = [len(part.individuals) for part in parts]
    individuals = _decoded(space, [part.individuals for part in parts])
    twins = _decoded(space, [part.twins for part in parts])
    set_names = [", ".join(names) for names in sets]
    columns = {
        OUTCOME: _joined([part.outcomes[0] for part in parts]),
        TWIN + OUTCOME: _joined([part.outcomes[1] for part in parts]),
        OVER: _repeated(set_names, sizes),
        OUTPUT: _repeated(outputs, sizes),
    }
    for name in twins.columns:
        columns.setdefault(TWIN + name, twins[name])
    if judged:
        columns[REALISTIC] = _judgements(entries, REALISTIC)
        columns[TWIN + REALISTIC] = _judgements(entries, REALISTIC_TWINS)
    names = added_columns(sets, outputs, judged=judged)
    added = {name: columns[name] for name in names}
    added_frame = pd.DataFrame(added, index=individuals.index)
    return pd.concat([individuals, added_frame], axis=1)


def _judgements(entries: Sequence[Mapping[str, Any]], key: str) -> Outcomes:
    """Return which of all inputs, or of their twins, could exist."""
    parts = []
    for entry in entries:
        table = entry["inputs"]
        parts.append(_read(table[key], int(table["rows"])) != 0)
    return np.concatenate(parts)


def _declared(table: Mapping[str, Any]) -> Space:
    """Return the space of a result, without its constraints.

    Functions among constraints are known by name only.
    """
    return Space([Feature.from_dict(entry["name"], entry) for entry in table["features"]])


def _decoded(space: Space, parts: Sequence[Points]) -> Any:
    """Return points as a pandas frame, in the user's dtypes where those are of pandas."""
    layout = space.layout
    if layout.engine != "pandas":
        layout = Layout()
    width = len(space.features)
    # There may be no part at all.
    points = np.concatenate([np.empty((0, width)), *parts])
    return layout.build(space.features, range(width), np.asfortranarray(points))


def _joined(outcomes: Sequence[Outcomes]) -> Outcomes:
    """Return the outcomes of several entries.

    Those of one output may be truth values, those of another numbers.
    """
    every = np.concatenate([np.empty(0, dtype=object), *outcomes])
    return as_outcomes(every.tolist())


def _repeated(values: Sequence[str], sizes: Sequence[int]) -> Outcomes:
    return np.repeat(np.array(values, dtype=object), np.array(sizes, dtype=np.intp))


def check_path(path: str | PathLike[str]) -> tuple[Path, str]:
    """Return the file and its suffix, or raise where found inputs cannot be written there.

    >>> check_path("found.csv.gz")[1]
    '.csv.gz'
    """
    # Imported where it is used.
    from evenhand.runtime.column_file import need_arrow, suffix_of

    if not isinstance(path, str | os.PathLike):
        raise UsageError(messages.NOT_A_PATH.format(value=clip(repr(path))))
    file = Path(path)
    suffix = suffix_of(file)
    if suffix == ".parquet":
        need_arrow(messages.WRITING.format(file=file))
    if not file.parent.is_dir():
        folder = repr(str(file.parent))
        raise UsageError(messages.NO_FOLDER.format(file=file, folder=folder))
    return file, suffix


def save(found: Any, path: str | PathLike[str], *, raw: bool = False) -> None:
    """Write a frame of found inputs to a `.csv`, `.csv.gz` or `.parquet` file (extra: arrow).

    Suites are written in the same way.

    >>> save(None, "found.xls")
    Traceback (most recent call last):
    evenhand.runtime.errors.UsageError: 'found.xls' has the unknown suffix '.xls'; ...
    """
    from evenhand.runtime.column_file import replacing, write_columns

    file, suffix = check_path(path)
    with replacing(file) as part:
        columns = {}
        for name in found.columns:
            columns[name] = _filed(found[name], name, suffix)
        write_columns(part, columns, suffix, raw=raw)


def _filed(column: Any, name: str, suffix: str) -> Column:
    """Return a column as a file holds it: numbers as they are, all else coded."""
    import pandas as pd

    from evenhand.runtime.column_file import Coded, held, printed

    dtype = column.dtype
    if pd.api.types.is_datetime64_any_dtype(dtype):
        column = column.dt.strftime("%Y-%m-%d").astype(object)
    if column.isna().any():
        return _filed_with_gaps(column, suffix)
    if pd.api.types.is_numeric_dtype(dtype) and not pd.api.types.is_bool_dtype(dtype):
        # Nullable dtypes of pandas know the NumPy dtype they extend.
        numpy_dtype = getattr(dtype, "numpy_dtype", dtype)
        return column.to_numpy(dtype=numpy_dtype)
    if pd.api.types.is_object_dtype(dtype):
        codes, values = _coded(column.tolist())
    else:
        codes, distinct = pd.factorize(column)
        values = [plain(value) for value in distinct]
    if name in (OUTCOME, TWIN + OUTCOME) and suffix != ".parquet":
        return Coded(codes, [printed(value) for value in values])
    return Coded(codes, held(values, suffix))


def _filed_with_gaps(column: Any, suffix: str) -> Column:
    """Return a column with missing values as a file holds it: CSV has empty cells for them."""
    import pandas as pd

    from evenhand.runtime.column_file import Coded, held

    dtype = column.dtype
    if pd.api.types.is_numeric_dtype(dtype) and not pd.api.types.is_bool_dtype(dtype):
        return column.to_numpy(dtype=np.float64, na_value=np.nan)
    codes, distinct = pd.factorize(column)
    values = held([plain(value) for value in distinct], suffix)
    codes = np.where(codes < 0, len(values), codes)
    return Coded(codes, [*values, None if suffix == ".parquet" else ""])


def frame_of(result: Result) -> Any:
    """Return one row per discriminatory input that a search found."""
    return frame(result.details.get("search", ()), result.domain or result.space)
