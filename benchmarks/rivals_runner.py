"""The other subgroup miners, each as it is meant to be called, in the environment they share.

`python rivals_runner.py JOBS ROWS`, by the interpreter of benchmarks/.rivals: rivals_environment.py
makes it, and mine_rivals.py says what is measured.
"""

from __future__ import annotations

import importlib
import importlib.metadata
import math
import warnings
from typing import TYPE_CHECKING, Any

from rival_jobs import WARM_UP, cpu_seconds, peak_gigabytes, read_table, serve

if TYPE_CHECKING:
    from collections.abc import Callable

    import pandas as pd

    from rival_jobs import Job, Row

    Conditions = dict[str, list[str]]
    Line = tuple[Conditions, float, float, float]
    """Conditions, how many rows meet them, how many of those have the outcome, and a score."""

REDUNDANCY = 0.01
"""The change of divergence below which DivExplorer's pruning takes a condition for superfluous."""


def divexplorer(table: pd.DataFrame, job: Job) -> tuple[Callable[[], Any], Any]:
    """Frequent itemsets by FP-growth, with their divergence."""
    library = importlib.import_module("divexplorer")
    outcome = job["outcome"]

    def work() -> Any:
        explorer = library.DivergenceExplorer(table[[*job["over"], outcome]])
        return explorer.get_pattern_divergence(
            job["support"], boolean_outcomes=[outcome], show_coincise=False
        )

    def lines(found: Any) -> list[Line]:
        patterns = found[found["length"] > 0]
        if job.get("pruned"):
            processor = library.DivergencePatternProcessor(found, outcome)
            kept = processor.redundancy_pruning(REDUNDANCY)["itemset"]
            patterns = patterns[patterns["itemset"].isin(set(kept))]
        order = patterns[f"{outcome}_div"].abs().sort_values(ascending=False).index
        columns = ["itemset", "support_count", f"{outcome}_positive", f"{outcome}_div"]
        listed = []
        for items, size, hits, score in patterns.loc[order, columns].itertuples(
            index=False
        ):
            listed.append((_of_items(items), float(size), float(hits), float(score)))
        return listed

    return work, lines


def _least(job: Job, table: pd.DataFrame) -> int:
    """Return the fewest rows of a subgroup; what rounding adds to a product is not a row."""
    support: float = job["support"]
    return math.ceil(support * len(table) - 1e-9)


def _of_items(items: Any) -> Conditions:
    conditions = {}
    for item in items:
        feature, _, value = item.partition("=")
        conditions[feature] = [value]
    return conditions


def pysubgroup(table: pd.DataFrame, job: Job) -> tuple[Callable[[], Any], Any]:
    """Depth-first search over bit sets, with a quality: the best few, or all there are."""
    library = importlib.import_module("pysubgroup")
    outcome = job["outcome"]
    data = table[[*job["over"], outcome]].assign(**{outcome: table[outcome] == 1})
    least = _least(job, data)
    most = job.get("top") or 10**9

    def work() -> Any:
        selectors = library.create_nominal_selectors(data, ignore=[outcome])
        task = library.SubgroupDiscoveryTask(
            data,
            library.BinaryTarget(outcome, True),
            selectors,
            library.StandardQF(job["exponent"]),
            result_set_size=most,
            depth=job.get("depth") or len(job["over"]),
            constraints=[library.MinSupportConstraint(least)],
        )
        return library.DFS(library.BitSetRepresentation).execute(task)

    def lines(found: Any) -> list[Line]:
        listed = []
        for quality, subgroup, statistics in found.results:
            conditions = {}
            for selector in subgroup.selectors:
                conditions[selector.attribute_name] = [str(selector.attribute_value)]
            size = float(statistics.size_sg)
            hits = float(statistics.positives_count)
            if conditions:
                listed.append((conditions, size, hits, float(quality)))
        return listed

    return work, lines


def bias_scan(table: pd.DataFrame, job: Job) -> tuple[Callable[[], Any], Any]:
    """The multidimensional subset scan of AIF360: one subset of levels of every feature."""
    detectors = importlib.import_module("aif360.detectors")
    features = table[job["over"]]
    observed = table[job["outcome"]]

    def work() -> Any:
        return detectors.bias_scan(
            features, observed, favorable_value=1, overpredicted=not job["higher"]
        )

    def lines(found: Any) -> list[Line]:
        subset, score = found
        conditions = {}
        inside = observed == observed
        for feature, values in subset.items():
            conditions[feature] = [str(value) for value in values]
            inside &= features[feature].isin(values)
        hits = observed[inside].sum()
        return [(conditions, float(inside.sum()), float(hits), float(score))]

    return work, lines


def sliceline(table: pd.DataFrame, job: Job) -> tuple[Callable[[], Any], Any]:
    """The slices of the highest score of errors."""
    slicefinder = importlib.import_module("sliceline.slicefinder")
    items = table[job["over"]].to_numpy()
    errors = table[job["outcome"]].to_numpy(dtype=float)
    least = _least(job, table)

    def work() -> Any:
        finder = slicefinder.Slicefinder(
            alpha=job["alpha"],
            k=job["top"],
            max_l=job.get("depth") or len(job["over"]),
            min_sup=least,
            verbose=False,
        )
        return finder.fit(items, errors)

    def lines(found: Any) -> list[Line]:
        listed = []
        pairs = zip(found.top_slices_, found.top_slices_statistics_, strict=True)
        for values, statistics in pairs:
            conditions = {}
            for feature, value in zip(job["over"], values, strict=True):
                if value is not None:
                    conditions[feature] = [str(value)]
            size = float(statistics["slice_size"])
            hits = float(statistics["sum_slice_error"])
            listed.append((conditions, size, hits, float(statistics["slice_score"])))
        return listed

    return work, lines


TOOLS = {
    "DivExplorer": (divexplorer, "divexplorer"),
    "pysubgroup": (pysubgroup, "pysubgroup"),
    "bias_scan": (bias_scan, "aif360"),
    "sliceline": (sliceline, "sliceline"),
}
"""How each rival is called, and the package it is in."""


def measured(job: Job) -> Row:
    """Do one job: warm up where it is timed, run, and list what was found."""
    tool, package = TOOLS[job["tool"]]
    table = read_table(job["table"], job["outcome"])
    if job["timed"]:
        warm_up, _ = tool(table.head(WARM_UP), job)
        warm_up()
    work, lines = tool(table, job)
    seconds, found = cpu_seconds(work, job["repeat"] if job["timed"] else 1)
    listed = lines(found)
    return {
        "version": importlib.metadata.version(package),
        "cpu": seconds,
        "peak": peak_gigabytes(),
        "found": len(listed),
        "lines": listed[: job.get("listed")],
    }


if __name__ == "__main__":
    warnings.simplefilter("ignore")
    serve(measured)
