"""What evenhand adds to the model's own time: draw, encode, decide and count, over bare predict on
the same rows.

Bare time is the model's predict on all rows as one DataFrame. Both are timed in turn in one run, so
that a busy machine slows them alike, and the median ratio is printed. Memory is measured in a
process of its own.
"""

from __future__ import annotations

import argparse
import json
import statistics
import subprocess
import sys
import time
import warnings
from pathlib import Path
from typing import Any

import numpy as np

from evenhand import datasets
from evenhand.runtime.random_streams import stream
from evenhand.space.space import Space
from evenhand.subject.subject import Subject

BLOCK = 131_072
WANTED = {"tree": 1.4, "one-hot + MLP": 1.25, "forest of 50": 1.2, "bare numeric tree": 3.0}


def subjects(*only: str) -> dict[str, tuple[Subject, Any]]:
    from sklearn.compose import make_column_transformer
    from sklearn.ensemble import RandomForestClassifier
    from sklearn.neural_network import MLPClassifier
    from sklearn.pipeline import make_pipeline
    from sklearn.preprocessing import OneHotEncoder, OrdinalEncoder, StandardScaler
    from sklearn.tree import DecisionTreeClassifier

    adult = datasets.load("adult")
    rows = adult.frame.drop(columns=adult.target)
    labels = adult.frame[adult.target]
    texts = [
        name for name in rows if rows[name].dtype == "str" or rows[name].dtype == object
    ]

    def ordinal(model: Any) -> Any:
        return make_pipeline(
            make_column_transformer((OrdinalEncoder(), texts), remainder="passthrough"),
            model,
        )

    one_hot = make_column_transformer((OneHotEncoder(), texts), remainder=StandardScaler())
    numeric = rows.copy()
    for name in texts:
        numeric[name] = numeric[name].astype("category").cat.codes.astype("int64")
    models = {
        "tree": (ordinal(DecisionTreeClassifier(max_depth=10, random_state=0)), rows),
        "one-hot + MLP": (
            make_pipeline(one_hot, MLPClassifier((64,), max_iter=5, random_state=0)),
            rows,
        ),
        "forest of 50": (ordinal(RandomForestClassifier(50, random_state=0)), rows),
        "bare numeric tree": (DecisionTreeClassifier(max_depth=8, random_state=0), numeric),
    }
    made = {}
    for name, (model, inputs) in models.items():
        if only and name not in only:
            continue
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            model.fit(inputs, labels)
        space = Space.from_frame(inputs, protected=["sex", "race"])
        made[name] = (Subject(model, space, positive=">50K", memo=False), model)
    return made


def ours(subject: Subject, n: int, seed: int) -> int:
    hits = 0
    for block, start in enumerate(range(0, n, BLOCK)):
        points = subject.space.draw(min(BLOCK, n - start), stream(seed, "overhead", block))
        hits += int(np.count_nonzero(subject.favourable(subject.decide(points))))
    return hits


def everything(subject: Subject, n: int, seed: int) -> Any:
    parts = [
        subject.space.draw(min(BLOCK, n - start), stream(seed, "overhead", block))
        for block, start in enumerate(range(0, n, BLOCK))
    ]
    return subject.space.native(np.asfortranarray(np.concatenate(parts)))


def measure(n: int, repeats: int) -> list[dict[str, Any]]:
    table = []
    for name, (subject, model) in subjects().items():
        rows = min(n, 200_000) if name == "forest of 50" and n < 1_000_000 else n
        frame = everything(subject, rows, 0)
        hits = int((model.predict(frame) == ">50K").sum())
        assert ours(subject, rows, 0) == hits, "both ways must count the same"
        pairs = []
        for _ in range(repeats):
            start = time.perf_counter()
            model.predict(frame)
            middle = time.perf_counter()
            ours(subject, rows, 0)
            pairs.append((middle - start, time.perf_counter() - middle))
        ratio = statistics.median(total / bare for bare, total in pairs)
        bare = statistics.median(bare for bare, _ in pairs)
        table.append(
            {
                "subject": name,
                "inputs": rows,
                "bare_ns": 1e9 * bare / rows,
                "ratio": ratio,
                "wanted": WANTED[name],
            }
        )
        print(
            f"{name:20} bare {1e9 * bare / rows:8.0f} ns a row   ratio {ratio:5.2f}   wanted ≤"
            f" {WANTED[name]}",
            flush=True,
        )
    return table


def peak() -> int:
    """Return this process's peak memory in KiB; getrusage would count that of the process it was
    forked from.
    """
    status = Path("/proc/self/status")
    if status.exists():
        return next(
            int(line.split()[1])
            for line in status.read_text().splitlines()
            if line.startswith("VmHWM")
        )
    import resource

    return resource.getrusage(resource.RUSAGE_SELF).ru_maxrss


def memory(n: int, name: str) -> tuple[float, float]:
    """Return the peak memory in GB of a process that tests a model, before and after the inputs."""
    code = (
        "import sys; sys.path.insert(0, sys.argv[1]); import overhead;"
        "s = overhead.subjects(sys.argv[3])[sys.argv[3]][0];"
        "before = overhead.peak();"
        "overhead.ours(s, int(sys.argv[2]), 0);"
        "print(before, overhead.peak())"
    )
    command = [sys.executable, "-c", code, str(Path(__file__).parent), str(n), name]
    out = subprocess.run(command, check=True, capture_output=True, text=True).stdout
    before, after = (int(kib) * 1024 / 1e9 for kib in out.split()[-2:])
    return before, after


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--inputs", type=int, default=1_000_000)
    parser.add_argument("--memory-inputs", type=int, default=10_000_000)
    parser.add_argument("--repeats", type=int, default=3)
    parser.add_argument(
        "--json", type=Path, default=Path(__file__).parent / "results" / "overhead.json"
    )
    options = parser.parse_args()
    table = measure(options.inputs, options.repeats)
    peaks = {}
    for name in ("bare numeric tree", "tree"):
        before, peaks[name] = memory(options.memory_inputs, name)
        print(
            f"{name:20} peak memory for {options.memory_inputs:,} inputs {peaks[name]:.2f} GB, "
            f"{before:.2f} GB of it for libraries, data and model   wanted < 1 GB",
            flush=True,
        )
    options.json.parent.mkdir(parents=True, exist_ok=True)
    options.json.write_text(
        json.dumps({"overhead": table, "peak_gb": peaks}, indent=2) + "\n"
    )


if __name__ == "__main__":
    main()
