"""Fairlearn's two reductions: an estimator trained on weighted rows until groups are treated alike."""

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


class _Weighted:
    """An estimator that takes the weights of rows by the name that Fairlearn gives its own constant
    models, too.

    Fairlearn trains it dozens of times on the same rows, and asks it about no others. So it keeps
    them, encoded, and whatever stands for them is passed over.
    """

    def __init__(self, estimator: Any, name: str, rows: Any) -> None:
        self.estimator, self.name, self.rows = estimator, name, rows

    def __deepcopy__(self, memo: Any) -> _Weighted:
        return _Weighted(self.estimator, self.name, self.rows)

    def fit(self, X: Any, y: Any, sample_weight: Any) -> _Weighted:  # noqa: N803
        self.model = clone(self.estimator).fit(
            self.rows, np.asarray(y), **{self.name: np.asarray(sample_weight)}
        )
        return self

    def predict(self, X: Any) -> Any:  # noqa: N803
        return self.model.predict(self.rows)


class _Reduction(Mitigation):
    """What both reductions do: all steps of a pipeline but the last are fitted once, to the rows as
    they are.
    """

    estimator: Any

    def _weighted(self, frame: Any, truth: Floats) -> tuple[_Weighted, Any]:
        """Return the estimator to train, and what stands for the training rows."""
        check_estimator(self, self.estimator)
        inputs, model = self._inputs(frame), self.estimator
        self._encoder = None
        if len(getattr(model, "steps", ())) > 1:
            self._encoder, model = clone(model[:-1]), model[-1]
            inputs = self._encoder.fit_transform(inputs, self.roles_.labels(truth))
        return _Weighted(model, weight_name(self, model), inputs), np.zeros((len(truth), 1))

    def _encoded(self, frame: Any) -> Any:
        inputs = self._inputs(frame)
        return inputs if self._encoder is None else self._encoder.transform(inputs)


def _bare(model: Any) -> Any:
    """Return a model without the rows that it was trained on; Fairlearn's own constant ones have
    none.
    """
    return model.model if isinstance(model, _Weighted) else model


class ExponentiatedGradient(_Reduction):
    """Trains on weighted rows, over and over, for a mixture of models that treats groups alike
    (Agarwal et al., 2018).

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

    Examples
    --------
    >>> import pandas as pd
    >>> from sklearn.linear_model import LogisticRegression
    >>> frame = pd.DataFrame({"sex": ["f"] * 20 + ["m"] * 20, "age": [*range(20, 40), *range(30, 50)]})
    >>> labels = ["yes" if age > 35 else "no" for age in frame["age"]]  # 4 women, 14 men
    >>> method = ExponentiatedGradient(LogisticRegression(), over="sex", positive="yes", aware=False, max_iter=10)
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
        self._mixture = [
            (weight, _bare(mixture.predictors_[place])) for place, weight in used.items()
        ]

    def _decide(self, frame: Any) -> Any:
        inputs = self._encoded(frame)
        chances: Any = sum(
            weight * np.asarray(model.predict(inputs)) for weight, model in self._mixture
        )
        with seeded(self.random_state):
            return chances >= np.random.random_sample(len(chances))


class GridSearch(_Reduction):
    """Trains on weighted rows for a grid of weights and keeps the model with the best trade-off
    (Agarwal et al., 2018).

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
        self._chosen = _bare(search.predictors_[search.best_idx_])

    def _decide(self, frame: Any) -> Any:
        return self._chosen.predict(self._encoded(frame))


@contextmanager
def _quiet() -> Iterator[None]:
    """Keep pandas from telling, thousands of times, what of Fairlearn's own code it will refuse one
    day.
    """
    with warnings.catch_warnings():
        for kind in (DeprecationWarning, FutureWarning):
            warnings.filterwarnings("ignore", category=kind, module=r"fairlearn\.")
        yield
