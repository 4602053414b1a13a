"""Additions: what is added to training rows before a model is fitted again, as encoded points and
labels.

Twins are training rows under other values of the protected features. Found inputs are those of a
search, one by one (Aequitas, Algorithm 5) or with all their protected variants. Members are of a
group that a rule describes (TestSGD, section 5, RQ3). Nothing is drawn but from the generator that
is given.
"""

from __future__ import annotations

import math
from itertools import count
from typing import TYPE_CHECKING, Any

import numpy as np

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

LISTED = 256
"""Up to this many assignments, all of them are tried for each input; of more, `TRIES` at random."""
TRIES = 64
DRAWS = 100
"""How many neighbours are asked at most for each member that is wanted."""
FEWEST = 256
"""The fewest neighbours that are asked at once, so that a rare outcome does not take many calls."""


def others(
    space: Space, points: Points, names: tuple[str, ...], most: int, rng: np.random.Generator
) -> tuple[Points, NDArray[np.intp]]:
    """Return each point under other valid assignments of some features, and the number of the point
    each comes from.

    A point has all of them where they are no more than `most`, and otherwise so many at random.
    Where the features have more than 256 assignments, 64 of these are tried for each point.

    >>> from evenhand.space.feature import category, integer
    >>> from evenhand.space.space import Space
    >>> space = Space([category("race", ["a", "b", "c"]), integer("age", 18, 90)])
    >>> found, rows = others(space, np.array([[1.0, 30.0]]), ("race",), 8, np.random.default_rng(0))
    >>> found.tolist(), rows.tolist()
    ([[0.0, 30.0], [2.0, 30.0]], [0, 0])
    """
    table, columns = space.assignments(names), list(space.sets(names))
    tries = len(table) if len(table) <= LISTED else max(TRIES, 2 * most)
    repeats = tries < len(table) or any(
        math.isinf(space.features[column].size) for column in columns
    )
    size = max(1, ROWS // tries)
    parts, origins = [points[:0]], [np.zeros(0, dtype=np.intp)]
    for start in range(0, len(points), size):
        part = points[start : start + size]
        if tries < len(table):
            tried = rng.integers(0, len(table), (len(part), tries))
        else:
            tried = np.tile(np.arange(tries), (len(part), 1))
            tried = rng.permuted(tried, axis=1) if tries - 1 > most else tried
        rows = np.repeat(np.arange(len(part)), tries)
        found, values = part[rows], table[tried.ravel()]
        own = found[:, columns]
        values = np.where(np.isnan(values), own, values)
        found[:, columns] = values
        good = (values != own).any(axis=1) & space.valid(found)
        if repeats:
            once = np.zeros(len(good), dtype=np.bool_)
            once[
                np.unique(
                    numbered([rows.astype(np.float64), *values.T], len(rows)), return_index=True
                )[1]
            ] = True
            good &= once
        good &= (np.cumsum(good.reshape(tried.shape), axis=1) <= most).ravel()
        parts.append(found[good])
        origins.append(start + rows[good])
    return np.asfortranarray(np.concatenate(parts)), np.concatenate(origins)


def twins(
    space: Space,
    points: Points,
    truth: NDArray[Any],
    names: tuple[str, ...],
    share: float,
    rng: np.random.Generator,
    most: int = 8,
) -> tuple[Points, NDArray[Any], NDArray[np.intp]]:
    """Return a share of the rows under other values of the protected features, with the labels of
    their own rows.

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
        raise UsageError(f"share = {clip(repr(share))} must be over 0 and at most 1")
    chosen = np.arange(len(points))
    wanted = min(max(1, round(share * len(points))), len(points))
    if wanted < len(points):
        chosen = np.sort(rng.choice(len(points), wanted, replace=False))
    found, rows = others(space, points[chosen], names, most, rng)
    return found, truth[chosen[rows]], chosen[rows]


def found(
    points: Points, labeller: Labeller, n: int, rng: np.random.Generator
) -> tuple[Points, NDArray[Any]]:
    """Return `n` of the discriminatory inputs at random, each with its own label (Algorithm 5,
    lines 10 to 12).

    None is taken twice before all are taken once.

    >>> from evenhand.space.feature import category, integer
    >>> from evenhand.methods.repair.methods.labelling import labeller
    >>> from evenhand.space.space import Space
    >>> from evenhand.subject.subject import Subject
    >>> from evenhand.subject.view import View
    >>> space = Space([category("sex", ["F", "M"]), integer("age", 18, 90)], protected=["sex"])
    >>> model = View(Subject(lambda people: people["sex"] == "M", space))
    >>> adults = labeller(lambda people: people["age"] > 40, view=model, names=("sex",), seed=0, regression=False,
    ...                   points=np.array([[0.0, 30.0], [1.0, 50.0]]), truth=np.array([False, True]))
    >>> points, labels = found(np.array([[0.0, 20.0], [0.0, 60.0]]), adults, 4, np.random.default_rng(0))
    >>> sorted(zip(points[:, 1].tolist(), labels.tolist()))
    [(20.0, False), (20.0, False), (60.0, True), (60.0, True)]
    """
    chosen = np.asfortranarray(points[_drawn(len(points), n, rng)])
    return chosen, labeller.single(chosen)


def pairs(
    space: Space,
    points: Points,
    labeller: Labeller,
    names: tuple[str, ...],
    n: int,
    rng: np.random.Generator,
    most: int = 8,
) -> tuple[Points, NDArray[Any]]:
    """Return discriminatory inputs with all their protected variants, the same label for all of
    these.

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
    >>> better = labeller("advantaged", view=model, names=("sex",), seed=0, regression=False,
    ...                   points=np.array([[0.0, 30.0], [1.0, 50.0]]), truth=np.array([False, True]))
    >>> found, labels = pairs(space, np.array([[0.0, 20.0]]), better, ("sex",), 2, np.random.default_rng(0))
    >>> found.tolist(), labels.tolist()
    ([[0.0, 20.0], [1.0, 20.0]], [True, True])
    """
    first = np.unique(classes(points, space, names), return_index=True)[1]
    # A discriminatory input has a variant at least, so that half as many classes are enough.
    chosen = points[first[_drawn(len(first), math.ceil(n / 2), rng)]]
    variants, rows = others(space, chosen, names, most, rng)
    totals = np.cumsum(1 + np.bincount(rows, minlength=len(chosen)))
    chosen = np.asfortranarray(chosen[: np.searchsorted(totals, n) + 1])
    kept = rows < len(chosen)
    labels = labeller.shared(chosen)
    closed = np.asfortranarray(np.concatenate([chosen, variants[kept]]))
    return closed, np.concatenate([labels, labels[rows[kept]]])


def _drawn(size: int, n: int, rng: np.random.Generator) -> NDArray[np.intp]:
    """Draw `n` of so many places, none of them twice before all are drawn once; none where there
    are none.
    """
    turns = math.ceil(max(n, 0) / size) if size else 0
    places = [np.zeros(0, dtype=np.intp), *(rng.permutation(size) for _ in range(turns))]
    return np.concatenate(places)[: max(n, 0)]


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
        drawn = stream(seed, "repair", "percent", step).uniform(
            2.0 ** (step - 2), 2.0 ** (step - 1)
        )
        if drawn > 100:
            break
        percent = drawn
        yield percent
    if last and percent < 100:
        yield 100.0


def members(
    view: View,
    points: Points,
    inside: NDArray[np.bool_],
    *,
    up: bool,
    n: int,
    rng: np.random.Generator,
    over: Sequence[str] = (),
) -> Points:
    """Return neighbours of the rows inside a rule that the software gives the opposite outcome
    (TestSGD, RQ3).

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
    >>> members(model, rows, np.array([True, False]), up=True, n=2, rng=np.random.default_rng(0)).tolist()
    [[0.0, 31.0], [0.0, 31.0]]
    """
    neighbours, source = _neighbours(view, over), points[inside]
    parts, got, asked = [points[:0]], 0, 0
    while len(source) and got < n and asked < DRAWS * n:
        guess = (n - got) * asked // (got + 1) if asked else 2 * n
        size = min(max(guess, FEWEST), ROWS, DRAWS * n - asked)
        drawn = neighbours.drawn(source[rng.integers(0, len(source), size)], rng)
        parts.append(drawn[view.favourable(view.decide(drawn)) == up])
        got, asked = got + len(parts[-1]), asked + size
    return np.asfortranarray(np.concatenate(parts)[:n])


def borderline(
    view: View,
    points: Points,
    inside: NDArray[np.bool_],
    scores: NDArray[np.float64],
    *,
    up: bool,
    n: int,
    rng: np.random.Generator,
    both: bool = False,
    over: Sequence[str] = (),
) -> tuple[Points, NDArray[np.bool_]]:
    """Return neighbours of the rows that the software nearly decided otherwise, and which are to be
    favoured.

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
    >>> space = Space([category("sex", ["F", "M"]), integer("age", 18, 90, step=9)], protected=["sex"])
    >>> model = View(Subject(lambda people: people["age"] > 30, space, positive=True))
    >>> rows = np.array([[0.0, 18.0], [0.0, 27.0], [0.0, 90.0], [1.0, 27.0]])
    >>> found, favoured = borderline(model, rows, rows[:, 0] == 0, rows[:, 1] / 90, up=True, n=1,
    ...                              rng=np.random.default_rng(0))
    >>> found.tolist(), favoured.tolist()
    ([[0.0, 36.0]], [True])
    """
    neighbours, favoured = _neighbours(view, over), view.favourable(view.decide(points))
    parts, wanted = [points[:0]], [np.zeros(0, dtype=np.bool_)]
    for group, rise, size in (
        (inside, up, n - n // 2 if both else n),
        (~inside, not up, n // 2 if both else 0),
    ):
        # Among the favoured the lowest scores are nearest to the boundary, wherever that is, and
        # else the highest.
        near = np.flatnonzero(group & (favoured != rise))
        near = near[np.argsort(-scores[near] if rise else scores[near], kind="stable")][:size]
        size = size if len(near) else 0
        parts.append(neighbours.drawn(points[rng.choice(near, size) if size else near], rng))
        wanted.append(np.full(size, rise))
    return np.asfortranarray(np.concatenate(parts)), np.concatenate(wanted)


def _neighbours(view: View, over: Sequence[str]) -> Neighbours:
    """Return the neighbours of people who stay in their subgroup."""
    return Neighbours.of(view, over or view.subject.space.protected)
