"""Choose the adapter for what the user gave, and read the outcomes that the user names."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from evenhand.core.adapters.base import parse_outcome
from evenhand.core.adapters.estimator import EstimatorAdapter
from evenhand.core.adapters.function import FunctionAdapter
from evenhand.core.errors import UsageError, clip

if TYPE_CHECKING:
    from collections.abc import Mapping

    from evenhand.core.adapters.base import Adapter, Output


def adapt(model: Any, *, positive: Any, threshold: float | None, output: Output, identity: str | None) -> Adapter:
    """Return the adapter of a fitted estimator or of a function."""
    if isinstance(model, type):
        raise UsageError(f"{model.__name__} is a class; pass a fitted instance of it, or a function")
    if hasattr(model, "predict"):
        return EstimatorAdapter(model, positive=positive, threshold=threshold, output=output, identity=identity)
    if not callable(model):
        raise UsageError(
            f"{clip(repr(model))} is neither a fitted estimator nor a function; for a program, a service or a file "
            f"use Subject.command, stream, http, onnx or saved"
        )
    if threshold is not None or output != "label":
        raise UsageError("threshold and output are for estimators; let the function return what you want to test")
    return FunctionAdapter(model, identity=identity)


def as_printed(options: Mapping[str, Any]) -> dict[str, Any]:
    """Read outcomes that the user names as a program's own output is read, so that "1" and 1 are the same.

    >>> as_printed({"positive": "1"})
    {'positive': 1}
    """
    read = dict(options)
    if isinstance(read.get("positive"), str):
        read["positive"] = parse_outcome(read["positive"])
    if read.get("labels") is not None and not isinstance(read["labels"], str):
        read["labels"] = [parse_outcome(label) if isinstance(label, str) else label for label in read["labels"]]
    return read
