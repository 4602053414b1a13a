"""The paper's own group fairness score, by name: Algorithm 2 (Zhang et al. 2022); its level does
not hold.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import TYPE_CHECKING, cast

import numpy as np

from evenhand.population.samplers import Draws
from evenhand.runtime.errors import UsageError
from evenhand.statistics.estimate import Estimate
from evenhand.statistics.intervals import wald, z_score
from evenhand.subject.subject import ROWS_AT_ONCE

if TYPE_CHECKING:
    from collections.abc import Mapping

    from numpy.typing import NDArray

    from evenhand.methods.mine.rule_sets import Mining
    from evenhand.population.samplers import Sampler
    from evenhand.runtime.budget import Meter
    from evenhand.scores.neighbours import Neighbours
    from evenhand.space.feature import Points
    from evenhand.space.space import Space

MARGIN, LEAST = 0.05, 1000
"""The paper's error_thr and sample_thr."""
BLOCK = 1024
"""Draws per random stream."""
LEAST_MORE = 64
"""Draws that are asked at once, at least, where the margin is not reached yet."""


@dataclass(frozen=True)
class Score:
    """How favourably rows inside and outside a rule set are treated, by n draws from each.

    >>> Score(inside=0.5, outside=0.25, n=1001, half=0.045).value
    0.25
    """

    inside: float
    outside: float
    n: int
    half: float
    """The margin of error ε of the difference."""

    @property
    def value(self) -> float:
        """The group fairness score (Definition 4.1)."""
        return abs(self.inside - self.outside)


@dataclass(frozen=True, slots=True)
class ByPaper:
    """The scores of the paper's Algorithm 2, by family and place; a pair of rates has the level
    squared.
    """

    scores: Mapping[tuple[tuple[int, ...], tuple[int, ...]], Score]
    level: float

    @property
    def queries(self) -> int:
        """Inputs that were drawn."""
        return sum(2 * score.n for score in self.scores.values())

    def around(self, value: float) -> dict[str, float]:
        """Return between what a score lies that was drawn until the margin was reached."""
        return {"low": max(value - MARGIN, 0.0), "high": min(value + MARGIN, 1.0)}

    def rate(self, value: float, n: int, population: str) -> Estimate:
        """Return a rate with Wald's interval."""
        low, high = wald(round(value * n), n, self.level)
        return Estimate(
            value,
            min(float(low), value),
            max(float(high), value),
            n,
            self.level,
            "wald",
            population,
        )


@dataclass(frozen=True, eq=False)
class Perturbed:
    """Some of the rows as a population: drawn with replacement, and each a random neighbour
    (section 4.3).
    """

    neighbours: Neighbours
    points: Points
    rows: NDArray[np.intp]

    def draw(self, n: int, rng: np.random.Generator, space: Space) -> Points:
        """Draw `n` neighbours of rows."""
        chosen = self.rows[rng.integers(0, len(self.rows), n)]
        return self.neighbours.drawn(self.points.T.take(chosen, axis=1).T, rng)


