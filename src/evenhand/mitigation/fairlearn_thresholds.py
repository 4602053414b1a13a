"""Fairlearn's thresholds for each group and its removed correlation, and what all methods of
Fairlearn share.

They know any number of groups: each combination of the protected columns is one, and none is
privileged.
"""

from __future__ import annotations

import importlib
from typing import TYPE_CHECKING, Any, ClassVar

import numpy as np
from sklearn.base import BaseEstimator, clone

from evenhand.mitigation.aif360_compat import seeded
from evenhand.mitigation.base import Mitigation, Numbers, check_estimator, check_number
from evenhand.mitigation.postprocessing import Post
from evenhand.runtime.errors import DataError, MissingExtra, UsageError, clip, nearest

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping

    from numpy.typing import NDArray

    Floats = NDArray[np.float64]
    Codes = NDArray[np.intp]

CONSTRAINTS = {
    "spd": ("demographic_parity", "DemographicParity", ()),
    "eod": ("true_positive_rate_parity", "TruePositiveRateParity", (1,)),
    "fpr": ("false_positive_rate_parity", "FalsePositiveRateParity", (0,)),
    "odds": ("equalized_odds", "EqualizedOdds", (0, 1)),
}
"""What is to be alike between groups: its two names in Fairlearn, and the true labels among which
it is compared.
"""
_DECIDED = 1e-9
"""A column that varies less than this within groups, as a share of its size, is decided by the
group.
"""


class ThresholdOptimiser(Post):
    """Gives each group a threshold of its own, so that groups are treated alike (Hardt, Price and
    Srebro, 2016).

    Decisions between two thresholds of a group are drawn; the draw of a row depends on
    `random_state` and on its place among the rows that are asked.

    Parameters
    ----------
    estimator
        The classifier whose answers are changed.
    constraint
        What is alike: how many get the favourable label ("spd"), how many of those who deserve it
        ("eod"), of those who do not ("fpr"), or of both ("odds").
    prefit
        Whether the estimator is fitted already, and used as it is.
    validation
        The share of the training rows that is kept from the model and that thresholds are chosen
        on; by default these are the rows that the model was trained on.
    random_state
        The seed of what is drawn: decisions, and which rows are kept for validation.

    Examples
    --------
    >>> import pandas as pd
    >>> from sklearn.linear_model import LogisticRegression
    >>> frame = pd.DataFrame({"sex": ["f"] * 20 + ["m"] * 20, "age": [*range(20, 40), *range(30, 50)]})
    >>> labels = ["yes" if age > 35 else "no" for age in frame["age"]]  # 4 women, 14 men
    >>> method = ThresholdOptimiser(LogisticRegression(), over="sex", positive="yes", aware=False)
    >>> answers = method.fit(frame, labels).predict(frame)
    >>> [answers[frame["sex"] == sex].tolist().count("yes") for sex in "fm"]
    [12, 13]
    """

    code: ClassVar[str] = "TO"
    extra: ClassVar[str] = "fairlearn"

    def __init__(
        self,
        estimator: Any = None,
        *,
        over: Any = None,
        positive: Any = None,
        privileged: Any = None,
        aware: bool = True,
        constraint: str = "spd",
        prefit: bool = False,
        validation: float | None = None,
        random_state: int | None = 0,
    ) -> None:
        self.estimator = estimator
        self.over = over
        self.positive = positive
        self.privileged = privileged
        self.aware = aware
        self.constraint = constraint
        self.prefit = prefit
        self.validation = validation
        self.random_state = random_state

    def _fit(self, frame: Any, truth: Floats) -> None:
        constraint_of(self)
        fairlearn("postprocessing", self)  # before a model is trained in vain
        super()._fit(frame, truth)

    def _learn(self, frame: Any, truth: Floats, privileged: Any) -> None:
        codes, chances = self.roles_.codes(frame), self._chances(self.model_, frame)
        # A threshold is found on a curve that a group with one label does not have, whatever is to
        # be alike.
        check_labels(self, codes, truth, (0, 1))
        self._optimiser = fairlearn("postprocessing", self).ThresholdOptimizer(
            estimator=_Given(),
            constraints=constraint_of(self)[0],
            prefit=True,
            predict_method="predict",
        )
        self._optimiser.fit(chances[:, None], truth.astype(np.intp), sensitive_features=codes)

    def _decide(self, frame: Any) -> Any:
        codes, chances = self.roles_.codes(frame), self._chances(self.model_, frame)
        with seeded(self.random_state):
            return self._optimiser.predict(chances[:, None], sensitive_features=codes)


