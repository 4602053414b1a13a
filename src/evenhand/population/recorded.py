"""Recorded decisions: a frame of any engine, counted by group and outcome where it lies.

Only the counts are read into memory.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np

from evenhand.population.counting.engines import collected, group_counts, refuse_keys
from evenhand.runtime.errors import DataError, UsageError, clip, nearest
from evenhand.runtime.values import parse_outcome
from evenhand.space.feature import plain
from evenhand.space.feature_sets import sets_of
from evenhand.space.frames.reading import declared_levels, eager

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping

    from numpy.typing import NDArray

    from evenhand.population.cuts import Cuts
    from evenhand.space.feature import Feature, Label
    from evenhand.statistics.intervals import Floats

MOST_VALUES = 50
"""The most distinct numbers of a column that are groups by themselves."""
SUPPORT = 0.02
"""The least share of the rows of a group that is compared, where nothing else is said.

Smaller groups are shown and left out, by every verb alike. Rules on audits of hiring tools name the
same share.
"""
UNKNOWN = -1
"""The code of a row that lacks a value."""
_TINY = 1e-12
"""How near an end may come to a share that must lie over or under it."""


def table_of(frame: Any) -> Any:
    """Return any dataframe as a narwhals frame, which stays lazy if it is."""
    import narwhals as nw

    try:
        found = nw.from_native(frame)
    except (TypeError, nw.exceptions.DuplicateError):
        return eager(frame)  # which says what is wrong with it
    if isinstance(found, nw.LazyFrame):
        return found
    return eager(frame)


def check_shares(allowed: Mapping[str, str], optional: Sequence[str], **given: Any) -> None:
    """Raise a UsageError for a share outside its range, which a sentence describes.

    An end that the sentence names with "from" or "up to" belongs to the range.

    >>> check_shares({"level": "over 0 and under 1, for example 0.95"}, (), level=1)
    Traceback (most recent call last):
    evenhand.runtime.errors.UsageError: level is 1; it must be over 0 and under 1, for example 0.95
    """
    for name, value in given.items():
        if value is None and name in optional:
            continue
        wanted = allowed[name]
        is_number = isinstance(value, int | float | np.number) and not isinstance(
            value, bool
        )
        low = 0 if "from 0" in wanted else _TINY
        high = 1 - _TINY if "under 1" in wanted else 1
        if not is_number or not low <= value <= high:
            raise UsageError(f"{name} is {clip(repr(value))}; it must be {wanted}")


def column_sets(over: Any, outcome: str, columns: list[str]) -> list[tuple[str, ...]]:
    """Return the sets of columns that `over` names, each once; refuse unknown ones."""
    if outcome not in columns:
        raise DataError(
            f"outcome = {clip(repr(outcome))} is not a column of the frame;"
            f" {nearest(outcome, columns)}"
        )
    others = [name for name in columns if name != outcome]
    if not isinstance(over, str | Sequence) or not over:
        raise UsageError(
            f"over = {clip(repr(over))} names no columns to compare; {nearest(over, others)}"
        )
    given: Any = over
    if not isinstance(over, str):
        # What is neither a name nor a set is refused below, as a column that there is not.
        given = [names if isinstance(names, str | Sequence) else (names,) for names in over]
    sets = sets_of(given)
    for names in sets:
        _check_set(names, outcome, columns)
    return list(dict.fromkeys(sets))


def _check_set(names: tuple[str, ...], outcome: str, columns: list[str]) -> None:
    others = [name for name in columns if name != outcome]
    for name in names:
        if name == outcome:
            raise UsageError(
                f"over names {name!r}, which is the outcome itself; {nearest(name, others)}"
            )
        if name not in columns:
            raise DataError(
                f"over names {clip(repr(name))}, which is not a column; {nearest(name, others)}"
            )
    if not names or len(set(names)) < len(names):
        raise UsageError(
            f"over holds the set {clip(repr(names))}; name one or more columns, each once"
        )


def columns_of_sets(sets: Iterable[Iterable[str]]) -> tuple[str, ...]:
    """Return the columns of all sets, each once.

    >>> columns_of_sets([("sex",), ("race", "sex")])
    ('sex', 'race')
    """
    names: dict[str, None] = {}
    for columns in sets:
        names |= dict.fromkeys(columns)
    return tuple(names)


def with_truth(sets: Iterable[tuple[str, ...]], truth: str | None) -> list[tuple[str, ...]]:
    """Return the columns that rows are counted by besides the outcome: each set, and the truth.

    >>> with_truth([("sex",)], "paid")
    [('sex', 'paid')]
    """
    return [(*names, truth) if truth else names for names in sets]


def number_of_rows(table: Any) -> int:
    """Return how many rows a frame has, which its own engine counts."""
    import narwhals as nw

    counted = collected(table.select(nw.len().alias("rows")))
    return int(counted["rows"].to_list()[0])


def number_missing(table: Any, columns: Iterable[str]) -> int:
    """Return how many values of some columns are missing, which the frame's own engine counts.

    >>> import narwhals as nw
    >>> import pandas as pd
    >>> rows = pd.DataFrame({"sex": ["F", None], "score": [0.5, float("nan")], "age": [1, 2]})
    >>> number_missing(nw.from_native(rows), ["sex", "score", "age"])
    2
    """
    import narwhals as nw

    schema = table.collect_schema()
    counts: list[Any] = []
    for name in columns:
        is_missing = nw.col(name).is_null()
        if schema[name].is_float():
            is_missing = is_missing | nw.col(name).is_nan()
        # A column of evenhand's own: a name of the user's may be that of anything.
        counts.append(is_missing.cast(nw.Int64).sum().alias(f"missing {len(counts)}"))
    if not counts:
        return 0
    counted = collected(table.select(*counts))
    # Of no rows at all, some engines have no sum.
    return sum(int(counted[name].to_list()[0] or 0) for name in counted.columns)


def label_written(frame: Any, column: str, text: Any) -> Any:
    """Return the label of a column that is written like this, the text itself where there is none.

    >>> import pandas as pd
    >>> label_written(pd.DataFrame({"paid": [0, 1]}), "paid", "1")
    1
    """
    if text is None or column not in frame.columns:
        return text
    for value in frame[column].unique().tolist():
        if str(value) == str(text):
            return value
    if isinstance(text, str):
        return parse_outcome(text)
    return text


def check_variety(table: Any, numeric: list[str], advice: str = "") -> None:
    """Refuse columns of many different numbers, before they are counted one by one.

    The error gives the advice, by default to group the numbers with bins.
    """
    import narwhals as nw

    if not numeric:
        return
    counts = collected(table.select(nw.col(*numeric).n_unique()))
    for name in numeric:
        distinct = int(counts[name].to_list()[0] or 0)
        if distinct > MOST_VALUES:
            raise too_varied(name, distinct, advice)


def too_varied(name: str, distinct: int, advice: str = "", where: str = "") -> UsageError:
    """Return the error of a column of so many different numbers, in all rows or `where`."""
    bins = (
        f"group them with bins={{{name!r}: [25, 40]}} (on the command line --bins"
        f" {name}=25,40), or make decisions of an outcome first"
    )
    return UsageError(
        f"column {name!r} holds {distinct:,} different numbers{where}, over the {MOST_VALUES} that"
        f" are taken one by one; {advice or bins}"
    )


def count_rows(
    table: Any,
    keys: Sequence[str],
    *,
    sums: Sequence[str] = (),
    most: int | None = None,
) -> Any:
    """Return the number of rows of each combination of some columns, as an eager frame.

    The number is the last column. The frame's own engine counts.

    Parameters
    ----------
    sums
        Other columns, whose sums come with the numbers.
    most
        How many combinations are returned at most.
    """
    try:
        found = group_counts(table, keys, sums=sums, most=most)
    except TypeError as error:
        raise refuse_keys(keys, error) from None
    if not len(found):
        raise DataError("the frame has no rows; there is no decision to measure")
    return found


def count_cells(
    table: Any,
    names: Sequence[str],
    outcome: str,
    cuts: Mapping[str, Cuts] | None = None,
) -> Any:
    """Return the number of rows for each combination of values and outcome, as an eager frame.

    Columns that are cut hold the words of their groups, in order.
    """
    import narwhals as nw

    cut_of = cuts or {}
    keys = [*names, outcome]
    columns = []
    for name in keys:
        if name in cut_of:
            column = cut_of[name].code().alias(name)
        else:
            column = nw.col(name)
        columns.append(column)
    found = count_rows(table.select(*columns), keys)
    return in_words(found, [cut_of[name] for name in keys if name in cut_of])


def in_words(counted: Any, cuts: Sequence[Cuts]) -> Any:
    """Return counts with the words of groups in place of their numbers, as ordered categories."""
    import narwhals as nw
    import pandas as pd

    if not cuts:
        return counted
    frame = counted.to_pandas().copy(deep=False)
    for cut in cuts:
        numbers = pd.to_numeric(frame[cut.name])
        codes = cut.codes(numbers.dropna().astype(int).unique().tolist())
        place_of = {code: place for place, code in enumerate(codes)}
        places = numbers.map(place_of).fillna(-1).astype(int)
        words = [cut.label(code) for code in codes]
        frame[cut.name] = pd.Categorical.from_codes(places.tolist(), words, ordered=True)
    return nw.from_native(frame, eager_only=True)


def sizes_of(cells: Any) -> Floats:
    """Return the number of rows of each combination."""
    return np.array(cells[cells.columns[-1]].to_list(), dtype=float)


def labels_of(cells: Any, name: str) -> list[Label | None]:
    """Return a column of the counts in the user's labels, None where it is missing."""
    import pandas as pd

    values = cells[name].to_list()
    missing = pd.isna(np.fromiter(values, dtype=object, count=len(values)))
    labels = []
    for value, is_missing in zip(values, missing, strict=True):
        labels.append(None if is_missing else label_of(value))
    return labels


