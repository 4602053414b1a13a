"""Do the limits of max-T hold together for all groups, and how much narrower are they?

`python benchmarks/max_t.py [--runs 2000] [--only wide] [--json FILE]` simulates people in groups
that overlap, as rule sets over sex, race and age do, and counts how often all true differences are
within their limits. Rates are given for each cell of people; the truth of a group is the mean over
its people. It exits 1 where that is significantly less often than the level says.
"""

from __future__ import annotations

import argparse
import json
import sys
import time
from dataclasses import dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np
from scipy.special import ndtri, xlogy
from scipy.stats import binom

from evenhand.methods.mine.rule_sets import Mining, RuleSetOptions, Treated
from evenhand.space.feature import category, integer
from evenhand.space.space import Space
from evenhand.statistics.intervals import melded
from evenhand.statistics.max_t import (
    RESAMPLES,
    MaxTIntervals,
    OverlappingGroups,
    smallest_tails,
)
from evenhand.statistics.simultaneous import SimultaneousIntervals

if TYPE_CHECKING:
    from collections.abc import Iterator

    from numpy.typing import NDArray

    Floats = NDArray[np.float64]
    Random = np.random.Generator

LEVEL = 0.95
RATES = (0.5, 0.1, 0.02, 0.005)
PEOPLE = ((300, 0.05), (300, 0.02), (1000, 0.05), (1000, 0.01), (5000, 0.01), (50000, 0.01))
PATTERNS = ("none", "one group", "minority", "majority without", "every cell")
DESIGNS = 4
POOL = 8000
"""Resamples of one design, of which each data set has some of its own."""
CANDIDATES = 12
"""Groups on either side whose exact tails are computed, those of the largest likelihood ratios."""
MEASURED = 60
"""Groups whose limits are computed for their widths."""
SIGNIFICANT = 1e-3
CENSUS = Space(
    [category("sex", ["F", "M"]), category("race", list("abcde")), integer("age", 18, 87)]
)
WIDE = Space([integer(name, 0, 999) for name in "abcd"])


@dataclass(frozen=True, eq=False)
class Design:
    """People in cells, and the groups that they form."""

    groups: OverlappingGroups
    members: Floats
    codes: NDArray[np.intp]
    pool: Floats

    @classmethod
    def of(cls, n: int, support: float, seed: int, *, wide: bool) -> Design:
        random = np.random.default_rng([seed, n])
        space = WIDE if wide else CENSUS
        columns = [random.integers(0, 1000, n) for _ in range(4)]
        if not wide:
            sex = random.choice(2, n, p=[0.45, 0.55])
            race = random.choice(5, n, p=[0.7, 0.12, 0.1, 0.05, 0.03])
            columns = [sex, race, random.integers(18, 88, n)]
        points = np.asfortranarray(np.column_stack(columns).astype(float))
        treated = Treated(points, np.zeros(n), "people", "rows")
        options = RuleSetOptions(support, bins=7)
        if wide:
            # Nearly every row has a cell of its own.
            options = RuleSetOptions(
                support, bins={"a": 12, "b": 8, "c": 6, "d": 4}, depth=2
            )
        ranking = Mining.of(space, space.names, treated, options).ranking
        members = ranking.group_sums(np.eye(len(ranking.size)))
        sizes = ranking.size @ members
        groups = OverlappingGroups(ranking.size, sizes, lambda totals: totals @ members)
        pool = smallest_tails(groups, seed, resamples=POOL)
        return cls(groups, members, ranking.cube.codes, pool)

    def rates(self, pattern: str, base: float, random: Random) -> Floats:
        """Return the rate of each cell."""
        first, second, third = self.codes.T[:3]
        rates = np.full(len(self.codes), base)
        if pattern == "one group":
            rates[(first == 0) & (third < 3)] *= 0.3
        elif pattern == "minority":
            rates *= 0.1
            rates[second >= 2] = base
        elif pattern == "majority without":
            rates[(first == 1) & (second < 2)] = 0.0
        elif pattern == "every cell":
            rates = random.beta(0.5, 0.5 / base - 0.5, len(self.codes))
        return rates

    def intervals(self, random: Random, *, graded: bool) -> MaxTIntervals:
        """Return the intervals of one data set, by resamples of its own."""
        smallest = np.sort(random.choice(self.pool, RESAMPLES, replace=False))
        return MaxTIntervals(LEVEL, self.groups.count, graded, smallest=smallest)


