"""Evened: a model whose outcomes cannot depend on the protected features, without training.

Each input is asked under every assignment of the features at issue, and what it has there itself is
never looked at. So all inputs that differ only in these features (Themis Def. 3.7) get one outcome,
whatever the model inside does.
"""

from __future__ import annotations

import copyreg
from collections.abc import Callable, Mapping, Sequence
from copy import deepcopy
from typing import TYPE_CHECKING, Any

import numpy as np
from sklearn.base import BaseEstimator, MetaEstimatorMixin, clone
from sklearn.utils.metaestimators import available_if

from evenhand.methods.repair import messages
from evenhand.methods.repair.methods.model_kinds import (
    is_function,
    kind_of,
    name_of,
    scorer_of,
)
from evenhand.methods.repair.methods.variants import (
    ArrayRows,
    assignments_of,
    counted_weights,
    named_weights,
    rows_of,
    variants_of,
)
from evenhand.runtime.errors import DataError, UsageError, clip, nearest
from evenhand.space.constraints import named
from evenhand.space.space import Space
from evenhand.subject.adapters.base import is_fitted, is_torch_module
from evenhand.subject.outcome_check import Answers

if TYPE_CHECKING:
    from collections.abc import Iterator

    from numpy.typing import NDArray

    from evenhand.methods.repair.methods.variants import Variants
    from evenhand.space.feature import Feature, Points

    Floats = NDArray[np.float64]

HOW = ("mean", "majority")
TAGS = (
    "estimator_type",
    "classifier_tags",
    "regressor_tags",
    "target_tags",
    "input_tags",
)
"""What scikit-learn is to know of the model inside."""


def _has(method: str) -> Callable[[Any], bool]:
    return lambda evened: hasattr(evened._inside, method)


def _has_truth(evened: Any) -> bool:
    return kind_of(evened._inside) is not None


