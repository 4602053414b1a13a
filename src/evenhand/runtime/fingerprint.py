"""Fingerprints of functions and files.

What was edited, or uses another model, is another subject.
"""

from __future__ import annotations

import functools
import hashlib
from types import CodeType, FunctionType, ModuleType
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from pathlib import Path

_PLAIN = (str, int, float, bool, bytes, type(None))


def fingerprint(function: Any) -> str:
    """Return a hash of what a function does.

    It covers its code, its defaults, the values that it encloses and the globals that it names.

    It is stable between processes. What the function reads from elsewhere (a file, a service, the
    attributes of a module) is not part of it.

    >>> fingerprint(lambda age: age > 18) == fingerprint(lambda age: age > 21)
    False
    """
    text = "\x1f".join(_Reader().parts(function))
    return hashlib.sha256(text.encode("utf-8", "surrogatepass")).hexdigest()[:16]


def file_digest(path: Path) -> str:
    """Return the sha256 of a file's content; OSError where it cannot be read."""
    with path.open("rb") as file:
        return hashlib.file_digest(file, "sha256").hexdigest()


class _Reader:
    """Writes values down, each function once: functions may call each other in a circle."""

    def __init__(self) -> None:
        self._seen: set[int] = set()

    def parts(self, function: Any) -> list[str]:
        """Return what a function consists of, as texts."""
        if isinstance(function, functools.partial):
            keywords = sorted(function.keywords.items())
            parts = self.parts(function.func)
            return [*parts, self.value(function.args), self.value(keywords)]
        code = getattr(function, "__code__", None)
        if code is None:
            return [type(function).__qualname__, _state(function)]
        if id(code) in self._seen:
            return [code.co_qualname]
        self._seen.add(id(code))
        parts = [
            self.code(code),
            self.value(function.__defaults__),
            self.value(function.__kwdefaults__),
        ]
        closure = getattr(function, "__closure__", None) or ()
        for cell in closure:
            parts.append(self.value(cell.cell_contents))
        known = getattr(function, "__globals__", {})
        for name in _names(code):
            if name in known:
                parts.append(f"{name}={self.value(known[name])}")
        owner = getattr(function, "__self__", None)
        if owner is not None:
            parts.append(_state(owner))
        return parts

    def code(self, code: CodeType) -> str:
        """Return compiled code as text."""
        constants = self.value(code.co_consts)
        return f"{code.co_code.hex()}{code.co_names}{constants}"

    def value(self, value: Any) -> str:
        """Return a value as text that is the same in every process."""
        if isinstance(value, _PLAIN):
            return f"{type(value).__name__}:{value!r}"
        if isinstance(value, CodeType):
            return self.code(value)
        if isinstance(value, tuple | list | set | frozenset | dict):
            return self._container(value)
        if isinstance(value, ModuleType | type):
            module = getattr(value, "__module__", "")
            return f"{module}:{value.__name__}"
        is_method = hasattr(value, "__func__")
        if is_method or isinstance(value, FunctionType | functools.partial):
            return ";".join(self.parts(value))
        return _state(value)

    def _container(self, container: Any) -> str:
        if isinstance(container, dict):
            entries = []
            for key, value in container.items():
                entries.append(f"{self.value(key)}:{self.value(value)}")
            return "{" + ",".join(entries) + "}"
        texts = [self.value(value) for value in container]
        if isinstance(container, set | frozenset):
            # Their order changes from process to process.
            return "{" + ",".join(sorted(texts)) + "}"
        return "[" + ",".join(texts) + "]"


def _names(code: CodeType) -> list[str]:
    """Return the names that a function and the functions inside it use, in a fixed order."""
    names = set(code.co_names)
    for constant in code.co_consts:
        if isinstance(constant, CodeType):
            names.update(_names(constant))
    return sorted(names)


def _state(value: Any) -> str:
    import joblib

    try:
        return str(joblib.hash(value))
    except Exception:
        # What cannot be pickled (an open file, a lock, a lambda inside) is told apart by its type
        # alone.
        return type(value).__qualname__
