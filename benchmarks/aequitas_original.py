"""Aequitas as published (Udeshi, Arora, Chattopadhyay 2018): Algorithms 1 to 4, one input at a
time.

The random numbers are those of `evenhand.methods.search.strategies.aequitas`, so both must find the
very same inputs: `python benchmarks/aequitas_original.py` runs both on the tree and the fair model
of Adult and compares them.

Where the paper leaves something open: both trial counts N are 1,000; a step over the end of a
feature stays at the end; when all walks are done another global phase follows and the chances are
kept; inputs of the global phase count too.
"""

from __future__ import annotations

import time
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np

from evenhand.population.samplers import Draws, Uniform
from evenhand.runtime.random_streams import stream

if TYPE_CHECKING:
    from numpy.typing import NDArray

    import evenhand as eh

TRIALS = 1000
DV = DPR = 0.001
STRATEGIES = ("random", "semi-directed", "fully-directed")
TABLE_3 = {
    "Fair SVM": (3.45, 39.4, 65.2, 70.32),
    "SVM": (0.18, 0.53, 0.574, 1.22),
    "MLPC": (0.3466, 2.15, 2.39, 2.896),
    "Random Forest": (8.34, 18.312, 21.722, 34.98),
    "Decision Tree": (0.485, 2.33, 2.89, 6.653),
    "Ensemble": (8.23, 22.34, 36.08, 37.9),
}
"""Per cent of the inputs generated that are discriminatory: random, then Aequitas random, semi- and
fully-directed.
"""
TABLE_4 = {
    "Fair SVM": (1589.87, 534.47, 345.65, 228.14),
    "SVM": (7159.54, 3589.9, 2673.8, 2190.21),
    "MLPC": (6157.23, 759.63, 431.76, 207.87),
    "Random Forest": (9563.12, 2692.98, 1334.67, 1145.34),
    "Decision Tree": (1035.32, 569.13, 371.89, 254.25),
    "Ensemble": (6368.79, 2178.45, 1067.75, 989.43),
}
"""Seconds to 10,000 discriminatory inputs, in the same order."""


@dataclass(frozen=True)
class Run:
    """What was found: unique discriminatory inputs, in the order found, with the first of the
    protected values.
    """

    points: NDArray[np.float64]
    queries: int
    seconds: float


class _Spent(Exception):
    """The budget is spent."""


class Original:
    """Algorithms 1 and 2 with one of the three updates; the model is asked the inputs I(d) of one
    input at a time.
    """

    def __init__(
        self, model: Any, space: eh.Space, over: str, strategy: str, seed: int = 0
    ) -> None:
        self.model, self.strategy = model, strategy
        self.at, self.values = space.index(over), space.assignments(over)[:, 0]
        self.free = [
            position for position in range(len(space.features)) if position != self.at
        ]
        self.low = [space.features[position].low for position in self.free]
        self.high = [space.features[position].high for position in self.free]
        self.rows = np.empty((len(self.values), len(space.features)))
        self.draws = Draws(Uniform(), space, seed, "aequitas", "global", block=1024)
        self.drawn = 0
        self.rng = stream(seed, "aequitas", "local")
        self.chance = np.full(len(self.free), 1 / len(self.free))  # σpr
        self.down = np.full(len(self.free), 0.5)  # σv
        self.test: dict[bytes, None] = {}
        self.queries = 0
        self.most: float = 0
        self.until = 0.0

    def run(self, queries: float, seconds: float = float("inf")) -> Run:
        self.most = queries
        begin = time.perf_counter()
        self.until = begin + seconds
        try:
            while True:
                self.local_exp(self.global_exp())
        except _Spent:
            taken = time.perf_counter() - begin
        found = np.frombuffer(b"".join(self.test)).reshape(-1, self.rows.shape[1])
        return Run(found, self.queries, taken)

    def discriminatory(self) -> bool:
        """Ask for I(d), which is in `rows`."""
        if self.queries + len(self.rows) > self.most or time.perf_counter() > self.until:
            raise _Spent
        outcomes = self.model.predict(self.rows)
        self.queries += len(self.rows)
        return bool((outcomes != outcomes[0]).any())

    def place(self, point: NDArray[np.float64]) -> None:
        self.rows[:] = point
        self.rows[:, self.at] = self.values

    def global_exp(self) -> list[bytes]:
        """Algorithm 1."""
        found: dict[bytes, None] = {}
        for point in self.draws.take(self.drawn, self.drawn + TRIALS):
            self.place(point)
            if self.discriminatory():
                found[self.rows[0].tobytes()] = None
                self.test[self.rows[0].tobytes()] = None
        self.drawn += TRIALS
        return list(found)

    def local_exp(self, inputs: list[bytes]) -> None:
        """Algorithm 2."""
        for start in inputs:
            self.place(np.frombuffer(start))
            for which, way in self.rng.random((TRIALS, 2)):
                p = min(
                    int(np.searchsorted(self.chance.cumsum(), which, side="right")),
                    len(self.free) - 1,
                )
                step = -1 if way < self.down[p] else 1
                column = self.rows[:, self.free[p]]
                column[:] = min(max(column[0] + step, self.low[p]), self.high[p])
                hit = self.discriminatory()
                if hit:
                    self.test[self.rows[0].tobytes()] = None
                if self.strategy != "random":
                    self.update(p, step, hit=hit)

    def update(self, p: int, step: int, *, hit: bool) -> None:
        """Algorithms 3 and 4."""
        if hit == (step == -1):
            self.down[p] = min(self.down[p] + DV, 1)
        else:
            self.down[p] = max(self.down[p] - DV, 0)
        if hit and self.strategy == "fully-directed":
            self.chance[p] += DPR
            self.chance /= self.chance.sum()


def run(
    model: Any,
    space: eh.Space,
    over: str,
    strategy: str,
    queries: float,
    seed: int = 0,
    seconds: float = float("inf"),
) -> Run:
    """Run a published strategy until so many inputs are asked, or so many seconds have passed."""
    return Original(model, space, over, strategy, seed).run(queries, seconds)


def same(
    model: Any, space: eh.Space, over: str, strategy: str, queries: int, seed: int = 0
) -> tuple[int, int, int]:
    """Return how many inputs the batched strategy found, how many this one did, and how many both
    did.
    """
    import evenhand as eh
    from evenhand.methods.search.loop import run_strategy
    from evenhand.methods.search.probe import Probe
    from evenhand.methods.search.strategies.aequitas import Aequitas
    from evenhand.methods.search.strategies.base import Setting
    from evenhand.runtime.budget import Meter
    from evenhand.subject.view import View

    probe = Probe(View(eh.Subject(model, space)), (over,))
    batched = run_strategy(
        Aequitas(strategy).started(Setting(probe, seed)),
        probe,
        Meter(eh.Budget(queries=queries)),
    )
    single = run(model, space, over, strategy, batched.queries, seed)
    ours, theirs = (
        {tuple(point) for point in points.tolist()}
        for points in (batched.found.points, single.points)
    )
    return len(ours), len(theirs), len(ours & theirs)


def main() -> None:
    from aequitas_subjects import subject

    for name in ("tree", "fair"):
        one = subject("adult", name)
        for strategy in STRATEGIES:
            for seed in range(3):
                ours, theirs, both = same(
                    one.model, one.space, one.over, strategy, 20_000, seed
                )
                print(
                    f"{name:6} {strategy:16} seed {seed}: batched {ours:,}, one at a time"
                    f" {theirs:,}, both {both:,}"
                )


if __name__ == "__main__":
    main()
