"""What a search for sets of features is going to take."""

from __future__ import annotations

import math
from typing import TYPE_CHECKING, Any

from evenhand.methods.subsets.subsets import VARIANTS
from evenhand.population.samplers import Uniform, checked_sampler, is_rows
from evenhand.scores.enumeration import SMALL, part_size
from evenhand.scores.planning.forecast import Forecast, Ground, Scenario, Way, within
from evenhand.scores.planning.plans import causal_plan
from evenhand.scores.planning.runs import rate_runs
from evenhand.scores.question import Terms
from evenhand.scores.sampling_loop import CHECKED

if TYPE_CHECKING:
    from collections.abc import Sequence

    from evenhand.population.samplers import Sampler
    from evenhand.space.space import Space

LIMIT = 0.75
"""The limit of `subsets` where none is given."""


def forecast(
    ground: Ground,
    *,
    among: Sequence[str] | str | None = None,
    kind: str = "causal",
    limit: float = LIMIT,
    level: float = 0.95,
    variants: int = VARIANTS,
    exact: bool | None = None,
    **_others: Any,
) -> list[Forecast]:
    """Return that every input or row is asked, or what it takes to clear all sets at once."""
    assert ground.source is not None
    space = ground.subject.space
    names = _names(space, among)
    about = ", ".join(names)
    sampler = checked_sampler(ground.source.population(), space)
    twice = 2 * CHECKED
    if is_rows(sampler) and (kind == "group" or sampler.twins == "rows"):
        rows = len(sampler.points(space)) + twice
        return within([Forecast(about, Way.ROWS, rows, rows)], ground.left)
    inputs = _listed(ground, sampler, names, exact=exact)
    if inputs is not None:
        every = inputs + twice
        return within([Forecast(about, Way.ENUMERATED, every, every)], ground.left)
    terms = Terms(sampler, level, None, limit, among=2 ** len(names) - 1)
    cost = _variants(space, names, variants)
    plan = causal_plan(terms, expensive=True, variants=cost)
    none_at_all = round(rate_runs(plan, 0.0).mean_draws * cost) + twice
    size = part_size(space, names, ground.subject.unread)
    if exact is None and isinstance(sampler, Uniform) and size <= none_at_all:
        every = int(size) + twice
        return within([Forecast(about, Way.ENUMERATED, every, every)], ground.left)
    cleared = Scenario(0.0, none_at_all)
    parts = [Forecast(about, Way.DRAWN, none_at_all, None, (cleared,))]
    return within(parts, ground.left)


def _names(space: Space, among: Sequence[str] | str | None) -> tuple[str, ...]:
    if among is None:
        return tuple(feature.name for feature in space.features if feature.passed)
    return (among,) if isinstance(among, str) else tuple(among)


def _listed(
    ground: Ground, sampler: Sampler, names: tuple[str, ...], *, exact: bool | None
) -> int | None:
    """Return how many inputs there are, where all of them are asked."""
    if not isinstance(sampler, Uniform) or exact is False:
        return None
    inputs = part_size(ground.subject.space, names, ground.subject.unread)
    few = exact or inputs <= min(SMALL, ground.left)
    if ground.subject.adapter.expensive:
        # Whether fewer are drawn is seen from what drawing takes.
        few = bool(exact)
    return int(inputs) if few and inputs != math.inf else None


def _variants(space: Space, names: tuple[str, ...], most: int) -> int:
    """Return how many variants of a person are asked at the most."""
    values: int | float = 1
    for name in names:
        values *= min(space.feature(name).variety, most)
    return int(min(values, most))
