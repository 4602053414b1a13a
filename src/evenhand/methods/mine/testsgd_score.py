"""The paper's own group fairness score: Algorithm 2 of TestSGD, whose level does not hold."""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, cast

import numpy as np

from evenhand.methods.mine import messages
from evenhand.methods.mine.bins import is_whole
from evenhand.population.samplers import Draws
from evenhand.runtime import number_text
from evenhand.runtime.errors import UsageError, clip
from evenhand.space.feature import plain
from evenhand.statistics.estimate import Estimate
from evenhand.statistics.intervals import wald, z_score
from evenhand.subject.shared_asking import ROWS_AT_ONCE

if TYPE_CHECKING:
    from collections.abc import Mapping

    from numpy.typing import NDArray

    from evenhand.methods.mine.rule_sets import Mining
    from evenhand.population.samplers import Sampler
    from evenhand.runtime.budget import Meter
    from evenhand.scores.neighbours import Neighbours
    from evenhand.space.feature import Points
    from evenhand.space.space import Space

    Flags = NDArray[np.bool_]
    Floats = NDArray[np.float64]
    Numbers = tuple[int, ...]
    Key = tuple[Numbers, Numbers]
    StreamName = tuple[str | int, ...]

BLOCK = 1024
"""Draws per random stream."""
LEAST_MORE = 64
"""Draws that are asked at once, at least, where the margin is not reached yet."""


@dataclass(frozen=True, slots=True)
class DrawingRule:
    """When Algorithm 2 ends its drawing; the defaults are those of the paper's Table 2.

    Parameters
    ----------
    sample_thr
        The number of draws, from each side, beyond which the margin of error is looked at.
    error_thr
        The margin of error at which the drawing ends.

    >>> DrawingRule(error_thr=0.02).most(0.95)
    9604
    """

    sample_thr: int = 1000
    error_thr: float = 0.05

    def __post_init__(self) -> None:
        if not is_whole(plain(self.sample_thr), least=0):
            shown = clip(repr(self.sample_thr))
            raise UsageError(messages.SAMPLE_THR_NOT_WHOLE.format(sample_thr=shown))
        if isinstance(self.error_thr, bool) or not _is_between(self.error_thr):
            shown = clip(repr(self.error_thr))
            raise UsageError(messages.ERROR_THR_NOT_SHARE.format(error_thr=shown))

    def most(self, level: float) -> int:
        """Return the most draws from each side: Wald's margins are widest at rates of a half."""
        draws = math.ceil((z_score(level) / self.error_thr) ** 2)
        return max(self.sample_thr + 1, draws)


def _is_between(share: Any) -> bool:
    return isinstance(share, int | float | np.number) and bool(0 < share < 1)


PAPER = DrawingRule()


@dataclass(frozen=True)
class PaperScore:
    """How favourably rows inside and outside a rule set are treated, by n draws from each.

    >>> PaperScore(inside=0.5, outside=0.25, n=1001, half=0.045).value
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
class PaperScores:
    """The scores of Algorithm 2 by family and place; a pair of rates has the level squared."""

    scores: Mapping[Key, PaperScore]
    level: float
    rule: DrawingRule = PAPER

    @property
    def queries(self) -> int:
        """Inputs that were drawn."""
        return sum(2 * score.n for score in self.scores.values())

    def around(self, value: float) -> dict[str, float]:
        """Return the limits of a score that was drawn until the margin was reached."""
        low = max(value - self.rule.error_thr, 0.0)
        high = min(value + self.rule.error_thr, 1.0)
        return {"low": low, "high": high}

    def rate(self, value: float, n: int, population: str) -> Estimate:
        """Return a rate with Wald's interval (Equation 7)."""
        hits = round(value * n)
        lower, upper = wald(hits, n, self.level)
        # Amounts need not be whole numbers of hits; a limit must still not pass the rate.
        low = min(float(lower), value)
        high = max(float(upper), value)
        return Estimate(value, low, high, n, self.level, "wald", population)


@dataclass(frozen=True, eq=False)
class Perturbed:
    """Some of the rows as a population: drawn with replacement, each a random neighbour.

    Section 4.3: a perturbation of one attribute that is not sensitive, by one step.
    """

    neighbours: Neighbours
    points: Points
    rows: NDArray[np.intp]

    def draw(self, n: int, rng: np.random.Generator, space: Space) -> Points:
        """Draw `n` neighbours of rows."""
        numbers = rng.integers(0, len(self.rows), n)
        chosen = self.rows[numbers]
        # Taken by columns, since points are stored by columns.
        columns = self.points.T.take(chosen, axis=1)
        return self.neighbours.drawn(columns.T, rng)


