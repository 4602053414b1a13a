"""Does the causal score of software with chance in it hold its level, and is flicker noticed?

`python benchmarks/chance.py [--runs 2000] [--json FILE] [--markdown]` simulates people whose answer
is wrong with some probability, by counts under the stopping rule and through `measure`, and exits 1
where coverage is significantly below nominal or flicker is noticed too seldom.
"""

from __future__ import annotations

import argparse
import json
import math
import sys
import time
from dataclasses import dataclass
from itertools import product
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np
from scipy.stats import binom

import evenhand as eh
from evenhand.methods.measure.chance import repeats_for
from evenhand.statistics.sequential.excess import ExcessPlan, Grid
from evenhand.statistics.sequential.stopping import look_sizes

if TYPE_CHECKING:
    from collections.abc import Callable

    from numpy.typing import NDArray

NOISE = (0.0, 0.001, 0.01, 0.05, 0.2)
EXCESS = (0.0, 0.05, 0.3)
LIMITS = (None, 0.1)
LEVEL = 0.95
MOST_DRAWS = 4_000
SIGNIFICANT = 1e-3

Row = dict[str, Any]


@dataclass(frozen=True)
class Truth:
    """People of whom each answer is wrong with probability `noise`, and a share of whom flips."""

    noise: float
    excess: float

    @property
    def flips(self) -> float:
        """The share of people whose twin is treated differently, before chance."""
        return self.excess / (1 - 2 * self.noise) ** 2

    @property
    def own(self) -> float:
        """How often two answers to the same person differ."""
        return 2 * self.noise * (1 - self.noise)

    def chances(self, repeats: int, grid: Grid) -> tuple[Any, Any]:
        """Return what a person may count as, and with which probability."""
        yes = np.arange(repeats + 1)
        rows = []
        weights = []
        for flipped, share in ((False, 1 - self.flips), (True, self.flips)):
            rate = 1 - self.noise if flipped else self.noise
            own_chance = binom.pmf(yes, repeats, self.noise)
            other_chance = binom.pmf(yes, repeats, rate)
            for own, other in product(yes, yes):
                between, within = compared(own / repeats, other / repeats, repeats)
                counts = grid.counted(np.array([between - within]))[0]
                rows.append(np.append(counts, within))
                weights.append(share * own_chance[own] * other_chance[other])
        return np.array(rows), np.array(weights) / np.sum(weights)


def compared(own: float, other: float, repeats: int) -> tuple[float, float]:
    """Return how often answers differ between two people and of the same, from shares of yes."""
    between = own * (1 - other) + other * (1 - own)
    correction = repeats / (repeats - 1)
    within = correction * (own * (1 - own) + other * (1 - other))
    return between, within


def simulate(
    truth: Truth, limit: float | None, runs: int, rng: np.random.Generator
) -> list[eh.Estimate]:
    """Return the estimates of runs by counts, ended by the rule in use."""
    margin = 0.05 if limit is None else limit / 5
    repeats = repeats_for(truth.own, margin)
    grid = Grid.of_answers(repeats)
    plan = ExcessPlan(LEVEL, margin, limit, grid)
    rows, weights = truth.chances(repeats, grid)
    looks = np.array(list(look_sizes(MOST_DRAWS)))
    between_looks = np.diff(looks, prepend=0)
    found = []
    for _ in range(runs):
        drawn = rng.multinomial(between_looks, weights).cumsum(axis=0)
        counts = drawn @ rows
        place = min(plan.first_stop(counts, looks), len(looks) - 1)
        judged = plan.judge(counts[place], int(looks[place]), last=True)
        found.append(judged.estimate)
    return found