class Evened(MetaEstimatorMixin, BaseEstimator):  # type: ignore[misc]
    """A classifier, regressor or function made even: its outcomes cannot depend on some features.

    It takes as many predictions for each input as there are assignments of these features (`cost`),
    and as much accuracy as they alone can tell; `repair` measures that. Causal scores over these
    features, and over some of them, are zero by construction. Groups may still fare differently, by
    features that go along with the protected ones.

    Parameters
    ----------
    model
        A fitted estimator or torch module, used as it is; an estimator to be trained by `fit`; or a
        function of a frame that returns one outcome for each row.
    space
        What an input can be. Rows may have other columns, and values of other features that are not
        in the space.
    over
        The features that outcomes must not depend on, taken together; the protected ones unless
        said otherwise.
    how
        What an input gets whose variants get different outcomes. Numbers are always averaged. Of
        labels, "mean" takes the one with the largest mean of `predict_proba`, or else of
        `decision_function`, among those that some variant gets; "majority" takes what most variants
        get, and looks at the means only where two labels get as many. Where the model tells no such
        scores, "majority" is the only choice, and the first label in the order of `classes_` comes
        before others. "mean" is chosen where there are scores, since with two values of a protected
        feature all that two variants disagree on is a tie.
    weights
        How much each assignment counts: all alike (None); as often as the rows of `fit` have it
        ("rows"), so that those that no row has are not asked at all; or numbers by label, as in
        ``{"F": 1, "M": 2}``, or by tuples of labels where there are several features.

    Variants that break a constraint of the space on these features are left out; constraints on
    others, or on features that the model is not passed, are not looked at. An input none of whose
    variants is valid is asked under all assignments. Means are rounded to nine digits, so that the
    last ones do not tell apart what was asked in different batches.

    See Also
    --------
    See docs/how-to/repair.md.

    Examples
    --------
    >>> import evenhand as eh
    >>> features = [eh.category("sex", ["F", "M"]), eh.integer("age", 18, 90)]
    >>> space = eh.Space(features, protected=["sex"])
    >>> def rate(people):
    ...     return 5.0 - (people["sex"] == "M")
    >>> even = Evened(rate, space)
    >>> people = space.encode([{"sex": "F", "age": 20}, {"sex": "M", "age": 20}])
    >>> even.predict(space.decode(people)).tolist()
    [4.5, 4.5]
    >>> even.cost, float(eh.measure(even, space).worst.estimate.value)
    (2, 0.0)
    """

    def __init__(
        self,
        model: Any,
        space: Space,
        over: str | Sequence[str] | None = None,
        *,
        how: Any = None,
        weights: Any = None,
    ) -> None:
        self.model = model
        self.space = space
        self.over = over
        self.how = how
        self.weights = weights

    def fit(self, X: Any, y: Any = None, **fit_params: Any) -> Evened:  # noqa: N803
        """Train a copy of the model on rows as they are; `model_` is asked from then on.

        Parameters
        ----------
        X, y
            Rows of any dataframe engine or an array, and the true outcomes.
        **fit_params
            Passed on to the `fit` of the model.

        Returns
        -------
        Evened
            This object.

        Raises
        ------
        UsageError
            Where the model has no `fit`, or cannot be copied.
        """
        _check_model(self.model)
        name = name_of(self.model)
        if not callable(getattr(self.model, "fit", None)):
            raise UsageError(messages.EVENED_WITHOUT_FIT.format(name=name))
        features = self._features()
        table = assignments_of(features)
        rows = rows_of(X, self.space, features, table)
        counted = None
        if self._by_rows:
            counted = counted_weights(rows, features, table)
        try:
            model = clone(self.model)
        except TypeError:
            raise UsageError(messages.EVENED_NOT_COPIED.format(name=name)) from None
        self.model_ = model.fit(X, y, **fit_params)
        if counted is not None:
            self.weights_ = counted
        return self

    def predict(self, X: Any) -> NDArray[Any]:  # noqa: N803
        """Return one outcome for each row, equal for rows that differ only in features at issue.

        Parameters
        ----------
        X
            Rows of any dataframe engine or an array.

        Returns
        -------
        array of shape (rows,)
            Labels of a classifier, or numbers.

        Raises
        ------
        UsageError
            Where the model is not fitted, or `how` does not fit it.
        DataError
            Where the rows lack a feature at issue.
        """
        model = self._fitted()
        decided = [self._decided(model, part) for part in self._parts(X, model)]
        return np.concatenate(decided)

    @available_if(_has("predict_proba"))  # type: ignore[untyped-decorator]
    def predict_proba(self, X: Any) -> Floats:  # noqa: N803
        """Return the mean of the chances of each class over the variants of each row.

        Returns
        -------
        array of shape (rows, classes)
        """
        return self._means(X, "predict_proba")

    @available_if(_has("decision_function"))  # type: ignore[untyped-decorator]
    def decision_function(self, X: Any) -> Floats:  # noqa: N803
        """Return the mean of the margins over the variants of each row.

        Returns
        -------
        array of shape (rows,), or (rows, classes) where there are more than two classes
        """
        return self._means(X, "decision_function")

    @available_if(_has_truth)  # type: ignore[untyped-decorator]
    def score(self, X: Any, y: Any, sample_weight: Any = None) -> float:  # noqa: N803
        """Return the accuracy of a classifier, or the R² of a regressor.

        Parameters
        ----------
        X, y
            Rows and their true outcomes.
        sample_weight
            How much each row counts.

        Returns
        -------
        float
        """
        from sklearn.metrics import accuracy_score, r2_score

        predicted = self.predict(X)
        if kind_of(self._inside) == "classifier":
            return float(accuracy_score(y, predicted, sample_weight=sample_weight))
        return float(r2_score(y, predicted, sample_weight=sample_weight))

    @property
    def cost(self) -> int:
        """How many predictions an input takes at most: one for each assignment that counts."""
        assignments, _ = self._counted(self._features())
        return len(assignments)

    @property
    def classes_(self) -> Any:
        """The labels of the model inside."""
        return self._inside.classes_

    @property
    def n_features_in_(self) -> int:
        """The number of columns that the model inside was trained with."""
        if is_function(self.model):
            return len(self.space.passed)
        return int(self._inside.n_features_in_)

    @property
    def feature_names_in_(self) -> Any:
        """The columns that the model inside was trained with, or that a function is given."""
        if is_function(self.model):
            names = [self.space.names[position] for position in self.space.passed]
            return np.array(names, dtype=object)
        return self._inside.feature_names_in_

    @property
    def _estimator_type(self) -> Any:
        """What scikit-learn before 1.6 calls the kind of an estimator."""
        return kind_of(self._inside)

    def __sklearn_tags__(self) -> Any:
        tags = super().__sklearn_tags__()
        if hasattr(self.model, "__sklearn_tags__") and not isinstance(self.model, type):
            inside = self.model.__sklearn_tags__()
            for name in TAGS:
                tag = getattr(inside, name)
                setattr(tags, name, deepcopy(tag))
        return tags

    def __sklearn_is_fitted__(self) -> bool:
        return is_fitted(self._inside)

    def __reduce__(self) -> tuple[Any, ...]:
        # Without what a space has worked out by and by, so that a ledger knows the model again.
        state = dict(self.__dict__)
        if isinstance(self.space, Space):
            state["space"] = (
                self.space.features,
                self.space.protected,
                self.space.constraints,
                self.space.layout,
            )
        return copyreg.__newobj__, (type(self),), state  # type: ignore[attr-defined]

    def __getstate__(self) -> dict[str, Any]:
        # What skops writes: plain values, so that a file needs no types to be trusted but this one
        # and the model's.
        for constraint in self.space.constraints:
            if callable(constraint):
                raise UsageError(
                    messages.CONSTRAINT_NOT_KEPT.format(name=named(constraint))
                )
        state = dict(self.__dict__)
        state["space"] = self.space.to_dict()
        if isinstance(self.weights, Mapping):
            weights = []
            for key, weight in self.weights.items():
                labels = list(key) if isinstance(key, tuple) else [key]
                weights.append([labels, weight])
            state["weights"] = weights
        return state

    def __setstate__(self, state: Mapping[str, Any]) -> None:
        self.__dict__.update(state)
        if isinstance(self.space, tuple):
            self.space = Space(*self.space)
        elif isinstance(self.space, dict):
            self.space = Space.from_dict(self.space)
        if isinstance(self.weights, list):
            self.weights = {tuple(labels): weight for labels, weight in self.weights}

    @property
    def _inside(self) -> Any:
        if is_torch_module(self.model):
            from evenhand.subject.adapters.torch import TorchClassifier

            return TorchClassifier(self.model, self.space)
        return getattr(self, "model_", self.model)

    @property
    def _by_rows(self) -> bool:
        return isinstance(self.weights, str) and self.weights == "rows"

    def _fitted(self) -> Any:
        """Return the model to be asked, or raise if it cannot be."""
        model = self._inside
        _check_model(model)
        if not is_fitted(model):
            raise UsageError(messages.EVENED_NOT_FITTED.format(name=name_of(model)))
        if isinstance(getattr(model, "classes_", None), list):
            raise UsageError(messages.EVENED_SEVERAL_OUTPUTS.format(name=name_of(model)))
        return model

    def _features(self) -> list[Feature]:
        """Return the features at issue that the model is given."""
        if not isinstance(self.space, Space):
            raise UsageError(messages.NOT_A_SPACE.format(space=clip(repr(self.space))))
        names: Any = self.over
        if names is None:
            names = self.space.protected
            if not names:
                raise UsageError(messages.EVENED_NOTHING_PROTECTED)
        features = [self.space.features[position] for position in self.space.sets(names)]
        passed = [feature for feature in features if feature.passed]
        if not passed:
            hidden = " or ".join(feature.name for feature in features)
            raise UsageError(messages.EVENED_NOTHING_PASSED.format(names=hidden))
        return passed

    def _counted(self, features: Sequence[Feature]) -> tuple[Points, Floats]:
        """Return the assignments that count, and how much."""
        table = assignments_of(features)
        if self.weights is None:
            return table, np.ones(len(table))
        if self._by_rows:
            weights = getattr(self, "weights_", None)
        else:
            weights = named_weights(self.weights, features, table)
        if weights is None:
            raise UsageError(messages.EVENED_ROWS_NOT_COUNTED)
        if len(weights) != len(table):
            raise UsageError(messages.EVENED_ROWS_OF_OTHER_FEATURES)
        counts = weights > 0
        return table[counts], weights[counts]

    def _parts(self, X: Any, model: Any) -> Iterator[Variants]:  # noqa: N803
        features = self._features()
        table, weights = self._counted(features)
        rows = rows_of(X, self.space, features, table)
        if isinstance(rows, ArrayRows) and is_function(model):
            raise DataError(messages.EVENED_FUNCTION_OF_FRAME.format(name=name_of(model)))
        classes = len(getattr(model, "classes_", ()))
        return variants_of(rows, self.space, features, table, weights, classes=classes)

    def _decided(self, model: Any, part: Variants) -> NDArray[Any]:
        """Return one outcome for each of some rows."""
        kind = kind_of(model)
        known = getattr(model, "classes_", None)
        outcomes = part.ask(getattr(model, "predict", model))
        if outcomes.ndim == 2 and outcomes.shape[1] == 1:
            outcomes = outcomes[:, 0]
        checker = Answers(name_of(model), closed=known is not None)
        answers = checker.check(outcomes, len(part.which))
        how = self._chosen(model, kind, answers)
        if how == "mean" and kind != "classifier":
            return part.means(answers)
        labels, codes = _coded(answers, known)
        votes = part.votes(codes, len(labels))
        if how == "mean":
            best = votes > 0
        else:
            # A little less than the most, since sums of weights that are equal need not be so
            # after rounding.
            most = votes.max(axis=1, keepdims=True)
            best = votes >= most * (1 - 1e-9)
        if known is not None:
            _break_ties(best, model, part)
        return np.asarray(labels[best.argmax(axis=1)])

    def _chosen(self, model: Any, kind: str | None, answers: NDArray[Any]) -> str:
        """Return how these answers of a model are made one."""
        name = name_of(model)
        if self.how is None:
            return _usual_way(model, kind, answers)
        if self.how not in HOW:
            shown = clip(repr(self.how))
            choices = nearest(self.how, HOW)
            raise UsageError(messages.EVENED_HOW_UNKNOWN.format(how=shown, choices=choices))
        if self.how == "majority":
            if kind == "regressor":
                raise UsageError(messages.EVENED_MAJORITY_OF_NUMBERS.format(name=name))
            return "majority"
        if kind == "classifier" and scorer_of(model) is None:
            raise UsageError(messages.EVENED_MEAN_WITHOUT_SCORES.format(name=name))
        if kind is None and answers.dtype.kind not in "biuf":
            raise UsageError(messages.EVENED_MEAN_OF_TEXTS.format(name=name))
        return "mean"

    def _means(self, X: Any, method: str) -> Floats:  # noqa: N803
        model = self._fitted()
        ask = getattr(model, method)
        parts = [part.means(part.ask(ask)) for part in self._parts(X, model)]
        return np.concatenate(parts)


