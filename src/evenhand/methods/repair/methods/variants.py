"""Rows of any frame or array under other values of some features, and how much each counts."""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np

from evenhand.methods.repair import messages
from evenhand.runtime.errors import DataError, UsageError, clip, nearest
from evenhand.runtime.values import as_outcomes
from evenhand.space.constraints import Constraint
from evenhand.space.distribution import checked_weights
from evenhand.space.encoding import encode_column
from evenhand.space.frames.layout import layout_of
from evenhand.space.frames.reading import eager
from evenhand.space.space import Space
from evenhand.subject.shared_asking import ROWS_AT_ONCE

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Sequence

    from numpy.typing import NDArray

    from evenhand.space.feature import Feature, Points

    Floats = NDArray[np.float64]
    Places = NDArray[np.intp]
    Values = NDArray[Any]
    Label = tuple[Any, ...]
    """The values of an assignment, in the order of the features."""

BITS = 30
"""To how many binary digits means are rounded: models answer the same input a little differently in
another batch.
"""


def assignments_of(features: Sequence[Feature]) -> Points:
    """Return every assignment of values to features, one row each.

    Bins stand for a continuous feature, as in a search.

    >>> from evenhand.space.feature import category, real
    >>> assignments_of([category("sex", ["F", "M"]), real("age", 0, 90, bins=[0, 30, 90])]).tolist()
    [[0.0, 15.0], [0.0, 60.0], [1.0, 15.0], [1.0, 60.0]]
    """
    names = [feature.name for feature in features]
    assignments = Space(features).assignments(names)
    # NaN stands for the own value of an input, which is never to be looked at.
    own = np.isnan(assignments).any(axis=1)
    return assignments[~own]


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

        table = self.table[rows]
        assigned = self.assigned[which]
        table = nw.maybe_reset_index(table)
        assigned = nw.maybe_reset_index(assigned)
        columns = [assigned[name] for name in assigned.columns]
        return table.with_columns(*columns).to_native()


@dataclass(frozen=True)
class ArrayRows:
    """Rows of an array of the features that a model is passed, and the assignments by column."""

    values: Values
    assigned: Mapping[int, Values]
    places: Mapping[str, int]

    def __len__(self) -> int:
        return len(self.values)

    def column(self, feature: Feature) -> Floats:
        """Return the encoded values of a feature."""
        place = self.places[feature.name]
        values: Any = self.values[:, place]
        if feature.kind == "category":
            values = values.tolist()
        return encode_column(feature, values, where="array")

    def under(self, rows: Places, which: Places) -> Values:
        """Return rows with the values of these assignments; other columns stay as they are."""
        found = self.values[rows]
        for place, values in self.assigned.items():
            found[:, place] = values[which]
        return found


Rows = FrameRows | ArrayRows


def rows_of(given: Any, space: Space, features: Sequence[Feature], table: Points) -> Rows:
    """Return rows that can be had under assignments of features, or raise if they cannot.

    >>> from evenhand.space.feature import category, integer
    >>> space = Space([category("sex", ["F", "M"]), integer("age", 18, 90)])
    >>> sex = space.features[:1]
    >>> people = np.array([["F", 20], ["M", 30]], dtype=object)
    >>> rows = rows_of(people, space, sex, assignments_of(sex))
    >>> rows.under(np.array([1, 1]), np.array([0, 1])).tolist()
    [['F', 30], ['M', 30]]
    """
    if isinstance(given, np.ndarray | list | tuple):
        values = np.asarray(given)
        return _array_rows(values, space, features, table)
    frame = eager(given)
    for feature in features:
        if feature.name not in frame.columns:
            name = repr(feature.name)
            choices = nearest(feature.name, frame.columns)
            raise DataError(messages.COLUMN_NOT_IN_FRAME.format(name=name, choices=choices))
    layout = layout_of(frame).fitted(features)
    order = range(len(features))
    assigned = layout.build(features, order, table)
    return FrameRows(frame, eager(assigned))


def _array_rows(
    values: Values, space: Space, features: Sequence[Feature], table: Points
) -> ArrayRows:
    places = {}
    for place, position in enumerate(space.passed):
        places[space.names[position]] = place
    if values.ndim != 2 or values.shape[1] != len(places):
        message = messages.ARRAY_DOES_NOT_FIT.format(
            shape=values.shape,
            features=len(places),
        )
        raise DataError(message)
    assigned = {}
    for column, feature in enumerate(features):
        labels = _typed_labels(feature, table[:, column], values.dtype)
        # An array of short texts, or of whole numbers, would cut the values that it is given.
        wide_enough = np.result_type(values.dtype, labels.dtype)
        values = values.astype(wide_enough, copy=False)
        assigned[places[feature.name]] = labels
    return ArrayRows(values, assigned, places)


