"""Blind mitigation: overwrite a random part of the predictions, and bias goes down with performance (Fairea 4.1).

Overwriting k of n predictions takes a hypergeometric number out of every cell of a table, so the mean table is known
exactly: each cell keeps the share 1 - k/n of its people. Scores that are linear in the cells have the score of the mean
table as their mean; for others it is what a large test set would show.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np

from evenhand.methods.compare.regions import CLOSE, Line
from evenhand.runtime.errors import UsageError, clip, nearest
from evenhand.space.feature import plain

if TYPE_CHECKING:
    from collections.abc import Sequence

    from evenhand.methods.compare.contingency import Floats
    from evenhand.methods.compare.metrics.scores import Score
    from evenhand.space.feature import Label

DEGREES = tuple(step / 10 for step in range(11))
"""The paper's degrees of overwriting, and none at all."""
STRATEGIES = ("tightest", "majority", "label", "random")
_GRID = 101


@dataclass(frozen=True)
class Overwriting:
    """Which shares of the predictions are overwritten, and with what: the place of a label, or None for any at random.

    >>> table = np.array([[[4.0, 0.0], [0.0, 6.0]]])
    >>> Overwriting((0.0, 0.5, 1.0), 1).expected(table)[1].tolist()
    [[[2.0, 2.0], [0.0, 6.0]]]
    """

    degrees: tuple[float, ...]
    label: int | None

    def expected(self, tables: Floats) -> Floats:
        """Return the mean table at each degree, on a new axis before those of a table."""
        share = np.array(self.degrees)[:, None, None, None]
        left, over = tables[..., None, :, :, :], self._all(tables)[..., None, :, :, :]
        return np.asarray(left * (1 - share) + over * share)

    def _all(self, tables: Floats) -> Floats:
        """Return the mean table when every prediction is overwritten."""
        people = tables.sum(axis=-1, keepdims=True)
        labels = tables.shape[-1]
        spread = np.full(labels, 1 / labels) if self.label is None else np.eye(labels)[self.label]
        return np.asarray(people * spread)

    def drawn(self, table: Floats, repetitions: int, rng: np.random.Generator) -> Floats:
        """Return tables of the paper's procedure: at each degree, that part of the predictions chosen at random.

        The new axes are repetitions and degrees. The people chosen fall into the cells by the multivariate
        hypergeometric law, which is that of choosing rows one by one.
        """
        counts = np.rint(table).astype(np.int64).ravel()
        total = int(counts.sum())
        found = np.empty((repetitions, len(self.degrees), *table.shape))
        for at, degree in enumerate(self.degrees):
            some = round(degree * total)
            taken = rng.multivariate_hypergeometric(counts, some, size=repetitions, method="marginals")
            left = (counts - taken).reshape(repetitions, *table.shape)
            found[:, at] = left + self._told(taken.reshape(repetitions, *table.shape), rng)
        return found

    def _told(self, taken: Any, rng: np.random.Generator) -> Floats:
        people = taken.sum(axis=-1)
        labels = taken.shape[-1]
        if self.label is None:
            return np.asarray(rng.multinomial(people, np.full(labels, 1 / labels)), dtype=np.float64)
        return np.asarray(people[..., None] * np.eye(labels)[self.label], dtype=np.float64)


def choose(
    overwrite: str,
    label: Any,
    labels: Sequence[Label],
    table: Floats,
    scores: tuple[Score | None, Score],
    degrees: Sequence[float] = DEGREES,
) -> Overwriting:
    """Return the overwriting that a overwrite stands for, given the table of the original and both scores.

    "tightest" takes the label whose line leaves most performance, which for scores that are linear is the commonest
    true label; "majority" takes that label always, "label" the one given, and "random" gives everyone any label.
    """
    if overwrite not in STRATEGIES:
        raise UsageError(f"overwrite = {clip(repr(overwrite))} is none; {nearest(overwrite, STRATEGIES)}")
    if overwrite == "label" and label is None:
        raise UsageError(f"overwrite = 'label' needs the option label, what to overwrite with; {nearest('', labels)}")
    if overwrite != "label" and label is not None:
        raise UsageError(
            f"overwrite = {overwrite!r} and label = {clip(repr(label))}: a label goes with overwrite = 'label' alone"
        )
    steps = check_degrees(degrees)
    if overwrite == "random":
        return Overwriting(steps, None)
    if overwrite == "label":
        if plain(label) not in labels:
            raise UsageError(f"label = {clip(repr(label))} is no label of these predictions; {nearest(label, labels)}")
        return Overwriting(steps, list(labels).index(plain(label)))
    if overwrite == "majority":
        return Overwriting(steps, int(np.argmax(table.sum(axis=(0, 2)))))
    every = [Overwriting(steps, at) for at in range(len(labels))]
    curves = [curve(each, table, scores) for each in every]
    worst = min(float(np.nanmin(performance)) for _, performance in curves)
    return max(every, key=lambda each: _tightness(*curves[each.label or 0], worst))


def check_degrees(degrees: Sequence[float]) -> tuple[float, ...]:
    """Return degrees from none to all, in order."""
    try:
        steps = tuple(sorted({float(degree) for degree in degrees} | {0.0, 1.0}))
    except (TypeError, ValueError):
        raise UsageError(f"degrees = {clip(repr(degrees))} must be shares of the predictions, from 0 to 1") from None
    if not all(0 <= step <= 1 for step in steps):
        raise UsageError(f"degrees = {clip(repr(degrees))} must be shares of the predictions, from 0 to 1")
    return steps


def curve(overwriting: Overwriting, tables: Floats, scores: tuple[Score | None, Score]) -> tuple[Floats, Floats]:
    """Return bias and performance at each degree, from the mean tables; a bias that is None goes down in proportion."""
    expected = overwriting.expected(tables)
    performance = scores[1](expected)
    if scores[0] is None:
        return np.broadcast_to(1 - np.array(overwriting.degrees), performance.shape), performance
    return scores[0](expected), performance


def repeated(
    overwriting: Overwriting,
    table: Floats,
    scores: tuple[Score | None, Score],
    repetitions: int,
    rng: np.random.Generator,
) -> tuple[Floats, Floats]:
    """Return bias and performance at each degree, as means over repetitions of the paper's procedure."""
    drawn = overwriting.drawn(table, repetitions, rng)
    performance = scores[1](drawn)
    if scores[0] is None:
        return 1 - np.array(overwriting.degrees), performance.mean(axis=0)
    bias = scores[0](drawn)
    some = (~np.isnan(bias)).any(axis=0)
    mean = np.where(some, np.nansum(bias, axis=0) / np.maximum((~np.isnan(bias)).sum(axis=0), 1), np.nan)
    return mean, performance.mean(axis=0)


def _tightness(bias: Floats, performance: Floats, worst: float) -> float:
    """Return the mean performance of a line from no bias to that of the original; `worst` where it never gets to."""
    line = Line.through(bias, performance)
    grid = np.linspace(0.0, float(bias[0]), _GRID)
    return float(np.where(grid < line.bias[0] - CLOSE, worst, line.at(grid)).mean())
