"""Evened: a model whose outcomes cannot depend on the protected features, made without training it
again.

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
from sklearn.base import BaseEstimator, MetaEstimatorMixin, clone, is_classifier, is_regressor
from sklearn.utils.metaestimators import available_if

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


def _has(method: str) -> Callable[[Any], bool]:
    return lambda evened: hasattr(evened._inside, method)


def _has_truth(evened: Any) -> bool:
    return _kind(evened._inside) is not None


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

    Examples
    --------
    >>> import evenhand as eh
    >>> space = eh.Space([eh.category("sex", ["F", "M"]), eh.integer("age", 18, 90)], protected=["sex"])
    >>> def rate(people):
    ...     return 5.0 - (people["sex"] == "M")
    >>> even = Evened(rate, space)
    >>> even.predict(space.decode(space.encode([{"sex": "F", "age": 20}, {"sex": "M", "age": 20}]))).tolist()
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
        """Train a copy of the model on rows as they are; `model_` is asked from then on."""
        _check_model(self.model)
        if not callable(getattr(self.model, "fit", None)):
            raise UsageError(
                f"{_name(self.model)} has no fit; leave out fit, since Evened asks it as it is"
            )
        features = self._features()
        table = assignments_of(features)
        rows = rows_of(X, self.space, features, table)
        counted = counted_weights(rows, features, table) if self._by_rows else None
        try:
            model = clone(self.model)
        except TypeError:
            raise UsageError(
                f"{_name(self.model)} cannot be copied, since it has no get_params; fit it first,"
                " and give Evened the fitted model"
            ) from None
        self.model_ = model.fit(X, y, **fit_params)
        if counted is not None:
            self.weights_ = counted
        return self

    def predict(self, X: Any) -> NDArray[Any]:  # noqa: N803
        """Return one outcome for each row, the same for all that differ only in the features at
        issue.
        """
        model = self._fitted()
        return np.concatenate([self._decided(model, part) for part in self._parts(X, model)])

    @available_if(_has("predict_proba"))  # type: ignore[untyped-decorator]
    def predict_proba(self, X: Any) -> Floats:  # noqa: N803
        """Return the mean of the chances of each class over the variants of each row."""
        return self._means(X, "predict_proba")

    @available_if(_has("decision_function"))  # type: ignore[untyped-decorator]
    def decision_function(self, X: Any) -> Floats:  # noqa: N803
        """Return the mean of the margins over the variants of each row."""
        return self._means(X, "decision_function")

    @available_if(_has_truth)  # type: ignore[untyped-decorator]
    def score(self, X: Any, y: Any, sample_weight: Any = None) -> float:  # noqa: N803
        """Return the accuracy of a classifier, or the R² of a regressor."""
        from sklearn.metrics import accuracy_score, r2_score

        measured = accuracy_score if _kind(self._inside) == "classifier" else r2_score
        return float(measured(y, self.predict(X), sample_weight=sample_weight))

    @property
    def cost(self) -> int:
        """How many predictions an input takes at most: one for each assignment that counts."""
        return len(self._counted(self._features())[0])

    @property
    def classes_(self) -> Any:
        """The labels of the model inside."""
        return self._inside.classes_

    @property
    def n_features_in_(self) -> int:
        """The number of columns that the model inside was trained with."""
        return (
            len(self.space.passed) if _is_function(self.model) else int(self._inside.n_features_in_)
        )

    @property
    def feature_names_in_(self) -> Any:
        """The columns that the model inside was trained with, or that a function is given."""
        if _is_function(self.model):
            return np.array(
                [self.space.names[position] for position in self.space.passed], dtype=object
            )
        return self._inside.feature_names_in_

    @property
    def _estimator_type(self) -> Any:
        """What scikit-learn before 1.6 calls the kind of an estimator."""
        return _kind(self._inside)

    def __sklearn_tags__(self) -> Any:
        tags = super().__sklearn_tags__()
        if hasattr(self.model, "__sklearn_tags__") and not isinstance(self.model, type):
            inside = self.model.__sklearn_tags__()
            for name in (
                "estimator_type",
                "classifier_tags",
                "regressor_tags",
                "target_tags",
                "input_tags",
            ):
                setattr(tags, name, deepcopy(getattr(inside, name)))
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
                    f"the constraint {named(constraint)} is a function, which only a pickle keeps"
                )
        state = {**self.__dict__, "space": self.space.to_dict()}
        if isinstance(self.weights, Mapping):
            keys = [key if isinstance(key, tuple) else (key,) for key in self.weights]
            state["weights"] = [
                [list(key), weight] for key, weight in zip(keys, self.weights.values(), strict=True)
            ]
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
        """Return the model to be asked, or say why it cannot be."""
        model = self._inside
        _check_model(model)
        if not is_fitted(model):
            raise UsageError(
                f"{_name(model)} is not fitted; call fit first, or give Evened a fitted model"
            )
        if isinstance(getattr(model, "classes_", None), list):
            raise UsageError(
                f"{_name(model)} gives several outputs for each input; Evened takes models of one"
            )
        return model

    def _features(self) -> list[Feature]:
        """Return the features at issue that the model is given."""
        if not isinstance(self.space, Space):
            raise UsageError(
                f"space = {clip(repr(self.space))} is no Space; build one with Space(...) or"
                " Space.from_frame(...)"
            )
        names = self.space.protected if self.over is None else self.over
        if self.over is None and not names:
            raise UsageError(
                "the space has no protected features; say with over=… what outcomes must not"
                " depend on"
            )
        found = [self.space.features[position] for position in self.space.sets(names)]
        passed = [feature for feature in found if feature.passed]
        if not passed:
            raise UsageError(
                f"the model is not passed {' or '.join(feature.name for feature in found)}, so"
                " there is nothing to even"
            )
        return passed

    def _counted(self, features: Sequence[Feature]) -> tuple[Points, Floats]:
        """Return the assignments that count, and how much."""
        table = assignments_of(features)
        if self.weights is None:
            return table, np.ones(len(table))
        weights = (
            getattr(self, "weights_", None)
            if self._by_rows
            else named_weights(self.weights, features, table)
        )
        if weights is None:
            raise UsageError(
                "weights = 'rows' counts the rows of fit; call fit first, or give the weights by"
                " label"
            )
        if len(weights) != len(table):
            raise UsageError("weights = 'rows' were counted over other features; call fit again")
        return table[weights > 0], weights[weights > 0]

    def _parts(self, X: Any, model: Any) -> Iterator[Variants]:  # noqa: N803
        features = self._features()
        table, weights = self._counted(features)
        rows = rows_of(X, self.space, features, table)
        if isinstance(rows, ArrayRows) and _is_function(model):
            raise DataError(
                f"{_name(model)} is a function of a frame; give it a frame instead of an array"
            )
        classes = len(getattr(model, "classes_", ()))
        return variants_of(rows, self.space, features, table, weights, classes=classes)

    def _decided(self, model: Any, part: Variants) -> NDArray[Any]:
        kind, known = _kind(model), getattr(model, "classes_", None)
        told = part.ask(getattr(model, "predict", model))
        if told.ndim == 2 and told.shape[1] == 1:
            told = told[:, 0]
        answers = Answers(_name(model), closed=known is not None).check(told, len(part.which))
        how = self._chosen(model, kind, answers)
        if how == "mean" and kind != "classifier":
            return part.means(answers)
        labels, codes = _coded(answers, known)
        votes = part.votes(codes, len(labels))
        # A little less than the most, since sums of weights that are equal need not be so after
        # rounding.
        best = (
            votes > 0 if how == "mean" else votes >= votes.max(axis=1, keepdims=True) * (1 - 1e-9)
        )
        split = best.sum(axis=1) > 1
        scorer = _scorer(model) if known is not None else None
        if split.any() and scorer is not None:
            some = part.some(split)
            scores = some.means(_by_class(some.ask(getattr(model, scorer))))
            if scores.shape[1] == len(labels):
                scores = np.where(best[split], scores, -np.inf)
                best[split] = scores == scores.max(axis=1, keepdims=True)
        return np.asarray(labels[best.argmax(axis=1)])

    def _chosen(self, model: Any, kind: str | None, answers: NDArray[Any]) -> str:
        """Return how these answers of a model are made one."""
        if self.how is None:
            numbers = kind == "regressor" or (kind is None and answers.dtype.kind == "f")
            return "mean" if numbers or (kind == "classifier" and _scorer(model)) else "majority"
        if self.how not in HOW:
            raise UsageError(f"how = {clip(repr(self.how))}; {nearest(self.how, HOW)}")
        if kind == "regressor" and self.how == "majority":
            raise UsageError(
                f"how = 'majority' is for labels; of the numbers that {_name(model)} gives, use the"
                " mean"
            )
        if self.how == "mean" and kind == "classifier" and _scorer(model) is None:
            raise UsageError(
                f"{_name(model)} has no predict_proba for how = 'mean'; use how = 'majority'"
            )
        if self.how == "mean" and kind is None and answers.dtype.kind not in "biuf":
            raise UsageError(
                f"{_name(model)} answers with texts, which have no mean; use how = 'majority'"
            )
        return str(self.how)

    def _means(self, X: Any, method: str) -> Floats:  # noqa: N803
        model = self._fitted()
        return np.concatenate(
            [part.means(part.ask(getattr(model, method))) for part in self._parts(X, model)]
        )


def _coded(answers: NDArray[Any], known: Any) -> tuple[NDArray[Any], NDArray[np.intp]]:
    """Return the labels in order, and the place of each answer among them."""
    if known is None:
        return np.unique(answers, return_inverse=True)
    labels = np.asarray(known)
    order = np.argsort(labels, kind="stable")
    return labels, order[np.searchsorted(labels, answers, sorter=order)]


def _by_class(scores: NDArray[Any]) -> NDArray[Any]:
    """Return the margins between two classes as a score for each."""
    return np.column_stack([-scores, scores]) if scores.ndim == 1 else scores


def _scorer(model: Any) -> str | None:
    return next(
        (name for name in ("predict_proba", "decision_function") if hasattr(model, name)), None
    )


def _kind(model: Any) -> str | None:
    """Tell a classifier from a regressor; None for a function, and for what says neither."""
    try:
        kinds = {"classifier": is_classifier(model), "regressor": is_regressor(model)}
    except (AttributeError, TypeError):  # no estimator of scikit-learn
        kinds = {}
    return next(
        (kind for kind in kinds if kinds[kind]),
        "classifier" if hasattr(model, "classes_") else None,
    )


def _is_function(model: Any) -> bool:
    return callable(model) and not hasattr(model, "predict")


def _check_model(model: Any) -> None:
    if isinstance(model, type):
        raise UsageError(
            f"{model.__name__} is a class; give Evened an instance of it, or a function"
        )
    if not (callable(model) or hasattr(model, "predict")):
        raise UsageError(
            f"{clip(repr(model))} is neither an estimator nor a function of a frame; write a"
            " function that asks it"
        )


def _name(model: Any) -> str:
    return str(getattr(model, "__qualname__", type(model).__name__))
