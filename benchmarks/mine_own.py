"""mine_log as its rivals are measured: in a process of its own, by CPU seconds and peak memory.

`python mine_own.py JOBS ROWS` does jobs; mine_rivals.py says which.
"""

from __future__ import annotations

import time
from typing import TYPE_CHECKING, Any

import evenhand as eh
from evenhand.methods.mine.rule_sets import Mining, RuleSetOptions, Treated
from rival_jobs import WARM_UP, cpu_seconds, peak_gigabytes, read_table, serve

if TYPE_CHECKING:
    import pandas as pd

    from evenhand.methods.mine.ranking import RuleSet
    from rival_jobs import Job, Row

    Conditions = dict[str, list[str]]

NUMBERS = ("rows", "depth", "candidates", "frequent", "examined")
"""What is kept of the details of a result."""


def mine_items(table: Any, job: Job) -> eh.Result:
    """Call mine_log on the rule sets that itemset miners look at.

    These do not ask how many people an itemset leaves (complement=0).
    """
    return eh.mine_log(
        table,
        outcome=job["outcome"],
        over=job["over"],
        levels=job.get("levels"),
        support=job["support"],
        complement=job.get("complement", 0.0),
        depth=job.get("depth"),
        top=job.get("lines", 10),
    )


def our_mining(table: pd.DataFrame, job: Job) -> Mining:
    """Return all rule sets that `mine_items` ranks."""
    names = job["over"]
    space = eh.Space.from_frame(table[names], protected=names)
    outcome = table[job["outcome"]].to_numpy(dtype=float)
    treated = Treated(space.encode(table[names]), outcome, "", "recorded")
    options = RuleSetOptions(
        job["support"],
        job.get("complement", 0.0),
        levels=job.get("levels"),
        depth=job.get("depth"),
    )
    return Mining.of(space, names, treated, options)


def our_rule_sets(mining: Mining) -> list[RuleSet]:
    """Return all rule sets, each with its rows and those with the outcome.

    Nothing else in the benchmarks knows how they are kept.
    """
    ranking = mining.ranking
    return [ranking.rule_set(number) for number in range(ranking.examined)]


def conditions_of(mining: Mining, rule_set: RuleSet) -> Conditions:
    """Return the levels that a rule set names, by feature."""
    conditions = {}
    for condition in mining.cube.conditions(rule_set.family, rule_set.place):
        conditions[condition.feature] = list(map(str, condition.levels))
    return conditions


def stories(result: eh.Result) -> list[tuple[Conditions, float, float, float]]:
    """Return the rule sets that a result reports, each with its rows, hits and lower limit."""
    listed = []
    for story in result.details["mine"][0]["stories"]:
        conditions = {}
        for condition in story["rule"]["conditions"]:
            conditions[condition["feature"]] = condition["levels"]
        hits = round(story["rows"] * story["rate"]["value"])
        listed.append((conditions, float(story["rows"]), float(hits), story["low"]))
    return listed


def measured(job: Job) -> Row:
    """Do one job: a table of items, or a log in a Parquet file."""
    if job.get("parquet"):
        return _measured_log(job)
    table = read_table(job["table"], job["outcome"])
    if job["timed"]:
        mine_items(table.head(WARM_UP), job)
    repeat = job["repeat"] if job["timed"] else 1
    seconds, result = cpu_seconds(lambda: mine_items(table, job), repeat)
    # All counts, intervals and the ranking, with one story instead of ten that add to each other.
    ranked, _ = cpu_seconds(lambda: mine_items(table, {**job, "lines": 1}), repeat)
    entry = result.details["mine"][0]
    return {
        "version": eh.__version__,
        "cpu": seconds,
        "ranked": ranked,
        "peak": peak_gigabytes(),
        "numbers": {name: entry[name] for name in NUMBERS},
        "lines": stories(result),
    }


def _measured_log(job: Job) -> Row:
    """Mine a log that is read as it is needed."""
    import polars as pl

    lazy = pl.scan_parquet(job["parquet"])
    mine_items(lazy.head(WARM_UP), job)
    before = peak_gigabytes()
    wall = time.perf_counter()
    seconds, result = cpu_seconds(lambda: mine_items(lazy, job), 1)
    entry = result.details["mine"][0]
    return {
        "cpu": seconds,
        "seconds": time.perf_counter() - wall,
        "peak": peak_gigabytes(),
        "peak before": before,
        "numbers": {name: entry[name] for name in NUMBERS},
    }


if __name__ == "__main__":
    serve(measured)
