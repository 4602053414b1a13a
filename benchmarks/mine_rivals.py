"""mine_log beside DivExplorer, pysubgroup, AIF360's bias_scan and sliceline: a section of mine.py.

All search Adult in 117 items of 13 columns. What is compared: CPU seconds in one run; the counts of
rule sets, one by one; whether our best by the measure of each is as extreme as its own; and how
often each tells of one planted group. DivExplorer's numbers of itemsets have one more than ours,
the whole table.
"""

from __future__ import annotations

import sys
import tempfile
from dataclasses import dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np

import mine_tables
import rivals_environment
from evenhand.runtime.errors import EvenhandError
from mine_own import conditions_of, our_mining, our_rule_sets
from mine_tables import ERROR, OUTCOME
from rival_jobs import ask, foreign_environment, own_environment, read_table
from rival_measures import (
    Sums,
    as_extreme,
    compare,
    covered,
    key_of,
    text_table,
    variations,
)

if TYPE_CHECKING:
    import argparse
    from collections.abc import Callable, Sequence

    from numpy.typing import NDArray

    from rival_jobs import Job, Row
    from rival_measures import Counts

OWN = Path(__file__).parent / "mine_own.py"
THEIRS = Path(__file__).parent / "rivals_runner.py"
BARS = {0.05: 3, 0.01: 4}
"""By support: how many times the CPU seconds of ours DivExplorer is to take at least."""
KNOWN = {0.05: 9_761, 0.01: 100_192}
"""By support: how many frequent itemsets Adult has, without the whole table."""
MEMORY = 2.0
"""The most GB that all rule sets of support 0.01 are to take."""
SCANNED = ["age", "marital-status", "race", "sex"]
"""The features of which all subsets of levels are taken, as bias_scan does."""
ANYBODY = 1e-9
"""A support that one row has."""
ALPHA = 0.95
"""sliceline's weight of errors against sizes, as in its paper."""
TOP = 10
SEEDS = 20
PLANTED_SUPPORT = 0.01
LOG_ROWS, QUICK_ROWS = 10_000_000, 1_000_000


@dataclass
class Ours:
    """One way to call mine_log: what it took, and all its rule sets."""

    job: Job
    row: Row
    sums: Sums
    counts: Counts

    @property
    def cpu(self) -> float:
        """The CPU seconds of the fastest run."""
        return float(min(self.row["cpu"]))

    @property
    def depth(self) -> int:
        """The most features that a rule set takes."""
        return int(self.row["numbers"]["depth"])

    @property
    def known(self) -> int:
        """How many rule sets there are at any depth, or were looked at where nobody knows."""
        return KNOWN.get(self.job["support"], len(self.counts))

    @property
    def is_whole(self) -> bool:
        """Whether no rule set was left out for its depth; only then do seconds compare."""
        return len(self.counts) == self.known


@dataclass(frozen=True)
class Contest:
    """One call of a rival, our call that it is set beside, and the measure of the rival."""

    tool: str
    task: str
    ours: str
    job: Job
    measure: Callable[[Sums], NDArray[Any]]
    whole: bool = False
    """Whether the rival lists all rule sets, and not only the first of them."""
    same: bool = True
    """Whether both look at the same rule sets."""
    rounded: float = field(default=1e-9)


def contests(features: Sequence[str], *, quick: bool) -> list[Contest]:
    """Return what the rivals are asked."""
    every = {"over": list(features), "outcome": OUTCOME, "support": 0.05}
    errors = {**every, "outcome": ERROR, "alpha": ALPHA, "top": TOP}
    listed = []
    for support in (0.05,) if quick else BARS:
        task = f"all itemsets, support {support:g}"
        job = {**every, "support": support}
        listed.append(
            Contest("DivExplorer", task, f"{support:g}", job, Sums.divergence, whole=True)
        )
    for exponent, top in ((1.0, None), (1.0, TOP), (0.5, TOP)):
        job = {**every, "exponent": exponent, "top": top}
        task = f"{f'top {top}' if top else 'all'} by StandardQF({exponent:g}), support 0.05"
        quality = _standard_quality(exponent)
        listed.append(Contest("pysubgroup", task, "0.05", job, quality, whole=top is None))
    task = f"top {TOP} errors, support 0.05"
    listed.append(Contest("sliceline", task, "errors", errors, _slice_score))
    for higher in (True, False):
        words = "higher" if higher else "lower"
        score = _bernoulli_score(higher)
        job = {**every, "over": SCANNED, "higher": higher}
        task = f"{words} rates, {len(SCANNED)} features, any levels"
        listed.append(Contest("bias_scan", task, "levels", job, score, rounded=1e-3))
        if not quick:
            job = {**every, "higher": higher}
            task = f"{words} rates, {len(features)} features, any levels"
            listed.append(Contest("bias_scan", task, "0.01", job, score, same=False))
    return listed


