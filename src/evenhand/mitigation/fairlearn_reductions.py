"""Fairlearn's two reductions: estimators trained on weighted rows until groups are alike."""

from __future__ import annotations

import warnings
from contextlib import contextmanager
from typing import TYPE_CHECKING, Any, ClassVar

import numpy as np
from sklearn.base import clone

from evenhand.mitigation.aif360_compat import check_seed, seeded
from evenhand.mitigation.base import Mitigation, check_estimator, check_number, weight_name
from evenhand.mitigation.fairlearn_thresholds import check_labels, constraint_of, fairlearn

if TYPE_CHECKING:
    from collections.abc import Iterator

    from numpy.typing import NDArray

    Floats = NDArray[np.float64]


class _WeightedEstimator:
    """An estimator that takes the weights of rows by the name that Fairlearn uses.

    Fairlearn gives them to its own constant models by that name, too. It trains the estimator
    dozens of times on the same rows, and asks it about no others. So it keeps them, encoded, and
    whatever stands for them is passed over.
    """

    def __init__(self, estimator: Any, name: str, rows: Any) -> None:
        self.estimator = estimator
        self.name = name
        self.rows = rows

    def __deepcopy__(self, memo: Any) -> _WeightedEstimator:
        return _WeightedEstimator(self.estimator, self.name, self.rows)

    def fit(self, X: Any, y: Any, sample_weight: Any) -> _WeightedEstimator:  # noqa: N803
        weights = {self.name: np.asarray(sample_weight)}
        self.model = clone(self.estimator).fit(self.rows, np.asarray(y), **weights)
        return self

    def predict(self, X: Any) -> Any:  # noqa: N803
        return self.model.predict(self.rows)


class _Reduction(Mitigation):
    """What both reductions do.

    All steps of a pipeline but the last are fitted once, to the rows as they are.
    """

    estimator: Any

    def _weighted(self, frame: Any, truth: Floats) -> tuple[_WeightedEstimator, Any]:
        """Return the estimator to train, and what stands for the training rows."""
        check_estimator(self, self.estimator)
        inputs = self._inputs(frame)
        model = self.estimator
        self._encoder = None
        if len(getattr(model, "steps", ())) > 1:
            self._encoder = clone(model[:-1])
            model = model[-1]
            inputs = self._encoder.fit_transform(inputs, self.roles_.labels(truth))
        weighted = _WeightedEstimator(model, weight_name(self, model), inputs)
        placeholder = np.zeros((len(truth), 1))
        return weighted, placeholder

    def _encoded(self, frame: Any) -> Any:
        inputs = self._inputs(frame)
        if self._encoder is None:
            return inputs
        return self._encoder.transform(inputs)


def _without_rows(model: Any) -> Any:
    """Return a model without the rows that it was trained on.

    Fairlearn's own constant models have none.
    """
    if isinstance(model, _WeightedEstimator):
        return model.model
    return model


class ExponentiatedGradient(_Reduction):
    """Trains a mixture of models on weighted rows until groups are treated alike (Agarwal, 2018).

    Which model of the mixture decides on a row is drawn; the draw depends on `random_state` and on
    the row's place among the rows that are asked.

    Parameters
    ----------
    estimator
        The classifier to train, which must take `sample_weight`, itself or as the last step of a
        pipeline.
    constraint
        What is alike, as for ThresholdOptimiser.
    eps
        By how much a group may differ from all.
    max_iter
        The most rounds of training.

    Notes
    -----
    See docs/how-to/study.md.

    Examples
    --------
    >>> import pandas as pd
    >>> from sklearn.linear_model import LogisticRegression
    >>> ages = [*range(20, 40), *range(30, 50)]
    >>> frame = pd.DataFrame({"sex": ["f"] * 20 + ["m"] * 20, "age": ages})
    >>> labels = ["yes" if age > 35 else "no" for age in frame["age"]]  # 4 women, 14 men
    >>> roles = {"over": "sex", "positive": "yes", "aware": False}
    >>> method = ExponentiatedGradient(LogisticRegression(), max_iter=10, **roles)
    >>> answers = method.fit(frame, labels).predict(frame)
    >>> [answers[frame["sex"] == sex].tolist().count("yes") for sex in "fm"]
    [4, 6]
    """

    kind: ClassVar[str] = "in"
    code: ClassVar[str] = "EG"
    extra: ClassVar[str] = "fairlearn"
    knob: ClassVar[str | None] = "eps"

    def __init__(
        self,
        estimator: Any = None,
        *,
        over: Any = None,
        positive: Any = None,
        privileged: Any = None,
        aware: bool = True,
        constraint: str = "spd",
        eps: float = 0.01,
        max_iter: int = 50,
        random_state: int | None = 0,
    ) -> None:
        self.estimator = estimator
        self.over = over
        self.positive = positive
        self.privileged = privileged
        self.aware = aware
        self.constraint = constraint
        self.eps = eps
        self.max_iter = max_iter
        self.random_state = random_state

    def _fit(self, frame: Any, truth: Floats) -> None:
        _, moment, labels = constraint_of(self)
        check_number("eps", self.eps, over=0)
        check_number("max_iter", self.max_iter, low=1, whole=True)
        check_seed(self.random_state)
        library = fairlearn("reductions", self)
        codes = self.roles_.codes(frame)
        check_labels(self, codes, truth, labels)
        # One knob: Fairlearn has the allowed difference and the bound on the multipliers apart.
        constraint = getattr(library, moment)(difference_bound=self.eps)
        model, rows = self._weighted(frame, truth)
        mixture = library.ExponentiatedGradient(
            model, constraint, eps=self.eps, max_iter=self.max_iter
        )
        with _quiet():
            mixture.fit(rows, truth.astype(np.intp), sensitive_features=codes)
        # Nothing else of it is kept: it holds on to the training rows.
        used = mixture.weights_[lambda weight: weight > 0]
        self._mixture = []
        for place, weight in used.items():
            self._mixture.append((weight, _without_rows(mixture.predictors_[place])))

    def _decide(self, frame: Any) -> Any:
        inputs = self._encoded(frame)
        chances: Any = 0
        for weight, model in self._mixture:
            chances = chances + weight * np.asarray(model.predict(inputs))
        with seeded(self.random_state):
            return chances >= np.random.random_sample(len(chances))


