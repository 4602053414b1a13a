"""Unknown keywords fail with the nearest valid name, as a sentence and not as a TypeError."""

from __future__ import annotations

import inspect
from functools import wraps
from typing import TYPE_CHECKING, ParamSpec, TypeVar

from evenhand.runtime.errors import UsageError, nearest

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Sequence

P = ParamSpec("P")
R = TypeVar("R")


def checked_keywords(function: Callable[P, R]) -> Callable[P, R]:
    """Check the keywords of a public function before it is called.

    >>> @checked_keywords
    ... def measure(*, limit=None): ...
    >>> measure(limt=0.05)
    Traceback (most recent call last):
    evenhand.runtime.errors.UsageError: measure has no option 'limt'; did you mean 'limit'? Valid choices are 'limit'
    """
    names = options_of(function)
    owner = function.__qualname__.removesuffix(".__init__")

    @wraps(function)
    def call(*args: P.args, **kwargs: P.kwargs) -> R:
        refuse_unknown(owner, kwargs, names)
        return function(*args, **kwargs)

    return call


def options_of(function: Callable[..., object]) -> list[str]:
    """Return the names of a function's parameters, without those that take whatever comes."""
    loose = (inspect.Parameter.VAR_KEYWORD, inspect.Parameter.VAR_POSITIONAL)
    parameters = inspect.signature(function).parameters.values()
    return [parameter.name for parameter in parameters if parameter.name != "self" and parameter.kind not in loose]


def refuse_unknown(owner: str, given: Iterable[str], known: Sequence[str]) -> None:
    """Raise for the first keyword that is not known, naming the nearest one that is."""
    for name in given:
        if name not in known:
            raise UsageError(f"{owner} has no option {name!r}; {nearest(name, known)}")
