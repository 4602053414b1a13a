"""Training again: how a model is fitted, and what it predicts."""

from __future__ import annotations

import inspect
from contextlib import contextmanager, suppress
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np

from evenhand.methods.repair import messages
from evenhand.runtime import number_text
from evenhand.runtime.errors import (
    DataError,
    EvenhandError,
    SubjectCrashed,
    UsageError,
    clip,
    nearest,
)
from evenhand.runtime.estimators import weight_keyword
from evenhand.runtime.interruption import exits_reported
from evenhand.runtime.random_streams import stream
from evenhand.space.frames.reading import eager
from evenhand.subject.subject import Subject

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

    from numpy.typing import NDArray

    from evenhand.methods.repair.rows import LabelledRows

    Floats = NDArray[np.float64]


@dataclass(frozen=True, eq=False)
class Trainer:
    """Fits a model afresh each time: a copy of an estimator, or what the user's function returns.

    >>> from sklearn.tree import DecisionTreeClassifier
    >>> trainer = Trainer.of(DecisionTreeClassifier(), seed=0)
    >>> model = trainer.fit([[0.0], [1.0]], ["no", "yes"])
    >>> model.predict([[1.0]]).tolist(), trainer.regression
    (['yes'], False)
    """

    train: Callable[..., Any]
    name: str
    regression: bool
    weighted: str | None
    """The keyword that carries the weights of rows into the training, where there is one."""

    @classmethod
    def of(cls, estimator: Any, seed: int) -> Trainer:
        """Return how to fit an estimator, or a function ``fit(X, y)`` that returns a model.

        Every `random_state` of an estimator that is None is set from the seed, so that the same
        seed gives the same model.
        """
        if isinstance(estimator, type):
            raise UsageError(messages.ESTIMATOR_IS_A_CLASS.format(name=estimator.__name__))
        if callable(getattr(estimator, "fit", None)):
            return cls._of_estimator(estimator, seed)
        if callable(estimator):
            name = getattr(estimator, "__name__", type(estimator).__name__)
            return cls(estimator, name, regression=False, weighted=_weights_of(estimator))
        raise UsageError(messages.NOT_TRAINABLE.format(estimator=clip(repr(estimator))))

    @classmethod
    def _of_estimator(cls, estimator: Any, seed: int) -> Trainer:
        from sklearn.base import clone, is_regressor

        name = type(estimator).__name__
        stream(seed, "repair")  # raises if the seed is wrong
        try:
            fresh = _seeded(clone(estimator), seed)
            clone(fresh)
        except Exception as error:  # whatever a class makes of being copied
            reason = clip(str(error), 150)
            raise UsageError(
                messages.NOT_CLONEABLE.format(name=name, error=reason)
            ) from None

        def train(inputs: Any, labels: Any, **options: Any) -> Any:
            model = clone(fresh)
            model.fit(inputs, labels, **options)
            of_frame = not isinstance(inputs, np.ndarray | list)
            if of_frame and not hasattr(model, "feature_names_in_"):
                # Scikit-learn's own estimators note the columns themselves; without them, a model
                # would be asked with arrays.
                with suppress(AttributeError):
                    model.feature_names_in_ = np.array(eager(inputs).columns, dtype=object)
            return model

        try:
            regression = bool(is_regressor(estimator))
        except AttributeError:  # no class of scikit-learn, but one like them
            regression = False
        return cls(train, name, regression, weight_keyword(fresh))

    def need_weights(self) -> None:
        """Refuse weights of rows that the training cannot take."""
        if self.weighted is None:
            raise UsageError(messages.NO_SAMPLE_WEIGHT.format(name=self.name))

    def fit(self, inputs: Any, labels: Any, weights: Floats | None = None) -> Any:
        """Return a new model, fitted on these rows."""
        options = {}
        if weights is not None and self.weighted is not None:
            options[self.weighted] = weights
        rows = number_text.count(len(labels))
        try:
            with exits_reported(self.name, messages.DURING_TRAINING.format(rows=rows)):
                model = self.train(inputs, labels, **options)
        except EvenhandError:
            raise
        except Exception as error:
            message = messages.TRAINING_FAILED.format(
                name=self.name,
                kind=type(error).__name__,
                rows=rows,
                error=clip(str(error)),
            )
            raise SubjectCrashed(message) from error
        if not callable(getattr(model, "predict", None)) and not callable(model):
            shown = clip(repr(model))
            raise UsageError(messages.NOT_A_MODEL.format(name=self.name, model=shown))
        return model


