"""Screens: models of what was answered, which tell of inputs that were never asked how likely they
are hits.

Two forests learn: one the outcome of every member, so that each answer counts, and one which
classes are hits. What they say before a class is asked is kept beside what came of it, and weighed
by that.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np

from evenhand.runtime.random_streams import stream
from evenhand.space.design_matrix import columns

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from evenhand.methods.search.probe import Probe, Tried
    from evenhand.space.feature import Points

    Numbers = NDArray[np.float64]

SAID = 3
"""How many things a screen says of a class."""
FLIP, DOUBT = 0, 1
"""Where among them stands how likely two members differ: by the model, and for all the model knows.
"""
TREES = 32
MOST_CLASSES = 3000
"""How many classes a model is fitted to: half of them the newest, half any others."""
MOST_LABELS = 8
"""With more labels than that only the commonest are told apart."""
FLOOR = 0.02
"""What is added to a chance before its logarithm is taken."""
RIDGE, PRIOR = 2.0, 0.5
"""How strongly the weights of what is said are held to what they are at first, and that."""
RECENT = 2000
"""How many of the newest classes weigh what is said."""
STEPS = 20


class Targets:
    """Outcomes as numbers that can be learnt, and how far two predictions of them are apart.

    >>> targets = Targets(np.array(["no", "yes", "no"]), None)
    >>> targets.of(np.array(["yes", "no"])).tolist()
    [[0.0, 1.0], [1.0, 0.0]]
    >>> flip, doubt = targets.apart(np.array([[0.5, 0.5]]), np.array([[0.0, 1.0]]))
    >>> flip.tolist(), doubt.tolist()
    ([0.5], [0.5])
    """

    def __init__(self, outcomes: NDArray[Any], gap: object) -> None:
        self.gap = float(gap) if isinstance(gap, int | float) else None
        many = outcomes.dtype.kind in "iuf" and len(np.unique(outcomes)) > MOST_LABELS
        self.numeric = outcomes.dtype.kind in "iuf" and (self.gap is not None or many)
        if self.numeric:
            values = _finite(outcomes)
            self._middle, self._scale = float(values.mean()), float(values.std()) or 1.0
        else:
            labels, counts = np.unique(outcomes.astype(str), return_counts=True)
            self._labels = np.sort(labels[np.argsort(-counts, kind="stable")[:MOST_LABELS]])

    def of(self, outcomes: NDArray[Any]) -> Numbers:
        """Return one column for each label, or the scaled number."""
        if self.numeric:
            return np.asarray((_finite(outcomes) - self._middle) / self._scale)[:, None]
        return np.asarray(outcomes.astype(str)[:, None] == self._labels, dtype=np.float64)

    def apart(self, one: Numbers, other: Numbers) -> tuple[Numbers, Numbers]:
        """Return how likely both differ, from 0 to 1, if what the model errs by is the same for
        both, and if it is not.

        Numbers that are γ apart are as likely to differ as not; the second is 0 for them.
        """
        if not self.numeric:
            return np.abs(one - other).sum(axis=1) / 2, np.clip(
                1 - (one * other).sum(axis=1), 0.0, 1.0
            )
        ratio = (np.abs(one - other)[:, 0] / max((self.gap or 0.0) / self._scale, 1e-3)) ** 2
        return ratio / (1 + ratio), np.zeros(len(one))


def _finite(outcomes: NDArray[Any]) -> Numbers:
    values = outcomes.astype(np.float64)
    known = values[np.isfinite(values)]
    low, high = (known.min(), known.max()) if len(known) else (0.0, 0.0)
    return np.clip(np.nan_to_num(values, nan=low, posinf=high, neginf=low), low, high)


@dataclass(frozen=True)
class Screen:
    """The two models, fitted to what was answered."""

    probe: Probe
    targets: Targets
    outcome: Any
    hit: Any

    @classmethod
    def fitted(cls, probe: Probe, known: Known, seed: int) -> Screen | None:
        """Return a screen, or None where all outcomes are the same, so that there is nothing to
        learn.
        """
        from sklearn.ensemble import ExtraTreesRegressor

        rows = known.some(seed)
        points, pairs, hits = known.points[rows], known.pairs[rows], known.hits[rows]
        outcomes = np.concatenate([known.outcomes[rows, side] for side in (0, 1)])
        if len(np.unique(outcomes.astype(str))) < 2:
            return None
        targets = Targets(outcomes, probe.view.differs)
        members = np.concatenate([_member(probe, points, pairs, side) for side in (0, 1)])
        state = int(stream(seed, "search", "surrogate", len(known)).integers(2**31))
        # One job, whatever the user's joblib is set to: several would add up in any order.
        wanted = targets.of(outcomes)
        outcome = ExtraTreesRegressor(TREES, random_state=state, n_jobs=1)
        outcome.fit(members, wanted[:, 0] if wanted.shape[1] == 1 else wanted)
        if not hits.any() or hits.all():
            return cls(probe, targets, outcome, None)
        weights = np.where(hits, 0.5 / hits.mean(), 0.5 / (1 - hits.mean()))
        hit = ExtraTreesRegressor(TREES, min_samples_leaf=2, random_state=state, n_jobs=1)
        return cls(
            probe,
            targets,
            outcome,
            hit.fit(_classes(probe, points, pairs), hits.astype(np.float64), weights),
        )

    def said(self, points: Points, pairs: NDArray[np.intp]) -> Numbers:
        """Return what is said of classes, the more the likelier hits: flip and doubt of the
        outcome, and the hit.
        """
        if not len(points):
            return np.empty((0, SAID))
        members = np.concatenate([_member(self.probe, points, pairs, side) for side in (0, 1)])
        predicted = self.outcome.predict(members).reshape(2, len(points), -1)
        flip, doubt = self.targets.apart(predicted[0], predicted[1])
        chance = np.full(len(points), 0.5)
        if self.hit is not None:
            chance = self.hit.predict(_classes(self.probe, points, pairs))
        odds = np.log((chance + FLOOR) / (1 - chance + FLOOR))
        return np.stack([np.log(flip + FLOOR), np.log(doubt + FLOOR), odds], axis=1)


def _member(probe: Probe, points: Points, pairs: NDArray[np.intp], side: int) -> Numbers:
    positions = tuple(sorted(probe.free + probe.over))
    return columns(probe.space, probe.member(points, pairs[:, side]), positions)


def _classes(probe: Probe, points: Points, pairs: NDArray[np.intp]) -> Numbers:
    """Return the free features, and the two assignments that are compared, whichever stands first."""
    ends = [
        columns(probe.space, probe.member(points, end), probe.over)
        for end in (pairs.min(axis=1), pairs.max(axis=1))
    ]
    return np.concatenate([columns(probe.space, points, probe.free), *ends], axis=1)


class Known:
    """What was answered: classes of which both members were asked."""

    def __init__(self) -> None:
        self._parts: list[tuple[Any, ...]] = []
        self._size = 0

    def __len__(self) -> int:
        return self._size

    def add(self, tried: Tried) -> None:
        """Add classes."""
        rows = np.flatnonzero(tried.valid.all(axis=0))
        self._parts.append(
            (
                tried.points[rows],
                tried.assigned[:, rows].T,
                tried.outcomes[:, rows].T,
                tried.hits[rows],
            )
        )
        self._size += len(rows)

    def _joined(self, field: int) -> Any:
        return np.concatenate([part[field] for part in self._parts])

    @property
    def points(self) -> Points:
        """A member of each class."""
        return np.asarray(self._joined(0))

    @property
    def pairs(self) -> NDArray[np.intp]:
        """The two assignments that were asked."""
        return np.asarray(self._joined(1))

    @property
    def outcomes(self) -> NDArray[Any]:
        """The two outcomes."""
        return np.asarray(self._joined(2))

    @property
    def hits(self) -> NDArray[np.bool_]:
        """Which of them are hits."""
        return np.asarray(self._joined(3))

    def some(self, seed: int) -> NDArray[np.intp]:
        """Return the classes to learn from."""
        if len(self) <= MOST_CLASSES:
            return np.arange(len(self))
        old = len(self) - MOST_CLASSES // 2
        kept = stream(seed, "search", "known", len(self)).choice(
            old, MOST_CLASSES - MOST_CLASSES // 2, replace=False
        )
        return np.concatenate([np.sort(kept), np.arange(old, len(self))])


class Weights:
    """Weighs what is said of classes by what came of those that were asked: a logistic regression
    held to a prior.

    >>> weights = Weights(2)
    >>> said = np.random.default_rng(0).normal(size=(500, 2))
    >>> weights.learn(said, said[:, 0] > 0)  # the first is right, the second says nothing
    >>> chance = np.exp(weights.chance(np.array([[1.0, 0.0], [-1.0, 0.0], [0.0, 1.0], [0.0, -1.0]])))
    >>> bool(chance[0] > 0.9), bool(chance[1] < 0.1), bool(abs(chance[2] - chance[3]) < 0.2)
    (True, True, True)
    """

    def __init__(self, width: int) -> None:
        self._prior = np.append(np.full(width, PRIOR), 0.0)
        self._hold = np.append(np.full(width, RIDGE), 0.1)
        self._weights = self._prior
        self._said, self._hits = np.empty((0, width)), np.empty(0)
        self._middle, self._scale = np.zeros(width), np.ones(width)

    def chance(self, said: Numbers) -> Numbers:
        """Return the logarithm of how likely each class is a hit."""
        if not len(self._said) and len(said):
            self._scaled(said)
        return np.asarray(-np.logaddexp(0.0, -self._raised(said)))

    def _scaled(self, said: Numbers) -> None:
        self._middle, self._scale = said.mean(axis=0), said.std(axis=0) + 0.3

    def _raised(self, said: Numbers) -> Numbers:
        # Not by a matrix product, which may add up in another order with another number of threads.
        rows = (said - self._middle) / self._scale
        return np.asarray(np.einsum("ij,j->i", rows, self._weights[:-1]) + self._weights[-1])

    def learn(self, said: Numbers, hits: NDArray[np.bool_]) -> None:
        """Take into account what came of classes of which this was said."""
        self._said = np.concatenate([self._said, said])[-RECENT:]
        self._hits = np.concatenate([self._hits, hits])[-RECENT:]
        if not len(self._said):
            return
        self._scaled(self._said)
        rows = np.column_stack(
            [(self._said - self._middle) / self._scale, np.ones(len(self._said))]
        )
        at, cost = self._weights, self._cost(rows, self._weights)
        for _ in range(STEPS):  # Newton's method, each step cut until it does not do harm
            chance = 1 / (1 + np.exp(-np.clip(np.einsum("ij,j->i", rows, at), -30, 30)))
            slope = np.einsum("ij,i->j", rows, chance - self._hits) + self._hold * (
                at - self._prior
            )
            bend = np.einsum("ij,ik,i->jk", rows, rows, chance * (1 - chance)) + np.diag(self._hold)
            step = np.linalg.solve(bend, slope)
            lower = next(
                (s for s in 0.5 ** np.arange(10) if self._cost(rows, at - s * step) < cost - 1e-6),
                None,
            )
            if lower is None:
                break
            at = at - lower * step
            cost = self._cost(rows, at)
        self._weights = at

    def _cost(self, rows: Numbers, weights: Numbers) -> float:
        raised = np.einsum("ij,j->i", rows, weights)
        missed = np.logaddexp(0.0, raised) - self._hits * raised
        return float(missed.sum() + (self._hold * (weights - self._prior) ** 2).sum() / 2)
