"""What all mitigation methods share: scikit-learn classifiers that take frames and any labels."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, ClassVar

import numpy as np
from sklearn.base import BaseEstimator, ClassifierMixin, clone

from evenhand.mitigation.roles import Roles
from evenhand.runtime.errors import DataError, UsageError, clip, nearest
from evenhand.space.frames.reading import check_missing, eager
from evenhand.subject.forms.estimators import weight_keyword

if TYPE_CHECKING:
    from collections.abc import Mapping

    from numpy.typing import NDArray

    Floats = NDArray[np.float64]
    Bools = NDArray[np.bool_]


class Mitigation(ClassifierMixin, BaseEstimator):  # type: ignore[misc]
    """A classifier that treats groups more alike than one without mitigation.

    The protected columns are columns of X, named by `over`; with ``aware=False`` a method keeps
    them from the model inside. Subclasses write `_fit` and `_decide`, in terms of 1 for the
    favourable label and 0 for the other.

    Notes
    -----
    See docs/how-to/study.md.
    """

    kind: ClassVar[str] = ""
    """When it acts: "pre" on the training rows, "in" the training, "post" on the answers."""
    code: ClassVar[str] = ""
    """The short name of the Fairea paper, or one in its style."""
    extra: ClassVar[str] = ""
    """The extra of evenhand that installs what it needs."""
    knob: ClassVar[str | None] = None
    """The parameter that trades performance for fairness, where there is one."""
    off: ClassVar[Mapping[str, Any]] = {}
    """Parameters under which a method with a model of its own does not mitigate."""

    over: Any
    positive: Any
    privileged: Any
    aware: bool

    def fit(self, X: Any, y: Any) -> Mitigation:  # noqa: N803
        """Learn from training rows and their labels.

        Parameters
        ----------
        X
            The training rows, any dataframe; the protected columns are among them.
        y
            The label of each row, of two kinds.

        Returns
        -------
        Mitigation
            The method itself, fitted.

        Raises
        ------
        UsageError
            If a parameter is missing or out of range.
        DataError
            If the rows lack a protected column, a second group or a second label.

        Notes
        -----
        See docs/how-to/study.md.
        """
        if self.over is None or self.over in ("", [], ()):
            raise UsageError(
                f"{type(self).__name__} needs over=…: the protected column of X, or several"
            )
        self.roles_ = Roles.of(
            X, y, over=self.over, positive=self.positive, privileged=self.privileged
        )
        # As scikit-learn orders the labels of a classifier; by type first, where types are mixed.
        ordered = sorted(self.roles_.classes, key=lambda label: (str(type(label)), label))
        self.classes_ = np.array(ordered, dtype=self.roles_.dtype)
        self._fit(X, self.roles_.truth(y))
        return self

    def predict(self, X: Any) -> NDArray[Any]:  # noqa: N803
        """Return a label for each row.

        Parameters
        ----------
        X
            The rows, with the columns of the training rows.

        Returns
        -------
        ndarray
            One of the training labels for each row.

        Raises
        ------
        UsageError
            If the method is not fitted.
        DataError
            If a row belongs to a group that no training row has.

        Notes
        -----
        See docs/how-to/study.md.
        """
        if not hasattr(self, "roles_"):
            raise UsageError(
                f"this {type(self).__name__} is not fitted yet; call fit first"
            )
        return self.roles_.labels(self._decide(X))

    def _fit(self, frame: Any, truth: Floats) -> None:
        raise NotImplementedError

    def _decide(self, frame: Any) -> Any:
        """Return 1 or True for each row that gets the favourable label."""
        raise NotImplementedError

    def _inputs(self, frame: Any) -> Any:
        """Return the frame for the model inside, without protected columns if it is not aware."""
        if self.aware:
            return frame
        table = eager(frame)
        if set(table.columns) <= set(self.roles_.over):
            raise DataError(
                f"X has only {', '.join(self.roles_.over)}, which aware=False keeps from the model"
            )
        return table.drop(list(self.roles_.over)).to_native()

    def _model(
        self, estimator: Any, frame: Any, truth: Floats, weights: Floats | None = None
    ) -> Any:
        """Return a fitted copy of an estimator, trained on the user's own labels."""
        check_estimator(self, estimator)
        model = clone(estimator)
        options = {} if weights is None else {weight_name(self, model): weights}
        return model.fit(self._inputs(frame), self.roles_.labels(truth), **options)

    def _chances(self, model: Any, frame: Any) -> Floats:
        """Return the chance of the favourable label that a model gives each row.

        A model without `predict_proba` gives its margin, squashed into 0 to 1 by the logistic
        function.
        """
        from scipy.special import expit

        known = np.asarray(model.classes_).tolist()
        if set(known) != set(self.roles_.classes):
            raise UsageError(
                f"the estimator has the labels {clip(', '.join(map(repr, known)))}, but the"
                f" training rows have {', '.join(map(repr, self.roles_.classes))}; train it on"
                " these labels"
            )
        inputs = self._inputs(frame)
        place = known.index(self.roles_.classes[1])
        if hasattr(model, "predict_proba"):
            chances = np.asarray(model.predict_proba(inputs), dtype=np.float64)
            return chances[:, place]
        if not hasattr(model, "decision_function"):
            raise UsageError(
                f"{clip(repr(model))} has neither predict_proba nor decision_function, and"
                f" {type(self).__name__} needs to know how sure it is"
            )
        # The margin is that of the second class.
        margin = np.asarray(model.decision_function(inputs), dtype=np.float64)
        favourable_margin = margin if place else -margin
        return np.asarray(expit(favourable_margin), dtype=np.float64)


