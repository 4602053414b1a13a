"""Who is who: the favourable label, the groups and the privileged ones, as learned from training
rows.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

import numpy as np

from evenhand.runtime.errors import DataError, UsageError, clip, nearest
from evenhand.space.dataframes import check_missing, eager
from evenhand.space.feature import plain

if TYPE_CHECKING:
    from collections.abc import Sequence

    from numpy.typing import NDArray

    from evenhand.space.feature import Label

Group = tuple[Any, ...]


@dataclass(frozen=True)
class Roles:
    """What a method knows of labels and groups; `classes` has the unfavourable label first, then
    the favourable one.

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
        cls, frame: Any, labels: Any, *, over: Any, positive: Any = None, privileged: Any = None
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
        found, outcomes, dtype = _labels(labels)
        classes = _classes(found, positive)
        groups, at = _groups(frame, names)
        if len(at) != len(outcomes):
            raise DataError(
                f"there are {len(at):,} rows and {len(outcomes):,} labels; give one label for"
                " each row"
            )
        order = sorted(range(len(groups)), key=lambda code: repr(groups[code]))
        known = tuple(groups[code] for code in order)
        if len(known) < 2:
            said = ", ".join(
                f"{name} {value!r}"
                for name, value in zip(names, known[0] if known else (), strict=False)
            )
            raise DataError(
                f"all training rows have {said}; there is no second group to treat alike"
            )
        chosen = _privileged(names, known, privileged)
        if not chosen:
            favoured = np.array([label == classes[1] for label in found])[outcomes]
            rates = np.bincount(at, weights=favoured) / np.bincount(at)
            chosen = (known[int(np.argmax(rates[order]))],)
        return cls(names, classes, known, chosen, dtype)

    def truth(self, labels: Any) -> NDArray[np.float64]:
        """Return 1 for each favourable label and 0 for the other."""
        found, outcomes, _ = _labels(labels)
        for label in found:
            if label not in self.classes:
                raise DataError(
                    f"{clip(repr(label))} is no label of the training rows;"
                    f" {nearest(label, self.classes)}"
                )
        return np.array([label == self.classes[1] for label in found], dtype=np.float64)[outcomes]

    def labels(self, favourable: Any) -> NDArray[Any]:
        """Return the user's own labels for 1 (or True) and 0."""
        return np.array(self.classes, dtype=self.dtype)[np.asarray(favourable).astype(np.intp)]

    def codes(self, frame: Any) -> NDArray[np.intp]:
        """Return the place of each row's group among `groups`; a group that training rows did not
        have is an error.
        """
        place = {group: code for code, group in enumerate(self.groups)}
        found, at = _groups(frame, self.over)
        for group in found:
            if group not in place:
                value = group[0] if len(group) == 1 else group
                valid = [known[0] if len(known) == 1 else known for known in self.groups]
                raise DataError(
                    f"{' and '.join(self.over)} {clip(repr(value))} is in no training row, so"
                    f" nobody knows how to treat it; {nearest(value, valid)}"
                )
        return np.array([place[group] for group in found], dtype=np.intp)[at]

    def are_privileged(self, frame: Any) -> NDArray[np.bool_]:
        """Return for each row whether its group is privileged."""
        return np.isin(self.codes(frame), [self.groups.index(group) for group in self.privileged])


def _names(over: Any) -> tuple[str, ...]:
    names = (over,) if isinstance(over, str) else over
    if (
        not isinstance(names, list | tuple)
        or not names
        or not all(isinstance(name, str) for name in names)
    ):
        raise UsageError(
            f"over = {clip(repr(over))} must be the name of a column of X, or a list of names"
        )
    return tuple(names)


