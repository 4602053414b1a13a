"""What predictions are kept as: tables of counts by group, true and predicted label, for each name
and run.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from itertools import pairwise
from typing import TYPE_CHECKING, Any

import numpy as np

from evenhand.runtime.errors import DataError, UsageError, clip, nearest
from evenhand.space.dataframes import eager
from evenhand.space.feature import plain

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from evenhand.space.feature import Label

    Codes = NDArray[np.intp]
    Floats = NDArray[np.float64]


@dataclass(frozen=True)
class Grouping:
    """Groups by some protected features: for each combination of all of them, the group it belongs
    to, or -1.
    """

    names: tuple[str, ...]
    groups: tuple[tuple[Label, ...], ...]
    of: tuple[int, ...]

    def label(self, group: int) -> str:
        """Return a group in words."""
        return ", ".join(
            f"{name} {value}" for name, value in zip(self.names, self.groups[group], strict=True)
        )

    def fold(self, tables: Floats) -> Floats:
        """Return tables by these groups, from tables by all combinations."""
        members = np.zeros((len(self.groups), len(self.of)))
        inside = [at for at, group in enumerate(self.of) if group >= 0]
        members[[self.of[at] for at in inside], inside] = 1.0
        return np.asarray(np.einsum("gj,...jtp->...gtp", members, tables))


@dataclass(frozen=True)
class Frame:
    """What the axes of tables stand for: combinations of protected features, and labels.

    >>> frame = Frame.of(["no", "yes"], {"sex": ["f", "m", "f"], "race": ["a", "a", "b"]})
    >>> [grouping.names for grouping in frame.groupings], frame.combinations
    ([('sex',), ('race',), ('sex', 'race')], (('f', 'a'), ('f', 'b'), ('m', 'a')))
    """

    labels: tuple[Label, ...]
    names: tuple[str, ...]
    combinations: tuple[tuple[Label, ...], ...]
    groupings: tuple[Grouping, ...]

    @classmethod
    def of(
        cls,
        labels: Iterable[Label],
        protected: Mapping[str, Any],
        *,
        over: Sequence[Sequence[str]] | None = None,
        support: float = 0.0,
    ) -> Frame:
        """Return the frame of some labels and columns of protected values.

        Parameters
        ----------
        over
            Sets of features whose groups are compared; by default each alone, and all together.
        support
            Groups with a smaller share of the rows are left out.
        """
        names = tuple(protected)
        if not isinstance(support, int | float) or not 0 <= support < 1:
            raise UsageError(
                f"support = {clip(repr(support))} must be a share of the rows, for example 0.01"
            )
        if not names:
            return cls(tuple(labels), (), ((),), ())
        codes, levels = zip(
            *(coded(protected[name], f"the protected column {name!r}") for name in names),
            strict=True,
        )
        places, counts = np.unique(np.stack(codes, axis=1), axis=0, return_counts=True)
        seen = tuple(
            tuple(levels[at][code] for at, code in enumerate(row)) for row in places.tolist()
        )  # sorted by code, and so whatever the order of rows
        sets = _sets(over, names)
        groupings = tuple(_grouping(names, seen, counts, chosen, support) for chosen in sets)
        return cls(tuple(labels), names, seen, groupings)

    def place(self, protected: Mapping[str, Any]) -> Codes:
        """Return the combination of each row, or -1 for one that the frame does not have."""
        if not self.names:
            raise UsageError("there are no protected columns to place rows by")
        levels = [
            list(dict.fromkeys(each[at] for each in self.combinations))
            for at in range(len(self.names))
        ]
        shape = tuple(len(each) + 1 for each in levels)  # one more, for what no combination has
        lookup = np.full(shape, -1, dtype=np.intp)
        for place, each in enumerate(self.combinations):
            lookup[tuple(levels[at].index(value) for at, value in enumerate(each))] = place
        codes = [
            _matched(array(protected[name], name), levels[at]) for at, name in enumerate(self.names)
        ]
        return np.asarray(lookup[tuple(codes)])

    def column(self, values: Any, what: str) -> Codes:
        """Return the place of each label among the labels."""
        given = array(values, what)
        found = _matched(given, self.labels)
        if (found < 0).any():
            wrong = plain(given[int(np.argmin(found))])
            raise DataError(
                f"{what} has the label {clip(repr(wrong))}; {nearest(wrong, self.labels)}"
            )
        return found

    @property
    def shape(self) -> tuple[int, int, int]:
        """The shape of one table."""
        return len(self.combinations), len(self.labels), len(self.labels)

    def cells(self, combination: Codes, truth: Codes, predicted: Codes) -> Codes:
        """Return the cell of each row in a table that is laid out flat."""
        return (combination * self.shape[1] + truth) * self.shape[2] + predicted

    def table(self, cells: Codes) -> Floats:
        """Return the table of some rows."""
        return (
            np.bincount(cells, minlength=int(np.prod(self.shape)))
            .reshape(self.shape)
            .astype(np.float64)
        )


def coded(values: Any, what: str) -> tuple[Codes, tuple[Label, ...]]:
    """Return the code of each value, and the values in an order that does not depend on the rows.

    >>> codes, levels = coded(["b", "a", "b"], "sex")
    >>> codes.tolist(), levels
    ([1, 0, 1], ('a', 'b'))
    """
    import pandas as pd

    codes, found = pd.factorize(array(values, what))
    if (codes < 0).any():
        where = int(np.argmin(codes))
        raise DataError(f"{what} has no value in row {where}; fill it in or leave the row out")
    levels = [plain(value) for value in found]
    order = sorted(
        range(len(levels)), key=lambda at: (isinstance(levels[at], str), *_sortable(levels[at]))
    )
    place = np.empty(len(order), dtype=np.intp)
    place[order] = np.arange(len(order))
    return place[codes], tuple(levels[at] for at in order)


def _matched(values: NDArray[Any], levels: Sequence[Label]) -> Codes:
    """Return the place of each value among some levels, or -1."""
    import pandas as pd

    codes, found = pd.factorize(values)
    known = {level: at for at, level in enumerate(levels)}
    places = [known.get(plain(value), -1) for value in found]
    return np.asarray(
        np.array([*places, -1], dtype=np.intp)[codes]
    )  # what is missing has the code -1, and so the last


def columns_of(protected: Any) -> dict[str, NDArray[Any]]:
    """Return the protected columns by name, from one column, a mapping or any dataframe.

    A group that a column declares and no row has is refused: nothing is known of it, and that must
    not read as fair.

    >>> {name: column.tolist() for name, column in columns_of(["f", "m"]).items()}
    {'protected': ['f', 'm']}
    """
    if isinstance(protected, Mapping):
        given = {str(name): values for name, values in protected.items()}
    elif _is_table(protected):
        table = eager(protected)
        given = {name: table[name].to_native() for name in table.columns}
    else:
        name = getattr(protected, "name", None)
        given = {name if isinstance(name, str) and name else "protected": protected}
    if not given:
        raise UsageError(
            "protected has no column; give it the column of a protected feature, or several"
        )
    found = {
        name: array(values, f"the protected column {name!r}") for name, values in given.items()
    }
    for name, values in given.items():
        _check_declared(name, values, found[name])
    for (first, one), (second, other) in pairwise(found.items()):
        if len(one) != len(other):
            raise DataError(
                f"protected has {len(one):,} rows of {first!r} and {len(other):,} of {second!r}"
            )
    return found


def array(values: Any, what: str) -> NDArray[Any]:
    """Return a column as an array: of one dtype if it has one, and otherwise of objects.

    >>> array(("a", 1), "y_true").tolist()
    ['a', 1]
    """
    if _is_table(values):
        table = eager(values)
        if len(table.columns) != 1:
            raise DataError(
                f"{what} has {len(table.columns)} columns ({', '.join(table.columns)}); give it one"
                " alone"
            )
        values = table[table.columns[0]].to_native()
    for way in ("to_pylist", "to_numpy", "to_list"):
        if hasattr(values, way):
            values = getattr(values, way)()
            break
    if isinstance(values, str | bytes | Mapping) or not isinstance(values, Iterable):
        raise DataError(
            f"{what} is {clip(repr(values))}, which is no column; give it one value for each row"
        )
    given = values if isinstance(values, np.ndarray) else np.array(list(values), dtype=object)
    if given.ndim != 1:
        raise DataError(
            f"{what} has the shape {given.shape}, which is no column; give it one value for"
            " each row"
        )
    return given.astype(object) if given.dtype.kind in "US" else given


def _is_table(values: Any) -> bool:
    return hasattr(values, "collect_schema") or hasattr(
        values, "columns"
    )  # lazy frames warn of the latter


def _check_declared(name: str, values: Any, found: NDArray[Any]) -> None:
    """Refuse a group that the type of a column declares (of pandas, or an Enum of Polars) and no
    row has.
    """
    dtype: Any = getattr(values, "dtype", None)
    declared = dtype.categories if type(dtype).__name__ in ("CategoricalDtype", "Enum") else None
    missing = [] if declared is None else sorted(set(declared) - set(found.tolist()), key=str)
    if missing:
        raise DataError(
            f"the protected column {name!r} declares the group {clip(repr(plain(missing[0])))}, and"
            " no row has it: add such rows, or take it off the column's categories"
        )


def _sortable(value: Any) -> tuple[Any, ...]:
    return (value,) if isinstance(value, str | int | float | bool) else (str(value),)


def _sets(over: Any, names: tuple[str, ...]) -> list[tuple[str, ...]]:
    if over is None:
        return [(name,) for name in names] + ([names] if len(names) > 1 else [])
    given = [over] if isinstance(over, str) else over
    if not isinstance(given, Iterable) or not all(isinstance(chosen, Iterable) for chosen in given):
        raise UsageError(
            f"over = {clip(repr(over))} must name protected columns; {nearest('', names)}"
        )
    sets = [(chosen,) if isinstance(chosen, str) else tuple(chosen) for chosen in given]
    for chosen in sets:
        for name in chosen:
            if name not in names:
                raise UsageError(
                    f"over names {name!r}, which is no protected column; {nearest(name, names)}"
                )
    if not sets or not all(sets):
        raise UsageError(f"over = {over!r} names no protected column; {nearest('', names)}")
    return list(dict.fromkeys(sets))


def _grouping(
    names: tuple[str, ...],
    seen: Sequence[tuple[Label, ...]],
    counts: Codes,
    chosen: tuple[str, ...],
    support: float,
) -> Grouping:
    at = [names.index(name) for name in chosen]
    member = [tuple(combination[place] for place in at) for combination in seen]
    groups = list(dict.fromkeys(member))
    sizes = np.bincount([groups.index(one) for one in member], weights=counts.astype(float))
    kept = [
        group for group, size in zip(groups, sizes, strict=True) if size >= support * counts.sum()
    ]
    if len(kept) < 2:
        said = (
            "rows of every group but one are too few" if len(groups) > 1 else "there is one group"
        )
        only = f" ({', '.join(f'{name} {value!r}' for name, value in zip(chosen, groups[0], strict=True))})"
        raise DataError(
            f"{' and '.join(chosen)}: {said}{only if len(groups) == 1 else ''}, so there is nothing"
            " to compare; choose protected features with at least two groups"
        )
    return Grouping(
        chosen, tuple(kept), tuple(kept.index(one) if one in kept else -1 for one in member)
    )


FEW = 30
"""Groups with fewer rows than this are told of."""


@dataclass(frozen=True)
class Rows:
    """One test set for all: the combination and the true label of each row, and predictions by
    name, run and row.
    """

    combination: Codes
    truth: Codes
    predicted: Codes


@dataclass(frozen=True)
class Trials:
    """Tables by name and run, the original first; `rows` are those behind them where all runs share
    one test set.
    """

    names: tuple[str, ...]
    frame: Frame
    tables: Floats
    rows: Rows | None = None

    @property
    def runs(self) -> int:
        """How many runs there are."""
        return int(self.tables.shape[1])

    @classmethod
    def of(
        cls,
        outcomes: Mapping[str, Any],
        y_true: Any,
        protected: Any,
        *,
        over: Any = None,
        support: float = 0.0,
    ) -> Trials:
        """Count predictions, of which the first are those of the original.

        >>> trials = Trials.of({"original": [0, 1], "other": [1, 1]}, [0, 1], ["f", "m"])
        >>> trials.tables.shape, trials.runs
        ((2, 1, 2, 2, 2), 1)
        """
        apart = _is_runs(y_true)
        truths = [array(one, "y_true") for one in (y_true if apart else [y_true])]
        told = {name: _runs(name, value) for name, value in outcomes.items()}
        runs = len(truths) if apart else max(len(value) for value in told.values())
        for name, value in told.items():
            if len(value) == 1 and not apart:
                told[name] = value * runs
            elif len(value) != runs:
                raise DataError(
                    f"{clip(repr(name))} has {len(value)} runs and there are {runs}; give as many"
                    " of each"
                )
        columns = _columns(protected, len(truths), apart=apart)
        _check_lengths(truths, told, columns)
        labels = _labels(truths, told)
        names = list(columns[0])
        every = {name: np.concatenate([part[name] for part in columns]) for name in names}
        frame = Frame.of(labels, every, over=over, support=support)
        place = [
            frame.place(part) if names else np.zeros(len(t), np.intp)
            for part, t in zip(columns, truths, strict=True)
        ]
        truth = [frame.column(one, "y_true") for one in truths]
        codes = {
            name: [frame.column(one, clip(repr(name))) for one in value]
            for name, value in told.items()
        }
        tables = np.array(
            [
                [
                    frame.table(frame.cells(place[run * apart], truth[run * apart], one))
                    for run, one in enumerate(value)
                ]
                for value in codes.values()
            ]
        )
        rows = None if apart else Rows(place[0], truth[0], np.array(list(codes.values())))
        return cls(tuple(told), frame, tables, rows)

    def check_original(self) -> None:
        """Refuse an original that tells everyone the same."""
        told = self.tables[0].sum(axis=(0, 1, 2))
        if (told > 0).sum() == 1:
            only = self.frame.labels[int(np.argmax(told))]
            raise DataError(
                f"the original {self.names[0]!r} predicts {only!r} for everyone, so it has neither"
                " bias nor performance to give up; take a model that tells people apart"
            )

    def of_original(self) -> list[tuple[str, Floats]]:
        """Return the table of the original in each run, and what messages call its rows."""
        found = []
        for run in range(self.runs):
            where = f" in run {run}" if self.runs > 1 else ""
            found.append((f"the test set{where}", self.tables[0, run]))
        return found

    def notes_on_groups(self) -> list[str]:
        """Return what a reader must know of small groups."""
        found = []
        for grouping in self.frame.groupings:
            sizes = grouping.fold(self.tables[0].mean(axis=0)).sum(axis=(-2, -1))
            if (sizes < FEW).any():
                least = int(np.argmin(sizes))
                found.append(
                    f"{grouping.label(least)} has {sizes[least]:.0f} rows: its rates, and so the"
                    " bias, are rough"
                )
            at = [self.frame.names.index(name) for name in grouping.names]
            pairs = zip(self.frame.combinations, grouping.of, strict=True)
            if left := {tuple(each[place] for place in at) for each, group in pairs if group < 0}:
                found.append(
                    f"{' and '.join(grouping.names)}: {len(left)} small groups were left out"
                )
        return found


def _is_runs(value: Any) -> bool:
    """Return whether this is a list of columns, and not a column."""
    if not isinstance(value, list | tuple) or not value:
        return False
    first = value[0]
    return hasattr(first, "__len__") and not isinstance(first, str | bytes)


def _runs(name: str, value: Any) -> list[Any]:
    if isinstance(value, np.ndarray) and value.ndim == 2:
        value = list(value)
    return [array(one, clip(repr(name))) for one in (value if _is_runs(value) else [value])]


def _columns(protected: Any, runs: int, *, apart: bool) -> list[dict[str, Any]]:
    if protected is None:
        return [{}] * runs
    if not apart:
        return [columns_of(protected)]
    given = (
        protected if isinstance(protected, Sequence) and not isinstance(protected, str) else None
    )
    if given is None or len(given) != runs:
        said = f"{len(given)} runs" if given is not None else "one run"
        raise DataError(
            f"y_true has {runs} runs and protected {said}; give the protected columns of each run"
        )
    found = [columns_of(one) for one in given]
    for run, part in enumerate(found):
        if set(part) != set(found[0]):
            raise DataError(
                f"run {run} has the protected columns {', '.join(part)}, run 0"
                f" {', '.join(found[0])}"
            )
    return found


def _check_lengths(
    truths: list[Any], told: Mapping[str, list[Any]], columns: list[dict[str, Any]]
) -> None:
    apart = len(truths) > 1
    for run, truth in enumerate(truths):
        where = f" in run {run}" if apart else ""
        if not len(truth):
            raise DataError(f"y_true has no rows{where}; give it the true labels of the test set")
        told_here = [
            (name, one)
            for name, value in told.items()
            for one in (value[run : run + 1] if apart else value)
        ]
        for what, column in [
            *((f"the protected column {name!r}", column) for name, column in columns[run].items()),
            *((clip(repr(name)), one) for name, one in told_here),
        ]:
            if len(column) != len(truth):
                raise DataError(
                    f"{what} has {len(column):,} rows and y_true {len(truth):,}{where}; give one"
                    " value for each row"
                )


def _labels(truths: list[Any], told: Mapping[str, list[Any]]) -> tuple[Any, ...]:
    """Return all labels; one that only a mitigation uses is taken for a slip."""
    truth = _levels(truths, "y_true")
    each = {name: _levels(value, clip(repr(name))) for name, value in told.items()}
    labels = coded([*truth, *next(iter(each.values()))], "y_true")[1]
    for name, own in each.items():
        for label in own:
            if label not in labels or not set(own) & set(truth):
                raise DataError(
                    f"{clip(repr(name))} predicts {clip(repr(label))}, no true label;"
                    f" {nearest(label, truth)}"
                )
    return labels


def _levels(columns: list[Any], what: str) -> list[Any]:
    """Return the different labels of some columns."""
    where = [f" in run {run}" if len(columns) > 1 else "" for run in range(len(columns))]
    found = [coded(column, f"{what}{run}")[1] for column, run in zip(columns, where, strict=True)]
    return list(dict.fromkeys(label for each in found for label in each))