def check_estimator(method: Any, estimator: Any) -> None:
    """Raise an error if a method has no estimator."""
    if estimator is None:
        raise UsageError(
            f"{type(method).__name__} needs an estimator to train, such as LogisticRegression()"
        )


def weight_name(method: Any, estimator: Any) -> str:
    """Return the keyword that carries the weights of rows into the `fit` of an estimator.

    An estimator without one is an error.

    >>> from sklearn.linear_model import LogisticRegression
    >>> from sklearn.pipeline import make_pipeline
    >>> weight_name(None, make_pipeline(LogisticRegression()))
    'logisticregression__sample_weight'
    """
    name = weight_keyword(estimator)
    if name is None:
        raise UsageError(
            f"{clip(repr(estimator))} does not take sample_weight, which {type(method).__name__}"
            " needs; use an estimator that does, such as LogisticRegression()"
        )
    return name


def check_number(
    name: str,
    value: Any,
    *,
    low: float = -np.inf,
    high: float = np.inf,
    over: float = -np.inf,
    whole: bool = False,
) -> None:
    """Raise an error if a setting is not a number in its range.

    The range goes from `low` to `high`, or begins above `over`.

    >>> check_number("alpha", 2, low=0, high=1)
    Traceback (most recent call last):
    evenhand.runtime.errors.UsageError: alpha = 2 must be a number from 0 to 1
    """
    kinds = (int, np.integer) if whole else (int, float, np.integer, np.floating)
    is_number = isinstance(value, kinds) and not isinstance(value, bool)
    if is_number and low <= value <= high and over < value < np.inf:
        return
    number = "a whole number" if whole else "a number"
    if over > -np.inf:
        span = f"over {over}"
    elif high == np.inf:
        span = f"of {low} or more"
    else:
        span = f"from {low} to {high}"
    raise UsageError(f"{name} = {clip(repr(value))} must be {number} {span}")


class NumericEncoder:
    """Turns a frame into numbers for methods that take nothing else.

    There is one column for each level of a text, and numbers are standardised.

    >>> import pandas as pd
    >>> frame = pd.DataFrame({"sex": ["f", "m"], "job": ["a", "b"], "age": [20, 40]})
    >>> NumericEncoder(without=("sex",)).fit(frame)(frame).tolist()
    [[1.0, 0.0, -1.0], [0.0, 1.0, 1.0]]
    """

    def __init__(self, *, without: tuple[str, ...] = ()) -> None:
        self.without = without

    def fit(self, frame: Any) -> NumericEncoder:
        """Learn levels, means and deviations from training rows."""
        from sklearn.compose import make_column_transformer
        from sklearn.preprocessing import OneHotEncoder, StandardScaler

        table = eager(frame)
        names = [name for name in table.columns if name not in self.without]
        self._numeric = [name for name in names if table[name].dtype.is_numeric()]
        self._worded = [name for name in names if name not in self._numeric]
        levels = OneHotEncoder(handle_unknown="ignore", sparse_output=False)
        self._encoder = make_column_transformer(
            (levels, self._worded), (StandardScaler(), self._numeric)
        )
        self._encoder.fit(self._pandas(table))
        return self

    def __call__(self, frame: Any) -> Floats:
        """Return the rows as numbers."""
        table = self._pandas(eager(frame))
        return np.asarray(self._encoder.transform(table), dtype=np.float64)

    def _pandas(self, table: Any) -> Any:
        import narwhals as nw
        import pandas as pd

        for name in [*self._worded, *self._numeric]:
            if name not in table.columns:
                raise DataError(
                    f"there is no column {name!r}, which training rows had;"
                    f" {nearest(name, table.columns)}"
                )
            if name in self._numeric:
                check_missing(table, name)
        # Column by column: whole frames of other engines become pandas' only with one more library.
        columns = {}
        for name in self._worded:
            columns[name] = table[name].to_numpy()
        for name in self._numeric:
            columns[name] = table[name].cast(nw.Float64).to_numpy()
        return pd.DataFrame(columns)
