"""The fuzzing campaign: all targets, in processes that are watched, with a table at the end.

    python -m tests.fuzz [--inputs 20000] [--jobs 2] [--seed 0] [--only TARGET] [--keep FOLDER]
    python -m tests.fuzz --again

It exits with 1 where an input led to a defect: an exception that is no refusal, more than five
seconds, more than a gigabyte, or the death of the process. The inputs that did stay in the folder.
`--again` runs those kinds of files that had a defect once more, and keeps what the others came to.
"""

from __future__ import annotations

import argparse
import contextlib
import json
import subprocess
import sys
import tempfile
import time
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass, field
from importlib.util import find_spec
from pathlib import Path
from typing import Any

from tests.fuzz.targets import Target, targets
from tests.support.generated import dated, written_between
from tests.support.paths import ROOT

PAGE = ROOT / "docs/reference/fuzzing.md"
RESULTS = ROOT / "benchmarks/results/fuzz.json"
QUIET_SECONDS = 60
"""How long a process may be silent before it is ended as one that hangs."""
MOST_RESTARTS = 20


@dataclass
class TargetReport:
    """What the inputs of one target led to."""

    target: str
    runs: int = 0
    outcomes: dict[str, int] = field(default_factory=dict)
    defects: dict[str, str] = field(default_factory=dict)
    seconds: float = 0.0

    def add(self, part: dict[str, Any]) -> None:
        """Add what one process reported."""
        self.runs += part["runs"]
        for outcome, count in part["outcomes"].items():
            self.outcomes[outcome] = self.outcomes.get(outcome, 0) + count
        self.defects |= part["defects"]


def main() -> int:
    """Run the campaign, write its table, and return the exit code."""
    options = _options()
    known = _known_reports() if options.again else []
    mended = {report.target for report in known if report.defects}
    chosen = []
    for target in targets().values():
        if _wanted(target, options.only) and (not options.again or target.name in mended):
            chosen.append(target)
    parts = sum(target.share for target in targets().values())
    if options.only:
        parts = sum(target.share for target in chosen)
    folder = Path(options.keep or tempfile.mkdtemp(prefix="evenhand-fuzz-"))
    with ThreadPoolExecutor(options.jobs) as pool:
        jobs = []
        for target in chosen:
            runs = max(200, options.inputs * target.share // parts)
            jobs.append(pool.submit(_fuzzed, target, runs, options.seed, folder))
        fresh = {job.result().target: job.result() for job in jobs}
    reports = [fresh.pop(report.target, report) for report in known] + [*fresh.values()]
    _write(reports, folder)
    print(_table(reports))
    return _ending(reports, folder)


def _options() -> argparse.Namespace:
    parser = argparse.ArgumentParser(description="Fuzz every kind of file that is read.")
    parser.add_argument("--inputs", type=int, default=20_000, help="inputs in all")
    parser.add_argument("--jobs", type=int, default=2, help="processes at a time")
    parser.add_argument("--seed", type=int, default=0)
    parser.add_argument("--only", help="targets whose name holds this")
    parser.add_argument("--keep", help="the folder for inputs and reports")
    parser.add_argument(
        "--again", action="store_true", help="kinds that had a defect alone"
    )
    parser.add_argument("--docs", action="store_true", help="write the table into the docs")
    return parser.parse_args()


def _known_reports() -> list[TargetReport]:
    """Return what the last campaign came to."""
    listed = json.loads(RESULTS.read_text("utf-8"))
    return [TargetReport(**report) for report in listed]


def _wanted(target: Target, only: str | None) -> bool:
    return only is None or only in target.name


def _fuzzed(target: Target, runs: int, seed: int, folder: Path) -> TargetReport:
    """Run the inputs of a target, in a new process where one dies or hangs."""
    report = TargetReport(target.name)
    start = time.monotonic()
    for attempt in range(MOST_RESTARTS):
        home = folder / target.name.replace(" ", "-") / str(attempt)
        left = runs - report.runs
        if left <= 0:
            break
        died = _process(target, left, seed + attempt, home)
        file = home / "report.json"
        done = {"runs": 0, "outcomes": {}, "defects": {}}
        if file.exists():
            done = json.loads(file.read_text("utf-8"))
        report.add(done)
        if died:
            report.outcomes["death"] = report.outcomes.get("death", 0) + 1
            report.defects[f"{died} (attempt {attempt})"] = str(home)
        print(f"{target.name}: {report.runs:,} of {runs:,}", file=sys.stderr, flush=True)
    report.seconds = time.monotonic() - start
    return report


def _process(target: Target, runs: int, seed: int, home: Path) -> str:
    """Run a process to its end, and return how it died, or nothing."""
    home.mkdir(parents=True, exist_ok=True)
    words = [target.name, str(runs), str(seed), str(home)]
    with (home / "output.txt").open("wb") as output:
        process = subprocess.Popen(
            [sys.executable, "-m", "tests.fuzz.worker", *words],
            cwd=ROOT,
            stdout=output,
            stderr=subprocess.STDOUT,
        )
        if _watched(process, home):
            process.kill()
            process.wait()
            return "a hang outside Python"
    if process.returncode:
        return f"an exit with code {process.returncode}"
    return ""


def _watched(process: subprocess.Popen[bytes], home: Path) -> bool:
    """Wait for a process, and return whether it stopped reporting."""
    latest = time.monotonic()
    known = 0.0
    while True:
        try:
            process.wait(timeout=2)
        except subprocess.TimeoutExpired:
            changed = _latest_change(home)
            if changed != known:
                known = changed
                latest = time.monotonic()
            if time.monotonic() - latest > QUIET_SECONDS:
                return True
        else:
            return False


def _latest_change(home: Path) -> float:
    """Return when a file in a folder was last written; some come and go meanwhile."""
    latest = 0.0
    for file in home.iterdir():
        with contextlib.suppress(FileNotFoundError):
            latest = max(latest, file.stat().st_mtime)
    return latest


def _table(reports: list[TargetReport]) -> str:
    lines = ["| kind of file | inputs | read | refused | defects | hangs | over memory |"]
    lines.append("|---|---|---|---|---|---|---|")
    for report in reports:
        counts = [
            report.outcomes.get(outcome, 0)
            for outcome in ("read", "refused", "defect", "hang", "memory")
        ]
        cells = " | ".join(f"{count:,}" for count in counts)
        lines.append(f"| {report.target} | {report.runs:,} | {cells} |")
    total = sum(report.runs for report in reports)
    lines.append(f"\n{total:,} inputs in all, {_engine()}.")
    return "\n".join(lines)


def _engine() -> str:
    if find_spec("atheris") is None:
        return "changed at random from valid files"
    return "guided by coverage from valid files (atheris)"


def _write(reports: list[TargetReport], folder: Path) -> None:
    RESULTS.parent.mkdir(exist_ok=True)
    listed = [vars(report) for report in reports]
    RESULTS.write_text(json.dumps(listed, indent=2) + "\n", encoding="utf-8")
    if "--docs" in sys.argv:
        command = "python -m tests.fuzz " + " ".join(sys.argv[1:])
        written_between(PAGE, "campaign", f"{dated(command)}\n\n{_table(reports)}")


def _ending(reports: list[TargetReport], folder: Path) -> int:
    defects = 0
    for report in reports:
        for place, file in report.defects.items():
            defects += 1
            print(f"{report.target}: {place}: {file}", file=sys.stderr)
    print(f"{sum(r.runs for r in reports):,} inputs, {defects} kinds of defects; {folder}")
    return 1 if defects else 0


if __name__ == "__main__":
    sys.exit(main())
