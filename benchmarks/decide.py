"""How many inputs does a verdict take, next to the least that it could take?

`python benchmarks/decide.py [--before REVISION] [--json FILE]` measures thirty programs whose true
scores are enumerated, with the code of an older revision and with this one, in one run. The least
is the cheaper of asking every input, and of what information theory asks of any test that is wrong
at most once in twenty times: kl(0.05, 0.95) over the information of a draw. Cheap software is also
to be known to within 0.05, which takes at least what an interval of that width takes at a fixed
size. The 64 inputs that first show whether the software answers alike are left out on both sides.
"""

from __future__ import annotations

import argparse
import json
import math
import os
import subprocess
import sys
import tarfile
import tempfile
import time
from dataclasses import dataclass
from io import BytesIO
from pathlib import Path
from typing import Any

import numpy as np
from scipy.optimize import minimize_scalar
from scipy.stats import beta

BEFORE = "fa11746"
"""The last revision with the rules that this benchmark was written to replace."""
ALPHA = 0.05
MARGIN = 0.05
CHECKED = 64
SEEDS, FEW_SEEDS = 20, 3
"""Where the score is the limit, all inputs are asked, and every seed takes the same."""


@dataclass(frozen=True)
class Program:
    """A program that decides by a number and a group.

    Its favourable outcomes are those of numbers under a bar, which rises from the first group to
    the last by `score`; for a share `crossing` of the numbers the first group is preferred instead,
    and for as many the last, so that more people are treated differently than groups are.
    """

    kind: str
    inputs: int
    groups: int
    score: float
    limit: float
    expensive: bool
    crossing: float = 0.0
    noise: float = 0.0

    @property
    def numbers(self) -> int:
        return self.inputs // self.groups

    def favourable(self, number: Any, group: Any) -> Any:
        """Return who gets the favourable outcome."""
        place = (np.asarray(number) + 0.5) / self.numbers
        step = np.asarray(group) / max(self.groups - 1, 1)
        crossed = place > 1 - 2 * self.crossing
        first = place > 1 - self.crossing
        by_group = np.where(first, step < 0.5, step >= 0.5)
        return np.where(crossed, by_group, place < 0.3 + self.score * step)

    def table(self) -> Any:
        """Return the outcome of every number in every group."""
        numbers = np.arange(self.numbers)[:, None]
        return self.favourable(numbers, np.arange(self.groups)[None, :])

    @property
    def name(self) -> str:
        chance = f", {self.noise:.0%} chance" if self.noise else ""
        cost = "expensive" if self.expensive else "cheap"
        return f"{self.kind} {self.inputs:,} inputs, {self.groups} groups, {cost}{chance}"


PROGRAMS = [
    Program("causal", 100, 2, 0.10, 0.05, expensive=False),
    Program("causal", 1_000, 2, 0.0, 0.05, expensive=True),
    Program("causal", 1_000, 2, 0.08, 0.05, expensive=True),
    Program("causal", 10_000, 2, 0.05, 0.05, expensive=False),
    Program("causal", 10_000, 2, 0.01, 0.05, expensive=True),
    Program("causal", 10_000, 2, 0.03, 0.05, expensive=True),
    Program("causal", 10_200, 2, 0.06, 0.05, expensive=False),
    Program("causal", 100_000, 2, 0.0, 0.05, expensive=True),
    Program("causal", 100_000, 2, 0.09, 0.3, expensive=False),
    Program("causal", 100_000, 2, 0.052, 0.05, expensive=False),
    Program("causal", 1_000_000, 2, 0.03, 0.05, expensive=True),
    Program("causal", 1_000_000, 2, 0.2, 0.1, expensive=True),
    Program("causal", 1_000_000, 2, 0.0505, 0.05, expensive=False),
    Program("causal", 10_000_000, 2, 0.05, 0.05, expensive=False),
    Program("causal", 10_000_000, 2, 0.12, 0.1, expensive=False),
    Program("causal", 10_000_000, 5, 0.1, 0.05, expensive=True),
    Program("group", 100, 2, 0.1, 0.05, expensive=False),
    Program("group", 16_000, 2, 0.0, 0.05, expensive=True),
    Program("group", 16_000, 2, 0.01, 0.05, expensive=True),
    Program("group", 16_000, 2, 0.1, 0.05, expensive=True),
    Program("group", 12_000, 3, 0.03, 0.05, expensive=False),
    Program("group", 200_000, 2, 0.0, 0.05, expensive=False, crossing=0.05),
    Program("group", 200_000, 2, 0.06, 0.05, expensive=False),
    Program("group", 100_000, 10, 0.2, 0.05, expensive=True),
    Program("group", 100_000, 10, 0.02, 0.05, expensive=True),
    Program("group", 300_000, 30, 0.02, 0.1, expensive=True),
    Program("group", 3_000_000, 30, 0.3, 0.1, expensive=True),
    Program("group", 10_000_000, 2, 0.05, 0.1, expensive=False, crossing=0.05),
    Program("causal", 100_000, 2, 0.2, 0.05, expensive=False, noise=0.01),
    Program("group", 100_000, 2, 0.1, 0.05, expensive=False, noise=0.05),
]


