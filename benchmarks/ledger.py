"""What the ledger costs: outcomes recorded and recalled in a second, with and without checksums,
and how often processes that share one run the same input.

Rates of rows are measured in turn in one run, over a bare table of the same rows. Shared runs are
real processes on a program that notes each of its executions.
"""

from __future__ import annotations

import argparse
import contextlib
import json
import os
import sqlite3
import statistics
import subprocess
import sys
import tempfile
import time
from pathlib import Path
from typing import Any

import numpy as np

from evenhand.subject.ledger import Ledger

BATCHES = (200, 1000, 20_000)
BARE = "CREATE TABLE test (key BLOB PRIMARY KEY, outcome NOT NULL) WITHOUT ROWID"
SHARE = """
import sys
import numpy as np
from evenhand.space.feature import category, integer
from evenhand.space.space import Space
from evenhand.subject.subject import Subject
program, ledger, seed, inputs = sys.argv[1:]
space = Space([category("sex", ["F", "M"]), integer("age", 0, 999)], ["sex"])
with Subject.command([program, "{age}", "{sex}"], space, ledger=ledger, workers=2) as subject:
    print("ready", flush=True)
    sys.stdin.readline()
    rng = np.random.default_rng(int(seed))
    ages = rng.permutation(int(inputs))
    for block in np.array_split(ages, 4):
        subject.decide(np.column_stack([block % 2, block]).astype(float))
"""


def bare_rates(
    file: Path, keys: list[bytes], values: list[str], batch: int
) -> tuple[float, float]:
    """Return rows written and read in a second where rows are only rows."""
    with contextlib.closing(sqlite3.connect(file, isolation_level=None)) as connection:
        connection.execute("PRAGMA journal_mode = WAL")
        connection.execute("PRAGMA synchronous = NORMAL")
        connection.execute(BARE)
        start = time.perf_counter()
        for at in range(0, len(keys), batch):
            rows = sorted(zip(keys[at : at + batch], values[at : at + batch], strict=True))
            connection.execute("BEGIN IMMEDIATE")
            connection.executemany("INSERT OR IGNORE INTO test VALUES (?, ?)", rows)
            connection.execute("COMMIT")
        middle = time.perf_counter()
        found: dict[bytes, str] = {}
        asked = sorted(keys)
        for at in range(0, len(asked), 900):
            chunk = asked[at : at + 900]
            marks = ",".join("?" * len(chunk))
            query = f"SELECT key, outcome FROM test WHERE key IN ({marks})"
            found.update(connection.execute(query, chunk))
        end = time.perf_counter()
    assert len(found) == len(keys)
    return len(keys) / (middle - start), len(keys) / (end - middle)


def ledger_rates(
    file: Path, keys: list[bytes], values: list[str], batch: int
) -> tuple[float, float]:
    """Return outcomes recorded and recalled in a second, with their checksums."""
    with Ledger(file, space="benchmark", subject="benchmark") as ledger:
        start = time.perf_counter()
        for at in range(0, len(keys), batch):
            ledger.record(keys[at : at + batch], values[at : at + batch])
        middle = time.perf_counter()
        assert len(ledger.known(keys)) == len(keys)
        end = time.perf_counter()
    return len(keys) / (middle - start), len(keys) / (end - middle)


def rows(count: int, rounds: int, batch: int) -> dict[str, Any]:
    """Return the rates of one size of batch, and their ratio to bare rows."""
    rng = np.random.default_rng(0)
    keys = [rng.bytes(64) for _ in range(count)]
    values = ["approve"] * count
    pairs = []
    for number in range(rounds):
        with tempfile.TemporaryDirectory() as folder:
            bare = bare_rates(Path(folder) / f"bare-{number}.db", keys, values, batch)
            ours = ledger_rates(Path(folder) / f"ours-{number}.db", keys, values, batch)
        pairs.append((bare, ours))
    return {
        "batch": batch,
        "recorded_per_second": round(statistics.median(ours[0] for _, ours in pairs)),
        "recalled_per_second": round(statistics.median(ours[1] for _, ours in pairs)),
        "written_and_read_per_second": round(
            statistics.median(1 / (1 / ours[0] + 1 / ours[1]) for _, ours in pairs)
        ),
        "recorded_over_bare": statistics.median(ours[0] / bare[0] for bare, ours in pairs),
        "recalled_over_bare": statistics.median(ours[1] / bare[1] for bare, ours in pairs),
    }


def shared(processes: int, inputs: int) -> dict[str, int]:
    """Return how often a program ran for processes that share a ledger and its inputs."""
    with tempfile.TemporaryDirectory() as folder:
        log = Path(folder) / "runs.log"
        program = Path(folder) / "loan"
        program.write_text(f'#!/bin/sh\necho "$1" >> {log}\nsleep 0.005\necho yes\n')
        program.chmod(0o755)
        ledger = Path(folder) / "a.ledger"
        started = [
            subprocess.Popen(
                [sys.executable, "-c", SHARE, program, ledger, str(seed), str(inputs)],
                stdin=subprocess.PIPE,
                stdout=subprocess.PIPE,
                env=os.environ,
            )
            for seed in range(processes)
        ]
        for process in started:
            assert process.stdout is not None
            process.stdout.readline()
        for process in started:
            _go(process)
        for process in started:
            process.wait()
        executions = len(log.read_text().splitlines())
    return {"processes": processes, "inputs": inputs, "executions": executions}


def _go(process: subprocess.Popen[bytes]) -> None:
    assert process.stdin is not None
    process.stdin.write(b"go\n")
    process.stdin.flush()


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument(
        "--json", type=Path, default=Path(__file__).parent / "results" / "ledger.json"
    )
    parser.add_argument("--rows", type=int, default=100_000)
    parser.add_argument("--rounds", type=int, default=5)
    parser.add_argument("--inputs", type=int, default=600)
    options = parser.parse_args()
    table = [rows(options.rows, options.rounds, batch) for batch in BATCHES]
    for row in table:
        print(
            f"batches of {row['batch']:6}: {row['recorded_per_second']:8,} recorded and"
            f" {row['recalled_per_second']:8,} recalled a second,"
            f" {row['written_and_read_per_second']:8,} written and read back,"
            f" {row['recorded_over_bare']:.2f} and {row['recalled_over_bare']:.2f} of bare rows",
            flush=True,
        )
    together = shared(3, options.inputs)
    print(
        f"{together['processes']} processes ran {together['executions']:,} times for"
        f" {together['inputs']:,} inputs"
    )
    report = {
        "python_version": sys.version.split()[0],
        "sqlite_version": sqlite3.sqlite_version,
        "rows": table,
        "shared": together,
        "wanted": {"written_and_read_per_second": 50_000, "executions_per_input": 1},
    }
    options.json.parent.mkdir(parents=True, exist_ok=True)
    options.json.write_text(json.dumps(report, indent=2) + "\n")


if __name__ == "__main__":
    main()
