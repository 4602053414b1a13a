"""A table of groups that a verb makes, in a form that any document can show."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Sequence


@dataclass(frozen=True, slots=True)
class GroupTable:
    """Groups and their rates as texts, what is left out of them, and what the words mean."""

    over: tuple[str, ...]
    definition: str
    headings: Sequence[str]
    rows: Sequence[Sequence[str]]
    remarks: Sequence[str] = ()
    left_out: int = 0
    """How many groups there was no room for."""
    numbers: range = range(0)
    """The columns that hold numbers."""
