"""Features of a space: the functions that declare them."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from evenhand.space.declaration import checked_bins, dated, listed_levels
from evenhand.space.values.feature_type import Feature as Feature
from evenhand.space.values.feature_type import Kind as Kind
from evenhand.space.values.labels import check_labels, read_labels
from evenhand.space.values.points import Flags as Flags
from evenhand.space.values.points import Floats as Floats
from evenhand.space.values.points import Label as Label
from evenhand.space.values.points import Points as Points
from evenhand.space.values.points import combinations as combinations
from evenhand.space.values.points import count as count
from evenhand.space.values.points import empty_points as empty_points
from evenhand.space.values.points import plain as plain
from evenhand.space.values.points import product as product
from evenhand.space.values.points import zero_points as zero_points

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence


def category(
    name: str,
    levels: Sequence[Label],
    *,
    passed: bool = True,
    missing: bool | float = False,
    twins_missing: bool = False,
    derived: str | None = None,
    labels: Mapping[Any, str] | None = None,
) -> Feature:
    """Declare a feature that takes one of a list of levels.

    Parameters
    ----------
    name
        The name of the column.
    levels
        Texts, numbers or truth values, each once.
    passed
        False for a feature that the software under test does not take.
    missing
        True for a feature that may be missing, or how often it is; a share is used in draws.
    twins_missing
        True where a twin may lack the value, as a value like any other.
    derived
        What it follows from, such as ``"year(applied)"``: it is then worked out whenever an input
        is made, and never drawn or varied by itself.
    labels
        What people call its values, such as ``{0: "female", 1: "male"}``: reports then say so, and
        the software is given the values as ever.

    Returns
    -------
    Feature
        The feature, to be put into a `Space`.

    Raises
    ------
    SpaceError
        If the levels are no list, empty, repeated, or hold what is no label.

    See Also
    --------
    See docs/how-to/spaces.md.

    Examples
    --------
    >>> category("sex", ["F", "M"]).size
    2
    """
    feature = Feature(
        name,
        "category",
        levels=listed_levels(name, levels),
        passed=passed,
        missing=plain(missing),
        twins_missing=twins_missing,
        derived=derived,
        words=read_labels(f"feature {name!r}", labels),
    )
    check_labels(feature)
    return feature


def integer(
    name: str,
    low: int,
    high: int,
    *,
    step: int = 1,
    bins: Any = None,
    passed: bool = True,
    missing: bool | float = False,
    twins_missing: bool = False,
    derived: str | None = None,
    labels: Mapping[Any, str] | None = None,
) -> Feature:
    """Declare a whole number from `low` to `high`, both included.

    Parameters
    ----------
    name
        The name of the column.
    low, high
        The least and the greatest value.
    step
        How far apart the values are.
    bins
        A number of bins of equal width, or a rising list of edges, by which values form groups.
    passed
        False for a feature that the software under test does not take.
    missing
        True for a feature that may be missing, or how often it is; a share is used in draws.
    twins_missing
        True where a twin may lack the value, as a value like any other.
    derived
        What it follows from, such as ``"year(applied)"``: it is then worked out whenever an input
        is made, and never drawn or varied by itself.
    labels
        What people call its values, such as ``{0: "female", 1: "male"}``: reports then say so, and
        the software is given the values as ever.

    Returns
    -------
    Feature
        The feature, to be put into a `Space`.

    Raises
    ------
    SpaceError
        If `low` is over `high`, a number is not whole, or the bins do not fit the range.

    See Also
    --------
    See docs/how-to/spaces.md.

    Examples
    --------
    >>> integer("age", 20, 60, step=20).values().tolist()
    [20.0, 40.0, 60.0]
    """
    feature = Feature(
        name,
        "integer",
        low=plain(low),
        high=plain(high),
        step=plain(step),
        bins=checked_bins(name, plain(bins)),
        passed=passed,
        missing=plain(missing),
        twins_missing=twins_missing,
        derived=derived,
        words=read_labels(f"feature {name!r}", labels),
    )
    check_labels(feature)
    return feature


def real(
    name: str,
    low: float,
    high: float,
    *,
    step: float | None = None,
    bins: Any = None,
    passed: bool = True,
    missing: bool | float = False,
    twins_missing: bool = False,
    derived: str | None = None,
    labels: Mapping[Any, str] | None = None,
) -> Feature:
    """Declare a number from `low` to `high`, both included; continuous, or on a grid of `step`.

    Parameters
    ----------
    name
        The name of the column.
    low, high
        The least and the greatest value.
    step
        How far apart the values are; None for a continuous feature.
    bins
        A number of bins of equal width, or a rising list of edges, by which values form groups.
    passed
        False for a feature that the software under test does not take.
    missing
        True for a feature that may be missing, or how often it is; a share is used in draws.
    twins_missing
        True where a twin may lack the value, as a value like any other.
    derived
        What it follows from, such as ``"year(applied)"``: it is then worked out whenever an input
        is made, and never drawn or varied by itself.
    labels
        What people call its values, such as ``{0: "female", 1: "male"}``: reports then say so, and
        the software is given the values as ever.

    Returns
    -------
    Feature
        The feature, to be put into a `Space`.

    Raises
    ------
    SpaceError
        If `low` is over `high`, the step is not over 0, or the bins do not fit the range.

    See Also
    --------
    See docs/how-to/spaces.md.

    Examples
    --------
    >>> real("rate", 0, 1, step=0.25).size
    5
    """
    feature = Feature(
        name,
        "real",
        low=plain(low),
        high=plain(high),
        step=plain(step),
        bins=checked_bins(name, plain(bins)),
        passed=passed,
        missing=plain(missing),
        twins_missing=twins_missing,
        derived=derived,
        words=read_labels(f"feature {name!r}", labels),
    )
    check_labels(feature)
    return feature


def date(
    name: str,
    low: Any,
    high: Any,
    *,
    step: int = 1,
    bins: Any = None,
    passed: bool = True,
    missing: bool | float = False,
    twins_missing: bool = False,
    labels: Mapping[Any, str] | None = None,
) -> Feature:
    """Declare a date from `low` to `high`, both included.

    Parameters
    ----------
    name
        The name of the column.
    low, high
        The first and the last day: an ISO text such as ``"2020-01-31"``, or a date of Python,
        numpy or pandas.
    step
        How many days the values are apart.
    bins
        A number of bins of equal length, or a rising list of dates, by which values form groups.
    passed
        False for a feature that the software under test does not take.
    missing
        True for a feature that may be missing, or how often it is; a share is used in draws.
    twins_missing
        True where a twin may lack the value, as a value like any other.
    labels
        What people call its values, such as ``{"2020-02-29": "leap day"}``: reports then say so,
        and the software is given the values as ever.

    Returns
    -------
    Feature
        The feature, to be put into a `Space`.

    Raises
    ------
    SpaceError
        If an end is no date, `low` is after `high`, or the step is not a whole number of days.

    See Also
    --------
    See docs/how-to/spaces.md.

    Examples
    --------
    >>> applied = date("applied", "2020-01-01", "2020-12-31")
    >>> applied.size, applied.labels(applied.values()[:1])
    (366, ['2020-01-01'])
    """
    fields = dated(name, {"low": low, "high": high, "bins": bins})
    feature = Feature(
        name,
        "date",
        low=fields["low"],
        high=fields["high"],
        step=plain(step),
        bins=checked_bins(name, plain(fields.get("bins", bins))),
        passed=passed,
        missing=plain(missing),
        twins_missing=twins_missing,
        words=read_labels(f"feature {name!r}", labels),
    )
    check_labels(feature)
    return feature
