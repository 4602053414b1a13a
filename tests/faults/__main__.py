"""Run the fault campaign: `python -m tests.faults [--long]`."""

from __future__ import annotations

import argparse
import sys
import time
from concurrent.futures import ThreadPoolExecutor

from tests.faults.matrix import cells, judged


def main() -> int:
    """Run what was asked for, and return 1 where a cell is not as expected."""
    parser = argparse.ArgumentParser(prog="python -m tests.faults", description=__doc__)
    parser.add_argument("--long", action="store_true")
    parser.add_argument("--only", default="")
    parser.add_argument("--jobs", type=int, default=3)
    options = parser.parse_args()
    chosen = [cell for cell in cells(long=options.long) if options.only in cell.name]
    print(len(chosen), "cells")
    began = time.monotonic()
    bad = 0
    with ThreadPoolExecutor(options.jobs) as pool:
        for outcome in pool.map(judged, chosen):
            mark = "ok " if not outcome.complaints else "BAD"
            bad += bool(outcome.complaints)
            print(mark, outcome.cell.name, outcome.observed.code, f"{outcome.observed.seconds:.1f}s {outcome.observed.megabytes:.0f}MB", outcome.complaints, outcome.observed.stderr.strip()[-200:], flush=True)
    print(f"{bad} of {len(chosen)} bad, {time.monotonic() - began:.0f} s")
    return 1 if bad else 0


if __name__ == "__main__":
    sys.exit(main())