def _labels(labels: Any) -> tuple[list[Any], NDArray[np.intp], Any]:
    """Return the different labels, which of them each row has, and the dtype in which labels are
    handed out.
    """
    column = np.asarray(labels)
    column = column.ravel() if column.ndim == 2 and column.shape[1] == 1 else column
    if column.ndim != 1:
        raise DataError(
            f"the labels must be one column, one label for each row; they have shape {column.shape}"
        )
    found, codes = _factorise(column, "the labels")
    missing = codes < 0
    if missing.any():
        raise DataError(
            f"the labels are missing in {int(missing.sum()):,} of {len(codes):,} rows, the first in"
            f" row {int(missing.argmax())}; drop those rows first"
        )
    numbers = (
        column.dtype == object
        and found
        and all(isinstance(label, bool | int | float) for label in found)
    )
    # Objects that are numbers, as pandas' nullable dtypes give, are labels that scikit-learn
    # refuses.
    return found, codes, np.array(found).dtype if numbers else column.dtype


def _factorise(values: Any, where: str) -> tuple[list[Any], NDArray[np.intp]]:
    """Return the different values in the order in which they come, and the place of each row's
    value; -1 if missing.
    """
    import pandas as pd

    try:
        codes, levels = pd.factorize(values)
    except TypeError:
        raise DataError(
            f"{where}: there are values that are no texts, numbers or truth values"
        ) from None
    return [plain(level) for level in levels.tolist()], np.asarray(codes, dtype=np.intp)


def _classes(labels: Sequence[Any], positive: Any) -> tuple[Label, Label]:
    found = sorted(labels, key=repr)
    if len(found) != 2:
        few = "these methods know two labels"
        raise DataError(
            f"the training rows have {len(found)} labels ({clip(', '.join(map(repr, found)))});"
            f" {few}"
        )
    if positive is None and set(found) != {0, 1}:
        raise UsageError(f"the labels are not 0 and 1; pass positive=…; {nearest(1, found)}")
    wanted = 1 if positive is None else plain(positive)
    if wanted not in found:
        raise UsageError(
            f"positive = {clip(repr(positive))} is no label of the training rows;"
            f" {nearest(wanted, found)}"
        )
    favourable = found[found.index(wanted)]
    return next(label for label in found if label != favourable), favourable


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
        pandas = column.implementation.is_pandas()
        values = (
            column.to_native()
            if pandas
            else np.fromiter(column.to_list(), dtype=object, count=len(column))
        )
        levels, codes = _factorise(values, f"column {name!r}")
        pairs, at = _factorise(at * len(levels) + codes, f"column {name!r}")
        groups = [(*groups[pair // len(levels)], levels[pair % len(levels)]) for pair in pairs]
    return groups, at


def _privileged(names: Sequence[str], known: Sequence[Group], given: Any) -> tuple[Group, ...]:
    if given is None:
        return ()
    if isinstance(given, Mapping):
        if set(given) != set(names):
            raise UsageError(
                f"privileged names {', '.join(map(repr, given))}; it must name {', '.join(names)}"
            )
        wanted = [_values(given[name]) for name in names]
    elif len(names) > 1:
        raise UsageError(
            f"privileged must be a mapping that names {', '.join(names)}, as {{{names[0]!r}: …}}"
        )
    else:
        wanted = [_values(given)]
    for place, (name, values) in enumerate(zip(names, wanted, strict=True)):
        seen = sorted({group[place] for group in known}, key=repr)
        for value in values:
            if value not in seen:
                raise UsageError(
                    f"privileged = {value!r} is no value of {name!r}; {nearest(value, seen)}"
                )
    chosen = tuple(
        g for g in known if all(part in values for part, values in zip(g, wanted, strict=True))
    )
    if not chosen or len(chosen) == len(known):
        raise UsageError(
            f"privileged = {clip(repr(given))} leaves nobody on one side; choose some groups,"
            " not all"
        )
    return chosen


def _values(given: Any) -> list[Any]:
    return [
        plain(value)
        for value in (given if isinstance(given, list | tuple | set | frozenset) else [given])
    ]
