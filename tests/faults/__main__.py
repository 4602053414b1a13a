"""Run the fault campaign: `python -m tests.faults [--long]`."""

from __future__ import annotations

import argparse
import resource
import sys
import time
from concurrent.futures import ThreadPoolExecutor
from typing import TYPE_CHECKING, Any

from tests.faults.disks import disk_cells, tried
from tests.faults.ledgers import recalled, resumed
from tests.faults.matrix import cells, judged
from tests.faults.signals import lived, lives
from tests.faults.table import Campaign, summary, write_json, write_page

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Sequence

PARTS = ("matrix", "signals", "ledgers", "disks")


def main() -> int:
    """Run what was asked for, and return 1 where something is not as expected."""
    options = _options()
    campaign = Campaign(_command(options.long))
    began = time.monotonic()
    with ThreadPoolExecutor(options.jobs) as pool:
        _run(campaign, options, pool)
    campaign.seconds = time.monotonic() - began
    if options.json:
        write_json(campaign)
    if options.docs:
        write_page(campaign)
    for line in campaign.failures:
        print("not as expected:", line)
    print(
        f"{summary(campaign)}; {campaign.seconds:.0f} s, {_processor_seconds():.0f} s of work"
    )
    return 1 if campaign.failures else 0


def _processor_seconds() -> float:
    """Return how long processors have worked on all this, however busy they were otherwise."""
    total = 0.0
    for who in (resource.RUSAGE_SELF, resource.RUSAGE_CHILDREN):
        usage = resource.getrusage(who)
        total += usage.ru_utime + usage.ru_stime
    return total


def _command(long: Sequence[str]) -> str:
    """Return the command that does this."""
    if not long:
        return "make faults"
    if set(long) == set(PARTS):
        return "make faults-long"
    return f"python -m tests.faults --long {' '.join(long)}"


def _options() -> argparse.Namespace:
    parser = argparse.ArgumentParser(prog="python -m tests.faults", description=__doc__)
    parser.add_argument(
        "--long",
        nargs="*",
        choices=PARTS,
        default=(),
        metavar="PART",
        help=f"all there is of these parts, or of every part: {', '.join(PARTS)}",
    )
    parser.add_argument("--only", default="", help="cells whose name holds this text")
    parser.add_argument("--part", choices=PARTS, action="append", help="this part alone")
    parser.add_argument("--jobs", type=int, default=3, help="cells at a time (3)")
    parser.add_argument(
        "--json", action="store_true", help="write the JSON of the campaign"
    )
    parser.add_argument("--docs", action="store_true", help="write the page of the docs")
    options = parser.parse_args()
    if options.long == []:
        options.long = PARTS
    return options


def _run(campaign: Campaign, options: argparse.Namespace, pool: ThreadPoolExecutor) -> None:
    parts = options.part or PARTS
    if "matrix" in parts:
        chosen = [
            cell
            for cell in cells(long="matrix" in options.long)
            if options.only in cell.name
        ]
        campaign.cells = _watched(pool, judged, chosen, lambda outcome: outcome.cell.name)
    if "signals" in parts:
        campaign.lives = _watched(
            pool,
            lived,
            lives(long="signals" in options.long),
            lambda outcome: outcome.life.name,
        )
    if "ledgers" in parts:
        long = "ledgers" in options.long
        campaign.recalled = recalled(long=long)
        campaign.resumed = resumed(long=long)
    if "disks" in parts:
        campaign.disks = _watched(
            pool, tried, disk_cells(), lambda outcome: outcome.fault.name
        )


def _watched(
    pool: ThreadPoolExecutor,
    act: Callable[[Any], Any],
    chosen: Iterable[Any],
    name: Callable[[Any], str],
) -> list[Any]:
    """Do something with each, and print what came of it as it comes."""
    outcomes = []
    for outcome in pool.map(act, chosen):
        mark = "BAD" if outcome.complaints else "ok "
        print(mark, name(outcome), "; ".join(outcome.complaints), flush=True)
        outcomes.append(outcome)
    return outcomes


if __name__ == "__main__":
    sys.exit(main())
