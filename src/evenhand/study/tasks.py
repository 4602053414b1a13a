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
from evenhand.space.feature import plain
from evenhand.space.frames.reading import check_missing, eager
from evenhand.study.fits import TaskInfo

if TYPE_CHECKING:
    from collections.abc import Sequence

    from numpy.typing import NDArray

    from evenhand.space.feature import Label

_REST = "other"
"""What stands for all values of a protected column that are not privileged."""


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
    >>> task.frame["race"].tolist(), task.info.protected
    (['White', 'other', 'other'], {'race': ('White', 'other')})
    """

    name: str
    frame: Any = field(repr=False)
    labels: Any = field(repr=False)
    positive: Label
    protected: Mapping[str, Any]
    info: TaskInfo = field(init=False, repr=False)
    cells: NDArray[np.intp] = field(init=False, repr=False)
    """The cell of each row in a table, if the first label is predicted for it."""

    def __post_init__(self) -> None:
        import pandas as pd

        table = eager(self.frame)
        given_labels = np.asarray(self.labels)
        if given_labels.ndim != 1 or len(given_labels) != len(table):
            raise DataError(
                f"{self.name}: there are {len(table):,} rows, but labels of shape"
                f" {given_labels.shape}"
            )
        truth, labels = coded(given_labels, f"{self.name}: the column of labels")
        positive = plain(self.positive)
        self._check_labels(labels, positive)
        if not isinstance(self.protected, Mapping) or not self.protected:
            raise UsageError(
                f"{self.name}: protected must name the privileged value of each protected column"
            )
        protected_columns = {}
        pairs = {}
        for column, value in self.protected.items():
            values, pair = self._binary(table, column, value)
            protected_columns[column] = values
            pairs[column] = pair
        frame = Frame.of(labels, protected_columns)
        place = frame.place(protected_columns)
        columns = {}
        for name in table.columns:
            if name in protected_columns:
                columns[name] = protected_columns[name]
            else:
                columns[name] = _native(table[name])
        if given_labels.dtype == object:
            own_labels = np.array([plain(label) for label in given_labels.tolist()])
        else:
            own_labels = given_labels
        # The class is frozen, so that workers can share a task; these are set once, here.
        self._set("frame", pd.DataFrame(columns))
        self._set("labels", own_labels)
        self._set("positive", positive)
        self._set("info", TaskInfo(self.name, labels, positive, pairs, frame.combinations))
        self._set("cells", frame.cells(place, truth, np.zeros_like(truth)))

    def _set(self, attribute: str, value: Any) -> None:
        object.__setattr__(self, attribute, value)

    def _check_labels(self, labels: tuple[Label, ...], positive: Label) -> None:
        if len(labels) != 2:
            raise DataError(
                f"{self.name}: there are {len(labels)} labels, but methods need exactly"
                f" two; {nearest('', labels)}"
            )
        if positive not in labels:
            raise UsageError(
                f"{self.name}: positive = {clip(repr(positive))} is not a label;"
                f" {nearest(positive, labels)}"
            )

    def _binary(
        self, table: Any, column: str, value: Any
    ) -> tuple[Any, tuple[Label, Label]]:
        """Return a protected column with two values, and these two, the privileged one first."""
        if column not in table.columns:
            raise DataError(
                f"{self.name}: there is no protected column {column!r};"
                f" {nearest(column, table.columns)}"
            )
        try:
            check_missing(table, column)
        except DataError as error:
            raise DataError(f"{self.name}: {error}") from None
        values = table[column].to_numpy()
        codes, levels = coded(values, f"{self.name}: the protected column {column!r}")
        privileged = self._privileged_levels(column, value, levels)
        if len(levels) == 2:
            pair = (levels[int(np.argmax(privileged))], levels[int(np.argmin(privileged))])
            return _native(table[column]), pair
        names = []
        for level, is_privileged in zip(levels, privileged, strict=True):
            if is_privileged:
                names.append(str(level))
        privileged_name = " or ".join(names)
        binary_values = np.where(privileged[codes], privileged_name, _REST)
        return binary_values, (privileged_name, _REST)

    def _privileged_levels(
        self, column: str, value: Any, levels: Sequence[Label]
    ) -> NDArray[np.bool_]:
        """Return for each level of a column whether it is privileged."""
        several = isinstance(value, list | tuple | set | frozenset)
        wanted = [plain(level) for level in (value if several else [value])]
        for level in wanted:
            if level not in levels:
                raise UsageError(
                    f"{self.name}: the privileged value {clip(repr(level))} is not a value of"
                    f" {column!r}; {nearest(level, levels)}"
                )
        privileged = np.array([level in wanted for level in levels])
        if privileged.all() or not privileged.any():
            raise UsageError(
                f"{self.name}: privileged = {clip(repr(value))} leaves one side of {column!r}"
                " without anybody; name some of its values, but not all"
            )
        return privileged

    @property
    def rows(self) -> int:
        """How many rows there are."""
        return len(self.cells)

    def split(
        self, number: int, test_size: float, seed: int
    ) -> tuple[NDArray[np.intp], NDArray[np.intp], int]:
        """Return the training rows and the test rows of one split, and the seed of its draws."""
        rng = stream(seed, "study", self.name, number)
        order = rng.permutation(self.rows)
        # At least one row on each side.
        size = min(max(round(test_size * self.rows), 1), self.rows - 1)
        test = order[:size]
        train = order[size:]
        return train, test, int(rng.integers(2**31))

    def table(self, rows: NDArray[np.intp], predictions: Any) -> NDArray[np.int64]:
        """Return the counts of rows by protected values, true label and predicted label."""
        first, second = self.info.labels
        answers = np.asarray(predictions, dtype=object)
        is_second = answers == second
        is_first = answers == first
        if answers.shape != rows.shape or not (is_second | is_first).all():
            example = clip(repr(answers.ravel()[:1].tolist()))
            raise DataError(
                f"{answers.size:,} predictions for {len(rows):,} rows, among them {example}, are"
                f" not one of {first!r} and {second!r} for each row"
            )
        shape = (len(self.info.combinations), 2, 2)
        # The cells of the two predicted labels follow one another, so a cell is the first of them
        # plus 1 where the second label was predicted.
        cells = self.cells[rows] + is_second
        counts = np.bincount(cells, minlength=int(np.prod(shape)))
        return counts.reshape(shape).astype(np.int64)

    @cached_property
    def digest(self) -> str:
        """A hash that two tasks share exactly when they hold the same rows, columns and labels."""
        import pandas as pd

        columns = [self.frame[name] for name in self.frame.columns]
        columns.append(pd.Series(self.labels))
        found = hashlib.sha256(repr([*self.frame.columns]).encode())
        for column in columns:
            row_hashes = pd.util.hash_pandas_object(column, index=False)
            found.update(row_hashes.to_numpy().tobytes())
        return found.hexdigest()[:16]


def _native(column: Any) -> Any:
    """Return a column as pandas takes it."""
    if column.implementation.is_pandas():
        return column.to_native().reset_index(drop=True)
    # Column by column: whole frames of other engines would need one more library.
    return column.to_numpy()