def _standard_quality(exponent: float) -> Callable[[Sums], NDArray[Any]]:
    return lambda sums: sums.standard_quality(exponent)


def _bernoulli_score(higher: bool) -> Callable[[Sums], NDArray[Any]]:
    return lambda sums: sums.bernoulli_score(higher=higher)


def _slice_score(sums: Sums) -> NDArray[Any]:
    return sums.slice_score(ALPHA)


def our_jobs(features: Sequence[str], *, quick: bool) -> dict[str, Job]:
    """Return how mine_log is called, by the names that contests give."""
    every = {"over": list(features), "outcome": OUTCOME, "support": 0.05, "levels": 1}
    jobs = {
        "0.05": every,
        "errors": {**every, "outcome": ERROR},
        "levels": {"over": SCANNED, "outcome": OUTCOME, "support": ANYBODY, "levels": None},
    }
    if not quick:
        jobs["0.01"] = {**every, "support": 0.01}
    return jobs


def section_rivals(options: argparse.Namespace) -> list[Row]:
    """Adult and planted groups: seconds, counts, the most extreme, and what is told twice."""
    try:
        table = mine_tables.items(mine_tables.adult())
    except EvenhandError as error:
        print(f"rivals: left out; {error}", flush=True)
        return [{"error": str(error)}]
    missing = rivals_environment.prepare()
    features = [name for name in table if name not in (OUTCOME, ERROR)]
    with tempfile.TemporaryDirectory(prefix="evenhand-rivals-") as folder:
        path = str(Path(folder) / "adult.csv")
        table.to_csv(path, index=False)
        items = sum(table[name].nunique() for name in features)
        print(f"Adult: {len(table):,} rows, {items} items of {len(features)} columns")
        common = {"table": path, "timed": True, "repeat": options.repeat}
        if options.depth:
            common["depth"] = options.depth
        ours = {}
        for name, job in our_jobs(features, quick=options.quick).items():
            ours[name] = measured_ours({**common, **job})
        rows = []
        for contest in contests(features, quick=options.quick):
            theirs = _theirs(contest.tool, [{**common, **contest.job}], missing)[0]
            rows.append(contest_row(contest, theirs, ours[contest.ours]))
        print(text_table([_shown(row) for row in rows], COLUMNS), flush=True)
        rows += bar_rows(rows, ours)
        return rows + planted_rows(Path(folder), missing, 3 if options.quick else SEEDS)


def measured_ours(job: Job) -> Ours:
    """Time mine_log in a process of its own, and form all its rule sets in this one."""
    row = ask(sys.executable, OWN, [job], own_environment())[0]
    if "error" in row:
        raise SystemExit(f"mine_log cannot be measured: {row['error']}")
    table = read_table(job["table"], job["outcome"])
    mining = our_mining(table, job)
    counts = {}
    for rule_set in our_rule_sets(mining):
        key = key_of(conditions_of(mining, rule_set))
        counts[key] = (rule_set.size, rule_set.hits)
    size, hits = np.array(list(counts.values())).T
    total = float(table[job["outcome"]].sum())
    numbers = row["numbers"]
    print(
        f"mine_log, {len(job['over'])} features, support {job['support']:g},"
        f" {job['outcome']}: {numbers['examined']:,} rule sets of up to {numbers['depth']}"
        f" features in {min(row['cpu']):.2f} CPU s, peak {row['peak']:.2f} GB",
        flush=True,
    )
    return Ours(job, row, Sums(size, hits, len(table), total), counts)


def _theirs(tool: str, jobs: Sequence[Job], missing: dict[str, str]) -> list[Row]:
    """Return what a rival says, or why it says nothing."""
    if missing[tool]:
        return [{"error": missing[tool]} for _ in jobs]
    named = [{**job, "tool": tool} for job in jobs]
    return ask(rivals_environment.python(), THEIRS, named, foreign_environment())


