"""Which configuration is run for a result: one that a person chose, never one that a file names."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING

from evenhand.config.file import Config, default_file
from evenhand.runtime.errors import ConfigError, UsageError, clip

if TYPE_CHECKING:
    from evenhand.methods.audit.audit_result import Audit


def config_for(
    held: Audit, file: str, chosen: str | None, *, trust: bool, command: str
) -> Config:
    """Return the configuration for a result that a file holds.

    It is the one that the person chose, or else that of the current folder. Another one that the
    result names would run whatever it says, so that this takes trust.
    """
    named = held.home
    if chosen is not None or named is None or _is_default(named):
        return Config.load(chosen)
    if trust:
        return Config.load(named)
    shown = clip(repr(named))
    raise UsageError(
        f"{file}: names the configuration {shown}, which runs the software in it; if the result is"
        f" your own, name it yourself (evenhand {command} {file} CONFIG) or add --trust"
    )


def _is_default(named: str) -> bool:
    """Return whether a file is the configuration that is used in the current folder anyway."""
    try:
        return Path(named).resolve() == default_file().resolve()
    except (ConfigError, OSError):
        return False
