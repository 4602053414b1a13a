"""Screens: models of what was answered, which predict how likely untried inputs are hits.

Two forests learn: one the outcome of every member, so that each answer counts, and one which
classes are hits. What they predict before a class is asked is kept beside what came of it, and
weighed by that.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np

from evenhand.runtime.random_streams import stream
from evenhand.space.design_matrix import MOST_LEVELS, columns

if TYPE_CHECKING:
    from evenhand.methods.search.arrays import Flags, Indices, Numbers, Outcomes
    from evenhand.methods.search.probe import Probe, Tried
    from evenhand.space.feature import Points

SIGNALS = 3
"""How many signals a screen gives of a class: flip, doubt and hit."""
FLIP = 0
"""The signal for how likely two members differ by the model."""
DOUBT = 1
"""The signal for how likely two members differ for all the model knows."""
TREES = 32
MOST_CLASSES = 3000
"""How many classes a model is fitted to: half of them the newest, half any others."""
MOST_LABELS = 8
"""With more labels than that only the commonest are told apart."""
FLOOR = 0.02
"""What is added to a chance before its logarithm is taken."""
RIDGE = 2.0
"""How strongly the weights of signals are held to their prior."""
INTERCEPT_RIDGE = 0.1
"""How strongly the intercept is held to zero."""
PRIOR = 0.5
"""What the weight of every signal is at first."""
RECENT = 2000
"""How many of the newest classes weigh the signals."""
STEPS = 20
"""The most steps of Newton's method."""


class Targets:
    """Outcomes as numbers that can be learnt, and how far two predictions of them are apart.

    >>> targets = Targets(np.array(["no", "yes", "no"]), None)
    >>> targets.of(np.array(["yes", "no"])).tolist()
    [[0.0, 1.0], [1.0, 0.0]]
    >>> flip, doubt = targets.apart(np.array([[0.5, 0.5]]), np.array([[0.0, 1.0]]))
    >>> flip.tolist(), doubt.tolist()
    ([0.5], [0.5])
    """

    def __init__(self, outcomes: Outcomes, gap: object) -> None:
        self.gap = float(gap) if isinstance(gap, int | float) else None
        are_numbers = outcomes.dtype.kind in "iuf"
        has_many_values = are_numbers and len(np.unique(outcomes)) > MOST_LABELS
        self.numeric = are_numbers and (self.gap is not None or has_many_values)
        if self.numeric:
            values = _finite(outcomes)
            self._middle = float(values.mean())
            self._scale = float(values.std()) or 1.0
        else:
            labels, counts = np.unique(outcomes.astype(str), return_counts=True)
            commonest_first = np.argsort(-counts, kind="stable")
            self._labels = np.sort(labels[commonest_first[:MOST_LABELS]])

    def of(self, outcomes: Outcomes) -> Numbers:
        """Return one column for each label, or the scaled number."""
        if self.numeric:
            scaled = (_finite(outcomes) - self._middle) / self._scale
            return np.asarray(scaled)[:, None]
        indicators = outcomes.astype(str)[:, None] == self._labels
        return np.asarray(indicators, dtype=np.float64)

    def apart(self, first: Numbers, second: Numbers) -> tuple[Numbers, Numbers]:
        """Return how likely both differ, from 0 to 1.

        The first answer holds if the model errs by the same for both, the second if its errors are
        independent. Numbers that are γ apart are as likely to differ as not; the second answer is
        0 for them.
        """
        if not self.numeric:
            # The total variation distance, and the chance that two independent draws differ.
            flip = np.abs(first - second).sum(axis=1) / 2
            same = (first * second).sum(axis=1)
            return flip, np.clip(1 - same, 0.0, 1.0)
        distance = np.abs(first - second)[:, 0]
        scaled_gap = max((self.gap or 0.0) / self._scale, 1e-3)
        ratio = (distance / scaled_gap) ** 2
        return ratio / (1 + ratio), np.zeros(len(first))


def _finite(outcomes: Outcomes) -> Numbers:
    """Return numbers whose infinities are the largest and least known, and no NaN."""
    values = outcomes.astype(np.float64)
    known = values[np.isfinite(values)]
    low = 0.0
    high = 0.0
    if len(known):
        low = known.min()
        high = known.max()
    filled = np.nan_to_num(values, nan=low, posinf=high, neginf=low)
    return np.clip(filled, low, high)


