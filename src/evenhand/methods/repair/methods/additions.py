"""Additions to training rows before a model is fitted again, as encoded points and labels.

Twins are training rows under other values of the protected features. Found inputs are those of a
search, one by one (Aequitas, Algorithm 5) or with all their protected variants. Members are of a
group that a rule describes (TestSGD, section 5, RQ3). Nothing is drawn but from the generator that
is given.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from itertools import count
from typing import TYPE_CHECKING, Any

import numpy as np

from evenhand.methods.repair import messages
from evenhand.runtime.errors import UsageError, clip
from evenhand.runtime.random_streams import stream
from evenhand.scores.neighbours import Neighbours
from evenhand.scores.twins import ROWS
from evenhand.space.distribution import numbered
from evenhand.space.row_keys import classes

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

    from numpy.typing import NDArray

    from evenhand.methods.repair.methods.labelling import Labeller
    from evenhand.space.feature import Points
    from evenhand.space.space import Space
    from evenhand.subject.view import View

    Generator = np.random.Generator
    Places = NDArray[np.intp]
    Flags = NDArray[np.bool_]

LISTED = 256
"""Up to this many assignments, all of them are tried for each input; of more, some at random."""
TRIES = 64
"""How many assignments are tried at random, where not all are."""
DRAWS = 100
"""How many neighbours are asked at most for each member that is wanted."""
FEWEST = 256
"""The fewest neighbours that are asked at once, so that a rare outcome does not take many calls."""


def others(
    space: Space, points: Points, names: tuple[str, ...], most: int, rng: Generator
) -> tuple[Points, Places]:
    """Return each point under other valid assignments of some features, and where it comes from.

    The second array is the number of the point that each comes from. A point has all assignments
    where they are no more than `most`, and otherwise so many at random. Where the features have
    more than 256 assignments, 64 of these are tried for each point.

    >>> from evenhand.space.feature import category, integer
    >>> from evenhand.space.space import Space
    >>> space = Space([category("race", ["a", "b", "c"]), integer("age", 18, 90)])
    >>> found, rows = others(space, np.array([[1.0, 30.0]]), ("race",), 8, np.random.default_rng(0))
    >>> found.tolist(), rows.tolist()
    ([[0.0, 30.0], [2.0, 30.0]], [0, 0])
    """
    variants = _OtherVariants.of(space, names, most)
    size = max(1, ROWS // variants.tries)
    # Empty arrays first, so that no points at all give arrays of the right shape and type.
    parts = [points[:0]]
    origins = [np.zeros(0, dtype=np.intp)]
    for start in range(0, len(points), size):
        part = points[start : start + size]
        found, rows = variants.drawn(part, rng)
        parts.append(found)
        origins.append(start + rows)
    all_variants = np.concatenate(parts)
    return np.asfortranarray(all_variants), np.concatenate(origins)


@dataclass(frozen=True, eq=False)
class _OtherVariants:
    """Draws other valid assignments of some features for points."""

    space: Space
    columns: list[int]
    """Positions of the features."""
    table: Points
    """All assignments of the features; NaN stands for the point's own value."""
    tries: int
    most: int

    @classmethod
    def of(cls, space: Space, names: tuple[str, ...], most: int) -> _OtherVariants:
        """Return variants over some features, at most so many for each point."""
        table = space.assignments(names)
        columns = list(space.sets(names))
        tries = len(table)
        if tries > LISTED:
            tries = max(TRIES, 2 * most)
        return cls(space, columns, table, tries, most)

    @property
    def _repeats(self) -> bool:
        """Whether one assignment may be tried twice for a point."""
        if self.tries < len(self.table):
            return True
        sizes = [self.space.features[column].size for column in self.columns]
        return any(map(math.isinf, sizes))

    def drawn(self, points: Points, rng: Generator) -> tuple[Points, Places]:
        """Return variants of some points, and the number of the point that each comes from."""
        tried = self._tried(len(points), rng)
        rows = np.repeat(np.arange(len(points)), self.tries)
        found = points[rows]
        own = found[:, self.columns]
        values = self.table[tried.ravel()]
        values = np.where(np.isnan(values), own, values)
        found[:, self.columns] = values
        differs = (values != own).any(axis=1)
        good = differs & self.space.valid(found)
        if self._repeats:
            good &= _first_of_each(rows, values)
        so_far = np.cumsum(good.reshape(tried.shape), axis=1)
        good &= (so_far <= self.most).ravel()
        return found[good], rows[good]

    def _tried(self, points: int, rng: Generator) -> NDArray[Any]:
        """Return which assignments are tried for each point, one row a point."""
        shape = (points, self.tries)
        if self.tries < len(self.table):
            return rng.integers(0, len(self.table), shape)
        every = np.tile(np.arange(self.tries), (points, 1))
        # The first good ones are taken: in order, the same assignments would come first for all.
        if self.tries - 1 > self.most:
            return rng.permuted(every, axis=1)
        return every


