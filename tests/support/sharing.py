"""Workers that are given every question, however small, so that tests need no large ones."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from evenhand.subject.effort import Effort

if TYPE_CHECKING:
    import pytest


def share_everything(monkeypatch: pytest.MonkeyPatch) -> None:
    """Leave all work to workers, where there are several."""

    def here(self: Effort, inputs: int, workers: Any, function: Any = None) -> int:
        return inputs if workers.width == 1 or inputs < 2 else 0

    monkeypatch.setattr(Effort, "here", here)
