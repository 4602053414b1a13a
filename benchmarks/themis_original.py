"""Themis as published (Galhotra, Brun, Meliou 2017): Algorithms 1 to 3, one input at a time, and
what they cost.

`Sequential` is the paper's procedure, line by line. `Counter` finds the same scores with the same
number of tests but asks the model in batches: answers do not depend on when they are asked, so the
tests that the procedure executes are the distinct inputs up to each draw's first flip and up to the
draw that its stopping rule ends at.

Inputs are tuples of codes: which value of each characteristic. Where the paper leaves something
open: z is two-sided (the released code's is one-sided), `sampling_threshold` is 30, and variants
come in the order of `itertools.product`, as in the released code, or scrambled, which finds flips
sooner where the last characteristics matter little.
"""

from __future__ import annotations

import itertools
import math
from dataclasses import dataclass, field
from statistics import NormalDist
from typing import TYPE_CHECKING, Any, Literal

import numpy as np

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Iterator, Sequence

    from numpy.typing import NDArray

    Set = tuple[int, ...]
    Codes = NDArray[np.int64]

ROWS = 131_072
"""Inputs that the counter asks at once."""
LARGEST_STEP = 2**40
"""Steps between scrambled variants, small enough that a million of them stay within 64 bits."""
FIGURE_1 = {
    # race group, race causal, sex group, sex causal, in per cent; 0.01 stands for "< 0.01"
    "A german personal_status_sex": (None, None, 3.78, 3.98),
    "A adult sex": (2.10, 2.25, 3.80, 3.80),
    "A adult race": (2.10, 1.13, 8.90, 7.20),
    "B german personal_status_sex": (None, None, 0.80, 2.30),
    "B adult sex": (36.55, 38.40, 0.52, 11.27),
    "B adult race": (2.28, 1.78, 5.84, 5.80),
    "C german personal_status_sex": (None, None, 0.35, 0.18),
    "C adult sex": (2.43, 2.91, 0.01, 0.01),
    "C adult race": (0.08, 0.08, 35.20, 34.50),
    "D german personal_status_sex": (None, None, 0.23, 0.29),
    "D adult sex": (0.21, 0.26, 0.01, 0.01),
    "D adult race": (0.12, 0.13, 4.64, 4.94),
    "E german": (None, None, 0.32, 0.37),
    "E adult": (0.74, 0.85, 0.26, 0.32),
    "F german": (None, None, 0.05, 0.06),
    "F adult": (0.11, 0.05, 0.01, 0.01),
    "G german": (None, None, 3.94, 2.41),
    "G adult": (0.02, 2.80, 0.01, 0.01),
    "H german": (None, None, 0.01, 0.01),
    "H adult": (0.01, 0.01, 0.01, 0.01),
}
FIGURE_2 = {
    "A adult race": "sex+race 13.7",
    "B adult sex": "sex+marital+race 77.2, sex+race 52.5, sex 11.2, marital 36.1, race 36.6",
    "B adult race": "sex 5.8",
    "C german personal_status_sex": "age 7.6",
    "C adult race": "age 25.9, sex 35.2, sex+race 41.5",
    "C adult sex": "marital 35.2",
    "D adult sex": "marital 12.9, country 7.6",
    "D adult race": "marital 16.2, marital+race 52.3",
    "E adult": "marital 7.9",
    "F adult": "country+race 98.1, race+relation 76.3",
    "G adult": "relation 14.8",
}
FIGURE_3 = {  # causal: tests without and with pruning
    "A german personal_status_sex": (29_623, 15_764), "A adult race": (215_000, 457),
    "B german personal_status_sex": (29_623, 1_636), "B adult race": (20_500, 6_300),
    "C german personal_status_sex": (29_623, 72), "C adult race": (235_625, 6_600),
    "D german personal_status_sex": (29_623, 472), "D adult race": (235_625, 200_528),
    "E german": (29_623, 82), "E adult": (235_625, 7_900),
    "F german": (29_623, 2_647), "F adult": (205_000, 279),
    "G german": (29_623, 152), "G adult": (235_625, 190_725), "H german": (29_623, 10_140),
    "H adult": (510_000, 324_582),
}  # fmt: skip


@dataclass(frozen=True)
class Rules:
    """The parameters of the algorithms."""

    conf: float = 0.99
    eps: float = 0.05
    least: int = 30
    """`sampling_threshold`: the margin is checked from the next sample on."""
    most: int = 100_000
    """`max_samples`"""
    cap: int = 1_000_000
    """The most variants of one input that are looked at; the paper has no such limit."""
    order: Literal["product", "scrambled"] = "product"

    @property
    def z(self) -> float:
        return NormalDist().inv_cdf(0.5 + self.conf / 2)

    def enough(self, count: Any, r: Any) -> Any:
        """Line 23 of Algorithm 2: the Wald margin, which is zero while all or none of the samples
        were hits.
        """
        p = count / r
        return (r > self.least) & (self.z * np.sqrt(p * (1 - p) / r) < self.eps)