def _first_of_each(rows: Places, values: Points) -> Flags:
    """Return which variants are the first of their values for their point."""
    columns = [rows.astype(np.float64), *values.T]
    codes = numbered(columns, len(rows))
    _, first = np.unique(codes, return_index=True)
    once = np.zeros(len(rows), dtype=np.bool_)
    once[first] = True
    return once


def twins(
    space: Space,
    points: Points,
    truth: NDArray[Any],
    names: tuple[str, ...],
    share: float,
    rng: Generator,
    most: int = 8,
) -> tuple[Points, NDArray[Any], Places]:
    """Return a share of the rows under other protected values, with the labels of their own rows.

    Parameters
    ----------
    truth
        The label of each row.
    share
        How many of the rows, over 0 and up to 1, which takes them all; at least one, each at most
        once, in order.
    most
        How many twins a row has at most.

    Returns
    -------
    tuple of arrays
        The twins, their labels, and the number of the row each comes from.

    >>> from evenhand.space.feature import category, integer
    >>> from evenhand.space.space import Space
    >>> space = Space([category("sex", ["F", "M"]), integer("age", 18, 90)], protected=["sex"])
    >>> rows, truth = np.array([[0.0, 30.0], [1.0, 50.0]]), np.array(["no", "yes"])
    >>> found, labels, origin = twins(space, rows, truth, ("sex",), 1.0, np.random.default_rng(0))
    >>> found.tolist(), labels.tolist(), origin.tolist()
    ([[1.0, 30.0], [0.0, 50.0]], ['no', 'yes'], [0, 1])
    """
    if not 0 < share <= 1:
        raise UsageError(messages.SHARE_OF_TWINS.format(share=clip(repr(share))))
    size = len(points)
    chosen = np.arange(size)
    wanted = max(1, round(share * size))
    if wanted < size:
        chosen = rng.choice(size, wanted, replace=False)
        chosen = np.sort(chosen)
    found, rows = others(space, points[chosen], names, most, rng)
    origin = chosen[rows]
    return found, truth[origin], origin


def found(
    points: Points, labeller: Labeller, n: int, rng: Generator
) -> tuple[Points, NDArray[Any]]:
    """Return `n` of the discriminatory inputs at random, each with its own label.

    These are lines 10 to 12 of Algorithm 5. None is taken twice before all are taken once.

    >>> from evenhand.space.feature import category, integer
    >>> from evenhand.methods.repair.methods.labelling import labeller
    >>> from evenhand.space.space import Space
    >>> from evenhand.subject.subject import Subject
    >>> from evenhand.subject.view import View
    >>> space = Space([category("sex", ["F", "M"]), integer("age", 18, 90)], protected=["sex"])
    >>> model = View(Subject(lambda people: people["sex"] == "M", space))
    >>> rows = {"points": np.array([[0.0, 30.0], [1.0, 50.0]]), "truth": np.array([False, True])}
    >>> options = {"view": model, "names": ("sex",), "regression": False, "seed": 0, **rows}
    >>> adults = labeller(lambda people: people["age"] > 40, **options)
    >>> inputs = np.array([[0.0, 20.0], [0.0, 60.0]])
    >>> points, labels = found(inputs, adults, 4, np.random.default_rng(0))
    >>> sorted(zip(points[:, 1].tolist(), labels.tolist()))
    [(20.0, False), (20.0, False), (60.0, True), (60.0, True)]
    """
    places = _drawn(len(points), n, rng)
    chosen = np.asfortranarray(points[places])
    return chosen, labeller.single(chosen)


