"""How fast inputs reach a program: command against a bare pool of processes, stream against
command, HTTP.

Wanted: command at least 0.9 of the bare pool, stream at least 50 times the command, on a trivial
program.
"""

from __future__ import annotations

import argparse
import json
import os
import shutil
import statistics
import subprocess
import sys
import tempfile
import threading
import time
from concurrent.futures import ThreadPoolExecutor
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from typing import TYPE_CHECKING

import numpy as np

from evenhand.space.feature import category, integer
from evenhand.space.space import Space
from evenhand.subject.adapters.command import CommandAdapter
from evenhand.subject.adapters.http.adapter import HttpAdapter
from evenhand.subject.adapters.stream import StreamAdapter

if TYPE_CHECKING:
    from collections.abc import Callable

    from evenhand.subject.adapters.base import Adapter

SPACE = Space([category("sex", ["F", "M"]), integer("age", 18, 90)], protected=["sex"])
C_PROGRAM = r"""
#include <stdio.h>
#include <string.h>
int main(int count, char **argv) {
    char line[4096];
    if (count > 1) { puts(argv[1][0] == 'M' ? "1" : "0"); return 0; }
    while (fgets(line, sizeof line, stdin)) {
        puts(strstr(line, "\"M\"") ? "1" : "0");
        fflush(stdout);
    }
    return 0;
}
"""
PYTHON_PROGRAM = """
import json, sys
if len(sys.argv) > 1:
    print(int(sys.argv[1] == "M"))
else:
    for line in sys.stdin:
        print(int(json.loads(line)["sex"] == "M"), flush=True)
"""


class Handler(BaseHTTPRequestHandler):
    protocol_version = "HTTP/1.1"
    disable_nagle_algorithm = True

    def do_POST(self) -> None:
        people = json.loads(self.rfile.read(int(self.headers["Content-Length"])))["inputs"]
        content = json.dumps([int(person["sex"] == "M") for person in people]).encode()
        self.send_response(200)
        self.send_header("Content-Length", str(len(content)))
        self.end_headers()
        self.wfile.write(content)

    def log_message(self, *_: object) -> None:
        pass


def points(n: int) -> np.ndarray[tuple[int, ...], np.dtype[np.float64]]:
    return SPACE.draw(n, np.random.default_rng(0))


def rate(n: int, work: Callable[[], object]) -> float:
    began = time.perf_counter()
    work()
    return n / (time.perf_counter() - began)


def exhaust(adapter: Adapter, n: int) -> None:
    answered = sum(len(rows) for rows, _ in adapter.run(points(n), SPACE))
    if answered != n:
        raise SystemExit(f"{answered} answers to {n} inputs")


def bare_pool(argv: list[str], width: int, n: int) -> None:
    """What anybody would write: `subprocess.run` in a pool of threads."""
    labels = SPACE.labels(points(n))
    commands = [
        [*argv, sex, str(age)]
        for sex, age in zip(labels["sex"], labels["age"], strict=True)
    ]
    with ThreadPoolExecutor(width) as pool:
        for done in pool.map(
            lambda command: subprocess.run(command, capture_output=True, check=True),
            commands,
        ):
            int(done.stdout)


def compare_commands(argv: list[str], width: int, n: int, rounds: int) -> dict[str, object]:
    adapter = CommandAdapter([*argv, "{sex}", "{age}"], workers=width)
    pairs = []
    for turn in range(rounds):
        jobs = [lambda: exhaust(adapter, n), lambda: bare_pool(argv, width, n)]
        order = (0, 1) if turn % 2 else (1, 0)
        rates = {which: rate(n, jobs[which]) for which in order}
        pairs.append((rates[0], rates[1]))
    ours, bare = (statistics.median(column) for column in zip(*pairs, strict=True))
    ratios = sorted(one / other for one, other in pairs)
    return {
        "workers": width,
        "command_per_second": round(ours, 1),
        "bare_pool_per_second": round(bare, 1),
        "ratio": round(statistics.median(ratios), 3),
        "ratio_of_each_round": [round(ratio, 3) for ratio in ratios],
    }


def stream_rate(argv: list[str], workers: int, n: int, rounds: int) -> float:
    adapter = StreamAdapter(argv, workers=workers)
    exhaust(adapter, 2 * workers)
    found = statistics.median(rate(n, lambda: exhaust(adapter, n)) for _ in range(rounds))
    adapter.close()
    return found


def http_rate(n: int, rounds: int) -> float:
    server = ThreadingHTTPServer(("127.0.0.1", 0), Handler)
    server.daemon_threads = True
    threading.Thread(target=server.serve_forever, daemon=True).start()
    adapter = HttpAdapter(f"http://127.0.0.1:{server.server_port}/")
    found = statistics.median(rate(n, lambda: exhaust(adapter, n)) for _ in range(rounds))
    adapter.close()
    server.shutdown()
    server.server_close()
    return found


def programs(folder: Path) -> dict[str, list[str]]:
    """Return trivial programs that serve both as command and as stream."""
    script = folder / "loan.py"
    script.write_text(PYTHON_PROGRAM)
    found = {"python": [sys.executable, "-S", str(script)]}
    if shutil.which("cc"):
        (folder / "loan.c").write_text(C_PROGRAM)
        subprocess.run(
            ["cc", "-O2", "-o", str(folder / "loan"), str(folder / "loan.c")], check=True
        )
        found = {"c": [str(folder / "loan")], **found}
    return found


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument(
        "--json", type=Path, default=Path(__file__).parent / "results" / "transport.json"
    )
    parser.add_argument("--inputs", type=int, default=400, help="processes per round")
    parser.add_argument("--rounds", type=int, default=9)
    options = parser.parse_args()
    width = os.cpu_count() or 1
    report: dict[str, object] = {
        "processors": width,
        "python_version": sys.version.split()[0],
        "rounds": options.rounds,
    }
    with tempfile.TemporaryDirectory() as folder:
        for name, argv in programs(Path(folder)).items():
            count = options.inputs if name == "c" else max(20, options.inputs // 10)
            commands = [
                compare_commands(argv, workers, count, options.rounds)
                for workers in (width, 2 * width)
            ]
            best = max(float(str(row["command_per_second"])) for row in commands)
            streams = {
                workers: stream_rate(argv, workers, 100_000, 3) for workers in (1, width)
            }
            report[name] = {
                "command": commands,
                "stream_per_second": {
                    str(workers): round(found) for workers, found in streams.items()
                },
                "stream_over_command": {
                    str(workers): round(found / best, 1)
                    for workers, found in streams.items()
                },
            }
    report["http_per_second"] = round(http_rate(50_000, 3))
    report["wanted"] = {"command_over_bare_pool": 0.9, "stream_over_command": 50}
    text = json.dumps(report, indent=2)
    options.json.parent.mkdir(parents=True, exist_ok=True)
    options.json.write_text(text + "\n")
    print(text)


if __name__ == "__main__":
    main()
