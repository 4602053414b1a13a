"""How to ask the software under test: points in its native form, its answers as outcomes.

An adapter is one file with one class (see `evenhand.subject.adapters.base.Adapter`) and one line
here. Another package brings one by an entry point of the group `evenhand.adapters`, and a program
by `ADAPTERS.register(name, cls)`.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from evenhand.runtime.errors import clip
from evenhand.runtime.registry import Registry

if TYPE_CHECKING:
    from evenhand.subject.adapters.base import Adapter


def _problem(_name: str, entry: Any) -> str:
    """Return what is wrong with an adapter of somebody else."""
    from evenhand.subject.adapters.base import Adapter

    if isinstance(entry, type) and issubclass(entry, Adapter):
        return ""
    return (
        f"is {clip(repr(entry))}; it must be a class derived from"
        " evenhand.subject.adapters.base.Adapter"
    )


# In the order in which adapters are asked whether a bare model is theirs: a torch module may have
# `predict`, and an estimator may be callable.
ADAPTERS: Registry[type[Adapter]] = Registry(
    "adapter",
    "evenhand.adapters",
    {
        "torch": "evenhand.subject.adapters.torch:TorchAdapter",
        "estimator": "evenhand.subject.adapters.estimator:EstimatorAdapter",
        "function": "evenhand.subject.adapters.function:FunctionAdapter",
        "command": "evenhand.subject.adapters.command:CommandAdapter",
        "stream": "evenhand.subject.adapters.stream:StreamAdapter",
        "http": "evenhand.subject.adapters.http.adapter:HttpAdapter",
        "onnx": "evenhand.subject.adapters.onnx:OnnxAdapter",
        "xgboost": "evenhand.subject.adapters.boosters.xgboost:XgboostAdapter",
        "lightgbm": "evenhand.subject.adapters.boosters.lightgbm:LightgbmAdapter",
        "catboost": "evenhand.subject.adapters.boosters.catboost:CatboostAdapter",
    },
    problem=_problem,
)
"""The kinds of software that can be tested, by the key that names each under [subject]."""