def pairs(
    space: Space,
    points: Points,
    labeller: Labeller,
    names: tuple[str, ...],
    n: int,
    rng: Generator,
    most: int = 8,
) -> tuple[Points, NDArray[Any]]:
    """Return discriminatory inputs with all their protected variants, one label for all of these.

    Parameters
    ----------
    n
        How many inputs in all; a few more where the last would lack variants. No class of inputs
        that differ only in the protected features is taken twice before all are taken once.
    most
        How many variants stand beside an input at most.

    >>> from evenhand.space.feature import category, integer
    >>> from evenhand.methods.repair.methods.labelling import labeller
    >>> from evenhand.space.space import Space
    >>> from evenhand.subject.subject import Subject
    >>> from evenhand.subject.view import View
    >>> space = Space([category("sex", ["F", "M"]), integer("age", 18, 90)], protected=["sex"])
    >>> model = View(Subject(lambda people: people["sex"] == "M", space))
    >>> rows = {"points": np.array([[0.0, 30.0], [1.0, 50.0]]), "truth": np.array([False, True])}
    >>> options = {"view": model, "names": ("sex",), "regression": False, "seed": 0, **rows}
    >>> better = labeller("advantaged", **options)
    >>> inputs, rng = np.array([[0.0, 20.0]]), np.random.default_rng(0)
    >>> found, labels = pairs(space, inputs, better, ("sex",), 2, rng)
    >>> found.tolist(), labels.tolist()
    ([[0.0, 20.0], [1.0, 20.0]], [True, True])
    """
    _, first = np.unique(classes(points, space, names), return_index=True)
    # A discriminatory input has a variant at least, so that half as many classes are enough.
    places = _drawn(len(first), math.ceil(n / 2), rng)
    chosen = points[first[places]]
    variants, rows = others(space, chosen, names, most, rng)
    # As many inputs are kept as it takes to reach n with their variants.
    variants_of_each = np.bincount(rows, minlength=len(chosen))
    totals = np.cumsum(1 + variants_of_each)
    enough = np.searchsorted(totals, n) + 1
    chosen = np.asfortranarray(chosen[:enough])
    kept = rows < len(chosen)
    closed = np.concatenate([chosen, variants[kept]])
    labels = labeller.shared(chosen)
    labels_of_variants = labels[rows[kept]]
    all_labels = np.concatenate([labels, labels_of_variants])
    return np.asfortranarray(closed), all_labels


def _drawn(size: int, n: int, rng: Generator) -> Places:
    """Draw `n` of so many places, none of them twice before all are drawn once."""
    wanted = max(n, 0)
    turns = 0
    if size:
        turns = math.ceil(wanted / size)
    permutations = [rng.permutation(size) for _ in range(turns)]
    none = np.zeros(0, dtype=np.intp)
    places = np.concatenate([none, *permutations])
    return places[:wanted]


def schedule(seed: int, *, last: bool) -> Iterator[float]:
    """Yield how many percent of the training rows each step adds (Algorithm 5, lines 4 to 8).

    Step i = 2, 3, … adds between 2^(i - 2) and 2^(i - 1) percent, at random; over 100 percent ends
    it.

    Parameters
    ----------
    last
        Whether a step of exactly 100 percent follows.

    >>> [round(percent, 1) for percent in schedule(0, last=True)]
    [1.6, 2.9, 6.5, 11.4, 19.2, 54.0, 65.6, 100.0]
    """
    percent = 0.0
    for step in count(2):
        rng = stream(seed, "repair", "percent", step)
        drawn = rng.uniform(2.0 ** (step - 2), 2.0 ** (step - 1))
        if drawn > 100:
            break
        percent = drawn
        yield percent
    if last and percent < 100:
        yield 100.0


