"""Model files of the libraries of boosted trees, which hold plain numbers and need no pickle."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from collections.abc import Callable
    from pathlib import Path

SUFFIXES = (".json", ".ubj", ".txt", ".cbm")
"""What such files are called."""


def loader_of(suffix: str) -> Callable[[Path], Any] | None:
    """Return what loads a file with this suffix, None where no library of boosted trees does."""
    if suffix in (".json", ".ubj"):
        from evenhand.subject.adapters.boosters.xgboost import load_xgboost

        return load_xgboost
    if suffix == ".txt":
        from evenhand.subject.adapters.boosters.lightgbm import load_lightgbm

        return load_lightgbm
    if suffix == ".cbm":
        from evenhand.subject.adapters.boosters.catboost import load_catboost

        return load_catboost
    return None
