"""By how much numbers are moved to make neighbours of a row, where users say so."""

from __future__ import annotations

import math
from collections.abc import Mapping
from typing import TYPE_CHECKING, Any

from evenhand.runtime.errors import UsageError, clip, nearest
from evenhand.space.feature import plain

if TYPE_CHECKING:
    from collections.abc import Sequence

    from evenhand.space.feature import Feature
    from evenhand.space.space import Space

    Move = float | Mapping[str, float]

_WHOLE = 1e-9
"""By how much a number of steps may miss a whole number, for rounding."""


def free_features(space: Space, over: Sequence[str]) -> tuple[int, ...]:
    """Return the positions of what neighbours may change: neither at issue nor protected.

    >>> from evenhand.space.feature import category, integer
    >>> from evenhand.space.space import Space
    >>> free_features(Space([category("sex", ["F", "M"]), integer("age", 18, 90)]), ["sex"])
    (1,)
    """
    kept = {*space.sets(over), *(space.index(name) for name in space.protected)}
    return space.derivations.movable(space.passed, kept)


def checked_steps(space: Space, over: Sequence[str], move: Any) -> dict[str, float]:
    """Return the step of each feature that is moved by another one than its own.

    Parameters
    ----------
    over
        The features at issue, which neighbours keep.
    move
        A number for every feature that is a number, or a mapping of features to numbers; None for
        the steps of the features themselves.

    >>> from evenhand.space.feature import category, integer
    >>> from evenhand.space.space import Space
    >>> space = Space([category("sex", ["F", "M"]), integer("income", 0, 200)])
    >>> checked_steps(space, ["sex"], {"income": 5})
    {'income': 5.0}
    """
    if move is None:
        return {}
    names = _movable(space, over)
    if isinstance(move, Mapping):
        wanted = dict(move)
        for name in wanted:
            _check_name(space, name, names)
    else:
        if not names:
            raise UsageError(
                f"move = {clip(repr(move))}, but no feature that neighbours change is a number;"
                " leave it out"
            )
        wanted = dict.fromkeys(names, move)
    return {name: _checked_step(space.feature(name), wanted[name]) for name in wanted}


def _movable(space: Space, over: Sequence[str]) -> list[str]:
    """Return the features that neighbours change and that are numbers."""
    names = []
    for position in free_features(space, over):
        feature = space.features[position]
        if feature.kind != "category":
            names.append(feature.name)
    return names


def _check_name(space: Space, name: Any, names: Sequence[str]) -> None:
    """Refuse a feature that cannot be moved."""
    if name in names:
        return
    shown = clip(repr(name))
    if name not in space.names:
        raise UsageError(
            f"move names {shown}, which is not a feature; {nearest(name, names)}"
        )
    if space.feature(name).kind == "category":
        raise UsageError(
            f"move names {shown}, a category, which has no step; {nearest(name, names)}"
        )
    raise UsageError(
        f"move names {shown}, which neighbours keep as it is; {nearest(name, names)}"
    )


def _checked_step(feature: Feature, step: Any) -> float:
    """Return a step that leads from one value of a feature to another."""
    step = plain(step)
    entry = f"move = {clip(repr(step))} for {feature.name!r}"
    is_number = isinstance(step, int | float) and not isinstance(step, bool)
    if not is_number or not 0 < step < math.inf:
        raise UsageError(f"{entry} must be a number over 0, such as {_usual(feature):g}")
    most = feature.high - feature.low
    if step > most:
        raise UsageError(
            f"{entry} is more than the range of {feature.domain}; the nearest choice is"
            f" {_longest(feature):g}"
        )
    if feature.step is None:
        return float(step)
    steps = step / feature.step
    whole = max(1, round(steps))
    if abs(steps - whole) > _WHOLE * whole:
        choice = min(whole * feature.step, _longest(feature))
        raise UsageError(
            f"{entry} is no whole number of its steps of {feature.step:g}; the nearest choice"
            f" is {choice:g}"
        )
    return float(whole * feature.step)


def _usual(feature: Feature) -> float:
    """Return the step of a feature, or a hundredth of its range where it has none."""
    return float(feature.step or (feature.high - feature.low) / 100 or 1.0)


def _longest(feature: Feature) -> float:
    """Return the longest step between two values of a feature."""
    most = float(feature.high - feature.low)
    if feature.step is None:
        return most
    steps = math.floor(most / feature.step + _WHOLE)
    return float(steps * feature.step)
