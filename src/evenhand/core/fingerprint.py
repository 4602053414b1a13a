"""Fingerprints of functions, so that an edited function is another subject and another constraint."""

from __future__ import annotations

import functools
import hashlib
from types import CodeType
from typing import Any

_PLAIN = (str, int, float, bool, bytes, type(None))


def fingerprint(function: Any) -> str:
    """Return a hash of what a function does: its code, defaults, and what it encloses; stable between processes.

    >>> fingerprint(lambda age: age > 18) == fingerprint(lambda age: age > 21)
    False
    """
    return hashlib.sha256("\x1f".join(_parts(function)).encode("utf-8", "surrogatepass")).hexdigest()[:16]


def _parts(function: Any) -> list[str]:
    if isinstance(function, functools.partial):
        return [*_parts(function.func), _value(function.args), _value(sorted(function.keywords.items()))]
    code = getattr(function, "__code__", None)
    if code is None:
        return [type(function).__qualname__, _state(function)]
    parts = [_code(code), _value(function.__defaults__), _value(function.__kwdefaults__)]
    parts += [_value(cell.cell_contents) for cell in getattr(function, "__closure__", None) or ()]
    owner = getattr(function, "__self__", None)
    return parts if owner is None else [*parts, _state(owner)]


def _code(code: CodeType) -> str:
    return f"{code.co_code.hex()}{code.co_names}{_value(code.co_consts)}"


def _value(value: Any) -> str:
    if isinstance(value, _PLAIN):
        return f"{type(value).__name__}:{value!r}"
    if isinstance(value, CodeType):
        return _code(value)
    if isinstance(value, tuple | list):
        return f"[{','.join(map(_value, value))}]"
    if isinstance(value, set | frozenset):  # their order changes from process to process
        return f"{{{','.join(sorted(map(_value, value)))}}}"
    if isinstance(value, dict):
        return f"{{{','.join(f'{_value(key)}:{_value(item)}' for key, item in value.items())}}}"
    return ";".join(_parts(value)) if callable(value) and hasattr(value, "__code__") else _state(value)


def _state(value: Any) -> str:
    import joblib

    try:
        return str(joblib.hash(value))
    except Exception:
        # What cannot be pickled (an open file, a lock, a lambda inside) is told apart by its type alone.
        return type(value).__qualname__
