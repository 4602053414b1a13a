"""How an adapter is built from what a configuration says, here or in a process of its own."""

from __future__ import annotations

import os
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from evenhand.runtime.errors import UsageError, clip
from evenhand.runtime.options import FILE
from evenhand.subject.adapters import ADAPTERS

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping

    from evenhand.subject.adapters.base import Adapter


@dataclass(frozen=True, slots=True)
class Later:
    """A value that is made where the software runs, such as an object that is imported there."""

    title: str
    make: Callable[[], Any]


@dataclass(frozen=True, slots=True)
class _Recipe:
    """Builds an adapter from the value of a configuration."""

    adapter: type[Adapter]
    value: Any
    positive: Any
    options: Mapping[str, Any]

    def __call__(self) -> Adapter:
        return self.adapter.of(made(self.value), positive=self.positive, **self.options)


def made(value: Any) -> Any:
    """Return a value, or what is made of it where the software runs."""
    return value.make() if isinstance(value, Later) else value


def build(
    kind: str,
    value: Any,
    options: Mapping[str, Any],
    *,
    positive: Any = None,
    isolate: Any = None,
) -> Adapter:
    """Return the adapter of software of some kind, as `isolate` says.

    A model file is code that somebody else may have written, so that it is loaded and asked in a
    process of its own unless `isolate` is False.
    """
    adapter = ADAPTERS[kind]
    recipe = _Recipe(adapter, value, positive, options)
    if isolate is None:
        isolate = is_model_file(adapter, value)
    if isolate is False:
        return recipe()
    if adapter.own_process:
        raise elsewhere(kind)
    from evenhand.subject.adapters.isolated.adapter import IsolatedAdapter
    from evenhand.subject.adapters.isolated.limits import Isolation

    limits = Isolation.of(isolate) or Isolation()
    return IsolatedAdapter(recipe, title_of(value), limits)


def is_model_file(adapter: type[Adapter], value: Any) -> bool:
    """Return whether software is a file that is loaded into the process that asks it."""
    if adapter.value is None or adapter.own_process:
        return False
    return adapter.value.kind is FILE and isinstance(value, str | os.PathLike)


def elsewhere(kind: str) -> UsageError:
    """Return the error for software that needs no process of ours."""
    return UsageError(
        f"isolate is for software that runs in this process; a {kind} runs elsewhere already, so"
        " leave isolate out"
    )


def title_of(value: Any) -> str:
    """Return software in a few words, before it is loaded."""
    if isinstance(value, Later):
        return value.title
    if isinstance(value, str | os.PathLike):
        return f"the model '{os.fspath(value)}'"
    name = getattr(value, "__qualname__", type(value).__name__)
    return clip(str(name), 60)