def _typed_labels(feature: Feature, codes: Floats, dtype: np.dtype[Any]) -> Values:
    """Return the labels of encoded values, for an array of a type that can hold them."""
    values = feature.labels(codes)
    # Of an array of objects, labels keep their own types.
    own_type = object if dtype.kind == "O" else None
    labels: Values = np.array(values, dtype=own_type)
    if dtype.kind in "biuf" and labels.dtype.kind not in "biuf":
        levels = ", ".join(map(repr, feature.levels))
        message = messages.LEVELS_ARE_NOT_NUMBERS.format(
            name=repr(feature.name),
            levels=clip(levels),
        )
        raise DataError(message)
    return labels


@dataclass(frozen=True)
class Variants:
    """Variants of some rows: which assignment, of which row, and how much it counts.

    They are in the order of the assignments.

    >>> import pandas as pd
    >>> from evenhand.space.feature import category
    >>> space = Space([category("sex", ["F", "M"])])
    >>> man, table = pd.DataFrame({"sex": ["M"]}), assignments_of(space.features)
    >>> rows = rows_of(man, space, space.features, table)
    >>> which, place, weight = np.array([0, 1]), np.array([0, 0]), np.array([1.0, 3.0])
    >>> variants = Variants(rows, np.array([0]), which, place, weight)
    >>> variants.means(variants.ask(lambda people: people["sex"] == "M")).tolist()
    [0.75]
    """

    source: Rows
    rows: Places
    which: Places
    place: Places
    weight: Floats

    def ask(self, method: Callable[[Any], Any]) -> Values:
        """Return the answers to the variants, asked as many at once as memory has room for."""
        parts = []
        # A model is asked once even where there are no rows, to learn the type of its answers.
        for start in range(0, max(1, len(self.which)), ROWS_AT_ONCE):
            stop = start + ROWS_AT_ONCE
            which = self.which[start:stop]
            place = self.place[start:stop]
            variants = self.source.under(self.rows[place], which)
            answers = _as_array(method(variants))
            parts.append(answers)
        if len(parts) == 1:
            return parts[0]
        return np.concatenate(parts)

    def votes(self, codes: Places, labels: int) -> Floats:
        """Return how much counts for each label (column) of each row."""
        rows = len(self.rows)
        cells = self.place * labels + codes
        counted = np.bincount(
            cells,
            self.weight,
            minlength=rows * labels,
        )
        table = counted.reshape(rows, labels)
        return table.astype(np.float64)

    def means(self, answers: Values) -> Floats:
        """Return the mean of the answers to each row's variants, for each column of answers."""
        if answers.ndim == 2:
            return np.column_stack([self.means(column) for column in answers.T])
        values = answers.astype(np.float64)
        weight = self.weight
        total = self._sums(weight)
        weighted_sum = self._sums(weight * values)
        mean = weighted_sum / total
        # Rounded relative to the size of the answers, not of their mean: that of answers that
        # cancel each other out is rounding error in all its digits.
        sizes = np.abs(values)
        mean_size = self._sums(weight * sizes) / total
        _, exponent = np.frexp(mean_size)
        scaled = np.ldexp(mean, BITS - exponent)
        rounded = np.ldexp(np.round(scaled), exponent - BITS)
        return np.asarray(rounded)

    def _sums(self, values: Floats) -> Floats:
        """Return the sum of the values of each row's variants."""
        sums = np.bincount(self.place, values, minlength=len(self.rows))
        return sums.astype(np.float64)

    def some(self, chosen: NDArray[np.bool_]) -> Variants:
        """Return the variants of some of the rows."""
        kept = chosen[self.place]
        new_places = np.cumsum(chosen) - 1
        return Variants(
            source=self.source,
            rows=self.rows[chosen],
            which=self.which[kept],
            place=new_places[self.place[kept]],
            weight=self.weight[kept],
        )


def _as_array(answers: Any) -> Values:
    """Return answers as an array; in a list, numpy would turn missing values into texts."""
    if isinstance(answers, list | tuple):
        return as_outcomes(answers)
    return np.asarray(answers)


