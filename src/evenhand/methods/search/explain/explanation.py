"""Where the inputs that a search found lie, and why, within what is set aside for that."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from evenhand.methods.search import messages
from evenhand.methods.search.explain.drivers import drivers
from evenhand.methods.search.explain.projection import project
from evenhand.methods.search.explain.regions import regions
from evenhand.methods.search.explain.screening import screened
from evenhand.runtime import number_text

if TYPE_CHECKING:
    from collections.abc import Sequence

    from evenhand.methods.search.explain.allowance import Allowance
    from evenhand.methods.search.explain.drivers import Driver
    from evenhand.methods.search.explain.regions import Region
    from evenhand.methods.search.explain.screening import Screening
    from evenhand.methods.search.hits import Watched
    from evenhand.methods.search.probe import Tried
    from evenhand.runtime.budget import Meter

LEAST_CHANGES = 10
"""Changes of each feature without which nothing is said of what drives."""


@dataclass(frozen=True, slots=True)
class Explanation:
    """Where the inputs found lie, what they rest on, and what was left out of that."""

    names: Sequence[str] = ()
    """The features whose change changes the outcome."""
    where: Sequence[Region] = ()
    why: Sequence[Driver] = ()
    map: dict[str, Any] | None = None
    chosen: Sequence[str] | None = None
    """The features that are explained, where there are too many to explain all."""
    of: int = 0
    """How many features there are to explain."""
    stopped: bool = False
    """Whether the time of the budget was up before all was explained."""

    def to_dict(self) -> dict[str, Any]:
        """Return the explanation as JSON holds it; what was left out only where something was."""
        table: dict[str, Any] = {
            "regions": [region.to_dict() for region in self.where],
            "drivers": [driver.to_dict() for driver in self.why],
            "map": self.map,
        }
        if self.chosen is not None:
            table["screened"] = {"features": list(self.chosen), "of": self.of}
        if self.stopped:
            table["stopped"] = "seconds"
        return table

    @property
    def notes(self) -> list[str]:
        """What a reader must know of what was left out."""
        about = " and ".join(self.names)
        notes = []
        if self.chosen is not None:
            note = messages.SCREENED.format(
                about=about,
                kept=number_text.count(len(self.chosen)),
                features=number_text.count(self.of),
            )
            notes.append(note)
        if self.stopped:
            notes.append(messages.EXPLAINING_STOPPED.format(about=about))
        return notes


def explained(
    probe: Watched,
    others: Sequence[Tried],
    seed: int,
    plan: Allowance,
    meter: Meter,
) -> Explanation:
    """Return where the inputs found lie and why, by inputs that are asked for it.

    The meter counts those inputs, and ends the explanation where its time is up.
    """
    points = probe.found.points
    pairs = probe.found.pairs
    # Many features are screened with half of what is set aside to ask why.
    screening = screened(probe, points, pairs, seed, plan.why // 2, meter=meter)
    meter.queries += screening.asked
    where: Sequence[Region] = ()
    if not meter.late:
        where, asked = regions(
            probe,
            points,
            seed,
            plan.where,
            positions=screening.positions,
            meter=meter,
        )
        meter.queries += asked
    why: Sequence[Driver] = ()
    queries = plan.why - screening.asked
    changed = _changed_features(screening, queries)
    if changed and not meter.late:
        why, asked = drivers(probe, points, pairs, seed, queries, positions=changed)
        meter.queries += asked
    stopped = meter.late
    chosen = None
    if screening.is_choice:
        chosen = [probe.space.names[position] for position in screening.ranked]
    return Explanation(
        names=probe.names,
        where=where,
        why=why,
        map=None if stopped else project(probe, points, others),
        chosen=chosen,
        of=screening.of,
        stopped=stopped,
    )


def _changed_features(screening: Screening, queries: int) -> tuple[int, ...]:
    """Return the features that can be changed often enough to say how often that ends it.

    Of all features it is all or none; of those that screening chose, the first.
    """
    # A change asks both members.
    most = queries // (2 * LEAST_CHANGES)
    if screening.is_choice:
        return screening.ranked[:most]
    return screening.ranked if len(screening.ranked) <= most else ()
