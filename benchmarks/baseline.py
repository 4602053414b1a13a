"""How often does a baseline raise a false alarm, and how often does it catch worse software?

`python benchmarks/baseline.py [--runs 2000] [--json FILE]` simulates two versions of
software, an audit of each, and the verdict of the later one against the earlier; it exits 1 where
unchanged software fails significantly more often than the level allows.
"""

from __future__ import annotations

import argparse
import json
import sys
from collections import Counter
from dataclasses import dataclass
from functools import cache, cached_property
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np
from scipy.stats import binom

from evenhand.population.samplers import Uniform
from evenhand.results.baseline import held
from evenhand.results.evidence import Finding
from evenhand.scores.kept_answers import KeptAnswers, change_of, draws_for
from evenhand.scores.question import Terms
from evenhand.statistics.estimate import Verdict
from evenhand.statistics.sequential.stopping import Plan, look_sizes

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from evenhand.results.baseline import BaselineComparison
    from evenhand.results.score_change import ScoreChange
    from evenhand.statistics.estimate import Estimate

WAYS = ("same inputs", "other inputs", "one sample", "estimates")
"""What is known of both versions: their answers to the same inputs or to others, those of the new
version alone, or nothing but both estimates.
"""
LIMITS = (0.05, 0.1)
SCORES = ((0.08, 0.08), (0.3, 0.3), (0.08, 0.1), (0.08, 0.15), (0.08, 0.3))
MOST = 1 << 24
"""More draws than any run takes."""
SIGNIFICANT = 1e-3


@dataclass(frozen=True)
class Versions:
    """Two versions of software with these scores.

    `stay` is the share of the inputs that the old one discriminates against, and the new one too:
    all of them where the software did not change, and fewer where it was trained anew.
    """

    old: float
    new: float
    stay: float = 1.0

    def answers(
        self, draws: int, rng: np.random.Generator
    ) -> tuple[NDArray[Any], NDArray[Any]]:
        """Return which of the same draws are hits of the old version, and of the new one."""
        both = min(self.stay * self.old, self.new)
        shares = [both, self.old - both, self.new - both]
        ends = np.cumsum(shares)
        place = np.searchsorted(ends, rng.random(draws), side="right")
        return place <= 1, (place == 0) | (place == 2)


@dataclass(frozen=True)
class Audits:
    """Audits of software with a limit, as `measure` makes them.

    Software that is expensive is asked until it is decided, and cheap software on to a margin.
    """

    limit: float
    level: float = 0.95
    expensive: bool = False

    @cached_property
    def plan(self) -> Plan:
        """When sampling stops."""
        margins = Terms(Uniform(), limit=self.limit).margins(expensive=self.expensive)
        return Plan(
            self.level,
            margins.wanted,
            self.limit,
            precise=not self.expensive,
            finest=margins.finest,
        )

    def estimate(self, score: float, seed: tuple[int, ...]) -> Estimate:
        """Return the estimate of one run."""
        rng = np.random.default_rng(seed)
        sizes: list[int] = []
        counts: list[int] = []
        n = hits = 0
        for size in look_sizes(MOST):
            hits += int(rng.binomial(size - n, score))
            n = size
            sizes.append(n)
            counts.append(hits)
            if len(sizes) < 20 and n < MOST:
                continue
            # Looks are judged together, twenty at a time.
            first = int(self.plan.first_stop(counts, sizes))
            if first < len(sizes):
                return self.plan.judge(counts[first], sizes[first]).estimate
            sizes.clear()
            counts.clear()
        raise AssertionError("the plan does not stop")

    def finding(self, score: float, *seed: int) -> Finding:
        """Return what one run finds."""
        return Finding("sex matters", ("sex",), _estimate(self, score, seed), self.limit)


@cache
def _estimate(audits: Audits, score: float, seed: tuple[int, ...]) -> Estimate:
    """Return the estimate of one run, which is simulated once for all ways to know a change."""
    return audits.estimate(score, seed)


