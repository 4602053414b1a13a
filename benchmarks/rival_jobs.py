"""Measuring in a process of its own: jobs in, CPU seconds and findings out, as JSON.

evenhand is not imported here: the rivals have an environment of their own, without it.
"""

from __future__ import annotations

import json
import os
import resource
import subprocess
import sys
import tempfile
import time
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pandas as pd

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping, Sequence

    Job = dict[str, Any]
    Row = dict[str, Any]

LONGEST = 60.0
"""Seconds after which no further run of the same work is started."""
TIMEOUT = 3600
"""Seconds that all jobs of one process may take."""
WARM_UP = 500
"""Rows of the small table that a job is run on first."""
ONE_THREAD = {"OMP_NUM_THREADS": "1", "OPENBLAS_NUM_THREADS": "1", "NUMBA_NUM_THREADS": "1"}


def read_table(path: str, outcome: str) -> pd.DataFrame:
    """Return a table of items, all of them texts, with an outcome of 0 and 1."""
    table = pd.read_csv(path, dtype=object, keep_default_na=False)
    table[outcome] = table[outcome].astype(int)
    return table


def cpu_seconds(
    work: Callable[[], Any], repeat: int, longest: float = LONGEST
) -> tuple[list[float], Any]:
    """Return the CPU seconds of each run of some work, and what came out of the last one."""
    seconds: list[float] = []
    found = None
    while not seconds or (len(seconds) < repeat and sum(seconds) < longest):
        began = time.process_time()
        found = work()
        seconds.append(time.process_time() - began)
    return seconds, found


def peak_gigabytes() -> float:
    """Return the most memory that this process has had, in GB.

    What `getrusage` says may be that of the process that started this one.
    """
    status = Path("/proc/self/status")
    if status.exists():
        for line in status.read_text().splitlines():
            if line.startswith("VmHWM:"):
                return int(line.split()[1]) / 2**20
    return resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 2**20


def serve(measured: Callable[[Job], Row]) -> None:
    """Do the jobs of the file that is named first, and write the file that is named second."""
    jobs = json.loads(Path(sys.argv[1]).read_text())
    rows: list[Row] = []
    for job in jobs:
        try:
            row = measured(job)
        except (
            Exception
        ) as error:  # whatever a rival does, the others are still to be measured
            row = {"error": f"{type(error).__name__}: {error}"}
        rows.append(row)
    Path(sys.argv[2]).write_text(json.dumps(rows))


def ask(
    python: str, program: Path, jobs: Sequence[Job], environment: Mapping[str, str]
) -> list[Row]:
    """Have jobs done by a program in a process of its own; return a row for each.

    A row has the key "error" where there is nothing else to say.
    """
    with tempfile.TemporaryDirectory(prefix="evenhand-jobs-") as folder:
        given = Path(folder) / "jobs.json"
        answered = Path(folder) / "rows.json"
        given.write_text(json.dumps(list(jobs)))
        command = [python, str(program), str(given), str(answered)]
        try:
            done = subprocess.run(
                command,
                capture_output=True,
                text=True,
                env={**environment, **ONE_THREAD},
                timeout=TIMEOUT,
                check=False,
            )
        except subprocess.TimeoutExpired:
            return [{"error": f"no end after {TIMEOUT} s"} for _ in jobs]
        if not answered.exists():
            reason = last_line(done.stderr) or f"exit status {done.returncode}"
            return [{"error": reason} for _ in jobs]
        rows: list[Row] = json.loads(answered.read_text())
        return rows


def last_line(text: str) -> str:
    """Return the last line of a text that is not empty."""
    lines = [line.strip() for line in text.splitlines() if line.strip()]
    return lines[-1] if lines else ""


def own_environment() -> dict[str, str]:
    """Return the environment of a process that imports what this one does."""
    return dict(os.environ)


def foreign_environment() -> dict[str, str]:
    """Return the environment of a process of another installation of Python packages."""
    return {name: value for name, value in os.environ.items() if name != "PYTHONPATH"}
