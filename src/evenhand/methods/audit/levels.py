"""Levels: the error of a whole audit, shared out among its checks.

What an audit says is wrong somewhere with a probability of at most the sum of the errors of its
checks (Bonferroni), however much they depend on each other. A share that a check does not need,
since it could ask everybody, stays unused: whether it can may depend on the answers, and an error
that is handed on because of what was seen is no longer bounded by its share.
"""

from __future__ import annotations

import math
from dataclasses import replace
from typing import TYPE_CHECKING, Any

from evenhand.methods.audit import messages
from evenhand.methods.audit.checks import holds_together, verb_for
from evenhand.runtime import number_text
from evenhand.runtime.errors import UsageError, clip
from evenhand.statistics.intervals import check_level

if TYPE_CHECKING:
    from collections.abc import Sequence

    from evenhand.methods.audit.checks import CheckPlan

LEVEL = 0.95
"""The level of everything that an audit says, where nothing else is asked for."""
_ROUNDING = 1e-12
"""By how much levels that just add up may miss it."""


def with_levels(
    plans: Sequence[CheckPlan], level: float = LEVEL, *, texts: bool = False
) -> list[CheckPlan]:
    """Return plans whose levels hold together at the level of the audit.

    A check that has a level of its own keeps it. What its error leaves is shared by the others, by
    their weights. Checks of verbs without a level claim nothing of which they could be unsure, and
    those that bound a false discovery rate bound no error of all that they say.

    >>> from evenhand.methods.audit.checks import CheckPlan
    >>> jobs = [CheckPlan("measure", {"weight": 3}), CheckPlan("search", {}), CheckPlan("mine", {})]
    >>> [plan.level for plan in with_levels(jobs, 0.9)]
    [0.925, None, 0.975]
    """
    error = 1 - check_level(level)
    own = []
    sharing = []
    for plan in plans:
        has_level = "level" in verb_for(plan.job, texts=texts).options
        if not has_level or not holds_together(plan.settings):
            continue
        if "level" in plan.settings:
            own.append(plan)
        else:
            sharing.append(plan)
    left = error - sum(_own_error(plan.settings["level"]) for plan in own)
    _check_left(left, level, own, sharing)
    total = sum(_weight(plan) for plan in sharing)
    shared = []
    for plan in plans:
        if any(plan is one for one in sharing):
            share = left * _weight(plan) / total
            shared.append(replace(plan, level=_rounded(1 - share)))
        else:
            shared.append(plan)
    return shared


def _rounded(level: float) -> float:
    """Return a level as somebody would write it, where it misses that by rounding alone.

    >>> _rounded(1 - (1 - 0.9) / 4), _rounded(1 - 0.05 / 3)
    (0.975, 0.983333333333)
    """
    return round(level, 12)


def _own_error(level: Any) -> float:
    """Return the error of a level that a check has; what is no level is refused by its verb."""
    if isinstance(level, int | float) and 0 < level < 1:
        return 1 - level
    return 0.0


def _weight(plan: CheckPlan) -> float:
    """Return how much of the error a check gets, beside others."""
    weight = plan.settings.get("weight", 1)
    is_number = isinstance(weight, int | float) and not isinstance(weight, bool)
    if not is_number or not 0 < weight < math.inf:
        shown = clip(repr(weight))
        raise UsageError(messages.WEIGHT_RANGE.format(check=plan.name, weight=shown))
    return float(weight)


def _check_left(
    left: float, level: float, own: Sequence[CheckPlan], sharing: Sequence[CheckPlan]
) -> None:
    """Refuse levels of checks that leave less error than there must be."""
    if left > _ROUNDING or (left >= -_ROUNDING and not sharing):
        return
    checks = ", ".join(plan.name for plan in own)
    error = number_text.percent_figures(1 - level, 4)
    wanted = number_text.plain(level)
    if left < -_ROUNDING:
        allowed = number_text.percent_figures(1 - level - left, 4)
        raise UsageError(
            messages.LEVELS_EXCEED.format(
                checks=checks, own=allowed, error=error, level=wanted
            )
        )
    others = ", ".join(plan.name for plan in sharing)
    raise UsageError(
        messages.LEVELS_LEAVE_NOTHING.format(
            checks=checks, error=error, level=wanted, others=others
        )
    )
