"""The smallest difference that a verb on recorded decisions can see.

The verb itself is run, on real groups with planted outcomes: whatever it corrects for is in it.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np

from evenhand.scores.planning.forecast import Detectable
from evenhand.scores.planning.power import smallest_seen

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping

    import pandas as pd
    from numpy.typing import NDArray

    from evenhand.results.evidence import Finding, Group
    from evenhand.results.result import Result

    Test = Callable[[Finding], bool]

PLANTED = "planted outcome"
"""The column that takes the place of decisions."""


def base_rate(frame: pd.DataFrame, outcome: str, positive: Any) -> float | None:
    """Return how often decisions are favourable; None where outcomes are numbers."""
    values = frame[outcome].dropna()
    if positive is not None:
        return float((values.astype(str) == str(positive)).mean())
    if set(values.unique().tolist()) <= {0, 1}:
        return float(values.mean())
    return None


@dataclass(frozen=True, eq=False)
class PlantedDecisions:
    """Real people in whose groups outcomes are planted, and the verb that is to see it.

    Parameters
    ----------
    verb, settings
        The function that is run, and what it is told.
    frame
        Real people.
    base
        How often people get the favourable outcome.
    judged
        Whether a finding is one of those that are looked at: one of each set of groups.
    seen
        Whether such a finding says that there is a difference.
    """

    verb: Callable[..., Result]
    settings: Mapping[str, Any]
    frame: pd.DataFrame
    base: float
    judged: Test
    seen: Test

    def detectable(self) -> tuple[Detectable, ...]:
        """Return for each set of groups the smallest difference that is seen."""
        rows = len(self.frame)
        favoured = round(self.base * rows)
        at_base = np.arange(rows) < favoured
        found = []
        for finding in self._run(at_base).findings:
            if self.judged(finding):
                found += self._of_set(finding)
        return tuple(found)

    def _run(self, outcomes: NDArray[Any]) -> Result:
        settings = dict(self.settings)
        if settings.get("truth") is not None:
            positive = settings.get("positive", 1)
            settings.setdefault("truth_positive", positive)
        settings["outcome"] = PLANTED
        settings["positive"] = 1
        numbers = outcomes.astype(np.int64)
        frame = self.frame.assign(**{PLANTED: numbers})
        return self.verb(frame, **settings)

    def _of_set(self, finding: Finding) -> list[Detectable]:
        """Return what is seen of the smallest group of a set; nothing where it is made by bins."""
        group = self._smallest(finding)
        places = self._places(finding)
        inside = places == finding.groups.index(group)
        n = int(inside.sum())
        rest = int((places >= 0).sum()) - n
        if not n or not rest:
            return []

        def gate(hits: int) -> bool:
            return self._is_seen(finding, places, inside, hits)

        rate = smallest_seen(gate, n, rest, self.base)
        about = " and ".join(finding.about)
        return [Detectable(about, str(group), n, n + rest, self.base, rate, finding.limit)]

    def _smallest(self, finding: Finding) -> Group:
        """Return the smallest group that is compared."""
        support = self.settings.get("support", 0.0)
        least = max(support * len(self.frame), 1)
        compared = []
        for group in finding.groups:
            if group.estimate.n >= least:
                compared.append(group)
        return min(compared or finding.groups, key=_rows_of)

    def _places(self, finding: Finding) -> NDArray[np.intp]:
        """Return the number of the group of each row, -1 where it is in none."""
        places = np.full(len(self.frame), -1)
        for number, group in enumerate(finding.groups):
            inside = np.ones(len(self.frame), dtype=np.bool_)
            for name, value in group.about.items():
                column = self.frame[name].astype(str)
                inside &= np.asarray(column == str(value))
            places[inside] = number
        return places

    def _is_seen(
        self,
        finding: Finding,
        places: NDArray[np.intp],
        inside: NDArray[np.bool_],
        hits: int,
    ) -> bool:
        """Return whether it is seen where so many of a group are favoured, and others as ever."""
        outcomes = np.zeros(len(places), dtype=np.bool_)
        for number in np.unique(places):
            members = np.flatnonzero(places == number)
            # Everybody else is treated alike, exactly.
            favoured = round(self.base * len(members))
            outcomes[members[:favoured]] = True
        chosen = np.flatnonzero(inside)
        outcomes[chosen] = False
        outcomes[chosen[:hits]] = True
        for other in self._run(outcomes).findings:
            if other.key == finding.key:
                return self.seen(other)
        return False


def _rows_of(group: Group) -> int:
    return group.estimate.n
