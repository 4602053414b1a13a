"""A fitted scikit-learn estimator or pipeline, asked in the form it was trained on."""

from __future__ import annotations

import os
from pathlib import Path
from typing import TYPE_CHECKING, Any, ClassVar

import numpy as np

from evenhand.runtime.errors import UsageError, clip
from evenhand.runtime.options import FILE, FLAG, LIST, Option, Options, refuse_unknown
from evenhand.runtime.values import as_outcomes
from evenhand.runtime.workers import threads_for
from evenhand.subject.adapters.base import (
    Adapter,
    check_output,
    check_threshold,
    crashes_reported,
    is_fitted,
    is_torch_module,
    scored_class,
    tried_missing,
)
from evenhand.subject.adapters.model_file import ModelFile
from evenhand.subject.forms import form_of
from evenhand.subject.options import IDENTITY, OUTPUT, THRESHOLD
from evenhand.subject.outputs import records_of, refuse_masked

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

    from numpy.typing import NDArray

    from evenhand.space.feature import Feature, Points
    from evenhand.space.space import Space
    from evenhand.subject.adapters.base import Output
    from evenhand.subject.model_form import ModelForm


_OF_BOOSTERS = ("xgboost.core", "lightgbm.basic")


class EstimatorAdapter(Adapter):
    """Calls `predict`, or `predict_proba` where a threshold or the score itself is asked for."""

    kind = "estimator"
    value = Option(
        "estimator", FILE, "a file with a fitted scikit-learn estimator or pipeline"
    )
    options = Options.of(
        THRESHOLD,
        OUTPUT,
        Option(
            "trusted",
            LIST,
            "types that a skops file may hold beyond those that are known to be harmless",
        ),
        Option(
            "allow_pickle",
            FLAG,
            "load a pickle or joblib file, which runs any code that its author put into it",
        ),
        IDENTITY,
        given=["positive"],
    )
    takes_texts = True
    suffixes: ClassVar[tuple[str, ...]] = (".skops", ".joblib", ".pkl", ".pickle")

    def __init__(
        self,
        model: Any,
        *,
        positive: Any = None,
        threshold: float | None = None,
        output: Output = "label",
        identity: str | None = None,
    ) -> None:
        check_output(output)
        check_threshold(threshold)
        self.model = model
        self.threshold = threshold
        self.output = output
        self.positive = scored_class(positive) if self._scored else None
        self._identity = identity
        self._form: ModelForm | None = None
        self._threads_from: float | None = None
        if not is_fitted(model):
            raise UsageError(f"{self.name} is not fitted; call fit before testing it")
        if self._scored:
            self._need_scores()

    @classmethod
    def accepts(cls, model: Any) -> bool:
        """Return whether a model predicts, fitted or not: one that is not is refused by name.

        What a bare booster predicts are no labels, so it has an adapter of its own.
        """
        kind = type(model)
        is_booster = kind.__name__ == "Booster" and kind.__module__ in _OF_BOOSTERS
        return hasattr(model, "predict") and not isinstance(model, type) and not is_booster

    @classmethod
    def of(
        cls,
        value: Any,
        /,
        *,
        positive: Any = None,
        trusted: Sequence[str] | None = None,
        allow_pickle: bool = False,
        identity: str | None = None,
        **options: Any,
    ) -> Adapter:
        """Build the adapter of a model, or of what a file holds."""
        model, file = cls.loaded(value, trusted=trusted, allow_pickle=allow_pickle)
        if not identity and file is not None:
            identity = file.identity
        known = {"positive": positive, "identity": identity}
        adapter: Adapter
        if file is not None and is_torch_module(model):
            from evenhand.subject.adapters.torch import TorchAdapter

            adapter = TorchAdapter.of(model, **known, **options)
        else:
            refuse_unknown(f"adapter {cls.kind!r}", options, cls.options.python)
            adapter = cls(model, **known, **options)
        adapter.file = file
        return adapter

    @staticmethod
    def loaded(
        value: Any, *, trusted: Sequence[str] | None = None, allow_pickle: bool = False
    ) -> tuple[Any, ModelFile | None]:
        """Return the model of a file, and that file; any other object as it is."""
        if not isinstance(value, str | os.PathLike):
            return value, None
        from evenhand.subject.adapters.saved import load_model

        model = load_model(value, trusted=trusted, allow_pickle=allow_pickle)
        return model, ModelFile.of(Path(value))

    @property
    def _scored(self) -> bool:
        return self.threshold is not None or self.output == "score"

    @property
    def identity(self) -> str:
        """The hash of the model's pickled form, and how its answers are made."""
        import joblib

        scoring = ""
        if self._scored:
            positive, _ = self._pair()
            scoring = f"{positive!r}:{self.threshold}"
        if self._identity is not None:
            return f"{self._identity}:{self.output}:{scoring}"
        try:
            digest = joblib.hash(self.model)
        except Exception as error:
            raise UsageError(
                f"{self.name} cannot be pickled ({clip(str(error))}), so a ledger cannot tell it"
                " from another model; name it with identity=…, or test it without a ledger"
            ) from None
        return f"estimator:{self.name}:{digest}:{self.output}:{scoring}"

    @property
    def name(self) -> str:
        """The model's class, for messages."""
        return type(self.model).__name__

    def form(self) -> ModelForm:
        """Return what the model says of its inputs."""
        if self._form is None:
            self._form = form_of(self.model)
        return self._form

    def check(self, space: Space) -> None:
        """Refuse features that the model was not trained on, and outputs that it does not have."""
        if self.outputs and self._scored:
            raise UsageError(
                "outputs are labels or numbers; leave out threshold and output='score', or outputs"
            )
        found = getattr(self.model, "classes_", None)
        if isinstance(found, list) and len(found) != len(self.outputs):
            raise UsageError(
                f"{self.name} gives {len(found)} outputs for each input; name as many, in order,"
                " with outputs=[…]"
            )
        point = space.draw(1, np.random.default_rng(0))
        self._native(point, space)

    def refuses_missing(self, space: Space) -> tuple[str, ...]:
        """Try what the model does not take: a pipeline may fill some gaps and refuse others."""
        return tried_missing(self, space)

    @property
    def classes(self) -> list[Any] | None:
        """The labels the model can give, where it says so; of several outputs, a list for each."""
        found = getattr(self.model, "classes_", None)
        if isinstance(found, list):
            if not self.outputs:
                return None
            return [np.asarray(labels).tolist() for labels in found]
        # A regressor of CatBoost has an empty list of them.
        if found is None or not len(found) or len(self.outputs) > 1:
            return None
        labels = np.asarray(found).tolist()
        if self.outputs:
            return [labels]
        return list(labels)

    @property
    def numbers(self) -> bool:
        """Whether the model is a regressor, whose outcomes are numbers on a scale."""
        from sklearn.base import is_regressor

        try:
            return bool(is_regressor(self.model))
        except (AttributeError, TypeError):  # of models that are not of scikit-learn
            return False

    @property
    def own_threads_from(self) -> float:  # type: ignore[override]
        """From how many inputs at once the model uses threads of its own."""
        if self._threads_from is None:
            from evenhand.subject.forms.own_threads import own_threads_from

            self._threads_from = own_threads_from(self.model)
        return self._threads_from

    def unread(self, space: Space) -> frozenset[str]:
        """Return the features that no split and no coefficient of the model is about."""
        from evenhand.subject.forms.read_columns import columns_read

        read = columns_read(self.model)
        names = self.form().taken(space, self.name)
        if names is None:
            names = [space.features[column].name for column in space.passed]
        if read is None or len(read) != len(names):
            return frozenset()
        return frozenset(
            name for name, is_read in zip(names, read, strict=True) if not is_read
        )

    def run(
        self, points: Points, space: Space
    ) -> Iterator[tuple[NDArray[np.intp], NDArray[np.generic]]]:
        """Answer all points in one call."""
        inputs = self._native(points, space)
        with crashes_reported(self.name, len(points)), threads_for(len(points)):
            outcomes = self._ask(inputs)
        if self.outputs:
            outcomes = records_of(outcomes, self.outputs, len(points), self.name)
        yield np.arange(len(points)), outcomes

    @property
    def scorers(self) -> tuple[str, ...]:
        """The methods that may give margins between two labels, the likeliest first."""
        if self.output == "score" or self.outputs or len(self._classes()) != 2:
            return ()
        methods = ["predict_proba"]
        if self.threshold is None:
            methods.append("decision_function")
        return tuple(method for method in methods if hasattr(self.model, method))

    def margins(
        self, points: Points, space: Space, scorer: str
    ) -> tuple[NDArray[np.generic], NDArray[np.float64]]:
        """Return each point's label and its margin from one call of a scorer.

        The margin is what the score of the positive class, or of the last one, is above the
        threshold.
        """
        inputs = self._native(points, space)
        with crashes_reported(self.name, len(points)), threads_for(len(points)):
            if self.threshold is not None:
                margins = self._scores(inputs) - self.threshold
                return self._labels(margins >= 0), margins
            scores = np.asarray(getattr(self.model, scorer)(inputs), dtype=np.float64)
            margins = scores
            if scores.ndim == 2:
                # Models take the larger of two probabilities, which after rounding need not be the
                # one above a half.
                margins = (scores[:, 1] - scores[:, 0]) / 2
            codes = (margins > 0).astype(np.intp)
            return np.asarray(self.model.classes_)[codes], margins

    def _ask(self, inputs: Any) -> NDArray[np.generic]:
        if self.output == "label" and self.threshold is None:
            predicted = self.model.predict(inputs)
            refuse_masked(predicted, self.name)
            labels = np.asarray(predicted)
            # CatBoost gives several classes as one column.
            is_column = labels.ndim == 2 and labels.shape[1] == 1
            if is_column and not self.outputs:
                return labels[:, 0]
            return labels
        scores = self._scores(inputs)
        if self.output == "score":
            return scores
        return self._labels(scores >= (self.threshold or 0.0))

    def _labels(self, above: NDArray[np.bool_]) -> NDArray[np.generic]:
        """Return the positive label where a score is above the threshold, else the other one."""
        positive, other = self._pair()
        labels = np.where(above, as_outcomes([positive]), as_outcomes([other]))
        return np.asarray(labels)

    def _scores(self, inputs: Any) -> NDArray[np.float64]:
        """Return the score of the positive label for each input."""
        positive, _ = self._pair()
        column = self._classes().index(positive)
        if hasattr(self.model, "predict_proba"):
            probabilities = self.model.predict_proba(inputs)
            return np.asarray(probabilities[:, column], dtype=np.float64)
        # A decision function is positive for the last of two classes.
        scores = np.asarray(self.model.decision_function(inputs), dtype=np.float64)
        if column == 1:
            return scores
        return -scores

    def _classes(self) -> list[Any]:
        return self.classes or []

    def _pair(self) -> tuple[Any, Any]:
        """Return the positive label and, of two, the other one."""
        labels = self._classes()
        if self.positive is None:
            return labels[-1], labels[0]
        others = [label for label in labels if label != self.positive]
        return self.positive, others[0]

    def _need_scores(self) -> None:
        """Refuse a model that has no scores, or more or fewer than two classes."""
        has_scores = hasattr(self.model, "predict_proba")
        if self.output == "score":
            has_scores = has_scores or hasattr(self.model, "decision_function")
        if not has_scores:
            raise UsageError(
                f"{self.name} has no predict_proba, which a threshold or output='score' needs"
            )
        labels = self._classes()
        if len(labels) != 2:
            raise UsageError(
                f"{self.name} has {len(labels)} classes; a threshold or output='score' needs two"
            )

    def _native(self, points: Points, space: Space) -> Any:
        """Return points in the form that the model was trained on."""
        names = self.form().taken(space, self.name)
        if names is not None:
            positions = [space.index(name) for name in names]
            return space.layout.build(space.features, positions, points)
        taken = getattr(self.model, "n_features_in_", len(space.passed))
        if taken != len(space.passed):
            raise UsageError(
                f"{self.name} was trained with {taken} columns, and the space passes"
                f" {len(space.passed)}; declare the same columns in the same order"
            )
        all_passed = points.shape[1] == len(space.passed)
        if all_passed and all(_is_number(feature) for feature in space.features):
            return points.copy(order="K")  # since some models work in place
        frame = space.native(points)
        if hasattr(frame, "to_numpy"):
            return frame.to_numpy()
        return np.column_stack(frame.columns)


def _is_number(feature: Feature) -> bool:
    """Return whether the codes of a feature are its values."""
    return feature.kind in ("integer", "real") and not feature.missing
