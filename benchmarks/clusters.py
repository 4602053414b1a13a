"""What a cluster costs over processes of this machine: a forest measured by loky, Dask and Ray.

All run on this machine, with as many worker processes, one after the other in each round, so that a
busy machine slows them alike; the median of the ratios to loky is printed. What goes over the
network to the workers of Dask is counted by the system, where it counts that (Linux), and is said
in sizes of the model for each worker.
"""

from __future__ import annotations

import argparse
import json
import logging
import pickle
import statistics
import time
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

import joblib
import numpy as np
from sklearn.ensemble import RandomForestClassifier

import evenhand as eh
from evenhand.runtime.workers.clusters import cluster

if TYPE_CHECKING:
    from collections.abc import Iterator
    from contextlib import AbstractContextManager

NAMES = [f"x{number}" for number in range(8)]
SPACE = eh.Space(
    [eh.category("sex", ["F", "M"]), *(eh.real(name, 0, 1) for name in NAMES)],
    protected=["sex"],
)
COUNTERS = Path("/proc/net/dev")
"""Where Linux counts what goes over each network."""


class Forest:
    """A forest that is asked about people, and logs when it is packed."""

    def __init__(self, trees: int) -> None:
        rng = np.random.default_rng(0)
        rows = rng.random((20_000, 1 + len(NAMES)))
        rows[:, 0] = rows[:, 0] > 0.5
        score = rows[:, 1] + rows[:, 2] * rows[:, 3] + 0.1 * rows[:, 0]
        truth = score + 0.3 * rng.random(len(rows)) > 0.9
        self.model = RandomForestClassifier(trees, random_state=0).fit(rows, truth)

    def __getstate__(self) -> dict[str, Any]:
        # A count of the class would be sent with it, and make it another model each time.
        logging.getLogger("forest").warning("packed")
        return vars(self)

    def __call__(self, people: Any) -> Any:
        columns = [people["sex"] == "M", *(people[name] for name in NAMES)]
        return self.model.predict(np.column_stack(columns).astype(float))


class Pickles(logging.Handler):
    """Counts how often the forest is packed in this process."""

    count = 0

    def emit(self, record: logging.LogRecord) -> None:
        """Count a record."""
        self.count += 1


PICKLES = Pickles()
logging.getLogger("forest").addHandler(PICKLES)


@dataclass(frozen=True)
class Timing:
    """One run: its result, how long it took, and what was sent."""

    digest: str
    seconds: float
    pickles: int
    network: int | None
    """Bytes over the network of this machine."""


def timed(forest: Forest, margin: float, n_jobs: int) -> Timing:
    """Measure the forest once."""
    subject = eh.Subject(forest, SPACE, memo=False)
    before = PICKLES.count
    sent_before = network()
    began = time.perf_counter()
    found = eh.measure(subject, margin=margin, exact=False, seed=1, n_jobs=n_jobs)
    seconds = time.perf_counter() - began
    sent_after = network()
    sent = None
    if sent_after is not None and sent_before is not None:
        sent = sent_after - sent_before
    return Timing(found.digest, seconds, PICKLES.count - before, sent)


def network() -> int | None:
    """Return the bytes that processes of this machine have sent each other."""
    if not COUNTERS.exists():
        return None
    for line in COUNTERS.read_text(encoding="ascii").splitlines():
        name, _, counts = line.partition(":")
        if name.strip() == "lo":
            return int(counts.split()[0])
    return None


@contextmanager
def dask(workers: int) -> Iterator[None]:
    """Have a Dask cluster of this machine do the work."""
    from distributed import LocalCluster

    with (
        LocalCluster(
            n_workers=workers, threads_per_worker=1, dashboard_address=":0"
        ) as local,
        cluster(f"dask:{local.scheduler_address}"),
    ):
        yield


def ray(workers: int) -> AbstractContextManager[None]:
    """Have Ray do the work on this machine."""
    return cluster("ray:local")


def loky(workers: int) -> AbstractContextManager[Any]:
    """Have processes of this machine do the work."""
    context: AbstractContextManager[Any] = joblib.parallel_config(backend="loky")
    return context


BACKENDS = {"loky": loky, "dask": dask, "ray": ray}


def compared(
    forest: Forest, margin: float, workers: int, rounds: int, names: list[str]
) -> dict[str, list[list[Timing]]]:
    """Return two runs of each backend in each round: with new processes, and with those again."""
    found: dict[str, list[list[Timing]]] = {name: [] for name in names}
    for _ in range(rounds):
        for name in names:
            # One cluster at a time: those that wait take memory and time from the others.
            with BACKENDS[name](workers):
                found[name].append([timed(forest, margin, workers) for _ in range(2)])
    return found


def summary(
    found: dict[str, list[list[Timing]]], size: int, workers: int
) -> dict[str, dict[str, float | None]]:
    """Return for each backend its time, that over loky, and what was sent, of warm runs."""
    table = {}
    for name, rounds in found.items():
        warm = [runs[1].seconds for runs in rounds]
        ratios = [
            mine[1].seconds / theirs[1].seconds
            for mine, theirs in zip(rounds, found["loky"], strict=True)
        ]
        cold, again = rounds[0]
        table[name] = {
            "seconds": statistics.median(warm),
            "over_loky": statistics.median(ratios),
            "pickles": cold.pickles,
            "models_a_worker": models(cold, size, workers),
            "models_a_worker_again": models(again, size, workers),
        }
    return table


def models(run: Timing, size: int, workers: int) -> float | None:
    """Return what was sent over the network, in models for each worker."""
    return None if run.network is None else run.network / size / workers


def main() -> None:
    """Print the table, and write it as JSON."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--trees", type=int, default=300, help="300 are about 50 MB")
    parser.add_argument("--margin", type=float, default=0.002, help="how long a run is")
    parser.add_argument("--workers", type=int, default=2)
    parser.add_argument("--rounds", type=int, default=3)
    others = [name for name in BACKENDS if name != "loky"]
    parser.add_argument("--others", nargs="+", default=others, choices=others)
    default = Path(__file__).parent / "results" / "clusters.json"
    parser.add_argument("--json", type=Path, default=default)
    options = parser.parse_args()
    forest = Forest(options.trees)
    size = len(pickle.dumps(forest, protocol=5))
    names = ["loky", *options.others]
    found = compared(forest, options.margin, options.workers, options.rounds, names)
    digests = {run.digest for rounds in found.values() for runs in rounds for run in runs}
    if len(digests) != 1:
        raise SystemExit("the backends disagree")
    table = summary(found, size, options.workers)
    print(f"a forest of {size / 1e6:.0f} MB, {options.workers} workers")
    for name, row in table.items():
        sent = row["models_a_worker"]
        shown = "unknown" if sent is None else f"{sent:.2f}"
        print(
            f"{name:>5}: {row['seconds']:6.1f} s, {row['over_loky']:.2f} times loky,"
            f" {row['pickles']} pickles, {shown} models sent to each worker at first"
        )
    options.json.parent.mkdir(exist_ok=True)
    content = {"model_bytes": size, "workers": options.workers, "backends": table}
    options.json.write_text(json.dumps(content, indent=2) + "\n")


if __name__ == "__main__":
    main()