def contest_row(contest: Contest, theirs: Row, ours: Ours) -> Row:
    """Set a rival beside mine_log."""
    row: Row = {
        "tool": contest.tool,
        "task": contest.task,
        "support": contest.job["support"],
        "our CPU s": ours.row["cpu"],
        "our CPU s to the ranking": ours.row["ranked"],
        "our rule sets": len(ours.counts),
        "of": ours.known,
    }
    if "error" in theirs:
        return {**row, "error": theirs["error"]}
    lines = theirs["lines"]
    levels = _levels(ours.job)
    counts = {}
    for conditions, size, hits, _ in lines:
        key = key_of(_proper(conditions, levels))
        if len(key) <= ours.depth:
            counts[key] = (size, hits)
    their_top = abs(lines[0][3])
    our_best = float(contest.measure(ours.sums).max())
    if contest.same:
        compared = compare(ours.counts, counts, whole=contest.whole)
        row["counts"] = str(compared)
        row["equal"] = compared.equal
        row["all equal"] = compared.all_equal
    cpu = min(theirs["cpu"])
    return {
        **row,
        "version": theirs["version"],
        "CPU s": theirs["cpu"],
        "ratio": cpu / ours.cpu,
        "peak GB": theirs["peak"],
        "found": theirs["found"],
        "depth": ours.depth,
        "their top": their_top,
        "our best": our_best,
        "as extreme": as_extreme(our_best, their_top, rounded=contest.rounded),
        "top": lines[0][0],
    }


def _levels(job: Job) -> dict[str, set[str]]:
    """Return the levels of each feature of a table."""
    table = read_table(job["table"], job["outcome"])
    return {name: set(table[name]) for name in job["over"]}


def _proper(
    conditions: dict[str, list[str]], levels: dict[str, set[str]]
) -> dict[str, list[str]]:
    """Return conditions without those that everybody meets."""
    return {
        name: values
        for name, values in conditions.items()
        if set(values) != levels.get(name)
    }


COLUMNS = {
    "tool": "rival",
    "task": "what it is asked",
    "cpu": ">CPU s",
    "own": ">ours",
    "ratio": ">ratio",
    "counts": "counts equal",
    "tops": ">its top",
    "best": ">our best",
    "note": "",
}


def _shown(row: Row) -> Row:
    """Return a row as texts."""
    own = f"{min(row['our CPU s']):.2f}"
    shown = {"tool": row["tool"], "task": row["task"], "own": own}
    if "error" in row:
        return {**shown, "note": row["error"]}
    shown["tool"] = f"{row['tool']} {row['version']}"
    notes = [] if row["as extreme"] else ["less extreme"]
    if row["our rule sets"] != row["of"]:
        notes.append(f"ours: only {row['our rule sets']:,} of {row['of']:,} rule sets")
    if "counts" not in row:
        notes.append("ours: one level of a feature, support 0.01")
    return {
        **shown,
        "cpu": f"{min(row['CPU s']):.2f}",
        "ratio": f"{row['ratio']:.2f}",
        "counts": row.get("counts", "other rule sets"),
        "tops": f"{row['their top']:.4f}",
        "best": f"{row['our best']:.4f}",
        "note": ", ".join(notes),
    }


def bar_rows(rows: Sequence[Row], ours: dict[str, Ours]) -> list[Row]:
    """Set what was wanted beside what was measured."""
    bars: list[Row] = []
    for row in rows:
        if row["tool"] == "DivExplorer" and "error" not in row:
            bars.append(_speed_bar(row))
    if "0.01" in ours:
        measured = ours["0.01"]
        peak = measured.row["peak"]
        met = measured.is_whole and peak < MEMORY
        bars.append({"bar": "peak GB", "measured": peak, "wanted": MEMORY, "met": met})
        print(
            f"support 0.01: {len(measured.counts):,} of {measured.known:,} rule sets with a peak"
            f" of {peak:.2f} GB (wanted: all, under {MEMORY:g}): {_verdict(met)}",
            flush=True,
        )
    return bars


def _speed_bar(row: Row) -> Row:
    """Return whether all of DivExplorer's itemsets take as little time as is wanted."""
    wanted = BARS[row["support"]]
    is_whole = row["all equal"] and row["equal"] == row["found"]
    to_ranking = min(row["CPU s"]) / min(row["our CPU s to the ranking"])
    met = bool(is_whole and to_ranking >= wanted)
    print(
        f"support {row['support']:g}: {row['equal']:,} of {row['found']:,} itemsets, with"
        f" intervals and ranking, in {1 / to_ranking:.2f} times DivExplorer's CPU seconds"
        f" (wanted: all, in at most 1/{wanted}): {_verdict(met)}; with ten stories that add to"
        f" each other in {1 / row['ratio']:.2f} times"
    )
    bar = f"CPU seconds of DivExplorer over ours to the ranking, support {row['support']:g}"
    return {"bar": bar, "measured": to_ranking, "wanted": wanted, "met": met}


