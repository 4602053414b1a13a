"""The table of found inputs: packed into a result's JSON, as a frame in the user's labels, and as a
file.

In JSON each feature is one text of encoded numbers, so that tens of thousands of inputs stay a few
lines long: codes of levels for categories, the numbers themselves otherwise, every digit kept.
"""

from __future__ import annotations

import os
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np

from evenhand.runtime.errors import UsageError, clip
from evenhand.runtime.values import as_outcomes
from evenhand.space.dataframes import Layout
from evenhand.space.feature import Feature, plain
from evenhand.space.space import Space

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence
    from os import PathLike

    from numpy.typing import NDArray

    from evenhand.methods.search.hits import Found
    from evenhand.results.result import Result
    from evenhand.runtime.column_file import Column
    from evenhand.space.feature import Points

OUTCOME, TWIN, OVER, OUTPUT = "outcome", "twin.", "over", "output"


@dataclass(frozen=True, slots=True)
class Inputs:
    """Found inputs, their twins, and the outcomes of both, one row for each of the two."""

    individuals: Points
    twins: Points
    outcomes: NDArray[Any]


class Packed(dict[str, Any]):
    """A packed table that has its inputs at hand, as long as it was not read from a file."""

    inputs: Inputs


def pack(found: Found, order: NDArray[np.intp] | None = None) -> Packed:
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
    individuals, twins, space = found.individuals[rows], found.twins[rows], found.probe.space
    outcomes = found.outcomes[:, rows]
    table = Packed(
        rows=len(individuals),
        features={name: _written(individuals[:, place]) for place, name in enumerate(space.names)},
        twins={space.names[place]: _written(twins[:, place]) for place in found.probe.over},
        outcomes=_packed_outcomes(outcomes),
    )
    table.inputs = Inputs(individuals, twins, outcomes)
    return table


def _written(numbers: NDArray[Any]) -> str:
    """Return numbers as one text that reads back as the same numbers.

    >>> _written(np.array([1.0, 0.1, 1e300])), _written(np.array([1.0, -3.0]))
    ('1 0.1 1e+300', '1 -3')
    """
    return (" ".join(map(repr, numbers.tolist())) + " ").replace(".0 ", " ").rstrip()


def _packed_outcomes(outcomes: NDArray[Any]) -> dict[str, Any]:
    """Return numbers as text, truth values and texts as a list of those there are and which of them
    each has.
    """
    flat = outcomes.ravel().tolist()
    kinds = set(map(type, flat))
    numbers = as_outcomes(flat) if kinds <= {int, float} else np.array([])
    if len(numbers) and numbers.dtype.kind in "if":
        first, second = numbers.reshape(outcomes.shape)
        kind = "real" if numbers.dtype.kind == "f" else "integer"
        return {"kind": kind, "individual": _written(first), "twin": _written(second)}
    codes, values = _coded(flat)
    first, second = codes.reshape(outcomes.shape)
    return {"values": values, "individual": _written(first), "twin": _written(second)}


def _coded(values: list[Any]) -> tuple[NDArray[np.intp], list[Any]]:
    """Return values as codes and what these stand for, 1 and true apart, which are equal to Python.

    >>> _coded([1, True, 1])[1]
    [1, True]
    """
    known = list(zip(map(type, values), values, strict=True))
    place = {value: code for code, value in enumerate(dict.fromkeys(known))}
    return np.array([*map(place.__getitem__, known)], dtype=np.intp), [value for _, value in place]


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
        rows = int(table["rows"])
        individuals: Points = np.empty((rows, len(space.features)), dtype=np.float64, order="F")
        twins = individuals.copy(order="F")
        for place, feature in enumerate(space.features):
            individuals[:, place] = _column(table["features"][feature.name], rows, feature)
            twin = table["twins"].get(feature.name)
            twins[:, place] = (
                individuals[:, place] if twin is None else _column(twin, rows, feature)
            )
        return Inputs(individuals, twins, _unpacked_outcomes(table["outcomes"], rows))
    except (AttributeError, IndexError, KeyError, TypeError, ValueError) as error:
        raise UsageError(
            f"the table of found inputs is damaged ({type(error).__name__}: {clip(str(error))})"
        ) from None


