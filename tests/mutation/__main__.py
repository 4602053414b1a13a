"""Change the code that decides, and see whether a test notices.

    python -m tests.mutation [--sample N] [--seed N] [--part NAME ...] [--seconds N] [--docs]
    python -m tests.mutation --again [--also PATH ...] [--docs]

draws mutants of each part, runs the tests that reach each of them until one fails, and writes
benchmarks/results/mutants.json. `--again` runs those that survived once more, with the tests that
there are now. `make coverage` must have run before: it finds which tests reach which lines.
"""

from __future__ import annotations

import argparse
import datetime
import json
import sys
from pathlib import Path
from typing import Any

from tests.mutation import mutants, reach, report, run
from tests.mutation.targets import PARTS
from tests.support.paths import ROOT

REACHED = ROOT / "build" / "coverage"
RESULTS = ROOT / "benchmarks" / "results" / "mutants.json"
LEAST = 0.9
"""The share of non-equivalent mutants that must be killed."""


def options(given: list[str] | None) -> argparse.Namespace:
    """Return the options of the command line."""
    parser = argparse.ArgumentParser("python -m tests.mutation", description=__doc__)
    parser.add_argument("--sample", type=int, default=50, help="mutants of each part")
    parser.add_argument("--seed", type=int, default=0)
    parser.add_argument("--part", action="append", choices=sorted(PARTS))
    parser.add_argument("--only", default="", help="mutants whose keys begin with this")
    parser.add_argument("--seconds", type=float, default=30.0, help="tests of one mutant")
    parser.add_argument("--again", action="store_true", help="survivors alone")
    parser.add_argument(
        "--also",
        action="append",
        default=[],
        metavar="PATH",
        help="a file of tests, from the root, that is newer than the last `make coverage`",
    )
    parser.add_argument("--json", type=Path, default=RESULTS)
    parser.add_argument("--reached", type=Path, default=REACHED)
    parser.add_argument("--docs", action="store_true", help="write the tables of the docs")
    return parser.parse_args(given)


def show(fate: run.Fate) -> None:
    """Print one line for each mutant."""
    mutant = fate.mutant
    test = fate.test.rpartition("/")[2]
    print(f"{fate.outcome:9} {fate.seconds:5.1f} s  {mutant.key}  {test}", flush=True)


def drawn(chosen: argparse.Namespace) -> tuple[dict[str, Any], list[mutants.Mutant]]:
    """Return the document without its mutants, and the mutants to run."""
    if chosen.again:
        document = json.loads(chosen.json.read_text(encoding="utf-8"))
        keys = [row["key"] for row in report.survivors(document)]
        return document, mutants.by_keys(keys)
    parts = chosen.part or list(PARTS)
    sample: list[mutants.Mutant] = []
    for part in parts:
        sample += mutants.sample(part, chosen.sample, chosen.seed, chosen.only)
    command = f"python -m tests.mutation --sample {chosen.sample} --seed {chosen.seed}"
    document = {
        "date": datetime.datetime.now(datetime.UTC).date().isoformat(),
        "command": command,
        "possible": {part: len(mutants.all_of(part)) for part in parts},
        "mutants": [],
    }
    return document, sample


def main(given: list[str] | None = None) -> int:
    """Run mutants; the exit code says whether enough were killed."""
    chosen = options(given)
    document, chosen_mutants = drawn(chosen)
    contexts = sorted(chosen.reached.glob("*.db"))
    if not contexts:
        sys.exit(f"{chosen.reached} has no contexts of tests; run `make coverage` first")
    known = reach.read(contexts, sorted(chosen.reached.glob("*.xml")))
    fates = run.run(
        chosen_mutants, known, most=chosen.seconds, also=chosen.also, report=show
    )
    found = {row["key"]: row for row in report.records(fates)}
    kept = [found.pop(row["key"], row) for row in document["mutants"]]
    document["mutants"] = [*kept, *found.values()]
    report.write(document, chosen.json, docs=chosen.docs)
    print(report.summary(document))
    total = report.tallies(document)[-1]
    hits = total.killed + total.timeout
    return 0 if hits >= LEAST * total.judged else 1


if __name__ == "__main__":
    sys.exit(main())