def draw(
    rng: np.random.Generator, sizes: Codes, n: int
) -> tuple[Codes, NDArray[np.float64]]:
    """Return `n` random inputs, and two more random numbers for each; the same whether drawn
    together or one by one.
    """
    numbers = rng.random((n, len(sizes) + 2))
    return (numbers[:, :-2] * sizes).astype(np.int64), numbers[:, -2:]


def orders(rules: Rules, numbers: NDArray[np.float64], total: int) -> tuple[Codes, Codes]:
    """Return where each input's list of variants starts and how it steps through the product, to
    meet each once.
    """
    if rules.order == "product":
        return np.zeros(len(numbers), dtype=np.int64), np.ones(len(numbers), dtype=np.int64)
    start = (numbers[:, 0] * total).astype(np.int64)
    step = 1 + (numbers[:, 1] * (min(total, LARGEST_STEP) - 1)).astype(np.int64)
    while (shared := np.gcd(step, total) != 1).any():
        step[shared] += 1
    return start, step


class Sequential:
    """Algorithms 1 and 2, one input at a time with a cache; `tests` counts the executions of the
    software.
    """

    def __init__(
        self,
        software: Callable[[Set], bool],
        sizes: Sequence[int],
        rules: Rules | None = None,
        seed: int = 0,
    ) -> None:
        self.software = software
        self.sizes = np.asarray(sizes, dtype=np.int64)
        self.rules = rules or Rules()
        self.seed = seed
        self.cache: dict[Set, bool] = {}
        self.capped = False

    @property
    def tests(self) -> int:
        return len(self.cache)

    def run(self, k: Set) -> bool:
        if k not in self.cache:
            self.cache[k] = self.software(k)
        return self.cache[k]

    def group(self, chosen: Set) -> float:
        """Algorithm 1."""
        rng = np.random.default_rng([self.seed, *chosen])
        shares = []
        for assignment in itertools.product(*(range(self.sizes[i]) for i in chosen)):
            r = count = 0
            while r < self.rules.most:
                r += 1
                k = draw(rng, self.sizes, 1)[0][0].tolist()
                for i, value in zip(chosen, assignment, strict=True):
                    k[i] = value
                count += self.run(tuple(k))
                if self.rules.enough(count, r):
                    break
            shares.append(count / r)
        return max(shares) - min(shares)

    def causal(self, chosen: Set) -> float:
        """Algorithm 2."""
        rng = np.random.default_rng([self.seed, *chosen])
        r = count = 0
        while r < self.rules.most:
            r += 1
            codes, numbers = draw(rng, self.sizes, 1)
            k0 = tuple(codes[0].tolist())
            own = self.run(k0)
            for k in self.variants(k0, numbers, chosen):
                if self.run(k) != own:
                    count += 1
                    break
            if self.rules.enough(count, r):
                break
        return count / r

    def variants(self, k0: Set, numbers: NDArray[np.float64], chosen: Set) -> Iterator[Set]:
        """All inputs that differ from k0 in the chosen characteristics alone."""
        total = math.prod(int(self.sizes[i]) for i in chosen)
        start, step = (int(x[0]) for x in orders(self.rules, numbers, total))
        self.capped |= total > self.rules.cap
        for number in range(min(total, self.rules.cap)):
            rest, k = (start + step * number) % total, list(k0)
            for i in reversed(chosen):
                rest, k[i] = divmod(rest, int(self.sizes[i]))
            if tuple(k) != k0:
                yield tuple(k)


def distinct(parts: Sequence[Codes]) -> Codes:
    """Return the distinct keys by sorting; keys are multiples of large strides, which hash tables
    take badly.
    """
    keys = np.sort(np.concatenate([np.zeros(0, dtype=np.int64), *parts]))
    return keys[np.diff(keys, prepend=-1) > 0]


@dataclass
class Distinct:
    """Counts distinct keys among many by keeping one in `share` of them, chosen by a hash; all
    where `share` is 1.
    """

    share: int = 1
    visited: int = 0
    kept: int = 0
    parts: list[Codes] = field(default_factory=list)

    def add(self, keys: Codes) -> None:
        self.visited += len(keys)
        if self.share > 1:
            mixed = keys.astype(np.uint64) * np.uint64(0x9E3779B97F4A7C15)
            keys = keys[(mixed >> np.uint64(32)) % np.uint64(self.share) == 0]
        self.kept += len(keys)
        self.parts.append(keys)
        if len(self.parts) > 1024:
            self.parts = [distinct(self.parts)]

    @property
    def count(self) -> int:
        self.parts = [distinct(self.parts)]
        return (
            round(self.visited * len(self.parts[0]) / self.kept)
            if self.kept
            else self.visited
        )

    def __or__(self, other: Distinct) -> Distinct:
        parts = [*self.parts, *other.parts]
        return Distinct(
            self.share, self.visited + other.visited, self.kept + other.kept, parts
        )