def drawn(design: Design, rates: Floats, kind: str, random: Random, runs: int) -> Floats:
    """Return the hits of each cell in many data sets."""
    size = design.groups.cells.astype(int)
    if kind == "counts":
        return random.binomial(size, rates, (runs, len(size))).astype(float)
    if kind == "means of 5":
        return random.binomial(5 * size, rates, (runs, len(size))) / 5
    # Each person has a rate of their own, near 0 or 1, and five neighbours who share it.
    hits = np.zeros((runs, len(size)))
    for cell, (n, rate) in enumerate(zip(size, rates, strict=True)):
        if 0 < rate < 1:
            own = random.beta(0.3 * rate, 0.3 * (1 - rate), (runs, n))
            hits[:, cell] = random.binomial(5, own).sum(axis=1) / 5
    return hits


def restricted(p1: Floats, n1: Floats, p2: Floats, n2: Floats, d: Floats) -> Floats:
    """Return the likeliest p1 where p1 - p2 = d (Farrington and Manning 1990)."""
    theta = n2 / n1
    a = 1 + theta
    b = -(1 + theta + p1 + theta * p2 + d * (theta + 2))
    c = d * d + d * (2 * p1 + theta + 1) + p1 + theta * p2
    third = b / (3 * a)
    v = third**3 - b * c / (6 * a * a) - p1 * d * (1 + d) / (2 * a)
    u = np.where(v < 0, -1, 1) * np.sqrt(np.maximum(third**2 - c / (3 * a), 0))
    ratio = np.divide(v, u**3, out=np.zeros(np.shape(v)), where=u != 0)
    angle = (np.pi + np.arccos(np.clip(ratio, -1, 1))) / 3
    likeliest = 2 * u * np.cos(angle) - third
    return np.asarray(np.clip(likeliest, np.maximum(0, d), np.minimum(1, 1 + d)))


def scores(
    k1: Floats, n1: Floats, k2: Floats, n2: Floats, d: Floats
) -> tuple[Floats, Floats]:
    """Return the score statistic of Mee, and the signed root of the likelihood ratio."""
    p1, p2 = k1 / n1, k2 / n2
    q1 = restricted(p1, n1, p2, n2, d)
    q2 = np.clip(q1 - d, 0, 1)
    variance = q1 * (1 - q1) / n1 + q2 * (1 - q2) / n2
    score = (p1 - p2 - d) / np.sqrt(np.maximum(variance, 1e-300))
    gain = np.zeros(np.shape(k1))
    for k, p, q in ((k1, p1, q1), (n1 - k1, 1 - p1, 1 - q1)):
        gain += xlogy(k, p) - xlogy(k, np.maximum(q, 1e-300))
    for k, p, q in ((k2, p2, q2), (n2 - k2, 1 - p2, 1 - q2)):
        gain += xlogy(k, p) - xlogy(k, np.maximum(q, 1e-300))
    return score, np.sign(p1 - p2 - d) * np.sqrt(np.maximum(2 * gain, 0))


def tails_at(sides: tuple[Floats, ...], d: Floats) -> Floats:
    """Return the error at which the melded lower limit of p1 - p2 is at d; hits are rounded."""
    k1, n1, k2, n2 = sides
    fewer = np.floor(k1 + 1e-9)
    more = np.minimum(np.ceil(k2 - 1e-9), n2)
    return np.clip(melded(fewer, n1, more, n2)(d), 0, 1)


