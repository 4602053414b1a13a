"""Which features a space has, and which sets of them a question is about.

One feature is `over="sex"`, one set is `over=["sex", "race"]`, and two sets are
`over=[("sex",), ("race",)]`.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import TYPE_CHECKING, Any

from evenhand.runtime.errors import SpaceError, UsageError, clip, nearest
from evenhand.space.feature import Feature

if TYPE_CHECKING:
    from evenhand.space.space import Space

Over = str | Sequence[str] | Sequence[tuple[str, ...]]
"""One feature, one set of features taken together, or several sets."""
ALL = "all"
"""What some verbs take for every feature there is."""


def sets_of(over: Over) -> list[tuple[str, ...]]:
    """Return the sets that `over` names, unchecked.

    >>> sets_of("sex"), sets_of(["sex", "race"]), sets_of([("sex",), ("race",)])
    ([('sex',)], [('sex', 'race')], [('sex',), ('race',)])
    """
    if isinstance(over, str):
        return [(over,)]
    if all(isinstance(name, str) for name in over):
        return [tuple(str(name) for name in over)]
    sets = []
    for names in over:
        sets.append((names,) if isinstance(names, str) else tuple(names))
    return sets


def asks_all(over: Over | None, names: Sequence[str]) -> bool:
    """Return whether `over` says "all", which a feature of that name keeps for itself.

    >>> asks_all("all", ["sex", "age"]), asks_all(["all"], ["sex"]), asks_all("all", ["all"])
    (True, True, False)
    """
    if over is None or ALL in names:
        return False
    try:
        return (ALL,) in sets_of(over)
    except TypeError:
        return False


def spelled_out(over: Over, names: Sequence[str]) -> Over:
    """Return `over` with all names in the place of "all", where it asks for all of them.

    >>> spelled_out("all", ["sex", "age"]), spelled_out("sex", ["sex", "age"])
    ([('sex', 'age')], 'sex')
    """
    if not asks_all(over, names):
        return over
    every = tuple(names)
    return [every if several == (ALL,) else several for several in sets_of(over)]


def feature_sets(space: Space, over: Over | None) -> list[tuple[str, ...]]:
    """Return the sets of features that `over` names; by default each protected feature.

    They are checked against the space.
    """
    if over is None:
        if not space.protected:
            raise UsageError(
                "the space names no protected features; pass over=…, one or more of"
                f" {', '.join(space.names)}"
            )
        return [(name,) for name in space.protected]
    try:
        sets = sets_of(over)
    except TypeError:
        raise UsageError(
            f"over = {clip(repr(over))} must be the name of a feature, a list of names, or a list"
            " of tuples of names"
        ) from None
    for names in sets:
        space.sets(names)
    seen = []
    for names in sets:
        if set(names) in seen:
            raise UsageError(
                f"over names the set {', '.join(names)} twice; name each set once"
            )
        seen.append(set(names))
    return sets


def unseen(space: Space, names: Sequence[str]) -> bool:
    """Return whether the software takes none of these features.

    Nothing that it does can then depend on them alone: that they change nothing is no evidence.
    """
    return bool(names) and not any(space.feature(name).passed for name in names)


def unseen_notes(space: Space, sets: Sequence[tuple[str, ...]]) -> list[str]:
    """Return a note for each feature that the software does not take: what its score means."""
    every_name = set().union(*sets)
    notes = []
    for name in sorted(every_name):
        if not space.feature(name).passed:
            notes.append(
                f"{name} is not passed to the software, so its causal score is zero by"
                " construction; that is no evidence of fairness"
            )
    return notes


def checked_features(features: Any) -> tuple[Feature, ...]:
    """Return the features of a space, each with a name of its own."""
    if isinstance(features, str) or not isinstance(features, Iterable):
        raise SpaceError(
            f"features = {clip(repr(features))} must be a list; use category(), integer(), real(),"
            " date()"
        )
    checked = tuple(features)
    if not checked:
        raise SpaceError("a space needs at least one feature")
    for feature in checked:
        if not isinstance(feature, Feature):
            raise SpaceError(
                f"{clip(repr(feature))} is not a feature; build it with category(), integer(),"
                " real() or date()"
            )
    names = [feature.name for feature in checked]
    for name in names:
        if names.count(name) > 1:
            raise SpaceError(
                f"feature {name!r} is declared twice; give each feature its own name"
            )
    return checked


def check_protected(protected: tuple[str, ...], names: list[str]) -> None:
    """Refuse protected features that there are not, or that are named twice."""
    for name in protected:
        if name not in names:
            raise SpaceError(
                f"protected feature {name!r} is not in the space; {nearest(name, names)}"
            )
        if protected.count(name) > 1:
            raise SpaceError(
                f"protected feature {name!r} is named twice; name each feature once"
            )


def listed(given: Any) -> tuple[Any, ...]:
    """Return one name or constraint, or a list of them, as a tuple."""
    if isinstance(given, str) or not isinstance(given, Iterable):
        return (given,)
    return tuple(given)
