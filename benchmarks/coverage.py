"""Do the intervals hold their level under the stopping rule, and at what cost next to Themis's Wald
rule?

`python benchmarks/coverage.py [--runs 4000] [--json FILE] [--markdown]` simulates every cell,
checks the calibration with an exact dynamic programme, and exits 1 where coverage is significantly
below nominal.
"""

from __future__ import annotations

import argparse
import json
import math
import sys
import time
from dataclasses import dataclass, replace
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np
from scipy.special import betainc, gammaln, xlog1py, xlogy
from scipy.stats import hypergeom

from evenhand.statistics import intervals
from evenhand.statistics.sequential.group_stopping import SpreadPlan
from evenhand.statistics.sequential.paired_groups import PairedPlan
from evenhand.statistics.sequential.stopping import Plan, look_sizes

if TYPE_CHECKING:
    from collections.abc import Callable

    from numpy.typing import ArrayLike, NDArray

    Floats = NDArray[np.float64]

RATES = (0.0, 0.001, 0.01, 0.05, 0.3, 0.5)
LEVELS = (0.95, 0.99)
MARGINS = (0.05, 0.01)
LIMITS = (None, 0.1)
SIGNIFICANT = 1e-3


@dataclass(frozen=True)
class States:
    """All ways in which a plan can end: size, hits, P(not stopped before | hits), and the limits
    then reported.
    """

    n: Floats
    hits: Floats
    weight: Floats
    low: Floats
    high: Floats

    def at(self, p: float) -> tuple[float, float]:
        """Return the exact coverage and expected size where the rate is p."""
        choose = (
            gammaln(self.n + 1) - gammaln(self.hits + 1) - gammaln(self.n - self.hits + 1)
        )
        mass = self.weight * np.exp(
            choose + xlogy(self.hits, p) + xlog1py(self.n - self.hits, -p)
        )
        inside = (self.low <= p) & (p <= self.high)
        return float(mass[inside].sum() / mass.sum()), float(
            (mass * self.n).sum() / mass.sum()
        )

    def worst(self, points: int = 400) -> tuple[float, float]:
        """Return the lowest coverage and its p, sought just outside the reported limits, where
        coverage drops.
        """
        ends = np.unique(np.concatenate([self.low, self.high]))
        ends = ends[(ends > 0) & (ends < 1)]
        if ends.size > points:
            wanted = np.concatenate(
                [np.linspace(0, 1, points // 2), np.geomspace(ends[0], 1, points // 2)]
            )
            ends = np.unique(ends[np.clip(np.searchsorted(ends, wanted), 0, ends.size - 1)])
        tried = np.concatenate([ends * (1 - 1e-9), np.minimum(ends * (1 + 1e-9), 1.0)])
        return min((self.at(float(p))[0], float(p)) for p in tried)


def carry(alive: Floats, before: int, n: int) -> Floats:
    """Return P(alive | hits at n) from P(alive | hits at `before`): given the total, the split is
    hypergeometric.
    """
    step, total = n - before, np.arange(n + 1)
    log = gammaln(np.arange(n + 2) + 1.0)
    out = np.zeros(n + 1)
    for drawn in range(step + 1):
        s = total[drawn : drawn + before + 1]
        rest = s - drawn
        ways = (
            log[s]
            - log[drawn]
            - log[rest]
            + log[n - s]
            - log[step - drawn]
            - log[before - rest]
        )
        out[s] += np.exp(ways + log[step] + log[before] - log[n]) * alive
    return out


def stop_states(plan: Plan, max_n: int | None = None) -> States:
    """Return the exact law of a plan's end, for all p at once, by a dynamic programme over its
    looks.
    """
    found: list[Floats] = []
    alive, before = np.ones(1), 0
    for n in plan.looks(max_n):
        hits = np.arange(n + 1.0)
        weight = carry(alive, before, n)
        stops = plan.first_stop(hits[:, None], [n]) == 0
        stops |= n == max_n
        ended = stops & (weight > 1e-15)
        low, high, _ = plan.report(hits[ended], float(n), last=n == max_n)
        found.append(
            np.stack(
                [np.full(ended.sum(), float(n)), hits[ended], weight[ended], low, high]
            )
        )
        alive, before = np.where(stops, 0.0, weight), n
        if not (alive > 1e-15).any():
            break
    return States(*np.concatenate(found, axis=1))


def last_look(plan: Plan) -> int:
    """Return a size at which a plan with a margin has certainly stopped."""
    # With a limit less of the error is left for the margin.
    calm = replace(plan, limit=None, level=1 - plan.error_margin / 2)
    shares = np.array(0.5)
    if isinstance(plan, SpreadPlan):
        shares = 0.5 + np.linspace(-1, 1, plan.groups) * min(plan.margin or 0.5, 0.5)
    return next(
        math.ceil(n * 1.3)
        for n in look_sizes()
        if int(calm.first_stop((shares * n)[None], [n])) == 0
    )


def paths(
    rates: ArrayLike, looks: NDArray[np.int64], runs: int, rng: np.random.Generator
) -> Floats:
    """Return hits so far, as runs x looks x rates."""
    steps = np.diff(looks, prepend=0)[None, :, None]
    p = np.atleast_1d(np.asarray(rates, dtype=float))
    return np.cumsum(
        rng.binomial(np.broadcast_to(steps, (runs, looks.size, p.size)), p), axis=1
    ).astype(float)


def simulate(
    plan: Plan, rates: ArrayLike, runs: int, rng: np.random.Generator
) -> tuple[int, float, float]:
    """Return how many runs' intervals hold the truth, the mean number of inputs per group, and the
    share decided.
    """
    p = np.atleast_1d(np.asarray(rates, dtype=float))
    truth = float(np.ptp(p)) if isinstance(plan, SpreadPlan) else float(p[0])
    end = last_look(plan)
    # Wald's rule is checked at every draw up to 200 and then at every hundredth, which changes its
    # mean by under 1 %.
    sizes = (
        np.unique(np.geomspace(31, end, 800).astype(np.int64))
        if plan.method == "wald"
        else None
    )
    looks = np.fromiter(look_sizes(end), dtype=np.int64) if sizes is None else sizes
    held, total, decided = 0, 0.0, 0
    for start in range(0, runs, 500):
        some = min(500, runs - start)
        hits = paths(p, looks, some, rng)
        hits = hits if isinstance(plan, SpreadPlan) else hits[:, :, 0]
        at = plan.first_stop(hits, looks)
        if (at == looks.size).any():
            raise AssertionError(f"{plan} had not stopped at {end}")
        ended, total = hits[np.arange(some), at], total + float(looks[at].sum())
        if isinstance(plan, SpreadPlan) and plan.limit is None and plan.method == "exact":
            # Asking whether the truth is excluded saves the inversion, which for many pairs is most
            # of the work.
            size, bar = looks[at].astype(float), np.full(some, truth)
            held += int(
                (
                    ~plan._is_over(ended, size, bar + 1e-9)
                    & ~plan._is_under(ended, size, bar - 1e-9)
                ).sum()
            )
            continue
        low, high, anytime = plan.report(ended, looks[at])
        held += int(((low <= truth + 1e-12) & (truth <= high + 1e-12)).sum())
        decided += int(anytime.sum())
    return held, total / runs, decided / runs


def below(held: int, runs: int, level: float) -> float:
    """Return the one-sided exact p-value of a coverage this low."""
    return 1.0 if held >= runs else float(betainc(runs - held, held + 1, 1 - level))


def single_cells(runs: int, seed: int = 1) -> list[dict[str, Any]]:
    """Simulate one rate, with the Wald rule beside it."""
    rng, rows, walds = np.random.default_rng(seed), [], {}
    for level in LEVELS:
        for margin in MARGINS:
            for p in RATES:
                walds[level, margin, p] = simulate(
                    Plan(level, margin, interval="wald"), p, runs, rng
                )
                for limit in LIMITS:
                    held, mean, decided = simulate(Plan(level, margin, limit), p, runs, rng)
                    wald_held, wald_mean, _ = walds[level, margin, p]
                    rows.append(
                        {
                            "kind": "rate",
                            "p": p,
                            "level": level,
                            "margin": margin,
                            "limit": limit,
                            "coverage": held / runs,
                            "mean_n": mean,
                            "decided": decided,
                            "p_value": below(held, runs, level),
                            "wald_coverage": wald_held / runs,
                            "wald_p_value": below(wald_held, runs, level),
                            "wald_mean_n": wald_mean,
                            "ratio": mean / wald_mean,
                        }
                    )
    return rows


SPREADS: tuple[tuple[tuple[float, ...], float | None, float], ...] = (
    ((0.3, 0.3), None, 0.1),
    ((0.02, 0.1), None, 0.1),
    ((0.01, 0.98), None, 0.1),
    ((0.2, 0.5), 0.2, 0.15),
    ((0.4, 0.4, 0.4), None, 0.1),
    ((0.1, 0.2, 0.6), None, 0.1),
    ((0.1, 0.2, 0.6), 0.2, 0.15),
    ((0.3,) * 5, None, 0.15),
    ((0.05, 0.1, 0.2, 0.2, 0.2, 0.2, 0.3, 0.3), None, 0.15),
)


def spread_cells(runs: int, seed: int = 2) -> list[dict[str, Any]]:
    """Simulate the spread of two to eight groups."""
    rng, rows = np.random.default_rng(seed), []
    for rates, limit, margin in SPREADS:
        held, mean, _ = simulate(
            SpreadPlan(0.95, margin, limit, groups=len(rates)), rates, runs, rng
        )
        row = {
            "kind": "spread",
            "p": list(rates),
            "level": 0.95,
            "margin": margin,
            "limit": limit,
            "runs": runs,
        }
        rows.append(
            {
                **row,
                "coverage": held / runs,
                "mean_n": mean,
                "p_value": below(held, runs, 0.95),
            }
        )
    return rows


def difference_cells(runs: int, seed: int = 3) -> list[dict[str, Any]]:
    """Simulate the interval for a difference at fixed sizes; the tests enumerate small ones
    exactly.
    """
    rng, rows = np.random.default_rng(seed), []
    for n1, n2 in ((40, 40), (20, 300)):
        for p1, p2 in ((0.3, 0.3), (0.01, 0.99), (0.001, 0.05), (0.6, 0.4)):
            for level in LEVELS:
                drawn = np.stack([rng.binomial(n1, p1, runs), rng.binomial(n2, p2, runs)])
                (k1, k2), times = np.unique(drawn, axis=1, return_counts=True)
                low, high = intervals.difference(k1, n1, k2, n2, level)
                held = int(times[(low <= p1 - p2) & (p1 - p2 <= high)].sum())
                rows.append(
                    {
                        "kind": "difference",
                        "p": [p1, p2],
                        "n": [n1, n2],
                        "level": level,
                        "coverage": held / runs,
                        "p_value": below(held, runs, level),
                    }
                )
    return rows


def exact_cells() -> list[dict[str, Any]]:
    """Find the lowest coverage over all p exactly, without and with a budget."""
    rows: list[dict[str, Any]] = []
    for level in (0.9, 0.95, 0.99):
        for margin in (0.2, 0.1, 0.05, 0.02):
            for limit in LIMITS:
                for budget in (None, 100, 400):
                    coverage, p = stop_states(Plan(level, margin, limit), budget).worst(200)
                    row = {
                        "level": level,
                        "margin": margin,
                        "limit": limit,
                        "budget": budget,
                        "p": p,
                    }
                    rows.append(
                        {
                            "kind": "exact",
                            **row,
                            "coverage": coverage,
                            "p_value": float(coverage >= level),
                        }
                    )
    return rows


PRECISE = (
    (0.95, 0.05, 0.05, 0.01),
    (0.95, 0.05, 0.1, 0.02),
    (0.95, 0.05, 0.5, 0.02),
    (0.99, 0.05, 0.1, 0.02),
    (0.9, 0.1, 0.02, 0.01),
)
"""Level, margin, limit and finest margin of runs that go on until both are reached."""


def precise_cells() -> list[dict[str, Any]]:
    """Find the lowest coverage of cheap software's rule exactly, with and without a budget."""
    rows: list[dict[str, Any]] = []
    for level, margin, limit, finest in PRECISE:
        for budget in (None, 400):
            plan = Plan(level, margin, limit, precise=True, finest=finest)
            coverage, p = stop_states(plan, budget).worst(200)
            rows.append(
                {
                    "kind": "precise",
                    "level": level,
                    "margin": margin,
                    "limit": limit,
                    "finest": finest,
                    "budget": budget,
                    "p": p,
                    "coverage": coverage,
                    "p_value": float(coverage >= level),
                }
            )
    return rows


def worst_of_numbers(states: States, size: int) -> tuple[float, float]:
    """Return the lowest coverage over all numbers of hits in a population, and their share."""
    worst = (2.0, 0.0)
    for number in range(size + 1):
        mass = states.weight * hypergeom.pmf(states.hits, size, number, states.n)
        if not mass.any():
            continue
        share = number / size
        held = (states.low <= share + 1e-12) & (share <= states.high + 1e-12)
        # Whoever has asked everybody reports the share itself.
        held |= states.n >= size
        worst = min(worst, (float(mass[held].sum() / mass.sum()), share))
    return worst


def finite_cells() -> list[dict[str, Any]]:
    """Find the lowest coverage of draws without replacement exactly, over all populations."""
    rows: list[dict[str, Any]] = []
    for size in (60, 300, 900):
        for limit in (None, 0.05, 0.1):
            for precise in (False, True):
                margin = 0.05 if precise or limit is None else limit / 5
                plan = Plan(0.95, margin, limit, size=size, precise=precise)
                coverage, share = worst_of_numbers(stop_states(plan), size)
                rows.append(
                    {
                        "kind": "finite",
                        "size": size,
                        "margin": margin,
                        "limit": limit,
                        "precise": precise,
                        "p": share,
                        "coverage": coverage,
                        "p_value": float(coverage >= 0.95),
                    }
                )
    return rows


PAIRED: tuple[tuple[tuple[float, ...], float, float, bool], ...] = (
    ((0.3, 0.3), 0.9, 0.05, False),
    ((0.3, 0.35), 0.9, 0.05, False),
    ((0.3, 0.4), 0.7, 0.1, True),
    ((0.2, 0.25, 0.5), 0.7, 0.25, True),
    ((0.5,) * 5, 0.9, 0.1, True),
    ((0.3, 0.3, 0.35, 0.4), 0.9, 0.1, False),
)
"""Rates, the share of people whose group does not matter, the limit, and whether it is cheap."""


def paired_cells(runs: int, seed: int = 4) -> list[dict[str, Any]]:
    """Simulate groups that are asked about the same people."""
    rng, rows = np.random.default_rng(seed), []
    for rates, shared, limit, precise in PAIRED:
        truth = max(rates) - min(rates)
        plan = PairedPlan(
            0.95,
            0.05 if precise else limit / 5,
            limit,
            groups=len(rates),
            precise=precise,
            finest=limit / 10 if precise else None,
        )
        held = wrong = total = 0
        for _ in range(runs):
            low, high, n = paired_run(plan, rates, shared, rng)
            held += low <= truth + 1e-12 and truth <= high + 1e-12
            wrong += high < limit if truth >= limit else low >= limit
            total += n
        rows.append(
            {
                "kind": "paired",
                "p": list(rates),
                "shared": shared,
                "limit": limit,
                "precise": precise,
                "runs": runs,
                "coverage": held / runs,
                "wrong": wrong / runs,
                "mean_n": total / runs,
                "p_value": below(held, runs, 0.95),
            }
        )
    return rows


def paired_run(
    plan: PairedPlan, rates: ArrayLike, shared: float, rng: np.random.Generator
) -> tuple[float, float, int]:
    """Return the limits that a run reports, and its draws; at most 20,000."""
    counts: Floats | None = None
    before = 0
    bars = np.asarray(rates)
    for n in plan.looks(20_000):
        same = rng.random((n - before, 1)) < shared
        place = np.where(
            same, rng.random((n - before, 1)), rng.random((n - before, len(bars)))
        )
        counts = plan.counted((place < bars).astype(float), counts)
        before = n
        if plan.reason(counts, n) is not None:
            break
    assert counts is not None
    estimate = plan.judge(counts, before, last=before == 20_000).estimate
    return estimate.low, estimate.high, before


def table(rows: list[dict[str, Any]], *, markdown: bool) -> str:
    """Return the rows as aligned or Markdown text."""
    names = [
        name
        for name in rows[0]
        if name not in ("kind", "p_value", "wald_p_value", "decided")
    ]

    def show(value: Any) -> str:
        if isinstance(value, list):
            return " ".join(f"{x:g}" for x in value)
        return (
            "-"
            if value is None
            else f"{value:.5g}"
            if isinstance(value, float)
            else str(value)
        )

    cells = [names, *([show(row[name]) for name in names] for row in rows)]
    if markdown:
        cells.insert(1, ["---"] * len(names))
        return "\n".join("| " + " | ".join(line) + " |" for line in cells)
    widths = [max(len(line[i]) for line in cells) for i in range(len(names))]
    return "\n".join(
        "  ".join(cell.rjust(width) for cell, width in zip(line, widths, strict=True))
        for line in cells
    )


def main() -> int:
    """Run all cells, print and write them, and return the exit code."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--runs", type=int, default=4000)
    parser.add_argument(
        "--json", type=Path, default=Path(__file__).parent / "results" / "coverage.json"
    )
    parser.add_argument("--markdown", action="store_true")
    options = parser.parse_args()
    parts: list[list[dict[str, Any]]] = []
    makers: dict[str, Callable[[], list[dict[str, Any]]]] = {
        "One rate, simulated": lambda: single_cells(options.runs),
        "One rate, worst p by exact dynamic programme": exact_cells,
        "The same for cheap software, which is asked until decided and precise": precise_cells,
        "The same for draws without replacement": finite_cells,
        "Groups asked about the same people, simulated": lambda: paired_cells(
            options.runs // 2
        ),
        "Spread of groups, simulated (mean_n is per group)": lambda: spread_cells(
            options.runs // 2
        ),
        "Difference, simulated": lambda: difference_cells(options.runs),
    }
    for title, make in makers.items():
        start = time.perf_counter()
        parts.append(make())
        print(f"\n## {title}\n\n{table(parts[-1], markdown=options.markdown)}", flush=True)
        print(f"{time.perf_counter() - start:.1f} s", file=sys.stderr)
    rows = [row for part in parts for row in part]
    options.json.parent.mkdir(parents=True, exist_ok=True)
    options.json.write_text(json.dumps(rows, indent=1) + "\n")
    low = [row for row in rows if row["p_value"] < SIGNIFICANT / len(rows)]
    print(f"\n{len(rows)} cells, {len(low)} significantly below nominal", *low, sep="\n")
    return 1 if low else 0


if __name__ == "__main__":
    sys.exit(main())