def truth(program: Program) -> float:
    """Return the score, from every input there is."""
    outcomes = program.table()
    if program.kind == "causal":
        return float((outcomes != outcomes[:, :1]).any(axis=1).mean())
    return float(np.ptp(outcomes.mean(axis=0)))


def error_information() -> float:
    """Return kl(α, 1 - α), what a test needs that errs with α at the most."""
    return (1 - 2 * ALPHA) * math.log((1 - ALPHA) / ALPHA)


def information(values: Any, chances: Any, limit: float) -> float:
    """Return the least divergence from a law to any of the same support on the limit's other side.

    It is the dual: the largest expected growth of a capital that is staked against the limit.
    """
    mean = float(values @ chances)
    gain = limit - values if mean < limit else values - limit
    most = 1 / max(-gain.min(), 1e-12)

    def growth(stake: float) -> float:
        factors = np.maximum(1 + stake * gain, 1e-300)
        return -float(chances @ np.log(factors))

    found = minimize_scalar(growth, bounds=(0, most * (1 - 1e-9)), method="bounded")
    return max(-float(found.fun), 1e-12)


def draws_for_margin(values: Any, chances: Any) -> float:
    """Return about the draws at a fixed size whose interval is within the margin."""
    mean = float(values @ chances)
    variance = float(((values - mean) ** 2) @ chances)
    by_variance = 1.96**2 * variance / MARGIN**2
    # Where nothing varies, the exact interval of no hits still has a width.
    least = next(n for n in range(1, 200) if beta.ppf(0.975, 1, n) <= MARGIN)
    return max(by_variance, least)


def least_inputs(program: Program) -> float:
    """Return the cheaper of asking every input, and what any test needs."""
    outcomes = program.table().astype(float)
    if program.kind == "causal":
        return min(program.inputs, _least_causal(program, outcomes))
    return min(program.inputs, _least_group(program, outcomes))


def _least_causal(program: Program, outcomes: Any) -> float:
    hits = (outcomes != outcomes[:, :1]).any(axis=1)
    score = float(hits.mean())
    values = np.array([0.0, 1.0])
    chances = np.array([1 - score, score])
    asked = program.groups
    if program.noise:
        # Everybody is asked twice, and differing with oneself is taken off.
        again = 2 * program.noise * (1 - program.noise)
        apart = score * (1 - again) + (1 - score) * again
        values = np.array([-1.0, 0.0, 1.0])
        up, down = apart * (1 - again), again * (1 - apart)
        chances = np.array([down, 1 - up - down, up])
        asked = 2 * program.groups
    return asked * _draws(program, values, chances)


def _draws(program: Program, values: Any, chances: Any) -> float:
    draws = error_information() / information(values, chances, program.limit)
    if not program.expensive:
        draws = max(draws, draws_for_margin(values, chances))
    return draws


def _least_group(program: Program, outcomes: Any) -> float:
    rates = outcomes * (1 - 2 * program.noise) + program.noise
    needed = np.zeros((program.groups, program.groups))
    for one in range(program.groups):
        for other in range(program.groups):
            if one != other:
                needed[one, other] = _pair_draws(program, rates[:, one], rates[:, other])
    spread = float(np.ptp(rates.mean(axis=0)))
    if spread < program.limit:
        # Each group must be compared with each other one.
        both_ways = np.maximum(needed, needed.T)
        return float(both_ways.max(axis=1).sum())
    # One pair will do, but it has to be found: every group is asked about somebody.
    best = int(np.argmax(rates.mean(axis=0)))
    worst = int(np.argmin(rates.mean(axis=0)))
    return float(2 * needed[best, worst] + program.groups - 2)


def _pair_draws(program: Program, one: Any, other: Any) -> float:
    up = float((one * (1 - other)).mean())
    down = float((other * (1 - one)).mean())
    values = np.array([-1.0, 0.0, 1.0])
    return _draws(program, values, np.array([down, 1 - up - down, up]))