def _column(text: str, rows: int, feature: Feature) -> NDArray[np.float64]:
    numbers = _read(text, rows)
    if not feature.inside(numbers).all():
        raise ValueError(f"a value of {feature.name!r} is outside its domain, {feature.domain}")
    return numbers


def _read(text: str, rows: int, kind: type[np.generic] = np.float64) -> NDArray[Any]:
    numbers = np.array(text.split(), dtype=kind)
    if len(numbers) != rows:
        raise ValueError(f"{len(numbers):,} values for {rows:,} inputs")
    return numbers


def _unpacked_outcomes(table: Mapping[str, Any], rows: int) -> NDArray[Any]:
    texts = [table[side] for side in ("individual", "twin")]
    if "values" not in table:
        kind = np.float64 if table["kind"] == "real" else np.int64
        return np.stack([_read(text, rows, kind) for text in texts])
    values = as_outcomes(table["values"])
    return np.stack([values[_read(text, rows, np.intp)] for text in texts])


def added_columns(sets: Sequence[Sequence[str]], outputs: Sequence[str] = ("",)) -> list[str]:
    """Return the names of the columns that follow those of the space.

    >>> added_columns([("sex",), ("sex", "race")])
    ['outcome', 'twin.sex', 'twin.race', 'twin.outcome', 'over']
    """
    twins = dict.fromkeys(TWIN + name for names in sets for name in names)
    several = [
        column
        for column, given in ((OVER, sets), (OUTPUT, outputs))
        if len(set(map(tuple, given))) > 1
    ]
    return [OUTCOME, *twins, TWIN + OUTCOME, *several]


def check_columns(
    space: Space, sets: Sequence[Sequence[str]], outputs: Sequence[str] = ("",)
) -> None:
    """Refuse a space with a feature that has the name of a column of the frame, so that no long run
    ends in an error.

    >>> from evenhand.space.feature import category
    >>> check_columns(Space([category("outcome", ["F", "M"])]), [("outcome",)])
    Traceback (most recent call last):
    evenhand.runtime.errors.UsageError: the feature 'outcome' has the name of a column of every table ...
    """
    for name in added_columns(sets, outputs):
        if name in space.names:
            raise UsageError(
                f"the feature {name!r} has the name of a column of every table of found inputs;"
                " rename the feature"
            )


def frame(entries: Sequence[Mapping[str, Any]], space: Space | Mapping[str, Any]) -> Any:
    """Return one row per found input as a pandas frame, of the entries that a search leaves in its
    details.

    The columns of the space come first, in the user's labels, and in the user's own dtypes where
    the space remembers those of a pandas frame; then `outcome`, `twin.FEATURE` of each feature at
    issue, and `twin.outcome`. With several sets of features `over` tells which, with several
    outputs `output` does.

    >>> table = {"rows": 1, "features": {"sex": "0"}, "twins": {"sex": "1"},
    ...          "outcomes": {"individual": "0", "twin": "1", "values": ["no", "yes"]}}
    >>> space = {"features": [{"name": "sex", "kind": "category", "levels": ["F", "M"]}]}
    >>> frame([{"about": ["sex"], "output": "", "inputs": table}], space).to_dict("records")
    [{'sex': 'F', 'outcome': 'no', 'twin.sex': 'M', 'twin.outcome': 'yes'}]
    """
    import pandas as pd

    space = space if isinstance(space, Space) else _declared(space)
    sets, outputs = [entry["about"] for entry in entries], [entry["output"] for entry in entries]
    check_columns(space, sets, outputs)
    parts = [unpack(entry["inputs"], space) for entry in entries]
    found, twins = (
        _decoded(space, [part.individuals for part in parts]),
        _decoded(space, [part.twins for part in parts]),
    )
    sizes = [len(part.individuals) for part in parts]
    columns = {
        OUTCOME: _joined([part.outcomes[0] for part in parts]),
        TWIN + OUTCOME: _joined([part.outcomes[1] for part in parts]),
        OVER: _repeated([", ".join(names) for names in sets], sizes),
        OUTPUT: _repeated(outputs, sizes),
    }
    for name in twins.columns:
        columns.setdefault(TWIN + name, twins[name])
    added = {name: columns[name] for name in added_columns(sets, outputs)}
    return pd.concat([found, pd.DataFrame(added, index=found.index)], axis=1)