@dataclass(frozen=True)
class HitScreen:
    """The two models, fitted to what was answered."""

    probe: Probe
    targets: Targets
    outcome_model: Any
    hit_model: Any
    """None where all known classes are hits, or none is."""

    @classmethod
    def fitted(cls, probe: Probe, known: KnownClasses, seed: int) -> HitScreen | None:
        """Return a screen, or None where all outcomes are the same and nothing can be learnt."""
        rows = known.sample(seed)
        points = known.points[rows]
        pairs = known.pairs[rows]
        hits = known.hits[rows]
        outcomes = known.outcomes[rows].T.ravel()
        if len(np.unique(outcomes.astype(str))) < 2:
            return None
        targets = Targets(outcomes, probe.view.differs)
        state = int(stream(seed, "search", "surrogate", len(known)).integers(2**31))
        members = _both_members(probe, points, pairs)
        outcome_model = _fitted_outcome_model(members, targets.of(outcomes), state)
        if not hits.any() or hits.all():
            return cls(probe, targets, outcome_model, None)
        hit_model = _fitted_hit_model(_classes(probe, points, pairs), hits, state)
        return cls(probe, targets, outcome_model, hit_model)

    def signals(self, points: Points, pairs: Indices) -> Numbers:
        """Return the signals of classes, each the larger the likelier the class is a hit.

        These are flip and doubt of the outcome, and the log odds of a hit.
        """
        if not len(points):
            return np.empty((0, SIGNALS))
        members = _both_members(self.probe, points, pairs)
        predicted = self.outcome_model.predict(members).reshape(2, len(points), -1)
        flip, doubt = self.targets.apart(predicted[0], predicted[1])
        chance = np.full(len(points), 0.5)
        if self.hit_model is not None:
            chance = self.hit_model.predict(_classes(self.probe, points, pairs))
        log_odds = np.log((chance + FLOOR) / (1 - chance + FLOOR))
        log_flip = np.log(flip + FLOOR)
        log_doubt = np.log(doubt + FLOOR)
        return np.stack([log_flip, log_doubt, log_odds], axis=1)


def _fitted_outcome_model(members: Numbers, targets: Numbers, state: int) -> Any:
    from sklearn.ensemble import ExtraTreesRegressor

    # One job, whatever the user's joblib is set to: several would add up in any order.
    model = ExtraTreesRegressor(TREES, random_state=state, n_jobs=1)
    if targets.shape[1] == 1:
        targets = targets[:, 0]
    return model.fit(members, targets)


def _fitted_hit_model(classes: Numbers, hits: Flags, state: int) -> Any:
    from sklearn.ensemble import ExtraTreesRegressor

    # Hits and misses weigh the same in all, however rare one of them is.
    share = hits.mean()
    weights = np.where(hits, 0.5 / share, 0.5 / (1 - share))
    model = ExtraTreesRegressor(TREES, min_samples_leaf=2, random_state=state, n_jobs=1)
    return model.fit(classes, hits.astype(np.float64), weights)


def _both_members(probe: Probe, points: Points, pairs: Indices) -> Numbers:
    """Return the design matrix of one member of each class, then of the other."""
    positions = tuple(sorted(probe.free + probe.over))
    first = probe.member(points, pairs[:, 0])
    second = probe.member(points, pairs[:, 1])
    members = [
        columns(probe.space, member, positions, most=MOST_LEVELS)
        for member in (first, second)
    ]
    return np.concatenate(members)


def _classes(probe: Probe, points: Points, pairs: Indices) -> Numbers:
    """Return the design matrix of classes: the free features, and the two assignments compared.

    The assignments are sorted, since a pair and its reverse are the same class.
    """
    free = columns(probe.space, points, probe.free, most=MOST_LEVELS)
    first = probe.member(points, pairs.min(axis=1))
    second = probe.member(points, pairs.max(axis=1))
    first_assignment = columns(probe.space, first, probe.over, most=MOST_LEVELS)
    second_assignment = columns(probe.space, second, probe.over, most=MOST_LEVELS)
    return np.concatenate([free, first_assignment, second_assignment], axis=1)


class KnownClasses:
    """What was answered: classes of which both members were asked."""

    def __init__(self) -> None:
        self._points: list[Points] = []
        self._pairs: list[Indices] = []
        self._outcomes: list[Outcomes] = []
        self._hits: list[Flags] = []
        self._size = 0

    def __len__(self) -> int:
        return self._size

    def add(self, tried: Tried) -> None:
        """Add classes."""
        rows = np.flatnonzero(tried.valid.all(axis=0))
        self._points.append(tried.points[rows])
        self._pairs.append(tried.assigned[:, rows].T)
        self._outcomes.append(tried.outcomes[:, rows].T)
        self._hits.append(tried.hits[rows])
        self._size += len(rows)

    @property
    def points(self) -> Points:
        """A member of each class."""
        return np.concatenate(self._points)

    @property
    def pairs(self) -> Indices:
        """The two assignments that were asked."""
        return np.concatenate(self._pairs)

    @property
    def outcomes(self) -> Outcomes:
        """The two outcomes."""
        return np.concatenate(self._outcomes)

    @property
    def hits(self) -> Flags:
        """Which of them are hits."""
        return np.concatenate(self._hits)

    def sample(self, seed: int) -> Indices:
        """Return the classes to learn from."""
        if len(self) <= MOST_CLASSES:
            return np.arange(len(self))
        newest = MOST_CLASSES // 2
        old = len(self) - newest
        rng = stream(seed, "search", "known", len(self))
        kept = rng.choice(old, MOST_CLASSES - newest, replace=False)
        newest_rows = np.arange(old, len(self))
        return np.concatenate([np.sort(kept), newest_rows])