def variants_of(
    rows: Rows,
    space: Space,
    features: Sequence[Feature],
    table: Points,
    weights: Floats,
    *,
    classes: int = 1,
) -> Iterator[Variants]:
    """Yield the variants of some rows at a time, under each assignment that keeps the constraints.

    A row that no assignment makes valid is asked under all. `classes` bounds memory where answers
    are counted by class.

    >>> import pandas as pd
    >>> from evenhand.space.feature import category, integer
    >>> features = [category("sex", ["F", "M"]), integer("births", 0, 9)]
    >>> space = Space(features, ["sex"], ["not (sex == 'M' and births > 0)"])
    >>> table = assignments_of(features[:1])
    >>> women = pd.DataFrame({"sex": ["F", "F"], "births": [0, 1]})
    >>> rows = rows_of(women, space, features[:1], table)
    >>> [part.place.tolist() for part in variants_of(rows, space, features[:1], table, np.ones(2))]
    [[0, 1, 0]]
    """
    ties = _ties(space, features)
    names = [feature.name for feature in features]
    tied = _tied_columns(rows, ties, names)
    size = max(1, ROWS_AT_ONCE // max(len(table), classes))
    for start in range(0, max(1, len(rows)), size):
        stop = min(start + size, len(rows))
        batch = np.arange(start, stop)
        counts = np.repeat(weights[:, None], len(batch), axis=1)
        if ties is not None:
            asked = ties.under(tied[batch], names, table)
            valid = ties.valid(asked).reshape(counts.shape)
            none_valid = ~valid.any(axis=0)
            counts *= valid | none_valid
        which, place = np.nonzero(counts)
        yield Variants(rows, batch, which, place, counts[which, place])


def _tied_columns(rows: Rows, ties: Space | None, names: Sequence[str]) -> Points:
    """Return the encoded features that constraints tie to those at issue."""
    features = ties.features if ties else ()
    shape = (len(rows), len(features))
    tied: Points = np.zeros(shape, dtype=np.float64, order="F")
    for position, feature in enumerate(features):
        # What rows have themselves in the features at issue is never read.
        if feature.name not in names:
            tied[:, position] = rows.column(feature)
    return tied


def _ties(space: Space, features: Sequence[Feature]) -> Space | None:
    """Return the part of a space that restricts the assignments of an input, None without any.

    Rows need not have features that the model is not passed, so constraints on those are left out.
    """
    wanted = {feature.name for feature in features}
    hidden = {feature.name for feature in space.features if not feature.passed}
    kept = []
    touched = set(wanted)
    for constraint in space.constraints:
        # A function may look at any feature.
        touches = space.names
        if isinstance(constraint, str):
            touches = Constraint.parse(constraint, space.features).touches
        if wanted.intersection(touches) and hidden.isdisjoint(touches):
            kept.append(constraint)
            touched.update(touches)
    if not kept:
        return None
    tied = [feature for feature in space.features if feature.name in touched]
    return Space(tied, (), kept, space.layout)


def counted_weights(rows: Rows, features: Sequence[Feature], table: Points) -> Floats:
    """Return how many rows have each assignment; a continuous value counts for its bin.

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
        code = np.searchsorted(
            _cuts(feature),
            rows.column(feature),
            side="right",
        )
        index = index * len(values) + code
    counts = np.bincount(index, minlength=len(table))
    return counts.astype(np.float64)


def _cuts(feature: Feature) -> Floats:
    """Return what lies between neighbouring values of a feature, or between its bins."""
    if math.isinf(feature.size):
        return feature.edges()[1:-1]
    values = feature.values()
    return (values[1:] + values[:-1]) / 2


def named_weights(given: Any, features: Sequence[Feature], table: Points) -> Floats:
    """Return the weights of assignments that are given by label, or by tuples of labels.

    >>> from evenhand.space.feature import category
    >>> sex = [category("sex", ["F", "M"])]
    >>> named_weights({"M": 2}, sex, assignments_of(sex)).tolist()
    [0.0, 2.0]
    """
    if not isinstance(given, Mapping):
        shown = clip(repr(given))
        raise UsageError(messages.WEIGHTS_OF_UNKNOWN_KIND.format(weights=shown))
    columns = []
    for feature, codes in zip(features, table.T, strict=True):
        labels_of_feature = feature.labels(codes)
        columns.append(labels_of_feature)
    labels = list(zip(*columns, strict=True))
    weights = {}
    for key, weight in given.items():
        label = key if isinstance(key, tuple) else (key,)
        weights[label] = weight
    _check_labels(weights, labels)
    by_assignment = [weights.get(label, 0.0) for label in labels]
    return checked_weights(by_assignment, "weights")


def _check_labels(weights: Mapping[Label, Any], labels: Sequence[Label]) -> None:
    """Refuse weights of labels that no assignment has."""
    strange = sorted(weights.keys() - set(labels), key=str)
    if not strange:
        return
    name = _shown_label(strange[0])
    known = [_shown_label(label) for label in labels[:1000]]
    message = messages.WEIGHT_OF_UNKNOWN_LABEL.format(
        name=clip(repr(name)),
        choices=nearest(name, known),
    )
    raise UsageError(message)


def _shown_label(label: Label) -> Any:
    """Return a label as a user writes it: a tuple only where there are several features."""
    return label[0] if len(label) == 1 else label
