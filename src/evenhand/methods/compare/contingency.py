"""Tables of counts by group, true and predicted label: what their axes stand for."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np

from evenhand.methods.compare import messages
from evenhand.methods.compare.columns import array, coded, matched, protected_column
from evenhand.runtime.errors import DataError, UsageError, clip, nearest
from evenhand.space.feature import plain

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from evenhand.space.feature import Label

    Codes = NDArray[np.intp]
    Floats = NDArray[np.float64]
    Combination = tuple[Label, ...]


@dataclass(frozen=True)
class Grouping:
    """Groups by some protected features.

    `of` holds, for each combination of all protected features, the group it belongs to, or -1.
    """

    names: tuple[str, ...]
    groups: tuple[Combination, ...]
    of: tuple[int, ...]

    def label(self, group: int) -> str:
        """Return a group in words."""
        pairs = zip(self.names, self.groups[group], strict=True)
        return ", ".join(f"{name} {value}" for name, value in pairs)

    def fold(self, tables: Floats) -> Floats:
        """Return tables by these groups, from tables by all combinations."""
        groups = len(self.groups)
        combinations = len(self.of)
        members = np.zeros((groups, combinations))
        for combination, group in enumerate(self.of):
            if group >= 0:
                members[group, combination] = 1.0
        return np.asarray(np.einsum("gj,...jtp->...gtp", members, tables))

    @property
    def left_out(self) -> list[int]:
        """The combinations that belong to no group."""
        return [combination for combination, group in enumerate(self.of) if group < 0]


@dataclass(frozen=True)
class Frame:
    """What the axes of tables stand for: combinations of protected features, and labels.

    >>> frame = Frame.of(["no", "yes"], {"sex": ["f", "m", "f"], "race": ["a", "a", "b"]})
    >>> [grouping.names for grouping in frame.groupings], frame.combinations
    ([('sex',), ('race',), ('sex', 'race')], (('f', 'a'), ('f', 'b'), ('m', 'a')))
    """

    labels: tuple[Label, ...]
    names: tuple[str, ...]
    combinations: tuple[Combination, ...]
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
        is_number = isinstance(support, int | float)
        if not is_number or not 0 <= support < 1:
            raise UsageError(
                messages.SUPPORT_NOT_A_SHARE.format(support=clip(repr(support)))
            )
        if not names:
            return cls(tuple(labels), (), ((),), ())
        combinations, counts = _counted_combinations(protected)
        sets = _feature_sets(over, names)
        groupings = [
            _grouping(names, combinations, counts, chosen, support) for chosen in sets
        ]
        return cls(tuple(labels), names, combinations, tuple(groupings))

    def place(self, protected: Mapping[str, Any]) -> Codes:
        """Return the combination of each row, or -1 for one that the frame does not have."""
        if not self.names:
            raise UsageError(messages.NO_COLUMNS_TO_PLACE)
        levels = []
        codes = []
        for at, name in enumerate(self.names):
            column_levels = list(dict.fromkeys(each[at] for each in self.combinations))
            column = array(protected[name], name)
            levels.append(column_levels)
            codes.append(matched(column, column_levels))
        lookup = self._lookup(levels)
        return np.asarray(lookup[tuple(codes)])

    def _lookup(self, levels: Sequence[list[Label]]) -> Codes:
        """Return the place of each combination, by the codes of its levels."""
        # Each axis has one place more than there are levels. An unknown level has the code -1,
        # which picks that place, and no combination is ever written there.
        shape = tuple(len(column_levels) + 1 for column_levels in levels)
        lookup = np.full(shape, -1, dtype=np.intp)
        for place, combination in enumerate(self.combinations):
            pairs = zip(levels, combination, strict=True)
            codes = tuple(column_levels.index(value) for column_levels, value in pairs)
            lookup[codes] = place
        return lookup

    def column(self, values: Any, column: str) -> Codes:
        """Return the place of each label among the labels."""
        given = array(values, column)
        codes = matched(given, self.labels)
        if (codes < 0).any():
            wrong = plain(given[int(np.argmin(codes))])
            message = messages.UNKNOWN_LABEL.format(
                column=column,
                label=clip(repr(wrong)),
                choices=nearest(wrong, self.labels),
            )
            raise DataError(message)
        return codes

    @property
    def shape(self) -> tuple[int, int, int]:
        """The shape of one table."""
        labels = len(self.labels)
        return len(self.combinations), labels, labels

    def cells(
        self,
        combination: Codes,
        truth: Codes,
        predicted: Codes,
    ) -> Codes:
        """Return the cell of each row in a table that is laid out flat."""
        _, true_labels, predicted_labels = self.shape
        return (combination * true_labels + truth) * predicted_labels + predicted

    def table(self, cells: Codes) -> Floats:
        """Return the table of some rows."""
        size = int(np.prod(self.shape))
        counts = np.bincount(cells, minlength=size)
        return counts.reshape(self.shape).astype(np.float64)


def values_of(
    combination: Combination,
    places: Sequence[int],
) -> Combination:
    """Return the values of a combination at some places."""
    return tuple(combination[place] for place in places)


def _counted_combinations(
    protected: Mapping[str, Any],
) -> tuple[tuple[Combination, ...], Codes]:
    """Return the combinations of protected values that rows have, and the rows of each."""
    codes = []
    levels = []
    for name, values in protected.items():
        column_codes, column_levels = coded(values, protected_column(name))
        codes.append(column_codes)
        levels.append(column_levels)
    # `unique` sorts by code, so that the order of the rows does not matter.
    rows = np.stack(codes, axis=1)
    code_rows, counts = np.unique(rows, axis=0, return_counts=True)
    combinations = []
    for code_row in code_rows.tolist():
        pairs = zip(levels, code_row, strict=True)
        combination = tuple(column_levels[code] for column_levels, code in pairs)
        combinations.append(combination)
    return tuple(combinations), counts


def _feature_sets(
    over: Any,
    names: tuple[str, ...],
) -> list[tuple[str, ...]]:
    """Return the sets of features whose groups are compared, checked."""
    if over is None:
        singles = [(name,) for name in names]
        return [*singles, names] if len(names) > 1 else [*singles]
    given = [over] if isinstance(over, str) else over
    is_iterable = isinstance(given, Iterable)
    if not is_iterable or not all(isinstance(chosen, Iterable) for chosen in given):
        choices = nearest("", names)
        message = messages.OVER_NOT_COLUMNS.format(
            over=clip(repr(over)),
            choices=choices,
        )
        raise UsageError(message)
    sets: list[tuple[str, ...]] = []
    for chosen in given:
        features = (chosen,) if isinstance(chosen, str) else tuple(chosen)
        _check_features(features, names)
        sets.append(features)
    if not sets or not all(sets):
        message = messages.OVER_EMPTY.format(
            over=repr(over),
            choices=nearest("", names),
        )
        raise UsageError(message)
    return list(dict.fromkeys(sets))


def _check_features(
    features: tuple[str, ...],
    names: tuple[str, ...],
) -> None:
    for feature in features:
        if feature not in names:
            choices = nearest(feature, names)
            message = messages.OVER_UNKNOWN.format(
                name=repr(feature),
                choices=choices,
            )
            raise UsageError(message)


def _grouping(
    names: tuple[str, ...],
    combinations: Sequence[Combination],
    counts: Codes,
    features: tuple[str, ...],
    support: float,
) -> Grouping:
    """Return the groups that some features make, without those that are too small."""
    places = [names.index(feature) for feature in features]
    group_of = [values_of(combination, places) for combination in combinations]
    groups = list(dict.fromkeys(group_of))
    group_codes = [groups.index(group) for group in group_of]
    sizes = np.bincount(group_codes, weights=counts.astype(float))
    least = support * counts.sum()
    kept = [group for group, size in zip(groups, sizes, strict=True) if size >= least]
    if len(kept) < 2:
        raise DataError(_too_few_groups(features, groups))
    code_of = {group: code for code, group in enumerate(kept)}
    of = [code_of.get(group, -1) for group in group_of]
    return Grouping(features, tuple(kept), tuple(of))


def _too_few_groups(
    features: tuple[str, ...],
    groups: Sequence[Combination],
) -> str:
    """Return why there is nothing to compare."""
    joined = " and ".join(features)
    if len(groups) > 1:
        return messages.SMALL_GROUPS.format(features=joined)
    pairs = zip(features, groups[0], strict=True)
    only = ", ".join(f"{name} {value!r}" for name, value in pairs)
    return messages.ONE_GROUP.format(features=joined, group=only)
