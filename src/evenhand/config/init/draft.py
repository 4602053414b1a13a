"""A configuration in the making: what is known so far, as the tables of a file."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any, Protocol

if TYPE_CHECKING:
    from pathlib import Path

    from evenhand.config.init.data import Data
    from evenhand.config.init.software import Named


class OutcomeDraft(Protocol):
    """What is known of the outcomes of any software, and of what they cost."""

    outcome: dict[str, Any]
    outcome_note: str
    queries: int | None


@dataclass
class Draft:
    """The tables of a configuration, with the remarks that stand beside their keys."""

    file: Path
    data: Data
    data_name: str
    """The data file as the configuration names it."""
    software: Named | None = None
    outcome: dict[str, Any] = field(default_factory=dict)
    """What outcomes mean: `positive`, or `differs`."""
    outcome_note: str = ""
    outcome_is_open: bool = False
    """Whether what is said of outcomes is only a proposal, since the software was not asked."""
    dropped: dict[str, str] = field(default_factory=dict)
    """Columns that are no inputs, each with the reason."""
    features: dict[str, dict[str, Any]] = field(default_factory=dict)
    """What is not as the data have it, by feature."""
    notes: dict[str, str] = field(default_factory=dict)
    """Why it is not, by feature."""
    checks: list[dict[str, Any]] = field(default_factory=list)
    queries: int | None = None
    """The most inputs that a check asks, where an answer is expensive."""

    def override(self, name: str, why: str, **keys: Any) -> None:
        """Declare a feature otherwise than the data have it."""
        self.features.setdefault(name, {}).update(keys)
        known = self.notes.get(name)
        if known:
            why = f"{known}; {why}"
        self.notes[name] = why

    @property
    def space(self) -> dict[str, Any]:
        """The table [space]."""
        table: dict[str, Any] = {"from": self.data_name}
        if self.data.target is not None:
            table["target"] = self.data.target
        if self.dropped:
            table["drop"] = list(self.dropped)
        table["protected"] = list(self.data.protected)
        if self.features:
            table["features"] = self.features
        return table

    @property
    def table(self) -> dict[str, Any]:
        """The whole file without its checks."""
        tables: dict[str, Any] = {"space": self.space}
        if self.data.text is not None:
            tables = {"texts": {"from": self.data_name, "column": self.data.text}}
        if self.software is not None:
            outcome = {} if self.outcome_is_open else self.outcome
            tables["subject"] = {**self.software.table, **outcome}
        return tables