def group_score(
    neighbours: Neighbours,
    points: Points,
    inside: NDArray[np.bool_],
    *,
    level: float = 0.95,
    rule: DrawingRule = PAPER,
    seed: int,
    name: StreamName,
) -> PaperScore:
    """Draw rows inside and outside a rule set until the margin of error is small (Algorithm 2).

    The margin is looked at after every draw beyond the first `sample_thr`, and ends the drawing as
    soon as it is reached. It is the sum of Wald's margins of the two rates, each of which is 0
    where its rate is 0 or 1, however few were drawn. Each rate has the level given, and the pair of
    them, by Theorem 4.2, its square; since the drawing ends on what it shows, neither level holds,
    and the score is for reproduction only.

    Parameters
    ----------
    inside
        Which of the rows the rule set covers.
    rule
        The paper's sample_thr and error_thr.
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
    >>> subject = Subject(lambda people: people["sex"] == "M", space, positive=True)
    >>> neighbours = Neighbours.of(View(subject), ["sex"])
    >>> rows = np.array([[0.0, 30.0], [1.0, 40.0]])
    >>> group_score(neighbours, rows, rows[:, 0] == 0, seed=0, name=("F",))
    PaperScore(inside=0.0, outside=1.0, n=1001, half=0.0)
    """
    z = z_score(level)
    inside_draws, outside_draws = _draws(neighbours, points, inside, seed, name)
    sums = np.zeros((2, 1))
    n = 0
    upto = rule.sample_thr + 1
    while True:
        # Lines 3 to 7, for all draws up to where the margin may be reached.
        drawn_inside = inside_draws.take(n, upto)
        drawn_outside = outside_draws.take(n, upto)
        inputs = np.asfortranarray(np.concatenate([drawn_inside, drawn_outside]))
        outcomes = neighbours.view.decide(inputs)
        amounts = neighbours.view.amount(outcomes).reshape(2, upto - n)
        sums = _running_sums(sums[:, -1:], amounts)
        sizes = np.arange(n + 1, upto + 1)
        rates = sums / sizes  # lines 9 and 10
        halves = _margins(rates, sizes, z)
        # Lines 8 and 12: the first draw after which the margin is small enough.
        small_enough = halves <= rule.error_thr
        reached = np.flatnonzero((sizes > rule.sample_thr) & small_enough)
        if len(reached):
            at = reached[0]
            rate, other_rate = rates[:, at].tolist()
            draws = int(sizes[at])
            return PaperScore(rate, other_rate, n=draws, half=float(halves[at]))
        n = upto
        # The margin shrinks with the square root of the draws: that many would reach it.
        shrink = halves[-1] / rule.error_thr
        enough = math.ceil(upto * shrink**2)
        more = np.clip(enough - n, LEAST_MORE, ROWS_AT_ONCE // 2)
        upto += int(more)


def _draws(
    neighbours: Neighbours, points: Points, inside: Flags, seed: int, name: StreamName
) -> tuple[Draws, Draws]:
    """Return the draws of neighbours of the rows inside a rule set, and of those outside."""
    rows_inside = np.flatnonzero(inside)
    rows_outside = np.flatnonzero(~inside)
    if not len(rows_inside) or not len(rows_outside):
        covered = number_text.count(len(rows_inside))
        rows = number_text.count(len(points))
        raise UsageError(messages.NOBODY_OUTSIDE.format(covered=covered, rows=rows))
    space = neighbours.view.subject.space
    draws = []
    for side, rows_of_side in enumerate((rows_inside, rows_outside)):
        population = cast("Sampler", Perturbed(neighbours, points, rows_of_side))
        draws.append(Draws(population, space, seed, *name, side, block=BLOCK))
    return draws[0], draws[1]


def _running_sums(before: Floats, amounts: Floats) -> Floats:
    """Return the sums of amounts up to each draw, beginning with those before."""
    every = np.concatenate([before, amounts], axis=1)
    return np.cumsum(every, axis=1)[:, 1:]


def _margins(rates: Floats, sizes: NDArray[np.int64], z: float) -> Floats:
    """Return the margin of error after each draw: line 11 of Algorithm 2.

    It is the sum of the margins of both rates (Theorem 4.2), each of which is Wald's (Equation 7).
    """
    variances = rates * (1 - rates) / sizes
    margins = z * np.sqrt(variances)
    return np.asarray(margins.sum(axis=0))


def score_all(
    neighbours: Neighbours,
    mined: Mining,
    *,
    level: float,
    rule: DrawingRule = PAPER,
    seed: int,
    meter: Meter,
) -> PaperScores:
    """Score every rule set by itself, and note the rates of both its sides in the ranking.

    Section 4.2: rule sets are then ranked by these scores.
    """
    scores: dict[Key, PaperScore] = {}
    ranking = mined.ranking
    _check_budget(ranking.examined, rule.most(level), meter)
    title = neighbours.view.title
    name: StreamName = ("mine", "paper", title, *mined.names)
    for number in range(ranking.examined):
        if meter.late:
            raise _too_late(number, ranking.examined)
        family = ranking.table.family(number)
        place = ranking.table.place(number)
        score = group_score(
            neighbours,
            mined.treated.points,
            mined.cube.covers(family, place),
            level=level,
            rule=rule,
            seed=seed,
            name=(*name, *family, *place),
        )
        scores[family, place] = score
        ranking.inside[number] = score.inside
        ranking.outside[number] = score.outside
        meter.queries += 2 * score.n
        done = number + 1
        progress = messages.PROGRESS_PAPER_DONE.format(count=number_text.count(done))
        meter.report(messages.PROGRESS_PAPER, done / ranking.examined, progress)
    return PaperScores(scores, level, rule)


def _check_budget(rule_sets: int, draws: int, meter: Meter) -> None:
    """Refuse a budget under the most that Algorithm 2 may draw, `draws` from each side."""
    most = 2 * rule_sets * draws
    if meter.left < most:
        raise UsageError(
            messages.PAPER_OVER_QUERIES.format(
                left=number_text.count(int(meter.left)),
                most=number_text.count(most),
                rule_sets=number_text.count(rule_sets),
            )
        )


def _too_late(done: int, rule_sets: int) -> UsageError:
    """Return the error where the time is up before every rule set is scored."""
    return UsageError(
        messages.PAPER_OVER_SECONDS.format(
            done=number_text.count(done),
            rule_sets=number_text.count(rule_sets),
        )
    )