def _usual_way(model: Any, kind: str | None, answers: NDArray[Any]) -> str:
    """Return how answers are made one unless the user says: the mean, where there is one."""
    if kind == "regressor":
        return "mean"
    if kind is None and answers.dtype.kind == "f":
        return "mean"
    if kind == "classifier" and scorer_of(model):
        return "mean"
    return "majority"


def _break_ties(best: NDArray[np.bool_], model: Any, part: Variants) -> None:
    """Leave of several best labels of a row those with the largest mean score, in place."""
    scorer = scorer_of(model)
    tied = best.sum(axis=1) > 1
    if scorer is None or not tied.any():
        return
    rows = part.some(tied)
    answers = rows.ask(getattr(model, scorer))
    scores = rows.means(_by_class(answers))
    labels = best.shape[1]
    if scores.shape[1] == labels:
        scores = np.where(best[tied], scores, -np.inf)
        best[tied] = scores == scores.max(axis=1, keepdims=True)


def _coded(answers: NDArray[Any], known: Any) -> tuple[NDArray[Any], NDArray[np.intp]]:
    """Return the labels in order, and the place of each answer among them."""
    if known is None:
        return np.unique(answers, return_inverse=True)
    labels = np.asarray(known)
    order = np.argsort(labels, kind="stable")
    places = np.searchsorted(labels, answers, sorter=order)
    return labels, order[places]


def _by_class(scores: NDArray[Any]) -> NDArray[Any]:
    """Return the margins between two classes as a score for each."""
    if scores.ndim == 1:
        return np.column_stack([-scores, scores])
    return scores


def _check_model(model: Any) -> None:
    if isinstance(model, type):
        raise UsageError(messages.EVENED_OF_A_CLASS.format(name=model.__name__))
    if not (callable(model) or hasattr(model, "predict")):
        raise UsageError(messages.EVENED_OF_NO_MODEL.format(model=clip(repr(model))))
