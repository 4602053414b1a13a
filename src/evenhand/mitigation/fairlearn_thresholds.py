"""Fairlearn's thresholds and removed correlation, and what all methods of Fairlearn share.

They know any number of groups: each combination of the protected columns is one, and none is
privileged.
"""

from __future__ import annotations

import importlib
from typing import TYPE_CHECKING, Any, ClassVar

import numpy as np
from sklearn.base import BaseEstimator, clone

from evenhand.mitigation.aif360_compat import seeded
from evenhand.mitigation.base import (
    Mitigation,
    NumericEncoder,
    check_estimator,
    check_number,
)
from evenhand.mitigation.postprocessing import PostProcessing
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
"""What is to be alike between groups, by its name here.

Its two names in Fairlearn, and the true labels among which it is compared.
"""
_DECIDED = 1e-9
"""A column that varies less than this within groups is decided by the group.

It is a share of the size of the column.
"""


class ThresholdOptimiser(PostProcessing):
    """Gives each group a threshold of its own, so that groups are treated alike (Hardt, 2016).

    This is the method of Hardt, Price and Srebro, "Equality of Opportunity in Supervised Learning".

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
        codes = self.roles_.codes(frame)
        chances = self._chances(self.model_, frame)
        # A threshold is found on a curve that a group with one label does not have, whatever is to
        # be alike.
        check_labels(self, codes, truth, (0, 1))
        constraint, _, _ = constraint_of(self)
        library = fairlearn("postprocessing", self)
        self._optimiser = library.ThresholdOptimizer(
            estimator=_IdentityEstimator(),
            constraints=constraint,
            prefit=True,
            predict_method="predict",
        )
        labels = truth.astype(np.intp)
        self._optimiser.fit(chances[:, None], labels, sensitive_features=codes)

    def _decide(self, frame: Any) -> Any:
        codes = self.roles_.codes(frame)
        chances = self._chances(self.model_, frame)
        with seeded(self.random_state):
            return self._optimiser.predict(chances[:, None], sensitive_features=codes)


class CorrelationRemover(Mitigation):
    """Takes from each column what is linear in the groups, and trains on what is left.

    All groups have the same mean then.

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
        labels = self.roles_.labels(truth)
        inputs = self._inputs(frame)
        steps = getattr(self.estimator, "steps", ())
        if len(steps) > 1:
            first_steps = clone(self.estimator[:-1])
            self._encode = first_steps.fit(inputs, labels).transform
        else:
            self._encode = NumericEncoder(without=self.roles_.over).fit(inputs)
        codes = self.roles_.codes(frame)
        numbers = self._numbers(frame)
        groups = np.eye(len(self.roles_.groups))[codes]
        self._shares = groups.mean(axis=0)
        self._kept = _varies_within_groups(numbers, groups, codes)
        if not self._kept.any():
            raise DataError(
                f"{' and '.join(self.roles_.over)} decides every column of X; nothing is left to"
                " learn from"
            )
        group_columns = list(range(len(self.roles_.groups)))
        self._remover = library.CorrelationRemover(
            sensitive_feature_ids=group_columns, alpha=self.alpha
        )
        columns = self._columns(codes, numbers)
        rest = self._remover.fit(columns).transform(columns)
        last_step = steps[-1][1] if steps else self.estimator
        self._inner = clone(last_step).fit(rest, labels)

    def _decide(self, frame: Any) -> Any:
        columns = self._columns(self.roles_.codes(frame), self._numbers(frame))
        rest = self._remover.transform(columns)
        return self.roles_.truth(self._inner.predict(rest))

    def _numbers(self, frame: Any) -> Floats:
        found = self._encode(self._inputs(frame))
        if hasattr(found, "toarray"):
            found = found.toarray()
        return np.asarray(found, dtype=np.float64)

    def _columns(self, codes: Codes, numbers: Floats) -> Floats:
        """Return a column for each group, and after them the numbers that no group decides."""
        # Centred here, as older versions of Fairlearn take one mean for all groups.
        groups = np.eye(len(self.roles_.groups))[codes] - self._shares
        return np.hstack([groups, numbers[:, self._kept]])


def _varies_within_groups(
    numbers: Floats, groups: Floats, codes: Codes
) -> NDArray[np.bool_]:
    """Return which columns are not decided by the group.

    Rounding leaves traces of what is taken away of the others, and a tree can split on them.
    """
    sizes = groups.sum(axis=0)[:, None]
    means = groups.T @ numbers / sizes
    within = numbers - means[codes]
    largest = np.abs(numbers).max(axis=0)
    return np.asarray(within.std(axis=0) > _DECIDED * largest)


class _IdentityEstimator(BaseEstimator):  # type: ignore[misc]
    """An estimator whose answer is its input.

    Fairlearn is handed chances through it, and never sees a frame or a label.
    """

    def fit(self, X: Any, y: Any) -> _IdentityEstimator:  # noqa: N803
        return self

    def __sklearn_is_fitted__(self) -> bool:
        return True

    def predict(self, X: Any) -> Any:  # noqa: N803
        return X[:, 0]


def check_labels(method: Any, codes: Codes, truth: Floats, labels: tuple[int, ...]) -> None:
    """Raise an error for a group without rows of these labels.

    Fairlearn would leave it out of the comparison, or fail.
    """
    roles = method.roles_
    cells = 2 * codes + truth.astype(np.intp)
    counts = np.bincount(cells, minlength=2 * len(roles.groups))
    for group, counts_of_group in zip(roles.groups, counts.reshape(-1, 2), strict=True):
        for label in labels:
            if counts_of_group[label]:
                continue
            values = zip(roles.over, group, strict=True)
            who = " and ".join(f"{name} {value!r}" for name, value in values)
            raise DataError(
                f"no training row with {who} has the label {roles.classes[label]!r}, among which"
                f" {type(method).__name__} with constraint = {method.constraint!r} compares the"
                " groups"
            )


def constraint_of(
    method: Any, known: Iterable[str] = tuple(CONSTRAINTS)
) -> tuple[str, str, tuple[int, ...]]:
    """Return the names in Fairlearn of a method's constraint, and the labels it compares.

    An unknown constraint is an error.
    """
    name = method.constraint
    if not isinstance(name, str) or name not in known:
        raise UsageError(
            f"{type(method).__name__}: unknown constraint {clip(repr(name))};"
            f" {nearest(name, known)}"
        )
    return CONSTRAINTS[name]


def fairlearn(name: str, method: Any) -> Any:
    """Return a module of Fairlearn, as `fairlearn("reductions", self)`.

    Where Fairlearn is not installed, the error names the extra.
    """
    try:
        return importlib.import_module(f"fairlearn.{name}")
    except ImportError as error:
        raise MissingExtra(type(method).__name__, method.extra) from error