class Counter:
    """Algorithm 2 with the model asked in batches; `tests` is what `Sequential` would have
    executed.
    """

    def __init__(
        self,
        software: Callable[[Codes], NDArray[np.bool_]],
        sizes: Sequence[int],
        rules: Rules | None = None,
        seed: int = 0,
        share: int = 1,
    ) -> None:
        self.software = software
        self.sizes = np.asarray(sizes, dtype=np.int64)
        self.rules = rules or Rules()
        self.seed = seed
        self.strides = np.cumprod([1, *sizes[:0:-1]])[::-1].astype(np.int64)
        self.inputs = Distinct(share)
        self.capped = False

    @property
    def tests(self) -> int:
        return self.inputs.count

    def causal(self, chosen: Set) -> float:
        """Algorithm 2, some draws ahead of its stopping rule."""
        rng = np.random.default_rng([self.seed, *chosen])
        r = count = 0
        while r < self.rules.most:
            ahead = min(
                self.rules.least + 1 if r == 0 else max(16, r // 4), self.rules.most - r
            )
            flips, keys, owners = self.flips(*draw(rng, self.sizes, ahead), chosen)
            counts, sizes = count + np.cumsum(flips), r + 1 + np.arange(ahead)
            stops = np.flatnonzero(self.rules.enough(counts, sizes))
            last = int(stops[0]) if len(stops) else ahead - 1
            self.inputs.add(keys[owners <= last])
            r, count = int(sizes[last]), int(counts[last])
            if len(stops):
                break
        return count / r

    def flips(
        self, base: Codes, numbers: NDArray[np.float64], chosen: Set
    ) -> tuple[NDArray[np.bool_], Codes, NDArray[np.intp]]:
        """Return which inputs have a flip, the keys of all inputs looked at, and for which input
        each was.
        """
        radix = [int(self.sizes[i]) for i in chosen]
        total = math.prod(radix)
        most = min(total, self.rules.cap)
        self.capped |= total > most
        start, step = orders(self.rules, numbers, total)
        own = np.zeros(len(base), dtype=np.int64)
        for i in chosen:
            own = own * self.sizes[i] + base[:, i]
        answers = self.software(base)
        keys, owners = [base @ self.strides], [np.arange(len(base))]
        found = np.zeros(len(base), dtype=np.bool_)
        active, at, width = np.arange(len(base)), 0, 8
        while at < most and len(active):
            width = min(width * 8, most - at, max(1, ROWS // len(active)))
            number = at + np.arange(width)
            index = (start[active, None] + step[active, None] * number) % total
            codes = np.repeat(base[active], width, axis=0)
            rest = index.ravel()
            for i, size in zip(reversed(chosen), reversed(radix), strict=True):
                codes[:, i] = rest % size
                rest = rest // size
            apart = self.software(codes).reshape(index.shape) != answers[active, None]
            flipped = apart.any(axis=1)
            until = np.where(flipped, apart.argmax(axis=1), width)
            seen = (np.arange(width) <= until[:, None]) & (index != own[active, None])
            keys.append((codes @ self.strides)[seen.ravel()])
            owners.append(np.repeat(active, seen.sum(axis=1)))
            found[active[flipped]] = True
            active, at = active[~flipped], at + width
        return found, np.concatenate(keys), np.concatenate(owners)


def lattice(among: Iterable[int], depth: int | None = None) -> Iterator[Set]:
    """Yield all sets of these characteristics, small ones first (lines 2 and 3 of Algorithm 3)."""
    listed = tuple(among)
    for size in range(1, (depth or len(listed)) + 1):
        yield from itertools.combinations(listed, size)


def search(
    score: Callable[[Set], float],
    among: Iterable[int],
    theta: float,
    *,
    prune: bool = True,
    depth: int | None = None,
) -> list[Set]:
    """Algorithm 3: all minimal sets that score over theta; without pruning, supersets of those
    found are tested too.
    """
    found: list[Set] = []
    for chosen in lattice(among, depth):
        implied = any(set(smaller) <= set(chosen) for smaller in found)
        if (not implied or not prune) and score(chosen) > theta and not implied:
            found.append(chosen)
    return found