class SignalWeights:
    """Weighs the signals of classes by what came of those that were asked.

    This is a logistic regression held to a prior by a ridge.

    >>> weights = SignalWeights(2)
    >>> signals = np.random.default_rng(0).normal(size=(500, 2))
    >>> weights.learn(signals, signals[:, 0] > 0)  # the first is right, the second is noise
    >>> unseen = np.array([[1.0, 0.0], [-1.0, 0.0], [0.0, 1.0], [0.0, -1.0]])
    >>> chance = np.exp(weights.chance(unseen))
    >>> bool(chance[0] > 0.9), bool(chance[1] < 0.1), bool(abs(chance[2] - chance[3]) < 0.2)
    (True, True, True)
    """

    def __init__(self, width: int) -> None:
        self._prior = np.append(np.full(width, PRIOR), 0.0)
        self._hold = np.append(np.full(width, RIDGE), INTERCEPT_RIDGE)
        self._weights = self._prior
        self._signals = np.empty((0, width))
        self._hits = np.empty(0)
        self._middle = np.zeros(width)
        self._scale = np.ones(width)

    def chance(self, signals: Numbers) -> Numbers:
        """Return the logarithm of how likely each class is a hit."""
        if not len(self._signals) and len(signals):
            self._fit_scale(signals)
        return np.asarray(-np.logaddexp(0.0, -self._log_odds(signals)))

    def _fit_scale(self, signals: Numbers) -> None:
        self._middle = signals.mean(axis=0)
        # Signals that hardly vary are not blown up.
        self._scale = signals.std(axis=0) + 0.3

    def _log_odds(self, signals: Numbers) -> Numbers:
        # Not by a matrix product, which may add up in another order with another number of threads.
        scaled = (signals - self._middle) / self._scale
        *_, intercept = self._weights
        weighted = np.einsum("ij,j->i", scaled, self._weights[:-1])
        return np.asarray(weighted + intercept)

    def learn(self, signals: Numbers, hits: Flags) -> None:
        """Learn from what came of classes with these signals."""
        self._signals = np.concatenate([self._signals, signals])[-RECENT:]
        self._hits = np.concatenate([self._hits, hits])[-RECENT:]
        if not len(self._signals):
            return
        self._fit_scale(self._signals)
        scaled = (self._signals - self._middle) / self._scale
        rows = np.column_stack([scaled, np.ones(len(self._signals))])
        weights = self._weights
        cost = self._cost(rows, weights)
        # Newton's method, each step cut until it does not do harm.
        for _ in range(STEPS):
            step = self._newton_step(rows, weights)
            length = self._step_length(rows, weights, step, cost)
            if length is None:
                break
            weights = weights - length * step
            cost = self._cost(rows, weights)
        self._weights = weights

    def _newton_step(self, rows: Numbers, weights: Numbers) -> Numbers:
        """Return the gradient of the cost, solved by its Hessian."""
        log_odds = np.clip(np.einsum("ij,j->i", rows, weights), -30, 30)
        chance = 1 / (1 + np.exp(-log_odds))
        gradient = np.einsum("ij,i->j", rows, chance - self._hits)
        gradient = gradient + self._hold * (weights - self._prior)
        hessian = np.einsum("ij,ik,i->jk", rows, rows, chance * (1 - chance))
        hessian = hessian + np.diag(self._hold)
        return np.asarray(np.linalg.solve(hessian, gradient))

    def _step_length(
        self, rows: Numbers, weights: Numbers, step: Numbers, cost: float
    ) -> float | None:
        """Return the first of 1, a half, a quarter and so on that lowers the cost."""
        for length in 0.5 ** np.arange(10):
            if self._cost(rows, weights - length * step) < cost - 1e-6:
                return float(length)
        return None

    def _cost(self, rows: Numbers, weights: Numbers) -> float:
        """Return the negative log likelihood with the penalty of the ridge."""
        log_odds = np.einsum("ij,j->i", rows, weights)
        missed = np.logaddexp(0.0, log_odds) - self._hits * log_odds
        penalty = (self._hold * (weights - self._prior) ** 2).sum() / 2
        return float(missed.sum() + penalty)