def least_tails(design: Design, hits: Floats, truth: Floats) -> tuple[Floats, Floats]:
    """Return the smallest tail at the truth of all groups, and the largest score, by data set."""
    n1 = design.groups.sizes
    n2 = design.groups.cells.sum() - n1
    tails, largest = [], []
    for some in np.array_split(hits, max(1, len(hits) // 200)):
        k1 = np.minimum(some @ design.members, n1)
        k2 = np.clip(some.sum(axis=1, keepdims=True) - k1, 0, n2)
        score, root = scores(k1, n1, k2, n2, truth)
        largest.append(np.abs(score).max(axis=1))
        rows = np.arange(len(some))[:, None]
        least = np.ones(len(some))
        for sign in (1, -1):
            best = np.argpartition(-sign * root, CANDIDATES, axis=1)[:, :CANDIDATES]
            inside = (k1[rows, best], n1[best])
            outside = (k2[rows, best], n2[best])
            sides = (*inside, *outside) if sign > 0 else (*outside, *inside)
            least = np.minimum(least, tails_at(sides, sign * truth[best]).min(axis=1))
        tails.append(least)
    return np.concatenate(tails), np.concatenate(largest)


@dataclass
class Cell:
    """One setting: how many people, which groups, which rates, and what came of it."""

    people: int
    support: float
    rate: float
    pattern: str
    kind: str = "counts"
    wide: bool = False
    row: dict[str, Any] = field(default_factory=dict)

    def run(self, runs: int, designs: list[Design]) -> dict[str, Any]:
        kept = bonferroni = 0
        critical, ratios, largest = [], [], []
        for seed, design in enumerate(designs):
            random = np.random.default_rng([seed, self.people, int(1e4 * self.rate)])
            rates = design.rates(self.pattern, self.rate, random)
            cells = design.groups.cells
            inside = (cells * rates) @ design.members
            n1 = design.groups.sizes
            outside = (cells * rates).sum() - inside
            truth = np.round(inside / n1 - outside / (cells.sum() - n1), 14)
            hits = drawn(design, rates, self.kind, random, runs // len(designs))
            tails, score = least_tails(design, hits, truth)
            largest.append(score)
            graded = self.kind != "counts"
            own = [design.intervals(random, graded=graded).tail for _ in hits]
            kept += int(np.sum(tails >= np.array(own)))
            usual = SimultaneousIntervals(LEVEL, design.groups.count, graded)
            bonferroni += int(np.sum(tails >= usual.tail))
            critical.append([-ndtri(np.median(own)), -ndtri(usual.tail)])
            ratios.append(width_ratio(design, hits[0], random, graded=graded))
        done = len(designs) * (runs // len(designs))
        z, z_usual = np.mean(critical, axis=0)
        return {
            "people": self.people,
            "support": self.support,
            "groups": designs[0].groups.count,
            "cells": len(designs[0].codes),
            "smallest": int(designs[0].groups.sizes.min()),
            "rate": self.rate,
            "differences": self.pattern,
            "values": self.kind,
            "runs": done,
            "coverage": kept / done,
            "by Bonferroni": bonferroni / done,
            "z": round(float(z), 2),
            "z of Bonferroni": round(float(z_usual), 2),
            "z of scores": round(float(np.quantile(np.concatenate(largest), LEVEL)), 2),
            "width": round(float(np.mean(ratios)), 3),
            "p_value": float(binom.sf(done - kept - 1, done, 1 - LEVEL)),
        }


def width_ratio(design: Design, hits: Floats, random: Random, *, graded: bool) -> float:
    """Return how wide limits are, as a part of Bonferroni's, on average over some groups."""
    some = random.choice(design.groups.count, MEASURED)
    n1 = design.groups.sizes[some]
    n2 = design.groups.cells.sum() - n1
    k1 = np.minimum((hits @ design.members)[some], n1)
    sides = (k1, n1, np.clip(hits.sum() - k1, 0, n2), n2)
    low, high = design.intervals(random, graded=graded).difference_of(sides)
    usual = SimultaneousIntervals(LEVEL, design.groups.count, graded)
    usual_low, usual_high = usual.difference_of(sides)
    return float(np.mean((high - low) / (usual_high - usual_low)))


def cells(only: str) -> Iterator[list[Cell]]:
    """Yield the settings, together where they have the same people."""
    for n, support in PEOPLE:
        some = [Cell(n, support, rate, pattern) for rate in RATES for pattern in PATTERNS]
        if only in ("", "counts", f"{n}/{support}"):
            yield some
    for n, support in ((300, 0.05), (1000, 0.05)):
        some = [
            Cell(n, support, rate, pattern, kind)
            for kind in ("means of 5", "nearly counts")
            for rate in (0.5, 0.1, 0.02)
            for pattern in ("none", "one group", "every cell")
        ]
        if only in ("", "graded", f"graded/{n}"):
            yield some
    for n in (300, 1000):
        some = [
            Cell(n, 0.05, rate, pattern, wide=True)
            for rate in RATES
            for pattern in ("none", "every cell")
        ]
        if only in ("", "wide", f"wide/{n}"):
            yield some


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--runs", type=int, default=2000)
    parser.add_argument("--only", default="", help="counts, graded, wide, or 300/0.05")
    results = Path(__file__).parent / "results" / "max_t.json"
    parser.add_argument("--json", type=Path, default=results)
    options = parser.parse_args()
    rows = []
    for together in cells(options.only):
        first = together[0]
        designs = [
            Design.of(first.people, first.support, seed, wide=first.wide)
            for seed in range(DESIGNS)
        ]
        for cell in together:
            start = time.perf_counter()
            rows.append(cell.run(options.runs, designs))
            print(json.dumps(rows[-1]), flush=True)
            print(f"{time.perf_counter() - start:.1f} s", file=sys.stderr)
    options.json.parent.mkdir(parents=True, exist_ok=True)
    options.json.write_text(json.dumps(rows, indent=1) + "\n")
    low = [row for row in rows if row["p_value"] < SIGNIFICANT / len(rows)]
    print(f"\n{len(rows)} cells, {len(low)} significantly below the level", *low, sep="\n")
    return 1 if low else 0


if __name__ == "__main__":
    sys.exit(main())
