"""Choose the adapter for what the user gave, and read the outcomes that the user names."""

from __future__ import annotations

import sys
from collections.abc import Iterable, Mapping
from typing import TYPE_CHECKING, Any

from evenhand.runtime.errors import UsageError, clip
from evenhand.subject.adapters.base import parse_outcome
from evenhand.subject.adapters.estimator import EstimatorAdapter
from evenhand.subject.adapters.function import FunctionAdapter
from evenhand.subject.adapters.torch import TorchAdapter

if TYPE_CHECKING:
    from evenhand.subject.adapters.base import Adapter, Output


def adapt(model: Any, *, positive: Any, threshold: float | None, output: Output, identity: str | None) -> Adapter:
    """Return the adapter of a fitted estimator, of a torch module or of a function."""
    if isinstance(model, type):
        raise UsageError(f"{model.__name__} is a class; pass a fitted instance of it, or a function")
    kind = TorchAdapter if is_torch_module(model) else EstimatorAdapter
    if kind is TorchAdapter or hasattr(model, "predict"):
        scored = scored_class(positive) if threshold is not None or output == "score" else None
        return kind(model, positive=scored, threshold=threshold, output=output, identity=identity)
    if not callable(model):
        raise UsageError(
            f"{clip(repr(model))} is neither a fitted estimator nor a function; for a program, a service or a file "
            f"use Subject.command, stream, http, onnx or saved"
        )
    if threshold is not None or output != "label":
        raise UsageError("threshold and output are for estimators; let the function return what you want to test")
    return FunctionAdapter(model, identity=identity)


def is_torch_module(model: Any) -> bool:
    """Tell whether a model is a torch module, without importing torch: whoever has made one has.

    >>> is_torch_module(len)
    False
    """
    torch = sys.modules.get("torch")
    return torch is not None and isinstance(model, torch.nn.Module)


def scored_class(positive: Any) -> Any:
    """Return the class that is scored; a function tells favourable scores and leaves the class to the model."""
    if isinstance(positive, list | tuple | set | frozenset):
        raise UsageError(f"positive = {clip(repr(positive))} must be one class where its score is asked for")
    return None if callable(positive) or isinstance(positive, Mapping) else positive


def as_printed(options: Mapping[str, Any]) -> dict[str, Any]:
    """Read outcomes that the user names as a program's own output is read, so that "1" and 1 are the same.

    With several outputs a program prints JSON, which says itself what is text.

    >>> as_printed({"positive": "1"}), as_printed({"positive": ["1", "2"]})
    ({'positive': 1}, {'positive': [1, 2]})
    """
    if options.get("outputs") is not None:
        return dict(options)
    return {name: _read(value) if name in ("positive", "labels") else value for name, value in options.items()}


def _read(value: Any) -> Any:
    if isinstance(value, str):
        return parse_outcome(value)
    return value if isinstance(value, Mapping) or not isinstance(value, Iterable) else [_read(item) for item in value]
