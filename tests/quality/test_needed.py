"""What `needed` says is what `measure` then takes."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

import evenhand as eh
from evenhand.subject.adapters.base import Adapter
from tests.support.simulation import slow

SEEDS = 50
TOLERANCE = 0.15


class DearFunction(Adapter):
    """A function that counts as expensive to ask."""

    kind = "slow"
    expensive = True

    def __init__(self, function: Any) -> None:
        self.function = function

    @property
    def identity(self) -> str:
        return "slow"

    def run(self, points: Any, space: eh.Space) -> Any:
        yield np.arange(len(points)), np.asarray(self.function(space.native(points)))


def people(groups: int) -> eh.Space:
    """Return a space of endless people, in some groups."""
    levels = [f"g{number}" for number in range(groups)]
    return eh.Space([eh.category("group", levels), eh.real("merit", 0, 1)], ["group"])


def unlucky(p: float) -> Any:
    """Return software that refuses a share p of people in one group alone."""

    def decide(frame: Any) -> Any:
        is_first = (frame["group"] == "g0").to_numpy()
        return frame["merit"].to_numpy() < 0.5 + p / 2 - p * is_first

    return decide


def mean_taken(
    p: float, groups: int, seeds: int, *, expensive: bool, **terms: Any
) -> float:
    """Return the n of the estimate on average."""
    decide = unlucky(p)
    model = DearFunction(decide) if expensive else decide
    subject = eh.Subject(model, people(groups), memo=False)
    taken = []
    for seed in range(seeds):
        found = eh.measure(subject, over="group", seed=seed, **terms)
        taken.append(found.worst.estimate.n)
    return float(np.mean(taken))


CHEAP: list[Any] = [
    (0.0, 2, {"limit": 0.05}),
    slow(0.03, 2, {"limit": 0.05}),
    (0.1, 3, {"limit": 0.05}),
    slow(0.3, 2, {}),
    (0.01, 2, {"limit": 0.05, "kind": "group"}),
    slow(0.1, 2, {"limit": 0.05, "kind": "group"}),
    slow(0.01, 4, {"limit": 0.05, "kind": "group"}),
]
EXPENSIVE: list[tuple[float, int, dict[str, Any]]] = [
    (0.01, 2, {"limit": 0.05}),
    (0.1, 2, {"limit": 0.05}),
    (0.3, 2, {"margin": 0.04}),
    (0.1, 2, {"limit": 0.05, "kind": "group"}),
    (0.2, 4, {"limit": 0.05, "kind": "group"}),
]


@pytest.mark.parametrize(("p", "groups", "terms"), CHEAP)
def test_cheap_software_takes_what_is_needed(p, groups, terms):
    taken = mean_taken(p, groups, SEEDS, expensive=False, **terms)
    assert eh.needed(p=p, groups=groups, **terms) == pytest.approx(taken, rel=TOLERANCE)


@pytest.mark.slow
@pytest.mark.parametrize(("p", "groups", "terms"), EXPENSIVE)
def test_expensive_software_takes_what_is_needed(p, groups, terms):
    taken = mean_taken(p, groups, 2 * SEEDS, expensive=True, **terms)
    need = eh.needed(p=p, groups=groups, expensive=True, **terms)
    assert need == pytest.approx(taken, rel=TOLERANCE)