def label_of(value: Any) -> Label:
    """Return a value of any engine as a label.

    >>> label_of(2.0), label_of(np.True_)
    (2, True)
    """
    value = plain(value)
    if isinstance(value, float):
        if value.is_integer():  # whole numbers beside missing ones come as floats
            return int(value)
        if math.isfinite(value):
            return value
        return str(value)
    if isinstance(value, str | int):
        return value
    return str(value)


def seen(cells: Any, name: str) -> list[Label]:
    """Return the labels that a column of the counts has, in order."""
    labels = {label for label in labels_of(cells, name) if label is not None}
    return sorted(labels, key=lambda label: (isinstance(label, str), label))


def favourable_of(cells: Any, outcome: str, positive: Any) -> Label:
    """Return the favourable outcome of a column: the one given, or 1 where outcomes are 0 and 1."""
    outcomes = seen(cells, outcome)
    is_binary = set(outcomes) <= {0, 1}
    if positive is None and not is_binary:
        raise UsageError(
            f"the outcomes of {outcome!r} are not 0 and 1; name the favourable one with the option"
            f" positive; {nearest(1, outcomes)}"
        )
    favourable = label_of(1 if positive is None else positive)
    # An outcome that no row has is an outcome too, where the column declares it.
    valid = [*outcomes, *declared_levels(cells[outcome])]
    if is_binary:
        valid += [0, 1]
    if favourable not in valid:
        raise UsageError(
            f"positive = {clip(repr(positive))} is not an outcome of {outcome!r};"
            f" {nearest(positive, outcomes)}"
        )
    return favourable


