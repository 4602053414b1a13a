"""Rows of any frame or array under other values of some features: what is asked of each, and how
much it counts.
"""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np

from evenhand.runtime.errors import DataError, UsageError, clip, nearest
from evenhand.runtime.values import as_outcomes
from evenhand.space.constraints import Constraint
from evenhand.space.dataframes import eager, encode_column, layout_of
from evenhand.space.distribution import checked_weights
from evenhand.space.space import Space
from evenhand.subject.subject import ROWS_AT_ONCE

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Sequence

    from numpy.typing import NDArray

    from evenhand.space.feature import Feature, Points

    Floats = NDArray[np.float64]
    Places = NDArray[np.intp]

BITS = 30
"""To how many binary digits means are rounded: models answer the same input a little differently in
another batch.
"""


def assignments_of(features: Sequence[Feature]) -> Points:
    """Return every assignment of values to features, one row each; bins stand for a continuous one,
    as in a search.

    >>> from evenhand.space.feature import category, real
    >>> assignments_of([category("sex", ["F", "M"]), real("age", 0, 90, bins=[0, 30, 90])]).tolist()
    [[0.0, 15.0], [0.0, 60.0], [1.0, 15.0], [1.0, 60.0]]
    """
    found = Space(features).assignments([feature.name for feature in features])
    return found[~np.isnan(found).any(axis=1)]


@dataclass(frozen=True)
class FrameRows:
    """Rows of any dataframe, and the assignments as columns of the same engine and dtypes."""

    table: Any
    assigned: Any

    def __len__(self) -> int:
        return len(self.table)

    def column(self, feature: Feature) -> Floats:
        """Return the encoded values of a feature."""
        return Space([feature]).encode(self.table)[:, 0]

    def under(self, rows: Places, which: Places) -> Any:
        """Return rows with the values of these assignments; other columns stay as they are."""
        import narwhals as nw

        mine = nw.maybe_reset_index(self.table[rows])
        given = nw.maybe_reset_index(self.assigned[which])
        return mine.with_columns(*(given[name] for name in given.columns)).to_native()


@dataclass(frozen=True)
class ArrayRows:
    """Rows of an array whose columns are the features that a model is passed, and the assignments
    by column.
    """

    values: NDArray[Any]
    assigned: Mapping[int, NDArray[Any]]
    places: Mapping[str, int]

    def __len__(self) -> int:
        return len(self.values)

    def column(self, feature: Feature) -> Floats:
        """Return the encoded values of a feature."""
        values = self.values[:, self.places[feature.name]]
        return encode_column(
            feature, values.tolist() if feature.kind == "category" else values, where="array"
        )

    def under(self, rows: Places, which: Places) -> NDArray[Any]:
        """Return rows with the values of these assignments; other columns stay as they are."""
        found = self.values[rows]
        for place, values in self.assigned.items():
            found[:, place] = values[which]
        return found


Rows = FrameRows | ArrayRows


def rows_of(given: Any, space: Space, features: Sequence[Feature], table: Points) -> Rows:
    """Return rows that can be had under assignments of features, or say why they cannot.

    >>> from evenhand.space.feature import category, integer
    >>> space = Space([category("sex", ["F", "M"]), integer("age", 18, 90)])
    >>> sex = space.features[:1]
    >>> rows = rows_of(np.array([["F", 20], ["M", 30]], dtype=object), space, sex, assignments_of(sex))
    >>> rows.under(np.array([1, 1]), np.array([0, 1])).tolist()
    [['F', 30], ['M', 30]]
    """
    if isinstance(given, np.ndarray | list | tuple):
        return _array_rows(np.asarray(given), space, features, table)
    found = eager(given)
    for feature in features:
        if feature.name not in found.columns:
            raise DataError(
                f"column {feature.name!r} is not in the frame;"
                f" {nearest(feature.name, found.columns)}"
            )
    layout = layout_of(found).fitted(features)
    return FrameRows(found, eager(layout.build(features, range(len(features)), table)))


