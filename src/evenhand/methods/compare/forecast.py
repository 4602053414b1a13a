"""What a comparison with other models is going to take."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from evenhand.scores.planning.forecast import Forecast, Ground, Way

if TYPE_CHECKING:
    from collections.abc import Sequence


def forecast(
    ground: Ground,
    *,
    data: str | None = None,
    outcomes: Sequence[str] = (),
    baseline: str = "original",
    **_others: Any,
) -> list[Forecast]:
    """Return that the software is asked about all rows, unless its predictions are recorded.

    Other models are asked about the same rows, which is not counted here.
    """
    assert ground.source is not None
    people: Any = ground.source.frame(data).rows
    rows = 0
    if people is not None and baseline not in outcomes:
        rows = len(people)
    return [Forecast("", Way.ROWS, rows, rows)]
