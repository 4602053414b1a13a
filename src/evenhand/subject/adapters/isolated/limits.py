"""What `isolate` says: whether software runs in a process of its own, and what it may use there."""

from __future__ import annotations

import re
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from evenhand.runtime.errors import UsageError, clip, nearest

KEYS = ("memory", "timeout")
_UNITS = {"B": 1, "KB": 10**3, "MB": 10**6, "GB": 10**9, "TB": 10**12}
_AMOUNT = re.compile(r"(\d+(?:\.\d+)?)\s*([KMGT]?B)", re.IGNORECASE)


@dataclass(frozen=True, slots=True)
class Isolation:
    """The limits of a process of its own; None is no limit."""

    memory: int | None = None
    """Bytes that it may hold."""
    timeout: float | None = None
    """Seconds that it may take over one batch of inputs."""

    @classmethod
    def of(cls, given: Any) -> Isolation | None:
        """Return what the option says; None where software runs in our own process.

        >>> Isolation.of({"memory": "2 GB", "timeout": 30})
        Isolation(memory=2000000000, timeout=30.0)
        >>> Isolation.of(False)
        """
        if given is None or given is False:
            return None
        if given is True:
            return cls()
        if not isinstance(given, Mapping):
            raise UsageError(
                f"isolate = {clip(repr(given))} must be true, false, or limits such as"
                ' {"memory": "2 GB", "timeout": 30}'
            )
        for key in given:
            if key not in KEYS:
                raise UsageError(f"isolate has no limit {key!r}; {nearest(key, KEYS)}")
        return cls(_memory(given.get("memory")), _timeout(given.get("timeout")))


def _memory(given: Any) -> int | None:
    if given is None:
        return None
    if isinstance(given, int) and not isinstance(given, bool) and given > 0:
        return given
    found = _AMOUNT.fullmatch(given.strip()) if isinstance(given, str) else None
    if found is None or not float(found.group(1)):
        raise UsageError(
            f"isolate: memory = {clip(repr(given))} must be an amount such as '2 GB', or a number"
            " of bytes"
        )
    amount, unit = found.groups()
    return int(float(amount) * _UNITS[unit.upper()])


def _timeout(given: Any) -> float | None:
    if given is None:
        return None
    if isinstance(given, bool) or not isinstance(given, int | float) or not given > 0:
        raise UsageError(
            f"isolate: timeout = {clip(repr(given))} must be a number of seconds over 0"
        )
    return float(given)