def _array_rows(
    values: NDArray[Any], space: Space, features: Sequence[Feature], table: Points
) -> ArrayRows:
    places = {space.names[position]: place for place, position in enumerate(space.passed)}
    if values.ndim != 2 or values.shape[1] != len(places):
        raise DataError(
            f"an array of shape {values.shape} does not fit the {len(places)} features that the"
            " space passes to the model; give it as many columns in the same order, or a frame"
        )
    assigned = {}
    for column, feature in enumerate(features):
        made = np.array(
            feature.labels(table[:, column]), dtype=object if values.dtype == object else None
        )
        if values.dtype.kind in "biuf" and made.dtype.kind not in "biuf":
            raise DataError(
                f"the array holds numbers, and {feature.name!r} is one of"
                f" {clip(', '.join(map(repr, feature.levels)))}; declare the levels that the model"
                " is given, or give it a frame"
            )
        # An array of short texts, or of whole numbers, would cut the values that it is given.
        values = values.astype(np.result_type(values.dtype, made.dtype), copy=False)
        assigned[places[feature.name]] = made
    return ArrayRows(values, assigned, places)


@dataclass(frozen=True)
class Variants:
    """Variants of some rows: which assignment, of which row, and how much it counts; assignment by
    assignment.

    >>> import pandas as pd
    >>> from evenhand.space.feature import category
    >>> space = Space([category("sex", ["F", "M"])])
    >>> rows = rows_of(pd.DataFrame({"sex": ["M"]}), space, space.features, assignments_of(space.features))
    >>> variants = Variants(rows, np.array([0]), np.array([0, 1]), np.array([0, 0]), np.array([1.0, 3.0]))
    >>> variants.means(variants.ask(lambda people: people["sex"] == "M")).tolist()
    [0.75]
    """

    source: Rows
    rows: Places
    which: Places
    place: Places
    weight: Floats

    def ask(self, method: Callable[[Any], Any]) -> NDArray[Any]:
        """Return the answers to the variants, asked as many at once as memory has room for."""
        parts = []
        for start in range(0, max(1, len(self.which)), ROWS_AT_ONCE):
            at = slice(start, start + ROWS_AT_ONCE)
            told = method(self.source.under(self.rows[self.place[at]], self.which[at]))
            # numpy would turn a list of texts and missing values into texts.
            parts.append(as_outcomes(told) if isinstance(told, list | tuple) else np.asarray(told))
        return parts[0] if len(parts) == 1 else np.concatenate(parts)

    def votes(self, codes: Places, labels: int) -> Floats:
        """Return how much counts for each label (column) of each row."""
        counted = np.bincount(
            self.place * labels + codes, self.weight, minlength=len(self.rows) * labels
        )
        return counted.reshape(len(self.rows), labels).astype(np.float64)

    def means(self, answers: NDArray[Any]) -> Floats:
        """Return the mean of the answers to each row's variants, column by column where they have
        several.
        """
        if answers.ndim == 2:
            return np.column_stack([self.means(column) for column in answers.T])
        given, n = answers.astype(np.float64), len(self.rows)
        total = np.bincount(self.place, self.weight, minlength=n)
        mean = np.bincount(self.place, self.weight * given, minlength=n) / total
        _, size = np.frexp(
            np.bincount(self.place, self.weight * np.abs(given), minlength=n) / total
        )
        return np.asarray(np.ldexp(np.round(np.ldexp(mean, BITS - size)), size - BITS))

    def some(self, chosen: NDArray[np.bool_]) -> Variants:
        """Return the variants of some of the rows."""
        kept = chosen[self.place]
        place = (np.cumsum(chosen) - 1)[self.place[kept]]
        return Variants(self.source, self.rows[chosen], self.which[kept], place, self.weight[kept])


