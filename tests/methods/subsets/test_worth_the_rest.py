"""Whether every input is asked after draws did not decide all sets."""

from __future__ import annotations

from types import SimpleNamespace
from typing import Any

import pytest

from evenhand.methods.subsets.search import Search
from evenhand.runtime.budget import Budget, Meter
from evenhand.statistics.estimate import StopReason


def is_worth(stop: StopReason, *, expensive: bool = False, reach: bool = True) -> bool:
    adapter = SimpleNamespace(expensive=expensive)
    search: Any = SimpleNamespace(
        subject=SimpleNamespace(adapter=adapter),
        _is_within_reach=lambda meter: reach,
    )
    return Search._is_worth_the_rest(search, stop, Meter(Budget(queries=10)))


@pytest.mark.parametrize(
    ("stop", "cheap", "expensive"),
    [
        (StopReason.TOO_CLOSE, True, True),
        (StopReason.MARGIN, True, False),
        (StopReason.EXHAUSTED, True, False),
        (StopReason.DECIDED, False, False),
        (StopReason.QUERIES, False, False),
        (StopReason.SECONDS, False, False),
    ],
)
def test_cheap_software_is_asked_the_rest_and_expensive_only_where_draws_took_as_many(
    stop, cheap, expensive
):
    assert is_worth(stop) is cheap
    assert is_worth(stop, expensive=True) is expensive
    assert not is_worth(stop, reach=False)
