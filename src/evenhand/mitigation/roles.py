"""Roles: the favourable label, the groups and the privileged ones, learned from training rows."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

import numpy as np

from evenhand.runtime.errors import DataError, UsageError, clip, nearest
from evenhand.space.feature import plain
from evenhand.space.frames.reading import check_missing, eager

if TYPE_CHECKING:
    from collections.abc import Sequence

    from numpy.typing import NDArray

    from evenhand.space.feature import Label

Group = tuple[Any, ...]


@dataclass(frozen=True)
class Roles:
    """What a method knows of labels and groups.

    `classes` has the unfavourable label first, then the favourable one.

    >>> import pandas as pd
    >>> frame = pd.DataFrame({"sex": ["f", "f", "m", "m"]})
    >>> roles = Roles.of(frame, ["no", "no", "no", "yes"], over="sex", positive="yes")
    >>> roles.privileged, roles.are_privileged(frame).tolist()
    ((('m',),), [False, False, True, True])
    """

    over: tuple[str, ...]
    classes: tuple[Label, Label]
    groups: tuple[Group, ...]
    privileged: tuple[Group, ...]
    dtype: Any = field(default=None, repr=False)

    @classmethod
    def of(
        cls,
        frame: Any,
        labels: Any,
        *,
        over: Any,
        positive: Any = None,
        privileged: Any = None,
    ) -> Roles:
        """Learn the roles from training rows.

        Parameters
        ----------
        over
            The protected column, or several whose combinations are the groups.
        positive
            The favourable label; 1 where labels are 0 and 1.
        privileged
            The privileged value of the column, a list of them, or for several columns a mapping
            from each to its own; by default the group that has the favourable label most often in
            these rows.
        """
        names = _names(over)
        different_labels, label_codes, dtype = _labels(labels)
        classes = _classes(different_labels, positive)
        groups, group_codes = _groups(frame, names)
        if len(group_codes) != len(label_codes):
            raise DataError(
                f"there are {len(group_codes):,} rows and {len(label_codes):,} labels; give one"
                " label for each row"
            )
        # In an order that does not depend on the rows.
        order = sorted(range(len(groups)), key=lambda code: repr(groups[code]))
        known = tuple(groups[code] for code in order)
        if len(known) < 2:
            raise DataError(
                f"all training rows have {_group_text(names, known)}; there is no second group to"
                " treat alike"
            )
        chosen = _privileged(names, known, privileged)
        if not chosen:
            is_favourable = np.array([label == classes[1] for label in different_labels])
            favoured = np.bincount(group_codes, weights=is_favourable[label_codes])
            rates = favoured / np.bincount(group_codes)
            rates_in_order = rates[order]
            highest = int(np.argmax(rates_in_order))
            chosen = (known[highest],)
        return cls(names, classes, known, chosen, dtype)

    def truth(self, labels: Any) -> NDArray[np.float64]:
        """Return 1 for each favourable label and 0 for the other."""
        different_labels, label_codes, _ = _labels(labels)
        for label in different_labels:
            if label not in self.classes:
                raise DataError(
                    f"{clip(repr(label))} is not a label of the training rows;"
                    f" {nearest(label, self.classes)}"
                )
        is_favourable = [label == self.classes[1] for label in different_labels]
        truth_of_labels = np.array(is_favourable, dtype=np.float64)
        return truth_of_labels[label_codes]

    def labels(self, favourable: Any) -> NDArray[Any]:
        """Return the user's own labels for 1 (or True) and 0."""
        codes = np.asarray(favourable).astype(np.intp)
        classes = np.array(self.classes, dtype=self.dtype)
        return classes[codes]

    def codes(self, frame: Any) -> NDArray[np.intp]:
        """Return the place of each row's group among `groups`.

        A group that training rows did not have is an error.
        """
        place = {group: code for code, group in enumerate(self.groups)}
        found, at = _groups(frame, self.over)
        for group in found:
            if group not in place:
                columns = " and ".join(self.over)
                value = _short(group)
                valid = [_short(known) for known in self.groups]
                raise DataError(
                    f"{columns} {clip(repr(value))} is in no training row, so it is not known how"
                    f" to treat it; {nearest(value, valid)}"
                )
        places = np.array([place[group] for group in found], dtype=np.intp)
        return places[at]

    def are_privileged(self, frame: Any) -> NDArray[np.bool_]:
        """Return for each row whether its group is privileged."""
        privileged_codes = [self.groups.index(group) for group in self.privileged]
        codes = self.codes(frame)
        return np.isin(codes, privileged_codes)


def _short(group: Group) -> Any:
    """Return the value of a group by one column, or the values of a group by several."""
    if len(group) == 1:
        return group[0]
    return group


def _group_text(names: Sequence[str], groups: Sequence[Group]) -> str:
    """Return the values of the only group, such as "sex 'f'"; nothing where there is no row."""
    parts = []
    for group in groups:
        for name, value in zip(names, group, strict=True):
            parts.append(f"{name} {value!r}")
    return ", ".join(parts)


def _names(over: Any) -> tuple[str, ...]:
    names = (over,) if isinstance(over, str) else over
    is_list = isinstance(names, list | tuple)
    if not is_list or not names or not all(isinstance(name, str) for name in names):
        raise UsageError(
            f"over = {clip(repr(over))} must be the name of a column of X, or a list of names"
        )
    return tuple(names)