class CorrelationRemover(Mitigation):
    """Takes from each column what is linear in the groups, until all have the same mean, and trains
    on what is left.

    It acts on numbers: on what reaches the last step of a pipeline, else on one column for each
    level and standardised numbers. The model never sees the protected columns, nor others that the
    group decides, whatever `aware` says. What is not linear stays: it is meant for linear models,
    and a tree finds the groups again.

    Parameters
    ----------
    estimator
        The classifier to train on what is left.
    alpha
        How much is taken: 1 all, 0 nothing.

    Examples
    --------
    >>> import pandas as pd
    >>> from sklearn.linear_model import LogisticRegression
    >>> frame = pd.DataFrame({"sex": ["f"] * 20 + ["m"] * 20, "age": [*range(20, 40), *range(30, 50)]})
    >>> labels = ["yes" if age > 35 else "no" for age in frame["age"]]  # 4 women, 14 men
    >>> method = CorrelationRemover(LogisticRegression(), over="sex", positive="yes", aware=False)
    >>> answers = method.fit(frame, labels).predict(frame)
    >>> [answers[frame["sex"] == sex].tolist().count("yes") for sex in "fm"]
    [9, 9]
    """

    kind: ClassVar[str] = "pre"
    code: ClassVar[str] = "CR"
    extra: ClassVar[str] = "fairlearn"
    knob: ClassVar[str | None] = "alpha"
    off: ClassVar[Mapping[str, Any]] = {"alpha": 0.0}

    def __init__(
        self,
        estimator: Any = None,
        *,
        over: Any = None,
        positive: Any = None,
        privileged: Any = None,
        aware: bool = True,
        alpha: float = 1.0,
        random_state: int | None = 0,
    ) -> None:
        self.estimator = estimator
        self.over = over
        self.positive = positive
        self.privileged = privileged
        self.aware = aware
        self.alpha = alpha
        self.random_state = random_state

    def _fit(self, frame: Any, truth: Floats) -> None:
        check_number("alpha", self.alpha, low=0, high=1)
        check_estimator(self, self.estimator)
        library = fairlearn("preprocessing", self)
        labels, inputs, steps = (
            self.roles_.labels(truth),
            self._inputs(frame),
            getattr(self.estimator, "steps", ()),
        )
        if len(steps) > 1:
            self._encode = clone(self.estimator[:-1]).fit(inputs, labels).transform
        else:
            self._encode = Numbers(without=self.roles_.over).fit(inputs)
        codes, numbers = self.roles_.codes(frame), self._numbers(frame)
        groups = np.eye(len(self.roles_.groups))[codes]
        self._shares = groups.mean(axis=0)
        # Rounding leaves traces of what is taken away, and a tree can split on them.
        within = numbers - (groups.T @ numbers / groups.sum(axis=0)[:, None])[codes]
        self._kept = within.std(axis=0) > _DECIDED * np.abs(numbers).max(axis=0)
        if not self._kept.any():
            raise DataError(
                f"{' and '.join(self.roles_.over)} decides every column of X; nothing is left to"
                " learn from"
            )
        self._remover = library.CorrelationRemover(
            sensitive_feature_ids=list(range(len(self.roles_.groups))), alpha=self.alpha
        )
        columns = self._columns(codes, numbers)
        rest = self._remover.fit(columns).transform(columns)
        self._inner = clone(steps[-1][1] if steps else self.estimator).fit(rest, labels)

    def _decide(self, frame: Any) -> Any:
        columns = self._columns(self.roles_.codes(frame), self._numbers(frame))
        return self.roles_.truth(self._inner.predict(self._remover.transform(columns)))

    def _numbers(self, frame: Any) -> Floats:
        found = self._encode(self._inputs(frame))
        return np.asarray(found.toarray() if hasattr(found, "toarray") else found, dtype=np.float64)

    def _columns(self, codes: Codes, numbers: Floats) -> Floats:
        """Return a column for each group, and after them those of the rows as numbers that no group
        decides.
        """
        # Centred here, as older versions of Fairlearn take one mean for all groups.
        groups = np.eye(len(self.roles_.groups))[codes] - self._shares
        return np.hstack([groups, numbers[:, self._kept]])


class _Given(BaseEstimator):  # type: ignore[misc]
    """An estimator whose answer is its input: Fairlearn is handed chances, and never sees a frame
    or a label.
    """

    def fit(self, X: Any, y: Any) -> _Given:  # noqa: N803
        return self

    def __sklearn_is_fitted__(self) -> bool:
        return True

    def predict(self, X: Any) -> Any:  # noqa: N803
        return X[:, 0]


def check_labels(method: Any, codes: Codes, truth: Floats, labels: tuple[int, ...]) -> None:
    """Refuse a group without rows of these labels: Fairlearn would leave it out of the comparison,
    or fail.
    """
    roles = method.roles_
    rows = np.bincount(2 * codes + truth.astype(np.intp), minlength=2 * len(roles.groups)).reshape(
        -1, 2
    )
    for group, counts in zip(roles.groups, rows, strict=True):
        for label in labels:
            if not counts[label]:
                who = " and ".join(
                    f"{name} {value!r}" for name, value in zip(roles.over, group, strict=True)
                )
                raise DataError(
                    f"no training row with {who} has the label {roles.classes[label]!r}, among"
                    f" which {type(method).__name__} with constraint = {method.constraint!r}"
                    " compares the groups"
                )


def constraint_of(
    method: Any, known: Iterable[str] = tuple(CONSTRAINTS)
) -> tuple[str, str, tuple[int, ...]]:
    """Return what a method's constraint is in Fairlearn, or refuse it."""
    name = method.constraint
    if not isinstance(name, str) or name not in known:
        raise UsageError(
            f"constraint = {clip(repr(name))} is none of {type(method).__name__};"
            f" {nearest(name, known)}"
        )
    return CONSTRAINTS[name]


def fairlearn(name: str, method: Any) -> Any:
    """Return a module of Fairlearn, as `fairlearn("reductions", self)`, or say which extra has it."""
    try:
        return importlib.import_module(f"fairlearn.{name}")
    except ImportError as error:
        raise MissingExtra(type(method).__name__, method.extra) from error
