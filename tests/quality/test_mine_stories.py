"""Planted subgroups are told once each, in order, and fair decisions tell nothing.

What a story is, and how it is chosen: docs/explanation/stories.md. `python -m
tests.quality.test_mine_stories` prints the table that stands there.
"""

from __future__ import annotations

import argparse
import functools
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np
import pandas as pd
import pytest

import evenhand as eh
from evenhand.methods.mine.claims import correction
from evenhand.methods.mine.table import mined_findings
from evenhand.statistics.max_t import OverlappingGroups, smallest_tails

if TYPE_CHECKING:
    from collections.abc import Sequence

ROWS = 20_000
RACES = list("abcdefgh")
SHARES = [0.28, 0.12, 0.1, 0.1, 0.1, 0.1, 0.1, 0.1]
NAMES = ("race", "sex", "age", "region")
SAME = 0.8
"""A story tells a planted subgroup if the two share this part of the people of either."""
EXTRA = 1
"""The most lines beside those of the planted subgroups."""
POPULATIONS = 10
"""Data sets of tests are new decisions about the people of so many; max-T has a law for each."""


@dataclass(frozen=True)
class Cause:
    """A subgroup, as a query of the people, and by how much its rate is changed."""

    query: str
    effect: float


NONE: tuple[Cause, ...] = ()
SCENARIOS = {
    "fair": NONE,
    "one": (Cause("race == 'b'", -0.2),),
    "one of two features": (Cause("sex == 'F' and age >= 50", -0.2),),
    "three apart": (
        Cause("race == 'c' and sex == 'F'", -0.45),
        Cause("race == 'b'", -0.35),
        Cause("race == 'd' and age >= 50", -0.25),
    ),
    "three nested": (
        Cause("race == 'a'", -0.15),
        Cause("race == 'a' and sex == 'F'", -0.15),
        Cause("race == 'a' and sex == 'F' and age >= 50", -0.18),
    ),
    "three, two nested": (
        Cause("race == 'b'", -0.45),
        Cause("race == 'a'", -0.15),
        Cause("race == 'a' and sex == 'F'", -0.15),
    ),
    "five apart": (
        Cause("race == 'b'", -0.55),
        Cause("race == 'c' and sex == 'F'", -0.48),
        Cause("race == 'd' and age >= 50", -0.41),
        Cause("race == 'e' and region in ['n', 'e']", -0.35),
        Cause("race == 'f' and sex == 'M'", -0.29),
    ),
    "five, nested and apart": (
        Cause("race == 'b'", 0.15),
        Cause("race == 'b' and sex == 'M'", 0.2),
        Cause("race == 'a'", -0.12),
        Cause("race == 'a' and sex == 'F'", -0.15),
        Cause("race == 'a' and sex == 'F' and age >= 50", -0.18),
    ),
}


@dataclass(frozen=True)
class StoryPlaces:
    """What was told of one data set: the place of each planted subgroup, and lines besides."""

    places: Sequence[int]
    lines: int

    @property
    def extra(self) -> int:
        return self.lines - len({place for place in self.places if place >= 0})

    @property
    def each_once_in_order(self) -> bool:
        found = [place for place in self.places if place >= 0]
        is_complete = len(set(found)) == len(self.places)
        return is_complete and found == sorted(found)

    @property
    def good(self) -> bool:
        return self.each_once_in_order and self.extra <= EXTRA


@pytest.fixture(scope="module", autouse=True)
def laws():
    """Resample the largest score once for the same people: no outcome has a part in its law."""
    found: dict[Any, Any] = {}

    def remembered(groups: OverlappingGroups, *others: Any) -> Any:
        key = (groups.cells.tobytes(), groups.sizes.tobytes(), others)
        if key not in found:
            found[key] = smallest_tails(groups, *others)
        return found[key]

    with pytest.MonkeyPatch.context() as patched:
        patched.setattr(correction, "smallest_tails", remembered)
        yield found


def people_of(rng: np.random.Generator) -> pd.DataFrame:
    """Return random people."""
    return pd.DataFrame(
        {
            "race": rng.choice(
                RACES,
                ROWS,
                p=SHARES,
            ),
            "sex": rng.choice(["F", "M"], ROWS),
            "age": rng.integers(
                20,
                80,
                ROWS,
            ),
            "region": rng.choice(list("nesw"), ROWS),
        }
    )