def measured(program: Program) -> dict[str, Any]:
    """Return what `measure` takes and says, on average over some seeds."""
    import evenhand as eh

    rng = np.random.default_rng(0)

    def decide(people: Any) -> Any:
        answers = program.favourable(people["number"], people["group"])
        if program.noise:
            answers = answers ^ (rng.random(len(answers)) < program.noise)
        return answers

    class Expensive(eh.Adapter):
        kind = "expensive"
        expensive = True

        @property
        def identity(self) -> str:
            return "expensive"

        def run(self, points: Any, space: Any) -> Any:
            yield np.arange(len(points)), decide(space.native(points))

    levels = list(range(program.groups))
    space = eh.Space(
        [eh.category("group", levels), eh.integer("number", 0, program.numbers - 1)],
        protected=["group"],
    )
    executed, seconds, verdicts = [], [], []
    seeds = FEW_SEEDS if math.isclose(program.score, program.limit) else SEEDS
    for seed in range(seeds):
        model = Expensive() if program.expensive else decide
        subject = eh.Subject(model, space, positive=True)
        began = time.perf_counter()
        try:
            found = eh.measure(subject, kind=program.kind, limit=program.limit, seed=seed)
            verdict = str(found.verdict)
        except eh.EvenhandError:
            verdict = "refused"
        seconds.append(time.perf_counter() - began)
        executed.append(max(subject.executed - CHECKED, 1))
        verdicts.append(verdict)
    return {
        "executed": float(np.mean(executed)),
        "seconds": float(np.mean(seconds)),
        "verdicts": verdicts,
    }


def before(revision: str) -> list[dict[str, Any]] | None:
    """Measure all programs with the code of an older revision, None where there is none."""
    root = Path(__file__).parent.parent
    packed = subprocess.run(
        ["git", "archive", "--format=tar", revision, "src"],
        cwd=root,
        capture_output=True,
        check=False,
    )
    if packed.returncode:
        return None
    with tempfile.TemporaryDirectory() as folder:
        with tarfile.open(fileobj=BytesIO(packed.stdout)) as archive:
            archive.extractall(folder, filter="data")
        environment = {**os.environ, "PYTHONPATH": str(Path(folder) / "src")}
        ran = subprocess.run(
            [sys.executable, __file__, "--only-measure"],
            env=environment,
            capture_output=True,
            check=True,
            text=True,
        )
    found: list[dict[str, Any]] = json.loads(ran.stdout)
    return found


def row_of(program: Program, old: dict[str, Any], new: dict[str, Any]) -> dict[str, Any]:
    """Return a program with what it took before and takes now."""
    score = truth(program)
    least = least_inputs(program)
    right = "fail" if score >= program.limit else "pass"
    return {
        "program": program.name,
        "truth": score,
        "limit": program.limit,
        "least": least,
        "before": old.get("executed"),
        "seconds before": old.get("seconds"),
        "verdicts before": _counted(old.get("verdicts", [])),
        "executed": new["executed"],
        "seconds": new["seconds"],
        "verdicts": _counted(new["verdicts"]),
        "runs": len(new["verdicts"]),
        "wrong": sum(verdict not in (right, "undecided") for verdict in new["verdicts"]),
        "ratio": new["executed"] / least,
    }


def _counted(verdicts: list[str]) -> str:
    """Return verdicts with how often there was each."""
    different = sorted(set(verdicts))
    return ", ".join(f"{verdict} {verdicts.count(verdict)}" for verdict in different)


def shown(rows: list[dict[str, Any]]) -> str:
    """Return the rows as a Markdown table."""
    names = list(rows[0])
    lines = ["| " + " | ".join(names) + " |", "|" + "---|" * len(names)]
    for row in rows:
        cells = []
        for value in row.values():
            if isinstance(value, float):
                cells.append(f"{value:,.0f}" if value >= 100 else f"{value:.3g}")
            else:
                cells.append("–" if value is None else str(value))
        lines.append("| " + " | ".join(cells) + " |")
    return "\n".join(lines)


def main() -> int:
    """Measure, print and write the table; return 1 where a bound does not hold."""
    parser = argparse.ArgumentParser(description=__doc__)
    results = Path(__file__).parent / "results"
    parser.add_argument("--before", default=BEFORE)
    parser.add_argument("--json", type=Path, default=results / "decide.json")
    parser.add_argument("--only-measure", action="store_true")
    options = parser.parse_args()
    if options.only_measure:
        print(json.dumps([measured(program) for program in PROGRAMS]))
        return 0
    measured_before = before(options.before)
    old = measured_before or [{} for _ in PROGRAMS]
    rows = []
    for program, old_of_program in zip(PROGRAMS, old, strict=True):
        rows.append(row_of(program, old_of_program, measured(program)))
    print(shown(rows))
    ratios = np.array([row["ratio"] for row in rows])
    mean = float(np.exp(np.log(ratios).mean()))
    undecided = sum("undecided" in row["verdicts"] for row in rows)
    wrong = sum(row["wrong"] for row in rows)
    print(f"\nratio to the least: geometric mean {mean:.2f}, worst {ratios.max():.2f}")
    runs = sum(row["runs"] for row in rows)
    print(f"undecided programs: {undecided}; wrong verdicts: {wrong} of {runs}")
    options.json.parent.mkdir(parents=True, exist_ok=True)
    options.json.write_text(json.dumps(rows, indent=1) + "\n")
    return int(mean > 2 or ratios.max() > 5)


if __name__ == "__main__":
    sys.exit(main())