def variants_of(
    rows: Rows,
    space: Space,
    features: Sequence[Feature],
    table: Points,
    weights: Floats,
    *,
    classes: int = 1,
) -> Iterator[Variants]:
    """Yield the variants of some rows after others, under each assignment that keeps the
    constraints.

    A row that no assignment makes valid is asked under all. `classes` bounds memory where answers
    are counted by class.

    >>> import pandas as pd
    >>> from evenhand.space.feature import category, integer
    >>> features = [category("sex", ["F", "M"]), integer("births", 0, 9)]
    >>> space = Space(features, ["sex"], ["not (sex == 'M' and births > 0)"])
    >>> table = assignments_of(features[:1])
    >>> rows = rows_of(pd.DataFrame({"sex": ["F", "F"], "births": [0, 1]}), space, features[:1], table)
    >>> [part.place.tolist() for part in variants_of(rows, space, features[:1], table, np.ones(2))]
    [[0, 1, 0]]
    """
    ties = _ties(space, features)
    names = [feature.name for feature in features]
    tied: Points = np.zeros(
        (len(rows), len(ties.features) if ties else 0), dtype=np.float64, order="F"
    )
    for position, feature in enumerate(ties.features if ties else ()):
        if feature.name not in names:  # what rows have there themselves is never read
            tied[:, position] = rows.column(feature)
    size = max(1, ROWS_AT_ONCE // max(len(table), classes))
    for start in range(0, max(1, len(rows)), size):
        these = np.arange(start, min(start + size, len(rows)))
        counts = np.repeat(weights[:, None], len(these), axis=1)
        if ties is not None:
            valid = ties.valid(ties.under(tied[these], names, table)).reshape(counts.shape)
            counts *= valid | ~valid.any(axis=0)
        which, place = np.nonzero(counts)
        yield Variants(rows, these, which, place, counts[which, place])


def _ties(space: Space, features: Sequence[Feature]) -> Space | None:
    """Return the part of a space that tells which assignments an input may have, None where it may
    have all.

    Rows need not have features that the model is not passed, so constraints on those are left out.
    """
    wanted = {feature.name for feature in features}
    hidden = {feature.name for feature in space.features if not feature.passed}
    kept, touched = [], set(wanted)
    for constraint in space.constraints:
        touches = (
            Constraint.parse(constraint, space.features).touches
            if isinstance(constraint, str)
            else space.names
        )
        if wanted.intersection(touches) and hidden.isdisjoint(touches):
            kept.append(constraint)
            touched.update(touches)
    if not kept:
        return None
    return Space(
        [feature for feature in space.features if feature.name in touched], (), kept, space.layout
    )


def counted_weights(rows: Rows, features: Sequence[Feature], table: Points) -> Floats:
    """Return how many rows have each assignment; a value of a continuous feature counts for its
    bin.

    >>> import pandas as pd
    >>> from evenhand.space.feature import real
    >>> space = Space([real("age", 0, 90, bins=[0, 30, 90])])
    >>> table = assignments_of(space.features)
    >>> rows = rows_of(pd.DataFrame({"age": [1.5, 29.0, 80.0]}), space, space.features, table)
    >>> counted_weights(rows, space.features, table).tolist()
    [2.0, 1.0]
    """
    index = np.zeros(len(rows), dtype=np.intp)
    for feature in features:
        values = feature.values()
        cuts = feature.edges()[1:-1] if math.isinf(feature.size) else (values[1:] + values[:-1]) / 2
        index = index * len(values) + np.searchsorted(cuts, rows.column(feature), side="right")
    return np.bincount(index, minlength=len(table)).astype(np.float64)


def named_weights(given: Any, features: Sequence[Feature], table: Points) -> Floats:
    """Return the weights of assignments that are given by label, or by tuples of labels.

    >>> from evenhand.space.feature import category
    >>> sex = [category("sex", ["F", "M"])]
    >>> named_weights({"M": 2}, sex, assignments_of(sex)).tolist()
    [0.0, 2.0]
    """
    if not isinstance(given, Mapping):
        raise UsageError(
            f"weights = {clip(repr(given))} must be None, 'rows', or numbers by label as in {{'F':"
            " 1, …}"
        )
    labels = list(
        zip(*(f.labels(table[:, column]) for column, f in enumerate(features)), strict=True)
    )
    told = {key if isinstance(key, tuple) else (key,): weight for key, weight in given.items()}
    strange = sorted(told.keys() - set(labels), key=str)
    if strange:
        shown = [label[0] if len(label) == 1 else label for label in (strange[0], *labels[:1000])]
        raise UsageError(f"weights name {clip(repr(shown[0]))}; {nearest(shown[0], shown[1:])}")
    return checked_weights([told.get(label, 0.0) for label in labels], "weights")
