"""When to stop sampling for a score: the plans that questions follow and forecasts simulate."""

from __future__ import annotations

from typing import TYPE_CHECKING

from evenhand.scores.enumeration import SMALL
from evenhand.statistics.sequential.group_stopping import SpreadPlan
from evenhand.statistics.sequential.paired_groups import MOST_GROUPS as MOST_PAIRED
from evenhand.statistics.sequential.paired_groups import PairedPlan
from evenhand.statistics.sequential.stopping import Plan

if TYPE_CHECKING:
    from evenhand.scores.question import Terms


def causal_plan(
    terms: Terms,
    *,
    expensive: bool,
    variants: int,
    interval: str | None = None,
    population: str = "",
    size: int | None = None,
) -> Plan:
    """Return when to stop for a causal score.

    That is as soon as it is decided, or where answers are cheap, precise.

    Parameters
    ----------
    variants
        How many inputs a draw takes.
    size
        How many people there are, where nobody is drawn twice.
    """
    margins = terms.margins(expensive=expensive)
    # With a limit of 0 only every input there is can pass, so that no margin ends it.
    only_all = terms.limit == 0 and size is not None and size * variants <= SMALL
    return Plan(
        terms.share,
        None if only_all else margins.wanted,
        terms.limit,
        interval,
        population,
        size,
        precise=not expensive and interval in (None, "exact", "anytime"),
        finest=None if size is not None else margins.finest,
        sampling_threshold=terms.sampling_threshold,
    )


def group_plan(
    terms: Terms,
    *,
    expensive: bool,
    groups: int,
    counts: bool = True,
    separate: bool = True,
    population: str = "",
) -> SpreadPlan | PairedPlan:
    """Return when to stop for a group score.

    Parameters
    ----------
    groups
        How many groups are compared.
    counts
        Whether an outcome is favourable or not, rather than to a degree.
    separate
        Whether the features that make the groups are independent of all others, so that every group
        can be asked about the same people.
    """
    margins = terms.margins(expensive=expensive)
    interval = terms.interval if counts or terms.interval else "anytime"
    pairs = separate and terms.interval in (None, "anytime") and groups <= MOST_PAIRED
    kind = PairedPlan if pairs else SpreadPlan
    return kind(
        terms.share,
        margins.wanted,
        terms.limit,
        interval,
        population,
        precise=not expensive,
        finest=margins.finest,
        groups=groups,
    )
