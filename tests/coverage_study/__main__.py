"""Do the intervals and verdicts that the verbs print hold their level?

    python -m tests.coverage_study [--runs N] [--seconds N] [--more] [--only TEXT] [--docs]

calls every verb many times where the truth is known, prints how often its intervals hold and its
verdicts are wrong, writes benchmarks/results/coverage_study.json, and ends with 1 where a level is
not held beyond chance. `--more` goes on from the runs that the file has.
"""

from __future__ import annotations

import argparse
import datetime
import json
import math
import sys
import time
from pathlib import Path
from typing import TYPE_CHECKING, Any

from joblib import Parallel, delayed

from tests.coverage_study import records, software
from tests.support.generated import table, written_between
from tests.support.paths import ROOT

if TYPE_CHECKING:
    from tests.coverage_study.cells import StudyCell

RESULTS = ROOT / "benchmarks" / "results" / "coverage_study.json"
PAGE = ROOT / "docs" / "explanation" / "coverage.md"


def options(given: list[str] | None) -> argparse.Namespace:
    """Return the options of the command line."""
    parser = argparse.ArgumentParser("python -m tests.coverage_study", description=__doc__)
    parser.add_argument("--runs", type=int, default=1000)
    parser.add_argument("--only", default="", help="cells whose name holds this text")
    parser.add_argument(
        "--seconds",
        type=float,
        default=math.inf,
        help="of each cell",
    )
    parser.add_argument("--more", action="store_true", help="go on from earlier runs")
    parser.add_argument("--jobs", type=int, default=1)
    parser.add_argument("--json", type=Path, default=RESULTS)
    parser.add_argument("--docs", action="store_true", help="write the table of the docs")
    return parser.parse_args(given)


def shown(share: float | None, error: float) -> str:
    """Return a share with its Monte-Carlo error.

    >>> shown(0.956, 0.0065), shown(None, 0.0)
    ('95.6 ± 0.7 %', '–')
    """
    if share is None:
        return "–"
    return f"{100 * share:.1f} ± {100 * error:.1f} %"


def markdown(rows: list[dict[str, Any]]) -> str:
    """Return the table of the documentation."""
    lines = []
    for row in rows:
        wrong = row["wrong_verdict"]
        share = shown(row["wrong"], row["wrong_error"])
        lines.append(
            [
                f"`{row['verb']}`",
                row["what"],
                row["truth"],
                f"{row['runs']:,}",
                f"{100 * row['level']:g} %",
                shown(row["coverage"], row["standard_error"]),
                f"{wrong}: {share}" if wrong else "–",
                "**no**" if row["below"] else "yes",
            ]
        )
    heads = ["verb", "how", "truth", "runs", "level", "held", "wrong verdicts", "holds"]
    return table(heads, lines)


def simulated(task: tuple[int, int, float, dict[str, Any] | None]) -> dict[str, Any]:
    """Run one cell, and print its line of the table."""
    place, runs, seconds, earlier = task
    started = time.process_time()
    row = (
        all_cells()[place]
        .simulate(
            runs,
            seconds,
            earlier,
        )
        .document()
    )
    spent = time.process_time() - started
    print(
        markdown([row]).splitlines()[-1],
        f"{spent:.1f} s",
        flush=True,
    )
    return row


def all_cells() -> list[StudyCell]:
    """Return all cells of the study."""
    return [*software.cells(), *records.cells()]


def earlier_rows(file: Path) -> dict[str, dict[str, Any]]:
    """Return the rows of a file by their keys."""
    if not file.exists():
        return {}
    document = json.loads(file.read_text(encoding="utf-8"))
    return {row["key"]: row for row in document["rows"]}


def command_of(chosen: argparse.Namespace) -> str:
    """Return the command in the form that the documentation shows."""
    command = f"python -m tests.coverage_study --runs {chosen.runs}"
    if math.isfinite(chosen.seconds):
        command += f" --seconds {chosen.seconds:g}"
    return command + (" --more" if chosen.more else "")


def main(given: list[str] | None = None) -> int:
    """Run all cells."""
    chosen = options(given)
    known = earlier_rows(chosen.json) if chosen.more else {}
    tasks = []
    for place, cell in enumerate(all_cells()):
        if chosen.only in cell.key:
            tasks.append(
                (
                    place,
                    chosen.runs,
                    chosen.seconds,
                    known.get(cell.key),
                )
            )
    with Parallel(n_jobs=chosen.jobs) as parallel:
        rows = parallel(delayed(simulated)(task) for task in tasks)
    found = {**known, **{row["key"]: row for row in rows}}
    ordered = [found[cell.key] for cell in all_cells() if cell.key in found]
    document = {
        "date": datetime.datetime.now(datetime.UTC).date().isoformat(),
        "command": command_of(chosen),
        "rows": ordered,
    }
    chosen.json.parent.mkdir(parents=True, exist_ok=True)
    chosen.json.write_text(
        json.dumps(document, indent=1) + "\n",
        encoding="utf-8",
    )
    if chosen.docs:
        note = f"{document['date']}, `{document['command']}`."
        written_between(
            PAGE,
            "coverage study",
            f"{note}\n\n{markdown(ordered)}",
        )
    return 1 if any(row["below"] for row in ordered) else 0


if __name__ == "__main__":
    sys.exit(main())