def group_score(
    neighbours: Neighbours,
    points: Points,
    inside: NDArray[np.bool_],
    *,
    level: float = 0.95,
    margin: float = MARGIN,
    least: int = LEAST,
    seed: int,
    name: tuple[str | int, ...],
) -> Score:
    """Draw from rows inside and outside a rule set until the margin of error is small (Algorithm
    2).

    The margin is looked at after every draw beyond the first `least`, and ends the drawing as soon
    as it is reached. It is the sum of Wald's margins of the two rates, each of which is 0 where its
    rate is 0 or 1, however few were drawn. Each rate has the level given, and the pair of them, by
    Theorem 4.2, its square; since the drawing ends on what it shows, neither level holds, and the
    score is for reproduction only.

    Parameters
    ----------
    inside
        Which of the rows the rule set covers.
    margin, least
        The paper's error_thr and sample_thr.
    name
        Names the random streams; rule sets of different names have different draws.

    Examples
    --------
    >>> from evenhand.space.feature import category, integer
    >>> from evenhand.scores.neighbours import Neighbours
    >>> from evenhand.space.space import Space
    >>> from evenhand.subject.subject import Subject
    >>> from evenhand.subject.view import View
    >>> space = Space([category("sex", ["F", "M"]), integer("age", 18, 90)], protected=["sex"])
    >>> neighbours = Neighbours.of(View(Subject(lambda people: people["sex"] == "M", space, positive=True)), ["sex"])
    >>> rows = np.array([[0.0, 30.0], [1.0, 40.0]])
    >>> group_score(neighbours, rows, rows[:, 0] == 0, seed=0, name=("F",))
    Score(inside=0.0, outside=1.0, n=1001, half=0.0)
    """
    z = z_score(level)
    if not margin > 0:
        raise UsageError(f"margin = {margin!r} must be over 0, for example 0.05")
    sides = [np.flatnonzero(inside), np.flatnonzero(~inside)]
    if not all(len(rows) for rows in sides):
        raise UsageError(
            f"the rule set covers {len(sides[0]):,} of {len(points):,} rows; nobody is left to"
            " compare"
        )
    draws = [
        Draws(cast("Sampler", Perturbed(neighbours, points, rows)), neighbours.view.subject.space, seed, *name, side,
              block=BLOCK)
        for side, rows in enumerate(sides)
    ]  # fmt: skip
    sums, n, upto = np.zeros((2, 1)), 0, least + 1
    while True:
        asked = np.asfortranarray(np.concatenate([side.take(n, upto) for side in draws]))
        amounts = neighbours.view.amount(neighbours.view.decide(asked)).reshape(2, upto - n)
        sums = np.cumsum(np.concatenate([sums[:, -1:], amounts], axis=1), axis=1)[:, 1:]
        sizes = np.arange(n + 1, upto + 1)
        rates = sums / sizes
        halves = (z * np.sqrt(rates * (1 - rates) / sizes)).sum(axis=0)
        reached = np.flatnonzero((sizes > least) & (halves <= margin))
        if len(reached):
            at = reached[0]
            return Score(
                float(rates[0, at]), float(rates[1, at]), int(sizes[at]), float(halves[at])
            )
        n, enough = upto, math.ceil(upto * (halves[-1] / margin) ** 2)
        upto += int(np.clip(enough - n, LEAST_MORE, ROWS_AT_ONCE // 2))


def score_all(
    neighbours: Neighbours, mined: Mining, *, level: float, seed: int, meter: Meter
) -> ByPaper:
    """Score every rule set by itself, and note in the ranking how its people and all others are
    treated.
    """
    found: dict[tuple[tuple[int, ...], tuple[int, ...]], Score] = {}
    ranking, points, done = mined.ranking, mined.treated.points, 0
    # Wald's margins are widest where both rates are a half.
    most = 2 * ranking.examined * max(LEAST + 1, math.ceil((z_score(level) / MARGIN) ** 2))
    if meter.left < most:
        raise UsageError(
            f"budget: {int(meter.left):,} queries are left, but treatment = 'paper' may take"
            f" {most:,} for {ranking.examined:,} rule sets; raise queries, or take another"
            " treatment"
        )
    for block in ranking.blocks:
        for at in range(len(block.index)):
            if meter.late:
                raise UsageError(
                    f"budget: the time was up after {done:,} of {ranking.examined:,} rule sets, and"
                    " treatment = 'paper' tells nothing before the last; raise seconds, or take"
                    " another treatment"
                )
            place = block.place(at)
            name: tuple[str | int, ...] = ("mine", "paper", neighbours.view.title, *mined.names)
            inside = mined.cube.covers(block.family, place)
            score = group_score(
                neighbours,
                points,
                inside,
                level=level,
                seed=seed,
                name=(*name, *block.family, *place),
            )
            found[block.family, place] = score
            block.inside[at], block.outside[at] = score.inside, score.outside
            meter.queries += 2 * score.n
            done += 1
            meter.report("rule sets by Algorithm 2", done / ranking.examined, f"{done:,} rule sets")
    return ByPaper(found, level)
