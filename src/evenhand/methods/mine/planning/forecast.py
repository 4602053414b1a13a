"""What mining is going to take, and which subgroups it can see."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np

from evenhand.methods.mine import messages
from evenhand.methods.mine.recorded import mine_log
from evenhand.methods.mine.treatment import MOST, MOST_EXPENSIVE
from evenhand.population.source import as_pandas
from evenhand.runtime import number_text
from evenhand.scores.neighbours import Neighbours
from evenhand.scores.planning.forecast import Detectable, Forecast, Ground, Way, within
from evenhand.scores.planning.power import smallest_seen
from evenhand.scores.planning.recorded import PLANTED, base_rate
from evenhand.space.feature_sets import feature_sets
from evenhand.statistics.simultaneous import SimultaneousIntervals
from evenhand.subject.view import View

if TYPE_CHECKING:
    import pandas as pd

SUPPORT, LEVEL = 0.05, 0.95
"""What `mine` takes where nothing else is said."""
_ONLY_ASKED = ("treatment", "data", "score", "truth", "truth_positive")
"""Settings that mining of planted decisions does not need."""


def forecast(ground: Ground, *, data: str | None = None, **settings: Any) -> list[Forecast]:
    """Return what it takes to ask about all rows, and which subgroups can be seen."""
    assert ground.source is not None
    real = ground.source.frame(data)
    if real.rows is None:
        return [Forecast("", Way.UNKNOWN)]
    space = ground.subject.space
    over = settings.get("over") or [tuple(space.protected)]
    names = list(dict.fromkeys(sum(feature_sets(space, over), ())))
    rows = len(real.rows)
    inputs, asked_of = _inputs(ground, names, rows, settings.get("treatment"))
    frame = real.rows[names].assign(**{PLANTED: np.arange(rows) % 2})
    rest = {key: value for key, value in settings.items() if key not in _ONLY_ASKED}
    planted = {**rest, "over": over, "outcome": PLANTED, "positive": 1}
    seen = _detectable(frame, planted, ground.base, graded=asked_of != "rows")
    about = ", ".join(names)
    parts = [Forecast(about, Way.ROWS, inputs, inputs, detectable=seen)]
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
    examined = sum(entry["examined"] for entry in found.details["mine"])
    intervals = SimultaneousIntervals(settings.get("level", LEVEL), examined, graded=graded)
    rows = len(frame)
    support = float(settings.get("support", SUPPORT))
    n = max(1, round(support * rows))
    rest = rows - n
    limit = settings.get("limit") or 0.0

    def gate(hits: int) -> bool:
        low, high = intervals.difference(hits, n, round(base * rest), rest)
        return max(float(low), -float(high)) > limit

    rate = smallest_seen(gate, n, rest, base)
    about = messages.ALL_SUBGROUPS.format(number=number_text.count(examined))
    share = number_text.percent_plain(support)
    group = messages.SUBGROUP_OF_SHARE.format(share=share)
    return (Detectable(about, group, n, rows, base, rate, settings.get("limit")),)
