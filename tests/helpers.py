"""What several test modules share."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import pytest

from evenhand.core.errors import EvenhandError

if TYPE_CHECKING:
    from collections.abc import Callable


def refused(kind: type[EvenhandError], call: Callable[[], Any], *words: str) -> str:
    """Check that a call fails with this error and one sentence that holds these words; return the sentence."""
    with pytest.raises(EvenhandError) as caught:
        call()
    message = str(caught.value)
    assert type(caught.value) is kind, f"{type(caught.value).__name__}: {message}"
    assert "\n" not in message, message
    assert len(message) < 600, message
    for word in words:
        assert word in message, message
    return message
