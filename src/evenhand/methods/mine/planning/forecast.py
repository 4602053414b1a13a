"""What mining is going to take, and which subgroups it can see."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np

from evenhand.methods.mine import messages
from evenhand.methods.mine.claims.cases import TRIED
from evenhand.methods.mine.claims.scores import need_truth, scores_of
from evenhand.methods.mine.recorded import mine_log
from evenhand.methods.mine.treatment import MOST, MOST_EXPENSIVE
from evenhand.population.recorded import columns_of_sets
from evenhand.population.source import as_pandas
from evenhand.runtime import number_text
from evenhand.scores.neighbours import Neighbours
from evenhand.scores.planning.forecast import Detectable, Forecast, Ground, Way, within
from evenhand.scores.planning.power import smallest_seen
from evenhand.scores.planning.recorded import PLANTED, base_rate
from evenhand.space.feature_sets import asks_all, feature_sets, spelled_out
from evenhand.statistics.simultaneous import SimultaneousIntervals
from evenhand.subject.view import View

if TYPE_CHECKING:
    import pandas as pd

SUPPORT, LEVEL, TOP = 0.05, 0.95, 10
"""What `mine` takes where nothing else is said."""
TAKEN = (
    "support",
    "complement",
    "bins",
    "binning",
    "levels",
    "depth",
    "limit",
    "level",
)
"""Settings that say which rule sets there are, and what is decided of them."""


def forecast(
    ground: Ground, *, data: str | None = None, truth: Any = None, **settings: Any
) -> list[Forecast]:
    """Return what it takes to ask about all rows, and which subgroups can be seen."""
    assert ground.source is not None
    people: Any = ground.source.frame(data).rows
    if people is None:
        return [Forecast("", Way.UNKNOWN)]
    space = ground.subject.space
    given = settings.get("over") or [tuple(space.protected)]
    over = feature_sets(space, spelled_out(given, space.names))
    names = list(columns_of_sets(over))
    rows = len(people)
    every = asks_all(given, space.names)
    treatment = settings.get("treatment")
    if every or need_truth(scores_of(settings.get("score", "rate"), truth)):
        treatment = "rows"
    inputs, asked_of = _inputs(ground, names, rows, treatment)
    outcomes = np.arange(rows) % 2
    frame = people[names].assign(**{PLANTED: outcomes})
    planted: dict[str, Any] = {"over": over, "outcome": PLANTED, "positive": 1}
    for key in TAKEN:
        if key in settings:
            planted[key] = settings[key]
    if every:
        planted.setdefault("levels", 1)
    seen = _detectable(frame, planted, ground.base, graded=asked_of != "rows")
    about = ", ".join(names)
    # People of a rule set are given its features as somebody outside has them, to show cases.
    cases = 2 * TRIED * settings.get("top", TOP)
    parts = [Forecast(about, Way.ROWS, inputs, inputs + cases, detectable=seen)]
    return within(parts, ground.left)


def recorded(ground: Ground, **settings: Any) -> list[Forecast]:
    """Return which subgroups can be seen among recorded decisions."""
    frame = as_pandas(ground.subject)
    base = base_rate(frame, settings["outcome"], settings.get("positive"))
    seen = _detectable(frame, settings, base, graded=False)
    return [Forecast("", Way.COUNTED, 0, 0, detectable=seen)]


def _inputs(
    ground: Ground, names: list[str], rows: int, treatment: str | None
) -> tuple[int, str]:
    """Return how many inputs are asked, and of whom: the rows, or their neighbours too."""
    if treatment == "rows":
        return rows, "rows"
    cost = Neighbours.of(View(ground.subject), tuple(names)).cost
    most = MOST_EXPENSIVE if ground.subject.adapter.expensive else MOST
    left = min(ground.left, most)
    if treatment == "neighbours" or cost * rows <= left:
        return cost * rows, "neighbours"
    return int(min(left, max(1, left // rows) * rows)), "drawn"


def _detectable(
    frame: pd.DataFrame, settings: dict[str, Any], base: float | None, *, graded: bool
) -> tuple[Detectable, ...]:
    """Return the smallest difference of a subgroup that covers just enough of the rows."""
    if base is None or not settings.get("over"):
        return ()
    found = mine_log(frame, **settings)
    entries = found.details["mine"]
    examined = sum(entry["examined"] for entry in entries)
    level = settings.get("level", LEVEL)
    correction = entries[0].get("correction")
    # What is resampled depends on who is in which rule set, and on no outcome.
    separate = entries[0].get("separate", examined)
    graded = graded and correction != "max-t"
    intervals = SimultaneousIntervals(level, separate, graded=graded)
    rows = len(frame)
    support = settings.get("support", SUPPORT)
    n = max(1, round(support * rows))
    rest = rows - n
    favoured = round(base * rest)
    limit = settings.get("limit") or 0.0

    def gate(hits: int) -> bool:
        low, high = intervals.difference(hits, n, favoured, rest)
        apart = max(float(low), -float(high))
        return apart > limit

    rate = smallest_seen(gate, n, rest, base)
    about = messages.ALL_SUBGROUPS.format(number=number_text.count(examined))
    share = number_text.percent_plain(support)
    group = messages.SUBGROUP_OF_SHARE.format(share=share)
    return (Detectable(about, group, n, rows, base, rate, settings.get("limit")),)
