"""What a process of its own costs: the time of batches over that in our own, and of a start.

Both are timed in turn in one run, so that a busy machine slows them alike, and the median ratio is
printed.
"""

from __future__ import annotations

import argparse
import json
import statistics
import time
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np

import evenhand as eh

if TYPE_CHECKING:
    from numpy.typing import NDArray

SPACE = eh.Space(
    [eh.category("sex", ["F", "M"]), eh.integer("age", 18, 90), eh.real("rate", 0, 1)],
    protected=["sex"],
)


def lend(people: Any) -> Any:
    """Decide at once: nothing is cheaper, so that no ratio is larger."""
    return people["age"] * people["rate"] > 20


def timed(subject: eh.Subject, points: NDArray[np.float64]) -> float:
    """Return the seconds of one batch."""
    began = time.perf_counter()
    subject.decide(points)
    return time.perf_counter() - began


def ratio(size: int, rounds: int) -> dict[str, float]:
    """Return the cost of batches of a size, with and without a process of their own."""
    points = SPACE.draw(size, np.random.default_rng(0))
    here, there = [], []
    with eh.Subject(lend, SPACE, isolate=True, memo=False) as isolated:
        plain = eh.Subject(lend, SPACE, memo=False)
        for _ in range(rounds + 1):
            here.append(timed(plain, points))
            there.append(timed(isolated, points))
    pairs = zip(there[1:], here[1:], strict=True)
    ratios = [slow / fast for slow, fast in pairs]
    extra = statistics.median(there[1:]) - statistics.median(here[1:])
    return {"ratio": statistics.median(ratios), "extra_us": 1e6 * extra}


def start(rounds: int) -> list[float]:
    """Return the seconds that each start of a process took; the first imports libraries too."""
    found = []
    for _ in range(rounds):
        began = time.perf_counter()
        eh.Subject(lend, SPACE, isolate=True).close()
        found.append(time.perf_counter() - began)
    return found


def main() -> None:
    """Print the table, and write it as JSON."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--rounds", type=int, default=9)
    default = Path(__file__).parent / "results" / "isolation.json"
    parser.add_argument("--json", type=Path, default=default)
    options = parser.parse_args()
    starts = start(options.rounds)
    again = statistics.median(starts[1:])
    print(f"start: {starts[0]:.2f} s the first time, {again:.3f} s again")
    table = {}
    for size in (1, 256, 8_192, 131_072):
        table[size] = ratio(size, options.rounds)
        found = table[size]
        print(
            f"{size:>8,} inputs: {found['ratio']:.2f} times, {found['extra_us']:,.0f} µs more"
        )
    options.json.parent.mkdir(exist_ok=True)
    content = {"first_start": starts[0], "start": again, "batches": table}
    options.json.write_text(json.dumps(content, indent=2) + "\n")


if __name__ == "__main__":
    main()
