"""What impact is going to take, and which ratios of rates it can see."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from evenhand.methods.impact.check import columns_with_few_values
from evenhand.methods.impact.impact import impact
from evenhand.methods.impact.selection_rates import IMPACT_RATIO
from evenhand.population.source import as_pandas
from evenhand.scores.planning.forecast import Forecast, Ground, Way
from evenhand.scores.planning.recorded import PlantedDecisions, base_rate
from evenhand.statistics.estimate import Verdict

if TYPE_CHECKING:
    import pandas as pd

    from evenhand.results.evidence import Finding
    from evenhand.scores.planning.forecast import Detectable

SUPPORT = 0.02
"""The share of the rows under which a category is left out, as `impact` has it by default."""


def forecast(ground: Ground, *, data: str | None = None, **settings: Any) -> list[Forecast]:
    """Return that all rows are asked, or counted, and which ratios can be seen among them."""
    if ground.source is None:
        frame = as_pandas(ground.subject)
        base = base_rate(frame, settings["outcome"], settings.get("positive"))
        seen = _detectable(frame, settings, base)
        return [Forecast("", Way.COUNTED, 0, 0, detectable=seen)]
    people = ground.source.frame(data).rows
    if people is None:
        return [Forecast("", Way.ROWS, 0, 0)]
    if settings.get("over") is None:
        settings["over"], _ = columns_with_few_values(ground.subject.space, people)
    if "truth" in settings:
        settings.setdefault("truth_positive", ground.subject.positive)
    seen = _detectable(people, settings, ground.base)
    rows = len(people)
    return [Forecast("", Way.ROWS, rows, rows, detectable=seen)]


def _detectable(
    frame: pd.DataFrame, settings: dict[str, Any], base: float | None
) -> tuple[Detectable, ...]:
    """Return the smallest difference of rates at which their ratio is seen to be under 1."""
    if base is None or not settings.get("over"):
        return ()
    options = {"support": SUPPORT, **settings}
    planted = PlantedDecisions(impact, options, frame, base, _is_ratio, _is_seen)
    return planted.detectable()


def _is_ratio(finding: Finding) -> bool:
    return finding.score == IMPACT_RATIO


def _is_seen(finding: Finding) -> bool:
    if finding.limit is not None:
        return finding.verdict is Verdict.FAIL
    return finding.estimate.high < 1