def _verdict(met: bool) -> str:
    return "met" if met else "NOT met"


LISTS: dict[str, tuple[str, Job]] = {
    "mine_log": ("", {"levels": 1, "complement": None}),
    "DivExplorer": ("DivExplorer", {}),
    "DivExplorer, pruned": ("DivExplorer", {"pruned": True}),
    "pysubgroup": ("pysubgroup", {"exponent": 1.0, "top": TOP}),
    "sliceline": ("sliceline", {"alpha": ALPHA, "top": TOP}),
    "bias_scan": ("bias_scan", {"higher": True}),
}
"""Whose first ten lines are looked at for one planted group, and how each is asked."""


def planted_rows(folder: Path, missing: dict[str, str], seeds: int) -> list[Row]:
    """Count how often the first ten lines of each tool tell of one planted group."""
    tables = [mine_tables.planted(seed) for seed in range(seeds)]
    jobs = []
    for seed, table in enumerate(tables):
        path = folder / f"planted-{seed}.csv"
        table.to_csv(path, index=False)
        over = [name for name in table if name != OUTCOME]
        job = {"table": str(path), "over": over, "outcome": OUTCOME, "timed": False}
        jobs.append({**job, "support": PLANTED_SUPPORT, "listed": TOP})
    rows = []
    for name, (tool, options) in LISTS.items():
        asked = [{**job, **options} for job in jobs]
        if tool:
            found = _theirs(tool, asked, missing)
        else:
            found = ask(sys.executable, OWN, asked, own_environment())
        rows.append(planted_row(name, found, tables))
    shown = []
    for row in rows:
        shown.append({key: value for key, value in row.items() if key != "seeds"})
    inside = covered(tables[0], mine_tables.PLANTED).mean()
    print(
        f"one planted group of {inside:.1%} in {mine_tables.PLANTED_ROWS:,} rows, {seeds}"
        f" seeds, support {PLANTED_SUPPORT:g}; variations share over half with it or are"
        " inside it"
    )
    print(text_table(shown, PLANTED_COLUMNS), flush=True)
    return rows


PLANTED_COLUMNS = {
    "planted": "the first ten lines of",
    "lines": ">lines",
    "variations": ">variations, mean",
    "first": ">first line is one",
    "once": ">exactly one is",
    "error": "",
}


def planted_row(name: str, found: Sequence[Row], tables: Sequence[Any]) -> Row:
    """Sum up the lists of one tool over all seeds."""
    for row in found:
        if "error" in row:
            return {"planted": name, "error": row["error"]}
    lines, counts, first, once = 0, 0, 0, 0
    for row, table in zip(found, tables, strict=True):
        listed = [conditions for conditions, *_ in row["lines"][:TOP]]
        flags = variations(table, listed, mine_tables.PLANTED)
        lines += len(flags)
        counts += sum(flags)
        first += bool(flags and flags[0])
        once += sum(flags) == 1
    seeds = len(tables)
    return {
        "planted": name,
        "seeds": seeds,
        "lines": round(lines / seeds, 2),
        "variations": round(counts / seeds, 2),
        "first": f"{first} of {seeds}",
        "once": f"{once} of {seeds}",
    }


def section_rows(options: argparse.Namespace) -> list[Row]:
    """A log of ten million rows as a lazy frame: seconds and peak memory."""
    rows = QUICK_ROWS if options.quick else LOG_ROWS
    with tempfile.TemporaryDirectory(prefix="evenhand-rows-") as folder:
        path = Path(folder) / "log.parquet"
        try:
            mine_tables.write_log(mine_tables.adult(), path, rows)
        except (EvenhandError, ImportError) as error:
            print(f"rows: left out; {error}", flush=True)
            return [{"error": str(error)}]
        job: Job = {
            "parquet": str(path),
            "over": list(mine_tables.LOGGED),
            "outcome": OUTCOME,
            "levels": 1,
            "complement": None,
            "support": 0.05,
        }
        size = path.stat().st_size / 2**20
        found = ask(sys.executable, OWN, [job], own_environment())[0]
    if "error" in found:
        print(f"rows: left out; {found['error']}", flush=True)
        return [found]
    numbers = found["numbers"]
    print(
        f"{rows:,} rows in a Parquet file of {size:.0f} MB, {len(job['over'])} features,"
        f" {numbers['examined']:,} rule sets: {found['seconds']:.1f} s,"
        f" {found['cpu'][0]:.1f} CPU s, peak {found['peak']:.2f} GB"
        f" ({found['peak before']:.2f} GB before)",
        flush=True,
    )
    return [{"rows": rows, **found}]