@functools.cache
def population(number: int) -> pd.DataFrame:
    """Return the people of one of the populations."""
    return people_of(np.random.default_rng([number, ROWS]))


def simulated(
    scenario: str, seed: int, populations: int | None = None
) -> tuple[pd.DataFrame, list[Any]]:
    """Return decisions about random people, and who is in each planted subgroup.

    The people are those of one of some populations, or without these new ones.
    """
    rng = np.random.default_rng([seed, len(scenario)])
    people = people_of(rng) if populations is None else population(seed % populations)
    chance = np.full(ROWS, 0.6)
    groups = []
    for planted in SCENARIOS[scenario]:
        inside = people.eval(planted.query).to_numpy(dtype=bool)
        groups.append(inside)
        chance += planted.effect * inside
    granted = rng.random(ROWS) < chance
    return people.assign(granted=granted.astype(int)), groups


def mined_places(scenario: str, seed: int, populations: int | None = None) -> StoryPlaces:
    """Mine one data set, and look where its planted subgroups are told."""
    log, groups = simulated(scenario, seed, populations)
    result = eh.mine_log(
        log,
        outcome="granted",
        over=NAMES,
        support=0.02,
        bins=6,
        levels=2,
    )
    rules: list[Any] = []
    for line in mined_findings(result):
        if not line.others:
            rules.append(line.finding.about)
    stories = []
    if rules:
        space = eh.Space.from_frame(log[list(NAMES)])
        points = space.encode(log[list(NAMES)])
        stories = [rule.mask(points, space) for rule in rules]
    places = [_place(group, stories) for group in groups]
    return StoryPlaces(places, len(stories))


def _place(group: Any, stories: Sequence[Any]) -> int:
    """Return which story tells a subgroup, -1 for none."""
    shared = [(group & story).sum() / (group | story).sum() for story in stories]
    if not shared or max(shared) < SAME:
        return -1
    return int(np.argmax(shared))


def share_of_good(scenario: str, runs: int) -> float:
    found = [mined_places(scenario, seed, POPULATIONS) for seed in range(runs)]
    return float(np.mean([places.good for places in found]))


def fair_with_stories(runs: int) -> int:
    """Return of how many fair data sets anything is told."""
    found = [mined_places("fair", seed, POPULATIONS) for seed in range(runs)]
    return sum(places.lines > 0 for places in found)


@pytest.mark.parametrize("scenario", ["one", "five apart", "five, nested and apart"])
def test_planted_subgroups_have_a_story_each_in_order(scenario):
    assert share_of_good(scenario, 4) >= 0.75


@pytest.mark.slow
@pytest.mark.parametrize("scenario", [name for name in SCENARIOS if name != "fair"])
def test_planted_subgroups_have_their_stories_in_nine_of_ten_data_sets(scenario):
    assert share_of_good(scenario, 40) >= 0.9


def test_fair_decisions_tell_nothing():
    assert fair_with_stories(6) <= 1


@pytest.mark.slow
def test_fair_decisions_tell_something_in_one_of_twenty_data_sets_at_most():
    # Of 200, 18 or more have a chance of under 1 % where each has one of 5 %.
    assert fair_with_stories(200) < 18


def main() -> None:
    """Print how often planted subgroups are told, in many data sets of each kind."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument(
        "--runs",
        type=int,
        default=200,
    )
    parser.add_argument("--only", default="")
    options = parser.parse_args()
    print(
        "| planted | each once, in order, at most one line more | lines beside them | any |"
    )
    print("|---|---|---|---|")
    for scenario in SCENARIOS:
        if options.only and options.only != scenario:
            continue
        found = [mined_places(scenario, seed) for seed in range(options.runs)]
        good = 100 * np.mean([one.good for one in found])
        extra = np.mean([one.extra for one in found])
        anything = 100 * np.mean([one.lines > 0 for one in found])
        print(f"| {scenario} | {good:.1f} % | {extra:.2f} | {anything:.1f} % |", flush=True)


if __name__ == "__main__":
    main()