def members(
    view: View,
    points: Points,
    inside: Flags,
    *,
    up: bool,
    n: int,
    rng: Generator,
    over: Sequence[str] = (),
) -> Points:
    """Return neighbours of the rows inside a rule that the software gives the opposite outcome.

    This is how TestSGD retrains (section 5, RQ3).

    Parameters
    ----------
    view
        The model before anything was added.
    inside
        Which rows the rule holds for.
    up
        Whether the group is favoured less than the others, so that favourable outcomes are wanted.
    n
        How many are wanted; fewer are returned where a hundred times as many neighbours have no
        more of them.
    over
        The features of the rule, where they are not protected; neighbours keep these, and all
        protected ones.

    >>> from evenhand.space.feature import category, integer
    >>> from evenhand.space.space import Space
    >>> from evenhand.subject.subject import Subject
    >>> from evenhand.subject.view import View
    >>> space = Space([category("sex", ["F", "M"]), integer("age", 18, 90)], protected=["sex"])
    >>> model = View(Subject(lambda people: people["age"] > 30, space, positive=True))
    >>> rows = np.array([[0.0, 30.0], [1.0, 30.0]])
    >>> inside, rng = np.array([True, False]), np.random.default_rng(0)
    >>> members(model, rows, inside, up=True, n=2, rng=rng).tolist()
    [[0.0, 31.0], [0.0, 31.0]]
    """
    neighbours = _neighbours(view, over)
    source = points[inside]
    parts = [points[:0]]
    got = 0
    asked = 0
    most_asked = DRAWS * n
    while len(source) and got < n and asked < most_asked:
        # As many as are likely to hold the rest, by the share of them so far.
        guess = 2 * n
        if asked:
            guess = (n - got) * asked // (got + 1)
        size = min(max(guess, FEWEST), ROWS, most_asked - asked)
        chosen = rng.integers(0, len(source), size)
        drawn = neighbours.drawn(source[chosen], rng)
        favoured = view.favourable(view.decide(drawn))
        wanted = drawn[favoured == up]
        parts.append(wanted)
        got += len(wanted)
        asked += size
    all_members = np.concatenate(parts)
    return np.asfortranarray(all_members[:n])


def borderline(
    view: View,
    points: Points,
    inside: Flags,
    scores: NDArray[np.float64],
    *,
    up: bool,
    n: int,
    rng: Generator,
    both: bool = False,
    over: Sequence[str] = (),
) -> tuple[Points, Flags]:
    """Return neighbours of rows nearly decided otherwise, and which of them are to be favoured.

    Inside the rule these are the `n` rows nearest to the boundary of those with the outcome that is
    given too often, and their neighbours are to have the opposite one.

    Parameters
    ----------
    view, inside, up, over
        As for `members`.
    scores
        The chance of the favourable outcome of each row.
    n
        How many are wanted; none where no row has the outcome that is given too often.
    both
        Whether half of them are neighbours of rows outside the rule, with everything the other way
        round.

    >>> from evenhand.space.feature import category, integer
    >>> from evenhand.space.space import Space
    >>> from evenhand.subject.subject import Subject
    >>> from evenhand.subject.view import View
    >>> features = [category("sex", ["F", "M"]), integer("age", 18, 90, step=9)]
    >>> space = Space(features, protected=["sex"])
    >>> model = View(Subject(lambda people: people["age"] > 30, space, positive=True))
    >>> rows = np.array([[0.0, 18.0], [0.0, 27.0], [0.0, 90.0], [1.0, 27.0]])
    >>> inside, scores, rng = rows[:, 0] == 0, rows[:, 1] / 90, np.random.default_rng(0)
    >>> found, favoured = borderline(model, rows, inside, scores, up=True, n=1, rng=rng)
    >>> found.tolist(), favoured.tolist()
    ([[0.0, 36.0]], [True])
    """
    neighbours = _neighbours(view, over)
    favoured = view.favourable(view.decide(points))
    outside_size = 0
    if both:
        outside_size = n // 2
    sides = (
        (inside, up, n - outside_size),
        (~inside, not up, outside_size),
    )
    parts = [points[:0]]
    wanted = [np.zeros(0, dtype=np.bool_)]
    for group, rise, size in sides:
        candidates = np.flatnonzero(group & (favoured != rise))
        # Among the favoured the lowest scores are nearest to the boundary, wherever that is, and
        # else the highest.
        distances = scores[candidates]
        if rise:
            distances = -distances
        order = np.argsort(distances, kind="stable")
        near = candidates[order][:size]
        if len(near):
            near = rng.choice(near, size)
        parts.append(neighbours.drawn(points[near], rng))
        wanted.append(np.full(len(near), rise))
    found = np.concatenate(parts)
    return np.asfortranarray(found), np.concatenate(wanted)


def _neighbours(view: View, over: Sequence[str]) -> Neighbours:
    """Return the neighbours of people who stay in their subgroup."""
    return Neighbours.of(view, over or view.subject.space.protected)