def comparison(
    audits: Audits, versions: Versions, way: str, seed: int
) -> BaselineComparison:
    """Return how one audit of the new version stands to one of the old."""
    old = audits.finding(versions.old, seed, 0)
    new = audits.finding(versions.new, seed, 1)
    rng = np.random.default_rng((seed, 2))
    return held(new, old, change=_change(audits, versions, way, (new, old), rng))


def _change(
    audits: Audits,
    versions: Versions,
    way: str,
    findings: tuple[Finding, Finding],
    rng: np.random.Generator,
) -> ScoreChange | None:
    if way == "estimates":
        return None
    draws = draws_for(audits.limit / 5, expensive=audits.expensive)
    old_answers, new_answers = versions.answers(draws, rng)
    new_kept = KeptAnswers(findings[0].key, 0, "these", new_answers)
    old_kept: KeptAnswers | None = None
    if way == "same inputs":
        old_kept = KeptAnswers(findings[1].key, 0, "these", old_answers)
    if way == "other inputs":
        other_answers, _ = versions.answers(draws, rng)
        old_kept = KeptAnswers(findings[1].key, 1, "others", other_answers)
    return change_of(*findings, new_kept, old_kept, level=audits.level, among=1)


def verdicts(
    audits: Audits, versions: Versions, way: str, runs: int
) -> Counter[Verdict | None]:
    """Return how often each verdict is given."""
    return Counter(comparison(audits, versions, way, seed).verdict for seed in range(runs))


def cells(runs: int) -> list[dict[str, Any]]:
    """Return the shares of verdicts for all limits, scores and ways."""
    rows = []
    for limit in LIMITS:
        for old, new in SCORES:
            for way in WAYS:
                stays = (1.0, 0.5) if way == "same inputs" else (1.0,)
                for expensive in _costs(way):
                    audits = Audits(limit, expensive=expensive)
                    for stay in stays:
                        rows.append(_cell(audits, Versions(old, new, stay), way, runs))
    return rows


def _costs(way: str) -> tuple[bool, ...]:
    """Return whether software is simulated that is cheap, expensive, or each."""
    # Of cheap software more than estimates is always known.
    if way == "estimates":
        return (True,)
    return (False, True)


def _cell(audits: Audits, versions: Versions, way: str, runs: int) -> dict[str, Any]:
    counts = verdicts(audits, versions, way, runs)
    alarms = counts[Verdict.FAIL]
    same = versions.old == versions.new
    return {
        "limit": audits.limit,
        "old": versions.old,
        "new": versions.new,
        "stay": versions.stay,
        "way": f"{way} (expensive)" if audits.expensive else way,
        **{str(verdict): counts[verdict] / runs for verdict in Verdict},
        "p_value": float(binom.sf(alarms - 1, runs, 1 - audits.level)) if same else 1.0,
    }


def table(rows: list[dict[str, Any]]) -> str:
    """Return the cells as a table in Markdown."""
    lines = [
        "| limit | old score | new score | hits that stay | known | pass | undecided | fail |",
        "|---|---|---|---|---|---|---|---|",
    ]
    for row in rows:
        shares = [
            f"{100 * row[verdict]:.1f} %" for verdict in ("pass", "undecided", "fail")
        ]
        about = [row["limit"], row["old"], row["new"], f"{row['stay']:.0%}", row["way"]]
        lines.append(f"| {' | '.join(map(str, [*about, *shares]))} |")
    return "\n".join(lines)


def main() -> int:
    """Print the table, and return whether any level is not held."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--runs", type=int, default=2000)
    results = Path(__file__).parent / "results"
    parser.add_argument("--json", type=Path, default=results / "baseline.json")
    options = parser.parse_args()
    rows = cells(options.runs)
    print(table(rows))
    options.json.parent.mkdir(parents=True, exist_ok=True)
    options.json.write_text(json.dumps(rows, indent=1) + "\n")
    low = [row for row in rows if row["p_value"] < SIGNIFICANT / len(rows)]
    print(f"\n{len(rows)} cells, {len(low)} with more false alarms than the level allows")
    return 1 if low else 0


if __name__ == "__main__":
    sys.exit(main())