def _labels(labels: Any) -> tuple[list[Any], NDArray[np.intp], Any]:
    """Return the different labels, which of them each row has, and the dtype of the labels."""
    column = np.asarray(labels)
    if column.ndim == 2 and column.shape[1] == 1:
        column = column.ravel()
    if column.ndim != 1:
        raise DataError(
            f"the labels must be one column, one label for each row; they have shape {column.shape}"
        )
    found, codes = _factorise(column, "the labels")
    missing = codes < 0
    if missing.any():
        number = int(missing.sum())
        first = int(missing.argmax())
        raise DataError(
            f"the labels are missing in {number:,} of {len(codes):,} rows, the first in row"
            f" {first}; drop those rows first"
        )
    # Objects that are numbers, as pandas' nullable dtypes give, are labels that scikit-learn
    # refuses: they are handed out as plain numbers.
    are_numbers = all(isinstance(label, bool | int | float) for label in found)
    if column.dtype == object and found and are_numbers:
        return found, codes, np.array(found).dtype
    return found, codes, column.dtype


def _factorise(values: Any, where: str) -> tuple[list[Any], NDArray[np.intp]]:
    """Return the different values in the order in which they come, and the place of each row's.

    The place of a missing value is -1.
    """
    import pandas as pd

    try:
        codes, levels = pd.factorize(values)
    except TypeError:
        raise DataError(
            f"{where}: some values are not texts, numbers or truth values"
        ) from None
    values_in_order = [plain(level) for level in levels.tolist()]
    return values_in_order, np.asarray(codes, dtype=np.intp)


def _classes(labels: Sequence[Any], positive: Any) -> tuple[Label, Label]:
    found = sorted(labels, key=repr)
    if len(found) != 2:
        different = clip(", ".join(map(repr, found)))
        raise DataError(
            f"the training rows have {len(found)} labels ({different}), but these methods"
            " need exactly two"
        )
    if positive is None and set(found) != {0, 1}:
        raise UsageError(
            f"the labels are not 0 and 1; pass positive=…; {nearest(1, found)}"
        )
    wanted = 1 if positive is None else plain(positive)
    if wanted not in found:
        raise UsageError(
            f"positive = {clip(repr(positive))} is not a label of the training rows;"
            f" {nearest(wanted, found)}"
        )
    place = found.index(wanted)
    favourable = found[place]
    unfavourable = found[1 - place]
    return unfavourable, favourable


def _groups(frame: Any, names: Sequence[str]) -> tuple[list[Group], NDArray[np.intp]]:
    """Return the different groups, and which of them each row belongs to."""
    table = eager(frame)
    groups: list[Group] = [()]
    at = np.zeros(len(table), dtype=np.intp)
    for name in names:
        if name not in table.columns:
            raise DataError(f"there is no column {name!r}; {nearest(name, table.columns)}")
        check_missing(table, name)
        column = table[name]
        # pandas knows its own columns; those of other engines come as a list.
        if column.implementation.is_pandas():
            values = column.to_native()
        else:
            values = np.fromiter(column.to_list(), dtype=object, count=len(column))
        levels, codes = _factorise(values, f"column {name!r}")
        # The groups so far and the levels of this column as one number, and each such number once:
        # only combinations that some row has become groups.
        combined = at * len(levels) + codes
        pairs, at = _factorise(combined, f"column {name!r}")
        longer_groups: list[Group] = []
        for pair in pairs:
            group, level = divmod(pair, len(levels))
            longer_groups.append((*groups[group], levels[level]))
        groups = longer_groups
    return groups, at


def _privileged(
    names: Sequence[str], known: Sequence[Group], given: Any
) -> tuple[Group, ...]:
    """Return the groups that the user calls privileged, none where nothing is given."""
    if given is None:
        return ()
    wanted = _wanted_values(names, given)
    for place, name in enumerate(names):
        seen = sorted({group[place] for group in known}, key=repr)
        for value in wanted[place]:
            if value not in seen:
                raise UsageError(
                    f"privileged = {value!r} is not a value of {name!r}; {nearest(value, seen)}"
                )
    chosen = tuple(group for group in known if _matches(group, wanted))
    if not chosen or len(chosen) == len(known):
        raise UsageError(
            f"privileged = {clip(repr(given))} leaves nobody on one side; choose some groups,"
            " not all"
        )
    return chosen


def _wanted_values(names: Sequence[str], given: Any) -> list[list[Any]]:
    """Return the privileged values of each protected column."""
    columns = ", ".join(names)
    if isinstance(given, Mapping):
        if set(given) != set(names):
            given_names = ", ".join(map(repr, given))
            raise UsageError(f"privileged names {given_names}; it must name {columns}")
        return [_values(given[name]) for name in names]
    if len(names) > 1:
        raise UsageError(
            f"privileged must be a mapping that names {columns}, as {{{names[0]!r}: …}}"
        )
    return [_values(given)]


def _matches(group: Group, wanted: Sequence[Sequence[Any]]) -> bool:
    """Return whether each value of a group is among the wanted values of its column."""
    for value, wanted_values in zip(group, wanted, strict=True):
        if value not in wanted_values:
            return False
    return True


def _values(given: Any) -> list[Any]:
    if isinstance(given, list | tuple | set | frozenset):
        return [plain(value) for value in given]
    return [plain(given)]
