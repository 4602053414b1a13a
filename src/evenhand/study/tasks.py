"""Tasks: data sets with labels and protected columns, ready to be split."""

from __future__ import annotations

import hashlib
from collections.abc import Mapping
from dataclasses import dataclass, field
from functools import cached_property
from typing import TYPE_CHECKING, Any

import numpy as np

from evenhand.methods.compare.columns import coded
from evenhand.methods.compare.contingency import Frame
from evenhand.runtime.errors import DataError, UsageError, clip, nearest
from evenhand.runtime.random_streams import stream
from evenhand.space.dataframes import check_missing, eager
from evenhand.space.feature import plain
from evenhand.study.fits import Ground

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from evenhand.space.feature import Label

_REST = "other"


@dataclass(frozen=True, eq=False)
class Task:
    """A data set of a study.

    A protected column becomes binary if it is not: the privileged values, and all others as one.
    All models and methods see it like that, as in the paper.

    Parameters
    ----------
    name
        What it is called in tables.
    frame
        The inputs, any dataframe; the protected columns are among them, the target is not.
    labels
        The true label of each row, of two kinds.
    positive
        The favourable label.
    protected
        The privileged value of each protected column, or a list of them.

    Examples
    --------
    >>> import pandas as pd
    >>> frame = pd.DataFrame({"race": ["White", "Black", "Asian"], "age": [30, 40, 50]})
    >>> task = Task("small", frame, ["no", "yes", "no"], "yes", {"race": "White"})
    >>> task.frame["race"].tolist(), task.ground.protected
    (['White', 'other', 'other'], {'race': ('White', 'other')})
    """

    name: str
    frame: Any = field(repr=False)
    labels: Any = field(repr=False)
    positive: Label
    protected: Mapping[str, Any]
    ground: Ground = field(init=False, repr=False)
    cells: NDArray[np.intp] = field(init=False, repr=False)
    """The cell of each row in a table, if it was told the first label."""

    def __post_init__(self) -> None:
        import pandas as pd

        table = eager(self.frame)
        given = np.asarray(self.labels)
        if given.ndim != 1 or len(given) != len(table):
            raise DataError(
                f"{self.name}: there are {len(table):,} rows and labels of shape {given.shape}"
            )
        truth, labels = coded(given, f"{self.name}: the column of labels")
        positive = plain(self.positive)
        if len(labels) != 2:
            raise DataError(
                f"{self.name}: there are {len(labels)} labels and methods know two;"
                f" {nearest('', labels)}"
            )
        if positive not in labels:
            raise UsageError(
                f"{self.name}: positive = {clip(repr(positive))} is no label;"
                f" {nearest(positive, labels)}"
            )
        if not isinstance(self.protected, Mapping) or not self.protected:
            raise UsageError(
                f"{self.name}: protected must name the privileged value of each protected column"
            )
        binary = {
            column: self._binary(table, column, value) for column, value in self.protected.items()
        }
        frame = Frame.of(labels, {column: values for column, (values, _) in binary.items()})
        place = frame.place({column: values for column, (values, _) in binary.items()})
        columns = {
            name: binary[name][0] if name in binary else _native(table[name])
            for name in table.columns
        }
        ground = Ground(
            self.name,
            labels,
            positive,
            {c: pair for c, (_, pair) in binary.items()},
            frame.combinations,
        )
        put = {
            "frame": pd.DataFrame(columns),
            "labels": (
                np.array([plain(label) for label in given.tolist()])
                if given.dtype == object
                else given
            ),
            "positive": positive,
            "ground": ground,
            "cells": frame.cells(place, truth, np.zeros_like(truth)),
        }
        for attribute, value in put.items():
            object.__setattr__(self, attribute, value)

    def _binary(self, table: Any, column: str, value: Any) -> tuple[Any, tuple[Label, Label]]:
        """Return the values of a protected column as two, and these two, the privileged one first."""
        if column not in table.columns:
            raise DataError(
                f"{self.name}: there is no protected column {column!r};"
                f" {nearest(column, table.columns)}"
            )
        try:
            check_missing(table, column)
        except DataError as error:
            raise DataError(f"{self.name}: {error}") from None
        codes, levels = coded(
            table[column].to_numpy(), f"{self.name}: the protected column {column!r}"
        )
        wanted = [
            plain(one)
            for one in (value if isinstance(value, list | tuple | set | frozenset) else [value])
        ]
        for one in wanted:
            if one not in levels:
                raise UsageError(
                    f"{self.name}: the privileged value {clip(repr(one))} is no value of"
                    f" {column!r}; {nearest(one, levels)}"
                )
        inside = np.array([level in wanted for level in levels])
        if inside.all() or not inside.any():
            raise UsageError(
                f"{self.name}: {column!r} has nobody on one side of {clip(repr(value))}; name some"
                " values"
            )
        pair: tuple[Label, Label]
        if len(levels) == 2:
            pair = (levels[int(np.argmax(inside))], levels[int(np.argmin(inside))])
            return _native(table[column]), pair
        pair = (
            " or ".join(str(level) for level, one in zip(levels, inside, strict=True) if one),
            _REST,
        )
        return np.where(inside[codes], *pair), pair

    @property
    def rows(self) -> int:
        """How many rows there are."""
        return len(self.cells)

    def split(
        self, number: int, test_size: float, seed: int
    ) -> tuple[NDArray[np.intp], NDArray[np.intp], int]:
        """Return the training rows and the test rows of one split, and the seed of all that is
        random in it.
        """
        rng = stream(seed, "study", self.name, number)
        order = rng.permutation(self.rows)
        size = min(max(round(test_size * self.rows), 1), self.rows - 1)
        return order[size:], order[:size], int(rng.integers(2**31))

    def table(self, rows: NDArray[np.intp], told: Any) -> NDArray[np.int64]:
        """Return the counts of rows by combination of protected values, true label and label told."""
        ground, given = self.ground, np.asarray(told, dtype=object)
        predicted = given == ground.labels[1]
        if given.shape != rows.shape or not (predicted | (given == ground.labels[0])).all():
            first = clip(repr(given.ravel()[:1].tolist()))
            raise DataError(
                f"{given.size:,} predictions for {len(rows):,} rows, among them {first}, are not "
                f"one of {' and '.join(map(repr, ground.labels))} for each row"
            )
        shape = len(ground.combinations), 2, 2
        counts = np.bincount(self.cells[rows] + predicted, minlength=int(np.prod(shape)))
        return counts.reshape(shape).astype(np.int64)

    @cached_property
    def digest(self) -> str:
        """A hash that two tasks share exactly when they hold the same rows, columns and labels."""
        import pandas as pd

        found = hashlib.sha256(repr([*self.frame.columns]).encode())
        for column in (*(self.frame[name] for name in self.frame.columns), pd.Series(self.labels)):
            found.update(pd.util.hash_pandas_object(column, index=False).to_numpy().tobytes())
        return found.hexdigest()[:16]


def _native(column: Any) -> Any:
    """Return a column as pandas takes it; whole frames of other engines would need one more
    library.
    """
    return (
        column.to_native().reset_index(drop=True)
        if column.implementation.is_pandas()
        else column.to_numpy()
    )
