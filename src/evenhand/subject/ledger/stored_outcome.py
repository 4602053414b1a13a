"""Outcomes as SQLite keeps them exactly, and back."""

from __future__ import annotations

import json
import math
from typing import TYPE_CHECKING

from evenhand.runtime.errors import BadOutcome, clip
from evenhand.space.feature import plain

if TYPE_CHECKING:
    from evenhand.runtime.values import Scalar
    from evenhand.subject.adapters.base import Reply

Stored = str | int | float | bytes
"""What SQLite has types for."""

_TRUE, _FALSE = b"true", b"false"


def stored(outcome: object) -> Stored:
    """Return an outcome as SQLite keeps it exactly.

    What SQLite has no type for becomes JSON in a blob.

    >>> stored(True), stored("yes"), stored(("yes", 3))
    (b'true', 'yes', b'["yes", 3]')
    """
    if type(outcome) is str and outcome.isascii():
        return outcome
    if outcome is True or outcome is False:
        return _TRUE if outcome else _FALSE
    if isinstance(outcome, tuple):
        return json.dumps([_checked(value) for value in outcome]).encode()
    value = _checked(outcome)
    if isinstance(value, bool):
        return _TRUE if value else _FALSE
    if isinstance(value, int):
        return value if -(2**63) <= value < 2**63 else json.dumps(value).encode()
    if isinstance(value, float):
        return json.dumps(value).encode() if math.isnan(value) else value
    try:
        value.encode()
    except UnicodeEncodeError:
        return json.dumps(value).encode()
    return value


def restored(value: Stored) -> Reply:
    """Return the outcome that was kept.

    >>> restored(b"true"), restored("yes"), restored(b'["yes", 3]')
    (True, 'yes', ('yes', 3))
    """
    if not isinstance(value, bytes):
        return value
    if value == _TRUE:
        return True
    if value == _FALSE:
        return False
    reply = json.loads(value)
    return tuple(reply) if isinstance(reply, list) else reply


def _checked(outcome: object) -> Scalar:
    value = plain(outcome)
    if isinstance(value, str | int | float):
        return value
    raise BadOutcome(
        f"{clip(repr(outcome), 40)} is a {type(outcome).__name__}: an outcome is a str, int, float"
        " or bool"
    )
