"""Labelled rows that a model learns from, as the user gave them, and how they are split."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any

import numpy as np

from evenhand.methods.repair import messages
from evenhand.runtime import number_text
from evenhand.runtime.errors import DataError, UsageError, clip, nearest
from evenhand.runtime.random_streams import stream
from evenhand.space.frames.layout import layout_of
from evenhand.space.frames.reading import check_missing, eager, named_frame
from evenhand.space.space import Space

if TYPE_CHECKING:
    from collections.abc import Iterator

    from numpy.typing import NDArray

    from evenhand.methods.repair.training import Trainer
    from evenhand.space.feature import Points

    Rows = NDArray[np.intp]
    Floats = NDArray[np.float64]
    Outcomes = NDArray[Any]


@dataclass(frozen=True, eq=False)
class LabelledRows:
    """Rows as the model takes them and encoded, with true outcomes, and weights where given."""

    space: Space
    """With the layout of the rows, so that generated inputs look like them."""
    inputs: Any
    """A narwhals frame of what the model takes, or an array where rows came as one."""
    points: Points
    truth: Outcomes
    weights: Floats | None = None

    @classmethod
    def of(
        cls, rows: Any, truth: Any, space: Space | None, weights: Any = None
    ) -> LabelledRows:
        """Read rows of any dataframe engine, or an array with the features in order."""
        if space is None:
            raise UsageError(messages.SPACE_IS_NONE)
        if not isinstance(space, Space):
            raise UsageError(messages.NOT_A_SPACE.format(space=clip(repr(space))))
        if isinstance(rows, np.ndarray):
            return cls._of_array(rows, truth, space, weights)
        table, outcomes = _without_outcomes(rows, truth, space)
        # A model that goes by the places of columns must be asked with those of the rows that it
        # was trained on.
        features = [space.feature(name) for name in table.columns]
        if len(features) == len(space.features):
            space = replace(space, features=features)
        layout = layout_of(table).fitted(space.features)
        space = replace(space, layout=layout)
        return cls._of_frame(table, outcomes, space, weights)

    def alike(self, rows: Any, truth: Any) -> LabelledRows:
        """Read other rows, with their columns in the order of these."""
        if isinstance(rows, np.ndarray):
            return self._of_array(rows, truth, self.space, None)
        table, outcomes = _without_outcomes(rows, truth, self.space)
        return self._of_frame(table, outcomes, self.space, None)

    @classmethod
    def _of_frame(cls, table: Any, truth: Any, space: Space, weights: Any) -> LabelledRows:
        points = space.encode(table.to_native())
        taken = [space.names[position] for position in space.passed]
        return cls(
            space=space,
            inputs=table.select(taken),
            points=points,
            truth=_checked_outcomes(truth, len(points)),
            weights=_checked_weights(weights, len(points)),
        )

    @classmethod
    def _of_array(
        cls, rows: NDArray[Any], truth: Any, space: Space, weights: Any
    ) -> LabelledRows:
        features = len(space.features)
        if rows.ndim != 2 or rows.shape[1] != features:
            message = messages.ARRAY_SHAPE.format(shape=rows.shape, features=features)
            raise DataError(message)
        points = space.encode(named_frame(rows, space.names))
        taken = list(space.passed)
        return cls(
            space=space,
            inputs=rows[:, taken],
            points=points,
            truth=_checked_outcomes(truth, len(points)),
            weights=_checked_weights(weights, len(points)),
        )

    def __len__(self) -> int:
        return len(self.points)

    def take(self, rows: Rows) -> LabelledRows:
        """Return some of the rows."""
        weights = self.weights
        if weights is not None:
            weights = weights[rows]
        return LabelledRows(
            space=self.space,
            inputs=self.inputs[rows],
            points=np.asfortranarray(self.points[rows]),
            truth=self.truth[rows],
            weights=weights,
        )

    @property
    def native(self) -> Any:
        """The rows as the model takes them."""
        if isinstance(self.inputs, np.ndarray):
            return self.inputs
        return self.inputs.to_native()

    @property
    def unseen_levels(self) -> Iterator[tuple[str, Any]]:
        """Levels that an input may have and that no row has, with the names of their features."""
        for position in self.space.passed:
            feature = self.space.features[position]
            seen = set(self.points[:, position].tolist())
            for code, level in enumerate(feature.levels):
                if code not in seen:
                    yield feature.name, level

    def fitted(self, trainer: Trainer) -> Any:
        """Return a model that was trained on these rows."""
        return trainer.fit(self.native, self.truth, self.weights)

    def joined(
        self, points: Points, labels: Outcomes, weights: Floats | None = None
    ) -> LabelledRows:
        """Return these rows with generated ones after them.

        Generated rows weigh as much as the mean of these, where their weights are not given.
        """
        if not len(points):
            return self
        all_weights = None
        if self.weights is not None:
            if weights is None:
                weights = np.full(len(points), self.weights.mean())
            all_weights = np.concatenate([self.weights, weights])
        all_points = np.concatenate([self.points, points])
        typed = labels.astype(self.truth.dtype)
        return LabelledRows(
            space=self.space,
            inputs=self._inputs_with(points),
            points=np.asfortranarray(all_points),
            truth=np.concatenate([self.truth, typed]),
            weights=all_weights,
        )

    def _inputs_with(self, points: Points) -> Any:
        """Return the inputs with generated ones after them, in the form of these rows."""
        space = self.space
        inputs = self.inputs
        if isinstance(inputs, np.ndarray):
            columns = np.asarray(space.decode(points))
            taken = columns[:, list(space.passed)]
            generated = taken.astype(inputs.dtype)
            return np.concatenate([inputs, generated])
        import narwhals as nw

        order = [space.index(name) for name in inputs.columns]
        frame = space.layout.build(space.features, order, points)
        joined = nw.concat([inputs, eager(frame)], how="vertical")
        # An index of pandas would have values twice.
        return nw.maybe_reset_index(joined)


def _without_outcomes(rows: Any, truth: Any, space: Space) -> tuple[Any, Any]:
    """Return rows as a frame without their outcomes, and the outcomes."""
    table = eager(rows)
    if isinstance(truth, str):
        if truth not in table.columns:
            choices = nearest(truth, table.columns)
            raise DataError(
                messages.TRUTH_IS_NOT_A_COLUMN.format(name=repr(truth), choices=choices)
            )
        check_missing(table, truth)
        column = truth
        truth = table[column].to_list()
        table = table.drop(column)
    extra = [name for name in table.columns if name not in space.names]
    if extra:
        raise DataError(messages.COLUMN_IS_NOT_A_FEATURE.format(name=repr(extra[0])))
    return table, truth


def _checked_outcomes(truth: Any, rows: int) -> Outcomes:
    """Return one true outcome for each row."""
    if truth is None or isinstance(truth, Mapping):
        raise UsageError(messages.TRUTH_MISSING)
    column = _outcomes(truth)
    if column.ndim != 1 or len(column) != rows:
        shown = number_text.count(rows)
        raise DataError(messages.TRUTH_SHAPE.format(rows=shown, shape=column.shape))
    return column


def _checked_weights(weights: Any, rows: int) -> Floats | None:
    """Return a weight of 0 or more for each row, or None where none are given."""
    if weights is None:
        return None
    try:
        column = np.asarray(weights, dtype=np.float64)
    except (TypeError, ValueError):
        column = np.full(rows, np.nan)
    finite = column.shape == (rows,) and bool(np.isfinite(column).all())
    if not finite or (column < 0).any() or not column.any():
        raise DataError(messages.WEIGHTS_WRONG.format(rows=number_text.count(rows)))
    return column


def _outcomes(truth: Any) -> Outcomes:
    """Return true outcomes as one column of their own type, none of which is missing."""
    import pandas as pd

    if hasattr(truth, "to_list"):
        truth = truth.to_list()
    if not isinstance(truth, np.ndarray):
        # As objects first: among texts, numpy would write a missing value out as the text "nan".
        truth = np.asarray(truth, dtype=object)
    column = truth
    if truth.ndim == 2 and truth.shape[1] == 1:
        column = truth.ravel()
    missing = int(np.sum(pd.isna(column)))
    if missing:
        shown = number_text.count(missing)
        raise DataError(messages.TRUTH_HAS_GAPS.format(missing=shown))
    if column.dtype != object or column.ndim != 1:
        return np.asarray(column)
    values = column.tolist()
    kinds = {isinstance(value, str) for value in values}
    if len(kinds) > 1:
        raise DataError(messages.TRUTH_OF_TWO_KINDS)
    return np.asarray(values)


def split(
    data: LabelledRows, test: Any, validate: Any, seed: int, *, stratify: bool
) -> tuple[LabelledRows, LabelledRows, LabelledRows]:
    """Return rows for training, validation and test.

    Shares of each outcome are kept alike where `stratify` is set, which needs labels.
    """
    rest, held = _apart(data, test, seed, "test", stratify=stratify)
    train, valid = _apart(rest, validate, seed, "validation", stratify=stratify)
    return train, valid, held


def _apart(
    data: LabelledRows, part: Any, seed: int, name: str, *, stratify: bool
) -> tuple[LabelledRows, LabelledRows]:
    """Return the rows that are left, and those set apart: a share, or rows that were given."""
    if not isinstance(part, tuple | list):
        rest, last = parted(data.truth, part, seed, name, stratify=stratify)
        return data.take(rest), data.take(last)
    option = "test" if name == "test" else "validate"
    if len(part) != 2:
        raise UsageError(messages.PART_NEITHER_SHARE_NOR_ROWS.format(option=option))
    rows, truth = part
    held = data.alike(rows, truth)
    if stratify:
        _check_same_outcomes(held.truth, data.truth, option)
    return data, held


def _check_same_outcomes(outcomes: Outcomes, known: Outcomes, option: str) -> None:
    """Refuse outcomes of which none is known, such as texts where the others are numbers."""
    given = outcomes.tolist()
    labels = np.unique(known).tolist()
    if set(given).isdisjoint(labels):
        message = messages.PART_WITH_OTHER_OUTCOMES.format(
            option=option,
            outcome=clip(repr(given[0])),
            choices=nearest(given[0], labels),
        )
        raise DataError(message)


def parted(
    truth: Outcomes, share: float, seed: int, name: str, *, stratify: bool
) -> tuple[Rows, Rows]:
    """Return the positions of rows that are kept, and of a share that is set apart at random.

    >>> kept, apart = parted(np.array(["no", "yes"] * 10), 0.2, 0, "test", stratify=True)
    >>> len(kept), len(apart)
    (16, 4)
    """
    size = len(truth)
    rng = stream(seed, "repair", "split", name)
    order = rng.permutation(size)
    if stratify:
        _, codes = np.unique(truth[order], return_inverse=True)
        by_outcome = np.argsort(codes, kind="stable")
        order = order[by_outcome]
    # Every so many rows of those in the order of their outcomes, one is set apart: where the share
    # of the rows so far passes the next whole number.
    with_row = np.arange(1, size + 1) * share
    before_row = np.arange(size) * share
    marks = np.floor(with_row) > np.floor(before_row)
    if not marks.any() or marks.all():
        message = messages.TOO_FEW_ROWS.format(
            rows=number_text.count(size),
            share=number_text.figures(share),
            name=name,
        )
        raise DataError(message)
    kept = np.sort(order[~marks])
    apart = np.sort(order[marks])
    return kept, apart


def check_share(name: str, value: Any) -> None:
    """Refuse what is not a share of rows."""
    number = isinstance(value, int | float) and not isinstance(value, bool)
    if not number or not 0 < value < 1:
        shown = clip(repr(value))
        raise UsageError(messages.NOT_A_SHARE.format(name=name, value=shown))
