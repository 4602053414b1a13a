"""Learning fair representations: rows as mixtures of prototypes that groups share (Zemel, 2013)."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, ClassVar

import numpy as np
from threadpoolctl import threadpool_limits

from evenhand.mitigation.aif360_compat import (
    PRIVILEGED,
    UNPRIVILEGED,
    aif360,
    dataset,
    quiet,
    seeded,
)
from evenhand.mitigation.base import (
    Mitigation,
    NumericEncoder,
    check_estimator,
    check_number,
)
from evenhand.runtime.errors import UsageError, clip, nearest
from evenhand.space.frames.reading import eager

if TYPE_CHECKING:
    from numpy.typing import NDArray

    Floats = NDArray[np.float64]
    Bools = NDArray[np.bool_]

SOLVERS = ("gradient", "aif360")
_ROUNDINGS = (3e-2, 3e-3, 3e-4, 3e-5, 0.0)
"""How far the corners of the parity term are rounded, stage by stage.

Descent gets stuck on sharp corners at once.
"""
_TINY = float(np.finfo(np.float64).eps)


class FairRepresentations(Mitigation):
    """Describe each row as a mixture of k prototypes that groups share equally, and train on that.

    It minimises ``ax * Lx + ay * Ly + az * Lz``: how badly rows are rebuilt from prototypes, how
    badly their labels are predicted, and how differently the two sides (privileged or not) belong
    to prototypes. The estimator is then trained as with AIF360's transformed data: on the rebuilt
    rows, labelled by the prototypes where their chance is over a half; rows to predict are rebuilt
    in the same way. The rebuilt rows are numbers (one column for each level, numbers standardised),
    so of a pipeline only the last step is trained. Where all rows get one label, so does everybody.

    AIF360's own route (``solver="aif360"``) estimates the gradient by changing each of k * (columns
    + 1) parameters in turn, and stops at the first sharp corner of Lz: on Adult after ten minutes,
    with one label for everybody. The default has the same objective with its exact gradient, and
    rounds the corners less and less; it needs no AIF360.

    Parameters
    ----------
    k
        How many prototypes.
    ax, ay, az
        Weights of rebuilding, of the labels, and of parity, as in the paper.
    iterations
        The most steps of descent in each stage.
    solver
        "gradient" or "aif360".

    Attributes
    ----------
    prototypes_, chances_
        A row of numbers for each prototype, and its chance of the favourable label.
    loss_
        The objective where descent ended.

    Notes
    -----
    See docs/how-to/study.md.

    Examples
    --------
    >>> import pandas as pd
    >>> from sklearn.linear_model import LogisticRegression
    >>> frame = pd.DataFrame({"sex": ["f", "f", "m", "m"] * 25, "grade": [1, 3, 1, 3] * 25})
    >>> method = FairRepresentations(LogisticRegression(), over="sex", k=2)
    >>> method.fit(frame, [0, 1, 0, 1] * 25).predict(frame)[:4].tolist()
    [0, 1, 0, 1]
    """

    kind: ClassVar[str] = "pre"
    code: ClassVar[str] = "LFR"
    extra: ClassVar[str] = "aif360"
    knob: ClassVar[str | None] = "az"

    def __init__(
        self,
        estimator: Any = None,
        *,
        over: Any = None,
        positive: Any = None,
        privileged: Any = None,
        aware: bool = True,
        k: int = 5,
        ax: float = 0.01,
        ay: float = 1.0,
        az: float = 50.0,
        iterations: int = 5000,
        solver: str = "gradient",
        random_state: int | None = 0,
    ) -> None:
        self.estimator = estimator
        self.over = over
        self.positive = positive
        self.privileged = privileged
        self.aware = aware
        self.k = k
        self.ax = ax
        self.ay = ay
        self.az = az
        self.iterations = iterations
        self.solver = solver
        self.random_state = random_state

    def _fit(self, frame: Any, truth: Floats) -> None:
        self._check(len(truth))
        hidden_columns = () if self.aware else self.roles_.over
        self._numbers = NumericEncoder(without=hidden_columns).fit(frame)
        rows = self._numbers(frame)
        privileged = self.roles_.are_privileged(frame)
        weights = (self.ax, self.ay, self.az)
        objective = Objective(rows, truth, privileged, self.k, weights)
        # Several threads add up in another order, and no faster.
        with seeded(self.random_state), threadpool_limits(1):
            if self.solver == "aif360":
                found = self._by_aif360(rows, truth, privileged)
            else:
                found = self._descend(objective)
        self.loss_, _ = objective(found)
        self.chances_ = found[: self.k]
        self.prototypes_ = found[self.k :].reshape(self.k, -1)
        is_favourable = self.chances_ @ self._shares(rows) > 0.5
        # An estimator cannot be trained on one label alone.
        self.constant_ = None
        if (is_favourable == is_favourable[0]).all():
            self.constant_ = bool(is_favourable[0])
        else:
            labels = is_favourable.astype(np.float64)
            self.model_ = self._model(self._last_step(), frame, labels)

    def _last_step(self) -> Any:
        """Return the last step of a pipeline, or the estimator itself."""
        steps = getattr(self.estimator, "steps", None)
        if not steps:
            return self.estimator
        _, last = steps[-1]
        return last

    def _decide(self, frame: Any) -> Any:
        if self.constant_ is not None:
            return np.full(len(eager(frame)), self.constant_)
        return self.model_.predict(self._inputs(frame)) == self.roles_.classes[1]

    def _inputs(self, frame: Any) -> Any:
        shares = self._shares(self._numbers(frame))
        return shares.T @ self.prototypes_

    def _shares(self, rows: Floats) -> Floats:
        from scipy.spatial.distance import cdist

        return _shares(cdist(self.prototypes_, rows))

    def _descend(self, objective: Objective) -> Floats:
        from scipy.optimize import minimize

        found = objective.start()
        # Chances lie between 0 and 1; prototypes lie anywhere.
        bounds = [(0, 1)] * self.k + [(None, None)] * (len(found) - self.k)
        for rounding in _ROUNDINGS:
            options = {
                "maxiter": self.iterations,
                "maxfun": 2 * self.iterations,
                "ftol": 1e-7 if rounding else 1e-9,
            }
            found = minimize(
                objective,
                found,
                (rounding,),
                method="L-BFGS-B",
                jac=True,
                bounds=bounds,
                options=options,
            ).x
        return np.asarray(found, dtype=np.float64)

    def _by_aif360(self, rows: Floats, truth: Floats, privileged: Bools) -> Floats:
        what = 'FairRepresentations(solver="aif360")'
        module = aif360("algorithms.preprocessing.lfr", what)
        data = dataset(rows, truth, privileged, what=what)
        data.features = rows  # without AIF360's own column of who is privileged
        method = module.LFR(
            UNPRIVILEGED, PRIVILEGED, k=self.k, Ax=self.ax, Ay=self.ay, Az=self.az
        )
        with quiet():
            method.fit(data, maxiter=self.iterations, maxfun=self.iterations)
        return np.asarray(method.learned_model, dtype=np.float64)

    def _check(self, rows: int) -> None:
        check_estimator(self, self.estimator)
        if self.solver not in SOLVERS:
            raise UsageError(
                f"unknown solver {clip(repr(self.solver))}; {nearest(self.solver, SOLVERS)}"
            )
        for name in ("k", "iterations"):
            check_number(name, getattr(self, name), low=1, whole=True)
        if self.k > rows:
            raise UsageError(
                f"k = {self.k} is more than the {rows} training rows; choose at most {rows}"
            )
        for name in ("ax", "ay", "az"):
            check_number(name, getattr(self, name), low=0)


class Objective:
    """The objective of Zemel et al. with its gradient, as AIF360 has it (`LFR_optim_objective`).

    Parameters are one array: the chances of the k prototypes, then the prototypes row by row.
    Called with a `rounding`, the corners of the parity term are rounded: |gap| becomes sqrt(gap² +
    rounding²).

    >>> rows, truth, privileged = np.eye(2), np.array([0.0, 1.0]), np.array([False, True])
    >>> objective = Objective(rows, truth, privileged, 1, (0.0, 1.0, 1.0))
    >>> value, slope = objective(np.array([0.5, 0.0, 0.0]))
    >>> round(value, 4), slope.tolist()
    (0.6931, [0.0, 0.0, 0.0])
    """

    def __init__(
        self,
        rows: Floats,
        truth: Floats,
        privileged: Bools,
        k: int,
        weights: tuple[float, float, float],
    ) -> None:
        self.rows = rows
        self.truth = truth
        self.k = k
        self.weights = weights
        self._squares = np.einsum("ij,ij->i", rows, rows)
        sizes = np.where(privileged, privileged.sum(), (~privileged).sum())
        self._sizes = sizes.astype(np.float64)
        # Sums with these weights are means of the other side less means of the privileged one.
        self._side = np.where(privileged, -1, 1) / self._sizes

    def start(self) -> Floats:
        """Draw where to begin from numpy's global generator: k of the rows, with any chances."""
        chances = np.random.random(self.k)
        chosen = np.random.choice(len(self.rows), self.k, replace=False)
        return np.concatenate([chances, self.rows[chosen].ravel()])

    def __call__(self, parameters: Floats, rounding: float = 0.0) -> tuple[float, Floats]:
        """Return the value and the gradient.

        No array but the rows is as large as the rows: what was rebuilt is never written down, since
        all that is needed of it are products with prototypes.
        """
        rows = self.rows
        truth = self.truth
        ax, ay, az = self.weights
        n, width = rows.shape
        chances = parameters[: self.k]
        prototypes = parameters[self.k :].reshape(self.k, width)

        # |x - v|² = |x|² - 2 x·v + |v|², never below 0 for rounding.
        products = prototypes @ rows.T
        among = prototypes @ prototypes.T
        prototype_squares = np.diag(among)[:, None]
        squared_distances = self._squares - 2 * products + prototype_squares
        distances = np.sqrt(np.maximum(squared_distances, _TINY**2))
        shares = _shares(distances)

        # Lx, the squared error of each rebuilt row, from products alone.
        rebuilt = among @ shares
        misses = ((rebuilt - 2 * products) * shares).sum(axis=0) + self._squares
        # Ly, the cross-entropy of the labels.
        mixed = chances @ shares
        chance = np.clip(mixed, _TINY, 1 - _TINY)
        log_likelihood = truth * np.log(chance) + (1 - truth) * np.log1p(-chance)
        # Lz, how differently the two sides belong to each prototype.
        gaps = shares @ self._side
        rounded = np.sqrt(gaps**2 + rounding**2)
        row_weights = ax / (self._sizes * width)
        value = misses @ row_weights + az * rounded.mean()
        value -= ay * log_likelihood.mean()

        # Derivatives by the mixed chance of each row, by the gaps, and by the shares.
        slope_of_loss = (1 - truth) / (1 - chance) - truth / chance
        by_chance = np.where(mixed == chance, ay / n * slope_of_loss, 0.0)
        signs = np.divide(gaps, rounded, out=np.zeros_like(gaps), where=rounded > 0)
        by_gap = az / self.k * signs
        by_share = (
            2 * row_weights * (rebuilt - products)
            + np.outer(chances, by_chance)
            + np.outer(by_gap, self._side)
        )
        # Through the softmax of the shares, and from the distances to the prototypes.
        mean_by_share = (shares * by_share).sum(axis=0)
        pull = shares * (mean_by_share - by_share) / distances
        heavy = 2 * row_weights * shares
        to_prototypes = heavy @ shares.T + np.diag(pull.sum(axis=1))
        by_prototype = to_prototypes @ prototypes - (heavy + pull) @ rows
        gradient = np.concatenate([shares @ by_chance, by_prototype.ravel()])
        return float(value), gradient


def _shares(distances: Floats) -> Floats:
    """Return how much each row belongs to each prototype, a line for each prototype.

    The nearer, the more. The least distance of a row is taken off first, so that no exponential
    underflows.
    """
    nearness = np.exp(distances.min(axis=0) - distances)
    return np.asarray(nearness / nearness.sum(axis=0), dtype=np.float64)