def _seeded(estimator: Any, seed: int) -> Any:
    """Return an estimator whose open random states are set from the seed, each by its own name."""
    unset = []
    for key, value in estimator.get_params().items():
        # Parts of a pipeline have theirs too, as in forest__random_state.
        last = key.rpartition("__")[2]
        if last == "random_state" and value is None:
            unset.append(key)
    states = {}
    for key in sorted(unset):
        states[key] = int(stream(seed, "repair", key).integers(2**31))
    estimator.set_params(**states)
    return estimator


def _weights_of(function: Callable[..., Any]) -> str | None:
    try:
        parameters = inspect.signature(function).parameters
    except (TypeError, ValueError):
        return None
    return "sample_weight" if "sample_weight" in parameters else None


@contextmanager
def unseen_levels_explained(train: LabelledRows) -> Iterator[None]:
    """Explain a failure over a level that no training row has: encoders refuse unseen levels."""
    try:
        yield
    except (SubjectCrashed, UsageError) as error:
        for name, level in train.unseen_levels:
            if repr(level) in str(error):
                value = f"{name} = {level!r}"
                message = messages.UNSEEN_LEVEL.format(error=error, value=value)
                # A model that tells its levels is refused before it is asked.
                raise type(error)(message) from error
        raise


def are_numbers(trainer: Trainer, data: LabelledRows, differs: Any) -> bool:
    """Return whether outcomes are numbers to be predicted, which need a γ."""
    truth = data.truth
    fractions = truth.dtype.kind == "f" and not np.array_equal(truth, np.round(truth))
    numbers = trainer.regression or (fractions and differs is not None)
    if not numbers:
        return False
    if truth.dtype.kind not in "iufb":
        first = clip(repr(truth[0]))
        raise UsageError(messages.TRUTH_NOT_NUMBERS.format(model=trainer.name, value=first))
    if differs is None:
        # A tenth of the standard deviation is a difference that people would notice.
        deviation = float(np.std(truth.astype(np.float64)))
        example = number_text.figures(deviation / 10, 3)
        raise UsageError(
            messages.NUMBERS_NEED_DIFFERS.format(model=trainer.name, example=example)
        )
    return True


def predicts_numbers(
    trainer: Trainer, model: Any, train: LabelledRows, truth: NDArray[Any], differs: Any
) -> bool:
    """Return whether a model predicts numbers after all.

    An answer that is neither a number nor a label of the rows is refused.
    """
    answers = Subject(model, train.space).decide(train.points)
    known = set(truth.tolist())
    strange = next((label for label in answers.tolist() if label not in known), None)
    if strange is None:
        return False
    both_numbers = answers.dtype.kind in "iuf" and truth.dtype.kind in "iuf"
    if differs is not None and both_numbers:
        return True
    message = messages.ANSWER_IS_NOT_A_LABEL.format(
        model=trainer.name,
        answer=clip(repr(strange)),
        choices=nearest(strange, sorted(known)),
    )
    raise DataError(message)


def favourable_label(positive: Any, data: LabelledRows, *, numbers: bool) -> Any:
    """Return the favourable label: of 0 and 1, and of truth values, that is the second."""
    if numbers or callable(positive):
        return positive
    labels = np.unique(data.truth).tolist()
    if positive is None:
        binary = set(labels) <= {0, 1} and len(labels) == 2
        return max(labels) if binary else None
    several = isinstance(positive, list | tuple | set | frozenset)
    wanted = positive if several else [positive]
    for label in wanted:
        if label not in labels:
            shown = clip(repr(label))
            choices = nearest(label, labels)
            raise UsageError(
                messages.POSITIVE_IS_NOT_A_LABEL.format(label=shown, choices=choices)
            )
    return positive


def notes_on_weights(trainer: Trainer, train: LabelledRows, model: Any) -> list[str]:
    """Return a note where weights make no difference: some estimators take and ignore them."""
    if train.weights is None or np.ptp(train.weights) == 0:
        return []
    unweighted = trainer.fit(train.native, train.truth)
    if np.array_equal(_finest_answers(model, train), _finest_answers(unweighted, train)):
        return [messages.WEIGHTS_IGNORED.format(model=trainer.name)]
    return []


def _finest_answers(model: Any, train: LabelledRows) -> Any:
    """Return scores where a model has them: they show a difference that the labels may not."""
    for scorer in ("predict_proba", "decision_function"):
        if hasattr(model, scorer):
            return getattr(model, scorer)(train.native)
    return Subject(model, train.space).decide(train.points)