def true_label(cells: Any, truth: str, given: Any, favourable: Label) -> Label:
    """Return which value of the column of truth stands for the favourable outcome.

    By default it is the favourable outcome itself, or 1 where the column holds 0 and 1.
    """
    seen_values = seen(cells, truth)
    if given is not None:
        label = label_of(given)
    elif favourable not in seen_values and set(seen_values) <= {0, 1}:
        label = 1
    else:
        label = favourable
    if label not in seen_values:
        named = f"truth_positive = {clip(repr(label))}"
        if given is None:
            named = f"the favourable {clip(repr(label))}"
        raise UsageError(
            f"{named} is not a value of {truth!r}; name what stands for the favourable outcome with"
            f" truth_positive; {nearest(label, seen_values)}"
        )
    return label


def check_truth(
    truth: Any,
    given: Any,
    outcome: str,
    over: Any,
    columns: list[str],
) -> None:
    """Refuse a column of truth that is not there, or that has another part already."""
    if truth is None:
        if given is not None:
            raise UsageError(
                f"truth_positive = {clip(repr(given))} needs the column that it is a value of;"
                " name it with truth"
            )
        return
    others = [name for name in columns if name != outcome]
    if truth not in columns:
        raise DataError(
            f"truth = {clip(repr(truth))} is not a column of the frame; {nearest(truth, others)}"
        )
    if truth == outcome or truth in over:
        other = "the outcome itself" if truth == outcome else "in over too"
        raise UsageError(
            f"truth = {clip(repr(truth))} is {other}; {nearest(truth, others)}"
        )


@dataclass(frozen=True, slots=True)
class DecisionColumns:
    """The columns of decisions and of what they should have been, and their favourable labels."""

    outcome: str
    favourable: Label
    truth: str | None = None
    truly_favourable: Label | None = None

    @classmethod
    def of(
        cls,
        cells: Any,
        outcome: str,
        favourable: Label,
        truth: str | None,
        given: Any,
    ) -> DecisionColumns:
        """Return the columns of counts; `given` is what is favourable in that of truth, or None."""
        if truth is None:
            return cls(outcome, favourable)
        return cls(outcome, favourable, truth, true_label(cells, truth, given, favourable))

    def truths(self, cells: Any) -> NDArray[np.intp]:
        """Return what each cell should have been: 0, 1 where favourable, or 2 where not known."""
        if self.truth is None:
            return np.full(len(cells), 2)
        found = []
        for label in labels_of(cells, self.truth):
            found.append(2 if label is None else int(label == self.truly_favourable))
        return np.array(found, dtype=np.intp)

    def decided(self, cells: Any) -> NDArray[np.bool_]:
        """Return in which cells the decision is the favourable one."""
        labels = labels_of(cells, self.outcome)
        return np.array([label == self.favourable for label in labels], dtype=np.bool_)

    def without_truth(self, cells: Any) -> int:
        """Return of how many decisions it is not known what they should have been."""
        if self.truth is None:
            return 0
        return int(decided_sizes(cells, self.outcome)[self.truths(cells) == 2].sum())


def decided_sizes(cells: Any, outcome: str) -> Floats:
    """Return how many rows each cell has; those without an outcome count for nothing."""
    is_decided = [label is not None for label in labels_of(cells, outcome)]
    return sizes_of(cells) * is_decided


def codes_of(feature: Feature, labels: Sequence[Label | None]) -> list[int]:
    """Return the place of each label among the feature's levels, -1 for what is unknown."""
    code_of = {level: code for code, level in enumerate(feature.levels)}
    return [UNKNOWN if label is None else code_of[label] for label in labels]
