"""Searches on draws give the same sets, scores and queries as they did when they were recorded.

Which set is tested next, and how much is asked about it, changes no verdict and is seen by no other
test. Where a change of it is wanted, `python -m tests.methods.subsets.test_searches` records anew.
"""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import evenhand as eh

RECORDED = Path(__file__).with_name("searches.json")
SPACE = eh.Space(
    [
        eh.category("a", [0, 1]),
        eh.integer("b", 0, 4),
        eh.integer("c", 0, 19),
        eh.integer("d", 0, 59),
        eh.integer("e", 0, 7),
        eh.integer("rest", 0, 99_999),
    ]
)


def approved(people: Any) -> Any:
    points = 3 * (people["a"] == 1) + 2 * (people["b"] * people["c"] % 7 == 3)
    points = points + 2 * (people["d"] > 50) + (people["e"] == 3)
    return points + people["rest"] % 10 > 6


def hardly(people: Any) -> Any:
    """Differ in d for one value of many."""
    return (people["d"] == 17) ^ (people["rest"] % 2 == 0)


def amount(people: Any) -> Any:
    share = 0.1 * people["a"] + 0.02 * people["b"] + 0.003 * people["d"]
    return share + 0.01 * (people["rest"] % 10)


def distance(one: Any, other: Any) -> Any:
    return np.minimum(np.abs(one - other), 1)


SEARCHES: dict[str, tuple[Any, dict[str, Any]]] = {
    "causal": (approved, {"limit": 0.4, "margin": 0.1}),
    "causal, finer and finer": (approved, {"limit": 0.25, "among": ["a", "b", "e"]}),
    "causal, few variants": (approved, {"limit": 0.35, "variants": 50, "margin": 0.08}),
    "causal, pairs": (approved, {"limit": 0.3, "depth": 2, "margin": 0.1}),
    "causal, one of many": (hardly, {"limit": 0.2, "margin": 0.1}),
    "group": (approved, {"limit": 0.4, "kind": "group", "among": ["a", "b", "e"]}),
    "group, wide": (approved, {"limit": 0.6, "kind": "group", "margin": 0.1}),
    "group, few groups": (approved, {"limit": 0.5, "kind": "group", "variants": 12}),
    "distances": (
        eh.Subject(amount, SPACE, differs=distance),
        {"limit": 0.15, "among": ["a", "b", "e"], "margin": 0.03},
    ),
    "distances, donors": (
        eh.Subject(amount, SPACE, differs=distance),
        {"limit": 0.15, "among": ["a", "d"], "variants": 8, "margin": 0.05},
    ),
}


def outcome(name: str) -> dict[str, Any]:
    """Return what a search finds, asks, and says of its end."""
    software, how = SEARCHES[name]
    if not isinstance(software, eh.Subject):
        software = eh.Subject(software, SPACE)
    options = {"among": list("abcde"), "exact": False, "seed": 3, "progress": False, **how}
    budget = eh.Budget(queries=60_000)
    result = eh.subsets(software, budget=budget, **options)
    rows = []
    for entry in result.details["lattice"]["sets"]:
        numbers = [entry[key] for key in ("value", "low", "high")]
        rounded = [None if number is None else round(number, 9) for number in numbers]
        rows.append(["".join(entry["about"]), entry["state"], *rounded, entry["n"]])
    return {"stop": result.stop.name, "queries": result.spent.queries, "sets": rows}


@pytest.mark.parametrize("name", SEARCHES)
def test_a_search_finds_and_asks_what_was_recorded(name):
    expected = json.loads(RECORDED.read_text(encoding="utf-8"))[name]
    found = outcome(name)
    assert found["queries"] == expected["queries"]
    assert found["stop"] == expected["stop"]
    for row, recorded in zip(found["sets"], expected["sets"], strict=True):
        assert row[:2] == recorded[:2]
        assert row[-1] == recorded[-1]
        assert row[2:-1] == pytest.approx(recorded[2:-1], abs=1e-6)


if __name__ == "__main__":
    entries = [f"{json.dumps(name)}: {json.dumps(outcome(name))}" for name in SEARCHES]
    RECORDED.write_text("{\n" + ",\n".join(entries) + "\n}\n", encoding="utf-8")
