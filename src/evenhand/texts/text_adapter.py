"""Adapters of software that takes texts: fitted estimators, functions, and those of users."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from evenhand.runtime.errors import UsageError, clip, nearest
from evenhand.subject.adapters.base import Adapter, is_torch_module
from evenhand.subject.adapters.estimator import EstimatorAdapter
from evenhand.subject.adapters.resolve import adapt

if TYPE_CHECKING:
    from evenhand.subject.adapters.base import Output

OUTPUTS = ("label", "score")


class TextEstimator(EstimatorAdapter):
    """Asks a fitted estimator whose inputs are texts, or what its first steps have made of them."""

    def after(self, model: Any) -> TextEstimator:
        """Return the adapter of the later steps of a pipeline, whose answers mean the same."""
        return TextEstimator(
            model, positive=self.positive, threshold=self.threshold, output=self.output
        )

    def _native(self, _points: Any, space: Any) -> Any:
        return space.native(_points)


def text_adapter(
    model: Any,
    *,
    positive: Any,
    threshold: float | None,
    output: Output,
    identity: str | None,
) -> Adapter:
    """Return the adapter of an estimator or of a function; refuse a model that is neither."""
    if isinstance(model, Adapter):
        return _of_texts(
            adapt(model, threshold=threshold, output=output, identity=identity)
        )
    if is_torch_module(model):
        raise UsageError(
            f"{type(model).__name__} is a torch module, which takes no texts; give a function that"
            " takes a list of texts and returns one outcome each"
        )
    if output not in OUTPUTS:
        raise UsageError(
            f"output = {clip(repr(output))} is unknown; {nearest(output, OUTPUTS)}"
        )
    if (
        not isinstance(model, type)
        and not hasattr(model, "predict")
        and not callable(model)
    ):
        raise UsageError(
            f"{clip(repr(model))} is neither a function of a list of texts nor a fitted estimator"
            " that takes texts"
        )
    if isinstance(model, type) or not hasattr(model, "predict"):
        if output == "score" and threshold is None:
            output = "label"  # a function returns what is to be tested, scores too
        return adapt(
            model, positive=positive, threshold=threshold, output=output, identity=identity
        )
    taken = getattr(model, "n_features_in_", None)
    if taken is not None:
        raise UsageError(
            f"{type(model).__name__} was trained with {taken} columns of numbers and not with"
            " texts; give a pipeline that begins with its vectoriser, or a function that takes a"
            " list of texts"
        )
    if isinstance(getattr(model, "classes_", None), list):
        raise UsageError(
            f"{type(model).__name__} gives several outputs for each text; give a function that"
            " returns one of them"
        )
    return TextEstimator(
        model, positive=positive, threshold=threshold, output=output, identity=identity
    )


def _of_texts(adapter: Adapter) -> Adapter:
    """Return an adapter that is asked about texts; refuse one that does not take texts."""
    if not adapter.takes_texts:
        raise UsageError(
            f"{clip(adapter.name, 60)} takes no texts; give an adapter with takes_texts = True, or"
            " a function that takes a list of texts"
        )
    if not isinstance(adapter, EstimatorAdapter):
        return adapter
    made = text_adapter(
        adapter.model,
        positive=adapter.positive,
        threshold=adapter.threshold,
        output=adapter.output,
        identity=adapter._identity,
    )
    made.file = adapter.file
    return made