class GridSearch(_Reduction):
    """Trains on weighted rows for a grid of weights, and keeps the best model (Agarwal, 2018).

    Parameters
    ----------
    estimator
        The classifier to train, which must take `sample_weight`, itself or as the last step of a
        pipeline.
    constraint
        What is alike, as for ThresholdOptimiser.
    grid_size
        How many models are trained; the more groups, the more it takes. Fairlearn's own 10, up to a
        weight of 2, are so coarse that often the first of them overshoots, and the model without
        any weight is the best.
    grid_limit
        How strongly the constraint is weighed at most; a small grid is finer with less.
    constraint_weight
        What counts in the choice: 0 only the errors, 1 only how much groups differ.

    Notes
    -----
    See docs/how-to/study.md.

    Examples
    --------
    >>> import pandas as pd
    >>> from sklearn.linear_model import LogisticRegression
    >>> from sklearn.pipeline import make_pipeline
    >>> from sklearn.preprocessing import StandardScaler
    >>> frame = pd.DataFrame({"sex": [0] * 20 + [1] * 20, "age": [*range(20, 40), *range(30, 50)]})
    >>> labels = ["yes" if age > 35 else "no" for age in frame["age"]]  # 4 women, 14 men
    >>> model = make_pipeline(StandardScaler(), LogisticRegression())
    >>> method = GridSearch(model, over="sex", positive="yes")
    >>> answers = method.fit(frame, labels).predict(frame)
    >>> [answers[frame["sex"] == sex].tolist().count("yes") for sex in (0, 1)]
    [7, 10]
    """

    kind: ClassVar[str] = "in"
    code: ClassVar[str] = "GS"
    extra: ClassVar[str] = "fairlearn"
    knob: ClassVar[str | None] = "constraint_weight"

    def __init__(
        self,
        estimator: Any = None,
        *,
        over: Any = None,
        positive: Any = None,
        privileged: Any = None,
        aware: bool = True,
        constraint: str = "spd",
        grid_size: int = 30,
        grid_limit: float = 1.0,
        constraint_weight: float = 0.5,
        random_state: int | None = 0,
    ) -> None:
        self.estimator = estimator
        self.over = over
        self.positive = positive
        self.privileged = privileged
        self.aware = aware
        self.constraint = constraint
        self.grid_size = grid_size
        self.grid_limit = grid_limit
        self.constraint_weight = constraint_weight
        self.random_state = random_state

    def _fit(self, frame: Any, truth: Floats) -> None:
        _, moment, labels = constraint_of(self)
        check_number("grid_size", self.grid_size, low=2, whole=True)
        check_number("grid_limit", self.grid_limit, over=0)
        check_number("constraint_weight", self.constraint_weight, low=0, high=1)
        library = fairlearn("reductions", self)
        codes = self.roles_.codes(frame)
        check_labels(self, codes, truth, labels)
        model, rows = self._weighted(frame, truth)
        search = library.GridSearch(
            model,
            getattr(library, moment)(),
            grid_size=self.grid_size,
            grid_limit=self.grid_limit,
            constraint_weight=self.constraint_weight,
        )
        with _quiet():
            search.fit(rows, truth.astype(np.intp), sensitive_features=codes)
        self._chosen = _without_rows(search.predictors_[search.best_idx_])

    def _decide(self, frame: Any) -> Any:
        return self._chosen.predict(self._encoded(frame))


@contextmanager
def _quiet() -> Iterator[None]:
    """Keep pandas from warning, thousands of times, of what it will refuse of Fairlearn's code."""
    with warnings.catch_warnings():
        for kind in (DeprecationWarning, FutureWarning):
            warnings.filterwarnings("ignore", category=kind, module=r"fairlearn\.")
        yield
