"""Methods that act before the training, on the rows that a model learns from."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, ClassVar

import numpy as np

from evenhand.mitigation.base import Mitigation

if TYPE_CHECKING:
    from numpy.typing import NDArray

    Floats = NDArray[np.float64]


class Reweighing(Mitigation):
    """Weighs training rows so that group and label are independent (Kamiran and Calders, 2012).

    The weights are those of AIF360, which looks at two sides, the privileged groups and the others.
    They are kept in `weights_`; the estimator, or the last step of a pipeline, must take them as
    `sample_weight`.

    Parameters
    ----------
    estimator
        The classifier that is trained on the weighted rows.
    over
        The protected column of X, or several whose combinations are the groups.
    positive
        The favourable label; 1 where labels are 0 and 1.
    privileged
        Who is privileged; by default the group that has the favourable label most often.
    aware
        Whether the estimator sees the protected columns.
    random_state
        Not used, as nothing here is drawn; the estimator has its own.

    Notes
    -----
    See docs/how-to/study.md.

    Examples
    --------
    >>> import pandas as pd
    >>> from sklearn.tree import DecisionTreeClassifier
    >>> frame = pd.DataFrame({"sex": [0, 0, 0, 1, 1, 1], "age": [20, 30, 40, 20, 30, 40]})
    >>> method = Reweighing(DecisionTreeClassifier(), over="sex").fit(frame, [0, 0, 1, 0, 1, 1])
    >>> method.weights_.tolist()
    [0.75, 0.75, 1.5, 1.5, 0.75, 0.75]
    """

    kind: ClassVar[str] = "pre"
    code: ClassVar[str] = "RW"

    def __init__(
        self,
        estimator: Any = None,
        *,
        over: Any = None,
        positive: Any = None,
        privileged: Any = None,
        aware: bool = True,
        random_state: int | None = 0,
    ) -> None:
        self.estimator = estimator
        self.over = over
        self.positive = positive
        self.privileged = privileged
        self.aware = aware
        self.random_state = random_state

    def _fit(self, frame: Any, truth: Floats) -> None:
        side = self.roles_.are_privileged(frame).astype(np.intp)
        label = truth.astype(np.intp)
        rows_of_side = np.bincount(side, minlength=2)
        rows_of_label = np.bincount(label, minlength=2)
        cells = np.bincount(2 * side + label, minlength=4).reshape(2, 2)
        # What a cell would hold if side and label were independent, over what it holds.
        independent = rows_of_label[label] * rows_of_side[side]
        self.weights_: Floats = independent / (len(truth) * cells[side, label])
        self.model_ = self._model(self.estimator, frame, truth, self.weights_)

    def _decide(self, frame: Any) -> Floats:
        return self.roles_.truth(self.model_.predict(self._inputs(frame)))
