"""Neighbours: rows with one feature changed by a step, and how favourably they are treated."""

from __future__ import annotations

import operator
import time
from dataclasses import dataclass, field
from functools import cached_property
from itertools import pairwise
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np

from evenhand.runtime.errors import UsageError, clip
from evenhand.runtime.random_streams import stream
from evenhand.scores.neighbour_steps import free_features
from evenhand.scores.sampling_loop import FIRST_WAVE, GROWTH
from evenhand.space.distribution import Part
from evenhand.statistics.estimate import StopReason
from evenhand.subject.effort import Effort
from evenhand.subject.shared_asking import ROWS_AT_ONCE, is_shared_whole

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from numpy.typing import NDArray

    from evenhand.runtime.budget import Meter
    from evenhand.runtime.workers import Workers
    from evenhand.space.feature import Points
    from evenhand.subject.view import View

STEP = 0.01
"""How far a real feature without a step is moved (section 4.3)."""
BLOCK = 16_384
"""Random neighbours per stream."""
CHUNK_SECONDS = 1.0
"""How long rows are asked about at most before progress is shown and the budget is looked at."""
LEAST_SECONDS = 1e-9
"""What a row takes at least: a clock may show nothing."""


@dataclass(frozen=True, eq=False)
class Neighbours:
    """The one-feature neighbours of rows, and how favourably the software treats them.

    They are those of TestSGD, section 4.3. Neighbours differ from their row in one of the free
    features: a number by one step up or down (a real one without a step by 0.01, and any by a step
    of the user's own), and no further than its ends; a category by its level. What would break a
    constraint, and a step over an end, is the row itself. Every free feature counts the same, and
    so does each neighbour within a feature.

    Parameters
    ----------
    view
        The output that is asked about.
    free
        Positions of the features that are changed; without any, a row is its own neighbour.
    steps
        By how much features are moved that are moved by another step than their own.

    Examples
    --------
    >>> from evenhand.space.feature import category, integer
    >>> from evenhand.space.space import Space
    >>> from evenhand.subject.subject import Subject
    >>> from evenhand.subject.view import View
    >>> space = Space([category("sex", ["F", "M"]), integer("age", 18, 90)], protected=["sex"])
    >>> subject = Subject(lambda people: people["age"] > 30, space, positive=True)
    >>> neighbours = Neighbours.of(View(subject), ["sex"])
    >>> neighbours.cost, neighbours.means(np.array([[0.0, 30.0], [1.0, 90.0]])).tolist()
    (2, [0.5, 1.0])
    """

    view: View
    free: tuple[int, ...]
    steps: Mapping[str, float] = field(default_factory=dict)

    @classmethod
    def of(
        cls, view: View, over: Sequence[str], *, steps: Mapping[str, float] | None = None
    ) -> Neighbours:
        """Return the neighbours by features that are neither at issue nor protected."""
        free = free_features(view.subject.space, over)
        return cls(view, free, steps or {})

    @cached_property
    def counts(self) -> NDArray[np.intp]:
        """How many neighbours each free feature gives a row."""
        counts = []
        for position in self.free:
            feature = self.view.subject.space.features[position]
            if feature.kind == "category":
                # A category of one level gives the row itself.
                counts.append(max(1, len(feature.levels) - 1))
            else:
                counts.append(2)
        return np.array(counts, dtype=np.intp)

    @property
    def cost(self) -> int:
        """How many inputs are asked for each row when all its neighbours are."""
        if self.free:
            return int(self.counts.sum())
        return 1

    def asks(self, draws: int | None) -> int:
        """Return how many inputs are asked for each row.

        None stands for all its neighbours; otherwise so many are drawn at random.
        """
        if draws is None:
            return self.cost
        try:
            if isinstance(draws, bool):
                number = 0
            else:
                number = operator.index(draws)
        except TypeError:
            number = 0
        if number < 1:
            raise UsageError(
                f"draws = {clip(repr(draws))} must be a whole number of 1 or more; None asks all"
                " neighbours"
            )
        if self.free:
            return number
        return 1

    def every(self, points: Points) -> Points:
        """Return all neighbours, one after the other.

        With n points, row ``j * n + i`` is neighbour j of point i.
        """
        neighbours = _repeated(points, self.cost)
        start = 0
        for position, count in zip(self.free, self.counts.tolist(), strict=True):
            # A view of the column: what is written there is written to the neighbours.
            column = neighbours[:, position].reshape(self.cost, len(points))
            turns = np.arange(count)[:, None]
            column[start : start + count] = self._turned(
                position, points[:, position], turns
            )
            start += count
        return self._kept(neighbours, points)

    def drawn(self, points: Points, rng: np.random.Generator) -> Points:
        """Return one random neighbour of each point.

        Any free feature is as likely as another, and then any of its neighbours.
        """
        if not self.free:
            return _repeated(points, 1)
        which, turns = self._choices(rng, (1, len(points)))
        return self._chosen(points, which, turns)

    def means(
        self,
        points: Points,
        *,
        draws: int | None = None,
        seed: int = 0,
        first: int = 0,
    ) -> NDArray[np.float64]:
        """Return how favourably the neighbours of each row are treated on average, in [0, 1].

        Parameters
        ----------
        draws
            How many random neighbours of each row are asked; None asks them all.
        seed, first
            Which those are depends on the seed and on the row's number alone, of which the first
            row has `first`.
        """
        asks = self.asks(draws)
        everything = draws is None or not self.free
        if everything and self.free:
            counts = self.counts.tolist()
        else:
            counts = [asks]
        means = np.empty(len(points))
        rows = max(1, ROWS_AT_ONCE // asks)
        for start in range(0, len(points), rows):
            part = points[start : start + rows]
            if everything:
                neighbours = self.every(part)
            else:
                which, turns = self._numbered(first + start, len(part), asks, seed)
                neighbours = self._chosen(part, which, turns)
            outcomes = self.view.decide(neighbours)
            amounts = self.view.amount(outcomes).reshape(asks, len(part))
            means[start : start + rows] = _averaged(amounts, counts)
        return means

    def _numbered(
        self,
        start: int,
        size: int,
        draws: int,
        seed: int,
    ) -> list[NDArray[np.intp]]:
        """Return the random choices of `size` rows from number `start` on.

        Each block of rows has its own stream.
        """
        stop = start + size
        rows = max(1, BLOCK // draws)
        which = []
        turns = []
        for block in range(start // rows, (stop - 1) // rows + 1):
            rng = stream(seed, "neighbours", block)
            which_of_block, turns_of_block = self._choices(rng, (draws, rows))
            wanted = slice(max(start - block * rows, 0), stop - block * rows)
            which.append(which_of_block[:, wanted])
            turns.append(turns_of_block[:, wanted])
        return [np.concatenate(which, axis=1), np.concatenate(turns, axis=1)]

    def _choices(
        self, rng: np.random.Generator, shape: tuple[int, int]
    ) -> tuple[NDArray[np.intp], NDArray[np.intp]]:
        """Draw places among the free features, and for each which of the feature's neighbours."""
        which = rng.integers(0, len(self.free), shape, dtype=np.intp)
        turns = rng.integers(0, self.counts[which], dtype=np.intp)
        return which, turns

    def _chosen(
        self, points: Points, which: NDArray[np.intp], turns: NDArray[np.intp]
    ) -> Points:
        """Return the points once for each row of choices, each with its chosen feature changed."""
        neighbours = _repeated(points, len(which))
        which = which.ravel()
        turns = turns.ravel()
        for place, position in enumerate(self.free):
            rows = np.flatnonzero(which == place)
            values = neighbours[rows, position]
            neighbours[rows, position] = self._turned(position, values, turns[rows])
        return self._kept(neighbours, points)

    def _turned(
        self, position: int, values: NDArray[np.float64], turns: NDArray[np.intp]
    ) -> NDArray[np.float64]:
        """Return the values of a feature in its neighbours of these numbers."""
        feature = self.view.subject.space.features[position]
        if feature.kind == "category":
            return (values + (1 + turns)) % len(feature.levels)
        step = self.steps.get(feature.name, feature.step or STEP)
        moved = values + (2 * turns - 1) * step
        missing = feature.is_missing(values)
        # Ends first: a range may end between two steps, and the nearest of them may lie outside.
        highest = Part.uniform(position, feature).high[0, 0]
        known = feature.snap(np.clip(moved, feature.low, highest))
        # What is not known has no neighbour.
        return np.where(missing, values, known)

    def _kept(self, asked: Points, points: Points) -> Points:
        """Put rows themselves in the place of neighbours that break constraints, and return all.

        The array of neighbours is changed.
        """
        space = self.view.subject.space
        if space.constrained:
            space.settle(asked)
            broken = np.flatnonzero(~space.valid(asked))
            asked[broken] = points[broken % len(points)]
        return asked


def _repeated(points: Points, times: int) -> Points:
    out: Points = np.empty(
        (times * len(points), points.shape[1]), dtype=np.float64, order="F"
    )
    for position in range(points.shape[1]):
        out[:, position].reshape(times, len(points))[:] = points[:, position]
    return out


def _averaged(amounts: NDArray[np.float64], counts: list[int]) -> NDArray[np.float64]:
    """Return the mean over features of the means over the neighbours that each of them gives.

    Rows are added up one by one, since numpy rounds a sum of scores otherwise for one column than
    for many.
    """
    mean = np.zeros(amounts.shape[1])
    start = 0
    for count in counts:
        total = np.zeros(amounts.shape[1])
        for row in amounts[start : start + count]:
            total += row
        mean += total / count
        start += count
    mean /= len(counts)
    return mean


class _Answered(NamedTuple):
    """What came of asking about some rows."""

    means: NDArray[np.float64]
    asked: int
    executed: int
    answers: tuple[Any, ...]


@dataclass(frozen=True, slots=True)
class _Means:
    """Asks about some rows, here or in another process.

    It returns the mean of each row, how many inputs were asked and really run, and the different
    answers.
    """

    neighbours: Neighbours
    draws: int | None
    seed: int

    def __call__(self, task: tuple[int, Points]) -> _Answered:
        first, points = task
        view = self.neighbours.view
        subject = view.subject
        asked_before = subject.asked
        executed_before = subject.executed
        means = self.neighbours.means(points, draws=self.draws, seed=self.seed, first=first)
        asked = subject.asked - asked_before
        executed = subject.executed - executed_before
        return _Answered(means, asked, executed, view.answers)


def walk(
    neighbours: Neighbours,
    points: Points,
    *,
    draws: int | None,
    seed: int,
    order: NDArray[np.intp],
    meter: Meter,
    workers: Workers,
    task: str,
) -> tuple[NDArray[np.intp], NDArray[np.float64], StopReason | None]:
    """Go through rows in an order, until all are done or the budget is spent.

    Return the positions of the rows that were done, the mean over the neighbours of each, and why
    the walk ended early, if it did. The number of a row, on which its random neighbours depend, is
    its place in the order; how many rows are asked about at once follows the clock, and what is
    found does not.

    >>> from evenhand.runtime.budget import Budget, Meter
    >>> from evenhand.space.feature import integer
    >>> from evenhand.runtime.workers import Workers
    >>> from evenhand.space.space import Space
    >>> from evenhand.subject.subject import Subject
    >>> from evenhand.subject.view import View
    >>> space = Space([integer("sex", 0, 1), integer("age", 18, 90)], protected=["sex"])
    >>> subject = Subject(lambda people: people["age"] > 30, space, positive=True)
    >>> neighbours = Neighbours.of(View(subject), ["sex"])
    >>> meter = Meter(Budget(queries=5))
    >>> rows = np.array([[0.0, 20.0], [0.0, 30.0], [1.0, 40.0]])
    >>> done, means, stop = walk(
    ...     neighbours,
    ...     rows,
    ...     draws=None,
    ...     seed=0,
    ...     order=np.array([2, 1, 0]),
    ...     meter=meter,
    ...     workers=Workers(),
    ...     task="mine",
    ... )
    >>> done.tolist(), means.tolist(), stop.value, meter.queries
    ([2, 1], [1.0, 0.5], 'the query budget was spent', 4)
    """
    cost = neighbours.asks(draws)
    most = int(min(len(order), meter.left // cost))
    if most < min(1, len(order)):
        raise UsageError(
            f"budget: {int(meter.left):,} queries are left, but one row takes {cost:,}; raise"
            " queries"
        )
    means = np.empty(most)
    crew = _Crew(_Means(neighbours, draws, seed), cost, workers)
    if most < len(order):
        stop = StopReason.QUERIES
    else:
        stop = None
    done = 0
    try:
        while done < most:
            stop_row = min(done + crew.rows(most - done, meter), most)
            # Columns stay contiguous, as the software takes them.
            part = points.T.take(order[done:stop_row], axis=1).T
            means[done:stop_row] = crew.ask(done, part, most - done)
            done = stop_row
            meter.report(task, done / most, f"{done * cost:,} inputs")
            if done < most and meter.late:
                stop = StopReason.SECONDS
                break
    except KeyboardInterrupt:
        if not done:
            raise
        stop = StopReason.INTERRUPTED
    meter.queries += done * cost
    return order[:done], means[:done], stop


class _Crew:
    """Asks about rows, by several workers where that pays; how many at once follows the clock."""

    def __init__(self, means: _Means, cost: int, workers: Workers) -> None:
        self._means = means
        view = means.neighbours.view
        self._subject = view.subject
        self._seen = view.subject.seen[view.name]
        self._workers = workers
        self._effort = Effort()
        self._most = max(1, ROWS_AT_ONCE // cost)
        self._next = max(1, FIRST_WAVE // cost)
        self._seconds: float | None = None

    def rows(self, left: int, meter: Meter) -> int:
        """Return how many of the rows that are left to ask about next."""
        if self._seconds is None:
            return self._next
        allowed = CHUNK_SECONDS
        if meter.budget.seconds is not None:
            allowed = min(allowed, max(meter.budget.seconds - meter.seconds, 0.0))
        affordable = max(1, int(allowed / self._seconds))
        if self._here(left):
            return min(affordable, self._next)
        return affordable * self._workers.width

    def _here(self, rows: int) -> int:
        """Return how many rows to ask about in this process; 0 leaves all of them to workers."""
        if not is_shared_whole(self._subject):
            return rows
        return self._effort.here(rows, self._workers, self._means)

    def ask(self, first: int, points: Points, left: int) -> NDArray[np.float64]:
        """Return the mean of each row, of which the first has this number."""
        began = time.perf_counter()
        parts = 1 if self._here(left) else min(self._workers.width, len(points))
        edges = np.linspace(0, len(points), parts + 1).astype(int).tolist()
        tasks = []
        for start, stop in pairwise(edges):
            tasks.append((first + start, np.asfortranarray(points[start:stop])))
        if parts > 1:
            answers = self._workers.map(self._means, tasks)
            for answer in answers:
                self._subject.asked += answer.asked
                self._subject.executed += answer.executed
                self._seen.merge(answer.answers)
        else:
            answers = [self._means(tasks[0])]
            self._next = min(GROWTH * len(points), self._most)
        seconds = time.perf_counter() - began
        if parts == 1:
            self._effort.learn(len(points), seconds)
        self._seconds = max(seconds * parts / len(points), LEAST_SECONDS)
        return np.concatenate([answer.means for answer in answers])
