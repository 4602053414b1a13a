"""Fingerprints of functions and files, so that what was edited, or uses another model, is another
subject.
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
    """Return a hash of what a function does: its code, its defaults, what it encloses and the
    globals it names.

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
        if isinstance(function, functools.partial):
            keywords = sorted(function.keywords.items())
            return [*self.parts(function.func), self.value(function.args), self.value(keywords)]
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
        parts += [
            self.value(cell.cell_contents) for cell in getattr(function, "__closure__", None) or ()
        ]
        known = getattr(function, "__globals__", {})
        parts += [f"{name}={self.value(known[name])}" for name in _names(code) if name in known]
        owner = getattr(function, "__self__", None)
        return parts if owner is None else [*parts, _state(owner)]

    def code(self, code: CodeType) -> str:
        return f"{code.co_code.hex()}{code.co_names}{self.value(code.co_consts)}"

    def value(self, value: Any) -> str:
        if isinstance(value, _PLAIN):
            return f"{type(value).__name__}:{value!r}"
        if isinstance(value, CodeType):
            return self.code(value)
        if isinstance(value, tuple | list):
            return f"[{','.join(map(self.value, value))}]"
        if isinstance(value, set | frozenset):  # their order changes from process to process
            return f"{{{','.join(sorted(map(self.value, value)))}}}"
        if isinstance(value, dict):
            return f"{{{','.join(f'{self.value(key)}:{self.value(item)}' for key, item in value.items())}}}"
        if isinstance(value, ModuleType | type):
            return f"{getattr(value, '__module__', '')}:{value.__name__}"
        if isinstance(value, FunctionType | functools.partial) or hasattr(value, "__func__"):
            return ";".join(self.parts(value))
        return _state(value)


def _names(code: CodeType) -> list[str]:
    """Return the names that a function and the functions inside it use, in a fixed order."""
    inner = [
        name for const in code.co_consts if isinstance(const, CodeType) for name in _names(const)
    ]
    return sorted({*code.co_names, *inner})


def _state(value: Any) -> str:
    import joblib

    try:
        return str(joblib.hash(value))
    except Exception:
        # What cannot be pickled (an open file, a lock, a lambda inside) is told apart by its type
        # alone.
        return type(value).__qualname__
