"""Correction: how the intervals of all rule sets are made to hold together."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np

from evenhand.methods.mine import messages
from evenhand.methods.mine.rule_sets import unknown_option
from evenhand.runtime.errors import UsageError
from evenhand.statistics.max_t import (
    MaxTIntervals,
    OverlappingGroups,
    holds,
    smallest_tails,
)
from evenhand.statistics.simultaneous import SimultaneousIntervals

if TYPE_CHECKING:
    from collections.abc import Sequence

    from evenhand.methods.mine.ranking import Ranking
    from evenhand.methods.mine.rule_sets import Mining

CORRECTIONS = ("max-t", "bonferroni")
"""Resampling how rule sets go together, or Bonferroni's inequality."""


def check_correction(correction: Any, control: str, treatment: str | None = None) -> None:
    """Refuse an unknown correction, or one that the other options leave no room for.

    >>> check_correction("max-t", "family")
    """
    if correction is None:
        return
    if correction not in CORRECTIONS:
        raise unknown_option("correction", correction, CORRECTIONS)
    if treatment == "paper":
        raise UsageError(messages.CORRECTION_WITH_PAPER.format(correction=correction))
    if correction == "max-t" and control == "fdr":
        raise UsageError(messages.MAX_T_WITH_FDR)


def intervals_of_rates(
    minings: Sequence[Mining], level: float, correction: str | None, seed: int
) -> SimultaneousIntervals:
    """Return the intervals of the rates of all minings, which hold together.

    Without a correction, it is max-T where that holds and is affordable. Minings of numbers are
    not resampled; they have their part of the error.
    """
    examined = sum(mining.ranking.examined for mining in minings)
    of_rates = [mining for mining in minings if mining.treated.scale is None]
    graded = any(mining.treated.graded for mining in of_rates)
    bonferroni = SimultaneousIntervals(level, examined, graded=graded)
    if correction == "max-t" and not of_rates:
        raise UsageError(messages.MAX_T_OF_NUMBERS)
    if correction == "bonferroni" or level >= 1:
        return bonferroni
    groups = [_groups(mining.ranking) for mining in of_rates]
    if correction is None and not holds(groups, level):
        return bonferroni
    tails = []
    for number, part in enumerate(groups):
        tails.append(smallest_tails(part, seed, number))
    # However minings depend on each other, the chances of a small tail in any of them add up.
    smallest = np.sort(np.concatenate(tails))
    resampled = sum(part.count for part in groups)
    return MaxTIntervals(
        level, examined, graded, smallest=smallest, share=resampled / examined
    )


def _groups(ranking: Ranking) -> OverlappingGroups:
    """Return the rule sets as groups of people."""
    sizes = ranking.table.sums[0]
    return OverlappingGroups(
        ranking.size, sizes, ranking.group_sums, ranking.entries_of_sums
    )