class Software:
    """Approves every other income; of a share of women the others; now and then the reverse."""

    def __init__(self, truth: Truth, seed: int) -> None:
        self.truth = truth
        self.random = np.random.default_rng(seed)

    def __call__(self, people: Any) -> NDArray[np.bool_]:
        """Decide on people."""
        income = people["income"].to_numpy()
        favoured = (people["race"] == "a").to_numpy()
        flipped = favoured & (income // 2 < self.truth.flips * 50_000)
        wrong = self.random.random(len(people)) < self.truth.noise
        return np.asarray((income % 2 == 0) ^ flipped ^ wrong)


def space(races: int) -> eh.Space:
    """Return people of some races, and too many incomes to enumerate."""
    names = [chr(ord("a") + number) for number in range(races)]
    race = eh.category("race", names)
    return eh.Space([race, eh.integer("income", 0, 99_999)], protected=["race"])


def count_cells(runs: int) -> list[Row]:
    """Simulate by counts: coverage, mean and people for each noise, excess and limit."""
    rng = np.random.default_rng(7)
    cells = []
    for noise, excess, limit in product(NOISE, EXCESS, LIMITS):
        truth = Truth(noise, excess)
        found = simulate(truth, limit, runs, rng)
        margin = 0.05 if limit is None else limit / 5
        cells.append(
            {
                "noise": noise,
                "excess": excess,
                "limit": limit,
                "repeats": repeats_for(truth.own, margin),
                **summary(found, excess),
            }
        )
    return cells


def average_cells(runs: int) -> list[Row]:
    """Simulate 200 people a run without a stopping rule: is the mean the excess?"""
    rng = np.random.default_rng(8)
    cells = []
    for noise, excess in product(NOISE, EXCESS):
        truth = Truth(noise, excess)
        repeats = repeats_for(truth.own, 0.05)
        grid = Grid.of_answers(repeats)
        rows, weights = truth.chances(repeats, grid)
        drawn = rng.multinomial(200, weights, size=runs) @ rows[:, :-1]
        values = drawn @ grid.points / 200
        error = values.std() / math.sqrt(runs)
        cells.append(
            {
                "noise": noise,
                "excess": excess,
                "mean": float(values.mean()),
                "standard_error": float(error),
                "ok": bool(abs(values.mean() - excess) <= 4 * error + 1e-12),
            }
        )
    return cells


def measured_cells(runs: int) -> list[Row]:
    """Measure software with two and with five races."""
    cells = []
    for races, noise, excess in product((2, 5), (0.01, 0.2), EXCESS):
        truth = Truth(noise, excess)
        people = space(races)
        found = []
        for seed in range(runs):
            result = eh.measure(Software(truth, seed), people, seed=seed)
            found.append(result.worst.estimate)
        row = {"races": races, "noise": noise, "excess": excess}
        cells.append({**row, **summary(found, excess if races == 2 else None)})
    return cells


def noticed_cells(runs: int) -> list[Row]:
    """Measure software of which one answer in 1,000 is wrong: in how many runs is it noticed?"""
    cells = []
    for kind, margin in (("causal", 0.012), ("group", 0.02)):
        noticed = 0
        fewest = math.inf
        for seed in range(runs):
            steady = eh.measure(
                Software(Truth(0, 0.1), seed), space(2), kind=kind, margin=margin, seed=seed
            )
            fewest = min(fewest, steady.spent.queries)
            found = eh.measure(
                Software(Truth(0.001, 0.1), seed),
                space(2),
                kind=kind,
                margin=margin,
                seed=seed,
            )
            noticed += "chance" in found.details
        cells.append(
            {
                "kind": kind,
                "inputs": int(fewest),
                "runs": runs,
                "noticed": noticed / runs,
                "ok": noticed >= 0.95 * runs,
            }
        )
    return cells


def summary(found: list[eh.Estimate], truth: float | None) -> Row:
    """Return mean, coverage and people of some estimates."""
    runs = len(found)
    row: Row = {
        "mean": float(np.mean([estimate.value for estimate in found])),
        "people": float(np.mean([estimate.n for estimate in found])),
    }
    if truth is None:
        return {**row, "coverage": None, "ok": True}
    held = sum(estimate.low - 1e-9 <= truth <= estimate.high + 1e-9 for estimate in found)
    chance = binom.cdf(held, runs, LEVEL)
    return {**row, "coverage": held / runs, "ok": bool(chance > SIGNIFICANT)}


def table(rows: list[Row], *, markdown: bool) -> str:
    """Return rows as text, or as a table of Markdown."""
    names = [name for name in rows[0] if name != "ok"]
    lines = [names]
    for row in rows:
        lines.append([shown(row[name]) for name in names])
    if markdown:
        lines.insert(1, ["---"] * len(names))
        return "\n".join("| " + " | ".join(line) + " |" for line in lines)
    return "\n".join("  ".join(cell.rjust(10) for cell in line) for line in lines)


def shown(value: Any) -> str:
    """Return a value as a cell."""
    if value is None:
        return "-"
    return f"{value:.4g}" if isinstance(value, float) else str(value)


def main() -> int:
    """Run all cells, print and write them, and return the exit code."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--runs", type=int, default=2000)
    parser.add_argument(
        "--json", type=Path, default=Path(__file__).parent / "results" / "chance.json"
    )
    parser.add_argument("--markdown", action="store_true")
    options = parser.parse_args()
    makers: dict[str, Callable[[], list[Row]]] = {
        "By counts, under the stopping rule": lambda: count_cells(options.runs),
        "By counts, 200 people": lambda: average_cells(options.runs),
        "Measured": lambda: measured_cells(max(options.runs // 10, 1)),
        "One wrong answer in 1,000": lambda: noticed_cells(max(options.runs // 10, 1)),
    }
    every = []
    for title, make in makers.items():
        start = time.perf_counter()
        rows = make()
        every += rows
        print(f"\n## {title}\n\n{table(rows, markdown=options.markdown)}", flush=True)
        print(f"{time.perf_counter() - start:.1f} s", file=sys.stderr)
    options.json.parent.mkdir(parents=True, exist_ok=True)
    options.json.write_text(json.dumps(every, indent=1) + "\n")
    wrong = [row for row in every if not row["ok"]]
    print(f"\n{len(every)} cells, {len(wrong)} not as they should be", *wrong, sep="\n")
    return 1 if wrong else 0


if __name__ == "__main__":
    sys.exit(main())