def _declared(table: Mapping[str, Any]) -> Space:
    """Return the space of a result, without its constraints: functions among them are known by name
    only.
    """
    return Space([Feature.from_dict(entry["name"], entry) for entry in table["features"]])


def _decoded(space: Space, parts: Sequence[Points]) -> Any:
    """Return points as a pandas frame, in the user's dtypes where those are of pandas."""
    layout = space.layout if space.layout.engine == "pandas" else Layout()
    points = np.concatenate([np.empty((0, len(space.features))), *parts])
    return layout.build(space.features, range(len(space.features)), np.asfortranarray(points))


def _joined(outcomes: Sequence[NDArray[Any]]) -> NDArray[Any]:
    """Return the outcomes of several entries; those of one output may be truth values, of another
    numbers.
    """
    return as_outcomes(np.concatenate([np.empty(0, dtype=object), *outcomes]).tolist())


def _repeated(values: Sequence[str], sizes: Sequence[int]) -> NDArray[Any]:
    return np.repeat(np.array(values, dtype=object), np.array(sizes, dtype=np.intp))


def check_path(path: str | PathLike[str]) -> tuple[Path, str]:
    """Return the file and its suffix, or say why found inputs cannot be written there.

    >>> check_path("found.csv.gz")[1]
    '.csv.gz'
    """
    from evenhand.runtime.column_file import need_arrow, suffix_of  # imported where it is used

    if not isinstance(path, str | os.PathLike):
        raise UsageError(f"found = {clip(repr(path))} must be the path of a .csv or .parquet file")
    file = Path(path)
    suffix = suffix_of(file)
    if suffix == ".parquet":
        need_arrow(f"writing '{file}'")
    if not file.parent.is_dir():
        raise UsageError(f"{file}: there is no folder {str(file.parent)!r} to write to")
    return file, suffix


def save(found: Any, path: str | PathLike[str]) -> None:
    """Write a frame of found inputs to a `.csv`, `.csv.gz` or `.parquet` file (extra: arrow), as
    suites are written.

    >>> save(None, "found.xls")
    Traceback (most recent call last):
    evenhand.runtime.errors.UsageError: 'found.xls' has the unknown suffix '.xls'; did you mean '.csv'? ...
    """
    from evenhand.runtime.column_file import replacing, write_columns

    file, suffix = check_path(path)
    with replacing(file) as part:
        write_columns(
            part, {name: _filed(found[name], name, suffix) for name in found.columns}, suffix
        )


def _filed(column: Any, name: str, suffix: str) -> Column:
    """Return a column as a file holds it: numbers as they are, all else coded."""
    import pandas as pd

    from evenhand.runtime.column_file import Coded, held, printed

    if pd.api.types.is_numeric_dtype(column.dtype) and not pd.api.types.is_bool_dtype(column.dtype):
        return column.to_numpy(dtype=getattr(column.dtype, "numpy_dtype", column.dtype))
    if column.dtype == object:
        codes, values = _coded(column.tolist())
    else:
        codes, distinct = pd.factorize(column)
        values = [plain(value) for value in distinct]
    if name in (OUTCOME, TWIN + OUTCOME) and suffix != ".parquet":
        return Coded(codes, [printed(value) for value in values])
    return Coded(codes, held(values, suffix))


def frame_of(result: Result) -> Any:
    """Return one row per discriminatory input that a search found."""
    return frame(result.details.get("search", ()), result.domain or result.space)
